/* Products: by cuBLASLt (blas.c), else by the own kernel, which takes any strides (matmul.cu). */
#include "kernels/cuda/matmul.h"
#include "kernels/cuda/kernels.h"

#include <string.h>

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
  p->bias_gradient = NULL;
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

/* ---- The gradients of a linear layer's weights and bias, in one call of the library ---- */

/* The last axis stays. */
static bool sums_columns(const zb_kernel_call *call) {
  const zb_attr *axes = zb_attr_find(&call->attrs, "axes");
  const zb_tensor *x = &call->inputs[0];
  return x->rank == 2 && axes && axes->kind == ZB_ATTR_INTS && axes->count == 1 && axes->ints[0] == 0;
}

/* Whether operand `number` of b is operand 0 of a: the same place, shape and strides. */
static bool same_operand(const zb_cuda_item *a, const zb_cuda_item *b, int number) {
  const zb_tensor *x = &a->call->inputs[0], *y = &b->call->inputs[number];
  if (x->dtype != y->dtype || !zb_tensor_same_shape(x, y) ||
      memcmp(x->strides, y->strides, sizeof x->strides[0] * (size_t)x->rank) != 0)
    return false;
  if (!a->places || !b->places) return x->data && x->data == y->data;
  return a->places[0].base == b->places[number].base && a->places[0].offset == b->places[number].offset;
}

/* reduce_sum(dout), then x^T dout, as the pass that splits gradients leaves them: neighbours in every plan, whatever
 * its cut, since both are W of the same stage. So whether they go together, which decides the bits of the sum, does not
 * depend on the plan. */
static int linear_gradients(const zb_cuda_item *items, int count) {
  zb_cuda_product p;
  if (count < 2 || strcmp(items[1].kernel->op, "matmul") != 0 || !sums_columns(items[0].call)) return 1;
  const zb_kernel_call *sum = items[0].call, *product = items[1].call;
  if (!zb_cuda_product_of(product, &p) || zb_call_input(product, 2) || product->inputs[0].rank != 2 ||
      product->outputs[0].rank != 2)
    return 1;
  bool fits = zb_attr_bool(&product->attrs, "transpose_lhs", false) &&
              !zb_attr_bool(&product->attrs, "transpose_rhs", false) && sum->outputs[0].dtype == p.out_dtype &&
              same_operand(&items[0], &items[1], 1);
  return fits ? 2 : 1;
}

static zb_status run_linear_gradients(const zb_cuda_item *items, int count, CUdeviceptr table, zb_cuda_launcher *on) {
  zb_cuda_product p;
  bool done = false;
  (void)count, (void)table;
  (void)zb_cuda_product_of(items[1].call, &p); /* linear_gradients asked */
  p.bias_gradient = items[0].call->outputs[0].data;
  if (on->blas) ZB_TRY(zb_cuda_blas_product(on, &p, &done));
  if (done) return NULL;
  ZB_TRY(items[0].kernel->run(items[0].call, on));
  return items[1].kernel->run(items[1].call, on);
}

const zb_cuda_group zb_cuda_group_reduce_sum = {linear_gradients, zb_cuda_no_table, NULL, run_linear_gradients};

zb_status zb_cuda_run_matmul(const zb_kernel_call *call, zb_cuda_launcher *on) {
  zb_cuda_product p;
  bool done = false;
  (void)zb_cuda_product_of(call, &p); /* matches() asked */
  if (on->blas) ZB_TRY(zb_cuda_blas_product(on, &p, &done));
  if (done) return NULL;
  zb_matmul_args args = {
      .lhs = p.lhs.data, .rhs = p.rhs.data, .out = p.out, .bias = p.bias, .m = p.m, .n = p.n, .k = p.k};
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
  return zb_cuda_enqueue(on, zb_cuda_for_float(ZB_FUNCTION_zb_matmul_f32, p.in_dtype), tiles, p.batches,
                         ZB_MATMUL_THREADS, shared, &args);
}
