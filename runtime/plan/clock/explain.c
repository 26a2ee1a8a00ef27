/* See explain.h. Tests: test/runtime/plan/clock/explain_test.c. */
#include "runtime/plan/clock/explain.h"

#include <math.h>
#include <string.h>

#include "runtime/base/explanation.h"
#include "runtime/base/free_run.h"
#include "runtime/plan/clock/simulator.h"
#include "runtime/plan/file/ranks.h"
#include "runtime/plan/mesh/mesh.h"

/* ---- Paces ---- */

void zb_plan_pace_deinit(zb_plan_pace *pace) {
  zb_arena_deinit(&pace->memory);
  *pace = (zb_plan_pace){0};
}

static zb_status take_pace(zb_plan_pace *pace, const zb_plan *plan) {
  *pace = (zb_plan_pace){0};
  zb_arena *arena = &pace->memory;
  const int ranks = plan->rank_count;
  ZB_TAKE(arena, pace->job_ps, ranks);
  ZB_TAKE(arena, pace->after_ps, ranks);
  ZB_TAKE(arena, pace->wake_ps, ranks);
  ZB_TAKE(arena, pace->begin_ps, ranks);
  ZB_TAKE(arena, pace->message_ps, plan->message_count + 1);
  ZB_TRY(zb_arena_status(arena));
  for (int r = 0; r < ranks; ++r) {
    ZB_TAKE(arena, pace->job_ps[r], plan->ranks[r].job_count + 1);
    ZB_TAKE(arena, pace->after_ps[r], plan->ranks[r].job_count + 1);
    ZB_TAKE(arena, pace->wake_ps[r], plan->ranks[r].job_count + 1);
  }
  return zb_arena_status(arena);
}

static zb_status fill_rank(zb_plan_pace *pace, const zb_plan *plan, int r) {
  const zb_plan_rank *rank = &plan->ranks[r];
  bool *ran = zb_alloc((size_t)rank->subprogram_count + 1);
  if (!ran) return ZB_OUT_OF_MEMORY();
  for (int i = rank->load_count; i < rank->job_count; ++i) {
    const zb_plan_job *job = &rank->jobs[i];
    pace->after_ps[r][i] = plan->job_ps;
    pace->wake_ps[r][i] = plan->link_wake_ps;
    if (job->kind == ZB_JOB_READ) pace->job_ps[r][i] = plan->read_ps;
    if (job->subprogram < 0) continue;
    const zb_plan_subprogram *s = &rank->subprograms[job->subprogram];
    pace->job_ps[r][i] = (!ran[job->subprogram] && s->first_ps ? s->first_ps : s->time_ps) + job->derived.woven_ps;
    ran[job->subprogram] = true;
  }
  zb_free(ran);
  return NULL;
}

zb_status zb_plan_pace_init(zb_plan_pace *pace, const zb_plan *plan) {
  ZB_TRY(take_pace(pace, plan));
  for (int r = 0; r < plan->rank_count; ++r)
    ZB_TRY(fill_rank(pace, plan, r));
  for (int m = 0; m < plan->message_count; ++m)
    pace->message_ps[m] =
        plan->link_latency_ps + llround((double)zb_plan_timed_bytes(&plan->messages[m]) * plan->link_ps_per_byte);
  pace->step_ps = plan->step_ps;
  pace->copies = plan->link_copies;
  return NULL;
}

static zb_status copy_pace(zb_plan_pace *out, const zb_plan *plan, const zb_plan_pace *from) {
  ZB_TRY(take_pace(out, plan));
  for (int r = 0; r < plan->rank_count; ++r) {
    const size_t bytes = (size_t)plan->ranks[r].job_count * sizeof(int64_t);
    memcpy(out->job_ps[r], from->job_ps[r], bytes);
    memcpy(out->after_ps[r], from->after_ps[r], bytes);
    memcpy(out->wake_ps[r], from->wake_ps[r], bytes);
    out->begin_ps[r] = from->begin_ps[r];
  }
  memcpy(out->message_ps, from->message_ps, (size_t)plan->message_count * sizeof(int64_t));
  out->step_ps = from->step_ps;
  out->copies = from->copies;
  return NULL;
}

