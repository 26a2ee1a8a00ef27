/* Schedules of the V placement: defined for all sizes, bubbles as published, memory as published, and the columns of
 * the measured tables (v_measured.json says where they are from). */
#include <jansson.h>
#include <math.h>

#include "fixture.h"
#include "passes/schedule/rules/v_block.h"

static void run(const char *name, const zb_problem *problem, zb_order *order, zb_simulation *simulation) {
  expect_ok(zb_schedule_run(zb_schedule_find(name, NULL), problem, order));
  expect_ok(zb_simulate(problem, order, simulation));
}

static void release(zb_order *order, zb_simulation *simulation) {
  zb_order_deinit(order);
  zb_simulation_deinit(simulation);
}

static double most_units(const zb_simulation *simulation, double unit) {
  int64_t most = 0;
  for (int rank = 0; rank < simulation->ranks; ++rank)
    most = simulation->peak_bytes[rank] > most ? simulation->peak_bytes[rank] : most;
  return (double)most / unit;
}

/* ---- Unit times: what the papers state ---- */

static int floor_min(int p) { return (p + 4) / 3; }
static int floor_half(int p) { return (p + 2) / 2; }
static int floor_one(int p) { return p; }

/* Chunk times 1: no stage bubble for ZB-V and V-ZB from 2p-1 micro-batches on. The peak of all four is reached as soon
 * as there are that many micro-batches, also by the bound. */
static void test_unit(void) {
  static const struct {
    const char *name;
    bool no_bubble;
    int (*peak)(int p);
  } rows[] = {
      {"zb-v", true, floor_one}, {"v-zb", true, floor_one}, {"v-half", false, floor_half}, {"v-min", false, floor_min}};
  for (size_t row = 0; row < sizeof rows / sizeof *rows; ++row)
    for (int p = 1; p <= 10; ++p)
      for (int m = 1; m <= 24; ++m) {
        fixture x;
        zb_order order;
        zb_simulation simulation;
        fixture_uniform(&x, "v", p, 2, m, 2, 2, 2, 0, 1);
        run(rows[row].name, &x.problem, &order, &simulation);
        const int peak = rows[row].peak(p);
        CU_ASSERT_EQUAL(most_units(&simulation, 2000), m < peak ? m : peak);
        const zb_schedule_def *schedule = zb_schedule_find(rows[row].name, NULL);
        for (int rank = 0; rank < p; ++rank)
          CU_ASSERT_EQUAL(schedule->memory_bound(&x.problem, rank), m < peak ? m : peak);
        if (rows[row].no_bubble && m >= 2 * p - 1) CU_ASSERT_EQUAL(simulation.stage_ps, 6 * m);
        release(&order, &simulation);
      }
}

/* arXiv 2405.15362, figure 13: n micro-batches on p ranks take at least 6n + 6p - 3k - 1 units with k chunk
 * activations. V-Half takes just that, which is half of the 6(p-1) of 1F1B; V-Min too, or 4 more where p mod 3 is 2. */
static void test_unit_bubbles(void) {
  for (int p = 3; p <= 32; ++p) {
    fixture x;
    zb_order order;
    zb_simulation simulation;
    const int m = 3 * p;
    fixture_uniform(&x, "v", p, 2, m, 2, 2, 2, 0, 1);
    run("v-half", &x.problem, &order, &simulation);
    CU_ASSERT_EQUAL(simulation.step_ps, 6 * m + 6 * p - 6 * floor_half(p) - 1);
    release(&order, &simulation);
    run("v-min", &x.problem, &order, &simulation);
    CU_ASSERT_EQUAL(simulation.step_ps, 6 * m + 6 * p - 6 * floor_min(p) - 1 + (p % 3 == 2 ? 4 : 0));
    release(&order, &simulation);
  }
}

