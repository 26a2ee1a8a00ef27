/* zb-classify: gives every op a class: F, B, W, a phase of the optimizer or LOAD. By dataflow, for any dialect's ops.
 *
 *   LOAD  depends on constants only
 *   F     the loss or another plain output depends on it
 *   B     a backward op of the stage that leads to a gradient that leaves the stage upstream
 *   W     every other backward op of the stage
 *
 * and, of what depends on a zb.accumulate:
 *
 *   SUM     adds such sums, also over shards, or scales them by a constant, and reads nothing else
 *   NORM    reads no parameter, state or step number, directly or through others, and is no SUM
 *   CLIP    puts what a NORM makes into the frame that all parameters share, or reads that frame alone
 *   UPDATE  the rest
 *
 * A stage that sends no gradient upstream (the first; the one after a frozen prefix) takes as targets of B the
 * gradients of its roots: activations that need a gradient and whose op reads no other activation that needs one. With
 * the marks of zb-autodiff (zb.of) these are the gradients that the gradient ops of a root read. In a program without
 * marks, where the gradient of a root cannot be told from others, B is what leads to more than one accumulate.
 *
 * With the option gathers (parameters of which every replica has a part), ops that read a parameter are B instead of W.
 *
 * Tests: test/passes/classify.mlir. */

#include "passes/stages/classes.h"
#include "passes/stages/flow.h"
#include "passes/stages/functions/recompute_place.h"
#include "passes/function.h"
#include "passes/pipeline.h"

typedef struct classify {
  zb_pass *pass;
  zb_graph graph;
  zb_flow flow;
  int *stage;
  bool *is_b;
  zb_job_kind *kind;    /* per node, in their order: what came before has one */
  bool *sends_upstream; /* per stage */
  int stages;
} classify;

enum { REACH_NONE = -1, REACH_MANY = -2 };

static bool backward(const classify *c, int node) {
  return (c->flow.nodes[node] & ZB_FLOW_BACKWARD) && !(c->flow.nodes[node] & ZB_FLOW_LOAD);
}

/* Computes an activation again: a backward op, but no gradient. */
static bool is_recomputed(const classify *c, int node) {
  return zb_has_attribute(c->graph.nodes[node].op, ZB_ATTR_RECOMPUTED);
}

static zb_result read_stages(classify *c) {
  for (int n = 0; n < c->graph.node_count; ++n) {
    c->stage[n] = (int)zb_get_i64(c->graph.nodes[n].op, ZB_ATTR_STAGE, -2);
    if (c->stage[n] >= c->stages) c->stages = c->stage[n] + 1;
    if (c->stage[n] == -2 && !(c->flow.nodes[n] & ZB_FLOW_LOAD))
      return zb_op_error_at(c->graph.nodes[n].op, "run zb-partition before zb-classify", "op has no zb.stage");
  }
  return ZB_OK;
}

/* A gradient used in an earlier stage than its own leaves upstream. */
static void find_senders(classify *c) {
  for (int n = 0; n < c->graph.node_count; ++n) {
    if (!backward(c, n)) continue;
    const zb_node *node = &c->graph.nodes[n];
    for (int r = 0; r < node->result_count; ++r) {
      const zb_value *value = &c->graph.values[node->result_begin + r];
      for (int u = 0; u < value->use_count; ++u) {
        int user = c->graph.uses[value->use_begin + u];
        if (!backward(c, user) || c->stage[user] >= c->stage[n]) continue;
        c->sends_upstream[c->stage[n]] = true;
        c->is_b[n] = true;
      }
    }
  }
}

/* Whether an op is a root: a forward op that needs a gradient and reads no activation that needs one. */
static bool is_root(const classify *c, int n) {
  unsigned needs = ZB_FLOW_FORWARD | ZB_FLOW_INPUT | ZB_FLOW_TRAINED;
  if ((c->flow.nodes[n] & needs) != needs) return false;
  const zb_node *node = &c->graph.nodes[n];
  for (int i = 0; i < node->operand_count; ++i) {
    int value = c->graph.operands[node->operand_begin + i];
    if (!zb_flow_is_activation(&c->graph, &c->flow, value)) continue;
    if (zb_flow_value(&c->graph, &c->flow, value) & ZB_FLOW_TRAINED) return false;
  }
  return true;
}

