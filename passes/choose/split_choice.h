/* Which groups of W ops B should do, so that every rank keeps to a limit of memory with the least time in B. */
#pragma once

#include "passes/choose/split_memory.h"
#include "zb/schedule.h"

/* A choice of a rank that takes too much nevertheless, as a plan has shown. */
typedef struct zb_split_refusal {
  int rank;
  const bool *in_b; /* [groups]; those of other ranks do not count */
} zb_split_refusal;

/* A program as the schedule library sees it while W does all groups, and an order of its jobs. */
typedef struct zb_split_problem {
  zb_w_groups *w; /* the groups as they stand */
  const zb_split_memory *memory;
  const zb_problem *problem;
  const zb_order *order;
  const zb_split_refusal *refusals;
  int refusal_count;
} zb_split_problem;

/* The costs of a stage with the groups as they stand. */
zb_stage_cost zb_split_cost(const zb_split_problem *it, int stage);
/* So much of W goes to B, or all but a picosecond. */
void zb_split_move(zb_stage_cost *cost, int64_t time_ps);

/* What the arena of a rank takes at least with the groups as they stand: what is fixed, the workspace, and the most
 * bytes of frames and messages at a time. O(jobs of the rank + ops of B and W). */
int64_t zb_split_peak(const zb_split_problem *it, int rank);

/* Gives B the groups of a rank that bring it within the limit with as little time as is found, but at least so much,
 * none of them refused; or as near to the limit as can be. Looks at `work` jobs and ops (0: at some millions). MEMORY.
 * *out_least_ps: no choice within the limit has less; INT64_MAX: none was found. */
zb_status zb_split_choose_rank(zb_split_problem *it, int rank, int64_t limit, int64_t floor_ps, int64_t work,
                               int64_t *out_least_ps) ZB_MUST_USE;
