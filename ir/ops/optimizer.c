/* Gradient accumulation and the optimizer updates, which work in place: results alias operands.
 *
 * Tests: test/ir/ops/optimizer.mlir, test/ir/op_table_test.c (aliases).
 */
#include "ir/ops/support.h"

/* C3: the step number, alone or with a factor. C4: what the session sets. */
static zb_result check_step(const zb_op_view *op, int operand, zb_op_error *error) {
  const zb_shape step = zb_scalar_shape(ZB_I64), pair = {.dtype = ZB_F64, .rank = 1, .dims = {2}};
  if (!zb_shape_equal(&op->operands[operand], &pair) &&
      !zb_check_type(op, operand, &step, "the number of the step, from 1", "C3", error))
    return ZB_FAIL;
  return zb_check_type(op, operand + 1, &pair, "learning rate and weight decay", "C4", error);
}

/* ---- accumulate ---- */

static zb_result infer_accumulate(const zb_op_view *op, zb_shape *results, zb_op_error *error) {
  enum { SUM, VALUE };
  if (!zb_check_dtype(op, VALUE, ZB_REALS, "C1", error)) return ZB_FAIL;
  results[0] = op->operands[VALUE];
  return op->operands[SUM].rank < 0 ? ZB_OK : zb_check_same_type(op, SUM, VALUE, "C2", error);
}

/* After zb-outline the sum goes in and comes out at one place. */
static int alias_accumulate(const zb_op_view *op, int result ZB_UNUSED) { return op->operands[0].rank < 0 ? -1 : 0; }

const zb_op_def zb_op_accumulate = {
    ZB_ROW(accumulate),
    .summary = "The sum of value over micro-batches: the edge between once a micro-batch and once a step.",
    .doc = "C1: value has a float type. C2: sum, if it is there, has the type of value.\n",
    .operands = "sum?, value",
    .results = "out",
    .attrs = ZB_ATTRS({"parameter", ZB_ATTR_STRING, true, ZB_NO_DEFAULT, "parameter whose gradient it is"},
                      {"use", ZB_ATTR_INT, true, ZB_NO_DEFAULT, "which of its uses, from 0"}),
    .infer = infer_accumulate,
    .flops = 1,
    .alias = alias_accumulate,
};

static zb_result infer_accumulate_add(const zb_op_view *op, zb_shape *results, zb_op_error *error) {
  results[0] = op->operands[0];
  return zb_check_dtype(op, 0, ZB_REALS, "C1", error);
}

const zb_op_def zb_op_accumulate_add = {
    ZB_ROW(accumulate_add),
    .summary = "sum += value: a zb.accumulate whose producer cannot add itself.",
    .doc = "C1: value has a float type.\n",
    .operands = "value",
    .results = "sum",
    .traits = ZB_TRAIT_PURE | ZB_TRAIT_ACCUMULATES,
    .infer = infer_accumulate_add,
    .flops = 1,
};

/* ---- adamw, adam, lion ---- */

/* Parameter and gradient, states of its type, the step and the settings. */
static zb_result infer_update(const zb_op_view *op, int states, zb_shape *results, zb_op_error *error) {
  enum { PARAMETER, GRADIENT, STATES };
  if (!zb_check_dtype(op, PARAMETER, ZB_REALS, "C1", error)) return ZB_FAIL;
  for (int i = GRADIENT; i < STATES + states; ++i)
    if (!zb_check_same_type(op, i, PARAMETER, "C2", error)) return ZB_FAIL;
  for (int i = 0; i <= states; ++i)
    results[i] = op->operands[PARAMETER];
  return check_step(op, STATES + states, error);
}

static zb_result infer_adam(const zb_op_view *op, zb_shape *results, zb_op_error *error) {
  return infer_update(op, 2, results, error);
}

static zb_result infer_lion(const zb_op_view *op, zb_shape *results, zb_op_error *error) {
  return infer_update(op, 1, results, error);
}

/* Results are the parameter and the states. */
static int alias_update(const zb_op_view *op ZB_UNUSED, int result) { return result == 0 ? 0 : result + 1; }

#define UPDATE_ATTRS {"gradient_scale", ZB_ATTR_FLOAT, true, 1, "factor of the gradient: 1 / micro-batches"}
#define UPDATE_DOC(states)                                                                                             \
  "C1: parameter has a float type. C2: gradient" states " have its type. C3: step is an i64 scalar, or a pair "        \
  "of f64 that zb.clip_scale makes of it. C4: settings, a pair of f64, are learning rate and weight decay.\n"
