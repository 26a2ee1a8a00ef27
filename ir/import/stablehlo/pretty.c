/* The printed form of StableHLO as generic text. MLIR parses the printed form of a dialect only with the dialect's own
 * code; here each op that has one becomes generic, on the line where it was:
 *
 *   %1 = stablehlo.transpose %0, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
 *   %1 = "stablehlo.transpose"(%0) <{permutation = array<i64: 1, 0>}> : (tensor<2x3xf32>) -> tensor<3x2xf32>
 *
 * Lines without such an op stay as they are: functions, calls, returns, and ops that are generic already, whose regions
 * may have printed ops again. Regions over several lines have while, and reduce of several values (argmax):
 *
 *   %3:2 = stablehlo.while(%i = %c, %x = %0) : tensor<i32>, tensor<f32>     "stablehlo.while"(%c, %0) ({
 *   cond {                                                                  ^bb0(%i: tensor<i32>, %x: tensor<f32>):
 *   } do {                                                                  }, { ^bb0(%i: tensor<i32>, ...):
 *   }                                                                       }) : (...) -> (...)
 *
 * The forms are those of the op definitions of StableHLO 1.x. Tests: test/ir/import/stablehlo/pretty.mlir. */
#include "ir/import/stablehlo/stablehlo.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define GENERIC_HINT                                                                                                   \
  "print the module in its generic form: ir.operation.get_asm(print_generic_op_form=True, enable_debug_info=True), "   \
  "where ir = jax.jit(f).lower(*arguments).compiler_ir(\"stablehlo\")"

enum { OPERANDS_MAX = 256, LOOPS_MAX = 64, WORD_BYTES = 64 };

/* A part of a line. */
typedef struct span {
  const char *at, *end;
} span;

/* A while, or a reduce of several values, whose regions are being read. */
typedef struct loop {
  int depth; /* braces around it */
  bool is_reduce, has_region;
  span tail; /* of a reduce: its types */
  span names[OPERANDS_MAX], types[OPERANDS_MAX];
  int count;
} loop;

typedef struct translator {
  zb_text out;
  loop *loops; /* [LOOPS_MAX] */
  int loop_count, depth, line;
  char why[2 * WORD_BYTES + 64]; /* what is not understood; "": all is */
  const char *hint;              /* of an op that cannot be imported in any form; NULL: it may be */
} translator;

/* One op: its operands and the attributes that its form spells. */
typedef struct printed {
  span operands[OPERANDS_MAX];
  int count;
  zb_text attributes;
} printed;

/* ---- Reading ---- */

static void skip_blanks(span *s) {
  while (s->at < s->end && isspace((unsigned char)*s->at))
    ++s->at;
}

static bool take(span *s, const char *word) {
  const size_t length = strlen(word);
  skip_blanks(s);
  if ((size_t)(s->end - s->at) < length || memcmp(s->at, word, length) != 0) return false;
  s->at += length;
  return true;
}

static bool is_name(char c) {
  return isalnum((unsigned char)c) || c == '_' || c == '$' || c == '.' || c == '-' || c == '#';
}

/* %name, %name#1. */
static bool take_value(span *s, span *out) {
  skip_blanks(s);
  if (s->at == s->end || *s->at != '%') return false;
  out->at = s->at++;
  while (s->at < s->end && is_name(*s->at) && !(s->at[0] == '-' && s->at + 1 < s->end && s->at[1] == '>'))
    ++s->at;
  out->end = s->at;
  return true;
}

static bool take_word(span *s, char out[WORD_BYTES]) {
  size_t length = 0;
  skip_blanks(s);
  while (s->at < s->end && (isalnum((unsigned char)*s->at) || *s->at == '_') && length + 1 < WORD_BYTES)
    out[length++] = *s->at++;
  out[length] = '\0';
  return length > 0;
}

static bool opens(char c) { return c == '(' || c == '[' || c == '{' || c == '<'; }

/* Behind the bracket that closes the one at `at`, or NULL. Strings are stepped over. */
static const char *behind_bracket(const char *at, const char *end) {
  int depth = 0;
  for (bool quoted = false; at < end; ++at) {
    if (*at == '"') quoted = !quoted;
    if (quoted && *at == '\\') ++at;
    if (quoted || at >= end) continue;
    if (opens(*at)) ++depth;
    if (*at == ')' || *at == ']' || *at == '}' || (*at == '>' && at[-1] != '-')) --depth;
    if (depth == 0) return at + 1;
  }
  return NULL;
}

