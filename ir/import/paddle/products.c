/* Products, tables, normalizations. Tests: test/ir/import/paddle. */
#include "ir/import/paddle/paddle.h"

zb_result zb_paddle_matmul(zb_import_node *n) {
  zb_operand x = zb_paddle_in(n, "X"), y = zb_paddle_in(n, "Y");
  if (zb_paddle_integer(n, "trans_x transpose_x", 0)) x = zb_meaning_swapped(n, x);
  if (zb_paddle_integer(n, "trans_y transpose_y", 0)) y = zb_meaning_swapped(n, y);
  return zb_paddle_give(n, "Out", x && y ? zb_meaning_product(n, x, y) : NULL);
}

/* beta input + alpha x y. */
zb_result zb_paddle_addmm(zb_import_node *n) {
  zb_operand input = zb_paddle_in(n, "Input"), x = zb_paddle_in(n, "X"), y = zb_paddle_in(n, "Y");
  const double alpha = zb_paddle_real(n, "Alpha alpha", 1), beta = zb_paddle_real(n, "Beta beta", 1);
  if (!input || !x || !y) return ZB_FAIL;
  return zb_paddle_give(n, "Out", zb_meaning_weighted_sum(n, zb_meaning_product(n, x, y), alpha, input, beta));
}

/* Matrices of tensors: dimensions before x_num_col_dims are rows. */
zb_result zb_paddle_mul(zb_import_node *n) {
  zb_shape left, right, out = {.rank = 0};
  zb_operand x = zb_paddle_in(n, "X"), y = zb_paddle_in(n, "Y");
  const int64_t rows = zb_paddle_integer(n, "x_num_col_dims", 1), inner = zb_paddle_integer(n, "y_num_col_dims", 1);
  if (!zb_operand_shape(n, x, &left) || !zb_operand_shape(n, y, &right)) return ZB_FAIL;
  if (rows < 1 || rows >= left.rank || inner < 1 || inner >= right.rank)
    return zb_paddle_refuse_attribute(n, "x_num_col_dims", NULL);
  if (rows + right.rank - inner > ZB_DIMS_MAX) return zb_import_refuse(n, NULL, "its result has too many dimensions");
  for (int i = 0; i < rows; ++i)
    out.dims[out.rank++] = left.dims[i];
  for (int i = (int)inner; i < right.rank; ++i)
    out.dims[out.rank++] = right.dims[i];
  left = zb_meaning_as_matrix(&left, rows);
  right = zb_meaning_as_matrix(&right, inner);
  zb_operand made = zb_operand_matmul(n, zb_operand_reshape(n, x, &left), zb_operand_reshape(n, y, &right));
  return zb_paddle_give(n, "Out", zb_operand_reshape(n, made, &out));
}

/* ---- Tables ---- */

/* Rows of a table; those of the padding token are zeros, and get no gradient. */
zb_result zb_paddle_embedding(zb_import_node *n) {
  const int64_t behind = -1;
  zb_operand ids = zb_paddle_in(n, "Ids"), table = zb_paddle_in(n, "W");
  const int64_t padding = zb_paddle_integer(n, "padding_idx", -1);
  zb_operand rows = ids && table ? zb_operand_gather(n, table, ids, 0, ZB_FROM_START) : NULL;
  if (padding < 0 || !rows) return zb_paddle_give(n, "Out", rows);
  zb_operand wide = zb_meaning_unsqueeze(n, zb_operand_cast(n, ids, ZB_I64), &behind, 1);
  zb_operand is_padding = zb_operand_apply2(n, "equal", wide, zb_operand_scalar(n, ZB_I64, (double)padding));
  return zb_paddle_give(n, "Out", zb_operand_where(n, is_padding, zb_operand_scalar(n, ZB_F32, 0), rows));
}

zb_result zb_paddle_gather(zb_import_node *n) {
  zb_shape in;
  int axis;
  zb_operand x = zb_paddle_in(n, "X"), index = zb_paddle_in(n, "Index");
  if (!x || !index || !zb_operand_shape(n, x, &in) || !zb_paddle_given_axis(n, "Axis", 0, in.rank, &axis))
    return ZB_FAIL;
  return zb_paddle_give(n, "Out", zb_operand_gather(n, x, index, axis, ZB_FROM_BOTH_ENDS));
}

/* ---- Normalizations ---- */

/* zb's norm over dimensions from `axis` on. */
static zb_result norm(zb_import_node *n, int64_t axis, const char *statistics) {
  zb_shape in;
  zb_operand x = zb_paddle_in(n, "X"), out[3];
  if (!zb_operand_shape(n, x, &in)) return ZB_FAIL;
  if (axis < 1 || axis >= in.rank)
    return zb_import_refuse(n, NULL, "it normalizes from dimension %lld on, expected 1 to %d", (long long)axis,
                            in.rank - 1);
  if (!zb_paddle_check_unread(n, statistics)) return ZB_FAIL;
  if (!zb_meaning_layer_norm(n, n->op->argument, x, zb_paddle_optional(n, "Scale"), zb_paddle_optional(n, "Bias"),
                             (int)axis, zb_paddle_real(n, "epsilon", 1e-5), out))
    return n->im->failed = true, ZB_FAIL;
  return zb_paddle_give(n, "Y", out[0]);
}

zb_result zb_paddle_layer_norm(zb_import_node *n) {
  return norm(n, zb_paddle_integer(n, "begin_norm_axis", 1), "Mean Variance");
}

zb_result zb_paddle_rms_norm(zb_import_node *n) {
  zb_shape in;
  int64_t dims[ZB_DIMS_MAX];
  int count;
  if (!zb_operand_shape(n, zb_paddle_in(n, "X"), &in)) return ZB_FAIL;
  if (!zb_paddle_integers(n, "normalized_shape", NULL, dims, ZB_DIMS_MAX, &count)) return ZB_FAIL;
  if (count < 1 || count >= in.rank) return zb_paddle_refuse_attribute(n, "normalized_shape", NULL);
  return norm(n, in.rank - count, "InvVar");
}
