/* Data movement on constants. Tests: test/ir/import/import_test.c (folding). */
#include "ir/import/fold.h"

#include <inttypes.h>

zb_known *zb_import_fold_transpose(zb_import_node *n, const zb_known *in, const int64_t *permutation) {
  int64_t own[ZB_DIMS_MAX], strides[ZB_DIMS_MAX];
  zb_shape shape = in->shape;
  zb_strides(&in->shape, own);
  for (int i = 0; i < shape.rank; ++i) {
    shape.dims[i] = in->shape.dims[permutation[i]];
    strides[i] = own[permutation[i]];
  }
  return zb_known_strided(n->im, in, &shape, 0, strides);
}

zb_known *zb_import_fold_expand(zb_import_node *n, const zb_known *in, const zb_shape *shape) {
  int64_t strides[ZB_DIMS_MAX];
  zb_broadcast_strides(&in->shape, shape, strides);
  return zb_known_strided(n->im, in, shape, 0, strides);
}

zb_known *zb_import_fold_slice(zb_import_node *n, const zb_known *in, const int64_t *starts, const int64_t *steps,
                               const int64_t *sizes) {
  int64_t strides[ZB_DIMS_MAX], offset = 0;
  zb_shape shape = in->shape;
  zb_strides(&in->shape, strides);
  for (int i = 0; i < shape.rank; ++i) {
    shape.dims[i] = sizes[i];
    offset += starts[i] * strides[i];
    strides[i] = sizes[i] > 1 ? strides[i] * steps[i] : 0;
  }
  return zb_known_strided(n->im, in, &shape, offset, strides);
}

static int64_t product(const zb_shape *shape, int from, int to) {
  int64_t count = 1;
  for (int i = from; i < to; ++i)
    count *= shape->dims[i];
  return count;
}

/* Copies `in` into `out` at an offset along an axis. */
static void paste(zb_known *out, const zb_known *in, int axis, int64_t offset) {
  int64_t inner = product(&out->shape, axis + 1, out->shape.rank), outer = product(&out->shape, 0, axis);
  int64_t run = in->shape.dims[axis] * inner, step = out->shape.dims[axis] * inner;
  for (int64_t o = 0; o < outer; ++o)
    zb_known_put(out, o * step + offset * inner, in, o * run, run);
}

zb_known *zb_import_fold_concat(zb_import_node *n, const zb_known *const *parts, int count, int axis) {
  zb_shape shape = parts[0]->shape;
  char a[96], b[96];
  shape.dims[axis] = 0;
  for (int k = 0; k < count; ++k) {
    const zb_shape *part = &parts[k]->shape;
    bool fits =
        part->rank == shape.rank && part->dtype == shape.dtype && part->dims[axis] <= INT64_MAX - shape.dims[axis];
    for (int i = 0; fits && i < shape.rank; ++i)
      fits = i == axis || part->dims[i] == shape.dims[i];
    if (!fits)
      return zb_import_refuse(n, NULL, "cannot join %s and %s along axis %d", zb_shape_text(&parts[0]->shape, a),
                              zb_shape_text(part, b), axis),
             NULL;
    shape.dims[axis] += part->dims[axis];
  }
  zb_known *out = zb_known_new(n->im, &shape);
  int64_t offset = 0;
  for (int k = 0; out && k < count; offset += parts[k++]->shape.dims[axis])
    paste(out, parts[k], axis, offset);
  return out;
}

int64_t zb_import_index_at(zb_import_node *n, const zb_known *indices, int64_t i, int64_t dim) {
  int64_t index = zb_known_integer(indices, i), place = index < 0 ? index + dim : index;
  if (place >= 0 && place < dim) return place;
  zb_import_refuse(n, NULL, "index %" PRId64 " is out of range for a dimension of %" PRId64, index, dim);
  return -1;
}

zb_known *zb_import_fold_gather(zb_import_node *n, const zb_known *in, const zb_known *indices, int axis) {
  zb_shape shape = {.dtype = in->shape.dtype};
  if (in->shape.rank - 1 + indices->shape.rank > ZB_DIMS_MAX)
    return zb_import_refuse(n, NULL, "the result has more than %d dimensions", ZB_DIMS_MAX), NULL;
  for (int i = 0; i < axis; ++i)
    shape.dims[shape.rank++] = in->shape.dims[i];
  for (int i = 0; i < indices->shape.rank; ++i)
    shape.dims[shape.rank++] = indices->shape.dims[i];
  for (int i = axis + 1; i < in->shape.rank; ++i)
    shape.dims[shape.rank++] = in->shape.dims[i];
  int64_t outer = product(&in->shape, 0, axis), inner = product(&in->shape, axis + 1, in->shape.rank),
          dim = in->shape.dims[axis];
  zb_known *out = zb_known_new(n->im, &shape);
  for (int64_t i = 0; out && i < outer * indices->elements; ++i) {
    int64_t index = zb_import_index_at(n, indices, i % indices->elements, dim);
    if (index < 0) return NULL;
    zb_known_put(out, i * inner, in, (i / indices->elements * dim + index) * inner, inner);
  }
  return out;
}

zb_known *zb_import_fold_gather_elements(zb_import_node *n, const zb_known *in, const zb_known *indices, int axis) {
  zb_shape shape = indices->shape;
  shape.dtype = in->shape.dtype;
  bool fits = shape.rank == in->shape.rank;
  for (int i = 0; fits && i < shape.rank; ++i)
    fits = i == axis || shape.dims[i] <= in->shape.dims[i];
  if (!fits) return zb_import_refuse(n, NULL, "the indices do not fit the data"), NULL;
  zb_known *out = zb_known_new(n->im, &shape);
  int64_t step;
  zb_walk w = zb_walk_beside(&shape, &in->shape, axis, &step);
  for (int64_t i = 0; out && i < out->elements; ++i, zb_walk_next(&w)) {
    int64_t k = zb_import_index_at(n, indices, i, in->shape.dims[axis]);
    if (k < 0) return NULL;
    zb_known_put(out, i, in, w.at[0] + k * step, 1);
  }
  return out;
}
