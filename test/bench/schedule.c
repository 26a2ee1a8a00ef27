/* The search against the best known: 12 published settings, memory 1p to 2p, four placements, both metrics; against
 * what published schedulers reach at many limits (the sweep, test/passes/schedule/sweep.json); and how its time grows.
 *
 *   zb-bench-schedule [BUDGET[,SEED] [WORD...]]
 *
 * BUDGET: evaluations for each memory limit tried [0: the default of the search; a row that is worse than the best
 * known is then searched again with HARD_BUDGET and some seeds, as a user would, and says which]. WORDs choose the rows
 * that have all of them: 1.5B p8 m24 v 1.25p stage; sweep alone gives the sweep, growth the tables of time. One line a
 * search: bubble by its metric, the other metric of the same order, the lower bound, the best known at that memory
 * (test/bench/schedule.json has the source), and a mark where ours is worse. Built by hand (target zb-bench-schedule);
 * never a test.
 */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "zb/schedule.h"

enum { STAGES_MAX = 1024 };

typedef struct setting {
  zb_problem problem;
  int stage_rank[STAGES_MAX];
  zb_stage_cost costs[STAGES_MAX];
  double work_ps;
} setting;

static const struct {
  const char *text, *name;
  int chunks;
} placements[] = {{"plain", "plain", 1}, {"v", "v", 2}, {"looped 2", "looped", 2}, {"looped 4", "looped", 4}};
enum { PLACEMENTS = sizeof placements / sizeof *placements };

static double seconds(void) { return (double)clock() / CLOCKS_PER_SEC; }

static int fail(zb_status status) {
  fputs(zb_status_text(status), stderr);
  const int exit_status = zb_status_exit(status);
  zb_status_free(status);
  return exit_status;
}

/* times: F, B, W of a rank and a message, in ms. memory: in p M_B, 0: no limit. */
static zb_status make(setting *x, const char *placement, int ranks, int chunks, int micro_batches, const double *times,
                      double ratio, double memory) {
  const int64_t unit = 12 << 20;
  memset(x, 0, sizeof *x);
  x->problem = (zb_problem){.ranks = ranks,
                            .micro_batches = micro_batches,
                            .stages = ranks * chunks,
                            .stage_rank = x->stage_rank,
                            .costs = x->costs,
                            .link_latency_ps = llround(times[3] * 1e9),
                            .memory_limit_bytes = llround(memory * ranks * (double)unit)};
  for (int stage = 0; stage < ranks * chunks; ++stage) {
    zb_stage_cost *cost = &x->costs[stage];
    for (int kind = 0; kind < ZB_KIND_COUNT; ++kind)
      cost->time_ps[kind] = llround(times[kind] * 1e9 / chunks);
    cost->keep_bytes[ZB_F] = unit / chunks;
    cost->free_bytes[ZB_W] = llround((double)unit / chunks * ratio);
    cost->free_bytes[ZB_B] = cost->keep_bytes[ZB_F] - cost->free_bytes[ZB_W];
    if (stage < chunks) x->work_ps += micro_batches * (double)(cost->time_ps[0] + cost->time_ps[1] + cost->time_ps[2]);
  }
  return zb_placement(placement, ranks, chunks, x->stage_rank);
}

static double bubble(const setting *x, int64_t time) { return time > 0 ? 100 * (1 - x->work_ps / (double)time) : 0; }

/* The best known bubble at this memory by a metric, NAN: none; *name gets whose. */
static double best_known(const json_t *known, double memory, zb_metric metric, const char **name) {
  double best = NAN;
  size_t index;
  json_t *row;
  json_array_foreach(known, index, row) {
    const json_t *value = json_array_get(row, metric == ZB_METRIC_STAGE ? 2 : 3);
    if (json_number_value(json_array_get(row, 1)) > memory + 1e-9 || !json_is_number(value)) continue;
    if (!isnan(best) && json_number_value(value) >= best) continue;
    best = json_number_value(value);
    *name = json_string_value(json_array_get(row, 0));
  }
  return best;
}

typedef struct totals {
  int rows, worse, again, proven;
  double seconds;
  struct {
    int rows;
    double seconds;
  } limits[PLACEMENTS][2]; /* at 1p and 2p, by metric */
} totals;

enum { HARD_BUDGET = 2000000, HARD_SEEDS = 2 };

/* What is searched for: as asked, and for hard rows with more. */
static zb_search_params attempt(const zb_search_params *asked, int number) {
  zb_search_params params = *asked;
  if (number > 0) params.budget = HARD_BUDGET, params.seed = (uint64_t)(number - 1);
  return params;
}

