/* Lines of options: see line.h. Tests: test/runtime/base/line_test.c, test/passes/autodiff-options.mlir. */
#include "runtime/base/line.h"

#include "runtime/base/words.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int zb_line_key(const zb_line_row *row, const char *name) {
  for (int i = 0; row->keys[i].kind != ZB_KEY_END; ++i)
    if (strcmp(row->keys[i].name, name) == 0) return i;
  return -1;
}

/* ---- Reading ---- */

/* kind: what the table of words calls such a name. */
static zb_status unknown(zb_status status, const char *kind, const char *name, const char *const *names, int count) {
  const char *meaning = zb_name_meaning(kind, name), *nearest = zb_nearest(name, names, count);
  zb_text known = {0};
  for (int i = 0; i < count; ++i)
    zb_text_add(&known, "%s%s", i ? ", " : "", names[i]);
  if (!known.failed && meaning)
    status = zb_status_hint(status, "%s; known: %s", meaning, known.data);
  else if (!known.failed && nearest)
    status = zb_status_hint(status, "did you mean '%s'? known: %s", nearest, known.data);
  else if (!known.failed)
    status = zb_status_hint(status, "known: %s", known.data);
  zb_text_deinit(&known);
  return status;
}

static zb_status unknown_key(const char *what, const zb_line_row *row, const char *name) {
  const char *names[ZB_LINE_KEYS];
  char kind[64];
  int count = 0;
  for (; row->keys[count].kind != ZB_KEY_END; ++count)
    names[count] = row->keys[count].name;
  snprintf(kind, sizeof kind, "%s key", what);
  return unknown(ZB_ERROR(USAGE, "unknown key '%s' of %s '%s'", name, what, row->name), kind, name, names, count);
}

static zb_status parse_value(const char *what, const zb_line_row *row, const zb_key *key, const char *text,
                             double *out) {
  static const char booleans[] = "false true";
  char *end = NULL;
  if (key->kind == ZB_KEY_BOOL || key->kind == ZB_KEY_WORD) {
    const char *words = key->kind == ZB_KEY_BOOL ? booleans : key->words;
    *out = zb_word_index(words, text);
    if (*out >= 0) return NULL;
    if (key->kind == ZB_KEY_BOOL)
      return ZB_ERROR(USAGE, "%s '%s': %s must be true or false, got '%s'", what, row->name, key->name, text);
    return zb_status_hint(ZB_ERROR(USAGE, "%s '%s': there is no %s '%s'", what, row->name, key->name, text),
                          "known: %s", words);
  }
  *out = strtod(text, &end) + 0.0; /* no -0 */
  const bool is_whole = key->kind != ZB_KEY_WHOLE || (floor(*out) == *out && !strpbrk(text, "xXpP"));
  if (end != text && !*end && isfinite(*out) && *out >= key->least && *out < key->below && is_whole) return NULL;
  char below[32] = "";
  if (isfinite(key->below)) snprintf(below, sizeof below, " to below %g", key->below);
  return ZB_ERROR(USAGE, "%s '%s': %s must be a %snumber from %g%s, got '%s'", what, row->name, key->name,
                  key->kind == ZB_KEY_WHOLE ? "whole " : "", key->least, below, text);
}

static zb_status parse_pair(const char *what, char *pair, zb_line *out) {
  const char *name = out->row->name;
  char *value = strchr(pair, '=');
  if (!*pair)
    return zb_status_hint(ZB_ERROR(USAGE, "%s '%s': a setting is missing after ':' or ','", what, name),
                          "write %s:key=value,key=value", name);
  if (!value) return zb_status_hint(ZB_ERROR(USAGE, "%s '%s': '%s' has no value", what, name, pair), "write key=value");
  *value++ = '\0';
  const int index = zb_line_key(out->row, pair);
  if (index < 0) return unknown_key(what, out->row, pair);
  if (out->given[index])
    return zb_status_hint(ZB_ERROR(USAGE, "%s '%s': %s is given twice", what, name, pair), "leave one of them out");
  out->given[index] = true;
  return parse_value(what, out->row, &out->row->keys[index], value, &out->values[index]);
}

zb_status zb_line_parse_keys(const char *what, const char *text, const zb_line_row *row, zb_line *out) {
  char copy[ZB_LINE_BYTES];
  *out = (zb_line){.row = row};
  for (int i = 0; row->keys[i].kind != ZB_KEY_END; ++i)
    out->values[i] = row->keys[i].fallback;
  if (!text) return NULL;
  if (strlen(text) >= sizeof copy) return ZB_ERROR(USAGE, "the line of the %s '%s' is too long", what, row->name);
  snprintf(copy, sizeof copy, "%s", text);
  for (char *pair = copy, *next; pair; pair = next) {
    next = strchr(pair, ',');
    if (next) *next++ = '\0';
    ZB_TRY(parse_pair(what, pair, out));
  }
  return NULL;
}

zb_status zb_line_parse(const char *what, const char *text, const zb_line_row *const *rows, int count, zb_line *out) {
  const char *keys = strchr(text, ':');
  const size_t length = keys ? (size_t)(keys - text) : strlen(text);
  for (int i = 0; i < count; ++i)
    if (strlen(rows[i]->name) == length && strncmp(rows[i]->name, text, length) == 0)
      return zb_line_parse_keys(what, keys ? keys + 1 : NULL, rows[i], out);
  const char *names[32];
  char name[ZB_LINE_BYTES];
  for (int i = 0; i < count && i < (int)(sizeof names / sizeof names[0]); ++i)
    names[i] = rows[i]->name;
  snprintf(name, sizeof name, "%.*s", (int)length, text);
  return unknown(ZB_ERROR(USAGE, "unknown %s '%s'", what, name), what, name, names, count);
}

/* ---- Writing ---- */

void zb_number_add(double value, zb_text *out) {
  char number[32], scientific[32];
  int digits = 1;
  do
    snprintf(number, sizeof number, "%.*g", digits, value);
  while (strtod(number, NULL) != value && ++digits <= 17);
  snprintf(scientific, sizeof scientific, "%.*e", digits - 1, value);
  char *exponent = strchr(scientific, 'e');
  if (exponent) snprintf(exponent + 1, 8, "%d", atoi(exponent + 1)); /* without leading zeros */
  zb_text_add(out, "%s", exponent && strlen(scientific) < strlen(number) ? scientific : number);
}

static void add_word(const char *words, int index, zb_text *out) {
  const char *at = words;
  for (; index > 0; --index)
    at += strcspn(at, " ") + 1;
  zb_text_add(out, "%.*s", (int)strcspn(at, " "), at);
}

void zb_line_add(const zb_line *line, zb_text *out) {
  const char *before = ":";
  zb_text_add(out, "%s", line->row->name);
  for (int i = 0; line->row->keys[i].kind != ZB_KEY_END; ++i) {
    const zb_key *key = &line->row->keys[i];
    if (isnan(line->values[i])) continue;
    zb_text_add(out, "%s%s=", before, key->name);
    before = ",";
    if (key->kind == ZB_KEY_BOOL)
      zb_text_add(out, "%s", line->values[i] != 0 ? "true" : "false");
    else if (key->kind == ZB_KEY_WORD)
      add_word(key->words, (int)line->values[i], out);
    else
      zb_number_add(line->values[i], out);
  }
}
