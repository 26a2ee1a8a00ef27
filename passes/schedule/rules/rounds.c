/* What schedulers that go in rounds have in common. Tests: test/passes/schedule/v_schedules_test.c, iclr24_test.c. */
#include "passes/schedule/rules/rounds.h"

#include <string.h>

/* Rows of so many elements whose length is a power of two would all lie in the same lines of a cache. */
enum { PAD = 16 };

static void fill_class(const zb_rounds *r, int class) {
  const zb_scheduler *w = r->w;
  const zb_direction *d = &w->forwards;
  const int stage = class / ZB_KIND_COUNT, kind = class % ZB_KIND_COUNT;
  const size_t row = (size_t)(stage * ZB_LINK_KINDS + kind) * (kind != ZB_W);
  r->classes[class] = (zb_rounds_class){.time_ps = d->time_ps[class],
                                        .keep = d->keep[class],
                                        .release = d->release[class],
                                        .commits = kind == ZB_F   ? w->hold[stage]
                                                   : kind == ZB_B ? -w->hold[stage]
                                                                  : 0,
                                        .input = row * r->ready_row,
                                        .rank = w->model->problem->stage_rank[stage],
                                        .link_begin = d->link_begin[class],
                                        .link_end = d->link_begin[class + 1],
                                        .is_w = kind == ZB_W};
}

zb_status zb_rounds_init(zb_scheduler *w, zb_rounds *out) {
  *out = (zb_rounds){.w = w,
                     .put_row = (size_t)w->per_rank + PAD,
                     .ready_row = (size_t)w->micro_batches + PAD / 2,
                     .waiting_row = (size_t)(w->per_rank / ZB_KIND_COUNT) + PAD};
  if (w->model->problem->reduction_count) ZB_TAKE(w->arena, out->sequence, w->jobs);
  ZB_TAKE(w->arena, out->put, (size_t)w->ranks * out->put_row);
  ZB_TAKE(w->arena, out->ready, (size_t)w->stages * ZB_LINK_KINDS * out->ready_row);
  ZB_TAKE(w->arena, out->waiting, (size_t)w->ranks * out->waiting_row);
  ZB_TAKE(w->arena, out->oldest, w->ranks);
  ZB_TAKE(w->arena, out->newest, w->ranks);
  ZB_TAKE(w->arena, out->first, w->ranks);
  ZB_TAKE(w->arena, out->bubble, w->ranks);
  ZB_TAKE(w->arena, out->granted, w->ranks);
  ZB_TAKE(w->arena, out->most_granted, w->ranks);
  ZB_TAKE(w->arena, out->least_refused, w->ranks);
  ZB_TAKE(w->arena, out->classes, w->classes);
  ZB_TRY(zb_arena_status(w->arena));
  for (int class = 0; class < w->classes; ++class)
    fill_class(out, class);
  return NULL;
}

void zb_rounds_open(zb_rounds *r, const zb_within_request *request, zb_slot *best) {
  r->best = best;
  r->timing = (zb_timing){0};
  r->less_than = request->less_than_ps;
  r->limits = request->limits;
  r->most = request->most;
  r->planned = 0;
  r->slack_before = r->w->slack;
  r->evaluations_before = r->w->evaluations;
  r->w->slack = INT64_MAX;
}

void zb_rounds_close(zb_rounds *r, zb_within_answer *out) {
  *out = (zb_within_answer){.found = r->timing.step_ps > 0, .slack_bytes = r->w->slack};
  r->w->slack = r->slack_before;
  r->w->evaluations = r->evaluations_before;
}

void zb_rounds_start(zb_rounds *r) {
  const size_t ranks = (size_t)r->w->ranks;
  zb_scheduler_clear(r->w);
  memset(r->ready, 0, (size_t)r->w->stages * ZB_LINK_KINDS * r->ready_row * sizeof *r->ready);
  memset(r->oldest, 0, ranks * sizeof *r->oldest);
  memset(r->newest, 0, ranks * sizeof *r->newest);
  memset(r->bubble, 0, ranks * sizeof *r->bubble);
  memset(r->most_granted, 0, ranks * sizeof *r->most_granted);
  for (size_t rank = 0; rank < ranks; ++rank)
    r->least_refused[rank] = INT64_MAX;
  r->longest = 0;
  r->is_above = false;
}

void zb_rounds_forget_grants(zb_rounds *r) {
  memset(r->granted, 0, (size_t)r->w->ranks * sizeof *r->granted);
  r->longest_granted = 0;
}

/* What is put depends on grants by the answers of zb_rounds_may_wait alone. */
bool zb_rounds_grant(zb_rounds *r) {
  const size_t ranks = (size_t)r->w->ranks;
  bool differs = false;
  r->longest_granted = r->longest;
  memcpy(r->granted, r->bubble, ranks * sizeof *r->granted);
  for (size_t rank = 0; rank < ranks && !differs; ++rank) {
    const int64_t granted = r->longest_granted - r->granted[rank];
    differs = granted < r->most_granted[rank] || granted >= r->least_refused[rank];
  }
  return differs;
}

