/* The table of schedules, for the search, which goes through its rows.
 *
 * A row is a zb_schedule_def: a name, what the schedule takes, and the function that makes its order. A choice is a row
 * with values for its options.
 */
#pragma once

#include "passes/schedule/model.h"

/* The row with the default values of its options. */
void zb_schedule_default(const zb_schedule_def *schedule, zb_schedule_choice *out);
/* Checks that the schedule takes the problem, which must be a right one, and emits: USAGE where not. Neither the order
 * nor its memory is checked. On failure *out is empty. */
zb_status zb_schedule_emit(const zb_schedule_choice *choice, const zb_problem *problem, zb_order *out) ZB_MUST_USE;
/* Whether a schedule takes that many chunks a rank, so placed. */
bool zb_schedule_takes(const zb_schedule_def *schedule, const zb_problem *problem);
