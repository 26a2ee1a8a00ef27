/* Normalization and losses. Tests: test/ir/import/import_test.c. */
#include "ir/import/onnx/onnx.h"
#include "ir/import/meaning/spatial.h"

#include <string.h>

zb_result zb_onnx_norm(zb_import_node *n) {
  zb_shape x;
  int axis;
  zb_operand out[3], bias = zb_operand_optional(n, 2);
  if (!zb_onnx_shape_axis(n, -1, &x, &axis)) return ZB_FAIL;
  if (zb_onnx_int(n, "stash_type", 1) != 1)
    return zb_import_refuse(n, "stash_type 1 (float32)", "the stash_type is not supported");
  if (!zb_meaning_layer_norm(n, n->op->argument, zb_operand_in(n, 0), zb_operand_in(n, 1), bias, axis,
                             zb_onnx_float(n, "epsilon", 1e-5f), out))
    return ZB_FAIL;
  for (int i = 0; i < n->output_count; ++i)
    if (zb_import_wants(n, i) && !zb_operand_give(n, i, out[i])) return ZB_FAIL;
  return ZB_OK;
}

/* ---- Norms of vectors, neighbouring channels ---- */

/* x / |x| along one axis; 0 of a vector of zeros, whose gradient is then finite. */
zb_result zb_onnx_lp_norm(zb_import_node *n) {
  zb_shape x;
  int axis;
  const int64_t p = zb_onnx_int(n, "p", 2);
  if (!zb_onnx_shape_axis(n, -1, &x, &axis)) return ZB_FAIL;
  if (p != 1 && p != 2) return zb_import_refuse(n, "1 and 2 are supported", "p is %lld", (long long)p);
  const int64_t axes = axis;
  zb_operand in = zb_operand_in(n, 0), one = zb_operand_scalar(n, x.dtype, 1), zero = zb_operand_scalar(n, x.dtype, 0);
  zb_operand size = p == 1 ? zb_operand_apply1(n, "abs", in) : zb_operand_apply2(n, "mul", in, in);
  zb_operand sum = zb_operand_reduce(n, "reduce_sum", size, &axes, 1, true);
  zb_operand safe = zb_operand_where(n, zb_operand_apply2(n, "equal", sum, zero), one, sum);
  if (p == 2) safe = zb_operand_apply1(n, "sqrt", safe);
  return zb_operand_give(n, 0, zb_operand_apply2(n, "div", in, safe));
}

/* x / (bias + alpha / size * (sum of x^2 over `size` channels around each))^beta: the sum is a product with a band of
 * alpha / size, as averages of windows are. */
zb_result zb_onnx_lrn(zb_import_node *n) {
  zb_shape x;
  const int64_t size = zb_onnx_int(n, "size", 0);
  const double alpha = zb_onnx_float(n, "alpha", 1e-4f), beta = zb_onnx_float(n, "beta", 0.75f);
  if (!zb_import_shape(n, 0, &x)) return ZB_FAIL;
  if (x.rank < 3) return zb_import_refuse(n, NULL, "the input has %d dimensions, expected [N, C, ...]", x.rank);
  if (size < 1 || size > INT32_MAX)
    return zb_import_refuse(n, NULL, "size is %lld, expected 1 or more", (long long)size);
  const int64_t channels = x.dims[1], before = (size - 1) / 2, after = size / 2;
  zb_known *band = zb_known_new(
      n->im, &(zb_shape){.dtype = x.dtype == ZB_F64 ? ZB_F64 : ZB_F32, .rank = 2, .dims = {channels, channels}});
  for (int64_t c = 0; band && c < channels; ++c)
    for (int64_t k = c > before ? c - before : 0; k < channels && k <= c + after; ++k)
      zb_known_set_real(band, c * channels + k, alpha / (double)size);
  zb_operand in = zb_operand_in(n, 0),
             scale = zb_spatial_multiplied(n, zb_meaning_unary(n, "square", in, NULL, 0), 1, band);
  scale = zb_operand_apply2(n, "add", scale, zb_operand_scalar(n, x.dtype, zb_onnx_float(n, "bias", 1)));
  scale = zb_operand_apply2(n, "pow", scale, zb_operand_scalar(n, x.dtype, beta));
  return zb_operand_give(n, 0, zb_operand_apply2(n, "div", in, scale));
}

