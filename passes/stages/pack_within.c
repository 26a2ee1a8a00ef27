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
#include "passes/stages/pack_within.h"

#include <string.h>

struct zb_within {
  const zb_piece *pieces;
  size_t count;
  int begin, times; /* pieces are held at begin .. begin + times - 1 */
  int64_t held;     /* moments x pieces held: what a look at all costs */
  int64_t *above;   /* [below * count + piece]: how far the piece lies above the offset of the other; NEVER: they do not
                       meet */
  int64_t *low;     /* [depth * count + piece]: lowest offset above all that is placed */
  int *candidates;  /* [depth * count] */
  int *order, *rank; /* [depth]: placed; [piece]: its place in `wanted` */
  bool *placed;
  int64_t *lowest, *left; /* [time - begin]: of what is still to be placed */
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

zb_within *zb_within_create(zb_arena *arena, const zb_piece *pieces, size_t count) {
  zb_within *w = ZB_NEW(arena, zb_within, 1);
  if (!w) return NULL;
  *w = (zb_within){.pieces = pieces, .count = count};
  for (size_t i = 0; i < count; ++i)
    if (i == 0 || pieces[i].first < w->begin) w->begin = pieces[i].first;
  for (size_t i = 0; i < count; ++i) {
    if (pieces[i].last - w->begin >= w->times) w->times = pieces[i].last - w->begin + 1;
    w->held += pieces[i].last - pieces[i].first + 1;
  }
  w->above = ZB_NEW(arena, int64_t, count *count);
  w->low = ZB_NEW(arena, int64_t, count *(count + 1));
  w->candidates = ZB_NEW(arena, int, count *count);
  w->order = ZB_NEW(arena, int, count);
  w->rank = ZB_NEW(arena, int, count);
  w->placed = ZB_NEW(arena, bool, count);
  w->lowest = ZB_NEW(arena, int64_t, w->times);
  w->left = ZB_NEW(arena, int64_t, w->times);
  if (arena->failed) return NULL;
  for (size_t below = 0; below < count; ++below)
    for (size_t i = 0; i < count; ++i)
      w->above[below * count + i] = i == below ? never : distance(&pieces[i], &pieces[below]);
  return w;
}

static int64_t at_least(int64_t offset, int64_t last) { return offset < last ? last : offset; }

/* Whether at every moment what is still to be placed can fit. */
static bool may_fit(zb_within *w, const int64_t *low, int64_t last) {
  for (int t = 0; t < w->times; ++t)
    w->lowest[t] = INT64_MAX, w->left[t] = 0;
  for (size_t i = 0; i < w->count; ++i) {
    if (w->placed[i]) continue;
    int64_t offset = at_least(low[i], last);
    if (offset + (int64_t)w->pieces[i].bytes > w->capacity) return false;
    zb_held h[ZB_HELD_MAX];
    for (int k = zb_piece_holds(&w->pieces[i], h) - 1; k >= 0; --k)
      for (int t = h[k].from - w->begin; t <= h[k].to - w->begin && h[k].begin < h[k].end; ++t) {
        if (offset + h[k].begin < w->lowest[t]) w->lowest[t] = offset + h[k].begin;
        w->left[t] += h[k].end - h[k].begin;
      }
  }
  for (int t = 0; t < w->times; ++t)
    if (w->left[t] > 0 && w->lowest[t] > w->capacity - w->left[t]) return false;
  return true;
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
  *w->work -= (int64_t)w->count + w->times + w->held;
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
    w->placed[piece] = true;
    if (place_rest(w, depth + 1, offset, piece)) return true;
    w->placed[piece] = false;
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
  if (!place_rest(w, 0, 0, -1)) return false;
  memcpy(out_order, w->order, w->count * sizeof *out_order);
  return true;
}
