/* Sums and means of contiguous f32, and of bf16 with f32 results, over neighbouring axes: rows (last axes), columns
 * (leading axes, as bias gradients), or the middle; and over the first and the last axes, as those of channels of
 * images.
 *
 * The tree is fixed by the shape: a row is cut into chunks of ROW_CHUNK, each summed in four vectors, and the chunks
 * are added in order, as are rows of one channel; columns are summed in blocks of BLOCK_ROWS rows that are added in
 * order. Tests:
 * test/kernels/fast_reduce_test.c
 */
#ifndef ZB_ISA_LEVEL
#include "kernels/cpu/bf16.h"
#include "kernels/cpu/isa.h"
#include "kernels/cpu/kernels.h"

#include <string.h>

/* PARTS_MAX: how many tiles share one long row. */
enum { ROW_CHUNK = 4096, BLOCK_ROWS = 64, TILE_COLUMNS = 128, PARTS_MAX = 64 };

/* The operand as [outer, count, inner], of which the middle is summed, or [planes, outer, count], of which all but the
 * middle is. */
typedef struct reduction {
  int64_t planes, outer, count, inner;
  const void *x; /* f32 or bf16: */
  zb_dtype dtype;
  float *out;
  float factor;             /* 1, or 1 / (planes * count) */
  int64_t tile_rows;        /* how many of `outer` a tile */
  int64_t parts, part_size; /* split row: elements a part */
  float partial[PARTS_MAX];
} reduction;

#define ZB_ISA_BODY "kernels/cpu/reduce.c"
#include "kernels/cpu/isa_each.h"

/* Whether the first dimensions and the last ones are reduced, and nothing between them. */
static bool around_kept(reduction *r, const zb_tensor *x, const bool reduced[ZB_DIMS_MAX]) {
  int first = 0, last = x->rank;
  while (first < x->rank && (reduced[first] || x->shape[first] == 1))
    ++first;
  while (last > first && (reduced[last - 1] || x->shape[last - 1] == 1))
    --last;
  for (int i = first; i < last; ++i)
    if (reduced[i] && x->shape[i] != 1) return false;
  r->planes = zb_shape_product(x, 0, first);
  r->outer = zb_shape_product(x, first, last);
  r->count = zb_shape_product(x, last, x->rank);
  r->inner = 1;
  return r->count > 0;
}

/* False if other axes are reduced, or the operand is not contiguous. */
static bool reduction_init(reduction *r, const zb_kernel_call *call) {
  const zb_tensor *x = &call->inputs[0];
  const zb_attr *axes = zb_attr_find(&call->attrs, "axes");
  bool reduced[ZB_DIMS_MAX] = {false};
  int count = axes ? axes->count : 0;
  for (int i = 0; i < count; ++i) {
    if (axes->ints[i] < 0 || axes->ints[i] >= x->rank) return false;
    reduced[axes->ints[i]] = true;
  }
  if (count == 0) memset(reduced, true, sizeof reduced);
  if (!zb_is_f32_or_bf16(x->dtype) || call->outputs[0].dtype != ZB_F32 || !zb_tensor_contiguous(x)) return false;
  int first = 0, end, last;
  while (first < x->rank && !(reduced[first] && x->shape[first] != 1))
    ++first;
  for (end = first; end < x->rank && (reduced[end] || x->shape[end] == 1); ++end)
    continue;
  r->x = x->data;
  r->dtype = x->dtype;
  r->out = call->outputs[0].data;
  r->planes = 1;
  for (last = end; last < x->rank; ++last)
    if (reduced[last] && x->shape[last] != 1) return around_kept(r, x, reduced);
  while (end > first && !reduced[end - 1])
    --end; /* kept dimensions of size 1 at the end: either side is right */
  r->outer = zb_shape_product(x, 0, first);
  r->count = zb_shape_product(x, first, end);
  r->inner = zb_shape_product(x, end, x->rank);
  return true;
}

static const char *reduce(const zb_kernel_call *call, bool mean) {
  static const zb_tile_run rows[] = ZB_ISA_ROW(rows_tile), columns[] = ZB_ISA_ROW(columns_tile),
                           parts[] = ZB_ISA_ROW(part_tile), planes[] = ZB_ISA_ROW(planes_tile);
  reduction r;
  if (!reduction_init(&r, call)) return "the axes or strides are not supported";
  if (r.outer == 0 || r.inner == 0) return NULL;
  r.factor = mean ? 1.0f / (float)(r.planes * r.count) : 1.0f;
  zb_isa_level isa = zb_isa();
  if (r.planes > 1) {
    r.tile_rows = zb_tile_rows(r.planes * r.count);
    zb_parallel_for(call->threads, zb_ceil_div(r.outer, r.tile_rows), planes[isa], &r);
  } else if (r.inner > 1) {
    r.tile_rows = zb_tile_rows(r.count * zb_min64(r.inner, TILE_COLUMNS));
    zb_parallel_for(call->threads, zb_ceil_div(r.outer, r.tile_rows) * zb_ceil_div(r.inner, TILE_COLUMNS), columns[isa],
                    &r);
  } else if (r.outer > 4 || r.count < 4 * ZB_TILE_ELEMENTS) {
    r.tile_rows = zb_tile_rows(r.count);
    zb_parallel_for(call->threads, zb_ceil_div(r.outer, r.tile_rows), rows[isa], &r);
  } else {
    r.part_size = zb_ceil_div(zb_ceil_div(r.count, PARTS_MAX), ROW_CHUNK) * ROW_CHUNK;
    r.parts = zb_ceil_div(r.count, r.part_size);
    const char *x = r.x;
    for (int64_t i = 0; i < r.outer; ++i) {
      r.x = x + (size_t)(i * r.count) * zb_dtype_bytes(r.dtype);
      zb_parallel_for(call->threads, r.parts, parts[isa], &r);
      float sum = 0;
      for (int64_t k = 0; k < r.parts; ++k)
        sum += r.partial[k];
      r.out[i] = sum * r.factor;
    }
  }
  return NULL;
}

