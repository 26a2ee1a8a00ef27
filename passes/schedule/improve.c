/* Local search on the critical path, with late acceptance.
 *
 * Only a job that starts the moment the job before it on its rank ends can be too late because of where it stands. Such
 * places are found by walking back from the end of a rank: to the job before it where that ended last, else to the
 * sender of the input that came last (as in the job shop: Nowicki and Smutnicki 1996). A move takes a job next to such
 * a place to another place of its rank, mostly nearby, or W of several ranks past the same jobs; W that must go first for
 * memory come along. The new order is kept if it is not worse than the current one, or than the one of `history` moves
 * ago (Burke and Bykov 2017, "The late acceptance hill-climbing heuristic"): no temperature to tune, and deterministic
 * with a seed.
 *
 * The cost adds up the fourth powers of what each rank takes more than the reference, and of the worst one once more:
 * with the worst alone, an order in which five of eight ranks are equally late would look the same until the last of
 * the five is mended.
 *
 * Only additions, products and quotients of doubles, so that all machines decide alike. Tests:
 * test/passes/schedule/search_test.c.
 */
#include "passes/schedule/improve.h"

#include <string.h>

/* One move in so many is one of several ranks. */
enum { WAVES_IN = 2 };

zb_status zb_improver_init(zb_workshop *w, zb_improver *out) {
  const size_t ranks = (size_t)w->ranks;
  *out = (zb_improver){.workshop = w, .reference = 1};
  for (int rank = 0; rank < w->ranks; ++rank)
    if (w->work[rank] > out->reference) out->reference = w->work[rank];
  out->current = zb_alloc(w->jobs * sizeof *out->current);
  out->undo = zb_alloc(w->jobs * sizeof *out->undo);
  out->changes = zb_alloc(ranks * sizeof *out->changes);
  out->start = zb_alloc(w->jobs * sizeof *out->start);
  out->start_next = zb_alloc(w->jobs * sizeof *out->start_next);
  out->span = zb_alloc(ranks * sizeof *out->span);
  out->span_next = zb_alloc(ranks * sizeof *out->span_next);
  out->place = zb_alloc(w->jobs * sizeof *out->place);
  out->path = zb_alloc(2 * w->jobs * sizeof *out->path);
  out->history = zb_alloc(ZB_IMPROVE_HISTORY_MAX * sizeof *out->history);
  if (out->current && out->undo && out->start && out->start_next && out->span && out->span_next && out->place &&
      out->path && out->history && out->changes)
    return NULL;
  zb_improver_deinit(out);
  return ZB_OUT_OF_MEMORY();
}

void zb_improver_deinit(zb_improver *x) {
  zb_free(x->current);
  zb_free(x->undo);
  zb_free(x->start);
  zb_free(x->start_next);
  zb_free(x->span);
  zb_free(x->span_next);
  zb_free(x->place);
  zb_free(x->path);
  zb_free(x->history);
  zb_free(x->changes);
  *x = (zb_improver){0};
}

