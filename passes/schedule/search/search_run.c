/* One run of the search: three methods take turns.
 *
 * The list scheduler (build.c) builds orders by rules drawn from a few numbers (rules.c), and improves each by building
 * it backwards and forwards in turn. Local search (improve.c) moves jobs of the incumbents, the best orders so far. A
 * perturbation builds an order again with some of its jobs earlier or later, on all ranks or some, and local search
 * repairs the result: iterated local search (Lourenco, Martin, Stutzle 2003, "Iterated local search"), for moves that
 * no single rank gains by. From the fourth round on, which is more than the default budget has, perturbations also
 * pursue a goal, a time below that of the best order. Rounds double, so that a small budget is spent on breadth and a
 * large one on depth, and what a budget does is the start of what a larger one does. Tests:
 * test/passes/schedule/search_test.c; quality and time: test/bench/schedule.c.
 */
#include "passes/schedule/search/search_run.h"

#include <string.h>

/* A run ends after this number of rounds without a better order: without and with goals. */
enum { IDLE_ROUNDS = 5, IDLE_GOALS = 24 };
/* With more chunks, memory alone is a rule too. */
enum { MANY_CHUNKS = 4 };
/* Evaluations a job that the perturbations of a round take. */
enum { PERTURBATIONS_PER_JOB = 32 };
/* The round from which on goals are pursued, and the evaluations a job that each may take. */
enum { GOALS_FROM = 3, GOAL_PER_JOB = 192 };
/* With patience: moves that the rounds are begun with, as far as so many jobs may be timed in them, or in any case. */
enum { PROBE_LEAST = 64, PROBE_JOBS = 1000000, PROBE_FEWEST = 24 };
/* The goal lies this share of the way from the best time to the bound, for the best start and for the best order; a
 * perturbation on the way may be worse by this factor. */
static const double GOAL_SHARE = 0.4, GOAL_SHARE_BEST = 0.15, GOAL_TOLERANCE = 1.1;

zb_status zb_run_init(zb_scheduler *w, zb_run *out) {
  zb_arena *arena = w->arena;
  *out = (zb_run){.w = w};
  ZB_TAKE(arena, out->level, w->ranks);
  ZB_TAKE(arena, out->shape, w->ranks);
  ZB_TAKE(arena, out->release, w->ranks);
  ZB_TAKE(arena, out->sequence, w->jobs);
  ZB_TAKE(arena, out->origin, w->jobs);
  ZB_TAKE(arena, out->probed, w->jobs);
  ZB_TAKE(arena, out->current, w->jobs);
  ZB_TAKE(arena, out->start, w->jobs);
  ZB_TAKE(arena, out->priority, w->jobs);
  for (int i = 0; i < ZB_RUN_INCUMBENTS; ++i)
    ZB_TAKE(arena, out->incumbent[i], w->jobs);
  ZB_TRY(zb_improver_init(w, &out->improver));
  return zb_priority_rules_init(w, &out->rules);
}

/* ---- The best orders ---- */

void zb_run_begin(zb_run *run, int64_t budget, int patience) {
  const int64_t begin = run->w->evaluations;
  run->allowance = (zb_allowance){begin, begin + budget, begin + budget, patience, INT64_MAX};
  run->perturbations = run->refinements = INT64_MAX;
  for (int i = 0; i < ZB_RUN_INCUMBENTS; ++i)
    run->incumbent_ps[i] = INT64_MAX;
  if (!run->is_exact) memcpy(run->shape, run->level, (size_t)run->w->ranks * sizeof *run->shape);
}

void zb_run_take(zb_run *run, const zb_slot *sequence, int64_t time) {
  zb_allowance_note(&run->allowance, run->w->evaluations, time);
  int at = 0;
  while (at < ZB_RUN_INCUMBENTS && run->incumbent_ps[at] < time)
    ++at;
  if (at == ZB_RUN_INCUMBENTS || run->incumbent_ps[at] == time) return;
  zb_slot *const recycled = run->incumbent[ZB_RUN_INCUMBENTS - 1];
  for (int i = ZB_RUN_INCUMBENTS - 1; i > at; --i) {
    run->incumbent[i] = run->incumbent[i - 1];
    run->incumbent_ps[i] = run->incumbent_ps[i - 1];
  }
  run->incumbent[at] = recycled;
  run->incumbent_ps[at] = time;
  memcpy(recycled, sequence, run->w->jobs * sizeof *sequence);
}

