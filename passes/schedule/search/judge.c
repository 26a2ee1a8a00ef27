/* Tests: test/passes/schedule/period_search_test.c */
#include "passes/schedule/search/judge.h"

#include <string.h>

#include "passes/schedule/rules/rules.h"
#include "runtime/base/digest.h"

/* Moves that are tried at a level and then at each fine one, as many as take so many jobs in all; and on up to this
 * multiple of what the last shorter period came after, and the most of a level. */
enum { MOVES = 1500, MOVE_JOBS = 1500000, FINE_MOVES = 500, FINE_MOVE_JOBS = 500000, PATIENCE = 4, MOST = 4000 };
/* A level whose best order is longer than the best of all by more than this has no moves; of larger problems, where
 * moves make up for less and take longer. */
static const double FAR = 0.5, FAR_LARGE = 0.15;

bool zb_period_is_shorter(const zb_period *a, const zb_period *b) {
  if (a->period_ps != b->period_ps) return a->period_ps < b->period_ps;
  /* Rounded up they are equal: what is less than the whole picosecond decides. */
  const int64_t whole = a->period_ps > 0 ? a->period_ps - 1 : 0;
  const double left = (double)(a->cycle_ps - whole * a->cycle_steps) / a->cycle_steps;
  const double right = (double)(b->cycle_ps - whole * b->cycle_steps) / b->cycle_steps;
  return left < right;
}

zb_status zb_judge_init(const zb_problem *problem, uint64_t seed, zb_judge *out) {
  *out = (zb_judge){.problem = problem, .seed = seed, .bound_ps = zb_lower_bound_period_ps(problem)};
  zb_status status = NULL;
  zb_problem by_span = *problem;
  by_span.metric = ZB_METRIC_STAGE; /* a chain within one step: its bound is one of the period, too (period.c) */
  ZB_TRY(zb_model_init(problem, &out->model));
  ZB_TRY_GOTO(zb_bounds_new(&by_span, &out->bounds));
  ZB_TRY_GOTO(zb_period_timer_new(&out->model, &out->timer));
cleanup:
  if (status) zb_judge_deinit(out);
  return status;
}

void zb_judge_deinit(zb_judge *judge) {
  for (int i = 0; i < judge->front_count; ++i)
    zb_order_deinit(&judge->front[i].order);
  zb_free(judge->front);
  zb_order_deinit(&judge->best);
  zb_bounds_free(judge->bounds);
  zb_period_timer_free(judge->timer);
  zb_model_deinit(&judge->model);
  *judge = (zb_judge){0};
}

bool zb_judge_is_done(const zb_judge *judge) {
  return judge->best.jobs && (judge->is_stopped || judge->period.period_ps <= judge->bound_ps);
}

bool zb_judge_hopes(zb_judge *judge, const int64_t *limits) {
  if (zb_judge_is_done(judge)) return false;
  return !judge->best.jobs || zb_bounds_within(judge->bounds, limits) < judge->period.period_ps;
}

static void keep_shorter(zb_judge *judge, zb_order *order, const zb_period *period) {
  if (period->cycle_steps > 0 && (!judge->best.jobs || zb_period_is_shorter(period, &judge->period))) {
    zb_order_deinit(&judge->best);
    judge->best = *order;
    judge->period = *period;
    *order = (zb_order){0};
  }
  zb_order_deinit(order);
}

zb_status zb_judge_take(zb_judge *judge, zb_order *order) {
  zb_period period;
  ++judge->evaluations;
  zb_status status = zb_order_period(judge->problem, order, &period);
  if (status)
    zb_order_deinit(order);
  else
    keep_shorter(judge, order, &period);
  return status;
}

/* How many orders of the front were made for so many bytes or less: the last of them is the best. */
static int made_within(const zb_judge *judge, int64_t bytes) {
  int count = 0;
  while (count < judge->front_count && judge->front[count].bytes <= bytes)
    ++count;
  return count;
}

double zb_judge_behind(const zb_judge *judge, int64_t bytes) {
  const int count = made_within(judge, bytes);
  if (count == 0 || judge->period.period_ps == 0) return 0;
  return (double)judge->front[count - 1].period.period_ps / (double)judge->period.period_ps - 1;
}

static bool is_of_front(const zb_judge *judge, const zb_period *period, int64_t bytes) {
  const int before = made_within(judge, bytes);
  return period->cycle_steps > 0 && (before == 0 || zb_period_is_shorter(period, &judge->front[before - 1].period));
}

