/* Reductions over axes, one row each, and their COMPOSITE gradients.
 *
 * A gradient first gets the shape that keeps the reduced dimensions (a view), so that the ops after it broadcast it.
 *
 * Tests: test/ir/ops/reduce.mlir, test/ir/split_test.c.
 */
#include "ir/ops/place_rules.h"
#include "ir/ops/support.h"

#include <inttypes.h>

/* Reads axes into one flag a dimension (empty axes: all). C2. */
static zb_result reduced_dimensions(const zb_op_view *op, bool reduced[ZB_DIMS_MAX], zb_op_error *error) {
  const zb_attr *axes = zb_attr_ints(op, "axes");
  int rank = op->operands[0].rank;
  for (int i = 0; i < ZB_DIMS_MAX; ++i)
    reduced[i] = axes->count == 0;
  for (int i = 0; i < axes->count; ++i) {
    int64_t axis = axes->ints[i];
    if (axis < 0 || axis >= rank)
      return zb_op_fail(error, "axes are counted from 0; add the rank to a negative one",
                        "an axis is out of range: expected 0 to %d, got %" PRId64 " (C2)", rank - 1, axis);
    if (reduced[axis]) return zb_op_fail(error, NULL, "axis %" PRId64 " is named twice (C2)", axis);
    reduced[axis] = true;
  }
  return ZB_OK;
}

static zb_result reduced_shape(const zb_op_view *op, bool keepdims, zb_shape *out, zb_op_error *error) {
  bool reduced[ZB_DIMS_MAX];
  if (!reduced_dimensions(op, reduced, error)) return ZB_FAIL;
  const zb_shape *x = &op->operands[0];
  *out = (zb_shape){.dtype = x->dtype};
  for (int i = 0; i < x->rank; ++i)
    if (!reduced[i])
      out->dims[out->rank++] = x->dims[i];
    else if (keepdims)
      out->dims[out->rank++] = 1;
  return ZB_OK;
}

static zb_result infer(const zb_op_view *op, zb_shape *results, zb_op_error *error) {
  if (!zb_check_dtype(op, 0, op->def->kinds, "C1", error)) return ZB_FAIL;
  if (!reduced_shape(op, zb_attr_bool(&op->attrs, "keepdims", false), &results[0], error)) return ZB_FAIL;
  return zb_check_sum_dtype(op, op->operands[0].dtype, &results[0].dtype, "C4", error);
}

static zb_result infer_grad(const zb_op_view *op, zb_shape *results, zb_op_error *error) {
  zb_shape out;
  if (!infer(op, &out, error)) return ZB_FAIL;
  if (!zb_check_type(op, 1, &out, "the type of the reduced x", "C3", error)) return ZB_FAIL;
  if (!zb_check_type(op, 2, &out, "the type of the reduced x", "C3", error)) return ZB_FAIL;
  results[0] = op->operands[0];
  return ZB_OK;
}

/* What the gradient reads has the type of x; a wide sum is rounded for it. */
static void grad(zb_gradient *g) {
  char name[ZB_OP_NAME_BYTES];
  zb_dtype dtype = g->view.operands[0].dtype;
  zb_attr attrs[] = {*zb_attr_ints(&g->view, "axes"), zb_bool("keepdims", zb_attr_bool(&g->view.attrs, "keepdims", 0))};
  MlirValue out = zb_build_cast(g->b, zb_result_value(g->op, 0), dtype);
  MlirValue operands[] = {zb_operand(g->op, 0), out, zb_build_cast(g->b, g->dout[0], dtype)};
  g->din[0] = zb_build(g->b, zb_op_grad_name(g, name), operands, 3, attrs, 2);
}

/* ---- Split rules ---- */

/* The operands of a gradient op: x, and out and dout in the shape that keeps the reduced dimensions. */
typedef struct parts {
  zb_builder *b;
  MlirOperation op;
  MlirValue x;
  zb_shape shape, kept; /* of x; of the reduced x with its dimensions kept */
  zb_op_view view;
  zb_op_view_storage storage;
} parts;

static bool read_parts(parts *p, zb_builder *b, MlirOperation op) {
  zb_op_error error;
  p->b = b;
  p->op = op;
  p->x = zb_operand(op, 0);
  if (!zb_op_view_get(op, &p->view, &p->storage)) return false;
  p->shape = p->view.operands[0];
  return reduced_shape(&p->view, true, &p->kept, &error) && !b->failed;
}

static MlirValue kept(const parts *p, int operand) {
  return zb_build_reshape(p->b, zb_operand(p->op, operand), p->kept.dims, p->kept.rank);
}

static MlirValue expand_to_x(const parts *p, MlirValue value) {
  if (p->b->failed || zb_shape_equal(&p->kept, &p->shape)) return value;
  return zb_build_expand(p->b, value, &p->shape);
}

static MlirValue split_sum(const parts *p) { return expand_to_x(p, kept(p, 2)); }