bool zb_run_is_over(const zb_run *run) {
  return run->w->evaluations >= run->allowance.end || run->perturbations <= 0 ||
         run->incumbent_ps[0] <= run->bound_ps || !zb_scheduler_goes_on(run->w);
}

/* Times run->sequence into start (may be NULL) and takes it. */
static int64_t evaluate(zb_run *run, int64_t *start) {
  zb_timing timing;
  if (!zb_time_sequence(run->w, run->sequence, &timing, start, NULL)) return INT64_MAX;
  const int64_t time = zb_metric_time(run->w, &timing);
  zb_run_take(run, run->sequence, time);
  return time;
}

int64_t zb_run_evaluate(zb_run *run) { return evaluate(run, NULL); }

static int known_incumbents(const zb_run *run) {
  int known = 0;
  while (known < ZB_RUN_INCUMBENTS && run->incumbent_ps[known] < INT64_MAX)
    ++known;
  return known;
}

/* ---- Building and refining ---- */

/* Builds backwards from the ends of jobs of the sequence just timed. A rank may end as late as the worst one of the
 * metric does. */
static int64_t refine_backwards(zb_run *run, const zb_build_rule *forwards, int64_t time) {
  const zb_scheduler *w = run->w;
  const size_t m = (size_t)w->micro_batches;
  for (int class = 0; class < w->classes; ++class)
    for (size_t i = 0; i < m; ++i)
      run->priority[(size_t)class * m + i] = run->start[(size_t)class * m + i] + w->forwards.time_ps[class];
  int64_t latest = 0;
  for (int rank = 0; rank < w->ranks; ++rank) {
    const zb_slot first = run->sequence[zb_rank_begin(w, rank)];
    const bool stage_metric = w->model->problem->metric == ZB_METRIC_STAGE;
    const int64_t start = stage_metric ? run->start[(size_t)first.class * m + (size_t)first.micro_batch] : 0;
    run->release[rank] = start + time - w->optimizer[rank];
    if (run->release[rank] > latest) latest = run->release[rank];
  }
  for (int rank = 0; rank < w->ranks; ++rank)
    run->release[rank] = latest - run->release[rank];
  zb_build_rule rule = *forwards;
  rule.priority = run->priority;
  rule.cap = NULL;
  rule.release = run->release;
  rule.backwards = true;
  rule.extra = -1;
  return zb_build_order(run->w, &rule, run->sequence, run->start) ? evaluate(run, NULL) : INT64_MAX;
}

/* Backwards and forwards in turn, from run->sequence and run->start, as long as it gets better. */
static void refine(zb_run *run, const zb_build_rule *rule, int64_t time) {
  for (int64_t best = time; !zb_run_is_over(run) && run->refinements > 0; run->refinements -= 2) {
    const int64_t backwards = refine_backwards(run, rule, time);
    if (backwards == INT64_MAX || zb_run_is_over(run)) return;
    memcpy(run->priority, run->start, run->w->jobs * sizeof *run->start);
    zb_build_rule forwards = *rule;
    forwards.priority = run->priority;
    if (!zb_build_order(run->w, &forwards, run->sequence, run->start)) return;
    time = evaluate(run, run->start);
    if (time >= best && backwards >= best) return;
    best = time < backwards ? time : backwards;
    if (time == INT64_MAX) return;
  }
}

/* Worth refining: it takes no more than half as much above the work as the best one. */
static bool is_promising(const zb_run *run, int64_t time) {
  const int64_t excess = run->incumbent_ps[0] - run->improver.reference;
  return time - run->incumbent_ps[0] <= excess / 2;
}

static void try_rule(zb_run *run, const zb_build_rule *rule) {
  if (zb_run_is_over(run) || !zb_build_order(run->w, rule, run->sequence, run->start)) return;
  const int64_t time = evaluate(run, run->start);
  if (time < INT64_MAX && is_promising(run, time)) refine(run, rule, time);
}

void zb_run_fixed_rules(zb_run *run) {
  for (int i = 0; i < ZB_RULES_FIXED; ++i) {
    const zb_rule_numbers numbers = zb_rule_fixed(i, run->idle_ps, run->improver.reference);
    const zb_build_rule rule = zb_rule_make(&run->rules, &numbers, run->level);
    try_rule(run, &rule);
    if (i > 0 || run->w->chunks <= MANY_CHUNKS) continue;
    /* With enough memory the caps of the others leave too little in flight on so many chunks. */
    const zb_rule_numbers by_memory = {.extra = -1, .idle_ps = -1};
    const zb_build_rule second = zb_rule_make(&run->rules, &by_memory, run->level);
    try_rule(run, &second);
  }
}

