/* Bounds how deep MLIR text nests before MLIR sees it, by one walk over its tokens.
 *
 * What recurses in MLIR: every kind of bracket; affine expressions, whose operators nest without one (d0 mod 7 mod 5, -
 * - d0); aliases, whose value is what another alias means (#b = [#a]). Strings and comments are skipped as MLIR's lexer
 * does. Text that is no program may be measured wrongly here: then MLIR stops at its error before it is deep. Tests:
 * test/ir/nesting_test.c, test/tools/zbc-bounds.test.
 */
#include "ir/nesting.h"

#include "runtime/base/map.h"
#include "runtime/base/text.h"

#include <ctype.h>
#include <string.h>

/* The alias whose value is being read. */
typedef struct definition {
  zb_text name; /* empty: none */
  const char *begin;
  int deepest;
  uint64_t named_bytes; /* of the aliases in it */
} definition;

typedef struct scanner {
  const char *begin, *at, *end;
  int brackets, depth;
  int operators[ZB_NESTING_MAX + 1]; /* in a row, at each open bracket; they are part of depth */
  definition current;
  zb_map *depths, *sizes; /* of aliases */
  zb_text word;
  enum { GOOD, TOO_DEEP, TOO_LARGE } found;
} scanner;

static bool is_word(char c) { return isalnum((unsigned char)c) || c == '_' || c == '$' || c == '.'; }

static char peek(const scanner *s, ptrdiff_t offset) { return s->end - s->at > offset ? s->at[offset] : '\0'; }

static void reach(scanner *s, int depth) {
  if (depth > s->current.deepest) s->current.deepest = depth;
  if (depth > ZB_NESTING_MAX && s->found == GOOD) s->found = TOO_DEEP;
}

static void end_operators(scanner *s) {
  s->depth -= s->operators[s->brackets];
  s->operators[s->brackets] = 0;
}

static void open_bracket(scanner *s) {
  if (*s->at != '(') end_operators(s); /* an expression goes on inside parentheses only */
  reach(s, ++s->depth);
  if (s->found == GOOD) s->operators[++s->brackets] = 0;
}

static void close_bracket(scanner *s) {
  end_operators(s);
  if (!s->brackets) return;
  --s->brackets;
  --s->depth;
}

static void add_operator(scanner *s) {
  ++s->operators[s->brackets];
  reach(s, ++s->depth);
}

/* ---- Aliases ---- */

static bool end_definition(scanner *s) {
  definition *d = &s->current;
  bool good = true;
  if (d->name.length)
    good = zb_map_set(s->depths, d->name.data, d->deepest) &&
           zb_map_set(s->sizes, d->name.data, (int64_t)(d->named_bytes + (uint64_t)(s->at - d->begin)));
  d->name.length = 0;
  return good;
}

static void skip_blanks(scanner *s) {
  while (s->at < s->end) {
    if (isspace((unsigned char)*s->at)) {
      ++s->at;
    } else if (*s->at == '/' && peek(s, 1) == '/') {
      while (s->at < s->end && *s->at != '\n')
        ++s->at;
    } else {
      return;
    }
  }
}

/* "#name" or "!name", the beginning of a definition, or a use of one; false: out of memory. Names of dialects
 * have no entry. */
static bool take_alias(scanner *s) {
  const char *begin = s->at++;
  while (s->at < s->end && (is_word(*s->at) || *s->at == '-'))
    ++s->at;
  s->word.length = 0;
  zb_text_add_bytes(&s->word, begin, (size_t)(s->at - begin));
  const char *after = s->at;
  skip_blanks(s);
  bool defines = !s->brackets && peek(s, 0) == '=' && peek(s, 1) != '=';
  s->at = after;
  if (s->word.failed) return false;
  if (defines) {
    if (!end_definition(s)) return false;
    zb_text_add_bytes(&s->current.name, s->word.data, s->word.length);
    s->current.begin = begin;
    s->current.deepest = 0;
    s->current.named_bytes = 0;
    return !s->current.name.failed;
  }
  int64_t depth;
  if (!zb_map_get(s->depths, s->word.data, &depth)) return true;
  reach(s, s->depth + (int)depth);
  s->current.named_bytes += (uint64_t)zb_map_get_or(s->sizes, s->word.data, 0);
  if (s->current.name.length && s->current.named_bytes > ZB_ALIAS_BYTES_MAX && s->found == GOOD) s->found = TOO_LARGE;
  return true;
}

/* ---- Tokens ---- */

/* An op at the top ends the alias before it: its keyword, "name" with parentheses, or its results. */
static bool take_word(scanner *s) {
  const char *begin = s->at;
  while (s->at < s->end && is_word(*s->at))
    ++s->at;
  size_t length = (size_t)(s->at - begin);
  static const char *const operators[] = {"mod", "floordiv", "ceildiv"};
  for (size_t i = 0; i < sizeof operators / sizeof *operators; ++i)
    if (strlen(operators[i]) == length && memcmp(begin, operators[i], length) == 0) add_operator(s);
  bool keyword = !isdigit((unsigned char)*begin) &&
                 (memchr(begin, '.', length) || (length == 6 && memcmp(begin, "module", 6) == 0));
  return s->brackets || !keyword || end_definition(s);
}