void zb_rounds_put(zb_rounds *r, int class) {
  zb_scheduler *w = r->w;
  const zb_rounds_class *c = &r->classes[class];
  const int rank = c->rank, micro_batch = w->next[class]++, place = w->done[rank]++;
  const int64_t clock = w->clock[rank];
  const int64_t start = c->is_w ? clock : zb_max64(r->ready[c->input + (size_t)micro_batch], clock);
  const int64_t end = start + c->time_ps;
  if (place == 0) r->first[rank] = start;
  if (start > clock && (place > 0 || r->count_start)) {
    r->bubble[rank] += start - clock;
    if (r->bubble[rank] > r->longest) r->longest = r->bubble[rank];
  }
  r->put[(size_t)rank * r->put_row + (size_t)place] = class;
  w->clock[rank] = end;
  const int64_t live = w->live[rank] + c->keep;
  r->is_above |= live > r->most[rank];
  zb_note_room(w, rank, r->limits[rank] - live);
  w->live[rank] = live - c->release;
  w->committed[rank] += c->commits;
  for (int i = c->link_begin; i < c->link_end; ++i) {
    const zb_link *link = &w->forwards.links[i];
    const int64_t arrival = zb_link_send(link, w->channel, end);
    int64_t *to = &r->ready[r->classes[link->stage].input + (size_t)micro_batch];
    if (arrival > *to) *to = arrival;
  }
}

void zb_rounds_put_w(zb_rounds *r, int rank) {
  const int class = zb_rounds_w(r, rank, 0);
  ++r->oldest[rank];
  zb_rounds_put(r, class);
}

/* Whether the oldest W that waits fits, for its own time, too. */
static bool fits_w(const zb_rounds *r, int rank) {
  const zb_scheduler *w = r->w;
  return zb_rounds_has_w(r, rank) && w->live[rank] + w->forwards.keep[zb_rounds_w(r, rank, 0)] <= r->limits[rank];
}

void zb_rounds_put_all_w(zb_rounds *r, int rank) {
  while (fits_w(r, rank))
    zb_rounds_put_w(r, rank);
}

void zb_rounds_put_b(zb_rounds *r, int class) {
  const zb_scheduler *w = r->w;
  const int rank = r->classes[class].rank;
  zb_rounds_put(r, class);
  r->waiting[(size_t)rank * r->waiting_row + (size_t)r->newest[rank]++] = class;
  if (w->whole) zb_rounds_put_w(r, rank);
}

bool zb_rounds_make_room(zb_rounds *r, int class) {
  const zb_scheduler *w = r->w;
  const int rank = r->classes[class].rank;
  while (w->live[rank] + r->classes[class].keep > r->limits[rank]) {
    if (!fits_w(r, rank)) return false;
    zb_rounds_put_w(r, rank);
  }
  return true;
}

void zb_rounds_fill_wait(zb_rounds *r, int class, zb_rounds_gap gap) {
  const zb_scheduler *w = r->w;
  const int rank = r->classes[class].rank;
  const int64_t due = zb_rounds_ready(r, class);
  while (fits_w(r, rank) && w->clock[rank] < due) {
    const int64_t wait = due - w->clock[rank];
    const bool fits = r->classes[zb_rounds_w(r, rank, 0)].time_ps <= wait;
    if (!fits && (gap == ZB_GAP_LEFT || (gap == ZB_GAP_IF_LATER && zb_rounds_may_wait(r, rank, wait)))) return;
    zb_rounds_put_w(r, rank);
    if (!fits) return;
  }
}

bool zb_rounds_may_plan(zb_rounds *r, int rank, int64_t bytes) {
  const int64_t room = zb_max64(r->limits[rank], r->planned) - bytes;
  if (r->planned <= r->limits[rank] && room >= 0) zb_note_room(r->w, rank, room);
  if (room >= 0) return true;
  if (bytes < r->next_planned) r->next_planned = bytes;
  return false;
}

bool zb_rounds_are_late(const zb_rounds *r, int64_t time_ps) {
  for (int rank = 0; rank < r->w->ranks; ++rank)
    if (r->w->work[rank] + r->bubble[rank] > time_ps) return true;
  return false;
}

/* The order, when all jobs are put. sequence: [jobs]. */
static void read_order(zb_rounds *r, zb_slot *sequence) {
  zb_scheduler *w = r->w;
  memset(w->next, 0, (size_t)w->classes * sizeof *w->next);
  for (int rank = 0; rank < w->ranks; ++rank) {
    zb_slot *slots = &sequence[zb_rank_begin(w, rank)];
    const int *put = &r->put[(size_t)rank * r->put_row];
    for (int i = 0; i < w->per_rank; ++i)
      slots[i] = (zb_slot){put[i], w->next[put[i]]++};
  }
}

/* The times of the order. False: some jobs are missing. */
static bool time_order(zb_rounds *r, zb_timing *out) {
  zb_scheduler *w = r->w;
  *out = (zb_timing){0};
  for (int rank = 0; rank < w->ranks; ++rank) {
    const int64_t end = w->clock[rank] + w->optimizer[rank];
    if (w->done[rank] < w->per_rank) return false;
    out->step_ps = zb_max64(out->step_ps, end);
    out->stage_ps = zb_max64(out->stage_ps, end - r->first[rank]);
  }
  if (!w->model->problem->reduction_count) return true;
  read_order(r, r->sequence);
  return zb_time_sequence(w, r->sequence, out, NULL, NULL);
}

bool zb_rounds_keep(zb_rounds *r) {
  zb_timing timing;
  if (!time_order(r, &timing)) return false;
  const int64_t time = zb_metric_time(r->w, &timing), both = timing.step_ps + timing.stage_ps;
  if (r->is_above || time > r->less_than) return true;
  if (time == r->less_than && both >= r->timing.step_ps + r->timing.stage_ps) return true;
  r->less_than = time;
  r->timing = timing;
  read_order(r, r->best);
  return true;
}
