/* Orders: text of jobs, and every way in which an order can be wrong, with the message that says so. */
#include "fixture.h"

static void add_jobs(zb_order *order, int rank, const char *text) {
  char copy[256], *word;
  snprintf(copy, sizeof copy, "%s", text);
  for (word = strtok(copy, " "); word; word = strtok(NULL, " ")) {
    zb_job job;
    CU_ASSERT_FATAL(zb_job_parse(word, &job));
    expect_ok(zb_order_add(order, rank, job.stage, job.kind, job.micro_batch));
  }
}

/* Two ranks, one chunk each, two micro-batches. */
static zb_status validate(const char *first, const char *second, bool whole) {
  fixture x;
  zb_order order;
  fixture_uniform(&x, "plain", 2, 1, 2, 6, 6, 6, 1, 0.5);
  expect_ok(zb_order_init(&order, 2));
  add_jobs(&order, 0, first);
  add_jobs(&order, 1, second);
  order.whole_backward = whole;
  zb_status status = zb_order_validate(&x.problem, &order);
  zb_order_deinit(&order);
  return status;
}

static const char good_first[] = "0F0 0F1 0B0 0W0 0B1 0W1", good_second[] = "1F0 1B0 1F1 1B1 1W0 1W1";

static void test_wrong_orders(void) {
  expect_ok(validate(good_first, good_second, false));
  expect_status(validate("0F0 0F1 0B0 0W0 0B1", good_second, false), ZB_INVALID, "rank 0: 0W1 is missing");
  expect_status(validate("0F0 0F1 0B0 0W0 0B1 0W1 0B0", good_second, false), ZB_INVALID,
                "rank 0, job 6: 0B0 is there twice (job 2 too)");
  expect_status(validate("0F0 0F1 0B0 0W0 0B1 1W1", good_second, false), ZB_INVALID,
                "rank 0, job 5: 1W1 belongs to rank 1");
  expect_status(validate("0F0 0F2 0B0 0W0 0B1 0W1", good_second, false), ZB_INVALID,
                "rank 0, job 1: there is no job 0F2");
  expect_status(validate("0F0 5F1 0B0 0W0 0B1 0W1", good_second, false), ZB_INVALID, "there is no job 5F1");
  expect_status(validate("0F0 0B1 0B0 0W0 0F1 0W1", good_second, false), ZB_INVALID,
                "0B1 stands before 0F1, which it needs");
  expect_status(validate(good_first, "1F0 1W0 1F1 1B1 1B0 1W1", false), ZB_INVALID,
                "1W0 stands before 1B0, which it needs");
  expect_status(validate(good_first, "1F0 1B0 1F1 1B1 1W1 1W0", false), ZB_INVALID,
                "1W1 stands before 1W0: expected W of a stage in rising");
  expect_status(validate(good_first, good_second, true), ZB_INVALID, "rank 1, job 1: 1B0 is not followed by its W");
}

/* Where F updates buffers, it rises as W does. */
static void test_f_updates(void) {
  fixture x;
  zb_order order;
  fixture_uniform(&x, "plain", 1, 1, 2, 6, 6, 6, 1, 0.5);
  expect_ok(zb_order_init(&order, 1));
  add_jobs(&order, 0, "0F1 0F0 0B0 0W0 0B1 0W1");
  expect_ok(zb_order_validate(&x.problem, &order));
  x.costs[0].f_updates = true;
  expect_status(zb_order_validate(&x.problem, &order), ZB_INVALID,
                "0F1 stands before 0F0: expected F of a stage in rising micro-batch order");
  zb_order_deinit(&order);
}

/* Where B adds to gradients too, it rises as W does. */
static void test_b_accumulates(void) {
  fixture x;
  zb_order order;
  fixture_uniform(&x, "plain", 1, 1, 2, 6, 6, 6, 1, 0.5);
  expect_ok(zb_order_init(&order, 1));
  add_jobs(&order, 0, "0F0 0F1 0B1 0B0 0W0 0W1");
  expect_ok(zb_order_validate(&x.problem, &order));
  x.costs[0].b_accumulates = true;
  expect_status(zb_order_validate(&x.problem, &order), ZB_INVALID,
                "0B1 stands before 0B0: expected B of a stage in rising micro-batch order");
  zb_order_deinit(&order);
}

static void test_marked_cell(void) {
  expect_status(validate(good_first, "1F0 1B0 1F1 1B1 1W1 1W0", false), ZB_INVALID, "1B1 [1W1] 1W0");
  expect_status(validate("0F0 0B1 0B0 0W0 0F1 0W1", good_second, false), ZB_INVALID, "0F0 [0B1] 0B0");
}

