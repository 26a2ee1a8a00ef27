/* Running plans: what zb-run is made of. No MLIR.
 *
 * Thread-safety: a session is used by one thread at a time, but for zb_session_interrupt; different sessions are
 * independent.
 */
#ifndef ZB_RUNTIME_H
#define ZB_RUNTIME_H

#include "zb/explain.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct zb_session zb_session;

/* Which launcher started this process, by the variables of its environment. */
typedef struct zb_bootstrap {
  const char *launcher;   /* "mpirun", "srun", "torchrun", "torchrun or by hand"; NULL: none */
  const char *launch;     /* how its processes meet (zb_session_params.launch) if nothing else is said: "mpi", "tcp" */
  int process, processes; /* this one, and how many */
  int local_process;      /* on this machine; -1: not said */
  /* Over TCP process 0 waits for the others at the first port that is free of `ports`, from `port`. */
  char address[256]; /* a host; "": the variables do not say */
  int port, ports;
  uint64_t run;      /* a digest of what tells this run from others */
  bool apart;        /* no launcher is known that shows what all processes print: each may have a terminal of its own */
  char warning[256]; /* one process, where more may be meant: "", or what was found and what would start them */
} zb_bootstrap;
/* Asks `variable` for variables of the environment (NULL: not set) and takes the first complete set of
 * runtime/exec/launchers.def: mpirun's, srun's, torchrun's. Without any, *out says one process. INVALID, naming what
 * was found, when the only sets are incomplete or a value is no number. Texts but the address and the warning are lent.
 */
ZB_API zb_status zb_bootstrap_find(const char *(*variable)(void *context, const char *name), void *context,
                                   zb_bootstrap *out) ZB_MUST_USE;

/* What must be the same in all processes: "--steps", "100". */
typedef struct zb_setting {
  const char *name, *value; /* value NULL: not given */
} zb_setting;

/* What random ops draw by if nothing else is said. */
enum { ZB_RANDOM_SEED = 1 };

/* Processes compare their parameters when they have met: device, launch, save, seed, delays, random_seed,
 * no_kernels, reference, barrier, trace, explain, profile, costs, timeout_ms, clip_norm, non_finite, and what data,
 * evaluation, resume, weights and the folder of the plan lead to (not how the paths are spelled). threads may differ:
 * results do not depend on it. */
