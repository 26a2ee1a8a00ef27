/* The critical path against cases computed by hand, and on random problems against its definition. */
#include "fixture.h"

typedef struct outcome {
  zb_order order;
  zb_simulation simulation;
  zb_path path;
} outcome;

static void run(const char *name, const zb_problem *problem, outcome *out) {
  expect_ok(zb_schedule_run(zb_schedule_find(name, NULL), problem, &out->order));
  expect_ok(zb_simulate(problem, &out->order, &out->simulation));
  expect_ok(zb_critical_path(problem, &out->order, &out->simulation, &out->path));
}

static void release(outcome *out) {
  zb_path_deinit(&out->path);
  zb_simulation_deinit(&out->simulation);
  zb_order_deinit(&out->order);
}

/* What a path should be, one step a row; a message is {rank, to_rank, its job}. */
typedef struct expected {
  zb_path_kind kind;
  int rank, to_rank;
  const char *job;
  int64_t start_ps, end_ps;
} expected;

static void check_path(const zb_path *path, const expected *rows, int count) {
  CU_ASSERT_EQUAL(path->count, count);
  for (int i = 0; i < path->count && i < count; ++i) {
    const zb_path_step *step = &path->steps[i];
    char text[32];
    if (step->kind != ZB_PATH_OPTIMIZER) CU_ASSERT_STRING_EQUAL(zb_job_text(step->job, text), rows[i].job);
    CU_ASSERT_EQUAL(step->kind, rows[i].kind);
    CU_ASSERT_EQUAL(step->rank, rows[i].rank);
    CU_ASSERT_EQUAL(step->to_rank, rows[i].to_rank);
    CU_ASSERT_EQUAL(step->start_ps, rows[i].start_ps);
    CU_ASSERT_EQUAL(step->end_ps, rows[i].end_ps);
  }
}

static void check_text(const zb_problem *problem, const zb_path *path, int lines, const char *wanted) {
  char *text = zb_path_text(problem, path, lines);
  CU_ASSERT_PTR_NOT_NULL_FATAL(text);
  if (strcmp(text, wanted)) fprintf(stderr, "\nexpected\n%sgot\n%s", wanted, text);
  CU_ASSERT_STRING_EQUAL(text, wanted);
  zb_free(text);
}

static const int64_t MS = 1000000000;

/* There and back with one micro-batch: every job of the chain, and the optimizer of the rank that ends last. */
static void test_round_trip(void) {
  fixture x;
  outcome out;
  fixture_uniform(&x, "plain", 2, 1, 1, 10 * MS, 20 * MS, 5 * MS, 3 * MS, 0.5);
  x.optimizer[0] = 7 * MS;
  x.problem.optimizer_ps = x.optimizer;
  run("zb-h1", &x.problem, &out);
  const expected rows[] = {
      {ZB_PATH_JOB, 0, 0, "0F0", 0, 10 * MS},           {ZB_PATH_MESSAGE, 0, 1, "0F0", 10 * MS, 13 * MS},
      {ZB_PATH_JOB, 1, 1, "1F0", 13 * MS, 23 * MS},     {ZB_PATH_JOB, 1, 1, "1B0", 23 * MS, 43 * MS},
      {ZB_PATH_MESSAGE, 1, 0, "1B0", 43 * MS, 46 * MS}, {ZB_PATH_JOB, 0, 0, "0B0", 46 * MS, 66 * MS},
      {ZB_PATH_JOB, 0, 0, "0W0", 66 * MS, 71 * MS},     {ZB_PATH_OPTIMIZER, 0, 0, "", 71 * MS, 78 * MS},
  };
  check_path(&out.path, rows, sizeof rows / sizeof *rows);
  check_text(&x.problem, &out.path, 0,
             "       0.000 ms  rank 0: F of micro-batch 0, message to rank 1\n"
             "      13.000 ms  rank 1: F and B of micro-batch 0, message to rank 0\n"
             "      46.000 ms  rank 0: B and W of micro-batch 0\n"
             "      71.000 ms  rank 0: optimizer\n");
  check_text(&x.problem, &out.path, 3,
             "       0.000 ms  rank 0: F of micro-batch 0, message to rank 1\n"
             "         ...     2 more\n"
             "      71.000 ms  rank 0: optimizer\n");
  release(&out);
}

/* A slow link: messages wait for each other, so that all of them are on the path. A whole backward sends after its W.
 */
