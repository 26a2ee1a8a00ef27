/* The evaluator of constants: one function an operator or family, named in onnx_ops.def. Each has all inputs constant
 * (or, for rows that need only shapes, known shapes), sets its outputs, and reports errors at the node. */
#ifndef ZB_IR_IMPORT_FOLD_H
#define ZB_IR_IMPORT_FOLD_H

#include "ir/import/import.h"

/* fold.c: values */
zb_result zb_onnx_fold_constant(zb_onnx_node *n);
zb_result zb_onnx_fold_constant_of_shape(zb_onnx_node *n);
zb_result zb_onnx_fold_shape(zb_onnx_node *n);
zb_result zb_onnx_fold_size(zb_onnx_node *n);
zb_result zb_onnx_fold_range(zb_onnx_node *n);
zb_result zb_onnx_fold_eye_like(zb_onnx_node *n);
zb_result zb_onnx_fold_unary(zb_onnx_node *n);
zb_result zb_onnx_fold_binary(zb_onnx_node *n);
zb_result zb_onnx_fold_variadic(zb_onnx_node *n);
zb_result zb_onnx_fold_clip(zb_onnx_node *n);
zb_result zb_onnx_fold_cast(zb_onnx_node *n);
zb_result zb_onnx_fold_where(zb_onnx_node *n);
zb_result zb_onnx_fold_reduce(zb_onnx_node *n);
zb_result zb_onnx_fold_cumsum(zb_onnx_node *n);
zb_result zb_onnx_fold_trilu(zb_onnx_node *n);
zb_result zb_onnx_fold_matmul(zb_onnx_node *n);

/* fold_move.c: data movement */
zb_result zb_onnx_fold_reshape(zb_onnx_node *n);
zb_result zb_onnx_fold_transpose(zb_onnx_node *n);
zb_result zb_onnx_fold_expand(zb_onnx_node *n);
zb_result zb_onnx_fold_slice(zb_onnx_node *n);
zb_result zb_onnx_fold_concat(zb_onnx_node *n);
zb_result zb_onnx_fold_split(zb_onnx_node *n);
zb_result zb_onnx_fold_gather(zb_onnx_node *n);
zb_result zb_onnx_fold_gather_elements(zb_onnx_node *n);
zb_result zb_onnx_fold_tile(zb_onnx_node *n);
zb_result zb_onnx_fold_pad(zb_onnx_node *n);
/* Sequences hold constants and other values alike. */
zb_result zb_onnx_sequence_construct(zb_onnx_node *n);
zb_result zb_onnx_sequence_at(zb_onnx_node *n);
zb_result zb_onnx_sequence_length(zb_onnx_node *n);

/* rows.c: index tuples */
zb_result zb_onnx_fold_gather_nd(zb_onnx_node *n);
zb_result zb_onnx_fold_scatter_nd(zb_onnx_node *n);
zb_result zb_onnx_fold_scatter_elements(zb_onnx_node *n);

/* arguments.c: operands and attributes of data movement, normalized, for fold and build alike. False after reporting.
 */
bool zb_onnx_arguments_reshape(zb_onnx_node *n, const zb_shape *in,
                               zb_shape *out); /* Reshape Squeeze Unsqueeze Flatten, by the node's name */
bool zb_onnx_arguments_transpose(zb_onnx_node *n, const zb_shape *in, int64_t *permutation);
bool zb_onnx_arguments_expand(zb_onnx_node *n, const zb_shape *in, zb_shape *out);
/* starts, steps (may be negative) and sizes of every dimension. */
bool zb_onnx_arguments_slice(zb_onnx_node *n, const zb_shape *in, int64_t *starts, int64_t *steps, int64_t *sizes);
enum { ZB_SPLIT_MAX = 256 };
bool zb_onnx_arguments_split(zb_onnx_node *n, const zb_shape *in, int *axis, int64_t *sizes, int *count);
bool zb_onnx_arguments_axes(zb_onnx_node *n, int rank, bool *reduced, bool *keepdims,
                            bool *identity); /* Reduce*: attribute or input 1 */
bool zb_onnx_arguments_tile(zb_onnx_node *n, const zb_shape *in, int64_t *repeats);
bool zb_onnx_arguments_pad(zb_onnx_node *n, const zb_shape *in, int64_t *before, int64_t *after);
bool zb_onnx_arguments_cast(zb_onnx_node *n, zb_dtype *out);

#endif
