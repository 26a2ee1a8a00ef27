// zb-schedule: orders the jobs of each rank with the schedule library.
//
//   before                              after
//     module @rank0 { ... }               module @rank0 attributes {zb.order = "0F0 0F1 0B0 0W0 ..."} { ... }
//
// The problem is read off the framed functions: times, frame bytes, edges between stages, memory that is always there.
//
// Tests: test/passes/schedule.mlir.

#include "passes/function.h"
#include "passes/pipeline.h"
#include "passes/problem.h"

#include <stdlib.h>
#include <string.h>

static zb_status schedule_module(zb_pass *pass, MlirModule module, const zb_schedule_choice *choice, int micro_batches) {
  zb_module_problem problem;
  zb_order order = {0};
  zb_status status = NULL;
  ZB_TRY(zb_module_problem_build(module, micro_batches, &problem));
  ZB_TRY_GOTO(zb_schedule_run_choice(choice, &problem.problem, &order));
  for (int rank = 0; rank < problem.problem.ranks; ++rank) {
    char *text = zb_order_text(&order, rank);
    if (!text) ZB_TRY_GOTO(ZB_OUT_OF_MEMORY());
    zb_set_string(problem.ranks[rank], "zb.order", text);
    zb_free(text);
    ++pass->changes;
  }
  zb_set_string(mlirModuleGetOperation(module), "zb.schedule", choice->schedule->name);
  zb_set_i64(mlirModuleGetOperation(module), "zb.micro_batches", micro_batches);
cleanup:
  zb_order_deinit(&order);
  zb_module_problem_deinit(&problem);
  return status;
}

static zb_result run(zb_pass *pass, MlirModule module) {
  MlirOperation top = mlirModuleGetOperation(module);
  int64_t micro_batches = zb_pass_option_int(pass, "micro-batches", 0);
  if (micro_batches < 1 || micro_batches > 1 << 20)
    return zb_op_error_at(top, "micro-batches=8", "expected 1 to 1048576 micro-batches, got '%s'", zb_pass_option(pass, "micro-batches"));
  zb_schedule_choice choice;
  ZB_PASS_TRY(pass, zb_schedule_parse(zb_pass_option(pass, "schedule"), &choice));
  ZB_PASS_TRY(pass, schedule_module(pass, module, &choice, (int)micro_batches));
  return ZB_OK;
}

static const zb_option_def options[] = {
    {"schedule", "zb-h1", "name of a schedule (zb-sched --list), with its options: NAME:option=number,..."},
    {"micro-batches", "1", "micro-batches a step"},
    {0},
};

const zb_pass_def zb_pass_schedule = {
    .name = "zb-schedule",
    .summary = "Order the jobs of each rank with a schedule of the library.",
    .options = options,
    .requires_level = "framed",
    .ensures_level = "scheduled",
    .run = run,
};
