/* The options of a compile (passes/options.h): of every row that it is seen where it is given, its text, its conflicts,
 * its default, and that the pass it names has it. */
#include "passes/options.h"
#include "passes/pipeline.h"
#include "test/suite.h"

#include <string.h>

/* Gives one option, by its kind; the text as passes take it. */
static const char *give(const zb_compile_option *it, zb_compile_params *p) {
  static const char *const items[] = {"a=1", "b=2"};
  char *field = (char *)p + it->field;
  if (it->kind == ZB_OPTION_FLAG) *(bool *)field = true;
  if (it->kind == ZB_OPTION_FLAG) return "true";
  if (it->kind == ZB_OPTION_BYTES) *(uint64_t *)field = 77;
  if (it->kind == ZB_OPTION_BYTES) return "77";
  if (it->kind == ZB_OPTION_LIST) *(const char *const **)field = items, *(int *)((char *)p + it->second) = 2;
  if (it->kind == ZB_OPTION_LIST) return "a=1;b=2";
  if (it->kind == ZB_OPTION_COUNT || it->kind == ZB_OPTION_GROUPS) return *(int *)field = 7, "7";
  return *(const char **)field = "given";
}

static void expect_usage(zb_status status, const char *first, const char *second) {
  CU_ASSERT_PTR_NOT_NULL_FATAL(status);
  CU_ASSERT_EQUAL(zb_status_code(status), ZB_USAGE);
  CU_ASSERT_PTR_NOT_NULL(strstr(zb_status_message(status), first));
  CU_ASSERT_PTR_NOT_NULL(strstr(zb_status_message(status), second));
  CU_ASSERT_PTR_NOT_NULL(zb_status_hint_text(status));
  zb_status_free(status);
}

static void test_given(void) {
  const zb_compile_params none = ZB_COMPILE_PARAMS_INIT;
  for (const zb_compile_option *it = zb_compile_options; it->option; ++it) {
    zb_compile_params p = none;
    zb_arena arena = {0};
    CU_ASSERT_FALSE(zb_option_is_given(it, &none));
    const char *text = give(it, &p);
    for (const zb_compile_option *other = zb_compile_options; other->option; ++other)
      CU_ASSERT_EQUAL(zb_option_is_given(other, &p), other == it);
    CU_ASSERT_STRING_EQUAL(zb_option_text(it, &p, &arena), text);
    CU_ASSERT_PTR_EQUAL(it->option[1] == '-' ? zb_option_find(it->option + 2) : it, it);
    CU_ASSERT_TRUE(strlen(it->help) > 0);
    zb_arena_deinit(&arena);
  }
}

static void test_conflicts(void) {
  int checked = 0;
  for (const zb_compile_option *it = zb_compile_options; it->option; ++it)
    for (int with = 0; with < 3; ++with) {
      zb_compile_params p = {.pipeline = with == 0 ? "zb-dce" : NULL, .inference = with == 1};
      if (with == 2) p.choice = "c";
      if (!(it->without >> with & 1)) continue;
      (void)give(it, &p);
      expect_usage(zb_options_check_beside(&p), it->option,
                   with == 0   ? "--pass-pipeline"
                   : with == 1 ? "--inference"
                               : "--choice");
      ++checked;
    }
  CU_ASSERT_TRUE(checked > 40);
}

static void test_needs(void) {
  int checked = 0;
  for (const zb_compile_option *it = zb_compile_options; it->option; ++it) {
    zb_compile_params p = ZB_COMPILE_PARAMS_INIT;
    if (!it->needs) continue;
    (void)give(it, &p);
    expect_usage(zb_options_check_needs(&p), it->option, it->needs);
    (void)give(zb_option_find(it->needs + 2), &p);
    CU_ASSERT_PTR_NULL(zb_options_check_needs(&p));
    ++checked;
  }
  CU_ASSERT_TRUE(checked >= 6);
  /* What is so anyway neither needs another, nor is what another needs. */
  CU_ASSERT_PTR_NULL(zb_options_check_needs(&(zb_compile_params){.sharding = "none"}));
  expect_usage(zb_options_check_needs(&(zb_compile_params){.sharding = "optimizer", .data_parallel = 1}), "--sharding",
               "--data-parallel");
}

static void test_counts(void) {
  for (const zb_compile_option *it = zb_compile_options; it->option; ++it) {
    zb_compile_params p = ZB_COMPILE_PARAMS_INIT;
    if (!it->most) continue;
    *(int *)((char *)&p + it->field) = it->most;
    CU_ASSERT_PTR_NULL(zb_options_check_counts(&p));
    *(int *)((char *)&p + it->field) = it->most + 1;
    expect_usage(zb_options_check_counts(&p), it->option, "expected 1 to");
    *(int *)((char *)&p + it->field) = -1;
    expect_usage(zb_options_check_counts(&p), it->option, "got -1");
  }
}

static void test_defaults(void) {
  zb_compile_params p = {.schedule = "1f1b"};
  zb_options_complete(&p);
  CU_ASSERT_STRING_EQUAL(p.schedule, "1f1b");
  CU_ASSERT_EQUAL(p.bucket_bytes, 25 << 20);
  CU_ASSERT_EQUAL(p.data_parallel, 1);
  for (const zb_compile_option *it = zb_compile_options; it->option; ++it)
    CU_ASSERT_EQUAL(zb_option_is_given(it, &p), it->value != NULL);
}

static void test_passes(void) {
  for (const zb_compile_option *it = zb_compile_options; it->option; ++it)
    for (int i = 0; it->passes && i < zb_pass_count(); ++i) {
      const zb_pass_def *pass = zb_pass_find(zb_pass_info_at(i).name);
      int found = 0;
      if (!zb_option_is_of(it, pass->name)) continue;
      for (const zb_option_def *option = pass->options; option->name; ++option)
        found += strcmp(option->name, it->option + 2) == 0;
      CU_ASSERT_EQUAL(found, 1);
      CU_ASSERT_PTR_NOT_NULL(strstr(zb_default_pipeline(), it->option + 2));
    }
  const zb_compile_option two = {.passes = "zb-shard zb-autodiff"};
  CU_ASSERT_TRUE(zb_option_is_of(&two, "zb-shard") && zb_option_is_of(&two, "zb-autodiff"));
  CU_ASSERT_FALSE(zb_option_is_of(&two, "zb-auto") || zb_option_is_of(&two, "autodiff"));
}

SUITE_MAIN("options", {"given", test_given}, {"conflicts", test_conflicts}, {"needs", test_needs},
           {"counts", test_counts}, {"defaults", test_defaults}, {"passes", test_passes})
