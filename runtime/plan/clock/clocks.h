/* A plan of replicas and shards on a virtual clock, without running every replica. */
#pragma once

#include "runtime/plan/clock/delays.h"
#include "runtime/plan/file/plan.h"

typedef struct zb_clocks zb_clocks;

/* Of a plan of one pipeline, as it is in the file, with replicas or shards; it is not needed afterwards. Without delays
 * all replicas do the same at the same time, and one of them is kept; else all are. *out is NULL for a plan that has
 * something that this does not simulate: link_copies, post-validation, sums that cross plan ranks. Then all ranks have
 * to be run. MEMORY. */
zb_status zb_clocks_create(const zb_plan *plan, const zb_delays *delays, zb_clocks **out) ZB_MUST_USE;
void zb_clocks_destroy(zb_clocks *clocks);

/* Runs a step, from 0, that all ranks begin at 0; or (follows) each when it has ended the one before, but none more
 * than ZB_STEPS_IN_FLIGHT ahead of one that all have ended. O(jobs of all replicas that are kept). INVALID where times
 * add up to more than 2^63 ps. */
zb_status zb_clocks_step(zb_clocks *clocks, int64_t step, bool follows) ZB_MUST_USE;

/* Of the last step, as an executor of that rank records it (runtime/exec/executor.h). rank: of all replicas and shards.
 */
typedef struct zb_clocks_times {
  int64_t began_ps; /* or, where it follows, when the rank had ended the one before */
  int64_t ended_ps, compute_ps, waiting_ps;
} zb_clocks_times;
zb_clocks_times zb_clocks_times_of(const zb_clocks *clocks, int rank);
/* When the last rank had ended it. */
int64_t zb_clocks_end_ps(const zb_clocks *clocks);
