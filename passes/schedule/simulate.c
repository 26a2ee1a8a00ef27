/* Exact simulation: every job starts when its rank is free and its inputs are there, to the picosecond. Reductions run
 * on a second clock of each rank, which only the optimizer waits for: they are timed when all jobs are.
 *
 * A message is sent when its producer ends, waits until its channel (ordered pair of ranks) is free, and takes latency
 * + bytes * ps_per_byte; receivers do not wait for anything but the data they need. What a channel carries, and in
 * which order, is decided by the sending rank's list alone, so the times do not depend on the order in which ranks are
 * visited here: no event queue is needed, each rank runs until it lacks an input and is visited again when that input
 * is known. O(jobs + edges * micro_batches). Tests: test/passes/schedule/simulate_test.c.
 */
#include <string.h>

#include "passes/schedule/model.h"

typedef struct engine {
  const zb_model *model;
  const zb_order *order;
  int *done;                       /* [ranks] jobs run */
  zb_job_times **times;            /* may be NULL */
  int64_t *clock;                  /* [ranks] end of the last job */
  int64_t *channel;                /* [ranks * ranks] when it is free */
  int32_t *missing[ZB_LINK_KINDS]; /* [stages * micro_batches] inputs that are not known yet */
  int64_t *ready[ZB_LINK_KINDS];   /* when the last of the known ones arrives */
  bool *ran;                       /* by job number */
  int *queue;                      /* ranks to visit, a stack */
  bool *queued;
  int queue_count;
  zb_arena arena;
} engine;

static zb_status engine_init(engine *e) {
  const zb_problem *p = e->model->problem;
  const int pairs = p->stages * p->micro_batches;
  ZB_TAKE(&e->arena, e->clock, p->ranks);
  ZB_TAKE(&e->arena, e->channel, p->ranks * p->ranks);
  ZB_TAKE(&e->arena, e->ran, zb_model_jobs(e->model));
  ZB_TAKE(&e->arena, e->queue, p->ranks);
  ZB_TAKE(&e->arena, e->queued, p->ranks);
  for (int kind = 0; kind < ZB_LINK_KINDS; ++kind) {
    ZB_TAKE(&e->arena, e->missing[kind], pairs);
    ZB_TAKE(&e->arena, e->ready[kind], pairs);
  }
  ZB_TRY(zb_arena_status(&e->arena));
  for (int kind = 0; kind < ZB_LINK_KINDS; ++kind)
    for (int i = 0; i < pairs; ++i)
      e->missing[kind][i] = e->model->input_counts[kind][i / p->micro_batches];
  for (int rank = p->ranks - 1; rank >= 0; --rank) {
    e->queue[e->queue_count++] = rank;
    e->queued[rank] = true;
    e->done[rank] = 0;
  }
  return NULL;
}

static bool can_run(const engine *e, zb_job job) {
  const size_t at = zb_model_pair(e->model, job.stage, job.micro_batch);
  if (job.kind == ZB_W) return e->ran[at * ZB_KIND_COUNT + ZB_B];
  if (job.kind == ZB_B && !e->ran[at * ZB_KIND_COUNT + ZB_F]) return false;
  return e->missing[job.kind][at] == 0;
}

/* Hands the results of (stage, kind, micro_batch) to their receivers. */
static void deliver(engine *e, int stage, zb_kind kind, int micro_batch, int64_t end_ps) {
  const zb_model *model = e->model;
  for (const zb_link *link = zb_links(model, kind, stage); link < zb_links(model, kind, stage + 1); ++link) {
    const int64_t arrival = zb_link_send(link, e->channel, end_ps);
    const size_t to = zb_model_pair(e->model, link->stage, micro_batch);
    if (arrival > e->ready[kind][to]) e->ready[kind][to] = arrival;
    const int rank = model->problem->stage_rank[link->stage];
    if (--e->missing[kind][to] == 0 && !e->queued[rank]) {
      e->queued[rank] = true;
      e->queue[e->queue_count++] = rank;
    }
  }
}

