/* The search by the period: within the limits, no schedule of the table and no random order has a shorter one; with
 * memory for it, no rank ever waits. */
#include "fixture.h"
#include "random_order.h"

static int64_t period_of(const zb_problem *problem, const zb_order *order) {
  zb_period period;
  expect_ok(zb_order_period(problem, order, &period));
  return period.period_ps;
}

static bool fits(const zb_problem *problem, const zb_order *order) {
  int64_t peak[FIXTURE_STAGES];
  zb_order_peaks(problem, order, peak);
  for (int rank = 0; rank < problem->ranks; ++rank)
    if (problem->memory_limit_bytes > 0 && peak[rank] > problem->memory_limit_bytes) return false;
  return true;
}

static void test_equal_stages(void) {
  for (int p = 2; p <= 5; ++p) {
    fixture x;
    zb_order order;
    zb_search_report report;
    fixture_uniform(&x, "plain", p, 1, 3 * p, 10, 10, 10, 1, 0.4);
    x.problem.metric = ZB_METRIC_PERIOD;
    expect_ok(zb_search(&x.problem, NULL, &order, &report));
    CU_ASSERT_EQUAL(report.best_ps, 3 * p * 30);
    CU_ASSERT_EQUAL(report.best_ps, report.bound_ps);
    CU_ASSERT(report.proven);
    CU_ASSERT_EQUAL(period_of(&x.problem, &order), report.best_ps);
    zb_order_deinit(&order);
  }
}

static void expect_none_shorter(const zb_problem *problem, int64_t best, uint64_t *seed) {
  for (int i = 0; i < zb_schedule_count(); ++i) {
    const zb_schedule_def *schedule = zb_schedule_at(i);
    zb_order order;
    if (schedule->two_pipelines || (schedule->searches && i % 2)) continue;
    zb_status status = zb_schedule_run(schedule, problem, &order);
    if (!status) CU_ASSERT(period_of(problem, &order) >= best);
    zb_status_free(status);
    zb_order_deinit(&order);
  }
  for (int i = 0; i < 100; ++i) {
    zb_order order;
    random_order(problem, seed, &order);
    if (fits(problem, &order)) CU_ASSERT(period_of(problem, &order) >= best);
    zb_order_deinit(&order);
  }
}

static void test_random(void) {
  uint64_t seed = 5;
  static const char *const placements[] = {"plain", "looped", "v", "wave"};
  int limited = 0, moved = 0;
  for (int round = 0; round < 24; ++round) {
    const int kind = round % 4, chunks = kind == 0 ? 1 : 2;
    fixture x;
    zb_order order;
    zb_search_report report;
    fixture_uneven(&x, &seed, placements[kind], 2 + (int)fixture_random(&seed, 2), chunks,
                   2 + (int)fixture_random(&seed, 2));
    x.problem.metric = ZB_METRIC_PERIOD;
    if (round % 2) x.problem.memory_limit_bytes = 500 + fixture_random(&seed, 1000);
    zb_status status = zb_search(&x.problem, &(zb_search_params){.budget = 200, .seed = 1}, &order, &report);
    if (zb_status_code(status) == ZB_INFEASIBLE) {
      zb_status_free(status);
      continue;
    }
    expect_ok(status);
    expect_ok(zb_order_validate(&x.problem, &order));
    CU_ASSERT(fits(&x.problem, &order));
    CU_ASSERT_EQUAL(period_of(&x.problem, &order), report.best_ps);
    CU_ASSERT(report.best_ps >= report.bound_ps);
    CU_ASSERT_EQUAL(report.proven, report.best_ps == report.bound_ps);
    expect_none_shorter(&x.problem, report.best_ps, &seed);
    limited += x.problem.memory_limit_bytes > 0;
    moved += !report.proven;
    zb_order_deinit(&order);
  }
  CU_ASSERT(limited > 4);
  CU_ASSERT(moved > 4);
}

/* Over placements too, and what does not fit. */
static void test_placements(void) {
  fixture x;
  zb_order order;
  zb_search_report report;
  int placed[FIXTURE_STAGES];
  fixture_uniform(&x, "looped", 4, 2, 8, 10, 10, 10, 1, 0.4);
  x.problem.metric = ZB_METRIC_PERIOD;
  expect_ok(zb_search_placement(&x.problem, NULL, placed, &order, &report));
  memcpy(x.stage_rank, placed, 8 * sizeof *placed);
  CU_ASSERT_EQUAL(period_of(&x.problem, &order), report.best_ps);
  zb_order_deinit(&order);
  x.problem.memory_limit_bytes = 10;
  expect_status(zb_search(&x.problem, NULL, &order, &report), ZB_INFEASIBLE, "no order fits");
  zb_order_deinit(&order);
}

/* Nobody loses by more memory: problems and limits at random. */
static void test_more_memory(void) {
  uint64_t seed = 23;
  static const char *const placements[] = {"plain", "looped", "v", "wave"};
  int shorter = 0;
  for (int round = 0; round < 32; ++round) {
    const int kind = round % 4, chunks = kind == 0 ? 1 : 2;
    fixture x;
    fixture_uneven(&x, &seed, placements[kind], 2 + (int)fixture_random(&seed, 4), chunks,
                   3 + (int)fixture_random(&seed, 8));
    x.problem.metric = ZB_METRIC_PERIOD;
    int64_t last = INT64_MAX, limit = 300;
    for (int i = 0; i < 5; ++i) {
      zb_order order;
      zb_search_report report;
      limit += 1 + fixture_random(&seed, 400);
      x.problem.memory_limit_bytes = limit;
      zb_status status = zb_search(&x.problem, &(zb_search_params){.budget = 200}, &order, &report);
      if (zb_status_code(status) == ZB_INFEASIBLE && last == INT64_MAX) {
        zb_status_free(status);
        continue;
      }
      expect_ok(status);
      CU_ASSERT(fits(&x.problem, &order));
      CU_ASSERT(report.best_ps <= last);
      shorter += last < INT64_MAX && report.best_ps < last;
      last = report.best_ps;
      zb_order_deinit(&order);
    }
  }
  CU_ASSERT(shorter > 20);
}

/* A step of no time has a period, too: 0. */
static void test_no_time(void) {
  fixture x;
  zb_order order;
  zb_search_report report;
  fixture_uniform(&x, "plain", 2, 1, 3, 0, 0, 0, 0, 0.5);
  x.problem.metric = ZB_METRIC_PERIOD;
  for (int64_t limit = 0; limit <= 100000; limit += 100000) {
    x.problem.memory_limit_bytes = limit;
    expect_ok(zb_search(&x.problem, NULL, &order, &report));
    CU_ASSERT_EQUAL(order.ranks, 2);
    CU_ASSERT_EQUAL(report.best_ps, 0);
    CU_ASSERT(report.proven);
    zb_order_deinit(&order);
  }
}

int main(void) {
  static const CU_TestInfo tests[] = {{"equal stages: no rank waits", test_equal_stages},
                                      {"none is shorter", test_random},
                                      {"placements and limits", test_placements},
                                      {"more memory is never worse", test_more_memory},
                                      {"no time", test_no_time},
                                      CU_TEST_INFO_NULL};
  return run_suite("period search", tests);
}
