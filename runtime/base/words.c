/* Words that help: what a wrong one means by the table of words, whose option it is, what is near: see words.h. Tests:
 * test/runtime/base/words_test.c. */
#include "runtime/base/words.h"

#include "runtime/base/text.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { OPTIONS_MAX = 256, WORD_BYTES = 64 };

typedef struct option_word {
  const char *typed, *program, *option, *example, *why;
} option_word;
static const option_word option_words[] = {
#define ZB_OPTION_WORD(typed, program, option, example, why) {typed, program, option, example, why},
#include "runtime/base/words.def"
};
enum { OPTION_WORDS = sizeof option_words / sizeof option_words[0] };

static const struct {
  const char *what, *typed, *why;
} value_words[] = {
#define ZB_VALUE_WORD(what, typed, why) {what, typed, why},
#include "runtime/base/words.def"
};
enum { VALUE_WORDS = sizeof value_words / sizeof value_words[0] };

/* ---- By letters ---- */

enum { WORD_MAX = 127 }; /* longer names are compared by their first bytes */

static char plain_letter(char c) { return c == '_' ? '-' : (char)tolower((unsigned char)c); }

static bool same_letter(char a, char b) { return plain_letter(a) == plain_letter(b); }

/* Edit distance: insert, delete, replace, and swap of neighbours (optimal string alignment). Neither the case of
 * letters nor '_' for '-' is a difference. */
static int edit_distance(const char *a, const char *b) {
  int rows[3][WORD_MAX + 1];
  int a_length = (int)strnlen(a, WORD_MAX), b_length = (int)strnlen(b, WORD_MAX);
  for (int j = 0; j <= b_length; ++j)
    rows[0][j] = j;
  for (int i = 1; i <= a_length; ++i) {
    int *now = rows[i % 3], *before = rows[(i + 2) % 3], *two_before = rows[(i + 1) % 3];
    now[0] = i;
    for (int j = 1; j <= b_length; ++j) {
      int best = before[j - 1] + !same_letter(a[i - 1], b[j - 1]);
      if (before[j] + 1 < best) best = before[j] + 1;
      if (now[j - 1] + 1 < best) best = now[j - 1] + 1;
      bool swapped = i > 1 && j > 1 && same_letter(a[i - 1], b[j - 2]) && same_letter(a[i - 2], b[j - 1]);
      if (swapped && two_before[j - 2] + 1 < best) best = two_before[j - 2] + 1;
      now[j] = best;
    }
  }
  return rows[a_length % 3][b_length];
}

/* Whether a candidate has `word` as whole parts between dashes. */
static bool has_part(const char *candidate, const char *word) {
  const size_t length = strlen(word);
  for (const char *at = candidate; *at; ++at) {
    size_t same = 0;
    while (same < length && at[same] && same_letter(at[same], word[same]))
      ++same;
    if (same == length && (at == candidate || same_letter(at[-1], '-')) && (!at[same] || same_letter(at[same], '-')))
      return true;
  }
  return false;
}

static bool starts_so(const char *candidate, const char *word) {
  while (*word && *candidate && same_letter(*word, *candidate))
    ++word, ++candidate;
  return !*word;
}

/* The only candidate that begins with the word, or has it as a part; two of them are none. */
static const char *only_longer(const char *word, const char *const *candidates, int count) {
  enum { PART_MIN = 3 };
  const char *found = NULL;
  if (strlen(word) < PART_MIN) return NULL;
  for (int i = 0; i < count; ++i) {
    if (!starts_so(candidates[i], word) && !has_part(candidates[i], word)) continue;
    if (found) return NULL;
    found = candidates[i];
  }
  return found;
}

