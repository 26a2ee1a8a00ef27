/* Data movement, indexing, constants. What only gives its operand another shape reads the declared type of its result.
 * Tests: test/ir/import/aten. */
#include "ir/import/aten/aten.h"

#include <math.h>
#include <mlir-c/BuiltinTypes.h>
#include <string.h>

static void ones(int64_t *out) {
  for (int i = 0; i < ZB_DIMS_MAX; ++i)
    out[i] = 1;
}

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
  int64_t dims[ZB_DIMS_MAX], permutation[ZB_DIMS_MAX];
  int count = 0, first, second;
  bool used[ZB_DIMS_MAX] = {false};
  zb_operand x = zb_operand_in(n, 0);
  if (!zb_operand_shape(n, x, &in)) return ZB_FAIL;
  for (int i = 0; i < in.rank; ++i)
    permutation[i] = i;
  if (zb_aten_ints(n, "dims", dims, ZB_DIMS_MAX, &count)) {
    if (count != in.rank) return zb_import_refuse(n, NULL, "%d dimensions of a tensor of %d", count, in.rank);
    for (int i = 0; i < count; ++i) {
      int axis;
      if (!zb_import_axis(n, dims[i], in.rank, &axis)) return ZB_FAIL;
      if (used[axis]) return zb_import_refuse(n, NULL, "dimension %d is named twice", axis);
      used[axis] = true;
      permutation[i] = axis;
    }
  } else if (in.rank > 1) {
    if (!zb_aten_axis(n, "dim0", 0, in.rank, &first) || !zb_aten_axis(n, "dim1", 1, in.rank, &second)) return ZB_FAIL;
    permutation[first] = second;
    permutation[second] = first;
  }
  return n->im->failed ? ZB_FAIL : zb_operand_give(n, 0, zb_operand_transpose(n, x, permutation));
}

/* ---- Parts ---- */

typedef struct part {
  int64_t starts[ZB_DIMS_MAX], sizes[ZB_DIMS_MAX], steps[ZB_DIMS_MAX];
} part;

static part whole(const zb_shape *in) {
  part p = {.starts = {0}};
  ones(p.steps);
  memcpy(p.sizes, in->dims, sizeof p.sizes);
  return p;
}

static zb_operand cut(zb_import_node *n, zb_operand x, const part *p) {
  return zb_operand_slice(n, x, p->starts, p->sizes, p->steps);
}

static int64_t clamped(int64_t place, int64_t dim) {
  if (place < 0) place = place < -dim ? 0 : place + dim;
  return place > dim ? dim : place;
}

/* dim, start, end, step of a tensor. False after reporting. */
static bool read_slice(zb_import_node *n, const zb_shape *in, int *axis, part *out) {
  *out = whole(in);
  if (!zb_aten_axis(n, "dim", 0, in->rank, axis)) return false;
  const int64_t dim = in->dims[*axis], step = zb_aten_int(n, "step", 1);
  const int64_t start = clamped(zb_aten_int(n, "start", 0), dim), end = clamped(zb_aten_int(n, "end", dim), dim);
  if (n->im->failed) return false;
  if (step < 1) return zb_import_refuse(n, NULL, "the step is %lld, expected 1 or more", (long long)step);
  out->starts[*axis] = start;
  out->sizes[*axis] = end > start ? (end - start - 1) / step + 1 : 0;
  out->steps[*axis] = out->sizes[*axis] > 1 ? step : 1;
  if (out->sizes[*axis] == 0) out->starts[*axis] = 0;
  return true;
}

zb_result zb_aten_narrow(zb_import_node *n) {
  zb_shape in;
  int axis;
  part p;
  zb_operand x = zb_operand_in(n, 0);
  if (!zb_operand_shape(n, x, &in) || !read_slice(n, &in, &axis, &p)) return ZB_FAIL;
  return zb_operand_give(n, 0, cut(n, x, &p));
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
  zb_operand x = zb_operand_in(n, 0);
  if (!zb_aten_result_shape(n, 0, &out) || !zb_operand_shape(n, x, &in) || !zb_aten_axis(n, "dim", 0, in.rank, &axis))
    return ZB_FAIL;
  part p = whole(&in);
  if (!read_index(n, in.dims[axis], &p.starts[axis])) return ZB_FAIL;
  p.sizes[axis] = 1;
  return zb_operand_give(n, 0, zb_operand_reshape(n, cut(n, x, &p), &out));
}

