/* The list scheduler: every rank, whenever it is free, takes the most urgent job that can start and fits its memory.
 *
 * Ranks are visited in the order of their clocks, so what has arrived is known when a rank decides; what is on its way
 * is known too, and a rank may wait for it instead of starting something less urgent. Built backwards in time, in the
 * mirror of the problem, the same rule places every job as late as it can: building in both directions in turn is the
 * forward-backward improvement of project scheduling (Li and Willis 1992; Valls, Ballestin, Quintanilla 2005,
 * "Justification and RCPSP").
 *
 * Memory does not lock a build. A first job (F; in the mirror W) of stage s is taken only if, with all jobs of its rank
 * done that free memory, each later stage of that rank without a micro-batch in flight could still hold one. Let s be
 * the last stage that has one in flight: stage s + 1 has room on its rank, because everything there was taken with that
 * room left, or has given it back since; so some micro-batch always moves on, up to the last stage, where it turns
 * round and frees. What a job needs for its own time is set aside too, unless no more than one micro-batch of every
 * stage is held. Tests: test/passes/schedule/search_test.c.
 */
#include "passes/schedule/rules/build.h"

#include <string.h>

/* ---- Tables ---- */

static int real_class(const zb_direction *direction, int class) {
  return direction->backwards ? class - class % ZB_KIND_COUNT + (ZB_KIND_COUNT - 1 - class % ZB_KIND_COUNT) : class;
}

static void fill_costs(const zb_scheduler *w, zb_direction *d) {
  const zb_problem *p = w->model->problem;
  for (int class = 0; class < w->classes; ++class) {
    const int real = real_class(d, class), kind = real % ZB_KIND_COUNT;
    const zb_stage_cost *given = &p->costs[real / ZB_KIND_COUNT];
    const zb_stage_cost cost = w->whole ? zb_whole_cost(given) : *given;
    d->time_ps[class] = cost.time_ps[kind];
    d->keep[class] = d->backwards ? cost.free_bytes[kind] : cost.keep_bytes[kind];
    d->release[class] = d->backwards ? cost.keep_bytes[kind] : cost.free_bytes[kind];
  }
}

/* Links by sending class: a counting sort, senders and receivers exchanged in the mirror. */
static void fill_links(const zb_scheduler *w, zb_direction *d) {
  const zb_model *model = w->model;
  for (int pass = 0; pass < 2; ++pass) {
    for (int kind = 0; kind < ZB_LINK_KINDS; ++kind)
      for (int stage = 0; stage < w->stages; ++stage)
        for (int i = model->link_begin[kind][stage]; i < model->link_begin[kind][stage + 1]; ++i) {
          zb_link link = model->links[kind][i];
          int from = stage * ZB_KIND_COUNT + kind, to = link.stage * ZB_KIND_COUNT + kind;
          if (d->backwards) {
            const int sender = from;
            from = real_class(d, to);
            to = real_class(d, sender);
            if (link.channel >= 0) link.channel = link.channel % w->ranks * w->ranks + link.channel / w->ranks;
          }
          link.stage = to;
          if (pass == 0) {
            ++d->link_begin[from + 2];
            ++d->inputs[to];
          } else {
            d->links[d->link_begin[from + 1]++] = link;
          }
        }
    for (int class = 0; pass == 0 && class < w->classes; ++class)
      d->link_begin[class + 2] += d->link_begin[class + 1];
  }
}

static void direction_init(zb_scheduler *w, zb_direction *d, bool backwards) {
  const size_t classes = (size_t)w->classes;
  const size_t links = (size_t)w->model->link_begin[ZB_F][w->stages] + (size_t)w->model->link_begin[ZB_B][w->stages];
  d->backwards = backwards;
  ZB_TAKE(w->arena, d->time_ps, classes);
  ZB_TAKE(w->arena, d->keep, classes);
  ZB_TAKE(w->arena, d->release, classes);
  ZB_TAKE(w->arena, d->links, links + 1);
  ZB_TAKE(w->arena, d->link_begin, classes + 2);
  ZB_TAKE(w->arena, d->inputs, classes);
  if (w->arena->failed) return;
  fill_costs(w, d);
  fill_links(w, d);
}

