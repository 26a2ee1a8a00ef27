/* Layer and RMS normalization: one block a row forward and for dx, 16 bytes of x a thread at a time; dscale by columns,
 * split over the rows of x. Statistics in f32. The type T is that of x and dout; scale, bias and statistics may have
 * another. Rows in f32 of up to 4,096 elements have kernels of their own (kept), of the same bits. */
#include "kernels/cuda/device.cuh"

/* Elements `first` and on of a row, in f32; 0 beyond the row. */
template <int N>
ZB_DEVICE void load_side(const zb_row_operand &o, int64_t row_offset, int64_t first, int count, float (&to)[N]) {
  if (o.dense) return load_dense_of(o.data, o.dtype, row_offset + first, to);
  for (int i = 0; i < N; ++i)
    to[i] = i < count ? load_float(o.data, o.dtype, row_offset + at(o.along, first + i)) : 0;
}
template <int N>
ZB_DEVICE void store_group(void *to, int dtype, int dense, int64_t first, int count, const float (&from)[N]) {
  if (dense) return store_dense_of(to, dtype, first, from);
  for (int i = 0; i < N; ++i)
    if (i < count) store_float(to, dtype, first + i, from[i]);
}
template <int N> ZB_DEVICE void store_row(const zb_norm_args &a, int64_t first, int count, const float (&from)[N]) {
  store_group(a.out, a.out_dtype, a.dense_out, first, count, from);
  if (a.narrow) store_group(a.narrow, a.narrow_dtype, a.dense_narrow, first, count, from);
}

/* A row that one group a thread covers is read once. */
template <typename T> ZB_DEVICE void norm(const zb_norm_args &a) {
  constexpr int N = 16 / sizeof(T);
  int64_t row = blockIdx.x, begin = (int64_t)threadIdx.x * N, step = (int64_t)blockDim.x * N;
  const T *from = (const T *)a.x.data + at(a.x.rows, row);
  bool again = a.size > step;
  float x[N] = {}, sum = 0, squares = 0, mean = 0, count = (float)a.size;
  for (int64_t first = begin; first < a.size; first += step) {
    load_row(from, a.x.along, a.x.dense, first, a.size, 0, x);
    for (int i = 0; i < N; ++i)
      sum += x[i];
  }
  if (a.centered) mean = over_block(sum, add_values(), zb_shared()) / count;
  for (int64_t first = begin; first < a.size; first += step) {
    int there = count_before(first, a.size, N);
    if (again) load_row(from, a.x.along, a.x.dense, first, a.size, 0, x);
    for (int i = 0; i < N; ++i)
      if (i < there) squares += (x[i] - mean) * (x[i] - mean);
  }
  float rstd = 1 / sqrt(over_block(squares, add_values(), zb_shared()) / count + (float)a.epsilon);
  int64_t scale_row = at(a.scale.rows, row), bias_row = a.bias.data ? at(a.bias.rows, row) : 0;
  for (int64_t first = begin; first < a.size; first += step) {
    int there = count_before(first, a.size, N);
    float scale[N], bias[N] = {}, out[N];
    if (again) load_row(from, a.x.along, a.x.dense, first, a.size, 0, x);
    load_side(a.scale, scale_row, first, there, scale);
    if (a.bias.data) load_side(a.bias, bias_row, first, there, bias);
    for (int i = 0; i < N; ++i) {
      float value = (x[i] - mean) * rstd * scale[i];
      out[i] = a.bias.data ? value + bias[i] : value;
    }
    store_row(a, row * a.size + first, there, out);
  }
  if (threadIdx.x > 0) return;
  if (a.mean) store_float(a.mean, a.mean_dtype, row, mean);
  store_float(a.rstd, a.rstd_dtype, row, rstd);
}

/* With h = x normalized and g = dout * scale: dx = rstd * (g - mean(g) - h * mean(g * h)) + residual; RMS has no
 * mean(g). */
