/* Data movement, indexing, constants. What only gives its operand another shape reads the declared type of its result.
 * Tests: test/ir/import/aten. */
#include "ir/import/aten/aten.h"

#include <math.h>
#include <mlir-c/BuiltinTypes.h>
#include <string.h>

/* ---- Shapes ---- */

zb_result zb_aten_view(zb_import_node *n) {
  zb_shape out;
  return zb_aten_result_shape(n, 0, &out) ? zb_operand_give(n, 0, zb_operand_reshape(n, zb_operand_in(n, 0), &out))
                                          : ZB_FAIL;
}

zb_result zb_aten_broadcast(zb_import_node *n) {
  zb_shape out;
  if (!zb_aten_result_shape(n, 0, &out)) return ZB_FAIL;
  zb_operand x = zb_operand_in(n, n->input_count > 1 ? 1 : 0); /* copy(self, src) */
  return zb_operand_give(n, 0, zb_operand_expand(n, zb_operand_cast(n, x, out.dtype), &out));
}

zb_result zb_aten_permute(zb_import_node *n) {
  zb_shape in;
  int64_t dims[ZB_DIMS_MAX];
  int count = 0, first, second;
  zb_operand x = zb_operand_in(n, 0);
  if (!zb_operand_shape(n, x, &in)) return ZB_FAIL;
  if (!zb_aten_ints(n, "dims", dims, ZB_DIMS_MAX, &count)) {
    for (count = 0; count < in.rank; ++count)
      dims[count] = count;
    if (in.rank > 1) {
      if (!zb_aten_axis(n, "dim0", 0, in.rank, &first) || !zb_aten_axis(n, "dim1", 1, in.rank, &second)) return ZB_FAIL;
      dims[first] = second;
      dims[second] = first;
    }
  }
  return n->im->failed ? ZB_FAIL : zb_operand_give(n, 0, zb_meaning_permute(n, x, dims, count));
}

/* ---- Parts ---- */

/* start, end and step along dim; *size: how many elements that are. False after reporting. */
static bool read_slice(zb_import_node *n, const zb_shape *in, int *axis, int64_t *start, int64_t *step, int64_t *size) {
  if (!zb_aten_axis(n, "dim", 0, in->rank, axis)) return false;
  const int64_t dim = in->dims[*axis], end = zb_aten_int(n, "end", dim);
  *start = zb_aten_int(n, "start", 0);
  *step = zb_aten_int(n, "step", 1);
  if (n->im->failed) return false;
  if (*step < 1) return zb_import_refuse(n, NULL, "the step is %lld, expected 1 or more", (long long)*step);
  *size = zb_meaning_slice_size(dim, start, end, *step);
  return true;
}

zb_result zb_aten_narrow(zb_import_node *n) {
  zb_shape in;
  int axis;
  int64_t start, step, size;
  zb_operand x = zb_operand_in(n, 0);
  if (!zb_operand_shape(n, x, &in) || !read_slice(n, &in, &axis, &start, &step, &size)) return ZB_FAIL;
  const int64_t along = axis, end = size ? start + (size - 1) * step + 1 : start;
  return zb_operand_give(n, 0, zb_meaning_slice(n, x, &along, &start, &end, &step, 1));
}

/* The place that an index names, from 0; false after reporting. */
static bool read_index(zb_import_node *n, int64_t dim, int64_t *out) {
  *out = zb_aten_int(n, "index", 0);
  if (*out < 0) *out += dim;
  return (*out >= 0 && *out < dim) || zb_import_refuse(n, NULL, "the index is out of range");
}

zb_result zb_aten_pick(zb_import_node *n) {
  zb_shape in, out;
  int axis;
  int64_t place;
  zb_operand x = zb_operand_in(n, 0);
  if (!zb_aten_result_shape(n, 0, &out) || !zb_operand_shape(n, x, &in) || !zb_aten_axis(n, "dim", 0, in.rank, &axis))
    return ZB_FAIL;
  if (!read_index(n, in.dims[axis], &place)) return ZB_FAIL;
  return zb_operand_give(n, 0, zb_operand_reshape(n, zb_operand_part(n, x, axis, place, 1), &out));
}

