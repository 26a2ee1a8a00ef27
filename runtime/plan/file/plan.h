/* The plan in memory: the waist between compiler and runtime. No MLIR, no CUDA.
 *
 * A plan is P rank programs and one list of messages. A rank has ONE arena; everything lies in it, in these regions, in
 * this order, each 64-byte aligned:
 *
 *   parameters | buffers | state | gradients | constants | step | snapshot | slots | workspace
 *
 * A subprogram is a list of instructions, compiled once. Its operands are (base, offset): base 0 is the arena itself
 * (parameters, state, gradients, constants, step counter, workspace have fixed places); base k >= 1 is an address that
 * each job brings along (zb_plan_job.bases[k-1], bytes from the start of the arena): frames fb, fw, bw and homes of
 * values that came or go as messages.
 *
 * Jobs of a rank run in list order. SEND, RECV only post; completion is asked for by `waits` of later jobs: a job
 * starts when all communication jobs in its waits are complete (a RECV: the data has landed; a SEND: its memory may be
 * overwritten).
 *
 * A plan may have a second list for each rank: that of an evaluation, which computes forward alone (jobs E). Between
 * steps and evaluations slots and workspace hold nothing, so those of an evaluation lie over those of a step, and an
 * evaluation writes nothing else. Each list has its own messages. zb_plan_view makes a plan of one list alone.
 *
 * A plan that clips gradients has a CLIP on each rank that updates, and a REPORT of no micro-batch, of the norm. With
 * post-validation the next step may begin before that norm is known: a rank then keeps in `snapshot` what UPDATE
 * overwrites (SNAPSHOT), updates as if nothing were clipped, and runs the jobs of the next step that stand before its
 * VERDICT. There it waits for the numbers of the norm. If the step was clipped it takes what was sent to it before the
 * verdict of the sender (messages that cross), restores the snapshot, updates with the factor, and runs those jobs
 * again. Where nothing follows at once VERDICT and SNAPSHOT do nothing.
 *
 * At the start of a step the runtime zeroes the region `gradients` and writes the step number (from 1, i64) to `step`,
 * and behind it the settings of the rank.
 * The loss of a step is the fp64 sum of the reported micro-batch losses in micro-batch order, divided by micro_batches.
 * Of a weighted plan a micro-batch reports a pair, a sum of losses and the weight of its targets, and the sum of losses
 * is divided by that of weights. B or W adds the same pair to a sum of its own among the gradients, which every CLIP
 * reads with the numbers of the norm: so gradients, which are those of sums, are divided by the same weight.
 *
 * All arrays belong to the plan (one zb_plan_arena), freed by zb_plan_destroy. Pool slices are (begin, count).
 */
#pragma once

#include "runtime/plan/file/derived.h"
#include "zb/kernel.h"
#include "zb/status.h"

typedef struct zb_plan_slice {
  uint32_t begin, count;
} zb_plan_slice;

/* An operand of an instruction. rank == -1: an absent optional operand. */
typedef struct zb_plan_operand {
  uint32_t base;   /* 0: the arena; k: job.bases[k-1] */
  uint64_t offset; /* bytes from the base to element 0 */
  zb_dtype dtype;
  int rank;
  int64_t shape[ZB_DIMS_MAX];
  int64_t strides[ZB_DIMS_MAX]; /* elements */
} zb_plan_operand;

typedef struct zb_plan_instruction {
  const char *op;       /* name in zb/ops.def, class KERNEL */
  const char *location; /* "lm.transformer.h.0.mlp (node_gemm_3)", for errors; may be "" */
  zb_plan_operand *inputs;
  int input_count;
  zb_plan_operand *outputs; /* contiguous */
  int output_count;
  zb_attr *attrs;
  int attr_count;
  bool accumulate;         /* outputs[0] += */
  uint64_t scratch_offset; /* arena offset of its workspace (base 0) */
  uint64_t scratch_bytes;
  int64_t time_ps; /* what of the time of its subprogram it takes beside others of it; 0, all of them: not known */
  double flops;
  double product_flops;
  const char *cost_op; /* what it is in a file of costs (include/zb/costs.h); "": nothing */
} zb_plan_instruction;