static void take_arrays(zb_scheduler *w) {
  const size_t ranks = (size_t)w->ranks, stages = (size_t)w->stages, classes = (size_t)w->classes;
  zb_arena *arena = w->arena;
  ZB_TAKE(arena, w->base, ranks);
  ZB_TAKE(arena, w->hold, stages);
  ZB_TAKE(arena, w->pad, ranks);
  ZB_TAKE(arena, w->one_each, ranks);
  ZB_TAKE(arena, w->work, ranks);
  ZB_TAKE(arena, w->ready, w->jobs);
  ZB_TAKE(arena, w->missing, w->jobs);
  ZB_TAKE(arena, w->missing_start[0], w->jobs);
  ZB_TAKE(arena, w->missing_start[1], w->jobs);
  ZB_TAKE(arena, w->next, classes);
  ZB_TAKE(arena, w->done, ranks);
  ZB_TAKE(arena, w->in_flight, ranks);
  ZB_TAKE(arena, w->in_flight_first, ranks);
  ZB_TAKE(arena, w->clock, ranks);
  ZB_TAKE(arena, w->live, ranks);
  ZB_TAKE(arena, w->spare, ranks);
  ZB_TAKE(arena, w->committed, ranks);
  zb_agenda_take(arena, w->ranks, &w->agenda);
  ZB_TAKE(arena, w->head_at, classes);
  ZB_TAKE(arena, w->heads, classes);
  ZB_TAKE(arena, w->idle, ranks);
  ZB_TAKE(arena, w->channel, ranks * ranks);
  ZB_TAKE(arena, w->queue, ranks);
  if (w->model->problem->reduction_count) ZB_TAKE(arena, w->start, w->jobs);
  ZB_TAKE(arena, w->queued, ranks);
}

static void fill_stage(zb_scheduler *w, int stage) {
  const zb_problem *p = w->model->problem;
  const zb_direction *d = &w->forwards;
  const int rank = p->stage_rank[stage], class = stage * ZB_KIND_COUNT;
  w->hold[stage] = d->keep[class] - d->release[class];
  for (int step = 0; step < ZB_KIND_COUNT; ++step)
    w->head_at[class + step] = (rank * w->chunks + w->model->stage_chunk[stage]) * ZB_KIND_COUNT + step;
  w->one_each[rank] += w->hold[stage];
  for (int kind = 0; kind < ZB_KIND_COUNT; ++kind) {
    const int64_t extra = kind == ZB_F ? d->release[class] : d->keep[class + kind];
    if (extra > w->pad[rank]) w->pad[rank] = extra;
    w->work[rank] += d->time_ps[class + kind] * w->micro_batches;
    for (int i = 0; i < w->micro_batches; ++i) {
      const size_t at = zb_class_job(w, class + kind, i);
      w->missing_start[0][at] = d->inputs[class + kind] + (kind != 0);
      w->missing_start[1][at] = w->mirror.inputs[class + kind] + (kind != 0);
    }
  }
}

zb_status zb_scheduler_init(zb_model *model, zb_scheduler *out) {
  const zb_problem *p = model->problem;
  *out = (zb_scheduler){
      .model = model, .arena = &model->arena, .ranks = p->ranks, .chunks = model->chunks, .stages = p->stages};
  out->micro_batches = p->micro_batches;
  out->classes = p->stages * ZB_KIND_COUNT;
  out->jobs = zb_model_jobs(model);
  out->per_rank = (int)(out->jobs / (size_t)p->ranks);
  out->whole = p->whole_backward;
  out->optimizer = model->optimizer_ps;
  out->slack = INT64_MAX;
  direction_init(out, &out->forwards, false);
  direction_init(out, &out->mirror, true);
  take_arrays(out);
  ZB_TRY(zb_arena_status(out->arena));
  for (int rank = 0; rank < p->ranks; ++rank) {
    out->base[rank] = out->one_each[rank] = zb_base_bytes(p, rank);
    out->work[rank] = model->optimizer_ps[rank];
  }
  for (int stage = 0; stage < p->stages; ++stage)
    fill_stage(out, stage);
  return NULL;
}

/* ---- Building ---- */

void zb_agenda_take(zb_arena *arena, int ranks, zb_agenda *out) {
  for (out->leaves = 1; out->leaves < ranks;)
    out->leaves *= 2;
  ZB_TAKE(arena, out->due, out->leaves);
  ZB_TAKE(arena, out->first, 2 * out->leaves);
  for (int leaf = ranks; out->due && leaf < out->leaves; ++leaf)
    out->due[leaf] = INT64_MAX;
}