/* The blocks themselves: no two passes of a rank meet, and the repeated block has the published peak. */
static void test_blocks(void) {
  zb_v_slots block[64];
  for (int p = 1; p <= 64; ++p) {
    const zb_v_legs least = {1, 1, 1, p % 3 ? 1 : 3, 1, 1, 1}, half = {2, 1, 1, p % 2 ? 1 : 4, 2, 2, 1};
    const zb_v_legs none = {4, 1, 2, 1, 4, 1, 2}, meets = {1, 6, 1, 1, 1, 1, 1};
    CU_ASSERT(zb_v_block_fill(p, &least, block));
    CU_ASSERT_EQUAL(zb_v_block_peak(p, block), 2 * floor_min(p));
    CU_ASSERT(zb_v_block_fill(p, &half, block));
    CU_ASSERT_EQUAL(zb_v_block_peak(p, block), 2 * floor_half(p));
    CU_ASSERT(zb_v_block_fill(p, &none, block));
    CU_ASSERT_EQUAL(zb_v_block_peak(p, block), 2 * p);
    CU_ASSERT_FALSE(zb_v_block_fill(p, &meets, block));
  }
}

/* ---- DualPipe and DualPipeV ---- */

/* When every job ends if the gradient of a whole backward leaves after its W, as these two are published; the schedules
 * here let it leave before. Relaxed until nothing changes: slow, simple, and not the library's simulator. */
static int64_t published_time(const fixture *x, const zb_order *order, int half, bool two_pipelines) {
  const int p = x->problem.ranks, m = x->problem.micro_batches, stages = 2 * p;
  int64_t *out = calloc((size_t)(stages * m * 2), sizeof *out); /* when the result of F and B leaves */
  int64_t step = 0;
  for (bool changed = true; changed;) {
    changed = false;
    for (int rank = 0; rank < p; ++rank) {
      int64_t clock = 0;
      const int distance = two_pipelines && rank >= half ? p - 1 - rank : rank, early = two_pipelines && rank >= half;
      int split[2] = {0, 0}; /* backwards that step 3 has split, by chunk */
      for (int i = 0; i < order->counts[rank]; ++i) {
        const zb_job job = order->jobs[rank][i];
        const int chunk = job.stage >= p;
        int64_t start = clock;
        int from = job.kind == ZB_F ? job.stage - 1 : job.kind == ZB_B ? job.stage + 1 : -1;
        if (two_pipelines && (from < p) != (job.stage < p)) from = -1;
        if (from >= 0 && from < stages) {
          const int64_t sent = out[(from * m + job.micro_batch) * 2 + (job.kind == ZB_B)];
          const int64_t arrives = sent + (x->stage_rank[from] == rank ? 0 : x->problem.link_latency_ps);
          if (arrives > start) start = arrives;
        }
        clock = start + x->costs[job.stage].time_ps[job.kind];
        if (clock > step) step = clock;
        if (job.kind == ZB_W) continue;
        int64_t leaves = clock;
        const zb_job *next = i + 1 < order->counts[rank] ? &order->jobs[rank][i + 1] : NULL;
        const bool direct = job.kind == ZB_B && next && next->kind == ZB_W && next->stage == job.stage &&
                            next->micro_batch == job.micro_batch;
        const bool step3 = job.kind == ZB_B && chunk != early && split[chunk]++ < half - distance - 1;
        if (direct && !step3) leaves += x->costs[job.stage].time_ps[ZB_W];
        int64_t *mine = &out[(job.stage * m + job.micro_batch) * 2 + (job.kind == ZB_B)];
        changed = changed || *mine != leaves;
        *mine = leaves;
      }
    }
  }
  free(out);
  return step;
}

/* The published bubble is (half-1)(F&B + B - 3W), B whole: f + 2b - w where F&B takes as long as F and B. Jobs of a
 * rank run one after the other here, and the result of F leaves before its B begins: (half-1)(f + b - w) while ranks
 * are few. Peak: one chunk more than `half` micro-batches of both. */
