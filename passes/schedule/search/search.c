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
#include "passes/schedule/rules/within.h"
#include "passes/schedule/search/exact.h"
#include "passes/schedule/search/period_search.h"
#include "passes/schedule/search/registry.h"
#include "passes/schedule/search/search_run.h"

/* Levels are exact up to this number of jobs. */
enum { SMALL_JOBS = 160 };
/* On the V placement, with more jobs than this: a level whose order before the rounds takes so much longer than the
 * best such order of the levels above it has no rounds, or ends the search. */
enum { MEDIUM_JOBS = 2000 };
/* evaluation_cost of more jobs than MEDIUM_JOBS, and of more than FEW_JOBS. */
enum { WAITING_COST = 4, FEW_WAITING_COST = 2, FEW_JOBS = 800 };
static const double BEHIND_ROUNDS = 0.04, BEHIND_END = 0.12;
/* On the other placements with several chunks: where the order of a level takes longer than the best one, every second
 * level follows, and where it takes so much longer, none. Wider, because there one level may have an order by luck that
 * others have not. */
static const double BEHIND_LAST = 0.15, BEHIND_LAST_HUGE = 0.01;
/* Exact levels of a problem at most, about. */
enum { LEVELS = 1024 };
/* States of the search of all orders that take about as long as one evaluation. */
enum { STATES = 64 };
/* The most of them: each takes some hundred bytes. */
enum { STATES_MAX = 500000 };
/* Jobs of all evaluations of a level of a large problem, with one chunk a rank and with several. */
enum { LARGE_BUDGET = 4000000, LARGE_BUDGET_CHUNKS = 1000000 };
/* Problems larger than every published setting (32 ranks, 256 micro-batches, 4 chunks), on looped and wave placement:
 * evaluations of a level, and the jobs of all of them at most. So many find most of what there is to find (64 ranks,
 * 512 micro-batches, 1.37 times the memory of 1F1B: 1.8 % above the bound with five of them, 0.6 % with 64). */
enum { HUGE_JOBS = 100000, HUGE_EVALUATIONS = 64, HUGE_BUDGET = 14000000 };
/* Jobs of all orders that are built to perturb one, by default: an evaluation takes a fraction of such a build. */
enum { PERTURBED_JOBS = 12000000 };
/* Jobs of all orders of a level that are built again to refine one, by default, on the V placement, which has many
 * levels. */
enum { REFINED_JOBS = 1000000 };
/* The default budget is spent for as long as it pays: up to this multiple of what the last better order came after. */
enum { PATIENCE = 10 };
/* A budget that is given is at least BUDGET_LEAST, or the default one: what takes a moment is done for any. It counts
 * orders of BUDGET_JOBS jobs: of larger ones there are as many as take that long, but no fewer than by default. */
enum { BUDGET_LEAST = 64, BUDGET_JOBS = 1200 };
/* Levels below the memory of 1F1B have this part of it. */
enum { LESS_BUDGET = 4 };
/* Local search of a fine level: evaluations at least, but no more than time so many jobs; up to how many times these,
 * and of what the last better order came after; in problems of at most so many jobs. */
enum { POLISH_LEAST = 500, POLISH_TIMED = 600000, POLISH_MOST = 13, POLISH_PATIENCE = 6, POLISH_JOBS = 14000 };
/* The local search of the best start: jobs that it may time, evaluations a job, and the least that are worth it. */
enum { SETTLE_JOBS = 1500000, SETTLE_PER_JOB = 5, SETTLE_LEAST = 100 };
/* With many chunks no schedule of the table fits most limits, so some rules at least are tried. */
enum { RULES_LEAST = 5 };
/* Slow schedules are asked before the rounds, as a start, where the order is further from the bound than this share of
 * its time; else behind them, where most of their orders are given up soon. */
static const double SLOW_FROM = 0.02;

/* Less memory for the best time: limits that are tried, the part of the memory that is not worth another one, and what
 * each may take: jobs that are timed, and the part of the evaluations before it. */
enum { SAVINGS = 4, SAVING_STEP = 16, SAVING_JOBS = 100000, SAVING_SHARE = 256 };

/* An order that the search starts from. */
typedef struct start_order {
  zb_slot *sequence;
  int64_t time;
  int64_t made_for; /* the level of memory that its schedule was given, 0: none. Runs of lower levels do without it */
} start_order;

typedef struct searcher {
  const zb_problem *problem;
  zb_model model;
  zb_bounds *bounds;
  zb_scheduler w;
  zb_run run;
  int64_t budget; /* of a level */
  bool is_default_budget;
  int patience;
  uint64_t seed;
  int64_t *limit, *least; /* [ranks] of the problem; what one micro-batch at a time needs */
  bool limits_differ;
  int64_t *peak;
  zb_slot *best, *scratch;
  int64_t best_ps, known_ps; /* of this placement; of others that were searched before */
  void **within;             /* [schedules] the state of those that go by memory; NULL: not asked yet */
  start_order *starts;       /* all that fit */
  int start_count, rows, row_starts;
  const char *best_start; /* whose order was the best before the runs; NULL: none there was */
  int64_t best_start_ps;
  int runs;
  int64_t level_start_ps, least_start_ps; /* before the rounds: of the last level that was run, and of all */
  bool is_complete;                       /* all orders whose classes rise were tried (exact.c) */
} searcher;

