/* A search that is watched: a watch that lets it go on changes nothing; one that ends it gets an order of the problem
 * that keeps the limit, soon, of all placements, sizes and metrics. */
#include "searched.h"

#include <stdlib.h>

typedef struct counter {
  int asked, left; /* so often it goes on; < 0: always */
} counter;

static bool count(void *context) {
  counter *c = context;
  ++c->asked;
  return c->left < 0 || c->asked <= c->left;
}

static const struct {
  const char *placement;
  int ranks, chunks, micro_batches;
  zb_metric metric;
} problems[] = {{"plain", 3, 1, 6, ZB_METRIC_STAGE},    {"plain", 4, 1, 12, ZB_METRIC_STAGE},
                {"v", 4, 2, 12, ZB_METRIC_BARRIER},     {"looped", 4, 4, 12, ZB_METRIC_BARRIER},
                {"plain", 2, 1, 3, ZB_METRIC_PERIOD},   {"v", 4, 2, 12, ZB_METRIC_PERIOD},
                {"looped", 4, 2, 12, ZB_METRIC_PERIOD}, {"v", 6, 2, 8, ZB_METRIC_STAGE}};
enum { PROBLEMS = sizeof problems / sizeof problems[0] };

/* Uneven, and with two thirds of what the order takes that there is for all memory: no schedule is at the bound. */
static void make(fixture *x, int at) {
  uint64_t seed = 3;
  const zb_search_params params = {.budget = 64};
  int64_t peak[FIXTURE_STAGES], most = 0;
  zb_order order;
  fixture_uneven(x, &seed, problems[at].placement, problems[at].ranks, problems[at].chunks, problems[at].micro_batches);
  x->problem.metric = problems[at].metric;
  expect_ok(zb_search(&x->problem, &params, &order, NULL));
  zb_order_peaks(&x->problem, &order, peak);
  for (int rank = 0; rank < x->problem.ranks; ++rank)
    if (peak[rank] > most) most = peak[rank];
  x->problem.memory_limit_bytes = most * 2 / 3;
  zb_order_deinit(&order);
}

static bool is_same(const zb_order *a, const zb_order *b) {
  for (int r = 0; r < a->ranks; ++r)
    if (a->counts[r] != b->counts[r] || memcmp(a->jobs[r], b->jobs[r], (size_t)a->counts[r] * sizeof(zb_job)) != 0)
      return false;
  return true;
}

static void test_goes_on(void) {
  const zb_search_params params = {.budget = 300};
  int asked = 0;
  for (int i = 0; i + 1 < PROBLEMS; ++i) {
    fixture x;
    counter c = {.left = -1};
    const zb_watch watch = {count, &c};
    zb_search_report alone, watched;
    zb_order order, other;
    make(&x, i);
    expect_ok(zb_search(&x.problem, &params, &order, &alone));
    x.problem.watch = &watch;
    expect_ok(zb_search(&x.problem, &params, &other, &watched));
    asked += c.asked;
    CU_ASSERT(is_same(&order, &other));
    CU_ASSERT_EQUAL(alone.evaluations, watched.evaluations);
    CU_ASSERT_STRING_EQUAL(alone.summary, watched.summary);
    zb_order_deinit(&order);
    zb_order_deinit(&other);
  }
  CU_ASSERT(asked > 20);
}

/* Ended after each number of questions up to some; a budget that would take minutes. */
static void test_stops(void) {
  const zb_search_params params = {.budget = 50000000};
  int ended = 0;
  for (int i = 0; i < PROBLEMS; ++i)
    for (int left = 0; left < 8; left += left + 1) {
      fixture x;
      counter c = {.left = left};
      const zb_watch watch = {count, &c};
      zb_search_report report;
      zb_order order;
      make(&x, i);
      x.problem.watch = &watch;
      expect_ok(zb_search(&x.problem, &params, &order, &report));
      expect_ok(zb_order_validate(&x.problem, &order));
      CU_ASSERT(keeps_limit(&x.problem, &order));
      if (getenv("ZB_TEST_SHOW")) fprintf(stderr, "%d %d: asked %d, %s\n", i, left, c.asked, report.summary);
      if (c.asked > left) {
        ++ended;
        CU_ASSERT(report.proven || strstr(report.summary, "; stopped"));
        CU_ASSERT_EQUAL(report.proven, report.best_ps <= report.bound_ps);
        CU_ASSERT(c.asked <= left + 40); /* it is not asked on and on */
      }
      zb_order_deinit(&order);
    }
  CU_ASSERT(ended > 2 * PROBLEMS);
}

SUITE_MAIN("schedule watch", {"a watch that lets it go on", test_goes_on}, {"a watch that ends it", test_stops})
