/* V-ZB: the block on the V placement that has no bubble at F = B = W, at the memory of 1F1B.
 *
 * Qi, Wan, Amar, Lin 2024, "Pipeline Parallelism with Controllable Memory", arXiv 2405.15362, section 3.2 and Tables 8
 * and 9: offsets 4 down and 2 up the ranks. Peak p micro-batches. Tests: test/passes/schedule/v_schedules_test.c,
 * charts/v_zb.txt.
 */
#include "passes/schedule/rules/v_block.h"

static zb_status emit(const zb_problem *problem, const int64_t *options, zb_order *out) {
  (void)options;
  const zb_v_legs legs = {.f0 = 4, .turn_f = 1, .f1 = 2, .back = 1, .b1 = 4, .turn_b = 1, .b0 = 2};
  return zb_v_block_emit(&legs, &(zb_v_rules){.keep_w = ZB_V_F0, .w_first = true}, problem, out);
}

static double memory_bound(const zb_problem *problem, int rank) {
  return zb_v_memory_bound(problem, rank, 2 * (problem->ranks));
}

const zb_schedule_def zb_schedule_v_zb = {
    .name = "v-zb",
    .summary =
        "no stage bubble at F = B = W, by the block with offsets 4 and 2 (controllable memory, arXiv 2405.15362, "
        "section 3.2); V placement",
    .placement = "v",
    .chunks_min = 2,
    .chunks_max = 2,
    .splits_backward = true,
    .emit = emit,
    .memory_bound = memory_bound,
};