const char *zb_cpu_reduce_sum(const zb_kernel_call *call) { return reduce(call, false); }
const char *zb_cpu_reduce_mean(const zb_kernel_call *call) { return reduce(call, true); }

bool zb_cpu_reduce_matches(const zb_kernel_call *call) {
  reduction r;
  return reduction_init(&r, call);
}

#else /* ---- Tiles, for one instruction set ---- */

static float ZB_ISA(chunk_sum)(const float *x, int64_t count) {
  vf sum[4] = {v_set(0), v_set(0), v_set(0), v_set(0)};
  int64_t i = 0;
  for (; i + 4 * V_LANES <= count; i += 4 * V_LANES)
    for (int k = 0; k < 4; ++k)
      sum[k] = sum[k] + v_load(x + i + k * V_LANES);
  for (; i < count; i += V_LANES)
    sum[0] = sum[0] + v_take(x, i, count);
  return v_sum((sum[0] + sum[1]) + (sum[2] + sum[3]));
}

/* Of `count` elements from `first` on; `buffer` takes a chunk. */
static float ZB_ISA(long_sum)(const reduction *r, int64_t first, int64_t count, float *buffer) {
  float sum = 0;
  for (int64_t i = 0; i < count; i += ROW_CHUNK) {
    int64_t length = zb_min64(ROW_CHUNK, count - i);
    sum += ZB_ISA(chunk_sum)(zb_row_f32(r->x, r->dtype, first + i, length, buffer), length);
  }
  return sum;
}

static void ZB_ISA(rows_tile)(void *context, int64_t tile, void *scratch) {
  const reduction *r = context;
  int64_t end = zb_min64((tile + 1) * r->tile_rows, r->outer);
  for (int64_t i = tile * r->tile_rows; i < end; ++i)
    r->out[i] = ZB_ISA(long_sum)(r, i * r->count, r->count, scratch) * r->factor;
}

static void ZB_ISA(planes_tile)(void *context, int64_t tile, void *scratch) {
  const reduction *r = context;
  int64_t end = zb_min64((tile + 1) * r->tile_rows, r->outer);
  for (int64_t i = tile * r->tile_rows; i < end; ++i) {
    float sum = 0;
    for (int64_t plane = 0; plane < r->planes; ++plane)
      sum += ZB_ISA(long_sum)(r, (plane * r->outer + i) * r->count, r->count, scratch);
    r->out[i] = sum * r->factor;
  }
}

static void ZB_ISA(part_tile)(void *context, int64_t tile, void *scratch) {
  reduction *r = context;
  int64_t first = tile * r->part_size;
  r->partial[tile] = ZB_ISA(long_sum)(r, first, zb_min64(r->part_size, r->count - first), scratch);
}

/* TILE_COLUMNS columns from `first` of one entry of `outer`. */
static void ZB_ISA(column_sums)(const reduction *r, int64_t outer, int64_t first, float *buffer) {
  int64_t width = zb_min64(TILE_COLUMNS, r->inner - first), begin = outer * r->count * r->inner + first;
  vf total[TILE_COLUMNS / V_LANES], part[TILE_COLUMNS / V_LANES];
  for (int v = 0; v < TILE_COLUMNS / V_LANES; ++v)
    total[v] = v_set(0);
  for (int64_t start = 0; start < r->count; start += BLOCK_ROWS) {
    int64_t end = zb_min64(start + BLOCK_ROWS, r->count);
    for (int v = 0; v < TILE_COLUMNS / V_LANES; ++v)
      part[v] = v_set(0);
    for (int64_t i = start; i < end; ++i) {
      const float *x = zb_row_f32(r->x, r->dtype, begin + i * r->inner, width, buffer);
      if (width == TILE_COLUMNS)
        for (int v = 0; v < TILE_COLUMNS / V_LANES; ++v)
          part[v] = part[v] + v_load(x + v * V_LANES);
      else
        for (int v = 0; v * V_LANES < width; ++v)
          part[v] = part[v] + v_take(x, v * V_LANES, width);
    }
    for (int v = 0; v < TILE_COLUMNS / V_LANES; ++v)
      total[v] = total[v] + part[v];
  }
  float *out = r->out + outer * r->inner + first;
  for (int v = 0; v * V_LANES < width; ++v)
    v_give(out, total[v] * v_set(r->factor), v * V_LANES, width);
}

static void ZB_ISA(columns_tile)(void *context, int64_t tile, void *scratch) {
  const reduction *r = context;
  int64_t tiles = zb_ceil_div(r->inner, TILE_COLUMNS), first = tile / tiles * r->tile_rows;
  for (int64_t i = first; i < zb_min64(first + r->tile_rows, r->outer); ++i)
    ZB_ISA(column_sums)(r, i, tile % tiles * TILE_COLUMNS, scratch);
}
#endif