typedef struct zb_session_params {
  const char *directory; /* what zbc wrote: plan.zb, weights.safetensors, constants.safetensors */
  const char *data; /* "text:FILE", "tokens:FILE[:u16|u32]"; "npz:FILE", "npy:FILE", "safetensors:FILE": an array for
                       each input, by its name (of .npy the only one), with N rows in the place of those of a
                       micro-batch; or NULL: `input` below is asked. Rows of arrays come in their order, as many whole
                       steps as they are enough for, then again from the first one */
  /* Above 0: of data that is arrays, each such epoch has its rows in an order drawn by this number and the number of
     the epoch. Not saved in checkpoints: a run that is resumed goes on in it if it is given it again, with as many rows
     in a step. USAGE for other data. */
  int64_t shuffle;
  /* What zb_session_evaluate computes the loss of, spelled as `data`; NULL: nothing. With this or evaluation_input, and
   * neither `data` nor `input`, the session makes no steps. */
  const char *evaluation;
  const char *const *outputs; /* "NAME:FILE.npy": what an evaluation writes of the outputs that the plan keeps (zbc
                                 --keep-output), rows of all batches in their order; replaced by each evaluation as a
                                 whole. The process that has the rank which makes an output writes it. Without
                                 `evaluation` "NAME": zb_session_output gives it */
  int output_count;
  /* How many batches, from the first row on; 0: all rows, once, of which the last batch may have fewer than others
   * (zb_session_evaluate_rows). INVALID for more. */
  int64_t evaluation_batches;
  /* In place of `evaluation`, as `input` in place of `data`: the batch that zb_session_evaluate_batch is called for. */
  zb_status (*evaluation_input)(void *context, const char *name, int64_t batch, int micro_batch, void *to,
                                uint64_t bytes);
  const char *device; /* "cpu" (NULL), "sim" */
  const char
      *launch; /* how the ranks of a real device run: "threads", "mpi", "tcp"; NULL: by bootstrap, else "threads" */
  const zb_bootstrap *bootstrap; /* what zb_bootstrap_find found, or NULL: one process */
  const char *resume;            /* folder of a checkpoint, or NULL */
  /* NULL, or where parameters begin instead of the values beside the plan, with a fresh optimizer and at step 0: a
   * safetensors file, an index of several (model.safetensors.index.json), or a folder with either, such as a checkpoint
   * of Hugging Face's or one of ours. Names may differ from the model's by one prefix; f32 parameters take f32, bf16
   * and f16. What is missing is an error; what is surplus is said (`say`). USAGE together with resume. */
  const char *weights;
  /* Of a folder that each process compiled for itself: where the plans are one program with other values, all begin
   * with those of process 0, whose files replace the others' (as PyTorch's DistributedDataParallel sends the values of
   * rank 0). Without it, and for other programs, plans that differ are refused. */
  bool share_values;
  bool weights_partial; /* parameters that `weights` lacks keep the values beside the plan (PyTorch: strict=False);
                           USAGE without weights */
  /* Learning rate and weight decay of all parameters but those that have their own (by zbc --group; vectors have no
   * weight decay), as numbers; groups "GLOB:lr=1e-4,weight_decay=0", of which the last that a parameter is in counts;
   * and a schedule of zb_rate_schedule_at, "cosine:warmup=100,steps=1000", that gives the factor of all rates of a
   * step. NULL and 0: those of the run that is resumed, else those of the plan, and no schedule. A checkpoint keeps
   * them. USAGE for what cannot be read, and for a group that no trained parameter is in. Lent for the call. */
  const char *lr, *weight_decay, *lr_schedule;
  const char *const *groups;
  int group_count;
  /* Instead of the greatest norm that the plan was compiled with: a number above 0, or infinity, which clips nothing;
   * 0: that of the plan. USAGE for another number, and for a plan without clipping (zbc --clip-norm). */
  double clip_norm;
  /* "stop" (NULL): a step whose loss or gradients are not finite fails. "skip": a step whose gradients are not finite
   * changes no parameter, no optimizer state and not the optimizer's count of steps, as with PyTorch's GradScaler, and
   * the run goes on; USAGE for a plan without clipping, which knows no norm. */
  const char *non_finite;
  /* "stop" (NULL): a step whose batch is refused (a value that the model cannot take, a loss or gradients that are not
   * finite, no target that counts) fails. "skip": it changes nothing and counts as skipped, and the run goes on with
   * the next batch. Steps have a barrier then. USAGE in several processes and on other devices than cpu. */
  const char *bad_batch;
  int64_t steps; /* how many steps will be made, if that is known: what is too few for `costs` is then said at once; 0:
                    not known */
  /* What random ops (dropout) draw by, from 1 to INT64_MAX; 0: as the checkpoint that is resumed says, else
   * ZB_RANDOM_SEED. Saved in checkpoints. USAGE where the plan has no random op. */
  int64_t random_seed;
  const char *save; /* NULL, or where zb_session_save will save: all processes try it before anything is loaded */
  int threads;      /* per rank; 0: 1 */
  uint64_t seed;    /* sim: delays of messages; 0: none */
  /* sim: every job of every rank takes up to delay_spread of its time more, by this seed; 0: none */
  uint64_t delays;
  double delay_spread;
  bool barrier; /* every step ends on all ranks before the next one begins, whatever zb_session_announce says */
  /* sim: run the plan alone. Of replicas and shards one replica is run then, or with delays the clocks of all, with the
   * same times to the picosecond, unless what is set below (or seed) looks at all ranks. */
  bool no_kernels;
  bool reference;     /* cpu: reference kernels only */
  bool tf32;          /* cuda: f32 products in TF32 (10 bits of fraction); USAGE on devices that have none */
  bool trace;         /* record job times */
  bool explain;       /* keep what zb_session_explain needs: job times, and in process 0 the plan of all ranks */
  bool profile;       /* count the time of kernels by category: zb_session_profile */
  bool memory;        /* zb_session_memory will be asked */
  bool costs;         /* measure subprograms, ops and messages: zb_session_write_costs */
  int64_t timeout_ms; /* after which a wait for another rank or process fails; 0: 60,000 */
  /* Called on a thread of its own where the time-out is over within a wait that cannot be called off (MPI_Init, which
   * waits for all processes): must end the process, with status zb_status_exit(status). NULL: such a wait has no end.
   */
  void (*give_up)(zb_status status);
  /* Called for a batch when data is NULL: fill `to` (contiguous, bytes) with the input of that micro-batch. Ranks that
   * are threads call it at the same time. Never called for the input `zb.counter`, which the session fills. */
  zb_status (*input)(void *context, const char *name, int64_t step, int micro_batch, void *to, uint64_t bytes);
  void *input_context;
  /* What else must be the same in all processes, of the embedder: `setting_count` of them, lent for the call. */
  const zb_setting *settings;
  int setting_count;
  /* NULL, or: called in process 0 while the session is made, for people, who wait. opened: all is checked, nothing is
   * loaded; zb_session_describe and zb_session_arena_bytes may be asked, and nothing else. say: a line, without its
   * end, on what is found and done. */
  void (*opened)(void *context, const zb_session *session);
  void (*say)(void *context, const char *line);
  void *progress_context;
  /* NULL, or: called in every process once they have met, before anything is loaded. What it says is wrong ends all of
   * them. */
  zb_status (*check)(void *context, int process);
  void *check_context;
} zb_session_params;