static void test_dual_bubble(void) {
  static const int64_t costs[][3] = {{6, 6, 6}, {20, 24, 12}, {18, 20, 16}};
  for (size_t row = 0; row < 3; ++row)
    for (int p = 1; p <= 8; ++p)
      for (int two = 0; two < 2 && (!two || p % 2 == 0); ++two) {
        fixture x;
        zb_order order;
        zb_simulation simulation;
        const int half = two ? p / 2 : p, m = 2 * half + 5;
        const int64_t f = costs[row][0], b = costs[row][1], w = costs[row][2];
        fixture_uniform(&x, "v", p, 2, m, 2 * f, 2 * b, 2 * w, 0, 1);
        if (two) fixture_two_chains(&x);
        run(two ? "dualpipe" : "dualpipev", &x.problem, &order, &simulation);
        const int64_t published = published_time(&x, &order, half, two), work = 2 * m * (f + b + w);
        CU_ASSERT(published - work <= (half - 1) * (f + 2 * b - w));
        if (half <= 6) CU_ASSERT_EQUAL(published - work, (half - 1) * (f + b - w));
        CU_ASSERT(simulation.step_ps <= published);
        CU_ASSERT_EQUAL(most_units(&simulation, 1000), 2 * half + 1);
        release(&order, &simulation);
      }
}

static void test_dualpipe_refuses(void) {
  fixture x;
  zb_order order;
  const zb_schedule_def *schedule = zb_schedule_find("dualpipe", NULL);
  fixture_uniform(&x, "v", 4, 2, 8, 6, 6, 6, 0, 1);
  expect_status(zb_schedule_run(schedule, &x.problem, &order), ZB_USAGE, "expected no edge between them, got 3 -> 4");
  fixture_two_chains(&x);
  x.edges[x.problem.edge_count++] = (zb_edge){1, 6, 0, 0};
  expect_status(zb_schedule_run(schedule, &x.problem, &order), ZB_USAGE, "got 1 -> 6");
  fixture_uniform(&x, "v", 5, 2, 8, 6, 6, 6, 0, 1);
  fixture_two_chains(&x);
  expect_status(zb_schedule_run(schedule, &x.problem, &order), ZB_USAGE, "an even number of ranks, got 5");
}

/* ---- Fewer micro-batches than a rule is made for ---- */

/* The order for few micro-batches is that for enough of them without the jobs that do not exist. */
static void test_dropped(void) {
  static const char *const names[] = {"zb-v", "dualpipev", "dualpipe"};
  for (size_t i = 0; i < 3; ++i)
    for (int p = 2; p <= 8; p += 2)
      for (int m = 1; m < p; ++m) {
        const zb_schedule_def *schedule = zb_schedule_find(names[i], NULL);
        fixture few, enough;
        zb_order a, b;
        fixture_for(&few, schedule, p, 2, m, 6, 6, 6, 0, 1);
        fixture_for(&enough, schedule, p, 2, 2 * p, 6, 6, 6, 0, 1);
        if (i == 2) enough.problem.micro_batches = p;
        if (i == 0) enough.problem.micro_batches = 2 * p - 1;
        expect_ok(zb_schedule_run(schedule, &few.problem, &a));
        expect_ok(zb_schedule_run(schedule, &enough.problem, &b));
        for (int rank = 0; rank < p; ++rank) {
          int at = 0;
          for (int k = 0; k < b.counts[rank]; ++k) { /* W of fewer B may come earlier: its queue is shorter */
            const zb_job job = b.jobs[rank][k];
            if (job.micro_batch >= m || job.kind == ZB_W) continue;
            while (at < a.counts[rank] && a.jobs[rank][at].kind == ZB_W)
              ++at;
            CU_ASSERT_FATAL(at < a.counts[rank]);
            CU_ASSERT(a.jobs[rank][at].stage == job.stage && a.jobs[rank][at].kind == job.kind &&
                      a.jobs[rank][at].micro_batch == job.micro_batch);
            ++at;
          }
        }
        zb_order_deinit(&a);
        zb_order_deinit(&b);
      }
}

/* ---- The measured tables ---- */

static int64_t ps(const json_t *setting, const char *key) {
  return llround(json_number_value(json_object_get(setting, key)) * 1e9);
}

