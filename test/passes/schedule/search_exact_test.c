/* The search against the best of all orders. */
#include "searched.h"

/* ---- All orders: branch and bound over global sequences, nothing shared with the library ---- */

static const int64_t NODES_MAX = 400000;

typedef struct enumerator_ranks {
  int64_t clock[4], first[4], live[4], left[4], channel[16];
} enumerator_ranks;

/* Jobs by (stage * micro_batches + micro_batch) * 3 + kind. */
typedef struct enumerator {
  const zb_problem *p;
  bool done[192];
  int64_t end[192];
  int64_t arrival[192]; /* of the message from the stage before; -1: not sent */
  enumerator_ranks ranks;
  int64_t limit[4];
  int remaining;
  int64_t best;
  int64_t nodes;
} enumerator;

static int number(const enumerator *e, int stage, int kind, int micro_batch) {
  return (stage * e->p->micro_batches + micro_batch) * ZB_KIND_COUNT + kind;
}

/* When the inputs of a job are there; -1: not all of them are made. Chains only. */
static int64_t ready_at(const enumerator *e, int stage, int kind, int micro_batch) {
  const int own = number(e, stage, kind, micro_batch);
  if (kind == ZB_F) return stage == 0 ? 0 : e->arrival[own];
  if (!e->done[own - 1]) return -1;
  if (kind == ZB_W || stage == e->p->stages - 1) return e->end[own - 1];
  return e->arrival[own] >= 0 && e->arrival[own] < e->end[own - 1] ? e->end[own - 1] : e->arrival[own];
}

static int64_t longest(const enumerator *e) {
  int64_t time = 0;
  for (int rank = 0; rank < e->p->ranks; ++rank) {
    const int64_t first = e->p->metric == ZB_METRIC_STAGE && e->ranks.first[rank] >= 0 ? e->ranks.first[rank] : 0;
    const int64_t end = e->ranks.clock[rank] + e->ranks.left[rank] - first;
    if (end > time) time = end;
  }
  return time;
}

/* Runs a job and hands its result on; returns the job that gets it, -1: none. */
static int run_job(enumerator *e, int stage, int kind, int micro_batch, int64_t start) {
  const zb_problem *p = e->p;
  const zb_stage_cost *cost = &p->costs[stage];
  const int rank = p->stage_rank[stage], own = number(e, stage, kind, micro_batch);
  enumerator_ranks *r = &e->ranks;
  e->done[own] = true;
  --e->remaining;
  e->end[own] = r->clock[rank] = start + cost->time_ps[kind];
  r->left[rank] -= cost->time_ps[kind];
  r->live[rank] += cost->keep_bytes[kind] - cost->free_bytes[kind];
  if (r->first[rank] < 0) r->first[rank] = start;
  const int to = kind == ZB_F ? stage + 1 : stage - 1;
  if (kind == ZB_W || to < 0 || to >= p->stages) return -1;
  const int other = p->stage_rank[to];
  int64_t at = e->end[own];
  if (other != rank) {
    int64_t *channel = &r->channel[rank * 4 + other];
    at = *channel = (*channel > at ? *channel : at) + p->link_latency_ps;
  }
  e->arrival[number(e, to, kind, micro_batch)] = at;
  return number(e, to, kind, micro_batch);
}

/* Every sequence in which each job starts no earlier than the ones before it: each set of orders of the ranks is among
 * them, once or more. */
static void visit(enumerator *e, int64_t last_start) {
  const zb_problem *p = e->p;
  if (++e->nodes > NODES_MAX || longest(e) >= e->best) return;
  if (e->remaining == 0) {
    e->best = longest(e);
    return;
  }
  for (int stage = 0; stage < p->stages; ++stage)
    for (int kind = 0; kind < ZB_KIND_COUNT; ++kind) {
      /* Micro-batches are alike: the next one of each kind. */
      int i = 0;
      while (i < p->micro_batches && e->done[number(e, stage, kind, i)])
        ++i;
      if (i == p->micro_batches) continue;
      const int rank = p->stage_rank[stage];
      const int64_t ready = ready_at(e, stage, kind, i), clock = e->ranks.clock[rank];
      const int64_t start = ready > clock ? ready : clock;
      if (ready < 0 || start < last_start) continue;
      if (e->ranks.live[rank] + p->costs[stage].keep_bytes[kind] > e->limit[rank]) continue;
      const enumerator_ranks saved = e->ranks;
      const int to = run_job(e, stage, kind, i, start);
      visit(e, start);
      e->ranks = saved;
      e->done[number(e, stage, kind, i)] = false;
      ++e->remaining;
      if (to >= 0) e->arrival[to] = -1;
    }
}

