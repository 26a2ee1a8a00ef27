/* ZB-V by simulated time: the scheduler of the zero-bubble paper for the V placement, within any memory limit.
 *
 * Qi, Wan, Huang, Lin 2024, "Zero Bubble Pipeline Parallelism", arXiv 2401.10241, section 6, as the authors' program
 * does it. F, and then B, of a micro-batch goes down the ranks on one chunk and up on the other; "leg" 0 and 1 here.
 * Warm-up: the first F of all ranks go down and up; what a rank waits meanwhile is filled with further F of leg 0 on it
 * and all ranks above, as memory allows; then each rank is filled up to as many F as the rank above has. After that,
 * rounds: every rank gets one B, then one F, of leg 1 where its input has been made. A wait is filled with the W that
 * fit in it, oldest first, and one W more is begun in what is left of it where the rank would else become the one that
 * waited longest. Two switches, whether that W may delay an F and a B of leg 0, make four runs; each is repeated with
 * the waits of its ranks as allowed ones while the longest wait shrinks. The least time by the metric wins.
 *
 * Unlike there what does not fit waits for the next round, and a run that comes to a stop, its memory full of F of leg
 * 0, is made again with an F put only where room stays for one F of leg 1, if none is on its way: then a limit that one
 * micro-batch can keep never blocks (the argument is in build.c).
 * Limits are rounded down to levels (zb_level_bytes). Tests: test/passes/schedule/v_schedules_test.c.
 */
#include <string.h>

#include "passes/schedule/rules/rules.h"
#include "passes/schedule/rules/emit.h"

typedef struct switches {
  bool fill_f, fill_b; /* whether a W may delay an F; a B of leg 0 */
} switches;
static const switches all_switches[] = {{false, false}, {false, true}, {true, false}, {true, true}};
enum { SWITCHES = sizeof all_switches / sizeof *all_switches, REPEATS_MAX = 8 };

typedef struct greedy {
  zb_model model;
  zb_scheduler w;
  const int64_t *limits; /* [ranks] */
  switches how;
  bool careful; /* room is kept for F of leg 1 after the warm-up too */
  zb_slot *sequence, *best;
  const int *rank;            /* [position] */
  int *waiting;               /* [ranks * per_rank / 3] classes of B without their W, oldest first */
  int *oldest, *newest;       /* [position] in `waiting` */
  int8_t *leg;                /* [position] of the B of this round */
  int64_t *bubble, *approved; /* [position] how long it waited; allowed waits of this run */
  int64_t longest, longest_approved;
} greedy;

static zb_status greedy_init(const zb_problem *problem, const int64_t *limits, greedy *g) {
  *g = (greedy){.limits = limits};
  ZB_TRY(zb_model_init(problem, &g->model));
  ZB_TRY(zb_scheduler_init(&g->model, &g->w));
  zb_arena *arena = g->w.arena;
  ZB_TAKE(arena, g->sequence, g->w.jobs);
  ZB_TAKE(arena, g->best, g->w.jobs);
  ZB_TAKE(arena, g->waiting, g->w.jobs / ZB_KIND_COUNT);
  ZB_TAKE(arena, g->oldest, g->w.ranks);
  ZB_TAKE(arena, g->newest, g->w.ranks);
  ZB_TAKE(arena, g->leg, g->w.ranks);
  ZB_TAKE(arena, g->bubble, g->w.ranks);
  ZB_TAKE(arena, g->approved, g->w.ranks);
  g->rank = problem->stage_rank; /* stages go down the positions first */
  return zb_arena_status(arena);
}

/* ---- Putting jobs ---- */

static int class_of(const greedy *g, int at, zb_kind kind, int leg) {
  const bool first_chunk = (kind == ZB_F) == (leg == 0);
  return (first_chunk ? at : g->w.stages - 1 - at) * ZB_KIND_COUNT + (int)kind;
}

static int count(const greedy *g, int at, zb_kind kind, int leg) { return g->w.next[class_of(g, at, kind, leg)]; }

static bool has_waiting(const greedy *g, int at) { return g->oldest[at] < g->newest[at]; }

