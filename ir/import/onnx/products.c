/* Matrix products. Tests: test/ir/import/import_test.c. */
#include "ir/import/onnx/onnx.h"

zb_result zb_onnx_matmul(zb_import_node *n) {
  return zb_operand_give(n, 0, zb_meaning_product(n, zb_operand_in(n, 0), zb_operand_in(n, 1)));
}

zb_result zb_onnx_gemm(zb_import_node *n) {
  const zb_attr attrs[] = {zb_bool("transpose_lhs", zb_onnx_int(n, "transA", 0) != 0),
                           zb_bool("transpose_rhs", zb_onnx_int(n, "transB", 0) != 0)};
  const double alpha = zb_onnx_float(n, "alpha", 1), beta = zb_onnx_float(n, "beta", 1);
  const zb_operand in[] = {zb_operand_in(n, 0), zb_operand_in(n, 1)};
  zb_operand product = zb_operand_build(n, "matmul", in, 2, attrs, 2);
  return zb_operand_give(n, 0, zb_meaning_weighted_sum(n, product, alpha, zb_operand_optional(n, 2), beta));
}