typedef struct zb_step_result {
  int64_t step;               /* from 0; texts for people (messages, titles, lines of zb-run) count from 1 */
  double loss;                /* fp64 sum of micro-batch losses in order / M; of a weighted plan / that of weights */
  double seconds;             /* real, or virtual on sim */
  double idle_share;          /* mean over ranks: 1 - compute time / step time; NaN on a GPU without a trace */
  double tokens;              /* elements of the first input that data feeds, all micro-batches */
  const double *micro_losses; /* M of them, valid until the next step */
  /* Of a weighted plan (zb_compile_params.loss_mean "targets"): the micro_losses are sums over targets, and these their
   * weights: how many targets of each micro-batch count. Else NULL. */
  const double *micro_weights;
  int micro_batches;
  const double *idle_shares;    /* one a rank, of which idle_share is the mean */
  const double *waiting_shares; /* one a rank: waiting for messages, or at its end for the last rank, of the step's
                                   time; valid as above */
  int ranks;
  double lr; /* learning rate of the step, of the parameters that have none of their own; NaN: the plan does not say */
  double lr_factor;      /* of all rates, by the schedule; 1 without one */
  bool scheduled;        /* there is a schedule */
  bool has_norm;         /* the plan clips gradients: */
  double norm;           /* of all gradients, before clipping, as clip_grad_norm_ returns it */
  bool skipped;          /* the step changed nothing: zb_session_params.non_finite, bad_batch */
  const char *refused;   /* by bad_batch: why, as zb_status_text; valid until the next one. NULL: it was not */
  int64_t skipped_steps; /* so far, those before a resume included */
  bool stopping;         /* a process of the run asked to end after this step: zb_session_stop */
} zb_step_result;

/* Loads, checks, verifies; starts the ranks. On failure *out is NULL. USAGE where the processes do not agree on what
 * must be the same, naming it, both values and two processes. */
ZB_API zb_status zb_session_create(const zb_session_params *params, zb_session **out) ZB_MUST_USE;
/* For a process that fails before it can make a session: tells the other processes of the run, which else would wait
 * for it. Meets them as zb_session_create would by launch and bootstrap, over TCP within three seconds or not at all.
 * One process: nothing. */
ZB_API void zb_session_tell_failure(const zb_session_params *params, zb_status failure);
ZB_API void zb_session_destroy(zb_session *session);
/* One step. INVALID when its batch has a value that the model cannot take, RUNTIME when the loss, or the norm of the
 * gradients, is not a finite number (but see non_finite, bad_batch). In one process, on the device cpu, such a step
 * leaves the session as it was, unless it was announced or a rank has updated parameters: the next call is for the same
 * step, with another batch. After any other failure the session is over: its weights belong to no step, so another step
 * and a save are refused. */
