/* Rotary embedding and its gradient: a thread turns 16 bytes of the first half of a row with those of the second. The tables are small and
 * stay in the cache: their type is a branch. */
#include "kernels/cuda/device.cuh"

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
  float sign = a.back ? -1.0f : 1.0f;
  for (int i = 0; i < N; i++) {
    if (i >= count) break;
    int64_t c = cos + i * a.cos_step, s = sin + i * a.sin_step;
    float u = value_of(one[i]), v = value_of(two[i]);
    set(one[i], u * load_float(a.cos, a.table_dtype, c) - v * (sign * load_float(a.sin, a.table_dtype, s + near)));
    set(two[i], v * load_float(a.cos, a.table_dtype, c + cos_half) + u * (sign * load_float(a.sin, a.table_dtype, s + far)));
  }
  T *out = (T *)a.out + row * 2 * a.half + first;
  store_part(out, dense, count, one);
  store_part(out + a.half, dense, count, two);
}

ZB_KERNEL(zb_rotary_f32, zb_rotary_args, ZB_MAP_THREADS) {
  rotary<float>(a);
}
ZB_KERNEL(zb_rotary_bf16, zb_rotary_args, ZB_MAP_THREADS) {
  rotary<bf16>(a);
}
ZB_KERNEL(zb_rotary_f16, zb_rotary_args, ZB_MAP_THREADS) {
  rotary<f16>(a);
}
