/* The promises of the search, tried on problems that are drawn at random: stages of random times and memory (even,
 * uneven, one that is heavier, edges that skip stages), messages, base memory, 2 to 64 ranks, micro-batches fewer and
 * more than ranks and no multiple of them.
 *
 *   zb-bench-draws [SEED [COUNT [JOBS [BUDGET...]]]]
 *
 * Each draw takes one order of every schedule of the table, at a random limit and with random options, and searches
 * with no more memory than that order takes: for all ranks, a byte more, some bytes more, and what each rank takes.
 * Then it raises the limit, and the budget, step by step. An answer that is worse than the order, or than the one
 * before, is printed as a problem that zb-sched --problem reads. JOBS: the most of a problem [20000]; BUDGET: drawn
 * from these [1 10 50 100 1000 0]. A table at the end; exit status 1 where anything was worse, or took longer than
 * SLOW_SECONDS. Built by hand (target zb-bench-draws); never a test: search_test.c has a part of it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "zb/schedule.h"

/* A search takes no longer than this by default. */
enum { SLOW_SECONDS = 10 };
enum { STAGES_MAX = 1024, RANKS_MAX = 64, BUDGETS_MAX = 16 };

typedef struct drawn {
  zb_problem problem;
  int stage_rank[STAGES_MAX];
  zb_stage_cost costs[STAGES_MAX];
  zb_edge edges[2 * STAGES_MAX];
  int64_t base[RANKS_MAX], limits[RANKS_MAX];
} drawn;

/* What was tried of one kind, and how many were worse. */
typedef struct tally {
  int tried, worse, slow;
  double longest; /* s of one search */
} tally;
typedef enum kept_promise {
  AT_PEAK,
  AT_BYTE,
  AT_MORE,
  AT_RANKS,
  AT_RANKS_BYTE,
  MORE_MEMORY,
  MORE_BUDGET,
  PROMISES
} kept_promise;
static const char *const promise_text[PROMISES] = {
    "the peak of an order",       "a byte more than it", "some bytes more", "the peak of each rank",
    "a byte more than each rank", "more memory",         "a larger budget"};

typedef struct draws {
  uint64_t random;
  int64_t jobs_most, budgets[BUDGETS_MAX];
  int budget_count;
  tally tallies[PROMISES];
} draws;

static double seconds(void) { return (double)clock() / CLOCKS_PER_SEC; }

/* splitmix64 (Steele, Lea, Flood 2014). */
static int64_t draw(draws *d, int64_t below) {
  uint64_t x = d->random += UINT64_C(0x9E3779B97F4A7C15);
  x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
  x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
  return (int64_t)((x ^ (x >> 31)) % (uint64_t)below);
}

/* ---- Problems ---- */

static void draw_costs(draws *d, drawn *x, int chunks) {
  enum { EVEN, UNEVEN, HEAVY } shape = (int)draw(d, 3);
  const int64_t scale = draw(d, 2) ? 1000 : 7, stages = x->problem.stages, heavy = draw(d, 2) ? stages - 1 : 0;
  const int64_t times[] = {(60 + draw(d, 140)) * scale / chunks, (60 + draw(d, 140)) * scale / chunks,
                           draw(d, 140) * scale / chunks};
  const int64_t unit = 1000 + draw(d, INT64_C(1) << (1 + draw(d, 24))), w_share = draw(d, 101);
  const int64_t skew = 10 + draw(d, 90);
  for (int64_t stage = 0; stage < stages; ++stage) {
    zb_stage_cost *cost = &x->costs[stage];
    const bool is_heavy = shape == HEAVY && stage == heavy;
    for (int kind = 0; kind < ZB_KIND_COUNT; ++kind)
      cost->time_ps[kind] = times[kind] + (shape == UNEVEN ? times[kind] * draw(d, skew + 1) / 100 : 0) +
                            (is_heavy ? times[kind] * 44 / 100 : 0);
    const int64_t kept = unit + (shape == UNEVEN ? draw(d, unit * skew / 100 + 1) : is_heavy ? unit / 3 : 0);
    const int64_t until_w = kept * (shape == UNEVEN ? draw(d, 101) : w_share) / 100;
    const int64_t gradients = shape == UNEVEN && draw(d, 3) == 0 ? draw(d, unit) : 0;
    cost->keep_bytes[ZB_F] = kept;
    cost->keep_bytes[ZB_B] = gradients;
    cost->free_bytes[ZB_B] = kept - until_w;
    cost->free_bytes[ZB_W] = until_w + gradients;
  }
  x->problem.link_latency_ps = draw(d, 2) ? draw(d, times[0] / 4 + 1) : 0;
}

