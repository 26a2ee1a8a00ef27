/* Plan files: round trip, one rank alone, damage of every sort. A mutated file is refused or gives a plan that every
 * later room can walk through: print, verify and simulate run on it (a sanitizer build shows reads outside of arrays).
 */
#include "test/runtime/plan/collective_plan.h"
#include "test/runtime/plan/evaluation_plan.h"

#include <stdio.h>

#include "runtime/base/digest.h"
#include "runtime/base/file.h"
#include "runtime/plan/clock/simulator.h"
#include "runtime/plan/file/columns.h"
#include "runtime/plan/file/container.h"
#include "runtime/plan/proof/proof.h"
#include "test/suite.h"

#define FOLDER ZB_BINARY_DIR "/test-files/plan"

static zb_code take_code(zb_status status) {
  zb_code code = zb_status_code(status);
  zb_status_free(status);
  return code;
}

/* Bytes of a plan's file (zb_free). */
static char *file_of(const zb_plan *plan, size_t *count) {
  char *bytes = NULL;
  CU_ASSERT_EQUAL_FATAL(take_code(zb_make_folder(FOLDER)), ZB_OK_CODE);
  zb_status status = zb_plan_write(plan, FOLDER "/plan.zb");
  if (status) printf("%s", zb_status_text(status));
  CU_ASSERT_EQUAL_FATAL(take_code(status), ZB_OK_CODE);
  CU_ASSERT_EQUAL_FATAL(take_code(zb_file_read(FOLDER "/plan.zb", 0, &bytes, count)), ZB_OK_CODE);
  return bytes;
}

static void expect_same(const zb_plan *a, const zb_plan *b) {
  char *left = sample_print(a), *right = sample_print(b);
  CU_ASSERT_PTR_NOT_NULL_FATAL(left);
  CU_ASSERT_PTR_NOT_NULL_FATAL(right);
  CU_ASSERT_STRING_EQUAL(left, right);
  zb_free(left);
  zb_free(right);
}

/* The same plan, the same bytes; takes the plan. */
static void expect_round_trip(zb_plan *plan) {
  zb_plan *back = NULL;
  size_t count = 0, again_count = 0;
  char *bytes = file_of(plan, &count);
  zb_status status = zb_plan_read(FOLDER "/plan.zb", -1, &back);
  if (status) printf("%s", zb_status_text(status));
  CU_ASSERT_EQUAL_FATAL(take_code(status), ZB_OK_CODE);
  expect_same(plan, back);
  char *again = file_of(back, &again_count);
  CU_ASSERT_EQUAL_FATAL(count, again_count);
  CU_ASSERT_EQUAL(memcmp(bytes, again, count), 0);
  zb_free(bytes);
  zb_free(again);
  zb_plan_destroy(plan);
  zb_plan_destroy(back);
}

/* Every byte of a row is of a field that the file has, of padding, or of a field in this list. */
static void test_no_field_is_forgotten(void) {
#define LEFT_OUT(table, structure, member)                                                                             \
  {                                                                                                                    \
    ZB_TABLE_##table, offsetof(structure, member), sizeof(((structure *)0)->member)                                    \
  }
  static const struct {
    zb_plan_table table;
    size_t offset, bytes;
  } left_out[] = {
      LEFT_OUT(header, zb_plan, derived),
      LEFT_OUT(header, zb_plan, digest), /* of the file, or of a plan in memory */
      LEFT_OUT(header, zb_plan, ranks),
      LEFT_OUT(header, zb_plan, arena),
      LEFT_OUT(message, zb_plan_message, derived),
      LEFT_OUT(collective, zb_plan_collective, derived),
      LEFT_OUT(subprogram, zb_plan_subprogram, derived),
      LEFT_OUT(job, zb_plan_job, derived),
      LEFT_OUT(parameter, zb_plan_parameter, derived),
  };
  for (int t = 0; t < ZB_TABLE_COUNT; ++t) {
    const zb_table_def *def = &zb_plan_tables[t];
    bool known[1024] = {false};
    CU_ASSERT_TRUE_FATAL(def->row_bytes <= sizeof known);
    for (int c = 0; c < def->count; ++c) {
      const zb_column *column = &def->columns[c];
      const bool is_array = column->kind == ZB_COLUMN_ARRAY;
      const size_t bytes = column->kind == ZB_COLUMN_NUMBER ? column->bytes
                           : is_array ? (size_t)column->length_max * zb_plan_tables[column->of].row_bytes
                                      : sizeof(void *);
      memset(known + column->offset, true, bytes);
      if (column->length_offset == ZB_LENGTH_FIXED) continue;
      if (column->kind == ZB_COLUMN_LIST || column->kind == ZB_COLUMN_POOL || is_array)
        memset(known + column->length_offset, true, sizeof(int32_t));
      if (column->kind == ZB_COLUMN_BYTES) memset(known + column->length_offset, true, sizeof(uint64_t));
    }
    for (size_t i = 0; i < sizeof left_out / sizeof left_out[0]; ++i)
      if (left_out[i].table == (zb_plan_table)t) memset(known + left_out[i].offset, true, left_out[i].bytes);
    for (size_t begin = 0, end = 0; begin < def->row_bytes; begin = end + 1) {
      for (end = begin; end < def->row_bytes && !known[end];)
        ++end;
      const bool padding =
          (begin % 8 != 0 && end % 8 == 0 && end - begin < 8) || (begin % 4 != 0 && end % 4 == 0 && end - begin < 4);
      if (end > begin && !padding) printf("\n  %s: byte %zu is of no column", def->name, begin);
      CU_ASSERT_TRUE(end == begin || padding);
    }
  }
}

