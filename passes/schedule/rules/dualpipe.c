/* DualPipe: two pipelines in opposite directions over the same ranks, every stage on two of them.
 *
 * DeepSeek-AI 2024, "DeepSeek-V3 Technical Report", arXiv 2412.19437, section 3.2.1, and deepseek-ai/DualPipe (steps in
 * dual_steps.c). Stages 0..P-1 go down the ranks and P..2P-1, their copies, up: the V placement without the edge
 * P-1 -> P. micro_batches is the number of one direction, half of the published m. It is defined for even P and P or
 * more of them; for fewer it is made for P, and all jobs of micro-batches that are not there are dropped: what is left
 * keeps its order, so it still ends. Tests: test/passes/schedule/v_schedules_test.c, charts/dualpipe.txt.
 */
#include "passes/schedule/rules/dual_steps.h"
#include "passes/schedule/rules/v_shape.h"

/* No value goes from one pipeline to the other. */
static zb_status check_edges(const zb_problem *problem) {
  const int p = problem->ranks;
  for (int i = 0; i < (problem->edges ? problem->edge_count : 1); ++i) {
    const zb_edge edge = problem->edges ? problem->edges[i] : (zb_edge){p - 1, p, 0, 0};
    if (edge.source >= p || edge.destination < p) continue;
    return zb_status_hint(ZB_ERROR(USAGE,
                                   "dualpipe runs two pipelines, stages 0..%d and %d..%d: expected no edge between "
                                   "them, got %d -> %d",
                                   p - 1, p, 2 * p - 1, edge.source, edge.destination),
                          "list the edges of two chains; or use dualpipev, which runs one pipeline on the same ranks");
  }
  return NULL;
}

static zb_status emit(const zb_problem *problem, const int64_t *options, zb_order *out) {
  (void)options;
  const int p = problem->ranks;
  if (p % 2)
    return zb_status_hint(ZB_ERROR(USAGE, "dualpipe is defined for an even number of ranks, got %d", p),
                          "use %d or %d ranks, or dualpipev", p + 1, p > 1 ? p - 1 : 2);
  ZB_TRY(check_edges(problem));
  zb_emitter emitter;
  zb_emit_init(&emitter, problem, out);
  for (int position = 0; position < p; ++position) {
    zb_emit_rank(&emitter, problem->stage_rank[position]);
    const zb_dual_rank rank = {.half = p / 2,
                               .distance = zb_min_int(position, p - 1 - position),
                               .micro_batches = zb_max_int(problem->micro_batches, p),
                               .early = position >= p / 2};
    zb_dual_steps(&emitter, &rank);
  }
  return zb_emit_finish(&emitter);
}

/* P+1 micro-batches. A micro-batch passes one pipeline, and keeps one of the two chunks of this rank: that is its unit.
 */
static double memory_bound(const zb_problem *problem, int rank) {
  return 2 * zb_v_memory_bound(problem, rank, problem->ranks + 1);
}

const zb_schedule_def zb_schedule_dualpipe = {
    .name = "dualpipe",
    .summary = "two pipelines in opposite directions, every stage on two ranks (DeepSeek-V3, arXiv 2412.19437, section "
               "3.2.1); an even number of ranks; simulated, not trained",
    .placement = "v",
    .chunks_min = 2,
    .chunks_max = 2,
    .splits_backward = true,
    .two_pipelines = true,
    .emit = emit,
    .memory_bound = memory_bound,
};
