/* Which groups of W ops B should do, so that every rank keeps to a limit of memory with the least time in B. */
#ifndef ZB_PASSES_SPLIT_CHOICE_H
#define ZB_PASSES_SPLIT_CHOICE_H

#include "passes/stages/w_groups.h"
#include "zb/schedule.h"

/* A program as the schedule library sees it while W does all groups, and an order of its jobs. */
typedef struct zb_split_problem {
  zb_w_groups *w; /* the groups as they stand */
  const zb_problem *problem;
  const zb_order *order;
} zb_split_problem;

/* The costs of a stage with the groups as they stand. */
zb_stage_cost zb_split_cost(const zb_split_problem *it, int stage);

/* The most bytes that a rank holds with the groups as they stand. O(jobs of the rank). */
int64_t zb_split_peak(const zb_split_problem *it, int rank);

/* Gives B the groups that bring every rank within limits[rank], or as near as can be. *out_least (may be NULL): on no
 * rank is there a choice with less time in B. MEMORY. */
zb_status zb_split_choose(zb_split_problem *it, const int64_t *limits, zb_arena *arena, bool *out_least) ZB_MUST_USE;

/* The least step, by the barrier metric, that this order has with any groups in B that bring every rank within
 * limits[rank]: that of the least time in B, where the critical path with it has at least as many B as W of every stage
 * that has groups, so that more time in B makes it no shorter. 0: not known. The groups are what they were. One chunk a
 * rank. MEMORY. */
zb_status zb_split_bound(zb_split_problem *it, const int64_t *limits, zb_arena *arena, int64_t *out_ps) ZB_MUST_USE;

#endif
