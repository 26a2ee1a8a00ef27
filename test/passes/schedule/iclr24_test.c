/* The published bubble rates of the zero-bubble paper, to the printed digit: 12 settings, 1F1B, ZB-H1 and ZB-H2; and
 * bubbles of our zero-bubble scheduler and of the search at the memory of ZB-1p and ZB-2p, which must be as low or
 * lower. */
#include <jansson.h>
#include <math.h>

#include "fixture.h"

static int64_t ps(const json_t *setting, const char *key) {
  return llround(json_number_value(json_object_get(setting, key)) * 1e9);
}

static void check_setting(const json_t *setting, const char *name) {
  fixture x;
  zb_order order;
  zb_simulation simulation;
  const int ranks = (int)json_integer_value(json_object_get(setting, "ranks"));
  const double ratio = json_number_value(json_object_get(setting, "memory_ratio"));
  fixture_uniform(&x, "plain", ranks, 1, (int)json_integer_value(json_object_get(setting, "micro_batches")),
                  ps(setting, "f"), ps(setting, "b"), ps(setting, "w"), ps(setting, "comm"), ratio);
  expect_ok(zb_schedule_run(zb_schedule_find(name, NULL), &x.problem, &order));
  expect_ok(zb_simulate(&x.problem, &order, &simulation));
  const double published = json_number_value(json_object_get(setting, name));
  CU_ASSERT(published > 0.01);
  CU_ASSERT_EQUAL(llround(simulation.bubble_stage * 1e4), llround(published * 1e4));
  /* ZB-H2 starts its ranks one after the other: the table has its stage metric. */
  const bool h2 = !strcmp(name, "zb-h2");
  if (!h2) CU_ASSERT_EQUAL(llround(simulation.bubble_barrier * 1e4), llround(published * 1e4));
  /* Sections 2.2 and 2.3 of the paper: the memory of 1F1B, p micro-batches on the first rank; 2p-1 of them. */
  CU_ASSERT_EQUAL(simulation.peak_bytes[0], 1000 * (h2 ? 2 * ranks - 1 : ranks));
  CU_ASSERT(zb_lower_bound_ps(&x.problem) <= simulation.step_ps);
  zb_simulation_deinit(&simulation);
  zb_order_deinit(&order);
}

/* As low as published, to the printed digit, within the same memory. */
static void check_as_low(const json_t *setting, const char *published, const char *name, int memory) {
  fixture x;
  zb_order order;
  zb_simulation simulation;
  const int ranks = (int)json_integer_value(json_object_get(setting, "ranks"));
  fixture_uniform(&x, "plain", ranks, 1, (int)json_integer_value(json_object_get(setting, "micro_batches")),
                  ps(setting, "f"), ps(setting, "b"), ps(setting, "w"), ps(setting, "comm"),
                  json_number_value(json_object_get(setting, "memory_ratio")));
  x.problem.metric = ZB_METRIC_STAGE;
  x.problem.memory_limit_bytes = (int64_t)memory * ranks * 1000;
  expect_ok(zb_schedule_run(zb_schedule_find(name, NULL), &x.problem, &order));
  expect_ok(zb_simulate(&x.problem, &order, &simulation));
  const double rate = json_number_value(json_object_get(setting, published));
  CU_ASSERT(rate > 0.0005);
  CU_ASSERT(llround(simulation.bubble_stage * 1e4) <= llround(rate * 1e4));
  CU_ASSERT(zb_lower_bound_stage_ps(&x.problem) <= simulation.stage_ps);
  for (int rank = 0; rank < ranks; ++rank)
    CU_ASSERT(simulation.peak_bytes[rank] <= x.problem.memory_limit_bytes);
  if (memory == 1) CU_ASSERT_EQUAL(zb_lower_bound_stage_ps(&x.problem), simulation.stage_ps);
  zb_simulation_deinit(&simulation);
  zb_order_deinit(&order);
}

static void test_published(void) {
  json_error_t error;
  json_t *root = json_load_file(ZB_SOURCE_DIR "/test/passes/schedule/iclr24.json", 0, &error);
  CU_ASSERT_PTR_NOT_NULL_FATAL(root);
  const json_t *settings = json_object_get(root, "settings");
  CU_ASSERT_EQUAL(json_array_size(settings), 12);
  for (size_t i = 0; i < json_array_size(settings); ++i) {
    check_setting(json_array_get(settings, i), "1f1b");
    check_setting(json_array_get(settings, i), "zb-h1");
    check_setting(json_array_get(settings, i), "zb-h2");
    check_as_low(json_array_get(settings, i), "zb-1p", "zb-1p", 1);
    check_as_low(json_array_get(settings, i), "zb-2p", "zb-2p", 2);
    check_as_low(json_array_get(settings, i), "zb-1p", "search", 1);
    check_as_low(json_array_get(settings, i), "zb-2p", "search", 2);
  }
  json_decref(root);
}

int main(void) {
  static const CU_TestInfo tests[] = {{"Table 5: 1F1B, ZB-H1, ZB-H2; ZB-1p and ZB-2p or better", test_published},
                                      CU_TEST_INFO_NULL};
  return run_suite("iclr24", tests);
}
