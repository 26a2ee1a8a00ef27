/* Cuts for the longest stage, and how long ranks are: see passes/stages/cut/cuts.h.
 *
 * Tests: test/passes/cuts_test.c, test/passes/partition.mlir. */

#include "passes/stages/cut/cuts.h"

#include "runtime/base/assert.h"

#include <limits.h>

/* A hundredth, less the ops that stages come to do twice: each reader of a chain or a view has its own. */
static const double uneven = 0.009;

/* ---- By the longest stage ---- */

/* Entries after which a cut is allowed, and the time of all up to each; end[count] is the time of the whole. */
typedef struct candidates {
  int *entry;
  int64_t *end;
  int count;
} candidates;

/* Those where at most `bytes_max` bytes cross. A cut after the last op is none. */
static void find_candidates(const zb_cut_problem *p, int64_t bytes_max, candidates *out) {
  int64_t end = 0;
  out->count = 0;
  for (int i = 0; i < p->count; ++i) {
    end += p->cost[i];
    out->end[out->count] = end;
    if (i + 1 < p->count && p->cut_bytes[i] <= bytes_max) out->entry[out->count++] = i;
  }
}

/* Whether no stage has to be above `limit`. */
static bool fits(const candidates *c, int stages, int64_t limit) {
  int64_t start = 0;
  for (int used = 1, i = 0; c->end[c->count] - start > limit; ++used) {
    int first = i;
    while (i < c->count && c->end[i] - start <= limit)
      ++i;
    if (i == first || used == stages) return false;
    start = c->end[i - 1];
  }
  return true;
}

/* Cuts with the given bottleneck, each as near to an even share of what is left as the bottleneck allows. needed[i]:
 * stages that the part after candidate i needs. */
static bool place_cuts(const zb_cut_problem *p, const candidates *c, int64_t limit, int *needed, int *after) {
  int reach = c->count; /* furthest end a stage that starts after i may have */
  for (int i = c->count - 1; i >= 0; --i) {
    while (reach > i && c->end[reach] - c->end[i] > limit)
      --reach;
    needed[i] = reach == c->count ? 1 : reach == i ? INT_MAX / 2 : 1 + needed[reach];
  }
  int64_t start = 0;
  for (int s = 0, next = 0; s + 1 < p->stages; ++s) {
    int left = p->stages - s - 1, best = -1; /* left: stages after this one */
    int64_t ideal = start + (c->end[c->count] - start) / (left + 1), best_distance = INT64_MAX;
    for (int i = next; i < c->count && c->end[i] - start <= limit; ++i) {
      int64_t distance = c->end[i] > ideal ? c->end[i] - ideal : ideal - c->end[i];
      bool enough_after = c->count - i - 1 >= left - 1;
      if (needed[i] <= left && enough_after && distance < best_distance) best = i, best_distance = distance;
    }
    if (best < 0) return false;
    after[s] = c->entry[best];
    start = c->end[best];
    next = best + 1;
  }
  return true;
}

/* The shortest bottleneck over these candidates; INT64_MAX if there are too few. */
static int64_t bottleneck(const zb_cut_problem *p, const candidates *c) {
  if (c->count < p->stages - 1) return INT64_MAX;
  int64_t low = c->end[c->count] / p->stages, high = c->end[c->count];
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if (fits(c, p->stages, middle))
      high = middle;
    else
      low = middle + 1;
  }
  return high;
}

/* Tries byte thresholds from the fewest bytes up; keeps the candidate set with the best longest stage plus its
 * transfers. */
zb_status zb_cuts_by_stage(const zb_cut_problem *p, zb_arena *arena, int *after) {
  candidates c = {ZB_NEW(arena, int, p->count), ZB_NEW(arena, int64_t, p->count), 0};
  int *needed = ZB_NEW(arena, int, p->count);
  ZB_TRY(zb_arena_status(arena));
  int64_t fewest = INT64_MAX, best = INT64_MAX, best_threshold = 0, best_limit = 0;
  for (int i = 0; i + 1 < p->count; ++i)
    if (p->cut_bytes[i] > 0 && p->cut_bytes[i] < fewest) fewest = p->cut_bytes[i];
  if (fewest == INT64_MAX) fewest = 64;
  for (double factor = 1.0; factor < 1e6; factor *= 1.5) {
    int64_t threshold = (int64_t)((double)fewest * factor);
    find_candidates(p, threshold, &c);
    int64_t limit = bottleneck(p, &c);
    if (limit == INT64_MAX) continue;
    int64_t score = limit + (int64_t)(p->ps_per_byte * (double)threshold);
    if (score < best) best = score, best_threshold = threshold, best_limit = limit;
  }
  ZB_ASSERT(best < INT64_MAX); /* count >= stages, and the last threshold takes every place */
  find_candidates(p, best_threshold, &c);
  /* An even share may miss the bottleneck by the rule that all stages get an op: widen until it works. */
  while (!place_cuts(p, &c, best_limit, needed, after))
    best_limit += best_limit / 8 + 1;
  return NULL;
}

/* ---- By the longest rank ---- */

int64_t zb_cuts_mean(const zb_cut_problem *p) {
  int64_t time = 0;
  for (int i = 0; i < p->count; ++i)
    time += p->cost[i];
  return (time + p->ranks - 1) / p->ranks;
}

int64_t zb_cuts_balanced(const zb_cut_problem *p) {
  const int64_t mean = zb_cuts_mean(p);
  return mean + (int64_t)(uneven * (double)mean);
}

zb_status zb_cuts_longest(const zb_cut_problem *p, zb_arena *arena, const int *after, int64_t *out_ps) {
  int64_t *loads = ZB_NEW(arena, int64_t, p->ranks);
  ZB_TRY(zb_arena_status(arena));
  *out_ps = 0;
  for (int i = 0, s = 0; i < p->count; ++i) {
    loads[p->stage_rank[s]] += p->cost[i];
    if (s < p->stages - 1 && after[s] == i) ++s;
  }
  for (int r = 0; r < p->ranks; ++r)
    if (loads[r] > *out_ps) *out_ps = loads[r];
  return NULL;
}
