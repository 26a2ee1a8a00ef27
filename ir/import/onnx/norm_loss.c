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

/* ---- Batch normalization ---- */

/* Before opset 14 outputs of new statistics say what training_mode says since. */
bool zb_onnx_batch_norm_trains(zb_import_node *n) {
  return zb_onnx_int(n, "training_mode", 0) != 0 || zb_import_wants(n, ZB_BATCH_NORM_NEW_MEAN) ||
         zb_import_wants(n, ZB_BATCH_NORM_NEW_VARIANCE);
}

/* One number a channel, as [C, 1, ...], which broadcasts to x. */
static MlirValue by_channel(zb_import_node *n, MlirValue x, const zb_shape *shape) {
  const int64_t dims[ZB_DIMS_MAX] = {shape->dims[1], 1, 1, 1, 1, 1, 1, 1};
  return zb_import_reshaped(n->b, x, dims, shape->rank - 1);
}

static MlirValue mean_of_channels(zb_import_node *n, MlirValue x, int rank) {
  int64_t axes[ZB_DIMS_MAX] = {0};
  for (int i = 2; i < rank; ++i)
    axes[i - 1] = i;
  return ZB_BUILD(n->b, "reduce_mean", x, zb_ints("axes", axes, rank - 1), zb_bool("keepdims", false));
}

/* momentum * old + (1 - momentum) * now. */
static MlirValue blended(zb_import_node *n, MlirValue old, MlirValue now, double momentum) {
  if (momentum == 0) return now;
  MlirValue kept = zb_build2(n->b, "mul", old, zb_build_scalar(n->b, ZB_F32, momentum));
  return zb_build2(n->b, "add", kept, zb_build2(n->b, "mul", now, zb_build_scalar(n->b, ZB_F32, 1 - momentum)));
}

/* What an evaluation takes in place of the statistics of the batch: buffers, if they are some. */
static MlirValue unless_kept(zb_import_node *n, int input, MlirValue of_batch, MlirValue of_buffer) {
  return n->inputs[input]->role == ZB_ROLE_BUFFER ? zb_build2(n->b, "by_mode", of_batch, of_buffer) : of_batch;
}

/* (x - mean) / sqrt(variance + epsilon) * scale + bias by channels, of the batch or as given. New statistics are those
 * of ONNX, whose variance is the biased one: PyTorch's other one is written behind it by tools/export_onnx.py. */
zb_result zb_onnx_batch_norm(zb_import_node *n) {
  enum { X, SCALE, BIAS };
  zb_shape shape;
  MlirValue in[5];
  const bool kept = n->inputs[ZB_BATCH_NORM_MEAN]->kind == ZB_VALUE_INITIAL;
  const bool trains = zb_onnx_batch_norm_trains(n) && !(kept && n->im->params->inference);
  const double epsilon = zb_onnx_float(n, "epsilon", 1e-5f), momentum = zb_onnx_float(n, "momentum", 0.9f);
  if (!zb_import_shape(n, X, &shape)) return ZB_FAIL;
  if (shape.rank < 2) return zb_import_refuse(n, NULL, "the input has %d dimensions, expected [N, C, ...]", shape.rank);
  for (int i = 0; i < 5; ++i) {
    zb_shape own;
    in[i] = zb_import_ir(n, i);
    if (!zb_import_ir_shape(n, in[i], &own)) return ZB_FAIL;
    if (i != X && (own.rank != 1 || own.dims[0] != shape.dims[1]))
      return zb_import_refuse(n, NULL, "input %d does not have one number for each of %lld channels", i,
                              (long long)shape.dims[1]);
  }
  MlirValue mean = in[ZB_BATCH_NORM_MEAN], variance = in[ZB_BATCH_NORM_VARIANCE], new_variance = variance;
  MlirValue centered = zb_build2(n->b, "sub", in[X], by_channel(n, mean, &shape));
  if (trains) {
    MlirValue of_buffer = centered;
    mean = mean_of_channels(n, in[X], shape.rank);
    centered = zb_build2(n->b, "sub", in[X], by_channel(n, mean, &shape));
    MlirValue of_batch = mean_of_channels(n, zb_build2(n->b, "mul", centered, centered), shape.rank);
    centered = unless_kept(n, ZB_BATCH_NORM_MEAN, centered, of_buffer);
    variance = unless_kept(n, ZB_BATCH_NORM_VARIANCE, of_batch, new_variance);
    mean = blended(n, in[ZB_BATCH_NORM_MEAN], mean, momentum);
    new_variance = blended(n, new_variance, of_batch, momentum);
  }
  if (zb_import_wants(n, ZB_BATCH_NORM_NEW_MEAN) && !zb_import_give(n, ZB_BATCH_NORM_NEW_MEAN, mean)) return ZB_FAIL;
  if (zb_import_wants(n, ZB_BATCH_NORM_NEW_VARIANCE) && !zb_import_give(n, ZB_BATCH_NORM_NEW_VARIANCE, new_variance))
    return ZB_FAIL;
  MlirValue deviation =
      zb_build1(n->b, "rsqrt", zb_build2(n->b, "add", variance, zb_build_scalar(n->b, ZB_F32, epsilon)));
  MlirValue factor = zb_build2(n->b, "mul", deviation, in[SCALE]);
  MlirValue scaled = zb_build2(n->b, "mul", centered, by_channel(n, factor, &shape));
  return zb_import_give(n, 0, zb_build2(n->b, "add", scaled, by_channel(n, in[BIAS], &shape)));
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
