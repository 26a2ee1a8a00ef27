/* JSON objects by tables: json_fields.h. Tests: test/runtime/base/costs_test.c,
 * test/passes/schedule/problem_json_test.c.
 */
#include "runtime/formats/json_fields.h"

#include "runtime/base/words.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { KEYS_MAX = 24, SHOWN_BYTES = 88, TEXT_MOST = 4096 };
static const double PS_PER_MS = 1e9;

/* ---- Errors ---- */

static void add_place(zb_text *out, const zb_json_place *at) {
  if (!at->within) return;
  add_place(out, at->within);
  if (at->key)
    zb_text_add(out, "%s%s", at->within->within ? "." : "", at->key);
  else
    zb_text_add(out, "[%zu]", at->index);
}

static const char *skip_blanks(const char *at, const char *end) {
  while (at < end && strchr(" \t\r\n", *at))
    ++at;
  return at;
}

/* Behind a value of a text that was parsed without an error, as all that is done here. */
static const char *skip_value(const char *at, const char *end) {
  int depth = 0;
  do {
    if (*at == '"')
      for (++at; at < end && *at != '"'; ++at)
        at += *at == '\\';
    else
      depth += (*at == '{' || *at == '[') - (*at == '}' || *at == ']');
    ++at;
  } while (at < end && (depth > 0 || !strchr(" \t\r\n,:]}", *at)));
  return at;
}

/* Where the value at a place begins (of a member with an index: its key); of one that is missing, what lacks it. */
static const char *find_place(const zb_json_place *at) {
  const char *text = at->source->text, *end = text + at->source->bytes;
  if (!at->within) return skip_blanks(text + zb_byte_order_mark(text, at->source->bytes), end);
  const char *whole = find_place(at->within), *item = skip_blanks(whole + 1, end);
  for (size_t i = 0; item < end && *item != '}' && *item != ']'; ++i) {
    const char *key_end = *whole == '{' ? skip_value(item, end) : item;
    const char *value = *whole == '{' ? skip_blanks(skip_blanks(key_end, end) + 1, end) : item;
    const bool is_it = *whole != '{' ? i == at->index
                                     : at->key && (size_t)(key_end - item) == strlen(at->key) + 2 &&
                                           !strncmp(item + 1, at->key, strlen(at->key));
    if (is_it) return *whole == '{' && at->index ? item : value;
    item = skip_blanks(skip_value(value, end), end);
    if (item < end && *item == ',') item = skip_blanks(item + 1, end);
  }
  return whole;
}

static zb_status error_at(const zb_json_place *at, const char *found, const char *whole_file, const char *message) {
  zb_text place = {0};
  int line = 1, column = 1;
  add_place(&place, at);
  const char *text = at->source->text;
  for (text += zb_byte_order_mark(text, at->source->bytes); text < found; ++text) {
    column = *text == '\n' ? 1 : column + ((*text & 0xc0) != 0x80);
    line += *text == '\n';
  }
  zb_status status =
      ZB_ERROR(INVALID, "%s:%d:%d: %s%s%s", at->source->name, line, column,
               at->within && place.data ? place.data : whole_file, at->within || *whole_file ? ": " : "", message);
  zb_text_deinit(&place);
  return at->source->hint ? zb_status_hint(status, "%s", at->source->hint) : status;
}

zb_status zb_json_error(const zb_json_place *at, const char *format, ...) {
  char message[256];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  return error_at(at, find_place(at), "", message);
}

/* The value as it is in the file, shortened. */
static void show(const json_t *value, char text[SHOWN_BYTES]) {
  zb_text dump = {0};
  zb_status status = NULL;
  if (!value)
    zb_text_add(&dump, "none");
  else if (json_is_object(value))
    zb_text_add(&dump, json_object_size(value) ? "an object" : "an empty object");
  else if (json_is_array(value))
    zb_text_add(&dump, "a list of %zu", json_array_size(value));
  else
    status = zb_json_print(value, JSON_ENCODE_ANY | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(12), &dump);
  const char *shown = !status && dump.data ? dump.data : "something else";
  const bool fits = strlen(shown) < SHOWN_BYTES;
  snprintf(text, SHOWN_BYTES, "%.*s%s", fits ? SHOWN_BYTES - 1 : SHOWN_BYTES - 4, shown, fits ? "" : "...");
  zb_status_free(status);
  zb_text_deinit(&dump);
}

