/* Plans of replicas with post-validation in which something comes from other replicas before a verdict or a snapshot,
 * as zbc makes them: parts of parameters for the jobs that read them, and the buffers of replica 0. The proof accepts
 * them, and refuses planted faults after which a replica would go on with what was not taken back, or would keep
 * buffers that had not come. Parts that come behind updates are sharding_validation_test.c; what plans train is
 * test/e2e/validation.py. */
#include <stdlib.h>
#include <string.h>

#include "test/runtime/plan/compiled/plan_sums.h"
#include "runtime/plan/clock/simulator.h"
#include "runtime/plan/proof/proof.h"
#include "test/suite.h"

enum { RANKS = 2, REPLICAS = 3 };

static int open_parameters(const char *sharding, const char *gather) {
  return compiled_plan_open("Inputs/shards.mlir", (zb_compile_params){.ranks = RANKS,
                                                                      .micro_batches = 3,
                                                                      .data_parallel = REPLICAS,
                                                                      .precision = "bf16",
                                                                      .clip_norm = "0.5",
                                                                      .post_validation = true,
                                                                      .sharding = sharding,
                                                                      .gather = gather});
}

static int open_buffers(const char *sharding) {
  return compiled_plan_open("buffers.mlir", (zb_compile_params){.ranks = RANKS,
                                                                .micro_batches = 3,
                                                                .data_parallel = REPLICAS,
                                                                .clip_norm = "0.5",
                                                                .post_validation = true,
                                                                .sharding = sharding});
}

static int open_suite(void) { return open_parameters("parameters:step", "job"); }

static bool brings(const zb_plan *plan, const zb_plan_job *job, zb_payload payload) {
  return job->collective && plan->collectives[job->collective - 1].payload == payload;
}

/* The first job that brings it, and how many stand between two jobs. */
static int gather_at(const zb_plan *plan, const zb_plan_rank *rank, zb_payload payload) {
  int job = 0;
  while (job < rank->job_count && !brings(plan, &rank->jobs[job], payload))
    ++job;
  return job;
}
static int gathers_between(const zb_plan *plan, const zb_plan_rank *rank, zb_payload payload, int first, int last) {
  int count = 0;
  for (int i = first; i < last; ++i)
    count += brings(plan, &rank->jobs[i], payload);
  return count;
}

static zb_plan_job *snapshot_of(const zb_plan_rank *rank) {
  return &rank->jobs[zb_plan_find_job(rank, ZB_JOB_SNAPSHOT)];
}

static uint64_t bytes_kept(const zb_plan_rank *rank, zb_region_kind region) {
  const zb_plan_job *snapshot = snapshot_of(rank);
  uint64_t bytes = 0;
  for (uint32_t p = 0; p < snapshot->parts.count; ++p) {
    const zb_plan_range part = rank->pool_ranges[snapshot->parts.begin + p];
    if (zb_plan_region_of(rank, part.offset, part.bytes) == region) bytes += part.bytes;
  }
  return bytes;
}

static bool waits_for(const zb_plan_rank *rank, int job, int other) {
  const zb_plan_slice waits = rank->jobs[job].waits;
  for (uint32_t w = 0; w < waits.count; ++w)
    if (rank->pool_u32[waits.begin + w] == (uint32_t)other) return true;
  return false;
}

static zb_plan *right_plan(void) {
  zb_plan *plan = plan_sums_read();
  zb_plan_simulation simulation;
  zb_status status = zb_plan_verify(plan);
  if (status) fprintf(stderr, "\n  %s\n", zb_status_text(status));
  CU_ASSERT_PTR_NULL_FATAL(status);
  CU_ASSERT_PTR_NULL_FATAL(zb_plan_simulate(plan, &simulation));
  zb_plan_simulation_free(&simulation);
  return plan;
}

/* ---- Right plans ---- */

/* What is kept is what the rank has, which are parts: nothing that comes. */
static void test_parameters(void) {
  static const char *const levels[] = {"parameters:micro-batch", "parameters:step"}, *const gathers[] = {
                                                                                         "step", "micro-batch", "job"};
  for (int i = 0; i < 6; ++i) { /* the last is the one of the suite */
    CU_ASSERT_EQUAL_FATAL(compiled_plan_close(), 0);
    CU_ASSERT_EQUAL_FATAL(open_parameters(levels[i / 3], gathers[i % 3]), 0);
    zb_plan *plan = right_plan();
    for (int r = 0; r < RANKS; ++r) {
      const zb_plan_rank *rank = &plan->ranks[r];
      const int verdict = zb_plan_find_job(rank, ZB_JOB_VERDICT), snapshot = zb_plan_find_job(rank, ZB_JOB_SNAPSHOT),
                end = zb_plan_step_end(rank), first = rank->load_count;
      CU_ASSERT(gathers_between(plan, rank, ZB_PAYLOAD_PARAMETERS, first, verdict) > 0);
      CU_ASSERT_EQUAL(gathers_between(plan, rank, ZB_PAYLOAD_PARAMETERS, snapshot, end), 0);
      CU_ASSERT_EQUAL(bytes_kept(rank, ZB_REGION_PARAMETERS), rank->regions[ZB_REGION_PARAMETERS].bytes);
      CU_ASSERT_EQUAL(bytes_kept(rank, ZB_REGION_STATE), rank->regions[ZB_REGION_STATE].bytes);
      CU_ASSERT_EQUAL(bytes_kept(rank, ZB_REGION_SLOTS), 0);
    }
    zb_plan_destroy(plan);
  }
}

