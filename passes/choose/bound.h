/* What no choice can beat. */
#pragma once

#include "passes/choose/judge.h"

/* What is asked with these where auto left it open, and with nothing else open. */
zb_asked zb_asked_fixed(const zb_asked *asked, const char *split, const char *recompute);

/* Whether a choice may be better than `best`: not where a step with no order of jobs, and with nothing of what is open
 * computed again or in B, is shorter. MEMORY, and the failures of the world. */
zb_status zb_bound_allows(zb_plan_judge *judge, const zb_asked *asked, const zb_choice *choice,
                          const zb_candidate *best, bool *out) ZB_MUST_USE;

/* What a rank takes at least for one micro-batch at a time, of the fullest; 0: not known. */
zb_status zb_bound_bytes(zb_plan_judge *judge, const zb_asked *asked, const zb_choice *choice,
                         int64_t *out) ZB_MUST_USE;
