/* Reductions on the second clock of a rank, optimizer times of stages, and classes of links: cases by hand, random ones
 * against a simulator that takes none of the library's tables, bounds and search against all orders, and JSON.
 */
#include <math.h>

#include "fixture.h"
#include "passes/schedule/search/exact.h"
#include "random_order.h"

enum { REDUCTIONS = 12, CHANNELS = 8 };

typedef struct extended {
  fixture x;
  zb_link_class classes[3];
  zb_channel channels[CHANNELS];
  zb_reduction reductions[REDUCTIONS];
} extended;

/* An uneven problem with what is new drawn at random: each kind is there or not. */
static void draw(extended *e, uint64_t *seed, const char *placement, int ranks, int chunks, int micro_batches) {
  zb_problem *p = &e->x.problem;
  fixture_uneven(&e->x, seed, placement, ranks, chunks, micro_batches);
  if (fixture_random(seed, 4)) {
    p->link_class_count = 3;
    p->link_classes = e->classes;
    for (int i = 0; i < 3; ++i) {
      e->classes[i] =
          (zb_link_class){.latency_ps = fixture_random(seed, 20), .ps_per_byte = (double)fixture_random(seed, 8) / 4};
      snprintf(e->classes[i].name, sizeof e->classes[i].name, "class %d", i);
    }
    if (fixture_random(seed, 2)) {
      p->node_ranks = 1 + (int)fixture_random(seed, 3);
      p->inside_class = (int)fixture_random(seed, 3);
      p->between_class = (int)fixture_random(seed, 3);
      p->link_latency_ps = 0;
      p->link_ps_per_byte = 0;
    }
    p->channels = e->channels;
    for (int source = 0; source < ranks; ++source)
      for (int destination = 0; destination < ranks; ++destination)
        if (source != destination && fixture_random(seed, 3) == 0 && p->channel_count < CHANNELS)
          e->channels[p->channel_count++] = (zb_channel){source, destination, (int)fixture_random(seed, 3)};
  }
  if (fixture_random(seed, 2)) {
    p->optimizer_ps = NULL;
    for (int stage = 0; stage < p->stages; ++stage)
      for (int part = 0; part < ZB_OPTIMIZER_PHASES; ++part)
        e->x.costs[stage].optimizer_ps[part] = fixture_random(seed, 8);
  }
  p->reductions = e->reductions;
  p->reduction_count = (int)fixture_random(seed, 6);
  for (int i = 0; i < p->reduction_count; ++i)
    e->reductions[i] =
        (zb_reduction){.stage = (int)fixture_random(seed, p->stages),
                       .after = fixture_random(seed, 2) ? micro_batches - 1 : (int)fixture_random(seed, micro_batches),
                       .bytes = fixture_random(seed, 1000),
                       .time_ps = fixture_random(seed, 60)};
  for (int i = 0; i < p->reduction_count && fixture_random(seed, 3); ++i)
    e->reductions[i].lead_ps = fixture_random(seed, (int)e->x.costs[e->reductions[i].stage].time_ps[ZB_W] + 1);
  p->overlap_slowdown = (double)fixture_random(seed, 2);
}

/* ---- By hand ---- */

static void run(const zb_problem *p, const char *schedule, zb_order *order, zb_simulation *simulation) {
  expect_ok(zb_schedule_run(zb_schedule_find(schedule, NULL), p, order));
  expect_ok(zb_simulate(p, order, simulation));
}

static void release(zb_order *order, zb_simulation *simulation) {
  zb_order_deinit(order);
  zb_simulation_deinit(simulation);
}

/* One rank, one stage, two micro-batches, every job 10 ps. */
static void test_reductions_by_hand(void) {
  fixture x;
  zb_order order;
  zb_simulation s;
  fixture_uniform(&x, "plain", 1, 1, 2, 10, 10, 10, 0, 0.5);
  /* F0 B0 W0 F1 B1 W1: W0 ends at 30, W1 at 60. */
  static const zb_reduction reductions[] = {
      {.stage = 0, .after = 0, .time_ps = 5}, {.stage = 0, .after = 1, .time_ps = 7}, {0, 0, 9, 100, 0}};
  x.problem.reductions = reductions;
  x.problem.reduction_count = 2;
  x.optimizer[0] = 30;
  x.problem.optimizer_ps = x.optimizer;
  run(&x.problem, "1f1b", &order, &s);
  CU_ASSERT_EQUAL(s.jobs[0][5].end_ps, 60);
  CU_ASSERT_EQUAL(s.reductions[0].start_ps, 30);
  CU_ASSERT_EQUAL(s.reductions[0].end_ps, 35);
  CU_ASSERT_EQUAL(s.reductions[1].start_ps, 60);
  CU_ASSERT_EQUAL(s.optimizer_start_ps[0], 67);
  CU_ASSERT_EQUAL(s.step_ps, 97);
  CU_ASSERT_EQUAL(zb_lower_bound_ps(&x.problem), 97);
  CU_ASSERT_EQUAL(zb_lower_bound_stage_ps(&x.problem), 97);
  release(&order, &s);
  /* The third stands behind the second in the list, though it could start at 30. */
  x.problem.reduction_count = 3;
  run(&x.problem, "1f1b", &order, &s);
  CU_ASSERT_EQUAL(s.reductions[2].start_ps, 67);
  CU_ASSERT_EQUAL(s.step_ps, 197);
  CU_ASSERT_EQUAL(zb_lower_bound_ps(&x.problem), 197);
  zb_path path;
  expect_ok(zb_critical_path(&x.problem, &order, &s, &path));
  char *text = zb_path_text(&x.problem, &path, 0);
  CU_ASSERT_PTR_NOT_NULL_FATAL(text);
  CU_ASSERT_STRING_EQUAL(text, "       0.000 ms  rank 0: F, B and W of micro-batches 0-1\n"
                               "       0.000 ms  rank 0: reduction of stage 0\n"
                               "       0.000 ms  rank 0: reduction of stage 0\n"
                               "       0.000 ms  rank 0: optimizer\n");
  zb_free(text);
  zb_path_deinit(&path);
  release(&order, &s);
}

