/* Why ranks idle in a simulated order: the causes of zb/causes.def, taken away one after the other (zb/explain.h).
 *
 *   messages    links take no time, and there are no reductions
 *   imbalance   besides, F, B, W and the optimizer of every stage take the mean of all stages
 *   order       besides, jobs run out of turn, by the best of three rules that keeps the memory that the order takes
 *               now, or the limit: a rank that would wait runs the first W that is ready; or the first of its list that
 *               is ready; or B first, then F, then W
 *   memory      besides, by the best of all of them
 *   dependency  what is left
 *
 * B and W that are one backward stay one. Rules and their reasons: DECISIONS.md.
 * Tests: test/passes/schedule/explain_test.c.
 */
#include "passes/schedule/model.h"
#include "runtime/base/explanation.h"
#include "runtime/base/free_run.h"

#include <stdlib.h>

typedef struct explainer {
  const zb_problem *problem;
  const zb_order *order;
  zb_explanation *out;
  zb_stage_cost *even; /* [stages] the mean of all stages */
  int64_t *even_optimizer_ps;
  int64_t *busy_ps; /* [ranks] of the last run */
  zb_arena arena;
} explainer;

/* ---- Problems without a cause ---- */

/* Sums of times fit: zb_problem_check bounds them. */
static zb_status make_even(explainer *x) {
  const zb_problem *p = x->problem;
  int64_t times[ZB_KIND_COUNT] = {0}, phases[ZB_OPTIMIZER_PHASES] = {0}, optimizer = 0;
  ZB_TAKE(&x->arena, x->even, p->stages);
  ZB_TAKE(&x->arena, x->even_optimizer_ps, p->ranks);
  ZB_TRY(zb_arena_status(&x->arena));
  for (int stage = 0; stage < p->stages; ++stage) {
    for (int kind = 0; kind < ZB_KIND_COUNT; ++kind)
      times[kind] += p->costs[stage].time_ps[kind];
    for (int phase = 0; phase < ZB_OPTIMIZER_PHASES; ++phase)
      phases[phase] += p->costs[stage].optimizer_ps[phase];
  }
  for (int stage = 0; stage < p->stages; ++stage) {
    x->even[stage] = p->costs[stage];
    for (int kind = 0; kind < ZB_KIND_COUNT; ++kind)
      x->even[stage].time_ps[kind] = times[kind] / p->stages;
    for (int phase = 0; phase < ZB_OPTIMIZER_PHASES; ++phase)
      x->even[stage].optimizer_ps[phase] = phases[phase] / p->stages;
  }
  for (int rank = 0; p->optimizer_ps && rank < p->ranks; ++rank)
    optimizer += p->optimizer_ps[rank];
  for (int rank = 0; p->optimizer_ps && rank < p->ranks; ++rank)
    x->even_optimizer_ps[rank] = optimizer / p->ranks;
  return NULL;
}

static zb_problem with_even_stages(const explainer *x, const zb_problem *problem) {
  zb_problem out = *problem;
  out.costs = x->even;
  if (out.optimizer_ps) out.optimizer_ps = x->even_optimizer_ps;
  return out;
}

/* ---- In the order of the lists ---- */

/* The time of a step in which ranks begin and end then, by the metric. */
static int64_t time_of(const zb_problem *problem, const int64_t *start_ps, const int64_t *end_ps) {
  int64_t first = INT64_MAX, last = 0, longest = 0;
  for (int rank = 0; rank < problem->ranks; ++rank) {
    if (start_ps[rank] < first) first = start_ps[rank];
    last = zb_max64(last, end_ps[rank]);
    longest = zb_max64(longest, end_ps[rank] - start_ps[rank]);
  }
  return problem->metric == ZB_METRIC_STAGE ? longest : last - first;
}

/* What each rank computes: busy_ps[ranks]. */
static void find_busy(const zb_model *model, const zb_order *order, int64_t *busy_ps) {
  for (int rank = 0; rank < order->ranks; ++rank) {
    busy_ps[rank] = model->optimizer_ps[rank];
    for (int i = 0; i < order->counts[rank]; ++i)
      busy_ps[rank] += model->problem->costs[order->jobs[rank][i].stage].time_ps[order->jobs[rank][i].kind];
  }
}

