/* Picks for a memory limit (pick_model.h).
 *
 * For each number of bytes of a ladder, from what nothing given up takes down to what can be kept, the picks with the
 * shortest step of the model are found, rank after rank; choices with one pick on all ranks come to these. The ladder
 * does not depend on the limit, so what there is for a limit there is for a higher one. Of these choices those that may
 * be the best are judged by their plans; of plans within the limit the fastest stays, of equal ones the first. The
 * model's step is a bound of the plan's, which has the same order of jobs, and messages beside: what is left out by it
 * is slower than a plan that fits. So with more memory a step is no longer.
 *
 * For a schedule that looks for an order within the limit a rule stands for it on the ladder. Then the model has an
 * order searched for each choice whose lower bound is below the best plan so far, and the choice that promises the
 * shortest step is judged next.
 */
#pragma once

#include "passes/choose/search.h"

typedef struct zb_ladder_found {
  const zb_candidate *best;
  const zb_candidate *plain; /* nothing computed again that is to choose, nothing in B; without a limit */
  int64_t bound_ps; /* where only gradients were to choose: with none of their choices within the limit is a step in the
                       order of best shorter; 0: not known */
  bool is_proven;   /* that of best is no longer */
} zb_ladder_found;

/* row: what is below it decides the rest. limit: bytes of the fullest rank. MEMORY, and the failures of passes. */
zb_status zb_ladder_choose(zb_choice_search *search, const zb_move *row, const zb_asked *asked, const zb_choice *above,
                           int64_t limit, zb_ladder_found *out) ZB_MUST_USE;
