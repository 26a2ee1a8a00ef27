/* See pack_within.h. Pieces are placed upwards: each lies as low as those below it in the same moments let it, and no
 * piece is placed lower than the one before. Every packing that cannot be pushed down has such an order, so nothing is
 * lost by it but the holes under parts.
 *
 * What ends a branch: a piece that no longer fits; a moment at which what is still to be placed, put on the lowest
 * place that any of it can have, does not fit; and a piece that leaves a gap for another whole piece beneath it, as
 * that one could have gone first. These are the canonical solutions and the inference on sections of Moffitt,
 * "MiniMalloc" (ASPLOS 2023), without its other rules.
 *
 * Tests: test/passes/pack_test.c.
 */
#include "passes/stages/places/pack_within.h"

#include <stdlib.h>
#include <string.h>

/* What a piece holds from one moment to another; not empty. */
typedef struct stay {
  int piece, from, to; /* moments */
  int64_t begin, bytes;
} stay;

struct zb_within {
  const zb_piece *pieces;
  size_t count;
  int64_t look; /* what a look at all pieces and times counts in `work` */
  /* Times between which the same is held are one moment. */
  stay *stays; /* by piece: those of piece i are stay_begin[i] .. stay_begin[i + 1] - 1 */
  int *stay_begin;
  int moments;
  int *held_begin, *held; /* [moments + 1], and the stays of each moment */
  int *witness;    /* [moments]: the one of them, as an index of `held`, that showed last that what is left fits */
  int64_t *above;  /* [below * count + piece]: how far the piece lies above the offset of the other; NEVER: they do not
                      meet */
  int64_t *low;    /* [depth * count + piece]: lowest offset above all that is placed */
  int *candidates; /* [depth * count] */
  int *order, *rank; /* [depth]: placed; [piece]: its place in `wanted` */
  bool *placed;
  int64_t *all, *left; /* [moments]: bytes of all pieces, and of those still to be placed */
  int64_t capacity;
  int64_t *work;
  int64_t steps; /* that this search may still make */
};

static const int64_t never = INT64_MIN;

int zb_piece_holds(const zb_piece *p, zb_held out[ZB_HELD_MAX]) {
  int count = 0;
  out[count++] = (zb_held){0, (int64_t)p->bytes, p->start, p->end};
  if (p->first < p->start)
    out[count++] = (zb_held){(int64_t)p->before.begin, (int64_t)p->before.end, p->first, p->start - 1};
  if (p->last > p->end) out[count++] = (zb_held){(int64_t)p->after.begin, (int64_t)p->after.end, p->end + 1, p->last};
  return count;
}

/* How far a must lie above the offset of b to be clear of it whenever they meet. */
static int64_t distance(const zb_piece *a, const zb_piece *b) {
  zb_held own[ZB_HELD_MAX], theirs[ZB_HELD_MAX];
  int64_t most = never;
  if (a->first > b->last || b->first > a->last) return never;
  int own_count = zb_piece_holds(a, own), their_count = zb_piece_holds(b, theirs);
  for (int x = 0; x < own_count; ++x)
    for (int y = 0; y < their_count; ++y) {
      if (theirs[y].from > own[x].to || own[x].from > theirs[y].to) continue;
      if (theirs[y].end - own[x].begin > most) most = theirs[y].end - own[x].begin;
    }
  return most;
}

/* ---- Moments ---- */

static int compare_times(const void *x, const void *y) {
  const int a = *(const int *)x, b = *(const int *)y;
  return (a > b) - (a < b);
}

/* The last of the sorted times that is not behind `time`. */
static int moment_of(const int *times, int count, int time) {
  int low = 0;
  while (count - low > 1) {
    const int middle = low + (count - low) / 2;
    if (times[middle] <= time)
      low = middle;
    else
      count = middle;
  }
  return low;
}

/* Where any stay begins or has ended, sorted; returns how many. `out` has room for two of each stay. */
static int find_times(const zb_piece *pieces, size_t count, int *out) {
  int n = 0, different = 0;
  for (size_t i = 0; i < count; ++i) {
    zb_held h[ZB_HELD_MAX];
    for (int k = zb_piece_holds(&pieces[i], h) - 1; k >= 0; --k) {
      out[n++] = h[k].from;
      out[n++] = h[k].to + 1;
    }
  }
  if (n) qsort(out, (size_t)n, sizeof *out, compare_times);
  for (int i = 0; i < n; ++i)
    if (i == 0 || out[i] != out[different - 1]) out[different++] = out[i];
  return different;
}