static zb_status period_of(const zb_problem *problem, const zb_order *order, int64_t *time_ps) {
  zb_period period;
  ZB_TRY(zb_order_period(problem, order, &period));
  *time_ps = period.period_ps;
  return NULL;
}

/* Simulates the order as it is; what the ranks compute to x->busy_ps. */
static zb_status run_in_turn(explainer *x, const zb_problem *problem, int64_t *time_ps) {
  zb_simulation simulation = {0};
  zb_model model = {0};
  zb_status status = NULL;
  ZB_TRY_GOTO(zb_simulate(problem, x->order, &simulation));
  ZB_TRY_GOTO(zb_model_init(problem, &model));
  find_busy(&model, x->order, x->busy_ps);
  *time_ps = problem->metric == ZB_METRIC_STAGE ? simulation.stage_ps : simulation.step_ps;
  if (problem->metric == ZB_METRIC_PERIOD) ZB_TRY_GOTO(period_of(problem, x->order, time_ps));
cleanup:
  zb_model_deinit(&model);
  zb_simulation_deinit(&simulation);
  return status;
}

/* ---- Out of turn ---- */

/* The jobs of an order as a graph: one node a job, or a whole backward. */
typedef struct graph {
  const zb_model *model;
  const zb_order *order;
  int32_t *index; /* of zb_order_index */
  int32_t *begin; /* [ranks + 1] */
  int32_t **node; /* [rank][index] of a job; of the W of a whole backward that of its B */
  zb_free_job *jobs;
  ZB_LIST(zb_free_edge) edges;
  int64_t *start_ps, *end_ps, *limit_bytes; /* [ranks] */
  zb_arena arena;
} graph;

static int32_t node_of(const graph *g, int stage, zb_kind kind, int micro_batch) {
  return g->node[g->model->problem->stage_rank[stage]][g->index[zb_model_job(g->model, stage, kind, micro_batch)]];
}

static zb_status add_edge(graph *g, int32_t from, int32_t to, int64_t delay_ps) {
  if (from == to) return NULL;
  return ZB_PUSH(&g->arena, &g->edges, (zb_free_edge){from, to, delay_ps}) ? NULL : ZB_OUT_OF_MEMORY();
}

/* First what others wait for. */
static int class_of(zb_kind kind) { return kind == ZB_B ? 0 : kind == ZB_F ? 1 : 2; }

static zb_status make_nodes(graph *g) {
  const zb_order *order = g->order;
  size_t jobs = 0;
  int32_t *node, count = 0;
  for (int rank = 0; rank < order->ranks; ++rank)
    jobs += (size_t)order->counts[rank];
  ZB_TAKE(&g->arena, g->begin, order->ranks + 1);
  ZB_TAKE(&g->arena, g->node, order->ranks);
  ZB_TAKE(&g->arena, node, jobs + 1);
  ZB_TAKE(&g->arena, g->jobs, jobs + 1);
  ZB_TAKE(&g->arena, g->start_ps, order->ranks);
  ZB_TAKE(&g->arena, g->end_ps, order->ranks);
  ZB_TAKE(&g->arena, g->limit_bytes, order->ranks);
  ZB_TRY(zb_arena_status(&g->arena));
  for (int rank = 0; rank < order->ranks; node += order->counts[rank++]) {
    g->node[rank] = node;
    g->begin[rank] = count;
    for (int i = 0; i < order->counts[rank]; ++i) {
      const zb_job job = order->jobs[rank][i];
      const bool whole = zb_order_is_whole(order, rank, i);
      const zb_stage_cost *own = &g->model->problem->costs[job.stage], cost = whole ? zb_whole_cost(own) : *own;
      node[i] = zb_order_is_whole(order, rank, i - 1) ? node[i - 1] : count;
      if (node[i] < count) continue;
      g->jobs[count++] = (zb_free_job){.time_ps = cost.time_ps[job.kind],
                                       .keep_bytes = cost.keep_bytes[job.kind],
                                       .free_bytes = cost.free_bytes[job.kind],
                                       .job_class = class_of(job.kind),
                                       .filler = job.kind == ZB_W};
    }
    g->limit_bytes[rank] = zb_rank_limit(g->model->problem, rank) - zb_base_bytes(g->model->problem, rank);
  }
  g->begin[order->ranks] = count;
  return NULL;
}

