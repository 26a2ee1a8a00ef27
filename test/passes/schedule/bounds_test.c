/* Lower bounds: never above the best of all orders (tried one by one for tiny problems), and as high as known formulas.
 */
#include "fixture.h"
#include "random_order.h"

/* ---- Exhaustive search: every order of every rank, one rank inside the other ---- */

typedef struct search {
  const zb_problem *problem;
  zb_order order;
  bool done[512]; /* by job number */
  int64_t best, best_stage;
  int64_t tried;
} search;

static void visit_rank(search *s, int rank);

static void finish(search *s) {
  zb_simulation simulation;
  zb_status status = zb_simulate(s->problem, &s->order, &simulation);
  ++s->tried;
  if (!status) {
    bool fits = true;
    for (int rank = 0; rank < s->problem->ranks; ++rank)
      fits = fits &&
             (s->problem->memory_limit_bytes == 0 || simulation.peak_bytes[rank] <= s->problem->memory_limit_bytes);
    if (fits && simulation.step_ps < s->best) s->best = simulation.step_ps;
    if (fits && simulation.stage_ps < s->best_stage) s->best_stage = simulation.stage_ps;
  }
  zb_status_free(status);
  zb_simulation_deinit(&simulation);
}

/* Adds each job of this rank that may come next on this rank, whatever the other ranks do. */
static void visit_rank(search *s, int rank) {
  const zb_problem *p = s->problem;
  if (rank == p->ranks) {
    finish(s);
    return;
  }
  const int chunks = p->stages / p->ranks;
  if (s->order.counts[rank] == chunks * p->micro_batches * ZB_KIND_COUNT) {
    visit_rank(s, rank + 1);
    return;
  }
  for (int number = 0; number < p->stages * p->micro_batches * ZB_KIND_COUNT; ++number) {
    const int stage = number / ZB_KIND_COUNT / p->micro_batches,
              micro_batch = number / ZB_KIND_COUNT % p->micro_batches;
    const zb_kind kind = (zb_kind)(number % ZB_KIND_COUNT);
    if (p->stage_rank[stage] != rank || s->done[number]) continue;
    if (kind != ZB_F && !s->done[number - 1]) continue;
    if (kind == ZB_W && micro_batch > 0 && !s->done[number - ZB_KIND_COUNT]) continue;
    s->done[number] = true;
    expect_ok(zb_order_add(&s->order, rank, stage, kind, micro_batch));
    visit_rank(s, rank);
    --s->order.counts[rank];
    s->done[number] = false;
  }
}

static void check_exhaustively(const zb_problem *problem) {
  search s = {.problem = problem, .best = INT64_MAX, .best_stage = INT64_MAX};
  expect_ok(zb_order_init(&s.order, problem->ranks));
  visit_rank(&s, 0);
  CU_ASSERT(s.tried > 0);
  const int64_t bound = zb_lower_bound_ps(problem), stage_bound = zb_lower_bound_stage_ps(problem);
  CU_ASSERT(bound <= s.best);
  CU_ASSERT(stage_bound <= s.best_stage);
  zb_order_deinit(&s.order);
}

static void test_exhaustive(void) {
  uint64_t seed = 3;
  static const struct {
    const char *placement;
    int ranks, chunks, micro_batches, rounds;
  } rows[] = {{"plain", 1, 1, 3, 20}, {"plain", 2, 1, 1, 20},  {"plain", 2, 1, 2, 40}, {"plain", 2, 1, 3, 1},
              {"v", 2, 2, 1, 10},     {"looped", 2, 2, 1, 10}, {"looped", 1, 2, 2, 1}};
  for (size_t row = 0; row < sizeof rows / sizeof *rows; ++row)
    for (int round = 0; round < rows[row].rounds; ++round) {
      fixture x;
      fixture_uneven(&x, &seed, rows[row].placement, rows[row].ranks, rows[row].chunks, rows[row].micro_batches);
      check_exhaustively(&x.problem);
      /* A limit at which some orders fall away. */
      zb_order order;
      int64_t peak[FIXTURE_STAGES], most = 1;
      random_order(&x.problem, &seed, &order);
      zb_order_peaks(&x.problem, &order, peak);
      for (int rank = 0; rank < x.problem.ranks; ++rank)
        most = peak[rank] > most ? peak[rank] : most;
      zb_order_deinit(&order);
      x.problem.memory_limit_bytes = most;
      if (rows[row].micro_batches < 3) check_exhaustively(&x.problem);
    }
}

