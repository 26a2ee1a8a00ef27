/* The weight of a step in a weighted plan, for the rule "norms" of the verifier (norms.c): what B or W adds up for it
 * is what F reports of each micro-batch, so gradients are divided by what the printed loss is divided by.
 *
 * F leaves a sum of losses and its weight as a pair. That bytes which a job reads are those of its micro-batch, and
 * that nothing lies over them, is the rule "dataflow".
 *
 * Tests: test/passes/loss_mean_test.c */
#include <string.h>

#include "runtime/plan/verifier.h"

bool zb_weight_is_pair(const zb_plan_operand *operand, zb_dtype dtype) {
  return operand->rank == 1 && operand->shape[0] == ZB_WEIGHT_NUMBERS && operand->dtype == dtype &&
         zb_operand_is_contiguous(operand);
}

/* Whether it writes to the pair at that offset of the arena. */
static bool writes_to(const zb_plan_instruction *instruction, uint64_t offset) {
  for (int k = 0; k < instruction->output_count; ++k) {
    const zb_plan_operand *out = &instruction->outputs[k];
    if (out->base == 0 && out->offset < offset + ZB_WEIGHT_NUMBERS * sizeof(float) &&
        out->offset + (uint64_t)zb_operand_extent(out) > offset)
      return true;
  }
  return false;
}

/* The instruction of the rank that adds to the sum at that offset, in B or W; false: none does, or several. */
static bool find_adder(const zb_plan_rank *rank, uint64_t offset, int *out_subprogram, const zb_plan_operand **out) {
  int found = 0;
  for (int s = 0; s < rank->subprogram_count; ++s) {
    const zb_plan_subprogram *subprogram = &rank->subprograms[s];
    for (int i = 0; (subprogram->kind == ZB_JOB_B || subprogram->kind == ZB_JOB_W) && i < subprogram->instruction_count;
         ++i) {
      const zb_plan_instruction *instruction = &subprogram->instructions[i];
      if (!writes_to(instruction, offset)) continue;
      ++found;
      if (!instruction->accumulate || strcmp(instruction->op, "accumulate_add") != 0 ||
          instruction->outputs[0].offset != offset)
        return false;
      *out_subprogram = s;
      *out = &instruction->inputs[0];
    }
  }
  return found == 1 && zb_weight_is_pair(*out, ZB_F32);
}

/* Where the F of that micro-batch leaves its loss; false: no F of the rank does. */
static bool find_left_loss(const zb_plan_rank *rank, int micro_batch, uint64_t *out) {
  for (int i = 0; i < rank->job_count; ++i) {
    const zb_plan_job *job = &rank->jobs[i];
    if (job->kind != ZB_JOB_F || job->micro_batch != micro_batch) continue;
    const zb_plan_subprogram *f = &rank->subprograms[job->subprogram];
    if (!f->loss_base) continue;
    *out = rank->pool_u64[job->bases.begin + f->loss_base - 1] + f->loss_offset;
    return true;
  }
  return false;
}

bool zb_weight_is_reported(const zb_plan_rank *rank, uint64_t offset) {
  const zb_plan_operand *added = NULL;
  int subprogram = -1;
  if (!find_adder(rank, offset, &subprogram, &added) || added->base == 0) return false;
  for (int i = 0; i < rank->job_count; ++i) {
    const zb_plan_job *job = &rank->jobs[i];
    uint64_t left;
    if (job->subprogram != subprogram) continue;
    if (!find_left_loss(rank, job->micro_batch, &left) ||
        rank->pool_u64[job->bases.begin + added->base - 1] + added->offset != left)
      return false;
  }
  return true;
}