/* ---- Paces without a cause ---- */

static void free_interpreter(zb_plan_pace *pace, const zb_plan *plan) {
  for (int r = 0; r < plan->rank_count; ++r) {
    pace->begin_ps[r] = 0;
    for (int i = 0; i < plan->ranks[r].job_count; ++i) {
      pace->after_ps[r][i] = pace->wake_ps[r][i] = 0;
      if (plan->ranks[r].jobs[i].subprogram < 0) pace->job_ps[r][i] = 0;
    }
  }
  pace->step_ps = 0;
}

static void free_messages(zb_plan_pace *pace, const zb_plan *plan) {
  for (int m = 0; m < plan->message_count; ++m)
    pace->message_ps[m] = 0;
}

/* A mean of whole numbers whose sum may be too large. */
typedef struct mean {
  int64_t count, whole, rest;
} mean;

static void add_to_mean(mean *m, int64_t value) {
  m->whole += value / m->count;
  m->rest += value % m->count;
}

static int64_t value_of(const mean *m) { return m->count > 0 ? m->whole + m->rest / m->count : 0; }

static bool is_step_compute(const zb_plan_rank *rank, int job) {
  return job >= rank->load_count && rank->jobs[job].subprogram >= 0;
}

/* Whether a kind runs for every micro-batch: F, B, W. Others run once a step, so that what counts is a rank's sum. */
static bool is_of_stage(zb_job_kind kind) { return kind == ZB_JOB_F || kind == ZB_JOB_B || kind == ZB_JOB_W; }

/* Every F takes the mean of all F, and so on. Of kinds that run once a step each rank that has jobs of the kind gets
 * the mean of the sums of these ranks, in equal parts. */
static void make_even(zb_plan_pace *pace, const zb_plan *plan, zb_job_kind kind) {
  const bool by_rank = !is_of_stage(kind);
  mean m = {0};
  for (int pass = 0; pass < 3; ++pass)
    for (int r = 0; r < plan->rank_count; ++r) {
      const zb_plan_rank *rank = &plan->ranks[r];
      int64_t jobs = 0, sum = 0;
      for (int i = 0; i < rank->job_count; ++i) {
        if (!is_step_compute(rank, i) || rank->jobs[i].kind != kind) continue;
        ++jobs;
        sum += pace->job_ps[r][i];
        if (pass == 1 && !by_rank) add_to_mean(&m, pace->job_ps[r][i]);
      }
      if (pass == 0) m.count += by_rank ? jobs > 0 : jobs;
      if (pass == 1 && by_rank && jobs > 0) add_to_mean(&m, sum);
      int64_t left = value_of(&m);
      for (int i = 0; pass == 2 && i < rank->job_count; ++i) {
        if (!is_step_compute(rank, i) || rank->jobs[i].kind != kind) continue;
        const int64_t part = by_rank ? left / jobs : left;
        pace->job_ps[r][i] = part;
        if (by_rank) left -= part, --jobs;
      }
    }
}

static void free_imbalance(zb_plan_pace *pace, const zb_plan *plan) {
  for (int kind = 0; kind < ZB_JOB_KIND_COUNT; ++kind)
    if (zb_job_is_compute((zb_job_kind)kind)) make_even(pace, plan, (zb_job_kind)kind);
}

/* ---- Out of turn ---- */

/* The compute jobs of a step as a graph: one node a job, or B and W that are one backward. */
typedef struct graph {
  const zb_plan *plan;
  bool whole;
  int32_t **node;  /* [rank][job] -1: none */
  int32_t *begin;  /* [ranks + 1] */
  int32_t *send;   /* [message] the node whose results it carries; -1 */
  int32_t *own[3]; /* F, B, W: [stage * micro_batches + micro_batch] its node, -1 */
  zb_free_job *jobs;
  ZB_LIST(zb_free_edge) edges;
  int64_t *busy_ps, *limit_bytes; /* [ranks] */
  zb_arena arena;
} graph;

