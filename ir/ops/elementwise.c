/* Elementwise ops of one and of two operands, zb.where and zb.cast, with their gradients: one row of the tables below
 * an op.
 *
 * A unary gradient is one kernel that reads what F keeps: the operand or the result, whichever its formula needs. A
 * binary gradient is COMPOSITE: each result is built from other ops and summed over what was broadcast.
 *
 * Tests: test/ir/ops/elementwise.mlir, test/ir/split_test.c.
 */
#include "ir/ops/support.h"

/* ---- One operand ---- */

static zb_result same_as_operand(const zb_op_view *op, zb_shape *results, int kinds, zb_op_error *error) {
  if (!zb_check_dtype(op, 0, kinds, "C1", error)) return ZB_FAIL;
  results[0] = op->operands[0];
  return ZB_OK;
}

static zb_result infer_reals(const zb_op_view *op, zb_shape *results, int count, zb_op_error *error) {
  (void)count;
  return same_as_operand(op, results, ZB_REALS, error);
}

static zb_result infer_numbers(const zb_op_view *op, zb_shape *results, int count, zb_op_error *error) {
  (void)count;
  return same_as_operand(op, results, ZB_REALS | ZB_INTEGERS, error);
}

static zb_result infer_integers(const zb_op_view *op, zb_shape *results, int count, zb_op_error *error) {
  (void)count;
  return same_as_operand(op, results, ZB_INTEGERS, error);
}

static zb_result infer_logic(const zb_op_view *op, zb_shape *results, int count, zb_op_error *error) {
  (void)count;
  return same_as_operand(op, results, ZB_LOGIC, error);
}

static zb_result infer_classified(const zb_op_view *op, zb_shape *results, int count, zb_op_error *error) {
  if (!infer_reals(op, results, count, error)) return ZB_FAIL;
  results[0].dtype = ZB_I1;
  return ZB_OK;
}

static zb_result infer_unary_grad(const zb_op_view *op, zb_shape *results, int count, zb_op_error *error) {
  (void)count;
  if (!zb_check_dtype(op, 0, ZB_REALS, "C1", error)) return ZB_FAIL;
  if (!zb_check_same_type(op, 1, 0, "C2", error)) return ZB_FAIL;
  results[0] = op->operands[0];
  return ZB_OK;
}

/* NAME_grad(saved, dout) with the attributes of the forward op. */
static zb_result unary_grad(zb_builder *b, MlirOperation op, MlirValue saved, const MlirValue *dout, const bool *needs,
                            MlirValue *din) {
  if (!needs[0]) return ZB_OK;
  din[0] = zb_build_grad1(b, op, (MlirValue[]){saved, dout[0]}, 2);
  return zb_builder_result(b);
}

static zb_result grad_from_x(zb_builder *b, MlirOperation op, const MlirValue *dout, const bool *needs,
                             MlirValue *din) {
  return unary_grad(b, op, zb_operand(op, 0), dout, needs, din);
}

static zb_result grad_from_out(zb_builder *b, MlirOperation op, const MlirValue *dout, const bool *needs,
                               MlirValue *din) {
  return unary_grad(b, op, zb_result_value(op, 0), dout, needs, din);
}

/* zb.neg needs nothing saved. */
static zb_result grad_neg(zb_builder *b, MlirOperation op, const MlirValue *dout, const bool *needs, MlirValue *din) {
  (void)op;
  if (needs[0]) din[0] = zb_build1(b, "neg", dout[0]);
  return zb_builder_result(b);
}

#define OPTIONAL_FLOAT(NAME, DEFAULT, HELP) {NAME, ZB_ATTR_FLOAT, true, DEFAULT, HELP}
#define NO_ATTRS NULL

/* X(name, kinds, mixed, saved, gradient, flops, attributes, meaning). flops: per element, transcendental functions
 * count as 8. mixed: what PyTorch's autocast keeps in f32 is FULL. */
