/* Data movement and constants. Tests: test/ir/import/paddle. */
#include "ir/import/paddle/paddle.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Shapes ---- */

/* 0 is the dimension of x at that place, -1 what is left. */
zb_result zb_paddle_reshape(zb_import_node *n) {
  zb_shape in, out = {.rank = 0};
  int count, open = -1;
  int64_t product = 1;
  zb_operand x = zb_paddle_in(n, "X");
  if (!zb_operand_shape(n, x, &in)) return ZB_FAIL;
  if (!zb_paddle_integers(n, "shape", "Shape", out.dims, ZB_DIMS_MAX, &count)) return ZB_FAIL;
  if (count < 0) return zb_import_refuse(n, NULL, "it has no shape");
  out.rank = count;
  out.dtype = in.dtype;
  for (int i = 0; i < count; ++i) {
    if (out.dims[i] == 0 && i < in.rank) out.dims[i] = in.dims[i];
    if (out.dims[i] == -1 && open < 0) {
      open = i;
      continue;
    }
    if (out.dims[i] < 0 || __builtin_mul_overflow(product, out.dims[i], &product))
      return zb_import_refuse(n, NULL, "its shape is not one");
  }
  const int64_t elements = zb_shape_elements(&in);
  if (open >= 0 && (product < 1 || elements % product)) return zb_import_refuse(n, NULL, "its shape does not fit");
  if (open >= 0) out.dims[open] = elements / product;
  return zb_paddle_give(n, "Out", zb_operand_reshape(n, x, &out));
}

zb_result zb_paddle_transpose(zb_import_node *n) {
  zb_shape in;
  int64_t given[ZB_DIMS_MAX];
  bool used[ZB_DIMS_MAX] = {false};
  int count, axis;
  zb_operand x = zb_paddle_in(n, "X");
  if (!zb_operand_shape(n, x, &in)) return ZB_FAIL;
  if (!zb_paddle_integers(n, "axis perm", NULL, given, ZB_DIMS_MAX, &count)) return ZB_FAIL;
  if (count != in.rank) return zb_import_refuse(n, NULL, "%d dimensions of a tensor of %d", count, in.rank);
  for (int i = 0; i < count; ++i) {
    if (!zb_import_axis(n, given[i], in.rank, &axis)) return ZB_FAIL;
    if (used[axis]) return zb_import_refuse(n, NULL, "dimension %d is named twice", axis);
    used[axis] = true;
    given[i] = axis;
  }
  return zb_paddle_give(n, "Out", zb_operand_transpose(n, x, given));
}

zb_result zb_paddle_unsqueeze(zb_import_node *n) {
  zb_shape in, out;
  int64_t axes[ZB_DIMS_MAX];
  int count, axis;
  zb_operand x = zb_paddle_in(n, "X");
  if (!zb_operand_shape(n, x, &in) || !zb_paddle_integers(n, "axes axis", "AxesTensor", axes, ZB_DIMS_MAX, &count))
    return ZB_FAIL;
  out = in;
  for (int i = 0; i < count; ++i) { /* one after another, as Paddle inserts them */
    if (out.rank == ZB_DIMS_MAX) return zb_import_refuse(n, NULL, "its result has too many dimensions");
    if (!zb_import_axis(n, axes[i], out.rank + 1, &axis)) return ZB_FAIL;
    memmove(&out.dims[axis + 1], &out.dims[axis], (size_t)(out.rank - axis) * sizeof *out.dims);
    out.dims[axis] = 1;
    ++out.rank;
  }
  return zb_paddle_give(n, "Out", zb_operand_reshape(n, x, &out));
}

