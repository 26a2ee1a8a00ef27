/* Matrix products: strided operands, broadcast batches, tiles of dnnl_sgemm.
 *
 * The tile grid depends on shapes only. Large products are cut so that several threads find work; small batched ones
 * are grouped. A bias is added to a tile while it is in cache. Operands in bf16 are widened block by block into scratch,
 * summed in f32 over the blocks of k in order, and the result is stored as f32 (into an f32 sum directly) or rounded once.
 * Tests: test/kernels/fast_matmul_test.c, test/kernels/fast_bf16_test.c
 */
#ifndef ZB_ISA_LEVEL
#include "kernels/cpu/bf16.h"
#include "kernels/cpu/isa.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/sgemm.h"

#include <stdatomic.h>
#include <string.h>

#define ZB_ISA_BODY "kernels/cpu/matmul.c"
#include "kernels/cpu/isa_each.h"

typedef void (*add_bias)(float *out, int64_t stride, int64_t rows, int64_t columns, const float *bias);

typedef struct product {
  int64_t m, n, k;
  zb_matrix lhs, rhs; /* with bf16 operands data is NULL, and these say where they lie: */
  const uint16_t *narrow_lhs, *narrow_rhs;
  float *out;
  uint16_t *narrow_out; /* instead of out, for a bf16 result */
  const zb_tensor *bias; /* of the type of the result; NULL: none */
  add_bias add_bias;
  bool accumulate;
  zb_loop batch; /* of the leading dimensions; operands: lhs, rhs */
  int64_t tile_m, tile_n, tiles_m, tiles_n;
  int64_t group; /* batches a tile, when tiles_m == tiles_n == 1 */
  atomic_bool failed;
} product;

/* The last two dimensions of an operand, as they are read. */
static void read_matrix(const zb_tensor *x, bool transpose, zb_matrix *matrix, int64_t *rows, int64_t *columns) {
  int row = x->rank - (transpose ? 1 : 2), column = x->rank - (transpose ? 2 : 1);
  *matrix = (zb_matrix){x->dtype == ZB_F32 ? x->data : NULL, x->strides[row], x->strides[column]};
  *rows = x->shape[row];
  *columns = x->shape[column];
}

static zb_tensor leading_dimensions(const zb_tensor *x) {
  zb_tensor leading = *x;
  leading.rank -= 2;
  return leading;
}

/* Leading dimensions become rows of one product where the rhs has none and those of the lhs lie one after the other. */
static void fold_batch(product *p) {
  zb_loop *batch = &p->batch;
  if (batch->rank != 1 || batch->strides[1][0] != 0) return;
  if (p->m == 1)
    p->lhs.row_stride = batch->strides[0][0];
  else if (batch->strides[0][0] != p->m * p->lhs.row_stride)
    return;
  if (!zb_sgemm_readable(p->m * batch->shape[0], p->k, p->lhs.row_stride, p->lhs.column_stride)) return;
  p->m *= batch->shape[0];
  batch->rank = 0;
  batch->elements = 1;
}

static bool product_init(product *p, const zb_kernel_call *call) {
  const zb_tensor *lhs = &call->inputs[0], *rhs = &call->inputs[1], *out = &call->outputs[0];
  int64_t rhs_k;
  if (lhs->rank < 2 || rhs->rank < 2 || out->rank < 2) return false;
  read_matrix(lhs, zb_attr_bool(&call->attrs, "transpose_lhs", false), &p->lhs, &p->m, &p->k);
  read_matrix(rhs, zb_attr_bool(&call->attrs, "transpose_rhs", false), &p->rhs, &rhs_k, &p->n);
  if (rhs_k != p->k) return false;
  zb_tensor space = leading_dimensions(out), left = leading_dimensions(lhs), right = leading_dimensions(rhs);
  const zb_tensor *const operands[2] = {&left, &right};
  if (!zb_loop_init(&p->batch, &space, operands, 2)) return false;
  bool narrow = lhs->dtype == ZB_BF16;
  p->narrow_lhs = narrow ? lhs->data : NULL;
  p->narrow_rhs = narrow ? rhs->data : NULL;
  p->out = out->dtype == ZB_F32 ? out->data : NULL;
  p->narrow_out = out->dtype == ZB_BF16 ? out->data : NULL;
  p->accumulate = call->accumulate;
  static const add_bias add_biases[] = ZB_ISA_ROW(add_bias_rows);
  p->add_bias = add_biases[zb_isa()];
  p->bias = zb_call_input(call, 2);
  if (p->bias && (p->bias->dtype != out->dtype || p->bias->rank != 1 || p->bias->shape[0] != p->n || p->k == 0)) return false;
  if (p->bias && !zb_tensor_contiguous(p->bias)) return false;
  if (!zb_sgemm_readable(p->m, p->k, p->lhs.row_stride, p->lhs.column_stride)) return false;
  if (!zb_sgemm_readable(p->k, p->n, p->rhs.row_stride, p->rhs.column_stride)) return false;
  fold_batch(p);
  return true;
}