/* What stands in brackets, without them. */
static bool take_bracket(span *s, char open, span *out) {
  skip_blanks(s);
  if (s->at == s->end || *s->at != open) return false;
  const char *end = behind_bracket(s->at, s->end);
  if (!end) return false;
  *out = (span){s->at + 1, end - 1};
  s->at = end;
  return true;
}

/* The next entry of a list at commas outside of brackets. */
static bool take_entry(span *s, span *out) {
  skip_blanks(s);
  if (s->at == s->end) return false;
  out->at = s->at;
  while (s->at < s->end && *s->at != ',') {
    const char *behind = opens(*s->at) ? behind_bracket(s->at, s->end) : s->at + 1;
    s->at = behind ? behind : s->end;
  }
  out->end = s->at;
  while (out->end > out->at && isspace((unsigned char)out->end[-1]))
    --out->end;
  if (s->at < s->end) ++s->at;
  return out->end > out->at;
}

static bool take_operands(span *s, printed *p) {
  while (p->count < OPERANDS_MAX && take_value(s, &p->operands[p->count])) {
    ++p->count;
    const span before = *s;
    if (!take(s, ",")) return true;
    skip_blanks(s);
    if (s->at < s->end && *s->at != '%') return *s = before, true;
  }
  return p->count > 0 && p->count < OPERANDS_MAX;
}

/* ---- Writing ---- */

static void add_span(zb_text *text, span s) { zb_text_add_bytes(text, s.at, (size_t)(s.end - s.at)); }

/* Entry i of a list. */
static void add_entry(zb_text *text, int i, span s) {
  zb_text_add(text, "%s", i ? ", " : "");
  add_span(text, s);
}

static void add_attribute(printed *p, const char *name) {
  zb_text_add(&p->attributes, "%s%s = ", p->attributes.length ? ", " : "", name);
}

static void add_array(printed *p, const char *name, span list) {
  skip_blanks(&list);
  add_attribute(p, name);
  zb_text_add(&p->attributes, list.at == list.end ? "array<i64" : "array<i64: ");
  add_span(&p->attributes, list);
  zb_text_add(&p->attributes, ">");
}

/* ", dims = [0, 1]" as an array of that name; false: it is not there. */
static bool take_array(span *s, printed *p, const char *word, const char *name) {
  span list;
  const span before = *s;
  take(s, ",");
  if (!take(s, word) || !take(s, "=") || !take_bracket(s, '[', &list)) return *s = before, false;
  add_array(p, name, list);
  return true;
}

/* ", dim = 1" as an integer of that name. */
static bool take_number(span *s, printed *p, const char *word, const char *name) {
  char number[WORD_BYTES];
  take(s, ",");
  if (!take(s, word) || !take(s, "=") || !take_word(s, number)) return false;
  add_attribute(p, name);
  zb_text_add(&p->attributes, "%s : i64", number);
  return true;
}

/* ---- Forms ---- */

static bool read_constant(span *s, printed *p) {
  span braces;
  if (take_bracket(s, '{', &braces) && braces.at != braces.end) return false;
  skip_blanks(s);
  const char *end = s->end;
  add_attribute(p, "value");
  add_span(&p->attributes, (span){s->at, end}); /* with its type, which is that of the result */
  for (const char *at = s->at; at < end; ++at) {
    if (opens(*at)) {
      const char *behind = behind_bracket(at, end);
      if (!behind) return false;
      at = behind - 1;
    } else if (*at == ':') {
      return s->at = at, true;
    }
  }
  return false;
}

static bool read_compare(span *s, printed *p) {
  char direction[WORD_BYTES], type[WORD_BYTES];
  if (!take_word(s, direction) || !take(s, ",") || !take_operands(s, p)) return false;
  add_attribute(p, "comparison_direction");
  zb_text_add(&p->attributes, "#stablehlo<comparison_direction %s>", direction);
  if (!take(s, ",")) return true;
  if (!take_word(s, type)) return false;
  add_attribute(p, "compare_type");
  zb_text_add(&p->attributes, "#stablehlo<comparison_type %s>", type);
  return true;
}

