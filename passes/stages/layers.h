/* The layers of a program, found by dataflow: the parts that a training engineer would put into torch.utils.checkpoint.
 *
 * The forward ops in program order can be cut where few values cross: where no cut nearby is crossed by fewer. The
 * parts between such cuts that repeat are a layer: in a transformer attention and MLP, again and again. Each stage is
 * cut into layers of about that size, where fewest bytes cross.
 */
#pragma once

#include "passes/stages/flow.h"

typedef struct zb_layers {
  int *layer; /* per node: its layer, in program order from 0; -1: no forward op, or one that is cloned for each reader
                 (views, chains, constants) */
  int *stage; /* [count] */
  int count;
} zb_layers;

/* stage: per node. Lives in the arena. MEMORY. O(operands), and O(n) times the parts of a layer in the n places where
 * few values cross. */
zb_status zb_layers_build(zb_arena *arena, const zb_graph *graph, const zb_flow *flow, const int *stage,
                          zb_layers *out) ZB_MUST_USE;

/* Bytes that layers keep for those behind them where the whole program is one stage: what torch.utils.checkpoint around
 * each layer keeps, but for what is outside of layers; and how many layers there are. The rest as zb_layers_build. */
zb_status zb_layers_kept(zb_arena *arena, const zb_graph *graph, const zb_flow *flow, int64_t *out,
                         int *layers) ZB_MUST_USE;

/* What a value is a view of; the value itself, where it is none. */
int zb_flow_base(const zb_graph *graph, const zb_flow *flow, int value);
