/* Every schedule for all small sizes: valid, bubble as its formula says, memory within its bound, no faster than the
 * lower bound. */
#include "fixture.h"
#include "zero_buffer.h"

enum { ROWS_MAX = 64 };

/* Times of uniform stages that the formulas are checked with. */
static const int64_t cost_rows[][3] = {{6, 6, 6}, {18522, 18084, 9336}, {18, 24, 12}};

typedef struct outcome {
  zb_order order;
  zb_simulation simulation;
} outcome;

/* A row with its default options, but for a small budget where it has one: search_test.c is for the rest. */
static void row_choice(const zb_schedule_def *schedule, zb_schedule_choice *out) {
  const bool has_budget = schedule->options && !strcmp(schedule->options[0].name, "budget");
  char text[64];
  snprintf(text, sizeof text, "%s%s", schedule->name, has_budget ? ":budget=20" : "");
  expect_ok(zb_schedule_parse(text, out));
}

static zb_status run_row(const zb_schedule_def *schedule, const zb_problem *problem, zb_order *out) {
  zb_schedule_choice choice;
  row_choice(schedule, &choice);
  return zb_schedule_run_choice(&choice, problem, out);
}

static void run(const char *name, const fixture *x, outcome *out) {
  const zb_schedule_def *schedule = zb_schedule_find(name, NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(schedule);
  expect_ok(run_row(schedule, &x->problem, &out->order));
  expect_ok(zb_simulate(&x->problem, &out->order, &out->simulation));
  CU_ASSERT_PTR_NOT_NULL_FATAL(out->simulation.jobs);
  CU_ASSERT(zb_lower_bound_ps(&x->problem) <= out->simulation.step_ps);
  CU_ASSERT(zb_lower_bound_stage_ps(&x->problem) <= out->simulation.stage_ps);
  for (int rank = 0; rank < x->problem.ranks; ++rank) {
    const double bound = schedule->memory_bound(&x->problem, rank), unit = fixture_unit(schedule, &x->problem);
    CU_ASSERT(bound < 0 || (double)out->simulation.peak_bytes[rank] <= bound * unit + 0.5);
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
        CU_ASSERT_PTR_NOT_NULL_FATAL(out.simulation.jobs);
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

/* A rule that is not defined for this problem says so, and nothing else. Whether there is an order. */
static bool run_or_usage(const zb_schedule_def *schedule, const zb_problem *problem, zb_order *order) {
  zb_status status = run_row(schedule, problem, order);
  if (!status) return true;
  const bool usage = zb_status_code(status) == ZB_USAGE && strlen(zb_status_text(status)) > 20;
  if (!usage)
    fprintf(stderr, "\n%s, p %d m %d v %d: %s", schedule->name, problem->ranks, problem->micro_batches,
            problem->stages / problem->ranks, zb_status_text(status));
  CU_ASSERT(usage);
  CU_ASSERT_PTR_NULL(order->jobs);
  zb_status_free(status);
  return false;
}

/* Every row of the table, all small sizes of its own placement: valid (zb_schedule_run proves it), memory within its
 * bound, no faster than the lower bounds, no deadlock with zero buffering. */
static void check_row(const zb_schedule_def *schedule, int p, int m, int v, int *defined) {
  fixture x;
  outcome out;
  fixture_for(&x, schedule, p, v, m, 12, 18, 6, 0, 0.5);
  if (!run_or_usage(schedule, &x.problem, &out.order)) return;
  ++*defined;
  expect_ok(zb_simulate(&x.problem, &out.order, &out.simulation));
  CU_ASSERT_PTR_NOT_NULL_FATAL(out.simulation.jobs);
  CU_ASSERT(zb_lower_bound_ps(&x.problem) <= out.simulation.step_ps);
  CU_ASSERT(zb_lower_bound_stage_ps(&x.problem) <= out.simulation.stage_ps);
  CU_ASSERT(zero_buffer_ends(&x.problem, &out.order, &out.simulation));
  for (int rank = 0; rank < p; ++rank) {
    const double bound = schedule->memory_bound(&x.problem, rank);
    const double peak = (double)out.simulation.peak_bytes[rank] / fixture_unit(schedule, &x.problem);
    if (bound >= 0 && peak > bound + 1e-9)
      fprintf(stderr, "\n%s, p %d m %d v %d: rank %d keeps %g micro-batches, its bound is %g", schedule->name, p, m, v,
              rank, peak, bound);
    CU_ASSERT(bound < 0 || peak <= bound + 1e-9);
  }
  release(&out);
}

static void test_all_small(void) {
  for (int i = 0; i < zb_schedule_count(); ++i) {
    const zb_schedule_def *schedule = zb_schedule_at(i);
    int defined = 0;
    for (int p = 1; p <= 8; ++p)
      for (int m = 1; m <= 16; ++m)
        for (int v = schedule->chunks_min; v <= 3 && v <= schedule->chunks_max; ++v)
          check_row(schedule, p, m, v, &defined);
    CU_ASSERT(defined > 10);
  }
}

/* A row that takes other placements is drawn with them too. */
static const char *draw_placement(const zb_schedule_def *schedule, uint64_t *seed, int chunks) {
  if (!schedule->any_placement || fixture_random(seed, 2) == 0) return schedule->placement;
  const zb_placement_def *placement = zb_placement_at((int)fixture_random(seed, zb_placement_count()));
  return chunks >= placement->chunks_min && chunks <= placement->chunks_max ? placement->name : schedule->placement;
}

static int64_t most_bytes(const zb_problem *problem, const zb_order *order) {
  int64_t peak[FIXTURE_STAGES], most = 0;
  zb_order_peaks(problem, order, peak);
  for (int rank = 0; rank < problem->ranks; ++rank)
    most = peak[rank] > most ? peak[rank] : most;
  return most;
}

/* Given its own peak the schedule still exists; given a byte less, one that looks for an order within the limit keeps
 * that too or says what it needs, and every other one says exactly what. */
static void check_limit(const zb_schedule_def *schedule, fixture *x, int64_t most) {
  zb_order order;
  x->problem.memory_limit_bytes = most;
  if (most > 0) {
    expect_ok(run_row(schedule, &x->problem, &order));
    CU_ASSERT(!order.jobs || most_bytes(&x->problem, &order) <= most);
    zb_order_deinit(&order);
  }
  if (most <= 1) return;
  x->problem.memory_limit_bytes = most - 1;
  zb_status status = run_row(schedule, &x->problem, &order);
  char needed[96] = " bytes", bytes[64];
  if (!schedule->keeps_limit)
    snprintf(needed, sizeof needed, "needs %s on rank", zb_bytes_exact_text((uint64_t)most, bytes));
  if (status || !schedule->keeps_limit) {
    CU_ASSERT_PTR_NULL(order.jobs);
    expect_status(status, ZB_INFEASIBLE, needed);
  } else {
    CU_ASSERT(most_bytes(&x->problem, &order) < most);
  }
  zb_order_deinit(&order);
}

/* Uneven stages, skips, optimizer, messages: 10,000 problems over all rows. */
static void test_uneven(void) {
  uint64_t seed = 1;
  int drawn[ROWS_MAX] = {0}, defined[ROWS_MAX] = {0};
  CU_ASSERT_FATAL(zb_schedule_count() <= ROWS_MAX);
  for (int round = 0; round < 10000; ++round) {
    const int row = (int)fixture_random(&seed, zb_schedule_count());
    const zb_schedule_def *schedule = zb_schedule_at(row);
    if (schedule->keeps_limit && fixture_random(&seed, 8) > 0) continue; /* each takes as long as many others */
    const int most_chunks = schedule->chunks_max < 3 ? schedule->chunks_max : 3;
    const int p = 1 + (int)fixture_random(&seed, 6), m = 1 + (int)fixture_random(&seed, 12);
    const int v = schedule->chunks_min + (int)fixture_random(&seed, most_chunks - schedule->chunks_min + 1);
    fixture x;
    outcome out;
    fixture_uneven_for(&x, schedule, &seed, p, v, m);
    expect_ok(zb_placement(draw_placement(schedule, &seed, v), p, v, x.stage_rank));
    ++drawn[row];
    if (!run_or_usage(schedule, &x.problem, &out.order)) continue;
    ++defined[row];
    expect_ok(zb_simulate(&x.problem, &out.order, &out.simulation));
    CU_ASSERT_PTR_NOT_NULL_FATAL(out.simulation.jobs);
    CU_ASSERT(zb_lower_bound_ps(&x.problem) <= out.simulation.step_ps);
    CU_ASSERT(zb_lower_bound_stage_ps(&x.problem) <= out.simulation.stage_ps);
    CU_ASSERT(zero_buffer_ends(&x.problem, &out.order, &out.simulation));
    const int64_t most = most_bytes(&x.problem, &out.order);
    release(&out);
    check_limit(schedule, &x, most);
  }
  for (int i = 0; i < zb_schedule_count(); ++i)
    CU_ASSERT(defined[i] * 20 > drawn[i]);
}

/* A stage may stand on any rank: the pipeline goes by stages. */
static void test_permuted(void) {
  static const int ranks[] = {2, 0, 3, 1};
  for (int i = 0; i < zb_schedule_count(); ++i) {
    const zb_schedule_def *schedule = zb_schedule_at(i);
    fixture x;
    outcome plain, permuted;
    fixture_for(&x, schedule, 4, schedule->chunks_min, 12, 12, 14, 8, 1, 0.5);
    run(schedule->name, &x, &plain);
    for (int stage = 0; stage < x.problem.stages; ++stage)
      x.stage_rank[stage] = ranks[x.stage_rank[stage]];
    run(schedule->name, &x, &permuted);
    CU_ASSERT_EQUAL(plain.simulation.step_ps, permuted.simulation.step_ps);
    release(&plain);
    release(&permuted);
  }
}

/* A schedule for one placement refuses others, and a placement that is none of ours. */
static void test_other_placement(void) {
  for (int i = 0; i < zb_schedule_count(); ++i) {
    const zb_schedule_def *schedule = zb_schedule_at(i);
    if (schedule->any_placement || schedule->chunks_max < 2) continue;
    fixture x;
    zb_order order;
    fixture_for(&x, schedule, 3, 2, 12, 6, 6, 6, 0, 0.5);
    const int swapped = x.stage_rank[3];
    x.stage_rank[3] = x.stage_rank[4];
    x.stage_rank[4] = swapped;
    expect_status(zb_schedule_run(schedule, &x.problem, &order), ZB_USAGE, "is defined for placement");
  }
}

static const struct {
  const char *typed, *name;
} aliases[] = {
    {"gpipe", "fthenb"},
    {"GPipe", "fthenb"},
    {"ScheduleGPipe", "fthenb"},
    {"FThenB", "fthenb"},
    {"F-then-B", "fthenb"},
    {"1F1B", "1f1b"},
    {"Schedule1F1B", "1f1b"},
    {"dapple", "1f1b"},
    {"DAPPLE", "1f1b"},
    {"PipeDream-Flush", "1f1b"},
    {"TrainSchedule", "1f1b"},
    {"Eager1F1B", "eager-1f1b"},
    {"interleaved", "interleaved-1f1b"},
    {"Interleaved1F1B", "interleaved-1f1b"},
    {"VPP", "interleaved-1f1b"},
    {"ScheduleInterleaved1F1B", "interleaved-1f1b"},
    {"interleaved_1f1b", "interleaved-1f1b"},
    {"LoopedBFS", "looped-bfs"},
    {"ScheduleLoopedBFS", "looped-bfs"},
    {"InterleavedZeroBubble", "interleaved-zb"},
    {"ScheduleInterleavedZeroBubble", "interleaved-zb"},
    {"ZBH1", "zb-h1"},
    {"zb_h1", "zb-h1"},
    {"zbh2", "zb-h2"},
    {"ZBV", "zb-v"},
    {"ZBVZeroBubble", "zb-v"},
    {"ScheduleZBVZeroBubble", "zb-v"},
    {"ZBVPP", "zb-v-auto"},
    {"v-half", "v-half"},
    {"VHalf", "v-half"},
    {"V_Min", "v-min"},
    {"DualPipeV", "dualpipev"},
    {"ScheduleDualPipeV", "dualpipev"},
    {"DualPipe", "dualpipe"},
    {"ZB-1P", "zb-1p"},
    {"zb2p", "zb-2p"},
    {"Search", "search"},
};

static void test_table(void) {
  const char *nearest = NULL;
  CU_ASSERT(zb_schedule_count() >= 3);
  for (int i = 0; i < zb_schedule_count(); ++i) {
    const zb_schedule_def *schedule = zb_schedule_at(i);
    CU_ASSERT_PTR_EQUAL(zb_schedule_find(schedule->name, NULL), schedule);
    CU_ASSERT(strlen(schedule->summary) > 20);
    CU_ASSERT(schedule->chunks_min >= 1 && schedule->chunks_max >= schedule->chunks_min);
    int stage_rank[16];
    if (schedule->chunks_min <= 4) expect_ok(zb_placement(schedule->placement, 4, schedule->chunks_min, stage_rank));
  }
  CU_ASSERT_PTR_NULL(zb_schedule_at(-1));
  CU_ASSERT_PTR_NULL(zb_schedule_at(zb_schedule_count()));
  for (size_t i = 0; i < sizeof aliases / sizeof aliases[0]; ++i) {
    const zb_schedule_def *found = zb_schedule_find(aliases[i].typed, NULL);
    CU_ASSERT_TRUE(found && !strcmp(found->name, aliases[i].name));
  }
  /* A name of one is no alias of another, in any spelling. */
  for (int i = 0; i < zb_schedule_count(); ++i)
    for (const char *at = zb_schedule_aliases(i); *at; at += strspn(at, " ")) {
      char alias[64];
      const size_t length = strcspn(at, " ");
      snprintf(alias, sizeof alias, "%.*s", (int)length, at);
      CU_ASSERT_PTR_EQUAL(zb_schedule_find(alias, NULL), zb_schedule_at(i));
      at += length;
    }
  CU_ASSERT_PTR_NULL(zb_schedule_find("", NULL));
  CU_ASSERT_PTR_NULL(zb_schedule_find("-", NULL));
  CU_ASSERT_PTR_NULL(zb_schedule_aliases(zb_schedule_count()));
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

/* Large problems: every row ends, with every job. */
static void test_large(void) {
  for (int i = 0; i < zb_schedule_count(); ++i) {
    const zb_schedule_def *schedule = zb_schedule_at(i);
    fixture x;
    outcome out;
    fixture_for(&x, schedule, 64, schedule->chunks_min, 512, 12, 12, 12, 1, 0.5);
    run(schedule->name, &x, &out);
    int64_t jobs = 0;
    for (int rank = 0; rank < 64; ++rank)
      jobs += out.order.counts[rank];
    CU_ASSERT_EQUAL(jobs, (int64_t)x.problem.stages * 512 * 3);
    release(&out);
  }
}

/* One run with the n-th allocation failing: a clean MEMORY status and nothing kept. True when there is no n-th. */
static bool survives(const zb_schedule_def *schedule, const zb_problem *problem, uint64_t n) {
  zb_order order = {0};
  zb_simulation simulation = {0};
  zb_schedule_choice choice;
  row_choice(schedule, &choice);
  zb_allocation_fail_at(n);
  zb_status status = zb_schedule_run_choice(&choice, problem, &order);
  if (!status) status = zb_simulate(problem, &order, &simulation);
  char *chart = status ? NULL : zb_order_chart(problem, &order, &simulation, 80);
  zb_allocation_fail_at(0);
  const bool done = chart != NULL;
  if (status) CU_ASSERT_EQUAL(zb_status_code(status), ZB_MEMORY);
  zb_free(chart);
  zb_status_free(status);
  zb_simulation_deinit(&simulation);
  zb_order_deinit(&order);
  return done;
}

/* Each of the first 200 allocations fails once, then ever fewer of them: a search makes many. */
static void test_out_of_memory(void) {
  for (int i = 0; i < zb_schedule_count(); ++i) {
    const zb_schedule_def *schedule = zb_schedule_at(i);
    fixture x;
    fixture_for(&x, schedule, 2, schedule->chunks_min, 4, 6, 6, 6, 1, 0.5);
    uint64_t n = 1;
    while (n < 1000000 && !survives(schedule, &x.problem, n))
      n += 1 + n / 200;
    CU_ASSERT(n > 10 && n < 1000000);
  }
}

/* The checker itself: the textbook lowering of 1F1B, where each send stands behind its job and each receive before,
 * blocks for ever without buffers; with the sends of both ranks in one order it ends. */
static void test_zero_buffer(void) {
  enum { F0, F1, B0, B1 };
  const zero_buffer_event messages[] = {{.source = 0, .destination = 1},
                                        {.source = 0, .destination = 1},
                                        {.source = 1, .destination = 0},
                                        {.source = 1, .destination = 0}};
  int first[] = {F0, F1, B0, B1}, naive[] = {F0, B0, F1, B1}, ordered[] = {F0, F1, B0, B1};
  int *const blocked[] = {first, naive}, *const good[] = {first, ordered};
  const int counts[] = {4, 4}, fewer[] = {4, 3};
  CU_ASSERT_FALSE(zero_buffer_run(2, messages, blocked, counts));
  CU_ASSERT(zero_buffer_run(2, messages, good, counts));
  CU_ASSERT_FALSE(zero_buffer_run(2, messages, good, fewer));
  fixture x;
  outcome out;
  fixture_uniform(&x, "plain", 2, 1, 2, 6, 6, 6, 0, 0.5);
  run("1f1b", &x, &out);
  CU_ASSERT(zero_buffer_ends(&x.problem, &out.order, &out.simulation));
  /* F0 B0 W0 F1 against F0 F1 B0: each waits for the other. */
  const zb_job wrong[] = {{0, 0, ZB_F}, {0, 0, ZB_B}, {0, 0, ZB_W}, {0, 1, ZB_F}, {0, 1, ZB_B}, {0, 1, ZB_W}};
  const zb_job late[] = {{1, 0, ZB_F}, {1, 1, ZB_F}, {1, 0, ZB_B}, {1, 0, ZB_W}, {1, 1, ZB_B}, {1, 1, ZB_W}};
  memcpy(out.order.jobs[0], wrong, sizeof wrong);
  memcpy(out.order.jobs[1], late, sizeof late);
  CU_ASSERT_FALSE(zero_buffer_ends(&x.problem, &out.order, &out.simulation));
  release(&out);
}

int main(void) {
  static const CU_TestInfo tests[] = {{"the table of schedules", test_table},
                                      {"fthenb, all small sizes", test_fthenb},
                                      {"1f1b, all small sizes", test_1f1b},
                                      {"zb-h1, all small sizes", test_zb_h1},
                                      {"every schedule, all small sizes", test_all_small},
                                      {"10,000 uneven problems", test_uneven},
                                      {"other placements are refused", test_other_placement},
                                      {"the judge of zero buffering", test_zero_buffer},
                                      {"permuted ranks", test_permuted},
                                      {"one chunk only", test_one_chunk_only},
                                      {"64 ranks, 512 micro-batches", test_large},
                                      {"every allocation fails once", test_out_of_memory},
                                      CU_TEST_INFO_NULL};
  return run_suite("schedules", tests);
}