/* When the next job of a class has its inputs. */
static int64_t ready(const greedy *g, int class) {
  return g->w.ready[(size_t)class * (size_t)g->w.micro_batches + (size_t)g->w.next[class]];
}

/* Whether the job before the next one of (kind, leg) in the life of its micro-batch has been put. */
static bool is_ready(const greedy *g, int at, zb_kind kind, int leg) {
  const int class = class_of(g, at, kind, leg), next = g->w.next[class], step = kind == ZB_F ? -1 : 1;
  if (next == g->w.micro_batches) return false;
  const int stage = class / ZB_KIND_COUNT, before = stage + step;
  if (kind == ZB_B && g->w.next[class - 1] <= next) return false;
  return before < 0 || before == g->w.stages || g->w.next[before * ZB_KIND_COUNT + (int)kind] > next;
}

static void put(greedy *g, int at, int class) {
  zb_scheduler *w = &g->w;
  const zb_direction *d = &w->forwards;
  const int rank = g->rank[at], micro_batch = w->next[class], kind = class % ZB_KIND_COUNT;
  const size_t m = (size_t)w->micro_batches, job = (size_t)class * m + (size_t)micro_batch;
  const int64_t start = w->ready[job] > w->clock[rank] ? w->ready[job] : w->clock[rank];
  const int64_t end = start + d->time_ps[class];
  if (w->done[rank] > 0 || w->model->problem->metric == ZB_METRIC_BARRIER) g->bubble[at] += start - w->clock[rank];
  if (g->bubble[at] > g->longest) g->longest = g->bubble[at];
  g->sequence[zb_rank_begin(w, rank) + (size_t)w->done[rank]++] = (zb_slot){class, micro_batch};
  w->clock[rank] = end;
  w->live[rank] += d->keep[class] - d->release[class];
  if (kind == ZB_F) w->committed[rank] += w->hold[class / ZB_KIND_COUNT];
  if (kind == ZB_B) w->committed[rank] -= w->hold[class / ZB_KIND_COUNT];
  ++w->next[class];
  if (kind != ZB_W && end > w->ready[job + m]) w->ready[job + m] = end;
  for (int i = d->link_begin[class]; i < d->link_begin[class + 1]; ++i) {
    const zb_link *link = &d->links[i];
    const int64_t arrival = zb_link_send(link, w->channel, end);
    int64_t *to = &w->ready[(size_t)link->stage * m + (size_t)micro_batch];
    if (arrival > *to) *to = arrival;
  }
}

static void put_w(greedy *g, int at) {
  put(g, at, g->waiting[(size_t)at * (size_t)g->w.per_rank / ZB_KIND_COUNT + (size_t)g->oldest[at]++] + 1);
}

static void put_b(greedy *g, int at, int class) {
  put(g, at, class);
  g->waiting[(size_t)at * (size_t)g->w.per_rank / ZB_KIND_COUNT + (size_t)g->newest[at]++] = class;
  if (g->w.whole) put_w(g, at);
}

/* Whether an F and, if it is of leg 0, one F of leg 1 that it must wait for can be held, once all W that wait are done.
 */
static bool leaves_room(const greedy *g, int at, int leg) {
  const zb_scheduler *w = &g->w;
  const int rank = g->rank[at], class = class_of(g, at, ZB_F, leg), other = class_of(g, at, ZB_F, 1);
  int64_t need = w->committed[rank] + w->hold[class / ZB_KIND_COUNT];
  if (leg == 0 && w->next[other] == w->next[other + 1]) need += w->hold[other / ZB_KIND_COUNT];
  return need <= w->one_each[rank] || need + w->pad[rank] <= g->limits[rank];
}

/* Makes room for a job with the W that wait; false if that is not enough. */
static bool make_room(greedy *g, int at, int class) {
  const int rank = g->rank[at];
  while (g->w.live[rank] + g->w.forwards.keep[class] > g->limits[rank]) {
    if (!has_waiting(g, at)) return false;
    put_w(g, at);
  }
  return true;
}

static bool put_f(greedy *g, int at, int leg) {
  const int class = class_of(g, at, ZB_F, leg);
  if (!is_ready(g, at, ZB_F, leg) || !leaves_room(g, at, leg) || !make_room(g, at, class)) return false;
  put(g, at, class);
  return true;
}