/* Where a subprogram leaves an output: contiguous, at an offset of a base. */
typedef struct zb_plan_output_home {
  int32_t output; /* of plan.outputs */
  uint32_t base;  /* from 1 */
  uint64_t offset;
} zb_plan_output_home;

typedef struct zb_plan_subprogram {
  const char *name;   /* "s1_B", "LOAD", "s0_UPDATE", "tied0_UPDATE" */
  int stage;          /* virtual stage; -1 for LOAD and UPDATE of tied parameters */
  zb_job_kind kind;   /* a compute kind */
  const char **bases; /* names of bases 1.., for people: "fb", "fw", "bw", "value 17" */
  int base_count;
  uint64_t *base_bytes; /* bytes that each base spans (rounded) */
  zb_plan_instruction *instructions;
  int instruction_count;
  uint64_t workspace_bytes; /* of this subprogram; the region holds the largest */
  int64_t time_ps;          /* expected, from the cost model or a profile */
  int64_t first_ps;         /* of its first run in a step, when caches are cold; 0: time_ps */
  double flops, product_flops;
  uint64_t key;       /* of its ops: what it is in a file of costs */
  uint32_t loss_base; /* an F or E that leaves the loss of its micro-batch, zb_plan_loss_bytes, at loss_offset of this
                         base, or a CLIP that leaves the norm there, an f32; 0: gives neither */
  uint64_t loss_offset;
  zb_plan_output_home *outputs; /* of an E: outputs of its micro-batch */
  int output_count;
  zb_derived_subprogram derived;
} zb_plan_subprogram;

/* A range of the arena. */
typedef struct zb_plan_range {
  uint64_t offset, bytes;
} zb_plan_range;

/* A part of a subprogram, instructions begin to end, that a job runs ahead of its place in the list: while sum number
 * `sum` over shards travels of the job that computes and stands `host` such jobs before it. What no segment of the job
 * has, it runs at its place. */
enum { ZB_HOSTS_MAX = 64 };
typedef struct zb_plan_segment {
#define ZB_SEGMENT_COLUMN(type, name, low, high, fault) type name;
#include "runtime/plan/file/plan_columns.def"
} zb_plan_segment;

/* The fields are listed in plan_columns.def. subprogram: of compute jobs; stage: virtual stage; micro_batch: of F, B, W
 * and what moves their values; message: of SEND and RECV; input: of READ, index of plan.inputs; each -1 where there is
 * none. collective: 1 + its index in plan.collectives; 0: none. output: of REPORT, 1 + its index in plan.outputs; 0:
 * the loss, or the norm. bases: of compute jobs, in pool_u64, arena offsets of bases 1..; parts: in pool_ranges, homes
 * of what is read or filled; waits: in pool_u32, earlier transfers of this rank that must be complete before the job
 * starts; segments: of a W, what of it runs ahead, one behind the other, from its first instruction on. */
typedef struct zb_plan_job {
#define ZB_JOB_COLUMN(type, name, low, high, fault) type name;
#define ZB_JOB_SLICE(name, pool, fault) zb_plan_slice name;
#include "runtime/plan/file/plan_columns.def"
  zb_derived_job derived;
} zb_plan_job;

/* A tensor that lives in the arena for the whole run. In a plan of shards it may be cut: a shard then has a part of
 * each of `runs`, one behind the other, of which the dimension cut - 1 of the whole tensor consists. One run alone may
 * be padded: what the last shards have behind its end means nothing. Where replicas have parts of it (flat), its
 * elements are those of one replica in the order of memory, and `dims` are the dimensions of what all replicas have
 * together: the tensor, or, cut, what a shard has of it. */
enum { ZB_PLAN_RUNS_MAX = 8, ZB_PLAN_VALUE_LATER = 1 };
typedef struct zb_plan_tensor {
  const char *name; /* parameter "h.0.w", buffer "n.running_mean"; state "h.0.w.exp_avg"; constant "c12" */
  zb_shape shape;
  uint64_t offset; /* in the arena */
  uint64_t digest; /* zb_digest_of of its value in the files beside the plan, where plan.value_digests; else 0.
                      ZB_PLAN_VALUE_LATER: of a parameter that has none there, so that a run must be given it */
  int cut;         /* 0: every shard that holds it has all of it */
  int64_t *runs;
  int run_count;
  bool flat; /* each replica has a part of what its shard has */
  int64_t *dims;
  int dim_count; /* 0: not flat, or a scalar */
} zb_plan_tensor;

