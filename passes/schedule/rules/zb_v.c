/* ZB-V: no bubble of the stage metric at F = B = W and m >= 2p-1, at the memory of 1F1B, on the V placement.
 *
 * Qi, Wan, Huang, Lin 2023, "Zero Bubble Pipeline Parallelism", arXiv 2401.10241, section 6: the handwritten order, as
 * in PyTorch's ZBVZeroBubble. It is defined for n >= 2p-1 micro-batches; for fewer it is made for n = 2p-1, and all
 * jobs of micro-batches that are not there are dropped: what is left keeps its order, so it still ends. Tests:
 * test/passes/schedule/v_schedules_test.c, charts/zb_v*.txt.
 */
#include "passes/schedule/rules/emit.h"

static void emit_position(zb_emitter *e, int position, const void *how ZB_UNUSED) {
  const int p = e->ranks, n = zb_max_int(e->micro_batches, 2 * p - 1); /* the emitter writes those that exist */
  int f0 = 0, f1 = 0;
  for (; f0 < 2 * (p - position) - 1; ++f0)
    zb_emit(e, 0, ZB_F);
  for (int i = 0; i < position; ++i, ++f0, ++f1) {
    zb_emit(e, 1, ZB_F);
    zb_emit(e, 0, ZB_F);
  }
  for (int i = 0; i < p - position; ++i, ++f1) {
    zb_emit(e, 1, ZB_F);
    zb_emit_backward(e, 1);
  }
  for (; f1 < n; ++f0, ++f1) {
    if (f0 < n) zb_emit(e, 0, ZB_F);
    zb_emit_backward(e, 0);
    zb_emit(e, 1, ZB_F);
    zb_emit_backward(e, 1);
  }
  for (int i = 0; i < position; ++i) {
    zb_emit(e, 0, ZB_B);
    zb_emit(e, 1, ZB_B);
  }
  for (int i = 0; i < p - position; ++i) {
    zb_emit(e, 0, ZB_B);
    if (zb_emit_left(e, 0, ZB_W) > zb_emit_left(e, 0, ZB_B)) zb_emit(e, 0, ZB_W);
  }
  for (int chunk = 1; chunk >= 0; --chunk)
    while (zb_emit_left(e, chunk, ZB_W))
      zb_emit(e, chunk, ZB_W);
}

static zb_status emit(const zb_problem *problem, const int64_t *options ZB_UNUSED, zb_order *out) {
  return zb_emit_all(problem, emit_position, NULL, out);
}

static double memory_bound(const zb_problem *problem, int rank) {
  return zb_v_memory_bound(problem, rank, 2 * problem->ranks);
}

const zb_schedule_def zb_schedule_zb_v = {
    .name = "zb-v",
    .summary = "no stage bubble at F = B = W, at the memory of 1F1B (Zero Bubble, arXiv 2401.10241, section 6); V "
               "placement",
    ZB_PLACED_V,
    .splits_backward = true,
    .emit = emit,
    .memory_bound = memory_bound,
};
