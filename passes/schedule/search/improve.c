/* Local search on the critical path, with late acceptance.
 *
 * Only a job that starts the moment the job before it on its rank ends can be too late because of where it stands. Such
 * places are found by walking back from the end of a rank: to the job before it where that ended last, else to the
 * sender of the input that came last (as in the job shop: Nowicki and Smutnicki 1996). A move takes a job next to such
 * a place to another place of its rank, mostly nearby, or W of several ranks past the same jobs; W that must go first
 * for memory come along. The new order is kept if it is not worse than the current one, or than the one of `history`
 * moves ago (Burke and Bykov 2017, "The late acceptance hill-climbing heuristic"): no temperature to tune, and
 * deterministic with a seed.
 *
 * The cost adds up the fourth powers of what each rank takes more than the reference, and of the worst one once more:
 * with the worst alone, an order in which five of eight ranks are equally late would look the same until the last of
 * the five is repaired.
 *
 * With a goal another cost comes first: how late all F start, for the chain that follows each to end within the goal.
 * The F that are last on their rank decide how long the step is at least, and what is put off to have them earlier
 * (B, of which fewer come before) first makes it longer: moves that no cost of the step alone would take. Exchanges of
 * two F or B on several ranks join the moves then.
 *
 * Only additions, products, quotients and square roots of doubles, so that all machines decide alike. Tests:
 * test/passes/schedule/search_test.c.
 */
#include "passes/schedule/search/improve.h"

#include <math.h>
#include <string.h>

/* One move in this many is a compound move, of several ranks. */
enum { COMPOUNDS_IN = 2 };
/* On the way to a goal one move in this many is an exchange on several ranks. */
enum { EXCHANGES_IN = 3 };
/* One move of a single W in this many takes it to a gap anywhere. */
enum { FAR_IN = 3 };

zb_status zb_improver_init(zb_scheduler *w, zb_improver *out) {
  *out = (zb_improver){.scheduler = w, .reference = zb_most_of(w->work, w->ranks, 1)};
  zb_arena *arena = w->arena;
  ZB_TAKE(arena, out->current, w->jobs);
  ZB_TAKE(arena, out->undo, w->jobs);
  ZB_TAKE(arena, out->changes, w->ranks);
  ZB_TAKE(arena, out->path, 2 * w->jobs);
  ZB_TAKE(arena, out->due, w->jobs);
  ZB_TAKE(arena, out->fastest, w->jobs);
  ZB_TAKE(arena, out->history, ZB_IMPROVE_HISTORY_MAX);
  return zb_retimer_init(w, &out->times);
}

static zb_slot *rank_slots(const zb_improver *x, int rank) { return &x->current[zb_rank_begin(x->scheduler, rank)]; }

static const int64_t *rank_starts(const zb_improver *x, int rank) { return zb_retime_starts(&x->times, rank); }

/* ---- The cost ---- */

/* What ranks take longer than the aim. */
static double span_cost(const zb_improver *x) {
  const int64_t *span = x->times.span;
  const int ranks = x->scheduler->ranks;
  double sum = 0, worst = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    const int64_t excess = span[rank] - x->aim;
    const double share = excess > 0 ? (double)excess / (double)x->aim : 0;
    const double fourth = share * share * share * share;
    sum += fourth;
    if (fourth > worst) worst = fourth;
  }
  return sum / ranks + worst / 4;
}

/* A span such that every order in which a rank takes longer costs more than that, by a margin for rounding. */
static int64_t most_span(const zb_improver *x, double cost) {
  const double fourth = cost / (1.0 / x->scheduler->ranks + 0.25);
  const double excess = sqrt(sqrt(fourth)) * (1 + 1e-9) * (double)x->aim + 2;
  return excess < 4e18 ? x->aim + (int64_t)excess : INT64_MAX;
}

/* ---- Goals ---- */

/* Latest starts of all jobs with which each rank could end within the goal, were every other job where it is best: by
 * what they hand on to, and by the next micro-batch of their class. Links of F go to later stages and those of B to
 * earlier ones, so that one sweep of each kind visits every receiver first. */
