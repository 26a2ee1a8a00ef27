/* Eager, interleaved and breadth-first schedules and ZB-H2: step times as their formulas say, the lists of the
 * frameworks that they are from, and what their options do. */
#include "fixture.h"
#include "zero_buffer.h"

enum { RANKS_MAX = 8, MICRO_BATCHES_MAX = 16, CHUNKS_MAX = 3, TEXT_MAX = 4096 };

/* Uniform times: equal, measured, and with F, B or W the longest. All divide by 3 chunks. */
static const int64_t cost_rows[][3] = {{6, 6, 6},    {18522, 18084, 9336}, {18, 24, 12}, {30, 12, 6},
                                       {12, 30, 18}, {6, 24, 24},          {12, 6, 18},  {24, 6, 6}};
enum { COST_ROWS = sizeof cost_rows / sizeof *cost_rows };

typedef struct outcome {
  fixture x;
  zb_order order;
  zb_simulation simulation;
} outcome;

static int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }

static void run(const char *text, int p, int v, int m, const int64_t *cost, int64_t comm, outcome *out) {
  zb_schedule_choice choice;
  expect_ok(zb_schedule_parse(text, &choice));
  fixture_uniform(&out->x, choice.schedule->placement, p, v, m, cost[0], cost[1], cost[2], comm, 0.5);
  expect_ok(zb_schedule_run_choice(&choice, &out->x.problem, &out->order));
  expect_ok(zb_simulate(&out->x.problem, &out->order, &out->simulation));
  CU_ASSERT_PTR_NOT_NULL_FATAL(out->simulation.jobs);
}

static void release(outcome *out) {
  zb_order_deinit(&out->order);
  zb_simulation_deinit(&out->simulation);
}

static void check_time(const char *name, const outcome *out, int64_t got, int64_t expected) {
  const zb_problem *p = &out->x.problem;
  if (got != expected)
    fprintf(stderr, "\n%s, p %d m %d v %d, %lld %lld %lld: expected %lld, got %lld", name, p->ranks, p->micro_batches,
            p->stages / p->ranks, (long long)p->costs->time_ps[0], (long long)p->costs->time_ps[1],
            (long long)p->costs->time_ps[2], (long long)expected, (long long)got);
  CU_ASSERT_EQUAL(got, expected);
}

/* Bubble (p-1)T/v; a chunk of fewer micro-batches than ranks waits until its predecessor has come round. */
static int64_t whole_time(int p, int v, int m, const int64_t *cost) {
  const int64_t rounds = (int64_t)(v - 1) * (m > p ? m : p) + m + p - 1;
  return rounds * ((cost[0] + cost[1] + cost[2]) / v);
}

static void test_whole_times(void) {
  outcome out;
  for (int row = 0; row < COST_ROWS; ++row)
    for (int p = 1; p <= RANKS_MAX; ++p)
      for (int m = 1; m <= MICRO_BATCHES_MAX; ++m) {
        const int64_t *cost = cost_rows[row];
        run("eager-1f1b", p, 1, m, cost, 0, &out);
        check_time("eager-1f1b", &out, out.simulation.step_ps, whole_time(p, 1, m, cost));
        for (int rank = 0; rank < p; ++rank) {
          const int first = 2 * (p - rank) - 1;
          CU_ASSERT_EQUAL(out.simulation.peak_bytes[rank], 1000 * (m < first ? m : first));
        }
        release(&out);
        for (int v = 1; v <= CHUNKS_MAX; ++v) {
          run("looped-bfs", p, v, m, cost, 0, &out);
          check_time("looped-bfs", &out, out.simulation.step_ps, whole_time(p, v, m, cost));
          release(&out);
          run("interleaved-1f1b", p, v, m, cost, 0, &out);
          check_time("interleaved-1f1b", &out, out.simulation.step_ps, whole_time(p, v, m, cost));
          /* Megatron-LM's memory, p(1 + (p-1)/(pv)). */
          if (m % p == 0 && m > p) CU_ASSERT_EQUAL(out.simulation.peak_bytes[0], 1000 * (p * v + p - 1));
          release(&out);
        }
      }
}

/* (p-1)(F+B-W)/v; where W is longer than F or B, those are what the ranks wait for. */
static void test_interleaved_zb_times(void) {
  outcome out;
  for (int row = 0; row < COST_ROWS; ++row)
    for (int p = 1; p <= RANKS_MAX; ++p)
      for (int m = p; m <= MICRO_BATCHES_MAX; ++m)
        for (int v = 1; v <= CHUNKS_MAX; ++v) {
          const int64_t f = cost_rows[row][0], b = cost_rows[row][1], w = cost_rows[row][2];
          run("interleaved-zb", p, v, m, cost_rows[row], 0, &out);
          const int64_t bubble = (p - 1) * most(f + b - w, most(f, b)) / v;
          check_time("interleaved-zb", &out, out.simulation.step_ps, m * (f + b + w) + bubble);
          if (m % p == 0) CU_ASSERT_EQUAL(out.simulation.peak_bytes[0], 1000 * p * v);
          release(&out);
        }
}

