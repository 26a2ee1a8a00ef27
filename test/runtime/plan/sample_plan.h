/* A small pipeline as a plan, made by hand for the tests of runtime/plan: no compiler, no scheduler.
 *
 * Stage s on rank s. A stage computes z = a.w (F), gets dz and gives dx (B), adds a.dz to the sum of w (W), and updates
 * w (UPDATE). `a` is read (stage 0) or received in two parts into the frame fw; z and, on the last stage, the labels
 * live in fb; dz lives in bw. With two or more ranks the first and the last share a tied parameter: they exchange its
 * sums at the end of a step. A constant is computed at load time. Each rank runs 1F1B with W right after B. Every kind
 * of home has `depth` slots, used in turn.
 */
#ifndef ZB_TEST_SAMPLE_PLAN_H
#define ZB_TEST_SAMPLE_PLAN_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/assert.h"
#include "runtime/base/text.h"
#include "runtime/plan/file/plan.h"

enum {
  SAMPLE_FB = 256,
  SAMPLE_LOSS = 192, /* in fb */
  SAMPLE_FW = 256,
  SAMPLE_BW = 128,
  SAMPLE_VALUE = 256,
  SAMPLE_F_PS = 10,
  SAMPLE_B_PS = 20,
  SAMPLE_W_PS = 30,
  SAMPLE_OPT_PS = 5
};

typedef struct sample {
  zb_plan *plan;
  int ranks, micro_batches, depth;
  int *f_end, *b_end;         /* [rank * M + i] unit time at which a job ends: orders the messages */
  int *f_message, *b_message; /* [rank * M + i] message that brings its input */
  int tied_message[2];        /* from the first to the last rank, and back */
} sample;

static inline void *sample_take(sample *it, size_t count, size_t bytes) {
  void *memory = zb_plan_alloc(it->plan, count * bytes);
  ZB_ASSERT(memory);
  return memory;
}

/* ---- Subprograms ---- */

static inline zb_plan_operand sample_operand(uint32_t base, uint64_t offset, zb_dtype dtype, int64_t rows,
                                             int64_t columns) {
  return (zb_plan_operand){.base = base,
                           .offset = offset,
                           .dtype = dtype,
                           .rank = columns ? 2
                                   : rows  ? 1
                                           : 0,
                           .shape = {rows, columns},
                           .strides = {columns ? columns : 1, 1}};
}

static inline zb_plan_instruction *sample_add(sample *it, zb_plan_subprogram *to, const char *op, int inputs,
                                              int outputs) {
  zb_plan_instruction *instruction = &to->instructions[to->instruction_count++];
  instruction->op = op;
  instruction->location = "sample";
  instruction->inputs = sample_take(it, (size_t)inputs, sizeof *instruction->inputs);
  instruction->outputs = sample_take(it, (size_t)outputs, sizeof *instruction->outputs);
  instruction->input_count = inputs;
  instruction->output_count = outputs;
  instruction->flops = 128;
  return instruction;
}

static inline zb_plan_subprogram *sample_subprogram(sample *it, zb_plan_rank *rank, const char *name, int stage,
                                                    zb_job_kind kind, int64_t time_ps) {
  zb_plan_subprogram *subprogram = &rank->subprograms[rank->subprogram_count++];
  *subprogram =
      (zb_plan_subprogram){.name = name, .stage = stage, .kind = kind, .time_ps = time_ps, .workspace_bytes = 256};
  subprogram->bases = sample_take(it, 4, sizeof *subprogram->bases);
  subprogram->base_bytes = sample_take(it, 4, sizeof *subprogram->base_bytes);
  subprogram->instructions = sample_take(it, 4, sizeof *subprogram->instructions);
  return subprogram;
}

static inline uint32_t sample_base(zb_plan_subprogram *subprogram, const char *name, uint64_t bytes) {
  subprogram->bases[subprogram->base_count] = name;
  subprogram->base_bytes[subprogram->base_count] = bytes;
  return (uint32_t)++subprogram->base_count;
}

enum { SAMPLE_LOAD, SAMPLE_F, SAMPLE_B, SAMPLE_W, SAMPLE_OPT, SAMPLE_TIED, SAMPLE_SUBPROGRAMS };