/* W in the wait for the next job of a class. */
static void fill_wait(greedy *g, int at, int class, bool may_delay) {
  const int rank = g->rank[at];
  const int64_t due = ready(g, class);
  int64_t allowed = g->longest_approved - g->approved[at];
  if (g->longest > allowed) allowed = g->longest;
  while (has_waiting(g, at)) {
    const int w_class = g->waiting[(size_t)at * (size_t)g->w.per_rank / ZB_KIND_COUNT + (size_t)g->oldest[at]] + 1;
    const int64_t start = g->w.clock[rank];
    const bool fits = start + g->w.forwards.time_ps[w_class] <= due;
    if (!fits && (!may_delay || due - start <= allowed - g->bubble[at])) return;
    put_w(g, at);
    if (!fits) return;
  }
}

/* ---- Warm-up ---- */

/* Room for two more F of leg 0 on this rank and on each one above, so that memory is not spent on F too early. */
static bool may_fill_down_to(const greedy *g, int last) {
  const int rank = g->rank[last], class = class_of(g, last, ZB_F, 0);
  const int64_t hold = g->w.hold[class / ZB_KIND_COUNT];
  if (g->w.next[class] == g->w.micro_batches) return false;
  if (g->w.live[rank] + hold * (2 + 2 * last) > g->limits[rank]) return false;
  for (int at = 0; at <= last; ++at)
    if (!leaves_room(g, at, 0) || count(g, at, ZB_F, 0) == g->w.micro_batches) return false;
  return true;
}

static void warm_up(greedy *g) {
  const int last = g->w.ranks - 1;
  for (int at = 0; at <= last; ++at)
    put_f(g, at, 0);
  for (int at = last; at >= 0; --at) {
    const int class = class_of(g, at, ZB_F, 0);
    const int64_t due = ready(g, class_of(g, at, ZB_F, 1));
    while (at < last && g->w.clock[g->rank[at]] + g->w.forwards.time_ps[class] <= due && may_fill_down_to(g, at))
      for (int above = 0; above <= at; ++above)
        put_f(g, above, 0);
    put_f(g, at, 1);
  }
  int leg = 0, idle = 0;
  for (int at = 1; at <= last; ++at)
    for (idle = 0; idle < 2; leg = 1 - leg) {
      const int own = count(g, at, ZB_F, 0) + count(g, at, ZB_F, 1), up = count(g, at, ZB_F, 1);
      const int above = count(g, at - 1, ZB_F, 0) + count(g, at - 1, ZB_F, 1), up_above = count(g, at - 1, ZB_F, 1);
      if (own >= above && (up > up_above || up_above == g->w.micro_batches)) break;
      bool moved = false;
      for (int below = last; below >= at; --below)
        moved = put_f(g, below, leg) || moved;
      idle = moved ? 0 : idle + 1;
    }
}

/* ---- Rounds ---- */

static int leg_of_b(const greedy *g, int at) {
  const int down = count(g, at, ZB_B, 0), up = count(g, at, ZB_B, 1);
  if (up >= down) return 0;
  return is_ready(g, at, ZB_B, 1) || down == g->w.micro_batches ? 1 : 0;
}

static bool try_b(greedy *g, int at, int leg) {
  if (!is_ready(g, at, ZB_B, leg)) return false;
  const int class = class_of(g, at, ZB_B, leg);
  if (!make_room(g, at, class)) return false;
  fill_wait(g, at, class, leg == 1 || g->how.fill_b);
  put_b(g, at, class);
  return true;
}

static bool try_f(greedy *g, int at) {
  if (count(g, at, ZB_F, 1) == g->w.micro_batches) return false;
  const int leg = is_ready(g, at, ZB_F, 1) ? 1 : 0;
  if (!is_ready(g, at, ZB_F, leg) || (g->careful && !leaves_room(g, at, leg))) return false;
  const int class = class_of(g, at, ZB_F, leg);
  if (!make_room(g, at, class)) return false;
  fill_wait(g, at, class, g->how.fill_f);
  put(g, at, class);
  return true;
}

