/* Choosing activations that are computed again, and cloning what makes them: see
 * passes/stages/functions/recompute_choice.h.
 *
 * First all that the modes allow: from what the backward pass reads, through ops of mode ALL, to values that cross from
 * one layer to another. Then, of what is still kept, the latest value first: each that ops without products make from
 * what is kept anyway, or from less.
 *
 * Tests: test/passes/recompute.mlir, test/e2e/recompute.py. */

#include "passes/stages/functions/recompute_choice.h"

#include "passes/function.h"
#include "passes/stages/cost.h"

#include <mlir-c/BuiltinAttributes.h>
#include <string.h>

/* A cheap value has at most so many ops, and saves a byte for at most so much time: some twenty times what it takes to
 * write the byte and read it again. */
enum { CHEAP_OPS = 64, CHEAP_PS_PER_BYTE = 4000 };

typedef ZB_LIST(int) value_list;

static int64_t bytes_of(const zb_recompute *r, int value) {
  return (int64_t)zb_align(zb_type_bytes(mlirValueGetType(r->graph.values[value].value)));
}

/* Cloned for each reader, or nothing that a stage keeps: parameters and what depends on them and on constants alone. */
static bool is_free(const zb_recompute *r, int value) {
  const unsigned flags = zb_flow_value(&r->graph, &r->flow, value);
  if (r->graph.values[value].producer < 0) return !(flags & ZB_FLOW_INPUT);
  return (flags & (ZB_FLOW_LOAD | ZB_FLOW_CHAIN)) != 0;
}

/* Computed again in that stage: only the stage that made a value can; one that received it keeps it. */
static bool is_again(const zb_recompute *r, int stage, int value) {
  return r->again[value] && r->stage[r->graph.values[value].producer] == stage;
}

static void *kept_key(const zb_recompute *r, int stage, int value) {
  return zb_id_key((int64_t)stage * r->graph.value_count + value);
}

static bool is_kept(const zb_recompute *r, int stage, int value) {
  return zb_map_get_or(r->kept, kept_key(r, stage, value), 0) != 0;
}

static void keep(zb_recompute *r, int stage, int value, bool yes) {
  zb_arena_map_set(r->arena, r->kept, kept_key(r, stage, value), yes);
}

/* An op of the backward pass that reads values itself: a view is looked through. */
static bool reads_backward(const zb_recompute *r, const zb_node *node) {
  const unsigned flags = r->flow.nodes[node->number];
  return (flags & (ZB_FLOW_BACKWARD | ZB_FLOW_VIEW | ZB_FLOW_LOAD)) == ZB_FLOW_BACKWARD && r->stage[node->number] >= 0;
}

static void push_operands(zb_recompute *r, int node, value_list *stack) {
  ZB_FOR_EACH_OPERAND(operand, &r->graph, &r->graph.nodes[node])
    (void)ZB_PUSH(r->arena, stack, zb_flow_base(&r->graph, &r->flow, operand));
}

/* ---- Build ---- */

static bool is_entry(const zb_recompute *r, int node) { return r->layers.layer[node] >= 0; }

static void find_crossing(zb_recompute *r) {
  ZB_FOR_EACH_NODE(node, &r->graph) {
    if (!is_entry(r, node->number)) continue;
    ZB_FOR_EACH_OPERAND(operand, &r->graph, node) {
      const int value = zb_flow_base(&r->graph, &r->flow, operand), maker = r->graph.values[value].producer;
      if (maker >= 0 && is_entry(r, maker) && r->stage[maker] == r->stage[node->number] &&
          r->layers.layer[maker] != r->layers.layer[node->number])
        r->crosses[value] = true;
    }
  }
}

