/* Matrix products. Tests: test/ir/import/import_test.c. */
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
  return factor == 1 ? x : zb_build2(b, "mul", x, zb_import_number(b, x, factor));
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
