/* Search: the best order found, from every schedule that fits, within a memory limit.
 *
 * Two engines take turns. The list scheduler (build.c) builds orders by rules drawn from a few numbers (rules.c), and
 * improves each by building it backwards and forwards in turn; local search (improve.c) moves jobs of the best orders.
 * Rounds double, so that a small budget is spent on breadth and a large one on depth, and what a budget does is the
 * start of what a larger one does.
 *
 * More memory never gives a worse answer, by construction. A run for a level of memory (rules.h) depends on that level
 * alone, never on the limit of the problem; the answer is the best of the runs for all levels within the limit. Going
 * down from the highest, a level is run only if its lower bound is below the best time, which changes nothing but the
 * time it takes, and mostly leaves one or two. For small problems levels are exact: a run records how much lower its
 * limit could be for every decision to be the same, and the next one is for a byte less than that. Limits that differ
 * between ranks are lowered to the level where they are above it.
 *
 * Tests: test/passes/schedule/search_test.c; quality and time: test/bench/schedule.c.
 */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "passes/schedule/emit.h"
#include "passes/schedule/improve.h"
#include "passes/schedule/rules.h"

/* Orders that local search works on in turn. */
enum { ELITES = 4 };
/* Up to so many jobs levels are exact. */
enum { SMALL_JOBS = 160 };
/* Rounds without a better order after which a run ends. */
enum { IDLE_ROUNDS = 5 };

/* An order that the search starts from. */
typedef struct start_order {
  const char *name;
  zb_slot *sequence;
  int64_t time;
  int64_t made_for; /* the level of memory that its schedule was given, 0: none. Runs of lower levels do without it */
} start_order;

typedef struct searcher {
  const zb_problem *problem;
  zb_model model;
  zb_workshop w;
  zb_improver improver;
  zb_rulebook rules;
  int64_t budget;
  uint64_t seed;
  bool is_exact;
  int64_t *limit, *least; /* [ranks] of the problem; what one micro-batch at a time needs */
  int64_t *level, *shape; /* [ranks] limits of the run, and what its caps are made for */
  int64_t *peak, *release, *span;
  zb_slot *sequence, *best, *scratch;
  int64_t *start, *priority; /* [jobs] */
  int64_t best_ps;
  start_order *starts; /* all that fit */
  int start_count, best_start, rows, row_starts;
  /* the run */
  zb_slot *elite[ELITES];
  int64_t elite_ps[ELITES]; /* rising, INT64_MAX: none */
  int64_t bound_ps;         /* of its limits */
  int64_t idle_ps;          /* what the bound leaves idle */
  int64_t end;              /* evaluations at which it ends */
  uint64_t random;
  int runs;
} searcher;

static void searcher_deinit(searcher *s) {
  for (int i = 0; i < s->start_count; ++i)
    zb_free(s->starts[i].sequence);
  zb_free(s->starts);
  zb_free(s->least);
  zb_free(s->shape);
  for (int i = 0; i < ELITES; ++i)
    zb_free(s->elite[i]);
  zb_free(s->limit);
  zb_free(s->level);
  zb_free(s->peak);
  zb_free(s->release);
  zb_free(s->span);
  zb_free(s->sequence);
  zb_free(s->best);
  zb_free(s->scratch);
  zb_free(s->start);
  zb_free(s->priority);
  zb_rulebook_deinit(&s->rules);
  zb_improver_deinit(&s->improver);
  zb_workshop_deinit(&s->w);
  zb_model_deinit(&s->model);
}

