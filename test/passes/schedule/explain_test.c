/* Why ranks idle: a problem for each cause that has it and nothing else, and on random problems the parts add up. */
#include "random_order.h"

static const int64_t MS = 1000000000;

static int64_t total(const zb_explanation *e, zb_cause cause) {
  int64_t sum = 0;
  for (int rank = 0; rank < e->ranks; ++rank)
    sum += e->part_ps[rank][cause];
  return sum;
}

static int64_t idle(const zb_explanation *e) {
  int64_t sum = 0;
  for (int rank = 0; rank < e->ranks; ++rank)
    sum += e->idle_ps[rank];
  return sum;
}

static void explain(const char *name, const zb_problem *problem, zb_explanation *out) {
  zb_order order;
  expect_ok(zb_schedule_run(zb_schedule_find(name, NULL), problem, &order));
  expect_ok(zb_schedule_explain(problem, &order, out));
  zb_order_deinit(&order);
}

/* All of the idle time, of which there is some, is this cause's. */
static void expect_only(const zb_explanation *e, zb_cause cause) {
  CU_ASSERT(idle(e) > 0);
  for (int other = 0; other < ZB_CAUSE_COUNT; ++other)
    if (other != (int)cause) CU_ASSERT_EQUAL(total(e, (zb_cause)other), 0);
  CU_ASSERT_EQUAL(total(e, cause), idle(e));
  CU_ASSERT_EQUAL(zb_explanation_most(e), cause);
}

/* 1F1B with whole backwards: every rank waits (p-1)(F+B+W), however much memory it has. */
static void test_dependency(void) {
  fixture x;
  zb_explanation e;
  fixture_uniform(&x, "plain", 4, 1, 8, 2 * MS, 2 * MS, MS, 0, 0.5);
  static const char *const names[] = {"1f1b", "fthenb"};
  for (int i = 0; i < 2; ++i) {
    x.problem.whole_backward = true;
    explain(names[i], &x.problem, &e);
    expect_only(&e, ZB_CAUSE_DEPENDENCY);
    for (int rank = 0; rank < 4; ++rank)
      CU_ASSERT_EQUAL(e.idle_ps[rank], 3 * 5 * MS);
    CU_ASSERT_FALSE(e.has[ZB_CAUSE_INTERPRETER]);
    zb_explanation_deinit(&e);
  }
}

/* ZB-H2 has no bubble by the stage metric where F, B and W are equal: what is added to it is all there is. */
static void no_bubble(fixture *x) {
  fixture_uniform(x, "plain", 4, 1, 12, MS, MS, MS, 0, 0.5);
  x->problem.metric = ZB_METRIC_STAGE;
}

static void test_none(void) {
  fixture x;
  zb_explanation e;
  no_bubble(&x);
  explain("zb-h2", &x.problem, &e);
  CU_ASSERT_EQUAL(idle(&e), 0);
  char *text = zb_explanation_text(&e);
  CU_ASSERT(strstr(text, "\nno rank idles\n") != NULL);
  zb_free(text);
  zb_explanation_deinit(&e);
}

static void test_messages(void) {
  fixture x;
  zb_explanation e;
  no_bubble(&x);
  x.problem.link_latency_ps = 3 * MS / 2;
  explain("zb-h2", &x.problem, &e);
  expect_only(&e, ZB_CAUSE_MESSAGES);
  CU_ASSERT_EQUAL(e.saved_ps[ZB_CAUSE_MESSAGES], e.time_ps - 36 * MS);
  zb_explanation_deinit(&e);
}

/* Reductions that nothing hides are messages, too. */
static void test_reductions(void) {
  fixture x;
  zb_explanation e;
  no_bubble(&x);
  const zb_reduction reduction = {.stage = 1, .after = 11, .time_ps = 5 * MS};
  x.problem.reductions = &reduction;
  x.problem.reduction_count = 1;
  explain("zb-h2", &x.problem, &e);
  expect_only(&e, ZB_CAUSE_MESSAGES);
  for (int rank = 0; rank < 4; ++rank)
    CU_ASSERT_EQUAL(e.idle_ps[rank], 5 * MS);
  zb_explanation_deinit(&e);
}

