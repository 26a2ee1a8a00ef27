/* zb.dropout and zb.uniform: random numbers by Philox, from a counter that is an operand (runtime/base/random.h); and
 * what other ops that drop elements check (attention.c).
 *
 * The ops are pure: what they draw follows from operands and attributes. So they may be cloned (recomputed) and moved
 * to any stage, and two of them are merged only where they would draw the same.
 *
 * Tests: test/ir/ops/random.mlir, test/ir/split_test.c.
 */
#include "ir/ops/support.h"

#include "runtime/base/random.h"

#include <inttypes.h>

enum { X, COUNTER };

zb_result zb_check_counter(const zb_op_view *op, int operand, const char *label, zb_op_error *error) {
  const zb_shape expected = {.dtype = ZB_I64, .rank = 1, .dims = {ZB_COUNTER_WORDS}};
  return zb_check_type(op, operand, &expected, "seed, step, micro-batch, 0", label, error);
}

static zb_result check_number(const zb_op_view *op, const char *label, zb_op_error *error) {
  const int64_t number = zb_attr_int(&op->attrs, "op", -1), most = (INT64_C(1) << ZB_RANDOM_OP_BITS) - 1;
  if (number >= 0 && number <= most) return ZB_OK;
  return zb_op_fail(error, "number the random ops of a program from 0",
                    "attribute 'op' is out of range: expected 0 to %" PRId64 ", got %" PRId64 " (%s)", most, number,
                    label);
}

zb_result zb_check_drop(const zb_op_view *op, const char *rate_label, const char *op_label, zb_op_error *error) {
  const double rate = zb_attr_float(&op->attrs, "rate", -1);
  if (!(rate >= 0 && rate < 1))
    return zb_op_fail(error, "the rate is the share that is dropped",
                      "attribute 'rate' is out of range: expected 0 <= rate < 1, got %g (%s)", rate, rate_label);
  return check_number(op, op_label, error);
}

static zb_result check_elements(const zb_shape *shape, const char *name, zb_op_error *error) {
  const double elements = zb_elements(shape);
  if (elements <= (double)(INT64_C(1) << ZB_RANDOM_ELEMENT_BITS)) return ZB_OK;
  return zb_op_fail(error, "draw for parts of it, each with a number of its own",
                    "%s has %g elements: random numbers are drawn for 2^%d at most (C5)", name, elements,
                    ZB_RANDOM_ELEMENT_BITS);
}

static zb_result infer_dropout(const zb_op_view *op, zb_shape *results, zb_op_error *error) {
  if (!zb_check_dtype(op, X, ZB_REALS, "C1", error) || !zb_check_counter(op, COUNTER, "C2", error) ||
      !zb_check_drop(op, "C3", "C4", error) || !check_elements(&op->operands[X], "x", error))
    return ZB_FAIL;
  results[0] = op->operands[X];
  return ZB_OK;
}

static void grad_dropout(zb_gradient *g) {
  MlirValue operands[] = {g->dout[0], zb_operand(g->op, COUNTER)};
  g->din[X] = zb_build(g->b, "dropout", operands, 2, g->view.attrs.items, g->view.attrs.count);
}

const zb_op_def zb_op_dropout = {
    ZB_ROW(dropout),
    .summary = "x / (1 - rate), or 0 for the share `rate` of the elements, drawn by seed, step, micro-batch, op and "
               "place.",
    .doc = "C1: the element type of x is a float type. C2: counter is i64 of shape [4]: the input zb.counter. C3: 0 <= "
           "rate < 1. C4: op is a number of 20 bits. C5: x has at most 2^46 elements.\n",
    .operands = "x, counter",
    .results = "out",
    .attrs = ZB_ATTRS(ZB_DROP_ATTRS),
    .traits = ZB_TRAIT_PURE | ZB_TRAIT_ELEMENTWISE | ZB_TRAIT_RANDOM,
    .mixed = ZB_MIXED_FOLLOW,
    .infer = infer_dropout,
    .flops = ZB_DRAW_FLOPS,
    .grad = grad_dropout,
    .in_evaluation = "",
    .place = zb_place_elementwise,
};

static zb_result infer_uniform(const zb_op_view *op, zb_shape *results, zb_op_error *error) {
  zb_dtype dtype;
  if (!zb_check_dtype_attr(op, &dtype, "C1", error)) return ZB_FAIL;
  if (dtype != ZB_F32 && dtype != ZB_I64)
    return zb_op_fail(error, "convert the numbers with zb.cast", "expected dtype f32 or i64, got %s (C1)",
                      zb_dtype_name(dtype));
  return zb_check_counter(op, 0, "C2", error) && zb_check_shape_attr(op, "shape", dtype, &results[0], "C3", error) &&
                 check_number(op, "C4", error) && check_elements(&results[0], "the result", error)
             ? ZB_OK
             : ZB_FAIL;
}

const zb_op_def zb_op_uniform = {
    ZB_ROW(uniform),
    .summary = "Numbers of [0, 1), or whole ones below 2^32, drawn by seed, step, micro-batch, op and place.",
    .doc = "C1: dtype is f32 or i64. C2: counter is i64 of shape [4]: the input zb.counter. C3: shape has at most 8 "
           "entries, each >= 0. C4: op is a number of 20 bits. C5: the result has at most 2^46 elements.\n",
    .operands = "counter",
    .results = "out",
    .attrs = ZB_ATTRS({"shape", ZB_ATTR_INTS, false, 0, "shape of the result: shape = array<i64: 16>"},
                      {"dtype", ZB_ATTR_STRING, false, 0, "element type: dtype = \"f32\""},
                      {"op", ZB_ATTR_INT, false, 0, "number of the random op: op = 3 : i64"}),
    .traits = ZB_TRAIT_PURE | ZB_TRAIT_RANDOM | ZB_TRAIT_ZERO_GRADIENT,
    .infer = infer_uniform,
    .flops = ZB_DRAW_FLOPS,
};