/* The best time of all orders, given one; -1: too many to try. */
static int64_t best_of_all(const zb_problem *p, int64_t known) {
  enumerator e = {.p = p, .best = known + 1};
  for (int i = 0; i < 192; ++i)
    e.arrival[i] = -1;
  for (int rank = 0; rank < p->ranks; ++rank) {
    e.ranks.first[rank] = -1;
    e.ranks.live[rank] = p->base_bytes ? p->base_bytes[rank] : 0;
    e.ranks.left[rank] = p->optimizer_ps ? p->optimizer_ps[rank] : 0;
    const int64_t limit = p->rank_limit_bytes ? p->rank_limit_bytes[rank] : p->memory_limit_bytes;
    e.limit[rank] = limit ? limit : INT64_MAX / 2;
  }
  for (int stage = 0; stage < p->stages; ++stage)
    for (int kind = 0; kind < ZB_KIND_COUNT; ++kind)
      e.ranks.left[p->stage_rank[stage]] += p->micro_batches * p->costs[stage].time_ps[kind];
  e.remaining = p->stages * p->micro_batches * ZB_KIND_COUNT;
  visit(&e, 0);
  return e.nodes > NODES_MAX ? -1 : e.best;
}

/* A chain of uneven stages (the enumerator knows no skips). */
static void chain(fixture *x, uint64_t *seed, const char *placement, int p, int v, int m) {
  fixture_uneven(x, seed, placement, p, v, m);
  x->problem.edges = NULL;
  x->problem.edge_count = 0;
  x->problem.link_latency_ps = fixture_random(seed, 4);
}

/* No limit, limits from what one micro-batch needs up to what all need, and such limits of every rank. */
static void draw_limits(fixture *x, uint64_t *seed, int which, int64_t *limits) {
  int64_t needed = 1;
  for (int stage = 0; stage < x->problem.stages; ++stage)
    needed += x->costs[stage].keep_bytes[0] + x->costs[stage].keep_bytes[1];
  const int64_t most = needed * x->problem.micro_batches;
  x->problem.memory_limit_bytes = which ? 1 + fixture_random(seed, most) : 0;
  for (int rank = 0; rank < x->problem.ranks; ++rank)
    limits[rank] = fixture_random(seed, 4) ? 1 + fixture_random(seed, most) : 0;
  x->problem.rank_limit_bytes = which == 3 ? limits : NULL;
}

typedef struct tally {
  int tried, equal, proven, skipped, barrier;
} tally;

static void check_against_all(const fixture *x, tally *t) {
  zb_search_report report = {0};
  const int64_t found = search(&x->problem, 0, 0, &report);
  if (found == INT64_MAX) {
    CU_ASSERT_EQUAL(best_of_all(&x->problem, INT64_MAX / 2), INT64_MAX / 2 + 1);
    return;
  }
  const int64_t best = best_of_all(&x->problem, found);
  if (best < 0) {
    ++t->skipped;
    return;
  }
  const bool stage_metric = x->problem.metric == ZB_METRIC_STAGE;
  CU_ASSERT(best <= found);
  CU_ASSERT((stage_metric ? zb_lower_bound_stage_ps(&x->problem) : zb_lower_bound_ps(&x->problem)) <= best);
  if (report.proven) CU_ASSERT_EQUAL(found, best);
  ++t->tried;
  t->equal += found == best;
  t->barrier += !stage_metric;
  t->proven += report.proven && !stage_metric;
  /* best_of_all tries orders whose classes rise, as the search does: by the stage metric others may be faster. */
  if (stage_metric && report.proven) CU_ASSERT_EQUAL(found, zb_lower_bound_stage_ps(&x->problem));
  if (found != best)
    fprintf(stderr, "\n%d ranks, %d stages, %d micro-batches, limit %lld: best %lld, found %lld", x->problem.ranks,
            x->problem.stages, x->problem.micro_batches, (long long)x->problem.memory_limit_bytes, (long long)best,
            (long long)found);
}

