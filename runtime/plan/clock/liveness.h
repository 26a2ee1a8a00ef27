/* What of the slots region is in use when, derived from what the instructions and messages of a plan touch.
 *
 * Used by the poison build, by zb_session_memory and by the memory curves of timelines. It shares no code with the
 * allocator, the verifier or the simulator, so it can disagree with them.
 */
#pragma once

#include "runtime/plan/file/plan.h"

typedef struct zb_liveness {
  zb_plan_range *ranges;     /* pool of the two below */
  zb_plan_slice *free_after; /* a job each: ranges of slots that hold nothing once the job has run */
  zb_plan_slice *quiet;      /* a job each: ranges that nothing touches and nothing keeps while the job runs */
  uint64_t *use_bytes;       /* a job each: fixed regions + slots in use while it runs + its workspace */
  uint64_t most_live_bytes;  /* the largest of them */
  uint64_t high_water_bytes; /* fixed regions + slots up to the highest byte that any job touches or keeps + the largest
                                workspace */
} zb_liveness;

/* Fills *out for the jobs of a rank; O(jobs x ranges in use). Release with zb_liveness_deinit. */
zb_status zb_liveness_init(const zb_plan *plan, int rank, zb_liveness *out) ZB_MUST_USE;
void zb_liveness_deinit(zb_liveness *liveness);
