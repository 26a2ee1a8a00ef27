/* zb.dropout on the CPU: bitwise the reference, on every instruction set, for lengths around the groups of 64, in
 * place, in f32 and bf16; and which elements stay, by the words themselves. */
#include "test/kernels/fast.h"

#include "kernels/cpu/ref/ref.h"
#include "runtime/base/random.h"

static fast_call dropout(zb_dtype dtype, int64_t n, double rate, int64_t op) {
  static const int64_t counter[ZB_COUNTER_WORDS] = {INT64_C(0x123456789abcdef), 77, 5, 0};
  fast_call c = {.op = "dropout"};
  zb_tensor x = fast_tensor(dtype, 1, &n), key = fast_tensor(ZB_I64, FAST_SHAPE(ZB_COUNTER_WORDS));
  for (int64_t i = 0; i < n; ++i)
    zb_ref_set(&x, i, (double)fast_random(-9, 9));
  memcpy(key.data, counter, sizeof counter);
  fast_input(&c, x);
  fast_input(&c, key);
  fast_output(&c, fast_tensor(dtype, 1, &n));
  fast_float(&c, "rate", rate);
  fast_int(&c, "op", op);
  return c;
}

static void check(zb_dtype dtype, int64_t n, double rate, int64_t op) {
  fast_call c = dropout(dtype, n, rate, op);
  fast_check(&c, 0, 0);
  fast_free(&c, 0);
}

static void test_lengths(void) {
  static const zb_dtype types[] = {ZB_F32, ZB_BF16};
  for (int t = 0; t < 2; ++t) {
    for (int64_t n = 0; n <= 200; n += n < 20 ? 1 : 3)
      check(types[t], n, 0.3, 1);
    check(types[t], 16384, 0.1, 2);
    check(types[t], 50001, 0.1, (1 << ZB_RANDOM_OP_BITS) - 1);
  }
}

/* Rates at the ends, and what is no number. */
static void test_values(void) {
  static const double rates[] = {0, 1e-12, 0.5, 1 - 1e-12};
  for (int r = 0; r < 4; ++r)
    check(ZB_F32, 1000, rates[r], 0);
  fast_call c = dropout(ZB_F32, 100, 0.5, 0);
  for (int i = 0; i < 100; ++i)
    ((float *)c.inputs[0].data)[i] = i % 3 == 0 ? NAN : i % 3 == 1 ? INFINITY : -0.0f;
  for (int level = 0; level < ZB_ISA_COUNT; ++level) {
    zb_isa_limit((zb_isa_level)level);
    fast_results got = fast_run(&c, false, NULL), want = fast_run(&c, true, NULL);
    for (int i = 0; i < 100; ++i) {
      float one = ((float *)got.tensor[0].data)[i], other = ((float *)want.tensor[0].data)[i];
      CU_ASSERT(isnan(one) ? isnan(other) : one == other);
      CU_ASSERT(i % 3 != 0 || isnan(one)); /* NaN in gives NaN out, whether it stays or not */
    }
    fast_results_free(&got);
    fast_results_free(&want);
  }
  zb_isa_limit(ZB_ISA_AVX512);
  fast_free(&c, 0);
}

/* What stays is what the words say. */
static void test_words(void) {
  enum { N = 5000 };
  fast_call c = dropout(ZB_F32, N, 0.25, 9);
  zb_random_stream stream = zb_random_stream_of(c.inputs[1].data, 9);
  for (int level = 0; level < ZB_ISA_COUNT; ++level) {
    zb_isa_limit((zb_isa_level)level);
    fast_results got = fast_run(&c, false, NULL);
    int64_t wrong = 0;
    for (int64_t i = 0; i < N; ++i) {
      bool stays = zb_random_word(&stream, i) < UINT32_C(3) << 30;
      float x = ((const float *)c.inputs[0].data)[i];
      wrong += ((const float *)got.tensor[0].data)[i] != (stays ? x * (float)(1 / 0.75) : 0);
    }
    CU_ASSERT_EQUAL(wrong, 0);
    fast_results_free(&got);
  }
  zb_isa_limit(ZB_ISA_AVX512);
  fast_free(&c, 0);
}

int main(void) {
  CU_TestInfo tests[] = {{"lengths", test_lengths}, {"values", test_values}, {"words", test_words}, CU_TEST_INFO_NULL};
  return fast_main("fast dropout", tests);
}
