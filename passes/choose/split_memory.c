/* The least memory of a rank beside frames: see passes/choose/split_memory.h.
 *
 * B's workspace is packed by workspace.c, from the ops of the function; here the same lives are added up without
 * packing, for each choice anew, without building a function. Where this counts less than there (views over other
 * strides, results that could go over an operand, what is cloned for B) the number stays a lower bound.
 *
 * Tests: test/e2e/split.py (every choice of small models against this bound). */

#include "passes/choose/split_memory.h"

#include "passes/function.h"
#include "passes/rewrite.h"
#include "passes/stages/classes.h"
#include "passes/stages/places/workspace.h"

#include <string.h>

/* An op that B does, or would do if its group were in B. */
typedef struct b_op {
  int group; /* -1: B does it anyway */
  int64_t scratch;
  bool in_place; /* elementwise: its result may go over an operand */
  int made_begin, made_count, read_begin, read_count;
} b_op;

/* A value that such an op makes. */
typedef struct b_value {
  int64_t bytes;
  int kept;       /* of w.values: for W; -1: W does not read it */
  bool elsewhere; /* it never lies in the workspace */
  bool lies;      /* in the workspace, with the choice that is being counted */
  int last;       /* then: the last op that reads it, or makes it */
} b_value;

/* A gradient that comes from another rank or goes there. */
typedef struct b_message {
  int64_t bytes;
  int kept;
} b_message;

struct zb_b_stage {
  ZB_LIST(b_op) ops; /* in program order */
  ZB_LIST(b_value) values;
  ZB_LIST(int) reads; /* of values */
  ZB_LIST(b_message) messages;
};

typedef struct builder {
  zb_arena *arena;
  zb_split_memory *out;
  const zb_graph *graph;
  zb_w_reader reader;
  int *group_of; /* per node; -1: in no group */
  int *made;     /* per value: its place in the values of its stage; -1: B and W do not make it */
} builder;

/* ---- Ops and values ---- */

static bool is_backward(const builder *b, int node) {
  const zb_job_kind kind = zb_class_get(b->graph->nodes[node].op);
  return (kind == ZB_JOB_B || kind == ZB_JOB_W) && !zb_w_is_cloned(&b->out->w->flow, node);
}

static int stage_of(const builder *b, int node) { return b->out->w->stage[node]; }

static int64_t bytes_of(const builder *b, int value) {
  return (int64_t)zb_align(zb_type_bytes(mlirValueGetType(b->graph->values[value].value)));
}

/* Whether an accumulate reads what the node makes, or a view of it. */
static bool is_summed(const builder *b, const zb_node *node) {
  ZB_FOR_EACH_USER(user, b->graph, node) {
    const zb_node *reader = &b->graph->nodes[user];
    const bool is_view = (b->out->w->flow.nodes[user] & ZB_FLOW_VIEW) != 0;
    if (zb_op_is(reader->op, "zb.accumulate") || (is_view && is_summed(b, reader))) return true;
  }
  return false;
}

/* Sums, and what is computed straight into them, lie in the gradients. */
static bool is_in_sums(const builder *b, const zb_node *node) {
  return zb_node_is(node, "zb.accumulate") || (node->def && node->def->alias) || is_summed(b, node);
}

/* What leaves the stage has a place of its own. */
static bool leaves(const builder *b, int value, int stage) {
  ZB_FOR_EACH_USER(user, b->graph, &b->graph->values[value]) {
    if (zb_w_is_cloned(&b->out->w->flow, user)) {
      ZB_FOR_EACH_RESULT(result, &b->graph->nodes[user])
        if (leaves(b, result, stage)) return true;
    } else if (stage_of(b, user) != stage) {
      return true;
    }
  }
  return b->graph->values[value].returned;
}

