/* Elementwise formulas that are no op of zb, or more than one. Tests: test/e2e/points.py, test/e2e/meaning.py. */
#include "ir/import/meaning/meaning.h"

#include <float.h>
#include <math.h>
#include <string.h>

zb_operand zb_meaning_line(zb_import_node *n, zb_operand x, double factor, double shift) {
  if (factor != 1) x = zb_operand_apply2(n, "mul", x, zb_operand_number(n, x, factor));
  return shift != 0 ? zb_operand_apply2(n, "add", x, zb_operand_number(n, x, shift)) : x;
}

/* ---- Formulas of one variable ---- */

static zb_operand exp2_of(zb_import_node *n, zb_operand x) {
  return zb_operand_apply2(n, "pow", zb_operand_number(n, x, 2), x);
}

static zb_operand is_finite(zb_import_node *n, zb_operand x) {
  zb_operand is_nan = zb_operand_apply1(n, "is_nan", x);
  return zb_operand_apply1(n, "not", zb_operand_apply2(n, "or", zb_operand_apply1(n, "is_inf", x), is_nan));
}

static zb_operand log_by(zb_import_node *n, zb_operand x, double divisor) {
  return zb_operand_apply2(n, "div", zb_operand_apply1(n, "log", x), zb_operand_number(n, x, divisor));
}

static zb_operand log2_of(zb_import_node *n, zb_operand x) { return log_by(n, x, 0.693147180559945309417); }
static zb_operand log10_of(zb_import_node *n, zb_operand x) { return log_by(n, x, 2.302585092994045684018); }

static zb_operand log_sigmoid(zb_import_node *n, zb_operand x) {
  return zb_operand_apply1(n, "neg", zb_operand_apply1(n, "softplus", zb_operand_apply1(n, "neg", x)));
}

static zb_operand square(zb_import_node *n, zb_operand x) { return zb_operand_apply2(n, "mul", x, x); }

static zb_operand trunc_of(zb_import_node *n, zb_operand x) {
  zb_operand whole = zb_operand_apply1(n, "floor", zb_operand_apply1(n, "abs", x));
  return zb_operand_apply2(n, "mul", zb_operand_apply1(n, "sign", x), whole);
}

static const struct {
  const char *name;
  zb_operand (*of)(zb_import_node *n, zb_operand x);
} formulas[] = {
    {"exp2", exp2_of},  {"is_finite", is_finite}, {"log10", log10_of}, {"log2", log2_of}, {"log_sigmoid", log_sigmoid},
    {"square", square}, {"trunc", trunc_of},
};

zb_operand zb_meaning_unary(zb_import_node *n, const char *name, zb_operand x, const zb_attr *attrs, int attr_count) {
  for (size_t i = 0; i < sizeof formulas / sizeof *formulas; ++i)
    if (strcmp(formulas[i].name, name) == 0) return x ? formulas[i].of(n, x) : NULL;
  return zb_operand_apply(n, name, &x, 1, attrs, attr_count);
}

/* ---- Others ---- */

zb_operand zb_meaning_sign(zb_import_node *n, zb_operand x) {
  return zb_operand_where(n, zb_operand_apply1(n, "is_nan", x), zb_operand_scalar(n, ZB_F32, 0),
                          zb_operand_apply1(n, "sign", x));
}

/* f32 holds only the first digits of y: x^y = x^f32(y) (1 + (y - f32(y)) log x). */
zb_operand zb_meaning_power(zb_import_node *n, zb_operand x, double y) {
  zb_operand out = zb_operand_apply2(n, "pow", x, zb_operand_scalar(n, ZB_F32, y));
  const double rest = y - (double)(float)y;
  if (rest == 0 || !isfinite(y)) return out;
  const zb_attr range[] = {zb_float("min", FLT_MIN), zb_float("max", FLT_MAX)};
  zb_operand factor = zb_operand_apply1(n, "log", zb_operand_apply(n, "clip", &x, 1, range, 2));
  factor = zb_operand_apply2(n, "mul", factor, zb_operand_scalar(n, ZB_F32, rest));
  return zb_operand_apply2(n, "mul", out, zb_operand_apply2(n, "add", factor, zb_operand_scalar(n, ZB_F32, 1)));
}

zb_operand zb_meaning_softplus(zb_import_node *n, zb_operand x, double beta, double threshold) {
  if (threshold < 17)
    return zb_import_refuse(n, "leave it at 20", "a threshold of %g is not supported", threshold), NULL;
  if (beta == 1) return zb_operand_apply1(n, "softplus", x);
  zb_operand factor = zb_operand_number(n, x, beta), inner = zb_operand_apply2(n, "mul", x, factor);
  zb_operand y = zb_operand_apply2(n, "div", zb_operand_apply1(n, "softplus", inner), factor);
  zb_operand is_line = zb_operand_apply2(n, "greater", inner, zb_operand_number(n, x, threshold));
  return zb_operand_where(n, is_line, x, y);
}

