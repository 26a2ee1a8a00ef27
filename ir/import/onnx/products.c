/* Matrix products, Attention. Tests: test/ir/import/import_test.c. */
#include "ir/import/onnx/onnx.h"

#include <inttypes.h>
#include <math.h>

/* A vector on the left is a row, on the right a column; the added dimension is taken out of the result. */
zb_result zb_onnx_matmul(zb_import_node *n) {
  zb_shape a, b, out;
  zb_known *folded = n->folds ? zb_import_fold_matmul(n, zb_import_known(n, 0), zb_import_known(n, 1)) : NULL;
  if (folded || n->im->failed) return zb_import_give_known(n, 0, folded);
  if (!zb_import_shape(n, 0, &a) || !zb_import_shape(n, 1, &b)) return ZB_FAIL;
  if (a.rank == 0 || b.rank == 0) return zb_import_refuse(n, NULL, "an operand is a scalar");
  MlirValue lhs = zb_import_ir(n, 0), rhs = zb_import_ir(n, 1);
  if (a.rank == 1) lhs = zb_import_reshaped(n->b, lhs, (int64_t[]){1, a.dims[0]}, 2);
  if (b.rank == 1) rhs = zb_import_reshaped(n->b, rhs, (int64_t[]){b.dims[0], 1}, 2);
  MlirValue product = zb_build2(n->b, "matmul", lhs, rhs);
  if ((a.rank > 1 && b.rank > 1) || n->b->failed) return zb_import_give(n, 0, product);
  if (!zb_import_ir_shape(n, product, &out)) return ZB_FAIL;
  if (b.rank == 1) --out.rank;
  if (a.rank == 1) {
    int row = out.rank - (b.rank == 1 ? 1 : 2);
    for (int i = row; i + 1 < out.rank; ++i)
      out.dims[i] = out.dims[i + 1];
    --out.rank;
  }
  return zb_import_give(n, 0, zb_build_reshape(n->b, product, out.dims, out.rank));
}

static MlirValue scaled(zb_builder *b, MlirValue x, double factor) {
  return factor == 1 ? x : zb_build2(b, "mul", x, zb_build_scalar(b, ZB_F32, factor));
}

zb_result zb_onnx_gemm(zb_import_node *n) {
  zb_attr attrs[] = {zb_bool("transpose_lhs", zb_onnx_int(n, "transA", 0) != 0),
                     zb_bool("transpose_rhs", zb_onnx_int(n, "transB", 0) != 0)};
  double alpha = zb_onnx_float(n, "alpha", 1), beta = zb_onnx_float(n, "beta", 1);
  MlirValue in[2] = {zb_import_ir(n, 0), zb_import_ir(n, 1)};
  if (n->im->failed) return ZB_FAIL;
  MlirValue out = scaled(n->b, zb_build(n->b, "matmul", in, 2, attrs, 2), alpha);
  if (zb_import_has(n, 2) && beta != 0) out = zb_build2(n->b, "add", out, scaled(n->b, zb_import_ir(n, 2), beta));
  return zb_import_give(n, 0, out);
}

/* ---- Attention (opset 23), where it says what zb.attention does ---- */

/* [b, h, t, d] <-> [b, t, h, d]. */
static const int64_t swap[] = {0, 2, 1, 3};

/* [b, h, t, d] or [b, t, h*d] -> [b, t, h, d]. */
static MlirValue token_major(zb_import_node *n, int input, const char *heads_name) {
  zb_shape shape;
  if (!zb_import_shape(n, input, &shape)) return (MlirValue){NULL};
  if (shape.rank == 4) return zb_import_transposed(n->b, zb_import_ir(n, input), swap);
  int64_t heads = zb_onnx_int(n, heads_name, 0);
  if (shape.rank != 3 || heads < 1 || shape.dims[2] % heads != 0) {
    zb_import_refuse(n, NULL, "input %d: expected [batch, heads, tokens, size], or [batch, tokens, heads*size] with %s",
                     input, heads_name);
    n->b->failed = true;
    return (MlirValue){NULL};
  }
  int64_t dims[] = {shape.dims[0], shape.dims[1], heads, shape.dims[2] / heads};
  return zb_import_reshaped(n->b, zb_import_ir(n, input), dims, 4);
}

/* A bool mask says what is visible; zb adds numbers. */
static MlirValue additive_mask(zb_import_node *n) {
  zb_shape shape;
  if (!zb_import_shape(n, 3, &shape)) return (MlirValue){NULL};
  MlirValue mask = zb_import_ir(n, 3);
  if (shape.dtype != ZB_I1) return mask;
  MlirValue in[3] = {mask, zb_build_scalar(n->b, ZB_F32, 0), zb_build_scalar(n->b, ZB_F32, -INFINITY)};
  return zb_build(n->b, "where", in, 3, NULL, 0);
}

zb_result zb_onnx_attention(zb_import_node *n) {
  zb_shape given, q, k;
  for (int i = 4; i < n->input_count; ++i) {
    if (zb_import_has(n, i))
      return zb_import_refuse(n, "export for training, without a cache", "past keys and values are not supported");
  }
  if (zb_import_wants(n, 1) || zb_import_wants(n, 2) || zb_import_wants(n, 3))
    return zb_import_refuse(n, "export for training, without a cache", "only the first output is supported");
  if (zb_onnx_float(n, "softcap", 0) != 0) return zb_import_refuse(n, NULL, "softcap is not supported");
  int64_t precision = zb_onnx_int(n, "softmax_precision", 1);
  if (precision != 1)
    return zb_import_refuse(n, "1 (float32)", "softmax_precision %" PRId64 " is not supported", precision);
  bool causal = zb_onnx_int(n, "is_causal", 0) != 0;
  MlirValue in[4] = {
      token_major(n, 0, "q_num_heads"), token_major(n, 1, "kv_num_heads"), token_major(n, 2, "kv_num_heads"), {NULL}};
  int count = zb_import_has(n, 3) ? 4 : 3;
  if (count == 4) in[3] = additive_mask(n);
  if (n->im->failed || n->b->failed || !zb_import_ir_shape(n, in[0], &q) || !zb_import_ir_shape(n, in[1], &k))
    return ZB_FAIL;
  if (causal && q.dims[1] != k.dims[1])
    return zb_import_refuse(n, "give the mask as a tensor", "is_causal with %" PRId64 " queries and %" PRId64 " keys",
                            q.dims[1], k.dims[1]);
  zb_attr attrs[] = {zb_float("scale", zb_onnx_float(n, "scale", 1.0 / sqrt((double)q.dims[3]))),
                     zb_bool("causal", causal)};
  MlirOperation made = zb_build_op(n->b, "attention", in, count, attrs, 2, 2);
  if (mlirOperationIsNull(made) || !zb_import_shape(n, 0, &given)) return ZB_FAIL;
  MlirValue out = mlirOperationGetResult(made, 0);
  if (given.rank == 4) return zb_import_give(n, 0, zb_import_transposed(n->b, out, swap));
  zb_shape shape;
  if (!zb_import_ir_shape(n, out, &shape)) return ZB_FAIL;
  return zb_import_give(
      n, 0, zb_build_reshape(n->b, out, (int64_t[]){shape.dims[0], shape.dims[1], shape.dims[2] * shape.dims[3]}, 3));
}
