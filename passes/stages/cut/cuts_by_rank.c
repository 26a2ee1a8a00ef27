/* Cuts for the longest rank: see passes/stages/cut/cuts.h.
 *
 * A cut takes from one rank what it gives to the other. In every placement with a name neighbouring stages are on
 * neighbouring ranks, so all cuts between rank j and j + 1 together move one number, their signed sum, and
 *
 *   time of rank j  =  own[j] + sum[j] - sum[j - 1]
 *
 * where own[j] does not depend on these cuts. Each cut may move as far as half way to its neighbours, in time, or every
 * second one as far as these. The sums that the cuts of a pair can have are listed, each with the cheapest way to it.
 * Whether all ranks fit below a limit is then decided from rank 0 on: the greatest sum that its limit leaves is best
 * for all after it. Bisection finds the least limit, and a dynamic program the cheapest cuts within it. From what was
 * found the cuts move again, until nothing gets better. Cuts from the last rank to the first (looped) are such a sum
 * too; each of its values is tried.
 *
 * A placement that was named rank by rank may have other pairs: their cuts stay where they are.
 *
 * Tests: test/passes/cuts_test.c. */

#include "passes/stages/cut/cuts.h"

#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 24, OPTIONS_MAX = 64, WRAPS_MAX = 64, SUMS_LEAST = 64, SUMS_MOST = 2048, SUMS_ALL = 1 << 17 };

/* A place for a cut. */
typedef struct option {
  int entry;
  int64_t end;   /* time of all up to it */
  int64_t worth; /* the less the better */
} option;

/* A sum of the first cuts of a pair. */
typedef struct sum {
  int64_t value, worth;
  int before; /* the sum without the last cut */
  int entry;  /* of the last cut */
} sum;

typedef struct sums {
  sum *items;
  int count;
} sums;

/* The cuts between two ranks. */
typedef struct pair {
  int *cuts; /* [count] stages that they end, ascending */
  int8_t *signs;
  int count;
  sums *layers; /* [count + 1]: of the first cuts, ascending values */
} pair;

/* How far a cut may go: half way to the cuts beside it, in time. Or as far as those, while they stay: every second cut.
 */
typedef enum reach { REACH_HALF, REACH_EVEN, REACH_ODD, REACH_COUNT } reach;

typedef struct balance {
  const zb_cut_problem *problem;
  zb_arena *arena;
  int64_t *end;  /* [count] */
  int *position; /* [ranks] on the path */
  pair *pairs;   /* [ranks]: j is between j and j + 1, the last between the last rank and the first */
  bool *is_free; /* [stages - 1]: moves no time, or stays where it is */
  int *center;   /* [stages - 1] the cuts from which others move */
  reach reach;
  int64_t *own;     /* [ranks], by position */
  int64_t **worths; /* [ranks][sums]: of the cheapest way to each sum */
  int **from;       /* [ranks][sums]: the sum of the pair before */
  int64_t **least;  /* [ranks][sums + 1]: the least worth of a sum and those above it */
  int **least_at;
} balance;

/* How good cuts are. */
typedef struct score {
  int64_t longest, worth;
} score;

static bool is_better(score x, score y, int64_t balanced) {
  const int64_t longest_x = x.longest > balanced ? x.longest : balanced;
  const int64_t longest_y = y.longest > balanced ? y.longest : balanced;
  if (longest_x != longest_y) return longest_x < longest_y;
  return x.worth != y.worth ? x.worth < y.worth : x.longest < y.longest;
}

/* ---- Which ranks a cut is between ---- */

/* By the order in which stages come to them. */
static void place_ranks(balance *b) {
  const zb_cut_problem *p = b->problem;
  int count = 0;
  for (int r = 0; r < p->ranks; ++r)
    b->position[r] = -1;
  for (int s = 0; s < p->stages; ++s)
    if (b->position[p->stage_rank[s]] < 0) b->position[p->stage_rank[s]] = count++;
}

/* The pair of the cut after a stage, and whether time goes to the first of its ranks; -1: none. */
static int pair_of(const balance *b, int stage, int *sign) {
  const zb_cut_problem *p = b->problem;
  const int from = b->position[p->stage_rank[stage]], to = b->position[p->stage_rank[stage + 1]];
  *sign = 1;
  if (to == from + 1) return from;
  if (from == p->ranks - 1 && to == 0 && p->ranks > 2) return from;
  *sign = -1;
  if (to == from - 1) return to;
  return from == 0 && to == p->ranks - 1 && p->ranks > 2 ? to : -1;
}

