/* The schedule problem of a framed module: see passes/stages/jobs/problem.h. Tested through test/passes/schedule.mlir.
 */

#include "passes/stages/jobs/problem.h"

#include "passes/stages/jobs/overwritten.h"

#include "passes/stages/classes.h"

#include "passes/stages/cost.h"
#include "passes/stages/frames.h"
#include "passes/stages/functions/shard_optimizer.h"
#include "passes/function.h"
#include "passes/tables.h"
#include "passes/stages/replicas.h"
#include "runtime/base/map.h"
#include "runtime/base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int64_t zb_frame_bytes(MlirOperation function, const char *kind) {
  zb_ports walks[] = {zb_arguments(function), zb_results(function)};
  for (int i = 0; i < 2; ++i)
    while (zb_next(&walks[i]))
      if (walks[i].port.frame && strcmp(walks[i].port.frame, kind) == 0) return (int64_t)zb_type_bytes(walks[i].type);
  return 0;
}

MlirOperation *zb_stage_functions(zb_arena *arena, MlirModule module, int stages) {
  MlirOperation *functions = ZB_NEW(arena, MlirOperation, stages * ZB_KIND_COUNT);
  ZB_FOR_EACH_OP(rank, mlirModuleGetBody(module)) {
    if (!zb_op_is(rank, "builtin.module") || !functions) continue;
    ZB_FOR_EACH_OP(function, zb_function_block(rank)) {
      int stage = (int)zb_get_i64(function, ZB_ATTR_STAGE, -1), c = zb_class_kind(function);
      if (stage >= 0 && stage < stages && c >= 0) functions[stage * ZB_KIND_COUNT + c] = function;
    }
  }
  return functions;
}

zb_map *zb_value_producers(zb_arena *arena, const MlirOperation *functions, int stages) {
  zb_map *producers = zb_arena_map_pointer(arena);
  for (int i = 0; i < stages * ZB_KIND_COUNT; ++i)
    for (zb_ports at = zb_results(functions[i]); zb_next(&at);)
      if (at.port.value >= 0) zb_arena_map_set(arena, producers, zb_id_key(at.port.value), i);
  return producers;
}

/* With the interpreter's part; the first run of a step is spread over all. */
static int64_t job_time(const zb_module_problem *p, MlirOperation function, int runs) {
  int64_t time = zb_get_i64(function, ZB_ATTR_TIME_PS, 1), first = zb_get_i64(function, ZB_ATTR_FIRST_PS, time);
  return time + (runs > 0 ? (first - time) / runs : 0) + p->job_ps;
}

/* Bytes of the parameters that are gathered for a job. */
static int64_t gathered_of(const zb_module_problem *p, int stage, zb_kind kind) {
  return zb_frame_bytes(p->functions[stage * ZB_KIND_COUNT + (int)kind], frame_names[FRAME_GATHERED]);
}

/* Room for parameters that are gathered: for a job and the one behind it, whose gather goes on meanwhile; or of all
 * stages for the whole step. What is kept from F to B is in their costs. */
static int64_t gathered_bytes(const zb_module_problem *p, int rank) {
  const char *text = zb_get_string(p->top, ZB_ATTR_GATHER);
  const zb_gathered kept = text ? zb_gathered_of(text) : ZB_GATHERED_COUNT;
  int64_t most[2] = {0, 0}, all = 0;
  for (int s = 0; text && s < p->problem.stages; ++s) {
    if (p->stage_rank[s] != rank) continue;
    const int64_t of_jobs[2] = {gathered_of(p, s, ZB_F), gathered_of(p, s, ZB_B)};
    all += of_jobs[0] > of_jobs[1] ? of_jobs[0] : of_jobs[1];
    for (int k = 0; k < 2; ++k) {
      if (of_jobs[k] > most[0])
        most[1] = most[0], most[0] = of_jobs[k];
      else if (of_jobs[k] > most[1])
        most[1] = of_jobs[k];
    }
  }
  return kept == ZB_GATHERED_STEP ? all : kept == ZB_GATHERED_MICRO_BATCH ? most[0] : most[0] + most[1];
}

