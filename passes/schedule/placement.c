/* Placements: which rank owns which virtual stage.
 *
 *   plain    stage s on rank s
 *   looped   round after round: s mod p
 *   v        down the ranks, then up again
 *   wave     down and up any number of times
 *
 * Tests: test/passes/schedule/problem_test.c.
 */
#include "passes/schedule/model.h"

#include <limits.h>
#include <string.h>

#include "runtime/base/text.h"

static int rank_looped(int ranks, int stage) {
  return stage % ranks;
}
static int rank_wave(int ranks, int stage) {
  return stage / ranks % 2 ? ranks - 1 - stage % ranks : stage % ranks;
}

static const zb_placement_def placements[] = {
    {"plain", "one stage a rank, in order", 1, 1, rank_looped},
    {"looped", "round after round over the ranks", 1, INT_MAX, rank_looped},
    {"v", "down the ranks and up again: first and last stage on rank 0", 2, 2, rank_wave},
    {"wave", "down and up the ranks, chunk by chunk", 1, INT_MAX, rank_wave},
};
enum { PLACEMENT_COUNT = sizeof placements / sizeof *placements };

int zb_placement_count(void) {
  return PLACEMENT_COUNT;
}

const zb_placement_def *zb_placement_at(int index) {
  return index >= 0 && index < PLACEMENT_COUNT ? &placements[index] : NULL;
}

static const zb_placement_def *find(const char *name, const char **nearest) {
  const char *names[PLACEMENT_COUNT];
  for (int i = 0; i < PLACEMENT_COUNT; ++i) {
    if (!strcmp(placements[i].name, name)) return &placements[i];
    names[i] = placements[i].name;
  }
  *nearest = zb_nearest(name, names, PLACEMENT_COUNT);
  return NULL;
}

zb_status zb_placement(const char *name, int ranks, int chunks, int *stage_rank) {
  const char *nearest = NULL;
  const zb_placement_def *placement = find(name, &nearest);
  if (!placement)
    return zb_status_hint(ZB_ERROR(USAGE, "unknown placement '%s'%s%s%s", name, nearest ? ", did you mean '" : "",
                                   nearest ? nearest : "", nearest ? "'?" : ""),
                          "placements are plain, looped, v and wave");
  if (ranks < 1 || chunks < 1 || ranks > INT_MAX / chunks)
    return ZB_ERROR(USAGE, "expected 1 rank and 1 chunk or more, got %d and %d", ranks, chunks);
  if (chunks < placement->chunks_min || chunks > placement->chunks_max)
    return zb_status_hint(ZB_ERROR(USAGE, "placement %s: expected %d chunk%s a rank, got %d", name,
                                   placement->chunks_min, placement->chunks_min == 1 ? "" : "s", chunks),
                          "looped and wave take any number of chunks");
  for (int stage = 0; stage < ranks * chunks; ++stage)
    stage_rank[stage] = placement->rank(ranks, stage);
  return NULL;
}
