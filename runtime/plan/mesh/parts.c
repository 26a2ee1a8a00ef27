/* Where a W can be cut so that what it has completed travels while it goes on: zb_part_cut of expand.h. Tests:
 * test/runtime/plan/compiled/buckets_test.c */
#include "runtime/plan/mesh/expand.h"
#include "runtime/plan/file/check.h"
#include "runtime/plan/file/intervals.h"

typedef struct cuts {
  const zb_plan_rank *rank;
  const zb_plan_subprogram *subprogram;
  zb_intervals written; /* the workspace; writer: the last instruction */
  int *crossing;        /* [instruction] how many values begin to live, less how many end, before it */
} cuts;

static bool in_workspace(const cuts *it, const zb_plan_operand *operand) {
  const zb_plan_range *workspace = &it->rank->regions[ZB_REGION_WORKSPACE];
  return operand->rank >= 0 && operand->base == 0 && operand->offset >= workspace->offset &&
         operand->offset < workspace->offset + workspace->bytes;
}

/* A value that instruction `writer` made is read by `reader`: no cut lies between them. */
static void read_value(cuts *it, const zb_plan_operand *operand, int reader) {
  const uint64_t begin = operand->offset, end = begin + (uint64_t)zb_operand_extent(operand);
  if (!in_workspace(it, operand)) return;
  for (size_t i = zb_intervals_find(&it->written, begin); i < it->written.count && it->written.items[i].begin < end;
       ++i) {
    ++it->crossing[it->written.items[i].writer + 1];
    --it->crossing[reader + 1];
  }
}

static void follow(cuts *it, int index) {
  const zb_plan_instruction *instruction = &it->subprogram->instructions[index];
  for (int k = 0; k < instruction->input_count; ++k)
    read_value(it, &instruction->inputs[k], index);
  if (instruction->accumulate) read_value(it, &instruction->outputs[0], index);
  for (int k = 0; k < instruction->output_count; ++k) {
    const zb_plan_operand *result = &instruction->outputs[k];
    const uint64_t bytes = (uint64_t)zb_operand_extent(result);
    if (in_workspace(it, result) && bytes > 0)
      zb_intervals_assign(&it->written, result->offset, result->offset + bytes, index);
  }
}

/* The instruction behind the last one that writes to one of the ranges; gradients of a micro-batch lie in a base. */
static int behind_writers(const zb_plan_rank *rank, const zb_plan_job *job, const zb_plan_range *ranges,
                          uint32_t count) {
  const zb_plan_subprogram *subprogram = &rank->subprograms[job->subprogram];
  for (int i = subprogram->instruction_count; i > 0; --i) {
    const zb_plan_instruction *instruction = &subprogram->instructions[i - 1];
    for (int k = 0; k < instruction->output_count; ++k) {
      const zb_plan_operand *result = &instruction->outputs[k];
      const uint64_t base = result->base ? rank->pool_u64[job->bases.begin + result->base - 1] : 0;
      const uint64_t begin = base + result->offset, end = begin + (uint64_t)zb_operand_extent(result);
      for (uint32_t r = 0; r < count && result->rank >= 0; ++r)
        if (begin < ranges[r].offset + ranges[r].bytes && ranges[r].offset < end) return i;
    }
  }
  return subprogram->instruction_count; /* it writes to none of them */
}

bool zb_cuts_of(const zb_plan_rank *rank, const zb_plan_subprogram *subprogram, bool *cuts_at) {
  const int instructions = subprogram->instruction_count;
  cuts it = {.rank = rank, .subprogram = subprogram};
  it.crossing = zb_alloc(((size_t)instructions + 2) * sizeof *it.crossing);
  if (!it.crossing) return false;
  for (int i = 0; i < instructions; ++i)
    follow(&it, i);
  for (int i = 0, live = 0; i <= instructions; ++i) {
    live += it.crossing[i];
    cuts_at[i] = live == 0 || i == instructions;
  }
  const bool failed = it.written.failed;
  zb_intervals_deinit(&it.written);
  zb_free(it.crossing);
  return !failed;
}

int zb_part_cut(const zb_plan_rank *rank, const zb_plan_job *job, const zb_plan_range *ranges, uint32_t count) {
  const zb_plan_subprogram *subprogram = &rank->subprograms[job->subprogram];
  bool *cuts_at = zb_alloc((size_t)subprogram->instruction_count + 1);
  int cut = 0;
  if (cuts_at && zb_cuts_of(rank, subprogram, cuts_at)) {
    cut = behind_writers(rank, job, ranges, count);
    while (!cuts_at[cut])
      ++cut;
  }
  zb_free(cuts_at);
  return cut;
}