static zb_status read_rank(zb_module_problem *p, MlirOperation module, int rank) {
  zb_overwritten_list overwritten = {0};
  int64_t pool_bytes[POOL_COUNT] = {0}, workspace = 0;
  ZB_FOR_EACH_OP(function, zb_function_block(module)) {
    zb_job_kind kind = zb_class_get(function);
    if (kind == ZB_JOB_KIND_COUNT) continue; /* @main */
    for (int i = 0; i < POOL_COUNT; ++i) {
      int64_t bytes = zb_frame_bytes(function, pool_names[i]);
      if (bytes > pool_bytes[i]) pool_bytes[i] = bytes;
    }
    int64_t own = kind == ZB_JOB_EVALUATE ? 0 : zb_get_i64(function, ZB_ATTR_WORKSPACE, 0);
    own += zb_frame_bytes(function, frame_names[FRAME_GB]) + zb_frame_bytes(function, frame_names[FRAME_GW]);
    if (own > workspace) workspace = own;
    if (zb_job_is_optimizer(kind)) p->optimizer_ps[rank] += job_time(p, function, 1);
  }
  if (pool_bytes[POOL_STEP] == 0) pool_bytes[POOL_STEP] = sizeof(int64_t); /* the number of the step alone */
  pool_bytes[POOL_GRADIENTS] =
      zb_sum_buffers(p->top, p->problem.micro_batches) * (int64_t)zb_align((uint64_t)pool_bytes[POOL_GRADIENTS]);
  p->base_bytes[rank] = workspace + gathered_bytes(p, rank);
  for (int i = 0; i < POOL_COUNT; ++i)
    if (i != POOL_NORMS) /* that is in the slots, when frames are gone */
      p->base_bytes[rank] += (int64_t)zb_align((uint64_t)pool_bytes[i]);
  if (zb_has_attribute(p->top, ZB_ATTR_POST_VALIDATION))
    ZB_TRY(zb_overwritten_find(&p->arena, p->top, module, &overwritten));
  const uint64_t kept = zb_overwritten_bytes(&overwritten);
  p->base_bytes[rank] += (int64_t)kept;
  p->snapshot_ps[rank] = (int64_t)((double)kept * zb_link_costs_get(p->top).copy_ps_per_byte);
  return NULL;
}

/* Whether a function changes what lies in a pool. */
static bool changes(MlirOperation function, int pool) {
  for (zb_ports at = zb_results(function); zb_next(&at);)
    if (at.port.frame && strcmp(at.port.frame, pool_names[pool]) == 0) return true;
  return false;
}

/* What of W runs beside the sums of its B is no time of its own; that it may run beside those of other jobs the plan
 * knows alone. */
static void hide(zb_stage_cost *cost, MlirOperation w) {
  const int64_t hidden = mlirOperationIsNull(w) ? 0 : zb_get_i64(w, ZB_ATTR_HIDDEN_PS, 0);
  const int64_t most = cost->time_ps[ZB_W] - 1;
  cost->hidden_ps = hidden < most ? hidden : most;
  if (cost->hidden_ps < 0) cost->hidden_ps = 0;
  cost->time_ps[ZB_W] -= cost->hidden_ps;
}

