/* The adaptive V schedule: the best of many building blocks for the times and the memory limit of the problem.
 *
 * Qi, Wan, Amar, Lin 2024, "Pipeline Parallelism with Controllable Memory", arXiv 2405.15362, Appendix A: all orders of
 * the four passes within the interval of the first rank (60), and offsets between neighbours of 1 to 5 for F of chunk 0
 * and B of chunk 1, one up to a switch position and one that is not larger behind it; the others go up at 1. Each block
 * is repeated, squeezed and reordered in unit time, as in the paper (two manners), and in real time (one manner); the
 * order with the least time in the problem's metric wins.
 *
 * Near-linear: only the 128 blocks (option "blocks") are tried whose peak is closest to the memory limit (with none:
 * the largest), of at most SWITCHES switch positions, and JOBS_MAX jobs in all; an order is given up as soon as its
 * time can no longer be the least; and blocks are judged with 3p micro-batches where there are more, for the repeated
 * part is the same then. From the memory of 1F1B on a fourth of the jobs do: there the first blocks are the good ones
 * (12 settings: at most 0.06 points of bubble; 3.4 at half that memory). All this for each level of memory within the
 * limit (rules.h), of which the best counts. In the measured settings, trying all 900 (p-1) blocks gains 0.15 points of
 * bubble in one of 30 cases, for 5 times the time. Where no block fits, the order is V-Min's. Tests:
 * test/passes/schedule/v_schedules_test.c, charts/adaptive_v.txt.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "passes/schedule/rules/rules.h"
#include "passes/schedule/rules/v_block.h"
#include "passes/schedule/rules/within.h"

enum { SWITCHES = 16, JUDGED_PER_RANK = 3, BLOCKS = 128, BLOCKS_ALL = 100000 };
/* Jobs that are run in all before the best so far is taken: of most problems, of large ones (rules.h), and of both with
 * the memory of 1F1B. */
static const int64_t JOBS_MAX = 1800000, JOBS_MAX_LARGE = 900000, JOBS_MAX_1F1B = 300000;

/* How orders are made of a block: the first two in unit time, and then timed. */
typedef struct manner {
  zb_v_costs costs;
  zb_v_rules rules;
} manner;
static const manner manners[] = {
    {ZB_V_UNIT, {.keep_w = ZB_V_F1, .w_first = true, .reserve = true, .b1_first = true}},
    {ZB_V_UNIT, {.keep_w = ZB_V_F1}},
    {ZB_V_REAL, {.keep_w = ZB_V_F0, .all_early = true}},
};
enum { MANNERS = sizeof manners / sizeof *manners };

/* A block in the terms of the paper. */
typedef struct candidate {
  int8_t first[3];  /* slots of F1, B1, B0 of the first rank; F0 is in slot 0 */
  int8_t near, far; /* offsets before and behind the switch */
  int switch_at;
  int64_t distance; /* of the peak of the repeated block to the memory limit; ties are broken by index */
  int index;
} candidate;

typedef struct search {
  const zb_problem *problem;
  zb_model model;
  zb_v_engine *unit, *real;
  zb_v_slots *block;
  int64_t *limits, *unit_limits; /* [position] bytes; chunk activations */
  const int64_t *most;           /* [ranks] bytes that the order must keep; NULL: no more than the limits */
  int64_t *peak;                 /* [ranks] scratch */
  candidate *candidates;
  int count;
  int64_t jobs, jobs_max;
  zb_arena arena;
} search;

/* First slot from `at` on that is `slot` modulo the interval. */
static int next_at(int at, int slot) { return at + ((slot - at) % ZB_V_INTERVAL + ZB_V_INTERVAL) % ZB_V_INTERVAL; }