static inline uint64_t sample_at(const zb_plan_rank *rank, zb_region_kind region) {
  return rank->regions[region].offset;
}

static inline void sample_forward(sample *it, zb_plan_rank *rank) {
  uint64_t workspace = sample_at(rank, ZB_REGION_WORKSPACE), w = sample_at(rank, ZB_REGION_PARAMETERS);
  bool last = rank->rank == it->ranks - 1;
  zb_plan_subprogram *f = sample_subprogram(it, rank, "F", rank->rank, ZB_JOB_F, SAMPLE_F_PS);
  uint32_t fb = sample_base(f, "fb", SAMPLE_FB), fw = sample_base(f, "fw", SAMPLE_FW);
  zb_plan_instruction *product = sample_add(it, f, "matmul", 2, 1);
  product->inputs[0] = sample_operand(fw, 0, ZB_F32, 4, 16);
  product->inputs[1] = sample_operand(0, w, ZB_F32, 8, 16); /* stored swapped */
  product->inputs[1].shape[0] = 16, product->inputs[1].shape[1] = 8;
  product->inputs[1].strides[0] = 1, product->inputs[1].strides[1] = 16;
  product->outputs[0] = sample_operand(fb, 0, ZB_F32, 4, 8);
  product->scratch_offset = workspace + 128;
  product->scratch_bytes = 128;
  zb_attr *attrs = sample_take(it, 5, sizeof *attrs);
  static const int64_t ints[] = {1, -2, 3};
  attrs[0] = (zb_attr){.name = "transpose_rhs", .kind = ZB_ATTR_BOOL, .i = 1};
  attrs[1] = (zb_attr){.name = "number", .kind = ZB_ATTR_INT, .i = -7};
  attrs[2] = (zb_attr){.name = "scale", .kind = ZB_ATTR_FLOAT, .f = 0.1};
  attrs[3] = (zb_attr){.name = "axes", .kind = ZB_ATTR_INTS, .ints = ints, .count = 3};
  attrs[4] = (zb_attr){.name = "mode", .kind = ZB_ATTR_STRING, .s = "plain"};
  product->attrs = attrs;
  product->attr_count = 5;
  if (last) {
    zb_plan_instruction *loss = sample_add(it, f, "cross_entropy", 2, 1);
    loss->inputs[0] = sample_operand(fb, 0, ZB_F32, 4, 8);
    loss->inputs[1] = sample_operand(fb, 128, ZB_I64, 4, 0);
    loss->outputs[0] = sample_operand(fb, SAMPLE_LOSS, ZB_F32, 0, 0);
    f->loss_base = fb;
    f->loss_offset = SAMPLE_LOSS;
    return;
  }
  uint32_t out = sample_base(f, "out", SAMPLE_VALUE);
  zb_plan_instruction *twice = sample_add(it, f, "concat", 3, 1);
  twice->inputs[0] = twice->inputs[1] = sample_operand(fb, 0, ZB_F32, 4, 8);
  twice->inputs[2].rank = -1;
  twice->outputs[0] = sample_operand(out, 0, ZB_F32, 4, 16);
}

