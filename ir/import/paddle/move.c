/* Data movement and constants. Tests: test/ir/import/paddle. */
#include "ir/import/paddle/paddle.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Shapes ---- */

/* 0 is the dimension of x at that place, -1 what is left. */
zb_result zb_paddle_reshape(zb_import_node *n) {
  int64_t dims[ZB_DIMS_MAX];
  int count;
  if (!zb_paddle_integers(n, "shape", "Shape", dims, ZB_DIMS_MAX, &count)) return ZB_FAIL;
  if (count < 0) return zb_import_refuse(n, NULL, "it has no shape");
  return zb_paddle_give(n, "Out", zb_meaning_reshape(n, zb_paddle_in(n, "X"), dims, count, true));
}

zb_result zb_paddle_transpose(zb_import_node *n) {
  int64_t axes[ZB_DIMS_MAX];
  int count;
  if (!zb_paddle_integers(n, "axis perm", NULL, axes, ZB_DIMS_MAX, &count)) return ZB_FAIL;
  return zb_paddle_give(n, "Out", zb_meaning_permute(n, zb_paddle_in(n, "X"), axes, count));
}

/* One after another, as Paddle inserts them. */
zb_result zb_paddle_unsqueeze(zb_import_node *n) {
  int64_t axes[ZB_DIMS_MAX];
  int count;
  zb_operand x = zb_paddle_in(n, "X");
  if (!zb_paddle_integers(n, "axes axis", "AxesTensor", axes, ZB_DIMS_MAX, &count)) return ZB_FAIL;
  for (int i = 0; i < count; ++i)
    x = zb_meaning_unsqueeze(n, x, &axes[i], 1);
  return zb_paddle_give(n, "Out", x);
}

/* Dimensions of 1 go: those that are named, or all. */
zb_result zb_paddle_squeeze(zb_import_node *n) {
  int64_t axes[ZB_DIMS_MAX];
  int count;
  if (!zb_paddle_integers(n, "axes axis", "AxesTensor", axes, ZB_DIMS_MAX, &count)) return ZB_FAIL;
  return zb_paddle_give(n, "Out", zb_meaning_squeeze(n, zb_paddle_in(n, "X"), axes, count > 0 ? count : -1, false));
}

