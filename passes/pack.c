// Packing by first fit in several orders: by start, largest first, longest first, and from the best of them by repair: a piece that ends at the
// top is placed earlier, which is what such pieces lack. Where stages differ in size (chunks of a rank), repair saves up to a fifth.
// Tests: test/passes/pack_test.c; memory.py compares with what jobs hold.

#include "passes/pack.h"

#include "runtime/base/text.h"

#include <stdlib.h>
#include <string.h>

// Offsets that a piece cannot have because of one other piece: begin < offset < end.
typedef struct taken {
  int64_t begin, end;
} taken;

typedef struct packer {
  zb_piece *pieces;
  size_t count;
  int *order, *best;  // [count]
  int *placed;        // by address
  taken *taken;       // [HELD_MAX * HELD_MAX * count]
} packer;

// ---- One piece ----

// What is held of a piece at a time: bytes [begin, end) of it from `from` to `to`.
typedef struct held {
  int64_t begin, end;
  int from, to;
} held;
enum { HELD_MAX = 3 };

static int holds(const zb_piece *p, held out[HELD_MAX]) {
  int count = 0;
  out[count++] = (held){0, (int64_t)p->bytes, p->start, p->end};
  if (p->first < p->start) out[count++] = (held){(int64_t)p->before.begin, (int64_t)p->before.end, p->first, p->start - 1};
  if (p->last > p->end) out[count++] = (held){(int64_t)p->after.begin, (int64_t)p->after.end, p->end + 1, p->last};
  return count;
}

static void forbid(taken *list, size_t *count, taken t) {
  size_t at = (*count)++; // nearly sorted already, as pieces come by address
  for (; at > 0 && list[at - 1].begin > t.begin; --at) list[at] = list[at - 1];
  list[at] = t;
}

// Lowest offset for `a` beside the first `count` of placed.
static uint64_t lowest(packer *k, const zb_piece *a, size_t count) {
  size_t n = 0;
  held own[HELD_MAX];
  int own_count = holds(a, own);
  for (size_t i = 0; i < count; ++i) {
    const zb_piece *b = &k->pieces[k->placed[i]];
    if (b->first > a->last || a->first > b->last) continue;
    held theirs[HELD_MAX];
    int their_count = holds(b, theirs);
    for (int x = 0; x < own_count; ++x)
      for (int y = 0; y < their_count; ++y) {
        if (theirs[y].from > own[x].to || own[x].from > theirs[y].to) continue;
        forbid(k->taken, &n, (taken){(int64_t)b->offset + theirs[y].begin - own[x].end, (int64_t)b->offset + theirs[y].end - own[x].begin});
      }
  }
  int64_t offset = 0;
  for (size_t i = 0; i < n && k->taken[i].begin < offset; ++i)
    if (k->taken[i].end > offset) offset = k->taken[i].end;
  return (uint64_t)offset;
}

static void insert(packer *k, size_t count, int piece) {
  size_t at = count;
  for (; at > 0 && k->pieces[k->placed[at - 1]].offset > k->pieces[piece].offset; --at) k->placed[at] = k->placed[at - 1];
  k->placed[at] = piece;
}

// ---- One order ----

// First fit in the given order; stops where it takes more than `enough`. Bytes in all.
static uint64_t pack_in_order(packer *k, const int *order, uint64_t enough) {
  uint64_t total = 0;
  for (size_t i = 0; i < k->count && total <= enough; ++i) {
    zb_piece *p = &k->pieces[order[i]];
    p->offset = lowest(k, p, i);
    insert(k, i, order[i]);
    if (p->offset + p->bytes > total) total = p->offset + p->bytes;
  }
  return total;
}

// The same by start, where what has ended needs no look.
static uint64_t pack_by_start(packer *k) {
  uint64_t total = 0;
  size_t live = 0;
  for (size_t i = 0; i < k->count; ++i) {
    zb_piece *p = &k->pieces[k->order[i]];
    size_t kept = 0;
    for (size_t l = 0; l < live; ++l)
      if (k->pieces[k->placed[l]].last >= p->first) k->placed[kept++] = k->placed[l];
    p->offset = lowest(k, p, live = kept);
    insert(k, live++, k->order[i]);
    if (p->offset + p->bytes > total) total = p->offset + p->bytes;
  }
  return total;
}

static _Thread_local const zb_piece *sort_pieces; // qsort has no context; set and used inside zb_pack

static int compare_starts(const void *x, const void *y) {
  const zb_piece *a = &sort_pieces[*(const int *)x], *b = &sort_pieces[*(const int *)y];
  if (a->first != b->first) return a->first - b->first;
  if (a->bytes != b->bytes) return a->bytes > b->bytes ? -1 : 1;
  return *(const int *)x - *(const int *)y;
}