/* Sets the slots of the block; false where passes meet. */
static bool fill_block(const candidate *c, int ranks, zb_v_slots *block) {
  int at = 0;
  for (int leg = 0; leg < 2; ++leg) {
    const zb_v_pass down = leg ? ZB_V_B1 : ZB_V_F0, up = leg ? ZB_V_B0 : ZB_V_F1;
    if (leg) at = next_at(at + 1, c->first[1]);
    block[0].start[down] = at;
    for (int i = 1; i < ranks; ++i)
      block[i].start[down] = at += i <= c->switch_at ? c->near : c->far;
    at = next_at(at + 1, c->first[leg ? 2 : 0] - (ranks - 1));
    for (int i = ranks - 1; i >= 0; --i)
      block[i].start[up] = at + ranks - 1 - i;
    at += ranks - 1;
  }
  return zb_v_place_w(ranks, block);
}

static int compare(const void *left, const void *right) {
  const candidate *a = left, *b = right;
  return a->distance != b->distance ? (a->distance > b->distance ? 1 : -1) : a->index - b->index;
}

/* limit: chunk activations. A block that does not fit may still do: with real sizes, and in warm-up and cool-down. */
static void add_candidate(search *s, candidate c, int64_t limit) {
  if (!fill_block(&c, s->problem->ranks, s->block)) return;
  const int64_t peak = zb_v_block_peak(s->problem->ranks, s->block);
  c.distance = peak > limit ? 2 * (peak - limit) - 1 : 2 * (limit - peak);
  c.index = s->count;
  s->candidates[s->count++] = c;
}

/* limit: chunk activations. 1F1B has one of each chunk for every rank in flight. */
static int64_t most_jobs(const zb_problem *problem, int64_t limit) {
  const int64_t jobs = (int64_t)ZB_V_PASSES * problem->micro_batches * problem->ranks;
  if (limit >= 2 * (int64_t)problem->ranks) return JOBS_MAX_1F1B;
  return jobs > ZB_JOBS_LARGE ? JOBS_MAX_LARGE : JOBS_MAX;
}

static zb_status list_candidates(search *s, int64_t limit, int64_t blocks) {
  const int ranks = s->problem->ranks, step = (ranks - 2) / SWITCHES + 1;
  if (limit > INT32_MAX) limit = INT32_MAX;
  ZB_TAKE(&s->arena, s->candidates, 60 * (5 + 10 * (SWITCHES + 1)));
  ZB_TRY(zb_arena_status(&s->arena));
  for (int i = 0; i < 125; ++i) {
    const candidate first = {.first = {(int8_t)(1 + i / 25), (int8_t)(1 + i / 5 % 5), (int8_t)(1 + i % 5)}};
    if (first.first[0] == first.first[1] || first.first[0] == first.first[2] || first.first[1] == first.first[2])
      continue;
    for (int8_t near = 1; near < ZB_V_INTERVAL; ++near)
      for (int8_t far = 1; far <= near; ++far)
        for (int at = 1; far == near ? at == 1 : at < ranks - 1; at += step) {
          candidate c = first;
          c.near = near;
          c.far = far;
          c.switch_at = at;
          add_candidate(s, c, limit);
        }
  }
  qsort(s->candidates, (size_t)s->count, sizeof *s->candidates, compare);
  s->count = s->count < blocks ? s->count : (int)blocks;
  return NULL;
}

/* Limits of live bytes by position, and the same in chunk activations. The least of the latter; INT64_MAX: no limit. */
static int64_t read_limits(search *s) {
  const zb_problem *p = s->problem;
  int64_t least = INT64_MAX;
  for (int i = 0; i < p->ranks; ++i) {
    const int rank = p->stage_rank[i];
    const int64_t limit = zb_rank_limit(p, rank), each = zb_memory_after_f(p, rank);
    s->limits[i] = s->unit_limits[i] = INT64_MAX;
    if (limit == 0) continue;
    s->limits[i] = limit - zb_base_bytes(p, rank);
    if (s->limits[i] < 0) s->limits[i] = 0;
    const double units = each > 0 ? 2 * (double)s->limits[i] / (double)each : INT32_MAX;
    if (units < INT32_MAX) s->unit_limits[i] = (int64_t)units;
    if (s->unit_limits[i] < least) least = s->unit_limits[i];
  }
  return least;
}

