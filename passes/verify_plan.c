// zb-verify-plan: makes the plan of an allocated program and proves it right with the independent verifier of runtime/plan.
// The program stays as it is. In a whole compile the plan is handed to the one who asked for it.
// Tests: test/passes/chunks.test, test/passes/tied.mlir; the verifier itself: test/runtime/plan/verifier_test.c.

#include "passes/emit_plan.h"
#include "passes/pipeline.h"

static zb_result run(zb_pass *pass, MlirModule module) {
  zb_plan *plan = NULL;
  ZB_PASS_TRY(pass, zb_emit_plan(module, zb_pass_option(pass, "model"), zb_pass_option(pass, "optimizer"), &plan));
  zb_status status = zb_plan_verify(plan);
  zb_compile_state *state = pass->shared;
  if (!status && state && !state->plan) {
    state->plan = plan;
    return ZB_OK;
  }
  zb_plan_destroy(plan);
  return status ? zb_pass_fail(pass, status) : ZB_OK;
}

static const zb_option_def options[] = {
    {"model", "", "name of the model in the plan"},
    {"optimizer", "", "optimizer line in the plan"},
    {0},
};

const zb_pass_def zb_pass_verify_plan = {
    .name = "zb-verify-plan",
    .summary = "Make the plan and prove it: dataflow, messages, memory, no deadlock with zero buffering.",
    .options = options,
    .requires_level = "allocated",
    .ensures_level = "verified",
    .run = run,
};
