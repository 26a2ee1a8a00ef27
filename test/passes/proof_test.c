/* What a compile says of a plan that its proof refuses, where the proof goes on beside it: a bug of zbc, with the pass
 * to look at, as zb-opt says it (proof.test). */
#include "passes/pipeline.h"
#include "runtime/plan/proof/proof.h"
#include "test/runtime/plan/sample_plan.h"
#include "test/suite.h"

static zb_status end_of(const zb_plan *plan) {
  zb_compile_state state = {.proof = zb_plan_proof_begin(plan)};
  CU_ASSERT_PTR_NOT_NULL_FATAL(state.proof);
  zb_status status = zb_compile_proof_end(&state);
  CU_ASSERT_PTR_NULL(state.proof);
  CU_ASSERT_PTR_NULL(zb_compile_proof_end(&state)); /* it is said once */
  return status;
}

static void test_right(void) {
  for (int micro_batches = 6; micro_batches <= 1206; micro_batches += 1200) {
    zb_plan *plan = sample_plan(4, micro_batches, 4);
    CU_ASSERT_PTR_NULL(end_of(plan));
    zb_plan_destroy(plan);
  }
}

static void test_refused(void) {
  for (int micro_batches = 6; micro_batches <= 1206; micro_batches += 1200) {
    zb_plan *plan = sample_plan(4, micro_batches, 4);
    for (int i = 0; i < plan->ranks[1].job_count; ++i)
      if (plan->ranks[1].jobs[i].kind == ZB_JOB_W) plan->ranks[1].jobs[i].micro_batch = 0;
    zb_status status = end_of(plan);
    CU_ASSERT_EQUAL(zb_status_code(status), ZB_INTERNAL);
    CU_ASSERT_PTR_NOT_NULL(strstr(zb_status_message(status), "a bug of zbc, probably in zb-schedule"));
    CU_ASSERT_PTR_NOT_NULL(strstr(zb_status_message(status), "the same job is there twice"));
    zb_status_free(status);
    zb_plan_destroy(plan);
  }
}

SUITE_MAIN("proof beside a compile", {"right", test_right}, {"refused", test_refused})
