/* Growing text, maps, nearest name, glob, hashes. */
#include "runtime/base/digest.h"
#include "runtime/base/map.h"
#include "runtime/base/memory.h"
#include "runtime/base/text.h"
#include "runtime/base/words.h"

#include <stdio.h>
#include <string.h>

#include "test/suite.h"

static void test_text(void) {
  zb_text text = {0};
  for (int i = 0; i < 1000; ++i)
    zb_text_add(&text, "%d,", i);
  zb_text_add_bytes(&text, "a\0b", 3);
  CU_ASSERT_EQUAL(text.length, 10 * 2 + 90 * 3 + 900 * 4 + 3);
  CU_ASSERT_NSTRING_EQUAL(text.data, "0,1,2,", 6);
  CU_ASSERT_EQUAL(text.data[text.length], '\0');
  char *taken = zb_text_take(&text);
  CU_ASSERT_PTR_NOT_NULL(taken);
  CU_ASSERT_PTR_NULL(text.data);
  zb_free(taken);
  taken = zb_text_take(&text);
  CU_ASSERT_STRING_EQUAL_FATAL(taken, "");
  zb_free(taken);
}

static void test_text_without_memory(void) {
  zb_text text = {0};
  zb_allocation_fail_at(1);
  zb_text_add(&text, "lost");
  zb_text_add(&text, "kept?");
  CU_ASSERT_TRUE(text.failed);
  CU_ASSERT_PTR_NULL(zb_text_take(&text));
  CU_ASSERT_FALSE(text.failed);
}

static void test_text_map(void) {
  zb_map *map = zb_map_create();
  CU_ASSERT_PTR_NOT_NULL_FATAL(map);
  char key[32];
  for (int i = 0; i < 5000; ++i) {
    snprintf(key, sizeof key, "name.%d", i);
    CU_ASSERT_TRUE(zb_map_set(map, key, i));
  }
  CU_ASSERT_TRUE(zb_map_set(map, "name.7", 70));
  CU_ASSERT_EQUAL(zb_map_count(map), 5000);
  for (int i = 0; i < 5000; ++i) {
    int64_t value = -1;
    snprintf(key, sizeof key, "name.%d", i);
    CU_ASSERT_TRUE(zb_map_get(map, key, &value));
    CU_ASSERT_EQUAL(value, i == 7 ? 70 : i);
  }
  CU_ASSERT_FALSE(zb_map_get(map, "name", NULL));
  CU_ASSERT_EQUAL(zb_map_get_or(map, "name", -3), -3);
  zb_map_destroy(map);
}

static void test_pointer_map(void) {
  static int objects[1000];
  zb_map *map = zb_map_create_pointer();
  CU_ASSERT_PTR_NOT_NULL_FATAL(map);
  CU_ASSERT_FALSE(zb_map_get(map, NULL, NULL));
  for (int i = 0; i < 1000; ++i)
    CU_ASSERT_TRUE(zb_map_set(map, &objects[i], i));
  CU_ASSERT_TRUE(zb_map_set(map, NULL, -5));
  for (int i = 0; i < 1000; ++i)
    CU_ASSERT_EQUAL(zb_map_get_or(map, &objects[i], -1), i);
  CU_ASSERT_EQUAL(zb_map_get_or(map, NULL, 0), -5);
  CU_ASSERT_EQUAL(zb_map_count(map), 1001);
  CU_ASSERT_FALSE(zb_map_get(map, &map, NULL));
  zb_map_destroy(map);
}

static void test_map_without_memory(void) {
  for (uint64_t n = 1; n <= 6; ++n) {
    zb_map *map = zb_map_create();
    CU_ASSERT_PTR_NOT_NULL_FATAL(map);
    zb_allocation_fail_at(n);
    int set = 0;
    set += zb_map_set(map, "a", 1);
    set += zb_map_set(map, "b", 2);
    zb_allocation_fail_at(0);
    CU_ASSERT_EQUAL(zb_map_count(map), set);
    zb_map_destroy(map);
  }
}

static void test_nearest(void) {
  static const char *const names[] = {"fthenb", "1f1b", "zb-h1", "zb-h2", "zb-v"};
  CU_ASSERT_STRING_EQUAL(zb_nearest("zb-h11", names, 5), "zb-h1");
  CU_ASSERT_STRING_EQUAL(zb_nearest("zbh2", names, 5), "zb-h2");
  CU_ASSERT_STRING_EQUAL(zb_nearest("fhtenb", names, 5), "fthenb");
  CU_ASSERT_STRING_EQUAL(zb_nearest("1F1b", names, 5), "1f1b");
  CU_ASSERT_STRING_EQUAL(zb_nearest("ZB-H1", names, 5), "zb-h1");
  CU_ASSERT_STRING_EQUAL(zb_nearest("FHTENB", names, 5), "fthenb");
  CU_ASSERT_PTR_NULL(zb_nearest("interleaved", names, 5));
  CU_ASSERT_PTR_NULL(zb_nearest("x", names, 0));
  static const char *const choices[] = {"none", "all", "auto"};
  CU_ASSERT_STRING_EQUAL(zb_nearest("al", choices, 3), "all");
  CU_ASSERT_PTR_NULL(zb_nearest("a", choices, 3));
  CU_ASSERT_PTR_NULL(zb_nearest("xl", choices, 3));
}

