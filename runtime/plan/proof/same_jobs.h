/* How far the lists of two replicas of a rank are the same; private to runtime/plan. */
#pragma once

#include "runtime/plan/file/plan.h"

/* How many jobs at the begin of two ranks' lists do the same at the same addresses, each with micro-batches of its own
 * replica: all that the rule "dataflow" asks of a job is equal then, and nothing else of the ranks is asked. None of
 * them is of a collective, and messages among them carry what lies in the slots. */
int zb_plan_same_jobs(const zb_plan *plan, int first, int other);
