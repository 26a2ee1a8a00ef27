/* JSON: without memory nothing is read or written that is not what it should be. */
#include <string.h>

#include "runtime/base/json.h"
#include "test/suite.h"

static const char text[] = "{\"a long name for a tensor of a model\": [1234567890123456789, 0.12345678901234567, "
                           "\"text with some \\u00e4 letters\"],"
                           " \"b\": {\"c\": true, \"d\": null, \"e\": [[], {}, -17]}}";

static zb_code take_code(zb_status status) {
  zb_code code = zb_status_code(status);
  zb_status_free(status);
  return code;
}

static void test_round_trip(void) {
  json_t *value = NULL;
  json_error_t error;
  zb_text out = {0};
  CU_ASSERT_EQUAL(take_code(zb_json_parse(text, strlen(text), JSON_REJECT_DUPLICATES, &value, &error)), ZB_OK_CODE);
  CU_ASSERT_PTR_NOT_NULL_FATAL(value);
  CU_ASSERT_EQUAL(take_code(zb_json_print(value, JSON_COMPACT, &out)), ZB_OK_CODE);
  CU_ASSERT_PTR_NOT_NULL_FATAL(out.data);
  CU_ASSERT_PTR_NOT_NULL(strstr(out.data, "[1234567890123456789,0.123456789012345"));
  zb_text_deinit(&out);
  json_decref(value);
  CU_ASSERT_EQUAL(take_code(zb_json_parse("{\"a\": ", 6, 0, &value, &error)), ZB_OK_CODE);
  CU_ASSERT_PTR_NULL(value);
  CU_ASSERT(strlen(error.text) > 0);
}

/* Each allocation fails once: what comes back is an error or what it would be otherwise. */
static void test_without_memory(void) {
  json_t *good = NULL;
  json_error_t error;
  zb_text wanted = {0};
  CU_ASSERT_EQUAL_FATAL(take_code(zb_json_parse(text, strlen(text), 0, &good, &error)), ZB_OK_CODE);
  CU_ASSERT_EQUAL_FATAL(take_code(zb_json_print(good, JSON_INDENT(2) | JSON_SORT_KEYS, &wanted)), ZB_OK_CODE);
  int failed = 0, passed = 0;
  for (uint64_t n = 1; passed < 3 && n < 1000; ++n) {
    json_t *value = NULL;
    zb_text out = {0};
    zb_allocation_fail_at(n);
    zb_code code = take_code(zb_json_parse(text, strlen(text), 0, &value, &error));
    zb_code printed =
        code == ZB_OK_CODE ? take_code(zb_json_print(value, JSON_INDENT(2) | JSON_SORT_KEYS, &out)) : code;
    zb_allocation_fail_at(0);
    CU_ASSERT(printed == ZB_OK_CODE || printed == ZB_MEMORY);
    CU_ASSERT_EQUAL(code == ZB_OK_CODE, value != NULL);
    if (value) CU_ASSERT(json_equal(value, good));
    if (printed == ZB_OK_CODE) CU_ASSERT_STRING_EQUAL(out.data, wanted.data);
    failed += printed == ZB_MEMORY;
    passed = printed == ZB_OK_CODE ? passed + 1 : 0;
    zb_text_deinit(&out);
    json_decref(value);
  }
  CU_ASSERT(failed > 20);
  CU_ASSERT_EQUAL(passed, 3);
  zb_text_deinit(&wanted);
  json_decref(good);
}

SUITE_MAIN("json", {"round trip", test_round_trip}, {"without memory", test_without_memory})
