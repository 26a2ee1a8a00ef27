/* Matrix products. Tests: test/e2e/meaning.py, test/ir/import. */
#include "ir/import/meaning/meaning.h"

zb_operand zb_meaning_swapped(zb_import_node *n, zb_operand x) {
  zb_shape shape;
  int64_t permutation[ZB_DIMS_MAX];
  if (!zb_operand_shape(n, x, &shape)) return NULL;
  if (shape.rank < 2) return x;
  for (int i = 0; i < shape.rank; ++i)
    permutation[i] = i;
  permutation[shape.rank - 1] = shape.rank - 2;
  permutation[shape.rank - 2] = shape.rank - 1;
  return zb_operand_transpose(n, x, permutation);
}

zb_operand zb_meaning_product(zb_import_node *n, zb_operand a, zb_operand b) {
  zb_shape left, right, out;
  if (!zb_operand_shape(n, a, &left) || !zb_operand_shape(n, b, &right)) return NULL;
  if (left.rank == 0 || right.rank == 0) return zb_import_refuse(n, NULL, "an operand is a scalar"), NULL;
  const zb_shape row = {.rank = 2, .dims = {1, left.dims[0]}}, column = {.rank = 2, .dims = {right.dims[0], 1}};
  if (left.rank == 1) a = zb_operand_reshape(n, a, &row);
  if (right.rank == 1) b = zb_operand_reshape(n, b, &column);
  zb_operand made = zb_operand_matmul(n, a, b);
  if ((left.rank > 1 && right.rank > 1) || !zb_operand_shape(n, made, &out)) return made;
  if (right.rank == 1) --out.rank;
  if (left.rank == 1) {
    const int place = out.rank - (right.rank == 1 ? 1 : 2);
    for (int i = place; i + 1 < out.rank; ++i)
      out.dims[i] = out.dims[i + 1];
    --out.rank;
  }
  return zb_operand_reshape(n, made, &out);
}

zb_operand zb_meaning_weighted_sum(zb_import_node *n, zb_operand product, double alpha, zb_operand added, double beta) {
  product = zb_meaning_line(n, product, alpha, 0);
  if (!added || beta == 0) return product;
  return zb_operand_apply2(n, "add", product, zb_meaning_line(n, added, beta, 0));
}
