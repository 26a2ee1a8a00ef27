/* Building and timing orders fast.
 *
 * The list scheduler builds an order by a rule: every rank, whenever it is free, takes the most urgent job that can
 * start and fits its memory. It can build backwards in time too, in the mirror of the problem.
 *
 * The timer times a sequence, the form that orders have here: all jobs of a problem in one array.
 *
 * A scheduler is the state of list scheduling: it holds the tables of one problem and the memory that building, timing
 * and the search work in.
 */
#pragma once

#include "passes/schedule/model.h"

/* A job of a sequence. A sequence is all jobs of a problem: those of rank r, in order, from r * per_rank on.
 * Micro-batches of a stage rise for every kind: they are all alike, so an order that numbers them otherwise is not
 * faster. */
typedef struct zb_slot {
  int32_t class; /* stage * ZB_KIND_COUNT + kind */
  int32_t micro_batch;
} zb_slot;

/* A problem as a scheduler reads it, forwards in time or backwards. Backwards, an order is built from its last job to
 * its first: W, then B, then F of a stage, messages go from receiver to sender, and a job adds what it frees and frees
 * what it keeps. Step 0, 1, 2 is the first, second and third job of a stage and micro-batch: F, B, W forwards, W, B, F
 * backwards; a class here is stage * 3 + step. */
typedef struct zb_direction {
  bool backwards;
  int64_t *time_ps, *keep, *release; /* [classes]; whole backwards: all in B, W is empty */
  zb_link *links;                    /* by sending class; link.stage is the receiving class */
  int *link_begin;                   /* [classes + 1] */
  int32_t *inputs;                   /* [classes] messages that a job waits for */
} zb_direction;

/* The next job of a class, if its inputs are known: what a rank decides by, side by side for all classes of the rank.
 */
typedef struct zb_head {
  int64_t ready, priority; /* ready: INT64_MAX where an input is not known, or no job is left */
} zb_head;

/* When each of several ranks decides next, and who is first: a tournament instead of a look at all of them. */
typedef struct zb_agenda {
  int leaves;     /* a power of two */
  int64_t *due;   /* [leaves] INT64_MAX: never */
  int32_t *first; /* [2 * leaves] who is due first, the lowest of several, among the leaves of a node; 1 is the root */
} zb_agenda;

void zb_agenda_take(zb_arena *arena, int ranks, zb_agenda *out);
/* After `due` of all ranks has been set. */
void zb_agenda_start(zb_agenda *agenda);
static inline void zb_agenda_set(zb_agenda *agenda, int rank, int64_t time) {
  int32_t *const first = agenda->first;
  agenda->due[rank] = time;
  for (int node = (agenda->leaves + rank) / 2; node > 0; node /= 2) {
    const int32_t left = first[2 * node], right = first[2 * node + 1];
    const int32_t winner = agenda->due[right] < agenda->due[left] ? right : left;
    if (winner == first[node] && winner != rank) return;
    first[node] = winner;
  }
}

/* Not to be shared between threads. */
typedef struct zb_scheduler {
  const zb_model *model;
  int ranks, chunks, stages, micro_batches, classes, per_rank;
  size_t jobs;
  bool whole; /* problem.whole_backward */
  zb_direction forwards, mirror;
  int64_t *base;                 /* [ranks] */
  int64_t *hold;                 /* [stages] bytes of a micro-batch between F and B */
  int64_t *pad;                  /* [ranks] most bytes that a job needs for its own time only */
  int64_t *one_each;             /* [ranks] base and one micro-batch of every stage */
  int64_t *work;                 /* [ranks] time of all jobs and the optimizer */
  const int64_t *optimizer;      /* [ranks] */
  int32_t *head_at;              /* [classes] the place of a class in heads */
  int64_t evaluations, asked_at; /* asked_at: of them, before which the watch of the problem is not asked again */
  bool is_stopped;               /* by that */
  int64_t slack;  /* least room left by any test of a limit that passed: with limits lowered by no more, all would have
                     gone the same way */
  int64_t *spare; /* [ranks] how much limits are lowered before that of this rank is, which stands below the others */
  /* scratch, by class * micro_batches + micro_batch or by rank */
  int64_t *ready;            /* when the inputs that are known are there */
  int32_t *missing;          /* inputs that are not known yet */
  int32_t *missing_start[2]; /* the same at the start, by direction */
  int32_t *next;             /* [classes] next micro-batch */
  int32_t *done;
  int32_t *in_flight, *in_flight_first; /* between F and B; when the first B started, -1 before */
  int64_t *clock, *live, *committed, *idle;
  zb_agenda agenda;
  zb_head *heads; /* [classes] by rank, chunk, step */
  int64_t most_idle;
  int64_t *channel; /* [ranks * ranks] when it is free */
  int64_t *start;   /* [jobs] starts of jobs, for reductions that wait for some; NULL: there are none */
  int32_t *queue;
  bool *queued;
  zb_arena *arena; /* the model's: of all this, and of what lives as long */
} zb_scheduler;

