/* Convolutions of contiguous f32 as products (sgemm.h) with windows that are laid out in scratch memory, a block at a
 * time: no matrix of all windows exists. Row (channel, k) of such a matrix has element k of each window.
 *
 *   conv            out [filters, windows] = weight [filters, rows] x windows [rows, windows]   a tile: some windows
 *   conv_transpose  windows = weight^T x dout, added to where they were read                     some channels
 *   conv_weight     dweight = dout x windows^T, over images and blocks in order                  some rows
 *
 * A kernel of one element with stride 1 needs no windows: the images are the matrix. Blocks are chosen by shapes. One
 * channel a group is depthwise.c. Tests: the cases of zb.conv and its relatives (test/kernels/make_cases.py).
 */
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/sgemm.h"
#include "kernels/window.h"

#include <string.h>

enum {
  ROOM = (ZB_SCRATCH_BYTES - ZB_SGEMM_PACK_BYTES) / (int)sizeof(float), /* elements of a block of windows */
  ROWS_MOST = 4096,                                                     /* of a block of conv */
  WINDOWS_MOST = 2048,
  TRANSPOSE_ROWS = 192,
  WEIGHT_ROWS = 256,
  UNIT = 16,
};

typedef struct conv {
  zb_convolution c;
  const float *images, *results, *weight; /* operands; the result of the op is `out` */
  float *out;
  int64_t in, windows, kernel, rows; /* elements of a channel, of a result, of a kernel; channels * kernel */
  bool direct;                       /* images are the windows */
  bool accumulate;
  int64_t block, blocks; /* windows a block */
  int64_t part, parts;   /* channels or rows a tile */
} conv;

static int64_t volume(const int64_t sizes[ZB_SPATIAL]) { return sizes[0] * sizes[1] * sizes[2]; }

static bool conv_init(conv *v, const zb_kernel_call *call, const zb_tensor *images, const zb_tensor *results,
                      const zb_tensor *weight) {
  *v = (conv){0};
  if (!zb_call_dense_f32(call) || zb_convolution_of(call, images, results, weight, &v->c)) return false;
  const zb_windows *w = &v->c.w;
  v->images = images->data;
  v->results = results->data;
  v->weight = weight->data;
  v->out = call->outputs[0].data;
  v->in = volume(w->in);
  v->windows = volume(w->out);
  v->kernel = volume(w->kernel);
  v->rows = v->c.channels * v->kernel;
  v->accumulate = call->accumulate;
  v->direct = v->kernel == 1;
  for (int d = 0; d < ZB_SPATIAL; ++d)
    v->direct = v->direct && w->stride[d] == 1 && w->before[d] == 0 && w->in[d] == w->out[d];
  return v->kernel <= ROOM / UNIT && v->windows > 0 && v->rows > 0;
}

static void choose_block(conv *v, int64_t rows) {
  v->block = zb_min64(v->windows, zb_min64(WINDOWS_MOST, zb_max64(UNIT, ROOM / rows / UNIT * UNIT)));
  v->blocks = zb_ceil_div(v->windows, v->block);
}

/* ---- Windows in scratch memory ---- */

/* A run of neighbouring windows (o[0], o[1], first..end-1) that read one line of a channel with an element of the
 * kernel: those from `from` to `to` lie inside and read from `line` on, `stride` apart. */
typedef struct run {
  int64_t first, end, from, to, stride;
  int64_t line; /* of window `from`, in the channel */
} run;

static void find_run(const zb_windows *w, const int64_t k[ZB_SPATIAL], int64_t window, int64_t last, run *r) {
  const int64_t width = w->out[2], line = window / width;
  const int64_t z = line / w->out[1] * w->stride[0] - w->before[0] + k[0] * w->dilation[0];
  const int64_t y = line % w->out[1] * w->stride[1] - w->before[1] + k[1] * w->dilation[1];
  const int64_t start = w->before[2] - k[2] * w->dilation[2], stride = w->stride[2]; /* x = o * stride - start */
  r->first = window % width;
  r->end = zb_min64(width, r->first + last - window);
  r->from = zb_max64(r->first, start > 0 ? zb_ceil_div(start, stride) : 0);
  r->to = w->in[2] + start > 0 ? zb_min64(r->end, zb_ceil_div(w->in[2] + start, stride)) : r->first;
  if (z < 0 || z >= w->in[0] || y < 0 || y >= w->in[1] || r->to < r->from) r->from = r->to = r->end;
  r->stride = stride;
  r->line = (z * w->in[1] + y) * w->in[2] + r->from * stride - start;
}