/* Targets by marks: what the gradient ops of roots read from other gradient ops. */
static zb_status mark_root_gradients(classify *c, bool *out_marked) {
  zb_map *roots = zb_map_create_pointer();
  if (!roots) return ZB_OUT_OF_MEMORY();
  zb_status status = NULL;
  *out_marked = false;
  for (int n = 0; n < c->graph.node_count; ++n) {
    int64_t id = is_root(c, n) ? zb_get_i64(c->graph.nodes[n].op, ZB_ATTR_ID, -1) : -1;
    if (id >= 0 && !zb_map_set(roots, (void *)(uintptr_t)(id + 1), 1)) ZB_TRY_GOTO(ZB_OUT_OF_MEMORY());
  }
  for (int n = 0; n < c->graph.node_count; ++n) {
    if (!backward(c, n) || c->sends_upstream[c->stage[n]]) continue;
    const zb_node *node = &c->graph.nodes[n];
    int64_t of = zb_get_i64(node->op, ZB_ATTR_OF, -1);
    *out_marked |= of >= 0;
    if (of < 0 || (c->flow.nodes[n] & ZB_FLOW_ACCUMULATE) || !zb_map_get(roots, (void *)(uintptr_t)(of + 1), NULL))
      continue;
    for (int i = 0; i < node->operand_count; ++i) {
      int producer = c->graph.values[c->graph.operands[node->operand_begin + i]].producer;
      if (producer < 0 || !backward(c, producer) || c->stage[producer] != c->stage[n]) continue;
      if (is_recomputed(c, producer)) continue;
      if (zb_get_i64(c->graph.nodes[producer].op, ZB_ATTR_OF, -1) != of) c->is_b[producer] = true;
    }
  }
cleanup:
  zb_map_destroy(roots);
  return status;
}

/* Targets without marks: what leads to more than one accumulate. */
static zb_status mark_by_reach(classify *c) {
  int *reach = zb_alloc(((size_t)c->graph.node_count + 1) * sizeof *reach);
  if (!reach) return ZB_OUT_OF_MEMORY();
  for (int n = c->graph.node_count - 1; n >= 0; --n) {
    reach[n] = REACH_NONE;
    if (!backward(c, n)) continue;
    if (c->flow.nodes[n] & ZB_FLOW_ACCUMULATE) {
      reach[n] = n;
      continue;
    }
    const zb_node *node = &c->graph.nodes[n];
    for (int r = 0; r < node->result_count; ++r) {
      const zb_value *value = &c->graph.values[node->result_begin + r];
      for (int u = 0; u < value->use_count; ++u) {
        int user = reach[c->graph.uses[value->use_begin + u]];
        if (user == REACH_NONE) continue;
        reach[n] = reach[n] == REACH_NONE || reach[n] == user ? user : REACH_MANY;
      }
    }
    if (reach[n] == REACH_MANY && !c->sends_upstream[c->stage[n]] && !is_recomputed(c, n)) c->is_b[n] = true;
  }
  zb_free(reach);
  return NULL;
}

/* Where parameters are gathered for F and B alone, whatever reads one belongs there: gradients that lead to parameters
 * of this stage only (a branch that begins in it, as a decoder's) are W otherwise. */
static void mark_readers_of_parameters(classify *c) {
  for (int n = 0; n < c->graph.node_count; ++n) {
    const zb_node *node = &c->graph.nodes[n];
    for (int i = 0; i < node->operand_count && backward(c, n); ++i) {
      const unsigned from = zb_flow_value(&c->graph, &c->flow, c->graph.operands[node->operand_begin + i]);
      if ((from & ZB_FLOW_PARAMETER) && !(from & ZB_FLOW_INPUT)) c->is_b[n] = true;
    }
  }
}

static void close_over_stage(classify *c) {
  for (int n = c->graph.node_count - 1; n >= 0; --n) {
    if (!backward(c, n) || c->is_b[n]) continue;
    const zb_node *node = &c->graph.nodes[n];
    for (int r = 0; r < node->result_count && !c->is_b[n]; ++r) {
      const zb_value *value = &c->graph.values[node->result_begin + r];
      for (int u = 0; u < value->use_count; ++u) {
        int user = c->graph.uses[value->use_begin + u];
        if (backward(c, user) && c->stage[user] == c->stage[n] && c->is_b[user]) c->is_b[n] = true;
      }
    }
  }
}

