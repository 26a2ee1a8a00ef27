/* Elements by their places: orders, one-hot rows, gathers and scatters. Known indices become numbers of rows here, and
 * what names every row in order is only a reshape (the padding mask of PyTorch's exporter is); computed ones are
 * numbered by zb.ravel_index. Tests: test/e2e/meaning.py, test/ir/import. */
#include "ir/import/meaning/meaning.h"

#include <inttypes.h>
#include <string.h>

zb_operand zb_meaning_places(zb_import_node *n, zb_operand indices, int64_t dim, zb_indices taken) {
  return zb_operand_gather(n, zb_meaning_range(n, dim, 0, 1), zb_operand_cast(n, indices, ZB_I64), 0, taken);
}

zb_operand zb_meaning_counted(zb_import_node *n, zb_operand indices, int64_t dim) {
  zb_operand wide = zb_operand_cast(n, indices, ZB_I64), zero = zb_operand_scalar(n, ZB_I64, 0);
  zb_operand moved = zb_operand_apply2(n, "add", wide, zb_operand_scalar(n, ZB_I64, (double)dim));
  return zb_operand_where(n, zb_operand_apply2(n, "less", wide, zero), moved, wide);
}

/* ---- By values ---- */

/* Ties are those of a stable sort. */
zb_operand zb_meaning_top_k(zb_import_node *n, zb_operand x, int axis, int64_t k, bool largest, zb_operand *values) {
  zb_shape in;
  if (!zb_operand_shape(n, x, &in)) return NULL;
  if (k < 1 || k > in.dims[axis])
    return zb_import_refuse(n, NULL, "k is %" PRId64 " of %" PRId64 " elements", k, in.dims[axis]), NULL;
  const zb_attr attrs[] = {zb_int("axis", axis), zb_int("k", k), zb_bool("largest", largest)};
  zb_operand ordered = in.dtype == ZB_I1 ? zb_operand_cast(n, x, ZB_I64) : x;
  zb_operand places = zb_operand_build(n, "top_k", &ordered, 1, attrs, 3);
  if (values) *values = zb_operand_gather_elements(n, x, places, axis, ZB_FROM_BOTH_ENDS);
  return places;
}

/* Of the least element that of the greatest of -x, so that what is no number comes first there, too. */
zb_operand zb_meaning_arg(zb_import_node *n, zb_operand x, int axis, bool greatest) {
  zb_shape in;
  if (!zb_operand_shape(n, x, &in)) return NULL;
  if (greatest || in.dtype == ZB_I64 || in.dtype == ZB_I32 || in.dtype == ZB_I1)
    return zb_meaning_top_k(n, x, axis, 1, greatest, NULL);
  return zb_meaning_top_k(n, zb_operand_apply1(n, "neg", x), axis, 1, true, NULL);
}

zb_operand zb_meaning_one_hot(zb_import_node *n, zb_operand indices, int64_t depth, int axis) {
  zb_shape in;
  const int64_t place = axis;
  if (!zb_operand_shape(n, indices, &in)) return NULL;
  if (depth < 1 || depth > INT64_C(1) << 40) return zb_import_refuse(n, NULL, "the depth is out of range"), NULL;
  zb_shape line = {.rank = in.rank + 1 - axis, .dims = {depth, 1, 1, 1, 1, 1, 1, 1}};
  zb_operand wide = zb_meaning_unsqueeze(n, zb_operand_cast(n, indices, ZB_I64), &place, 1);
  return zb_operand_apply2(n, "equal", wide, zb_operand_reshape(n, zb_meaning_range(n, depth, 0, 1), &line));
}

/* ---- Rows ---- */

/* What tuples of indices name. */
typedef struct selection {
  zb_shape space;  /* the dimensions of data that a tuple names, those of the batch first */
  zb_shape tuples; /* of indices, without the last dimension; i64 */
  zb_shape rest;   /* the dimensions of data behind: a row */
  int batch_dims;
} selection;

static bool read_selection(zb_import_node *n, const zb_shape *data, const zb_shape *indices, int64_t batch_dims,
                           selection *out) {
  const int last = indices->rank - 1;
  if (data->rank < 1 || last < 0 || batch_dims < 0 || batch_dims > last || batch_dims >= data->rank)
    return zb_import_refuse(n, NULL, "batch_dims %" PRId64 " is out of range", batch_dims);
  const int64_t depth = indices->dims[last];
  if (depth < 1 || depth > data->rank - batch_dims)
    return zb_import_refuse(n, NULL, "the indices have %" PRId64 " entries each, for data of %d dimensions", depth,
                            data->rank);
  for (int i = 0; i < batch_dims; ++i)
    if (data->dims[i] != indices->dims[i]) return zb_import_refuse(n, NULL, "the batch dimensions differ");
  const int named = (int)(batch_dims + depth);
  *out = (selection){
      .batch_dims = (int)batch_dims, .space = zb_subshape(data, 0, named), .tuples = zb_subshape(indices, 0, last)};
  out->rest = zb_subshape(data, named, data->rank);
  out->tuples.dtype = ZB_I64;
  return true;
}

