/* zb.softmax and zb.log_softmax along one axis, and their gradients, which read the result only.
 *
 * Tests: test/ir/ops/softmax.mlir.
 */
#include "ir/ops/support.h"

static zb_result infer(const zb_op_view *op, zb_shape *results, zb_op_error *error) {
  if (!zb_check_dtype(op, 0, ZB_REALS, "C1", error)) return ZB_FAIL;
  if (!zb_check_axis(op, "axis", op->operands[0].rank, "C2", error)) return ZB_FAIL;
  results[0] = op->operands[0];
  return ZB_OK;
}

static zb_result infer_grad(const zb_op_view *op, zb_shape *results, zb_op_error *error) {
  if (!infer(op, results, error)) return ZB_FAIL;
  return zb_check_same_type(op, 1, 0, "C3", error);
}

#define AXIS_ATTRS ZB_ATTRS({"axis", ZB_ATTR_INT, false, 0, "dimension along which it runs, from 0: axis = 1 : i64"})
#define ROWS(NAME, MEANING, GRADIENT)                                                                                  \
  const zb_op_def zb_op_##NAME = {                                                                                     \
      ZB_ROW(NAME),                                                                                                    \
      .summary = MEANING,                                                                                              \
      .doc = "C1: the element type of x is a float type. C2: axis is a dimension of x.\n",                             \
      .operands = "x",                                                                                                 \
      .results = "out",                                                                                                \
      .attrs = AXIS_ATTRS,                                                                                             \
      .traits = ZB_TRAIT_PURE,                                                                                         \
      .infer = infer,                                                                                                  \
      .flops = 12,                                                                                                     \
      .grad = zb_grad_named,                                                                                           \
      .place = zb_place_rows,                                                                                          \
  };                                                                                                                   \
  const zb_op_def zb_op_##NAME##_grad = {                                                                              \
      ZB_ROW(NAME##_grad),                                                                                             \
      .summary = "Gradient of zb." #NAME ": " GRADIENT ".",                                                            \
      .doc = "C1: the element type of out is a float type. C2: axis is a dimension of out. C3: dout has the type of "  \
             "out.\n",                                                                                                 \
      .operands = "out, dout",                                                                                         \
      .results = "dx",                                                                                                 \
      .attrs = AXIS_ATTRS,                                                                                             \
      .traits = ZB_TRAIT_PURE,                                                                                         \
      .infer = infer_grad,                                                                                             \
      .flops = 4,                                                                                                      \
  };

ROWS(softmax, "exp(x) / sum(exp(x)) along an axis.", "out * (dout - sum(dout * out))")
ROWS(log_softmax, "Logarithm of zb.softmax.", "dout - exp(out) * sum(dout)")
