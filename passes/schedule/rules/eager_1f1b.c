/* Eager 1F1B: 1F1B with nearly twice the forwards first, so that a message has a whole job's time to arrive.
 *
 * PaddlePaddle, pass pipeline_scheduler_pass "Eager1F1B": warm-up of 2(p-r)-1 forwards, defined for micro_batches >=
 * that; where there are fewer, all forwards come first. Equal to interleaved 1F1B with one chunk. Bubble (p-1)(F+B+W),
 * memory 2(p-r)-1 micro-batches. Tests: test/passes/schedule/looped_test.c, schedules_test.c.
 */
#include "passes/schedule/emit.h"

static zb_status emit(const zb_problem *problem, const int64_t *options, zb_order *out) {
  (void)options;
  return zb_emit_one_by_one(problem, 2, false, out);
}

static double memory_bound(const zb_problem *problem, int rank) {
  return zb_min_int(zb_warmup(problem, zb_rank_position(problem, rank), 2), problem->micro_batches);
}

const zb_schedule_def zb_schedule_eager_1f1b = {
    .name = "eager-1f1b",
    .summary = "1F1B with 2(p-r)-1 forwards first, which hides messages (PaddlePaddle's Eager1F1B); one chunk a rank",
    .placement = "plain",
    .chunks_min = 1,
    .chunks_max = 1,
    .splits_backward = false,
    .emit = emit,
    .memory_bound = memory_bound,
};
