/* W ops in groups: see passes/stages/functions/w_groups.h. Tests: test/passes/split-policy.mlir. */

#include "passes/stages/functions/w_groups.h"

#include "passes/function.h"
#include "passes/stages/classes.h"
#include "passes/stages/cost.h"
#include "runtime/base/map.h"

#include <string.h>

typedef struct builder {
  zb_arena *arena;
  const zb_graph *graph;
  const zb_costs *costs;
  zb_w_groups *out;
  int *parent;   /* per node: union of W ops */
  int *group_of; /* per node; -1: no W op */
  zb_w_reader reader;
  ZB_LIST(zb_w_value) found;
  ZB_LIST(int) use_value, use_node; /* what a W op reads: pairs */
} builder;

/* ---- What ops read ---- */

bool zb_w_is_cloned(const zb_flow *flow, int node) {
  return (flow->nodes[node] & (ZB_FLOW_VIEW | ZB_FLOW_CHAIN | ZB_FLOW_LOAD)) != 0;
}

zb_status zb_w_reader_init(zb_w_reader *r, zb_arena *arena, const zb_graph *graph, const zb_flow *flow) {
  *r = (zb_w_reader){.arena = arena, .graph = graph, .flow = flow, .met = ZB_NEW(arena, int, graph->value_count)};
  ZB_TRY(zb_arena_status(arena));
  return NULL;
}

void zb_w_read(zb_w_reader *r, int node) {
  const zb_graph *graph = r->graph;
  r->found.count = r->stack.count = 0;
  ++r->reads;
  (void)ZB_PUSH(r->arena, &r->stack, node);
  while (r->stack.count > 0) {
    const int at = r->stack.items[--r->stack.count];
    ZB_FOR_EACH_OPERAND(value, graph, &graph->nodes[at]) {
      const int producer = graph->values[value].producer;
      if (r->met[value] == r->reads) continue;
      r->met[value] = r->reads;
      if (producer >= 0 && zb_w_is_cloned(r->flow, producer))
        (void)ZB_PUSH(r->arena, &r->stack, producer);
      else
        (void)ZB_PUSH(r->arena, &r->found, value);
    }
  }
}

/* ---- Groups ---- */

static bool is_w(const builder *b, int node) {
  return zb_class_get(b->graph->nodes[node].op) == ZB_JOB_W && !(b->out->flow.nodes[node] & ZB_FLOW_LOAD);
}

static int root_of(int *parent, int node) {
  while (parent[node] != node)
    node = parent[node] = parent[parent[node]];
  return node;
}

/* The value is read by a W op: kept, if the op's stage does not make it in W. */
static void note_value(builder *b, int node, int value) {
  const zb_graph *graph = b->graph;
  const int stage = b->out->stage[node], producer = graph->values[value].producer;
  unsigned flags = zb_flow_value(graph, &b->out->flow, value);
  if (producer < 0 && !(flags & ZB_FLOW_INPUT)) return; /* parameters, constants, the step */
  if (producer >= 0 && b->out->stage[producer] == stage && is_w(b, producer)) {
    b->parent[root_of(b->parent, node)] = root_of(b->parent, producer);
    return;
  }
  void *key = zb_id_key((int64_t)stage * graph->value_count + value);
  int64_t at = zb_map_get_or(b->out->numbers, key, (int64_t)b->found.count);
  if (at == (int64_t)b->found.count) {
    zb_arena_map_set(b->arena, b->out->numbers, key, at);
    const zb_w_value kept = {.bytes = (int64_t)zb_align(zb_type_bytes(mlirValueGetType(graph->values[value].value))),
                             .forward = producer < 0 || (flags & ZB_FLOW_FORWARD),
                             .stage = stage,
                             .value = value};
    if (!ZB_PUSH(b->arena, &b->found, kept)) return;
  }
  (void)(ZB_PUSH(b->arena, &b->use_value, (int)at) && ZB_PUSH(b->arena, &b->use_node, node));
}

static void read_operands(builder *b, int node) {
  zb_w_read(&b->reader, node);
  for (size_t i = 0; i < b->reader.found.count; ++i)
    note_value(b, node, b->reader.found.items[i]);
}

static void add_node(builder *b, zb_w_group *group, const zb_node *node) {
  const zb_op_cost cost = zb_cost_of(node->op, node->def, b->costs);
  group->time_ps += cost.time_ps;
  group->has_product |= cost.product_flops > 0;
  (void)ZB_PUSH(b->arena, &group->nodes, node->number);
}

/* Numbers the groups in program order and gives each its ops. */
static zb_status make_groups(builder *b) {
  zb_w_groups *out = b->out;
  const int nodes = b->graph->node_count;
  int *number = ZB_NEW(b->arena, int, nodes);
  b->group_of = ZB_NEW(b->arena, int, nodes);
  ZB_TRY(zb_arena_status(b->arena));
  memset(number, -1, (size_t)nodes * sizeof *number);
  for (int n = 0; n < nodes; ++n) {
    b->group_of[n] = -1;
    if (!is_w(b, n) || zb_w_is_cloned(&b->out->flow, n)) continue;
    int *own = &number[root_of(b->parent, n)];
    if (*own < 0) *own = out->group_count++;
    b->group_of[n] = *own;
  }
  out->groups = ZB_NEW(b->arena, zb_w_group, out->group_count);
  ZB_TRY(zb_arena_status(b->arena));
  for (int n = 0; n < nodes; ++n) {
    if (b->group_of[n] < 0) continue;
    out->groups[b->group_of[n]].stage = out->stage[n];
    add_node(b, &out->groups[b->group_of[n]], &b->graph->nodes[n]);
  }
  return zb_arena_status(b->arena);
}