/* Tries a rule made from random numbers. With exact levels (search_span.c) only tests of a limit may depend on the
 * limits: there the caps are made from a random number of micro-batches, `held`, instead of from run->level. */
static void try_random_rule(zb_run *run) {
  static const int patiences[] = {0, 0, 64, 64, 128, 192};
  static const int shares[] = {-1, -1, 0, 0, 1, 2, 4, 8};
  const zb_scheduler *w = run->w;
  const int share = shares[zb_random_below(&run->random, 8)];
  zb_rule_numbers numbers = {.order = (uint64_t)zb_random_below(&run->random, 2),
                             .slope = zb_random_below(&run->random, 11),
                             .shift = zb_random_below(&run->random, 6) - 2,
                             .patience = patiences[zb_random_below(&run->random, 6)],
                             .idle_ps = -1,
                             .extra = zb_random_below(&run->random, 6) - 3,
                             .share_idle = zb_random_below(&run->random, 2)};
  if (share >= 0) numbers.idle_ps = run->idle_ps + run->improver.reference / 400 * share;
  const int held = 1 + zb_random_below(&run->random, w->micro_batches);
  for (int rank = 0; run->is_exact && rank < w->ranks; ++rank)
    run->shape[rank] = w->base[rank] + held * (w->one_each[rank] - w->base[rank]);
  if (w->chunks > 1 && zb_random_below(&run->random, 2))
    numbers.order = 2 + (uint64_t)zb_random_below(&run->random, 1 << 20);
  zb_build_rule rule = zb_rule_make(&run->rules, &numbers, run->shape);
  rule.limit = run->level;
  try_rule(run, &rule);
}

/* One of the best orders in run->sequence with its start times; false if there is none. */
static bool recall(zb_run *run, int index) {
  if (index >= known_incumbents(run)) return false;
  memcpy(run->sequence, run->incumbent[index], run->w->jobs * sizeof *run->sequence);
  return evaluate(run, run->start) < INT64_MAX;
}

/* Builds an order again, by run->priority. */
static zb_build_rule repeat_rule(const zb_run *run, int patience) {
  return (zb_build_rule){.priority = run->priority,
                         .limit = run->level,
                         .extra = -1,
                         .patience = patience,
                         .idle = -1,
                         .count_start = run->w->model->problem->metric == ZB_METRIC_BARRIER};
}

/* Builds a good order again with its start times, blurred, as priorities. */
static void try_blurred(zb_run *run) {
  static const int patiences[] = {0, 64, 128, 256};
  const int known = known_incumbents(run);
  if (known == 0 || !recall(run, zb_random_below(&run->random, known))) return;
  const zb_scheduler *w = run->w;
  const int64_t blur = 1 + ((run->improver.reference / w->micro_batches) >> zb_random_below(&run->random, 7));
  for (size_t i = 0; i < w->jobs; ++i)
    run->priority[i] = run->start[i] + (int64_t)(zb_random_next(&run->random) % (uint64_t)(2 * blur)) - blur;
  const zb_build_rule rule = repeat_rule(run, patiences[zb_random_below(&run->random, 4)]);
  try_rule(run, &rule);
}

/* ---- Local search ---- */

static zb_improve_params params_of(zb_run *run, int64_t moves, int history) {
  return (zb_improve_params){.limit = run->level,
                             .moves = moves,
                             .allowance = &run->allowance,
                             .target_ps = run->bound_ps,
                             .history = history};
}

/* On run->sequence; its time. */
static int64_t improve(zb_run *run, int64_t moves, int history) {
  const zb_improve_params params = params_of(run, moves, history);
  const int64_t time = zb_improve(&run->improver, &params, &run->random, run->sequence);
  zb_run_take(run, run->sequence, time);
  return time;
}

/* With several chunks good orders come from few starts and many moves, with one from many starts. */
static bool has_few_starts(const zb_run *run) { return run->w->chunks > 1 && !run->is_exact; }

void zb_run_polish(zb_run *run, int64_t probe) {
  zb_allowance *a = &run->allowance;
  const int64_t end = run->w->evaluations + probe;
  if (known_incumbents(run) == 0) return;
  a->end = end < a->most ? end : a->most;
  memcpy(run->sequence, run->incumbent[0], run->w->jobs * sizeof *run->sequence);
  improve(run, 2 * (a->most - run->w->evaluations), 10); /* what cannot be made is a move, too, and is not timed */
}

