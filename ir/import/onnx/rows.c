/* GatherND, ScatterND and ScatterElements: indices as numbers of rows of data, whose leading dimensions are then one.
 * Constant indices become numbers here, and what names every row in order is only a reshape (the padding mask of
 * PyTorch's exporter is); computed ones are numbered by zb.ravel_index. Tests: test/ir/import/import_test.c. */
#include "ir/import/onnx/onnx.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* What tuples of indices name. */
typedef struct selection {
  zb_shape space;  /* the dimensions of data that a tuple names, those of the batch first */
  zb_shape tuples; /* of indices, without the last dimension; i64 */
  zb_shape rest;   /* the dimensions of data behind: a row */
  int batch_dims;
} selection;

static bool read_selection(zb_import_node *n, const zb_shape *data, const zb_shape *indices, int64_t batch_dims,
                           selection *out) {
  int last = indices->rank - 1;
  if (data->rank < 1 || last < 0 || batch_dims < 0 || batch_dims > last || batch_dims >= data->rank)
    return zb_import_refuse(n, NULL, "batch_dims %" PRId64 " is out of range", batch_dims);
  int64_t depth = indices->dims[last];
  if (depth < 1 || depth > data->rank - batch_dims)
    return zb_import_refuse(n, NULL, "the indices have %" PRId64 " entries each, for data of %d dimensions", depth,
                            data->rank);
  for (int i = 0; i < batch_dims; ++i) {
    if (data->dims[i] == indices->dims[i]) continue;
    return zb_import_refuse(n, NULL, "the batch dimensions differ");
  }
  int named = (int)(batch_dims + depth);
  *out = (selection){
      .batch_dims = (int)batch_dims, .space = zb_subshape(data, 0, named), .tuples = zb_subshape(indices, 0, last)};
  out->rest = zb_subshape(data, named, data->rank);
  out->tuples.dtype = ZB_I64;
  return true;
}

/* One row of data: its number of rows, then the rest. */
static zb_shape as_rows(const selection *s) {
  zb_shape rows = {.dtype = s->rest.dtype, .rank = 1};
  rows.dims[0] = zb_shape_elements(&s->space);
  for (int i = 0; i < s->rest.rank; ++i)
    rows.dims[rows.rank++] = s->rest.dims[i];
  return rows;
}

/* ---- Constant indices ---- */

/* The row of every tuple, in the shape of the tuples; NULL after an error was reported. */
static zb_known *known_rows(zb_import_node *n, const selection *s, const zb_known *indices) {
  zb_known *rows = zb_known_new(n->im, &s->tuples);
  int64_t batches = 1, depth = s->space.rank - s->batch_dims;
  for (int i = 0; i < s->batch_dims; ++i)
    batches *= s->space.dims[i];
  for (int64_t t = 0; rows && t < rows->elements; ++t) {
    int64_t row = t / (rows->elements / batches);
    for (int64_t d = 0; d < depth; ++d) {
      int64_t dim = s->space.dims[s->batch_dims + d], place = zb_import_index_at(n, indices, t * depth + d, dim);
      if (place < 0) return NULL;
      row = row * dim + place;
    }
    zb_known_set_integer(rows, t, row);
  }
  return rows;
}

/* The element of every index along an axis, in the shape of the indices; NULL after an error was reported. */
static zb_known *known_elements(zb_import_node *n, const zb_shape *data, const zb_known *indices, int axis) {
  zb_shape shape = indices->shape;
  shape.dtype = ZB_I64;
  zb_known *rows = zb_known_new(n->im, &shape);
  int64_t step;
  zb_walk w = zb_walk_beside(&shape, data, axis, &step);
  for (int64_t i = 0; rows && i < rows->elements; ++i, zb_walk_next(&w)) {
    int64_t place = zb_import_index_at(n, indices, i, data->dims[axis]);
    if (place < 0) return NULL;
    zb_known_set_integer(rows, i, w.at[0] + place * step);
  }
  return rows;
}