static bool allocate(searcher *s) {
  const size_t ranks = (size_t)s->w.ranks, jobs = s->w.jobs;
  s->limit = zb_alloc(ranks * sizeof *s->limit);
  s->least = zb_alloc(ranks * sizeof *s->least);
  s->level = zb_alloc(ranks * sizeof *s->level);
  s->shape = zb_alloc(ranks * sizeof *s->shape);
  s->peak = zb_alloc(ranks * sizeof *s->peak);
  s->release = zb_alloc(ranks * sizeof *s->release);
  s->span = zb_alloc(ranks * sizeof *s->span);
  s->sequence = zb_alloc(jobs * sizeof *s->sequence);
  s->best = zb_alloc(jobs * sizeof *s->best);
  s->scratch = zb_alloc((size_t)s->w.per_rank * sizeof *s->scratch);
  s->start = zb_alloc(jobs * sizeof *s->start);
  s->priority = zb_alloc(jobs * sizeof *s->priority);
  bool ok = s->limit && s->least && s->level && s->shape && s->peak && s->release && s->span && s->sequence &&
            s->best && s->scratch && s->start && s->priority;
  for (int i = 0; i < ELITES; ++i)
    ok = (s->elite[i] = zb_alloc(jobs * sizeof(zb_slot))) != NULL && ok;
  return ok;
}

/* Such that the time of a search hardly depends on the size of the problem. */
static int64_t default_budget(const zb_problem *problem) {
  const int64_t jobs = (int64_t)problem->stages * problem->micro_batches * ZB_KIND_COUNT;
  const bool several = problem->stages > problem->ranks; /* chunks: more to decide */
  const int64_t most = jobs <= SMALL_JOBS ? 12 * jobs : several ? 8000 : 4000;
  int64_t budget = 4000000 / (jobs + 1) * (several && jobs <= 50000 ? 3 : 1);
  if (jobs > 100000) budget = budget * 100000 / jobs; /* evaluations of large problems miss the caches */
  return budget < 8 ? 8 : budget > most ? most : budget;
}

static zb_status searcher_init(const zb_problem *problem, const zb_search_params *params, searcher *s) {
  *s = (searcher){.problem = problem, .best_ps = INT64_MAX, .best_start = -1};
  ZB_TRY(zb_model_init(problem, &s->model));
  zb_status status = NULL;
  ZB_TRY_GOTO(zb_workshop_init(&s->model, &s->w));
  ZB_TRY_GOTO(zb_improver_init(&s->w, &s->improver));
  ZB_TRY_GOTO(zb_rulebook_init(&s->w, &s->rules));
  if (!allocate(s)) {
    status = ZB_OUT_OF_MEMORY();
    goto cleanup;
  }
  const int64_t most = zb_level_most(&s->w);
  for (int rank = 0; rank < s->w.ranks; ++rank) {
    const int64_t limit = zb_rank_limit(problem, rank);
    s->limit[rank] = limit == 0 || limit > most ? most : limit;
  }
  s->seed = params ? params->seed : 0;
  s->budget = params && params->budget > 0 ? params->budget : default_budget(problem);
cleanup:
  if (status) searcher_deinit(s);
  return status;
}

/* ---- Candidates ---- */

/* Whether an order keeps limits; remembers how closely. */
static bool keeps(searcher *s, const zb_slot *sequence, const int64_t *limit) {
  zb_sequence_peaks(&s->w, sequence, s->peak);
  int64_t least = INT64_MAX;
  for (int rank = 0; rank < s->w.ranks; ++rank)
    if (limit[rank] - s->peak[rank] < least) least = limit[rank] - s->peak[rank];
  if (least >= 0 && least < s->w.slack) s->w.slack = least;
  return least >= 0;
}

static void take_best(searcher *s, const zb_slot *sequence, int64_t time) {
  if (time >= s->best_ps) return;
  s->best_ps = time;
  memcpy(s->best, sequence, s->w.jobs * sizeof *sequence);
}

/* Keeps the best orders of a run, of different times. True if it is the best. */
static bool take_elite(searcher *s, const zb_slot *sequence, int64_t time) {
  int at = 0;
  while (at < ELITES && s->elite_ps[at] < time)
    ++at;
  if (at == ELITES || s->elite_ps[at] == time) return false;
  zb_slot *const recycled = s->elite[ELITES - 1];
  for (int i = ELITES - 1; i > at; --i) {
    s->elite[i] = s->elite[i - 1];
    s->elite_ps[i] = s->elite_ps[i - 1];
  }
  s->elite[at] = recycled;
  s->elite_ps[at] = time;
  memcpy(recycled, sequence, s->w.jobs * sizeof *sequence);
  return at == 0;
}

