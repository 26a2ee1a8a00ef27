/* Which rank has which stage, for a schedule that searches. Costs, memory and messages of a stage depend on how many
 * there are and where, so each placement is compiled to its plan. From the best ones other cuts are tried (cuts.c).
 *
 * Test: test/tools/zbc-schedule.test, test/e2e/joint_search.py. */

#include "passes/choose/moves/cuts.h"

#include <string.h>

/* The best ones, each with the cuts by cost. */
enum { CONTENDERS = 3 };
static const double CONTENDS = 1.03; /* how much slower they may be */

static void enter(zb_found *best, const zb_found *next, int64_t limit) {
  int at = CONTENDERS;
  while (at > 0 && (!best[at - 1].candidate || zb_candidate_is_better(next->candidate, best[at - 1].candidate, limit)))
    --at;
  if (at == CONTENDERS) return;
  memmove(&best[at + 1], &best[at], (size_t)(CONTENDERS - at - 1) * sizeof *best);
  best[at] = *next;
}

static zb_status try_all(zb_choice_search *search, const zb_asked *asked, zb_found *best) {
  zb_asked by_cost = *asked;
  zb_choice choice;
  zb_found next;
  by_cost.cuts_are_open = by_cost.placement_is_open = false;
  search->slack = CONTENDS;
  for (int at = 0; zb_placement_next(asked, best->candidate ? best->candidate->choice.chunks : 0, &at, &choice);) {
    ZB_TRY(zb_search_below(search, &zb_move_cuts, &by_cost, &choice, &next));
    enter(best, &next, asked->limit);
  }
  search->slack = 1;
  return NULL;
}

/* Other cuts for the best ones, where they are near: each gets half of the trials that are left, the last all. */
static zb_status decide(zb_choice_search *search, const zb_asked *asked, const zb_choice *above, zb_found *out) {
  zb_found best[CONTENDERS] = {{0}};
  (void)above;
  ZB_TRY(try_all(search, asked, best));
  if (!best->candidate) return NULL;
  const bool has_plan = zb_candidate_fits(best->candidate, asked->limit);
  const int64_t first_ps = search->first_ps = has_plan ? best->candidate->step_ps : INT64_MAX;
  ZB_TRY(zb_cuts_few_tried(search, asked, best));
  *out = best[0];
  if (!asked->cuts_are_open || zb_cuts_are_hopeless(asked, best->candidate)) return NULL;
  int left;
  ZB_TRY(zb_cuts_trials(search, asked, best->candidate, &left));
  for (int i = 0; i < CONTENDERS; ++i) {
    const zb_candidate *at = best[i].candidate;
    if (i > 0 && (!at || !zb_candidate_fits(at, asked->limit) || (double)at->step_ps > CONTENDS * (double)first_ps))
      continue;
    int own = i + 1 < CONTENDERS ? (left + 1) / 2 : left;
    left -= own;
    ZB_TRY(zb_cuts_climb(search, asked, &best[i], &own));
    left += own;
    zb_found_keep(out, &best[i], asked->limit);
  }
  return NULL;
}

static bool is_open(const zb_asked *asked) { return asked->placement_is_open; }

const zb_move zb_move_placement = {.decision = ZB_CHOICE_PLACEMENT, .is_open = is_open, .decide = decide};