typedef struct zb_plan_parameter {
  zb_plan_tensor tensor;
  bool trained; /* false: frozen, never updated, or a buffer */
  bool buffer;  /* the F of its stage reads it and writes it, micro-batch after micro-batch; on one rank */
  bool owner;   /* this rank writes it to checkpoints (the lowest rank that holds it) */
  zb_derived_parameter derived;
  int state_begin, state_count; /* its optimizer state in rank.states */
  int64_t gradient_offset; /* arena offset of the final sum over uses and micro-batches after UPDATE (not divided by M);
                              -1 if none */
} zb_plan_parameter;

/* Numbers that the session writes before each step, f64 after f64. */
typedef struct zb_plan_setting {
  zb_setting_kind kind;
  const char *name; /* of the parameter; "": of the run */
  uint64_t offset;  /* in the arena, in the region step */
  uint32_t own;     /* bits: which of the numbers what a run says of all parameters leaves as they are */
  double *defaults; /* what they are where a run says nothing else; as many as the row says */
  int default_count;
} zb_plan_setting;

/* A constant of the arena: from constants.safetensors by name (bytes == NULL), or inline, or computed by LOAD
 * (computed). */
typedef struct zb_plan_constant {
  zb_plan_tensor tensor;
  const uint8_t *bytes;
  uint64_t byte_count;
  bool computed;
} zb_plan_constant;

typedef struct zb_plan_rank {
  int rank;
  uint64_t arena_bytes;
  zb_plan_range regions[ZB_REGION_COUNT];
  zb_plan_parameter *parameters;
  int parameter_count;
  zb_plan_tensor *states;
  int state_count;
  zb_plan_constant *constants;
  int constant_count;
  zb_plan_setting *settings;
  int setting_count;
  zb_plan_subprogram *subprograms;
  int subprogram_count;
  zb_plan_segment *segments;
  int segment_count; /* 0 where nothing runs beside sums over shards */
  zb_plan_job *jobs; /* LOAD jobs, which run once, before the first step; those of a step; those of an evaluation */
  int job_count;
  int load_count;                                       /* how many of them are LOAD */
  int evaluation_count;                                 /* how many of them, at the end, are of an evaluation */
  zb_plan_range evaluation_slots, evaluation_workspace; /* where these regions lie in an evaluation */
  uint64_t *pool_u64;
  uint32_t pool_u64_count;
  zb_plan_range *pool_ranges;
  uint32_t pool_range_count;
  uint32_t *pool_u32;
  uint32_t pool_u32_count;
} zb_plan_rank;

/* The first job of that kind in the list of a step; -1: there is none. */
int zb_plan_find_job(const zb_plan_rank *rank, zb_job_kind kind);
/* Where the number-th part of a SNAPSHOT is kept: one behind the other, each aligned. number == parts.count: the end.
 */
uint64_t zb_plan_snapshot_place(const zb_plan_rank *rank, const zb_plan_job *snapshot, uint32_t number);

/* The job that computes and stands `count` such jobs before a job of a step; -1: there is none. O(what lies between).
 */
int zb_plan_job_before(const zb_plan_rank *rank, int job, int count);

/* Where the jobs of a step end and those of an evaluation begin. */
static inline int zb_plan_step_end(const zb_plan_rank *rank) { return rank->job_count - rank->evaluation_count; }
static inline int zb_plan_list_begin(const zb_plan_rank *rank, zb_plan_list list) {
  return list == ZB_LIST_STEP ? rank->load_count : zb_plan_step_end(rank);
}
static inline int zb_plan_list_end(const zb_plan_rank *rank, zb_plan_list list) {
  return list == ZB_LIST_STEP ? zb_plan_step_end(rank) : rank->job_count;
}
/* The rank with its regions where they lie while the list runs; it borrows everything. */
static inline zb_plan_rank zb_plan_rank_in(const zb_plan_rank *rank, zb_plan_list list) {
  zb_plan_rank in = *rank;
  if (list == ZB_LIST_EVALUATION && rank->evaluation_count > 0) { /* of a view they lie so already */
    in.regions[ZB_REGION_SLOTS] = rank->evaluation_slots;
    in.regions[ZB_REGION_WORKSPACE] = rank->evaluation_workspace;
  }
  return in;
}
/* The list whose regions a subprogram sees; LOAD: that of a step. */
static inline zb_plan_list zb_plan_list_of(const zb_plan_subprogram *subprogram) {
  return subprogram->kind == ZB_JOB_EVALUATE ? ZB_LIST_EVALUATION : ZB_LIST_STEP;
}

