/* zb_parallel_for: every tile once, any number of threads, scratch of one's own, no allocation. */
#include <pthread.h>
#include <string.h>

#include "test/suite.h"
#include "zb/kernel.h"

enum { TILES = 257 };

typedef struct work {
  int runs[TILES];
  double sums[TILES];
} work;

/* Uses its scratch in a way that shows if another thread writes to it. */
static void run_tile(void *context, int64_t tile, void *scratch) {
  work *it = context;
  double *values = scratch;
  enum { COUNT = 512 };
  for (int i = 0; i < COUNT; ++i)
    values[i] = 1.0 / (double)(tile * COUNT + i + 1);
  double sum = 0;
  for (int i = 0; i < COUNT; ++i)
    sum += values[i];
  ++it->runs[tile];
  it->sums[tile] = sum;
}

static void run_checked(zb_threads *threads, const work *expected) {
  work *it = zb_alloc(sizeof *it);
  CU_ASSERT_PTR_NOT_NULL_FATAL(it);
  zb_parallel_for(threads, TILES, run_tile, it);
  for (int i = 0; i < TILES; ++i)
    CU_ASSERT_EQUAL(it->runs[i], 1);
  CU_ASSERT_EQUAL(memcmp(it->sums, expected->sums, sizeof it->sums), 0);
  zb_free(it);
}

static void test_thread_counts(void) {
  work *expected = zb_alloc(sizeof *expected);
  CU_ASSERT_PTR_NOT_NULL_FATAL(expected);
  zb_parallel_for(NULL, TILES, run_tile, expected);
  for (int count = 1; count <= 5; ++count) {
    zb_threads *threads = zb_threads_create(count);
    CU_ASSERT_PTR_NOT_NULL_FATAL(threads);
    CU_ASSERT_EQUAL(zb_threads_count(threads), count);
    for (int repeat = 0; repeat < 50; ++repeat)
      run_checked(threads, expected);
    zb_threads_destroy(threads);
  }
  CU_ASSERT_EQUAL(zb_threads_count(NULL), 1);
  zb_free(expected);
}

static void count_tile(void *context, int64_t tile, void *scratch) {
  (void)scratch;
  ((int *)context)[tile] += 1;
}

/* Many short loops of changing length: workers that wake late must not enter the next one with old numbers. */
static void test_many_short_loops(void) {
  int counts[64] = {0}, expected[64] = {0};
  zb_threads *threads = zb_threads_create(4);
  CU_ASSERT_PTR_NOT_NULL_FATAL(threads);
  uint64_t before = zb_allocation_count();
  for (int loop = 0; loop < 20000; ++loop) {
    int tiles = loop * 7 % 9;
    zb_parallel_for(threads, tiles, count_tile, counts);
    for (int i = 0; i < tiles; ++i)
      ++expected[i];
  }
  CU_ASSERT_EQUAL(zb_allocation_count(), before);
  CU_ASSERT_EQUAL(memcmp(counts, expected, sizeof counts), 0);
  zb_threads_destroy(threads);
}

static void fill_scratch(void *context, int64_t tile, void *scratch) {
  (void)tile;
  *(bool *)context = (uintptr_t)scratch % ZB_ALIGNMENT == 0;
  memset(scratch, 0xab, ZB_SCRATCH_BYTES);
}

static void *run_inline_on_a_thread(void *context) {
  zb_parallel_for(NULL, 3, fill_scratch, context);
  uint64_t before = zb_allocation_count();
  zb_parallel_for(NULL, 3, fill_scratch, context);
  CU_ASSERT_EQUAL(zb_allocation_count(), before); /* allocated once a thread */
  return NULL;
}

static void test_inline_scratch(void) {
  bool aligned = false;
  pthread_t thread;
  CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, run_inline_on_a_thread, &aligned), 0);
  pthread_join(thread, NULL);
  CU_ASSERT_TRUE(aligned);
}

static void *run_without_memory(void *context) {
  zb_allocation_fail_at(1);
  zb_parallel_for(NULL, 2, fill_scratch, context);
  zb_allocation_fail_at(0);
  return NULL;
}

static void test_without_memory(void) {
  for (uint64_t n = 1; n <= 5; ++n) {
    zb_allocation_fail_at(n);
    zb_threads *threads = zb_threads_create(3);
    zb_allocation_fail_at(0);
    CU_ASSERT_PTR_NULL(threads);
    zb_threads_destroy(threads);
  }
  bool aligned = false;
  pthread_t thread;
  CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, run_without_memory, &aligned), 0);
  pthread_join(thread, NULL);
  CU_ASSERT_TRUE(aligned); /* it ran all the same */
}

SUITE_MAIN("threads", {"thread counts", test_thread_counts}, {"many short loops", test_many_short_loops},
           {"inline scratch", test_inline_scratch}, {"without memory", test_without_memory})
