/* Elements by their places: tables of places, orders, sums along a dimension, and what is laid out anew.
 * Tests: test/ir/import/paddle, test/e2e/paddle.py. */
#include "ir/import/paddle/paddle.h"

#include <math.h>
#include <string.h>

static bool is(const zb_import_node *n, const char *op) { return strcmp(n->op->argument, op) == 0; }

/* ---- Places ---- */

zb_result zb_paddle_index_select(zb_import_node *n) {
  zb_shape in;
  int axis;
  zb_operand x = zb_paddle_in(n, "X"), index = zb_paddle_in(n, "Index");
  if (!x || !index || !zb_operand_shape(n, x, &in) || !zb_paddle_axis(n, "dim axis", 0, in.rank, &axis)) return ZB_FAIL;
  return zb_paddle_give(n, "Out", zb_operand_gather(n, x, index, axis, ZB_FROM_BOTH_ENDS));
}

zb_result zb_paddle_gather_nd(zb_import_node *n) {
  return zb_paddle_give(n, "Out", zb_meaning_gather_nd(n, zb_paddle_in(n, "X"), zb_paddle_in(n, "Index"), 0));
}

zb_result zb_paddle_take_along(zb_import_node *n) {
  zb_shape in;
  int axis;
  zb_operand x = zb_paddle_in(n, "Input"), index = zb_paddle_in(n, "Index");
  if (!x || !index || !zb_operand_shape(n, x, &in) || !zb_paddle_axis(n, "Axis axis", 0, in.rank, &axis))
    return ZB_FAIL;
  return zb_paddle_give(n, "Result", zb_operand_gather_elements(n, x, index, axis, ZB_FROM_BOTH_ENDS));
}

zb_result zb_paddle_top_k(zb_import_node *n) {
  zb_shape in;
  int axis;
  double k;
  zb_operand x = zb_paddle_in(n, "X");
  if (!zb_operand_shape(n, x, &in) || !zb_paddle_axis(n, "axis", -1, in.rank, &axis) ||
      !zb_paddle_number(n, "k", "K", 1, &k))
    return ZB_FAIL;
  if (!(k >= 1 && k <= (double)in.dims[axis])) return zb_import_refuse(n, NULL, "k is %g", k);
  zb_operand values, places;
  places = zb_meaning_top_k(n, x, axis, (int64_t)k, zb_paddle_integer(n, "largest", 1) != 0, &values);
  return zb_paddle_give(n, "Indices", places) ? zb_paddle_give(n, "Out", values) : ZB_FAIL;
}

/* All elements in their order, and their places. */
zb_result zb_paddle_sort(zb_import_node *n) {
  zb_shape in;
  int axis;
  zb_operand x = zb_paddle_in(n, "X"), values, places;
  if (!zb_operand_shape(n, x, &in) || !zb_paddle_axis(n, "axis", -1, in.rank, &axis)) return ZB_FAIL;
  places = zb_meaning_top_k(n, x, axis, in.dims[axis], zb_paddle_integer(n, "descending", 0) != 0, &values);
  return zb_paddle_give(n, "Indices", places) ? zb_paddle_give(n, "Out", values) : ZB_FAIL;
}

/* Of all elements, or along one dimension: of an even number the mean of the two in the middle, or the lesser of them;
 * no number where any is none. */
zb_result zb_paddle_median(zb_import_node *n) {
  zb_paddle_reduced r;
  zb_operand x = zb_paddle_in(n, "X"), ordered;
  if (!zb_paddle_read_reduced(n, x, &r)) return ZB_FAIL;
  if (r.count != 1) return zb_import_refuse(n, "flatten it first", "a median over %d dimensions", r.count);
  if (!zb_paddle_check_unread(n, "MedianIndex")) return ZB_FAIL;
  const int64_t size = r.in.dims[r.axes[0]];
  const int axis = (int)r.axes[0];
  const bool is_least = strcmp(zb_paddle_text(n, "mode", "avg"), "min") == 0;
  zb_operand is_none = zb_meaning_truth(n, zb_operand_apply1(n, "is_nan", x), false, r.axes, 1, true);
  zb_meaning_top_k(n, x, axis, size, false, &ordered);
  zb_operand middle = zb_operand_part(n, ordered, axis, (size - 1) / 2, 1);
  if (size % 2 == 0 && !is_least)
    middle =
        zb_meaning_line(n, zb_operand_apply2(n, "add", middle, zb_operand_part(n, ordered, axis, size / 2, 1)), 0.5, 0);
  middle = zb_operand_where(n, is_none, zb_operand_number(n, x, NAN), middle);
  return zb_paddle_give(n, "Out", r.keeps ? middle : zb_meaning_squeeze(n, middle, r.axes, 1, true));
}