static void test_buffers(void) {
  static const char *const levels[] = {"none", "optimizer", "gradients:step", "parameters:step"};
  for (int i = 0; i < 4; ++i) {
    CU_ASSERT_EQUAL_FATAL(compiled_plan_close(), 0);
    CU_ASSERT_EQUAL_FATAL(open_buffers(levels[i]), 0);
    zb_plan *plan = right_plan();
    const zb_plan_rank *rank = &plan->ranks[0]; /* the other has no buffer */
    const int gather = gather_at(plan, rank, ZB_PAYLOAD_BUFFERS), snapshot = zb_plan_find_job(rank, ZB_JOB_SNAPSHOT);
    CU_ASSERT(gather < snapshot && waits_for(rank, snapshot, gather));
    CU_ASSERT_EQUAL(bytes_kept(rank, ZB_REGION_BUFFERS), rank->regions[ZB_REGION_BUFFERS].bytes);
    zb_plan_destroy(plan);
  }
  CU_ASSERT_EQUAL_FATAL(compiled_plan_close(), 0);
  CU_ASSERT_EQUAL_FATAL(open_suite(), 0);
}

/* ---- Planted faults ---- */

static void parts_are_not_kept(zb_plan *plan, zb_plan_rank *rank) {
  (void)plan;
  plan_sums_keep_less(rank, ZB_REGION_PARAMETERS, ZB_ALIGNMENT);
}
static void copies_are_not_kept(zb_plan *plan, zb_plan_rank *rank) {
  (void)plan;
  plan_sums_keep_less(rank, ZB_REGION_CONSTANTS, ZB_ALIGNMENT);
}
static void state_is_not_kept(zb_plan *plan, zb_plan_rank *rank) {
  (void)plan;
  plan_sums_keep_less(rank, ZB_REGION_STATE, ZB_ALIGNMENT);
}
static void buffers_are_not_kept(zb_plan *plan, zb_plan_rank *rank) {
  (void)plan;
  plan_sums_keep_less(rank, ZB_REGION_BUFFERS, ZB_ALIGNMENT);
}

/* What is kept for the verdict reaches into where parameters come before it. */
static void come_to_what_is_kept(zb_plan *plan, zb_plan_rank *rank) {
  const zb_plan_job *gather = &rank->jobs[gather_at(plan, rank, ZB_PAYLOAD_PARAMETERS)];
  const zb_plan_slice kept = rank->jobs[zb_plan_find_job(rank, ZB_JOB_VERDICT)].parts;
  const uint64_t lands = rank->pool_ranges[gather->parts.begin].offset;
  zb_plan_range *last = &rank->pool_ranges[kept.begin];
  for (uint32_t p = 0; p < kept.count; ++p) {
    zb_plan_range *part = &rank->pool_ranges[kept.begin + p];
    if (part->offset < lands && (last->offset > lands || part->offset > last->offset)) last = part;
  }
  if (last->offset < lands)
    last->bytes = lands + 4 - last->offset;
  else
    last->offset = lands;
}

/* Parameters of the next step, of which nobody has updated his part yet. */
static void come_behind_the_snapshot(zb_plan *plan, zb_plan_rank *rank) {
  plan_sums_swap(rank, gather_at(plan, rank, ZB_PAYLOAD_PARAMETERS), zb_plan_find_job(rank, ZB_JOB_SNAPSHOT));
}

static void nobody_waits(zb_plan *plan, zb_plan_rank *rank) {
  const int snapshot = zb_plan_find_job(rank, ZB_JOB_SNAPSHOT);
  plan_sums_never_wait(rank, snapshot, snapshot, gather_at(plan, rank, ZB_PAYLOAD_BUFFERS));
}
/* CLIP runs behind the copy. */
static void clip_waits(zb_plan *plan, zb_plan_rank *rank) {
  zb_plan_job *clip = &rank->jobs[zb_plan_find_job(rank, ZB_JOB_CLIP)], *snapshot = snapshot_of(rank);
  (void)plan;
  const zb_plan_slice waits = clip->waits;
  clip->waits = snapshot->waits;
  snapshot->waits = waits;
}
static void buffers_come_behind_the_snapshot(zb_plan *plan, zb_plan_rank *rank) {
  plan_sums_swap(rank, gather_at(plan, rank, ZB_PAYLOAD_BUFFERS), zb_plan_find_job(rank, ZB_JOB_SNAPSHOT));
}

static const plan_fault of_parameters[] = {FAULT(parts_are_not_kept), FAULT(copies_are_not_kept),
                                           FAULT(state_is_not_kept), FAULT(come_to_what_is_kept),
                                           FAULT(come_behind_the_snapshot)},
                        of_buffers[] = {FAULT(buffers_are_not_kept), FAULT(nobody_waits), FAULT(clip_waits),
                                        FAULT(buffers_come_behind_the_snapshot)};

static void test_faults_of_parameters(void) {
  plan_sums_refuses(of_parameters, sizeof of_parameters / sizeof of_parameters[0], RANKS);
}

static void test_faults_of_buffers(void) {
  CU_ASSERT_EQUAL_FATAL(compiled_plan_close(), 0);
  CU_ASSERT_EQUAL_FATAL(open_buffers("none"), 0);
  plan_sums_refuses(of_buffers, sizeof of_buffers / sizeof of_buffers[0], 1);
}

SUITE_MAIN_WITH("gathers and validation", open_suite, compiled_plan_close, {"parameters", test_parameters},
                {"buffers", test_buffers}, {"faults of parameters", test_faults_of_parameters},
                {"faults of buffers", test_faults_of_buffers})
