/* The cursor that schedule files emit with. Tests: test/passes/schedule/schedules_test.c. */
#include "passes/schedule/emit.h"

#include <string.h>

void zb_emit_init(zb_emitter *emitter, const zb_problem *problem, zb_order *order) {
  *emitter = (zb_emitter){
      .problem = problem, .order = order, .ranks = problem->ranks, .micro_batches = problem->micro_batches};
  emitter->chunks = problem->stages / problem->ranks;
  const size_t chunks = (size_t)emitter->chunks;
  emitter->stage_of_chunk = zb_alloc((size_t)problem->stages * sizeof(int));
  emitter->next = zb_alloc(((size_t)problem->ranks + chunks * ZB_KIND_COUNT) * sizeof(int));
  emitter->pending = zb_alloc(chunks * (size_t)problem->micro_batches * sizeof(int));
  if (!emitter->stage_of_chunk || !emitter->next || !emitter->pending) {
    emitter->status = ZB_OUT_OF_MEMORY();
    return;
  }
  int *filled = emitter->next; /* borrowed until the first rank starts */
  for (int stage = 0; stage < problem->stages; ++stage) {
    const int rank = problem->stage_rank[stage];
    emitter->stage_of_chunk[rank * emitter->chunks + filled[rank]++] = stage;
  }
  zb_emit_rank(emitter, 0);
}

void zb_emit_rank(zb_emitter *emitter, int rank) {
  if (emitter->status) return;
  emitter->rank = rank;
  memset(emitter->next, 0, (size_t)emitter->chunks * ZB_KIND_COUNT * sizeof(int));
  emitter->pending_begin = emitter->pending_end = 0;
}

void zb_emit(zb_emitter *emitter, int chunk, zb_kind kind) {
  if (emitter->status || zb_emit_left(emitter, chunk, kind) == 0) return;
  const int micro_batch = emitter->next[chunk * ZB_KIND_COUNT + (int)kind]++;
  const int stage = emitter->stage_of_chunk[emitter->rank * emitter->chunks + chunk];
  if (kind == ZB_B) emitter->pending[emitter->pending_end++] = chunk;
  emitter->status = zb_order_add(emitter->order, emitter->rank, stage, kind, micro_batch);
}

void zb_emit_backward(zb_emitter *emitter, int chunk) {
  if (emitter->status || zb_emit_left(emitter, chunk, ZB_B) == 0) return;
  zb_emit(emitter, chunk, ZB_B);
  zb_emit_oldest_w(emitter);
}

void zb_emit_oldest_w(zb_emitter *emitter) {
  if (emitter->status || emitter->pending_begin == emitter->pending_end) return;
  zb_emit(emitter, emitter->pending[emitter->pending_begin++], ZB_W);
}

void zb_emit_rest_w(zb_emitter *emitter) {
  while (!emitter->status && emitter->pending_begin < emitter->pending_end)
    zb_emit_oldest_w(emitter);
}

int zb_emit_left(const zb_emitter *emitter, int chunk, zb_kind kind) {
  return emitter->status ? 0 : emitter->micro_batches - emitter->next[chunk * ZB_KIND_COUNT + (int)kind];
}

zb_status zb_emit_finish(zb_emitter *emitter) {
  zb_free(emitter->stage_of_chunk);
  zb_free(emitter->next);
  zb_free(emitter->pending);
  zb_status status = emitter->status;
  *emitter = (zb_emitter){0};
  return status;
}

zb_turns zb_turns_of_size(int micro_batches, int size) {
  return (zb_turns){.size = size, .large = micro_batches / size, .rest = micro_batches % size};
}

zb_turns zb_turns_even(int micro_batches, int ranks) {
  const int rounds = zb_max_int(1, micro_batches / ranks), size = micro_batches / rounds, more = micro_batches % rounds;
  if (!more) return zb_turns_of_size(micro_batches, size);
  return (zb_turns){.size = size + 1, .large = more, .rest = size};
}

int zb_turn(const zb_turns *turns, int chunks, int step) {
  const int64_t large = (int64_t)turns->large * turns->size * chunks;
  if (step < large) return step / turns->size % chunks;
  return (int)(step - large) / turns->rest % chunks;
}

int zb_rank_position(const zb_problem *problem, int rank) {
  int stage = 0;
  while (problem->stage_rank[stage] != rank)
    ++stage;
  return stage;
}

zb_status zb_emit_breadth_first(const zb_problem *problem, zb_order *out) {
  zb_emitter emitter;
  zb_emit_init(&emitter, problem, out);
  for (int rank = 0; rank < problem->ranks; ++rank) {
    zb_emit_rank(&emitter, rank);
    for (int chunk = 0; chunk < emitter.chunks; ++chunk)
      while (zb_emit_left(&emitter, chunk, ZB_F))
        zb_emit(&emitter, chunk, ZB_F);
    for (int chunk = emitter.chunks - 1; chunk >= 0; --chunk)
      while (zb_emit_left(&emitter, chunk, ZB_B))
        zb_emit_backward(&emitter, chunk);
  }
  return zb_emit_finish(&emitter);
}

zb_status zb_emit_one_by_one(const zb_problem *problem, int depth, bool split, zb_order *out) {
  zb_emitter emitter;
  zb_emit_init(&emitter, problem, out);
  for (int stage = 0; stage < problem->stages; ++stage) {
    zb_emit_rank(&emitter, problem->stage_rank[stage]);
    for (int i = 0; i < zb_warmup(problem, stage, depth); ++i)
      zb_emit(&emitter, 0, ZB_F);
    for (int b = 0; b < problem->micro_batches; ++b) {
      zb_emit(&emitter, 0, ZB_B);
      if (!split || b >= depth * stage) zb_emit_oldest_w(&emitter);
      zb_emit(&emitter, 0, ZB_F);
    }
    zb_emit_rest_w(&emitter);
  }
  return zb_emit_finish(&emitter);
}

double zb_split_memory_bound(const zb_problem *problem, int rank, int depth) {
  const int stage = zb_rank_position(problem, rank);
  const int64_t after_f = zb_memory_after_f(problem, rank), after_b = zb_memory_after_b(problem, rank);
  if (after_f <= 0) return -1; /* no unit to state it in */
  const double ratio = (double)after_b / (double)after_f;
  const double bound = zb_warmup(problem, stage, depth) + depth * stage * ratio;
  const double all = problem->micro_batches * (ratio > 1 ? ratio : 1);
  return bound < all ? bound : all;
}

int64_t zb_memory_after_f(const zb_problem *problem, int rank) {
  int64_t bytes = 0;
  for (int stage = 0; stage < problem->stages; ++stage)
    if (problem->stage_rank[stage] == rank)
      bytes += problem->costs[stage].keep_bytes[ZB_F] - problem->costs[stage].free_bytes[ZB_F];
  return bytes;
}

int64_t zb_memory_after_b(const zb_problem *problem, int rank) {
  int64_t bytes = zb_memory_after_f(problem, rank);
  for (int stage = 0; stage < problem->stages; ++stage)
    if (problem->stage_rank[stage] == rank)
      bytes += problem->costs[stage].keep_bytes[ZB_B] - problem->costs[stage].free_bytes[ZB_B];
  return bytes;
}