/* What a rank's stages take together, in place of a time a rank. */
static void test_optimizer_by_hand(void) {
  fixture x;
  zb_order order;
  zb_simulation s;
  fixture_uniform(&x, "v", 2, 2, 1, 2, 2, 2, 0, 0.5);
  for (int stage = 0; stage < 4; ++stage)
    for (int part = 0; part < ZB_OPTIMIZER_PHASES; ++part)
      x.costs[stage].optimizer_ps[part] = 100 * stage + part; /* rank 0: stages 0 and 3, rank 1: 1 and 2 */
  run(&x.problem, "gpipe", &order, &s);
  const int64_t end =
      s.optimizer_start_ps[0] > s.optimizer_start_ps[1] ? s.optimizer_start_ps[0] : s.optimizer_start_ps[1];
  CU_ASSERT_EQUAL(s.optimizer_start_ps[0], end);
  CU_ASSERT_EQUAL(s.step_ps, end + 906);
  release(&order, &s);
}

/* Four ranks, nodes of two: 3 ps inside, 20 between; the channel from 3 to 2 is slower than both. */
static void test_classes_by_hand(void) {
  fixture x;
  zb_order order;
  zb_simulation s;
  static const zb_link_class classes[] = {{"inside", 3, 0}, {"between", 10, 1}, {"slow", 50, 0}};
  static const zb_channel channels[] = {{3, 2, 2}};
  fixture_uniform(&x, "plain", 4, 1, 1, 1, 1, 1, 0, 0.5);
  for (int i = 0; i < 3; ++i)
    x.edges[i] = (zb_edge){i, i + 1, 10, 30};
  x.problem.edges = x.edges;
  x.problem.edge_count = 3;
  x.problem.link_classes = classes;
  x.problem.link_class_count = 3;
  x.problem.channels = channels;
  x.problem.channel_count = 1;
  x.problem.node_ranks = 2;
  x.problem.between_class = 1;
  run(&x.problem, "fthenb", &order, &s);
  CU_ASSERT_EQUAL(s.jobs[1][0].start_ps, 1 + 3);
  CU_ASSERT_EQUAL(s.jobs[2][0].start_ps, 5 + 20);
  CU_ASSERT_EQUAL(s.jobs[3][0].start_ps, 26 + 3);
  /* Backwards are whole here: B and W, 2 ps. */
  CU_ASSERT_EQUAL(s.jobs[2][1].start_ps, 32 + 50);
  CU_ASSERT_EQUAL(s.jobs[1][1].start_ps, 84 + 40);
  CU_ASSERT_EQUAL(s.jobs[0][1].start_ps, 126 + 3);
  CU_ASSERT_EQUAL(s.step_ps, 131);
  x.problem.whole_backward = true;
  CU_ASSERT_EQUAL(zb_lower_bound_ps(&x.problem), 131);
  release(&order, &s);
}

/* ---- A simulator of its own: definitions repeated until nothing changes ---- */

enum { MICRO_BATCHES = 8 };
typedef struct naive {
  int64_t end[FIXTURE_STAGES][MICRO_BATCHES][ZB_KIND_COUNT];
  int64_t reduction_end[REDUCTIONS], optimizer_start[FIXTURE_STAGES], step, stage;
} naive;

static int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }

static int64_t naive_message(const zb_problem *p, int source, int destination, int64_t bytes) {
  zb_link_class link = {.latency_ps = p->link_latency_ps, .ps_per_byte = p->link_ps_per_byte};
  if (p->node_ranks > 0)
    link = p->link_classes[source / p->node_ranks == destination / p->node_ranks ? p->inside_class : p->between_class];
  for (int i = 0; i < p->channel_count; ++i)
    if (p->channels[i].source == source && p->channels[i].destination == destination)
      link = p->link_classes[p->channels[i].link_class];
  return link.latency_ps + llround((double)bytes * link.ps_per_byte);
}

