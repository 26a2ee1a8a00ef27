/* Normalizations and losses. Tests: test/ir/import/aten. */
#include "ir/import/aten/aten.h"
#include "ir/import/channels.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* ---- Normalization over the last dimensions ---- */

/* Scale or bias of the normalized shape; a scale that is absent is ones. */
static zb_operand affine(zb_import_node *n, int input, const zb_shape *wanted, bool is_scale) {
  zb_shape shape = *wanted;
  if (zb_import_has(n, input)) return zb_operand_expand(n, n->inputs[input], wanted);
  return is_scale ? zb_operand_filled(n, &shape, zb_operand_scalar(n, shape.dtype, 1)) : NULL;
}

/* layer_norm and rms_norm; native_layer_norm gives mean and 1 / deviation as well. */
zb_result zb_aten_norm(zb_import_node *n) {
  zb_shape in;
  int64_t dims[ZB_DIMS_MAX];
  int count;
  const bool is_rms = strcmp(n->op->argument, "rms_norm") == 0;
  zb_operand x = zb_operand_in(n, 0);
  if (!zb_operand_shape(n, x, &in)) return ZB_FAIL;
  if (!zb_aten_ints(n, "normalized_shape", dims, ZB_DIMS_MAX, &count) || count < 1 || count > in.rank)
    return zb_import_refuse(n, NULL, "normalized_shape is not of its tensor");
  const int axis = in.rank - count;
  const zb_shape wanted = zb_subshape(&in, axis, in.rank);
  zb_operand operands[3] = {x, affine(n, 1, &wanted, true), affine(n, 2, &wanted, false)};
  MlirValue values[3];
  const int given = operands[2] ? 3 : 2;
  for (int i = 0; i < given && !n->im->failed; ++i)
    values[i] = operands[i] ? zb_import_value_ir(n->im, operands[i]) : (MlirValue){NULL};
  if (n->im->failed || n->b->failed) return ZB_FAIL;
  const zb_attr attrs[] = {zb_int("axis", axis),
                           zb_float("epsilon", (float)zb_aten_real(n, "eps", is_rms ? FLT_EPSILON : 1e-5))};
  MlirOperation made = zb_build_op(n->b, n->op->argument, values, given, attrs, 2, -1);
  if (mlirOperationIsNull(made)) return ZB_FAIL;
  for (int i = 0; i < n->output_count; ++i)
    if (zb_import_wants(n, i) && !zb_import_give(n, i, mlirOperationGetResult(made, i))) return ZB_FAIL;
  return ZB_OK;
}

/* ---- Normalization of groups and channels ---- */

static zb_operand optional(const zb_import_node *n, int input) {
  return zb_import_has(n, input) ? n->inputs[input] : NULL;
}

zb_result zb_aten_group_norm(zb_import_node *n) {
  const double epsilon = zb_aten_real(n, "eps", 1e-5);
  return zb_operand_give(n, 0,
                         zb_channels_group_norm(n, zb_operand_in(n, 0), zb_aten_int(n, "group", 1), optional(n, 1),
                                                optional(n, 2), epsilon));
}

/* Whether a node is batch normalization by statistics of its input that keeps running ones. */
static bool keeps_statistics(const zb_import_node *n) {
  return n && n->op && strcmp(n->op->argument, "functional") == 0;
}

/* Running statistics of a module that is called more than once: those that it has before its first call. */
static zb_operand first_statistics(zb_operand x, int input) {
  while (x->producer && keeps_statistics(x->producer) && zb_import_has(x->producer, input))
    x = x->producer->inputs[input];
  return x;
}

/* (x - mean) / sqrt(variance + epsilon) by channels, of the batch (which an evaluation replaces by the running
 * statistics) or of the running statistics; new ones are results 3 and 4, with the unbiased variance. */
zb_result zb_aten_batch_norm(zb_import_node *n) {
  enum { MEAN = 3, VARIANCE = 4 };
  zb_shape in;
  const bool has_running = zb_import_has(n, VARIANCE), functional = strcmp(n->op->argument, "functional") == 0;
  const bool trains = !has_running || (functional && zb_aten_flag(n, "training", true) && !n->im->params->inference);
  if (!zb_import_shape(n, 0, &in)) return ZB_FAIL;
  if (!functional && zb_import_wants(n, 1)) return zb_import_refuse(n, NULL, "its statistics are not supported");
  const double momentum = zb_aten_real(n, "momentum", 0.1);
  const double count = in.rank > 1 ? (double)zb_shape_elements(&in) / (double)in.dims[1] : 1;
  zb_batch_norm norm = {.x = zb_operand_in(n, 0),
                        .scale = optional(n, 1),
                        .bias = optional(n, 2),
                        .trains = trains,
                        .epsilon = zb_aten_real(n, "eps", 1e-5)};
  for (int i = MEAN; i <= VARIANCE && has_running; ++i)
    *(i == MEAN ? &norm.mean : &norm.variance) =
        (zb_running){.old = n->inputs[i],
                     .first = first_statistics(n->inputs[i], i),
                     .keeps = 1 - momentum,
                     .takes = i == MEAN ? momentum : momentum * count / fmax(count - 1, 1),
                     .wanted = zb_import_wants(n, i)};
  zb_operand out = zb_channels_batch_norm(n, &norm);
  for (int i = MEAN; i <= VARIANCE && functional && out; ++i) {
    zb_operand updated = i == MEAN ? norm.mean.updated : norm.variance.updated;
    if (zb_import_wants(n, i) && !zb_operand_give(n, i, trains ? updated : n->inputs[i])) return ZB_FAIL;
  }
  return zb_operand_give(n, 0, out);
}