static void test_round_trip(void) {
  static const struct {
    int ranks, micro_batches, depth;
  } rows[] = {{1, 1, 0}, {1, 3, 1}, {2, 2, 0}, {3, 5, 0}, {4, 16, 6}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i)
    expect_round_trip(sample_plan(rows[i].ranks, rows[i].micro_batches, rows[i].depth));
  expect_round_trip(evaluation_plan(3, 4, 2));
}

/* A small plan with a collective. */
static zb_plan *gathering_plan(zb_collective_kind kind) {
  return collective_plan(&(collective_case){kind, 3, 5, 10, 2});
}

static void test_collectives(void) {
  for (int kind = 0; kind < ZB_COLLECTIVE_COUNT; ++kind)
    expect_round_trip(gathering_plan((zb_collective_kind)kind));
}

/* What only plans with measured costs have. */
static void test_measured(void) {
  zb_plan *plan = sample_plan(2, 2, 0), *back = NULL;
  zb_plan_subprogram *subprogram = &plan->ranks[1].subprograms[SAMPLE_B];
  size_t count = 0;
  plan->link_copies = true;
  plan->link_wake_ps = 11;
  plan->job_ps = 12;
  plan->read_ps = 13;
  plan->step_ps = 14;
  subprogram->first_ps = 15;
  subprogram->key = UINT64_C(0xfedcba9876543210);
  subprogram->instructions[0].cost_op = "relu 4x8xf32";
  zb_free(file_of(plan, &count));
  CU_ASSERT_EQUAL_FATAL(take_code(zb_plan_read(FOLDER "/plan.zb", -1, &back)), ZB_OK_CODE);
  expect_same(plan, back);
  char *text = sample_print(back);
  CU_ASSERT_PTR_NOT_NULL_FATAL(text);
  CU_ASSERT_PTR_NOT_NULL(strstr(text, "moved by the side that posts second, 11 ps to wake"));
  CU_ASSERT_PTR_NOT_NULL(strstr(text, "overheads 12 ps a job, 13 ps a read, 14 ps a step"));
  CU_ASSERT_PTR_NOT_NULL(strstr(text, ", the first 15 ps"));
  CU_ASSERT_EQUAL(back->ranks[1].subprograms[SAMPLE_B].key, subprogram->key);
  CU_ASSERT_STRING_EQUAL(back->ranks[1].subprograms[SAMPLE_B].instructions[0].cost_op, "relu 4x8xf32");
  CU_ASSERT_STRING_EQUAL(back->ranks[0].subprograms[SAMPLE_B].instructions[0].cost_op, ""); /* none */
  zb_free(text);
  zb_plan_destroy(back);
  plan->job_ps = -1;
  CU_ASSERT_EQUAL(take_code(zb_plan_write(plan, FOLDER "/plan.zb")), ZB_INVALID);
  zb_plan_destroy(plan);
}

static void test_one_rank(void) {
  zb_plan *plan = sample_plan(3, 2, 0), *one = NULL;
  size_t count = 0;
  zb_free(file_of(plan, &count));
  CU_ASSERT_EQUAL_FATAL(take_code(zb_plan_read(FOLDER "/plan.zb", 1, &one)), ZB_OK_CODE);
  CU_ASSERT_EQUAL(one->rank_count, 3);
  CU_ASSERT_EQUAL(one->message_count, plan->message_count);
  CU_ASSERT_EQUAL(one->ranks[1].job_count, plan->ranks[1].job_count);
  CU_ASSERT_PTR_NULL(one->ranks[0].jobs);
  CU_ASSERT_EQUAL(one->ranks[2].job_count, 0);
  CU_ASSERT_EQUAL(one->ranks[2].rank, 2);
  CU_ASSERT_EQUAL(take_code(zb_plan_verify(one)), ZB_INVALID); /* a part proves nothing */
  zb_plan_destroy(one);
  CU_ASSERT_EQUAL(take_code(zb_plan_read(FOLDER "/plan.zb", 3, &one)), ZB_USAGE);
  CU_ASSERT_PTR_NULL(one);
  zb_plan_destroy(plan);
}

