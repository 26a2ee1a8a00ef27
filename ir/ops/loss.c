/* zb.cross_entropy and zb.nll_loss over the last dimension, and their gradients.
 *
 * Tests: test/ir/ops/loss.mlir.
 */
#include "ir/ops/place_rules.h"
#include "ir/ops/support.h"

#include <string.h>

/* C1 to C3: scores [.., C] of a float type, labels [..] of an integer type. */
static zb_result check_labels(const zb_op_view *op, int scores, int labels, zb_op_error *error) {
  const zb_shape *x = &op->operands[scores];
  if (!zb_check_dtype(op, scores, ZB_REALS, "C1", error)) return ZB_FAIL;
  if (x->rank < 1)
    return zb_op_fail(error, NULL, "the scores need a class dimension: expected rank 1 or more, got 0 (C1)");
  if (!zb_check_dtype(op, labels, ZB_INTEGERS, "C2", error)) return ZB_FAIL;
  zb_shape expected = zb_subshape(x, 0, x->rank - 1);
  expected.dtype = op->operands[labels].dtype;
  return zb_check_type(op, labels, &expected, "the scores without the class dimension", "C3", error);
}

/* C4. The type of the loss over labels of this shape. */
static zb_result loss_shape(const zb_op_view *op, const zb_shape *labels, zb_dtype dtype, zb_shape *out,
                            zb_op_error *error) {
  const char *reduction = zb_attr_string(&op->attrs, "reduction", "");
  *out = zb_scalar_shape(dtype);
  if (strcmp(reduction, "mean") == 0 || strcmp(reduction, "sum") == 0) return ZB_OK;
  if (strcmp(reduction, "none") != 0)
    return zb_op_fail(error, "use \"mean\", \"sum\" or \"none\"", "unknown reduction '%.40s' (C4)", reduction);
  *out = *labels;
  out->dtype = dtype;
  return ZB_OK;
}

#define LOSS_ATTRS                                                                                                     \
  {"reduction", ZB_ATTR_STRING, false, 0, "reduction = \"mean\", \"sum\" or \"none\""},                                \
      {"ignore_index", ZB_ATTR_INT, true, ZB_NO_DEFAULT,                                                               \
       "label of rows that count neither in the sum nor in the mean"}
#define C1_TO_C4(SCORES)                                                                                               \
  "C1: " SCORES " has a float type and a class dimension, the last. C2: labels are i64 or i32. C3: labels have the "   \
  "shape of " SCORES " without it. C4: reduction is mean, sum or none."

/* ---- cross_entropy ---- */

/* With a second result, lse, both are wide. */
static zb_result infer(const zb_op_view *op, zb_shape *results, zb_op_error *error) {
  zb_dtype dtype = op->operands[0].dtype;
  if (!check_labels(op, 0, 1, error)) return ZB_FAIL;
  if (op->result_count > 1) {
    dtype = zb_dtype_wide(dtype);
    results[1] = op->operands[1];
    results[1].dtype = dtype;
  }
  return loss_shape(op, &op->operands[1], dtype, &results[0], error);
}

const zb_op_def zb_op_cross_entropy = {
    ZB_ROW(cross_entropy),
    .summary = "-log softmax(logits)[label], reduced over rows; lse is log(sum(exp(logits))).",
    .doc = C1_TO_C4("logits") " The loss and lse of bf16 and f16 logits are f32.\n",
    .operands = "logits, labels",
    .results = "loss, lse",
    .attrs = ZB_ATTRS(LOSS_ATTRS),
    .traits = ZB_TRAIT_PURE,
    .mixed = ZB_MIXED_ANY,
    .infer = infer,
    .flops = 12,
    .counted = ZB_OPERAND(0),
    .grad = zb_grad_named,
    .place = zb_place_cross_entropy,
};

static zb_result infer_cross_entropy_grad(const zb_op_view *op, zb_shape *results, zb_op_error *error) {
  zb_shape loss, lse = op->operands[1];
  if (!check_labels(op, 0, 1, error)) return ZB_FAIL;
  lse.dtype = zb_dtype_wide(op->operands[0].dtype);
  if (!loss_shape(op, &op->operands[1], lse.dtype, &loss, error)) return ZB_FAIL;
  if (!zb_check_type(op, 2, &lse, "the shape of labels, the type of the loss", "C5", error)) return ZB_FAIL;
  results[0] = op->operands[0];
  return zb_check_type(op, 3, &loss, "the type of the loss", "C6", error);
}

const zb_op_def zb_op_cross_entropy_grad = {
    ZB_ROW(cross_entropy_grad),
    .summary = "Gradient of zb.cross_entropy: (exp(logits - lse) - one_hot(label)) * dloss, scaled as reduced.",
    .doc = C1_TO_C4("logits") " C5: lse has the shape of labels. C6: dloss has the type of the loss.\n",
    .operands = "logits, labels, lse, dloss",
    .results = "dlogits",
    .attrs = ZB_ATTRS(LOSS_ATTRS),
    .traits = ZB_TRAIT_PURE,
    .infer = infer_cross_entropy_grad,
    .flops = 10,
};

/* ---- nll_loss ---- */

const zb_op_def zb_op_nll_loss = {
    ZB_ROW(nll_loss),
    .summary = "-log_probabilities[label], reduced over rows.",
    .doc = C1_TO_C4("log_probabilities") "\n",
    .operands = "log_probabilities, labels",
    .results = "loss",
    .attrs = ZB_ATTRS(LOSS_ATTRS),
    .traits = ZB_TRAIT_PURE,
    .infer = infer,
    .flops = 2,
    .counted = ZB_OPERAND(1),
    .grad = zb_grad_named,
};

static zb_result infer_nll_loss_grad(const zb_op_view *op, zb_shape *results, zb_op_error *error) {
  zb_shape loss;
  if (!zb_check_shape_attr(op, "shape", op->operands[1].dtype, &results[0], "C1", error)) return ZB_FAIL;
  if (!zb_check_dtype(op, 0, ZB_INTEGERS, "C2", error)) return ZB_FAIL;
  if (results[0].rank < 1)
    return zb_op_fail(error, NULL, "shape needs a class dimension: expected rank 1 or more, got 0 (C1)");
  zb_shape labels = zb_subshape(&results[0], 0, results[0].rank - 1);
  labels.dtype = op->operands[0].dtype;
  if (!zb_check_type(op, 0, &labels, "shape without the class dimension", "C3", error)) return ZB_FAIL;
  if (!loss_shape(op, &labels, op->operands[1].dtype, &loss, error)) return ZB_FAIL;
  if (!zb_check_dtype(op, 1, ZB_REALS, "C5", error)) return ZB_FAIL;
  return zb_check_type(op, 1, &loss, "the type of the loss", "C5", error);
}

const zb_op_def zb_op_nll_loss_grad = {
    ZB_ROW(nll_loss_grad),
    .summary = "Gradient of zb.nll_loss: -dloss at the label, scaled as reduced.",
    .doc = "C1: shape has a class dimension, the last. C2: labels are i64 or i32. C3: labels have that shape without "
           "it. C4: reduction "
           "is mean, sum or none. C5: dloss has the type of the loss.\n",
    .operands = "labels, dloss",
    .results = "dlog_probabilities",
    .attrs = ZB_ATTRS(LOSS_ATTRS, {"shape", ZB_ATTR_INTS, false, 0, "shape of log_probabilities"}),
    .traits = ZB_TRAIT_PURE,
    .infer = infer_nll_loss_grad,
    .flops = 10,
};