/* Dimensions of 1 go: those that are named, or all. */
zb_result zb_paddle_squeeze(zb_import_node *n) {
  zb_shape in, out;
  int64_t axes[ZB_DIMS_MAX];
  bool goes[ZB_DIMS_MAX] = {false};
  int count, axis;
  zb_operand x = zb_paddle_in(n, "X");
  if (!zb_operand_shape(n, x, &in) || !zb_paddle_integers(n, "axes axis", "AxesTensor", axes, ZB_DIMS_MAX, &count))
    return ZB_FAIL;
  for (int i = 0; i < count; ++i) {
    if (!zb_import_axis(n, axes[i], in.rank, &axis)) return ZB_FAIL;
    goes[axis] = true;
  }
  out = (zb_shape){.dtype = in.dtype};
  for (int i = 0; i < in.rank; ++i)
    if (in.dims[i] != 1 || (count > 0 && !goes[i])) out.dims[out.rank++] = in.dims[i];
  return zb_paddle_give(n, "Out", zb_operand_reshape(n, x, &out));
}

zb_result zb_paddle_flatten(zb_import_node *n) {
  zb_shape in, out;
  int start, stop;
  zb_operand x = zb_paddle_in(n, "X");
  if (!zb_operand_shape(n, x, &in) || !zb_paddle_axis(n, "start_axis", 1, in.rank, &start) ||
      !zb_paddle_axis(n, "stop_axis", -1, in.rank, &stop))
    return ZB_FAIL;
  if (start > stop) return zb_paddle_refuse_attribute(n, "start_axis", NULL);
  out = (zb_shape){.dtype = in.dtype};
  for (int i = 0; i < in.rank; ++i) {
    if (i > start && i <= stop)
      out.dims[out.rank - 1] *= in.dims[i];
    else
      out.dims[out.rank++] = in.dims[i];
  }
  return zb_paddle_give(n, "Out", zb_operand_reshape(n, x, &out));
}

/* -1 is the dimension that x has, from the last on. */
zb_result zb_paddle_expand(zb_import_node *n) {
  zb_shape in, out = {.rank = 0};
  int count;
  zb_operand x = zb_paddle_in(n, "X");
  if (!zb_operand_shape(n, x, &in) ||
      !zb_paddle_integers(n, "shape target_shape", "Shape", out.dims, ZB_DIMS_MAX, &count))
    return ZB_FAIL;
  if (count < in.rank) return zb_import_refuse(n, NULL, "%d dimensions of a tensor of %d", count, in.rank);
  out.rank = count;
  out.dtype = in.dtype;
  for (int i = 0; i < count; ++i) {
    const int own = i - (count - in.rank);
    if (out.dims[i] == -1 && own >= 0) out.dims[i] = in.dims[own];
    if (out.dims[i] < 0) return zb_import_refuse(n, NULL, "its shape is not one");
  }
  return zb_paddle_give(n, "Out", zb_operand_expand(n, x, &out));
}

/* Each repeat is an expand along a new dimension before the repeated one. */
zb_result zb_paddle_tile(zb_import_node *n) {
  zb_shape in, split, wide, out;
  int64_t given[ZB_DIMS_MAX];
  int count;
  zb_operand x = zb_paddle_in(n, "X");
  if (!zb_operand_shape(n, x, &in) || !zb_paddle_integers(n, "repeat_times", "RepeatTimes", given, ZB_DIMS_MAX, &count))
    return ZB_FAIL;
  const int rank = count > in.rank ? count : in.rank;
  split = wide = out = (zb_shape){.dtype = in.dtype};
  for (int i = 0; i < rank; ++i) {
    const int own = i - (rank - in.rank), place = i - (rank - count);
    const int64_t dim = own >= 0 ? in.dims[own] : 1, times = place >= 0 ? given[place] : 1;
    if (times < 1 || times > INT32_MAX) return zb_import_refuse(n, NULL, "a repeat is below 1 or too large");
    if (split.rank + 2 > ZB_DIMS_MAX)
      return zb_import_refuse(n, "use expand", "the repeats need more than %d dimensions", ZB_DIMS_MAX);
    if (times > 1) {
      split.dims[split.rank++] = 1;
      wide.dims[wide.rank++] = times;
    }
    split.dims[split.rank++] = wide.dims[wide.rank++] = dim;
    if (__builtin_mul_overflow(dim, times, &out.dims[out.rank++])) return zb_import_refuse(n, NULL, "it is too large");
  }
  if (zb_shape_bytes(&out) < 0) return zb_import_refuse(n, NULL, "it is too large");
  x = zb_operand_expand(n, zb_operand_reshape(n, x, &split), &wide);
  return zb_paddle_give(n, "Out", zb_operand_reshape(n, x, &out));
}