/* When the result of a job leaves; that of a whole backward when its W is done. */
static int64_t naive_sent(const naive *n, const zb_order *order, zb_job job) {
  return n->end[job.stage][job.micro_batch][order->whole_backward && job.kind == ZB_B ? ZB_W : job.kind];
}

/* When the message of (stage, kind, micro_batch) to stage `to` is there, behind all that its rank sent that way. */
static int64_t naive_arrival(const naive *n, const zb_problem *p, const zb_order *order, zb_job of, int to) {
  const int source = p->stage_rank[of.stage], destination = p->stage_rank[to];
  int64_t wire = 0;
  if (source == destination) return naive_sent(n, order, of);
  for (int i = 0; i < order->counts[source]; ++i) {
    const zb_job job = order->jobs[source][i];
    for (int k = 0; k < p->edge_count; ++k) {
      const zb_edge edge = p->edges[k];
      const bool forward = job.kind == ZB_F;
      const int from = forward ? edge.source : edge.destination, receiver = forward ? edge.destination : edge.source;
      const int64_t bytes = forward ? edge.forward_bytes : edge.backward_bytes;
      if (job.kind == ZB_W || from != job.stage || p->stage_rank[receiver] != destination || (!forward && !bytes))
        continue;
      wire = most(wire, naive_sent(n, order, job)) + naive_message(p, source, destination, bytes);
      if (job.stage == of.stage && job.kind == of.kind && job.micro_batch == of.micro_batch && receiver == to)
        return wire;
    }
  }
  return wire;
}

static int64_t naive_ready(const naive *n, const zb_problem *p, const zb_order *order, zb_job job) {
  int64_t at = 0;
  for (int k = 0; k < p->edge_count; ++k) {
    const zb_edge edge = p->edges[k];
    if (job.kind == ZB_F && edge.destination == job.stage)
      at = most(at, naive_arrival(n, p, order, (zb_job){edge.source, job.micro_batch, ZB_F}, job.stage));
    if (job.kind == ZB_B && edge.source == job.stage && edge.backward_bytes)
      at = most(at, naive_arrival(n, p, order, (zb_job){edge.destination, job.micro_batch, ZB_B}, job.stage));
  }
  return at;
}

static void naive_finish(naive *n, const zb_problem *p, const zb_order *order) {
  int64_t last = 0, first = INT64_MAX;
  for (int rank = 0; rank < p->ranks; ++rank) {
    int64_t clock = 0, stream = 0, optimizer = p->optimizer_ps ? p->optimizer_ps[rank] : 0;
    for (int i = 0; i < order->counts[rank]; ++i) {
      const zb_job job = order->jobs[rank][i];
      clock = most(clock, n->end[job.stage][job.micro_batch][job.kind]);
    }
    for (int i = 0; i < p->reduction_count; ++i) {
      const zb_reduction *r = &p->reductions[i];
      if (p->stage_rank[r->stage] != rank) continue;
      while (stream < n->end[r->stage][r->after][ZB_W] - r->lead_ps) /* time passes */
        ++stream;
      n->reduction_end[i] = stream += r->time_ps;
    }
    for (int stage = 0; stage < p->stages; ++stage)
      for (int part = 0; part < ZB_OPTIMIZER_PHASES; ++part)
        if (p->stage_rank[stage] == rank) optimizer += p->costs[stage].optimizer_ps[part];
    const zb_job begin = order->jobs[rank][0];
    const int64_t start =
        n->end[begin.stage][begin.micro_batch][begin.kind] - p->costs[begin.stage].time_ps[begin.kind];
    n->optimizer_start[rank] = most(clock, stream);
    last = most(last, n->optimizer_start[rank] + optimizer);
    first = start < first ? start : first;
    n->stage = most(n->stage, n->optimizer_start[rank] + optimizer - start);
  }
  n->step = last - first;
}

static void naive_simulate(naive *n, const zb_problem *p, const zb_order *order) {
  memset(n, 0, sizeof *n);
  for (bool changed = true; changed;) {
    changed = false;
    for (int rank = 0; rank < p->ranks; ++rank) {
      int64_t clock = 0;
      for (int i = 0; i < order->counts[rank]; ++i) {
        const zb_job job = order->jobs[rank][i];
        int64_t *end = &n->end[job.stage][job.micro_batch][job.kind];
        clock = most(clock, naive_ready(n, p, order, job)) + p->costs[job.stage].time_ps[job.kind];
        changed |= *end != clock;
        *end = clock;
      }
    }
  }
  naive_finish(n, p, order);
}

