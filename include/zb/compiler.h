/* The compiler: a serialized training graph in, a plan out. No MLIR types. */
#ifndef ZB_COMPILER_H
#define ZB_COMPILER_H

#include "zb/schedule.h"
#include "zb/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Options are fields of the same names and kinds as the rows of zb/compile_options.def, which say what each of them is:
 * `const char *schedule`, `int ranks`, `bool inference`, `uint64_t memory_limit`, `const char *const *groups` with
 * `int group_count`. NULL, 0 and false leave an option to zb_compile, as zbc does without it. */
#define ZB_FIELD_TEXT(field) const char *field;
#define ZB_FIELD_IN(field) const char *field;
#define ZB_FIELD_OUT(field, endings) const char *field;
#define ZB_FIELD_FLAG(field) bool field;
#define ZB_FIELD_COUNT(field, most, hint) int field;
#define ZB_FIELD_BYTES(field) uint64_t field;
#define ZB_FIELD_LIST(field, count)                                                                                    \
  const char *const *field;                                                                                            \
  int count;
#define ZB_FIELD_GROUPS(field, most, hint, flag)                                                                       \
  int field;                                                                                                           \
  bool flag;

/* How far the search for what is left open of a compile is. */
typedef struct zb_search_state {
  int plans;            /* that were made and compared */
  double best_seconds;  /* the step of the best of them within the memory limit, by the metric; 0: there is none yet */
  uint64_t best_bytes;  /* of its fullest rank */
  double bound_seconds; /* no order of its stages is shorter */
} zb_search_state;

/* GO_ON; TAKE_BEST: the search ends, and the best plan so far is compiled; GIVE_UP: the compile ends with INTERRUPTED,
 * as it does with TAKE_BEST where there is no plan yet. Nothing is written then. */
typedef enum zb_search_answer { ZB_SEARCH_GO_ON, ZB_SEARCH_TAKE_BEST, ZB_SEARCH_GIVE_UP } zb_search_answer;

typedef struct zb_compile_params {
  const char *model; /* .onnx, .mlir, .pdmodel, ... (docs/formats.md) */
#define ZB_COMPILE_OPTION(option, kind, ...) ZB_FIELD_##kind
#include "zb/compile_options.def"
  /* Diagnostics as text, one call each; NULL: standard error. */
  void (*diagnostic)(void *context, const char *text);
  void *diagnostic_context;
  /* What begins now, for people who wait: "importing the model". From the thread of the call; NULL: nobody is told. */
  void (*progress)(void *context, const char *part);
  /* While a search goes on, some hundred times a second, from the thread of the call: what it answers is all that time
   * can change. NULL: the search ends by itself. */
  zb_search_answer (*searching)(void *context, const zb_search_state *state);
  void *progress_context; /* of both */
} zb_compile_params;
#define ZB_COMPILE_PARAMS_INIT {.ranks = 0}

typedef struct zb_stage_summary {
  int rank, chunk, ops;
  uint64_t parameter_bytes, parameters;
  double f_seconds, b_seconds, w_seconds;
  double f_product_flops, b_product_flops, w_product_flops;
  uint64_t fb_bytes, fw_bytes, bw_bytes;
  uint64_t received_bytes;       /* of activations that other stages made, a micro-batch */
  int recomputed;                /* ops of the forward pass that B and W run again */
  int gradients, gradients_in_b; /* of parameters: all, and those that B computes although they could wait in W */
  const char *first, *last;      /* module paths or node names of its first and last op */
} zb_stage_summary;

/* A layer: a module of the list that most ops are in. */
typedef struct zb_layer_summary {
  const char *path;            /* "transformer.h.0" */
  int first_stage, last_stage; /* of its ops; one stage unless a cut goes through it */
} zb_layer_summary;

