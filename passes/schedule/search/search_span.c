/* Search: the best order found, from every schedule that fits, within a memory limit.
 *
 * More memory must not give a worse answer. A run (search_run.c) for a level of memory (rules.h) depends on that level
 * alone, never on the limit of the problem, and the answer is the best of the runs for all levels within the limit: so
 * a higher limit only adds runs. Two things leave runs out. Going down from the highest level, one is run only if its
 * lower bound is below the best time; that changes no answer, and mostly leaves one or two. Where it leaves many,
 * levels on V that begin far behind are left out as well; that can change an answer, so the margins (BEHIND_ROUNDS,
 * BEHIND_END) are wider than what rounds made up for in all measured cases. For small problems levels are exact: a run
 * records how much lower its limit could be for every decision to be the same, and the next one is for a byte less than
 * that; and where they are small enough for it, all orders are tried (exact.c).
 *
 * Where limits differ between ranks a level lowers those that are above it. So the levels of some limits are among
 * those of others where these are higher only on ranks that have the highest, and the levels up to the lowest limit are
 * those of that one limit for all ranks. Two limits of which neither is the other with some ranks capped have no level
 * in common but these: nothing can be said of them, unless all orders were tried.
 *
 * Tests: test/passes/schedule/search_test.c, search_exact_test.c; quality and time: test/bench/schedule.c.
 */
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "passes/schedule/rules/emit.h"
#include "passes/schedule/search/exact.h"
#include "passes/schedule/search/period_search.h"
#include "passes/schedule/search/registry.h"
#include "passes/schedule/search/searcher.h"

/* Less memory for the best time: limits that are tried, the part of the memory that is not worth another one, and what
 * each may take: jobs that are timed, and the part of the evaluations before it. */
enum { SAVINGS = 4, SAVING_STEP = 16, SAVING_JOBS = 100000, SAVING_SHARE = 256 };

static void searcher_deinit(zb_searcher *s) {
  zb_free(s->starts);
  zb_bounds_free(s->bounds);
  zb_model_deinit(&s->model);
}

static zb_status searcher_init(const zb_problem *problem, const zb_search_params *params, zb_search_shares of,
                               zb_searcher *s) {
  *s = (zb_searcher){.problem = problem, .best_ps = INT64_MAX, .known_ps = INT64_MAX, .least_start_ps = INT64_MAX};
  ZB_TRY(zb_model_init(problem, &s->model));
  ZB_TRY(zb_bounds_new(problem, &s->bounds));
  ZB_TRY(zb_scheduler_init(&s->model, &s->w));
  ZB_TAKE(s->w.arena, s->limit, s->w.ranks);
  ZB_TAKE(s->w.arena, s->least, s->w.ranks);
  ZB_TAKE(s->w.arena, s->peak, s->w.ranks);
  ZB_TAKE(s->w.arena, s->best, s->w.jobs);
  ZB_TAKE(s->w.arena, s->scratch, s->w.per_rank);
  ZB_TAKE(s->w.arena, s->within, zb_schedule_count());
  ZB_TRY(zb_run_init(&s->w, &s->run));
  zb_level_rank_limits(&s->w, s->limit);
  s->limits_differ = !zb_all_alike(s->limit, s->w.ranks);
  s->seed = params ? params->seed : 0;
  zb_searcher_set_budget(s, params, of);
  return NULL;
}

/* ---- Starts ---- */

static zb_status emit(const zb_schedule_def *schedule, const zb_problem *problem, zb_order *out) {
  zb_schedule_choice choice;
  zb_schedule_default(schedule, &choice);
  return zb_schedule_emit(&choice, problem, out);
}

/* The order that a schedule has emitted, into s->run.sequence; none where its rule is not defined or it has none. */
static zb_status read_emitted(zb_searcher *s, zb_status status, zb_order *order, bool *found) {
  const zb_code code = zb_status_code(status);
  *found = status == NULL;
  if (code == ZB_USAGE || code == ZB_INFEASIBLE) {
    zb_status_free(status);
    return NULL;
  }
  ZB_TRY(status);
  zb_sequence_read(&s->w, order, s->run.sequence, s->scratch);
  zb_order_deinit(order);
  return NULL;
}

