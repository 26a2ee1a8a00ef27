/* Sums of groups of micro-batches (zbc --sum-groups): what a plan with sum_groups > 1 is carried as. expand.h
 * says what a FOLD is, and runtime/plan/proof/groups.c what must hold.
 *
 * A replica adds up the gradients of its micro-batches, and its total is then added to those of the replicas before it.
 * One pipeline in the place of D replicas does the same: the micro-batches of a step are D groups of equal size, and
 * behind the last job of a group that adds to sums of gradients its total is added to the totals before. Those lie in
 * the upper half of the region gradients, each as far above the sum as that half is above the region.
 *
 *   behind the first group    total = sum    sum = 0
 *   behind one in between     total += sum   sum = 0
 *   behind the last           sum += total
 *
 * An addition of two numbers has one result in either order, so the sum then is the left fold of all groups, where
 * whatever reads sums finds it; the first total is a copy, since 0 + -0 would be another zero.
 *
 * Replicas that scatter the sum of each micro-batch (gradients:micro-batch) add up in another order: first what all of
 * them made of their micro-batch m, then these sums, onto zeros. In their place (sum_inner) a FOLD stands behind every
 * job that adds to sums; micro-batch m of a group has a total m of its own, and behind these lies one of all of them:
 *
 *   m of the first group      total m = sum    sum = 0
 *   m of one behind it        total m += sum   sum = 0
 *   m of the last, too        all += total m
 *   the last micro-batch      sum = all
 *
 * Tests: test/runtime/plan/compiled/groups_test.c, test/e2e/replicas.py
 */
#include <stdio.h>
#include <string.h>

#include "runtime/plan/file/check.h"
#include "runtime/plan/mesh/expand.h"

enum { FOLD_INSTRUCTIONS = 3 }; /* of a sum, at most */

bool zb_fold_adds_to(const zb_plan_rank *rank, const zb_plan_operand *operand, uint64_t *out_bytes) {
  *out_bytes = (uint64_t)zb_operand_extent(operand);
  return operand->rank >= 0 && operand->base == 0 && *out_bytes > 0 &&
         zb_plan_region_of(rank, operand->offset, *out_bytes) == ZB_REGION_GRADIENTS;
}

bool zb_fold_sums(const zb_plan_rank *rank, const zb_plan_subprogram *subprogram, zb_intervals *out) {
  for (int i = 0; i < subprogram->instruction_count; ++i)
    for (int k = 0; k < subprogram->instructions[i].output_count; ++k) {
      const zb_plan_operand *sum = &subprogram->instructions[i].outputs[k];
      uint64_t bytes;
      if (zb_fold_adds_to(rank, sum, &bytes)) zb_intervals_assign(out, sum->offset, sum->offset + bytes, 0);
    }
  return !out->failed;
}

bool zb_fold_adds(const zb_plan_rank *rank, const zb_plan_subprogram *subprogram) {
  uint64_t bytes;
  if (subprogram->kind != ZB_JOB_F && subprogram->kind != ZB_JOB_B && subprogram->kind != ZB_JOB_W) return false;
  for (int i = 0; i < subprogram->instruction_count; ++i)
    for (int k = 0; k < subprogram->instructions[i].output_count; ++k)
      if (zb_fold_adds_to(rank, &subprogram->instructions[i].outputs[k], &bytes)) return true;
  return false;
}

bool zb_fold_follows(const zb_plan *plan, const zb_plan_rank *rank, const zb_plan_job *job) {
  if (plan->sum_groups < 2 || job->subprogram < 0 || job->micro_batch < 0) return false;
  const int size = plan->micro_batches / plan->sum_groups;
  return (plan->sum_inner || job->micro_batch % size == size - 1) &&
         zb_fold_adds(rank, &rank->subprograms[job->subprogram]);
}

/* ---- The subprogram of a FOLD ---- */

static zb_plan_operand operand_of(uint64_t offset, uint64_t bytes) {
  zb_plan_operand operand = {.offset = offset, .dtype = ZB_F32, .rank = 1};
  operand.shape[0] = (int64_t)(bytes / sizeof(float));
  operand.strides[0] = 1;
  return operand;
}

bool zb_add_instruction(zb_plan *plan, zb_plan_subprogram *subprogram, const char *op, const zb_plan_operand *in,
                        const zb_plan_operand *out) {
  zb_plan_operand *operands = zb_plan_alloc(plan, 3 * sizeof *operands);
  const bool accumulates = strcmp(op, "accumulate_add") == 0, compares = strcmp(op, "max") == 0;
  if (!operands) return false;
  operands[0] = *in;
  operands[1] = operands[2] = *out;
  subprogram->instructions[subprogram->instruction_count++] =
      (zb_plan_instruction){.op = op,
                            .location = subprogram->name,
                            .inputs = operands,
                            .input_count = compares ? 2 : 1,
                            .outputs = operands + 2,
                            .output_count = 1,
                            .accumulate = accumulates,
                            .flops = accumulates || compares ? (double)out->shape[0] : 0,
                            .cost_op = ""};
  subprogram->flops += accumulates || compares ? (double)out->shape[0] : 0;
  return true;
}

