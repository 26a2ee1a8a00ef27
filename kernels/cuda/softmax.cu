/* Softmax, log-softmax and their gradients: one block a row. A row is read two or three times; it stays in the cache. */
#include "kernels/cuda/device.cuh"

template <typename T> ZB_DEVICE void softmax(const zb_softmax_args &a) {
  const T *x = (const T *)a.x + at(a.x_rows, blockIdx.x);
  T *out = (T *)a.out + at(a.out_rows, blockIdx.x);
  float largest = -INFINITY, total = 0;
  for (int64_t i = threadIdx.x; i < a.size; i += blockDim.x)
    largest = larger_value()(largest, value_of(x[at(a.x_along, i)]));
  largest = over_block(largest, larger_value(), zb_shared());
  for (int64_t i = threadIdx.x; i < a.size; i += blockDim.x)
    total += exp(value_of(x[at(a.x_along, i)]) - largest);
  total = over_block(total, add_values(), zb_shared());
  float shift = log(total);
  for (int64_t i = threadIdx.x; i < a.size; i += blockDim.x) {
    float centered = value_of(x[at(a.x_along, i)]) - largest;
    set(out[at(a.out_along, i)], a.logarithm ? centered - shift : exp(centered) / total);
  }
}

/* x is the result of the forward op. */
template <typename T> ZB_DEVICE void softmax_grad(const zb_softmax_args &a) {
  const T *x = (const T *)a.x + at(a.x_rows, blockIdx.x), *dout = (const T *)a.dout + at(a.dout_rows, blockIdx.x);
  T *out = (T *)a.out + at(a.out_rows, blockIdx.x);
  float total = 0;
  for (int64_t i = threadIdx.x; i < a.size; i += blockDim.x) {
    float d = value_of(dout[at(a.dout_along, i)]);
    total += a.logarithm ? d : d * value_of(x[at(a.x_along, i)]);
  }
  total = over_block(total, add_values(), zb_shared());
  for (int64_t i = threadIdx.x; i < a.size; i += blockDim.x) {
    float d = value_of(dout[at(a.dout_along, i)]), value = value_of(x[at(a.x_along, i)]);
    set(out[at(a.out_along, i)], a.logarithm ? d - exp(value) * total : value * (d - total));
  }
}

#define ZB_SOFTMAX_KERNELS(suffix, T)                                                                                  \
  ZB_KERNEL(zb_softmax_##suffix, zb_softmax_args, ZB_ROW_THREADS) {                                                    \
    softmax<T>(a);                                                                                                     \
  }                                                                                                                    \
  ZB_KERNEL(zb_softmax_grad_##suffix, zb_softmax_args, ZB_ROW_THREADS) {                                               \
    softmax_grad<T>(a);                                                                                                \
  }
ZB_SOFTMAX_KERNELS(f32, float)
ZB_SOFTMAX_KERNELS(bf16, bf16)
ZB_SOFTMAX_KERNELS(f16, f16)
