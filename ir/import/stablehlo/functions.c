/* Functions of floats that zb has no op for, from those that it has, and the bits of floats. Tests:
 * test/e2e/stablehlo_testdata.py, on test/ir/import/stablehlo/Inputs/checked. */
#include "ir/import/stablehlo/stablehlo.h"

#include <math.h>

static MlirValue number(zb_import_node *n, zb_dtype dtype, double value) { return zb_build_scalar(n->b, dtype, value); }

MlirValue zb_stablehlo_as_bits(zb_import_node *n, MlirValue x, zb_dtype dtype) {
  const zb_attr to = zb_string("dtype", zb_dtype_name(dtype));
  return zb_build(n->b, "bitcast", &x, 1, &to, 1);
}

/* A float operand, in f32 where it is narrower: such results are rounded once, at the end. */
static bool wide_operand(zb_import_node *n, int operand, MlirValue *x, zb_dtype *narrow, zb_dtype *wide) {
  zb_shape shape;
  *x = zb_import_ir(n, operand);
  if (!zb_import_ir_shape(n, *x, &shape)) return false;
  if (!zb_dtype_is_float(shape.dtype)) return zb_import_refuse(n, NULL, "of %s", zb_dtype_name(shape.dtype));
  *narrow = shape.dtype;
  *wide = shape.dtype == ZB_F64 ? ZB_F64 : ZB_F32;
  *x = zb_build_cast(n->b, *x, *wide);
  return !n->b->failed;
}

/* c[0] + x * (c[1] + x * ...) */
static MlirValue polynomial(zb_import_node *n, zb_dtype dtype, MlirValue x, const double *c, int count) {
  MlirValue sum = number(n, dtype, c[count - 1]);
  for (int i = count - 2; i >= 0; --i)
    sum = zb_build2(n->b, "add", zb_build2(n->b, "mul", sum, x), number(n, dtype, c[i]));
  return sum;
}

/* |x|^(1/3), then a step of Newton, which takes the rounding of 1/3 away; the sign is put back. */
zb_result zb_stablehlo_cbrt(zb_import_node *n) {
  zb_builder *b = n->b;
  zb_dtype narrow = ZB_F32, wide = ZB_F32;
  MlirValue x;
  if (!wide_operand(n, 0, &x, &narrow, &wide)) return ZB_FAIL;
  MlirValue zero = number(n, wide, 0), size = zb_build1(b, "abs", x);
  MlirValue usual =
      zb_build2(b, "and", zb_build2(b, "greater", size, zero), zb_build2(b, "less", size, number(n, wide, INFINITY)));
  MlirValue safe = zb_build_where(n->b, usual, size, number(n, wide, 1));
  MlirValue root = zb_build2(b, "pow", safe, number(n, wide, 1.0 / 3));
  MlirValue off = zb_build2(b, "sub", root, zb_build2(b, "div", safe, zb_build2(b, "mul", root, root)));
  root = zb_build2(b, "sub", root, zb_build2(b, "div", off, number(n, wide, 3)));
  root = zb_build_where(n->b, zb_build2(b, "less", x, zero), zb_build1(b, "neg", root), root);
  return zb_import_give(n, 0, zb_build_cast(b, zb_build_where(n->b, usual, root, x), narrow));
}

/* Also of -0. */
static MlirValue is_negative(zb_import_node *n, MlirValue x, zb_dtype dtype) {
  MlirValue zero = number(n, dtype, 0), is_zero = zb_build2(n->b, "equal", x, zero);
  return zb_build2(n->b, "less", zb_build_where(n->b, is_zero, zb_build1(n->b, "reciprocal", x), x), zero);
}

/* atan(y / x) turned into the half plane of x; y / 0 and 0 / 0 are put in their places, by the signs of zeros. */
zb_result zb_stablehlo_atan2(zb_import_node *n) {
  zb_builder *b = n->b;
  zb_dtype narrow = ZB_F32, wide = ZB_F32;
  MlirValue y, x;
  if (!wide_operand(n, 0, &y, &narrow, &wide) || !wide_operand(n, 1, &x, &narrow, &wide)) return ZB_FAIL;
  MlirValue zero = number(n, wide, 0), one = number(n, wide, 1);
  MlirValue is_zero = zb_build2(b, "equal", x, zero), is_left = zb_build2(b, "less", x, zero);
  MlirValue is_down = is_negative(n, y, wide);
  MlirValue are_infinite = zb_build2(b, "and", zb_build1(b, "is_inf", x), zb_build1(b, "is_inf", y));
  MlirValue rise = zb_build_where(n->b, are_infinite, zb_build1(b, "sign", y), y);
  MlirValue run = zb_build_where(n->b, are_infinite, zb_build1(b, "sign", x), zb_build_where(n->b, is_zero, one, x));
  MlirValue angle = zb_build1(b, "atan", zb_build2(b, "div", rise, run));
  MlirValue half =
      zb_build_where(n->b, is_down, number(n, wide, -3.14159265358979323846), number(n, wide, 3.14159265358979323846));
  MlirValue quarter = zb_build2(b, "mul", half, number(n, wide, 0.5));
  quarter = zb_build_where(n->b, zb_build2(b, "equal", y, zero), zb_build_where(n->b, is_negative(n, x, wide), half, y),
                           quarter);
  MlirValue out = zb_build_where(n->b, is_left, zb_build2(b, "add", angle, half), angle);
  quarter = zb_build_where(n->b, zb_build1(b, "is_nan", y), y, quarter);
  return zb_import_give(n, 0, zb_build_cast(b, zb_build_where(n->b, is_zero, quarter, out), narrow));
}