/* Whether rows are 0, 1, ..., count - 1. */
static bool in_order(const zb_known *rows, int64_t count) {
  bool same = rows->elements == count;
  for (int64_t i = 0; same && i < count; ++i)
    same = zb_known_integer(rows, i) == i;
  return same;
}

static zb_known *fold_gather(zb_import_node *n, const selection *s, const zb_shape *shape) {
  zb_known *rows = known_rows(n, s, zb_import_known(n, 1)), *out = rows ? zb_known_new(n->im, shape) : NULL;
  int64_t width = zb_shape_elements(&s->rest);
  for (int64_t i = 0; out && i < rows->elements; ++i)
    zb_known_put(out, i * width, zb_import_known(n, 0), zb_known_integer(rows, i) * width, width);
  return out;
}

/* What is done where an update meets a value; NULL, reported, for an unknown reduction. */
static const char *reduction_of(zb_import_node *n) {
  static const char *const names[] = {"none", "add", "mul", "min", "max"};
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i)
    if (zb_onnx_string_is(n, "reduction", "none", names[i])) return names[i];
  if (!n->im->failed)
    zb_import_refuse(n, "'none', 'add', 'mul', 'min' and 'max' are supported", "the reduction is not supported");
  return NULL;
}

static double combine_real(const char *reduction, double old, double update) {
  if (strcmp(reduction, "add") == 0) return old + update;
  if (strcmp(reduction, "mul") == 0) return old * update;
  if (isnan(old) || isnan(update)) return strcmp(reduction, "none") == 0 ? update : NAN;
  if (strcmp(reduction, "min") == 0) return fmin(old, update);
  return strcmp(reduction, "max") == 0 ? fmax(old, update) : update;
}

static int64_t combine_integer(const char *reduction, int64_t old, int64_t update) {
  if (strcmp(reduction, "add") == 0) return (int64_t)((uint64_t)old + (uint64_t)update);
  if (strcmp(reduction, "mul") == 0) return (int64_t)((uint64_t)old * (uint64_t)update);
  if (strcmp(reduction, "min") == 0) return old < update ? old : update;
  return strcmp(reduction, "max") == 0 && old > update ? old : update;
}

/* in with updates put at, or combined with, rows of `width` elements. */
static zb_result fold_scatter(zb_import_node *n, const zb_known *rows, int64_t width) {
  const zb_known *in = zb_import_known(n, 0), *updates = zb_import_known(n, 2);
  const char *reduction = reduction_of(n);
  const bool real = zb_known_is_float(in);
  zb_known *out = reduction ? zb_known_copy(n->im, &in->shape, in->data) : NULL;
  for (int64_t i = 0; out && i < rows->elements * width; ++i) {
    const int64_t to = zb_known_integer(rows, i / width) * width + i % width;
    if (real)
      zb_known_set_real(out, to, combine_real(reduction, zb_known_real(out, to), zb_known_real(updates, i)));
    else
      zb_known_set_integer(out, to,
                           combine_integer(reduction, zb_known_integer(out, to), zb_known_integer(updates, i)));
  }
  return zb_import_give_known(n, 0, out);
}

/* ---- ScatterND ---- */

static bool read_scatter_nd(zb_import_node *n, selection *s) {
  zb_shape data, indices, updates, wanted;
  char expected[96], got[96];
  if (!zb_import_shape(n, 0, &data) || !zb_import_shape(n, 1, &indices) || !zb_import_shape(n, 2, &updates))
    return false;
  if (!read_selection(n, &data, &indices, 0, s) || !zb_import_join(n, &s->tuples, &s->rest, &wanted)) return false;
  if (zb_shape_equal(&wanted, &updates)) return true;
  return zb_import_refuse(n, NULL, "the updates are %s, expected %s", zb_shape_text(&updates, got),
                          zb_shape_text(&wanted, expected));
}

/* ---- ScatterElements ---- */

