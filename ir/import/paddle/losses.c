/* Losses of elements and of classes, and what targets are made of. Formulas, and where their gradients are 0, are those
 * of Paddle's CPU kernels. Tests: test/ir/import/paddle, test/e2e/paddle.py. */
#include "ir/import/paddle/paddle.h"

#include <string.h>

static zb_operand times(zb_import_node *n, zb_operand x, zb_operand y) { return zb_operand_apply2(n, "mul", x, y); }
static zb_operand minus(zb_import_node *n, zb_operand x, zb_operand y) { return zb_operand_apply2(n, "sub", x, y); }
static zb_operand negated(zb_import_node *n, zb_operand x) { return zb_operand_apply1(n, "neg", x); }

/* ---- Of elements ---- */

/* softplus(x) - x y. */
zb_result zb_paddle_sigmoid_cross_entropy(zb_import_node *n) {
  zb_operand x = zb_paddle_in(n, "X"), y = zb_paddle_in(n, "Label");
  if (zb_paddle_has(n, "pos_weight"))
    return zb_import_refuse(n, "multiply the loss by weights of its own",
                            "weights of positive labels are not supported");
  if (zb_paddle_integer(n, "normalize", 0)) return zb_paddle_refuse_attribute(n, "normalize", NULL);
  if (zb_paddle_integer(n, "ignore_index", -100) != -100) return zb_paddle_refuse_attribute(n, "ignore_index", NULL);
  if (!x || !y) return ZB_FAIL;
  return zb_paddle_give(n, "Out", minus(n, zb_operand_apply1(n, "softplus", x), times(n, x, y)));
}

/* log(x), at least -100. */
static zb_operand bounded_log(zb_import_node *n, zb_operand x) {
  const zb_attr attrs[] = {zb_float("min", -100), zb_float("max", 1e30)};
  zb_operand y = zb_operand_apply1(n, "log", x);
  return y ? zb_operand_apply(n, "clip", &y, 1, attrs, 2) : NULL;
}

zb_result zb_paddle_bce(zb_import_node *n) {
  zb_operand x = zb_paddle_in(n, "X"), y = zb_paddle_in(n, "Label"), one = zb_operand_number(n, x, 1);
  if (!x || !y || !one) return ZB_FAIL;
  zb_operand yes = times(n, y, bounded_log(n, x));
  zb_operand no = times(n, minus(n, one, y), bounded_log(n, minus(n, one, x)));
  zb_operand loss = zb_operand_apply1(n, "detach", negated(n, zb_operand_apply2(n, "add", yes, no)));
  zb_operand variance = zb_operand_apply2(n, "max", times(n, x, minus(n, one, x)), zb_operand_number(n, x, 1e-12));
  return zb_paddle_give(n, "Out",
                        zb_operand_with_slope(n, loss, x, zb_operand_apply2(n, "div", minus(n, x, y), variance)));
}

/* Half of the square up to delta, a line beyond. */
zb_result zb_paddle_huber(zb_import_node *n) {
  const double delta = zb_paddle_real(n, "delta", 1);
  zb_operand x = zb_paddle_in(n, "X"), y = zb_paddle_in(n, "Y");
  if (!zb_paddle_check_unread(n, "Residual") || !x || !y) return ZB_FAIL;
  zb_operand difference = minus(n, y, x), size = zb_operand_apply1(n, "abs", difference);
  zb_operand square = times(n, times(n, difference, difference), zb_operand_number(n, x, 0.5));
  zb_operand line = times(n, minus(n, size, zb_operand_number(n, x, 0.5 * delta)), zb_operand_number(n, x, delta));
  zb_operand is_near = zb_operand_apply2(n, "less_equal", size, zb_operand_number(n, x, delta));
  const zb_attr ends[] = {zb_float("min", -delta), zb_float("max", delta)};
  zb_operand slope = difference ? zb_operand_apply(n, "clip", &difference, 1, ends, 2) : NULL;
  zb_operand loss = zb_operand_apply1(n, "detach", zb_operand_where(n, is_near, square, line));
  loss = zb_operand_with_slope(n, loss, y, slope);
  return zb_paddle_give(n, "Out", zb_operand_with_slope(n, loss, x, negated(n, slope)));
}

/* The sum or mean of all elements; batchmean: the sum, divided by the rows. */
static zb_operand reduced(zb_import_node *n, zb_operand each, const char *reduction) {
  zb_shape shape;
  if (!zb_operand_shape(n, each, &shape)) return NULL;
  if (strcmp(reduction, "none") == 0 || shape.rank == 0) return each;
  const bool is_mean = strcmp(reduction, "mean") == 0, by_rows = strcmp(reduction, "batchmean") == 0;
  if (!is_mean && !by_rows && strcmp(reduction, "sum") != 0) {
    zb_paddle_refuse_attribute(n, "reduction", "none, mean, sum, batchmean");
    return n->im->failed = true, NULL;
  }
  each = zb_meaning_reduce_all(n, is_mean ? "reduce_mean" : "reduce_sum", each);
  return by_rows ? zb_meaning_line(n, each, 1.0 / (double)shape.dims[0], 0) : each;
}

/* target (log(target) - x), 0 where the target is not above 0. */
zb_result zb_paddle_kl_divergence(zb_import_node *n) {
  zb_operand x = zb_paddle_in(n, "X"), y = zb_paddle_in(n, "Target"), zero = zb_operand_number(n, x, 0), each;
  if (!x || !y || !zero) return ZB_FAIL;
  if (zb_paddle_integer(n, "log_target", 0)) {
    each = times(n, zb_operand_apply1(n, "exp", y), minus(n, y, x));
  } else {
    zb_operand is_above = zb_operand_apply2(n, "greater", y, zero);
    zb_operand kept = zb_operand_where(n, is_above, y, zb_operand_number(n, x, 1));
    each = zb_operand_where(n, is_above, times(n, y, minus(n, zb_operand_apply1(n, "log", kept), x)), zero);
  }
  return zb_paddle_give(n, "Loss", reduced(n, each, zb_paddle_text(n, "reduction", "mean")));
}

