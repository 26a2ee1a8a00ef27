/* Elementwise ops of one and of two operands, zb.where and zb.cast, with their gradients: one row of the tables below
 * an op.
 *
 * A unary gradient is one kernel that reads what F keeps: the operand or the result, whichever its formula needs. A
 * binary gradient is COMPOSITE: each result is built from other ops and summed over what was broadcast.
 *
 * Tests: test/ir/ops/elementwise.mlir, test/ir/split_test.c.
 */
#include "ir/ops/support.h"

#include "ir/placement.h"

/* ---- One operand ---- */

/* What the column `kinds` of the tables stands for; classified: reals in, i1 out. */
enum {
  CLASSIFIED = ZB_ANY_DTYPE + 1,
  KINDS_reals = ZB_REALS,
  KINDS_numbers = ZB_REALS | ZB_INTEGERS,
  KINDS_integers = ZB_INTEGERS,
  KINDS_logic = ZB_LOGIC,
  KINDS_classified = ZB_REALS | CLASSIFIED
};

static zb_result infer_unary(const zb_op_view *op, zb_shape *results, zb_op_error *error) {
  results[0] = op->operands[0];
  if (op->def->kinds & CLASSIFIED) results[0].dtype = ZB_I1;
  return zb_check_dtype(op, 0, op->def->kinds & ZB_ANY_DTYPE, "C1", error);
}

static zb_result infer_unary_grad(const zb_op_view *op, zb_shape *results, zb_op_error *error) {
  if (!zb_check_dtype(op, 0, ZB_REALS, "C1", error)) return ZB_FAIL;
  if (!zb_check_same_type(op, 1, 0, "C2", error)) return ZB_FAIL;
  results[0] = op->operands[0];
  return ZB_OK;
}

/* zb.neg needs nothing saved. */
static void grad_neg(zb_gradient *g) { g->din[0] = zb_build1(g->b, "neg", g->dout[0]); }

#define OPTIONAL_FLOAT(NAME, DEFAULT, HELP) {NAME, ZB_ATTR_FLOAT, true, DEFAULT, HELP}
#define NO_ATTRS NULL

/* X(name, kinds, mixed, saved, gradient, flops, attributes, meaning). flops: per element, transcendental functions
 * count as 8. mixed: what PyTorch's autocast keeps in f32 is FULL. */
