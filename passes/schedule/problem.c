/* Problems that own their arrays. Tests: test/passes/schedule/problem_json_test.c. */
#include "passes/schedule/model.h"

zb_status zb_problem_data_init(zb_problem_data *data, int ranks, int chunks, int micro_batches) {
  *data = (zb_problem_data){0};
  if (chunks < 1) return ZB_ERROR(USAGE, "chunks: expected 1 or more, got %d", chunks);
  ZB_TRY(zb_check_size(ranks, (int64_t)ranks * chunks, micro_batches));
  const size_t stages = (size_t)ranks * (size_t)chunks;
  data->stage_rank = zb_alloc(stages * sizeof *data->stage_rank);
  data->costs = zb_alloc(stages * sizeof *data->costs);
  data->base_bytes = zb_alloc((size_t)ranks * sizeof *data->base_bytes);
  data->optimizer_ps = zb_alloc((size_t)ranks * sizeof *data->optimizer_ps);
  if (!data->stage_rank || !data->costs || !data->base_bytes || !data->optimizer_ps) {
    zb_problem_data_deinit(data);
    return ZB_OUT_OF_MEMORY();
  }
  data->problem = (zb_problem){.ranks = ranks,
                               .micro_batches = micro_batches,
                               .stages = (int)stages,
                               .stage_rank = data->stage_rank,
                               .costs = data->costs,
                               .base_bytes = data->base_bytes,
                               .optimizer_ps = data->optimizer_ps};
  zb_status status = zb_placement(chunks > 1 ? "looped" : "plain", ranks, chunks, data->stage_rank);
  if (status) zb_problem_data_deinit(data);
  return status;
}

void zb_problem_data_deinit(zb_problem_data *data) {
  zb_free(data->stage_rank);
  zb_free(data->costs);
  zb_free(data->edges);
  zb_free(data->base_bytes);
  zb_free(data->optimizer_ps);
  zb_free(data->rank_limit_bytes);
  *data = (zb_problem_data){0};
}

zb_status zb_problem_data_edges(zb_problem_data *data, int count) {
  if (count < 0) return ZB_ERROR(USAGE, "edges: expected 0 or more, got %d", count);
  zb_edge *edges = zb_alloc(((size_t)count + 1) * sizeof *edges);
  if (!edges) return ZB_OUT_OF_MEMORY();
  zb_free(data->edges);
  data->problem.edges = data->edges = edges;
  data->problem.edge_count = count;
  return NULL;
}

zb_status zb_problem_data_limits(zb_problem_data *data) {
  int64_t *limits = zb_alloc((size_t)data->problem.ranks * sizeof *limits);
  if (!limits) return ZB_OUT_OF_MEMORY();
  zb_free(data->rank_limit_bytes);
  data->problem.rank_limit_bytes = data->rank_limit_bytes = limits;
  return NULL;
}
