/* Ops of one operand and their gradients keep the digits of f32 on a GPU: the kernels' device code, emulated. */
#include "test/kernels/digits.h"

#include "kernels/cuda/common.h"
#include "kernels/cuda/kernels.h"
#include "test/kernels/cuda/driver.h"

static bool run_emulated(const char *op, const zb_tensor *in, int in_count, zb_tensor *out, const digits_row *row) {
  zb_kernel_call call = {
      .inputs = in, .input_count = in_count, .outputs = out, .output_count = 1, .attrs = {row->attrs, row->attr_count}};
  const zb_cuda_kernel *kernel;
  zb_status status = zb_cuda_kernel_find(op, &call, NULL, &kernel);
  if (!status) status = kernel->run(&call, &emulated_launcher);
  if (status) fprintf(stderr, "%s: %s\n", op, zb_status_text(status));
  CU_ASSERT_PTR_NULL(status);
  zb_status_free(status);
  return true;
}

static void test_digits(void) { digits_check("cuda, emulated", run_emulated, ZB_F32, 16384, DIGITS_GPU); }

int main(void) {
  CU_TestInfo tests[] = {{"digits of f32", test_digits}, CU_TEST_INFO_NULL};
  CU_SuiteInfo suites[] = {{"cuda digits", emulated_suite_open, emulated_suite_close, NULL, NULL, tests},
                           CU_SUITE_INFO_NULL};
  return suite_run(suites);
}
