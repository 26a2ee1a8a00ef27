/* Matrix products. Tests: test/ir/import/import_test.c. */
#include "ir/import/onnx/onnx.h"
#include "ir/import/operand.h"

#include <inttypes.h>
#include <math.h>

zb_result zb_onnx_matmul(zb_import_node *n) {
  return zb_operand_give(n, 0, zb_operand_product(n, zb_operand_in(n, 0), zb_operand_in(n, 1)));
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