/* ---- Batch normalization ---- */

/* Before opset 14 outputs of new statistics say what training_mode says since, before opset 7 is_test. */
bool zb_onnx_batch_norm_trains(zb_import_node *n) {
  if (zb_onnx_of(n->im)->opset < 7) return zb_onnx_int(n, "is_test", 0) == 0;
  return zb_onnx_int(n, "training_mode", 0) != 0 || zb_import_wants(n, ZB_BATCH_NORM_NEW_MEAN) ||
         zb_import_wants(n, ZB_BATCH_NORM_NEW_VARIANCE);
}

/* Whether inputs from `first` to `last` have one number for each of so many; reports. */
static bool check_affine(zb_import_node *n, int first, int last, int64_t count, const char *what) {
  for (int i = first; i <= last; ++i) {
    zb_shape own;
    if (!zb_import_shape(n, i, &own)) return false;
    if (own.rank != 1 || own.dims[0] != count)
      return zb_import_refuse(n, NULL, "input %d does not have one number for each of %lld %s", i, (long long)count,
                              what);
  }
  return true;
}

/* New statistics are those of ONNX, whose variance is the biased one: PyTorch's other one is written behind it by
 * tools/export_onnx.py. Before opset 14 outputs 3 and 4 are statistics of the batch. */
zb_result zb_onnx_batch_norm(zb_import_node *n) {
  zb_shape shape;
  const bool kept = n->inputs[ZB_BATCH_NORM_MEAN]->kind == ZB_VALUE_INITIAL;
  const double momentum = zb_onnx_float(n, "momentum", 0.9f);
  zb_batch_norm norm = {.x = zb_operand_in(n, 0),
                        .scale = zb_operand_in(n, 1),
                        .bias = zb_operand_in(n, 2),
                        .trains = zb_onnx_batch_norm_trains(n) && !(kept && n->im->params->inference),
                        .epsilon = zb_onnx_float(n, "epsilon", 1e-5f)};
  zb_running *const running[] = {&norm.mean, &norm.variance};
  if (!zb_import_shape(n, 0, &shape)) return ZB_FAIL;
  if (zb_onnx_int(n, "spatial", 1) == 0)
    return zb_import_refuse(n, NULL, "spatial = 0, statistics of each place of an image, is not supported");
  if (shape.rank < 2) return zb_import_refuse(n, NULL, "the input has %d dimensions, expected [N, C, ...]", shape.rank);
  if (!check_affine(n, 1, 4, shape.dims[1], "channels")) return ZB_FAIL;
  for (int i = 0; i < 2; ++i) {
    zb_operand old = zb_operand_in(n, ZB_BATCH_NORM_MEAN + i);
    const bool wanted = zb_import_wants(n, ZB_BATCH_NORM_NEW_MEAN + i);
    *running[i] = (zb_running){.old = old, .first = old, .keeps = momentum, .takes = 1 - momentum, .wanted = wanted};
  }
  zb_operand out = zb_meaning_batch_norm(n, &norm);
  for (int i = 0; i < 2 && out; ++i) {
    const zb_running *r = running[i];
    if (r->wanted && !zb_operand_give(n, ZB_BATCH_NORM_NEW_MEAN + i, norm.trains ? r->updated : r->old)) return ZB_FAIL;
    if (zb_import_wants(n, 3 + i) && !zb_operand_give(n, 3 + i, norm.trains ? r->of_batch : r->old)) return ZB_FAIL;
  }
  return zb_operand_give(n, 0, out);
}

/* ---- Other normalizations ---- */

/* Each channel is a group. */
zb_result zb_onnx_instance_norm(zb_import_node *n) {
  zb_shape x;
  if (!zb_import_shape(n, 0, &x)) return ZB_FAIL;
  if (x.rank < 3) return zb_import_refuse(n, NULL, "the input has %d dimensions, expected [N, C, D, ...]", x.rank);
  if (!check_affine(n, 1, 2, x.dims[1], "channels")) return ZB_FAIL;
  return zb_operand_give(n, 0,
                         zb_meaning_group_norm(n, zb_operand_in(n, 0), x.dims[1], zb_operand_in(n, 1),
                                               zb_operand_in(n, 2), false, zb_onnx_float(n, "epsilon", 1e-5f)));
}

