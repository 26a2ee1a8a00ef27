/* Whether an order can run with channels that buffer nothing: a send ends when its receive is reached, and the other
 * way round; each rank blocks until then.
 *
 * Shares no code with the library but the simulated times. zero_buffer_ends puts jobs and messages in one global order,
 * by time, and gives each rank its part of it; then the lists are run, blocking, to the end. It is the existence of
 * that global order that proves an order free of deadlocks. zero_buffer_run alone judges any lists.
 */
#ifndef ZB_TEST_PASSES_SCHEDULE_ZERO_BUFFER_H
#define ZB_TEST_PASSES_SCHEDULE_ZERO_BUFFER_H

#include "fixture.h"

/* A job (destination < 0) or a message, of which source and destination are ranks. */
typedef struct zero_buffer_event {
  int64_t time;
  int sequence; /* an event that needs another has the higher number */
  int source, destination;
  zb_kind kind;
  int stage, to_stage, micro_batch;
} zero_buffer_event;

static inline int zero_buffer_compare(const void *a, const void *b) {
  const zero_buffer_event *x = a, *y = b;
  if (x->time != y->time) return x->time < y->time ? -1 : 1;
  return (x->sequence > y->sequence) - (x->sequence < y->sequence);
}

/* Runs one list of events a rank (messages stand in both lists, as the same number): true if all come to their end. */
static inline bool zero_buffer_run(int ranks, const zero_buffer_event *events, int *const *lists, const int *counts) {
  int *at = calloc((size_t)ranks, sizeof *at);
  CU_ASSERT_PTR_NOT_NULL_FATAL(at);
  int left = 0;
  for (int rank = 0; rank < ranks; ++rank)
    left += counts[rank];
  for (bool moved = true; moved;) {
    moved = false;
    for (int rank = 0; rank < ranks; ++rank)
      while (at[rank] < counts[rank]) {
        const int event = lists[rank][at[rank]], destination = events[event].destination;
        const int other = destination < 0 ? rank : events[event].source == rank ? destination : events[event].source;
        if (other != rank && (at[other] == counts[other] || lists[other][at[other]] != event)) break;
        ++at[rank];
        --left;
        if (other != rank) {
          ++at[other];
          --left;
        }
        moved = true;
      }
  }
  free(at);
  return left == 0;
}

typedef struct zero_buffer {
  const zb_problem *problem;
  const zb_order *order;
  zero_buffer_event *events;
  int count, capacity;
  int *arrived; /* [kind][stage][micro_batch] messages so far */
  int *needed;  /* [kind][stage] messages in all */
} zero_buffer;

static inline int zero_buffer_edges(const zb_problem *p) { return p->edges ? p->edge_count : p->stages - 1; }
static inline zb_edge zero_buffer_edge(const zb_problem *p, int index) {
  return p->edges ? p->edges[index] : (zb_edge){index, index + 1, 0, 1};
}

static inline void zero_buffer_add(zero_buffer *z, zero_buffer_event event) {
  CU_ASSERT_FATAL(z->count < z->capacity);
  event.sequence = z->count;
  z->events[z->count++] = event;
}

/* The messages of a job that is done, in the order of the edges. */
static inline void zero_buffer_send(zero_buffer *z, zb_job job, int64_t time) {
  const zb_problem *p = z->problem;
  for (int i = 0; i < zero_buffer_edges(p); ++i) {
    const zb_edge edge = zero_buffer_edge(p, i);
    const int from = job.kind == ZB_F ? edge.source : edge.destination;
    const int to = job.kind == ZB_F ? edge.destination : edge.source;
    if (from != job.stage || (job.kind == ZB_B && edge.backward_bytes == 0)) continue;
    ++z->arrived[((int)job.kind * p->stages + to) * p->micro_batches + job.micro_batch];
    if (p->stage_rank[from] != p->stage_rank[to])
      zero_buffer_add(z, (zero_buffer_event){.time = time,
                                             .source = p->stage_rank[from],
                                             .destination = p->stage_rank[to],
                                             .kind = job.kind,
                                             .stage = from,
                                             .to_stage = to,
                                             .micro_batch = job.micro_batch});
  }
}

static inline bool zero_buffer_ready(const zero_buffer *z, zb_job job) {
  if (job.kind == ZB_W) return true;
  const int at = (int)job.kind * z->problem->stages + job.stage;
  return z->arrived[at * z->problem->micro_batches + job.micro_batch] == z->needed[at];
}