static void check_against_naive(const zb_problem *p, const zb_order *order) {
  static naive n;
  zb_simulation s;
  int different = 0;
  naive_simulate(&n, p, order);
  expect_ok(zb_simulate(p, order, &s));
  for (int rank = 0; rank < order->ranks; ++rank) {
    different += s.optimizer_start_ps[rank] != n.optimizer_start[rank];
    for (int i = 0; i < order->counts[rank]; ++i) {
      const zb_job job = order->jobs[rank][i];
      different += s.jobs[rank][i].end_ps != n.end[job.stage][job.micro_batch][job.kind];
    }
  }
  for (int i = 0; i < p->reduction_count; ++i)
    different += s.reductions[i].end_ps != n.reduction_end[i] ||
                 s.reductions[i].end_ps - s.reductions[i].start_ps != p->reductions[i].time_ps;
  CU_ASSERT_EQUAL(different, 0);
  CU_ASSERT_EQUAL(s.step_ps, n.step);
  CU_ASSERT_EQUAL(s.stage_ps, n.stage);
  CU_ASSERT(zb_lower_bound_ps(p) <= s.step_ps);
  CU_ASSERT(zb_lower_bound_stage_ps(p) <= s.stage_ps);
  zb_path path;
  expect_ok(zb_critical_path(p, order, &s, &path));
  int64_t at = 0;
  for (int i = 0; i < path.count; at = path.steps[i++].end_ps)
    CU_ASSERT_EQUAL(path.steps[i].start_ps, at);
  CU_ASSERT_EQUAL(at, s.step_ps);
  zb_path_deinit(&path);
  zb_simulation_deinit(&s);
}

static void test_against_naive(void) {
  static const struct {
    const char *name;
    int chunks;
  } placements[] = {{"plain", 1}, {"looped", 2}, {"v", 2}, {"wave", 3}};
  uint64_t seed = 17;
  for (int round = 0; round < 300; ++round) {
    extended e;
    zb_order order;
    const int kind = (int)fixture_random(&seed, 4);
    draw(&e, &seed, placements[kind].name, 1 + (int)fixture_random(&seed, 4), placements[kind].chunks,
         1 + (int)fixture_random(&seed, 5));
    random_order(&e.x.problem, &seed, &order);
    expect_ok(zb_order_validate(&e.x.problem, &order));
    check_against_naive(&e.x.problem, &order);
    /* W that move forward make no rank end later, what its reductions wait for included. */
    static naive before, after;
    naive_simulate(&before, &e.x.problem, &order);
    expect_ok(zb_order_advance_w(&e.x.problem, &order));
    naive_simulate(&after, &e.x.problem, &order);
    for (int rank = 0; rank < e.x.problem.ranks; ++rank)
      CU_ASSERT(after.optimizer_start[rank] <= before.optimizer_start[rank]);
    zb_order_deinit(&order);
  }
}

/* Every schedule that takes the problem gives a valid order. The search is not worse than any; what it says its order
 * takes is what that takes; its bound is no higher. */
static void test_schedules(void) {
  static const struct {
    const char *name;
    int chunks, ranks;
  } placements[] = {{"plain", 1, 4}, {"v", 2, 3}, {"looped", 2, 3}, {"v", 2, 8}};
  uint64_t seed = 23;
  for (int round = 0; round < 24; ++round) {
    extended e;
    zb_problem *p = &e.x.problem;
    draw(&e, &seed, placements[round % 4].name, placements[round % 4].ranks, placements[round % 4].chunks, 6);
    p->metric = round % 3 ? ZB_METRIC_BARRIER : ZB_METRIC_STAGE;
    p->whole_backward = round % 5 == 0;
    zb_order best;
    zb_search_report report;
    const zb_search_params params = {.budget = 400};
    expect_ok(zb_search(p, &params, &best, &report));
    check_against_naive(p, &best);
    static naive n;
    naive_simulate(&n, p, &best);
    CU_ASSERT_EQUAL(report.best_ps, p->metric == ZB_METRIC_STAGE ? n.stage : n.step);
    CU_ASSERT(report.bound_ps <= report.best_ps);
    zb_order_deinit(&best);
    for (int i = 0; i < zb_schedule_count(); ++i) {
      const zb_schedule_def *schedule = zb_schedule_at(i);
      zb_order order;
      if (schedule->searches || schedule->two_pipelines) continue;
      zb_status status = zb_schedule_run(schedule, p, &order);
      zb_simulation s;
      if (!status) {
        expect_ok(zb_simulate(p, &order, &s));
        CU_ASSERT(report.best_ps <= (p->metric == ZB_METRIC_STAGE ? s.stage_ps : s.step_ps));
        release(&order, &s);
      } else {
        CU_ASSERT_EQUAL(zb_status_code(status), ZB_USAGE);
      }
      zb_status_free(status);
    }
  }
}

/* ---- All orders ---- */

typedef struct all_orders {
  const zb_problem *problem;
  zb_order order;
  bool done[64];
  int64_t step, stage;
} all_orders;

