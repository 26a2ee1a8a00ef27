/* Lists of a plan file as runs: what is written is read, whatever repeats; what a run repeats must be there. */
#include "runtime/plan/file/runs.h"

#include <string.h>

#include "test/suite.h"

enum { ROWS = 5000, DRAWS = 300 };

static uint64_t state;

static uint64_t draw(uint64_t below) {
  state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (state >> 33) % below;
}

/* The rows again, of runs alone; how many runs, and rows of their own. */
static void expect_same(zb_plan_table table, const void *rows, size_t count, size_t *out_runs, size_t *out_own) {
  const zb_table_def *def = &zb_plan_tables[table];
  static zb_plan_range back[ROWS];
  zb_arena arena = {0};
  zb_plan_runs runs;
  size_t at = 0, own = 0;
  memset(back, 0xee, sizeof back);
  zb_plan_runs_find(def, rows, count, &arena, &runs);
  CU_ASSERT_FALSE(arena.failed);
  for (size_t i = 0; i < runs.count; ++i) {
    const zb_plan_run *run = &runs.items[i];
    CU_ASSERT_FATAL(run->count > 0 && run->count <= count - at);
    if (run->from == 0) {
      memcpy((char *)back + at * def->row_bytes, (const char *)rows + at * def->row_bytes, run->count * def->row_bytes);
      own += run->count;
    } else {
      CU_ASSERT(zb_plan_run_repeat(def, back, at, run));
    }
    at += run->count;
  }
  CU_ASSERT_EQUAL(at, count);
  CU_ASSERT_EQUAL(memcmp(back, rows, count * def->row_bytes), 0);
  if (out_runs) *out_runs = runs.count;
  if (out_own) *out_own = own;
  zb_arena_deinit(&arena);
}

/* The example of runs.c. */
static void test_example(void) {
  static const uint64_t rows[] = {100, 164, 300, 20, 500, 564, 700, 9, 164, 300, 20};
  static const zb_plan_run expected[] = {{4, 0, 0}, {3, 1, 400}, {1, 0, 0}, {3, 2, 0}};
  zb_arena arena = {0};
  zb_plan_runs runs;
  zb_plan_runs_find(&zb_plan_tables[ZB_TABLE_u64], rows, sizeof rows / sizeof *rows, &arena, &runs);
  CU_ASSERT_EQUAL_FATAL(runs.count, sizeof expected / sizeof *expected);
  for (size_t i = 0; i < runs.count; ++i)
    CU_ASSERT(runs.items[i].count == expected[i].count && runs.items[i].from == expected[i].from &&
              runs.items[i].shift == expected[i].shift);
  zb_arena_deinit(&arena);
}

/* What repeats without end is its first rows and one run; what has places is one list. */
static void test_repeats(void) {
  static uint64_t numbers[ROWS];
  static zb_plan_range parts[ROWS];
  size_t runs = 0, own = 0;
  for (size_t i = 0; i < ROWS; ++i)
    numbers[i] = i * i % 7 * 1000;
  expect_same(ZB_TABLE_u64, numbers, ROWS, &runs, &own);
  CU_ASSERT(runs <= 4 && own <= 16);
  for (size_t i = 0; i < ROWS; ++i)
    parts[i] = (zb_plan_range){i % 100 * (i % 100) * 64 + i / 100 * 4096, 1 + i % 100 * 37 % 11};
  expect_same(ZB_TABLE_range, parts, ROWS, &runs, &own);
  CU_ASSERT(runs <= 2 * (ROWS / 100) && own <= 110);
  expect_same(ZB_TABLE_u64, numbers, 0, &runs, &own);
  CU_ASSERT(runs == 0 && own == 0);
}

/* Lists of pieces that are drawn, or copied from earlier, with numbers at the ends of what fits. */
static void test_drawn(void) {
  static uint64_t numbers[ROWS];
  static uint32_t jobs[ROWS];
  static zb_plan_range parts[ROWS];
  for (int d = 0; d < DRAWS; ++d) {
    const size_t count = draw(ROWS);
    const uint64_t top = draw(2) ? 9 : UINT64_C(1) << 31;
    for (size_t i = 0; i < count;) {
      const size_t length = 1 + draw(30), from = i > 0 ? draw(i) : 0;
      const uint64_t shift = draw(3) ? draw(top) : 0;
      const bool copies = i > 0 && draw(2);
      for (size_t k = 0; k < length && i < count; ++k, ++i) {
        numbers[i] = copies ? numbers[from + k] + shift : draw(top) + (draw(50) ? 0 : (uint64_t)INT64_MAX / 2);
        parts[i] = (zb_plan_range){numbers[i], copies && draw(40) ? parts[from + k].bytes : draw(5)};
        jobs[i] = (uint32_t)numbers[i];
      }
    }
    expect_same(ZB_TABLE_u64, numbers, count, NULL, NULL);
    expect_same(ZB_TABLE_u32, jobs, count, NULL, NULL);
    expect_same(ZB_TABLE_range, parts, count, NULL, NULL);
  }
}

static void test_refused(void) {
  uint64_t rows[8] = {5, 6, 7};
  uint32_t jobs[8] = {5, 6, 7};
  const zb_table_def *u64 = &zb_plan_tables[ZB_TABLE_u64], *u32 = &zb_plan_tables[ZB_TABLE_u32];
  CU_ASSERT_TRUE(zb_plan_run_repeat(u64, rows, 3, &(zb_plan_run){3, 1, -5}));
  CU_ASSERT(rows[3] == 0 && rows[4] == 1 && rows[5] == 2);
  CU_ASSERT_FALSE(zb_plan_run_repeat(u64, rows, 3, &(zb_plan_run){2, 0, 0})); /* of its own */
  CU_ASSERT_FALSE(zb_plan_run_repeat(u64, rows, 3, &(zb_plan_run){1, 4, 0})); /* itself */
  CU_ASSERT_FALSE(zb_plan_run_repeat(u64, rows, 3, &(zb_plan_run){1, 1, -6}));
  CU_ASSERT_TRUE(zb_plan_run_repeat(u32, jobs, 3, &(zb_plan_run){1, 1, UINT32_MAX - 5}));
  CU_ASSERT_FALSE(zb_plan_run_repeat(u32, jobs, 3, &(zb_plan_run){1, 2, UINT32_MAX - 5}));
}

SUITE_MAIN("runs", {"the example", test_example}, {"what repeats", test_repeats}, {"drawn", test_drawn},
           {"refused", test_refused})
