/* zb.matmul: the product of the last two dimensions plus a bias a column, the leading dimensions broadcast. */
#include "kernels/cpu/ref/ref.h"

/* A matrix operand: its leading dimensions as a tensor of their own, and rows and columns as the product sees them. */
typedef struct matrix {
  zb_tensor batch;
  int64_t rows, columns, row_stride, column_stride;
} matrix;

static matrix matrix_of(const zb_tensor *tensor, bool transposed) {
  int row = tensor->rank - 2 + (transposed ? 1 : 0), column = tensor->rank - 1 - (transposed ? 1 : 0);
  matrix out = {*tensor, tensor->shape[row], tensor->shape[column], tensor->strides[row], tensor->strides[column]};
  out.batch.rank -= 2;
  return out;
}

const char *zb_ref_matmul(const zb_kernel_call *call) {
  ZB_REF_TRY(zb_ref_check(call, 2, 1, true));
  const zb_tensor *lhs = &call->inputs[0], *rhs = &call->inputs[1], *out = &call->outputs[0];
  const zb_tensor *bias = zb_call_input(call, 2);
  if (!zb_dtype_is_float(out->dtype) || !zb_dtype_is_float(lhs->dtype) || lhs->dtype != rhs->dtype)
    return ZB_REF_BAD_TYPE;
  if (lhs->rank < 2 || rhs->rank < 2 || out->rank < 2) return "operands of a matrix product need rank 2 or more";
  matrix a = matrix_of(lhs, zb_attr_bool(&call->attrs, "transpose_lhs", false));
  matrix b = matrix_of(rhs, zb_attr_bool(&call->attrs, "transpose_rhs", false));
  matrix c = matrix_of(out, false);
  if (a.rows != c.rows || b.columns != c.columns || a.columns != b.rows) return ZB_REF_BAD_SHAPE;
  if (bias && bias->dtype != out->dtype) return ZB_REF_BAD_TYPE;
  if (bias && (bias->rank != 1 || bias->shape[0] != c.columns)) return ZB_REF_BAD_SHAPE;
  zb_ref_walk walk;
  zb_ref_walk_init(&walk, &c.batch);
  if (!zb_ref_walk_add(&walk, &a.batch) || !zb_ref_walk_add(&walk, &b.batch)) return ZB_REF_BAD_SHAPE;
  ZB_REF_CHECKED(call);
  for (; walk.left > 0; zb_ref_walk_next(&walk))
    for (int64_t i = 0; i < c.rows; ++i)
      for (int64_t j = 0; j < c.columns; ++j) {
        int64_t from_a = walk.offset[1] + i * a.row_stride, from_b = walk.offset[2] + j * b.column_stride;
        double total = bias ? zb_ref_get(bias, j * bias->strides[0]) : 0;
        for (int64_t k = 0; k < a.columns; ++k)
          total += zb_ref_get(lhs, from_a + k * a.column_stride) * zb_ref_get(rhs, from_b + k * b.row_stride);
        zb_ref_put(out, walk.offset[0] + i * c.row_stride + j * c.column_stride, total, call->accumulate);
      }
  return NULL;
}
