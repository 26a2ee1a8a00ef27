/* Simulation: numbers worked out by hand, and a second simulator that shares no code, on random problems and random
 * orders. */
#include <math.h>

#include "fixture.h"
#include "random_order.h"

static void expect_times(const zb_order *order, const zb_simulation *simulation, int rank, int index, const char *job,
                         int64_t start, int64_t end) {
  char text[32];
  CU_ASSERT_STRING_EQUAL(zb_job_text(order->jobs[rank][index], text), job);
  CU_ASSERT_EQUAL(simulation->jobs[rank][index].start_ps, start);
  CU_ASSERT_EQUAL(simulation->jobs[rank][index].end_ps, end);
}

/* Two ranks, F 10, B 10, W 5; a message is 3 + 4 bytes * 0.5 = 5 down and 3 + 2 * 0.5 = 4 up. */
static void test_by_hand(void) {
  fixture x;
  zb_order order;
  zb_simulation s;
  fixture_uniform(&x, "plain", 2, 1, 2, 10, 10, 5, 3, 0.4);
  x.edges[0] = (zb_edge){0, 1, 4, 2};
  x.problem.edges = x.edges;
  x.problem.edge_count = 1;
  x.problem.link_ps_per_byte = 0.5;
  x.base[0] = 7;
  x.optimizer[1] = 100;
  x.problem.base_bytes = x.base;
  x.problem.optimizer_ps = x.optimizer;
  expect_ok(zb_schedule_run(zb_schedule_find("zb-h1", NULL), &x.problem, &order));
  expect_ok(zb_simulate(&x.problem, &order, &s));
  expect_times(&order, &s, 0, 0, "0F0", 0, 10);
  expect_times(&order, &s, 0, 1, "0F1", 10, 20);
  expect_times(&order, &s, 1, 0, "1F0", 15, 25);
  expect_times(&order, &s, 1, 1, "1B0", 25, 35);
  expect_times(&order, &s, 1, 2, "1F1", 35, 45);
  expect_times(&order, &s, 0, 2, "0B0", 39, 49);
  expect_times(&order, &s, 0, 3, "0W0", 49, 54);
  expect_times(&order, &s, 1, 3, "1B1", 45, 55);
  expect_times(&order, &s, 1, 4, "1W0", 55, 60);
  expect_times(&order, &s, 1, 5, "1W1", 60, 65);
  expect_times(&order, &s, 0, 4, "0B1", 59, 69);
  expect_times(&order, &s, 0, 5, "0W1", 69, 74);
  CU_ASSERT_EQUAL(s.optimizer_start_ps[1], 65);
  CU_ASSERT_EQUAL(s.step_ps, 165);
  CU_ASSERT_EQUAL(s.stage_ps, 150); /* rank 1, 15 to 165 */
  CU_ASSERT_DOUBLE_EQUAL(s.bubble_barrier, 1 - 100.0 / 165, 1e-12);
  CU_ASSERT_DOUBLE_EQUAL(s.bubble_stage, 1 - 100.0 / 150, 1e-12);
  CU_ASSERT_EQUAL(s.peak_bytes[0], 2007);
  CU_ASSERT_EQUAL(s.peak_bytes[1], 1400); /* W0 (400) is held while F1 is kept */
  zb_simulation_deinit(&s);
  zb_order_deinit(&order);
}

/* What B keeps is there before what it frees is gone. */
static void test_peak_of_b(void) {
  fixture x;
  zb_order order;
  zb_simulation s;
  fixture_uniform(&x, "plain", 1, 1, 1, 10, 10, 5, 3, 0.4);
  x.costs[0] = (zb_stage_cost){.time_ps = {1, 1, 1}, .keep_bytes = {10 + 20, 5, 0}, .free_bytes = {0, 10, 25}};
  expect_ok(zb_schedule_run(zb_schedule_find("1f1b", NULL), &x.problem, &order));
  expect_ok(zb_simulate(&x.problem, &order, &s));
  CU_ASSERT_EQUAL(s.peak_bytes[0], 35);
  zb_simulation_deinit(&s);
  zb_order_deinit(&order);
}