const char *zb_nearest(const char *word, const char *const *candidates, int count) {
  enum { NEAR = 2, LETTERS_A_SLIP = 8 }; /* long names are typed with more slips */
  const char *nearest = NULL;
  int nearest_distance = 0;
  const int letters = (int)strnlen(word, WORD_MAX),
            far = letters / LETTERS_A_SLIP > NEAR ? letters / LETTERS_A_SLIP : NEAR;
  for (int i = 0; i < count; ++i) {
    int distance = edit_distance(word, candidates[i]);
    if (nearest && distance >= nearest_distance) continue;
    nearest = candidates[i];
    nearest_distance = distance;
  }
  if (nearest && nearest_distance <= far && nearest_distance * 2 < letters) return nearest;
  if (nearest && nearest_distance == 1 && letters == 2 && starts_so(nearest, word)) return nearest;
  return only_longer(word, candidates, count);
}

/* The part between dots at `text`, into out[WORD_MAX + 1], shortened if need be; the next one, or NULL. */
static const char *take_part(const char *text, char *out) {
  const size_t length = strcspn(text, "."), kept = length < WORD_MAX ? length : WORD_MAX;
  memcpy(out, text, kept);
  out[kept] = '\0';
  return text[length] ? text + length + 1 : NULL;
}

static bool fits_any(const char *glob, const char *const *names, int count) {
  for (int i = 0; i < count; ++i)
    if (zb_glob(glob, names[i])) return true;
  return false;
}

/* Every part of every name in the place of the part of the GLOB at `at`, which has no star: the nearest one of those
 * with which the GLOB fits a name. */
static void replace_part(const char *glob, const char *at, const char *const *names, int count, int *least, char *out,
                         size_t size) {
  char typed[WORD_MAX + 1], part[WORD_MAX + 1];
  const char *rest = take_part(at, typed);
  if (strpbrk(typed, "*?")) return;
  for (int i = 0; i < count; ++i)
    for (const char *next = names[i]; next;) {
      char tried[4 * WORD_MAX];
      next = take_part(next, part);
      const int distance = edit_distance(typed, part);
      if (distance >= *least || !zb_nearest(typed, (const char *const[]){part}, 1)) continue;
      const int length =
          snprintf(tried, sizeof tried, "%.*s%s%s%s", (int)(at - glob), glob, part, rest ? "." : "", rest ? rest : "");
      if (length < 0 || (size_t)length >= sizeof tried || (size_t)length >= size) continue;
      if (!fits_any(tried, names, count)) continue;
      *least = distance;
      memcpy(out, tried, (size_t)length + 1);
    }
}

bool zb_nearest_glob(const char *glob, const char *const *names, int count, char *out, size_t size) {
  int least = WORD_MAX;
  for (const char *at = glob; strpbrk(glob, "*?") && at; at = strchr(at, '.') ? strchr(at, '.') + 1 : NULL)
    replace_part(glob, at, names, count, &least, out, size);
  if (least < WORD_MAX) return true;
  const char *nearest = zb_nearest(glob, names, count);
  return nearest && snprintf(out, size, "%s", nearest) < (int)size;
}

/* ---- By the table ---- */

/* As words are compared: without leading dashes and what follows '=', in lower case, '-' for '_'. False: too long to be
 * in any table. */
static bool plain_word(const char *typed, bool option, char out[WORD_BYTES]) {
  size_t length = 0;
  if (option) typed += strspn(typed, "-");
  for (; *typed && !(option && *typed == '='); ++typed) {
    if (length + 1 >= WORD_BYTES) return false;
    out[length++] = *typed == '_' ? '-' : (char)tolower((unsigned char)*typed);
  }
  out[length] = '\0';
  return length > 0;
}

/* Whether a word is one of those in `typed`, which are separated by blanks. */
static bool is_typed(const char *typed, const char *word) {
  char pattern[WORD_BYTES];
  for (const char *at = typed; *at; at += strspn(at, " ")) {
    size_t length = strcspn(at, " ");
    snprintf(pattern, sizeof pattern, "%.*s", (int)length, at);
    for (char *c = pattern; *c; ++c)
      if (*c == '_') *c = '-';
    if (zb_glob(pattern, word)) return true;
    at += length;
  }
  return false;
}

const char *zb_name_meaning(const char *what, const char *typed) {
  char word[WORD_BYTES];
  if (!plain_word(typed, false, word)) return NULL;
  for (int i = 0; i < VALUE_WORDS; ++i)
    if (strcmp(value_words[i].what, what) == 0 && is_typed(value_words[i].typed, word)) return value_words[i].why;
  return NULL;
}

