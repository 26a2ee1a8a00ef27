/* Matrix products: strided operands, broadcast batches, tiles for several threads.
 *
 * A tile is a part of one product (zb_sgemm), or some small products of a batch. A bias is what sums start from.
 * Operands in bf16 are widened as they are packed; the result is stored as f32 (into an f32 sum directly) or rounded
 * once, block by block. Tests: test/kernels/fast_matmul_test.c, test/kernels/fast_bf16_test.c
 */
#include "kernels/cpu/bf16.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/sgemm.h"

typedef struct product {
  int64_t m, n, k;
  zb_matrix lhs, rhs;
  float *out;
  uint16_t *narrow_out;  /* instead of out, for a bf16 result */
  const zb_tensor *bias; /* of the type of the result; NULL: none */
  bool accumulate;
  zb_loop batch; /* of the leading dimensions; operands: lhs, rhs */
  int64_t tile_m, tile_n, tiles_m, tiles_n;
  int64_t group; /* batches a tile, when tiles_m == tiles_n == 1 */
} product;

/* The last two dimensions of an operand, as they are read. */
static void read_matrix(const zb_tensor *x, bool transpose, zb_matrix *matrix, int64_t *rows, int64_t *columns) {
  int row = x->rank - (transpose ? 1 : 2), column = x->rank - (transpose ? 2 : 1);
  *matrix = (zb_matrix){x->data, x->dtype == ZB_BF16, x->strides[row], x->strides[column]};
  *rows = x->shape[row];
  *columns = x->shape[column];
}

static zb_tensor leading_dimensions(const zb_tensor *x) {
  zb_tensor leading = *x;
  leading.rank -= 2;
  return leading;
}

/* Leading dimensions become rows of one product where the rhs has none and those of the lhs lie one after the other. */
static void flatten_batch(product *p) {
  zb_loop *batch = &p->batch;
  if (batch->rank != 1 || batch->strides[1][0] != 0) return;
  if (p->m == 1)
    p->lhs.row_stride = batch->strides[0][0];
  else if (batch->strides[0][0] != p->m * p->lhs.row_stride)
    return;
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
  p->out = out->dtype == ZB_F32 ? out->data : NULL;
  p->narrow_out = out->dtype == ZB_BF16 ? out->data : NULL;
  p->accumulate = call->accumulate;
  p->bias = zb_call_input(call, 2);
  if (p->bias && (p->bias->dtype != out->dtype || p->bias->rank != 1 || p->bias->shape[0] != p->n)) return false;
  if (p->bias && (!zb_tensor_contiguous(p->bias) || p->accumulate)) return false;
  flatten_batch(p);
  return true;
}

bool zb_cpu_matmul_matches(const zb_kernel_call *call) {
  product p;
  zb_dtype dtype = call->inputs[0].dtype, result = call->outputs[0].dtype;
  if (!zb_is_f32_or_bf16(dtype) || call->inputs[1].dtype != dtype) return false;
  if (result != dtype && result != ZB_F32) return false;
  return product_init(&p, call);
}

/* TILE_FLOPS is 0.1 ms, GROUP_FLOPS a fourth of it, for small products; a result in bf16 is summed in a block of NARROW
 * x NARROW. */
enum { TILE_LEAST = 96, TILES_A_THREAD = 2, NARROW = 256 };
static const double tile_flops = 16e6, group_flops = 4e6;
_Static_assert(NARROW * NARROW * sizeof(float) + NARROW * sizeof(float) + ZB_SGEMM_PACK_BYTES <= ZB_SCRATCH_BYTES,
               "sums, bias, packed operands");

/* One tile for one thread; for several, halves the longer side until there is enough for each. The bits of a product do
 * not depend on its tiles (sgemm.h). */
