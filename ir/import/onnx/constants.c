/* Operators of constants and shapes alone. Tests: test/ir/import/import_test.c (folding). */
#include "ir/import/onnx/onnx.h"

#include <inttypes.h>
#include <string.h>

zb_result zb_onnx_constant(zb_import_node *n) {
  const Onnx__NodeProto *proto = n->source;
  if (proto->n_attribute != 1)
    return zb_import_refuse(n, NULL, "it has %zu attributes, expected one value", proto->n_attribute);
  const Onnx__AttributeProto *attr = proto->attribute[0];
  const struct {
    const char *name;
    zb_shape shape;
    const void *data;
  } kinds[] = {{"value_int", {.dtype = ZB_I64}, &attr->i},
               {"value_ints", {.dtype = ZB_I64, .rank = 1, .dims = {(int64_t)attr->n_ints}}, attr->ints},
               {"value_float", {.dtype = ZB_F32}, &attr->f},
               {"value_floats", {.dtype = ZB_F32, .rank = 1, .dims = {(int64_t)attr->n_floats}}, attr->floats}};
  const char *name = attr->name;
  if (strcmp(name, "value") == 0 && attr->t) {
    zb_shape shape;
    const void *data;
    if (zb_onnx_tensor_read(zb_onnx_of(n->im), attr->t, NULL, n->location, "constant", &shape, &data))
      return zb_import_give_known(n, 0, zb_known_copy(n->im, &shape, data));
    n->im->failed = true;
    return ZB_FAIL;
  }
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; ++i)
    if (strcmp(name, kinds[i].name) == 0)
      return zb_import_give_known(n, 0, zb_known_copy(n->im, &kinds[i].shape, kinds[i].data ? kinds[i].data : ""));
  return zb_import_refuse(n, "value, value_int, value_ints, value_float and value_floats are supported",
                          "a '%s' is not supported", name);
}

zb_result zb_onnx_constant_of_shape(zb_import_node *n) {
  zb_shape shape = {.dtype = ZB_F32}, one;
  const void *data = &(float){0};
  if (!zb_import_dims(n, 0, &shape)) return ZB_FAIL;
  const Onnx__AttributeProto *attr = zb_onnx_attribute(n, "value");
  if (attr && (!attr->t || !zb_onnx_tensor_read(zb_onnx_of(n->im), attr->t, NULL, n->location, "value", &one, &data) ||
               zb_shape_elements(&one) != 1))
    return zb_import_refuse(n, NULL, "attribute 'value' is no tensor of one element");
  if (attr) shape.dtype = one.dtype;
  return zb_import_give_known(n, 0, zb_known_filled(n->im, &shape, data));
}

zb_result zb_onnx_shape(zb_import_node *n) {
  zb_shape shape;
  if (!zb_import_shape(n, 0, &shape)) return ZB_FAIL;
  int64_t bounds[2] = {zb_onnx_int(n, "start", 0), zb_onnx_int(n, "end", shape.rank)};
  for (int i = 0; i < 2; ++i) {
    if (bounds[i] < 0) bounds[i] += shape.rank;
    if (bounds[i] < 0) bounds[i] = 0;
    if (bounds[i] > shape.rank) bounds[i] = shape.rank;
  }
  int64_t count = bounds[1] > bounds[0] ? bounds[1] - bounds[0] : 0;
  return zb_import_give_known(n, 0, zb_known_ints(n->im, shape.dims + bounds[0], count));
}

static zb_result give_number(zb_import_node *n, int64_t number) {
  return zb_import_give_known(n, 0, zb_known_copy(n->im, &(zb_shape){.dtype = ZB_I64}, &number));
}

zb_result zb_onnx_size(zb_import_node *n) {
  zb_shape shape;
  return zb_import_shape(n, 0, &shape) ? give_number(n, zb_shape_elements(&shape)) : ZB_FAIL;
}

zb_result zb_onnx_range(zb_import_node *n) {
  return zb_import_give_known(
      n, 0, zb_import_fold_range(n, zb_import_known(n, 0), zb_import_known(n, 1), zb_import_known(n, 2)));
}

zb_result zb_onnx_eye_like(zb_import_node *n) {
  zb_shape shape;
  if (!zb_import_shape(n, 0, &shape)) return ZB_FAIL;
  int64_t to = zb_onnx_int(n, "dtype", -1), k = zb_onnx_int(n, "k", 0);
  if (to >= 0 && !zb_onnx_dtype(to, &shape.dtype))
    return zb_import_refuse(n, NULL, "dtype %" PRId64 " is not supported", to);
  return zb_operand_give(n, 0, zb_meaning_eye(n, &shape, k));
}

/* ---- Sequences, which only exist while importing; they hold constants and other values alike ---- */

zb_result zb_onnx_sequence_construct(zb_import_node *n) {
  return zb_import_give_items(n, 0, n->inputs, n->input_count);
}

zb_result zb_onnx_sequence_at(zb_import_node *n) {
  zb_import_value *sequence = zb_import_sequence(n, 0);
  int64_t place;
  int count;
  if (!sequence || !zb_import_ints(n, 1, "the position", &place, 1, &count)) return ZB_FAIL;
  if (count == 1 && place < 0) place += sequence->item_count;
  if (count != 1 || place < 0 || place >= sequence->item_count)
    return zb_import_refuse(n, NULL, "position %" PRId64 " is out of range for a sequence of %d", place,
                            sequence->item_count);
  return zb_import_give_value(n, 0, sequence->items[place]);
}

zb_result zb_onnx_sequence_length(zb_import_node *n) {
  zb_import_value *sequence = zb_import_sequence(n, 0);
  return sequence ? give_number(n, sequence->item_count) : ZB_FAIL;
}
