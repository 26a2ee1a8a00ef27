/* What all device code shares: element types, places of elements, sums over a block.
 *
 * A kernel is written ZB_KERNEL(name, args, threads) { body(a); } and gets its arguments `a` by value. Shared memory is
 * zb_shared(), as many bytes as the launch gave. Nothing else of CUDA is used than what is named below, so that the
 * emulation of the tests (test/kernels/cuda/emulator.h), which is included before this file, can run the same text on a
 * CPU.
 *
 * Sums have fixed trees: which element meets which depends on shapes alone. Tests: test/kernels/cuda.
 */
#pragma once

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "kernels/cuda/args.h"

enum zb_cuda_fault_kind {
#define ZB_CUDA_FAULT(ID, text) ZB_FAULT_##ID,
#include "kernels/cuda/faults.def"
};

/* Before a loop over an array that must lie in registers: without it nvcc may leave a loop, and with it the array in
 * memory. */
#ifdef __CUDACC__
#define ZB_UNROLL _Pragma("unroll")
#else
#define ZB_UNROLL
#endif

#ifdef __CUDACC__
#define ZB_DEVICE __device__ __forceinline__
#define ZB_CALLED_DEVICE static __device__ __noinline__
#define ZB_KERNEL(name, args_type, threads)                                                                            \
  extern "C" __global__ void __launch_bounds__(threads) name(const __grid_constant__ args_type a)
/* The same with registers for at least `blocks` blocks of a multiprocessor at a time. */
#define ZB_KERNEL_OF_BLOCKS(name, args_type, threads, blocks)                                                          \
  extern "C" __global__ void __launch_bounds__(threads, blocks) name(const __grid_constant__ args_type a)

ZB_DEVICE void *zb_shared() {
  extern __shared__ __align__(16) unsigned char zb_shared_memory[];
  return zb_shared_memory;
}
ZB_DEVICE uint32_t float_bits(float x) { return __float_as_uint(x); }
ZB_DEVICE float bits_float(uint32_t bits) { return __uint_as_float(bits); }
#endif

/* ---- Element types ---- */

struct bf16 {
  uint16_t bits;
};
struct f16 {
  uint16_t bits;
};

