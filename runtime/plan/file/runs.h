/* Lists of addresses as they stand in a plan file: rows of their own, and rows that are those of an earlier place of
 * the list, shifted. What jobs touch repeats from micro-batch to micro-batch, and lists of gathered parameters are
 * those of a function at several places, so a file says each once. In memory lists are whole. */
#pragma once

#include "runtime/base/arena.h"
#include "runtime/plan/file/columns.h"

/* A zb_plan_run is `count` rows of a list. from 0: they come next in their table. Else they are as those from row
 * `from` - 1 of the same list on, one after the other (so that they may begin with what they repeat), but that `shift`
 * is added to the first number of each. */
typedef struct zb_plan_runs {
  zb_plan_run *items;
  size_t count, capacity;
} zb_plan_runs;

/* The runs of `count` rows of a table whose columns are numbers. The same rows give the same runs. The arena remembers
 * that memory ran out. */
void zb_plan_runs_find(const zb_table_def *def, const void *rows, size_t count, zb_arena *arena, zb_plan_runs *out);

/* Fills row `at` and those behind it from earlier rows. False: one of these is not there, or a number does not fit. */
bool zb_plan_run_repeat(const zb_table_def *def, void *rows, size_t at, const zb_plan_run *run) ZB_MUST_USE;
