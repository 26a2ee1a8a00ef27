/* Dataflow facts of a flat program: see passes/stages/flow.h. Two sweeps, O(operands). */

#include "passes/stages/flow.h"

#include "passes/function.h"
#include "runtime/base/assert.h"
#include "runtime/plan/file/plan.h"

#include <string.h>

static unsigned argument_flags(MlirOperation function, int index) {
  MlirAttribute attributes = zb_argument_dictionary(function, index);
  if (zb_dictionary_has(attributes, ZB_ATTR_PARAM)) return ZB_FLOW_PARAMETER | ZB_FLOW_TRAINED;
  if (zb_dictionary_has(attributes, ZB_ATTR_FROZEN) || zb_dictionary_has(attributes, ZB_ATTR_STATE))
    return ZB_FLOW_PARAMETER;
  if (zb_dictionary_has(attributes, ZB_ATTR_CONSTANT)) return ZB_FLOW_LOAD;
  if (zb_dictionary_has(attributes, ZB_ATTR_STEP) || zb_dictionary_has(attributes, ZB_ATTR_SETTING))
    return ZB_FLOW_PARAMETER;
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

static bool is_pure(const zb_node *node) { return node->def && (node->def->traits & ZB_TRAIT_PURE); }

/* Shards do not meet before the first step. */
static bool may_load(const zb_node *node) {
  return is_pure(node) && zb_collective_of_op(node->def->name) == ZB_COLLECTIVE_COUNT;
}

static void sweep_down(const zb_graph *graph, zb_flow *flow) {
  ZB_FOR_EACH_NODE(node, graph) {
    unsigned flags = 0, constant = may_load(node) ? ZB_FLOW_LOAD : 0, common = 0, own = 0;
    ZB_FOR_EACH_OPERAND(operand, graph, node) {
      unsigned from = zb_flow_value(graph, flow, operand);
      flags |= from & (ZB_FLOW_INPUT | ZB_FLOW_PARAMETER | ZB_FLOW_TRAINED | ZB_FLOW_OPTIMIZE);
      common |= from & ZB_FLOW_COMMON;
      if (!(from & ZB_FLOW_COMMON)) own |= from & (ZB_FLOW_OPTIMIZE | ZB_FLOW_ACCUMULATE);
      if (from & ZB_FLOW_ACCUMULATE) flags |= ZB_FLOW_OPTIMIZE;
      constant &= from;
    }
    if (zb_node_is(node, "zb.empty_frame")) flags |= ZB_FLOW_OPTIMIZE | ZB_FLOW_COMMON;
    if ((common && !own) || zb_node_is(node, "zb.put")) flags |= ZB_FLOW_COMMON;
    if (zb_node_is(node, "zb.accumulate")) flags |= ZB_FLOW_ACCUMULATE;
    if (node->def && node->def->op_class == ZB_CLASS_VIEW) flags |= ZB_FLOW_VIEW;
    flow->nodes[node->number] = flags | constant;
  }
}

/* Whether only an evaluation takes what the node makes to this user. */
static bool is_for_evaluation(const zb_graph *graph, const zb_node *node, const zb_node *user) {
  const int training = zb_node_is(user, "zb.by_mode") ? zb_operand(graph, user, 0) : -1;
  return training >= 0 && zb_maker(graph, training) != node;
}

static void sweep_up(const zb_graph *graph, zb_flow *flow) {
  ZB_FOR_EACH_NODE_BACKWARD(node, graph) {
    unsigned own = flow->nodes[node->number], leads = own & ZB_FLOW_LOSS;
    bool is_used = false;
    ZB_FOR_EACH_USER(user, graph, node) {
      is_used = true;
      leads |= flow->nodes[user] & ZB_FLOW_LOSS;
      if (!is_for_evaluation(graph, node, &graph->nodes[user])) leads |= flow->nodes[user] & ZB_FLOW_STEP;
      if (flow->nodes[user] & (ZB_FLOW_ACCUMULATE | ZB_FLOW_BACKWARD)) leads |= ZB_FLOW_BACKWARD;
    }
    if (!is_used && !(own & ZB_FLOW_OUTPUT)) leads |= ZB_FLOW_STEP;
    if (own & (ZB_FLOW_OPTIMIZE | ZB_FLOW_LOAD)) leads &= ~(unsigned)ZB_FLOW_BACKWARD;
    if ((leads & ZB_FLOW_LOSS) && !(own & (ZB_FLOW_OPTIMIZE | ZB_FLOW_ACCUMULATE))) leads |= ZB_FLOW_FORWARD;
    if (leads & ZB_FLOW_FORWARD) leads &= ~(unsigned)ZB_FLOW_BACKWARD;
    if (own & ZB_FLOW_ACCUMULATE) leads |= ZB_FLOW_BACKWARD;
    flow->nodes[node->number] = own | leads;
  }
}

/* A forward op that leads to nothing else runs where its operands are; it counts as forward when nothing backward feeds
 * it. */
static void place_leftovers(const zb_graph *graph, zb_flow *flow) {
  ZB_FOR_EACH_NODE(node, graph) {
    unsigned *flags = &flow->nodes[node->number], from = 0;
    if (*flags & (ZB_FLOW_FORWARD | ZB_FLOW_BACKWARD | ZB_FLOW_OPTIMIZE | ZB_FLOW_LOAD)) continue;
    ZB_FOR_EACH_OPERAND(operand, graph, node)
      from |= zb_flow_value(graph, flow, operand);
    *flags |= from & ZB_FLOW_BACKWARD ? ZB_FLOW_BACKWARD : ZB_FLOW_FORWARD;
  }
}

/* A copy of a constant or a parameter that an evaluation hands out is made in each of them, as if an input asked for
 * it. */
static void mark_copies(const zb_graph *graph, zb_flow *flow) {
  for (int i = 0; i < graph->returned_count; ++i) {
    const int producer = graph->values[graph->returned[i]].producer;
    if (producer < 0 || !zb_node_is(&graph->nodes[producer], "zb.contiguous")) continue;
    flow->nodes[producer] = (flow->nodes[producer] & ~(unsigned)ZB_FLOW_LOAD) | ZB_FLOW_INPUT;
  }
}

/* What partition, classify and outline take for granted. */
static void check_flags(unsigned flags) {
  ZB_ASSERT(!(flags & ZB_FLOW_TRAINED) || (flags & ZB_FLOW_PARAMETER));
  ZB_ASSERT(!(flags & ZB_FLOW_LOAD) || !(flags & (ZB_FLOW_INPUT | ZB_FLOW_PARAMETER | ZB_FLOW_OPTIMIZE)));
  ZB_ASSERT(!(flags & ZB_FLOW_FORWARD) || !(flags & (ZB_FLOW_BACKWARD | ZB_FLOW_ACCUMULATE | ZB_FLOW_OPTIMIZE)));
  ZB_ASSERT(!(flags & ZB_FLOW_CHAIN) || (flags & ZB_FLOW_FORWARD));
}

zb_status zb_flow_build(zb_arena *arena, const zb_graph *graph, zb_flow *out) {
  out->nodes = ZB_NEW(arena, unsigned, graph->node_count);
  out->arguments = ZB_NEW(arena, unsigned, graph->argument_count);
  ZB_TRY(zb_arena_status(arena));
  for (int i = 0; i < graph->argument_count; ++i)
    out->arguments[i] = argument_flags(graph->function, i);
  sweep_down(graph, out);
  const bool inference = zb_has_attribute(mlirOperationGetParentOperation(graph->function), ZB_ATTR_INFERENCE);
  for (int i = 0; i < graph->returned_count; ++i) {
    int producer = graph->values[graph->returned[i]].producer;
    if (producer >= 0)
      out->nodes[producer] |= !zb_result_string(graph->function, i, ZB_ATTR_OUTPUT) ? ZB_FLOW_STEP
                              : inference                                           ? ZB_FLOW_OUTPUT | ZB_FLOW_STEP
                                                                                    : ZB_FLOW_OUTPUT;
    if (producer >= 0 && !zb_result_string(graph->function, i, ZB_ATTR_UPDATE) &&
        !(out->nodes[producer] & ZB_FLOW_OPTIMIZE))
      out->nodes[producer] |= ZB_FLOW_LOSS;
  }
  if (inference) mark_copies(graph, out);
  sweep_up(graph, out);
  place_leftovers(graph, out);
  ZB_FOR_EACH_NODE(node, graph) {
    unsigned *flags = &out->nodes[node->number];
    if (is_pure(node) && (*flags & (ZB_FLOW_FORWARD | ZB_FLOW_INPUT | ZB_FLOW_LOAD)) == ZB_FLOW_FORWARD)
      *flags |= ZB_FLOW_CHAIN;
    check_flags(*flags);
  }
  return NULL;
}

static const char *buffer_name(const zb_graph *graph, int argument) {
  return zb_argument_string(graph->function, argument, ZB_ATTR_BUFFER);
}

int zb_buffer_of_result(const zb_graph *graph, int index) {
  const char *name = zb_result_string(graph->function, index, ZB_ATTR_BUFFER);
  for (int a = 0; name && a < graph->argument_count; ++a)
    if (buffer_name(graph, a) && strcmp(buffer_name(graph, a), name) == 0) return a;
  return -1;
}

int zb_buffer_result(const zb_graph *graph, int argument) {
  for (int i = 0; i < graph->returned_count; ++i) {
    const char *name = zb_result_string(graph->function, i, ZB_ATTR_BUFFER);
    if (name && strcmp(name, buffer_name(graph, argument)) == 0) return i;
  }
  return -1;
}

int zb_buffer_at(const zb_graph *graph, int value) {
  for (const zb_node *maker; (maker = zb_maker(graph, value)) && maker->def && maker->def->op_class == ZB_CLASS_VIEW;)
    value = zb_operand(graph, maker, 0);
  return value < graph->argument_count && buffer_name(graph, value) ? value : -1;
}

static bool has_size(MlirValue value) {
  zb_shape shape;
  return zb_value_shape(value, &shape);
}

zb_status zb_flow_copies(const zb_graph *graph, const zb_flow *flow, zb_map *copies, int *copy) {
  for (int n = 0; n < graph->node_count; ++n) {
    const zb_node *node = &graph->nodes[n];
    copy[n] = -1;
    if (!(flow->nodes[n] & ZB_FLOW_CHAIN) || !zb_node_is(node, "zb.cast")) continue;
    const int argument = zb_operand(graph, node, 0);
    if (graph->values[argument].producer >= 0) continue;
    const char *name = zb_argument_string(graph->function, argument, ZB_ATTR_PARAM);
    if (!name) name = zb_argument_string(graph->function, argument, ZB_ATTR_FROZEN);
    if (!name) continue;
    const int first = (int)zb_map_get_or(copies, name, node->result_begin);
    if (!zb_map_set(copies, name, first)) return ZB_OUT_OF_MEMORY();
    const MlirValue own = graph->values[node->result_begin].value, other = graph->values[first].value;
    if (mlirTypeEqual(mlirValueGetType(own), mlirValueGetType(other))) copy[n] = first;
  }
  return NULL;
}

bool zb_flow_is_sizeless(const zb_graph *graph, const zb_node *node) {
  return node->operand_count == 0 && node->result_count > 0 && !has_size(graph->values[node->result_begin].value);
}

zb_result zb_flow_check_sizes(const zb_graph *graph, const zb_flow *flow, const bool *crosses) {
  for (int v = 0; v < graph->value_count; ++v) {
    const zb_node *maker = zb_maker(graph, v);
    const bool is_input = !maker && (flow->arguments[graph->values[v].index] & ZB_FLOW_INPUT);
    if ((!crosses[v] && !is_input) || has_size(graph->values[v].value)) continue;
    if (!maker)
      return zb_op_error_at(graph->function, "make it a tensor of known dimensions and element type",
                            "argument %d of the program has no size", v);
    return zb_op_error_at(maker->op,
                          maker->operand_count
                              ? "make it a tensor of known dimensions and element type, or compute it where it is read"
                              : "register a row with the trait PURE for this op (zb_op_register): it then goes to each "
                                "reader",
                          "a result of '%.*s', which has no size, passes from one job to another",
                          (int)maker->name.length, maker->name.data);
  }
  return ZB_OK;
}
