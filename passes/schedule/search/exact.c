/* The best of all orders: branch and bound over the states of a step.
 *
 * A state is how many jobs of every class (stage and kind) have run; what it took is when each rank is free, when each
 * message that nobody has used yet arrives, when each channel is free, and when each rank began. From a state any class
 * may go on whose next job has its inputs and fits the memory of its rank. Micro-batches of a class run in rising
 * order: for the barrier metric they are all alike. (For the stage metric they are not: a rank that takes its second
 * micro-batch first may make another one begin later, and so end sooner after its beginning.) Every order whose classes
 * rise is a way through the states, by any interleaving of its lists that respects inputs, so all are found. Three
 * things cut it short:
 *
 * Dominance. Of two ways to a state, one that is nowhere later makes the other needless: whatever follows the second
 * can follow the first, and by induction each job then starts no later. For the stage metric all ranks must have begun,
 * the first way none of them earlier; before that only the same times count as nowhere later.
 *
 * Bound. The rest of a class runs on its rank one after the other, and behind its last job comes the longest chain to
 * the end of each rank; a rank still has all its own work to do.
 *
 * No idling past a job that frees memory. If a B or W fits, in memory and in time, before the start of another job of
 * its rank, and what it sends has left the channel when that other job ends, then running it first delays nothing and
 * needs no memory later. (It may begin another rank earlier, which the stage metric would not like; so only once all
 * ranks have begun, or for the barrier metric.)
 *
 * Tests: test/passes/schedule/search_exact_test.c, against an enumeration that shares nothing with this one.
 */
#include "passes/schedule/search/exact.h"

#include <string.h>

/* Most jobs: the depth of the recursion. */
enum { JOBS_MAX = 54 };
/* Chains of labels. So many that are compared take about as long as a state, and count as one: where times differ in
 * many places (sums over replicas) ways to a state seldom make each other needless, and chains grow long. */
enum { HEADS_MAX = 1 << 18, COMPARED = 64 };

typedef struct undo_entry {
  int64_t *where, value;
} undo_entry;

typedef struct explorer {
  zb_scheduler *w;
  const zb_direction *d;
  const int64_t *limit;
  int64_t best, states, states_max, compared;
  zb_slot *sequence, *best_sequence;
  uint64_t *weight;      /* [classes] of one more job of the class in the number of a state */
  int64_t *first, *left; /* [ranks] start of the first job, -1: none; time of what has not run */
  int64_t *tail;         /* [classes * ranks] longest chain from the end of a job to the end of a rank, -1: none */
  int64_t *w_end;        /* [reductions of the model] when the W that one waits for has ended, -1: it has not run */
  int *channels;         /* those that are used */
  int channel_count, not_begun;
  size_t remaining;
  bool is_found, is_full; /* is_full: no memory for one more label */
  undo_entry *undo;
  size_t undo_count;
  /* States seen: by number, chains of labels. A label is its number, the next one, and `width` times. */
  int64_t *labels;
  int32_t *heads;
  size_t label_count, head_count, width;
  zb_arena arena;
} explorer;

bool zb_exact_is_possible(const zb_scheduler *w) {
  if (w->jobs > JOBS_MAX) return false;
  uint64_t states = 1;
  for (int class = 0; class < w->classes; ++class) {
    if (states > (UINT64_C(1) << 62) / (uint64_t)(w->micro_batches + 1)) return false;
    states *= (uint64_t)(w->micro_batches + 1);
  }
  return true;
}

/* ---- Tables ---- */

static bool has_inputs(const explorer *x, int class) { return x->d->inputs[class] > 0; }

/* Chains from the end of each class to the end of every rank: W first, then B upwards, then F downwards, so that what
 * follows is known. */
