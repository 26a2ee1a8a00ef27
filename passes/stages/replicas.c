/* See replicas.h. Tests: test/passes/replicas.mlir, test/passes/shard-optimizer.mlir, test/passes/buckets.mlir */
#include "passes/stages/replicas.h"

#include "passes/function.h"
#include "passes/stages/classes.h"

#include <string.h>

int64_t zb_sum_buffers(MlirOperation top, int micro_batches) {
  const int64_t groups = zb_get_i64(top, ZB_ATTR_SUM_GROUPS, 1);
  if (groups == 1) return 1;
  return zb_has_attribute(top, ZB_ATTR_SUM_INNER) ? 2 + micro_batches / groups : 2;
}

int zb_replicas_parts(MlirOperation top) {
  return zb_has_attribute(top, ZB_ATTR_SHARDING) ? (int)zb_get_i64(top, ZB_ATTR_REPLICAS, 1) : 1;
}

bool zb_replicas_scatter(MlirOperation top) {
  return zb_has_attribute(top, ZB_ATTR_SHARDING) && !zb_has_attribute(top, ZB_ATTR_WHOLE_SUMS);
}

bool zb_replicas_add_early(MlirOperation top) {
  const char *sharding = zb_get_string(top, ZB_ATTR_SHARDING);
  return sharding && zb_sharding_scatters(zb_sharding_of(sharding));
}

bool zb_replicas_sum_each(MlirOperation top) {
  const char *sharding = zb_get_string(top, ZB_ATTR_SHARDING);
  return sharding && zb_sharding_sums_each(zb_sharding_of(sharding));
}

zb_collective_kind zb_replicas_collective(MlirOperation top, zb_payload payload, bool of_replicas) {
  if (!of_replicas || payload == ZB_PAYLOAD_PARAMETERS || payload == ZB_PAYLOAD_BUFFERS)
    return ZB_COLLECTIVE_ALL_GATHER;
  return payload == ZB_PAYLOAD_GRADIENTS && zb_replicas_scatter(top) ? ZB_COLLECTIVE_REDUCE_SCATTER
                                                                     : ZB_COLLECTIVE_ALL_REDUCE;
}

/* All ranks make the same norm: the first says which. */
bool zb_replicas_give_greatest(MlirOperation top, zb_payload payload) {
  if (payload != ZB_PAYLOAD_NORMS) return false;
  ZB_FOR_EACH_OP(rank, zb_function_block(top)) {
    if (!zb_op_is(rank, "builtin.module")) continue;
    ZB_FOR_EACH_OP(function, zb_function_block(rank)) {
      if (zb_class_get(function) != ZB_JOB_CLIP) continue;
      ZB_FOR_EACH_OP(op, zb_function_block(function)) {
        const char *type = zb_op_is(op, "zb.clip_scale") ? zb_get_string(op, "norm_type") : NULL;
        if (type) return strcmp(type, "inf") == 0;
      }
    }
  }
  return false;
}

bool zb_replicas_move_parts(MlirOperation top, zb_payload payload, bool of_replicas) {
  if (payload == ZB_PAYLOAD_NORMS || payload == ZB_PAYLOAD_BUFFERS) return false;
  return of_replicas ? zb_replicas_parts(top) > 1 : zb_replicas_scatter(top) && payload == ZB_PAYLOAD_GRADIENTS;
}