/* Of given sizes, of one size, or of 1 each. */
zb_result zb_aten_split(zb_import_node *n) {
  zb_shape in, out;
  int64_t sizes[ZB_MEANING_PARTS];
  zb_operand parts[ZB_MEANING_PARTS], x = zb_operand_in(n, 0);
  const char *argument = n->op->argument;
  int axis, count;
  if (!zb_operand_shape(n, x, &in) || !zb_aten_axis(n, "dim", 0, in.rank, &axis)) return ZB_FAIL;
  if (strcmp(argument, "sizes") == 0) {
    if (!zb_aten_ints(n, "split_sizes", sizes, ZB_MEANING_PARTS, &count))
      return zb_import_refuse(n, NULL, "it has no split_sizes");
  } else {
    const int64_t size = strcmp(argument, "size") == 0 ? zb_aten_int(n, "split_size", 1) : 1;
    if (!zb_meaning_parts(n, in.dims[axis], size, sizes, &count)) return ZB_FAIL;
  }
  if (count != n->output_count) return zb_import_refuse(n, NULL, "%d parts of %d results", count, n->output_count);
  if (!zb_meaning_split(n, x, axis, sizes, count, parts)) return ZB_FAIL;
  for (int i = 0; i < count; ++i) {
    if (!zb_import_wants(n, i)) continue;
    if (!zb_aten_result_shape(n, i, &out) || !zb_operand_give(n, i, zb_operand_reshape(n, parts[i], &out)))
      return ZB_FAIL;
  }
  return ZB_OK;
}

/* ---- Joining ---- */

/* Empty tensors join nothing. */
zb_result zb_aten_cat(zb_import_node *n) {
  zb_shape out;
  int axis;
  const bool stacks = strcmp(n->op->argument, "stack") == 0;
  zb_operand *parts = zb_import_take(n->im, (size_t)n->input_count * sizeof *parts + 1);
  if (!parts || !zb_aten_result_shape(n, 0, &out) || !zb_aten_axis(n, "dim", 0, out.rank, &axis)) return ZB_FAIL;
  for (int i = 0; i < n->input_count; ++i)
    if (!(parts[i] = zb_operand_cast(n, zb_operand_in(n, i), out.dtype))) return ZB_FAIL;
  return zb_operand_give(n, 0,
                         stacks ? zb_meaning_stack(n, parts, n->input_count, axis)
                                : zb_operand_concat(n, parts, n->input_count, axis));
}

zb_result zb_aten_repeat(zb_import_node *n) {
  int64_t repeats[ZB_DIMS_MAX];
  int count;
  if (!zb_aten_ints(n, "repeats", repeats, ZB_DIMS_MAX, &count) &&
      !zb_aten_ints(n, "dims", repeats, ZB_DIMS_MAX, &count))
    return n->im->failed ? ZB_FAIL : zb_import_refuse(n, NULL, "it has no repeats");
  return zb_operand_give(n, 0, zb_meaning_tile(n, zb_operand_in(n, 0), repeats, count));
}

zb_result zb_aten_flip(zb_import_node *n) {
  int64_t dims[ZB_DIMS_MAX];
  int count;
  zb_aten_ints(n, "dims", dims, ZB_DIMS_MAX, &count);
  return zb_operand_give(n, 0, zb_meaning_flip(n, zb_operand_in(n, 0), dims, count));
}

