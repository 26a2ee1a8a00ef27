/* Values of the source graph, and what a node reads and gives. Tests: test/ir/import/import_test.c. */
#include "ir/import/import.h"

#include <inttypes.h>

/* ---- Values ---- */

zb_import_value *zb_import_value_new(zb_import *im, const char *name, zb_import_kind kind) {
  zb_import_value *value = zb_import_take(im, sizeof *value);
  if (!value) return NULL;
  if (!zb_arena_grow(&im->memory, (void **)&im->values, &im->value_capacity, im->value_count + 1, sizeof *im->values) ||
      (*name && !zb_map_set(im->names, name, (int64_t)im->value_count))) {
    zb_import_memory(im);
    return NULL;
  }
  *value = (zb_import_value){.name = name, .kind = kind, .number = im->value_count, .defined = kind < ZB_VALUE_NODE};
  im->initial_count += kind == ZB_VALUE_INITIAL;
  return im->values[im->value_count++] = value;
}

zb_import_value *zb_import_find(const zb_import *im, const char *name) {
  int64_t index = zb_map_get_or(im->names, name, -1);
  return index < 0 ? NULL : im->values[index];
}

zb_result zb_import_value_known(zb_import *im, zb_import_value *value, zb_known **out) {
  if (value->kind == ZB_VALUE_INITIAL && value->role == ZB_ROLE_CONSTANT && !value->known) {
    zb_shape shape;
    const void *data;
    if (!im->format->load(im, value, &shape, &data)) return im->failed = true, ZB_FAIL;
    value->known = zb_known_copy(im, &shape, data);
    if (!value->known) return ZB_FAIL;
  }
  *out = value->known;
  return ZB_OK;
}

MlirValue zb_import_value_ir(zb_import *im, zb_import_value *value) {
  zb_known *known;
  if (value->value.ptr || im->failed) return value->value;
  if (!zb_import_value_known(im, value, &known)) return (MlirValue){NULL};
  if (known)
    value->value = zb_import_literal_ir(im, known, value->name);
  else if (value->kind == ZB_VALUE_INITIAL)
    value->value = zb_import_parameter(im, value);
  return value->value;
}

/* ---- Inputs ---- */

bool zb_import_has(const zb_import_node *n, int input) { return input < n->input_count && n->inputs[input]; }

zb_known *zb_import_known(const zb_import_node *n, int input) {
  zb_known *known;
  return zb_import_has(n, input) && zb_import_value_known(n->im, n->inputs[input], &known) ? known : NULL;
}

MlirValue zb_import_ir(zb_import_node *n, int input) {
  MlirValue ir = {NULL};
  bool has = zb_import_has(n, input);
  if (!has || n->inputs[input]->kind == ZB_VALUE_SEQUENCE)
    zb_import_refuse(n, NULL, "input %d is %s, expected a tensor", input, has ? "a sequence" : "missing");
  else
    ir = zb_import_value_ir(n->im, n->inputs[input]);
  if (!ir.ptr) n->im->failed = n->b->failed = true;
  return ir;
}

bool zb_import_ir_shape(zb_import_node *n, MlirValue value, zb_shape *out) {
  if (value.ptr && zb_type_shape(mlirValueGetType(value), out)) return true;
  n->im->failed = n->b->failed = true;
  return false;
}

bool zb_import_shape(zb_import_node *n, int input, zb_shape *out) {
  const zb_known *c = zb_import_known(n, input);
  if (c) *out = c->shape;
  return c || zb_import_ir_shape(n, zb_import_ir(n, input), out);
}

bool zb_import_ints(zb_import_node *n, int input, const char *what, int64_t *out, int room, int *count) {
  const zb_known *c = zb_import_known(n, input);
  char text[96];
  if (!c && !n->im->failed)
    zb_import_refuse(n, "shapes, axes and bounds must not depend on the inputs of the model; export with static shapes",
                     "%s (input %d) is not a constant", what, input);
  if (!c) return false;
  if (c->shape.rank > 1 || c->elements > room || zb_known_is_float(c))
    return zb_import_refuse(n, NULL, "%s (input %d) is a %s, expected a list of at most %d integers", what, input,
                            zb_shape_text(&c->shape, text), room);
  *count = (int)c->elements;
  for (int i = 0; i < *count; ++i)
    out[i] = zb_known_integer(c, i);
  return true;
}

