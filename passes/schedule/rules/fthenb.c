/* GPipe: all forwards, then all backwards. With several chunks it is the looped breadth-first order.
 *
 * GPipe, Huang et al. 2019, arXiv 1811.06965; breadth-first with chunks, Lamy-Poirier 2023, arXiv 2211.05953. Papers
 * run the backwards in falling micro-batch order; here they rise, so that gradients accumulate in the order of every
 * other schedule. Time and memory are the same. Tests: test/passes/schedule/schedules_test.c, charts/fthenb*.txt.
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

const zb_schedule_def zb_schedule_fthenb = {
    .name = "fthenb",
    .summary =
        "all forwards, then all backwards (GPipe, arXiv 1811.06965); with chunks breadth first (arXiv 2211.05953)",
    .placement = "looped",
    .chunks_min = 1,
    .chunks_max = INT_MAX,
    .any_placement = true,
    .splits_backward = false,
    .emit = emit,
    .memory_bound = memory_bound,
};