/* The shape of data as rows: their number, then the rest. */
static zb_shape as_rows(const selection *s) {
  zb_shape rows = {.dtype = s->rest.dtype, .rank = 1, .dims = {zb_shape_elements(&s->space)}};
  for (int i = 0; i < s->rest.rank; ++i)
    rows.dims[rows.rank++] = s->rest.dims[i];
  return rows;
}

/* The row of every tuple of known indices, in the shape of the tuples. */
static zb_known *known_rows(zb_import_node *n, const selection *s, const zb_known *indices) {
  zb_known *rows = zb_known_new(n->im, &s->tuples);
  int64_t batches = 1;
  const int64_t depth = s->space.rank - s->batch_dims;
  for (int i = 0; i < s->batch_dims; ++i)
    batches *= s->space.dims[i];
  for (int64_t t = 0; rows && t < rows->elements; ++t) {
    int64_t row = t / (rows->elements / batches);
    for (int64_t d = 0; d < depth; ++d) {
      const int64_t dim = s->space.dims[s->batch_dims + d], place = zb_import_index_at(n, indices, t * depth + d, dim);
      if (place < 0) return NULL;
      row = row * dim + place;
    }
    zb_known_set_integer(rows, t, row);
  }
  return rows;
}

static zb_operand ravel(zb_import_node *n, zb_operand tuples, const zb_shape *space) {
  const zb_attr attr = zb_ints("shape", space->dims, space->rank);
  return zb_operand_build(n, "ravel_index", &tuples, 1, &attr, 1);
}

/* Tuples with the place in the batch before them. */
static zb_operand with_batch(zb_import_node *n, zb_operand indices, const selection *s) {
  zb_operand parts[ZB_DIMS_MAX + 1];
  zb_shape shape = s->tuples;
  if (s->batch_dims == 0) return indices;
  shape.dims[shape.rank++] = 1;
  for (int i = 0; i < s->batch_dims; ++i)
    parts[i] = zb_operand_expand(n, zb_meaning_along(n, &shape, i, 1), &shape);
  parts[s->batch_dims] = zb_operand_cast(n, indices, ZB_I64);
  return zb_operand_concat(n, parts, s->batch_dims + 1, shape.rank - 1);
}

/* The row of every tuple, in the shape of the tuples. */
static zb_operand rows_of(zb_import_node *n, const selection *s, zb_operand indices) {
  zb_known *known;
  if (!indices || !zb_import_value_known(n->im, indices, &known)) return NULL;
  if (known) return zb_operand_named(n, known_rows(n, s, known), "rows");
  if (s->space.rank == 1) return zb_operand_reshape(n, indices, &s->tuples);
  return ravel(n, with_batch(n, indices, s), &s->space);
}

/* Whether rows are constants 0, 1, ..., count - 1. */
static bool in_order(const zb_known *rows, int64_t count) {
  bool same = rows && rows->elements == count;
  for (int64_t i = 0; same && i < count; ++i)
    same = zb_known_integer(rows, i) == i;
  return same;
}

zb_operand zb_meaning_gather_rows(zb_import_node *n, zb_operand x, zb_operand rows) {
  zb_shape in;
  if (!rows || !zb_operand_shape(n, x, &in)) return NULL;
  return in_order(rows->known, in.dims[0]) ? x : zb_operand_gather(n, x, rows, 0, ZB_FROM_BOTH_ENDS);
}

zb_operand zb_meaning_gather_nd(zb_import_node *n, zb_operand x, zb_operand indices, int64_t batch_dims) {
  zb_shape data, tuples, out;
  selection s;
  if (!zb_operand_shape(n, x, &data) || !zb_operand_shape(n, indices, &tuples) ||
      !read_selection(n, &data, &tuples, batch_dims, &s) || !zb_import_join(n, &s.tuples, &s.rest, &out))
    return NULL;
  const zb_shape rows = as_rows(&s);
  zb_operand which = rows_of(n, &s, indices);
  return zb_operand_reshape(n, zb_meaning_gather_rows(n, zb_operand_reshape(n, x, &rows), which), &out);
}

/* ---- Scatters ---- */

zb_operand zb_meaning_scatter(zb_import_node *n, zb_operand x, zb_operand rows, zb_operand updates,
                              const char *reduction) {
  if (zb_word_index("none add mul min max", reduction) < 0)
    return zb_import_refuse(n, "'none', 'add', 'mul', 'min' and 'max' are supported", "the reduction is not supported"),
           NULL;
  const zb_attr attr = zb_string("reduction", reduction);
  return zb_operand_apply(n, "scatter", (zb_operand[]){x, rows, updates}, 3, &attr, 1);
}

