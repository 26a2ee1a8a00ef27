/* The search by the period metric: the best of every schedule that fits and of the searches by the other two metrics,
 * which bound the period from above, and then jobs of it moved one at a time.
 *
 * A period takes a few passes over the jobs, where the timer of the other searches follows a change through a part of
 * them: so the many orders are looked at by their spans, and a few by their periods. Mostly that is enough, since an
 * order whose longest rank never waits has the least period, too.
 *
 * Tests: test/passes/schedule/period_search_test.c
 */
#include "passes/schedule/search/period_search.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "passes/schedule/model.h"
#include "passes/schedule/rules/build.h"

/* Moves that are tried: as many as take so many jobs in all, but not more. */
enum { MOVE_JOBS = 3000000, MOVES = 4000 };

/* Searches by other metrics, and as much again for all else. */
enum { METRICS = 3 };

typedef struct finder {
  const zb_problem *problem;
  zb_order best;
  zb_period period; /* of it, if best.jobs */
  char start[32];   /* the schedule that was best before searches */
  int64_t start_ps;
  int64_t bound_ps, evaluations;
  int64_t *peaks; /* [ranks] */
  int rows, fits;
} finder;

/* a < b. */
static bool is_shorter(const zb_period *a, const zb_period *b) {
  if (a->period_ps != b->period_ps) return a->period_ps < b->period_ps;
  /* Rounded up they are equal: what is less than the whole picosecond decides. */
  const int64_t whole = a->period_ps > 0 ? a->period_ps - 1 : 0;
  const double left = (double)(a->cycle_ps - whole * a->cycle_steps) / a->cycle_steps;
  const double right = (double)(b->cycle_ps - whole * b->cycle_steps) / b->cycle_steps;
  return left < right;
}

static bool is_done(const finder *f) { return f->best.jobs && f->period.period_ps <= f->bound_ps; }

/* Takes the order, which is the finder's or gone then. */
static zb_status take(finder *f, zb_order *order, bool *out_better) {
  zb_period period;
  *out_better = false;
  zb_status status = zb_order_period(f->problem, order, &period);
  ++f->evaluations;
  if (!status && (!f->best.jobs || is_shorter(&period, &f->period))) {
    zb_order_deinit(&f->best);
    f->best = *order;
    f->period = period;
    *order = (zb_order){0};
    *out_better = true;
  }
  zb_order_deinit(order);
  return status;
}

static bool has_none(zb_status status) {
  return zb_status_code(status) == ZB_USAGE || zb_status_code(status) == ZB_INFEASIBLE;
}

static zb_status try_rows(finder *f) {
  for (int i = 0; i < zb_schedule_count() && !is_done(f); ++i) {
    const zb_schedule_def *schedule = zb_schedule_at(i);
    zb_order order;
    bool better;
    if (schedule->searches || schedule->two_pipelines || schedule->is_slow) continue;
    if (f->problem->whole_backward && schedule->splits_backward) continue;
    ++f->rows;
    zb_status status = zb_schedule_run(schedule, f->problem, &order);
    if (has_none(status)) {
      zb_status_free(status);
      continue;
    }
    ZB_TRY(status);
    ++f->fits;
    ZB_TRY(take(f, &order, &better));
    if (better) snprintf(f->start, sizeof f->start, "%s", schedule->name);
  }
  f->start_ps = f->best.jobs ? f->period.period_ps : 0;
  return NULL;
}

/* The order of a search by another metric. */
static zb_status try_metric(finder *f, const zb_search_params *params, zb_metric metric) {
  zb_problem other = *f->problem;
  zb_search_report report;
  zb_order order;
  bool better;
  if (is_done(f)) return NULL;
  other.metric = metric;
  ZB_TRY(zb_search_one_of(&other, params, METRICS, &order, &report));
  f->evaluations += report.evaluations;
  return take(f, &order, &better);
}

/* ---- Moves ---- */

/* Whether a job may stand behind another of its rank. */
static bool may_follow(const zb_problem *problem, zb_job before, zb_job after) {
  if (before.stage != after.stage) return true;
  if (before.micro_batch == after.micro_batch) return before.kind < after.kind;
  const zb_stage_cost *cost = &problem->costs[before.stage];
  const bool rises =
      before.kind == ZB_W || (before.kind == ZB_B && cost->b_accumulates) || (before.kind == ZB_F && cost->f_updates);
  return before.kind != after.kind || !rises || before.micro_batch < after.micro_batch;
}

