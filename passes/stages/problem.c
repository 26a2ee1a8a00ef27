/* The schedule problem of a framed module: see passes/stages/problem.h. Tested through test/passes/schedule.mlir. */

#include "passes/stages/classes.h"
#include "passes/stages/problem.h"

#include "passes/stages/cost.h"
#include "passes/stages/frames.h"
#include "passes/function.h"
#include "passes/tables.h"
#include "runtime/base/map.h"
#include "runtime/base/memory.h"
#include "runtime/base/text.h"

#include <mlir-c/BuiltinAttributes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *id_key(int64_t id) { return (void *)(uintptr_t)(id + 1); }

int64_t zb_frame_bytes(MlirOperation function, const char *kind) {
  MlirBlock block = zb_function_block(function);
  for (intptr_t i = 0; i < mlirBlockGetNumArguments(block); ++i) {
    const char *name = zb_argument_port(function, (int)i).frame;
    if (name && strcmp(name, kind) == 0)
      return (int64_t)zb_type_bytes(mlirValueGetType(mlirBlockGetArgument(block, i)));
  }
  MlirOperation end = mlirBlockGetTerminator(block);
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(end); ++i) {
    const char *name = zb_result_port(function, (int)i).frame;
    if (name && strcmp(name, kind) == 0)
      return (int64_t)zb_type_bytes(mlirValueGetType(mlirOperationGetOperand(end, i)));
  }
  return 0;
}

/* With the interpreter's part; the first run of a step is spread over all. */
static int64_t job_time(const zb_module_problem *p, MlirOperation function, int runs) {
  int64_t time = zb_get_i64(function, ZB_ATTR_TIME_PS, 1), first = zb_get_i64(function, ZB_ATTR_FIRST_PS, time);
  return time + (runs > 0 ? (first - time) / runs : 0) + p->job_ps;
}

static void read_rank(zb_module_problem *p, MlirOperation module, int rank) {
  int64_t pool_bytes[POOL_COUNT] = {0}, workspace = 0;
  ZB_FOR_EACH_OP(function, zb_function_block(module)) {
    int stage = (int)zb_get_i64(function, ZB_ATTR_STAGE, -1), c = zb_class_kind(function);
    zb_job_kind kind = zb_class_get(function);
    if (kind == ZB_JOB_KIND_COUNT) continue; /* @main */
    if (stage >= 0 && stage < p->problem.stages && c >= 0) p->functions[stage * ZB_KIND_COUNT + c] = function;
    for (int i = 0; i < POOL_COUNT; ++i) {
      int64_t bytes = zb_frame_bytes(function, pool_names[i]);
      if (bytes > pool_bytes[i]) pool_bytes[i] = bytes;
    }
    int64_t own = zb_get_i64(function, ZB_ATTR_WORKSPACE, 0);
    if (own > workspace) workspace = own;
    if (zb_job_is_optimizer(kind)) p->optimizer_ps[rank] += job_time(p, function, 1);
  }
  p->base_bytes[rank] = workspace + (int64_t)zb_align(8);
  for (int i = 0; i < POOL_COUNT; ++i)
    p->base_bytes[rank] += pool_bytes[i];
}

static void read_costs(zb_module_problem *p) {
  for (int s = 0; s < p->problem.stages; ++s) {
    const MlirOperation *f = &p->functions[s * ZB_KIND_COUNT];
    int64_t fb = zb_frame_bytes(f[0], frame_names[FRAME_FB]), fw = zb_frame_bytes(f[0], frame_names[FRAME_FW]);
    int64_t bw = zb_frame_bytes(f[1], frame_names[FRAME_BW]);
    zb_stage_cost *cost = &p->costs[s];
    for (int c = 0; c < ZB_KIND_COUNT; ++c)
      cost->time_ps[c] = job_time(p, f[c], p->problem.micro_batches);
    cost->keep_bytes[ZB_F] = fb + fw;
    cost->keep_bytes[ZB_B] = bw;
    cost->free_bytes[ZB_B] = fb;
    cost->free_bytes[ZB_W] = fw + bw;
  }
}

/* ---- Hops ---- */

typedef struct travel {
  int64_t id;
  int producer; /* stage */
  bool backward;
  int stage; /* a stage that reads it */
  int64_t bytes;
} travel;

static int compare_travel(const void *a, const void *b) {
  const travel *x = a, *y = b;
  if (x->id != y->id) return x->id < y->id ? -1 : 1;
  int order = x->stage - y->stage;
  return x->backward ? -order : order;
}

static zb_status add_hop(zb_module_problem *p, zb_map *index, int source, int destination, int64_t id, int64_t bytes) {
  void *key = (void *)((uintptr_t)source * (uintptr_t)p->problem.stages + (uintptr_t)destination + 1);
  int64_t at;
  if (!zb_map_get(index, key, &at)) {
    at = (int64_t)p->hop_count;
    if (!zb_arena_grow(&p->arena, (void **)&p->hops, &p->hop_capacity, p->hop_count + 1, sizeof *p->hops) ||
        !zb_map_set(index, key, at))
      return ZB_OUT_OF_MEMORY();
    p->hops[p->hop_count++] = (zb_hop){.source = source, .destination = destination};
  }
  zb_hop *hop = &p->hops[at];
  if (!zb_arena_grow(&p->arena, (void **)&hop->values, &hop->value_capacity, hop->value_count + 1, sizeof id))
    return ZB_OUT_OF_MEMORY();
  hop->values[hop->value_count++] = id;
  hop->bytes += bytes;
  return NULL;
}