#define UNARY_OPS(X)                                                                                                   \
  X(abs, numbers, FOLLOW, x, grad_from_x, 1, NO_ATTRS, "|x|; gradient 0 at 0.")                                        \
  X(acos, reals, FULL, x, grad_from_x, 8, NO_ATTRS, "Inverse cosine.")                                                 \
  X(acosh, reals, FOLLOW, x, grad_from_x, 8, NO_ATTRS, "Inverse hyperbolic cosine.")                                   \
  X(asin, reals, FULL, x, grad_from_x, 8, NO_ATTRS, "Inverse sine.")                                                   \
  X(asinh, reals, FOLLOW, x, grad_from_x, 8, NO_ATTRS, "Inverse hyperbolic sine.")                                     \
  X(atan, reals, FOLLOW, x, grad_from_x, 8, NO_ATTRS, "Inverse tangent.")                                              \
  X(atanh, reals, FOLLOW, x, grad_from_x, 8, NO_ATTRS, "Inverse hyperbolic tangent.")                                  \
  X(cos, reals, FOLLOW, x, grad_from_x, 8, NO_ATTRS, "Cosine.")                                                        \
  X(cosh, reals, FULL, x, grad_from_x, 8, NO_ATTRS, "Hyperbolic cosine.")                                              \
  X(celu, reals, FOLLOW, x, grad_from_x, 10, ZB_ATTRS(OPTIONAL_FLOAT("alpha", 1, "slope scale left of 0")),            \
    "max(0, x) + min(0, alpha * (exp(x / alpha) - 1)).")                                                               \
  X(clip, numbers, FOLLOW, x, grad_from_x, 2,                                                                          \
    ZB_ATTRS(OPTIONAL_FLOAT("min", -INFINITY, "lower bound"), OPTIONAL_FLOAT("max", INFINITY, "upper bound")),         \
    "min(max(x, min), max); the gradient passes where min <= x <= max.")                                               \
  X(elu, reals, FOLLOW, x, grad_from_x, 10, ZB_ATTRS(OPTIONAL_FLOAT("alpha", 1, "scale left of 0")),                   \
    "x > 0 ? x : alpha * (exp(x) - 1).")                                                                               \
  X(erf, reals, FOLLOW, x, grad_from_x, 8, NO_ATTRS, "Error function.")                                                \
  X(exp, reals, FULL, out, grad_from_out, 8, NO_ATTRS, "e to the power of x.")                                         \
  X(gelu, reals, FOLLOW, x, grad_from_x, 14,                                                                           \
    ZB_ATTRS({"tanh", ZB_ATTR_BOOL, true, 0, "true: the tanh approximation; false: erf"}),                             \
    "0.5 x (1 + erf(x / sqrt 2)), or 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))).")                                \
  X(hard_sigmoid, reals, FOLLOW, x, grad_from_x, 4,                                                                    \
    ZB_ATTRS(OPTIONAL_FLOAT("alpha", 0.2, "slope"), OPTIONAL_FLOAT("beta", 0.5, "value at 0")),                        \
    "max(0, min(1, alpha * x + beta)).")                                                                               \
  X(hard_swish, reals, FOLLOW, x, grad_from_x, 5, NO_ATTRS, "x * max(0, min(1, x / 6 + 0.5)).")                        \
  X(leaky_relu, reals, FOLLOW, x, grad_from_x, 2, ZB_ATTRS(OPTIONAL_FLOAT("alpha", 0.01, "slope left of 0")),          \
    "x < 0 ? alpha * x : x.")                                                                                          \
  X(log, reals, FULL, x, grad_from_x, 8, NO_ATTRS, "Natural logarithm.")                                               \
  X(mish, reals, FOLLOW, x, grad_from_x, 18, NO_ATTRS, "x * tanh(softplus(x)).")                                       \
  X(neg, numbers, FOLLOW, out, grad_neg, 1, NO_ATTRS, "-x.")                                                           \
  X(reciprocal, reals, FULL, out, grad_from_out, 1, NO_ATTRS, "1 / x.")                                                \
  X(relu, numbers, FOLLOW, out, grad_from_out, 1, NO_ATTRS, "max(0, x); gradient 0 at 0.")                             \
  X(rsqrt, reals, FULL, out, grad_from_out, 2, NO_ATTRS, "1 / sqrt(x).")                                               \
  X(selu, reals, FOLLOW, x, grad_from_x, 10,                                                                           \
    ZB_ATTRS(OPTIONAL_FLOAT("alpha", 1.67326319217681884765625, "scale left of 0"),                                    \
             OPTIONAL_FLOAT("gamma", 1.05070102214813232421875, "scale of all")),                                      \
    "gamma * (x > 0 ? x : alpha * (exp(x) - 1)).")                                                                     \
  X(shrink, reals, FOLLOW, x, grad_from_x, 3,                                                                          \
    ZB_ATTRS(OPTIONAL_FLOAT("bias", 0, "moved towards 0 by this"),                                                     \
             OPTIONAL_FLOAT("lambda", 0.5, "half width of the dead zone")),                                            \
    "x < -lambda ? x + bias : x > lambda ? x - bias : 0.")                                                             \
  X(sigmoid, reals, FOLLOW, out, grad_from_out, 10, NO_ATTRS, "1 / (1 + exp(-x)).")                                    \
  X(silu, reals, FOLLOW, x, grad_from_x, 12, ZB_ATTRS(OPTIONAL_FLOAT("alpha", 1, "factor inside the sigmoid")),        \
    "x * sigmoid(alpha * x).")                                                                                         \
  X(sin, reals, FOLLOW, x, grad_from_x, 8, NO_ATTRS, "Sine.")                                                          \
  X(sinh, reals, FULL, x, grad_from_x, 8, NO_ATTRS, "Hyperbolic sine.")                                                \
  X(softplus, reals, FULL, x, grad_from_x, 16, NO_ATTRS, "log(1 + exp(x)), without overflow.")                         \
  X(softsign, reals, FOLLOW, x, grad_from_x, 3, NO_ATTRS, "x / (1 + |x|).")                                            \
  X(sqrt, reals, FOLLOW, out, grad_from_out, 1, NO_ATTRS, "Square root.")                                              \
  X(tan, reals, FULL, x, grad_from_x, 8, NO_ATTRS, "Tangent.")                                                         \
  X(tanh, reals, FOLLOW, out, grad_from_out, 8, NO_ATTRS, "Hyperbolic tangent.")                                       \
  X(thresholded_relu, reals, FOLLOW, x, grad_from_x, 1, ZB_ATTRS(OPTIONAL_FLOAT("alpha", 1, "threshold")),             \
    "x > alpha ? x : 0.")

