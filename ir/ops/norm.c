/* zb.layer_norm and zb.rms_norm over the dimensions axis..rank-1, and their gradients, which split into one op a
 * result.
 *
 * mean and rstd keep the rank of x (x[:axis] followed by ones), as ONNX. scale and bias have the shape x[axis:].
 *
 * Tests: test/ir/ops/norm.mlir, test/ir/split_test.c.
 */
#include "ir/ops/support.h"

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

/* C4: mean, rstd. */
static zb_result check_statistic(const zb_op_view *op, int operand, zb_op_error *error) {
  zb_shape expected = statistic_shape(&op->operands[0], axis_of(op));
  return zb_check_type(op, operand, &expected, "x with ones from axis on", "C4", error);
}

/* C7: the residual, the last operand, has the type of x. */
static zb_result check_residual(const zb_op_view *op, zb_op_error *error) {
  int last = op->operand_count - 1;
  return op->operands[last].rank < 0 ? ZB_OK : zb_check_same_type(op, last, 0, "C7", error);
}

static zb_cost cost_grad_x(const zb_op_view *op, const zb_shape *results) {
  bool residual = op->operands[op->operand_count - 1].rank >= 0;
  return (zb_cost){.flops = (residual ? 12 : 11) * zb_elements(&results[0])};
}

#define AXIS_ATTR {"axis", ZB_ATTR_INT, false, 0, "first normalized dimension, from 0: axis = 2 : i64"}
#define EPSILON_ATTR {"epsilon", ZB_ATTR_FLOAT, true, 1e-5, "added to the variance"}
#define C1_C2 "C1: the element type of x is a float type. C2: axis is a dimension of x."
#define C3_SCALE " C3: scale has the type of x[axis:]."
#define C4(WHAT) " C4: " WHAT " of x[:axis] followed by ones."
#define C5_DOUT " C5: dout has the type of x."
#define C7_RESIDUAL " C7: residual has the type of x."

/* ---- layer_norm ---- */

static zb_result infer_layer_norm(const zb_op_view *op, zb_shape *results, zb_op_error *error) {
  if (!check_x(op, error) || !check_scale(op, 1, error)) return ZB_FAIL;
  if (op->operands[2].rank >= 0 && !check_scale(op, 2, error)) return ZB_FAIL;
  results[0] = op->operands[0];
  results[1] = results[2] = statistic_shape(&op->operands[0], axis_of(op));
  return ZB_OK;
}

const zb_op_def zb_op_layer_norm = {
    ZB_ROW(layer_norm),
    .summary = "(x - mean) * rstd * scale + bias over the last dimensions, biased variance.",
    .doc = C1_C2 " C3: scale and bias have the type of x[axis:].\n",
    .operands = "x, scale, bias?",
    .results = "out, mean, rstd",
    .attrs = ZB_ATTRS(AXIS_ATTR, EPSILON_ATTR),
    .traits = ZB_TRAIT_PURE,
    .infer = infer_layer_norm,
    .flops = 8,
    .grad = zb_grad_named,
};

/* (x, scale, mean, rstd, dout): C1 to C5. */
static zb_result check_layer_norm_grad(const zb_op_view *op, zb_op_error *error) {
  if (!check_x(op, error) || !check_scale(op, 1, error)) return ZB_FAIL;
  if (!check_statistic(op, 2, error) || !check_statistic(op, 3, error)) return ZB_FAIL;
  return zb_check_same_type(op, 4, 0, "C5", error);
}

static zb_result infer_layer_norm_grad(const zb_op_view *op, zb_shape *results, zb_op_error *error) {
  if (!check_layer_norm_grad(op, error)) return ZB_FAIL;
  bool bias = zb_attr_bool(&op->attrs, "bias", false);
  if (op->result_count != (bias ? 3 : 2))
    return zb_op_fail(error, "dbias is there iff bias = true", "expected %d results with bias = %s, got %d (C6)",
                      bias ? 3 : 2, bias ? "true" : "false", op->result_count);
  results[0] = op->operands[0];
  results[1] = op->operands[1];
  if (bias) results[2] = op->operands[1];
  return ZB_OK;
}