/* [0:4, 1:9:2] */
static bool read_slice(span *s, printed *p) {
  static const char *const names[] = {"start_indices", "limit_indices", "strides"};
  zb_text lists[3] = {{0}, {0}, {0}};
  span all, entry;
  bool good = take_operands(s, p) && take_bracket(s, '[', &all);
  while (good && take_entry(&all, &entry)) {
    char numbers[3][WORD_BYTES] = {"", "", "1"};
    good = take_word(&entry, numbers[0]) && take(&entry, ":") && take_word(&entry, numbers[1]);
    if (good && take(&entry, ":")) good = take_word(&entry, numbers[2]);
    for (int i = 0; i < 3; ++i)
      zb_text_add(&lists[i], "%s%s", lists[i].length ? ", " : "", numbers[i]);
  }
  for (int i = 0; i < 3; ++i) {
    if (good) add_array(p, names[i], (span){lists[i].data, lists[i].data + lists[i].length});
    p->attributes.failed = p->attributes.failed || lists[i].failed;
    zb_text_deinit(&lists[i]);
  }
  return good;
}

/* ", batching_dims = [0] x [0]" as two fields; false: it is not there. */
static bool take_pair(span *s, zb_text *fields, const char *word, const char *name) {
  span lhs, rhs;
  const span before = *s;
  if (!take(s, ",") || !take(s, word) || !take(s, "=") || !take_bracket(s, '[', &lhs) || !take(s, "x") ||
      !take_bracket(s, '[', &rhs))
    return *s = before, false;
  zb_text_add(fields, "%slhs_%s = [", fields->length ? ", " : "", name);
  add_span(fields, lhs);
  zb_text_add(fields, "], rhs_%s = [", name);
  add_span(fields, rhs);
  zb_text_add(fields, "]");
  return true;
}

/* What the precision or the algorithm is makes no difference here: products are f32. */
static bool read_dot_general(span *s, printed *p) {
  zb_text fields = {0};
  if (!take_operands(s, p)) return false;
  take_pair(s, &fields, "batching_dims", "batching_dimensions");
  take_pair(s, &fields, "contracting_dims", "contracting_dimensions");
  add_attribute(p, "dot_dimension_numbers");
  zb_text_add(&p->attributes, "#stablehlo.dot<%s>", fields.length ? fields.data : "");
  p->attributes.failed = p->attributes.failed || fields.failed;
  zb_text_deinit(&fields);
  span rest;
  while (take(s, ",")) {
    if (!(take(s, "precision") || take(s, "algorithm")) || !take(s, "=")) return false;
    skip_blanks(s);
    if (s->at < s->end && *s->at == '<' ? !take_bracket(s, '<', &rest) : !take_bracket(s, '[', &rest)) return false;
  }
  return true;
}

/* "name = [[1, 1], [0, 0]]" within a window, of `width` numbers a dimension: as the text of an attribute. */
static bool take_window(span *window, printed *p, const char *word, const char *name, int width) {
  span list, entry;
  int count = 0;
  if (!take(window, word)) return true;
  if (!take(window, "=") || !take_bracket(window, '[', &list)) return false;
  if (width == 1) return add_array(p, name, list), take(window, ",") || true;
  span rest = list;
  while (take_entry(&rest, &entry))
    ++count;
  add_attribute(p, name);
  zb_text_add(&p->attributes, "dense<[");
  add_span(&p->attributes, list);
  zb_text_add(&p->attributes, "]> : tensor<%dx%dxi64>", count, width);
  return take(window, ",") || true;
}

/* "reverse = [true, false]", or with 1 and 0. */
static bool take_reversal(span *window, printed *p) {
  span list, entry;
  if (!take(window, "reverse")) return true;
  if (!take(window, "=") || !take_bracket(window, '[', &list)) return false;
  add_attribute(p, "window_reversal");
  zb_text_add(&p->attributes, "array<i1");
  for (bool first = true; take_entry(&list, &entry); first = false) {
    const bool back = take(&entry, "true") || take(&entry, "1");
    zb_text_add(&p->attributes, "%s%s", first ? ": " : ", ", back ? "true" : "false");
  }
  zb_text_add(&p->attributes, ">");
  return true;
}