/* The first attempt that is not worse than the best known (NAN: none), or the last one. */
static zb_status search_row(const setting *x, const zb_search_params *asked, double best, zb_search_params *used,
                            zb_order *order, zb_search_report *report, bool *worse) {
  const int attempts = asked->budget == 0 ? 1 + HARD_SEEDS : 1;
  for (int number = 0; number < attempts; ++number) {
    *used = attempt(asked, number);
    if (number > 0) zb_order_deinit(order);
    ZB_TRY(zb_search(&x->problem, used, order, report));
    *worse = !isnan(best) && bubble(x, report->best_ps) > best + 0.00499; /* the known ones have two digits */
    if (!*worse) break;
  }
  return NULL;
}

static zb_status run(setting *x, const zb_search_params *params, const json_t *known, double memory, const char *label,
                     totals *t) {
  zb_search_report report;
  zb_order order;
  zb_simulation simulation;
  const char *name = "-";
  const double best = best_known(known, memory, x->problem.metric, &name), start = seconds();
  zb_search_params used;
  bool worse = false;
  ZB_TRY(search_row(x, params, best, &used, &order, &report, &worse));
  const double taken = seconds() - start;
  zb_status status = zb_simulate(&x->problem, &order, &simulation);
  if (!status) {
    const bool stage_metric = x->problem.metric == ZB_METRIC_STAGE;
    const double ours = bubble(x, report.best_ps);
    char again[64] = "";
    if (used.budget != params->budget)
      snprintf(again, sizeof again, " budget %lld, seed %llu", (long long)used.budget, (unsigned long long)used.seed);
    printf("%-26s %5.2fp %-7s %7.2f %7.2f %7.2f  %6.2f %-24s %6.0f%s%s%s\n", label, memory,
           stage_metric ? "stage" : "barrier", ours, bubble(x, stage_metric ? simulation.step_ps : simulation.stage_ps),
           bubble(x, report.bound_ps), best, name, taken * 1e3, report.best_ps <= report.bound_ps ? " proven best" : "",
           again, worse ? " WORSE" : "");
    fflush(stdout);
    ++t->rows;
    t->worse += worse;
    t->again += again[0] != 0;
    t->proven += report.best_ps <= report.bound_ps;
    t->seconds += taken;
    zb_simulation_deinit(&simulation);
  }
  zb_order_deinit(&order);
  return status;
}

/* Whether the text has all the words. */
static bool is_wanted(const char *text, char **words) {
  char padded[160], word[64];
  snprintf(padded, sizeof padded, " %s ", text);
  for (; *words; ++words) {
    snprintf(word, sizeof word, " %s ", *words);
    if (!strstr(padded, word)) return false;
  }
  return true;
}

static zb_status run_setting(const json_t *json, const zb_search_params *params, char **words, totals *t) {
  static const double memories[] = {1, 1.25, 1.5, 1.75, 2};
  static setting x;
  const double times[] = {json_number_value(json_object_get(json, "f")), json_number_value(json_object_get(json, "b")),
                          json_number_value(json_object_get(json, "w")),
                          json_number_value(json_object_get(json, "comm"))};
  const int ranks = (int)json_integer_value(json_object_get(json, "ranks"));
  const int micro_batches = (int)json_integer_value(json_object_get(json, "micro_batches"));
  for (size_t i = 0; i < PLACEMENTS; ++i) {
    const json_t *known = json_object_get(json_object_get(json, "known"), placements[i].text);
    char label[64];
    snprintf(label, sizeof label, "%s p%d m%d %s", json_string_value(json_object_get(json, "model")), ranks,
             micro_batches, placements[i].text);
    for (size_t k = 0; k < sizeof memories / sizeof *memories; ++k)
      for (int metric = 0; metric < 2; ++metric) {
        ZB_TRY(make(&x, placements[i].name, ranks, placements[i].chunks, micro_batches, times,
                    json_number_value(json_object_get(json, "memory_ratio")), memories[k]));
        x.problem.metric = metric ? ZB_METRIC_STAGE : ZB_METRIC_BARRIER;
        char text[96];
        snprintf(text, sizeof text, "%s %gp %s", label, memories[k], metric ? "stage" : "barrier");
        if (!is_wanted(text, words)) continue;
        const double before = t->seconds;
        ZB_TRY(run(&x, params, known, memories[k], label, t));
        if (k > 0 && k < sizeof memories / sizeof *memories - 1) continue;
        ++t->limits[i][metric].rows;
        t->limits[i][metric].seconds += t->seconds - before;
      }
  }
  return NULL;
}

