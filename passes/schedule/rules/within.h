/* Schedules that make an order for any limits of memory: a search asks them for many limits of one problem. */
#pragma once

#include "passes/schedule/rules/build.h"

typedef struct zb_within_request {
  const int64_t *limits; /* [ranks] what the rules go by */
  const int64_t *most;   /* [ranks] what the order must keep: may be lower than the limits, or higher */
  int64_t less_than_ps;  /* only an order that takes less by the metric of the problem is of use */
} zb_within_request;

typedef struct zb_within_answer {
  bool found;
  int64_t slack_bytes; /* with limits lowered by no more, the rules make the same */
} zb_within_answer;

typedef struct zb_within_def {
  /* What the rules need for a problem, for many requests. Its memory is the scheduler's, which between requests may be
   * used for anything else. */
  zb_status (*open)(zb_scheduler *scheduler, void **state);
  /* Fills sequence[jobs], renumbered, if an order is found. What the scheduler counts is as before. */
  zb_status (*ask)(void *state, const zb_within_request *request, zb_slot *sequence, zb_within_answer *out);
} zb_within_def;

/* The order for a memory of `percent` of what 1F1B needs, whatever the limits of the problem are; 0: for those, the
 * best of all fine levels within them (rules.h), so a higher limit for all ranks never makes it longer by the barrier
 * or stage metric; and of some levels above whose orders keep them, so that the limit may be what its order takes. The
 * one with the least memory where there is none. It takes the place of *out. */
zb_status zb_within_emit(const zb_within_def *within, const zb_problem *problem, int64_t percent,
                         zb_order *out) ZB_MUST_USE;
