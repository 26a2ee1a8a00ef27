/* Reads PIR JSON, as paddle.base.core.serialize_pir_program and paddle.save write it.
 *
 *   {"base_code": {"magic": "pir", ...}, "program": {"regions": [{"blocks": [{"ops": [
 *     {"#": "1.matmul", "A": [{"N": "transpose_x", "AT": {"#": "0.a_bool", "D": false}}], "I": [{"%": 219}, {"%":
 * 205}], "O": [{"%": 222, "TT": {"#": "0.t_dtensor", "D": [{"#": "0.t_f32"}, [4, 32, 192], "NCHW", [], 0]}}]}, ...
 *
 * Values have numbers, 0 is an absent one. Vectors (builtin.combine, builtin.split, and ops that give one) are what
 * they are made of: an operand that is a vector is a list. Parameters and inputs are values without an op. Tests:
 * test/ir/import/paddle. */
#include "ir/import/paddle/paddle.h"
#include "runtime/base/json.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct reader {
  zb_import *im;
  zb_paddle_program *program;
  zb_map *values; /* number in the file -> number in program->values */
} reader;

enum { VALUES_MAX = 1 << 24, ITEMS_MAX = 1 << 16 };

static const char *take(reader *r, const char *text) { return zb_import_take_text(r->im, text, strlen(text)); }

static const char *text_in(const json_t *object, const char *key) {
  const char *text = json_string_value(json_object_get(object, key));
  return text ? text : "";
}

/* "0.a_str" -> "a_str": the number of the dialect says nothing more. */
static const char *behind_dot(const char *text) {
  const char *dot = strchr(text, '.');
  return dot ? dot + 1 : text;
}

/* ---- Attributes ---- */

static double real_of(const json_t *attribute) {
  const json_t *data = json_object_get(attribute, "D");
  const char *special = text_in(attribute, "VD");
  if (json_is_number(data)) return json_number_value(data);
  return strcmp(special, "INF") == 0    ? (double)INFINITY
         : strcmp(special, "-INF") == 0 ? -(double)INFINITY
                                        : (double)NAN;
}

static int64_t integer_of(const json_t *data) {
  return json_is_boolean(data) ? json_is_true(data) : json_integer_value(data);
}

static zb_result read_integers(reader *r, const json_t *list, zb_paddle_attribute *out) {
  out->kind = ZB_PADDLE_INTEGERS;
  out->integers = zb_import_take(r->im, (json_array_size(list) + 1) * sizeof *out->integers);
  if (!out->integers) return ZB_FAIL;
  for (size_t i = 0; i < json_array_size(list); ++i)
    out->integers[out->count++] = json_integer_value(json_array_get(list, i));
  return ZB_OK;
}

/* A list of attributes: all integers and bools, or all numbers, or all texts. */
static zb_result read_list(reader *r, const json_t *list, zb_paddle_attribute *out) {
  const size_t count = json_array_size(list);
  bool whole = true, numbers = true, texts = count > 0;
  for (size_t i = 0; i < count; ++i) {
    const json_t *item = json_array_get(list, i), *data = json_object_get(item, "D");
    whole = whole && (json_is_integer(data) || json_is_boolean(data)) && strstr(text_in(item, "#"), "a_f") == NULL;
    numbers = numbers && (json_is_number(data) || *text_in(item, "VD"));
    texts = texts && json_is_string(data);
  }
  out->kind = whole ? ZB_PADDLE_INTEGERS : numbers ? ZB_PADDLE_REALS : texts ? ZB_PADDLE_TEXTS : ZB_PADDLE_OTHER;
  out->integers = zb_import_take(r->im, (count + 1) * sizeof *out->integers);
  out->reals = zb_import_take(r->im, (count + 1) * sizeof *out->reals);
  out->texts = zb_import_take(r->im, (count + 1) * sizeof *out->texts);
  if (!out->integers || !out->reals || !out->texts) return ZB_FAIL;
  for (size_t i = 0; i < count; ++i, ++out->count) {
    const json_t *item = json_array_get(list, i), *data = json_object_get(item, "D");
    out->integers[i] = integer_of(data);
    out->reals[i] = real_of(item);
    if (texts && !(out->texts[i] = take(r, json_string_value(data)))) return ZB_FAIL;
  }
  return ZB_OK;
}