/* The order of one block in one manner; its time, or less_than. *unit_time: its time in units, and the most worth it.
 */
static int64_t try_block(search *s, const manner *m, int64_t less_than, int64_t *unit_time) {
  zb_v_rules rules = m->rules;
  rules.limits = s->limits;
  rules.less_than = less_than;
  if (m->costs == ZB_V_REAL) return zb_v_engine_run(s->real, s->block, &rules, &s->jobs);
  rules.limits = s->unit_limits;
  rules.less_than = *unit_time;
  *unit_time = zb_v_engine_run(s->unit, s->block, &rules, &s->jobs);
  if (*unit_time >= rules.less_than) return less_than;
  const zb_v_rules timed = {.limits = s->limits, .follow = s->unit, .less_than = less_than};
  return zb_v_engine_run(s->real, s->block, &timed, &s->jobs);
}

/* Whether an order keeps limits; peak[ranks] gets what it takes. */
static bool order_keeps(const zb_problem *problem, const zb_order *order, const int64_t *limits, int64_t *peak) {
  zb_order_peaks(problem, order, peak);
  for (int rank = 0; rank < problem->ranks; ++rank)
    if (peak[rank] > limits[rank]) return false;
  return true;
}

/* The order that was made last, in a manner. */
static zb_status emit_last(const search *s, const manner *m, zb_order *out) {
  return zb_v_engine_emit(m->costs == ZB_V_UNIT ? s->unit : s->real, out);
}

/* *keeps: whether the order that was made last keeps s->most. */
static zb_status check_most(search *s, const manner *m, bool *keeps) {
  *keeps = true;
  if (!s->most) return NULL;
  zb_order order;
  ZB_TRY(zb_order_init(&order, s->problem->ranks));
  const zb_status status = emit_last(s, m, &order);
  if (!status) *keeps = order_keeps(s->model.problem, &order, s->most, s->peak);
  zb_order_deinit(&order);
  return status;
}

/* The best block and manner; *found: whether one fits and takes less than that. */
static zb_status find_best(search *s, int64_t less_than, candidate *best, const manner **best_manner, bool *found) {
  int64_t best_time = less_than, best_unit = INT64_MAX;
  const int64_t work = (int64_t)ZB_V_PASSES * s->model.problem->micro_batches;
  for (int i = 0; i < s->count && s->jobs < s->jobs_max; ++i) {
    fill_block(&s->candidates[i], s->problem->ranks, s->block);
    for (int k = 0; k < MANNERS; ++k) {
      /* In units, one and a half times the bubble of the best is not worth timing. */
      int64_t unit = best_unit == INT64_MAX ? INT64_MAX : best_unit + (best_unit - work) / 2 + ZB_V_INTERVAL;
      const int64_t time = try_block(s, &manners[k], best_time, &unit);
      if (time >= best_time) continue;
      bool keeps;
      ZB_TRY(check_most(s, &manners[k], &keeps));
      if (!keeps) continue;
      best_time = time;
      *best = s->candidates[i];
      *best_manner = &manners[k];
      if (manners[k].costs == ZB_V_UNIT) best_unit = unit;
    }
  }
  *found = best_time < less_than;
  return NULL;
}

static zb_status make_engines(search *s, const zb_problem *problem) {
  ZB_TRY(zb_model_init(problem, &s->model));
  ZB_TRY(zb_v_engine_new(&s->model, ZB_V_UNIT, &s->unit));
  return zb_v_engine_new(&s->model, ZB_V_REAL, &s->real);
}

/* What a block that is judged with fewer micro-batches must take less than: each one more makes the rank with the most
 * work, and so the order, longer by its work. A hundredth more, for more micro-batches may leave it less idle. */
