// Analytic cost of an op from its row and types. Tests: test/passes/partition.mlir.

#include "passes/cost.h"

static const double product_flops_per_ps = 0.1, bytes_per_ps = 0.01, start_ps = 500000.0;

// Bytes of all operands and results, for ops nobody described too.
static double moved_bytes(MlirOperation op) {
  double bytes = 0;
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(op); ++i)
    bytes += (double)zb_type_bytes(mlirValueGetType(mlirOperationGetOperand(op, i)));
  for (intptr_t i = 0; i < mlirOperationGetNumResults(op); ++i)
    bytes += (double)zb_type_bytes(mlirValueGetType(mlirOperationGetResult(op, i)));
  return bytes;
}

static zb_cost described_cost(MlirOperation op, const zb_op_def *def) {
  zb_cost cost = {0};
  zb_op_view view;
  static _Thread_local zb_op_view_storage storage;
  zb_shape results[ZB_VIEW_OPERANDS];
  intptr_t count = mlirOperationGetNumResults(op);
  if (!def->cost || count > ZB_VIEW_OPERANDS || !zb_op_view_get(op, &view, &storage)) return cost;
  for (intptr_t i = 0; i < count; ++i)
    if (!zb_type_shape(mlirValueGetType(mlirOperationGetResult(op, i)), &results[i])) return cost;
  return def->cost(&view, results, (int)count);
}

zb_op_cost zb_cost_of(MlirOperation op, const zb_op_def *def) {
  if (def && (def->op_class == ZB_CLASS_VIEW || def->op_class == ZB_CLASS_STRUCTURE)) return (zb_op_cost){0};
  zb_cost cost = def ? described_cost(op, def) : (zb_cost){0};
  double bytes = cost.bytes > 0 ? cost.bytes : moved_bytes(op);
  double ps = start_ps + cost.product_flops / product_flops_per_ps + bytes / bytes_per_ps;
  return (zb_op_cost){.time_ps = (int64_t)ps, .flops = cost.flops, .product_flops = cost.product_flops};
}