/* ---- Parts ---- */

typedef struct part {
  int64_t starts[ZB_DIMS_MAX], sizes[ZB_DIMS_MAX], steps[ZB_DIMS_MAX];
} part;

static part whole(const zb_shape *in) {
  part p = {.starts = {0}};
  for (int i = 0; i < ZB_DIMS_MAX; ++i)
    p.steps[i] = 1;
  memcpy(p.sizes, in->dims, sizeof p.sizes);
  return p;
}

static int64_t clamped(int64_t place, int64_t dim) {
  if (place < 0) place = place < -dim ? 0 : place + dim;
  return place > dim ? dim : place;
}

/* Dimensions that decrease_axis names have one element, and go. */
static zb_operand decreased(zb_import_node *n, zb_operand x) {
  zb_shape shape, out;
  int64_t axes[ZB_DIMS_MAX];
  int count;
  if (!zb_operand_shape(n, x, &shape) || !zb_paddle_integers(n, "decrease_axis", NULL, axes, ZB_DIMS_MAX, &count))
    return NULL;
  out = (zb_shape){.dtype = shape.dtype};
  for (int i = 0; i < shape.rank; ++i) {
    bool goes = false;
    for (int k = 0; k < count; ++k)
      goes = goes || axes[k] == i;
    if (!goes) out.dims[out.rank++] = shape.dims[i];
  }
  return count > 0 ? zb_operand_reshape(n, x, &out) : x;
}

zb_result zb_paddle_slice(zb_import_node *n) {
  zb_shape in;
  int64_t axes[ZB_DIMS_MAX], starts[ZB_DIMS_MAX], ends[ZB_DIMS_MAX];
  int count, start_count, end_count, axis;
  zb_operand x = zb_paddle_in(n, "Input");
  if (!zb_operand_shape(n, x, &in) || !zb_paddle_integers(n, "axes", NULL, axes, ZB_DIMS_MAX, &count) ||
      !zb_paddle_integers(n, "starts", "StartsTensor", starts, ZB_DIMS_MAX, &start_count) ||
      !zb_paddle_integers(n, "ends", "EndsTensor", ends, ZB_DIMS_MAX, &end_count))
    return ZB_FAIL;
  if (count < 0 || count != start_count || count != end_count)
    return zb_import_refuse(n, NULL, "it has %d axes, %d starts and %d ends", count, start_count, end_count);
  part p = whole(&in);
  for (int i = 0; i < count; ++i) {
    if (!zb_import_axis(n, axes[i], in.rank, &axis)) return ZB_FAIL;
    p.starts[axis] = clamped(starts[i], in.dims[axis]);
    p.sizes[axis] = clamped(ends[i], in.dims[axis]) - p.starts[axis];
    if (p.sizes[axis] < 1) return zb_import_refuse(n, NULL, "nothing is left of dimension %d", axis);
  }
  x = zb_operand_slice(n, x, p.starts, p.sizes, p.steps);
  return zb_paddle_give(n, "Out", x ? decreased(n, x) : NULL);
}

static bool is_unbind(const zb_import_node *n) { return strcmp(n->op->argument, "unbind") == 0; }

