/* What functions of rows are made of: an operand is a value of the import, a constant or computed, and what is applied
 * to constants alone is folded. So a function says once what an op means. Functions give NULL after an error, and of an
 * operand NULL. Tests: test/ir/import/aten, test/ir/import/paddle. */
#pragma once

#include "ir/import/fold.h"

typedef zb_import_value *zb_operand;
zb_operand zb_operand_in(zb_import_node *n, int input);             /* NULL, reported, where it is absent */
zb_operand zb_operand_optional(const zb_import_node *n, int input); /* NULL where it is absent */
bool zb_operand_shape(zb_import_node *n, zb_operand x, zb_shape *out);
zb_operand zb_operand_computed(zb_import_node *n, MlirValue value);
zb_operand zb_operand_known(zb_import_node *n, zb_known *known);
zb_operand zb_operand_named(zb_import_node *n, zb_known *known, const char *name); /* if it becomes an argument */
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
zb_operand zb_operand_matmul(zb_import_node *n, zb_operand a, zb_operand b);
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
zb_operand zb_operand_concat(zb_import_node *n, const zb_operand *parts, int count, int axis);
/* The indices that an op takes; it refuses others, where they are known or in the run. */
typedef enum zb_indices { ZB_FROM_START, ZB_FROM_BOTH_ENDS } zb_indices;
zb_operand zb_operand_gather(zb_import_node *n, zb_operand x, zb_operand indices, int axis, zb_indices taken);
zb_operand zb_operand_gather_elements(zb_import_node *n, zb_operand x, zb_operand indices, int axis, zb_indices taken);
zb_result zb_operand_give(zb_import_node *n, int output, zb_operand value);
