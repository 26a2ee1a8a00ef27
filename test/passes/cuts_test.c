/* zb_cuts_choose: against all cuts of small programs, for every placement; balanced ranks for large ones; one stage a
 * rank as before there were ranks to balance. */

#include "passes/stages/cut/cuts.h"
#include "zb/schedule.h"

#include "test/suite.h"

#include <stdio.h>
#include <string.h>

enum { ENTRIES = 10240, STAGES = 512 };

static int64_t cost[ENTRIES], cut_bytes[ENTRIES];
static int stage_rank[STAGES];

static uint64_t next(uint64_t *state) {
  *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return *state >> 33;
}

static zb_cut_problem make(int count, int ranks, int chunks, const char *placement) {
  CU_ASSERT_PTR_NULL_FATAL(zb_placement(placement, ranks, chunks, stage_rank));
  return (zb_cut_problem){.count = count,
                          .cost = cost,
                          .cut_bytes = cut_bytes,
                          .stages = ranks * chunks,
                          .ranks = ranks,
                          .stage_rank = stage_rank,
                          .ps_per_byte = 1.0};
}

/* Costs of 0 to `most`, one in eight far above. */
static void draw(uint64_t *seed, int count, uint64_t most) {
  for (int i = 0; i < count; ++i) {
    cost[i] = (int64_t)(next(seed) % (most + 1));
    if (next(seed) % 8 == 0) cost[i] *= 5;
    cut_bytes[i] = (int64_t)(next(seed) % 50);
  }
  cost[count / 2] += 1; /* something takes time */
}

/* The longest rank, summed op by op. */
static int64_t longest(const zb_cut_problem *p, const int *after) {
  int64_t loads[STAGES] = {0}, most = 0;
  int stage = 0;
  for (int i = 0; i < p->count; ++i) {
    loads[p->stage_rank[stage]] += p->cost[i];
    if (stage < p->stages - 1 && after[stage] == i) ++stage;
  }
  CU_ASSERT_EQUAL(stage, p->stages - 1);
  for (int r = 0; r < p->ranks; ++r)
    if (loads[r] > most) most = loads[r];
  return most;
}

static bool all_take_time(const zb_cut_problem *p, const int *after) {
  int64_t time = 0;
  int stage = 0;
  for (int i = 0; i < p->count; ++i) {
    time += p->cost[i];
    if (i < p->count - 1 && (stage == p->stages - 1 || after[stage] != i)) continue;
    if (time == 0) return false;
    time = 0;
    ++stage;
  }
  return true;
}

/* Every set of cuts, in lexical order. INT64_MAX: with none do all stages take time. */
static int64_t best_of_all(const zb_cut_problem *p) {
  int after[STAGES];
  const int cuts = p->stages - 1;
  int64_t best = INT64_MAX;
  for (int k = 0; k < cuts; ++k)
    after[k] = k;
  for (;;) {
    const int64_t time = longest(p, after);
    if (time < best && all_take_time(p, after)) best = time;
    int k = cuts - 1;
    while (k >= 0 && after[k] == p->count - 1 - (cuts - k))
      --k;
    if (k < 0) return best;
    ++after[k];
    for (int i = k + 1; i < cuts; ++i)
      after[i] = after[i - 1] + 1;
  }
}

static zb_cuts choose(const zb_cut_problem *p, zb_arena *arena) {
  zb_cuts cuts;
  CU_ASSERT_PTR_NULL_FATAL(zb_cuts_choose(p, arena, &cuts));
  for (int k = 0; k + 1 < p->stages; ++k) {
    CU_ASSERT(cuts.after[k] > (k > 0 ? cuts.after[k - 1] : -1));
    CU_ASSERT(cuts.after[k] < p->count - 1);
  }
  CU_ASSERT_EQUAL(longest(p, cuts.after), cuts.longest_ps);
  CU_ASSERT(cuts.bound_ps <= cuts.longest_ps);
  return cuts;
}

/* ---- Cuts where few bytes cross ---- */

static int64_t sum_bytes(const zb_cut_problem *p, const int *after) {
  int64_t bytes = 0;
  for (int k = 0; k + 1 < p->stages; ++k)
    bytes += cut_bytes[after[k]];
  return bytes;
}

/* Fewest bytes of all cuts with no stage above a length and none without time. */
static int64_t fewest_of_all(const zb_cut_problem *p, int64_t length) {
  int after[STAGES];
  const int cuts = p->stages - 1;
  int64_t best = INT64_MAX;
  for (int k = 0; k < cuts; ++k)
    after[k] = k;
  for (;;) {
    if (all_take_time(p, after) && longest(p, after) <= length && sum_bytes(p, after) < best)
      best = sum_bytes(p, after);
    int k = cuts - 1;
    while (k >= 0 && after[k] == p->count - 1 - (cuts - k))
      --k;
    if (k < 0) return best;
    ++after[k];
    for (int i = k + 1; i < cuts; ++i)
      after[i] = after[i - 1] + 1;
  }
}

