/* What a step overwrites before its verdict is known: see overwritten.h. Tests: test/passes/post-validation.mlir. */

#include "passes/stages/jobs/overwritten.h"

#include "passes/function.h"
#include "passes/stages/classes.h"
#include "passes/stages/frames.h"
#include "passes/stages/replicas.h"

#include <stdlib.h>
#include <string.h>

/* The region that a frame fills for the whole run, where a snapshot can be of it. */
static zb_region_kind region_of(const char *frame) {
  static const struct {
    int pool;
    zb_region_kind region;
  } regions[] = {{POOL_PARAMETERS, ZB_REGION_PARAMETERS},
                 {POOL_BUFFERS, ZB_REGION_BUFFERS},
                 {POOL_STATE, ZB_REGION_STATE},
                 {POOL_CONSTANTS, ZB_REGION_CONSTANTS}};
  for (size_t i = 0; i < sizeof regions / sizeof regions[0]; ++i)
    if (strcmp(frame, pool_names[regions[i].pool]) == 0) return regions[i].region;
  return ZB_REGION_COUNT;
}

/* What was put into a frame that a function gives back. */
static void add_puts(zb_arena *arena, MlirValue frame, zb_region_kind region, int parts, zb_overwritten_list *out) {
  const uint64_t times = region == ZB_REGION_PARAMETERS ? (uint64_t)parts : 1;
  while (mlirValueIsAOpResult(frame)) {
    MlirOperation op = mlirOpResultGetOwner(frame);
    if (!zb_op_is(op, "zb.put")) return;
    const uint64_t bytes = times * zb_align(zb_type_bytes(mlirValueGetType(mlirOperationGetOperand(op, 1))));
    (void)ZB_PUSH(arena, out, (zb_overwritten){region, {(uint64_t)zb_get_i64(op, "offset", 0), bytes}});
    frame = mlirOperationGetOperand(op, 0);
  }
}

static int compare(const void *a, const void *b) {
  const zb_overwritten *x = a, *y = b;
  if (x->region != y->region) return (int)x->region - (int)y->region;
  return x->range.offset < y->range.offset ? -1 : x->range.offset > y->range.offset;
}

static void join_neighbours(zb_overwritten_list *list) {
  size_t last = 0;
  for (size_t i = 1; i < list->count; ++i) {
    zb_overwritten *before = &list->items[last], next = list->items[i];
    if (before->region == next.region && before->range.offset + before->range.bytes >= next.range.offset)
      before->range.bytes = next.range.offset + next.range.bytes - before->range.offset;
    else
      list->items[++last] = next;
  }
  if (list->count) list->count = last + 1;
}

zb_status zb_overwritten_find(zb_arena *arena, MlirOperation top, MlirOperation rank, zb_overwritten_list *out) {
  const int parts = zb_has_attribute(top, ZB_ATTR_GATHER) ? 1 : zb_replicas_parts(top);
  *out = (zb_overwritten_list){0};
  ZB_FOR_EACH_OP(function, zb_function_block(rank)) {
    const zb_job_kind kind = zb_class_get(function);
    if (kind != ZB_JOB_UPDATE && kind != ZB_JOB_RENEW && kind != ZB_JOB_F) continue;
    for (zb_ports at = zb_results(function); zb_next(&at);) {
      const zb_region_kind region = at.port.frame ? region_of(at.port.frame) : ZB_REGION_COUNT;
      if (region != ZB_REGION_COUNT) add_puts(arena, at.value, region, parts, out);
    }
  }
  ZB_TRY(zb_arena_status(arena));
  if (out->count) qsort(out->items, out->count, sizeof *out->items, compare);
  join_neighbours(out);
  return NULL;
}

uint64_t zb_overwritten_bytes(const zb_overwritten_list *list) {
  uint64_t bytes = 0;
  for (size_t i = 0; i < list->count; ++i)
    bytes += list->items[i].range.bytes;
  return bytes;
}