static void run_rank(engine *e, int rank) {
  const zb_order *order = e->order;
  for (int i = e->done[rank]; i < order->counts[rank]; ++i) {
    const zb_job job = order->jobs[rank][i];
    if (!can_run(e, job)) return;
    const size_t at = zb_model_pair(e->model, job.stage, job.micro_batch);
    int64_t start = e->clock[rank];
    if (job.kind != ZB_W && e->ready[job.kind][at] > start) start = e->ready[job.kind][at];
    const int64_t end = start + e->model->problem->costs[job.stage].time_ps[job.kind];
    if (e->times) e->times[rank][i] = (zb_job_times){start, end};
    e->clock[rank] = end;
    e->ran[at * ZB_KIND_COUNT + (size_t)job.kind] = true;
    e->done[rank] = i + 1;
    zb_kind sent;
    if (zb_order_sends(order, rank, i, &sent)) deliver(e, job.stage, sent, job.micro_batch, end);
  }
}

zb_status zb_order_run(const zb_model *model, const zb_order *order, int *done, zb_job_times **times) {
  engine e = {.model = model, .order = order, .done = done, .times = times};
  zb_status status = engine_init(&e);
  while (!status && e.queue_count > 0) {
    const int rank = e.queue[--e.queue_count];
    e.queued[rank] = false;
    run_rank(&e, rank);
  }
  zb_arena_deinit(&e.arena);
  return status;
}

zb_job_times **zb_order_times(const zb_order *order, zb_arena *arena) {
  zb_job_times **times, *all;
  size_t jobs = 0;
  for (int rank = 0; rank < order->ranks; ++rank)
    jobs += (size_t)order->counts[rank];
  ZB_TAKE(arena, times, order->ranks);
  ZB_TAKE(arena, all, jobs);
  if (!times || !all) return NULL;
  for (int rank = 0; rank < order->ranks; all += order->counts[rank++])
    times[rank] = all;
  return times;
}

zb_status zb_order_run_to_end(const zb_model *model, const zb_order *order, zb_job_times **times, zb_code code,
                              const char *message) {
  zb_arena arena = {0};
  zb_status status = NULL;
  int *done;
  ZB_TAKE(&arena, done, order->ranks);
  ZB_TRY_GOTO(zb_arena_status(&arena));
  ZB_TRY_GOTO(zb_order_run(model, order, done, times));
  for (int rank = 0; rank < order->ranks && !status; ++rank)
    if (done[rank] < order->counts[rank]) {
      status = zb_status_make(code, __FILE__, __LINE__, "%s", message);
      status = zb_order_explain(status, model, order, done);
    }
cleanup:
  zb_arena_deinit(&arena);
  return status;
}

/* ---- The second clock ---- */

zb_status zb_order_finish(const zb_model *model, const zb_order *order, zb_job_times *const *times, int64_t *start_ps,
                          zb_job_times *reductions) {
  const zb_problem *p = model->problem;
  for (int rank = 0; rank < order->ranks; ++rank)
    start_ps[rank] = order->counts[rank] ? times[rank][order->counts[rank] - 1].end_ps : 0;
  if (p->reduction_count == 0) return NULL;
  const size_t pairs = (size_t)p->stages * (size_t)p->micro_batches;
  zb_status status = NULL;
  int64_t *w_end = zb_alloc(pairs * sizeof *w_end);
  if (!w_end) return ZB_OUT_OF_MEMORY();
  memset(w_end, -1, pairs * sizeof *w_end);
  for (int rank = 0; rank < order->ranks; ++rank)
    for (int i = 0; i < order->counts[rank]; ++i) {
      const zb_job job = order->jobs[rank][i];
      if (job.kind == ZB_W) w_end[zb_model_pair(model, job.stage, job.micro_batch)] = times[rank][i].end_ps;
    }
  for (int rank = 0; rank < order->ranks; ++rank) {
    int64_t stream = 0;
    for (const zb_rank_reduction *r = zb_reductions(model, rank); r < zb_reductions(model, rank + 1); ++r) {
      const int64_t w = w_end[zb_model_pair(model, r->stage, r->after)];
      if (w < 0)
        ZB_TRY_GOTO(
            ZB_ERROR(TIMEOUT, "reduction %d waits for %dW%d, which is in no list", r->index, r->stage, r->after));
      stream = zb_reduction_end(r, stream, w);
      if (reductions) reductions[r->index] = (zb_job_times){stream - r->time_ps, stream};
    }
    if (stream > start_ps[rank]) start_ps[rank] = stream;
  }
cleanup:
  zb_free(w_end);
  return status;
}

/* ---- Messages, for timelines: the same rule for channels, read off the finished times ---- */