/* A transfer with two members: ranks source and destination, different. Messages are numbered in one global order, by
 * the time their transfer can start in the simulated schedule; on a channel (ordered pair of ranks) both sides post in
 * this order. source_stage, destination_stage: virtual stages, -1 for sums of gradients, as is micro_batch. bytes: of
 * all parts. step: 0, the step in which it is sent. crosses: 1 where its SEND stands before the VERDICT of its rank,
 * and its RECV behind that of the other. */
typedef struct zb_plan_message {
#define ZB_MESSAGE_COLUMN(type, name, low, high, fault) type name;
#include "runtime/plan/file/plan_columns.def"
  zb_derived_message derived;
} zb_plan_message;

/* A transfer with two or more members, once a step; each takes part by one job. members: ranks, rising. coordinate: 0,
 * the members are listed; 1, there is one, and all its replicas take part. of_parts: with sharded state, it moves what
 * replicas have parts of: `sizes` are those of parts. Over replicas a buffer that is added up consists of the parts of
 * all members, and gathering brings the parts of all others. apart: of parameters of which every replica has a part
 * alone: it brings all parts of each, one behind the other, to the slots, and its job has where the first one comes to,
 * of each parameter, then where the own ones lie. of_micro_batch: 1 + the micro-batch (of each replica its own one)
 * whose gradients it sums, or whose jobs alone read what it brings; 0: those of all. greatest: 1, where it adds, it
 * gives the greatest of each element, not their sum. lead_ps: where the job in front of it is the W that completes its
 * buffers, how long before the end of that job they are complete (expand.h). step: 0, as of messages. before: in the
 * global order of transfers it stands before that message. sizes: bytes of every part. Where it only gathers, member m
 * gives counts[m] parts; a job has the homes of the parts of all members, in the order of members: its own, which are
 * read, and those of others, which are filled. Where it adds, counts is empty; a job has
 * its buffers of `dtype`, which all members have alike, and last, in the slots, room for what comes
 * (zb_collective_landing_bytes). Shard k of a buffer of n elements is elements n k / members .. n (k + 1) / members;
 * the sum of a shard is a left fold in the order of members, and stands in the buffer in place of the own values. Of a
 * micro-batch the buffers lie in the slots, and behind the landing a job has, for each, the part of the gradients that
 * the sum of its shard is added to; numbers of the norm lie in the slots, too. */
typedef struct zb_plan_collective {
#define ZB_COLLECTIVE_COLUMN(type, name, low, high, fault) type name;
#define ZB_COLLECTIVE_SLICE(name, pool, fault) zb_plan_slice name;
#include "runtime/plan/file/plan_columns.def"
  zb_derived_collective derived;
} zb_plan_collective;

typedef struct zb_plan_input {
  const char *name;
  zb_shape shape; /* of one micro-batch */
} zb_plan_input;

/* What an evaluation hands out besides the loss. */
typedef struct zb_plan_output {
  const char *name;
  zb_shape shape; /* of one micro-batch */
} zb_plan_output;