/* The sizes of parts along an axis: given, by one size, or 1 each. False after reporting. */
static bool read_sizes(zb_import_node *n, int64_t dim, int64_t *sizes, int room, int *count) {
  const char *argument = n->op->argument;
  int64_t size = 1, sum = 0;
  if (strcmp(argument, "sizes") == 0) {
    if (!zb_aten_ints(n, "split_sizes", sizes, room, count)) return zb_import_refuse(n, NULL, "it has no split_sizes");
  } else {
    if (strcmp(argument, "size") == 0) size = zb_aten_int(n, "split_size", 1);
    if (size < 1 || (dim + size - 1) / size > room)
      return zb_import_refuse(n, NULL, "the number of parts is out of range");
    *count = (int)((dim + size - 1) / size);
    for (int i = 0; i < *count; ++i)
      sizes[i] = i + 1 < *count ? size : dim - size * i;
  }
  for (int i = 0; i < *count; ++i) {
    if (sizes[i] < 0 || sizes[i] > dim) return zb_import_refuse(n, NULL, "the size of a part is out of range");
    sum += sizes[i];
  }
  return (sum == dim && *count == n->output_count) ||
         zb_import_refuse(n, NULL, "%d parts of %lld elements, expected %d of %lld", *count, (long long)sum,
                          n->output_count, (long long)dim);
}

/* Computed values are cut by one zb.split. */
zb_result zb_aten_split(zb_import_node *n) {
  enum { PARTS_MAX = 256 };
  zb_shape in, out;
  int64_t sizes[PARTS_MAX];
  MlirValue parts[PARTS_MAX] = {{NULL}};
  int axis, count;
  zb_operand x = zb_operand_in(n, 0);
  if (!zb_operand_shape(n, x, &in) || !zb_aten_axis(n, "dim", 0, in.rank, &axis) ||
      !read_sizes(n, in.dims[axis], sizes, PARTS_MAX, &count))
    return ZB_FAIL;
  part p = whole(&in);
  const zb_known *known = NULL;
  if (!zb_import_value_known(n->im, x, (zb_known **)&known)) return ZB_FAIL;
  if (!known) {
    for (int i = 0; i < count; ++i)
      if (sizes[i] == 0) return zb_import_refuse(n, NULL, "part %d is empty", i);
    parts[0] = zb_import_value_ir(n->im, x);
    if (parts[0].ptr && count > 1) zb_build_split(n->b, parts[0], axis, sizes, count, parts);
  }
  for (int i = 0; i < count; p.starts[axis] += sizes[i++]) {
    if (!zb_import_wants(n, i)) continue;
    p.sizes[axis] = sizes[i];
    zb_operand value = known ? cut(n, x, &p) : zb_operand_computed(n, parts[i]);
    if (!zb_aten_result_shape(n, i, &out) || !zb_operand_give(n, i, zb_operand_reshape(n, value, &out))) return ZB_FAIL;
  }
  return ZB_OK;
}

/* ---- Joining ---- */

/* Empty tensors join nothing. */
zb_result zb_aten_cat(zb_import_node *n) {
  zb_shape out, in;
  int axis, count = 0;
  const bool stacks = strcmp(n->op->argument, "stack") == 0;
  zb_operand *parts = zb_import_take(n->im, (size_t)n->input_count * sizeof *parts + 1);
  if (!parts || !zb_aten_result_shape(n, 0, &out) || !zb_aten_axis(n, "dim", 0, out.rank, &axis)) return ZB_FAIL;
  for (int i = 0; i < n->input_count; ++i) {
    zb_operand x = zb_operand_cast(n, zb_operand_in(n, i), out.dtype);
    if (!zb_operand_shape(n, x, &in)) return ZB_FAIL;
    if (!stacks && zb_shape_elements(&in) == 0 && zb_shape_elements(&out) > 0) continue;
    if (stacks) {
      zb_shape one = out;
      one.dims[axis] = 1;
      x = zb_operand_reshape(n, x, &one);
    }
    parts[count++] = x;
  }
  if (count == 0) return zb_import_refuse(n, NULL, "all of its tensors are empty");
  return zb_operand_give(n, 0, zb_operand_concat(n, parts, count, axis));
}

