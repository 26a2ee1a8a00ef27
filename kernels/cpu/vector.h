/* Vectors of f32 and the elementary functions on them, for the instruction set ZB_ISA_LEVEL (see isa_each.h). No
 * include guard.
 *
 * vf is a vector of V_LANES floats with the operators of GCC's vector extension, vi the same of int32_t, vm a mask of
 * lanes. Functions keep NaN and follow the limits at infinity. Largest relative errors, measured over the floats by
 * test/kernels/fast_math_test.c: exp 1e-7, log 1.2e-7, tanh 1.5e-7, sigmoid 2e-7, erf 2e-7. The polynomials are minimax
 * fits made for the intervals named next to them (Lawson's weighted least squares at Chebyshev nodes); ranges are
 * reduced as in W. J. Cody, W. Waite, Software Manual for the Elementary Functions, 1980.
 */
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#ifndef ZB_KERNELS_CPU_VECTOR_NAMES
#define ZB_KERNELS_CPU_VECTOR_NAMES
#define vf ZB_ISA(vf)
#define vi ZB_ISA(vi)
#define vm ZB_ISA(vm)
#define v_set ZB_ISA(v_set)
#define v_seti ZB_ISA(v_seti)
#define v_load ZB_ISA(v_load)
#define v_store ZB_ISA(v_store)
#define v_load_part ZB_ISA(v_load_part)
#define v_store_part ZB_ISA(v_store_part)
#define v_first ZB_ISA(v_first)
#define v_take ZB_ISA(v_take)
#define v_give ZB_ISA(v_give)
#define v_bits ZB_ISA(v_bits)
#define v_float ZB_ISA(v_float)
#define v_fma ZB_ISA(v_fma)
#define v_lt ZB_ISA(v_lt)
#define v_le ZB_ISA(v_le)
#define v_nan ZB_ISA(v_nan)
#define v_select ZB_ISA(v_select)
#define v_min ZB_ISA(v_min)
#define v_max ZB_ISA(v_max)
#define v_sqrt ZB_ISA(v_sqrt)
#define v_to_int ZB_ISA(v_to_int)
#define v_to_float ZB_ISA(v_to_float)
#define v_round ZB_ISA(v_round)
#define v_scale ZB_ISA(v_scale)
#define v_abs ZB_ISA(v_abs)
#define v_copysign ZB_ISA(v_copysign)
#define v_sum ZB_ISA(v_sum)
#define v_fill ZB_ISA(v_fill)
#define v_highest ZB_ISA(v_highest)
#define v_exp_part ZB_ISA(v_exp_part)
#define v_exp ZB_ISA(v_exp)
#define v_log ZB_ISA(v_log)
#define v_tanh ZB_ISA(v_tanh)
#define v_sigmoid ZB_ISA(v_sigmoid)
#define v_sigmoid_pair ZB_ISA(v_sigmoid_pair)
#define v_erfcx ZB_ISA(v_erfcx)
#define v_erf ZB_ISA(v_erf)
#define v_row_highest ZB_ISA(v_row_highest)
#define v_row_exp ZB_ISA(v_row_exp)
#endif

#undef V_LANES
#undef V_INLINE
#define V_INLINE static inline __attribute__((always_inline, unused))