template <typename T> ZB_DEVICE void norm_grad_x(const zb_norm_args &a) {
  constexpr int N = 16 / sizeof(T);
  int64_t row = blockIdx.x, begin = (int64_t)threadIdx.x * N, step = (int64_t)blockDim.x * N;
  const T *x = (const T *)a.x.data + at(a.x.rows, row), *dout = (const T *)a.dout.data + at(a.dout.rows, row);
  int64_t scale_row = at(a.scale.rows, row), residual_row = a.residual.data ? at(a.residual.rows, row) : 0;
  float rstd = load_float(a.saved_rstd.data, a.saved_rstd.dtype, at(a.saved_rstd.rows, row));
  float mean = a.centered ? load_float(a.saved_mean.data, a.saved_mean.dtype, at(a.saved_mean.rows, row)) : 0;
  bool again = a.size > step;
  float g[N] = {}, h[N] = {}, scale[N], sum = 0, product = 0, count = (float)a.size;
  auto load = [&](int64_t first, int there) {
    load_row(x, a.x.along, a.x.dense, first, a.size, 0, h);
    load_row(dout, a.dout.along, a.dout.dense, first, a.size, 0, g);
    load_side(a.scale, scale_row, first, there, scale);
    for (int i = 0; i < N; ++i) {
      g[i] *= scale[i];
      h[i] = (h[i] - mean) * rstd;
    }
  };
  for (int64_t first = begin; first < a.size; first += step) {
    load(first, count_before(first, a.size, N));
    for (int i = 0; i < N; ++i) { /* beyond the row g is 0 */
      sum += g[i];
      product += g[i] * h[i];
    }
  }
  sum = a.centered ? over_block(sum, add_values(), zb_shared()) / count : 0;
  product = over_block(product, add_values(), zb_shared()) / count;
  for (int64_t first = begin; first < a.size; first += step) {
    int there = count_before(first, a.size, N);
    float residual[N] = {}, out[N];
    if (again) load(first, there);
    if (a.residual.data) load_side(a.residual, residual_row, first, there, residual);
    for (int i = 0; i < N; ++i) {
      float dx = rstd * (g[i] - sum - h[i] * product);
      out[i] = a.residual.data ? dx + residual[i] : dx;
    }
    store_row(a, row * a.size + first, there, out);
  }
}

/* ---- Rows that stay in registers: all operands and results in f32, in groups, rows at one stride (norm_kernel in
 * rows.c). The same sums in the same order as above, so the same bits; without the other types and strides a thread
 * needs half the registers, and a row is read once. ---- */

/* body(k, first) for each of the at most GROUPS groups of this thread; more than one only in a block of all threads. */
template <int GROUPS, typename F> ZB_DEVICE void over_groups(const zb_norm_args &a, F body) {
  ZB_UNROLL
  for (int k = 0; k < GROUPS; ++k) {
    int first = ((int)threadIdx.x + k * ZB_ROW_THREADS) * 4;
    if (first < (int)a.size) body(k, first);
  }
}
ZB_DEVICE const float *kept_row(const zb_row_operand &o) {
  return (const float *)o.data + (int64_t)blockIdx.x * o.rows.stride[0];
}
ZB_DEVICE void store_kept(const zb_norm_args &a, int first, const float (&from)[4]) {
  int64_t to = (int64_t)blockIdx.x * a.size + first;
  store_dense((float *)a.out + to, from);
  if (a.narrow) store_dense_of(a.narrow, a.narrow_dtype, to, from);
}

template <int GROUPS> ZB_DEVICE void norm_kept(const zb_norm_args &a) {
  const float *from = kept_row(a.x), *scale_row = kept_row(a.scale), *bias_row = kept_row(a.bias);
  float x[GROUPS][4] = {}, sum = 0, squares = 0, mean = 0, count = (float)a.size;
  over_groups<GROUPS>(a, [&](int k, int first) { load_dense(from + first, x[k]); });
  if (a.centered) {
    over_groups<GROUPS>(a, [&](int k, int) {
      for (int i = 0; i < 4; ++i)
        sum += x[k][i];
    });
    mean = over_block(sum, add_values(), zb_shared()) / count;
  }
  over_groups<GROUPS>(a, [&](int k, int) {
    for (int i = 0; i < 4; ++i)
      squares += (x[k][i] - mean) * (x[k][i] - mean);
  });
  float rstd = 1 / sqrt(over_block(squares, add_values(), zb_shared()) / count + (float)a.epsilon);
  over_groups<GROUPS>(a, [&](int k, int first) {
    float scale[4], bias[4] = {}, out[4];
    load_dense(scale_row + first, scale);
    if (a.bias.data) load_dense(bias_row + first, bias);
    for (int i = 0; i < 4; ++i) {
      float value = (x[k][i] - mean) * rstd * scale[i];
      out[i] = a.bias.data ? value + bias[i] : value;
    }
    store_kept(a, first, out);
  });
  if (threadIdx.x > 0) return;
  if (a.mean) ((float *)a.mean)[blockIdx.x] = mean;
  ((float *)a.rstd)[blockIdx.x] = rstd;
}

template <int GROUPS> ZB_DEVICE void norm_grad_x_kept(const zb_norm_args &a) {
  const float *x = kept_row(a.x), *dout = kept_row(a.dout), *scale_row = kept_row(a.scale);
  const float *residual_row = kept_row(a.residual);
  float rstd = *kept_row(a.saved_rstd), mean = a.centered ? *kept_row(a.saved_mean) : 0;
  float g[GROUPS][4] = {}, h[GROUPS][4] = {}, sum = 0, product = 0, count = (float)a.size;
  over_groups<GROUPS>(a, [&](int k, int first) {
    load_dense(x + first, h[k]);
    load_dense(dout + first, g[k]);
  });
  over_groups<GROUPS>(a, [&](int k, int first) {
    float scale[4];
    load_dense(scale_row + first, scale);
    for (int i = 0; i < 4; ++i) {
      g[k][i] *= scale[i];
      h[k][i] = (h[k][i] - mean) * rstd;
      sum += g[k][i];
      product += g[k][i] * h[k][i];
    }
  });
  sum = a.centered ? over_block(sum, add_values(), zb_shared()) / count : 0;
  product = over_block(product, add_values(), zb_shared()) / count;
  over_groups<GROUPS>(a, [&](int k, int first) {
    float residual[4] = {}, out[4];
    if (a.residual.data) load_dense(residual_row + first, residual);
    for (int i = 0; i < 4; ++i) {
      float dx = rstd * (g[k][i] - sum - h[k][i] * product);
      out[i] = a.residual.data ? dx + residual[i] : dx;
    }
    store_kept(a, first, out);
  });
}

