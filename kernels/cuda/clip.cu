/* The norm of all gradients, in f64 and in the tree of zb/ops.def: the bits are those of the CPU.
 *
 * Half a warp takes a block of 4,096 numbers, one lane of the tree a thread, so neighbouring threads read neighbouring
 * numbers. */
#include "kernels/cuda/device.cuh"

ZB_DEVICE double greater_or_nan(double a, double b) { return b > a || b != b ? b : a; }

/* The sum (or the greatest) of what value(i) gives for the elements of the block of this half warp. */
template <typename F> ZB_DEVICE void part(const zb_part_args &a, F value) {
  const int64_t block = global_thread() / ZB_PART_LANES, begin = block * ZB_PART_BLOCK;
  const int lane = (int)threadIdx.x % ZB_PART_LANES;
  int64_t end = begin + ZB_PART_BLOCK;
  double total = 0;
  if (end > a.elements) end = a.elements;
  for (int64_t i = begin + lane; i < end; i += ZB_PART_LANES)
    total = a.largest ? greater_or_nan(total, value(i)) : total + value(i);
  for (int left = ZB_PART_LANES / 2; left > 0; left /= 2) {
    double other = __shfl_xor_sync(0xffffffffu, total, left);
    total = a.largest ? greater_or_nan(total, other) : total + other;
  }
  if (lane == 0 && (begin < a.elements || block == 0)) a.out[block] = a.scale * total;
}

template <typename T> ZB_DEVICE void first_part(const zb_part_args &a) {
  part(a, [&](int64_t i) {
    double x = (double)value_of(((const T *)a.in)[at(a.dims, i)]);
    return a.largest ? fabs(x) : x * x;
  });
}
ZB_FLOAT_KERNELS(zb_part, zb_part_args, ZB_PART_THREADS, first_part)

ZB_KERNEL(zb_part_again, zb_part_args, ZB_PART_THREADS) {
  part(a, [&](int64_t i) { return ((const double *)a.in)[i]; });
}

/* In the order of parameters, by one thread: there are some hundred parts. */
ZB_KERNEL(zb_clip_scale, zb_clip_args, ZB_CLIP_THREADS) {
  if (threadIdx.x != 0) return;
  double total = 0;
  for (int64_t i = 0; i < a.count; ++i) {
    double x = a.parts[i * a.stride];
    total = a.largest ? greater_or_nan(total, x) : total + x;
  }
  double weight = a.weighted ? a.parts[(a.count + 1) * a.stride] : 1;
  double exact = (a.largest ? total : sqrt(total)) / weight, scale = *a.max_norm / (exact + 1e-6);
  float norm = weight <= 0 ? -1 : (float)exact;
  a.scaled_step[0] = (double)*a.step;
  a.scaled_step[1] = !(norm >= 0 && norm <= 3.402823466e38f) ? -1 : (scale < 1 ? scale : 1) / weight;
  *a.norm = norm;
}