#define UNARY_OPS(X)                                                                                                   \
  X(abs, numbers, FOLLOW, x, zb_grad_named, 1, NO_ATTRS, "|x|; gradient 0 at 0.")                                      \
  X(acos, reals, FULL, x, zb_grad_named, 8, NO_ATTRS, "Inverse cosine.")                                               \
  X(acosh, reals, FOLLOW, x, zb_grad_named, 8, NO_ATTRS, "Inverse hyperbolic cosine.")                                 \
  X(asin, reals, FULL, x, zb_grad_named, 8, NO_ATTRS, "Inverse sine.")                                                 \
  X(asinh, reals, FOLLOW, x, zb_grad_named, 8, NO_ATTRS, "Inverse hyperbolic sine.")                                   \
  X(atan, reals, FOLLOW, x, zb_grad_named, 8, NO_ATTRS, "Inverse tangent.")                                            \
  X(atanh, reals, FOLLOW, x, zb_grad_named, 8, NO_ATTRS, "Inverse hyperbolic tangent.")                                \
  X(cos, reals, FOLLOW, x, zb_grad_named, 8, NO_ATTRS, "Cosine.")                                                      \
  X(cosh, reals, FULL, x, zb_grad_named, 8, NO_ATTRS, "Hyperbolic cosine.")                                            \
  X(celu, reals, FOLLOW, x, zb_grad_named, 10, ZB_ATTRS(OPTIONAL_FLOAT("alpha", 1, "slope scale left of 0")),          \
    "max(0, x) + min(0, alpha * (exp(x / alpha) - 1)).")                                                               \
  X(clip, numbers, FOLLOW, x, zb_grad_named, 2,                                                                        \
    ZB_ATTRS(OPTIONAL_FLOAT("min", -INFINITY, "lower bound"), OPTIONAL_FLOAT("max", INFINITY, "upper bound")),         \
    "min(max(x, min), max); the gradient passes where min <= x <= max.")                                               \
  X(elu, reals, FOLLOW, x, zb_grad_named, 10, ZB_ATTRS(OPTIONAL_FLOAT("alpha", 1, "scale left of 0")),                 \
    "x > 0 ? x : alpha * (exp(x) - 1).")                                                                               \
  X(erf, reals, FOLLOW, x, zb_grad_named, 8, NO_ATTRS, "Error function.")                                              \
  X(erfc, reals, FOLLOW, x, zb_grad_named, 8, NO_ATTRS, "1 - erf(x), with the digits of its tail.")                    \
  X(exp, reals, FULL, out, zb_grad_named, 8, NO_ATTRS, "e to the power of x.")                                         \
  X(expm1, reals, FULL, x, zb_grad_named, 8, NO_ATTRS, "exp(x) - 1, with the digits of small x.")                      \
  X(gelu, reals, FOLLOW, x, zb_grad_named, 14,                                                                         \
    ZB_ATTRS({"tanh", ZB_ATTR_BOOL, true, 0, "true: the tanh approximation; false: erf"}),                             \
    "0.5 x (1 + erf(x / sqrt 2)), or 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))).")                                \
  X(hard_sigmoid, reals, FOLLOW, x, zb_grad_named, 4,                                                                  \
    ZB_ATTRS(OPTIONAL_FLOAT("alpha", 0.2, "slope"), OPTIONAL_FLOAT("beta", 0.5, "value at 0")),                        \
    "max(0, min(1, alpha * x + beta)).")                                                                               \
  X(hard_swish, reals, FOLLOW, x, zb_grad_named, 5, NO_ATTRS, "x * max(0, min(1, x / 6 + 0.5)).")                      \
  X(leaky_relu, reals, FOLLOW, x, zb_grad_named, 2, ZB_ATTRS(OPTIONAL_FLOAT("alpha", 0.01, "slope left of 0")),        \
    "x < 0 ? alpha * x : x.")                                                                                          \
  X(log, reals, FULL, x, zb_grad_named, 8, NO_ATTRS, "Natural logarithm.")                                             \
  X(log1p, reals, FULL, x, zb_grad_named, 8, NO_ATTRS, "log(1 + x), with the digits of small x.")                      \
  X(mish, reals, FOLLOW, x, zb_grad_named, 18, NO_ATTRS, "x * tanh(softplus(x)).")                                     \
  X(neg, numbers, FOLLOW, out, grad_neg, 1, NO_ATTRS, "-x.")                                                           \
  X(reciprocal, reals, FULL, out, zb_grad_named, 1, NO_ATTRS, "1 / x.")                                                \
  X(relu, numbers, FOLLOW, out, zb_grad_named, 1, NO_ATTRS, "max(0, x); gradient 0 at 0.")                             \
  X(rsqrt, reals, FULL, out, zb_grad_named, 2, NO_ATTRS, "1 / sqrt(x).")                                               \
  X(selu, reals, FOLLOW, x, zb_grad_named, 10,                                                                         \
    ZB_ATTRS(OPTIONAL_FLOAT("alpha", 1.67326319217681884765625, "scale left of 0"),                                    \
             OPTIONAL_FLOAT("gamma", 1.05070102214813232421875, "scale of all")),                                      \
    "gamma * (x > 0 ? x : alpha * (exp(x) - 1)).")                                                                     \
  X(shrink, reals, FOLLOW, x, zb_grad_named, 3,                                                                        \
    ZB_ATTRS(OPTIONAL_FLOAT("bias", 0, "moved towards 0 by this"),                                                     \
             OPTIONAL_FLOAT("lambda", 0.5, "half width of the dead zone")),                                            \
    "x < -lambda ? x + bias : x > lambda ? x - bias : 0.")                                                             \
  X(sigmoid, reals, FOLLOW, out, zb_grad_named, 10, NO_ATTRS, "1 / (1 + exp(-x)).")                                    \
  X(silu, reals, FOLLOW, x, zb_grad_named, 12, ZB_ATTRS(OPTIONAL_FLOAT("alpha", 1, "factor inside the sigmoid")),      \
    "x * sigmoid(alpha * x).")                                                                                         \
  X(sin, reals, FOLLOW, x, zb_grad_named, 8, NO_ATTRS, "Sine.")                                                        \
  X(sinh, reals, FULL, x, zb_grad_named, 8, NO_ATTRS, "Hyperbolic sine.")                                              \
  X(softplus, reals, FULL, x, zb_grad_named, 16, NO_ATTRS, "log(1 + exp(x)), without overflow.")                       \
  X(softsign, reals, FOLLOW, x, zb_grad_named, 3, NO_ATTRS, "x / (1 + |x|).")                                          \
  X(sqrt, reals, FOLLOW, out, zb_grad_named, 1, NO_ATTRS, "Square root.")                                              \
  X(tan, reals, FULL, x, zb_grad_named, 8, NO_ATTRS, "Tangent.")                                                       \
  X(tanh, reals, FOLLOW, out, zb_grad_named, 8, NO_ATTRS, "Hyperbolic tangent.")                                       \
  X(thresholded_relu, reals, FOLLOW, x, zb_grad_named, 1, ZB_ATTRS(OPTIONAL_FLOAT("alpha", 1, "threshold")),           \
    "x > alpha ? x : 0.")

