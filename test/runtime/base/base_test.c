/* Allocation, dtypes, shapes, status records, attributes. */
#include <limits.h>
#include <string.h>

#include "test/suite.h"
#include "zb/kernel.h"
#include "zb/status.h"

static void test_allocation(void) {
  uint64_t before = zb_allocation_count();
  unsigned char *memory = zb_alloc(100);
  CU_ASSERT_PTR_NOT_NULL_FATAL(memory);
  for (int i = 0; i < 100; ++i)
    CU_ASSERT_EQUAL(memory[i], 0);
  memory = zb_realloc(memory, 200);
  CU_ASSERT_PTR_NOT_NULL(memory);
  zb_free(memory);
  for (size_t alignment = 8; alignment <= 4096; alignment *= 2) {
    memory = zb_alloc_aligned(100, alignment);
    CU_ASSERT_PTR_NOT_NULL_FATAL(memory);
    CU_ASSERT_EQUAL((uintptr_t)memory % alignment, 0);
    CU_ASSERT_EQUAL(memory[99], 0);
    zb_free(memory);
  }
  CU_ASSERT_EQUAL(zb_allocation_count() - before, 2 + 10);
  void *empty = zb_alloc(0);
  CU_ASSERT_PTR_NOT_NULL(empty); /* NULL means out of memory, nothing else */
  zb_free(empty);
  zb_free(NULL);
}

/* Of any size: zeroed, aligned, can be written from end to end, and failed. */
static void test_pages(void) {
  const size_t sizes[] = {0, 1, 100, 1 << 20, (8 << 20) - 1, 8 << 20, (8 << 20) + 1, (64 << 20) - 4096};
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; ++i) {
    size_t bytes = sizes[i];
    unsigned char *memory = zb_alloc_pages(bytes);
    CU_ASSERT_PTR_NOT_NULL_FATAL(memory);
    CU_ASSERT_EQUAL((uintptr_t)memory % ZB_ALIGNMENT, 0);
    for (size_t k = 0; k < bytes; k += 4093)
      CU_ASSERT_EQUAL(memory[k], 0);
    memset(memory, 1, bytes);
    zb_free_pages(memory, bytes);
    zb_allocation_fail_at(1);
    CU_ASSERT_PTR_NULL(zb_alloc_pages(bytes));
    zb_allocation_fail_at(0);
  }
  CU_ASSERT_PTR_NULL(zb_alloc_pages(SIZE_MAX));
  CU_ASSERT_PTR_NULL(zb_alloc_pages(SIZE_MAX / 2)); /* more than any machine maps */
  zb_free_pages(NULL, 8 << 20);
}

static void test_fail_the_nth(void) {
  zb_allocation_fail_at(2);
  void *first = zb_alloc(8), *second = zb_alloc(8), *third = zb_alloc(8);
  CU_ASSERT_PTR_NOT_NULL(first);
  CU_ASSERT_PTR_NULL(second);
  CU_ASSERT_PTR_NOT_NULL(third);
  zb_free(first);
  zb_free(third);
  zb_allocation_fail_at(1);
  CU_ASSERT_PTR_NULL(zb_alloc_aligned(8, 64));
  zb_allocation_fail_at(1);
  CU_ASSERT_PTR_NULL(zb_strdup("text"));
  zb_allocation_fail_at(1);
  zb_allocation_fail_at(0);
  void *memory = zb_alloc(8);
  CU_ASSERT_PTR_NOT_NULL(memory);
  zb_free(memory);
}

static void test_dtypes(void) {
  for (int i = 0; i < ZB_DTYPE_COUNT; ++i) {
    zb_dtype dtype = (zb_dtype)i, parsed = ZB_DTYPE_COUNT;
    CU_ASSERT_TRUE(zb_dtype_parse(zb_dtype_name(dtype), &parsed));
    CU_ASSERT_EQUAL(parsed, dtype);
    CU_ASSERT_TRUE(zb_dtype_parse(zb_dtype_safetensors(dtype), &parsed));
    CU_ASSERT_EQUAL(parsed, dtype);
    CU_ASSERT_TRUE(zb_dtype_bytes(dtype) >= 1 && zb_dtype_bytes(dtype) <= 8);
  }
  CU_ASSERT_STRING_EQUAL(zb_dtype_name(ZB_BF16), "bf16");
  CU_ASSERT_EQUAL(zb_dtype_bytes(ZB_I64), 8);
  zb_dtype none;
  CU_ASSERT_FALSE(zb_dtype_parse("f33", &none));
}

