/* Known values of the simulator: times, bubbles, memory, plans that cannot finish. */
#include "test/runtime/plan/sample_plan.h"
#include "runtime/plan/clock/simulator.h"

#include <stdio.h>

#include "test/suite.h"

static void simulate(const zb_plan *plan, zb_plan_simulation *out) {
  zb_status status = zb_plan_simulate(plan, out);
  if (status) printf("\n  %s", zb_status_text(status));
  CU_ASSERT_PTR_NULL_FATAL(status);
}

/* One rank, three micro-batches: no waiting. F, B, W of a micro-batch use fb 192, fw 256, bw 128; one micro-batch lives
 * at a time. */
static void test_one_rank(void) {
  zb_plan *plan = sample_plan(1, 3, 0);
  zb_plan_simulation it;
  simulate(plan, &it);
  CU_ASSERT_EQUAL(it.step_ps, 3 * (10 + 20 + 30) + 5);
  CU_ASSERT_EQUAL(it.ranks[0].busy_ps, it.step_ps);
  CU_ASSERT_EQUAL(it.ranks[0].f_ps, 30);
  CU_ASSERT_EQUAL(it.ranks[0].b_ps, 60);
  CU_ASSERT_EQUAL(it.ranks[0].w_ps, 90);
  CU_ASSERT_EQUAL(it.ranks[0].opt_ps, 5);
  CU_ASSERT_DOUBLE_EQUAL(it.bubble_barrier, 0, 1e-12);
  CU_ASSERT_DOUBLE_EQUAL(it.bubble_stage, 0, 1e-12);
  /* parameters 576, state 512, gradients 640, constants 64, step 64; B holds all three frames; workspace 256 */
  CU_ASSERT_EQUAL(it.ranks[0].peak_bytes, 1856 + (192 + 256 + 128) + 256);
  zb_plan_simulation_free(&it);
  zb_plan_destroy(plan);
}

/* Two ranks, one micro-batch: F0 10, message 3 + 2, F1 10, B1 20, message 5 beside W1 30, B0 20, W0 30; the exchange of
 * the tied sums ends 5 after the later W; UPDATE 5 in between. By hand: rank 0: F 0-10, B 50-70 (dx leaves rank 1 at
 * 45), W 70-100, UPDATE 100-105, tied UPDATE from 105 or the messages, + 5 rank 1: F 15-25, B 25-45, W 45-75, UPDATE
 * 75-80, tied UPDATE after both messages messages: #2 (rank 0's sums) posted 100 and 75: 100-103.5 -> 104 (64 bytes x
 * 0.0078125 = 0.5, rounded to 1: 3 + 1); #3 (rank 1's sums) posted 75 and 100: 100-104 */
static void test_two_ranks(void) {
  zb_plan *plan = sample_plan(2, 1, 0);
  zb_plan_simulation it;
  simulate(plan, &it);
  int f0 = sample_find(plan, 0, ZB_JOB_F, 0), b0 = sample_find(plan, 0, ZB_JOB_B, 0),
      f1 = sample_find(plan, 1, ZB_JOB_F, 0);
  int recv = sample_find(plan, 1, ZB_JOB_RECV, 0), send = sample_find(plan, 0, ZB_JOB_SEND, 0);
  int exchange = sample_find(plan, 1, ZB_JOB_SEND, -1);
  CU_ASSERT_EQUAL(it.jobs[0][f0].start_ps, 0);
  CU_ASSERT_EQUAL(it.jobs[0][f0].end_ps, 10);
  CU_ASSERT_EQUAL(it.jobs[0][send].start_ps, 10);
  CU_ASSERT_EQUAL(it.jobs[0][send].end_ps, 15);
  CU_ASSERT_EQUAL(it.jobs[1][recv].start_ps, 0); /* posted at once, complete with its send */
  CU_ASSERT_EQUAL(it.jobs[1][recv].end_ps, 15);
  CU_ASSERT_EQUAL(it.jobs[1][f1].start_ps, 15);
  CU_ASSERT_EQUAL(it.jobs[0][b0].start_ps, 50);
  CU_ASSERT_EQUAL(it.jobs[1][exchange].start_ps, 75);
  CU_ASSERT_EQUAL(it.jobs[1][exchange].end_ps, 104);
  CU_ASSERT_EQUAL(it.ranks[0].end_ps, 110);
  CU_ASSERT_EQUAL(it.ranks[1].start_ps, 15);
  CU_ASSERT_EQUAL(it.ranks[1].end_ps, 109);
  CU_ASSERT_EQUAL(it.step_ps, 110);
  CU_ASSERT_EQUAL(it.ranks[0].busy_ps, 70);
  CU_ASSERT_EQUAL(it.ranks[0].opt_ps, 10);
  CU_ASSERT_DOUBLE_EQUAL(it.bubble_barrier, 1 - 70.0 / 110, 1e-12);
  CU_ASSERT_DOUBLE_EQUAL(it.bubble_stage, 1 - 70.0 / 110, 1e-12);
  zb_plan_simulation_free(&it);
  zb_plan_destroy(plan);
}