/* All events, each after what it needs; false if the order cannot end. */
static inline bool zero_buffer_collect(zero_buffer *z, const zb_simulation *simulation) {
  const zb_order *order = z->order;
  int *at = calloc((size_t)order->ranks, sizeof *at), left = 0;
  CU_ASSERT_PTR_NOT_NULL_FATAL(at);
  for (int rank = 0; rank < order->ranks; ++rank)
    left += order->counts[rank];
  for (bool moved = true; moved;) {
    moved = false;
    for (int rank = 0; rank < order->ranks; ++rank)
      while (at[rank] < order->counts[rank] && zero_buffer_ready(z, order->jobs[rank][at[rank]])) {
        const int i = at[rank]++;
        const zb_job job = order->jobs[rank][i];
        const zb_job_times times = simulation->jobs[rank][i];
        zero_buffer_add(z, (zero_buffer_event){.time = times.start_ps,
                                               .source = rank,
                                               .destination = -1,
                                               .kind = job.kind,
                                               .stage = job.stage,
                                               .micro_batch = job.micro_batch});
        if (job.kind == ZB_F || (job.kind == ZB_B && !order->whole_backward)) zero_buffer_send(z, job, times.end_ps);
        if (job.kind == ZB_W && order->whole_backward)
          zero_buffer_send(z, (zb_job){job.stage, job.micro_batch, ZB_B}, times.end_ps);
        --left;
        moved = true;
      }
  }
  free(at);
  return left == 0;
}

/* Each rank's part of the global order, run with blocking. */
static inline bool zero_buffer_replay(const zero_buffer *z) {
  const int ranks = z->order->ranks;
  int **lists = calloc((size_t)ranks, sizeof *lists), *counts = calloc((size_t)ranks, sizeof *counts);
  CU_ASSERT_PTR_NOT_NULL_FATAL(lists);
  CU_ASSERT_PTR_NOT_NULL_FATAL(counts);
  int *cells = calloc((size_t)z->count * 2 + 1, sizeof *cells);
  CU_ASSERT_PTR_NOT_NULL_FATAL(cells);
  for (int i = 0; i < z->count; ++i) {
    ++counts[z->events[i].source];
    if (z->events[i].destination >= 0) ++counts[z->events[i].destination];
  }
  for (int rank = 0, begin = 0; rank < ranks; ++rank) {
    lists[rank] = cells + begin;
    begin += counts[rank];
    counts[rank] = 0;
  }
  bool as_listed = true;
  for (int i = 0; i < z->count; ++i) {
    const zero_buffer_event *event = &z->events[i];
    lists[event->source][counts[event->source]++] = i;
    if (event->destination >= 0) lists[event->destination][counts[event->destination]++] = i;
  }
  /* What is run is the order in question: the jobs of each list are its jobs, in its order. */
  for (int rank = 0; rank < ranks; ++rank) {
    int at = 0;
    for (int i = 0; i < counts[rank]; ++i) {
      const zero_buffer_event *event = &z->events[lists[rank][i]];
      if (event->destination >= 0) continue;
      const zb_job job = z->order->jobs[rank][at++];
      as_listed =
          as_listed && job.stage == event->stage && job.kind == event->kind && job.micro_batch == event->micro_batch;
    }
    as_listed = as_listed && at == z->order->counts[rank];
  }
  const bool ends = as_listed && zero_buffer_run(ranks, z->events, lists, counts);
  free(cells);
  free(lists);
  free(counts);
  return ends;
}

/* Whether the simulated order ends with zero buffering. O(events log events), times the edges of a stage. */
static inline bool zero_buffer_ends(const zb_problem *problem, const zb_order *order, const zb_simulation *simulation) {
  const int edges = zero_buffer_edges(problem);
  zero_buffer z = {.problem = problem, .order = order};
  z.capacity = problem->micro_batches * (problem->stages * ZB_KIND_COUNT + 2 * edges);
  z.events = calloc((size_t)z.capacity, sizeof *z.events);
  z.arrived = calloc((size_t)(2 * problem->stages * problem->micro_batches), sizeof *z.arrived);
  z.needed = calloc((size_t)(2 * problem->stages), sizeof *z.needed);
  CU_ASSERT_PTR_NOT_NULL_FATAL(z.events);
  CU_ASSERT_PTR_NOT_NULL_FATAL(z.arrived);
  CU_ASSERT_PTR_NOT_NULL_FATAL(z.needed);
  for (int i = 0; i < edges; ++i) {
    const zb_edge edge = zero_buffer_edge(problem, i);
    ++z.needed[edge.destination];
    if (edge.backward_bytes > 0) ++z.needed[problem->stages + edge.source];
  }
  bool ends = zero_buffer_collect(&z, simulation);
  if (ends) {
    qsort(z.events, (size_t)z.count, sizeof *z.events, zero_buffer_compare);
    ends = zero_buffer_replay(&z);
  }
  free(z.events);
  free(z.arrived);
  free(z.needed);
  return ends;
}

#endif