static zb_status collect_pairs(balance *b) {
  const zb_cut_problem *p = b->problem;
  zb_arena *arena = b->arena;
  int sign;
  place_ranks(b);
  for (int k = 0; k + 1 < p->stages; ++k) {
    const int j = pair_of(b, k, &sign);
    b->is_free[k] = j < 0;
    if (j >= 0) ++b->pairs[j].count;
  }
  for (int j = 0; j < p->ranks; ++j) {
    pair *at = &b->pairs[j];
    at->cuts = ZB_NEW(arena, int, at->count);
    at->signs = ZB_NEW(arena, int8_t, at->count);
    at->layers = ZB_NEW(arena, sums, at->count + 1);
    at->count = 0;
  }
  ZB_TRY(zb_arena_status(arena));
  for (int k = 0; k + 1 < p->stages; ++k) {
    const int j = pair_of(b, k, &sign);
    if (j < 0) continue;
    pair *at = &b->pairs[j];
    at->cuts[at->count] = k;
    at->signs[at->count++] = (int8_t)sign;
  }
  return NULL;
}

/* ---- Where a cut may be ---- */

static bool is_within_rank(const balance *b, int k) {
  return b->problem->stage_rank[k] == b->problem->stage_rank[k + 1];
}

/* Bytes, and the square of how far the cut is from the place that makes all stages even, in stages: half a stage off
 * counts as a stage. */
static int64_t worth_of(const balance *b, int k, int entry) {
  const zb_cut_problem *p = b->problem;
  const double stage = (double)b->end[p->count - 1] / p->stages;
  const double off = stage > 0 ? (double)b->end[entry] / stage - (k + 1) : 0;
  return (int64_t)(p->ps_per_byte * (double)p->cut_bytes[entry] + 4 * off * off * stage);
}

static int compare_options(const void *a, const void *b) {
  const option *x = a, *y = b;
  if (x->worth != y->worth) return x->worth < y->worth ? -1 : 1;
  return x->entry - y->entry;
}

static void add_place(const balance *b, int k, int entry, option *out, int *count) {
  const option next = {entry, b->end[entry], worth_of(b, k, entry)};
  option *same = *count > 0 && out[*count - 1].end == next.end ? &out[*count - 1] : NULL;
  if (!same)
    out[(*count)++] = next;
  else if (next.worth < same->worth)
    *same = next;
}

/* The places of a cut within its reach, the cheapest ones. Every stage that takes time goes on to. */
static int find_options(const balance *b, int k, option *out) {
  const zb_cut_problem *p = b->problem;
  const int center = b->center[k];
  const int64_t here = b->end[center], before = k > 0 ? b->end[b->center[k - 1]] : 0;
  const int64_t after = k + 2 < p->stages ? b->end[b->center[k + 1]] : b->end[p->count - 1];
  const bool half = b->reach == REACH_HALF, stays = !half && (k % 2 == 0) != (b->reach == REACH_EVEN);
  const int64_t low = half ? before + (here - before) / 2 : before, high = half ? here + (after - here) / 2 : after - 1;
  int count = 0;
  if (stays || before == here || here == after) { /* also of a stage that takes no time */
    add_place(b, k, center, out, &count);
    return count;
  }
  int entry = center;
  while (entry > 0 && b->end[entry - 1] > low)
    --entry;
  for (; b->end[entry] <= high && entry < p->count - 1; ++entry)
    add_place(b, k, entry, out, &count);
  qsort(out, (size_t)count, sizeof *out, compare_options);
  if (count <= OPTIONS_MAX) return count;
  out[OPTIONS_MAX - 1] = (option){center, here, worth_of(b, k, center)};
  return OPTIONS_MAX;
}

/* ---- The sums of a pair ---- */

static int compare_sums(const void *a, const void *b) {
  const sum *x = a, *y = b;
  if (x->value != y->value) return x->value < y->value ? -1 : 1;
  if (x->worth != y->worth) return x->worth < y->worth ? -1 : 1;
  return x->entry != y->entry ? x->entry - y->entry : x->before - y->before;
}

static sum add_option(const sums *layer, int i, const option *at, int sign) {
  return (sum){layer->items[i].value + sign * at->end, layer->items[i].worth + at->worth, i, at->entry};
}

/* Every sum with every option, of equal ones the cheapest. */
static void add_all(const sums *layer, const option *options, int count, int sign, sums *out) {
  int kept = 0;
  for (int i = 0; i < layer->count; ++i)
    for (int o = 0; o < count; ++o)
      out->items[out->count++] = add_option(layer, i, &options[o], sign);
  qsort(out->items, (size_t)out->count, sizeof *out->items, compare_sums);
  for (int i = 0; i < out->count; ++i)
    if (kept == 0 || out->items[kept - 1].value != out->items[i].value) out->items[kept++] = out->items[i];
  out->count = kept;
}

