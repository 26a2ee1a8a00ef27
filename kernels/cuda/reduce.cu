/* Reductions: sums, products, extremes over some dimensions, in f32 or int64_t.
 *
 * Two shapes of work. Rows: a block reduces one result, its threads side by side along the reduced dimensions. Columns:
 * a block reduces neighbouring results, 16 bytes of them or one a thread of a warp, its 8 warps along the reduced
 * dimensions. Either may split the reduced dimensions over gridDim.y; the partial results, in f32 or i64, are then
 * reduced by a second launch. */
#include "kernels/cuda/device.cuh"

template <typename V> struct limits {
  static constexpr V least = INT64_MIN, most = INT64_MAX;
};
template <> struct limits<float> {
  static constexpr float least = -INFINITY, most = INFINITY;
};

struct sum_of {
  template <typename V> ZB_DEVICE V start() const { return 0; }
  ZB_DEVICE float operator()(float a, float b) const { return a + b; }
  ZB_DEVICE int64_t operator()(int64_t a, int64_t b) const { return (int64_t)((uint64_t)a + (uint64_t)b); }
};
struct product_of {
  template <typename V> ZB_DEVICE V start() const { return 1; }
  ZB_DEVICE float operator()(float a, float b) const { return a * b; }
  ZB_DEVICE int64_t operator()(int64_t a, int64_t b) const { return (int64_t)((uint64_t)a * (uint64_t)b); }
};
struct largest_of {
  template <typename V> ZB_DEVICE V start() const { return limits<V>::least; }
  template <typename V> ZB_DEVICE V operator()(V a, V b) const { return b > a || b != b ? b : a; }
};
struct smallest_of {
  template <typename V> ZB_DEVICE V start() const { return limits<V>::most; }
  template <typename V> ZB_DEVICE V operator()(V a, V b) const { return b < a || b != b ? b : a; }
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
ZB_DEVICE int64_t part_begin(const zb_reduce_args &a) { return (int64_t)blockIdx.y * a.part; }
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

/* N neighbouring results a thread. The order in which a result is combined is the same for every N. */
template <typename T, int N, typename F> ZB_DEVICE void reduce_columns(const zb_reduce_args &a, F f) {
  typedef typename computes<T>::type V;
  constexpr int LINES = ZB_REDUCE_THREADS / 32, COLUMNS = 32 * N, AHEAD = N > 1 ? 4 : 1;
  V *sums = (V *)zb_shared(), total[N];
  int lane = (int)threadIdx.x % 32, line = (int)threadIdx.x / 32;
  int64_t first = (int64_t)blockIdx.x * COLUMNS, kept = first + lane * N, end = part_end(a), r = part_begin(a) + line;
  for (int n = 0; n < N; ++n)
    total[n] = f.template start<V>();
  if (kept < a.kept) { /* of N > 1, all N are there */
    const T *in = (const T *)a.in + at(a.kept_dims, kept);
    int64_t step = a.reduced_dims.stride[0];
    for (; N > 1 && r + (AHEAD - 1) * LINES < end; r += AHEAD * LINES) { /* several loads under way */
      pack<T, N> x[AHEAD];
      for (int k = 0; k < AHEAD; ++k)
        x[k] = *(const pack<T, N> *)(in + (r + k * LINES) * step);
      for (int k = 0; k < AHEAD; ++k)
        for (int n = 0; n < N; ++n)
          total[n] = f(total[n], value_of(x[k].v[n]));
    }
    for (; r < end; r += LINES) {
      pack<T, N> x = *(const pack<T, N> *)(in + (N > 1 ? r * step : at(a.reduced_dims, r)));
      for (int n = 0; n < N; ++n)
        total[n] = f(total[n], value_of(x.v[n]));
    }
  }
  for (int n = 0; n < N; ++n)
    sums[line * COLUMNS + lane * N + n] = total[n];
  __syncthreads();
  for (int c = (int)threadIdx.x; c < COLUMNS && first + c < a.kept; c += ZB_REDUCE_THREADS) {
    V value = sums[c];
    for (int i = 1; i < LINES; ++i)
      value = f(value, sums[i * COLUMNS + c]);
    put_result(a, (int64_t)blockIdx.y * a.kept + first + c, value);
  }
}

template <typename T, typename F> ZB_DEVICE void reduce_column(const zb_reduce_args &a, F f) {
  if (a.dense)
    reduce_columns<T, 16 / sizeof(T)>(a, f);
  else
    reduce_columns<T, 1>(a, f);
}

#define ZB_REDUCE_KERNELS(name, f, suffix, T)                                                                          \
  ZB_KERNEL(zb_##name##_row_##suffix, zb_reduce_args, ZB_REDUCE_THREADS) { reduce_row<T>(a, f()); }                    \
  ZB_KERNEL(zb_##name##_column_##suffix, zb_reduce_args, ZB_REDUCE_THREADS) { reduce_column<T>(a, f()); }
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
