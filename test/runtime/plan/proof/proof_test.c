/* The proof beside other work on the plan: what it says is what zb_plan_verify says, of short and of long plans, of
 * right and of wrong ones; meanwhile others read the plan, which the thread sanitizer watches. */
#include "test/runtime/plan/sample_plan.h"
#include "runtime/plan/clock/simulator.h"
#include "runtime/plan/proof/proof.h"
#include "test/suite.h"

enum { RANKS = 4, SHORT = 6, LONG = 1200, DEPTH = 4 };

/* Proves it beside a simulation, twice. */
static void expect_same(const zb_plan *plan, bool is_right) {
  zb_status expected = zb_plan_verify(plan);
  CU_ASSERT_EQUAL(expected == NULL, is_right);
  for (int i = 0; i < 2; ++i) {
    zb_plan_simulation simulation;
    zb_plan_proof *proof = zb_plan_proof_begin(plan);
    CU_ASSERT_PTR_NOT_NULL_FATAL(proof);
    CU_ASSERT_PTR_NULL_FATAL(zb_plan_simulate(plan, &simulation));
    CU_ASSERT(simulation.step_ps > 0);
    zb_plan_simulation_free(&simulation);
    zb_status found = zb_plan_proof_end(proof);
    CU_ASSERT_EQUAL(zb_status_code(found), zb_status_code(expected));
    if (!is_right) CU_ASSERT_STRING_EQUAL(zb_status_message(found), zb_status_message(expected));
    zb_status_free(found);
  }
  zb_status_free(expected);
}

static void test_proofs(void) {
  const int micro_batches[] = {SHORT, LONG};
  for (int i = 0; i < 2; ++i) {
    zb_plan *plan = sample_plan(RANKS, micro_batches[i], DEPTH);
    CU_ASSERT_EQUAL(zb_plan_is_long(plan), micro_batches[i] == LONG);
    expect_same(plan, true);
    const zb_plan_rank *rank = &plan->ranks[RANKS - 1];
    for (int job = 0; job < rank->job_count; ++job) /* the last W adds nothing to its gradients */
      if (rank->jobs[job].kind == ZB_JOB_W && rank->jobs[job].micro_batch == micro_batches[i] - 1)
        rank->jobs[job].micro_batch = 0;
    expect_same(plan, false);
    zb_plan_destroy(plan);
  }
}

static void test_nothing_began(void) {
  zb_plan *plan = sample_plan(2, 2, 0);
  zb_allocation_fail_at(1);
  zb_plan_proof *proof = zb_plan_proof_begin(plan);
  zb_allocation_fail_at(0);
  CU_ASSERT_PTR_NULL(proof);
  CU_ASSERT_PTR_NULL(zb_plan_proof_end(proof));
  zb_plan_destroy(plan);
}

/* Each allocation of a proof fails in turn: on another thread, too, it is a failure of memory. */
static void test_memory(void) {
  zb_plan *plan = sample_plan(RANKS, LONG, DEPTH);
  for (uint64_t n = 2; n < 40; ++n) {
    zb_allocation_fail_at(n);
    zb_plan_proof *proof = zb_plan_proof_begin(plan);
    CU_ASSERT_PTR_NOT_NULL_FATAL(proof);
    zb_status status = zb_plan_proof_end(proof);
    zb_allocation_fail_at(0);
    CU_ASSERT(!status || zb_status_code(status) == ZB_MEMORY);
    zb_status_free(status);
  }
  zb_plan_destroy(plan);
}

SUITE_MAIN("proof", {"beside other work", test_proofs}, {"nothing began", test_nothing_began}, {"memory", test_memory})