/* What has been spent since `before` counts for nothing: the allowance is as it was, and starts so much later. */
static void go_on_with(zb_run *run, zb_allowance allowance, int64_t before) {
  const int64_t spent = run->w->evaluations - before;
  allowance.begin += spent;
  allowance.end += spent;
  allowance.most += spent;
  allowance.best_ps = run->incumbent_ps[0];
  run->allowance = allowance;
}

void zb_run_settle(zb_run *run, int64_t moves) {
  const zb_allowance rest = run->allowance;
  const int64_t before = run->w->evaluations;
  run->allowance.end = run->allowance.most = before + moves;
  zb_run_polish(run, moves);
  go_on_with(run, rest, before);
}

static void improve_incumbents(zb_run *run, int round) {
  const int shift = round < 20 ? round : 20, history_shift = round < 5 ? round : 5;
  const bool few = has_few_starts(run);
  for (int i = 0; i < (few ? ZB_RUN_INCUMBENTS / 2 : ZB_RUN_INCUMBENTS) && !zb_run_is_over(run); ++i) {
    if (run->incumbent_ps[i] == INT64_MAX) return;
    memcpy(run->sequence, run->incumbent[i], run->w->jobs * sizeof *run->sequence);
    if (run->is_perturbed)
      improve(run, 2048, 10);
    else
      improve(run, INT64_C(1) << (shift + (few ? 11 : 7)), (few ? 10 : 50) << history_shift);
  }
}

/* Wants the jobs of one kind and chunk, of some micro-batches and ranks, earlier or later than they are. */
static void shift_some(zb_run *run) {
  const zb_scheduler *w = run->w;
  const int m = w->micro_batches, chunk = zb_random_below(&run->random, w->chunks);
  const int kind = zb_random_below(&run->random, ZB_KIND_COUNT), first = zb_random_below(&run->random, m);
  int last = first, first_rank = 0, last_rank = w->ranks - 1;
  while (last < m - 1 && zb_random_below(&run->random, 3))
    ++last;
  if (zb_random_below(&run->random, 4) == 0) last = m - 1;
  if (zb_random_below(&run->random, 2)) {
    first_rank = zb_random_below(&run->random, w->ranks);
    last_rank = first_rank + zb_random_below(&run->random, w->ranks - first_rank);
  }
  /* Up to six average jobs. */
  const int64_t average = run->improver.reference / w->per_rank + 1;
  const int64_t by = average * (1 + zb_random_below(&run->random, 12)) / 2;
  const int64_t shift = zb_random_below(&run->random, 2) ? -by : by;
  for (int rank = first_rank; rank <= last_rank; ++rank) {
    const int class = zb_class_at(w, rank, chunk, kind);
    for (int i = first; i <= last; ++i)
      run->priority[(size_t)class * (size_t)m + (size_t)i] += shift;
  }
}

/* run->current built again in run->sequence after some shifts. With the full patience a build repeats the order it has
 * the times of, but for what is shifted. False: it is stuck. */
static bool build_perturbed(zb_run *run, int shifts) {
  zb_timing timing;
  --run->perturbations;
  if (!zb_time_sequence(run->w, run->current, &timing, run->priority, NULL)) return false;
  for (int i = 1 + zb_random_below(&run->random, shifts); i > 0; --i)
    shift_some(run);
  const zb_build_rule rule = repeat_rule(run, 256);
  return zb_build_order(run->w, &rule, run->sequence, run->start);
}

/* Perturbs run->current and takes the result where it is no more than a little worse. Returns the time of run->current.
 */
static int64_t perturb(zb_run *run, int64_t time) {
  if (!build_perturbed(run, 2)) return time;
  const int64_t excess = time - run->improver.reference, built = evaluate(run, NULL);
  if (built == INT64_MAX || built - time > excess) return time;
  const int64_t repaired = improve(run, 1000, 30);
  if (repaired - time > excess / 12) return time;
  memcpy(run->current, run->sequence, run->w->jobs * sizeof *run->current);
  return repaired;
}

/* Perturbs the best start of the run again and again; every round starts from it again. */
static void perturb_often(zb_run *run) {
  const int64_t end = run->w->evaluations + (int64_t)run->w->jobs * PERTURBATIONS_PER_JOB;
  int64_t time = run->origin_ps;
  if (time == INT64_MAX) return;
  memcpy(run->current, run->origin, run->w->jobs * sizeof *run->current);
  while (!zb_run_is_over(run) && run->w->evaluations < end)
    time = perturb(run, time);
}

/* ---- Goals ---- */

