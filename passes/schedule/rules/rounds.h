/* Schedulers that go in rounds: in each, every rank puts at most one F and one B at the end of what it has.
 *
 * A rank's wait is its clock's way to the start of a job. W fill waits, and make room where memory is full. How long a
 * rank may wait is measured by how long others have.
 *
 * Two limits of memory decide. What is put keeps `limits`. What is planned, the room that is left free for later jobs,
 * keeps `planned`, which may be higher: so an order that was made for more memory than it takes is made again where no
 * more is there than it takes.
 */
#pragma once

#include "passes/schedule/rules/within.h"

/* What to do with a wait that is shorter than the next W. */
typedef enum zb_rounds_gap {
  ZB_GAP_LEFT,     /* nothing */
  ZB_GAP_IF_LATER, /* the W, where the rank would else become the one that has waited longest */
  ZB_GAP_FILLED,   /* the W */
} zb_rounds_gap;

/* What is asked of a class again and again, in one line of a cache. */
typedef struct zb_rounds_class {
  int64_t time_ps, keep, release;
  int64_t commits; /* how many more bytes its rank is to keep until another B */
  size_t input;    /* F and B: where `ready` has what the first job waits for */
  int rank;
  int link_begin, link_end; /* in the scheduler's links, forwards */
  bool is_w;
} zb_rounds_class;

typedef struct zb_rounds {
  zb_scheduler *w;
  zb_rounds_class *classes;     /* [classes] */
  zb_slot *sequence;            /* where its time needs one */
  zb_slot *best;                /* the best order for the request, */
  zb_timing timing;             /* its times (0: there is none), */
  int64_t less_than;            /* and what a better one takes no more than */
  int *put;                     /* [ranks][...] the classes of the jobs that were put, in their order */
  const int64_t *limits, *most; /* of the request */
  int64_t planned;              /* bytes, at least the limit of the rank */
  int64_t next_planned; /* the least that `planned` should have been for a room that was refused since this was set */
  bool count_start;     /* what a rank waits before its first job counts */
  bool is_above;        /* a rank has held more than `most` */
  int64_t *ready;       /* [stages][F, B][micro-batches] when the messages have arrived that a job waits for */
  size_t put_row, ready_row, waiting_row;
  int *waiting;         /* [ranks][...] classes of B without their W, oldest first */
  int *oldest, *newest; /* [ranks] in `waiting` */
  int64_t *first;       /* [ranks] when its first job started */
  int64_t *bubble;      /* [ranks] how long it has waited */
  int64_t *granted;     /* [ranks] how long each may in any case: what it waited in a run before */
  int64_t longest, longest_granted;
  int64_t *most_granted;  /* [ranks] the longest wait of an order that was allowed because it was granted */
  int64_t *least_refused; /* [ranks] the shortest that was not allowed */
  int64_t slack_before, evaluations_before; /* of the scheduler: it is not ours alone */
} zb_rounds;

/* Its memory is the scheduler's. */
zb_status zb_rounds_init(zb_scheduler *scheduler, zb_rounds *out) ZB_MUST_USE;
/* Before the first order for a request, and behind the last. best: [jobs] where the answer goes. */
void zb_rounds_open(zb_rounds *rounds, const zb_within_request *request, zb_slot *best);
void zb_rounds_close(zb_rounds *rounds, zb_within_answer *out);
/* Before the first job of an order. */
void zb_rounds_start(zb_rounds *rounds);

/* The next job of a class, at the end of its rank; what it needs must have been put. */
void zb_rounds_put(zb_rounds *rounds, int class);
/* The same of a B: its W joins those that wait. */
void zb_rounds_put_b(zb_rounds *rounds, int class);
static inline bool zb_rounds_has_w(const zb_rounds *r, int rank) { return r->oldest[rank] < r->newest[rank]; }
/* The class of the n-th W that waits. */
static inline int zb_rounds_w(const zb_rounds *r, int rank, int n) {
  return r->waiting[(size_t)rank * r->waiting_row + (size_t)(r->oldest[rank] + n)] + 1;
}
/* The oldest W that waits; all of them. */
void zb_rounds_put_w(zb_rounds *rounds, int rank);
void zb_rounds_put_all_w(zb_rounds *rounds, int rank);

/* Whether a rank is sure to take longer than that by the metric of the problem, whatever else is put. */
bool zb_rounds_are_late(const zb_rounds *rounds, int64_t time_ps);
/* When all jobs are put: keeps the order if it is the best. False: some jobs are missing. */
bool zb_rounds_keep(zb_rounds *rounds);

/* Makes room for the next job of a class with the W that wait; false if that is not enough. */
bool zb_rounds_make_room(zb_rounds *rounds, int class);
/* Fills the wait for the next job of a class with W. */
void zb_rounds_fill_wait(zb_rounds *rounds, int class, zb_rounds_gap gap);
/* Whether a room may be planned with, as far as memory goes. */
bool zb_rounds_may_plan(zb_rounds *rounds, int rank, int64_t bytes);
/* Whether a rank may wait so much longer than now without being the one that waits longest. */
static inline bool zb_rounds_may_wait(zb_rounds *r, int rank, int64_t wait) {
  const int64_t total = r->bubble[rank] + wait;
  if (total <= r->longest) return true;
  const bool is_granted = total <= r->longest_granted - r->granted[rank];
  if (is_granted && total > r->most_granted[rank]) r->most_granted[rank] = total;
  if (!is_granted && total < r->least_refused[rank]) r->least_refused[rank] = total;
  return is_granted;
}
/* Before the first order of a setting. */
void zb_rounds_forget_grants(zb_rounds *rounds);
/* Grants every rank what it has waited in the order that was put, for the next one. False: the same order would come
 * out again. */
bool zb_rounds_grant(zb_rounds *rounds);
/* When the messages have arrived that an F or B waits for. The jobs of its own stage need no time here: they have been
 * put on the same rank. */
static inline int64_t zb_rounds_ready(const zb_rounds *r, int class) {
  return r->ready[r->classes[class].input + (size_t)r->w->next[class]];
}