static void fill_tails(explorer *x) {
  const zb_scheduler *w = x->w;
  for (int step = 0; step < w->classes; ++step) {
    const int kind = ZB_KIND_COUNT - 1 - step / w->stages, i = step % w->stages;
    const int stage = kind == ZB_F ? w->stages - 1 - i : i, class = stage * ZB_KIND_COUNT + kind;
    for (int rank = 0; rank < w->ranks; ++rank) {
      int64_t longest = w->model->problem->stage_rank[stage] == rank ? w->optimizer[rank] : -1;
      if (kind != ZB_W) {
        const int64_t then = x->tail[(class + 1) * w->ranks + rank];
        if (then >= 0 && then + x->d->time_ps[class + 1] > longest) longest = then + x->d->time_ps[class + 1];
      }
      for (int k = x->d->link_begin[class]; k < x->d->link_begin[class + 1]; ++k) {
        const zb_link *link = &x->d->links[k];
        const int64_t then = x->tail[link->stage * w->ranks + rank];
        const int64_t chain = then + link->time_ps + x->d->time_ps[link->stage];
        if (then >= 0 && chain > longest) longest = chain;
      }
      x->tail[class * w->ranks + rank] = longest;
    }
  }
}

static void fill_channels(explorer *x) {
  const int links = x->d->link_begin[x->w->classes];
  for (int i = 0; i < links; ++i) {
    const int channel = x->d->links[i].channel;
    int k = 0;
    while (k < x->channel_count && x->channels[k] != channel)
      ++k;
    if (channel >= 0 && k == x->channel_count) x->channels[x->channel_count++] = channel;
  }
}

static void start(explorer *x) {
  zb_scheduler *w = x->w;
  const size_t ranks = (size_t)w->ranks;
  uint64_t weight = 1;
  zb_scheduler_clear(w);
  memset(w->ready, 0, w->jobs * sizeof *w->ready);
  memcpy(x->left, w->work, ranks * sizeof *x->left);
  for (int i = 0; i < w->model->problem->reduction_count; ++i)
    x->w_end[i] = -1;
  for (int class = 0; class < w->classes; ++class) {
    x->weight[class] = weight;
    weight *= (uint64_t)w->micro_batches + 1;
    for (int i = 0; i < w->micro_batches; ++i)
      w->missing[zb_class_job(w, class, i)] = x->d->inputs[class];
  }
  for (int rank = 0; rank < w->ranks; ++rank)
    x->first[rank] = -1;
  x->not_begun = w->ranks;
  x->remaining = w->jobs;
  /* Whole backwards: W is part of B. */
  for (int stage = 0; w->whole && stage < w->stages; ++stage) {
    w->next[stage * ZB_KIND_COUNT + ZB_W] = w->micro_batches;
    x->remaining -= (size_t)w->micro_batches;
  }
}

static zb_status explorer_init(explorer *x) {
  const zb_scheduler *w = x->w;
  const size_t ranks = (size_t)w->ranks, classes = (size_t)w->classes, m = (size_t)w->micro_batches;
  const size_t links = (size_t)x->d->link_begin[w->classes];
  ZB_TAKE(&x->arena, x->sequence, w->jobs);
  ZB_TAKE(&x->arena, x->weight, classes);
  ZB_TAKE(&x->arena, x->first, ranks);
  ZB_TAKE(&x->arena, x->left, ranks);
  ZB_TAKE(&x->arena, x->tail, classes * ranks);
  ZB_TAKE(&x->arena, x->channels, links + 1);
  const size_t reductions = (size_t)w->model->problem->reduction_count;
  ZB_TAKE(&x->arena, x->w_end, reductions);
  ZB_TAKE(&x->arena, x->undo, 2 * links * m + 4 * w->jobs + reductions);
  ZB_TRY(zb_arena_status(&x->arena));
  fill_tails(x);
  fill_channels(x);
  x->width = 2 * ranks + (size_t)x->channel_count + reductions + 3;
  for (int class = 0; class < w->classes; ++class)
    if (has_inputs(x, class)) x->width += m;
  for (x->head_count = 64; x->head_count < HEADS_MAX && (int64_t)x->head_count < x->states_max;)
    x->head_count *= 2;
  ZB_TAKE(&x->arena, x->heads, x->head_count);
  ZB_TRY(zb_arena_status(&x->arena));
  memset(x->heads, -1, x->head_count * sizeof *x->heads);
  start(x);
  return NULL;
}

/* ---- Going on, and back ---- */

static void set(explorer *x, int64_t *where, int64_t value) {
  x->undo[x->undo_count++] = (undo_entry){where, *where};
  *where = value;
}

