/* A sorted list of disjoint byte ranges, each with the number of who wrote it; for runtime/plan and
 * runtime/device/cuda. Out of memory is sticky (`failed`). Not thread-safe. Neighbours with the same writer are one
 * interval. */
#pragma once

#include "zb/base.h"

typedef struct zb_interval {
  uint64_t begin, end; /* begin < end */
  int32_t writer;
} zb_interval;

typedef struct zb_intervals {
  zb_interval *items;
  size_t count, capacity;
  bool failed;
} zb_intervals;

void zb_intervals_deinit(zb_intervals *intervals);
/* [begin, end) now belongs to `writer`, whatever it was. */
void zb_intervals_assign(zb_intervals *intervals, uint64_t begin, uint64_t end, int32_t writer);
/* [begin, end) belongs to nobody. */
void zb_intervals_remove(zb_intervals *intervals, uint64_t begin, uint64_t end);
/* Index of the first interval that ends after `position`; count if there is none. O(log count). */
size_t zb_intervals_find(const zb_intervals *intervals, uint64_t position);
/* Whether any byte of [begin, end) is in the list; whether all are. */
bool zb_intervals_overlap(const zb_intervals *intervals, uint64_t begin, uint64_t end);
bool zb_intervals_cover(const zb_intervals *intervals, uint64_t begin, uint64_t end);
/* Whether two lists share a byte, and the first such byte. O(both counts). */
bool zb_intervals_meet(const zb_intervals *a, const zb_intervals *b, uint64_t *where);
