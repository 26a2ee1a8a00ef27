/* Optimizers of parameters that several stages use: which ops belong together, and on which ranks they run. */
#ifndef ZB_PASSES_TIED_H
#define ZB_PASSES_TIED_H

#include "passes/stages/flow.h"

/* Numbers the groups of connected optimizer ops that are of no single stage (stage[node] is -1): group[node] is the
 * group of an op, -1 of all others. MEMORY. */
zb_status zb_tied_groups(zb_arena *arena, const zb_graph *graph, const zb_flow *flow, const int *stage, int *group,
                         int *out_count) ZB_MUST_USE;
/* group_rank[g * ranks + r]: rank r has an accumulate that feeds group g, and so holds its parameter. All false before.
 */
void zb_tied_group_ranks(const zb_graph *graph, const zb_flow *flow, const int *stage, const int *group,
                         const int *stage_rank, int ranks, bool *group_rank);

#endif