/* ---- The sweep ---- */

typedef struct sweep {
  int rows, worse, proven;
  double seconds, longest, ratios; /* ratios: sum of the logarithms of our time by the published one */
} sweep;

/* One row: a problem, and what was published for it in %. */
static zb_status run_sweep_row(setting *x, const zb_search_params *params, const char *label, const char *by,
                               double memory, double published, sweep *t) {
  zb_search_report report;
  zb_order order;
  const double start = seconds();
  ZB_TRY(zb_search(&x->problem, params, &order, &report));
  zb_order_deinit(&order);
  const double taken = seconds() - start, ours = bubble(x, report.best_ps);
  const bool worse = llround(ours * 100) > llround(published * 100);
  const double ratio = (100 - published) / (100 - ours);
  printf("%-22s %-14s %9.6fp %-7s %7.2f %9.2f %7.2f %8.4f %6.0f%s%s\n", label, by, memory,
         x->problem.metric == ZB_METRIC_STAGE ? "stage" : "barrier", ours, published, bubble(x, report.bound_ps), ratio,
         taken * 1e3, report.proven ? " proven best" : "", worse ? " WORSE" : "");
  fflush(stdout);
  ++t->rows;
  t->worse += worse;
  t->proven += report.proven;
  t->seconds += taken;
  t->longest = fmax(t->longest, taken);
  t->ratios += log(ratio);
  return NULL;
}

/* All rows of a setting on one placement: [memory, stage metric] on one chunk a rank, [whose, memory, stage metric,
 * barrier metric] on the V placement. */
static zb_status run_sweep_setting(const json_t *json, const char *placement, const zb_search_params *params,
                                   char **words, sweep *t) {
  static setting x;
  const bool is_v = strcmp(placement, "v") == 0;
  const double times[] = {json_number_value(json_object_get(json, "f")), json_number_value(json_object_get(json, "b")),
                          json_number_value(json_object_get(json, "w")),
                          json_number_value(json_object_get(json, "comm"))};
  const int ranks = (int)json_integer_value(json_object_get(json, "ranks"));
  const int micro_batches = (int)json_integer_value(json_object_get(json, "micro_batches"));
  size_t index;
  json_t *row;
  char label[64], text[128];
  snprintf(label, sizeof label, "%s p%d m%d %s", json_string_value(json_object_get(json, "model")), ranks,
           micro_batches, placement);
  json_array_foreach(json_object_get(json, placement), index, row) {
    const double memory = json_number_value(json_array_get(row, is_v));
    for (int metric = is_v ? 0 : 1; metric < 2; ++metric) {
      ZB_TRY(make(&x, placement, ranks, is_v ? 2 : 1, micro_batches, times,
                  json_number_value(json_object_get(json, "memory_ratio")), memory));
      x.problem.metric = metric ? ZB_METRIC_STAGE : ZB_METRIC_BARRIER;
      snprintf(text, sizeof text, "sweep %s %gp %s", label, memory, metric ? "stage" : "barrier");
      if (!is_wanted(text, words)) continue;
      ZB_TRY(run_sweep_row(&x, params, label, is_v ? json_string_value(json_array_get(row, 0)) : "zb", memory,
                           json_number_value(json_array_get(row, !is_v    ? 1
                                                                 : metric ? 2
                                                                          : 3)),
                           t));
    }
  }
  return NULL;
}

static zb_status run_sweep(const zb_search_params *params, char **words) {
  json_error_t error;
  json_t *root = json_load_file(ZB_SOURCE_DIR "/test/passes/schedule/sweep.json", 0, &error), *json;
  if (!root) return ZB_ERROR(INVALID, "%s:%d: %s", error.source, error.line, error.text);
  sweep t = {0};
  size_t index;
  zb_status status = NULL;
  printf("\n%-22s %-14s %10s %-7s %7s %9s %7s %8s %6s\n", "sweep", "whose", "memory", "metric", "ours %", "published",
         "bound %", "ratio", "ms");
  json_array_foreach(json_object_get(root, "settings"), index, json) {
    if (!status) status = run_sweep_setting(json, "plain", params, words, &t);
    if (!status) status = run_sweep_setting(json, "v", params, words, &t);
  }
  printf("%d rows of the sweep in %.1f s, the longest in %.2f s: %d proven best, %d worse than published; time a step "
         "by the published one: %.4f on average\n",
         t.rows, t.seconds, t.longest, t.proven, t.worse, exp(t.ratios / (t.rows ? t.rows : 1)));
  json_decref(root);
  return status;
}

/* ---- Growth ---- */