ZB_API zb_status zb_session_step(zb_session *session, zb_step_result *out) ZB_MUST_USE;
/* Nothing is asked of the session but steps until it has made this many in all (zb_session_steps counts them), so up to
 * there no rank waits for the others to end a step: it begins the next one when what it posted
 * in its last is complete, and not more than some steps ahead of the last one that zb_session_step has given. Then a
 * step's `seconds` are from the end of the one before on all ranks to its own; a rank's shares are of the time between
 * its own ends of both. After a step that was not announced all ranks have ended. A later call can only announce more;
 * of a plan with post-validation it is heard where the steps that were announced are made.
 * No bit of a result depends on it. Where a process asks for the end (zb_session_stop), the last step that any rank has
 * begun is made on all ranks, and its result says `stopping`. A step that fails may have come after others whose
 * results were not given yet. With params.barrier, trace, explain or costs, and on devices with a
 * queue (GPUs), it has no effect. */
ZB_API void zb_session_announce(zb_session *session, int64_t steps);
/* What an evaluation found. */
typedef struct zb_evaluation_result {
  int64_t step;    /* steps that were done before it */
  double loss;     /* mean over batches of their losses, each as of a step, of a weighted plan over all targets that
                      count; not finite where a loss is not, or no target counts */
  bool has_loss;   /* else the plan is for inference, and loss NaN */
  double seconds;  /* real, or virtual on sim */
  int64_t batches; /* how many were evaluated: all, unless the run is to stop */
  double tokens;   /* elements of the first input, in all batches */
  bool stopping; /* a process of the run asked to end: zb_session_stop. The loss is then that of some batches, or NaN */
  double loss_sum, loss_weight; /* loss is their quotient: losses of batches and their number, of a weighted plan sums
                                   over targets and the number of these */
} zb_evaluation_result;

/* Computes the loss of params.evaluation with the weights as they are, by forward jobs alone: always of the same rows,
 * in batches of M micro-batches, as in training but for what acts in training alone. It changes nothing: a run with
 * evaluations between its steps has the bits of one without. Called by all processes in the same order, as steps are.
 * USAGE where params.evaluation is NULL. After a failure the session is as behind that of a step. */
ZB_API zb_status zb_session_evaluate(zb_session *session, zb_evaluation_result *out) ZB_MUST_USE;
/* One batch of the embedder's, whose inputs params.evaluation_input gives by its number, out->batches: adds it to *out,
 * which the caller has cleared ({0}) before the first of an evaluation. All else as with zb_session_evaluate. USAGE
 * where params.evaluation_input is NULL. */
ZB_API zb_status zb_session_evaluate_batch(zb_session *session, zb_evaluation_result *out) ZB_MUST_USE;
/* The same for a batch of fewer rows than M micro-batches have, in the first dimension of all inputs: micro-batches get
 * their rows as zb_batch_share_of says, and the losses count by rows, so that the mean is that over all rows. It is
 * exact where a loss is the mean over its rows, each by itself; not of a loss that compares rows of a batch with each
 * other. What zb_session_output has then are its rows alone, one behind the other. */
ZB_API zb_status zb_session_evaluate_rows(zb_session *session, int64_t rows, zb_evaluation_result *out) ZB_MUST_USE;
/* An output of params.outputs in the batch that zb_session_evaluate_batch evaluated last: *out_data has those of its M
 * micro-batches, of the shape *out_shape each, one behind the other; lent until the next batch. NULL in a process that
 * has not the rank which makes it, and before the first batch. USAGE for a name that params.outputs has not. */
ZB_API zb_status zb_session_output(const zb_session *session, const char *name, zb_shape *out_shape,
                                   const void **out_data) ZB_MUST_USE;