static void test_exhaustive(void) {
  static const struct {
    const char *placement;
    int p, v, m, rounds;
  } rows[] = {{"plain", 1, 1, 3, 4}, {"plain", 2, 1, 1, 6},   {"plain", 2, 1, 2, 30}, {"plain", 2, 1, 3, 24},
              {"plain", 3, 1, 1, 8}, {"plain", 3, 1, 2, 24},  {"plain", 3, 1, 3, 6},  {"v", 2, 2, 1, 10},
              {"v", 2, 2, 2, 40},    {"looped", 2, 2, 2, 40}, {"wave", 2, 2, 2, 16},  {"looped", 3, 2, 1, 10},
              {"v", 3, 2, 1, 10},    {"wave", 3, 2, 2, 2}};
  uint64_t seed = 21;
  tally t = {0};
  for (size_t row = 0; row < sizeof rows / sizeof *rows; ++row)
    for (int round = 0; round < rows[row].rounds; ++round) {
      fixture x;
      int64_t limits[FIXTURE_STAGES];
      (round % 2 ? chain : even)(&x, &seed, rows[row].placement, rows[row].p, rows[row].v, rows[row].m);
      if (round % 4 == 3)
        x.problem.link_latency_ps = fixture_random(&seed, 60); /* messages that stand in each other's way */
      x.problem.metric = round / 2 % 2 ? ZB_METRIC_STAGE : ZB_METRIC_BARRIER;
      for (int which = 0; which < 4; ++which) {
        draw_limits(&x, &seed, which, limits);
        check_against_all(&x, &t);
      }
    }
  fprintf(stderr, "\n  %d of %d equal to the best of all orders, %d proven (%d with too many orders left out) ",
          t.equal, t.tried, t.proven, t.skipped);
  CU_ASSERT(t.tried > 350);
  CU_ASSERT_EQUAL(t.equal, t.tried);
  CU_ASSERT_EQUAL(t.proven, t.barrier);
}

/* Whole backwards are the best of all orders of the problem in which B takes the time of W too and frees its memory. */
static void test_whole(void) {
  uint64_t seed = 33;
  int tried = 0;
  for (int round = 0; round < 60; ++round) {
    fixture x;
    zb_search_report report = {0};
    chain(&x, &seed, round % 3 ? "v" : "looped", 2, 2, 1 + round % 2);
    x.problem.metric = round / 2 % 2 ? ZB_METRIC_STAGE : ZB_METRIC_BARRIER;
    x.problem.whole_backward = true;
    x.problem.memory_limit_bytes = round % 4 ? 200 + fixture_random(&seed, 700) : 0;
    const int64_t found = search(&x.problem, 0, 0, &report);
    if (found == INT64_MAX) continue;
    for (int stage = 0; stage < x.problem.stages; ++stage) {
      zb_stage_cost *cost = &x.costs[stage];
      cost->time_ps[ZB_B] += cost->time_ps[ZB_W];
      cost->free_bytes[ZB_B] += cost->free_bytes[ZB_W];
      cost->time_ps[ZB_W] = cost->free_bytes[ZB_W] = 0;
    }
    const int64_t best = best_of_all(&x.problem, found);
    if (best < 0) continue;
    CU_ASSERT(report.proven || x.problem.metric == ZB_METRIC_STAGE);
    CU_ASSERT_EQUAL(found, best);
    ++tried;
  }
  CU_ASSERT(tried > 30);
}

int main(void) {
  static const CU_TestInfo tests[] = {
      {"equal to the best of all orders", test_exhaustive}, {"whole backwards", test_whole}, CU_TEST_INFO_NULL};
  return run_suite("search of small problems", tests);
}
