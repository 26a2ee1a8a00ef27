/* How much of W runs while its B waits for sums over shards. */
#pragma once

#include "runtime/base/arena.h"
#include "zb/costs.h"

#include <mlir-c/IR.h>

/* Of the functions of a stage behind zb-memory: what of W's time its instructions take that fill the sums of B, each in
 * turn as far as B has made what it reads (passes/stages/plan/weave.c, which knows other jobs as well). 0 where
 * there is no B or no W. Out of memory: 0, and zb_arena_status says so. */
int64_t zb_hidden_in_b(zb_arena *arena, MlirOperation b, MlirOperation w, const zb_costs *costs);
