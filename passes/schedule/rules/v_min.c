/* V-Min: the least memory that a block on the V placement can have, about a third of that of 1F1B.
 *
 * Qi, Wan, Amar, Lin 2024, "Pipeline Parallelism with Controllable Memory", arXiv 2405.15362, section 3.2 and Tables 8
 * and 9: offsets 1 everywhere; F1 and B1 of the first rank stand 3 apart where p is a multiple of 3, for passes must
 * not meet. Peak floor((p+4)/3) micro-batches. Made for F = B = W: elsewhere the repeated block has bubbles. Tests:
 * test/passes/schedule/v_schedules_test.c, charts/v_min.txt.
 */
#include "passes/schedule/rules/v_block.h"

zb_status zb_v_min_emit(const zb_problem *problem, zb_order *out) {
  const zb_v_legs legs = {
      .f0 = 1, .turn_f = 1, .f1 = 1, .back = problem->ranks % 3 ? 1 : 3, .b1 = 1, .turn_b = 1, .b0 = 1};
  return zb_v_block_emit(&legs, &(zb_v_rules){.keep_w = ZB_V_F0, .reserve = true}, problem, out);
}

static zb_status emit(const zb_problem *problem, const int64_t *options, zb_order *out) {
  (void)options;
  return zb_v_min_emit(problem, out);
}

static double memory_bound(const zb_problem *problem, int rank) {
  return zb_v_memory_bound(problem, rank, 2 * ((problem->ranks + 4) / 3));
}

const zb_schedule_def zb_schedule_v_min = {
    .name = "v-min",
    .summary = "a third of the memory of 1F1B, two thirds of its bubble at F = B = W (controllable memory, arXiv "
               "2405.15362, section 3.2); V placement",
    .placement = "v",
    .chunks_min = 2,
    .chunks_max = 2,
    .splits_backward = true,
    .emit = emit,
    .memory_bound = memory_bound,
};
