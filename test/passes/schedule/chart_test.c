/* Charts against golden files (ZB_BLESS=1 rewrites them), and the timeline of a simulated step. */
#include <jansson.h>

#include "fixture.h"
#include "runtime/base/file.h"

/* A chart per row; the file is charts/NAME.txt. comm != 0 or times != 1: the timed chart, else one column a job. */
static const struct {
  const char *file, *schedule, *placement;
  int ranks, chunks, micro_batches;
  int64_t f, b, w, comm;
  int columns; /* 0: without simulation */
} rows[] = {
    {"fthenb", "fthenb", "plain", 4, 1, 6, 1, 1, 1, 0, 0},
    {"fthenb_chunks", "fthenb", "looped", 3, 2, 4, 2, 2, 2, 0, 0},
    {"1f1b", "1f1b", "plain", 3, 1, 4, 1, 1, 1, 0, 0},
    {"1f1b_timed", "1f1b", "plain", 4, 1, 8, 10, 20, 10, 0, 160},
    {"eager_1f1b", "eager-1f1b", "plain", 4, 1, 8, 1, 1, 1, 0, 0},
    {"looped_bfs", "looped-bfs", "looped", 2, 3, 3, 3, 3, 3, 0, 0},
    {"interleaved_1f1b", "interleaved-1f1b", "looped", 3, 2, 5, 2, 2, 2, 0, 0},
    {"interleaved_zb", "interleaved-zb", "looped", 3, 2, 7, 2, 2, 2, 0, 0},
    {"zb_h2", "zb-h2", "plain", 4, 1, 8, 1, 1, 1, 0, 0},
    {"zb_h1", "zb-h1", "plain", 4, 1, 8, 1, 1, 1, 0, 0},
    {"zb_h1_few", "zb-h1", "plain", 5, 1, 3, 1, 1, 1, 0, 0},
    {"zb_h1_scaled", "zb-h1", "plain", 4, 1, 8, 18522000, 18086000, 9337000, 601000, 120},
    {"zb_h1_parts", "zb-h1", "plain", 4, 1, 12, 18522000, 18086000, 9337000, 601000, 100},
    {"zb_h1_kinds", "zb-h1", "plain", 3, 1, 60, 18522000, 18086000, 9337000, 601000, 40},
    {"zb_v", "zb-v", "v", 4, 2, 8, 2, 2, 2, 0, 0},
    {"zb_v_few", "zb-v", "v", 3, 2, 2, 2, 2, 2, 0, 0},
    {"v_min", "v-min", "v", 4, 2, 8, 2, 2, 2, 0, 0},
    {"v_half", "v-half", "v", 4, 2, 8, 2, 2, 2, 0, 0},
    {"v_zb", "v-zb", "v", 4, 2, 8, 2, 2, 2, 0, 0},
    {"adaptive_v", "adaptive-v", "v", 4, 2, 8, 2, 2, 2, 0, 0},
    {"dualpipev", "dualpipev", "v", 4, 2, 8, 2, 2, 2, 0, 0},
    {"dualpipe", "dualpipe", "v", 4, 2, 4, 2, 2, 2, 0, 0},
};

static void check_golden(const char *file, const char *text) {
  char path[512];
  snprintf(path, sizeof path, "%s/test/passes/schedule/charts/%s.txt", ZB_SOURCE_DIR, file);
  if (getenv("ZB_BLESS")) expect_ok(zb_file_write_atomic(path, text, strlen(text)));
  char *golden = NULL;
  size_t bytes = 0;
  expect_ok(zb_file_read(path, 0, &golden, &bytes));
  if (golden && strcmp(golden, text))
    fprintf(stderr, "\n%s: expected\n%sgot\n%s(ZB_BLESS=1 rewrites it)\n", path, golden, text);
  CU_ASSERT(golden && !strcmp(golden, text));
  zb_free(golden);
}

static void test_golden(void) {
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    fixture x;
    zb_order order;
    zb_simulation simulation;
    fixture_uniform(&x, rows[i].placement, rows[i].ranks, rows[i].chunks, rows[i].micro_batches, rows[i].f, rows[i].b,
                    rows[i].w, rows[i].comm, 0.5);
    const zb_schedule_def *schedule = zb_schedule_find(rows[i].schedule, NULL);
    if (schedule->two_pipelines) fixture_two_chains(&x);
    expect_ok(zb_schedule_run(schedule, &x.problem, &order));
    expect_ok(zb_simulate(&x.problem, &order, &simulation));
    char *chart = zb_order_chart(&x.problem, &order, rows[i].columns ? &simulation : NULL, rows[i].columns);
    CU_ASSERT_PTR_NOT_NULL_FATAL(chart);
    check_golden(rows[i].file, chart);
    zb_free(chart);
    zb_simulation_deinit(&simulation);
    zb_order_deinit(&order);
  }
}

/* An order that cannot finish is shown as lists. */
static void test_lists(void) {
  fixture x;
  zb_order order;
  fixture_uniform(&x, "plain", 2, 1, 1, 1, 1, 1, 0, 0.5);
  expect_ok(zb_order_init(&order, 2));
  expect_ok(zb_order_add(&order, 1, 1, ZB_B, 0));
  expect_ok(zb_order_add(&order, 1, 1, ZB_F, 0));
  char *chart = zb_order_chart(&x.problem, &order, NULL, 0);
  CU_ASSERT_STRING_EQUAL(chart, "rank 0:\nrank 1: 1B0 1F0\n");
  zb_free(chart);
  zb_order_deinit(&order);
}

