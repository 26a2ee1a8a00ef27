/* What suites of plans whose replicas have parts of gradients share: the sums over replicas of a rank, ways to
 * spoil a plan, and faults that the proof must notice. The plan is that of compiled_plan.h. */
#ifndef ZB_TEST_PLAN_SUMS_H
#define ZB_TEST_PLAN_SUMS_H

#include <stdio.h>

#include <CUnit/CUnit.h>

#include "runtime/plan/file/check.h"
#include "runtime/plan/proof/proof.h"
#include "test/runtime/plan/compiled/compiled_plan.h"

enum { PLAN_SUMS_MAX = 64 };

static inline zb_plan *plan_sums_read(void) {
  zb_plan *plan = NULL;
  zb_status status = zb_plan_read(compiled_plan_path, -1, &plan);
  CU_ASSERT_PTR_NULL_FATAL(status);
  return plan;
}

/* The jobs of a rank that sum over replicas; returns how many there are. */
static inline int plan_sums_find(const zb_plan *plan, const zb_plan_rank *rank, int out[PLAN_SUMS_MAX]) {
  int count = 0;
  for (int i = 0; i < rank->job_count && count < PLAN_SUMS_MAX; ++i)
    if (rank->jobs[i].collective && zb_collective_adds(plan->collectives[rank->jobs[i].collective - 1].kind))
      out[count++] = i;
  return count;
}

/* The room where the sum of a job lands. */
static inline zb_plan_range *plan_sums_landing(const zb_plan *plan, zb_plan_rank *rank, int job) {
  const zb_plan_collective *collective = &plan->collectives[rank->jobs[job].collective - 1];
  return &rank->pool_ranges[rank->jobs[job].parts.begin + collective->sizes.count];
}

/* Jobs first .. last wait no more for job `other`. */
static inline void plan_sums_never_wait(zb_plan_rank *rank, int first, int last, int other) {
  for (int i = first; i <= last; ++i) {
    zb_plan_slice *waits = &rank->jobs[i].waits;
    uint32_t kept = 0;
    for (uint32_t w = 0; w < waits->count; ++w) {
      const uint32_t waited = rank->pool_u32[waits->begin + w];
      if (waited != (uint32_t)other) rank->pool_u32[waits->begin + kept++] = waited;
    }
    waits->count = kept;
  }
}

/* Swaps two jobs; what waits follows them. */
static inline void plan_sums_swap(zb_plan_rank *rank, int a, int b) {
  const zb_plan_job kept = rank->jobs[a];
  rank->jobs[a] = rank->jobs[b];
  rank->jobs[b] = kept;
  for (uint32_t i = 0; i < rank->pool_u32_count; ++i)
    rank->pool_u32[i] = rank->pool_u32[i] == (uint32_t)a   ? (uint32_t)b
                        : rank->pool_u32[i] == (uint32_t)b ? (uint32_t)a
                                                           : rank->pool_u32[i];
}

/* Cuts that much off the end of what the snapshot keeps of a region. */
static inline void plan_sums_keep_less(zb_plan_rank *rank, zb_region_kind region, uint64_t bytes) {
  const zb_plan_job *snapshot = &rank->jobs[zb_plan_find_job(rank, ZB_JOB_SNAPSHOT)];
  for (uint32_t p = 0; p < snapshot->parts.count; ++p) {
    zb_plan_range *part = &rank->pool_ranges[snapshot->parts.begin + p];
    if (zb_plan_region_of(rank, part->offset, part->bytes) == region) part->bytes -= bytes;
  }
}

typedef struct plan_fault {
  const char *name;
  void (*plant)(zb_plan *plan, zb_plan_rank *rank);
} plan_fault;
#define FAULT(name) {#name, name}

/* Each fault alone, on each rank: the proof refuses the plan. */
static inline void plan_sums_refuses(const plan_fault *faults, size_t count, int ranks) {
  for (size_t f = 0; f < count; ++f)
    for (int rank = 0; rank < ranks; ++rank) {
      zb_plan *plan = plan_sums_read();
      faults[f].plant(plan, &plan->ranks[rank]);
      zb_status status = zb_plan_verify(plan);
      if (zb_status_code(status) != ZB_INVALID)
        fprintf(stderr, "\n  %s on rank %d is not noticed: %s\n", faults[f].name, rank, zb_status_text(status));
      else if (getenv("ZB_TEST_SHOW"))
        fprintf(stderr, "\n  %s on rank %d: %s", faults[f].name, rank, zb_status_text(status));
      CU_ASSERT_EQUAL(zb_status_code(status), ZB_INVALID);
      zb_status_free(status);
      zb_plan_destroy(plan);
    }
}

#endif