static void element_of(const zb_windows *w, int64_t number, int64_t k[ZB_SPATIAL]) {
  k[2] = number % w->kernel[2];
  k[1] = number / w->kernel[2] % w->kernel[1];
  k[0] = number / w->kernel[2] / w->kernel[1];
}

/* Rows first_row.. of windows first..first+count-1 of the channels from `image` on. */
static void unfold(const conv *v, const float *image, int64_t first_row, int64_t rows, int64_t first, int64_t count,
                   float *out) {
  int64_t k[ZB_SPATIAL];
  run r;
  for (int64_t row = 0; row < rows; ++row) {
    const float *channel = image + (first_row + row) / v->kernel * v->in;
    element_of(&v->c.w, (first_row + row) % v->kernel, k);
    for (int64_t window = first; window < first + count; window += r.end - r.first) {
      find_run(&v->c.w, k, window, first + count, &r);
      float *to = out - r.first;
      out += r.end - r.first;
      for (int64_t o = r.first; o < r.from; ++o)
        to[o] = 0;
      if (r.stride == 1 && r.to > r.from)
        memcpy(to + r.from, channel + r.line, (size_t)(r.to - r.from) * sizeof *to);
      else
        for (int64_t o = r.from; o < r.to; ++o)
          to[o] = channel[r.line + (o - r.from) * r.stride];
      for (int64_t o = r.to; o < r.end; ++o)
        to[o] = 0;
    }
  }
}

/* Adds rows of windows to where they were read. */
static void add_back(const conv *v, float *image, int64_t rows, int64_t first, int64_t count, const float *in) {
  int64_t k[ZB_SPATIAL];
  run r;
  for (int64_t row = 0; row < rows; ++row) {
    float *channel = image + row / v->kernel * v->in;
    element_of(&v->c.w, row % v->kernel, k);
    for (int64_t window = first; window < first + count; window += r.end - r.first) {
      find_run(&v->c.w, k, window, first + count, &r);
      const float *from = in - r.first;
      in += r.end - r.first;
      if (r.stride == 1)
        for (int64_t o = r.from; o < r.to; ++o)
          channel[r.line + o - r.from] += from[o];
      else
        for (int64_t o = r.from; o < r.to; ++o)
          channel[r.line + (o - r.from) * r.stride] += from[o];
    }
  }
}

static zb_matrix dense(const float *data, int64_t row_stride, int64_t column_stride) {
  return (zb_matrix){data, false, row_stride, column_stride};
}

/* Image `n`, first channel of a group; likewise of the results. */
static int64_t image_at(const conv *v, int64_t n, int64_t group) {
  return (n * v->c.groups + group) * v->c.channels * v->in;
}
static int64_t results_at(const conv *v, int64_t n, int64_t group) {
  return (n * v->c.groups + group) * v->c.filters * v->windows;
}

/* ---- conv ---- */

static void conv_tile(void *context, int64_t tile, void *scratch) {
  const conv *v = context;
  float *pack = scratch, *block = pack + ZB_SGEMM_PACK_BYTES / (int)sizeof(float);
  const int64_t first = tile % v->blocks * v->block, count = zb_min64(v->block, v->windows - first);
  const int64_t n = tile / v->blocks / v->c.groups, group = tile / v->blocks % v->c.groups;
  const float *image = v->images + image_at(v, n, group), *weight = v->weight + group * v->c.filters * v->rows;
  zb_sgemm_call s = {.m = v->c.filters, .n = count, .alpha = 1, .out_stride = v->windows};
  s.out = v->out + results_at(v, n, group) + first;
  for (int64_t row = 0; row < v->rows; row += v->part) {
    s.k = zb_min64(v->part, v->rows - row);
    s.lhs = dense(weight + row, v->rows, 1);
    if (!v->direct) unfold(v, image, row, s.k, first, count, block);
    s.rhs = v->direct ? dense(image + row * v->in + first, v->in, 1) : dense(block, count, 1);
    zb_sgemm(&s, pack);
    s.start = s.out;
    s.start_stride = s.out_stride;
  }
}

const char *zb_cpu_conv(const zb_kernel_call *call) {
  conv v;
  if (!conv_init(&v, call, &call->inputs[0], &call->outputs[0], &call->inputs[1])) return ZB_BAD_SHAPE;
  v.part = zb_min64(v.rows, ROWS_MOST);
  choose_block(&v, v.part);
  zb_parallel_for(call->threads, v.c.batch * v.c.groups * v.blocks, conv_tile, &v);
  return NULL;
}