static inline void sample_backward(sample *it, zb_plan_rank *rank) {
  bool first = rank->rank == 0, last = rank->rank == it->ranks - 1;
  uint64_t workspace = sample_at(rank, ZB_REGION_WORKSPACE);
  zb_plan_subprogram *b = sample_subprogram(it, rank, "B", rank->rank, ZB_JOB_B, SAMPLE_B_PS);
  uint32_t fb = sample_base(b, "fb", SAMPLE_FB), bw = sample_base(b, "bw", SAMPLE_BW);
  if (last) {
    zb_plan_instruction *gradient = sample_add(it, b, "cross_entropy_grad", 2, 1);
    gradient->inputs[0] = sample_operand(fb, 0, ZB_F32, 4, 8);
    gradient->inputs[1] = sample_operand(fb, 128, ZB_I64, 4, 0);
    gradient->outputs[0] = sample_operand(bw, 0, ZB_F32, 4, 8);
  } else {
    uint32_t dout = sample_base(b, "dout", SAMPLE_VALUE);
    zb_plan_instruction *copy = sample_add(it, b, "contiguous", 1, 1);
    copy->inputs[0] = sample_operand(dout, 0, ZB_F32, 4, 8);
    copy->inputs[0].strides[0] = 16;
    copy->outputs[0] = sample_operand(0, workspace, ZB_F32, 4, 8);
    zb_plan_instruction *gradient = sample_add(it, b, "relu_grad", 2, 1);
    gradient->inputs[0] = sample_operand(fb, 0, ZB_F32, 4, 8);
    gradient->inputs[1] = sample_operand(0, workspace, ZB_F32, 4, 8);
    gradient->outputs[0] = sample_operand(bw, 0, ZB_F32, 4, 8);
  }
  if (first) return;
  uint32_t dx = sample_base(b, "dx", SAMPLE_VALUE);
  zb_plan_instruction *product = sample_add(it, b, "matmul", 2, 1);
  product->inputs[0] = sample_operand(bw, 0, ZB_F32, 4, 8);
  product->inputs[1] = sample_operand(0, sample_at(rank, ZB_REGION_PARAMETERS), ZB_F32, 8, 16);
  product->outputs[0] = sample_operand(dx, 0, ZB_F32, 4, 16);
}

static inline bool sample_is_tied(const sample *it, int rank) {
  return it->ranks > 1 && (rank == 0 || rank == it->ranks - 1);
}

static inline void sample_weights(sample *it, zb_plan_rank *rank) {
  uint64_t parameters = sample_at(rank, ZB_REGION_PARAMETERS), gradients = sample_at(rank, ZB_REGION_GRADIENTS),
           state = sample_at(rank, ZB_REGION_STATE), workspace = sample_at(rank, ZB_REGION_WORKSPACE);
  zb_plan_subprogram *w = sample_subprogram(it, rank, "W", rank->rank, ZB_JOB_W, SAMPLE_W_PS);
  uint32_t fw = sample_base(w, "fw", SAMPLE_FW), bw = sample_base(w, "bw", SAMPLE_BW);
  zb_plan_instruction *product = sample_add(it, w, "matmul", 2, 1);
  product->inputs[0] = sample_operand(bw, 0, ZB_F32, 8, 4);
  product->inputs[0].strides[0] = 1, product->inputs[0].strides[1] = 8;
  product->inputs[1] = sample_operand(fw, 0, ZB_F32, 4, 16);
  product->outputs[0] = sample_operand(0, gradients, ZB_F32, 8, 16);
  product->accumulate = true;
  if (sample_is_tied(it, rank->rank)) {
    zb_plan_instruction *sum = sample_add(it, w, "accumulate_add", 1, 1);
    sum->inputs[0] = sample_operand(bw, 64, ZB_F32, 16, 0);
    sum->outputs[0] = sample_operand(0, gradients + 512, ZB_F32, 16, 0);
    sum->accumulate = true;
  }
  zb_plan_subprogram *update = sample_subprogram(it, rank, "UPDATE", rank->rank, ZB_JOB_UPDATE, SAMPLE_OPT_PS);
  zb_plan_instruction *sgd = sample_add(it, update, "sgd", 5, 2);
  sgd->inputs[0] = sgd->outputs[0] = sample_operand(0, parameters, ZB_F32, 8, 16);
  sgd->inputs[1] = sample_operand(0, gradients, ZB_F32, 8, 16);
  sgd->inputs[2] = sgd->outputs[1] = sample_operand(0, state, ZB_F32, 8, 16);
  sgd->inputs[3] = sample_operand(0, sample_at(rank, ZB_REGION_STEP), ZB_I64, 0, 0);
  sgd->inputs[4] = sample_operand(0, rank->settings[0].offset, ZB_F64, 2, 0);
  if (!sample_is_tied(it, rank->rank)) return;
  zb_plan_subprogram *tied = sample_subprogram(it, rank, "tied_OPT", -1, ZB_JOB_UPDATE, SAMPLE_OPT_PS);
  zb_plan_instruction *sum = sample_add(it, tied, "add", 2, 1);
  const int own = rank->rank != 0; /* every holder adds the sum of rank 0 first */
  sum->inputs[own] = sample_operand(0, gradients + 512, ZB_F32, 16, 0);
  sum->inputs[!own] = sample_operand(0, gradients + 576, ZB_F32, 16, 0);
  sum->outputs[0] = sample_operand(0, workspace, ZB_F32, 16, 0);
  sgd = sample_add(it, tied, "sgd", 5, 1);
  sgd->inputs[0] = sgd->outputs[0] = sample_operand(0, parameters + 512, ZB_F32, 16, 0);
  sgd->inputs[1] = sample_operand(0, workspace, ZB_F32, 16, 0);
  sgd->inputs[2].rank = -1;
  sgd->inputs[3] = sample_operand(0, sample_at(rank, ZB_REGION_STEP), ZB_I64, 0, 0);
  sgd->inputs[4] = sample_operand(0, rank->settings[1].offset, ZB_F64, 2, 0);
}

