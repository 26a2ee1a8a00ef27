/* The period: numbers worked out by hand, published schedules, and random problems and orders against a second
 * algorithm that shares no code: the step as a matrix of longest paths between tokens, found by simulating it once from
 * each token alone, whose greatest cycle mean Karp's formula gives (1978, "A characterization of the minimum cycle mean
 * in a digraph"); and against many simulated steps. */
#include "fixture.h"
#include "random_order.h"

enum { RANKS = 8, TOKENS = RANKS + RANKS * RANKS, PAIRS = 64 };
static const int64_t NEVER = INT64_MIN / 4;

static int64_t later(int64_t a, int64_t b) { return a > b ? a : b; }

/* ---- A step, from and to moments of ranks and channels ---- */

typedef struct moments {
  int64_t rank[RANKS], channel[RANKS][RANKS];
} moments;

typedef struct stepper {
  const zb_problem *problem;
  const zb_order *order;
  int64_t arrival[ZB_KIND_COUNT][FIXTURE_EDGES][PAIRS];
  bool sent[ZB_KIND_COUNT][FIXTURE_EDGES][PAIRS];
  int64_t w_end[FIXTURE_STAGES][PAIRS];
} stepper;

/* Whether the inputs of a job are known, and when the last one is there. */
static bool inputs(const stepper *s, zb_job job, int64_t *at) {
  const zb_problem *p = s->problem;
  for (int e = 0; e < p->edge_count && job.kind != ZB_W; ++e) {
    const zb_edge edge = p->edges[e];
    if (job.stage != (job.kind == ZB_F ? edge.destination : edge.source)) continue;
    if (job.kind == ZB_B && edge.backward_bytes == 0) continue;
    if (!s->sent[job.kind][e][job.micro_batch]) return false;
    *at = later(*at, s->arrival[job.kind][e][job.micro_batch]);
  }
  return true;
}

static void send(stepper *s, zb_job job, int64_t end, moments *x) {
  const zb_problem *p = s->problem;
  for (int e = 0; e < p->edge_count && job.kind != ZB_W; ++e) {
    const zb_edge edge = p->edges[e];
    const bool forward = job.kind == ZB_F;
    if (job.stage != (forward ? edge.source : edge.destination)) continue;
    const int64_t bytes = forward ? edge.forward_bytes : edge.backward_bytes;
    if (!forward && bytes == 0) continue;
    const int from = p->stage_rank[job.stage], to = p->stage_rank[forward ? edge.destination : edge.source];
    int64_t *channel = &x->channel[from][to];
    if (from != to) *channel = later(*channel, end) + p->link_latency_ps + llround((double)bytes * p->link_ps_per_byte);
    s->arrival[job.kind][e][job.micro_batch] = from != to ? *channel : end;
    s->sent[job.kind][e][job.micro_batch] = true;
  }
}

static void run_step(stepper *s, moments *x) {
  const zb_problem *p = s->problem;
  int next[RANKS] = {0};
  memset(s->sent, 0, sizeof s->sent);
  for (bool moved = true; moved;) {
    moved = false;
    for (int rank = 0; rank < p->ranks; ++rank) {
      if (next[rank] == s->order->counts[rank]) continue;
      const zb_job job = s->order->jobs[rank][next[rank]];
      int64_t start = x->rank[rank];
      if (!inputs(s, job, &start)) continue;
      x->rank[rank] = start + p->costs[job.stage].time_ps[job.kind];
      if (job.kind == ZB_W) s->w_end[job.stage][job.micro_batch] = x->rank[rank];
      send(s, job, x->rank[rank], x);
      ++next[rank];
      moved = true;
    }
  }
  for (int rank = 0; rank < p->ranks; ++rank) {
    int64_t stream = NEVER;
    CU_ASSERT_EQUAL(next[rank], s->order->counts[rank]);
    for (int i = 0; i < p->reduction_count; ++i)
      if (p->stage_rank[p->reductions[i].stage] == rank)
        stream = later(stream, s->w_end[p->reductions[i].stage][p->reductions[i].after]) + p->reductions[i].time_ps;
    x->rank[rank] = later(x->rank[rank], stream) + (p->optimizer_ps ? p->optimizer_ps[rank] : 0);
  }
}

