/* The cursor that schedule files emit with, and bounds that papers state. Tests:
 * test/passes/schedule/schedules_test.c, v_schedules_test.c. */
#include "passes/schedule/rules/emit.h"

#include <string.h>

static zb_status init(zb_emitter *emitter, const zb_problem *problem, zb_order *order) {
  *emitter = (zb_emitter){
      .problem = problem, .order = order, .ranks = problem->ranks, .micro_batches = problem->micro_batches};
  emitter->chunks = problem->stages / problem->ranks;
  ZB_TAKE(&emitter->arena, emitter->stage_of_chunk, problem->stages);
  ZB_TAKE(&emitter->arena, emitter->next, problem->ranks + emitter->chunks * ZB_KIND_COUNT);
  ZB_TAKE(&emitter->arena, emitter->pending, emitter->chunks * problem->micro_batches);
  ZB_TRY(zb_arena_status(&emitter->arena));
  int *filled = emitter->next; /* borrowed until the first rank starts */
  for (int stage = 0; stage < problem->stages; ++stage) {
    const int rank = problem->stage_rank[stage];
    emitter->stage_of_chunk[rank * emitter->chunks + filled[rank]++] = stage;
  }
  return NULL;
}

zb_status zb_emit_all(const zb_problem *problem, zb_emit_position emit, const void *how, zb_order *out) {
  zb_emitter emitter;
  emitter.status = init(&emitter, problem, out);
  int position = 0;
  for (int stage = 0; stage < problem->stages && !emitter.status; ++stage) {
    emitter.rank = problem->stage_rank[stage];
    if (emitter.stage_of_chunk[emitter.rank * emitter.chunks] != stage) continue; /* the rank had its turn */
    memset(emitter.next, 0, (size_t)emitter.chunks * ZB_KIND_COUNT * sizeof(int));
    emitter.pending_begin = emitter.pending_end = 0;
    emit(&emitter, position++, how);
  }
  zb_arena_deinit(&emitter.arena);
  return emitter.status;
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

static int64_t memory_after(const zb_problem *problem, int rank, zb_kind last) {
  int64_t bytes = 0;
  for (int stage = 0; stage < problem->stages; ++stage)
    if (problem->stage_rank[stage] == rank) bytes += zb_held_after(&problem->costs[stage], last);
  return bytes;
}

int64_t zb_memory_after_f(const zb_problem *problem, int rank) { return memory_after(problem, rank, ZB_F); }
int64_t zb_memory_after_b(const zb_problem *problem, int rank) { return memory_after(problem, rank, ZB_B); }

double zb_v_memory_bound(const zb_problem *problem, int rank, int chunk_activations) {
  const int stage = zb_rank_position(problem, rank);
  const zb_stage_cost *chunks[2] = {&problem->costs[stage], &problem->costs[problem->stages - 1 - stage]};
  const int64_t unit = zb_memory_after_f(problem, rank);
  if (unit <= 0) return -1; /* no unit to state it in */
  /* A chunk is held from its F to its W; while B or W runs it may be larger than after F. */
  int64_t held[2];
  for (int chunk = 0; chunk < 2; ++chunk) {
    const zb_stage_cost *cost = chunks[chunk];
    int64_t live = 0;
    held[chunk] = 0;
    for (int kind = 0; kind < ZB_KIND_COUNT; ++kind) {
      live += cost->keep_bytes[kind];
      if (live > held[chunk]) held[chunk] = live;
      live -= cost->free_bytes[kind];
    }
  }
  const int64_t larger = held[0] > held[1] ? held[0] : held[1];
  const double bound = (double)chunk_activations * (double)larger / (double)unit;
  const double all = (double)problem->micro_batches * (double)(held[0] + held[1]) / (double)unit;
  return bound < all ? bound : all;
}

double zb_held_memory_bound(const zb_problem *problem, int rank, double forwards, double held_w, int chunks) {
  const int64_t after_f = zb_memory_after_f(problem, rank), after_b = zb_memory_after_b(problem, rank);
  if (after_f <= 0) return -1; /* no unit to state it in */
  const double ratio = (double)after_b / (double)after_f, bound = (forwards + held_w * ratio) / chunks;
  const double all = problem->micro_batches * (ratio > 1 ? ratio : 1);
  return bound < all ? bound : all;
}

double zb_no_memory_bound(const zb_problem *problem ZB_UNUSED, int rank ZB_UNUSED) { return -1; }