/* ---- Regions, tensors ---- */

static inline void sample_memory(sample *it, zb_plan_rank *rank) {
  uint64_t slots = (uint64_t)it->depth * (SAMPLE_FB + SAMPLE_FW + SAMPLE_BW + 3 * SAMPLE_VALUE);
  const uint64_t sizes[ZB_REGION_COUNT] = {576, 0, 512, 640, 64, 64, 0, slots, 256};
  for (int i = 0; i < ZB_REGION_COUNT; ++i) {
    rank->regions[i] = (zb_plan_range){rank->arena_bytes, sizes[i]};
    rank->arena_bytes += sizes[i];
  }
  char name[2][32];
  snprintf(name[0], sizeof name[0], "w%d", rank->rank);
  snprintf(name[1], sizeof name[1], "w%d.momentum", rank->rank);
  const char *w = zb_plan_strdup(it->plan, name[0]), *momentum = zb_plan_strdup(it->plan, name[1]);
  ZB_ASSERT(w && momentum);
  rank->parameter_count = sample_is_tied(it, rank->rank) ? 2 : 1;
  rank->parameters = sample_take(it, 2, sizeof *rank->parameters);
  rank->parameters[0] = (zb_plan_parameter){
      .tensor = {w, {ZB_F32, 2, {8, 16}}, sample_at(rank, ZB_REGION_PARAMETERS), UINT64_C(0xfedcba9876543210)},
      .trained = true,
      .owner = true,
      .state_count = 1,
      .gradient_offset = (int64_t)sample_at(rank, ZB_REGION_GRADIENTS)};
  rank->parameters[1] =
      (zb_plan_parameter){.tensor = {"tied", {ZB_F32, 1, {16}}, sample_at(rank, ZB_REGION_PARAMETERS) + 512, 1},
                          .trained = true,
                          .owner = rank->rank == 0,
                          .gradient_offset = (int64_t)sample_at(rank, ZB_REGION_GRADIENTS) + 512};
  rank->state_count = 1;
  rank->states = sample_take(it, 1, sizeof *rank->states);
  rank->states[0] =
      (zb_plan_tensor){.name = momentum, .shape = {ZB_F32, 2, {8, 16}}, .offset = sample_at(rank, ZB_REGION_STATE)};
  rank->constant_count = 2;
  rank->constants = sample_take(it, 2, sizeof *rank->constants);
  static const uint8_t one[4] = {0, 0, 0x80, 0x3f};
  rank->constants[0] = (zb_plan_constant){
      .tensor = {"one", {ZB_F32, 0, {0}}, sample_at(rank, ZB_REGION_CONSTANTS), 0}, .bytes = one, .byte_count = 4};
  rank->constants[1] = (zb_plan_constant){
      .tensor = {"ramp", {ZB_F32, 1, {8}}, sample_at(rank, ZB_REGION_CONSTANTS) + 32, 0}, .computed = true};
  rank->setting_count = rank->parameter_count;
  rank->settings = sample_take(it, 2, sizeof *rank->settings);
  for (int i = 0; i < 2; ++i) {
    rank->settings[i] = (zb_plan_setting){.kind = ZB_SETTING_UPDATE,
                                          .name = rank->parameters[i].tensor.name,
                                          .offset = sample_at(rank, ZB_REGION_STEP) + 8 + 16 * (uint64_t)i,
                                          .defaults = sample_take(it, 2, sizeof(double)),
                                          .default_count = 2};
    rank->settings[i].defaults[0] = 0.1;
  }
  rank->subprograms = sample_take(it, SAMPLE_SUBPROGRAMS + 1, sizeof *rank->subprograms);
  zb_plan_subprogram *load = sample_subprogram(it, rank, "LOAD", -1, ZB_JOB_LOAD, 0);
  sample_add(it, load, "iota", 0, 1)->outputs[0] =
      sample_operand(0, sample_at(rank, ZB_REGION_CONSTANTS) + 32, ZB_F32, 8, 0);
  sample_forward(it, rank);
  sample_backward(it, rank);
  sample_weights(it, rank);
}