/* The range of values in `most` equal parts, of each the cheapest. */
static void add_some(const sums *layer, const option *options, int count, int sign, int most, sums *out) {
  int64_t low = INT64_MAX, high = INT64_MIN;
  int kept = 0;
  for (int o = 0; o < count; ++o) {
    if (sign * options[o].end < low) low = sign * options[o].end;
    if (sign * options[o].end > high) high = sign * options[o].end;
  }
  low += layer->items[0].value;
  high += layer->items[layer->count - 1].value;
  const double scale = (double)most / ((double)(high - low) + 1);
  for (int i = 0; i < most; ++i)
    out->items[i].before = -1;
  for (int i = 0; i < layer->count; ++i)
    for (int o = 0; o < count; ++o) {
      const sum next = add_option(layer, i, &options[o], sign);
      int at = (int)((double)(next.value - low) * scale);
      if (at >= most) at = most - 1;
      if (out->items[at].before < 0 || next.worth < out->items[at].worth) out->items[at] = next;
    }
  for (int i = 0; i < most; ++i)
    if (out->items[i].before >= 0) out->items[kept++] = out->items[i];
  out->count = kept;
}

static zb_status list_sums(const balance *b, zb_arena *arena, pair *at, int most) {
  option *options = ZB_NEW(arena, option, b->problem->count);
  at->layers[0] = (sums){ZB_NEW(arena, sum, 1), 1};
  ZB_TRY(zb_arena_status(arena));
  for (int c = 0; c < at->count; ++c) {
    const sums *layer = &at->layers[c];
    sums *out = &at->layers[c + 1];
    const int count = find_options(b, at->cuts[c], options);
    const bool all = (int64_t)layer->count * count <= most;
    *out = (sums){ZB_NEW(arena, sum, all ? layer->count * count : most), 0};
    ZB_TRY(zb_arena_status(arena));
    if (all)
      add_all(layer, options, count, at->signs[c], out);
    else
      add_some(layer, options, count, at->signs[c], most, out);
  }
  return NULL;
}

static const sums *sums_of(const balance *b, int j) { return &b->pairs[j].layers[b->pairs[j].count]; }

/* ---- Limits ---- */

/* The last sum that is at most `value`; -1: none. */
static int last_up_to(const sums *list, int64_t value) {
  int low = 0, high = list->count;
  while (low < high) {
    const int middle = (low + high) / 2;
    if (list->items[middle].value <= value)
      low = middle + 1;
    else
      high = middle;
  }
  return low - 1;
}

/* Whether all ranks can be at most `limit` long where the cuts from the last rank to the first have the sum `wrap`. */
static bool fits(const balance *b, int64_t wrap, int64_t limit) {
  const int last = b->problem->ranks - 1;
  int64_t before = wrap;
  for (int j = 0; j < last; ++j) {
    const int at = last_up_to(sums_of(b, j), limit - b->own[j] + before);
    if (at < 0) return false;
    before = sums_of(b, j)->items[at].value;
  }
  return b->own[last] - before + wrap <= limit;
}

/* The least limit; INT64_MAX: none below `most` fits. */
static int64_t least_limit(const balance *b, int64_t wrap, int64_t most) {
  int64_t low = b->end[b->problem->count - 1] / b->problem->ranks, high = most;
  if (!fits(b, wrap, high)) return INT64_MAX;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (fits(b, wrap, middle))
      high = middle;
    else
      low = middle + 1;
  }
  return high;
}

/* ---- The cheapest cuts within a limit ---- */

/* The cheapest ways to the sums of pair j from those of the one before. */
static void extend(balance *b, int j, int64_t wrap, int64_t limit) {
  const sums *list = sums_of(b, j);
  for (int i = 0; i < list->count; ++i) {
    const int64_t lowest = list->items[i].value - (limit - b->own[j]); /* of the sum before */
    int at = -1;
    int64_t worth = lowest <= wrap ? 0 : INT64_MAX;
    if (j > 0) {
      const int next = last_up_to(sums_of(b, j - 1), lowest - 1) + 1;
      worth = b->least[j - 1][next];
      at = b->least_at[j - 1][next];
    }
    b->worths[j][i] = worth == INT64_MAX ? worth : worth + list->items[i].worth;
    b->from[j][i] = at;
  }
  b->least[j][list->count] = INT64_MAX;
  for (int i = list->count - 1; i >= 0; --i) {
    const bool is_less = b->worths[j][i] < b->least[j][i + 1];
    b->least[j][i] = is_less ? b->worths[j][i] : b->least[j][i + 1];
    b->least_at[j][i] = is_less ? i : b->least_at[j][i + 1];
  }
}

