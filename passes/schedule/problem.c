/* Problems that own their arrays. Tests: test/passes/schedule/problem_json_test.c. */
#include <string.h>

#include "passes/schedule/model.h"

/* The arrays that a problem may be without, and what has one entry a stage or a rank. */
#define OPTIONAL_ARRAYS(ROW)                                                                                           \
  ROW(edges, zb_edge, edge_count)                                                                                      \
  ROW(link_classes, zb_link_class, link_class_count)                                                                   \
  ROW(channels, zb_channel, channel_count)                                                                             \
  ROW(reductions, zb_reduction, reduction_count)
#define FIXED_ARRAYS(ROW) ROW(stage_rank, stages) ROW(costs, stages) ROW(base_bytes, ranks) ROW(optimizer_ps, ranks)

zb_status zb_problem_data_init(zb_problem_data *data, int ranks, int chunks, int micro_batches) {
  *data = (zb_problem_data){0};
  if (chunks < 1) return ZB_ERROR(USAGE, "chunks: expected 1 or more, got %d", chunks);
  ZB_TRY(zb_check_size(ranks, (int64_t)ranks * chunks, micro_batches));
  zb_problem *p = &data->problem;
  *p = (zb_problem){.ranks = ranks, .micro_batches = micro_batches, .stages = ranks * chunks};
  zb_arena *arena = data->memory = zb_alloc(sizeof *arena);
  zb_status status = NULL;
  if (!arena) return ZB_OUT_OF_MEMORY();
#define TAKE(name, count) p->name = ZB_TAKE(arena, data->name, p->count);
  FIXED_ARRAYS(TAKE)
#undef TAKE
  ZB_TRY_GOTO(zb_arena_status(arena));
  ZB_TRY_GOTO(zb_placement(chunks > 1 ? "looped" : "plain", ranks, chunks, data->stage_rank));
cleanup:
  if (status) zb_problem_data_deinit(data);
  return status;
}

void zb_problem_data_deinit(zb_problem_data *data) {
  if (data->memory) zb_arena_deinit(data->memory);
  zb_free(data->memory);
  *data = (zb_problem_data){0};
}

#define MAKE(name, type, entries)                                                                                      \
  zb_status zb_problem_data_##name(zb_problem_data *data, int count) {                                                 \
    if (count < 0) return ZB_ERROR(USAGE, #name ": expected 0 or more, got %d", count);                                \
    type *made = ZB_NEW(data->memory, type, count);                                                                    \
    if (!made) return ZB_OUT_OF_MEMORY();                                                                              \
    data->problem.name = data->name = made;                                                                            \
    data->problem.entries = count;                                                                                     \
    return NULL;                                                                                                       \
  }
OPTIONAL_ARRAYS(MAKE)
#undef MAKE

zb_status zb_problem_data_limits(zb_problem_data *data) {
  int64_t *limits = ZB_NEW(data->memory, int64_t, data->problem.ranks);
  if (!limits) return ZB_OUT_OF_MEMORY();
  data->problem.rank_limit_bytes = data->rank_limit_bytes = limits;
  return NULL;
}

static zb_status copy_arrays(zb_problem_data *data, const zb_problem *from) {
#define COPY(name, count)                                                                                              \
  if (from->name) memcpy(data->name, from->name, (size_t)from->count * sizeof *from->name);
#define COPY_OPTIONAL(name, type, count)                                                                               \
  if (from->name) ZB_TRY(zb_problem_data_##name(data, from->count));                                                   \
  COPY(name, count)
  FIXED_ARRAYS(COPY)
  OPTIONAL_ARRAYS(COPY_OPTIONAL)
  if (from->rank_limit_bytes) ZB_TRY(zb_problem_data_limits(data));
  COPY(rank_limit_bytes, ranks)
#undef COPY_OPTIONAL
#undef COPY
  return NULL;
}

zb_status zb_problem_data_copy(zb_problem_data *data, const zb_problem *problem) {
  *data = (zb_problem_data){0};
  ZB_TRY(zb_problem_check(problem));
  ZB_TRY(zb_problem_data_init(data, problem->ranks, problem->stages / problem->ranks, problem->micro_batches));
  zb_status status = copy_arrays(data, problem);
  zb_problem copy = *problem; /* numbers as they are, pointers to what is owned */
#define OWN(name, ...) copy.name = data->name;
  FIXED_ARRAYS(OWN)
  OPTIONAL_ARRAYS(OWN)
#undef OWN
  copy.rank_limit_bytes = data->rank_limit_bytes;
  data->problem = copy;
  if (status) zb_problem_data_deinit(data);
  return status;
}