/* Stage metric: (p-1)(F+B+2c-2W); fewer W fill fewer gaps. */
static void test_zb_h2_times(void) {
  outcome out;
  for (int row = 0; row < COST_ROWS; ++row)
    for (int p = 1; p <= RANKS_MAX; ++p)
      for (int m = 1; m <= MICRO_BATCHES_MAX; ++m) {
        const int64_t f = cost_rows[row][0], b = cost_rows[row][1], w = cost_rows[row][2], work = m * (f + b + w);
        const bool short_w = w <= f && w <= b;
        run("zb-h2", p, 1, m, cost_rows[row], 0, &out);
        if (m >= 2 * p - 1)
          check_time("zb-h2", &out, out.simulation.stage_ps, work + (p - 1) * most(f + b - 2 * w, most(b - f, 0)));
        else if (short_w)
          check_time("zb-h2", &out, out.simulation.stage_ps, work + (p - 1) * (f + b) - (m - 1) * w);
        CU_ASSERT_EQUAL(out.simulation.peak_bytes[0], 1000 * (m < 2 * p - 1 ? m : 2 * p - 1));
        release(&out);
        if (m < 2 * p - 1 || f + b < 2 * w || !short_w) continue;
        run("zb-h2", p, 1, m, cost_rows[row], 1, &out);
        check_time("zb-h2, messages", &out, out.simulation.stage_ps, work + (p - 1) * (f + b + 2 - 2 * w));
        release(&out);
      }
}

/* ---- Lists, in PaddlePaddle's terms: F or BW, chunk.micro-batch ---- */

static const char *list_text(const outcome *out, int rank, char text[TEXT_MAX]) {
  const zb_order *order = &out->order;
  int used = 0;
  for (int i = 0; i < order->counts[rank]; ++i) {
    const zb_job job = order->jobs[rank][i];
    const bool whole = order->whole_backward && job.kind == ZB_B;
    used += snprintf(text + used, (size_t)(TEXT_MAX - used), "%s%s%d.%d", used ? " " : "",
                     whole              ? "BW"
                     : job.kind == ZB_F ? "F"
                     : job.kind == ZB_B ? "B"
                                        : "W",
                     job.stage / out->x.problem.ranks, job.micro_batch);
    CU_ASSERT_FATAL(used < TEXT_MAX);
    if (whole) ++i;
  }
  return text;
}

static void expect_list(const char *schedule, int p, int v, int m, int rank, const char *expected) {
  char text[TEXT_MAX];
  outcome out;
  run(schedule, p, v, m, cost_rows[0], 0, &out);
  if (strcmp(list_text(&out, rank, text), expected) != 0)
    fprintf(stderr, "\n%s, p %d m %d v %d, rank %d\nexpected %s\ngot      %s", schedule, p, m, v, rank, expected, text);
  CU_ASSERT_STRING_EQUAL(text, expected);
  release(&out);
}

/* PaddlePaddle's Eager1F1B and VPP, the latter without its receives and sends. */
static void test_paddle(void) {
  expect_list("eager-1f1b", 4, 1, 8, 1,
              "F0.0 F0.1 F0.2 F0.3 F0.4 BW0.0 F0.5 BW0.1 F0.6 BW0.2 F0.7 BW0.3 BW0.4 BW0.5 BW0.6 BW0.7");
  expect_list("interleaved-1f1b", 2, 2, 4, 0,
              "F0.0 F0.1 F1.0 F1.1 F0.2 BW1.0 F0.3 BW1.1 F1.2 BW0.0 F1.3 BW0.1 BW1.2 BW1.3 BW0.2 BW0.3");
  expect_list("interleaved-1f1b", 4, 2, 8, 3,
              "F0.0 F0.1 F0.2 F0.3 F1.0 BW1.0 F1.1 BW1.1 F1.2 BW1.2 F1.3 BW1.3 F0.4 BW0.0 F0.5 BW0.1 F0.6 BW0.2 F0.7 "
              "BW0.3 F1.4 BW1.4 F1.5 BW1.5 F1.6 BW1.6 F1.7 BW1.7 BW0.4 BW0.5 BW0.6 BW0.7");
  /* As many micro-batches as ranks: VPP runs all forwards first. */
  expect_list("interleaved-1f1b:ahead=1000", 2, 2, 2, 1, "F0.0 F0.1 F1.0 F1.1 BW1.0 BW1.1 BW0.0 BW0.1");
}

