/* Looking up rows that are sorted by a number of each, by halves. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* How many of the rows have a number of at most `most`. bytes: of a row; offset: of the number in it. */
static inline size_t zb_count_up_to(const void *rows, size_t bytes, size_t offset, size_t count, uint64_t most) {
  size_t low = 0;
  while (low < count) {
    const size_t middle = low + (count - low) / 2;
    if (*(const uint64_t *)((const char *)rows + middle * bytes + offset) <= most)
      low = middle + 1;
    else
      count = middle;
  }
  return low;
}

/* How many have a smaller one. */
static inline size_t zb_count_below(const void *rows, size_t bytes, size_t offset, size_t count, uint64_t number) {
  return number ? zb_count_up_to(rows, bytes, offset, count, number - 1) : 0;
}
