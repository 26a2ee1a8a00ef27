/* Softmax and log-softmax over the last axis, cross entropy, and their gradients.
 * A row's maximum is taken first, so that nothing overflows. Tests: test/kernels/fast_softmax_test.c */
#ifndef ZB_ISA_LEVEL
#include "kernels/cpu/bf16.h"
#include "kernels/cpu/isa.h"
#include "kernels/cpu/kernels.h"

#include <math.h>
#include <string.h>

enum { CHUNK = 2048 }; /* elements, stays in the first cache */

typedef struct rows_context {
  int64_t rows, width, tile_rows;
  const float *x, *dout;
  float *out;
  const void *logits; /* cross entropy: f32 or bf16, as dlogits */
  void *dlogits;
  zb_dtype dtype;
  const zb_tensor *labels;
  const float *lse_in;
  float *lse_out;
  const float *dloss; /* one value, or one a row when per_row */
  bool per_row, has_ignored;
  int64_t ignored;
  float factor; /* 1 / number of rows that count ("mean"), else 1 */
} rows_context;

static int64_t label_at(const zb_tensor *labels, int64_t row) {
  return labels->dtype == ZB_I64 ? ((const int64_t *)labels->data)[row] : ((const int32_t *)labels->data)[row];
}

static float logit_at(const rows_context *c, int64_t index) {
  return c->dtype == ZB_BF16 ? zb_bf16_value(((const uint16_t *)c->logits)[index]) : ((const float *)c->logits)[index];
}

static bool counts(const rows_context *c, int64_t label) { return !c->has_ignored || label != c->ignored; }

#define ZB_ISA_BODY "kernels/cpu/softmax.c"
#include "kernels/cpu/isa_each.h"

static rows_context rows_init(const zb_kernel_call *call) {
  const zb_tensor *x = &call->inputs[0];
  int64_t width = x->shape[x->rank - 1];
  return (rows_context){.rows = zb_outer(x, x->rank - 1),
                        .width = width,
                        .tile_rows = zb_tile_rows(width),
                        .x = x->data,
                        .out = call->outputs[0].data,
                        .logits = x->data,
                        .dlogits = call->outputs[0].data,
                        .dtype = x->dtype};
}

static void over_rows(const zb_kernel_call *call, rows_context *c, zb_tile_run run) {
  if (c->width > 0) zb_parallel_for(call->threads, zb_ceil_div(c->rows, c->tile_rows), run, c);
}

#define ROW_KERNEL(name, has_dout)                                                                                     \
  const char *zb_cpu_##name(const zb_kernel_call *call) {                                                              \
    static const zb_tile_run tiles[] = ZB_ISA_ROW(name##_tile);                                                        \
    rows_context c = rows_init(call);                                                                                  \
    if (has_dout) c.dout = call->inputs[1].data;                                                                       \
    over_rows(call, &c, tiles[zb_isa()]);                                                                              \
    return NULL;                                                                                                       \
  }
ROW_KERNEL(softmax, false)
ROW_KERNEL(softmax_grad, true)
ROW_KERNEL(log_softmax, false)
ROW_KERNEL(log_softmax_grad, true)

bool zb_cpu_softmax_matches(const zb_kernel_call *call) {
  const zb_tensor *x = &call->inputs[0];
  return x->rank >= 1 && zb_attr_int(&call->attrs, "axis", x->rank - 1) == x->rank - 1 && zb_call_dense_f32(call);
}

/* ---- Cross entropy ---- */

static const char *read_labels(rows_context *c, const zb_kernel_call *call, int64_t *counted) {
  const zb_attr *ignored = zb_attr_find(&call->attrs, "ignore_index");
  c->labels = &call->inputs[1];
  c->has_ignored = ignored != NULL;
  c->ignored = ignored ? ignored->i : 0;
  *counted = 0;
  for (int64_t r = 0; r < c->rows; ++r) {
    int64_t label = label_at(c->labels, r);
    if (!counts(c, label)) continue;
    if (label < 0 || label >= c->width)
      return zb_kernel_wrong_value(call, label, 0, c->width - 1,
                                   "a label is not a class: outside of 0..C-1 and not ignore_index");
    ++*counted;
  }
  return NULL;
}

