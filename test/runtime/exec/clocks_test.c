/* The clocks of a mesh against the ranks themselves: sessions that run every replica, and the plan's own simulator.
 * With shards: test/e2e/mesh.py. */
#include "test/runtime/exec/tiny.h"
#include "test/runtime/plan/collective_plan.h"

#include "runtime/plan/clock/clocks.h"
#include "runtime/plan/clock/explain.h"
#include "runtime/plan/clock/simulator.h"
#include "runtime/plan/file/ranks.h"
#include "runtime/plan/mesh/mesh.h"

enum { STEPS = 7, SEEDS = 150 };

/* Random costs; some without what makes the order of posts matter. copies: it may say that ranks move the bytes. */
static zb_plan *random_mesh(uint64_t seed, bool copies) {
  uint64_t random = seed;
  const int ranks = 1 + (int)tiny_random(&random, 4);
  const collective_case about = {.kind = ZB_COLLECTIVE_ALL_REDUCE,
                                 .ranks = ranks,
                                 .members = 1 << tiny_random(&random, (uint64_t)ranks),
                                 .elements = 1 + (int)tiny_random(&random, 500),
                                 .micro_batches = 1 + (int)tiny_random(&random, 4)};
  zb_plan *plan = collective_plan_of(&about, 2 + (int)tiny_random(&random, 6));
  plan->link_copies = copies && tiny_random(&random, 2) == 1;
  plan->link_latency_ps = 1 + (int64_t)tiny_random(&random, 200000);
  plan->link_ps_per_byte = (double)tiny_random(&random, 1000) / 8;
  plan->link_wake_ps = tiny_random(&random, 2) ? (int64_t)tiny_random(&random, 100000) : 0;
  plan->job_ps = tiny_random(&random, 2) ? (int64_t)tiny_random(&random, 10000) : 0;
  plan->step_ps = (int64_t)tiny_random(&random, 10000);
  for (int r = 0; r < ranks; ++r)
    for (int s = 0; s < plan->ranks[r].subprogram_count; ++s)
      plan->ranks[r].subprograms[s].time_ps = 1000 + (int64_t)tiny_random(&random, 1000000);
  return plan;
}

static zb_session *session_of(uint64_t seed, const zb_delays *delays, bool barrier, bool all_ranks) {
  const zb_session_params params = {.device = "sim",
                                    .no_kernels = true,
                                    .delays = delays->seed,
                                    .delay_spread = delays->spread,
                                    .barrier = barrier,
                                    .memory = all_ranks};
  const zb_session_sources sources = {.plan = random_mesh(seed, true)};
  zb_session *session = NULL;
  TINY_OK(zb_session_create_from(&params, &sources, &session));
  zb_session_announce(session, STEPS);
  return session;
}

static bool same_results(const zb_step_result *a, const zb_step_result *b) {
  const size_t bytes = (size_t)a->ranks * sizeof(double);
  return a->ranks == b->ranks && a->step == b->step && a->seconds == b->seconds && a->idle_share == b->idle_share &&
         a->tokens == b->tokens && memcmp(a->idle_shares, b->idle_shares, bytes) == 0 &&
         memcmp(a->waiting_shares, b->waiting_shares, bytes) == 0;
}

/* Every share of every rank in every step, with a barrier and without one. */
static void test_as_all_ranks(void) {
  int with_clocks = 0;
  for (uint64_t seed = 1; seed <= SEEDS; ++seed) {
    const zb_delays delays = {seed % 3 ? seed : 0, (double)(seed % 5) / 2};
    zb_session *sessions[] = {session_of(seed, &delays, seed % 2, false), session_of(seed, &delays, seed % 2, true)};
    CU_ASSERT_PTR_NULL(sessions[1]->clocks);
    with_clocks += sessions[0]->clocks != NULL;
    for (int step = 0; step < STEPS; ++step) {
      zb_step_result results[2];
      for (int i = 0; i < 2; ++i)
        TINY_OK(zb_session_step(sessions[i], &results[i]));
      CU_ASSERT(same_results(&results[0], &results[1]));
    }
    zb_session_destroy(sessions[0]);
    zb_session_destroy(sessions[1]);
  }
  CU_ASSERT(with_clocks > SEEDS / 3 && with_clocks < SEEDS); /* not where ranks move the bytes */
}

/* The plan of all replicas by runtime/plan/clock/simulator.c, which runs jobs in order of time. */
static int64_t simulated_ps(const zb_plan *plan, const zb_delays *delays) {
  zb_plan *all = NULL, *expanded = NULL;
  zb_plan_pace pace;
  zb_plan_simulation simulation;
  TINY_OK(zb_plan_replicate(plan, 0, &all));
  TINY_OK(zb_plan_expand(all, &expanded));
  TINY_OK(zb_plan_pace_init(&pace, expanded));
  for (int r = 0; r < expanded->rank_count && delays->seed; ++r)
    for (int i = expanded->ranks[r].load_count; i < expanded->ranks[r].job_count; ++i) {
      const zb_plan_job *job = &expanded->ranks[r].jobs[i];
      const int own = job->micro_batch < 0 ? -1 : job->micro_batch - zb_plan_first_micro_batch(expanded, r);
      if (job->subprogram >= 0)
        pace.job_ps[r][i] += zb_delay_ps(zb_delays_of_rank(delays, 0, r), zb_delay_key(job->subprogram, own),
                                         delays->spread, pace.job_ps[r][i]);
    }
  TINY_OK(zb_plan_simulate_pace(expanded, &pace, &simulation));
  const int64_t step_ps = simulation.step_ps;
  zb_plan_simulation_free(&simulation);
  zb_plan_pace_deinit(&pace);
  zb_plan_destroy(expanded);
  zb_plan_destroy(all);
  return step_ps;
}