/* So few bytes as is possible at the length that the cuts have; the best asked for where that takes nothing, enough
 * where it can be had at all, and never more than before. */
static void test_few(void) {
  uint64_t seed = 3;
  int moved = 0, reached = 0;
  for (int i = 0; i < 300; ++i) {
    const int stages = 2 + (int)(next(&seed) % 4), count = stages + 1 + (int)(next(&seed) % 9);
    const zb_cut_problem p = make(count, stages, 1, "plain");
    zb_arena arena = {0};
    int after[STAGES];
    draw(&seed, count, 20);
    CU_ASSERT_PTR_NULL_FATAL(zb_cuts_by_stage(&p, &arena, after));
    const int64_t most = longest(&p, after), before = sum_bytes(&p, after), best = 1 + (int64_t)(next(&seed) % 60),
                  enough = best + (int64_t)(next(&seed) % 20);
    CU_ASSERT_PTR_NULL_FATAL(zb_cuts_few(&p, &arena, best, enough, after));
    const int64_t now = longest(&p, after), bytes = sum_bytes(&p, after);
    CU_ASSERT(bytes <= before);
    CU_ASSERT((double)now <= (bytes <= enough ? 1.7 : 1.35) * (double)most);
    for (int k = 1; k + 1 < stages; ++k)
      CU_ASSERT(after[k] > after[k - 1]);
    if (bytes < before) CU_ASSERT_EQUAL(bytes, fewest_of_all(&p, now > most ? now : most));
    if (before <= best) CU_ASSERT_EQUAL(bytes, before);
    if (fewest_of_all(&p, most) <= best) CU_ASSERT(bytes <= best);
    if (fewest_of_all(&p, (int64_t)(1.7 * (double)most)) <= enough) CU_ASSERT(bytes <= enough);
    moved += bytes < before;
    reached += before > enough && bytes <= enough;
    zb_arena_deinit(&arena);
  }
  CU_ASSERT(moved > 30 && reached > 10);
}

typedef struct layout {
  const char *placement;
  int ranks, chunks;
} layout;

/* The answer is balanced or the best of all, and the bound never above the best of all. */
static void test_small(void) {
  static const layout layouts[] = {{"v", 2, 2},       {"v", 3, 2},           {"looped", 2, 2},
                                   {"looped", 3, 2},  {"looped", 2, 3},      {"wave", 2, 3},
                                   {"wave", 2, 4},    {"wave", 1, 4},        {"looped", 4, 2},
                                   {"v", 4, 2},       {"0,1,2,2,0,1", 3, 2}, {"0,2,1,3,1,3,0,2", 4, 2},
                                   {"1,0,0,1", 2, 2}, {"0,0,1,1", 2, 2}};
  enum { LAYOUTS = sizeof layouts / sizeof *layouts };
  uint64_t seed = 1;
  int unbalanced = 0;
  for (int i = 0; i < 60 * LAYOUTS; ++i) {
    const layout *at = &layouts[i % LAYOUTS];
    const int stages = at->ranks * at->chunks, count = stages + (int)(next(&seed) % (stages > 6 ? 6 : 9));
    zb_arena arena = {0};
    draw(&seed, count, i % 3 == 0 ? 3 : 1000);
    const zb_cut_problem p = make(count, at->ranks, at->chunks, at->placement);
    const int64_t best = best_of_all(&p);
    const zb_cuts cuts = choose(&p, &arena);
    if (best == INT64_MAX) {
      zb_arena_deinit(&arena);
      continue;
    }
    CU_ASSERT(cuts.bound_ps <= best);
    unbalanced += best > zb_cuts_balanced(&p);
    if (best <= zb_cuts_balanced(&p)) CU_ASSERT(cuts.longest_ps <= zb_cuts_balanced(&p));
    if (best > zb_cuts_balanced(&p)) {
      const bool is_best = cuts.longest_ps == best && cuts.bound_ps == best;
      CU_ASSERT(is_best || (cuts.longest_ps < best && !all_take_time(&p, cuts.after)));
    }
    zb_arena_deinit(&arena);
  }
  CU_ASSERT(unbalanced > 60); /* both cases were met */
  CU_ASSERT(unbalanced < 60 * LAYOUTS - 60);
}

