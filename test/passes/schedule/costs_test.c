/* The schedule problem of a measured program, by hand: two ranks, times, frames, edges, optimizer. */
#include "zb/costs.h"

#include "test/passes/schedule/fixture.h"

static const char two_ranks[] =
    "{\"format\": \"zb-costs\", \"version\": 1,"
    "\"machine\": {\"device\": \"cpu\", \"instruction_set\": \"avx2\", \"cores\": 2, \"threads\": 1, "
    "\"virtual_clock\": false},"
    "\"program\": {\"model\": \"m\", \"schedule\": \"1f1b\", \"ranks\": 2, \"micro_batches\": 4, \"steps\": 9},"
    "\"stages\": [{\"stage\": 0, \"rank\": 0, \"fb_bytes\": 1, \"fw_bytes\": 10, \"bw_bytes\": 100},"
    "            {\"stage\": 1, \"rank\": 1, \"fb_bytes\": 2, \"fw_bytes\": 20, \"bw_bytes\": 200}],"
    "\"ranks\": [{\"rank\": 0, \"base_bytes\": 7}, {\"rank\": 1, \"base_bytes\": 8}],"
    "\"edges\": [{\"source\": 0, \"destination\": 1, \"forward_bytes\": 4, \"backward_bytes\": 4}],"
    "\"subprograms\": ["
    "{\"name\": \"a\", \"rank\": 0, \"stage\": 0, \"kind\": \"F\", \"key\": \"0000000000000001\", \"first_ps\": 1000, "
    "\"time_ps\": 1000, \"runs\": 8},"
    "{\"name\": \"b\", \"rank\": 0, \"stage\": 0, \"kind\": \"B\", \"key\": \"0000000000000002\", \"first_ps\": 2000, "
    "\"time_ps\": 2000, \"runs\": 8},"
    "{\"name\": \"c\", \"rank\": 0, \"stage\": 0, \"kind\": \"W\", \"key\": \"0000000000000003\", \"first_ps\": 3000, "
    "\"time_ps\": 3000, \"runs\": 8},"
    "{\"name\": \"d\", \"rank\": 1, \"stage\": 1, \"kind\": \"F\", \"key\": \"0000000000000004\", \"first_ps\": 1100, "
    "\"time_ps\": 1100, \"runs\": 8},"
    "{\"name\": \"e\", \"rank\": 1, \"stage\": 1, \"kind\": \"B\", \"key\": \"0000000000000005\", \"first_ps\": 2200, "
    "\"time_ps\": 2200, \"runs\": 8},"
    "{\"name\": \"f\", \"rank\": 1, \"stage\": 1, \"kind\": \"W\", \"key\": \"0000000000000006\", \"first_ps\": 3300, "
    "\"time_ps\": 3300, \"runs\": 8},"
    "{\"name\": \"g\", \"rank\": 1, \"stage\": 1, \"kind\": \"OPT\", \"key\": \"0000000000000007\", \"first_ps\": 500, "
    "\"time_ps\": 500, \"runs\": 8},"
    "{\"name\": \"h\", \"rank\": 1, \"stage\": -1, \"kind\": \"OPT\", \"key\": \"0000000000000008\", \"first_ps\": 60, "
    "\"time_ps\": 60, \"runs\": 8}],"
    "\"ops\": [], \"messages\": [],"
    "\"link\": {\"latency_ps\": 30, \"ps_per_byte\": 2, \"copies\": true, \"wake_ps\": 5},"
    "\"overheads\": {\"job_ps\": 1, \"read_ps\": 0, \"step_ps\": 0}}";

static zb_costs *parse(const char *text) {
  zb_costs *costs = NULL;
  zb_status status = zb_costs_parse(text, strlen(text), "test", &costs);
  if (status) printf("\n  %s", zb_status_text(status));
  CU_ASSERT_PTR_NULL_FATAL(status);
  return costs;
}