static void add_op(builder *b, const zb_node *node) {
  const int stage = stage_of(b, node->number);
  zb_b_stage *s = &b->out->stages[stage];
  const bool elsewhere = is_in_sums(b, node);
  b_op op = {.group = b->group_of[node->number],
             .scratch = (int64_t)zb_scratch_bytes(b->graph, node),
             .in_place = node->result_count == 1 && zb_has_trait(node->def, ZB_TRAIT_ELEMENTWISE),
             .made_begin = (int)s->values.count,
             .made_count = node->result_count,
             .read_begin = (int)s->reads.count};
  zb_w_read(&b->reader, node->number);
  for (size_t i = 0; i < b->reader.found.count; ++i) {
    const int value = b->reader.found.items[i], producer = b->graph->values[value].producer;
    if (b->made[value] < 0 || stage_of(b, producer) != stage) continue;
    (void)ZB_PUSH(b->arena, &s->reads, b->made[value]);
    ++op.read_count;
  }
  ZB_FOR_EACH_RESULT(value, node) {
    b->made[value] = (int)s->values.count;
    const b_value made = {.bytes = bytes_of(b, value),
                          .kept = zb_w_value_of(b->out->w, stage, value),
                          .elsewhere = elsewhere || leaves(b, value, stage)};
    (void)ZB_PUSH(b->arena, &s->values, made);
  }
  (void)ZB_PUSH(b->arena, &s->ops, op);
}

/* ---- Messages ---- */

static int rank_of(const builder *b, int stage) { return b->out->stage_rank[stage]; }

/* Also of what is of no stage: that may be on every rank. */
static bool is_on_rank(const builder *b, int stage, int rank) { return stage < 0 || rank_of(b, stage) == rank; }

/* The other stages that read the value, or make it, are all on other ranks. Then it has no home in a frame of theirs.
 */
static bool is_alone(const builder *b, int value, int stage) {
  ZB_FOR_EACH_USER(user, b->graph, &b->graph->values[value]) {
    if (zb_w_is_cloned(&b->out->w->flow, user)) {
      ZB_FOR_EACH_RESULT(result, &b->graph->nodes[user])
        if (!is_alone(b, result, stage)) return false;
    } else if (stage_of(b, user) != stage && is_on_rank(b, stage_of(b, user), rank_of(b, stage))) {
      return false;
    }
  }
  const int producer = b->graph->values[value].producer, from = producer < 0 ? -1 : stage_of(b, producer);
  return from == stage || !is_on_rank(b, from, rank_of(b, stage));
}

static void add_message(builder *b, zb_map *seen, int value, int stage) {
  void *key = zb_id_key((int64_t)stage * b->graph->value_count + value);
  if (zb_map_get(seen, key, NULL) || !is_alone(b, value, stage)) return;
  zb_arena_map_set(b->arena, seen, key, 1);
  (void)ZB_PUSH(b->arena, &b->out->stages[stage].messages,
                (b_message){.bytes = bytes_of(b, value), .kept = zb_w_value_of(b->out->w, stage, value)});
}

static zb_status find_messages(builder *b) {
  zb_map *seen = zb_arena_map_pointer(b->arena);
  ZB_TRY(zb_arena_status(b->arena));
  for (int n = 0; n < b->graph->node_count; ++n) {
    if (!is_backward(b, n)) continue;
    zb_w_read(&b->reader, n);
    for (size_t i = 0; i < b->reader.found.count; ++i) {
      const int value = b->reader.found.items[i], producer = b->graph->values[value].producer;
      if (producer < 0 || !is_backward(b, producer) || stage_of(b, producer) == stage_of(b, n)) continue;
      add_message(b, seen, value, stage_of(b, n));
      add_message(b, seen, value, stage_of(b, producer));
    }
  }
  return zb_arena_status(b->arena);
}

/* ---- All ---- */

/* What no choice changes. */
static void read_ranks(const zb_module_problem *base, zb_split_memory *out) {
  for (int r = 0; r < base->problem.ranks; ++r) {
    int64_t all = 0;
    ZB_FOR_EACH_OP(function, zb_function_block(base->ranks[r])) {
      const int64_t bytes = zb_get_i64(function, ZB_ATTR_WORKSPACE, 0);
      const zb_job_kind kind = zb_class_get(function);
      if (kind == ZB_JOB_EVALUATE) continue; /* it has a workspace of its own */
      if (bytes > all) all = bytes;
      if (kind != ZB_JOB_B && kind != ZB_JOB_W && bytes > out->workspace[r]) out->workspace[r] = bytes;
    }
    out->fixed[r] = base->problem.base_bytes[r] - all;
  }
}

