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

enum { BLOCK_ROWS = 64, TILE_COLUMNS = 128 };

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

static norm norm_init(const zb_kernel_call *call) {
  const zb_tensor *x = &call->inputs[0];
  int64_t axis = zb_attr_int(&call->attrs, "axis", x->rank - 1);
  int64_t width = zb_inner(x, axis);
  return (norm){.rows = zb_outer(x, axis),
                .width = width,
                .tile_rows = zb_tile_rows(width),
                .x = x->data,
                .epsilon = (float)zb_attr_float(&call->attrs, "epsilon", 1e-5),
                .out = call->outputs[0].data,
                .accumulate = call->accumulate};
}

static const float *data_of(const zb_tensor *x) { return x ? x->data : NULL; }

static const char *over_rows(const zb_kernel_call *call, const norm *n, zb_tile_run run) {
  norm copy = *n;
  if (n->width > 0) zb_parallel_for(call->threads, zb_ceil_div(n->rows, n->tile_rows), run, &copy);
  return NULL;
}

const char *zb_cpu_layer_norm(const zb_kernel_call *call) {
  static const zb_tile_run tiles[] = ZB_ISA_ROW(norm_tile);
  norm n = norm_init(call);
  n.scale = call->inputs[1].data;
  n.bias = data_of(zb_call_input(call, 2));
  n.mean_out = call->outputs[1].data;
  n.rstd_out = call->outputs[2].data;
  n.centered = true;
  return over_rows(call, &n, tiles[zb_isa()]);
}

const char *zb_cpu_rms_norm(const zb_kernel_call *call) {
  static const zb_tile_run tiles[] = ZB_ISA_ROW(norm_tile);
  norm n = norm_init(call);
  n.scale = call->inputs[1].data;
  n.rstd_out = call->outputs[1].data;
  return over_rows(call, &n, tiles[zb_isa()]);
}

const char *zb_cpu_layer_norm_grad_x(const zb_kernel_call *call) {
  static const zb_tile_run tiles[] = ZB_ISA_ROW(norm_grad_tile);
  norm n = norm_init(call);
  n.scale = call->inputs[1].data;
  n.mean = call->inputs[2].data;
  n.rstd = call->inputs[3].data;
  n.dout = call->inputs[4].data;
  n.residual = data_of(zb_call_input(call, 5));
  n.centered = true;
  return over_rows(call, &n, tiles[zb_isa()]);
}

const char *zb_cpu_rms_norm_grad_x(const zb_kernel_call *call) {
  static const zb_tile_run tiles[] = ZB_ISA_ROW(norm_grad_tile);
  norm n = norm_init(call);
  n.scale = call->inputs[1].data;
  n.rstd = call->inputs[2].data;
  n.dout = call->inputs[3].data;
  n.residual = data_of(zb_call_input(call, 4));
  return over_rows(call, &n, tiles[zb_isa()]);
}

static const char *grad_scale(const zb_kernel_call *call, bool centered) {
  static const zb_tile_run tiles[] = ZB_ISA_ROW(norm_scale_tile);
  norm n = norm_init(call);
  n.centered = centered;
  n.mean = centered ? call->inputs[1].data : NULL;
  n.rstd = call->inputs[centered ? 2 : 1].data;
  n.dout = call->inputs[centered ? 3 : 2].data;
  zb_parallel_for(call->threads, zb_ceil_div(n.width, TILE_COLUMNS), tiles[zb_isa()], &n);
  return NULL;
}

const char *zb_cpu_layer_norm_grad_scale(const zb_kernel_call *call) { return grad_scale(call, true); }
const char *zb_cpu_rms_norm_grad_scale(const zb_kernel_call *call) { return grad_scale(call, false); }

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
    float variance = ZB_ISA(row_moment)(x, n.width, mean, true) / (float)n.width;
    float rstd = 1.0f / sqrtf(variance + n.epsilon);
    if (n.mean_out) n.mean_out[r] = mean;
    n.rstd_out[r] = rstd;
    for (int64_t i = 0; i < n.width; i += V_LANES) {
      vf y = (v_take(x, i, n.width) - v_set(mean)) * v_set(rstd) * v_take(n.scale, i, n.width);
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
