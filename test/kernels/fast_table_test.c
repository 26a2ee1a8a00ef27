/* The table of the CPU kernels: every row names an op that has a reference, and calls nobody is fast at get the
 * reference. */
#include "test/kernels/fast.h"

static const char *const ops[] = {
#define ZB_KERNEL(op, ...) #op,
#include "kernels/cpu/kernels.def"
};

static void test_rows(void) {
  for (size_t i = 0; i < sizeof ops / sizeof ops[0]; ++i) {
    const zb_kernel *reference = zb_kernel_reference(ops[i]);
    CU_ASSERT_FATAL(reference != NULL);
    CU_ASSERT_STRING_EQUAL(reference->op, ops[i]);
  }
}

static void test_fallback(void) {
  zb_tensor x = fast_tensor(ZB_F64, FAST_SHAPE(4)), out = fast_tensor(ZB_F64, FAST_SHAPE(4));
  zb_kernel_call call = {.inputs = &x, .input_count = 1, .outputs = &out, .output_count = 1};
  CU_ASSERT(zb_kernel_cpu("exp", &call) == zb_kernel_reference("exp"));
  CU_ASSERT(zb_kernel_cpu("cosh", &call) == zb_kernel_reference("cosh"));
  CU_ASSERT(zb_kernel_cpu("no_such_op", &call) == NULL);
  free(x.data), free(out.data);
}

/* Lowering the limit and raising it again gives the machine's own instruction set. */
static void test_instruction_set(void) {
  zb_isa_level own = zb_isa();
  zb_isa_limit(ZB_ISA_BASE);
  CU_ASSERT(zb_isa() == ZB_ISA_BASE);
  CU_ASSERT_STRING_EQUAL(zb_isa_name(), "baseline");
  zb_isa_limit(ZB_ISA_AVX512);
  CU_ASSERT(zb_isa() == own);
}

int main(void) {
  CU_TestInfo tests[] = {
      {"rows", test_rows}, {"fallback", test_fallback}, {"instruction set", test_instruction_set}, CU_TEST_INFO_NULL};
  return fast_main("table of CPU kernels", tests);
}
