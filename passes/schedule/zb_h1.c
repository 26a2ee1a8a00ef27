/* ZB-H1: 1F1B with the backward split; rank r holds back r W jobs and fills the tail of the step with them.
 *
 * Qi, Wan, Huang, Lin 2024, "Zero Bubble Pipeline Parallelism", arXiv 2401.10241, section 2.2 and figure 2. Bubble
 * (p-1)(F+B-W) for m >= p; memory of 1F1B on the first rank. Tests: test/passes/schedule/schedules_test.c,
 * charts/zb_h1*.txt.
 */
#include "passes/schedule/emit.h"

static zb_status emit(const zb_problem *problem, const int64_t *options, zb_order *out) {
  (void)options;
  zb_emitter emitter;
  zb_emit_init(&emitter, problem, out);
  for (int stage = 0; stage < problem->stages; ++stage) {
    zb_emit_rank(&emitter, problem->stage_rank[stage]);
    for (int i = 0; i < problem->stages - stage; ++i)
      zb_emit(&emitter, 0, ZB_F);
    for (int b = 0; b < problem->micro_batches; ++b) {
      zb_emit(&emitter, 0, ZB_B);
      if (b >= stage) zb_emit_oldest_w(&emitter);
      zb_emit(&emitter, 0, ZB_F);
    }
    zb_emit_rest_w(&emitter);
  }
  return zb_emit_finish(&emitter);
}

/* (p-r) M_B + r M_W, and never more than all micro-batches. */
static double memory_bound(const zb_problem *problem, int rank) {
  const int stage = zb_rank_position(problem, rank);
  const int64_t after_f = zb_memory_after_f(problem, rank), after_b = zb_memory_after_b(problem, rank);
  if (after_f <= 0) return -1; /* no unit to state it in */
  const double ratio = (double)after_b / (double)after_f;
  const double bound = problem->stages - stage + stage * ratio;
  const double all = problem->micro_batches * (ratio > 1 ? ratio : 1);
  return bound < all ? bound : all;
}

const zb_schedule_def zb_schedule_zb_h1 = {
    .name = "zb-h1",
    .summary = "1F1B with W held back to fill the tail, at the memory of 1F1B (Zero Bubble, arXiv 2401.10241, section "
               "2.2); one chunk a rank",
    .placement = "plain",
    .chunks_min = 1,
    .chunks_max = 1,
    .splits_backward = true,
    .emit = emit,
    .memory_bound = memory_bound,
};
