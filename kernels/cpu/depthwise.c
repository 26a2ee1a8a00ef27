/* Convolutions of contiguous f32 with one channel and one filter a group: rows of images times elements of the kernel,
 * added up line by line, without a product. A tile is some planes (an image's channel), of the gradient for the weight
 * a channel. Tests: the cases of zb.conv and its relatives (test/kernels/make_cases.py).
 */
#ifndef ZB_ISA_LEVEL
#include "kernels/cpu/isa.h"
#include "kernels/cpu/kernels.h"
#include "kernels/window.h"

#include <string.h>

enum { VECTOR_BYTES = 64, KERNEL_MOST = ZB_SCRATCH_BYTES / VECTOR_BYTES / 2 };

typedef struct depthwise {
  zb_convolution c;
  const float *weight;
  float *image, *result, *dweight; /* what the op reads is not written */
  int64_t in, windows, kernel, tile_planes, planes;
  bool accumulate;
} depthwise;

/* Windows o of a line whose element x of the kernel lies inside: from..to-1, the first at `start` of a line of the
 * image. */
static void inside(const zb_windows *w, int64_t x, int64_t *from, int64_t *to, int64_t *start) {
  const int64_t before = w->before[2] - x * w->dilation[2], stride = w->stride[2], end = w->in[2] + before;
  *from = before > 0 ? zb_ceil_div(before, stride) : 0;
  *to = end > 0 ? zb_min64(w->out[2], zb_ceil_div(end, stride)) : 0;
  *start = *from * stride - before;
}

/* The line of the image that element (z, y) of the windows of result line (a, b) reads, or -1. */
static int64_t line_of(const zb_windows *w, int64_t a, int64_t b, int64_t z, int64_t y) {
  const int64_t i = a * w->stride[0] - w->before[0] + z * w->dilation[0];
  const int64_t j = b * w->stride[1] - w->before[1] + y * w->dilation[1];
  return i < 0 || i >= w->in[0] || j < 0 || j >= w->in[1] ? -1 : (i * w->in[1] + j) * w->in[2];
}

#define ZB_ISA_BODY "kernels/cpu/depthwise.c"
#include "kernels/cpu/isa_each.h"

static bool depthwise_init(depthwise *v, const zb_kernel_call *call, const zb_tensor *images, const zb_tensor *results,
                           const zb_tensor *weight) {
  *v = (depthwise){0};
  if (!zb_call_dense_f32(call) || zb_convolution_of(call, images, results, weight, &v->c)) return false;
  v->image = images->data;
  v->result = results->data;
  v->weight = v->dweight = weight->data;
  v->in = zb_shape_product(images, 2, images->rank);
  v->windows = zb_shape_product(results, 2, results->rank);
  v->kernel = zb_shape_product(weight, 2, weight->rank);
  v->planes = v->c.batch * v->c.groups;
  v->accumulate = call->accumulate;
  v->tile_planes = zb_tile_rows(v->windows * v->kernel);
  return v->c.channels == 1 && v->c.filters == 1 && v->kernel <= KERNEL_MOST && v->windows > 0;
}

static bool forward_init(depthwise *v, const zb_kernel_call *call) {
  return depthwise_init(v, call, &call->inputs[0], &call->outputs[0], &call->inputs[1]);
}
static bool transpose_init(depthwise *v, const zb_kernel_call *call) {
  return depthwise_init(v, call, &call->outputs[0], &call->inputs[0], &call->inputs[1]);
}
static bool weight_init(depthwise *v, const zb_kernel_call *call) {
  return depthwise_init(v, call, &call->inputs[0], &call->inputs[1], &call->outputs[0]);
}

bool zb_cpu_depthwise_matches(const zb_kernel_call *call) {
  depthwise v;
  return forward_init(&v, call);
}
bool zb_cpu_depthwise_transpose_matches(const zb_kernel_call *call) {
  depthwise v;
  return transpose_init(&v, call);
}
bool zb_cpu_depthwise_weight_matches(const zb_kernel_call *call) {
  depthwise v;
  return weight_init(&v, call);
}

const char *zb_cpu_depthwise(const zb_kernel_call *call) {
  static const zb_tile_run run[] = ZB_ISA_ROW(forward_tile);
  depthwise v;
  if (!forward_init(&v, call)) return ZB_BAD_SHAPE;
  zb_parallel_for(call->threads, zb_ceil_div(v.planes, v.tile_planes), run[zb_isa()], &v);
  return NULL;
}

const char *zb_cpu_depthwise_transpose(const zb_kernel_call *call) {
  static const zb_tile_run run[] = ZB_ISA_ROW(transpose_tile);
  depthwise v;
  if (!transpose_init(&v, call)) return ZB_BAD_SHAPE;
  zb_parallel_for(call->threads, zb_ceil_div(v.planes, v.tile_planes), run[zb_isa()], &v);
  return NULL;
}

const char *zb_cpu_depthwise_weight(const zb_kernel_call *call) {
  static const zb_tile_run run[] = ZB_ISA_ROW(weight_tile);
  depthwise v;
  if (!weight_init(&v, call)) return ZB_BAD_SHAPE;
  zb_parallel_for(call->threads, v.c.groups, run[zb_isa()], &v);
  return NULL;
}

#else /* ---- Tiles, for one instruction set ---- */

