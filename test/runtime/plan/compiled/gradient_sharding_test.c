/* Plans of replicas that keep a part of each sum of gradients (zbc --sharding gradients:step), as zbc makes them: the
 * proof accepts them with any number of replicas, and refuses planted faults by which a replica would keep whole sums,
 * or one sum would land where another is still added up. What holds of parameters and optimizer state is
 * sharding_test.c; what they train is test/e2e/sharding.py. */
#include "test/runtime/plan/compiled/plan_sums.h"
#include "runtime/plan/proof/proof.h"
#include "test/suite.h"

enum { RANKS = 2, REPLICAS = 4, MICRO_BATCHES = 3 };

/* A tied parameter on both ranks, many buckets, and dimensions that four does not divide. */
static int open_suite(void) {
  return compiled_plan_open("Inputs/shards.mlir", (zb_compile_params){.ranks = RANKS,
                                                                      .micro_batches = MICRO_BATCHES,
                                                                      .data_parallel = REPLICAS,
                                                                      .precision = "bf16",
                                                                      .bucket_bytes = 64,
                                                                      .sharding = "gradients:step"});
}

/* Sums land in one room, each behind the one before; with any number of replicas the proof holds. */
static void test_right_plan(void) {
  zb_plan *plan = plan_sums_read();
  zb_status status = zb_plan_verify(plan);
  if (status) fprintf(stderr, "\n  %s\n", zb_status_text(status));
  CU_ASSERT_PTR_NULL_FATAL(status);
  CU_ASSERT_EQUAL(plan->sharding, ZB_SHARDING_GRADIENTS_STEP);
  for (int r = 0; r < RANKS; ++r) {
    int sums[PLAN_SUMS_MAX], count = plan_sums_find(plan, &plan->ranks[r], sums);
    CU_ASSERT_FATAL(count > 1);
    for (int i = 1; i < count; ++i) {
      CU_ASSERT(zb_job_waits_for(&plan->ranks[r], &plan->ranks[r].jobs[sums[i]], sums[i - 1]));
      if (sums[i] == sums[i - 1] + 1)
        CU_ASSERT_EQUAL(plan_sums_landing(plan, &plan->ranks[r], sums[i])->offset,
                        plan_sums_landing(plan, &plan->ranks[r], sums[i - 1])->offset);
    }
  }
  zb_plan_destroy(plan);
}

/* ---- Planted faults ---- */

static void sum_kept_whole(zb_plan *plan, zb_plan_rank *rank) {
  int sums[PLAN_SUMS_MAX];
  plan_sums_find(plan, rank, sums);
  plan->collectives[rank->jobs[sums[0]].collective - 1].kind = ZB_COLLECTIVE_ALL_REDUCE;
}
static void last_sum_kept_whole(zb_plan *plan, zb_plan_rank *rank) {
  int sums[PLAN_SUMS_MAX], count = plan_sums_find(plan, rank, sums);
  plan->collectives[rank->jobs[sums[count - 1]].collective - 1].kind = ZB_COLLECTIVE_ALL_REDUCE;
}
static void sent_before_the_last_is_added(zb_plan *plan, zb_plan_rank *rank) {
  int sums[PLAN_SUMS_MAX];
  plan_sums_find(plan, rank, sums);
  rank->jobs[sums[1]].waits.count = 0;
}
static void waits_for_an_earlier_one(zb_plan *plan, zb_plan_rank *rank) {
  int sums[PLAN_SUMS_MAX], count = plan_sums_find(plan, rank, sums);
  zb_plan_slice *waits = &rank->jobs[sums[count - 1]].waits;
  if (count == 2) waits->count = 0;
  for (uint32_t w = 0; w < waits->count; ++w)
    rank->pool_u32[waits->begin + w] = (uint32_t)sums[0];
}
static void last_sum_is_not_added(zb_plan *plan, zb_plan_rank *rank) {
  int sums[PLAN_SUMS_MAX], count = plan_sums_find(plan, rank, sums);
  plan_sums_never_wait(rank, 0, rank->job_count - 1, sums[count - 1]);
}
/* The sum before the last is added up once the last one is on its way: who waited for its own messages alone does not
 * know of it. */
static void optimizer_waits_for_one_before(zb_plan *plan, zb_plan_rank *rank) {
  int sums[PLAN_SUMS_MAX], count = plan_sums_find(plan, rank, sums);
  for (uint32_t i = 0; i < rank->pool_u32_count; ++i)
    if (rank->pool_u32[i] == (uint32_t)sums[count - 1]) rank->pool_u32[i] = (uint32_t)sums[count - 2];
}
static void lands_in_its_own_sums(zb_plan *plan, zb_plan_rank *rank) {
  int sums[PLAN_SUMS_MAX];
  plan_sums_find(plan, rank, sums);
  plan_sums_landing(plan, rank, sums[1])->offset = rank->pool_ranges[rank->jobs[sums[1]].parts.begin].offset;
}
static void room_is_too_small(zb_plan *plan, zb_plan_rank *rank) {
  int sums[PLAN_SUMS_MAX];
  plan_sums_find(plan, rank, sums);
  plan_sums_landing(plan, rank, sums[1])->bytes -= 64;
}
static void another_level(zb_plan *plan, zb_plan_rank *rank) {
  (void)rank;
  plan->sharding = ZB_SHARDING_NONE;
}

static const plan_fault faults[] = {
    FAULT(sum_kept_whole),           FAULT(last_sum_kept_whole),   FAULT(sent_before_the_last_is_added),
    FAULT(waits_for_an_earlier_one), FAULT(last_sum_is_not_added), FAULT(optimizer_waits_for_one_before),
    FAULT(lands_in_its_own_sums),    FAULT(room_is_too_small),     FAULT(another_level)};

static void test_planted_faults(void) { plan_sums_refuses(faults, sizeof faults / sizeof faults[0], RANKS); }

/* Each wait of a sum, and of what stands behind it, left out alone: the proof notices, or the sum is waited for again.
 */
static void test_each_wait(void) {
  zb_plan *plan = plan_sums_read();
  int refused = 0;
  for (int r = 0; r < RANKS; ++r) {
    zb_plan_rank *rank = &plan->ranks[r];
    int sums[PLAN_SUMS_MAX], count = plan_sums_find(plan, rank, sums);
    for (int i = 1; i < count; ++i) {
      zb_plan_job *job = &rank->jobs[sums[i]];
      const zb_plan_slice waits = job->waits;
      for (uint32_t w = 0; w < waits.count; ++w) {
        uint32_t *left_out = &rank->pool_u32[waits.begin + w], *last = &rank->pool_u32[waits.begin + waits.count - 1];
        const uint32_t kept[2] = {*left_out, *last};
        *left_out = *last;
        --job->waits.count;
        zb_status status = zb_plan_verify(plan);
        CU_ASSERT(status || kept[0] != (uint32_t)sums[i - 1]);
        refused += status != NULL;
        zb_status_free(status);
        job->waits = waits;
        *left_out = kept[0];
        *last = kept[1];
      }
    }
  }
  CU_ASSERT(refused > RANKS);
  zb_plan_destroy(plan);
}

SUITE_MAIN_WITH("gradient sharding", open_suite, compiled_plan_close, {"right plan", test_right_plan},
                {"planted faults", test_planted_faults}, {"each wait alone", test_each_wait})