/* Remembers how close a limit of a rank was that a test has kept. */
static inline void zb_note_room(zb_scheduler *w, int rank, int64_t room) {
  if (room + w->spare[rank] < w->slack) w->slack = room + w->spare[rank];
}

/* Whether a search goes on, as the watch of its problem says. */
bool zb_scheduler_ask(zb_scheduler *scheduler);
static inline bool zb_scheduler_goes_on(zb_scheduler *w) {
  return !w->is_stopped && (w->evaluations < w->asked_at || zb_scheduler_ask(w));
}

/* Its memory is the model's. */
zb_status zb_scheduler_init(zb_model *model, zb_scheduler *out) ZB_MUST_USE;
/* Before the first job: nothing has run or is on its way, and every rank holds its base. What the inputs of jobs are
 * (missing) and when they are there (ready) is the caller's. */
void zb_scheduler_clear(zb_scheduler *scheduler);

/* Where arrays by job have (class, micro_batch); the class of a kind of a rank's chunk; a rank's part of a sequence. */
static inline size_t zb_class_job(const zb_scheduler *w, int class, int micro_batch) {
  return (size_t)class * (size_t)w->micro_batches + (size_t)micro_batch;
}
static inline int zb_class_at(const zb_scheduler *w, int rank, int chunk, int kind) {
  return w->model->rank_stages[rank * w->chunks + chunk] * ZB_KIND_COUNT + kind;
}
static inline size_t zb_rank_begin(const zb_scheduler *w, int rank) { return (size_t)rank * (size_t)w->per_rank; }

/* How a scheduler decides. */
typedef struct zb_build_rule {
  const int64_t *priority; /* [jobs] by class * micro_batches + micro_batch, lowest first; backwards: highest first */
  const int64_t *limit;    /* [ranks] bytes */
  const int32_t *cap;      /* [stages] forwards: most micro-batches between F and B; NULL: no cap */
  int extra; /* forwards: how many more micro-batches a rank may have in flight than when its first B started; below 0:
                any number */
  const int64_t *release; /* [ranks] no job of the rank starts earlier; NULL: 0 */
  /* A job that would hold up a more urgent one that is about to arrive waits for that, if the gap is shorter than this
   * share (in 1/256) of its time, */
  int patience;
  /* or if the rank has then been idle for no more than this; what it waits before its first job counts with
   * count_start. */
  int64_t idle;
  bool share_idle; /* or for no more than the rank that has been idle longest */
  bool count_start;
  bool backwards;
} zb_build_rule;

/* Fills sequence[jobs], and start_ps[jobs] with when each job starts; backwards, counted from the end, so below 0.
 * False: stuck, a rank cannot go on within its limit. O(jobs * (chunks + log ranks)). */
bool zb_build_order(zb_scheduler *scheduler, const zb_build_rule *rule, zb_slot *sequence,
                    int64_t *start_ps) ZB_MUST_USE;

typedef struct zb_timing {
  int64_t step_ps, stage_ps;
} zb_timing;
/* Times a sequence as zb_simulate does. start_ps[jobs] (may be NULL) gets the start of each job, span_ps[ranks] (may be
 * NULL) start of the rank (0 for the barrier metric) to its end. False: it cannot finish. O(jobs). */
bool zb_time_sequence(zb_scheduler *scheduler, const zb_slot *sequence, zb_timing *out, int64_t *start_ps,
                      int64_t *span_ps) ZB_MUST_USE;
/* The time that the metric of the problem goes by. */
int64_t zb_metric_time(const zb_scheduler *scheduler, const zb_timing *timing);
/* Peak bytes of each rank. */
void zb_sequence_peaks(const zb_scheduler *scheduler, const zb_slot *sequence, int64_t *peak);
/* Renumbers the micro-batches of every class as they come, and, for whole backwards, puts every W right behind its B.
 * scratch[per_rank]. */
void zb_sequence_renumber(zb_scheduler *scheduler, zb_slot *sequence, zb_slot *scratch);
/* Takes the jobs of an order over, renumbered; the order must be valid but for the numbers of its micro-batches. */
void zb_sequence_read(zb_scheduler *scheduler, const zb_order *order, zb_slot *sequence, zb_slot *scratch);
/* Makes the order of a sequence; *out is initialized here. On failure it is empty. */
zb_status zb_sequence_write(const zb_scheduler *scheduler, const zb_slot *sequence, zb_order *out) ZB_MUST_USE;

/* A small generator with a seed: the same numbers everywhere (xorshift64*, Vigna 2016). */
static inline uint64_t zb_random_next(uint64_t *state) {
  *state ^= *state >> 12;
  *state ^= *state << 25;
  *state ^= *state >> 27;
  return *state * UINT64_C(2685821657736338717);
}
static inline int zb_random_below(uint64_t *state, int below) {
  return (int)((zb_random_next(state) >> 33) % (uint64_t)below);
}