static void test_slow_link(void) {
  fixture x;
  outcome out;
  fixture_uniform(&x, "plain", 2, 1, 3, MS, MS, MS, 10 * MS, 0.5);
  run("fthenb", &x.problem, &out);
  const expected rows[] = {
      {ZB_PATH_JOB, 0, 0, "0F0", 0, MS},
      {ZB_PATH_MESSAGE, 0, 1, "0F0", MS, 11 * MS},
      {ZB_PATH_MESSAGE, 0, 1, "0F1", 11 * MS, 21 * MS},
      {ZB_PATH_MESSAGE, 0, 1, "0F2", 21 * MS, 31 * MS},
      {ZB_PATH_JOB, 1, 1, "1F2", 31 * MS, 32 * MS},
      {ZB_PATH_JOB, 1, 1, "1B0", 32 * MS, 33 * MS},
      {ZB_PATH_JOB, 1, 1, "1W0", 33 * MS, 34 * MS},
      {ZB_PATH_MESSAGE, 1, 0, "1B0", 34 * MS, 44 * MS},
      {ZB_PATH_MESSAGE, 1, 0, "1B1", 44 * MS, 54 * MS},
      {ZB_PATH_MESSAGE, 1, 0, "1B2", 54 * MS, 64 * MS},
      {ZB_PATH_JOB, 0, 0, "0B2", 64 * MS, 65 * MS},
      {ZB_PATH_JOB, 0, 0, "0W2", 65 * MS, 66 * MS},
  };
  check_path(&out.path, rows, sizeof rows / sizeof *rows);
  CU_ASSERT_EQUAL(out.simulation.step_ps, 66 * MS);
  check_text(&x.problem, &out.path, 0,
             "       0.000 ms  rank 0: F of micro-batch 0, 3 messages to rank 1\n"
             "      31.000 ms  rank 1: F of micro-batch 2, B and W of 0, 3 messages to rank 0\n"
             "      64.000 ms  rank 0: B and W of micro-batch 2\n");
  release(&out);
}

/* Messages longer than the slack of ZB-H1: micro-batch 4 waits for the first to be back. And a V, where two chunks meet
 * on the last rank. Both added up by hand. */
static void test_words(void) {
  fixture x;
  outcome out;
  fixture_uniform(&x, "plain", 4, 1, 8, MS, MS, MS, MS / 2, 0.5);
  run("zb-h1", &x.problem, &out);
  check_text(&x.problem, &out.path, 0,
             "       0.000 ms  ranks 0 to 3: F of micro-batch 0, 3 messages\n"
             "       5.500 ms  ranks 3 to 0: B of micro-batch 0, 3 messages\n"
             "      11.000 ms  rank 0: W of micro-batch 0, F of 4, message to rank 1\n"
             "      13.500 ms  ranks 1 to 3: F of micro-batch 4, 2 messages\n"
             "      17.500 ms  rank 3: B of micro-batches 4-7, W of 1-3, F of 5-7, message to rank 2\n"
             "      28.000 ms  ranks 2 to 0: B of micro-batch 7, 2 messages\n"
             "      32.000 ms  rank 0: W of micro-batch 7\n");
  CU_ASSERT_EQUAL(out.simulation.step_ps, 33 * MS);
  release(&out);
  fixture_uniform(&x, "v", 2, 2, 2, 2 * MS, 2 * MS, 2 * MS, 0, 0.5);
  run("fthenb", &x.problem, &out);
  check_text(&x.problem, &out.path, 0,
             "       0.000 ms  rank 0: F of micro-batch 0 (stage 0)\n"
             "       1.000 ms  rank 1: F of micro-batches 0-1 (stage 1), F of 0 (stage 2)\n"
             "       4.000 ms  rank 0: F of micro-batches 0-1 (stage 3), B and W of 0 (stage 3)\n"
             "       8.000 ms  rank 1: B and W of micro-batches 0-1 (stage 2), B and W of 0 (stage 1)\n"
             "      14.000 ms  rank 0: B and W of micro-batches 0-1 (stage 0)\n");
  CU_ASSERT_EQUAL(out.simulation.step_ps, 18 * MS);
  release(&out);
}