static void expect_refused(const void *bytes, size_t count, const char *expected) {
  zb_plan *plan = NULL;
  zb_status status = zb_plan_read_memory(bytes, count, "bytes", -1, &plan);
  CU_ASSERT_EQUAL(zb_status_code(status), ZB_INVALID);
  CU_ASSERT_PTR_NULL(plan);
  if (!strstr(zb_status_text(status), expected)) printf("\n  expected '%s' in: %s", expected, zb_status_text(status));
  CU_ASSERT_PTR_NOT_NULL(strstr(zb_status_text(status), expected));
  zb_status_free(status);
}

/* Makes the checksums right again. */
static void repair(char *bytes, size_t count) {
  unsigned char *at = (unsigned char *)bytes;
  uint32_t sections = zb_get_u32(at + 12);
  size_t table_bytes = ZB_PLAN_START_BYTES + (size_t)sections * ZB_PLAN_ENTRY_BYTES;
  if (sections > 16 || table_bytes + ZB_PLAN_TRAILER_BYTES > count) return;
  for (uint32_t i = 0; i < sections; ++i) {
    unsigned char *entry = at + ZB_PLAN_START_BYTES + (size_t)i * ZB_PLAN_ENTRY_BYTES;
    uint64_t offset = zb_get_u64(entry), length = zb_get_u64(entry + 8);
    if (offset <= count && length <= count - offset) zb_put_u32(entry + 16, zb_crc32c(0, at + offset, (size_t)length));
  }
  zb_put_u32(at + table_bytes, zb_crc32c(0, at, table_bytes));
}

static void test_refused(void) {
  zb_plan *plan = sample_plan(2, 2, 0);
  size_t count = 0;
  char *bytes = file_of(plan, &count);
  for (size_t length = 0; length < count; length += length < 120 ? 1 : 61) {
    zb_plan *none = NULL;
    char *part = zb_alloc(length); /* of its own size, for the sanitizer */
    CU_ASSERT_PTR_NOT_NULL_FATAL(part);
    memcpy(part, bytes, length);
    CU_ASSERT_EQUAL(take_code(zb_plan_read_memory(part, length, "part", -1, &none)), ZB_INVALID);
    zb_free(part);
  }
  bytes[0] ^= 1;
  expect_refused(bytes, count, "magic");
  bytes[0] ^= 1;
  bytes[8] = ZB_PLAN_VERSION + 1;
  expect_refused(bytes, count, "format version 18, this program reads version 17");
  bytes[8] = ZB_PLAN_VERSION;
  bytes[20] ^= 1;
  expect_refused(bytes, count, "checksum of its table");
  repair(bytes, count);
  expect_refused(bytes, count, "a section lies outside of the file");
  bytes[20] ^= 1;
  repair(bytes, count);
  bytes[count - 1] ^= 1;
  expect_refused(bytes, count, "checksum of a rank");
  bytes[count - 1] ^= 1;
  bytes[140] ^= 1;
  expect_refused(bytes, count, "checksum of its header");
  bytes[140] ^= 1;
  zb_plan *none = NULL;
  CU_ASSERT_EQUAL(take_code(zb_plan_read(FOLDER "/none", -1, &none)), ZB_IO);
  CU_ASSERT_EQUAL(take_code(zb_plan_read(FOLDER, -1, &none)), ZB_IO);
  zb_free(bytes);
  zb_plan_destroy(plan);
}

static uint32_t next_random(uint64_t *state) {
  *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (uint32_t)(*state >> 33);
}

/* Reads; if that goes, everything that walks a plan must go too. */
static bool walk(const char *bytes, size_t count) {
  zb_plan *plan = NULL;
  zb_plan_simulation simulation;
  zb_code code = take_code(zb_plan_read_memory(bytes, count, "mutated", -1, &plan));
  CU_ASSERT_TRUE(code == ZB_OK_CODE || code == ZB_INVALID || code == ZB_MEMORY);
  CU_ASSERT_EQUAL(code == ZB_OK_CODE, plan != NULL);
  if (!plan) return false;
  zb_free(sample_print(plan));
  code = take_code(zb_plan_verify(plan));
  CU_ASSERT_TRUE(code == ZB_OK_CODE || code == ZB_INVALID);
  code = take_code(zb_plan_simulate(plan, &simulation));
  CU_ASSERT_TRUE(code == ZB_OK_CODE || code == ZB_INVALID || code == ZB_TIMEOUT);
  zb_plan_simulation_free(&simulation);
  zb_plan_destroy(plan);
  return true;
}

