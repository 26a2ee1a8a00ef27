/* The runs of a search at levels of memory: which levels, in which order, and what is asked at each.
 *
 * Why more memory is never worse by that: search_span.c. Tests: test/passes/schedule/search_test.c,
 * search_exact_test.c.
 */
#include "passes/schedule/search/exact.h"
#include "passes/schedule/search/registry.h"
#include "passes/schedule/search/searcher.h"

#include <string.h>

/* On the V placement, with more jobs than ZB_SEARCH_MEDIUM_JOBS: a level whose order before the rounds takes so much
 * longer than the best such order of the levels above it has no rounds, or ends the search. */
static const double BEHIND_ROUNDS = 0.04, BEHIND_END = 0.12;
/* On the other placements with several chunks: where the order of a level takes so much longer than the best one, every
 * second level follows, or none. Wider, because there one level may have an order by luck that others have not; less so
 * for huge problems, of which a level takes a second. */
typedef struct margins {
  double second, last;
} margins;
static const margins BEHIND = {0.02, 0.15}, BEHIND_HUGE = {0.001, 0.01};
/* Exact levels of a problem at most, about. */
enum { LEVELS = 1024 };
/* States of the search of all orders that take about as long as one evaluation. */
enum { STATES = 64 };
/* The most of them: each takes some hundred bytes. */
enum { STATES_MAX = 500000 };
/* Jobs of all orders that are built to perturb one, by default: an evaluation takes a fraction of such a build. */
enum { PERTURBED_JOBS = 12000000 };
/* Jobs of all orders of a level that are built again to refine one, by default, on the V placement, which has many
 * levels. */
enum { REFINED_JOBS = 1000000 };
/* Local search of a fine level: evaluations at least, but no more than time so many jobs; up to how many times these,
 * and of what the last better order came after; in problems of at most so many jobs. */
enum { POLISH_LEAST = 500, POLISH_TIMED = 600000, POLISH_MOST = 13, POLISH_PATIENCE = 6, POLISH_JOBS = 14000 };
/* The local search of the best start: jobs that it may time, evaluations a job, and the least that are worth it. */
enum { SETTLE_JOBS = 1500000, SETTLE_PER_JOB = 5, SETTLE_LEAST = 100 };
/* Slow schedules are asked before the rounds, as a start, where the order is further from the bound than this share of
 * its time; else behind them, where most of their orders are given up soon. */
static const double SLOW_FROM = 0.02;

/* ---- Candidates ---- */

bool zb_searcher_keeps(zb_searcher *s, const zb_slot *sequence, const int64_t *limit) {
  zb_sequence_peaks(&s->w, sequence, s->peak);
  for (int rank = 0; rank < s->w.ranks; ++rank)
    if (limit[rank] < s->peak[rank]) return false;
  for (int rank = 0; rank < s->w.ranks; ++rank)
    zb_note_room(&s->w, rank, limit[rank] - s->peak[rank]);
  return true;
}

static void take_best(zb_searcher *s, const zb_slot *sequence, int64_t time) {
  if (time >= s->best_ps) return;
  s->best_ps = time;
  memcpy(s->best, sequence, s->w.jobs * sizeof *sequence);
}

/* Shows the judge, if there is one, an order that keeps the limits of the problem and was made for a level of so many
 * bytes (0: for none). */
static zb_status show(zb_searcher *s, const zb_slot *sequence, int64_t level) {
  if (!s->judge) return NULL;
  zb_sequence_peaks(&s->w, sequence, s->peak);
  const int64_t bytes = zb_max64(level, zb_searcher_most(s, s->peak));
  if (sequence != s->run.sequence) memcpy(s->run.sequence, sequence, s->w.jobs * sizeof *sequence);
  zb_sequence_renumber(&s->w, s->run.sequence, s->scratch);
  return zb_judge_show(s->judge, &s->w, s->run.sequence, bytes);
}