/* ---- Karp's formula ---- */

static int64_t *token_of(moments *x, int ranks, int token) {
  return token < ranks ? &x->rank[token] : &x->channel[(token - ranks) / ranks][(token - ranks) % ranks];
}

static int64_t matrix[TOKENS][TOKENS]; /* [to][from] */

static void fill_matrix(stepper *s, int tokens) {
  const int ranks = s->problem->ranks;
  for (int from = 0; from < tokens; ++from) {
    moments x;
    for (int t = 0; t < TOKENS; ++t)
      ((int64_t *)&x)[t] = NEVER;
    *token_of(&x, ranks, from) = 0;
    run_step(s, &x);
    for (int to = 0; to < tokens; ++to) {
      const int64_t at = *token_of(&x, ranks, to);
      matrix[to][from] = at < NEVER / 2 ? NEVER : at;
    }
  }
}

/* The longest walks of every length from everywhere; then the greatest over ends of the least over lengths. */
static void karp(int tokens, int64_t *out_ps, int64_t *out_steps) {
  static int64_t walk[TOKENS + 1][TOKENS];
  memset(walk[0], 0, sizeof walk[0]);
  for (int k = 1; k <= tokens; ++k)
    for (int to = 0; to < tokens; ++to) {
      walk[k][to] = NEVER;
      for (int from = 0; from < tokens; ++from)
        if (matrix[to][from] != NEVER && walk[k - 1][from] != NEVER)
          walk[k][to] = later(walk[k][to], walk[k - 1][from] + matrix[to][from]);
    }
  *out_ps = 0;
  *out_steps = 1;
  for (int to = 0; to < tokens; ++to) {
    int64_t least_ps = 0, least_steps = 0;
    if (walk[tokens][to] == NEVER) continue;
    for (int k = 0; k < tokens; ++k) {
      if (walk[k][to] == NEVER) continue;
      const int64_t ps = walk[tokens][to] - walk[k][to], steps = tokens - k;
      if (least_steps == 0 || ps * least_steps < least_ps * steps) least_ps = ps, least_steps = steps;
    }
    if (least_ps * *out_steps > *out_ps * least_steps) *out_ps = least_ps, *out_steps = least_steps;
  }
}

/* ---- By hand ---- */

static zb_period period_of(const zb_problem *problem, const char *schedule) {
  zb_order order;
  zb_period period;
  expect_ok(zb_schedule_run(zb_schedule_find(schedule, NULL), problem, &order));
  expect_ok(zb_order_period(problem, &order, &period));
  zb_order_deinit(&order);
  return period;
}

/* Two ranks, one micro-batch, messages of 5: the cycle of both is F, message, F, B, message, B, W: 10 + 5 + 10 + 10 + 5
 * + 10 + 1. With a W of rank 1 that is longer than all that its gradient makes rank 0 do, rank 1 alone decides. */
static void test_by_hand(void) {
  fixture x;
  fixture_uniform(&x, "plain", 2, 1, 1, 10, 10, 1, 5, 0.4);
  zb_period period = period_of(&x.problem, "zb-h1");
  CU_ASSERT_EQUAL(period.cycle_ps, 51);
  CU_ASSERT_EQUAL(period.cycle_steps, 1);
  CU_ASSERT_DOUBLE_EQUAL(period.bubble, 1 - 21.0 / 51, 1e-12);
  x.costs[1].time_ps[ZB_W] = 100;
  period = period_of(&x.problem, "zb-h1");
  CU_ASSERT_EQUAL(period.period_ps, 120); /* its F of the next step has come long before */
  x.optimizer[1] = 7;
  x.problem.optimizer_ps = x.optimizer;
  CU_ASSERT_EQUAL(period_of(&x.problem, "zb-h1").period_ps, 127);
  const zb_reduction reduction = {.stage = 1, .after = 0, .time_ps = 40};
  x.problem.reductions = &reduction;
  x.problem.reduction_count = 1;
  CU_ASSERT_EQUAL(period_of(&x.problem, "zb-h1").period_ps, 167); /* nothing is behind it but the optimizer */
}