bool zb_cpu_conv_matches(const zb_kernel_call *call) {
  conv v;
  return conv_init(&v, call, &call->inputs[0], &call->outputs[0], &call->inputs[1]);
}

/* ---- conv_transpose ---- */

static void transpose_tile(void *context, int64_t tile, void *scratch) {
  const conv *v = context;
  float *pack = scratch, *block = pack + ZB_SGEMM_PACK_BYTES / (int)sizeof(float);
  const int64_t channel = tile % v->parts * v->part, channels = zb_min64(v->part, v->c.channels - channel);
  const int64_t n = tile / v->parts / v->c.groups, group = tile / v->parts % v->c.groups;
  const float *weight = v->weight + group * v->c.filters * v->rows + channel * v->kernel;
  float *image = v->out + image_at(v, n, group) + channel * v->in;
  zb_sgemm_call s = {.m = channels * v->kernel, .k = v->c.filters, .alpha = 1, .lhs = dense(weight, 1, v->rows)};
  if (!v->direct) memset(image, 0, (size_t)(channels * v->in) * sizeof *image);
  for (int64_t first = 0; first < v->windows; first += v->block) {
    s.n = zb_min64(v->block, v->windows - first);
    s.rhs = dense(v->results + results_at(v, n, group) + first, v->windows, 1);
    s.out = v->direct ? image + first : block;
    s.out_stride = v->direct ? v->in : s.n;
    zb_sgemm(&s, pack);
    if (!v->direct) add_back(v, image, s.m, first, s.n, block);
  }
}

const char *zb_cpu_conv_transpose(const zb_kernel_call *call) {
  conv v;
  if (!conv_init(&v, call, &call->outputs[0], &call->inputs[0], &call->inputs[1])) return ZB_BAD_SHAPE;
  v.part = zb_min64(v.c.channels, zb_max64(1, TRANSPOSE_ROWS / v.kernel));
  v.parts = zb_ceil_div(v.c.channels, v.part);
  choose_block(&v, v.part * v.kernel);
  zb_parallel_for(call->threads, v.c.batch * v.c.groups * v.parts, transpose_tile, &v);
  return NULL;
}

bool zb_cpu_conv_transpose_matches(const zb_kernel_call *call) {
  conv v;
  return conv_init(&v, call, &call->outputs[0], &call->inputs[0], &call->inputs[1]);
}

/* ---- conv_weight ---- */

static void weight_tile(void *context, int64_t tile, void *scratch) {
  const conv *v = context;
  float *pack = scratch, *block = pack + ZB_SGEMM_PACK_BYTES / (int)sizeof(float);
  const int64_t group = tile / v->parts, row = tile % v->parts * v->part, rows = zb_min64(v->part, v->rows - row);
  zb_sgemm_call s = {.m = v->c.filters, .n = rows, .alpha = 1, .out_stride = v->rows};
  s.out = v->out + group * v->c.filters * v->rows + row;
  s.start = v->accumulate ? s.out : NULL;
  s.start_stride = s.out_stride;
  for (int64_t n = 0; n < v->c.batch; ++n) {
    const float *image = v->images + image_at(v, n, group), *results = v->results + results_at(v, n, group);
    for (int64_t first = 0; first < v->windows; first += v->block) {
      s.k = zb_min64(v->block, v->windows - first);
      s.lhs = dense(results + first, v->windows, 1);
      if (!v->direct) unfold(v, image, row, rows, first, s.k, block);
      s.rhs = v->direct ? dense(image + row * v->in + first, 1, v->in) : dense(block, 1, s.k);
      zb_sgemm(&s, pack);
      s.start = s.out;
    }
  }
}

const char *zb_cpu_conv_weight(const zb_kernel_call *call) {
  conv v;
  if (!conv_init(&v, call, &call->inputs[0], &call->inputs[1], &call->outputs[0])) return ZB_BAD_SHAPE;
  v.part = zb_min64(v.rows, WEIGHT_ROWS);
  v.parts = zb_ceil_div(v.rows, v.part);
  choose_block(&v, v.part);
  zb_parallel_for(call->threads, v.c.groups * v.parts, weight_tile, &v);
  return NULL;
}

bool zb_cpu_conv_weight_matches(const zb_kernel_call *call) {
  conv v;
  return conv_init(&v, call, &call->inputs[0], &call->inputs[1], &call->outputs[0]) && v.c.batch > 0;
}
