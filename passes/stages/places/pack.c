/* Packing by first fit in several orders: by start, largest first, longest first, and from the best of them by repair:
 * a piece that ends at the top is placed earlier, which is what such pieces lack. What is still wasted is looked for by
 * pack_within.c, in steps towards the bound that no packing can beat. Stages that differ in size (chunks of a rank)
 * need all of it. Tests: test/passes/pack_test.c; memory.py compares with what jobs hold. */

#include "passes/stages/places/pack.h"

#include "passes/stages/places/pack_within.h"

#include <stdlib.h>
#include <string.h>

/* Offsets that a piece cannot have because of one other piece: begin < offset < end. */
typedef struct taken {
  int64_t begin, end;
} taken;

/* What a piece holds, and a piece that has its offset: for walks over many of them. */
typedef struct holding {
  int count;
  zb_held held[ZB_HELD_MAX];
} holding;

typedef struct place {
  int first, last, piece;
} place;

typedef struct packer {
  zb_piece *pieces;
  size_t count;
  holding *holdings;         /* [count] */
  int *order, *best, *found; /* [count] */
  place *placed;             /* by address */
  taken *taken;              /* [ZB_HELD_MAX * ZB_HELD_MAX * count] */
  zb_arena arena;
} packer;

/* ---- One piece ---- */

static void forbid(taken *list, size_t *count, taken t) {
  size_t at = (*count)++; /* nearly sorted already, as pieces come by address */
  for (; at > 0 && list[at - 1].begin > t.begin; --at)
    list[at] = list[at - 1];
  list[at] = t;
}

/* Forbids what puts the piece where another one is while both are held. */
static void forbid_both(packer *k, size_t *count, const holding *own, const place *other) {
  const holding *theirs = &k->holdings[other->piece];
  const int64_t offset = (int64_t)k->pieces[other->piece].offset;
  for (int x = 0; x < own->count; ++x)
    for (int y = 0; y < theirs->count; ++y) {
      const zb_held *a = &own->held[x], *b = &theirs->held[y];
      if (b->from > a->to || a->from > b->to) continue;
      forbid(k->taken, count, (taken){offset + b->begin - a->end, offset + b->end - a->begin});
    }
}

/* Lowest offset at which a piece overlaps none of the first `count` of placed. */
static uint64_t lowest(packer *k, int piece, size_t count) {
  size_t n = 0;
  const int first = k->pieces[piece].first, last = k->pieces[piece].last;
  for (size_t i = 0; i < count; ++i)
    if (k->placed[i].first <= last && k->placed[i].last >= first)
      forbid_both(k, &n, &k->holdings[piece], &k->placed[i]);
  int64_t offset = 0;
  for (size_t i = 0; i < n && k->taken[i].begin < offset; ++i)
    if (k->taken[i].end > offset) offset = k->taken[i].end;
  return (uint64_t)offset;
}

static void insert(packer *k, size_t count, int piece) {
  const zb_piece *p = &k->pieces[piece];
  size_t at = count;
  for (; at > 0 && k->pieces[k->placed[at - 1].piece].offset > p->offset; --at)
    k->placed[at] = k->placed[at - 1];
  k->placed[at] = (place){p->first, p->last, piece};
}

/* ---- One order ---- */

/* First fit in the given order; stops where it takes more than `enough`. Bytes in all. */
static uint64_t pack_in_order(packer *k, const int *order, uint64_t enough) {
  uint64_t total = 0;
  for (size_t i = 0; i < k->count && total <= enough; ++i) {
    zb_piece *p = &k->pieces[order[i]];
    p->offset = lowest(k, order[i], i);
    insert(k, i, order[i]);
    if (p->offset + p->bytes > total) total = p->offset + p->bytes;
  }
  return total;
}

/* The same by start, where what has ended needs no look. */
static uint64_t pack_by_start(packer *k) {
  uint64_t total = 0;
  size_t live = 0;
  for (size_t i = 0; i < k->count; ++i) {
    zb_piece *p = &k->pieces[k->order[i]];
    size_t kept = 0;
    for (size_t l = 0; l < live; ++l)
      if (k->placed[l].last >= p->first) k->placed[kept++] = k->placed[l];
    p->offset = lowest(k, k->order[i], live = kept);
    insert(k, live++, k->order[i]);
    if (p->offset + p->bytes > total) total = p->offset + p->bytes;
  }
  return total;
}

