/* Putting an explanation of idle time together (zb/explain.h): from the idle time, the parts of one cause after the
 * other are taken, and what is left is dependency. */
#pragma once

#include "zb/explain.h"

/* Nothing is explained yet: all of the idle time is dependency. The caller fills idle_ps, time_ps and then calls begin.
 */
zb_status zb_explanation_init(zb_explanation *out, int ranks) ZB_MUST_USE;
void zb_explanation_begin(zb_explanation *out);
/* With this cause gone too the step takes time_ps, of which
 * each rank computes busy_ps[ranks]. Causes come in the order of zb/causes.def; one may be left out. */
void zb_explanation_take(zb_explanation *out, zb_cause cause, int64_t time_ps, const int64_t *busy_ps);
/* What the step takes with this cause alone gone. */
void zb_explanation_save(zb_explanation *out, zb_cause cause, int64_t time_ps);
/* At the end: what dependency costs at most. */
void zb_explanation_end(zb_explanation *out);
