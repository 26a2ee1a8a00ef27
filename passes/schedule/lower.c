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
  zb_arena arena;
} lowerer;

static const char cannot_finish[] = "this order cannot finish, so its messages have no order: some ranks wait for ever";

/* Key of the job at index, or of the backward that starts there. */
static key key_of(const lowerer *l, int rank, int index) {
  const int last = zb_order_is_whole(l->order, rank, index) ? index + 1 : index;
  return (key){l->times[rank][last].end_ps, l->steps[rank][last].end_ps, rank};
}

/* The times of the order where every job takes one step and every message none. */
static zb_status run_steps(lowerer *l) {
  zb_problem unit;
  zb_model model;
  ZB_TRY(zb_unit_problem(l->model->problem, &l->arena, &unit));
  ZB_TRY(zb_model_init(&unit, &model));
  zb_status status = zb_order_run_to_end(&model, l->order, l->steps, ZB_TIMEOUT, cannot_finish);
  zb_model_deinit(&model);
  return status;
}

/* The messages that the job at index of a rank makes; list NULL: only counted. */
static void make(lowerer *l, int rank, int index) {
  const zb_job job = l->order->jobs[rank][index];
  if (job.kind == ZB_W) return;
  const int last = zb_order_is_whole(l->order, rank, index) ? index + 1 : index;
  for (const zb_link *link = zb_links(l->model, job.kind, job.stage);
       link < zb_links(l->model, job.kind, job.stage + 1); ++link) {
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

/* A receive stands behind the jobs with smaller keys; before[ranks] is zeroed. */
static void place_receives(lowerer *l, int *before) {
  for (size_t i = 0; i < l->count; ++i) {
    const int rank = l->model->problem->stage_rank[l->list[i].transfer.destination];
    int *at = &before[rank];
    while (*at < l->order->counts[rank] && compare_keys(key_of(l, rank, *at), l->list[i].key) < 0)
      *at += zb_order_is_whole(l->order, rank, *at) ? 2 : 1;
    l->list[i].transfer.receive_at = *at;
  }
}

static zb_status lower(lowerer *l, zb_lowering *out) {
  int32_t *index;
  int *before;
  ZB_TRY(zb_order_index(l->model, l->order, &l->arena, &index)); /* the jobs are those of the problem */
  l->times = zb_order_times(l->order, &l->arena);
  l->steps = zb_order_times(l->order, &l->arena);
  ZB_TAKE(&l->arena, before, l->order->ranks);
  ZB_TRY(zb_arena_status(&l->arena));
  ZB_TRY(zb_order_run_to_end(l->model, l->order, l->times, ZB_TIMEOUT, cannot_finish));
  ZB_TRY(run_steps(l));
  make_all(l);
  ZB_TAKE(&l->arena, l->list, l->count);
  out->transfers = zb_alloc(l->count * sizeof *out->transfers);
  if (!l->list || !out->transfers) return ZB_OUT_OF_MEMORY();
  make_all(l);
  qsort(l->list, l->count, sizeof *l->list, compare);
  place_receives(l, before);
  for (out->count = 0; out->count < l->count; ++out->count)
    out->transfers[out->count] = l->list[out->count].transfer;
  return NULL;
}

zb_status zb_order_lower(const zb_problem *problem, const zb_order *order, zb_lowering *out) {
  *out = (zb_lowering){0};
  zb_model model;
  ZB_TRY(zb_model_init(problem, &model));
  lowerer l = {.model = &model, .order = order};
  zb_status status = lower(&l, out);
  if (status) zb_lowering_deinit(out);
  zb_arena_deinit(&l.arena);
  zb_model_deinit(&model);
  return status;
}

void zb_lowering_deinit(zb_lowering *lowering) {
  zb_free(lowering->transfers);
  *lowering = (zb_lowering){0};
}