zb_status zb_searcher_take_start(zb_searcher *s, const char *name, const zb_slot *sequence, int64_t time,
                                 int64_t level) {
  if (time < s->best_ps) {
    s->best_start = name;
    s->best_start_ps = time;
  }
  take_best(s, sequence, time);
  return show(s, sequence, level);
}

/* ---- Runs ---- */

bool zb_searcher_is_asked(const zb_searcher *s, int index, bool slow) {
  const zb_schedule_def *schedule = zb_schedule_at(index);
  return schedule->within && schedule->is_slow == slow && zb_schedule_takes(schedule, s->problem);
}

zb_status zb_searcher_ask(zb_searcher *s, int index, const int64_t *most, int64_t less_than, zb_within_answer *out) {
  const zb_within_def *within = zb_schedule_at(index)->within;
  if (!s->within[index]) ZB_TRY(within->open(&s->w, &s->within[index]));
  const zb_within_request request = {s->run.level, most, less_than};
  ZB_TRY(within->ask(s->within[index], &request, s->run.sequence, out));
  if (out->found) s->w.evaluations += ZB_RULES_FIXED;
  return NULL;
}

/* The schedules that go by memory, the slow ones or the others, for the limits of the run. Lowers *slack (may be NULL)
 * to what they say the same within. */
static zb_status try_within(zb_searcher *s, bool slow, int64_t less_than, int64_t *slack) {
  for (int i = 0; i < zb_schedule_count() && s->run.incumbent_ps[0] > s->run.bound_ps; ++i) {
    zb_within_answer answer;
    if (!zb_searcher_is_asked(s, i, slow)) continue;
    ZB_TRY(zb_searcher_ask(s, i, s->run.level, less_than, &answer));
    if (slack && answer.slack_bytes < *slack) *slack = answer.slack_bytes;
    if (!answer.found || !zb_searcher_keeps(s, s->run.sequence, s->run.level)) continue;
    zb_run_evaluate(&s->run);
    ZB_TRY(show(s, s->run.sequence, zb_searcher_most(s, s->run.level)));
  }
  return NULL;
}

/* ---- Levels ---- */

/* What keeps s->run.level and the limits of the problem keeps these. */
static const int64_t *lower_limits(const zb_searcher *s) {
  for (int rank = 0; rank < s->w.ranks; ++rank)
    s->peak[rank] = s->run.level[rank] < s->limit[rank] ? s->run.level[rank] : s->limit[rank];
  return s->peak;
}

int64_t zb_searcher_bound(const zb_searcher *s) { return zb_bounds_within(s->bounds, lower_limits(s)); }

int64_t zb_searcher_idle(const zb_searcher *s, int64_t bound) {
  return bound > s->run.improver.reference ? bound - s->run.improver.reference : 0;
}

int64_t zb_searcher_most(const zb_searcher *s, const int64_t *limits) { return zb_most_of(limits, s->w.ranks, 0); }

/* Whether a run of this level, with whatever limit it is part of, has this start. */
static bool is_made_for_less(zb_searcher *s, const zb_start_order *start) {
  const int64_t most = zb_searcher_most(s, s->run.level);
  if (start->made_for > most) return false;
  if (start->made_for > 0 && most - start->made_for < s->w.slack) s->w.slack = most - start->made_for;
  return true;
}

/* One chunk a rank: a short local search of the best start, where jobs are few enough for it to take no time. */
static int64_t settle_moves(const zb_searcher *s) {
  const int64_t jobs = (int64_t)s->w.jobs, affordable = SETTLE_JOBS / jobs;
  if (s->w.chunks > 1 || affordable < SETTLE_LEAST) return 0;
  return affordable < SETTLE_PER_JOB * jobs ? affordable : SETTLE_PER_JOB * jobs;
}

