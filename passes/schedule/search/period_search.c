/* The search by the period metric: of all orders that the searches by the other two metrics meet, which bound the
 * period from above, and of what moves of single jobs make of them, the one with the shortest period.
 *
 * A period takes a few passes over the jobs, where the timer of the other searches follows a change through a part of
 * them: so the many orders are looked at by their spans, and a few of each level of memory by their periods. Mostly
 * that is enough, since an order whose longest rank never waits has the least period, too.
 *
 * More memory is not worse here either: what a level shows the judge does not depend on the limit (search_span.c), and
 * a level is left out only where nothing within it has a shorter period.
 *
 * Tests: test/passes/schedule/period_search_test.c
 */
#include "passes/schedule/search/period_search.h"

#include <inttypes.h>
#include <stdio.h>

#include "passes/schedule/rules/rules.h"

/* Searches by other metrics, and as much again for all else. */
enum { METRICS = 3 };

typedef struct finder {
  zb_judge judge;
  char start[32]; /* the schedule that was best before searches */
  int64_t start_ps;
  int rows, fits;
} finder;

static bool has_none(zb_status status) {
  return zb_status_code(status) == ZB_USAGE || zb_status_code(status) == ZB_INFEASIBLE;
}

/* Of large problems without those that go by memory, which the searches ask at the same levels. */
static zb_status try_rows(finder *f) {
  zb_judge *judge = &f->judge;
  const bool is_large = zb_model_jobs(&judge->model) > ZB_JOBS_LARGE;
  for (int i = 0; i < zb_schedule_count() && !zb_judge_is_done(judge); ++i) {
    const zb_schedule_def *schedule = zb_schedule_at(i);
    const zb_period before = judge->period;
    zb_order order;
    if (schedule->searches || schedule->two_pipelines || schedule->is_slow) continue;
    if (schedule->within && is_large) continue;
    if (judge->problem->whole_backward && schedule->splits_backward) continue;
    ++f->rows;
    zb_status status = zb_schedule_run(schedule, judge->problem, &order);
    if (has_none(status)) {
      zb_status_free(status);
      continue;
    }
    ZB_TRY(status);
    ++f->fits;
    ZB_TRY(zb_judge_take(judge, &order));
    if (before.cycle_steps == 0 || zb_period_is_shorter(&judge->period, &before))
      snprintf(f->start, sizeof f->start, "%s", schedule->name);
  }
  f->start_ps = judge->period.period_ps;
  return NULL;
}

static zb_status try_metric(finder *f, const zb_search_params *params, zb_metric metric) {
  zb_problem other = *f->judge.problem;
  zb_search_report report;
  if (zb_judge_is_done(&f->judge)) return NULL;
  other.metric = metric;
  zb_status status = zb_search_judged(&other, params, METRICS, &f->judge, &report);
  if (!status) f->judge.evaluations += report.evaluations;
  if (zb_status_code(status) != ZB_INFEASIBLE || !f->judge.best.jobs) return status;
  zb_status_free(status);
  return NULL;
}

static void fill_report(const finder *f, zb_search_report *out) {
  const zb_judge *judge = &f->judge;
  *out = (zb_search_report){.evaluations = judge->evaluations,
                            .start_ps = f->start_ps,
                            .best_ps = judge->period.period_ps,
                            .bound_ps = judge->bound_ps,
                            .proven = judge->best.jobs && judge->period.period_ps <= judge->bound_ps};
  snprintf(out->start, sizeof out->start, "%s", f->start);
  snprintf(out->placement, sizeof out->placement, "given");
  snprintf(out->summary, sizeof out->summary,
           "%d schedules tried, %d of them fit; searched by stage and barrier; %" PRId64 " orders built or timed%s",
           f->rows, f->fits, judge->evaluations,
           out->proven         ? "; no order is faster"
           : judge->is_stopped ? "; stopped"
                               : "");
}

zb_status zb_search_period(const zb_problem *problem, const zb_search_params *params, zb_order *order,
                           zb_search_report *report) {
  finder *f = NULL;
  *order = (zb_order){0};
  ZB_TRY(zb_problem_check(problem));
  zb_status status = NULL;
  f = zb_alloc(sizeof *f); /* too large for a stack */
  if (!f) return ZB_OUT_OF_MEMORY();
  *f = (finder){0};
  ZB_TRY_GOTO(zb_judge_init(problem, params ? params->seed : 0, &f->judge));
  ZB_TRY_GOTO(try_rows(f));
  ZB_TRY_GOTO(try_metric(f, params, ZB_METRIC_STAGE));
  ZB_TRY_GOTO(try_metric(f, params, ZB_METRIC_BARRIER));
  ZB_TRY_GOTO(zb_judge_improve(&f->judge));
  if (report) fill_report(f, report);
  *order = f->judge.best;
  f->judge.best = (zb_order){0};
cleanup:
  zb_judge_deinit(&f->judge);
  zb_free(f);
  return status;
}
