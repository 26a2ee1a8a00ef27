/* A small model and its plan, written by hand: two ranks, an embedding and a product on rank 0, a product and the loss
 * on rank 1.
 *
 *   F  rank 0: e = gather(wte, x); h = e mid     rank 1: logits = h head; loss, lse = cross_entropy(logits, y)
 *   B  rank 0: de = dh mid^T                     rank 1: dlogits = cross_entropy_grad(...); dh = dlogits head^T
 *   W  rank 0: wte += gather_grad(x, de), mid += e^T dh
 *     rank 1: head += h^T dlogits
 *
 * Every home exists twice (micro-batches 0, 2 and 1, 3 share), so that homes are used again within a step.
 */
#ifndef ZB_TEST_EXEC_TINY_H
#define ZB_TEST_EXEC_TINY_H

#include "runtime/base/file.h"
#include "runtime/exec/session_parts.h"
#include "test/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TINY_ROWS = 2, TINY_LENGTH = 4, TINY_TOKENS = 8, TINY_VOCABULARY = 256, TINY_WIDTH = 8, TINY_MICRO_BATCHES = 4 };
enum { TINY_JOBS = 96, TINY_POOL = 256, TINY_INSTRUCTIONS = 8 };

/* Homes of a slot set, rank 0: fw {x, e}, h, bw {dh, de}; rank 1: fb {y, logits, lse, loss}, fw {h}, bw {dlogits}, dh.
 */
enum {
  TINY_X = 0,
  TINY_E = 64,
  TINY_FW0_BYTES = 320,
  TINY_DH = 0,
  TINY_DE = 256,
  TINY_BW0_BYTES = 512,
  TINY_SET0_BYTES = TINY_FW0_BYTES + 256 + TINY_BW0_BYTES,
  TINY_Y = 0,
  TINY_LOGITS = 64,
  TINY_LSE = 64 + 8192,
  TINY_LOSS = 128 + 8192,
  TINY_FB1_BYTES = 192 + 8192,
  TINY_SET1_BYTES = TINY_FB1_BYTES + 256 + 8192 + 256,
};

typedef struct tiny_builder {
  zb_plan *plan;
  zb_plan_rank *rank;
  uint64_t slots; /* offset of the region */
} tiny_builder;