zb_result zb_aten_roll(zb_import_node *n) {
  zb_shape in;
  int64_t shifts[ZB_DIMS_MAX], dims[ZB_DIMS_MAX];
  int count, dim_count, axis;
  zb_operand x = zb_operand_in(n, 0);
  if (!zb_operand_shape(n, x, &in)) return ZB_FAIL;
  zb_aten_ints(n, "shifts", shifts, ZB_DIMS_MAX, &count);
  zb_aten_ints(n, "dims", dims, ZB_DIMS_MAX, &dim_count);
  if (count != dim_count)
    return zb_import_refuse(n, "name the dimensions", "%d shifts of %d dimensions", count, dim_count);
  for (int i = 0; i < count; ++i) {
    if (!zb_import_axis(n, dims[i], in.rank, &axis)) return ZB_FAIL;
    x = zb_meaning_roll(n, x, shifts[i], axis);
  }
  return zb_operand_give(n, 0, x);
}

/* Pairs of pads from the last dimension on; negative ones cut. */
zb_result zb_aten_pad(zb_import_node *n) {
  zb_shape in;
  int64_t pads[2 * ZB_DIMS_MAX];
  int count;
  zb_operand x = zb_operand_in(n, 0);
  if (!zb_operand_shape(n, x, &in)) return ZB_FAIL;
  if (!zb_aten_ints(n, "pad", pads, 2 * ZB_DIMS_MAX, &count) || count % 2 || count / 2 > in.rank)
    return zb_import_refuse(n, NULL, "the pads are not two of each dimension");
  zb_operand fill = zb_aten_has(n, "value") ? zb_aten_number(n, "value", in.dtype) : zb_operand_scalar(n, in.dtype, 0);
  for (int i = 0; i < count / 2 && x; ++i)
    x = zb_meaning_pad(n, x, in.rank - 1 - i, pads[2 * i], pads[2 * i + 1], fill);
  return zb_operand_give(n, 0, x);
}

/* x with others at every step-th place: chosen from both by constant indices. */
static zb_operand interleaved(zb_import_node *n, zb_operand x, zb_operand with, int axis, int64_t start, int64_t step,
                              int64_t size) {
  zb_shape in;
  if (!zb_operand_shape(n, x, &in)) return NULL;
  const int64_t dim = in.dims[axis];
  zb_known *order = zb_known_new(n->im, &(zb_shape){.dtype = ZB_I64, .rank = 1, .dims = {dim}});
  for (int64_t i = 0; order && i < dim; ++i) {
    const int64_t place = (i - start) / step;
    const bool is_replaced = i >= start && (i - start) % step == 0 && place < size;
    zb_known_set_integer(order, i, is_replaced ? place : size + i);
  }
  zb_operand both = zb_operand_concat(n, (zb_operand[]){with, x}, 2, axis);
  return zb_operand_gather(n, both, zb_operand_known(n, order), axis, ZB_FROM_BOTH_ENDS);
}

zb_result zb_aten_replace(zb_import_node *n) {
  zb_shape in;
  int axis;
  int64_t start, step = 1, size = 1;
  const bool is_one = strcmp(n->op->argument, "select") == 0;
  zb_operand x = zb_operand_in(n, 0);
  if (!zb_operand_shape(n, x, &in)) return ZB_FAIL;
  zb_operand with = zb_operand_cast(n, zb_operand_in(n, 1), in.dtype);
  zb_shape part = in;
  if (is_one ? !zb_aten_axis(n, "dim", 0, in.rank, &axis) || !read_index(n, in.dims[axis], &start)
             : !read_slice(n, &in, &axis, &start, &step, &size))
    return ZB_FAIL;
  part.dims[axis] = size;
  with = is_one ? zb_operand_reshape(n, with, &part) : zb_operand_expand(n, with, &part);
  if (step != 1 && size > 1) return zb_operand_give(n, 0, interleaved(n, x, with, axis, start, step, size));
  return zb_operand_give(n, 0, zb_meaning_replace(n, x, with, axis, start, size));
}

zb_result zb_aten_triangle(zb_import_node *n) {
  const bool upper = strcmp(n->op->argument, "upper") == 0;
  return zb_operand_give(n, 0, zb_meaning_triangle(n, zb_operand_in(n, 0), upper, zb_aten_int(n, "diagonal", 0)));
}

/* ---- Indices ---- */

