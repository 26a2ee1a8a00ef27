/* Normalization and losses. Tests: test/ir/import/import_test.c. */
#include "ir/import/onnx/onnx.h"
#include "ir/import/operand.h"
#include "ir/import/spatial.h"

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
  if (!band || n->im->failed) return n->im->failed = true, ZB_FAIL;
  zb_operand in = zb_operand_in(n, 0), square = zb_operand_apply2(n, "mul", in, in);
  if (!square) return ZB_FAIL;
  MlirValue sum = zb_spatial_multiplied(n, zb_import_value_ir(n->im, square), 1, band);
  zb_operand scale = zb_operand_computed(n, sum), bias = zb_operand_scalar(n, x.dtype, zb_onnx_float(n, "bias", 1));
  scale = zb_operand_apply2(n, "add", scale, bias);
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
  MlirValue kept = zb_build2(n->b, "mul", old, zb_import_number(n->b, old, momentum));
  return zb_build2(n->b, "add", kept, zb_build2(n->b, "mul", now, zb_import_number(n->b, now, 1 - momentum)));
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
  if (zb_onnx_int(n, "spatial", 1) == 0)
    return zb_import_refuse(n, NULL, "spatial = 0, statistics of each place of an image, is not supported");
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
  MlirValue centered = zb_build2(n->b, "sub", in[X], by_channel(n, mean, &shape)), saved[2] = {mean, variance};
  if (trains) {
    MlirValue of_buffer = centered;
    mean = mean_of_channels(n, in[X], shape.rank);
    centered = zb_build2(n->b, "sub", in[X], by_channel(n, mean, &shape));
    MlirValue of_batch = mean_of_channels(n, zb_build2(n->b, "mul", centered, centered), shape.rank);
    saved[0] = mean;
    saved[1] = of_batch;
    centered = unless_kept(n, ZB_BATCH_NORM_MEAN, centered, of_buffer);
    variance = unless_kept(n, ZB_BATCH_NORM_VARIANCE, of_batch, new_variance);
    mean = blended(n, in[ZB_BATCH_NORM_MEAN], mean, momentum);
    new_variance = blended(n, new_variance, of_batch, momentum);
  }
  if (zb_import_wants(n, ZB_BATCH_NORM_NEW_MEAN) && !zb_import_give(n, ZB_BATCH_NORM_NEW_MEAN, mean)) return ZB_FAIL;
  if (zb_import_wants(n, ZB_BATCH_NORM_NEW_VARIANCE) && !zb_import_give(n, ZB_BATCH_NORM_NEW_VARIANCE, new_variance))
    return ZB_FAIL;
  for (int i = 0; i < 2; ++i) /* before opset 14: of the batch */
    if (zb_import_wants(n, 3 + i) && !zb_import_give(n, 3 + i, saved[i])) return ZB_FAIL;
  MlirValue deviation =
      zb_build1(n->b, "rsqrt", zb_build2(n->b, "add", variance, zb_import_number(n->b, variance, epsilon)));
  MlirValue factor = zb_build2(n->b, "mul", deviation, in[SCALE]);
  MlirValue scaled = zb_build2(n->b, "mul", centered, by_channel(n, factor, &shape));
  return zb_import_give(n, 0, zb_build2(n->b, "add", scaled, by_channel(n, in[BIAS], &shape)));
}

/* ---- Other normalizations ---- */

static MlirValue mean_over(zb_builder *b, MlirValue x, const int64_t *axes, int count) {
  return ZB_BUILD(b, "reduce_mean", x, zb_ints("axes", axes, count), zb_bool("keepdims", true));
}

/* (x - mean) / sqrt(variance + epsilon) over these axes. */
static MlirValue normalized(zb_builder *b, MlirValue x, const int64_t *axes, int count, double epsilon) {
  MlirValue centered = zb_build2(b, "sub", x, mean_over(b, x, axes, count));
  MlirValue variance = mean_over(b, zb_build2(b, "mul", centered, centered), axes, count);
  MlirValue shifted = zb_build2(b, "add", variance, zb_import_number(b, variance, epsilon));
  return zb_build2(b, "mul", centered, zb_build1(b, "rsqrt", shifted));
}

/* Whether inputs 1 and 2 have one number for each of so many; reports. */
static bool check_affine(zb_import_node *n, int64_t count, const char *what) {
  for (int i = 1; i <= 2; ++i) {
    zb_shape own;
    if (!zb_import_shape(n, i, &own)) return false;
    if (own.rank != 1 || own.dims[0] != count)
      return zb_import_refuse(n, NULL, "input %d does not have one number for each of %lld %s", i, (long long)count,
                              what);
  }
  return true;
}

