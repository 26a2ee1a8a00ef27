/* Running out of turn: cases by hand, and on random graphs what the rules say. */
#include "runtime/base/free_run.h"
#include "test/suite.h"

#include <stdio.h>
#include <string.h>

enum { JOBS = 60, EDGES = 400, RANKS = 5 };

typedef struct made {
  int32_t begin[RANKS + 1];
  zb_free_job jobs[JOBS];
  zb_free_edge edges[EDGES];
  zb_free_graph graph;
  int64_t start_ps[JOBS];
} made;

static int64_t next_random(uint64_t *seed, int64_t below) {
  *seed = *seed * UINT64_C(6364136223846793005) + 1442695040888963407U;
  return (int64_t)(*seed >> 33) % below;
}

/* Edges go with a random order of all jobs, in which those of a rank stand as in its list: in turn everything can run.
 */
static void make(made *m, uint64_t seed) {
  *m = (made){0};
  const int ranks = 1 + (int)next_random(&seed, RANKS), jobs = 1 + (int)next_random(&seed, JOBS);
  int32_t order[JOBS], next[RANKS];
  for (int r = 0; r <= ranks; ++r)
    m->begin[r] = (int32_t)(r == ranks ? jobs : jobs * r / ranks);
  memcpy(next, m->begin, sizeof next);
  for (int i = 0; i < jobs; ++i) {
    int r = (int)next_random(&seed, ranks);
    while (next[r] == m->begin[r + 1])
      r = (r + 1) % ranks;
    order[i] = next[r]++;
    m->jobs[i] = (zb_free_job){.time_ps = next_random(&seed, 5),
                               .job_class = (int)next_random(&seed, 3),
                               .filler = next_random(&seed, 3) == 0};
  }
  size_t edges = 0;
  for (int i = 0; i < jobs; ++i)
    for (int k = i + 1; k < jobs && edges < EDGES; ++k)
      if (next_random(&seed, 12) == 0)
        m->edges[edges++] = (zb_free_edge){order[i], order[k], next_random(&seed, 2) * next_random(&seed, 7)};
  m->graph = (zb_free_graph){ranks, m->begin, m->jobs, m->edges, edges};
}

static int64_t end_of(const made *m, int32_t job) { return m->start_ps[job] + m->jobs[job].time_ps; }

/* When the last of what it needs has arrived. */
static int64_t ready_of(const made *m, int32_t job) {
  int64_t ready = 0;
  for (size_t i = 0; i < m->graph.edge_count; ++i)
    if (m->edges[i].to == job && end_of(m, m->edges[i].from) + m->edges[i].delay_ps > ready)
      ready = end_of(m, m->edges[i].from) + m->edges[i].delay_ps;
  return ready;
}

/* Whether a rank takes `other` rather than `job` if both are ready, `job` being the one it took. */
static bool comes_first(const made *m, zb_free_rule rule, int32_t other, int32_t job) {
  if (rule == ZB_FREE_PRIORITY && m->jobs[other].job_class != m->jobs[job].job_class)
    return m->jobs[other].job_class < m->jobs[job].job_class;
  return other < job;
}

/* Jobs of a rank that take no time may start at the same moment as the one behind them; all else is strict. */
static void check_rule(const made *m, zb_free_rule rule) {
  const zb_free_graph *g = &m->graph;
  for (int r = 0; r < g->ranks; ++r)
    for (int32_t job = m->begin[r]; job < m->begin[r + 1]; ++job) {
      const int64_t ready = ready_of(m, job), start = m->start_ps[job];
      bool head = true; /* all before it in the list have started */
      int64_t covered = ready;
      CU_ASSERT(start >= ready);
      for (int32_t other = m->begin[r]; other < m->begin[r + 1]; ++other) {
        if (other == job) continue;
        CU_ASSERT(end_of(m, other) <= start || end_of(m, job) <= m->start_ps[other]);
        if (other < job && m->start_ps[other] > start) head = false;
        if (rule > ZB_FREE_FILL && m->start_ps[other] > start && ready_of(m, other) < start && m->jobs[job].time_ps > 0)
          CU_ASSERT(!comes_first(m, rule, other, job));
      }
      if (rule == ZB_FREE_TURN || (rule == ZB_FREE_FILL && !m->jobs[job].filler && m->jobs[job].time_ps > 0))
        CU_ASSERT(head);
      if (rule == ZB_FREE_FILL && !head) continue;
      for (int pass = 0; pass < JOBS && covered < start; ++pass) /* the rank was busy until it started */
        for (int32_t other = m->begin[r]; other < m->begin[r + 1]; ++other)
          if (other != job && m->start_ps[other] <= covered && end_of(m, other) > covered) covered = end_of(m, other);
      if (rule > ZB_FREE_FILL) CU_ASSERT(covered >= start);
    }
}