/* ---- Order: 1F1B, and unit times from it ---- */

/* The k-th compute job of a rank: kind by return value, micro-batch by *out. */
static inline zb_job_kind sample_nth(const sample *it, int rank, int k, int *out) {
  int warmup = it->ranks - rank - 1 < it->micro_batches ? it->ranks - rank - 1 : it->micro_batches;
  *out = k;
  if (k < warmup) return ZB_JOB_F;
  k -= warmup;
  int steady = it->micro_batches - warmup;
  if (k < 3 * steady) {
    *out = k % 3 == 0 ? warmup + k / 3 : k / 3;
    return k % 3 == 0 ? ZB_JOB_F : k % 3 == 1 ? ZB_JOB_B : ZB_JOB_W;
  }
  k -= 3 * steady;
  *out = steady + k / 2;
  return k % 2 == 0 ? ZB_JOB_B : ZB_JOB_W;
}

static inline void sample_times(sample *it) {
  int m = it->micro_batches;
  size_t jobs = (size_t)it->ranks * (size_t)m;
  it->f_end = sample_take(it, jobs, sizeof(int));
  it->b_end = sample_take(it, jobs, sizeof(int));
  int *next = sample_take(it, (size_t)it->ranks, sizeof(int)),
      *free_at = sample_take(it, (size_t)it->ranks, sizeof(int));
  for (int left = it->ranks; left > 0;) {
    for (int r = 0; r < it->ranks; ++r) {
      int i = 0;
      while (next[r] < 3 * m) {
        zb_job_kind kind = sample_nth(it, r, next[r], &i);
        int input = kind == ZB_JOB_F && r > 0               ? it->f_end[(r - 1) * m + i]
                    : kind == ZB_JOB_B && r + 1 < it->ranks ? it->b_end[(r + 1) * m + i]
                                                            : 1;
        if (input == 0) break;
        free_at[r] = (input > free_at[r] ? input : free_at[r]) + 1;
        if (kind == ZB_JOB_F) it->f_end[r * m + i] = free_at[r];
        if (kind == ZB_JOB_B) it->b_end[r * m + i] = free_at[r];
        left -= ++next[r] == 3 * m;
      }
    }
  }
}

typedef struct sample_message {
  int time, source, micro_batch;
  bool forward;
} sample_message;

static inline int sample_compare(const void *a, const void *b) {
  const sample_message *x = a, *y = b;
  if (x->time != y->time) return x->time - y->time;
  return x->source != y->source ? x->source - y->source : (int)x->forward - (int)y->forward;
}