static bool is_spent(const searcher *s) {
  return s->w.evaluations >= s->end || s->elite_ps[0] <= s->bound_ps;
}

/* ---- Building and refining ---- */

/* Times s->sequence and takes it. INT64_MAX if it cannot finish. */
static int64_t judge_sequence(searcher *s, bool with_start) {
  zb_timing timing;
  if (!zb_time_sequence(&s->w, s->sequence, &timing, with_start ? s->start : NULL, s->span)) return INT64_MAX;
  const int64_t time = zb_judge(&s->w, &timing);
  take_elite(s, s->sequence, time);
  return time;
}

/* Builds backwards from the ends of jobs of the sequence just timed. A rank may end as late as the worst one of the
 * metric does. */
static int64_t refine_backwards(searcher *s, const zb_build_rule *forwards, int64_t time) {
  const zb_workshop *w = &s->w;
  const size_t m = (size_t)w->micro_batches;
  for (int class = 0; class < w->classes; ++class)
    for (size_t i = 0; i < m; ++i)
      s->priority[(size_t) class * m + i] = s->start[(size_t) class * m + i] + w->forwards.time_ps[class];
  int64_t latest = 0;
  for (int rank = 0; rank < w->ranks; ++rank) {
    const zb_slot first = s->sequence[(size_t)rank * (size_t)w->per_rank];
    const bool stage_metric = s->problem->metric == ZB_METRIC_STAGE;
    const int64_t start = stage_metric ? s->start[(size_t)first.class * m + (size_t)first.micro_batch] : 0;
    s->release[rank] = start + time - w->optimizer[rank];
    if (s->release[rank] > latest) latest = s->release[rank];
  }
  for (int rank = 0; rank < w->ranks; ++rank)
    s->release[rank] = latest - s->release[rank];
  zb_build_rule rule = *forwards;
  rule.priority = s->priority;
  rule.cap = NULL;
  rule.release = s->release;
  rule.backwards = true;
  rule.extra = -1;
  return zb_build_order(&s->w, &rule, s->sequence, s->start) ? judge_sequence(s, false) : INT64_MAX;
}

/* Backwards and forwards in turn, from s->sequence and s->start, as long as it gets better. */
static void refine(searcher *s, const zb_build_rule *rule, int64_t time) {
  for (int64_t best = time; !is_spent(s);) {
    const int64_t backwards = refine_backwards(s, rule, time);
    if (backwards == INT64_MAX || is_spent(s)) return;
    memcpy(s->priority, s->start, s->w.jobs * sizeof *s->start);
    zb_build_rule forwards = *rule;
    forwards.priority = s->priority;
    if (!zb_build_order(&s->w, &forwards, s->sequence, s->start)) return;
    time = judge_sequence(s, true);
    if (time >= best && backwards >= best) return;
    best = time < backwards ? time : backwards;
    if (time == INT64_MAX) return;
  }
}

/* Worth refining: it takes no more than half as much above the work as the best one. */
static bool is_promising(const searcher *s, int64_t time) {
  const int64_t excess = s->elite_ps[0] - s->improver.reference;
  return time - s->elite_ps[0] <= excess / 2;
}

static void try_rule(searcher *s, const zb_build_rule *rule) {
  if (is_spent(s) || !zb_build_order(&s->w, rule, s->sequence, s->start)) return;
  const int64_t time = judge_sequence(s, true);
  if (time < INT64_MAX && is_promising(s, time)) refine(s, rule, time);
}