typedef struct zb_plan {
  const char *producer;  /* "zbc 0.1.0" */
  const char *model;     /* base name of the model file */
  const char *schedule;  /* "zb-h1" */
  const char *placement; /* "plain", "looped", "v", "wave" */
  const char *optimizer; /* the whole line: "adamw:lr=0.001,..." */
  const char *precision; /* "f32", "bf16": a name of zb/precisions.def */
  int rank_count, stage_count, chunk_count, micro_batches;
  int replicas;         /* of all ranks, each with micro-batches of its own; 0 and 1: the plan itself is all there is */
  zb_sharding sharding; /* of its replicas: each has its part of every trained parameter's elements, see
                           zb_plan_part_bytes; with gradients:step each sum over replicas of a rank, a reduce-scatter,
                           waits for the one before, which is then added up. In the file operands of UPDATE (of
                           zb_plan_works_on_parts) on parameters and gradients are those of replica 0, as are parts of
                           collectives `of_parts`; those of replica r lie r parts behind */
  int sum_groups;  /* groups of micro-batches whose gradients are added up apart, as by that many replicas; 0 and 1: all
                      are one. The region gradients is then twice as large (expand.h) */
  int sum_inner;   /* 1: micro-batch m of all groups is added up first, for each m, then these sums; the region has room
                      for each of them and one more */
  int shards;      /* of all ranks, which compute each micro-batch together; 0 and 1: there is one */
  int *shard_sums; /* [rank][2] how many all-reduces over shards its jobs make, and how many reduce-scatters and
                      all-gathers, of one phase: who reads only some ranks numbers them and their messages alike */
  int shard_sum_count;   /* 2 * rank_count; without shards 0 */
  int *stage_rank;       /* virtual stage -> rank; with a mesh: -> rank of a replica */
  zb_plan_input *inputs; /* in the order of arguments */
  int input_count;
  const char **arguments; /* what the model's function is given as data, in its order, whether the plan reads it or not:
                             names, those of all inputs but the counter of random numbers among them */
  int argument_count;
  zb_plan_output *outputs;
  int output_count;
  zb_plan_message *messages;
  int message_count;
  bool evaluates;                  /* every rank has jobs of an evaluation */
  bool weighted;                   /* the loss of a micro-batch is two f32, a sum and its weight: see above */
  bool inference;                  /* it has no step, and its evaluation gives outputs alone, no loss */
  int evaluation_messages;         /* how many of the messages, at the end, are of an evaluation */
  int evaluation_collectives;      /* and how many of the collectives */
  zb_plan_collective *collectives; /* rising in `before` */
  int collective_count;
  uint64_t *pool_u64; /* of the slices of collectives */
  uint32_t pool_u64_count;
  int64_t link_latency_ps; /* the cost model of a message: latency + bytes * ps_per_byte */
  double link_ps_per_byte;
  bool link_copies;        /* the side that posts second moves the bytes itself, and does nothing else meanwhile */
  int64_t link_wake_ps;    /* until a rank that waited goes on after its message is complete */
  int64_t job_ps, read_ps; /* what the interpreter takes: every job; a READ beside it */
  double copy_ps_per_byte; /* of a SNAPSHOT, and of restoring it */
  int64_t step_ps;         /* once a step: to wake all ranks, clear gradients, and hear that all are done */
  uint64_t
      model_hash; /* FNV-1a of names and shapes of parameters and optimizer: a checkpoint of another model is refused */
  bool value_digests; /* every parameter, and every constant of constants.safetensors, has the digest of its value:
                         files of others are refused */
  uint64_t digest;    /* of the file that it was read from; 0: of none. Equal for equal files */
  zb_plan_rank
      *ranks; /* rank_count, or fewer when read for some ranks only: ranks[i].job_count == 0 and jobs == NULL then */
  zb_derived_plan derived;
  struct zb_plan_arena *arena; /* owns everything above */
} zb_plan;

/* How many parts a job of the collective has. */
static inline uint32_t zb_collective_job_parts(const zb_plan_collective *collective) {
  const uint32_t buffers = collective->sizes.count;
  if (collective->apart) return buffers + buffers / collective->members.count;
  return buffers + (zb_collective_adds(collective->kind) ? 1 : 0) + (collective->of_micro_batch ? buffers : 0);
}
/* Bytes of the part of a trained parameter, or of its gradient, that each of `replicas` has where they share optimizer
 * state: elements / replicas, rounded up to whole elements and to the alignment of the arena. All parts together are
 * the memory of the tensor, which is longer than the tensor by what rounding adds; those bytes are 0. */
static inline uint64_t zb_plan_part_bytes(const zb_shape *whole, int replicas) {
  const uint64_t elements = (uint64_t)zb_shape_elements(whole), count = (uint64_t)replicas;
  return zb_align((elements + count - 1) / count * (uint64_t)zb_dtype_bytes(whole->dtype));
}
/* Whether replicas have the sums of gradients in parts, so that all phases of the optimizer work on parts: UPDATE alone
 * does where the sums are whole. */
