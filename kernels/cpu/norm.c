/* Layer norm and RMS norm over the last dimensions, and their gradients.
 *
 * A row is read two or three times while it is in the first cache. Row sums have four accumulators of vectors that are
 * added in a fixed order; sums over rows (the gradient of scale) go down columns in blocks of BLOCK_ROWS, so that their
 * error stays small. Tests: test/kernels/fast_norm_test.c
 */
#ifndef ZB_ISA_LEVEL
#include "kernels/cpu/common.h"
#include "kernels/cpu/isa.h"
#include "kernels/cpu/kernels.h"

#include <math.h>

/* Of rows that lie farther than the root of FAR deviations from 0 what their mean was rounded by is taken off, too. */
enum { BLOCK_ROWS = 64, TILE_COLUMNS = 128, FAR = 64 };

typedef struct norm {
  int64_t rows, width, tile_rows;
  const float *x, *scale, *bias, *mean, *rstd, *dout, *residual; /* bias, mean, residual: NULL if absent */
  float *out, *mean_out, *rstd_out;
  float epsilon;
  bool centered; /* layer norm */
  bool accumulate;
} norm;

#define ZB_ISA_BODY "kernels/cpu/norm.c"
#include "kernels/cpu/isa_each.h"

/* Operand numbers of the forms of the op, x is 0, and how many results it has; -1: it has none. */
typedef struct norm_form {
  int scale, bias, mean, rstd, dout, residual, results;
  bool centered;
} norm_form;

static const float *operand(const zb_kernel_call *call, int index) {
  const zb_tensor *x = index < 0 ? NULL : zb_call_input(call, index);
  return x ? x->data : NULL;
}

static norm norm_init(const zb_kernel_call *call, const norm_form *form) {
  const zb_tensor *x = &call->inputs[0], *out = call->outputs;
  int64_t axis = zb_attr_int(&call->attrs, "axis", x->rank - 1), width = zb_inner(x, axis);
  return (norm){.rows = zb_outer(x, axis),
                .width = width,
                .tile_rows = zb_tile_rows(width),
                .x = x->data,
                .scale = operand(call, form->scale),
                .bias = operand(call, form->bias),
                .mean = operand(call, form->mean),
                .rstd = operand(call, form->rstd),
                .dout = operand(call, form->dout),
                .residual = operand(call, form->residual),
                .out = out[0].data,
                .mean_out = form->results == 3 ? out[1].data : NULL,
                .rstd_out = form->results > 1 ? out[form->results - 1].data : NULL,
                .epsilon = (float)zb_attr_float(&call->attrs, "epsilon", 1e-5),
                .centered = form->centered,
                .accumulate = call->accumulate};
}

/* Tiles are rows, or columns of the gradient of scale, which alone has no scale. */
static const char *run_norm(const zb_kernel_call *call, const norm_form *form, zb_tile_run run) {
  norm n = norm_init(call, form);
  int64_t tiles = form->scale < 0 ? zb_ceil_div(n.width, TILE_COLUMNS) : zb_ceil_div(n.rows, n.tile_rows);
  if (n.width > 0) zb_parallel_for(call->threads, tiles, run, &n);
  return NULL;
}

#define NORM(name, tile, ...)                                                                                          \
  const char *zb_cpu_##name(const zb_kernel_call *call) {                                                              \
    static const zb_tile_run tiles[] = ZB_ISA_ROW(tile);                                                               \
    static const norm_form form = {__VA_ARGS__};                                                                       \
    return run_norm(call, &form, tiles[zb_isa()]);                                                                     \
  }
NORM(layer_norm, norm_tile, 1, 2, -1, -1, -1, -1, 3, true)
NORM(rms_norm, norm_tile, 1, -1, -1, -1, -1, -1, 2, false)
NORM(layer_norm_grad_x, norm_grad_tile, 1, -1, 2, 3, 4, 5, 1, true)
NORM(rms_norm_grad_x, norm_grad_tile, 1, -1, -1, 2, 3, 4, 1, false)
NORM(layer_norm_grad_scale, norm_scale_tile, -1, -1, 1, 2, 3, -1, 1, true)
NORM(rms_norm_grad_scale, norm_scale_tile, -1, -1, -1, 1, 2, -1, 1, false)

#else /* ---- Tiles, for one instruction set ---- */

/* Sum of (x - center)^power over a row; lanes beyond the row count as 0. */
V_INLINE float ZB_ISA(row_moment)(const float *x, int64_t width, float center, bool squared) {
  vf sum[4] = {v_set(0), v_set(0), v_set(0), v_set(0)}, c = v_set(center);
  int64_t i = 0;
  for (; i + 4 * V_LANES <= width; i += 4 * V_LANES) {
    for (int k = 0; k < 4; ++k) {
      vf d = v_load(x + i + k * V_LANES) - c;
      sum[k] = squared ? v_fma(d, d, sum[k]) : sum[k] + d;
    }
  }
  for (; i < width; i += V_LANES) {
    vf d = v_fill(v_take(x, i, width) - c, width - i, 0.0f);
    sum[0] = squared ? v_fma(d, d, sum[0]) : sum[0] + d;
  }
  return v_sum((sum[0] + sum[1]) + (sum[2] + sum[3]));
}

