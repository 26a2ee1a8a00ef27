/* Problems and placements: what is accepted, and the message for everything that is not. */
#include <limits.h>
#include <math.h>

#include "fixture.h"

static fixture x;

static void fresh(void) {
  fixture_uniform(&x, "plain", 4, 1, 8, 6, 6, 6, 1, 0.5);
  for (int i = 0; i < 3; ++i)
    x.edges[i] = (zb_edge){i, i + 1, 8, 8};
  x.problem.edges = x.edges;
  x.problem.edge_count = 3;
  x.problem.base_bytes = x.base;
  x.problem.optimizer_ps = x.optimizer;
}

/* Sets one field of a good problem, checks the message, and takes the good problem again. */
#define EXPECT(change, part)                                                                                           \
  do {                                                                                                                 \
    fresh();                                                                                                           \
    change;                                                                                                            \
    expect_status(zb_problem_check(&x.problem), ZB_INVALID, part);                                                     \
  } while (0)

static void test_rejected(void) {
  fresh();
  expect_ok(zb_problem_check(&x.problem));
  EXPECT(x.problem.ranks = 0, "ranks: expected 1 or more, got 0");
  EXPECT(x.problem.ranks = 4097, "ranks: expected at most 4096, got 4097");
  EXPECT(x.problem.micro_batches = 0, "micro_batches: expected 1 or more, got 0");
  EXPECT(x.problem.micro_batches = -3, "got -3");
  EXPECT(x.problem.stages = 5, "expected a multiple of the 4 ranks, got 5");
  EXPECT(x.problem.stages = 0, "expected a multiple of the 4 ranks, got 0");
  EXPECT(x.problem.stage_rank = NULL, "stage_rank: expected a rank for each");
  EXPECT(x.problem.costs = NULL, "costs: expected times of each");
  EXPECT(x.problem.micro_batches = INT_MAX, "too many jobs");
  EXPECT(x.costs[2].time_ps[ZB_B] = -1, "stage 2: time of B: expected 0 or more, got -1 ps");
  EXPECT(x.costs[1].time_ps[ZB_W] = INT64_MAX, "stage 1: time of W: all times together exceed");
  EXPECT(x.costs[1].keep_bytes[ZB_F] = -5, "stage 1: memory of F");
  EXPECT(x.costs[1].keep_bytes[ZB_F] = INT64_MAX / 4, "stage 1: memory of F: all bytes together exceed");
  EXPECT(x.costs[3].free_bytes[ZB_W] = 501, "stage 3: W frees 501 bytes, but only 500 are kept then");
  EXPECT(x.problem.edge_count = -1, "edge_count");
  EXPECT(x.edges[1].destination = 4, "edge 1: expected 0 <= source < destination < 4 stages, got 1 -> 4");
  EXPECT(x.edges[1].destination = 1, "got 1 -> 1");
  EXPECT(x.edges[2].backward_bytes = -1, "edge 2 (2 -> 3): expected bytes of 0 or more");
  EXPECT(x.edges[2] = x.edges[0], "edges: 0 -> 1 is given twice");
  EXPECT(x.problem.link_latency_ps = -1, "link_latency_ps: expected 0 or more, got -1");
  EXPECT(x.problem.link_ps_per_byte = -1, "link_ps_per_byte: expected a finite number");
  EXPECT(x.problem.link_ps_per_byte = nan(""), "link_ps_per_byte");
  EXPECT(x.problem.link_ps_per_byte = 1e300, "the time of its messages");
  EXPECT(x.problem.link_latency_ps = INT64_MAX, "the time of its messages");
  EXPECT(x.problem.memory_limit_bytes = -1, "memory_limit_bytes");
  EXPECT(x.base[2] = -7, "rank 2: base_bytes: expected 0 or more, got -7");
  EXPECT(x.optimizer[3] = -7, "rank 3: optimizer_ps: expected 0 or more, got -7");
  EXPECT(x.stage_rank[3] = 4, "stage 3: expected a rank of 0..3, got 4");
  EXPECT(x.stage_rank[3] = 0, "rank 0: expected 1 virtual stages on every rank, got more");
  fresh();
  x.problem.ranks = 0;
  CU_ASSERT_EQUAL(zb_lower_bound_ps(&x.problem), 0);
}

static void check_placement(const char *name, int ranks, int chunks, const int *expected) {
  int got[16];
  expect_ok(zb_placement(name, ranks, chunks, got));
  CU_ASSERT(!memcmp(got, expected, (size_t)(ranks * chunks) * sizeof(int)));
}

