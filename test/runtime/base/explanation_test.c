/* Explanations: causes are taken from what is left, the text and the JSON of a known one. */
#include "runtime/base/explanation.h"
#include "test/suite.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

static void make(zb_explanation *e) {
  CU_ASSERT_PTR_NULL_FATAL(zb_explanation_init(e, 2));
  e->time_ps = 1000;
  e->idle_ps[0] = 300;
  e->idle_ps[1] = 100;
  zb_explanation_begin(e);
  zb_explanation_take(e, ZB_CAUSE_MESSAGES, 950, (const int64_t[]){700, 850});
  zb_explanation_save(e, ZB_CAUSE_MESSAGES, 960);
  zb_explanation_take(e, ZB_CAUSE_IMBALANCE, 980, (const int64_t[]){880, 800}); /* rank 1 would wait longer: no part */
  zb_explanation_save(e, ZB_CAUSE_IMBALANCE, 1080);
  zb_explanation_take(e, ZB_CAUSE_ORDER, 990, (const int64_t[]){0, 0});
  zb_explanation_take(e, ZB_CAUSE_MEMORY, 890, (const int64_t[]){891, 850});
  zb_explanation_save(e, ZB_CAUSE_MEMORY, 920);
  zb_explanation_end(e);
}

static void test_parts(void) {
  zb_explanation e;
  make(&e);
  CU_ASSERT_EQUAL(e.part_ps[0][ZB_CAUSE_MESSAGES], 50);
  CU_ASSERT_EQUAL(e.part_ps[0][ZB_CAUSE_IMBALANCE], 150);
  CU_ASSERT_EQUAL(e.part_ps[0][ZB_CAUSE_MEMORY], 100);
  CU_ASSERT_EQUAL(e.part_ps[0][ZB_CAUSE_DEPENDENCY], 0);
  CU_ASSERT_EQUAL(e.part_ps[1][ZB_CAUSE_MESSAGES], 0);
  CU_ASSERT_EQUAL(e.part_ps[1][ZB_CAUSE_IMBALANCE], 0);
  CU_ASSERT_EQUAL(e.part_ps[1][ZB_CAUSE_MEMORY], 60);
  CU_ASSERT_EQUAL(e.part_ps[1][ZB_CAUSE_DEPENDENCY], 40);
  CU_ASSERT_EQUAL(e.saved_ps[ZB_CAUSE_IMBALANCE], 0);
  CU_ASSERT_EQUAL(e.saved_ps[ZB_CAUSE_DEPENDENCY], 20);
  CU_ASSERT_EQUAL(zb_explanation_most(&e), ZB_CAUSE_MEMORY);
  zb_explanation_deinit(&e);
  zb_explanation_deinit(&e);
}

static void test_text(void) {
  static const char wanted[] = "rank       idle ps     messages    imbalance        order       memory   dependency\n"
                               "0          300.000       50.000      150.000        0.000      100.000        0.000\n"
                               "1          100.000        0.000        0.000        0.000       60.000       40.000\n"
                               "all        400.000       50.000      150.000        0.000      160.000       40.000\n"
                               "share       20.00%        2.50%        7.50%        0.00%        8.00%        2.00%\n"
                               "saves                     4.00%        0.00%        0.00%        8.00%        2.00%\n"
                               "what would help most: more memory, about 8.0% of the step\n";
  zb_explanation e;
  make(&e);
  char *text = zb_explanation_text(&e);
  CU_ASSERT_STRING_EQUAL(text, wanted);
  if (strcmp(text, wanted) != 0) printf("\n%s", text);
  zb_free(text);
  zb_explanation_deinit(&e);
}

static void test_json(void) {
  zb_explanation e;
  make(&e);
  char *text = zb_explanation_json(&e);
  json_t *json = json_loads(text, 0, NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(json);
  CU_ASSERT_EQUAL(json_integer_value(json_object_get(json, "time_ps")), 1000);
  CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(json, "most")), "memory");
  CU_ASSERT_EQUAL(json_integer_value(json_object_get(json_object_get(json, "saved_ps"), "messages")), 40);
  CU_ASSERT_EQUAL(json_object_size(json_object_get(json, "saved_ps")), 5);
  const json_t *rank = json_array_get(json_object_get(json, "ranks"), 1);
  CU_ASSERT_EQUAL(json_integer_value(json_object_get(rank, "idle_ps")), 100);
  CU_ASSERT_EQUAL(json_integer_value(json_object_get(rank, "memory_ps")), 60);
  json_decref(json);
  zb_free(text);
  zb_explanation_deinit(&e);
}

static void test_no_time(void) {
  zb_explanation e;
  CU_ASSERT_PTR_NULL_FATAL(zb_explanation_init(&e, 1));
  zb_explanation_begin(&e);
  zb_explanation_end(&e);
  CU_ASSERT_EQUAL(zb_explanation_most(&e), ZB_CAUSE_DEPENDENCY);
  char *text = zb_explanation_text(&e);
  CU_ASSERT_PTR_NOT_NULL(strstr(text, "no rank idles\n"));
  CU_ASSERT_PTR_NULL(strstr(text, "nan"));
  zb_free(text);
  zb_explanation_deinit(&e);
}

static void test_words(void) {
  for (int cause = 0; cause < ZB_CAUSE_COUNT; ++cause) {
    CU_ASSERT(strlen(zb_cause_name((zb_cause)cause)) > 0 && strlen(zb_cause_name((zb_cause)cause)) <= 12);
    CU_ASSERT(strlen(zb_cause_help((zb_cause)cause)) > 0);
    CU_ASSERT(strlen(zb_cause_remedy((zb_cause)cause)) > 0);
  }
}

SUITE_MAIN("explanation", {"parts", test_parts}, {"text", test_text}, {"json", test_json}, {"no time", test_no_time},
           {"words", test_words})