typedef struct zb_rank_summary {
  uint64_t peak_bytes;        /* of the arena */
  uint64_t evaluation_bytes;  /* of them, what an evaluation takes beyond a step; mostly 0 */
  uint64_t state_bytes;       /* of them, optimizer state */
  uint64_t whole_state_bytes; /* what replicas that share it have together, without padding; 0: none share */
  /* Where replicas have parts of gradients; else all 0 but the first. sum_bytes: gradients as B and W add them up, or
   * with gradients:micro-batch the most that a job makes of one micro-batch; kept_sum_bytes: what a replica has behind
   * its sums over replicas, its part with padding. landing_bytes: the most room in which others' parts of sums land;
   * all_landing_bytes: what it would be if all sums of a step were added up at its end. */
  uint64_t sum_bytes, kept_sum_bytes, landing_bytes, all_landing_bytes;
  /* Where each replica has a part of every parameter: those parts with padding, the parameters that they are of, and
   * the most room for whole ones that are gathered at once; else 0. */
  uint64_t part_bytes, whole_part_bytes, gathered_bytes;
  uint64_t snapshot_bytes; /* of them, what post-validation keeps to take a step back; 0 without it */
  double idle_share;
  double seconds; /* F, B and W of its stages, of one micro-batch */
} zb_rank_summary;

/* A parameter of which every shard has all, although an op would have computed a part: "4 shards do not divide ...". */
typedef struct zb_whole_summary {
  const char *name, *why;
} zb_whole_summary;

/* What a compile found out; owned by the caller, zb_compile_summary_destroy. */
typedef struct zb_compile_summary {
  int ranks, stages;
  zb_stage_summary *stage;
  zb_rank_summary *rank;
  zb_layer_summary *layer; /* [layers], by number; none where the model names no modules */
  int layers;
  double step_seconds, bubble_barrier, bubble_stage, lower_bound_seconds;
  double stage_seconds; /* from the first job of a rank to its end, the longest of all: what --metric stage counts */
  /* Of replicas: how long their sums keep a rank waiting behind its last job, the longest of all ranks: in the step, by
   * the schedule alone, and if each rank summed all it has behind its last job. */
  double exposed_seconds, exposed_by_schedule, exposed_at_end;
  /* What sums over shards take of a step, the mean of all ranks, and for how long of that W runs meanwhile. */
  double shard_sums_seconds, shard_sums_hidden_seconds;
  double rank_bound_seconds; /* no cuts that give all stages work make the longest rank shorter, by the costs of ops
                                that cuts are chosen by; 0: not known (one stage a rank, or --cuts) */
  /* Where steps follow each other without a barrier, in the long run: a step takes period_seconds, exactly
   * period_cycle_ps / period_steps; period_exact false: an average of many steps that did not repeat. */
  double period_seconds, bubble_period;
  int64_t period_cycle_ps;
  int period_steps;
  bool period_exact;
  bool inference;                      /* it has an evaluation alone: F is that, step_seconds a batch of it */
  char **trained, **frozen, **buffers; /* names of parameters, and of what the forward pass updates */
  int trained_count, frozen_count, buffer_count;
  zb_whole_summary *whole; /* of shards; none otherwise */
  int whole_count;
  char *loss_mean;  /* "the mean over targets that are not ignored (-100, by 'labels') of each micro-batch, ..."; NULL:
                       micro-batches have as many targets each, or the loss is made otherwise */
  char **untrained; /* constants that a gradient reaches: parameters, if the exporter lost their names */
  int untrained_count;
  char **unreached; /* parameters that the model says are trained, and that no gradient of the loss reaches */
  int unreached_count;
  bool uncompared; /* the model comes from tools/export_onnx.py --no-compare, or is a loss of JAX, or a step that is
                      too large to compare its gradients: nobody knows whether it is what it was exported from */
  int later;       /* parameters and buffers without a value, as the model has none: a run must be given them
                      (zb_session_params.weights) */
  int drawn;       /* parameters whose initial values were drawn at random, because none came with the model */
  /* Of --split auto, else 0. split_seconds, split_bytes: the step and the fullest rank with all gradients in W.
   * split_bound_seconds: with no choice of gradients within the memory is a step in this order of jobs shorter; 0: no
   * such bound is known. split_proven: it is that of this plan. */
  double split_seconds, split_bound_seconds;
  bool split_proven;
  uint64_t split_bytes;
  /* Where cuts, placement, order, split and recompute were searched together: cuts that were tried, and the step with
   * those by cost. 0: they were not. */
  int cuts_tried;
  double first_cuts_seconds; /* infinite: with those no plan keeps the limit */
  bool stopped;    /* the search, by TAKE_BEST: what is told beside the plan of --split and --recompute is 0 */
  char *placement; /* that was found; NULL: nothing was searched */
  /* Of --recompute auto, else 0: the step and the fullest rank with nothing computed again, which may be above the
   * memory limit. */
  double recompute_seconds;
  uint64_t recompute_bytes;
  char *choice;        /* what was chosen, as zb_compile_params.choice takes it; NULL: by a pipeline of the caller's */
  char *order;         /* jobs in their order, as PyTorch's pipelining reads them; NULL: of inference, or */
  char *order_refused; /* why its runtime, whose stages are one chain, cannot run this order */
  double compile_seconds;
  int ops; /* after the split */
} zb_compile_summary;