/* Sum over the leading dimensions; with axis 0 there are none (empty axes would mean all). */
static MlirValue sum_leading(zb_builder *b, MlirValue dout, int64_t axis) {
  int64_t axes[ZB_DIMS_MAX];
  for (int64_t i = 0; i < axis; ++i)
    axes[i] = i;
  zb_attr attr = zb_ints("axes", axes, (int)axis);
  return axis == 0 ? dout : zb_build(b, "reduce_sum", &dout, 1, &attr, 1);
}

static MlirValue split_layer_norm(zb_builder *b, MlirOperation op, int result) {
  int64_t axis_value = zb_get_i64(op, "axis", 0);
  zb_attr axis = zb_int("axis", axis_value);
  MlirValue x = zb_operand(op, 0), scale = zb_operand(op, 1), mean = zb_operand(op, 2), rstd = zb_operand(op, 3);
  MlirValue dout = zb_operand(op, 4);
  if (result == 0) return zb_build(b, "layer_norm_grad_x", (MlirValue[]){x, scale, mean, rstd, dout}, 5, &axis, 1);
  if (result == 1) return zb_build(b, "layer_norm_grad_scale", (MlirValue[]){x, mean, rstd, dout}, 4, &axis, 1);
  return sum_leading(b, dout, axis_value);
}

const zb_op_def zb_op_layer_norm_grad = {
    ZB_ROW(layer_norm_grad),
    .summary = "Gradients of zb.layer_norm.",
    .doc = C1_C2 C3_SCALE C4("mean and rstd have the type") C5_DOUT " C6: there are three results iff bias is true.\n",
    .operands = "x, scale, mean, rstd, dout",
    .results = "dx, dscale, dbias?",
    .attrs = ZB_ATTRS(AXIS_ATTR, {"bias", ZB_ATTR_BOOL, true, 0, "whether the forward op had a bias"}),
    .traits = ZB_TRAIT_PURE,
    .infer = infer_layer_norm_grad,
    .flops = 16,
    .split = split_layer_norm,
};

static zb_result infer_layer_norm_grad_x(const zb_op_view *op, zb_shape *results, zb_op_error *error) {
  results[0] = op->operands[0];
  return check_layer_norm_grad(op, error) ? check_residual(op, error) : ZB_FAIL;
}

const zb_op_def zb_op_layer_norm_grad_x = {
    ZB_ROW(layer_norm_grad_x),
    .summary = "Gradient of zb.layer_norm for x; residual is added.",
    .doc = C1_C2 C3_SCALE C4("mean and rstd have the type") C5_DOUT C7_RESIDUAL "\n",
    .operands = "x, scale, mean, rstd, dout, residual?",
    .results = "dx",
    .attrs = ZB_ATTRS(AXIS_ATTR),
    .traits = ZB_TRAIT_PURE,
    .infer = infer_layer_norm_grad_x,
    .cost = cost_grad_x,
};

static zb_result infer_layer_norm_grad_scale(const zb_op_view *op, zb_shape *results, zb_op_error *error) {
  if (!check_x(op, error) || !check_statistic(op, 1, error) || !check_statistic(op, 2, error)) return ZB_FAIL;
  results[0] = zb_subshape(&op->operands[0], (int)axis_of(op), op->operands[0].rank);
  return zb_check_same_type(op, 3, 0, "C5", error);
}

const zb_op_def zb_op_layer_norm_grad_scale = {
    ZB_ROW(layer_norm_grad_scale),
    .summary = "Gradient of zb.layer_norm for scale.",
    .doc = C1_C2 C4("mean and rstd have the type") C5_DOUT "\n",
    .operands = "x, mean, rstd, dout",
    .results = "dscale",
    .attrs = ZB_ATTRS(AXIS_ATTR),
    .traits = ZB_TRAIT_PURE | ZB_TRAIT_ACCUMULATES,
    .infer = infer_layer_norm_grad_scale,
    .flops = 4,
    .counted = ZB_OPERAND(0),
};

/* ---- rms_norm ---- */

static zb_result infer_rms_norm(const zb_op_view *op, zb_shape *results, zb_op_error *error) {
  if (!check_x(op, error) || !check_scale(op, 1, error)) return ZB_FAIL;
  results[0] = op->operands[0];
  results[1] = statistic_shape(&op->operands[0], axis_of(op));
  return ZB_OK;
}