static inline void sample_messages(sample *it) {
  int m = it->micro_batches, count = 0;
  size_t pairs = (size_t)(it->ranks - 1) * (size_t)m;
  sample_message *all = sample_take(it, 2 * pairs + 1, sizeof *all);
  for (int r = 0; r + 1 < it->ranks; ++r)
    for (int i = 0; i < m; ++i) {
      all[count++] = (sample_message){it->f_end[r * m + i], r, i, true};
      all[count++] = (sample_message){it->b_end[(r + 1) * m + i], r + 1, i, false};
    }
  qsort(all, (size_t)count, sizeof *all, sample_compare);
  it->f_message = sample_take(it, (size_t)it->ranks * (size_t)m, sizeof(int));
  it->b_message = sample_take(it, (size_t)it->ranks * (size_t)m, sizeof(int));
  it->plan->messages = sample_take(it, (size_t)count + 2, sizeof *it->plan->messages);
  for (int k = 0; k < count; ++k) {
    int to = all[k].forward ? all[k].source + 1 : all[k].source - 1;
    (all[k].forward ? it->f_message : it->b_message)[to * m + all[k].micro_batch] = k;
    it->plan->messages[k] = (zb_plan_message){.source = all[k].source,
                                              .destination = to,
                                              .source_stage = all[k].source,
                                              .destination_stage = to,
                                              .micro_batch = all[k].micro_batch,
                                              .payload = all[k].forward ? ZB_PAYLOAD_FORWARD : ZB_PAYLOAD_BACKWARD,
                                              .bytes = SAMPLE_VALUE,
                                              .part_count = all[k].forward ? 2 : 1};
  }
  it->plan->message_count = count;
  for (int k = 0; it->ranks > 1 && k < 2; ++k) {
    it->tied_message[k] = it->plan->message_count;
    it->plan->messages[it->plan->message_count++] = (zb_plan_message){.source = k ? it->ranks - 1 : 0,
                                                                      .destination = k ? 0 : it->ranks - 1,
                                                                      .source_stage = -1,
                                                                      .destination_stage = -1,
                                                                      .micro_batch = -1,
                                                                      .payload = ZB_PAYLOAD_GRADIENTS,
                                                                      .bytes = 64,
                                                                      .part_count = 1};
  }
}

/* ---- Jobs ---- */

/* Homes by kind: fb, fw, bw, out, dout, dx. */
enum { HOME_FB, HOME_FW, HOME_BW, HOME_OUT, HOME_DOUT, HOME_DX };

static inline uint64_t sample_home(const sample *it, const zb_plan_rank *rank, int kind, int micro_batch) {
  static const uint64_t sizes[] = {SAMPLE_FB, SAMPLE_FW, SAMPLE_BW, SAMPLE_VALUE, SAMPLE_VALUE, SAMPLE_VALUE};
  uint64_t at = sample_at(rank, ZB_REGION_SLOTS);
  for (int i = 0; i < kind; ++i)
    at += sizes[i] * (uint64_t)it->depth;
  return at + sizes[kind] * (uint64_t)(micro_batch % it->depth);
}

typedef struct sample_rank {
  sample *it;
  zb_plan_rank *rank;
  int *posted_at; /* [message] job that posted it here, -1 */
  int posted;     /* messages below this number are posted */
} sample_rank;

static inline zb_plan_job *sample_job(sample_rank *at, zb_job_kind kind, int micro_batch) {
  zb_plan_job *job = &at->rank->jobs[at->rank->job_count++];
  *job = (zb_plan_job){
      .kind = kind, .subprogram = -1, .stage = at->rank->rank, .micro_batch = micro_batch, .message = -1, .input = -1};
  job->bases.begin = at->rank->pool_u64_count;
  job->parts.begin = at->rank->pool_range_count;
  job->waits.begin = at->rank->pool_u32_count;
  return job;
}

static inline void sample_part(sample_rank *at, zb_plan_job *job, uint64_t offset, uint64_t bytes) {
  at->rank->pool_ranges[at->rank->pool_range_count++] = (zb_plan_range){offset, bytes};
  ++job->parts.count;
}

static inline void sample_bring(sample_rank *at, zb_plan_job *job, uint64_t address) {
  at->rank->pool_u64[at->rank->pool_u64_count++] = address;
  ++job->bases.count;
}

static inline void sample_wait(sample_rank *at, zb_plan_job *job, int message) {
  if (message < 0 || at->posted_at[message] < 0) return;
  at->rank->pool_u32[at->rank->pool_u32_count++] = (uint32_t)at->posted_at[message];
  ++job->waits.count;
}

