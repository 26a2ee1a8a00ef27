/* Orders that are made, not chosen. */
#ifndef ZB_PASSES_CHOOSE_ORDER_H
#define ZB_PASSES_CHOOSE_ORDER_H

#include "passes/choose/search.h"

/* One micro-batch after the other. Release with zb_order_deinit, after a failure too. MEMORY. */
zb_status zb_order_one_by_one(const zb_problem *problem, zb_order *out) ZB_MUST_USE;
/* The order that the schedule gives for a problem, without a limit that it has not itself, in the place of *order, as
 * plans have it: a gradient leaves behind its B, also where the schedule has one backward job. */
zb_status zb_order_plain(const zb_asked *asked, zb_problem *problem, zb_order *order) ZB_MUST_USE;
/* That orders which take longer are not worth searching for: a schedule that searches may give any, then. */
void zb_asked_tell(zb_asked *asked, double known_ps);
/* What is asked of another schedule, without a limit. USAGE. */
zb_status zb_asked_rule(const zb_asked *asked, const char *schedule, zb_asked *out) ZB_MUST_USE;

#endif
