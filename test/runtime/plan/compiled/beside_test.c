/* Sums over replicas that wait for a SEND while other jobs go on, in a plan as zbc makes it: what writes to the bytes
 * of that SEND waits for it as well, and a plan in which it does not is refused, though the list one job after the
 * other is right. */
#include <stdio.h>
#include <string.h>

#include <CUnit/CUnit.h>

#include "runtime/plan/file/plan.h"
#include "runtime/plan/proof/proof.h"
#include "test/runtime/plan/compiled/compiled_plan.h"
#include "test/suite.h"

static int open_suite(void) {
  return compiled_plan_open("gathered.mlir", (zb_compile_params){.ranks = 2,
                                                                 .chunks = 2,
                                                                 .micro_batches = 2,
                                                                 .data_parallel = 2,
                                                                 .bucket_bytes = 1,
                                                                 .schedule = "interleaved-1f1b",
                                                                 .split = "none",
                                                                 .optimizer = "sgd:lr=0.1"});
}

static bool waits_for(const zb_plan_rank *rank, const zb_plan_job *job, uint32_t post) {
  for (uint32_t w = 0; w < job->waits.count; ++w)
    if (rank->pool_u32[job->waits.begin + w] == post) return true;
  return false;
}

/* Takes a wait out of a job. */
static void forget(zb_plan_rank *rank, zb_plan_job *job, uint32_t post) {
  uint32_t kept = 0;
  for (uint32_t w = 0; w < job->waits.count; ++w)
    if (rank->pool_u32[job->waits.begin + w] != post)
      rank->pool_u32[job->waits.begin + kept++] = rank->pool_u32[job->waits.begin + w];
  job->waits.count = kept;
}

/* From the number-th SEND on for which a sum waits, and then a job that is none: the latter no longer does. */
static bool plant(zb_plan *plan, zb_plan_rank *rank, int number) {
  for (int sum = 0; sum < rank->job_count; ++sum) {
    const int collective = rank->jobs[sum].collective;
    if (!collective || !plan->collectives[collective - 1].coordinate) continue;
    for (uint32_t post = 0; post < (uint32_t)sum; ++post) {
      if (rank->jobs[post].kind != ZB_JOB_SEND || !waits_for(rank, &rank->jobs[sum], post)) continue;
      for (int i = sum + 1; i < rank->job_count; ++i) {
        const int other = rank->jobs[i].collective;
        const bool beside = other && plan->collectives[other - 1].coordinate;
        if (beside || !waits_for(rank, &rank->jobs[i], post) || number-- > 0) continue;
        forget(rank, &rank->jobs[i], post);
        return true;
      }
    }
  }
  return false;
}

static void test_waits(void) {
  int planted = 0;
  bool more = true;
  for (int rank = 0; rank < 2; ++rank, more = true)
    for (int number = 0; more; ++number) {
      zb_plan *plan = NULL;
      CU_ASSERT_PTR_NULL_FATAL(zb_plan_read(compiled_plan_path, -1, &plan));
      CU_ASSERT_PTR_NULL(zb_plan_verify(plan));
      more = plant(plan, &plan->ranks[rank], number);
      zb_status status = more ? zb_plan_verify(plan) : NULL;
      const char *text = status ? zb_status_text(status) : "accepted";
      if (more && !strstr(text, "alone has waited for")) printf("\n  rank %d, wait %d: %s", rank, number, text);
      CU_ASSERT(!more || (zb_status_code(status) == ZB_INVALID && strstr(text, "alone has waited for")));
      planted += more;
      zb_status_free(status);
      zb_plan_destroy(plan);
    }
  CU_ASSERT(planted > 0);
}

SUITE_MAIN_WITH("beside", open_suite, compiled_plan_close, {"waits of a sum are not those of others", test_waits})