/* (%x, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {stride = [2], pad = [[1, 1]]} {..} */
static bool read_convolution(span *s, printed *p) {
  span operands, lists[3], window;
  if (!take_bracket(s, '(', &operands) || !take_operands(&operands, p) || !take(s, "dim_numbers") || !take(s, "=") ||
      !take_bracket(s, '[', &lists[0]) || !take(s, "x") || !take_bracket(s, '[', &lists[1]) || !take(s, "->") ||
      !take_bracket(s, '[', &lists[2]) || !take(s, ",") || !take(s, "window") || !take(s, "=") ||
      !take_bracket(s, '{', &window))
    return false;
  add_attribute(p, "dimension_numbers");
  for (int i = 0; i < 3; ++i) {
    zb_text_add(&p->attributes, i == 0 ? "#stablehlo.conv<[" : i == 1 ? "]x[" : "]->[");
    add_span(&p->attributes, lists[i]);
  }
  zb_text_add(&p->attributes, "]>");
  if (!take_window(&window, p, "stride", "window_strides", 1) || !take_window(&window, p, "pad", "padding", 2) ||
      !take_window(&window, p, "lhs_dilate", "lhs_dilation", 1) ||
      !take_window(&window, p, "rhs_dilate", "rhs_dilation", 1))
    return false;
  return take_reversal(&window, p) && (skip_blanks(&window), window.at == window.end);
}

static bool read_custom_call(span *s, printed *p) {
  char name[WORD_BYTES];
  span arguments;
  if (!take(s, "@")) return false;
  const bool is_quoted = take(s, "\"");
  const char *begin = s->at;
  while (s->at < s->end && (is_quoted ? *s->at != '"' : is_name(*s->at)))
    ++s->at;
  snprintf(name, sizeof name, "%.*s", (int)(s->at - begin), begin);
  if (is_quoted && !take(s, "\"")) return false;
  if (!take_bracket(s, '(', &arguments)) return false;
  add_attribute(p, "call_target_name");
  zb_text_add(&p->attributes, "\"%s\"", name);
  return take_operands(&arguments, p) || arguments.at == arguments.end;
}

/* %0, format = e8m7 */
static bool read_precision(span *s, printed *p) {
  char format[WORD_BYTES];
  int exponent, mantissa;
  if (!take_operands(s, p) || !take(s, ",") || !take(s, "format") || !take(s, "=") || !take_word(s, format) ||
      sscanf(format, "e%dm%d", &exponent, &mantissa) != 2)
    return false;
  add_attribute(p, "exponent_bits");
  zb_text_add(&p->attributes, "%d : i32", exponent);
  add_attribute(p, "mantissa_bits");
  zb_text_add(&p->attributes, "%d : i32", mantissa);
  return true;
}

/* (%x init: %c) applies stablehlo.add across dimensions = [2]: the region follows as text. */
static bool read_reduce(span *s, printed *p, zb_text *region) {
  span inner, body[2] = {{NULL, NULL}, {NULL, NULL}};
  char op[WORD_BYTES], dialect[WORD_BYTES];
  if (!take_bracket(s, '(', &inner) || !take_value(&inner, &body[0]) || !take(&inner, "init") || !take(&inner, ":") ||
      !take_value(&inner, &body[1]))
    return false;
  p->operands[p->count++] = body[0];
  p->operands[p->count++] = body[1];
  if (!take(s, "applies") || !take_word(s, dialect) || !take(s, ".") || !take_word(s, op) || !take(s, "across") ||
      !take_array(s, p, "dimensions", "dimensions"))
    return false;
  const span before = *s;
  span initial;
  if (!take(s, ":") || !take_bracket(s, '(', &inner) || !take_entry(&inner, &initial) || !take_entry(&inner, &initial))
    return false;
  *s = before;
  const int length = (int)(initial.end - initial.at);
  zb_text_add(region,
              " ({ ^bb0(%%a: %.*s, %%b: %.*s): %%r = \"%s.%s\"(%%a, %%b) : (%.*s, %.*s) -> %.*s "
              "\"stablehlo.return\"(%%r) : (%.*s) -> () })",
              length, initial.at, length, initial.at, dialect, op, length, initial.at, length, initial.at, length,
              initial.at, length, initial.at);
  return true;
}

enum { PARTS_MAX = 3 };

/* A form of its own; or operands, and then words with what is behind each: numbers in brackets, or one number. */
typedef struct form {
  const char *kind;
  bool (*read)(span *s, printed *p); /* NULL: by the parts */
  struct {
    const char *word, *array, *number;
  } parts[PARTS_MAX];
  bool has_brackets, has_none; /* of operands: (%0, k = 2); there is none */
} form;

