/* Where convolutions and windows read: their operands and attributes as plain numbers, for the kernels of every device.
 * Spatial dimensions are three; those that an op lacks are of size 1. Thread-safe.
 * Tests: the cases of zb.conv and its relatives (test/kernels/make_cases.py) on every device. */
#pragma once

#include "kernels/call.h"

enum { ZB_SPATIAL = 3 };

/* Window o of a dimension reads the places o * stride - before + k * dilation that lie in 0..in-1, k < kernel. */
typedef struct zb_windows {
  int64_t in[ZB_SPATIAL], out[ZB_SPATIAL], kernel[ZB_SPATIAL];
  int64_t stride[ZB_SPATIAL], dilation[ZB_SPATIAL], before[ZB_SPATIAL];
} zb_windows;

/* images [batch, groups * channels, in], results [batch, groups * filters, out], weight [groups * filters, channels,
 * kernel]; strides in elements, of their five dimensions with the spatial ones at the end. */
typedef struct zb_convolution {
  int64_t batch, groups, channels, filters;
  zb_windows w;
  int64_t image_strides[5], result_strides[5], weight_strides[5];
} zb_convolution;

static inline bool zb_window_attr(const zb_kernel_call *call, const char *name, int count, int64_t *out) {
  const zb_attr *attr = zb_attr_find(&call->attrs, name);
  if (!attr || attr->kind != ZB_ATTR_INTS || attr->count != count) return false;
  for (int i = 0; i < count; ++i)
    out[i] = attr->ints[i];
  return true;
}

/* The last `rank` dimensions of each; NULL, or what is wrong. */
static inline const char *zb_windows_of(const zb_kernel_call *call, const zb_tensor *images, const zb_tensor *results,
                                        const int64_t *kernel, int rank, zb_windows *w) {
  int64_t pads[2 * ZB_SPATIAL], strides[ZB_SPATIAL], dilations[ZB_SPATIAL];
  if (rank < 1 || rank > ZB_SPATIAL || images->rank < rank || results->rank != images->rank) return ZB_BAD_SHAPE;
  if (!zb_window_attr(call, "strides", rank, strides) || !zb_window_attr(call, "dilations", rank, dilations) ||
      !zb_window_attr(call, "pads", 2 * rank, pads))
    return "strides, dilations and pads do not have an entry for each spatial dimension";
  for (int d = 0; d < ZB_SPATIAL; ++d) {
    const int own = d - (ZB_SPATIAL - rank), at = images->rank - rank + own;
    w->in[d] = own < 0 ? 1 : images->shape[at];
    w->out[d] = own < 0 ? 1 : results->shape[at];
    w->kernel[d] = own < 0 ? 1 : kernel[own];
    w->stride[d] = own < 0 ? 1 : strides[own];
    w->dilation[d] = own < 0 ? 1 : dilations[own];
    w->before[d] = own < 0 ? 0 : pads[own];
    if (w->stride[d] < 1 || w->dilation[d] < 1 || w->kernel[d] < 1) return ZB_BAD_SHAPE;
  }
  return NULL;
}

static inline void zb_window_strides(const zb_tensor *x, int64_t strides[5]) {
  const int rank = x->rank - 2;
  for (int d = 0; d < 5; ++d) {
    const int own = d < 2 ? d : d - ZB_SPATIAL + rank;
    strides[d] = d < 2 || own >= 2 ? x->strides[own] : 0;
  }
}

/* The three tensors of a convolution, whatever their roles; NULL, or what is wrong. */
static inline const char *zb_convolution_of(const zb_kernel_call *call, const zb_tensor *images,
                                            const zb_tensor *results, const zb_tensor *weight, zb_convolution *c) {
  const int64_t groups = zb_attr_int(&call->attrs, "groups", 1);
  if (images->rank < 3 || images->rank > 5 || weight->rank != images->rank || results->rank != images->rank)
    return ZB_BAD_SHAPE;
  if (groups < 1 || images->shape[1] % groups != 0 || results->shape[1] % groups != 0 ||
      images->shape[0] != results->shape[0] || weight->shape[0] != results->shape[1] ||
      weight->shape[1] != images->shape[1] / groups)
    return ZB_BAD_SHAPE;
  c->batch = images->shape[0];
  c->groups = groups;
  c->channels = images->shape[1] / groups;
  c->filters = results->shape[1] / groups;
  zb_window_strides(images, c->image_strides);
  zb_window_strides(results, c->result_strides);
  zb_window_strides(weight, c->weight_strides);
  return zb_windows_of(call, images, results, weight->shape + 2, images->rank - 2, &c->w);
}
