/* Local search: moves jobs of one order to better places.
 *
 * A move takes a job of one rank to another place; a compound move does the same on several ranks. The new order is
 * kept if its cost is not higher than that of the current one, or of the one some moves ago (late acceptance). With a
 * goal, a time that is not reached yet, orders in which F start too late for it cost more.
 */
#pragma once

#include "passes/schedule/search/retime.h"

/* What a run may spend. With patience it goes on for as long as it pays: up to `patience` times the evaluations that
 * the last better order came after. */
typedef struct zb_allowance {
  int64_t begin, end, most; /* evaluations of the scheduler: at the start, at which to stop, and the latest of these */
  int patience;             /* 0: end is what it is */
  int64_t best_ps;          /* the best time that is known */
} zb_allowance;

/* Notes a time that was found after this number of evaluations. */
static inline void zb_allowance_note(zb_allowance *allowance, int64_t evaluations, int64_t time) {
  if (time >= allowance->best_ps) return;
  allowance->best_ps = time;
  const int64_t end = allowance->begin + allowance->patience * (evaluations - allowance->begin);
  if (end > allowance->end) allowance->end = end < allowance->most ? end : allowance->most;
}

/* Scratch memory for one scheduler. */
typedef struct zb_improver {
  zb_scheduler *scheduler;
  int64_t reference; /* time that no rank can go below: of the search's rules too */
  int64_t aim;       /* what a rank takes more counts: the target where that is higher */
  zb_slot *current, *undo;
  zb_retimer times; /* of current */
  int32_t *path;    /* [2 * jobs] rank and index of jobs that start when the job before them ends */
  int path_length;
  double *history;
  zb_change *changes; /* [ranks] */
  int64_t *due;       /* [jobs] by class * micro_batches + micro_batch: latest start to reach the goal */
  double cost;        /* of the sequence that zb_improve gave last: lower is better, comparable for one goal */
  zb_slot *fastest;   /* [jobs] with a goal: the fastest order on the way, if that is below fastest_ps of before */
  int64_t fastest_ps;
} zb_improver;

enum { ZB_IMPROVE_HISTORY_MAX = 4096 };

/* Its memory is the scheduler's. */
zb_status zb_improver_init(zb_scheduler *scheduler, zb_improver *out) ZB_MUST_USE;

typedef struct zb_improve_params {
  const int64_t *limit; /* [ranks] bytes */
  int64_t moves;        /* to try */
  zb_allowance *allowance;
  int64_t target_ps; /* stop at this time: it cannot be better */
  int history;       /* how many accepted costs back a new order is compared with (late acceptance), at most
                        ZB_IMPROVE_HISTORY_MAX */
  int64_t goal_ps;   /* 0: none. Else no F shall start so late that what follows it alone takes longer than this: an
                        order with fewer such delays is better, whatever its time */
} zb_improve_params;

/* Improves a sequence within the limits; its micro-batches must be numbered as by zb_sequence_renumber. Advances *seed.
 * Returns the new time by the metric of the problem, which without a goal is never more than the old one; INT64_MAX:
 * the sequence cannot finish. */
int64_t zb_improve(zb_improver *improver, const zb_improve_params *params, uint64_t *seed, zb_slot *sequence);