static void test_rules(void) {
  for (uint64_t seed = 1; seed <= 1500; ++seed)
    for (int rule = ZB_FREE_TURN; rule <= ZB_FREE_PRIORITY; ++rule) {
      made m;
      make(&m, seed);
      zb_status status = zb_free_run(&m.graph, (zb_free_rule)rule, m.start_ps);
      CU_ASSERT_PTR_NULL(status);
      zb_status_free(status);
      check_rule(&m, (zb_free_rule)rule);
    }
}

/* Rank 0: 0 1 2, rank 1: 3. Job 1 needs 3, which is there at 10; 2 is a filler. */
static void test_by_hand(void) {
  const int32_t begin[] = {0, 3, 4};
  const zb_free_job jobs[] = {{.time_ps = 2, .keep_bytes = 8, .free_bytes = 3},
                              {.time_ps = 2, .keep_bytes = 7, .free_bytes = 9},
                              {.time_ps = 3, .free_bytes = 3, .filler = true},
                              {.time_ps = 7}};
  const zb_free_edge edges[] = {{3, 1, 3}};
  const zb_free_graph graph = {2, begin, jobs, edges, 1};
  int64_t start[4];
  zb_status status = zb_free_run(&graph, ZB_FREE_FILL, start);
  CU_ASSERT_PTR_NULL(status);
  CU_ASSERT_EQUAL(start[0], 0);
  CU_ASSERT_EQUAL(start[1], 10);
  CU_ASSERT_EQUAL(start[2], 2);
  CU_ASSERT_EQUAL(start[3], 0);
  int64_t peaks[2]; /* in turn 5 are kept when 1 takes 7; out of turn 2 */
  CU_ASSERT_PTR_NULL(zb_free_peaks(&graph, NULL, peaks));
  CU_ASSERT_EQUAL(peaks[0], 12);
  CU_ASSERT_PTR_NULL(zb_free_peaks(&graph, start, peaks));
  CU_ASSERT_EQUAL(peaks[0], 9);
}

static void test_circle(void) {
  const int32_t begin[] = {0, 2};
  const zb_free_job jobs[] = {{.time_ps = 1}, {.time_ps = 1}};
  const zb_free_edge edges[] = {{0, 1, 0}, {1, 0, 0}};
  const zb_free_graph graph = {1, begin, jobs, edges, 2};
  int64_t start[2];
  zb_status status = zb_free_run(&graph, ZB_FREE_LIST, start);
  CU_ASSERT_EQUAL(zb_status_code(status), ZB_INVALID);
  zb_status_free(status);
}

static void test_memory(void) {
  made m;
  make(&m, 7);
  for (uint64_t at = 1;; ++at) {
    zb_allocation_fail_at(at);
    zb_status status = zb_free_run(&m.graph, ZB_FREE_LIST, m.start_ps);
    zb_allocation_fail_at(0);
    if (!status) break;
    CU_ASSERT_EQUAL(zb_status_code(status), ZB_MEMORY);
    zb_status_free(status);
  }
}

SUITE_MAIN("free run", {"rules", test_rules}, {"by hand", test_by_hand}, {"a circle", test_circle},
           {"no memory", test_memory})
