/* What is computed again, for a memory limit (--recompute auto), and with --split auto which gradients stay in B: by a
 * ladder of bytes (passes/choose/ladder.h). What comes of it is compared with the plan without recompute.
 *
 * Test: test/e2e/recompute.py. */

#include "passes/choose/ladder.h"

#include <string.h>

/* With the choice of --split for this limit the plan without is among what is compared, as the option left out gives
 * it. */
static zb_status decide(zb_choice_search *search, const zb_asked *asked, const zb_choice *above, zb_found *out) {
  zb_ladder_found found = {0};
  zb_asked without = *asked;
  without.recompute = "none";
  zb_status status = zb_ladder_choose(search, &zb_move_again, asked, above, asked->limit, &found);
  if (zb_judge_is_no_plan(status)) {
    zb_status_free(status); /* which that without says, too */
    status = NULL;
  }
  ZB_TRY(status);
  ZB_TRY(zb_search_below(search, &zb_move_again, &without, above, out));
  if (found.best && !zb_candidate_is_better(out->candidate, found.best, asked->limit))
    *out = (zb_found){.candidate = found.best};
  out->none_ps = found.plain ? found.plain->step_ps : 0;
  out->none_bytes = found.plain ? found.plain->most : 0;
  return NULL;
}

static bool is_open(const zb_asked *asked) { return strcmp(asked->recompute, "auto") == 0; }

const zb_move zb_move_again = {.decision = ZB_CHOICE_AGAIN, .is_open = is_open, .decide = decide};