/* The rules of the zb schedules, with refinement. */
static void try_fixed_rules(searcher *s) {
  for (int i = 0; i < ZB_RULES_FIXED; ++i) {
    const zb_rule_numbers numbers = zb_rule_fixed(i, s->idle_ps, s->improver.reference);
    const zb_build_rule rule = zb_rule_make(&s->rules, &numbers, s->level);
    try_rule(s, &rule);
  }
}

/* Schedules that look within limits, whose orders depend on them: a run asks for those of its own level. */
static bool goes_by_memory(const zb_schedule_def *schedule) {
  return schedule->keeps_limit && !schedule->searches;
}

static zb_status emit_within(const searcher *s, const zb_schedule_def *schedule, const int64_t *limits, zb_order *out) {
  zb_problem limited = *s->problem;
  zb_schedule_choice choice;
  limited.rank_limit_bytes = limits;
  zb_schedule_default(schedule, &choice);
  return zb_schedule_emit(&choice, &limited, out);
}

/* The order of a schedule for limits, into s->sequence; none where its rule is not defined. */
static zb_status read_within(searcher *s, const zb_schedule_def *schedule, const int64_t *limits, bool *found) {
  zb_order order;
  zb_status status = schedule->within ? schedule->within(s->problem, limits, &order)
                                      : emit_within(s, schedule, limits, &order);
  const zb_code code = zb_status_code(status);
  *found = status == NULL;
  if (code == ZB_USAGE || code == ZB_INFEASIBLE) {
    zb_status_free(status);
    return NULL;
  }
  ZB_TRY(status);
  zb_sequence_read(&s->w, &order, s->sequence, s->scratch);
  zb_order_deinit(&order);
  s->w.evaluations += ZB_RULES_FIXED;
  return NULL;
}

/* The schedules that go by memory, for the limits of the run. */
static zb_status try_within(searcher *s) {
  for (int i = 0; i < zb_schedule_count() && !is_spent(s); ++i) {
    const zb_schedule_def *schedule = zb_schedule_at(i);
    if (!goes_by_memory(schedule) || !zb_schedule_takes(schedule, s->problem)) continue;
    bool found;
    ZB_TRY(read_within(s, schedule, s->level, &found));
    if (found && keeps(s, s->sequence, s->level)) judge_sequence(s, false);
  }
  return NULL;
}

/* A rule from random numbers. For exact levels nothing may depend on the limit but the limit itself, so the caps have
 * another shape. */
static void try_random_rule(searcher *s) {
  static const int patiences[] = {0, 0, 64, 64, 128, 192};
  static const int shares[] = {-1, -1, 0, 0, 1, 2, 4, 8};
  const int share = shares[zb_random_below(&s->random, 8)];
  zb_rule_numbers numbers = {.order = (uint64_t)zb_random_below(&s->random, 2),
                             .slope = zb_random_below(&s->random, 11),
                             .shift = zb_random_below(&s->random, 6) - 2,
                             .patience = patiences[zb_random_below(&s->random, 6)],
                             .idle_ps = -1,
                             .extra = zb_random_below(&s->random, 6) - 3,
                             .share_idle = zb_random_below(&s->random, 2)};
  if (share >= 0) numbers.idle_ps = s->idle_ps + s->improver.reference / 400 * share;
  const int held = 1 + zb_random_below(&s->random, s->w.micro_batches);
  for (int rank = 0; s->is_exact && rank < s->w.ranks; ++rank)
    s->shape[rank] = s->w.base[rank] + held * (s->w.one_each[rank] - s->w.base[rank]);
  if (s->w.chunks > 1 && zb_random_below(&s->random, 2))
    numbers.order = 2 + (uint64_t)zb_random_below(&s->random, 1 << 20);
  zb_build_rule rule = zb_rule_make(&s->rules, &numbers, s->shape);
  rule.limit = s->level;
  try_rule(s, &rule);
}