/* ---- Of classes ---- */

/* Logarithms of probabilities [n, classes], as the program has them. */
zb_result zb_paddle_nll(zb_import_node *n) {
  zb_shape scores;
  const char *reduction = zb_paddle_text(n, "reduction", "mean");
  zb_operand x = zb_paddle_in(n, "X"), labels = zb_paddle_in(n, "Label");
  if (!x || !labels || !zb_operand_shape(n, x, &scores) || !zb_paddle_check_unread(n, "Total_weight")) return ZB_FAIL;
  if (zb_paddle_has(n, "Weight"))
    return zb_import_refuse(n, "multiply the loss of each row by its weight", "weights of classes are not supported");
  if (scores.rank != 2)
    return zb_import_refuse(n, "reshape the scores to [n, classes]", "the scores have %d dimensions, expected 2",
                            scores.rank);
  if (strcmp(reduction, "none") && strcmp(reduction, "mean") && strcmp(reduction, "sum"))
    return zb_paddle_refuse_attribute(n, "reduction", "none, mean, sum");
  const zb_class_loss loss = {.op = "nll_loss",
                              .scores = x,
                              .targets = labels,
                              .reduction = reduction,
                              .ignores = true,
                              .ignored = zb_paddle_integer(n, "ignore_index", -100)};
  return zb_paddle_give(n, "Out", zb_meaning_class_loss(n, &loss));
}

/* 1 at the place of the class, in a dimension behind all others. */
zb_result zb_paddle_one_hot(zb_import_node *n) {
  zb_shape in;
  zb_dtype dtype;
  double depth;
  zb_operand x = zb_paddle_in(n, "X");
  if (!zb_operand_shape(n, x, &in) || !zb_paddle_declared(n, "Out", &dtype) ||
      !zb_paddle_number(n, "depth", "depth_tensor", 0, &depth))
    return ZB_FAIL;
  if (!(depth >= 1 && depth < 1e9)) return zb_paddle_refuse_attribute(n, "depth", NULL);
  if (!zb_paddle_integer(n, "allow_out_of_range", 0)) x = zb_meaning_places(n, x, (int64_t)depth, ZB_FROM_START);
  return zb_paddle_give(n, "Out", zb_operand_cast(n, zb_meaning_one_hot(n, x, (int64_t)depth, in.rank), dtype));
}

/* (1 - epsilon) x + epsilon / classes. */
zb_result zb_paddle_label_smooth(zb_import_node *n) {
  zb_shape in;
  const double epsilon = zb_paddle_real(n, "epsilon", 0.1);
  zb_operand x = zb_paddle_in(n, "X");
  if (!zb_operand_shape(n, x, &in)) return ZB_FAIL;
  if (in.rank < 1) return zb_import_refuse(n, NULL, "the tensor has no dimensions");
  zb_operand part = times(n, x, zb_operand_scalar(n, in.dtype, 1 - epsilon)), prior = NULL;
  prior = zb_paddle_has(n, "PriorDist")
              ? times(n, zb_paddle_in(n, "PriorDist"), zb_operand_scalar(n, in.dtype, epsilon))
              : zb_operand_scalar(n, in.dtype, epsilon / (double)in.dims[in.rank - 1]);
  return zb_paddle_give(n, "Out", zb_operand_apply2(n, "add", part, prior));
}

/* The loss of each row of scores, of labels or of a probability of each class, with the dimension of classes as 1. */
zb_result zb_paddle_cross_entropy(zb_import_node *n) {
  zb_shape scores, kept;
  int axis;
  const bool is_soft = zb_paddle_integer(n, "soft_label", 0) != 0;
  zb_operand x = zb_paddle_in(n, "Logits"), targets = zb_paddle_in(n, "Label");
  if (!x || !targets || !zb_operand_shape(n, x, &scores)) return ZB_FAIL;
  if (!zb_paddle_axis(n, "axis", -1, scores.rank, &axis)) return ZB_FAIL;
  if (!zb_paddle_integer(n, "use_softmax", 1))
    return zb_paddle_refuse_attribute(n, "use_softmax", "give it logits, with use_softmax=True");
  const zb_paddle_value *softmax = zb_paddle_output(zb_paddle_source(n), "Softmax");
  zb_shape rows = {.rank = 0};
  for (int i = 0; i < scores.rank; ++i)
    if (i != axis) rows.dims[rows.rank++] = scores.dims[i];
  kept = scores;
  kept.dims[axis] = 1;
  const zb_class_loss loss = {.op = "cross_entropy",
                              .scores = zb_meaning_last(n, x, axis),
                              .targets =
                                  is_soft ? zb_meaning_last(n, targets, axis) : zb_operand_reshape(n, targets, &rows),
                              .reduction = "none",
                              .ignores = true,
                              .ignored = zb_paddle_integer(n, "ignore_index", -100)};
  if (softmax && softmax->core && softmax->core->read &&
      !zb_paddle_give(n, "Softmax", zb_meaning_softmax(n, "softmax", x, axis)))
    return ZB_FAIL;
  return zb_paddle_give(n, "Loss", zb_operand_reshape(n, zb_meaning_class_loss(n, &loss), &kept));
}
