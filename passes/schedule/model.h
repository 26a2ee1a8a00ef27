/* What every part of the library asks of a problem and an order.
 *
 * A model is a checked problem with its tables: the chunks of each rank, and the links of each stage.
 *
 * A link is a message that a job sends to another stage when it ends: F to later stages, B to earlier ones. Links
 * between two ranks share a channel, which carries one message at a time.
 *
 * Running an order means to give every job its start and end, each rank in the order of its list.
 */
#pragma once

#include "runtime/base/arena.h"
#include "zb/schedule.h"

/* The result of a job that another stage waits for. Within a rank it is there at once (channel -1). */
typedef struct zb_link {
  int stage;   /* the receiver */
  int channel; /* source rank * ranks + destination rank, or -1 */
  int64_t time_ps;
  int64_t bytes;
} zb_link;

/* When the result of a job that ends then is with the receiver of a link; channel[...]: when each channel is free. */
static inline int64_t zb_link_arrival(const zb_link *link, const int64_t *channel, int64_t end_ps) {
  if (link->channel < 0) return end_ps;
  return (channel[link->channel] > end_ps ? channel[link->channel] : end_ps) + link->time_ps;
}
/* The same; the channel is then taken until that time. */
static inline int64_t zb_link_send(const zb_link *link, int64_t *channel, int64_t end_ps) {
  const int64_t arrival = zb_link_arrival(link, channel, end_ps);
  if (link->channel >= 0) channel[link->channel] = arrival;
  return arrival;
}

/* Kinds that send: F and B. */
enum { ZB_LINK_KINDS = 2 };

/* A reduction as its rank sees it. */
typedef struct zb_rank_reduction {
  int index; /* in the problem's list */
  int stage, after;
  int64_t time_ps, lead_ps;
} zb_rank_reduction;

/* When a reduction ends: its W ends then, and the one before it on its rank ended at `stream_ps`. */
static inline int64_t zb_reduction_end(const zb_rank_reduction *reduction, int64_t stream_ps, int64_t w_end_ps) {
  const int64_t ready_ps = w_end_ps - reduction->lead_ps;
  return (ready_ps > stream_ps ? ready_ps : stream_ps) + reduction->time_ps;
}

typedef struct zb_model {
  const zb_problem *problem;
  int chunks;
  int *rank_stages;                 /* [ranks * chunks] virtual stage of chunk k of rank r, rising */
  int *stage_chunk;                 /* [stages] */
  zb_link *links[ZB_LINK_KINDS];    /* by sending stage; F goes up, B down */
  int *link_begin[ZB_LINK_KINDS];   /* [stages + 1] */
  int *input_counts[ZB_LINK_KINDS]; /* [stages] how many links arrive */
  int32_t *channel_class;           /* [ranks * ranks] the class that `channels` gives a channel, + 1; NULL: none */
  int64_t *optimizer_ps;            /* [ranks] of all stages */
  zb_rank_reduction *reductions;    /* by rank */
  int *reduction_begin;             /* [ranks + 1] */
  zb_arena arena;
} zb_model;

/* Checks the problem (see zb_problem_check) and builds its model. The problem must outlive it. On failure *out is
 * empty. */
zb_status zb_model_init(const zb_problem *problem, zb_model *out) ZB_MUST_USE;
void zb_model_deinit(zb_model *model);

/* The links by which a stage sends: from here to those of the next stage. */
static inline const zb_link *zb_links(const zb_model *model, zb_kind kind, int stage) {
  return &model->links[kind][model->link_begin[kind][stage]];
}

/* The reductions of a rank in its order: from here to those of the next rank. */
static inline const zb_rank_reduction *zb_reductions(const zb_model *model, int rank) {
  return &model->reductions[model->reduction_begin[rank]];
}

/* Most ranks: there is a channel for each ordered pair of them, 128 MiB for these. */
enum { ZB_SCHEDULE_RANKS_MAX = 4096 };
/* Checks these sizes against the limits: the first check of zb_problem_check, for callers that allocate before they
 * have the rest of the problem. */
zb_status zb_check_size(int ranks, int64_t stages, int micro_batches) ZB_MUST_USE;

