/* Which gradients stay in B, where nothing else of picks is to choose: as few as the memory asks for, by orders that
 * these gradients have themselves. */
#pragma once

#include "passes/choose/chooser.h"

/* Choices to compare. Each number of bytes of a ladder has its gradients, whatever the limit is. */
zb_status zb_fit_rule(zb_chooser *c) ZB_MUST_USE;
/* The same for a rule that keeps a limit. */
zb_status zb_fit_adaptive(zb_chooser *c) ZB_MUST_USE;
/* For a search: beside those of a ladder. */
zb_status zb_fit_searched(zb_chooser *c) ZB_MUST_USE;
/* And where none of these is within the limit: for a few numbers of bytes around it. What packing and messages take
 * depends on which gradients are in B, by more than the model knows. */
zb_status zb_fit_around(zb_chooser *c) ZB_MUST_USE;
/* For a search, after all were compared: takes from B what the order of the best plan does not need there. */
zb_status zb_fit_best(zb_chooser *c) ZB_MUST_USE;

/* The least step of the order of the best plan with any gradients in B (out->split_bound_ps; 0: not known), and whether
 * that is its own. What turns out to be faster is the best one then. */
zb_status zb_fit_bound(zb_chooser *c, zb_found *out) ZB_MUST_USE;
