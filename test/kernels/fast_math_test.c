/* The vector functions of the CPU kernels (exp, log, tanh, sigmoid, erf, gelu): relative errors over the floats, and
 * special values. */
#include "test/kernels/fast.h"

enum { COUNT = 1 << 16 };

typedef struct function {
  const char *op;
  double (*exact)(double x);
  float low, high; /* interval in which the relative error is bounded */
  double bound;
  double at_minus_inf, at_inf;
} function;

static double exact_sigmoid(double x) { return 1 / (1 + exp(-x)); }
static double exact_gelu(double x) { return 0.5 * x * erfc(-x * 0.70710678118654752440); }

static const function functions[] = {
    {"exp", exp, -87, 88.7f, 1.2e-7, 0, INFINITY},
    {"log", log, 1e-38f, 3e38f, 1.5e-7, NAN, INFINITY},
    {"tanh", tanh, -12, 12, 3.5e-7, -1, 1},
    {"sigmoid", exact_sigmoid, -85, 30, 2.5e-7, 0, 1},
    {"erf", erf, -6, 6, 3e-7, -1, 1},
    {"gelu", exact_gelu, -8, 8, 1.2e-6, NAN, INFINITY},
};

static void apply(const char *op, zb_tensor x, zb_tensor out) {
  zb_kernel_call call = {.inputs = &x, .input_count = 1, .outputs = &out, .output_count = 1};
  const zb_kernel *kernel = zb_kernel_cpu(op, &call);
  CU_ASSERT_FATAL(kernel != zb_kernel_reference(op));
  CU_ASSERT(kernel->run(&call) == NULL);
}

static float from_bits(uint32_t bits) {
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

/* Inputs are spread over the bit patterns, so that every exponent is met, and then evenly over the interval. */
static void fill(float *x, const function *f) {
  for (uint32_t i = 0; i < COUNT / 2; ++i) {
    float value = from_bits(i * 131071u);
    x[i] = value >= f->low && value <= f->high ? value : f->high / (float)(i + 1);
  }
  for (int i = COUNT / 2; i < COUNT; ++i)
    x[i] = f->low + (f->high - f->low) * ((float)(i - COUNT / 2) / (float)(COUNT / 2));
}

static void test_errors(void) {
  zb_tensor x = fast_tensor(ZB_F32, FAST_SHAPE(COUNT)), out = fast_tensor(ZB_F32, FAST_SHAPE(COUNT));
  const float *in = x.data, *got = out.data;
  for (int level = 0; level < ZB_ISA_COUNT; ++level) {
    zb_isa_limit((zb_isa_level)level);
    if ((int)zb_isa() != level) continue;
    for (size_t k = 0; k < sizeof functions / sizeof functions[0]; ++k) {
      double worst = 0, place = 0;
      fill(x.data, &functions[k]);
      apply(functions[k].op, x, out);
      for (int i = 0; i < COUNT; ++i) {
        double exact = functions[k].exact((double)in[i]), error = fabs((double)got[i] - exact);
        if (fabs(exact) < 1.2e-38 && error < 2e-45) continue; /* subnormals have fewer digits */
        if (exact == (double)got[i]) continue;
        error /= fabs(exact) > 1.2e-38 ? fabs(exact) : 1.2e-38;
        if (!(error <= worst)) worst = error, place = (double)in[i];
      }
      if (worst > functions[k].bound || isnan(worst))
        fprintf(stderr, "%s (%s): relative error %.3g at %.9g, allowed %.3g\n", functions[k].op, zb_isa_name(), worst,
                place, functions[k].bound);
      CU_ASSERT(worst <= functions[k].bound);
    }
  }
  zb_isa_limit(ZB_ISA_AVX512);
  free(x.data), free(out.data);
}

static void test_special_values(void) {
  zb_tensor x = fast_tensor(ZB_F32, FAST_SHAPE(3)), out = fast_tensor(ZB_F32, FAST_SHAPE(3));
  float *in = x.data, *got = out.data;
  for (int level = 0; level < ZB_ISA_COUNT; ++level) {
    zb_isa_limit((zb_isa_level)level);
    for (size_t k = 0; k < sizeof functions / sizeof functions[0]; ++k) {
      double limits[2] = {functions[k].at_minus_inf, functions[k].at_inf};
      in[0] = -INFINITY, in[1] = INFINITY, in[2] = NAN;
      apply(functions[k].op, x, out);
      CU_ASSERT(isnan(got[2]));
      for (int i = 0; i < 2; ++i)
        CU_ASSERT(isnan(limits[i]) || (double)got[i] == limits[i]);
    }
    in[0] = 0, in[1] = -1, in[2] = from_bits(1);
    apply("log", x, out);
    CU_ASSERT(isinf(got[0]) && got[0] < 0);
    CU_ASSERT(isnan(got[1]));
    CU_ASSERT_DOUBLE_EQUAL((double)got[2], log((double)in[2]), 1e-5);
  }
  zb_isa_limit(ZB_ISA_AVX512);
  free(x.data), free(out.data);
}

int main(void) {
  CU_TestInfo tests[] = {{"errors", test_errors}, {"special values", test_special_values}, CU_TEST_INFO_NULL};
  return fast_main("vector functions", tests);
}