static void searcher_deinit(searcher *s) {
  zb_free(s->starts);
  zb_bounds_free(s->bounds);
  zb_model_deinit(&s->model);
}

static bool all_alike(const int64_t *values, int count) {
  for (int i = 1; values && i < count; ++i)
    if (values[i] != values[0]) return false;
  return true;
}

/* Whether it has HUGE_BUDGET. */
static bool is_huge(const zb_problem *problem) {
  const int64_t jobs = (int64_t)problem->stages * problem->micro_batches * ZB_KIND_COUNT;
  return jobs > HUGE_JOBS && problem->stages > problem->ranks && !zb_is_placed_as_v(problem);
}

/* Such that the time of a search hardly depends on the size of the problem. Most is worth spending on the V placement:
 * there the best orders lie far from every rule. On the others with several chunks, local search of large problems
 * finds little, the less the more chunks there are. Large problems share it among the placements that are searched. */
static int64_t default_budget(const zb_problem *problem, int placements) {
  const int64_t jobs = (int64_t)problem->stages * problem->micro_batches * ZB_KIND_COUNT;
  if (jobs <= SMALL_JOBS) return 12 * jobs;
  const int chunks = problem->stages / problem->ranks;
  const bool is_v = zb_is_placed_as_v(problem), is_plain = chunks == 1;
  int64_t budget = (is_v ? (jobs > MEDIUM_JOBS ? 100000000 : 180000000) : 12000000) / (jobs + 1);
  const int64_t most = is_v ? (jobs < 1150 ? 140 * jobs : 160000) : is_plain ? 3000 : 8000;
  if (!is_v && !is_plain)
    budget = (int64_t)(8000.0 / chunks / chunks * (1152.0 / (double)jobs) * sqrt(1152.0 / (double)jobs));
  /* Evaluations of large problems miss the caches, and come with several levels of memory. */
  if (jobs > 40000 && (is_v || is_plain)) budget = budget * 40000 / jobs / placements;
  if (jobs > ZB_JOBS_LARGE) budget = (is_plain ? LARGE_BUDGET : LARGE_BUDGET_CHUNKS) / jobs / placements;
  if (is_huge(problem))
    budget = (HUGE_BUDGET / jobs < HUGE_EVALUATIONS ? HUGE_BUDGET / jobs : HUGE_EVALUATIONS) / placements;
  const int64_t least = chunks > 2 && jobs <= ZB_JOBS_LARGE ? RULES_LEAST : 1;
  return budget < least ? least : budget > most ? most : budget;
}

/* Rises with the budget that is given, and is the default one, or more, where that is as much. */
static int64_t given_budget(const zb_problem *problem, int64_t given, int64_t by_default) {
  const int64_t jobs = (int64_t)problem->stages * problem->micro_batches * ZB_KIND_COUNT;
  const int64_t as_long = jobs > BUDGET_JOBS ? given / jobs * BUDGET_JOBS + given % jobs * BUDGET_JOBS / jobs : given;
  const int64_t most_by_default = given < by_default ? given : by_default;
  const int64_t least = by_default < BUDGET_LEAST ? by_default : BUDGET_LEAST;
  return zb_max64(as_long, zb_max64(most_by_default, least));
}

/* Below the memory of 1F1B many levels are searched, most of them for little; the first evaluations are worth most. Far
 * above it (1.25 times) orders by the first rules are near the bound, and of a huge problem a level takes a second. */
static int64_t budget_of_level(const searcher *s, int64_t bytes) {
  if (!s->is_default_budget || s->run.is_exact) return s->budget;
  const int64_t of_1f1b = zb_level_of_1f1b(&s->w);
  const int64_t least = s->budget < BUDGET_LEAST ? s->budget : BUDGET_LEAST;
  if (is_huge(s->problem) && bytes / 5 > of_1f1b / 4 + 1) return s->budget / LESS_BUDGET + 1;
  return bytes < of_1f1b ? zb_max64(s->budget / LESS_BUDGET + 1, least) : s->budget;
}

/* What an evaluation of local search takes where messages wait for their channel, in evaluations where none does, at
 * most: messages are timed with the jobs there, and again where a change is taken back (retime.h). Counted for V alone,
 * and not for few jobs: other searches are short without it. */
static int evaluation_cost(const searcher *s) {
  if (!s->run.improver.times.channels_wait || !zb_is_placed_as_v(s->problem) || s->w.jobs <= FEW_JOBS) return 1;
  return s->w.jobs > MEDIUM_JOBS ? WAITING_COST : FEW_WAITING_COST;
}

/* Searches that share a default budget: one of so many placements, one of so many metrics. */
typedef struct shares {
  int placements, metrics;
} shares;

