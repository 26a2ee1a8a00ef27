/* Rotary embedding and its gradient: a thread turns 16 bytes of the first half of a row with those of the second. The
 * tables are small and stay in the cache: their type is a branch. */
#include "kernels/cuda/device.cuh"

template <int N>
ZB_DEVICE void load_table(const zb_rotary_args &a, const void *table, int64_t first, int64_t step, int count,
                          float (&to)[N]) {
  if (count == N && a.table_group == ZB_GROUP_DENSE) return load_dense_of(table, a.table_dtype, first, to);
  for (int i = 0; i < N; ++i)
    to[i] = i < count ? load_float(table, a.table_dtype, first + i * step) : 0;
}

template <typename T> ZB_DEVICE void rotary(const zb_rotary_args &a) {
  constexpr int N = 16 / sizeof(T);
  int64_t thread = global_thread(), row = thread / a.row_groups, first = (thread - row * a.row_groups) * N;
  if (row >= a.rows) return;
  int count = count_before(first, a.half, N), dense = a.group == ZB_GROUP_DENSE;
  const T *x = (const T *)a.x + at(a.x_rows, row) + first * a.x_step;
  int64_t cos = at(a.cos_rows, row) + first * a.cos_step, sin = at(a.sin_rows, row) + first * a.sin_step;
  int64_t cos_half = a.half * a.cos_step, near = a.back ? a.half * a.sin_step : 0, far = a.half * a.sin_step - near;
  T one[N], two[N];
  load_part(x, a.x_step, dense, count, one);
  load_part(x + a.half * a.x_step, a.x_step, dense, count, two);
  float sign = a.back ? -1.0f : 1.0f, cos_one[N], cos_two[N], sin_one[N], sin_two[N];
  load_table(a, a.cos, cos, a.cos_step, count, cos_one);
  load_table(a, a.cos, cos + cos_half, a.cos_step, count, cos_two);
  load_table(a, a.sin, sin + near, a.sin_step, count, sin_one);
  load_table(a, a.sin, sin + far, a.sin_step, count, sin_two);
  for (int i = 0; i < N; ++i) {
    if (i >= count) break;
    float u = value_of(one[i]), v = value_of(two[i]);
    set(one[i], u * cos_one[i] - v * (sign * sin_one[i]));
    set(two[i], v * cos_two[i] + u * (sign * sin_two[i]));
  }
  T *out = (T *)a.out + row * 2 * a.half + first;
  store_part(out, dense, count, one);
  store_part(out + a.half, dense, count, two);
}

ZB_FLOAT_KERNELS(zb_rotary, zb_rotary_args, ZB_MAP_THREADS, rotary)
