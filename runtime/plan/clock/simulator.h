/* A plan on a virtual clock: a step, many steps without a barrier; and for those that run a plan more than once, step
 * after step, each beginning where the one before left the channels. */
#pragma once

#include "runtime/base/arena.h"
#include "runtime/plan/file/plan.h"

/* What the simulator found for one job: start and end in ps from the start of the step. */
typedef struct zb_plan_times {
  int64_t start_ps, end_ps;
} zb_plan_times;

typedef struct zb_plan_rank_result {
  int64_t start_ps, end_ps; /* of its first and last compute job */
  int64_t waiting_ps;       /* for messages, and after its end for the last rank */
  int64_t busy_ps, f_ps, b_ps, w_ps, opt_ps;
  int64_t exposed_ps;  /* from the end of its last F, B or W until the sums of gradients on its second clock are
                          complete; 0:  before */
  uint64_t peak_bytes; /* highest arena use at any time: fixed regions + live slots + workspace of the running job */
} zb_plan_rank_result;

typedef struct zb_plan_simulation {
  int64_t step_ps; /* barrier: the last rank's end, and plan.step_ps */
  double bubble_barrier,
      bubble_stage; /* shares of compute time F, B, W and optimizer, mean over ranks: ARCHITECTURE.md */
  zb_plan_rank_result *ranks;
  zb_plan_times **jobs; /* [rank][job]; for SEND and RECV: from posted to complete */
  int rank_count;
} zb_plan_simulation;

/* Runs a step of the plan, or the list of a view, on a virtual clock with the times of its subprograms and links. A
 * plan that cannot finish gives TIMEOUT with who waits for what. Release with zb_plan_simulation_free. */
zb_status zb_plan_simulate(const zb_plan *plan, zb_plan_simulation *out) ZB_MUST_USE;
void zb_plan_simulation_free(zb_plan_simulation *simulation);

/* What the jobs and messages of a plan without collectives take, one by one, in the place of its costs. Of jobs that
 * run when it is loaded nothing is said. */
typedef struct zb_plan_pace {
  int64_t **job_ps;    /* [rank][job] from its start to its end; of a post what it takes beside moving the message */
  int64_t **after_ps;  /* [rank][job] of the interpreter, behind it */
  int64_t **wake_ps;   /* [rank][job] before it, where the rank had to wait for a message */
  int64_t *message_ps; /* [message] once both sides are posted and the channel is free */
  int64_t *begin_ps;   /* [rank] of the interpreter, before the first job */
  int64_t step_ps;     /* behind the last rank */
  bool copies;         /* the side that posts second moves the message, and does nothing else meanwhile */
  zb_arena memory;
} zb_plan_pace;

/* zb_plan_simulate of a plan without collectives at that pace (NULL: its costs), without peak_bytes. */
zb_status zb_plan_simulate_pace(const zb_plan *plan, const zb_plan_pace *pace, zb_plan_simulation *out) ZB_MUST_USE;

/* Where steps follow each other without a barrier: a rank begins a step when what it posted in the one before is
 * complete, but no more than this many steps are begun and not done on all ranks. */
enum { ZB_STEPS_IN_FLIGHT = 4 };

/* What a step takes then, in the long run. */
typedef struct zb_plan_period {
  int64_t cycle_ps; /* `steps` steps take that long: the period is exactly their ratio */
  int steps;
  bool exact; /* from `after` steps on every rank does the same `cycle_ps` later; else: an average of many steps */
  int after;
  double bubble; /* as in zb_plan_simulation */
} zb_plan_period;

/* Runs steps of the plan until they repeat. step_ps of the plan, which a barrier takes, is not in it. As
 * zb_plan_simulate. O(steps * jobs), within a fixed number of jobs in all. */
zb_status zb_plan_find_period(const zb_plan *plan, zb_plan_period *out) ZB_MUST_USE;

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
