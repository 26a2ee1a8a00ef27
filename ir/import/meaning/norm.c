/* Reductions that are more than one op: norms of vectors, variances and the like. Tests: test/e2e/points.py. */
#include "ir/import/meaning/meaning.h"

#include <math.h>

zb_operand zb_meaning_reduce_all(zb_import_node *n, const char *op, zb_operand x) {
  int64_t axes[ZB_DIMS_MAX];
  int count;
  zb_shape in;
  if (!zb_operand_shape(n, x, &in) || !zb_import_axes(n, NULL, 0, in.rank, axes, &count)) return NULL;
  return zb_operand_reduce(n, op, x, axes, count, false);
}

/* Of order 0 and 1 without a power. */
static zb_operand plain_norm(zb_import_node *n, zb_operand x, double order, const int64_t *axes, int count,
                             bool keepdims) {
  zb_operand size = zb_operand_apply1(n, "abs", x);
  if (order == 0) size = zb_operand_cast(n, zb_operand_cast(n, size, ZB_I1), ZB_F32);
  return zb_operand_reduce(n, "reduce_sum", size, axes, count, keepdims);
}

static zb_operand norm_value(zb_import_node *n, zb_operand x, double order, const int64_t *axes, int count) {
  zb_operand size = zb_operand_apply1(n, "abs", x);
  if (isinf(order)) return zb_operand_reduce(n, order > 0 ? "reduce_max" : "reduce_min", size, axes, count, true);
  size = order == 2 ? zb_operand_apply2(n, "mul", x, x) : zb_meaning_power(n, size, order);
  zb_operand sum = zb_operand_reduce(n, "reduce_sum", size, axes, count, true);
  return order == 2 ? zb_operand_apply1(n, "sqrt", sum) : zb_meaning_power(n, sum, 1 / order);
}

/* How many are true. */
zb_operand zb_meaning_truth(zb_import_node *n, zb_operand x, bool all, const int64_t *axes, int count, bool keepdims) {
  zb_shape in;
  int64_t least = 1;
  x = zb_operand_cast(n, zb_operand_cast(n, x, ZB_I1), ZB_I64);
  if (!zb_operand_shape(n, x, &in)) return NULL;
  for (int i = 0; i < count && all; ++i)
    least *= in.dims[axes[i]];
  x = zb_operand_reduce(n, "reduce_sum", x, axes, count, keepdims);
  return zb_operand_apply2(n, "greater_equal", x, zb_operand_scalar(n, ZB_I64, (double)least));
}

static zb_operand zero_where(zb_import_node *n, zb_operand condition, zb_operand x) {
  return zb_operand_where(n, condition, zb_operand_number(n, x, 0), x);
}

/* As norm_backward of PyTorch has it: of norms that are zero the gradient is zero, of equal greatest elements it is
 * shared. */
static zb_operand norm_slope(zb_import_node *n, zb_operand x, zb_operand norm, double order, const int64_t *axes,
                             int count) {
  zb_operand zero = zb_operand_number(n, x, 0), is_zero = zb_operand_apply2(n, "equal", norm, zero);
  if (order == 2) return zero_where(n, is_zero, zb_operand_apply2(n, "div", x, norm));
  zb_operand size = zb_operand_apply1(n, "abs", x), is_nan = zb_operand_apply1(n, "is_nan", x);
  zb_operand sign = zb_meaning_sign(n, x);
  if (isinf(order)) {
    zb_operand most = zb_operand_apply2(n, "or", zb_operand_apply2(n, "equal", size, norm), is_nan);
    most = zb_operand_cast(n, most, ZB_F32);
    zb_operand sharers = zb_operand_reduce(n, "reduce_sum", most, axes, count, true);
    return zb_operand_apply2(n, "mul", sign, zb_operand_apply2(n, "div", most, sharers));
  }
  if (order < 1) {
    zb_operand own = zero_where(n, zb_operand_apply2(n, "equal", x, zero), zb_meaning_power(n, size, order - 1));
    return zb_operand_apply2(n, "mul", zb_operand_apply2(n, "mul", sign, own), zb_meaning_power(n, norm, 1 - order));
  }
  zb_operand own = order < 2 ? zb_operand_apply2(n, "mul", sign, zb_meaning_power(n, size, order - 1))
                             : zb_operand_apply2(n, "mul", x, zb_meaning_power(n, size, order - 2));
  zb_operand share = zb_operand_apply1(n, "reciprocal", zb_meaning_power(n, norm, order - 1));
  return zb_operand_apply2(n, "mul", own, zero_where(n, is_zero, share));
}

/* A value that is reduced from x, with that gradient. */
static zb_operand reduced_with_slope(zb_import_node *n, zb_operand value, zb_operand x, zb_operand slope,
                                     const int64_t *axes, int count) {
  slope = zb_operand_apply2(n, "slope", x, zb_operand_apply1(n, "detach", slope));
  slope = zb_operand_reduce(n, "reduce_sum", slope, axes, count, true);
  return zb_operand_apply2(n, "add", zb_operand_apply1(n, "detach", value), slope);
}