static zb_result read_attribute(reader *r, const json_t *from, zb_paddle_attribute *out) {
  const json_t *value = json_object_get(from, "AT"), *data = json_object_get(value, "D");
  const char *kind = behind_dot(text_in(value, "#"));
  out->name = take(r, text_in(from, "N"));
  if (!out->name) return ZB_FAIL;
  if (strcmp(kind, "a_scalar") == 0) { /* [type, value] */
    const json_t *number = json_array_get(data, 1);
    out->kind = json_is_integer(number) ? ZB_PADDLE_INTEGER : ZB_PADDLE_REAL;
    out->integer = json_integer_value(number);
    out->real = json_number_value(number);
    return ZB_OK;
  }
  if (json_is_string(data)) {
    out->kind = ZB_PADDLE_TEXT;
    return (out->text = take(r, json_string_value(data))) ? ZB_OK : ZB_FAIL;
  }
  if (strcmp(kind, "a_intarray") == 0) return read_integers(r, data, out);
  if (strcmp(kind, "a_array") == 0) return read_list(r, data, out);
  if (strcmp(kind, "a_f32") == 0 || strcmp(kind, "a_f64") == 0) {
    out->kind = ZB_PADDLE_REAL;
    out->real = real_of(value);
  } else if (json_is_integer(data) || json_is_boolean(data)) {
    out->kind = ZB_PADDLE_INTEGER;
    out->integer = integer_of(data);
  }
  return ZB_OK;
}

static zb_result read_attributes(reader *r, const json_t *from, zb_paddle_op *op) {
  static const char *const lists[] = {"A", "OA"};
  size_t count = 0;
  for (int k = 0; k < 2; ++k)
    count += json_array_size(json_object_get(from, lists[k]));
  op->attributes = zb_import_take(r->im, (count + 1) * sizeof *op->attributes);
  if (!op->attributes) return ZB_FAIL;
  for (int k = 0; k < 2; ++k) {
    const json_t *list = json_object_get(from, lists[k]);
    for (size_t i = 0; i < json_array_size(list); ++i) {
      const json_t *entry = json_array_get(list, i);
      if (!json_is_object(entry)) continue; /* of a parameter: read by its place */
      if (!read_attribute(r, entry, &op->attributes[op->attribute_count++])) return ZB_FAIL;
    }
  }
  return ZB_OK;
}

/* ---- Values ---- */

static bool read_type(const json_t *type, zb_paddle_value *out) {
  const char *kind = behind_dot(text_in(type, "#"));
  const json_t *data = json_object_get(type, "D"), *dims = json_array_get(data, 1);
  if (strcmp(kind, "t_dtensor") != 0 || !json_is_array(dims)) return true;
  const char *element = behind_dot(text_in(json_array_get(data, 0), "#"));
  out->is_typed = zb_paddle_dtype(element, &out->shape.dtype);
  if (out->is_typed) out->type_text = zb_dtype_name(out->shape.dtype);
  out->is_static = json_array_size(dims) <= ZB_DIMS_MAX;
  for (size_t i = 0; i < json_array_size(dims) && out->is_static; ++i) {
    out->shape.dims[i] = json_integer_value(json_array_get(dims, i));
    out->is_static = json_is_integer(json_array_get(dims, i)) && out->shape.dims[i] >= 0;
  }
  out->shape.rank = out->is_static ? (int)json_array_size(dims) : 0;
  return !out->is_static || !out->is_typed || zb_shape_bytes(&out->shape) >= 0;
}

/* The number that an operand or result has; -1: it is none. */
static int64_t number_of(const json_t *entry) {
  const json_t *number = json_object_get(entry, "%");
  const json_int_t value = json_is_integer(number) ? json_integer_value(number) : -1;
  return value < 0 || value > VALUES_MAX ? -1 : (int64_t)value;
}

static const void *key_of(int64_t number) { return (const void *)(uintptr_t)number; }

/* A value of that name and type, which may be a vector. */
static zb_paddle_value *new_value(reader *r, const char *name, const json_t *type) {
  const char *taken = take(r, name);
  zb_paddle_value *value = taken ? zb_paddle_value_new(r->im, r->program, taken) : NULL;
  if (!value) return NULL;
  return read_type(type, value) ? value : (zb_paddle_damaged(r->im, r->program, "'%s' is too large", name), NULL);
}