/* Rank 0 wants its gradient before it forwards more; rank 1 wants more forwards before it sends one. */
static void test_deadlock(void) {
  const char *first = "0F0 0B0 0W0 0F1 0B1 0W1", *second = "1F0 1F1 1B0 1B1 1W0 1W1";
  expect_status(validate(first, second, false), ZB_INVALID, "the order deadlocks");
  expect_status(validate(first, second, false), ZB_INVALID,
                "rank 0 at 0B0 (job 1) waits for 1B0 of rank 1, which stands behind 1F1 (job 1)");
  expect_status(validate(first, second, false), ZB_INVALID,
                "rank 1 at 1F1 (job 1) waits for 0F1 of rank 0, which stands behind 0B0 (job 1)");
  expect_status(validate(first, second, false), ZB_INVALID, "0F0 [0B0] 0W0");
}

/* Simulation of an order that was never validated ends too, and says who waits. */
static void test_simulate_wrong(void) {
  fixture x;
  zb_order order;
  zb_simulation simulation;
  fixture_uniform(&x, "plain", 2, 1, 1, 6, 6, 6, 1, 0.5);
  expect_ok(zb_order_init(&order, 2));
  add_jobs(&order, 0, "0F0 0B0 0W0");
  add_jobs(&order, 1, "1B0 1W0");
  expect_status(zb_simulate(&x.problem, &order, &simulation), ZB_TIMEOUT,
                "rank 1 at 1B0 (job 0) waits for 1F0, which is in no list");
  CU_ASSERT_PTR_NULL(simulation.jobs);
  zb_order_deinit(&order);
  expect_ok(zb_order_init(&order, 1));
  expect_status(zb_simulate(&x.problem, &order, &simulation), ZB_INVALID, "the order has 1 ranks, the problem has 2");
  expect_status(zb_order_validate(&x.problem, &order), ZB_INVALID, "the order has 1 ranks, the problem has 2");
  expect_status(zb_order_add(&order, 1, 0, ZB_F, 0), ZB_INVALID, "expected a rank of 0..0, got 1");
  zb_order_deinit(&order);
  expect_status(zb_order_init(&order, 0), ZB_INVALID, "expected 1 or more, got 0");
}

/* Every single exchange of two neighbours of a valid order is either still valid and simulates, or is rejected: never a
 * hang. */
static void test_exchanges(void) {
  fixture x;
  zb_order order;
  fixture_uniform(&x, "plain", 3, 1, 4, 6, 6, 6, 1, 0.5);
  expect_ok(zb_schedule_run(zb_schedule_find("zb-h1", NULL), &x.problem, &order));
  int rejected = 0, accepted = 0;
  for (int rank = 0; rank < 3; ++rank)
    for (int i = 0; i < order.counts[rank]; ++i)
      for (int k = i + 1; k < order.counts[rank]; ++k) {
        zb_job *jobs = order.jobs[rank], first = jobs[i];
        zb_simulation simulation;
        jobs[i] = jobs[k];
        jobs[k] = first;
        zb_status valid = zb_order_validate(&x.problem, &order),
                  simulated = zb_simulate(&x.problem, &order, &simulation);
        if (!valid) CU_ASSERT_PTR_NULL(simulated);
        if (simulated) CU_ASSERT_EQUAL(zb_status_code(simulated), ZB_TIMEOUT);
        rejected += valid != NULL;
        accepted += valid == NULL;
        zb_status_free(valid);
        zb_status_free(simulated);
        zb_simulation_deinit(&simulation);
        first = jobs[i];
        jobs[i] = jobs[k];
        jobs[k] = first;
      }
  CU_ASSERT(rejected > 20);
  CU_ASSERT(accepted > 5);
  zb_order_deinit(&order);
}

static void test_job_text(void) {
  char text[32];
  zb_job job;
  CU_ASSERT_STRING_EQUAL(zb_job_text((zb_job){12, 345, ZB_W}, text), "12W345");
  CU_ASSERT(zb_job_parse("12W345", &job));
  CU_ASSERT(job.stage == 12 && job.kind == ZB_W && job.micro_batch == 345);
  CU_ASSERT(zb_job_parse("0I7", &job) && job.kind == ZB_B);
  static const char *const wrong[] = {"",     "F",    "0F",   "F0",  "0f0",           "0F0x",         " 0F0",
                                      "0F 0", "-1F0", "0F-1", "0X0", "99999999999F0", "0F2147483648", "0FF0"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i)
    CU_ASSERT_FALSE(zb_job_parse(wrong[i], &job));
}

int main(void) {
  static const CU_TestInfo tests[] = {{"text of jobs", test_job_text},
                                      {"wrong orders", test_wrong_orders},
                                      {"B that accumulates", test_b_accumulates},
                                      {"F that updates buffers", test_f_updates},
                                      {"the cell is marked", test_marked_cell},
                                      {"deadlock", test_deadlock},
                                      {"simulation of wrong orders", test_simulate_wrong},
                                      {"all exchanges of two jobs", test_exchanges},
                                      CU_TEST_INFO_NULL};
  return run_suite("order", tests);
}