/* How many whole steps the rows of params.data are enough for: an epoch. 0: nobody knows, as a function gives them. */
ZB_API int64_t zb_session_epoch_steps(const zb_session *session);
/* Steps done so far, those before a resume included. */
ZB_API int64_t zb_session_steps(const zb_session *session);
/* From here on a function that takes a session which is not const is called by all processes of the run, in the same
 * order.
 *
 * Saves weights, optimizer state, step and data position: FOLDER/weights.safetensors, FOLDER/optimizer.safetensors; of
 * several processes one file each, weights-00001-of-00004.safetensors ..., with model.safetensors.index.json, as
 * Hugging Face's loaders read them. The folder is replaced as a whole. Any number of processes and any plan of the same
 * model can resume from it. */
ZB_API zb_status zb_session_save(zb_session *session, const char *folder) ZB_MUST_USE;
/* The parameters and buffers of all ranks as they are, whole, each once, in the order of their names: `place` is told
 * of each and says where its zb_shape_bytes go; NULL: nowhere. In process 0, which gets those of all; elsewhere `place`
 * is not called. */
ZB_API zb_status zb_session_values(zb_session *session,
                                   void *(*place)(void *context, const char *name, const zb_shape *shape),
                                   void *context) ZB_MUST_USE;
/* Whether a save to this folder could work, to be asked before hours of training: USAGE for a folder that holds other
 * files (a save replaces the folder as a whole), IO if it cannot be written. Makes missing parents. For one process;
 * zb_session_params.save asks all of them. */
ZB_API zb_status zb_session_save_check(const char *folder) ZB_MUST_USE;
/* L2 norm of the gradient of each trained parameter of the last step (fp64, after division by M). Calls visit by name
 * in order; with several processes in process 0 only. */
ZB_API zb_status zb_session_gradient_norms(zb_session *session,
                                           void (*visit)(void *context, const char *name, double norm),
                                           void *context) ZB_MUST_USE;
/* Timeline of the last step as SVG / Chrome trace, when params.trace was set. */
ZB_API zb_status zb_session_timeline(zb_session *session, const char *path_svg) ZB_MUST_USE;
ZB_API zb_status zb_session_trace(zb_session *session, const char *path_json) ZB_MUST_USE;
/* Why ranks idled in the last step, when params.explain was set (zb/explain.h): *measured is split by simulating the
 * plan with what its jobs and messages took in that step, *simulated is the step by the costs of the plan. On a virtual
 * clock without a seed both are the same. In process 0; elsewhere both are empty. USAGE without explain, or before a
 * step. Release with zb_explanation_deinit; on failure both are empty. */
ZB_API zb_status zb_session_explain(zb_session *session, zb_explanation *measured,
                                    zb_explanation *simulated) ZB_MUST_USE;
/* Bytes of arena of a rank; 0 for a rank that there is not. */
ZB_API uint64_t zb_session_arena_bytes(const zb_session *session, int rank);

/* Memory of a rank, from what the instructions and messages of its jobs really touch (O(jobs)). */
typedef struct zb_session_memory_use {
  uint64_t arena_bytes;      /* what the plan asked for and the device gave */
  uint64_t high_water_bytes; /* of it: fixed regions, slots up to the highest byte that any job touches or keeps,
                                largest workspace */
  uint64_t
      most_live_bytes; /* fixed regions, live slots and workspace of the running job at the fullest moment of a step */
} zb_session_memory_use;
/* With several processes: called by all of them, for the same rank. With no_kernels: USAGE without params.memory where
 * only one replica is run. */
ZB_API zb_status zb_session_memory(zb_session *session, int rank, zb_session_memory_use *out) ZB_MUST_USE;