static int64_t judged_less_than(const zb_problem *problem, int judged, int64_t less_than_ps) {
  if (less_than_ps == INT64_MAX || judged == problem->micro_batches) return less_than_ps;
  int64_t most = 0;
  for (int rank = 0; rank < problem->ranks; ++rank) {
    int64_t work = 0;
    for (int stage = 0; stage < problem->stages; ++stage)
      for (int kind = 0; problem->stage_rank[stage] == rank && kind < ZB_KIND_COUNT; ++kind)
        work += problem->costs[stage].time_ps[kind];
    if (work > most) most = work;
  }
  return less_than_ps + less_than_ps / 100 - (problem->micro_batches - judged) * most;
}

/* The first micro-batches of a problem alone; reductions come behind as many micro-batches before the end as there. */
static zb_status shorten(search *s, int micro_batches, zb_problem *out) {
  zb_reduction *reductions;
  *out = *s->problem;
  out->micro_batches = micro_batches;
  if (out->reduction_count == 0) return NULL;
  ZB_TAKE(&s->arena, reductions, out->reduction_count);
  ZB_TRY(zb_arena_status(&s->arena));
  for (int i = 0; i < out->reduction_count; ++i) {
    reductions[i] = s->problem->reductions[i];
    const int after = reductions[i].after - (s->problem->micro_batches - micro_batches);
    reductions[i].after = after > 0 ? after : 0;
  }
  out->reductions = reductions;
  return NULL;
}

/* An order that takes less than less_than_ps; INFEASIBLE: there is none. `most`: as in a search; of a problem that is
 * judged with fewer micro-batches the order may take more. */
static zb_status find(const zb_problem *problem, int64_t blocks, int64_t less_than_ps, const int64_t *most,
                      zb_order *out) {
  search s = {.problem = problem, .most = most};
  zb_problem judged;
  candidate best;
  const manner *best_manner = NULL;
  bool found = false;
  zb_status status = NULL;
  ZB_TAKE(&s.arena, s.block, problem->ranks);
  ZB_TAKE(&s.arena, s.limits, problem->ranks);
  ZB_TAKE(&s.arena, s.unit_limits, problem->ranks);
  ZB_TAKE(&s.arena, s.peak, problem->ranks);
  ZB_TRY_GOTO(zb_arena_status(&s.arena));
  ZB_TRY_GOTO(shorten(&s, zb_min_int(problem->micro_batches, JUDGED_PER_RANK * problem->ranks), &judged));
  const int64_t limit = read_limits(&s);
  s.jobs_max = most_jobs(problem, limit);
  ZB_TRY_GOTO(list_candidates(&s, limit, blocks));
  ZB_TRY_GOTO(make_engines(&s, &judged));
  const int64_t judged_less = judged_less_than(problem, judged.micro_batches, less_than_ps);
  ZB_TRY_GOTO(find_best(&s, judged_less, &best, &best_manner, &found));
  if (found) {
    zb_model_deinit(&s.model);
    ZB_TRY_GOTO(make_engines(&s, problem));
    fill_block(&best, problem->ranks, s.block);
    int64_t unit = INT64_MAX;
    found = try_block(&s, best_manner, INT64_MAX, &unit) < INT64_MAX;
  }
  if (!found && less_than_ps < INT64_MAX)
    status = ZB_ERROR(INFEASIBLE, "no block takes less than %" PRId64 " ps", less_than_ps);
  else if (found)
    status = emit_last(&s, best_manner, out);
  else
    status = zb_v_min_emit(problem, out);
cleanup:
  zb_model_deinit(&s.model);
  zb_arena_deinit(&s.arena);
  return status;
}

