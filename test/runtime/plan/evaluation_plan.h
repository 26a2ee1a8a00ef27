/* The sample plan with an evaluation: stage s computes z = a.w and hands it on; the last one gives the loss, and z as
 * the output "logits" of the plan. Every home has `depth` slots, used in turn; the slots lie where those of the step
 * begin. */
#ifndef ZB_TEST_EVALUATION_PLAN_H
#define ZB_TEST_EVALUATION_PLAN_H

#include "test/runtime/plan/sample_plan.h"

enum { EVALUATION_IN = 256, EVALUATION_OUT = 256, EVALUATION_LOSS = 64, EVALUATION_WORKSPACE = 128, EVALUATION_PS = 7 };
enum { EVALUATION_OUTPUT = 128, EVALUATION_OUTPUT_BYTES = 4 * 8 * 4 };

/* The subprogram E of a rank, behind all others. */
static inline int evaluation_subprogram(const zb_plan *plan, int rank) {
  return plan->ranks[rank].subprogram_count - 1;
}

static inline void evaluation_program(sample *it, zb_plan_rank *rank) {
  const bool last = rank->rank == it->ranks - 1;
  const uint64_t workspace = rank->evaluation_workspace.offset;
  zb_plan_subprogram *subprograms = sample_take(it, (size_t)rank->subprogram_count + 1, sizeof *subprograms);
  memcpy(subprograms, rank->subprograms, (size_t)rank->subprogram_count * sizeof *subprograms);
  rank->subprograms = subprograms;
  zb_plan_subprogram *e = sample_subprogram(it, rank, "E", rank->rank, ZB_JOB_EVALUATE, EVALUATION_PS);
  e->workspace_bytes = EVALUATION_WORKSPACE;
  const uint32_t in = sample_base(e, "in", EVALUATION_IN), out = sample_base(e, "out", EVALUATION_OUT);
  zb_plan_instruction *product = sample_add(it, e, "matmul", 2, 1);
  product->inputs[0] = sample_operand(in, 0, ZB_F32, 4, 16);
  product->inputs[1] = sample_operand(0, sample_at(rank, ZB_REGION_PARAMETERS), ZB_F32, 16, 8);
  product->outputs[0] = sample_operand(0, workspace, ZB_F32, 4, 8);
  zb_plan_instruction *next = sample_add(it, e, last ? "cross_entropy" : "concat", 2, 1);
  next->inputs[0] = next->inputs[1] = product->outputs[0];
  if (!last) {
    next->outputs[0] = sample_operand(out, 0, ZB_F32, 4, 16);
    return;
  }
  next->inputs[1] = sample_operand(out, 0, ZB_I64, 4, 0);
  next->outputs[0] = sample_operand(out, EVALUATION_LOSS, ZB_F32, 0, 0);
  e->loss_base = out;
  e->loss_offset = EVALUATION_LOSS;
  zb_plan_instruction *kept = sample_add(it, e, "relu", 1, 1);
  kept->inputs[0] = product->outputs[0];
  kept->outputs[0] = sample_operand(out, EVALUATION_OUTPUT, ZB_F32, 4, 8);
  e->outputs = sample_take(it, 1, sizeof *e->outputs);
  e->outputs[0] = (zb_plan_output_home){.output = 0, .base = out, .offset = EVALUATION_OUTPUT};
  e->output_count = 1;
}

/* Message of a micro-batch to the next rank. */
static inline int evaluation_message(const zb_plan *plan, int source, int micro_batch) {
  return plan->message_count - plan->evaluation_messages + micro_batch * (plan->rank_count - 1) + source;
}

static inline void evaluation_messages(sample *it) {
  zb_plan *plan = it->plan;
  const int count = (it->ranks - 1) * it->micro_batches;
  zb_plan_message *messages = sample_take(it, (size_t)(plan->message_count + count) + 1, sizeof *messages);
  memcpy(messages, plan->messages, (size_t)plan->message_count * sizeof *messages);
  plan->messages = messages;
  plan->evaluation_messages = count;
  for (int m = 0; m < it->micro_batches; ++m)
    for (int r = 0; r + 1 < it->ranks; ++r)
      messages[plan->message_count++] = (zb_plan_message){.source = r,
                                                          .destination = r + 1,
                                                          .source_stage = r,
                                                          .destination_stage = r + 1,
                                                          .micro_batch = m,
                                                          .payload = ZB_PAYLOAD_FORWARD,
                                                          .bytes = EVALUATION_OUT,
                                                          .part_count = 1};
}

