/* What chooses by values: the greatest elements, one-hot rows, reversed sequences. Of existing ops, so that gradients
 * and kernels are theirs. Tests: test/e2e/onnx_nodes.py. */
#include "ir/import/onnx/onnx.h"

#include <inttypes.h>
#include <string.h>

/* 0, 1, ... along one dimension of a shape, the others of size 1. */
static MlirValue places_along(zb_builder *b, const zb_shape *shape, int axis) {
  zb_shape line = {.dtype = ZB_I64, .rank = shape->rank};
  for (int i = 0; i < shape->rank; ++i)
    line.dims[i] = i == axis ? shape->dims[i] : 1;
  return zb_build_iota(b, &line, axis, 0, 1);
}

static MlirValue reduce(zb_builder *b, const char *op, MlirValue x, int axis, bool keepdims) {
  const int64_t axes = axis;
  return ZB_BUILD(b, op, x, zb_ints("axes", &axes, 1), zb_bool("keepdims", keepdims));
}

static MlirValue choose(zb_builder *b, MlirValue condition, MlirValue yes, MlirValue no) {
  return b->failed ? (MlirValue){NULL} : zb_build(b, "where", (MlirValue[]){condition, yes, no}, 3, NULL, 0);
}

/* The place of the first, or the last, of the greatest (smallest) elements: of those that are equal to the greatest.
 * A NaN is greater, and smaller, than all else, as in NumPy. */
static MlirValue place_of_extreme(zb_builder *b, MlirValue x, const zb_shape *shape, int axis, bool greatest, bool last,
                                  bool keepdims) {
  MlirValue top = reduce(b, greatest ? "reduce_max" : "reduce_min", x, axis, true);
  MlirValue here = zb_build2(b, "equal", x, top);
  if (shape->dtype != ZB_I64 && shape->dtype != ZB_I32) here = zb_build2(b, "or", here, zb_build1(b, "is_nan", x));
  MlirValue other = zb_build_scalar(b, ZB_I64, last ? -1 : (double)shape->dims[axis]);
  MlirValue place = choose(b, here, places_along(b, shape, axis), other);
  return reduce(b, last ? "reduce_max" : "reduce_min", place, axis, keepdims);
}

/* ArgMax and ArgMin. */
zb_result zb_onnx_arg_extreme(zb_import_node *n) {
  zb_shape x;
  int axis;
  if (!zb_onnx_shape_axis(n, 0, &x, &axis)) return ZB_FAIL;
  const bool keepdims = zb_onnx_int(n, "keepdims", 1) != 0, last = zb_onnx_int(n, "select_last_index", 0) != 0;
  const bool greatest = strcmp(n->op->argument, "reduce_max") == 0;
  return zb_import_give(n, 0, place_of_extreme(n->b, zb_import_ir(n, 0), &x, axis, greatest, last, keepdims));
}

/* 1 at the first greatest element, else 0. */
zb_result zb_onnx_hardmax(zb_import_node *n) {
  zb_shape x, whole;
  int axis;
  if (!zb_onnx_softmax_shape(n, &whole, &x, &axis)) return ZB_FAIL;
  MlirValue in = zb_import_reshaped(n->b, zb_import_ir(n, 0), x.dims, x.rank);
  MlirValue place = place_of_extreme(n->b, in, &x, axis, true, false, true);
  MlirValue here = zb_build2(n->b, "equal", places_along(n->b, &x, axis), place);
  MlirValue out = zb_build_cast(n->b, here, x.dtype);
  return zb_import_give(n, 0, zb_import_reshaped(n->b, out, whole.dims, whole.rank));
}

