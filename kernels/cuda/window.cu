/* Convolutions, their gradients, and the places of maxima, from where they lie: a thread an element of the result, of
 * the gradient for the weight a block. Sums are made of sums of channels, or of threads in the order of a fixed tree.
 */
#include "kernels/cuda/device.cuh"

/* Position `at` in three sizes. */
struct position {
  int64_t p[ZB_WINDOW_SPATIAL];
};
ZB_DEVICE position position_of(int64_t at, int64_t second, int64_t third) {
  return {{at / third / second, at / third % second, at % third}};
}
ZB_DEVICE int64_t offset_of(const int64_t (&strides)[5], int64_t first, int64_t second, const position &x) {
  return first * strides[0] + second * strides[1] + x.p[0] * strides[2] + x.p[1] * strides[3] + x.p[2] * strides[4];
}

/* Where element k of window o reads; false: outside. */
ZB_DEVICE bool place_in(const zb_window_args &a, const position &o, const position &k, position *place) {
  for (int i = 0; i < ZB_WINDOW_SPATIAL; ++i) {
    place->p[i] = o.p[i] * a.d[i].stride - a.d[i].before + k.p[i] * a.d[i].dilation;
    if (place->p[i] < 0 || place->p[i] >= a.d[i].in) return false;
  }
  return true;
}

/* The window whose element k reads that place; false: there is none. */
ZB_DEVICE bool window_at(const zb_window_args &a, const position &place, const position &k, position *o) {
  for (int i = 0; i < ZB_WINDOW_SPATIAL; ++i) {
    int64_t start = place.p[i] + a.d[i].before - k.p[i] * a.d[i].dilation;
    o->p[i] = start / a.d[i].stride;
    if (start < 0 || start % a.d[i].stride != 0 || o->p[i] >= a.d[i].out) return false;
  }
  return true;
}

ZB_DEVICE int64_t kernel_size(const zb_window_args &a) { return a.d[0].kernel * a.d[1].kernel * a.d[2].kernel; }
ZB_DEVICE position kernel_at(const zb_window_args &a, int64_t k) {
  return position_of(k, a.d[1].kernel, a.d[2].kernel);
}

template <typename T> ZB_DEVICE void conv(const zb_window_args &a) {
  int64_t i = global_thread(), windows = a.d[0].out * a.d[1].out * a.d[2].out, filters = a.groups * a.filters;
  if (i >= a.elements) return;
  int64_t n = i / windows / filters, f = i / windows % filters, size = kernel_size(a);
  position o = position_of(i % windows, a.d[1].out, a.d[2].out), place;
  float total = 0;
  for (int64_t c = 0; c < a.channels; ++c) {
    float sum = 0;
    for (int64_t number = 0; number < size; ++number) {
      position k = kernel_at(a, number);
      if (!place_in(a, o, k, &place)) continue;
      sum += value_of(((const T *)a.images)[offset_of(a.image_strides, n, f / a.filters * a.channels + c, place)]) *
             value_of(((const T *)a.weight)[offset_of(a.weight_strides, f, c, k)]);
    }
    total += sum;
  }
  set(((T *)a.made)[i], total);
}

template <typename T> ZB_DEVICE void conv_transpose(const zb_window_args &a) {
  int64_t i = global_thread(), size = kernel_size(a), places = a.d[0].in * a.d[1].in * a.d[2].in;
  if (i >= a.elements) return;
  int64_t n = i / places / (a.groups * a.channels), c = i / places % (a.groups * a.channels);
  int64_t first = c / a.channels * a.filters;
  position place = position_of(i % places, a.d[1].in, a.d[2].in), o;
  float total = 0;
  for (int64_t f = first; f < first + a.filters; ++f) {
    float sum = 0;
    for (int64_t number = 0; number < size; ++number) {
      position k = kernel_at(a, number);
      if (!window_at(a, place, k, &o)) continue;
      sum += value_of(((const T *)a.results)[offset_of(a.result_strides, n, f, o)]) *
             value_of(((const T *)a.weight)[offset_of(a.weight_strides, f, c % a.channels, k)]);
    }
    total += sum;
  }
  set(((T *)a.made)[i], total);
}

/* A thread adds every ZB_WINDOW_THREADS-th line of windows. */
template <typename T> ZB_DEVICE void conv_weight(const zb_window_args &a) {
  int64_t i = blockIdx.x, size = kernel_size(a), f = i / size / a.channels, c = i / size % a.channels;
  int64_t lines = a.d[0].out * a.d[1].out, channel = f / a.filters * a.channels + c;
  position k = kernel_at(a, i % size), place;
  float total = 0;
  for (int64_t line = threadIdx.x; line < a.batch * lines; line += blockDim.x) {
    int64_t n = line / lines;
    position o = position_of(line % lines, a.d[1].out, 1);
    float sum = 0;
    for (o.p[2] = 0; o.p[2] < a.d[2].out; ++o.p[2]) {
      if (!place_in(a, o, k, &place)) continue;
      sum += value_of(((const T *)a.images)[offset_of(a.image_strides, n, channel, place)]) *
             value_of(((const T *)a.results)[offset_of(a.result_strides, n, f, o)]);
    }
    total += sum;
  }
  total = over_block(total, add_values(), zb_shared());
  if (threadIdx.x != 0) return;
  if (a.accumulate) total += load_float(a.made, a.made_dtype, i);
  store_float(a.made, a.made_dtype, i, total);
}

template <typename T> ZB_DEVICE void max_place(const zb_window_args &a) {
  int64_t i = global_thread(), windows = a.d[0].out * a.d[1].out * a.d[2].out, size = kernel_size(a);
  if (i >= a.elements) return;
  const T *image = (const T *)a.images + at(a.image_dims, i / windows);
  position o = position_of(i % windows, a.d[1].out, a.d[2].out), place;
  float greatest = 0;
  int64_t found = -1;
  for (int64_t number = 0; number < size; ++number) {
    if (!place_in(a, o, kernel_at(a, number), &place)) continue;
    float value = value_of(image[offset_of(a.image_strides, 0, 0, place)]);
    if (found >= 0 && !(value > greatest) && value == value) continue;
    greatest = value;
    found = (place.p[0] * a.d[1].in + place.p[1]) * a.d[2].in + place.p[2];
  }
  ((int32_t *)a.made)[i] = (int32_t)found;
}

ZB_FLOAT_KERNELS(zb_conv, zb_window_args, ZB_WINDOW_THREADS, conv)
ZB_FLOAT_KERNELS(zb_conv_transpose, zb_window_args, ZB_WINDOW_THREADS, conv_transpose)
ZB_FLOAT_KERNELS(zb_conv_weight, zb_window_args, ZB_WINDOW_THREADS, conv_weight)
ZB_FLOAT_KERNELS(zb_max_place, zb_window_args, ZB_WINDOW_THREADS, max_place)
