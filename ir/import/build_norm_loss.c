/* Normalization and losses. Tests: test/ir/import/import_test.c. */
#include "ir/import/build.h"

#include <inttypes.h>
#include <string.h>

/* Scale or bias with exactly the normalized shape x[axis:]. */
static MlirValue affine(zb_onnx_node *n, int input, const zb_shape *x, int axis) {
  zb_shape wanted = {.dtype = x->dtype, .rank = x->rank - axis};
  for (int i = axis; i < x->rank; ++i)
    wanted.dims[i - axis] = x->dims[i];
  return zb_onnx_build_expanded(n->b, zb_onnx_node_value(n, input), &wanted);
}

static zb_result norm(zb_onnx_node *n, const char *op, int results) {
  zb_shape x;
  int axis;
  if (!zb_onnx_node_shape(n, 0, &x) || !zb_onnx_node_axis(n, zb_onnx_node_int(n, "axis", -1), x.rank, &axis))
    return ZB_FAIL;
  if (zb_onnx_node_int(n, "stash_type", 1) != 1)
    return zb_onnx_node_fail(n, "stash_type 1 (float32)", "the stash_type is not supported");
  MlirValue in[3] = {zb_onnx_node_value(n, 0), affine(n, 1, &x, axis), {NULL}};
  int count = zb_onnx_node_has(n, 2) ? 3 : 2;
  if (count == 3) in[2] = affine(n, 2, &x, axis);
  zb_attr attrs[] = {zb_int("axis", axis), zb_float("epsilon", zb_onnx_node_float(n, "epsilon", 1e-5f))};
  if (n->im->failed || n->b->failed) return ZB_FAIL;
  MlirOperation made = zb_build_op(n->b, op, in, count, attrs, 2, results);
  if (mlirOperationIsNull(made)) return ZB_FAIL;
  for (int i = 0; i < (int)n->proto->n_output; ++i) {
    if (!zb_onnx_node_set(n, i, mlirOperationGetResult(made, i))) return ZB_FAIL;
  }
  return ZB_OK;
}

zb_result zb_onnx_build_layer_norm(zb_onnx_node *n) { return norm(n, "layer_norm", 3); }

zb_result zb_onnx_build_rms_norm(zb_onnx_node *n) { return norm(n, "rms_norm", 2); }

/* [N, C, d...] -> [N, d..., C] */
static MlirValue class_last(zb_onnx_node *n, MlirValue x, int rank) {
  int64_t permutation[ZB_DIMS_MAX] = {0};
  for (int i = 1; i < rank; ++i)
    permutation[i] = i + 1 < rank ? i + 1 : 1;
  return rank > 2 ? zb_onnx_build_transposed(n->b, x, permutation) : x;
}

/* Attributes of both losses; returns their number, or -1 after reporting. */
static int loss_attributes(zb_onnx_node *n, char reduction[8], zb_attr attrs[2]) {
  zb_onnx_node_string(n, "reduction", "mean", reduction, 8);
  if (strcmp(reduction, "mean") != 0 && strcmp(reduction, "sum") != 0 && strcmp(reduction, "none") != 0) {
    zb_onnx_node_fail(n, "mean, sum and none are supported", "reduction '%s'", reduction);
    return -1;
  }
  if (zb_onnx_node_has(n, 2)) {
    zb_onnx_node_fail(n, "export the loss without class weights", "class weights are not supported");
    return -1;
  }
  attrs[0] = zb_string("reduction", reduction);
  if (!zb_onnx_node_attr(n, "ignore_index")) return 1;
  attrs[1] = zb_int("ignore_index", zb_onnx_node_int(n, "ignore_index", 0));
  return 2;
}

static bool loss_shape(zb_onnx_node *n, zb_shape *scores) {
  if (!zb_onnx_node_shape(n, 0, scores)) return false;
  if (scores->rank >= 2) return true;
  zb_onnx_node_fail(n, NULL, "the scores have %d dimensions, expected [rows, classes, ...]", scores->rank);
  return false;
}

zb_result zb_onnx_build_cross_entropy(zb_onnx_node *n) {
  zb_shape scores;
  zb_attr attrs[2];
  char reduction[8];
  int count = loss_attributes(n, reduction, attrs);
  if (count < 0 || n->im->failed || !loss_shape(n, &scores)) return ZB_FAIL;
  MlirValue logits = zb_onnx_node_value(n, 0);
  MlirValue in[2] = {class_last(n, logits, scores.rank), zb_onnx_node_value(n, 1)};
  MlirOperation made = zb_build_op(n->b, "cross_entropy", in, 2, attrs, count, 2);
  if (mlirOperationIsNull(made) || !zb_onnx_node_set(n, 0, mlirOperationGetResult(made, 0))) return ZB_FAIL;
  if (!zb_onnx_node_output_used(n, 1)) return ZB_OK;
  zb_attr axis = zb_int("axis", 1);
  return zb_onnx_node_set(n, 1, zb_build(n->b, "log_softmax", &logits, 1, &axis, 1));
}

zb_result zb_onnx_build_nll_loss(zb_onnx_node *n) {
  zb_shape scores;
  zb_attr attrs[2];
  char reduction[8];
  int count = loss_attributes(n, reduction, attrs);
  if (count < 0 || n->im->failed || !loss_shape(n, &scores)) return ZB_FAIL;
  MlirValue in[2] = {class_last(n, zb_onnx_node_value(n, 0), scores.rank), zb_onnx_node_value(n, 1)};
  return zb_onnx_node_set(n, 0, zb_build(n->b, "nll_loss", in, 2, attrs, count));
}
