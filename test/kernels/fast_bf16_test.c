/* Rows of bf16 (kernels/cpu/bf16.h): every value widens and narrows as in the reference, on every instruction set and
 * at every place of a vector. Kernels on bf16 are in conformance_test.c. */
#include "test/kernels/fast.h"

#include "kernels/cpu/bf16.h"
#include "kernels/cpu/ref/ref.h"

enum { ALL = 65536, TAIL_MAX = 67 };

static float float_of(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static void check_widen(void) {
  static uint16_t from[ALL];
  static float to[ALL];
  for (int i = 0; i < ALL; ++i)
    from[i] = (uint16_t)i;
  zb_bf16_widen(to, from, ALL);
  int wrong = 0;
  for (int i = 0; i < ALL; ++i) {
    uint32_t bits;
    memcpy(&bits, &to[i], sizeof bits);
    wrong += bits != (uint32_t)i << 16;
  }
  CU_ASSERT_EQUAL(wrong, 0);
}

/* Around every bf16 value: itself, below a tie, the tie, above it. */
static void check_narrow(void) {
  static const uint32_t offsets[] = {0, 1, 0x7fff, 0x8000, 0x8001, 0xffff};
  static float from[ALL];
  static uint16_t to[ALL];
  for (size_t k = 0; k < sizeof offsets / sizeof offsets[0]; ++k) {
    for (uint32_t i = 0; i < ALL; ++i)
      from[i] = float_of((i << 16) + offsets[k]);
    zb_bf16_narrow(to, from, ALL);
    int wrong = 0;
    for (int i = 0; i < ALL; ++i)
      wrong += to[i] != zb_ref_to_bf16((double)from[i]);
    CU_ASSERT_EQUAL(wrong, 0);
  }
}

/* An element's bits do not depend on its place, and nothing is written behind the last. */
static void check_tails(void) {
  float values[TAIL_MAX + 1], back[TAIL_MAX + 1];
  uint16_t narrow[TAIL_MAX + 1];
  for (int i = 0; i <= TAIL_MAX; ++i)
    values[i] = fast_random(-3, 3);
  for (int count = 0; count <= TAIL_MAX; ++count) {
    memset(narrow, 0x5a, sizeof narrow);
    memset(back, 0x5a, sizeof back);
    zb_bf16_narrow(narrow, values, count);
    zb_bf16_widen(back, narrow, count);
    for (int i = 0; i < count; ++i)
      CU_ASSERT(back[i] == (float)zb_ref_from_bf16(zb_ref_to_bf16((double)values[i])));
    CU_ASSERT_EQUAL(narrow[count], 0x5a5a);
    CU_ASSERT(memcmp(&back[count], "\x5a\x5a\x5a\x5a", 4) == 0);
  }
}

static void test_rows(void) {
  for (int level = ZB_ISA_BASE; level < ZB_ISA_COUNT; ++level) {
    zb_isa_limit((zb_isa_level)level);
    check_widen();
    check_narrow();
    check_tails();
  }
  zb_isa_limit(ZB_ISA_AVX512);
}

int main(void) {
  CU_TestInfo tests[] = {{"rows", test_rows}, CU_TEST_INFO_NULL};
  return fast_main("rows of bf16", tests);
}