/* Known optima of two ranks and two or three micro-batches are met exactly. */
static void test_tight(void) {
  for (int m = 1; m <= 2; ++m) {
    fixture x;
    fixture_uniform(&x, "plain", 2, 1, m, 6, 6, 6, 0, 0.5);
    search s = {.problem = &x.problem, .best = INT64_MAX, .best_stage = INT64_MAX};
    expect_ok(zb_order_init(&s.order, 2));
    visit_rank(&s, 0);
    CU_ASSERT_EQUAL(zb_lower_bound_ps(&x.problem), s.best);
    zb_order_deinit(&s.order);
  }
}

/* mT + (p-1)(F/v + c) for one chunk, V and looped; (m+p-1)(F+B)+W+2(p-1)c for few micro-batches; and the memory bound
 * of the stage metric. */
static void test_formulas(void) {
  const int64_t f = 18522, b = 18086, w = 9338, c = 601;
  static const struct {
    const char *placement;
    int chunks;
  } rows[] = {{"plain", 1}, {"v", 2}, {"looped", 2}};
  for (size_t row = 0; row < 3; ++row) {
    fixture x;
    fixture_uniform(&x, rows[row].placement, 8, rows[row].chunks, 24, f, b, w, c, 0.5);
    CU_ASSERT_EQUAL(zb_lower_bound_ps(&x.problem), 24 * (f + b + w) + 7 * (f / rows[row].chunks + c));
  }
  fixture x;
  fixture_uniform(&x, "plain", 8, 1, 3, f, b, w, c, 0.5);
  CU_ASSERT_EQUAL(zb_lower_bound_ps(&x.problem), (3 + 8 - 1) * (f + b) + w + 2 * 7 * c);
  fixture_uniform(&x, "plain", 8, 1, 24, f, b, w, c, 0.5);
  for (int limit = 1; limit <= 30; ++limit) {
    x.problem.memory_limit_bytes = limit * 1000;
    /* Before the first B, and between the last F and its B: (limit - 1) micro-batches have B and W to do meanwhile. */
    const int64_t first = 7 * (b + 2 * c) + (8 - (limit < 24 ? limit : 24)) * f;
    const int64_t last = 7 * (f + b + 2 * c) - (limit < 25 ? limit - 1 : 24) * (b + w);
    const int64_t idle = (first > 0 ? first : 0) + (last > 0 ? last : 0);
    const int64_t bound = zb_lower_bound_stage_ps(&x.problem), expected = 24 * (f + b + w) + idle;
    CU_ASSERT(bound <= expected && bound >= expected - 2); /* the knapsacks round generously */
    /* The memory of 1F1B: ZB-H1 is the best that there is, by either metric. */
    if (limit == 8) CU_ASSERT_EQUAL(idle, 7 * (f + b - w) + 28 * c);
    if (limit == 8) CU_ASSERT(zb_lower_bound_ps(&x.problem) >= expected - 2);
  }
}

/* Less memory never gives a lower bound. */
static void test_monotone(void) {
  uint64_t seed = 11;
  for (int round = 0; round < 100; ++round) {
    fixture x;
    fixture_uneven(&x, &seed, "wave", 3, 1 + (int)fixture_random(&seed, 3), 1 + (int)fixture_random(&seed, 6));
    int64_t last = INT64_MAX;
    for (int64_t limit = 1; limit < 4000; limit += 133) {
      x.problem.memory_limit_bytes = limit;
      const int64_t bound = zb_lower_bound_ps(&x.problem);
      CU_ASSERT(bound <= last);
      last = bound;
    }
    x.problem.memory_limit_bytes = 0;
    CU_ASSERT(zb_lower_bound_ps(&x.problem) <= last);
  }
}

int main(void) {
  static const CU_TestInfo tests[] = {{"never above the best of all orders", test_exhaustive},
                                      {"tight for two ranks", test_tight},
                                      {"known formulas", test_formulas},
                                      {"monotone in memory", test_monotone},
                                      CU_TEST_INFO_NULL};
  return run_suite("bounds", tests);
}
