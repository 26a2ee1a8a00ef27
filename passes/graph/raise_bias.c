/* Bias of zb-raise: what is added to every row of a product becomes its third operand, so that kernels add it while the
 * product is in cache.
 *
 *   %p = matmul(%x, %w)
 *   %y = add(%p, %b)          ->    %y = matmul(%x, %w, %b) */

#include "passes/graph/raise_match.h"

/* A vector with one element for each column of the product. */
static bool is_row(MlirValue value, const zb_shape *product) {
  zb_shape shape;
  return zb_value_shape(value, &shape) && shape.rank == 1 && shape.dtype == product->dtype &&
         shape.dims[0] == product->dims[product->rank - 1];
}

zb_raised zb_raise_bias(const zb_raise *r) {
  zb_shape shape;
  if (!zb_op_is(r->root, "zb.add") || !zb_value_shape(mlirOperationGetResult(r->root, 0), &shape)) return ZB_RAISED_NOT;
  for (int side = 0; side < 2; ++side) {
    MlirOperation product = zb_inner(zb_raise_operand(r, side), "zb.matmul");
    MlirValue bias = zb_raise_operand(r, 1 - side);
    if (mlirOperationIsNull(product) || mlirOperationGetNumOperands(product) != 2) continue;
    if (!zb_raise_has_type(r, mlirOperationGetResult(product, 0)) || !is_row(bias, &shape)) continue;
    MlirNamedAttribute mark;
    zb_builder builder = zb_builder_marked(r->root, r->root, &mark);
    builder.location = mlirOperationGetLocation(product);
    MlirValue operands[] = {mlirOperationGetOperand(product, 0), mlirOperationGetOperand(product, 1), bias};
    zb_attr attrs[] = {zb_bool("transpose_lhs", zb_get_flag(product, "transpose_lhs")),
                       zb_bool("transpose_rhs", zb_get_flag(product, "transpose_rhs"))};
    return zb_raise_finish(&builder, r->root, zb_build(&builder, "matmul", operands, 3, attrs, 2));
  }
  return ZB_RAISED_NOT;
}
