/* Breadth first: every chunk runs all its forwards before the next one starts; backwards likewise, from the last chunk.
 *
 * GPipe with one chunk a rank: Huang et al. 2019, arXiv 1811.06965. With several: Lamy-Poirier 2023, "Breadth-First
 * Pipeline Parallelism", arXiv 2211.05953, section 4.1; PyTorch's ScheduleLoopedBFS. Papers and PyTorch run the
 * backwards in falling micro-batch order; here they rise, so that gradients accumulate in the order of every other
 * schedule. Time and memory are the same. Bubble (p-1)(F+B+W)/v for m >= p, memory all micro-batches. Tests:
 * test/passes/schedule/looped_test.c, schedules_test.c, charts/fthenb*.txt.
 */
#include "passes/schedule/rules/emit.h"

static void emit_position(zb_emitter *e, int position ZB_UNUSED, const void *how ZB_UNUSED) {
  for (int chunk = 0; chunk < e->chunks; ++chunk)
    while (zb_emit_left(e, chunk, ZB_F))
      zb_emit(e, chunk, ZB_F);
  for (int chunk = e->chunks - 1; chunk >= 0; --chunk)
    while (zb_emit_left(e, chunk, ZB_B))
      zb_emit_backward(e, chunk);
}

static zb_status emit(const zb_problem *problem, const int64_t *options ZB_UNUSED, zb_order *out) {
  return zb_emit_all(problem, emit_position, NULL, out);
}

static double memory_bound(const zb_problem *problem, int rank ZB_UNUSED) { return problem->micro_batches; }

const zb_schedule_def zb_schedule_fthenb = {
    .name = "fthenb",
    .summary =
        "all forwards, then all backwards (GPipe, arXiv 1811.06965); with chunks breadth first (arXiv 2211.05953)",
    ZB_PLACED_LOOPED,
    .any_placement = true,
    .emit = emit,
    .memory_bound = memory_bound,
};
const zb_schedule_def zb_schedule_looped_bfs = {
    .name = "looped-bfs",
    .summary =
        "chunk after chunk, each with all micro-batches (breadth-first pipelines, arXiv 2211.05953, section 4.1)",
    ZB_PLACED_LOOPED,
    .emit = emit,
    .memory_bound = memory_bound,
};