static _Thread_local const zb_piece *sort_pieces; /* qsort has no context; set and used inside zb_pack */

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

static int compare_areas(const void *x, const void *y) {
  const zb_piece *a = &sort_pieces[*(const int *)x], *b = &sort_pieces[*(const int *)y];
  double own = (double)a->bytes * (a->last - a->first + 1), other = (double)b->bytes * (b->last - b->first + 1);
  if (own > other || own < other) return own > other ? -1 : 1;
  return compare_starts(x, y);
}

/* ---- Several orders ---- */

static void sort(packer *k, int (*compare)(const void *, const void *)) {
  sort_pieces = k->pieces;
  if (k->count) qsort(k->order, k->count, sizeof *k->order, compare);
}

/* Keeps the order at hand, by which the pieces are placed, as the best if it takes less. */
static void keep(packer *k, uint64_t bytes, uint64_t *best) {
  if (bytes >= *best) return;
  *best = bytes;
  memcpy(k->best, k->order, k->count * sizeof *k->order);
}

/* Moves the piece that ends at the top forward to half its place in the order. */
static void repair(packer *k, uint64_t total) {
  size_t at = 0;
  while (at < k->count && k->pieces[k->order[at]].offset + k->pieces[k->order[at]].bytes < total)
    ++at;
  if (at == k->count) return;
  int piece = k->order[at];
  size_t to = at / 2;
  memmove(&k->order[to + 1], &k->order[to], (at - to) * sizeof *k->order);
  k->order[to] = piece;
}

static int (*const orders[])(const void *, const void *) = {compare_starts, compare_sizes, compare_lives,
                                                            compare_areas};
enum { ORDER_COUNT = sizeof orders / sizeof orders[0], WITHIN_MAX = 512, ROUNDS = 12, SEARCHED_MAX = 1024 };

/* Lets some neighbours change places; deterministic. */
static void shuffle(packer *k, uint64_t seed, size_t times) {
  for (size_t i = 0; i < times; ++i) {
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    size_t at = (size_t)(seed >> 33) % k->count, to = at + (size_t)(seed >> 20) % 5;
    if (to >= k->count) continue;
    int piece = k->order[at];
    k->order[at] = k->order[to];
    k->order[to] = piece;
  }
}

/* Whether an order within the capacity is found; it is then k->order. */
static bool find_within(packer *k, zb_within *within, uint64_t capacity, int64_t *work) {
  for (size_t i = 0; i < ROUNDS * ORDER_COUNT && *work > 0; ++i) {
    sort(k, orders[(i + 2) % ORDER_COUNT]); /* the longest first */
    shuffle(k, i, i / ORDER_COUNT * k->count / 8);
    if (zb_within_find(within, capacity, k->order, work, k->found)) {
      memcpy(k->order, k->found, k->count * sizeof *k->order);
      return true;
    }
  }
  return false;
}

/* Less and less of the waste that is left, until three capacities were not met. */
static zb_status pack_within(packer *k, uint64_t bound, uint64_t *best) {
  static const uint64_t parts[] = {8, 12, 14}; /* of 16 of the waste */
  enum { FAILURES = sizeof parts / sizeof parts[0] };
  int64_t work = INT64_C(1) << 25;
  zb_within *within = zb_within_create(&k->arena, k->pieces, k->count);
  ZB_TRY(zb_arena_status(&k->arena));
  for (int failures = 0; failures < FAILURES && *best > bound && work > 0;) {
    bool last = *best - bound < bound / 256;
    uint64_t capacity = last ? bound : bound + (*best - bound) * parts[failures] / 16;
    if (find_within(k, within, capacity, &work))
      keep(k, pack_in_order(k, k->order, UINT64_MAX), best);
    else
      failures += last ? FAILURES : 1;
  }
  return NULL;
}