static void test_imbalance(void) {
  fixture x;
  zb_explanation e;
  no_bubble(&x);
  for (int kind = 0; kind < ZB_KIND_COUNT; ++kind)
    x.costs[2].time_ps[kind] = 2 * MS;
  explain("zb-h2", &x.problem, &e);
  CU_ASSERT_EQUAL(e.part_ps[2][ZB_CAUSE_IMBALANCE], e.idle_ps[2]);
  CU_ASSERT(e.idle_ps[0] >= 36 * MS); /* it has half of the work */
  expect_only(&e, ZB_CAUSE_IMBALANCE);
  zb_explanation_deinit(&e);
}

/* The optimizer of one stage alone. */
static void test_optimizer(void) {
  fixture x;
  zb_explanation e;
  no_bubble(&x);
  x.costs[3].optimizer_ps[ZB_OPTIMIZER_UPDATE] = 4 * MS;
  explain("zb-h2", &x.problem, &e);
  expect_only(&e, ZB_CAUSE_IMBALANCE);
  CU_ASSERT_EQUAL(e.idle_ps[3], 0);
  zb_explanation_deinit(&e);
}

/* ZB-H1 is ZB-H2 with the memory of 1F1B. */
static void test_memory(void) {
  fixture x;
  zb_explanation e;
  no_bubble(&x);
  explain("zb-h1", &x.problem, &e);
  expect_only(&e, ZB_CAUSE_MEMORY);
  zb_explanation_deinit(&e);
}

/* A limit that a search has to keep is what it then lacks. */
static void test_limit(void) {
  fixture x;
  int64_t idles[2];
  for (int limited = 0; limited < 2; ++limited) {
    zb_explanation e;
    no_bubble(&x);
    x.problem.memory_limit_bytes = limited ? 4000 : 0;
    explain("search", &x.problem, &e);
    idles[limited] = idle(&e);
    CU_ASSERT_EQUAL(total(&e, ZB_CAUSE_MEMORY) + total(&e, ZB_CAUSE_ORDER), idle(&e));
    zb_explanation_deinit(&e);
  }
  CU_ASSERT_EQUAL(idles[0], 0);
  CU_ASSERT(idles[1] > 0);
}

/* B0 could come before F1, in less memory: two of the three that each rank idles. */
static void test_order(void) {
  fixture x;
  zb_explanation e;
  zb_order_file file;
  static const char text[] = "0F0 0F1 0B0 0B1 0W0 0W1\n1F0 1F1 1B0 1W0 1B1 1W1\n";
  fixture_uniform(&x, "plain", 2, 1, 2, MS, MS, MS, 0, 0.5);
  x.problem.metric = ZB_METRIC_STAGE;
  expect_ok(zb_order_read("order", text, strlen(text), NULL, &file));
  expect_ok(zb_schedule_explain(&x.problem, &file.order, &e));
  for (int rank = 0; rank < 2; ++rank) {
    CU_ASSERT_EQUAL(e.idle_ps[rank], 3 * MS);
    CU_ASSERT_EQUAL(e.part_ps[rank][ZB_CAUSE_ORDER], 2 * MS);
    CU_ASSERT_EQUAL(e.part_ps[rank][ZB_CAUSE_DEPENDENCY], MS);
  }
  CU_ASSERT_EQUAL(e.saved_ps[ZB_CAUSE_ORDER], 2 * MS);
  zb_explanation_deinit(&e);
  zb_order_file_deinit(&file);
}

/* ---- Random problems ---- */

static int64_t time_of(const zb_problem *problem, const zb_order *order, int64_t *idle_ps) {
  zb_simulation s;
  expect_ok(zb_simulate(problem, order, &s));
  zb_period period;
  expect_ok(zb_order_period(problem, order, &period));
  const int64_t time = problem->metric == ZB_METRIC_PERIOD  ? period.period_ps
                       : problem->metric == ZB_METRIC_STAGE ? s.stage_ps
                                                            : s.step_ps;
  for (int rank = 0; idle_ps && rank < problem->ranks; ++rank) {
    idle_ps[rank] = time - problem->optimizer_ps[rank];
    for (int i = 0; i < order->counts[rank]; ++i)
      idle_ps[rank] -= s.jobs[rank][i].end_ps - s.jobs[rank][i].start_ps;
  }
  zb_simulation_deinit(&s);
  return time;
}

