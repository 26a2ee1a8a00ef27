/* Products: by cuBLASLt (blas.c), else by the own kernel, which takes any strides (matmul.cu). */
#include "kernels/cuda/matmul.h"
#include "kernels/cuda/kernels.h"

/* The last two dimensions of an operand, as the product reads them. */
static zb_cuda_matrix matrix_of(const zb_tensor *x, bool transposed) {
  int row = x->rank - (transposed ? 1 : 2), column = x->rank - (transposed ? 2 : 1);
  return (zb_cuda_matrix){x->data, x->shape[row], x->shape[column], x->strides[row], x->strides[column]};
}

static zb_tensor leading_dimensions(const zb_tensor *x) {
  zb_tensor leading = *x;
  leading.rank -= 2;
  return leading;
}

bool zb_cuda_product_of(const zb_kernel_call *call, zb_cuda_product *p) {
  if (!zb_cuda_complete_up_to(call, 2, 3, 1, true)) return false;
  const zb_tensor *lhs = &call->inputs[0], *rhs = &call->inputs[1], *out = &call->outputs[0];
  if (lhs->rank < 2 || rhs->rank < 2 || out->rank < 2 || lhs->dtype != rhs->dtype) return false;
  if (!zb_cuda_is_float(lhs->dtype) || (out->dtype != lhs->dtype && out->dtype != ZB_F32)) return false;
  p->lhs = matrix_of(lhs, zb_attr_bool(&call->attrs, "transpose_lhs", false));
  p->rhs = matrix_of(rhs, zb_attr_bool(&call->attrs, "transpose_rhs", false));
  const zb_tensor *bias = call->input_count > 2 && call->inputs[2].rank >= 0 ? &call->inputs[2] : NULL;
  p->out = out->data;
  p->bias = bias ? bias->data : NULL;
  p->in_dtype = lhs->dtype;
  p->out_dtype = out->dtype;
  p->m = p->lhs.rows;
  p->n = p->rhs.columns;
  p->k = p->lhs.columns;
  p->accumulate = call->accumulate;
  if (p->rhs.rows != p->k || out->shape[out->rank - 2] != p->m || out->shape[out->rank - 1] != p->n) return false;
  if (bias && (bias->dtype != out->dtype || bias->rank != 1 || bias->shape[0] != p->n)) return false;
  if (bias && bias->strides[0] != 1 && p->n > 1) return false;
  zb_tensor space = leading_dimensions(out), left = leading_dimensions(lhs), right = leading_dimensions(rhs);
  p->batches = zb_tensor_elements(&space);
  return zb_cuda_dims_all(&space, &left, &p->lhs_batch) && zb_cuda_dims_all(&space, &right, &p->rhs_batch);
}

bool zb_cuda_matches_matmul(const zb_kernel_call *call) {
  zb_cuda_product p;
  return zb_cuda_product_of(call, &p);
}

zb_status zb_cuda_run_matmul(const zb_kernel_call *call, zb_cuda_launcher *on) {
  zb_cuda_product p;
  bool done = false;
  (void)zb_cuda_product_of(call, &p); /* matches() asked */
  if (on->blas) ZB_TRY(zb_cuda_blas_product(on, &p, &done));
  if (done) return NULL;
  zb_matmul_args args = {.lhs = p.lhs.data, .rhs = p.rhs.data, .out = p.out, .bias = p.bias, .m = p.m, .n = p.n, .k = p.k};
  args.lhs_row = p.lhs.row_stride;
  args.lhs_column = p.lhs.column_stride;
  args.rhs_row = p.rhs.row_stride;
  args.rhs_column = p.rhs.column_stride;
  args.out_dtype = (int32_t)p.out_dtype;
  args.accumulate = p.accumulate;
  args.lhs_batch = p.lhs_batch;
  args.rhs_batch = p.rhs_batch;
  int64_t tiles = zb_ceil_div(p.m, ZB_MATMUL_TILE) * zb_ceil_div(p.n, ZB_MATMUL_TILE);
  int64_t shared = 2 * ZB_MATMUL_DEPTH * (ZB_MATMUL_TILE + 4) * (int64_t)sizeof(float);
  return zb_cuda_enqueue(on, zb_cuda_for_float(ZB_FUNCTION_zb_matmul_f32, p.in_dtype), tiles, p.batches, ZB_MATMUL_THREADS, shared, &args);
}
