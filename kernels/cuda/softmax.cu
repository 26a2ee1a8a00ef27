/* Softmax, log-softmax and their gradients: one block a row, 16 bytes a thread at a time. A row is read twice; it stays
 * in the cache. */
#include "kernels/cuda/device.cuh"

template <typename T, int N>
ZB_DEVICE void store_row(T *row, const zb_softmax_args &a, int64_t first, const float (&from)[N]) {
  if (a.out.dense) return store_dense(row + first, from);
  for (int i = 0; i < N; ++i)
    if (first + i < a.size) set(row[at(a.out.along, first + i)], from[i]);
}

template <typename T> ZB_DEVICE void softmax(const zb_softmax_args &a) {
  constexpr int N = 16 / sizeof(T);
  const T *row = (const T *)a.x.data + at(a.x.rows, blockIdx.x);
  T *out = (T *)a.out.data + at(a.out.rows, blockIdx.x);
  int64_t begin = (int64_t)threadIdx.x * N, step = (int64_t)blockDim.x * N;
  exponential_sum sum = {-INFINITY, 0};
  float x[N];
  for (int64_t first = begin; first < a.size; first += step) {
    load_row(row, a.x.along, a.x.dense, first, a.size, -INFINITY, x);
    sum.add(x);
  }
  sum.over_threads(zb_shared());
  bool nothing = sum.largest == -INFINITY && !a.logarithm; /* a row that sees nothing */
  float shift = log(sum.total), factor = 1 / sum.total;
  for (int64_t first = begin; first < a.size; first += step) {
    load_row(row, a.x.along, a.x.dense, first, a.size, -INFINITY, x);
    for (int i = 0; i < N; ++i) {
      float centered = x[i] - sum.largest;
      x[i] = nothing ? 0 : a.logarithm ? centered - shift : exp(centered) * factor;
    }
    store_row(out, a, first, x);
  }
}

/* x is the result of the forward op. */
template <typename T> ZB_DEVICE void softmax_grad(const zb_softmax_args &a) {
  constexpr int N = 16 / sizeof(T);
  const T *row = (const T *)a.x.data + at(a.x.rows, blockIdx.x),
          *dout = (const T *)a.dout.data + at(a.dout.rows, blockIdx.x);
  T *out = (T *)a.out.data + at(a.out.rows, blockIdx.x);
  int64_t begin = (int64_t)threadIdx.x * N, step = (int64_t)blockDim.x * N;
  float total = 0, x[N], d[N];
  for (int64_t first = begin; first < a.size; first += step) {
    load_row(dout, a.dout.along, a.dout.dense, first, a.size, 0, d);
    if (!a.logarithm) load_row(row, a.x.along, a.x.dense, first, a.size, 0, x);
    for (int i = 0; i < N; ++i)
      total += a.logarithm ? d[i] : d[i] * x[i];
  }
  total = over_block(total, add_values(), zb_shared());
  for (int64_t first = begin; first < a.size; first += step) {
    load_row(dout, a.dout.along, a.dout.dense, first, a.size, 0, d);
    load_row(row, a.x.along, a.x.dense, first, a.size, 0, x);
    for (int i = 0; i < N; ++i)
      x[i] = a.logarithm ? d[i] - exp(x[i]) * total : x[i] * (d[i] - total);
    store_row(out, a, first, x);
  }
}

ZB_FLOAT_KERNELS(zb_softmax, zb_softmax_args, ZB_ROW_THREADS, softmax)
ZB_FLOAT_KERNELS(zb_softmax_grad, zb_softmax_args, ZB_ROW_THREADS, softmax_grad)