/* All (value, reading stage) pairs of values that leave their stage. */
static zb_status find_travels(zb_module_problem *p, const zb_map *producers, travel **out, size_t *out_count) {
  travel *list = NULL;
  size_t count = 0, capacity = 0;
  for (int s = 0; s < p->problem.stages; ++s)
    for (int c = 0; c < ZB_KIND_COUNT; ++c) {
      MlirOperation function = p->functions[s * ZB_KIND_COUNT + c];
      MlirBlock block = zb_function_block(function);
      for (intptr_t i = 0; i < mlirBlockGetNumArguments(block); ++i) {
        int64_t id = zb_argument_port(function, (int)i).value, producer;
        if (id < 0 || !zb_map_get(producers, id_key(id), &producer) || producer / ZB_KIND_COUNT == s) continue;
        if (!zb_arena_grow(&p->arena, (void **)&list, &capacity, count + 1, sizeof *list)) return ZB_OUT_OF_MEMORY();
        list[count++] = (travel){.id = id,
                                 .producer = (int)(producer / ZB_KIND_COUNT),
                                 .stage = s,
                                 .backward = producer % ZB_KIND_COUNT != ZB_F,
                                 .bytes = (int64_t)zb_type_bytes(mlirValueGetType(mlirBlockGetArgument(block, i)))};
      }
    }
  if (count) qsort(list, count, sizeof *list, compare_travel);
  *out = list;
  *out_count = count;
  return NULL;
}

/* A value travels from user stage to user stage. */
static zb_status build_hops(zb_module_problem *p, const zb_map *producers) {
  travel *list = NULL;
  size_t count = 0;
  zb_map *index = zb_arena_map_pointer(&p->arena);
  ZB_TRY(zb_arena_status(&p->arena));
  ZB_TRY(find_travels(p, producers, &list, &count));
  for (size_t i = 0; i < count; ++i) {
    bool same = i > 0 && list[i - 1].id == list[i].id;
    if (same && list[i - 1].stage == list[i].stage) continue; /* read by two classes */
    int from = list[i].producer;
    for (size_t k = i; k > 0 && list[k - 1].id == list[i].id; --k)
      if (list[k - 1].stage != list[i].stage) {
        from = list[k - 1].stage;
        break;
      }
    ZB_TRY(add_hop(p, index, from, list[i].stage, list[i].id, list[i].bytes));
  }
  return NULL;
}

static zb_status build_edges(zb_module_problem *p) {
  p->edges = ZB_NEW(&p->arena, zb_edge, p->hop_count);
  ZB_TRY(zb_arena_status(&p->arena));
  int count = 0;
  for (size_t i = 0; i < p->hop_count; ++i) {
    const zb_hop *hop = &p->hops[i];
    int low = hop->source < hop->destination ? hop->source : hop->destination;
    int high = hop->source < hop->destination ? hop->destination : hop->source, e = 0;
    while (e < count && (p->edges[e].source != low || p->edges[e].destination != high))
      ++e;
    if (e == count) p->edges[count++] = (zb_edge){.source = low, .destination = high};
    if (hop->source == low)
      p->edges[e].forward_bytes += hop->bytes;
    else
      p->edges[e].backward_bytes += hop->bytes;
  }
  p->problem.edges = p->edges;
  p->problem.edge_count = count;
  return NULL;
}

static int compare_hops(const void *a, const void *b) {
  const zb_hop *x = a, *y = b;
  return x->source != y->source ? x->source - y->source : x->destination - y->destination;
}

static zb_status read_producers(zb_module_problem *p, zb_map *producers) {
  for (int i = 0; i < p->problem.stages * ZB_KIND_COUNT; ++i) {
    MlirOperation function = p->functions[i];
    intptr_t count = mlirOperationGetNumOperands(mlirBlockGetTerminator(zb_function_block(function)));
    for (intptr_t r = 0; r < count; ++r) {
      int64_t id = zb_result_port(function, (int)r).value;
      if (id >= 0 && !zb_map_set(producers, id_key(id), i)) return ZB_OUT_OF_MEMORY();
    }
  }
  return NULL;
}

