/* Which ops that compute an activation again are in B although W alone reads it. */
#pragma once

#include "passes/stages/flow.h"

/* Dataflow puts such an op into W, with what it reads kept until then. Where B makes that anyway, and what comes out of
 * the op is smaller, B computes it, and that is kept instead. is_b: per node, changed; stage: per node. MEMORY. */
zb_status zb_recompute_place(zb_arena *arena, const zb_graph *graph, const zb_flow *flow, const int *stage,
                             bool *is_b) ZB_MUST_USE;