#define DOC_reals "C1: the element type of x is a float type.\n"
#define DOC_numbers "C1: the element type of x is a float type, i64 or i32.\n"
#define DOC_integers "C1: the element type of x is i64 or i32.\n"
#define DOC_logic "C1: the element type of x is i1.\n"
#define DOC_classified "C1: the element type of x is a float type. The result is i1.\n"

#define UNARY_ROWS(NAME, KINDS, MIXED, SAVED, GRADIENT, FLOPS, ATTRIBUTES, MEANING)                                    \
  static zb_cost cost_##NAME(const zb_op_view *op, const zb_shape *results, int count) {                               \
    (void)op, (void)count;                                                                                             \
    return zb_cost_per_element(&results[0], FLOPS);                                                                    \
  }                                                                                                                    \
  static zb_cost cost_##NAME##_grad(const zb_op_view *op, const zb_shape *results, int count) {                        \
    (void)op, (void)count;                                                                                             \
    return zb_cost_per_element(&results[0], (FLOPS) + 2);                                                              \
  }                                                                                                                    \
  const zb_op_def zb_op_##NAME = {                                                                                     \
      .name = #NAME,                                                                                                   \
      .summary = MEANING,                                                                                              \
      .doc = DOC_##KINDS,                                                                                              \
      .operands = "x",                                                                                                 \
      .results = "out",                                                                                                \
      .attrs = ATTRIBUTES,                                                                                             \
      .op_class = ZB_CLASS_KERNEL,                                                                                     \
      .traits = ZB_TRAIT_PURE | ZB_TRAIT_ELEMENTWISE,                                                                  \
      .mixed = ZB_MIXED_##MIXED,                                                                                       \
      .infer = infer_##KINDS,                                                                                          \
      .cost = cost_##NAME,                                                                                             \
      .grad = GRADIENT,                                                                                                \
  };                                                                                                                   \
  const zb_op_def zb_op_##NAME##_grad = {                                                                              \
      .name = #NAME "_grad",                                                                                           \
      .summary = "Gradient of zb." #NAME ".",                                                                          \
      .doc = "C1: the element type of " #SAVED " is a float type. C2: dout has the type of " #SAVED ".\n",             \
      .operands = #SAVED ", dout",                                                                                     \
      .results = "dx",                                                                                                 \
      .attrs = ATTRIBUTES,                                                                                             \
      .op_class = ZB_CLASS_KERNEL,                                                                                     \
      .traits = ZB_TRAIT_PURE | ZB_TRAIT_ELEMENTWISE,                                                                  \
      .infer = infer_unary_grad,                                                                                       \
      .cost = cost_##NAME##_grad,                                                                                      \
  };
