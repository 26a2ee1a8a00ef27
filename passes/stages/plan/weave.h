/* Which parts of W run while sums over shards travel. */
#pragma once

#include "runtime/plan/file/plan.h"
#include "zb/schedule.h"

/* Lets W run ahead, beside sums over shards of the jobs before it, as far as they fill these: segments of jobs
 * (zb_plan_segment), in a plan that has none. The step is shorter by `metric` or the same, and not longer by another
 * one. The workspace of W gets a place of its own, as other jobs run meanwhile,
 * where the arena is not larger for it; `grows`: or where the fullest rank has as much. Method: every sum takes the
 * next instructions of the first W behind it, in the order of the list, that are ready and end before the sum is there,
 * or not too long after; how long is tried. MEMORY, and what simulating gives. O(jobs + instructions of each pair of
 * subprograms), and some simulated steps. */
zb_status zb_weave(zb_plan *plan, zb_metric metric, bool grows) ZB_MUST_USE;
