/* What operators of the field mean, once for every format: functions on operands (ir/import/operand.h) with typed
 * arguments. A format reads its attributes, with its names and defaults, and calls. What is known folds, all else is
 * built; results live as long as the import. Functions give NULL (or false) after an error, which they report at the
 * node, and of an operand NULL. Axes are 0 to rank - 1 where they are an int, and may count from the end where they are
 * an int64_t. Tests: test/e2e/meaning.py, test/e2e/points.py, test/ir/import. */
#pragma once

#include "ir/import/operand.h"

/* ---- elementwise.c ---- */
/* What functions of one variable are: an op of zb, or a formula (exp2, is_finite, log10, log2, log_sigmoid, square,
 * trunc). A new one is a function and its row in elementwise.c, and a row in the table of each format. */
zb_operand zb_meaning_unary(zb_import_node *n, const char *name, zb_operand x, const zb_attr *attrs, int attr_count);
/* x * factor + shift. */
zb_operand zb_meaning_line(zb_import_node *n, zb_operand x, double factor, double shift);
/* Of f32. The sign of what is no number is 0. x to the power y. */
zb_operand zb_meaning_sign(zb_import_node *n, zb_operand x);
zb_operand zb_meaning_power(zb_import_node *n, zb_operand x, double y);
/* softplus(beta * x) / beta, and x itself where beta * x is above the threshold, which f32 needs at 17 or more. */
zb_operand zb_meaning_softplus(zb_import_node *n, zb_operand x, double beta, double threshold);
/* Between two numbers, of which infinite ones are none. Ends have the slope 1; of hardtanh 0. */
zb_operand zb_meaning_clip(zb_import_node *n, zb_operand x, double low, double high);
zb_operand zb_meaning_hardtanh(zb_import_node *n, zb_operand x, double low, double high);
/* equal, differs, less, less_equal, greater, greater_equal: of one type, as i1. */
zb_operand zb_meaning_compare(zb_import_node *n, const char *op, zb_operand a, zb_operand b);
/* As Python has it: (x - fmod(x, y)) / y, one less where the rest has another sign than y; x / y by zero. */
zb_operand zb_meaning_floored_quotient(zb_import_node *n, zb_operand x, zb_operand y);
/* x - q y, whose gradient takes q for a constant: of the quotient that is truncated, with the sign of x, or floored,
 * with that of y. */
zb_operand zb_meaning_rest(zb_import_node *n, zb_operand x, zb_operand y, bool is_truncated);
/* start + weight * (end - start). */
zb_operand zb_meaning_lerp(zb_import_node *n, zb_operand start, zb_operand end, zb_operand weight);
/* The first half of a dimension times the sigmoid of the second. */
zb_operand zb_meaning_glu(zb_import_node *n, zb_operand x, int axis);

/* ---- norm.c: reductions over axes ---- */
zb_operand zb_meaning_reduce_all(zb_import_node *n, const char *op, zb_operand x); /* of all dimensions */
/* Whether any is true, or all are. */
zb_operand zb_meaning_truth(zb_import_node *n, zb_operand x, bool all, const int64_t *axes, int count, bool keepdims);
/* The norm of any order (0: how many are not zero, infinities: the greatest and the least), whose gradient is zero
 * where it is zero. */
zb_operand zb_meaning_norm(zb_import_node *n, zb_operand x, double order, const int64_t *axes, int count,
                           bool keepdims);
/* The sum of squares beside the mean over `freedom`, or its root, whose gradient is zero at zero. */
zb_operand zb_meaning_variance(zb_import_node *n, zb_operand x, bool is_root, double freedom, const int64_t *axes,
                               int count, bool keepdims);
/* log(sum(exp(x))), which does not overflow. of_infinite: that of an infinite maximum is it, else no number. */
zb_operand zb_meaning_log_sum_exp(zb_import_node *n, zb_operand x, bool of_infinite, const int64_t *axes, int count,
                                  bool keepdims);
/* softmax or log_softmax; sums up to each element. */
zb_operand zb_meaning_softmax(zb_import_node *n, const char *op, zb_operand x, int axis);
zb_operand zb_meaning_cumsum(zb_import_node *n, zb_operand x, int axis, bool exclusive, bool reverse);

/* ---- channels.c: normalizations ---- */
/* layer_norm or rms_norm (op) over the dimensions from `axis` on. scale (NULL: ones) and bias (NULL: none) have as many
 * elements as these, or broadcast to them. out: its results, of which rms_norm has one and layer_norm also mean and
 * 1 / deviation. */
bool zb_meaning_layer_norm(zb_import_node *n, const char *op, zb_operand x, zb_operand scale, zb_operand bias, int axis,
                           double epsilon, zb_operand out[3]);
/* Of x [N, C, ...]: (x - mean) / sqrt(variance + epsilon) over each group of channels, then scale and bias (NULL: none)
 * with one number a channel, or a group. */