UNARY_OPS(UNARY_ROWS)

/* X(name, kinds, attributes, meaning): no gradient op, gradient zero or no real function. */
#define UNARY_FLAT_OPS(X)                                                                                              \
  X(ceil, reals, NO_ATTRS, "Least integer that is not less than x.")                                                   \
  X(floor, reals, NO_ATTRS, "Greatest integer that is not greater than x.")                                            \
  X(round, reals, NO_ATTRS, "Nearest integer, half to even.")                                                          \
  X(sign, numbers, NO_ATTRS, "-1, 0 or 1.")                                                                            \
  X(is_inf, classified,                                                                                                \
    ZB_ATTRS({"detect_negative", ZB_ATTR_BOOL, true, 1, "whether -inf counts"},                                        \
             {"detect_positive", ZB_ATTR_BOOL, true, 1, "whether +inf counts"}),                                       \
    "Whether x is infinite.")                                                                                          \
  X(is_nan, classified, NO_ATTRS, "Whether x is not a number.")                                                        \
  X(not, logic, NO_ATTRS, "Logical not.")                                                                              \
  X(bitwise_not, integers, NO_ATTRS, "All bits inverted.")

static zb_cost cost_flat(const zb_op_view *op, const zb_shape *results, int count) {
  (void)op, (void)count;
  return zb_cost_per_element(&results[0], 1);
}

#define UNARY_FLAT_ROWS(NAME, KINDS, ATTRIBUTES, MEANING)                                                              \
  const zb_op_def zb_op_##NAME = {                                                                                     \
      .name = #NAME,                                                                                                   \
      .summary = MEANING,                                                                                              \
      .doc = DOC_##KINDS,                                                                                              \
      .operands = "x",                                                                                                 \
      .results = "out",                                                                                                \
      .attrs = ATTRIBUTES,                                                                                             \
      .op_class = ZB_CLASS_KERNEL,                                                                                     \
      .traits = ZB_TRAIT_PURE | ZB_TRAIT_ELEMENTWISE | ZB_TRAIT_ZERO_GRADIENT,                                         \
      .mixed = ZB_MIXED_FOLLOW,                                                                                        \
      .infer = infer_##KINDS,                                                                                          \
      .cost = cost_flat,                                                                                               \
  };
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

static zb_result infer_binary(const zb_op_view *op, zb_shape *results, int kinds, zb_op_error *error) {
  if (!zb_check_dtype(op, 0, kinds, "C1", error)) return ZB_FAIL;
  if (!zb_check_same_dtype(op, 1, 0, "C2", error)) return ZB_FAIL;
  results[0].dtype = op->operands[0].dtype;
  return broadcast_operands(op, 0, 1, &results[0], "C3", error);
}

static zb_result infer_binary_reals(const zb_op_view *op, zb_shape *results, int count, zb_op_error *error) {
  (void)count;
  return infer_binary(op, results, ZB_REALS, error);
}

static zb_result infer_binary_numbers(const zb_op_view *op, zb_shape *results, int count, zb_op_error *error) {
  (void)count;
  return infer_binary(op, results, ZB_REALS | ZB_INTEGERS, error);
}