/* One entry a pair of group and value, in both directions. */
static zb_status join(builder *b) {
  zb_w_groups *out = b->out;
  const size_t uses = b->use_value.count;
  zb_map *seen = zb_arena_map_pointer(b->arena);
  int *group = ZB_NEW(b->arena, int, uses), *value = ZB_NEW(b->arena, int, uses);
  out->value_groups = ZB_NEW(b->arena, int, uses);
  out->group_values = ZB_NEW(b->arena, int, uses);
  out->values = b->found.items;
  out->value_count = (int)b->found.count;
  ZB_TRY(zb_arena_status(b->arena));
  size_t pairs = 0;
  for (size_t i = 0; i < uses; ++i) {
    group[pairs] = b->group_of[b->use_node.items[i]];
    value[pairs] = b->use_value.items[i];
    void *key = zb_id_key((int64_t)group[pairs] * out->value_count + value[pairs]);
    if (zb_map_get(seen, key, NULL)) continue;
    zb_arena_map_set(b->arena, seen, key, 1);
    ++out->groups[group[pairs]].value_count;
    ++out->values[value[pairs]].group_count;
    ++pairs;
  }
  int begin = 0;
  for (int g = 0; g < out->group_count; begin += out->groups[g].value_count, out->groups[g++].value_count = 0)
    out->groups[g].value_begin = begin;
  begin = 0;
  for (int v = 0; v < out->value_count; begin += out->values[v].group_count, out->values[v++].group_count = 0)
    out->values[v].group_begin = begin;
  for (size_t i = 0; i < pairs; ++i) {
    zb_w_group *g = &out->groups[group[i]];
    zb_w_value *v = &out->values[value[i]];
    out->group_values[g->value_begin + g->value_count++] = value[i];
    out->value_groups[v->group_begin + v->group_count++] = group[i];
  }
  for (int v = 0; v < out->value_count; ++v)
    out->values[v].waiting = out->values[v].group_count;
  return zb_arena_status(b->arena);
}

zb_status zb_w_groups_build(zb_arena *arena, const zb_graph *graph, const zb_costs *costs, zb_w_groups *out) {
  *out = (zb_w_groups){.graph = graph};
  builder b = {.arena = arena, .graph = graph, .costs = costs, .out = out};
  ZB_TRY(zb_flow_build(arena, graph, &out->flow));
  out->stage = ZB_NEW(arena, int, graph->node_count);
  b.parent = ZB_NEW(arena, int, graph->node_count);
  out->numbers = zb_arena_map_pointer(arena);
  ZB_TRY(zb_w_reader_init(&b.reader, arena, graph, &out->flow));
  for (int n = 0; n < graph->node_count; ++n) {
    b.parent[n] = n;
    out->stage[n] = (int)zb_get_i64(graph->nodes[n].op, ZB_ATTR_STAGE, -1);
    if (out->stage[n] >= out->stages) out->stages = out->stage[n] + 1;
  }
  out->moved = ZB_NEW(arena, zb_w_moved, out->stages);
  for (int n = 0; n < graph->node_count; ++n)
    if (is_w(&b, n) && !zb_w_is_cloned(&out->flow, n)) read_operands(&b, n);
  ZB_TRY(zb_arena_status(arena));
  ZB_TRY(make_groups(&b));
  return join(&b);
}

int zb_w_value_of(const zb_w_groups *w, int stage, int value) {
  return (int)zb_map_get_or(w->numbers, zb_id_key((int64_t)stage * w->graph->value_count + value), -1);
}

void zb_w_group_set(zb_w_groups *w, int group, bool in_b) {
  zb_w_group *g = &w->groups[group];
  if (g->in_b == in_b) return;
  zb_w_moved *moved = &w->moved[g->stage];
  const int sign = in_b ? 1 : -1;
  g->in_b = in_b;
  moved->time_ps += sign * g->time_ps;
  for (int i = 0; i < g->value_count; ++i) {
    zb_w_value *value = &w->values[w->group_values[g->value_begin + i]];
    int64_t *bytes = value->forward ? &moved->forward_bytes : &moved->backward_bytes;
    if (value->waiting == (in_b ? 1 : 0)) *bytes += sign * value->bytes;
    value->waiting -= sign;
  }
}

void zb_w_groups_set_all(zb_w_groups *w, zb_in_b which) {
  for (int g = 0; g < w->group_count; ++g)
    zb_w_group_set(w, g, which == ZB_IN_B_ALL || (which == ZB_IN_B_OTHERS && !w->groups[g].has_product));
}

void zb_w_groups_write(const zb_w_groups *w) {
  for (int g = 0; g < w->group_count; ++g)
    for (size_t i = 0; i < w->groups[g].nodes.count; ++i)
      zb_class_set(w->graph->nodes[w->groups[g].nodes.items[i]].op, w->groups[g].in_b ? ZB_JOB_B : ZB_JOB_W);
}
