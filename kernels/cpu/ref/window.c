/* Convolutions, their gradients, and the places of maxima, element by element. */
#include "kernels/cpu/ref/ref.h"
#include "kernels/window.h"

#include <math.h>

static const char *check_types(const zb_kernel_call *call, bool accumulates) {
  ZB_REF_TRY(zb_ref_check(call, 2, 1, accumulates));
  const zb_dtype dtype = call->inputs[0].dtype;
  if (!zb_dtype_is_float(dtype) || call->inputs[1].dtype != dtype) return ZB_REF_BAD_TYPE;
  return accumulates || call->outputs[0].dtype == dtype ? NULL : ZB_REF_BAD_TYPE;
}

/* Steps a position in row-major order; false behind the last one. */
static bool next(int64_t position[ZB_SPATIAL], const int64_t sizes[ZB_SPATIAL]) {
  for (int d = ZB_SPATIAL - 1; d >= 0; --d) {
    if (++position[d] < sizes[d]) return true;
    position[d] = 0;
  }
  return false;
}

static int64_t offset(const int64_t strides[5], int64_t first, int64_t second, const int64_t position[ZB_SPATIAL]) {
  int64_t at = first * strides[0] + second * strides[1];
  for (int d = 0; d < ZB_SPATIAL; ++d)
    at += position[d] * strides[2 + d];
  return at;
}

/* The place in the image that element k of window o reads; false: outside. */
static bool place_of(const zb_windows *w, const int64_t o[ZB_SPATIAL], const int64_t k[ZB_SPATIAL],
                     int64_t place[ZB_SPATIAL]) {
  for (int d = 0; d < ZB_SPATIAL; ++d) {
    place[d] = o[d] * w->stride[d] - w->before[d] + k[d] * w->dilation[d];
    if (place[d] < 0 || place[d] >= w->in[d]) return false;
  }
  return true;
}

/* The window whose element k reads that place; false: there is none. */
static bool window_of(const zb_windows *w, const int64_t place[ZB_SPATIAL], const int64_t k[ZB_SPATIAL],
                      int64_t o[ZB_SPATIAL]) {
  for (int d = 0; d < ZB_SPATIAL; ++d) {
    const int64_t start = place[d] + w->before[d] - k[d] * w->dilation[d];
    o[d] = start / w->stride[d];
    if (start < 0 || start % w->stride[d] != 0 || o[d] >= w->out[d]) return false;
  }
  return true;
}

/* An element of the result: what it adds up. */
typedef double element_of(const zb_kernel_call *call, const zb_convolution *c, int64_t first, int64_t second,
                          const int64_t place[ZB_SPATIAL]);

/* All elements of the result, which has these sizes. */
static const char *fill(const zb_kernel_call *call, const zb_convolution *c, const int64_t strides[5], int64_t firsts,
                        int64_t seconds, const int64_t sizes[ZB_SPATIAL], element_of *element) {
  ZB_REF_CHECKED(call);
  for (int64_t i = 0; i < firsts; ++i)
    for (int64_t k = 0; k < seconds; ++k) {
      int64_t place[ZB_SPATIAL] = {0};
      do
        zb_ref_put(&call->outputs[0], offset(strides, i, k, place), element(call, c, i, k, place), call->accumulate);
      while (next(place, sizes));
    }
  return NULL;
}

static double conv_element(const zb_kernel_call *call, const zb_convolution *c, int64_t n, int64_t f,
                           const int64_t o[ZB_SPATIAL]) {
  const zb_tensor *x = &call->inputs[0], *weight = &call->inputs[1];
  const int64_t first = f / c->filters * c->channels;
  double sum = 0;
  for (int64_t i = 0; i < c->channels; ++i) {
    int64_t k[ZB_SPATIAL] = {0}, place[ZB_SPATIAL];
    do {
      if (place_of(&c->w, o, k, place))
        sum += zb_ref_get(x, offset(c->image_strides, n, first + i, place)) *
               zb_ref_get(weight, offset(c->weight_strides, f, i, k));
    } while (next(k, c->w.kernel));
  }
  return sum;
}

const char *zb_ref_conv(const zb_kernel_call *call) {
  zb_convolution c;
  ZB_REF_TRY(check_types(call, false));
  ZB_REF_TRY(zb_convolution_of(call, &call->inputs[0], &call->outputs[0], &call->inputs[1], &c));
  return fill(call, &c, c.result_strides, c.batch, c.groups * c.filters, c.w.out, conv_element);
}