static json_t *load(const char *name) {
  char path[512];
  json_error_t error;
  snprintf(path, sizeof path, "%s/test/passes/schedule/%s", ZB_SOURCE_DIR, name);
  json_t *root = json_load_file(path, 0, &error);
  CU_ASSERT_PTR_NOT_NULL_FATAL(root);
  return root;
}

/* The times of a row's model and number of micro-batches. */
static void fill_setting(const json_t *times, const json_t *row, fixture *x) {
  const json_t *settings = json_object_get(times, "settings");
  const char *model = json_string_value(json_object_get(row, "model"));
  const int m = (int)json_integer_value(json_object_get(row, "micro_batches"));
  const int p = (int)json_integer_value(json_object_get(row, "ranks"));
  for (size_t i = 0; i < json_array_size(settings); ++i) {
    const json_t *s = json_array_get(settings, i);
    if (strcmp(json_string_value(json_object_get(s, "model")), model) != 0) continue;
    if (json_integer_value(json_object_get(s, "micro_batches")) != m) continue;
    fixture_uniform(x, "v", p, 2, m, ps(s, "f"), ps(s, "b"), ps(s, "w"), ps(s, "comm"),
                    json_number_value(json_object_get(s, "memory_ratio")));
    return;
  }
  CU_FAIL_FATAL("no such setting");
}

/* Hundredths of a per cent, as printed. */
static long long printed(double share) { return llround(share * 1e4); }
static long long column(const json_t *cell, const char *key) {
  return llround(json_number_value(json_object_get(cell, key)) * 100);
}

static void check_column(const json_t *times, const json_t *row, const char *name) {
  fixture x;
  zb_order order;
  zb_simulation simulation;
  fill_setting(times, row, &x);
  run(name, &x.problem, &order, &simulation);
  const json_t *cell = json_object_get(row, name);
  const int p = x.problem.ranks;
  const long long stage = printed(simulation.bubble_stage), barrier = printed(simulation.bubble_barrier);
  CU_ASSERT_EQUAL(llround(most_units(&simulation, 2000) * 100), column(cell, "peak"));
  if (!strcmp(name, "zb-v")) {
    CU_ASSERT_EQUAL(stage, column(cell, "stage"));
    CU_ASSERT_EQUAL(barrier, column(cell, "barrier"));
    CU_ASSERT_EQUAL(llround((double)simulation.step_ps / 1e8),
                    llround(json_number_value(json_object_get(cell, "step_ms")) * 10));
  } else if (!strcmp(name, "dualpipev")) {
    const int64_t published = published_time(&x, &order, p, false);
    CU_ASSERT_EQUAL(llround((double)published / 1e8),
                    llround(json_number_value(json_object_get(cell, "step_ms")) * 10));
    CU_ASSERT(stage < column(cell, "stage") && barrier < column(cell, "barrier"));
  } else {
    /* V-Min equals the measured program; V-Half chooses better at the end. */
    const bool least = !strcmp(name, "v-min");
    CU_ASSERT(stage <= column(cell, "stage") && barrier <= column(cell, "barrier"));
    CU_ASSERT(stage >= column(cell, "stage") - (least ? 0 : 40));
  }
  release(&order, &simulation);
}

static void test_measured(void) {
  json_t *times = load("iclr24.json"), *root = load("v_measured.json");
  const json_t *rows = json_object_get(root, "settings");
  CU_ASSERT_EQUAL(json_array_size(rows), 12);
  for (size_t i = 0; i < json_array_size(rows); ++i) {
    static const char *const names[] = {"zb-v", "dualpipev", "v-half", "v-min"};
    for (size_t k = 0; k < 4; ++k)
      check_column(times, json_array_get(rows, i), names[k]);
  }
  json_decref(root);
  json_decref(times);
}

/* ---- ZB-V by simulated time ---- */

/* The stage metric as the authors' scheduler has it, to the printed digit, at four memory limits, or better where the
 * rules of a lower limit make a faster order; the barrier metric, which that one does not look at, never worse. */