/* The axis that an attribute or an operand says; with `flatten` x becomes one row. False after reporting. */
static bool read_axis(zb_import_node *n, const char *slot, zb_operand *x, zb_shape *in, int *axis) {
  if (!zb_operand_shape(n, *x, in)) return false;
  if (!zb_paddle_integer(n, "flatten", 0)) return zb_paddle_given_axis(n, slot, -1, in->rank, axis);
  *in = (zb_shape){.dtype = in->dtype, .rank = 1, .dims = {zb_shape_elements(in)}};
  *x = zb_operand_reshape(n, *x, in);
  return *axis = 0, *x != NULL;
}

/* The place of the first of the greatest (or least) elements: along an axis, or of all elements in their order. */
zb_result zb_paddle_arg(zb_import_node *n) {
  zb_shape in, out;
  zb_dtype dtype;
  int axis;
  zb_operand x = zb_paddle_in(n, "X");
  if (!read_axis(n, "Axis", &x, &in, &axis) || !zb_paddle_declared(n, "Out", &dtype)) return ZB_FAIL;
  const bool keeps = zb_paddle_integer(n, "keepdims", 0) != 0;
  out = (zb_shape){.dtype = dtype};
  for (int i = 0; i < in.rank; ++i)
    if (i != axis || keeps) out.dims[out.rank++] = i == axis ? 1 : in.dims[i];
  zb_operand places = zb_meaning_arg(n, x, axis, is(n, "max"));
  return zb_paddle_give(n, "Out", zb_operand_cast(n, zb_operand_reshape(n, places, &out), dtype));
}

/* ---- Along a dimension ---- */

zb_result zb_paddle_cumsum(zb_import_node *n) {
  zb_shape in;
  int axis;
  zb_operand x = zb_paddle_in(n, "X");
  if (!read_axis(n, "AxisTensor", &x, &in, &axis)) return ZB_FAIL;
  const bool exclusive = zb_paddle_integer(n, "exclusive", 0) != 0, reverse = zb_paddle_integer(n, "reverse", 0) != 0;
  return zb_paddle_give(n, "Out", zb_meaning_cumsum(n, x, axis, exclusive, reverse));
}

zb_result zb_paddle_flip(zb_import_node *n) {
  int64_t axes[ZB_DIMS_MAX];
  int count;
  if (!zb_paddle_integers(n, "axis", NULL, axes, ZB_DIMS_MAX, &count)) return ZB_FAIL;
  return zb_paddle_give(n, "Out", zb_meaning_flip(n, zb_paddle_in(n, "X"), axes, count));
}

/* Without axes the elements are rolled as one row. */
zb_result zb_paddle_roll(zb_import_node *n) {
  zb_shape in, given;
  int64_t shifts[ZB_DIMS_MAX], axes[ZB_DIMS_MAX];
  int count, axis_count, axis = 0;
  zb_operand x = zb_paddle_in(n, "X");
  if (!zb_operand_shape(n, x, &given) || !zb_paddle_integers(n, "axis", NULL, axes, ZB_DIMS_MAX, &axis_count) ||
      !zb_paddle_integers(n, "shifts", "ShiftsTensor", shifts, ZB_DIMS_MAX, &count))
    return ZB_FAIL;
  const bool is_flat = axis_count <= 0;
  in = is_flat ? (zb_shape){.dtype = given.dtype, .rank = 1, .dims = {zb_shape_elements(&given)}} : given;
  if (is_flat) x = zb_operand_reshape(n, x, &in);
  if (count != (is_flat ? 1 : axis_count)) return zb_import_refuse(n, NULL, "%d shifts of %d axes", count, axis_count);
  for (int i = 0; i < count && x; ++i) {
    if (!is_flat && !zb_import_axis(n, axes[i], in.rank, &axis)) return ZB_FAIL;
    x = zb_meaning_roll(n, x, shifts[i], axis);
  }
  return zb_paddle_give(n, "Out", is_flat && x ? zb_operand_reshape(n, x, &given) : x);
}

/* Each element several times. */
zb_result zb_paddle_repeat_interleave(zb_import_node *n) {
  zb_shape in;
  int axis;
  const int64_t times = zb_paddle_integer(n, "Repeats repeats", 1);
  zb_operand x = zb_paddle_in(n, "X");
  if (!zb_operand_shape(n, x, &in) || !zb_paddle_axis(n, "dim axis", 0, in.rank, &axis)) return ZB_FAIL;
  if (zb_paddle_has(n, "RepeatsTensor")) return zb_import_refuse(n, "repeat by a number", "repeats by a tensor");
  if (times < 1 || times > INT32_MAX) return zb_paddle_refuse_attribute(n, "Repeats", NULL);
  return zb_paddle_give(n, "Out", zb_meaning_repeat_each(n, x, axis, times));
}

