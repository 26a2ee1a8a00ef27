/* A plan of replicas whose gradients are summed in buckets while W goes on, as zbc makes it: the proof accepts it, W
 * runs in parts between its buckets, bytes are those of a ring, and faults by which a sum would miss a gradient, or be
 * made over memory that is in use, are refused. That buckets change no bit is test/e2e/replicas.py. */
#include <stdio.h>
#include <string.h>

#include <CUnit/CUnit.h>

#include "runtime/plan/file/plan.h"
#include "runtime/plan/mesh/mesh.h"
#include "runtime/plan/proof/proof.h"
#include "test/runtime/plan/compiled/compiled_plan.h"
#include "test/suite.h"

enum { RANKS = 2, REPLICAS = 3, MICRO_BATCHES = 3 };

static int open_suite(void) {
  return compiled_plan_open("buckets.mlir", (zb_compile_params){.ranks = RANKS,
                                                                .micro_batches = MICRO_BATCHES,
                                                                .data_parallel = REPLICAS,
                                                                .bucket_bytes = 1,
                                                                .cuts = "d",
                                                                .optimizer = "sgd:lr=0.1,momentum=0.9"});
}

static zb_plan *read_plan(void) {
  zb_plan *plan = NULL;
  CU_ASSERT_PTR_NULL_FATAL(zb_plan_read(compiled_plan_path, -1, &plan));
  return plan;
}

/* The last W of a rank, and its first sum over replicas, which is behind it. */
static int last_w(const zb_plan_rank *rank) {
  int found = -1;
  for (int i = 0; i < rank->job_count; ++i)
    if (rank->jobs[i].kind == ZB_JOB_W) found = i;
  return found;
}

static zb_plan_job *sum_of(zb_plan_rank *rank, int number) {
  for (int i = 0; i < rank->job_count; ++i)
    if (rank->jobs[i].kind == ZB_JOB_COLLECTIVE && number-- == 0) return &rank->jobs[i];
  return NULL;
}

static void test_right_plan(void) {
  zb_plan *plan = read_plan(), *all = NULL, *expanded = NULL;
  CU_ASSERT_EQUAL(plan->collective_count, 3);
  CU_ASSERT_PTR_NULL(zb_plan_verify(plan));
  CU_ASSERT_PTR_NULL_FATAL(zb_plan_replicate(plan, 0, &all));
  CU_ASSERT_PTR_NULL_FATAL(zb_plan_expand(all, &expanded));
  for (int r = 0; r < expanded->rank_count; ++r) {
    const zb_plan_rank *rank = &expanded->ranks[r], *from = &plan->ranks[r / REPLICAS];
    const int whole = from->jobs[last_w(from)].subprogram;
    uint64_t sent = 0, sums = 0, received = 0;
    int64_t time_ps = 0;
    int instructions = 0, parts = 0;
    for (int i = 0; i < rank->job_count; ++i) {
      const zb_plan_job *job = &rank->jobs[i];
      if (job->kind == ZB_JOB_SEND && job->derived.beside) sent += expanded->messages[job->message].bytes;
      if (job->kind == ZB_JOB_RECV && job->derived.beside) received += expanded->messages[job->message].bytes;
      if (job->subprogram < 0 || rank->subprograms[job->subprogram].derived.part_of != whole + 1) continue;
      ++parts;
      time_ps += rank->subprograms[job->subprogram].time_ps;
      instructions += rank->subprograms[job->subprogram].instruction_count;
    }
    for (int c = 0; c < plan->collective_count; ++c)
      for (uint32_t b = 0; plan->pool_u64[plan->collectives[c].members.begin] == (uint64_t)from->rank &&
                           b < plan->collectives[c].sizes.count;
           ++b)
        sums += plan->pool_u64[plan->collectives[c].sizes.begin + b];
    CU_ASSERT_EQUAL(parts, r / REPLICAS == 0 ? 2 : 0);
    if (parts) CU_ASSERT_EQUAL(time_ps, from->subprograms[whole].time_ps);
    if (parts) CU_ASSERT_EQUAL(instructions, from->subprograms[whole].instruction_count);
    /* 2 (d - 1) / d of all sums, but for shards of sums that d does not divide */
    CU_ASSERT(sent * REPLICAS <= 2 * (REPLICAS - 1) * sums + 64 && sent * REPLICAS + 64 >= 2 * (REPLICAS - 1) * sums);
    CU_ASSERT(received + 64 >= sent && sent + 64 >= received);
  }
  zb_plan_destroy(expanded);
  zb_plan_destroy(all);
  zb_plan_destroy(plan);
}

/* ---- Faults ---- */

