/* Attributes and operands of ops by their names, which the two formats spell differently. Tests: test/ir/import/paddle.
 */
#include "ir/import/paddle/paddle.h"

#include <string.h>

/* ---- Attributes ---- */

const zb_paddle_attribute *zb_paddle_find(const zb_paddle_op *op, const char *names) {
  for (int i = 0; i < op->attribute_count; ++i)
    if (zb_word_index(names, op->attributes[i].name) >= 0) return &op->attributes[i];
  return NULL;
}

const char *zb_paddle_text_in(const zb_paddle_op *op, const char *names) {
  const zb_paddle_attribute *a = zb_paddle_find(op, names);
  return a && a->kind == ZB_PADDLE_TEXT ? a->text : NULL;
}

bool zb_paddle_number_in(const zb_paddle_op *op, const char *names, double *out) {
  const zb_paddle_attribute *a = zb_paddle_find(op, names);
  if (!a || (a->kind != ZB_PADDLE_INTEGER && a->kind != ZB_PADDLE_REAL)) return false;
  return *out = a->kind == ZB_PADDLE_INTEGER ? (double)a->integer : a->real, true;
}

static bool refuse_kind(zb_import_node *n, const char *name, const char *wanted) {
  n->im->failed = true;
  return zb_import_refuse(n, NULL, "attribute '%s' is no %s", name, wanted);
}

int64_t zb_paddle_integer(zb_import_node *n, const char *names, int64_t fallback) {
  const zb_paddle_attribute *a = zb_paddle_find(zb_paddle_source(n), names);
  if (a && a->kind != ZB_PADDLE_INTEGER) refuse_kind(n, a->name, "integer");
  return a && a->kind == ZB_PADDLE_INTEGER ? a->integer : fallback;
}

double zb_paddle_real(zb_import_node *n, const char *names, double fallback) {
  const zb_paddle_attribute *a = zb_paddle_find(zb_paddle_source(n), names);
  double number = fallback;
  if (a && !zb_paddle_number_in(zb_paddle_source(n), names, &number)) refuse_kind(n, a->name, "number");
  return number;
}

const char *zb_paddle_text(zb_import_node *n, const char *names, const char *fallback) {
  const zb_paddle_attribute *a = zb_paddle_find(zb_paddle_source(n), names);
  if (a && a->kind != ZB_PADDLE_TEXT) refuse_kind(n, a->name, "text");
  return a && a->kind == ZB_PADDLE_TEXT ? a->text : fallback;
}

zb_result zb_paddle_refuse_attribute(zb_import_node *n, const char *name, const char *hint) {
  return zb_import_refuse(n, hint, "its attribute '%s' is not supported as it is", name);
}

/* ---- Slots ---- */

static const zb_paddle_slot *find_slot(const zb_paddle_slot *slots, int count, const char *name) {
  for (int i = 0; i < count; ++i)
    if (slots[i].name && strcmp(slots[i].name, name) == 0) return &slots[i];
  return NULL;
}

const zb_paddle_slot *zb_paddle_input_slot(const zb_paddle_op *op, const char *name) {
  return find_slot(op->inputs, op->input_count, name);
}

const zb_paddle_slot *zb_paddle_output_slot(const zb_paddle_op *op, const char *name) {
  return find_slot(op->outputs, op->output_count, name);
}

zb_paddle_value *zb_paddle_input(const zb_paddle_op *op, const char *name) {
  const zb_paddle_slot *slot = zb_paddle_input_slot(op, name);
  return slot && slot->count > 0 ? slot->values[0] : NULL;
}

zb_paddle_value *zb_paddle_output(const zb_paddle_op *op, const char *name) {
  const zb_paddle_slot *slot = zb_paddle_output_slot(op, name);
  return slot && slot->count > 0 ? slot->values[0] : NULL;
}

zb_paddle_value *zb_paddle_only_result(const zb_paddle_op *op) {
  return op->output_count > 0 && op->outputs[0].count > 0 ? op->outputs[0].values[0] : NULL;
}

bool zb_paddle_has(const zb_import_node *n, const char *slot) {
  const zb_paddle_value *value = zb_paddle_input(zb_paddle_source(n), slot);
  return value && value->core;
}

zb_operand zb_paddle_in(zb_import_node *n, const char *slot) {
  if (zb_paddle_has(n, slot)) return zb_paddle_input(zb_paddle_source(n), slot)->core;
  zb_import_refuse(n, NULL, "its operand %s is missing", slot);
  n->im->failed = true;
  return NULL;
}

zb_operand zb_paddle_optional(zb_import_node *n, const char *slot) {
  return zb_paddle_has(n, slot) ? zb_paddle_in(n, slot) : NULL;
}

bool zb_paddle_check_unread(zb_import_node *n, const char *slots) {
  const zb_paddle_op *op = zb_paddle_source(n);
  for (int i = 0; i < op->output_count; ++i) {
    const zb_paddle_slot *slot = &op->outputs[i];
    if (!slot->name || slot->count == 0 || !slot->values[0] || zb_word_index(slots, slot->name) < 0) continue;
    const zb_import_value *core = slot->values[0]->core;
    if (core && core->read)
      return zb_import_refuse(n, NULL, "its result %s is read, which is not supported", slot->name);
  }
  return true;
}

