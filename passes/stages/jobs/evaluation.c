/* The order of an evaluation, for zb-insert-comm: of all jobs that could run next, the one that can start first, and of
 * those of one rank that of the latest stage. So micro-batches follow each other through the stages without a gap that
 * could be filled, and what a stage hands to the next is read soon. Memory needs no rule: little is kept. So receives
 * are posted one job ahead of their consumer, which a step cannot afford.
 *
 * Tests: test/passes/evaluation.mlir. */

#include "passes/stages/jobs/transfers.h"

enum { UNKNOWN = -1 };

typedef struct follow {
  zb_timetable *t;
  const zb_problem *problem;
  int *next;         /* [stage] its next micro-batch */
  int64_t *ready_ps; /* [stage] when what that reads has arrived, if it was awaited; UNKNOWN: not made yet */
  int64_t *way_ps;   /* [stage] of the longest message to it; 0: none */
  int64_t *end_ps;   /* [stage * micro-batches + m] */
  int64_t *free_ps;  /* [rank] end of its last job */
  int64_t *post_ps;  /* [rank] end of the one before: when what its next job reads is awaited */
} follow;

static int64_t *end_of(const follow *f, int stage, int m) { return &f->end_ps[stage * f->problem->micro_batches + m]; }

static int64_t way_of(const follow *f, const zb_hop *hop) {
  const int *stage_rank = f->problem->stage_rank;
  if (stage_rank[hop->source] == stage_rank[hop->destination]) return 0;
  return f->problem->link_latency_ps + (int64_t)(f->problem->link_ps_per_byte * (double)hop->bytes);
}

static void find_ready(follow *f, int stage) {
  const zb_module_problem *p = &f->t->p;
  f->ready_ps[stage] = 0;
  for (size_t h = 0; h < p->hops.count; ++h) {
    const zb_hop *hop = &p->hops.items[h];
    if (hop->destination != stage) continue;
    int64_t at = *end_of(f, hop->source, f->next[stage]);
    if (at == UNKNOWN) {
      f->ready_ps[stage] = UNKNOWN;
      return;
    }
    at += way_of(f, hop);
    if (at > f->ready_ps[stage]) f->ready_ps[stage] = at;
  }
}

/* The stage whose next job can start first. */
static int first_stage(const follow *f, int64_t *out_start_ps) {
  int best = -1;
  for (int s = f->problem->stages - 1; s >= 0; --s) {
    if (f->next[s] == f->problem->micro_batches || f->ready_ps[s] == UNKNOWN) continue;
    const int rank = f->problem->stage_rank[s];
    int64_t start = f->way_ps[s] ? f->post_ps[rank] + f->way_ps[s] : 0;
    if (f->ready_ps[s] > start) start = f->ready_ps[s];
    if (f->free_ps[rank] > start) start = f->free_ps[rank];
    if (best >= 0 && start >= *out_start_ps) continue;
    best = s;
    *out_start_ps = start;
  }
  return best;
}

static zb_status append(follow *f, int stage, int64_t start_ps) {
  const int rank = f->problem->stage_rank[stage], m = f->next[stage]++;
  const int64_t end = start_ps + f->problem->costs[stage].time_ps[ZB_F];
  const int place = f->t->order.counts[rank];
  ZB_TRY(zb_order_add(&f->t->order, rank, stage, ZB_F, m));
  f->t->simulation.jobs[rank][place] = (zb_job_times){start_ps, end};
  f->post_ps[rank] = f->free_ps[rank];
  f->free_ps[rank] = *end_of(f, stage, m) = end;
  if (f->next[stage] < f->problem->micro_batches) find_ready(f, stage);
  for (size_t h = 0; h < f->t->p.hops.count; ++h) {
    const zb_hop *hop = &f->t->p.hops.items[h];
    if (hop->source == stage && f->next[hop->destination] == m) find_ready(f, hop->destination);
  }
  return NULL;
}

static zb_status allocate(zb_arena *arena, follow *f) {
  const size_t stages = (size_t)f->problem->stages, jobs = stages * (size_t)f->problem->micro_batches;
  zb_simulation *simulation = &f->t->simulation;
  f->next = ZB_NEW(arena, int, stages);
  f->ready_ps = ZB_NEW(arena, int64_t, stages);
  f->end_ps = ZB_NEW(arena, int64_t, jobs);
  f->way_ps = ZB_NEW(arena, int64_t, stages);
  f->free_ps = ZB_NEW(arena, int64_t, f->problem->ranks);
  f->post_ps = ZB_NEW(arena, int64_t, f->problem->ranks);
  simulation->ranks = f->problem->ranks;
  simulation->jobs = ZB_NEW(arena, zb_job_times *, f->problem->ranks);
  for (int r = 0; r < f->problem->ranks && simulation->jobs; ++r) {
    size_t own = 0;
    for (size_t s = 0; s < stages; ++s)
      own += f->problem->stage_rank[s] == r;
    simulation->jobs[r] = ZB_NEW(arena, zb_job_times, own * (size_t)f->problem->micro_batches);
  }
  ZB_TRY(zb_arena_status(arena));
  for (size_t i = 0; i < jobs; ++i)
    f->end_ps[i] = UNKNOWN;
  for (size_t h = 0; h < f->t->p.hops.count; ++h) {
    const zb_hop *hop = &f->t->p.hops.items[h];
    const int64_t way = way_of(f, hop);
    if (way > f->way_ps[hop->destination]) f->way_ps[hop->destination] = way;
  }
  return NULL;
}

zb_status zb_evaluation_timetable(zb_arena *arena, MlirModule module, int micro_batches, zb_timetable *out) {
  follow f = {.t = out, .problem = &out->p.problem};
  int64_t start_ps = 0;
  out->evaluates = true;
  ZB_TRY(zb_module_evaluation_build(module, micro_batches, &out->p));
  if (out->p.problem.stages == 0) return NULL;
  ZB_TRY(allocate(arena, &f));
  ZB_TRY(zb_order_init(&out->order, f.problem->ranks));
  for (int s = 0; s < f.problem->stages; ++s)
    find_ready(&f, s);
  for (int stage = first_stage(&f, &start_ps); stage >= 0; stage = first_stage(&f, &start_ps))
    ZB_TRY(append(&f, stage, start_ps));
  return NULL;
}
