/* Data movement on constants, and sequences, which only exist while importing.
 * Tests: test/ir/import/import_test.c (folding). */
#include "ir/import/fold.h"

#include <inttypes.h>
#include <string.h>

zb_result zb_onnx_fold_reshape(zb_onnx_node *n) {
  const zb_onnx_const *in = zb_onnx_node_constant(n, 0);
  zb_shape shape;
  if (!zb_onnx_arguments_reshape(n, &in->shape, &shape)) return ZB_FAIL;
  return zb_onnx_node_set_constant(n, 0, zb_onnx_const_alias(n->im, in, &shape));
}

zb_result zb_onnx_fold_transpose(zb_onnx_node *n) {
  const zb_onnx_const *in = zb_onnx_node_constant(n, 0);
  int64_t permutation[ZB_DIMS_MAX], own[ZB_DIMS_MAX], strides[ZB_DIMS_MAX];
  if (!zb_onnx_arguments_transpose(n, &in->shape, permutation)) return ZB_FAIL;
  zb_shape shape = in->shape;
  zb_onnx_strides(&in->shape, own);
  for (int i = 0; i < shape.rank; ++i) {
    shape.dims[i] = in->shape.dims[permutation[i]];
    strides[i] = own[permutation[i]];
  }
  return zb_onnx_node_set_constant(n, 0, zb_onnx_const_strided(n->im, in, &shape, 0, strides));
}

zb_result zb_onnx_fold_expand(zb_onnx_node *n) {
  const zb_onnx_const *in = zb_onnx_node_constant(n, 0);
  zb_shape shape;
  int64_t strides[ZB_DIMS_MAX];
  if (!zb_onnx_arguments_expand(n, &in->shape, &shape)) return ZB_FAIL;
  zb_onnx_broadcast_strides(&in->shape, &shape, strides);
  return zb_onnx_node_set_constant(n, 0, zb_onnx_const_strided(n->im, in, &shape, 0, strides));
}

zb_result zb_onnx_fold_slice(zb_onnx_node *n) {
  const zb_onnx_const *in = zb_onnx_node_constant(n, 0);
  int64_t starts[ZB_DIMS_MAX], steps[ZB_DIMS_MAX], strides[ZB_DIMS_MAX], offset = 0;
  zb_shape shape = in->shape;
  if (!zb_onnx_arguments_slice(n, &in->shape, starts, steps, shape.dims)) return ZB_FAIL;
  zb_onnx_strides(&in->shape, strides);
  for (int i = 0; i < shape.rank; ++i) {
    offset += starts[i] * strides[i];
    strides[i] = shape.dims[i] > 1 ? strides[i] * steps[i] : 0;
  }
  return zb_onnx_node_set_constant(n, 0, zb_onnx_const_strided(n->im, in, &shape, offset, strides));
}

/* Copies `in` into `out` at an offset along an axis. */
static void paste(zb_onnx_const *out, const zb_onnx_const *in, int axis, int64_t offset) {
  size_t width = zb_dtype_bytes(out->shape.dtype);
  int64_t inner = 1, outer = 1;
  for (int i = axis + 1; i < out->shape.rank; ++i)
    inner *= out->shape.dims[i];
  for (int i = 0; i < axis; ++i)
    outer *= out->shape.dims[i];
  int64_t run = in->shape.dims[axis] * inner, step = out->shape.dims[axis] * inner;
  for (int64_t o = 0; o < outer; ++o) {
    memcpy((char *)out->data + (size_t)(o * step + offset * inner) * width,
           (const char *)in->data + (size_t)(o * run) * width, (size_t)run * width);
  }
}

