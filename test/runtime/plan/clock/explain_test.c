/* Why ranks idle in a plan: causes one by one, and on random costs the parts add up to what the simulator says. */
#include "runtime/plan/clock/explain.h"
#include "runtime/plan/clock/simulator.h"
#include "runtime/plan/mesh/mesh.h"
#include "test/runtime/plan/collective_plan.h"
#include "test/runtime/plan/sample_plan.h"
#include "test/suite.h"

static int64_t next_random(uint64_t *seed, int64_t below) {
  *seed = *seed * UINT64_C(6364136223846793005) + 1442695040888963407U;
  return (int64_t)(*seed >> 33) % below;
}

static void expect_ok(zb_status status) {
  if (status) printf("\n  %s", zb_status_text(status));
  CU_ASSERT_PTR_NULL_FATAL(status);
}

/* Takes no ownership; a plan without collectives. */
static void explain(const zb_plan *plan, zb_explanation *out) {
  zb_plan_pace pace;
  expect_ok(zb_plan_pace_init(&pace, plan));
  expect_ok(zb_plan_explain(plan, &pace, NULL, out));
  zb_plan_pace_deinit(&pace);
}

static int64_t total(const zb_explanation *e, zb_cause cause) {
  int64_t sum = 0;
  for (int rank = 0; rank < e->ranks; ++rank)
    sum += e->part_ps[rank][cause];
  return sum;
}

/* What is the cause's, and that there is nothing of the others but of dependency. */
static int64_t only(const zb_explanation *e, zb_cause cause) {
  for (int other = 0; other < ZB_CAUSE_DEPENDENCY; ++other)
    if (other != (int)cause) CU_ASSERT_EQUAL(total(e, (zb_cause)other), 0);
  return total(e, cause);
}

static void no_links(zb_plan *plan) {
  plan->link_latency_ps = 0;
  plan->link_ps_per_byte = 0;
}

static void test_interpreter(void) {
  zb_plan *plan = sample_plan(1, 3, 0);
  zb_explanation e;
  explain(plan, &e);
  CU_ASSERT_EQUAL(e.idle_ps[0], 0);
  zb_explanation_deinit(&e);
  plan->job_ps = 2;
  plan->read_ps = 7;
  plan->step_ps = 11;
  explain(plan, &e);
  CU_ASSERT(e.idle_ps[0] > 2 * 10 + 3 * 7);
  CU_ASSERT_EQUAL(only(&e, ZB_CAUSE_INTERPRETER), e.idle_ps[0]);
  CU_ASSERT_EQUAL(e.saved_ps[ZB_CAUSE_INTERPRETER], e.idle_ps[0]);
  CU_ASSERT_EQUAL(zb_explanation_most(&e), ZB_CAUSE_INTERPRETER);
  CU_ASSERT_FALSE(e.has[ZB_CAUSE_NOISE]);
  zb_explanation_deinit(&e);
  zb_plan_destroy(plan);
}

/* Two ranks, one micro-batch, by hand in simulator_test.c: without messages a step takes 105, with them 110. */
static void test_messages(void) {
  zb_plan *plan = sample_plan(2, 1, 0);
  zb_explanation e;
  explain(plan, &e);
  const int64_t with_ps = e.time_ps;
  CU_ASSERT_EQUAL(with_ps, 110);
  const int64_t messages = only(&e, ZB_CAUSE_MESSAGES);
  CU_ASSERT_EQUAL(e.saved_ps[ZB_CAUSE_MESSAGES], messages / 2);
  zb_explanation_deinit(&e);
  no_links(plan);
  explain(plan, &e);
  CU_ASSERT_EQUAL(only(&e, ZB_CAUSE_MESSAGES), 0);
  CU_ASSERT_EQUAL(messages, 2 * (with_ps - e.time_ps));
  zb_explanation_deinit(&e);
  zb_plan_destroy(plan);
}

/* One stage takes twice as long. Before, only the update of the tied parameter is not on every rank. */
static void test_imbalance(void) {
  zb_plan *plan = sample_plan(3, 9, 0);
  zb_explanation e;
  no_links(plan);
  explain(plan, &e);
  const int64_t before = total(&e, ZB_CAUSE_MEMORY) + total(&e, ZB_CAUSE_ORDER) + total(&e, ZB_CAUSE_DEPENDENCY);
  CU_ASSERT(total(&e, ZB_CAUSE_IMBALANCE) <= 3 * SAMPLE_OPT_PS);
  zb_explanation_deinit(&e);
  for (int i = 0; i < plan->ranks[1].subprogram_count; ++i)
    plan->ranks[1].subprograms[i].time_ps *= 2;
  explain(plan, &e);
  CU_ASSERT(e.part_ps[0][ZB_CAUSE_IMBALANCE] > 9 * 30);
  CU_ASSERT(e.part_ps[2][ZB_CAUSE_IMBALANCE] > 9 * 30);
  CU_ASSERT(total(&e, ZB_CAUSE_IMBALANCE) > before);
  CU_ASSERT_EQUAL(total(&e, ZB_CAUSE_MESSAGES) + total(&e, ZB_CAUSE_INTERPRETER), 0);
  zb_explanation_deinit(&e);
  zb_plan_destroy(plan);
}