static void visit(all_orders *a, int rank) {
  const zb_problem *p = a->problem;
  if (rank == p->ranks) {
    zb_simulation s;
    zb_status status = zb_simulate(p, &a->order, &s);
    if (!status && s.step_ps < a->step) a->step = s.step_ps;
    if (!status && s.stage_ps < a->stage) a->stage = s.stage_ps;
    zb_status_free(status);
    zb_simulation_deinit(&s);
    return;
  }
  if (a->order.counts[rank] == p->stages / p->ranks * p->micro_batches * ZB_KIND_COUNT) {
    visit(a, rank + 1);
    return;
  }
  for (int number = 0; number < p->stages * p->micro_batches * ZB_KIND_COUNT; ++number) {
    const int stage = number / ZB_KIND_COUNT / p->micro_batches, kind = number % ZB_KIND_COUNT;
    const int micro_batch = number / ZB_KIND_COUNT % p->micro_batches;
    if (p->stage_rank[stage] != rank || a->done[number] || (kind != ZB_F && !a->done[number - 1])) continue;
    if (kind == ZB_W && micro_batch > 0 && !a->done[number - ZB_KIND_COUNT]) continue;
    a->done[number] = true;
    expect_ok(zb_order_add(&a->order, rank, stage, (zb_kind)kind, micro_batch));
    visit(a, rank);
    --a->order.counts[rank];
    a->done[number] = false;
  }
}

/* The exact search on its own, with no order to start from. */
static int64_t best_by_exact_search(const zb_problem *p) {
  zb_model model;
  zb_scheduler w;
  expect_ok(zb_model_init(p, &model));
  expect_ok(zb_scheduler_init(&model, &w));
  int64_t *limit = calloc((size_t)w.ranks, sizeof *limit);
  zb_slot *sequence = calloc(w.jobs, sizeof *sequence);
  for (int rank = 0; rank < w.ranks; ++rank)
    limit[rank] = INT64_MAX / 2;
  zb_exact_result result;
  expect_ok(zb_exact_search(&w, &(zb_exact_params){.limit = limit, .known_ps = INT64_MAX, .states = 500000}, sequence,
                            &result));
  CU_ASSERT(result.is_complete);
  free(limit);
  free(sequence);
  zb_model_deinit(&model);
  return result.best_ps;
}

/* The bound is never above the best of all orders, and a search that says it is proven has found that. */
static void test_all_orders(void) {
  static const struct {
    const char *placement;
    int ranks, chunks, micro_batches, rounds;
  } rows[] = {{"plain", 1, 1, 3, 40}, {"plain", 2, 1, 1, 40},  {"plain", 2, 1, 2, 100},
              {"v", 2, 2, 1, 15},     {"looped", 2, 2, 1, 15}, {"looped", 1, 2, 2, 1}};
  uint64_t seed = 31;
  int proven = 0, by_reductions = 0;
  for (size_t row = 0; row < sizeof rows / sizeof *rows; ++row)
    for (int round = 0; round < rows[row].rounds; ++round) {
      extended e;
      zb_problem *p = &e.x.problem;
      draw(&e, &seed, rows[row].placement, rows[row].ranks, rows[row].chunks, rows[row].micro_batches);
      all_orders a = {.problem = p, .step = INT64_MAX, .stage = INT64_MAX};
      expect_ok(zb_order_init(&a.order, p->ranks));
      visit(&a, 0);
      zb_order_deinit(&a.order);
      const int64_t bound = zb_lower_bound_ps(p);
      CU_ASSERT(bound <= a.step);
      CU_ASSERT(zb_lower_bound_stage_ps(p) <= a.stage);
      zb_problem without = *p;
      without.reduction_count = 0;
      CU_ASSERT(zb_lower_bound_ps(&without) <= bound);
      p->metric = ZB_METRIC_BARRIER;
      CU_ASSERT_EQUAL(best_by_exact_search(p), a.step);
      by_reductions += zb_lower_bound_ps(&without) < bound;
      for (int metric = 0; metric < 2; ++metric) {
        zb_order order;
        zb_search_report report;
        p->metric = metric ? ZB_METRIC_STAGE : ZB_METRIC_BARRIER;
        expect_ok(zb_search(p, NULL, &order, &report));
        if (!metric && strstr(report.summary, "all orders were tried")) CU_ASSERT_EQUAL(report.best_ps, a.step);
        if (report.proven) CU_ASSERT_EQUAL(report.best_ps, metric ? a.stage : a.step);
        CU_ASSERT(report.best_ps >= (metric ? a.stage : a.step));
        proven += report.proven;
        zb_order_deinit(&order);
      }
    }
  CU_ASSERT(proven > 200);
  CU_ASSERT(by_reductions > 40);
}

/* ---- JSON ---- */

static zb_status parse(const char *text, zb_problem_data *out) {
  return zb_problem_parse(text, strlen(text), "p.json", out);
}

