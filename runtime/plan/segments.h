/* A sorted list of disjoint byte ranges, each with the number of who wrote it; for runtime/plan and
 * runtime/device/cuda. Out of memory is sticky (`failed`). Not thread-safe. Neighbours with the same writer are one
 * segment. */
#ifndef ZB_PLAN_SEGMENTS_H
#define ZB_PLAN_SEGMENTS_H

#include "zb/base.h"

typedef struct zb_segment {
  uint64_t begin, end; /* begin < end */
  int32_t writer;
} zb_segment;

typedef struct zb_segments {
  zb_segment *items;
  size_t count, capacity;
  bool failed;
} zb_segments;

void zb_segments_deinit(zb_segments *segments);
/* [begin, end) now belongs to `writer`, whatever it was. */
void zb_segments_assign(zb_segments *segments, uint64_t begin, uint64_t end, int32_t writer);
/* [begin, end) belongs to nobody. */
void zb_segments_remove(zb_segments *segments, uint64_t begin, uint64_t end);
/* Index of the first segment that ends after `position`; count if there is none. O(log count). */
size_t zb_segments_find(const zb_segments *segments, uint64_t position);
/* Whether any byte of [begin, end) is in the list; whether all are. */
bool zb_segments_overlap(const zb_segments *segments, uint64_t begin, uint64_t end);
bool zb_segments_cover(const zb_segments *segments, uint64_t begin, uint64_t end);
/* Whether two lists share a byte, and the first such byte. O(both counts). */
bool zb_segments_meet(const zb_segments *a, const zb_segments *b, uint64_t *where);

#endif
