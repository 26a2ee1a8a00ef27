/* Plans with replicas: as the plan of all of them they are right, and what would part the replicas is refused. What
 * they train is test/e2e/replicas.py. */
#include "test/runtime/plan/collective_plan.h"
#include "runtime/plan/clock/simulator.h"
#include "runtime/plan/file/ranks.h"
#include "runtime/plan/mesh/mesh.h"
#include "runtime/plan/proof/proof.h"

#include "test/suite.h"

/* One rank has a parameter, and sums its gradient over the replicas. */
static zb_plan *plan_of(int ranks, int member, int replicas, int micro_batches) {
  const collective_case about = {.kind = ZB_COLLECTIVE_ALL_REDUCE,
                                 .ranks = ranks,
                                 .members = 1 << member,
                                 .elements = 5 * ranks + member,
                                 .micro_batches = micro_batches};
  return collective_plan_of(&about, replicas);
}

static bool is_right(const zb_plan *plan) {
  zb_status status = zb_plan_verify(plan);
  if (status) printf("\n  %s", zb_status_text(status));
  const bool right = !status;
  zb_status_free(status);
  return right;
}

static void test_right_plans(void) {
  for (int ranks = 1; ranks <= 4; ++ranks)
    for (int member = 0; member < ranks; ++member)
      for (int replicas = 2; replicas <= 7; ++replicas) {
        zb_plan *plan = plan_of(ranks, member, replicas, 1 + (member + replicas) % 3);
        zb_plan_simulation one, other;
        CU_ASSERT(is_right(plan));
        CU_ASSERT_PTR_NULL(zb_plan_simulate(plan, &one));
        CU_ASSERT_EQUAL(one.rank_count, ranks);
        plan->replicas = 0; /* without the sum it takes less time */
        plan->collective_count = 0;
        --plan->ranks[member].job_count;
        plan->ranks[member].jobs[plan->ranks[member].job_count - 1] =
            plan->ranks[member].jobs[plan->ranks[member].job_count];
        plan->ranks[member].jobs[plan->ranks[member].job_count - 1].waits.count = 0;
        CU_ASSERT(is_right(plan));
        CU_ASSERT_PTR_NULL(zb_plan_simulate(plan, &other));
        CU_ASSERT(other.step_ps < one.step_ps || (member < ranks - 1 && other.step_ps == one.step_ps));
        zb_plan_simulation_free(&one);
        zb_plan_simulation_free(&other);
        zb_plan_destroy(plan);
      }
}

/* Every message, job and collective of a replica is that of the plan, moved. */
static void test_all_of_them(void) {
  enum { RANKS = 3, REPLICAS = 4, MICRO_BATCHES = 2 };
  zb_plan *plan = plan_of(RANKS, 1, REPLICAS, MICRO_BATCHES), *all;
  CU_ASSERT_PTR_NULL_FATAL(zb_plan_replicate(plan, 0, &all));
  CU_ASSERT_EQUAL(all->rank_count, RANKS * REPLICAS);
  CU_ASSERT_EQUAL(all->micro_batches, MICRO_BATCHES * REPLICAS);
  CU_ASSERT_EQUAL(all->message_count, plan->message_count * REPLICAS);
  CU_ASSERT_EQUAL(all->collective_count, 1);
  CU_ASSERT_EQUAL(zb_plan_mesh(all), REPLICAS);
  for (int i = 0; i < all->message_count; ++i) {
    CU_ASSERT_EQUAL(zb_plan_replica_of(all, all->messages[i].source), i % REPLICAS);
    CU_ASSERT_EQUAL(zb_plan_replica_of(all, all->messages[i].destination), i % REPLICAS);
    CU_ASSERT_EQUAL(zb_plan_rank_in_replica(all, all->messages[i].source), plan->messages[i / REPLICAS].source);
  }
  for (int r = 0; r < all->rank_count; ++r) {
    const zb_plan_rank *rank = &all->ranks[r], *from = &plan->ranks[zb_plan_rank_in_replica(all, r)];
    CU_ASSERT_EQUAL(rank->rank, r);
    CU_ASSERT_EQUAL(rank->job_count, from->job_count);
    for (int i = 0; i < rank->job_count; ++i)
      if (rank->jobs[i].micro_batch >= 0)
        CU_ASSERT_EQUAL(rank->jobs[i].micro_batch, from->jobs[i].micro_batch + zb_plan_first_micro_batch(all, r));
    for (int i = 0; i < rank->parameter_count; ++i)
      CU_ASSERT_EQUAL(rank->parameters[i].owner, from->parameters[i].owner && zb_plan_replica_of(all, r) == 0);
  }
  const zb_plan_collective *sum = all->collectives;
  CU_ASSERT_EQUAL(sum->members.count, REPLICAS);
  for (uint32_t m = 0; m < sum->members.count; ++m)
    CU_ASSERT_EQUAL(all->pool_u64[sum->members.begin + m], REPLICAS + m);
  zb_plan_destroy(all);
  plan->replicas = 1;
  plan->collectives[0].coordinate = 0;
  CU_ASSERT_PTR_NULL(zb_plan_replicate(plan, 0, &all));
  CU_ASSERT_PTR_NULL(all);
  zb_plan_destroy(plan);
}