static zb_status make_edges(graph *g) {
  const zb_problem *p = g->model->problem;
  for (int stage = 0; stage < p->stages; ++stage)
    for (int m = 0; m < p->micro_batches; ++m) {
      const int32_t own[] = {node_of(g, stage, ZB_F, m), node_of(g, stage, ZB_B, m), node_of(g, stage, ZB_W, m)};
      ZB_TRY(add_edge(g, own[ZB_F], own[ZB_B], 0));
      ZB_TRY(add_edge(g, own[ZB_B], own[ZB_W], 0));
      if (m > 0) ZB_TRY(add_edge(g, node_of(g, stage, ZB_W, m - 1), own[ZB_W], 0));
      for (int kind = 0; kind < ZB_LINK_KINDS; ++kind)
        for (const zb_link *link = zb_links(g->model, (zb_kind)kind, stage);
             link < zb_links(g->model, (zb_kind)kind, stage + 1); ++link)
          ZB_TRY(
              add_edge(g, own[kind], node_of(g, link->stage, (zb_kind)kind, m), link->channel < 0 ? 0 : link->time_ps));
    }
  return NULL;
}

/* A job of a rank's list. */
typedef struct timed_job {
  int64_t start_ps;
  int index;
} timed_job;

static int by_start(const void *a, const void *b) {
  const timed_job *x = a, *y = b;
  if (x->start_ps != y->start_ps) return x->start_ps < y->start_ps ? -1 : 1;
  return x->index < y->index ? -1 : x->index > y->index;
}

/* The period of lists whose jobs stand in the order in which they start. */
static zb_status measure_period(const graph *g, const int64_t *job_ps, int64_t *time_ps) {
  const zb_order *from = g->order;
  zb_order order = {0};
  timed_job *jobs = NULL;
  zb_status status = NULL;
  ZB_TRY(zb_order_init(&order, from->ranks));
  order.whole_backward = from->whole_backward;
  for (int rank = 0; rank < from->ranks; ++rank) {
    zb_free(jobs);
    jobs = zb_alloc(((size_t)from->counts[rank] + 1) * sizeof *jobs);
    status = jobs ? NULL : ZB_OUT_OF_MEMORY();
    if (status) goto cleanup;
    for (int i = 0; i < from->counts[rank]; ++i)
      jobs[i] = (timed_job){job_ps[g->node[rank][i]], i};
    qsort(jobs, (size_t)from->counts[rank], sizeof *jobs, by_start);
    for (int i = 0; i < from->counts[rank]; ++i) {
      const zb_job job = from->jobs[rank][jobs[i].index];
      ZB_TRY_GOTO(zb_order_add(&order, rank, job.stage, job.kind, job.micro_batch));
    }
  }
  ZB_TRY_GOTO(period_of(g->model->problem, &order, time_ps));
cleanup:
  zb_free(jobs);
  zb_order_deinit(&order);
  return status;
}

/* What a step takes whose jobs start then: ranks end when their jobs, reductions and optimizer have. */
static zb_status measure(void *context, const int64_t *job_ps, int64_t *time_ps) {
  const graph *g = context;
  const zb_model *model = g->model;
  if (model->problem->metric == ZB_METRIC_PERIOD) return measure_period(g, job_ps, time_ps);
  for (int rank = 0; rank < g->order->ranks; ++rank) {
    int64_t start = g->begin[rank] < g->begin[rank + 1] ? INT64_MAX : 0, end = 0, stream = 0;
    for (int32_t node = g->begin[rank]; node < g->begin[rank + 1]; ++node) {
      if (job_ps[node] < start) start = job_ps[node];
      end = zb_max64(end, job_ps[node] + g->jobs[node].time_ps);
    }
    for (const zb_rank_reduction *r = zb_reductions(model, rank); r < zb_reductions(model, rank + 1); ++r) {
      const int32_t w = node_of(g, r->stage, ZB_W, r->after);
      stream = zb_reduction_end(r, stream, job_ps[w] + g->jobs[w].time_ps);
    }
    g->start_ps[rank] = start;
    g->end_ps[rank] = zb_max64(end, stream) + model->optimizer_ps[rank];
  }
  *time_ps = time_of(model->problem, g->start_ps, g->end_ps);
  return NULL;
}

