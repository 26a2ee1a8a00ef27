/* The search by the period metric. */
#pragma once

#include "passes/schedule/search/judge.h"

/* zb_search of a problem whose metric is the period. */
zb_status zb_search_period(const zb_problem *problem, const zb_search_params *params, zb_order *order,
                           zb_search_report *report) ZB_MUST_USE;

/* zb_search_span (search_span.c) by the span of another metric, with one of so many equal parts of the default budget:
 * shows the judge every order that it meets. */
zb_status zb_search_judged(const zb_problem *problem, const zb_search_params *params, int parts, zb_judge *judge,
                           zb_search_report *report) ZB_MUST_USE;
