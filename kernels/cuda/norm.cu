/* Layer and RMS normalization: one block a row forward and for dx; dscale by columns, split over the rows of x. Statistics in f32.
 * The type T is that of x and dout; scale, bias and statistics may have another. */
#include "kernels/cuda/device.cuh"

ZB_DEVICE float side(const zb_norm_operand &o, int64_t row_offset, int64_t i) {
  return load_float(o.data, o.dtype, row_offset + at(o.along, i));
}

template <typename T> ZB_DEVICE void norm(const zb_norm_args &a) {
  int64_t row = blockIdx.x;
  const T *x = (const T *)a.x.data + at(a.x.rows, row);
  float sum = 0, squares = 0, count = (float)a.size;
  for (int64_t i = threadIdx.x; a.centered && i < a.size; i += blockDim.x)
    sum += value_of(x[at(a.x.along, i)]);
  float mean = a.centered ? over_block(sum, add_values(), zb_shared()) / count : 0;
  for (int64_t i = threadIdx.x; i < a.size; i += blockDim.x) {
    float difference = value_of(x[at(a.x.along, i)]) - mean;
    squares += difference * difference;
  }
  float rstd = 1 / sqrt(over_block(squares, add_values(), zb_shared()) / count + (float)a.epsilon);
  int64_t scale_row = at(a.scale.rows, row), bias_row = a.bias.data ? at(a.bias.rows, row) : 0;
  for (int64_t i = threadIdx.x; i < a.size; i += blockDim.x) {
    float value = (value_of(x[at(a.x.along, i)]) - mean) * rstd * side(a.scale, scale_row, i);
    store_float(a.out, a.out_dtype, row * a.size + i, a.bias.data ? value + side(a.bias, bias_row, i) : value);
  }
  if (threadIdx.x > 0) return;
  if (a.mean) store_float(a.mean, a.mean_dtype, row, mean);
  store_float(a.rstd, a.rstd_dtype, row, rstd);
}

/* With h = x normalized and g = dout * scale: dx = rstd * (g - mean(g) - h * mean(g * h)) + residual; RMS has no mean(g). */
template <typename T> ZB_DEVICE void norm_grad_x(const zb_norm_args &a) {
  int64_t row = blockIdx.x;
  const T *x = (const T *)a.x.data + at(a.x.rows, row), *dout = (const T *)a.dout.data + at(a.dout.rows, row);
  int64_t scale_row = at(a.scale.rows, row), residual_row = a.residual.data ? at(a.residual.rows, row) : 0;
  float rstd = load_float(a.saved_rstd.data, a.saved_rstd.dtype, at(a.saved_rstd.rows, row));
  float mean = a.centered ? load_float(a.saved_mean.data, a.saved_mean.dtype, at(a.saved_mean.rows, row)) : 0;
  float sum = 0, product = 0, count = (float)a.size;
  for (int64_t i = threadIdx.x; i < a.size; i += blockDim.x) {
    float g = value_of(dout[at(a.dout.along, i)]) * side(a.scale, scale_row, i);
    sum += g;
    product += g * ((value_of(x[at(a.x.along, i)]) - mean) * rstd);
  }
  sum = a.centered ? over_block(sum, add_values(), zb_shared()) / count : 0;
  product = over_block(product, add_values(), zb_shared()) / count;
  for (int64_t i = threadIdx.x; i < a.size; i += blockDim.x) {
    float g = value_of(dout[at(a.dout.along, i)]) * side(a.scale, scale_row, i);
    float h = (value_of(x[at(a.x.along, i)]) - mean) * rstd;
    float dx = rstd * (g - sum - h * product);
    store_float(a.out, a.out_dtype, row * a.size + i, a.residual.data ? dx + side(a.residual, residual_row, i) : dx);
  }
}

/* Partial sums over the rows of one split: out[split][size] += dout * h, in f32. */
template <typename T> ZB_DEVICE void norm_grad_scale(const zb_norm_args &a) {
  constexpr int LINES = ZB_ROW_THREADS / 32;
  float *sums = (float *)zb_shared(), total = 0;
  int column = (int)threadIdx.x % 32, line = (int)threadIdx.x / 32;
  int64_t i = (int64_t)blockIdx.x * 32 + column, begin = (int64_t)blockIdx.y * a.part;
  int64_t end = begin + a.part < a.rows ? begin + a.part : a.rows;
  if (i < a.size) {
    const T *x = (const T *)a.x.data + at(a.x.along, i), *dout = (const T *)a.dout.data + at(a.dout.along, i);
    for (int64_t row = begin + line; row < end; row += LINES) {
      float rstd = load_float(a.saved_rstd.data, a.saved_rstd.dtype, at(a.saved_rstd.rows, row));
      float mean = a.centered ? load_float(a.saved_mean.data, a.saved_mean.dtype, at(a.saved_mean.rows, row)) : 0;
      total += value_of(dout[at(a.dout.rows, row)]) * ((value_of(x[at(a.x.rows, row)]) - mean) * rstd);
    }
  }
  sums[threadIdx.x] = total;
  __syncthreads();
  if (line > 0 || i >= a.size) return;
  for (int k = 1; k < LINES; k++)
    total += sums[k * 32 + column];
  ((float *)a.out)[(int64_t)blockIdx.y * a.size + i] = total;
}

#define ZB_NORM_KERNELS(suffix, T)                                                                                     \
  ZB_KERNEL(zb_norm_##suffix, zb_norm_args, ZB_ROW_THREADS) {                                                          \
    norm<T>(a);                                                                                                        \
  }                                                                                                                    \
  ZB_KERNEL(zb_norm_grad_x_##suffix, zb_norm_args, ZB_ROW_THREADS) {                                                   \
    norm_grad_x<T>(a);                                                                                                 \
  }                                                                                                                    \
  ZB_KERNEL(zb_norm_grad_scale_##suffix, zb_norm_args, ZB_ROW_THREADS) {                                               \
    norm_grad_scale<T>(a);                                                                                             \
  }
ZB_NORM_KERNELS(f32, float)
ZB_NORM_KERNELS(bf16, bf16)
ZB_NORM_KERNELS(f16, f16)
