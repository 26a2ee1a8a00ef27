/* Lists of byte ranges: runtime/plan/segments.h.
 *
 * Tests: test/runtime/plan/segments_test.c (against an array of bytes)
 */
#include "runtime/plan/segments.h"

#include "runtime/base/memory.h"

#include <string.h>

void zb_segments_deinit(zb_segments *segments) {
  zb_free(segments->items);
  *segments = (zb_segments){0};
}

size_t zb_segments_find(const zb_segments *segments, uint64_t position) {
  size_t low = 0, high = segments->count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (segments->items[middle].end > position)
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

/* Replaces segments [first, last) by `count` others. */
static void splice(zb_segments *segments, size_t first, size_t last, const zb_segment *others, size_t count) {
  size_t kept = segments->count - (last - first);
  if (!zb_grow((void **)&segments->items, &segments->capacity, kept + count, sizeof *segments->items)) {
    segments->failed = true;
    return;
  }
  if (segments->count > last && count != last - first)
    memmove(segments->items + first + count, segments->items + last,
            (segments->count - last) * sizeof *segments->items);
  if (count > 0) memcpy(segments->items + first, others, count * sizeof *others);
  segments->count = kept + count;
}

/* Cuts [begin, end) out and puts `fresh` there, if not NULL. */
static void replace(zb_segments *segments, uint64_t begin, uint64_t end, const zb_segment *fresh) {
  if (begin >= end || segments->failed) return;
  zb_segment others[3];
  size_t count = 0;
  size_t first = zb_segments_find(segments, begin), last = first;
  while (last < segments->count && segments->items[last].begin < end)
    ++last;
  if (first < last && segments->items[first].begin < begin) {
    others[count] = segments->items[first];
    others[count++].end = begin;
  }
  if (fresh) others[count++] = *fresh;
  if (first < last && segments->items[last - 1].end > end) {
    others[count] = segments->items[last - 1];
    others[count++].begin = end;
  }
  splice(segments, first, last, others, count);
}

/* Joins segment `index` with the one before it if they touch and have the same writer. */
static void join(zb_segments *segments, size_t index) {
  if (index == 0 || index >= segments->count) return;
  zb_segment *left = &segments->items[index - 1], *right = &segments->items[index];
  if (left->end != right->begin || left->writer != right->writer) return;
  left->end = right->end;
  splice(segments, index, index + 1, NULL, 0);
}

void zb_segments_assign(zb_segments *segments, uint64_t begin, uint64_t end, int32_t writer) {
  zb_segment fresh = {begin, end, writer};
  replace(segments, begin, end, &fresh);
  if (segments->failed || begin >= end) return;
  size_t index = zb_segments_find(segments, begin);
  join(segments, index + 1);
  join(segments, index);
}

void zb_segments_remove(zb_segments *segments, uint64_t begin, uint64_t end) { replace(segments, begin, end, NULL); }

bool zb_segments_overlap(const zb_segments *segments, uint64_t begin, uint64_t end) {
  if (begin >= end) return false;
  size_t index = zb_segments_find(segments, begin);
  return index < segments->count && segments->items[index].begin < end;
}

bool zb_segments_cover(const zb_segments *segments, uint64_t begin, uint64_t end) {
  for (size_t i = zb_segments_find(segments, begin); begin < end; ++i) {
    if (i >= segments->count || segments->items[i].begin > begin) return false;
    begin = segments->items[i].end;
  }
  return true;
}

bool zb_segments_meet(const zb_segments *a, const zb_segments *b, uint64_t *where) {
  for (size_t i = 0, j = 0; i < a->count && j < b->count;) {
    uint64_t begin = a->items[i].begin > b->items[j].begin ? a->items[i].begin : b->items[j].begin;
    if (begin < a->items[i].end && begin < b->items[j].end) {
      *where = begin;
      return true;
    }
    if (a->items[i].end <= b->items[j].end)
      ++i;
    else
      ++j;
  }
  return false;
}
