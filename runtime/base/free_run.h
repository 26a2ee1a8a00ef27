/* Jobs on ranks that run out of turn: what a list of jobs would take if a rank that has to wait did something else.
 *
 * Every job belongs to a rank and has a place in its list; edges say which jobs need which others, and how long it
 * takes until the result is there. A rank takes jobs one at a time, at once when it is free and one is ready, by a
 * rule.
 */
#pragma once

#include "runtime/base/arena.h"

/* How a rank chooses among jobs that are ready. */
typedef enum zb_free_rule {
  ZB_FREE_TURN,     /* the next of the list: none is out of turn */
  ZB_FREE_FILL,     /* the next of the list; where that is not ready, the first filler that is */
  ZB_FREE_LIST,     /* the first in the list */
  ZB_FREE_PRIORITY, /* the first in the list of those of the lowest class */
} zb_free_rule;

typedef struct zb_free_job {
  int64_t time_ps;
  int64_t keep_bytes, free_bytes; /* memory that it takes when it starts, and gives back when it ends */
  int job_class;                  /* 0, 1, .. */
  bool filler;
} zb_free_job;

typedef struct zb_free_edge {
  int32_t from, to;
  int64_t delay_ps;
} zb_free_edge;

typedef struct zb_free_graph {
  int ranks;
  const int32_t *begin;    /* [ranks + 1]: the jobs of a rank, in its order */
  const zb_free_job *jobs; /* [begin[ranks]] */
  const zb_free_edge *edges;
  size_t edge_count;
} zb_free_graph;

/* When each job starts: start_ps[jobs]. INVALID where jobs need each other in a circle; MEMORY. O((jobs + edges) log
 * jobs). */
zb_status zb_free_run(const zb_free_graph *graph, zb_free_rule rule, int64_t *start_ps) ZB_MUST_USE;

/* Most bytes that the jobs of each rank keep at a time, if they start then: peak_bytes[ranks]. start_ps NULL: in turn.
 */
zb_status zb_free_peaks(const zb_free_graph *graph, const int64_t *start_ps, int64_t *peak_bytes) ZB_MUST_USE;

/* The shortest time by any rule, and by any whose run keeps a limit of memory. */
typedef struct zb_free_best {
  int64_t turn_ps;           /* in turn */
  int64_t any_ps, within_ps; /* not longer than in turn */
} zb_free_best;
/* What a step takes whose jobs start then; MEMORY. */
typedef zb_status (*zb_free_measure)(void *context, const int64_t *start_ps, int64_t *time_ps);
/* limit_bytes[ranks]; what the jobs keep in turn is within it, too. */
zb_status zb_free_find_best(const zb_free_graph *graph, const int64_t *limit_bytes, zb_free_measure measure,
                            void *context, zb_free_best *out) ZB_MUST_USE;
