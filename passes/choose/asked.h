/* What is asked of a compile: everything that decisions depend on beside the program. */
#pragma once

#include "passes/choice/choice.h"
#include "passes/pipeline.h"

/* What is asked: a plan of this program, with these options, within this memory. */
typedef struct zb_asked {
  const zb_pass *pass;           /* zb-choose: the options that the passes behind it have too */
  const char *split, *recompute; /* in the place of its own: a search may leave less open */
  const char *schedule;
  zb_schedule_choice rule; /* of schedule, if that is no file */
  bool is_file;
  bool searches;    /* the schedule looks for an order */
  bool keeps_limit; /* and it does so within the limit */
  bool placement_is_open, cuts_are_open;
  int cut_trials; /* 0: by the size of the program */
  int ranks, micro_batches;
  int64_t limit; /* bytes a rank; 0: none */
  zb_metric metric;
  const zb_watch *watch; /* of all searches; NULL: nobody waits */
} zb_asked;

/* What is asked of another schedule, without a limit. USAGE. */
zb_status zb_asked_rule(const zb_asked *asked, const char *schedule, zb_asked *out) ZB_MUST_USE;
/* That orders which take longer are not worth searching for, beside what was told before: a schedule that searches may
 * give any, then. */
void zb_asked_tell(zb_asked *asked, double known_ps);
/* The same with a small budget for each order; false: it has no larger one. */
bool zb_asked_quick(const zb_asked *asked, zb_asked *out);

/* What no order of the problem is faster than, by the metric. */
int64_t zb_asked_bound(const zb_asked *asked, const zb_problem *problem);
/* INTERRUPTED where the watch ends the search. */
zb_status zb_asked_goes_on(const zb_asked *asked) ZB_MUST_USE;

/* The next placement that the schedule takes, from *at = 0 on: false: there is none. chunks: those of the best one so
 * far, as many more are tried where so many are best. */
bool zb_placement_next(const zb_asked *asked, int chunks, int *at, zb_choice *out);

/* The order that the schedule gives for a problem, without a limit that it has not itself, in the place of *order, as
 * plans have it: a gradient leaves behind its B, also where the schedule has one backward job. */
zb_status zb_order_plain(const zb_asked *asked, zb_problem *problem, zb_order *order) ZB_MUST_USE;
/* As a plan runs: a receive is posted right before the job that reads it (insert_comm.c), so the rank waits for as long
 * as the message takes. */
typedef struct zb_job_waits {
  int64_t ps[ZB_KIND_COUNT];
} zb_job_waits;
/* out: [stages]. */
void zb_find_waits(const zb_problem *problem, zb_job_waits *out);
/* Waits are part of the jobs of the problem, whose costs these are, and its messages take no time. */
void zb_add_waits(const zb_job_waits *waits, zb_problem *problem, zb_stage_cost *costs);

/* One micro-batch after the other. Release with zb_order_deinit, after a failure too. MEMORY. */
zb_status zb_order_one_by_one(const zb_problem *problem, zb_order *out) ZB_MUST_USE;
