/* zb.matmul: out[.., m, n] = sum over k of lhs[.., m, k] * rhs[.., k, n] (+ bias[n]), leading dimensions broadcast; and
 * its gradient.
 *
 * A transposed operand is an attribute, so every product of the gradient is one zb.matmul on the values as they are
 * stored: no zb.transpose is ever needed.
 *
 * Tests: test/ir/ops/matmul.mlir, test/ir/split_test.c.
 */
#include "ir/ops/place_rules.h"
#include "ir/ops/support.h"

#include <inttypes.h>

enum { LHS, RHS, BIAS, DOUT = 2 };

/* The sizes of a product and the broadcast leading dimensions (with m and n at the end: the shape of out). */
typedef struct product {
  int64_t m, n, k;
  zb_shape out;
} product;

static zb_result check_product(const zb_op_view *op, product *p, zb_op_error *error) {
  const zb_shape *lhs = &op->operands[LHS], *rhs = &op->operands[RHS];
  if (lhs->rank < 2 || rhs->rank < 2)
    return zb_op_fail(error, "reshape a vector to a matrix first",
                      "operands must be matrices or batches of them: expected rank 2 or more, got ranks %d and %d (C1)",
                      lhs->rank, rhs->rank);
  if (!zb_check_dtype(op, LHS, ZB_REALS, "C2", error) || !zb_check_same_dtype(op, RHS, LHS, "C2", error))
    return ZB_FAIL;
  bool transpose_lhs = zb_attr_bool(&op->attrs, "transpose_lhs", false);
  bool transpose_rhs = zb_attr_bool(&op->attrs, "transpose_rhs", false);
  const int64_t *l = lhs->dims + lhs->rank - 2, *r = rhs->dims + rhs->rank - 2;
  p->m = l[transpose_lhs ? 1 : 0];
  p->k = l[transpose_lhs ? 0 : 1];
  p->n = r[transpose_rhs ? 0 : 1];
  int64_t rhs_k = r[transpose_rhs ? 1 : 0];
  if (p->k != rhs_k)
    return zb_op_fail(error, "set transpose_lhs or transpose_rhs if an operand is stored transposed",
                      "the inner dimensions differ: expected equal ones, got %" PRId64 " of lhs and %" PRId64
                      " of rhs (C3)",
                      p->k, rhs_k);
  zb_shape lhs_batch = zb_subshape(lhs, 0, lhs->rank - 2), rhs_batch = zb_subshape(rhs, 0, rhs->rank - 2);
  char a[96], b[96];
  p->out = lhs_batch;
  if (!zb_broadcast(&lhs_batch, &rhs_batch, &p->out))
    return zb_op_fail(error, "leading dimensions are aligned at the end; each pair must be equal or contain a 1",
                      "the leading dimensions do not broadcast: got %s and %s (C4)", zb_shape_text(lhs, a),
                      zb_shape_text(rhs, b));
  p->out.dims[p->out.rank++] = p->m;
  p->out.dims[p->out.rank++] = p->n;
  return ZB_OK;
}

static zb_result infer(const zb_op_view *op, zb_shape *results, zb_op_error *error) {
  product p;
  if (!check_product(op, &p, error)) return ZB_FAIL;
  results[0] = p.out;
  if (!zb_check_sum_dtype(op, p.out.dtype, &results[0].dtype, "C6", error)) return ZB_FAIL;
  if (op->operand_count <= BIAS || op->operands[BIAS].rank < 0) return ZB_OK;
  zb_shape row = {.dtype = results[0].dtype, .rank = 1, .dims = {p.n}};
  return zb_check_type(op, BIAS, &row, "one for each column of the product", "C7", error);
}

/* Terms of the sum that an element of the product is. */
static double inner_size(const zb_op_view *op) {
  const zb_shape *lhs = &op->operands[LHS];
  return (double)lhs->dims[lhs->rank - (zb_attr_bool(&op->attrs, "transpose_lhs", false) ? 2 : 1)];
}

static zb_cost cost(const zb_op_view *op, const zb_shape *results) {
  double flops = 2 * zb_elements(&results[0]) * inner_size(op);
  bool bias = op->operand_count > BIAS && op->operands[BIAS].rank >= 0;
  return (zb_cost){.flops = flops + (bias ? zb_elements(&results[0]) : 0), .product_flops = flops};
}

static void grad(zb_gradient *g) {
  if (g->view.operands[BIAS].rank >= 0 && g->needs[BIAS]) /* as the add that it replaces */
    g->din[BIAS] = zb_build_sum_to(g->b, g->dout[0], &g->view.operands[BIAS]);
  /* The gradient of an f32 sum of bf16 products is rounded before it is multiplied again, as that of a bf16 result is.
   */
  MlirValue gradient = zb_build_cast(g->b, g->dout[0], g->view.operands[LHS].dtype);
  g->dout = &gradient;
  zb_grad_named(g);
}

