/* Where sends and receives stand: one global order, by the simulated end of what is sent.
 *
 * Every job j has a key (end, step, rank): its simulated end, its end where all jobs take the same time, its rank. B
 * and W that are one backward are one job here. A job starts after what it needs has ended, so that its end is not
 * before theirs, and its step is above theirs: along every dependency, keys rise. A message has the key of the job that
 * makes it. So "all jobs by key, each followed by its messages" is one sequence S in which everything comes after what
 * it needs, and the list of a rank is what S has for that rank, in the order of S.
 *
 * No deadlock, with no buffering: whatever has not happened and is first in S can happen. Everything it needs comes
 * before it in S, and so does everything that stands before it in the lists of its ranks, the two ends of a message
 * alike. That needs less than blocking sends and receives in list order give, so it holds for those, for one in-order
 * stream of communication a rank, and for several.
 *
 * No bubble where messages are free: by induction along S every job starts, and every message ends, no later than
 * simulated. A message with key (t, ..) needs its producer, which ends at t at the latest, and the messages before it
 * on its two ranks, whose keys are not larger and which have ended by t; where the stream also waits for all jobs
 * before it in the list, those have ended by t as well. A job needs messages that end no later than simulated, where
 * they took no time either.
 *
 * Rejected: the order in which a walk over the ranks meets the messages, which is how PyTorch places them: receives
 * stand ahead of sends that are ready, and one in-order stream loses 2 to 5 times the bubble. Measured and tested in
 * test/passes/schedule/lower_test.c.
 */
#include <stdlib.h>

#include "passes/schedule/model.h"

typedef struct key {
  int64_t end_ps, step;
  int rank;
} key;

typedef struct keyed {
  zb_transfer transfer;
  key key;
} keyed;

static int compare_keys(key a, key b) {
  if (a.end_ps != b.end_ps) return a.end_ps < b.end_ps ? -1 : 1;
  if (a.step != b.step) return a.step < b.step ? -1 : 1;
  return (a.rank > b.rank) - (a.rank < b.rank);
}

static int compare(const void *a, const void *b) {
  const keyed *x = a, *y = b;
  const int order = compare_keys(x->key, y->key);
  return order ? order : x->transfer.destination - y->transfer.destination; /* of one producer */
}

typedef struct lowerer {
  const zb_model *model;
  const zb_order *order;
  zb_job_times **times, **steps; /* [rank][index] */
  keyed *list;
  size_t count;
} lowerer;

/* Whether B and W at index and index + 1 are one backward. */
static bool is_whole(const zb_order *order, int rank, int index) {
  if (!order->whole_backward || index + 1 >= order->counts[rank]) return false;
  const zb_job job = order->jobs[rank][index], next = order->jobs[rank][index + 1];
  return job.kind == ZB_B && next.kind == ZB_W && next.stage == job.stage && next.micro_batch == job.micro_batch;
}

/* Key of the job at index, or of the backward that starts there. */
static key key_of(const lowerer *l, int rank, int index) {
  const int last = is_whole(l->order, rank, index) ? index + 1 : index;
  return (key){l->times[rank][last].end_ps, l->steps[rank][last].end_ps, rank};
}

static void free_times(zb_job_times **times, int ranks) {
  for (int rank = 0; times && rank < ranks; ++rank)
    zb_free(times[rank]);
  zb_free(times);
}

static zb_status run(const zb_model *model, const zb_order *order, zb_job_times ***out) {
  const size_t ranks = (size_t)order->ranks;
  int *done = zb_alloc(ranks * sizeof *done);
  zb_job_times **times = zb_alloc(ranks * sizeof *times);
  zb_status status = NULL;
  bool ok = done && times;
  for (int rank = 0; ok && rank < order->ranks; ++rank) {
    times[rank] = zb_alloc(((size_t)order->counts[rank] + 1) * sizeof **times);
    ok = times[rank] != NULL;
  }
  if (!ok || !zb_order_run(model, order, done, times)) status = ZB_OUT_OF_MEMORY();
  for (int rank = 0; rank < order->ranks && !status; ++rank)
    if (done[rank] < order->counts[rank]) {
      int32_t *index = NULL;
      status = ZB_ERROR(TIMEOUT, "this order cannot finish, so its messages have no order: some ranks wait for ever");
      zb_status none = zb_order_index(model, order, &index);
      if (!none) status = zb_order_explain(status, model, order, done, index);
      zb_status_free(none);
      zb_free(index);
    }
  zb_free(done);
  if (status)
    free_times(times, order->ranks);
  else
    *out = times;
  return status;
}