static zb_status run_out_of_turn(explainer *x, const zb_problem *problem, zb_free_best *out) {
  zb_model model;
  ZB_TRY(zb_model_init(problem, &model));
  graph g = {.model = &model, .order = x->order};
  zb_status status = NULL;
  ZB_TRY_GOTO(zb_order_index(&model, x->order, &g.arena, &g.index));
  ZB_TRY_GOTO(make_nodes(&g));
  ZB_TRY_GOTO(make_edges(&g));
  const zb_free_graph free_graph = {problem->ranks, g.begin, g.jobs, g.edges.items, g.edges.count};
  find_busy(&model, x->order, x->busy_ps);
  ZB_TRY_GOTO(zb_free_find_best(&free_graph, g.limit_bytes, measure, &g, out));
cleanup:
  zb_arena_deinit(&g.arena);
  zb_model_deinit(&model);
  return status;
}

/* ---- All causes ---- */

/* One after the other. */
static zb_status take_away(explainer *x) {
  zb_problem ideal = zb_free_links(x->problem);
  int64_t time;
  zb_free_best best;
  ZB_TRY(run_in_turn(x, &ideal, &time));
  zb_explanation_take(x->out, ZB_CAUSE_MESSAGES, time, x->busy_ps);
  ideal = with_even_stages(x, &ideal);
  ZB_TRY(run_in_turn(x, &ideal, &time));
  zb_explanation_take(x->out, ZB_CAUSE_IMBALANCE, time, x->busy_ps);
  ZB_TRY(run_out_of_turn(x, &ideal, &best));
  zb_explanation_take(x->out, ZB_CAUSE_ORDER, best.within_ps, x->busy_ps);
  zb_explanation_take(x->out, ZB_CAUSE_MEMORY, best.any_ps, x->busy_ps);
  return NULL;
}

/* Each alone; what more memory saves is beyond what another order in the same memory does. Out of turn no two messages
 * wait for one link, so it is compared with jobs in turn where none does, too. */
static zb_status save_each(explainer *x) {
  zb_explanation *out = x->out;
  zb_problem changed = zb_free_links(x->problem);
  int64_t time;
  zb_free_best best;
  ZB_TRY(run_in_turn(x, &changed, &time));
  zb_explanation_save(out, ZB_CAUSE_MESSAGES, time);
  changed = with_even_stages(x, x->problem);
  ZB_TRY(run_in_turn(x, &changed, &time));
  zb_explanation_save(out, ZB_CAUSE_IMBALANCE, time);
  ZB_TRY(run_out_of_turn(x, x->problem, &best));
  zb_explanation_save(out, ZB_CAUSE_ORDER, out->time_ps - (best.turn_ps - best.within_ps));
  zb_explanation_save(out, ZB_CAUSE_MEMORY, out->time_ps - (best.within_ps - best.any_ps));
  zb_explanation_end(out);
  return NULL;
}

zb_status zb_schedule_explain(const zb_problem *problem, const zb_order *order, zb_explanation *out) {
  *out = (zb_explanation){0};
  ZB_TRY(zb_problem_check(problem));
  explainer x = {.problem = problem, .order = order, .out = out};
  zb_status status = NULL;
  ZB_TAKE(&x.arena, x.busy_ps, problem->ranks);
  ZB_TRY_GOTO(zb_arena_status(&x.arena));
  ZB_TRY_GOTO(make_even(&x));
  ZB_TRY_GOTO(zb_explanation_init(out, problem->ranks));
  ZB_TRY_GOTO(run_in_turn(&x, problem, &out->time_ps));
  for (int rank = 0; rank < problem->ranks; ++rank)
    out->idle_ps[rank] = out->time_ps - x.busy_ps[rank];
  zb_explanation_begin(out);
  ZB_TRY_GOTO(take_away(&x));
  ZB_TRY_GOTO(save_each(&x));
cleanup:
  zb_arena_deinit(&x.arena);
  if (status) zb_explanation_deinit(out);
  return status;
}