zb_operand zb_meaning_group_norm(zb_import_node *n, zb_operand x, int64_t groups, zb_operand scale, zb_operand bias,
                                 bool by_group, double epsilon);

/* New running statistics are old * keeps + those of the batch * takes. An evaluation takes `first`: of a layer that is
 * called more than once, those before its first call. */
typedef struct zb_running {
  zb_operand old, first; /* NULL: there are none */
  double keeps, takes;
  bool wanted;
  zb_operand of_batch; /* set where the op trains */
  zb_operand updated;  /* set where it is wanted and the op trains */
} zb_running;

typedef struct zb_batch_norm {
  zb_operand x, scale, bias; /* scale and bias may be NULL */
  bool trains;               /* by the statistics of the batch, which an evaluation replaces by buffers */
  double epsilon;
  zb_running mean, variance; /* the variance of the batch is the biased one */
} zb_batch_norm;

/* Of x [N, C, ...]: (x - mean) / sqrt(variance + epsilon) * scale + bias by channels. */
zb_operand zb_meaning_batch_norm(zb_import_node *n, zb_batch_norm *norm);

/* ---- loss.c ---- */
/* A dimension as the last one: classes, which formats have as the second. */
zb_operand zb_meaning_last(zb_import_node *n, zb_operand x, int axis);
/* The loss of rows of scores with their classes last. */
typedef struct zb_class_loss {
  const char *op;             /* cross_entropy of logits, nll_loss of logarithms of probabilities */
  zb_operand scores, targets; /* targets: labels, or (cross_entropy) a probability of each class */
  zb_operand weight;          /* of each class, or NULL: the mean is that of weights, not of rows */
  const char *reduction;      /* none, mean, sum */
  double smoothing;           /* of labels: this share of the loss is that of all classes alike */
  bool ignores;               /* rows with the label `ignored` do not count */
  int64_t ignored;
} zb_class_loss;
zb_operand zb_meaning_class_loss(zb_import_node *n, const zb_class_loss *loss);

/* ---- product.c ---- */
/* x with its last two dimensions swapped, if it has two. */
zb_operand zb_meaning_swapped(zb_import_node *n, zb_operand x);
/* The product of matrices or batches of them; a vector on the left is a row, on the right a column, and the added
 * dimension is taken out of the result. */
zb_operand zb_meaning_product(zb_import_node *n, zb_operand a, zb_operand b);
/* alpha * product + beta * added; added may be NULL. */
zb_operand zb_meaning_weighted_sum(zb_import_node *n, zb_operand product, double alpha, zb_operand added, double beta);

/* ---- move.c ---- */
/* One of `wanted` may be -1, which is what is left; copies: 0 is the dimension of x at that place. */
zb_operand zb_meaning_reshape(zb_import_node *n, zb_operand x, const int64_t *wanted, int rank, bool copies);
/* Dimensions from first to last as one; first > last: one of 1 is added before `first`. */
zb_operand zb_meaning_flatten(zb_import_node *n, zb_operand x, int first, int last);
/* The dimensions before `axis`, and from it on, as one each. */
zb_shape zb_meaning_as_matrix(const zb_shape *shape, int64_t axis);
/* Dimensions of 1 go: those that are named, or (count < 0) all. */
zb_operand zb_meaning_squeeze(zb_import_node *n, zb_operand x, const int64_t *axes, int count, bool refuses_others);
/* Dimensions of 1 at these places of the result. */
zb_operand zb_meaning_unsqueeze(zb_import_node *n, zb_operand x, const int64_t *axes, int count);
zb_operand zb_meaning_permute(zb_import_node *n, zb_operand x, const int64_t *axes, int count);
/* As Python's x[start:end:step] along each of the axes (NULL: the first ones; steps NULL: each is 1). */
zb_operand zb_meaning_slice(zb_import_node *n, zb_operand x, const int64_t *axes, const int64_t *starts,
                            const int64_t *ends, const int64_t *steps, int count);
/* How many elements of a dimension such a slice has, of a step that is not 0; *start: the place of the first. */
int64_t zb_meaning_slice_size(int64_t dim, int64_t *start, int64_t end, int64_t step);
enum { ZB_MEANING_PARTS = 256 };
/* Sizes of parts of one size, of which the last may be smaller. */
bool zb_meaning_parts(zb_import_node *n, int64_t dim, int64_t size, int64_t *sizes, int *count);
/* Parts of these sizes along a dimension, which they are all of. */
bool zb_meaning_split(zb_import_node *n, zb_operand x, int axis, const int64_t *sizes, int count, zb_operand *parts);
zb_operand zb_meaning_stack(zb_import_node *n, const zb_operand *parts, int count, int64_t axis);
/* So often along each dimension; the last one stands for the last dimension. */
zb_operand zb_meaning_tile(zb_import_node *n, zb_operand x, const int64_t *repeats, int count);
/* Each element of a dimension so often. */
zb_operand zb_meaning_repeat_each(zb_import_node *n, zb_operand x, int axis, int64_t times);
zb_operand zb_meaning_flip(zb_import_node *n, zb_operand x, const int64_t *axes, int count);
/* Elements move by `shift` places, those from the end to the begin. */
zb_operand zb_meaning_roll(zb_import_node *n, zb_operand x, int64_t shift, int axis);
/* So many of `fill`, a scalar, before and behind x along a dimension; negative numbers cut. */
zb_operand zb_meaning_pad(zb_import_node *n, zb_operand x, int axis, int64_t before, int64_t after, zb_operand fill);
/* `part` in the place of the elements from `start` on of a dimension. */
zb_operand zb_meaning_replace(zb_import_node *n, zb_operand x, zb_operand part, int axis, int64_t start, int64_t size);
/* 0 where column - row of the last two dimensions is below (upper), or above, the diagonal. */
zb_operand zb_meaning_triangle(zb_import_node *n, zb_operand x, bool upper, int64_t diagonal);
/* [n, c r r, h, w] -> [n, c, h r, w r]; of the r r the channels are first, or last. */
zb_operand zb_meaning_depth_to_space(zb_import_node *n, zb_operand x, int64_t r, bool channels_first);