/* How the time of zb and of a search grow with ranks and micro-batches. */
static zb_status run_growth(const zb_search_params *params) {
  static const struct {
    int ranks, micro_batches;
  } rows[] = {{4, 16}, {8, 32}, {16, 64}, {32, 128}, {64, 256}, {64, 512}, {8, 128}, {8, 512}, {64, 64}};
  static const double times[] = {10, 11, 7, 0.4};
  static setting x;
  printf("\n%-20s %10s %12s %12s %12s %10s\n", "plain, 1.5p, stage", "jobs", "zb ms", "search ms", "evaluations",
         "bubble %");
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    ZB_TRY(make(&x, "plain", rows[i].ranks, 1, rows[i].micro_batches, times, 0.43, 1.5));
    x.problem.metric = ZB_METRIC_STAGE;
    zb_search_report report;
    zb_order order;
    const double start = seconds();
    ZB_TRY(zb_schedule_run(zb_schedule_find("zb", NULL), &x.problem, &order));
    zb_order_deinit(&order);
    const double middle = seconds();
    ZB_TRY(zb_search(&x.problem, params, &order, &report));
    zb_order_deinit(&order);
    printf("p %-3d m %-12d %10d %12.1f %12.1f %12lld %10.2f\n", rows[i].ranks, rows[i].micro_batches,
           3 * rows[i].ranks * rows[i].micro_batches, (middle - start) * 1e3, (seconds() - middle) * 1e3,
           (long long)report.evaluations, bubble(&x, report.best_ps));
  }
  return NULL;
}

/* How long the whole of a search takes at the largest size, of every placement and with those that none is named for.
 */
static zb_status run_large(const zb_search_params *params) {
  static const double times[] = {10, 11, 7, 0.4}, memories[] = {0, 1, 1.25, 1.5, 2};
  static const struct {
    const char *text, *name;
    int chunks;
  } large[] = {{"plain", "plain", 1},     {"v", "v", 2},
               {"looped 2", "looped", 2}, {"looped 4", "looped", 4},
               {"wave 4", "wave", 4},     {"looped 8", "looped", 8},
               {"wave 16", "wave", 16},   {"2 chunks, any placement", "looped", 2}};
  enum { LARGE = sizeof large / sizeof *large };
  static setting x;
  static int stage_rank[STAGES_MAX];
  printf("\n%-26s %6s %-7s %12s %10s\n", "p 64, m 512", "memory", "metric", "search ms", "bubble %");
  for (size_t i = 0; i < LARGE; ++i)
    for (size_t k = 0; k < sizeof memories / sizeof *memories; ++k)
      for (int metric = 0; metric < 2; ++metric) {
        const bool open = i == LARGE - 1; /* what zb-sched does without --placement */
        ZB_TRY(make(&x, large[i].name, 64, large[i].chunks, 512, times, 0.43, memories[k]));
        x.problem.metric = metric ? ZB_METRIC_STAGE : ZB_METRIC_BARRIER;
        zb_search_report report;
        zb_order order;
        const double start = seconds();
        ZB_TRY(open ? zb_search_placement(&x.problem, params, stage_rank, &order, &report)
                    : zb_search(&x.problem, params, &order, &report));
        zb_order_deinit(&order);
        char memory[16] = "none";
        if (memories[k] > 0) snprintf(memory, sizeof memory, "%.2fp", memories[k]);
        printf("%-26s %6s %-7s %12.1f %10.2f\n", large[i].text, memory, metric ? "stage" : "barrier",
               (seconds() - start) * 1e3, bubble(&x, report.best_ps));
        fflush(stdout);
      }
  return NULL;
}

static int64_t draw(uint64_t *state, int64_t below) {
  *state = *state * UINT64_C(6364136223846793005) + 1442695040888963407;
  return (int64_t)((*state >> 33) % (uint64_t)below);
}

/* Stages of different times and memory, a message over half of them beside the chain, and messages by bytes. limits:
 * one a rank, or NULL. */