/* Megatron-LM's table: (micro-batch, chunk) of every step, group after group, the last one of what is left. */
static int megatron_table(int m, int v, int group, int (*table)[2]) {
  int steps = 0;
  for (int first = 0; first < m; first += group)
    for (int chunk = 0; chunk < v; ++chunk)
      for (int i = first; i < first + group && i < m; ++i, ++steps) {
        table[steps][0] = i;
        table[steps][1] = chunk;
      }
  return steps;
}

/* A rank's list from the table, in the words of its schedule: warm-up, 1F1B, cool-down. */
static void megatron_list(int m, int v, int group, int warmup, char text[TEXT_MAX]) {
  int table[MICRO_BATCHES_MAX * CHUNKS_MAX][2], used = 0;
  const int steps = megatron_table(m, v, group, table), ahead = warmup < steps ? warmup : steps;
  text[0] = '\0';
  for (int k = 0; k < steps + ahead; ++k) {
    const int forward = k, backward = k - ahead;
    if (forward < steps)
      used += snprintf(text + used, (size_t)(TEXT_MAX - used), "%sF%d.%d", used ? " " : "", table[forward][1],
                       table[forward][0]);
    if (backward >= 0)
      used +=
          snprintf(text + used, (size_t)(TEXT_MAX - used), " BW%d.%d", v - 1 - table[backward][1], table[backward][0]);
    CU_ASSERT_FATAL(used < TEXT_MAX);
  }
}

static bool megatron_takes(int p, int m, int group) {
  return group >= p && group <= m && (m % group == 0 || m % group >= p);
}

/* Every group that Megatron-LM takes gives its lists and ends without buffers; every other one is refused. */
static void check_groups(int p, int m, int v) {
  outcome out;
  char name[64], text[TEXT_MAX], expected[TEXT_MAX];
  for (int group = 1; group <= m + 1; ++group) {
    zb_schedule_choice choice;
    snprintf(name, sizeof name, "interleaved-1f1b:group=%d", group);
    if (megatron_takes(p, m, group)) {
      run(name, p, v, m, cost_rows[0], 0, &out);
      CU_ASSERT(zero_buffer_ends(&out.x.problem, &out.order, &out.simulation));
      for (int rank = 0; rank < p; ++rank) {
        megatron_list(m, v, group, (v - 1) * group + 2 * (p - 1 - rank), expected);
        CU_ASSERT_STRING_EQUAL(list_text(&out, rank, text), expected);
      }
      release(&out);
    } else if (m >= p) {
      expect_ok(zb_schedule_parse(name, &choice));
      fixture_uniform(&out.x, "looped", p, v, m, 6, 6, 6, 0, 0.5);
      expect_status(zb_schedule_run_choice(&choice, &out.x.problem, &out.order), ZB_USAGE, "interleaved-1f1b: group");
    }
  }
}

static void test_megatron(void) {
  for (int p = 1; p <= RANKS_MAX; ++p)
    for (int m = 1; m <= MICRO_BATCHES_MAX; ++m)
      for (int v = 1; v <= CHUNKS_MAX; ++v)
        check_groups(p, m, v);
}

/* What is said about a group that is too small, or leaves too few. */
static void test_group_text(void) {
  static const struct {
    const char *name, *part;
  } rows[] = {{"interleaved-1f1b:group=3", "group: expected 0 or 4 to 9 for 4 ranks and 9 micro-batches, got 3"},
              {"interleaved-1f1b:group=10", "group: expected 0 or 4 to 9 for 4 ranks and 9 micro-batches, got 10"},
              {"interleaved-1f1b:group=4", "group=4 leaves a last group of 1, expected none or one of 4 or more"},
              {"interleaved-1f1b:group=4", "group=5 is the smallest that does"}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    zb_schedule_choice choice;
    outcome out;
    expect_ok(zb_schedule_parse(rows[i].name, &choice));
    fixture_uniform(&out.x, "looped", 4, 2, 9, 6, 6, 6, 0, 0.5);
    expect_status(zb_schedule_run_choice(&choice, &out.x.problem, &out.order), ZB_USAGE, rows[i].part);
  }
}

/* One more forward first, as with overlapped communication: still free of deadlocks. */
static void test_ahead(void) {
  outcome out, plain;
  for (int p = 1; p <= RANKS_MAX; ++p)
    for (int m = 1; m <= MICRO_BATCHES_MAX; ++m)
      for (int v = 1; v <= CHUNKS_MAX; ++v) {
        run("interleaved-1f1b:ahead=1", p, v, m, cost_rows[2], 1, &out);
        run("interleaved-1f1b", p, v, m, cost_rows[2], 1, &plain);
        CU_ASSERT(zero_buffer_ends(&out.x.problem, &out.order, &out.simulation));
        const int64_t more = out.simulation.peak_bytes[0] - plain.simulation.peak_bytes[0];
        CU_ASSERT(more == 1000 || (more == 0 && plain.simulation.peak_bytes[0] == 1000 * m * v));
        release(&out);
        release(&plain);
      }
}