static zb_result infer_binary_integers(const zb_op_view *op, zb_shape *results, int count, zb_op_error *error) {
  (void)count;
  return infer_binary(op, results, ZB_INTEGERS, error);
}

static zb_result infer_binary_logic(const zb_op_view *op, zb_shape *results, int count, zb_op_error *error) {
  (void)count;
  return infer_binary(op, results, ZB_LOGIC, error);
}

static zb_result infer_comparison(const zb_op_view *op, zb_shape *results, int count, zb_op_error *error) {
  (void)count;
  if (!zb_check_same_dtype(op, 1, 0, "C1", error)) return ZB_FAIL;
  results[0].dtype = ZB_I1;
  return broadcast_operands(op, 0, 1, &results[0], "C2", error);
}

static zb_result infer_binary_grad(const zb_op_view *op, zb_shape *results, int count, zb_op_error *error) {
  (void)count;
  zb_shape out = {.dtype = op->operands[0].dtype};
  if (!zb_check_dtype(op, 0, ZB_REALS, "C1", error)) return ZB_FAIL;
  if (!zb_check_same_dtype(op, 1, 0, "C2", error)) return ZB_FAIL;
  if (!broadcast_operands(op, 0, 1, &out, "C3", error)) return ZB_FAIL;
  if (!zb_check_type(op, 2, &out, "the broadcast type of lhs and rhs", "C4", error)) return ZB_FAIL;
  results[0] = op->operands[0];
  results[1] = op->operands[1];
  return ZB_OK;
}

static zb_result grad_binary(zb_builder *b, MlirOperation op, const MlirValue *dout, const bool *needs,
                             MlirValue *din) {
  char name[64];
  zb_op_grad_name(op, name, sizeof name);
  MlirValue operands[] = {zb_operand(op, 0), zb_operand(op, 1), dout[0]};
  return zb_build_grad_op(b, name, operands, 3, NULL, 0, 2, needs, din);
}

/* The operands of a binary gradient and the builder, for its split rule. */
typedef struct binary {
  zb_builder *b;
  MlirValue lhs, rhs, dout;
  zb_dtype dtype;
} binary;

static MlirValue scalar(const binary *g, double value) { return zb_build_scalar(g->b, g->dtype, value); }

static MlirValue choose(const binary *g, MlirValue condition, MlirValue lhs, MlirValue rhs) {
  return zb_build(g->b, "where", (MlirValue[]){condition, lhs, rhs}, 3, NULL, 0);
}

static MlirValue split_add(const binary *g, int result) {
  (void)result;
  return g->dout;
}

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

/* dlhs = dout * rhs * lhs^(rhs - 1), 0 where rhs is 0; drhs = dout * lhs^rhs * log(lhs), 0 where lhs <= 0. The untaken
 * side of zb.where may be NaN: it selects. */
static MlirValue split_pow(const binary *g, int result) {
  MlirValue zero = scalar(g, 0);
  if (result == 0) {
    MlirValue power = zb_build2(g->b, "pow", g->lhs, zb_build2(g->b, "sub", g->rhs, scalar(g, 1)));
    MlirValue gradient = zb_build2(g->b, "mul", g->dout, zb_build2(g->b, "mul", g->rhs, power));
    return choose(g, zb_build2(g->b, "equal", g->rhs, zero), zero, gradient);
  }
  MlirValue power = zb_build2(g->b, "pow", g->lhs, g->rhs);
  MlirValue slope = zb_build2(g->b, "mul", power, zb_build1(g->b, "log", g->lhs));
  MlirValue gradient = zb_build2(g->b, "mul", g->dout, slope);
  return choose(g, zb_build2(g->b, "greater", g->lhs, zero), gradient, zero);
}

/* The greater operand takes all, equal ones half each. `wins` is the comparison with which lhs is taken. */
static MlirValue split_extreme(const binary *g, int result, const char *wins) {
  MlirValue taken = result == 0 ? zb_build2(g->b, wins, g->lhs, g->rhs) : zb_build2(g->b, wins, g->rhs, g->lhs);
  MlirValue half = zb_build2(g->b, "mul", g->dout, scalar(g, 0.5));
  MlirValue clear = choose(g, taken, g->dout, scalar(g, 0));
  return choose(g, zb_build2(g->b, "equal", g->lhs, g->rhs), half, clear);
}

