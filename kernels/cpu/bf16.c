/* bf16 to f32 and back: see bf16.h. */
#ifndef ZB_ISA_LEVEL
#include "kernels/cpu/bf16.h"
#include "kernels/cpu/isa.h"

#include <string.h>

static uint16_t narrow_one(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  if ((bits & 0x7fffffff) > 0x7f800000) return 0x7fc0;
  return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

#define ZB_ISA_BODY "kernels/cpu/bf16.c"
#include "kernels/cpu/isa_each.h"

void zb_bf16_widen(float *to, const uint16_t *from, int64_t count) {
  static void (*const rows[])(float *, const uint16_t *, int64_t) = ZB_ISA_ROW(widen);
  rows[zb_isa()](to, from, count);
}

void zb_bf16_narrow(uint16_t *to, const float *from, int64_t count) {
  static void (*const rows[])(uint16_t *, const float *, int64_t) = ZB_ISA_ROW(narrow);
  rows[zb_isa()](to, from, count);
}

#else /* ---- For one instruction set ---- */

typedef uint16_t ZB_ISA(vh) __attribute__((vector_size(2 * V_LANES)));
typedef uint32_t ZB_ISA(vu) __attribute__((vector_size(4 * V_LANES)));

static void ZB_ISA(widen)(float *to, const uint16_t *from, int64_t count) {
  int64_t i = 0;
  for (; i + V_LANES <= count; i += V_LANES) {
    ZB_ISA(vh) half;
    memcpy(&half, from + i, sizeof half);
    v_store(to + i, (vf)(__builtin_convertvector(half, ZB_ISA(vu)) << 16));
  }
  for (; i < count; ++i)
    to[i] = zb_bf16_value(from[i]);
}

static void ZB_ISA(narrow)(uint16_t *to, const float *from, int64_t count) {
  int64_t i = 0;
  for (; i + V_LANES <= count; i += V_LANES) {
    ZB_ISA(vu) bits = (ZB_ISA(vu))v_load(from + i);
    ZB_ISA(vu) rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    ZB_ISA(vu) is_nan = (ZB_ISA(vu))((bits & 0x7fffffff) > 0x7f800000);
    rounded = (is_nan & 0x7fc0) | (~is_nan & rounded);
    ZB_ISA(vh) half = __builtin_convertvector(rounded, ZB_ISA(vh));
    memcpy(to + i, &half, sizeof half);
  }
  for (; i < count; ++i)
    to[i] = narrow_one(from[i]);
}
#endif