const zb_op_def zb_op_rms_norm = {
    ZB_ROW(rms_norm),
    .summary = "x * rstd * scale over the last dimensions, rstd = 1 / sqrt(mean(x^2) + epsilon).",
    .doc = C1_C2 C3_SCALE "\n",
    .operands = "x, scale",
    .results = "out, rstd",
    .attrs = ZB_ATTRS(AXIS_ATTR, EPSILON_ATTR),
    .traits = ZB_TRAIT_PURE,
    .infer = infer_rms_norm,
    .flops = 8,
    .grad = zb_grad_named,
};

/* (x, scale, rstd, dout): C1 to C5. */
static zb_result check_rms_norm_grad(const zb_op_view *op, zb_op_error *error) {
  if (!check_x(op, error) || !check_scale(op, 1, error) || !check_statistic(op, 2, error)) return ZB_FAIL;
  return zb_check_same_type(op, 3, 0, "C5", error);
}

static zb_result infer_rms_norm_grad(const zb_op_view *op, zb_shape *results, zb_op_error *error) {
  results[0] = op->operands[0];
  results[1] = op->operands[1];
  return check_rms_norm_grad(op, error);
}

static MlirValue split_rms_norm(zb_builder *b, MlirOperation op, int result) {
  zb_attr axis = zb_int("axis", zb_get_i64(op, "axis", 0));
  MlirValue x = zb_operand(op, 0), scale = zb_operand(op, 1), rstd = zb_operand(op, 2), dout = zb_operand(op, 3);
  if (result == 0) return zb_build(b, "rms_norm_grad_x", (MlirValue[]){x, scale, rstd, dout}, 4, &axis, 1);
  return zb_build(b, "rms_norm_grad_scale", (MlirValue[]){x, rstd, dout}, 3, &axis, 1);
}

const zb_op_def zb_op_rms_norm_grad = {
    ZB_ROW(rms_norm_grad),
    .summary = "Gradients of zb.rms_norm.",
    .doc = C1_C2 C3_SCALE C4("rstd has the type") C5_DOUT "\n",
    .operands = "x, scale, rstd, dout",
    .results = "dx, dscale",
    .attrs = ZB_ATTRS(AXIS_ATTR),
    .traits = ZB_TRAIT_PURE,
    .infer = infer_rms_norm_grad,
    .flops = 16,
    .split = split_rms_norm,
};

static zb_result infer_rms_norm_grad_x(const zb_op_view *op, zb_shape *results, zb_op_error *error) {
  results[0] = op->operands[0];
  return check_rms_norm_grad(op, error) ? check_residual(op, error) : ZB_FAIL;
}

const zb_op_def zb_op_rms_norm_grad_x = {
    ZB_ROW(rms_norm_grad_x),
    .summary = "Gradient of zb.rms_norm for x; residual is added.",
    .doc = C1_C2 C3_SCALE C4("rstd has the type") C5_DOUT C7_RESIDUAL "\n",
    .operands = "x, scale, rstd, dout, residual?",
    .results = "dx",
    .attrs = ZB_ATTRS(AXIS_ATTR),
    .traits = ZB_TRAIT_PURE,
    .infer = infer_rms_norm_grad_x,
    .cost = cost_grad_x,
};

static zb_result infer_rms_norm_grad_scale(const zb_op_view *op, zb_shape *results, zb_op_error *error) {
  if (!check_x(op, error) || !check_statistic(op, 1, error)) return ZB_FAIL;
  results[0] = zb_subshape(&op->operands[0], (int)axis_of(op), op->operands[0].rank);
  return zb_check_same_type(op, 2, 0, "C5", error);
}

const zb_op_def zb_op_rms_norm_grad_scale = {
    ZB_ROW(rms_norm_grad_scale),
    .summary = "Gradient of zb.rms_norm for scale.",
    .doc = C1_C2 C4("rstd has the type") C5_DOUT "\n",
    .operands = "x, rstd, dout",
    .results = "dscale",
    .attrs = ZB_ATTRS(AXIS_ATTR),
    .traits = ZB_TRAIT_PURE | ZB_TRAIT_ACCUMULATES,
    .infer = infer_rms_norm_grad_scale,
    .flops = 4,
    .counted = ZB_OPERAND(0),
};
