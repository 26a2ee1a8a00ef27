/* Groups of the optimizers of tied parameters: see passes/stages/functions/tied.h. Tests: test/passes/outline.mlir. */
#include "passes/stages/functions/tied.h"

static int find_group(int *parent, int node) {
  while (parent[node] != node)
    node = parent[node] = parent[parent[node]];
  return node;
}

/* Of the optimizer of one parameter, or of several that are updated together. */
static bool is_update(const zb_tied *tied, int node) {
  return (tied->flow->nodes[node] & (ZB_FLOW_OPTIMIZE | ZB_FLOW_COMMON)) == ZB_FLOW_OPTIMIZE;
}

/* The op of the optimizer that makes a result of the program; -1: none does. */
static int updater(const zb_tied *tied, int result) {
  const zb_graph *graph = tied->graph;
  const zb_node *maker = zb_maker(graph, graph->returned[result]);
  while (maker && (tied->flow->nodes[maker->number] & ZB_FLOW_VIEW))
    maker = zb_maker(graph, zb_operand(graph, maker, 0));
  return maker && is_update(tied, maker->number) ? maker->number : -1;
}

/* Whether a rank that is not the one of the op reads what it updates. */
static bool is_read_elsewhere(const zb_tied *tied, int result, int node) {
  for (int rank = 0; rank < tied->ranks; ++rank)
    if (tied->reads[result * tied->ranks + rank] && rank != tied->stage_rank[tied->stage[node]]) return true;
  return false;
}

zb_status zb_tied_groups(zb_arena *arena, const zb_tied *tied, int *group, int *out_count) {
  const zb_graph *graph = tied->graph;
  int *parent = ZB_NEW(arena, int, graph->node_count);
  bool *shared = ZB_NEW(arena, bool, graph->node_count);
  ZB_TRY(zb_arena_status(arena));
  for (int n = 0; n < graph->node_count; ++n)
    parent[n] = n, group[n] = -1;
  ZB_FOR_EACH_NODE(node, graph) {
    if (!is_update(tied, node->number)) continue;
    ZB_FOR_EACH_OPERAND(operand, graph, node) {
      const zb_node *maker = zb_maker(graph, operand);
      if (maker && is_update(tied, maker->number))
        parent[find_group(parent, node->number)] = find_group(parent, maker->number);
    }
  }
  for (int n = 0; n < graph->node_count; ++n)
    if (is_update(tied, n) && tied->stage[n] == -1) shared[find_group(parent, n)] = true;
  for (int i = 0; i < graph->returned_count; ++i) {
    const int node = updater(tied, i);
    if (node >= 0 && (tied->stage[node] == -1 || is_read_elsewhere(tied, i, node)))
      shared[find_group(parent, node)] = true;
  }
  *out_count = 0;
  for (int n = 0; n < graph->node_count; ++n) {
    const int root = find_group(parent, n);
    if (!is_update(tied, n) || !shared[root]) continue;
    if (group[root] < 0) group[root] = (*out_count)++;
    group[n] = group[root];
  }
  return NULL;
}

void zb_tied_group_ranks(const zb_tied *tied, const int *group, zb_tied_part *group_rank) {
  const zb_graph *graph = tied->graph;
  for (int i = 0; i < graph->returned_count; ++i) {
    const int node = updater(tied, i);
    for (int rank = 0; node >= 0 && group[node] >= 0 && rank < tied->ranks; ++rank)
      if (tied->reads[i * tied->ranks + rank]) group_rank[group[node] * tied->ranks + rank] = ZB_TIED_READS;
  }
  ZB_FOR_EACH_NODE(node, graph) {
    if (group[node->number] < 0) continue;
    ZB_FOR_EACH_OPERAND(operand, graph, node) {
      const zb_node *maker = zb_maker(graph, operand);
      if (maker && (tied->flow->nodes[maker->number] & ZB_FLOW_ACCUMULATE))
        group_rank[group[node->number] * tied->ranks + tied->stage_rank[tied->stage[maker->number]]] = ZB_TIED_ADDS;
    }
  }
}
