/* Ops that zb-raise puts in the place of several cheap ones, so that memory is read and written once: zb.swiglu,
 * zb.rotary.
 *
 * A gradient op gives all its results in one pass and is never split: they are gradients of activations, which lie in B
 * together. (Where one is that of a parameter, B computes it for W.)
 *
 * Tests: test/ir/ops/fused.mlir, test/ir/split_test.c.
 */
#include "ir/ops/place_rules.h"
#include "ir/ops/support.h"

/* ---- swiglu ---- */

#define SWIGLU_DOC "C1: the element type of gate is a float type. C2: up has the type of gate."

static zb_result infer_swiglu(const zb_op_view *op, zb_shape *results, zb_op_error *error) {
  if (!zb_check_dtype(op, 0, ZB_REALS, "C1", error) || !zb_check_same_type(op, 1, 0, "C2", error)) return ZB_FAIL;
  results[0] = op->operands[0];
  return ZB_OK;
}

const zb_op_def zb_op_swiglu = {
    ZB_ROW(swiglu),
    .summary = "silu(gate) * up = gate * sigmoid(gate) * up.",
    .doc = SWIGLU_DOC "\n",
    .operands = "gate, up",
    .results = "out",
    .traits = ZB_TRAIT_PURE | ZB_TRAIT_ELEMENTWISE,
    .mixed = ZB_MIXED_FOLLOW,
    .infer = infer_swiglu,
    .flops = 13,
    .grad = zb_grad_named,
    .place = zb_place_elementwise,
};

static zb_result infer_swiglu_grad(const zb_op_view *op, zb_shape *results, zb_op_error *error) {
  if (!infer_swiglu(op, results, error) || !zb_check_same_type(op, 2, 0, "C3", error)) return ZB_FAIL;
  results[1] = op->operands[1];
  return ZB_OK;
}

const zb_op_def zb_op_swiglu_grad = {
    ZB_ROW(swiglu_grad),
    .summary = "Gradients of zb.swiglu; silu(gate) is computed again.",
    .doc = SWIGLU_DOC " C3: dout has the type of gate.\n",
    .operands = "gate, up, dout",
    .results = "dgate, dup",
    .traits = ZB_TRAIT_PURE,
    .infer = infer_swiglu_grad,
    .flops = 18,
};

/* ---- rotary ---- */

enum { X, COS, SIN };

#define ROTARY_DOC                                                                                                     \
  "C1: the element type of x is a float type. C2: x has a last dimension, of even size. C3: cos has the element type " \
  "of "                                                                                                                \
  "x (or f32, for bf16 and f16). C4: cos broadcasts to x and has its last dimension. C5: sin has the type of cos."

/* Also of the gradient, whose x is dout. */
static zb_result infer_rotary(const zb_op_view *op, zb_shape *results, zb_op_error *error) {
  const zb_shape *x = &op->operands[X], *cos = &op->operands[COS];
  zb_shape both = {.dtype = x->dtype};
  char text[96], other[96];
  if (!zb_check_dtype(op, X, ZB_REALS, "C1", error)) return ZB_FAIL;
  if (x->rank < 1 || x->dims[x->rank - 1] % 2 != 0)
    return zb_op_fail(error, NULL,
                      "the halves of the last dimension turn together: expected an even size, got tensor<%s> (C2)",
                      zb_shape_text(x, text));
  if (cos->dtype != x->dtype && cos->dtype != zb_dtype_wide(x->dtype))
    return zb_op_fail(error, NULL, "wrong element type of cos: expected %s, got %s (C3)", zb_dtype_name(x->dtype),
                      zb_dtype_name(cos->dtype));
  bool fits = cos->rank >= 1 && cos->dims[cos->rank - 1] == x->dims[x->rank - 1] && zb_broadcast(x, cos, &both) &&
              zb_shape_equal(&both, x);
  if (!fits)
    return zb_op_fail(error, NULL,
                      "cos does not broadcast to x along its last dimension: got tensor<%s> and tensor<%s> (C4)",
                      zb_shape_text(cos, text), zb_shape_text(x, other));
  if (!zb_check_same_type(op, SIN, COS, "C5", error)) return ZB_FAIL;
  results[0] = *x;
  return ZB_OK;
}

static void grad_rotary(zb_gradient *g) {
  bool refused = g->needs[COS] || g->needs[SIN];
  if (refused)
    zb_op_error_at(g->op, "compile with --no-raise, or freeze what the tables are computed from",
                   "zb.rotary gives no gradient for cos and sin, but a trained parameter leads to them");
  g->b->failed |= refused;
  if (!refused) zb_grad_named(g);
}

const zb_op_def zb_op_rotary = {
    ZB_ROW(rotary),
    .summary = "x * cos + (-x[.., d/2:], x[.., :d/2]) * sin: pairs of elements, d/2 apart, turned by an angle (Su et "
               "al., RoFormer, 2021).",
    .doc = ROTARY_DOC "\n",
    .operands = "x, cos, sin",
    .results = "out",
    .traits = ZB_TRAIT_PURE | ZB_TRAIT_STRIDED,
    .mixed = ZB_MIXED_ANY,
    .infer = infer_rotary,
    .flops = 3,
    .grad = grad_rotary,
    .place = zb_place_rotary,
};

const zb_op_def zb_op_rotary_grad = {
    ZB_ROW(rotary_grad),
    .summary = "Gradient of zb.rotary for x: dout turned back.",
    .doc = "With dout for x: " ROTARY_DOC "\n",
    .operands = "dout, cos, sin",
    .results = "dx",
    .traits = ZB_TRAIT_PURE | ZB_TRAIT_STRIDED,
    .infer = infer_rotary,
    .flops = 3,
};
