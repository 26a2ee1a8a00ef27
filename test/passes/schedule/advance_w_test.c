/* zb_order_advance_w: known cases, and what it promises on random problems and orders. */
#include "fixture.h"
#include "random_order.h"

static void copy_order(const zb_order *from, zb_order *out) {
  expect_ok(zb_order_init(out, from->ranks));
  out->whole_backward = from->whole_backward;
  for (int rank = 0; rank < from->ranks; ++rank)
    for (int i = 0; i < from->counts[rank]; ++i) {
      const zb_job job = from->jobs[rank][i];
      expect_ok(zb_order_add(out, rank, job.stage, job.kind, job.micro_batch));
    }
}

static int64_t end_of(const zb_simulation *simulation, const zb_order *order, int rank) {
  const int count = order->counts[rank];
  return count ? simulation->jobs[rank][count - 1].end_ps : 0;
}

/* How many W of the rank stand right behind their B. */
static int count_advanced(const zb_order *order, int rank) {
  int count = 0;
  for (int i = 1; i < order->counts[rank]; ++i) {
    const zb_job b = order->jobs[rank][i - 1], w = order->jobs[rank][i];
    if (w.kind == ZB_W && b.kind == ZB_B && b.stage == w.stage && b.micro_batch == w.micro_batch) ++count;
  }
  return count;
}

/* Moves the W of a copy; checks what holds for every order; the number of W that moved behind their B. */
static int check_promises(const zb_problem *problem, const zb_order *given) {
  zb_order order;
  zb_simulation before, after;
  int moved = 0;
  copy_order(given, &order);
  expect_ok(zb_order_advance_w(problem, &order));
  expect_ok(zb_order_validate(problem, &order));
  expect_ok(zb_simulate(problem, given, &before));
  expect_ok(zb_simulate(problem, &order, &after));
  for (int rank = 0; rank < order.ranks; ++rank) {
    CU_ASSERT_EQUAL(order.counts[rank], given->counts[rank]);
    CU_ASSERT(end_of(&after, &order, rank) <= end_of(&before, given, rank));
    CU_ASSERT(after.peak_bytes[rank] <= before.peak_bytes[rank]);
    const int more = count_advanced(&order, rank) - count_advanced(given, rank);
    CU_ASSERT(more >= 0);
    moved += more;
  }
  CU_ASSERT(after.step_ps <= before.step_ps);
  zb_simulation_deinit(&before);
  zb_simulation_deinit(&after);
  zb_order_deinit(&order);
  return moved;
}

static void emit(const char *name, const zb_problem *problem, zb_order *out) {
  expect_ok(zb_schedule_run(zb_schedule_find(name, NULL), problem, out));
}

/* ZB-H1 holds r W of rank r back, and needs them only at the end: the F and B in between stay where they are. */
static void test_zb_h1(void) {
  for (int ranks = 2; ranks <= 8; ++ranks) {
    const int micro_batches = 3 * ranks;
    fixture x;
    zb_order order;
    fixture_uniform(&x, "plain", ranks, 1, micro_batches, 10, 10, 10, 0, 0.5);
    emit("zb-h1", &x.problem, &order);
    check_promises(&x.problem, &order);
    expect_ok(zb_order_advance_w(&x.problem, &order));
    for (int rank = 0; rank < ranks; ++rank)
      CU_ASSERT(count_advanced(&order, rank) >= micro_batches - ranks);
    zb_order_deinit(&order);
  }
}

static void test_two_ranks_by_hand(void) {
  fixture x;
  zb_order order;
  char *text = NULL;
  fixture_uniform(&x, "plain", 2, 1, 4, 10, 10, 10, 0, 0.5);
  emit("zb-h1", &x.problem, &order);
  expect_ok(zb_order_advance_w(&x.problem, &order));
  const zb_order_style style = {.form = ZB_FORM_TEXT};
  expect_ok(zb_order_write(&x.problem, &order, &style, &text));
  CU_ASSERT_STRING_EQUAL(text, "0F0 0F1 0B0 0W0 0F2 0B1 0W1 0F3 0B2 0W2 0B3 0W3\n"
                               "1F0 1B0 1W0 1F1 1B1 1W1 1F2 1B2 1F3 1B3 1W2 1W3\n");
  zb_free(text);
  zb_order_deinit(&order);
}

/* Backwards that are whole have nothing to move. */
static void test_whole_backward(void) {
  fixture x;
  zb_order order;
  fixture_uniform(&x, "plain", 4, 1, 8, 10, 10, 10, 0, 0.5);
  x.problem.whole_backward = true;
  emit("1f1b", &x.problem, &order);
  CU_ASSERT_EQUAL(check_promises(&x.problem, &order), 0);
  zb_order_deinit(&order);
}

static void test_every_schedule(void) {
  int moved = 0;
  for (int i = 0; i < zb_schedule_count(); ++i) {
    const zb_schedule_def *schedule = zb_schedule_at(i);
    if (schedule->two_pipelines || schedule->searches) continue;
    for (uint64_t seed = 1; seed <= 20; ++seed) {
      uint64_t state = seed;
      const char *placement = NULL;
      int chunks = 0;
      fixture x;
      zb_order order;
      expect_ok(zb_schedule_place(schedule, 4, &placement, &chunks));
      fixture_uneven(&x, &state, placement, 4, chunks, 4 * (1 + (int)fixture_random(&state, 3)));
      zb_status status = zb_schedule_run(schedule, &x.problem, &order);
      if (!status) moved += check_promises(&x.problem, &order);
      zb_status_free(status);
      zb_order_deinit(&order);
    }
  }
  CU_ASSERT(moved > 0);
}

static void test_random_orders(void) {
  int moved = 0;
  for (uint64_t seed = 1; seed <= 2000; ++seed) {
    uint64_t state = seed;
    const int ranks = 1 + (int)fixture_random(&state, 4);
    fixture x;
    zb_order order;
    const int chunks = 1 + (int)fixture_random(&state, 2), micro_batches = 1 + (int)fixture_random(&state, 6);
    fixture_uneven(&x, &state, "looped", ranks, chunks, micro_batches);
    random_order(&x.problem, &state, &order);
    moved += check_promises(&x.problem, &order);
    zb_order_deinit(&order);
  }
  CU_ASSERT(moved > 0);
}

static void test_out_of_memory(void) {
  fixture x;
  zb_order order, before;
  fixture_uniform(&x, "plain", 2, 1, 4, 10, 10, 10, 0, 0.5);
  emit("zb-h1", &x.problem, &order);
  copy_order(&order, &before);
  bool failed = true;
  for (uint64_t at = 1; failed; ++at) {
    zb_allocation_fail_at(at);
    zb_status status = zb_order_advance_w(&x.problem, &order);
    zb_allocation_fail_at(0);
    failed = status != NULL;
    zb_status_free(status);
    for (int rank = 0; failed && rank < 2; ++rank)
      CU_ASSERT_FALSE(memcmp(order.jobs[rank], before.jobs[rank], sizeof(zb_job) * (size_t)order.counts[rank]));
  }
  zb_order_deinit(&before);
  zb_order_deinit(&order);
}

int main(void) {
  static const CU_TestInfo tests[] = {
      {"ZB-H1 holds W back only where the step ends", test_zb_h1},
      {"two ranks by hand", test_two_ranks_by_hand},
      {"whole backwards stay", test_whole_backward},
      {"every schedule", test_every_schedule},
      {"random orders", test_random_orders},
      {"out of memory", test_out_of_memory},
      CU_TEST_INFO_NULL,
  };
  return run_suite("advance_w", tests);
}