/* Whether a job belongs to the one before it: a further part of W, what is added beside it, or sums of a group. */
static bool goes_on(const zb_plan_rank *rank, const zb_plan_job *job, const zb_plan_job *last) {
  const bool same =
      last && last->kind == ZB_JOB_W && last->stage == job->stage && last->micro_batch == job->micro_batch;
  return job->derived.beside || job->kind == ZB_JOB_FOLD ||
         (rank->subprograms[job->subprogram].derived.part_of && same);
}

/* Whether every W stands right behind its B: the schedule does not split backwards, and gradients leave behind W. */
static bool has_whole_backwards(const zb_plan *plan) {
  for (int r = 0; r < plan->rank_count; ++r) {
    const zb_plan_rank *rank = &plan->ranks[r];
    const zb_plan_job *last = NULL;
    for (int i = rank->load_count; i < rank->job_count; ++i) {
      const zb_plan_job *job = &rank->jobs[i];
      if (job->kind == ZB_JOB_SEND && last && last->kind == ZB_JOB_B &&
          plan->messages[job->message].payload == ZB_PAYLOAD_BACKWARD)
        return false;
      if (job->subprogram < 0 || goes_on(rank, job, last)) continue;
      const bool follows =
          last && last->kind == ZB_JOB_B && last->stage == job->stage && last->micro_batch == job->micro_batch;
      if (job->kind == ZB_JOB_W && !follows) return false;
      last = job;
    }
  }
  return true;
}

static int slot_of(zb_job_kind kind) { return kind == ZB_JOB_F ? 0 : kind == ZB_JOB_B ? 1 : 2; }

/* First what others wait for. */
static int class_of(zb_job_kind kind) { return kind == ZB_JOB_F ? 1 : kind == ZB_JOB_W ? 2 : 0; }

static zb_status take_graph(graph *g) {
  const zb_plan *plan = g->plan;
  const size_t pairs = (size_t)plan->stage_count * (size_t)plan->micro_batches;
  size_t jobs = 0;
  for (int r = 0; r < plan->rank_count; ++r)
    jobs += (size_t)plan->ranks[r].job_count;
  int32_t *node;
  ZB_TAKE(&g->arena, g->node, plan->rank_count);
  ZB_TAKE(&g->arena, node, jobs + 1);
  ZB_TAKE(&g->arena, g->begin, plan->rank_count + 1);
  ZB_TAKE(&g->arena, g->send, plan->message_count + 1);
  ZB_TAKE(&g->arena, g->jobs, jobs + 1);
  ZB_TAKE(&g->arena, g->busy_ps, plan->rank_count);
  ZB_TAKE(&g->arena, g->limit_bytes, plan->rank_count);
  for (int kind = 0; kind < 3; ++kind)
    ZB_TAKE(&g->arena, g->own[kind], pairs + 1);
  ZB_TRY(zb_arena_status(&g->arena));
  for (int r = 0; r < plan->rank_count; node += plan->ranks[r++].job_count)
    g->node[r] = node;
  for (int kind = 0; kind < 3; ++kind)
    memset(g->own[kind], -1, pairs * sizeof **g->own);
  return NULL;
}

/* Bytes of the frames of a subprogram that have these names: what F, B and W hand on to each other. */
static int64_t frames_of(const zb_plan_subprogram *s, const char *first, const char *second) {
  int64_t bytes = 0;
  for (int b = 0; b < s->base_count; ++b)
    if (strcmp(s->bases[b], first) == 0 || strcmp(s->bases[b], second) == 0) bytes += (int64_t)s->base_bytes[b];
  return bytes;
}

