/* Buckets of accumulators: see buckets.h.
 *
 * W of a stage and the last micro-batch completes its accumulators one after the other, the layers that are last in the
 * model first. So a bucket is a run of them in that order, and may be on its way while W goes on with the next one.
 * What B completes waits for the end of B, since the stage before waits for B.
 *
 * Tests: test/passes/buckets.mlir, test/e2e/replicas.py. */

#include "passes/stages/buckets.h"

#include "passes/stages/classes.h"
#include "passes/stages/cost.h"

/* The accumulator of a zb.accumulate: its place in the frame of gradients. */
static zb_status read_part(MlirOperation op, zb_plan_range *out) {
  const MlirValue sum = mlirOperationGetOperand(op, 0);
  const MlirOperation get = mlirOpResultGetOwner(sum);
  const char *parameter = zb_get_string(op, "parameter");
  zb_shape shape;
  if (!zb_type_shape(mlirValueGetType(sum), &shape) || shape.dtype != ZB_F32)
    return ZB_ERROR(INVALID, "the accumulator of %s is no tensor of f32", parameter ? parameter : "?");
  *out = (zb_plan_range){(uint64_t)zb_get_i64(get, "offset", 0), (uint64_t)zb_shape_bytes(&shape)};
  return NULL;
}

/* What a bucket of W has behind it: a part of the time that zb-memory gives the function, which is that of its ops
 * unless it was measured. */
static int64_t share_of(int64_t time_ps, int64_t behind, int64_t all) {
  if (time_ps == all || all == 0) return behind;
  return (int64_t)((double)time_ps * ((double)behind / (double)all));
}

static zb_status find_of_job(zb_arena *arena, const zb_module_problem *p, int stage, zb_kind kind, int64_t least,
                             zb_buckets *out) {
  const MlirOperation function = p->functions[stage * ZB_KIND_COUNT + (int)kind];
  if (mlirOperationIsNull(function)) return NULL;
  const int64_t all = zb_cost_of_block(zb_function_block(function), NULL, NULL).time_ps;
  const int64_t time_ps = zb_get_i64(function, ZB_ATTR_TIME_PS, 0);
  int64_t done = 0;
  bool open = false;
  ZB_FOR_EACH_OP(op, zb_function_block(function)) {
    done += zb_op_is(op, "func.return") ? 0 : zb_cost_of(op, zb_op_find(op), NULL).time_ps;
    if (!zb_op_is(op, "zb.accumulate")) continue;
    zb_plan_range part;
    ZB_TRY(read_part(op, &part));
    if (part.bytes == 0) continue;
    if (!open && !ZB_PUSH(arena, out, (zb_bucket){.stage = stage, .kind = kind})) return ZB_OUT_OF_MEMORY();
    zb_bucket *bucket = &out->items[out->count - 1];
    (void)ZB_PUSH(arena, &bucket->parts, part);
    bucket->bytes += (int64_t)part.bytes;
    bucket->lead_ps = kind == ZB_W ? share_of(time_ps, all - done, all) : 0;
    open = bucket->bytes < least;
  }
  return zb_arena_status(arena);
}

zb_status zb_buckets_find(zb_arena *arena, const zb_module_problem *p, int64_t least, zb_buckets *out) {
  for (int stage = p->problem.stages - 1; stage >= 0; --stage)
    for (int kind = ZB_F; kind < ZB_KIND_COUNT; ++kind)
      ZB_TRY(find_of_job(arena, p, stage, (zb_kind)kind, least, out));
  return NULL;
}
