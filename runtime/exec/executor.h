/* The executor of one rank: a state machine over its job list, driven by a thread that blocks or by a virtual clock
 * that does not.
 *
 * zb_executor_advance does at most one job and never blocks. A driver (driver.h) calls it again and again, and when it
 * is blocked lets time pass: a thread waits for the message, the virtual clock goes on to the next event. Nothing is
 * allocated between zb_executor_clear and ZB_EXECUTOR_DONE.
 */
#pragma once

#include "runtime/base/arena.h"
#include "runtime/base/clock.h"
#include "runtime/device/device.h"
#include "runtime/exec/data.h"
#include "runtime/plan/clock/delays.h"
#include "runtime/plan/clock/liveness.h"
#include "runtime/plan/clock/simulator.h"
#include "runtime/transport/transport.h"

#include <stdatomic.h>

typedef struct zb_executor_params {
  const zb_plan *plan;
  int rank;
  const zb_device_def *device;
  zb_device_params device_params;
  const zb_transport_def *transport_def;
  zb_transport *transport;
  const zb_data *data;           /* of steps; NULL with no_kernels: inputs are not read */
  const zb_data *evaluation;     /* of evaluations, or NULL */
  double *micro_losses;          /* REPORT jobs write here, one a micro-batch, shared by all ranks */
  double *micro_weights;         /* and of a weighted plan the weight of each, as `micro_losses`; else NULL */
  int losses_kept;               /* of so many steps, one after the other; 0: 1 */
  unsigned char *const *outputs; /* [output of the plan] where its REPORT jobs write, one micro-batch behind the other;
                                    NULL, or of one NULL: it is left out */
  const atomic_int *interrupted; /* nonzero: the next advance gives INTERRUPTED */
  bool trace;                    /* keep the times of jobs */
  int64_t *resumed_ps;  /* [2 * message + (1: its receiver)]: when a rank that waited went on, else 0; NULL: not kept */
  bool skip_non_finite; /* a norm of gradients that is not finite, or such a loss, is no failure */
  zb_delays delays;     /* of jobs, on a virtual clock */
  bool poison;          /* fill what is free with 0xFF after each job, and check that nobody wrote there */
} zb_executor_params;

typedef enum zb_executor_state {
  ZB_EXECUTOR_RAN,       /* one job was done */
  ZB_EXECUTOR_BLOCKED,   /* the message `blocked_on` is not complete */
  ZB_EXECUTOR_ENQUEUED,  /* all jobs are in the queue of a device with a queue, which is not done */
  ZB_EXECUTOR_VALIDATED, /* the verdict of the step before is known, which is over with it; no time passed */
  ZB_EXECUTOR_DONE, /* all jobs are done and all communication is complete, but for the numbers of a norm that the next
                       step waits for */
} zb_executor_state;

/* What a rank does about the verdict of the step before, one after the other; those from DRAIN on where that step was
 * clipped. */
typedef enum zb_verdict_phase {
  ZB_VERDICT_NONE,   /* it runs its list */
  ZB_VERDICT_NORMS,  /* it waits for the numbers of the norm */
  ZB_VERDICT_DRAIN,  /* it takes what was sent to it already, and waits for what it sent */
  ZB_VERDICT_UPDATE, /* it has restored what was overwritten, and updates with the factor */
  ZB_VERDICT_KNOWN,  /* the step before is over */
} zb_verdict_phase;

typedef struct zb_run_times {
  int64_t start_ps, end_ps; /* of the clock of the driver; compute jobs, reads, and posts of SEND and RECV */
} zb_run_times;

/* What a run took, on the clock of the driver, and what it found: zb_executor_finish_run. */
typedef struct zb_run_record {
  int64_t began_ps; /* or, of a step without a barrier before it, when the rank had ended the one before */
  int64_t ended_ps, compute_ps, waiting_ps;
  bool has_norm; /* of the gradients: */
  float norm;
  bool clipped_late; /* the step was made again with its factor, after the next one had begun */
} zb_run_record;