static void random_costs(zb_plan *plan, uint64_t seed) {
  for (int r = 0; r < plan->rank_count; ++r)
    for (int i = 0; i < plan->ranks[r].subprogram_count; ++i) {
      plan->ranks[r].subprograms[i].time_ps = next_random(&seed, 1000);
      plan->ranks[r].subprograms[i].first_ps = next_random(&seed, 2) * next_random(&seed, 1000);
    }
  plan->link_copies = next_random(&seed, 2) == 1;
  plan->link_latency_ps = next_random(&seed, 200);
  plan->link_ps_per_byte = (double)next_random(&seed, 1000) / 800;
  plan->link_wake_ps = next_random(&seed, 3) * next_random(&seed, 100);
  plan->job_ps = next_random(&seed, 3) * next_random(&seed, 30);
  plan->read_ps = next_random(&seed, 2) * next_random(&seed, 100);
  plan->step_ps = next_random(&seed, 100);
}

static void check_sums(const zb_plan *plan, const zb_plan *simulated) {
  zb_plan_simulation s;
  zb_explanation e;
  expect_ok(zb_plan_simulate(simulated, &s));
  explain(plan, &e);
  CU_ASSERT_EQUAL(e.time_ps, s.step_ps);
  for (int r = 0; r < plan->rank_count; ++r) {
    int64_t sum = 0;
    for (int cause = 0; cause < ZB_CAUSE_COUNT; ++cause) {
      CU_ASSERT(e.part_ps[r][cause] >= 0);
      sum += e.part_ps[r][cause];
    }
    CU_ASSERT_EQUAL(sum, s.step_ps - s.ranks[r].busy_ps);
    CU_ASSERT_EQUAL(sum, e.idle_ps[r]);
  }
  zb_explanation_deinit(&e);
  zb_plan_simulation_free(&s);
}

static void test_random(void) {
  for (uint64_t seed = 1; seed <= 150; ++seed) {
    uint64_t random = seed;
    zb_plan *plan = sample_plan(1 + (int)next_random(&random, 5), 1 + (int)next_random(&random, 8), 0);
    random_costs(plan, seed);
    check_sums(plan, plan);
    zb_plan_destroy(plan);
  }
}

static void test_collectives(void) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    const collective_case about = {(zb_collective_kind)(seed % ZB_COLLECTIVE_COUNT), 4, 0xb, 300, 3};
    zb_plan *plan = collective_plan(&about), *expanded = NULL;
    random_costs(plan, seed);
    expect_ok(zb_plan_expand(plan, &expanded));
    check_sums(expanded, plan);
    zb_plan_destroy(expanded);
    zb_plan_destroy(plan);
  }
}

/* A step that took longer than its pace says. */
static void test_noise(void) {
  zb_plan *plan = sample_plan(2, 3, 0);
  zb_plan_pace pace;
  zb_plan_simulation s;
  zb_explanation simulated, e;
  expect_ok(zb_plan_simulate(plan, &s));
  explain(plan, &simulated);
  const int64_t busy[] = {s.ranks[0].busy_ps + 20, s.ranks[1].busy_ps};
  const zb_plan_measured measured = {s.step_ps + 50, busy};
  expect_ok(zb_plan_pace_init(&pace, plan));
  expect_ok(zb_plan_explain(plan, &pace, &measured, &e));
  CU_ASSERT_EQUAL(e.time_ps, s.step_ps + 50);
  CU_ASSERT_EQUAL(e.part_ps[0][ZB_CAUSE_NOISE], 30);
  CU_ASSERT_EQUAL(e.part_ps[1][ZB_CAUSE_NOISE], 50);
  CU_ASSERT_EQUAL(e.saved_ps[ZB_CAUSE_NOISE], 50);
  for (int cause = ZB_CAUSE_INTERPRETER; cause < ZB_CAUSE_COUNT; ++cause)
    CU_ASSERT_EQUAL(e.part_ps[1][cause], simulated.part_ps[1][cause]);
  zb_explanation_deinit(&simulated);
  zb_explanation_deinit(&e);
  zb_plan_pace_deinit(&pace);
  zb_plan_simulation_free(&s);
  zb_plan_destroy(plan);
}

static void test_memory(void) {
  zb_plan *plan = sample_plan(2, 3, 0);
  zb_plan_pace pace;
  zb_explanation e;
  expect_ok(zb_plan_pace_init(&pace, plan));
  for (uint64_t at = 1;; ++at) {
    zb_allocation_fail_at(at);
    zb_status status = zb_plan_explain(plan, &pace, NULL, &e);
    zb_allocation_fail_at(0);
    if (!status) break;
    CU_ASSERT_EQUAL(zb_status_code(status), ZB_MEMORY);
    zb_status_free(status);
  }
  zb_explanation_deinit(&e);
  zb_plan_pace_deinit(&pace);
  zb_plan_destroy(plan);
}

SUITE_MAIN("explain", {"interpreter", test_interpreter}, {"messages", test_messages}, {"imbalance", test_imbalance},
           {"random costs", test_random}, {"collectives", test_collectives}, {"noise", test_noise},
           {"no memory", test_memory})