/* What is being run; texts live as long as the session. */
typedef struct zb_session_info {
  const char *model, *schedule, *optimizer, *device;
  const char *precision;       /* "f32", or the low type of mixed precision: "bf16" */
  const char *instruction_set; /* "avx512", "cuda", "cuda with TF32": within one, results are bitwise the same; machines
                                  of two differ in the last bits */
  const char
      *rates; /* "lr 3e-4, schedule cosine:...": what was said, here or when the resumed run began; "": nothing */
  int ranks, stages, micro_batches, threads; /* ranks and micro-batches of all replicas */
  int replicas;                              /* of a pipeline: rank r is of replica r / shards mod replicas */
  const char *sharding;   /* what of their training replicas have a part of each: a name of zb/shardings.def */
  uint64_t state_bytes;   /* optimizer state of the first rank of this process */
  int shards;             /* of a rank of a pipeline: rank r is shard r mod shards */
  int process, processes; /* this one, of how many; ranks are laid over them in contiguous blocks */
  const char *launch;     /* "threads", "mpi", "tcp" */
  const char *warning;    /* what a user should know, or NULL: processes with different instruction sets */
  int64_t random_seed;    /* of the random ops of the plan; 0: it has none */
} zb_session_info;
ZB_API zb_session_info zb_session_describe(const zb_session *session);
/* Which ranks a process of the session has: "rank 3", "ranks 4 to 7"; of a mesh with their coordinates on
 * pipeline, replicas and shards, "rank 3 (pp1-dp1)". process: 0 to processes - 1. Returns text. Thread-safe. */
enum { ZB_SESSION_RANKS_TEXT = 144 };
ZB_API const char *zb_session_ranks_text(const zb_session_info *info, int process, char text[ZB_SESSION_RANKS_TEXT]);

/* One row of the time profile, summed over ranks and over the steps of this session. The shares of all rows add up to
 * at most 1: what is left is the interpreter and the copying of messages. */
typedef struct zb_profile_row {
  const char *category, *help; /* "products", "attention", "other kernels", "optimizer", "waiting" */
  double seconds, share;       /* of ranks x step time */
  uint64_t calls;
  double flops;
} zb_profile_row;
/* Calls visit for each category. USAGE unless params.profile was set. Times are real on every device; waiting is of the
 * device's clock. */
ZB_API zb_status zb_session_profile(zb_session *session, void (*visit)(void *context, const zb_profile_row *row),
                                    void *context) ZB_MUST_USE;

/* Writes what the steps of this session cost, as a file that zbc and zb-sched take (include/zb/costs.h). USAGE unless
 * params.costs was set, and before there are enough steps (three, or one on a virtual clock). What is trained does not
 * depend on measuring. */
ZB_API zb_status zb_session_write_costs(const zb_session *session, const char *path) ZB_MUST_USE;

/* Measures the machine alone, without a plan, in about a second: products by size, memory, messages between threads,
 * with all cores busy as far as an even number of 2 to 8 ranks allows. Writes a file of costs that has no program
 * (include/zb/costs.h): zbc estimates ops by it that no profile knows. threads: per rank; 0: 1. */
ZB_API zb_status zb_calibrate(const char *path, int threads) ZB_MUST_USE;

/* The schedules of the learning rate, for --help: name, an example of a line, and one line of help; false past the end.
 */
ZB_API bool zb_rate_schedule_at(int index, const char **name, const char **example, const char **help);

/* The devices and ways to launch ranks, for --help: name and one line; false past the end. */
ZB_API bool zb_runtime_device_at(int index, const char **name, const char **summary);
ZB_API bool zb_runtime_launch_at(int index, const char **name, const char **summary);

/* A device or a way to launch ranks, as this machine has it. */
typedef struct zb_runtime_part {
  const char *kind; /* "device", "launch" */
  const char *name, *summary;
  const char *path;           /* the module that it is in; NULL: built in */
  const char *found;          /* what of the machine it would use ("Open MPI 4.1.4"); "": nothing to say */
  const char *missing, *hint; /* why it cannot be used here, and what to do; NULL if it can */
} zb_runtime_part;
/* Opens every module that there is and calls visit for each device, then for each way to launch ranks. What a part
 * points to is lent for the call. */
ZB_API void zb_runtime_parts(void (*visit)(void *context, const zb_runtime_part *part), void *context);

/* Asks for the end of the run after the step that is running, from a signal handler or another thread; all processes
 * then hear of it in the result of the same step. */
ZB_API void zb_session_stop(zb_session *session);
/* This process gives up for a reason of its own: the others get it as PEER. The session can then only be destroyed. One
 * process: nothing. */
