/* Plans of replicas of a model with buffers (zbc --data-parallel), as zbc makes them: the proof accepts them, as the
 * plan of all replicas it brings the buffers of replica 0 to the others when a step ends, and planted faults are
 * refused by which replicas would keep their own, get a part or another buffer, or use one while it comes. What they
 * train is test/e2e/buffers.py. */
#include <stdlib.h>
#include <string.h>

#include "test/runtime/plan/compiled/plan_sums.h"
#include "runtime/plan/mesh/mesh.h"
#include "runtime/plan/proof/proof.h"
#include "test/suite.h"

enum { REPLICAS = 5, BUFFERS = 2 };

static int open_suite(void) {
  return compiled_plan_open("buffers.mlir",
                            (zb_compile_params){.ranks = 2, .micro_batches = 2, .data_parallel = REPLICAS});
}

/* The job that brings buffers; -1: there is none. */
static int gather_at(const zb_plan *plan, const zb_plan_rank *rank) {
  int i = rank->job_count - 1;
  while (i >= 0 &&
         (!rank->jobs[i].collective || plan->collectives[rank->jobs[i].collective - 1].payload != ZB_PAYLOAD_BUFFERS))
    --i;
  return i;
}
static zb_plan_collective *gather_of(zb_plan *plan, const zb_plan_rank *rank) {
  return &plan->collectives[rank->jobs[gather_at(plan, rank)].collective - 1];
}
static zb_plan_range *parts_of(const zb_plan *plan, zb_plan_rank *rank) {
  return rank->pool_ranges + rank->jobs[gather_at(plan, rank)].parts.begin;
}

static bool succeeds(zb_status status) {
  if (status) fprintf(stderr, "\n  %s\n", zb_status_text(status));
  const bool good = !status;
  zb_status_free(status);
  return good;
}

/* ---- Right plans ---- */

static void test_right_plan(void) {
  zb_plan *plan = plan_sums_read(), *all = NULL;
  CU_ASSERT(succeeds(zb_plan_verify(plan)));
  CU_ASSERT_EQUAL(gather_of(plan, &plan->ranks[0])->sizes.count, BUFFERS);
  CU_ASSERT_EQUAL(gather_at(plan, &plan->ranks[1]), -1); /* it has no buffer */
  CU_ASSERT_FATAL(succeeds(zb_plan_replicate(plan, 0, &all)));
  CU_ASSERT_FATAL(succeeds(zb_plan_expand_own(&all)));
  for (int c = 0; c < REPLICAS; ++c) {
    int sent = 0, received = 0;
    const zb_plan_rank *rank = &all->ranks[c];
    for (int i = 0; i < rank->job_count; ++i) {
      if (!zb_job_is_post(rank->jobs[i].kind)) continue;
      const zb_plan_message *message = &all->messages[rank->jobs[i].message];
      if (message->payload != ZB_PAYLOAD_BUFFERS) continue;
      CU_ASSERT_EQUAL(message->source, 0);
      CU_ASSERT_EQUAL(message->part_count, BUFFERS);
      ++*(rank->jobs[i].kind == ZB_JOB_SEND ? &sent : &received);
    }
    CU_ASSERT_EQUAL(sent, c == 0 ? REPLICAS - 1 : 0);
    CU_ASSERT_EQUAL(received, c == 0 ? 0 : 1);
  }
  zb_plan_destroy(all);
  zb_plan_destroy(plan);
}

/* ---- Planted faults ---- */

