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
 * Limits are rounded down to fine levels (zb_level_fine), and the best of all within the limit is taken. Tests:
 * test/passes/schedule/v_schedules_test.c.
 */

#include "passes/schedule/rules/emit.h"
#include "passes/schedule/rules/rounds.h"
#include "passes/schedule/rules/rules.h"

typedef struct switches {
  zb_rounds_gap f, b; /* whether a W may delay an F; a B of leg 0 */
} switches;
static const switches all_switches[] = {{ZB_GAP_LEFT, ZB_GAP_LEFT},     {ZB_GAP_LEFT, ZB_GAP_IF_LATER},
                                        {ZB_GAP_IF_LATER, ZB_GAP_LEFT}, {ZB_GAP_IF_LATER, ZB_GAP_IF_LATER},
                                        {ZB_GAP_FILLED, ZB_GAP_LEFT},   {ZB_GAP_FILLED, ZB_GAP_IF_LATER},
                                        {ZB_GAP_LEFT, ZB_GAP_FILLED},   {ZB_GAP_IF_LATER, ZB_GAP_FILLED}};
enum {
  SWITCHES = sizeof all_switches / sizeof *all_switches,
  PUBLISHED_SWITCHES = 4,
  SWITCHES_JOBS = 16000, /* the most for which others are tried */
  REPEATS_MAX = 8,
  PLANS_MAX = 16,
  /* Of large problems (ZB_JOBS_LARGE) a run takes 10 ms, and a search asks for more than a hundred limits: one that is
   * sure to be later than the best by more than this part of it is given up, and is not repeated. Repeating gains less
   * than a tenth of that. */
  HOPELESS_PART = 256
};

typedef struct greedy {
  zb_scheduler *w;
  zb_rounds rounds;
  switches how;
  bool careful;       /* room is kept for F of leg 1 after the warm-up too */
  bool was_careful;   /* in any run so far */
  bool is_crowded;    /* the warm-up had more planned than there is room for */
  uint64_t signature; /* of the last warm-up */
  const int *rank;    /* [position] */
  int8_t *leg;        /* [position] of the B of this round */
} greedy;

static zb_status open_state(zb_scheduler *w, void **out) {
  greedy *const g = ZB_NEW(w->arena, greedy, 1);
  if (!g) return ZB_OUT_OF_MEMORY();
  *g = (greedy){.w = w, .rank = w->model->problem->stage_rank}; /* stages go down the positions first */
  ZB_TAKE(w->arena, g->leg, w->ranks);
  *out = g;
  return zb_rounds_init(w, &g->rounds);
}

/* ---- Putting jobs ---- */

static int class_of(const greedy *g, int at, zb_kind kind, int leg) {
  const bool first_chunk = (kind == ZB_F) == (leg == 0);
  return (first_chunk ? at : g->w->stages - 1 - at) * ZB_KIND_COUNT + (int)kind;
}

static int count(const greedy *g, int at, zb_kind kind, int leg) { return g->w->next[class_of(g, at, kind, leg)]; }

/* Whether the job before the next one of (kind, leg) in the life of its micro-batch has been put. */
static bool is_ready(const greedy *g, int at, zb_kind kind, int leg) {
  const int class = class_of(g, at, kind, leg), next = g->w->next[class], step = kind == ZB_F ? -1 : 1;
  if (next == g->w->micro_batches) return false;
  const int stage = class / ZB_KIND_COUNT, before = stage + step;
  if (kind == ZB_B && g->w->next[class - 1] <= next) return false;
  return before < 0 || before == g->w->stages || g->w->next[before * ZB_KIND_COUNT + (int)kind] > next;
}

/* Whether an F and, if it is of leg 0, one F of leg 1 that it must wait for can be held, once all W that wait are done.
 */
static bool leaves_room(greedy *g, int at, int leg) {
  const zb_scheduler *w = g->w;
  const int rank = g->rank[at], class = class_of(g, at, ZB_F, leg), other = class_of(g, at, ZB_F, 1);
  int64_t need = w->committed[rank] + w->hold[class / ZB_KIND_COUNT];
  if (leg == 0 && w->next[other] == w->next[other + 1]) need += w->hold[other / ZB_KIND_COUNT];
  return need <= w->one_each[rank] || zb_rounds_may_plan(&g->rounds, rank, need + w->pad[rank]);
}

static bool put_f(greedy *g, int at, int leg) {
  const int class = class_of(g, at, ZB_F, leg);
  if (!is_ready(g, at, ZB_F, leg) || !leaves_room(g, at, leg)) return false;
  if (!zb_rounds_make_room(&g->rounds, class)) {
    g->is_crowded = true;
    return false;
  }
  zb_rounds_put(&g->rounds, class);
  return true;
}