static int rank_of(const explorer *x, int class) { return x->w->model->problem->stage_rank[class / ZB_KIND_COUNT]; }

static int64_t start_of(const explorer *x, int class) {
  const int64_t ready = x->w->ready[zb_class_job(x->w, class, x->w->next[class])],
                clock = x->w->clock[rank_of(x, class)];
  return ready > clock ? ready : clock;
}

/* Whether the next job of a class has its inputs and fits; remembers how closely. */
static bool can_run(const explorer *x, int class) {
  zb_scheduler *w = x->w;
  const int i = w->next[class], rank = rank_of(x, class);
  if (i == w->micro_batches || w->missing[zb_class_job(x->w, class, i)] > 0) return false;
  if (class % ZB_KIND_COUNT != ZB_F && w->next[class - 1] <= i) return false;
  const int64_t room = x->limit[rank] - w->live[rank] - x->d->keep[class];
  if (room >= 0) zb_note_room(w, rank, room);
  return room >= 0;
}

/* Whether a reduction waits for a W of this class; whole backwards: W is part of B. */
static bool is_behind(const explorer *x, const zb_rank_reduction *r, int class) {
  return class == r->stage * ZB_KIND_COUNT + (x->w->whole ? ZB_B : ZB_W);
}

static void run(explorer *x, int class, int64_t at) {
  zb_scheduler *w = x->w;
  const int rank = rank_of(x, class), i = w->next[class]++;
  const int64_t end = at + x->d->time_ps[class];
  x->sequence[zb_rank_begin(w, rank) + (size_t)w->done[rank]++] = (zb_slot){class, i};
  --x->remaining;
  if (x->first[rank] < 0) --x->not_begun;
  if (x->first[rank] < 0) set(x, &x->first[rank], at);
  set(x, &w->clock[rank], end);
  set(x, &w->live[rank], w->live[rank] + x->d->keep[class] - x->d->release[class]);
  set(x, &x->left[rank], x->left[rank] - x->d->time_ps[class]);
  for (const zb_rank_reduction *r = zb_reductions(w->model, rank); r < zb_reductions(w->model, rank + 1); ++r)
    if (is_behind(x, r, class) && r->after == i) set(x, &x->w_end[r - w->model->reductions], end);
  for (int k = x->d->link_begin[class]; k < x->d->link_begin[class + 1]; ++k) {
    const zb_link *link = &x->d->links[k];
    const int64_t arrival = zb_link_arrival(link, w->channel, end);
    if (link->channel >= 0) set(x, &w->channel[link->channel], arrival);
    const size_t to = zb_class_job(x->w, link->stage, i);
    --w->missing[to];
    if (arrival > w->ready[to]) set(x, &w->ready[to], arrival);
  }
}

static void take_back(explorer *x, int class, size_t undo_count) {
  zb_scheduler *w = x->w;
  const int rank = rank_of(x, class), i = --w->next[class];
  --w->done[rank];
  ++x->remaining;
  for (int k = x->d->link_begin[class]; k < x->d->link_begin[class + 1]; ++k)
    ++w->missing[zb_class_job(x->w, x->d->links[k].stage, i)];
  while (x->undo_count > undo_count) {
    const undo_entry *entry = &x->undo[--x->undo_count];
    *entry->where = entry->value;
  }
  if (x->first[rank] < 0) ++x->not_begun;
}

/* ---- Bound ---- */

static bool is_stage_metric(const explorer *x) { return x->w->model->problem->metric == ZB_METRIC_STAGE; }

/* The second clock of a rank ends then or later: a W that has not run ends no earlier than the jobs that have. */
static int64_t least_stream(const explorer *x, int rank) {
  const zb_model *model = x->w->model;
  int64_t stream = 0;
  for (const zb_rank_reduction *r = zb_reductions(model, rank); r < zb_reductions(model, rank + 1); ++r) {
    const int64_t w_end = x->w_end[r - model->reductions];
    stream = zb_reduction_end(r, stream, w_end >= 0 ? w_end : x->w->clock[rank]);
  }
  return stream;
}

