/* A session from the inside: what session.c, session_save.c and record.c share. Tests make sessions of hand-written
 * plans with zb_session_create_from. */
#pragma once

#include "runtime/base/arena.h"
#include "runtime/formats/safetensors.h"
#include "runtime/exec/checkpoint.h"
#include "runtime/exec/driver.h"
#include "runtime/exec/facts.h"
#include "runtime/exec/measure.h"
#include "runtime/exec/outputs.h"
#include "runtime/exec/rates.h"
#include "runtime/plan/clock/clocks.h"
#include "zb/runtime.h"

/* A parameter that a rank of this process writes to checkpoints. */
typedef struct zb_owned_parameter {
  int rank, index; /* of plan.ranks[rank].parameters */
  const char *name;
} zb_owned_parameter;

/* What a rank took in the last step; ended_ps: from the start of the step, which is start_ps on the clock of its
 * process. */
typedef struct zb_rank_time {
  int64_t start_ps, compute_ps, waiting_ps, ended_ps;
} zb_rank_time;

typedef struct zb_step_record zb_step_record; /* session_group.c */
typedef struct zb_job_record zb_job_record;   /* explain.c */

struct zb_session {
  zb_arena memory;          /* of all arrays below */
  zb_session_params params; /* texts are not kept */
  int64_t timeout_ms;
  /* Where this process is among those of the run (session_group.h). */
  zb_group *group;                                /* NULL: the only one */
  int process, processes, first_rank, rank_count; /* ranks of this process */
  bool apart;                                     /* the other processes may be gone: do not wait for them */
  zb_facts contents;                              /* what the options lead to here, until it is compared */
  zb_step_record *record;                         /* of a step, if there is a group */
  size_t record_bytes;
  uint64_t *arena_bytes; /* [rank of the plan] */
  int64_t *clock_ps; /* [process] at process 0, if params.trace: what to add to its clock to get that of process 0 */
  int64_t clock_error_ps; /* of the least certain of them */
  char mixed[256];        /* how instruction sets of processes differ; "" */
  zb_plan *plan;
  zb_plan *whole;           /* if params.explain, at process 0 of several: that of all ranks, expanded; else NULL */
  char instruction_set[32]; /* what fixes the bits of results besides the plan */
  const zb_device_def *device;
  const zb_transport_def *transport_def;
  const zb_group_def *group_def; /* how the processes meet; NULL: there is one */
  zb_transport *transport;
  const zb_driver_def *driver_def;
  zb_driver *driver;
  zb_clocks *clocks;         /* what runs in the place of executors, of which there are none then; or NULL */
  zb_executor *executors;    /* one a rank of this process */
  int executor_count;        /* how many are initialized */
  zb_data *data;             /* NULL with no_kernels, and where there are evaluations alone */
  zb_data *evaluation;       /* or NULL */
  int64_t batches;           /* of an evaluation: whole ones, */
  int64_t rest;              /* and the rows of one more that has fewer */
  zb_outputs outputs;        /* that it writes */
  int64_t random_seed;       /* of the random ops of the plan; 0: it has none */
  zb_owned_parameter *owned; /* sorted by name */
  int owned_count;
  bool **infinite;           /* [rank here][parameter] it began with infinities */
  double *micro_losses;      /* of the last step or batch */
  double *micro_weights;     /* of a weighted plan, as micro_losses; else NULL */
  double *weights_kept;      /* as losses_kept */
  double step_weight;        /* zb_session_loss_weight of the last step, by which its sums of gradients are divided */
  double *losses_kept;       /* [ZB_STEPS_IN_FLIGHT][micro-batch] of the steps under way */
  zb_rank_time *times;       /* [rank of the plan] of the last step */
  zb_rank_time *other_times; /* [rank of the plan] in their place during an evaluation */
  double *idle, *waiting;    /* [rank of the plan] shares of the last step */
  int64_t *resumed_ps;       /* if params.costs: see zb_executor_params */
  zb_measure *measure;       /* if params.costs */
  zb_rates rates;
  const char *rates_text; /* of rates, for people */
  const char *settings;   /* how it trains, for checkpoints; NULL: another process writes it (session_settings.c) */
  double lr;              /* of parameters that have none of their own, without the factor of a step; NaN */
  double (**bases)[ZB_UPDATE_NUMBERS]; /* [executor][setting] rate and weight decay without the factor of a step */
  bool has_norm;                       /* of the last step: */
  double norm;
  int64_t skipped;            /* of the steps done: those that changed no parameter */
  int64_t steps;              /* done, those before a resume included */
  int64_t steps_here;         /* done by this session */
  int64_t ran_ps, waiting_ps; /* of all steps here: length, and waiting summed over ranks */
  int64_t step_start_ps;      /* of the last step, on the driver's clock */
  int64_t took_ps;            /* the last step */
  zb_job_record *records;     /* of the last step, of the ranks here, if params.explain; else NULL */
  bool failed;                /* a step failed: the weights are of no step */
  bool leaves_out;            /* a step whose batch is refused, and goes on */
  zb_status refused;          /* the last such step; NULL */
  atomic_int interrupted;
  atomic_int stopping;      /* this process was asked to end after a step */
  zb_folder_lock save_lock; /* of process 0, on where params.save leads, for as long as the session lives */
  bool ends;         /* all processes end after the last step, or the last one under way: one was asked in time */
  bool overlaps;     /* steps that are announced have no barrier between them: */
  int64_t announced; /* steps that are made before anything else is asked */
  bool stepping;     /* ranks may be beyond the steps that are done */
  bool ending;       /* `announced` is where the run ends */
};