static void read_costs(zb_module_problem *p) {
  const char *gather = zb_get_string(p->top, ZB_ATTR_GATHER);
  const bool kept = gather && zb_gathered_of(gather) == ZB_GATHERED_MICRO_BATCH; /* from F to B */
  for (int s = 0; s < p->problem.stages; ++s) {
    const MlirOperation *f = &p->functions[s * ZB_KIND_COUNT];
    int64_t fb = zb_frame_bytes(f[0], frame_names[FRAME_FB]), fw = zb_frame_bytes(f[0], frame_names[FRAME_FW]);
    int64_t bw = zb_frame_bytes(f[1], frame_names[FRAME_BW]);
    zb_stage_cost *cost = &p->costs[s];
    for (int c = 0; c < ZB_KIND_COUNT; ++c)
      cost->time_ps[c] = job_time(p, f[c], p->problem.micro_batches);
    hide(cost, f[ZB_W]);
    cost->b_accumulates = changes(f[ZB_B], POOL_GRADIENTS) || zb_frame_bytes(f[ZB_B], frame_names[FRAME_GB]) > 0;
    cost->f_updates = changes(f[ZB_F], POOL_BUFFERS);
    cost->keep_bytes[ZB_F] = fb + fw;
    cost->keep_bytes[ZB_B] = bw;
    cost->free_bytes[ZB_B] = fb;
    cost->free_bytes[ZB_W] = fw + bw;
    if (!kept) continue;
    const int64_t of_f = gathered_of(p, s, ZB_F), of_b = gathered_of(p, s, ZB_B), all = of_f > of_b ? of_f : of_b;
    cost->keep_bytes[ZB_F] += all;
    cost->free_bytes[ZB_B] += all;
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

static void add_hop(zb_module_problem *p, zb_map *index, int source, int destination, int64_t id, int64_t bytes) {
  void *key = zb_id_key((int64_t)source * p->problem.stages + destination);
  size_t at = (size_t)zb_map_get_or(index, key, (int64_t)p->hops.count);
  if (at == p->hops.count) {
    zb_arena_map_set(&p->arena, index, key, (int64_t)at);
    if (!ZB_PUSH(&p->arena, &p->hops, (zb_hop){.source = source, .destination = destination})) return;
  }
  zb_hop *hop = &p->hops.items[at];
  (void)ZB_PUSH(&p->arena, &hop->values, id);
  hop->bytes += bytes;
}

typedef ZB_LIST(travel) travels;

/* All (value, reading stage) pairs of values that leave their stage. */
static void find_travels(zb_module_problem *p, const zb_map *producers, travels *out) {
  for (int f = 0; f < p->problem.stages * ZB_KIND_COUNT; ++f)
    for (zb_ports at = zb_arguments(p->functions[f]); zb_next(&at);) {
      const int stage = f / ZB_KIND_COUNT;
      int64_t id = at.port.value, producer;
      if (id < 0 || !zb_map_get(producers, zb_id_key(id), &producer) || producer / ZB_KIND_COUNT == stage) continue;
      (void)ZB_PUSH(&p->arena, out,
                    (travel){.id = id,
                             .producer = (int)(producer / ZB_KIND_COUNT),
                             .stage = stage,
                             .backward = producer % ZB_KIND_COUNT != ZB_F,
                             .bytes = (int64_t)zb_type_bytes(at.type)});
    }
  if (out->count) qsort(out->items, out->count, sizeof *out->items, compare_travel);
}

/* The last stage of a rank that has a value. */
typedef struct holder {
  size_t value; /* by the first of its travels, from 1 */
  int stage;
} holder;

/* A value travels from reader to reader, but a rank that has it already, as its producer or for another stage, keeps it
 * for its next stage: no rank gets a value twice. */
static zb_status build_hops(zb_module_problem *p) {
  zb_map *index = zb_arena_map_pointer(&p->arena),
         *producers = zb_value_producers(&p->arena, p->functions, p->problem.stages);
  travels list = {0};
  holder *holders = ZB_NEW(&p->arena, holder, p->problem.ranks);
  ZB_TRY(zb_arena_status(&p->arena));
  find_travels(p, producers, &list);
  for (size_t i = 0, first = 0; i < list.count; ++i) {
    const travel *t = &list.items[i];
    const bool begins = i == 0 || t[-1].id != t->id;
    if (begins) first = i + 1;
    if (!begins && t[-1].stage == t->stage) continue; /* read by two classes */
    const int from = begins ? t->producer : t[-1].stage, rank = p->stage_rank[t->stage];
    holders[p->stage_rank[from]] = (holder){.value = first, .stage = from};
    add_hop(p, index, holders[rank].value == first ? holders[rank].stage : from, t->stage, t->id, t->bytes);
  }
  return zb_arena_status(&p->arena);
}

static zb_status build_edges(zb_module_problem *p) {
  p->edges = ZB_NEW(&p->arena, zb_edge, p->hops.count);
  ZB_TRY(zb_arena_status(&p->arena));
  int count = 0;
  for (size_t i = 0; i < p->hops.count; ++i) {
    const zb_hop *hop = &p->hops.items[i];
    bool forward = hop->source < hop->destination;
    int low = forward ? hop->source : hop->destination, high = forward ? hop->destination : hop->source, e = 0;
    while (e < count && (p->edges[e].source != low || p->edges[e].destination != high))
      ++e;
    if (e == count) p->edges[count++] = (zb_edge){.source = low, .destination = high};
    *(forward ? &p->edges[e].forward_bytes : &p->edges[e].backward_bytes) += hop->bytes;
  }
  p->problem.edges = p->edges;
  p->problem.edge_count = count;
  return NULL;
}

static int compare_hops(const void *a, const void *b) {
  const zb_hop *x = a, *y = b;
  return x->source != y->source ? x->source - y->source : x->destination - y->destination;
}

/* What steps and evaluations have in common. */
static zb_status read_module(MlirModule module, int micro_batches, zb_module_problem *out) {
  MlirOperation top = mlirModuleGetOperation(module);
  *out = (zb_module_problem){.top = top};
  zb_arena *arena = &out->arena;
  zb_problem *problem = &out->problem;
  problem->ranks = (int)zb_get_i64(top, ZB_ATTR_RANKS, 0);
  out->stage_rank = zb_stage_ranks(arena, top, &problem->stages);
  problem->micro_batches = micro_batches;
  const zb_link_costs link = zb_link_costs_get(top);
  problem->link_latency_ps = link.latency_ps + link.wake_ps; /* most receivers wait */
  problem->link_ps_per_byte = link.ps_per_byte;
  out->job_ps = link.job_ps;
  out->costs = ZB_NEW(arena, zb_stage_cost, problem->stages);
  out->base_bytes = ZB_NEW(arena, int64_t, problem->ranks);
  out->optimizer_ps = ZB_NEW(arena, int64_t, problem->ranks);
  out->snapshot_ps = ZB_NEW(arena, int64_t, problem->ranks);
  out->ranks = ZB_NEW(arena, MlirOperation, problem->ranks);
  out->functions = ZB_NEW(arena, MlirOperation, problem->stages * ZB_KIND_COUNT);
  ZB_TRY(zb_arena_status(arena));
  problem->stage_rank = out->stage_rank;
  problem->costs = out->costs;
  problem->base_bytes = out->base_bytes;
  problem->optimizer_ps = out->optimizer_ps;
  ZB_FOR_EACH_OP(op, mlirModuleGetBody(module)) {
    int rank = (int)zb_get_i64(op, ZB_ATTR_RANK, -1);
    if (rank >= 0 && rank < problem->ranks && zb_op_is(op, "builtin.module")) out->ranks[rank] = op;
  }
  return NULL;
}

static zb_status read_hops(zb_module_problem *p) {
  ZB_TRY(build_hops(p));
  if (p->hops.count) qsort(p->hops.items, p->hops.count, sizeof *p->hops.items, compare_hops);
  return build_edges(p);
}

static zb_status read_evaluation(zb_module_problem *p) {
  int found = 0;
  for (int rank = 0; rank < p->problem.ranks; ++rank) {
    if (mlirOperationIsNull(p->ranks[rank])) continue;
    ZB_FOR_EACH_OP(function, zb_function_block(p->ranks[rank])) {
      const int stage = (int)zb_get_i64(function, ZB_ATTR_STAGE, -1);
      if (zb_class_get(function) != ZB_JOB_EVALUATE || stage < 0 || stage >= p->problem.stages) continue;
      p->functions[stage * ZB_KIND_COUNT + ZB_F] = function;
      p->costs[stage].time_ps[ZB_F] = job_time(p, function, 0);
      ++found;
    }
  }
  if (found == p->problem.stages) return read_hops(p);
  p->problem.stages = 0;
  return found == 0 ? NULL : ZB_ERROR(INVALID, "%d stages have a function of class E, others have none", found);
}

zb_status zb_module_evaluation_build(MlirModule module, int micro_batches, zb_module_problem *out) {
  zb_status status = read_module(module, micro_batches, out);
  if (!status) status = read_evaluation(out);
  if (status) zb_module_problem_deinit(out);
  return status;
}

zb_status zb_module_problem_build(MlirModule module, int micro_batches, zb_module_problem *out) {
  zb_status status = NULL;
  const zb_problem *problem = &out->problem;
  ZB_TRY_GOTO(read_module(module, micro_batches, out));
  out->functions = zb_stage_functions(&out->arena, module, problem->stages);
  ZB_TRY_GOTO(zb_arena_status(&out->arena));
  for (int rank = 0; rank < problem->ranks; ++rank)
    if (!mlirOperationIsNull(out->ranks[rank])) ZB_TRY_GOTO(read_rank(out, out->ranks[rank], rank));
  for (int i = 0; i < problem->stages * ZB_KIND_COUNT; ++i)
    if (mlirOperationIsNull(out->functions[i]))
      ZB_TRY_GOTO(ZB_ERROR(INVALID, "stage %d has no function of class %c", i / ZB_KIND_COUNT,
                           zb_job_letter((zb_job_kind)(ZB_JOB_F + i % ZB_KIND_COUNT))));
  read_costs(out);
  status = read_hops(out);
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
  char v_form[64]; /* "dualpipe" has "dualpipev" */
  snprintf(v_form, sizeof v_form, "%sv", out->schedule->name);
  return zb_status_hint(ZB_ERROR(USAGE,
                                 "%s keeps every stage on two ranks: it can be simulated (zb-sched), not trained",
                                 out->schedule->name),
                        "%s keeps every stage on one rank", zb_schedule_find(v_form, NULL) ? v_form : "zb-h1");
}

/* ---- Orders as text ---- */

char *zb_order_text(const zb_order *order, int rank) {
  zb_text text = {0};
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

static MlirOperation rank_module(MlirModule module, int rank) {
  ZB_FOR_EACH_OP(op, mlirModuleGetBody(module))
    if (zb_op_is(op, "builtin.module") && zb_get_i64(op, ZB_ATTR_RANK, -1) == rank) return op;
  return (MlirOperation){0};
}

zb_status zb_module_order_write(MlirModule module, const zb_order *order, const char *name, int micro_batches) {
  for (int rank = 0; rank < order->ranks; ++rank) {
    char *text = zb_order_text(order, rank);
    if (!text) return ZB_OUT_OF_MEMORY();
    zb_set_string(rank_module(module, rank), ZB_ATTR_ORDER, text);
    zb_free(text);
  }
  MlirOperation top = mlirModuleGetOperation(module);
  zb_set_string(top, ZB_ATTR_SCHEDULE, name);
  zb_set_i64(top, ZB_ATTR_MICRO_BATCHES, micro_batches);
  /* For --csv, which writes the order again; our passes send a gradient after its B. */
  if (order->whole_backward) zb_set_i64(top, ZB_ATTR_WHOLE_BACKWARD, 1);
  return NULL;
}
