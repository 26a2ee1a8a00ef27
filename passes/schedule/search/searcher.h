/* What a search knows: its problem, its starts, the best order so far. Between search_span.c, which begins and
 * ends a search, and search_levels.c, which tries the levels of memory.
 */
#pragma once

#include "passes/schedule/rules/within.h"
#include "passes/schedule/search/judge.h"
#include "passes/schedule/search/search_run.h"

/* An order that the search starts from. */
typedef struct zb_start_order {
  zb_slot *sequence;
  int64_t time;
  int64_t made_for; /* the level of memory that its schedule was given, 0: none. Runs of lower levels do without it */
} zb_start_order;

typedef struct zb_searcher {
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
  int64_t states;            /* that searches of all orders looked at */
  int64_t best_ps, known_ps; /* of this placement; of others that were searched before */
  zb_judge *judge;        /* NULL: the best order is that with the shortest span; else nothing that is met is left out
                             for its span, and the judge says what is the best */
  void **within;          /* [schedules] the state of those that go by memory; NULL: not asked yet */
  zb_start_order *starts; /* all that fit */
  int start_count, rows, row_starts;
  const char *best_start; /* whose order was the best before the runs; NULL: none there was */
  int64_t best_start_ps;
  int runs;
  int64_t level_start_ps, least_start_ps; /* before the rounds: of the last level that was run, and of all */
  bool is_complete;                       /* all orders whose classes rise were tried (exact.c) */
} zb_searcher;

/* Problems with more jobs leave levels out that are far behind (search_levels.c), and have less of a budget. */
enum { ZB_SEARCH_MEDIUM_JOBS = 2000 };
/* Levels below the memory of 1F1B have this part of the default budget. */
enum { ZB_SEARCH_LESS_BUDGET = 4 };
/* Levels are exact up to this number of jobs. */
enum { ZB_SEARCH_SMALL_JOBS = 160 };

/* ---- budget.c ---- */

/* Searches that share a default budget: one of so many placements, one of so many metrics. */
typedef struct zb_search_shares {
  int placements, metrics;
} zb_search_shares;
/* The budget and the patience of a search whose scheduler is there. */
void zb_searcher_set_budget(zb_searcher *searcher, const zb_search_params *params, zb_search_shares of);
/* Problems larger than every published setting, on looped and wave placement. */
bool zb_searcher_is_huge(const zb_problem *problem);
/* Evaluations for a level of so many bytes. */
int64_t zb_searcher_budget(const zb_searcher *searcher, int64_t bytes);
/* What an evaluation of local search takes where messages wait for their channel, in evaluations where none does, at
 * most. */
int zb_searcher_evaluation_cost(const zb_searcher *searcher);

/* ---- search_span.c ---- */

/* The search of one placement by its metric, which is not the period. An order of another placement that takes known_ps
 * is there already (INT64_MAX: none is): only a faster one is looked for. */
zb_status zb_search_span(const zb_problem *problem, const zb_search_params *params, zb_search_shares of,
                         int64_t known_ps, zb_order *order, zb_search_report *report) ZB_MUST_USE;
static inline bool zb_all_alike(const int64_t *values, int count) {
  for (int i = 1; values && i < count; ++i)
    if (values[i] != values[0]) return false;
  return true;
}

/* ---- search_levels.c ---- */

/* Whether an order keeps limits[ranks]; remembers how closely. */
bool zb_searcher_keeps(zb_searcher *searcher, const zb_slot *sequence, const int64_t *limit);
/* Counts an order that the schedule of that name has given (NULL: none has) for a level of so many bytes (0: none). */
zb_status zb_searcher_take_start(zb_searcher *searcher, const char *name, const zb_slot *sequence, int64_t time,
                                 int64_t level) ZB_MUST_USE;
/* Whether a schedule goes by memory and takes the problem; the slow ones or the others. */
bool zb_searcher_is_asked(const zb_searcher *searcher, int index, bool slow);
/* The order of a schedule that goes by memory for run.level, into run.sequence. */
zb_status zb_searcher_ask(zb_searcher *searcher, int index, const int64_t *most, int64_t less_than,
                          zb_within_answer *out) ZB_MUST_USE;
/* Lower bound for what keeps run.level and the limits of the problem, and what a bound leaves a rank idle that has the
 * most work. */
int64_t zb_searcher_bound(const zb_searcher *searcher);
int64_t zb_searcher_idle(const zb_searcher *searcher, int64_t bound);
/* The highest limit of all ranks. */
int64_t zb_searcher_most(const zb_searcher *searcher, const int64_t *limits);
/* Makes run.level the limits of the problem, lowered to so many bytes. */
void zb_searcher_lower_to(zb_searcher *searcher, int64_t bytes);
/* Whether one micro-batch at a time keeps run.level. */
bool zb_searcher_is_feasible(zb_searcher *searcher);
/* All levels within the limit and the fine one above it, the highest first. */
zb_status zb_searcher_run_levels(zb_searcher *searcher, bool only_fine) ZB_MUST_USE;
/* Every limit at which any decision of a run changes, as far as they are not too close. Where all orders have been
 * tried within one, those below have no better one. */
zb_status zb_searcher_run_exact_levels(zb_searcher *searcher) ZB_MUST_USE;
/* Tries all orders within run.level that could be faster than the best, as far as the budget goes. only_complete: what
 * is found counts only where these were all. */
zb_status zb_searcher_try_all(zb_searcher *searcher, bool only_complete, bool *is_complete) ZB_MUST_USE;