static int count_phase(const json_t *events, const char *phase) {
  int count = 0;
  for (size_t i = 0; i < json_array_size(events); ++i)
    count += !strcmp(json_string_value(json_object_get(json_array_get(events, i), "ph")), phase);
  return count;
}

static void test_timeline(void) {
  fixture x;
  zb_order order;
  zb_simulation simulation;
  fixture_uniform(&x, "v", 2, 2, 3, 1000000, 1000000, 1000000, 1000, 0.5);
  for (int rank = 0; rank < 2; ++rank)
    x.optimizer[rank] = 500000;
  x.problem.optimizer_ps = x.optimizer;
  expect_ok(zb_schedule_run(zb_schedule_find("fthenb", NULL), &x.problem, &order));
  expect_ok(zb_simulate(&x.problem, &order, &simulation));
  expect_ok(zb_order_timeline(&x.problem, &order, &simulation, "a & b", "chart_test.json"));
  json_error_t error;
  json_t *root = json_load_file("chart_test.json", 0, &error);
  CU_ASSERT_PTR_NOT_NULL_FATAL(root);
  const json_t *events = json_object_get(root, "traceEvents");
  const int messages = 2 * 2 * 3; /* edges 0-1 and 2-3 cross ranks, both ways, 3 micro-batches */
  CU_ASSERT_EQUAL(count_phase(events, "X"), 4 * 3 * 3 + 2 + 2 * messages);
  CU_ASSERT_EQUAL(count_phase(events, "s"), messages);
  CU_ASSERT_EQUAL(count_phase(events, "f"), messages);
  CU_ASSERT(count_phase(events, "C") > 10);
  json_decref(root);
  remove("chart_test.json");
  expect_ok(zb_order_timeline(&x.problem, &order, &simulation, "a & b", "chart_test.svg"));
  char *svg = NULL;
  size_t bytes;
  expect_ok(zb_file_read("chart_test.svg", 0, &svg, &bytes));
  CU_ASSERT_PTR_NOT_NULL_FATAL(svg);
  CU_ASSERT_PTR_NOT_NULL(strstr(svg, ">a &amp; b</text>"));
  CU_ASSERT_PTR_NOT_NULL(strstr(svg, "<title>W2, rank 1, stage 2"));
  CU_ASSERT_PTR_NOT_NULL(strstr(svg, "rank 0: peak 5.86 KiB"));
  zb_free(svg);
  remove("chart_test.svg");
  expect_status(zb_order_timeline(&x.problem, &order, &simulation, NULL, "chart.png"), ZB_USAGE,
                "ends in .svg or .json");
  zb_simulation_deinit(&simulation);
  zb_order_deinit(&order);
}

/* Two steps in one picture: one scale, so that the shorter one ends earlier; and every allocation fails once. */
static void test_pictures(void) {
  fixture x[2];
  zb_order orders[2] = {0};
  zb_simulation simulations[2] = {0};
  zb_order_picture pictures[2];
  for (int i = 0; i < 2; ++i) {
    fixture_uniform(&x[i], "plain", 2, 1, 2, 1000000 << i, 1000000 << i, 1000000 << i, 0, 0.5);
    expect_ok(zb_schedule_run(zb_schedule_find("zb-h1", NULL), &x[i].problem, &orders[i]));
    expect_ok(zb_simulate(&x[i].problem, &orders[i], &simulations[i]));
    pictures[i] = (zb_order_picture){&x[i].problem, &orders[i], &simulations[i], i ? "long" : NULL};
  }
  int failures = 0;
  for (uint64_t n = 1; n < 1000; ++n) {
    zb_allocation_fail_at(n);
    zb_status status = zb_order_pictures(pictures, 2, "chart_test.svg");
    zb_allocation_fail_at(0);
    if (!status) break;
    CU_ASSERT_EQUAL(zb_status_code(status), ZB_MEMORY);
    zb_status_free(status);
    ++failures;
  }
  CU_ASSERT(failures > 10 && failures < 999);
  char *svg = NULL;
  size_t bytes;
  expect_ok(zb_file_read("chart_test.svg", 0, &svg, &bytes));
  CU_ASSERT_PTR_NOT_NULL_FATAL(svg);
  CU_ASSERT_PTR_NOT_NULL(strstr(svg, ">schedule (simulated)</text>"));
  CU_ASSERT_PTR_NOT_NULL(strstr(svg, ">long</text>"));
  CU_ASSERT_PTR_NOT_NULL(strstr(svg, "width=\"520\" height=\"30\"")); /* half of 1040 */
  CU_ASSERT_PTR_NOT_NULL(strstr(svg, "width=\"1040\" height=\"30\""));
  zb_free(svg);
  remove("chart_test.svg");
  expect_status(zb_order_pictures(pictures, 0, "chart_test.svg"), ZB_USAGE, "expected 1 or more, got 0");
  expect_status(zb_order_pictures(pictures, 2, "chart_test.json"), ZB_USAGE, "ends in .svg");
  for (int i = 0; i < 2; ++i) {
    zb_simulation_deinit(&simulations[i]);
    zb_order_deinit(&orders[i]);
  }
}

int main(void) {
  static const CU_TestInfo tests[] = {{"golden charts", test_golden},
                                      {"lists", test_lists},
                                      {"timeline", test_timeline},
                                      {"pictures", test_pictures},
                                      CU_TEST_INFO_NULL};
  return run_suite("chart", tests);
}