void zb_agenda_start(zb_agenda *agenda) {
  for (int leaf = 0; leaf < agenda->leaves; ++leaf)
    agenda->first[agenda->leaves + leaf] = leaf;
  for (int node = agenda->leaves - 1; node > 0; --node) {
    const int32_t left = agenda->first[2 * node], right = agenda->first[2 * node + 1];
    agenda->first[node] = agenda->due[right] < agenda->due[left] ? right : left;
  }
}

void zb_scheduler_clear(zb_scheduler *w) {
  const size_t ranks = (size_t)w->ranks;
  memset(w->next, 0, (size_t)w->classes * sizeof *w->next);
  memset(w->channel, 0, ranks * ranks * sizeof *w->channel);
  memset(w->done, 0, ranks * sizeof *w->done);
  memset(w->clock, 0, ranks * sizeof *w->clock);
  memcpy(w->live, w->base, ranks * sizeof *w->live);
  memcpy(w->committed, w->base, ranks * sizeof *w->committed);
}

typedef struct build {
  zb_scheduler *w;
  const zb_direction *d;
  const zb_build_rule *rule;
  zb_slot *sequence;
  int64_t *start_ps;
} build;

/* The next job of a class, when it has become the next or its last input has become known. */
static void refresh_head(const build *b, int class) {
  const zb_scheduler *w = b->w;
  const int m = w->micro_batches, i = w->next[class];
  const size_t at = (size_t)class * (size_t)m + (size_t)i;
  zb_head *head = &w->heads[w->head_at[class]];
  if (i == m || w->missing[at] > 0) {
    head->ready = INT64_MAX;
    return;
  }
  const int64_t *row = &b->rule->priority[(size_t)real_class(b->d, class) * (size_t)m];
  *head = (zb_head){w->ready[at], b->d->backwards ? -row[m - 1 - i] : row[i]};
}

static void start_build(build *b) {
  zb_scheduler *w = b->w;
  zb_scheduler_clear(w);
  memset(w->ready, 0, w->jobs * sizeof *w->ready);
  memcpy(w->missing, w->missing_start[b->rule->backwards], w->jobs * sizeof *w->missing);
  w->most_idle = 0;
  for (int rank = 0; rank < w->ranks; ++rank) {
    const int64_t release = b->rule->release ? b->rule->release[rank] : 0;
    w->clock[rank] = w->agenda.due[rank] = release;
    w->in_flight[rank] = 0;
    w->in_flight_first[rank] = -1;
    w->idle[rank] = b->rule->count_start ? release : 0;
  }
  zb_agenda_start(&w->agenda);
  for (int class = 0; class < w->classes; ++class)
    refresh_head(b, class);
}

/* An input of (class, micro_batch) arrives at that time. */
static void arrive(build *b, int class, int micro_batch, int64_t time) {
  zb_scheduler *w = b->w;
  const size_t at = zb_class_job(w, class, micro_batch);
  if (time > w->ready[at]) w->ready[at] = time;
  if (--w->missing[at] > 0 || micro_batch != w->next[class]) return;
  refresh_head(b, class);
  const int rank = w->model->problem->stage_rank[class / ZB_KIND_COUNT];
  const int64_t due = w->ready[at] > w->clock[rank] ? w->ready[at] : w->clock[rank];
  if (due < w->agenda.due[rank]) zb_agenda_set(&w->agenda, rank, due);
}

/* Tests a limit, and remembers how close it was. */
static inline bool fits(const build *b, int rank, int64_t bytes) {
  const int64_t room = b->rule->limit[rank] - bytes;
  if (room < 0) return false;
  zb_note_room(b->w, rank, room);
  return true;
}

/* Whether a first job of a stage leaves every later stage of its rank room for one micro-batch. */
static bool leaves_room(const build *b, int rank, int chunk) {
  const zb_scheduler *w = b->w;
  const int *stages = &w->model->rank_stages[rank * w->chunks];
  const int last = b->rule->backwards ? 2 : 1;
  int64_t need = w->committed[rank] + w->hold[stages[chunk]];
  for (int k = chunk + 1; k < w->chunks; ++k) {
    const int32_t *next = &w->next[stages[k] * ZB_KIND_COUNT];
    if (next[0] == next[last]) need += w->hold[stages[k]];
  }
  if (need <= w->one_each[rank]) return true;
  return fits(b, rank, need + w->pad[rank]);
}