static void test_problem(void) {
  zb_costs *costs = parse(two_ranks);
  zb_problem_data data;
  CU_ASSERT_PTR_NULL_FATAL(zb_costs_problem(costs, 0, &data));
  const zb_problem p = data.problem;
  CU_ASSERT_EQUAL(p.ranks, 2);
  CU_ASSERT_EQUAL(p.micro_batches, 4);
  CU_ASSERT_EQUAL(p.stage_rank[1], 1);
  CU_ASSERT_EQUAL(p.costs[0].time_ps[ZB_F], 1001); /* with the interpreter's time of a job */
  CU_ASSERT_EQUAL(p.costs[1].time_ps[ZB_W], 3301);
  CU_ASSERT_EQUAL(p.costs[0].keep_bytes[ZB_F], 11);
  CU_ASSERT_EQUAL(p.costs[1].keep_bytes[ZB_B], 200);
  CU_ASSERT_EQUAL(p.costs[1].free_bytes[ZB_B], 2);
  CU_ASSERT_EQUAL(p.costs[1].free_bytes[ZB_W], 220);
  CU_ASSERT_EQUAL(p.optimizer_ps[0], 0);
  CU_ASSERT_EQUAL(p.optimizer_ps[1], 562);
  CU_ASSERT_EQUAL(p.base_bytes[1], 8);
  CU_ASSERT_EQUAL(p.link_latency_ps, 35);
  CU_ASSERT_EQUAL(p.edges[0].backward_bytes, 4);
  zb_order order;
  zb_simulation simulation;
  CU_ASSERT_PTR_NULL_FATAL(zb_schedule_run(zb_schedule_find("1f1b", NULL), &p, &order));
  CU_ASSERT_PTR_NULL_FATAL(zb_simulate(&p, &order, &simulation));
  CU_ASSERT_TRUE(simulation.step_ps >= zb_lower_bound_ps(&p));
  CU_ASSERT_TRUE(simulation.step_ps > 4 * (1101 + 2201 + 3301) + 562);
  zb_simulation_deinit(&simulation);
  zb_order_deinit(&order);
  zb_problem_data_deinit(&data);
  CU_ASSERT_PTR_NULL_FATAL(zb_costs_problem(costs, 9, &data));
  CU_ASSERT_EQUAL(data.problem.micro_batches, 9);
  zb_problem_data_deinit(&data);
  zb_costs_destroy(costs);
}

static void test_calibration(void) {
  zb_costs *costs = parse(
      "{\"format\": \"zb-costs\", \"version\": 1, \"machine\": {\"device\": \"cpu\", \"instruction_set\": \"avx2\", "
      "\"cores\": 2,"
      "\"threads\": 1, \"virtual_clock\": false}, \"link\": {\"latency_ps\": 1, \"ps_per_byte\": 1, \"copies\": true, "
      "\"wake_ps\": 1},"
      "\"overheads\": {\"job_ps\": 1, \"read_ps\": 1, \"step_ps\": 1}, \"rates\": {\"op_ps\": 1, \"ps_per_byte\": 1}}");
  zb_problem_data data;
  zb_status status = zb_costs_problem(costs, 4, &data);
  CU_ASSERT_EQUAL(zb_status_code(status), ZB_INVALID);
  CU_ASSERT_PTR_NOT_NULL(strstr(zb_status_text(status), "--profile"));
  zb_status_free(status);
  zb_costs_destroy(costs);
}

static void test_no_memory(void) {
  zb_costs *costs = parse(two_ranks);
  for (uint64_t n = 1; n <= 5; ++n) {
    zb_problem_data data;
    zb_allocation_fail_at(n);
    zb_status status = zb_costs_problem(costs, 0, &data);
    zb_allocation_fail_at(0);
    CU_ASSERT_EQUAL(zb_status_code(status), ZB_MEMORY);
    CU_ASSERT_PTR_NULL(data.costs);
    zb_status_free(status);
  }
  zb_costs_destroy(costs);
}

int main(void) {
  static const CU_TestInfo tests[] = {
      {"problem", test_problem}, {"calibration", test_calibration}, {"no memory", test_no_memory}, CU_TEST_INFO_NULL};
  return run_suite("costs", tests);
}
