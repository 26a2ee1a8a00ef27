/* Groups of the optimizers of tied parameters: see passes/stages/tied.h. Tests: test/passes/outline.mlir. */
#include "passes/stages/tied.h"

static int find_group(int *parent, int node) {
  while (parent[node] != node)
    node = parent[node] = parent[parent[node]];
  return node;
}

/* Of the optimizer of a parameter that several stages use. */
static bool is_shared(const zb_flow *flow, const int *stage, int node) {
  return (flow->nodes[node] & (ZB_FLOW_OPTIMIZE | ZB_FLOW_COMMON)) == ZB_FLOW_OPTIMIZE && stage[node] == -1;
}

zb_status zb_tied_groups(zb_arena *arena, const zb_graph *graph, const zb_flow *flow, const int *stage, int *group,
                         int *out_count) {
  int *parent = ZB_NEW(arena, int, graph->node_count);
  ZB_TRY(zb_arena_status(arena));
  for (int n = 0; n < graph->node_count; ++n)
    parent[n] = n, group[n] = -1;
  ZB_FOR_EACH_NODE(node, graph) {
    if (!is_shared(flow, stage, node->number)) continue;
    ZB_FOR_EACH_OPERAND(operand, graph, node) {
      const zb_node *maker = zb_maker(graph, operand);
      if (maker && is_shared(flow, stage, maker->number))
        parent[find_group(parent, node->number)] = find_group(parent, maker->number);
    }
  }
  *out_count = 0;
  for (int n = 0; n < graph->node_count; ++n) {
    if (!is_shared(flow, stage, n)) continue;
    int root = find_group(parent, n);
    if (group[root] < 0) group[root] = (*out_count)++;
    group[n] = group[root];
  }
  return NULL;
}

void zb_tied_group_ranks(const zb_graph *graph, const zb_flow *flow, const int *stage, const int *group,
                         const int *stage_rank, int ranks, bool *group_rank) {
  ZB_FOR_EACH_NODE(node, graph) {
    if (group[node->number] < 0) continue;
    ZB_FOR_EACH_OPERAND(operand, graph, node) {
      const zb_node *maker = zb_maker(graph, operand);
      if (maker && (flow->nodes[maker->number] & ZB_FLOW_ACCUMULATE))
        group_rank[group[node->number] * ranks + stage_rank[stage[maker->number]]] = true;
    }
  }
}