static void test_nearest_glob(void) {
  static const char *const names[] = {"lm.h.0.attn.weight", "lm.h.0.attn.bias", "lm.h.1.mlp.bias", "norm.gain"};
  static const struct {
    const char *glob, *nearest;
  } rows[] = {{"*.biass", "*.bias"},
              {"lm.*.atn.*", "lm.*.attn.*"},
              {"norn.*", "norm.*"},
              {"lm.h.1.mlp.bia", "lm.h.1.mlp.bias"}, /* the whole name */
              {"lm.h.1.atn.bias", "lm.h.0.attn.bias"},
              {"*.embedding", NULL},
              {"norm.*.biass", NULL}}; /* with the part mended it fits no name either */
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    char out[64] = "";
    const bool found = zb_nearest_glob(rows[i].glob, names, 4, out, sizeof out);
    CU_ASSERT_EQUAL(found, rows[i].nearest != NULL);
    if (found && rows[i].nearest) CU_ASSERT_STRING_EQUAL(out, rows[i].nearest);
  }
  char little[4];
  CU_ASSERT_FALSE(zb_nearest_glob("*.biass", names, 4, little, sizeof little));
}

static void test_glob(void) {
  static const struct {
    const char *pattern, *text;
    bool matches;
  } rows[] = {
      {"*", "", true},          {"h.*.w", "h.0.w", true},   {"h.*.w", "h.0.attn.w", true}, {"h.*.w", "h.0.b", false},
      {"h.?.w", "h.0.w", true}, {"h.?.w", "h.10.w", false}, {"a*b*c", "aXbYbZc", true},    {"a*b*c", "aXbYbZ", false},
      {"", "", true},           {"", "a", false},           {"***", "abc", true},          {"abc", "ab", false}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i)
    CU_ASSERT_EQUAL(zb_glob(rows[i].pattern, rows[i].text), rows[i].matches);
}

/* RFC 3720, appendix B.4. */
static void test_crc32c(void) {
  unsigned char bytes[32] = {0};
  CU_ASSERT_EQUAL(zb_crc32c(0, "", 0), 0);
  CU_ASSERT_EQUAL(zb_crc32c(0, "123456789", 9), 0xe3069283u);
  CU_ASSERT_EQUAL(zb_crc32c(0, bytes, 32), 0x8a9136aau);
  memset(bytes, 0xff, 32);
  CU_ASSERT_EQUAL(zb_crc32c(0, bytes, 32), 0x62a8ab43u);
  for (int i = 0; i < 32; ++i)
    bytes[i] = (unsigned char)i;
  CU_ASSERT_EQUAL(zb_crc32c(0, bytes, 32), 0x46dd794eu);
  for (size_t cut = 0; cut <= 32; ++cut)
    CU_ASSERT_EQUAL(zb_crc32c(zb_crc32c(0, bytes, cut), bytes + cut, 32 - cut), 0x46dd794eu);
}

static void test_fnv1a(void) {
  CU_ASSERT_EQUAL(zb_fnv1a(UINT64_C(0xcbf29ce484222325), "a", 1), UINT64_C(0xaf63dc4c8601ec8c)); /* published vector */
  CU_ASSERT_EQUAL(zb_fnv1a(ZB_FNV_START, "", 0), ZB_FNV_START);
  CU_ASSERT_NOT_EQUAL(zb_fnv1a(ZB_FNV_START, "ab", 2), zb_fnv1a(ZB_FNV_START, "ba", 2));
}

static void test_grow(void) {
  int *array = NULL;
  size_t capacity = 0;
  for (size_t i = 0; i < 1000; ++i) {
    CU_ASSERT_TRUE_FATAL(zb_grow((void **)&array, &capacity, i + 1, sizeof *array));
    array[i] = (int)i;
  }
  CU_ASSERT_EQUAL(array[999], 999);
  CU_ASSERT_FALSE(zb_grow((void **)&array, &capacity, SIZE_MAX / 2, sizeof *array));
  CU_ASSERT_EQUAL(array[0], 0);
  zb_free(array);
}

SUITE_MAIN("text", {"text", test_text}, {"text without memory", test_text_without_memory},
           {"map of texts", test_text_map}, {"map of pointers", test_pointer_map},
           {"map without memory", test_map_without_memory}, {"nearest", test_nearest},
           {"nearest GLOB", test_nearest_glob}, {"glob", test_glob}, {"crc32c", test_crc32c}, {"fnv1a", test_fnv1a},
           {"grow", test_grow})
