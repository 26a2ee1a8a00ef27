/* What schedulers that go in rounds have in common. Tests: test/passes/schedule/v_schedules_test.c, iclr24_test.c. */
#include "passes/schedule/rules/rounds.h"

#include <string.h>

/* Rows of so many elements whose length is a power of two would all lie in the same lines of a cache. */
enum { PAD = 16 };

zb_status zb_rounds_init(zb_scheduler *w, zb_rounds *out) {
  *out = (zb_rounds){.w = w,
                     .ready_row = (size_t)w->micro_batches + PAD / 2,
                     .waiting_row = (size_t)(w->per_rank / ZB_KIND_COUNT) + PAD};
  ZB_TAKE(w->arena, out->sequence, w->jobs);
  ZB_TAKE(w->arena, out->ready, (size_t)w->stages * ZB_LINK_KINDS * out->ready_row);
  ZB_TAKE(w->arena, out->waiting, (size_t)w->ranks * out->waiting_row);
  ZB_TAKE(w->arena, out->oldest, w->ranks);
  ZB_TAKE(w->arena, out->newest, w->ranks);
  ZB_TAKE(w->arena, out->first, w->ranks);
  ZB_TAKE(w->arena, out->bubble, w->ranks);
  ZB_TAKE(w->arena, out->granted, w->ranks);
  return zb_arena_status(w->arena);
}

void zb_rounds_open(zb_rounds *r, const zb_within_request *request) {
  r->limits = request->limits;
  r->most = request->most;
  r->planned = 0;
  r->slack_before = r->w->slack;
  r->evaluations_before = r->w->evaluations;
  r->w->slack = INT64_MAX;
}

void zb_rounds_close(zb_rounds *r, bool found, zb_within_answer *out) {
  *out = (zb_within_answer){.found = found, .slack_bytes = r->w->slack};
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
  r->longest = 0;
  r->is_above = false;
}

void zb_rounds_put(zb_rounds *r, int class) {
  zb_scheduler *w = r->w;
  const zb_direction *d = &w->forwards;
  const int stage = class / ZB_KIND_COUNT, kind = class % ZB_KIND_COUNT;
  const int rank = w->model->problem->stage_rank[stage], micro_batch = w->next[class]++;
  const int64_t clock = w->clock[rank];
  const int64_t start = kind == ZB_W ? clock : zb_max64(*zb_rounds_input(r, class, micro_batch), clock);
  const int64_t end = start + d->time_ps[class];
  if (w->done[rank] == 0) r->first[rank] = start;
  if (w->done[rank] > 0 || r->count_start) r->bubble[rank] += start - clock;
  if (r->bubble[rank] > r->longest) r->longest = r->bubble[rank];
  r->sequence[zb_rank_begin(w, rank) + (size_t)w->done[rank]++] = (zb_slot){class, micro_batch};
  w->clock[rank] = end;
  w->live[rank] += d->keep[class];
  r->is_above |= w->live[rank] > r->most[rank];
  zb_note_room(w, rank, r->limits[rank] - w->live[rank]);
  w->live[rank] -= d->release[class];
  if (kind == ZB_F) w->committed[rank] += w->hold[stage];
  if (kind == ZB_B) w->committed[rank] -= w->hold[stage];
  for (int i = d->link_begin[class]; i < d->link_begin[class + 1]; ++i) {
    const zb_link *link = &d->links[i];
    const int64_t arrival = zb_link_send(link, w->channel, end);
    int64_t *to = zb_rounds_input(r, link->stage, micro_batch);
    if (arrival > *to) *to = arrival;
  }
}

void zb_rounds_put_w(zb_rounds *r, int rank) {
  const int class = zb_rounds_w(r, rank, 0);
  ++r->oldest[rank];
  zb_rounds_put(r, class);
}

void zb_rounds_put_all_w(zb_rounds *r, int rank) {
  while (zb_rounds_has_w(r, rank))
    zb_rounds_put_w(r, rank);
}

void zb_rounds_put_b(zb_rounds *r, int class) {
  const zb_scheduler *w = r->w;
  const int rank = w->model->problem->stage_rank[class / ZB_KIND_COUNT];
  zb_rounds_put(r, class);
  r->waiting[(size_t)rank * r->waiting_row + (size_t)r->newest[rank]++] = class;
  if (w->whole) zb_rounds_put_w(r, rank);
}

bool zb_rounds_make_room(zb_rounds *r, int class) {
  const zb_scheduler *w = r->w;
  const int rank = w->model->problem->stage_rank[class / ZB_KIND_COUNT];
  while (w->live[rank] + w->forwards.keep[class] > r->limits[rank]) {
    if (!zb_rounds_has_w(r, rank)) return false;
    zb_rounds_put_w(r, rank);
  }
  return true;
}

void zb_rounds_fill_wait(zb_rounds *r, int class, zb_rounds_gap gap) {
  const zb_scheduler *w = r->w;
  const int rank = w->model->problem->stage_rank[class / ZB_KIND_COUNT];
  const int64_t due = zb_rounds_ready(r, class);
  while (zb_rounds_has_w(r, rank) && w->clock[rank] < due) {
    const int64_t wait = due - w->clock[rank];
    const bool fits = w->forwards.time_ps[zb_rounds_w(r, rank, 0)] <= wait;
    if (!fits && (gap == ZB_GAP_LEFT || (gap == ZB_GAP_IF_LATER && wait <= zb_rounds_patience(r, rank)))) return;
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

bool zb_rounds_time(zb_rounds *r, zb_timing *out) {
  zb_scheduler *w = r->w;
  *out = (zb_timing){0};
  for (int rank = 0; rank < w->ranks; ++rank) {
    const int64_t end = w->clock[rank] + w->optimizer[rank];
    if (w->done[rank] < w->per_rank) return false;
    out->step_ps = zb_max64(out->step_ps, end);
    out->stage_ps = zb_max64(out->stage_ps, end - r->first[rank]);
  }
  return !w->model->problem->reduction_count || zb_time_sequence(w, r->sequence, out, NULL, NULL);
}
