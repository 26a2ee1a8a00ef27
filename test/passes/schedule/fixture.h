/* Small problems for the tests of the schedule library, a seeded generator, and what the suites share. */
#ifndef ZB_TEST_PASSES_SCHEDULE_FIXTURE_H
#define ZB_TEST_PASSES_SCHEDULE_FIXTURE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/suite.h"
#include "zb/schedule.h"

enum { FIXTURE_STAGES = 256, FIXTURE_EDGES = 512 };

typedef struct fixture {
  zb_problem problem;
  int stage_rank[FIXTURE_STAGES];
  zb_stage_cost costs[FIXTURE_STAGES];
  zb_edge edges[FIXTURE_EDGES];
  int64_t base[FIXTURE_STAGES], optimizer[FIXTURE_STAGES];
} fixture;

/* The chunks of a rank together take f, b, w; comm between ranks; memory as the papers have it: F keeps 1000, B leaves
 * `ratio` of it to W. */
static inline void fixture_uniform(fixture *x, const char *placement, int ranks, int chunks, int micro_batches,
                                   int64_t f, int64_t b, int64_t w, int64_t comm, double ratio) {
  memset(x, 0, sizeof *x);
  x->problem = (zb_problem){.ranks = ranks,
                            .micro_batches = micro_batches,
                            .stages = ranks * chunks,
                            .stage_rank = x->stage_rank,
                            .costs = x->costs,
                            .link_latency_ps = comm};
  zb_status status = zb_placement(placement, ranks, chunks, x->stage_rank);
  CU_ASSERT_PTR_NULL_FATAL(status);
  for (int stage = 0; stage < ranks * chunks; ++stage) {
    const int64_t keep = 1000, keep_w = (int64_t)(1000 * ratio);
    x->costs[stage] = (zb_stage_cost){.time_ps = {f / chunks, b / chunks, w / chunks},
                                      .keep_bytes = {keep, 0, 0},
                                      .free_bytes = {0, keep - keep_w, keep_w}};
  }
}

/* Reproducible numbers: a 64-bit linear congruential generator (Knuth's constants), high bits. */
static inline int64_t fixture_random(uint64_t *state, int64_t below) {
  *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (int64_t)((*state >> 33) % (uint64_t)below);
}

/* Every stage its own times and memory, skip edges, optimizer, base memory, messages that cost bytes. */
static inline void fixture_uneven(fixture *x, uint64_t *seed, const char *placement, int ranks, int chunks,
                                  int micro_batches) {
  fixture_uniform(x, placement, ranks, chunks, micro_batches, 0, 0, 0, fixture_random(seed, 4), 0);
  int edges = 0;
  for (int stage = 0; stage < x->problem.stages; ++stage) {
    const int64_t fb = fixture_random(seed, 100), fw = fixture_random(seed, 100), bw = fixture_random(seed, 50);
    x->costs[stage] =
        (zb_stage_cost){.time_ps = {fixture_random(seed, 20), fixture_random(seed, 20), fixture_random(seed, 20)},
                        .keep_bytes = {fb + fw, bw, 0},
                        .free_bytes = {0, fb, fw + bw}};
    for (int to = stage + 1; to < x->problem.stages; ++to)
      if (to == stage + 1 || fixture_random(seed, 5) == 0)
        x->edges[edges++] = (zb_edge){stage, to, fixture_random(seed, 8),
                                      to == stage + 1 ? 1 + fixture_random(seed, 8) : fixture_random(seed, 3)};
  }
  for (int rank = 0; rank < ranks; ++rank) {
    x->base[rank] = fixture_random(seed, 100);
    x->optimizer[rank] = fixture_random(seed, 10);
  }
  x->problem.edges = x->edges;
  x->problem.edge_count = edges;
  x->problem.link_ps_per_byte = (double)fixture_random(seed, 4) / 2;
  x->problem.base_bytes = x->base;
  x->problem.optimizer_ps = x->optimizer;
}

/* The edges of a schedule that runs two pipelines at once: none from a stage of the first to one of the second. */
static inline void fixture_two_chains(fixture *x) {
  zb_problem *p = &x->problem;
  int kept = 0;
  const int count = p->edges ? p->edge_count : p->stages - 1;
  for (int i = 0; i < count; ++i) {
    const zb_edge edge = p->edges ? x->edges[i] : (zb_edge){i, i + 1, 0, 1};
    if (edge.source >= p->ranks || edge.destination < p->ranks) x->edges[kept++] = edge;
  }
  p->edges = x->edges;
  p->edge_count = kept;
}

/* As the row is made for: its own placement and pipelines. */
static inline void fixture_for(fixture *x, const zb_schedule_def *schedule, int ranks, int chunks, int micro_batches,
                               int64_t f, int64_t b, int64_t w, int64_t comm, double ratio) {
  fixture_uniform(x, schedule->placement, ranks, chunks, micro_batches, f, b, w, comm, ratio);
  if (schedule->two_pipelines) fixture_two_chains(x);
}
static inline void fixture_uneven_for(fixture *x, const zb_schedule_def *schedule, uint64_t *seed, int ranks,
                                      int chunks, int micro_batches) {
  fixture_uneven(x, seed, schedule->placement, ranks, chunks, micro_batches);
  if (schedule->two_pipelines) fixture_two_chains(x);
}

/* What one micro-batch keeps on a rank of fixture_uniform after F: the unit of zb_schedule_def.memory_bound. Of two
 * pipelines a micro-batch passes one. */
static inline double fixture_unit(const zb_schedule_def *schedule, const zb_problem *problem) {
  return 1000.0 * problem->stages / problem->ranks / (schedule->two_pipelines ? 2 : 1);
}

/* Fails the test with the text of the status, if there is one. */
static inline void expect_ok(zb_status status) {
  if (status) fprintf(stderr, "\n%s", zb_status_text(status));
  CU_ASSERT_PTR_NULL(status);
  zb_status_free(status);
}

/* The status has this code, and its text says this. */
static inline void expect_status(zb_status status, zb_code code, const char *part) {
  CU_ASSERT_PTR_NOT_NULL(status);
  CU_ASSERT_EQUAL(zb_status_code(status), code);
  const bool found = status && strstr(zb_status_text(status), part);
  if (!found) fprintf(stderr, "\nexpected '%s' in: %s", part, status ? zb_status_text(status) : "success\n");
  CU_ASSERT(found);
  zb_status_free(status);
}

/* Runs one suite; the exit status of its program. */
static inline int run_suite(const char *name, const CU_TestInfo *tests) {
  CU_SuiteInfo suites[] = {{.pName = name, .pTests = (CU_TestInfo *)(uintptr_t)tests}, CU_SUITE_INFO_NULL};
  return suite_run(suites);
}

#endif
