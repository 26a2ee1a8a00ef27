/* A queue of numbers by key, the smallest first; of equal keys the smallest number. The caller has room for as many as
 * are in it at a time. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

typedef struct zb_heap_item {
  int64_t key, number;
} zb_heap_item;

typedef struct zb_heap {
  zb_heap_item *items; /* the first one is the smallest */
  int count;
} zb_heap;

static inline bool zb_heap_before(const zb_heap_item *a, const zb_heap_item *b) {
  return a->key != b->key ? a->key < b->key : a->number < b->number;
}

static inline void zb_heap_push(zb_heap *h, int64_t key, int64_t number) {
  const zb_heap_item added = {key, number};
  int at = h->count++;
  for (int up = (at - 1) / 2; at > 0 && zb_heap_before(&added, &h->items[up]); at = up, up = (at - 1) / 2)
    h->items[at] = h->items[up];
  h->items[at] = added;
}

/* Takes the smallest out; there is one. */
static inline zb_heap_item zb_heap_pop(zb_heap *h) {
  const zb_heap_item first = h->items[0], moved = h->items[--h->count];
  int at = 0;
  for (int down = 1; down < h->count; down = 2 * at + 1) {
    if (down + 1 < h->count && zb_heap_before(&h->items[down + 1], &h->items[down])) ++down;
    if (!zb_heap_before(&h->items[down], &moved)) break;
    h->items[at] = h->items[down];
    at = down;
  }
  h->items[at] = moved;
  return first;
}
