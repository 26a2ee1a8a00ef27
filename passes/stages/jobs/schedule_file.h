/* Orders from outside (PyTorch's pipelining CSV) as a schedule of the compiler. */
#pragma once

#include "zb/schedule.h"

/* Whether a schedule is a file rather than a name and options: DIR/F, F.csv, F.txt. */
bool zb_schedule_is_file(const char *schedule);

/* Reads the file and fills in what is left open: 0 counts, a NULL *placement. What is given must be what the file says:
 * USAGE for the placement, INVALID with line and column for the rest. *out_placement: the text behind *placement, owned
 * by the caller (zb_free); NULL where it was given. */
zb_status zb_schedule_file_place(const char *path, int *ranks, int *chunks, int *micro_batches, const char **placement,
                                 char **out_placement) ZB_MUST_USE;

/* The order of the file for this problem, proven against its edges. A problem of 0 micro-batches has as many as the
 * file. Release with zb_order_deinit; on failure it is empty. */
zb_status zb_schedule_file_order(const char *path, zb_problem *problem, zb_order *out) ZB_MUST_USE;