zb_status zb_split_memory_build(zb_arena *arena, zb_w_groups *w, const zb_module_problem *base, zb_split_memory *out) {
  const zb_problem *problem = &base->problem;
  *out = (zb_split_memory){.w = w,
                           .stage_count = problem->stages,
                           .stage_rank = problem->stage_rank,
                           .stages = ZB_NEW(arena, zb_b_stage, problem->stages),
                           .fixed = ZB_NEW(arena, int64_t, problem->ranks),
                           .workspace = ZB_NEW(arena, int64_t, problem->ranks),
                           .changes = ZB_NEW(arena, zb_split_change, problem->stages * ZB_KIND_COUNT)};
  builder b = {.arena = arena,
               .out = out,
               .graph = w->graph,
               .group_of = ZB_NEW(arena, int, w->graph->node_count),
               .made = ZB_NEW(arena, int, w->graph->value_count)};
  ZB_TRY(zb_w_reader_init(&b.reader, arena, w->graph, &w->flow));
  memset(b.group_of, -1, (size_t)w->graph->node_count * sizeof *b.group_of);
  memset(b.made, -1, (size_t)w->graph->value_count * sizeof *b.made);
  for (int g = 0; g < w->group_count; ++g)
    for (size_t i = 0; i < w->groups[g].nodes.count; ++i)
      b.group_of[w->groups[g].nodes.items[i]] = g;
  ZB_FOR_EACH_NODE(node, w->graph)
    if (is_backward(&b, node->number)) add_op(&b, node);
  ZB_TRY(find_messages(&b));
  read_ranks(base, out);
  return zb_arena_status(arena);
}

/* ---- Counting ---- */

static bool is_done(const zb_w_groups *w, const b_op *op) { return op->group < 0 || w->groups[op->group].in_b; }

static bool is_kept(const zb_w_groups *w, int kept) { return kept >= 0 && w->values[kept].waiting > 0; }

static void find_lives(const zb_w_groups *w, zb_b_stage *s) {
  for (size_t v = 0; v < s->values.count; ++v)
    s->values.items[v].lies = false;
  for (size_t i = 0; i < s->ops.count; ++i) {
    const b_op *op = &s->ops.items[i];
    if (!is_done(w, op)) continue;
    for (int k = 0; k < op->made_count; ++k) {
      b_value *made = &s->values.items[op->made_begin + k];
      made->lies = !made->elsewhere && !is_kept(w, made->kept);
      made->last = (int)i;
    }
    for (int k = 0; k < op->read_count; ++k)
      s->values.items[s->reads.items[op->read_begin + k]].last = (int)i;
  }
}

static int64_t workspace_of(const zb_split_memory *it, int stage) {
  zb_b_stage *s = &it->stages[stage];
  int64_t live = 0, most = 0;
  find_lives(it->w, s);
  for (size_t i = 0; i < s->ops.count; ++i) {
    const b_op *op = &s->ops.items[i];
    int64_t made = 0, ended = 0, same = 0;
    if (!is_done(it->w, op)) continue;
    for (int k = 0; k < op->made_count; ++k) {
      const b_value *value = &s->values.items[op->made_begin + k];
      if (value->lies) made += value->bytes;
      if (value->lies && value->last == (int)i) ended += value->bytes;
    }
    for (int k = 0; k < op->read_count; ++k) {
      const b_value *value = &s->values.items[s->reads.items[op->read_begin + k]];
      if (!value->lies || value->last != (int)i) continue;
      ended += value->bytes;
      if (op->in_place && value->bytes == made) same = made;
    }
    live += made;
    if (live - same + op->scratch > most) most = live - same + op->scratch;
    live -= ended;
  }
  return most;
}

int64_t zb_split_messages(const zb_split_memory *it, int stage) {
  const zb_b_stage *s = &it->stages[stage];
  int64_t bytes = 0;
  for (size_t i = 0; i < s->messages.count; ++i)
    if (!is_kept(it->w, s->messages.items[i].kept)) bytes += s->messages.items[i].bytes;
  return bytes;
}

int64_t zb_split_beside(const zb_split_memory *it, int rank) {
  int64_t most = it->workspace[rank];
  for (int s = 0; s < it->stage_count; ++s) {
    if (it->stage_rank[s] != rank) continue;
    const int64_t bytes = workspace_of(it, s);
    if (bytes > most) most = bytes;
  }
  return it->fixed[rank] + most;
}

int zb_split_ops(const zb_split_memory *it, int rank) {
  int count = 0;
  for (int s = 0; s < it->stage_count; ++s)
    if (it->stage_rank[s] == rank) count += (int)it->stages[s].ops.count;
  return count;
}
