/* See free_run.h. Events in order of time: a job ends, or the last of what a job needs arrives. When all of one time
 * have been seen, every rank that is free takes a job; what ends at that very time (a job that takes no time) is seen
 * in the next round. So the result does not depend on the order in which ranks are visited.
 * Tests: test/runtime/base/free_run_test.c. */
#include "runtime/base/free_run.h"

#include "runtime/base/heap.h"

#include <stdlib.h>

typedef struct free_state {
  const zb_free_graph *graph;
  zb_free_rule rule;
  int64_t *start_ps;
  int32_t *needs;      /* [jobs] how many results it lacks */
  int64_t *ready_ps;   /* [jobs] when the last of the known ones arrives */
  int32_t *first_edge; /* [jobs + 1] into `edges` */
  int32_t *edges;      /* by job that they come from */
  int32_t *rank_of;    /* [jobs] */
  bool *is_ready, *ran;
  zb_heap *ready;   /* [ranks] jobs */
  int32_t *next;    /* [ranks] of FILL: the first of the list that has not run */
  bool *busy;       /* [ranks] */
  zb_heap events;   /* by time: 2 * job where it becomes ready, 2 * job + 1 where it ends */
  int32_t *touched; /* ranks to look at */
  int touched_count;
  bool *is_touched;
  zb_arena arena;
} free_state;

/* ---- Setting up ---- */

static zb_status take_all(free_state *s) {
  const int ranks = s->graph->ranks, jobs = s->graph->begin[ranks];
  zb_arena *arena = &s->arena;
  zb_heap_item *ready;
  ZB_TAKE(arena, s->needs, jobs + 1);
  ZB_TAKE(arena, s->ready_ps, jobs + 1);
  ZB_TAKE(arena, s->first_edge, jobs + 2);
  ZB_TAKE(arena, s->edges, s->graph->edge_count + 1);
  ZB_TAKE(arena, s->rank_of, jobs + 1);
  ZB_TAKE(arena, s->is_ready, jobs + 1);
  ZB_TAKE(arena, s->ran, jobs + 1);
  ZB_TAKE(arena, s->ready, ranks);
  ZB_TAKE(arena, s->next, ranks);
  ZB_TAKE(arena, s->busy, ranks);
  ZB_TAKE(arena, s->events.items, jobs + 1);
  ZB_TAKE(arena, s->touched, ranks);
  ZB_TAKE(arena, s->is_touched, ranks);
  ZB_TAKE(arena, ready, jobs + 1);
  ZB_TRY(zb_arena_status(arena));
  for (int rank = 0; rank < ranks; ++rank) {
    s->ready[rank].items = ready + s->graph->begin[rank];
    s->next[rank] = s->graph->begin[rank];
    for (int32_t job = s->graph->begin[rank]; job < s->graph->begin[rank + 1]; ++job)
      s->rank_of[job] = rank;
  }
  return NULL;
}

static void sort_edges(free_state *s) {
  const zb_free_graph *g = s->graph;
  const int32_t jobs = g->begin[g->ranks];
  for (size_t i = 0; i < g->edge_count; ++i) {
    ++s->first_edge[g->edges[i].from + 2];
    ++s->needs[g->edges[i].to];
  }
  for (int32_t job = 0; job < jobs; ++job)
    s->first_edge[job + 1] += s->first_edge[job];
  for (size_t i = 0; i < g->edge_count; ++i)
    s->edges[s->first_edge[g->edges[i].from + 1]++] = (int32_t)i;
}

/* ---- Running ---- */

static void touch(free_state *s, int rank) {
  if (s->is_touched[rank]) return;
  s->is_touched[rank] = true;
  s->touched[s->touched_count++] = rank;
}

static void make_ready(free_state *s, int32_t job) {
  const int rank = s->rank_of[job];
  s->is_ready[job] = true;
  if (s->rule > ZB_FREE_FILL || (s->rule == ZB_FREE_FILL && s->graph->jobs[job].filler))
    zb_heap_push(&s->ready[rank], s->rule == ZB_FREE_PRIORITY ? s->graph->jobs[job].job_class : 0, job);
  touch(s, rank);
}

static void end_job(free_state *s, int32_t job, int64_t now_ps) {
  s->busy[s->rank_of[job]] = false;
  touch(s, s->rank_of[job]);
  for (int32_t i = s->first_edge[job]; i < s->first_edge[job + 1]; ++i) {
    const zb_free_edge *edge = &s->graph->edges[s->edges[i]];
    if (now_ps + edge->delay_ps > s->ready_ps[edge->to]) s->ready_ps[edge->to] = now_ps + edge->delay_ps;
    if (--s->needs[edge->to] > 0) continue;
    if (s->ready_ps[edge->to] <= now_ps)
      make_ready(s, edge->to);
    else
      zb_heap_push(&s->events, s->ready_ps[edge->to], INT64_C(2) * edge->to);
  }
}

/* The job that the rank does now; -1: none is ready. */
static int32_t choose(free_state *s, int rank) {
  zb_heap *h = &s->ready[rank];
  if (s->rule <= ZB_FREE_FILL) {
    while (s->next[rank] < s->graph->begin[rank + 1] && s->ran[s->next[rank]])
      ++s->next[rank];
    if (s->next[rank] < s->graph->begin[rank + 1] && s->is_ready[s->next[rank]]) return s->next[rank];
    while (h->count > 0 && s->ran[h->items[0].number])
      (void)zb_heap_pop(h);
  }
  return h->count > 0 ? (int32_t)zb_heap_pop(h).number : -1;
}