static void test_round_trip(void) {
  uint64_t seed = 41;
  for (int round = 0; round < 200; ++round) {
    extended e;
    zb_problem_data data, copy;
    draw(&e, &seed, "looped", 1 + (int)fixture_random(&seed, 4), 2, 3);
    char *text = zb_problem_json(&e.x.problem);
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    expect_ok(parse(text, &data));
    const zb_problem *a = &e.x.problem, *b = &data.problem;
    CU_ASSERT_EQUAL(a->link_class_count, b->link_class_count);
    CU_ASSERT_EQUAL(a->channel_count, b->channel_count);
    CU_ASSERT_EQUAL(a->reduction_count, b->reduction_count);
    for (int i = 0; i < a->link_class_count; ++i)
      CU_ASSERT(!memcmp(&a->link_classes[i], &b->link_classes[i], sizeof *a->link_classes));
    for (int i = 0; i < a->channel_count; ++i)
      CU_ASSERT(!memcmp(&a->channels[i], &b->channels[i], sizeof *a->channels));
    for (int i = 0; i < a->reduction_count; ++i)
      CU_ASSERT(!memcmp(&a->reductions[i], &b->reductions[i], sizeof *a->reductions));
    for (int i = 0; i < a->stages; ++i)
      CU_ASSERT(!memcmp(&a->costs[i], &b->costs[i], sizeof *a->costs));
    CU_ASSERT_EQUAL(a->node_ranks, b->node_ranks);
    CU_ASSERT(!a->node_ranks || (a->inside_class == b->inside_class && a->between_class == b->between_class));
    CU_ASSERT_DOUBLE_EQUAL(a->overlap_slowdown, b->overlap_slowdown, 0);
    expect_ok(zb_problem_data_copy(&copy, b));
    zb_problem_data_deinit(&data);
    char *again = zb_problem_json(&copy.problem);
    CU_ASSERT_STRING_EQUAL(text, again);
    zb_free(again);
    zb_problem_data_deinit(&copy);
    zb_free(text);
  }
}

static void test_short_forms(void) {
  zb_problem_data data;
  expect_ok(parse("{\"ranks\": 2, \"micro_batches\": 4,"
                  " \"stages\": {\"time_ms\": [2, 2, 1], \"optimizer_ms\": [0.1, 0.2, 0.3]},"
                  " \"link_classes\": [{\"name\": \"in\"}, {\"name\": \"out\", \"bytes_per_second\": 1e9}],"
                  " \"nodes\": {\"ranks\": 1, \"inside\": \"in\", \"between\": \"out\"},"
                  " \"reductions\": [{\"stage\": 1, \"time_ms\": 2}], \"overlap_slowdown\": 1.0}",
                  &data));
  CU_ASSERT_EQUAL(data.reductions[0].after, 3);
  CU_ASSERT_EQUAL(data.reductions[0].time_ps, 2000000000);
  CU_ASSERT_EQUAL(data.costs[1].optimizer_ps[ZB_OPTIMIZER_UPDATE], 300000000);
  CU_ASSERT_EQUAL(data.problem.between_class, 1);
  CU_ASSERT_DOUBLE_EQUAL(data.link_classes[1].ps_per_byte, 1000, 0);
  zb_problem_data_deinit(&data);
}