static double cost_of(const zb_improver *x, const int64_t *span) {
  const int ranks = x->workshop->ranks;
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

/* ---- The critical path ---- */

static zb_slot *rank_slots(const zb_improver *x, int rank) {
  return &x->current[(size_t)rank * (size_t)x->workshop->per_rank];
}

static int64_t start_of(const zb_improver *x, zb_slot slot) {
  return x->start[(size_t)slot.class * (size_t)x->workshop->micro_batches + (size_t)slot.micro_batch];
}

static int mirrored(int class) {
  return class - class % ZB_KIND_COUNT + ZB_KIND_COUNT - 1 - class % ZB_KIND_COUNT;
}

/* The class whose result came last of all that a job waits for, -1: none. The mirror knows who sends. */
static int last_sender(const zb_improver *x, zb_slot slot) {
  const zb_direction *d = &x->workshop->mirror;
  const int class = mirrored(slot.class);
  int64_t latest = -1;
  int sender = -1;
  for (int i = d->link_begin[class]; i < d->link_begin[class + 1]; ++i) {
    const int from = mirrored(d->links[i].stage);
    const int64_t arrival =
        start_of(x, (zb_slot){from, slot.micro_batch}) + x->workshop->forwards.time_ps[from] + d->links[i].time_ps;
    if (arrival <= latest) continue;
    latest = arrival;
    sender = from;
  }
  return sender;
}

static void fill_places(zb_improver *x, int rank, int first, int last) {
  const zb_slot *slots = rank_slots(x, rank);
  for (int i = first; i <= last; ++i)
    x->place[(size_t)slots[i].class * (size_t)x->workshop->micro_batches + (size_t)slots[i].micro_batch] = i;
}

/* Of three random ranks the one that takes longest. */
static int choose_rank(const zb_improver *x, uint64_t *seed) {
  int rank = zb_random_below(seed, x->workshop->ranks);
  for (int i = 0; i < 2; ++i) {
    const int other = zb_random_below(seed, x->workshop->ranks);
    if (x->span[other] > x->span[rank]) rank = other;
  }
  return rank;
}

static void trace(zb_improver *x, int rank) {
  const zb_workshop *w = x->workshop;
  x->path_length = 0;
  for (int i = w->per_rank - 1; i > 0;) {
    const zb_slot slot = rank_slots(x, rank)[i], before = rank_slots(x, rank)[i - 1];
    if (start_of(x, before) + w->forwards.time_ps[before.class] == start_of(x, slot)) {
      x->path[2 * x->path_length] = rank;
      x->path[2 * x->path_length++ + 1] = i--;
      continue;
    }
    const int sender = last_sender(x, slot);
    if (sender < 0) return;
    rank = w->model->problem->stage_rank[sender / ZB_KIND_COUNT];
    i = x->place[(size_t)sender * (size_t)w->micro_batches + (size_t)slot.micro_batch];
  }
}

/* ---- Moves ---- */

typedef struct move {
  int rank, from, to;
} move;

static int clamp(int value, int most) {
  return value < 0 ? 0 : value > most ? most : value;
}

static int draw_distance(uint64_t *seed, int below, int most) {
  int distance = 1;
  while (zb_random_below(seed, below) && distance < most)
    ++distance;
  return distance;
}

static move draw(const zb_improver *x, uint64_t *seed) {
  const int last = x->workshop->per_rank - 1, at = zb_random_below(seed, x->path_length);
  const int rank = x->path[2 * at], i = x->path[2 * at + 1];
  int distance = draw_distance(seed, 2, last);
  if (zb_random_below(seed, 4) == 0) distance *= 3;
  const int kind = zb_random_below(seed, 4);
  if (kind < 2) return (move){rank, i, i - 1};
  if (kind == 2) return (move){rank, i - 1, clamp(i - 1 + distance, last)};
  return (move){rank, i, clamp(i - distance, last)};
}

/* Moves a slot, and numbers the micro-batches of its class anew between both places. */
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

/* Whether the list of a rank still has F before B before W of a stage. */
static bool is_ordered(const zb_workshop *w, const zb_slot *slots, int stage) {
  int count[ZB_KIND_COUNT] = {0};
  for (int i = 0; i < w->per_rank; ++i)
    if (slots[i].class / ZB_KIND_COUNT == stage) {
      ++count[slots[i].class % ZB_KIND_COUNT];
      if (count[ZB_F] < count[ZB_B] || count[ZB_B] < count[ZB_W]) return false;
    }
  return true;
}

/* Pulls the next W whose B is done to place i; false if there is none. */
static bool pull_w(const zb_workshop *w, zb_slot *slots, int i, int *last) {
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

/* Whether the list of a rank keeps its limit. Where memory runs out W are pulled forwards first, so that a move which needs
 * room brings it along; *last gets the last place that changed by it, if that lies behind. */
static bool keeps_limit(zb_workshop *w, zb_slot *slots, int rank, int64_t limit, int *last) {
  int64_t live = w->base[rank], peak = live;
  for (int k = 0; k < w->chunks; ++k)
    w->next[w->model->rank_stages[rank * w->chunks + k] * ZB_KIND_COUNT + ZB_B] = 0;
  for (int i = 0; i < w->per_rank; ++i) {
    while (live + w->forwards.keep[slots[i].class] > limit)
      if (slots[i].class % ZB_KIND_COUNT == ZB_W || !pull_w(w, slots, i, last)) return false;
    const int class = slots[i].class;
    live += w->forwards.keep[class];
    if (live > peak) peak = live;
    live -= w->forwards.release[class];
    if (class % ZB_KIND_COUNT == ZB_B) ++w->next[class];
  }
  if (limit - peak < w->slack) w->slack = limit - peak;
  return true;
}

static void swap(int64_t **a, int64_t **b) {
  int64_t *const kept = *a;
  *a = *b;
  *b = kept;
}

/* Moves a slot of a rank, and W to make room; false if that cannot be. */
static bool apply(zb_improver *x, const zb_improve_params *params, const move *m, zb_improve_change *out) {
  zb_workshop *w = x->workshop;
  zb_slot *slots = rank_slots(x, m->rank);
  const int stage = slots[m->from].class / ZB_KIND_COUNT;
  *out = (zb_improve_change){m->rank, m->from < m->to ? m->from : m->to, m->from < m->to ? m->to : m->from};
  shift(slots, m->from, m->to);
  return is_ordered(w, slots, stage) && keeps_limit(w, slots, m->rank, params->limit[m->rank], &out->last);
}

static bool is_idle_move(const zb_improver *x, const move *m) {
  const zb_slot *slots = rank_slots(x, m->rank);
  return m->from == m->to ||
         (slots[m->to].class == slots[m->from].class && (m->from - m->to == 1 || m->to - m->from == 1));
}

/* The move of a W of one rank: the nearest before (kind, micro_batch) of a chunk to behind (kind, other), or, if `other`
 * is earlier, the nearest behind the one to before the other. False: there is none. */
static bool move_w(const zb_improver *x, int rank, int chunk, zb_kind kind, int micro_batch, int other, move *out) {
  const zb_workshop *w = x->workshop;
  const zb_slot *slots = rank_slots(x, rank);
  const size_t row = (size_t)(w->model->rank_stages[rank * w->chunks + chunk] * ZB_KIND_COUNT + (int)kind) *
                     (size_t)w->micro_batches;
  const int last = w->per_rank - 1, step = other > micro_batch ? -1 : 1;
  int from = x->place[row + (size_t)micro_batch];
  while (from >= 0 && from <= last && slots[from].class % ZB_KIND_COUNT != ZB_W)
    from += step;
  *out = (move){rank, from, other < w->micro_batches ? x->place[row + (size_t)other] : last};
  return from >= 0 && from <= last && (out->to - from) * step < 0;
}

/* The ranks of a wave: all, or some neighbours. */
static void draw_ranks(const zb_improver *x, uint64_t *seed, int *first, int *last) {
  const int ranks = x->workshop->ranks;
  *first = 0;
  *last = ranks - 1;
  if (zb_random_below(seed, 2)) {
    *first = zb_random_below(seed, ranks);
    *last = *first + zb_random_below(seed, ranks - *first);
  }
}

/* Draws and applies the same move on several ranks, of a W past the same jobs: what all ranks do between two
 * micro-batches holds up each of them, and no rank alone gains by putting it off. Changes to x->changes; how many, 0: it
 * cannot be. */
static int apply_wave(zb_improver *x, const zb_improve_params *params, uint64_t *seed) {
  const zb_workshop *w = x->workshop;
  const int at = zb_random_below(seed, x->path_length);
  const zb_slot slot = rank_slots(x, x->path[2 * at])[x->path[2 * at + 1]];
  const int chunk = w->model->stage_chunk[slot.class / ZB_KIND_COUNT];
  const zb_kind kind = slot.class % ZB_KIND_COUNT == ZB_F ? ZB_F : ZB_B;
  const bool later = zb_random_below(seed, 2);
  const int distance = draw_distance(seed, 4, w->micro_batches);
  const int other = clamp(slot.micro_batch + (later ? distance : -distance), w->micro_batches);
  int first, last, count = 0;
  draw_ranks(x, seed, &first, &last);
  if (other == slot.micro_batch) return 0;
  for (int rank = first; rank <= last; ++rank) {
    move m;
    if (!move_w(x, rank, chunk, kind, slot.micro_batch, other, &m)) continue;
    if (!apply(x, params, &m, &x->changes[count++])) return 0;
  }
  return count;
}

/* Draws and tries one move, of one rank or of several; true if it is kept, with *cost and *time of the new order, and
 * all places up to date. */
static bool try_move(zb_improver *x, const zb_improve_params *params, uint64_t *seed, double late_cost, double *cost,
                     int64_t *time) {
  zb_workshop *w = x->workshop;
  int changed = 0;
  const bool is_wave = w->ranks > 1 && zb_random_below(seed, WAVES_IN) == 0;
  memcpy(x->undo, x->current, w->jobs * sizeof *x->undo);
  if (is_wave) {
    changed = apply_wave(x, params, seed);
  } else {
    const move m = draw(x, seed);
    if (is_idle_move(x, &m)) return false;
    changed = apply(x, params, &m, &x->changes[0]);
  }
  zb_timing timing;
  if (changed && zb_time_sequence(w, x->current, &timing, x->start_next, x->span_next)) {
    const double next = cost_of(x, x->span_next);
    if (next <= *cost || next <= late_cost) {
      swap(&x->start, &x->start_next);
      swap(&x->span, &x->span_next);
      *cost = next;
      *time = zb_judge(w, &timing);
      for (int i = 0; i < changed; ++i)
        fill_places(x, x->changes[i].rank, x->changes[i].first, x->changes[i].last);
      return true;
    }
  }
  memcpy(x->current, x->undo, w->jobs * sizeof *x->undo);
  return false;
}

int64_t zb_improve(zb_improver *x, const zb_improve_params *params, uint64_t *seed, zb_slot *sequence) {
  zb_workshop *w = x->workshop;
  zb_timing timing;
  memcpy(x->current, sequence, w->jobs * sizeof *sequence);
  if (!zb_time_sequence(w, x->current, &timing, x->start, x->span)) return INT64_MAX;
  int64_t time = zb_judge(w, &timing), best = time;
  x->aim = params->target_ps > x->reference ? params->target_ps : x->reference;
  double cost = cost_of(x, x->span), best_cost = cost;
  for (int i = 0; i < params->history; ++i)
    x->history[i] = cost;
  for (int rank = 0; rank < w->ranks; ++rank)
    fill_places(x, rank, 0, w->per_rank - 1);
  bool moved = true;
  for (int64_t i = 0; i < params->moves && best > params->target_ps && w->evaluations < params->evaluations; ++i) {
    if (moved || i % 4 == 0) trace(x, choose_rank(x, seed));
    if (x->path_length == 0) continue;
    double *late_cost = &x->history[i % params->history];
    moved = try_move(x, params, seed, *late_cost, &cost, &time);
    if (cost < *late_cost) *late_cost = cost;
    if (moved && (time < best || (time == best && cost < best_cost))) {
      best = time;
      best_cost = cost;
      memcpy(sequence, x->current, w->jobs * sizeof *sequence);
    }
  }
  return best;
}