#ifdef __CUDACC__
/* To the nearest, ties to even; NaN is one NaN, as on the CPU. */
ZB_DEVICE uint16_t bf16_bits(float x) {
  uint16_t bits;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(x));
  return x != x ? 0x7fc0 : bits;
}
ZB_DEVICE uint16_t f16_bits(float x) {
  uint16_t bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
  return x != x ? 0x7e00 : bits;
}
ZB_DEVICE float f16_value(uint16_t half) {
  float x;
  asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(half));
  return x;
}
#else
ZB_DEVICE uint16_t bf16_bits(float x) {
  uint32_t bits = float_bits(x);
  if (x != x) return 0x7fc0;
  return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

ZB_DEVICE float f16_value(uint16_t half) {
  uint32_t sign = (uint32_t)(half & 0x8000u) << 16, exponent = half >> 10 & 31u, fraction = half & 1023u;
  if (exponent == 31) return bits_float(sign | 0x7f800000u | fraction << 13);
  if (exponent > 0) return bits_float(sign | (exponent + 112u) << 23 | fraction << 13);
  float magnitude = (float)fraction * 5.9604644775390625e-8f; /* 2^-24 */
  return sign ? -magnitude : magnitude;
}

ZB_DEVICE uint16_t f16_bits(float x) {
  uint32_t bits = float_bits(x), sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return 0x7e00;
  if (magnitude >= 0x477ff000u) return (uint16_t)(sign | 0x7c00u); /* 65520 and more */
  if (magnitude < 0x38800000u) { /* below 2^-14: multiples of 2^-24, which the sum rounds to */
    float rounded = bits_float(magnitude) + 0.5f;
    return (uint16_t)(sign | (float_bits(rounded) - 0x3f000000u));
  }
  uint32_t even = magnitude >> 13 & 1u;
  return (uint16_t)(sign | (magnitude - 0x38000000u + 0xfffu + even) >> 13);
}
#endif

/* A kernel for each float type: NAME_f32, NAME_bf16, NAME_f16, of the template `body`. */
#define ZB_FLOAT_KERNELS(name, args_type, threads, body)                                                               \
  ZB_KERNEL(name##_f32, args_type, threads) { body<float>(a); }                                                        \
  ZB_KERNEL(name##_bf16, args_type, threads) { body<bf16>(a); }                                                        \
  ZB_KERNEL(name##_f16, args_type, threads) { body<f16>(a); }

/* A double as a float whose rounding to fewer digits is that of the double: towards zero, the last digit set if
 * inexact. */
ZB_DEVICE float round_to_odd(double x) {
  float nearest = (float)x;
  if ((double)nearest == x || x != x) return nearest;
  uint32_t bits = float_bits(nearest);
  if (fabs((double)nearest) > fabs(x)) --bits;
  return bits_float(bits | 1u);
}

/* Towards zero; outside of the range its nearest end; NaN gives 0. */
ZB_DEVICE int64_t to_i64(double x) {
  if (x != x) return 0;
  if (x >= 9223372036854775808.0) return INT64_MAX;
  if (x < -9223372036854775808.0) return INT64_MIN;
  return (int64_t)x;
}

/* What kernels compute in: float for the three float types, int64_t for integers and i1. */
template <typename T> struct computes {
  typedef int64_t type;
};
template <> struct computes<float> {
  typedef float type;
};
template <> struct computes<bf16> {
  typedef float type;
};
template <> struct computes<f16> {
  typedef float type;
};

ZB_DEVICE float value_of(float x) { return x; }
ZB_DEVICE float value_of(bf16 x) { return bits_float((uint32_t)x.bits << 16); }
ZB_DEVICE float value_of(f16 x) { return f16_value(x.bits); }
ZB_DEVICE int64_t value_of(int64_t x) { return x; }
ZB_DEVICE int64_t value_of(int32_t x) { return x; }
ZB_DEVICE int64_t value_of(uint8_t x) { return x; }

/* Rounds once; i32 keeps the low 32 bits, i1 is whether the value is not 0. */
ZB_DEVICE void set(float &to, float x) { to = x; }
ZB_DEVICE void set(bf16 &to, float x) { to.bits = bf16_bits(x); }
ZB_DEVICE void set(f16 &to, float x) { to.bits = f16_bits(x); }
ZB_DEVICE void set(int64_t &to, int64_t x) { to = x; }
ZB_DEVICE void set(int32_t &to, int64_t x) { to = (int32_t)(uint32_t)(uint64_t)x; }
ZB_DEVICE void set(uint8_t &to, int64_t x) { to = x != 0; }

/* Operands that are small, or whose type does not decide the speed: the type is a branch that all threads take
 * together. */
ZB_DEVICE float load_float(const void *data, int dtype, int64_t i) {
  if (dtype == ZB_F32) return ((const float *)data)[i];
  if (dtype == ZB_BF16) return value_of(((const bf16 *)data)[i]);
  if (dtype == ZB_F16) return value_of(((const f16 *)data)[i]);
  return (float)((const double *)data)[i];
}
ZB_DEVICE void store_float(void *data, int dtype, int64_t i, float x) {
  if (dtype == ZB_F32)
    ((float *)data)[i] = x;
  else if (dtype == ZB_BF16)
    set(((bf16 *)data)[i], x);
  else if (dtype == ZB_F16)
    set(((f16 *)data)[i], x);
  else
    ((double *)data)[i] = (double)x;
}
ZB_DEVICE int64_t load_integer(const void *data, int dtype, int64_t i) {
  if (dtype == ZB_I64) return ((const int64_t *)data)[i];
  return dtype == ZB_I32 ? ((const int32_t *)data)[i] : ((const uint8_t *)data)[i];
}
ZB_DEVICE void store_integer(void *data, int dtype, int64_t i, int64_t x) {
  if (dtype == ZB_I64)
    ((int64_t *)data)[i] = x;
  else if (dtype == ZB_I32)
    set(((int32_t *)data)[i], x);
  else
    set(((uint8_t *)data)[i], x);
}
ZB_DEVICE bool is_float(int dtype) { return dtype <= ZB_F16; }
/* Any type from a double, as the CPU's reference rounds: once; integers as to_i64, i32 to the nearest end of its own
 * range. */
ZB_DEVICE void store_double(void *data, int dtype, int64_t i, double x) {
  if (dtype == ZB_F64) {
    ((double *)data)[i] = x;
  } else if (is_float(dtype)) {
    store_float(data, dtype, i, dtype == ZB_F32 ? (float)x : round_to_odd(x));
  } else {
    int64_t whole = to_i64(x);
    if (dtype == ZB_I32) whole = whole > INT32_MAX ? INT32_MAX : whole < INT32_MIN ? INT32_MIN : whole;
    store_integer(data, dtype, i, dtype == ZB_I1 ? x != 0 : whole);
  }
}
ZB_DEVICE double load_double(const void *data, int dtype, int64_t i) {
  if (dtype == ZB_F64) return ((const double *)data)[i];
  return is_float(dtype) ? (double)load_float(data, dtype, i) : (double)load_integer(data, dtype, i);
}

/* ---- Places ---- */

ZB_CALLED_DEVICE int64_t at_many(const zb_cuda_dims &d, int64_t position) {
  int64_t offset = 0;
  if (d.narrow) {
    uint32_t rest = (uint32_t)position;
    for (int i = d.rank - 1; i > 0; --i) {
      uint32_t size = (uint32_t)d.shape[i], next = rest / size;
      offset += (int64_t)(rest - next * size) * d.stride[i];
      rest = next;
    }
    return offset + (int64_t)rest * d.stride[0];
  }
  for (int i = d.rank - 1; i > 0; --i) {
    int64_t next = position / d.shape[i];
    offset += (position - next * d.shape[i]) * d.stride[i];
    position = next;
  }
  return offset + position * d.stride[0];
}
/* Offset of a position in some dimensions of an operand. Most operands are dense: one dimension, no division. */
ZB_DEVICE int64_t at(const zb_cuda_dims &d, int64_t position) {
  return d.rank == 1 ? position * d.stride[0] : at_many(d, position);
}

/* ---- Tensor cores, in the words of the PTX manual. All 32 lanes of a warp call these together. ---- */

/* Two values as one register: `low` is the one that lies first. */
#ifdef __CUDACC__
ZB_DEVICE uint32_t pair_of(bf16, float low, float high) {
  uint32_t pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}
ZB_DEVICE uint32_t pair_of(f16, float low, float high) {
  uint32_t pair;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}
#else
ZB_DEVICE uint32_t pair_of(bf16, float low, float high) {
  return (uint32_t)bf16_bits(low) | (uint32_t)bf16_bits(high) << 16;
}
ZB_DEVICE uint32_t pair_of(f16, float low, float high) {
  return (uint32_t)f16_bits(low) | (uint32_t)f16_bits(high) << 16;
}
#endif

#ifdef __CUDACC__
/* sums (16 x 8) += a (16 x 16) b (16 x 8): mma.sync.m16n8k16. */
ZB_DEVICE void multiply(bf16, float (&sums)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
ZB_DEVICE void multiply(f16, float (&sums)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
/* Four 8 x 8 matrices of 16-bit elements from shared memory: lanes 8 i .. 8 i + 7 give the rows of matrix i, 16 bytes
 * each. */
ZB_DEVICE void load_matrices(uint32_t (&to)[4], const void *row) {
  uint32_t address = (uint32_t)__cvta_generic_to_shared(row);
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(address)
               : "memory");
}
/* The same, each matrix transposed. */
ZB_DEVICE void load_matrices_transposed(uint32_t (&to)[4], const void *row) {
  uint32_t address = (uint32_t)__cvta_generic_to_shared(row);
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(address)
               : "memory");
}
#else
template <typename T> ZB_DEVICE void multiply(T, float (&sums)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  uint32_t mine[6] = {a[0], a[1], a[2], a[3], b0, b1}, lane = threadIdx.x % 32;
  const unsigned char *all = zb_emulated_exchange(mine, sizeof mine);
  for (uint32_t e = 0; e < 4; ++e) {
    uint32_t row = lane / 4 + e / 2 * 8, column = lane % 4 * 2 + e % 2;
    for (uint32_t k = 0; k < 16; ++k) {
      T x, y;
      memcpy(&x, all + 64 * (row % 8 * 4 + k % 8 / 2) + 4 * (row / 8 + k / 8 * 2) + 2 * (k % 2), 2);
      memcpy(&y, all + 64 * (column * 4 + k % 8 / 2) + 4 * (4 + k / 8) + 2 * (k % 2), 2);
      sums[e] += value_of(x) * value_of(y);
    }
  }
}
ZB_DEVICE void emulated_matrices(uint32_t (&to)[4], const void *row, bool transposed) {
  if ((uintptr_t)row % 16) zb_emulated_fail("ldmatrix of a row that does not lie at a multiple of 16 bytes");
  const unsigned char *all = zb_emulated_exchange(&row, sizeof row);
  uint32_t lane = threadIdx.x % 32;
  for (uint32_t i = 0; i < 4; ++i)
    for (uint32_t half = 0; half < 2; ++half) {
      uint32_t line = transposed ? lane % 4 * 2 + half : lane / 4, column = transposed ? lane / 4 : lane % 4 * 2 + half;
      const unsigned char *from;
      memcpy(&from, all + 64 * (8 * i + line), sizeof from);
      memcpy((unsigned char *)&to[i] + 2 * half, from + 2 * column, 2);
    }
}
ZB_DEVICE void load_matrices(uint32_t (&to)[4], const void *row) { emulated_matrices(to, row, false); }
ZB_DEVICE void load_matrices_transposed(uint32_t (&to)[4], const void *row) { emulated_matrices(to, row, true); }
#endif

/* ---- Copies from global to shared memory that go on while the thread computes ---- */

/* Starts one of 16 bytes, both at multiples of 16; zeros, and `from` is not read, unless `there`. */
#ifdef __CUDACC__
ZB_DEVICE void copy_ahead(void *to, const void *from, bool there) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
               :
               : "r"((uint32_t)__cvta_generic_to_shared(to)), "l"(__cvta_generic_to_global(from)), "r"(there ? 16 : 0)
               : "memory");
}
/* Those that this thread started have arrived; what others started is there behind a barrier that they pass after this.
 */
ZB_DEVICE void copies_arrive() { asm volatile("cp.async.wait_all;" : : : "memory"); }
#else
ZB_DEVICE void copy_ahead(void *to, const void *from, bool there) { zb_emulated_copy_ahead(to, there ? from : NULL); }
ZB_DEVICE void copies_arrive() { zb_emulated_copies_arrive(); }
#endif

/* 2^x to about 2^-22 of itself, results below 2^-126 are 0: for what is rounded to a narrow type, in kernels that do
 * not wait for memory. */
#ifdef __CUDACC__
ZB_DEVICE float near_exp2(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
#else
ZB_DEVICE float near_exp2(float x) { return exp2f(x); }
#endif

/* 1 / x to the last place but one, results below 2^-126 are 0. A division that rounds right asks for special values
 * first, which costs an elementwise kernel more than its formula. */
#ifdef __CUDACC__
ZB_DEVICE float near_reciprocal(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
#else
ZB_DEVICE float near_reciprocal(float x) { return 1 / x; }
#endif

/* N elements that lie together, loaded and stored at once. */
template <typename T, int N> struct alignas(sizeof(T) * N) pack {
  T v[N];
};

/* ---- Groups: the elements of a row that one thread takes at a time, 16 bytes of the kernel's type. Which thread takes
 * which does not depend on whether they can be read at once (`dense`, zb_cuda_in_groups), so neither do the bits of a
 * sum. ---- */

/* How many of n elements from `first` on lie before `end`. */
ZB_DEVICE int count_before(int64_t first, int64_t end, int n) { return end - first < n ? (int)(end - first) : n; }
template <typename T, int N> ZB_DEVICE void load_part(const T *from, int64_t step, int dense, int count, T (&to)[N]) {
  if (count == N && dense) {
    pack<T, N> all = *(const pack<T, N> *)from;
    for (int i = 0; i < N; ++i)
      to[i] = all.v[i];
  } else {
    for (int i = 0; i < N; ++i)
      if (i < count) to[i] = from[i * step];
  }
}
template <typename T, int N> ZB_DEVICE void store_part(T *to, int dense, int count, const T (&from)[N]) {
  if (count == N && dense) {
    pack<T, N> all;
    for (int i = 0; i < N; ++i)
      all.v[i] = from[i];
    *(pack<T, N> *)to = all;
  } else {
    for (int i = 0; i < N; ++i)
      if (i < count) to[i] = from[i];
  }
}
/* N elements that lie together, 16 bytes at a time or what there is. */
template <typename T, int N> ZB_DEVICE void load_dense(const T *from, float (&to)[N]) {
  constexpr int M = (int)sizeof(T) * N > 16 ? 16 / (int)sizeof(T) : N;
  for (int k = 0; k < N; k += M) {
    pack<T, M> all = *(const pack<T, M> *)(from + k);
    for (int i = 0; i < M; ++i)
      to[k + i] = value_of(all.v[i]);
  }
}
template <typename T, int N> ZB_DEVICE void store_dense(T *to, const float (&from)[N]) {
  constexpr int M = (int)sizeof(T) * N > 16 ? 16 / (int)sizeof(T) : N;
  for (int k = 0; k < N; k += M) {
    pack<T, M> all;
    for (int i = 0; i < M; ++i)
      set(all.v[i], from[k + i]);
    *(pack<T, M> *)(to + k) = all;
  }
}
/* Elements `first` and on of a row of `size`, in f32; `missing` beyond it. Rows that are read at once are whole groups.
 */
template <typename T, int N>
ZB_DEVICE void load_row(const T *row, const zb_cuda_dims &along, int dense, int64_t first, int64_t size, float missing,
                        float (&to)[N]) {
  if (dense) return load_dense(row + first, to);
  for (int i = 0; i < N; ++i)
    to[i] = first + i < size ? value_of(row[at(along, first + i)]) : missing;
}
/* The same where the type does not decide the speed. */
template <int N> ZB_DEVICE void load_dense_of(const void *data, int dtype, int64_t first, float (&to)[N]) {
  if (dtype == ZB_F32)
    load_dense((const float *)data + first, to);
  else if (dtype == ZB_BF16)
    load_dense((const bf16 *)data + first, to);
  else
    load_dense((const f16 *)data + first, to);
}
template <int N> ZB_DEVICE void store_dense_of(void *data, int dtype, int64_t first, const float (&from)[N]) {
  if (dtype == ZB_F32)
    store_dense((float *)data + first, from);
  else if (dtype == ZB_BF16)
    store_dense((bf16 *)data + first, from);
  else
    store_dense((f16 *)data + first, from);
}

/* ---- Faults ---- */

ZB_DEVICE void report_fault(const zb_cuda_fault_place &fault, int kind, int64_t value, int64_t least, int64_t most) {
  if (!fault.record || atomicCAS(&fault.record->set, 0, 1) != 0) return;
  fault.record->instruction = fault.instruction;
  fault.record->kind = kind;
  fault.record->value = value;
  fault.record->least = least;
  fault.record->most = most;
}

/* The place that an index from `least` on names, negative ones counted from the end; -1, and a fault, where it is out
 * of range. */
ZB_DEVICE int64_t place_from(int64_t least, int64_t index, int64_t size, const zb_cuda_fault_place &fault) {
  if (index >= least && index < size) return index < 0 ? index + size : index;
  report_fault(fault, ZB_FAULT_INDEX, index, index < 0 ? least : 0, size - 1);
  return -1;
}
ZB_DEVICE int64_t place_of(int64_t index, int64_t size, const zb_cuda_fault_place &fault) {
  return place_from(-size, index, size, fault);
}

/* ---- Over the threads of a block ---- */

struct add_values {
  template <typename T> ZB_DEVICE T operator()(T a, T b) const { return a + b; }
};
/* NaN, once there, stays. */
struct larger_value {
#ifdef __CUDACC__
  ZB_DEVICE float operator()(float a, float b) const {
    float larger;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(larger) : "f"(a), "f"(b));
    return larger;
  }
#else
  ZB_DEVICE float operator()(float a, float b) const { return b > a || b != b ? b : a; }
#endif
};

/* combine() over all threads, in every thread the same bits: within warps by halves, then warps in order. `shared`
 * holds one T a warp; blocks are whole warps. All threads must call it; it may be called again at once. */
template <typename T, typename F> ZB_DEVICE T over_block(T value, F combine, void *shared) {
  T *sums = (T *)shared;
  for (int lanes = 16; lanes > 0; lanes /= 2)
    value = combine(value, __shfl_xor_sync(0xffffffffu, value, lanes));
  int warps = (int)blockDim.x / 32;
  if (warps == 1) return value;
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = value;
  __syncthreads();
  value = sums[0];
  for (int i = 1; i < warps; ++i)
    value = combine(value, sums[i]);
  __syncthreads();
  return value;
}

/* The sum of exp(x - largest) of a row in one pass over it: a thread keeps the largest of its own so far, and the sum
 * to that base. -infinity, also in place of an element that is not there, adds 0. */
struct exponential_sum {
  float largest, total;
  template <int N> ZB_DEVICE void add(const float (&x)[N]) {
    float next = largest;
    for (int i = 0; i < N; ++i)
      next = larger_value()(next, x[i]);
    if (next == -INFINITY) return;
    if (next != largest) total *= exp(largest - next);
    for (int i = 0; i < N; ++i)
      total += exp(x[i] - next);
    largest = next;
  }
  /* That of all threads, in every thread. */
  ZB_DEVICE void over_threads(void *shared) {
    float own = largest;
    largest = over_block(own, larger_value(), shared);
    total = over_block(total * exp(own - largest), add_values(), shared);
  }
};

/* Index of the first thread of this block in a grid of one dimension, in 64 bits. */
ZB_DEVICE int64_t global_thread() { return (int64_t)blockIdx.x * blockDim.x + threadIdx.x; }
