/* What a step of a plan takes, by a metric: see step_time.h. Tests: test/tools/zbc-schedule.test. */
#include "passes/stages/jobs/step_time.h"
#include "runtime/plan/clock/simulator.h"

bool zb_pass_option_metric(zb_pass *pass, MlirOperation at, zb_metric *out) {
  zb_status status = zb_metric_parse(zb_pass_option(pass, "metric"), out);
  if (!status) return true;
  (void)zb_pass_option_error(pass, at, "metric", zb_status_hint_text(status), "%s", zb_status_message(status));
  zb_status_free(status);
  return false;
}

zb_status zb_step_time(const zb_plan *plan, const zb_plan_simulation *simulation, zb_metric metric, int64_t *out_ps) {
  zb_plan_period period;
  *out_ps = metric == ZB_METRIC_BARRIER ? simulation->step_ps : 0;
  for (int r = 0; metric == ZB_METRIC_STAGE && r < simulation->rank_count; ++r) {
    const int64_t span = simulation->ranks[r].end_ps - simulation->ranks[r].start_ps;
    if (span > *out_ps) *out_ps = span;
  }
  if (metric != ZB_METRIC_PERIOD) return NULL;
  ZB_TRY(zb_plan_find_period(plan, &period));
  *out_ps = (period.cycle_ps + period.steps - 1) / period.steps;
  return NULL;
}