static inline zb_plan_operand tiny_operand(uint32_t base, uint64_t offset, zb_dtype dtype, int rank,
                                           const int64_t *shape) {
  zb_plan_operand operand = {.base = base, .offset = offset, .dtype = dtype, .rank = rank};
  int64_t stride = 1;
  for (int i = rank - 1; i >= 0; --i) {
    operand.shape[i] = shape[i];
    operand.strides[i] = stride;
    stride *= shape[i];
  }
  return operand;
}
#define TINY_SHAPE(...)                                                                                                \
  (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (const int64_t[]) { __VA_ARGS__ }
#define TINY_F32(base, offset, ...) tiny_operand(base, offset, ZB_F32, TINY_SHAPE(__VA_ARGS__))
#define TINY_I64(base, offset, ...) tiny_operand(base, offset, ZB_I64, TINY_SHAPE(__VA_ARGS__))
#define TINY_SCALAR(base, offset) tiny_operand(base, offset, ZB_F32, 0, NULL)

static inline zb_plan_subprogram *tiny_subprogram(tiny_builder *b, const char *name, int stage, zb_job_kind kind,
                                                  int64_t time_ps) {
  zb_plan_subprogram *s = &b->rank->subprograms[b->rank->subprogram_count++];
  s->name = name;
  s->stage = stage;
  s->kind = kind;
  s->time_ps = time_ps;
  s->instructions = zb_plan_alloc(b->plan, sizeof(zb_plan_instruction) * TINY_INSTRUCTIONS);
  return s;
}

static inline void tiny_base(tiny_builder *b, zb_plan_subprogram *s, const char *name, uint64_t bytes) {
  if (!s->bases) s->bases = zb_plan_alloc(b->plan, sizeof(char *) * 8);
  if (!s->base_bytes) s->base_bytes = zb_plan_alloc(b->plan, sizeof(uint64_t) * 8);
  s->bases[s->base_count] = name;
  s->base_bytes[s->base_count++] = bytes;
}

/* inputs, then outputs; attrs are copied. */
static inline zb_plan_instruction *tiny_add(tiny_builder *b, zb_plan_subprogram *s, const char *op,
                                            const char *location, int inputs, int outputs,
                                            const zb_plan_operand *operands, int attr_count, const zb_attr *attrs) {
  zb_plan_instruction *i = &s->instructions[s->instruction_count++];
  size_t count = (size_t)(inputs + outputs);
  i->op = op;
  i->location = location;
  i->inputs = zb_plan_alloc(b->plan, sizeof(zb_plan_operand) * count);
  memcpy(i->inputs, operands, sizeof(zb_plan_operand) * count);
  i->input_count = inputs;
  i->outputs = i->inputs + inputs;
  i->output_count = outputs;
  i->attrs = zb_plan_alloc(b->plan, sizeof(zb_attr) * (size_t)(attr_count + 1));
  if (attr_count > 0) memcpy(i->attrs, attrs, sizeof(zb_attr) * (size_t)attr_count);
  i->attr_count = attr_count;
  return i;
}

static inline zb_plan_job *tiny_job(tiny_builder *b, zb_job_kind kind, int subprogram, int stage, int micro_batch) {
  zb_plan_job *job = &b->rank->jobs[b->rank->job_count++];
  *job = (zb_plan_job){.kind = kind,
                       .subprogram = subprogram,
                       .stage = stage,
                       .micro_batch = micro_batch,
                       .message = -1,
                       .input = -1,
                       .bases = {b->rank->pool_u64_count, 0},
                       .parts = {b->rank->pool_range_count, 0},
                       .waits = {b->rank->pool_u32_count, 0}};
  return job;
}

static inline void tiny_job_base(tiny_builder *b, zb_plan_job *job, uint64_t offset) {
  b->rank->pool_u64[b->rank->pool_u64_count++] = offset;
  ++job->bases.count;
}

static inline void tiny_job_part(tiny_builder *b, zb_plan_job *job, uint64_t offset, uint64_t bytes) {
  b->rank->pool_ranges[b->rank->pool_range_count++] = (zb_plan_range){offset, bytes};
  ++job->parts.count;
}

static inline void tiny_job_wait(tiny_builder *b, zb_plan_job *job, int other) {
  b->rank->pool_u32[b->rank->pool_u32_count++] = (uint32_t)other;
  ++job->waits.count;
}

static inline int tiny_message_job(tiny_builder *b, zb_job_kind kind, int message, int stage, int micro_batch,
                                   uint64_t offset) {
  zb_plan_job *job = tiny_job(b, kind, -1, stage, micro_batch);
  job->message = message;
  tiny_job_part(b, job, offset, 256);
  return b->rank->job_count - 1;
}

static inline void tiny_rank_init(tiny_builder *b, zb_plan *plan, int rank, uint64_t parameters, uint64_t constants,
                                  uint64_t slots) {
  b->plan = plan;
  b->rank = &plan->ranks[rank];
  b->rank->rank = rank;
  b->rank->subprograms = zb_plan_alloc(plan, sizeof(zb_plan_subprogram) * 8);
  b->rank->jobs = zb_plan_alloc(plan, sizeof(zb_plan_job) * TINY_JOBS);
  b->rank->pool_u64 = zb_plan_alloc(plan, sizeof(uint64_t) * TINY_POOL);
  b->rank->pool_ranges = zb_plan_alloc(plan, sizeof(zb_plan_range) * TINY_POOL);
  b->rank->pool_u32 = zb_plan_alloc(plan, sizeof(uint32_t) * TINY_POOL);
  b->rank->parameters = zb_plan_alloc(plan, sizeof(zb_plan_parameter) * 2);
  b->rank->states = zb_plan_alloc(plan, sizeof(zb_plan_tensor) * 4);
  b->rank->constants = zb_plan_alloc(plan, sizeof(zb_plan_constant) * 2);
  b->rank->settings = zb_plan_alloc(plan, sizeof(zb_plan_setting) * 2);
  const uint64_t bytes[ZB_REGION_COUNT] = {parameters, 0, 2 * parameters, parameters, constants, 64, 0, slots, 0};
  for (int i = 0; i < ZB_REGION_COUNT; ++i) {
    b->rank->regions[i] = (zb_plan_range){b->rank->arena_bytes, bytes[i]};
    b->rank->arena_bytes += bytes[i];
  }
  b->slots = b->rank->regions[ZB_REGION_SLOTS].offset;
}

/* A parameter with its gradient and AdamW state at the next free place. */
static inline zb_plan_parameter *tiny_parameter(tiny_builder *b, const char *name, int64_t rows, int64_t columns,
                                                uint64_t offset) {
  zb_plan_parameter *p = &b->rank->parameters[b->rank->parameter_count++];
  zb_shape shape = {.dtype = ZB_F32, .rank = 2, .dims = {rows, columns}};
  uint64_t region = b->rank->regions[ZB_REGION_PARAMETERS].bytes;
  static const char *const suffixes[] = {".exp_avg", ".exp_avg_sq"};
  p->tensor = (zb_plan_tensor){.name = name, .shape = shape, .offset = offset};
  p->trained = p->owner = true;
  p->gradient_offset = (int64_t)(b->rank->regions[ZB_REGION_GRADIENTS].offset + offset);
  p->state_begin = b->rank->state_count;
  p->state_count = 2;
  for (int i = 0; i < 2; ++i) {
    char text[64];
    snprintf(text, sizeof text, "%s%s", name, suffixes[i]);
    b->rank->states[b->rank->state_count++] = (zb_plan_tensor){
        .name = zb_plan_strdup(b->plan, text), .shape = shape, .offset = region + (uint64_t)i * region + offset};
  }
  return p;
}

static inline void tiny_adamw(tiny_builder *b, zb_plan_subprogram *s, const zb_plan_parameter *p) {
  int64_t r = p->tensor.shape.dims[0], c = p->tensor.shape.dims[1];
  const zb_plan_tensor *m = &b->rank->states[p->state_begin], *v = m + 1;
  zb_plan_operand step = tiny_operand(0, b->rank->regions[ZB_REGION_STEP].offset, ZB_I64, 0, NULL);
  zb_plan_setting *settings = &b->rank->settings[b->rank->setting_count++];
  *settings = (zb_plan_setting){.kind = ZB_SETTING_UPDATE,
                                .name = p->tensor.name,
                                .offset = step.offset + (uint64_t)b->rank->setting_count * 16 - 8,
                                .defaults = zb_plan_alloc(b->plan, sizeof(double) * 2),
                                .default_count = 2};
  settings->defaults[0] = 0.01;
  settings->defaults[1] = 0.1;
  const zb_plan_operand operands[] = {TINY_F32(0, p->tensor.offset, r, c),
                                      TINY_F32(0, (uint64_t)p->gradient_offset, r, c),
                                      TINY_F32(0, m->offset, r, c),
                                      TINY_F32(0, v->offset, r, c),
                                      step,
                                      tiny_operand(0, settings->offset, ZB_F64, TINY_SHAPE(2)),
                                      TINY_F32(0, p->tensor.offset, r, c),
                                      TINY_F32(0, m->offset, r, c),
                                      TINY_F32(0, v->offset, r, c)};
  const zb_attr attrs[] = {{.name = "beta1", .kind = ZB_ATTR_FLOAT, .f = 0.9},
                           {.name = "beta2", .kind = ZB_ATTR_FLOAT, .f = 0.95},
                           {.name = "eps", .kind = ZB_ATTR_FLOAT, .f = 1e-8},
                           {.name = "gradient_scale", .kind = ZB_ATTR_FLOAT, .f = 1.0 / TINY_MICRO_BATCHES}};
  tiny_add(b, s, "adamw", p->tensor.name, 6, 3, operands, 4, attrs);
}

static inline zb_attr tiny_true(const char *name) { return (zb_attr){.name = name, .kind = ZB_ATTR_BOOL, .i = 1}; }
static inline zb_attr tiny_axis(int64_t axis) { return (zb_attr){.name = "axis", .kind = ZB_ATTR_INT, .i = axis}; }

static inline void tiny_rank0_programs(tiny_builder *b) {
  static const int64_t table[] = {TINY_VOCABULARY, TINY_WIDTH};
  zb_plan_parameter *wte = tiny_parameter(b, "wte", TINY_VOCABULARY, 8, 0),
                    *mid = tiny_parameter(b, "mid.weight", 8, 8, 8192);
  zb_attr transpose_rhs = tiny_true("transpose_rhs"), transpose_lhs = tiny_true("transpose_lhs"), axis = tiny_axis(0);
  zb_attr grad_attrs[] = {axis, {.name = "shape", .kind = ZB_ATTR_INTS, .ints = table, .count = 2}};

  zb_plan_subprogram *f = tiny_subprogram(b, "s0_F", 0, ZB_JOB_F, 1000000);
  tiny_base(b, f, "fw", TINY_FW0_BYTES);
  tiny_base(b, f, "h", 256);
  tiny_add(b, f, "gather", "wte", 2, 1,
           (zb_plan_operand[]){TINY_F32(0, 0, TINY_VOCABULARY, 8), TINY_I64(1, TINY_X, 8), TINY_F32(1, TINY_E, 8, 8)},
           1, &axis);
  tiny_add(b, f, "matmul", "mid", 2, 1,
           (zb_plan_operand[]){TINY_F32(1, TINY_E, 8, 8), TINY_F32(0, 8192, 8, 8), TINY_F32(2, 0, 8, 8)}, 0, NULL)
      ->product_flops = 1024;

  zb_plan_subprogram *bp = tiny_subprogram(b, "s0_B", 0, ZB_JOB_B, 1000000);
  tiny_base(b, bp, "bw", TINY_BW0_BYTES);
  tiny_add(b, bp, "matmul", "mid", 2, 1,
           (zb_plan_operand[]){TINY_F32(1, TINY_DH, 8, 8), TINY_F32(0, 8192, 8, 8), TINY_F32(1, TINY_DE, 8, 8)}, 1,
           &transpose_rhs);

  zb_plan_subprogram *w = tiny_subprogram(b, "s0_W", 0, ZB_JOB_W, 1000000);
  tiny_base(b, w, "fw", TINY_FW0_BYTES);
  tiny_base(b, w, "bw", TINY_BW0_BYTES);
  tiny_add(b, w, "gather_grad", "wte", 2, 1,
           (zb_plan_operand[]){TINY_I64(1, TINY_X, 8), TINY_F32(2, TINY_DE, 8, 8),
                               TINY_F32(0, (uint64_t)wte->gradient_offset, TINY_VOCABULARY, 8)},
           2, grad_attrs)
      ->accumulate = true;
  tiny_add(b, w, "matmul", "mid", 2, 1,
           (zb_plan_operand[]){TINY_F32(1, TINY_E, 8, 8), TINY_F32(2, TINY_DH, 8, 8),
                               TINY_F32(0, (uint64_t)mid->gradient_offset, 8, 8)},
           1, &transpose_lhs)
      ->accumulate = true;

  zb_plan_subprogram *opt = tiny_subprogram(b, "s0_UPDATE", 0, ZB_JOB_UPDATE, 500000);
  tiny_adamw(b, opt, wte);
  tiny_adamw(b, opt, mid);
}

static inline void tiny_rank0_jobs(tiny_builder *b) {
  int sends[TINY_MICRO_BATCHES];
  for (int i = 0; i <= TINY_MICRO_BATCHES; ++i) {
    if (i < TINY_MICRO_BATCHES) {
      uint64_t set = b->slots + (uint64_t)(i % 2) * TINY_SET0_BYTES;
      zb_plan_job *read = tiny_job(b, ZB_JOB_READ, -1, 0, i);
      read->input = 0;
      tiny_job_part(b, read, set + TINY_X, 64);
      zb_plan_job *f = tiny_job(b, ZB_JOB_F, 0, 0, i);
      tiny_job_base(b, f, set);
      tiny_job_base(b, f, set + TINY_FW0_BYTES);
      if (i >= 2) tiny_job_wait(b, f, sends[i - 2]);
      sends[i] = tiny_message_job(b, ZB_JOB_SEND, i < 2 ? i : 2 * i - 1, 0, i, set + TINY_FW0_BYTES);
    }
    if (i == 0) continue;
    uint64_t set = b->slots + (uint64_t)((i - 1) % 2) * TINY_SET0_BYTES, bw = set + TINY_FW0_BYTES + 256;
    int recv = tiny_message_job(b, ZB_JOB_RECV, i < 4 ? 2 * i : 7, 0, i - 1, bw + TINY_DH);
    zb_plan_job *bj = tiny_job(b, ZB_JOB_B, 1, 0, i - 1);
    tiny_job_base(b, bj, bw);
    tiny_job_wait(b, bj, recv);
    zb_plan_job *w = tiny_job(b, ZB_JOB_W, 2, 0, i - 1);
    tiny_job_base(b, w, set);
    tiny_job_base(b, w, bw);
  }
  tiny_job(b, ZB_JOB_UPDATE, 3, 0, -1);
}

static inline void tiny_rank1_programs(tiny_builder *b) {
  zb_plan_parameter *head = tiny_parameter(b, "head.weight", 8, TINY_VOCABULARY, 0);
  zb_attr transpose_rhs = tiny_true("transpose_rhs"), transpose_lhs = tiny_true("transpose_lhs");
  zb_attr mean = {.name = "reduction", .kind = ZB_ATTR_STRING, .s = "mean"};
  uint64_t zero = b->rank->regions[ZB_REGION_CONSTANTS].offset, one = zero + 64;
  static const uint8_t bytes[4] = {0, 0, 0, 0};
  b->rank->constants[0] = (zb_plan_constant){
      .tensor = {.name = "zero", .shape = {.dtype = ZB_F32}, .offset = zero}, .bytes = bytes, .byte_count = 4};
  b->rank->constants[1] =
      (zb_plan_constant){.tensor = {.name = "one", .shape = {.dtype = ZB_F32}, .offset = one}, .computed = true};
  b->rank->constant_count = 2;

  zb_plan_subprogram *f = tiny_subprogram(b, "s1_F", 1, ZB_JOB_F, 1000000);
  tiny_base(b, f, "fb", TINY_FB1_BYTES);
  tiny_base(b, f, "fw", 256);
  f->loss_base = 1;
  f->loss_offset = TINY_LOSS;
  tiny_add(b, f, "matmul", "head", 2, 1,
           (zb_plan_operand[]){TINY_F32(2, 0, 8, 8), TINY_F32(0, 0, 8, TINY_VOCABULARY),
                               TINY_F32(1, TINY_LOGITS, 8, TINY_VOCABULARY)},
           0, NULL);
  tiny_add(b, f, "cross_entropy", "loss", 2, 2,
           (zb_plan_operand[]){TINY_F32(1, TINY_LOGITS, 8, TINY_VOCABULARY), TINY_I64(1, TINY_Y, 8),
                               TINY_SCALAR(1, TINY_LOSS), TINY_F32(1, TINY_LSE, 8)},
           1, &mean);

  zb_plan_subprogram *bp = tiny_subprogram(b, "s1_B", 1, ZB_JOB_B, 1000000);
  tiny_base(b, bp, "fb", TINY_FB1_BYTES);
  tiny_base(b, bp, "bw", 8192);
  tiny_base(b, bp, "dh", 256);
  tiny_add(b, bp, "cross_entropy_grad", "loss", 4, 1,
           (zb_plan_operand[]){TINY_F32(1, TINY_LOGITS, 8, TINY_VOCABULARY), TINY_I64(1, TINY_Y, 8),
                               TINY_F32(1, TINY_LSE, 8), TINY_SCALAR(0, one), TINY_F32(2, 0, 8, TINY_VOCABULARY)},
           1, &mean);
  tiny_add(
      b, bp, "matmul", "head", 2, 1,
      (zb_plan_operand[]){TINY_F32(2, 0, 8, TINY_VOCABULARY), TINY_F32(0, 0, 8, TINY_VOCABULARY), TINY_F32(3, 0, 8, 8)},
      1, &transpose_rhs);

  zb_plan_subprogram *w = tiny_subprogram(b, "s1_W", 1, ZB_JOB_W, 1000000);
  tiny_base(b, w, "fw", 256);
  tiny_base(b, w, "bw", 8192);
  tiny_add(b, w, "matmul", "head", 2, 1,
           (zb_plan_operand[]){TINY_F32(1, 0, 8, 8), TINY_F32(2, 0, 8, TINY_VOCABULARY),
                               TINY_F32(0, (uint64_t)head->gradient_offset, 8, TINY_VOCABULARY)},
           1, &transpose_lhs)
      ->accumulate = true;

  tiny_adamw(b, tiny_subprogram(b, "s1_UPDATE", 1, ZB_JOB_UPDATE, 500000), head);
  zb_plan_subprogram *load = tiny_subprogram(b, "LOAD", -1, ZB_JOB_LOAD, 1000);
  tiny_add(b, load, "exp", "one", 1, 1, (zb_plan_operand[]){TINY_SCALAR(0, zero), TINY_SCALAR(0, one)}, 0, NULL);
}

static inline void tiny_rank1_jobs(tiny_builder *b) {
  tiny_job(b, ZB_JOB_LOAD, 4, -1, -1);
  b->rank->load_count = 1;
  int receives[TINY_MICRO_BATCHES + 1], sends[TINY_MICRO_BATCHES];
  receives[0] = tiny_message_job(b, ZB_JOB_RECV, 0, 1, 0, b->slots + TINY_FB1_BYTES);
  for (int i = 0; i < TINY_MICRO_BATCHES; ++i) {
    uint64_t fb = b->slots + (uint64_t)(i % 2) * TINY_SET1_BYTES, fw = fb + TINY_FB1_BYTES, bw = fw + 256,
             dh = bw + 8192;
    if (i + 1 < TINY_MICRO_BATCHES)
      receives[i + 1] = tiny_message_job(b, ZB_JOB_RECV, i == 0 ? 1 : 2 * i + 1, 1, i + 1,
                                         b->slots + (uint64_t)((i + 1) % 2) * TINY_SET1_BYTES + TINY_FB1_BYTES);
    zb_plan_job *read = tiny_job(b, ZB_JOB_READ, -1, 1, i);
    read->input = 1;
    tiny_job_part(b, read, fb + TINY_Y, 64);
    zb_plan_job *f = tiny_job(b, ZB_JOB_F, 0, 1, i);
    tiny_job_base(b, f, fb);
    tiny_job_base(b, f, fw);
    tiny_job_wait(b, f, receives[i]);
    tiny_job_part(b, tiny_job(b, ZB_JOB_REPORT, -1, 1, i), fb + TINY_LOSS, 4);
    zb_plan_job *bj = tiny_job(b, ZB_JOB_B, 1, 1, i);
    tiny_job_base(b, bj, fb);
    tiny_job_base(b, bj, bw);
    tiny_job_base(b, bj, dh);
    if (i >= 2) tiny_job_wait(b, bj, sends[i - 2]);
    sends[i] = tiny_message_job(b, ZB_JOB_SEND, i < 3 ? 2 * i + 2 : 7, 1, i, dh);
    zb_plan_job *w = tiny_job(b, ZB_JOB_W, 2, 1, i);
    tiny_job_base(b, w, fw);
    tiny_job_base(b, w, bw);
  }
  tiny_job(b, ZB_JOB_UPDATE, 3, 1, -1);
}

/* The whole plan; the caller owns it. */
static inline zb_plan *tiny_plan(void) {
  zb_plan *plan = zb_plan_create();
  plan->producer = "test";
  plan->model = "tiny";
  plan->schedule = "by-hand";
  plan->placement = "plain";
  plan->optimizer = "adamw:lr=0.01";
  plan->rank_count = plan->stage_count = 2;
  plan->chunk_count = 1;
  plan->micro_batches = TINY_MICRO_BATCHES;
  plan->stage_rank = zb_plan_alloc(plan, sizeof(int) * 2);
  plan->stage_rank[1] = 1;
  plan->inputs = zb_plan_alloc(plan, sizeof(zb_plan_input) * 2);
  plan->input_count = 2;
  plan->arguments = zb_plan_alloc(plan, sizeof(char *) * 3);
  plan->argument_count = 3;
  plan->arguments[0] = "x";
  plan->arguments[1] = "mask"; /* which no job reads */
  plan->arguments[2] = "y";
  for (int i = 0; i < 2; ++i)
    plan->inputs[i] =
        (zb_plan_input){i == 0 ? "x" : "y", {.dtype = ZB_I64, .rank = 2, .dims = {TINY_ROWS, TINY_LENGTH}}};
  plan->message_count = 2 * TINY_MICRO_BATCHES;
  plan->messages = zb_plan_alloc(plan, sizeof(zb_plan_message) * (size_t)plan->message_count);
  static const struct {
    char kind;
    int micro_batch;
  } order[] = {{'F', 0}, {'F', 1}, {'B', 0}, {'F', 2}, {'B', 1}, {'F', 3}, {'B', 2}, {'B', 3}};
  for (int i = 0; i < plan->message_count; ++i) {
    int source = order[i].kind == 'F' ? 0 : 1;
    plan->messages[i] = (zb_plan_message){.source = source,
                                          .destination = 1 - source,
                                          .source_stage = source,
                                          .destination_stage = 1 - source,
                                          .micro_batch = order[i].micro_batch,
                                          .payload = zb_payload_of(order[i].kind),
                                          .bytes = 256,
                                          .part_count = 1};
  }
  plan->link_latency_ps = 100000;
  plan->link_ps_per_byte = 100;
  plan->model_hash = 0x1234;
  plan->ranks = zb_plan_alloc(plan, sizeof(zb_plan_rank) * 2);
  tiny_builder b = {0};
  tiny_rank_init(&b, plan, 0, 8192 + 256, 0, 2 * TINY_SET0_BYTES);
  tiny_rank0_programs(&b);
  tiny_rank0_jobs(&b);
  tiny_rank_init(&b, plan, 1, 8192, 128, 2 * TINY_SET1_BYTES);
  tiny_rank1_programs(&b);
  tiny_rank1_jobs(&b);
  return plan;
}

static inline int64_t tiny_random(uint64_t *seed, int64_t below) {
  *seed = *seed * UINT64_C(6364136223846793005) + 1442695040888963407U;
  return (int64_t)(*seed >> 33) % below;
}

/* The tiny plan with other times everywhere, and every op named for the file. */
static inline zb_plan *tiny_random_plan(uint64_t seed) {
  zb_plan *plan = tiny_plan();
  for (int r = 0; r < plan->rank_count; ++r)
    for (int i = 0; i < plan->ranks[r].subprogram_count; ++i) {
      zb_plan_subprogram *s = &plan->ranks[r].subprograms[i];
      s->time_ps = 1000 + tiny_random(&seed, 1000000);
      s->first_ps = tiny_random(&seed, 2) * tiny_random(&seed, 1000000);
      s->key = (uint64_t)(100 * r + i + 1);
      for (int k = 0; k < s->instruction_count; ++k)
        s->instructions[k].cost_op = s->instructions[k].op;
    }
  plan->link_copies = tiny_random(&seed, 2) == 1;
  plan->link_latency_ps = tiny_random(&seed, 200000);
  plan->link_ps_per_byte = (double)tiny_random(&seed, 1000) / 8;
  plan->link_wake_ps = tiny_random(&seed, 3) * tiny_random(&seed, 100000);
  plan->job_ps = tiny_random(&seed, 3) * tiny_random(&seed, 10000);
  plan->read_ps = tiny_random(&seed, 2) * tiny_random(&seed, 100000);
  plan->step_ps = tiny_random(&seed, 100000);
  return plan;
}

/* Initial weights: small numbers from a fixed generator. */
static inline zb_store *tiny_weights(void) {
  static const struct {
    const char *name;
    int64_t rows, columns;
  } tensors[] = {{"wte", TINY_VOCABULARY, 8}, {"mid.weight", 8, 8}, {"head.weight", 8, TINY_VOCABULARY}};
  zb_store *store = zb_store_create();
  float values[TINY_VOCABULARY * 8];
  uint32_t random = 12345;
  for (int t = 0; t < 3; ++t) {
    for (int64_t i = 0; i < tensors[t].rows * tensors[t].columns; ++i) {
      random = random * 1664525u + 1013904223u;
      values[i] = ((float)(random >> 8) / 16777216.0f - 0.5f) * 0.5f;
    }
    zb_shape shape = {.dtype = ZB_F32, .rank = 2, .dims = {tensors[t].rows, tensors[t].columns}};
    CU_ASSERT_PTR_NULL_FATAL(zb_store_add(store, tensors[t].name, &shape, values, true));
  }
  return store;
}

/* A folder of this test process under the build tree; made. Static text. */
static inline const char *tiny_folder(void) {
  static char path[512];
  snprintf(path, sizeof path, "%s/test/scratch-exec-%ld", ZB_BINARY_DIR, (long)getpid());
  zb_status status = zb_make_folder(path);
  CU_ASSERT_PTR_NULL_FATAL(status);
  return path;
}

/* "FOLDER/name" in a buffer of the caller. */
static inline const char *tiny_path(char text[600], const char *name) {
  snprintf(text, 600, "%s/%s", tiny_folder(), name);
  return text;
}

/* After the tests: no assertions here. */
static inline int tiny_remove_folder(void) {
  char command[700];
  snprintf(command, sizeof command, "rm -rf '%s/test/scratch-exec-%ld'", ZB_BINARY_DIR, (long)getpid());
  return system(command);
}

/* Runs the suite; the exit status of main. */
static inline int tiny_run(const char *name, CU_TestInfo *tests) {
  CU_SuiteInfo suites[] = {{.pName = name, .pTests = tests}, CU_SUITE_INFO_NULL};
  int failed = suite_run(suites);
  return tiny_remove_folder() != 0 || failed;
}

/* As a new file: one that a session reads must not change. */
static inline void tiny_write(const char *path, const void *bytes, size_t count) {
  char temporary[2048];
  snprintf(temporary, sizeof temporary, "%s.new", path);
  FILE *file = fopen(temporary, "wb");
  CU_ASSERT_PTR_NOT_NULL_FATAL(file);
  CU_ASSERT_EQUAL(fwrite(bytes, 1, count, file), count);
  CU_ASSERT_EQUAL(fclose(file), 0);
  CU_ASSERT_EQUAL(rename(temporary, path), 0);
}

/* Writes letters to FOLDER/name, other ones for another stride: "text:FOLDER/name", in source. */
enum { TINY_TEXT_BYTES = 2000, TINY_SOURCE_BYTES = 640 };
static inline const char *tiny_text(const char *name, size_t bytes, size_t stride, char source[TINY_SOURCE_BYTES]) {
  char path[600], text[TINY_TEXT_BYTES];
  for (size_t i = 0; i < bytes; ++i)
    text[i] = (char)('a' + (i * stride + i / (stride + 2)) % 26);
  tiny_write(tiny_path(path, name), text, bytes);
  snprintf(source, TINY_SOURCE_BYTES, "text:%s", path);
  return source;
}

/* The corpus of the tests. */
static inline const char *tiny_data(void) {
  static char source[TINY_SOURCE_BYTES];
  return tiny_text("corpus.txt", 400, 7, source);
}

static inline zb_status tiny_session(const zb_session_params *params, zb_plan *plan, bool poison, zb_session **out) {
  zb_store *weights = tiny_weights();
  zb_session_sources sources = {.plan = plan, .weights = weights, .poison = poison};
  zb_status status = zb_session_create_from(params, &sources, out);
  zb_store_destroy(weights);
  return status;
}

/* Prints and fails on a status that should be NULL. */
#define TINY_OK(expression)                                                                                            \
  do {                                                                                                                 \
    zb_status tiny_status = (expression);                                                                              \
    if (tiny_status) printf("\n%s", zb_status_text(tiny_status));                                                      \
    CU_ASSERT_PTR_NULL_FATAL(tiny_status);                                                                             \
  } while (0)

/* Checks code and that the whole text contains `word`; frees the status. */
static inline void tiny_expect(zb_status status, zb_code code, const char *word) {
  CU_ASSERT_PTR_NOT_NULL_FATAL(status);
  if (zb_status_code(status) != code || !strstr(zb_status_text(status), word))
    printf("\nexpected %s and '%s', got %s: %s", zb_code_name(code), word, zb_code_name(zb_status_code(status)),
           zb_status_text(status));
  CU_ASSERT_EQUAL(zb_status_code(status), code);
  CU_ASSERT_PTR_NOT_NULL(strstr(zb_status_text(status), word));
  zb_status_free(status);
}

#endif