zb_status zb_recompute_build(zb_arena *arena, MlirOperation function, const zb_costs *costs, zb_recompute *out) {
  *out = (zb_recompute){.arena = arena};
  ZB_TRY(zb_graph_build(arena, function, &out->graph));
  ZB_TRY(zb_flow_build(arena, &out->graph, &out->flow));
  const int nodes = out->graph.node_count, values = out->graph.value_count;
  out->stage = ZB_NEW(arena, int, nodes);
  out->mode = ZB_NEW(arena, zb_again, nodes);
  out->time_ps = ZB_NEW(arena, int64_t, nodes);
  out->is_cheap = ZB_NEW(arena, bool, nodes);
  out->again = ZB_NEW(arena, bool, values);
  out->crosses = ZB_NEW(arena, bool, values);
  out->seen = ZB_NEW(arena, int, values);
  ZB_TRY(zb_arena_status(arena));
  for (int n = 0; n < nodes; ++n) {
    const zb_node *node = &out->graph.nodes[n];
    const zb_op_cost cost = zb_cost_of(node->op, node->def, costs);
    out->stage[n] = (int)zb_get_i64(node->op, ZB_ATTR_STAGE, -1);
    if (out->stage[n] >= out->stages) out->stages = out->stage[n] + 1;
    out->time_ps[n] = cost.time_ps;
    out->is_cheap[n] = cost.product_flops <= 0;
  }
  ZB_TRY(zb_layers_build(arena, &out->graph, &out->flow, out->stage, &out->layers));
  find_crossing(out);
  return NULL;
}

void zb_recompute_set(zb_recompute *r, const zb_again *modes) {
  for (int n = 0; n < r->graph.node_count; ++n)
    if (is_entry(r, n)) r->mode[n] = modes[r->layers.layer[n]];
}

/* ---- Choice ---- */

bool zb_recompute_may_run_again(const zb_recompute *r, int node) {
  const zb_op_def *def = r->graph.nodes[node].def;
  ZB_FOR_EACH_USER(user, &r->graph, &r->graph.nodes[node])
    if (r->flow.nodes[user] & ZB_FLOW_ACCUMULATE) return false;
  return is_entry(r, node) && def && (def->traits & ZB_TRAIT_PURE) != 0;
}

/* The backward pass of a stage needs what is on the stack. */
static void choose_all(zb_recompute *r, int stage, value_list *stack) {
  while (stack->count) {
    const int value = stack->items[--stack->count], maker = r->graph.values[value].producer;
    if (is_free(r, value) || is_again(r, stage, value)) continue;
    if (maker >= 0 && !(r->flow.nodes[maker] & ZB_FLOW_FORWARD)) continue; /* a gradient */
    if (maker >= 0 && r->stage[maker] == stage && r->mode[maker] == ZB_AGAIN_ALL &&
        zb_recompute_may_run_again(r, maker) && !r->crosses[value]) {
      r->again[value] = true;
      push_operands(r, maker, stack);
    } else {
      keep(r, stage, value, true);
    }
  }
}

/* What a cheap value is made of. */
typedef struct cone {
  value_list values, frontier; /* made again; to be kept, and not kept yet */
  int64_t time_ps, added;      /* added: bytes of the frontier */
} cone;

static void find_cone(zb_recompute *r, int value, value_list *stack, cone *out) {
  const int stage = r->stage[r->graph.values[value].producer], search = ++r->searches;
  out->values.count = out->frontier.count = 0;
  out->time_ps = out->added = 0;
  (void)ZB_PUSH(r->arena, stack, value);
  while (stack->count) {
    const int next = stack->items[--stack->count], maker = r->graph.values[next].producer;
    if (r->seen[next] == search || is_free(r, next)) continue;
    r->seen[next] = search;
    if (next != value && (is_again(r, stage, next) || is_kept(r, stage, next))) continue;
    const bool expands = maker >= 0 && r->stage[maker] == stage && r->mode[maker] != ZB_AGAIN_NOTHING &&
                         r->is_cheap[maker] && zb_recompute_may_run_again(r, maker) && out->values.count < CHEAP_OPS;
    if (!expands) {
      out->added += bytes_of(r, next);
      (void)ZB_PUSH(r->arena, &out->frontier, next);
      continue;
    }
    out->time_ps += r->time_ps[maker];
    (void)ZB_PUSH(r->arena, &out->values, next);
    push_operands(r, maker, stack);
  }
}

static void choose_cheap(zb_recompute *r, value_list *stack) {
  cone found = {0};
  ZB_FOR_EACH_NODE_BACKWARD(node, &r->graph) {
    const int n = node->number;
    if (r->mode[n] == ZB_AGAIN_NOTHING || !r->is_cheap[n] || !zb_recompute_may_run_again(r, n)) continue;
    ZB_FOR_EACH_RESULT(value, node) {
      if (!is_kept(r, r->stage[n], value)) continue;
      find_cone(r, value, stack, &found);
      const int64_t saved = bytes_of(r, value) - found.added;
      if (saved <= 0 || found.time_ps / CHEAP_PS_PER_BYTE > saved) continue;
      keep(r, r->stage[n], value, false);
      for (size_t i = 0; i < found.values.count; ++i)
        r->again[found.values.items[i]] = true;
      for (size_t i = 0; i < found.frontier.count; ++i)
        keep(r, r->stage[n], found.frontier.items[i], true);
    }
  }
}

