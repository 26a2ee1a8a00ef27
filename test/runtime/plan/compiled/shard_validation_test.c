/* Plans of shards with post-validation, as zbc makes them: the proof accepts them, and refuses planted faults by which
 * a verdict would wait for other shards, or find another factor than they do. What holds of plans without shards is
 * validation_test.c; what they train is test/e2e/validation.py. */
#include <stdlib.h>
#include <string.h>

#include "test/runtime/plan/compiled/plan_sums.h"
#include "runtime/plan/clock/simulator.h"
#include "runtime/plan/proof/proof.h"
#include "test/suite.h"

enum { RANKS = 2, SHARDS = 2 };

/* A tied parameter on both ranks, and parameters that every shard has whole. */
static int open_suite(void) {
  return compiled_plan_open(
      "Inputs/shards.mlir",
      (zb_compile_params){
          .ranks = RANKS, .micro_batches = 3, .tensor_parallel = SHARDS, .clip_norm = "0.5", .post_validation = true});
}

static int count_sums(const zb_plan_subprogram *subprogram) {
  int count = 0;
  for (int i = 0; i < subprogram->instruction_count; ++i)
    count += zb_collective_of_op(subprogram->instructions[i].op) != ZB_COLLECTIVE_COUNT;
  return count;
}

/* The NORM that sums numbers over shards: the rank has one. */
static zb_plan_subprogram *sum_of(zb_plan_rank *rank) {
  for (int s = 0; s < rank->subprogram_count; ++s)
    if (rank->subprograms[s].kind == ZB_JOB_NORM && rank->subprograms[s].instruction_count == 1 &&
        strcmp(rank->subprograms[s].instructions[0].op, "all_reduce") == 0)
      return &rank->subprograms[s];
  return NULL;
}

static zb_plan_subprogram *clip_of(zb_plan_rank *rank) {
  return &rank->subprograms[rank->jobs[zb_plan_find_job(rank, ZB_JOB_CLIP)].subprogram];
}

static void test_right_plan(void) {
  zb_plan *plan = plan_sums_read();
  zb_plan_simulation simulation;
  zb_status status = zb_plan_verify(plan);
  if (status) fprintf(stderr, "\n  %s\n", zb_status_text(status));
  CU_ASSERT_PTR_NULL_FATAL(status);
  for (int r = 0; r < RANKS; ++r) {
    CU_ASSERT_EQUAL(count_sums(clip_of(&plan->ranks[r])), 0);
    CU_ASSERT((sum_of(&plan->ranks[r]) != NULL) == (r == 0)); /* the other rank has no number of a part */
    CU_ASSERT(zb_plan_find_job(&plan->ranks[r], ZB_JOB_VERDICT) >= 0);
  }
  CU_ASSERT_PTR_NULL_FATAL(zb_plan_simulate(plan, &simulation));
  zb_plan_simulation_free(&simulation);
  zb_plan_destroy(plan);
}

/* ---- Planted faults, on rank 0 ---- */

/* CLIP sums the numbers as well; the plan says so. */
static void verdict_waits_for_shards(zb_plan *plan, zb_plan_rank *rank) {
  zb_plan_subprogram *clip = clip_of(rank);
  zb_plan_instruction *more = zb_plan_alloc(plan, ((size_t)clip->instruction_count + 1) * sizeof *more);
  memcpy(more + 1, clip->instructions, (size_t)clip->instruction_count * sizeof *more);
  zb_plan_operand *operands = zb_plan_alloc(plan, 2 * sizeof *operands);
  more[0] = sum_of(rank)->instructions[0];
  operands[0] = operands[1] = clip->instructions[0].inputs[0];
  more[0].inputs = &operands[0];
  more[0].outputs = &operands[1];
  clip->instructions = more;
  clip->workspace_bytes = rank->regions[ZB_REGION_WORKSPACE].bytes;
  ++clip->instruction_count;
  ++plan->shard_sums[2 * rank->rank];
}
static void numbers_of_one_shard(zb_plan *plan, zb_plan_rank *rank) {
  sum_of(rank)->instruction_count = 0;
  --plan->shard_sums[2 * rank->rank];
}
static void greatest_of_squares(zb_plan *plan, zb_plan_rank *rank) {
  zb_plan_instruction *sum = &sum_of(rank)->instructions[0];
  (void)plan;
  for (int i = 0; i < sum->attr_count; ++i)
    if (strcmp(sum->attrs[i].name, "reduction") == 0) sum->attrs[i].s = "max";
}
static void last_is_not_summed(zb_plan *plan, zb_plan_rank *rank) {
  zb_plan_instruction *sum = &sum_of(rank)->instructions[0];
  (void)plan;
  --sum->inputs[0].shape[0];
  --sum->outputs[0].shape[0];
}
static void first_is_not_summed(zb_plan *plan, zb_plan_rank *rank) {
  zb_plan_instruction *sum = &sum_of(rank)->instructions[0];
  last_is_not_summed(plan, rank);
  sum->inputs[0].offset += 8;
  sum->outputs[0].offset += 8;
}
static void summed_before_it_is_made(zb_plan *plan, zb_plan_rank *rank) {
  int sum = zb_plan_find_job(rank, ZB_JOB_SNAPSHOT);
  (void)plan;
  while (rank->jobs[sum].kind != ZB_JOB_NORM)
    --sum;
  const zb_plan_job kept = rank->jobs[sum];
  rank->jobs[sum] = rank->jobs[sum - 1];
  rank->jobs[sum - 1] = kept;
}

static const struct {
  const char *name, *rule;
  void (*plant)(zb_plan *plan, zb_plan_rank *rank);
} faults[] = {{"verdict waits for shards", "waits for other shards", verdict_waits_for_shards},
              {"numbers of one shard", "and is not of all parts", numbers_of_one_shard},
              {"greatest of squares", "and is not of all parts", greatest_of_squares},
              {"last is not summed", "and is not of all parts", last_is_not_summed},
              {"first is not summed", "and is not of all parts", first_is_not_summed},
              {"summed before it is made", "rule \"dataflow\"", summed_before_it_is_made}};

static void test_planted_faults(void) {
  for (size_t f = 0; f < sizeof faults / sizeof faults[0]; ++f) {
    zb_plan *plan = plan_sums_read();
    faults[f].plant(plan, &plan->ranks[0]);
    zb_status status = zb_plan_verify(plan);
    const char *text = status ? zb_status_text(status) : "nothing";
    if (!strstr(text, faults[f].rule) || getenv("ZB_TEST_SHOW")) fprintf(stderr, "\n  %s: %s\n", faults[f].name, text);
    CU_ASSERT_EQUAL(zb_status_code(status), ZB_INVALID);
    CU_ASSERT(strstr(text, faults[f].rule) != NULL);
    zb_status_free(status);
    zb_plan_destroy(plan);
  }
}

SUITE_MAIN_WITH("shard validation", open_suite, compiled_plan_close, {"right plan", test_right_plan},
                {"planted faults", test_planted_faults})
