/* ZB: the scheduler of the zero-bubble paper, which builds an order by simulated time within any memory limit; ZB-1p
 * and ZB-2p are it at the memory of 1F1B and at its double.
 *
 * Qi, Wan, Huang, Lin 2024, "Zero Bubble Pipeline Parallelism", arXiv 2401.10241, section 3.1. As there: forwards as
 * memory allows before the first backward, each stage some ahead of the next; then B before F before W; a W where the
 * gap is long enough, and in a smaller one unless waiting would leave the rank idle for longer than allowed, or where
 * memory asks for it; a few settings of these switches are tried, and the one with the least time of the longest rank
 * wins. Unlike there the lead of a stage over the next, the gap that is left to wait and the idle time that is allowed
 * are numbers (rules.c), stages may be uneven, and the tests of Table 5 ask for bubbles as low as published or lower.
 * Limits are rounded down to levels (zb_level_bytes). Tests: test/passes/schedule/iclr24_test.c, search_test.c.
 */
#include <string.h>

#include "passes/schedule/rules/emit.h"
#include "passes/schedule/rules/rules.h"
#include "passes/schedule/search/improve.h"

typedef struct heuristic {
  zb_model model;
  zb_scheduler w;
  zb_priority_rules rules;
  zb_slot *sequence, *best, *scratch;
  int64_t *start, *least;
} heuristic;

static zb_status heuristic_init(const zb_problem *problem, heuristic *h) {
  *h = (heuristic){0};
  ZB_TRY(zb_model_init(problem, &h->model));
  ZB_TRY(zb_scheduler_init(&h->model, &h->w));
  ZB_TRY(zb_priority_rules_init(&h->w, &h->rules));
  zb_arena *arena = h->w.arena;
  ZB_TAKE(arena, h->sequence, h->w.jobs);
  ZB_TAKE(arena, h->best, h->w.jobs);
  ZB_TAKE(arena, h->start, h->w.jobs);
  ZB_TAKE(arena, h->least, h->w.ranks);
  ZB_TAKE(arena, h->scratch, h->w.per_rank);
  return zb_arena_status(arena);
}

/* The best of all rules by the longest rank, then by the step; one micro-batch after the other if none can go on within
 * the limits. */
static void build_best(heuristic *h, const int64_t *limits, int64_t bound) {
  const int64_t work = zb_most_of(h->w.work, h->w.ranks, 0);
  zb_timing best = {INT64_MAX, INT64_MAX};
  zb_sequence_least(&h->w, h->best, h->least);
  for (int i = 0; i < ZB_RULES_FIXED && best.stage_ps > bound; ++i) {
    const zb_rule_numbers numbers = zb_rule_fixed(i, bound > work ? bound - work : 0, work);
    zb_build_rule rule = zb_rule_make(&h->rules, &numbers, limits);
    zb_timing timing;
    if (!zb_build_order(&h->w, &rule, h->sequence, h->start)) continue;
    if (!zb_time_sequence(&h->w, h->sequence, &timing, NULL, NULL)) continue;
    if (timing.stage_ps > best.stage_ps || (timing.stage_ps == best.stage_ps && timing.step_ps >= best.step_ps))
      continue;
    best = timing;
    memcpy(h->best, h->sequence, h->w.jobs * sizeof *h->best);
  }
}

/* A short local search on the best one, where jobs are few enough for it to take no time. */
static zb_status polish(heuristic *h, const int64_t *limits, int64_t bound) {
  const int64_t jobs = (int64_t)h->w.jobs, affordable = 1500000 / jobs;
  const int64_t moves = affordable < 5 * jobs ? affordable : 5 * jobs;
  if (affordable < 100) return NULL;
  zb_improver improver;
  ZB_TRY(zb_improver_init(&h->w, &improver));
  uint64_t seed = 1;
  zb_allowance unlimited = {.end = INT64_MAX};
  const zb_improve_params params = {
      .limit = limits, .moves = moves, .allowance = &unlimited, .target_ps = bound, .history = 10};
  zb_improve(&improver, &params, &seed, h->best);
  return NULL;
}

