/* Activations of zb-raise: GELU (tanh and erf forms), SiLU, its gate of another value (SwiGLU), and powers with a small
 * constant exponent. */

#include "passes/graph/raise_match.h"

#include <math.h>

enum { FACTORS_MAX = 4 };

/* The factors of a product of up to FACTORS_MAX, through products that nobody else reads. */
typedef struct factors {
  MlirValue items[FACTORS_MAX];
  int count;
} factors;

static bool collect_factors(MlirValue value, int depth, factors *out) {
  MlirOperation mul = depth > 0 ? zb_inner(value, "zb.mul") : zb_producer_named(value, "zb.mul");
  if (mlirOperationIsNull(mul) || depth >= FACTORS_MAX) {
    if (out->count == FACTORS_MAX) return false;
    out->items[out->count++] = value;
    return true;
  }
  return collect_factors(mlirOperationGetOperand(mul, 0), depth + 1, out) &&
         collect_factors(mlirOperationGetOperand(mul, 1), depth + 1, out);
}

/* 1 + f(inner) with f tanh or erf: gives inner. */
static bool one_plus(MlirValue value, const char *function, MlirValue *inner) {
  MlirValue call;
  double one;
  if (zb_inner_with_scalar(value, "zb.add", true, &call, &one) && one == 1)
    *inner = zb_inner_operand(call, function, 0);
  return !mlirValueIsNull(*inner);
}

static bool inner_matches(MlirValue inner, MlirValue x, bool tanh_form) {
  zb_polynomial p;
  const double root_2_over_pi = 0.79788456080286541, root_half = 0.70710678118654752;
  if (!zb_value_used_once(inner) || !zb_polynomial_of(inner, x, 0, &p) || p.c[0] != 0 || p.c[2] != 0) return false;
  if (!tanh_form) return zb_near(p.c[1], root_half) && p.c[3] == 0;
  return zb_near(p.c[1], root_2_over_pi) && zb_near(p.c[3], root_2_over_pi * 0.044715);
}

/* x * 0.5 * (1 + f(..)) in any order and grouping; the factor that is neither the number nor the bracket is x. */
zb_raised zb_raise_gelu(const zb_raise *r) {
  factors f = {0};
  double half = 1, number;
  MlirValue x = {0}, inner = {0};
  bool tanh_form = false;
  if (!zb_op_is(r->root, "zb.mul") || !collect_factors(mlirOperationGetResult(r->root, 0), 0, &f)) return ZB_RAISED_NOT;
  for (int i = 0; i < f.count; ++i) {
    bool is_tanh = mlirValueIsNull(inner) && one_plus(f.items[i], "zb.tanh", &inner);
    tanh_form |= is_tanh;
    if (is_tanh || (mlirValueIsNull(inner) && one_plus(f.items[i], "zb.erf", &inner))) continue;
    if (zb_scalar_constant(f.items[i], &number)) {
      half *= number;
      continue;
    }
    if (!mlirValueIsNull(x)) return ZB_RAISED_NOT;
    x = f.items[i];
  }
  if (mlirValueIsNull(x) || mlirValueIsNull(inner) || !zb_near(half, 0.5) || !inner_matches(inner, x, tanh_form))
    return ZB_RAISED_NOT;
  if (!zb_raise_has_type(r, x)) return ZB_RAISED_NOT;
  zb_attr attribute = zb_bool("tanh", true);
  return zb_raise_replace(r, "gelu", &x, 1, &attribute, tanh_form ? 1 : 0);
}

/* x * sigmoid(alpha * x). */
zb_raised zb_raise_silu(const zb_raise *r) {
  if (!zb_op_is(r->root, "zb.mul")) return ZB_RAISED_NOT;
  for (int side = 0; side < 2; ++side) {
    MlirValue x = zb_raise_operand(r, 1 - side), scaled;
    MlirValue argument = zb_inner_operand(zb_raise_operand(r, side), "zb.sigmoid", 0);
    double alpha = 1;
    if (mlirValueIsNull(argument)) continue;
    if (!mlirValueEqual(argument, x) &&
        !(zb_inner_with_scalar(argument, "zb.mul", true, &scaled, &alpha) && mlirValueEqual(scaled, x)))
      continue;
    if (!zb_raise_has_type(r, x)) continue;
    zb_attr attribute = zb_float("alpha", alpha);
    return zb_raise_replace(r, "silu", &x, 1, &attribute, alpha == 1 ? 0 : 1);
  }
  return ZB_RAISED_NOT;
}

/* silu(gate) * up of one type. The gradient computes silu(gate) again, so nobody keeps it. */
zb_raised zb_raise_swiglu(const zb_raise *r) {
  if (!zb_op_is(r->root, "zb.mul")) return ZB_RAISED_NOT;
  for (int side = 0; side < 2; ++side) {
    MlirOperation silu = zb_inner(zb_raise_operand(r, side), "zb.silu");
    zb_op_view view;
    zb_op_view_storage storage;
    if (mlirOperationIsNull(silu) || !zb_op_view_get(silu, &view, &storage) ||
        zb_attr_float(&view.attrs, "alpha", 1) != 1)
      continue;
    MlirValue operands[] = {mlirOperationGetOperand(silu, 0), zb_raise_operand(r, 1 - side)};
    if (!zb_same_type(operands[0], operands[1])) continue;
    return zb_raise_replace(r, "swiglu", operands, 2, NULL, 0);
  }
  return ZB_RAISED_NOT;
}

/* pow(x, 2) = x*x, pow(x, 3) = x*x*x, pow(x, 0.5) = sqrt(x), pow(x, -1) = 1/x: what no other pattern took. */
zb_raised zb_raise_power(const zb_raise *r) {
  double exponent;
  if (!zb_op_is(r->root, "zb.pow") || !zb_scalar_constant(zb_raise_operand(r, 1), &exponent)) return ZB_RAISED_NOT;
  MlirValue x = zb_raise_operand(r, 0);
  if (!zb_raise_has_type(r, x)) return ZB_RAISED_NOT;
  if (exponent == 0.5) return zb_raise_replace(r, "sqrt", &x, 1, NULL, 0);
  if (exponent == -1) return zb_raise_replace(r, "reciprocal", &x, 1, NULL, 0);
  if (exponent == 2) return zb_raise_replace(r, "mul", (MlirValue[]){x, x}, 2, NULL, 0);
  if (exponent != 3) return ZB_RAISED_NOT;
  MlirNamedAttribute mark;
  zb_builder builder = zb_builder_marked(r->root, r->root, &mark);
  MlirValue square = zb_build2(&builder, "mul", x, x);
  return zb_raise_finish(&builder, r->root, builder.failed ? square : zb_build2(&builder, "mul", square, x));
}
