/* Products, tables, normalizations. Tests: test/ir/import/paddle. */
#include "ir/import/paddle/paddle.h"

#include <string.h>

zb_result zb_paddle_matmul(zb_import_node *n) {
  zb_operand x = zb_paddle_in(n, "X"), y = zb_paddle_in(n, "Y");
  if (zb_paddle_integer(n, "trans_x transpose_x", 0)) x = zb_operand_swapped(n, x);
  if (zb_paddle_integer(n, "trans_y transpose_y", 0)) y = zb_operand_swapped(n, y);
  return zb_paddle_give(n, "Out", x && y ? zb_operand_product(n, x, y) : NULL);
}

/* beta input + alpha x y. */
zb_result zb_paddle_addmm(zb_import_node *n) {
  zb_shape shape;
  zb_operand input = zb_paddle_in(n, "Input"), x = zb_paddle_in(n, "X"), y = zb_paddle_in(n, "Y");
  const double alpha = zb_paddle_real(n, "Alpha alpha", 1), beta = zb_paddle_real(n, "Beta beta", 1);
  if (!input || !x || !y || !zb_operand_shape(n, input, &shape)) return ZB_FAIL;
  zb_operand product = zb_operand_matmul(n, x, y);
  if (alpha != 1) product = zb_operand_apply2(n, "mul", product, zb_operand_scalar(n, shape.dtype, alpha));
  if (beta != 1) input = zb_operand_apply2(n, "mul", input, zb_operand_scalar(n, shape.dtype, beta));
  return zb_paddle_give(n, "Out", zb_operand_apply2(n, "add", product, input));
}

/* The dimensions of a tensor before and from `rank` on, each as one. */
static zb_operand as_matrix(zb_import_node *n, zb_operand x, const zb_shape *shape, int64_t rank) {
  zb_shape flat = {.rank = 2, .dims = {1, 1}};
  for (int i = 0; i < shape->rank; ++i)
    flat.dims[i < rank ? 0 : 1] *= shape->dims[i];
  return zb_operand_reshape(n, x, &flat);
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
  zb_operand made = zb_operand_matmul(n, as_matrix(n, x, &left, rows), as_matrix(n, y, &right, inner));
  return zb_paddle_give(n, "Out", zb_operand_reshape(n, made, &out));
}

/* ---- Tables ---- */

/* Rows of a table; those of the padding token are zeros, and get no gradient. */
zb_result zb_paddle_embedding(zb_import_node *n) {
  zb_shape shape;
  zb_operand ids = zb_paddle_in(n, "Ids"), table = zb_paddle_in(n, "W");
  const int64_t padding = zb_paddle_integer(n, "padding_idx", -1);
  zb_operand rows = ids && table ? zb_operand_gather(n, table, ids, 0) : NULL;
  if (padding < 0 || !rows) return zb_paddle_give(n, "Out", rows);
  if (!zb_operand_shape(n, ids, &shape)) return ZB_FAIL;
  if (shape.rank == ZB_DIMS_MAX) return zb_import_refuse(n, NULL, "it has too many dimensions");
  shape.dims[shape.rank++] = 1;
  zb_operand wide = zb_operand_reshape(n, zb_operand_cast(n, ids, ZB_I64), &shape);
  zb_operand is_padding = zb_operand_apply2(n, "equal", wide, zb_operand_scalar(n, ZB_I64, (double)padding));
  return zb_paddle_give(n, "Out", zb_operand_where(n, is_padding, zb_operand_scalar(n, ZB_F32, 0), rows));
}

zb_result zb_paddle_gather(zb_import_node *n) {
  zb_shape in;
  double given;
  int axis;
  zb_operand x = zb_paddle_in(n, "X"), index = zb_paddle_in(n, "Index");
  if (!x || !index || !zb_operand_shape(n, x, &in) || !zb_paddle_number(n, "axis", "Axis", 0, &given)) return ZB_FAIL;
  if (in.rank < 1) return zb_import_refuse(n, NULL, "the tensor has no dimensions");
  if (!zb_import_axis(n, (int64_t)given, in.rank, &axis)) return ZB_FAIL;
  return zb_paddle_give(n, "Out", zb_operand_gather(n, x, index, axis));
}

/* ---- Normalizations ---- */

/* Scale or bias of the dimensions that are normalized; a scale that is absent is ones. */
static zb_operand affine(zb_import_node *n, const char *slot, const zb_shape *wanted, bool is_scale) {
  if (zb_paddle_has(n, slot)) return zb_operand_reshape(n, zb_paddle_in(n, slot), wanted);
  return is_scale ? zb_operand_filled(n, wanted, zb_operand_scalar(n, wanted->dtype, 1)) : NULL;
}

/* zb's norm over dimensions from `axis` on; statistics are results where something reads them. */
static zb_result norm(zb_import_node *n, int64_t axis, const char *statistics) {
  zb_shape in;
  zb_operand x = zb_paddle_in(n, "X");
  if (!zb_operand_shape(n, x, &in)) return ZB_FAIL;
  if (axis < 1 || axis >= in.rank)
    return zb_import_refuse(n, NULL, "it normalizes from dimension %lld on, expected 1 to %d", (long long)axis,
                            in.rank - 1);
  if (!zb_paddle_check_unread(n, statistics)) return ZB_FAIL;
  const zb_shape wanted = zb_subshape(&in, (int)axis, in.rank);
  zb_operand operands[3] = {x, affine(n, "Scale", &wanted, true), affine(n, "Bias", &wanted, false)};
  const zb_attr attrs[] = {zb_int("axis", axis), zb_float("epsilon", (float)zb_paddle_real(n, "epsilon", 1e-5))};
  if (n->im->failed) return ZB_FAIL;
  return zb_paddle_give(n, "Y", zb_operand_build(n, n->op->argument, operands, operands[2] ? 3 : 2, attrs, 2));
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
