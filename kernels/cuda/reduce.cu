/* Reductions: sums, products, extremes over some dimensions, in f32 or int64_t.
 *
 * Two shapes of work. Rows: a block reduces one result, its threads side by side along the reduced dimensions. Columns: a block reduces 32
 * neighbouring results, which lie side by side, its 8 warps along the reduced dimensions. Either may split the reduced dimensions
 * over gridDim.y; the partial results, in f32 or i64, are then reduced by a second launch. */
#include "kernels/cuda/device.cuh"

template <typename V> struct limits {
  static constexpr V least = INT64_MIN, most = INT64_MAX;
};
template <> struct limits<float> {
  static constexpr float least = -INFINITY, most = INFINITY;
};

struct sum_of {
  template <typename V> ZB_DEVICE V start() const {
    return 0;
  }
  ZB_DEVICE float operator()(float a, float b) const {
    return a + b;
  }
  ZB_DEVICE int64_t operator()(int64_t a, int64_t b) const {
    return (int64_t)((uint64_t)a + (uint64_t)b);
  }
};
struct product_of {
  template <typename V> ZB_DEVICE V start() const {
    return 1;
  }
  ZB_DEVICE float operator()(float a, float b) const {
    return a * b;
  }
  ZB_DEVICE int64_t operator()(int64_t a, int64_t b) const {
    return (int64_t)((uint64_t)a * (uint64_t)b);
  }
};
struct largest_of {
  template <typename V> ZB_DEVICE V start() const {
    return limits<V>::least;
  }
  template <typename V> ZB_DEVICE V operator()(V a, V b) const {
    return b > a || b != b ? b : a;
  }
};
struct smallest_of {
  template <typename V> ZB_DEVICE V start() const {
    return limits<V>::most;
  }
  template <typename V> ZB_DEVICE V operator()(V a, V b) const {
    return b < a || b != b ? b : a;
  }
};

ZB_DEVICE void put_result(const zb_reduce_args &a, int64_t i, float value) {
  if (a.count != 0) value = (float)(value / a.count);
  if (a.accumulate) value += load_float(a.out, a.out_dtype, i);
  store_float(a.out, a.out_dtype, i, value);
}
ZB_DEVICE void put_result(const zb_reduce_args &a, int64_t i, int64_t value) {
  store_integer(a.out, a.out_dtype, i, value);
}

/* The positions of the reduced dimensions that this block takes. */
ZB_DEVICE int64_t part_begin(const zb_reduce_args &a) {
  return (int64_t)blockIdx.y * a.part;
}
ZB_DEVICE int64_t part_end(const zb_reduce_args &a) {
  int64_t end = part_begin(a) + a.part;
  return end < a.reduced ? end : a.reduced;
}

template <typename T, typename F> ZB_DEVICE void reduce_row(const zb_reduce_args &a, F f) {
  typedef typename computes<T>::type V;
  const T *in = (const T *)a.in + at(a.kept_dims, blockIdx.x);
  V total = f.template start<V>();
  int64_t end = part_end(a);
  for (int64_t r = part_begin(a) + threadIdx.x; r < end; r += ZB_REDUCE_THREADS)
    total = f(total, value_of(in[at(a.reduced_dims, r)]));
  total = over_block(total, f, zb_shared());
  if (threadIdx.x == 0) put_result(a, (int64_t)blockIdx.y * a.kept + blockIdx.x, total);
}

template <typename T, typename F> ZB_DEVICE void reduce_column(const zb_reduce_args &a, F f) {
  typedef typename computes<T>::type V;
  constexpr int LINES = ZB_REDUCE_THREADS / ZB_REDUCE_COLUMNS;
  V *sums = (V *)zb_shared();
  int column = (int)threadIdx.x % ZB_REDUCE_COLUMNS, line = (int)threadIdx.x / ZB_REDUCE_COLUMNS;
  int64_t kept = (int64_t)blockIdx.x * ZB_REDUCE_COLUMNS + column;
  V total = f.template start<V>();
  if (kept < a.kept) {
    const T *in = (const T *)a.in + at(a.kept_dims, kept);
    int64_t end = part_end(a);
    for (int64_t r = part_begin(a) + line; r < end; r += LINES)
      total = f(total, value_of(in[at(a.reduced_dims, r)]));
  }
  sums[threadIdx.x] = total;
  __syncthreads();
  if (line > 0 || kept >= a.kept) return;
  for (int i = 1; i < LINES; i++)
    total = f(total, sums[i * ZB_REDUCE_COLUMNS + column]);
  put_result(a, (int64_t)blockIdx.y * a.kept + kept, total);
}

#define ZB_REDUCE_KERNELS(name, f, suffix, T)                                                                          \
  ZB_KERNEL(zb_##name##_row_##suffix, zb_reduce_args, ZB_REDUCE_THREADS) {                                             \
    reduce_row<T>(a, f());                                                                                             \
  }                                                                                                                    \
  ZB_KERNEL(zb_##name##_column_##suffix, zb_reduce_args, ZB_REDUCE_THREADS) {                                          \
    reduce_column<T>(a, f());                                                                                          \
  }
#define ZB_REDUCE_ALL(name, f)                                                                                         \
  ZB_REDUCE_KERNELS(name, f, f32, float)                                                                               \
  ZB_REDUCE_KERNELS(name, f, bf16, bf16)                                                                               \
  ZB_REDUCE_KERNELS(name, f, f16, f16)                                                                                 \
  ZB_REDUCE_KERNELS(name, f, i64, int64_t)                                                                             \
  ZB_REDUCE_KERNELS(name, f, i32, int32_t)
ZB_REDUCE_ALL(sum, sum_of)
ZB_REDUCE_ALL(prod, product_of)
ZB_REDUCE_ALL(max, largest_of)
ZB_REDUCE_ALL(min, smallest_of)