/* Each repeat is an expand along a new dimension before the repeated one. */
zb_result zb_aten_repeat(zb_import_node *n) {
  zb_shape in, out, split, wide;
  int64_t repeats[ZB_DIMS_MAX];
  int count;
  zb_operand x = zb_operand_in(n, 0);
  if (!zb_aten_result_shape(n, 0, &out) || !zb_operand_shape(n, x, &in)) return ZB_FAIL;
  if (!zb_aten_ints(n, "repeats", repeats, ZB_DIMS_MAX, &count) &&
      !zb_aten_ints(n, "dims", repeats, ZB_DIMS_MAX, &count))
    return n->im->failed ? ZB_FAIL : zb_import_refuse(n, NULL, "it has no repeats");
  split = wide = (zb_shape){.dtype = in.dtype};
  for (int i = 0; i < out.rank; ++i) {
    const int own = i - (out.rank - in.rank), given = i - (out.rank - count);
    const int64_t dim = own >= 0 ? in.dims[own] : 1, times = given >= 0 ? repeats[given] : 1;
    if (times < 1) return zb_import_refuse(n, NULL, "a repeat is below 1");
    if (split.rank + 2 > ZB_DIMS_MAX && times > 1)
      return zb_import_refuse(n, "use expand", "the repeats need more than %d dimensions", ZB_DIMS_MAX);
    if (times > 1) {
      split.dims[split.rank++] = 1;
      wide.dims[wide.rank++] = times;
    }
    if (split.rank == ZB_DIMS_MAX) return zb_import_refuse(n, NULL, "it has more than %d dimensions", ZB_DIMS_MAX);
    split.dims[split.rank++] = wide.dims[wide.rank++] = dim;
  }
  x = zb_operand_expand(n, zb_operand_reshape(n, x, &split), &wide);
  return zb_operand_give(n, 0, zb_operand_reshape(n, x, &out));
}

zb_result zb_aten_flip(zb_import_node *n) {
  zb_shape in;
  int64_t dims[ZB_DIMS_MAX];
  int count;
  zb_operand x = zb_operand_in(n, 0);
  if (!zb_operand_shape(n, x, &in)) return ZB_FAIL;
  zb_aten_ints(n, "dims", dims, ZB_DIMS_MAX, &count);
  for (int i = 0; i < count; ++i) {
    int axis;
    if (!zb_import_axis(n, dims[i], in.rank, &axis)) return ZB_FAIL;
    zb_known *order = zb_known_new(n->im, &(zb_shape){.dtype = ZB_I64, .rank = 1, .dims = {in.dims[axis]}});
    for (int64_t k = 0; order && k < order->elements; ++k)
      zb_known_set_integer(order, k, order->elements - 1 - k);
    x = zb_operand_gather(n, x, zb_operand_known(n, order), axis);
  }
  return zb_operand_give(n, 0, x);
}