/* Builds a good order again with its start times, blurred, as priorities. */
static void try_blurred(searcher *s) {
  static const int patiences[] = {0, 64, 128, 256};
  int known = 0;
  while (known < ELITES && s->elite_ps[known] < INT64_MAX)
    ++known;
  if (known == 0) return;
  memcpy(s->sequence, s->elite[zb_random_below(&s->random, known)], s->w.jobs * sizeof *s->sequence);
  if (judge_sequence(s, true) == INT64_MAX) return;
  const int64_t blur = 1 + ((s->improver.reference / s->w.micro_batches) >> zb_random_below(&s->random, 7));
  for (size_t i = 0; i < s->w.jobs; ++i)
    s->priority[i] = s->start[i] + (int64_t)(zb_random_next(&s->random) % (uint64_t)(2 * blur)) - blur;
  const zb_build_rule rule = {.priority = s->priority,
                              .limit = s->level,
                              .extra = -1,
                              .patience = patiences[zb_random_below(&s->random, 4)],
                              .idle = -1,
                              .count_start = s->problem->metric == ZB_METRIC_BARRIER};
  try_rule(s, &rule);
}

/* With several chunks good orders come from few starts and many moves, with one from many starts. */
static void improve_elites(searcher *s, int round) {
  const int shift = round < 20 ? round : 20, history_shift = round < 5 ? round : 5;
  const bool several = s->w.chunks > 1 && !s->is_exact;
  const zb_improve_params params = {.limit = s->level,
                                    .moves = INT64_C(1) << (shift + (several ? 11 : 7)),
                                    .evaluations = s->end,
                                    .target_ps = s->bound_ps,
                                    .history = (several ? 10 : 50) << history_shift};
  for (int i = 0; i < (several ? ELITES / 2 : ELITES) && !is_spent(s); ++i) {
    if (s->elite_ps[i] == INT64_MAX) return;
    memcpy(s->sequence, s->elite[i], s->w.jobs * sizeof *s->sequence);
    take_elite(s, s->sequence, zb_improve(&s->improver, &params, &s->random, s->sequence));
  }
}

/* ---- Levels ---- */

/* Lower bound for the limits of s->level, by the metric. */
static int64_t bound_of_level(const searcher *s, zb_metric metric) {
  zb_problem limited = *s->problem;
  limited.rank_limit_bytes = s->level;
  return metric == ZB_METRIC_STAGE ? zb_lower_bound_stage_ps(&limited) : zb_lower_bound_ps(&limited);
}

static int64_t bound_of(const searcher *s) {
  return s->problem->metric == ZB_METRIC_STAGE ? zb_lower_bound_stage_ps(s->problem) : zb_lower_bound_ps(s->problem);
}

/* What a bound leaves a rank idle that has the most work. */
static int64_t idle_of(const searcher *s, int64_t bound) {
  return bound > s->improver.reference ? bound - s->improver.reference : 0;
}

/* Whether a run of this level, with whatever limit it is part of, has this start. */
static bool is_made_for_less(searcher *s, const start_order *start) {
  int64_t most = 0;
  for (int rank = 0; rank < s->w.ranks; ++rank)
    if (s->level[rank] > most) most = s->level[rank];
  if (start->made_for > most) return false;
  if (start->made_for > 0 && most - start->made_for < s->w.slack) s->w.slack = most - start->made_for;
  return true;
}

