/* Measured costs: a simulated run gives back exactly the costs it was given, both simulators agree on them, and
 * measuring a real run changes nothing of it. */
#include "test/runtime/exec/tiny.h"
#include "runtime/plan/clock/simulator.h"
#include "test/runtime/plan/collective_plan.h"

#include "zb/costs.h"

enum { STEPS = 7 };

/* The plan's own simulator shares no code with the virtual clock. */
static void test_simulators_agree(void) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    zb_plan *plan = tiny_random_plan(seed);
    zb_plan_simulation simulation;
    zb_session *session = NULL;
    zb_step_result result;
    zb_session_params params = {.device = "sim", .no_kernels = true};
    TINY_OK(zb_plan_simulate(plan, &simulation));
    TINY_OK(tiny_session(&params, tiny_random_plan(seed), false, &session));
    TINY_OK(zb_session_step(session, &result));
    CU_ASSERT_EQUAL((int64_t)(result.seconds * 1e12 + 0.5), simulation.step_ps);
    CU_ASSERT_EQUAL(result.ranks, 2);
    for (int r = 0; r < 2; ++r)
      CU_ASSERT_DOUBLE_EQUAL(result.waiting_shares[r],
                             (double)simulation.ranks[r].waiting_ps / (double)simulation.step_ps, 1e-12);
    zb_session_destroy(session);
    zb_plan_simulation_free(&simulation);
    zb_plan_destroy(plan);
  }
}

/* On the sim device without kernels; takes the plan. Its parameters are 0. */
static double simulated_seconds(zb_plan *plan) {
  zb_store *weights = zb_store_create();
  for (int r = 0; r < plan->rank_count; ++r)
    for (int i = 0; i < plan->ranks[r].parameter_count; ++i) {
      const zb_plan_tensor *tensor = &plan->ranks[r].parameters[i].tensor;
      void *zeros = calloc(1, (size_t)zb_shape_bytes(&tensor->shape) + 1);
      if (!zb_store_find(weights, tensor->name))
        TINY_OK(zb_store_add(weights, tensor->name, &tensor->shape, zeros, true));
      free(zeros);
    }
  const zb_session_params params = {.device = "sim", .no_kernels = true};
  const zb_session_sources sources = {.plan = plan, .weights = weights};
  zb_session *session = NULL;
  zb_step_result result;
  TINY_OK(zb_session_create_from(&params, &sources, &session));
  TINY_OK(zb_session_step(session, &result));
  zb_session_destroy(session);
  zb_store_destroy(weights);
  return result.seconds;
}

/* The same of a plan whose collective both expand. */
static void test_collectives_agree(void) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    uint64_t random = seed;
    const collective_case about = {(zb_collective_kind)(seed % ZB_COLLECTIVE_COUNT), 4,
                                   (const int[]){0x3, 0x7, 0xb, 0xf}[tiny_random(&random, 4)],
                                   1 + (int)tiny_random(&random, 500), 1 + (int)tiny_random(&random, 4)};
    zb_plan *plans[] = {collective_plan(&about), collective_plan(&about)};
    for (int i = 0; i < 2; ++i) {
      random = seed;
      plans[i]->link_copies = tiny_random(&random, 2) == 1;
      plans[i]->link_latency_ps = tiny_random(&random, 200000);
      plans[i]->link_ps_per_byte = (double)tiny_random(&random, 1000) / 8;
      plans[i]->link_wake_ps = tiny_random(&random, 100000);
      plans[i]->job_ps = tiny_random(&random, 10000);
      for (int r = 0; r < 4; ++r)
        for (int s = 0; s < plans[i]->ranks[r].subprogram_count; ++s)
          plans[i]->ranks[r].subprograms[s].time_ps = 1000 + tiny_random(&random, 1000000);
    }
    zb_plan_simulation simulation;
    TINY_OK(zb_plan_simulate(plans[0], &simulation));
    CU_ASSERT_EQUAL((int64_t)(simulated_seconds(plans[1]) * 1e12 + 0.5), simulation.step_ps);
    zb_plan_simulation_free(&simulation);
    zb_plan_destroy(plans[0]);
  }
}

static zb_costs *measure(const zb_session_params *params, zb_plan *plan, int steps) {
  char path[600];
  zb_session *session = NULL;
  zb_costs *costs = NULL;
  zb_step_result result;
  TINY_OK(tiny_session(params, plan, false, &session));
  for (int i = 0; i < steps; ++i)
    TINY_OK(zb_session_step(session, &result));
  TINY_OK(zb_session_write_costs(session, tiny_path(path, "costs.json")));
  zb_session_destroy(session);
  TINY_OK(zb_costs_read(path, &costs));
  return costs;
}