zb_status zb_json_wrong(const zb_json_place *at, const json_t *value, const char *format, ...) {
  char expected[128], got[SHOWN_BYTES], message[256];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(expected, sizeof expected, format, arguments);
  va_end(arguments);
  show(value, got);
  snprintf(message, sizeof message, "expected %s, got %s", expected, got);
  return error_at(at, find_place(at), "the file", message);
}

static zb_status unknown_key(const zb_json_place *at, const char *name, const zb_json_field *fields) {
  const char *names[KEYS_MAX];
  zb_text list = {0};
  int count = 0;
  for (; fields[count].name && count < KEYS_MAX; ++count)
    zb_text_add(&list, "%s%s", count ? ", " : "", names[count] = fields[count].name);
  const char *nearest = zb_nearest(name, names, count);
  char message[256];
  snprintf(message, sizeof message, "unknown key '%.60s'%s%s%s", name, nearest ? ", did you mean '" : "",
           nearest ? nearest : "", nearest ? "'?" : "");
  zb_status status = error_at(at, find_place(&(zb_json_place){at->source, at, name, 1}), "", message);
  status = zb_status_hint(status, "keys are %s", list.data ? list.data : "");
  zb_text_deinit(&list);
  return status;
}

/* ---- Reading ---- */

zb_status zb_json_open(const char *text, size_t bytes, const char *name, const char *hint, json_t **out) {
  json_error_t error;
  ZB_TRY(zb_json_parse(text, bytes, JSON_REJECT_DUPLICATES, out, &error));
  if (*out) return NULL;
  zb_status status = ZB_ERROR(INVALID, "%s:%d:%d: not JSON: %s", name, error.line, error.column, error.text);
  return hint ? zb_status_hint(status, "%s", hint) : status;
}

static zb_status read_whole(const json_t *value, const zb_json_place *at, const zb_json_field *f, int64_t *to) {
  const double real = json_is_real(value) ? json_real_value(value) : 0.5;
  int64_t number = -1;
  bool good = json_is_integer(value);
  if (good)
    number = json_integer_value(value);
  else if ((good = fabs(real) <= (double)ZB_JSON_MOST && !(floor(real) < real)))
    number = (int64_t)real;
  if (good && number >= f->low && number <= f->high) {
    *to = number;
    return NULL;
  }
  if (f->high == ZB_JSON_MOST) return zb_json_wrong(at, value, "a whole number of %" PRId64 " to 4.6e18", f->low);
  return zb_json_wrong(at, value, "a whole number of %" PRId64 " to %" PRId64, f->low, f->high);
}

static zb_status read_real(const json_t *value, const zb_json_place *at, const zb_json_field *f, double *to) {
  const double number = json_is_number(value) ? json_number_value(value) : NAN;
  if (number >= (double)f->low && (!f->high || number <= (double)f->high)) {
    *to = number;
    return NULL;
  }
  if (f->high) return zb_json_wrong(at, value, "a number of %g to %g", (double)f->low, (double)f->high);
  return zb_json_wrong(at, value, "a number of %g or more", (double)f->low);
}

static zb_status read_ms(const json_t *value, const zb_json_place *at, int64_t *to) {
  const double number = json_is_number(value) ? json_number_value(value) : NAN;
  if (!(number >= 0 && number * PS_PER_MS <= (double)ZB_JSON_MOST))
    return zb_json_wrong(at, value, "a number of 0 to 4.6e9 (ms)");
  *to = llround(number * PS_PER_MS);
  return NULL;
}

static bool parse_hex(const char *text, uint64_t *out) {
  if (!text || strlen(text) != 16 || strspn(text, "0123456789abcdef") != 16) return false;
  *out = strtoull(text, NULL, 16);
  return true;
}

static zb_status read_objects(const json_t *value, const zb_json_place *at, const zb_json_field *f, void *item) {
  if (!json_is_array(value)) return zb_json_wrong(at, value, "a list");
  const size_t count = json_array_size(value);
  int64_t *filled = (int64_t *)(void *)((char *)item + f->count_offset);
  char *items = *(char **)(void *)((char *)item + f->offset) = zb_alloc((count + 1) * f->item_bytes);
  if (!items) return ZB_OUT_OF_MEMORY();
  for (size_t i = 0; i < count; ++i) {
    *filled = (int64_t)i + 1; /* what it owns so far is released on failure */
    const zb_json_place place = {at->source, at, NULL, i};
    ZB_TRY(zb_json_read_object(json_array_get(value, i), &place, f->fields, items + i * f->item_bytes));
  }
  return NULL;
}

