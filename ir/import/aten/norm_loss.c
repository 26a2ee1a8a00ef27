/* Normalizations and losses. Tests: test/ir/import/aten. */
#include "ir/import/aten/aten.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* ---- Normalization over the last dimensions ---- */

/* layer_norm and rms_norm; native_layer_norm gives mean and 1 / deviation as well. */
zb_result zb_aten_norm(zb_import_node *n) {
  zb_shape in;
  int64_t dims[ZB_DIMS_MAX];
  int count;
  zb_operand x = zb_operand_in(n, 0), out[3];
  const char *op = n->op->argument;
  const double epsilon = zb_aten_real(n, "eps", strcmp(op, "rms_norm") == 0 ? FLT_EPSILON : 1e-5);
  if (!zb_operand_shape(n, x, &in)) return ZB_FAIL;
  if (!zb_aten_ints(n, "normalized_shape", dims, ZB_DIMS_MAX, &count) || count < 1 || count > in.rank)
    return zb_import_refuse(n, NULL, "normalized_shape is not of its tensor");
  if (!zb_meaning_layer_norm(n, op, x, zb_operand_optional(n, 1), zb_operand_optional(n, 2), in.rank - count, epsilon,
                             out))
    return ZB_FAIL;
  for (int i = 0; i < n->output_count; ++i)
    if (zb_import_wants(n, i) && !zb_operand_give(n, i, out[i])) return ZB_FAIL;
  return ZB_OK;
}

/* ---- Normalization of groups and channels ---- */

zb_result zb_aten_group_norm(zb_import_node *n) {
  const double epsilon = zb_aten_real(n, "eps", 1e-5);
  return zb_operand_give(n, 0,
                         zb_meaning_group_norm(n, zb_operand_in(n, 0), zb_aten_int(n, "group", 1),
                                               zb_operand_optional(n, 1), zb_operand_optional(n, 2), false, epsilon));
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
                        .scale = zb_operand_optional(n, 1),
                        .bias = zb_operand_optional(n, 2),
                        .trains = trains,
                        .epsilon = zb_aten_real(n, "eps", 1e-5)};
  for (int i = MEAN; i <= VARIANCE && has_running; ++i)
    *(i == MEAN ? &norm.mean : &norm.variance) =
        (zb_running){.old = n->inputs[i],
                     .first = first_statistics(n->inputs[i], i),
                     .keeps = 1 - momentum,
                     .takes = i == MEAN ? momentum : momentum * count / fmax(count - 1, 1),
                     .wanted = zb_import_wants(n, i)};
  zb_operand out = zb_meaning_batch_norm(n, &norm);
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

/* Both losses of labels: of logits, and of logarithms of probabilities. */
zb_result zb_aten_loss(zb_import_node *n) {
  zb_shape scores, labels;
  zb_class_loss l = {.op = n->op->argument,
                     .reduction = reduction_of(n),
                     .smoothing = zb_aten_real(n, "label_smoothing", 0),
                     .ignores = true,
                     .ignored = zb_aten_int(n, "ignore_index", -100)};
  if (!l.reduction || n->im->failed) return ZB_FAIL;
  if (zb_import_wants(n, 1)) return zb_import_refuse(n, NULL, "its second result is not supported");
  l.scores = zb_operand_in(n, 0), l.targets = zb_operand_in(n, 1), l.weight = zb_operand_optional(n, 2);
  if (!zb_operand_shape(n, l.scores, &scores) || !zb_operand_shape(n, l.targets, &labels)) return ZB_FAIL;
  if (scores.rank < 1) return zb_import_refuse(n, NULL, "the scores have no classes");
  const bool soft = labels.dtype != ZB_I64 && labels.dtype != ZB_I32;
  if (scores.rank == 1) { /* one row */
    const zb_shape flat = {.rank = 2, .dims = {1, scores.dims[0]}};
    l.scores = zb_operand_reshape(n, l.scores, &flat);
    l.targets = zb_operand_reshape(n, l.targets, soft ? &flat : &(zb_shape){.rank = 1, .dims = {1}});
  }
  l.scores = zb_meaning_last(n, l.scores, 1);
  if (soft) l.targets = zb_meaning_last(n, l.targets, 1);
  zb_operand loss = zb_meaning_class_loss(n, &l);
  if (scores.rank == 1 && loss) loss = zb_operand_reshape(n, loss, &(zb_shape){.rank = 0});
  return zb_operand_give(n, 0, loss);
}

/* A loss of differences: the reduction of what each element loses. */
static zb_result give_reduced(zb_import_node *n, zb_operand each) {
  const char *reduction = reduction_of(n);
  if (!reduction) return ZB_FAIL;
  if (strcmp(reduction, "none") == 0) return zb_operand_give(n, 0, each);
  return zb_operand_give(n, 0,
                         zb_meaning_reduce_all(n, strcmp(reduction, "mean") == 0 ? "reduce_mean" : "reduce_sum", each));
}

zb_result zb_aten_difference_loss(zb_import_node *n) {
  zb_operand difference = zb_operand_apply2(n, "sub", zb_operand_in(n, 0), zb_operand_in(n, 1));
  if (strcmp(n->op->argument, "mul") == 0) return give_reduced(n, zb_operand_apply2(n, "mul", difference, difference));
  return give_reduced(n, zb_operand_apply1(n, "abs", difference));
}
