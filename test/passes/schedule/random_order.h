/* A random valid order: jobs in a random order in which each comes after what it needs. */
#ifndef ZB_TEST_PASSES_SCHEDULE_RANDOM_ORDER_H
#define ZB_TEST_PASSES_SCHEDULE_RANDOM_ORDER_H

#include "fixture.h"

/* Whether the job can come next, `done` being what came before. */
static inline bool random_can_run(const zb_problem *p, const bool *done, zb_job job) {
  const int m = p->micro_batches;
#define DONE(stage, kind, micro_batch) done[((stage) * m + (micro_batch)) * ZB_KIND_COUNT + (int)(kind)]
  if (DONE(job.stage, job.kind, job.micro_batch)) return false;
  if (job.kind != ZB_F && !DONE(job.stage, job.kind - 1, job.micro_batch)) return false;
  if (job.kind == ZB_W) return job.micro_batch == 0 || DONE(job.stage, ZB_W, job.micro_batch - 1);
  const int count = p->edges ? p->edge_count : p->stages - 1;
  for (int i = 0; i < count; ++i) {
    const zb_edge edge = p->edges ? p->edges[i] : (zb_edge){i, i + 1, 0, 1};
    if (job.kind == ZB_F && edge.destination == job.stage && !DONE(edge.source, ZB_F, job.micro_batch)) return false;
    if (job.kind == ZB_B && edge.source == job.stage && edge.backward_bytes > 0 &&
        !DONE(edge.destination, ZB_B, job.micro_batch))
      return false;
  }
#undef DONE
  return true;
}

static inline void random_order(const zb_problem *p, uint64_t *seed, zb_order *out) {
  const int jobs = p->stages * p->micro_batches * ZB_KIND_COUNT;
  bool *done = calloc((size_t)jobs, sizeof *done);
  CU_ASSERT_PTR_NOT_NULL_FATAL(done);
  expect_ok(zb_order_init(out, p->ranks));
  for (int count = 0; count < jobs; ++count) {
    int at = (int)fixture_random(seed, jobs);
    zb_job job;
    do {
      at = (at + 1) % jobs;
      job = (zb_job){at / ZB_KIND_COUNT / p->micro_batches, at / ZB_KIND_COUNT % p->micro_batches,
                     (zb_kind)(at % ZB_KIND_COUNT)};
    } while (!random_can_run(p, done, job));
    done[at] = true;
    expect_ok(zb_order_add(out, p->stage_rank[job.stage], job.stage, job.kind, job.micro_batch));
  }
  free(done);
}

#endif