/* Whether the last level that was run began with an order so much behind the best one of all levels. */
static bool is_behind(const zb_searcher *s, double share) {
  return s->run.is_perturbed && s->w.jobs > ZB_SEARCH_MEDIUM_JOBS &&
         (double)(s->level_start_ps - s->least_start_ps) > share * (double)s->least_start_ps;
}

/* The same of the order that the run found, on the other placements with several chunks; to the judge, the best of
 * those that were made for no more. */
static bool is_found_behind(const zb_searcher *s, double share) {
  const int64_t time = s->run.incumbent_ps[0];
  if (s->run.is_perturbed || s->w.chunks == 1 || s->w.jobs <= ZB_SEARCH_MEDIUM_JOBS || time == INT64_MAX) return false;
  if (s->judge) return zb_judge_behind(s->judge, zb_searcher_most(s, s->run.level)) > share;
  return (double)(time - s->best_ps) > share * (double)s->best_ps;
}

/* On the V placement, in no more than the memory of 1F1B: there what the schedules that go by memory give is ahead of
 * every order by fixed rules, which would take a fifth of a search. With more memory these are what reaches the bound.
 */
static bool is_beyond_rules(zb_searcher *s) {
  bool asks = false;
  for (int i = 0; i < zb_schedule_count(); ++i)
    asks |= zb_searcher_is_asked(s, i, false);
  return asks && s->run.is_perturbed && s->w.jobs > ZB_SEARCH_MEDIUM_JOBS &&
         zb_searcher_most(s, s->run.level) <= zb_level_of_1f1b(&s->w);
}

/* The time that only a faster order of this run is of use below. The judge wants all of them. */
static int64_t time_to_beat(const zb_searcher *s) {
  const int64_t own = s->run.incumbent_ps[0];
  return s->judge || own < s->best_ps ? own : s->best_ps;
}

/* Shows the judge what the run found. */
static zb_status show_run(zb_searcher *s) {
  for (int i = 0; s->judge && i < ZB_RUN_INCUMBENTS && s->run.incumbent_ps[i] < INT64_MAX; ++i)
    ZB_TRY(show(s, s->run.incumbent[i], zb_searcher_most(s, s->run.level)));
  return NULL;
}

/* One run: the best orders for the limits of s->run.level. */
static zb_status run_level(zb_searcher *s) {
  zb_run *run = &s->run;
  run->random = s->seed * UINT64_C(0x9E3779B97F4A7C15) + 1;
  if (run->random == 0) run->random = 1;
  run->bound_ps = zb_searcher_bound(s);
  if (!run->is_exact) run->idle_ps = zb_searcher_idle(s, run->bound_ps);
  s->w.slack = INT64_MAX;
  const int64_t budget = zb_searcher_budget(s, zb_searcher_most(s, run->level));
  zb_run_begin(run, budget, s->patience);
  if (s->is_default_budget)
    run->perturbations = PERTURBED_JOBS / (int64_t)s->w.jobs / (budget < s->budget ? ZB_SEARCH_LESS_BUDGET : 1) + 1;
  if (s->is_default_budget && run->is_perturbed) run->refinements = REFINED_JOBS / (int64_t)s->w.jobs;
  for (int i = 0; i < s->start_count; ++i)
    if (is_made_for_less(s, &s->starts[i]) && zb_searcher_keeps(s, s->starts[i].sequence, run->level))
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
    if (!is_far) ZB_TRY(try_within(s, true, time_to_beat(s), NULL));
  }
  ++s->runs;
  if (run->incumbent_ps[0] < INT64_MAX) take_best(s, run->incumbent[0], run->incumbent_ps[0]);
  return show_run(s);
}

/* False: no order can be better with these limits than the best one there is, or that of another placement; or the
 * watch of the problem ends the search. */
static bool is_worth(zb_searcher *s) {
  if (!zb_scheduler_goes_on(&s->w)) return false;
  if (s->judge) return zb_judge_hopes(s->judge, lower_limits(s));
  const int64_t bound = zb_searcher_bound(s);
  return bound < s->best_ps && bound < s->known_ps;
}