static inline bool zb_plan_sums_of_parts(const zb_plan *plan) { return zb_sharding_scatters(plan->sharding); }
static inline bool zb_plan_works_on_parts(const zb_plan *plan, zb_job_kind kind) {
  return kind == ZB_JOB_UPDATE || (zb_plan_sums_of_parts(plan) && (kind == ZB_JOB_SUM || kind == ZB_JOB_NORM));
}
/* What is reported of a micro-batch: its loss, or a sum and its weight. */
static inline uint64_t zb_plan_loss_bytes(const zb_plan *plan) { return (plan->weighted ? 2 : 1) * sizeof(float); }
/* How many replicas of the plan run together. */
static inline int zb_plan_replicas(const zb_plan *plan) { return plan->replicas > 1 ? plan->replicas : 1; }
/* How many shards of it compute together. */
static inline int zb_plan_shards(const zb_plan *plan) { return plan->shards > 1 ? plan->shards : 1; }
/* Whether it was made of another plan (runtime/plan/mesh), so that no file can have it. */
static inline bool zb_plan_is_derived(const zb_plan *plan) {
  const zb_derived_plan *it = &plan->derived;
  return it->list != ZB_LIST_STEP || it->mesh || it->shard_mesh || it->parts || it->carried;
}

/* An empty plan; NULL when out of memory. */
zb_plan *zb_plan_create(void) ZB_MUST_USE;
/* A plan in memory of its own that has all that `plan` has, and borrows it; NULL when out of memory. */
zb_plan *zb_plan_create_like(const zb_plan *plan) ZB_MUST_USE;
void zb_plan_destroy(zb_plan *plan);
/* Memory that lives as long as the plan, zeroed; NULL when out of memory. */
void *zb_plan_alloc(zb_plan *plan, size_t bytes) ZB_MUST_USE;
/* What was allocated from `other` (NULL: nothing) belongs to `plan` from now on; `other` is destroyed. */
void zb_plan_take_memory(zb_plan *plan, zb_plan *other);
/* *plan becomes `made`, which was made of it and takes its memory; NULL: it stays. */
void zb_plan_replace(zb_plan **plan, zb_plan *made);
const char *zb_plan_strdup(zb_plan *plan, const char *text) ZB_MUST_USE;

/* The file DIR/plan.zb: magic "ZBPLAN\0\1", version, one protobuf section for the header and one a rank, each with
 * length and CRC32C (layout: plan.proto and README.md). Written to a temporary file, synced, renamed:
 * never half written. */
zb_status zb_plan_write(const zb_plan *plan, const char *path) ZB_MUST_USE;
/* Reads header and the programs of all ranks (rank == -1) or of one. Checks everything that could make later code read
 * outside of an array (indexes, ranges, counts, NULs); a damaged or foreign file gives INVALID with what and where. */
zb_status zb_plan_read(const char *path, int rank, zb_plan **out) ZB_MUST_USE;
/* The programs of ranks first .. first + count - 1 only. */
zb_status zb_plan_read_some(const char *path, int first, int count, zb_plan **out) ZB_MUST_USE;
zb_status zb_plan_read_memory(const void *bytes, size_t byte_count, const char *name, int rank,
                              zb_plan **out) ZB_MUST_USE;

/* Calls write(context, text, bytes) with the plan as text, deterministic and diffable. */
typedef void (*zb_write)(void *context, const char *text, size_t bytes);
void zb_plan_print(const zb_plan *plan, zb_write write, void *context);
/* Marks the messages that cross, by where the VERDICTs of the ranks stand: who makes a plan calls it last. MEMORY. */
zb_status zb_plan_mark_crossing(zb_plan *plan) ZB_MUST_USE;
/* What the SNAPSHOT of a rank takes, and what restoring it takes; 0: there is none. */
int64_t zb_plan_snapshot_ps(const zb_plan *plan, int rank);

/* Whether work on the plan is worth threads of its own: it has some 10,000 jobs. */
bool zb_plan_is_long(const zb_plan *plan);