/* ---- Options ---- */

/* The row of the program that was called, else the first. */
static const option_word *find_option_word(const char *program, const char *word) {
  const option_word *first = NULL;
  for (int i = 0; i < OPTION_WORDS; ++i) {
    if (!is_typed(option_words[i].typed, word)) continue;
    if (strcmp(option_words[i].program, program) == 0) return &option_words[i];
    if (!first) first = &option_words[i];
  }
  return first;
}

static zb_status hint_word(zb_status status, const option_word *row, const char *program) {
  bool own = strcmp(row->program, program) == 0;
  if (!*row->option) return zb_status_hint(status, "%s", row->why);
  return zb_status_hint(status, "%s %s%s%s%s%s", own ? "write" : row->program, row->option, *row->example ? " " : "",
                        row->example, *row->why ? ": " : "", row->why);
}

/* The options of a program without their dashes; `names` is where they are kept. -o and the like, which nothing is
 * near, are left out. */
static int list_options(const zb_program *program, char names[OPTIONS_MAX][WORD_BYTES], const char *out[OPTIONS_MAX]) {
  int count = 0;
  for (const char *at = program->options; *at && count < OPTIONS_MAX; at += strspn(at, " ")) {
    size_t length = strcspn(at, " ");
    if (length > 2 && length < WORD_BYTES) {
      snprintf(names[count], WORD_BYTES, "%.*s", (int)length, at);
      out[count] = names[count] + strspn(names[count], "-");
      ++count;
    }
    at += length;
  }
  return count;
}

static bool has_option(const zb_program *program, const char *word) {
  char names[OPTIONS_MAX][WORD_BYTES];
  const char *options[OPTIONS_MAX];
  int count = list_options(program, names, options);
  for (int i = 0; i < count; ++i)
    if (strcmp(options[i], word) == 0) return true;
  return false;
}

static zb_status hint_near(zb_status status, const zb_program *program, const char *word) {
  char names[OPTIONS_MAX][WORD_BYTES];
  const char *options[OPTIONS_MAX];
  int count = list_options(program, names, options);
  const char *nearest = zb_nearest(word, options, count);
  if (nearest) return zb_status_hint(status, "did you mean '--%s'?", nearest);
  return zb_status_hint(status, "%s --help lists the options", program->name);
}

zb_status zb_unknown_option(const zb_program *programs, int count, int own, const char *argument) {
  char word[WORD_BYTES];
  zb_status status = ZB_ERROR(USAGE, "unknown option '%s'", argument);
  if (!plain_word(argument, true, word))
    return zb_status_hint(status, "%s --help lists the options", programs[own].name);
  if (has_option(&programs[own], word)) return zb_status_hint(status, "did you mean '--%s'?", word);
  const option_word *row = find_option_word(programs[own].name, word);
  if (row) return hint_word(status, row, programs[own].name);
  for (int i = 0; i < count; ++i)
    if (i != own && has_option(&programs[i], word))
      return zb_status_hint(status, "--%s is an option of %s, which %s", word, programs[i].name, programs[i].does);
  return hint_near(status, &programs[own], word);
}

/* ---- Names ---- */

zb_status zb_hint_name(zb_status status, const char *what, const char *name, const char *const *names, int count) {
  const char *meaning = zb_name_meaning(what, name), *nearest = meaning ? NULL : zb_nearest(name, names, count);
  if (meaning) return zb_status_hint(status, "%s", meaning);
  if (nearest) return zb_status_hint(status, "did you mean '%s'?", nearest);
  zb_text known = {0};
  for (int i = 0; i < count; ++i)
    zb_text_add(&known, "%s%s", i ? ", " : "", names[i]);
  if (!known.failed) status = zb_status_hint(status, "known: %s", known.data);
  zb_text_deinit(&known);
  return status;
}

zb_status zb_unknown_name(const char *what, const char *name, const char *const *names, int count) {
  return zb_hint_name(ZB_ERROR(USAGE, "there is no %s '%s'", what, name), what, name, names, count);
}