static void ZB_ISA(norm_tile)(void *context, int64_t tile, void *scratch) {
  const norm n = *(const norm *)context;
  int64_t end = zb_min64((tile + 1) * n.tile_rows, n.rows);
  (void)scratch;
  for (int64_t r = tile * n.tile_rows; r < end; ++r) {
    const float *x = n.x + r * n.width;
    float *out = n.out + r * n.width;
    float mean = n.centered ? ZB_ISA(row_moment)(x, n.width, 0.0f, false) / (float)n.width : 0.0f;
    float variance = ZB_ISA(row_moment)(x, n.width, mean, true) / (float)n.width, rest = 0;
    if (mean * mean > FAR * variance) {
      rest = ZB_ISA(row_moment)(x, n.width, mean, false) / (float)n.width;
      variance = fmaxf(variance - rest * rest, 0);
    }
    float rstd = 1.0f / sqrtf(variance + n.epsilon);
    if (n.mean_out) n.mean_out[r] = mean;
    n.rstd_out[r] = rstd;
    for (int64_t i = 0; i < n.width; i += V_LANES) {
      vf y = (v_take(x, i, n.width) - v_set(mean) - v_set(rest)) * v_set(rstd) * v_take(n.scale, i, n.width);
      if (n.bias) y = y + v_take(n.bias, i, n.width);
      v_give(out, y, i, n.width);
    }
  }
}

/* dx = rstd (g - mean(g) - xhat mean(g xhat)) + residual, g = dout scale; without centring there is no mean(g). */
static void ZB_ISA(norm_grad_tile)(void *context, int64_t tile, void *scratch) {
  const norm n = *(const norm *)context;
  int64_t end = zb_min64((tile + 1) * n.tile_rows, n.rows);
  (void)scratch;
  for (int64_t r = tile * n.tile_rows; r < end; ++r) {
    const float *x = n.x + r * n.width, *dout = n.dout + r * n.width;
    vf mean = v_set(n.centered ? n.mean[r] : 0.0f), rstd = v_set(n.rstd[r]);
    vf sum[2] = {v_set(0), v_set(0)}, product[2] = {v_set(0), v_set(0)};
    for (int64_t i = 0, k = 0; i < n.width; i += V_LANES, k ^= 1) {
      vf g = v_take(dout, i, n.width) * v_take(n.scale, i, n.width); /* 0 beyond the row */
      sum[k] = sum[k] + g;
      product[k] = v_fma(g, (v_take(x, i, n.width) - mean) * rstd, product[k]);
    }
    vf mean_g = v_set(n.centered ? v_sum(sum[0] + sum[1]) / (float)n.width : 0.0f);
    vf mean_product = v_set(v_sum(product[0] + product[1]) / (float)n.width);
    for (int64_t i = 0; i < n.width; i += V_LANES) {
      vf g = v_take(dout, i, n.width) * v_take(n.scale, i, n.width), xhat = (v_take(x, i, n.width) - mean) * rstd;
      vf dx = rstd * ((g - mean_g) - xhat * mean_product);
      if (n.residual) dx = v_take(n.residual + r * n.width, i, n.width) + dx;
      v_give(n.out + r * n.width, dx, i, n.width);
    }
  }
}

/* dscale = sum over rows of dout xhat, for TILE_COLUMNS columns. */
static void ZB_ISA(norm_scale_tile)(void *context, int64_t tile, void *scratch) {
  const norm n = *(const norm *)context;
  int64_t first = tile * TILE_COLUMNS, width = zb_min64(TILE_COLUMNS, n.width - first);
  vf total[TILE_COLUMNS / V_LANES], part[TILE_COLUMNS / V_LANES];
  (void)scratch;
  for (int v = 0; v < TILE_COLUMNS / V_LANES; ++v)
    total[v] = v_set(0);
  for (int64_t start = 0; start < n.rows; start += BLOCK_ROWS) {
    for (int v = 0; v < TILE_COLUMNS / V_LANES; ++v)
      part[v] = v_set(0);
    int64_t end = zb_min64(start + BLOCK_ROWS, n.rows);
    for (int64_t r = start; r < end; ++r) {
      const float *x = n.x + r * n.width + first, *dout = n.dout + r * n.width + first;
      vf mean = v_set(n.centered ? n.mean[r] : 0.0f), rstd = v_set(n.rstd[r]);
      for (int v = 0; v * V_LANES < width; ++v)
        part[v] = v_fma(v_take(dout, v * V_LANES, width), (v_take(x, v * V_LANES, width) - mean) * rstd, part[v]);
    }
    for (int v = 0; v < TILE_COLUMNS / V_LANES; ++v)
      total[v] = total[v] + part[v];
  }
  float *out = n.out + first;
  for (int v = 0; v * V_LANES < width; ++v) {
    if (n.accumulate) total[v] = v_take(out, v * V_LANES, width) + total[v];
    v_give(out, total[v], v * V_LANES, width);
  }
}
#endif
