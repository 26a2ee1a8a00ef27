/* What a product is, for the kernels that compute it. Private to kernels/cuda. */
#pragma once

#include "kernels/cuda/common.h"

/* A matrix of an operand, in elements; the first of its batch. */
typedef struct zb_cuda_matrix {
  void *data;
  int64_t rows, columns, row_stride, column_stride;
} zb_cuda_matrix;

/* out[batch] (+)= lhs[batch] * rhs[batch] + bias: m x n, over k. out is contiguous; bias[n] is of its type, NULL: none.
 * bias_gradient[n], of the same type, NULL: none, gets the sums of the columns of rhs, which of a gradient of weights
 * is that of the results. Not with bias or batches. */
typedef struct zb_cuda_product {
  zb_cuda_matrix lhs, rhs;
  void *out;
  const void *bias;
  void *bias_gradient;
  zb_dtype in_dtype, out_dtype;
  int64_t m, n, k, batches;
  bool accumulate;
  zb_cuda_dims lhs_batch, rhs_batch;
} zb_cuda_product;

/* Fills it from a call of zb.matmul; false where the call is none that a kernel here takes. */
bool zb_cuda_product_of(const zb_kernel_call *call, zb_cuda_product *p);
/* Enqueues it as calls of cuBLASLt (on->blas is not NULL); *done is false, and nothing was enqueued, where the library
 * does not take it. */
zb_status zb_cuda_blas_product(zb_cuda_launcher *on, const zb_cuda_product *p, bool *done) ZB_MUST_USE;