static void before_w(zb_plan *plan, zb_plan_rank *rank) {
  const int w = last_w(rank);
  const zb_plan_job kept = rank->jobs[w];
  (void)plan;
  for (uint32_t i = 0; i < rank->pool_u32_count; ++i)
    if ((int)rank->pool_u32[i] == w + 1) rank->pool_u32[i] = (uint32_t)w;
  rank->jobs[w] = rank->jobs[w + 1];
  rank->jobs[w + 1] = kept;
}

static void without_wait(zb_plan *plan, zb_plan_rank *rank) {
  (void)plan;
  for (int i = last_w(rank); i < rank->job_count; ++i)
    if (rank->jobs[i].waits.count > 0) --rank->jobs[i].waits.count;
}

static void of_the_other(zb_plan *plan, zb_plan_rank *rank) {
  (void)plan;
  rank->pool_ranges[sum_of(rank, 1)->parts.begin] = rank->pool_ranges[sum_of(rank, 0)->parts.begin];
}

static void left_out(zb_plan *plan, zb_plan_rank *rank) {
  zb_plan_job *sum = sum_of(rank, 0);
  const int index = (int)(sum - rank->jobs), collective = sum->collective;
  for (uint32_t i = 0; i < rank->pool_u32_count; ++i)
    if ((int)rank->pool_u32[i] > index) --rank->pool_u32[i];
  memmove(sum, sum + 1, (size_t)(rank->job_count - index - 1) * sizeof *sum);
  --rank->job_count;
  for (int c = collective; c < plan->collective_count; ++c)
    plan->collectives[c - 1] = plan->collectives[c];
  --plan->collective_count;
  for (int r = 0; r < plan->rank_count; ++r)
    for (int i = 0; i < plan->ranks[r].job_count; ++i)
      if (plan->ranks[r].jobs[i].collective > collective) --plan->ranks[r].jobs[i].collective;
}

static void lands_on_a_frame(zb_plan *plan, zb_plan_rank *rank) {
  const zb_plan_job *sum = sum_of(rank, 0), *w = &rank->jobs[last_w(rank)];
  (void)plan;
  rank->pool_ranges[sum->parts.begin + sum->parts.count - 1].offset = rank->pool_u64[w->bases.begin];
}

static void lands_on_the_other(zb_plan *plan, zb_plan_rank *rank) {
  const zb_plan_job *one = sum_of(rank, 0), *other = sum_of(rank, 1);
  (void)plan;
  rank->pool_ranges[other->parts.begin + other->parts.count - 1].offset =
      rank->pool_ranges[one->parts.begin + one->parts.count - 1].offset;
}

static void in_another_order(zb_plan *plan, zb_plan_rank *rank) {
  zb_plan_job *one = sum_of(rank, 0), *other = sum_of(rank, 1), kept = *one;
  (void)plan;
  *one = *other;
  *other = kept;
}

static void negative_lead(zb_plan *plan, zb_plan_rank *rank) {
  plan->collectives[sum_of(rank, 0)->collective - 1].lead_ps = -1;
}

static void test_faults(void) {
  static const struct {
    const char *name;
    void (*plant)(zb_plan *plan, zb_plan_rank *rank);
    int ranks;     /* the first ones: the last has one sum alone */
    bool accepted; /* it is right all the same */
  } faults[] = {{"a sum before the last W", before_w, 2, false},
                {"an UPDATE that does not wait for a sum", without_wait, 2, false},
                {"a gradient in two buckets", of_the_other, 1, false},
                {"a gradient in no bucket", left_out, 2, false},
                {"lands on a frame of W", lands_on_a_frame, 1, false},
                {"lands where another one lands, after it", lands_on_the_other, 1, true},
                {"buckets in another order", in_another_order, 1, false},
                {"a bucket that is complete after W", negative_lead, 2, false}};
  for (size_t f = 0; f < sizeof faults / sizeof faults[0]; ++f)
    for (int r = 0; r < faults[f].ranks; ++r) {
      zb_plan *plan = read_plan();
      faults[f].plant(plan, &plan->ranks[r]);
      zb_status status = zb_plan_verify(plan);
      const bool right = faults[f].accepted ? !status : zb_status_code(status) == ZB_INVALID;
      if (!right) printf("\n  %s, rank %d: %s", faults[f].name, r, status ? zb_status_text(status) : "accepted");
      CU_ASSERT(right);
      zb_status_free(status);
      zb_plan_destroy(plan);
    }
}

SUITE_MAIN_WITH("buckets", open_suite, compiled_plan_close, {"right plan", test_right_plan},
                {"planted faults", test_faults})
