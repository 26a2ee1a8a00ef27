/* ZB: the scheduler of the zero-bubble paper, which builds an order by simulated time within any memory limit; ZB-1p
 * and ZB-2p are it at the memory of 1F1B and at its double.
 *
 * Qi, Wan, Huang, Lin 2024, "Zero Bubble Pipeline Parallelism", arXiv 2401.10241, section 3.1. Warm-up: every stage
 * runs as many F before its first B as memory allows until that B can start, and more than the stage behind it. After
 * that, rounds: every rank puts one F and one B, the F down the stages, the B up them. W fill the waits they fit in,
 * are begun in smaller ones where the rank would else become the one that has waited longest, and make room where
 * memory is full. Switches: whether the last F of the warm-up may delay the first B; whether a stage that is two ahead
 * leaves an F out where the B would be delayed by it, and no rank would wait longer than another one for that; whether
 * W are begun in all waits. All settings are tried; the least time by the metric wins.
 *
 * Unlike there a warm-up may be planned for more memory than there is, as long as what it runs fits; by the barrier
 * metric the wait before the first job counts too, or does not; stages may be uneven and edges skip.
 * Limits are rounded down to fine levels (zb_level_fine), and the best of all within the limit is taken. Tests:
 * test/passes/schedule/iclr24_test.c, search_test.c.
 */
#include <string.h>

#include "passes/schedule/rules/emit.h"
#include "passes/schedule/rules/rounds.h"
#include "passes/schedule/rules/rules.h"

typedef struct switches {
  bool delay_b, leave_f; /* the last F of the warm-up may delay the first B; F may be left out of a round */
  zb_rounds_gap gap;
} switches;
enum { SWITCHES = 8, PLANS_MAX = 16 };
static switches switches_at(int index) {
  return (switches){index & 1, !(index & 2), index & 4 ? ZB_GAP_IF_LATER : ZB_GAP_FILLED};
}

typedef struct heuristic {
  zb_scheduler *w;
  zb_rounds rounds;
  switches how;
  int *more;    /* [stages] F of the warm-up but the first; whether a stage has an F in the round */
  int64_t *due; /* [stages] when the first B can start */
} heuristic;

static zb_status open_state(zb_scheduler *w, void **out) {
  heuristic *const h = ZB_NEW(w->arena, heuristic, 1);
  if (!h) return ZB_OUT_OF_MEMORY();
  *h = (heuristic){.w = w};
  ZB_TAKE(w->arena, h->more, w->stages);
  ZB_TAKE(w->arena, h->due, w->stages);
  *out = h;
  return zb_rounds_init(w, &h->rounds);
}

static int class_of(int stage, zb_kind kind) { return stage * ZB_KIND_COUNT + (int)kind; }

static int count(const heuristic *h, int stage, zb_kind kind) { return h->w->next[class_of(stage, kind)]; }

static int rank_of(const heuristic *h, int stage) { return h->w->model->problem->stage_rank[stage]; }

static int64_t time_of(const heuristic *h, int stage, zb_kind kind) {
  return h->w->forwards.time_ps[class_of(stage, kind)];
}

/* Whether one more F leaves room for what a job needs for its own time, with so many planned. */
static bool leaves_room(heuristic *h, int stage, int planned) {
  const zb_scheduler *w = h->w;
  const int rank = rank_of(h, stage);
  const int64_t need = w->committed[rank] + (planned + 1) * w->hold[stage];
  return need <= w->one_each[rank] || zb_rounds_may_plan(&h->rounds, rank, need + w->pad[rank]);
}

static bool put_f(heuristic *h, int stage) {
  const int class = class_of(stage, ZB_F);
  if (!zb_rounds_make_room(&h->rounds, class)) return false;
  zb_rounds_put(&h->rounds, class);
  return true;
}

/* ---- Warm-up ---- */

/* How many F a stage runs while its first B is on its way; when that B ends. */
static int64_t plan_stage(heuristic *h, int stage) {
  const int64_t due = h->due[stage], time = time_of(h, stage, ZB_F);
  int64_t clock = h->w->clock[rank_of(h, stage)];
  h->more[stage] = 0;
  while (h->more[stage] + 1 < h->w->micro_batches && (h->how.delay_b ? clock < due : clock + time <= due) &&
         leaves_room(h, stage, h->more[stage])) {
    clock += time;
    ++h->more[stage];
  }
  return zb_max64(clock, due) + time_of(h, stage, ZB_B);
}