static void of_parameters(zb_plan *plan, zb_plan_rank *rank) { gather_of(plan, rank)->payload = ZB_PAYLOAD_PARAMETERS; }
static void of_gradients(zb_plan *plan, zb_plan_rank *rank) { gather_of(plan, rank)->payload = ZB_PAYLOAD_GRADIENTS; }
static void added_up(zb_plan *plan, zb_plan_rank *rank) { gather_of(plan, rank)->kind = ZB_COLLECTIVE_ALL_REDUCE; }
static void of_one_rank(zb_plan *plan, zb_plan_rank *rank) { gather_of(plan, rank)->coordinate = 0; }
static void of_another_rank(zb_plan *plan, zb_plan_rank *rank) {
  plan->pool_u64[gather_of(plan, rank)->members.begin] = 1;
}
static void without_the_last(zb_plan *plan, zb_plan_rank *rank) {
  zb_plan_collective *gather = gather_of(plan, rank);
  --gather->sizes.count;
  --plan->pool_u64[gather->counts.begin];
  --rank->jobs[gather_at(plan, rank)].parts.count;
}
static void one_twice(zb_plan *plan, zb_plan_rank *rank) { parts_of(plan, rank)[1] = parts_of(plan, rank)[0]; }
static void elsewhere(zb_plan *plan, zb_plan_rank *rank) { parts_of(plan, rank)[0].offset -= 64; }
static void half_of_one(zb_plan *plan, zb_plan_rank *rank) {
  parts_of(plan, rank)[0].bytes /= 2;
  plan->pool_u64[gather_of(plan, rank)->sizes.begin] /= 2;
}
/* The collective becomes the first of the plan. */
static void put_first(zb_plan *plan, int collective) {
  const zb_plan_collective first = plan->collectives[collective];
  memmove(&plan->collectives[1], plan->collectives, (size_t)collective * sizeof first);
  plan->collectives[0] = first;
  plan->collectives[0].before = 0;
  for (int r = 0; r < plan->rank_count; ++r)
    for (int i = 0; i < plan->ranks[r].job_count; ++i) {
      int32_t *its = &plan->ranks[r].jobs[i].collective;
      if (*its > 0 && *its <= collective + 1) *its = *its == collective + 1 ? 1 : *its + 1;
    }
}
/* F of the last micro-batch uses what has come, or was sent. */
static void before_the_last_f(zb_plan *plan, zb_plan_rank *rank) {
  const int gather = gather_at(plan, rank);
  int last = gather;
  while (rank->jobs[last].kind != ZB_JOB_F)
    --last;
  put_first(plan, rank->jobs[gather].collective - 1);
  const zb_plan_job job = rank->jobs[gather];
  memmove(&rank->jobs[last + 1], &rank->jobs[last], (size_t)(gather - last) * sizeof job);
  rank->jobs[last] = job;
  rank->jobs[last].waits.count = 0;
  for (uint32_t i = 0; i < rank->pool_u32_count; ++i) {
    uint32_t *waited = &rank->pool_u32[i];
    if (*waited >= (uint32_t)last && *waited <= (uint32_t)gather)
      *waited = *waited == (uint32_t)gather ? (uint32_t)last : *waited + 1;
  }
}
/* Each replica keeps its own. */
static void not_at_all(zb_plan *plan, zb_plan_rank *rank) {
  const int gather = gather_at(plan, rank), collective = rank->jobs[gather].collective - 1;
  memmove(&rank->jobs[gather], &rank->jobs[gather + 1], (size_t)(rank->job_count - gather - 1) * sizeof *rank->jobs);
  --rank->job_count;
  for (uint32_t i = 0; i < rank->pool_u32_count; ++i)
    rank->pool_u32[i] -= rank->pool_u32[i] > (uint32_t)gather;
  memmove(&plan->collectives[collective], &plan->collectives[collective + 1],
          (size_t)(plan->collective_count - collective - 1) * sizeof *plan->collectives);
  --plan->collective_count;
  for (int r = 0; r < plan->rank_count; ++r)
    for (int i = 0; i < plan->ranks[r].job_count; ++i)
      plan->ranks[r].jobs[i].collective -= plan->ranks[r].jobs[i].collective > collective + 1;
}

static const plan_fault faults[] = {FAULT(of_parameters),     FAULT(of_gradients),    FAULT(added_up),
                                    FAULT(of_one_rank),       FAULT(of_another_rank), FAULT(without_the_last),
                                    FAULT(one_twice),         FAULT(elsewhere),       FAULT(half_of_one),
                                    FAULT(before_the_last_f), FAULT(not_at_all)};

static void test_planted_faults(void) { plan_sums_refuses(faults, sizeof faults / sizeof faults[0], 1); }

SUITE_MAIN_WITH("shared buffers", open_suite, compiled_plan_close, {"right plan", test_right_plan},
                {"planted faults", test_planted_faults})