/* Rows of a trained table: no gradient flows to the one of the padding token. */
static zb_operand without_padding(zb_import_node *n, zb_operand rows, zb_operand indices, int64_t padding) {
  zb_shape shape;
  if (!zb_operand_shape(n, indices, &shape)) return NULL;
  if (shape.rank == ZB_DIMS_MAX) return zb_import_refuse(n, NULL, "it has too many dimensions"), NULL;
  shape.dims[shape.rank++] = 1;
  zb_operand wide = zb_operand_reshape(n, zb_operand_cast(n, indices, ZB_I64), &shape);
  zb_operand is_padding = zb_operand_apply2(n, "equal", wide, zb_operand_scalar(n, ZB_I64, (double)padding));
  return zb_operand_where(n, is_padding, zb_operand_apply1(n, "detach", rows), rows);
}

zb_result zb_aten_lookup(zb_import_node *n) {
  zb_shape in;
  int axis = 0;
  const bool is_embedding = strcmp(n->op->argument, "embedding") == 0;
  zb_operand x = zb_operand_in(n, 0);
  if (!zb_operand_shape(n, x, &in)) return ZB_FAIL;
  if (is_embedding && zb_aten_flag(n, "scale_grad_by_freq", false))
    return zb_aten_refuse_argument(n, "scale_grad_by_freq", "leave it False");
  if (!is_embedding && !zb_aten_axis(n, "dim", 0, in.rank, &axis)) return ZB_FAIL;
  zb_operand rows = zb_operand_gather(n, x, zb_operand_in(n, 1), axis, ZB_FROM_START);
  const int64_t padding = is_embedding ? zb_aten_int(n, "padding_idx", -1) : -1;
  const bool is_trained = x && (x->kind == ZB_VALUE_NODE || x->role == ZB_ROLE_TRAINED) && !n->im->params->inference;
  if (padding >= 0 && is_trained && rows && !rows->known) rows = without_padding(n, rows, zb_operand_in(n, 1), padding);
  return zb_operand_give(n, 0, rows);
}

zb_result zb_aten_gather_along(zb_import_node *n) {
  zb_shape in;
  int axis;
  zb_operand x = zb_operand_in(n, 0), places = zb_operand_in(n, 1);
  if (!zb_operand_shape(n, x, &in) || !zb_aten_axis(n, "dim", 0, in.rank, &axis)) return ZB_FAIL;
  return zb_operand_give(n, 0, zb_operand_gather_elements(n, x, places, axis, ZB_FROM_START));
}

/* What x[i, :, j] names. */
typedef struct selection {
  int axes[ZB_DIMS_MAX]; /* dimensions that have indices */
  int count;
  zb_shape space;             /* of these dimensions */
  zb_shape rest;              /* of the others, in their order */
  zb_shape rows;              /* of the indices together */
  int64_t order[ZB_DIMS_MAX]; /* these dimensions, then the others */
  int place;                  /* of the rows among the dimensions of the result */
  zb_operand row;             /* the number of each row */
} selection;