/* ---- select.c: by indices, which may count from the end ---- */
/* The constant first, first + step, ..., of i64. */
zb_operand zb_meaning_range(zb_import_node *n, int64_t count, int64_t first, int64_t step);
/* Constants of any type: start, start + step, ...; a one in each row, k places behind the diagonal. */
zb_operand zb_meaning_progression(zb_import_node *n, const zb_shape *shape, double start, double step);
zb_operand zb_meaning_eye(zb_import_node *n, const zb_shape *shape, int64_t k);
/* 0, step, 2 step, ... along one dimension of a shape, the others of size 1. */
zb_operand zb_meaning_along(zb_import_node *n, const zb_shape *shape, int dimension, int64_t step);
/* Elements at these places of a dimension. */
zb_operand zb_meaning_take(zb_import_node *n, zb_operand x, const int64_t *places, int64_t count, int axis);
/* The same indices as i64, counted from the begin, once: an op that does arithmetic with indices takes these. */
zb_operand zb_meaning_places(zb_import_node *n, zb_operand indices, int64_t dim, zb_indices taken);
/* Indices of a dimension, counted from its begin, as i64; what is out of range stays so. */
zb_operand zb_meaning_counted(zb_import_node *n, zb_operand indices, int64_t dim);
/* The places of the k greatest (or least) elements along an axis, in their order, and the elements there, to which the
 * gradient goes. values may be NULL. */
zb_operand zb_meaning_top_k(zb_import_node *n, zb_operand x, int axis, int64_t k, bool largest, zb_operand *values);
/* The place of the first greatest (or least) element along an axis, which stays with one element. What is no number is
 * greater, and less, than all else. */
zb_operand zb_meaning_arg(zb_import_node *n, zb_operand x, int axis, bool greatest);
/* Whether a place along a new dimension of `depth`, at `axis`, is the index. */
zb_operand zb_meaning_one_hot(zb_import_node *n, zb_operand indices, int64_t depth, int axis);
/* The last dimension of indices names a place in dimensions of x behind batch_dims, which both have. */
zb_operand zb_meaning_gather_nd(zb_import_node *n, zb_operand x, zb_operand indices, int64_t batch_dims);
/* Rows of x; x itself where they are all of them in their order. */
zb_operand zb_meaning_gather_rows(zb_import_node *n, zb_operand x, zb_operand rows);
/* x with updates put at (reduction none), or added to, multiplied with, ... (add, mul, min, max), such places. */
zb_operand zb_meaning_scatter_nd(zb_import_node *n, zb_operand x, zb_operand indices, zb_operand updates,
                                 const char *reduction);
/* The same of an index along one dimension for each update, which has its own places in the others. */
zb_operand zb_meaning_scatter_elements(zb_import_node *n, zb_operand x, zb_operand indices, zb_operand updates,
                                       int axis, const char *reduction);
/* zb.scatter: rows of x. */
zb_operand zb_meaning_scatter(zb_import_node *n, zb_operand x, zb_operand rows, zb_operand updates,
                              const char *reduction);

/* ---- random.c ---- */
/* zb.dropout with the next number, or x itself at the rate 0; rate as the op has it. */
zb_operand zb_meaning_drop(zb_import_node *n, zb_operand x, double rate);
/* Drawn with the next numbers: of [0, 1) for a shape of f32, whole ones below 2^32 for one of i64; of the standard
 * normal distribution, as f32; 1 with the probability p, else 0, as f32. */
zb_operand zb_meaning_uniform(zb_import_node *n, const zb_shape *shape);
zb_operand zb_meaning_normal(zb_import_node *n, const zb_shape *shape);
zb_operand zb_meaning_bernoulli(zb_import_node *n, zb_operand p);
/* What a step draws, and what an evaluation has in its place. */
zb_operand zb_meaning_by_mode(zb_import_node *n, zb_operand training, zb_operand evaluation);