/* Takes s->run.sequence as a start if it keeps the limits of the problem and can finish. */
static zb_status add_start(zb_searcher *s, const char *name, int64_t made_for) {
  zb_timing timing;
  if (!zb_searcher_keeps(s, s->run.sequence, s->limit) ||
      !zb_time_sequence(&s->w, s->run.sequence, &timing, NULL, NULL))
    return NULL;
  zb_start_order *const grown = zb_realloc(s->starts, ((size_t)s->start_count + 1) * sizeof *grown);
  if (!grown) return ZB_OUT_OF_MEMORY();
  s->starts = grown;
  zb_start_order *x = &grown[s->start_count];
  *x = (zb_start_order){.time = zb_metric_time(&s->w, &timing), .made_for = made_for};
  ZB_TAKE(s->w.arena, x->sequence, s->w.jobs);
  ZB_TRY(zb_arena_status(s->w.arena));
  ++s->start_count;
  memcpy(x->sequence, s->run.sequence, s->w.jobs * sizeof *x->sequence);
  return zb_searcher_take_start(s, name, x->sequence, x->time, made_for < INT64_MAX ? made_for : zb_level_most(&s->w));
}

/* What a row gives without a limit, in s->run.sequence. Of one that goes by memory, that for all memory: the levels
 * below are asked for as levels. */
static zb_status read_row(zb_searcher *s, int index, bool *found) {
  const zb_schedule_def *schedule = zb_schedule_at(index);
  zb_order order;
  if (!schedule->within) return read_emitted(s, emit(schedule, s->problem, &order), &order, found);
  zb_within_answer answer = {.found = false};
  zb_searcher_lower_to(s, zb_level_most(&s->w));
  if (zb_schedule_takes(schedule, s->problem)) ZB_TRY(zb_searcher_ask(s, index, s->run.level, INT64_MAX, &answer));
  *found = answer.found;
  return NULL;
}

/* The order of a row with another value of an option that it is known with. */
static zb_status add_published(zb_searcher *s, const zb_schedule_def *schedule) {
  for (int i = 0; schedule->options && schedule->options[i].name; ++i) {
    zb_schedule_choice choice;
    zb_order order;
    bool found;
    if (schedule->options[i].published == 0) continue;
    zb_schedule_default(schedule, &choice);
    choice.options[i] = schedule->options[i].published;
    ZB_TRY(read_emitted(s, zb_schedule_emit(&choice, s->problem, &order), &order, &found));
    if (!found) continue;
    ++s->rows;
    ZB_TRY(add_start(s, schedule->name, 0));
  }
  return NULL;
}

/* Every row of the table that takes this problem, until one is as fast as the lower bound. */
static zb_status add_rows(zb_searcher *s) {
  const int64_t bound = zb_lower_bound(s->problem);
  bool is_limited = false;
  for (int rank = 0; rank < s->w.ranks; ++rank)
    is_limited |= zb_rank_limit(s->problem, rank) > 0;
  for (int i = 0; i < zb_schedule_count() && (s->judge ? !zb_judge_is_done(s->judge) : s->best_ps > bound); ++i) {
    if (!zb_scheduler_goes_on(&s->w)) return NULL;
    const zb_schedule_def *schedule = zb_schedule_at(i);
    const bool by_memory = schedule->within != NULL;
    if (schedule->searches || (by_memory && is_limited) || schedule->two_pipelines) continue;
    bool found;
    ZB_TRY(read_row(s, i, &found));
    if (!found) continue;
    ++s->rows;
    ZB_TRY(add_start(s, schedule->name, by_memory ? INT64_MAX : 0));
    ZB_TRY(add_published(s, schedule));
  }
  return NULL;
}

/* The schedules that go by memory, for every level within the limits: what exact levels, whose rules do not know their
 * limits, start from. */
static zb_status add_within(zb_searcher *s, int index) {
  for (int level = zb_level_within(&s->w, zb_searcher_most(s, s->limit)); level > 0 && zb_scheduler_goes_on(&s->w);
       --level) {
    const int64_t bytes = zb_level_bytes(&s->w, level);
    zb_searcher_lower_to(s, bytes);
    if (!zb_searcher_is_feasible(s)) return NULL;
    zb_within_answer answer;
    ZB_TRY(zb_searcher_ask(s, index, s->run.level, INT64_MAX, &answer));
    if (answer.found) ZB_TRY(add_start(s, zb_schedule_at(index)->name, bytes));
  }
  return NULL;
}