bool zb_import_dims(zb_import_node *n, int input, zb_shape *out) {
  if (!zb_import_ints(n, input, "the shape", out->dims, ZB_DIMS_MAX, &out->rank)) return false;
  for (int i = 0; i < out->rank; ++i)
    if (out->dims[i] < 0) return zb_import_refuse(n, NULL, "the shape has a negative dimension");
  return true;
}

bool zb_import_join(zb_import_node *n, const zb_shape *a, const zb_shape *b, zb_shape *out) {
  *out = *a;
  out->dtype = b->dtype;
  if (a->rank + b->rank > ZB_DIMS_MAX)
    return zb_import_refuse(n, NULL, "the result has more than %d dimensions", ZB_DIMS_MAX);
  for (int i = 0; i < b->rank; ++i)
    out->dims[out->rank++] = b->dims[i];
  return true;
}

bool zb_import_axis(zb_import_node *n, int64_t axis, int rank, int *out) {
  if (axis < -rank || axis >= rank)
    return zb_import_refuse(n, NULL, "axis %" PRId64 " is out of range: expected %d to %d", axis, -rank, rank - 1);
  *out = (int)(axis < 0 ? axis + rank : axis);
  return true;
}

bool zb_import_axes(zb_import_node *n, const int64_t *given, int found, int rank, int64_t *axes, int *count) {
  bool chosen[ZB_DIMS_MAX] = {false};
  *count = 0;
  for (int i = 0; i < found && rank > 0; ++i) {
    int axis = 0;
    if (!zb_import_axis(n, given[i], rank, &axis)) return false;
    chosen[axis] = true;
  }
  for (int i = 0; i < rank; ++i)
    if (chosen[i] || found <= 0) axes[(*count)++] = i;
  return true;
}

zb_import_value *zb_import_sequence(zb_import_node *n, int input) {
  if (zb_import_has(n, input) && n->inputs[input]->kind == ZB_VALUE_SEQUENCE) return n->inputs[input];
  return zb_import_refuse(n, NULL, "input %d is no sequence", input), NULL;
}

/* ---- Outputs ---- */

bool zb_import_wants(const zb_import_node *n, int output) { return output < n->output_count && n->outputs[output]; }

zb_result zb_import_give(zb_import_node *n, int output, MlirValue value) {
  if (!value.ptr) n->im->failed = true;
  if (!value.ptr) return ZB_FAIL;
  if (zb_import_wants(n, output)) n->outputs[output]->value = value, n->outputs[output]->defined = true;
  return ZB_OK;
}

zb_result zb_import_give_known(zb_import_node *n, int output, zb_known *known) {
  if (!known) n->im->failed = true;
  if (!known) return ZB_FAIL;
  if (zb_import_wants(n, output)) n->outputs[output]->known = known, n->outputs[output]->defined = true;
  return ZB_OK;
}

zb_result zb_import_give_items(zb_import_node *n, int output, zb_import_value **items, int count) {
  if (!items) return ZB_FAIL;
  if (!zb_import_wants(n, output)) return ZB_OK;
  zb_import_value *out = n->outputs[output];
  out->kind = ZB_VALUE_SEQUENCE;
  out->items = items;
  out->item_count = count;
  out->defined = true;
  return ZB_OK;
}

zb_result zb_import_give_value(zb_import_node *n, int output, zb_import_value *source) {
  zb_known *known;
  if (!zb_import_wants(n, output)) return ZB_OK;
  if (source->kind == ZB_VALUE_SEQUENCE) return zb_import_give_items(n, output, source->items, source->item_count);
  if (!zb_import_value_known(n->im, source, &known)) return ZB_FAIL;
  if (known) return zb_import_give_known(n, output, known);
  return zb_import_give(n, output, zb_import_value_ir(n->im, source));
}