/* Puts an order of the front where it belongs, in place of those that are no better and were made for no less. */
static zb_status put_in_front(zb_judge *judge, const zb_scheduler *w, const zb_slot *sequence,
                              const zb_judged_order *shown) {
  zb_judged_order made = *shown;
  zb_judged_order *const grown = zb_realloc(judge->front, ((size_t)judge->front_count + 1) * sizeof *grown);
  if (!grown) return ZB_OUT_OF_MEMORY();
  judge->front = grown;
  ZB_TRY(zb_sequence_write(w, sequence, &made.order));
  int at = 0, kept;
  while (at < judge->front_count && grown[at].bytes < made.bytes)
    ++at;
  for (kept = at; kept < judge->front_count && !zb_period_is_shorter(&grown[kept].period, &made.period); ++kept)
    zb_order_deinit(&grown[kept].order);
  memmove(&grown[at + 1], &grown[kept], (size_t)(judge->front_count - kept) * sizeof *grown);
  judge->front_count -= kept - at - 1;
  grown[at] = made;
  return NULL;
}

zb_status zb_judge_show(zb_judge *judge, const zb_scheduler *w, const zb_slot *sequence, int64_t bytes) {
  const uint64_t digest = zb_fnv1a(ZB_FNV_START, sequence, w->jobs * sizeof *sequence);
  zb_judged *const seen = &judge->seen[digest % ZB_JUDGE_SEEN];
  if (!seen->is_seen || seen->digest != digest) {
    zb_order order;
    *seen = (zb_judged){.digest = digest};
    ZB_TRY(zb_sequence_write(w, sequence, &order));
    ++judge->evaluations;
    zb_status status = zb_period_time(judge->timer, &order, NULL, &seen->period);
    if (!status) keep_shorter(judge, &order, &seen->period);
    if (status) zb_order_deinit(&order);
    ZB_TRY(status);
    seen->is_seen = true;
  }
  if (!is_of_front(judge, &seen->period, bytes)) return NULL;
  return put_in_front(judge, w, sequence, &(zb_judged_order){.bytes = bytes, .period = seen->period});
}

/* ---- Moves ---- */

/* Whether a job may stand behind another of its rank. */
static bool may_follow(const zb_problem *problem, zb_job before, zb_job after) {
  if (before.stage != after.stage) return true;
  if (before.micro_batch == after.micro_batch) return before.kind < after.kind;
  const zb_stage_cost *cost = &problem->costs[before.stage];
  const bool rises =
      before.kind == ZB_W || (before.kind == ZB_B && cost->b_accumulates) || (before.kind == ZB_F && cost->f_updates);
  return before.kind != after.kind || !rises || before.micro_batch < after.micro_batch;
}

/* Moves the job at `from` to `to`; false where another of its stage stands in the way. */
static bool move_job(const zb_problem *problem, zb_job *jobs, int from, int to) {
  const zb_job moved = jobs[from];
  const int step = from < to ? 1 : -1;
  for (int i = from; i != to; i += step)
    if (!may_follow(problem, step > 0 ? jobs[i + step] : moved, step > 0 ? moved : jobs[i + step])) return false;
  for (int i = from; i != to; i += step)
    jobs[i] = jobs[i + step];
  jobs[to] = moved;
  return true;
}

/* An order that is moved in. */
typedef struct mover {
  zb_judge *judge;
  int64_t *limits; /* [ranks] */
  zb_order order;
  zb_period period;
  uint64_t random;
} mover;

/* What the limit of a rank leaves, below 0 where the order takes more. */
static int64_t room_of(const mover *m, int rank) {
  const zb_problem *problem = m->judge->problem;
  int64_t live = zb_base_bytes(problem, rank), peak = live;
  for (int i = 0; i < m->order.counts[rank]; ++i) {
    const zb_job job = m->order.jobs[rank][i];
    live += problem->costs[job.stage].keep_bytes[job.kind];
    peak = zb_max64(peak, live);
    live -= problem->costs[job.stage].free_bytes[job.kind];
  }
  return m->limits[rank] - peak;
}

/* One move, which stays if the order is not worse with it. */
static zb_status try_move(mover *m) {
  const zb_problem *problem = m->judge->problem;
  zb_period period = {0};
  const int rank = (int)(zb_random_next(&m->random) % (uint64_t)problem->ranks), count = m->order.counts[rank];
  const int from = (int)(zb_random_next(&m->random) % (uint64_t)count);
  int distance = 1;
  while (distance < count && zb_random_next(&m->random) % 4)
    ++distance;
  const int to = zb_random_next(&m->random) % 2 ? from + distance : from - distance;
  if (to < 0 || to >= count || !move_job(problem, m->order.jobs[rank], from, to)) return NULL;
  zb_status status = NULL;
  ++m->judge->evaluations;
  if (room_of(m, rank) >= 0) status = zb_period_time(m->judge->timer, &m->order, &m->period, &period);
  if (period.cycle_steps > 0) {
    m->period = period;
  } else {
    (void)move_job(problem, m->order.jobs[rank], to, from); /* back over the same jobs: nothing is in the way */
  }
  return status;
}