static zb_status searcher_init(const zb_problem *problem, const zb_search_params *params, shares of, searcher *s) {
  *s = (searcher){.problem = problem, .best_ps = INT64_MAX, .least_start_ps = INT64_MAX};
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
  s->limits_differ = !all_alike(s->limit, s->w.ranks);
  s->seed = params ? params->seed : 0;
  const bool has_budget = params && params->budget > 0;
  s->is_default_budget = !has_budget;
  const int64_t by_default = zb_max64(default_budget(problem, of.placements) / evaluation_cost(s) / of.metrics, 1);
  s->budget = has_budget ? given_budget(problem, params->budget, by_default) : by_default;
  s->patience = has_budget || s->w.jobs <= SMALL_JOBS || !zb_is_placed_as_v(problem) ? 0 : PATIENCE;
  return NULL;
}

/* ---- Candidates ---- */

/* Whether an order keeps limits; remembers how closely. */
static bool keeps(searcher *s, const zb_slot *sequence, const int64_t *limit) {
  zb_sequence_peaks(&s->w, sequence, s->peak);
  for (int rank = 0; rank < s->w.ranks; ++rank)
    if (limit[rank] < s->peak[rank]) return false;
  for (int rank = 0; rank < s->w.ranks; ++rank)
    zb_note_room(&s->w, rank, limit[rank] - s->peak[rank]);
  return true;
}

static void take_best(searcher *s, const zb_slot *sequence, int64_t time) {
  if (time >= s->best_ps) return;
  s->best_ps = time;
  memcpy(s->best, sequence, s->w.jobs * sizeof *sequence);
}

/* The same of an order that a schedule has given. */
static void take_start(searcher *s, const char *name, const zb_slot *sequence, int64_t time) {
  if (time < s->best_ps) {
    s->best_start = name;
    s->best_start_ps = time;
  }
  take_best(s, sequence, time);
}

/* ---- Runs ---- */

/* Whether a schedule goes by memory and takes the problem; the slow ones or the others. */
static bool is_asked(const searcher *s, int index, bool slow) {
  const zb_schedule_def *schedule = zb_schedule_at(index);
  return schedule->within && schedule->is_slow == slow && zb_schedule_takes(schedule, s->problem);
}

static zb_status emit(const zb_schedule_def *schedule, const zb_problem *problem, zb_order *out) {
  zb_schedule_choice choice;
  zb_schedule_default(schedule, &choice);
  return zb_schedule_emit(&choice, problem, out);
}