zb_result zb_aten_roll(zb_import_node *n) {
  zb_shape in;
  int64_t shifts[ZB_DIMS_MAX], dims[ZB_DIMS_MAX];
  int count, dim_count;
  zb_operand x = zb_operand_in(n, 0);
  if (!zb_operand_shape(n, x, &in)) return ZB_FAIL;
  zb_aten_ints(n, "shifts", shifts, ZB_DIMS_MAX, &count);
  zb_aten_ints(n, "dims", dims, ZB_DIMS_MAX, &dim_count);
  if (count != dim_count)
    return zb_import_refuse(n, "name the dimensions", "%d shifts of %d dimensions", count, dim_count);
  for (int i = 0; i < count; ++i) {
    int axis;
    if (!zb_import_axis(n, dims[i], in.rank, &axis)) return ZB_FAIL;
    const int64_t dim = in.dims[axis], back = dim ? (dim - shifts[i] % dim) % dim : 0;
    if (back == 0) continue;
    part head = whole(&in), tail = whole(&in);
    head.starts[axis] = back;
    head.sizes[axis] = dim - back;
    tail.sizes[axis] = back;
    x = zb_operand_concat(n, (zb_operand[]){cut(n, x, &head), cut(n, x, &tail)}, 2, axis);
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
    x = zb_operand_pad(n, x, in.rank - 1 - i, pads[2 * i], pads[2 * i + 1], fill);
  return zb_operand_give(n, 0, x);
}

/* self with a part in the place of another: self before it, the part, self behind it. */
static zb_operand replaced(zb_import_node *n, zb_operand x, zb_operand with, int axis, int64_t start, int64_t size) {
  zb_shape in;
  zb_operand parts[3];
  int count = 0;
  if (!zb_operand_shape(n, x, &in)) return NULL;
  part before = whole(&in), behind = whole(&in);
  before.sizes[axis] = start;
  behind.starts[axis] = start + size;
  behind.sizes[axis] = in.dims[axis] - start - size;
  if (start > 0) parts[count++] = cut(n, x, &before);
  if (size > 0) parts[count++] = with;
  if (behind.sizes[axis] > 0) parts[count++] = cut(n, x, &behind);
  return count == 1 ? parts[0] : zb_operand_concat(n, parts, count, axis);
}

/* The same for every step-th place: chosen from both by constant indices. */
static zb_operand interleaved(zb_import_node *n, zb_operand x, zb_operand with, int axis, const part *p) {
  zb_shape in;
  if (!zb_operand_shape(n, x, &in)) return NULL;
  const int64_t dim = in.dims[axis], start = p->starts[axis], step = p->steps[axis], size = p->sizes[axis];
  zb_known *order = zb_known_new(n->im, &(zb_shape){.dtype = ZB_I64, .rank = 1, .dims = {dim}});
  for (int64_t i = 0; order && i < dim; ++i) {
    const int64_t place = (i - start) / step;
    const bool is_replaced = i >= start && (i - start) % step == 0 && place < size;
    zb_known_set_integer(order, i, is_replaced ? place : size + i);
  }
  zb_operand both = zb_operand_concat(n, (zb_operand[]){with, x}, 2, axis);
  return zb_operand_gather(n, both, zb_operand_known(n, order), axis);
}

zb_result zb_aten_replace(zb_import_node *n) {
  zb_shape in;
  int axis;
  part p;
  zb_operand x = zb_operand_in(n, 0);
  if (!zb_operand_shape(n, x, &in)) return ZB_FAIL;
  zb_operand with = zb_operand_cast(n, zb_operand_in(n, 1), in.dtype);
  zb_shape size = in;
  if (strcmp(n->op->argument, "select") == 0) {
    if (!zb_aten_axis(n, "dim", 0, in.rank, &axis)) return ZB_FAIL;
    p = whole(&in);
    if (!read_index(n, in.dims[axis], &p.starts[axis])) return ZB_FAIL;
    p.sizes[axis] = 1;
    size.dims[axis] = 1;
    with = zb_operand_reshape(n, with, &size);
  } else {
    if (!read_slice(n, &in, &axis, &p)) return ZB_FAIL;
    size.dims[axis] = p.sizes[axis];
    with = zb_operand_expand(n, with, &size);
    if (p.steps[axis] != 1) return zb_operand_give(n, 0, interleaved(n, x, with, axis, &p));
  }
  return zb_operand_give(n, 0, replaced(n, x, with, axis, p.starts[axis], p.sizes[axis]));
}

/* The triangle is a constant, which the core writes as zb.triangle. */
zb_result zb_aten_triangle(zb_import_node *n) {
  zb_shape in;
  zb_operand x = zb_operand_in(n, 0);
  if (!zb_operand_shape(n, x, &in)) return ZB_FAIL;
  if (in.rank < 2) return zb_import_refuse(n, NULL, "the tensor has %d dimensions, expected 2 or more", in.rank);
  const bool upper = strcmp(n->op->argument, "upper") == 0;
  const int64_t diagonal = zb_aten_int(n, "diagonal", 0), columns = in.dims[in.rank - 1];
  zb_shape flat = {.dtype = ZB_I1, .rank = 2, .dims = {in.dims[in.rank - 2], columns}};
  zb_known *mask = zb_known_new(n->im, &flat);
  for (int64_t i = 0; mask && i < mask->elements; ++i) {
    const int64_t row = i / columns, column = i % columns;
    zb_known_set_integer(mask, i, upper ? column - row >= diagonal : column - row <= diagonal);
  }
  return zb_operand_give(n, 0, zb_operand_where(n, zb_operand_known(n, mask), x, zb_operand_scalar(n, in.dtype, 0)));
}

/* ---- Indices ---- */

/* Counted from 0. */
static zb_operand counted(zb_import_node *n, zb_operand indices, int64_t dim) {
  zb_operand wide = zb_operand_cast(n, indices, ZB_I64), zero = zb_operand_scalar(n, ZB_I64, 0);
  zb_operand moved = zb_operand_apply2(n, "add", wide, zb_operand_scalar(n, ZB_I64, (double)dim));
  return zb_operand_where(n, zb_operand_apply2(n, "less", wide, zero), moved, wide);
}

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
  zb_operand rows = zb_operand_gather(n, x, zb_operand_in(n, 1), axis);
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
  return zb_operand_give(n, 0, zb_operand_gather_elements(n, x, places, axis));
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
    zb_operand index = counted(n, n->inputs[1 + s->axes[k]], s->space.dims[k]);
    zb_operand dim = zb_operand_scalar(n, ZB_I64, (double)s->space.dims[k]);
    s->row = k == 0 ? index : zb_operand_apply2(n, "add", zb_operand_apply2(n, "mul", s->row, dim), index);
  }
  s->row = s->row ? zb_operand_expand(n, s->row, &s->rows) : NULL;
  return s->row != NULL;
}

