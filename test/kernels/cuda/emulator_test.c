/* The emulation itself: correct kernels run in every order, and each kind of broken kernel is found. */
#include <CUnit/Basic.h>
#include <stdbool.h>
#include <string.h>

#include "test/kernels/cuda/emulator.h"
#include "test/suite.h"

static _Alignas(16) int32_t numbers[64];
typedef struct broken_args {
  int32_t *out;
  int32_t elements;
} broken_args;

static const char *launch(const char *name, unsigned blocks, unsigned threads, unsigned shared_bytes) {
  const zb_emulated_kernel *kernel = zb_emulated_find(name);
  broken_args args = {numbers, 64};
  CU_ASSERT_PTR_NOT_NULL_FATAL(kernel);
  for (int i = 0; i < 64; ++i)
    numbers[i] = i;
  return zb_emulated_launch(kernel, blocks, 1, 1, threads, shared_bytes, &args);
}

static bool reversed(void) {
  for (int i = 0; i < 64; ++i)
    if (numbers[i] != 63 - i) return false;
  return true;
}

static void correct_kernels_run_in_every_order(void) {
  for (int order = 0; order < ZB_ORDER_COUNT; ++order) {
    zb_emulated_set_order((zb_emulated_order)order);
    CU_ASSERT_PTR_NULL(launch("good_reverse", 1, 64, 256));
    CU_ASSERT(reversed());
    CU_ASSERT_PTR_NULL(launch("good_warp_sum", 1, 64, 0));
    CU_ASSERT_EQUAL(numbers[0], 496);
    CU_ASSERT_EQUAL(numbers[31], 496);
    CU_ASSERT_EQUAL(numbers[63], 496 + 1024);
  }
  zb_emulated_set_order(ZB_ORDER_FORWARD);
}

static void a_missing_barrier_is_found(void) {
  int right = 0;
  for (int order = 0; order < ZB_ORDER_COUNT; ++order) {
    zb_emulated_set_order((zb_emulated_order)order);
    CU_ASSERT_PTR_NULL(launch("no_barrier", 1, 64, 256));
    right += reversed();
  }
  zb_emulated_set_order(ZB_ORDER_FORWARD);
  CU_ASSERT_EQUAL(right, 0);
}

static void a_race_of_blocks_is_found(void) {
  int32_t results[ZB_ORDER_COUNT];
  for (int order = 0; order < ZB_ORDER_COUNT; ++order) {
    zb_emulated_set_order((zb_emulated_order)order);
    CU_ASSERT_PTR_NULL(launch("blocks_race", 7, 64, 0));
    results[order] = numbers[0];
  }
  zb_emulated_set_order(ZB_ORDER_FORWARD);
  CU_ASSERT(results[0] != results[1] || results[0] != results[2]);
}

static void expect(const char *error, const char *text) {
  CU_ASSERT_PTR_NOT_NULL_FATAL(error);
  CU_ASSERT_PTR_NOT_NULL(strstr(error, text));
}

static void threads_that_do_not_meet_are_found(void) {
  expect(launch("half_at_a_barrier", 1, 64, 0),
         "half_at_a_barrier, block 0,0: 32 threads wait in __syncthreads, 0 in a warp shuffle, 32 have ended");
  expect(launch("half_of_a_warp_shuffles", 1, 64, 0), "32 in a warp shuffle, 32 have ended");
  CU_ASSERT_PTR_NULL(launch("good_reverse", 1, 64, 256)); /* and the next launch is sound */
  CU_ASSERT(reversed());
}

static void shared_memory_is_guarded(void) {
  expect(launch("beyond_shared", 1, 64, 252), "wrote beyond the shared memory");
  CU_ASSERT_PTR_NULL(launch("uninitialized_shared", 1, 64, 256));
  CU_ASSERT_EQUAL(numbers[5], 0);
}

static void copies_ahead_are_awaited(void) {
  CU_ASSERT_PTR_NULL(launch("good_copies", 1, 32, 128));
  CU_ASSERT(numbers[0] == 0 && numbers[3] == 0 && numbers[4] == 27 && numbers[31] == 0);
  CU_ASSERT_PTR_NULL(launch("copies_not_awaited", 1, 32, 128));
  CU_ASSERT(numbers[4] != 27); /* what was in shared memory before */
  expect(launch("copies_left_behind", 1, 32, 512), "a thread ended before its copies had arrived");
  expect(launch("copy_at_an_odd_place", 1, 32, 16), "a copy of 16 bytes that does not lie at a multiple of 16");
  expect(launch("matrices_at_an_odd_place", 1, 32, 512),
         "ldmatrix of a row that does not lie at a multiple of 16 bytes");
  CU_ASSERT_PTR_NULL(launch("good_copies", 1, 32, 128)); /* and the next launch is sound */
}

static void products_of_warpgroups_are_awaited(void) {
  const char *left = "a thread ended before its products were waited for";
  CU_ASSERT_PTR_NULL(launch("good_products", 1, 128, 8192));
  CU_ASSERT(numbers[0] == 16 && numbers[63] == 16);
  expect(launch("products_without_begin", 1, 128, 8192), "a product without warpgroup_begin");
  expect(launch("products_without_commit", 1, 128, 8192), left);
  expect(launch("products_not_awaited", 1, 128, 8192), left);
  CU_ASSERT_EQUAL(numbers[0], 0);
  expect(launch("products_of_what_is_not_published", 1, 128, 8192),
         "products begin before copies that arrived are published");
  CU_ASSERT_PTR_NULL(launch("good_products", 1, 128, 8192)); /* and the next launch is sound */
}

static void what_a_gpu_refuses_is_refused(void) {
  expect(launch("good_reverse", 0, 64, 256), "a GPU refuses grid 0 x 1 x 1");
  expect(launch("good_reverse", 1, 96, 256), "96 threads (the kernel has 64)");
  expect(launch("good_reverse", 1, 64, 1 << 20), "1048576 bytes shared");
  CU_ASSERT_PTR_NULL(zb_emulated_find("no_such_kernel"));
}

SUITE_MAIN("the emulation of device code", {"correct kernels run in every order", correct_kernels_run_in_every_order},
           {"a missing barrier is found", a_missing_barrier_is_found},
           {"a race of blocks is found", a_race_of_blocks_is_found},
           {"threads that do not meet are found", threads_that_do_not_meet_are_found},
           {"shared memory is guarded", shared_memory_is_guarded},
           {"copies ahead are awaited, and aligned", copies_ahead_are_awaited},
           {"products of warpgroups are awaited", products_of_warpgroups_are_awaited},
           {"what a GPU refuses is refused", what_a_gpu_refuses_is_refused})