static void check_sums(const zb_problem *problem, const zb_order *order) {
  zb_explanation e;
  int64_t idle_ps[FIXTURE_STAGES];
  expect_ok(zb_schedule_explain(problem, order, &e));
  CU_ASSERT_EQUAL(e.time_ps, time_of(problem, order, idle_ps));
  for (int rank = 0; rank < problem->ranks; ++rank) {
    int64_t sum = 0;
    for (int cause = 0; cause < ZB_CAUSE_COUNT; ++cause) {
      CU_ASSERT(e.part_ps[rank][cause] >= 0);
      sum += e.part_ps[rank][cause];
    }
    CU_ASSERT_EQUAL(sum, idle_ps[rank]);
    CU_ASSERT_EQUAL(sum, e.idle_ps[rank]);
  }
  zb_problem free_links = *problem;
  free_links.link_latency_ps = 0;
  free_links.link_ps_per_byte = 0;
  free_links.reduction_count = 0;
  const int64_t saved = e.time_ps - time_of(&free_links, order, NULL);
  CU_ASSERT_EQUAL(e.saved_ps[ZB_CAUSE_MESSAGES], saved > 0 ? saved : 0);
  if (problem->metric == ZB_METRIC_BARRIER) CU_ASSERT_EQUAL(total(&e, ZB_CAUSE_MESSAGES), problem->ranks * saved);
  zb_explanation_deinit(&e);
}

static void test_random(void) {
  uint64_t seed = 11;
  static const char *const placements[] = {"plain", "looped", "v", "wave"};
  int explained = 0, whole = 0;
  for (int round = 0; round < 800; ++round) {
    const zb_schedule_def *schedule = zb_schedule_at(round % zb_schedule_count());
    if (schedule->searches || schedule->is_slow) continue;
    const int p = 1 + (int)fixture_random(&seed, 6), m = 1 + (int)fixture_random(&seed, 9);
    const int kind = schedule->chunks_max > 1 ? (int)fixture_random(&seed, 4) : 0;
    const int v = kind == 0 ? 1 : kind == 2 ? 2 : 1 + (int)fixture_random(&seed, 3);
    fixture x;
    zb_order order = {0};
    fixture_uneven(&x, &seed, placements[kind], p, v, m);
    x.problem.metric = (zb_metric)(round / 7 % ZB_METRIC_COUNT);
    zb_reduction reductions[3];
    for (int i = 0; i < 3; ++i)
      reductions[i] = (zb_reduction){(int)fixture_random(&seed, p * v), (int)fixture_random(&seed, m), 0,
                                     fixture_random(&seed, 60), 0};
    x.problem.reductions = reductions;
    x.problem.reduction_count = round % 3 ? 0 : 3;
    if (round % 5 == 0)
      random_order(&x.problem, &seed, &order);
    else
      zb_status_free(zb_schedule_run(schedule, &x.problem, &order));
    if (!order.jobs) continue;
    whole += order.whole_backward;
    ++explained;
    check_sums(&x.problem, &order);
    zb_order_deinit(&order);
  }
  CU_ASSERT(explained > 300);
  CU_ASSERT(whole > 50);
}

static void test_failures(void) {
  fixture x;
  zb_order order;
  zb_explanation e;
  no_bubble(&x);
  expect_ok(zb_schedule_run(zb_schedule_find("zb-h1", NULL), &x.problem, &order));
  for (uint64_t at = 1;; ++at) {
    zb_allocation_fail_at(at);
    zb_status status = zb_schedule_explain(&x.problem, &order, &e);
    zb_allocation_fail_at(0);
    if (!status) break;
    CU_ASSERT_EQUAL(zb_status_code(status), ZB_MEMORY);
    CU_ASSERT_PTR_NULL(e.idle_ps);
    zb_status_free(status);
  }
  zb_explanation_deinit(&e);
  const zb_job last = order.jobs[0][order.counts[0] - 1]; /* a list that waits for ever */
  order.jobs[0][order.counts[0] - 1] = order.jobs[0][0];
  order.jobs[0][0] = last;
  expect_status(zb_schedule_explain(&x.problem, &order, &e), ZB_TIMEOUT, "this order cannot finish");
  zb_order_deinit(&order);
}

int main(void) {
  static const CU_TestInfo tests[] = {
      {"dependency", test_dependency},  {"none", test_none},           {"messages", test_messages},
      {"reductions", test_reductions},  {"imbalance", test_imbalance}, {"imbalance of optimizers", test_optimizer},
      {"memory", test_memory},          {"memory limit", test_limit},  {"order", test_order},
      {"random problems", test_random}, {"failures", test_failures},   CU_TEST_INFO_NULL,
  };
  return run_suite("explain", tests);
}