static void draw_edges(draws *d, drawn *x) {
  int count = 0;
  for (int stage = 0; stage + 1 < x->problem.stages; ++stage) {
    x->edges[count++] = (zb_edge){stage, stage + 1, draw(d, 8), 1 + draw(d, 8)};
    if (stage + 2 < x->problem.stages && draw(d, 8) == 0)
      x->edges[count++] =
          (zb_edge){stage, stage + 2 + (int)draw(d, x->problem.stages - stage - 2), draw(d, 8), 1 + draw(d, 8)};
  }
  x->problem.edges = x->edges;
  x->problem.edge_count = count;
  x->problem.link_ps_per_byte = (double)draw(d, 4) * 100;
}

static int draw_size(draws *d, int chunks, int *ranks) {
  static const int sizes[] = {2, 3, 4, 5, 7, 8, 13, 16, 24, 32, 48, 64};
  do
    *ranks = sizes[draw(d, sizeof sizes / sizeof *sizes)];
  while (INT64_C(3) * chunks * *ranks > d->jobs_most);
  const int64_t most = d->jobs_most / (INT64_C(3) * chunks * *ranks);
  const int64_t wanted = draw(d, 4) ? *ranks + draw(d, 3 * *ranks) : 1 + draw(d, *ranks);
  return (int)(wanted < most ? wanted : most);
}

static zb_status draw_problem(draws *d, const zb_schedule_def *schedule, drawn *x) {
  const int most = schedule->chunks_max < 1 ? 8 : schedule->chunks_max;
  const int least = schedule->chunks_min;
  const int chunks = least + (int)draw(d, (most < least + 7 ? most - least : 7) + 1);
  const char *placement = chunks == 1 ? "plain" : schedule->placement;
  int ranks;
  memset(x, 0, sizeof *x);
  x->problem.micro_batches = draw_size(d, chunks, &ranks);
  x->problem.ranks = ranks;
  x->problem.stages = ranks * chunks;
  x->problem.stage_rank = x->stage_rank;
  x->problem.costs = x->costs;
  x->problem.metric = draw(d, 2) ? ZB_METRIC_STAGE : ZB_METRIC_BARRIER;
  draw_costs(d, x, chunks);
  if (draw(d, 4) == 0) draw_edges(d, x);
  if (draw(d, 4) == 0) {
    for (int rank = 0; rank < ranks; ++rank)
      x->base[rank] = draw(d, 4 * x->costs[0].keep_bytes[ZB_F]);
    x->problem.base_bytes = x->base;
  }
  return zb_placement(placement, ranks, chunks, x->stage_rank);
}

/* Between half and three times what 1F1B needs of a rank, about; or no limit. */
static int64_t draw_limit(draws *d, const drawn *x) {
  int64_t unit = 0;
  const int chunks = x->problem.stages / x->problem.ranks;
  for (int stage = 0; stage < chunks; ++stage)
    unit += x->costs[stage].keep_bytes[ZB_F];
  return draw(d, 5) == 0 ? 0 : unit * x->problem.ranks * (50 + draw(d, 250)) / 100 + draw(d, unit + 1);
}

/* ---- What is promised ---- */

static int64_t time_of(const zb_problem *problem, const zb_order *order) {
  zb_simulation simulation;
  zb_status status = zb_simulate(problem, order, &simulation);
  if (status) {
    fputs(zb_status_text(status), stderr);
    exit(zb_status_exit(status));
  }
  const int64_t time = problem->metric == ZB_METRIC_STAGE ? simulation.stage_ps : simulation.step_ps;
  zb_simulation_deinit(&simulation);
  return time;
}

