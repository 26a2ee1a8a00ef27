/* The shortest step that an order of jobs can have with any choice of gradients in B within a limit of memory. */
#pragma once

#include "passes/choose/split_choice.h"

/* The step of the order, by the barrier metric, with the groups as they stand. MEMORY. */
zb_status zb_split_step(const zb_split_problem *it, int64_t *out_ps) ZB_MUST_USE;

/* Looks for the choice with the shortest step of those that bring every rank within `limit` and are not refused, and
 * leaves the groups so, where there is one. *out_bound_ps: no such choice has a shorter step; 0: not known. *work: how
 * many jobs may be simulated for it, which becomes less; without any the bound is that of the least times in B. One
 * chunk a rank. MEMORY. */
zb_status zb_split_shortest(zb_split_problem *it, int64_t limit, int64_t *work, int64_t *out_bound_ps) ZB_MUST_USE;
