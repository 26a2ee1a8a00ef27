/* A plan whose ranks, or some of them, add up what each made: by an all-gather, a reduce-scatter or an all-reduce. What
 * comes out is known without any of them.
 *
 * Rank r is stage r. F hands on a value that grows on its way (so there are messages beside the collective), W adds the
 * frozen parameter x.r to the rank's sum of gradients once a micro-batch. The members (ranks with their bit set in
 * `members`) share the parameter p, to which UPDATE adds the sum over all members, in their order; after a
 * reduce-scatter member k adds its shard to a parameter p.k of its own. The loss is the first element of what the last
 * rank makes. */
#ifndef ZB_TEST_COLLECTIVE_PLAN_H
#define ZB_TEST_COLLECTIVE_PLAN_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/plan/file/collective.h"

enum { COLLECTIVE_MEMBERS_MAX = 8, COLLECTIVE_VALUE = 16 }; /* elements of the value that F hands on */

typedef struct collective_case {
  zb_collective_kind kind;
  int ranks, members; /* members: bits */
  int elements, micro_batches;
} collective_case;

typedef struct collective_builder {
  const collective_case *about;
  int replicas; /* of all ranks: the one member sums over them; 0: the members are listed */
  zb_plan *plan;
  zb_plan_rank *rank;
  int member, member_count; /* of this rank; -1: none */
  uint64_t sum_bytes;
  uint64_t x, p, gradients, slots, workspace, landing; /* offsets in the arena */
} collective_builder;

static inline void *collective_take(collective_builder *b, size_t count, size_t bytes) {
  void *memory = zb_plan_alloc(b->plan, count * bytes);
  if (!memory) abort();
  return memory;
}

static inline zb_plan_operand collective_operand(uint32_t base, uint64_t offset, int64_t elements) {
  zb_plan_operand operand = {.base = base, .offset = offset, .dtype = ZB_F32, .rank = 1};
  operand.shape[0] = elements;
  operand.strides[0] = 1;
  return operand;
}

static inline zb_plan_subprogram *collective_subprogram(collective_builder *b, const char *name, zb_job_kind kind) {
  zb_plan_subprogram *s = &b->rank->subprograms[b->rank->subprogram_count++];
  *s = (zb_plan_subprogram){
      .name = name, .stage = kind == ZB_JOB_UPDATE ? -1 : b->rank->rank, .kind = kind, .time_ps = 1000};
  s->instructions = collective_take(b, COLLECTIVE_MEMBERS_MAX, sizeof *s->instructions);
  s->bases = collective_take(b, 2, sizeof *s->bases);
  s->base_bytes = collective_take(b, 2, sizeof *s->base_bytes);
  return s;
}

/* out = a + b, or, without b, out += a. */
static inline void collective_add(collective_builder *b, zb_plan_subprogram *s, zb_plan_operand out, zb_plan_operand x,
                                  const zb_plan_operand *y) {
  zb_plan_instruction *i = &s->instructions[s->instruction_count++];
  *i = (zb_plan_instruction){.op = y ? "add" : "accumulate_add", .location = "", .cost_op = "", .accumulate = !y};
  i->inputs = collective_take(b, 3, sizeof *i->inputs);
  i->inputs[0] = x;
  if (y) i->inputs[1] = *y;
  i->input_count = y ? 2 : 1;
  i->outputs = i->inputs + i->input_count;
  i->outputs[0] = out;
  i->output_count = 1;
}

static inline void collective_base(zb_plan_subprogram *s, const char *name) {
  s->bases[s->base_count] = name;
  s->base_bytes[s->base_count++] = COLLECTIVE_VALUE * sizeof(float);
}

static inline const zb_plan_collective *collective_row(const collective_builder *b) { return &b->plan->collectives[0]; }

/* The own shard of the sum; the sum itself where every member has it whole. */
static inline zb_plan_range collective_result(const collective_builder *b) {
  if (b->about->kind != ZB_COLLECTIVE_REDUCE_SCATTER) return (zb_plan_range){0, b->sum_bytes};
  return zb_collective_shard(b->plan, collective_row(b), 0, b->member);
}