static zb_paddle_value *make_value(reader *r, const zb_paddle_op *op, const json_t *type, int place) {
  char name[160];
  if (place)
    snprintf(name, sizeof name, "%.120s:%d.%d", op->kind, op->number, place);
  else
    snprintf(name, sizeof name, "%.120s:%d", op->kind, op->number);
  zb_paddle_value *value = new_value(r, name, type);
  if (!value) return NULL;
  if (strcmp(behind_dot(text_in(type, "#")), "t_vec") != 0) return value;
  const json_t *items = json_object_get(type, "D");
  const size_t count = json_array_size(items);
  if (count > ITEMS_MAX) return zb_paddle_damaged(r->im, r->program, "'%s' has too many items", name), NULL;
  value->items = zb_import_take(r->im, (count + 1) * sizeof *value->items);
  for (size_t i = 0; value->items && i < count; ++i) {
    snprintf(name, sizeof name, "%.120s:%d.%d", op->kind, op->number, (int)i);
    zb_paddle_value *item = new_value(r, name, json_array_get(items, i));
    if (!item) return NULL;
    value->items[value->item_count++] = item;
  }
  return value->items ? value : NULL;
}

/* *out NULL: absent. */
static zb_result look_up(reader *r, const json_t *entry, const char *kind, zb_paddle_value **out) {
  int64_t found;
  const int64_t number = number_of(entry);
  *out = NULL;
  if (number == 0) return ZB_OK;
  if (number < 0 || !zb_map_get(r->values, key_of(number), &found))
    return zb_paddle_damaged(r->im, r->program, "an operand of %s is %%%lld, which nothing before it gives", kind,
                             (long long)number);
  *out = r->program->values[found];
  return ZB_OK;
}

static zb_result bind(reader *r, const json_t *entry, const zb_paddle_value *value) {
  const int64_t number = number_of(entry);
  if (number <= 0) return zb_paddle_damaged(r->im, r->program, "a result of %s has no number", value->name);
  if (zb_map_get_or(r->values, key_of(number), -1) >= 0)
    return zb_paddle_damaged(r->im, r->program, "two ops give %%%lld", (long long)number);
  return zb_map_set(r->values, key_of(number), (int64_t)value->number) ? ZB_OK : zb_import_memory(r->im);
}

/* ---- Ops ---- */

/* A value, or what it is made of. */
static zb_result fill_slot(reader *r, zb_paddle_slot *slot, zb_paddle_value *value, bool is_absent) {
  slot->count = value && value->items ? value->item_count : 1;
  slot->values = zb_import_take(r->im, ((size_t)slot->count + 1) * sizeof *slot->values);
  for (int k = 0; slot->values && k < slot->count; ++k)
    slot->values[k] = is_absent ? NULL : value && value->items ? value->items[k] : value;
  return slot->values ? ZB_OK : ZB_FAIL;
}

static zb_result read_operands(reader *r, const json_t *list, zb_paddle_op *op) {
  const size_t count = json_array_size(list);
  op->inputs = zb_import_take(r->im, (count + 1) * sizeof *op->inputs);
  if (!op->inputs) return ZB_FAIL;
  for (size_t i = 0; i < count; ++i) {
    zb_paddle_slot *slot = &op->inputs[op->input_count++];
    zb_paddle_value *value;
    if (!look_up(r, json_array_get(list, i), op->kind, &value)) return ZB_FAIL;
    if (!fill_slot(r, slot, value, false)) return ZB_FAIL;
  }
  return ZB_OK;
}

static void mark_stops(const zb_paddle_op *op, int place, zb_paddle_value *value) {
  const zb_paddle_attribute *stops = zb_paddle_find(op, "stop_gradient"), *kept = zb_paddle_find(op, "persistable");
  if (stops && stops->kind == ZB_PADDLE_INTEGERS && place < stops->count)
    value->stops_gradient = stops->integers[place];
  if (kept && kept->kind == ZB_PADDLE_INTEGERS && place < kept->count) value->is_persistable = kept->integers[place];
}