/* Whether rows are constants 0, 1, ..., count - 1. */
static bool in_order(const zb_known *rows, int64_t count) {
  bool same = rows && rows->elements == count;
  for (int64_t i = 0; same && i < count; ++i)
    same = zb_known_integer(rows, i) == i;
  return same;
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
  if (s.count == 1) return zb_operand_give(n, 0, zb_operand_gather(n, x, n->inputs[1 + s.axes[0]], s.axes[0]));
  if (!zb_import_join(n, &s.rows, &s.rest, &shape)) return ZB_FAIL;
  zb_operand rows = as_rows(n, x, &s);
  if (!rows) return ZB_FAIL;
  if (!in_order(s.row->known, zb_shape_elements(&s.space))) rows = zb_operand_gather(n, rows, s.row, 0);
  rows = zb_operand_reshape(n, rows, &shape);
  for (int i = 0; i < shape.rank; ++i) /* the rows move to their place */
    permutation[i] = i < s.place ? s.rows.rank + i : i < s.place + s.rows.rank ? i - s.place : i;
  return zb_operand_give(n, 0, zb_operand_transpose(n, rows, permutation));
}

/* data with updates put at, or added to, rows. */
static zb_operand scattered(zb_import_node *n, zb_operand data, zb_operand rows, zb_operand updates, bool adds) {
  const zb_attr attr = zb_string("reduction", adds ? "add" : "none");
  return zb_operand_build(n, "scatter", (zb_operand[]){data, rows, updates}, 3, &attr, 1);
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
  zb_operand rows = scattered(n, as_rows(n, x, &s), s.row, updates, zb_aten_flag(n, "accumulate", false));
  moved = in;
  for (int i = 0; i < in.rank; ++i) {
    moved.dims[i] = in.dims[s.order[i]];
    back[s.order[i]] = i;
  }
  return zb_operand_give(n, 0, zb_operand_transpose(n, zb_operand_reshape(n, rows, &moved), back));
}