static inline void collective_layout(collective_builder *b) {
  static const zb_region_kind order[] = {ZB_REGION_PARAMETERS, ZB_REGION_BUFFERS,   ZB_REGION_STATE,
                                         ZB_REGION_GRADIENTS,  ZB_REGION_CONSTANTS, ZB_REGION_STEP,
                                         ZB_REGION_SNAPSHOT,   ZB_REGION_SLOTS,     ZB_REGION_WORKSPACE};
  const uint64_t sum = zb_align(b->sum_bytes), value = COLLECTIVE_VALUE * sizeof(float);
  bool gathers = b->about->kind == ZB_COLLECTIVE_ALL_GATHER;
  uint64_t landing = b->member >= 0 && !gathers ? zb_collective_landing_bytes(b->plan, collective_row(b)) : 0;
  const uint64_t bytes[ZB_REGION_COUNT] = {
      [ZB_REGION_PARAMETERS] = 2 * sum,
      [ZB_REGION_GRADIENTS] = sum * (uint64_t)(gathers ? b->member_count : 1),
      [ZB_REGION_STEP] = 64,
      [ZB_REGION_SLOTS] = 2 * value * (uint64_t)b->about->micro_batches + landing,
      [ZB_REGION_WORKSPACE] = sum * COLLECTIVE_MEMBERS_MAX,
  };
  uint64_t at = 0;
  for (int i = 0; i < ZB_REGION_COUNT; ++i) {
    b->rank->regions[order[i]] = (zb_plan_range){at, bytes[order[i]]};
    at = zb_align(at + bytes[order[i]]);
  }
  b->rank->arena_bytes = at;
  b->x = b->rank->regions[ZB_REGION_PARAMETERS].offset;
  b->p = b->x + sum;
  b->gradients = b->rank->regions[ZB_REGION_GRADIENTS].offset;
  b->slots = b->rank->regions[ZB_REGION_SLOTS].offset;
  b->landing = b->slots + 2 * value * (uint64_t)b->about->micro_batches;
  b->workspace = b->rank->regions[ZB_REGION_WORKSPACE].offset;
}

static inline void collective_parameter(collective_builder *b, const char *name, int number, uint64_t offset,
                                        uint64_t bytes, bool trained) {
  char text[32];
  snprintf(text, sizeof text, number < 0 ? "%s" : "%s.%d", name, number);
  zb_plan_parameter *parameter = &b->rank->parameters[b->rank->parameter_count++];
  *parameter = (zb_plan_parameter){
      .trained = trained, .owner = !trained || number >= 0 || b->member == 0, .gradient_offset = -1};
  if (trained && b->about->kind != ZB_COLLECTIVE_ALL_GATHER) /* else it is summed in the workspace */
    parameter->gradient_offset = (int64_t)(b->gradients + collective_result(b).offset);
  parameter->tensor =
      (zb_plan_tensor){.name = zb_plan_strdup(b->plan, text),
                       .shape = {.dtype = ZB_F32, .rank = 1, .dims = {(int64_t)(bytes / sizeof(float))}},
                       .offset = offset};
}

/* Where the sum of a member is on this rank: after an all-gather there is one a member. */
static inline uint64_t collective_sum(const collective_builder *b, int member) {
  bool gathers = b->about->kind == ZB_COLLECTIVE_ALL_GATHER;
  return b->gradients + (gathers ? zb_align(b->sum_bytes) * (uint64_t)member : 0);
}

static inline void collective_update(collective_builder *b) {
  zb_plan_subprogram *update = collective_subprogram(b, "UPDATE", ZB_JOB_UPDATE);
  const int64_t n = b->about->elements;
  zb_plan_range result = collective_result(b);
  zb_plan_operand sum =
      collective_operand(0, collective_sum(b, 0) + result.offset, (int64_t)(result.bytes / sizeof(float)));
  for (int m = 1; b->about->kind == ZB_COLLECTIVE_ALL_GATHER && m < b->member_count; ++m) {
    zb_plan_operand next = collective_operand(0, collective_sum(b, m), n);
    zb_plan_operand out = collective_operand(0, b->workspace + zb_align(b->sum_bytes) * (uint64_t)m, n);
    collective_add(b, update, out, sum, &next);
    sum = out;
  }
  zb_plan_operand p = collective_operand(0, b->p, sum.shape[0]);
  collective_add(b, update, p, p, &sum);
  update->workspace_bytes = b->rank->regions[ZB_REGION_WORKSPACE].bytes;
}