/* Scale and bias are by channel since opset 21, by group before. */
zb_result zb_onnx_group_norm(zb_import_node *n) {
  zb_shape x;
  const int64_t groups = zb_onnx_int(n, "num_groups", 0);
  const bool by_group = zb_onnx_of(n->im)->opset < 21;
  if (!zb_import_shape(n, 0, &x)) return ZB_FAIL;
  if (zb_onnx_int(n, "stash_type", 1) != 1)
    return zb_import_refuse(n, "stash_type 1 (float32)", "the stash_type is not supported");
  if (x.rank > 1 && !check_affine(n, 1, 2, by_group ? groups : x.dims[1], by_group ? "groups" : "channels"))
    return ZB_FAIL;
  return zb_operand_give(n, 0,
                         zb_meaning_group_norm(n, zb_operand_in(n, 0), groups, zb_operand_in(n, 1), zb_operand_in(n, 2),
                                               by_group, zb_onnx_float(n, "epsilon", 1e-5f)));
}

/* The deviation has 1e-9 added, as in the definition of the operator. */
zb_result zb_onnx_mean_variance(zb_import_node *n) {
  zb_shape x;
  int64_t axes[ZB_DIMS_MAX] = {0, 2, 3};
  int count = 3;
  if (!zb_import_shape(n, 0, &x)) return ZB_FAIL;
  if (!zb_onnx_ints(n, "axes", axes, ZB_DIMS_MAX, &count) && n->im->failed) return ZB_FAIL;
  for (int i = 0; i < count; ++i) {
    int axis;
    if (!zb_import_axis(n, axes[i], x.rank, &axis)) return ZB_FAIL;
    axes[i] = axis;
  }
  zb_operand in = zb_operand_in(n, 0), mean = zb_operand_reduce(n, "reduce_mean", in, axes, count, true);
  zb_operand centered = zb_operand_apply2(n, "sub", in, mean);
  zb_operand variance =
      zb_operand_reduce(n, "reduce_mean", zb_meaning_unary(n, "square", centered, NULL, 0), axes, count, true);
  zb_operand deviation = zb_meaning_line(n, zb_operand_apply1(n, "sqrt", variance), 1, 1e-9);
  return zb_operand_give(n, 0, zb_operand_apply2(n, "div", centered, deviation));
}

/* ---- Losses ---- */

/* Both losses: of logits, and of logarithms of probabilities, which has no second output. */
zb_result zb_onnx_loss(zb_import_node *n) {
  zb_shape scores, weights;
  char reduction[8];
  zb_onnx_string(n, "reduction", "mean", reduction, sizeof reduction);
  if (strcmp(reduction, "mean") != 0 && strcmp(reduction, "sum") != 0 && strcmp(reduction, "none") != 0)
    return zb_import_refuse(n, "mean, sum and none are supported", "reduction '%s'", reduction);
  zb_operand x = zb_operand_in(n, 0);
  zb_class_loss loss = {.op = n->op->argument,
                        .targets = zb_operand_in(n, 1),
                        .weight = zb_operand_optional(n, 2),
                        .reduction = reduction,
                        .ignores = zb_onnx_attribute(n, "ignore_index") != NULL,
                        .ignored = zb_onnx_int(n, "ignore_index", 0)};
  if (n->im->failed || !zb_operand_shape(n, x, &scores)) return ZB_FAIL;
  if (scores.rank < 2)
    return zb_import_refuse(n, NULL, "the scores have %d dimensions, expected [rows, classes, ...]", scores.rank);
  if (loss.weight) {
    if (!zb_import_shape(n, 2, &weights)) return ZB_FAIL;
    if (weights.rank != 1 || weights.dims[0] != scores.dims[1] || weights.dtype != ZB_F32)
      return zb_import_refuse(n, NULL, "the weights are not one float32 for each of %lld classes",
                              (long long)scores.dims[1]);
  }
  loss.scores = zb_meaning_last(n, x, 1);
  if (!zb_operand_give(n, 0, zb_meaning_class_loss(n, &loss))) return ZB_FAIL;
  return zb_import_wants(n, 1) ? zb_operand_give(n, 1, zb_meaning_softmax(n, "log_softmax", x, 1)) : ZB_OK;
}
