/* ZB-H2: ZB-H1 with twice the forwards first and twice the W held back, for twice the memory.
 *
 * Qi, Wan, Huang, Lin 2024, "Zero Bubble Pipeline Parallelism", arXiv 2401.10241, section 2.3 and figure 3. By the stage metric
 * the step takes m(F+B+W) + (p-1)(F+B+2c-2W) for m >= 2p-1 and F+B >= 2W, c being a message; so none is lost at equal
 * times. Memory (2p-2r-1) M_B + 2r M_W. Tests: test/passes/schedule/schedules_test.c, published_test.c.
 */
#include "passes/schedule/emit.h"

static zb_status emit(const zb_problem *problem, const int64_t *options, zb_order *out) {
  (void)options;
  zb_emitter emitter;
  zb_emit_init(&emitter, problem, out);
  for (int stage = 0; stage < problem->stages; ++stage) {
    zb_emit_rank(&emitter, problem->stage_rank[stage]);
    for (int i = 0; i < 2 * (problem->stages - stage) - 1; ++i)
      zb_emit(&emitter, 0, ZB_F);
    for (int b = 0; b < problem->micro_batches; ++b) {
      zb_emit(&emitter, 0, ZB_B);
      if (b >= 2 * stage) zb_emit_oldest_w(&emitter);
      zb_emit(&emitter, 0, ZB_F);
    }
    zb_emit_rest_w(&emitter);
  }
  return zb_emit_finish(&emitter);
}

/* (2p-2r-1) M_B + 2r M_W, and never more than all micro-batches. */
static double memory_bound(const zb_problem *problem, int rank) {
  const int stage = zb_rank_position(problem, rank);
  const int64_t after_f = zb_memory_after_f(problem, rank), after_b = zb_memory_after_b(problem, rank);
  if (after_f <= 0) return -1; /* no unit to state it in */
  const double ratio = (double)after_b / (double)after_f;
  const double bound = 2 * (problem->stages - stage) - 1 + 2 * stage * ratio;
  const double all = problem->micro_batches * (ratio > 1 ? ratio : 1);
  return bound < all ? bound : all;
}

const zb_schedule_def zb_schedule_zb_h2 = {
    .name = "zb-h2",
    .summary = "no bubble at equal times where ranks need not wait for each other, at nearly twice the memory of 1F1B "
               "(Zero Bubble, arXiv 2401.10241, section 2.3); one chunk a rank",
    .placement = "plain",
    .chunks_min = 1,
    .chunks_max = 1,
    .splits_backward = true,
    .emit = emit,
    .memory_bound = memory_bound,
};
