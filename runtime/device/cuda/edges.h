/* Which events the streams of a rank need: for every message, what must be over before its bytes may move.
 *
 * The compute stream of a rank runs its jobs in the order of the list. A message moves on another stream; it waits for
 * the last job before it in the list that touches its homes (so a receive starts when its home is free, not when the
 * compute stream gets to the place of its post), and for the messages on other channels that touched them. That counts
 * for the workspace, too, where sums over shards are sent from and land. The other
 * direction needs no table: a job waits for the messages of its `waits`, as the plan says. The edges are a subset of
 * what the plan's proof assumes, so what is free of deadlock stays so. Tests: test/runtime/device/cuda/edges_test.c;
 * step_test.c there and test/e2e/cuda_fake.py check every pair of accesses of whole steps.
 */
#pragma once

#include "runtime/base/arena.h"
#include "runtime/plan/file/plan.h"

typedef struct zb_cuda_edges {
  zb_arena memory; /* of event, after, messages */
  int event_count;
  int *event; /* [job + 1]: the event to record after the job, or -1; [0]: after the clearing before a step */
  int *after; /* [job]: SEND, RECV: the event that the channel waits for, or -1 */
  zb_plan_slice *messages; /* [job]: SEND, RECV: those of pool that it waits for, on other channels */
  int *pool;
} zb_cuda_edges;

/* For the jobs of a step of one rank; near-linear in jobs. MEMORY is the only error. Release with zb_cuda_edges_deinit.
 */
zb_status zb_cuda_edges_init(const zb_plan *plan, int rank, zb_cuda_edges *out) ZB_MUST_USE;
void zb_cuda_edges_deinit(zb_cuda_edges *edges);
