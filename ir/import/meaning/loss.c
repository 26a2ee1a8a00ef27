/* Losses of classes: of labels, and of a probability of each class. Tests: test/e2e/meaning.py, test/ir/import. */
#include "ir/import/meaning/meaning.h"

#include <string.h>

zb_operand zb_meaning_last(zb_import_node *n, zb_operand x, int axis) {
  zb_shape in;
  int64_t order[ZB_DIMS_MAX];
  if (!zb_operand_shape(n, x, &in)) return NULL;
  for (int i = 0; i < in.rank; ++i)
    order[i] = i < axis ? i : i < in.rank - 1 ? i + 1 : axis;
  return axis >= in.rank - 1 ? x : zb_operand_transpose(n, x, order);
}

/* The sum over rows, or over rows and classes. */
static zb_operand sum_of_axes(zb_import_node *n, zb_operand x, int count) {
  int64_t axes[ZB_DIMS_MAX];
  for (int i = 0; i < count; ++i)
    axes[i] = i;
  return zb_operand_reduce(n, "reduce_sum", x, axes, count, false);
}

/* Log-probabilities, times the weights of their classes. */
static zb_operand log_probabilities(zb_import_node *n, const zb_class_loss *l, int axis) {
  zb_operand logarithms = zb_meaning_softmax(n, "log_softmax", l->scores, axis);
  return l->weight ? zb_operand_apply2(n, "mul", logarithms, l->weight) : logarithms;
}

static zb_operand plain_loss(zb_import_node *n, const zb_class_loss *l, const char *reduction) {
  const zb_attr attrs[] = {zb_string("reduction", reduction), zb_int("ignore_index", l->ignored)};
  return zb_operand_build(n, l->op, (zb_operand[]){l->scores, l->targets}, 2, attrs, l->ignores ? 2 : 1);
}

/* The loss with label smoothing or weights of classes: (1 - s) of the loss of the labels, and s of the mean over
 * classes of what each class would lose. Targets that are ignored count for neither, others as much as their class. */
static zb_operand of_labels(zb_import_node *n, const zb_class_loss *l, const zb_shape *scores) {
  const int64_t axis = scores->rank - 1;
  zb_operand loss = plain_loss(n, l, "none"), labels = zb_operand_cast(n, l->targets, ZB_I64);
  zb_operand zero = zb_operand_scalar(n, ZB_F32, 0), places = labels, seen = NULL, share = NULL;
  if (l->ignores) {
    seen = zb_meaning_compare(n, "differs", labels, zb_operand_scalar(n, ZB_I64, (double)l->ignored));
    share = zb_operand_cast(n, seen, ZB_F32);
    places = zb_operand_where(n, seen, labels, zb_operand_scalar(n, ZB_I64, 0));
  }
  if (l->weight) {
    share = zb_operand_gather(n, l->weight, places, 0, ZB_FROM_START);
    if (seen) share = zb_operand_where(n, seen, share, zero);
    loss = zb_operand_apply2(n, "mul", loss, share);
  }
  if (l->smoothing != 0) {
    zb_operand all = log_probabilities(n, l, (int)axis);
    all = zb_operand_reduce(n, l->weight ? "reduce_sum" : "reduce_mean", all, &axis, 1, false);
    if (l->weight) all = zb_meaning_line(n, all, 1.0 / (double)scores->dims[axis], 0);
    if (seen) all = zb_operand_where(n, seen, all, zero);
    loss = zb_operand_apply2(n, "sub", zb_meaning_line(n, loss, 1 - l->smoothing, 0),
                             zb_meaning_line(n, all, l->smoothing, 0));
  }
  if (strcmp(l->reduction, "none") == 0) return loss;
  loss = sum_of_axes(n, loss, (int)axis);
  if (strcmp(l->reduction, "sum") == 0) return loss;
  if (share) return zb_operand_apply2(n, "div", loss, sum_of_axes(n, share, (int)axis));
  return zb_meaning_line(n, loss, (double)scores->dims[axis] / (double)zb_shape_elements(scores), 0);
}

/* The loss of targets that are a probability of each class; a mean is one over rows. */
static zb_operand of_probabilities(zb_import_node *n, const zb_class_loss *l, const zb_shape *scores) {
  const int64_t axis = scores->rank - 1;
  zb_operand targets = l->targets;
  if (l->smoothing != 0)
    targets = zb_meaning_line(n, targets, 1 - l->smoothing, l->smoothing / (double)scores->dims[axis]);
  zb_operand each = zb_operand_apply2(n, "mul", targets, log_probabilities(n, l, (int)axis));
  each = zb_operand_apply1(n, "neg", each);
  if (strcmp(l->reduction, "none") == 0) return zb_operand_reduce(n, "reduce_sum", each, &axis, 1, false);
  const double rows = (double)(zb_shape_elements(scores) / scores->dims[axis]);
  each = sum_of_axes(n, each, scores->rank);
  return strcmp(l->reduction, "sum") == 0 ? each : zb_meaning_line(n, each, 1 / rows, 0);
}

zb_operand zb_meaning_class_loss(zb_import_node *n, const zb_class_loss *loss) {
  zb_shape scores, targets;
  if (!zb_operand_shape(n, loss->scores, &scores) || !zb_operand_shape(n, loss->targets, &targets)) return NULL;
  if (targets.dtype != ZB_I64 && targets.dtype != ZB_I32) return of_probabilities(n, loss, &scores);
  return loss->weight || loss->smoothing != 0 ? of_labels(n, loss, &scores) : plain_loss(n, loss, loss->reduction);
}
