/* Normalization and losses. Tests: test/ir/import/import_test.c. */
#include "ir/import/onnx/onnx.h"

#include <string.h>

/* Scale or bias with exactly the normalized shape x[axis:]. */
static MlirValue affine(zb_import_node *n, int input, const zb_shape *x, int axis) {
  zb_shape wanted = zb_subshape(x, axis, x->rank);
  return zb_import_expanded(n->b, zb_import_ir(n, input), &wanted);
}

zb_result zb_onnx_norm(zb_import_node *n) {
  zb_shape x;
  int axis;
  if (!zb_onnx_shape_axis(n, -1, &x, &axis)) return ZB_FAIL;
  if (zb_onnx_int(n, "stash_type", 1) != 1)
    return zb_import_refuse(n, "stash_type 1 (float32)", "the stash_type is not supported");
  MlirValue in[3] = {zb_import_ir(n, 0), affine(n, 1, &x, axis), {NULL}};
  int count = zb_import_has(n, 2) ? 3 : 2;
  if (count == 3) in[2] = affine(n, 2, &x, axis);
  zb_attr attrs[] = {zb_int("axis", axis), zb_float("epsilon", zb_onnx_float(n, "epsilon", 1e-5f))};
  if (n->im->failed || n->b->failed) return ZB_FAIL;
  MlirOperation made = zb_build_op(n->b, n->op->argument, in, count, attrs, 2, -1);
  if (mlirOperationIsNull(made)) return ZB_FAIL;
  for (int i = 0; i < n->output_count; ++i) {
    if (!zb_import_give(n, i, mlirOperationGetResult(made, i))) return ZB_FAIL;
  }
  return ZB_OK;
}

/* [N, C, d...] -> [N, d..., C] */
static MlirValue class_last(zb_import_node *n, MlirValue x, int rank) {
  int64_t permutation[ZB_DIMS_MAX] = {0};
  for (int i = 1; i < rank; ++i)
    permutation[i] = i + 1 < rank ? i + 1 : 1;
  return rank > 2 ? zb_import_transposed(n->b, x, permutation) : x;
}

/* Attributes of both losses; returns their number, or -1 after reporting. */
static int loss_attributes(zb_import_node *n, char reduction[8], zb_attr attrs[2]) {
  zb_onnx_string(n, "reduction", "mean", reduction, 8);
  if (strcmp(reduction, "mean") != 0 && strcmp(reduction, "sum") != 0 && strcmp(reduction, "none") != 0)
    return zb_import_refuse(n, "mean, sum and none are supported", "reduction '%s'", reduction), -1;
  if (zb_import_has(n, 2))
    return zb_import_refuse(n, "export the loss without class weights", "class weights are not supported"), -1;
  attrs[0] = zb_string("reduction", reduction);
  if (!zb_onnx_attribute(n, "ignore_index")) return 1;
  attrs[1] = zb_int("ignore_index", zb_onnx_int(n, "ignore_index", 0));
  return 2;
}

/* Both losses: of logits, and of logarithms of probabilities, which has no second output. */
zb_result zb_onnx_loss(zb_import_node *n) {
  zb_shape scores;
  zb_attr attrs[2];
  char reduction[8];
  int count = loss_attributes(n, reduction, attrs);
  if (count < 0 || n->im->failed || !zb_import_shape(n, 0, &scores)) return ZB_FAIL;
  if (scores.rank < 2)
    return zb_import_refuse(n, NULL, "the scores have %d dimensions, expected [rows, classes, ...]", scores.rank);
  MlirValue x = zb_import_ir(n, 0);
  MlirValue in[2] = {class_last(n, x, scores.rank), zb_import_ir(n, 1)};
  MlirOperation made = zb_build_op(n->b, n->op->argument, in, 2, attrs, count, -1);
  if (mlirOperationIsNull(made) || !zb_import_give(n, 0, mlirOperationGetResult(made, 0))) return ZB_FAIL;
  if (!zb_import_wants(n, 1)) return ZB_OK;
  return zb_import_give(n, 1, ZB_BUILD(n->b, "log_softmax", x, zb_int("axis", 1)));
}