static zb_status emit_blocks(const zb_problem *problem, const int64_t *limits, int64_t blocks, int64_t less_than_ps,
                             const int64_t *most, zb_order *out) {
  *out = (zb_order){0};
  zb_problem limited = *problem;
  limited.rank_limit_bytes = limits;
  ZB_TRY(zb_order_init(out, problem->ranks));
  const zb_status status = find(&limited, blocks, less_than_ps, most, out);
  if (status) zb_order_deinit(out);
  return status;
}

/* ---- For a search ---- */

typedef struct within_state {
  zb_scheduler *w;
  zb_slot *scratch; /* [per_rank] */
  int64_t *peak;    /* [ranks] */
} within_state;

static zb_status open_state(zb_scheduler *w, void **out) {
  within_state *const x = ZB_NEW(w->arena, within_state, 1);
  if (!x) return ZB_OUT_OF_MEMORY();
  x->w = w;
  ZB_TAKE(w->arena, x->scratch, w->per_rank);
  ZB_TAKE(w->arena, x->peak, w->ranks);
  *out = x;
  return zb_arena_status(w->arena);
}

/* The best order of all blocks that keeps the request's most: so a search with no more memory than the order of any
 * number of blocks takes finds that one or a better. With more micro-batches than blocks are judged with it may take
 * more than judged; then the one of the row of the table, which may take less. */
static zb_status ask(void *state, const zb_within_request *request, zb_slot *sequence, zb_within_answer *out) {
  const within_state *x = state;
  const zb_problem *const problem = x->w->model->problem;
  zb_order order;
  *out = (zb_within_answer){0};
  zb_status status = emit_blocks(problem, request->limits, BLOCKS_ALL, request->less_than_ps, request->most, &order);
  if (!status && !order_keeps(problem, &order, request->most, x->peak)) {
    zb_order_deinit(&order);
    status = emit_blocks(problem, request->limits, BLOCKS, INT64_MAX, NULL, &order);
  }
  if (zb_status_code(status) == ZB_INFEASIBLE) {
    zb_status_free(status);
    return NULL;
  }
  ZB_TRY(status);
  zb_sequence_read(x->w, &order, sequence, x->scratch);
  zb_order_deinit(&order);
  out->found = true;
  return NULL;
}
static const zb_within_def within = {open_state, ask};

/* ---- The row of the table ---- */

typedef struct descent {
  const zb_problem *problem;
  zb_scheduler *w;
  int64_t blocks;
  zb_bounds *bounds;
  int64_t *limits, *lowered, *peak; /* [ranks] bytes: of the problem; of a level; of an order */
  zb_order best;
  int64_t best_ps; /* by the metric of the problem; TIME_MOST: no order yet */
} descent;
static const int64_t TIME_MOST = INT64_MAX / 4;

/* Whether an order within d->lowered counts: it keeps the limits of the problem, and does not fit a lower level than
 * `bytes`. With no more memory than such an order takes a search asks at that level alone, so the order of that one
 * counts. */
static bool is_counted(descent *d, const zb_order *made, int64_t bytes) {
  if (!order_keeps(d->problem, made, d->limits, d->peak)) return false;
  return zb_level_above(d->w, zb_most_of(d->peak, d->w->ranks, 0)) >= bytes;
}

/* Keeps the best order within d->lowered, of level `bytes`, where it is shorter than those of the levels above. */
static zb_status try_lowered(descent *d, int64_t bytes) {
  zb_order made;
  zb_simulation simulation;
  if (zb_bounds_within(d->bounds, d->lowered) >= d->best_ps) return NULL;
  zb_status status = emit_blocks(d->problem, d->lowered, d->blocks, d->best_ps, NULL, &made);
  if (zb_status_code(status) == ZB_INFEASIBLE) {
    zb_status_free(status);
    return NULL;
  }
  ZB_TRY(status);
  if (!is_counted(d, &made, bytes)) goto cleanup;
  ZB_TRY_GOTO(zb_simulate(d->problem, &made, &simulation));
  const int64_t time = d->problem->metric == ZB_METRIC_STAGE ? simulation.stage_ps : simulation.step_ps;
  zb_simulation_deinit(&simulation);
  if (time >= d->best_ps) goto cleanup;
  zb_order_deinit(&d->best);
  d->best = made;
  d->best_ps = time;
  return NULL;
cleanup:
  zb_order_deinit(&made);
  return status;
}

