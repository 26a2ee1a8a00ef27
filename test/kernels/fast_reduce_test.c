/* Sums and means on the CPU against the reference: rows, columns, the middle, everything. */
#include "test/kernels/fast.h"

static void check_reduction(zb_tensor x, int count, const int64_t *axes, int out_rank, const int64_t *out_shape) {
  for (int mean = 0; mean < 2; ++mean) {
    fast_call c = {.op = mean ? "reduce_mean" : "reduce_sum"};
    int64_t n = fast_elements(&x);
    fast_input(&c, x);
    fast_output(&c, fast_tensor(ZB_F32, out_rank, out_shape));
    fast_ints(&c, "axes", count, axes);
    fast_bool(&c, "keepdims", false);
    fast_check(&c, mean ? 1e-6f : 1e-6f + 2e-8f * (float)(n > 1000 ? n / 8 : n), 1e-6f);
    free(c.outputs[0].data);
  }
  free(x.data);
}

static void test_axes(void) {
  for (int64_t n = 1; n <= 67; ++n) {
    check_reduction(fast_uniform(-1, 1, FAST_SHAPE(5, 3, n)), FAST_SHAPE(2), FAST_SHAPE(5, 3));
    check_reduction(fast_uniform(-1, 1, FAST_SHAPE(5, 3, n)), FAST_SHAPE(0, 1), FAST_SHAPE(n));
    check_reduction(fast_uniform(-1, 1, FAST_SHAPE(5, n, 3)), FAST_SHAPE(1), FAST_SHAPE(5, 3));
    check_reduction(fast_uniform(-1, 1, FAST_SHAPE(n, 1, 3)), FAST_SHAPE(1), FAST_SHAPE(n, 3));
    check_reduction(fast_uniform(-1, 1, FAST_SHAPE(2, n, 3)), 0, NULL, 0, NULL);
  }
}

static void test_large(void) {
  check_reduction(fast_uniform(-1, 1, FAST_SHAPE(300000)), 0, NULL, 0, NULL);
  check_reduction(fast_uniform(-1, 1, FAST_SHAPE(2, 100000)), FAST_SHAPE(1), FAST_SHAPE(2));
  check_reduction(fast_uniform(-1, 1, FAST_SHAPE(1000, 300)), FAST_SHAPE(0), FAST_SHAPE(300));
  check_reduction(fast_uniform(-1, 1, FAST_SHAPE(400, 500)), FAST_SHAPE(1), FAST_SHAPE(400));
  check_reduction(fast_tensor(ZB_F32, FAST_SHAPE(4, 0)), FAST_SHAPE(1), FAST_SHAPE(4));
}

int main(void) {
  CU_TestInfo tests[] = {{"axes", test_axes}, {"large", test_large}, CU_TEST_INFO_NULL};
  return fast_main("fast reductions", tests);
}