/* The order that a schedule has emitted, into s->run.sequence; none where its rule is not defined or it has none. */
static zb_status read_emitted(searcher *s, zb_status status, zb_order *order, bool *found) {
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

/* The order of a schedule that goes by memory for s->run.level, into s->run.sequence. */
static zb_status ask(searcher *s, int index, const int64_t *most, int64_t less_than, zb_within_answer *out) {
  const zb_within_def *within = zb_schedule_at(index)->within;
  if (!s->within[index]) ZB_TRY(within->open(&s->w, &s->within[index]));
  const zb_within_request request = {s->run.level, most, less_than};
  ZB_TRY(within->ask(s->within[index], &request, s->run.sequence, out));
  if (out->found) s->w.evaluations += ZB_RULES_FIXED;
  return NULL;
}

/* The schedules that go by memory, the slow ones or the others, for the limits of the run. Lowers *slack (may be NULL)
 * to what they say the same within. */
static zb_status try_within(searcher *s, bool slow, int64_t less_than, int64_t *slack) {
  for (int i = 0; i < zb_schedule_count() && s->run.incumbent_ps[0] > s->run.bound_ps; ++i) {
    zb_within_answer answer;
    if (!is_asked(s, i, slow)) continue;
    ZB_TRY(ask(s, i, s->run.level, less_than, &answer));
    if (slack && answer.slack_bytes < *slack) *slack = answer.slack_bytes;
    if (answer.found && keeps(s, s->run.sequence, s->run.level)) zb_run_evaluate(&s->run);
  }
  return NULL;
}

/* ---- Levels ---- */

/* Lower bound for what keeps s->run.level and the limits of the problem. */
static int64_t bound_of_level(const searcher *s) {
  for (int rank = 0; rank < s->w.ranks; ++rank)
    s->peak[rank] = s->run.level[rank] < s->limit[rank] ? s->run.level[rank] : s->limit[rank];
  return zb_bounds_within(s->bounds, s->peak);
}

/* What a bound leaves a rank idle that has the most work. */
static int64_t idle_of(const searcher *s, int64_t bound) {
  return bound > s->run.improver.reference ? bound - s->run.improver.reference : 0;
}

/* The highest limit of all ranks. */
static int64_t most_of(const searcher *s, const int64_t *limits) { return zb_most_of(limits, s->w.ranks, 0); }

/* Whether a run of this level, with whatever limit it is part of, has this start. */
static bool is_made_for_less(searcher *s, const start_order *start) {
  const int64_t most = most_of(s, s->run.level);
  if (start->made_for > most) return false;
  if (start->made_for > 0 && most - start->made_for < s->w.slack) s->w.slack = most - start->made_for;
  return true;
}

/* One chunk a rank: a short local search of the best start, where jobs are few enough for it to take no time. */
static int64_t settle_moves(const searcher *s) {
  const int64_t jobs = (int64_t)s->w.jobs, affordable = SETTLE_JOBS / jobs;
  if (s->w.chunks > 1 || affordable < SETTLE_LEAST) return 0;
  return affordable < SETTLE_PER_JOB * jobs ? affordable : SETTLE_PER_JOB * jobs;
}

/* Whether the last level that was run began with an order so much behind the best one of all levels. */
static bool is_behind(const searcher *s, double share) {
  return s->run.is_perturbed && s->w.jobs > MEDIUM_JOBS &&
         (double)(s->level_start_ps - s->least_start_ps) > share * (double)s->least_start_ps;
}

/* The same of the order that the run found, on the other placements with several chunks. */
static bool is_found_behind(const searcher *s, double share) {
  const int64_t time = s->run.incumbent_ps[0];
  return !s->run.is_perturbed && s->w.chunks > 1 && s->w.jobs > MEDIUM_JOBS && time < INT64_MAX &&
         (double)(time - s->best_ps) > share * (double)s->best_ps;
}

/* On the V placement, in no more than the memory of 1F1B: there what the schedules that go by memory give is ahead of
 * every order by fixed rules, which would take a fifth of a search. With more memory these are what reaches the bound.
 */
static bool is_beyond_rules(searcher *s) {
  bool asks = false;
  for (int i = 0; i < zb_schedule_count(); ++i)
    asks |= is_asked(s, i, false);
  return asks && s->run.is_perturbed && s->w.jobs > MEDIUM_JOBS && most_of(s, s->run.level) <= zb_level_of_1f1b(&s->w);
}

/* One run: the best orders for the limits of s->run.level. */
static zb_status run_level(searcher *s) {
  zb_run *run = &s->run;
  run->random = s->seed * UINT64_C(0x9E3779B97F4A7C15) + 1;
  if (run->random == 0) run->random = 1;
  run->bound_ps = bound_of_level(s);
  if (!run->is_exact) run->idle_ps = idle_of(s, run->bound_ps);
  s->w.slack = INT64_MAX;
  const int64_t budget = budget_of_level(s, most_of(s, run->level));
  zb_run_begin(run, budget, s->patience);
  if (s->is_default_budget)
    run->perturbations = PERTURBED_JOBS / (int64_t)s->w.jobs / (budget < s->budget ? LESS_BUDGET : 1) + 1;
  if (s->is_default_budget && run->is_perturbed) run->refinements = REFINED_JOBS / (int64_t)s->w.jobs;
  for (int i = 0; i < s->start_count; ++i)
    if (is_made_for_less(s, &s->starts[i]) && keeps(s, s->starts[i].sequence, run->level))
      zb_run_take(run, s->starts[i].sequence, s->starts[i].time);
  if (run->is_exact) {
    zb_run_rounds(run);
  } else {
    ZB_TRY(try_within(s, false, INT64_MAX, NULL));
    if (!zb_run_is_over(run) && !is_beyond_rules(s)) zb_run_fixed_rules(run);
    if (!zb_run_is_over(run)) zb_run_settle(run, settle_moves(s));
    const bool is_far = zb_run_gap(run) > SLOW_FROM;
    if (is_far) ZB_TRY(try_within(s, true, run->incumbent_ps[0], NULL));
    s->level_start_ps = run->incumbent_ps[0];
    if (s->level_start_ps < s->least_start_ps) s->least_start_ps = s->level_start_ps;
    if (!is_behind(s, BEHIND_ROUNDS)) zb_run_rounds(run);
    if (!is_far)
      ZB_TRY(try_within(s, true, run->incumbent_ps[0] < s->best_ps ? run->incumbent_ps[0] : s->best_ps, NULL));
  }
  ++s->runs;
  if (run->incumbent_ps[0] < INT64_MAX) take_best(s, run->incumbent[0], run->incumbent_ps[0]);
  return NULL;
}

/* False: no order can be better with these limits than the best one there is, or that of another placement. */
static bool is_worth(searcher *s) {
  const int64_t bound = bound_of_level(s);
  return bound < s->best_ps && bound < s->known_ps;
}

static void lower_to(searcher *s, int64_t bytes) {
  for (int rank = 0; rank < s->w.ranks; ++rank) {
    s->run.level[rank] = s->limit[rank] < bytes ? s->limit[rank] : bytes;
    s->w.spare[rank] = bytes - s->run.level[rank];
  }
}

/* The same for schedules whose orders need not take what they are given: a limit counts as the level above it. False:
 * that is no other one. */
static bool lower_above(searcher *s, int64_t bytes, int64_t (*above)(const zb_scheduler *w, int64_t bytes)) {
  bool differs = false;
  for (int rank = 0; rank < s->w.ranks; ++rank) {
    const bool counts = s->limit[rank] < bytes && bytes <= above(&s->w, s->limit[rank]);
    s->run.level[rank] = counts || s->limit[rank] > bytes ? bytes : s->limit[rank];
    s->w.spare[rank] = 0;
    differs |= counts;
  }
  return differs;
}

static int64_t fine_above(const zb_scheduler *w, int64_t bytes) { return zb_level_fine(w, bytes, true); }

/* Whether one micro-batch at a time keeps the limits of s->run.level. */
static bool is_feasible(searcher *s) {
  for (int rank = 0; rank < s->w.ranks; ++rank)
    if (s->least[rank] > s->run.level[rank]) return false;
  return true;
}

/* The orders of the schedules that go by memory, the slow ones or the others, for s->run.level: the best that keeps the
 * limits of the problem. *slack: with levels lowered by no more there is no other one. */
static zb_status ask_within(searcher *s, bool slow, int64_t *slack) {
  *slack = INT64_MAX;
  for (int i = 0; i < zb_schedule_count(); ++i) {
    zb_within_answer answer;
    zb_timing timing;
    if (!is_asked(s, i, slow)) continue;
    ZB_TRY(ask(s, i, s->limit, s->best_ps, &answer));
    if (answer.slack_bytes < *slack) *slack = answer.slack_bytes;
    if (answer.found && keeps(s, s->run.sequence, s->limit) &&
        zb_time_sequence(&s->w, s->run.sequence, &timing, NULL, NULL))
      take_start(s, zb_schedule_at(i)->name, s->run.sequence, zb_metric_time(&s->w, &timing));
  }
  return NULL;
}

/* Where limits differ between ranks: what the schedules say where all have that much. An order that was made so, and
 * takes less on some ranks, is found where these have no more. */
static zb_status ask_alike(searcher *s, bool slow, int64_t bytes, int64_t *slack) {
  int64_t slack_alike;
  if (!s->limits_differ) return NULL;
  for (int rank = 0; rank < s->w.ranks; ++rank) {
    s->run.level[rank] = bytes;
    s->w.spare[rank] = 0;
  }
  ZB_TRY(ask_within(s, slow, &slack_alike));
  if (slack_alike < *slack) *slack = slack_alike;
  return NULL;
}

/* A level: a run, or half way between two the slow schedules. What is asked for a level above the limit of a rank, but
 * below its next one, is asked for again with that. */
static zb_status try_level(searcher *s, int level) {
  const int64_t bytes = zb_level_bytes(&s->w, level);
  int64_t slack = INT64_MAX;
  ZB_TRY(ask_alike(s, true, bytes, &slack));
  if (lower_above(s, bytes, zb_level_above)) ZB_TRY(ask_within(s, true, &slack));
  lower_to(s, bytes);
  return zb_level_is_half(&s->w, level) ? ask_within(s, true, &slack) : run_level(s);
}

/* The best order of the fast schedules for a fine level, and a short local search of it, whatever the budget is: it is
 * what makes orders of this level as good as published ones. Lowers *slack to what all that says the same within. */
static zb_status polish_level(searcher *s, int64_t bytes, int64_t *slack) {
  zb_run *run = &s->run;
  const int64_t timed = POLISH_TIMED / (int64_t)s->w.jobs / evaluation_cost(s);
  const int64_t least = timed < POLISH_LEAST ? timed : POLISH_LEAST, most = POLISH_MOST * least;
  lower_to(s, bytes);
  run->random = UINT64_C(0x9E3779B97F4A7C15);
  run->bound_ps = 0; /* for all levels alike */
  zb_run_begin(run, most, POLISH_PATIENCE);
  ZB_TRY(try_within(s, false, INT64_MAX, slack));
  s->w.slack = INT64_MAX;
  zb_run_polish(run, least);
  if (s->w.slack < *slack) *slack = s->w.slack;
  if (run->incumbent_ps[0] < INT64_MAX) take_best(s, run->incumbent[0], run->incumbent_ps[0]);
  return NULL;
}

/* On the V placement, where runs are a micro-batch apart or more: local search finds something in a moment there. */
static bool is_polished(const searcher *s, int64_t bytes) {
  const bool is_apart = s->w.ranks >= 8 && bytes > zb_level_of_1f1b(&s->w);
  return s->run.is_perturbed && is_apart && s->w.jobs <= POLISH_JOBS && bytes <= most_of(s, s->limit);
}

/* The fast schedules for a fine level. *next: the one after which they say something else. */
static zb_status try_fine_level(searcher *s, int64_t bytes, int64_t *next) {
  int64_t slack = INT64_MAX;
  const bool is_other = lower_above(s, bytes, fine_above), is_polish = is_polished(s, bytes);
  if (is_other || !is_polish) ZB_TRY(ask_within(s, false, &slack));
  if (is_polish) ZB_TRY(polish_level(s, bytes, &slack));
  ZB_TRY(ask_alike(s, false, bytes, &slack));
  *next = slack >= bytes ? 0 : zb_level_fine(&s->w, bytes - slack - 1, false);
  return NULL;
}

/* The orders of the fast schedules for levels above the limit that need no more than it: a published order is found
 * with the memory that it takes, for whatever limit it was made. */
static zb_status ask_above(searcher *s) {
  const int64_t most = most_of(s, s->limit);
  for (int64_t bytes = zb_level_most(&s->w), slack; bytes > most;
       bytes = zb_level_next_above(&s->w, most, bytes, slack)) {
    lower_to(s, most);
    if (!is_worth(s)) return NULL;
    for (int rank = 0; rank < s->w.ranks; ++rank) {
      s->run.level[rank] = bytes;
      s->w.spare[rank] = 0;
    }
    ZB_TRY(ask_within(s, false, &slack));
  }
  return NULL;
}

/* All levels within the limit and the fine one above it, the highest first. A run asks the fast schedules itself. */
static zb_status run_levels(searcher *s, bool only_fine) {
  const int64_t most = most_of(s, s->limit), above = zb_level_above(&s->w, most);
  int level = only_fine ? 0 : zb_level_within(&s->w, most);
  int64_t fine = fine_above(&s->w, most), slack;
  while (level > 0 || fine > 0) {
    const int64_t bytes = level > 0 ? zb_level_bytes(&s->w, level) : 0;
    lower_to(s, bytes > fine ? bytes : fine);
    if (!is_feasible(s) || !is_worth(s)) break;
    if (bytes < fine) {
      ZB_TRY(try_fine_level(s, fine, &fine));
      continue;
    }
    const bool is_run = !zb_level_is_half(&s->w, level) && !lower_above(s, fine, fine_above) && !s->limits_differ;
    if (bytes == fine && is_run) fine = zb_level_fine(&s->w, fine - 1, false);
    ZB_TRY(try_level(s, level));
    if (is_behind(s, BEHIND_END) || is_found_behind(s, is_huge(s->problem) ? BEHIND_LAST_HUGE : BEHIND_LAST)) break;
    level = zb_level_below(&s->w, level, is_found_behind(s, 0));
  }
  ZB_TRY(ask_above(s));
  lower_to(s, most);
  if (above == most || !is_worth(s)) return NULL;
  lower_above(s, above, zb_level_above);
  ZB_TRY(ask_within(s, true, &slack));
  return ask_alike(s, true, above, &slack);
}

/* Tries all orders within s->run.level that could be faster than the best, as far as the budget goes. */
static zb_status try_all(searcher *s, bool *is_complete) {
  const int64_t states = s->budget < STATES_MAX / STATES ? s->budget * STATES : STATES_MAX;
  const zb_exact_params params = {.limit = s->run.level, .known_ps = s->best_ps, .states = states};
  zb_exact_result result;
  ZB_TRY(zb_exact_search(&s->w, &params, s->run.sequence, &result));
  s->w.evaluations += result.states / STATES;
  *is_complete = result.is_complete;
  take_best(s, s->run.sequence, result.best_ps);
  return NULL;
}

/* How far apart exact levels are at least: a byte, which leaves no more than there are sums of what jobs keep; or,
 * where hardly any two jobs keep the same, so that these may be tens of thousands, a LEVELSth of what everything takes.
 * Fixed for a problem. */
static int64_t exact_step(const searcher *s) {
  int64_t unit = 0;
  for (int class = 0; class < s->w.classes; ++class) {
    unit = zb_common_divisor(unit, s->w.forwards.keep[class]);
    unit = zb_common_divisor(unit, s->w.forwards.release[class]);
  }
  const int64_t most = zb_level_most(&s->w);
  if (zb_exact_is_possible(&s->w) || unit == 0 || most / unit <= LEVELS) return 1;
  return most / LEVELS;
}

/* Every limit at which any decision of a run changes, as far as they are not too close. Where all orders have been
 * tried within one, those below have no better one. */
static zb_status run_exact_levels(searcher *s) {
  const bool is_small = zb_exact_is_possible(&s->w);
  const int64_t step = exact_step(s);
  for (int64_t bytes = most_of(s, s->limit) / step * step;;) {
    bool is_complete = false;
    lower_to(s, bytes);
    if (!is_feasible(s) || !is_worth(s)) return NULL;
    ZB_TRY(run_level(s));
    if (is_small && is_worth(s)) ZB_TRY(try_all(s, &is_complete));
    s->is_complete |= is_complete && s->runs == 1;
    if (is_complete || s->w.slack >= bytes) return NULL;
    bytes = (bytes - s->w.slack - 1) / step * step;
  }
}

/* ---- Starts ---- */

/* Takes s->run.sequence as a start if it keeps the limits of the problem and can finish. */
static zb_status add_start(searcher *s, const char *name, int64_t made_for) {
  zb_timing timing;
  if (!keeps(s, s->run.sequence, s->limit) || !zb_time_sequence(&s->w, s->run.sequence, &timing, NULL, NULL))
    return NULL;
  start_order *const grown = zb_realloc(s->starts, ((size_t)s->start_count + 1) * sizeof *grown);
  if (!grown) return ZB_OUT_OF_MEMORY();
  s->starts = grown;
  start_order *x = &grown[s->start_count];
  *x = (start_order){.time = zb_metric_time(&s->w, &timing), .made_for = made_for};
  ZB_TAKE(s->w.arena, x->sequence, s->w.jobs);
  ZB_TRY(zb_arena_status(s->w.arena));
  ++s->start_count;
  memcpy(x->sequence, s->run.sequence, s->w.jobs * sizeof *x->sequence);
  take_start(s, name, x->sequence, x->time);
  return NULL;
}

/* What a row gives without a limit, in s->run.sequence. Of one that goes by memory, that for all memory: the levels
 * below are asked for as levels. */
static zb_status read_row(searcher *s, int index, bool *found) {
  const zb_schedule_def *schedule = zb_schedule_at(index);
  zb_order order;
  if (!schedule->within) return read_emitted(s, emit(schedule, s->problem, &order), &order, found);
  zb_within_answer answer = {.found = false};
  lower_to(s, zb_level_most(&s->w));
  if (zb_schedule_takes(schedule, s->problem)) ZB_TRY(ask(s, index, s->run.level, INT64_MAX, &answer));
  *found = answer.found;
  return NULL;
}

/* Every row of the table that takes this problem, until one is as fast as the lower bound. */
static zb_status add_rows(searcher *s) {
  const int64_t bound = zb_lower_bound(s->problem);
  bool is_limited = false;
  for (int rank = 0; rank < s->w.ranks; ++rank)
    is_limited |= zb_rank_limit(s->problem, rank) > 0;
  for (int i = 0; i < zb_schedule_count() && s->best_ps > bound; ++i) {
    const zb_schedule_def *schedule = zb_schedule_at(i);
    const bool by_memory = schedule->within != NULL;
    if (schedule->searches || (by_memory && is_limited) || schedule->two_pipelines) continue;
    bool found;
    ZB_TRY(read_row(s, i, &found));
    if (!found) continue;
    ++s->rows;
    ZB_TRY(add_start(s, schedule->name, by_memory ? INT64_MAX : 0));
  }
  return NULL;
}

/* The schedules that go by memory, for every level within the limits: what exact levels, whose rules do not know their
 * limits, start from. */
static zb_status add_within(searcher *s, int index) {
  for (int level = zb_level_within(&s->w, most_of(s, s->limit)); level > 0; --level) {
    const int64_t bytes = zb_level_bytes(&s->w, level);
    lower_to(s, bytes);
    if (!is_feasible(s)) return NULL;
    zb_within_answer answer;
    ZB_TRY(ask(s, index, s->run.level, INT64_MAX, &answer));
    if (answer.found) ZB_TRY(add_start(s, zb_schedule_at(index)->name, bytes));
  }
  return NULL;
}

static zb_status too_little(const searcher *s) {
  int worst = -1;
  for (int rank = 0; rank < s->w.ranks; ++rank)
    if (s->least[rank] > s->limit[rank] &&
        (worst < 0 || s->least[rank] - s->limit[rank] > s->least[worst] - s->limit[worst]))
      worst = rank;
  return zb_status_hint(
      ZB_ERROR(INFEASIBLE,
               "no order fits: one micro-batch alone needs %" PRId64 " bytes on rank %d, and the limit is %" PRId64,
               s->least[worst], worst, s->limit[worst]),
      "give %" PRId64 " bytes or more a rank, or use smaller micro-batches or more ranks", s->least[worst]);
}

/* ---- The same time in less memory ---- */

static int64_t peak_of(searcher *s, const zb_slot *sequence) {
  zb_sequence_peaks(&s->w, sequence, s->peak);
  return most_of(s, s->peak);
}

/* An order within s->run.level that is as fast as the best one: one of the starts, or what the fixed rules build. A
 * faster one does not count: where it is looked for depends on the limit, so more memory might miss it. */
static bool try_as_fast(searcher *s, int64_t budget) {
  zb_run *run = &s->run;
  run->bound_ps = s->best_ps;
  zb_run_begin(run, budget, 0);
  for (int i = 0; i < s->start_count && !zb_run_is_over(run); ++i)
    if (keeps(s, s->starts[i].sequence, run->level)) zb_run_take(run, s->starts[i].sequence, s->starts[i].time);
  if (!zb_run_is_over(run)) zb_run_fixed_rules(run);
  return run->incumbent_ps[0] == s->best_ps;
}

/* Bisects the memory that an order as fast as the best one needs: the runs went by time alone, and where memory is
 * plenty they use all of it. Fixed rules are what finds such orders; local search and other schedules hardly add any.
 */
static void save_memory(searcher *s) {
  const int64_t share = s->w.evaluations / SAVING_SHARE + 1;
  const int64_t budget = zb_max64(share, SAVING_JOBS / (int64_t)s->w.jobs);
  int64_t most = peak_of(s, s->best), least = most_of(s, s->least) - 1;
  for (int i = 0; i < SAVINGS && most - least > most / SAVING_STEP; ++i) {
    const int64_t bytes = least + (most - least) / 2;
    lower_to(s, bytes);
    if (!is_feasible(s) || bound_of_level(s) > s->best_ps || !try_as_fast(s, budget)) {
      least = bytes;
      continue;
    }
    memcpy(s->best, s->run.incumbent[0], s->w.jobs * sizeof *s->best);
    most = peak_of(s, s->best);
  }
}

/* ---- The public functions ---- */

static void fill_report(const searcher *s, zb_search_report *report) {
  *report = (zb_search_report){
      .evaluations = s->w.evaluations, .best_ps = s->best_ps, .bound_ps = zb_lower_bound(s->problem)};
  const bool is_optimal = s->is_complete && s->problem->metric == ZB_METRIC_BARRIER;
  const char *proof = report->best_ps <= report->bound_ps ? "; no order is faster"
                      : is_optimal                        ? "; all orders were tried, none is faster"
                      : s->is_complete                    ? "; all orders with rising micro-batches were tried"
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

static zb_status search(searcher *s) {
  zb_sequence_least(&s->w, s->run.sequence, s->least);
  memcpy(s->run.level, s->limit, (size_t)s->w.ranks * sizeof *s->run.level);
  if (!is_feasible(s)) return too_little(s);
  ZB_TRY(add_start(s, NULL, 0)); /* the order with the least memory */
  ZB_TRY(add_rows(s));
  s->row_starts = s->start_count - 1;
  s->run.is_exact = s->w.jobs <= SMALL_JOBS;
  s->run.is_perturbed = !s->run.is_exact && zb_is_placed_as_v(s->problem);
  if (s->run.is_exact) {
    if (zb_exact_is_possible(&s->w) && s->best_ps > zb_lower_bound(s->problem)) {
      lower_to(s, most_of(s, s->limit));
      ZB_TRY(try_all(s, &s->is_complete));
      if (s->is_complete) return NULL;
    }
    for (int i = 0; i < zb_schedule_count(); ++i)
      if (is_asked(s, i, false) || is_asked(s, i, true)) ZB_TRY(add_within(s, i));
    zb_problem unlimited = *s->problem;
    unlimited.rank_limit_bytes = NULL;
    unlimited.memory_limit_bytes = 0;
    s->run.idle_ps = idle_of(s, zb_lower_bound(&unlimited));
    ZB_TRY(run_levels(s, true));
    return run_exact_levels(s);
  }
  return run_levels(s, false);
}

/* A search of one of some placements, where an order of another one that takes known_ps is there already (INT64_MAX:
 * none is): only a faster one is looked for. */
static zb_status search_beside(const zb_problem *problem, const zb_search_params *params, shares of, int64_t known_ps,
                               zb_order *order, zb_search_report *report) {
  if (problem->metric == ZB_METRIC_PERIOD) return zb_search_period(problem, params, order, report);
  *order = (zb_order){0};
  searcher s;
  zb_status status = searcher_init(problem, params, of, &s);
  s.known_ps = known_ps;
  if (!status) status = search(&s);
  if (!status && s.best_ps < known_ps) save_memory(&s);
  if (!status) {
    zb_sequence_renumber(&s.w, s.best, s.scratch);
    status = zb_sequence_write(&s.w, s.best, order);
  }
  if (!status && report) fill_report(&s, report);
  searcher_deinit(&s);
  return status;
}

zb_status zb_search(const zb_problem *problem, const zb_search_params *params, zb_order *order,
                    zb_search_report *report) {
  return search_beside(problem, params, (shares){1, 1}, INT64_MAX, order, report);
}

zb_status zb_search_one_of(const zb_problem *problem, const zb_search_params *params, int parts, zb_order *order,
                           zb_search_report *report) {
  return search_beside(problem, params, (shares){1, parts}, INT64_MAX, order, report);
}

/* Searches one placement and keeps the answer if it is the best so far. */
static zb_status search_one(const zb_problem *problem, const zb_search_params *params, int placements, const char *name,
                            int *stage_rank, zb_order *order, zb_search_report *best) {
  zb_order found;
  zb_search_report report;
  ZB_TRY(search_beside(problem, params, (shares){placements, 1}, order->jobs ? best->best_ps : INT64_MAX, &found,
                       &report));
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
  bool is_new = zb_placement_takes(placement, chunks) && all_alike(problem->base_bytes, problem->ranks) &&
                all_alike(problem->optimizer_ps, problem->ranks);
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
  const zb_search_params params = {.budget = options[0], .seed = (uint64_t)options[1]};
  zb_order found;
  ZB_TRY(zb_search(problem, &params, &found, NULL));
  zb_order_deinit(out);
  *out = found;
  return NULL;
}

static const zb_schedule_option search_options[] = {
    {"budget", 0, 0, 1000000000,
     "orders to build or time for each memory limit tried, of more than 1200 jobs as many as take that long (2000000: "
     "half a minute a limit); 0: by the size of the problem"},
    {"seed", 0, 0, INT32_MAX, "another seed, another search"},
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
