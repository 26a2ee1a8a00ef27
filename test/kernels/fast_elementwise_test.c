/* Elementwise CPU kernels against the reference: every op, tail lengths, broadcasts, strides. */
#include "test/kernels/fast.h"

typedef struct row {
  const char *op;
  int operands;
  float low, high; /* of x */
  float absolute, relative;
  const char *attribute;
  double value;
  bool is_bool;
} row;

static const row rows[] = {
    {"abs", 1, -3, 3, 0, 0, NULL, 0, false},
    {"clip", 1, -3, 3, 0, 0, "min", -1, false},
    {"elu", 1, -9, 3, 1e-7f, 5e-7f, "alpha", 1.5, false},
    {"erf", 1, -5, 5, 0, 4e-7f, NULL, 0, false},
    {"exp", 1, -100, 88, 1e-44f, 4e-7f, NULL, 0, false},
    {"gelu", 1, -6, 6, 1e-7f, 2e-6f, "tanh", 0, true},
    {"gelu", 1, -6, 6, 1e-7f, 2e-6f, "tanh", 1, true},
    {"leaky_relu", 1, -3, 3, 0, 1e-7f, NULL, 0, false},
    {"log", 1, 0, 50, 0, 4e-7f, NULL, 0, false},
    {"neg", 1, -3, 3, 0, 0, NULL, 0, false},
    {"reciprocal", 1, 0.1f, 3, 0, 0, NULL, 0, false},
    {"relu", 1, -3, 3, 0, 0, NULL, 0, false},
    {"rsqrt", 1, 0.1f, 3, 0, 2e-7f, NULL, 0, false},
    {"sigmoid", 1, -80, 80, 0, 5e-7f, NULL, 0, false},
    {"silu", 1, -20, 20, 0, 2e-6f, "alpha", 1.7, false},
    {"softplus", 1, -30, 30, 0, 5e-7f, NULL, 0, false},
    {"sqrt", 1, 0, 9, 0, 0, NULL, 0, false},
    {"tanh", 1, -11, 11, 0, 4e-7f, NULL, 0, false},
    {"abs_grad", 2, -3, 3, 0, 0, NULL, 0, false},
    {"clip_grad", 2, -3, 3, 0, 0, "max", 1, false},
    {"elu_grad", 2, -9, 3, 0, 5e-7f, NULL, 0, false},
    {"erf_grad", 2, -4, 4, 0, 4e-6f, NULL, 0, false},
    {"exp_grad", 2, -3, 3, 0, 0, NULL, 0, false},
    {"gelu_grad", 2, -6, 6, 5e-7f, 2e-6f, "tanh", 0, true},
    {"gelu_grad", 2, -6, 6, 5e-7f, 2e-6f, "tanh", 1, true},
    {"leaky_relu_grad", 2, -3, 3, 0, 1e-7f, NULL, 0, false},
    {"log_grad", 2, 0.1f, 3, 0, 2e-7f, NULL, 0, false},
    {"reciprocal_grad", 2, -3, 3, 0, 2e-7f, NULL, 0, false},
    {"relu_grad", 2, -3, 3, 0, 0, NULL, 0, false},
    {"rsqrt_grad", 2, 0.1f, 3, 0, 4e-7f, NULL, 0, false},
    {"sigmoid_grad", 2, 0, 1, 0, 4e-7f, NULL, 0, false},
    {"silu_grad", 2, -9, 9, 5e-7f, 2e-6f, NULL, 0, false},
    {"softplus_grad", 2, -9, 9, 0, 5e-7f, NULL, 0, false},
    {"sqrt_grad", 2, 0.1f, 3, 0, 2e-7f, NULL, 0, false},
    {"tanh_grad", 2, -1, 1, 0, 4e-7f, NULL, 0, false},
    {"add", 2, -3, 3, 0, 0, NULL, 0, false},
    {"sub", 2, -3, 3, 0, 0, NULL, 0, false},
    {"mul", 2, -3, 3, 0, 0, NULL, 0, false},
    {"div", 2, -3, 3, 0, 0, NULL, 0, false},
    {"max", 2, -3, 3, 0, 0, NULL, 0, false},
    {"min", 2, -3, 3, 0, 0, NULL, 0, false},
    {"prelu", 2, -3, 3, 0, 0, NULL, 0, false},
    {"swiglu", 2, -20, 20, 0, 2e-6f, NULL, 0, false},
    {"pow", 2, 0.1f, 3, 0, 2e-7f, NULL, 0, false},
};

static fast_call call_of(const row *r, zb_tensor x, zb_tensor y, zb_tensor out) {
  fast_call c = {.op = r->op};
  fast_input(&c, x);
  if (r->operands == 2) fast_input(&c, y);
  fast_output(&c, out);
  if (r->attribute && r->is_bool)
    fast_bool(&c, r->attribute, r->value != 0);
  else if (r->attribute)
    fast_float(&c, r->attribute, r->value);
  return c;
}

static void test_tails(void) {
  for (size_t k = 0; k < sizeof rows / sizeof rows[0]; ++k) {
    for (int64_t n = 1; n <= 67; n += n < 18 ? 1 : 7) {
      zb_tensor x = fast_uniform(rows[k].low, rows[k].high, 1, &n), y = fast_uniform(-2, 2, 1, &n);
      fast_call c = call_of(&rows[k], x, y, fast_tensor(ZB_F32, 1, &n));
      fast_check(&c, rows[k].absolute, rows[k].relative);
      free(x.data), free(y.data), free(c.outputs[0].data);
    }
  }
}