static bool reduction_is(const zb_kernel_call *call, const char *name) {
  return strcmp(zb_attr_string(&call->attrs, "reduction", "mean"), name) == 0;
}

const char *zb_cpu_cross_entropy(const zb_kernel_call *call) {
  static const zb_tile_run tiles[] = ZB_ISA_ROW(lse_tile);
  rows_context c = rows_init(call);
  int64_t counted;
  const char *error = read_labels(&c, call, &counted);
  if (error) return error;
  c.lse_out = call->outputs[1].data;
  over_rows(call, &c, tiles[zb_isa()]);
  bool none = reduction_is(call, "none");
  double sum = 0;
  for (int64_t r = 0; r < c.rows; ++r) {
    int64_t label = label_at(c.labels, r);
    float loss = counts(&c, label) ? c.lse_out[r] - logit_at(&c, r * c.width + label) : 0.0f;
    if (none) c.out[r] = loss;
    sum += (double)loss;
  }
  if (!none) c.out[0] = (float)(reduction_is(call, "mean") ? sum / (double)counted : sum);
  return NULL;
}

const char *zb_cpu_cross_entropy_grad(const zb_kernel_call *call) {
  static const zb_tile_run tiles[] = ZB_ISA_ROW(cross_entropy_grad_tile);
  rows_context c = rows_init(call);
  int64_t counted;
  const char *error = read_labels(&c, call, &counted);
  if (error) return error;
  c.lse_in = call->inputs[2].data;
  c.dloss = call->inputs[3].data;
  c.per_row = reduction_is(call, "none");
  c.factor = reduction_is(call, "mean") ? 1.0f / (float)counted : 1.0f;
  over_rows(call, &c, tiles[zb_isa()]);
  return NULL;
}

/* f32 or bf16 logits with integer labels; what is summed over a row is f32. */
static bool logits_match(const zb_kernel_call *call) {
  if (call->inputs[0].rank < 1 || !zb_call_contiguous(call)) return false;
  return zb_is_f32_or_bf16(call->inputs[0].dtype) && zb_dtype_is_index(call->inputs[1].dtype);
}

bool zb_cpu_cross_entropy_matches(const zb_kernel_call *call) {
  return logits_match(call) && call->outputs[0].dtype == ZB_F32 && call->outputs[1].dtype == ZB_F32;
}

bool zb_cpu_cross_entropy_grad_matches(const zb_kernel_call *call) {
  return logits_match(call) && call->inputs[2].dtype == ZB_F32 && call->inputs[3].dtype == ZB_F32 &&
         call->outputs[0].dtype == call->inputs[0].dtype;
}

#else /* ---- Tiles, for one instruction set ---- */

#define FOR_ROWS(c)                                                                                                    \
  const rows_context c = *(const rows_context *)context;                                                               \
  int64_t end = zb_min64((tile + 1) * c.tile_rows, c.rows);                                                            \
  (void)scratch;                                                                                                       \
  for (int64_t r = tile * c.tile_rows; r < end; ++r)

static void ZB_ISA(softmax_tile)(void *context, int64_t tile, void *scratch) {
  FOR_ROWS(c) {
    const float *x = c.x + r * c.width;
    float *out = c.out + r * c.width, highest = v_row_highest(x, c.width);
    float sum = v_row_exp(x, c.width, highest == -INFINITY ? 0.0f : highest, out);
    if (sum == 0.0f) sum = 1.0f; /* a row that sees nothing */
    for (int64_t i = 0; i < c.width; i += V_LANES)
      v_give(out, v_take(out, i, c.width) / v_set(sum), i, c.width);
  }
}