#define DOC_reals "C1: the element type of x is a float type.\n"
#define DOC_numbers "C1: the element type of x is a float type, i64 or i32.\n"
#define DOC_integers "C1: the element type of x is i64 or i32.\n"
#define DOC_logic "C1: the element type of x is i1.\n"
#define DOC_classified "C1: the element type of x is a float type. The result is i1.\n"

/* An op, without its gradient op. */
#define ROW(NAME, OPERANDS, DOC, TRAITS, MIXED, KINDS, INFER, FLOPS, ATTRIBUTES, GRADIENT, MEANING)                    \
  const zb_op_def zb_op_##NAME = {                                                                                     \
      ZB_ROW(NAME),                                                                                                    \
      .summary = MEANING,                                                                                              \
      .doc = DOC,                                                                                                      \
      .operands = OPERANDS,                                                                                            \
      .results = "out",                                                                                                \
      .attrs = ATTRIBUTES,                                                                                             \
      .traits = ZB_TRAIT_PURE | ZB_TRAIT_ELEMENTWISE | (TRAITS),                                                       \
      .mixed = ZB_MIXED_##MIXED,                                                                                       \
      .kinds = KINDS,                                                                                                  \
      .infer = INFER,                                                                                                  \
      .flops = FLOPS,                                                                                                  \
      .grad = GRADIENT,                                                                                                \
      .place = zb_place_elementwise,                                                                                   \
  };

