/* A ladder of bytes: for each number of bytes, from what nothing given up takes down to what can be kept, the picks
 * with the shortest step of the model, found rank after rank.
 *
 * The ladder does not depend on the limit, so what there is for a limit there is for a higher one. For a schedule that
 * looks for an order within the limit a rule stands for it, and the ladder begins at one and a half times the limit.
 */
#pragma once

#include "passes/choose/chooser.h"

/* Adds the choices of all rungs, and before them those with one pick on all ranks. MEMORY. */
zb_status zb_ladder_find(zb_chooser *chooser) ZB_MUST_USE;