typedef struct choice {
  int class, micro_batch;
  int64_t ready, priority;
} choice;

/* Whether memory and cap let the next job of a class start, if its inputs are there. */
static bool is_allowed(const build *b, int rank, int chunk, int stage, int step) {
  const zb_scheduler *w = b->w;
  const int32_t *next = &w->next[stage * ZB_KIND_COUNT];
  if (step == 0 && b->rule->cap && next[0] - next[1] >= b->rule->cap[stage]) return false;
  if (step == 0 && b->rule->extra >= 0 && w->in_flight_first[rank] >= 0 &&
      w->in_flight[rank] >= w->in_flight_first[rank] + b->rule->extra)
    return false;
  return fits(b, rank, w->live[rank] + b->d->keep[stage * ZB_KIND_COUNT + step]) &&
         (step > 0 || leaves_room(b, rank, chunk));
}

/* The most urgent job that could start now, the most urgent of those on their way, and when the first of these is
 * there. */
static void choose(const build *b, int rank, int64_t now, choice *best, choice *coming, int64_t *wake) {
  const zb_scheduler *w = b->w;
  const zb_head *head = &w->heads[(size_t)rank * (size_t)w->chunks * ZB_KIND_COUNT];
  *best = *coming = (choice){.class = -1};
  *wake = INT64_MAX;
  for (int k = 0; k < w->chunks; ++k) {
    const int stage = w->model->rank_stages[rank * w->chunks + k];
    for (int step = 0; step < ZB_KIND_COUNT; ++step, ++head) {
      if (head->ready == INT64_MAX) continue;
      choice *const rival = head->ready <= now ? best : coming;
      const bool is_first = rival->class < 0 || head->priority < rival->priority;
      const bool wakes = head->ready > now && head->ready < *wake;
      if ((!is_first && !wakes) || !is_allowed(b, rank, k, stage, step)) continue;
      const int class = stage * ZB_KIND_COUNT + step;
      if (wakes) *wake = head->ready;
      if (is_first) *rival = (choice){class, w->next[class], head->ready, head->priority};
    }
  }
}

static void run(build *b, int rank, const choice *c, int64_t now) {
  zb_scheduler *w = b->w;
  const zb_direction *d = b->d;
  const int class = c->class, stage = class / ZB_KIND_COUNT, step = class % ZB_KIND_COUNT;
  const int64_t end = now + d->time_ps[class];
  const int real = real_class(d, class);
  const int place = d->backwards ? w->per_rank - 1 - w->done[rank] : w->done[rank];
  const int micro_batch = d->backwards ? w->micro_batches - 1 - c->micro_batch : c->micro_batch;
  b->sequence[zb_rank_begin(w, rank) + (size_t)place] = (zb_slot){real, micro_batch};
  b->start_ps[(size_t)real * (size_t)w->micro_batches + (size_t)micro_batch] = d->backwards ? -end : now;
  if (w->done[rank] > 0 || b->rule->count_start) w->idle[rank] += now - w->clock[rank];
  if (w->idle[rank] > w->most_idle) w->most_idle = w->idle[rank];
  ++w->done[rank];
  w->live[rank] += d->keep[class] - d->release[class];
  if (step == 1 && w->in_flight_first[rank] < 0) w->in_flight_first[rank] = w->in_flight[rank];
  if (step < 2) w->in_flight[rank] += step == 0 ? 1 : -1;
  if (step == 0) w->committed[rank] += w->hold[stage];
  if (step == (d->backwards ? 2 : 1)) w->committed[rank] -= w->hold[stage];
  w->next[class] = c->micro_batch + 1;
  refresh_head(b, class);
  w->clock[rank] = end;
  zb_agenda_set(&w->agenda, rank, w->done[rank] == w->per_rank ? INT64_MAX : end);
  for (int i = d->link_begin[class]; i < d->link_begin[class + 1]; ++i) {
    const zb_link *link = &d->links[i];
    const int64_t arrival = zb_link_send(link, w->channel, end);
    arrive(b, link->stage, c->micro_batch, arrival);
  }
  if (step + 1 < ZB_KIND_COUNT) arrive(b, class + 1, c->micro_batch, end);
}

