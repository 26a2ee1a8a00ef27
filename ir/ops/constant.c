/* Values that depend on nothing: zb.constant, zb.iota, zb.triangle.
 *
 * Tests: test/ir/ops/constant.mlir.
 */
#include "ir/ops/support.h"

const zb_op_def zb_op_constant = {
    ZB_ROW(constant),
    .summary = "A small constant; larger ones are zb.constant arguments, by name, beside the IR.",
    .doc = "C1: value has the type of the result. C2: it has at most 1024 bytes.\n", /* checked by ir/verify.c: values
                                                                                        are no plain data */
    .operands = "",
    .results = "out",
    .attrs = ZB_ATTRS({"value", ZB_ATTR_ELEMENTS, false, 0, "value = dense<1.0> : tensor<f32>"}),
    .traits = ZB_TRAIT_PURE | ZB_TRAIT_ZERO_GRADIENT,
};

static zb_result infer_iota(const zb_op_view *op, zb_shape *results, zb_op_error *error) {
  zb_dtype dtype;
  if (!zb_check_dtype_attr(op, &dtype, "C1", error)) return ZB_FAIL;
  if (dtype == ZB_I1)
    return zb_op_fail(error, "compare the numbers with zb.greater or zb.equal", "expected a number type, got i1 (C1)");
  if (!zb_check_shape_attr(op, "shape", dtype, &results[0], "C2", error)) return ZB_FAIL;
  return zb_check_axis(op, "axis", results[0].rank, "C3", error);
}

const zb_op_def zb_op_iota = {
    ZB_ROW(iota),
    .summary = "start + step * index along an axis.",
    .doc = "C1: dtype names a number type. C2: shape has at most 8 entries, each >= 0. C3: axis is one of its "
           "dimensions.\n",
    .operands = "",
    .results = "out",
    .attrs = ZB_ATTRS({"shape", ZB_ATTR_INTS, false, 0, "shape of the result: shape = array<i64: 16>"},
                      {"axis", ZB_ATTR_INT, false, 0, "dimension that counts, from 0: axis = 0 : i64"},
                      {"start", ZB_ATTR_FLOAT, false, 0, "first value: start = 0.0 : f64"},
                      {"step", ZB_ATTR_FLOAT, false, 0, "difference: step = 1.0 : f64"},
                      {"dtype", ZB_ATTR_STRING, false, 0, "element type: dtype = \"i64\""}),
    .traits = ZB_TRAIT_PURE | ZB_TRAIT_ZERO_GRADIENT,
    .infer = infer_iota,
    .flops = 2,
};

static zb_result infer_triangle(const zb_op_view *op, zb_shape *results, zb_op_error *error) {
  zb_dtype dtype;
  if (!zb_check_dtype_attr(op, &dtype, "C1", error)) return ZB_FAIL;
  if (!zb_check_shape_attr(op, "shape", dtype, &results[0], "C2", error)) return ZB_FAIL;
  if (results[0].rank >= 2) return ZB_OK;
  return zb_op_fail(error, NULL, "a triangle needs rows and columns: expected rank 2 or more, got %d (C2)",
                    results[0].rank);
}

const zb_op_def zb_op_triangle = {
    ZB_ROW(triangle),
    .summary = "j <= i + diagonal ? lower : upper, for row i and column j.",
    .doc = "C1: dtype names an element type. C2: shape has 2 to 8 entries, each >= 0.\n",
    .operands = "",
    .results = "out",
    .attrs = ZB_ATTRS({"shape", ZB_ATTR_INTS, false, 0, "shape of the result: shape = array<i64: 16, 16>"},
                      {"diagonal", ZB_ATTR_INT, false, 0, "diagonal = 0 : i64: the main diagonal is lower"},
                      {"lower", ZB_ATTR_FLOAT, false, 0, "value on and below: lower = 0.0 : f64"},
                      {"upper", ZB_ATTR_FLOAT, false, 0, "value above: upper = 0xFFF0000000000000 : f64"},
                      {"dtype", ZB_ATTR_STRING, false, 0, "element type: dtype = \"f32\""}),
    .traits = ZB_TRAIT_PURE | ZB_TRAIT_ZERO_GRADIENT,
    .infer = infer_triangle,
    .flops = 2,
};