/* Partial sums over the rows of one split: out[split][size] += dout * h, in f32; a thread has a group of columns. The
 * order of a sum does not depend on whether rows are read in groups. */
template <typename T> ZB_DEVICE void norm_grad_scale(const zb_norm_args &a) {
  constexpr int N = 16 / sizeof(T), LINES = ZB_ROW_THREADS / 32, COLUMNS = 32 * N, AHEAD = 4;
  float *sums = (float *)zb_shared(), total[N] = {};
  int lane = (int)threadIdx.x % 32, line = (int)threadIdx.x / 32;
  int64_t column = (int64_t)blockIdx.x * COLUMNS, i = column + lane * N, row = (int64_t)blockIdx.y * a.part + line;
  int64_t end = ((int64_t)blockIdx.y + 1) * a.part < a.rows ? ((int64_t)blockIdx.y + 1) * a.part : a.rows;
  const T *x = (const T *)a.x.data, *dout = (const T *)a.dout.data;
  if (i < a.size && a.plain) {
    const float *rstd = (const float *)a.saved_rstd.data, *mean = (const float *)a.saved_mean.data;
    int64_t x_step = a.x.rows.stride[0], dout_step = a.dout.rows.stride[0];
    int64_t rstd_step = a.saved_rstd.rows.stride[0], mean_step = a.saved_mean.rows.stride[0];
    for (; row + (AHEAD - 1) * LINES < end; row += AHEAD * LINES) { /* several loads under way */
      pack<T, N> d[AHEAD], h[AHEAD];
      float r[AHEAD], m[AHEAD];
      for (int k = 0; k < AHEAD; ++k) {
        int64_t at_row = row + k * LINES;
        h[k] = *(const pack<T, N> *)(x + at_row * x_step + i);
        d[k] = *(const pack<T, N> *)(dout + at_row * dout_step + i);
        r[k] = rstd[at_row * rstd_step];
        m[k] = a.centered ? mean[at_row * mean_step] : 0;
      }
      for (int k = 0; k < AHEAD; ++k)
        for (int n = 0; n < N; ++n)
          total[n] += value_of(d[k].v[n]) * ((value_of(h[k].v[n]) - m[k]) * r[k]);
    }
  }
  for (; i < a.size && row < end; row += LINES) {
    float d[N], h[N];
    float rstd = load_float(a.saved_rstd.data, a.saved_rstd.dtype, at(a.saved_rstd.rows, row));
    float mean = a.centered ? load_float(a.saved_mean.data, a.saved_mean.dtype, at(a.saved_mean.rows, row)) : 0;
    load_row(x + at(a.x.rows, row), a.x.along, a.x.dense, i, a.size, 0, h);
    load_row(dout + at(a.dout.rows, row), a.dout.along, a.dout.dense, i, a.size, 0, d);
    for (int n = 0; n < N; ++n)
      total[n] += d[n] * ((h[n] - mean) * rstd);
  }
  for (int n = 0; n < N; ++n)
    sums[line * COLUMNS + lane * N + n] = total[n];
  __syncthreads();
  for (int c = (int)threadIdx.x; c < COLUMNS && column + c < a.size; c += ZB_ROW_THREADS) {
    float value = sums[c];
    for (int k = 1; k < LINES; ++k)
      value += sums[k * COLUMNS + c];
    ((float *)a.out)[(int64_t)blockIdx.y * a.size + column + c] = value;
  }
}

ZB_FLOAT_KERNELS(zb_norm, zb_norm_args, ZB_ROW_THREADS, norm)
ZB_FLOAT_KERNELS(zb_norm_grad_x, zb_norm_args, ZB_ROW_THREADS, norm_grad_x)
ZB_FLOAT_KERNELS(zb_norm_grad_scale, zb_norm_args, ZB_ROW_THREADS, norm_grad_scale)
ZB_KERNEL(zb_norm_kept_1, zb_norm_args, ZB_ROW_THREADS) { norm_kept<1>(a); }
ZB_KERNEL(zb_norm_kept_4, zb_norm_args, ZB_ROW_THREADS) { norm_kept<4>(a); }
ZB_KERNEL(zb_norm_grad_x_kept_1, zb_norm_args, ZB_ROW_THREADS) { norm_grad_x_kept<1>(a); }
ZB_KERNEL(zb_norm_grad_x_kept_4, zb_norm_args, ZB_ROW_THREADS) { norm_grad_x_kept<4>(a); }
