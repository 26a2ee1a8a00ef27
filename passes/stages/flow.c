/* Dataflow facts of a flat program: see passes/stages/flow.h. Two sweeps, O(operands). */

#include "passes/stages/flow.h"

#include "passes/function.h"

static unsigned argument_flags(MlirOperation function, int index) {
  MlirAttribute attributes = zb_argument_dictionary(function, index);
  if (zb_dictionary_has(attributes, ZB_ATTR_PARAM)) return ZB_FLOW_PARAMETER | ZB_FLOW_TRAINED;
  if (zb_dictionary_has(attributes, ZB_ATTR_FROZEN) || zb_dictionary_has(attributes, ZB_ATTR_STATE))
    return ZB_FLOW_PARAMETER;
  if (zb_dictionary_has(attributes, ZB_ATTR_CONSTANT)) return ZB_FLOW_LOAD;
  if (zb_dictionary_has(attributes, ZB_ATTR_STEP)) return ZB_FLOW_PARAMETER;
  return ZB_FLOW_INPUT;
}

unsigned zb_flow_value(const zb_graph *graph, const zb_flow *flow, int value) {
  const zb_value *v = &graph->values[value];
  return v->producer < 0 ? flow->arguments[v->index] : flow->nodes[v->producer];
}

bool zb_flow_is_activation(const zb_graph *graph, const zb_flow *flow, int value) {
  if (graph->values[value].producer < 0) return false;
  unsigned flags = zb_flow_value(graph, flow, value);
  return (flags & ZB_FLOW_FORWARD) && (flags & ZB_FLOW_INPUT);
}

static void sweep_down(const zb_graph *graph, zb_flow *flow) {
  for (int n = 0; n < graph->node_count; ++n) {
    const zb_node *node = &graph->nodes[n];
    bool pure = node->def && (node->def->traits & ZB_TRAIT_PURE);
    unsigned flags = 0, constant = pure ? ZB_FLOW_LOAD : 0;
    for (int i = 0; i < node->operand_count; ++i) {
      unsigned from = zb_flow_value(graph, flow, graph->operands[node->operand_begin + i]);
      flags |= from & (ZB_FLOW_INPUT | ZB_FLOW_PARAMETER | ZB_FLOW_TRAINED | ZB_FLOW_OPTIMIZE);
      if (from & ZB_FLOW_ACCUMULATE) flags |= ZB_FLOW_OPTIMIZE;
      if (!(from & ZB_FLOW_LOAD)) constant = 0;
    }
    if (zb_op_is(node->op, "zb.accumulate")) flags |= ZB_FLOW_ACCUMULATE;
    if (node->def && node->def->op_class == ZB_CLASS_VIEW) flags |= ZB_FLOW_VIEW;
    flow->nodes[n] = flags | constant;
  }
}

/* What the users of a node make of it. */
static unsigned flags_from_users(const zb_graph *graph, const zb_flow *flow, const zb_node *node) {
  unsigned leads = 0;
  for (int r = 0; r < node->result_count; ++r) {
    const zb_value *value = &graph->values[node->result_begin + r];
    for (int u = 0; u < value->use_count; ++u) {
      unsigned user = flow->nodes[graph->uses[value->use_begin + u]];
      leads |= user & ZB_FLOW_LOSS;
      if (user & (ZB_FLOW_ACCUMULATE | ZB_FLOW_BACKWARD)) leads |= ZB_FLOW_BACKWARD;
    }
  }
  return leads;
}

static void sweep_up(const zb_graph *graph, zb_flow *flow) {
  for (int n = graph->node_count - 1; n >= 0; --n) {
    const zb_node *node = &graph->nodes[n];
    unsigned own = flow->nodes[n], leads = own & ZB_FLOW_LOSS;
    leads |= flags_from_users(graph, flow, node);
    if (own & (ZB_FLOW_OPTIMIZE | ZB_FLOW_LOAD)) leads &= ~(unsigned)ZB_FLOW_BACKWARD;
    if ((leads & ZB_FLOW_LOSS) && !(own & (ZB_FLOW_OPTIMIZE | ZB_FLOW_ACCUMULATE))) leads |= ZB_FLOW_FORWARD;
    if (leads & ZB_FLOW_FORWARD) leads &= ~(unsigned)ZB_FLOW_BACKWARD;
    if (own & ZB_FLOW_ACCUMULATE) leads |= ZB_FLOW_BACKWARD;
    flow->nodes[n] = own | leads;
  }
}

/* A forward op that leads to nothing else runs where its operands are; it counts as forward when nothing backward feeds
 * it. */
static void place_leftovers(const zb_graph *graph, zb_flow *flow) {
  for (int n = 0; n < graph->node_count; ++n) {
    const zb_node *node = &graph->nodes[n];
    unsigned flags = flow->nodes[n];
    if (flags & (ZB_FLOW_FORWARD | ZB_FLOW_BACKWARD | ZB_FLOW_OPTIMIZE | ZB_FLOW_LOAD)) continue;
    bool backward = false;
    for (int i = 0; i < node->operand_count; ++i)
      backward |= (zb_flow_value(graph, flow, graph->operands[node->operand_begin + i]) & ZB_FLOW_BACKWARD) != 0;
    flow->nodes[n] |= backward ? ZB_FLOW_BACKWARD : ZB_FLOW_FORWARD;
  }
}

zb_status zb_flow_build(zb_arena *arena, const zb_graph *graph, zb_flow *out) {
  out->nodes = ZB_NEW(arena, unsigned, graph->node_count);
  out->arguments = ZB_NEW(arena, unsigned, graph->argument_count);
  ZB_TRY(zb_arena_status(arena));
  for (int i = 0; i < graph->argument_count; ++i)
    out->arguments[i] = argument_flags(graph->function, i);
  sweep_down(graph, out);
  for (int i = 0; i < graph->returned_count; ++i) {
    int producer = graph->values[graph->returned[i]].producer;
    if (producer >= 0 && !zb_result_string(graph->function, i, ZB_ATTR_UPDATE)) out->nodes[producer] |= ZB_FLOW_LOSS;
  }
  sweep_up(graph, out);
  place_leftovers(graph, out);
  for (int n = 0; n < graph->node_count; ++n) {
    const zb_node *node = &graph->nodes[n];
    unsigned flags = out->nodes[n];
    bool pure = node->def && (node->def->traits & ZB_TRAIT_PURE);
    if (pure && (flags & ZB_FLOW_FORWARD) && !(flags & (ZB_FLOW_INPUT | ZB_FLOW_LOAD))) out->nodes[n] |= ZB_FLOW_CHAIN;
  }
  return NULL;
}
