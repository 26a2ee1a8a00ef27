/* Norms on the CPU against the reference: widths around the vector lengths, gradients, accumulation. */
#include "test/kernels/fast.h"

static void check_norm(bool centered, bool bias, int64_t rows, int64_t width) {
  fast_call c = {.op = centered ? "layer_norm" : "rms_norm"};
  fast_input(&c, fast_uniform(-2, 3, FAST_SHAPE(rows, width)));
  fast_input(&c, fast_uniform(0.5f, 2, FAST_SHAPE(width)));
  if (centered) fast_input(&c, bias ? fast_uniform(-1, 1, FAST_SHAPE(width)) : fast_absent());
  fast_output(&c, fast_tensor(ZB_F32, FAST_SHAPE(rows, width)));
  fast_output(&c, fast_tensor(ZB_F32, FAST_SHAPE(rows, 1)));
  if (centered) fast_output(&c, fast_tensor(ZB_F32, FAST_SHAPE(rows, 1)));
  fast_int(&c, "axis", 1);
  fast_float(&c, "epsilon", 1e-5);
  fast_check(&c, 3e-6f, 2e-6f);
  fast_free(&c, 0);
}

/* flag: of the scale, added into what is there; of x, with a residual. */
static void check_gradient(bool centered, bool of_scale, bool flag, int64_t rows, int64_t width) {
  static const char *const names[2][2] = {{"rms_norm_grad_x", "rms_norm_grad_scale"},
                                          {"layer_norm_grad_x", "layer_norm_grad_scale"}};
  fast_call c = {.op = names[centered][of_scale], .accumulate = of_scale && flag};
  fast_input(&c, fast_uniform(-2, 3, FAST_SHAPE(rows, width)));
  if (!of_scale) fast_input(&c, fast_uniform(0.5f, 2, FAST_SHAPE(width)));
  if (centered) fast_input(&c, fast_uniform(-1, 1, FAST_SHAPE(rows, 1)));
  fast_input(&c, fast_uniform(0.5f, 1, FAST_SHAPE(rows, 1)));
  fast_input(&c, fast_uniform(-1, 1, FAST_SHAPE(rows, width)));
  if (!of_scale && flag) fast_input(&c, fast_uniform(-1, 1, FAST_SHAPE(rows, width)));
  fast_output(&c, of_scale ? fast_uniform(-1, 1, FAST_SHAPE(width)) : fast_tensor(ZB_F32, FAST_SHAPE(rows, width)));
  fast_int(&c, "axis", 1);
  fast_check(&c, 1e-5f, 1e-5f);
  fast_free(&c, 0);
}

static void test_widths(void) {
  for (int64_t width = 1; width <= 67; ++width)
    for (int kind = 0; kind < 3; ++kind)
      check_norm(kind > 0, kind > 1, 3, width);
  for (int kind = 0; kind < 3; ++kind) {
    check_norm(kind > 0, kind > 1, 100, 768);
    check_norm(kind > 0, kind > 1, 0, 8);
  }
}

static void test_gradients(void) {
  for (int kind = 0; kind < 8; ++kind) {
    bool of_scale = kind & 2, flag = kind & 4;
    for (int64_t width = 1; width <= 67; width += 3)
      check_gradient(kind & 1, of_scale, flag, 5, width);
    check_gradient(kind & 1, of_scale, flag, 200, 300);
  }
}

int main(void) {
  CU_TestInfo tests[] = {{"widths", test_widths}, {"gradients", test_gradients}, CU_TEST_INFO_NULL};
  return fast_main("fast norms", tests);
}