/* One run: the best orders for the limits of s->level. */
static zb_status run_level(searcher *s) {
  s->random = s->seed * UINT64_C(0x9E3779B97F4A7C15) + 1;
  if (s->random == 0) s->random = 1;
  s->end = s->w.evaluations + s->budget;
  s->w.slack = INT64_MAX;
  s->bound_ps = bound_of_level(s, s->problem->metric);
  if (!s->is_exact) {
    memcpy(s->shape, s->level, (size_t)s->w.ranks * sizeof *s->shape);
    s->idle_ps = idle_of(s, s->bound_ps);
  }
  for (int i = 0; i < ELITES; ++i)
    s->elite_ps[i] = INT64_MAX;
  for (int i = 0; i < s->start_count; ++i)
    if (is_made_for_less(s, &s->starts[i]) && keeps(s, s->starts[i].sequence, s->level))
      take_elite(s, s->starts[i].sequence, s->starts[i].time);
  if (!s->is_exact) ZB_TRY(try_within(s));
  if (!s->is_exact && !is_spent(s)) try_fixed_rules(s);
  int idle_rounds = 0;
  for (int round = 0; idle_rounds < IDLE_ROUNDS && !is_spent(s); ++round) {
    const int64_t before = s->elite_ps[0];
    for (int i = 0; i < 4 << (round < 16 ? round : 16) && !is_spent(s); ++i) {
      try_random_rule(s);
      if (!is_spent(s)) try_blurred(s);
    }
    improve_elites(s, round);
    idle_rounds = s->elite_ps[0] < before ? 0 : idle_rounds + 1;
  }
  ++s->runs;
  if (s->elite_ps[0] < INT64_MAX) take_best(s, s->elite[0], s->elite_ps[0]);
  return NULL;
}

/* False: no order can be better with these limits than the best one there is. */
static bool is_worth(searcher *s) {
  return bound_of_level(s, s->problem->metric) < s->best_ps;
}

static void lower_to(searcher *s, int64_t bytes) {
  for (int rank = 0; rank < s->w.ranks; ++rank)
    s->level[rank] = s->limit[rank] < bytes ? s->limit[rank] : bytes;
}

/* Whether one micro-batch at a time keeps the limits of s->level. */
static bool is_feasible(searcher *s) {
  for (int rank = 0; rank < s->w.ranks; ++rank)
    if (s->least[rank] > s->level[rank]) return false;
  return true;
}

static zb_status run_levels(searcher *s) {
  int64_t most = 0;
  for (int rank = 0; rank < s->w.ranks; ++rank)
    if (s->limit[rank] > most) most = s->limit[rank];
  for (int level = zb_level_within(&s->w, most); level > 0; --level) {
    lower_to(s, zb_level_bytes(&s->w, level));
    if (!is_feasible(s) || !is_worth(s)) return NULL;
    ZB_TRY(run_level(s));
  }
  return NULL;
}

/* Every limit at which any decision of a run changes. */
static zb_status run_exact_levels(searcher *s) {
  memcpy(s->level, s->limit, (size_t)s->w.ranks * sizeof *s->level);
  while (is_feasible(s) && is_worth(s)) {
    ZB_TRY(run_level(s));
    if (s->w.slack == INT64_MAX) return NULL;
    const int64_t less = s->w.slack + 1;
    for (int rank = 0; rank < s->w.ranks; ++rank)
      s->level[rank] -= less;
  }
  return NULL;
}

/* ---- Starts ---- */

/* Takes s->sequence as a start if it keeps the limits of the problem and can finish. */
static zb_status add_start(searcher *s, const char *name, int64_t made_for) {
  zb_timing timing;
  if (!keeps(s, s->sequence, s->limit) || !zb_time_sequence(&s->w, s->sequence, &timing, NULL, NULL)) return NULL;
  start_order *const grown = zb_realloc(s->starts, ((size_t)s->start_count + 1) * sizeof *grown);
  if (!grown) return ZB_OUT_OF_MEMORY();
  s->starts = grown;
  start_order *x = &grown[s->start_count];
  *x = (start_order){.name = name, .time = zb_judge(&s->w, &timing), .made_for = made_for};
  x->sequence = zb_alloc(s->w.jobs * sizeof *x->sequence);
  if (!x->sequence) return ZB_OUT_OF_MEMORY();
  ++s->start_count;
  memcpy(x->sequence, s->sequence, s->w.jobs * sizeof *x->sequence);
  if (x->time < s->best_ps) s->best_start = s->start_count - 1;
  take_best(s, x->sequence, x->time);
  return NULL;
}