/* ---- Faults ---- */

static zb_plan_job *exchange_of(zb_plan_rank *rank) { return &rank->jobs[rank->job_count - 2]; }

static void no_wait(zb_plan *plan, zb_plan_rank *rank) {
  (void)plan;
  exchange_of(rank)[1].waits.count = 0;
}

static void after_update(zb_plan *plan, zb_plan_rank *rank) {
  zb_plan_job *exchange = exchange_of(rank), update = exchange[1];
  (void)plan;
  update.waits.count = 0;
  exchange[1] = exchange[0];
  exchange[0] = update;
}

static void before_last_w(zb_plan *plan, zb_plan_rank *rank) {
  zb_plan_job *exchange = exchange_of(rank), kept = exchange[-1];
  (void)plan;
  exchange[-1] = exchange[0];
  exchange[0] = kept;
  for (uint32_t i = 0; i < exchange[1].waits.count; ++i)
    --rank->pool_u32[exchange[1].waits.begin + i];
}

static void a_part(zb_plan *plan, zb_plan_rank *rank) {
  uint64_t *size = &plan->pool_u64[plan->collectives[0].sizes.begin];
  *size -= sizeof(float);
  rank->pool_ranges[exchange_of(rank)->parts.begin].bytes = *size;
}

static void another_place(zb_plan *plan, zb_plan_rank *rank) {
  (void)plan;
  rank->pool_ranges[exchange_of(rank)->parts.begin].offset = rank->regions[ZB_REGION_PARAMETERS].offset;
}

static void lands_on_gradients(zb_plan *plan, zb_plan_rank *rank) {
  (void)plan;
  rank->pool_ranges[exchange_of(rank)->parts.begin + 1].offset = rank->regions[ZB_REGION_GRADIENTS].offset;
}

static void no_sum(zb_plan *plan, zb_plan_rank *rank) {
  zb_plan_job *exchange = exchange_of(rank);
  plan->collective_count = 0;
  exchange[0] = exchange[1];
  exchange[0].waits.count = 0;
  --rank->job_count;
}

static void only_scattered(zb_plan *plan, zb_plan_rank *rank) {
  (void)rank;
  plan->collectives[0].kind = ZB_COLLECTIVE_REDUCE_SCATTER;
}

static void without_replicas(zb_plan *plan, zb_plan_rank *rank) {
  (void)rank;
  plan->replicas = 1;
}

static void another_coordinate(zb_plan *plan, zb_plan_rank *rank) {
  (void)rank;
  plan->collectives[0].coordinate = 2;
}

static void as_a_list(zb_plan *plan, zb_plan_rank *rank) {
  (void)rank;
  plan->collectives[0].coordinate = 0;
}

static void of_another_rank(zb_plan *plan, zb_plan_rank *rank) {
  plan->pool_u64[plan->collectives[0].members.begin] = (uint64_t)((rank->rank + 1) % plan->rank_count);
}

static void test_faults(void) {
  static const struct {
    const char *name;
    void (*plant)(zb_plan *plan, zb_plan_rank *rank);
  } faults[] = {{"no wait", no_wait},
                {"after UPDATE", after_update},
                {"before the last W", before_last_w},
                {"a part of a sum", a_part},
                {"another place", another_place},
                {"lands on gradients", lands_on_gradients},
                {"no sum", no_sum},
                {"only scattered", only_scattered},
                {"without replicas", without_replicas},
                {"another coordinate", another_coordinate},
                {"as a list", as_a_list},
                {"of another rank", of_another_rank}};
  for (size_t i = 0; i < sizeof faults / sizeof faults[0]; ++i)
    for (int member = 0; member < 3; ++member) {
      zb_plan *plan = plan_of(3, member, 2 + member, 2);
      faults[i].plant(plan, &plan->ranks[member]);
      zb_status status = zb_plan_verify(plan);
      if (zb_status_code(status) != ZB_INVALID)
        printf("\n  %s, rank %d: %s", faults[i].name, member, status ? zb_status_text(status) : "accepted");
      CU_ASSERT_EQUAL(zb_status_code(status), ZB_INVALID);
      zb_status_free(status);
      zb_plan_destroy(plan);
    }
}

SUITE_MAIN("replicas", {"right plans", test_right_plans}, {"all of them", test_all_of_them},
           {"planted faults", test_faults})