/* Where nothing is found by moving cuts, the search alone finds it. */
static void test_search(void) {
  uint64_t seed = 5;
  for (int i = 0; i < 100; ++i) {
    zb_arena arena = {0};
    int after[STAGES];
    bool found, complete;
    draw(&seed, 10, 100);
    const zb_cut_problem p = make(10, 2 + i % 2, 2, i % 4 < 2 ? "v" : "looped");
    const int64_t best = best_of_all(&p);
    CU_ASSERT_PTR_NULL_FATAL(zb_cuts_search(&p, &arena, INT64_MAX / 8, 100000, after, &found, &complete));
    CU_ASSERT(found && complete);
    CU_ASSERT_EQUAL(longest(&p, after), best);
    CU_ASSERT_PTR_NULL_FATAL(zb_cuts_search(&p, &arena, best, 100000, after, &found, &complete));
    CU_ASSERT(!found && complete);
    CU_ASSERT_PTR_NULL_FATAL(zb_cuts_search(&p, &arena, best, 0, after, &found, &complete));
    CU_ASSERT(!found && !complete);
    zb_arena_deinit(&arena);
  }
}

/* Layers of a transformer: products, small ops and views, bytes that are few between layers; the head takes 1.44 of a
 * layer, the embedding little. */
static int draw_layers(uint64_t *seed, int layers) {
  static const int64_t ops[] = {40, 300, 0, 100, 100, 0, 250, 300, 20, 40, 900, 60, 900, 20};
  enum { OPS = sizeof ops / sizeof *ops };
  int count = 0;
  cost[count++] = 50;
  for (int l = 0; l < layers; ++l)
    for (int i = 0; i < OPS; ++i) {
      cut_bytes[count] = i == OPS - 1 || i == 8 ? 10 : 30 + 10 * (i % 3);
      cost[count++] = ops[i] * 1000 + (int64_t)(next(seed) % 7);
    }
  cost[count++] = 1440 * 1000 * 3;
  cut_bytes[count - 2] = 10;
  return count;
}

static void test_large(void) {
  static const layout layouts[] = {{"v", 8, 2},       {"v", 64, 2},    {"looped", 16, 2}, {"looped", 8, 8},
                                   {"wave", 6, 4},    {"wave", 64, 8}, {"looped", 64, 8}, {"wave", 16, 3},
                                   {"looped", 32, 4}, {"wave", 5, 16}};
  uint64_t seed = 3;
  for (size_t i = 0; i < sizeof layouts / sizeof *layouts; ++i) {
    const layout *at = &layouts[i];
    for (int how = 0; how < 2; ++how) {
      zb_arena arena = {0};
      const int stages = at->ranks * at->chunks;
      int count = 20 * stages < ENTRIES ? 20 * stages : ENTRIES;
      if (how == 0)
        count = draw_layers(&seed, stages);
      else
        draw(&seed, count, 100000);
      const zb_cut_problem p = make(count, at->ranks, at->chunks, at->placement);
      const zb_cuts cuts = choose(&p, &arena);
      printf("%s %d x %d: %.5f of the balanced\n", at->placement, at->ranks, at->chunks,
             (double)cuts.longest_ps / (double)zb_cuts_balanced(&p));
      CU_ASSERT(cuts.longest_ps <= zb_cuts_balanced(&p));
      zb_arena_deinit(&arena);
    }
  }
}

/* Of cuts that balance the ranks the ones where few bytes cross: here those between layers do. */
static void test_bytes(void) {
  zb_arena arena = {0};
  for (int i = 0; i < 64; ++i) {
    cost[i] = 10;
    cut_bytes[i] = i % 4 == 3 ? 1 : 1000;
  }
  const zb_cut_problem p = make(64, 2, 2, "v");
  const zb_cuts cuts = choose(&p, &arena);
  for (int k = 0; k < 3; ++k)
    CU_ASSERT_EQUAL(cuts.after[k], 16 * (k + 1) - 1);
  zb_arena_deinit(&arena);
}

/* One stage a rank: the longest stage with its transfers, as zb_cuts_by_stage has it. */
static void test_plain(void) {
  uint64_t seed = 9;
  for (int i = 0; i < 200; ++i) {
    zb_arena arena = {0};
    int after[STAGES];
    const int ranks = 1 + (int)(next(&seed) % 8), count = ranks + (int)(next(&seed) % 60);
    draw(&seed, count, 1000);
    const zb_cut_problem p = make(count, ranks, 1, "plain");
    const zb_cuts cuts = choose(&p, &arena);
    CU_ASSERT_PTR_NULL_FATAL(zb_cuts_by_stage(&p, &arena, after));
    CU_ASSERT(memcmp(after, cuts.after, (size_t)(ranks - 1) * sizeof *after) == 0);
    zb_arena_deinit(&arena);
  }
}

SUITE_MAIN("cuts", {"small programs, all cuts", test_small}, {"search", test_search}, {"large programs", test_large},
           {"bytes", test_bytes}, {"plain", test_plain}, {"few bytes", test_few})
