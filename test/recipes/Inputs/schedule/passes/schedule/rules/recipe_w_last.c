/* All forwards, then all backwards, and last all W: what the recipe of a schedule makes. */
#include "passes/schedule/rules/emit.h"

static void emit_position(zb_emitter *e, int position, const void *how) {
  (void)position;
  (void)how;
  while (zb_emit_left(e, 0, ZB_F))
    zb_emit(e, 0, ZB_F);
  while (zb_emit_left(e, 0, ZB_B))
    zb_emit(e, 0, ZB_B);
  zb_emit_rest_w(e);
}

static zb_status emit(const zb_problem *problem, const int64_t *options, zb_order *out) {
  (void)options;
  return zb_emit_all(problem, emit_position, NULL, out);
}

static double memory_bound(const zb_problem *problem, int rank) {
  (void)rank;
  return problem->micro_batches;
}

const zb_schedule_def zb_schedule_recipe_w_last = {
    .name = "recipe-w-last",
    .summary = "all F, all B, all W: what the recipe of a schedule makes",
    ZB_PLACED_PLAIN,
    .splits_backward = true,
    .emit = emit,
    .memory_bound = memory_bound,
};