#if ZB_ISA_LEVEL == 2
#define V_LANES 16
typedef float vf __attribute__((vector_size(64)));
typedef int32_t vi __attribute__((vector_size(64)));
typedef __mmask16 vm;
V_INLINE vf v_set(float x) { return _mm512_set1_ps(x); }
V_INLINE vf v_load(const float *p) { return _mm512_loadu_ps(p); }
V_INLINE void v_store(float *p, vf x) { _mm512_storeu_ps(p, x); }
/* The first n (>= 1) lanes. */
V_INLINE vm v_first(int64_t n) { return (vm)(n >= V_LANES ? 0xffffu : (1u << n) - 1u); }
/* The first n (1..V_LANES) lanes; the others are 0. */
V_INLINE vf v_load_part(const float *p, int64_t n) { return _mm512_maskz_loadu_ps((__mmask16)((1u << n) - 1), p); }
V_INLINE void v_store_part(float *p, vf x, int64_t n) { _mm512_mask_storeu_ps(p, (__mmask16)((1u << n) - 1), x); }
V_INLINE vf v_fma(vf a, vf b, vf c) { return _mm512_fmadd_ps(a, b, c); }
V_INLINE vm v_lt(vf a, vf b) { return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ); }
V_INLINE vm v_le(vf a, vf b) { return _mm512_cmp_ps_mask(a, b, _CMP_LE_OQ); }
V_INLINE vm v_nan(vf a) { return _mm512_cmp_ps_mask(a, a, _CMP_UNORD_Q); }
V_INLINE vf v_select(vm mask, vf yes, vf no) { return _mm512_mask_blend_ps(mask, no, yes); }
/* If either is NaN, the second one. */
V_INLINE vf v_min(vf a, vf b) { return _mm512_min_ps(a, b); }
V_INLINE vf v_max(vf a, vf b) { return _mm512_max_ps(a, b); }
V_INLINE vf v_sqrt(vf a) { return _mm512_sqrt_ps(a); }
#elif ZB_ISA_LEVEL == 1
#define V_LANES 8
typedef float vf __attribute__((vector_size(32)));
typedef int32_t vi __attribute__((vector_size(32)));
typedef vf vm;
V_INLINE vf v_set(float x) { return _mm256_set1_ps(x); }
V_INLINE vf v_load(const float *p) { return _mm256_loadu_ps(p); }
V_INLINE void v_store(float *p, vf x) { _mm256_storeu_ps(p, x); }
V_INLINE vm v_first(int64_t n) { return (vm)((vi){0, 1, 2, 3, 4, 5, 6, 7} < (int32_t)n); }
V_INLINE vf v_load_part(const float *p, int64_t n) { return _mm256_maskload_ps(p, (__m256i)v_first(n)); }
V_INLINE void v_store_part(float *p, vf x, int64_t n) { _mm256_maskstore_ps(p, (__m256i)v_first(n), x); }
V_INLINE vf v_fma(vf a, vf b, vf c) { return _mm256_fmadd_ps(a, b, c); }
V_INLINE vm v_lt(vf a, vf b) { return _mm256_cmp_ps(a, b, _CMP_LT_OQ); }
V_INLINE vm v_le(vf a, vf b) { return _mm256_cmp_ps(a, b, _CMP_LE_OQ); }
V_INLINE vm v_nan(vf a) { return _mm256_cmp_ps(a, a, _CMP_UNORD_Q); }
V_INLINE vf v_select(vm mask, vf yes, vf no) { return _mm256_blendv_ps(no, yes, mask); }
V_INLINE vf v_min(vf a, vf b) { return _mm256_min_ps(a, b); }
V_INLINE vf v_max(vf a, vf b) { return _mm256_max_ps(a, b); }
V_INLINE vf v_sqrt(vf a) { return _mm256_sqrt_ps(a); }
#else
#define V_LANES 4
typedef float vf __attribute__((vector_size(16)));
typedef int32_t vi __attribute__((vector_size(16)));
typedef vi vm;
V_INLINE vf v_set(float x) { return (vf){x, x, x, x}; }
V_INLINE vf v_load(const float *p) {
  vf x;
  memcpy(&x, p, sizeof x);
  return x;
}
V_INLINE void v_store(float *p, vf x) { memcpy(p, &x, sizeof x); }
V_INLINE vf v_load_part(const float *p, int64_t n) {
  vf x = {0, 0, 0, 0};
  memcpy(&x, p, (size_t)n * sizeof *p);
  return x;
}
V_INLINE void v_store_part(float *p, vf x, int64_t n) { memcpy(p, &x, (size_t)n * sizeof *p); }
V_INLINE vm v_first(int64_t n) { return (vi){0, 1, 2, 3} < (int32_t)n; }
V_INLINE vf v_fma(vf a, vf b, vf c) { return a * b + c; }
V_INLINE vm v_lt(vf a, vf b) { return a < b; }
V_INLINE vm v_le(vf a, vf b) { return a <= b; }
V_INLINE vm v_nan(vf a) { return a != a; }
V_INLINE vf v_select(vm mask, vf yes, vf no) { return (vf)((mask & (vi)yes) | (~mask & (vi)no)); }
V_INLINE vf v_min(vf a, vf b) { return v_select(a < b, a, b); }
V_INLINE vf v_max(vf a, vf b) { return v_select(a > b, a, b); }
V_INLINE vf v_sqrt(vf a) {
  return (vf){__builtin_sqrtf(a[0]), __builtin_sqrtf(a[1]), __builtin_sqrtf(a[2]), __builtin_sqrtf(a[3])};
}
#endif