static void fill_stays(zb_within *w, const int *times, int count) {
  int n = 0;
  for (size_t i = 0; i < w->count; ++i) {
    zb_held h[ZB_HELD_MAX];
    w->stay_begin[i] = n;
    for (int k = zb_piece_holds(&w->pieces[i], h) - 1; k >= 0; --k)
      if (h[k].begin < h[k].end)
        w->stays[n++] = (stay){.piece = (int)i,
                               .from = moment_of(times, count, h[k].from),
                               .to = moment_of(times, count, h[k].to),
                               .begin = h[k].begin,
                               .bytes = h[k].end - h[k].begin};
  }
  w->stay_begin[w->count] = n;
}

static void fill_moments(zb_within *w) {
  const int stays = w->stay_begin[w->count];
  for (int i = 0; i < stays; ++i)
    for (int t = w->stays[i].from; t <= w->stays[i].to; ++t) {
      ++w->held_begin[t + 1];
      w->all[t] += w->stays[i].bytes;
    }
  for (int t = 0; t < w->moments; ++t) {
    w->held_begin[t + 1] += w->held_begin[t];
    w->witness[t] = w->held_begin[t];
  }
  for (int i = 0; i < stays; ++i)
    for (int t = w->stays[i].from; t <= w->stays[i].to; ++t)
      w->held[w->witness[t]++] = i;
}

static bool find_moments(zb_within *w, zb_arena *arena) {
  size_t held = 0;
  int *times = ZB_NEW(arena, int, 2 * ZB_HELD_MAX * w->count);
  w->stays = ZB_NEW(arena, stay, ZB_HELD_MAX * w->count);
  w->stay_begin = ZB_NEW(arena, int, w->count + 1);
  if (arena->failed) return false;
  w->moments = find_times(w->pieces, w->count, times);
  fill_stays(w, times, w->moments);
  for (int i = 0; i < w->stay_begin[w->count]; ++i)
    held += (size_t)(w->stays[i].to - w->stays[i].from + 1);
  w->held_begin = ZB_NEW(arena, int, w->moments + 1);
  w->held = ZB_NEW(arena, int, held);
  w->witness = ZB_NEW(arena, int, w->moments);
  w->all = ZB_NEW(arena, int64_t, w->moments);
  w->left = ZB_NEW(arena, int64_t, w->moments);
  if (arena->failed) return false;
  fill_moments(w);
  return true;
}

/* ---- */

zb_within *zb_within_create(zb_arena *arena, const zb_piece *pieces, size_t count) {
  zb_within *w = ZB_NEW(arena, zb_within, 1);
  if (!w) return NULL;
  *w = (zb_within){.pieces = pieces, .count = count};
  int begin = 0, times = 0;
  for (size_t i = 0; i < count; ++i)
    if (i == 0 || pieces[i].first < begin) begin = pieces[i].first;
  for (size_t i = 0; i < count; ++i) {
    if (pieces[i].last - begin >= times) times = pieces[i].last - begin + 1;
    w->look += pieces[i].last - pieces[i].first + 1;
  }
  w->look += (int64_t)count + times;
  w->above = ZB_NEW(arena, int64_t, count *count);
  w->low = ZB_NEW(arena, int64_t, count *(count + 1));
  w->candidates = ZB_NEW(arena, int, count *count);
  w->order = ZB_NEW(arena, int, count);
  w->rank = ZB_NEW(arena, int, count);
  w->placed = ZB_NEW(arena, bool, count);
  if (arena->failed || !find_moments(w, arena)) return NULL;
  for (size_t below = 0; below < count; ++below)
    for (size_t i = 0; i < count; ++i)
      w->above[below * count + i] = i == below ? never : distance(&pieces[i], &pieces[below]);
  return w;
}

static int64_t at_least(int64_t offset, int64_t last) { return offset < last ? last : offset; }

/* Looks for something still to be placed that lies low enough for all that is left at a moment; begins with what it
 * was last time. */