/* No order can fit, or none was found: then it is one micro-batch at a time that would take so much. */
static zb_status too_little(zb_searcher *s, const char *what) {
  int worst = 0;
  zb_sequence_least(&s->w, s->run.sequence, s->least);
  for (int rank = 1; rank < s->w.ranks; ++rank)
    if (s->least[rank] - s->limit[rank] > s->least[worst] - s->limit[worst]) worst = rank;
  char needed[64], limit[64];
  return zb_status_hint(
      ZB_ERROR(INFEASIBLE, "no order %s: one micro-batch alone needs %s on rank %d, and the limit is %s", what,
               zb_bytes_exact_text((uint64_t)s->least[worst], needed), worst,
               zb_bytes_exact_text((uint64_t)s->limit[worst], limit)),
      "give %" PRId64 " bytes or more a rank, or use smaller micro-batches or more ranks", s->least[worst]);
}

/* ---- The same time in less memory ---- */

static int64_t peak_of(zb_searcher *s, const zb_slot *sequence) {
  zb_sequence_peaks(&s->w, sequence, s->peak);
  return zb_searcher_most(s, s->peak);
}

/* An order within s->run.level that is as fast as the best one: one of the starts, or what the fixed rules build. A
 * faster one does not count: where it is looked for depends on the limit, so more memory might miss it. */
static bool try_as_fast(zb_searcher *s, int64_t budget) {
  zb_run *run = &s->run;
  run->bound_ps = s->best_ps;
  zb_run_begin(run, budget, 0);
  for (int i = 0; i < s->start_count && !zb_run_is_over(run); ++i)
    if (zb_searcher_keeps(s, s->starts[i].sequence, run->level))
      zb_run_take(run, s->starts[i].sequence, s->starts[i].time);
  if (!zb_run_is_over(run)) zb_run_fixed_rules(run);
  return run->incumbent_ps[0] == s->best_ps;
}

/* Bisects the memory that an order as fast as the best one needs: the runs went by time alone, and where memory is
 * plenty they use all of it. Fixed rules are what finds such orders; local search and other schedules hardly add any.
 */
static void save_memory(zb_searcher *s) {
  const int64_t share = s->w.evaluations / SAVING_SHARE + 1;
  const int64_t budget = zb_max64(share, SAVING_JOBS / (int64_t)s->w.jobs);
  int64_t most = peak_of(s, s->best), least = zb_searcher_most(s, s->least) - 1;
  for (int i = 0; i < SAVINGS && most - least > most / SAVING_STEP; ++i) {
    const int64_t bytes = least + (most - least) / 2;
    zb_searcher_lower_to(s, bytes);
    if (!zb_searcher_is_feasible(s) || zb_searcher_bound(s) > s->best_ps || !try_as_fast(s, budget)) {
      least = bytes;
      continue;
    }
    memcpy(s->best, s->run.incumbent[0], s->w.jobs * sizeof *s->best);
    most = peak_of(s, s->best);
  }
}

/* ---- The public functions ---- */

static void fill_report(const zb_searcher *s, zb_search_report *report) {
  *report = (zb_search_report){.evaluations = s->w.evaluations,
                               .states = s->states,
                               .best_ps = s->best_ps,
                               .bound_ps = zb_lower_bound(s->problem)};
  const bool is_complete = s->is_complete && s->best_ps <= s->known_ps;
  const bool is_optimal = is_complete && s->problem->metric == ZB_METRIC_BARRIER;
  const char *proof = report->best_ps <= report->bound_ps ? "; no order is faster"
                      : is_optimal                        ? "; all orders were tried, none is faster"
                      : is_complete                       ? "; all orders with rising micro-batches were tried"
                      : s->w.is_stopped                   ? "; stopped"
                                                          : "";
  if (is_optimal) report->bound_ps = report->best_ps;
  report->proven = report->best_ps <= report->bound_ps;
  if (s->best_start) {
    snprintf(report->start, sizeof report->start, "%s", s->best_start);
    report->start_ps = s->best_start_ps;
  }
  snprintf(report->placement, sizeof report->placement, "given");
  char levels[48] = "";
  if (s->runs > 0) snprintf(levels, sizeof levels, " %d memory limit%s searched;", s->runs, s->runs == 1 ? "" : "s");
  snprintf(report->summary, sizeof report->summary,
           "%d schedules defined, %d of them fit;%s %" PRId64 " orders built or timed%s", s->rows, s->row_starts,
           levels, s->w.evaluations, proof);
}