/* The least or the greatest float next to x, by its bits: the sign and the rest of which count upwards. */
zb_result zb_stablehlo_next_after(zb_import_node *n) {
  zb_builder *b = n->b;
  zb_shape shape;
  MlirValue x = zb_import_ir(n, 0), y = zb_import_ir(n, 1);
  if (!zb_import_ir_shape(n, x, &shape) || !y.ptr) return ZB_FAIL;
  if (!zb_dtype_is_float(shape.dtype)) return zb_import_refuse(n, NULL, "of %s", zb_dtype_name(shape.dtype));
  const zb_dtype dtype = shape.dtype == ZB_F64 ? ZB_I64 : ZB_I32;
  const int64_t sign = shape.dtype == ZB_F64 ? INT64_MIN : shape.dtype == ZB_F32 ? INT32_MIN : -32768;
  MlirValue zero = number(n, shape.dtype, 0), one = zb_stablehlo_scalar(n, dtype, 1);
  MlirValue minus = zb_stablehlo_scalar(n, dtype, -1), bits = zb_stablehlo_as_bits(n, x, dtype);
  MlirValue is_up = zb_build2(b, "less", x, y), is_positive = zb_build2(b, "greater", x, zero);
  MlirValue step = zb_build_where(n->b, zb_build2(b, "xor", is_up, is_positive), minus, one);
  MlirValue least = zb_build_where(n->b, is_up, one, zb_stablehlo_scalar(n, dtype, sign + 1)); /* next to zero */
  MlirValue moved = zb_build_where(n->b, zb_build2(b, "equal", x, zero), least, zb_build2(b, "add", bits, step));
  MlirValue out = zb_build_where(n->b, zb_build2(b, "equal", x, y), y, zb_stablehlo_as_bits(n, moved, shape.dtype));
  MlirValue is_nan = zb_build2(b, "or", zb_build1(b, "is_nan", x), zb_build1(b, "is_nan", y));
  return zb_import_give(n, 0, zb_build_where(n->b, is_nan, zb_build2(b, "add", x, y), out));
}

/* ---- The inverse of erf ---- */

/* M. Giles, "Approximating the erfinv function" (GPU Computing Gems, 2011), for single precision: polynomials of
 * w = -log(1 - x^2) below and above 5. In f64 two steps of Newton follow, each of which squares the error. */
zb_result zb_stablehlo_erf_inv(zb_import_node *n) {
  static const double center[] = {1.50140941,     0.246640727,   -0.00417768164, -0.00125372503, 0.000218580870,
                                  -4.39150654e-6, -3.5233877e-6, 3.43273939e-7,  2.81022636e-8};
  static const double tail[] = {2.83297682,     1.00167406,    0.00943887047,  -0.0076224613,  0.00573950773,
                                -0.00367342844, 0.00134934322, 0.000100950558, -0.000200214257};
  zb_builder *b = n->b;
  zb_dtype narrow = ZB_F32, wide = ZB_F32;
  MlirValue x;
  if (!wide_operand(n, 0, &x, &narrow, &wide)) return ZB_FAIL;
  MlirValue one = number(n, wide, 1), size = zb_build1(b, "abs", x);
  MlirValue inside = zb_build2(b, "less", size, one), safe = zb_build_where(n->b, inside, x, number(n, wide, 0));
  MlirValue rest = zb_build2(b, "mul", zb_build2(b, "sub", one, safe), zb_build2(b, "add", one, safe));
  MlirValue w = zb_build1(b, "neg", zb_build1(b, "log", rest)), five = number(n, wide, 5);
  MlirValue is_center = zb_build2(b, "less", w, five);
  MlirValue near = polynomial(n, wide, zb_build2(b, "sub", w, number(n, wide, 2.5)), center, 9);
  MlirValue root = zb_build1(b, "sqrt", zb_build_where(n->b, is_center, five, w));
  MlirValue far = polynomial(n, wide, zb_build2(b, "sub", root, number(n, wide, 3)), tail, 9);
  MlirValue out = zb_build2(b, "mul", zb_build_where(n->b, is_center, near, far), safe);
  for (int i = 0; i < 2 && wide == ZB_F64; ++i) {
    MlirValue off = zb_build2(b, "sub", zb_build1(b, "erf", out), safe);
    MlirValue slope = zb_build1(b, "exp", zb_build1(b, "neg", zb_build2(b, "mul", out, out)));
    slope = zb_build2(b, "mul", slope, number(n, wide, 1.12837916709551257390));
    out = zb_build2(b, "sub", out, zb_build2(b, "div", off, slope));
  }
  /* 1 and -1 give infinity, what is beyond NaN: constants, whose gradient is none. */
  MlirValue endless = zb_build_where(n->b, zb_build2(b, "less", x, number(n, wide, 0)), number(n, wide, -INFINITY),
                                     number(n, wide, INFINITY));
  MlirValue edge = zb_build_where(n->b, zb_build2(b, "equal", size, one), endless, number(n, wide, NAN));
  return zb_import_give(n, 0, zb_build_cast(b, zb_build_where(n->b, inside, out, edge), narrow));
}