static bool read_scatter_elements(zb_import_node *n, zb_shape *data, zb_shape *indices, int *axis) {
  zb_shape updates;
  if (!zb_import_shape(n, 0, data) || !zb_import_shape(n, 1, indices) || !zb_import_shape(n, 2, &updates)) return false;
  if (!zb_import_axis(n, zb_onnx_int(n, "axis", 0), data->rank, axis)) return false;
  zb_shape like = *indices;
  like.dtype = data->dtype;
  bool fits = data->rank == indices->rank && zb_shape_equal(&like, &updates);
  for (int i = 0; fits && i < data->rank; ++i)
    fits = i == *axis || indices->dims[i] <= data->dims[i];
  if (!fits) zb_import_refuse(n, NULL, "the indices do not fit the data or the updates");
  return fits;
}

/* ---- Computed indices ---- */

/* 0, step, 2 step, ... along one dimension of shape, the others of size 1. */
static MlirValue coordinates(zb_builder *b, const zb_shape *shape, int dimension, int64_t step) {
  zb_shape line = {.dtype = ZB_I64, .rank = shape->rank};
  for (int i = 0; i < shape->rank; ++i)
    line.dims[i] = i == dimension ? shape->dims[i] : 1;
  return zb_build_iota(b, &line, dimension, 0, (double)step);
}

static MlirValue ravel(zb_builder *b, MlirValue indices, const zb_shape *space) {
  return ZB_BUILD(b, "ravel_index", indices, zb_ints("shape", space->dims, space->rank));
}

/* Tuples with the place in the batch before them. */
static MlirValue with_batch(zb_builder *b, MlirValue indices, const selection *s) {
  MlirValue parts[ZB_DIMS_MAX + 1];
  zb_shape shape = s->tuples;
  if (s->batch_dims == 0) return indices;
  shape.dims[shape.rank++] = 1;
  for (int i = 0; i < s->batch_dims; ++i) {
    MlirValue along = coordinates(b, &shape, i, 1);
    parts[i] = zb_import_expanded(b, along, &shape);
  }
  parts[s->batch_dims] = zb_build_cast(b, indices, ZB_I64);
  return b->failed ? (MlirValue){NULL} : zb_build_concat(b, parts, s->batch_dims + 1, shape.rank - 1);
}

/* The row of every tuple of input 1, in the shape of the tuples. */
static MlirValue rows_of(zb_import_node *n, const selection *s, const zb_known *known) {
  if (known) return zb_import_literal_ir(n->im, known, "rows");
  MlirValue indices = zb_import_ir(n, 1);
  if (s->space.rank == 1)
    return indices.ptr ? zb_build_reshape(n->b, indices, s->tuples.dims, s->tuples.rank) : indices;
  indices = with_batch(n->b, indices, s);
  return indices.ptr ? ravel(n->b, indices, &s->space) : indices;
}

/* known gets the rows of constant indices, or NULL; false after reporting. */
static bool know_rows(zb_import_node *n, const selection *s, const zb_known **known) {
  const zb_known *indices = zb_import_known(n, 1);
  *known = indices ? known_rows(n, s, indices) : NULL;
  return *known || !indices;
}

zb_result zb_onnx_gather_nd(zb_import_node *n) {
  zb_shape data, indices, out;
  selection s;
  const zb_known *known;
  if (!zb_import_shape(n, 0, &data) || !zb_import_shape(n, 1, &indices)) return ZB_FAIL;
  if (!read_selection(n, &data, &indices, zb_onnx_int(n, "batch_dims", 0), &s) ||
      !zb_import_join(n, &s.tuples, &s.rest, &out))
    return ZB_FAIL;
  if (n->folds) return zb_import_give_known(n, 0, fold_gather(n, &s, &out));
  if (!know_rows(n, &s, &known)) return ZB_FAIL;
  zb_shape rows = as_rows(&s);
  MlirValue x = zb_import_ir(n, 0);
  if (known && in_order(known, rows.dims[0]))
    return zb_import_give(n, 0, zb_import_reshaped(n->b, x, out.dims, out.rank));
  x = zb_import_reshaped(n->b, x, rows.dims, rows.rank);
  zb_attr axis = zb_int("axis", 0);
  MlirValue in[2] = {x, rows_of(n, &s, known)};
  return zb_import_give(n, 0, n->b->failed ? (MlirValue){NULL} : zb_build(n->b, "gather", in, 2, &axis, 1));
}

