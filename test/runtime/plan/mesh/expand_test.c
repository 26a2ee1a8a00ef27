/* What a collective becomes: golden text, counts of messages and bytes, shards, failing allocations, plans of which
 * only some ranks were read. */
#include "test/runtime/plan/collective_plan.h"
#include "test/runtime/plan/sample_plan.h"

#include "runtime/base/file.h"
#include "runtime/plan/file/collective.h"
#include "runtime/plan/mesh/mesh.h"
#include "test/suite.h"

#define FOLDER ZB_BINARY_DIR "/test-files/expand"

static void must(zb_status status) {
  if (status) printf("\n  %s", zb_status_text(status));
  CU_ASSERT_PTR_NULL_FATAL(status);
}

static zb_plan *expanded_of(const zb_plan *plan) {
  zb_plan *expanded = NULL;
  must(zb_plan_expand(plan, &expanded));
  CU_ASSERT_PTR_NOT_NULL_FATAL(expanded);
  return expanded;
}

/* An all-reduce of 3 members: golden text. */
static void test_golden(void) {
  zb_plan *plan = collective_plan(&(collective_case){ZB_COLLECTIVE_ALL_REDUCE, 4, 0xd, 10, 1});
  zb_plan *expanded = expanded_of(plan);
  char *text = sample_print(expanded), *golden = NULL;
  size_t bytes = 0;
  must(zb_file_read(ZB_SOURCE_DIR "/test/runtime/plan/mesh/expand.golden.txt", 0, &golden, &bytes));
  if (strcmp(text, golden) != 0) {
    must(zb_make_folder(FOLDER));
    must(zb_file_write_atomic(FOLDER "/expand.golden.txt", text, strlen(text)));
    printf("\n  the expanded plan is not that of expand.golden.txt; what it is now lies in " FOLDER);
  }
  CU_ASSERT_STRING_EQUAL(text, golden);
  zb_free(text);
  zb_free(golden);
  zb_plan_destroy(expanded);
  zb_plan_destroy(plan);
}

/* The plan itself, before: the lines that a collective has. */
static void test_printed(void) {
  static const char *const rows[ZB_COLLECTIVE_COUNT][2] = {
      {"\ncollective 0 all-gather G of ranks 0, 2, 3 before message #3: 40, 40, 40 bytes\n",
       "\n      3  COLLECTIVE all-gather 0  gradients+0 (40)  gradients+64 (40)  gradients+128 (40)\n"},
      {"\ncollective 0 reduce-scatter G of ranks 0, 2, 3 before message #3: 40 bytes\n",
       "\n      3  COLLECTIVE reduce-scatter 0  gradients+0 (40)  slots+128 (192)\n"},
      {"\ncollective 0 all-reduce G of ranks 0, 2, 3 before message #3: 40 bytes\n",
       "\n      3  COLLECTIVE all-reduce 0  gradients+0 (40)  slots+128 (192)\n"}};
  for (int kind = 0; kind < ZB_COLLECTIVE_COUNT; ++kind) {
    zb_plan *plan = collective_plan(&(collective_case){(zb_collective_kind)kind, 4, 0xd, 10, 1});
    char *text = sample_print(plan);
    for (int i = 0; i < 2; ++i)
      if (!strstr(text, rows[kind][i])) {
        printf("\n  expected%s  in:\n%.2000s", rows[kind][i], text);
        CU_FAIL("a line is missing");
      }
    zb_free(text);
    zb_plan_destroy(plan);
  }
}

/* A plan without collectives is what it is. */
static void test_nothing(void) {
  zb_plan *plan = sample_plan(2, 2, 0), *expanded = plan;
  must(zb_plan_expand(plan, &expanded));
  CU_ASSERT_PTR_NULL(expanded);
  zb_plan_destroy(plan);
}