static zb_result read_results(reader *r, const json_t *list, zb_paddle_op *op) {
  const size_t count = json_array_size(list);
  op->outputs = zb_import_take(r->im, (count + 1) * sizeof *op->outputs);
  if (!op->outputs) return ZB_FAIL;
  for (size_t i = 0; i < count; ++i) {
    const json_t *entry = json_array_get(list, i), *type = json_object_get(entry, "TT");
    zb_paddle_slot *slot = &op->outputs[op->output_count++];
    const bool is_absent = strcmp(text_in(type, "#"), "NULL") == 0;
    zb_paddle_value *value = make_value(r, op, type, (int)i);
    if (!value || !bind(r, entry, value)) return ZB_FAIL;
    mark_stops(op, (int)i, value);
    if (!fill_slot(r, slot, value, is_absent)) return ZB_FAIL;
    for (int k = 0; k < slot->count; ++k)
      if (slot->values[k]) slot->values[k]->producer = op;
  }
  return ZB_OK;
}

/* {"#": "p", "A": [is_distributed, is_parameter, need_clip, "name"], "O": {...}, "OA": [persistable, stop_gradient,
 * trainable]} */
static zb_result read_parameter(reader *r, const json_t *from, const zb_paddle_op *op) {
  const char *name = json_string_value(json_array_get(json_object_get(from, "A"), 3));
  const json_t *result = json_object_get(from, "O"), *flags = json_object_get(from, "OA");
  if (!name || !json_is_object(result))
    return zb_paddle_damaged(r->im, r->program, "op %d is a parameter without a name or a result", op->number);
  zb_paddle_value *value = make_value(r, op, json_object_get(result, "TT"), 0);
  if (!value) return ZB_FAIL;
  value->name = take(r, name);
  value->is_parameter = value->is_persistable = true;
  value->stops_gradient = json_integer_value(json_array_get(flags, 1)) != 0;
  return value->name ? bind(r, result, value) : ZB_FAIL;
}

/* pd_op.data and pd_op.feed: what the program is given. */
static zb_result read_given(reader *r, const json_t *from, const zb_paddle_op *op) {
  const json_t *result = json_array_get(json_object_get(from, "O"), 0);
  const char *name = zb_paddle_text_in(op, "name");
  if (!name || !result)
    return zb_paddle_damaged(r->im, r->program, "op %d (%s) has no name or no result", op->number, op->kind);
  zb_paddle_value *value = make_value(r, op, json_object_get(result, "TT"), 0);
  if (!value) return ZB_FAIL;
  value->name = name;
  mark_stops(op, 0, value);
  return bind(r, result, value) ? zb_paddle_add_fed(r->im, r->program, value) : ZB_FAIL;
}

static zb_result read_combine(reader *r, const json_t *from, const zb_paddle_op *op) {
  const json_t *list = json_object_get(from, "I"), *result = json_array_get(json_object_get(from, "O"), 0);
  zb_paddle_value *value = zb_paddle_value_new(r->im, r->program, op->kind);
  if (!value) return ZB_FAIL;
  value->items = zb_import_take(r->im, (json_array_size(list) + 1) * sizeof *value->items);
  if (!value->items) return ZB_FAIL;
  for (size_t i = 0; i < json_array_size(list); ++i)
    if (!look_up(r, json_array_get(list, i), op->kind, &value->items[value->item_count++])) return ZB_FAIL;
  return bind(r, result, value);
}

static zb_result read_split(reader *r, const json_t *from, const zb_paddle_op *op) {
  const json_t *results = json_object_get(from, "O");
  zb_paddle_value *vector;
  if (!look_up(r, json_array_get(json_object_get(from, "I"), 0), op->kind, &vector)) return ZB_FAIL;
  if (!vector || !vector->items || (size_t)vector->item_count != json_array_size(results))
    return zb_paddle_damaged(r->im, r->program, "op %d takes a vector apart that it does not have", op->number);
  for (int i = 0; i < vector->item_count; ++i)
    if (!vector->items[i] || !bind(r, json_array_get(results, (size_t)i), vector->items[i]))
      return r->im->failed ? ZB_FAIL : zb_paddle_damaged(r->im, r->program, "op %d has an absent item", op->number);
  return ZB_OK;
}

/* What a file calls a value that it hands out. */
static void mark_fetched(const zb_paddle_op *op) {
  static const char *const names[] = {"name", "output_name"};
  if (strcmp(op->kind, "fetch") != 0 && strcmp(op->kind, "shadow_output") != 0) return;
  zb_paddle_value *value = op->operand_count ? op->operands[0] : NULL;
  if (!value) return;
  value->is_fetched = true;
  for (int i = 0; i < 2; ++i) {
    const char *name = zb_paddle_text_in(op, names[i]);
    if (name && value->producer) value->name = name;
  }
}