static void fill_due(zb_improver *x, int64_t goal) {
  const zb_scheduler *w = x->scheduler;
  const zb_direction *d = &w->forwards;
  const bool stage_metric = w->model->problem->metric == ZB_METRIC_STAGE;
  const int m = w->micro_batches;
  for (int kind = ZB_KIND_COUNT - 1; kind >= 0; --kind)
    for (int n = 0; n < w->stages; ++n) {
      const int stage = kind == ZB_F ? w->stages - 1 - n : n, class = stage * ZB_KIND_COUNT + kind;
      const int rank = w->model->problem->stage_rank[stage];
      int64_t *due = &x->due[(size_t)class * (size_t)m];
      for (int i = m - 1; i >= 0; --i) {
        int64_t end = goal - w->optimizer[rank] + (stage_metric ? rank_starts(x, rank)[0] : 0);
        if (i < m - 1 && due[i + 1] < end) end = due[i + 1];
        if (kind != ZB_W && due[i + m] < end) end = due[i + m];
        for (int k = d->link_begin[class]; k < d->link_begin[class + 1]; ++k) {
          const int64_t latest = x->due[(size_t)d->links[k].stage * (size_t)m + (size_t)i] - d->links[k].time_ps;
          if (latest < end) end = latest;
        }
        due[i] = end - d->time_ps[class];
      }
    }
}

/* How late all F are together. */
static double lateness(const zb_improver *x) {
  const zb_scheduler *w = x->scheduler;
  int64_t sum = 0;
  for (size_t i = 0; i < w->jobs; ++i) {
    const zb_slot slot = x->current[i];
    if (slot.class % ZB_KIND_COUNT != ZB_F) continue;
    const int64_t late = x->times.start[i] - x->due[zb_class_job(w, slot.class, slot.micro_batch)];
    if (late > 0) sum += late;
  }
  return (double)sum / (double)x->aim / (double)w->jobs;
}

/* The fourth powers are so small that lateness decides wherever it differs. */
static double cost_of(const zb_improver *x, const zb_improve_params *params) {
  return params->goal_ps > 0 ? lateness(x) + span_cost(x) : span_cost(x);
}

/* ---- The critical path ---- */

static int place_of(const zb_improver *x, int class, int micro_batch) {
  return x->times.place[zb_class_job(x->scheduler, class, micro_batch)];
}

/* The input of a job that arrives last; NULL: the job waits for nothing. */
static const zb_retime_input *last_input(const zb_improver *x, zb_slot slot) {
  const zb_retimer *t = &x->times;
  const zb_retime_input *last = NULL;
  int64_t latest = -1;
  for (int i = t->input_begin[slot.class]; i < t->input_begin[slot.class + 1]; ++i) {
    const zb_retime_input *input = &t->inputs[i];
    const int at = place_of(x, input->class, slot.micro_batch);
    const int64_t arrival = zb_retime_arrival(t, i, at, slot.micro_batch);
    if (arrival <= latest) continue;
    latest = arrival;
    last = input;
  }
  return last;
}

/* Of three random ranks the one that takes longest. */
static int choose_rank(const zb_improver *x, uint64_t *seed) {
  int rank = zb_random_below(seed, x->scheduler->ranks);
  for (int i = 0; i < 2; ++i) {
    const int other = zb_random_below(seed, x->scheduler->ranks);
    if (x->times.span[other] > x->times.span[rank]) rank = other;
  }
  return rank;
}

static void trace(zb_improver *x, int rank) {
  const zb_scheduler *w = x->scheduler;
  x->path_length = 0;
  for (int i = x->times.last[rank]; i > 0;) {
    const zb_slot slot = rank_slots(x, rank)[i], before = rank_slots(x, rank)[i - 1];
    const int64_t *starts = rank_starts(x, rank);
    if (starts[i - 1] + w->forwards.time_ps[before.class] == starts[i]) {
      x->path[2 * x->path_length] = rank;
      x->path[2 * x->path_length++ + 1] = i--;
      continue;
    }
    const zb_retime_input *input = last_input(x, slot);
    if (!input) return;
    rank = input->rank;
    i = place_of(x, input->class, slot.micro_batch);
  }
}

/* ---- Moves ---- */

typedef struct move {
  int rank, from, to;
} move;

static int clamp(int value, int most) { return value < 0 ? 0 : value > most ? most : value; }

static int draw_distance(uint64_t *seed, int below, int most) {
  int distance = 1;
  while (zb_random_below(seed, below) && distance < most)
    ++distance;
  return distance;
}

/* The move of a W at place i, or before it, into a gap of its rank, wherever that is. False: no W stands there. */
static bool draw_far(const zb_improver *x, int rank, int i, uint64_t *seed, move *out) {
  const zb_scheduler *w = x->scheduler;
  const zb_slot *slots = rank_slots(x, rank);
  const int64_t *starts = rank_starts(x, rank);
  if (slots[i].class % ZB_KIND_COUNT != ZB_W && slots[--i].class % ZB_KIND_COUNT != ZB_W) return false;
  int gap = 1 + zb_random_below(seed, w->per_rank - 1);
  while (gap < w->per_rank && starts[gap] == starts[gap - 1] + w->forwards.time_ps[slots[gap - 1].class])
    ++gap;
  *out = (move){rank, i, gap > i ? gap - 1 : gap};
  return true;
}