/* Moves the job at `from` to `to`; false where another of its stage stands in the way. */
static bool move_job(const zb_problem *problem, zb_job *jobs, int from, int to) {
  const zb_job moved = jobs[from];
  const int step = from < to ? 1 : -1;
  for (int i = from; i != to; i += step)
    if (!may_follow(problem, step > 0 ? jobs[i + step] : moved, step > 0 ? moved : jobs[i + step])) return false;
  for (int i = from; i != to; i += step)
    jobs[i] = jobs[i + step];
  jobs[to] = moved;
  return true;
}

static bool keeps_limits(const finder *f) {
  zb_order_peaks(f->problem, &f->best, f->peaks);
  for (int rank = 0; rank < f->problem->ranks; ++rank) {
    const int64_t limit = zb_rank_limit(f->problem, rank);
    if (limit > 0 && f->peaks[rank] > limit) return false;
  }
  return true;
}

/* One move of the best order, which stays if it is not worse. */
static zb_status try_move(finder *f, uint64_t *random) {
  zb_period period;
  const int rank = (int)(zb_random_next(random) % (uint64_t)f->problem->ranks), count = f->best.counts[rank];
  const int from = (int)(zb_random_next(random) % (uint64_t)count);
  int distance = 1;
  while (distance < count && zb_random_next(random) % 4)
    ++distance;
  const int to = zb_random_next(random) % 2 ? from + distance : from - distance;
  if (to < 0 || to >= count || !move_job(f->problem, f->best.jobs[rank], from, to)) return NULL;
  zb_status status = NULL;
  ++f->evaluations;
  bool stays = keeps_limits(f);
  if (stays) {
    status = zb_order_period(f->problem, &f->best, &period);
    stays = !status && !is_shorter(&f->period, &period);
  }
  if (stays)
    f->period = period;
  else
    (void)move_job(f->problem, f->best.jobs[rank], to, from); /* back over the same jobs: nothing is in the way */
  if (zb_status_code(status) != ZB_TIMEOUT) return status;
  zb_status_free(status); /* ranks would wait for each other */
  return NULL;
}

static zb_status improve(finder *f, uint64_t seed) {
  const int64_t jobs = (int64_t)f->problem->stages * f->problem->micro_batches * ZB_KIND_COUNT;
  const int64_t moves = MOVE_JOBS / jobs < MOVES ? MOVE_JOBS / jobs : MOVES;
  uint64_t random = seed * UINT64_C(0x9E3779B97F4A7C15) + 1;
  if (random == 0) random = 1;
  if (f->best.whole_backward || f->problem->whole_backward) return NULL; /* B and W would part */
  for (int64_t i = 0; i < moves && !is_done(f); ++i)
    ZB_TRY(try_move(f, &random));
  return NULL;
}

/* ---- All of it ---- */

static void fill_report(const finder *f, zb_search_report *out) {
  *out = (zb_search_report){.evaluations = f->evaluations,
                            .start_ps = f->start_ps,
                            .best_ps = f->period.period_ps,
                            .bound_ps = f->bound_ps,
                            .proven = f->period.period_ps <= f->bound_ps};
  snprintf(out->start, sizeof out->start, "%s", f->start);
  snprintf(out->placement, sizeof out->placement, "given");
  snprintf(out->summary, sizeof out->summary,
           "%d schedules tried, %d of them fit; searched by stage and barrier; %" PRId64 " orders built or timed%s",
           f->rows, f->fits, f->evaluations, out->proven ? "; no order is faster" : "");
}

zb_status zb_search_period(const zb_problem *problem, const zb_search_params *params, zb_order *order,
                           zb_search_report *report) {
  finder f = {.problem = problem, .bound_ps = zb_lower_bound_period_ps(problem)};
  zb_status status = NULL;
  *order = (zb_order){0};
  ZB_TRY(zb_problem_check(problem));
  f.peaks = zb_alloc((size_t)problem->ranks * sizeof *f.peaks);
  if (!f.peaks) return ZB_OUT_OF_MEMORY();
  ZB_TRY_GOTO(try_rows(&f));
  ZB_TRY_GOTO(try_metric(&f, params, ZB_METRIC_STAGE));
  ZB_TRY_GOTO(try_metric(&f, params, ZB_METRIC_BARRIER));
  ZB_TRY_GOTO(improve(&f, params ? params->seed : 0));
  if (report) fill_report(&f, report);
  *order = f.best;
  f.best = (zb_order){0};
cleanup:
  zb_order_deinit(&f.best);
  zb_free(f.peaks);
  return status;
}
