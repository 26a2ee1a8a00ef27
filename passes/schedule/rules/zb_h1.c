/* ZB-H1: 1F1B with the backward split; rank r holds back r W jobs and fills the tail of the step with them.
 *
 * Qi, Wan, Huang, Lin 2024, "Zero Bubble Pipeline Parallelism", arXiv 2401.10241, section 2.2 and figure 2. Bubble
 * (p-1)(F+B-W) for m >= p; memory of 1F1B on the first rank. Tests: test/passes/schedule/schedules_test.c,
 * charts/zb_h1*.txt.
 */
#include "passes/schedule/emit.h"

static zb_status emit(const zb_problem *problem, const int64_t *options, zb_order *out) {
  (void)options;
  return zb_emit_one_by_one(problem, 1, true, out);
}

/* (p-r) M_B + r M_W, and never more than all micro-batches. */
static double memory_bound(const zb_problem *problem, int rank) { return zb_split_memory_bound(problem, rank, 1); }

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