bool zb_paddle_declared(zb_import_node *n, const char *slot, zb_dtype *out) {
  const zb_paddle_value *value = zb_paddle_output(zb_paddle_source(n), slot);
  if (value && value->is_typed) return *out = value->shape.dtype, true;
  return zb_import_refuse(n, n->im->format->types_hint, "its result %s is a %s, which is not supported", slot,
                          value ? value->type_text : "missing one");
}

zb_result zb_paddle_give(zb_import_node *n, const char *slot, zb_operand value) {
  const zb_paddle_value *out = zb_paddle_output(zb_paddle_source(n), slot);
  if (!value || n->im->failed || n->b->failed) return n->im->failed = true, ZB_FAIL;
  for (int i = 0; out && i < n->output_count; ++i)
    if (n->outputs[i] && n->outputs[i] == out->core) return zb_operand_give(n, i, value);
  return ZB_OK;
}

/* ---- Numbers that are attributes or operands ---- */

/* The constant in a slot; NULL: absent, or reported. */
static zb_known *known_in(zb_import_node *n, const char *slot) {
  zb_known *known = NULL;
  if (!slot || !zb_paddle_has(n, slot)) return NULL;
  if (!zb_import_value_known(n->im, zb_paddle_in(n, slot), &known)) return NULL;
  if (known) return known;
  n->im->failed = true;
  zb_import_refuse(n, "shapes, axes, factors and bounds are numbers when the program is built, not tensors",
                   "its operand %s is computed", slot);
  return NULL;
}

bool zb_paddle_number(zb_import_node *n, const char *names, const char *slot, double fallback, double *out) {
  const zb_known *known = known_in(n, slot);
  *out = known ? 0 : zb_paddle_real(n, names, fallback);
  if (n->im->failed) return false;
  if (!known) return true;
  if (known->elements != 1) return zb_import_refuse(n, NULL, "its operand %s is not one number", slot);
  *out = zb_known_is_float(known) ? zb_known_real(known, 0) : (double)zb_known_integer(known, 0);
  return true;
}

static bool take_integers(zb_import_node *n, const char *name, int found, int room) {
  return found <= room || zb_import_refuse(n, NULL, "'%s' has %d entries, expected at most %d", name, found, room);
}

bool zb_paddle_integers(zb_import_node *n, const char *names, const char *slot, int64_t *out, int room, int *count) {
  const zb_known *known = known_in(n, slot);
  const zb_paddle_attribute *a = zb_paddle_find(zb_paddle_source(n), names);
  *count = -1;
  if (n->im->failed) return false;
  if (known) {
    if (zb_known_is_float(known) || known->shape.rank > 1)
      return zb_import_refuse(n, NULL, "its operand %s is no list of integers", slot);
    if (!take_integers(n, slot, known->elements > ZB_DIMS_MAX * 64 ? ZB_DIMS_MAX * 64 : (int)known->elements, room))
      return false;
    *count = (int)known->elements;
    for (int i = 0; i < *count; ++i)
      out[i] = zb_known_integer(known, i);
    return true;
  }
  if (!a) return true;
  if (a->kind == ZB_PADDLE_INTEGER) return out[0] = a->integer, *count = 1, room >= 1;
  if (a->kind == ZB_PADDLE_REALS && a->count == 0) return *count = 0, true;
  if (a->kind != ZB_PADDLE_INTEGERS) return refuse_kind(n, a->name, "list of integers");
  if (!take_integers(n, a->name, a->count, room)) return false;
  *count = a->count;
  for (int i = 0; i < a->count; ++i)
    out[i] = a->integers[i];
  return true;
}

bool zb_paddle_axis(zb_import_node *n, const char *names, int64_t fallback, int rank, int *out) {
  const int64_t axis = zb_paddle_integer(n, names, fallback);
  if (n->im->failed) return false;
  if (rank < 1) return zb_import_refuse(n, NULL, "the tensor has no dimensions");
  return zb_import_axis(n, axis, rank, out);
}

bool zb_paddle_given_axis(zb_import_node *n, const char *slot, int64_t fallback, int rank, int *out) {
  double given;
  if (!zb_paddle_number(n, "axis", slot, (double)fallback, &given)) return false;
  if (rank < 1) return zb_import_refuse(n, NULL, "the tensor has no dimensions");
  return zb_import_axis(n, (int64_t)given, rank, out);
}

bool zb_paddle_declared_shape(zb_import_node *n, const char *slot, zb_shape *out) {
  if (!zb_paddle_integers(n, "shape", slot, out->dims, ZB_DIMS_MAX, &out->rank) ||
      !zb_paddle_declared(n, "Out", &out->dtype))
    return false;
  if (out->rank < 0) out->rank = 0;
  for (int i = 0; i < out->rank; ++i)
    if (out->dims[i] < 0) return zb_import_refuse(n, NULL, "its shape is not one");
  return zb_shape_bytes(out) >= 0 || zb_import_refuse(n, NULL, "it is too large");
}