zb_status zb_json_read_value(const json_t *value, const zb_json_place *at, const zb_json_field *f, void *to) {
  int64_t number = 0;
  switch (f->kind) {
  case ZB_JSON_WHOLE:
    return read_whole(value, at, f, to);
  case ZB_JSON_INT:
    ZB_TRY(read_whole(value, at, f, &number));
    *(int *)to = (int)number;
    return NULL;
  case ZB_JSON_REAL:
    return read_real(value, at, f, to);
  case ZB_JSON_MS:
    return read_ms(value, at, to);
  case ZB_JSON_FLAG:
    if (!json_is_boolean(value)) return zb_json_wrong(at, value, "true or false");
    *(bool *)to = json_is_true(value);
    return NULL;
  case ZB_JSON_TEXT:
    if (!json_is_string(value) || json_string_length(value) > TEXT_MOST) return zb_json_wrong(at, value, "a text");
    *(char **)to = zb_strdup(json_string_value(value));
    return *(char **)to ? NULL : ZB_OUT_OF_MEMORY();
  case ZB_JSON_HEX:
    return parse_hex(json_string_value(value), to) ? NULL : zb_json_wrong(at, value, "16 hexadecimal digits");
  case ZB_JSON_OBJECT:
    return zb_json_read_object(value, at, f->fields, to);
  default:
    return NULL;
  }
}

/* Numbers are of eight bytes, or ints. */
static size_t number_bytes(const zb_json_field *f) { return f->kind == ZB_JSON_INT ? sizeof(int) : sizeof(int64_t); }

static zb_status read_list(const json_t *value, const zb_json_place *at, const zb_json_field *f, void *member) {
  const bool each = f->values == ZB_JSON_EACH;
  const int count = each ? at->source->each : f->values;
  char *to = each ? *(char **)member : member;
  const bool one = each && json_is_number(value);
  if (!one && (!json_is_array(value) || json_array_size(value) != (size_t)count))
    return zb_json_wrong(at, value, "%sa list of %d numbers", each ? "a number or " : "", count);
  for (size_t i = 0; i < (size_t)count; ++i) {
    const zb_json_place place = {at->source, at, NULL, i};
    ZB_TRY(zb_json_read_value(one ? value : json_array_get(value, i), one ? at : &place, f, to + i * number_bytes(f)));
  }
  return NULL;
}

zb_status zb_json_read_member(const json_t *value, const zb_json_place *at, const zb_json_field *f, void *item) {
  void *to = (char *)item + f->offset;
  if (f->kind == ZB_JSON_OTHER) return f->read ? f->read(value, at, item) : NULL;
  if (f->kind == ZB_JSON_OBJECTS) return read_objects(value, at, f, item);
  return f->values ? read_list(value, at, f, to) : zb_json_read_value(value, at, f, to);
}

zb_status zb_json_check_keys(const json_t *value, const zb_json_place *at, const zb_json_field *fields) {
  const char *name;
  json_t *member;
  json_object_foreach((json_t *)(uintptr_t)value, name, member) {
    const zb_json_field *f = fields;
    while (f->name && strcmp(f->name, name) != 0)
      ++f;
    if (!f->name) return unknown_key(at, name, fields);
  }
  return NULL;
}

zb_status zb_json_read_fields(const json_t *value, const zb_json_place *at, const zb_json_field *fields, void *item) {
  for (const zb_json_field *f = fields; f->name; ++f) {
    const zb_json_place place = {.source = at->source, .within = at, .key = f->name};
    const json_t *member = json_object_get(value, f->name);
    const bool has_other = f->with && json_object_get(value, f->with);
    if (!member && (f->required || has_other)) return zb_json_error(&place, "expected this key, it is missing");
    if (!member) continue;
    if (f->with && !has_other) return zb_json_error(&place, "expected %s beside it, got none", f->with);
    if (f->instead_of && json_object_get(value, f->instead_of))
      return zb_json_error(&place, "expected this or %s, got both", f->instead_of);
    ZB_TRY(zb_json_read_member(member, &place, f, item));
  }
  return NULL;
}

zb_status zb_json_read_object(const json_t *value, const zb_json_place *at, const zb_json_field *fields, void *item) {
  if (!json_is_object(value)) return zb_json_wrong(at, value, "an object");
  ZB_TRY(zb_json_check_keys(value, at, fields));
  return zb_json_read_fields(value, at, fields, item);
}

