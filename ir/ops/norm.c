/* zb.layer_norm and zb.rms_norm over the dimensions axis..rank-1, and their gradients, which split into one op a
 * result.
 *
 * mean and rstd keep the rank of x (x[:axis] followed by ones), as ONNX. scale and bias have the shape x[axis:].
 *
 * Tests: test/ir/ops/norm.mlir, test/ir/split_test.c.
 */
#include "ir/ops/support.h"

#include <stdio.h>

static int64_t axis_of(const zb_op_view *op) { return zb_attr_int(&op->attrs, "axis", 0); }

/* Type of mean and rstd: x[:axis] + ones, f32 where x is narrower. */
static zb_shape statistic_shape(const zb_shape *x, int64_t axis) {
  zb_shape out = *x;
  out.dtype = zb_dtype_wide(x->dtype);
  for (int64_t i = axis; i < x->rank; ++i)
    out.dims[i] = 1;
  return out;
}

/* C1, C2 for operand 0. */
static zb_result check_x(const zb_op_view *op, zb_op_error *error) {
  if (!zb_check_dtype(op, 0, ZB_REALS, "C1", error)) return ZB_FAIL;
  return zb_check_axis(op, "axis", op->operands[0].rank, "C2", error);
}

/* C3: scale, bias: x[axis:]. */
static zb_result check_scale(const zb_op_view *op, int operand, zb_op_error *error) {
  const zb_shape *x = &op->operands[0];
  zb_shape expected = zb_subshape(x, (int)axis_of(op), x->rank);
  return zb_check_type(op, operand, &expected, "the dimensions of x from axis on", "C3", error);
}

/* C4 of the statistics, operands from `first` on, and C5 of dout, which follows them. */
static zb_result check_gradient(const zb_op_view *op, int statistics, int first, zb_op_error *error) {
  zb_shape expected = statistic_shape(&op->operands[0], axis_of(op));
  for (int i = first; i < first + statistics; ++i)
    if (!zb_check_type(op, i, &expected, "x with ones from axis on", "C4", error)) return ZB_FAIL;
  return zb_check_same_type(op, first + statistics, 0, "C5", error);
}

#define AXIS_ATTR {"axis", ZB_ATTR_INT, false, 0, "first normalized dimension, from 0: axis = 2 : i64"}
#define EPSILON_ATTR {"epsilon", ZB_ATTR_FLOAT, true, 1e-5, "added to the variance"}
#define C1_C2 "C1: the element type of x is a float type. C2: axis is a dimension of x."
#define C3_SCALE " C3: scale has the type of x[axis:]."
#define C3_BOTH " C3: scale and bias have the type of x[axis:]."
#define C4_LAYER " C4: mean and rstd have the type of x[:axis] followed by ones."
#define C4_RMS " C4: rstd has the type of x[:axis] followed by ones."
#define C5_DOUT " C5: dout has the type of x."
#define C6_BIAS " C6: there are three results iff bias is true."
#define C7_RESIDUAL " C7: residual has the type of x."

/* (x, scale, bias?) -> (out, statistics). */
static zb_result infer(const zb_op_view *op, zb_shape *results, zb_op_error *error) {
  if (!check_x(op, error) || !check_scale(op, 1, error)) return ZB_FAIL;
  if (op->operand_count > 2 && op->operands[2].rank >= 0 && !check_scale(op, 2, error)) return ZB_FAIL;
  results[0] = op->operands[0];
  for (int i = 1; i < op->result_count; ++i)
    results[i] = statistic_shape(&op->operands[0], axis_of(op));
  return ZB_OK;
}

/* (x, scale, statistics, dout) -> (dx, dscale, dbias?). */
static zb_result infer_grad(const zb_op_view *op, zb_shape *results, zb_op_error *error) {
  if (!check_x(op, error) || !check_scale(op, 1, error) || !check_gradient(op, op->operand_count - 3, 2, error))
    return ZB_FAIL;
  bool bias = zb_attr_bool(&op->attrs, "bias", false);
  if (op->result_count != (bias ? 3 : 2))
    return zb_op_fail(error, "dbias is there iff bias = true", "expected %d results with bias = %s, got %d (C6)",
                      bias ? 3 : 2, bias ? "true" : "false", op->result_count);
  for (int i = 0; i < op->result_count; ++i)
    results[i] = op->operands[i == 0 ? 0 : 1];
  return ZB_OK;
}

/* (x, scale, statistics, dout, residual?) -> (dx). */
static zb_result infer_grad_x(const zb_op_view *op, zb_shape *results, zb_op_error *error) {
  int last = op->operand_count - 1;
  results[0] = op->operands[0];
  if (!check_x(op, error) || !check_scale(op, 1, error) || !check_gradient(op, last - 3, 2, error)) return ZB_FAIL;
  return op->operands[last].rank < 0 ? ZB_OK : zb_check_same_type(op, last, 0, "C7", error);
}

static zb_cost cost_grad_x(const zb_op_view *op, const zb_shape *results) {
  bool residual = op->operands[op->operand_count - 1].rank >= 0;
  return (zb_cost){.flops = (residual ? 12 : 11) * zb_elements(&results[0])};
}

/* (x, statistics, dout) -> (dscale). */
static zb_result infer_grad_scale(const zb_op_view *op, zb_shape *results, zb_op_error *error) {
  if (!check_x(op, error) || !check_gradient(op, op->operand_count - 2, 1, error)) return ZB_FAIL;
  results[0] = zb_subshape(&op->operands[0], (int)axis_of(op), op->operands[0].rank);
  return ZB_OK;
}