static zb_result read_op(reader *r, const json_t *from, int number) {
  zb_paddle_op *op = zb_paddle_op_new(r->im, r->program);
  const char *full = text_in(from, "#"), *kind = strncmp(full, "pd_op.", 6) == 0 ? full + 6 : behind_dot(full);
  if (!op) return ZB_FAIL;
  size_t length = strlen(kind);
  if (length > 1 && kind[length - 1] == '_') --length; /* in place: the result is a value of its own here */
  op->kind = zb_import_take_text(r->im, kind, length);
  op->number = number;
  if (!op->kind) return ZB_FAIL;
  if (length == 0) return zb_paddle_damaged(r->im, r->program, "op %d has no name", number);
  if (!read_attributes(r, from, op)) return ZB_FAIL;
  const zb_paddle_attribute *role = zb_paddle_find(op, "op_role");
  const char *layer = zb_paddle_text_in(op, "struct_name");
  if (role && role->kind == ZB_PADDLE_INTEGER) op->role = role->integer;
  if (layer) op->path = zb_paddle_layer_path(r->im, layer);
  if (strcmp(full, "p") == 0) return read_parameter(r, from, op);
  if (strcmp(kind, "data") == 0 || strcmp(kind, "feed") == 0) return read_given(r, from, op);
  if (strcmp(full, "0.combine") == 0) return read_combine(r, from, op);
  if (strcmp(full, "0.split") == 0) return read_split(r, from, op);
  if (!read_operands(r, json_object_get(from, "I"), op) || !read_results(r, json_object_get(from, "O"), op) ||
      !zb_paddle_list_values(r->im, op))
    return ZB_FAIL;
  mark_fetched(op);
  op->row = zb_paddle_row_find(op->kind, true);
  return zb_paddle_name_slots(r->im, op);
}

static zb_result read_root(reader *r, const json_t *root) {
  const json_t *region = json_array_get(json_object_get(json_object_get(root, "program"), "regions"), 0);
  const json_t *ops = json_object_get(json_array_get(json_object_get(region, "blocks"), 0), "ops");
  if (strcmp(text_in(json_object_get(root, "base_code"), "magic"), "pir") != 0)
    return zb_paddle_damaged(r->im, r->program, "base_code.magic is not \"pir\"");
  if (!json_is_array(ops)) return zb_paddle_damaged(r->im, r->program, "it has no ops");
  r->program->op_capacity = json_array_size(ops);
  r->program->ops = zb_import_take(r->im, (json_array_size(ops) + 1) * sizeof *r->program->ops);
  if (!r->program->ops) return ZB_FAIL;
  for (size_t i = 0; i < json_array_size(ops); ++i)
    if (!read_op(r, json_array_get(ops, i), (int)i)) return ZB_FAIL;
  return ZB_OK;
}

zb_result zb_paddle_read_pir(zb_import *im, const zb_import_source *file, zb_paddle_program *out) {
  reader r = {.im = im, .program = out, .values = zb_arena_map_pointer(&im->memory)};
  json_t *root = NULL;
  json_error_t error;
  out->is_pir = true;
  if (!r.values) return zb_import_memory(im);
  zb_status status = zb_json_parse((const char *)file->data, file->bytes, JSON_REJECT_DUPLICATES, &root, &error);
  if (status) {
    zb_status_free(status);
    return zb_import_memory(im);
  }
  zb_result result =
      root ? read_root(&r, root) : zb_paddle_damaged(im, out, "%d:%d: %s", error.line, error.column, error.text);
  json_decref(root);
  return result;
}

/* ---- Either format ---- */

static bool is_json(const zb_import_source *file) {
  size_t i = 0;
  while (i < file->bytes && strchr(" \t\r\n", file->data[i]) && file->data[i])
    ++i;
  return i < file->bytes && file->data[i] == '{';
}

zb_result zb_paddle_read_program(zb_import *im, const zb_import_source *file, zb_paddle_program *out) {
  if (file->bytes == 0) return zb_paddle_damaged(im, out, "it is empty");
  return is_json(file) ? zb_paddle_read_pir(im, file, out) : zb_paddle_read_description(im, file, out);
}
