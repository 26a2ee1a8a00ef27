/* Rows of bf16 as f32 and back: what the kernels compute on is f32, what they read and store may be bf16.
 *
 * Narrowing rounds to nearest, ties to even; NaN becomes the quiet NaN 0x7fc0, as in the reference. The bits are the
 * same on every instruction set. Thread-safe. Tests: test/kernels/fast_bf16_test.c */
#pragma once

#include "kernels/cpu/common.h"

void zb_bf16_widen(float *to, const uint16_t *from, int64_t count);
void zb_bf16_narrow(uint16_t *to, const float *from, int64_t count);

static inline float zb_bf16_value(uint16_t bits) {
  union {
    uint32_t bits;
    float value;
  } wide = {(uint32_t)bits << 16};
  return wide.value;
}

/* Elements first.. of a row of f32 or bf16 as f32: in place, or widened into buffer. */
static inline const float *zb_row_f32(const void *row, zb_dtype dtype, int64_t first, int64_t count, float *buffer) {
  if (dtype != ZB_BF16) return (const float *)row + first;
  zb_bf16_widen(buffer, (const uint16_t *)row + first, count);
  return buffer;
}

static inline bool zb_is_f32_or_bf16(zb_dtype dtype) { return dtype == ZB_F32 || dtype == ZB_BF16; }