static zb_status visit_links(const zb_model *model, int64_t *channel, zb_kind kind, zb_job job, int64_t sent_ps,
                             zb_message_visit visit, void *context) {
  for (const zb_link *link = zb_links(model, kind, job.stage); link < zb_links(model, kind, job.stage + 1); ++link) {
    if (link->channel < 0) continue;
    zb_message_times message = {
        .kind = kind, .source = job.stage, .destination = link->stage, .micro_batch = job.micro_batch};
    message.bytes = link->bytes;
    message.sent_ps = sent_ps;
    message.start_ps = channel[link->channel] > sent_ps ? channel[link->channel] : sent_ps;
    message.end_ps = channel[link->channel] = message.start_ps + link->time_ps;
    ZB_TRY(visit(context, &message));
  }
  return NULL;
}

zb_status zb_order_messages(const zb_model *model, const zb_order *order, const zb_simulation *simulation,
                            zb_message_visit visit, void *context) {
  const size_t ranks = (size_t)order->ranks;
  int64_t *channel = zb_alloc(ranks * ranks * sizeof *channel);
  if (!channel) return ZB_OUT_OF_MEMORY();
  zb_status status = NULL;
  for (int rank = 0; rank < order->ranks; ++rank)
    for (int i = 0; i < order->counts[rank]; ++i) {
      const zb_job job = order->jobs[rank][i];
      const int64_t end = simulation->jobs[rank][i].end_ps;
      zb_kind sent;
      if (zb_order_sends(order, rank, i, &sent))
        ZB_TRY_GOTO(visit_links(model, channel, sent, job, end, visit, context));
    }
cleanup:
  zb_free(channel);
  return status;
}

/* ---- The public simulation ---- */

void zb_simulation_deinit(zb_simulation *simulation) {
  if (simulation->memory) zb_arena_deinit(simulation->memory);
  zb_free(simulation->memory);
  *simulation = (zb_simulation){0};
}

static zb_status allocate(const zb_problem *problem, const zb_order *order, zb_simulation *out) {
  zb_arena *arena = out->memory = zb_alloc(sizeof *arena);
  if (!arena) return ZB_OUT_OF_MEMORY();
  out->ranks = order->ranks;
  out->jobs = zb_order_times(order, arena);
  ZB_TAKE(arena, out->reductions, problem->reduction_count);
  ZB_TAKE(arena, out->optimizer_start_ps, order->ranks);
  ZB_TAKE(arena, out->peak_bytes, order->ranks);
  return zb_arena_status(arena);
}

/* Both metrics are idle shares of compute time, averaged over the ranks: with equal stages 1 - m(F+B+W) / time, as
 * papers state them. */
static void summarize(const zb_model *model, const zb_order *order, zb_simulation *out) {
  int64_t first = INT64_MAX, last = 0;
  double busy = 0;
  for (int rank = 0; rank < order->ranks; ++rank) {
    const int count = order->counts[rank];
    const int64_t optimizer = model->optimizer_ps[rank];
    const int64_t start = count ? out->jobs[rank][0].start_ps : 0;
    const int64_t end = out->optimizer_start_ps[rank] + optimizer;
    if (start < first) first = start;
    if (end > last) last = end;
    if (end - start > out->stage_ps) out->stage_ps = end - start;
    busy += (double)optimizer;
    for (int i = 0; i < count; ++i)
      busy += (double)(out->jobs[rank][i].end_ps - out->jobs[rank][i].start_ps);
  }
  out->step_ps = last - first;
  busy /= order->ranks;
  out->bubble_barrier = out->step_ps > 0 ? 1 - busy / (double)out->step_ps : 0;
  out->bubble_stage = out->stage_ps > 0 ? 1 - busy / (double)out->stage_ps : 0;
}

zb_status zb_simulate(const zb_problem *problem, const zb_order *order, zb_simulation *out) {
  *out = (zb_simulation){0};
  zb_model model;
  int32_t *index;
  ZB_TRY(zb_model_init(problem, &model));
  zb_status status = NULL;
  ZB_TRY_GOTO(zb_order_index(&model, order, &model.arena, &index)); /* the jobs are those of the problem */
  ZB_TRY_GOTO(allocate(problem, order, out));
  ZB_TRY_GOTO(
      zb_order_run_to_end(&model, order, out->jobs, ZB_TIMEOUT, "this order cannot finish: some ranks wait for ever"));
  ZB_TRY_GOTO(zb_order_finish(&model, order, out->jobs, out->optimizer_start_ps, out->reductions));
  summarize(&model, order, out);
  zb_order_peaks(problem, order, out->peak_bytes);
cleanup:
  zb_model_deinit(&model);
  if (status) zb_simulation_deinit(out);
  return status;
}