/* Every row of the table that takes this problem, until one is as fast as the lower bound. */
static zb_status add_rows(searcher *s) {
  const int64_t bound = bound_of(s);
  bool is_limited = false;
  for (int rank = 0; rank < s->w.ranks; ++rank)
    is_limited |= zb_rank_limit(s->problem, rank) > 0;
  for (int i = 0; i < zb_schedule_count() && s->best_ps > bound; ++i) {
    const zb_schedule_def *schedule = zb_schedule_at(i);
    const bool by_memory = goes_by_memory(schedule);
    if (schedule->searches || (by_memory && is_limited) || schedule->two_pipelines) continue;
    zb_schedule_choice choice;
    zb_schedule_default(schedule, &choice);
    zb_order order;
    zb_status status = zb_schedule_emit(&choice, s->problem, &order);
    const zb_code code = zb_status_code(status);
    if (code == ZB_USAGE || code == ZB_INFEASIBLE) {
      zb_status_free(status);
      continue;
    }
    ZB_TRY(status);
    zb_sequence_read(&s->w, &order, s->sequence, s->scratch);
    zb_order_deinit(&order);
    ++s->rows;
    ZB_TRY(add_start(s, schedule->name, by_memory ? INT64_MAX : 0));
  }
  return NULL;
}

/* The schedules that go by memory, for every level within the limits: what exact levels, whose rules do not know their
 * limits, start from. */
