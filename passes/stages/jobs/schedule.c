/* zb-schedule: orders the jobs of each rank.
 *
 *   before                              after
 *     module @rank0 { ... }               module @rank0 attributes {zb.order = "0F0 0F1 0B0 0W0 ..."} { ... }
 *
 * The order is that of the choice that zb-choose made; without one what the schedule library has for the problem, which
 * is read off the framed functions: times, frame bytes, edges between stages, memory that is always there. Which order
 * keeps a limit of memory only plans say, so zb-choose looks for it (passes/choose/moves/order.c).
 *
 * A W is placed right behind its B as far as no rank ends later (zb_order_advance_w). An order from outside
 * (schedule=FILE.csv) is read and proven by the library and stays as it is; messages and memory are ours like for any
 * other.
 *
 * Tests: test/passes/schedule.mlir, test/tools/zbc-schedule.test. */

#include "passes/function.h"
#include "passes/pipeline.h"
#include "passes/stages/functions/chosen.h"
#include "passes/stages/jobs/orders.h"
#include "passes/stages/jobs/problem.h"
#include "passes/stages/jobs/schedule_file.h"
#include "passes/stages/jobs/step_time.h"
#include "runtime/base/file.h"

#include <string.h>

typedef struct settings {
  const zb_choice *chosen; /* NULL: file */
  const char *file;        /* NULL: choice */
  zb_schedule_choice choice;
  int micro_batches; /* 0: those of the file */
  zb_metric metric;
  bool settle;
} settings;

static zb_status note_order(const zb_pass *pass, const zb_order *order, const char *name, int micro_batches) {
  zb_choice *notes = zb_chosen_notes(pass);
  if (!notes) return NULL;
  notes->decided |= ZB_CHOICE_ORDER;
  notes->schedule = zb_arena_strdup(&notes->arena, name);
  notes->micro_batches = micro_batches;
  ZB_TRY(zb_choice_set_order(notes, order));
  return zb_arena_status(&notes->arena);
}

static zb_status schedule_module(zb_pass *pass, MlirModule module, const settings *s) {
  zb_module_problem problem;
  zb_order order = {0};
  const zb_order *decided = s->chosen ? &s->chosen->order : &order;
  const char *name = s->chosen ? s->chosen->schedule : s->file ? zb_file_name(s->file) : s->choice.schedule->name;
  zb_status status = NULL;
  ZB_TRY(zb_order_problem_build(module, s->micro_batches, s->metric, &problem));
  if (s->chosen)
    ZB_TRY_GOTO(zb_choice_order_error(s->chosen, zb_order_validate(&problem.problem, decided)));
  else if (s->file)
    ZB_TRY_GOTO(zb_schedule_file_order(s->file, &problem.problem, &order));
  else
    ZB_TRY_GOTO(zb_choice_order(pass->program->memo, &s->choice, s->settle, &problem.problem, &order));
  ZB_TRY_GOTO(zb_module_order_write(module, decided, name, problem.problem.micro_batches));
  ZB_TRY_GOTO(note_order(pass, decided, name, problem.problem.micro_batches));
  pass->changes += decided->ranks;
cleanup:
  zb_order_deinit(&order);
  zb_module_problem_deinit(&problem);
  return status;
}

static zb_result run(zb_pass *pass, MlirModule module) {
  MlirOperation top = mlirModuleGetOperation(module);
  settings s = {0};
  if (!zb_chosen(pass, ZB_CHOICE_ORDER, &s.chosen)) return ZB_FAIL;
  const char *given = zb_pass_option(pass, "micro-batches"), *schedule = zb_pass_option(pass, "schedule");
  int64_t micro_batches = *given ? zb_pass_option_int(pass, "micro-batches", 0) : 1;
  if (micro_batches < 1 || micro_batches > ZB_MICRO_BATCHES_MAX)
    return zb_pass_option_error(pass, top, "micro-batches", "for example 8", "expected 1 to %d micro-batches, got '%s'",
                                ZB_MICRO_BATCHES_MAX, given);
  s.file = !s.chosen && zb_schedule_is_file(schedule) ? schedule : NULL;
  s.micro_batches = s.file && !*given ? 0 : (int)micro_batches;
  const char *settle = zb_pass_option(pass, "settle");
  s.settle = strcmp(settle, "true") == 0;
  if (!zb_pass_option_metric(pass, top, &s.metric)) return ZB_FAIL;
  if (!s.settle && strcmp(settle, "false") != 0)
    return zb_pass_option_error(pass, top, "settle", "false leaves every W where the schedule has it",
                                "expected true or false, got '%s'", settle);
  if (!s.file && !s.chosen) ZB_PASS_TRY(pass, zb_schedule_to_train(schedule, &s.choice));
  ZB_PASS_TRY(pass, schedule_module(pass, module, &s));
  zb_remove_attribute(top, ZB_ATTR_CHOICE);
  return ZB_OK;
}

static const zb_option_def options[] = {
    {"micro-batches", "", "micro-batches a step (default: 1, or those of the file)"},
    {"settle", "true",
     "true: each W right behind its B, as far as no rank ends later; false: where the schedule has it"},
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