/* Exact levels, or at once all orders. */
static zb_status search_small(zb_searcher *s) {
  const int64_t bound = zb_lower_bound(s->problem);
  if (bound >= s->known_ps) return NULL;
  if (!s->judge && zb_exact_is_possible(&s->w) && s->best_ps > bound) {
    const int64_t most = zb_searcher_most(s, s->limit);
    zb_searcher_lower_to(s, most);
    /* What all orders but some have at this limit, no higher limit would have. */
    ZB_TRY(zb_searcher_try_all(s, most < zb_level_most(&s->w), &s->is_complete));
    if (s->is_complete) return NULL;
  }
  for (int i = 0; i < zb_schedule_count(); ++i)
    if (zb_searcher_is_asked(s, i, false) || zb_searcher_is_asked(s, i, true)) ZB_TRY(add_within(s, i));
  zb_problem unlimited = *s->problem;
  unlimited.rank_limit_bytes = NULL;
  unlimited.memory_limit_bytes = 0;
  s->run.idle_ps = zb_searcher_idle(s, zb_lower_bound(&unlimited));
  ZB_TRY(zb_searcher_run_levels(s, true));
  ZB_TRY(zb_searcher_run_exact_levels(s));
  if (s->best_ps < INT64_MAX || !zb_exact_is_possible(&s->w)) return NULL;
  zb_searcher_lower_to(s, zb_searcher_most(s, s->limit)); /* which no level need be */
  return zb_searcher_try_all(s, false, &s->is_complete);
}

static zb_status search(zb_searcher *s) {
  zb_least_bytes(&s->w, s->run.sequence, s->least);
  memcpy(s->run.level, s->limit, (size_t)s->w.ranks * sizeof *s->run.level);
  if (!zb_searcher_is_feasible(s)) return too_little(s, "fits");
  ZB_TRY(add_start(s, NULL, 0)); /* one micro-batch at a time */
  const int serial = s->start_count;
  ZB_TRY(add_rows(s));
  s->row_starts = s->start_count - serial;
  s->run.is_exact = s->w.jobs <= ZB_SEARCH_SMALL_JOBS;
  s->run.is_perturbed = !s->run.is_exact && zb_is_placed_as_v(s->problem);
  ZB_TRY(s->run.is_exact ? search_small(s) : zb_searcher_run_levels(s, false));
  if (s->best_ps < INT64_MAX) return NULL;
  return too_little(s, s->is_complete ? "fits" : "was found that fits");
}

zb_status zb_search_span(const zb_problem *problem, const zb_search_params *params, zb_search_shares of,
                         int64_t known_ps, zb_order *order, zb_search_report *report) {
  *order = (zb_order){0};
  zb_searcher s;
  zb_status status = searcher_init(problem, params, of, &s);
  const bool is_made = !status;
  s.known_ps = known_ps;
  if (!status) status = search(&s);
  if (!status && s.best_ps < known_ps && !s.w.is_stopped) save_memory(&s);
  if (!status) {
    zb_sequence_renumber(&s.w, s.best, s.scratch);
    status = zb_sequence_write(&s.w, s.best, order);
  }
  if (is_made && report) fill_report(&s, report);
  searcher_deinit(&s);
  return status;
}

zb_status zb_search_judged(const zb_problem *problem, const zb_search_params *params, int parts, zb_judge *judge,
                           zb_search_report *report) {
  zb_searcher s;
  zb_status status = searcher_init(problem, params, (zb_search_shares){1, parts}, &s);
  s.judge = judge;
  if (!status) status = search(&s);
  if (!status) fill_report(&s, report);
  if (!status) judge->is_stopped = s.w.is_stopped;
  searcher_deinit(&s);
  return status;
}
