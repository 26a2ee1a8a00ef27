/* Functions that build a node as zb ops, named in onnx_ops.def. Inputs may be constants; each sets its outputs, or
 * reports and fails. */
#ifndef ZB_IR_IMPORT_BUILD_H
#define ZB_IR_IMPORT_BUILD_H

#include "ir/import/fold.h"

/* build_elementwise.c */
zb_result zb_onnx_build_unary(zb_onnx_node *n);
zb_result zb_onnx_build_gelu(zb_onnx_node *n);
zb_result zb_onnx_build_clip(zb_onnx_node *n);
zb_result zb_onnx_build_binary(zb_onnx_node *n);
zb_result zb_onnx_build_variadic(zb_onnx_node *n);
zb_result zb_onnx_build_where(zb_onnx_node *n);
zb_result zb_onnx_build_cast(zb_onnx_node *n);
zb_result zb_onnx_build_reduce(zb_onnx_node *n);
zb_result zb_onnx_build_cumsum(zb_onnx_node *n);
zb_result zb_onnx_build_softmax(zb_onnx_node *n);
zb_result zb_onnx_build_identity(zb_onnx_node *n);
zb_result zb_onnx_build_dropout(zb_onnx_node *n);

/* build_move.c */
zb_result zb_onnx_build_reshape(zb_onnx_node *n);
zb_result zb_onnx_build_transpose(zb_onnx_node *n);
zb_result zb_onnx_build_expand(zb_onnx_node *n);
zb_result zb_onnx_build_slice(zb_onnx_node *n);
zb_result zb_onnx_build_concat(zb_onnx_node *n);
zb_result zb_onnx_build_split(zb_onnx_node *n);
zb_result zb_onnx_build_split_to_sequence(zb_onnx_node *n);
zb_result zb_onnx_build_concat_from_sequence(zb_onnx_node *n);
zb_result zb_onnx_build_gather(zb_onnx_node *n);
zb_result zb_onnx_build_gather_elements(zb_onnx_node *n);
zb_result zb_onnx_build_tile(zb_onnx_node *n);
zb_result zb_onnx_build_pad(zb_onnx_node *n);
zb_result zb_onnx_build_trilu(zb_onnx_node *n);

/* rows.c */
zb_result zb_onnx_build_gather_nd(zb_onnx_node *n);
zb_result zb_onnx_build_scatter_nd(zb_onnx_node *n);
zb_result zb_onnx_build_scatter_elements(zb_onnx_node *n);

/* build_products.c */
zb_result zb_onnx_build_matmul(zb_onnx_node *n);
zb_result zb_onnx_build_gemm(zb_onnx_node *n);
zb_result zb_onnx_build_einsum(zb_onnx_node *n);
zb_result zb_onnx_build_attention(zb_onnx_node *n);

/* build_norm_loss.c */
zb_result zb_onnx_build_layer_norm(zb_onnx_node *n);
zb_result zb_onnx_build_rms_norm(zb_onnx_node *n);
zb_result zb_onnx_build_cross_entropy(zb_onnx_node *n);
zb_result zb_onnx_build_nll_loss(zb_onnx_node *n);

/* Shared: movement that leaves out what changes nothing and joins what follows itself (a transpose of a transpose). */
MlirValue zb_onnx_build_transposed(zb_builder *b, MlirValue x, const int64_t *permutation);
MlirValue zb_onnx_build_reshaped(zb_builder *b, MlirValue x, const int64_t *dims, int rank);
MlirValue zb_onnx_build_expanded(zb_builder *b, MlirValue x, const zb_shape *shape);
MlirValue zb_onnx_build_casted(zb_builder *b, MlirValue x, zb_dtype dtype);

#endif