/* ---- PyTorch's rules, step by step, where they are defined: R rounds divide the micro-batches ---- */

typedef struct pytorch {
  int v, size, warmup;
} pytorch;

static int pytorch_chunk(const pytorch *rule, int step) { return step / rule->size % rule->v; }

static void pytorch_job(char text[TEXT_MAX], int *used, int *next, const char *letter, int chunk) {
  *used +=
      snprintf(text + *used, (size_t)(TEXT_MAX - *used), "%s%s%d.%d", *used ? " " : "", letter, chunk, next[chunk]++);
  CU_ASSERT_FATAL(*used < TEXT_MAX);
}

/* held < 0: whole backwards. */
static void pytorch_list(int p, int m, int v, int rank, int held, char text[TEXT_MAX]) {
  const int rounds = m / p > 1 ? m / p : 1, total = m * v;
  pytorch rule = {.v = v, .size = m / rounds};
  rule.warmup = (v - 1) * rule.size + (held < 0 ? 2 : 1) * (p - 1 - rank);
  if (rule.warmup > total) rule.warmup = total;
  int f[CHUNKS_MAX] = {0}, b[CHUNKS_MAX] = {0}, w[CHUNKS_MAX] = {0}, used = 0, done = 0;
  for (int op = 0; op < total + rule.warmup; ++op) {
    const int step = op - rule.warmup;
    if (op < total) pytorch_job(text, &used, f, "F", pytorch_chunk(&rule, op));
    if (step < 0) continue;
    pytorch_job(text, &used, b, held < 0 ? "BW" : "B", v - 1 - pytorch_chunk(&rule, step));
    if (held >= 0 && step >= held) pytorch_job(text, &used, w, "W", v - 1 - pytorch_chunk(&rule, done++));
  }
  while (held >= 0 && done < total)
    pytorch_job(text, &used, w, "W", v - 1 - pytorch_chunk(&rule, done++));
}

static void test_pytorch(void) {
  int compared = 0;
  for (int p = 1; p <= RANKS_MAX; ++p)
    for (int m = 1; m <= MICRO_BATCHES_MAX; ++m)
      for (int v = 1; v <= CHUNKS_MAX; ++v)
        for (int rank = 0; rank < p; ++rank) {
          char expected[TEXT_MAX];
          if (m >= p && m % (m / p) != 0) continue;
          pytorch_list(p, m, v, rank, -1, expected);
          expect_list("interleaved-1f1b", p, v, m, rank, expected);
          pytorch_list(p, m, v, rank, rank, expected);
          expect_list("interleaved-zb", p, v, m, rank, expected);
          ++compared;
        }
  CU_ASSERT(compared > 1000);
}

static void expect_same(const char *one, const char *other, int p, int v, int m) {
  outcome a, b;
  char first[TEXT_MAX], second[TEXT_MAX];
  run(one, p, v, m, cost_rows[0], 0, &a);
  run(other, p, v, m, cost_rows[0], 0, &b);
  for (int rank = 0; rank < p; ++rank)
    CU_ASSERT_STRING_EQUAL(list_text(&a, rank, first), list_text(&b, rank, second));
  release(&a);
  release(&b);
}

/* One chunk makes of the interleaved rules the plain ones. */
static void test_one_chunk(void) {
  for (int p = 1; p <= RANKS_MAX; ++p)
    for (int m = 1; m <= MICRO_BATCHES_MAX; ++m) {
      expect_same("interleaved-zb", "zb-h1", p, 1, m);
      expect_same("interleaved-1f1b", "eager-1f1b", p, 1, m);
      for (int v = 1; v <= CHUNKS_MAX; ++v)
        expect_same("looped-bfs", "fthenb", p, v, m);
    }
}

int main(void) {
  static const CU_TestInfo tests[] = {{"whole backwards: times, memory", test_whole_times},
                                      {"interleaved-zb: times, memory", test_interleaved_zb_times},
                                      {"zb-h2: times, memory", test_zb_h2_times},
                                      {"PaddlePaddle's lists", test_paddle},
                                      {"Megatron-LM's lists, every group", test_megatron},
                                      {"groups that are refused", test_group_text},
                                      {"further forwards first", test_ahead},
                                      {"PyTorch's lists", test_pytorch},
                                      {"one chunk", test_one_chunk},
                                      CU_TEST_INFO_NULL};
  return run_suite("looped", tests);
}
