/* AdamW, Adam, Lion and SGD on the CPU against the reference, apart and in place. */
#include "test/kernels/fast.h"

static void check_adam(const char *op, int64_t elements, int64_t step) {
  fast_call c = {.op = op};
  fast_input(&c, fast_uniform(-1, 1, 1, &elements));
  fast_input(&c, fast_uniform(-1, 1, 1, &elements));
  fast_input(&c, fast_uniform(-1, 1, 1, &elements));
  fast_input(&c, fast_uniform(0, 1, 1, &elements));
  fast_input(&c, fast_tensor(ZB_I64, 0, NULL));
  *(int64_t *)c.inputs[4].data = step;
  fast_input(&c, fast_settings(1e-2, 0.1));
  for (int i = 0; i < 3; ++i)
    fast_output(&c, fast_tensor(ZB_F32, 1, &elements));
  fast_float(&c, "beta1", 0.9);
  fast_float(&c, "beta2", 0.95);
  fast_float(&c, "eps", 1e-8);
  fast_float(&c, "gradient_scale", 0.25);
  fast_check(&c, 1e-7f, 5e-7f);
  fast_free(&c, 0);
}

static void test_adam(void) {
  static const char *const ops[] = {"adamw", "adam"};
  for (int i = 0; i < 2; ++i) {
    for (int64_t n = 1; n <= 67; ++n)
      check_adam(ops[i], n, n);
    check_adam(ops[i], 50001, 1);
  }
}

static void check_lion(int64_t elements) {
  fast_call c = {.op = "lion"};
  fast_input(&c, fast_uniform(-1, 1, 1, &elements));
  fast_input(&c, fast_uniform(-1, 1, 1, &elements));
  fast_input(&c, fast_uniform(-1, 1, 1, &elements));
  fast_input(&c, fast_tensor(ZB_I64, 0, NULL));
  *(int64_t *)c.inputs[3].data = 3;
  fast_input(&c, fast_settings(1e-2, 0.1));
  for (int i = 0; i < 2; ++i)
    fast_output(&c, fast_tensor(ZB_F32, 1, &elements));
  for (int64_t i = 0; i < elements; i += 7) /* the sign of nothing is nothing, that of no number is none */
    ((float *)c.inputs[1].data)[i] = ((float *)c.inputs[2].data)[i] = i % 2 ? NAN : 0;
  fast_float(&c, "beta1", 0.9);
  fast_float(&c, "beta2", 0.99);
  fast_float(&c, "gradient_scale", 0.25);
  fast_check(&c, 1e-7f, 5e-7f);
  fast_free(&c, 0);
}

static void test_lion(void) {
  for (int64_t n = 1; n <= 67; ++n)
    check_lion(n);
  check_lion(50001);
}

static void check_sgd(int64_t elements, int64_t step, double momentum, bool nesterov) {
  fast_call c = {.op = "sgd"};
  fast_input(&c, fast_uniform(-1, 1, 1, &elements));
  fast_input(&c, fast_uniform(-1, 1, 1, &elements));
  fast_input(&c, momentum != 0 ? fast_uniform(-1, 1, 1, &elements) : fast_absent());
  fast_input(&c, fast_tensor(ZB_I64, 0, NULL));
  *(int64_t *)c.inputs[3].data = step;
  fast_input(&c, fast_settings(1e-2, 0.1));
  fast_output(&c, fast_tensor(ZB_F32, 1, &elements));
  if (momentum != 0) fast_output(&c, fast_tensor(ZB_F32, 1, &elements));
  fast_float(&c, "momentum", momentum);
  fast_float(&c, "dampening", nesterov ? 0 : 0.3);
  fast_bool(&c, "nesterov", nesterov);
  fast_float(&c, "gradient_scale", 0.25);
  fast_check(&c, 1e-7f, 5e-7f);
  fast_free(&c, 0);
}

static void test_sgd(void) {
  for (int64_t n = 1; n <= 67; n += 3)
    for (int64_t step = 1; step <= 2; ++step)
      for (int kind = 0; kind < 3; ++kind)
        check_sgd(n, step, kind ? 0.9 : 0, kind == 2);
}

/* Results that share the memory of their operands get the same bits as results that do not. */
static void test_in_place(void) {
  const int64_t n = 1000;
  zb_tensor inputs[6], outputs[3], apart[3];
  for (int i = 0; i < 4; ++i)
    inputs[i] = fast_uniform(0, 1, 1, &n);
  inputs[4] = fast_tensor(ZB_I64, 0, NULL);
  *(int64_t *)inputs[4].data = 3;
  inputs[5] = fast_settings(1e-3, 0.01);
  for (int i = 0; i < 3; ++i)
    outputs[i] = inputs[i ? i + 1 : 0], apart[i] = fast_tensor(ZB_F32, 1, &n);
  zb_kernel_call call = {.inputs = inputs, .input_count = 6, .outputs = apart, .output_count = 3};
  CU_ASSERT(zb_kernel_cpu("adamw", &call)->run(&call) == NULL);
  call.outputs = outputs;
  CU_ASSERT(zb_kernel_cpu("adamw", &call)->run(&call) == NULL);
  for (int i = 0; i < 3; ++i) {
    CU_ASSERT(memcmp(outputs[i].data, apart[i].data, (size_t)n * sizeof(float)) == 0);
    free(apart[i].data);
  }
  for (int i = 0; i < 6; ++i)
    free(inputs[i].data);
}

int main(void) {
  CU_TestInfo tests[] = {{"adamw and adam", test_adam},
                         {"lion", test_lion},
                         {"sgd", test_sgd},
                         {"in place", test_in_place},
                         CU_TEST_INFO_NULL};
  return fast_main("fast optimizers", tests);
}