/* The earliest phase of an op of the optimizer that one of its operands allows. */
static zb_job_kind phase_after(const classify *c, bool is_sum, int value) {
  const int producer = c->graph.values[value].producer;
  unsigned flags = zb_flow_value(&c->graph, &c->flow, value);
  if (flags & ZB_FLOW_OPTIMIZE) return c->kind[producer] == ZB_JOB_SUM && !is_sum ? ZB_JOB_NORM : c->kind[producer];
  if (flags & (ZB_FLOW_ACCUMULATE | ZB_FLOW_LOAD)) return is_sum ? ZB_JOB_SUM : ZB_JOB_NORM;
  return ZB_JOB_UPDATE;
}

/* Whether an op adds, also over shards, multiplies by a constant, or moves no data. */
static bool adds_or_scales(const classify *c, int n) {
  const zb_node *node = &c->graph.nodes[n];
  bool scales = false;
  for (int i = 0; i < node->operand_count && zb_node_is(node, "zb.mul"); ++i)
    scales |= (zb_flow_value(&c->graph, &c->flow, c->graph.operands[node->operand_begin + i]) & ZB_FLOW_LOAD) != 0;
  return scales || zb_node_is(node, "zb.add") || zb_node_is(node, "zb.all_reduce") || (c->flow.nodes[n] & ZB_FLOW_VIEW);
}

static zb_job_kind phase_of(const classify *c, int n) {
  const zb_node *node = &c->graph.nodes[n];
  const bool is_sum = adds_or_scales(c, n);
  if (c->flow.nodes[n] & ZB_FLOW_COMMON) return ZB_JOB_CLIP;
  zb_job_kind kind = ZB_JOB_SUM;
  for (int i = 0; i < node->operand_count; ++i) {
    zb_job_kind least = phase_after(c, is_sum, c->graph.operands[node->operand_begin + i]);
    if (least > kind) kind = least;
  }
  return kind;
}

static void write_classes(classify *c) {
  for (int n = 0; n < c->graph.node_count; ++n) {
    unsigned flags = c->flow.nodes[n];
    c->kind[n] = ZB_JOB_F;
    if (flags & ZB_FLOW_LOAD)
      c->kind[n] = ZB_JOB_LOAD;
    else if (flags & ZB_FLOW_OPTIMIZE)
      c->kind[n] = phase_of(c, n);
    else if (flags & ZB_FLOW_BACKWARD)
      c->kind[n] = c->is_b[n] ? ZB_JOB_B : ZB_JOB_W;
    zb_class_set(c->graph.nodes[n].op, c->kind[n]);
    ++c->pass->changes;
  }
}

static zb_result classify_graph(classify *c) {
  zb_pass *pass = c->pass;
  zb_arena *arena = &pass->arena;
  ZB_PASS_TRY(pass, zb_flow_build(arena, &c->graph, &c->flow));
  c->stage = ZB_NEW(arena, int, c->graph.node_count);
  c->is_b = ZB_NEW(arena, bool, c->graph.node_count);
  c->kind = ZB_NEW(arena, zb_job_kind, c->graph.node_count);
  ZB_PASS_TRY(pass, zb_arena_status(arena));
  if (!read_stages(c)) return ZB_FAIL;
  c->sends_upstream = ZB_NEW(arena, bool, c->stages);
  ZB_PASS_TRY(pass, zb_arena_status(arena));
  find_senders(c);
  bool marked = false;
  ZB_PASS_TRY(pass, mark_root_gradients(c, &marked));
  if (!marked) ZB_PASS_TRY(pass, mark_by_reach(c));
  if (*zb_pass_option(pass, "gathers")) mark_readers_of_parameters(c);
  close_over_stage(c);
  ZB_PASS_TRY(pass, zb_recompute_place(arena, &c->graph, &c->flow, c->stage, c->is_b));
  write_classes(c);
  return ZB_OK;
}

static zb_result run(zb_pass *pass, MlirModule module) {
  classify c = {.pass = pass};
  MlirOperation function;
  MlirBlock block;
  if (!zb_pass_function(module, &function, &block)) return ZB_FAIL;
  ZB_PASS_TRY(pass, zb_pass_graph(pass, function, &c.graph));
  return classify_graph(&c);
}

static const zb_option_def options[] = {
    {"gathers", "", "true: parameters are gathered for F and B, so no op of W reads one"},
    {0},
};

const zb_pass_def zb_pass_classify = {
    .name = "zb-classify",
    .options = options,
    .summary = "Give every op a class by dataflow: F, B, W, SUM, NORM, CLIP, UPDATE, LOAD.",
    .requires_level = "staged",
    .ensures_level = "classified",
    .keeps_graph = true,
    .run = run,
};
