/* Elementwise ops: one thread computes one group of elements that lie together in the result, 16 bytes of the widest
 * operand.
 *
 * Operands are read as groups too where they are dense or repeated within a group (the host decides: args.group), else
 * element by element. The formulas are those of the CPU's reference (kernels/cpu/ref/unary.def, binary.def), in float.
 */
#pragma once

#include "kernels/cuda/device.cuh"

/* The operand of a map that has fewer than three. */
struct absent {};

template <typename... T> struct widest;
template <typename T> struct widest<T> {
  static const int bytes = sizeof(T);
};
template <typename T, typename... Rest> struct widest<T, Rest...> {
  static const int bytes = (int)sizeof(T) > widest<Rest...>::bytes ? (int)sizeof(T) : widest<Rest...>::bytes;
};

template <int N, int OPERAND, typename T>
ZB_DEVICE void load_group(const zb_map_args &a, int64_t first, int count, T (&to)[N]) {
  const T *from = (const T *)a.in[OPERAND];
  const zb_cuda_dims &dims = a.dims[OPERAND];
  if (count == N && a.group[OPERAND] == ZB_GROUP_DENSE) {
    *(pack<T, N> *)to = *(const pack<T, N> *)(from + at(dims, first));
  } else if (a.group[OPERAND] == ZB_GROUP_REPEATED) {
    T one = from[at(dims, first)];
    for (int i = 0; i < N; ++i)
      to[i] = one;
  } else {
    for (int i = 0; i < N; ++i)
      if (i < count) to[i] = from[at(dims, first + i)];
  }
}
template <int N, int OPERAND> ZB_DEVICE void load_group(const zb_map_args &, int64_t, int, absent (&)[N]) {}

template <int N, typename T> ZB_DEVICE void store_group(int group, T *to, int count, const T (&from)[N]) {
  if (count == N && group == ZB_GROUP_DENSE) {
    *(pack<T, N> *)to = *(const pack<T, N> *)from;
  } else {
    for (int i = 0; i < N; ++i)
      if (i < count) to[i] = from[i];
  }
}

/* Whether f must not see an element that is not there: of integers it may report a fault. Of floats it computes zeros,
 * which are not stored: a question before each element costs more than the last thread could save. */
template <typename A> struct may_fault {
  static constexpr bool yes = true;
};
template <> struct may_fault<float> {
  static constexpr bool yes = false;
};
template <> struct may_fault<bf16> {
  static constexpr bool yes = false;
};
template <> struct may_fault<f16> {
  static constexpr bool yes = false;
};

/* out[i] = f(in0[i], in1[i], in2[i]), f(T &out, A, B, C). */
template <typename T, typename A, typename B, typename C, typename F> ZB_DEVICE void map(const zb_map_args &a, F f) {
  constexpr int N = 16 / widest<T, A, B, C>::bytes;
  int64_t first = global_thread() * N;
  if (first >= a.elements) return;
  int count = a.elements - first < N ? (int)(a.elements - first) : N;
  alignas(16) A x[N] = {};
  alignas(16) B y[N] = {};
  alignas(16) C z[N] = {};
  alignas(16) T out[N];
  load_group<N, 0>(a, first, count, x);
  load_group<N, 1>(a, first, count, y);
  load_group<N, 2>(a, first, count, z);
  for (int i = 0; i < N; ++i)
    if (i < count || !may_fault<A>::yes) f(out[i], x[i], y[i], z[i]);
  store_group(a.out_group, (T *)a.out + first, count, out);
}

/* The same with two results, all operands of one type: f(T &out, T &second, x, y, z). */
template <typename T, typename F> ZB_DEVICE void map_to_two(const zb_map_args &a, F f) {
  constexpr int N = 16 / sizeof(T);
  int64_t first = global_thread() * N;
  if (first >= a.elements) return;
  int count = a.elements - first < N ? (int)(a.elements - first) : N;
  alignas(16) T x[N] = {};
  alignas(16) T y[N] = {};
  alignas(16) T z[N] = {};
  alignas(16) T out[N];
  alignas(16) T second[N];
  load_group<N, 0>(a, first, count, x);
  load_group<N, 1>(a, first, count, y);
  load_group<N, 2>(a, first, count, z);
  for (int i = 0; i < N; ++i)
    f(out[i], second[i], x[i], y[i], z[i]);
  store_group(a.out_group, (T *)a.out + first, count, out);
  store_group(a.second_group, (T *)a.second + first, count, second);
}

/* Long functions of the math library are called, not inlined: a kernel holds 4 to 8 copies of its formula, which took
 * nvcc minutes a file. exp, sqrt and the like stay inline, and with them the ops of training. */
#define ZB_CALLED(function)                                                                                            \
  ZB_CALLED_DEVICE float called_##function(float x) { return function(x); }
ZB_CALLED(acos)
ZB_CALLED(acosh)
ZB_CALLED(asin)
ZB_CALLED(asinh)
ZB_CALLED(atan)
ZB_CALLED(atanh)
ZB_CALLED(cos)
ZB_CALLED(cosh)
ZB_CALLED(erf)
ZB_CALLED(erfc)
ZB_CALLED(expm1)
ZB_CALLED(log)
ZB_CALLED(log1p)
ZB_CALLED(sin)
ZB_CALLED(sinh)
ZB_CALLED(tan)
ZB_CALLED(tanh)
ZB_CALLED_DEVICE float called_pow(float x, float y) { return pow(x, y); }
ZB_CALLED_DEVICE float called_fmod(float x, float y) { return fmod(x, y); }
#define acos(x) called_acos(x)
#define acosh(x) called_acosh(x)
#define asin(x) called_asin(x)
#define asinh(x) called_asinh(x)
#define atan(x) called_atan(x)
#define atanh(x) called_atanh(x)
#define cos(x) called_cos(x)
#define cosh(x) called_cosh(x)
#define erf(x) called_erf(x)
#define erfc(x) called_erfc(x)
#define expm1(x) called_expm1(x)
#define log(x) called_log(x)
#define log1p(x) called_log1p(x)
#define sin(x) called_sin(x)
#define sinh(x) called_sinh(x)
#define tan(x) called_tan(x)
#define tanh(x) called_tanh(x)
#define pow(x, y) called_pow(x, y)
#define fmod(x, y) called_fmod(x, y)

#define ZB_MAP_KERNEL(name, ...)                                                                                       \
  ZB_KERNEL(name, zb_map_args, ZB_MAP_THREADS) { __VA_ARGS__ }

#include "kernels/cpu/ref/words.def"
#undef SIGMOID
#define SIGMOID(x) near_reciprocal(1 + exp(-(x)))
#define zb_ref_to_i64 to_i64