/* ---- Warm-up ---- */

/* Room for two more F of leg 0 on this rank and on each one above, so that memory is not spent on F too early. */
static bool may_fill_down_to(greedy *g, int last) {
  const int rank = g->rank[last], class = class_of(g, last, ZB_F, 0);
  const int64_t hold = g->w->hold[class / ZB_KIND_COUNT];
  if (g->w->next[class] == g->w->micro_batches) return false;
  if (!zb_rounds_may_plan(&g->rounds, rank, g->w->live[rank] + hold * (2 + 2 * last))) return false;
  for (int at = 0; at <= last; ++at)
    if (!leaves_room(g, at, 0) || count(g, at, ZB_F, 0) == g->w->micro_batches) return false;
  return true;
}

static void warm_up(greedy *g) {
  const int last = g->w->ranks - 1;
  for (int at = 0; at <= last; ++at)
    put_f(g, at, 0);
  for (int at = last; at >= 0; --at) {
    const int class = class_of(g, at, ZB_F, 0);
    const int64_t due = zb_rounds_ready(&g->rounds, class_of(g, at, ZB_F, 1));
    while (at < last && !g->is_crowded && g->w->clock[g->rank[at]] + g->w->forwards.time_ps[class] <= due &&
           may_fill_down_to(g, at))
      for (int above = 0; above <= at; ++above)
        put_f(g, above, 0);
    put_f(g, at, 1);
  }
  int leg = 0, idle = 0;
  for (int at = 1; at <= last; ++at)
    for (idle = 0; idle < 2; leg = 1 - leg) {
      const int own = count(g, at, ZB_F, 0) + count(g, at, ZB_F, 1), up = count(g, at, ZB_F, 1);
      const int above = count(g, at - 1, ZB_F, 0) + count(g, at - 1, ZB_F, 1), up_above = count(g, at - 1, ZB_F, 1);
      if (own >= above && (up > up_above || up_above == g->w->micro_batches)) break;
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
  return is_ready(g, at, ZB_B, 1) || down == g->w->micro_batches ? 1 : 0;
}

static bool try_b(greedy *g, int at, int leg) {
  if (!is_ready(g, at, ZB_B, leg)) return false;
  const int class = class_of(g, at, ZB_B, leg);
  if (!zb_rounds_make_room(&g->rounds, class)) return false;
  zb_rounds_fill_wait(&g->rounds, class, leg == 1 ? ZB_GAP_IF_LATER : g->how.b);
  zb_rounds_put_b(&g->rounds, class);
  return true;
}

static bool try_f(greedy *g, int at) {
  if (count(g, at, ZB_F, 1) == g->w->micro_batches) return false;
  const int leg = is_ready(g, at, ZB_F, 1) ? 1 : 0;
  if (!is_ready(g, at, ZB_F, leg) || (g->careful && !leaves_room(g, at, leg))) return false;
  const int class = class_of(g, at, ZB_F, leg);
  if (!zb_rounds_make_room(&g->rounds, class)) return false;
  zb_rounds_fill_wait(&g->rounds, class, g->how.f);
  zb_rounds_put(&g->rounds, class);
  return true;
}

/* False: nothing could be put. */
static bool run_round(greedy *g) {
  bool moved = false;
  for (int at = 0; at < g->w->ranks; ++at)
    g->leg[at] = (int8_t)leg_of_b(g, at);
  for (int at = g->w->ranks - 1; at >= 0; --at)
    if (g->leg[at] == 1) moved = try_b(g, at, 1) || moved;
  for (int at = 0; at < g->w->ranks; ++at)
    if (g->leg[at] == 0) moved = try_b(g, at, 0) || moved;
  for (int at = 0; at < g->w->ranks; ++at)
    moved = try_f(g, at) || moved;
  return moved;
}

/* Whether an order of a large problem is too far behind for its repetitions to be the best. */
static bool is_hopeless(const greedy *g) {
  const int64_t less_than = g->rounds.less_than;
  if (g->w->jobs <= ZB_JOBS_LARGE || less_than == INT64_MAX) return false;
  return zb_rounds_are_late(&g->rounds, less_than + less_than / HOPELESS_PART);
}

typedef enum run_result { RUN_ENDED, RUN_STOPPED, RUN_LATE, RUN_CROWDED } run_result;

/* One order. A warm-up that takes too long, or plans more than fits, is the same in all runs of the switches. */
static run_result run_once(greedy *g) {
  zb_rounds *r = &g->rounds;
  zb_rounds_start(r);
  g->is_crowded = false;
  warm_up(g);
  if (g->is_crowded && r->planned > 0) return RUN_CROWDED;
  if (zb_rounds_are_late(r, r->less_than)) return RUN_LATE;
  while (run_round(g))
    if (is_hopeless(g)) return RUN_LATE;
  for (int rank = 0; rank < g->w->ranks; ++rank)
    zb_rounds_put_all_w(r, rank);
  return zb_rounds_keep(r) ? RUN_ENDED : RUN_STOPPED;
}

/* A run of the switches, repeated with the waits of the last time allowed as long as the longest shrinks. */
static run_result run_repeatedly(greedy *g) {
  zb_rounds *r = &g->rounds;
  zb_rounds_forget_grants(r);
  int64_t longest = INT64_MAX;
  for (int repeat = 0; repeat < REPEATS_MAX; ++repeat) {
    const run_result result = run_once(g);
    if (result != RUN_ENDED) return repeat > 0 ? RUN_ENDED : result;
    if (r->longest >= longest || !zb_rounds_grant(r)) return RUN_ENDED;
    longest = r->longest;
  }
  return RUN_ENDED;
}

/* Whether the warm-up of a plan is not that of the one before, in whose place it would be run again. */
static bool is_new_plan(greedy *g) {
  uint64_t signature = UINT64_C(0xCBF29CE484222325);
  zb_rounds_start(&g->rounds);
  warm_up(g);
  for (int rank = 0; rank < g->w->ranks; ++rank)
    for (int i = 0; i < g->w->done[rank]; ++i)
      signature =
          (signature ^ (uint64_t)g->rounds.put[(size_t)rank * g->rounds.put_row + (size_t)i]) * UINT64_C(0x100000001B3);
  const bool is_new = signature != g->signature || g->was_careful;
  g->signature = signature;
  return is_new;
}

/* Some settings of the switches, with what is planned for so many bytes. False: no higher number can be of use. */
static bool run_plan(greedy *g, int count, int64_t planned) {
  run_result result = RUN_ENDED;
  g->rounds.planned = planned;
  g->rounds.next_planned = INT64_MAX;
  /* All runs of the plan have its warm-up: where that holds more than the request's most, so do they. */
  if (!is_new_plan(g) || g->rounds.is_above) return g->rounds.next_planned < INT64_MAX;
  for (int i = 0; i < count && result != RUN_CROWDED; ++i) {
    g->how = all_switches[i];
    g->careful = false;
    result = run_repeatedly(g);
    g->careful = result == RUN_STOPPED;
    g->was_careful |= g->careful;
    if (g->careful) result = run_repeatedly(g);
  }
  return result != RUN_CROWDED && g->rounds.next_planned < INT64_MAX;
}

/* The best order. As published: of one plan, that for the limits themselves, and four settings. */
static zb_status ask_plans(greedy *g, bool as_published, const zb_within_request *request, zb_slot *sequence,
                           zb_within_answer *out) {
  const int count = as_published || g->w->jobs > SWITCHES_JOBS ? PUBLISHED_SWITCHES : SWITCHES;
  bool goes_on = true;
  zb_rounds_open(&g->rounds, request, sequence);
  g->rounds.count_start = g->w->model->problem->metric == ZB_METRIC_BARRIER;
  g->signature = 0;
  g->was_careful = false;
  for (int i = 0; i < (as_published ? 1 : PLANS_MAX) && goes_on; ++i)
    goes_on = run_plan(g, count, i ? g->rounds.next_planned : 0);
  zb_rounds_close(&g->rounds, out);
  return NULL;
}

static zb_status ask(void *state, const zb_within_request *request, zb_slot *sequence, zb_within_answer *out) {
  return ask_plans(state, false, request, sequence, out);
}
static const zb_within_def within = {open_state, ask};

static zb_status ask_published(void *state, const zb_within_request *request, zb_slot *sequence,
                               zb_within_answer *out) {
  return ask_plans(state, true, request, sequence, out);
}
static const zb_within_def published = {open_state, ask_published};

/* ---- The row of the table ---- */

static zb_status emit(const zb_problem *problem, const int64_t *options ZB_UNUSED, zb_order *out) {
  return zb_within_emit(&published, problem, 0, out);
}

const zb_schedule_def zb_schedule_zb_v_auto = {
    .name = "zb-v-auto",
    .summary = "the zero-bubble scheduler for the V placement: an order by simulated time for any memory limit (Zero "
               "Bubble, arXiv 2401.10241, section 6)",
    ZB_PLACED_V,
    .splits_backward = true,
    .keeps_limit = true,
    .emit = emit,
    .within = &within,
    .memory_bound = zb_no_memory_bound,
};