/* Sizes of the parts: sections, of which one may be -1, or equal ones. False after reporting. */
static bool read_sizes(zb_import_node *n, int64_t dim, int64_t *sizes, int room, int *count) {
  int64_t sum = 0;
  int open = -1;
  *count = n->output_count;
  if (*count < 1 || *count > room) return zb_import_refuse(n, NULL, "it has %d results", *count);
  int given = -1;
  if (!is_unbind(n) && !zb_paddle_integers(n, "sections", "SectionsTensor", sizes, room, &given)) return false;
  if (given <= 0) {
    if (dim % *count) return zb_import_refuse(n, NULL, "%d parts of %lld", *count, (long long)dim);
    for (int i = 0; i < *count; ++i)
      sizes[i] = dim / *count;
    return true;
  }
  for (int i = 0; i < given; ++i) {
    if (sizes[i] == -1 && open < 0)
      open = i;
    else if (sizes[i] < 1 || sizes[i] > dim)
      return zb_import_refuse(n, NULL, "the size of a part is out of range");
    else
      sum += sizes[i];
  }
  if (open >= 0) sizes[open] = dim - sum, sum = dim;
  return (given == *count && sum == dim && (open < 0 || sizes[open] > 0)) ||
         zb_import_refuse(n, NULL, "its %d parts are not its %d results", given, *count);
}

zb_result zb_paddle_split(zb_import_node *n) {
  enum { PARTS_MAX = 256 };
  zb_shape in;
  int64_t sizes[PARTS_MAX];
  MlirValue parts[PARTS_MAX] = {{NULL}};
  double given;
  int axis, count;
  zb_known *known = NULL;
  zb_operand x = zb_paddle_in(n, "X");
  if (!zb_operand_shape(n, x, &in) || !zb_paddle_number(n, "axis", "AxisTensor", 0, &given)) return ZB_FAIL;
  if (in.rank < 1) return zb_import_refuse(n, NULL, "the tensor has no dimensions");
  if (!zb_import_axis(n, (int64_t)given, in.rank, &axis) || !read_sizes(n, in.dims[axis], sizes, PARTS_MAX, &count))
    return ZB_FAIL;
  if (!zb_import_value_known(n->im, x, &known)) return ZB_FAIL;
  if (!known) parts[0] = zb_import_value_ir(n->im, x);
  if (parts[0].ptr && count > 1) zb_build_split(n->b, parts[0], axis, sizes, count, parts);
  part p = whole(&in);
  zb_shape one = {.dtype = in.dtype};
  for (int i = 0; i < in.rank; ++i)
    if (i != axis) one.dims[one.rank++] = in.dims[i];
  if (is_unbind(n) && sizes[0] != 1) return zb_import_refuse(n, NULL, "its results are not its parts");
  for (int i = 0; i < count; p.starts[axis] += sizes[i++]) {
    if (!zb_import_wants(n, i)) continue;
    p.sizes[axis] = sizes[i];
    zb_operand value = known ? zb_operand_slice(n, x, p.starts, p.sizes, p.steps) : zb_operand_computed(n, parts[i]);
    if (is_unbind(n) && value) value = zb_operand_reshape(n, value, &one);
    if (!zb_operand_give(n, i, value)) return ZB_FAIL;
  }
  return ZB_OK;
}