#define TRANSPOSE_ATTRS                                                                                                \
  {"transpose_lhs", ZB_ATTR_BOOL, true, 0, "the last two dimensions of lhs are stored swapped"},                       \
      {"transpose_rhs", ZB_ATTR_BOOL, true, 0, "the last two dimensions of rhs are stored swapped"}
#define PRODUCT_DOC                                                                                                    \
  "C1: lhs and rhs have rank 2 or more. C2: both have one float type. C3: the inner dimensions are equal. C4: the "    \
  "leading dimensions broadcast."

const zb_op_def zb_op_matmul = {
    ZB_ROW(matmul),
    .summary = "Matrix product over the last two dimensions, and a bias a column; leading dimensions broadcast.",
    .doc = PRODUCT_DOC
    " C6: dtype, if it is there, is the type of the operands, or f32 for bf16 and f16. C7: bias, if it is "
    "there, is a vector of n elements of the type of out.\n",
    .operands = "lhs, rhs, bias?",
    .results = "out",
    .attrs = ZB_ATTRS(TRANSPOSE_ATTRS, ZB_SUM_DTYPE_ATTR),
    .traits = ZB_TRAIT_PURE | ZB_TRAIT_ACCUMULATES | ZB_TRAIT_STRIDED,
    .mixed = ZB_MIXED_LOW,
    .infer = infer,
    .cost = cost,
    .grad = grad,
    .place = zb_place_matmul,
};

static zb_result infer_grad(const zb_op_view *op, zb_shape *results, zb_op_error *error) {
  product p;
  if (!check_product(op, &p, error)) return ZB_FAIL;
  if (!zb_check_type(op, DOUT, &p.out, "the type of the product", "C5", error)) return ZB_FAIL;
  results[0] = op->operands[LHS];
  results[1] = op->operands[RHS];
  return ZB_OK;
}

static zb_cost cost_grad(const zb_op_view *op, const zb_shape *results ZB_UNUSED) {
  double flops = 4 * zb_elements(&op->operands[DOUT]) * inner_size(op);
  return (zb_cost){.flops = flops, .product_flops = flops};
}

static MlirValue multiply(zb_builder *b, MlirValue lhs, bool transpose_lhs, MlirValue rhs, bool transpose_rhs) {
  zb_attr attrs[] = {zb_bool("transpose_lhs", transpose_lhs), zb_bool("transpose_rhs", transpose_rhs)};
  return zb_build(b, "matmul", (MlirValue[]){lhs, rhs}, 2, attrs, 2);
}

/* x [.., r, c] as a matrix [product of .. and r, c]. */
static MlirValue fold(zb_builder *b, MlirValue x) {
  zb_shape shape = zb_value_shape(x);
  int64_t dims[] = {1, shape.dims[shape.rank - 1]};
  for (int i = 0; i + 1 < shape.rank; ++i)
    dims[0] *= shape.dims[i];
  return zb_build_reshape(b, x, dims, 2);
}

/* With A and B for the operands as multiplied and D for dout: dA = D B^T and dB = A^T D, each transposed if its operand
 * is stored so. What a flag says of a stored operand is inverted where the formula transposes it. */
static MlirValue split(zb_builder *b, MlirOperation op, int result) {
  zb_op_view view;
  zb_op_view_storage storage;
  if (!zb_op_view_get(op, &view, &storage)) return (MlirValue){NULL};
  bool ta = zb_attr_bool(&view.attrs, "transpose_lhs", false), tb = zb_attr_bool(&view.attrs, "transpose_rhs", false);
  MlirValue lhs = zb_operand(op, LHS), rhs = zb_operand(op, RHS), dout = zb_operand(op, DOUT);
  zb_shape shape = view.operands[result == 0 ? LHS : RHS];
  MlirValue whole;
  if (result == 0) {
    whole = ta ? multiply(b, rhs, tb, dout, true) : multiply(b, dout, false, rhs, !tb);
  } else {
    /* One matrix of weights under a batch: the sum over the batch is part of the product, when lhs can be read as one
     * matrix. */
    if (view.operands[RHS].rank == 2 && view.operands[LHS].rank > 2 && !ta) {
      lhs = fold(b, lhs);
      dout = fold(b, dout);
    }
    whole = tb ? multiply(b, dout, true, lhs, ta) : multiply(b, lhs, !ta, dout, false);
  }
  return b->failed ? whole : zb_build_sum_to(b, whole, &shape);
}

const zb_op_def zb_op_matmul_grad = {
    ZB_ROW(matmul_grad),
    .summary = "Gradients of zb.matmul: dX and dW of a linear layer.",
    .doc = PRODUCT_DOC " C5: dout has the type of the product.\n",
    .operands = "lhs, rhs, dout",
    .results = "dlhs, drhs",
    .attrs = ZB_ATTRS(TRANSPOSE_ATTRS),
    .traits = ZB_TRAIT_PURE,
    .infer = infer_grad,
    .cost = cost_grad,
    .split = split,
};