/* data as rows, updated, as data again. */
static zb_result build_scatter(zb_import_node *n, MlirValue data, const zb_shape *as_rows, MlirValue rows,
                               MlirValue updates) {
  zb_shape shape;
  const char *name = reduction_of(n);
  if (!name || n->b->failed || !zb_import_shape(n, 0, &shape)) return ZB_FAIL;
  MlirValue in[3] = {zb_import_reshaped(n->b, data, as_rows->dims, as_rows->rank), rows, updates};
  zb_attr reduction = zb_string("reduction", name);
  MlirValue out = n->b->failed ? (MlirValue){NULL} : zb_build(n->b, "scatter", in, 3, &reduction, 1);
  return zb_import_give(n, 0, out.ptr ? zb_build_reshape(n->b, out, shape.dims, shape.rank) : out);
}

zb_result zb_onnx_scatter_nd(zb_import_node *n) {
  selection s;
  const zb_known *known;
  if (!read_scatter_nd(n, &s) || !know_rows(n, &s, &known)) return ZB_FAIL;
  if (n->folds) return fold_scatter(n, known, zb_shape_elements(&s.rest));
  MlirValue data = zb_import_ir(n, 0), updates = zb_import_ir(n, 2);
  if (zb_shape_elements(&s.tuples) == 0) return zb_import_give(n, 0, data);
  zb_shape rows = as_rows(&s);
  return build_scatter(n, data, &rows, rows_of(n, &s, known), updates);
}

/* The element of data that each index names: its place along the axis, and its own places along the others. */
static MlirValue elements_of(zb_builder *b, MlirValue indices, const zb_shape *data, const zb_shape *shape, int axis) {
  zb_shape along = {.dtype = ZB_I64, .rank = 1, .dims = {data->dims[axis]}};
  int64_t strides[ZB_DIMS_MAX];
  if (shape->rank == 1) return indices;
  zb_strides(data, strides);
  int64_t count = zb_shape_elements(shape);
  MlirValue tuples = zb_build_reshape(b, indices, (int64_t[]){count, 1}, 2);
  MlirValue place = zb_build_reshape(b, ravel(b, tuples, &along), shape->dims, shape->rank);
  if (strides[axis] != 1) place = zb_build2(b, "mul", place, zb_build_scalar(b, ZB_I64, (double)strides[axis]));
  for (int i = 0; i < shape->rank; ++i) {
    if (i == axis || shape->dims[i] == 1) continue;
    MlirValue own = coordinates(b, shape, i, strides[i]);
    place = zb_build2(b, "add", place, own);
  }
  return place;
}

zb_result zb_onnx_scatter_elements(zb_import_node *n) {
  zb_shape data, shape;
  int axis;
  if (!read_scatter_elements(n, &data, &shape, &axis)) return ZB_FAIL;
  const zb_known *indices = zb_import_known(n, 1), *known = indices ? known_elements(n, &data, indices, axis) : NULL;
  if (indices && !known) return ZB_FAIL;
  if (n->folds) return fold_scatter(n, known, 1);
  MlirValue x = zb_import_ir(n, 0), updates = zb_import_ir(n, 2);
  int64_t count = zb_shape_elements(&shape);
  if (count == 0) return zb_import_give(n, 0, x);
  MlirValue rows = known ? zb_import_literal_ir(n->im, known, "elements") : zb_import_ir(n, 1);
  if (!known && !n->b->failed) rows = elements_of(n->b, rows, &data, &shape, axis);
  if (n->b->failed || n->im->failed) return ZB_FAIL;
  rows = zb_build_reshape(n->b, rows, &count, 1);
  updates = zb_import_reshaped(n->b, updates, &count, 1);
  zb_shape flat = {.dtype = data.dtype, .rank = 1, .dims = {zb_shape_elements(&data)}};
  return build_scatter(n, x, &flat, rows, updates);
}
