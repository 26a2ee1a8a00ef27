/* Ops that compute an activation again, between B and W: see passes/stages/functions/recompute_place.h. Tests:
 * test/passes/recompute.mlir. */

#include "passes/stages/functions/recompute_place.h"

#include "passes/function.h"
#include "passes/stages/layers.h"

enum { OPS_MAX = 64 }; /* that are moved together */

typedef ZB_LIST(int) number_list;

typedef struct placer {
  zb_arena *arena;
  const zb_graph *graph;
  const zb_flow *flow;
  const int *stage;
  bool *is_b;
  int *in_set, *seen; /* per node, per value: the search that met it last */
  int search;
  number_list set, stack;
} placer;

static bool is_clone(const placer *p, int node) {
  return node >= 0 && zb_has_attribute(p->graph->nodes[node].op, ZB_ATTR_RECOMPUTED) &&
         !(p->flow->nodes[node] & ZB_FLOW_VIEW);
}

/* Makes the set of an op: itself, and what computes its operands again in W. */
static bool collect(placer *p, int node) {
  p->set.count = p->stack.count = 0;
  ++p->search;
  (void)ZB_PUSH(p->arena, &p->stack, node);
  while (p->stack.count) {
    const int next = p->stack.items[--p->stack.count];
    if (p->in_set[next] == p->search) continue;
    p->in_set[next] = p->search;
    if (!ZB_PUSH(p->arena, &p->set, next) || p->set.count > OPS_MAX) return false;
    ZB_FOR_EACH_OPERAND(operand, p->graph, &p->graph->nodes[next]) {
      const int maker = p->graph->values[zb_flow_base(p->graph, p->flow, operand)].producer;
      if (is_clone(p, maker) && !p->is_b[maker]) (void)ZB_PUSH(p->arena, &p->stack, maker);
    }
  }
  return true;
}

/* Whether an op of W that is not of the set reads a value, itself or through views. */
static bool is_read_by_rest(placer *p, int value, int stage) {
  p->stack.count = 0;
  (void)ZB_PUSH(p->arena, &p->stack, value);
  while (p->stack.count) {
    const int next = p->stack.items[--p->stack.count];
    ZB_FOR_EACH_USER(user, p->graph, &p->graph->values[next]) {
      if (p->flow->nodes[user] & ZB_FLOW_VIEW) {
        (void)ZB_PUSH(p->arena, &p->stack, p->graph->nodes[user].result_begin);
        continue;
      }
      if ((p->flow->nodes[user] & ZB_FLOW_BACKWARD) && p->stage[user] == stage && !p->is_b[user] &&
          p->in_set[user] != p->search)
        return true;
    }
  }
  return false;
}

/* A value that a stage keeps for its W: no parameter, nothing that is cloned for each reader. */
static bool takes_memory(const placer *p, int value) {
  const unsigned flags = zb_flow_value(p->graph, p->flow, value);
  if (p->graph->values[value].producer < 0) return (flags & ZB_FLOW_INPUT) != 0;
  return !(flags & (ZB_FLOW_LOAD | ZB_FLOW_CHAIN));
}

/* Bytes that W keeps less where B does the set. */
static int64_t saved_bytes(placer *p, int stage) {
  int64_t bytes = 0;
  for (size_t i = 0; i < p->set.count; ++i) {
    const zb_node *node = &p->graph->nodes[p->set.items[i]];
    ZB_FOR_EACH_RESULT(value, node)
      if (is_read_by_rest(p, value, stage))
        bytes -= (int64_t)zb_align(zb_type_bytes(mlirValueGetType(p->graph->values[value].value)));
    ZB_FOR_EACH_OPERAND(operand, p->graph, node) {
      const int value = zb_flow_base(p->graph, p->flow, operand), maker = p->graph->values[value].producer;
      const bool inside = maker >= 0 && p->in_set[maker] == p->search;
      if (p->seen[value] == p->search || inside || !takes_memory(p, value)) continue;
      p->seen[value] = p->search;
      if (!is_read_by_rest(p, value, stage))
        bytes += (int64_t)zb_align(zb_type_bytes(mlirValueGetType(p->graph->values[value].value)));
    }
  }
  return bytes;
}

zb_status zb_recompute_place(zb_arena *arena, const zb_graph *graph, const zb_flow *flow, const int *stage,
                             bool *is_b) {
  placer p = {.arena = arena, .graph = graph, .flow = flow, .stage = stage, .is_b = is_b};
  p.in_set = ZB_NEW(arena, int, graph->node_count);
  p.seen = ZB_NEW(arena, int, graph->value_count);
  ZB_TRY(zb_arena_status(arena));
  for (int n = 0; n < graph->node_count; ++n) {
    if (!is_clone(&p, n) || is_b[n] || !collect(&p, n) || saved_bytes(&p, stage[n]) <= 0) continue;
    for (size_t i = 0; i < p.set.count; ++i)
      is_b[p.set.items[i]] = true;
  }
  return zb_arena_status(arena);
}