static move draw(const zb_improver *x, uint64_t *seed) {
  const int last = x->scheduler->per_rank - 1, at = zb_random_below(seed, x->path_length);
  const int rank = x->path[2 * at], i = x->path[2 * at + 1];
  move far;
  if (zb_random_below(seed, FAR_IN) == 0 && draw_far(x, rank, i, seed, &far)) return far;
  int distance = draw_distance(seed, 2, last);
  if (zb_random_below(seed, 4) == 0) distance *= 3;
  const int kind = zb_random_below(seed, 4);
  if (kind < 2) return (move){rank, i, i - 1};
  if (kind == 2) return (move){rank, i - 1, clamp(i - 1 + distance, last)};
  return (move){rank, i, clamp(i - distance, last)};
}

/* Moves a slot, and numbers the micro-batches of its class again between both places. */
static void shift(zb_slot *slots, int from, int to) {
  const zb_slot moved = slots[from];
  const int low = from < to ? from : to, high = from < to ? to : from;
  if (from < to)
    memmove(&slots[from], &slots[from + 1], (size_t)(to - from) * sizeof *slots);
  else
    memmove(&slots[to + 1], &slots[to], (size_t)(from - to) * sizeof *slots);
  slots[to] = moved;
  int number = moved.micro_batch;
  for (int i = low; i <= high; ++i)
    if (slots[i].class == moved.class && slots[i].micro_batch < number) number = slots[i].micro_batch;
  for (int i = low; i <= high; ++i)
    if (slots[i].class == moved.class) slots[i].micro_batch = number++;
}

/* Pulls the next W whose B is done to place i; false if there is none. */
static bool pull_w(const zb_scheduler *w, zb_slot *slots, int i, int *last) {
  for (int k = i + 1; k < w->per_rank; ++k) {
    const zb_slot pulled = slots[k];
    if (pulled.class % ZB_KIND_COUNT != ZB_W || w->next[pulled.class - 1] <= pulled.micro_batch) continue;
    memmove(&slots[i + 1], &slots[i], (size_t)(k - i) * sizeof *slots);
    slots[i] = pulled;
    if (k > *last) *last = k;
    return true;
  }
  return false;
}

