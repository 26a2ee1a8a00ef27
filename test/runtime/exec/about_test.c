/* What a plan says of itself before there is a session; every allocation may fail. Outputs: test/python/package.py. */
#include "test/runtime/exec/tiny.h"

#include "runtime/base/random.h"

static const char *written(zb_plan *plan) {
  static char folder[600];
  char file[700];
  tiny_path(folder, "plan");
  TINY_OK(zb_make_folder(folder));
  snprintf(file, sizeof file, "%s/plan.zb", folder);
  TINY_OK(zb_plan_write(plan, file));
  zb_plan_destroy(plan);
  return folder;
}

static void test_fields(void) {
  zb_plan *plan = tiny_plan();
  zb_plan_about *about = NULL;
  zb_plan_input *inputs = zb_plan_alloc(plan, sizeof *inputs * 3); /* the counter between the others */
  inputs[0] = plan->inputs[0];
  inputs[1] = (zb_plan_input){ZB_COUNTER_INPUT, {.dtype = ZB_I64, .rank = 1, .dims = {ZB_COUNTER_WORDS}}};
  inputs[2] = plan->inputs[1];
  plan->inputs = inputs;
  plan->input_count = 3;
  for (int r = 0; r < 2; ++r)
    for (int i = 0; i < plan->ranks[r].job_count; ++i)
      if (plan->ranks[r].jobs[i].input == 1) plan->ranks[r].jobs[i].input = 2;
  TINY_OK(zb_plan_about_read(written(plan), &about));
  CU_ASSERT_STRING_EQUAL(about->model, "tiny");
  CU_ASSERT_STRING_EQUAL(about->schedule, "by-hand");
  CU_ASSERT_STRING_EQUAL(about->optimizer, "adamw:lr=0.01");
  CU_ASSERT_STRING_EQUAL(about->precision, "f32");
  CU_ASSERT(about->ranks == 2 && about->stages == 2 && about->micro_batches == TINY_MICRO_BATCHES);
  CU_ASSERT(about->replicas == 1 && about->shards == 1);
  CU_ASSERT(about->random && !about->evaluates && !about->inference);
  CU_ASSERT_EQUAL_FATAL(about->input_count, 2);
  CU_ASSERT_STRING_EQUAL(about->inputs[0].name, "x");
  CU_ASSERT_STRING_EQUAL(about->inputs[1].name, "y");
  CU_ASSERT(about->inputs[1].shape.dtype == ZB_I64 && about->inputs[1].shape.dims[1] == TINY_LENGTH);
  CU_ASSERT_EQUAL_FATAL(about->argument_count, 3);
  CU_ASSERT_STRING_EQUAL(about->arguments[1], "mask");
  CU_ASSERT_STRING_EQUAL(about->arguments[2], "y");
  CU_ASSERT_EQUAL(about->output_count, 0);
  zb_plan_about_destroy(about);
}

static void test_wrong(void) {
  zb_plan_about *about = NULL;
  char path[600];
  tiny_expect(zb_plan_about_read("", &about), ZB_USAGE, "no folder of a plan is given");
  tiny_expect(zb_plan_about_read(tiny_path(path, "nowhere"), &about), ZB_IO, "expected: a folder that zbc wrote");
  CU_ASSERT_PTR_NULL(about);
  zb_plan_about_destroy(NULL);
}

static void test_out_of_memory(void) {
  zb_plan_about *about = NULL;
  const char *folder = written(tiny_plan());
  int failed = 0;
  for (uint64_t n = 1; !about && n < 10000; ++n) {
    zb_allocation_fail_at(n);
    zb_status status = zb_plan_about_read(folder, &about);
    zb_allocation_fail_at(0);
    failed += status != NULL;
    if (status) CU_ASSERT_EQUAL(zb_status_code(status), ZB_MEMORY);
    CU_ASSERT_EQUAL(about == NULL, status != NULL);
    zb_status_free(status);
  }
  CU_ASSERT(about && failed > 5);
  zb_plan_about_destroy(about);
}

int main(void) {
  static CU_TestInfo tests[] = {
      {"fields", test_fields}, {"wrong", test_wrong}, {"out of memory", test_out_of_memory}, CU_TEST_INFO_NULL};
  return tiny_run("about", tests);
}
