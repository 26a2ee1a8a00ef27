/* What a step overwrites before its verdict is known: what post-validation keeps, so that it can be taken back. */
#pragma once

#include "passes/tables.h"
#include "runtime/plan/file/plan.h"

/* A range of the frame that fills a region of the arena. */
typedef struct zb_overwritten {
  zb_region_kind region;
  zb_plan_range range; /* from the start of the frame */
} zb_overwritten;

typedef ZB_LIST(zb_overwritten) zb_overwritten_list;

/* Of the rank, from zb-memory on: what its UPDATEs and RENEW write, and the buffers that its F do, in order, whole
 * multiples of ZB_ALIGNMENT, neighbours as one. Where replicas update parts of parameters and have whole ones (top says
 * so), parts of all replicas are overwritten. MEMORY. */
zb_status zb_overwritten_find(zb_arena *arena, MlirOperation top, MlirOperation rank,
                              zb_overwritten_list *out) ZB_MUST_USE;
uint64_t zb_overwritten_bytes(const zb_overwritten_list *list);