static void lower_limits(mover *m, const zb_scheduler *w, int64_t bytes) {
  zb_level_rank_limits(w, m->limits);
  for (int rank = 0; rank < w->ranks; ++rank)
    if (m->limits[rank] > bytes) m->limits[rank] = bytes;
}

static zb_status copy_order(const zb_problem *problem, const zb_order *order, zb_order *out) {
  zb_status status = NULL;
  ZB_TRY(zb_order_init(out, order->ranks));
  for (int rank = 0; rank < order->ranks; ++rank)
    for (int i = 0; i < order->counts[rank]; ++i) {
      const zb_job job = order->jobs[rank][i];
      ZB_TRY_GOTO(zb_order_add(out, rank, job.stage, job.kind, job.micro_batch));
    }
  out->whole_backward = problem->whole_backward;
cleanup:
  if (status) zb_order_deinit(out);
  return status;
}

/* Some moves, and more for as long as they pay. */
static zb_status try_moves(mover *m, int64_t least, int64_t jobs_of_least) {
  const int64_t jobs = (int64_t)zb_model_jobs(&m->judge->model), affordable = jobs_of_least / jobs;
  int64_t moves = affordable < least ? affordable : least;
  const int64_t most = moves > 0 ? MOST * moves / MOVES + moves : 0;
  m->judge->is_stopped = m->judge->is_stopped || !zb_watch_goes_on(m->judge->problem);
  if (m->judge->is_stopped) return NULL;
  for (int64_t i = 0; i < moves && i < most && m->period.period_ps > m->judge->bound_ps; ++i) {
    const zb_period before = m->period;
    ZB_TRY(try_move(m));
    if (zb_period_is_shorter(&m->period, &before)) moves = zb_max64(moves, PATIENCE * (i + 1));
  }
  return NULL;
}

/* Begins with the best order made for so many bytes or less, where that is shorter than the mover's. */
static zb_status begin_with(mover *m, int64_t bytes, bool *has_begun) {
  const int count = made_within(m->judge, bytes);
  if (count == 0) return NULL;
  const zb_judged_order *const start = &m->judge->front[count - 1];
  *has_begun = !m->order.jobs || zb_period_is_shorter(&start->period, &m->period);
  if (!*has_begun) return NULL;
  zb_order_deinit(&m->order);
  m->period = start->period;
  return copy_order(m->judge->problem, &start->order, &m->order);
}

/* Moves from a level on, at all fine levels up to `most`. */
static zb_status improve_from(mover *m, const zb_scheduler *w, int64_t level, int64_t most) {
  zb_status status = NULL;
  m->random = m->judge->seed * UINT64_C(0x9E3779B97F4A7C15) + 1;
  if (m->random == 0) m->random = 1;
  for (int64_t bytes = level; bytes <= most;) {
    bool has_begun = false;
    ZB_TRY_GOTO(begin_with(m, bytes, &has_begun));
    lower_limits(m, w, bytes);
    if (m->order.jobs && has_begun)
      ZB_TRY_GOTO(try_moves(m, MOVES, MOVE_JOBS));
    else if (m->order.jobs)
      ZB_TRY_GOTO(try_moves(m, FINE_MOVES, FINE_MOVE_JOBS));
    const int64_t next = zb_level_fine(w, bytes + 1, true);
    if (next <= bytes) break;
    bytes = next;
  }
  if (m->order.jobs) keep_shorter(m->judge, &m->order, &m->period);
cleanup:
  zb_order_deinit(&m->order);
  return status;
}

/* The highest level first. */
static zb_status improve_levels(mover *m, const zb_scheduler *w) {
  zb_judge *const judge = m->judge;
  const double far = w->jobs <= ZB_JOBS_SMALL ? FAR : FAR_LARGE;
  lower_limits(m, w, INT64_MAX);
  int64_t most = zb_most_of(m->limits, w->ranks, 0);
  for (int level = zb_level_within(w, most); level >= 0; --level) {
    const int64_t bytes = level > 0 ? zb_level_bytes(w, level) : 0;
    const int count = made_within(judge, most);
    lower_limits(m, w, most);
    if (count == 0 || !zb_judge_hopes(judge, m->limits)) return NULL;
    if ((double)judge->front[count - 1].period.period_ps <= (1 + far) * (double)judge->period.period_ps)
      ZB_TRY(improve_from(m, w, zb_max64(bytes, judge->front[0].bytes), most));
    most = bytes - 1;
  }
  return NULL;
}

zb_status zb_judge_improve(zb_judge *judge) {
  zb_scheduler w;
  mover m = {.judge = judge};
  if (zb_judge_is_done(judge) || judge->problem->whole_backward) return NULL; /* B and W would part */
  ZB_TRY(zb_scheduler_init(&judge->model, &w));
  ZB_TAKE(w.arena, m.limits, w.ranks);
  ZB_TRY(zb_arena_status(w.arena));
  return improve_levels(&m, &w);
}
