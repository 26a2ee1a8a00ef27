/* Looped breadth-first: every chunk runs all its forwards before the next one starts; backwards likewise, from the
 * last.
 *
 * Lamy-Poirier 2023, "Breadth-First Pipeline Parallelism", arXiv 2211.05953, section 4.1; PyTorch's ScheduleLoopedBFS,
 * which runs the micro-batches of a backward in falling order. Here they rise, so that gradients accumulate in the
 * order of every other schedule; time and memory are the same. Bubble (p-1)(F+B+W)/v for m >= p, memory all
 * micro-batches. Tests: test/passes/schedule/looped_test.c, schedules_test.c.
 */
#include <limits.h>

#include "passes/schedule/emit.h"

static zb_status emit(const zb_problem *problem, const int64_t *options, zb_order *out) {
  (void)options;
  return zb_emit_breadth_first(problem, out);
}

static double memory_bound(const zb_problem *problem, int rank) {
  (void)rank;
  return problem->micro_batches;
}

const zb_schedule_def zb_schedule_looped_bfs = {
    .name = "looped-bfs",
    .summary =
        "chunk after chunk, each with all micro-batches (breadth-first pipelines, arXiv 2211.05953, section 4.1)",
    .placement = "looped",
    .chunks_min = 1,
    .chunks_max = INT_MAX,
    .splits_backward = false,
    .emit = emit,
    .memory_bound = memory_bound,
};