static inline void sample_post(sample_rank *at, int number) {
  const zb_plan_message *message = &at->it->plan->messages[number];
  bool sends = message->source == at->rank->rank;
  int i = message->micro_batch;
  at->posted_at[number] = at->rank->job_count;
  zb_plan_job *job = sample_job(at, sends ? ZB_JOB_SEND : ZB_JOB_RECV, i);
  job->message = number;
  if (message->payload == ZB_PAYLOAD_GRADIENTS) {
    sample_part(at, job, sample_at(at->rank, ZB_REGION_GRADIENTS) + (sends ? 512 : 576), 64);
    return;
  }
  bool forward = message->payload == ZB_PAYLOAD_FORWARD;
  uint64_t home = sample_home(at->it, at->rank,
                              sends     ? (forward ? HOME_OUT : HOME_DX)
                              : forward ? HOME_FW
                                        : HOME_DOUT,
                              i);
  if (forward) {
    sample_part(at, job, home, 64);
    sample_part(at, job, home + 64, SAMPLE_VALUE - 64);
  } else {
    sample_part(at, job, home, SAMPLE_VALUE);
  }
}

/* Posts the rank's messages up to this number. */
static inline void sample_post_until(sample_rank *at, int number) {
  for (; at->posted <= number; ++at->posted) {
    const zb_plan_message *message = &at->it->plan->messages[at->posted];
    if (message->source == at->rank->rank || message->destination == at->rank->rank) sample_post(at, at->posted);
  }
}

static inline void sample_read(sample_rank *at, int micro_batch, int input, uint64_t offset, uint64_t bytes) {
  zb_plan_job *job = sample_job(at, ZB_JOB_READ, micro_batch);
  job->input = input;
  sample_part(at, job, offset, bytes);
}

static inline void sample_run(sample_rank *at, zb_job_kind kind, int i) {
  sample *it = at->it;
  zb_plan_rank *rank = at->rank;
  int r = rank->rank, m = it->micro_batches, old = i - it->depth;
  bool first = r == 0, last = r == it->ranks - 1;
  int needed = kind == ZB_JOB_F && !first  ? it->f_message[r * m + i]
               : kind == ZB_JOB_B && !last ? it->b_message[r * m + i]
                                           : -1;
  sample_post_until(at, needed);
  if (kind == ZB_JOB_F && first) sample_read(at, i, 0, sample_home(it, rank, HOME_FW, i), 256);
  if (kind == ZB_JOB_F && last) sample_read(at, i, 1, sample_home(it, rank, HOME_FB, i) + 128, 64);
  zb_plan_job *job = sample_job(at, kind, i);
  job->subprogram = kind == ZB_JOB_F ? SAMPLE_F : kind == ZB_JOB_B ? SAMPLE_B : SAMPLE_W;
  sample_wait(at, job, needed);
  if (kind != ZB_JOB_W) sample_bring(at, job, sample_home(it, rank, HOME_FB, i));
  if (kind != ZB_JOB_B) sample_bring(at, job, sample_home(it, rank, HOME_FW, i));
  if (kind != ZB_JOB_F) sample_bring(at, job, sample_home(it, rank, HOME_BW, i));
  int sent = -1;
  if (kind == ZB_JOB_F && !last) {
    sample_bring(at, job, sample_home(it, rank, HOME_OUT, i));
    sample_wait(at, job, old >= 0 ? it->f_message[(r + 1) * m + old] : -1);
    sent = it->f_message[(r + 1) * m + i];
  }
  if (kind == ZB_JOB_B && !last) sample_bring(at, job, sample_home(it, rank, HOME_DOUT, i));
  if (kind == ZB_JOB_B && !first) {
    sample_bring(at, job, sample_home(it, rank, HOME_DX, i));
    sample_wait(at, job, old >= 0 ? it->b_message[(r - 1) * m + old] : -1);
    sent = it->b_message[(r - 1) * m + i];
  }
  if (kind == ZB_JOB_F && last)
    sample_part(at, sample_job(at, ZB_JOB_REPORT, i), sample_home(it, rank, HOME_FB, i) + SAMPLE_LOSS, 4);
  sample_post_until(at, sent);
}

