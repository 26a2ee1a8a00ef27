/* zb_compile: the placement of a schedule that searches. Costs, memory and messages of a stage depend on how many there
 * are and where, so each placement is compiled to its plan. Test: test/tools/zbc-schedule.test. */

#include "passes/compile/parts.h"
#include "passes/stages/step_time.h"

#include <string.h>

static const struct {
  const char *placement;
  int chunks;
} searched_layouts[] = {{"plain", 1}, {"v", 2}, {"looped", 2}, {"looped", 4}, {"wave", 4}, {"looped", 8}, {"wave", 8}};
/* More chunks than this are tried where so many are the best so far: each compile takes its time. */
enum { CHUNKS_ALWAYS = 4 };

void zb_pipeline_split(const zb_pipeline *pipeline, bool keep_before, zb_pipeline *out) {
  int at = 0;
  while (at < pipeline->count && strcmp(pipeline->entries[at].def->name, "zb-partition") != 0)
    ++at;
  out->count = keep_before ? at : pipeline->count - at;
  memcpy(out->entries, pipeline->entries + (keep_before ? 0 : at), (size_t)out->count * sizeof out->entries[0]);
}

/* By the metric that was asked for; a wrong name of one is told by the pass that takes it. */
static zb_status step_of(const zb_compile_params *params, const zb_plan *plan, int64_t *out_ps) {
  zb_metric metric = ZB_METRIC_BARRIER;
  zb_plan_simulation simulation;
  if (params->metric) ZB_TRY(zb_metric_parse(params->metric, &metric));
  ZB_TRY(zb_plan_simulate(plan, &simulation));
  zb_status status = zb_step_time(plan, &simulation, metric, out_ps);
  zb_plan_simulation_free(&simulation);
  return status;
}

/* Time of a step of the plan that becomes of a copy of the program; INT64_MAX where none does. *out_bytes: what it
 * needs, where that is above the limit, else UINT64_MAX. */
static zb_status try_layout(const zb_compile_params *params, const zb_module *program, int64_t *out_ps,
                            uint64_t *out_bytes) {
  zb_pipeline pipeline = {0}, rest;
  zb_compile_state state = {.options_of_zbc = true};
  zb_module copy = *program;
  *out_ps = INT64_MAX;
  *out_bytes = UINT64_MAX;
  copy.module = mlirModuleFromOperation(mlirOperationClone(mlirModuleGetOperation(program->module)));
  zb_status status = mlirModuleIsNull(copy.module) ? ZB_OUT_OF_MEMORY() : zb_pipeline_of_params(params, &pipeline);
  if (status) goto cleanup;
  zb_pipeline_split(&pipeline, false, &rest);
  status = zb_pipeline_run(&rest, &copy, &state, NULL);
  zb_code code = zb_status_code(status);
  if (code == ZB_INVALID || code == ZB_INFEASIBLE || code == ZB_USAGE) {
    zb_status_free(status); /* not defined for these stages, or over the limit: other placements may do */
    status = NULL;
    if (state.needed_bytes) *out_bytes = state.needed_bytes;
  } else if (!status) {
    ZB_TRY_GOTO(step_of(params, state.plan, out_ps));
  }
cleanup:
  zb_pipeline_deinit(&pipeline);
  zb_plan_destroy(state.plan);
  if (!mlirModuleIsNull(copy.module)) mlirModuleDestroy(copy.module);
  return status;
}

static void discard(void *context, const char *text) {
  (void)context;
  (void)text;
}

zb_status zb_layout_search(zb_compile_params *params, const zb_module *program, zb_diagnostics *diagnostics) {
  zb_diagnostics spoken = *diagnostics;
  int64_t best = INT64_MAX;
  uint64_t least = UINT64_MAX;
  zb_compile_params candidate = *params;
  zb_schedule_choice choice;
  zb_status status = zb_schedule_parse(params->schedule, &choice);
  diagnostics->write = discard;
  for (size_t i = 0; i < sizeof searched_layouts / sizeof searched_layouts[0] && !status; ++i) {
    int64_t time;
    uint64_t bytes;
    if (searched_layouts[i].chunks < choice.schedule->chunks_min ||
        searched_layouts[i].chunks > choice.schedule->chunks_max)
      continue;
    if (searched_layouts[i].chunks > CHUNKS_ALWAYS && params->chunks < CHUNKS_ALWAYS) continue;
    candidate.placement = searched_layouts[i].placement;
    candidate.chunks = searched_layouts[i].chunks;
    status = try_layout(&candidate, program, &time, &bytes);
    bool is_better = time < best || (best == INT64_MAX && bytes < least);
    if (status || !is_better) continue;
    best = time;
    least = bytes;
    params->placement = candidate.placement;
    params->chunks = candidate.chunks;
  }
  *diagnostics = spoken;
  return status;
}