static zb_onnx_const *concat(zb_onnx_node *n, const zb_onnx_const *const *parts, int count, int64_t wanted) {
  zb_shape shape = parts[0]->shape;
  int axis;
  if (!zb_onnx_node_axis(n, wanted, shape.rank, &axis)) return NULL;
  shape.dims[axis] = 0;
  for (int k = 0; k < count; ++k) {
    zb_shape part = parts[k]->shape;
    bool fits = part.rank == shape.rank && part.dtype == shape.dtype && part.dims[axis] <= INT64_MAX - shape.dims[axis];
    for (int i = 0; fits && i < shape.rank; ++i)
      fits = i == axis || part.dims[i] == shape.dims[i];
    if (!fits) {
      char a[96], b[96];
      zb_onnx_node_fail(n, NULL, "cannot join %s and %s along axis %d", zb_shape_text(&parts[0]->shape, a),
                        zb_shape_text(&part, b), axis);
      return NULL;
    }
    shape.dims[axis] += part.dims[axis];
  }
  zb_onnx_const *out = zb_onnx_const_new(n->im, &shape);
  int64_t offset = 0;
  for (int k = 0; out && k < count; ++k) {
    paste(out, parts[k], axis, offset);
    offset += parts[k]->shape.dims[axis];
  }
  return out;
}

zb_result zb_onnx_fold_concat(zb_onnx_node *n) {
  enum { PARTS_MAX = 1024 };
  const zb_onnx_const *parts[PARTS_MAX];
  int count = zb_onnx_node_inputs(n);
  if (count < 1 || count > PARTS_MAX)
    return zb_onnx_node_fail(n, NULL, "%d inputs, expected 1 to %d", count, PARTS_MAX);
  if (!zb_onnx_node_attr(n, "axis")) return zb_onnx_node_fail(n, NULL, "attribute 'axis' is missing");
  for (int i = 0; i < count; ++i)
    parts[i] = zb_onnx_node_constant(n, i);
  return zb_onnx_node_set_constant(n, 0, concat(n, parts, count, zb_onnx_node_int(n, "axis", 0)));
}

static zb_onnx_const *part_of(zb_onnx *im, const zb_onnx_const *in, int axis, int64_t start, int64_t size) {
  zb_shape shape = in->shape;
  int64_t strides[ZB_DIMS_MAX];
  zb_onnx_strides(&in->shape, strides);
  shape.dims[axis] = size;
  return zb_onnx_const_strided(im, in, &shape, start * strides[axis], strides);
}

zb_result zb_onnx_fold_split(zb_onnx_node *n) {
  const zb_onnx_const *in = zb_onnx_node_constant(n, 0);
  int64_t sizes[ZB_SPLIT_MAX], start = 0;
  int axis, count;
  if (!zb_onnx_arguments_split(n, &in->shape, &axis, sizes, &count)) return ZB_FAIL;
  for (int i = 0; i < count; start += sizes[i++]) {
    if (!zb_onnx_node_set_constant(n, i, part_of(n->im, in, axis, start, sizes[i]))) return ZB_FAIL;
  }
  return ZB_OK;
}

/* An index that may count from the end; -1 after reporting. */
static int64_t index_at(zb_onnx_node *n, const zb_onnx_const *indices, int64_t i, int64_t dim) {
  int64_t index = zb_onnx_const_integer(indices, i);
  if (index < 0) index += dim;
  if (index >= 0 && index < dim) return index;
  zb_onnx_node_fail(n, NULL, "index %" PRId64 " is out of range for a dimension of %" PRId64,
                    zb_onnx_const_integer(indices, i), dim);
  return -1;
}

