/* Optimizers of parameters that several stages use: which ops belong together, and on which ranks they run. */
#pragma once

#include "passes/stages/flow.h"

typedef struct zb_tied {
  const zb_graph *graph;
  const zb_flow *flow;
  const int *stage; /* per node */
  const int *stage_rank;
  int ranks;
  const bool *reads; /* [result * ranks + rank]: F, B, W or E of the rank read the parameter whose new value that is */
} zb_tied;

/* What a rank has to do with a group: nothing; it reads a parameter that the group updates, and so has to update it,
 * too; it also adds to a sum of its gradients. */
typedef enum zb_tied_part { ZB_TIED_NOT, ZB_TIED_READS, ZB_TIED_ADDS } zb_tied_part;

/* Numbers the groups of connected optimizer ops that run on several ranks: those of no single stage (stage[node] is
 * -1), and those of a parameter that another rank reads. group[node] is the group of an op, -1 of all others. MEMORY.
 */
zb_status zb_tied_groups(zb_arena *arena, const zb_tied *tied, int *group, int *out_count) ZB_MUST_USE;
/* group_rank[g * ranks + r]: the part of rank r in group g. All NOT before. */
void zb_tied_group_ranks(const zb_tied *tied, const int *group, zb_tied_part *group_rank);
