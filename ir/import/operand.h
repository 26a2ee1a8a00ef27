/* What functions of rows are made of: an operand is a value of the import, a constant or computed, and what is applied
 * to constants alone is folded. So a function says once what an op means. Functions give NULL after an error, and of an
 * operand NULL. Tests: test/ir/import/aten, test/ir/import/paddle. */
#ifndef ZB_IR_IMPORT_OPERAND_H
#define ZB_IR_IMPORT_OPERAND_H

#include "ir/import/fold.h"

typedef zb_import_value *zb_operand;
zb_operand zb_operand_in(zb_import_node *n, int input); /* NULL, reported, where it is absent */
bool zb_operand_shape(zb_import_node *n, zb_operand x, zb_shape *out);
zb_operand zb_operand_computed(zb_import_node *n, MlirValue value);
zb_operand zb_operand_known(zb_import_node *n, zb_known *known);
/* The op of one or two operands, or zb.where of three: folded where all are known. */
zb_operand zb_operand_apply(zb_import_node *n, const char *op, const zb_operand *in, int count, const zb_attr *attrs,
                            int attr_count);
zb_operand zb_operand_apply1(zb_import_node *n, const char *op, zb_operand x);
zb_operand zb_operand_apply2(zb_import_node *n, const char *op, zb_operand a, zb_operand b);
/* The op, always built; of several results the first. */
zb_operand zb_operand_build(zb_import_node *n, const char *op, const zb_operand *in, int count, const zb_attr *attrs,
                            int attr_count);
zb_operand zb_operand_scalar(zb_import_node *n, zb_dtype dtype, double value);
zb_operand zb_operand_number(zb_import_node *n, zb_operand x, double value); /* a scalar of the type of x */
zb_operand zb_operand_filled(zb_import_node *n, const zb_shape *shape, zb_operand scalar);
zb_operand zb_operand_cast(zb_import_node *n, zb_operand x, zb_dtype dtype);
zb_operand zb_operand_where(zb_import_node *n, zb_operand condition, zb_operand yes, zb_operand no);
/* `value`, which has no gradient for x (zb.detach), with the gradient slope * dout for it: of formulas whose own
 * gradient is no number at some points, or not what the framework gives there. Again for each other x. */
zb_operand zb_operand_with_slope(zb_import_node *n, zb_operand value, zb_operand x, zb_operand slope);
/* Of f32. The sign of what is no number is 0. x to the power y. The norm of any order (0: how many are not zero,
 * infinities: the greatest and the least), whose gradient is zero where it is zero. */
zb_operand zb_operand_sign(zb_import_node *n, zb_operand x);
zb_operand zb_operand_power(zb_import_node *n, zb_operand x, double y);
zb_operand zb_operand_norm(zb_import_node *n, zb_operand x, double order, const int64_t *axes, int count,
                           bool keepdims);
/* The sum of squares beside the mean over `freedom`, or its root, whose gradient is zero at zero. */
zb_operand zb_operand_variance(zb_import_node *n, zb_operand x, bool is_root, double freedom, const int64_t *axes,
                               int count, bool keepdims);
/* log(sum(exp(x))), which does not overflow. of_infinite: that of an infinite maximum is it, else no number. */
zb_operand zb_operand_log_sum_exp(zb_import_node *n, zb_operand x, bool of_infinite, const int64_t *axes, int count,
                                  bool keepdims);
/* rsqrt, square, log2, log10, log_sigmoid, trunc: what functions of one variable are that are no ops; NULL: another. */
zb_operand zb_operand_formula(zb_import_node *n, const char *name, zb_operand x);
/* x * factor + shift. */
zb_operand zb_operand_line(zb_import_node *n, zb_operand x, double factor, double shift);
zb_operand zb_operand_matmul(zb_import_node *n, zb_operand a, zb_operand b);
/* x with its last two dimensions swapped, if it has two. */
zb_operand zb_operand_swapped(zb_import_node *n, zb_operand x);
/* The product of matrices or batches of them; a vector on the left is a row, on the right a column, and the added
 * dimension is taken out of the result. */
zb_operand zb_operand_product(zb_import_node *n, zb_operand a, zb_operand b);
/* Over no axes: x itself. */
zb_operand zb_operand_reduce(zb_import_node *n, const char *op, zb_operand x, const int64_t *axes, int count,
                             bool keepdims);
zb_operand zb_operand_reshape(zb_import_node *n, zb_operand x, const zb_shape *shape);
zb_operand zb_operand_transpose(zb_import_node *n, zb_operand x, const int64_t *permutation);
zb_operand zb_operand_expand(zb_import_node *n, zb_operand x, const zb_shape *shape);
/* steps NULL: each is 1. */
zb_operand zb_operand_slice(zb_import_node *n, zb_operand x, const int64_t *starts, const int64_t *sizes,
                            const int64_t *steps);
/* `count` elements of one dimension. */
zb_operand zb_operand_part(zb_import_node *n, zb_operand x, int axis, int64_t begin, int64_t count);
/* All dimensions reduced. */
zb_operand zb_operand_reduce_all(zb_import_node *n, const char *op, zb_operand x);
zb_operand zb_operand_concat(zb_import_node *n, const zb_operand *parts, int count, int axis);
/* So many of `fill`, a scalar, before and behind x along a dimension; negative numbers cut. */
zb_operand zb_operand_pad(zb_import_node *n, zb_operand x, int axis, int64_t before, int64_t after, zb_operand fill);
zb_operand zb_operand_gather(zb_import_node *n, zb_operand x, zb_operand indices, int axis);
zb_operand zb_operand_gather_elements(zb_import_node *n, zb_operand x, zb_operand indices, int axis);
zb_result zb_operand_give(zb_import_node *n, int output, zb_operand value);
/* zb.dropout with the next number, or x itself at the rate 0; rate as the op has it. */
zb_operand zb_operand_drop(zb_import_node *n, zb_operand x, double rate);
/* Drawn with the next numbers: of [0, 1) for a shape of f32, whole ones below 2^32 for one of i64; of the standard
 * normal distribution, as f32; 1 with the probability p, else 0, as f32. */
zb_operand zb_operand_uniform(zb_import_node *n, const zb_shape *shape);
zb_operand zb_operand_normal(zb_import_node *n, const zb_shape *shape);
zb_operand zb_operand_bernoulli(zb_import_node *n, zb_operand p);
/* What a step draws, and what an evaluation has in its place. */
zb_operand zb_operand_by_mode(zb_import_node *n, zb_operand training, zb_operand evaluation);

#endif
