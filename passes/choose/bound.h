/* What no choice can beat. */
#ifndef ZB_PASSES_CHOOSE_BOUND_H
#define ZB_PASSES_CHOOSE_BOUND_H

#include "passes/choose/search.h"

/* Whether a choice may be better than the best of its search and than `best`: not where a step with no order of jobs,
 * and with nothing of what is open computed again or in B, is shorter than they are. */
zb_status zb_bound_allows(zb_choice_search *search, const zb_asked *asked, const zb_choice *choice, const zb_candidate *best,
                          bool *out) ZB_MUST_USE;

/* Whether no choice comes near the limit: what takes the least memory, one micro-batch at a time with all that may be
 * computed again and all gradients in B, needs half as much again, or more. *found: that, then. */
zb_status zb_bound_refuses(zb_choice_search *search, const zb_asked *asked, zb_found *found, bool *out) ZB_MUST_USE;

#endif