#define ADAM(op, text)                                                                                                 \
  const zb_op_def zb_op_##op = {                                                                                       \
      ZB_ROW(op),                                                                                                      \
      .summary = text,                                                                                                 \
      .doc = UPDATE_DOC(", exp_avg and exp_avg_sq"),                                                                   \
      .operands = "parameter, gradient, exp_avg, exp_avg_sq, step, settings",                                          \
      .results = "new_parameter, new_exp_avg, new_exp_avg_sq",                                                         \
      .attrs = ZB_ATTRS(UPDATE_ATTRS, {"beta1", ZB_ATTR_FLOAT, false, 0, "decay of exp_avg: beta1 = 0.9 : f64"},       \
                        {"beta2", ZB_ATTR_FLOAT, false, 0, "decay of exp_avg_sq: beta2 = 0.95 : f64"},                 \
                        {"eps", ZB_ATTR_FLOAT, false, 0, "eps = 1.0e-08 : f64"}),                                      \
      .traits = ZB_TRAIT_UPDATE | ZB_TRAIT_OF_PARTS,                                                                   \
      .infer = infer_adam,                                                                                             \
      .flops = 16,                                                                                                     \
      .alias = alias_update,                                                                                           \
  };
ADAM(adamw, "One step of torch.optim.AdamW, in place.")
ADAM(adam, "One step of torch.optim.Adam, in place.")

const zb_op_def zb_op_lion = {
    ZB_ROW(lion),
    .summary = "One step of Lion (Chen et al. 2023), in place.",
    .doc = UPDATE_DOC(" and exp_avg"),
    .operands = "parameter, gradient, exp_avg, step, settings",
    .results = "new_parameter, new_exp_avg",
    .attrs =
        ZB_ATTRS(UPDATE_ATTRS, {"beta1", ZB_ATTR_FLOAT, false, 0, "share of exp_avg in the sign: beta1 = 0.9 : f64"},
                 {"beta2", ZB_ATTR_FLOAT, false, 0, "decay of exp_avg: beta2 = 0.99 : f64"}),
    .traits = ZB_TRAIT_UPDATE | ZB_TRAIT_OF_PARTS,
    .infer = infer_lion,
    .flops = 10,
    .alias = alias_update,
};

/* ---- sgd ---- */

static zb_result infer_sgd(const zb_op_view *op, zb_shape *results, zb_op_error *error) {
  enum { PARAMETER, GRADIENT, BUFFER, STEP };
  if (!zb_check_dtype(op, PARAMETER, ZB_REALS, "C1", error)) return ZB_FAIL;
  if (!zb_check_same_type(op, GRADIENT, PARAMETER, "C2", error)) return ZB_FAIL;
  bool has_buffer = op->operands[BUFFER].rank >= 0, has_momentum = zb_attr_float(&op->attrs, "momentum", 0) != 0;
  if (has_buffer && !zb_check_same_type(op, BUFFER, PARAMETER, "C2", error)) return ZB_FAIL;
  if (!check_step(op, STEP, error)) return ZB_FAIL;
  if (has_buffer != has_momentum || op->result_count != (has_momentum ? 2 : 1))
    return zb_op_fail(error, "momentum_buffer goes in and comes out iff momentum is not 0",
                      "momentum and momentum_buffer do not fit: expected %s (C5)",
                      has_momentum ? "5 operands and 2 results" : "4 operands and 1 result");
  for (int i = 0; i < op->result_count; ++i)
    results[i] = op->operands[PARAMETER];
  return ZB_OK;
}

const zb_op_def zb_op_sgd = {
    ZB_ROW(sgd),
    .summary = "One step of torch.optim.SGD, in place.",
    .doc = "C1: parameter has a float type. C2: gradient and momentum_buffer have its type. C3: step is an i64 scalar. "
           "C4: settings, a pair of f64, are learning rate and weight decay. C5: momentum_buffer is there, as operand "
           "and as result, iff momentum is not 0.\n",
    .operands = "parameter, gradient, momentum_buffer?, step, settings",
    .results = "new_parameter, new_momentum_buffer?",
    .attrs = ZB_ATTRS(UPDATE_ATTRS, {"momentum", ZB_ATTR_FLOAT, true, 0, "momentum = 0.9 : f64"},
                      {"dampening", ZB_ATTR_FLOAT, true, 0, "dampening = 0.0 : f64"},
                      {"nesterov", ZB_ATTR_BOOL, true, 0, "nesterov = true"}),
    .traits = ZB_TRAIT_UPDATE | ZB_TRAIT_OF_PARTS,
    .infer = infer_sgd,
    .flops = 6,
    .alias = alias_update,
};