zb_status zb_module_problem_build(MlirModule module, int micro_batches, zb_module_problem *out) {
  MlirOperation top = mlirModuleGetOperation(module);
  *out = (zb_module_problem){.top = top};
  zb_status status = NULL;
  zb_arena *arena = &out->arena;
  zb_map *producers = zb_arena_map_pointer(arena);
  zb_problem *problem = &out->problem;
  problem->ranks = (int)zb_get_i64(top, ZB_ATTR_RANKS, 0);
  const zb_table stage_rank = zb_stage_rank_get(top);
  problem->stages = stage_rank.count;
  problem->micro_batches = micro_batches;
  const zb_link_costs link = zb_link_costs_get(top);
  problem->link_latency_ps = link.latency_ps + link.wake_ps; /* most receivers wait */
  problem->link_ps_per_byte = link.ps_per_byte;
  out->job_ps = link.job_ps;
  out->stage_rank = ZB_NEW(arena, int, problem->stages);
  out->costs = ZB_NEW(arena, zb_stage_cost, problem->stages);
  out->base_bytes = ZB_NEW(arena, int64_t, problem->ranks);
  out->optimizer_ps = ZB_NEW(arena, int64_t, problem->ranks);
  out->ranks = ZB_NEW(arena, MlirOperation, problem->ranks);
  out->functions = ZB_NEW(arena, MlirOperation, problem->stages * ZB_KIND_COUNT);
  ZB_TRY_GOTO(zb_arena_status(arena));
  for (int s = 0; s < problem->stages; ++s)
    out->stage_rank[s] = (int)zb_stage_rank_at(stage_rank, s).rank;
  ZB_FOR_EACH_OP(op, mlirModuleGetBody(module)) {
    int rank = (int)zb_get_i64(op, ZB_ATTR_RANK, -1);
    if (rank < 0 || rank >= problem->ranks || !zb_op_is(op, "builtin.module")) continue;
    out->ranks[rank] = op;
    read_rank(out, op, rank);
  }
  for (int i = 0; i < problem->stages * ZB_KIND_COUNT; ++i)
    if (mlirOperationIsNull(out->functions[i]))
      ZB_TRY_GOTO(ZB_ERROR(INVALID, "stage %d has no function of class %c", i / ZB_KIND_COUNT,
                           zb_job_letter((zb_job_kind)(ZB_JOB_F + i % ZB_KIND_COUNT))));
  read_costs(out);
  ZB_TRY_GOTO(read_producers(out, producers));
  ZB_TRY_GOTO(build_hops(out, producers));
  if (out->hop_count) qsort(out->hops, out->hop_count, sizeof *out->hops, compare_hops);
  ZB_TRY_GOTO(build_edges(out));
  problem->stage_rank = out->stage_rank;
  problem->costs = out->costs;
  problem->base_bytes = out->base_bytes;
  problem->optimizer_ps = out->optimizer_ps;
cleanup:
  if (status) zb_module_problem_deinit(out);
  return status;
}

void zb_module_problem_deinit(zb_module_problem *problem) {
  zb_arena_deinit(&problem->arena);
  *problem = (zb_module_problem){0};
}

zb_status zb_schedule_to_train(const char *text, zb_schedule_choice *out) {
  ZB_TRY(zb_schedule_parse(text, out));
  if (!out->schedule->two_pipelines) return NULL;
  char folded[64]; /* "dualpipe" has "dualpipev" */
  snprintf(folded, sizeof folded, "%sv", out->schedule->name);
  return zb_status_hint(ZB_ERROR(USAGE,
                                 "%s keeps every stage on two ranks: it can be simulated (zb-sched), not trained",
                                 out->schedule->name),
                        "%s keeps every stage on one rank", zb_schedule_find(folded, NULL) ? folded : "zb-h1");
}

/* ---- Orders as text ---- */

char *zb_order_text(const zb_order *order, int rank) {
  zb_text text;
  zb_text_init(&text);
  for (int i = 0; i < order->counts[rank]; ++i) {
    char word[32];
    zb_text_add(&text, "%s%s", i ? " " : "", zb_job_text(order->jobs[rank][i], word));
  }
  if (!text.data && !text.failed) zb_text_add(&text, "%s", "");
  char *out = text.failed ? NULL : zb_text_take(&text);
  zb_text_deinit(&text);
  return out;
}

zb_status zb_order_parse(const char *text, int rank, zb_order *order) {
  for (size_t length; *(text += strspn(text, " ")); text += length) {
    char word[32];
    zb_job job;
    length = strcspn(text, " ");
    snprintf(word, sizeof word, "%.*s", (int)(length < sizeof word ? length : sizeof word), text);
    if (length >= sizeof word || !zb_job_parse(word, &job))
      return ZB_ERROR(INVALID, "order of rank %d: expected a job like 0F2 at '%.12s'", rank, text);
    ZB_TRY(zb_order_add(order, rank, job.stage, job.kind, job.micro_batch));
  }
  return NULL;
}

zb_status zb_module_order(const zb_module_problem *problem, zb_order *out) {
  ZB_TRY(zb_order_init(out, problem->problem.ranks));
  zb_status status = NULL;
  for (int rank = 0; rank < problem->problem.ranks; ++rank) {
    const char *text = zb_get_string(problem->ranks[rank], ZB_ATTR_ORDER);
    if (!text) ZB_TRY_GOTO(ZB_ERROR(INVALID, "rank %d has no zb.order: run zb-schedule", rank));
    ZB_TRY_GOTO(zb_order_parse(text, rank, out));
  }
cleanup:
  if (status) zb_order_deinit(out);
  return status;
}