zb_status zb_recompute_choose(zb_recompute *r) {
  value_list stack = {0};
  memset(r->again, 0, (size_t)r->graph.value_count * sizeof *r->again);
  r->kept = zb_arena_map_pointer(r->arena);
  ZB_TRY(zb_arena_status(r->arena));
  ZB_FOR_EACH_NODE(node, &r->graph) {
    if (!reads_backward(r, node)) continue;
    push_operands(r, node->number, &stack);
    choose_all(r, r->stage[node->number], &stack);
  }
  choose_cheap(r, &stack);
  return zb_arena_status(r->arena);
}

/* ---- Clones ---- */

typedef struct cloner {
  zb_recompute *r;
  MlirValue *now; /* per value: in the place of it; null: not made again yet */
  int64_t count;
} cloner;

/* Whether an op of a stage reads another value in the place of this one. */
static bool is_remade(const cloner *c, int stage, int value) {
  return is_again(c->r, stage, zb_flow_base(&c->r->graph, &c->r->flow, value));
}

static void clone_before(cloner *c, const zb_node *node, const zb_node *reader) {
  const zb_recompute *r = c->r;
  const int stage = r->stage[reader->number];
  MlirOperation op = mlirOperationClone(node->op);
  zb_remove_attribute(op, ZB_ATTR_ID);
  zb_set_i64(op, ZB_ATTR_STAGE, stage);
  zb_set_attribute(op, ZB_ATTR_RECOMPUTED, mlirUnitAttrGet(mlirOperationGetContext(op)));
  for (int i = 0; i < node->operand_count; ++i) {
    const int operand = zb_operand(&r->graph, node, i);
    if (is_remade(c, stage, operand)) zb_graph_set_operand(&r->graph, op, i, operand, c->now[operand]);
  }
  mlirBlockInsertOwnedOperationBefore(r->graph.block, reader->op, op);
  for (int i = 0; i < node->result_count; ++i)
    c->now[node->result_begin + i] = mlirOperationGetResult(op, i);
  ++c->count;
}

/* Makes a value again before `reader`, after what it is made of. */
static zb_status make_again(cloner *c, int value, const zb_node *reader) {
  zb_recompute *r = c->r;
  const int stage = r->stage[reader->number];
  value_list stack = {0};
  (void)ZB_PUSH(r->arena, &stack, value);
  while (stack.count && !r->arena->failed) {
    const int top = stack.items[stack.count - 1];
    const zb_node *maker = zb_maker(&r->graph, top);
    const size_t before = stack.count;
    if (!mlirValueIsNull(c->now[top])) {
      --stack.count;
      continue;
    }
    ZB_FOR_EACH_OPERAND(operand, &r->graph, maker)
      if (is_remade(c, stage, operand) && mlirValueIsNull(c->now[operand])) (void)ZB_PUSH(r->arena, &stack, operand);
    if (stack.count == before) clone_before(c, maker, reader);
  }
  return zb_arena_status(r->arena);
}

zb_status zb_recompute_apply(zb_recompute *r, int64_t *changes) {
  cloner c = {.r = r, .now = ZB_NEW(r->arena, MlirValue, r->graph.value_count)};
  ZB_TRY(zb_arena_status(r->arena));
  ZB_FOR_EACH_NODE(node, &r->graph) {
    const unsigned flags = r->flow.nodes[node->number];
    if (!(flags & ZB_FLOW_BACKWARD) || (flags & ZB_FLOW_LOAD)) continue;
    for (int i = 0; i < node->operand_count; ++i) {
      const int operand = zb_operand(&r->graph, node, i);
      const zb_node *maker = zb_maker(&r->graph, operand);
      if (!is_remade(&c, r->stage[node->number], operand)) continue;
      if (!(r->flow.nodes[maker->number] & ZB_FLOW_FORWARD))
        continue; /* a view of the backward pass: it is redirected */
      ZB_TRY(make_again(&c, operand, node));
      zb_graph_set_operand(&r->graph, node->op, i, operand, c.now[operand]);
    }
  }
  *changes += c.count;
  return NULL;
}