static inline void sample_jobs(sample *it, zb_plan_rank *rank) {
  size_t jobs = (size_t)it->micro_batches * 9 + 8;
  rank->jobs = sample_take(it, jobs, sizeof *rank->jobs);
  rank->pool_u64 = sample_take(it, jobs * 4, sizeof *rank->pool_u64);
  rank->pool_u32 = sample_take(it, jobs * 2, sizeof *rank->pool_u32);
  rank->pool_ranges = sample_take(it, jobs * 2, sizeof *rank->pool_ranges);
  sample_rank at = {.it = it, .rank = rank};
  at.posted_at = sample_take(it, (size_t)it->plan->message_count, sizeof(int));
  for (int i = 0; i < it->plan->message_count; ++i)
    at.posted_at[i] = -1;
  zb_plan_job *load = sample_job(&at, ZB_JOB_LOAD, -1);
  load->subprogram = SAMPLE_LOAD;
  load->stage = -1;
  rank->load_count = 1;
  for (int k = 0; k < 3 * it->micro_batches; ++k) {
    int i = 0;
    zb_job_kind kind = sample_nth(it, rank->rank, k, &i);
    sample_run(&at, kind, i);
  }
  sample_post_until(&at, it->plan->message_count - 1);
  sample_job(&at, ZB_JOB_UPDATE, -1)->subprogram = SAMPLE_OPT;
  if (!sample_is_tied(it, rank->rank)) return;
  zb_plan_job *tied = sample_job(&at, ZB_JOB_UPDATE, -1);
  tied->subprogram = SAMPLE_TIED;
  tied->stage = -1;
  sample_wait(&at, tied, it->tied_message[0]);
  sample_wait(&at, tied, it->tied_message[1]);
}

/* depth 0: as many slots as micro-batches. The caller destroys the plan. */
static inline zb_plan *sample_plan(int ranks, int micro_batches, int depth) {
  sample it = {
      .plan = zb_plan_create(), .ranks = ranks, .micro_batches = micro_batches, .depth = depth ? depth : micro_batches};
  ZB_ASSERT(it.plan);
  zb_plan *plan = it.plan;
  plan->producer = "test";
  plan->model = "sample.mlir";
  plan->schedule = "1f1b";
  plan->placement = "plain";
  plan->optimizer = "sgd:lr=0.1";
  plan->precision = "bf16";
  plan->rank_count = plan->stage_count = ranks;
  plan->chunk_count = 1;
  plan->micro_batches = micro_batches;
  plan->link_latency_ps = 3;
  plan->link_ps_per_byte = 0.0078125; /* 2 ps for 256 bytes */
  plan->model_hash = UINT64_C(0x0123456789abcdef);
  plan->value_digests = true;
  plan->stage_rank = sample_take(&it, (size_t)ranks, sizeof *plan->stage_rank);
  plan->inputs = sample_take(&it, 2, sizeof *plan->inputs);
  plan->inputs[0] = (zb_plan_input){"x", {ZB_F32, 2, {4, 16}}};
  plan->inputs[1] = (zb_plan_input){"y", {ZB_I64, 1, {4}}};
  plan->input_count = 2;
  plan->arguments = sample_take(&it, 3, sizeof *plan->arguments);
  plan->arguments[0] = "x";
  plan->arguments[1] = "unread";
  plan->arguments[2] = "y";
  plan->argument_count = 3;
  plan->ranks = sample_take(&it, (size_t)ranks, sizeof *plan->ranks);
  sample_times(&it);
  sample_messages(&it);
  for (int r = 0; r < ranks; ++r) {
    plan->stage_rank[r] = r;
    plan->ranks[r].rank = r;
    sample_memory(&it, &plan->ranks[r]);
    sample_jobs(&it, &plan->ranks[r]);
  }
  return plan;
}

/* Index of a job; asserts that it is there. message -1: any; micro_batch -2: any. */
static inline int sample_find(const zb_plan *plan, int rank, zb_job_kind kind, int micro_batch) {
  for (int i = 0; i < plan->ranks[rank].job_count; ++i)
    if (plan->ranks[rank].jobs[i].kind == kind && plan->ranks[rank].jobs[i].micro_batch == micro_batch) return i;
  ZB_ASSERT(!"the sample has no such job");
  return -1;
}

/* The plan as text (zb_free). */
static inline void sample_collect(void *context, const char *text, size_t bytes) {
  zb_text_add_bytes(context, text, bytes);
}

static inline char *sample_print(const zb_plan *plan) {
  zb_text text = {0};
  zb_plan_print(plan, sample_collect, &text);
  return zb_text_take(&text);
}

#endif
