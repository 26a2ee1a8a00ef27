/* A search and what every answer must be, for the tests of the search. */
#ifndef ZB_TEST_PASSES_SCHEDULE_SEARCHED_H
#define ZB_TEST_PASSES_SCHEDULE_SEARCHED_H

#include "fixture.h"

static inline int64_t evaluate(const zb_problem *problem, const zb_order *order) {
  zb_simulation simulation;
  expect_ok(zb_simulate(problem, order, &simulation));
  const int64_t time = problem->metric == ZB_METRIC_STAGE ? simulation.stage_ps : simulation.step_ps;
  zb_simulation_deinit(&simulation);
  return time;
}

static inline bool keeps_limit(const zb_problem *problem, const zb_order *order) {
  int64_t peak[FIXTURE_STAGES];
  zb_order_peaks(problem, order, peak);
  for (int rank = 0; rank < problem->ranks; ++rank) {
    const int64_t limit = problem->rank_limit_bytes ? problem->rank_limit_bytes[rank] : problem->memory_limit_bytes;
    if (limit > 0 && peak[rank] > limit) return false;
  }
  return true;
}

/* The time of the answer; INT64_MAX where none fits. The answer is valid, keeps the limits and is what the report says.
 */
static inline int64_t search(const zb_problem *problem, int64_t budget, uint64_t seed, zb_search_report *report) {
  const zb_search_params params = {.budget = budget, .seed = seed};
  zb_search_report scratch;
  zb_order order;
  if (!report) report = &scratch;
  zb_status status = zb_search(problem, &params, &order, report);
  if (status) {
    expect_status(status, ZB_INFEASIBLE, "one micro-batch alone needs");
    CU_ASSERT_PTR_NULL(order.jobs);
    return INT64_MAX;
  }
  expect_ok(zb_order_validate(problem, &order));
  CU_ASSERT(keeps_limit(problem, &order));
  CU_ASSERT_EQUAL(order.whole_backward, problem->whole_backward);
  const int64_t time = evaluate(problem, &order);
  CU_ASSERT_EQUAL(time, report->best_ps);
  CU_ASSERT(report->bound_ps <= time);
  CU_ASSERT_EQUAL(report->proven, report->bound_ps == time);
  CU_ASSERT(report->evaluations > 0 && strlen(report->summary) > 20);
  zb_order_deinit(&order);
  return time;
}

/* Stages that are all alike. */
static inline void even(fixture *x, uint64_t *seed, const char *placement, int p, int v, int m) {
  static const int64_t rows[][4] = {{6, 6, 6, 0}, {18522, 18086, 9338, 601}, {10, 20, 10, 1}, {4, 2, 6, 0}};
  const int64_t *row = rows[fixture_random(seed, 4)];
  fixture_uniform(x, placement, p, v, m, row[0], row[1], row[2], row[3], 0.5);
}

#endif
