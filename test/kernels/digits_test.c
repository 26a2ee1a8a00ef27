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

/* ---- Special points ---- */

/* What a gradient is of dout at a point where the formula has two pieces, or a part of it is infinite. */
static const struct {
  const char *op;
  double x, dout, dx;
} conventions[] = {
    {"abs", 0, 2, 0},
    {"abs", -0.0, INFINITY, NAN},
    {"relu", 0, INFINITY, 0},
    {"relu", NAN, INFINITY, 0},
    {"clip", -0.5, 2, 2},
    {"clip", 1.25, 2, 2},
    {"clip", NAN, 2, 0},
    {"clip", 7, INFINITY, 0},
    {"elu", 0, 2, 3.5},
    {"celu", 0, 2, 2},
    {"leaky_relu", 0, 4, 1},
    {"leaky_relu", -0.0, 4, 1},
    {"hard_sigmoid", -3, 6, 0},
    {"hard_sigmoid", 3, INFINITY, 0},
    {"hard_swish", -3, INFINITY, 0},
    {"hard_swish", 3, 6, 6},
    {"shrink", 0.75, INFINITY, 0},
    {"shrink", -0.75, 2, 0},
    {"thresholded_relu", 0.75, 2, 0},
    {"thresholded_relu", NAN, 2, 0},
    {"sigmoid", 0, INFINITY, NAN},
    {"sigmoid", 1, 2, 0},
    {"tanh", 1, 2, 0},
    {"tanh", -1, INFINITY, NAN},
    {"gelu", 1e30, 2, 2},
    {"gelu", -1e30, 2, 0},
    {"gelu", INFINITY, 2, NAN},
    {"silu", 3e38, 2, 2},
    {"silu", -3e38, 2, 0},
    {"silu", -INFINITY, 2, NAN},
    {"mish", 3e38, 2, 2},
    {"mish", INFINITY, 2, NAN},
    {"sqrt", 0, 2, INFINITY},
    {"rsqrt", INFINITY, 2, -INFINITY},
    {"log", 0, 2, INFINITY},
    {"log", -0.0, 2, -INFINITY},
    {"log1p", -1, 2, INFINITY},
    {"acosh", 1, 2, INFINITY},
    {"acosh", -1, 2, INFINITY},
    {"acos", 1, 2, -INFINITY},
    {"atanh", -1, 2, INFINITY},
    {"softplus", -INFINITY, 2, 0},
    {"softplus", INFINITY, 2, 2},
    {"erf", INFINITY, 2, 0},
};

static void check_conventions(const char *kernels, digits_run run) {
  for (size_t i = 0; i < sizeof conventions / sizeof *conventions; ++i) {
    const digits_row *row = digits_rows;
    while (strcmp(row->op, conventions[i].op) != 0)
      ++row;
    char op[64];
    float in[2] = {(float)conventions[i].x, (float)conventions[i].dout}, dx = -7;
    snprintf(op, sizeof op, "%s_grad", row->op);
    zb_tensor operands[2] = {{.dtype = ZB_F32, .rank = 1, .shape = {1}, .strides = {1}, .data = &in[0]},
                             {.dtype = ZB_F32, .rank = 1, .shape = {1}, .strides = {1}, .data = &in[1]}};
    zb_tensor out = operands[0];
    out.data = &dx;
    run(op, operands, 2, &out, row);
    const bool good = isnan(conventions[i].dx) ? isnan(dx) : (double)dx == conventions[i].dx;
    if (!good)
      fprintf(stderr, "%s (%s) at %g of %g: %g, expected %g\n", op, kernels, conventions[i].x, conventions[i].dout,
              (double)dx, conventions[i].dx);
    CU_ASSERT(good);
  }
}

static void test_conventions(void) {
  check_conventions("reference", run_reference);
  for (int level = 0; level < ZB_ISA_COUNT; ++level) {
    zb_isa_limit((zb_isa_level)level);
    if ((int)zb_isa() == level) check_conventions(zb_isa_name(), run_fast);
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
  CU_TestInfo tests[] = {{"every op of one operand is measured", test_rows}, {"the reference in f32", test_reference},
                         {"the reference in f64", test_reference_f64},       {"fast kernels", test_fast},
                         {"slopes at special points", test_conventions},     CU_TEST_INFO_NULL};
  CU_SuiteInfo suites[] = {{"digits", NULL, NULL, NULL, NULL, tests}, CU_SUITE_INFO_NULL};
  return suite_run(suites);
}