zb_result zb_onnx_instance_norm(zb_import_node *n) {
  zb_shape x;
  int64_t axes[ZB_DIMS_MAX];
  if (!zb_import_shape(n, 0, &x)) return ZB_FAIL;
  if (x.rank < 3) return zb_import_refuse(n, NULL, "the input has %d dimensions, expected [N, C, D, ...]", x.rank);
  if (!check_affine(n, x.dims[1], "channels")) return ZB_FAIL;
  for (int i = 2; i < x.rank; ++i)
    axes[i - 2] = i;
  MlirValue out = normalized(n->b, zb_import_ir(n, 0), axes, x.rank - 2, zb_onnx_float(n, "epsilon", 1e-5f));
  out = zb_build2(n->b, "mul", out, by_channel(n, zb_import_ir(n, 1), &x));
  return zb_import_give(n, 0, zb_build2(n->b, "add", out, by_channel(n, zb_import_ir(n, 2), &x)));
}

/* Scale and bias are by channel since opset 21, by group before. */
zb_result zb_onnx_group_norm(zb_import_node *n) {
  zb_shape x;
  int64_t groups = zb_onnx_int(n, "num_groups", 0);
  const bool by_group = zb_onnx_of(n->im)->opset < 21;
  if (!zb_import_shape(n, 0, &x)) return ZB_FAIL;
  if (x.rank < 2) return zb_import_refuse(n, NULL, "the input has %d dimensions, expected [N, C, ...]", x.rank);
  if (groups < 1 || x.dims[1] % groups)
    return zb_import_refuse(n, NULL, "num_groups does not divide the %lld channels", (long long)x.dims[1]);
  if (zb_onnx_int(n, "stash_type", 1) != 1)
    return zb_import_refuse(n, "stash_type 1 (float32)", "the stash_type is not supported");
  if (!check_affine(n, by_group ? groups : x.dims[1], by_group ? "groups" : "channels")) return ZB_FAIL;
  const int64_t split[3] = {x.dims[0], groups, zb_shape_elements(&x) / (x.dims[0] * groups)};
  const int64_t column[2] = {groups, 1}, last = 2;
  MlirValue out = zb_import_reshaped(n->b, zb_import_ir(n, 0), split, 3);
  out = normalized(n->b, out, &last, 1, zb_onnx_float(n, "epsilon", 1e-5f));
  MlirValue affine_of[2] = {zb_import_ir(n, 1), zb_import_ir(n, 2)};
  if (!by_group) out = zb_import_reshaped(n->b, out, x.dims, x.rank);
  for (int i = 0; i < 2; ++i) {
    MlirValue row = by_group ? zb_import_reshaped(n->b, affine_of[i], column, 2) : by_channel(n, affine_of[i], &x);
    out = zb_build2(n->b, i ? "add" : "mul", out, row);
  }
  return zb_import_give(n, 0, by_group ? zb_import_reshaped(n->b, out, x.dims, x.rank) : out);
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
  MlirValue in = zb_import_ir(n, 0), centered = zb_build2(n->b, "sub", in, mean_over(n->b, in, axes, count));
  MlirValue variance = mean_over(n->b, zb_build2(n->b, "mul", centered, centered), axes, count);
  MlirValue deviation = zb_build1(n->b, "sqrt", variance);
  deviation = zb_build2(n->b, "add", deviation, zb_import_number(n->b, deviation, 1e-9));
  return zb_import_give(n, 0, zb_build2(n->b, "div", centered, deviation));
}

/* ---- Losses ---- */

/* [N, C, d...] -> [N, d..., C] */
static MlirValue class_last(zb_import_node *n, MlirValue x, int rank) {
  int64_t permutation[ZB_DIMS_MAX] = {0};
  for (int i = 1; i < rank; ++i)
    permutation[i] = i + 1 < rank ? i + 1 : 1;
  return rank > 2 ? zb_import_transposed(n->b, x, permutation) : x;
}

/* A loss of rows: scores with the classes last, labels, how the losses of rows are put together. */
typedef struct row_loss {
  MlirValue scores, labels, weights; /* weights of classes; null: all are 1 */
  char reduction[8];
  bool ignores;
  int64_t ignored; /* label of rows that do not count */
} row_loss;