static MlirValue split_mean(const parts *p) {
  double count = zb_elements(&p->shape) / zb_elements(&p->kept);
  MlirValue dout = kept(p, 2);
  return expand_to_x(p, zb_build2(p->b, "mul", dout, zb_build_scalar(p->b, p->shape.dtype, 1 / count)));
}

/* The elements that are the extreme share the gradient evenly. */
static MlirValue split_extreme(const parts *p) {
  MlirValue out = kept(p, 1), dout = kept(p, 2);
  MlirValue mask = zb_build_cast(p->b, zb_build2(p->b, "equal", p->x, out), p->shape.dtype);
  MlirValue count = ZB_BUILD(p->b, "reduce_sum", mask, *zb_attr_ints(&p->view, "axes"), zb_bool("keepdims", true));
  return zb_build2(p->b, "mul", mask, zb_build2(p->b, "div", dout, count));
}

/* The product of all others: of a single zero that of all that are not zero, of two none. */
static MlirValue split_prod(const parts *p) {
  zb_builder *b = p->b;
  MlirValue zero = zb_build_scalar(b, p->shape.dtype, 0), one = zb_build_scalar(b, p->shape.dtype, 1);
  MlirValue is_zero = zb_build2(b, "equal", p->x, zero);
  MlirValue x = zb_build_where(b, is_zero, one, p->x);
  const zb_attr axes = *zb_attr_ints(&p->view, "axes"), keeps = zb_bool("keepdims", true);
  MlirValue product = ZB_BUILD(b, "reduce_prod", x, axes, keeps);
  MlirValue zeros = ZB_BUILD(b, "reduce_sum", zb_build_cast(b, is_zero, p->shape.dtype), axes, keeps);
  /* How many zeros are among the others. */
  MlirValue others = zb_build2(b, "sub", zeros, zb_build_cast(b, is_zero, p->shape.dtype));
  MlirValue slope = zb_build2(b, "div", product, x);
  MlirValue none = ZB_BUILD(b, "reduce_sum", zb_build2(b, "mul", x, zero), axes, keeps); /* of infinite ones none */
  slope = zb_build_where(b, zb_build2(b, "equal", others, zero), slope, none);
  return zb_build2(b, "mul", kept(p, 2), slope);
}

/* X(name, kinds, traits, split rule, attributes, meaning) */
#define REDUCE_OPS(X)                                                                                                  \
  X(reduce_sum, sum, ZB_TRAIT_LINEAR, split_sum, SUM_ATTRS,                                                            \
    "Sum over axes, in a fixed tree that depends on the shape only.")                                                  \
  X(reduce_mean, reals, ZB_TRAIT_LINEAR, split_mean, AXES_ATTRS, "Mean over axes.")                                    \
  X(reduce_max, numbers, 0, split_extreme, AXES_ATTRS,                                                                 \
    "Greatest element over axes; equal ones share the gradient evenly.")                                               \
  X(reduce_min, numbers, 0, split_extreme, AXES_ATTRS,                                                                 \
    "Smallest element over axes; equal ones share the gradient evenly.")                                               \
  X(reduce_prod, numbers, 0, split_prod, AXES_ATTRS,                                                                   \
    "Product over axes; its gradient is dout times that of the others.")

enum { KINDS_reals = ZB_REALS, KINDS_numbers = ZB_REALS | ZB_INTEGERS, KINDS_sum = KINDS_numbers };
#define DOC_numbers "C1: the element type of x is a float type, i64 or i32."
#define DOC_reals "C1: the element type of x is a float type."
#define DOC_sum DOC_numbers " C4: dtype, if it is there, is the type of x, or f32 for bf16 and f16."
#define AXES_ROWS                                                                                                      \
  {"axes", ZB_ATTR_INTS, false, 0, "dimensions to reduce; empty: all. axes = array<i64: 1>"},                          \
      {"keepdims", ZB_ATTR_BOOL, true, 0, "whether the reduced dimensions stay as 1"}
#define AXES_ATTRS ZB_ATTRS(AXES_ROWS)
#define SUM_ATTRS ZB_ATTRS(AXES_ROWS, ZB_SUM_DTYPE_ATTR)