zb_result zb_onnx_fold_gather(zb_onnx_node *n) {
  const zb_onnx_const *in = zb_onnx_node_constant(n, 0), *indices = zb_onnx_node_constant(n, 1);
  int axis;
  if (!zb_onnx_node_axis(n, zb_onnx_node_int(n, "axis", 0), in->shape.rank, &axis)) return ZB_FAIL;
  zb_shape shape = {.dtype = in->shape.dtype, .rank = in->shape.rank - 1 + indices->shape.rank};
  if (shape.rank > ZB_DIMS_MAX)
    return zb_onnx_node_fail(n, NULL, "the result has more than %d dimensions", ZB_DIMS_MAX);
  int64_t outer = 1, inner = 1, dim = in->shape.dims[axis];
  int k = 0;
  for (int i = 0; i < axis; ++i)
    shape.dims[k++] = in->shape.dims[i], outer *= in->shape.dims[i];
  for (int i = 0; i < indices->shape.rank; ++i)
    shape.dims[k++] = indices->shape.dims[i];
  for (int i = axis + 1; i < in->shape.rank; ++i)
    shape.dims[k++] = in->shape.dims[i], inner *= in->shape.dims[i];
  zb_onnx_const *out = zb_onnx_const_new(n->im, &shape);
  size_t bytes = (size_t)inner * zb_dtype_bytes(shape.dtype);
  for (int64_t o = 0; out && o < outer; ++o) {
    for (int64_t i = 0; i < indices->elements; ++i) {
      int64_t index = index_at(n, indices, i, dim);
      if (index < 0) return ZB_FAIL;
      memcpy((char *)out->data + (size_t)(o * indices->elements + i) * bytes,
             (const char *)in->data + (size_t)(o * dim + index) * bytes, bytes);
    }
  }
  return zb_onnx_node_set_constant(n, 0, out);
}

zb_result zb_onnx_fold_gather_elements(zb_onnx_node *n) {
  const zb_onnx_const *in = zb_onnx_node_constant(n, 0), *indices = zb_onnx_node_constant(n, 1);
  int axis;
  if (!zb_onnx_node_axis(n, zb_onnx_node_int(n, "axis", 0), in->shape.rank, &axis)) return ZB_FAIL;
  zb_shape shape = indices->shape;
  shape.dtype = in->shape.dtype;
  bool fits = shape.rank == in->shape.rank;
  for (int i = 0; fits && i < shape.rank; ++i)
    fits = i == axis || shape.dims[i] <= in->shape.dims[i];
  if (!fits) return zb_onnx_node_fail(n, NULL, "the indices do not fit the data");
  zb_onnx_const *out = zb_onnx_const_new(n->im, &shape);
  int64_t index[ZB_DIMS_MAX] = {0}, strides[1][ZB_DIMS_MAX], at[1] = {0};
  size_t width = zb_dtype_bytes(shape.dtype);
  zb_onnx_strides(&in->shape, strides[0]);
  int64_t step = strides[0][axis];
  strides[0][axis] = 0;
  for (int64_t i = 0; out && i < out->elements; ++i) {
    int64_t k = index_at(n, indices, i, in->shape.dims[axis]);
    if (k < 0) return ZB_FAIL;
    memcpy((char *)out->data + (size_t)i * width, (const char *)in->data + (size_t)(at[0] + k * step) * width, width);
    zb_onnx_odometer_next(shape.rank, shape.dims, index, 1, strides, at);
  }
  return zb_onnx_node_set_constant(n, 0, out);
}

zb_result zb_onnx_fold_tile(zb_onnx_node *n) {
  const zb_onnx_const *c = zb_onnx_node_constant(n, 0);
  int64_t repeats[ZB_DIMS_MAX];
  if (!zb_onnx_arguments_tile(n, &c->shape, repeats)) return ZB_FAIL;
  for (int axis = 0; axis < c->shape.rank; ++axis) {
    zb_shape shape = c->shape;
    if (__builtin_mul_overflow(shape.dims[axis], repeats[axis], &shape.dims[axis]))
      return zb_onnx_node_fail(n, NULL, "the result is too large");
    zb_onnx_const *out = zb_onnx_const_new(n->im, &shape);
    if (!out) return ZB_FAIL;
    for (int64_t r = 0; r < repeats[axis] && out->elements; ++r)
      paste(out, c, axis, r * c->shape.dims[axis]);
    c = out;
  }
  return zb_onnx_node_set_constant(n, 0, zb_onnx_const_alias(n->im, c, &c->shape));
}