/* Whether zb_compile would take these, as far as that can be known without the model, which may be NULL: for those who
 * have to make the model's file first. USAGE, INVALID, IO, named as the options of zbc, with a hint. */
ZB_API zb_status zb_compile_check(const zb_compile_params *params) ZB_MUST_USE;
/* Compiles. Several threads may do so at once: each call has an MLIR context of its own. INVALID, marked as told
 * (zb_status_told), after diagnostics; INFEASIBLE for a limit that cannot be met, saying how much is needed and where;
 * INTERRUPTED as params->searching answers. */
ZB_API zb_status zb_compile(const zb_compile_params *params, zb_compile_summary **out) ZB_MUST_USE;
ZB_API void zb_compile_summary_destroy(zb_compile_summary *summary);

/* Timeline of the simulated step of a written plan, as SVG or Chrome trace (by the ending .svg or .json). */
ZB_API zb_status zb_plan_timeline_file(const char *directory, const char *path) ZB_MUST_USE;

/* An optimizer line with everything that it leaves to the defaults: "adamw:lr=3e-4" gives
 * "adamw:lr=3e-4,beta1=0.9,beta2=0.95,eps=1e-8,weight_decay=0.1". NULL: the optimizer that trains when none is named.
 * *out is the caller's (zb_free). USAGE with a hint for a wrong line. */
ZB_API zb_status zb_optimizer_complete(const char *line, char **out) ZB_MUST_USE;
/* Whether zb_compile would take these two. USAGE, named as the options of zbc, with a hint. */
ZB_API zb_status zb_clip_norm_check(const char *clip_norm, const char *clip_norm_type) ZB_MUST_USE;
/* Whether it is a choice of `precision`, or NULL; as zb_clip_norm_check. */
ZB_API zb_status zb_precision_check(const char *precision) ZB_MUST_USE;
/* The choices of `precision`, for --help; NULL past the end. */
ZB_API const char *zb_precision_name(int index);
ZB_API const char *zb_precision_help(int index);
/* The names of the optimizers, for --help; NULL past the end. */
ZB_API const char *zb_optimizer_name(int index);

/* zb-opt: reads MLIR text, runs passes, prints. */
typedef struct zb_opt_params {
  const char *input;    /* path, or "-" */
  const char *pipeline; /* "builtin.module(zb-dce,zb-partition{ranks=4})"; NULL: parse and print only */
  bool split_input_file, verify_diagnostics, emit_bytecode, allow_unregistered_dialect, timing, print_after_all,
      no_verify;
  void (*write)(void *context, const char *text, size_t bytes);
  void *context;
} zb_opt_params;
ZB_API zb_status zb_opt(const zb_opt_params *params) ZB_MUST_USE;

/* The passes, for --help and for embedders. */
typedef struct zb_pass_info {
  const char *name, *summary, *options, *requires_level, *ensures_level;
} zb_pass_info;
ZB_API int zb_pass_count(void);
ZB_API zb_pass_info zb_pass_info_at(int index);
/* The IRDL text of the dialect; static. */
ZB_API const char *zb_irdl_text(void);
/* What an ONNX file may hold, as Markdown: the operators that can be imported, or those that cannot, with ways round.
 * From the tables that the importer goes by. The caller's (zb_free); NULL when out of memory. */
ZB_API char *zb_operators_page(bool supported) ZB_MUST_USE;
/* Text of the default pipeline. */
ZB_API const char *zb_default_pipeline(void);

#ifdef __cplusplus
}
#endif
#endif