/* ---- Bits ---- */

/* Between types of one width. Integers of 8 and 16 bits are the numbers that they are, so their sign is moved. */
zb_result zb_stablehlo_bitcast(zb_import_node *n) {
  zb_shape from, to;
  const zb_stablehlo_integer source = zb_stablehlo_operand_integer(n, 0), result = zb_stablehlo_result_integer(n, 0);
  MlirValue x = zb_import_ir(n, 0);
  if (!zb_import_ir_shape(n, x, &from) || !zb_stablehlo_result_shape(n, 0, &to)) return ZB_FAIL;
  const int from_bits = source.bits ? source.bits : from.dtype == ZB_I1 ? 1 : 8 * (int)zb_dtype_bytes(from.dtype);
  const int to_bits = result.bits ? result.bits : to.dtype == ZB_I1 ? 1 : 8 * (int)zb_dtype_bytes(to.dtype);
  if (from_bits != to_bits) return zb_import_refuse(n, NULL, "bits of a type of %d as one of %d", from_bits, to_bits);
  if (from.dtype == to.dtype && !source.bits) return zb_import_give(n, 0, x);
  zb_dtype held = source.bits ? from.dtype : from_bits == 64 ? ZB_I64 : ZB_I32;
  if (!source.bits) x = zb_stablehlo_as_bits(n, x, held);
  if (result.bits) {
    x = zb_build_cast(n->b, x, to.dtype);
    return zb_import_give(n, 0, zb_stablehlo_wrapped(n, x, result));
  }
  /* ui32 is held in i64, and its bits are those of an i32 */
  if (source.bits && from_bits < 64 && held == ZB_I64)
    x = zb_build_cast(n->b, zb_stablehlo_wrapped_as(n, x, 32), ZB_I32);
  return zb_import_give(n, 0, zb_stablehlo_as_bits(n, x, to.dtype));
}

/* ---- Precision ---- */

/* Fraction and exponent of the width that is named. What the type itself has stays. */
zb_result zb_stablehlo_precision(zb_import_node *n) {
  static const struct {
    zb_dtype dtype;
    int exponent, mantissa;
  } types[] = {{ZB_F64, 11, 52}, {ZB_F32, 8, 23}, {ZB_BF16, 8, 7}, {ZB_F16, 5, 10}};
  int64_t exponent, mantissa;
  zb_shape shape;
  MlirValue x = zb_import_ir(n, 0);
  if (!zb_import_ir_shape(n, x, &shape) || !zb_stablehlo_int(n, "exponent_bits", &exponent) ||
      !zb_stablehlo_int(n, "mantissa_bits", &mantissa))
    return ZB_FAIL;
  for (size_t i = 0; i < sizeof types / sizeof *types; ++i)
    if (types[i].dtype == shape.dtype && exponent >= types[i].exponent && mantissa >= types[i].mantissa)
      return zb_import_give_value(n, 0, n->inputs[0]);
  for (size_t i = 0; i < sizeof types / sizeof *types; ++i)
    if (types[i].exponent == exponent && types[i].mantissa == mantissa)
      return zb_import_give(n, 0, zb_build_cast(n->b, zb_build_cast(n->b, x, types[i].dtype), shape.dtype));
  return zb_import_refuse(n, "round as a type: e8m23, e8m7, e5m10", "e%dm%d is no type that is known", (int)exponent,
                          (int)mantissa);
}