static zb_free_job node_of(const zb_plan_rank *rank, const zb_plan_job *job, int64_t time_ps) {
  const zb_plan_subprogram *s = &rank->subprograms[job->subprogram];
  zb_free_job out = {.time_ps = time_ps, .job_class = class_of(job->kind), .filler = job->kind == ZB_JOB_W};
  if (job->kind == ZB_JOB_F) out.keep_bytes = frames_of(s, "fb", "fw");
  if (job->kind == ZB_JOB_B) out.keep_bytes = frames_of(s, "bw", "bw");
  if (job->kind == ZB_JOB_B) out.free_bytes = frames_of(s, "fb", "fb");
  if (job->kind == ZB_JOB_W) out.free_bytes = frames_of(s, "fw", "bw");
  return out;
}

static void make_nodes(graph *g, const zb_plan_pace *pace) {
  const zb_plan *plan = g->plan;
  int32_t count = 0;
  for (int r = 0; r < plan->rank_count; ++r) {
    const zb_plan_rank *rank = &plan->ranks[r];
    const zb_plan_job *before = NULL;
    int32_t last = -1;
    g->begin[r] = count;
    for (int i = 0; i < rank->job_count; ++i) {
      const zb_plan_job *job = &rank->jobs[i];
      g->node[r][i] = -1;
      if (job->kind == ZB_JOB_SEND) g->send[job->message] = last;
      if (!is_step_compute(rank, i)) continue;
      const zb_free_job made = node_of(rank, job, pace->job_ps[r][i]);
      if (before && goes_on(rank, job, before)) {
        g->jobs[last].time_ps += made.time_ps;
      } else if (g->whole && job->kind == ZB_JOB_W) {
        g->jobs[last].time_ps += made.time_ps;
        g->jobs[last].free_bytes += made.free_bytes;
      } else {
        last = count++;
        g->jobs[last] = made;
      }
      if (!before || !goes_on(rank, job, before)) before = job;
      g->busy_ps[r] += made.time_ps;
      g->node[r][i] = last;
      if (is_of_stage(job->kind) && job->stage >= 0 && job->micro_batch >= 0)
        g->own[slot_of(job->kind)][job->stage * plan->micro_batches + job->micro_batch] = last;
    }
  }
  g->begin[plan->rank_count] = count;
}

static zb_status add_edge(graph *g, int32_t from, int32_t to, int64_t delay_ps) {
  if (from < 0 || to < 0 || from == to) return NULL;
  return ZB_PUSH(&g->arena, &g->edges, (zb_free_edge){from, to, delay_ps}) ? NULL : ZB_OUT_OF_MEMORY();
}

/* What a job waits for of other ranks; what runs once a step comes behind everything before it. */
static zb_status add_list_edges(graph *g, const zb_plan_pace *pace, int r) {
  const zb_plan_rank *rank = &g->plan->ranks[r];
  int32_t once = -1;
  for (int i = rank->load_count; i < rank->job_count; ++i) {
    const zb_plan_job *job = &rank->jobs[i];
    const int32_t node = g->node[r][i];
    if (node < 0 || job->derived.beside) continue;
    for (uint32_t w = 0; w < job->waits.count; ++w) {
      const zb_plan_job *waited = &rank->jobs[rank->pool_u32[job->waits.begin + w]];
      if (waited->kind == ZB_JOB_RECV)
        ZB_TRY(add_edge(g, g->send[waited->message], node, pace->message_ps[waited->message]));
    }
    if (is_of_stage(job->kind) || job->kind == ZB_JOB_FOLD) continue;
    for (int32_t before = once < 0 ? g->begin[r] : once; before < node; ++before)
      ZB_TRY(add_edge(g, before, node, 0));
    once = node;
  }
  return NULL;
}

/* Within a rank nodes are numbered as the list has them: what stands the other way round needs nothing of each other.
 */
static zb_status add_edge_in_turn(graph *g, int32_t from, int32_t to) {
  return from < to ? add_edge(g, from, to, 0) : NULL;
}