static void test_auto_measured(void) {
  json_t *times = load("iclr24.json"), *root = load("v_measured.json");
  const json_t *rows = json_object_get(root, "settings");
  int better = 0;
  for (size_t i = 0; i < json_array_size(rows); ++i)
    for (size_t k = 0; k < 8; ++k) {
      const json_t *cell = json_array_get(json_object_get(json_array_get(rows, i), "zb-v-auto"), k / 2);
      fixture x;
      zb_order order;
      zb_simulation simulation;
      fill_setting(times, json_array_get(rows, i), &x);
      x.problem.metric = k % 2 ? ZB_METRIC_STAGE : ZB_METRIC_BARRIER;
      x.problem.memory_limit_bytes =
          llround(json_number_value(json_object_get(cell, "limit")) * x.problem.ranks * 2000);
      run("zb-v-auto", &x.problem, &order, &simulation);
      better += k % 2 && printed(simulation.bubble_stage) < column(cell, "stage");
      if (k % 2)
        CU_ASSERT(printed(simulation.bubble_stage) <= column(cell, "stage"))
      else
        CU_ASSERT(printed(simulation.bubble_barrier) <= column(cell, "barrier"))
      CU_ASSERT(most_units(&simulation, 1) <= (double)x.problem.memory_limit_bytes);
      release(&order, &simulation);
    }
  CU_ASSERT_EQUAL(better, 2);
  json_decref(root);
  json_decref(times);
}

/* Whatever one micro-batch alone fits in is enough, uneven stages too, and the limit is kept. */
static void test_auto_limits(void) {
  uint64_t seed = 31;
  for (int round = 0; round < 400; ++round) {
    fixture x;
    zb_order order;
    zb_simulation simulation;
    int64_t limit = 0;
    fixture_uneven(&x, &seed, "v", 1 + (int)fixture_random(&seed, 6), 2, 1 + (int)fixture_random(&seed, 12));
    x.problem.metric = round % 2 ? ZB_METRIC_STAGE : ZB_METRIC_BARRIER;
    x.problem.whole_backward = round % 8 == 7;
    for (int rank = 0; rank < x.problem.ranks; ++rank) {
      int64_t alone = x.problem.base_bytes ? x.problem.base_bytes[rank] : 0;
      for (int stage = 0; stage < x.problem.stages; ++stage)
        for (int kind = 0; x.stage_rank[stage] == rank && kind < ZB_KIND_COUNT; ++kind)
          alone += x.costs[stage].keep_bytes[kind];
      limit = alone > limit ? alone : limit;
    }
    limit += round % 3 * limit / 4;
    x.problem.memory_limit_bytes = limit + 1;
    run("zb-v-auto", &x.problem, &order, &simulation);
    CU_ASSERT(most_units(&simulation, 1) <= (double)x.problem.memory_limit_bytes);
    release(&order, &simulation);
  }
}

/* ---- Adaptive V ---- */

/* Section 5.3 of the table: within the limit, and never worse than the authors' program, by both metrics. */
static void test_adaptive_measured(void) {
  json_t *times = load("iclr24.json"), *root = load("v_measured.json");
  const json_t *rows = json_object_get(root, "adaptive");
  CU_ASSERT_EQUAL(json_array_size(rows), 15);
  for (size_t i = 0; i < json_array_size(rows); ++i)
    for (int metric = 0; metric < 2; ++metric) {
      const json_t *row = json_array_get(rows, i);
      fixture x;
      zb_order order;
      zb_simulation simulation;
      fill_setting(times, row, &x);
      x.problem.metric = metric ? ZB_METRIC_STAGE : ZB_METRIC_BARRIER;
      x.problem.memory_limit_bytes = llround(json_number_value(json_object_get(row, "limit")) * x.problem.ranks * 2000);
      run("adaptive-v", &x.problem, &order, &simulation);
      const double bubble = metric ? simulation.bubble_stage : simulation.bubble_barrier;
      CU_ASSERT(printed(bubble) <= column(row, metric ? "stage" : "barrier"));
      CU_ASSERT(most_units(&simulation, 1) <= (double)x.problem.memory_limit_bytes);
      release(&order, &simulation);
    }
  json_decref(root);
  json_decref(times);
}