static bool find_witness(zb_within *w, const int64_t *low, int64_t last, int moment) {
  const int begin = w->held_begin[moment], end = w->held_begin[moment + 1];
  const int64_t most = w->capacity - w->left[moment];
  int at = w->witness[moment];
  for (int n = end - begin; n > 0; --n, ++at) {
    if (at >= end) at = begin;
    const stay *s = &w->stays[w->held[at]];
    if (w->placed[s->piece] || at_least(low[s->piece], last) + s->begin > most) continue;
    w->witness[moment] = at;
    return true;
  }
  return false;
}

/* Whether at every moment what is still to be placed can fit. */
static bool may_fit(zb_within *w, const int64_t *low, int64_t last) {
  for (size_t i = 0; i < w->count; ++i)
    if (!w->placed[i] && at_least(low[i], last) + (int64_t)w->pieces[i].bytes > w->capacity) return false;
  for (int t = 0; t < w->moments; ++t)
    if (w->left[t] > 0 && !find_witness(w, low, last, t)) return false;
  return true;
}

static void set_placed(zb_within *w, int piece, bool placed) {
  w->placed[piece] = placed;
  for (int i = w->stay_begin[piece]; i < w->stay_begin[piece + 1]; ++i) {
    const stay *s = &w->stays[i];
    const int64_t change = placed ? -s->bytes : s->bytes;
    for (int t = s->from; t <= s->to; ++t)
      w->left[t] += change;
  }
}

/* The pieces that may come next, the lowest first. `before` is the last piece (-1: none), at `last`. */
static size_t find_candidates(const zb_within *w, const int64_t *low, int64_t last, int before, int *out) {
  int64_t reach = INT64_MAX;
  size_t count = 0;
  for (size_t i = 0; i < w->count; ++i) {
    int64_t top = at_least(low[i], last) + (int64_t)w->pieces[i].bytes;
    if (!w->placed[i] && top < reach) reach = top;
  }
  for (size_t i = 0; i < w->count; ++i) {
    int64_t offset = at_least(low[i], last);
    if (w->placed[i] || offset >= reach) continue;
    /* Two that do not meet, at the same offset, are tried in one order only. */
    if (before >= 0 && offset == last && w->above[(size_t)before * w->count + i] == never &&
        w->rank[i] < w->rank[before])
      continue;
    size_t at = count++;
    for (; at > 0; --at) {
      int64_t other = at_least(low[out[at - 1]], last);
      if (other < offset || (other == offset && w->rank[out[at - 1]] < w->rank[i])) break;
      out[at] = out[at - 1];
    }
    out[at] = (int)i;
  }
  return count;
}

/* Places what is left; depth pieces are placed. */
static bool place_rest(zb_within *w, size_t depth, int64_t last, int before) {
  if (depth == w->count) return true;
  *w->work -= w->look;
  if (*w->work < 0 || w->steps-- <= 0) return false;
  const int64_t *low = w->low + depth * w->count;
  if (!may_fit(w, low, last)) return false;
  int *candidates = w->candidates + depth * w->count;
  size_t count = find_candidates(w, low, last, before, candidates);
  for (size_t c = 0; c < count && w->steps > 0; ++c) {
    int piece = candidates[c];
    int64_t offset = at_least(low[piece], last), *next = w->low + (depth + 1) * w->count;
    const int64_t *above = w->above + (size_t)piece * w->count;
    for (size_t i = 0; i < w->count; ++i)
      next[i] = above[i] != never && offset + above[i] > low[i] ? offset + above[i] : low[i];
    w->order[depth] = piece;
    set_placed(w, piece, true);
    if (place_rest(w, depth + 1, offset, piece)) return true;
    set_placed(w, piece, false);
  }
  return false;
}

bool zb_within_find(zb_within *w, uint64_t capacity, const int *wanted, int64_t *work, int *out_order) {
  /* A search that goes wrong early does not come back: restarting in another order finds more than backtracking. */
  enum { STEPS_A_PIECE = 4 };
  w->capacity = (int64_t)capacity;
  w->work = work;
  w->steps = STEPS_A_PIECE * (int64_t)w->count;
  for (size_t i = 0; i < w->count; ++i) {
    w->rank[wanted[i]] = (int)i;
    w->placed[i] = false;
    w->low[i] = 0;
  }
  memcpy(w->left, w->all, (size_t)w->moments * sizeof *w->left);
  if (!place_rest(w, 0, 0, -1)) return false;
  memcpy(out_order, w->order, w->count * sizeof *out_order);
  return true;
}
