/* Plans in memory and as text. */
#include "test/runtime/plan/sample_plan.h"

#include <stdio.h>

#include "test/suite.h"

static void test_memory(void) {
  zb_plan *plan = zb_plan_create();
  CU_ASSERT_PTR_NOT_NULL_FATAL(plan);
  uint64_t before = zb_allocation_count();
  for (size_t bytes = 0; bytes < 2000; ++bytes) {
    unsigned char *memory = zb_plan_alloc(plan, bytes);
    CU_ASSERT_PTR_NOT_NULL_FATAL(memory);
    CU_ASSERT_EQUAL((uintptr_t)memory % 16, 0);
    for (size_t i = 0; i < bytes; ++i)
      CU_ASSERT_EQUAL_FATAL(memory[i], 0);
    memset(memory, 0xff, bytes); /* neighbours would show it */
  }
  CU_ASSERT_TRUE(zb_allocation_count() - before < 20);
  CU_ASSERT_STRING_EQUAL(zb_plan_strdup(plan, "name"), "name");
  CU_ASSERT_PTR_NOT_NULL(zb_plan_alloc(plan, 10 << 20));
  CU_ASSERT_PTR_NULL(zb_plan_alloc(plan, SIZE_MAX - 8));
  zb_plan_destroy(plan);
  zb_plan_destroy(NULL);
  for (uint64_t n = 1; n <= 2; ++n) {
    zb_allocation_fail_at(n);
    CU_ASSERT_PTR_NULL(zb_plan_create());
  }
  zb_allocation_fail_at(0);
}

static void test_names(void) {
  CU_ASSERT_STRING_EQUAL(zb_job_mnemonic(ZB_JOB_RECV), "RECV");
  CU_ASSERT_TRUE(zb_job_is_compute(ZB_JOB_UPDATE));
  CU_ASSERT_FALSE(zb_job_is_compute(ZB_JOB_READ));
  CU_ASSERT_STRING_EQUAL(zb_job_mnemonic(ZB_JOB_KIND_COUNT), "invalid");
  for (int i = 0; i < ZB_REGION_COUNT; ++i)
    CU_ASSERT_STRING_NOT_EQUAL(zb_region_name((zb_region_kind)i), "invalid");
}

static void expect_line(const char *text, const char *line) {
  if (!strstr(text, line)) printf("\n  not in the text: '%s'", line);
  CU_ASSERT_PTR_NOT_NULL(strstr(text, line));
}

static void test_print(void) {
  zb_plan *plan = sample_plan(2, 2, 0);
  char *text = sample_print(plan), *again = sample_print(plan);
  CU_ASSERT_PTR_NOT_NULL_FATAL(text);
  CU_ASSERT_STRING_EQUAL(text, again);
  expect_line(text,
              "plan by test\nmodel sample.mlir\nschedule 1f1b\nplacement plain\noptimizer sgd:lr=0.1\nprecision bf16\n"
              "ranks 2, stages 2, chunks 1, micro-batches 2\n");
  expect_line(text, "\nmessage #0 F from rank 0 stage 0 to rank 1 stage 1 micro-batch 0, 256 bytes in 2 parts\n");
  expect_line(text,
              "\nrank 0: 17 jobs, 6 messages, arena 4,928 bytes\n"
              "  parameters 576   state 512   gradients 640   constants 64   step 64   slots 2,816   workspace 256\n");
  expect_line(
      text, "\n  parameter tied 16xf32 at parameters+512 trained, gradient at gradients+512, its value comes later\n");
  expect_line(text, "\n  constant one f32 at constants+0 inline 0000803f\n");
  expect_line(text, "\n  subprogram B: B of stage 1, time 20 ps, flops 0, products 0, workspace 256\n"
                    "    bases  fb 256  bw 128  dx 256\n");
  expect_line(
      text,
      "\n    matmul accumulating  bw+0:8x4xf32{1,8}  fw+0:4x16xf32  ->  gradients+0:8x16xf32  flops 128  // sample\n");
  expect_line(text,
              "{transpose_rhs = true, number = -7, scale = 0.10000000000000001, axes = [1, -2, 3], mode = \"plain\"}");
  expect_line(text, "\n      8  B      B micro-batch 0  fb slots+0  bw slots+1024  dout slots+1792  after 7\n");
  expect_line(text, "\n    loss at fb+192\n");
  expect_line(text, "\n      4  REPORT stage 1 micro-batch 0  slots+192 (4)\n");
  zb_free(text);
  zb_free(again);
  zb_plan_destroy(plan);
}

/* Texts of any length pass through the printer's buffer. */
static void test_long_texts(void) {
  zb_plan *plan = sample_plan(1, 1, 0);
  char *name = zb_plan_alloc(plan, 10001);
  CU_ASSERT_PTR_NOT_NULL_FATAL(name);
  memset(name, 'n', 10000);
  plan->ranks[0].subprograms[SAMPLE_F].instructions[0].location = name;
  char *text = sample_print(plan);
  CU_ASSERT_PTR_NOT_NULL_FATAL(text);
  expect_line(text, name);
  zb_free(text);
  zb_plan_destroy(plan);
}

SUITE_MAIN("plan", {"memory", test_memory}, {"names", test_names}, {"print", test_print},
           {"long texts", test_long_texts})