static bool loss_attributes(zb_import_node *n, row_loss *loss) {
  zb_onnx_string(n, "reduction", "mean", loss->reduction, sizeof loss->reduction);
  if (strcmp(loss->reduction, "mean") != 0 && strcmp(loss->reduction, "sum") != 0 &&
      strcmp(loss->reduction, "none") != 0)
    return zb_import_refuse(n, "mean, sum and none are supported", "reduction '%s'", loss->reduction);
  loss->ignores = zb_onnx_attribute(n, "ignore_index") != NULL;
  loss->ignored = zb_onnx_int(n, "ignore_index", 0);
  return !n->im->failed;
}

static MlirValue build_loss(zb_import_node *n, const row_loss *loss, const char *reduction) {
  const zb_attr attrs[] = {zb_string("reduction", reduction), zb_int("ignore_index", loss->ignored)};
  const MlirValue in[2] = {loss->scores, loss->labels};
  MlirOperation made = zb_build_op(n->b, n->op->argument, in, 2, attrs, loss->ignores ? 2 : 1, -1);
  return mlirOperationIsNull(made) ? (MlirValue){NULL} : mlirOperationGetResult(made, 0);
}

/* The weight of the class of every row, 0 of rows that are ignored. */
static MlirValue weights_of_rows(zb_import_node *n, const row_loss *loss) {
  zb_builder *b = n->b;
  zb_shape labels;
  const zb_attr axis = zb_int("axis", 0);
  if (!zb_import_ir_shape(n, loss->labels, &labels)) return (MlirValue){NULL};
  MlirValue ignored = {NULL}, places = loss->labels;
  if (loss->ignores) {
    ignored = zb_build2(b, "equal", places, zb_build_scalar(b, labels.dtype, (double)loss->ignored));
    places = zb_build(b, "where", (MlirValue[]){ignored, zb_build_scalar(b, labels.dtype, 0), places}, 3, NULL, 0);
  }
  MlirValue weights = zb_build(b, "gather", (MlirValue[]){loss->weights, places}, 2, &axis, 1);
  if (!loss->ignores) return weights;
  return zb_build(b, "where", (MlirValue[]){ignored, zb_build_scalar(b, ZB_F32, 0), weights}, 3, NULL, 0);
}

static MlirValue sum_of_all(zb_builder *b, MlirValue x) {
  return ZB_BUILD(b, "reduce_sum", x, zb_ints("axes", NULL, 0), zb_bool("keepdims", false));
}

/* The mean is that of weights, not of rows. */
static MlirValue build_weighted_loss(zb_import_node *n, const row_loss *loss) {
  MlirValue weights = weights_of_rows(n, loss);
  MlirValue rows = zb_build2(n->b, "mul", build_loss(n, loss, "none"), weights);
  if (strcmp(loss->reduction, "none") == 0) return rows;
  MlirValue sum = sum_of_all(n->b, rows);
  return strcmp(loss->reduction, "sum") == 0 ? sum : zb_build2(n->b, "div", sum, sum_of_all(n->b, weights));
}

/* Both losses: of logits, and of logarithms of probabilities, which has no second output. */
zb_result zb_onnx_loss(zb_import_node *n) {
  zb_shape scores, weights;
  row_loss loss = {.labels = {NULL}};
  if (!loss_attributes(n, &loss) || !zb_import_shape(n, 0, &scores)) return ZB_FAIL;
  if (scores.rank < 2)
    return zb_import_refuse(n, NULL, "the scores have %d dimensions, expected [rows, classes, ...]", scores.rank);
  MlirValue x = zb_import_ir(n, 0);
  loss.scores = class_last(n, x, scores.rank);
  loss.labels = zb_import_ir(n, 1);
  if (zb_import_has(n, 2)) {
    if (!zb_import_shape(n, 2, &weights)) return ZB_FAIL;
    if (weights.rank != 1 || weights.dims[0] != scores.dims[1] || weights.dtype != ZB_F32)
      return zb_import_refuse(n, NULL, "the weights are not one float32 for each of %lld classes",
                              (long long)scores.dims[1]);
    loss.weights = zb_import_ir(n, 2);
  }
  MlirValue out = loss.weights.ptr ? build_weighted_loss(n, &loss) : build_loss(n, &loss, loss.reduction);
  if (!zb_import_give(n, 0, out)) return ZB_FAIL;
  if (!zb_import_wants(n, 1)) return ZB_OK;
  return zb_import_give(n, 1, ZB_BUILD(n->b, "log_softmax", x, zb_int("axis", 1)));
}