static void ZB_ISA(log_softmax_tile)(void *context, int64_t tile, void *scratch) {
  FOR_ROWS(c) {
    const float *x = c.x + r * c.width;
    float *out = c.out + r * c.width, highest = v_row_highest(x, c.width);
    float log_sum = logf(v_row_exp(x, c.width, highest, NULL));
    for (int64_t i = 0; i < c.width; i += V_LANES)
      v_give(out, (v_take(x, i, c.width) - v_set(highest)) - v_set(log_sum), i, c.width);
  }
}

static void ZB_ISA(softmax_grad_tile)(void *context, int64_t tile, void *scratch) {
  FOR_ROWS(c) {
    const float *y = c.x + r * c.width, *dout = c.dout + r * c.width;
    vf dot = v_set(0);
    for (int64_t i = 0; i < c.width; i += V_LANES)
      dot = v_fma(v_take(y, i, c.width), v_take(dout, i, c.width), dot);
    vf sum = v_set(v_sum(dot));
    for (int64_t i = 0; i < c.width; i += V_LANES)
      v_give(c.out + r * c.width, v_take(y, i, c.width) * (v_take(dout, i, c.width) - sum), i, c.width);
  }
}

static void ZB_ISA(log_softmax_grad_tile)(void *context, int64_t tile, void *scratch) {
  FOR_ROWS(c) {
    const float *y = c.x + r * c.width, *dout = c.dout + r * c.width;
    vf lanes = v_set(0);
    for (int64_t i = 0; i < c.width; i += V_LANES)
      lanes = lanes + v_take(dout, i, c.width);
    vf sum = v_set(v_sum(lanes));
    for (int64_t i = 0; i < c.width; i += V_LANES)
      v_give(c.out + r * c.width, v_take(dout, i, c.width) - v_exp(v_take(y, i, c.width)) * sum, i, c.width);
  }
}

static void ZB_ISA(lse_tile)(void *context, int64_t tile, void *scratch) {
  FOR_ROWS(c) {
    float highest = -INFINITY, sum = 0.0f;
    for (int64_t i = 0; i < c.width; i += CHUNK) { /* each chunk is read from memory once, with the maximum so far */
      int64_t count = zb_min64(CHUNK, c.width - i);
      const float *x = zb_row_f32(c.logits, c.dtype, r * c.width + i, count, scratch);
      float chunk_highest = v_row_highest(x, count);
      float joined = highest > chunk_highest ? highest : chunk_highest;
      if (highest != joined && sum != 0.0f) sum *= expf(highest - joined);
      sum += v_row_exp(x, count, joined == -INFINITY ? 0.0f : joined, NULL);
      highest = joined;
    }
    c.lse_out[r] = highest + logf(sum);
  }
}

/* (exp(logit - lse) - onehot) * dloss / rows that count. */
static void ZB_ISA(cross_entropy_grad_tile)(void *context, int64_t tile, void *scratch) {
  FOR_ROWS(c) {
    bool narrow = c.dtype == ZB_BF16;
    float *buffer = scratch;
    int64_t label = label_at(c.labels, r), row = r * c.width;
    if (!counts(&c, label)) {
      memset((char *)c.dlogits + (size_t)row * zb_dtype_bytes(c.dtype), 0, (size_t)c.width * zb_dtype_bytes(c.dtype));
      continue;
    }
    float scale = c.dloss[c.per_row ? r : 0] * c.factor;
    float at_label = (expf(logit_at(&c, row + label) - c.lse_in[r]) - 1.0f) * scale;
    vf lse = v_set(c.lse_in[r]), s = v_set(scale);
    for (int64_t first = 0; first < c.width; first += CHUNK) {
      int64_t count = zb_min64(CHUNK, c.width - first);
      const float *x = zb_row_f32(c.logits, c.dtype, row + first, count, buffer);
      float *out = narrow ? buffer : c.out + row + first;
      for (int64_t i = 0; i < count; i += V_LANES)
        v_give(out, v_exp(v_take(x, i, count) - lse) * s, i, count);
      if (label >= first && label < first + count) out[label - first] = at_label;
      if (narrow) zb_bf16_narrow((uint16_t *)c.dlogits + row + first, out, count);
    }
  }
}
#undef FOR_ROWS
#endif
