/* The search over placements, and by what metric: each of them is a search of its own (search_span.c,
 * period_search.c).
 *
 * Tests: test/passes/schedule/search_test.c, search_exact_test.c; quality and time: test/bench/schedule.c.
 */
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "passes/schedule/rules/emit.h"
#include "passes/schedule/search/period_search.h"
#include "passes/schedule/search/searcher.h"

/* What takes as long as to look at a state of the search of all orders: so many jobs that are timed. */
enum { STATE_JOBS = 10 };

/* A search of one of some placements, where an order of another one that takes known_ps is there already (INT64_MAX:
 * none is): only a faster one is looked for. */
static zb_status search_beside(const zb_problem *problem, const zb_search_params *params, zb_search_shares of,
                               int64_t known_ps, zb_order *order, zb_search_report *report) {
  if (problem->metric == ZB_METRIC_PERIOD) return zb_search_period(problem, params, order, report);
  return zb_search_span(problem, params, of, known_ps, order, report);
}

zb_status zb_search(const zb_problem *problem, const zb_search_params *params, zb_order *order,
                    zb_search_report *report) {
  const int64_t known_ps = params && params->known_ps > 0 ? params->known_ps : INT64_MAX;
  return search_beside(problem, params, (zb_search_shares){1, 1}, known_ps, order, report);
}

/* Searches one placement and keeps the answer if it is the best so far. */
static zb_status search_one(const zb_problem *problem, const zb_search_params *params, int placements, const char *name,
                            int *stage_rank, zb_order *order, zb_search_report *best) {
  zb_order found;
  zb_search_report report;
  ZB_TRY(search_beside(problem, params, (zb_search_shares){placements, 1}, order->jobs ? best->best_ps : INT64_MAX,
                       &found, &report));
  const int64_t evaluations = best->evaluations + report.evaluations;
  if (!order->jobs || report.best_ps < best->best_ps) {
    zb_order_deinit(order);
    *order = found;
    *best = report;
    snprintf(best->placement, sizeof best->placement, "%s", name);
    memcpy(stage_rank, problem->stage_rank, (size_t)problem->stages * sizeof *stage_rank);
  } else {
    zb_order_deinit(&found);
  }
  best->evaluations = evaluations;
  return NULL;
}

/* Whether the search tries the placement of that index beside the given one: with two chunks wave is v. */
static bool is_open(const zb_problem *problem, int index) {
  const zb_placement_def *placement = zb_placement_at(index);
  const int chunks = problem->stages / problem->ranks;
  bool is_new = zb_placement_takes(placement, chunks) && zb_all_alike(problem->base_bytes, problem->ranks) &&
                zb_all_alike(problem->optimizer_ps, problem->ranks);
  for (int i = -1; i < index && is_new; ++i) {
    const zb_placement_def *other = i < 0 ? NULL : zb_placement_at(i);
    if (other && !zb_placement_takes(other, chunks)) continue;
    bool same = true;
    for (int stage = 0; stage < problem->stages && same; ++stage)
      same = placement->rank(problem->ranks, stage) ==
             (other ? other->rank(problem->ranks, stage) : problem->stage_rank[stage]);
    is_new = !same;
  }
  return is_new;
}

zb_status zb_search_placement(const zb_problem *problem, const zb_search_params *params, int *stage_rank,
                              zb_order *order, zb_search_report *report) {
  *order = (zb_order){0};
  ZB_TRY(zb_problem_check(problem));
  zb_search_report best = {0};
  zb_arena arena = {0};
  int *given, *placed, placements = 1;
  ZB_TAKE(&arena, given, problem->stages);
  ZB_TAKE(&arena, placed, problem->stages);
  zb_status status = zb_arena_status(&arena);
  if (status) goto cleanup;
  memcpy(given, problem->stage_rank, (size_t)problem->stages * sizeof *given);
  zb_problem other = *problem;
  other.stage_rank = given;
  for (int i = 0; i < zb_placement_count(); ++i)
    placements += is_open(&other, i);
  zb_status first = search_one(&other, params, placements, "given", stage_rank, order, &best);
  if (zb_status_code(first) == ZB_MEMORY) { /* not to be taken for a placement that has no order */
    status = first;
    goto cleanup;
  }
  for (int i = 0; !status && i < zb_placement_count(); ++i) {
    const zb_placement_def *placement = zb_placement_at(i);
    other.stage_rank = given;
    if (!is_open(&other, i)) continue;
    for (int stage = 0; stage < problem->stages; ++stage)
      placed[stage] = placement->rank(problem->ranks, stage);
    other.stage_rank = placed;
    status = search_one(&other, params, placements, placement->name, stage_rank, order, &best);
    if (zb_status_code(status) == ZB_INFEASIBLE) {
      zb_status_free(status);
      status = NULL;
    }
  }
  if (!status && !order->jobs) {
    status = first;
    first = NULL;
  }
  zb_status_free(first);
  if (!status && placements > 1) {
    const size_t length = strlen(best.summary);
    snprintf(best.summary + length, sizeof best.summary - length, "; %" PRId64 " orders over %d placements in all",
             best.evaluations, placements);
  }
  if (!status && report) *report = best;
cleanup:
  if (status) zb_order_deinit(order);
  zb_arena_deinit(&arena);
  return status;
}

/* ---- The row of the table ---- */

static zb_status emit_best(const zb_problem *problem, const int64_t *options, zb_order *out) {
  const zb_search_params params = {.budget = options[0], .seed = (uint64_t)options[1], .known_ps = options[2]};
  const int64_t jobs = (int64_t)problem->stages * problem->micro_batches * ZB_KIND_COUNT;
  zb_order found;
  zb_search_report report = {0};
  zb_status status = zb_search(problem, &params, &found, &report);
  if (!status) zb_order_deinit(out);
  if (!status) *out = found;
  out->timed_jobs = report.evaluations * zb_max64(jobs, ZB_SEARCH_SMALL_JOBS) + report.states * STATE_JOBS;
  return status;
}

static const zb_schedule_option search_options[] = {
    {"budget", 0, 0, 1000000000,
     "orders to build or time for each memory limit tried, of more than 1200 jobs as many as take that long (2000000: "
     "half a minute a limit); 0: by the size of the problem",
     0},
    {"seed", 0, 0, INT32_MAX, "another seed, another search", 0},
    {"known", 0, 0, INT64_MAX,
     "picoseconds of an order that is there already: where none is faster the search ends sooner, with any; 0: none",
     0},
    {0}};

const zb_schedule_def zb_schedule_search = {
    .name = "search",
    .summary =
        "the best order found within the memory limit, never worse than any other schedule here that fits, with its "
        "default options; any placement (README of passes/schedule)",
    ZB_PLACED_LOOPED,
    .any_placement = true,
    .splits_backward = true,
    .keeps_limit = true,
    .searches = true,
    .options = search_options,
    .emit = emit_best,
    .memory_bound = zb_no_memory_bound,
};
