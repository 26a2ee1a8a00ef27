/* Interleaved zero bubble: interleaved 1F1B with half the warm-up and the backward split; rank r holds back r W jobs.
 *
 * PyTorch's ScheduleInterleavedZeroBubble (torch.distributed.pipelining), after Qi, Wan, Huang, Lin 2024, arXiv
 * 2401.10241. With R = max(1, m div p) rounds, chunks take turns with groups of m/R micro-batches; PyTorch defines it
 * where R divides m. Elsewhere the first m mod R groups here have one more, so that none is smaller than p; the warm-up
 * goes by the largest. One chunk: ZB-H1. The bubble is (p-1)(F+B-W)/v where p divides m, the memory p micro-batches
 * then.
 *
 * It ends for the reason in interleaved_1f1b.c, with times r + 2i for forwards: groups of more than (p-1)/2 are enough.
 * Tests: test/passes/schedule/looped_test.c, schedules_test.c.
 */
#include <limits.h>

#include "passes/schedule/emit.h"

static int64_t warmup(const zb_problem *problem, const zb_turns *turns, int position) {
  const int chunks = problem->stages / problem->ranks;
  return (int64_t)(chunks - 1) * turns->size + problem->ranks - 1 - position;
}

static zb_status emit(const zb_problem *problem, const int64_t *options, zb_order *out) {
  (void)options;
  const zb_turns turns = zb_turns_even(problem->micro_batches, problem->ranks);
  zb_emitter emitter;
  zb_emit_init(&emitter, problem, out);
  const int chunks = problem->stages / problem->ranks, total = problem->micro_batches * chunks;
  for (int position = 0; position < problem->ranks; ++position) {
    zb_emit_rank(&emitter, problem->stage_rank[position]);
    int forward = 0;
    while (forward < total && forward < warmup(problem, &turns, position))
      zb_emit(&emitter, zb_turn(&turns, chunks, forward++), ZB_F);
    for (int backward = 0; backward < total; ++backward) {
      if (forward < total) zb_emit(&emitter, zb_turn(&turns, chunks, forward++), ZB_F);
      zb_emit(&emitter, chunks - 1 - zb_turn(&turns, chunks, backward), ZB_B);
      if (backward >= position) zb_emit_oldest_w(&emitter);
    }
    zb_emit_rest_w(&emitter);
  }
  return zb_emit_finish(&emitter);
}

/* The warm-up and one more in M_B, and r held back in M_W; a chunk is the v-th part of a micro-batch. */
static double memory_bound(const zb_problem *problem, int rank) {
  const zb_turns turns = zb_turns_even(problem->micro_batches, problem->ranks);
  const int position = zb_rank_position(problem, rank), chunks = problem->stages / problem->ranks;
  const int64_t after_f = zb_memory_after_f(problem, rank), after_b = zb_memory_after_b(problem, rank);
  if (after_f <= 0) return -1; /* no unit to state it in */
  const double ratio = (double)after_b / (double)after_f;
  const double bound = ((double)warmup(problem, &turns, position) + 1 + position * ratio) / chunks;
  const double all = problem->micro_batches * (ratio > 1 ? ratio : 1);
  return bound < all ? bound : all;
}

const zb_schedule_def zb_schedule_interleaved_zb = {
    .name = "interleaved-zb",
    .summary = "interleaved 1F1B with the backward split, at less memory (PyTorch's InterleavedZeroBubble); one chunk: "
               "zb-h1",
    .placement = "looped",
    .chunks_min = 1,
    .chunks_max = INT_MAX,
    .splits_backward = true,
    .emit = emit,
    .memory_bound = memory_bound,
};