/* Writes a problem for zb-sched --problem; the file, until the next call. */
static const char *keep(const zb_problem *problem) {
  static char path[32];
  static int number;
  snprintf(path, sizeof path, "draw%d.json", number++);
  zb_status_free(zb_problem_write(problem, path));
  return path;
}

static void report_slow(draws *d, kept_promise promise, const zb_problem *problem, int64_t budget, double taken) {
  tally *t = &d->tallies[promise];
  if (taken > t->longest) t->longest = taken;
  if (taken <= SLOW_SECONDS) return;
  ++t->slow;
  printf("SLOW at %s: search:budget=%" PRId64 " takes %.1f s; p %d m %d, %d stages: %s\n", promise_text[promise],
         budget, taken, problem->ranks, problem->micro_batches, problem->stages, keep(problem));
  fflush(stdout);
}

/* The answer of a search: INT64_MAX where none fits. */
static int64_t search(draws *d, kept_promise promise, const zb_problem *problem, int64_t budget) {
  const zb_search_params params = {.budget = budget};
  zb_order order;
  const double start = seconds();
  zb_status status = zb_search(problem, &params, &order, NULL);
  report_slow(d, promise, problem, budget, seconds() - start);
  int64_t time = INT64_MAX;
  if (!status) {
    time = time_of(problem, &order);
    zb_order_deinit(&order);
  } else if (zb_status_code(status) != ZB_INFEASIBLE) {
    fputs(zb_status_text(status), stderr);
    exit(zb_status_exit(status));
  }
  zb_status_free(status);
  return time;
}

static void judge(draws *d, kept_promise promise, const zb_problem *problem, const char *what, int64_t budget,
                  int64_t found, int64_t known) {
  tally *t = &d->tallies[promise];
  ++t->tried;
  if (found <= known) return;
  ++t->worse;
  printf("WORSE at %s: %s %" PRId64 " ps, search:budget=%" PRId64 " %" PRId64 " (%.4f); p %d m %d, %s metric: %s\n",
         promise_text[promise], what, known, budget, found, (double)found / (double)known, problem->ranks,
         problem->micro_batches, problem->metric == ZB_METRIC_STAGE ? "stage" : "barrier", keep(problem));
  fflush(stdout);
}

/* With what an order takes the search is as good. */
static void check_order(draws *d, drawn *x, const char *what, const zb_order *order) {
  int64_t peaks[RANKS_MAX], most = 0;
  const int64_t known = time_of(&x->problem, order), budget = d->budgets[draw(d, d->budget_count)];
  zb_problem problem = x->problem;
  zb_order_peaks(&problem, order, peaks);
  for (int rank = 0; rank < problem.ranks; ++rank)
    most = peaks[rank] > most ? peaks[rank] : most;
  const int64_t more[] = {0, 1, 1 + draw(d, most / 20 + 1)};
  const int which = (int)draw(d, 3);
  problem.memory_limit_bytes = most + more[which];
  judge(d, (kept_promise)which, &problem, what, budget, search(d, (kept_promise)which, &problem, budget), known);
  const int byte = (int)draw(d, 2);
  for (int rank = 0; rank < problem.ranks; ++rank)
    x->limits[rank] = peaks[rank] + byte;
  problem.rank_limit_bytes = x->limits;
  judge(d, AT_RANKS + byte, &problem, what, budget, search(d, AT_RANKS + byte, &problem, budget), known);
}

/* The schedule, with a random value of some of its options. */
static void draw_options(draws *d, const zb_schedule_def *schedule, char text[128]) {
  int length = snprintf(text, 128, "%s", schedule->name);
  char separator = ':';
  for (int i = 0; schedule->options && schedule->options[i].name; ++i) {
    const zb_schedule_option *option = &schedule->options[i];
    const int64_t most = option->most < option->least + 300 ? option->most : option->least + 300;
    if (draw(d, 2)) continue;
    length += snprintf(text + length, 128 - (size_t)length, "%c%s=%" PRId64, separator, option->name,
                       option->least + draw(d, most - option->least + 1));
    separator = ',';
  }
}