static zb_status pack_searching(packer *k, uint64_t bound, uint64_t *out_bytes) {
  enum { TRIES_MAX = 64, WORK = 1 << 21 };
  uint64_t best = UINT64_MAX;
  for (size_t i = 0; i < ORDER_COUNT && best > bound; ++i) {
    sort(k, orders[i]);
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
  if (best > bound && k->count <= WITHIN_MAX) ZB_TRY(pack_within(k, bound, &best));
  *out_bytes = pack_in_order(k, k->best, UINT64_MAX);
  return NULL;
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
  change *changes = zb_alloc((2 * ZB_HELD_MAX * count + 1) * sizeof *changes);
  size_t n = 0;
  int64_t live = 0, most = 0;
  if (!changes) return UINT64_MAX;
  for (size_t i = 0; i < count; ++i) {
    zb_held h[ZB_HELD_MAX];
    for (int k = zb_piece_holds(&pieces[i], h) - 1; k >= 0; --k) {
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

static zb_status pack(zb_piece *pieces, size_t count, uint64_t *out_bytes) {
  packer k = {.pieces = pieces, .count = count};
  k.order = ZB_NEW(&k.arena, int, count);
  k.best = ZB_NEW(&k.arena, int, count);
  k.found = ZB_NEW(&k.arena, int, count);
  k.placed = ZB_NEW(&k.arena, place, count);
  k.holdings = ZB_NEW(&k.arena, holding, count);
  k.taken = ZB_NEW(&k.arena, taken, ZB_HELD_MAX * ZB_HELD_MAX * count);
  zb_status status = NULL;
  ZB_TRY_GOTO(zb_arena_status(&k.arena));
  for (size_t i = 0; i < count; ++i) {
    k.order[i] = (int)i;
    k.holdings[i].count = zb_piece_holds(&pieces[i], k.holdings[i].held);
  }
  sort(&k, compare_starts);
  if (count > SEARCHED_MAX) {
    *out_bytes = pack_by_start(&k);
  } else {
    uint64_t bound = zb_pack_bound(pieces, count);
    status = bound == UINT64_MAX ? ZB_OUT_OF_MEMORY() : pack_searching(&k, bound, out_bytes);
  }
cleanup:
  zb_arena_deinit(&k.arena);
  return status;
}

/* ---- What was packed before ---- */

static zb_status find_known(zb_memo *memo, const zb_question *question, zb_piece *pieces, uint64_t *out_bytes,
                            bool *out_found) {
  void *answer;
  size_t bytes;
  ZB_TRY(zb_memo_find(memo, question, &answer, &bytes));
  *out_found = answer != NULL;
  if (!answer) return NULL;
  memcpy(pieces, answer, question->count);
  memcpy(out_bytes, (unsigned char *)answer + question->count, sizeof *out_bytes);
  zb_free(answer);
  return NULL;
}

static zb_status keep_known(zb_memo *memo, const zb_question *question, const zb_piece *pieces, uint64_t bytes) {
  unsigned char *answer = zb_alloc(question->count + sizeof bytes);
  if (!answer) return ZB_OUT_OF_MEMORY();
  memcpy(answer, pieces, question->count);
  memcpy(answer + question->count, &bytes, sizeof bytes);
  zb_status status = zb_memo_keep(memo, question, answer, question->count + sizeof bytes);
  zb_free(answer);
  return status;
}

zb_status zb_pack(zb_memo *memo, zb_piece *pieces, size_t count, uint64_t *out_bytes) {
  _Static_assert(sizeof(zb_piece) == 6 * sizeof(uint64_t) + 4 * sizeof(int), "no padding: pieces are compared whole");
  if (!memo || count > SEARCHED_MAX) return pack(pieces, count, out_bytes);
  for (size_t i = 0; i < count; ++i)
    pieces[i].offset = 0;
  zb_piece *asked = zb_alloc((count + 1) * sizeof *asked);
  const zb_question question = {"zb_pack", asked, count * sizeof *asked};
  bool found = false;
  zb_status status = NULL;
  if (!asked) return ZB_OUT_OF_MEMORY();
  if (count) memcpy(asked, pieces, question.count);
  ZB_TRY_GOTO(find_known(memo, &question, pieces, out_bytes, &found));
  if (found) goto cleanup;
  ZB_TRY_GOTO(pack(pieces, count, out_bytes));
  status = keep_known(memo, &question, pieces, *out_bytes);
cleanup:
  zb_free(asked);
  return status;
}