static void test_shapes(void) {
  char text[96];
  zb_shape shape = {ZB_F32, 2, {4, 128}}, scalar = {ZB_I64, 0, {0}}, empty = {ZB_F32, 2, {0, 7}};
  CU_ASSERT_EQUAL(zb_shape_elements(&shape), 512);
  CU_ASSERT_EQUAL(zb_shape_bytes(&shape), 2048);
  CU_ASSERT_EQUAL(zb_shape_elements(&scalar), 1);
  CU_ASSERT_EQUAL(zb_shape_bytes(&empty), 0);
  CU_ASSERT_STRING_EQUAL(zb_shape_text(&shape, text), "4x128xf32");
  CU_ASSERT_STRING_EQUAL(zb_shape_text(&scalar, text), "i64");
  zb_shape huge = {ZB_F64, 2, {INT64_MAX / 2, 3}}, wide = {ZB_F64, 1, {INT64_MAX / 4}};
  CU_ASSERT_EQUAL(zb_shape_elements(&huge), -1);
  CU_ASSERT_EQUAL(zb_shape_elements(&wide), INT64_MAX / 4);
  CU_ASSERT_EQUAL(zb_shape_bytes(&wide), -1);
  zb_shape longest = {
      ZB_F32, 8, {INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX}};
  CU_ASSERT_EQUAL(strlen(zb_shape_text(&longest, text)), 4 * 20 + 3); /* four dimensions of 19 digits, and the type */
  zb_shape other = shape;
  CU_ASSERT_TRUE(zb_shape_equal(&shape, &other));
  other.dims[1] = 127;
  CU_ASSERT_FALSE(zb_shape_equal(&shape, &other));
  other = shape;
  other.dtype = ZB_I32;
  CU_ASSERT_FALSE(zb_shape_equal(&shape, &other));
  CU_ASSERT_EQUAL(zb_align(0), 0);
  CU_ASSERT_EQUAL(zb_align(1), 64);
  CU_ASSERT_EQUAL(zb_align(64), 64);
}

static void test_status(void) {
  CU_ASSERT_EQUAL(zb_status_code(NULL), ZB_OK_CODE);
  CU_ASSERT_EQUAL(zb_status_exit(NULL), 0);
  zb_status status = ZB_ERROR(INFEASIBLE, "rank %d needs %s", 3, "2G");
  CU_ASSERT_STRING_EQUAL(zb_status_text(status), "error: rank 3 needs 2G\n");
  status = zb_status_note(status, "loading stage %d", 1);
  status = zb_status_note(status, "reading '%s'", "a");
  status = zb_status_hint(status, "pass --memory-limit %s", "2G");
  CU_ASSERT_STRING_EQUAL(zb_status_text(status),
                         "error: rank 3 needs 2G\n  note: loading stage 1\n  note: reading 'a'\n"
                         "  hint: pass --memory-limit 2G\n");
  CU_ASSERT_STRING_EQUAL(zb_status_message(status), "rank 3 needs 2G");
  CU_ASSERT_STRING_EQUAL(zb_status_hint_text(status), "pass --memory-limit 2G");
  CU_ASSERT_EQUAL(zb_status_code(status), ZB_INFEASIBLE);
  CU_ASSERT_EQUAL(zb_status_exit(status), 3);
  CU_ASSERT_STRING_EQUAL(zb_code_name(ZB_INFEASIBLE), "INFEASIBLE");
  zb_status_free(status);
  zb_status_free(NULL);
  zb_status several[] = {NULL, ZB_ERROR(IO, "second"), ZB_ERROR(USAGE, "third")};
  zb_status first = zb_status_first(several, 3);
  CU_ASSERT_STRING_EQUAL(zb_status_message(first), "second");
  zb_status_free(first);
  CU_ASSERT_PTR_NULL(zb_status_first(several, 1));
}

