/* Lists of byte ranges against an array with one entry a byte. */
#include "runtime/plan/file/intervals.h"

#include <string.h>

#include "test/suite.h"

enum { BYTES = 64 };

static uint32_t next_random(uint64_t *state) {
  *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (uint32_t)(*state >> 33);
}

static void compare(const zb_intervals *intervals, const int *model) {
  int found[BYTES];
  memset(found, 0xff, sizeof found);
  for (size_t i = 0; i < intervals->count; ++i) {
    zb_interval one = intervals->items[i];
    CU_ASSERT_TRUE_FATAL(one.begin < one.end && one.end <= BYTES);
    if (i > 0) {
      zb_interval before = intervals->items[i - 1];
      CU_ASSERT_TRUE(before.end < one.begin || (before.end == one.begin && before.writer != one.writer));
    }
    for (uint64_t b = one.begin; b < one.end; ++b)
      found[b] = one.writer;
  }
  CU_ASSERT_EQUAL(memcmp(found, model, sizeof found), 0);
}

static void test_against_bytes(void) {
  uint64_t random = 7;
  for (int round = 0; round < 200; ++round) {
    zb_intervals intervals = {0};
    int model[BYTES];
    memset(model, 0xff, sizeof model);
    for (int step = 0; step < 40; ++step) {
      uint64_t begin = next_random(&random) % BYTES, end = begin + next_random(&random) % (BYTES + 1 - begin);
      int writer = (int)(next_random(&random) % 4) - 1;
      if (writer < 0)
        zb_intervals_remove(&intervals, begin, end);
      else
        zb_intervals_assign(&intervals, begin, end, writer);
      for (uint64_t b = begin; b < end; ++b)
        model[b] = writer;
      compare(&intervals, model);
      bool any = false, all = true;
      uint64_t from = next_random(&random) % BYTES, to = from + next_random(&random) % (BYTES + 1 - from);
      for (uint64_t b = from; b < to; ++b) {
        any |= model[b] >= 0;
        all &= model[b] >= 0;
      }
      CU_ASSERT_EQUAL(zb_intervals_overlap(&intervals, from, to), any);
      CU_ASSERT_EQUAL(zb_intervals_cover(&intervals, from, to), all);
    }
    zb_intervals_deinit(&intervals);
  }
}

static void test_meet(void) {
  zb_intervals a = {0}, b = {0};
  uint64_t where = 0;
  zb_intervals_assign(&a, 0, 10, 0);
  zb_intervals_assign(&a, 20, 30, 0);
  zb_intervals_assign(&b, 10, 20, 0);
  zb_intervals_assign(&b, 30, 40, 0);
  CU_ASSERT_FALSE(zb_intervals_meet(&a, &b, &where));
  zb_intervals_assign(&b, 29, 31, 1);
  CU_ASSERT_TRUE(zb_intervals_meet(&a, &b, &where));
  CU_ASSERT_EQUAL(where, 29);
  CU_ASSERT_TRUE(zb_intervals_meet(&b, &a, &where));
  zb_intervals_deinit(&a);
  CU_ASSERT_FALSE(zb_intervals_meet(&a, &b, &where));
  zb_intervals_deinit(&b);
}

static void test_without_memory(void) {
  zb_intervals intervals = {0};
  zb_allocation_fail_at(1);
  zb_intervals_assign(&intervals, 0, 8, 1);
  zb_allocation_fail_at(0);
  CU_ASSERT_TRUE(intervals.failed);
  zb_intervals_assign(&intervals, 0, 8, 1);
  CU_ASSERT_EQUAL(intervals.count, 0);
  zb_intervals_deinit(&intervals);
}

SUITE_MAIN("intervals", {"against bytes", test_against_bytes}, {"meet", test_meet},
           {"without memory", test_without_memory})
