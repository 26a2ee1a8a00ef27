/* Why ranks idle in a plan (zb/explain.h): by the costs of the plan, or by what a run measured. */
#pragma once

#include "runtime/plan/clock/simulator.h"
#include "zb/explain.h"

/* The pace that the costs of the plan say. Release with zb_plan_pace_deinit, also on failure. */
zb_status zb_plan_pace_init(zb_plan_pace *pace, const zb_plan *plan) ZB_MUST_USE;
void zb_plan_pace_deinit(zb_plan_pace *pace);

/* A step as it was: what it took, and in how much of it each rank computed. */
typedef struct zb_plan_measured {
  int64_t step_ps;
  const int64_t *busy_ps; /* [rank] */
} zb_plan_measured;

/* The idle time of a step at that pace, or of the measured one that it stands for (NULL: none, and no noise). The
 * causes: noise is what is measured beyond the simulated step at this pace; then the interpreter takes no time (all of
 * the pace but compute jobs and messages); then messages; then each F, B and W takes the mean of its kind, and the
 * optimizer is spread evenly; then order and memory as zb_schedule_explain has them, for compute jobs alone. The plan
 * has no collectives (zb_plan_expand). Release with zb_explanation_deinit; on failure *out is empty. */
zb_status zb_plan_explain(const zb_plan *plan, const zb_plan_pace *pace, const zb_plan_measured *measured,
                          zb_explanation *out) ZB_MUST_USE;
