/* What a parameter gives to the norm of all gradients: zb.square_sum and zb.abs_max of contiguous f32. The tree is that
 * of zb/ops.def, the same for every instruction set. Tests: test/kernels/fast_clip_test.c */
#ifndef ZB_ISA_LEVEL
#include "kernels/cpu/common.h"
#include "kernels/cpu/isa.h"
#include "kernels/cpu/kernels.h"

enum { BLOCK = 4096, LANES = 16, TILE_BLOCKS = ZB_TILE_ELEMENTS / BLOCK };

typedef double lanes __attribute__((vector_size(LANES * sizeof(double))));
typedef float narrow __attribute__((vector_size(LANES * sizeof(float))));

typedef struct part {
  const float *x;
  int64_t elements;
  double *sums; /* one a block */
} part;

static double add_lanes(const double *lane) {
  double half[LANES / 2];
  for (int k = 0; k < LANES / 2; ++k)
    half[k] = lane[k] + lane[k + LANES / 2];
  for (int left = LANES / 4; left > 0; left /= 2)
    for (int k = 0; k < left; ++k)
      half[k] += half[k + left];
  return half[0];
}

#define ZB_ISA_BODY "kernels/cpu/clip.c"
#include "kernels/cpu/isa_each.h"

/* The sums of blocks are added as the elements of a block are, in place: block k is read before sum k is written. */
static double add_blocks(double *sums, int64_t count) {
  while (count > 1) {
    const int64_t blocks = zb_ceil_div(count, BLOCK);
    for (int64_t b = 0; b < blocks; ++b) {
      double lane[LANES] = {0};
      for (int64_t i = b * BLOCK; i < zb_min64((b + 1) * BLOCK, count); ++i)
        lane[i % LANES] += sums[i];
      sums[b] = add_lanes(lane);
    }
    count = blocks;
  }
  return count ? sums[0] : 0;
}

static double greatest(const double *maxima, int64_t count) {
  double most = 0;
  for (int64_t i = 0; i < count; ++i)
    if (maxima[i] > most || isnan(maxima[i])) most = maxima[i];
  return most;
}

static const char *run(const zb_kernel_call *call, const zb_tile_run *tiles, bool squares) {
  const double scale = zb_attr_number(call, "scale", 1);
  double one = 0;
  part p = {.x = call->inputs[0].data, .elements = zb_tensor_elements(&call->inputs[0])};
  const int64_t blocks = zb_ceil_div(p.elements, BLOCK);
  p.sums = blocks > 1 ? call->workspace : &one;
  zb_parallel_for(call->threads, zb_ceil_div(blocks, TILE_BLOCKS), tiles[zb_isa()], &p);
  *(double *)call->outputs[0].data =
      squares ? scale * scale * add_blocks(p.sums, blocks) : scale * greatest(p.sums, blocks);
  return NULL;
}

const char *zb_cpu_square_sum(const zb_kernel_call *call) {
  static const zb_tile_run tiles[] = ZB_ISA_ROW(square_tile);
  return run(call, tiles, true);
}

const char *zb_cpu_abs_max(const zb_kernel_call *call) {
  static const zb_tile_run tiles[] = ZB_ISA_ROW(largest_tile);
  return run(call, tiles, false);
}

bool zb_cpu_part_matches(const zb_kernel_call *call) {
  return call->inputs[0].dtype == ZB_F32 && zb_tensor_contiguous(&call->inputs[0]) && call->outputs[0].dtype == ZB_F64;
}

#else /* ---- Tiles, for one instruction set ---- */

static void ZB_ISA(square_tile)(void *context, int64_t tile, void *scratch) {
  const part *p = context;
  (void)scratch;
  for (int64_t b = tile * TILE_BLOCKS; b < (tile + 1) * TILE_BLOCKS && b * BLOCK < p->elements; ++b) {
    const int64_t end = zb_min64((b + 1) * BLOCK, p->elements);
    int64_t i = b * BLOCK;
    lanes sum = {0};
    double lane[LANES];
    for (; i + LANES <= end; i += LANES) {
      narrow x;
      memcpy(&x, p->x + i, sizeof x);
      const lanes wide = __builtin_convertvector(x, lanes);
      sum += wide * wide; /* the product is exact, so fused or not makes no difference */
    }
    memcpy(lane, &sum, sizeof lane);
    for (int k = 0; i < end; ++i, ++k)
      lane[k] += (double)p->x[i] * (double)p->x[i];
    p->sums[b] = add_lanes(lane);
  }
}

static void ZB_ISA(largest_tile)(void *context, int64_t tile, void *scratch) {
  const part *p = context;
  (void)scratch;
  for (int64_t b = tile * TILE_BLOCKS; b < (tile + 1) * TILE_BLOCKS && b * BLOCK < p->elements; ++b) {
    const int64_t end = zb_min64((b + 1) * BLOCK, p->elements);
    vf most = v_set(0), nans = v_set(0);
    for (int64_t i = b * BLOCK; i < end; i += V_LANES) {
      const vf x = v_abs(v_take(p->x, i, end));
      most = v_max(x, most);
      nans = v_select(v_nan(x), x, nans);
    }
    float lane[V_LANES], nan[V_LANES];
    double largest = 0;
    v_store(lane, most);
    v_store(nan, nans);
    for (int k = 0; k < V_LANES; ++k) {
      if (lane[k] > largest) largest = lane[k];
      if (isnan(nan[k])) largest = nan[k];
    }
    p->sums[b] = largest;
  }
}
#endif