static const form forms[] = {
    {"broadcast_in_dim", NULL, {{"dims", "broadcast_dimensions", NULL}}, false, false},
    {"compare", read_compare, {{0}}, false, false},
    {"concatenate", NULL, {{"dim", NULL, "dimension"}}, false, false},
    {"constant", read_constant, {{0}}, false, false},
    {"convolution", read_convolution, {{0}}, false, false},
    {"custom_call", read_custom_call, {{0}}, false, false},
    {"dot_general", read_dot_general, {{0}}, false, false},
    {"dynamic_slice", NULL, {{"sizes", "slice_sizes", NULL}}, false, false},
    {"reverse", NULL, {{"dims", "dimensions", NULL}}, false, false},
    {"iota", NULL, {{"dim", NULL, "iota_dimension"}}, false, true},
    {"pad",
     NULL,
     {{"low", "edge_padding_low", NULL}, {"high", "edge_padding_high", NULL}, {"interior", "interior_padding", NULL}},
     false,
     false},
    {"reduce_precision", read_precision, {{0}}, false, false},
    {"slice", read_slice, {{0}}, false, false},
    {"top_k", NULL, {{"k", NULL, "k"}}, true, false},
    {"transpose", NULL, {{"dims", "permutation", NULL}}, false, false},
};

static bool read_form(const form *f, span *s, printed *p) {
  span inner;
  if (f->read) return f->read(s, p);
  if (f->has_brackets && !take_bracket(s, '(', &inner)) return false;
  if (f->has_brackets) s = &inner;
  if (!f->has_none && !take_operands(s, p)) return false;
  for (int i = 0; i < PARTS_MAX && f->parts[i].word; ++i)
    if (!(f->parts[i].array ? take_array(s, p, f->parts[i].word, f->parts[i].array)
                            : take_number(s, p, f->parts[i].word, f->parts[i].number)))
      return false;
  return true;
}

/* ---- Types ---- */

/* Where " -> " stands outside of brackets; NULL: nowhere. */
static const char *find_arrow(span s) {
  while (s.at < s.end) {
    if (s.at + 1 < s.end && s.at[0] == '-' && s.at[1] == '>') return s.at;
    const char *behind = opens(*s.at) ? behind_bracket(s.at, s.end) : s.at + 1;
    s.at = behind ? behind : s.end;
  }
  return NULL;
}

/* "(operands) -> results" of what a printed op has behind its colon: that itself, "A -> B", the type of all operands
 * and of the result, or one type an operand and as many results; select names the condition, then the values. */
static bool add_types(zb_text *out, const char *kind, span types, int operands) {
  span list = types, entry[2], own;
  int count = 0;
  skip_blanks(&types);
  if (types.at < types.end && *types.at == '(') return add_span(out, types), true;
  const char *arrow = find_arrow(types);
  if (arrow) {
    zb_text_add(out, "(%.*s) %.*s", (int)(arrow - types.at), types.at, (int)(types.end - arrow), arrow);
    return true;
  }
  while (take_entry(&list, &own)) {
    if (count < 2) entry[count] = own;
    ++count;
  }
  if (strcmp(kind, "select") == 0 && count == 2) {
    const int length = (int)(entry[1].end - entry[1].at);
    zb_text_add(out, "(%.*s, %.*s, %.*s) -> %.*s", (int)(entry[0].end - entry[0].at), entry[0].at, length, entry[1].at,
                length, entry[1].at, length, entry[1].at);
    return true;
  }
  if (strcmp(kind, "return") == 0 || (count > 1 && count == operands)) {
    zb_text_add(out, "(%.*s) -> (%.*s)", (int)(types.end - types.at), types.at,
                strcmp(kind, "return") == 0 ? 0 : (int)(types.end - types.at), types.at);
    return true;
  }
  if (count != 1) return false;
  zb_text_add(out, "(");
  for (int i = 0; i < operands; ++i)
    zb_text_add(out, "%s%.*s", i ? ", " : "", (int)(entry[0].end - entry[0].at), entry[0].at);
  zb_text_add(out, ") -> %.*s", (int)(entry[0].end - entry[0].at), entry[0].at);
  return true;
}

/* ---- Ops ---- */

static void add_operands(zb_text *out, const span *operands, int count) {
  zb_text_add(out, "(");
  for (int i = 0; i < count; ++i)
    add_entry(out, i, operands[i]);
  zb_text_add(out, ")");
}

/* Cuts " loc(...)" from the end of a line. */
static span cut_location(span *line) {
  while (line->end > line->at && isspace((unsigned char)line->end[-1]))
    --line->end;
  span location = {line->end, line->end};
  for (const char *at = line->at; at + 5 <= line->end; ++at) {
    if (memcmp(at, " loc(", 5) != 0) continue;
    if (behind_bracket(at + 4, line->end) != line->end) continue;
    location.at = at;
    line->end = at;
    break;
  }
  return location;
}