/* The jobs of a rank, stage by stage, one micro-batch. */
static void add_stage(zb_order *order, int rank, int stage) {
  for (int kind = 0; kind < ZB_KIND_COUNT; ++kind)
    expect_ok(zb_order_add(order, rank, stage, (zb_kind)kind, 0));
}

/* Two messages that nothing answers, one each way, each from the start of a list to the end of the other: a cycle that
 * takes two steps, 1 + 10 + 3 and 1 + 11 + 3, in which each rank works 6. Without one of the messages the ranks go at
 * the pace of the slower one. */
static void test_two_steps(void) {
  fixture x;
  zb_order order;
  zb_period period;
  static const zb_edge edges[] = {{0, 1, 10, 0}, {2, 3, 11, 0}};
  fixture_uniform(&x, "v", 2, 2, 1, 2, 2, 2, 0, 0.4);
  x.problem.edges = edges;
  x.problem.edge_count = 2;
  x.problem.link_ps_per_byte = 1;
  memcpy(x.stage_rank, (const int[]){0, 1, 1, 0}, 4 * sizeof(int));
  expect_ok(zb_order_init(&order, 2));
  add_stage(&order, 0, 0);
  add_stage(&order, 0, 3);
  add_stage(&order, 1, 2);
  add_stage(&order, 1, 1);
  expect_ok(zb_order_period(&x.problem, &order, &period));
  CU_ASSERT_EQUAL(period.cycle_ps, 29);
  CU_ASSERT_EQUAL(period.cycle_steps, 2);
  CU_ASSERT_EQUAL(period.period_ps, 15);
  CU_ASSERT_DOUBLE_EQUAL(period.bubble, 1 - 6 / 14.5, 1e-12);
  x.problem.edge_count = 1;
  x.costs[1].time_ps[ZB_W] = 30;
  expect_ok(zb_order_period(&x.problem, &order, &period));
  CU_ASSERT_EQUAL(period.cycle_ps, 35);
  CU_ASSERT_EQUAL(period.cycle_steps, 1);
  zb_order_deinit(&order);
}

/* What papers say of equal stages without messages: by 1F1B each step still takes (m + p - 1) (F + B + W), overlapped
 * or not, since the last rank's first gradient goes all the way; ZB-H2 has no bubble, by the stage metric and so none
 * without a barrier; ZB-H1 is no faster than its stage metric says. */
static void test_published(void) {
  for (int p = 2; p <= 8; p += 2)
    for (int m = 2 * p; m <= 4 * p; m += p) {
      fixture x;
      fixture_uniform(&x, "plain", p, 1, m, 10, 10, 10, 0, 0.4);
      CU_ASSERT_EQUAL(period_of(&x.problem, "1f1b").period_ps, (m + p - 1) * 30);
      CU_ASSERT_EQUAL(period_of(&x.problem, "zb-h2").period_ps, m * 30);
      CU_ASSERT_EQUAL(zb_lower_bound_period_ps(&x.problem), m * 30);
      CU_ASSERT_EQUAL(period_of(&x.problem, "zb-h1").period_ps, m * 30 + (p - 1) * 10);
    }
}

/* ---- At random ---- */

static void add_reductions(fixture *x, uint64_t *seed, zb_reduction *reductions) {
  x->problem.reductions = reductions;
  x->problem.reduction_count = (int)fixture_random(seed, 5);
  for (int i = 0; i < x->problem.reduction_count; ++i)
    reductions[i] = (zb_reduction){.stage = (int)fixture_random(seed, x->problem.stages),
                                   .after = (int)fixture_random(seed, x->problem.micro_batches),
                                   .time_ps = fixture_random(seed, 60)};
}