void zb_json_release(const zb_json_field *fields, void *item) {
  for (const zb_json_field *f = fields; f->name; ++f) {
    char *member = (char *)item + f->offset;
    if (f->kind == ZB_JSON_TEXT) zb_free(*(char **)(void *)member);
    if (f->kind == ZB_JSON_OBJECT) zb_json_release(f->fields, member);
    if (f->kind != ZB_JSON_OBJECTS) continue;
    char *items = *(char **)(void *)member;
    const int64_t count = *(int64_t *)(void *)((char *)item + f->count_offset);
    for (int64_t i = 0; items && i < count; ++i)
      zb_json_release(f->fields, items + (size_t)i * f->item_bytes);
    zb_free(items);
  }
}

/* ---- Writing ---- */

/* By jansson, which writes a point in every locale. */
void zb_json_add_real(zb_text *out, double value) {
  zb_json_watch();
  json_t *real = json_real(value);
  zb_status status = real ? zb_json_print(real, JSON_ENCODE_ANY, out) : ZB_OUT_OF_MEMORY();
  if (status) out->failed = true;
  zb_status_free(status);
  json_decref(real);
}

void zb_json_add_string(zb_text *out, const char *text) {
  zb_text_add(out, "\"");
  for (const unsigned char *c = (const unsigned char *)(text ? text : ""); *c; ++c)
    if (*c == '"' || *c == '\\')
      zb_text_add(out, "\\%c", *c);
    else if (*c < 0x20)
      zb_text_add(out, "\\u%04x", *c);
    else
      zb_text_add_bytes(out, (const char *)c, 1);
  zb_text_add(out, "\"");
}

static void add_objects(zb_text *out, const zb_json_field *f, const void *item) {
  const char *items = *(char *const *)(const void *)((const char *)item + f->offset);
  const int64_t count = *(const int64_t *)(const void *)((const char *)item + f->count_offset);
  zb_text_add(out, "[");
  for (int64_t i = 0; i < count; ++i) {
    zb_text_add(out, i ? ",\n  " : "\n  ");
    zb_json_add_object(out, f->fields, items + (size_t)i * f->item_bytes);
  }
  zb_text_add(out, "]");
}

static void add_value(zb_text *out, const zb_json_field *f, const void *from) {
  switch (f->kind) {
  case ZB_JSON_WHOLE:
    zb_text_add(out, "%" PRId64, *(const int64_t *)from);
    break;
  case ZB_JSON_INT:
    zb_text_add(out, "%d", *(const int *)from);
    break;
  case ZB_JSON_REAL:
    zb_json_add_real(out, *(const double *)from);
    if (out->data && zb_ends_with(out->data, ".0")) out->data[out->length -= 2] = '\0';
    break;
  case ZB_JSON_FLAG:
    zb_text_add(out, *(const bool *)from ? "true" : "false");
    break;
  case ZB_JSON_TEXT:
    zb_json_add_string(out, *(char *const *)from);
    break;
  case ZB_JSON_HEX:
    zb_text_add(out, "\"%016" PRIx64 "\"", *(const uint64_t *)from);
    break;
  case ZB_JSON_OBJECT:
    zb_json_add_object(out, f->fields, from);
    break;
  default:
    break;
  }
}

void zb_json_add_field(zb_text *out, const zb_json_field *f, const void *item) {
  const char *from = (const char *)item + f->offset;
  zb_text_add(out, "\"%s\": %s", f->name, f->values ? "[" : "");
  if (f->kind == ZB_JSON_OBJECTS) add_objects(out, f, item);
  if (!f->values) add_value(out, f, from);
  for (int i = 0; i < f->values; ++i) {
    if (i) zb_text_add(out, ", ");
    add_value(out, f, from + (size_t)i * number_bytes(f));
  }
  if (f->values) zb_text_add(out, "]");
}

void zb_json_add_object(zb_text *out, const zb_json_field *fields, const void *item) {
  const char *before = "{";
  for (const zb_json_field *f = fields; f->name; ++f) {
    if (f->kind == ZB_JSON_MS || f->kind == ZB_JSON_OTHER) continue;
    zb_text_add(out, "%s", before);
    zb_json_add_field(out, f, item);
    before = ", ";
  }
  zb_text_add(out, "}");
}
