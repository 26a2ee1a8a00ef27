/* The period of plans: by hand, and against bounds that every plan keeps. That steps really take it is shown by the sim
 * device, which shares no code with the simulator: test/e2e/overlap.py. */
#include "test/runtime/plan/sample_plan.h"
#include "runtime/plan/clock/simulator.h"

#include <stdio.h>

#include "test/suite.h"

static zb_plan_period find(const zb_plan *plan) {
  zb_plan_period period;
  zb_status status = zb_plan_find_period(plan, &period);
  if (status) printf("\n  %s", zb_status_text(status));
  CU_ASSERT_PTR_NULL_FATAL(status);
  return period;
}

/* Nobody waits for anybody. */
static void test_one_rank(void) {
  zb_plan *plan = sample_plan(1, 3, 0);
  plan->step_ps = 1000; /* of a barrier */
  const zb_plan_period period = find(plan);
  CU_ASSERT(period.exact);
  CU_ASSERT_EQUAL(period.cycle_ps, 3 * (10 + 20 + 30) + 5);
  CU_ASSERT_EQUAL(period.steps, 1);
  CU_ASSERT_DOUBLE_EQUAL(period.bubble, 0, 1e-12);
  zb_plan_destroy(plan);
}

/* As in test_two_ranks of simulator_test.c: rank 0 ends at 110 and can begin then, rank 1 at 109 has to wait for its F
 * of rank 0, which it would have to anyway. */
static void test_two_ranks(void) {
  zb_plan *plan = sample_plan(2, 1, 0);
  const zb_plan_period period = find(plan);
  CU_ASSERT(period.exact);
  CU_ASSERT_EQUAL(period.cycle_ps, 110);
  CU_ASSERT_EQUAL(period.steps, 1);
  zb_plan_destroy(plan);
}

/* Whatever a plan takes: a rank is not faster than its work, and no step slower than one with a barrier. */
static void test_bounds(void) {
  uint32_t random = 17;
  for (int round = 0; round < 60; ++round) {
    const int ranks = 1 + round % 5;
    zb_plan *plan = sample_plan(ranks, 1 + round % 7, 0);
    zb_plan_simulation it;
    int64_t busiest = 0;
    for (int r = 0; r < ranks; ++r)
      for (int i = 0; i < plan->ranks[r].subprogram_count; ++i) {
        random = random * 1664525u + 1013904223u;
        plan->ranks[r].subprograms[i].time_ps = 1 + (random >> 20) % 90;
      }
    plan->link_latency_ps = round % 9;
    plan->link_copies = round % 4 == 3;
    plan->link_wake_ps = round % 3;
    plan->job_ps = round % 2;
    plan->read_ps = round % 5;
    CU_ASSERT_PTR_NULL_FATAL(zb_plan_simulate(plan, &it));
    for (int r = 0; r < ranks; ++r)
      if (it.ranks[r].busy_ps > busiest) busiest = it.ranks[r].busy_ps;
    const zb_plan_period period = find(plan);
    CU_ASSERT(period.exact);
    CU_ASSERT(period.cycle_ps >= busiest * period.steps);
    if (!plan->link_copies && plan->link_wake_ps == 0) CU_ASSERT(period.cycle_ps <= it.step_ps * period.steps);
    zb_plan_simulation_free(&it);
    zb_plan_destroy(plan);
  }
}

SUITE_MAIN("period", {"one rank", test_one_rank}, {"two ranks", test_two_ranks},
           {"not below the work, not above a step", test_bounds})
