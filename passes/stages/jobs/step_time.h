/* What a step of a plan takes, by a metric. */
#pragma once

#include "passes/pipeline.h"
#include "runtime/plan/clock/simulator.h"
#include "runtime/plan/file/plan.h"
#include "zb/schedule.h"

/* The option "metric" of a pass; false: it was reported at `at` that there is none of that name. */
bool zb_pass_option_metric(zb_pass *pass, MlirOperation at, zb_metric *out);
/* simulation is that of the plan. The period is rounded up to a whole picosecond. */
zb_status zb_step_time(const zb_plan *plan, const zb_plan_simulation *simulation, zb_metric metric,
                       int64_t *out_ps) ZB_MUST_USE;