/* Many steps from 0: what the slowest rank takes in the long run, to a step's length. */
static void expect_steps(stepper *s, const zb_period *period, int64_t step_ps) {
  enum { STEPS = 60 };
  moments x = {0};
  int64_t last = 0;
  for (int step = 0; step < STEPS; ++step)
    run_step(s, &x);
  for (int rank = 0; rank < s->problem->ranks; ++rank)
    last = later(last, x.rank[rank]);
  CU_ASSERT(last * period->cycle_steps >= STEPS * period->cycle_ps);
  CU_ASSERT(last * period->cycle_steps <= STEPS * period->cycle_ps + step_ps * RANKS * RANKS * period->cycle_steps);
}

/* A third of the edges, with long messages, and no gradient returns. */
static void drop_edges(fixture *x, uint64_t *seed) {
  int kept = 0;
  for (int e = 0; e < x->problem.edge_count; ++e)
    if (fixture_random(seed, 3) == 0)
      x->edges[kept++] = (zb_edge){x->edges[e].source, x->edges[e].destination, x->edges[e].forward_bytes * 90, 0};
  x->problem.edge_count = kept;
}

static bool all_answered(const zb_problem *p) {
  for (int e = 0; e < p->edge_count; ++e)
    if (p->edges[e].backward_bytes == 0) return false;
  return true;
}

/* Ranks in a ring: the first stage of each sends to the second one of the next, so that a cycle takes as many steps as
 * there are ranks. */