#define GOOD "{\"ranks\": 2, \"micro_batches\": 4, \"stages\": {\"time_ms\": [2, 2, 1]}, "
#define CLASSES "\"link_classes\": [{\"name\": \"in\"}, {\"name\": \"out\"}], "
static const struct {
  const char *text, *message;
} bad[] = {
    {GOOD "\"reductions\": 3}", "reductions: expected a list of reductions, got 3"},
    {GOOD "\"reductions\": [3]}", "reductions[0]: expected an object, got 3"},
    {GOOD "\"reductions\": [{\"time_ms\": 1}]}", "reductions[0].stage: expected this key, it is missing"},
    {GOOD "\"reductions\": [{\"stage\": 1}]}", "reductions[0]: expected time_ms or time_ps, both are missing\n  hint:"},
    {GOOD "\"reductions\": [{\"stage\": 1, \"time_ms\": 1, \"time_ps\": 1}]}",
     "reductions[0].time_ps: expected this or time_ms, got both"},
    {GOOD "\"reductions\": [{\"stage\": 2, \"time_ms\": 1}]}",
     "reductions[0].stage: expected 0 to 1, got 2\n  note: in p.json"},
    {GOOD "\"reductions\": [{\"stage\": -1, \"time_ms\": 1}]}", "reductions[0].stage: expected a whole number of 0 to"},
    {GOOD "\"reductions\": [{\"stage\": 99999999999, \"time_ms\": 1}]}",
     "reductions[0].stage: expected a whole number"},
    {GOOD "\"reductions\": [{\"stage\": 1, \"after\": 4, \"time_ms\": 1}]}",
     "reductions[0].after: expected a micro-batch of 0 to 3, got 4"},
    {GOOD "\"reductions\": [{\"stage\": 1, \"bytes\": -4, \"time_ms\": 1}]}", "reductions[0].bytes: expected a whole"},
    {GOOD "\"reductions\": [{\"stage\": 1, \"time_ms\": -1}]}", "reductions[0].time_ms: expected a number of 0 to"},
    {GOOD "\"reductions\": [{\"stage\": 1, \"time_ps\": 4e18}, {\"stage\": 1, \"time_ps\": 4e18}]}",
     "reductions[1].time_ps: expected 0 or more, and all times together at most"},
    {GOOD "\"reductions\": [{\"stage\": 1, \"afer\": 1}]}", "reductions[0]: unknown key 'afer', did you mean 'after'?"},
    {GOOD "\"overlap_slowdown\": 0.5}", "overlap_slowdown: expected a number of 1 or more, got 0.5"},
    {GOOD "\"overlap_slowdown\": 1.2}", "overlap_slowdown: only 1 is simulated so far, got 1.2\n  note: in p.json"},
    {GOOD "\"overlap_slowdown\": \"1\"}", "overlap_slowdown: expected a number of 1 or more, got \"1\""},
    {GOOD "\"link_classes\": {}}", "link_classes: expected a list of link classes, got"},
    {GOOD "\"link_classes\": [{}]}", "link_classes[0].name: expected this key"},
    {GOOD "\"link_classes\": [{\"name\": 3}]}", "link_classes[0].name: expected a name of 1 to 47 characters, got 3"},
    {GOOD "\"link_classes\": [{\"name\": \"\"}]}", "link_classes[0].name: expected 1 to 47 printable characters"},
    {GOOD "\"link_classes\": [{\"name\": \"a\\\"\"}]}", "link_classes[0].name: expected 1 to 47 printable characters"},
    {GOOD "\"link_classes\": [{\"name\": \"a\"}, {\"name\": \"a\"}]}",
     "link_classes[1].name: 'a' is the name of link_classes[0] too"},
    {GOOD "\"link_classes\": [{\"name\": \"a\", \"latency_ms\": -1}]}",
     "link_classes[0].latency_ms: expected a number of 0 to"},
    {GOOD "\"link_classes\": [{\"name\": \"a\", \"bytes_per_second\": 0}]}",
     "link_classes[0].bytes_per_second: expected a number above 0"},
    {GOOD "\"link_classes\": [{\"name\": \"a\", \"bytes_per_second\": 1e-300}]}",
     "link_classes[0].ps_per_byte: expected a finite number"},
    {GOOD CLASSES "\"nodes\": {\"ranks\": 0, \"inside\": \"in\", \"between\": \"out\"}}",
     "nodes.ranks: expected a whole number of 1 to"},
    {GOOD CLASSES "\"nodes\": {\"ranks\": 2, \"inside\": \"in\"}}", "nodes.between: expected this key, it is missing"},
    {GOOD CLASSES "\"nodes\": {\"ranks\": 2, \"inside\": \"in\", \"between\": \"on\"}}",
     "nodes.between: expected the name of one of the 2 link classes, got \"on\"\n  hint: link_classes lists them"},
    {GOOD CLASSES "\"link\": {}, \"nodes\": {\"ranks\": 2, \"inside\": \"in\", \"between\": \"out\"}}",
     "nodes: expected this or link, got both"},
    {GOOD CLASSES "\"channels\": [{\"source\": 0, \"destination\": 2, \"class\": \"in\"}]}",
     "channels[0]: expected two ranks of 0..1, got 0 -> 2"},
    {GOOD CLASSES "\"channels\": [{\"source\": 1, \"destination\": 1, \"class\": \"in\"}]}", "got 1 -> 1"},
    {GOOD CLASSES "\"channels\": [{\"source\": 0, \"destination\": 1, \"class\": 0}]}",
     "channels[0].class: expected the name of one of the 2 link classes, got 0"},
    {GOOD "\"channels\": [{\"source\": 0, \"destination\": 1, \"class\": \"in\"}]}",
     "channels[0].class: expected the name of one of the 0 link classes"},
    {GOOD CLASSES "\"channels\": [{\"source\": 0, \"destination\": 1, \"class\": \"in\"},"
                  " {\"source\": 0, \"destination\": 1, \"class\": \"out\"}]}",
     "channels[1]: 0 -> 1 is given twice"},
    {"{\"ranks\": 2, \"micro_batches\": 4, \"optimizer_ps\": [0, 5],"
     " \"stages\": {\"time_ms\": [2, 2, 1], \"optimizer_ps\": [1, 0, 0]}}",
     "rank 1: optimizer_ps: expected 0 where stages have optimizer times, got 5"},
    {"{\"ranks\": 2, \"micro_batches\": 4, \"stages\": {\"time_ms\": [2, 2, 1], \"optimizer_ps\": [1, 0]}}",
     "stages.optimizer_ps: expected a list of 3 numbers, got a list of 2"},
    {"{\"ranks\": 2, \"micro_batches\": 4, \"stages\": {\"time_ms\": [2, 2, 1], \"optimizer_ms\": [1, -1, 0]}}",
     "stages.optimizer_ms[1]: expected a number of 0 to"},
    {"{\"ranks\": 2, \"micro_batches\": 4, \"stages\": {\"time_ms\": [2, 2, 1], \"optimizer_ps\": [4e18, 4e18, 0]}}",
     "stage 0: optimizer_ps[1]: expected 0 or more, and all times together at most"},
};