/* Local search of run->sequence towards a goal; its cost. What was faster than the best order on the way is taken. */
static double improve_towards(zb_run *run, int64_t goal, int64_t moves, int history) {
  zb_improve_params params = params_of(run, moves, history);
  params.goal_ps = goal;
  zb_improver *x = &run->improver;
  x->fastest_ps = run->incumbent_ps[0];
  zb_improve(x, &params, &run->random, run->sequence);
  if (x->fastest_ps < run->incumbent_ps[0]) zb_run_take(run, x->fastest, x->fastest_ps);
  return x->cost;
}

/* Perturbs the best start, or, at more length, the best order, towards a time below the best one. The F that are too
 * late for that are repaired first: those whose own chain would end too late. An order without such F may for the time
 * being take longer than the best one. */
static void pursue_goal(zb_run *run, bool of_best) {
  const zb_scheduler *w = run->w;
  const size_t bytes = w->jobs * sizeof *run->current;
  const int64_t end = w->evaluations + (int64_t)w->jobs * GOAL_PER_JOB, before = run->incumbent_ps[0];
  const int64_t goal = before - (int64_t)((double)(before - run->bound_ps) * (of_best ? GOAL_SHARE_BEST : GOAL_SHARE));
  const uint64_t kept = run->random;
  if (run->origin_ps == INT64_MAX) return;
  run->random = run->goal_random;
  memcpy(run->sequence, of_best ? run->incumbent[0] : run->origin, bytes);
  double cost = improve_towards(run, goal, 20000, 60);
  memcpy(run->current, run->sequence, bytes);
  while (!zb_run_is_over(run) && w->evaluations < end) {
    if (!build_perturbed(run, 3)) continue;
    const double repaired = improve_towards(run, goal, of_best ? 10000 : 4000, of_best ? 100 : 60);
    if (repaired > cost * GOAL_TOLERANCE) continue;
    cost = repaired;
    memcpy(run->current, run->sequence, bytes);
  }
  run->goal_random = run->random;
  run->random = kept;
}

/* ---- Rounds ---- */

double zb_run_gap(const zb_run *run) {
  const int64_t best = run->incumbent_ps[0];
  return best < INT64_MAX && best > 0 ? (double)(best - run->bound_ps) / (double)best : 1;
}

/* Local search of the best start, which shows soonest whether there is anything to find. With patience, rounds get few
 * evaluations unless there is. A budget has it too, and does not pay for it: so it finds all that patience does. */
static void probe(zb_run *run) {
  zb_allowance *a = &run->allowance;
  const zb_allowance rest = *a;
  const int64_t before = run->w->evaluations, moves = PROBE_JOBS / (int64_t)run->w->jobs;
  const int64_t least = before + (moves > PROBE_FEWEST ? moves : PROBE_FEWEST);
  if (known_incumbents(run) == 0) return;
  a->end = a->patience > 0 && least > a->most ? a->most : least;
  uint64_t random = run->random;
  const zb_improve_params params = params_of(run, PROBE_LEAST, 10);
  memcpy(run->probed, run->incumbent[0], run->w->jobs * sizeof *run->probed);
  run->probed_ps = zb_improve(&run->improver, &params, &random, run->probed);
  if (a->patience == 0) go_on_with(run, rest, before);
}

void zb_run_rounds(zb_run *run) {
  const int most_idle = run->is_perturbed ? IDLE_GOALS : IDLE_ROUNDS;
  int idle_rounds = 0;
  run->goal_random = (run->random ^ UINT64_C(0x9E3779B97F4A7C15)) | 1;
  run->probed_ps = INT64_MAX;
  if (run->is_perturbed) probe(run);
  run->origin_ps = run->incumbent_ps[0];
  memcpy(run->origin, run->incumbent[0], run->w->jobs * sizeof *run->origin);
  for (int round = 0; idle_rounds < most_idle && !zb_run_is_over(run); ++round) {
    const int64_t before = run->incumbent_ps[0];
    const int most = run->is_perturbed ? 1 : 16;
    for (int i = 0; i < 4 << (round < most ? round : most) && !zb_run_is_over(run); ++i) {
      try_random_rule(run);
      if (!zb_run_is_over(run)) try_blurred(run);
    }
    improve_incumbents(run, round);
    if (run->is_perturbed) perturb_often(run);
    if (run->is_perturbed && round >= GOALS_FROM && !zb_run_is_over(run)) pursue_goal(run, round % 2 == 0);
    idle_rounds = run->incumbent_ps[0] < before ? 0 : idle_rounds + 1;
  }
  if (run->probed_ps < INT64_MAX) zb_run_take(run, run->probed, run->probed_ps);
}