/* Messages of one channel follow each other: F of 1 ps, messages of 10 ps. */
static void test_channel(void) {
  fixture x;
  zb_order order;
  zb_simulation s;
  fixture_uniform(&x, "plain", 2, 1, 3, 1, 1, 1, 10, 0.4);
  expect_ok(zb_schedule_run(zb_schedule_find("fthenb", NULL), &x.problem, &order));
  expect_ok(zb_simulate(&x.problem, &order, &s));
  expect_times(&order, &s, 1, 0, "1F0", 11, 12);
  expect_times(&order, &s, 1, 1, "1F1", 21, 22);
  expect_times(&order, &s, 1, 2, "1F2", 31, 32);
  zb_simulation_deinit(&s);
  zb_order_deinit(&order);
}

/* A message between chunks of one rank is there at once, and a skip edge holds its receiver. */
static void test_skip_and_local(void) {
  fixture x;
  zb_order order;
  zb_simulation s;
  fixture_uniform(&x, "v", 2, 2, 1, 2, 2, 2, 10, 0.4);
  static const zb_edge edges[] = {{0, 1, 0, 1}, {1, 2, 0, 1}, {2, 3, 0, 1}, {0, 3, 100, 0}};
  x.problem.edges = edges;
  x.problem.edge_count = 4;
  x.problem.link_ps_per_byte = 1;
  expect_ok(zb_schedule_run(zb_schedule_find("fthenb", NULL), &x.problem, &order));
  expect_ok(zb_simulate(&x.problem, &order, &s));
  expect_times(&order, &s, 1, 0, "1F0", 11, 12);
  expect_times(&order, &s, 1, 1, "2F0", 12, 13); /* same rank */
  expect_times(&order, &s, 0, 1, "3F0", 23, 24); /* 0 and 3 are on rank 0, so the skip is free */
  zb_simulation_deinit(&s);
  zb_order_deinit(&order);
  fixture_uniform(&x, "looped", 3, 1, 1, 1, 1, 1, 10, 0.4);
  static const zb_edge skip[] = {{0, 1, 0, 1}, {1, 2, 0, 1}, {0, 2, 100, 0}};
  x.problem.edges = skip;
  x.problem.edge_count = 3;
  x.problem.link_ps_per_byte = 1;
  expect_ok(zb_schedule_run(zb_schedule_find("fthenb", NULL), &x.problem, &order));
  expect_ok(zb_simulate(&x.problem, &order, &s));
  expect_times(&order, &s, 2, 0, "2F0", 111, 112);
  zb_simulation_deinit(&s);
  zb_order_deinit(&order);
}

/* ---- The second simulator: repeats the definition on all jobs until nothing changes ---- */

typedef struct reference {
  const zb_problem *problem;
  const zb_order *order;
  int64_t end[FIXTURE_STAGES][16][ZB_KIND_COUNT];
} reference;

/* When the result of (stage, kind, micro_batch) is at stage `to`: all earlier messages of that channel, in list order,
 * go first. */
static int64_t arrival(const reference *r, int stage, zb_kind kind, int micro_batch, int to) {
  const zb_problem *p = r->problem;
  const int source = p->stage_rank[stage], destination = p->stage_rank[to];
  if (source == destination) return r->end[stage][micro_batch][kind];
  int64_t wire = 0;
  for (int i = 0; i < r->order->counts[source]; ++i) {
    const zb_job job = r->order->jobs[source][i];
    for (int e = 0; e < p->edge_count && job.kind != ZB_W; ++e) {
      const zb_edge edge = p->edges[e];
      const bool forward = job.kind == ZB_F;
      const int from = forward ? edge.source : edge.destination, receiver = forward ? edge.destination : edge.source;
      const int64_t bytes = forward ? edge.forward_bytes : edge.backward_bytes;
      if (from != job.stage || p->stage_rank[receiver] != destination || (!forward && bytes == 0)) continue;
      const int64_t sent = r->end[job.stage][job.micro_batch][job.kind];
      wire = (sent > wire ? sent : wire) + p->link_latency_ps + llround((double)bytes * p->link_ps_per_byte);
      if (job.stage == stage && job.kind == kind && job.micro_batch == micro_batch && receiver == to) return wire;
    }
  }
  CU_FAIL("no such message");
  return 0;
}

