/* What is computed again, for a memory limit (--recompute auto), and with --split auto which gradients stay in B: by a
 * ladder of bytes (passes/choose/ladder.h). What comes of it is compared with the plan without recompute.
 *
 * Test: test/e2e/recompute.py. */

#include "passes/choose/ladder.h"

#include <string.h>

static zb_status choose(zb_chooser *c) {
  const zb_candidate *plan;
  ZB_TRY(zb_ladder_find(c));
  ZB_TRY(zb_chooser_compare(c));
  return c->best ? NULL : zb_chooser_try(c, c->plain, &plan);
}

/* The plan of a fixed choice, as that option gives it: with the choice of --split for a limit; 0: without one. */
static zb_status try_fixed(zb_choice_search *search, const zb_asked *asked, const char *recompute, int64_t limit,
                           const zb_choice *above, zb_found *best) {
  zb_asked fixed = *asked;
  zb_found found;
  fixed.recompute = recompute;
  fixed.limit = limit;
  ZB_TRY(zb_search_below(search, &zb_move_again, &fixed, above, &found));
  zb_found_keep(best, &found, asked->limit);
  return NULL;
}

/* The plan without, and of a rule that with all, are among what is compared; a search tries these by itself. */
static zb_status decide(zb_choice_search *search, const zb_asked *asked, const zb_choice *above, zb_found *out) {
  zb_chooser c;
  zb_status status = zb_chooser_init(search, &zb_move_again, asked, above, asked->limit, &c);
  if (!status) status = choose(&c);
  zb_chooser_deinit(&c);
  if (zb_judge_is_no_plan(status)) {
    zb_status_free(status); /* which that without says, too */
    status = NULL;
    c.best = NULL;
  }
  ZB_TRY(status);
  *out = (zb_found){0};
  ZB_TRY(try_fixed(search, asked, "none", asked->limit, above, out));
  if (!asked->searches) ZB_TRY(try_fixed(search, asked, "all", asked->limit, above, out));
  if (c.best && !zb_candidate_is_better(out->candidate, c.best, asked->limit)) *out = (zb_found){.candidate = c.best};
  /* What is said to be enough is no more than what all takes by itself. */
  if (!asked->searches && !asked->keeps_limit && !zb_candidate_fits(out->candidate, asked->limit))
    ZB_TRY(try_fixed(search, asked, "all", 0, above, out));
  out->none_ps = c.plain_plan ? c.plain_plan->step_ps : 0;
  out->none_bytes = c.plain_plan ? c.plain_plan->most : 0;
  return NULL;
}

static bool is_open(const zb_asked *asked) { return strcmp(asked->recompute, "auto") == 0; }

const zb_move zb_move_again = {.decision = ZB_CHOICE_AGAIN, .is_open = is_open, .decide = decide};
