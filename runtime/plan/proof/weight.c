/* The weight of a step in a weighted plan, for the rule "norms" of the verifier (norms.c): what B or W adds up for it
 * is what F reports of each micro-batch, so gradients are divided by what the printed loss is divided by.
 *
 * Where sums of micro-batches are added to parts of gradients, what adds up the pair is found where they are made.
 *
 * F leaves a sum of losses and its weight as a pair. That bytes which a job reads are those of its micro-batch, and
 * that nothing lies over them, is the rule "dataflow".
 *
 * Tests: test/runtime/plan/compiled/loss_mean_test.c */
#include <string.h>

#include "runtime/plan/proof/rules.h"

bool zb_weight_is_pair(const zb_plan_operand *operand, zb_dtype dtype) {
  return operand->rank == 1 && operand->shape[0] == ZB_WEIGHT_NUMBERS && operand->dtype == dtype &&
         zb_operand_is_contiguous(operand);
}

/* Where B or W adds to a pair: at an offset of the arena, or of a base of one subprogram. */
typedef struct pair_place {
  int subprogram; /* -1: any */
  uint32_t base;
  uint64_t offset;
} pair_place;

/* Whether it writes to the pair there. */
static bool writes_to(const zb_plan_instruction *instruction, pair_place at) {
  for (int k = 0; k < instruction->output_count; ++k) {
    const zb_plan_operand *out = &instruction->outputs[k];
    if (out->base == at.base && out->offset < at.offset + ZB_WEIGHT_NUMBERS * sizeof(float) &&
        out->offset + (uint64_t)zb_operand_extent(out) > at.offset)
      return true;
  }
  return false;
}

/* Whether it gives zeros, as what a frame of gradients begins with. */
static bool gives_zeros(const zb_plan_instruction *instruction) {
  const zb_attrs attrs = {instruction->attrs, instruction->attr_count};
  const zb_attr *start = zb_attr_find(&attrs, "start"), *step = zb_attr_find(&attrs, "step");
  return strcmp(instruction->op, "iota") == 0 && start && start->f == 0 && step && step->f == 0;
}

/* Where the sum of a micro-batch is made that a collective adds to a part of gradients; false: none adds there. That it
 * is at the same place for every micro-batch is the rule "sharding". */
static bool find_made(const zb_plan *plan, const zb_plan_rank *rank, uint64_t part, pair_place *out) {
  for (int i = 0; i < rank->job_count; ++i) {
    const zb_plan_job *job = &rank->jobs[i];
    const zb_plan_collective *collective = job->collective ? &plan->collectives[job->collective - 1] : NULL;
    const zb_plan_range *homes = rank->pool_ranges + job->parts.begin;
    for (uint32_t b = 0; collective && !collective->apart && collective->of_micro_batch && b < collective->sizes.count;
         ++b) {
      if (homes[collective->sizes.count + 1 + b].offset != part) continue;
      const int maker = zb_sharding_maker(rank, i, homes[b], &out->base);
      if (maker < 0) return false;
      out->subprogram = rank->jobs[maker].subprogram;
      out->offset = homes[b].offset - rank->pool_u64[rank->jobs[maker].bases.begin + out->base - 1];
      return true;
    }
  }
  return false;
}

/* The instruction of the rank that adds to the pair there, in B or W; false: none does, or several. */
static bool find_adder(const zb_plan_rank *rank, pair_place at, int *out_subprogram, const zb_plan_operand **out) {
  int found = 0;
  for (int s = 0; s < rank->subprogram_count; ++s) {
    const zb_plan_subprogram *subprogram = &rank->subprograms[s];
    if (at.subprogram >= 0 && at.subprogram != s) continue;
    for (int i = 0; (subprogram->kind == ZB_JOB_B || subprogram->kind == ZB_JOB_W) && i < subprogram->instruction_count;
         ++i) {
      const zb_plan_instruction *instruction = &subprogram->instructions[i];
      if (!writes_to(instruction, at) || (at.base && found == 0 && gives_zeros(instruction))) continue;
      ++found;
      if (!instruction->accumulate || strcmp(instruction->op, "accumulate_add") != 0 ||
          instruction->outputs[0].offset != at.offset)
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

bool zb_weight_is_reported(const zb_plan *plan, const zb_plan_rank *rank, uint64_t offset) {
  const zb_plan_operand *added = NULL;
  pair_place at = {.subprogram = -1, .offset = offset};
  int subprogram = -1;
  if (zb_sharding_sums_each(plan->sharding) && !find_made(plan, rank, offset, &at)) return false;
  if (!find_adder(rank, at, &subprogram, &added) || added->base == 0) return false;
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
