/* Placements that are tried where none is named. */
#ifndef ZB_PASSES_CHOOSE_PLACEMENT_H
#define ZB_PASSES_CHOOSE_PLACEMENT_H

#include "passes/choose/search.h"

/* The next placement that the schedule takes, from *at = 0 on: false: there is none. chunks: those of the best one so
 * far, as many more are tried where so many are best. */
bool zb_placement_next(const zb_asked *asked, int chunks, int *at, zb_choice *out);

#endif