/* False: nothing could be put. */
static bool run_round(greedy *g) {
  bool moved = false;
  for (int at = 0; at < g->w.ranks; ++at)
    g->leg[at] = (int8_t)leg_of_b(g, at);
  for (int at = g->w.ranks - 1; at >= 0; --at)
    if (g->leg[at] == 1) moved = try_b(g, at, 1) || moved;
  for (int at = 0; at < g->w.ranks; ++at)
    if (g->leg[at] == 0) moved = try_b(g, at, 0) || moved;
  for (int at = 0; at < g->w.ranks; ++at)
    moved = try_f(g, at) || moved;
  return moved;
}

/* One order; false if it came to a stop. */
static bool run_once(greedy *g, zb_timing *timing) {
  zb_scheduler *w = &g->w;
  const size_t ranks = (size_t)w->ranks;
  zb_scheduler_clear(w);
  memset(g->oldest, 0, ranks * sizeof *g->oldest);
  memset(g->newest, 0, ranks * sizeof *g->newest);
  memset(g->bubble, 0, ranks * sizeof *g->bubble);
  g->longest = 0;
  warm_up(g);
  while (run_round(g)) {
  }
  for (int at = 0; at < w->ranks; ++at) {
    while (has_waiting(g, at))
      put_w(g, at);
    if (w->done[g->rank[at]] < w->per_rank) return false;
  }
  return zb_time_sequence(w, g->sequence, timing, NULL, NULL);
}

/* A run of the switches, repeated with the waits of the last time allowed as long as the longest shrinks. False if the
 * first comes to a stop. */
static bool run_repeatedly(greedy *g, zb_timing *best) {
  const size_t bytes = (size_t)g->w.ranks * sizeof *g->approved;
  memset(g->approved, 0, bytes);
  g->longest_approved = 0;
  int64_t longest = INT64_MAX;
  for (int repeat = 0; repeat < REPEATS_MAX; ++repeat) {
    zb_timing timing;
    if (!run_once(g, &timing)) return repeat > 0;
    const int64_t time = zb_metric_time(&g->w, &timing), least = zb_metric_time(&g->w, best);
    if (time < least || (time == least && timing.step_ps - best->step_ps + timing.stage_ps < best->stage_ps)) {
      *best = timing;
      memcpy(g->best, g->sequence, g->w.jobs * sizeof *g->best);
    }
    if (g->longest >= longest) return true;
    longest = g->longest_approved = g->longest;
    memcpy(g->approved, g->bubble, bytes);
  }
  return true;
}

/* The best of all settings of the switches in g->best; false if none ends. */
static bool run_all(greedy *g) {
  zb_timing best = {INT64_MAX, INT64_MAX};
  for (int i = 0; i < SWITCHES; ++i) {
    g->how = all_switches[i];
    g->careful = false;
    if (run_repeatedly(g, &best)) continue;
    g->careful = true;
    run_repeatedly(g, &best);
  }
  return best.step_ps < INT64_MAX;
}

static zb_status emit_within(const zb_problem *problem, const int64_t *limits, int64_t less_than_ps, zb_order *out) {
  (void)less_than_ps;
  *out = (zb_order){0};
  greedy g;
  zb_status status = greedy_init(problem, limits, &g);
  if (!status) {
    /* `bubble`, `approved` are scratch here. */
    if (!run_all(&g)) zb_sequence_least(&g.w, g.best, g.bubble);
    status = zb_sequence_write(&g.w, g.best, out);
  }
  zb_model_deinit(&g.model);
  return status;
}

/* ---- The row of the table ---- */

static zb_status emit(const zb_problem *problem, const int64_t *options, zb_order *out) {
  (void)options;
  return zb_emit_at_level(problem, 0, emit_within, out);
}

const zb_schedule_def zb_schedule_zb_v_auto = {
    .name = "zb-v-auto",
    .summary = "the zero-bubble scheduler for the V placement: an order by simulated time for any memory limit (Zero "
               "Bubble, arXiv 2401.10241, section 6)",
    ZB_PLACED_V,
    .splits_backward = true,
    .keeps_limit = true,
    .emit = emit,
    .emit_within = emit_within,
    .memory_bound = zb_no_memory_bound,
};
