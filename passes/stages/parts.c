/* Parts of tensors: see parts.h. Tests: test/passes/shard-optimizer.mlir, test/passes/gathered.mlir */
#include "passes/stages/parts.h"

#include <stdio.h>

#include "runtime/plan/file/plan.h"

MlirType zb_part_type(MlirType whole, int replicas) {
  zb_shape shape;
  if (!zb_type_shape(whole, &shape)) return whole;
  const int64_t elements = (int64_t)(zb_plan_part_bytes(&shape, replicas) / zb_dtype_bytes(shape.dtype));
  const zb_shape part = {.dtype = shape.dtype, .rank = 1, .dims = {elements}};
  return zb_shape_type(mlirTypeGetContext(whole), &part);
}

MlirType zb_copy_part_type(MlirType whole, int replicas) {
  zb_shape shape;
  if (!zb_type_shape(whole, &shape)) return whole;
  const zb_dtype dtype = shape.dtype;
  shape.dtype = ZB_F32;
  const int64_t elements = (int64_t)(zb_plan_part_bytes(&shape, replicas) / sizeof(float));
  return zb_shape_type(mlirTypeGetContext(whole), &(zb_shape){.dtype = dtype, .rank = 1, .dims = {elements}});
}

const char *zb_flat_text(zb_arena *arena, const char *cut, MlirType whole) {
  zb_shape shape;
  char text[32 * (ZB_DIMS_MAX + ZB_PLAN_RUNS_MAX + 1)];
  if (!zb_type_shape(whole, &shape)) return NULL;
  size_t length = (size_t)snprintf(text, sizeof text, "%s%sflat:", cut ? cut : "", cut ? ";" : "");
  for (int d = 0; d < shape.rank; ++d)
    length += (size_t)snprintf(text + length, sizeof text - length, "%s%lld", d ? "," : "", (long long)shape.dims[d]);
  return zb_arena_strdup(arena, text);
}

/* An op that makes, of parts of its operands, that part of its results, or a number. */
static bool is_of_parts(const zb_op_def *def) {
  return def && (def->traits & (ZB_TRAIT_ELEMENTWISE | ZB_TRAIT_OF_PARTS | ZB_TRAIT_NUMBER));
}

zb_status zb_check_of_parts(MlirOperation op) {
  const zb_op_def *def = zb_op_find(op);
  if (zb_op_is(op, "zb.constant") || is_of_parts(def)) return NULL;
  return zb_status_hint(
      ZB_ERROR(INVALID, "--sharding: %s needs whole tensors, and a replica has a part", def ? def->name : "an op"),
      "use an optimizer that updates element by element, or leave --sharding out");
}

void zb_make_part(MlirOperation op, int replicas) {
  const zb_op_def *def = zb_op_find(op);
  if (def && (def->traits & ZB_TRAIT_NUMBER)) return;
  for (intptr_t i = 0; i < mlirOperationGetNumResults(op) && !zb_op_is(op, "zb.constant"); ++i) {
    const MlirValue result = mlirOperationGetResult(op, i);
    const MlirType whole = mlirValueGetType(result);
    mlirValueSetType(result,
                     zb_op_is(op, "zb.cast") ? zb_copy_part_type(whole, replicas) : zb_part_type(whole, replicas));
  }
}
