/* What chooses by values and by places: the greatest elements, one-hot rows, rows of tensors, reversed sequences.
 * Tests: test/e2e/onnx_nodes.py, test/ir/import/import_test.c. */
#include "ir/import/onnx/onnx.h"

#include <inttypes.h>
#include <string.h>

/* The place of the last of the greatest (or least) elements: of those that are equal to it, or no number. */
static zb_operand last_place(zb_import_node *n, zb_operand x, const zb_shape *shape, int64_t axis, bool greatest) {
  zb_operand top = zb_operand_reduce(n, greatest ? "reduce_max" : "reduce_min", x, &axis, 1, true);
  zb_operand here = zb_operand_apply2(n, "equal", x, top);
  if (shape->dtype != ZB_I64 && shape->dtype != ZB_I32)
    here = zb_operand_apply2(n, "or", here, zb_operand_apply1(n, "is_nan", x));
  here = zb_operand_where(n, here, zb_meaning_along(n, shape, (int)axis, 1), zb_operand_scalar(n, ZB_I64, -1));
  return zb_operand_reduce(n, "reduce_max", here, &axis, 1, true);
}

/* ArgMax and ArgMin. */
zb_result zb_onnx_arg_extreme(zb_import_node *n) {
  zb_shape shape;
  int axis;
  if (!zb_onnx_shape_axis(n, 0, &shape, &axis)) return ZB_FAIL;
  const bool greatest = strcmp(n->op->argument, "reduce_max") == 0;
  const int64_t along = axis;
  zb_operand x = zb_operand_in(n, 0);
  x = zb_onnx_int(n, "select_last_index", 0) ? last_place(n, x, &shape, axis, greatest)
                                             : zb_meaning_arg(n, x, axis, greatest);
  return zb_operand_give(n, 0, zb_onnx_int(n, "keepdims", 1) ? x : zb_meaning_squeeze(n, x, &along, 1, true));
}

/* 1 at the first greatest element, else 0. */
zb_result zb_onnx_hardmax(zb_import_node *n) {
  zb_shape seen, whole;
  int axis;
  if (!zb_onnx_softmax_shape(n, &whole, &seen, &axis)) return ZB_FAIL;
  zb_operand x = zb_operand_reshape(n, zb_operand_in(n, 0), &seen), place = zb_meaning_arg(n, x, axis, true);
  zb_operand here = zb_operand_apply2(n, "equal", zb_meaning_along(n, &seen, axis, 1), place);
  here = zb_operand_where(n, here, zb_operand_number(n, x, 1), zb_operand_number(n, x, 0));
  return zb_operand_give(n, 0, zb_operand_reshape(n, here, &whole));
}

/* values[1] where a place along the new axis is the index, else values[0]. */
zb_result zb_onnx_one_hot(zb_import_node *n) {
  zb_shape indices, values;
  const zb_known *known = zb_import_known(n, 1);
  int axis;
  if (!zb_import_shape(n, 0, &indices) || !zb_import_shape(n, 2, &values)) return ZB_FAIL;
  if (!known || known->elements != 1)
    return zb_import_refuse(n, NULL, "the depth (input 1) is not one constant number");
  const int64_t depth = (int64_t)zb_known_real(known, 0);
  if (values.rank != 1 || values.dims[0] != 2) return zb_import_refuse(n, NULL, "the values are not two of a kind");
  if (!zb_import_axis(n, zb_onnx_int(n, "axis", -1), indices.rank + 1, &axis)) return ZB_FAIL;
  zb_operand here = zb_meaning_one_hot(n, zb_meaning_counted(n, zb_operand_in(n, 0), depth), depth, axis), pair[2];
  if (!zb_meaning_split(n, zb_operand_in(n, 2), 0, (int64_t[]){1, 1}, 2, pair)) return ZB_FAIL;
  return zb_operand_give(n, 0, zb_operand_where(n, here, pair[1], pair[0]));
}

/* The first lengths[b] elements of each row in reverse order, by their places. */
zb_result zb_onnx_reverse_sequence(zb_import_node *n) {
  zb_shape x, lengths, wide = {.dtype = ZB_I64};
  if (!zb_import_shape(n, 0, &x) || !zb_import_shape(n, 1, &lengths)) return ZB_FAIL;
  const int64_t batch = zb_onnx_int(n, "batch_axis", 1), time = zb_onnx_int(n, "time_axis", 0);
  if (x.rank < 2 || batch < 0 || batch > 1 || time != 1 - batch)
    return zb_import_refuse(n, "the axes are 0 and 1", "batch_axis %" PRId64 " and time_axis %" PRId64, batch, time);
  if (lengths.rank != 1 || lengths.dims[0] != x.dims[batch])
    return zb_import_refuse(n, NULL, "the lengths have not one entry a row");
  wide.rank = x.rank;
  for (int i = 0; i < x.rank; ++i)
    wide.dims[i] = i == batch ? x.dims[i] : 1;
  zb_operand length = zb_operand_reshape(n, zb_operand_cast(n, zb_operand_in(n, 1), ZB_I64), &wide);
  zb_operand place = zb_meaning_along(n, &x, (int)time, 1), last = zb_meaning_line(n, length, 1, -1);
  zb_operand back = zb_operand_apply2(n, "sub", last, place);
  place = zb_operand_where(n, zb_operand_apply2(n, "less", place, length), back, place);
  place = zb_operand_expand(n, place, &x);
  return zb_operand_give(n, 0, zb_operand_gather_elements(n, zb_operand_in(n, 0), place, (int)time, ZB_FROM_BOTH_ENDS));
}

/* Values and places, sorted whatever `sorted` says. */
zb_result zb_onnx_top_k(zb_import_node *n) {
  zb_shape x;
  int64_t k;
  int axis, count;
  if (!zb_onnx_shape_axis(n, -1, &x, &axis)) return ZB_FAIL;
  if (zb_onnx_attribute(n, "k"))
    k = zb_onnx_int(n, "k", 0);
  else if (!zb_import_ints(n, 1, "k", &k, 1, &count))
    return ZB_FAIL;
  zb_operand values, places;
  places = zb_meaning_top_k(n, zb_operand_in(n, 0), axis, k, zb_onnx_int(n, "largest", 1) != 0, &values);
  return zb_operand_give(n, 1, places) ? zb_operand_give(n, 0, values) : ZB_FAIL;
}

/* ---- Rows and elements ---- */

zb_result zb_onnx_gather_nd(zb_import_node *n) {
  const int64_t batch_dims = zb_onnx_int(n, "batch_dims", 0);
  return zb_operand_give(n, 0, zb_meaning_gather_nd(n, zb_operand_in(n, 0), zb_operand_in(n, 1), batch_dims));
}

zb_result zb_onnx_scatter_nd(zb_import_node *n) {
  char reduction[16];
  zb_onnx_string(n, "reduction", "none", reduction, sizeof reduction);
  return zb_operand_give(
      n, 0, zb_meaning_scatter_nd(n, zb_operand_in(n, 0), zb_operand_in(n, 1), zb_operand_in(n, 2), reduction));
}

zb_result zb_onnx_scatter_elements(zb_import_node *n) {
  char reduction[16];
  zb_shape data;
  int axis;
  if (!zb_onnx_shape_axis(n, 0, &data, &axis)) return ZB_FAIL;
  zb_onnx_string(n, "reduction", "none", reduction, sizeof reduction);
  zb_operand x = zb_operand_in(n, 0), indices = zb_operand_in(n, 1), updates = zb_operand_in(n, 2);
  return zb_operand_give(n, 0, zb_meaning_scatter_elements(n, x, indices, updates, axis, reduction));
}
