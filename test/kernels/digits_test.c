/* Ops of one operand and their gradients keep the digits of their type: the reference in f32 and f64, and the fast
 * kernels on every instruction set of the machine. ZB_DIGITS=N takes N points a row and prints the errors of all. */
#include "test/kernels/digits.h"

#include "kernels/cpu/isa.h"

static bool run_kernel(const zb_kernel *kernel, zb_kernel_call *call) {
  const char *error = kernel->run(call);
  if (error) fprintf(stderr, "%s\n", error);
  CU_ASSERT_PTR_NULL(error);
  return !error;
}

static zb_kernel_call call_of(const zb_tensor *in, int in_count, zb_tensor *out, const digits_row *row) {
  return (zb_kernel_call){
      .inputs = in, .input_count = in_count, .outputs = out, .output_count = 1, .attrs = {row->attrs, row->attr_count}};
}

static bool run_reference(const char *op, const zb_tensor *in, int in_count, zb_tensor *out, const digits_row *row) {
  zb_kernel_call call = call_of(in, in_count, out, row);
  return run_kernel(zb_kernel_reference(op), &call);
}

static bool run_fast(const char *op, const zb_tensor *in, int in_count, zb_tensor *out, const digits_row *row) {
  zb_kernel_call call = call_of(in, in_count, out, row);
  const zb_kernel *kernel = zb_kernel_cpu(op, &call);
  if (kernel == zb_kernel_reference(op)) { /* it is measured by itself; its result is what a gradient reads */
    run_kernel(kernel, &call);
    return false;
  }
  return run_kernel(kernel, &call);
}

static int64_t points(void) {
  const char *text = getenv("ZB_DIGITS");
  const long long count = text ? strtoll(text, NULL, 10) : 0;
  return count > 8192 ? count : 16384;
}

static void test_reference(void) { digits_check("reference, f32", run_reference, ZB_F32, points(), DIGITS_WIDE); }

static void test_reference_f64(void) { digits_check("reference, f64", run_reference, ZB_F64, points(), DIGITS_PLAIN); }

static void test_fast(void) {
  for (int level = 0; level < ZB_ISA_COUNT; ++level) {
    zb_isa_limit((zb_isa_level)level);
    if ((int)zb_isa() == level) digits_check(zb_isa_name(), run_fast, ZB_F32, points(), DIGITS_VECTOR);
  }
  zb_isa_limit(ZB_ISA_AVX512);
}

/* A new op is measured: each row of unary.def has one here. */
static void test_rows(void) {
#define ZB_REF_UNARY(name, ...) #name,
  static const char *const names[] = {
#include "kernels/cpu/ref/unary.def"
  };
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
    bool found = false;
    for (int r = 0; r < DIGITS_ROWS; ++r)
      found |= strcmp(digits_rows[r].op, names[i]) == 0;
    if (!found) fprintf(stderr, "%s: no row in test/kernels/digits.h\n", names[i]);
    CU_ASSERT(found);
  }
}

int main(void) {
  CU_TestInfo tests[] = {{"every op of one operand is measured", test_rows},
                         {"the reference in f32", test_reference},
                         {"the reference in f64", test_reference_f64},
                         {"fast kernels", test_fast},
                         CU_TEST_INFO_NULL};
  CU_SuiteInfo suites[] = {{"digits", NULL, NULL, NULL, NULL, tests}, CU_SUITE_INFO_NULL};
  return suite_run(suites);
}
