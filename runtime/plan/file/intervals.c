/* Lists of byte ranges: runtime/plan/file/intervals.h.
 *
 * Tests: test/runtime/plan/file/intervals_test.c (against an array of bytes)
 */
#include "runtime/plan/file/intervals.h"

#include "runtime/base/memory.h"
#include "runtime/base/sorted.h"

#include <string.h>

void zb_intervals_deinit(zb_intervals *intervals) {
  zb_free(intervals->items);
  *intervals = (zb_intervals){0};
}

size_t zb_intervals_find(const zb_intervals *intervals, uint64_t position) {
  return zb_count_up_to(intervals->items, sizeof *intervals->items, offsetof(zb_interval, end), intervals->count,
                        position);
}

/* Replaces intervals [first, last) by `count` others. */
static void splice(zb_intervals *intervals, size_t first, size_t last, const zb_interval *others, size_t count) {
  size_t kept = intervals->count - (last - first);
  if (!zb_grow((void **)&intervals->items, &intervals->capacity, kept + count, sizeof *intervals->items)) {
    intervals->failed = true;
    return;
  }
  if (intervals->count > last && count != last - first)
    memmove(intervals->items + first + count, intervals->items + last,
            (intervals->count - last) * sizeof *intervals->items);
  if (count > 0) memcpy(intervals->items + first, others, count * sizeof *others);
  intervals->count = kept + count;
}

/* Cuts [begin, end) out and puts `fresh` there, if not NULL. */
static void replace(zb_intervals *intervals, uint64_t begin, uint64_t end, const zb_interval *fresh) {
  if (begin >= end || intervals->failed) return;
  zb_interval others[3];
  size_t count = 0;
  size_t first = zb_intervals_find(intervals, begin), last = first;
  while (last < intervals->count && intervals->items[last].begin < end)
    ++last;
  if (first < last && intervals->items[first].begin < begin) {
    others[count] = intervals->items[first];
    others[count++].end = begin;
  }
  if (fresh) others[count++] = *fresh;
  if (first < last && intervals->items[last - 1].end > end) {
    others[count] = intervals->items[last - 1];
    others[count++].begin = end;
  }
  splice(intervals, first, last, others, count);
}

/* Joins interval `index` with the one before it if they touch and have the same writer. */
static void join(zb_intervals *intervals, size_t index) {
  if (index == 0 || index >= intervals->count) return;
  zb_interval *left = &intervals->items[index - 1], *right = &intervals->items[index];
  if (left->end != right->begin || left->writer != right->writer) return;
  left->end = right->end;
  splice(intervals, index, index + 1, NULL, 0);
}

/* Where the range lies in a gap, beside an interval of the same writer, that one grows, which moves no others; where it
 * lies within one, nothing is to do. */
static bool grow_neighbour(zb_intervals *intervals, uint64_t begin, uint64_t end, int32_t writer) {
  const size_t index = zb_intervals_find(intervals, begin);
  zb_interval *left = index > 0 ? &intervals->items[index - 1] : NULL;
  zb_interval *right = index < intervals->count ? &intervals->items[index] : NULL;
  if (right && right->writer == writer && right->begin <= begin && right->end >= end) return true;
  if (right && right->begin < end) return false;
  const bool joins_left = left && left->end == begin && left->writer == writer;
  const bool joins_right = right && right->begin == end && right->writer == writer;
  if (joins_left) left->end = joins_right ? right->end : end;
  if (joins_right && !joins_left) right->begin = begin;
  if (joins_left && joins_right) splice(intervals, index, index + 1, NULL, 0);
  return joins_left || joins_right;
}

void zb_intervals_assign(zb_intervals *intervals, uint64_t begin, uint64_t end, int32_t writer) {
  zb_interval fresh = {begin, end, writer};
  if (begin < end && !intervals->failed && grow_neighbour(intervals, begin, end, writer)) return;
  replace(intervals, begin, end, &fresh);
  if (intervals->failed || begin >= end) return;
  size_t index = zb_intervals_find(intervals, begin);
  join(intervals, index + 1);
  join(intervals, index);
}

void zb_intervals_remove(zb_intervals *intervals, uint64_t begin, uint64_t end) {
  replace(intervals, begin, end, NULL);
}

bool zb_intervals_overlap(const zb_intervals *intervals, uint64_t begin, uint64_t end) {
  if (begin >= end) return false;
  size_t index = zb_intervals_find(intervals, begin);
  return index < intervals->count && intervals->items[index].begin < end;
}

bool zb_intervals_cover(const zb_intervals *intervals, uint64_t begin, uint64_t end) {
  for (size_t i = zb_intervals_find(intervals, begin); begin < end; ++i) {
    if (i >= intervals->count || intervals->items[i].begin > begin) return false;
    begin = intervals->items[i].end;
  }
  return true;
}

bool zb_intervals_meet(const zb_intervals *a, const zb_intervals *b, uint64_t *where) {
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
