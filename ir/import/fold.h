/* The evaluator of constants, for every importer. A function gives NULL after an error, which it reports at the node.
 */
#pragma once

#include "ir/import/import.h"

/* fold.c: values. */
/* The op on up to three constants, with the attributes that it needs, by its reference kernel. */
zb_known *zb_import_fold_op(zb_import_node *n, const char *op, const zb_known *const *in, int count,
                            const zb_attr *attrs, int attr_count);
zb_known *zb_import_fold_cast(zb_import_node *n, const zb_known *in, zb_dtype dtype);
/* Also powers of integers, and of operands of two types. */
zb_known *zb_import_fold_binary(zb_import_node *n, const char *op, const zb_known *a, const zb_known *b,
                                const zb_attr *attrs, int attr_count);
zb_known *zb_import_fold_where(zb_import_node *n, const zb_known *condition, const zb_known *yes, const zb_known *no);
zb_known *zb_import_fold_range(zb_import_node *n, const zb_known *start, const zb_known *limit, const zb_known *delta);
/* The five basic reductions over these axes, none twice; of none: over all. */
zb_known *zb_import_fold_reduce(zb_import_node *n, const char *op, const zb_known *in, const int64_t *axes, int count,
                                bool keepdims);
/* The product of two small constants (rotary frequencies times positions). NULL: an error if n->im->failed is set; else
 * it is not folded (too large, or an operand has rank below 2), and the caller builds the op. */
zb_known *zb_import_fold_matmul(zb_import_node *n, const zb_known *a, const zb_known *b);

/* fold_move.c: data movement. Arguments are normalized: non-negative axes, one entry a dimension. */
zb_known *zb_import_fold_transpose(zb_import_node *n, const zb_known *in, const int64_t *permutation);
zb_known *zb_import_fold_expand(zb_import_node *n, const zb_known *in, const zb_shape *shape);
zb_known *zb_import_fold_slice(zb_import_node *n, const zb_known *in, const int64_t *starts, const int64_t *steps,
                               const int64_t *sizes);
zb_known *zb_import_fold_concat(zb_import_node *n, const zb_known *const *parts, int count, int axis);
zb_known *zb_import_fold_gather(zb_import_node *n, const zb_known *in, const zb_known *indices, int axis);
zb_known *zb_import_fold_gather_elements(zb_import_node *n, const zb_known *in, const zb_known *indices, int axis);
/* An index that may count from the end; -1 after reporting. */
int64_t zb_import_index_at(zb_import_node *n, const zb_known *indices, int64_t i, int64_t dim);