static void test_errors(void) {
  for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
    zb_problem_data data;
    expect_status(parse(bad[i].text, &data), ZB_INVALID, bad[i].message);
    CU_ASSERT_PTR_NULL(data.costs);
  }
}

/* What JSON cannot say, but a program can. */
#define EXPECT(change, part)                                                                                           \
  do {                                                                                                                 \
    uint64_t fresh = 7;                                                                                                \
    draw(&e, &fresh, "plain", 4, 1, 3);                                                                                \
    e.x.problem.reduction_count = 1;                                                                                   \
    e.x.problem.link_classes = e.classes;                                                                              \
    e.x.problem.channels = e.channels;                                                                                 \
    e.x.problem.link_class_count = 2;                                                                                  \
    e.x.problem.node_ranks = e.x.problem.inside_class = e.x.problem.between_class = e.x.problem.channel_count = 0;     \
    e.classes[0] = (zb_link_class){.name = "a"};                                                                       \
    e.classes[1] = (zb_link_class){.name = "b"};                                                                       \
    e.reductions[0] = (zb_reduction){.stage = 1};                                                                      \
    expect_ok(zb_problem_check(&e.x.problem));                                                                         \
    change;                                                                                                            \
    expect_status(zb_problem_check(&e.x.problem), ZB_INVALID, part);                                                   \
  } while (0)

static void test_rejected(void) {
  static extended e;
  zb_problem *p = &e.x.problem;
  EXPECT(p->reduction_count = -1, "reduction_count: expected 0 or more, got -1");
  EXPECT(e.reductions[0].bytes = -1, "reductions[0].bytes: expected 0 or more, got -1");
  EXPECT(e.reductions[0].lead_ps = -1, "reductions[0].lead_ps: expected 0 to ");
  EXPECT(e.reductions[0].lead_ps = INT64_MAX, "the time of W, got 9223372036854775807");
  EXPECT(e.reductions[0].time_ps = -1, "reductions[0].time_ps: expected 0 or more");
  EXPECT(e.reductions[0].after = -1, "reductions[0].after: expected a micro-batch of 0 to 2, got -1");
  EXPECT(p->overlap_slowdown = -1, "overlap_slowdown: expected 1 or more, got -1");
  EXPECT(p->overlap_slowdown = nan(""), "overlap_slowdown: expected 1 or more");
  EXPECT(p->overlap_slowdown = 1.25, "overlap_slowdown: only 1 is simulated so far, got 1.25");
  EXPECT(p->link_class_count = -1, "link_classes: expected at most 256, got -1");
  EXPECT(p->link_class_count = 257, "link_classes: expected at most 256, got 257");
  EXPECT(e.classes[1].latency_ps = -1, "link_classes[1].latency_ps: expected 0 or more, got -1");
  EXPECT(e.classes[1].ps_per_byte = -1, "link_classes[1].ps_per_byte: expected a finite number");
  EXPECT(memset(e.classes[1].name, 'x', sizeof e.classes[1].name), "link_classes[1].name: expected 1 to 47");
  EXPECT(p->node_ranks = -1, "node_ranks: expected 0 (no nodes) or more, got -1");
  EXPECT((p->node_ranks = 2, p->inside_class = 2), "inside_class: expected one of the 2 link classes, got 2");
  EXPECT((p->node_ranks = 2, p->between_class = -1), "between_class: expected one of the 2 link classes, got -1");
  EXPECT((p->node_ranks = 2, p->link_latency_ps = 1), "link: expected none beside nodes");
  EXPECT(p->channel_count = -1, "channel_count: expected 0 or more, got -1");
  EXPECT((p->channel_count = 1, e.channels[0] = (zb_channel){0, 1, 2}), "channels[0].class: expected one of the 2");
  EXPECT((p->channel_count = 1, e.channels[0] = (zb_channel){-1, 1, 1}), "channels[0]: expected two ranks of 0..3");
  EXPECT(e.x.costs[2].optimizer_ps[0] = -1, "stage 2: optimizer_ps[0]: expected 0 or more");
}

int main(void) {
  static const CU_TestInfo tests[] = {{"reductions by hand", test_reductions_by_hand},
                                      {"optimizer of stages by hand", test_optimizer_by_hand},
                                      {"classes of links by hand", test_classes_by_hand},
                                      {"second simulator, random orders", test_against_naive},
                                      {"schedules and search", test_schedules},
                                      {"all orders of small problems", test_all_orders},
                                      {"JSON written and read", test_round_trip},
                                      {"JSON short forms", test_short_forms},
                                      {"JSON errors", test_errors},
                                      {"rejected problems", test_rejected},
                                      CU_TEST_INFO_NULL};
  return run_suite("second clock", tests);
}
