/* V-Min, V-Half and V-ZB: building blocks of the V placement with fixed offsets.
 *
 * Qi, Wan, Amar, Lin 2024, "Pipeline Parallelism with Controllable Memory", arXiv 2405.15362, section 3.2 and Tables 8
 * and 9. Made for F = B = W: elsewhere the repeated block of V-Min has bubbles, that of V-Half for some times.
 *
 * V-Min has the least memory that a block on the V placement can have, about a third of that of 1F1B: offsets 1
 * everywhere; F1 and B1 of the first rank stand 3 apart where p is a multiple of 3, for passes must not meet. Peak
 * floor((p+4)/3) micro-batches.
 *
 * V-Half has half the memory of 1F1B, and no bubble within the repeated block for many real times: offsets 2 down and 1
 * up the ranks; F1 and B1 of the first rank stand 4 apart where p is even. Peak floor((p+2)/2) micro-batches.
 *
 * V-ZB has no bubble at F = B = W, at the memory of 1F1B: offsets 4 down and 2 up the ranks. Peak p micro-batches.
 *
 * Tests: test/passes/schedule/v_schedules_test.c, charts/v_*.txt.
 */
#include "passes/schedule/rules/v_block.h"

zb_status zb_v_min_emit(const zb_problem *problem, zb_order *out) {
  const zb_v_legs legs = {
      .f0 = 1, .turn_f = 1, .f1 = 1, .back = problem->ranks % 3 ? 1 : 3, .b1 = 1, .turn_b = 1, .b0 = 1};
  return zb_v_block_emit(&legs, &(zb_v_rules){.keep_w = ZB_V_F0, .reserve = true}, problem, out);
}

static zb_status v_half_emit(const zb_problem *problem, zb_order *out) {
  const zb_v_legs legs = {
      .f0 = 2, .turn_f = 1, .f1 = 1, .back = problem->ranks % 2 ? 1 : 4, .b1 = 2, .turn_b = 2, .b0 = 1};
  return zb_v_block_emit(&legs, &(zb_v_rules){.keep_w = ZB_V_F0}, problem, out);
}

static zb_status v_zb_emit(const zb_problem *problem, zb_order *out) {
  const zb_v_legs legs = {.f0 = 4, .turn_f = 1, .f1 = 2, .back = 1, .b1 = 4, .turn_b = 1, .b0 = 2};
  return zb_v_block_emit(&legs, &(zb_v_rules){.keep_w = ZB_V_F0, .w_first = true}, problem, out);
}

/* A row: its emit, and the peak in micro-batches on p ranks. */
#define ROW(c_name, row_name, row_emit, peak, text)                                                                    \
  static zb_status emit_##c_name(const zb_problem *problem, const int64_t *options, zb_order *out) {                   \
    (void)options;                                                                                                     \
    return row_emit(problem, out);                                                                                     \
  }                                                                                                                    \
  static double bound_##c_name(const zb_problem *problem, int rank) {                                                  \
    const int p = problem->ranks;                                                                                      \
    return zb_v_memory_bound(problem, rank, 2 * (peak));                                                               \
  }                                                                                                                    \
  const zb_schedule_def zb_schedule_##c_name = {                                                                       \
      .name = row_name,                                                                                                \
      .summary = text,                                                                                                 \
      ZB_PLACED_V,                                                                                                     \
      .splits_backward = true,                                                                                         \
      .emit = emit_##c_name,                                                                                           \
      .memory_bound = bound_##c_name,                                                                                  \
  }

ROW(v_min, "v-min", zb_v_min_emit, (p + 4) / 3,
    "a third of the memory of 1F1B, two thirds of its bubble at F = B = W (controllable memory, arXiv 2405.15362, "
    "section 3.2); V placement");
ROW(v_half, "v-half", v_half_emit, (p + 2) / 2,
    "half the memory of 1F1B, half its bubble at F = B = W (controllable memory, arXiv 2405.15362, section 3.2); V "
    "placement");
ROW(v_zb, "v-zb", v_zb_emit, p,
    "no stage bubble at F = B = W, by the block with offsets 4 and 2 (controllable memory, arXiv 2405.15362, section "
    "3.2); V placement");