/* Every kind, many members and sizes: what each member sends and gets, by the formulas and not by expand.c. */
static void check_bytes(const collective_case *about) {
  zb_plan *plan = collective_plan(about), *expanded = expanded_of(plan);
  const zb_plan_collective *row = plan->collectives;
  const uint64_t k = (uint64_t)collective_bits(about->members), size = 4 * (uint64_t)about->elements;
  const uint64_t phases = about->kind == ZB_COLLECTIVE_ALL_REDUCE ? 2 : 1;
  CU_ASSERT_EQUAL((uint64_t)(expanded->message_count - plan->message_count), phases * k * (k - 1));
  uint64_t end = 0, all = 0;
  for (int m = 0; m < (int)k; ++m) {
    const int rank = (int)plan->pool_u64[row->members.begin + (uint32_t)m];
    uint64_t out = 0, in = 0;
    for (int i = 0; i < expanded->message_count; ++i) {
      const zb_plan_message *message = &expanded->messages[i];
      if (!message->derived.part_of) continue;
      CU_ASSERT_TRUE(about->members >> message->source & 1 && about->members >> message->destination & 1);
      out += message->source == rank ? message->bytes : 0;
      in += message->destination == rank ? message->bytes : 0;
    }
    const uint64_t begin = end, own = 4 * ((uint64_t)about->elements * (uint64_t)(m + 1) / k) - begin;
    end += own;
    if (zb_collective_adds(about->kind)) {
      zb_plan_range shard = zb_collective_shard(plan, row, 0, m);
      CU_ASSERT_EQUAL(shard.offset, begin);
      CU_ASSERT_EQUAL(shard.bytes, own);
    }
    const uint64_t others = size - own, copies = (k - 1) * own;
    const bool gathers = about->kind == ZB_COLLECTIVE_ALL_GATHER, both = about->kind == ZB_COLLECTIVE_ALL_REDUCE;
    CU_ASSERT_EQUAL(out, gathers ? (k - 1) * size : both ? others + copies : others);
    CU_ASSERT_EQUAL(in, gathers ? (k - 1) * size : both ? copies + others : copies);
    all += out;
  }
  CU_ASSERT_EQUAL(end, size); /* shards cover the buffer */
  CU_ASSERT_EQUAL(all, about->kind == ZB_COLLECTIVE_ALL_GATHER ? k * (k - 1) * size : phases * (k - 1) * size);
  if (about->elements % (int)k == 0 && about->kind == ZB_COLLECTIVE_ALL_REDUCE) /* the bytes of a ring, of each */
    CU_ASSERT_EQUAL(all / k, 2 * (k - 1) * size / k);
  zb_plan_destroy(expanded);
  zb_plan_destroy(plan);
}

static void test_bytes(void) {
  static const int sizes[] = {1, 3, 12, 60, 1001};
  for (int kind = 0; kind < ZB_COLLECTIVE_COUNT; ++kind)
    for (int ranks = 2; ranks <= 6; ++ranks)
      for (int members = 1; members < 1 << ranks; ++members)
        for (int i = 0; i < 5 && collective_bits(members) >= 2; ++i)
          check_bytes(&(collective_case){(zb_collective_kind)kind, ranks, members, sizes[i], 2});
}

static void test_without_memory(void) {
  for (int kind = 0; kind < ZB_COLLECTIVE_COUNT; ++kind) {
    zb_plan *plan = collective_plan(&(collective_case){(zb_collective_kind)kind, 3, 7, 10, 2}), *expanded = NULL;
    zb_code code = ZB_MEMORY;
    uint64_t failed = 0;
    for (uint64_t n = 1; code == ZB_MEMORY && n < 1000; ++n) {
      zb_allocation_fail_at(n);
      zb_status status = zb_plan_expand(plan, &expanded);
      zb_allocation_fail_at(0);
      code = zb_status_code(status);
      failed += code == ZB_MEMORY;
      CU_ASSERT_EQUAL(code == ZB_OK_CODE, expanded != NULL);
      zb_status_free(status);
    }
    CU_ASSERT_EQUAL(code, ZB_OK_CODE);
    CU_ASSERT_TRUE(failed >= 5); /* tables, plan, ranks, jobs, pools */
    zb_plan_destroy(expanded);
    zb_plan_destroy(plan);
  }
}

/* The part of a printed plan that is about a rank (zb_free). */
static char *text_of_rank(const zb_plan *plan, int rank) {
  char *text = sample_print(plan), head[32];
  snprintf(head, sizeof head, "\nrank %d: ", rank);
  char *begin = strstr(text, head), *end = begin ? strstr(begin + 1, "\nrank ") : NULL;
  if (!end && begin) end = begin + strlen(begin) - 1; /* the last line's end */
  if (end) *end = 0;
  char *copy = zb_strdup(begin ? begin : "");
  zb_free(text);
  return copy;
}

/* A process that reads its own rank numbers messages as all others do. */
static void test_one_rank(void) {
  for (int kind = 0; kind < ZB_COLLECTIVE_COUNT; ++kind) {
    zb_plan *plan = collective_plan(&(collective_case){(zb_collective_kind)kind, 4, 0xb, 10, 2});
    zb_plan *whole = expanded_of(plan);
    must(zb_make_folder(FOLDER));
    must(zb_plan_write(plan, FOLDER "/plan.zb"));
    for (int r = 0; r < 4; ++r) {
      zb_plan *one = NULL;
      must(zb_plan_read(FOLDER "/plan.zb", r, &one));
      must(zb_plan_expand_own(&one));
      CU_ASSERT_EQUAL_FATAL(one->message_count, whole->message_count);
      CU_ASSERT_EQUAL(memcmp(one->messages, whole->messages, (size_t)one->message_count * sizeof *one->messages), 0);
      char *alone = text_of_rank(one, r), *among = text_of_rank(whole, r);
      CU_ASSERT_STRING_EQUAL(alone, among);
      CU_ASSERT_TRUE(strlen(alone) > 100);
      zb_free(alone);
      zb_free(among);
      zb_plan_destroy(one);
    }
    zb_plan_destroy(whole);
    zb_plan_destroy(plan);
  }
}

SUITE_MAIN("expansion", {"golden", test_golden}, {"printed", test_printed}, {"nothing to expand", test_nothing},
           {"messages and bytes", test_bytes}, {"without memory", test_without_memory}, {"one rank", test_one_rank})