static int compare_sizes(const void *x, const void *y) {
  const zb_piece *a = &sort_pieces[*(const int *)x], *b = &sort_pieces[*(const int *)y];
  if (a->bytes != b->bytes) return a->bytes > b->bytes ? -1 : 1;
  return compare_starts(x, y);
}

static int compare_lives(const void *x, const void *y) {
  const zb_piece *a = &sort_pieces[*(const int *)x], *b = &sort_pieces[*(const int *)y];
  int life = (b->last - b->first) - (a->last - a->first);
  return life ? life : compare_sizes(x, y);
}

// ---- Several orders ----

static void sort(packer *k, int (*compare)(const void *, const void *)) {
  sort_pieces = k->pieces;
  if (k->count) qsort(k->order, k->count, sizeof *k->order, compare);
}

// Keeps the order at hand as the best if it takes less. The pieces stand as it says.
static void keep(packer *k, uint64_t bytes, uint64_t *best) {
  if (bytes >= *best) return;
  *best = bytes;
  memcpy(k->best, k->order, k->count * sizeof *k->order);
}

// Moves the piece that ends at the top forward to half its place in the order.
static void repair(packer *k, uint64_t total) {
  size_t at = 0;
  while (at < k->count && k->pieces[k->order[at]].offset + k->pieces[k->order[at]].bytes < total) ++at;
  if (at == k->count) return;
  int piece = k->order[at];
  size_t to = at / 2;
  memmove(&k->order[to + 1], &k->order[to], (at - to) * sizeof *k->order);
  k->order[to] = piece;
}

static uint64_t pack_searching(packer *k, uint64_t bound) {
  enum { TRIES_MAX = 64, WORK = 1 << 21 };
  static int (*const starts[])(const void *, const void *) = {compare_starts, compare_sizes, compare_lives};
  uint64_t best = UINT64_MAX;
  for (size_t i = 0; i < sizeof starts / sizeof starts[0] && best > bound; ++i) {
    sort(k, starts[i]);
    keep(k, pack_in_order(k, k->order, UINT64_MAX), &best);
  }
  size_t tries = WORK / (k->count * k->count + 1);
  if (tries > TRIES_MAX) tries = TRIES_MAX;
  memcpy(k->order, k->best, k->count * sizeof *k->order);
  for (size_t i = 0; i < tries && best > bound; ++i) {
    uint64_t bytes = pack_in_order(k, k->order, UINT64_MAX);
    keep(k, bytes, &best);
    repair(k, bytes);
  }
  return pack_in_order(k, k->best, UINT64_MAX);
}

typedef struct change {
  int time;
  int64_t bytes;
} change;

static int compare_changes(const void *x, const void *y) {
  const change *a = x, *b = y;
  if (a->time != b->time) return a->time < b->time ? -1 : 1;
  return (a->bytes > b->bytes) - (a->bytes < b->bytes);
}

uint64_t zb_pack_bound(const zb_piece *pieces, size_t count) {
  change *changes = zb_alloc((2 * HELD_MAX * count + 1) * sizeof *changes);
  size_t n = 0;
  int64_t live = 0, most = 0;
  if (!changes) return UINT64_MAX;
  for (size_t i = 0; i < count; ++i) {
    held h[HELD_MAX];
    for (int k = holds(&pieces[i], h) - 1; k >= 0; --k) {
      changes[n++] = (change){h[k].from, h[k].end - h[k].begin};
      changes[n++] = (change){h[k].to + 1, h[k].begin - h[k].end};
    }
  }
  if (n) qsort(changes, n, sizeof *changes, compare_changes);
  for (size_t i = 0; i < n; ++i) {
    live += changes[i].bytes;
    if (live > most) most = live;
  }
  zb_free(changes);
  return (uint64_t)most;
}

zb_status zb_pack(zb_piece *pieces, size_t count, uint64_t *out_bytes) {
  enum { SEARCHED_MAX = 1024 };
  packer k = {.pieces = pieces, .count = count};
  k.order = zb_alloc(3 * (count + 1) * sizeof *k.order);
  k.taken = zb_alloc((HELD_MAX * HELD_MAX * count + 1) * sizeof *k.taken);
  zb_status status = NULL;
  if (!k.order || !k.taken) ZB_TRY_GOTO(ZB_OUT_OF_MEMORY());
  k.best = k.order + count + 1;
  k.placed = k.best + count + 1;
  for (size_t i = 0; i < count; ++i) k.order[i] = (int)i;
  sort(&k, compare_starts);
  *out_bytes = count <= SEARCHED_MAX ? pack_searching(&k, zb_pack_bound(pieces, count)) : pack_by_start(&k);
cleanup:
  zb_free(k.order);
  zb_free(k.taken);
  return status;
}
