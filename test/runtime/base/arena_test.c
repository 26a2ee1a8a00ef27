/* Arenas: zeroed arrays of one lifetime, and memory that runs out is remembered. */
#include <string.h>

#include "runtime/base/arena.h"
#include "test/suite.h"

static void test_arrays(void) {
  zb_arena arena = {0};
  int64_t *numbers;
  char *letters;
  for (int round = 0; round < 2; ++round) {
    ZB_TAKE(&arena, numbers, 1000);
    ZB_TAKE(&arena, letters, 3);
    CU_ASSERT_PTR_NULL(zb_arena_status(&arena));
    for (int i = 0; i < 1000; ++i)
      CU_ASSERT_EQUAL(numbers[i], 0);
    CU_ASSERT_EQUAL((uintptr_t)letters % 16, 0);
    memset(numbers, 1, 1000 * sizeof *numbers);
    memset(letters, 1, 3);
    CU_ASSERT_EQUAL(numbers[999], INT64_C(0x0101010101010101));
    zb_arena_deinit(&arena);
    CU_ASSERT_PTR_NULL(arena.blocks);
  }
}

static void test_no_memory(void) {
  zb_arena arena = {0};
  int64_t *first, *second, *third;
  ZB_TAKE(&arena, first, 4);
  zb_allocation_fail_at(1);
  ZB_TAKE(&arena, second, 4);
  zb_allocation_fail_at(0);
  ZB_TAKE(&arena, third, 4);
  CU_ASSERT(first && !second && third);
  zb_status status = zb_arena_status(&arena);
  CU_ASSERT_EQUAL(zb_status_code(status), ZB_MEMORY);
  zb_status_free(status);
  zb_arena_deinit(&arena);
  CU_ASSERT_PTR_NULL(zb_arena_status(&arena));
  ZB_TAKE(&arena, first, SIZE_MAX / 4); /* the product is too large for a size */
  CU_ASSERT(!first && arena.failed);
  zb_arena_deinit(&arena);
}

static void test_lists(void) {
  zb_arena arena = {0};
  ZB_LIST(int) list = {0};
  for (int i = 0; i < 1000; ++i)
    CU_ASSERT(ZB_PUSH(&arena, &list, i * i));
  CU_ASSERT_EQUAL(list.count, 1000);
  for (int i = 0; i < 1000; ++i)
    CU_ASSERT_EQUAL(list.items[i], i * i);
  CU_ASSERT_STRING_EQUAL(zb_arena_strdup(&arena, "text"), "text");
  zb_arena_deinit(&arena);
}

static void test_maps(void) {
  zb_arena arena = {0};
  zb_map *names = zb_arena_map(&arena), *pointers = zb_arena_map_pointer(&arena);
  CU_ASSERT(zb_map_set(names, "a", 1) && zb_map_set(pointers, &arena, 2));
  CU_ASSERT_EQUAL(zb_map_get_or(names, "a", 0), 1);
  CU_ASSERT_EQUAL(zb_map_get_or(pointers, &arena, 0), 2);
  zb_arena_deinit(&arena);
  for (uint64_t k = 1; k <= 3; ++k) { /* the map, its table or its place in the arena */
    zb_allocation_fail_at(k);
    zb_map *map = zb_arena_map(&arena);
    zb_allocation_fail_at(0);
    CU_ASSERT_EQUAL(map == NULL, arena.failed);
    zb_arena_deinit(&arena);
  }
}

static void test_list_without_memory(void) {
  zb_arena arena = {0};
  ZB_LIST(int) list = {0};
  while (list.count < 8)
    CU_ASSERT(ZB_PUSH(&arena, &list, 5));
  zb_allocation_fail_at(1);
  CU_ASSERT(!ZB_PUSH(&arena, &list, 6));
  zb_allocation_fail_at(0);
  CU_ASSERT(arena.failed);
  CU_ASSERT_EQUAL(list.count, 8);
  CU_ASSERT_EQUAL(list.items[7], 5);
  zb_arena_deinit(&arena);
}

SUITE_MAIN("arena", {"arrays", test_arrays}, {"no memory", test_no_memory}, {"lists", test_lists}, {"maps", test_maps},
           {"a list without memory", test_list_without_memory})