/* From the last stage on; then every stage gets more than the one behind it. */
static void plan_warm_up(heuristic *h) {
  const zb_direction *d = &h->w->forwards;
  memset(h->due, 0, (size_t)h->w->stages * sizeof *h->due);
  for (int stage = h->w->stages - 1; stage >= 0; --stage) {
    const int64_t end = plan_stage(h, stage);
    for (int i = d->link_begin[class_of(stage, ZB_B)]; i < d->link_begin[class_of(stage, ZB_B) + 1]; ++i) {
      int64_t *to = &h->due[d->links[i].stage / ZB_KIND_COUNT];
      *to = zb_max64(*to, end + d->links[i].time_ps);
    }
  }
  for (int stage = 1; stage < h->w->stages; ++stage) {
    const int before = h->more[stage - 1], all = h->w->micro_batches - 1;
    h->more[stage] = zb_min_int(h->more[stage], before == all ? all : zb_max_int(before - 1, 0));
  }
}

/* False: what is planned does not fit. */
static bool warm_up(heuristic *h) {
  for (int stage = 0; stage < h->w->stages; ++stage)
    if (!put_f(h, stage)) return false;
  plan_warm_up(h);
  for (int stage = 0; stage < h->w->stages; ++stage)
    for (int i = 0; i < h->more[stage]; ++i)
      if (!put_f(h, stage)) return false;
  for (int stage = h->w->stages - 1; stage >= 0; --stage) {
    if (!zb_rounds_make_room(&h->rounds, class_of(stage, ZB_B))) return false;
    zb_rounds_put_b(&h->rounds, class_of(stage, ZB_B));
  }
  return true;
}

/* ---- Rounds ---- */

/* When the next B of the stage behind reaches a stage, if that rank runs its F and B at once; INT64_MAX: it does not.
 */
static int64_t next_b(const heuristic *h, int stage) {
  const zb_direction *d = &h->w->forwards;
  const int behind = class_of(stage + 1, ZB_B);
  for (int i = d->link_begin[behind]; i < d->link_begin[behind + 1]; ++i)
    if (d->links[i].stage == class_of(stage, ZB_B))
      return h->w->clock[rank_of(h, stage + 1)] + time_of(h, stage + 1, ZB_F) + time_of(h, stage + 1, ZB_B) +
             d->links[i].time_ps;
  return INT64_MAX;
}

/* The time of the W that must go before an F for its room. */
static int64_t time_for_room(heuristic *h, int stage) {
  zb_scheduler *w = h->w;
  const zb_direction *d = &w->forwards;
  const int rank = rank_of(h, stage), waiting = h->rounds.newest[rank] - h->rounds.oldest[rank];
  int64_t live = w->live[rank] + d->keep[class_of(stage, ZB_F)], time = 0;
  for (int i = 0; i < waiting && live > h->rounds.limits[rank]; ++i) {
    const int class = zb_rounds_w(&h->rounds, rank, i);
    live += d->keep[class] - d->release[class];
    time += d->time_ps[class];
  }
  const int64_t room = h->rounds.limits[rank] - live;
  if (room >= 0) zb_note_room(w, rank, room);
  return time;
}

/* Whether a stage has an F in this round. */
static bool wants_f(heuristic *h, int stage) {
  if (count(h, stage, ZB_F) == h->w->micro_batches || !leaves_room(h, stage, 0)) return false;
  if (!h->how.leave_f || stage + 1 == h->w->stages) return true;
  if (count(h, stage, ZB_F) < count(h, stage + 1, ZB_F) + 2) return true;
  const int rank = rank_of(h, stage);
  const int64_t due = next_b(h, stage), clock = h->w->clock[rank];
  if (clock >= due) return false;
  if (clock + time_of(h, stage, ZB_F) + time_for_room(h, stage) <= due) return true;
  return !zb_rounds_may_wait(&h->rounds, rank, due - clock);
}

/* A stage that the stage behind does not follow would only fill its memory. */
static void choose_f(heuristic *h) {
  bool follows = true;
  for (int stage = h->w->stages - 1; stage >= 0; --stage) {
    follows = wants_f(h, stage) && follows;
    h->more[stage] = follows;
  }
}

static void run_f(heuristic *h, int stage) {
  const int class = class_of(stage, ZB_F);
  if (stage > 0 && count(h, stage, ZB_F) == count(h, stage - 1, ZB_F)) return;
  if (!zb_rounds_make_room(&h->rounds, class)) return;
  zb_rounds_fill_wait(&h->rounds, class, h->how.gap);
  zb_rounds_put(&h->rounds, class);
}