static bool take_string(scanner *s) {
  for (++s->at; s->at < s->end && *s->at != '"' && *s->at != '\n'; ++s->at)
    if (*s->at == '\\' && peek(s, 1) != '\n' && s->at + 1 < s->end) ++s->at;
  if (s->at < s->end) ++s->at;
  end_operators(s);
  const char *after = s->at;
  skip_blanks(s);
  bool op = !s->brackets && peek(s, 0) == '(';
  s->at = after;
  return !op || end_definition(s);
}

/* One token or a character of one; false: out of memory. */
static bool take_token(scanner *s) {
  char c = *s->at, next = peek(s, 1);
  if (c == '"') return take_string(s);
  if (is_word(c)) return take_word(s);
  if ((c == '#' || c == '!') && (is_word(next) || next == '-')) return end_operators(s), take_alias(s);
  bool arrow = c == '-' && next == '>', comparison = (c == '<' || c == '>' || c == '=') && next == '=';
  if (arrow || comparison)
    end_operators(s);
  else if (strchr("([{<", c))
    open_bracket(s);
  else if (strchr(")]}>", c))
    close_bracket(s);
  else if (strchr("+-*", c))
    add_operator(s);
  else
    end_operators(s);
  bool results = c == '%' && !s->brackets;
  s->at += arrow || comparison ? 2 : 1;
  return !results || end_definition(s);
}

/* The place of s->at, from 1. */
static MlirLocation place_of(const scanner *s, MlirContext context, const char *name) {
  unsigned line = 1;
  const char *start = s->begin;
  for (const char *c = s->begin; c < s->at; ++c)
    if (*c == '\n') ++line, start = c + 1;
  return mlirLocationFileLineColGet(context, mlirStringRefCreateFromCString(name), line, (unsigned)(s->at - start) + 1);
}

static zb_status refuse(const scanner *s, MlirContext context, const char *name) {
  MlirLocation place = place_of(s, context, name);
  if (s->found == TOO_DEEP)
    zb_location_error(place, "programs nest some 20 deep: was it damaged, or made by a tool that went wrong?",
                      "this is nested %d deep, and at most %d levels are read", ZB_NESTING_MAX + 1, ZB_NESTING_MAX);
  else
    zb_location_error(place, "an alias stands for its whole text: name less in one",
                      "the alias '%s' has more than %llu MiB when the aliases in it are written out",
                      s->current.name.data, (unsigned long long)ZB_ALIAS_BYTES_MAX >> 20);
  return zb_status_set_told(ZB_ERROR(INVALID, "'%s' could not be parsed", name));
}

static zb_status walk(scanner *s, MlirContext context, const char *name) {
  while (skip_blanks(s), s->at < s->end) {
    const char *token = s->at;
    if (!take_token(s)) return ZB_OUT_OF_MEMORY();
    if (s->found == GOOD) continue;
    s->at = token;
    return refuse(s, context, name);
  }
  return NULL;
}

static bool init(scanner *s, const char *text, size_t bytes) {
  *s = (scanner){.begin = text, .at = text, .end = text + bytes, .depths = zb_map_create(), .sizes = zb_map_create()};
  return s->depths && s->sizes;
}

static void deinit(scanner *s) {
  zb_text_deinit(&s->word);
  zb_text_deinit(&s->current.name);
  zb_map_destroy(s->depths);
  zb_map_destroy(s->sizes);
}

zb_status zb_check_nesting(MlirContext context, const char *name, const char *text, size_t bytes) {
  scanner s;
  zb_status status = init(&s, text, bytes) ? walk(&s, context, name) : ZB_OUT_OF_MEMORY();
  deinit(&s);
  return status;
}

/* ---- After the parser ---- */

static MlirLogicalResult count_one(MlirDiagnostic diagnostic ZB_UNUSED, void *user) {
  ++*(int *)user;
  return mlirLogicalResultFailure(); /* not handled: it goes to the others */
}

MlirDiagnosticHandlerID zb_count_diagnostics(MlirContext context, int *count) {
  return mlirContextAttachDiagnosticHandler(context, count_one, count, NULL);
}

/* The first zb.NAME before an operand, without quotes: false if there is none. */
static bool find_custom_syntax(scanner *s) {
  char before = '\0';
  for (; skip_blanks(s), s->at < s->end; before = s->at[-1]) {
    const char *begin = s->at;
    if (!take_token(s)) return false;
    size_t length = (size_t)(s->at - begin);
    const char *after = s->at;
    skip_blanks(s);
    bool found =
        length > 3 && memcmp(begin, "zb.", 3) == 0 && before != '!' && before != '#' && strchr("%(", peek(s, 0));
    s->at = found ? begin : after;
    if (found) return true;
  }
  return false;
}

zb_status zb_parse_refused(MlirContext context, const char *name, const char *text, size_t bytes, int diagnostics) {
  scanner s;
  if (init(&s, text, bytes) && !diagnostics) {
    if (!find_custom_syntax(&s)) s.at = s.begin;
    zb_location_error(place_of(&s, context, name), "write them as \"zb.relu\"(%x) : (tensor<4xf32>) -> tensor<4xf32>",
                      "ops of zb are read in MLIR's generic syntax only");
  }
  deinit(&s);
  return zb_status_set_told(ZB_ERROR(INVALID, "'%s' could not be parsed", name));
}
