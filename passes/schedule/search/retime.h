/* The times of a sequence that is changed again and again.
 *
 * A change is a range of places of a rank whose jobs were exchanged. Only the jobs that start after the first change
 * are timed again, and a change can be taken back with the times before it.
 */
#pragma once

#include "passes/schedule/rules/build.h"

/* The places of a rank from first to last have changed. */
typedef struct zb_change {
  int rank, first, last;
} zb_change;

/* What a class of jobs waits for on other ranks or stages. */
typedef struct zb_retime_input {
  int class, rank;  /* of the sender */
  int64_t delay_ps; /* from its start until it arrives: the job and the message */
} zb_retime_input;

/* A class as the inner loop reads it, in one place: its time and its first input. A class without inputs has one that
 * was there before anything: so most jobs need no branch. */
typedef struct zb_retime_class {
  int64_t time_ps, delay_ps;
  size_t sender_begin; /* place 0 of the sender's rank */
  int32_t sender;      /* the sender's micro-batch 0 in `place`, */
  int32_t step;        /* and how far its micro-batches are apart: 1; 0 without inputs */
  int32_t rank;        /* of the sender */
  int32_t more;        /* inputs beside it */
} zb_retime_class;

/* Scratch memory for one scheduler, and the times of one sequence. */
typedef struct zb_retimer {
  zb_scheduler *scheduler;
  int64_t *start;     /* [jobs + 1] by place: rank * per_rank + index in the list; then the input of those without */
  int32_t *place;     /* [jobs + 1] by class * micro_batches + micro_batch: index in its rank's list */
  int64_t *worked;    /* [jobs] by place: what the jobs of the rank before it take */
  int64_t *span;      /* [ranks] what the metric counts of a rank: from its start, or from 0, to its end */
  int *last;          /* [ranks] index of the job that its end waits for: the last one, or a W before a reduction */
  bool channels_wait; /* a message may have to wait for the one before it: then messages are sent, else pulled */
  int *input_begin;   /* [classes + 1] */
  zb_retime_input *inputs;
  zb_retime_class *classes;
  /* where channels wait */
  int64_t *arrival;              /* [inputs * micro_batches] of the message of an input */
  int *outputs;                  /* [links] by forwards.links: the input that it is */
  int *channel_begin, *channels; /* [ranks + 1] the channels that a rank sends on */
  int64_t *channel;              /* [ranks * ranks] scratch: when each is free */
  /* to take a change back */
  int64_t *saved;
  int *kept; /* [ranks] places whose times stayed */
  /* scratch */
  int *done; /* [ranks + 1] places that are timed */
  int *stack, *waits_at, *next_waiting, *first_waiting;
} zb_retimer;

/* Its memory is the scheduler's. */
zb_status zb_retimer_init(zb_scheduler *scheduler, zb_retimer *out) ZB_MUST_USE;

/* When the jobs of a rank start. */
static inline const int64_t *zb_retime_starts(const zb_retimer *x, int rank) {
  return &x->start[zb_rank_begin(x->scheduler, rank)];
}

/* When an input (an index of `inputs`) of a micro-batch arrives whose sender stands at that place. */
static inline int64_t zb_retime_arrival(const zb_retimer *x, int input, int place, int micro_batch) {
  if (x->channels_wait) return x->arrival[zb_class_job(x->scheduler, input, micro_batch)];
  return zb_retime_starts(x, x->inputs[input].rank)[place] + x->inputs[input].delay_ps;
}

/* Times all of a renumbered sequence. False: it cannot finish. O(jobs). */
bool zb_retime_all(zb_retimer *retimer, const zb_slot *sequence) ZB_MUST_USE;
/* Times it after changes, of different ranks; what is timed stays the same but for those places. False: it cannot
 * finish, or a rank's span is above `most` (then it may have given up early); the times are undefined until
 * zb_retime_undo. O(jobs that start after the first change). */
bool zb_retime(zb_retimer *retimer, const zb_slot *sequence, const zb_change *changes, int count,
               int64_t most) ZB_MUST_USE;
/* The times before the last zb_retime, whatever it returned; the places of these changes in `sequence` are as before.
 */
void zb_retime_undo(zb_retimer *retimer, const zb_slot *sequence, const zb_change *changes, int count);
/* By the metric of the problem. */
int64_t zb_retime_metric_ps(const zb_retimer *retimer);
