/* Losses over the last axis: cross entropy of logits, negative log-likelihood of log-probabilities, and their
 * gradients.
 *
 * A row is one label. Rows whose label is ignore_index count neither in the sum nor in the mean; the mean over no rows
 * is NaN (as in PyTorch) and its gradient zero. */
#include "kernels/cpu/ref/ref.h"

#include <math.h>

#define BAD_LABEL "a label is outside of 0..C-1 and is not ignore_index"

typedef enum reduction { MEAN, SUM, NONE } reduction;

typedef struct loss {
  const zb_tensor *labels;
  zb_ref_walk rows, classes; /* operands: 0 scores (or their gradient), 1 labels, then as each op adds them */
  int64_t class_count, class_stride;
  reduction reduction;
  bool ignores;
  int64_t ignore_index;
  double weight; /* of one row in the loss: 1, or 1 / rows that count */
} loss;

static const char *read_reduction(const zb_kernel_call *call, reduction *out) {
  static const char *const names[] = {[MEAN] = "mean", [SUM] = "sum", [NONE] = "none"};
  const char *text = zb_attr_string(&call->attrs, "reduction", "mean");
  for (int i = MEAN; i <= NONE; ++i)
    if (strcmp(text, names[i]) == 0) return *out = (reduction)i, NULL;
  return "reduction is none of mean, sum, none";
}

static bool is_ignored(const loss *l, int64_t label) { return l->ignores && label == l->ignore_index; }

/* The class of the row that `rows` is at, or -1 for a row that is ignored. Labels were checked by start_loss. */
static int64_t label_of(const loss *l) {
  int64_t label = zb_ref_get_int(l->labels, l->rows.offset[1]);
  return is_ignored(l, label) ? -1 : label;
}

/* Checks the labels, counts the rows and makes the walks. Up to two more operands have the shape of labels, or rank 0.
 */
static const char *start_loss(const zb_kernel_call *call, loss *l, const zb_tensor *scores, const zb_tensor *labels,
                              const zb_tensor *third, const zb_tensor *fourth) {
  const zb_attr *ignore = zb_attr_find(&call->attrs, "ignore_index");
  *l = (loss){.labels = labels, .ignores = ignore != NULL, .ignore_index = ignore ? ignore->i : 0, .weight = 1};
  ZB_REF_TRY(read_reduction(call, &l->reduction));
  if (!zb_dtype_is_index(labels->dtype) || !zb_dtype_is_float(scores->dtype)) return ZB_REF_BAD_TYPE;
  if (scores->rank != labels->rank + 1) return ZB_REF_BAD_SHAPE;
  l->class_count = scores->shape[scores->rank - 1];
  zb_ref_walk whole;
  zb_ref_walk_init(&whole, scores);
  const zb_tensor *per_row[] = {labels, third, fourth};
  for (int i = 0; i < 3; ++i) {
    zb_tensor wide = per_row[i] ? zb_tensor_append_unit(per_row[i]) : (zb_tensor){0};
    if (!zb_ref_walk_add(&whole, per_row[i] ? &wide : NULL)) return ZB_REF_BAD_SHAPE;
    if (i > 0 && per_row[i] && !zb_dtype_is_float(per_row[i]->dtype)) return ZB_REF_BAD_TYPE;
  }
  l->class_stride = whole.strides[0][scores->rank - 1];
  zb_ref_walk_split(&whole, 1u << (scores->rank - 1), &l->rows, &l->classes);
  for (int i = 0; i < 3; ++i)
    if (per_row[i] && zb_tensor_elements(per_row[i]) != l->rows.total) return ZB_REF_BAD_SHAPE;
  ZB_REF_CHECKED(call);
  int64_t counted = 0;
  for (; l->rows.left > 0; zb_ref_walk_next(&l->rows)) {
    int64_t label = zb_ref_get_int(labels, l->rows.offset[1]);
    if (is_ignored(l, label)) continue;
    if (label < 0 || label >= l->class_count)
      return zb_kernel_wrong_value(call, label, 0, l->class_count - 1, BAD_LABEL);
    ++counted;
  }
  zb_ref_walk_again(&l->rows);
  if (l->reduction == MEAN) l->weight = 1 / (double)counted;
  return NULL;
}

static const char *check_result(const loss *l, const zb_tensor *out) {
  if (!zb_dtype_is_float(out->dtype)) return ZB_REF_BAD_TYPE;
  return zb_tensor_elements(out) == (l->reduction == NONE ? l->rows.total : 1) ? NULL : ZB_REF_BAD_SHAPE;
}

/* The gradient of the loss, as a walk sees it: one a row, or one for all (NULL). */
static const char *spread_gradient(const zb_kernel_call *call, const zb_tensor *dloss, const zb_tensor **out) {
  reduction by = MEAN;
  const char *error = read_reduction(call, &by);
  *out = by == NONE ? dloss : NULL;
  if (error) return error;
  if (!zb_dtype_is_float(dloss->dtype)) return ZB_REF_BAD_TYPE;
  return by == NONE || zb_tensor_elements(dloss) == 1 ? NULL : ZB_REF_BAD_SHAPE;
}

