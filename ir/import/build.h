/* Functions that build a node as zb ops, named in onnx_ops.def. Inputs may be constants; each sets its outputs, or reports and fails. */
#ifndef ZB_IR_IMPORT_BUILD_H
#define ZB_IR_IMPORT_BUILD_H

#include "ir/import/fold.h"

/* build_elementwise.c */
zb_result zb_import_unary(zb_node *n);
zb_result zb_import_gelu(zb_node *n);
zb_result zb_import_clip(zb_node *n);
zb_result zb_import_binary(zb_node *n);
zb_result zb_import_variadic(zb_node *n);
zb_result zb_import_where(zb_node *n);
zb_result zb_import_cast(zb_node *n);
zb_result zb_import_reduce(zb_node *n);
zb_result zb_import_softmax(zb_node *n);
zb_result zb_import_identity(zb_node *n);
zb_result zb_import_dropout(zb_node *n);

/* build_move.c */
zb_result zb_import_reshape(zb_node *n);
zb_result zb_import_transpose(zb_node *n);
zb_result zb_import_expand(zb_node *n);
zb_result zb_import_slice(zb_node *n);
zb_result zb_import_concat(zb_node *n);
zb_result zb_import_split(zb_node *n);
zb_result zb_import_split_to_sequence(zb_node *n);
zb_result zb_import_concat_from_sequence(zb_node *n);
zb_result zb_import_gather(zb_node *n);
zb_result zb_import_gather_elements(zb_node *n);
zb_result zb_import_gather_nd(zb_node *n);
zb_result zb_import_tile(zb_node *n);
zb_result zb_import_pad(zb_node *n);
zb_result zb_import_trilu(zb_node *n);

/* build_products.c */
zb_result zb_import_matmul(zb_node *n);
zb_result zb_import_gemm(zb_node *n);
zb_result zb_import_einsum(zb_node *n);
zb_result zb_import_attention(zb_node *n);

/* build_norm_loss.c */
zb_result zb_import_layer_norm(zb_node *n);
zb_result zb_import_rms_norm(zb_node *n);
zb_result zb_import_cross_entropy(zb_node *n);
zb_result zb_import_nll_loss(zb_node *n);

/* Shared: movement that leaves out what changes nothing and joins what follows itself (a transpose of a transpose). */
MlirValue zb_import_transposed(zb_builder *b, MlirValue x, const int64_t *permutation);
MlirValue zb_import_reshaped(zb_builder *b, MlirValue x, const int64_t *dims, int rank);
MlirValue zb_import_expanded(zb_builder *b, MlirValue x, const zb_shape *shape);
MlirValue zb_import_casted(zb_builder *b, MlirValue x, zb_dtype dtype);

#endif