static const zb_cost_subprogram *find(const zb_costs *costs, int rank, const char *name) {
  for (int64_t i = 0; i < costs->subprogram_count; ++i)
    if (costs->subprograms[i].rank == rank && strcmp(costs->subprograms[i].name, name) == 0)
      return &costs->subprograms[i];
  return NULL;
}

/* Given times come back exactly. */
static void test_sim_gives_back(void) {
  zb_session_params params = {.device = "sim", .no_kernels = true, .costs = true};
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    zb_plan *plan = tiny_random_plan(seed);
    zb_costs *costs = measure(&params, tiny_random_plan(seed), 3);
    CU_ASSERT_TRUE(costs->machine.virtual_clock);
    CU_ASSERT_EQUAL(costs->program.steps, 3);
    for (int r = 0; r < plan->rank_count; ++r)
      for (int i = 0; i < plan->ranks[r].subprogram_count; ++i) {
        const zb_plan_subprogram *given = &plan->ranks[r].subprograms[i];
        const zb_cost_subprogram *got = find(costs, r, given->name);
        CU_ASSERT_PTR_NOT_NULL_FATAL(got);
        const int64_t first_ps = given->first_ps ? given->first_ps : given->time_ps;
        bool once = zb_job_is_optimizer(given->kind) || given->kind == ZB_JOB_LOAD;
        CU_ASSERT_EQUAL(got->first_ps, first_ps);
        CU_ASSERT_EQUAL(got->time_ps, once ? first_ps : given->time_ps);
        CU_ASSERT_EQUAL(got->key, given->key);
        CU_ASSERT_EQUAL(got->stage, given->stage);
        CU_ASSERT_EQUAL(got->runs, given->kind == ZB_JOB_LOAD         ? 1
                                   : zb_job_is_optimizer(given->kind) ? 3
                                                                      : 3 * TINY_MICRO_BATCHES);
      }
    int64_t message_ps = plan->link_latency_ps + (int64_t)(256 * plan->link_ps_per_byte);
    CU_ASSERT_EQUAL(costs->message_count, 2); /* one size, two directions */
    for (int64_t i = 0; i < costs->message_count; ++i)
      CU_ASSERT_EQUAL(costs->messages[i].time_ps, message_ps);
    CU_ASSERT_EQUAL(costs->link.copies, plan->link_copies);
    CU_ASSERT_DOUBLE_EQUAL(costs->link.ps_per_byte, (double)message_ps / 256, 1e-9); /* one size: all by the byte */
    CU_ASSERT_EQUAL(costs->link.wake_ps, plan->link_wake_ps);
    CU_ASSERT_EQUAL(costs->overheads.job_ps, plan->job_ps);
    CU_ASSERT_EQUAL(costs->overheads.read_ps, plan->read_ps);
    CU_ASSERT_EQUAL(costs->overheads.step_ps, plan->step_ps);
    CU_ASSERT_EQUAL(costs->edge_count, 1);
    CU_ASSERT_EQUAL(costs->edges[0].forward_bytes, 256);
    CU_ASSERT_EQUAL(costs->edges[0].backward_bytes, 256);
    CU_ASSERT_EQUAL(costs->stages[1].fb_bytes, TINY_FB1_BYTES);
    CU_ASSERT_EQUAL(costs->stages[0].fw_bytes, TINY_FW0_BYTES);
    CU_ASSERT_EQUAL(costs->ranks[0].base_bytes, (int64_t)(plan->ranks[0].arena_bytes - 2 * TINY_SET0_BYTES));
    zb_costs_destroy(costs);
    zb_plan_destroy(plan);
  }
}

/* Two sizes fix the line exactly. */
static void test_sim_link(void) {
  zb_session_params params = {.device = "sim", .no_kernels = true, .costs = true};
  for (int moves = 0; moves < 2; ++moves) {
    zb_plan *plan = tiny_random_plan(3);
    for (int i = 0; i < plan->message_count; ++i)
      if (plan->messages[i].payload == ZB_PAYLOAD_BACKWARD)
        plan->messages[i].bytes = 4096; /* only the plan's number counts: nothing is moved */
    plan->link_copies = moves;
    plan->link_latency_ps = 12345;
    plan->link_ps_per_byte = 0.75;
    zb_costs *costs = measure(&params, plan, 2);
    CU_ASSERT_EQUAL(costs->link.latency_ps, 12345);
    CU_ASSERT_DOUBLE_EQUAL(costs->link.ps_per_byte, 0.75, 1e-9);
    zb_costs_destroy(costs);
  }
}