static zb_status add_within(searcher *s, const zb_schedule_def *schedule) {
  int64_t most = 0;
  for (int rank = 0; rank < s->w.ranks; ++rank)
    if (s->limit[rank] > most) most = s->limit[rank];
  for (int level = zb_level_within(&s->w, most); level > 0; --level) {
    const int64_t bytes = zb_level_bytes(&s->w, level);
    lower_to(s, bytes);
    if (!is_feasible(s)) return NULL;
    bool found;
    ZB_TRY(read_within(s, schedule, s->level, &found));
    if (found) ZB_TRY(add_start(s, schedule->name, bytes));
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

/* ---- The public functions ---- */

static void fill_report(const searcher *s, zb_search_report *report) {
  *report = (zb_search_report){.evaluations = s->w.evaluations, .best_ps = s->best_ps, .bound_ps = bound_of(s)};
  if (s->best_start >= 0) {
    snprintf(report->start, sizeof report->start, "%s", s->starts[s->best_start].name);
    report->start_ps = s->starts[s->best_start].time;
  }
  if (report->best_ps > 0) report->gap = (double)(report->best_ps - report->bound_ps) / (double)report->best_ps;
  snprintf(report->placement, sizeof report->placement, "given");
  snprintf(report->summary, sizeof report->summary,
           "%d schedules defined, %d of them fit; %d memory limit%s searched; %" PRId64 " orders built or timed%s",
           s->rows, s->row_starts, s->runs, s->runs == 1 ? "" : "s", s->w.evaluations,
           report->best_ps <= report->bound_ps ? "; no order is faster" : "");
}

static zb_status search(searcher *s) {
  zb_sequence_least(&s->w, s->sequence, s->least);
  memcpy(s->level, s->limit, (size_t)s->w.ranks * sizeof *s->level);
  if (!is_feasible(s)) return too_little(s);
  ZB_TRY(add_start(s, "least memory", 0));
  s->best_start = -1;
  ZB_TRY(add_rows(s));
  s->row_starts = s->start_count - 1;
  s->is_exact = s->w.jobs <= SMALL_JOBS;
  if (s->is_exact) {
    for (int i = 0; i < zb_schedule_count(); ++i)
      if (goes_by_memory(zb_schedule_at(i)) && zb_schedule_takes(zb_schedule_at(i), s->problem))
        ZB_TRY(add_within(s, zb_schedule_at(i)));
    zb_problem unlimited = *s->problem;
    unlimited.rank_limit_bytes = NULL;
    unlimited.memory_limit_bytes = 0;
    s->idle_ps = idle_of(s, s->problem->metric == ZB_METRIC_STAGE ? zb_lower_bound_stage_ps(&unlimited)
                                                                  : zb_lower_bound_ps(&unlimited));
    return run_exact_levels(s);
  }
  return run_levels(s);
}

zb_status zb_search(const zb_problem *problem, const zb_search_params *params, zb_order *order,
                    zb_search_report *report) {
  *order = (zb_order){0};
  searcher s;
  ZB_TRY(searcher_init(problem, params, &s));
  zb_status status = search(&s);
  if (!status) {
    zb_sequence_settle(&s.w, s.best, s.scratch);
    status = zb_sequence_write(&s.w, s.best, order);
  }
  if (!status && report) fill_report(&s, report);
  searcher_deinit(&s);
  return status;
}

static bool all_alike(const int64_t *values, int count) {
  for (int i = 1; values && i < count; ++i)
    if (values[i] != values[0]) return false;
  return true;
}

/* Searches one placement and keeps the answer if it is the best so far. */
static zb_status search_one(const zb_problem *problem, const zb_search_params *params, const char *name,
                            int *stage_rank, zb_order *order, zb_search_report *best) {
  zb_order found;
  zb_search_report report;
  ZB_TRY(zb_search(problem, params, &found, &report));
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

zb_status zb_search_placement(const zb_problem *problem, const zb_search_params *params, int *stage_rank,
                              zb_order *order, zb_search_report *report) {
  *order = (zb_order){0};
  ZB_TRY(zb_problem_check(problem));
  const int chunks = problem->stages / problem->ranks;
  const size_t bytes = (size_t)problem->stages * sizeof(int);
  zb_search_report best = {0};
  int *given = zb_alloc(bytes), *placed = zb_alloc(bytes);
  zb_status status = given && placed ? NULL : ZB_OUT_OF_MEMORY();
  if (status) goto cleanup;
  memcpy(given, problem->stage_rank, bytes);
  zb_problem other = *problem;
  other.stage_rank = given;
  zb_status first = search_one(&other, params, "given", stage_rank, order, &best);
  other.stage_rank = placed;
  for (int i = 0; !status && i < zb_placement_count(); ++i) {
    const zb_placement_def *placement = zb_placement_at(i);
    if (chunks < placement->chunks_min || chunks > placement->chunks_max) continue;
    if (!all_alike(problem->base_bytes, problem->ranks) || !all_alike(problem->optimizer_ps, problem->ranks)) break;
    for (int stage = 0; stage < problem->stages; ++stage)
      placed[stage] = placement->rank(problem->ranks, stage);
    if (!memcmp(placed, given, bytes)) continue;
    status = search_one(&other, params, placement->name, stage_rank, order, &best);
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
  if (!status && report) *report = best;
cleanup:
  if (status) zb_order_deinit(order);
  zb_free(given);
  zb_free(placed);
  return status;
}

/* ---- The row of the table ---- */

static zb_status emit(const zb_problem *problem, const int64_t *options, zb_order *out) {
  const zb_search_params params = {.budget = options[0], .seed = (uint64_t)options[1]};
  zb_order found;
  ZB_TRY(zb_search(problem, &params, &found, NULL));
  zb_order_deinit(out);
  *out = found;
  return NULL;
}

static double memory_bound(const zb_problem *problem, int rank) {
  (void)problem;
  (void)rank;
  return -1;
}

static const zb_schedule_option search_options[] = {
    {"budget", 0, 0, 1000000000, "orders to build or time for each memory limit tried, 0: by the size of the problem"},
    {"seed", 0, 0, INT32_MAX, "another seed, another search"},
    {0}};

const zb_schedule_def zb_schedule_search = {
    .name = "search",
    .summary = "the best order found within the memory limit, never worse than any other schedule here that fits; any "
               "placement (README of passes/schedule)",
    .placement = "looped",
    .chunks_min = 1,
    .chunks_max = INT_MAX,
    .any_placement = true,
    .splits_backward = true,
    .keeps_limit = true,
    .searches = true,
    .options = search_options,
    .emit = emit,
    .memory_bound = memory_bound,
};