/* Within a rank values go from stage to stage without a message, so that its stages run in their order. A stage whose B
 * computes nothing (an addition) gives nothing to the one before, and may stand behind it. */
static zb_status add_stage_edges(graph *g) {
  const zb_plan *plan = g->plan;
  for (int stage = 0; stage < plan->stage_count; ++stage) {
    int next = stage + 1;
    while (next < plan->stage_count && plan->stage_rank[next] != plan->stage_rank[stage])
      ++next;
    for (int m = 0; m < plan->micro_batches; ++m) {
      const int at = stage * plan->micro_batches + m, there = next * plan->micro_batches + m;
      ZB_TRY(add_edge(g, g->own[0][at], g->own[1][at], 0));
      ZB_TRY(add_edge(g, g->own[1][at], g->own[2][at], 0));
      const bool follows = m % zb_plan_own_micro_batches(plan) > 0; /* another one of its replica */
      if (follows) ZB_TRY(add_edge(g, g->own[2][at - 1], g->own[2][at], 0));
      if (next == plan->stage_count) continue;
      ZB_TRY(add_edge_in_turn(g, g->own[0][at], g->own[0][there]));
      ZB_TRY(add_edge_in_turn(g, g->own[1][there], g->own[1][at]));
    }
  }
  return NULL;
}

/* What a step takes whose jobs start then. */
static zb_status measure(void *context, const int64_t *start_ps, int64_t *time_ps) {
  const graph *g = context;
  *time_ps = 0;
  for (int32_t node = 0; node < g->begin[g->plan->rank_count]; ++node)
    if (start_ps[node] + g->jobs[node].time_ps > *time_ps) *time_ps = start_ps[node] + g->jobs[node].time_ps;
  return NULL;
}

/* busy_ps (may be NULL): what each rank computes then. */
static zb_status run_out_of_turn(const zb_plan *plan, const zb_plan_pace *pace, zb_free_best *out, int64_t *busy_ps) {
  graph g = {.plan = plan, .whole = has_whole_backwards(plan)};
  zb_status status = NULL;
  ZB_TRY_GOTO(take_graph(&g));
  make_nodes(&g, pace);
  for (int r = 0; r < plan->rank_count; ++r)
    ZB_TRY_GOTO(add_list_edges(&g, pace, r));
  ZB_TRY_GOTO(add_stage_edges(&g));
  const zb_free_graph free_graph = {plan->rank_count, g.begin, g.jobs, g.edges.items, g.edges.count};
  ZB_TRY_GOTO(zb_free_find_best(&free_graph, g.limit_bytes, measure, &g, out));
  for (int r = 0; busy_ps && r < plan->rank_count; ++r)
    busy_ps[r] = g.busy_ps[r];
cleanup:
  zb_arena_deinit(&g.arena);
  return status;
}

/* ---- All causes ---- */

typedef struct explainer {
  const zb_plan *plan;
  const zb_plan_pace *pace;
  zb_explanation *out;
  int64_t as_is_ps; /* of the step at this pace */
  int64_t *busy_ps; /* [ranks] of the last run */
} explainer;

static zb_status run_in_turn(explainer *x, const zb_plan_pace *pace, int64_t *time_ps) {
  zb_plan_simulation simulation;
  ZB_TRY(zb_plan_simulate_pace(x->plan, pace, &simulation));
  *time_ps = simulation.step_ps;
  for (int r = 0; r < x->plan->rank_count; ++r)
    x->busy_ps[r] = simulation.ranks[r].busy_ps;
  zb_plan_simulation_free(&simulation);
  return NULL;
}

static zb_status begin(explainer *x, const zb_plan_measured *measured) {
  zb_explanation *out = x->out;
  ZB_TRY(run_in_turn(x, x->pace, &x->as_is_ps));
  out->time_ps = measured ? measured->step_ps : x->as_is_ps;
  for (int r = 0; r < x->plan->rank_count; ++r)
    out->idle_ps[r] = out->time_ps - (measured ? measured->busy_ps[r] : x->busy_ps[r]);
  zb_explanation_begin(out);
  if (!measured) return NULL;
  zb_explanation_take(out, ZB_CAUSE_NOISE, x->as_is_ps, x->busy_ps);
  zb_explanation_save(out, ZB_CAUSE_NOISE, x->as_is_ps);
  return NULL;
}

