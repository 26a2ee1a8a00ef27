/* Moves W right behind their B, as far as no rank ends later: zb_order_advance_w (zb-sched --settle).
 *
 * Schedules that split the backward hold W back on some ranks all through the step, but most need them only where the
 * step ends, to fill what would be idle. A W that waits keeps its frames, and by the time it runs what it reads has
 * left the caches.
 *
 * The first `count` backwards of every rank are followed by their W; the others stay where the rule has them. With
 * a larger count, ranks run later in the middle of the step and have less to fill its end with, so the most that no
 * rank pays for is found by bisection, each try timed exactly. A W only ever moves forward in its own rank's list, so
 * memory never grows. O(jobs log micro-batches). Tests: test/passes/schedule/advance_w_test.c.
 */
#include "passes/schedule/model.h"

#include <string.h>

typedef struct advancer {
  zb_model model;
  const zb_order *given;
  zb_order candidate;   /* lists as long as those of `given` */
  zb_job_times **times; /* [rank][index] of the order that was timed last */
  int64_t *end_ps;      /* [ranks] of `given` */
  int64_t *candidate_end_ps;
  int *done;         /* [ranks] */
  int64_t period_ps; /* of `given`, where that is the metric: ranks that end as early may yet hold up the next step */
  bool *advanced;    /* [stages * micro_batches] this W stands behind its B in `candidate` */
  int *next;         /* [stages] micro-batch of the next B */
  int backwards;     /* most of a rank */
} advancer;

static void advancer_deinit(advancer *s) {
  zb_order_deinit(&s->candidate);
  zb_model_deinit(&s->model);
}

static zb_status advancer_init(advancer *s, const zb_problem *problem, const zb_order *order) {
  *s = (advancer){.given = order};
  ZB_TRY(zb_model_init(problem, &s->model));
  zb_arena *arena = &s->model.arena;
  s->times = zb_order_times(order, arena);
  ZB_TAKE(arena, s->end_ps, order->ranks);
  ZB_TAKE(arena, s->candidate_end_ps, order->ranks);
  ZB_TAKE(arena, s->done, order->ranks);
  ZB_TAKE(arena, s->advanced, problem->stages * problem->micro_batches);
  ZB_TAKE(arena, s->next, problem->stages);
  ZB_TRY(zb_arena_status(arena));
  ZB_TRY(zb_order_init(&s->candidate, order->ranks));
  for (int rank = 0; rank < order->ranks; ++rank) {
    for (int i = 0; i < order->counts[rank]; ++i) /* for room: build overwrites them */
      ZB_TRY(zb_order_add(&s->candidate, rank, order->jobs[rank][i].stage, order->jobs[rank][i].kind,
                          order->jobs[rank][i].micro_batch));
    s->backwards = zb_max_int(s->backwards, order->counts[rank] / ZB_KIND_COUNT);
  }
  return NULL;
}

/* W must stay in the order of the micro-batches, so B must be. */
static bool backwards_rise(const advancer *s) {
  for (int rank = 0; rank < s->given->ranks; ++rank)
    for (int i = 0; i < s->given->counts[rank]; ++i) {
      const zb_job job = s->given->jobs[rank][i];
      if (job.kind != ZB_B) continue;
      if (job.micro_batch != s->next[job.stage]++) return false;
    }
  return true;
}

/* The given order with the W of the first `count` backwards of each rank behind their B. */
static void build(advancer *s, int count) {
  memset(s->advanced, 0,
         (size_t)s->model.problem->stages * (size_t)s->model.problem->micro_batches * sizeof *s->advanced);
  for (int rank = 0; rank < s->given->ranks; ++rank) {
    zb_job *out = s->candidate.jobs[rank];
    int backwards = 0;
    for (int i = 0; i < s->given->counts[rank]; ++i) {
      const zb_job job = s->given->jobs[rank][i];
      if (job.kind == ZB_W && s->advanced[zb_model_pair(&s->model, job.stage, job.micro_batch)]) continue;
      *out++ = job;
      if (job.kind != ZB_B || backwards++ >= count) continue;
      s->advanced[zb_model_pair(&s->model, job.stage, job.micro_batch)] = true;
      *out++ = (zb_job){.stage = job.stage, .kind = ZB_W, .micro_batch = job.micro_batch};
    }
  }
}

/* When ranks end, with what their reductions wait for. */
static zb_status run(advancer *s, const zb_order *order, int64_t *end_ps) {
  ZB_TRY(zb_order_run(&s->model, order, s->done, s->times));
  return zb_order_finish(&s->model, order, s->times, end_ps, NULL);
}

static zb_status try_count(advancer *s, int count, bool *good) {
  build(s, count);
  ZB_TRY(run(s, &s->candidate, s->candidate_end_ps));
  *good = true;
  for (int rank = 0; rank < s->given->ranks; ++rank)
    if (s->candidate_end_ps[rank] > s->end_ps[rank]) *good = false;
  if (!*good || s->model.problem->metric != ZB_METRIC_PERIOD) return NULL;
  zb_period period;
  ZB_TRY(zb_order_period(s->model.problem, &s->candidate, &period));
  *good = period.period_ps <= s->period_ps;
  return NULL;
}

zb_status zb_order_advance_w(const zb_problem *problem, zb_order *order) {
  advancer s;
  zb_status status = NULL;
  if (order->whole_backward) return NULL;
  ZB_TRY_GOTO(advancer_init(&s, problem, order));
  if (!backwards_rise(&s)) goto cleanup;
  ZB_TRY_GOTO(run(&s, order, s.end_ps));
  if (problem->metric == ZB_METRIC_PERIOD) {
    zb_period period;
    ZB_TRY_GOTO(zb_order_period(problem, order, &period));
    s.period_ps = period.period_ps;
  }
  int least = 0, most = s.backwards; /* least is good */
  while (least < most) {
    const int middle = most - (most - least) / 2;
    bool good;
    ZB_TRY_GOTO(try_count(&s, middle, &good));
    if (good)
      least = middle;
    else
      most = middle - 1;
  }
  build(&s, least);
  for (int rank = 0; rank < order->ranks; ++rank)
    memcpy(order->jobs[rank], s.candidate.jobs[rank], (size_t)order->counts[rank] * sizeof *order->jobs[rank]);
cleanup:
  advancer_deinit(&s);
  return status;
}