static zb_status check_schedule(draws *d, const zb_schedule_def *schedule, drawn *x) {
  zb_schedule_choice choice;
  char text[128];
  zb_order order;
  draw_options(d, schedule, text);
  ZB_TRY(zb_schedule_parse(text, &choice));
  zb_status status = zb_schedule_run_choice(&choice, &x->problem, &order);
  if (!status) check_order(d, x, text, &order);
  zb_status_free(status); /* a rule that is not defined for the problem, or does not fit */
  zb_order_deinit(&order);
  return NULL;
}

/* Limits that rise, of all ranks alike. */
static void check_memory(draws *d, const drawn *x) {
  zb_problem problem = x->problem;
  const int64_t budget = d->budgets[draw(d, d->budget_count)];
  int64_t limit = draw_limit(d, x), last = INT64_MAX;
  for (int i = 0; i < 4 && limit > 0; ++i, limit += 1 + draw(d, limit / (draw(d, 2) ? 10 : 1000) + 1)) {
    problem.memory_limit_bytes = limit;
    const int64_t time = search(d, MORE_MEMORY, &problem, budget);
    if (i > 0) judge(d, MORE_MEMORY, &problem, "with less memory", budget, time, last);
    last = time;
  }
}

/* Budgets that rise; the default budget is one that may be below any of them, or above. */
static void check_budget(draws *d, const drawn *x) {
  zb_problem problem = x->problem;
  problem.memory_limit_bytes = draw_limit(d, x);
  int64_t last = INT64_MAX;
  for (int64_t budget = 1; budget <= 1000; budget *= 10) {
    const int64_t time = search(d, MORE_BUDGET, &problem, budget);
    if (budget > 1) judge(d, MORE_BUDGET, &problem, "with a smaller budget", budget, time, last);
    last = time;
  }
}

static zb_status run_draw(draws *d) {
  static drawn x;
  for (int i = 0; i < zb_schedule_count(); ++i) {
    const zb_schedule_def *schedule = zb_schedule_at(i);
    if (schedule->searches || schedule->two_pipelines) continue;
    ZB_TRY(draw_problem(d, schedule, &x));
    x.problem.memory_limit_bytes = draw_limit(d, &x);
    ZB_TRY(check_schedule(d, schedule, &x));
    x.problem.memory_limit_bytes = 0;
    const int64_t other = draw(d, 8);
    if (other == 0) check_memory(d, &x);
    if (other == 1) check_budget(d, &x);
  }
  return NULL;
}

int main(int argc, char **argv) {
  static draws d;
  static const int64_t budgets[] = {1, 10, 50, 100, 1000, 0};
  d.random = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
  const long count = argc > 2 ? strtol(argv[2], NULL, 10) : 10;
  d.jobs_most = argc > 3 ? strtoll(argv[3], NULL, 10) : 20000;
  d.budget_count = sizeof budgets / sizeof *budgets;
  memcpy(d.budgets, budgets, sizeof budgets);
  for (int i = 4; i < argc && i < 4 + BUDGETS_MAX; ++i) {
    d.budgets[i - 4] = strtoll(argv[i], NULL, 10);
    d.budget_count = i - 3;
  }
  if (count < 1 || d.jobs_most < 6) {
    fprintf(stderr, "usage: zb-bench-draws [SEED [COUNT [JOBS [BUDGET...]]]]; for example 7 20 5000 1 50 0\n");
    return 2;
  }
  for (long i = 0; i < count; ++i) {
    zb_status status = run_draw(&d);
    if (!status) continue;
    fputs(zb_status_text(status), stderr);
    const int exit_status = zb_status_exit(status);
    zb_status_free(status);
    return exit_status;
  }
  int worse = 0;
  printf("%-28s %8s %8s %8s %12s\n", "a search with", "tried", "worse", "slow", "longest s");
  for (int i = 0; i < PROMISES; ++i) {
    const tally *t = &d.tallies[i];
    printf("%-28s %8d %8d %8d %12.2f\n", promise_text[i], t->tried, t->worse, t->slow, t->longest);
    worse += t->worse + t->slow;
  }
  return worse > 0;
}