static bool translate_op(translator *t, const char *dialect, const char *kind, span rest) {
  printed *p = zb_alloc(sizeof *p);
  zb_text region = {0};
  span extra = {NULL, NULL};
  if (!p) return t->out.failed = true, true;
  static const form plain = {"", NULL, {{0}}, false, false};
  const form *own = &plain;
  for (size_t i = 0; i < sizeof forms / sizeof *forms; ++i)
    if (strcmp(forms[i].kind, kind) == 0 && (strcmp(dialect, "stablehlo") == 0 || strcmp(kind, "top_k") == 0))
      own = &forms[i];
  const bool is_reduce = strcmp(kind, "reduce") == 0, is_return = strcmp(kind, "return") == 0;
  bool good =
      is_reduce ? read_reduce(&rest, p, &region) : read_form(own, &rest, p) || (is_return && rest.at == rest.end);
  if (good) take_bracket(&rest, '{', &extra);
  good = good && (take(&rest, ":") || (is_return && rest.at == rest.end));
  if (good) {
    zb_text_add(&t->out, "\"%s.%s\"", dialect, kind);
    add_operands(&t->out, p->operands, p->count);
    if (p->attributes.length) zb_text_add(&t->out, " <{%s}>", p->attributes.data);
    if (region.length) zb_text_add(&t->out, "%s", region.data);
    if (extra.at) zb_text_add(&t->out, " {%.*s}", (int)(extra.end - extra.at), extra.at);
    zb_text_add(&t->out, " : ");
    if (strcmp(kind, "constant") == 0 && strcmp(dialect, "stablehlo") == 0) zb_text_add(&t->out, "() -> ");
    if (strcmp(kind, "constant") == 0)
      skip_blanks(&rest), add_span(&t->out, rest);
    else
      good = add_types(&t->out, kind, rest, p->count);
  }
  t->out.failed = t->out.failed || p->attributes.failed || region.failed;
  zb_text_deinit(&p->attributes);
  zb_text_deinit(&region);
  zb_free(p);
  return good;
}

/* ---- Loops ---- */

/* (%i = %c, %x = %0) : tensor<i32>, tensor<f32> */
static bool open_loop(translator *t, span rest) {
  span arguments, entry;
  if (t->loop_count == LOOPS_MAX || !take_bracket(&rest, '(', &arguments)) return false;
  loop *l = &t->loops[t->loop_count];
  *l = (loop){.depth = t->depth};
  zb_text_add(&t->out, "\"stablehlo.while\"(");
  while (l->count < OPERANDS_MAX && take_entry(&arguments, &entry)) {
    span initial;
    if (!take_value(&entry, &l->names[l->count]) || !take(&entry, "=") || !take_value(&entry, &initial)) return false;
    add_entry(&t->out, l->count++, initial);
  }
  zb_text_add(&t->out, ") ({");
  if (!take(&rest, ":")) return false;
  const char *attributes = NULL;
  for (const char *at = rest.at; at + 11 <= rest.end && !attributes; ++at)
    if (memcmp(at, " attributes", 11) == 0) attributes = at;
  if (attributes) rest.end = attributes;
  int types = 0;
  while (types < l->count && take_entry(&rest, &l->types[types]))
    ++types;
  if (types != l->count) return false;
  ++t->loop_count;
  return true;
}

/* (%x init: %c), (%i init: %d) across dimensions = [1] : types. The region is on the next lines:
 *   reducer(%a: tensor<f32>, %b: tensor<f32>) (%i: tensor<i32>, %j: tensor<i32>) { */
static bool open_reduce(translator *t, span rest) {
  span pair, initial[OPERANDS_MAX];
  printed dimensions = {.count = 0};
  if (t->loop_count == LOOPS_MAX) return false;
  loop *l = &t->loops[t->loop_count];
  *l = (loop){.depth = t->depth, .is_reduce = true};
  zb_text_add(&t->out, "\"stablehlo.reduce\"(");
  int count = 0;
  while (count < OPERANDS_MAX && take_bracket(&rest, '(', &pair)) {
    span value;
    if (!take_value(&pair, &value) || !take(&pair, "init") || !take(&pair, ":") || !take_value(&pair, &initial[count]))
      return false;
    add_entry(&t->out, count++, value);
    take(&rest, ",");
  }
  for (int i = 0; i < count; ++i)
    add_entry(&t->out, count + i, initial[i]);
  bool good = count > 0 && take(&rest, "across") && take_array(&rest, &dimensions, "dimensions", "dimensions");
  good = good && take(&rest, ":") && !dimensions.attributes.failed;
  zb_text_add(&t->out, ") <{%s}> ({", good ? dimensions.attributes.data : "");
  zb_text_deinit(&dimensions.attributes);
  l->tail = rest;
  t->loop_count += good;
  return good;
}

