/* The judge of a search by the period: of all orders that searches by spans meet, that with the shortest period, and
 * what moves of single jobs make of them.
 *
 * An order that it is shown comes with the level of memory that it was made for, and must depend on that level alone:
 * then a higher limit only shows it more, and never has a longer period. Moves begin anew at every level, with the best
 * of the orders that were made for no more, and go on at the fine levels up to the next one: so what they give depends
 * on the level alone, too. Two things could change an answer nevertheless: levels whose best order is far behind have
 * no moves (judge.c), and of large problems levels are left out behind one that is far behind by its span
 * (search_levels.c). Both margins are wider than what made up for it in all measured cases.
 */
#pragma once

#include "passes/schedule/model.h"
#include "passes/schedule/rules/build.h"

/* Periods that it remembers. */
enum { ZB_JUDGE_SEEN = 1024 };

typedef struct zb_judged {
  uint64_t digest; /* of the order */
  zb_period period;
  bool is_seen;
} zb_judged;

/* The best order of those made for so many bytes or less. */
typedef struct zb_judged_order {
  int64_t bytes;
  zb_order order;
  zb_period period;
} zb_judged_order;

typedef struct zb_judge {
  const zb_problem *problem;
  zb_model model;
  zb_period_timer *timer;
  zb_bounds *bounds;
  int64_t bound_ps; /* within the limits of the problem */
  uint64_t seed;
  zb_order best;
  zb_period period;       /* of it, if best.jobs */
  zb_judged_order *front; /* by rising bytes and shorter periods */
  int front_count;
  int64_t evaluations;
  bool is_stopped; /* by the watch of the problem */
  zb_judged seen[ZB_JUDGE_SEEN];
} zb_judge;

/* Of a problem whose metric is the period, which must outlive the judge. After a failure it is empty, as after
 * zb_judge_deinit. */
zb_status zb_judge_init(const zb_problem *problem, uint64_t seed, zb_judge *out) ZB_MUST_USE;
void zb_judge_deinit(zb_judge *judge);

/* Whether no order has a shorter period than the best one, or the search was stopped; and whether one within
 * limits[ranks] may. */
bool zb_judge_is_done(const zb_judge *judge);
bool zb_judge_hopes(zb_judge *judge, const int64_t *limits);

/* How much longer, as a share, the best of the orders shown for so many bytes or less is than the best one; 0: there is
 * none. */
double zb_judge_behind(const zb_judge *judge, int64_t bytes);

/* Takes the order, which must keep the limits of the problem: it is the judge's or gone then. */
zb_status zb_judge_take(zb_judge *judge, zb_order *order) ZB_MUST_USE;
/* Looks at a sequence, which must keep the limits of the problem; its micro-batches are numbered as by
 * zb_sequence_renumber. bytes: the level that it was made for, or what it takes where it was made for none. */
zb_status zb_judge_show(zb_judge *judge, const zb_scheduler *scheduler, const zb_slot *sequence,
                        int64_t bytes) ZB_MUST_USE;
/* Moves single jobs of the best orders, at all levels of memory (rules.h) within the limits of the problem. */
zb_status zb_judge_improve(zb_judge *judge) ZB_MUST_USE;

/* a < b. */
bool zb_period_is_shorter(const zb_period *a, const zb_period *b);