static inline void collective_programs(collective_builder *b) {
  int r = b->rank->rank, last = b->about->ranks - 1;
  b->rank->subprograms = collective_take(b, 3, sizeof *b->rank->subprograms);
  zb_plan_subprogram *forward = collective_subprogram(b, "F", ZB_JOB_F);
  zb_plan_operand x = collective_operand(0, b->x, COLLECTIVE_VALUE), in = collective_operand(1, 0, COLLECTIVE_VALUE);
  if (r > 0) collective_base(forward, "in");
  collective_base(forward, r < last ? "out" : "loss");
  collective_add(b, forward, collective_operand(r > 0 ? 2 : 1, 0, COLLECTIVE_VALUE), x, r > 0 ? &in : &x);
  forward->loss_base = r == last ? (uint32_t)forward->base_count : 0;
  if (b->member < 0) return;
  zb_plan_subprogram *weights = collective_subprogram(b, "W", ZB_JOB_W);
  collective_add(b, weights, collective_operand(0, collective_sum(b, b->member), b->about->elements),
                 collective_operand(0, b->x, b->about->elements), NULL);
  collective_update(b);
}

/* ---- Jobs ---- */

static inline zb_plan_job *collective_job(collective_builder *b, zb_job_kind kind, int subprogram, int micro_batch) {
  zb_plan_job *job = &b->rank->jobs[b->rank->job_count++];
  *job = (zb_plan_job){.kind = kind,
                       .subprogram = subprogram,
                       .stage = zb_job_is_compute(kind) && kind != ZB_JOB_UPDATE ? b->rank->rank : -1,
                       .micro_batch = micro_batch,
                       .message = -1,
                       .input = -1,
                       .bases = {b->rank->pool_u64_count, 0},
                       .parts = {b->rank->pool_range_count, 0},
                       .waits = {b->rank->pool_u32_count, 0}};
  return job;
}

static inline void collective_part(collective_builder *b, zb_plan_job *job, uint64_t offset, uint64_t bytes) {
  b->rank->pool_ranges[b->rank->pool_range_count++] = (zb_plan_range){offset, bytes};
  ++job->parts.count;
}

static inline void collective_wait(collective_builder *b, zb_plan_job *job, int other) {
  b->rank->pool_u32[b->rank->pool_u32_count++] = (uint32_t)other;
  ++job->waits.count;
}

static inline void collective_bring(collective_builder *b, zb_plan_job *job, uint64_t address) {
  b->rank->pool_u64[b->rank->pool_u64_count++] = address;
  ++job->bases.count;
}

static inline void collective_forward(collective_builder *b, int m) {
  const uint64_t value = COLLECTIVE_VALUE * sizeof(float);
  const uint64_t in = b->slots + 2 * value * (uint64_t)m, out = in + value;
  int r = b->rank->rank, pairs = b->about->ranks - 1, received = b->rank->job_count;
  if (r > 0) {
    zb_plan_job *recv = collective_job(b, ZB_JOB_RECV, -1, m);
    recv->message = m * pairs + r - 1;
    collective_part(b, recv, in, value);
  }
  zb_plan_job *forward = collective_job(b, ZB_JOB_F, 0, m);
  if (r > 0) collective_bring(b, forward, in);
  collective_bring(b, forward, out);
  if (r > 0) collective_wait(b, forward, received);
  if (r == pairs) {
    collective_part(b, collective_job(b, ZB_JOB_REPORT, -1, m), out, sizeof(float));
    return;
  }
  zb_plan_job *send = collective_job(b, ZB_JOB_SEND, -1, m);
  send->message = m * pairs + r;
  collective_part(b, send, out, value);
}

static inline void collective_jobs(collective_builder *b) {
  size_t most = (size_t)b->about->micro_batches * 4 + 4;
  b->rank->jobs = collective_take(b, most, sizeof *b->rank->jobs);
  b->rank->pool_u64 = collective_take(b, most * 2, sizeof *b->rank->pool_u64);
  b->rank->pool_u32 = collective_take(b, most, sizeof *b->rank->pool_u32);
  b->rank->pool_ranges = collective_take(b, most + COLLECTIVE_MEMBERS_MAX, sizeof *b->rank->pool_ranges);
  for (int m = 0; m < b->about->micro_batches; ++m) {
    collective_forward(b, m);
    if (b->member >= 0) collective_job(b, ZB_JOB_W, 1, m);
  }
  if (b->member < 0) return;
  zb_plan_job *exchange = collective_job(b, ZB_JOB_COLLECTIVE, -1, -1);
  exchange->collective = 1;
  if (b->about->kind == ZB_COLLECTIVE_ALL_GATHER) {
    for (int m = 0; m < b->member_count; ++m)
      collective_part(b, exchange, collective_sum(b, m), b->sum_bytes);
  } else {
    collective_part(b, exchange, b->gradients, b->sum_bytes);
    collective_part(b, exchange, b->landing, zb_collective_landing_bytes(b->plan, collective_row(b)));
  }
  zb_plan_job *update = collective_job(b, ZB_JOB_UPDATE, 2, -1);
  collective_wait(b, update, b->rank->job_count - 2);
}