bool zb_cpu_matmul_matches(const zb_kernel_call *call) {
  product p;
  zb_dtype dtype = call->inputs[0].dtype, result = call->outputs[0].dtype;
  if (!zb_is_f32_or_bf16(dtype) || call->inputs[1].dtype != dtype) return false;
  if (result != dtype && result != ZB_F32) return false;
  return product_init(&p, call);
}

/* Measured on AVX-512: a call of dnnl_sgemm packs its operands again, so large tiles are faster (128 x 384 loses 2 % to
 * 512 x 768, 32 x 384 a third), and most of all where the rhs is read transposed, which wants tall tiles. TILE_FLOPS is
 * 0.1 ms, GROUP_FLOPS the same for small products. */
enum { TILE_M = 256, TILE_N = 768, TILE_M_LEAST = 128, TILE_N_LEAST = 192, TILES_WANTED = 8 };
static const double tile_flops = 16e6, group_flops = 4e6;

/* Cuts `size` into equal parts of at most `most`, rounded up to `unit`. */
static int64_t part_size(int64_t size, int64_t most, int64_t unit) {
  int64_t parts = zb_ceil_div(size, most);
  return zb_min64(size, zb_ceil_div(zb_ceil_div(size, parts), unit) * unit);
}

/* From large tiles, halves the one side or the other until there are enough for several threads. */
static void choose_tiles(product *p) {
  int64_t most_m = TILE_M, most_n = TILE_N;
  double flops = 2.0 * (double)p->m * (double)p->n * (double)p->k;
  int64_t wanted = zb_min64(TILES_WANTED, (int64_t)(flops / tile_flops));
  wanted = zb_max64(1, zb_ceil_div(wanted, p->batch.elements));
  bool rhs_transposed = p->rhs.column_stride != 1 && p->n > 1;
  for (;;) {
    p->tile_m = part_size(p->m, most_m, 16);
    p->tile_n = part_size(p->n, most_n, 48);
    p->tiles_m = zb_ceil_div(p->m, p->tile_m);
    p->tiles_n = zb_ceil_div(p->n, p->tile_n);
    bool can_m = p->tile_m > TILE_M_LEAST, can_n = p->tile_n > TILE_N_LEAST;
    if (p->tiles_m * p->tiles_n >= wanted || (!can_m && !can_n)) break;
    bool wide = p->tile_n > (rhs_transposed ? p->tile_m : 3 * p->tile_m);
    if (can_n && (wide || !can_m))
      most_n = zb_max64(TILE_N_LEAST, zb_ceil_div(p->tile_n, 2));
    else
      most_m = zb_max64(TILE_M_LEAST, zb_ceil_div(p->tile_m, 2));
  }
  p->group = 1;
  if (p->tiles_m * p->tiles_n == 1) p->group = zb_max64(1, (int64_t)(group_flops / (flops > 1 ? flops : 1)));
}

static void product_tile(void *context, int64_t tile, void *scratch) {
  product *p = context;
  int64_t in_batch = p->tiles_m * p->tiles_n;
  int64_t first = tile / in_batch * p->group, end = zb_min64(first + p->group, p->batch.elements);
  int64_t row = tile % in_batch / p->tiles_n * p->tile_m, column = tile % p->tiles_n * p->tile_n;
  int64_t m = zb_min64(p->tile_m, p->m - row), n = zb_min64(p->tile_n, p->n - column);
  (void)scratch;
  for (int64_t i = first; i < end; i++) {
    zb_matrix lhs = p->lhs, rhs = p->rhs;
    lhs.data += zb_loop_offset(&p->batch, 0, p->batch.rank, i) + row * lhs.row_stride;
    rhs.data += zb_loop_offset(&p->batch, 1, p->batch.rank, i) + column * rhs.column_stride;
    float *out = p->out + (i * p->m + row) * p->n + column;
    if (!zb_sgemm(m, n, p->k, 1.0f, lhs, rhs, p->accumulate, out, p->n)) atomic_store(&p->failed, true);
    if (p->bias) p->add_bias(out, p->n, m, n, (const float *)p->bias->data + column);
  }
}

/* ---- Products of bf16 ---- */

/* A block of the result, and how much of k is widened at a time. */
enum { NARROW_M = 192, NARROW_N = 192, NARROW_K = 512 };
_Static_assert(((NARROW_M + NARROW_N) * NARROW_K + NARROW_M * NARROW_N) * sizeof(float) <= ZB_SCRATCH_BYTES,
               "blocks of lhs and rhs, and of the result");

