/* V-Half: half the memory of 1F1B on the V placement, and no bubble within the repeated block for many real times.
 *
 * Qi, Wan, Amar, Lin 2024, "Pipeline Parallelism with Controllable Memory", arXiv 2405.15362, section 3.2 and Tables 8
 * and 9: offsets 2 down and 1 up the ranks; F1 and B1 of the first rank stand 4 apart where p is even, for passes must
 * not meet. Peak floor((p+2)/2) micro-batches. Tests: test/passes/schedule/v_schedules_test.c, charts/v_half.txt.
 */
#include "passes/schedule/rules/v_block.h"

static zb_status emit(const zb_problem *problem, const int64_t *options, zb_order *out) {
  (void)options;
  const zb_v_legs legs = {
      .f0 = 2, .turn_f = 1, .f1 = 1, .back = problem->ranks % 2 ? 1 : 4, .b1 = 2, .turn_b = 2, .b0 = 1};
  return zb_v_block_emit(&legs, &(zb_v_rules){.keep_w = ZB_V_F0}, problem, out);
}

static double memory_bound(const zb_problem *problem, int rank) {
  return zb_v_memory_bound(problem, rank, 2 * ((problem->ranks + 2) / 2));
}

const zb_schedule_def zb_schedule_v_half = {
    .name = "v-half",
    .summary = "half the memory of 1F1B, half its bubble at F = B = W (controllable memory, arXiv 2405.15362, section "
               "3.2); V placement",
    .placement = "v",
    .chunks_min = 2,
    .chunks_max = 2,
    .splits_backward = true,
    .emit = emit,
    .memory_bound = memory_bound,
};