/* A real run: the same losses as without measuring, every op counted, in the steps that are for it. */
static void test_real(void) {
  double losses[2][STEPS];
  char path[600];
  for (int on = 0; on < 2; ++on) {
    zb_session_params params = {.data = tiny_data(), .costs = on == 1, .timeout_ms = 10000};
    zb_session *session = NULL;
    zb_step_result result;
    TINY_OK(tiny_session(&params, tiny_random_plan(5), false, &session));
    for (int i = 0; i < STEPS; ++i) {
      if (i == 2 || !on)
        tiny_expect(zb_session_write_costs(session, tiny_path(path, "costs.json")), ZB_USAGE,
                    on ? "at least 3 steps, got 2" : "set costs");
      TINY_OK(zb_session_step(session, &result));
      losses[on][i] = result.loss;
      for (int r = 0; r < 2; ++r)
        CU_ASSERT(result.waiting_shares[r] >= 0 && result.waiting_shares[r] <= 1);
    }
    if (on) TINY_OK(zb_session_write_costs(session, tiny_path(path, "costs.json")));
    zb_session_destroy(session);
  }
  CU_ASSERT_EQUAL(memcmp(losses[0], losses[1], sizeof losses[0]), 0);
  zb_costs *costs = NULL;
  TINY_OK(zb_costs_read(path, &costs));
  CU_ASSERT_FALSE(costs->machine.virtual_clock);
  CU_ASSERT_TRUE(costs->link.copies);
  CU_ASSERT_EQUAL(costs->program.steps, 6); /* the first is cold; 1, 3, 5 for subprograms, 2, 4, 6 for ops */
  CU_ASSERT_EQUAL(find(costs, 0, "s0_F")->runs, 3 * TINY_MICRO_BATCHES);
  int64_t matmuls = 0, updates = 0;
  for (int64_t i = 0; i < costs->op_count; ++i) {
    CU_ASSERT(costs->ops[i].time_ps > 0);
    if (strcmp(costs->ops[i].op, "matmul") == 0) matmuls = costs->ops[i].runs;
    if (strcmp(costs->ops[i].op, "adamw") == 0) updates = costs->ops[i].runs;
  }
  CU_ASSERT_EQUAL(matmuls, 3 * TINY_MICRO_BATCHES * 6); /* F, B and W on two ranks */
  CU_ASSERT_EQUAL(updates, 3 * 3);
  for (int64_t i = 0; i < costs->subprogram_count; ++i)
    CU_ASSERT(costs->subprograms[i].time_ps > 0);
  zb_costs_destroy(costs);
}

static int64_t ticks;
static int64_t fake_clock(void) { return ++ticks * 1000; }

/* Single ops by a clock that ticks once a reading: each run takes one tick. */
static void test_ops_by_a_fake_clock(void) {
  const zb_device_def *device = NULL;
  TINY_OK(zb_device_find("cpu", &device));
  zb_plan *plan = tiny_plan();
  const zb_plan_subprogram *adamw = &plan->ranks[0].subprograms[3];
  zb_device_params params = {.threads = 1, .op_times = true, .now_ps = fake_clock};
  zb_device *it = NULL;
  zb_device_program *program = NULL;
  void *arena = NULL;
  TINY_OK(device->open(&params, &it));
  TINY_OK(device->alloc(it, plan->ranks[0].arena_bytes, &arena));
  TINY_OK(device->prepare(it, adamw, &program));
  TINY_OK(device->launch(it, program, arena, NULL)); /* not timed yet */
  device->time_ops(it, true);
  for (int i = 0; i < 3; ++i)
    TINY_OK(device->launch(it, program, arena, NULL));
  device->time_ops(it, false);
  TINY_OK(device->launch(it, program, arena, NULL));
  const zb_op_time *times = device->op_times(program);
  for (int k = 0; k < adamw->instruction_count; ++k) {
    CU_ASSERT_EQUAL(times[k].runs, 3);
    CU_ASSERT_EQUAL(times[k].ps, 3000);
  }
  device->release_program(it, program);
  device->release(it, arena);
  device->close(it);
  zb_plan_destroy(plan);
}

int main(void) {
  CU_TestInfo tests[] = {
      {"both simulators agree on all costs", test_simulators_agree},
      {"both simulators agree on collectives", test_collectives_agree},
      {"a simulated run gives back what it was given", test_sim_gives_back},
      {"two sizes of messages fix the link", test_sim_link},
      {"a real run", test_real},
      {"ops by a fake clock", test_ops_by_a_fake_clock},
      CU_TEST_INFO_NULL,
  };
  int result = tiny_run("measure", tests);
  return tiny_remove_folder() ? 1 : result;
}