/* Names of strangers do not reach the terminal's control: escape, bell, delete, C1 as UTF-8 has it; tabs, line ends and
 * letters do. */
static void test_control_characters(void) {
  zb_status status = ZB_ERROR(INVALID, "'%s' is unknown", "\x1b[31mred\a\x7f\xc2\x9b\xc2\xb5\tend");
  status = zb_status_note(status, "%s", "a\rb");
  status = zb_status_hint(status, "%s", "\x01");
  CU_ASSERT_STRING_EQUAL(zb_status_text(status), "error: '\\x1b[31mred\\x07\\x7f\\xc2\\x9b\xc2\xb5\tend' is unknown\n"
                                                 "  note: a\\x0db\n  hint: \\x01\n");
  zb_status_free(status);
  char *unseen = zb_shown("a\xc2\xa0"
                          "b\xe2\x80\x8b"
                          "c\xef\xbb\xbf"
                          "d \xc3\xa9 \xe2\x82\xac \xe6\xbc\xa2");
  CU_ASSERT_STRING_EQUAL(unseen, "a\\xc2\\xa0b\\xe2\\x80\\x8bc\\xef\\xbb\\xbfd \xc3\xa9 \xe2\x82\xac \xe6\xbc\xa2");
  zb_free(unseen);
  char *shown = zb_shown("\xc2");
  CU_ASSERT_STRING_EQUAL(shown, "\xc2");
  zb_free(shown);
}

/* Whatever allocation fails, a status says something and can be freed. */
static void test_status_without_memory(void) {
  for (uint64_t n = 1; n <= 12; ++n) {
    zb_allocation_fail_at(n);
    zb_status status = zb_status_hint(zb_status_note(ZB_ERROR(IO, "no %s", "disk"), "note %d", 1), "hint %d", 2);
    const char *text = zb_status_text(status);
    zb_allocation_fail_at(0);
    CU_ASSERT_PTR_NOT_NULL_FATAL(status);
    CU_ASSERT_TRUE(strlen(text) > 0);
    CU_ASSERT_TRUE(zb_status_code(status) == ZB_IO || zb_status_code(status) == ZB_MEMORY);
    zb_status_free(status);
  }
}

static void test_attrs(void) {
  const int64_t axes[] = {1, 2};
  const zb_attr items[] = {{.name = "keepdims", .kind = ZB_ATTR_BOOL, .i = 1},
                           {.name = "axis", .kind = ZB_ATTR_INT, .i = -1},
                           {.name = "alpha", .kind = ZB_ATTR_FLOAT, .f = 0.5},
                           {.name = "axes", .kind = ZB_ATTR_INTS, .ints = axes, .count = 2},
                           {.name = "mode", .kind = ZB_ATTR_STRING, .s = "mean"}};
  zb_attrs attrs = {items, 5};
  CU_ASSERT_TRUE(zb_attr_bool(&attrs, "keepdims", false));
  CU_ASSERT_EQUAL(zb_attr_int(&attrs, "axis", 7), -1);
  CU_ASSERT_EQUAL(zb_attr_float(&attrs, "alpha", 1), 0.5);
  CU_ASSERT_EQUAL(zb_attr_float(&attrs, "axis", 1), -1);
  CU_ASSERT_STRING_EQUAL(zb_attr_string(&attrs, "mode", "sum"), "mean");
  CU_ASSERT_PTR_NOT_NULL_FATAL(zb_attr_find(&attrs, "axes"));
  CU_ASSERT_EQUAL(zb_attr_find(&attrs, "axes")->ints[1], 2);
  CU_ASSERT_EQUAL(zb_attr_int(&attrs, "none", 7), 7);
  CU_ASSERT_STRING_EQUAL(zb_attr_string(NULL, "mode", "sum"), "sum");
}

SUITE_MAIN("base", {"allocation", test_allocation}, {"pages", test_pages}, {"fail the n-th", test_fail_the_nth},
           {"dtypes", test_dtypes}, {"shapes", test_shapes}, {"status", test_status},
           {"control characters", test_control_characters}, {"status without memory", test_status_without_memory},
           {"attributes", test_attrs})