/* Elements i.. of a row: V_LANES of them, or what is left of `width` (> i), zeros after it. */
V_INLINE vf v_take(const float *row, int64_t i, int64_t width) {
  return i + V_LANES <= width ? v_load(row + i) : v_load_part(row + i, width - i);
}
V_INLINE void v_give(float *row, vf x, int64_t i, int64_t width) {
  if (i + V_LANES <= width)
    v_store(row + i, x);
  else
    v_store_part(row + i, x, width - i);
}

V_INLINE vi v_bits(vf x) { return (vi)x; }
V_INLINE vf v_float(vi x) { return (vf)x; }
V_INLINE vi v_to_int(vf x) { return __builtin_convertvector(x, vi); } /* |x| < 2^31; truncates */
V_INLINE vf v_to_float(vi x) { return (vf) __builtin_convertvector(x, vf); }
V_INLINE vf v_abs(vf x) { return v_float(v_bits(x) & INT32_MAX); }
V_INLINE vf v_copysign(vf magnitude, vf sign) {
  return v_float((v_bits(magnitude) & INT32_MAX) | (v_bits(sign) & INT32_MIN));
}

/* To the nearest integer, ties to even; |x| < 2^22. */
V_INLINE vf v_round(vf x) {
  const vf magic = v_set(12582912.0f); /* 1.5 * 2^23: adding it leaves no bits for a fraction */
  return (x + magic) - magic;
}

/* x * 2^n for integers n in -252..254, with one rounding into the subnormal range at most. */
V_INLINE vf v_scale(vf x, vf n) {
#if ZB_ISA_LEVEL == 2
  return _mm512_scalef_ps(x, n);
#else
  vi whole = v_to_int(n), half = whole >> 1;
  return x * v_float((half + 127) << 23) * v_float((whole - half + 127) << 23);
#endif
}

/* Sum and maximum of the lanes, over a fixed tree. */
V_INLINE float v_sum(vf x) {
#if ZB_ISA_LEVEL == 2
  return _mm512_reduce_add_ps(x);
#elif ZB_ISA_LEVEL == 1
  __m128 half = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
  half = _mm_add_ps(half, _mm_movehl_ps(half, half));
  return _mm_cvtss_f32(half) + _mm_cvtss_f32(_mm_movehdup_ps(half));
#else
  return (x[0] + x[2]) + (x[1] + x[3]);
#endif
}
V_INLINE float v_highest(vf x) {
#if ZB_ISA_LEVEL == 2
  return _mm512_reduce_max_ps(x);
#else
  float lane[V_LANES];
  v_store(lane, x);
  for (int width = V_LANES / 2; width > 0; width /= 2)
    for (int i = 0; i < width; ++i)
      lane[i] = lane[i] > lane[i + width] ? lane[i] : lane[i + width];
  return lane[0];
#endif
}

/* Lanes n.. (n >= 1) become `value`. */
V_INLINE vf v_fill(vf x, int64_t n, float value) { return v_select(v_first(n), x, v_set(value)); }