static double transpose_element(const zb_kernel_call *call, const zb_convolution *c, int64_t n, int64_t channel,
                                const int64_t place[ZB_SPATIAL]) {
  const zb_tensor *x = &call->inputs[0], *weight = &call->inputs[1];
  const int64_t first = channel / c->channels * c->filters;
  double sum = 0;
  for (int64_t f = first; f < first + c->filters; ++f) {
    int64_t k[ZB_SPATIAL] = {0}, o[ZB_SPATIAL];
    do {
      if (window_of(&c->w, place, k, o))
        sum += zb_ref_get(x, offset(c->result_strides, n, f, o)) *
               zb_ref_get(weight, offset(c->weight_strides, f, channel % c->channels, k));
    } while (next(k, c->w.kernel));
  }
  return sum;
}

const char *zb_ref_conv_transpose(const zb_kernel_call *call) {
  zb_convolution c;
  ZB_REF_TRY(check_types(call, false));
  ZB_REF_TRY(zb_convolution_of(call, &call->outputs[0], &call->inputs[0], &call->inputs[1], &c));
  return fill(call, &c, c.image_strides, c.batch, c.groups * c.channels, c.w.in, transpose_element);
}

static double weight_element(const zb_kernel_call *call, const zb_convolution *c, int64_t f, int64_t i,
                             const int64_t k[ZB_SPATIAL]) {
  const zb_tensor *x = &call->inputs[0], *dout = &call->inputs[1];
  const int64_t channel = f / c->filters * c->channels + i;
  double sum = 0;
  for (int64_t n = 0; n < c->batch; ++n) {
    int64_t o[ZB_SPATIAL] = {0}, place[ZB_SPATIAL];
    do {
      if (place_of(&c->w, o, k, place))
        sum += zb_ref_get(x, offset(c->image_strides, n, channel, place)) *
               zb_ref_get(dout, offset(c->result_strides, n, f, o));
    } while (next(o, c->w.out));
  }
  return sum;
}

const char *zb_ref_conv_weight(const zb_kernel_call *call) {
  zb_convolution c;
  const zb_tensor *out = &call->outputs[0];
  ZB_REF_TRY(check_types(call, true));
  if (!zb_dtype_is_float(out->dtype)) return ZB_REF_BAD_TYPE;
  ZB_REF_TRY(zb_convolution_of(call, &call->inputs[0], &call->inputs[1], out, &c));
  return fill(call, &c, c.weight_strides, c.groups * c.filters, c.channels, c.w.kernel, weight_element);
}

/* ---- max_place ---- */

static int64_t greatest_place(const zb_tensor *x, int64_t base, const int64_t strides[ZB_SPATIAL], const zb_windows *w,
                              const int64_t o[ZB_SPATIAL]) {
  int64_t k[ZB_SPATIAL] = {0}, place[ZB_SPATIAL], found = -1;
  double greatest = 0;
  do {
    if (!place_of(w, o, k, place)) continue;
    double value = zb_ref_get(x, base + place[0] * strides[0] + place[1] * strides[1] + place[2] * strides[2]);
    if (found >= 0 && !(value > greatest) && !isnan(value)) continue;
    greatest = value;
    found = (place[0] * w->in[1] + place[1]) * w->in[2] + place[2];
  } while (next(k, w->kernel));
  return found;
}

const char *zb_ref_max_place(const zb_kernel_call *call) {
  zb_windows w;
  int rank;
  ZB_REF_TRY(zb_ref_check(call, 1, 1, false));
  const zb_tensor *x = &call->inputs[0], *out = &call->outputs[0];
  const int64_t *kernel = zb_ref_ints(call, "kernel", &rank);
  if (!zb_dtype_is_float(x->dtype) || out->dtype != ZB_I32) return ZB_REF_BAD_TYPE;
  ZB_REF_TRY(zb_windows_of(call, x, out, kernel, rank, &w));
  for (int i = 0; i < x->rank - rank; ++i)
    if (x->shape[i] != out->shape[i]) return ZB_REF_BAD_SHAPE;
  zb_tensor images = *x;
  zb_ref_walk walk;
  images.rank -= rank;
  zb_ref_walk_init(&walk, &images);
  ZB_REF_CHECKED(call);
  int64_t strides[ZB_SPATIAL] = {0}, at = 0;
  for (int i = 0; i < rank; ++i)
    strides[ZB_SPATIAL - rank + i] = x->strides[images.rank + i];
  for (; walk.left > 0; zb_ref_walk_next(&walk)) {
    int64_t o[ZB_SPATIAL] = {0};
    do
      zb_ref_set_int(out, at++, greatest_place(x, walk.offset[0], strides, &w, o));
    while (next(o, w.out));
  }
  return NULL;
}