/* log(sum(exp(x))) of the row that `rows` is at. */
static double log_sum_exp(const loss *l, const zb_tensor *logits) {
  double largest = -(double)INFINITY, sum = 0;
  for (int64_t c = 0; c < l->class_count; ++c)
    largest = fmax(largest, zb_ref_get(logits, l->rows.offset[0] + c * l->class_stride));
  for (int64_t c = 0; c < l->class_count; ++c)
    sum += exp(zb_ref_get(logits, l->rows.offset[0] + c * l->class_stride) - largest);
  return largest + log(sum);
}

/* lse: where a row of logits has its log_sum_exp; NULL: scores are log-probabilities, which have none. */
static const char *run_loss(const zb_kernel_call *call, const zb_tensor *lse) {
  const zb_tensor *scores = &call->inputs[0], *out = &call->outputs[0];
  loss l;
  ZB_REF_TRY(start_loss(call, &l, scores, &call->inputs[1], lse, NULL));
  ZB_REF_TRY(check_result(&l, out));
  ZB_REF_CHECKED(call);
  double total = 0;
  for (int64_t row = 0; l.rows.left > 0; zb_ref_walk_next(&l.rows), ++row) {
    double log_sum = lse ? log_sum_exp(&l, scores) : 0;
    if (lse) zb_ref_set(lse, l.rows.offset[2], log_sum);
    int64_t label = label_of(&l);
    double score = label < 0 ? 0 : zb_ref_get(scores, l.rows.offset[0] + label * l.class_stride);
    double value = label < 0 ? 0 : lse ? log_sum - score : -score;
    if (l.reduction == NONE)
      zb_ref_set(out, row, value);
    else
      total += value;
  }
  if (l.reduction != NONE) zb_ref_set(out, 0, total * l.weight);
  return NULL;
}

const char *zb_ref_cross_entropy(const zb_kernel_call *call) {
  ZB_REF_TRY(zb_ref_check(call, 2, 2, false));
  return run_loss(call, &call->outputs[1]);
}

const char *zb_ref_nll_loss(const zb_kernel_call *call) {
  ZB_REF_TRY(zb_ref_check(call, 2, 1, false));
  return run_loss(call, NULL);
}

/* dlogits = (exp(logits - lse) - [c is the label]) * dloss * weight; ignored rows give 0. */
const char *zb_ref_cross_entropy_grad(const zb_kernel_call *call) {
  ZB_REF_TRY(zb_ref_check(call, 4, 1, false));
  const zb_tensor *logits = &call->inputs[0], *labels = &call->inputs[1], *lse = &call->inputs[2];
  const zb_tensor *dloss = &call->inputs[3], *dlogits = &call->outputs[0];
  if (!zb_tensor_same_shape(logits, dlogits)) return ZB_REF_BAD_SHAPE;
  loss l;
  const zb_tensor *by_row;
  ZB_REF_TRY(spread_gradient(call, dloss, &by_row));
  ZB_REF_TRY(start_loss(call, &l, logits, labels, lse, by_row));
  ZB_REF_CHECKED(call);
  for (int64_t to = 0; l.rows.left > 0; zb_ref_walk_next(&l.rows)) {
    int64_t label = label_of(&l);
    double factor = label < 0 ? 0 : zb_ref_get(dloss, l.rows.offset[3]) * l.weight;
    double shift = zb_ref_get(lse, l.rows.offset[2]);
    for (int64_t c = 0; c < l.class_count; ++c, ++to) {
      double share = exp(zb_ref_get(logits, l.rows.offset[0] + c * l.class_stride) - shift);
      zb_ref_set(dlogits, to, label < 0 ? 0 : (share - (c == label)) * factor);
    }
  }
  return NULL;
}

const char *zb_ref_nll_loss_grad(const zb_kernel_call *call) {
  ZB_REF_TRY(zb_ref_check(call, 2, 1, false));
  const zb_tensor *labels = &call->inputs[0], *dloss = &call->inputs[1], *dscores = &call->outputs[0];
  loss l;
  const zb_tensor *by_row;
  ZB_REF_TRY(spread_gradient(call, dloss, &by_row));
  ZB_REF_TRY(start_loss(call, &l, dscores, labels, by_row, NULL));
  ZB_REF_CHECKED(call);
  for (int64_t to = 0; l.rows.left > 0; zb_ref_walk_next(&l.rows)) {
    int64_t label = label_of(&l);
    for (int64_t c = 0; c < l.class_count; ++c, ++to)
      zb_ref_set(dscores, to, c == label ? -zb_ref_get(dloss, l.rows.offset[2]) * l.weight : 0);
  }
  return NULL;
}