static void visit(build *b, int rank, int64_t now) {
  zb_scheduler *w = b->w;
  choice best, coming;
  int64_t wake;
  choose(b, rank, now, &best, &coming, &wake);
  if (best.class < 0) {
    zb_agenda_set(&w->agenda, rank, wake);
    return;
  }
  const int64_t time = b->d->time_ps[best.class], gap = coming.ready - now;
  if (coming.class >= 0 && coming.priority < best.priority && gap < time) {
    const bool counts = w->done[rank] > 0 || b->rule->count_start;
    const int64_t idle = w->idle[rank] + (counts ? now - w->clock[rank] : 0) + gap;
    if (gap * 256 < time * b->rule->patience || idle <= b->rule->idle ||
        (b->rule->share_idle && idle <= w->most_idle)) {
      zb_agenda_set(&w->agenda, rank, coming.ready);
      return;
    }
  }
  run(b, rank, &best, now);
}

bool zb_build_order(zb_scheduler *w, const zb_build_rule *rule, zb_slot *sequence, int64_t *start_ps) {
  build b = {.w = w, .d = rule->backwards ? &w->mirror : &w->forwards, .rule = rule, .sequence = sequence};
  b.start_ps = start_ps;
  ++w->evaluations;
  start_build(&b);
  for (size_t left = w->jobs; left > 0;) {
    const int rank = w->agenda.first[1];
    const int64_t now = w->agenda.due[rank];
    if (now == INT64_MAX) return false;
    const int before = w->done[rank];
    visit(&b, rank, now);
    left -= (size_t)(w->done[rank] - before);
  }
  return true;
}

/* ---- The watch ---- */

bool zb_scheduler_ask(zb_scheduler *w) {
  enum { JOBS = 300000 }; /* that are timed between two questions: some milliseconds */
  w->asked_at = w->evaluations + JOBS / (int64_t)w->jobs + 1;
  w->is_stopped = !zb_watch_goes_on(w->model->problem);
  return !w->is_stopped;
}

/* ---- Timing ---- */

/* Runs a rank as far as it goes; ranks that got their next input are queued. */
static void run_sequence(zb_scheduler *w, const zb_slot *sequence, int rank, int64_t *start_ps, int *queued) {
  const zb_direction *d = &w->forwards;
  const zb_slot *slots = &sequence[zb_rank_begin(w, rank)];
  const size_t m = (size_t)w->micro_batches;
  int i = w->done[rank];
  for (; i < w->per_rank; ++i) {
    const int class = slots[i].class, micro_batch = slots[i].micro_batch;
    const size_t at = (size_t)class * m + (size_t)micro_batch;
    if (w->missing[at] > 0) break;
    const int64_t start = w->ready[at] > w->clock[rank] ? w->ready[at] : w->clock[rank];
    const int64_t end = w->clock[rank] = start + d->time_ps[class];
    if (i == 0) w->live[rank] = start;
    if (start_ps) start_ps[at] = start;
    if (class % ZB_KIND_COUNT != ZB_W) --w->missing[at + m];
    for (int k = d->link_begin[class]; k < d->link_begin[class + 1]; ++k) {
      const zb_link *link = &d->links[k];
      const int64_t arrival = zb_link_send(link, w->channel, end);
      const size_t to = (size_t)link->stage * m + (size_t)micro_batch;
      if (arrival > w->ready[to]) w->ready[to] = arrival;
      const int other = w->model->problem->stage_rank[link->stage / ZB_KIND_COUNT];
      if (--w->missing[to] > 0 || other == rank || w->queued[other]) continue;
      w->queued[other] = true;
      w->queue[(*queued)++] = other;
    }
  }
  w->done[rank] = i;
}

/* When the optimizer of a rank may start: its jobs, and the reductions behind W of these starts, have ended. */
static int64_t optimizer_start(const zb_scheduler *w, int rank, const int64_t *start_ps) {
  int64_t stream = 0;
  for (const zb_rank_reduction *r = zb_reductions(w->model, rank); r < zb_reductions(w->model, rank + 1); ++r) {
    const int class = r->stage * ZB_KIND_COUNT + ZB_W;
    const int64_t start = start_ps[zb_class_job(w, class, r->after)];
    stream = zb_reduction_end(r, stream, start + w->forwards.time_ps[class]);
  }
  return stream > w->clock[rank] ? stream : w->clock[rank];
}