/* The pairs of a reducer: all first arguments, then all second ones. */
static bool add_reducer(translator *t, loop *l, span line) {
  span pair, entries[2][OPERANDS_MAX];
  int count = 0;
  while (count < OPERANDS_MAX && take_bracket(&line, '(', &pair)) {
    if (!take_entry(&pair, &entries[0][count]) || !take_entry(&pair, &entries[1][count])) return false;
    ++count;
  }
  if (!count || !take(&line, "{")) return false;
  l->has_region = true;
  zb_text_add(&t->out, "^bb0(");
  for (int i = 0; i < 2 * count; ++i)
    add_entry(&t->out, i, entries[i / count][i % count]);
  return zb_text_add(&t->out, "):"), true;
}

static void add_block(translator *t, const loop *l) {
  zb_text_add(&t->out, "^bb0(");
  for (int i = 0; i < l->count; ++i) {
    add_entry(&t->out, i, l->names[i]);
    zb_text_add(&t->out, ": ");
    add_span(&t->out, l->types[i]);
  }
  zb_text_add(&t->out, "):");
}

static void close_loop(translator *t, span location) {
  const loop *l = &t->loops[--t->loop_count];
  zb_text_add(&t->out, "}) : ");
  if (l->is_reduce) {
    add_span(&t->out, l->tail);
  } else {
    add_operands(&t->out, l->types, l->count);
    zb_text_add(&t->out, " -> ");
    add_operands(&t->out, l->types, l->count);
  }
  add_span(&t->out, location);
}

/* ---- Lines ---- */

/* Braces that a line opens beyond those that it closes. */
static int net_braces(span s) {
  int net = 0;
  for (bool quoted = false; s.at < s.end; ++s.at) {
    if (*s.at == '"') quoted = !quoted;
    if (quoted && *s.at == '\\') ++s.at;
    if (quoted || s.at >= s.end) continue;
    if (!quoted && s.at + 1 < s.end && s.at[0] == '/' && s.at[1] == '/') break;
    net += (*s.at == '{') - (*s.at == '}');
  }
  return net;
}

/* The parts of a loop that stand on lines of their own; false: the line is none. */
static bool translate_loop_line(translator *t, span line, span location) {
  loop *l = t->loop_count ? &t->loops[t->loop_count - 1] : NULL;
  skip_blanks(&line);
  if (!l) return false;
  span rest = line;
  if (l->is_reduce && !l->has_region && t->depth == l->depth && take(&rest, "reducer")) return add_reducer(t, l, rest);
  if (!l->is_reduce && !l->has_region && t->depth == l->depth && take(&rest, "cond") && take(&rest, "{")) {
    l->has_region = true;
    return add_block(t, l), true;
  }
  if (!l->has_region || t->depth != l->depth + 1 || line.at == line.end || *line.at != '}') return false;
  rest = line;
  if (!l->is_reduce && take(&rest, "}") && take(&rest, "do") && take(&rest, "{")) {
    zb_text_add(&t->out, "}, { ");
    return add_block(t, l), true;
  }
  return close_loop(t, location), true;
}

/* Whether an op of StableHLO in its printed form begins here: sets dialect and kind, and what follows. */
static bool begins_op(span *s, char dialect[WORD_BYTES], char kind[WORD_BYTES]) {
  span rest = *s;
  if (!take_word(&rest, dialect) || (strcmp(dialect, "stablehlo") != 0 && strcmp(dialect, "chlo") != 0)) return false;
  if (rest.at == rest.end || *rest.at != '.' || (++rest.at, !take_word(&rest, kind))) return false;
  *s = rest;
  return true;
}

static bool contains(span s, const char *word) {
  const size_t length = strlen(word);
  for (; s.at + length <= s.end; ++s.at)
    if (memcmp(s.at, word, length) == 0) return true;
  return false;
}

