/* Compiling copies of a program: see passes/stages/trial.h. Tests: test/e2e/split.py, test/e2e/recompute.py. */

#include "passes/stages/trial.h"

#include "passes/stages/orders.h"
#include "passes/stages/problem.h"
#include "passes/stages/schedule_file.h"
#include "passes/stages/step_time.h"
#include "runtime/base/memo.h"
#include "runtime/plan/file/plan.h"

#include <string.h>

zb_status zb_trial_add(const zb_pass *pass, const char *name, zb_pipeline *out) {
  ZB_TRY(zb_pipeline_add(out, name, NULL));
  zb_pipeline_entry *entry = &out->entries[out->count - 1];
  for (int i = 0; entry->def->options && entry->def->options[i].name; ++i)
    for (int k = 0; pass->def->options[k].name; ++k)
      if (strcmp(entry->def->options[i].name, pass->def->options[k].name) == 0)
        entry->values[i] = pass->option_values[k];
  return NULL;
}

zb_status zb_trial_add_frames(const zb_pass *pass, zb_pipeline *out) {
  ZB_TRY(zb_pipeline_add(out, "zb-outline", NULL));
  ZB_TRY(zb_pipeline_add(out, "zb-norm-sums", NULL));
  ZB_TRY(zb_trial_add(pass, "zb-shard-optimizer", out));
  return zb_trial_add(pass, "zb-memory", out);
}

zb_status zb_trial_add_plan(const zb_pass *pass, const char *schedule, const char *limit, zb_pipeline *out) {
  ZB_TRY(zb_trial_add(pass, "zb-schedule", out));
  zb_pipeline_entry *entry = &out->entries[out->count - 1];
  for (int i = 0; entry->def->options[i].name; ++i) {
    if (strcmp(entry->def->options[i].name, "schedule") == 0) entry->values[i] = schedule;
    if (strcmp(entry->def->options[i].name, "memory-limit") == 0) entry->values[i] = limit;
  }
  ZB_TRY(zb_pipeline_add(out, "zb-insert-comm", NULL));
  ZB_TRY(zb_pipeline_add(out, "zb-allocate", NULL));
  return zb_pipeline_add(out, "zb-verify-plan", NULL);
}

zb_status zb_trial_copy(const zb_pass *pass, MlirModule module, zb_module *out) {
  *out = *pass->program;
  out->module = mlirModuleFromOperation(mlirOperationClone(mlirModuleGetOperation(module)));
  return mlirModuleIsNull(out->module) ? ZB_OUT_OF_MEMORY() : NULL;
}

bool zb_trial_pays(zb_memo *memo) {
  static const int64_t timed_jobs_most = 600000000;
  return zb_memo_spent(memo) < timed_jobs_most;
}

zb_status zb_trial_run(const zb_pipeline *pipeline, zb_module *copy, zb_compile_state *state, bool *out_exists) {
  zb_status status = zb_pipeline_run(pipeline, copy, state, NULL);
  const zb_code code = zb_status_code(status);
  *out_exists = !status;
  if (code != ZB_INFEASIBLE && code != ZB_USAGE && (code != ZB_INVALID || zb_status_told(status))) return status;
  zb_status_free(status); /* the compile itself says it if no other does better */
  return NULL;
}

int64_t zb_trial_bytes_below(int64_t bytes) {
  int64_t step = 1;
  while ((bytes - 1) / step >= 256)
    step *= 2;
  return (bytes - 1) / (4 * step) * 4 * step;
}

zb_status zb_trial_order(const zb_pass *pass, const char *schedule, zb_problem *problem, zb_metric metric,
                         zb_order *order) {
  zb_schedule_choice choice;
  problem->metric = metric;
  zb_order_deinit(order);
  if (zb_schedule_is_file(schedule)) {
    ZB_TRY(zb_schedule_file_order(schedule, problem, order));
  } else {
    ZB_TRY(zb_schedule_to_train(schedule, &choice));
    ZB_TRY(zb_choice_order(pass->program->memo, &choice, true, problem, order));
  }
  order->whole_backward = false;
  return NULL;
}

zb_status zb_trial_measure(zb_arena *arena, const zb_plan *plan, zb_metric metric, zb_trial *out) {
  zb_plan_simulation simulation = {0};
  zb_status status = NULL;
  *out = (zb_trial){.arena = ZB_NEW(arena, int64_t, plan->rank_count)};
  ZB_TRY(zb_arena_status(arena));
  ZB_TRY_GOTO(zb_plan_simulate(plan, &simulation));
  ZB_TRY_GOTO(zb_step_time(plan, &simulation, metric, &out->step_ps));
  for (int r = 0; r < plan->rank_count; ++r) {
    out->arena[r] = (int64_t)plan->ranks[r].arena_bytes;
    if (out->arena[r] > out->most) out->most = out->arena[r];
  }
  out->exists = true;
cleanup:
  zb_plan_simulation_free(&simulation);
  return status;
}
