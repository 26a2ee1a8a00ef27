/* Problems that own their arrays. Tests: test/passes/schedule/problem_json_test.c. */
#include <string.h>

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

static zb_status copy_arrays(zb_problem_data *data, const zb_problem *from) {
  const size_t stages = (size_t)from->stages, ranks = (size_t)from->ranks;
  memcpy(data->stage_rank, from->stage_rank, stages * sizeof *from->stage_rank);
  memcpy(data->costs, from->costs, stages * sizeof *from->costs);
  if (from->base_bytes) memcpy(data->base_bytes, from->base_bytes, ranks * sizeof *from->base_bytes);
  if (from->optimizer_ps) memcpy(data->optimizer_ps, from->optimizer_ps, ranks * sizeof *from->optimizer_ps);
  if (from->edges) {
    ZB_TRY(zb_problem_data_edges(data, from->edge_count));
    memcpy(data->edges, from->edges, (size_t)from->edge_count * sizeof *from->edges);
  }
  if (from->rank_limit_bytes) {
    ZB_TRY(zb_problem_data_limits(data));
    memcpy(data->rank_limit_bytes, from->rank_limit_bytes, ranks * sizeof *from->rank_limit_bytes);
  }
  return NULL;
}

zb_status zb_problem_data_copy(zb_problem_data *data, const zb_problem *problem) {
  *data = (zb_problem_data){0};
  ZB_TRY(zb_problem_check(problem));
  ZB_TRY(zb_problem_data_init(data, problem->ranks, problem->stages / problem->ranks, problem->micro_batches));
  zb_status status = copy_arrays(data, problem);
  zb_problem copy = *problem; /* numbers as they are, pointers to what is owned */
  copy.stage_rank = data->stage_rank;
  copy.costs = data->costs;
  copy.edges = data->edges;
  copy.base_bytes = data->base_bytes;
  copy.optimizer_ps = data->optimizer_ps;
  copy.rank_limit_bytes = data->rank_limit_bytes;
  data->problem = copy;
  if (status) zb_problem_data_deinit(data);
  return status;
}