zb_result zb_paddle_flatten(zb_import_node *n) {
  zb_shape in;
  int start, stop;
  zb_operand x = zb_paddle_in(n, "X");
  if (!zb_operand_shape(n, x, &in) || !zb_paddle_axis(n, "start_axis", 1, in.rank, &start) ||
      !zb_paddle_axis(n, "stop_axis", -1, in.rank, &stop))
    return ZB_FAIL;
  if (start > stop) return zb_paddle_refuse_attribute(n, "start_axis", NULL);
  return zb_paddle_give(n, "Out", zb_meaning_flatten(n, x, start, stop));
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

zb_result zb_paddle_tile(zb_import_node *n) {
  int64_t repeats[ZB_DIMS_MAX];
  int count;
  if (!zb_paddle_integers(n, "repeat_times", "RepeatTimes", repeats, ZB_DIMS_MAX, &count)) return ZB_FAIL;
  return zb_paddle_give(n, "Out", zb_meaning_tile(n, zb_paddle_in(n, "X"), repeats, count > 0 ? count : 0));
}

/* ---- Parts ---- */

/* Dimensions that decrease_axis names have one element, and go. */
static zb_operand decreased(zb_import_node *n, zb_operand x) {
  int64_t axes[ZB_DIMS_MAX];
  int count;
  if (!zb_paddle_integers(n, "decrease_axis", NULL, axes, ZB_DIMS_MAX, &count)) return NULL;
  return count > 0 ? zb_meaning_squeeze(n, x, axes, count, true) : x;
}

/* slice and strided_slice, which is backward where a stride is negative. */
zb_result zb_paddle_slice(zb_import_node *n) {
  zb_shape out;
  int64_t axes[ZB_DIMS_MAX], starts[ZB_DIMS_MAX], ends[ZB_DIMS_MAX], steps[ZB_DIMS_MAX];
  int count, start_count, end_count, step_count;
  if (!zb_paddle_integers(n, "axes", NULL, axes, ZB_DIMS_MAX, &count) ||
      !zb_paddle_integers(n, "starts", "StartsTensor", starts, ZB_DIMS_MAX, &start_count) ||
      !zb_paddle_integers(n, "ends", "EndsTensor", ends, ZB_DIMS_MAX, &end_count) ||
      !zb_paddle_integers(n, "strides", "StridesTensor", steps, ZB_DIMS_MAX, &step_count))
    return ZB_FAIL;
  if (count < 0 || count != start_count || count != end_count || (step_count >= 0 && count != step_count))
    return zb_import_refuse(n, NULL, "it has %d axes, %d starts and %d ends", count, start_count, end_count);
  zb_operand x =
      zb_meaning_slice(n, zb_paddle_in(n, "Input"), axes, starts, ends, step_count < 0 ? NULL : steps, count);
  if (!zb_operand_shape(n, x, &out)) return ZB_FAIL;
  if (zb_shape_elements(&out) == 0) return zb_import_refuse(n, NULL, "nothing is left of its operand");
  return zb_paddle_give(n, "Out", decreased(n, x));
}

static bool is_unbind(const zb_import_node *n) { return strcmp(n->op->argument, "unbind") == 0; }

/* Sizes of the parts: sections, of which one may be -1, or equal ones. False after reporting. */
static bool read_sizes(zb_import_node *n, int64_t dim, int64_t *sizes, int *count) {
  int64_t left = dim;
  int open = -1;
  *count = -1;
  if (!is_unbind(n) && !zb_paddle_integers(n, "sections", "SectionsTensor", sizes, ZB_MEANING_PARTS, count))
    return false;
  const int parts = n->output_count;
  if (*count <= 0) {
    if (parts < 1 || dim % parts) return zb_import_refuse(n, NULL, "%d parts of %lld", parts, (long long)dim);
    return zb_meaning_parts(n, dim, dim / parts, sizes, count);
  }
  for (int i = 0; i < *count; ++i) {
    if (sizes[i] == -1 && open < 0)
      open = i;
    else if (sizes[i] < 1 || sizes[i] > dim)
      return zb_import_refuse(n, NULL, "the size of a part is out of range");
    else
      left -= sizes[i];
  }
  if (open >= 0) sizes[open] = left;
  return *count == parts || zb_import_refuse(n, NULL, "its %d parts are not its %d results", *count, parts);
}

zb_result zb_paddle_split(zb_import_node *n) {
  zb_shape in;
  int64_t sizes[ZB_MEANING_PARTS];
  zb_operand parts[ZB_MEANING_PARTS], x = zb_paddle_in(n, "X");
  int axis, count;
  if (!zb_operand_shape(n, x, &in) || !zb_paddle_given_axis(n, "AxisTensor", 0, in.rank, &axis) ||
      !read_sizes(n, in.dims[axis], sizes, &count) || !zb_meaning_split(n, x, axis, sizes, count, parts))
    return ZB_FAIL;
  const int64_t along = axis;
  for (int i = 0; i < count; ++i) {
    if (!zb_import_wants(n, i)) continue;
    zb_operand part = is_unbind(n) ? zb_meaning_squeeze(n, parts[i], &along, 1, true) : parts[i];
    if (!zb_operand_give(n, i, part)) return ZB_FAIL;
  }
  return ZB_OK;
}

/* Of a list; stack: along a new dimension. */
zb_result zb_paddle_concat(zb_import_node *n) {
  zb_shape in;
  double given;
  int axis;
  const bool stacks = strcmp(n->op->argument, "stack") == 0;
  const zb_paddle_slot *list = zb_paddle_input_slot(zb_paddle_source(n), "X");
  if (!list || list->count < 1) return zb_import_refuse(n, NULL, "it has no operands");
  zb_operand *parts = zb_import_take(n->im, (size_t)list->count * sizeof *parts);
  if (!parts || !zb_paddle_number(n, "axis", stacks ? NULL : "AxisTensor", 0, &given)) return ZB_FAIL;
  for (int i = 0; i < list->count; ++i) {
    parts[i] = list->values[i] ? list->values[i]->core : NULL;
    if (!parts[i]) return zb_import_refuse(n, NULL, "operand %d is missing", i);
  }
  if (stacks) return zb_paddle_give(n, "Y", zb_meaning_stack(n, parts, list->count, (int64_t)given));
  if (!zb_operand_shape(n, parts[0], &in) || !zb_import_axis(n, (int64_t)given, in.rank, &axis)) return ZB_FAIL;
  return zb_paddle_give(n, "Out", zb_operand_concat(n, parts, list->count, axis));
}

zb_result zb_paddle_triangle(zb_import_node *n) {
  const char *argument = n->op->argument;
  const bool upper = *argument ? strcmp(argument, "upper") == 0 : zb_paddle_integer(n, "lower", 1) == 0;
  const int64_t diagonal = zb_paddle_integer(n, "diagonal", 0);
  return zb_paddle_give(n, "Out", zb_meaning_triangle(n, zb_paddle_in(n, "X"), upper, diagonal));
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
  if (!zb_paddle_declared_shape(n, "Shape", &out) || !filler(n, "Value", &value)) return ZB_FAIL;
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
  return zb_paddle_give(n, "Out", zb_operand_known(n, zb_known_ints(n->im, a->integers, a->count)));
}

/* The elements of a tensor that the program was built with. */
zb_result zb_paddle_values(zb_import_node *n) {
  static const char *const names[] = {"values",       "fp32_values",  "fp64_values",
                                      "int32_values", "int64_values", "bool_values"};
  zb_shape out = {.rank = 0};
  const zb_paddle_attribute *found = NULL;
  if (!zb_paddle_declared_shape(n, NULL, &out)) return ZB_FAIL;
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
    const zb_paddle_attribute *a = zb_paddle_find(zb_paddle_source(n), names[i]);
    if (a && a->count > 0) found = a;
  }
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
  return zb_paddle_give(n, "Out", zb_meaning_progression(n, &out, start, step));
}