typedef struct zb_session_sources {
  zb_plan *plan;               /* taken, also on failure */
  const zb_store *weights;     /* initial values of parameters; NULL: zeros (no_kernels) */
  const zb_store *constants;   /* may be NULL if no constant needs it */
  const char *folder;          /* where they are, for messages, and the whole plan; NULL: in memory */
  const zb_device_def *device; /* instead of the one that the parameters name; NULL: that one. For tests */
  bool poison;                 /* fill free ranges with 0xFF; always on in a build with ZB_POISON */
} zb_session_sources;

/* Room for what zb_session_explain asks of a step, and taking it at the end of one. */
zb_status zb_session_init_records(zb_session *session) ZB_MUST_USE;
void zb_session_record_step(zb_session *session);
/* What is to be added to times of a rank, which count from the start of the step in its process, so that they count
 * from the first start of all (record.c). */
int64_t zb_session_shift_of(const zb_session *session, int rank);

/* A session of a plan in memory, not verified here. params->directory is not used. */
zb_status zb_session_create_from(const zb_session_params *params, const zb_session_sources *sources,
                                 zb_session **out) ZB_MUST_USE;

/* The plan in a folder, of those ranks alone; count -1: all. */
zb_status zb_session_read_plan(const char *directory, int first, int count, zb_plan **out) ZB_MUST_USE;

/* ---- session_rates.c ---- */

/* What the settings of the ranks of this process are, but for the factor of a step. resumed: NULL, or the checkpoint.
 */
zb_status zb_session_open_rates(zb_session *session, const zb_session_params *params, const zb_session_sources *sources,
                                const zb_checkpoint *resumed) ZB_MUST_USE;
/* For the step that comes; and for that one, on a rank of this process, by its index. */
void zb_session_set_rates(zb_session *session);
void zb_session_set_rank_rates(zb_session *session, int index, int64_t step);
/* Adds the rates to what the processes compare. */
void zb_session_describe_rates(zb_session *session);

/* ---- session_settings.c ---- */

/* Adds to what is said of rates what the run changes of how the one that is resumed trained. */
zb_status zb_session_open_settings(zb_session *session, const zb_session_params *params,
                                   const zb_session_sources *sources, const zb_checkpoint *resumed) ZB_MUST_USE;

/* ---- session_evaluate.c, for steps and evaluations ---- */

/* A step, or an evaluation of a batch, whose number is given; losses and times of all ranks are then known in every
 * process, and that no process is in it any more. */