static MlirValue split_max(const binary *g, int result) { return split_extreme(g, result, "greater"); }

static MlirValue split_min(const binary *g, int result) { return split_extreme(g, result, "less"); }

static MlirValue split_prelu(const binary *g, int result) {
  MlirValue zero = scalar(g, 0), positive = zb_build2(g->b, "greater_equal", g->lhs, zero);
  if (result == 0) return choose(g, positive, g->dout, zb_build2(g->b, "mul", g->dout, g->rhs));
  return choose(g, positive, zero, zb_build2(g->b, "mul", g->dout, g->lhs));
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
  X(add, numbers, FOLLOW, ZB_TRAIT_COMMUTATIVE, 1, "lhs + rhs.")                                                       \
  X(sub, numbers, FOLLOW, 0, 1, "lhs - rhs.")                                                                          \
  X(mul, numbers, FOLLOW, ZB_TRAIT_COMMUTATIVE, 1, "lhs * rhs.")                                                       \
  X(div, numbers, FOLLOW, 0, 1, "lhs / rhs; integers truncate, division by 0 is an error.")                            \
  X(pow, reals, FULL, 0, 16, "lhs to the power of rhs.")                                                               \
  X(max, numbers, FOLLOW, ZB_TRAIT_COMMUTATIVE, 1, "The greater one; NaN if either is.")                               \
  X(min, numbers, FOLLOW, ZB_TRAIT_COMMUTATIVE, 1, "The smaller one; NaN if either is.")                               \
  X(prelu, reals, FOLLOW, 0, 2, "lhs >= 0 ? lhs : rhs * lhs; rhs is the slope.")

#define BINARY_DOC_reals "C1: the element type of lhs is a float type."
#define BINARY_DOC_numbers "C1: the element type of lhs is a float type, i64 or i32."
#define BINARY_DOC_integers "C1: the element type of lhs is i64 or i32."
#define BINARY_DOC_logic "C1: the element type of lhs is i1."

#define BINARY_ROWS(NAME, KINDS, MIXED, TRAITS, FLOPS, MEANING)                                                        \
  static zb_cost cost_##NAME(const zb_op_view *op, const zb_shape *results, int count) {                               \
    (void)op, (void)count;                                                                                             \
    return zb_cost_per_element(&results[0], FLOPS);                                                                    \
  }                                                                                                                    \
  static zb_cost cost_##NAME##_grad(const zb_op_view *op, const zb_shape *results, int count) {                        \
    (void)results, (void)count;                                                                                        \
    return zb_cost_per_element(&op->operands[2], 2 * (FLOPS) + 2);                                                     \
  }                                                                                                                    \
  static MlirValue split_##NAME##_grad(zb_builder *b, MlirOperation op, int result) {                                  \
    return split_binary(b, op, result, split_##NAME);                                                                  \
  }                                                                                                                    \
  const zb_op_def zb_op_##NAME = {                                                                                     \
      .name = #NAME,                                                                                                   \
      .summary = MEANING,                                                                                              \
      .doc = BINARY_DOC_##KINDS " C2: rhs has the element type of lhs. C3: the shapes broadcast.\n",                   \
      .operands = "lhs, rhs",                                                                                          \
      .results = "out",                                                                                                \
      .op_class = ZB_CLASS_KERNEL,                                                                                     \
      .traits = ZB_TRAIT_PURE | ZB_TRAIT_ELEMENTWISE | (TRAITS),                                                       \
      .mixed = ZB_MIXED_##MIXED,                                                                                       \
      .infer = infer_binary_##KINDS,                                                                                   \
      .cost = cost_##NAME,                                                                                             \
      .grad = grad_binary,                                                                                             \
  };                                                                                                                   \
  const zb_op_def zb_op_##NAME##_grad = {                                                                              \
      .name = #NAME "_grad",                                                                                           \
      .summary = "Gradients of zb." #NAME ", each summed over what was broadcast.",                                    \
      .doc = "C1: the element type of lhs is a float type. C2: rhs has the element type of lhs. C3: the shapes "       \
             "broadcast. C4: dout has the broadcast type.\n",                                                          \
      .operands = "lhs, rhs, dout",                                                                                    \
      .results = "dlhs, drhs",                                                                                         \
      .op_class = ZB_CLASS_COMPOSITE,                                                                                  \
      .traits = ZB_TRAIT_PURE,                                                                                         \
      .infer = infer_binary_grad,                                                                                      \
      .cost = cost_##NAME##_grad,                                                                                      \
      .split = split_##NAME##_grad,                                                                                    \
  };
