/* How much of W runs while its B waits for sums over shards. */
#pragma once

#include "runtime/base/arena.h"
#include "zb/costs.h"

#include <mlir-c/IR.h>

/* Of the functions of a stage behind zb-memory: what of W's time its instructions take that fill the sums of B, each in
 * turn as far as B has made what it reads (passes/stages/plan/weave.c, which knows other jobs as well). Null functions:
 * 0. What arena.c says of failures. */
int64_t zb_hidden_in_b(zb_arena *arena, MlirOperation b, MlirOperation w, const zb_costs *costs);