/* The same order where every job takes one step and every message none. */
static zb_status run_steps(const zb_model *model, const zb_order *order, zb_job_times ***out) {
  zb_stage_cost *costs = zb_alloc((size_t)model->problem->stages * sizeof *costs);
  if (!costs) return ZB_OUT_OF_MEMORY();
  for (int stage = 0; stage < model->problem->stages; ++stage)
    costs[stage] = (zb_stage_cost){.time_ps = {1, 1, 1}};
  zb_problem unit = *model->problem;
  unit.costs = costs;
  unit.link_latency_ps = 0;
  unit.link_ps_per_byte = 0;
  zb_model unit_model = {0};
  zb_status status = zb_model_init(&unit, &unit_model);
  if (!status) status = run(&unit_model, order, out);
  zb_model_deinit(&unit_model);
  zb_free(costs);
  return status;
}

/* The messages that the job at index of a rank makes; list NULL: only counted. */
static void make(lowerer *l, int rank, int index) {
  const zb_job job = l->order->jobs[rank][index];
  if (job.kind == ZB_W) return;
  const int last = is_whole(l->order, rank, index) ? index + 1 : index;
  for (int i = l->model->link_begin[job.kind][job.stage]; i < l->model->link_begin[job.kind][job.stage + 1]; ++i) {
    const zb_link *link = &l->model->links[job.kind][i];
    if (link->channel < 0) continue;
    const size_t at = l->count++;
    if (!l->list) continue;
    l->list[at].key = key_of(l, rank, index);
    l->list[at].transfer = (zb_transfer){.source = job.stage,
                                         .destination = link->stage,
                                         .micro_batch = job.micro_batch,
                                         .kind = job.kind,
                                         .send_at = last + 1,
                                         .ready_ps = l->list[at].key.end_ps};
  }
}

static void make_all(lowerer *l) {
  l->count = 0;
  for (int rank = 0; rank < l->order->ranks; ++rank)
    for (int i = 0; i < l->order->counts[rank]; ++i)
      make(l, rank, i);
}

/* A receive stands behind the jobs with smaller keys. */
static zb_status place_receives(lowerer *l) {
  int *before = zb_alloc((size_t)l->order->ranks * sizeof *before);
  if (!before) return ZB_OUT_OF_MEMORY();
  for (size_t i = 0; i < l->count; ++i) {
    const int rank = l->model->problem->stage_rank[l->list[i].transfer.destination];
    int *at = &before[rank];
    while (*at < l->order->counts[rank] && compare_keys(key_of(l, rank, *at), l->list[i].key) < 0)
      *at += is_whole(l->order, rank, *at) ? 2 : 1;
    l->list[i].transfer.receive_at = *at;
  }
  zb_free(before);
  return NULL;
}

static zb_status lower(lowerer *l, zb_lowering *out) {
  ZB_TRY(run(l->model, l->order, &l->times));
  ZB_TRY(run_steps(l->model, l->order, &l->steps));
  make_all(l);
  l->list = zb_alloc(l->count * sizeof *l->list);
  zb_transfer *transfers = zb_alloc(l->count * sizeof *transfers);
  if (!l->list || !transfers) {
    zb_free(transfers);
    return ZB_OUT_OF_MEMORY();
  }
  make_all(l);
  qsort(l->list, l->count, sizeof *l->list, compare);
  zb_status status = place_receives(l);
  if (status) {
    zb_free(transfers);
    return status;
  }
  for (size_t i = 0; i < l->count; ++i)
    transfers[i] = l->list[i].transfer;
  *out = (zb_lowering){transfers, l->count};
  return NULL;
}

zb_status zb_order_lower(const zb_problem *problem, const zb_order *order, zb_lowering *out) {
  *out = (zb_lowering){0};
  zb_model model;
  int32_t *index = NULL;
  ZB_TRY(zb_model_init(problem, &model));
  lowerer l = {.model = &model, .order = order};
  zb_status status = zb_order_index(&model, order, &index); /* the jobs are those of the problem */
  if (!status) status = lower(&l, out);
  free_times(l.times, order->ranks);
  free_times(l.steps, order->ranks);
  zb_free(l.list);
  zb_free(index);
  zb_model_deinit(&model);
  return status;
}

void zb_lowering_deinit(zb_lowering *lowering) {
  zb_free(lowering->transfers);
  *lowering = (zb_lowering){0};
}
