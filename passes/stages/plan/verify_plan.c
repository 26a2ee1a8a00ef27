/* zb-verify-plan: makes the plan of an allocated program and proves it right with the independent verifier of
 * runtime/plan. The program stays as it is. In a whole compile the plan goes to the caller. Tests:
 * test/passes/chunks.test, test/passes/tied.mlir, test/passes/proof.test, test/passes/proof_test.c; the verifier
 * itself: test/runtime/plan/proof/verifier_test.c. */

#include "passes/stages/plan/emit_plan.h"
#include "passes/pipeline.h"
#include "passes/stages/jobs/step_time.h"
#include "passes/stages/plan/weave.h"
#include "runtime/plan/proof/proof.h"

#include <stdio.h>
#include <string.h>

/* Which pass decides what a rule of the proof asks for: where to look when it does not hold. */
static const struct {
  const char *rule, *pass;
} makers[] = {
    {"structure", "zb-verify-plan"}, {"woven", "zb-verify-plan"},   {"owners", "zb-verify-plan"},
    {"regions", "zb-allocate"},      {"ranges", "zb-allocate"},     {"dataflow", "zb-allocate"},
    {"messages", "zb-insert-comm"},  {"reports", "zb-insert-comm"}, {"deadlock", "zb-insert-comm"},
    {"complete", "zb-schedule"},     {"order", "zb-schedule"},      {"load", "zb-outline"},
    {"optimizer", "zb-outline"},     {"buffers", "zb-outline"},
};

static const char *maker_of(zb_status refused) {
  char rule[64];
  for (size_t i = 0; i < sizeof makers / sizeof makers[0]; ++i) {
    snprintf(rule, sizeof rule, "rule \"%s\"", makers[i].rule);
    if (strstr(zb_status_text(refused), rule)) return makers[i].pass;
  }
  return "zb-verify-plan";
}

/* No model and no option may lead to a plan that the proof refuses: that would be a bug of zbc. Takes
 * ownership. */
static zb_status bug(zb_status refused) {
  if (zb_status_code(refused) != ZB_INVALID) return refused;
  const char *maker = maker_of(refused);
  zb_status status =
      ZB_ERROR(INTERNAL, "a bug of zbc, probably in %s: its own proof refuses the plan that it made (%s)", maker,
               zb_status_message(refused));
  zb_status_free(refused);
  return zb_status_hint(status,
                        "please report it with the model (or the file of --dump-ir DIR whose name has %s), the command "
                        "line, and this text; "
                        "no plan was written. Until it is fixed another --schedule or other --ranks may work",
                        maker);
}

zb_status zb_compile_proof_end(zb_compile_state *state) {
  const zb_status status = zb_plan_proof_end(state->proof);
  state->proof = NULL;
  return bug(status);
}

static zb_result run(zb_pass *pass, MlirModule module) {
  zb_plan *plan = NULL;
  uint64_t limit = 0;
  zb_metric metric;
  if (!zb_pass_option_bytes(pass, "memory-limit", &limit)) return ZB_FAIL;
  if (!zb_pass_option_metric(pass, mlirModuleGetOperation(module), &metric)) return ZB_FAIL;
  zb_compile_state *state = pass->state;
  /* What is compared with a limit, or with other plans, has the bytes that memory was given to. */
  const bool grows = !limit && state && state->proves_beside;
  ZB_PASS_TRY(pass, zb_emit_plan(module, zb_pass_option(pass, "model"), zb_pass_option(pass, "optimizer"), &plan));
  const zb_status woven = zb_weave(plan, metric, grows);
  if (woven) zb_plan_destroy(plan);
  ZB_PASS_TRY(pass, woven);
  const bool beside = state && state->proves_beside && !state->plan && (state->proof = zb_plan_proof_begin(plan));
  zb_status status = beside ? NULL : bug(zb_plan_verify(plan));
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
