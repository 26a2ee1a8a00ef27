/* DualPipeV: DualPipe cut in half; every stage once, on the V placement.
 *
 * deepseek-ai/DualPipe, DualPipeV by Sea AI Lab (steps in dual_steps.c). Memory p+1/2 micro-batches, p+1 as published.
 * It is defined for m >= 2p; for fewer it is made for 2p, and all jobs of micro-batches that are not there are dropped:
 * what is left keeps its order, so it still ends. Tests: test/passes/schedule/v_schedules_test.c, charts/dualpipev.txt.
 */
#include "passes/schedule/rules/dual_steps.h"
#include "passes/schedule/rules/v_shape.h"

static zb_status emit(const zb_problem *problem, const int64_t *options, zb_order *out) {
  (void)options;
  const int p = problem->ranks;
  zb_emitter emitter;
  zb_emit_init(&emitter, problem, out);
  for (int position = 0; position < p; ++position) {
    zb_emit_rank(&emitter, problem->stage_rank[position]);
    const zb_dual_rank rank = {
        .half = p, .distance = position, .micro_batches = zb_max_int(problem->micro_batches, 2 * p), .early = 0};
    zb_dual_steps(&emitter, &rank);
  }
  return zb_emit_finish(&emitter);
}

static double memory_bound(const zb_problem *problem, int rank) {
  return zb_v_memory_bound(problem, rank, 2 * problem->ranks + 1);
}

const zb_schedule_def zb_schedule_dualpipev = {
    .name = "dualpipev",
    .summary = "forwards of one chunk beside backwards of the other, each stage once (DeepSeek-V3, arXiv 2412.19437; "
               "cut in half by Sea AI Lab); V placement",
    .placement = "v",
    .chunks_min = 2,
    .chunks_max = 2,
    .splits_backward = true,
    .emit = emit,
    .memory_bound = memory_bound,
};
