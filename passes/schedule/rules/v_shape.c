/* Positions and bounds of the V placement. Tests: test/passes/schedule/v_schedules_test.c. */
#include "passes/schedule/rules/v_shape.h"

int zb_v_position(const zb_problem *problem, int rank) {
  int position = 0;
  while (position < problem->ranks - 1 && problem->stage_rank[position] != rank)
    ++position;
  return position;
}

double zb_v_memory_bound(const zb_problem *problem, int rank, int chunk_activations) {
  const int stage = zb_v_position(problem, rank);
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