static void choose_tiles(product *p, int threads) {
  int64_t most_m = p->narrow_out ? NARROW : p->m, most_n = p->narrow_out ? NARROW : p->n;
  double flops = 2.0 * (double)p->m * (double)p->n * (double)p->k;
  double wanted = threads > 1 ? (double)(TILES_A_THREAD * threads) / (double)p->batch.elements : 1;
  if (wanted > flops / tile_flops) wanted = flops / tile_flops;
  for (;;) {
    p->tile_m = zb_min64(p->m, zb_part_size(p->m, most_m, 14));
    p->tile_n = zb_min64(p->n, zb_part_size(p->n, most_n, 32));
    p->tiles_m = zb_ceil_div(p->m, p->tile_m);
    p->tiles_n = zb_ceil_div(p->n, p->tile_n);
    bool can_m = p->tile_m > TILE_LEAST, can_n = p->tile_n > TILE_LEAST;
    if ((double)(p->tiles_m * p->tiles_n) >= wanted || (!can_m && !can_n)) break;
    if (can_n && (p->tile_n >= p->tile_m || !can_m))
      most_n = zb_ceil_div(p->tile_n, 2);
    else
      most_m = zb_ceil_div(p->tile_m, 2);
  }
  p->group = p->tiles_m * p->tiles_n == 1 ? zb_max64(1, (int64_t)(group_flops / (flops > 1 ? flops : 1))) : 1;
}

/* Entry i of the batch, m x n results from (row, column) on. */
static void product_part(const product *p, int64_t i, int64_t row, int64_t column, int64_t m, int64_t n,
                         float *scratch) {
  float *pack = scratch, *sums = scratch + ZB_SGEMM_PACK_BYTES / sizeof(float), *bias = sums + NARROW * NARROW;
  int64_t at = (i * p->m + row) * p->n + column;
  zb_sgemm_call c = {.m = m, .n = n, .k = p->k, .alpha = 1, .lhs = p->lhs, .rhs = p->rhs};
  c.lhs = zb_matrix_from(p->lhs, zb_loop_offset(&p->batch, 0, p->batch.rank, i) + row * p->lhs.row_stride);
  c.rhs = zb_matrix_from(p->rhs, zb_loop_offset(&p->batch, 1, p->batch.rank, i) + column * p->rhs.column_stride);
  c.out = p->out ? p->out + at : sums;
  c.out_stride = p->out ? p->n : n;
  if (p->bias) c.start = zb_row_f32(p->bias->data, p->bias->dtype, column, n, bias);
  if (p->accumulate) c.start = c.out, c.start_stride = c.out_stride;
  for (int64_t j = 0; j < m && p->narrow_out && p->accumulate; ++j)
    zb_bf16_widen(sums + j * n, p->narrow_out + at + j * p->n, n);
  zb_sgemm(&c, pack);
  for (int64_t j = 0; j < m && p->narrow_out; ++j)
    zb_bf16_narrow(p->narrow_out + at + j * p->n, sums + j * n, n);
}

static void product_tile(void *context, int64_t tile, void *scratch) {
  const product *p = context;
  int64_t in_batch = p->tiles_m * p->tiles_n;
  int64_t first = tile / in_batch * p->group, end = zb_min64(first + p->group, p->batch.elements);
  int64_t row = tile % in_batch / p->tiles_n * p->tile_m, column = tile % p->tiles_n * p->tile_n;
  int64_t m = zb_min64(p->tile_m, p->m - row), n = zb_min64(p->tile_n, p->n - column);
  for (int64_t i = first; i < end; ++i)
    product_part(p, i, row, column, m, n, scratch);
}

const char *zb_cpu_matmul(const zb_kernel_call *call) {
  product p;
  if (!product_init(&p, call)) return "the operands of the product do not fit";
  if (p.m == 0 || p.n == 0 || p.batch.elements == 0) return NULL;
  choose_tiles(&p, zb_threads_count(call->threads));
  zb_parallel_for(call->threads, zb_ceil_div(p.batch.elements, p.group) * p.tiles_m * p.tiles_n, product_tile, &p);
  return NULL;
}