/* x = n ln 2 + r with |r| <= ln 2 / 2 (1 %% more by rounding); returns exp(r) - 1. |x| <= 2^16. */
V_INLINE vf v_exp_part(vf x, vf *n) {
  *n = v_round(x * v_set(1.44269504f));
  vf r = v_fma(*n, v_set(-0.693145752f), x); /* ln 2 in 15 bits and the rest: n times it is exact */
  r = v_fma(*n, v_set(-1.42860677e-6f), r);
  vf p = v_fma(v_set(1.38131448e-3f), r, v_set(8.36941879e-3f)); /* (exp(r) - 1 - r) / r^2, error 5e-9 */
  p = v_fma(p, r, v_set(4.1668456e-2f));
  p = v_fma(p, r, v_set(1.66665152e-1f));
  p = v_fma(p, r, v_set(4.9999994e-1f));
  return v_fma(p, r * r, r);
}

V_INLINE vf v_exp(vf x) {
  vf n, clamped = v_min(v_set(89.0f), v_max(v_set(-104.0f), x)); /* inf and 0 beyond; NaN stays */
  vf p = v_exp_part(clamped, &n);
  return v_scale(p + v_set(1.0f), n);
}

/* log(x) = e ln 2 + log(1 + f), 1 + f in [sqrt(1/2), sqrt(2)). */
V_INLINE vf v_log(vf x) {
  const vi root_half = v_bits(v_set(0.707106769f));
  vm tiny = v_lt(x, v_set(FLT_MIN));
  vf scaled = v_select(tiny, x * v_set(8388608.0f), x); /* 2^23: subnormals become normal */
  vi bits = v_bits(scaled) - root_half;
  vf e = v_to_float(bits >> 23) - v_select(tiny, v_set(23.0f), v_set(0.0f));
  vf f = v_float((bits & 0x7fffff) + root_half) - v_set(1.0f);
  vf p = v_fma(v_set(-7.63449669e-2f), f, v_set(1.27615765e-1f)); /* (log(1 + f) - f + f^2/2) / f^3, error 6e-9 */
  p = v_fma(p, f, v_set(-1.31601825e-1f));
  p = v_fma(p, f, v_set(1.42017573e-1f));
  p = v_fma(p, f, v_set(-1.66233569e-1f));
  p = v_fma(p, f, v_set(2.00012267e-1f));
  p = v_fma(p, f, v_set(-2.50008196e-1f));
  p = v_fma(p, f, v_set(3.33333313e-1f));
  vf square = f * f;
  vf low = v_fma(e, v_set(1.42860677e-6f), p * square * f);
  low = v_fma(square, v_set(-0.5f), low);
  vf result = v_fma(e, v_set(0.693145752f), f + low);
  result = v_select(v_lt(v_set(FLT_MAX), x), x, result);
  result = v_select(v_lt(x, v_set(0.0f)), v_set(NAN), result);
  result = v_select(v_le(v_abs(x), v_set(0.0f)), v_set(-INFINITY), result);
  return v_select(v_nan(x), x, result);
}

/* x + x^3 p(x^2) near 0, error 7e-10; else 1 - 2 / (exp(2 |x|) + 1). */
V_INLINE vf v_tanh(vf x) {
  vf t = v_abs(x), square = x * x;
  vf p = v_fma(v_set(1.9018030e-3f), square, v_set(-7.89218769e-3f));
  p = v_fma(p, square, v_set(2.15758421e-2f));
  p = v_fma(p, square, v_set(-5.39221242e-2f));
  p = v_fma(p, square, v_set(1.33329958e-1f));
  p = v_fma(p, square, v_set(-3.33333254e-1f));
  vf far = v_set(1.0f) - v_set(2.0f) / (v_exp(t + t) + v_set(1.0f));
  return v_select(v_lt(t, v_set(0.7f)), v_fma(p * square, x, x), v_copysign(far, x));
}

/* By e = exp(-|x|), which does not overflow: its digits left of 0 are those of e, below the normal numbers too. */
V_INLINE vf v_sigmoid(vf x) {
  vf e = v_exp(-v_abs(x));
  return v_select(v_lt(x, v_set(0.0f)), e, v_set(1.0f)) / (v_set(1.0f) + e);
}

/* The same, with 1 - sigmoid(x), which keeps its digits right of 0. */
V_INLINE vf v_sigmoid_pair(vf x, vf *rest) {
  vf e = v_exp(-v_abs(x)), one = v_set(1.0f), share = one / (one + e);
  vm negative = v_lt(x, v_set(0.0f));
  *rest = v_select(negative, one, e) * share;
  return v_select(negative, e, one) * share;
}