/* The worth of the cheapest cuts, and the sum of the last pair that they have. INT64_MAX: none within the limit. */
static int64_t cheapest(balance *b, int64_t wrap, int64_t limit, int *out_at) {
  const int last = b->problem->ranks - 1;
  *out_at = -1;
  if (last == 0) return 0;
  for (int j = 0; j < last; ++j)
    extend(b, j, wrap, limit);
  const int first = last_up_to(sums_of(b, last - 1), b->own[last] + wrap - limit - 1) + 1;
  *out_at = b->least_at[last - 1][first];
  return b->least[last - 1][first];
}

/* ---- One round ---- */

/* The time of the cuts that do not move, and of the end, on their ranks. */
static void find_own(balance *b) {
  const zb_cut_problem *p = b->problem;
  int sign;
  memset(b->own, 0, (size_t)p->ranks * sizeof *b->own);
  b->own[b->position[p->stage_rank[p->stages - 1]]] += b->end[p->count - 1];
  for (int k = 0; k + 1 < p->stages; ++k) {
    if (pair_of(b, k, &sign) >= 0) continue;
    b->own[b->position[p->stage_rank[k]]] += b->end[b->center[k]];
    b->own[b->position[p->stage_rank[k + 1]]] -= b->end[b->center[k]];
  }
}

static zb_status take_arrays(balance *b, zb_arena *arena) {
  for (int j = 0; j + 1 < b->problem->ranks; ++j) {
    const int count = sums_of(b, j)->count;
    b->worths[j] = ZB_NEW(arena, int64_t, count);
    b->least[j] = ZB_NEW(arena, int64_t, count + 1);
    b->from[j] = ZB_NEW(arena, int, count);
    b->least_at[j] = ZB_NEW(arena, int, count + 1);
  }
  return zb_arena_status(arena);
}

/* The cuts of a sum. */
static void read_sum(const pair *at, int index, int *cuts) {
  for (int c = at->count; c > 0; --c) {
    const sum *item = &at->layers[c].items[index];
    cuts[at->cuts[c - 1]] = item->entry;
    index = item->before;
  }
}

/* The cuts of the sums that the last call of cheapest() found, with `at` of the last pair and `wrap` of the cuts from
 * the last rank to the first. */
static void read_cuts(const balance *b, int wrap, int at, int *cuts) {
  const int last = b->problem->ranks - 1;
  for (int j = last - 1; j >= 0; --j) {
    read_sum(&b->pairs[j], at, cuts);
    at = b->from[j][at];
  }
  read_sum(&b->pairs[last], wrap, cuts);
}

/* Cuts within one rank move no time: the cheapest place. */
static zb_status place_free(const balance *b, zb_arena *arena, int *cuts) {
  option *options = ZB_NEW(arena, option, b->problem->count);
  ZB_TRY(zb_arena_status(arena));
  for (int k = 0; k + 1 < b->problem->stages; ++k) {
    if (!b->is_free[k]) continue;
    cuts[k] = b->center[k];
    if (is_within_rank(b, k) && find_options(b, k, options) > 0) cuts[k] = options[0].entry;
  }
  return NULL;
}

/* The best cuts around the center; *out_found: false where even the limit `most` cannot be kept. */
static zb_status move_cuts(balance *b, zb_arena *arena, int64_t most, int64_t balanced, int *cuts, bool *out_found) {
  const zb_cut_problem *p = b->problem;
  const int last = p->ranks - 1;
  int best_wrap = -1, best_at = -1, at, count = SUMS_ALL / p->stages;
  int64_t limit = INT64_MAX, best = INT64_MAX;
  count = count > SUMS_MOST ? SUMS_MOST : count < SUMS_LEAST ? SUMS_LEAST : count;
  *out_found = false;
  find_own(b);
  for (int j = 0; j < p->ranks; ++j)
    ZB_TRY(list_sums(b, arena, &b->pairs[j], j == last ? WRAPS_MAX : count));
  ZB_TRY(take_arrays(b, arena));
  const sums *wraps = sums_of(b, last);
  for (int w = 0; w < wraps->count; ++w) {
    const int64_t next = least_limit(b, wraps->items[w].value, limit < most ? limit : most);
    if (next < limit) limit = next;
  }
  if (limit == INT64_MAX) return NULL;
  if (limit < balanced) limit = balanced;
  for (int w = 0; w < wraps->count; ++w) {
    const int64_t worth = cheapest(b, wraps->items[w].value, limit, &at);
    if (worth == INT64_MAX || worth + wraps->items[w].worth >= best) continue;
    best = worth + wraps->items[w].worth;
    best_wrap = w;
    best_at = at;
  }
  if (best_wrap < 0) return NULL;
  (void)cheapest(b, wraps->items[best_wrap].value, limit, &best_at);
  read_cuts(b, best_wrap, best_at, cuts);
  *out_found = true;
  return place_free(b, arena, cuts);
}

