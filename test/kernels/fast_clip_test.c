/* zb.square_sum and zb.abs_max on the CPU: the bits of the reference, on every instruction set and number of threads,
 * for counts around the blocks of each level of the tree. */
#include "test/kernels/fast.h"

enum { BLOCK = 4096, THREADS = 3 };

static double run(const zb_kernel *kernel, const char *op, zb_tensor *x, double scale, zb_threads *threads,
                  double *workspace) {
  double result = -1;
  const zb_tensor out = {.data = &result, .dtype = ZB_F64};
  const zb_attr attr = {.name = "scale", .kind = ZB_ATTR_FLOAT, .f = scale};
  const zb_kernel_call call = {.inputs = x,
                               .input_count = 1,
                               .outputs = &out,
                               .output_count = 1,
                               .attrs = {&attr, 1},
                               .workspace = workspace,
                               .threads = threads};
  const zb_kernel *found = kernel ? kernel : zb_kernel_cpu(op, &call);
  CU_ASSERT_PTR_NOT_NULL_FATAL(found);
  if (!kernel) CU_ASSERT_PTR_NOT_EQUAL(found, zb_kernel_reference(op));
  CU_ASSERT_PTR_NULL(found->run(&call));
  return result;
}

static bool same(double a, double b) { return memcmp(&a, &b, sizeof a) == 0 || (isnan(a) && isnan(b)); }

static void check(zb_tensor *x, zb_threads *threads) {
  static const char *const ops[] = {"square_sum", "abs_max"};
  double *workspace = malloc(((size_t)fast_elements(x) / BLOCK + 1) * sizeof *workspace);
  if (!workspace) abort();
  for (int op = 0; op < 2; ++op) {
    const double wanted = run(zb_kernel_reference(ops[op]), ops[op], x, 0.125, NULL, NULL);
    for (int level = 0; level < ZB_ISA_COUNT; ++level) {
      zb_isa_limit((zb_isa_level)level);
      const double one = run(NULL, ops[op], x, 0.125, NULL, workspace),
                   many = run(NULL, ops[op], x, 0.125, threads, workspace);
      if (!same(one, wanted) || !same(many, wanted))
        printf("\n  %s of %lld: %a, on threads %a, expected %a", ops[op], (long long)fast_elements(x), one, many,
               wanted);
      CU_ASSERT(same(one, wanted) && same(many, wanted));
    }
    zb_isa_limit(ZB_ISA_AVX512);
  }
  free(workspace);
}

static void test_bits(void) {
  static const int64_t counts[] = {0,
                                   1,
                                   2,
                                   15,
                                   16,
                                   17,
                                   255,
                                   4095,
                                   4096,
                                   4097,
                                   8192,
                                   12289,
                                   16384,
                                   16385,
                                   70000,
                                   BLOCK * 50 + 7,
                                   (int64_t)BLOCK * BLOCK + 4113};
  zb_threads *threads = zb_threads_create(THREADS);
  CU_ASSERT_PTR_NOT_NULL_FATAL(threads);
  for (size_t i = 0; i < sizeof counts / sizeof counts[0]; ++i) {
    zb_tensor x = fast_uniform(-2, 2, 1, &counts[i]);
    check(&x, threads);
    free(x.data);
  }
  zb_threads_destroy(threads);
}

/* Wherever a value that is not finite stands, it is seen. */
static void test_not_finite(void) {
  static const float values[] = {NAN, INFINITY, -INFINITY, 3e38f};
  zb_threads *threads = zb_threads_create(THREADS);
  CU_ASSERT_PTR_NOT_NULL_FATAL(threads);
  for (int64_t n = 40; n < 30000; n += 4999)
    for (int64_t at = 0; at < n; at += 37)
      for (size_t i = 0; i < sizeof values / sizeof values[0]; ++i) {
        if (at > 200 && (at + n) % 11 != 0) continue;
        zb_tensor x = fast_uniform(-2, 2, 1, &n);
        ((float *)x.data)[at] = values[i];
        check(&x, threads);
        free(x.data);
      }
  zb_threads_destroy(threads);
}

SUITE_MAIN("clip", {"bits", test_bits}, {"not finite", test_not_finite})