/* to[i] += weight * from[i]. */
static void ZB_ISA(add_line)(float *to, const float *from, float weight, int64_t count) {
  const vf factor = v_set(weight);
  for (int64_t i = 0; i < count; i += V_LANES)
    v_give(to, v_fma(factor, v_take(from, i, count), v_take(to, i, count)), i, count);
}

static void ZB_ISA(forward_line)(const depthwise *v, const float *image, const float *weight, int64_t a, int64_t b,
                                 float *out) {
  const zb_windows *w = &v->c.w;
  memset(out, 0, (size_t)w->out[2] * sizeof *out);
  for (int64_t k = 0; k < v->kernel; ++k) {
    int64_t from, to, start, x = k % w->kernel[2], y = k / w->kernel[2] % w->kernel[1];
    const int64_t line = line_of(w, a, b, k / w->kernel[2] / w->kernel[1], y);
    inside(w, x, &from, &to, &start);
    if (line < 0 || from >= to) continue;
    if (w->stride[2] == 1)
      ZB_ISA(add_line)(out + from, image + line + start, weight[k], to - from);
    else
      for (int64_t o = from; o < to; ++o)
        out[o] += weight[k] * image[line + start + (o - from) * w->stride[2]];
  }
}

static void ZB_ISA(forward_tile)(void *context, int64_t tile, void *scratch) {
  const depthwise *v = context;
  const int64_t end = zb_min64((tile + 1) * v->tile_planes, v->planes);
  (void)scratch;
  for (int64_t plane = tile * v->tile_planes; plane < end; ++plane)
    for (int64_t line = 0; line < v->c.w.out[0] * v->c.w.out[1]; ++line)
      ZB_ISA(forward_line)(v, v->image + plane * v->in, v->weight + plane % v->c.groups * v->kernel,
                           line / v->c.w.out[1], line % v->c.w.out[1],
                           v->result + plane * v->windows + line * v->c.w.out[2]);
}

static void ZB_ISA(transpose_line)(const depthwise *v, float *image, const float *weight, int64_t a, int64_t b,
                                   const float *dout) {
  const zb_windows *w = &v->c.w;
  for (int64_t k = 0; k < v->kernel; ++k) {
    int64_t from, to, start, x = k % w->kernel[2], y = k / w->kernel[2] % w->kernel[1];
    const int64_t line = line_of(w, a, b, k / w->kernel[2] / w->kernel[1], y);
    inside(w, x, &from, &to, &start);
    if (line < 0 || from >= to) continue;
    if (w->stride[2] == 1)
      ZB_ISA(add_line)(image + line + start, dout + from, weight[k], to - from);
    else
      for (int64_t o = from; o < to; ++o)
        image[line + start + (o - from) * w->stride[2]] += weight[k] * dout[o];
  }
}

static void ZB_ISA(transpose_tile)(void *context, int64_t tile, void *scratch) {
  const depthwise *v = context;
  const int64_t end = zb_min64((tile + 1) * v->tile_planes, v->planes);
  (void)scratch;
  for (int64_t plane = tile * v->tile_planes; plane < end; ++plane) {
    float *image = v->image + plane * v->in;
    memset(image, 0, (size_t)v->in * sizeof *image);
    for (int64_t line = 0; line < v->c.w.out[0] * v->c.w.out[1]; ++line)
      ZB_ISA(transpose_line)(v, image, v->weight + plane % v->c.groups * v->kernel, line / v->c.w.out[1],
                             line % v->c.w.out[1], v->result + plane * v->windows + line * v->c.w.out[2]);
  }
}

/* sums[k] += what the windows of a line add to the gradient of element k. */
static void ZB_ISA(weight_line)(const depthwise *v, const float *image, int64_t a, int64_t b, const float *dout,
                                float *sums) {
  const zb_windows *w = &v->c.w;
  for (int64_t k = 0; k < v->kernel; ++k) {
    int64_t from, to, start, x = k % w->kernel[2], y = k / w->kernel[2] % w->kernel[1];
    const int64_t line = line_of(w, a, b, k / w->kernel[2] / w->kernel[1], y);
    float *sum = sums + k * V_LANES;
    inside(w, x, &from, &to, &start);
    if (line < 0 || from >= to) continue;
    const float *in = image + line + start, *d = dout + from;
    vf total = v_load(sum);
    if (w->stride[2] == 1) {
      for (int64_t i = 0; i < to - from; i += V_LANES)
        total = v_fma(v_take(in, i, to - from), v_take(d, i, to - from), total);
      v_store(sum, total);
    } else {
      for (int64_t i = 0; i < to - from; ++i)
        sum[i % V_LANES] += in[i * w->stride[2]] * d[i];
    }
  }
}

static void ZB_ISA(weight_tile)(void *context, int64_t group, void *scratch) {
  const depthwise *v = context;
  float *sums = scratch;
  memset(sums, 0, (size_t)(v->kernel * V_LANES) * sizeof *sums);
  for (int64_t n = 0; n < v->c.batch; ++n)
    for (int64_t line = 0; line < v->c.w.out[0] * v->c.w.out[1]; ++line)
      ZB_ISA(weight_line)(v, v->image + (n * v->c.groups + group) * v->in, line / v->c.w.out[1], line % v->c.w.out[1],
                          v->result + (n * v->c.groups + group) * v->windows + line * v->c.w.out[2], sums);
  for (int64_t k = 0; k < v->kernel; ++k) {
    float *to = v->dweight + group * v->kernel + k, sum = v_sum(v_load(sums + k * V_LANES));
    *to = v->accumulate ? *to + sum : sum;
  }
}

#endif