static void make_ring(fixture *x, uint64_t *seed, zb_order *order) {
  const int ranks = 2 + (int)fixture_random(seed, RANKS - 1);
  fixture_uniform(x, "looped", ranks, 2, 1, 0, 0, 0, fixture_random(seed, 4), 0);
  expect_ok(zb_order_init(order, ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    x->edges[rank] = (zb_edge){rank, ranks + (rank + 1) % ranks, fixture_random(seed, 100), 0};
    for (int stage = rank; stage < 2 * ranks; stage += ranks) {
      for (int kind = 0; kind < ZB_KIND_COUNT; ++kind)
        x->costs[stage].time_ps[kind] = fixture_random(seed, 20);
      add_stage(order, rank, stage);
    }
  }
  x->problem.edges = x->edges;
  x->problem.edge_count = ranks;
  x->problem.link_ps_per_byte = 1;
}

typedef struct counts {
  int fractions, below_stage, below_step, above_work, is_bound;
} counts;

static void expect_between(const fixture *x, const zb_order *order, const zb_period *period, counts *n) {
  zb_simulation simulation;
  expect_ok(zb_simulate(&x->problem, order, &simulation));
  zb_problem limited = x->problem; /* what the order takes, so that the bound is as high as it may be */
  limited.rank_limit_bytes = simulation.peak_bytes;
  const int64_t work = zb_lower_bound_period_ps(&limited);
  CU_ASSERT(work <= period->period_ps);
  CU_ASSERT(period->period_ps <= simulation.step_ps);
  if (x->problem.stages == x->problem.ranks && all_answered(&x->problem))
    CU_ASSERT(period->period_ps <= simulation.stage_ps);
  n->fractions += period->cycle_steps > 1;
  n->below_stage += period->period_ps < simulation.stage_ps;
  n->below_step += period->period_ps < simulation.step_ps;
  n->above_work += period->period_ps > work;
  n->is_bound += period->period_ps == work;
  zb_simulation_deinit(&simulation);
}

static void test_at_random(void) {
  static stepper s;
  uint64_t seed = 11;
  counts n = {0};
  static const char *const placements[] = {"plain", "looped", "v", "wave"};
  for (int round = 0; round < 600; ++round) {
    const int kind = (int)fixture_random(&seed, 4), chunks = kind == 0   ? 1
                                                             : kind == 2 ? 2
                                                                         : 1 + (int)fixture_random(&seed, 2);
    fixture x;
    zb_order order;
    zb_period period;
    zb_reduction reductions[4];
    const int most = round % 10 == 0 ? RANKS : 4;
    if (round % 4 == 3) {
      make_ring(&x, &seed, &order);
    } else {
      fixture_uneven(&x, &seed, placements[kind], 1 + (int)fixture_random(&seed, most), chunks,
                     1 + (int)fixture_random(&seed, 5));
      if (round % 4 == 1) drop_edges(&x, &seed);
      random_order(&x.problem, &seed, &order);
    }
    if (round % 3 == 0) add_reductions(&x, &seed, reductions);
    expect_ok(zb_order_period(&x.problem, &order, &period));
    s = (stepper){.problem = &x.problem, .order = &order};
    int64_t ps, steps;
    const int tokens = x.problem.ranks + x.problem.ranks * x.problem.ranks;
    fill_matrix(&s, tokens);
    karp(tokens, &ps, &steps);
    CU_ASSERT_EQUAL(ps * period.cycle_steps, period.cycle_ps * steps);
    zb_simulation simulation;
    expect_ok(zb_simulate(&x.problem, &order, &simulation));
    expect_steps(&s, &period, simulation.step_ps + 1);
    zb_simulation_deinit(&simulation);
    expect_between(&x, &order, &period, &n);
    zb_order_deinit(&order);
  }
  CU_ASSERT(n.fractions > 5);
  CU_ASSERT(n.below_stage > 30);
  CU_ASSERT(n.below_step > 60);
  CU_ASSERT(n.above_work > 60);
  CU_ASSERT(n.is_bound > 20);
}

/* An order that cannot finish, and times of which many rounds would not fit. */
static void test_errors(void) {
  fixture x;
  zb_order order;
  zb_period period;
  zb_metric metric;
  fixture_uniform(&x, "plain", 2, 1, 1, 1, 1, 1, 0, 0.4);
  expect_ok(zb_order_init(&order, 2));
  expect_ok(zb_order_add(&order, 0, 0, ZB_F, 0));
  expect_ok(zb_order_add(&order, 0, 0, ZB_B, 0));
  expect_ok(zb_order_add(&order, 0, 0, ZB_W, 0));
  expect_ok(zb_order_add(&order, 1, 1, ZB_B, 0));
  expect_ok(zb_order_add(&order, 1, 1, ZB_F, 0));
  expect_ok(zb_order_add(&order, 1, 1, ZB_W, 0));
  expect_status(zb_order_period(&x.problem, &order, &period), ZB_TIMEOUT, "rank 1");
  zb_order_deinit(&order);
  fixture_uniform(&x, "plain", 2, 1, 1, INT64_C(1) << 59, 1, 1, 0, 0.4);
  expect_ok(zb_schedule_run(zb_schedule_find("1f1b", NULL), &x.problem, &order));
  expect_status(zb_order_period(&x.problem, &order, &period), ZB_INVALID, "too long for a period");
  zb_order_deinit(&order);
  expect_status(zb_metric_parse("perod", &metric), ZB_USAGE, "did you mean 'period'?");
  expect_status(zb_metric_parse("steady-state", &metric), ZB_USAGE, "write period");
  for (int i = 0; i < ZB_METRIC_COUNT; ++i) {
    expect_ok(zb_metric_parse(zb_metric_name((zb_metric)i), &metric));
    CU_ASSERT_EQUAL(metric, i);
  }
}

int main(void) {
  static const CU_TestInfo tests[] = {{"by hand", test_by_hand},
                                      {"a cycle of two steps", test_two_steps},
                                      {"published schedules", test_published},
                                      {"Karp's formula and many steps, random orders", test_at_random},
                                      {"errors", test_errors},
                                      CU_TEST_INFO_NULL};
  return run_suite("period", tests);
}
