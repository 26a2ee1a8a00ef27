/* Other cuts than those by cost, from a plan on. */
#pragma once

#include "passes/choose/search.h"

/* How many cuts are tried: fewer for programs with many ops or jobs, and where no limit makes an order hard. */
zb_status zb_cuts_trials(zb_choice_search *search, const zb_asked *asked, const zb_candidate *from,
                         int *out) ZB_MUST_USE;
/* From *at on: other cuts as long as steps get shorter, at most *trials of them, which becomes less by those that were
 * judged. What is open of other decisions is decided again with the best of them. */
zb_status zb_cuts_climb(zb_choice_search *search, const zb_asked *asked, zb_found *at, int *trials) ZB_MUST_USE;
/* With --recompute auto: the cuts of --recompute all, where they are others; *out: the better. */
zb_status zb_cuts_few_tried(zb_choice_search *search, const zb_asked *asked, zb_found *out) ZB_MUST_USE;
/* Whether no other cuts will do what those by cost do not: keep the limit. */
bool zb_cuts_are_hopeless(const zb_asked *asked, const zb_candidate *found);