bool zb_time_sequence(zb_scheduler *w, const zb_slot *sequence, zb_timing *out, int64_t *start_ps, int64_t *span_ps) {
  ++w->evaluations;
  zb_scheduler_clear(w);
  memset(w->ready, 0, w->jobs * sizeof *w->ready);
  memcpy(w->missing, w->missing_start[0], w->jobs * sizeof *w->missing);
  if (!start_ps) start_ps = w->start;
  int queued = 0;
  for (int rank = w->ranks - 1; rank >= 0; --rank) {
    w->queue[queued++] = rank;
    w->queued[rank] = true;
  }
  while (queued > 0) {
    const int rank = w->queue[--queued];
    w->queued[rank] = false;
    run_sequence(w, sequence, rank, start_ps, &queued);
  }
  const bool stage_metric = w->model->problem->metric == ZB_METRIC_STAGE;
  int64_t first = INT64_MAX, last = 0;
  *out = (zb_timing){0};
  for (int rank = 0; rank < w->ranks; ++rank) {
    if (w->done[rank] < w->per_rank) return false;
    const int64_t start = w->live[rank], end = optimizer_start(w, rank, start_ps) + w->optimizer[rank];
    if (start < first) first = start;
    if (end > last) last = end;
    if (end - start > out->stage_ps) out->stage_ps = end - start;
    if (span_ps) span_ps[rank] = stage_metric ? end - start : end;
  }
  out->step_ps = last - first;
  return true;
}

int64_t zb_metric_time(const zb_scheduler *w, const zb_timing *timing) {
  return w->model->problem->metric == ZB_METRIC_STAGE ? timing->stage_ps : timing->step_ps;
}

/* ---- Sequences ---- */

void zb_sequence_peaks(const zb_scheduler *w, const zb_slot *sequence, int64_t *peak) {
  const zb_direction *d = &w->forwards;
  for (int rank = 0; rank < w->ranks; ++rank) {
    const zb_slot *slots = &sequence[zb_rank_begin(w, rank)];
    int64_t live = peak[rank] = w->base[rank];
    for (int i = 0; i < w->per_rank; ++i) {
      live += d->keep[slots[i].class];
      if (live > peak[rank]) peak[rank] = live;
      live -= d->release[slots[i].class];
    }
  }
}

void zb_sequence_renumber(zb_scheduler *w, zb_slot *sequence, zb_slot *scratch) {
  memset(w->next, 0, (size_t)w->classes * sizeof *w->next);
  for (int rank = 0; rank < w->ranks; ++rank) {
    zb_slot *slots = &sequence[zb_rank_begin(w, rank)];
    int count = 0;
    for (int i = 0; i < w->per_rank; ++i) {
      const int class = slots[i].class, kind = class % ZB_KIND_COUNT;
      if (w->whole && kind == ZB_W) continue;
      scratch[count++] = (zb_slot){class, w->next[class]++};
      if (w->whole && kind == ZB_B) scratch[count++] = (zb_slot){class + 1, w->next[class + 1]++};
    }
    memcpy(slots, scratch, (size_t)w->per_rank * sizeof *slots);
  }
}

void zb_sequence_read(zb_scheduler *w, const zb_order *order, zb_slot *sequence, zb_slot *scratch) {
  for (int rank = 0; rank < w->ranks; ++rank)
    for (int i = 0; i < w->per_rank; ++i) {
      const zb_job job = order->jobs[rank][i];
      sequence[zb_rank_begin(w, rank) + (size_t)i] =
          (zb_slot){job.stage * ZB_KIND_COUNT + (int)job.kind, job.micro_batch};
    }
  zb_sequence_renumber(w, sequence, scratch);
}

zb_status zb_sequence_write(const zb_scheduler *w, const zb_slot *sequence, zb_order *out) {
  ZB_TRY(zb_order_init(out, w->ranks));
  out->whole_backward = w->whole;
  zb_status status = NULL;
  for (int rank = 0; rank < w->ranks && !status; ++rank)
    for (int i = 0; i < w->per_rank && !status; ++i) {
      const zb_slot slot = sequence[zb_rank_begin(w, rank) + (size_t)i];
      status =
          zb_order_add(out, rank, slot.class / ZB_KIND_COUNT, (zb_kind)(slot.class % ZB_KIND_COUNT), slot.micro_batch);
    }
  if (status) zb_order_deinit(out);
  return status;
}
