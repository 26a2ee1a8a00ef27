/* The critical path of a simulated step: which jobs and messages decide when it ends, and the same in words.
 *
 * A job starts when its rank is free and its inputs are there, so it starts at 0 or exactly when the job before it on
 * the rank or one of its messages ends; a message starts when its job ends or when the one before it on its channel
 * does. Going back from the rank that ends last along what ends exactly then gives a chain without a gap. Every piece
 * goes back along a dependency of the simulation, so the walk ends even where jobs take no time.
 * Tests: test/passes/schedule/critical_test.c.
 */

#include "passes/schedule/model.h"

#include "runtime/base/memory.h"

/* ---- Messages by their receivers ---- */

typedef struct wire {
  zb_message_times times;
  int32_t before;   /* on its channel; -1 none */
  int sender_index; /* in the order of the sending rank: the job whose end sends it */
} wire;

typedef struct wires {
  zb_model *model; /* its memory is that of the list */
  int32_t *index;  /* of zb_order_index */
  const zb_order *order;
  ZB_LIST(wire) wires;
  int32_t *last;                   /* [ranks * ranks] the newest of a channel, + 1 */
  int32_t *arrival[ZB_LINK_KINDS]; /* [stages * micro_batches] the latest that arrives, + 1 */
} wires;

/* A whole backward sends when its W ends. */
static int sender_of(const wires *w, const zb_message_times *message) {
  const zb_model *model = w->model;
  const int rank = model->problem->stage_rank[message->source];
  const int at = w->index[zb_model_job(model, message->source, message->kind, message->micro_batch)];
  return zb_order_is_whole(w->order, rank, at) ? at + 1 : at;
}

static zb_status collect(void *context, const zb_message_times *message) {
  wires *w = context;
  const zb_problem *p = w->model->problem;
  const size_t channel =
      (size_t)p->stage_rank[message->source] * (size_t)p->ranks + (size_t)p->stage_rank[message->destination];
  const wire added = {*message, w->last[channel] - 1, sender_of(w, message)};
  int32_t *arrival = &w->arrival[message->kind][zb_model_pair(w->model, message->destination, message->micro_batch)];
  if (!*arrival || w->wires.items[*arrival - 1].times.end_ps < message->end_ps) *arrival = (int32_t)w->wires.count + 1;
  w->last[channel] = (int32_t)w->wires.count + 1;
  return ZB_PUSH(&w->model->arena, &w->wires, added) ? NULL : ZB_OUT_OF_MEMORY();
}

static zb_status wires_init(wires *w, const zb_simulation *simulation) {
  zb_arena *arena = &w->model->arena;
  const zb_problem *p = w->model->problem;
  ZB_TRY(zb_order_index(w->model, w->order, arena, &w->index));
  ZB_TAKE(arena, w->last, p->ranks * p->ranks);
  ZB_TAKE(arena, w->arrival[ZB_F], p->stages * p->micro_batches);
  ZB_TAKE(arena, w->arrival[ZB_B], p->stages * p->micro_batches);
  ZB_TRY(zb_arena_status(arena));
  return zb_order_messages(w->model, w->order, simulation, collect, w);
}

/* ---- The walk ---- */

typedef struct walk {
  const wires *wires;
  const zb_simulation *simulation;
  zb_path *path;
  size_t capacity;
} walk;

static zb_status add(walk *k, zb_path_step step) {
  if (!zb_grow((void **)&k->path->steps, &k->capacity, (size_t)k->path->count + 1, sizeof *k->path->steps))
    return ZB_OUT_OF_MEMORY();
  k->path->steps[k->path->count++] = step;
  return NULL;
}

/* Adds a message and, before it, those that its channel had to carry first; gives the job that sent the earliest. */
static zb_status add_messages(walk *k, int32_t at, int *rank, int *index) {
  const zb_problem *p = k->wires->model->problem;
  for (;;) {
    const wire *message = &k->wires->wires.items[at];
    const zb_message_times *times = &message->times;
    *rank = p->stage_rank[times->source];
    *index = message->sender_index;
    ZB_TRY(add(k, (zb_path_step){.kind = ZB_PATH_MESSAGE,
                                 .rank = *rank,
                                 .to_rank = p->stage_rank[times->destination],
                                 .job = {times->source, times->micro_batch, times->kind},
                                 .start_ps = times->start_ps,
                                 .end_ps = times->end_ps}));
    if (times->start_ps == times->sent_ps) return NULL;
    at = message->before;
  }
}