/* How many jobs of a class stand before a place that nothing before has moved to. */
static int count_before(const zb_improver *x, int class, int place) {
  const int32_t *places = &x->times.place[zb_class_job(x->scheduler, class, 0)];
  int low = 0, high = x->scheduler->micro_batches;
  while (low < high) {
    const int middle = low + (high - low) / 2;
    if (places[middle] < place)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* Whether the list of a rank still has F before B before W of every stage, and keeps its limit; only places from
 * `first` to *last have changed. Where memory runs out W are pulled forwards first, so that a move which needs room
 * brings it along; *last gets the last place that changed by it, if that lies behind. */
static bool is_valid(const zb_improver *x, zb_slot *slots, int rank, int64_t limit, int first, int *last) {
  zb_scheduler *w = x->scheduler;
  const int64_t *keep = w->forwards.keep, *release = w->forwards.release;
  int64_t live = w->base[rank], peak = live;
  for (int k = 0; k < w->chunks; ++k)
    for (int kind = 0; kind < ZB_KIND_COUNT; ++kind) {
      const int class = zb_class_at(w, rank, k, kind);
      w->next[class] = count_before(x, class, first);
      live += w->next[class] * (keep[class] - release[class]);
    }
  for (int i = first; i <= *last; ++i) {
    while (live + keep[slots[i].class] > limit)
      if (slots[i].class % ZB_KIND_COUNT == ZB_W || !pull_w(w, slots, i, last)) return false;
    const int class = slots[i].class;
    if (class % ZB_KIND_COUNT != ZB_F && w->next[class - 1] <= slots[i].micro_batch) return false;
    live += keep[class];
    if (live > peak) peak = live;
    live -= release[class];
    ++w->next[class];
  }
  zb_note_room(w, rank, limit - peak);
  return true;
}

/* Moves a slot of a rank, and W to make room; false if that cannot be. */
static bool apply(zb_improver *x, const zb_improve_params *params, const move *m, zb_change *out) {
  zb_scheduler *w = x->scheduler;
  zb_slot *slots = rank_slots(x, m->rank);
  *out = (zb_change){m->rank, m->from < m->to ? m->from : m->to, m->from < m->to ? m->to : m->from};
  memcpy(&x->undo[(size_t)m->rank * (size_t)w->per_rank], slots, (size_t)w->per_rank * sizeof *slots);
  shift(slots, m->from, m->to);
  return is_valid(x, slots, m->rank, params->limit[m->rank], out->first, &out->last);
}

static bool is_idle_move(const zb_improver *x, const move *m) {
  const zb_slot *slots = rank_slots(x, m->rank);
  return m->from == m->to ||
         (slots[m->to].class == slots[m->from].class && (m->from - m->to == 1 || m->to - m->from == 1));
}

/* The move of a W of one rank: the nearest before (kind, micro_batch) of a chunk to behind (kind, other), or, if
 * `other` is earlier, the nearest behind the one to before the other. False: there is none. */
static bool move_w(const zb_improver *x, int rank, int chunk, zb_kind kind, int micro_batch, int other, move *out) {
  const zb_scheduler *w = x->scheduler;
  const zb_slot *slots = rank_slots(x, rank);
  const int class = w->model->rank_stages[rank * w->chunks + chunk] * ZB_KIND_COUNT + (int)kind;
  const int last = w->per_rank - 1, step = other > micro_batch ? -1 : 1;
  int from = place_of(x, class, micro_batch);
  while (from >= 0 && from <= last && slots[from].class % ZB_KIND_COUNT != ZB_W)
    from += step;
  *out = (move){rank, from, other < w->micro_batches ? place_of(x, class, other) : last};
  return from >= 0 && from <= last && (out->to - from) * step < 0;
}

/* The ranks of a compound move: all, or some neighbours. */
static void draw_ranks(const zb_improver *x, uint64_t *seed, int *first, int *last) {
  const int ranks = x->scheduler->ranks;
  *first = 0;
  *last = ranks - 1;
  if (zb_random_below(seed, 2)) {
    *first = zb_random_below(seed, ranks);
    *last = *first + zb_random_below(seed, ranks - *first);
  }
}

/* Draws and applies the same move on several ranks, of a W past the same jobs: what all ranks do between two
 * micro-batches holds up each of them, and no rank alone gains by putting it off. Changes to x->changes, *count of
 * them. False: it cannot be. */
static bool apply_compound(zb_improver *x, const zb_improve_params *params, uint64_t *seed, int *count) {
  const zb_scheduler *w = x->scheduler;
  const int at = zb_random_below(seed, x->path_length);
  const zb_slot slot = rank_slots(x, x->path[2 * at])[x->path[2 * at + 1]];
  const int chunk = w->model->stage_chunk[slot.class / ZB_KIND_COUNT];
  const zb_kind kind = slot.class % ZB_KIND_COUNT == ZB_F ? ZB_F : ZB_B;
  const bool later = zb_random_below(seed, 2);
  const int distance = draw_distance(seed, 4, w->micro_batches);
  const int other = clamp(slot.micro_batch + (later ? distance : -distance), w->micro_batches);
  int first, last;
  draw_ranks(x, seed, &first, &last);
  if (other == slot.micro_batch) return false;
  for (int rank = first; rank <= last; ++rank) {
    move m;
    if (!move_w(x, rank, chunk, kind, slot.micro_batch, other, &m)) continue;
    if (!apply(x, params, &m, &x->changes[(*count)++])) return false;
  }
  return *count > 0;
}

/* Draws a critical F or B and another one some way before it, and applies their exchange on several ranks, wherever
 * they stand in that order: the first goes behind the second, or the second before the first. Both mean that all jobs
 * of a class come one earlier between the two, or later. */
static bool apply_exchange(zb_improver *x, const zb_improve_params *params, uint64_t *seed, int *count) {
  static const int scales[] = {1, 1, 4, 12};
  const zb_scheduler *w = x->scheduler;
  const int at = zb_random_below(seed, x->path_length), rank_here = x->path[2 * at], i = x->path[2 * at + 1];
  const bool is_later = zb_random_below(seed, 2);
  const int distance = draw_distance(seed, 2, 6) * scales[zb_random_below(seed, 4)];
  if (distance > i) return false;
  const zb_slot first = rank_slots(x, rank_here)[i - distance], second = rank_slots(x, rank_here)[i];
  const int first_kind = first.class % ZB_KIND_COUNT, second_kind = second.class % ZB_KIND_COUNT;
  if (first.class == second.class || first_kind == ZB_W || second_kind == ZB_W) return false;
  const int first_chunk = w->model->stage_chunk[first.class / ZB_KIND_COUNT];
  const int second_chunk = w->model->stage_chunk[second.class / ZB_KIND_COUNT];
  int first_rank, last_rank;
  draw_ranks(x, seed, &first_rank, &last_rank);
  for (int rank = first_rank; rank <= last_rank; ++rank) {
    const int *stages = &w->model->rank_stages[rank * w->chunks];
    const int from = place_of(x, stages[first_chunk] * ZB_KIND_COUNT + first_kind, first.micro_batch);
    const int to = place_of(x, stages[second_chunk] * ZB_KIND_COUNT + second_kind, second.micro_batch);
    if (from > to) continue;
    const move m = is_later ? (move){rank, from, to} : (move){rank, to, from};
    if (!apply(x, params, &m, &x->changes[(*count)++])) return false;
  }
  return *count > 0;
}

static bool apply_single(zb_improver *x, const zb_improve_params *params, uint64_t *seed, int *count) {
  const move m = draw(x, seed);
  if (is_idle_move(x, &m)) return false;
  *count = 1;
  return apply(x, params, &m, &x->changes[0]);
}

/* Draws and tries one move, of one rank or of several; true if it is kept, with *cost of the new order. */
static bool try_move(zb_improver *x, const zb_improve_params *params, uint64_t *seed, double late_cost, double *cost) {
  const zb_scheduler *w = x->scheduler;
  const size_t bytes = (size_t)w->per_rank * sizeof *x->undo;
  int changed = 0;
  const bool has_exchanges = params->goal_ps > 0 && w->ranks > 1;
  const bool is_exchange = has_exchanges && zb_random_below(seed, EXCHANGES_IN) == 0;
  const bool is_compound = w->ranks > 1 && !is_exchange && zb_random_below(seed, COMPOUNDS_IN) == 0;
  const bool is_applied = (is_exchange   ? apply_exchange
                           : is_compound ? apply_compound
                                         : apply_single)(x, params, seed, &changed);
  const int64_t most = most_span(x, *cost > late_cost ? *cost : late_cost);
  if (is_applied && zb_retime(&x->times, x->current, x->changes, changed, most)) {
    const double next = cost_of(x, params);
    if (next <= *cost || next <= late_cost) {
      *cost = next;
      return true;
    }
  }
  for (int i = 0; i < changed; ++i)
    memcpy(rank_slots(x, x->changes[i].rank), &x->undo[(size_t)x->changes[i].rank * (size_t)w->per_rank], bytes);
  if (is_applied) zb_retime_undo(&x->times, x->current, x->changes, changed);
  return false;
}

int64_t zb_improve(zb_improver *x, const zb_improve_params *params, uint64_t *seed, zb_slot *sequence) {
  zb_scheduler *w = x->scheduler;
  memcpy(x->current, sequence, w->jobs * sizeof *sequence);
  x->cost = 1e300;
  if (!zb_retime_all(&x->times, x->current)) return INT64_MAX;
  int64_t best = zb_retime_metric_ps(&x->times);
  x->aim = params->target_ps > x->reference ? params->target_ps : x->reference;
  if (params->goal_ps > 0) fill_due(x, params->goal_ps);
  double cost = cost_of(x, params), best_cost = cost;
  for (int i = 0; i < params->history; ++i)
    x->history[i] = cost;
  bool moved = true;
  for (int64_t i = 0; i < params->moves && best > params->target_ps && w->evaluations < params->allowance->end &&
                      zb_scheduler_goes_on(w);
       ++i) {
    if (moved || i % 4 == 0) trace(x, choose_rank(x, seed));
    if (x->path_length == 0) continue;
    double *late_cost = &x->history[i % params->history];
    moved = try_move(x, params, seed, *late_cost, &cost);
    if (cost < *late_cost) *late_cost = cost;
    if (!moved) continue;
    const int64_t time = zb_retime_metric_ps(&x->times);
    zb_allowance_note(params->allowance, w->evaluations, time);
    if (params->goal_ps > 0 && time < x->fastest_ps) {
      x->fastest_ps = time;
      memcpy(x->fastest, x->current, w->jobs * sizeof *sequence);
    }
    const bool by_cost = params->goal_ps > 0 || time == best;
    if (by_cost ? cost < best_cost : time < best) {
      best = time;
      best_cost = cost;
      memcpy(sequence, x->current, w->jobs * sizeof *sequence);
    }
  }
  x->cost = best_cost;
  return best;
}