/* Between borders of one number: two pads of each dimension, from the first on; negative ones cut. */
static zb_result give_padded(zb_import_node *n, zb_operand x, zb_shape in, const int64_t *pads, double value) {
  zb_operand fill = zb_operand_scalar(n, in.dtype, value);
  for (int axis = 0; axis < in.rank && x; ++axis)
    x = zb_meaning_pad(n, x, axis, pads[2 * axis], pads[2 * axis + 1], fill);
  return zb_paddle_give(n, "Out", x);
}

zb_result zb_paddle_pad(zb_import_node *n) {
  zb_shape in;
  int64_t pads[2 * ZB_DIMS_MAX];
  int count;
  double value;
  zb_operand x = zb_paddle_in(n, "X");
  if (!zb_operand_shape(n, x, &in) || !zb_paddle_integers(n, "paddings", NULL, pads, 2 * ZB_DIMS_MAX, &count) ||
      !zb_paddle_number(n, "pad_value", "PadValue", 0, &value))
    return ZB_FAIL;
  if (count != 2 * in.rank) return zb_import_refuse(n, NULL, "%d pads of %d dimensions", count, in.rank);
  return give_padded(n, x, in, pads, value);
}

/* The pads of images [n, c, d, h, w] stand from the last dimension on. */
zb_result zb_paddle_pad_image(zb_import_node *n) {
  zb_shape in;
  int64_t given[6], pads[2 * ZB_DIMS_MAX] = {0};
  int count;
  zb_operand x = zb_paddle_in(n, "X");
  if (!zb_operand_shape(n, x, &in) || !zb_paddle_integers(n, "paddings", "Paddings", given, 6, &count)) return ZB_FAIL;
  if (strcmp(zb_paddle_text(n, "mode", "constant"), "constant") != 0)
    return zb_paddle_refuse_attribute(n, "mode", "constant");
  if (strcmp(zb_paddle_text(n, "data_format", "NCDHW"), "NCDHW") != 0)
    return zb_paddle_refuse_attribute(n, "data_format", "channels are the second dimension");
  if (in.rank != 5 || count != 6) return zb_import_refuse(n, NULL, "%d pads of %d dimensions", count, in.rank);
  for (int i = 0; i < count; ++i)
    pads[2 * (4 - i / 2) + i % 2] = given[i];
  return give_padded(n, x, in, pads, zb_paddle_real(n, "value pad_value", 0));
}

zb_result zb_paddle_pixel_shuffle(zb_import_node *n) {
  const int64_t r = zb_paddle_integer(n, "upscale_factor", 1);
  if (strcmp(zb_paddle_text(n, "data_format", "NCHW"), "NCHW") != 0)
    return zb_import_refuse(n, "give it data_format=\"NCHW\"", "its data_format is not supported");
  return zb_paddle_give(n, "Out", zb_meaning_depth_to_space(n, zb_paddle_in(n, "X"), r, true));
}

/* ---- Reductions to a norm ---- */

static zb_result reduced(zb_import_node *n, bool is_norm) {
  zb_paddle_reduced r;
  if (!zb_paddle_read_reduced(n, zb_paddle_in(n, "X"), &r)) return ZB_FAIL;
  if (r.count < 1) return zb_import_refuse(n, NULL, "the tensor has no dimensions");
  return zb_paddle_give(n, "Out",
                        is_norm ? zb_meaning_norm(n, r.x, zb_paddle_real(n, "porder", 2), r.axes, r.count, r.keeps)
                                : zb_meaning_log_sum_exp(n, r.x, false, r.axes, r.count, r.keeps));
}

zb_result zb_paddle_log_sum_exp(zb_import_node *n) { return reduced(n, false); }

zb_result zb_paddle_p_norm(zb_import_node *n) { return reduced(n, true); }

/* The number of elements, or the dimensions, of a tensor. */
zb_result zb_paddle_sizes(zb_import_node *n) {
  zb_shape in, out = {.rank = 0};
  const bool is_count = is(n, "count");
  const zb_paddle_value *declared = zb_paddle_output(zb_paddle_source(n), "Out");
  if (!zb_operand_shape(n, zb_paddle_in(n, "Input"), &in) || !zb_paddle_declared(n, "Out", &out.dtype)) return ZB_FAIL;
  if (!is_count) out.rank = 1, out.dims[0] = in.rank;
  if (is_count && declared->is_static && declared->shape.rank == 1) out.rank = 1, out.dims[0] = 1;
  zb_known *known = zb_known_new(n->im, &out);
  for (int64_t i = 0; known && i < known->elements; ++i)
    zb_known_set_integer(known, i, is_count ? zb_shape_elements(&in) : in.dims[i]);
  return zb_paddle_give(n, "Out", zb_operand_known(n, known));
}
