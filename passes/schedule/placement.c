/* Placements: which rank owns which virtual stage.
 *
 *   plain    stage s on rank s
 *   looped   round after round: s mod p
 *   v        down the ranks, then up again
 *   wave     down and up any number of times
 *   0,1,1,0  a list: the rank of every virtual stage
 *
 * Tests: test/passes/schedule/problem_test.c.
 */
#include "passes/schedule/model.h"

#include "runtime/base/words.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

static int rank_looped(int ranks, int stage) { return stage % ranks; }
static int rank_wave(int ranks, int stage) { return stage / ranks % 2 ? ranks - 1 - stage % ranks : stage % ranks; }

static const zb_placement_def placements[] = {
    {"plain", "one stage a rank, in order", 1, 1, rank_looped},
    {"looped", "round after round over the ranks", 1, INT_MAX, rank_looped},
    {"v", "down the ranks and up again: first and last stage on rank 0", 2, 2, rank_wave},
    {"wave", "down and up the ranks, chunk by chunk", 1, INT_MAX, rank_wave},
};
enum { PLACEMENT_COUNT = sizeof placements / sizeof *placements };

int zb_placement_count(void) { return PLACEMENT_COUNT; }

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

/* ---- Lists ---- */

static bool is_list(const char *text) { return *text >= '0' && *text <= '9'; }

static zb_status wrong_list(int ranks, int chunks) {
  return zb_status_hint(ZB_ERROR(USAGE, "placement: expected the ranks of %d virtual stages, each of 0..%d %d time%s",
                                 ranks * chunks, ranks - 1, chunks, chunks == 1 ? "" : "s"),
                        "for example 0,1,1,0: two ranks with two chunks each");
}

static zb_status read_list(const char *text, int ranks, int chunks, int *stage_rank) {
  int *left = zb_alloc((size_t)ranks * sizeof *left);
  if (!left) return ZB_OUT_OF_MEMORY();
  for (int rank = 0; rank < ranks; ++rank)
    left[rank] = chunks;
  int stage = 0;
  for (; stage < ranks * chunks && is_list(text); ++stage) {
    char *end = NULL;
    const long rank = strtol(text, &end, 10);
    if (rank >= ranks || left[rank]-- == 0 || (*end && *end != ',')) break;
    stage_rank[stage] = (int)rank;
    text = end + (*end == ',' && end[1]);
  }
  zb_free(left);
  return stage < ranks * chunks || *text ? wrong_list(ranks, chunks) : NULL;
}

static int list_length(const char *text) {
  int count = 1;
  for (; *text; ++text)
    count += *text == ',';
  return count;
}

/* ---- Names ---- */

static zb_status unknown_placement(const char *name, const char *nearest) {
  const char *meaning = zb_name_meaning("placement", name);
  if (meaning) return zb_status_hint(ZB_ERROR(USAGE, "unknown placement '%s'", name), "%s", meaning);
  return zb_status_hint(ZB_ERROR(USAGE, "unknown placement '%s'%s%s%s", name, nearest ? ", did you mean '" : "",
                                 nearest ? nearest : "", nearest ? "'?" : ""),
                        "placements are plain, looped, v and wave, or a list of ranks like 0,1,1,0");
}

zb_status zb_placement(const char *name, int ranks, int chunks, int *stage_rank) {
  if (ranks < 1 || chunks < 1 || ranks > INT_MAX / chunks)
    return ZB_ERROR(USAGE, "expected 1 rank and 1 chunk or more, got %d and %d", ranks, chunks);
  if (is_list(name)) return read_list(name, ranks, chunks, stage_rank);
  const char *nearest = NULL;
  const zb_placement_def *placement = find(name, &nearest);
  if (!placement) return unknown_placement(name, nearest);
  if (!zb_placement_takes(placement, chunks))
    return zb_status_hint(ZB_ERROR(USAGE, "placement %s: expected %d chunk%s a rank, got %d", name,
                                   placement->chunks_min, placement->chunks_min == 1 ? "" : "s", chunks),
                          "looped and wave take any number of chunks");
  for (int stage = 0; stage < ranks * chunks; ++stage)
    stage_rank[stage] = placement->rank(ranks, stage);
  return NULL;
}

/* ---- What a schedule is made for ---- */

/* Several rounds need two chunks: with one every placement is plain. */
static int fewest_chunks(const zb_schedule_def *schedule, const zb_placement_def *placement) {
  int chunks = zb_max_int(schedule->chunks_min, placement->chunks_min);
  if (placement->chunks_max > 1) chunks = zb_max_int(chunks, 2);
  return zb_max_int(schedule->chunks_min, zb_min_int(chunks, schedule->chunks_max));
}

zb_status zb_schedule_place_open(const zb_schedule_def *schedule, int ranks, const char **placement, int *chunks) {
  const char *nearest = NULL;
  if (*placement && is_list(*placement)) {
    const int count = list_length(*placement);
    if (!*chunks) *chunks = ranks > 0 && count >= ranks ? count / ranks : 1;
    return NULL;
  }
  const zb_placement_def *def = find(*placement ? *placement : schedule->placement, &nearest);
  if (!def) return unknown_placement(*placement ? *placement : schedule->placement, nearest);
  /* A schedule of any placement that nobody gives chunks is the one of one chunk. */
  const bool plain =
      !*placement && schedule->any_placement && !schedule->searches && schedule->chunks_min == 1 && *chunks <= 1;
  if (!*chunks) *chunks = plain ? 1 : fewest_chunks(schedule, def);
  if (!*placement) *placement = plain ? "plain" : zb_placement_takes(def, *chunks) ? schedule->placement : "looped";
  return NULL;
}