static void test_as_the_simulator(void) {
  for (uint64_t seed = 1; seed <= SEEDS; ++seed) {
    const zb_delays delays = {seed % 4 ? seed : 0, 0.5};
    zb_plan *plan = random_mesh(seed, false);
    zb_plan_simulation two;
    zb_clocks *clocks;
    TINY_OK(zb_clocks_create(plan, &delays, &clocks));
    CU_ASSERT_PTR_NOT_NULL_FATAL(clocks);
    TINY_OK(zb_clocks_step(clocks, 0, false));
    const int64_t step_ps = zb_clocks_end_ps(clocks) + plan->step_ps;
    CU_ASSERT_EQUAL(step_ps, simulated_ps(plan, &delays));
    TINY_OK(zb_plan_simulate(plan, &two)); /* of two replicas, timed as all */
    if (!delays.seed) CU_ASSERT_EQUAL(step_ps, two.step_ps);
    zb_plan_simulation_free(&two);
    zb_clocks_destroy(clocks);
    zb_plan_destroy(plan);
  }
}

/* Not what two replicas wait for, but what the last of thousands is late by. */
static void test_many(void) {
  const collective_case about = {ZB_COLLECTIVE_ALL_REDUCE, 2, 0x2, 100, 2};
  const zb_delays delays[] = {{0, 0}, {5, 0.25}, {6, 0.25}};
  int64_t ends[3];
  zb_plan *plan = collective_plan_of(&about, 4096);
  for (int i = 0; i < 3; ++i) {
    zb_clocks *clocks;
    TINY_OK(zb_clocks_create(plan, &delays[i], &clocks));
    for (int step = 0; step < 3; ++step)
      TINY_OK(zb_clocks_step(clocks, step, step > 0));
    ends[i] = zb_clocks_end_ps(clocks);
    int64_t least = INT64_MAX, most = 0;
    for (int r = 0; r < 2 * 4096; ++r) {
      const int64_t ran = zb_clocks_times_of(clocks, r).compute_ps;
      least = r < 4096 && ran < least ? ran : least;
      most = r < 4096 && ran > most ? ran : most;
    }
    CU_ASSERT(i ? most > least : most == least);
    zb_clocks_destroy(clocks);
  }
  CU_ASSERT(ends[1] > ends[0] && ends[1] < ends[0] + ends[0] / 4 && ends[2] > ends[0] && ends[1] != ends[2]);
  zb_plan_destroy(plan);
}

/* What asks for more than times has all its ranks. */
static void test_who_has_none(void) {
  const zb_session_params all[] = {
      {.trace = true}, {.explain = true}, {.profile = true}, {.memory = true}, {.seed = 3}, {.costs = true}, {0}};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; ++i) {
    zb_session_params params = all[i];
    const zb_session_sources sources = {.plan = random_mesh(1, false)};
    zb_session *session = NULL;
    zb_session_memory_use use;
    params.device = "sim";
    params.no_kernels = true;
    TINY_OK(zb_session_create_from(&params, &sources, &session));
    const bool has = i + 1 == sizeof all / sizeof all[0];
    CU_ASSERT((session->clocks != NULL) == has);
    zb_status status = zb_session_memory(session, 0, &use);
    CU_ASSERT(has ? zb_status_code(status) == ZB_USAGE : !status);
    CU_ASSERT(zb_session_arena_bytes(session, 0) > 0);
    zb_status_free(status);
    zb_session_destroy(session);
  }
}

static void test_delays(void) {
  const zb_delays delays = {9, 0.5};
  int64_t sum = 0, differ = 0, before = -1;
  for (int i = 0; i < 10000; ++i) {
    const int64_t late = zb_delay_ps(zb_delays_of_rank(&delays, i % 10, i / 10), zb_delay_key(3, -1), 0.5, 1000000);
    CU_ASSERT(late >= 0 && late <= 500000);
    sum += late;
    differ += late != before;
    before = late;
  }
  CU_ASSERT(sum / 10000 > 245000 && sum / 10000 < 255000 && differ > 9990);
  CU_ASSERT_EQUAL(zb_delay_ps(1, 2, 0, 1000000), 0);
}

int main(void) {
  CU_TestInfo tests[] = {{"as all ranks", test_as_all_ranks},
                         {"as the simulator", test_as_the_simulator},
                         {"many", test_many},
                         {"who has none", test_who_has_none},
                         {"delays", test_delays},
                         CU_TEST_INFO_NULL};
  return tiny_run("clocks", tests);
}