/* scatter(self, dim, index, src or value): elements, numbered in row-major order. */
zb_result zb_aten_scatter(zb_import_node *n) {
  zb_shape in, shape;
  int axis;
  int64_t step;
  zb_operand x = zb_operand_in(n, 0), indices = zb_operand_in(n, 1);
  if (!zb_operand_shape(n, x, &in) || !zb_operand_shape(n, indices, &shape) ||
      !zb_aten_axis(n, "dim", 0, in.rank, &axis))
    return ZB_FAIL;
  if (shape.rank != in.rank) return zb_import_refuse(n, NULL, "index and tensor differ in their number of dimensions");
  for (int i = 0; i < in.rank; ++i)
    if (i != axis && shape.dims[i] > in.dims[i])
      return zb_import_refuse(n, NULL, "the index is larger than the tensor");
  shape.dtype = ZB_I64;
  zb_known *beside = zb_known_new(n->im, &shape);
  zb_walk w = zb_walk_beside(&shape, &in, axis, &step);
  for (int64_t i = 0; beside && i < beside->elements; ++i, zb_walk_next(&w))
    zb_known_set_integer(beside, i, w.at[0]);
  zb_operand places = counted(n, indices, in.dims[axis]);
  places = zb_operand_apply2(n, "mul", places, zb_operand_scalar(n, ZB_I64, (double)step));
  places = zb_operand_apply2(n, "add", places, zb_operand_known(n, beside));
  zb_operand updates = zb_aten_has(n, "value") ? zb_aten_number(n, "value", in.dtype) : zb_operand_in(n, 2);
  zb_shape source, flat = {.dtype = in.dtype, .rank = 1}, wide = shape;
  wide.dtype = in.dtype;
  if (!zb_operand_shape(n, updates, &source)) return ZB_FAIL;
  if (source.rank == in.rank && !zb_aten_has(n, "value")) {
    part p = whole(&source);
    memcpy(p.sizes, shape.dims, sizeof p.sizes);
    for (int i = 0; i < in.rank; ++i)
      if (shape.dims[i] > source.dims[i]) return zb_import_refuse(n, NULL, "the index is larger than its source");
    updates = cut(n, updates, &p);
  } else {
    updates = zb_operand_expand(n, updates, &wide);
  }
  flat.dims[0] = zb_shape_elements(&shape);
  updates = zb_operand_reshape(n, updates, &flat);
  places = zb_operand_reshape(n, places, &flat);
  flat.dims[0] = zb_shape_elements(&in);
  zb_operand out = scattered(n, zb_operand_reshape(n, x, &flat), places, updates, strcmp(n->op->argument, "add") == 0);
  return zb_operand_give(n, 0, zb_operand_reshape(n, out, &in));
}

/* ---- Constants ---- */

zb_result zb_aten_range(zb_import_node *n) {
  zb_shape out;
  if (!zb_aten_result_shape(n, 0, &out)) return ZB_FAIL;
  if (out.rank != 1) return zb_import_refuse(n, NULL, "a range has one dimension");
  const double start = zb_aten_real(n, "start", 0), step = zb_aten_real(n, "step", 1);
  zb_known *known = zb_known_new(n->im, &out);
  for (int64_t i = 0; known && i < known->elements; ++i) {
    if (zb_known_is_float(known))
      zb_known_set_real(known, i, start + (double)i * step);
    else /* of whole numbers, also where they are written as floats */
      zb_known_set_integer(known, i, (int64_t)fmax(fmin(start + (double)i * step, 9e18), -9e18));
  }
  return n->im->failed ? ZB_FAIL : zb_operand_give(n, 0, zb_operand_known(n, known));
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
  if (!zb_aten_result_shape(n, 0, &out)) return ZB_FAIL;
  if (out.rank != 2) return zb_import_refuse(n, NULL, "it has %d dimensions, expected 2", out.rank);
  zb_known *known = zb_known_new(n->im, &out);
  for (int64_t i = 0; known && i < out.dims[0] && i < out.dims[1]; ++i)
    zb_known_set_real(known, i * out.dims[1] + i, 1);
  return zb_operand_give(n, 0, zb_operand_known(n, known));
}
