/* Norms of vectors, and the powers of numbers that they are made of, for every door. Tests: test/e2e/points.py. */
#include "ir/import/operand.h"

#include <float.h>
#include <math.h>

zb_operand zb_operand_sign(zb_import_node *n, zb_operand x) {
  return zb_operand_where(n, zb_operand_apply1(n, "is_nan", x), zb_operand_scalar(n, ZB_F32, 0),
                          zb_operand_apply1(n, "sign", x));
}

/* f32 holds only the first digits of y: x^y = x^f32(y) (1 + (y - f32(y)) log x). */
zb_operand zb_operand_power(zb_import_node *n, zb_operand x, double y) {
  zb_operand out = zb_operand_apply2(n, "pow", x, zb_operand_scalar(n, ZB_F32, y));
  const double rest = y - (double)(float)y;
  if (rest == 0 || !isfinite(y)) return out;
  const zb_attr range[] = {zb_float("min", FLT_MIN), zb_float("max", FLT_MAX)};
  zb_operand factor = zb_operand_apply1(n, "log", zb_operand_apply(n, "clip", &x, 1, range, 2));
  factor = zb_operand_apply2(n, "mul", factor, zb_operand_scalar(n, ZB_F32, rest));
  return zb_operand_apply2(n, "mul", out, zb_operand_apply2(n, "add", factor, zb_operand_scalar(n, ZB_F32, 1)));
}

static zb_operand norm_value(zb_import_node *n, zb_operand x, double order, const int64_t *axes, int count) {
  zb_operand size = zb_operand_apply1(n, "abs", x);
  if (isinf(order)) return zb_operand_reduce(n, order > 0 ? "reduce_max" : "reduce_min", size, axes, count, true);
  if (order == 0) size = zb_operand_cast(n, zb_operand_cast(n, size, ZB_I1), ZB_F32);
  if (order == 2) size = zb_operand_apply2(n, "mul", x, x);
  if (order != 0 && order != 1 && order != 2) size = zb_operand_power(n, size, order);
  zb_operand sum = zb_operand_reduce(n, "reduce_sum", size, axes, count, true);
  return order == 0 || order == 1 ? sum
         : order == 2             ? zb_operand_apply1(n, "sqrt", sum)
                                  : zb_operand_power(n, sum, 1 / order);
}

static zb_operand zero_where(zb_import_node *n, zb_operand condition, zb_operand x) {
  return zb_operand_where(n, condition, zb_operand_scalar(n, ZB_F32, 0), x);
}

/* As norm_backward of PyTorch has it: of norms that are zero the gradient is zero, of equal greatest elements it is
 * shared. */
static zb_operand norm_slope(zb_import_node *n, zb_operand x, zb_operand norm, double order, const int64_t *axes,
                             int count) {
  zb_operand zero = zb_operand_scalar(n, ZB_F32, 0), size = zb_operand_apply1(n, "abs", x);
  zb_operand is_zero = zb_operand_apply2(n, "equal", norm, zero), is_nan = zb_operand_apply1(n, "is_nan", x);
  zb_operand sign = zb_operand_sign(n, x);
  if (order == 2) return zero_where(n, is_zero, zb_operand_apply2(n, "div", x, norm));
  if (isinf(order)) {
    zb_operand most = zb_operand_apply2(n, "or", zb_operand_apply2(n, "equal", size, norm), is_nan);
    most = zb_operand_cast(n, most, ZB_F32);
    zb_operand sharers = zb_operand_reduce(n, "reduce_sum", most, axes, count, true);
    return zb_operand_apply2(n, "mul", sign, zb_operand_apply2(n, "div", most, sharers));
  }
  if (order < 1) {
    zb_operand own = zero_where(n, zb_operand_apply2(n, "equal", x, zero), zb_operand_power(n, size, order - 1));
    return zb_operand_apply2(n, "mul", zb_operand_apply2(n, "mul", sign, own), zb_operand_power(n, norm, 1 - order));
  }
  zb_operand own = order < 2 ? zb_operand_apply2(n, "mul", sign, zb_operand_power(n, size, order - 1))
                             : zb_operand_apply2(n, "mul", x, zb_operand_power(n, size, order - 2));
  zb_operand share = zb_operand_apply1(n, "reciprocal", zb_operand_power(n, norm, order - 1));
  return zb_operand_apply2(n, "mul", own, zero_where(n, is_zero, share));
}

zb_operand zb_operand_norm(zb_import_node *n, zb_operand x, double order, const int64_t *axes, int count) {
  zb_operand norm = norm_value(n, x, order, axes, count);
  if (order == 0 || order == 1) return norm;
  zb_operand slope = zb_operand_apply1(n, "detach", norm_slope(n, x, norm, order, axes, count));
  slope = zb_operand_reduce(n, "reduce_sum", zb_operand_apply2(n, "slope", x, slope), axes, count, true);
  return zb_operand_apply2(n, "add", zb_operand_apply1(n, "detach", norm), slope);
}