/* ---- Losses ---- */

/* By the number that PyTorch has for it; NULL after reporting. */
static const char *reduction_of(zb_import_node *n) {
  static const char *const names[] = {"none", "mean", "sum"};
  const int64_t number = zb_aten_int(n, "reduction", 1);
  if (number >= 0 && number <= 2) return names[number];
  return zb_aten_refuse_argument(n, "reduction", "0, 1 and 2 are supported"), NULL;
}

/* [N, C, d...] -> [N, d..., C] */
static zb_operand class_last(zb_import_node *n, zb_operand x, int rank) {
  int64_t permutation[ZB_DIMS_MAX] = {0};
  for (int i = 1; i < rank; ++i)
    permutation[i] = i + 1 < rank ? i + 1 : 1;
  return rank > 2 ? zb_operand_transpose(n, x, permutation) : x;
}

/* A value times a constant. */
static zb_operand times(zb_import_node *n, zb_operand x, double factor) {
  return zb_operand_apply2(n, "mul", x, zb_operand_scalar(n, ZB_F32, factor));
}

/* What a loss is computed from, with classes last. */
typedef struct {
  zb_operand scores, targets, weight; /* weight: of each class, or NULL */
  int rank;                           /* of the scores */
  double smoothing;
  int64_t ignored;
  const char *reduction;
} loss_parts;

/* The sum over rows, or over rows and classes. */
static zb_operand sum_of_axes(zb_import_node *n, zb_operand x, int count) {
  int64_t axes[ZB_DIMS_MAX];
  for (int i = 0; i < count; ++i)
    axes[i] = i;
  return zb_operand_reduce(n, "reduce_sum", x, axes, count, false);
}

/* Log-probabilities, times the weights of their classes. */
static zb_operand log_probabilities(zb_import_node *n, const loss_parts *l) {
  const zb_attr last = zb_int("axis", l->rank - 1);
  zb_operand logarithms = zb_operand_build(n, "log_softmax", &l->scores, 1, &last, 1);
  return l->weight ? zb_operand_apply2(n, "mul", logarithms, l->weight) : logarithms;
}

/* The loss with label smoothing or weights of classes: (1 - s) of the loss of the labels, and s of the mean over
 * classes of what each class would lose. Targets that are ignored count for neither, others as much as their class. */
static zb_operand of_labels(zb_import_node *n, const loss_parts *l) {
  const int64_t axis = l->rank - 1;
  const zb_attr attrs[] = {zb_string("reduction", "none"), zb_int("ignore_index", l->ignored)};
  zb_operand loss = zb_operand_build(n, n->op->argument, (zb_operand[]){l->scores, l->targets}, 2, attrs, 2);
  zb_operand labels = zb_operand_cast(n, l->targets, ZB_I64), zero = zb_operand_scalar(n, ZB_F32, 0);
  zb_operand ignored = zb_operand_apply2(n, "equal", labels, zb_operand_scalar(n, ZB_I64, (double)l->ignored));
  zb_operand seen = zb_operand_apply1(n, "not", ignored), share = zb_operand_cast(n, seen, ZB_F32);
  if (l->weight) {
    zb_operand places = zb_operand_where(n, seen, labels, zb_operand_scalar(n, ZB_I64, 0));
    share = zb_operand_where(n, seen, zb_operand_gather(n, l->weight, places, 0), zero);
    loss = zb_operand_apply2(n, "mul", loss, share);
  }
  if (l->smoothing != 0) {
    zb_shape shape;
    if (!zb_operand_shape(n, l->scores, &shape)) return NULL;
    zb_operand all = log_probabilities(n, l);
    all = l->weight ? times(n, zb_operand_reduce(n, "reduce_sum", all, &axis, 1, false), 1.0 / (double)shape.dims[axis])
                    : zb_operand_reduce(n, "reduce_mean", all, &axis, 1, false);
    all = zb_operand_where(n, seen, all, zero);
    loss = zb_operand_apply2(n, "sub", times(n, loss, 1 - l->smoothing), times(n, all, l->smoothing));
  }
  if (strcmp(l->reduction, "none") == 0) return loss;
  loss = sum_of_axes(n, loss, l->rank - 1);
  if (strcmp(l->reduction, "sum") == 0) return loss;
  return zb_operand_apply2(n, "div", loss, sum_of_axes(n, share, l->rank - 1));
}

