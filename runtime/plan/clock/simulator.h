/* The simulator for those that run a plan more than once: step after step, each beginning where the one before left
 * the channels. */
#ifndef ZB_RUNTIME_PLAN_SIMULATOR_H
#define ZB_RUNTIME_PLAN_SIMULATOR_H

#include "runtime/plan/file/plan.h"

typedef struct zb_plan_steps zb_plan_steps;

/* A step of a plan as it is timed: of one list, with the replicas of zb_plan_replicate_timed, without collectives. What
 * it borrows from the plan it does not copy. Starts as {0}; deinit also after a failure. For those that ask for both
 * times of a plan, of which each would make it. */
typedef struct zb_timed_step {
  const zb_plan *plan; /* the step */
  zb_plan *made[3];    /* what it is made of */
} zb_timed_step;
zb_status zb_timed_step_init(const zb_plan *plan, zb_timed_step *out) ZB_MUST_USE;
void zb_timed_step_deinit(zb_timed_step *step);
/* zb_plan_simulate and zb_plan_find_period of it, which may run at the same time; without peak_bytes. */
zb_status zb_timed_step_simulate(const zb_timed_step *step, zb_plan_simulation *out) ZB_MUST_USE;
zb_status zb_timed_step_find_period(const zb_timed_step *step, zb_plan_period *out) ZB_MUST_USE;

/* The plan of as many replicas as show what all of them do: zb_plan_replicate of two, since a message of a sum takes as
 * long as with all of them and every replica does the same at the same time; of all where a rank moves what it sends
 * and receives itself (link_copies), one member after the other. INVALID for more of those than can be looked at. */
zb_status zb_plan_replicate_timed(const zb_plan *plan, zb_plan **out) ZB_MUST_USE;

/* Of a plan of one list without collectives, by its costs; it outlives the steps. */
zb_status zb_plan_steps_create(const zb_plan *plan, zb_plan_steps **out) ZB_MUST_USE;
void zb_plan_steps_destroy(zb_plan_steps *steps);
/* Runs a step that each rank begins then: begin_ps[rank], not before the end of its last one. */
zb_status zb_plan_steps_next(zb_plan_steps *steps, const int64_t *begin_ps) ZB_MUST_USE;
/* [rank] when its jobs were done and what it posted was complete; when each channel is free. Of a plan with
 * post-validation no step is clipped, and the numbers of the norm are complete later: at the verdict, in the next step.
 */
const int64_t *zb_plan_steps_end_ps(const zb_plan_steps *steps);
/* [rank] when it knew, in the last step, the verdict of the one before; NULL: the plan has no post-validation. */
const int64_t *zb_plan_steps_verdict_ps(const zb_plan_steps *steps);
const int64_t *zb_plan_steps_channels_ps(const zb_plan_steps *steps, int *out_count);

#endif
