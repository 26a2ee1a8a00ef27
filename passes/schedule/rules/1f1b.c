/* 1F1B: as many forwards as there are stages from here to the end, then one backward, one forward, alternately.
 *
 * PipeDream-Flush, Narayanan et al. 2021, arXiv 2006.09503, section 3.2; Megatron-LM, arXiv 2104.04473, section 2.2.1.
 * Bubble (p-1)(F+B+W), memory p-r micro-batches on the rank of stage r. Tests: test/passes/schedule/schedules_test.c,
 * charts/1f1b*.txt.
 */
#include "passes/schedule/emit.h"

static zb_status emit(const zb_problem *problem, const int64_t *options, zb_order *out) {
  (void)options;
  return zb_emit_one_by_one(problem, 1, false, out);
}

static double memory_bound(const zb_problem *problem, int rank) {
  return zb_min_int(zb_warmup(problem, zb_rank_position(problem, rank), 1), problem->micro_batches);
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