/* Of a list; stack: along a new dimension. */
zb_result zb_paddle_concat(zb_import_node *n) {
  zb_shape in;
  double given;
  int axis, count = 0;
  const bool stacks = strcmp(n->op->argument, "stack") == 0;
  const zb_paddle_slot *list = zb_paddle_input_slot(zb_paddle_source(n), "X");
  if (!list || list->count < 1) return zb_import_refuse(n, NULL, "it has no operands");
  zb_operand *parts = zb_import_take(n->im, (size_t)list->count * sizeof *parts);
  if (!parts || !zb_paddle_number(n, "axis", stacks ? NULL : "AxisTensor", 0, &given)) return ZB_FAIL;
  for (int i = 0; i < list->count; ++i) {
    zb_operand x = list->values[i] ? list->values[i]->core : NULL;
    if (!x) return zb_import_refuse(n, NULL, "operand %d is missing", i);
    if (!zb_operand_shape(n, x, &in)) return ZB_FAIL;
    if (in.rank + stacks < 1 || in.rank + stacks > ZB_DIMS_MAX)
      return zb_import_refuse(n, NULL, "operand %d has %d dimensions", i, in.rank);
    if (!zb_import_axis(n, (int64_t)given, in.rank + stacks, &axis)) return ZB_FAIL;
    if (stacks) {
      memmove(&in.dims[axis + 1], &in.dims[axis], (size_t)(in.rank - axis) * sizeof *in.dims);
      in.dims[axis] = 1;
      ++in.rank;
      x = zb_operand_reshape(n, x, &in);
    }
    parts[count++] = x;
  }
  return zb_paddle_give(n, stacks ? "Y" : "Out", zb_operand_concat(n, parts, count, axis));
}

/* The triangle is a constant, which the core writes as zb.triangle. */
zb_result zb_paddle_triangle(zb_import_node *n) {
  zb_shape in;
  zb_operand x = zb_paddle_in(n, "X");
  if (!zb_operand_shape(n, x, &in)) return ZB_FAIL;
  if (in.rank < 2) return zb_import_refuse(n, NULL, "the tensor has %d dimensions, expected 2 or more", in.rank);
  const char *argument = n->op->argument;
  const bool upper = *argument ? strcmp(argument, "upper") == 0 : zb_paddle_integer(n, "lower", 1) == 0;
  const int64_t diagonal = zb_paddle_integer(n, "diagonal", 0), columns = in.dims[in.rank - 1];
  zb_shape flat = {.dtype = ZB_I1, .rank = 2, .dims = {in.dims[in.rank - 2], columns}};
  zb_known *mask = zb_known_new(n->im, &flat);
  for (int64_t i = 0; mask && i < mask->elements; ++i) {
    const int64_t row = i / columns, column = i % columns;
    zb_known_set_integer(mask, i, upper ? column - row >= diagonal : column - row <= diagonal);
  }
  return zb_paddle_give(n, "Out", zb_operand_where(n, zb_operand_known(n, mask), x, zb_operand_scalar(n, in.dtype, 0)));
}

/* ---- Constants ---- */

/* A number, written as text where it needs more digits. */
static bool filler(zb_import_node *n, const char *slot, double *out) {
  const char *text = zb_paddle_text(n, "str_value", "");
  char *end;
  if (!*text || zb_paddle_has(n, slot)) return zb_paddle_number(n, "value", slot, 0, out);
  *out = strtod(text, &end);
  return *end == '\0' || zb_paddle_refuse_attribute(n, "str_value", "it is no number");
}

zb_result zb_paddle_fill(zb_import_node *n) {
  zb_shape out = {.rank = 0};
  double value;
  if (!zb_paddle_integers(n, "shape", "Shape", out.dims, ZB_DIMS_MAX, &out.rank) || !filler(n, "Value", &value) ||
      !zb_paddle_declared(n, "Out", &out.dtype))
    return ZB_FAIL;
  if (out.rank < 0) out.rank = 0;
  for (int i = 0; i < out.rank; ++i)
    if (out.dims[i] < 0) return zb_import_refuse(n, NULL, "its shape is not one");
  if (zb_shape_bytes(&out) < 0) return zb_import_refuse(n, NULL, "it is too large");
  zb_operand scalar = zb_operand_scalar(n, out.dtype, value);
  return zb_paddle_give(n, "Out", out.rank == 0 || !scalar ? scalar : zb_operand_filled(n, &out, scalar));
}