static int64_t ready(const reference *r, zb_job job) {
  const zb_problem *p = r->problem;
  int64_t at = 0;
  for (int e = 0; e < p->edge_count; ++e) {
    const zb_edge edge = p->edges[e];
    int64_t there = 0;
    if (job.kind == ZB_F && edge.destination == job.stage)
      there = arrival(r, edge.source, ZB_F, job.micro_batch, job.stage);
    if (job.kind == ZB_B && edge.source == job.stage && edge.backward_bytes > 0)
      there = arrival(r, edge.destination, ZB_B, job.micro_batch, job.stage);
    if (there > at) at = there;
  }
  return at;
}

static bool relax(reference *r) {
  bool changed = false;
  for (int rank = 0; rank < r->order->ranks; ++rank) {
    int64_t clock = 0;
    for (int i = 0; i < r->order->counts[rank]; ++i) {
      const zb_job job = r->order->jobs[rank][i];
      const int64_t inputs = ready(r, job);
      clock = (inputs > clock ? inputs : clock) + r->problem->costs[job.stage].time_ps[job.kind];
      changed |= r->end[job.stage][job.micro_batch][job.kind] != clock;
      r->end[job.stage][job.micro_batch][job.kind] = clock;
    }
  }
  return changed;
}

static void test_against_reference(void) {
  static reference r;
  uint64_t seed = 7;
  static const char *const placements[] = {"plain", "looped", "v", "wave"};
  for (int round = 0; round < 120; ++round) {
    const int kind = (int)fixture_random(&seed, 4), chunks = kind == 0   ? 1
                                                             : kind == 2 ? 2
                                                                         : 1 + (int)fixture_random(&seed, 2);
    fixture x;
    zb_order order;
    zb_simulation s;
    fixture_uneven(&x, &seed, placements[kind], 1 + (int)fixture_random(&seed, 4), chunks,
                   1 + (int)fixture_random(&seed, 4));
    random_order(&x.problem, &seed, &order);
    expect_ok(zb_order_validate(&x.problem, &order));
    expect_ok(zb_simulate(&x.problem, &order, &s));
    memset(&r, 0, sizeof r);
    r.problem = &x.problem;
    r.order = &order;
    int sweeps = 0;
    while (relax(&r) && sweeps < 500)
      ++sweeps;
    CU_ASSERT(sweeps < 500);
    int different = 0;
    for (int rank = 0; rank < order.ranks; ++rank)
      for (int i = 0; i < order.counts[rank]; ++i) {
        const zb_job job = order.jobs[rank][i];
        different += s.jobs[rank][i].end_ps != r.end[job.stage][job.micro_batch][job.kind];
      }
    CU_ASSERT_EQUAL(different, 0);
    CU_ASSERT(zb_lower_bound_ps(&x.problem) <= s.step_ps);
    CU_ASSERT(zb_lower_bound_stage_ps(&x.problem) <= s.stage_ps);
    zb_simulation_deinit(&s);
    zb_order_deinit(&order);
  }
}

int main(void) {
  static const CU_TestInfo tests[] = {{"by hand", test_by_hand},
                                      {"peak of B", test_peak_of_b},
                                      {"messages of a channel", test_channel},
                                      {"skips and messages inside a rank", test_skip_and_local},
                                      {"second simulator, random orders", test_against_reference},
                                      CU_TEST_INFO_NULL};
  return run_suite("simulate", tests);
}
