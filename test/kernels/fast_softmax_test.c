/* Softmax, log-softmax and cross entropy on the CPU against the reference. */
#include "test/kernels/fast.h"

static void check_rows(const char *op, bool gradient, int64_t rows, int64_t width) {
  bool of_softmax = strcmp(op, "softmax_grad") == 0; /* its operand is a distribution */
  fast_call c = {.op = op};
  fast_input(&c, fast_uniform(of_softmax ? 0 : -4,
                              of_softmax ? 2.0f / (float)width
                              : gradient ? 0
                                         : 9,
                              FAST_SHAPE(2, rows, width)));
  if (gradient) fast_input(&c, fast_uniform(-1, 1, FAST_SHAPE(2, rows, width)));
  fast_output(&c, fast_tensor(ZB_F32, FAST_SHAPE(2, rows, width)));
  fast_int(&c, "axis", 2);
  fast_check(&c, 1e-5f, 3e-6f);
  fast_free(&c, 0);
}

static void test_softmax(void) {
  static const char *const ops[] = {"softmax", "log_softmax", "softmax_grad", "log_softmax_grad"};
  for (int k = 0; k < 4; ++k) {
    for (int64_t width = 1; width <= 67; width += 2)
      check_rows(ops[k], k >= 2, 3, width);
    check_rows(ops[k], k >= 2, 60, 500);
  }
}

static fast_call losses(const char *op, int64_t rows, int64_t width, const char *reduction, bool ignore,
                        zb_dtype labels) {
  fast_call c = {.op = op};
  fast_input(&c, fast_uniform(-5, 5, FAST_SHAPE(rows, width)));
  fast_input(&c, fast_tensor(labels, FAST_SHAPE(rows)));
  for (int64_t i = 0; i < rows; ++i) {
    int64_t label = ignore && i % 3 == 1 ? -100 : (i * 7919) % width;
    if (labels == ZB_I64)
      ((int64_t *)c.inputs[1].data)[i] = label;
    else
      ((int32_t *)c.inputs[1].data)[i] = (int32_t)label;
  }
  fast_string(&c, "reduction", reduction);
  if (ignore) fast_int(&c, "ignore_index", -100);
  return c;
}

static void check_loss(int64_t rows, int64_t width, const char *reduction, bool ignore, zb_dtype labels) {
  bool none = strcmp(reduction, "none") == 0;
  fast_call c = losses("cross_entropy", rows, width, reduction, ignore, labels);
  fast_output(&c, none ? fast_tensor(ZB_F32, FAST_SHAPE(rows)) : fast_tensor(ZB_F32, 0, NULL));
  fast_output(&c, fast_tensor(ZB_F32, FAST_SHAPE(rows)));
  fast_check(&c, 2e-6f, 2e-6f);
  fast_results forward = fast_run(&c, true, NULL);
  fast_call g = losses("cross_entropy_grad", rows, width, reduction, ignore, labels);
  memcpy(g.inputs[0].data, c.inputs[0].data, fast_bytes(&c.inputs[0]));
  fast_input(&g, fast_tensor(ZB_F32, FAST_SHAPE(rows)));
  memcpy(g.inputs[2].data, forward.tensor[1].data, fast_bytes(&forward.tensor[1]));
  fast_input(&g, none ? fast_uniform(-1, 1, FAST_SHAPE(rows)) : fast_uniform(1, 2, 0, NULL));
  fast_output(&g, fast_tensor(ZB_F32, FAST_SHAPE(rows, width)));
  fast_check(&g, 1e-7f, 3e-6f);
  fast_results_free(&forward);
  fast_free(&c, 0);
  fast_free(&g, 0);
}

static void test_cross_entropy(void) {
  static const char *const reductions[] = {"mean", "sum", "none"};
  for (int k = 0; k < 3; ++k) {
    for (int64_t width = 1; width <= 67; width += 5)
      check_loss(7, width, reductions[k], width % 2, width % 4 < 2 ? ZB_I64 : ZB_I32);
    check_loss(50, 1000, reductions[k], true, ZB_I64);
  }
}

static void test_bad_label(void) {
  fast_call c = losses("cross_entropy", 4, 10, "mean", false, ZB_I64);
  fast_output(&c, fast_tensor(ZB_F32, 0, NULL));
  fast_output(&c, fast_tensor(ZB_F32, FAST_SHAPE(4)));
  for (int64_t bad = -1; bad <= 10; bad += 11) {
    ((int64_t *)c.inputs[1].data)[2] = bad;
    fast_results r = fast_run(&c, false, NULL);
    CU_ASSERT(r.error != NULL);
    fast_results_free(&r);
  }
  fast_free(&c, 0);
}

int main(void) {
  CU_TestInfo tests[] = {{"softmax", test_softmax},
                         {"cross entropy", test_cross_entropy},
                         {"bad label", test_bad_label},
                         CU_TEST_INFO_NULL};
  return fast_main("fast softmax and losses", tests);
}