/* With messages that take no time, 1F1B of equal stages ends at (M + P - 1) x (F + B) plus what W adds: here all W
 * follow their B, so a rank's step is the known M x (F+B+W) + (P-1) x (F+B), and the OPTs. */
static void test_known_bubble(void) {
  for (int ranks = 2; ranks <= 5; ++ranks) {
    zb_plan *plan = sample_plan(ranks, 8, 0);
    zb_plan_simulation it;
    plan->link_latency_ps = 0;
    plan->link_ps_per_byte = 0;
    simulate(plan, &it);
    CU_ASSERT_EQUAL(it.ranks[0].start_ps, 0);
    CU_ASSERT_EQUAL(it.ranks[ranks - 1].start_ps, 10 * (ranks - 1));
    CU_ASSERT_EQUAL(it.ranks[0].end_ps - it.ranks[0].opt_ps, 8 * 60 + (ranks - 1) * (10 + 20));
    for (int r = 0; r < ranks; ++r)
      CU_ASSERT_EQUAL(it.ranks[r].busy_ps - it.ranks[r].opt_ps, 8 * 60);
    zb_plan_simulation_free(&it);
    zb_plan_destroy(plan);
  }
}

/* Two messages on one channel that are posted at once follow each other. */
static void test_channel(void) {
  zb_plan *plan = sample_plan(2, 2, 0);
  zb_plan_simulation it;
  plan->ranks[0].subprograms[SAMPLE_F].time_ps = 0;
  plan->ranks[1].subprograms[SAMPLE_F].time_ps = 0;
  plan->ranks[1].subprograms[SAMPLE_B].time_ps = 0;
  plan->link_latency_ps = 100;
  plan->link_ps_per_byte = 0;
  simulate(plan, &it);
  int second = sample_find(plan, 0, ZB_JOB_SEND, 1);
  CU_ASSERT_EQUAL(it.jobs[0][second].start_ps, 0);
  CU_ASSERT_EQUAL(it.jobs[0][second].end_ps, 200);
  zb_plan_simulation_free(&it);
  zb_plan_destroy(plan);
}

/* With link_copies the sender of what is waited for is busy for 3 + 2 while it copies, and the waiting rank goes on 4
 * later; every job takes 1 of the interpreter. */