/* zb.clip is of floats: whole numbers are compared. */
zb_operand zb_meaning_clip(zb_import_node *n, zb_operand x, double low, double high) {
  zb_attr attrs[2];
  zb_shape in;
  int count = 0;
  if (!zb_operand_shape(n, x, &in)) return NULL;
  const bool is_whole = in.dtype == ZB_I64 || in.dtype == ZB_I32 || in.dtype == ZB_I1;
  if (!isinf(low)) attrs[count++] = zb_float("min", low);
  if (!isinf(high)) attrs[count++] = zb_float("max", high);
  if (!is_whole) return count ? zb_operand_apply(n, "clip", &x, 1, attrs, count) : x;
  if (!isinf(low)) x = zb_operand_apply2(n, "max", x, zb_operand_number(n, x, low));
  return isinf(high) ? x : zb_operand_apply2(n, "min", x, zb_operand_number(n, x, high));
}

zb_operand zb_meaning_hardtanh(zb_import_node *n, zb_operand x, double low, double high) {
  zb_operand least = zb_operand_number(n, x, low), most = zb_operand_number(n, x, high);
  x = zb_operand_where(n, zb_operand_apply2(n, "less_equal", x, least), least, x);
  return zb_operand_where(n, zb_operand_apply2(n, "greater_equal", x, most), most, x);
}

zb_operand zb_meaning_compare(zb_import_node *n, const char *op, zb_operand a, zb_operand b) {
  const bool differs = strcmp(op, "differs") == 0;
  zb_operand out = zb_operand_apply2(n, differs ? "equal" : op, a, b);
  return differs ? zb_operand_apply1(n, "not", out) : out;
}

zb_operand zb_meaning_floored_quotient(zb_import_node *n, zb_operand x, zb_operand y) {
  const zb_attr attr = zb_bool("fmod", true);
  zb_operand zero = zb_operand_number(n, y, 0), one = zb_operand_number(n, y, 1);
  zb_operand rest = zb_operand_apply(n, "mod", (zb_operand[]){x, y}, 2, &attr, 1);
  zb_operand whole = zb_operand_apply2(n, "div", zb_operand_apply2(n, "sub", x, rest), y);
  zb_operand signs = zb_operand_apply2(n, "mul", zb_operand_apply1(n, "sign", rest), zb_operand_apply1(n, "sign", y));
  whole =
      zb_operand_where(n, zb_operand_apply2(n, "less", signs, zero), zb_operand_apply2(n, "sub", whole, one), whole);
  zb_operand by_zero = zb_operand_apply2(n, "equal", y, zero);
  return zb_operand_where(n, by_zero, zb_operand_apply2(n, "div", x, y), zb_operand_apply1(n, "round", whole));
}

zb_operand zb_meaning_rest(zb_import_node *n, zb_operand x, zb_operand y, bool is_truncated) {
  const zb_attr attr = zb_bool("fmod", is_truncated);
  zb_shape shape;
  zb_operand rest = zb_operand_apply(n, "mod", (zb_operand[]){x, y}, 2, &attr, 1), quotient;
  if (!rest || !zb_operand_shape(n, rest, &shape)) return NULL;
  if (rest->known || shape.dtype == ZB_I64 || shape.dtype == ZB_I32) return rest;
  quotient = is_truncated ? trunc_of(n, zb_operand_apply2(n, "div", x, y)) : zb_meaning_floored_quotient(n, x, y);
  rest = zb_operand_with_slope(n, zb_operand_apply1(n, "detach", rest), x, zb_operand_scalar(n, shape.dtype, 1));
  return zb_operand_with_slope(n, rest, y, zb_operand_apply1(n, "neg", quotient));
}

/* From a weight of 1/2 on from the end, which it is at 1: an end and a share of the way are chosen, so that what is not
 * taken has no gradient. */
zb_operand zb_meaning_lerp(zb_import_node *n, zb_operand start, zb_operand end, zb_operand weight) {
  zb_operand way = zb_operand_apply2(n, "sub", end, start);
  if (!weight) return NULL;
  if (weight->known && weight->known->elements == 1) {
    const double share = zb_known_real(weight->known, 0);
    const bool is_near = fabs(share) < 0.5;
    way = zb_operand_apply2(n, "mul", way, zb_operand_number(n, start, is_near ? share : share - 1));
    return zb_operand_apply2(n, "add", is_near ? start : end, way);
  }
  zb_operand half = zb_operand_number(n, weight, 0.5), rest = zb_meaning_line(n, weight, 1, -1);
  zb_operand is_near = zb_operand_apply2(n, "less", zb_operand_apply1(n, "abs", weight), half);
  way = zb_operand_apply2(n, "mul", way, zb_operand_where(n, is_near, weight, rest));
  return zb_operand_apply2(n, "add", zb_operand_where(n, is_near, start, end), way);
}

zb_operand zb_meaning_glu(zb_import_node *n, zb_operand x, int axis) {
  zb_shape in;
  if (!zb_operand_shape(n, x, &in)) return NULL;
  if (in.dims[axis] % 2) return zb_import_refuse(n, NULL, "dimension %d cannot be halved", axis), NULL;
  const int64_t half = in.dims[axis] / 2;
  zb_operand gate = zb_operand_apply1(n, "sigmoid", zb_operand_part(n, x, axis, half, half));
  return zb_operand_apply2(n, "mul", zb_operand_part(n, x, axis, 0, half), gate);
}