/* ---- The plan ---- */

static inline void collective_transfers(collective_builder *b) {
  zb_plan *plan = b->plan;
  int pairs = b->about->ranks - 1;
  plan->messages = collective_take(b, (size_t)(pairs * b->about->micro_batches) + 1, sizeof *plan->messages);
  for (int m = 0; m < b->about->micro_batches; ++m)
    for (int r = 0; r < pairs; ++r)
      plan->messages[plan->message_count++] = (zb_plan_message){.source = r,
                                                                .destination = r + 1,
                                                                .source_stage = r,
                                                                .destination_stage = r + 1,
                                                                .micro_batch = m,
                                                                .payload = ZB_PAYLOAD_FORWARD,
                                                                .bytes = COLLECTIVE_VALUE * sizeof(float),
                                                                .part_count = 1};
  bool gathers = b->about->kind == ZB_COLLECTIVE_ALL_GATHER;
  plan->pool_u64 = collective_take(b, 3 * COLLECTIVE_MEMBERS_MAX, sizeof *plan->pool_u64);
  plan->collectives = collective_take(b, 1, sizeof *plan->collectives);
  plan->collective_count = 1;
  zb_plan_collective *row = plan->collectives;
  *row = (zb_plan_collective){.kind = b->about->kind,
                              .coordinate = b->replicas > 0,
                              .payload = ZB_PAYLOAD_GRADIENTS,
                              .dtype = ZB_F32,
                              .before = plan->message_count};
  uint32_t count = (uint32_t)b->member_count, at = 0;
  row->members = (zb_plan_slice){at, count};
  for (int r = 0; r < b->about->ranks; ++r)
    if (b->about->members >> r & 1) plan->pool_u64[at++] = (uint64_t)r;
  row->counts = (zb_plan_slice){at, gathers ? count : 0};
  for (uint32_t i = 0; i < row->counts.count; ++i)
    plan->pool_u64[at++] = 1;
  row->sizes = (zb_plan_slice){at, gathers ? count : 1};
  for (uint32_t i = 0; i < row->sizes.count; ++i)
    plan->pool_u64[at++] = b->sum_bytes;
  plan->pool_u64_count = at;
}

static inline int collective_bits(int bits) { return bits ? (bits & 1) + collective_bits(bits >> 1) : 0; }

/* The caller destroys the plan. */
static inline zb_plan *collective_plan_of(const collective_case *about, int replicas) {
  collective_builder b = {.about = about,
                          .replicas = replicas,
                          .plan = zb_plan_create(),
                          .member_count = collective_bits(about->members),
                          .sum_bytes = (uint64_t)about->elements * sizeof(float)};
  if (!b.plan) abort();
  zb_plan *plan = b.plan;
  plan->producer = "test";
  plan->model = "sums";
  plan->schedule = "fthenb";
  plan->placement = "plain";
  plan->optimizer = "sgd:lr=1";
  plan->precision = "f32";
  plan->rank_count = plan->stage_count = about->ranks;
  plan->chunk_count = 1;
  plan->micro_batches = about->micro_batches;
  plan->replicas = replicas;
  plan->stage_rank = collective_take(&b, (size_t)about->ranks, sizeof *plan->stage_rank);
  plan->link_latency_ps = 100;
  plan->link_ps_per_byte = 1;
  plan->model_hash = 0x77;
  plan->ranks = collective_take(&b, (size_t)about->ranks, sizeof *plan->ranks);
  collective_transfers(&b);
  for (int r = 0; r < about->ranks; ++r) {
    plan->stage_rank[r] = r;
    b.rank = &plan->ranks[r];
    b.rank->rank = r;
    b.member = zb_collective_member(plan, plan->collectives, r);
    b.rank->parameters = collective_take(&b, 2, sizeof *b.rank->parameters);
    collective_layout(&b);
    collective_parameter(&b, "x", r, b.x, b.sum_bytes, false);
    if (b.member >= 0)
      collective_parameter(&b, "p", about->kind == ZB_COLLECTIVE_REDUCE_SCATTER ? b.member : -1, b.p,
                           collective_result(&b).bytes, true);
    collective_programs(&b);
    collective_jobs(&b);
  }
  return plan;
}

static inline zb_plan *collective_plan(const collective_case *about) { return collective_plan_of(about, 0); }

#endif