void zb_searcher_lower_to(zb_searcher *s, int64_t bytes) {
  for (int rank = 0; rank < s->w.ranks; ++rank) {
    s->run.level[rank] = s->limit[rank] < bytes ? s->limit[rank] : bytes;
    s->w.spare[rank] = bytes - s->run.level[rank];
  }
}

/* The same for schedules whose orders need not take what they are given: a limit counts as the level above it. False:
 * that is no other one. */
static bool lower_above(zb_searcher *s, int64_t bytes, int64_t (*above)(const zb_scheduler *w, int64_t bytes)) {
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

bool zb_searcher_is_feasible(zb_searcher *s) {
  for (int rank = 0; rank < s->w.ranks; ++rank)
    if (s->least[rank] > s->run.level[rank]) return false;
  return true;
}

/* The orders of the schedules that go by memory, the slow ones or the others, for s->run.level: the best that keeps the
 * limits of the problem. *slack: with levels lowered by no more there is no other one. */
static zb_status ask_within(zb_searcher *s, bool slow, int64_t *slack) {
  *slack = INT64_MAX;
  for (int i = 0; i < zb_schedule_count(); ++i) {
    zb_within_answer answer;
    zb_timing timing;
    if (!zb_searcher_is_asked(s, i, slow)) continue;
    ZB_TRY(zb_searcher_ask(s, i, s->judge ? lower_limits(s) : s->limit, s->judge ? INT64_MAX : s->best_ps, &answer));
    if (answer.slack_bytes < *slack) *slack = answer.slack_bytes;
    if (answer.found && zb_searcher_keeps(s, s->run.sequence, s->limit) &&
        zb_time_sequence(&s->w, s->run.sequence, &timing, NULL, NULL))
      ZB_TRY(zb_searcher_take_start(s, zb_schedule_at(i)->name, s->run.sequence, zb_metric_time(&s->w, &timing),
                                    zb_searcher_most(s, s->run.level)));
  }
  return NULL;
}

/* Where limits differ between ranks: what the schedules say where all have that much. An order that was made so, and
 * takes less on some ranks, is found where these have no more. */
static zb_status ask_alike(zb_searcher *s, bool slow, int64_t bytes, int64_t *slack) {
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
static zb_status try_level(zb_searcher *s, int level) {
  const int64_t bytes = zb_level_bytes(&s->w, level);
  int64_t slack = INT64_MAX;
  ZB_TRY(ask_alike(s, true, bytes, &slack));
  if (lower_above(s, bytes, zb_level_above)) ZB_TRY(ask_within(s, true, &slack));
  zb_searcher_lower_to(s, bytes);
  return zb_level_is_half(&s->w, level) ? ask_within(s, true, &slack) : run_level(s);
}

/* The best order of the fast schedules for a fine level, and a short local search of it, whatever the budget is: it is
 * what makes orders of this level as good as published ones. Lowers *slack to what all that says the same within. */
static zb_status polish_level(zb_searcher *s, int64_t bytes, int64_t *slack) {
  zb_run *run = &s->run;
  const int64_t timed = POLISH_TIMED / (int64_t)s->w.jobs / zb_searcher_evaluation_cost(s);
  const int64_t least = timed < POLISH_LEAST ? timed : POLISH_LEAST, most = POLISH_MOST * least;
  zb_searcher_lower_to(s, bytes);
  run->random = UINT64_C(0x9E3779B97F4A7C15);
  run->bound_ps = 0; /* for all levels alike */
  zb_run_begin(run, most, POLISH_PATIENCE);
  ZB_TRY(try_within(s, false, INT64_MAX, slack));
  s->w.slack = INT64_MAX;
  zb_run_polish(run, least);
  if (s->w.slack < *slack) *slack = s->w.slack;
  if (run->incumbent_ps[0] == INT64_MAX) return NULL;
  take_best(s, run->incumbent[0], run->incumbent_ps[0]);
  return show(s, run->incumbent[0], bytes);
}

/* On the V placement, where runs are a micro-batch apart or more: local search finds something in a moment there. */
static bool is_polished(const zb_searcher *s, int64_t bytes) {
  const bool is_apart = s->w.ranks >= 8 && bytes > zb_level_of_1f1b(&s->w);
  return s->run.is_perturbed && is_apart && s->w.jobs <= POLISH_JOBS && bytes <= zb_searcher_most(s, s->limit);
}

/* Of large problems by the period: above the memory of 1F1B one of the two searches asks at fine levels. It is that by
 * the barrier metric, by which the schedules themselves make orders for the period. */
static bool is_asked_once(const zb_searcher *s, int64_t bytes) {
  return s->judge && s->problem->metric == ZB_METRIC_STAGE && s->w.jobs > ZB_JOBS_LARGE &&
         bytes > zb_level_of_1f1b(&s->w);
}

/* The fast schedules for a fine level. *next: the one after which they say something else. */
static zb_status try_fine_level(zb_searcher *s, int64_t bytes, int64_t *next) {
  int64_t slack = INT64_MAX;
  const bool is_other = lower_above(s, bytes, fine_above), is_polish = is_polished(s, bytes);
  if (is_other || !is_polish) ZB_TRY(ask_within(s, false, &slack));
  if (is_polish) ZB_TRY(polish_level(s, bytes, &slack));
  ZB_TRY(ask_alike(s, false, bytes, &slack));
  if (s->judge && zb_exact_is_possible(&s->w)) {
    bool is_complete;
    zb_searcher_lower_to(s, bytes);
    if (bytes <= zb_searcher_most(s, s->limit)) ZB_TRY(zb_searcher_try_all(s, false, &is_complete));
    slack = 0; /* every fine level */
  }
  *next = slack >= bytes ? 0 : zb_level_fine(&s->w, bytes - slack - 1, false);
  return NULL;
}

/* The orders of the fast schedules for levels above the limit that need no more than it: a published order is found
 * with the memory that it takes, for whatever limit it was made. */
static zb_status ask_above(zb_searcher *s) {
  const int64_t most = zb_searcher_most(s, s->limit);
  for (int64_t bytes = zb_level_most(&s->w), slack; bytes > most;
       bytes = zb_level_next_above(&s->w, most, bytes, slack)) {
    zb_searcher_lower_to(s, most);
    if (!is_worth(s)) return NULL;
    for (int rank = 0; rank < s->w.ranks; ++rank) {
      s->run.level[rank] = bytes;
      s->w.spare[rank] = 0;
    }
    ZB_TRY(ask_within(s, false, &slack));
  }
  return NULL;
}

/* A run asks the fast schedules itself. */
zb_status zb_searcher_run_levels(zb_searcher *s, bool only_fine) {
  const int64_t most = zb_searcher_most(s, s->limit), above = zb_level_above(&s->w, most);
  const margins *const behind = zb_searcher_is_huge(s->problem) ? &BEHIND_HUGE : &BEHIND;
  int level = only_fine ? 0 : zb_level_within(&s->w, most);
  int64_t fine = fine_above(&s->w, most), slack;
  while (level > 0 || fine > 0) {
    const int64_t bytes = level > 0 ? zb_level_bytes(&s->w, level) : 0;
    zb_searcher_lower_to(s, bytes > fine ? bytes : fine);
    if (!zb_searcher_is_feasible(s) || !is_worth(s)) break;
    if (bytes < fine) {
      if (is_asked_once(s, fine))
        fine = zb_level_fine(&s->w, fine - 1, false);
      else
        ZB_TRY(try_fine_level(s, fine, &fine));
      continue;
    }
    const bool is_run = !zb_level_is_half(&s->w, level) && !lower_above(s, fine, fine_above) && !s->limits_differ;
    if (bytes == fine && is_run) fine = zb_level_fine(&s->w, fine - 1, false);
    ZB_TRY(try_level(s, level));
    if (is_behind(s, BEHIND_END) || is_found_behind(s, behind->last)) break;
    level = zb_level_below(&s->w, level, is_found_behind(s, behind->second));
  }
  ZB_TRY(ask_above(s));
  zb_searcher_lower_to(s, most);
  if (above == most || !is_worth(s)) return NULL;
  lower_above(s, above, zb_level_above);
  ZB_TRY(ask_within(s, true, &slack));
  return ask_alike(s, true, above, &slack);
}

zb_status zb_searcher_try_all(zb_searcher *s, bool only_complete, bool *is_complete) {
  const int64_t states = s->budget < STATES_MAX / STATES ? s->budget * STATES : STATES_MAX;
  const int64_t known = s->judge ? INT64_MAX : s->best_ps < s->known_ps ? s->best_ps : s->known_ps;
  const zb_exact_params params = {.limit = s->run.level, .known_ps = known, .states = states};
  zb_exact_result result;
  ZB_TRY(zb_exact_search(&s->w, &params, s->run.sequence, &result));
  s->w.evaluations += zb_max64(result.states / STATES, 1);
  s->states += result.work;
  *is_complete = result.is_complete;
  if (result.best_ps >= known || (only_complete && !result.is_complete)) return NULL;
  take_best(s, s->run.sequence, result.best_ps);
  return show(s, s->run.sequence, zb_searcher_most(s, s->run.level));
}

/* How far apart exact levels are at least: a byte, which leaves no more than there are sums of what jobs keep; or,
 * where hardly any two jobs keep the same, so that these may be tens of thousands, a LEVELSth of what everything takes.
 * Fixed for a problem. */
static int64_t exact_step(const zb_searcher *s) {
  int64_t unit = 0;
  for (int class = 0; class < s->w.classes; ++class) {
    unit = zb_common_divisor(unit, s->w.forwards.keep[class]);
    unit = zb_common_divisor(unit, s->w.forwards.release[class]);
  }
  const int64_t most = zb_level_most(&s->w);
  if (zb_exact_is_possible(&s->w) || unit == 0 || most / unit <= LEVELS) return 1;
  return most / LEVELS;
}

/* Exact levels of which one has all orders tried, where bytes double; what its search within a budget does not end is
 * nearly the same for the next ones. */
static int64_t rung_of(int64_t bytes) {
  enum { RUNGS = 16 };
  int64_t step = 1;
  while (bytes / step >= 2 * RUNGS)
    step *= 2;
  return bytes / step * step;
}

/* The lowest exact level of a rung has all orders tried: it does not depend on the limit that levels begin at. */
zb_status zb_searcher_run_exact_levels(zb_searcher *s) {
  const bool is_small = zb_exact_is_possible(&s->w) && !s->judge;
  const int64_t step = exact_step(s);
  int64_t above = 0; /* the lowest limit that is the same as the level above; 0: there is none */
  for (int64_t bytes = zb_searcher_most(s, s->limit) / step * step;;) {
    bool is_complete = false, goes_on;
    zb_searcher_lower_to(s, bytes);
    goes_on = zb_searcher_is_feasible(s) && is_worth(s);
    if (goes_on) ZB_TRY(run_level(s));
    const int64_t low = goes_on && s->w.slack < bytes ? bytes - s->w.slack : 0;
    if (is_small && above && rung_of(above) != rung_of(low)) {
      zb_searcher_lower_to(s, above);
      if (is_worth(s)) ZB_TRY(zb_searcher_try_all(s, false, &is_complete));
    }
    if (is_complete || !low) return NULL;
    above = low;
    bytes = (low - 1) / step * step;
  }
}