static int32_t start_jobs(free_state *s, int64_t now_ps) {
  int32_t started = 0;
  for (int i = 0; i < s->touched_count; ++i) {
    const int rank = s->touched[i];
    s->is_touched[rank] = false;
    if (s->busy[rank]) continue;
    const int32_t job = choose(s, rank);
    if (job < 0) continue;
    s->busy[rank] = s->ran[job] = true;
    s->start_ps[job] = now_ps;
    zb_heap_push(&s->events, now_ps + s->graph->jobs[job].time_ps, INT64_C(2) * job + 1);
    ++started;
  }
  s->touched_count = 0;
  return started;
}

static int32_t run(free_state *s) {
  const int32_t jobs = s->graph->begin[s->graph->ranks];
  for (int32_t job = 0; job < jobs; ++job)
    if (s->needs[job] == 0) make_ready(s, job);
  int32_t done = start_jobs(s, 0);
  while (s->events.count > 0) {
    const int64_t now_ps = s->events.items[0].key;
    while (s->events.count > 0 && s->events.items[0].key == now_ps) {
      const int64_t next = zb_heap_pop(&s->events).number;
      if (next % 2)
        end_job(s, (int32_t)(next / 2), now_ps);
      else
        make_ready(s, (int32_t)(next / 2));
    }
    done += start_jobs(s, now_ps);
  }
  return done;
}

zb_status zb_free_run(const zb_free_graph *graph, zb_free_rule rule, int64_t *start_ps) {
  free_state s = {.graph = graph, .rule = rule, .start_ps = start_ps};
  zb_status status = take_all(&s);
  if (!status) {
    sort_edges(&s);
    if (run(&s) < graph->begin[graph->ranks]) status = ZB_ERROR(INVALID, "jobs wait for each other in a circle");
  }
  zb_arena_deinit(&s.arena);
  return status;
}

/* ---- Memory ---- */

typedef struct placed {
  int64_t start_ps;
  int32_t job;
} placed;

static int compare(const void *a, const void *b) {
  const placed *x = a, *y = b;
  if (x->start_ps != y->start_ps) return x->start_ps < y->start_ps ? -1 : 1;
  return (x->job > y->job) - (x->job < y->job);
}

zb_status zb_free_peaks(const zb_free_graph *graph, const int64_t *start_ps, int64_t *peak_bytes) {
  const int32_t jobs = graph->begin[graph->ranks];
  placed *list = zb_alloc(((size_t)jobs + 1) * sizeof *list);
  if (!list) return ZB_OUT_OF_MEMORY();
  for (int32_t job = 0; job < jobs; ++job)
    list[job] = (placed){start_ps ? start_ps[job] : 0, job};
  for (int rank = 0; rank < graph->ranks; ++rank) {
    const int32_t begin = graph->begin[rank], count = graph->begin[rank + 1] - begin;
    int64_t live = 0;
    if (count > 0) qsort(list + begin, (size_t)count, sizeof *list, compare);
    peak_bytes[rank] = 0;
    for (int32_t i = begin; i < begin + count; ++i) {
      live += graph->jobs[list[i].job].keep_bytes;
      if (live > peak_bytes[rank]) peak_bytes[rank] = live;
      live -= graph->jobs[list[i].job].free_bytes;
    }
  }
  zb_free(list);
  return NULL;
}

zb_status zb_free_find_best(const zb_free_graph *graph, const int64_t *limit_bytes, zb_free_measure measure,
                            void *context, zb_free_best *out) {
  zb_arena arena = {0};
  zb_status status = NULL;
  int64_t *start_ps, *own, *peak;
  *out = (zb_free_best){INT64_MAX, INT64_MAX, INT64_MAX};
  ZB_TAKE(&arena, start_ps, graph->begin[graph->ranks] + 1);
  ZB_TAKE(&arena, own, graph->ranks);
  ZB_TAKE(&arena, peak, graph->ranks);
  ZB_TRY_GOTO(zb_arena_status(&arena));
  ZB_TRY_GOTO(zb_free_peaks(graph, NULL, own));
  for (int rule = ZB_FREE_TURN; rule <= ZB_FREE_PRIORITY; ++rule) {
    int64_t time_ps = 0;
    bool fits = true;
    ZB_TRY_GOTO(zb_free_run(graph, (zb_free_rule)rule, start_ps));
    ZB_TRY_GOTO(zb_free_peaks(graph, start_ps, peak));
    ZB_TRY_GOTO(measure(context, start_ps, &time_ps));
    for (int rank = 0; rank < graph->ranks; ++rank)
      fits = fits && (rule == ZB_FREE_TURN || peak[rank] <= own[rank] || peak[rank] <= limit_bytes[rank]);
    if (rule == ZB_FREE_TURN) out->turn_ps = time_ps;
    if (time_ps < out->any_ps) out->any_ps = time_ps;
    if (fits && time_ps < out->within_ps) out->within_ps = time_ps;
  }
cleanup:
  zb_arena_deinit(&arena);
  return status;
}