static bool run_b(heuristic *h, int stage) {
  const zb_direction *d = &h->w->forwards;
  const int class = class_of(stage, ZB_B);
  if (count(h, stage, ZB_F) == count(h, stage, ZB_B) || !zb_rounds_make_room(&h->rounds, class)) return false;
  zb_rounds_fill_wait(&h->rounds, class, h->how.gap);
  const bool is_urgent = d->link_begin[class] < d->link_begin[class + 1];
  if (!is_urgent && count(h, stage, ZB_F) == h->w->micro_batches) zb_rounds_put_all_w(&h->rounds, rank_of(h, stage));
  zb_rounds_put_b(&h->rounds, class);
  return true;
}

/* False: it comes to a stop, or takes too long. */
static bool run_round(heuristic *h) {
  choose_f(h);
  for (int stage = 0; stage < h->w->stages; ++stage)
    if (h->more[stage]) run_f(h, stage);
  for (int stage = h->w->stages - 1; stage >= 0; --stage)
    if (!run_b(h, stage)) return false;
  return !h->rounds.is_above && !zb_rounds_are_late(&h->rounds, h->rounds.less_than);
}

/* One order. False: with more planned, no run of these switches would fit. */
static bool run_once(heuristic *h) {
  zb_rounds *r = &h->rounds;
  zb_rounds_start(r);
  if (!warm_up(h)) return false;
  bool goes_on = !zb_rounds_are_late(r, r->less_than);
  for (int i = 1; i < h->w->micro_batches && goes_on; ++i)
    goes_on = run_round(h);
  for (int rank = 0; rank < h->w->ranks; ++rank)
    zb_rounds_put_all_w(r, rank);
  if (goes_on && !r->is_above) (void)zb_rounds_keep(r);
  return true;
}

/* One setting of the switches, planned for the limits and then for more and more. */
static void run_plans(heuristic *h) {
  h->rounds.planned = 0;
  for (int i = 0; i < PLANS_MAX; ++i) {
    h->rounds.next_planned = INT64_MAX;
    if (!run_once(h) || h->rounds.next_planned == INT64_MAX) return;
    h->rounds.planned = zb_level_fine(h->w, h->rounds.next_planned, true);
  }
}

static zb_status ask(void *state, const zb_within_request *request, zb_slot *sequence, zb_within_answer *out) {
  heuristic *const h = state;
  const int metrics = h->w->model->problem->metric == ZB_METRIC_BARRIER ? 2 : 1;
  zb_rounds_open(&h->rounds, request, sequence);
  for (int i = 0; i < metrics * SWITCHES; ++i) {
    h->rounds.count_start = i >= SWITCHES;
    h->how = switches_at(i % SWITCHES);
    run_plans(h);
  }
  zb_rounds_close(&h->rounds, out);
  return NULL;
}
static const zb_within_def within = {open_state, ask};

static zb_status emit_zb(const zb_problem *problem, const int64_t *options, zb_order *out) {
  return zb_within_emit(&within, problem, options[0], out);
}
static zb_status emit_1p(const zb_problem *problem, const int64_t *options ZB_UNUSED, zb_order *out) {
  return zb_within_emit(&within, problem, 100, out);
}
static zb_status emit_2p(const zb_problem *problem, const int64_t *options ZB_UNUSED, zb_order *out) {
  return zb_within_emit(&within, problem, 200, out);
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
    {"memory", 0, 0, 100000, "percent of p micro-batches, what 1F1B needs; 0: the memory limit of the problem", 0},
    {0}};

#define ZB_ROW(c_name, row_name, text, row_options, row_emit, row_bound, row_within)                                   \
  const zb_schedule_def zb_schedule_##c_name = {.name = row_name,                                                      \
                                                .summary = text,                                                       \
                                                .placement = "plain",                                                  \
                                                .chunks_min = 1,                                                       \
                                                .chunks_max = 1,                                                       \
                                                .any_placement = true,                                                 \
                                                .splits_backward = true,                                               \
                                                .keeps_limit = (row_within) != NULL,                                   \
                                                .within = row_within,                                                  \
                                                .options = row_options,                                                \
                                                .emit = row_emit,                                                      \
                                                .memory_bound = row_bound}
ZB_ROW(zb, "zb",
       "the zero-bubble scheduler: an order by simulated time for any memory limit (Zero Bubble, arXiv 2401.10241, "
       "section "
       "3.1); one chunk a rank",
       zb_options, emit_zb, zb_no_memory_bound, &within);
ZB_ROW(zb_1p, "zb-1p",
       "zb at the memory of 1F1B, p micro-batches (Zero Bubble, arXiv 2401.10241, section 3.1); one chunk a rank", NULL,
       emit_1p, bound_1p, NULL);
ZB_ROW(zb_2p, "zb-2p", "zb at twice the memory of 1F1B (Zero Bubble, arXiv 2401.10241, section 3.1); one chunk a rank",
       NULL, emit_2p, bound_2p, NULL);