/* On random problems: no gap, every piece as simulated, as long as the step. */
static void test_definition(void) {
  uint64_t seed = 7;
  static const char *const placements[] = {"plain", "looped", "v", "wave"};
  for (int round = 0; round < 600; ++round) {
    const zb_schedule_def *schedule = zb_schedule_at(round % zb_schedule_count());
    const int p = 1 + (int)fixture_random(&seed, 6), m = 1 + (int)fixture_random(&seed, 9);
    const int kind = schedule->chunks_max > 1 ? (int)fixture_random(&seed, 4) : 0;
    const int v = kind == 0 ? 1 : kind == 2 ? 2 : 1 + (int)fixture_random(&seed, 3);
    fixture x;
    outcome out = {0};
    fixture_uneven(&x, &seed, placements[kind], p, v, m);
    zb_status status = zb_schedule_run(schedule, &x.problem, &out.order);
    zb_status_free(status);
    if (!out.order.jobs) continue; /* not defined for it */
    expect_ok(zb_simulate(&x.problem, &out.order, &out.simulation));
    expect_ok(zb_critical_path(&x.problem, &out.order, &out.simulation, &out.path));
    int64_t at = 0;
    for (int i = 0; i < out.path.count; ++i) {
      const zb_path_step *step = &out.path.steps[i];
      CU_ASSERT_EQUAL(step->start_ps, at);
      CU_ASSERT(step->end_ps >= at);
      at = step->end_ps;
      if (step->kind == ZB_PATH_JOB) {
        CU_ASSERT_EQUAL(step->end_ps - step->start_ps, x.costs[step->job.stage].time_ps[step->job.kind]);
        CU_ASSERT_EQUAL(step->rank, x.stage_rank[step->job.stage]);
      }
      if (step->kind == ZB_PATH_OPTIMIZER) CU_ASSERT_EQUAL(i, out.path.count - 1);
      if (i > 0)
        CU_ASSERT_EQUAL(step->rank, out.path.steps[i - 1].to_rank * (step->kind != ZB_PATH_MESSAGE) +
                                        (step->kind == ZB_PATH_MESSAGE) * step->rank);
    }
    CU_ASSERT_EQUAL(at, out.simulation.step_ps);
    char *text = zb_path_text(&x.problem, &out.path, 9);
    int lines = 0;
    for (const char *c = text; c && *c; ++c)
      lines += *c == '\n';
    CU_ASSERT(lines >= 1 && lines <= 9);
    zb_free(text);
    release(&out);
  }
}

/* A simulation of another order is noticed, not followed. */
static void test_wrong_simulation(void) {
  fixture x;
  outcome out;
  fixture_uniform(&x, "plain", 2, 1, 3, MS, MS, MS, MS, 0.5);
  run("zb-h1", &x.problem, &out);
  zb_path_deinit(&out.path);
  out.simulation.jobs[0][3].start_ps += 1;
  expect_status(zb_critical_path(&x.problem, &out.order, &out.simulation, &out.path), ZB_INVALID,
                "the simulation is of another order");
  CU_ASSERT_PTR_NULL(out.path.steps);
  release(&out);
}

static void test_out_of_memory(void) {
  fixture x;
  outcome out;
  fixture_uniform(&x, "looped", 2, 2, 3, 6, 6, 6, 1, 0.5);
  run("fthenb", &x.problem, &out);
  int failures = 0;
  for (uint64_t n = 1; n < 1000; ++n) {
    zb_path path = {0};
    zb_allocation_fail_at(n);
    zb_status status = zb_critical_path(&x.problem, &out.order, &out.simulation, &path);
    char *text = status ? NULL : zb_path_text(&x.problem, &path, 0);
    zb_allocation_fail_at(0);
    const bool done = text != NULL;
    if (status) CU_ASSERT_EQUAL(zb_status_code(status), ZB_MEMORY);
    failures += !done;
    zb_free(text);
    zb_status_free(status);
    zb_path_deinit(&path);
    if (done) break;
  }
  CU_ASSERT(failures > 10 && failures < 999);
  release(&out);
}

int main(void) {
  static const CU_TestInfo tests[] = {{"there and back", test_round_trip},
                                      {"messages that wait for a slow link", test_slow_link},
                                      {"in words", test_words},
                                      {"no gap, and as long as the step", test_definition},
                                      {"simulation of another order", test_wrong_simulation},
                                      {"every allocation fails once", test_out_of_memory},
                                      CU_TEST_INFO_NULL};
  return run_suite("critical path", tests);
}