/* rows x columns elements in `to` as f32, along the side that is dense in memory. */
static zb_matrix widen_block(const uint16_t *from, zb_matrix where, int64_t rows, int64_t columns, float *to) {
  bool by_rows = where.column_stride == 1 || columns <= 1;
  int64_t lines = by_rows ? rows : columns, length = by_rows ? columns : rows;
  int64_t step = by_rows ? where.row_stride : where.column_stride;
  for (int64_t i = 0; i < lines; i++)
    zb_bf16_widen(to + i * length, from + i * step, length);
  return by_rows ? (zb_matrix){to, length, 1} : (zb_matrix){to, 1, length};
}

/* One block of the result of batch entry i: sums over blocks of k in order. */
static bool narrow_block(const product *p, int64_t i, int64_t row, int64_t column, int64_t m, int64_t n, float *scratch) {
  const uint16_t *lhs = p->narrow_lhs + zb_loop_offset(&p->batch, 0, p->batch.rank, i) + row * p->lhs.row_stride;
  const uint16_t *rhs = p->narrow_rhs + zb_loop_offset(&p->batch, 1, p->batch.rank, i) + column * p->rhs.column_stride;
  float *left = scratch, *right = left + NARROW_M * NARROW_K, *block = right + NARROW_N * NARROW_K;
  int64_t at = (i * p->m + row) * p->n + column, stride = p->out ? p->n : n;
  float *out = p->out ? p->out + at : block;
  for (int64_t j = 0; j < m && p->narrow_out && p->accumulate; j++)
    zb_bf16_widen(block + j * n, p->narrow_out + at + j * p->n, n);
  for (int64_t k = 0; k < p->k; k += NARROW_K) {
    int64_t depth = zb_min64(NARROW_K, p->k - k);
    zb_matrix a = widen_block(lhs + k * p->lhs.column_stride, p->lhs, m, depth, left);
    zb_matrix b = widen_block(rhs + k * p->rhs.row_stride, p->rhs, depth, n, right);
    if (!zb_sgemm(m, n, depth, 1.0f, a, b, p->accumulate || k > 0, out, stride)) return false;
  }
  float row_of_bias[NARROW_N];
  if (p->bias) p->add_bias(out, stride, m, n, zb_row_f32(p->bias->data, p->bias->dtype, column, n, row_of_bias));
  for (int64_t j = 0; j < m && p->narrow_out; j++)
    zb_bf16_narrow(p->narrow_out + at + j * p->n, block + j * n, n);
  return true;
}

static void narrow_tile(void *context, int64_t tile, void *scratch) {
  product *p = context;
  int64_t in_batch = p->tiles_m * p->tiles_n;
  int64_t first = tile / in_batch * p->group, end = zb_min64(first + p->group, p->batch.elements);
  int64_t row = tile % in_batch / p->tiles_n * p->tile_m, column = tile % p->tiles_n * p->tile_n;
  int64_t m = zb_min64(p->tile_m, p->m - row), n = zb_min64(p->tile_n, p->n - column);
  for (int64_t i = first; i < end; i++)
    if (!narrow_block(p, i, row, column, m, n, scratch)) atomic_store(&p->failed, true);
}

static void choose_narrow_tiles(product *p) {
  double flops = 2.0 * (double)p->m * (double)p->n * (double)p->k;
  p->tile_m = part_size(p->m, NARROW_M, 16);
  p->tile_n = part_size(p->n, NARROW_N, 48);
  p->tiles_m = zb_ceil_div(p->m, p->tile_m);
  p->tiles_n = zb_ceil_div(p->n, p->tile_n);
  p->group = p->tiles_m * p->tiles_n == 1 ? zb_max64(1, (int64_t)(group_flops / (flops > 1 ? flops : 1))) : 1;
}

const char *zb_cpu_matmul(const zb_kernel_call *call) {
  product p;
  if (!product_init(&p, call)) return "the operands of the product do not fit";
  if (p.m == 0 || p.n == 0 || p.batch.elements == 0) return NULL;
  if (p.k == 0) {
    if (!p.accumulate)
      memset(call->outputs[0].data, 0, (size_t)(p.batch.elements * p.m * p.n) * zb_dtype_bytes(call->outputs[0].dtype));
    return NULL;
  }
  bool narrow = call->inputs[0].dtype == ZB_BF16;
  if (narrow)
    choose_narrow_tiles(&p);
  else
    choose_tiles(&p);
  atomic_init(&p.failed, false);
  int64_t groups = zb_ceil_div(p.batch.elements, p.group);
  zb_parallel_for(call->threads, groups * p.tiles_m * p.tiles_n, narrow ? narrow_tile : product_tile, &p);
  return atomic_load(&p.failed) ? "the matrix product ran out of memory" : NULL;
}

#else /* ---- Bias, for one instruction set ---- */

static void ZB_ISA(add_bias_rows)(float *out, int64_t stride, int64_t rows, int64_t columns, const float *bias) {
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < columns; j += V_LANES)
      v_give(out + i * stride, v_take(out + i * stride, j, columns) + v_take(bias, j, columns), j, columns);
}
#endif