/* No order that goes on from here takes less. */
static int64_t bound(const explorer *x) {
  const zb_scheduler *w = x->w;
  int64_t most = 0;
  for (int rank = 0; rank < w->ranks; ++rank) {
    const int64_t from = is_stage_metric(x) ? x->first[rank] : 0;
    const int64_t time = from < 0 ? x->left[rank] : w->clock[rank] + x->left[rank] - from;
    const int64_t stream = from < 0 ? 0 : least_stream(x, rank) + w->optimizer[rank] - from;
    if (time > most) most = time;
    if (stream > most) most = stream;
  }
  for (int class = 0; class < w->classes; ++class) {
    const int rest = w->micro_batches - w->next[class];
    if (rest == 0) continue;
    const int64_t end = start_of(x, class) + rest * x->d->time_ps[class];
    for (int rank = 0; rank < w->ranks; ++rank) {
      const int64_t then = x->tail[class * w->ranks + rank], from = is_stage_metric(x) ? x->first[rank] : 0;
      if (then >= 0 && from >= 0 && end + then - from > most) most = end + then - from;
    }
  }
  return most;
}

/* ---- Dominance ---- */

/* The times of the current state, later is worse. What lies before the clock of the rank that waits for it makes no
 * difference. */
static void describe(const explorer *x, int64_t *times) {
  const zb_scheduler *w = x->w;
  for (int rank = 0; rank < w->ranks; ++rank) {
    *times++ = w->clock[rank];
    *times++ = is_stage_metric(x) ? -x->first[rank] : 0;
  }
  for (int k = 0; k < x->channel_count; ++k) {
    const int64_t free_ps = w->channel[x->channels[k]], clock = w->clock[x->channels[k] / w->ranks];
    *times++ = free_ps > clock ? free_ps : clock;
  }
  for (int i = 0; i < w->model->problem->reduction_count; ++i)
    *times++ = x->w_end[i];
  for (int class = 0; class < w->classes; ++class)
    for (int i = 0; has_inputs(x, class) && i < w->micro_batches; ++i) {
      const int64_t ready = w->ready[zb_class_job(x->w, class, i)], clock = w->clock[rank_of(x, class)];
      *times++ = i < w->next[class] ? 0 : ready > clock ? ready : clock;
    }
}

static bool is_nowhere_later(const explorer *x, const int64_t *a, const int64_t *b) {
  if (is_stage_metric(x) && x->not_begun > 0) return !memcmp(a, b, (x->width - 3) * sizeof *a);
  for (size_t i = 0; i < x->width - 3; ++i)
    if (a[i] > b[i]) return false;
  return true;
}

/* Room for one more label. */
static bool grow(explorer *x) {
  if (x->label_count & (x->label_count - 1)) return true;
  const size_t room = x->label_count ? 2 * x->label_count : 1;
  int64_t *grown = zb_realloc(x->labels, (room + 1) * x->width * sizeof *grown);
  if (!grown) return false;
  x->labels = grown;
  return true;
}

/* Whether a way to this state that was nowhere later is known; else remembers this one. */
static bool is_dominated(explorer *x) {
  uint64_t number = 0;
  for (int class = 0; class < x->w->classes; ++class)
    number += x->weight[class] * (uint64_t)x->w->next[class];
  if (!grow(x)) return x->is_full = true;
  int64_t *label = &x->labels[x->label_count * x->width];
  describe(x, label + 2);
  int32_t *head = &x->heads[(number * UINT64_C(0x9E3779B97F4A7C15) >> 20) & (x->head_count - 1)];
  for (int32_t i = *head; i >= 0; i = (int32_t)x->labels[(size_t)i * x->width + 1]) {
    const int64_t *other = &x->labels[(size_t)i * x->width];
    ++x->compared;
    if ((uint64_t)other[0] == number && is_nowhere_later(x, other + 2, label + 2)) return true;
  }
  label[0] = (int64_t)number;
  label[1] = *head;
  *head = (int32_t)x->label_count++;
  return false;
}

/* ---- All states ---- */