/* Behind a quoted name; NULL: it does not end. */
static const char *behind_quote(span s) {
  const char *end = memchr(s.at + 1, '"', (size_t)(s.end - s.at) - 1);
  return end ? end + 1 : NULL;
}

/* @f(%a, %b) : types, in a region: the parser looks for @f in the op around it, which it does not know, and so the op
 * gets a name that the parser does not know either. */
static bool translate_call(translator *t, span rest) {
  span name, operands, list, entry;
  if (!take(&rest, "@")) return false;
  name.at = rest.at;
  while (rest.at < rest.end && *rest.at != '(')
    rest.at += *rest.at == '"' ? (behind_quote(rest) ? behind_quote(rest) - rest.at : 1) : 1;
  name.end = rest.at;
  if (!take_bracket(&rest, '(', &operands) || !take(&rest, ":")) return false;
  list = operands;
  zb_text_add(&t->out, "\"stablehlo.call\"(");
  for (int i = 0; take_entry(&list, &entry); ++i)
    add_entry(&t->out, i, entry);
  zb_text_add(&t->out, ") {callee = @");
  add_span(&t->out, name);
  zb_text_add(&t->out, "} : ");
  add_span(&t->out, rest);
  return true;
}

static void translate_line(translator *t, span line) {
  const span whole = line;
  char dialect[WORD_BYTES], kind[WORD_BYTES];
  span location = cut_location(&line), rest = line, results = line, value;
  if (translate_loop_line(t, line, location)) {
    t->depth += net_braces(whole);
    return;
  }
  skip_blanks(&rest);
  results.at = rest.at;
  if (take_value(&rest, &value)) {
    if (take(&rest, ":")) take_word(&rest, kind);
    while (take(&rest, ",") && take_value(&rest, &value))
      ;
    if (!take(&rest, "=")) rest = (span){line.end, line.end};
    skip_blanks(&rest);
  }
  results.end = rest.at;
  span call = rest;
  if (take(&call, "func.call")) {
    add_span(&t->out, results);
    if (!translate_call(t, call))
      snprintf(t->why, sizeof t->why, "the printed form of func.call is not understood here");
    add_span(&t->out, location);
  } else if (!begins_op(&rest, dialect, kind)) {
    add_span(&t->out, whole);
  } else {
    add_span(&t->out, results);
    const bool is_ours = strcmp(dialect, "stablehlo") == 0, is_while = is_ours && strcmp(kind, "while") == 0;
    const bool is_open = is_ours && strcmp(kind, "reduce") == 0 && !contains(rest, " applies ");
    const bool good = is_while  ? open_loop(t, rest)
                      : is_open ? open_reduce(t, rest)
                                : translate_op(t, dialect, kind, rest);
    if (!good && !*t->why) {
      t->hint = zb_stablehlo_known_hint(kind);
      snprintf(t->why, sizeof t->why,
               t->hint ? "%s.%s: this op is not supported"
                       : "the printed form of %s.%s is not "
                         "understood here",
               dialect, kind);
    }
    if (!is_while && !is_open) add_span(&t->out, location);
  }
  t->depth += net_braces(whole);
}

zb_status zb_stablehlo_generic(MlirContext context, const char *path, const char *text, size_t bytes, char **out) {
  translator t = {.loops = zb_alloc(LOOPS_MAX * sizeof *t.loops)};
  *out = NULL;
  if (!t.loops) return ZB_OUT_OF_MEMORY();
  const char *end = text + bytes;
  for (const char *at = text; at < end && !*t.why && !t.out.failed;) {
    const char *stop = memchr(at, '\n', (size_t)(end - at));
    ++t.line;
    translate_line(&t, (span){at, stop ? stop : end});
    zb_text_add(&t.out, "\n");
    at = stop ? stop + 1 : end;
  }
  zb_free(t.loops);
  zb_status status = NULL;
  if (*t.why) {
    MlirLocation at = mlirLocationFileLineColGet(context, mlirStringRefCreateFromCString(path), (unsigned)t.line, 1);
    zb_location_error(at, t.hint ? t.hint : GENERIC_HINT, "%s", t.why);
    status = zb_status_set_told(ZB_ERROR(INVALID, "'%s' could not be parsed", path));
  } else if (t.out.failed) {
    status = ZB_OUT_OF_MEMORY();
  } else {
    *out = zb_text_take(&t.out);
    if (!*out) status = ZB_OUT_OF_MEMORY();
  }
  zb_text_deinit(&t.out);
  return status;
}