/* At unit times: no stage bubble at the memory of 1F1B, and half the memory costs no more than V-Half. */
static void test_adaptive_unit(void) {
  for (int p = 1; p <= 8; ++p) {
    fixture x;
    zb_order order;
    zb_simulation simulation;
    const int m = 2 * p + 1;
    fixture_uniform(&x, "v", p, 2, m, 2, 2, 2, 0, 1);
    x.problem.metric = ZB_METRIC_STAGE;
    x.problem.memory_limit_bytes = 2000 * p;
    run("adaptive-v", &x.problem, &order, &simulation);
    CU_ASSERT_EQUAL(simulation.stage_ps, 6 * m);
    release(&order, &simulation);
    x.problem.metric = ZB_METRIC_BARRIER;
    x.problem.memory_limit_bytes = 2000 * floor_half(p);
    run("v-half", &x.problem, &order, &simulation);
    const int64_t half = simulation.step_ps;
    release(&order, &simulation);
    run("adaptive-v", &x.problem, &order, &simulation);
    CU_ASSERT(simulation.step_ps <= half);
    release(&order, &simulation);
  }
}

/* With sums over replicas behind W, and more micro-batches than blocks are judged with: sums that are of no time change
 * nothing, others add no more than they take. */
static void test_adaptive_reductions(void) {
  enum { MICRO_BATCHES = 16, SUM_PS = 3 };
  int64_t times[3];
  for (int i = 0; i < 3; ++i) {
    fixture x;
    zb_order order;
    zb_simulation simulation;
    const zb_reduction reductions[] = {{.stage = 0, .after = MICRO_BATCHES - 1, .time_ps = i == 2 ? SUM_PS : 0},
                                       {.stage = 5, .after = 0}};
    fixture_uniform(&x, "v", 4, 2, MICRO_BATCHES, 2, 2, 2, 0, 1);
    if (i > 0) x.problem.reductions = reductions;
    if (i > 0) x.problem.reduction_count = 2;
    run("adaptive-v", &x.problem, &order, &simulation);
    times[i] = simulation.step_ps;
    release(&order, &simulation);
  }
  CU_ASSERT_EQUAL(times[1], times[0]);
  CU_ASSERT(times[2] >= times[0] && times[2] <= times[0] + SUM_PS);
}

/* Where no block fits, V-Min says what is needed; a limit of a rank counts, and what is always there. */
static void test_adaptive_limits(void) {
  fixture x;
  zb_order order;
  zb_simulation simulation;
  const zb_schedule_def *schedule = zb_schedule_find("adaptive-v", NULL);
  fixture_uniform(&x, "v", 4, 2, 12, 20, 22, 14, 1, 0.5);
  x.problem.memory_limit_bytes = 1999;
  expect_status(zb_schedule_run(schedule, &x.problem, &order), ZB_INFEASIBLE, "adaptive-v needs ");
  int64_t limits[4] = {0, 0, 5500, 0}, base[4] = {0, 0, 500, 0};
  x.problem.rank_limit_bytes = limits;
  x.problem.base_bytes = base;
  run("adaptive-v", &x.problem, &order, &simulation);
  CU_ASSERT(simulation.peak_bytes[2] <= 5500);
  CU_ASSERT(simulation.peak_bytes[0] > 5500);
  release(&order, &simulation);
  base[2] = 5501;
  expect_status(zb_schedule_run(schedule, &x.problem, &order), ZB_INFEASIBLE, "on rank 2");
}