zb_result zb_paddle_fill_like(zb_import_node *n) {
  zb_shape out;
  double value = 0;
  if (!zb_operand_shape(n, zb_paddle_in(n, "X"), &out) || !zb_paddle_declared(n, "Out", &out.dtype)) return ZB_FAIL;
  if (!*n->op->argument && !filler(n, "Value", &value)) return ZB_FAIL;
  zb_operand scalar = zb_operand_scalar(n, out.dtype, value);
  return zb_paddle_give(n, "Out", out.rank == 0 || !scalar ? scalar : zb_operand_filled(n, &out, scalar));
}

/* A list of integers, which is a shape or axes. */
zb_result zb_paddle_whole_numbers(zb_import_node *n) {
  const zb_paddle_attribute *a = zb_paddle_find(zb_paddle_source(n), "value");
  if (!a || a->kind != ZB_PADDLE_INTEGERS) return zb_import_refuse(n, NULL, "its value is no list of integers");
  zb_shape shape = {.dtype = ZB_I64, .rank = 1, .dims = {a->count}};
  zb_known *known = zb_known_new(n->im, &shape);
  for (int i = 0; known && i < a->count; ++i)
    zb_known_set_integer(known, i, a->integers[i]);
  return zb_paddle_give(n, "Out", zb_operand_known(n, known));
}

/* The elements of a tensor that the program was built with. */
zb_result zb_paddle_values(zb_import_node *n) {
  static const char *const names[] = {"values",       "fp32_values",  "fp64_values",
                                      "int32_values", "int64_values", "bool_values"};
  zb_shape out = {.rank = 0};
  const zb_paddle_attribute *found = NULL;
  if (!zb_paddle_integers(n, "shape", NULL, out.dims, ZB_DIMS_MAX, &out.rank) ||
      !zb_paddle_declared(n, "Out", &out.dtype))
    return ZB_FAIL;
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
    const zb_paddle_attribute *a = zb_paddle_find(zb_paddle_source(n), names[i]);
    if (a && a->count > 0) found = a;
  }
  if (out.rank < 0) out.rank = 0;
  for (int i = 0; i < out.rank; ++i)
    if (out.dims[i] < 0) return zb_import_refuse(n, NULL, "its shape is not one");
  if (zb_shape_bytes(&out) < 0) return zb_import_refuse(n, NULL, "it is too large");
  if (!found || found->count != zb_shape_elements(&out) ||
      (found->kind != ZB_PADDLE_INTEGERS && found->kind != ZB_PADDLE_REALS))
    return zb_import_refuse(n, NULL, "it has not as many values as its shape");
  zb_known *known = zb_known_new(n->im, &out);
  for (int i = 0; known && i < found->count; ++i) {
    const bool is_whole = found->kind == ZB_PADDLE_INTEGERS;
    if (zb_known_is_float(known))
      zb_known_set_real(known, i, is_whole ? (double)found->integers[i] : found->reals[i]);
    else
      zb_known_set_integer(known, i, is_whole ? found->integers[i] : (int64_t)found->reals[i]);
  }
  return zb_paddle_give(n, "Out", zb_operand_known(n, known));
}

zb_result zb_paddle_range(zb_import_node *n) {
  zb_shape out = {.rank = 1};
  double start, end, step;
  if (!zb_paddle_number(n, "start", "Start", 0, &start) || !zb_paddle_number(n, "end", "End", 0, &end) ||
      !zb_paddle_number(n, "step", "Step", 1, &step) || !zb_paddle_declared(n, "Out", &out.dtype))
    return ZB_FAIL;
  const double count = ceil((end - start) / step);
  if (!(count >= 1 && count < 1e9)) return zb_import_refuse(n, NULL, "it has no elements, or too many");
  out.dims[0] = (int64_t)count;
  zb_known *known = zb_known_new(n->im, &out);
  for (int64_t i = 0; known && i < known->elements; ++i) {
    if (zb_known_is_float(known))
      zb_known_set_real(known, i, start + (double)i * step);
    else
      zb_known_set_integer(known, i, (int64_t)(start + (double)i * step));
  }
  return zb_paddle_give(n, "Out", zb_operand_known(n, known));
}