BINARY_OPS(BINARY_ROWS)

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
  const zb_op_def zb_op_##NAME = {                                                                                     \
      .name = #NAME,                                                                                                   \
      .summary = MEANING,                                                                                              \
      .doc = BINARY_DOC_##KINDS " C2: rhs has the element type of lhs. C3: the shapes broadcast.\n",                   \
      .operands = "lhs, rhs",                                                                                          \
      .results = "out",                                                                                                \
      .attrs = ATTRIBUTES,                                                                                             \
      .op_class = ZB_CLASS_KERNEL,                                                                                     \
      .traits = ZB_TRAIT_PURE | ZB_TRAIT_ELEMENTWISE | (TRAITS),                                                       \
      .infer = infer_binary_##KINDS,                                                                                   \
      .cost = cost_flat,                                                                                               \
  };
BINARY_FLAT_OPS(BINARY_FLAT_ROWS)

/* X(name, traits, meaning) */
#define COMPARISON_OPS(X)                                                                                              \
  X(equal, ZB_TRAIT_COMMUTATIVE, "lhs == rhs.")                                                                        \
  X(greater, 0, "lhs > rhs.")                                                                                          \
  X(greater_equal, 0, "lhs >= rhs.")                                                                                   \
  X(less, 0, "lhs < rhs.")                                                                                             \
  X(less_equal, 0, "lhs <= rhs.")

#define COMPARISON_ROWS(NAME, TRAITS, MEANING)                                                                         \
  const zb_op_def zb_op_##NAME = {                                                                                     \
      .name = #NAME,                                                                                                   \
      .summary = MEANING,                                                                                              \
      .doc = "C1: rhs has the element type of lhs. C2: the shapes broadcast. The result is i1.\n",                     \
      .operands = "lhs, rhs",                                                                                          \
      .results = "out",                                                                                                \
      .op_class = ZB_CLASS_KERNEL,                                                                                     \
      .traits = ZB_TRAIT_PURE | ZB_TRAIT_ELEMENTWISE | ZB_TRAIT_ZERO_GRADIENT | (TRAITS),                              \
      .mixed = ZB_MIXED_FOLLOW,                                                                                        \
      .infer = infer_comparison,                                                                                       \
      .cost = cost_flat,                                                                                               \
  };
COMPARISON_OPS(COMPARISON_ROWS)

/* ---- where ---- */

