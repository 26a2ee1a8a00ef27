/* The fused CPU kernels that are no rows of the formulas, against the reference: lengths around the vectors, bits of
 * an element wherever it stands, bf16. */
#include "test/kernels/fast.h"

#include "kernels/cpu/ref/ref.h"

/* Random operands of a type. */
static zb_tensor operand(zb_dtype dtype, float low, float high, int rank, const int64_t *shape) {
  zb_tensor x = fast_tensor(dtype, rank, shape);
  for (int64_t i = 0; i < fast_elements(&x); ++i)
    zb_ref_set(&x, i, (double)fast_random(low, high));
  return x;
}

static fast_call swiglu_grad(zb_dtype dtype, int64_t n) {
  fast_call c = {.op = "swiglu_grad"};
  fast_input(&c, operand(dtype, -9, 9, 1, &n));
  fast_input(&c, operand(dtype, -2, 2, 1, &n));
  fast_input(&c, operand(dtype, -2, 2, 1, &n));
  fast_output(&c, fast_tensor(dtype, 1, &n));
  fast_output(&c, fast_tensor(dtype, 1, &n));
  return c;
}

static void test_swiglu_lengths(void) {
  for (int64_t n = 0; n <= 67; n += n < 18 ? 1 : 7) {
    fast_call c = swiglu_grad(ZB_F32, n);
    fast_check(&c, 5e-7f, 2e-6f);
    fast_free(&c, 0);
  }
  fast_call c = swiglu_grad(ZB_F32, 40000);
  fast_check(&c, 5e-7f, 2e-6f);
  fast_free(&c, 0);
}

static void test_swiglu_place(void) {
  for (int level = 0; level < ZB_ISA_COUNT; ++level) {
    zb_isa_limit((zb_isa_level)level);
    fast_call whole = swiglu_grad(ZB_F32, 40000);
    fast_results all = fast_run(&whole, false, NULL);
    CU_ASSERT_PTR_NULL(all.error);
    for (int64_t start = 1; start < 40; start += 5) {
      fast_call part = whole;
      for (int i = 0; i < 5; ++i) {
        zb_tensor *x = i < 3 ? &part.inputs[i] : &part.outputs[i - 3];
        if (i < 3) x->data = (float *)x->data + start;
        x->shape[0] = 999;
      }
      fast_results some = fast_run(&part, false, NULL);
      for (int i = 0; i < 2; ++i)
        CU_ASSERT(memcmp(some.tensor[i].data, (float *)all.tensor[i].data + start, 999 * sizeof(float)) == 0);
      fast_results_free(&some);
    }
    fast_results_free(&all);
    fast_free(&whole, 0);
  }
  zb_isa_limit(ZB_ISA_AVX512);
}

/* bf16 is the f32 kernel, rounded once. */
static void test_swiglu_bf16(void) {
  fast_call narrow = swiglu_grad(ZB_BF16, 20001), wide = swiglu_grad(ZB_F32, 20001);
  for (int i = 0; i < 3; ++i)
    for (int64_t k = 0; k < 20001; ++k)
      ((float *)wide.inputs[i].data)[k] = (float)zb_ref_get(&narrow.inputs[i], k);
  fast_results got = fast_run(&narrow, false, NULL), want = fast_run(&wide, false, NULL);
  CU_ASSERT_PTR_NULL(got.error);
  CU_ASSERT_PTR_NULL(want.error);
  int64_t different = 0;
  for (int i = 0; i < 2 && !got.error && !want.error; ++i)
    for (int64_t k = 0; k < 20001; ++k)
      different += ((uint16_t *)got.tensor[i].data)[k] != zb_ref_to_bf16((double)((float *)want.tensor[i].data)[k]);
  CU_ASSERT_EQUAL(different, 0);
  fast_results_free(&got);
  fast_results_free(&want);
  fast_free(&narrow, 0);
  fast_free(&wide, 0);
}

/* Rows of x, dense or a slice of three beside each other, with tables for every second dimension. */
static void check_rotary(const char *op, zb_dtype dtype, zb_dtype table, int64_t heads, int64_t width, bool slice) {
  fast_call c = {.op = op};
  zb_tensor x = operand(dtype, -2, 2, FAST_SHAPE(2, 9, slice ? 3 * heads : heads, width));
  x.shape[2] = heads;
  fast_input(&c, x);
  for (int i = 0; i < 2; ++i)
    fast_input(&c, operand(table, -1, 1, FAST_SHAPE(9, 1, width)));
  fast_output(&c, fast_tensor(dtype, FAST_SHAPE(2, 9, heads, width)));
  fast_check(&c, 5e-7f, 2e-7f);
  fast_free(&c, 0);
}

static void test_rotary(void) {
  static const char *const ops[] = {"rotary", "rotary_grad"};
  for (int k = 0; k < 2; ++k) {
    for (int64_t width = 0; width <= 140; width += 2)
      check_rotary(ops[k], ZB_F32, ZB_F32, 3, width, width % 4 == 0);
    check_rotary(ops[k], ZB_F32, ZB_F32, 64, 128, false);
  }
}

/* A result of bf16 is that of the widened operands, rounded once; so it equals the reference but for ties. */
static void test_rotary_bf16(void) {
  static const char *const ops[] = {"rotary", "rotary_grad"};
  for (int k = 0; k < 4; ++k) {
    zb_dtype table = k / 2 ? ZB_BF16 : ZB_F32;
    fast_call narrow = {.op = ops[k % 2]}, wide = {.op = ops[k % 2]};
    for (int i = 0; i < 3; ++i) {
      const int64_t shape[] = {i ? 1 : 2, 9, i ? 1 : 3, 34};
      zb_tensor x = operand(i ? table : ZB_BF16, -2, 2, 4, shape), y = fast_tensor(ZB_F32, 4, shape);
      for (int64_t n = 0; n < fast_elements(&x); ++n)
        ((float *)y.data)[n] = (float)zb_ref_get(&x, n);
      fast_input(&narrow, x);
      fast_input(&wide, y);
    }
    fast_output(&narrow, fast_tensor(ZB_BF16, FAST_SHAPE(2, 9, 3, 34)));
    fast_output(&wide, fast_tensor(ZB_F32, FAST_SHAPE(2, 9, 3, 34)));
    fast_results got = fast_run(&narrow, false, NULL), want = fast_run(&wide, false, NULL);
    CU_ASSERT_PTR_NULL(got.error);
    CU_ASSERT_PTR_NULL(want.error);
    for (int64_t n = 0; n < 2 * 9 * 3 * 34 && !got.error && !want.error; ++n)
      CU_ASSERT(((uint16_t *)got.tensor[0].data)[n] == zb_ref_to_bf16((double)((float *)want.tensor[0].data)[n]));
    fast_results_free(&got);
    fast_results_free(&want);
    fast_free(&narrow, 0);
    fast_free(&wide, 0);
  }
}

int main(void) {
  CU_TestInfo tests[] = {{"swiglu lengths", test_swiglu_lengths}, {"swiglu place", test_swiglu_place},
                         {"swiglu bf16", test_swiglu_bf16},       {"rotary", test_rotary},
                         {"rotary bf16", test_rotary_bf16},       CU_TEST_INFO_NULL};
  return fast_main("fast fused kernels", tests);
}