static bool add_zeros(zb_plan *plan, zb_plan_subprogram *subprogram, const zb_plan_operand *out) {
  zb_plan_operand *operand = zb_plan_alloc(plan, sizeof *operand);
  zb_attr *attrs = zb_plan_alloc(plan, 5 * sizeof *attrs);
  int64_t *shape = zb_plan_alloc(plan, sizeof *shape);
  if (!operand || !attrs || !shape) return false;
  *operand = *out;
  *shape = out->shape[0];
  attrs[0] = (zb_attr){.name = "shape", .kind = ZB_ATTR_INTS, .ints = shape, .count = 1};
  attrs[1] = (zb_attr){.name = "axis", .kind = ZB_ATTR_INT};
  attrs[2] = (zb_attr){.name = "start", .kind = ZB_ATTR_FLOAT};
  attrs[3] = (zb_attr){.name = "step", .kind = ZB_ATTR_FLOAT};
  attrs[4] = (zb_attr){.name = "dtype", .kind = ZB_ATTR_STRING, .s = zb_dtype_name(ZB_F32)};
  subprogram->instructions[subprogram->instruction_count++] = (zb_plan_instruction){.op = "iota",
                                                                                    .location = subprogram->name,
                                                                                    .outputs = operand,
                                                                                    .output_count = 1,
                                                                                    .attrs = attrs,
                                                                                    .attr_count = 5,
                                                                                    .cost_op = ""};
  return true;
}

uint64_t zb_fold_buffers(const zb_plan *plan) {
  return plan->sum_inner ? 2 + (uint64_t)(plan->micro_batches / plan->sum_groups) : 2;
}

static zb_plan_operand moved(const zb_plan_operand *sum, uint64_t bytes) {
  zb_plan_operand there = *sum;
  there.offset += bytes;
  return there;
}

/* One sum behind its group. above: from the sums to the totals. */
static bool fold_sum(const zb_plan *plan, zb_plan *memory, zb_plan_subprogram *fold, const zb_plan_operand *sum,
                     uint64_t above, int group) {
  const zb_plan_operand total = moved(sum, above);
  if (group == plan->sum_groups - 1) return zb_add_instruction(memory, fold, "accumulate_add", &total, sum);
  return zb_add_instruction(memory, fold, group == 0 ? "contiguous" : "accumulate_add", sum, &total) &&
         add_zeros(memory, fold, sum);
}

/* One sum behind a micro-batch, which is number `m` of its group. */
static bool fold_inner(const zb_plan *plan, zb_plan *memory, zb_plan_subprogram *fold, const zb_plan_operand *sum,
                       uint64_t above, int group, int m) {
  const int size = plan->micro_batches / plan->sum_groups;
  const zb_plan_operand total = moved(sum, above * (uint64_t)(1 + m)), all = moved(sum, above * (uint64_t)(1 + size));
  const bool last = group == plan->sum_groups - 1;
  if (!zb_add_instruction(memory, fold, group == 0 ? "contiguous" : "accumulate_add", sum, &total)) return false;
  if (last && !zb_add_instruction(memory, fold, "accumulate_add", &total, &all)) return false;
  return last && m == size - 1 ? zb_add_instruction(memory, fold, "contiguous", &all, sum)
                               : add_zeros(memory, fold, sum);
}

zb_status zb_fold_make(const zb_plan *plan, zb_plan *memory, const zb_plan_rank *rank, const zb_plan_job *job,
                       zb_plan_subprogram *out) {
  const zb_plan_subprogram *adds = &rank->subprograms[job->subprogram];
  const uint64_t above = rank->regions[ZB_REGION_GRADIENTS].bytes / zb_fold_buffers(plan);
  const int size = plan->micro_batches / plan->sum_groups, group = job->micro_batch / size;
  zb_intervals sums = {0};
  char name[128];
  bool fits = zb_fold_sums(rank, adds, &sums);
  snprintf(name, sizeof name, "%s_FOLD_%d", adds->name, plan->sum_inner ? job->micro_batch : group);
  *out = (zb_plan_subprogram){.name = zb_plan_strdup(memory, name), .stage = adds->stage, .kind = ZB_JOB_FOLD};
  out->instructions = zb_plan_alloc(memory, FOLD_INSTRUCTIONS * (sums.count + 1) * sizeof *out->instructions);
  out->bases = zb_plan_alloc(memory, sizeof *out->bases);
  out->base_bytes = zb_plan_alloc(memory, sizeof *out->base_bytes);
  fits = fits && out->name && out->instructions && out->bases && out->base_bytes;
  for (size_t i = 0; i < sums.count && fits; ++i) {
    const uint64_t begin = sums.items[i].begin, bytes = sums.items[i].end - begin;
    const zb_plan_operand sum = operand_of(begin, bytes);
    fits = plan->sum_inner ? fold_inner(plan, memory, out, &sum, above, group, job->micro_batch % size)
                           : fold_sum(plan, memory, out, &sum, above, group);
  }
  zb_intervals_deinit(&sums);
  return fits ? NULL : ZB_OUT_OF_MEMORY();
}

/* ---- Rule "groups" ---- */
