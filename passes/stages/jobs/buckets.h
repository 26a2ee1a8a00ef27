/* Buckets: which accumulators of a stage are summed over replicas together, and when they are complete. Where replicas
 * share optimizer state, a part of each of its accumulators stands for it. */
#pragma once

#include "passes/stages/jobs/problem.h"
#include "runtime/plan/file/plan.h"

typedef struct zb_bucket {
  int stage;
  zb_kind kind;    /* of the job whose last run completes it */
  int64_t lead_ps; /* how long before the end of that job: what comes behind its last accumulator in it */
  int64_t bytes;
  ZB_LIST(zb_plan_range)
  parts;                 /* of the frame of gradients, in the order in which they are complete; of micro-batches
                            of the frame gb or gw */
  ZB_LIST(int64_t) into; /* then: where each is added to in the frame of gradients */
} zb_bucket;
typedef ZB_LIST(zb_bucket) zb_buckets;

/* All buckets of a framed program, later stages first, those of a stage in the order in which they are complete. A
 * bucket is closed once it has `least` bytes, and holds accumulators of one stage and kind of job. Needs a problem with
 * stages, functions and costs. INVALID where an accumulator is not of f32. */
zb_status zb_buckets_find(zb_arena *arena, const zb_module_problem *p, int64_t least, zb_buckets *out) ZB_MUST_USE;

/* Gives the problem its sums over replicas as reductions, in the order in which each rank runs them: that of the
 * buckets, or, by an order, that in which they are complete. A program without replicas has none. What B completes
 * counts as complete when W of its stage and micro-batch begins, or before. */
zb_status zb_buckets_reductions(zb_module_problem *p, const zb_order *order) ZB_MUST_USE;

/* What a rank takes that sums all its gradients over replicas at once. */
int64_t zb_buckets_at_end_ps(const zb_module_problem *p, int rank, int64_t replicas);