/* Takes the plan. */
static void mutate(zb_plan *plan, bool repaired) {
  size_t count = 0;
  uint64_t random = 3;
  int accepted = 0;
  char *bytes = file_of(plan, &count), *copy = zb_alloc(count);
  CU_ASSERT_PTR_NOT_NULL_FATAL(copy);
  for (int i = 0; i < 1000; ++i) {
    memcpy(copy, bytes, count);
    for (uint32_t k = 0, flips = 1 + next_random(&random) % 3; k < flips; ++k) {
      size_t at = next_random(&random) % count;
      if (next_random(&random) % 2)
        copy[at] = (char)(copy[at] ^ (1 << next_random(&random) % 8));
      else
        copy[at] = (char)next_random(&random);
    }
    if (repaired) repair(copy, count);
    accepted += walk(copy, count);
  }
  if (repaired) CU_ASSERT_TRUE(accepted > 10); /* else the checks behind the parser were never reached */
  if (!repaired) CU_ASSERT_TRUE(accepted < 5); /* only where a byte happened to stay as it was */
  zb_free(bytes);
  zb_free(copy);
  zb_plan_destroy(plan);
}

static void test_mutated(void) { mutate(sample_plan(2, 2, 0), false); }
static void test_mutated_with_checksum(void) { mutate(sample_plan(2, 2, 0), true); }
static void test_mutated_evaluation(void) { mutate(evaluation_plan(2, 2, 1), true); }

static void test_mutated_collectives(void) {
  for (int kind = 0; kind < ZB_COLLECTIVE_COUNT; ++kind)
    mutate(gathering_plan((zb_collective_kind)kind), true);
}

static void test_without_memory(void) {
  zb_plan *plan = evaluation_plan(2, 1, 0);
  size_t count = 0;
  char *bytes = file_of(plan, &count);
  for (uint64_t n = 1; n <= 60; ++n) {
    zb_plan *back = NULL;
    zb_allocation_fail_at(n);
    zb_status read = zb_plan_read_memory(bytes, count, "bytes", -1, &back);
    zb_allocation_fail_at(n);
    zb_status written = zb_plan_write(plan, FOLDER "/memory.zb");
    zb_allocation_fail_at(n);
    zb_status verified = zb_plan_verify(plan);
    zb_plan_simulation simulation;
    zb_allocation_fail_at(n);
    zb_status simulated = zb_plan_simulate(plan, &simulation);
    zb_allocation_fail_at(0);
    zb_plan_simulation_free(&simulation);
    zb_status all[] = {read, written, verified, simulated};
    for (int i = 0; i < 4; ++i) {
      zb_code code = zb_status_code(all[i]);
      /* protobuf-c tells "no memory" and "malformed" apart in no way */
      CU_ASSERT_TRUE(code == ZB_OK_CODE || code == ZB_MEMORY || (i == 0 && code == ZB_INVALID));
      zb_status_free(all[i]);
    }
    zb_plan_destroy(back);
  }
  zb_free(bytes);
  zb_plan_destroy(plan);
}

/* Of a long plan two threads pack the sections: in the file they stand in the order of ranks all the same. */
static void test_long(void) {
  zb_plan *plan = sample_plan(4, 1200, 4);
  CU_ASSERT_TRUE(zb_plan_is_long(plan));
  expect_round_trip(plan);
}

/* What no reader would take is not written. */
static void test_malformed_is_not_written(void) {
  zb_plan *plan = sample_plan(1, 1, 0);
  plan->ranks[0].jobs[1].parts.count = 100000;
  CU_ASSERT_EQUAL(take_code(zb_plan_write(plan, FOLDER "/malformed.zb")), ZB_INVALID);
  zb_plan_destroy(plan);
}

SUITE_MAIN("plan files", {"no field is forgotten", test_no_field_is_forgotten}, {"round trip", test_round_trip},
           {"round trip of collectives", test_collectives}, {"measured costs", test_measured},
           {"one rank", test_one_rank}, {"refused", test_refused}, {"mutated", test_mutated},
           {"mutated, checksum right", test_mutated_with_checksum}, {"mutated collectives", test_mutated_collectives},
           {"mutated evaluation", test_mutated_evaluation}, {"without memory", test_without_memory},
           {"long", test_long}, {"malformed is not written", test_malformed_is_not_written})
