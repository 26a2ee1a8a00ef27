/* Problems of equal stages: costs and limits as people write them, and the same time for any number of chunks. */
#include <math.h>
#include <string.h>

#include "test/suite.h"
#include "zb/schedule.h"

static void expect(zb_status status, const char *words) {
  CU_ASSERT_PTR_NOT_NULL_FATAL(status);
  CU_ASSERT(zb_status_code(status) == ZB_USAGE || zb_status_code(status) == ZB_INVALID);
  if (!strstr(zb_status_text(status), words)) printf("\nexpected '%s', got %s", words, zb_status_text(status));
  CU_ASSERT_PTR_NOT_NULL(strstr(zb_status_text(status), words));
  zb_status_free(status);
}

static void test_costs(void) {
  zb_uniform_costs c;
  CU_ASSERT_PTR_NULL(zb_uniform_costs_parse(NULL, &c));
  CU_ASSERT(c.f == 1 && c.b == 1 && c.w == 1 && c.mem == 1 && c.mem_w == 1 && c.comm == 0 && c.opt == 0 && c.base == 0);
  CU_ASSERT_PTR_NULL(zb_uniform_costs_parse("f=2.5,w=0,mem=3,base=7", &c));
  CU_ASSERT(c.f == 2.5 && c.b == 1 && c.w == 0 && c.mem == 3 && c.mem_w == 3 && c.base == 7);
  expect(zb_uniform_costs_parse("f=2,f=3", &c), "f is given twice");
  expect(zb_uniform_costs_parse("f=-1", &c), "f: expected a number");
  expect(zb_uniform_costs_parse("f=nan", &c), "f: expected a number");
  expect(zb_uniform_costs_parse("x=1", &c), "unknown name 'x'");
  expect(zb_uniform_costs_parse("f=1,", &c), "expected name=number after the last comma");
  expect(zb_uniform_costs_parse("mem=1,mem_w=2", &c), "mem_w: expected at most mem");
}

/* What a rank computes in a step, in whole picoseconds, is that of the costs whatever the chunks. */
static void test_problem(void) {
  const zb_uniform_costs costs = {.f = 3, .b = 6, .w = 1.5, .mem = 6, .mem_w = 3, .base = 2, .opt = 4, .comm = 0.5};
  for (int chunks = 1; chunks <= 3; ++chunks) {
    zb_problem_data data;
    const char *placement = NULL;
    int given = chunks;
    CU_ASSERT_PTR_NULL_FATAL(zb_problem_uniform(&costs, NULL, 4, 8, &placement, &given, &data));
    CU_ASSERT_PTR_NULL(zb_problem_check(&data.problem));
    CU_ASSERT_EQUAL(data.problem.stages, 4 * chunks);
    int64_t time_ps[4] = {0}, keeps[4] = {0}, frees[4] = {0};
    for (int s = 0; s < data.problem.stages; ++s)
      for (int k = 0; k < ZB_KIND_COUNT; ++k) {
        time_ps[data.stage_rank[s]] += data.costs[s].time_ps[k];
        keeps[data.stage_rank[s]] += data.costs[s].keep_bytes[k];
        frees[data.stage_rank[s]] += data.costs[s].free_bytes[k];
      }
    for (int r = 0; r < 4; ++r) {
      CU_ASSERT_EQUAL(time_ps[r], INT64_C(10500000000));
      CU_ASSERT_EQUAL(keeps[r], 6 << 20);
      CU_ASSERT_EQUAL(frees[r], 6 << 20);
      CU_ASSERT_EQUAL(data.base_bytes[r], 2 << 20);
      CU_ASSERT_EQUAL(data.optimizer_ps[r], INT64_C(4000000000));
    }
    CU_ASSERT_EQUAL(data.problem.link_latency_ps, 500000000);
    CU_ASSERT_PTR_NULL(zb_problem_limit(&data, "1.5p", false));
    CU_ASSERT_EQUAL(data.rank_limit_bytes[3], (2 << 20) + 6 * (6 << 20));
    CU_ASSERT_PTR_NULL(zb_problem_limit(&data, "64M", false));
    CU_ASSERT(data.problem.memory_limit_bytes == 64 << 20 && !data.rank_limit_bytes);
    expect(zb_problem_limit(&data, "64XB", false), "expected bytes like");
    expect(zb_problem_limit(&data, "0p", false), "expected bytes like");
    zb_problem_data_deinit(&data);
  }
}

static void test_schedules(void) {
  const zb_uniform_costs costs = {.f = 1, .b = 1, .w = 1, .mem = 1, .mem_w = 1};
  for (int i = 0; i < zb_schedule_count(); ++i) {
    const zb_schedule_def *schedule = zb_schedule_at(i);
    zb_problem_data data;
    zb_order order = {0};
    const char *placement = NULL;
    int chunks = 0;
    if (schedule->is_slow) continue;
    zb_status status = zb_problem_uniform(&costs, schedule, 4, 8, &placement, &chunks, &data);
    CU_ASSERT_PTR_NULL_FATAL(status);
    CU_ASSERT(chunks >= schedule->chunks_min && placement != NULL);
    CU_ASSERT_EQUAL(data.problem.micro_batches, schedule->two_pipelines ? 4 : 8);
    if (!schedule->two_pipelines) CU_ASSERT_STRING_NOT_EQUAL(zb_placement_name(&data.problem), "given");
    if (schedule->two_pipelines) expect(zb_problem_set_micro_batches(&data, schedule, 7), "expected an even number");
    CU_ASSERT_PTR_NULL(zb_problem_set_micro_batches(&data, schedule, 12));
    CU_ASSERT_EQUAL(data.problem.micro_batches, schedule->two_pipelines ? 6 : 12);
    if (!schedule->searches) CU_ASSERT_PTR_NULL(zb_schedule_run(schedule, &data.problem, &order));
    zb_order_deinit(&order);
    zb_problem_data_deinit(&data);
  }
}

static void test_wrong(void) {
  const zb_uniform_costs costs = {.f = 1, .b = 1};
  const zb_schedule_def *both = zb_schedule_find("dualpipe", NULL);
  zb_problem_data data;
  const char *placement = NULL;
  int chunks = 0;
  expect(zb_problem_uniform(&costs, both, 4, 7, &placement, &chunks, &data), "expected an even number, got 7");
  placement = "diagonal";
  chunks = 1;
  expect(zb_problem_uniform(&costs, NULL, 4, 7, &placement, &chunks, &data), "diagonal");
  placement = NULL;
  expect(zb_problem_uniform(&costs, NULL, 0, 7, &placement, &chunks, &data), "0");
  for (uint64_t n = 1; n < 40; ++n) { /* out of memory: nothing is left */
    placement = NULL;
    chunks = 0;
    zb_allocation_fail_at(n);
    zb_status status = zb_problem_uniform(&costs, both, 4, 8, &placement, &chunks, &data);
    zb_allocation_fail_at(0);
    if (!status) zb_problem_data_deinit(&data);
    zb_status_free(status);
  }
}

int main(void) {
  CU_TestInfo tests[] = {{"costs", test_costs},
                         {"problem", test_problem},
                         {"schedules", test_schedules},
                         {"wrong", test_wrong},
                         CU_TEST_INFO_NULL};
  CU_SuiteInfo suites[] = {{.pName = "uniform", .pTests = tests}, CU_SUITE_INFO_NULL};
  return suite_run(suites);
}