#define REDUCE_ROWS(NAME, KINDS, TRAITS, RULE, ATTRIBUTES, MEANING)                                                    \
  static MlirValue split_##NAME(zb_builder *b, MlirOperation op, int result) {                                         \
    parts p;                                                                                                           \
    (void)result;                                                                                                      \
    return read_parts(&p, b, op) ? RULE(&p) : (MlirValue){NULL};                                                       \
  }                                                                                                                    \
  const zb_op_def zb_op_##NAME = {                                                                                     \
      ZB_ROW(NAME),                                                                                                    \
      .summary = MEANING,                                                                                              \
      .doc = DOC_##KINDS " C2: axes are dimensions of x, each once.\n",                                                \
      .operands = "x",                                                                                                 \
      .results = "out",                                                                                                \
      .attrs = ATTRIBUTES,                                                                                             \
      .traits = ZB_TRAIT_PURE | (TRAITS),                                                                              \
      .kinds = KINDS_##KINDS,                                                                                          \
      .infer = infer,                                                                                                  \
      .flops = 1,                                                                                                      \
      .counted = ZB_OPERAND(0),                                                                                        \
      .grad = grad,                                                                                                    \
      .place = zb_place_reduce,                                                                                        \
  };                                                                                                                   \
  const zb_op_def zb_op_##NAME##_grad = {                                                                              \
      ZB_ROW(NAME##_grad),                                                                                             \
      .summary = "Gradient of zb." #NAME ".",                                                                          \
      .doc = "C1: the element type of x is a float type. C2: axes are dimensions of x, each once. C3: out and dout "   \
             "have the type of the reduced x.\n",                                                                      \
      .operands = "x, out, dout",                                                                                      \
      .results = "dx",                                                                                                 \
      .attrs = AXES_ATTRS,                                                                                             \
      .traits = ZB_TRAIT_PURE,                                                                                         \
      .kinds = ZB_REALS,                                                                                               \
      .infer = infer_grad,                                                                                             \
      .flops = 2,                                                                                                      \
      .split = split_##NAME,                                                                                           \
  };
REDUCE_OPS(REDUCE_ROWS)

/* ---- cumsum ---- */

static zb_result infer_cumsum(const zb_op_view *op, zb_shape *results, zb_op_error *error) {
  if (!zb_check_axis(op, "axis", op->operands[0].rank, "C1", error)) return ZB_FAIL;
  if (!zb_check_dtype(op, 0, ZB_REALS | ZB_INTEGERS, "C2", error)) return ZB_FAIL;
  results[0] = op->operands[0];
  return ZB_OK;
}

/* Element i is in the sums from i on: the gradient sums from the other end. */
static void grad_cumsum(zb_gradient *g) {
  zb_attr attrs[] = {zb_int("axis", zb_attr_int(&g->view.attrs, "axis", 0)),
                     zb_bool("exclusive", zb_attr_bool(&g->view.attrs, "exclusive", false)),
                     zb_bool("reverse", !zb_attr_bool(&g->view.attrs, "reverse", false))};
  g->din[0] = zb_build(g->b, "cumsum", g->dout, 1, attrs, 3);
}

const zb_op_def zb_op_cumsum = {
    ZB_ROW(cumsum),
    .summary = "Sums of all elements along an axis up to each one.",
    .doc = "C1: axis is a dimension. C2: x holds numbers.\n",
    .operands = "x",
    .results = "out",
    .attrs = ZB_ATTRS({"axis", ZB_ATTR_INT, false, 0, "dimension along which to sum, from 0: axis = 1 : i64"},
                      {"exclusive", ZB_ATTR_BOOL, true, 0, "each sum leaves its own element out"},
                      {"reverse", ZB_ATTR_BOOL, true, 0, "from the last element to the first"}),
    .traits = ZB_TRAIT_PURE,
    .infer = infer_cumsum,
    .flops = 1,
    .grad = grad_cumsum,
    .place = zb_place_rows,
};

/* ---- top_k ---- */

static zb_result infer_top_k(const zb_op_view *op, zb_shape *results, zb_op_error *error) {
  const zb_shape *x = &op->operands[0];
  if (!zb_check_axis(op, "axis", x->rank, "C1", error)) return ZB_FAIL;
  if (!zb_check_dtype(op, 0, ZB_REALS | ZB_INTEGERS, "C2", error)) return ZB_FAIL;
  const int64_t axis = zb_attr_int(&op->attrs, "axis", 0), k = zb_attr_int(&op->attrs, "k", 0);
  if (k < 1 || k > x->dims[axis])
    return zb_op_fail(error, NULL, "attribute 'k' is out of range: expected 1 to %" PRId64 ", got %" PRId64 " (C3)",
                      x->dims[axis], k);
  results[0] = *x;
  results[0].dtype = ZB_I64;
  results[0].dims[axis] = k;
  return ZB_OK;
}

const zb_op_def zb_op_top_k = {
    ZB_ROW(top_k),
    .summary = "Places along an axis of its k greatest or smallest elements, in their order.",
    .doc = "C1: axis is a dimension. C2: x holds numbers. C3: k is 1 to the size of that dimension.\n",
    .operands = "x",
    .results = "out",
    .attrs = ZB_ATTRS({"axis", ZB_ATTR_INT, false, 0, "dimension to choose along, from 0: axis = 1 : i64"},
                      {"k", ZB_ATTR_INT, false, 0, "how many: k = 2 : i64"},
                      {"largest", ZB_ATTR_BOOL, true, 1, "the greatest; false: the smallest"}),
    .traits = ZB_TRAIT_PURE | ZB_TRAIT_ZERO_GRADIENT,
    .infer = infer_top_k,
    .flops = 4,
};
