/* Every schedule for all small sizes: valid, bubble as its formula says, memory within its bound, no faster than the
 * lower bound. */
#include "fixture.h"

/* Times of uniform stages that the formulas are checked with. */
static const int64_t cost_rows[][3] = {{6, 6, 6}, {18522, 18084, 9336}, {18, 24, 12}};

typedef struct outcome {
  zb_order order;
  zb_simulation simulation;
} outcome;

static void run(const char *name, const fixture *x, outcome *out) {
  const zb_schedule_def *schedule = zb_schedule_find(name, NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(schedule);
  expect_ok(zb_schedule_run(schedule, &x->problem, &out->order));
  expect_ok(zb_simulate(&x->problem, &out->order, &out->simulation));
  CU_ASSERT(zb_lower_bound_ps(&x->problem) <= out->simulation.step_ps);
  CU_ASSERT(zb_lower_bound_stage_ps(&x->problem) <= out->simulation.stage_ps);
  for (int rank = 0; rank < x->problem.ranks; ++rank) {
    const double bound = schedule->memory_bound(&x->problem, rank);
    const double unit = 1000.0 * x->problem.stages / x->problem.ranks;
    CU_ASSERT((double)out->simulation.peak_bytes[rank] <= bound * unit + 0.5);
  }
}

static void release(outcome *out) {
  zb_order_deinit(&out->order);
  zb_simulation_deinit(&out->simulation);
}

static void check_time(const fixture *x, const outcome *out, int64_t expected) {
  if (out->simulation.step_ps != expected)
    fprintf(stderr, "\np %d m %d: expected %lld, got %lld", x->problem.ranks, x->problem.micro_batches,
            (long long)expected, (long long)out->simulation.step_ps);
  CU_ASSERT_EQUAL(out->simulation.step_ps, expected);
  const zb_stage_cost *cost = x->costs;
  const double work = (double)(cost->time_ps[0] + cost->time_ps[1] + cost->time_ps[2]) * x->problem.micro_batches *
                      x->problem.stages / x->problem.ranks;
  CU_ASSERT_DOUBLE_EQUAL(out->simulation.bubble_barrier, 1 - work / (double)expected, 1e-12);
}

/* (p-1)T in all; with v chunks (p-1)T/v, and a chunk of fewer micro-batches than ranks waits for its predecessor to
 * come round. */
static void test_fthenb(void) {
  for (size_t row = 0; row < 3; ++row)
    for (int p = 1; p <= 8; ++p)
      for (int m = 1; m <= 16; ++m)
        for (int v = 1; v <= 3; ++v) {
          fixture x;
          outcome out;
          const int64_t f = cost_rows[row][0], b = cost_rows[row][1], w = cost_rows[row][2];
          fixture_uniform(&x, v == 1 ? "plain" : "looped", p, v, m, f, b, w, 0, 0.5);
          run("fthenb", &x, &out);
          const int64_t rounds = (int64_t)(v - 1) * (m > p ? m : p) + m + p - 1;
          check_time(&x, &out, rounds * ((f + b + w) / v));
          for (int rank = 0; rank < p; ++rank)
            CU_ASSERT_EQUAL(out.simulation.peak_bytes[rank], 1000 * m * v);
          release(&out);
        }
}

static void test_1f1b(void) {
  for (size_t row = 0; row < 3; ++row)
    for (int p = 1; p <= 8; ++p)
      for (int m = 1; m <= 16; ++m) {
        fixture x;
        outcome out;
        const int64_t f = cost_rows[row][0], b = cost_rows[row][1], w = cost_rows[row][2];
        fixture_uniform(&x, "plain", p, 1, m, f, b, w, 0, 0.5);
        run("1f1b", &x, &out);
        CU_ASSERT(out.order.whole_backward);
        check_time(&x, &out, (m + p - 1) * (f + b + w));
        for (int rank = 0; rank < p; ++rank)
          CU_ASSERT_EQUAL(out.simulation.peak_bytes[rank], 1000 * (m < p - rank ? m : p - rank));
        release(&out);
        /* The gradient sent as soon as it is there: only F and B are on the way round. */
        if (m < p || row > 0) continue;
        expect_ok(zb_schedule_run(zb_schedule_find("1f1b", NULL), &x.problem, &out.order));
        out.order.whole_backward = false;
        expect_ok(zb_simulate(&x.problem, &out.order, &out.simulation));
        check_time(&x, &out, m * (f + b + w) + (p - 1) * (f + b));
        release(&out);
      }
}

static void test_zb_h1(void) {
  for (size_t row = 0; row < 3; ++row)
    for (int p = 1; p <= 8; ++p)
      for (int m = 1; m <= 16; ++m) {
        fixture x;
        outcome out;
        const int64_t f = cost_rows[row][0], b = cost_rows[row][1], w = cost_rows[row][2];
        fixture_uniform(&x, "plain", p, 1, m, f, b, w, 0, 0.5);
        run("zb-h1", &x, &out);
        if (m >= p)
          check_time(&x, &out, m * (f + b + w) + (p - 1) * (f + b - w));
        else
          check_time(&x, &out, (m + p - 1) * (f + b) + w);
        CU_ASSERT(out.simulation.peak_bytes[0] == 1000 * (m < p ? m : p));
        release(&out);
      }
}

/* Uneven stages, skips, optimizer, any placement that the schedule takes: valid, within memory limit when given its own
 * peak. */
static void test_uneven(void) {
  uint64_t seed = 1;
  static const char *const placements[] = {"plain", "looped", "v", "wave"};
  for (int i = 0; i < zb_schedule_count(); ++i)
    for (int round = 0; round < 200; ++round) {
      const zb_schedule_def *schedule = zb_schedule_at(i);
      const int p = 1 + (int)fixture_random(&seed, 6), m = 1 + (int)fixture_random(&seed, 9);
      const int kind = schedule->chunks_max > 1 ? (int)fixture_random(&seed, 4) : 0;
      const int v = kind == 0 ? 1 : kind == 2 ? 2 : 1 + (int)fixture_random(&seed, 3);
      fixture x;
      zb_order order;
      zb_simulation simulation;
      fixture_uneven(&x, &seed, placements[kind], p, v, m);
      expect_ok(zb_schedule_run(schedule, &x.problem, &order));
      expect_ok(zb_simulate(&x.problem, &order, &simulation));
      int64_t most = 0;
      for (int rank = 0; rank < p; ++rank)
        most = simulation.peak_bytes[rank] > most ? simulation.peak_bytes[rank] : most;
      x.problem.memory_limit_bytes = most;
      CU_ASSERT(zb_lower_bound_ps(&x.problem) <= simulation.step_ps);
      CU_ASSERT(zb_lower_bound_stage_ps(&x.problem) <= simulation.stage_ps);
      zb_order_deinit(&order);
      if (most > 0) expect_ok(zb_schedule_run(schedule, &x.problem, &order));
      zb_order_deinit(&order);
      if (most > 1) {
        x.problem.memory_limit_bytes = most - 1;
        char needed[64];
        snprintf(needed, sizeof needed, "needs %lld bytes on rank", (long long)most);
        expect_status(zb_schedule_run(schedule, &x.problem, &order), ZB_INFEASIBLE, needed);
        CU_ASSERT_PTR_NULL(order.jobs);
      }
      zb_simulation_deinit(&simulation);
    }
}

/* A stage may stand on any rank: the pipeline goes by stages. */
static void test_permuted(void) {
  fixture x;
  outcome plain, permuted;
  for (int i = 0; i < zb_schedule_count(); ++i) {
    fixture_uniform(&x, "plain", 4, 1, 6, 10, 11, 7, 1, 0.5);
    run(zb_schedule_at(i)->name, &x, &plain);
    const int ranks[] = {2, 0, 3, 1};
    memcpy(x.stage_rank, ranks, sizeof ranks);
    run(zb_schedule_at(i)->name, &x, &permuted);
    CU_ASSERT_EQUAL(plain.simulation.step_ps, permuted.simulation.step_ps);
    release(&plain);
    release(&permuted);
  }
}

static void test_table(void) {
  const char *nearest = NULL;
  CU_ASSERT(zb_schedule_count() >= 3);
  for (int i = 0; i < zb_schedule_count(); ++i) {
    const zb_schedule_def *schedule = zb_schedule_at(i);
    CU_ASSERT_PTR_EQUAL(zb_schedule_find(schedule->name, NULL), schedule);
    CU_ASSERT(strlen(schedule->summary) > 20);
    CU_ASSERT(schedule->chunks_max >= 1);
  }
  CU_ASSERT_PTR_NULL(zb_schedule_at(-1));
  CU_ASSERT_PTR_NULL(zb_schedule_at(zb_schedule_count()));
  CU_ASSERT_PTR_NULL(zb_schedule_find("zb-h11", &nearest));
  CU_ASSERT_STRING_EQUAL(nearest, "zb-h1");
  CU_ASSERT_PTR_NULL(zb_schedule_find("fthanb", &nearest));
  CU_ASSERT_STRING_EQUAL(nearest, "fthenb");
  CU_ASSERT_PTR_NULL(zb_schedule_find("completely different", &nearest));
  CU_ASSERT_PTR_NULL(nearest);
}

static void test_one_chunk_only(void) {
  fixture x;
  zb_order order;
  fixture_uniform(&x, "looped", 2, 2, 4, 6, 6, 6, 0, 0.5);
  expect_status(zb_schedule_run(zb_schedule_find("1f1b", NULL), &x.problem, &order), ZB_USAGE,
                "at most 1 chunk a rank, got 2");
  expect_status(zb_schedule_run(zb_schedule_find("zb-h1", NULL), &x.problem, &order), ZB_USAGE,
                "at most 1 chunk a rank, got 2");
}

/* Large problems stay near-linear: jobs, not ranks squared or micro-batches squared. */
static void test_large(void) {
  for (int i = 0; i < zb_schedule_count(); ++i) {
    fixture x;
    outcome out;
    fixture_uniform(&x, "plain", 64, 1, 512, 10, 10, 10, 1, 0.5);
    run(zb_schedule_at(i)->name, &x, &out);
    int64_t jobs = 0;
    for (int rank = 0; rank < 64; ++rank)
      jobs += out.order.counts[rank];
    CU_ASSERT_EQUAL(jobs, 64 * 512 * 3);
    release(&out);
  }
}

/* Each allocation fails once: a clean MEMORY status and nothing kept. */
static void test_out_of_memory(void) {
  fixture x;
  fixture_uniform(&x, "looped", 2, 2, 3, 6, 6, 6, 1, 0.5);
  int failures = 0;
  for (uint64_t n = 1; n < 1000; ++n) {
    zb_order order = {0};
    zb_simulation simulation = {0};
    zb_allocation_fail_at(n);
    zb_status status = zb_schedule_run(zb_schedule_find("fthenb", NULL), &x.problem, &order);
    if (!status) status = zb_simulate(&x.problem, &order, &simulation);
    char *chart = status ? NULL : zb_order_chart(&x.problem, &order, &simulation, 80);
    zb_allocation_fail_at(0);
    const bool done = chart != NULL;
    if (status) CU_ASSERT_EQUAL(zb_status_code(status), ZB_MEMORY);
    failures += !done;
    zb_free(chart);
    zb_status_free(status);
    zb_simulation_deinit(&simulation);
    zb_order_deinit(&order);
    if (done) break;
  }
  CU_ASSERT(failures > 10 && failures < 999);
}

int main(void) {
  static const CU_TestInfo tests[] = {{"the table of schedules", test_table},
                                      {"fthenb, all small sizes", test_fthenb},
                                      {"1f1b, all small sizes", test_1f1b},
                                      {"zb-h1, all small sizes", test_zb_h1},
                                      {"uneven stages, skips, memory limits", test_uneven},
                                      {"permuted ranks", test_permuted},
                                      {"one chunk only", test_one_chunk_only},
                                      {"64 ranks, 512 micro-batches", test_large},
                                      {"every allocation fails once", test_out_of_memory},
                                      CU_TEST_INFO_NULL};
  return run_suite("schedules", tests);
}