/* From the job at (rank, index) back to time 0. */
static zb_status add_jobs(walk *k, int rank, int index) {
  const wires *w = k->wires;
  for (;;) {
    const zb_job job = w->order->jobs[rank][index];
    const zb_job_times times = k->simulation->jobs[rank][index];
    ZB_TRY(add(k, (zb_path_step){ZB_PATH_JOB, rank, rank, job, times.start_ps, times.end_ps}));
    if (times.start_ps == 0) return NULL;
    if (index > 0 && k->simulation->jobs[rank][index - 1].end_ps == times.start_ps) {
      --index;
      continue;
    }
    const int32_t arrival =
        job.kind == ZB_W ? 0 : w->arrival[job.kind][zb_model_pair(w->model, job.stage, job.micro_batch)];
    if (!arrival || w->wires.items[arrival - 1].times.end_ps != times.start_ps)
      return ZB_ERROR(INVALID, "rank %d: job %d starts at %lld ps for no reason: the simulation is of another order",
                      rank, index, (long long)times.start_ps);
    ZB_TRY(add_messages(k, arrival - 1, &rank, &index));
  }
}

/* The reductions that the optimizer of a rank starts right behind; gives the job before them, and how much of it. */
static zb_status add_reductions(walk *k, int rank, int *index, int64_t *until) {
  const wires *w = k->wires;
  *index = w->order->counts[rank] - 1;
  int64_t end = k->simulation->optimizer_start_ps[rank];
  const zb_rank_reduction *r = zb_reductions(w->model, rank + 1);
  while (r > zb_reductions(w->model, rank) && k->simulation->jobs[rank][*index].end_ps != end) {
    const zb_job_times times = k->simulation->reductions[(--r)->index];
    const zb_job after = {r->stage, r->after, ZB_W};
    ZB_TRY(add(k, (zb_path_step){ZB_PATH_REDUCTION, rank, rank, after, times.start_ps, times.end_ps}));
    end = times.start_ps;
    *index = w->index[zb_model_job(w->model, r->stage, ZB_W, r->after)];
    if (k->simulation->jobs[rank][*index].end_ps - r->lead_ps == end) break;
  }
  *until = end;
  return NULL;
}

/* The rank that ends last, its optimizer and its reductions. */
static zb_status add_all(walk *k) {
  const zb_model *model = k->wires->model;
  int last = 0, index;
  int64_t last_ps = -1, until;
  for (int rank = 0; rank < model->problem->ranks; ++rank) {
    const int64_t end = k->simulation->optimizer_start_ps[rank] + model->optimizer_ps[rank];
    if (end <= last_ps) continue;
    last = rank;
    last_ps = end;
  }
  const int64_t start = k->simulation->optimizer_start_ps[last];
  if (last_ps > start)
    ZB_TRY(add(k, (zb_path_step){
                      .kind = ZB_PATH_OPTIMIZER, .rank = last, .to_rank = last, .start_ps = start, .end_ps = last_ps}));
  ZB_TRY(add_reductions(k, last, &index, &until));
  const int job = k->path->count;
  ZB_TRY(add_jobs(k, last, index));
  if (job < k->path->count) k->path->steps[job].end_ps = until;
  for (int i = 0, j = k->path->count - 1; i < j; ++i, --j) {
    const zb_path_step step = k->path->steps[i];
    k->path->steps[i] = k->path->steps[j];
    k->path->steps[j] = step;
  }
  return NULL;
}

zb_status zb_critical_path(const zb_problem *problem, const zb_order *order, const zb_simulation *simulation,
                           zb_path *out) {
  *out = (zb_path){0};
  zb_model model;
  ZB_TRY(zb_model_init(problem, &model));
  wires w = {.model = &model, .order = order};
  walk k = {.wires = &w, .simulation = simulation, .path = out};
  zb_status status = NULL;
  ZB_TRY_GOTO(wires_init(&w, simulation));
  ZB_TRY_GOTO(add_all(&k));
cleanup:
  if (status) zb_path_deinit(out);
  zb_model_deinit(&model);
  return status;
}

void zb_path_deinit(zb_path *path) {
  zb_free(path->steps);
  *path = (zb_path){0};
}