/* values[1] where a place along the new axis is the index, else values[0]. */
zb_result zb_onnx_one_hot(zb_import_node *n) {
  zb_shape indices, values, out;
  const zb_known *known = zb_import_known(n, 1);
  int axis;
  if (!zb_import_shape(n, 0, &indices) || !zb_import_shape(n, 2, &values)) return ZB_FAIL;
  if (!known || known->elements != 1)
    return zb_import_refuse(n, NULL, "the depth (input 1) is not one constant number");
  const int64_t depth = (int64_t)zb_known_real(known, 0);
  if (depth < 1 || depth > INT64_C(1) << 40) return zb_import_refuse(n, NULL, "the depth is out of range");
  if (indices.rank == ZB_DIMS_MAX)
    return zb_import_refuse(n, NULL, "the result has more than %d dimensions", ZB_DIMS_MAX);
  if (values.rank != 1 || values.dims[0] != 2) return zb_import_refuse(n, NULL, "the values are not two of a kind");
  if (!zb_import_axis(n, zb_onnx_int(n, "axis", -1), indices.rank + 1, &axis)) return ZB_FAIL;
  out = (zb_shape){.dtype = ZB_I64, .rank = indices.rank + 1};
  for (int i = 0; i < out.rank; ++i)
    out.dims[i] = i == axis ? 1 : indices.dims[i - (i > axis)];
  MlirValue place = zb_import_reshaped(n->b, zb_build_cast(n->b, zb_import_ir(n, 0), ZB_I64), out.dims, out.rank);
  MlirValue below = zb_build2(n->b, "less", place, zb_build_scalar(n->b, ZB_I64, 0));
  MlirValue counted = zb_build2(n->b, "add", place, zb_build_scalar(n->b, ZB_I64, (double)depth));
  place = choose(n->b, below, counted, place);
  out.dims[axis] = depth;
  MlirValue here = zb_build2(n->b, "equal", place, places_along(n->b, &out, axis)), pair[2];
  MlirValue two = zb_import_ir(n, 2);
  if (n->b->failed) return ZB_FAIL;
  zb_build_split(n->b, two, 0, (int64_t[]){1, 1}, 2, pair);
  return zb_import_give(n, 0, choose(n->b, here, pair[1], pair[0]));
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
  MlirValue length = zb_import_reshaped(n->b, zb_build_cast(n->b, zb_import_ir(n, 1), ZB_I64), wide.dims, wide.rank);
  MlirValue place = places_along(n->b, &x, (int)time);
  MlirValue last = zb_build2(n->b, "sub", length, zb_build_scalar(n->b, ZB_I64, 1));
  place = choose(n->b, zb_build2(n->b, "less", place, length), zb_build2(n->b, "sub", last, place), place);
  wide = x;
  wide.dtype = ZB_I64;
  const zb_attr axis = zb_int("axis", time);
  MlirValue in[2] = {zb_import_ir(n, 0), n->b->failed ? place : zb_import_expanded(n->b, place, &wide)};
  return zb_import_give(n, 0, n->b->failed ? (MlirValue){NULL} : zb_build(n->b, "gather_elements", in, 2, &axis, 1));
}

/* Values and places, sorted whatever `sorted` says. The gradient goes to the elements that were chosen. */
zb_result zb_onnx_top_k(zb_import_node *n) {
  zb_shape x;
  int64_t k;
  int axis, count;
  if (!zb_onnx_shape_axis(n, -1, &x, &axis)) return ZB_FAIL;
  if (zb_onnx_attribute(n, "k"))
    k = zb_onnx_int(n, "k", 0);
  else if (!zb_import_ints(n, 1, "k", &k, 1, &count))
    return ZB_FAIL;
  if (k < 1 || k > x.dims[axis])
    return zb_import_refuse(n, NULL, "k is %" PRId64 " of %" PRId64 " elements", k, x.dims[axis]);
  const bool largest = zb_onnx_int(n, "largest", 1) != 0;
  MlirValue in[2] = {zb_import_ir(n, 0), {NULL}};
  if (n->b->failed) return ZB_FAIL;
  in[1] = ZB_BUILD(n->b, "top_k", in[0], zb_int("axis", axis), zb_int("k", k), zb_bool("largest", largest));
  if (zb_import_wants(n, 1) && !zb_import_give(n, 1, in[1])) return ZB_FAIL;
  const zb_attr attr = zb_int("axis", axis);
  return zb_import_give(n, 0, n->b->failed ? in[1] : zb_build(n->b, "gather_elements", in, 2, &attr, 1));
}