/* Bytes that a rank may hold, 0: no limit. */
static inline int64_t zb_rank_limit(const zb_problem *problem, int rank) {
  return problem->rank_limit_bytes ? problem->rank_limit_bytes[rank] : problem->memory_limit_bytes;
}

/* What is always there on a rank. */
static inline int64_t zb_base_bytes(const zb_problem *problem, int rank) {
  return problem->base_bytes ? problem->base_bytes[rank] : 0;
}

/* The problem with messages that take no time, and without reductions. */
zb_problem zb_free_links(const zb_problem *problem);
/* The problem with every job taking one step, and messages, reductions and optimizers none, its costs in the arena.
 * MEMORY. */
zb_status zb_unit_problem(const zb_problem *problem, zb_arena *arena, zb_problem *out) ZB_MUST_USE;

/* What one micro-batch keeps of a stage after its F or B. */
static inline int64_t zb_held_after(const zb_stage_cost *cost, zb_kind kind) {
  int64_t bytes = cost->keep_bytes[ZB_F] - cost->free_bytes[ZB_F];
  if (kind == ZB_B) bytes += cost->keep_bytes[ZB_B] - cost->free_bytes[ZB_B];
  return bytes;
}
/* B and W of a stage as one job: B has the time and the memory of both, W is empty. */
zb_stage_cost zb_whole_cost(const zb_stage_cost *cost);

/* Number of a job, 0..zb_model_jobs-1. */
static inline size_t zb_model_job(const zb_model *model, int stage, zb_kind kind, int micro_batch) {
  return ((size_t)stage * (size_t)model->problem->micro_batches + (size_t)micro_batch) * ZB_KIND_COUNT + (size_t)kind;
}
/* Number of a stage and micro-batch. */
static inline size_t zb_model_pair(const zb_model *model, int stage, int micro_batch) {
  return (size_t)stage * (size_t)model->problem->micro_batches + (size_t)micro_batch;
}
static inline size_t zb_model_jobs(const zb_model *model) {
  return (size_t)model->problem->stages * (size_t)model->problem->micro_batches * ZB_KIND_COUNT;
}
/* The letter of a kind, as in "0F2", and the kind of a letter; false for a letter of none. */
char zb_kind_letter(zb_kind kind);
bool zb_kind_parse(char letter, zb_kind *out);

/* Whether the jobs at index and index + 1 of a rank are B and W of one backward: see zb_order.whole_backward. */
bool zb_order_is_whole(const zb_order *order, int rank, int index);
/* Whether results leave when the job at index ends, and of which kind: the W of a whole backward sends what B made. */
static inline bool zb_order_sends(const zb_order *order, int rank, int index, zb_kind *kind) {
  const zb_kind job = order->jobs[rank][index].kind;
  *kind = job == ZB_W ? ZB_B : job;
  return job == ZB_W ? zb_order_is_whole(order, rank, index - 1) : !zb_order_is_whole(order, rank, index);
}

/* Adds the lists around job `index` of a rank to a status (-1: around none). */
zb_status zb_order_with_chart(zb_status status, const zb_order *order, int rank, int index);
/* Where each job stands in its rank's list: index[zb_model_job], -1 if nowhere, in the arena. INVALID for a job that
 * does not exist, stands on a rank that does not own its stage, or stands twice. */
zb_status zb_order_index(const zb_model *model, const zb_order *order, zb_arena *arena, int32_t **out) ZB_MUST_USE;

/* Room for the times of all jobs: [rank][index], NULL when out of memory. */
zb_job_times **zb_order_times(const zb_order *order, zb_arena *arena);
/* Runs the jobs of every rank in order as far as they go. done[ranks] gets how many; times[rank][index] (may be NULL)
 * when. MEMORY. The engine of simulation and of the proof that an order ends. */
zb_status zb_order_run(const zb_model *model, const zb_order *order, int *done, zb_job_times **times) ZB_MUST_USE;
/* The same of an order that must end: where it does not, a status of that code and message that notes for each rank
 * which job it waits for. */
zb_status zb_order_run_to_end(const zb_model *model, const zb_order *order, zb_job_times **times, zb_code code,
                              const char *message) ZB_MUST_USE;

