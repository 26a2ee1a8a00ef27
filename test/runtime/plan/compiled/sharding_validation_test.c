/* Plans of replicas that share optimizer state, with post-validation, as zbc makes them: what brings the parts of
 * updated parameters to all replicas runs again with the updates where a step is taken back. The proof accepts them,
 * and refuses planted faults after which a replica would go on with parts that were not taken back. What holds of plans
 * whose replicas share nothing is validation_test.c; what they train is test/e2e/validation.py. */
#include <stdlib.h>
#include <string.h>

#include "test/runtime/plan/compiled/plan_sums.h"
#include "runtime/plan/clock/simulator.h"
#include "runtime/plan/proof/proof.h"
#include "test/suite.h"

enum { RANKS = 2, REPLICAS = 3 };

/* Copies of parameters in bf16, which are made again behind the gather, and a tied parameter on both ranks. */
static int open_plan(const char *sharding) {
  return compiled_plan_open("Inputs/shards.mlir", (zb_compile_params){.ranks = RANKS,
                                                                      .micro_batches = 3,
                                                                      .data_parallel = REPLICAS,
                                                                      .precision = "bf16",
                                                                      .clip_norm = "0.5",
                                                                      .post_validation = true,
                                                                      .sharding = sharding});
}

static int open_suite(void) { return open_plan("optimizer"); }

static int gather_of(const zb_plan *plan, const zb_plan_rank *rank) {
  int job = rank->job_count;
  while (--job >= 0)
    if (rank->jobs[job].collective &&
        plan->collectives[rank->jobs[job].collective - 1].payload == ZB_PAYLOAD_PARAMETERS)
      return job;
  return -1;
}

static bool is_kept(const zb_plan_rank *rank, uint64_t offset, uint64_t bytes) {
  const zb_plan_job *snapshot = &rank->jobs[zb_plan_find_job(rank, ZB_JOB_SNAPSHOT)];
  for (uint32_t p = 0; p < snapshot->parts.count; ++p) {
    const zb_plan_range part = rank->pool_ranges[snapshot->parts.begin + p];
    if (offset >= part.offset && offset + bytes <= part.offset + part.bytes) return true;
  }
  return false;
}

static void check_right_plan(void) {
  zb_plan *plan = plan_sums_read();
  zb_plan_simulation simulation;
  zb_status status = zb_plan_verify(plan);
  if (status) fprintf(stderr, "\n  %s\n", zb_status_text(status));
  CU_ASSERT_PTR_NULL_FATAL(status);
  for (int r = 0; r < RANKS; ++r) {
    const zb_plan_rank *rank = &plan->ranks[r];
    const zb_plan_slice parts = rank->jobs[gather_of(plan, rank)].parts;
    for (uint32_t p = 0; p < parts.count; ++p) { /* those of all replicas */
      const zb_plan_range part = rank->pool_ranges[parts.begin + p];
      CU_ASSERT(is_kept(rank, part.offset, REPLICAS * part.bytes));
    }
    CU_ASSERT(zb_plan_find_job(rank, ZB_JOB_RENEW) > gather_of(plan, rank));
    CU_ASSERT(zb_plan_find_job(rank, ZB_JOB_SNAPSHOT) < zb_plan_find_job(rank, ZB_JOB_UPDATE));
  }
  CU_ASSERT_PTR_NULL_FATAL(zb_plan_simulate(plan, &simulation));
  zb_plan_simulation_free(&simulation);
  zb_plan_destroy(plan);
}

static void test_right_plans(void) {
  static const char *const levels[] = {"gradients:micro-batch", "gradients:step", "optimizer"};
  for (int i = 0; i < 3; ++i) { /* the last is the one of the suite */
    CU_ASSERT_EQUAL_FATAL(compiled_plan_close(), 0);
    CU_ASSERT_EQUAL_FATAL(open_plan(levels[i]), 0);
    check_right_plan();
  }
}

/* ---- Planted faults ---- */

static void own_part_is_kept_alone(zb_plan *plan, zb_plan_rank *rank) {
  const zb_plan_job *gather = &rank->jobs[gather_of(plan, rank)];
  plan_sums_keep_less(rank, ZB_REGION_PARAMETERS,
                      (REPLICAS - 1) * rank->pool_ranges[gather->parts.begin + gather->parts.count - 1].bytes);
}
static void last_part_is_not_kept(zb_plan *plan, zb_plan_rank *rank) {
  (void)plan;
  plan_sums_keep_less(rank, ZB_REGION_PARAMETERS, 64);
}
static void copies_are_not_kept(zb_plan *plan, zb_plan_rank *rank) {
  (void)plan;
  plan_sums_keep_less(rank, ZB_REGION_CONSTANTS, 64);
}
static void gathered_before_the_snapshot(zb_plan *plan, zb_plan_rank *rank) {
  plan_sums_swap(rank, gather_of(plan, rank), zb_plan_find_job(rank, ZB_JOB_SNAPSHOT));
}
static void renewed_before_the_snapshot(zb_plan *plan, zb_plan_rank *rank) {
  (void)plan;
  plan_sums_swap(rank, zb_plan_find_job(rank, ZB_JOB_RENEW), zb_plan_find_job(rank, ZB_JOB_SNAPSHOT));
}
static void updated_before_the_snapshot(zb_plan *plan, zb_plan_rank *rank) {
  (void)plan;
  plan_sums_swap(rank, zb_plan_find_job(rank, ZB_JOB_UPDATE), zb_plan_find_job(rank, ZB_JOB_SNAPSHOT));
}

static const plan_fault faults[] = {FAULT(own_part_is_kept_alone),      FAULT(last_part_is_not_kept),
                                    FAULT(copies_are_not_kept),         FAULT(gathered_before_the_snapshot),
                                    FAULT(renewed_before_the_snapshot), FAULT(updated_before_the_snapshot)};

static void test_planted_faults(void) { plan_sums_refuses(faults, sizeof faults / sizeof faults[0], RANKS); }

SUITE_MAIN_WITH("sharding validation", open_suite, compiled_plan_close, {"right plans", test_right_plans},
                {"planted faults", test_planted_faults})