/* Indices are operands from 1 on; `behind` operands follow them. */
static bool read_selection(zb_import_node *n, const zb_shape *in, int behind, selection *s) {
  const int given = n->input_count - 1 - behind;
  bool is_indexed[ZB_DIMS_MAX] = {false}, is_joined = true;
  *s = (selection){.rows = {.dtype = ZB_I64}, .rest = {.dtype = in->dtype}};
  if (given > in->rank) return zb_import_refuse(n, NULL, "%d indices of a tensor of %d dimensions", given, in->rank);
  for (int i = 0; i < given; ++i) {
    zb_shape shape, wide;
    zb_operand index = n->inputs[1 + i];
    if (!index) continue;
    if (!zb_operand_shape(n, index, &shape)) return false;
    if (shape.dtype == ZB_I1)
      return zb_import_refuse(n, "use torch.where(mask, a, b), or give ignored targets the label -100",
                              "an index of bool gives a shape that depends on data");
    if (!zb_broadcast_all((const zb_shape *[]){&s->rows, &shape}, 2, &wide))
      return zb_import_refuse(n, NULL, "the indices do not broadcast");
    wide.dtype = ZB_I64;
    s->rows = wide;
    is_joined = is_joined && (s->count == 0 || s->axes[s->count - 1] == i - 1);
    is_indexed[i] = true;
    s->order[s->count] = i;
    s->space.dims[s->count] = in->dims[i];
    s->axes[s->count++] = i;
  }
  if (s->count == 0) return zb_import_refuse(n, NULL, "it has no indices");
  s->space.rank = s->count;
  s->place = is_joined ? s->axes[0] : 0;
  for (int i = 0, at = s->count; i < in->rank; ++i) {
    if (is_indexed[i]) continue;
    s->order[at++] = i;
    s->rest.dims[s->rest.rank++] = in->dims[i];
  }
  for (int k = 0; k < s->count; ++k) {
    zb_operand index = zb_meaning_places(n, n->inputs[1 + s->axes[k]], s->space.dims[k], ZB_FROM_BOTH_ENDS);
    zb_operand dim = zb_operand_scalar(n, ZB_I64, (double)s->space.dims[k]);
    s->row = k == 0 ? index : zb_operand_apply2(n, "add", zb_operand_apply2(n, "mul", s->row, dim), index);
  }
  s->row = s->row ? zb_operand_expand(n, s->row, &s->rows) : NULL;
  return s->row != NULL;
}

/* x as rows: the dimensions with indices are one, in front. */
static zb_operand as_rows(zb_import_node *n, zb_operand x, const selection *s) {
  zb_shape shape = {.rank = 1, .dims = {zb_shape_elements(&s->space)}};
  for (int i = 0; i < s->rest.rank; ++i)
    shape.dims[shape.rank++] = s->rest.dims[i];
  return zb_operand_reshape(n, zb_operand_transpose(n, x, s->order), &shape);
}

zb_result zb_aten_index(zb_import_node *n) {
  zb_shape in, shape;
  selection s;
  int64_t permutation[ZB_DIMS_MAX];
  zb_operand x = zb_operand_in(n, 0);
  if (!zb_operand_shape(n, x, &in) || !read_selection(n, &in, 0, &s)) return ZB_FAIL;
  if (s.count == 1)
    return zb_operand_give(n, 0, zb_operand_gather(n, x, n->inputs[1 + s.axes[0]], s.axes[0], ZB_FROM_BOTH_ENDS));
  if (!zb_import_join(n, &s.rows, &s.rest, &shape)) return ZB_FAIL;
  zb_operand rows = as_rows(n, x, &s);
  rows = zb_operand_reshape(n, zb_meaning_gather_rows(n, rows, s.row), &shape);
  for (int i = 0; i < shape.rank; ++i) /* the rows move to their place */
    permutation[i] = i < s.place ? s.rows.rank + i : i < s.place + s.rows.rank ? i - s.place : i;
  return zb_operand_give(n, 0, zb_operand_transpose(n, rows, permutation));
}

/* What is put, as x[i, :, j] would read it, with the rows in front. */
static zb_operand updates_by_rows(zb_import_node *n, zb_operand updates, const selection *s, const zb_shape *shape) {
  zb_shape read = *shape;
  int64_t permutation[ZB_DIMS_MAX];
  for (int i = 0; i < shape->rank; ++i) {
    const int beside = i - s->rows.rank;
    permutation[i] = beside < 0 ? s->place + i : beside < s->place ? beside : i;
    read.dims[permutation[i]] = shape->dims[i];
  }
  return zb_operand_transpose(n, zb_operand_expand(n, updates, &read), permutation);
}