ZB_API void zb_session_abort(zb_session *session, const char *reason);
/* One line a rank of this process: its job, and the message, peer and micro-batch that it waits for. Async-signal-safe;
 * not NUL-terminated. Returns how many bytes of text are used. */
ZB_API size_t zb_session_positions(const zb_session *session, char *text, size_t size);
/* Asks a running step to end (from a signal handler or another thread): the step returns INTERRUPTED. */
ZB_API void zb_session_interrupt(zb_session *session);
/* A whole batch of an embedder's in memory: of each input all M micro-batches, one behind the other. */
typedef struct zb_batch {
  int64_t number;          /* of the step, or of the batch of an evaluation; -1: none */
  const void *const *data; /* [zb_batches.count] */
  int64_t rows;            /* of an evaluation: how many there are, fewer than M micro-batches have; 0: all */
} zb_batch;
/* What a micro-batch gets of a batch that has `rows` rows, fewer than those of M micro-batches with `each` of them: its
 * `rows` rows from `first` on, again and again until it is full, which they divide. Where the M do not suffice, numbers
 * go on behind them. rows 0: nothing is left for it, so it gets what the first one gets, and does not count. */
typedef struct zb_batch_share {
  int64_t first, rows;
} zb_batch_share;
ZB_API zb_batch_share zb_batch_share_of(int64_t rows, int64_t each, int64_t index);
enum { ZB_BATCHES = 4 };
/* Those that a session may ask for: a step's in slot number % ZB_BATCHES, to be filled before the step is announced or
 * made, and to be kept until it is done. */
typedef struct zb_batches {
  const char *const *names; /* of inputs */
  int count;
  int64_t rows; /* of a micro-batch, the first dimension of all inputs; 1 where they have none in common */
  zb_batch steps[ZB_BATCHES], evaluation;
} zb_batches;
/* As zb_session_params.input and evaluation_input, with a zb_batches as input_context: copies the micro-batch. USAGE
 * for a batch or an input that is not there. Thread-safe. */
ZB_API zb_status zb_batches_input(void *batches, const char *name, int64_t step, int micro_batch, void *to,
                                  uint64_t bytes) ZB_MUST_USE;
ZB_API zb_status zb_batches_evaluation(void *batches, const char *name, int64_t batch, int micro_batch, void *to,
                                       uint64_t bytes) ZB_MUST_USE;

/* An input or an output of a plan; the shape is that of one micro-batch. */
typedef struct zb_plan_value {
  const char *name;
  zb_shape shape;
} zb_plan_value;

/* What a plan is made for, before a session is made of it; owned by the caller, zb_plan_about_destroy. */
typedef struct zb_plan_about {
  const char *model, *schedule, *placement, *optimizer, *precision;
  int ranks, stages, micro_batches; /* ranks and micro-batches of all replicas, ranks of all shards */
  int replicas, shards;
  const zb_plan_value *inputs; /* those that data gives: not the counter of random numbers, which a session fills */
  int input_count;
  const char *const *arguments; /* names of what the model takes, in its order, whether a step reads it or not: the
                                   order of inputs, and of a batch that says no names */
  int argument_count;
  const zb_plan_value *outputs; /* that an evaluation can hand out */
  int output_count;
  bool evaluates; /* it has an evaluation */
  bool inference; /* and nothing else */
  bool random;    /* its steps draw random numbers (dropout) */
} zb_plan_about;
/* Reads DIR/plan.zb as far as it says this. */
ZB_API zb_status zb_plan_about_read(const char *directory, zb_plan_about **out) ZB_MUST_USE;
ZB_API void zb_plan_about_destroy(zb_plan_about *about);

/* Reads DIR/plan.zb, checks it and prints it as text. */
ZB_API zb_status zb_plan_print_file(const char *directory, void (*write)(void *context, const char *text, size_t bytes),
                                    void *context) ZB_MUST_USE;
/* The same as one JSON object with the jobs of every rank and what they take by the plan's costs; its keys are in
 * runtime/plan/clock/README.md. */
ZB_API zb_status zb_plan_print_jobs_file(const char *directory,
                                         void (*write)(void *context, const char *text, size_t bytes),
                                         void *context) ZB_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