static void test_copies(void) {
  zb_plan *plan = sample_plan(2, 1, 0);
  zb_plan_simulation it;
  plan->link_copies = true;
  plan->link_wake_ps = 4;
  plan->job_ps = 1;
  plan->step_ps = 1000;
  simulate(plan, &it);
  int f = sample_find(plan, 0, ZB_JOB_F, 0), b = sample_find(plan, 0, ZB_JOB_B, 0),
      send = sample_find(plan, 0, ZB_JOB_SEND, 0);
  CU_ASSERT_EQUAL(it.jobs[0][send].start_ps - it.jobs[0][f].end_ps, 1);
  CU_ASSERT_EQUAL(it.jobs[0][send].end_ps - it.jobs[0][send].start_ps, 5);
  int64_t arrived = it.jobs[0][send].end_ps;
  int f1 = sample_find(plan, 1, ZB_JOB_F, 0), b1 = sample_find(plan, 1, ZB_JOB_B, 0),
      w1 = sample_find(plan, 1, ZB_JOB_W, 0);
  CU_ASSERT_EQUAL(it.jobs[1][f1].start_ps, arrived + 4);
  CU_ASSERT_EQUAL(it.jobs[1][b1].start_ps, it.jobs[1][f1].end_ps + (b1 - f1));
  CU_ASSERT_EQUAL(it.jobs[1][w1].start_ps, it.jobs[1][b1].end_ps + 1 + 5 + 1); /* it copied in between */
  CU_ASSERT_EQUAL(it.jobs[0][b].start_ps, it.jobs[1][b1].end_ps + 1 + 5 + 4);
  CU_ASSERT_EQUAL(it.ranks[0].waiting_ps > 0, true);
  int64_t step = it.step_ps;
  zb_plan_simulation_free(&it);
  plan->ranks[0].subprograms[SAMPLE_F].first_ps = 17;
  simulate(plan, &it);
  CU_ASSERT_EQUAL(it.step_ps, step + 7); /* it is on the critical path */
  zb_plan_simulation_free(&it);
  zb_plan_destroy(plan);
}

/* Never more than the arena, and more slots than needed are not counted. */
static void test_memory(void) {
  uint64_t peaks[2];
  for (int i = 0; i < 2; ++i) {
    zb_plan *plan = sample_plan(4, 12, i == 0 ? 6 : 12);
    zb_plan_simulation it;
    simulate(plan, &it);
    peaks[i] = it.ranks[3].peak_bytes;
    for (int r = 0; r < 4; ++r)
      CU_ASSERT_TRUE(it.ranks[r].peak_bytes <= plan->ranks[r].arena_bytes);
    CU_ASSERT_TRUE(it.ranks[0].peak_bytes > it.ranks[3].peak_bytes); /* more micro-batches in flight */
    zb_plan_simulation_free(&it);
    zb_plan_destroy(plan);
  }
  CU_ASSERT_TRUE(peaks[0] <= peaks[1]);
}

static void expect_failure(zb_plan *plan, zb_code code, const char *expected) {
  zb_plan_simulation it;
  zb_status status = zb_plan_simulate(plan, &it);
  CU_ASSERT_EQUAL(zb_status_code(status), code);
  if (!strstr(zb_status_text(status), expected)) printf("\n  expected '%s' in: %s", expected, zb_status_text(status));
  CU_ASSERT_PTR_NOT_NULL(strstr(zb_status_text(status), expected));
  CU_ASSERT_PTR_NULL(it.ranks);
  zb_status_free(status);
  zb_plan_destroy(plan);
}

static void test_failures(void) {
  zb_plan *plan = sample_plan(2, 1, 0); /* the last rank ends before it posts anything */
  plan->ranks[1].job_count = plan->ranks[1].load_count;
  expect_failure(plan, ZB_TIMEOUT,
                 "rank 0 job 5 (B of stage 0, micro-batch 0) waits for message #1 from rank 1 to rank 0, which rank 1 "
                 "did not post");
  plan = sample_plan(1, 3, 0);
  plan->ranks[0].subprograms[SAMPLE_W].time_ps = INT64_MAX / 2;
  expect_failure(plan, ZB_INVALID, "2^63 ps");
  plan = sample_plan(2, 1, 0);
  plan->link_ps_per_byte = 1e300;
  expect_failure(plan, ZB_INVALID, "2^63 ps");
  plan = sample_plan(1, 1, 0);
  plan->ranks[0].jobs[1].subprogram = 77;
  expect_failure(plan, ZB_INVALID, "structure");
}

SUITE_MAIN("simulator", {"one rank", test_one_rank}, {"two ranks", test_two_ranks}, {"known bubble", test_known_bubble},
           {"channel", test_channel}, {"copies", test_copies}, {"memory", test_memory}, {"failures", test_failures})