#define UNARY_ROWS(NAME, KINDS, MIXED, SAVED, GRADIENT, FLOPS, ATTRIBUTES, MEANING)                                    \
  ROW(NAME, "x", DOC_##KINDS, 0, MIXED, KINDS_##KINDS, infer_unary, FLOPS, ATTRIBUTES, GRADIENT, MEANING)              \
  const zb_op_def zb_op_##NAME##_grad = {                                                                              \
      ZB_ROW(NAME##_grad),                                                                                             \
      .summary = "Gradient of zb." #NAME ".",                                                                          \
      .doc = "C1: the element type of " #SAVED " is a float type. C2: dout has the type of " #SAVED ".\n",             \
      .operands = #SAVED ", dout",                                                                                     \
      .results = "dx",                                                                                                 \
      .attrs = ATTRIBUTES,                                                                                             \
      .traits = ZB_TRAIT_PURE | ZB_TRAIT_ELEMENTWISE,                                                                  \
      .infer = infer_unary_grad,                                                                                       \
      .flops = (FLOPS) + 2,                                                                                            \
  };
UNARY_OPS(UNARY_ROWS)

/* X(name, kinds, attributes, meaning): no gradient op, gradient zero or no real function. */
#define UNARY_FLAT_OPS(X)                                                                                              \
  X(ceil, reals, NO_ATTRS, "Least integer that is not less than x.")                                                   \
  X(floor, reals, NO_ATTRS, "Greatest integer that is not greater than x.")                                            \
  X(round, reals, NO_ATTRS, "Nearest integer, half to even.")                                                          \
  X(sign, numbers, NO_ATTRS, "-1, 0 or 1.")                                                                            \
  X(detach, reals, NO_ATTRS, "x itself, of which no gradient is taken.")                                               \
  X(is_inf, classified,                                                                                                \
    ZB_ATTRS({"detect_negative", ZB_ATTR_BOOL, true, 1, "whether -inf counts"},                                        \
             {"detect_positive", ZB_ATTR_BOOL, true, 1, "whether +inf counts"}),                                       \
    "Whether x is infinite.")                                                                                          \
  X(is_nan, classified, NO_ATTRS, "Whether x is not a number.")                                                        \
  X(not, logic, NO_ATTRS, "Logical not.")                                                                              \
  X(bitwise_not, integers, NO_ATTRS, "All bits inverted.")

#define UNARY_FLAT_ROWS(NAME, KINDS, ATTRIBUTES, MEANING)                                                              \
  ROW(NAME, "x", DOC_##KINDS, ZB_TRAIT_ZERO_GRADIENT, FOLLOW, KINDS_##KINDS, infer_unary, 1, ATTRIBUTES, NULL, MEANING)
UNARY_FLAT_OPS(UNARY_FLAT_ROWS)

/* ---- Two operands ---- */

static zb_result broadcast_operands(const zb_op_view *op, int lhs, int rhs, zb_shape *out, const char *label,
                                    zb_op_error *error) {
  char a[96], b[96];
  if (zb_broadcast(&op->operands[lhs], &op->operands[rhs], out)) return ZB_OK;
  return zb_op_fail(error, "dimensions are aligned at the end; each pair must be equal or contain a 1",
                    "the shapes do not broadcast: expected fitting dimensions, got %s and %s (%s)",
                    zb_shape_text(&op->operands[lhs], a), zb_shape_text(&op->operands[rhs], b), label);
}

static zb_result infer_binary(const zb_op_view *op, zb_shape *results, zb_op_error *error) {
  if (!zb_check_dtype(op, 0, op->def->kinds, "C1", error)) return ZB_FAIL;
  if (!zb_check_same_dtype(op, 1, 0, "C2", error)) return ZB_FAIL;
  results[0].dtype = op->operands[0].dtype;
  return broadcast_operands(op, 0, 1, &results[0], "C3", error);
}

static zb_result infer_comparison(const zb_op_view *op, zb_shape *results, zb_op_error *error) {
  if (!zb_check_same_dtype(op, 1, 0, "C1", error)) return ZB_FAIL;
  results[0].dtype = ZB_I1;
  return broadcast_operands(op, 0, 1, &results[0], "C2", error);
}

static zb_result infer_binary_grad(const zb_op_view *op, zb_shape *results, zb_op_error *error) {
  zb_shape out;
  if (!infer_binary(op, &out, error)) return ZB_FAIL;
  results[0] = op->operands[0];
  results[1] = op->operands[1];
  return zb_check_type(op, 2, &out, "the broadcast type of lhs and rhs", "C4", error);
}

/* The operands of a binary gradient and the builder, for its split rule. */
typedef struct binary {
  zb_builder *b;
  MlirValue lhs, rhs, dout;
  zb_dtype dtype;
} binary;

static MlirValue scalar(const binary *g, double value) { return zb_build_scalar(g->b, g->dtype, value); }

static MlirValue split_add(const binary *g, int result ZB_UNUSED) { return g->dout; }

static MlirValue split_sub(const binary *g, int result) {
  return result == 0 ? g->dout : zb_build1(g->b, "neg", g->dout);
}

static MlirValue split_mul(const binary *g, int result) {
  return zb_build2(g->b, "mul", g->dout, result == 0 ? g->rhs : g->lhs);
}

/* d/drhs = -dout * (lhs / rhs) / rhs, which does not overflow where rhs^2 would. */
static MlirValue split_div(const binary *g, int result) {
  if (result == 0) return zb_build2(g->b, "div", g->dout, g->rhs);
  MlirValue quotient = zb_build2(g->b, "div", zb_build2(g->b, "div", g->lhs, g->rhs), g->rhs);
  return zb_build1(g->b, "neg", zb_build2(g->b, "mul", g->dout, quotient));
}

/* dlhs = dout * rhs * lhs^(rhs - 1), 0 where rhs is 0; drhs = dout * lhs^rhs * log(lhs), 0 where lhs is 0 and rhs not
 * below, and no number where lhs is below 0. The untaken side of zb.where may be NaN: it selects. */
static MlirValue split_pow(const binary *g, int result) {
  MlirValue zero = scalar(g, 0);
  if (result == 0) {
    MlirValue power = zb_build2(g->b, "pow", g->lhs, zb_build2(g->b, "sub", g->rhs, scalar(g, 1)));
    MlirValue gradient = zb_build2(g->b, "mul", g->dout, zb_build2(g->b, "mul", g->rhs, power));
    return zb_build_where(g->b, zb_build2(g->b, "equal", g->rhs, zero), zero, gradient);
  }
  MlirValue power = zb_build2(g->b, "pow", g->lhs, g->rhs);
  MlirValue slope = zb_build2(g->b, "mul", power, zb_build1(g->b, "log", g->lhs));
  MlirValue gradient = zb_build2(g->b, "mul", g->dout, slope);
  MlirValue is_zero = zb_build2(g->b, "equal", g->lhs, zero), grows = zb_build2(g->b, "greater_equal", g->rhs, zero);
  return zb_build_where(g->b, zb_build2(g->b, "and", is_zero, grows), zero, gradient);
}

/* The greater operand takes all, equal ones half each. `wins` is the comparison with which lhs is taken. */
static MlirValue split_extreme(const binary *g, int result, const char *wins) {
  MlirValue taken = result == 0 ? zb_build2(g->b, wins, g->lhs, g->rhs) : zb_build2(g->b, wins, g->rhs, g->lhs);
  MlirValue half = zb_build2(g->b, "mul", g->dout, scalar(g, 0.5));
  MlirValue clear = zb_build_where(g->b, taken, g->dout, scalar(g, 0));
  return zb_build_where(g->b, zb_build2(g->b, "equal", g->lhs, g->rhs), half, clear);
}

static MlirValue split_max(const binary *g, int result) { return split_extreme(g, result, "greater"); }

static MlirValue split_min(const binary *g, int result) { return split_extreme(g, result, "less"); }

static MlirValue split_prelu(const binary *g, int result) {
  MlirValue zero = scalar(g, 0), positive = zb_build2(g->b, "greater", g->lhs, zero);
  if (result == 0) return zb_build_where(g->b, positive, g->dout, zb_build2(g->b, "mul", g->dout, g->rhs));
  return zb_build_where(g->b, positive, zero, zb_build2(g->b, "mul", g->dout, g->lhs));
}

static MlirValue split_binary(zb_builder *b, MlirOperation op, int result, MlirValue (*rule)(const binary *, int)) {
  binary g = {.b = b, .lhs = zb_operand(op, 0), .rhs = zb_operand(op, 1), .dout = zb_operand(op, 2)};
  zb_shape shape = zb_value_shape(result == 0 ? g.lhs : g.rhs);
  g.dtype = shape.dtype;
  MlirValue whole = rule(&g, result);
  return b->failed ? whole : zb_build_sum_to(b, whole, &shape);
}

/* X(name, kinds, mixed, traits, flops, meaning) */
#define BINARY_OPS(X)                                                                                                  \
  X(add, numbers, FOLLOW, ZB_TRAIT_COMMUTATIVE | ZB_TRAIT_LINEAR, 1, "lhs + rhs.")                                     \
  X(sub, numbers, FOLLOW, ZB_TRAIT_LINEAR, 1, "lhs - rhs.")                                                            \
  X(mul, numbers, FOLLOW, ZB_TRAIT_COMMUTATIVE, 1, "lhs * rhs.")                                                       \
  X(div, numbers, FOLLOW, 0, 1, "lhs / rhs; integers truncate, division by 0 is an error.")                            \
  X(pow, reals, FULL, 0, 16, "lhs to the power of rhs.")                                                               \
  X(max, numbers, FOLLOW, ZB_TRAIT_COMMUTATIVE, 1, "The greater one; NaN if either is.")                               \
  X(min, numbers, FOLLOW, ZB_TRAIT_COMMUTATIVE, 1, "The smaller one; NaN if either is.")                               \
  X(prelu, reals, FOLLOW, 0, 2, "lhs >= 0 ? lhs : rhs * lhs; rhs is the slope, at 0 too.")

#define BINARY_DOC_reals "C1: the element type of lhs is a float type."
#define BINARY_DOC_numbers "C1: the element type of lhs is a float type, i64 or i32."
#define BINARY_DOC_integers "C1: the element type of lhs is i64 or i32."
#define BINARY_DOC_logic "C1: the element type of lhs is i1."

#define BINARY_ROW(NAME, KINDS, TRAITS, MIXED, FLOPS, ATTRIBUTES, GRADIENT, MEANING)                                   \
  ROW(NAME, "lhs, rhs", BINARY_DOC_##KINDS " C2: rhs has the element type of lhs. C3: the shapes broadcast.\n",        \
      TRAITS, MIXED, KINDS_##KINDS, infer_binary, FLOPS, ATTRIBUTES, GRADIENT, MEANING)
#define BINARY_ROWS(NAME, KINDS, MIXED, TRAITS, FLOPS, MEANING)                                                        \
  static MlirValue split_##NAME##_grad(zb_builder *b, MlirOperation op, int result) {                                  \
    return split_binary(b, op, result, split_##NAME);                                                                  \
  }                                                                                                                    \
  BINARY_ROW(NAME, KINDS, TRAITS, MIXED, FLOPS, NO_ATTRS, zb_grad_named, MEANING)                                      \
  const zb_op_def zb_op_##NAME##_grad = {                                                                              \
      ZB_ROW(NAME##_grad),                                                                                             \
      .summary = "Gradients of zb." #NAME ", each summed over what was broadcast.",                                    \
      .doc = "C1: the element type of lhs is a float type. C2: rhs has the element type of lhs. C3: the shapes "       \
             "broadcast. C4: dout has the broadcast type.\n",                                                          \
      .operands = "lhs, rhs, dout",                                                                                    \
      .results = "dlhs, drhs",                                                                                         \
      .traits = ZB_TRAIT_PURE,                                                                                         \
      .kinds = ZB_REALS,                                                                                               \
      .infer = infer_binary_grad,                                                                                      \
      .flops = 2 * (FLOPS) + 2,                                                                                        \
      .counted = ZB_OPERAND(2),                                                                                        \
      .split = split_##NAME##_grad,                                                                                    \
  };
BINARY_OPS(BINARY_ROWS)

/* The gradient of a formula where that of what computes it is no number, or is not what frameworks give there:
 *
 *   y = zb.detach(f(x)) + zb.slope(x, f'(x))
 *
 * It is a zero of negative sign, so that adding it changes nothing. */
static void grad_slope(zb_gradient *g) {
  MlirValue whole = zb_build2(g->b, "mul", g->dout[0], zb_operand(g->op, 1));
  if (g->needs[0] && !g->b->failed) g->din[0] = zb_build_sum_to(g->b, whole, &g->view.operands[0]);
}

BINARY_ROW(slope, reals, 0, FOLLOW, 1, NO_ATTRS, grad_slope, "-0, with the gradient rhs * dout for lhs.")

/* X(name, kinds, traits, attributes, meaning). zb.mod of floats has a gradient that is not written, so it has no
 * ZERO_GRADIENT. */
#define BINARY_FLAT_OPS(X)                                                                                             \
  X(mod, numbers, 0, ZB_ATTRS({"fmod", ZB_ATTR_BOOL, true, 0, "true: sign of the dividend; false: of the divisor"}),   \
    "Remainder of lhs / rhs.")                                                                                         \
  X(and, logic, ZB_TRAIT_COMMUTATIVE | ZB_TRAIT_ZERO_GRADIENT, NO_ATTRS, "Logical and.")                               \
  X(or, logic, ZB_TRAIT_COMMUTATIVE | ZB_TRAIT_ZERO_GRADIENT, NO_ATTRS, "Logical or.")                                 \
  X(xor, logic, ZB_TRAIT_COMMUTATIVE | ZB_TRAIT_ZERO_GRADIENT, NO_ATTRS, "Logical exclusive or.")                      \
  X(bitwise_and, integers, ZB_TRAIT_COMMUTATIVE | ZB_TRAIT_ZERO_GRADIENT, NO_ATTRS, "Bitwise and.")                    \
  X(bitwise_or, integers, ZB_TRAIT_COMMUTATIVE | ZB_TRAIT_ZERO_GRADIENT, NO_ATTRS, "Bitwise or.")                      \
  X(bitwise_xor, integers, ZB_TRAIT_COMMUTATIVE | ZB_TRAIT_ZERO_GRADIENT, NO_ATTRS, "Bitwise exclusive or.")           \
  X(bit_shift, integers, ZB_TRAIT_ZERO_GRADIENT, ZB_ATTRS({"left", ZB_ATTR_BOOL, true, 0, "true: to the left"}),       \
    "lhs shifted by rhs bits, to the right unless `left`.")

#define BINARY_FLAT_ROWS(NAME, KINDS, TRAITS, ATTRIBUTES, MEANING)                                                     \
  BINARY_ROW(NAME, KINDS, TRAITS, FULL, 1, ATTRIBUTES, NULL, MEANING)
BINARY_FLAT_OPS(BINARY_FLAT_ROWS)

/* X(name, traits, meaning) */
#define COMPARISON_OPS(X)                                                                                              \
  X(equal, ZB_TRAIT_COMMUTATIVE, "lhs == rhs.")                                                                        \
  X(greater, 0, "lhs > rhs.")                                                                                          \
  X(greater_equal, 0, "lhs >= rhs.")                                                                                   \
  X(less, 0, "lhs < rhs.")                                                                                             \
  X(less_equal, 0, "lhs <= rhs.")

#define COMPARISON_ROWS(NAME, TRAITS, MEANING)                                                                         \
  ROW(NAME, "lhs, rhs", "C1: rhs has the element type of lhs. C2: the shapes broadcast. The result is i1.\n",          \
      ZB_TRAIT_ZERO_GRADIENT | (TRAITS), FOLLOW, ZB_ANY_DTYPE, infer_comparison, 1, NO_ATTRS, NULL, MEANING)
COMPARISON_OPS(COMPARISON_ROWS)

/* ---- where ---- */

static zb_result infer_where(const zb_op_view *op, zb_shape *results, zb_op_error *error) {
  if (!zb_check_dtype(op, 0, ZB_LOGIC, "C1", error)) return ZB_FAIL;
  if (!zb_check_same_dtype(op, 2, 1, "C2", error)) return ZB_FAIL;
  zb_shape values = {.dtype = op->operands[1].dtype};
  if (!broadcast_operands(op, 1, 2, &values, "C3", error)) return ZB_FAIL;
  results[0].dtype = values.dtype;
  if (zb_broadcast(&op->operands[0], &values, &results[0])) return ZB_OK;
  char a[96], b[96];
  return zb_op_fail(error, NULL, "the condition does not broadcast with the values: got %s and %s (C3)",
                    zb_shape_text(&op->operands[0], a), zb_shape_text(&values, b));
}

const zb_op_def zb_op_where = {
    ZB_ROW(where),
    .summary = "condition ? lhs : rhs.",
    .doc = "C1: condition is i1. C2: rhs has the element type of lhs. C3: the three shapes broadcast.\n",
    .operands = "condition, lhs, rhs",
    .results = "out",
    .traits = ZB_TRAIT_PURE | ZB_TRAIT_ELEMENTWISE,
    .mixed = ZB_MIXED_FOLLOW,
    .infer = infer_where,
    .flops = 1,
    .grad = zb_grad_named,
    .place = zb_place_elementwise,
};

static zb_result infer_where_grad(const zb_op_view *op, zb_shape *results, zb_op_error *error) {
  static const char *const names[] = {"lhs_shape", "rhs_shape"};
  const zb_shape *dout = &op->operands[1];
  zb_shape out = {.dtype = dout->dtype};
  if (!zb_check_dtype(op, 0, ZB_LOGIC, "C1", error)) return ZB_FAIL;
  if (!zb_check_dtype(op, 1, ZB_REALS, "C2", error)) return ZB_FAIL;
  for (int i = 0; i < 2; ++i)
    if (!zb_check_shape_attr(op, names[i], dout->dtype, &results[i], "C3", error)) return ZB_FAIL;
  zb_shape values = {.dtype = dout->dtype};
  if (!zb_broadcast(&results[0], &results[1], &values) || !zb_broadcast(&values, &op->operands[0], &out))
    return zb_op_fail(error, NULL, "lhs_shape, rhs_shape and the condition do not broadcast (C3)");
  return zb_check_type(op, 1, &out, "their broadcast type", "C3", error);
}

static MlirValue split_where(zb_builder *b, MlirOperation op, int result) {
  MlirValue dout = zb_operand(op, 1), results[] = {zb_result_value(op, 0), zb_result_value(op, 1)};
  zb_shape shape = zb_value_shape(results[result]);
  MlirValue zero = zb_build_scalar(b, shape.dtype, 0);
  MlirValue operands[] = {zb_operand(op, 0), result == 0 ? dout : zero, result == 0 ? zero : dout};
  MlirValue whole = zb_build(b, "where", operands, 3, NULL, 0);
  return b->failed ? whole : zb_build_sum_to(b, whole, &shape);
}

const zb_op_def zb_op_where_grad = {
    ZB_ROW(where_grad),
    .summary = "Gradients of zb.where: dout where the condition chose that operand, else 0.",
    .doc = "C1: condition is i1. C2: dout has a float type. C3: lhs_shape, rhs_shape and the condition broadcast to "
           "the shape of "
           "dout.\n",
    .operands = "condition, dout",
    .results = "dlhs, drhs",
    .attrs = ZB_ATTRS({"lhs_shape", ZB_ATTR_INTS, false, 0, "shape of lhs"},
                      {"rhs_shape", ZB_ATTR_INTS, false, 0, "shape of rhs"}),
    .traits = ZB_TRAIT_PURE,
    .infer = infer_where_grad,
    .split = split_where,
};

/* ---- cast ---- */

static zb_result infer_cast(const zb_op_view *op, zb_shape *results, zb_op_error *error) {
  results[0] = op->operands[0];
  return zb_check_dtype_attr(op, &results[0].dtype, "C1", error);
}

static void grad_cast(zb_gradient *g) {
  zb_dtype dtype = g->view.operands[0].dtype;
  g->din[0] = ZB_BUILD(g->b, "cast_grad", g->dout[0], zb_string("dtype", zb_dtype_name(dtype)));
}

const zb_op_def zb_op_cast = {
    ZB_ROW(cast),
    .summary = "The values in another element type; float to integer truncates, to i1 is != 0.",
    .doc = "C1: dtype names an element type.\n",
    .operands = "x",
    .results = "out",
    .attrs = ZB_ATTRS({"dtype", ZB_ATTR_STRING, false, 0, "element type of the result: dtype = \"f32\""}),
    .traits = ZB_TRAIT_PURE | ZB_TRAIT_OF_PARTS,
    .mixed = ZB_MIXED_ANY,
    .infer = infer_cast,
    .flops = 1,
    .grad = grad_cast,
    .place = zb_place_elementwise,
};

/* Of 16 bits an integer of 32 takes the place that zb has no type for. */
static bool same_bits(zb_dtype a, zb_dtype b) {
  return (a == ZB_F32 && b == ZB_I32) || (a == ZB_F64 && b == ZB_I64) || ((a == ZB_BF16 || a == ZB_F16) && b == ZB_I32);
}

static zb_result infer_bitcast(const zb_op_view *op, zb_shape *results, zb_op_error *error) {
  const zb_dtype from = op->operands[0].dtype;
  results[0] = op->operands[0];
  if (!zb_check_dtype_attr(op, &results[0].dtype, "C1", error)) return ZB_FAIL;
  if (same_bits(from, results[0].dtype) || same_bits(results[0].dtype, from)) return ZB_OK;
  return zb_op_fail(error, NULL,
                    "the bits of %s are no %s: expected f32 and i32, f64 and i64, or bf16 or f16 and i32 (C2)",
                    zb_dtype_name(from), zb_dtype_name(results[0].dtype));
}

const zb_op_def zb_op_bitcast = {
    ZB_ROW(bitcast),
    .summary = "The bits of the values as another element type.",
    .doc = "C1: dtype names an element type. C2: it has as many bits as that of x, and one of both is a float type and "
           "the other i64 or i32; to bf16 and f16 belong the lower 16 bits of an i32, which is signed.\n",
    .operands = "x",
    .results = "out",
    .attrs = ZB_ATTRS({"dtype", ZB_ATTR_STRING, false, 0, "element type of the result: dtype = \"i32\""}),
    .traits = ZB_TRAIT_PURE | ZB_TRAIT_OF_PARTS | ZB_TRAIT_ZERO_GRADIENT,
    .infer = infer_bitcast,
    .flops = 1,
    .place = zb_place_elementwise,
};

static zb_result infer_cast_grad(const zb_op_view *op, zb_shape *results, zb_op_error *error) {
  if (!zb_check_dtype(op, 0, ZB_REALS, "C1", error)) return ZB_FAIL;
  results[0] = op->operands[0];
  if (!zb_check_dtype_attr(op, &results[0].dtype, "C2", error)) return ZB_FAIL;
  if (zb_dtype_is_float(results[0].dtype)) return ZB_OK;
  return zb_op_fail(error, NULL, "a gradient has a float type: expected dtype f32, f64, bf16 or f16, got %s (C2)",
                    zb_dtype_name(results[0].dtype));
}

static MlirValue split_cast(zb_builder *b, MlirOperation op, int result ZB_UNUSED) {
  MlirValue dout = zb_operand(op, 0);
  return zb_build_cast(b, dout, zb_value_shape(zb_result_value(op, 0)).dtype);
}

const zb_op_def zb_op_cast_grad = {
    ZB_ROW(cast_grad),
    .summary = "Gradient of zb.cast: dout in the element type of x.",
    .doc = "C1: dout has a float type. C2: dtype names a float type.\n",
    .operands = "dout",
    .results = "dx",
    .attrs = ZB_ATTRS({"dtype", ZB_ATTR_STRING, false, 0, "element type of x: dtype = \"f32\""}),
    .traits = ZB_TRAIT_PURE,
    .infer = infer_cast_grad,
    .flops = 1,
    .split = split_cast,
};