/* Sum over the leading dimensions; with axis 0 there are none (empty axes would mean all). */
static MlirValue sum_leading(zb_builder *b, MlirValue dout, int64_t axis) {
  int64_t axes[ZB_DIMS_MAX];
  for (int64_t i = 0; i < axis; ++i)
    axes[i] = i;
  return axis == 0 ? dout : ZB_BUILD(b, "reduce_sum", dout, zb_ints("axes", axes, (int)axis));
}

/* dx reads all operands, dscale all but scale, dbias only dout. */
static MlirValue split(zb_builder *b, MlirOperation op, int result) {
  char name[80];
  MlirValue operands[5];
  int count = 0;
  int64_t axis = zb_get_i64(op, "axis", 0);
  for (int i = 0; i < mlirOperationGetNumOperands(op); ++i)
    if (result == 0 || i != 1) operands[count++] = zb_operand(op, i);
  if (result == 2) return sum_leading(b, operands[count - 1], axis);
  zb_attr attr = zb_int("axis", axis);
  snprintf(name, sizeof name, "%s_%s", zb_op_find(op)->name, result == 0 ? "x" : "scale");
  return zb_build(b, name, operands, count, &attr, 1);
}

/* A normalization, its gradient op and the two that this splits into. bias, dbias: as in lists of operands and results.
 */
#define NORM_ROWS(NAME, BIAS_OPERAND, STATISTICS, DBIAS, GRAD_ATTRS, C3, C4, C6, MEANING)                              \
  const zb_op_def zb_op_##NAME = {                                                                                     \
      ZB_ROW(NAME),                                                                                                    \
      .summary = MEANING,                                                                                              \
      .doc = C1_C2 C3 "\n",                                                                                            \
      .operands = "x, scale" BIAS_OPERAND,                                                                             \
      .results = "out, " STATISTICS,                                                                                   \
      .attrs = ZB_ATTRS(AXIS_ATTR, EPSILON_ATTR),                                                                      \
      .traits = ZB_TRAIT_PURE,                                                                                         \
      .infer = infer,                                                                                                  \
      .flops = 8,                                                                                                      \
      .grad = zb_grad_named,                                                                                           \
      .place = zb_place_rows,                                                                                          \
  };                                                                                                                   \
  const zb_op_def zb_op_##NAME##_grad = {                                                                              \
      ZB_ROW(NAME##_grad),                                                                                             \
      .summary = "Gradients of zb." #NAME ".",                                                                         \
      .doc = C1_C2 C3_SCALE C4 C5_DOUT C6 "\n",                                                                        \
      .operands = "x, scale, " STATISTICS ", dout",                                                                    \
      .results = "dx, dscale" DBIAS,                                                                                   \
      .attrs = GRAD_ATTRS,                                                                                             \
      .traits = ZB_TRAIT_PURE,                                                                                         \
      .infer = infer_grad,                                                                                             \
      .flops = 16,                                                                                                     \
      .split = split,                                                                                                  \
  };                                                                                                                   \
  const zb_op_def zb_op_##NAME##_grad_x = {                                                                            \
      ZB_ROW(NAME##_grad_x),                                                                                           \
      .summary = "Gradient of zb." #NAME " for x; residual is added.",                                                 \
      .doc = C1_C2 C3_SCALE C4 C5_DOUT C7_RESIDUAL "\n",                                                               \
      .operands = "x, scale, " STATISTICS ", dout, residual?",                                                         \
      .results = "dx",                                                                                                 \
      .attrs = ZB_ATTRS(AXIS_ATTR),                                                                                    \
      .traits = ZB_TRAIT_PURE,                                                                                         \
      .infer = infer_grad_x,                                                                                           \
      .cost = cost_grad_x,                                                                                             \
  };                                                                                                                   \
  const zb_op_def zb_op_##NAME##_grad_scale = {                                                                        \
      ZB_ROW(NAME##_grad_scale),                                                                                       \
      .summary = "Gradient of zb." #NAME " for scale.",                                                                \
      .doc = C1_C2 C4 C5_DOUT "\n",                                                                                    \
      .operands = "x, " STATISTICS ", dout",                                                                           \
      .results = "dscale",                                                                                             \
      .attrs = ZB_ATTRS(AXIS_ATTR),                                                                                    \
      .traits = ZB_TRAIT_PURE | ZB_TRAIT_ACCUMULATES,                                                                  \
      .infer = infer_grad_scale,                                                                                       \
      .flops = 4,                                                                                                      \
      .counted = ZB_OPERAND(0),                                                                                        \
  };

#define LAYER_ATTRS ZB_ATTRS(AXIS_ATTR, {"bias", ZB_ATTR_BOOL, true, 0, "whether the forward op had a bias"})
NORM_ROWS(layer_norm, ", bias?", "mean, rstd", ", dbias?", LAYER_ATTRS, C3_BOTH, C4_LAYER, C6_BIAS,
          "(x - mean) * rstd * scale + bias over the last dimensions, biased variance.")
NORM_ROWS(rms_norm, "", "rstd", "", ZB_ATTRS(AXIS_ATTR), C3_SCALE, C4_RMS, "",
          "x * rstd * scale over the last dimensions, rstd = 1 / sqrt(mean(x^2) + epsilon).")