/* exp(t^2) erfc(t) for t >= 0, as u times a polynomial of u = 2.5 / (2.5 + t), error 2.4e-8. It changes by up to 2.8
 * times what u does, so what u lost by rounding is put right. */
V_INLINE vf v_erfcx(vf t) {
  const vf shift = v_set(2.5f), sum = shift + t, u = shift / sum;
  vf p = v_fma(v_set(-2.07019616e-2f), u, v_set(1.50950313e-1f));
  p = v_fma(p, u, v_set(-3.91339958e-1f));
  p = v_fma(p, u, v_set(4.08814937e-1f));
  p = v_fma(p, u, v_set(-1.73376247e-1f));
  p = v_fma(p, u, v_set(2.15017542e-1f));
  p = v_fma(p, u, v_set(1.48452297e-1f));
  p = v_fma(p, u, v_set(2.11114794e-1f));
  p = v_fma(p, u, v_set(2.2538203e-1f));
  p = v_fma(p, u, v_set(2.25686282e-1f));
#if ZB_ISA_LEVEL == 0
  return p * u;
#else
  vf rest = v_fma(-u, t - (sum - shift), v_fma(-u, sum, shift)), whole = p * u; /* 2.5 - u (2.5 + t) */
  return v_fma(whole * v_fma(v_set(0.72f), u, v_set(0.4f)), rest, whole);
#endif
}

V_INLINE vf v_erf(vf x) {
  vf t = v_abs(x), square = x * x;
  vf p = v_fma(v_set(-5.63142239e-4f), square, v_set(4.9175513e-3f)); /* erf(x)/x - 1 for |x| <= 1, error 5e-8 */
  p = v_fma(p, square, v_set(-2.67113112e-2f));
  p = v_fma(p, square, v_set(1.12801798e-1f));
  p = v_fma(p, square, v_set(-3.7612325e-1f));
  p = v_fma(p, square, v_set(1.2837911e-1f));
  vf far = v_set(1.0f) - v_exp(-square) * v_erfcx(v_min(v_set(16.0f), t));
  vf result = v_select(v_lt(t, v_set(1.0f)), v_fma(p, x, x), v_copysign(far, x));
  return v_select(v_nan(x), x, result);
}

/* Largest of `width` elements (-inf for none); where there is a NaN, anything. */
static inline __attribute__((unused)) float v_row_highest(const float *x, int64_t width) {
  vf high[2] = {v_set(-INFINITY), v_set(-INFINITY)};
  int64_t i = 0;
  for (; i + 2 * V_LANES <= width; i += 2 * V_LANES) {
    high[0] = v_max(high[0], v_load(x + i));
    high[1] = v_max(high[1], v_load(x + i + V_LANES));
  }
  for (; i < width; i += V_LANES)
    high[0] = v_max(high[0], v_fill(v_take(x, i, width), width - i, -INFINITY));
  return v_highest(v_max(high[0], high[1]));
}

/* Sum of exp(x - highest); writes the terms to out unless it is NULL. out may be x. */
static inline __attribute__((unused)) float v_row_exp(const float *x, int64_t width, float highest, float *out) {
  vf sum[2] = {v_set(0), v_set(0)}, h = v_set(highest);
  int64_t i = 0;
  for (; i + 2 * V_LANES <= width; i += 2 * V_LANES) {
    for (int k = 0; k < 2; ++k) {
      __builtin_prefetch(x + i + k * V_LANES + 2048); /* the next chunk of a long row (softmax.c) */
      vf e = v_exp(v_load(x + i + k * V_LANES) - h);
      if (out) v_store(out + i + k * V_LANES, e);
      sum[k] = sum[k] + e;
    }
  }
  for (; i < width; i += V_LANES) {
    vf e = v_fill(v_exp(v_take(x, i, width) - h), width - i, 0.0f);
    if (out) v_give(out, e, i, width);
    sum[0] = sum[0] + e;
  }
  return v_sum(sum[0] + sum[1]);
}