/* More room in the lists of a rank. */
static inline void evaluation_room(sample *it, zb_plan_rank *rank) {
  const size_t more = (size_t)it->micro_batches * 6;
#define MORE(items, count)                                                                                             \
  do {                                                                                                                 \
    void *grown = sample_take(it, (size_t)rank->count + more, sizeof *rank->items);                                    \
    if (rank->count) memcpy(grown, rank->items, (size_t)rank->count * sizeof *rank->items);                            \
    rank->items = grown;                                                                                               \
  } while (0)
  MORE(jobs, job_count);
  MORE(pool_u64, pool_u64_count);
  MORE(pool_u32, pool_u32_count);
  MORE(pool_ranges, pool_range_count);
#undef MORE
}

static inline void evaluation_jobs(sample *it, zb_plan_rank *rank, int depth) {
  sample_rank at = {.it = it, .rank = rank};
  const bool first = rank->rank == 0, last = rank->rank == it->ranks - 1;
  const int begin = rank->job_count;
  int *sends = sample_take(it, (size_t)it->micro_batches, sizeof *sends);
  evaluation_room(it, rank);
  for (int m = 0; m < it->micro_batches; ++m) {
    const uint64_t in = rank->evaluation_slots.offset + (uint64_t)(m % depth) * (EVALUATION_IN + EVALUATION_OUT),
                   out = in + EVALUATION_IN;
    const int received = rank->job_count;
    zb_plan_job *job = sample_job(&at, first ? ZB_JOB_READ : ZB_JOB_RECV, m);
    sample_part(&at, job, in, EVALUATION_IN);
    if (first)
      job->input = 0;
    else
      job->message = evaluation_message(it->plan, rank->rank - 1, m);
    if (last) sample_read(&at, m, 1, out, 64);
    job = sample_job(&at, ZB_JOB_EVALUATE, m);
    job->subprogram = evaluation_subprogram(it->plan, rank->rank);
    sample_bring(&at, job, in);
    sample_bring(&at, job, out);
    if (!first) rank->pool_u32[rank->pool_u32_count++] = (uint32_t)received, ++job->waits.count;
    if (!last && m >= depth) rank->pool_u32[rank->pool_u32_count++] = (uint32_t)sends[m - depth], ++job->waits.count;
    sends[m] = rank->job_count;
    job = sample_job(&at, last ? ZB_JOB_REPORT : ZB_JOB_SEND, m);
    if (!last) {
      sample_part(&at, job, out, EVALUATION_OUT), job->message = evaluation_message(it->plan, rank->rank, m);
      continue;
    }
    sample_part(&at, job, out + EVALUATION_LOSS, 4);
    job = sample_job(&at, ZB_JOB_REPORT, m);
    job->output = 1;
    sample_part(&at, job, out + EVALUATION_OUTPUT, EVALUATION_OUTPUT_BYTES);
  }
  rank->evaluation_count = rank->job_count - begin;
}

/* depth 0: as many slots as micro-batches, for the evaluation too. */
static inline zb_plan *evaluation_plan(int ranks, int micro_batches, int depth) {
  zb_plan *plan = sample_plan(ranks, micro_batches, 0);
  sample it = {.plan = plan, .ranks = ranks, .micro_batches = micro_batches, .depth = depth ? depth : micro_batches};
  plan->evaluates = true;
  plan->outputs = sample_take(&it, 1, sizeof *plan->outputs);
  plan->outputs[0] = (zb_plan_output){.name = "logits", .shape = {.dtype = ZB_F32, .rank = 2, .dims = {4, 8}}};
  plan->output_count = 1;
  evaluation_messages(&it);
  for (int r = 0; r < ranks; ++r) {
    zb_plan_rank *rank = &plan->ranks[r];
    const uint64_t begin = rank->regions[ZB_REGION_SLOTS].offset,
                   bytes = (uint64_t)it.depth * (EVALUATION_IN + EVALUATION_OUT);
    rank->evaluation_slots = (zb_plan_range){begin, bytes};
    rank->evaluation_workspace = (zb_plan_range){begin + bytes, EVALUATION_WORKSPACE};
    evaluation_program(&it, rank);
    evaluation_jobs(&it, rank, it.depth);
  }
  return plan;
}

#endif