static zb_status make_uneven(setting *x, const char *placement, int chunks, uint64_t seed, int64_t *limits) {
  static const double times[] = {10, 11, 7, 0.4};
  static zb_edge edges[STAGES_MAX + 1];
  ZB_TRY(make(x, placement, 64, chunks, 512, times, 0.43, 0));
  zb_problem *problem = &x->problem;
  for (int stage = 0; stage < problem->stages; ++stage) {
    zb_stage_cost *cost = &x->costs[stage];
    const int64_t kept = cost->keep_bytes[ZB_F] / 2 + draw(&seed, cost->keep_bytes[ZB_F]);
    cost->keep_bytes[ZB_F] = kept;
    cost->free_bytes[ZB_W] = draw(&seed, kept);
    cost->free_bytes[ZB_B] = kept - cost->free_bytes[ZB_W];
    for (int kind = 0; kind < ZB_KIND_COUNT; ++kind)
      cost->time_ps[kind] += draw(&seed, cost->time_ps[kind] / 3);
    edges[stage] = (zb_edge){.source = stage, .destination = stage + 1, .forward_bytes = 1000, .backward_bytes = 1000};
  }
  edges[problem->stages - 1] =
      (zb_edge){.source = 0, .destination = problem->stages / 2, .forward_bytes = 500, .backward_bytes = 500};
  problem->edges = edges;
  problem->edge_count = problem->stages;
  problem->link_ps_per_byte = 200000;
  problem->rank_limit_bytes = limits;
  for (int rank = 0; rank < problem->ranks && limits; ++rank)
    limits[rank] = (int64_t)(12 << 20) * 64 * (80 + draw(&seed, 100)) / 100;
  return NULL;
}

/* How long a search takes at the largest size where nothing is even. */
static zb_status run_uneven(const zb_search_params *params) {
  static const struct {
    const char *text, *name;
    int chunks;
  } rows[] = {{"plain", "plain", 1}, {"v", "v", 2}, {"looped 2", "looped", 2}, {"wave 4", "wave", 4}};
  static setting x;
  static int64_t limits[64];
  printf("\n%-26s %6s %-7s %12s %12s\n", "p 64, m 512, uneven", "limits", "metric", "search ms", "above bound %");
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i)
    for (int k = 0; k < 4; ++k) {
      ZB_TRY(make_uneven(&x, rows[i].name, rows[i].chunks, i, k / 2 ? limits : NULL));
      x.problem.metric = k % 2 ? ZB_METRIC_STAGE : ZB_METRIC_BARRIER;
      zb_search_report report;
      zb_order order;
      const double start = seconds();
      ZB_TRY(zb_search(&x.problem, params, &order, &report));
      zb_order_deinit(&order);
      printf("%-26s %6s %-7s %12.1f %12.2f\n", rows[i].text, k / 2 ? "a rank" : "none", k % 2 ? "stage" : "barrier",
             (seconds() - start) * 1e3, 100 * ((double)report.best_ps / (double)report.bound_ps - 1));
      fflush(stdout);
    }
  return NULL;
}

static void print_limits(const totals *t) {
  for (size_t i = 0; i < PLACEMENTS; ++i)
    for (int metric = 0; metric < 2; ++metric)
      if (t->limits[i][metric].rows > 2)
        printf("%s, %s metric: %d searches at 1p and 2p in %.2f s\n", placements[i].text, metric ? "stage" : "barrier",
               t->limits[i][metric].rows, t->limits[i][metric].seconds);
}

int main(int argc, char **argv) {
  zb_search_params params = {0};
  if (argc > 1) {
    char *end;
    params.budget = strtoll(argv[1], &end, 10);
    if (*end == ',') params.seed = strtoull(end + 1, &end, 10);
    if (end == argv[1] || *end) {
      fprintf(stderr, "usage: zb-bench-schedule [BUDGET[,SEED] [WORD...]]; for example 0 1.5B p8 v stage\n");
      return 2;
    }
  }
  char *none = NULL, **const words = argc > 2 ? &argv[2] : &none;
  json_error_t error;
  json_t *root = json_load_file(ZB_SOURCE_DIR "/test/bench/schedule.json", 0, &error);
  if (!root) {
    fprintf(stderr, "%s:%d: %s\n", error.source, error.line, error.text);
    return 1;
  }
  totals t = {0};
  zb_status status = NULL;
  size_t index;
  json_t *json;
  printf("%-26s %6s %-7s %7s %7s %7s  %6s %-24s %6s\n", "setting", "memory", "metric", "ours %", "other %", "bound %",
         "known", "whose", "ms");
  json_array_foreach(json_object_get(root, "settings"), index, json) {
    if (!status) status = run_setting(json, &params, words, &t);
  }
  printf("%d rows in %.1f s: %d proven best, %d searched again with a larger budget, %d worse than the best known\n",
         t.rows, t.seconds, t.proven, t.again, t.worse);
  print_limits(&t);
  if (!status) status = run_sweep(&params, words);
  if (!status && is_wanted("growth", words)) status = run_growth(&params);
  if (!status && is_wanted("growth", words)) status = run_large(&params);
  if (!status && is_wanted("growth", words)) status = run_uneven(&params);
  json_decref(root);
  return status ? fail(status) : 0;
}