static void test_placements(void) {
  check_placement("plain", 3, 1, (int[]){0, 1, 2});
  check_placement("looped", 3, 2, (int[]){0, 1, 2, 0, 1, 2});
  check_placement("v", 3, 2, (int[]){0, 1, 2, 2, 1, 0});
  check_placement("wave", 2, 4, (int[]){0, 1, 1, 0, 0, 1, 1, 0});
  check_placement("0,1,1,0", 2, 2, (int[]){0, 1, 1, 0});
  int got[16];
  static const char *const wrong[] = {"0,1,1",  "0,1,1,0,", "0,1,1,0,0", "0,1,1,1",  "0,1,1,2",
                                      "0,1,,1", "0,1,1,-1", "0 1 1 0",   "0,1,1,0x", "99999999999999999999"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i)
    expect_status(zb_placement(wrong[i], 2, 2, got), ZB_USAGE,
                  "expected the ranks of 4 virtual stages, each of 0..1 2 times");
  expect_status(zb_placement("plain", 3, 2, got), ZB_USAGE, "placement plain: expected 1 chunk a rank, got 2");
  expect_status(zb_placement("v", 3, 1, got), ZB_USAGE, "placement v: expected 2 chunks a rank, got 1");
  expect_status(zb_placement("loopd", 3, 2, got), ZB_USAGE, "did you mean 'looped'?");
  expect_status(zb_placement("looped", 0, 2, got), ZB_USAGE, "expected 1 rank");
  expect_status(zb_placement("looped", INT_MAX, 2, got), ZB_USAGE, "expected 1 rank");
  CU_ASSERT_EQUAL(zb_placement_count(), 4);
  CU_ASSERT_PTR_NULL(zb_placement_at(4));
}

static void check_layout(const zb_schedule_def *schedule, const char *placement, int chunks, const char *expected,
                         int expected_chunks) {
  expect_ok(zb_schedule_place(schedule, 3, &placement, &chunks));
  CU_ASSERT_STRING_EQUAL(placement, expected);
  CU_ASSERT_EQUAL(chunks, expected_chunks);
}

static void test_layouts(void) {
  const zb_schedule_def any = {.name = "any", .placement = "plain", .chunks_min = 1, .chunks_max = INT_MAX};
  const zb_schedule_def rounds = {.name = "rounds", .placement = "looped", .chunks_min = 1, .chunks_max = INT_MAX};
  const zb_schedule_def one = {.name = "one", .placement = "plain", .chunks_min = 1, .chunks_max = 1};
  const zb_schedule_def two = {.name = "two", .placement = "v", .chunks_min = 2, .chunks_max = 2};
  check_layout(&any, NULL, 0, "plain", 1);
  check_layout(&any, NULL, 3, "looped", 3);
  check_layout(&any, "v", 0, "v", 2);
  check_layout(&any, "plain", 0, "plain", 1);
  check_layout(&any, "wave", 0, "wave", 2);
  check_layout(&rounds, NULL, 0, "looped", 2);
  check_layout(&rounds, NULL, 1, "looped", 1);
  check_layout(&one, "wave", 0, "wave", 1);
  check_layout(&any, "wave", 4, "wave", 4);
  check_layout(&any, "0,1,2,2,1,0", 0, "0,1,2,2,1,0", 2);
  check_layout(&two, NULL, 0, "v", 2);
  check_layout(&two, NULL, 2, "v", 2);
  check_layout(&two, "looped", 0, "looped", 2);
  const char *placement = NULL;
  int chunks = 1;
  expect_status(zb_schedule_place(&two, 3, &placement, &chunks), ZB_USAGE, "two needs 2 chunks a rank, got 1");
  placement = "loopd";
  expect_status(zb_schedule_place(&two, 3, &placement, &chunks), ZB_USAGE, "did you mean 'looped'?");
  placement = "0,1,2";
  chunks = 0;
  expect_status(zb_schedule_place(&two, 3, &placement, &chunks), ZB_USAGE, "two needs 2 chunks a rank, got 1");
}

int main(void) {
  static const CU_TestInfo tests[] = {
      {"wrong problems", test_rejected}, {"placements", test_placements}, {"layouts", test_layouts}, CU_TEST_INFO_NULL};
  return run_suite("problem", tests);
}
