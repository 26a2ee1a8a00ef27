/* 1F1B: as many forwards as there are stages from here to the end, then one backward, one forward, alternately.
 *
 * PipeDream-Flush, Narayanan et al. 2021, arXiv 2006.09503, section 3.2; Megatron-LM, arXiv 2104.04473, section 2.2.1.
 * Bubble (p-1)(F+B+W), memory p-r micro-batches on the rank of stage r. Tests: test/passes/schedule/schedules_test.c,
 * charts/1f1b*.txt.
 */
#include "passes/schedule/emit.h"

static int warmup(const zb_problem *problem, int stage) {
  return zb_min_int(problem->stages - stage, problem->micro_batches);
}

static zb_status emit(const zb_problem *problem, const int64_t *options, zb_order *out) {
  (void)options;
  zb_emitter emitter;
  zb_emit_init(&emitter, problem, out);
  for (int stage = 0; stage < problem->stages; ++stage) {
    zb_emit_rank(&emitter, problem->stage_rank[stage]);
    for (int i = 0; i < warmup(problem, stage); ++i)
      zb_emit(&emitter, 0, ZB_F);
    while (zb_emit_left(&emitter, 0, ZB_B)) {
      zb_emit_backward(&emitter, 0);
      zb_emit(&emitter, 0, ZB_F);
    }
  }
  return zb_emit_finish(&emitter);
}

static double memory_bound(const zb_problem *problem, int rank) {
  return warmup(problem, zb_rank_position(problem, rank));
}

const zb_schedule_def zb_schedule_1f1b = {
    .name = "1f1b",
    .summary = "one forward, one backward after a short warm-up (PipeDream-Flush, arXiv 2006.09503, section 3.2); one "
               "chunk a rank",
    .placement = "plain",
    .chunks_min = 1,
    .chunks_max = 1,
    .splits_backward = false,
    .emit = emit,
    .memory_bound = memory_bound,
};