typedef struct zb_executor {
  zb_executor_params params;
  zb_arena memory; /* of the arrays below */
  const zb_plan_rank *program;
  zb_device *device;
  zb_device_program **programs; /* one a subprogram */
  unsigned char *arena;
  unsigned char *staging;    /* the largest input; NULL with a device with a queue, which has buffers of its own */
  unsigned char *step_image; /* what is written to the region step: the number of the step, and settings */
  uint64_t step_bytes;       /* of it */
  float *losses;             /* [micro-batch][2] as fetched from a device with a queue; behind them the norm */
  zb_run_times *times;       /* one a job, if trace */
  int64_t *waited_ps;        /* one a job, if trace: how long the rank waited for messages before it */
  int64_t waited_end_ps;     /* and behind the last of the run */
  zb_liveness liveness;      /* if poison */
  /* Where it is, for signal handlers and other threads: job and blocked_on below, a moment later. */
  atomic_int at_job, at_message;
  /* Where it is. */
  zb_plan_list list; /* what runs; LOAD jobs count to the steps */
  int64_t step;      /* from 0; of an evaluation: number of the batch */
  int64_t updates;   /* steps before it that changed parameters: set before the first step, then counted */
  bool has_norm;     /* of the gradients of the last step: */
  float norm;
  bool cleared;        /* zb_executor_clear was called */
  bool updated;        /* an UPDATE of the run has changed parameters, or may have */
  unsigned char *kept; /* buffers as they were before the step; NULL with a device with a queue */
  int first, job, end; /* first: of this run */
  uint32_t wait;       /* how many waits of the job are over */
  bool has_second;     /* jobs beside the others (runtime/plan/mesh/expand.h) have a place of their own: */
  int second;          /* the next of them, run once it is in front of `job` */
  int second_blocked;  /* message, while it is blocked; else -1 */
  int drain;           /* after the last job: next communication job to wait for */
  int blocked_on;      /* message, while BLOCKED */
  bool *ran;           /* [subprogram] in this step */
  uint64_t progress;   /* of a device with a queue, when it was last asked */
  int64_t virtual_ps;  /* what the last compute job takes on a virtual clock */
  /* What a step took, of the clock of the driver. */
  int64_t compute_ps, waiting_ps;
  int64_t queue_end_ps; /* of the last job by the events of its device, which may run ahead of the host's clock */
  int64_t started_ps, ended_ps;              /* by the driver: before its first advance, and when all was done */
  zb_run_record records[ZB_STEPS_IN_FLIGHT]; /* [number of the run % that] */
  const int64_t *virtual_now_ps;             /* NULL: the monotonic clock */
  /* Post-validation (validation.c). */
  int verdict, snapshot, clip; /* jobs; -1: the plan has none */
  bool speculates;             /* set before a step: it is followed at once by another one, so it does not wait */
  bool pending;                /* nobody knows yet whether the step before was clipped */
  bool settles;                /* and no other step has begun */
  zb_verdict_phase phase;
  int next;                /* job that is next in the phase */
  bool posted;             /* in DRAIN: what crosses has been posted */
  int64_t kept_compute_ps; /* what counts of the time that is computed twice */
  int last;                /* the job that the last advance ran, of either place */
  zb_status deferred;      /* a failure with values that may be undone; NULL */
} zb_executor;

/* Opens the device, makes the arena and prepares all subprograms. On failure nothing is left. Release with
 * zb_executor_deinit. */
zb_status zb_executor_init(zb_executor *executor, const zb_executor_params *params) ZB_MUST_USE;
void zb_executor_deinit(zb_executor *executor);
/* The next run is that of the LOAD jobs, of a step, or of an evaluation of one batch. */
void zb_executor_begin_load(zb_executor *executor);
void zb_executor_begin_step(zb_executor *executor, int64_t step);
void zb_executor_begin_evaluation(zb_executor *executor, int64_t batch);
/* No step follows the one that is pending: the next run is that of its verdict. */
void zb_executor_begin_settling(zb_executor *executor);
/* One job of the second place, if there is one: RAN, BLOCKED, or DONE where there is none yet. On a virtual clock,
 * where the two places are two clocks; else zb_executor_advance calls it. */
zb_status zb_executor_advance_second(zb_executor *executor, zb_executor_state *out_state) ZB_MUST_USE;
/* Whether it has a job to run, but for what that waits for. */
bool zb_executor_has_second(const zb_executor *executor);
/* The step, from 0, that what runs belongs to: the one before where its verdict is being found. */
int64_t zb_executor_step(const zb_executor *executor);
/* The numbers of a setting of the rank, as they are written before the next steps: at first the defaults of the plan.
 * Between steps the caller may change them. */
double *zb_executor_setting(zb_executor *executor, int index);
/* By the driver, on the thread of the rank, before the first advance of a run: for a step it zeroes the gradients and
 * writes the step number and the settings; while the step before is pending that waits for its verdict. */
zb_status zb_executor_clear(zb_executor *executor) ZB_MUST_USE;
/* By the driver, on that thread: the run is done. follows: no barrier was before it, so it began when the one before it
 * had ended. A step that is pending then has no norm yet. */
void zb_executor_finish_run(zb_executor *executor, bool follows);
/* After a run that failed: whether no parameter was changed, and buffers are again as before it. */
bool zb_executor_take_back(zb_executor *executor);
/* What became of the step, or the batch of an evaluation, of that number: one of the last ZB_STEPS_IN_FLIGHT. */
const zb_run_record *zb_executor_record(const zb_executor *executor, int64_t number);
/* Does the next job if it can. Errors name rank and job; the executor is then of no more use. */
zb_status zb_executor_advance(zb_executor *executor, zb_executor_state *out_state) ZB_MUST_USE;
/* The rank waited for blocked_on from start_ps on, and goes on at now_ps. */
void zb_executor_waited(zb_executor *executor, int64_t start_ps, int64_t now_ps);
/* The same from at_job and at_message, async-signal-safe and from any thread; not NUL-terminated. Returns how many
 * bytes of `text` are used. */
size_t zb_executor_position_safe(const zb_executor *executor, char *text, size_t size);
/* Where the executor is: "at 0F2 (job 14 of 80), waiting for message 5 from rank 1". */
const char *zb_executor_position(const zb_executor *executor, char *text, size_t size);
/* Adds to a failure where each of the executors is, one note each. Takes and returns ownership. */
zb_status zb_executors_note_positions(const zb_executor *executors, int count, zb_status status) ZB_MUST_USE;

/* Text of a job: "0F2", "3UPDATE", "send of message 5 to rank 1". */
const char *zb_executor_job_text(const zb_plan *plan, int rank, int job, char *text, size_t size);