/* When the optimizer of each rank may start, to start_ps[ranks]: its last job and its reductions have ended, of which
 * reductions[reduction_count] (may be NULL) gets the times. TIMEOUT where a W that one waits for is in no list. */
zb_status zb_order_finish(const zb_model *model, const zb_order *order, zb_job_times *const *times, int64_t *start_ps,
                          zb_job_times *reductions) ZB_MUST_USE;

/* Of an order that stands still at done[ranks]: adds a note a waiting rank, and the cycle if there is one; the jobs of
 * the order are those of the problem. */
zb_status zb_order_explain(zb_status status, const zb_model *model, const zb_order *order, const int *done);

/* What the watch of the problem says. */
static inline bool zb_watch_goes_on(const zb_problem *problem) {
  return !problem->watch || problem->watch->goes_on(problem->watch->context);
}

/* The lower bound of what the metric of the problem counts. */
static inline int64_t zb_lower_bound(const zb_problem *problem) {
  if (problem->metric == ZB_METRIC_PERIOD) return zb_lower_bound_period_ps(problem);
  return problem->metric == ZB_METRIC_STAGE ? zb_lower_bound_stage_ps(problem) : zb_lower_bound_ps(problem);
}

/* The same of one problem for many limits. Released with zb_bounds_free. */
typedef struct zb_bounds zb_bounds;
zb_status zb_bounds_new(const zb_problem *problem, zb_bounds **out) ZB_MUST_USE;
void zb_bounds_free(zb_bounds *bounds);
/* limits[ranks]. O(ranks * chunks^2), by the stage metric O(ranks^2 * chunks^2). */
int64_t zb_bounds_within(zb_bounds *bounds, const int64_t *limits);

/* Periods of many orders of one problem. */
typedef struct zb_period_timer zb_period_timer;
/* The model must outlive it. */
zb_status zb_period_timer_new(const zb_model *model, zb_period_timer **out) ZB_MUST_USE;
void zb_period_timer_free(zb_period_timer *timer);
/* As zb_order_period, without the bubble, of an order of all jobs of the problem in which none comes before what it
 * needs of its own stage. cycle_steps 0: some ranks wait for ever, or it is longer than at_most (NULL: any). */
zb_status zb_period_time(zb_period_timer *timer, const zb_order *order, const zb_period *at_most,
                         zb_period *out) ZB_MUST_USE;

/* Calls visit for every message between different ranks, in the order in which each rank sends. sent: handed to the
 * channel; start and end: on the wire. */
typedef struct zb_message_times {
  zb_kind kind;
  int source, destination; /* stages */
  int micro_batch;
  int64_t sent_ps, start_ps, end_ps, bytes;
} zb_message_times;
typedef zb_status (*zb_message_visit)(void *context, const zb_message_times *message);
zb_status zb_order_messages(const zb_model *model, const zb_order *order, const zb_simulation *simulation,
                            zb_message_visit visit, void *context) ZB_MUST_USE;

/* The lists as they stand, a job marked with brackets (rank -1: none), and what is far from it left out: what error
 * messages show. NULL when out of memory. */
char *zb_order_marked(const zb_order *order, int rank, int index);

static inline bool zb_placement_takes(const zb_placement_def *placement, int chunks) {
  return chunks >= placement->chunks_min && chunks <= placement->chunks_max;
}
/* What zb_schedule_place says but for the check that the schedule takes these chunks. */
zb_status zb_schedule_place_open(const zb_schedule_def *schedule, int ranks, const char **placement,
                                 int *chunks) ZB_MUST_USE;

/* The greatest; of 0 and x it is x. */
static inline int64_t zb_common_divisor(int64_t a, int64_t b) {
  while (b != 0) {
    const int64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}
static inline int zb_min_int(int a, int b) { return a < b ? a : b; }
static inline int zb_max_int(int a, int b) { return a > b ? a : b; }
static inline int64_t zb_max64(int64_t a, int64_t b) { return a > b ? a : b; }
/* The greatest of the values and of `most`. */
static inline int64_t zb_most_of(const int64_t *values, int count, int64_t most) {
  for (int i = 0; i < count; ++i)
    if (values[i] > most) most = values[i];
  return most;
}