static zb_result infer_where(const zb_op_view *op, zb_shape *results, int count, zb_op_error *error) {
  (void)count;
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

static zb_result grad_where(zb_builder *b, MlirOperation op, const MlirValue *dout, const bool *needs, MlirValue *din) {
  zb_shape lhs = zb_value_shape(zb_operand(op, 1)), rhs = zb_value_shape(zb_operand(op, 2));
  zb_attr attrs[] = {zb_ints("lhs_shape", lhs.dims, lhs.rank), zb_ints("rhs_shape", rhs.dims, rhs.rank)};
  return zb_build_grad_op(b, "where_grad", (MlirValue[]){zb_operand(op, 0), dout[0]}, 2, attrs, 2, 2, needs + 1,
                          din + 1);
}

const zb_op_def zb_op_where = {
    .name = "where",
    .summary = "condition ? lhs : rhs.",
    .doc = "C1: condition is i1. C2: rhs has the element type of lhs. C3: the three shapes broadcast.\n",
    .operands = "condition, lhs, rhs",
    .results = "out",
    .op_class = ZB_CLASS_KERNEL,
    .traits = ZB_TRAIT_PURE | ZB_TRAIT_ELEMENTWISE,
    .mixed = ZB_MIXED_FOLLOW,
    .infer = infer_where,
    .cost = cost_flat,
    .grad = grad_where,
};

static zb_result infer_where_grad(const zb_op_view *op, zb_shape *results, int count, zb_op_error *error) {
  (void)count;
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
    .name = "where_grad",
    .summary = "Gradients of zb.where: dout where the condition chose that operand, else 0.",
    .doc = "C1: condition is i1. C2: dout has a float type. C3: lhs_shape, rhs_shape and the condition broadcast to "
           "the shape of "
           "dout.\n",
    .operands = "condition, dout",
    .results = "dlhs, drhs",
    .attrs = ZB_ATTRS({"lhs_shape", ZB_ATTR_INTS, false, 0, "shape of lhs"},
                      {"rhs_shape", ZB_ATTR_INTS, false, 0, "shape of rhs"}),
    .op_class = ZB_CLASS_COMPOSITE,
    .traits = ZB_TRAIT_PURE,
    .infer = infer_where_grad,
    .split = split_where,
};

/* ---- cast ---- */

static zb_result infer_cast(const zb_op_view *op, zb_shape *results, int count, zb_op_error *error) {
  (void)count;
  results[0] = op->operands[0];
  return zb_check_dtype_attr(op, &results[0].dtype, "C1", error);
}

static zb_result grad_cast(zb_builder *b, MlirOperation op, const MlirValue *dout, const bool *needs, MlirValue *din) {
  if (!needs[0]) return ZB_OK;
  zb_attr dtype = zb_string("dtype", zb_dtype_name(zb_value_shape(zb_operand(op, 0)).dtype));
  din[0] = zb_build(b, "cast_grad", dout, 1, &dtype, 1);
  return zb_builder_result(b);
}

const zb_op_def zb_op_cast = {
    .name = "cast",
    .summary = "The values in another element type; float to integer truncates, to i1 is != 0.",
    .doc = "C1: dtype names an element type.\n",
    .operands = "x",
    .results = "out",
    .attrs = ZB_ATTRS({"dtype", ZB_ATTR_STRING, false, 0, "element type of the result: dtype = \"f32\""}),
    .op_class = ZB_CLASS_KERNEL,
    .traits = ZB_TRAIT_PURE,
    .mixed = ZB_MIXED_ANY,
    .infer = infer_cast,
    .cost = cost_flat,
    .grad = grad_cast,
};

static zb_result infer_cast_grad(const zb_op_view *op, zb_shape *results, int count, zb_op_error *error) {
  (void)count;
  if (!zb_check_dtype(op, 0, ZB_REALS, "C1", error)) return ZB_FAIL;
  results[0] = op->operands[0];
  if (!zb_check_dtype_attr(op, &results[0].dtype, "C2", error)) return ZB_FAIL;
  if (zb_dtype_is_float(results[0].dtype)) return ZB_OK;
  return zb_op_fail(error, NULL, "a gradient has a float type: expected dtype f32, f64, bf16 or f16, got %s (C2)",
                    zb_dtype_name(results[0].dtype));
}

static MlirValue split_cast(zb_builder *b, MlirOperation op, int result) {
  (void)result;
  MlirValue dout = zb_operand(op, 0);
  return zb_build_cast(b, dout, zb_value_shape(zb_result_value(op, 0)).dtype);
}

const zb_op_def zb_op_cast_grad = {
    .name = "cast_grad",
    .summary = "Gradient of zb.cast: dout in the element type of x.",
    .doc = "C1: dout has a float type. C2: dtype names a float type.\n",
    .operands = "dout",
    .results = "dx",
    .attrs = ZB_ATTRS({"dtype", ZB_ATTR_STRING, false, 0, "element type of x: dtype = \"f32\""}),
    .op_class = ZB_CLASS_COMPOSITE,
    .traits = ZB_TRAIT_PURE,
    .infer = infer_cast_grad,
    .cost = cost_flat,
    .split = split_cast,
};