static zb_status try_level(descent *d, int64_t bytes) {
  for (int rank = 0; rank < d->w->ranks; ++rank)
    d->lowered[rank] = d->limits[rank] < bytes ? d->limits[rank] : bytes;
  return try_lowered(d, bytes);
}

/* The level above the limits, whose order may keep them nevertheless: so a limit that is what an order takes gives that
 * order or a better one. */
static zb_status try_level_above(descent *d, int64_t most) {
  const int64_t bytes = zb_level_above(d->w, most);
  if (bytes == most) return NULL;
  for (int rank = 0; rank < d->w->ranks; ++rank)
    d->lowered[rank] = bytes;
  return try_lowered(d, bytes);
}

/* All levels within the limits, the highest first; only where none of them has an order, the fine ones. */
static zb_status try_levels(descent *d) {
  const int64_t most = zb_most_of(d->limits, d->w->ranks, 0);
  ZB_TRY(try_level_above(d, most));
  memcpy(d->lowered, d->limits, (size_t)d->w->ranks * sizeof *d->lowered);
  for (int level = zb_level_within(d->w, most); level > 0; --level)
    ZB_TRY(try_level(d, zb_level_bytes(d->w, level)));
  for (int64_t bytes = zb_level_fine(d->w, most, false), next; bytes > 0 && d->best_ps == TIME_MOST; bytes = next) {
    ZB_TRY(try_level(d, bytes));
    next = zb_level_fine(d->w, bytes - 1, false);
    if (next == bytes - 1) break;
  }
  return d->best_ps < TIME_MOST ? NULL : emit_blocks(d->problem, d->lowered, d->blocks, INT64_MAX, NULL, &d->best);
}

/* The best order of all levels of memory: of one level alone it may be longer than of a lower one, whose blocks are
 * others. */
static zb_status emit(const zb_problem *problem, const int64_t *options, zb_order *out) {
  zb_model model;
  zb_scheduler w;
  descent d = {.problem = problem, .w = &w, .blocks = options[0], .best_ps = TIME_MOST};
  ZB_TRY(zb_model_init(problem, &model));
  zb_status status = NULL;
  ZB_TRY_GOTO(zb_scheduler_init(&model, &w));
  ZB_TAKE(w.arena, d.limits, w.ranks);
  ZB_TAKE(w.arena, d.lowered, w.ranks);
  ZB_TAKE(w.arena, d.peak, w.ranks);
  ZB_TRY_GOTO(zb_arena_status(w.arena));
  ZB_TRY_GOTO(zb_bounds_new(problem, &d.bounds));
  zb_level_rank_limits(&w, d.limits);
  ZB_TRY_GOTO(try_levels(&d));
  zb_order_deinit(out);
  *out = d.best;
  d.best = (zb_order){0};
cleanup:
  zb_order_deinit(&d.best);
  zb_bounds_free(d.bounds);
  zb_model_deinit(&model);
  return status;
}

static const zb_schedule_option adaptive_options[] = {
    {"blocks", BLOCKS, 1, BLOCKS_ALL, "building blocks that are tried, those whose peak is closest to the memory limit",
     0},
    {0},
};

const zb_schedule_def zb_schedule_adaptive_v = {
    .name = "adaptive-v",
    .summary = "the best building block for the times and the memory limit at hand (controllable memory, arXiv "
               "2405.15362, Appendix A); V placement",
    ZB_PLACED_V,
    .splits_backward = true,
    .keeps_limit = true,
    .is_slow = true,
    .options = adaptive_options,
    .emit = emit,
    .within = &within,
    .memory_bound = zb_no_memory_bound,
};