zb_result zb_onnx_fold_pad(zb_onnx_node *n) {
  const zb_onnx_const *in = zb_onnx_node_constant(n, 0),
                      *fill = zb_onnx_node_has(n, 2) ? zb_onnx_node_constant(n, 2) : NULL;
  int64_t before[ZB_DIMS_MAX], after[ZB_DIMS_MAX], index[ZB_DIMS_MAX] = {0}, strides[1][ZB_DIMS_MAX], at[1] = {0};
  zb_shape shape = in->shape;
  if (!zb_onnx_arguments_pad(n, &in->shape, before, after)) return ZB_FAIL;
  if (fill && (fill->elements != 1 || fill->shape.dtype != shape.dtype))
    return zb_onnx_node_fail(n, NULL, "the fill is no scalar of the type");
  for (int i = 0; i < shape.rank; ++i) {
    if (__builtin_add_overflow(shape.dims[i], before[i], &shape.dims[i]) ||
        __builtin_add_overflow(shape.dims[i], after[i], &shape.dims[i])) {
      return zb_onnx_node_fail(n, NULL, "the result is too large");
    }
  }
  zb_onnx_const *out = zb_onnx_const_new(n->im, &shape);
  if (!out) return ZB_FAIL;
  size_t width = zb_dtype_bytes(shape.dtype);
  for (int64_t i = 0; fill && i < out->elements; ++i)
    memcpy((char *)out->data + (size_t)i * width, fill->data, width);
  zb_onnx_strides(&shape, strides[0]);
  for (int i = 0; i < shape.rank; ++i)
    at[0] += before[i] * strides[0][i];
  for (int64_t i = 0; i < in->elements; ++i) {
    memcpy((char *)out->data + (size_t)at[0] * width, (const char *)in->data + (size_t)i * width, width);
    zb_onnx_odometer_next(in->shape.rank, in->shape.dims, index, 1, strides, at);
  }
  return zb_onnx_node_set_constant(n, 0, out);
}

/* ---- Sequences ---- */

zb_result zb_onnx_sequence_construct(zb_onnx_node *n) {
  int count = zb_onnx_node_inputs(n);
  zb_onnx_value **items = zb_alloc((size_t)count * sizeof *items + 1);
  if (!items) return zb_onnx_memory(n->im);
  for (int i = 0; i < count; ++i)
    items[i] = zb_onnx_node_input(n, i);
  return zb_onnx_node_set_sequence(n, 0, items, count);
}

zb_result zb_onnx_sequence_at(zb_onnx_node *n) {
  zb_onnx_value *sequence = zb_onnx_node_input(n, 0);
  int64_t place;
  int count;
  if (!sequence || sequence->kind != ZB_VALUE_SEQUENCE) return zb_onnx_node_fail(n, NULL, "input 0 is no sequence");
  if (!zb_onnx_node_ints(n, 1, "the position", &place, 1, &count)) return ZB_FAIL;
  if (count == 1 && place < 0) place += sequence->item_count;
  if (count != 1 || place < 0 || place >= sequence->item_count) {
    return zb_onnx_node_fail(n, NULL, "position %" PRId64 " is out of range for a sequence of %d", place,
                             sequence->item_count);
  }
  return zb_onnx_node_set_like(n, 0, sequence->items[place]);
}

zb_result zb_onnx_sequence_length(zb_onnx_node *n) {
  zb_onnx_value *sequence = zb_onnx_node_input(n, 0);
  zb_shape scalar = {.dtype = ZB_I64};
  if (!sequence || sequence->kind != ZB_VALUE_SEQUENCE) return zb_onnx_node_fail(n, NULL, "input 0 is no sequence");
  int64_t count = sequence->item_count;
  return zb_onnx_node_set_constant(n, 0, zb_onnx_const_copy(n->im, &scalar, &count));
}