zb_result zb_aten_index_put(zb_import_node *n) {
  zb_shape in, shape, moved;
  selection s;
  int64_t back[ZB_DIMS_MAX];
  zb_operand x = zb_operand_in(n, 0);
  if (n->input_count < 3) return zb_import_refuse(n, NULL, "it has %d operands, expected 3 or more", n->input_count);
  if (!zb_operand_shape(n, x, &in) || !read_selection(n, &in, 1, &s) || !zb_import_join(n, &s.rows, &s.rest, &shape))
    return ZB_FAIL;
  zb_operand updates = zb_operand_cast(n, zb_operand_in(n, n->input_count - 1), in.dtype);
  updates = updates_by_rows(n, updates, &s, &shape);
  const char *reduction = zb_aten_flag(n, "accumulate", false) ? "add" : "none";
  zb_operand rows = zb_meaning_scatter(n, as_rows(n, x, &s), s.row, updates, reduction);
  moved = in;
  for (int i = 0; i < in.rank; ++i) {
    moved.dims[i] = in.dims[s.order[i]];
    back[s.order[i]] = i;
  }
  return zb_operand_give(n, 0, zb_operand_transpose(n, zb_operand_reshape(n, rows, &moved), back));
}

/* scatter(self, dim, index, src or value): the source may be larger than the index. */
zb_result zb_aten_scatter(zb_import_node *n) {
  zb_shape in, shape, source;
  int axis;
  zb_operand x = zb_operand_in(n, 0), indices = zb_operand_in(n, 1);
  if (!zb_operand_shape(n, x, &in) || !zb_operand_shape(n, indices, &shape) ||
      !zb_aten_axis(n, "dim", 0, in.rank, &axis))
    return ZB_FAIL;
  zb_operand updates = zb_aten_has(n, "value") ? zb_aten_number(n, "value", in.dtype) : zb_operand_in(n, 2);
  if (!zb_operand_shape(n, updates, &source)) return ZB_FAIL;
  if (source.rank == in.rank && shape.rank == in.rank && !zb_aten_has(n, "value")) {
    for (int i = 0; i < in.rank; ++i)
      if (shape.dims[i] > source.dims[i]) return zb_import_refuse(n, NULL, "the index is larger than its source");
    updates = zb_operand_slice(n, updates, (int64_t[ZB_DIMS_MAX]){0}, shape.dims, NULL);
  } else {
    shape.dtype = in.dtype;
    updates = zb_operand_expand(n, updates, &shape);
  }
  indices = zb_meaning_places(n, indices, in.rank ? in.dims[axis] : 1, ZB_FROM_START);
  return zb_operand_give(n, 0, zb_meaning_scatter_elements(n, x, indices, updates, axis, n->op->argument));
}

/* ---- Constants ---- */

zb_result zb_aten_range(zb_import_node *n) {
  zb_shape out;
  if (!zb_aten_result_shape(n, 0, &out)) return ZB_FAIL;
  if (out.rank != 1) return zb_import_refuse(n, NULL, "a range has one dimension");
  const double start = zb_aten_real(n, "start", 0), step = zb_aten_real(n, "step", 1);
  return n->im->failed ? ZB_FAIL : zb_operand_give(n, 0, zb_meaning_progression(n, &out, start, step));
}

/* Of one number: fill_value, s, or what the row says. */
zb_result zb_aten_fill(zb_import_node *n) {
  zb_shape out;
  static const char *const names[] = {"fill_value", "value", "s"};
  const char *name = NULL;
  if (!zb_aten_result_shape(n, 0, &out)) return ZB_FAIL;
  for (int i = 0; i < 3; ++i)
    if (zb_aten_has(n, names[i])) name = names[i];
  zb_operand number =
      name ? zb_aten_number(n, name, out.dtype) : zb_operand_scalar(n, out.dtype, strcmp(n->op->argument, "1") == 0);
  return zb_operand_give(n, 0, out.rank == 0 ? number : zb_operand_filled(n, &out, number));
}

zb_result zb_aten_eye(zb_import_node *n) {
  zb_shape out;
  return zb_aten_result_shape(n, 0, &out) ? zb_operand_give(n, 0, zb_meaning_eye(n, &out, 0)) : ZB_FAIL;
}