typedef void (*change)(zb_plan_pace *pace, const zb_plan *plan);
static const struct {
  zb_cause cause;
  change take_away;
} changes[] = {
    {ZB_CAUSE_INTERPRETER, free_interpreter}, {ZB_CAUSE_MESSAGES, free_messages}, {ZB_CAUSE_IMBALANCE, free_imbalance}};
enum { CHANGES = sizeof changes / sizeof changes[0] };

/* One after the other. */
static zb_status take_away(explainer *x) {
  zb_plan_pace pace;
  zb_free_best best;
  int64_t time = 0;
  zb_status status = NULL;
  ZB_TRY_GOTO(copy_pace(&pace, x->plan, x->pace));
  for (int i = 0; i < CHANGES; ++i) {
    changes[i].take_away(&pace, x->plan);
    ZB_TRY_GOTO(run_in_turn(x, &pace, &time));
    zb_explanation_take(x->out, changes[i].cause, time, x->busy_ps);
  }
  ZB_TRY_GOTO(run_out_of_turn(x->plan, &pace, &best, x->busy_ps));
  zb_explanation_take(x->out, ZB_CAUSE_ORDER, best.within_ps, x->busy_ps);
  zb_explanation_take(x->out, ZB_CAUSE_MEMORY, best.any_ps, x->busy_ps);
cleanup:
  zb_plan_pace_deinit(&pace);
  return status;
}

/* The step is shorter by the difference of two simulated ones. */
static void save(explainer *x, zb_cause cause, int64_t with_ps, int64_t without_ps) {
  zb_explanation_save(x->out, cause, x->out->time_ps - (with_ps - without_ps));
}

/* Each alone. Out of turn there is no interpreter, and no two messages wait for one link, so it is compared with jobs
 * in turn where that is so, too. */
static zb_status save_each(explainer *x) {
  zb_status status = NULL;
  int64_t time = 0;
  zb_free_best best;
  zb_plan_pace pace = {0};
  for (int i = 0; i < CHANGES; ++i) {
    zb_plan_pace_deinit(&pace);
    ZB_TRY_GOTO(copy_pace(&pace, x->plan, x->pace));
    changes[i].take_away(&pace, x->plan);
    ZB_TRY_GOTO(run_in_turn(x, &pace, &time));
    save(x, changes[i].cause, x->as_is_ps, time);
  }
  ZB_TRY_GOTO(run_out_of_turn(x->plan, x->pace, &best, NULL));
  save(x, ZB_CAUSE_ORDER, best.turn_ps, best.within_ps);
  save(x, ZB_CAUSE_MEMORY, best.within_ps, best.any_ps);
  zb_explanation_end(x->out);
cleanup:
  zb_plan_pace_deinit(&pace);
  return status;
}

zb_status zb_plan_explain(const zb_plan *plan, const zb_plan_pace *pace, const zb_plan_measured *measured,
                          zb_explanation *out) {
  ZB_TRY(zb_explanation_init(out, plan->rank_count));
  explainer x = {.plan = plan, .pace = pace, .out = out};
  zb_status status = NULL;
  x.busy_ps = zb_alloc(((size_t)plan->rank_count + 1) * sizeof *x.busy_ps);
  if (!x.busy_ps) ZB_TRY_GOTO(ZB_OUT_OF_MEMORY());
  ZB_TRY_GOTO(begin(&x, measured));
  ZB_TRY_GOTO(take_away(&x));
  ZB_TRY_GOTO(save_each(&x));
cleanup:
  zb_free(x.busy_ps);
  if (status) zb_explanation_deinit(out);
  return status;
}