zb_status zb_session_run_list(zb_session *session, void (*begin_list)(zb_executor *executor, int64_t number),
                              int64_t number, int64_t *out_ps) ZB_MUST_USE;
/* Whether the session can go on: with "step" 7, or "the evaluation after step" 6. */
zb_status zb_session_check_alive(zb_session *session, const char *next, int64_t number) ZB_MUST_USE;
/* After a step or an evaluation that failed: whether it changed nothing, so that the session is as before it and can go
 * on. Of a failure by its batch or its numbers, in one process, on a device without a queue. */
bool zb_session_take_back(zb_session *session, zb_status status);
/* Of the last list that ran. */
double zb_session_mean_loss(const zb_session *session);
/* What its numerator and its divisor are: losses of micro-batches and their number, or sums of losses and weights. */
double zb_session_loss_sum(const zb_session *session);
double zb_session_loss_weight(const zb_session *session);
double zb_session_batch_tokens(const zb_plan *plan);
/* The data of evaluations, and how many batches of it: what is missing is told before anything trains. */
zb_status zb_session_open_evaluation(zb_session *session, const zb_session_params *params) ZB_MUST_USE;

/* ---- session_save.c ---- */

/* Weights of this process, and optimizer state where the checkpoint has a store for it, in the order of names; what is
 * cut, put together, in process 0. Called by all processes. Copies are in `memory`; *out_parts (zb_free) is what the
 * stores borrow from, as well. */
zb_status zb_session_collect(zb_session *session, zb_checkpoint *checkpoint, zb_arena *memory,
                             void **out_parts) ZB_MUST_USE;

/* ---- session_overlap.c ---- */

/* Whether the parameters and the device let steps overlap. */
bool zb_session_may_overlap(const zb_session *session, const zb_session_params *params);
/* Whether the next step has no barrier before or behind it. */
bool zb_session_is_ahead(const zb_session *session);
void zb_session_fill_driver(zb_session *session, zb_driver_params *out);
/* The next step, without a barrier. */
zb_status zb_session_run_ahead(zb_session *session, int64_t *out_ps) ZB_MUST_USE;
/* Behind a step, which counts as done: whether the run ends with it, and how far ranks may go on. */
zb_status zb_session_after_step(zb_session *session, bool *out_stopping) ZB_MUST_USE;
/* USAGE where ranks may be beyond the steps that are done: what is asked then would be of no step. */
zb_status zb_session_check_still(const zb_session *session) ZB_MUST_USE;

/* ---- session_clocks.c ---- */

/* Whether a run of the plan, as it is in the file, needs nothing of its ranks but their times. */
bool zb_session_wants_clocks(const zb_session *session);
/* If it does, and they can have them: plan becomes that of all ranks, without jobs. Else nothing. */
zb_status zb_session_open_clocks(zb_session *session) ZB_MUST_USE;
/* The next step. */
zb_status zb_session_run_clocks(zb_session *session, int64_t *out_ps) ZB_MUST_USE;

/* ---- session_reports.c ---- */

/* Checks that every micro-batch reports one loss, a scalar. whole: the plan has all its ranks; else the losses of the
 * others are checked after the first step. */
zb_status zb_session_check_reports(const zb_plan *plan, bool whole, zb_plan_list list) ZB_MUST_USE;
/* Whether clip_norm and non_finite can be had of this plan. */
zb_status zb_session_check_norm(const zb_plan *plan, const zb_session_params *params) ZB_MUST_USE;
/* USAGE where bad_batch cannot be had; else sets leaves_out. */
zb_status zb_session_check_bad_batch(zb_session *session, const zb_session_params *params) ZB_MUST_USE;
/* Whether a step whose gradients are not finite is left out. */
bool zb_session_skips(const zb_session_params *params);
/* The greatest norm that this run was given, in the place of the plan's; 0: none was. */
void zb_session_set_clip_norm(zb_session *session, double clip_norm);
/* Before a step: how many there were that changed parameters. After it: its norm, and whether it changed any. */
void zb_session_begin_norm(zb_session *session);
void zb_session_take_norm(zb_session *session, zb_step_result *out);