/* The loss of targets that are a probability of each class; a mean is one over rows. */
static zb_operand of_probabilities(zb_import_node *n, const loss_parts *l) {
  zb_shape shape;
  const int64_t axis = l->rank - 1;
  if (!zb_operand_shape(n, l->scores, &shape)) return NULL;
  zb_operand targets = l->targets;
  if (l->smoothing != 0) {
    zb_operand even = zb_operand_scalar(n, shape.dtype, l->smoothing / (double)shape.dims[axis]);
    targets = zb_operand_apply2(n, "add", times(n, targets, 1 - l->smoothing), even);
  }
  zb_operand each = zb_operand_apply1(n, "neg", zb_operand_apply2(n, "mul", targets, log_probabilities(n, l)));
  if (strcmp(l->reduction, "none") == 0) return zb_operand_reduce(n, "reduce_sum", each, &axis, 1, false);
  const double rows = (double)(zb_shape_elements(&shape) / shape.dims[axis]);
  each = sum_of_axes(n, each, l->rank);
  return strcmp(l->reduction, "sum") == 0 ? each : times(n, each, 1 / rows);
}

/* Both losses of labels: of logits, and of logarithms of probabilities. */
zb_result zb_aten_loss(zb_import_node *n) {
  zb_shape scores, labels, flat;
  loss_parts l = {.reduction = reduction_of(n),
                  .smoothing = zb_aten_real(n, "label_smoothing", 0),
                  .ignored = zb_aten_int(n, "ignore_index", -100)};
  if (!l.reduction || n->im->failed) return ZB_FAIL;
  if (zb_import_wants(n, 1)) return zb_import_refuse(n, NULL, "its second result is not supported");
  l.scores = zb_operand_in(n, 0), l.targets = zb_operand_in(n, 1);
  l.weight = zb_import_has(n, 2) ? zb_operand_in(n, 2) : NULL;
  if (!zb_operand_shape(n, l.scores, &scores) || !zb_operand_shape(n, l.targets, &labels)) return ZB_FAIL;
  if (scores.rank < 1) return zb_import_refuse(n, NULL, "the scores have no classes");
  const bool soft = labels.dtype != ZB_I64 && labels.dtype != ZB_I32;
  l.rank = scores.rank > 1 ? scores.rank : 2;
  if (scores.rank == 1) { /* one row */
    flat = (zb_shape){.dtype = scores.dtype, .rank = 2, .dims = {1, scores.dims[0]}};
    l.scores = zb_operand_reshape(n, l.scores, &flat);
    l.targets = zb_operand_reshape(n, l.targets, soft ? &flat : &(zb_shape){.rank = 1, .dims = {1}});
  }
  l.scores = class_last(n, l.scores, scores.rank);
  if (soft) l.targets = class_last(n, l.targets, scores.rank);
  zb_operand loss;
  const zb_attr attrs[] = {zb_string("reduction", l.reduction), zb_int("ignore_index", l.ignored)};
  if (soft)
    loss = of_probabilities(n, &l);
  else if (l.weight || l.smoothing != 0)
    loss = of_labels(n, &l);
  else
    loss = zb_operand_build(n, n->op->argument, (zb_operand[]){l.scores, l.targets}, 2, attrs, 2);
  if (scores.rank == 1 && loss) loss = zb_operand_reshape(n, loss, &(zb_shape){.rank = 0});
  return zb_operand_give(n, 0, loss);
}

/* A loss of differences: the reduction of what each element loses. */
static zb_result give_reduced(zb_import_node *n, zb_operand each) {
  const char *reduction = reduction_of(n);
  if (!reduction) return ZB_FAIL;
  if (strcmp(reduction, "none") == 0) return zb_operand_give(n, 0, each);
  return zb_operand_give(n, 0,
                         zb_operand_reduce_all(n, strcmp(reduction, "mean") == 0 ? "reduce_mean" : "reduce_sum", each));
}

zb_result zb_aten_difference_loss(zb_import_node *n) {
  zb_operand difference = zb_operand_apply2(n, "sub", zb_operand_in(n, 0), zb_operand_in(n, 1));
  if (strcmp(n->op->argument, "mul") == 0) return give_reduced(n, zb_operand_apply2(n, "mul", difference, difference));
  return give_reduced(n, zb_operand_apply1(n, "abs", difference));
}