/* Whether the messages of a job that runs next have left their channels by a time. */
static bool is_sent_by(const explorer *x, int class, int64_t by) {
  const zb_scheduler *w = x->w;
  const int64_t end = start_of(x, class) + x->d->time_ps[class];
  for (int i = x->d->link_begin[class]; i < x->d->link_begin[class + 1]; ++i) {
    const int channel = x->d->links[i].channel;
    if (channel < 0) continue;
    int64_t left = w->channel[channel] > end ? w->channel[channel] : end;
    for (int k = x->d->link_begin[class]; k < x->d->link_begin[class + 1]; ++k)
      if (x->d->links[k].channel == channel) left += x->d->links[k].time_ps;
    if (left > by) return false;
  }
  return true;
}

/* Whether another job of the rank fits before the start of this one and only helps. */
static bool idles(const explorer *x, int class, int64_t at) {
  if (is_stage_metric(x) && x->not_begun > 0) return false;
  const zb_scheduler *w = x->w;
  const int rank = rank_of(x, class);
  for (int k = 0; k < w->chunks; ++k)
    for (int kind = ZB_B; kind <= ZB_W; ++kind) {
      const int other = zb_class_at(w, rank, k, kind);
      if (other == class || x->d->keep[other] > x->d->release[other] || !can_run(x, other)) continue;
      if (start_of(x, other) + x->d->time_ps[other] <= at && x->d->time_ps[other] > 0 &&
          is_sent_by(x, other, at + x->d->time_ps[class]))
        return true;
    }
  return false;
}

/* The order of the lists so far; whole backwards get their W. */
static void take_best(explorer *x) {
  const zb_scheduler *w = x->w;
  x->best = bound(x);
  memcpy(x->best_sequence, x->sequence, w->jobs * sizeof *x->sequence);
  for (int rank = 0; rank < w->ranks; ++rank)
    for (int i = w->done[rank]; i < w->per_rank; ++i)
      x->best_sequence[zb_rank_begin(w, rank) + (size_t)i] =
          (zb_slot){w->model->rank_stages[rank * w->chunks] * ZB_KIND_COUNT + ZB_W, 0};
  x->is_found = true;
}

/* Whether the watch of the problem is asked, and ends it. */
static bool is_stopped(explorer *x) {
  enum { STATES = 4096 }; /* between two questions */
  return x->states % STATES == 0 && !zb_watch_goes_on(x->w->model->problem);
}

/* False: too many states, out of memory, or stopped. */
static bool visit(explorer *x) {
  int8_t by_start[JOBS_MAX];
  int64_t starts[JOBS_MAX];
  int count = 0;
  if (bound(x) >= x->best) return true;
  if (x->remaining == 0) {
    take_best(x);
    return true;
  }
  if (is_dominated(x)) return !x->is_full;
  if (++x->states + x->compared / COMPARED >= x->states_max || is_stopped(x)) return false;
  for (int class = 0; class < x->w->classes; ++class) {
    if (!can_run(x, class)) continue;
    const int64_t at = start_of(x, class);
    if (idles(x, class, at)) continue;
    int i = count++;
    for (; i > 0 && starts[i - 1] > at; --i) {
      starts[i] = starts[i - 1];
      by_start[i] = by_start[i - 1];
    }
    starts[i] = at;
    by_start[i] = (int8_t)class;
  }
  for (int i = 0; i < count; ++i) {
    const size_t undo_count = x->undo_count;
    run(x, by_start[i], starts[i]);
    const bool ok = visit(x);
    take_back(x, by_start[i], undo_count);
    if (!ok) return false;
  }
  return true;
}

zb_status zb_exact_search(zb_scheduler *w, const zb_exact_params *params, zb_slot *sequence, zb_exact_result *out) {
  explorer x = {.w = w,
                .d = &w->forwards,
                .limit = params->limit,
                .best = params->known_ps,
                .states_max = params->states,
                .best_sequence = sequence};
  zb_status status = explorer_init(&x);
  if (!status) {
    const bool is_complete = visit(&x);
    *out = (zb_exact_result){
        .best_ps = x.best, .states = x.states, .work = x.states + x.compared / COMPARED, .is_complete = is_complete};
    if (x.is_full) status = ZB_OUT_OF_MEMORY();
    if (x.is_found) zb_sequence_renumber(w, sequence, x.sequence);
  }
  zb_free(x.labels);
  zb_arena_deinit(&x.arena);
  return status;
}