/* x as rows, updated, as x again. */
static zb_operand updated(zb_import_node *n, zb_operand x, const zb_shape *rows, zb_operand which, zb_operand updates,
                          const char *reduction) {
  zb_shape in;
  if (!zb_operand_shape(n, x, &in)) return NULL;
  x = zb_meaning_scatter(n, zb_operand_reshape(n, x, rows), which, updates, reduction);
  return zb_operand_reshape(n, x, &in);
}

zb_operand zb_meaning_scatter_nd(zb_import_node *n, zb_operand x, zb_operand indices, zb_operand updates,
                                 const char *reduction) {
  zb_shape data, tuples, given, wanted;
  selection s;
  char expected[96], got[96];
  if (!zb_operand_shape(n, x, &data) || !zb_operand_shape(n, indices, &tuples) ||
      !zb_operand_shape(n, updates, &given) || !read_selection(n, &data, &tuples, 0, &s) ||
      !zb_import_join(n, &s.tuples, &s.rest, &wanted))
    return NULL;
  if (!zb_shape_equal(&wanted, &given)) {
    zb_import_refuse(n, NULL, "the updates are %s, expected %s", zb_shape_text(&given, got),
                     zb_shape_text(&wanted, expected));
    return NULL;
  }
  const zb_shape rows = as_rows(&s);
  if (zb_shape_elements(&s.tuples) == 0) return x;
  return updated(n, x, &rows, rows_of(n, &s, indices), updates, reduction);
}

/* The element of data that each known index names, in the shape of the indices. */
static zb_known *known_elements(zb_import_node *n, const zb_shape *data, const zb_known *indices, int axis) {
  zb_shape shape = indices->shape;
  int64_t step;
  shape.dtype = ZB_I64;
  zb_known *out = zb_known_new(n->im, &shape);
  zb_walk w = zb_walk_beside(&shape, data, axis, &step);
  for (int64_t i = 0; out && i < out->elements; ++i, zb_walk_next(&w)) {
    const int64_t place = zb_import_index_at(n, indices, i, data->dims[axis]);
    if (place < 0) return NULL;
    zb_known_set_integer(out, i, w.at[0] + place * step);
  }
  return out;
}

/* Its place along the axis, and its own places along the others. */
static zb_operand elements_of(zb_import_node *n, zb_operand indices, const zb_shape *data, const zb_shape *shape,
                              int axis) {
  const zb_shape along = {.rank = 1, .dims = {data->dims[axis]}};
  int64_t strides[ZB_DIMS_MAX];
  if (shape->rank == 1) return indices;
  zb_strides(data, strides);
  const zb_shape tuples = {.rank = 2, .dims = {zb_shape_elements(shape), 1}};
  zb_operand place = zb_operand_reshape(n, ravel(n, zb_operand_reshape(n, indices, &tuples), &along), shape);
  if (strides[axis] != 1)
    place = zb_operand_apply2(n, "mul", place, zb_operand_scalar(n, ZB_I64, (double)strides[axis]));
  for (int i = 0; i < shape->rank; ++i)
    if (i != axis && shape->dims[i] != 1)
      place = zb_operand_apply2(n, "add", place, zb_meaning_along(n, shape, i, strides[i]));
  return place;
}

zb_operand zb_meaning_scatter_elements(zb_import_node *n, zb_operand x, zb_operand indices, zb_operand updates,
                                       int axis, const char *reduction) {
  zb_shape data, shape, given;
  zb_known *known;
  if (!zb_operand_shape(n, x, &data) || !zb_operand_shape(n, indices, &shape) ||
      !zb_operand_shape(n, updates, &given) || !zb_import_value_known(n->im, indices, &known))
    return NULL;
  zb_shape like = shape;
  like.dtype = data.dtype;
  bool fits = data.rank == shape.rank && zb_shape_equal(&like, &given);
  for (int i = 0; fits && i < data.rank; ++i)
    fits = i == axis || shape.dims[i] <= data.dims[i];
  if (!fits) return zb_import_refuse(n, NULL, "the indices do not fit the data or the updates"), NULL;
  const zb_shape all = {.rank = 1, .dims = {zb_shape_elements(&data)}},
                 line = {.rank = 1, .dims = {zb_shape_elements(&shape)}};
  if (line.dims[0] == 0) return x;
  zb_operand rows = known ? zb_operand_named(n, known_elements(n, &data, known, axis), "elements")
                          : elements_of(n, indices, &data, &shape, axis);
  return updated(n, x, &all, zb_operand_reshape(n, rows, &line), zb_operand_reshape(n, updates, &line), reduction);
}