static zb_status emit_within(const zb_problem *problem, const int64_t *limits, int64_t less_than_ps, zb_order *out) {
  (void)less_than_ps;
  *out = (zb_order){0};
  zb_problem limited = *problem;
  limited.rank_limit_bytes = limits;
  limited.metric = ZB_METRIC_STAGE;
  heuristic h;
  zb_status status = heuristic_init(&limited, &h);
  if (!status) {
    const int64_t bound = zb_lower_bound_stage_ps(&limited);
    build_best(&h, limits, bound);
    status = polish(&h, limits, bound);
  }
  if (!status) {
    zb_sequence_renumber(&h.w, h.best, h.scratch);
    status = zb_sequence_write(&h.w, h.best, out);
  }
  zb_model_deinit(&h.model);
  return status;
}

static zb_status emit_zb(const zb_problem *problem, const int64_t *options, zb_order *out) {
  return zb_emit_at_level(problem, options[0], emit_within, out);
}
static zb_status emit_1p(const zb_problem *problem, const int64_t *options, zb_order *out) {
  (void)options;
  return zb_emit_at_level(problem, 100, emit_within, out);
}
static zb_status emit_2p(const zb_problem *problem, const int64_t *options, zb_order *out) {
  (void)options;
  return zb_emit_at_level(problem, 200, emit_within, out);
}

/* The limit in the unit of the rank; at least what one micro-batch alone needs. */
static double bound_percent(const zb_problem *problem, int rank, int percent) {
  int64_t unit = 0;
  for (int r = 0; r < problem->ranks; ++r)
    unit = zb_max64(unit, zb_memory_after_f(problem, r));
  const int64_t own = zb_memory_after_f(problem, rank);
  if (own <= 0) return -1; /* no unit to state it in */
  double alone = (double)own;
  for (int stage = 0; stage < problem->stages; ++stage)
    for (int kind = 0; problem->stage_rank[stage] == rank && kind < ZB_KIND_COUNT; ++kind)
      alone += (double)(kind == ZB_F ? problem->costs[stage].free_bytes[kind] : problem->costs[stage].keep_bytes[kind]);
  const double bytes = (double)unit * problem->ranks * percent / 100;
  return (bytes > alone ? bytes : alone) / (double)own;
}
static double bound_1p(const zb_problem *problem, int rank) { return bound_percent(problem, rank, 100); }
static double bound_2p(const zb_problem *problem, int rank) { return bound_percent(problem, rank, 200); }

static const zb_schedule_option zb_options[] = {
    {"memory", 0, 0, 100000, "percent of p micro-batches, what 1F1B needs; 0: the memory limit of the problem"}, {0}};

#define ZB_ROW(c_name, row_name, text, row_options, row_emit, row_bound, row_within)                                   \
  const zb_schedule_def zb_schedule_##c_name = {.name = row_name,                                                      \
                                                .summary = text,                                                       \
                                                .placement = "plain",                                                  \
                                                .chunks_min = 1,                                                       \
                                                .chunks_max = 1,                                                       \
                                                .any_placement = true,                                                 \
                                                .splits_backward = true,                                               \
                                                .keeps_limit = (row_within) != NULL,                                   \
                                                .emit_within = row_within,                                             \
                                                .options = row_options,                                                \
                                                .emit = row_emit,                                                      \
                                                .memory_bound = row_bound}
ZB_ROW(zb, "zb",
       "the zero-bubble scheduler: an order by simulated time for any memory limit (Zero Bubble, arXiv 2401.10241, "
       "section "
       "3.1); one chunk a rank",
       zb_options, emit_zb, zb_no_memory_bound, emit_within);
ZB_ROW(zb_1p, "zb-1p",
       "zb at the memory of 1F1B, p micro-batches (Zero Bubble, arXiv 2401.10241, section 3.1); one chunk a rank", NULL,
       emit_1p, bound_1p, NULL);
ZB_ROW(zb_2p, "zb-2p", "zb at twice the memory of 1F1B (Zero Bubble, arXiv 2401.10241, section 3.1); one chunk a rank",
       NULL, emit_2p, bound_2p, NULL);