/* An element's bits do not depend on where it stands. */
static void test_place(void) {
  for (size_t k = 0; k < sizeof rows / sizeof rows[0]; ++k) {
    const int64_t n = 40000;
    zb_tensor x = fast_uniform(rows[k].low, rows[k].high, 1, &n), y = fast_uniform(-2, 2, 1, &n);
    fast_call whole = call_of(&rows[k], x, y, fast_tensor(ZB_F32, 1, &n));
    fast_check(&whole, rows[k].absolute, rows[k].relative);
    fast_results all = fast_run(&whole, false, NULL);
    for (int64_t start = 1; start < 40; start += 5) {
      fast_call part = whole;
      for (int i = 0; i < part.input_count; ++i) {
        part.inputs[i].data = (float *)part.inputs[i].data + start;
        part.inputs[i].shape[0] = 999;
      }
      part.outputs[0].shape[0] = 999;
      fast_results some = fast_run(&part, false, NULL);
      CU_ASSERT(memcmp(some.tensor[0].data, (float *)all.tensor[0].data + start, 999 * sizeof(float)) == 0);
      fast_results_free(&some);
    }
    fast_results_free(&all);
    free(x.data), free(y.data), free(whole.outputs[0].data);
  }
}

/* op(x, y) for shapes that broadcast, and for transposed operands. */
static void check_binary(const char *op, zb_tensor x, zb_tensor y, int rank, const int64_t *shape) {
  fast_call c = {.op = op};
  fast_input(&c, x);
  fast_input(&c, y);
  fast_output(&c, fast_tensor(ZB_F32, rank, shape));
  fast_check(&c, 0, 0);
  fast_free(&c, 0);
}

static void test_broadcast(void) {
  for (int64_t n = 1; n < 200; n += n < 20 ? 3 : 37) {
    check_binary("add", fast_uniform(-1, 1, FAST_SHAPE(5, 7, n)), fast_uniform(-1, 1, FAST_SHAPE(n)),
                 FAST_SHAPE(5, 7, n));
    check_binary("sub", fast_uniform(-1, 1, FAST_SHAPE(5, 1, n)), fast_uniform(-1, 1, FAST_SHAPE(7, 1)),
                 FAST_SHAPE(5, 7, n));
    check_binary("mul", fast_uniform(-1, 1, 0, NULL), fast_uniform(-1, 1, FAST_SHAPE(7, n)), FAST_SHAPE(7, n));
    check_binary("div", fast_swap(fast_uniform(-1, 1, FAST_SHAPE(n, 33)), 0, 1), fast_uniform(1, 2, FAST_SHAPE(33, n)),
                 FAST_SHAPE(33, n));
    check_binary("max", fast_swap(fast_uniform(-1, 1, FAST_SHAPE(4, 11, n)), 0, 1),
                 fast_uniform(-1, 1, FAST_SHAPE(4, 1)), FAST_SHAPE(11, 4, n));
  }
  check_binary("add", fast_uniform(-1, 1, FAST_SHAPE(40, 700)), fast_uniform(-1, 1, FAST_SHAPE(700)),
               FAST_SHAPE(40, 700));
  check_binary("mul", fast_uniform(-1, 1, 0, NULL), fast_uniform(-1, 1, 0, NULL), 0, NULL);
  check_binary("mul", fast_uniform(-1, 1, FAST_SHAPE(0, 3)), fast_uniform(-1, 1, FAST_SHAPE(3)), FAST_SHAPE(0, 3));
}

static void test_pow_and_where(void) {
  for (int exponent = -1; exponent < 5; ++exponent) {
    fast_call c = {.op = "pow"};
    fast_input(&c, fast_uniform(0.1f, 2, FAST_SHAPE(3, 50)));
    fast_input(&c, fast_uniform((float)exponent, (float)exponent, 0, NULL));
    fast_output(&c, fast_tensor(ZB_F32, FAST_SHAPE(3, 50)));
    fast_check(&c, 0, 3e-7f);
    fast_free(&c, 0);
  }
  fast_call c = {.op = "where"};
  fast_input(&c, fast_tensor(ZB_I1, FAST_SHAPE(1, 60, 60)));
  for (int i = 0; i < 3600; ++i)
    ((uint8_t *)c.inputs[0].data)[i] = i % 60 <= i / 60;
  fast_input(&c, fast_uniform(-1, 1, FAST_SHAPE(9, 60, 60)));
  fast_input(&c, fast_uniform(-1, 1, 0, NULL));
  fast_output(&c, fast_tensor(ZB_F32, FAST_SHAPE(9, 60, 60)));
  fast_check(&c, 0, 0);
  fast_free(&c, 0);
}

static void test_accumulate_add(void) {
  for (int accumulate = 0; accumulate < 2; ++accumulate) {
    fast_call c = {.op = "accumulate_add", .accumulate = accumulate == 1};
    fast_input(&c, fast_uniform(-1, 1, FAST_SHAPE(123, 321)));
    fast_output(&c, fast_uniform(-1, 1, FAST_SHAPE(123, 321)));
    fast_check(&c, 0, 0);
    fast_free(&c, 0);
  }
}

int main(void) {
  CU_TestInfo tests[] = {{"tails", test_tails},
                         {"place", test_place},
                         {"broadcast", test_broadcast},
                         {"pow and where", test_pow_and_where},
                         {"accumulate_add", test_accumulate_add},
                         CU_TEST_INFO_NULL};
  return fast_main("fast elementwise kernels", tests);
}