/* All but the dimensions that were reduced to one element. */
static zb_operand without(zb_import_node *n, zb_operand x, const int64_t *axes, int count) {
  return zb_operand_reduce(n, "reduce_sum", x, axes, count, false);
}

zb_operand zb_meaning_norm(zb_import_node *n, zb_operand x, double order, const int64_t *axes, int count,
                           bool keepdims) {
  if (order == 0 || order == 1) return plain_norm(n, x, order, axes, count, keepdims);
  zb_operand norm = norm_value(n, x, order, axes, count);
  norm = reduced_with_slope(n, norm, x, norm_slope(n, x, norm, order, axes, count), axes, count);
  return keepdims ? norm : without(n, norm, axes, count);
}

/* An infinite maximum is taken off as 0. No gradient passes it, since what is taken off is added again. */
zb_operand zb_meaning_log_sum_exp(zb_import_node *n, zb_operand x, bool of_infinite, const int64_t *axes, int count,
                                  bool keepdims) {
  zb_operand top = zb_operand_apply1(n, "detach", zb_operand_reduce(n, "reduce_max", x, axes, count, true));
  if (of_infinite) top = zero_where(n, zb_operand_apply1(n, "is_inf", top), top);
  zb_operand parts = zb_operand_apply1(n, "exp", zb_operand_apply2(n, "sub", x, top));
  zb_operand sum = zb_operand_reduce(n, "reduce_sum", parts, axes, count, true);
  sum = zb_operand_apply2(n, "add", zb_operand_apply1(n, "log", sum), top);
  return keepdims ? sum : without(n, sum, axes, count);
}

/* By a power of two, so that squares neither overflow nor vanish, even those of the last digits of x. */
static zb_operand in_units(zb_import_node *n, zb_operand x, const int64_t *axes, int count, zb_operand *unit) {
  zb_operand size = zb_operand_reduce(n, "reduce_max", zb_operand_apply1(n, "abs", x), axes, count, true);
  zb_operand is_large = zb_operand_apply2(n, "greater", size, zb_operand_scalar(n, ZB_F32, 0x1p40));
  zb_operand is_small = zb_operand_apply2(n, "less", size, zb_operand_scalar(n, ZB_F32, 0x1p-36));
  zb_operand usual = zb_operand_scalar(n, ZB_F32, 1), small = zb_operand_scalar(n, ZB_F32, 0x1p-88);
  *unit = zb_operand_where(n, is_small, small, usual);
  *unit = zb_operand_where(n, is_large, zb_operand_scalar(n, ZB_F32, 0x1p72), *unit);
  return zb_operand_apply2(n, "div", x, *unit);
}

zb_operand zb_meaning_variance(zb_import_node *n, zb_operand x, bool is_root, double freedom, const int64_t *axes,
                               int count, bool keepdims) {
  zb_operand unit, part = in_units(n, x, axes, count, &unit), share = zb_operand_scalar(n, ZB_F32, freedom);
  for (int i = 0; i < 2; ++i) /* the second time what the first mean was rounded by */
    part = zb_operand_apply2(n, "sub", part, zb_operand_reduce(n, "reduce_mean", part, axes, count, true));
  zb_operand value = zb_operand_reduce(n, "reduce_sum", zb_operand_apply2(n, "mul", part, part), axes, count, true);
  value = zb_operand_apply2(n, "div", value, share);
  if (is_root) value = zb_operand_apply1(n, "sqrt", value);
  zb_operand slope = zb_operand_apply2(n, "div", part, share), zero = zb_operand_scalar(n, ZB_F32, 0);
  zb_operand scaled = zb_operand_apply2(n, "mul", value, unit);
  if (is_root) {
    slope = zb_operand_apply2(n, "div", slope, value);
    slope = zero_where(n, zb_operand_apply2(n, "equal", value, zero), slope);
  } else {
    scaled = zb_operand_apply2(n, "mul", scaled, unit);
    slope = zb_operand_apply2(n, "mul", zb_operand_apply2(n, "add", slope, slope), unit);
  }
  scaled = reduced_with_slope(n, scaled, x, slope, axes, count);
  return keepdims ? scaled : without(n, scaled, axes, count);
}

zb_operand zb_meaning_softmax(zb_import_node *n, const char *op, zb_operand x, int axis) {
  const zb_attr attr = zb_int("axis", axis);
  return zb_operand_build(n, op, &x, 1, &attr, 1);
}

zb_operand zb_meaning_cumsum(zb_import_node *n, zb_operand x, int axis, bool exclusive, bool reverse) {
  const zb_attr attrs[] = {zb_int("axis", axis), zb_bool("exclusive", exclusive), zb_bool("reverse", reverse)};
  return zb_operand_apply(n, "cumsum", &x, 1, attrs, 3);
}
