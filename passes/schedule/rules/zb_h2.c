/* ZB-H2: ZB-H1 with twice the forwards first and twice the W held back, for twice the memory.
 *
 * Qi, Wan, Huang, Lin 2024, "Zero Bubble Pipeline Parallelism", arXiv 2401.10241, section 2.3 and figure 3. By the
 * stage metric the step takes m(F+B+W) + (p-1)(F+B+2c-2W) for m >= 2p-1 and F+B >= 2W, c being a message; so none is
 * lost at equal times. Memory (2p-2r-1) M_B + 2r M_W. Tests: test/passes/schedule/schedules_test.c, iclr24_test.c.
 */
#include "passes/schedule/emit.h"

static zb_status emit(const zb_problem *problem, const int64_t *options, zb_order *out) {
  (void)options;
  return zb_emit_one_by_one(problem, 2, true, out);
}

/* (2p-2r-1) M_B + 2r M_W, and never more than all micro-batches. */
static double memory_bound(const zb_problem *problem, int rank) { return zb_split_memory_bound(problem, rank, 2); }

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