/* More blocks are never worse; the numbers that are written are read. */
static void test_adaptive_blocks(void) {
  static const char *const choices[] = {"adaptive-v:blocks=1", "adaptive-v:blocks=8", "adaptive-v",
                                        "adaptive-v:blocks=9999"};
  int64_t last = INT64_MAX, first = 0;
  fixture x;
  fixture_uniform(&x, "v", 6, 2, 18, 20, 22, 14, 1, 0.5);
  x.problem.memory_limit_bytes = 7800;
  for (size_t i = 0; i < 4; ++i) {
    zb_schedule_choice choice;
    zb_order order;
    zb_simulation simulation;
    expect_ok(zb_schedule_parse(choices[i], &choice));
    expect_ok(zb_schedule_run_choice(&choice, &x.problem, &order));
    expect_ok(zb_simulate(&x.problem, &order, &simulation));
    CU_ASSERT(simulation.step_ps <= last);
    last = simulation.step_ps;
    if (i == 0) first = last;
    release(&order, &simulation);
  }
  CU_ASSERT(last < first);
  zb_schedule_choice none;
  expect_status(zb_schedule_parse("adaptive-v:blocks=0", &none), ZB_USAGE, "expected a whole number of 1 to");
}

/* A limit beyond all numbers is none. */
static void test_adaptive_huge_limit(void) {
  fixture x;
  zb_order order;
  zb_simulation simulation;
  fixture_uniform(&x, "v", 3, 2, 6, 20, 22, 14, 1, 0.5);
  run("adaptive-v", &x.problem, &order, &simulation);
  const int64_t unlimited = simulation.step_ps;
  release(&order, &simulation);
  x.problem.memory_limit_bytes = INT64_MAX;
  run("adaptive-v", &x.problem, &order, &simulation);
  CU_ASSERT_EQUAL(simulation.step_ps, unlimited);
  release(&order, &simulation);
}

/* Slow stages, skips and slow messages, by both metrics: it looks at real times, so the block of V-ZB, which it tries
 * too, in unit time is rarely better. */
static void test_adaptive_uneven(void) {
  uint64_t seed = 5;
  int worse = 0, rounds = 60;
  for (int round = 0; round < rounds; ++round) {
    fixture x;
    zb_order order;
    zb_simulation simulation;
    const int p = 2 + (int)fixture_random(&seed, 5), m = 1 + (int)fixture_random(&seed, 3 * p);
    fixture_uneven(&x, &seed, "v", p, 2, m);
    x.problem.metric = round % 2 ? ZB_METRIC_STAGE : ZB_METRIC_BARRIER;
    run("adaptive-v", &x.problem, &order, &simulation);
    const int64_t adaptive = round % 2 ? simulation.stage_ps : simulation.step_ps;
    release(&order, &simulation);
    run("v-zb", &x.problem, &order, &simulation);
    worse += adaptive > (round % 2 ? simulation.stage_ps : simulation.step_ps);
    release(&order, &simulation);
  }
  CU_ASSERT(worse * 10 <= rounds);
}

int main(void) {
  static const CU_TestInfo tests[] = {{"unit times: bubbles and peaks", test_unit},
                                      {"unit times: V-Half and V-Min", test_unit_bubbles},
                                      {"building blocks", test_blocks},
                                      {"DualPipe and DualPipeV: the published bubble", test_dual_bubble},
                                      {"DualPipe: what it refuses", test_dualpipe_refuses},
                                      {"fewer micro-batches than the rule is made for", test_dropped},
                                      {"12 settings: the measured columns", test_measured},
                                      {"ZB-V by simulated time: 12 settings as measured", test_auto_measured},
                                      {"ZB-V by simulated time: limits", test_auto_limits},
                                      {"adaptive V: never worse than measured", test_adaptive_measured},
                                      {"adaptive V: unit times", test_adaptive_unit},
                                      {"adaptive V: reductions", test_adaptive_reductions},
                                      {"adaptive V: limits", test_adaptive_limits},
                                      {"adaptive V: number of blocks", test_adaptive_blocks},
                                      {"adaptive V: a huge limit", test_adaptive_huge_limit},
                                      {"adaptive V: uneven stages", test_adaptive_uneven},
                                      CU_TEST_INFO_NULL};
  return run_suite("v schedules", tests);
}