/* ---- All rounds ---- */

static zb_status score_of(const balance *b, const int *cuts, score *out) {
  zb_arena arena = {0};
  out->worth = 0;
  for (int k = 0; k + 1 < b->problem->stages; ++k)
    out->worth += worth_of(b, k, cuts[k]);
  zb_status status = zb_cuts_longest(b->problem, &arena, cuts, &out->longest);
  zb_arena_deinit(&arena);
  return status;
}

/* One round from b->center, in memory of its own. */
static zb_status run_round(balance *b, int64_t most, int64_t balanced, int *cuts, bool *out_found) {
  zb_arena arena = {0};
  zb_status status = move_cuts(b, &arena, most, balanced, cuts, out_found);
  zb_arena_deinit(&arena);
  return status;
}

static zb_status init(balance *b, const zb_cut_problem *p, zb_arena *arena) {
  *b = (balance){.problem = p,
                 .arena = arena,
                 .end = ZB_NEW(arena, int64_t, p->count),
                 .position = ZB_NEW(arena, int, p->ranks),
                 .pairs = ZB_NEW(arena, pair, p->ranks),
                 .is_free = ZB_NEW(arena, bool, p->stages),
                 .center = ZB_NEW(arena, int, p->stages),
                 .own = ZB_NEW(arena, int64_t, p->ranks),
                 .worths = ZB_NEW(arena, int64_t *, p->ranks),
                 .from = ZB_NEW(arena, int *, p->ranks),
                 .least = ZB_NEW(arena, int64_t *, p->ranks),
                 .least_at = ZB_NEW(arena, int *, p->ranks)};
  ZB_TRY(zb_arena_status(arena));
  for (int i = 0; i < p->count; ++i)
    b->end[i] = (i > 0 ? b->end[i - 1] : 0) + p->cost[i];
  return collect_pairs(b);
}

/* Whether a stage takes no time. */
static bool has_empty(const balance *b, const int *cuts) {
  const zb_cut_problem *p = b->problem;
  for (int k = 0; k < p->stages; ++k) {
    const int64_t begin = k > 0 ? b->end[cuts[k - 1]] : 0;
    if (b->end[k + 1 < p->stages ? cuts[k] : p->count - 1] == begin) return true;
  }
  return false;
}

/* Cuts near even stages that all take time, where there are enough ops that do; else `cuts` stay. */
static void fill_stages(const balance *b, int *cuts) {
  const zb_cut_problem *p = b->problem;
  const double stage = (double)b->end[p->count - 1] / p->stages;
  int working = 0, at = 0;
  for (int i = 0; i < p->count; ++i)
    working += p->cost[i] > 0;
  if (working < p->stages) return;
  for (int i = 0, k = 0; k + 1 < p->stages; ++i) {
    if (p->cost[i] == 0) continue;
    ++at;
    const bool is_last = working - at == p->stages - k - 1; /* each stage after this gets one */
    if (is_last || (double)b->end[i] + (double)p->cost[i] / 2 >= stage * (k + 1)) cuts[k++] = i;
  }
}

zb_status zb_cuts_by_rank(const zb_cut_problem *p, zb_arena *arena, int *after) {
  const int64_t balanced = zb_cuts_balanced(p);
  const size_t bytes = (size_t)(p->stages - 1) * sizeof *after;
  int *cuts = ZB_NEW(arena, int, p->stages);
  balance b;
  score best;
  ZB_TRY(init(&b, p, arena));
  if (has_empty(&b, after)) fill_stages(&b, after);
  ZB_TRY(score_of(&b, after, &best));
  for (int i = 0, idle = 0; i < ROUNDS && idle < REACH_COUNT; ++i) {
    score next;
    bool found;
    memcpy(b.center, after, bytes);
    ZB_TRY(run_round(&b, best.longest > balanced ? best.longest : balanced, balanced, cuts, &found));
    if (found) ZB_TRY(score_of(&b, cuts, &next));
    if (found && is_better(next, best, balanced)) {
      best = next;
      memcpy(after, cuts, bytes);
      idle = 0;
    } else {
      ++idle;
      b.reach = (b.reach + 1) % REACH_COUNT;
    }
  }
  return NULL;
}
