/* Clipping by the norm of all gradients: what each parameter gives to the norm, and the factor that follows from it.
 *
 * Tests: test/ir/ops/clip.mlir. */
#include "ir/ops/support.h"

#include <string.h>

enum { BLOCK = 4096, WEIGHTED_NUMBERS = 2 }; /* BLOCK: elements of a block of zb.square_sum */

static zb_result infer_part(const zb_op_view *op, zb_shape *results, zb_op_error *error) {
  results[0] = zb_scalar_shape(ZB_F64);
  return zb_check_dtype(op, 0, ZB_REALS, "C1", error);
}

/* One f64 a block. */
static uint64_t part_scratch(const zb_op_view *op, const zb_shape *results ZB_UNUSED) {
  const int64_t blocks = (zb_shape_elements(&op->operands[0]) + BLOCK - 1) / BLOCK;
  return blocks > 1 ? (uint64_t)blocks * sizeof(double) : 0;
}

#define PART_ROW(NAME, FLOPS, SUMMARY)                                                                                 \
  const zb_op_def zb_op_##NAME = {                                                                                     \
      ZB_ROW(NAME),                                                                                                    \
      .summary = SUMMARY,                                                                                              \
      .doc = "C1: x has a float type.\n",                                                                              \
      .operands = "x",                                                                                                 \
      .results = "out",                                                                                                \
      .attrs = ZB_ATTRS({"scale", ZB_ATTR_FLOAT, true, 1, "factor of x: 1 / micro-batches"}),                          \
      .traits = ZB_TRAIT_PURE | ZB_TRAIT_NUMBER,                                                                       \
      .infer = infer_part,                                                                                             \
      .flops = FLOPS,                                                                                                  \
      .counted = ZB_OPERAND(0),                                                                                        \
      .scratch_bytes = part_scratch,                                                                                   \
  };
PART_ROW(square_sum, 2, "The sum of the squares of scale * x, in f64 and in a fixed tree.")
PART_ROW(abs_max, 1, "The greatest absolute value of scale * x.")

static zb_result infer_clip_scale(const zb_op_view *op, zb_shape *results, zb_op_error *error) {
  const zb_shape *parts = &op->operands[0];
  const char *type = zb_attr_string(&op->attrs, "norm_type", "2");
  const zb_shape step = zb_scalar_shape(ZB_I64), most = {.dtype = ZB_F64, .rank = 1, .dims = {1}};
  results[0] = (zb_shape){.dtype = ZB_F64, .rank = 1, .dims = {2}};
  results[1] = zb_scalar_shape(ZB_F32);
  if (parts->dtype != ZB_F64 || parts->rank != 1)
    return zb_op_fail(error, NULL, "expected a vector of f64 with a part of each parameter (C1)");
  if (strcmp(type, "2") != 0 && strcmp(type, "inf") != 0)
    return zb_op_fail(error, "norm_type = \"2\" or \"inf\"", "unknown norm_type '%s' (C2)", type);
  if (zb_attr_bool(&op->attrs, "weighted", false) && parts->dims[0] < WEIGHTED_NUMBERS)
    return zb_op_fail(error, NULL, "the last two parts are the sum of losses and of their weights: there are %lld (C5)",
                      (long long)parts->dims[0]);
  if (!zb_check_type(op, 1, &step, "the number of the step, from 1", "C3", error)) return ZB_FAIL;
  return zb_check_type(op, 2, &most, "the greatest norm", "C4", error);
}

const zb_op_def zb_op_clip_scale = {
    ZB_ROW(clip_scale),
    .summary = "The step with the factor of all gradients, min(1, max_norm / (norm + 1e-6)), and their norm.",
    .doc =
        "C1: parts is a vector of f64. C2: norm_type is \"2\" or \"inf\". C3: step is an i64 scalar. C4: max_norm is a "
        "vector of one f64. C5: weighted, the last two parts are no parts of the norm: the sum of losses, and that of "
        "their weights, by which gradients and norm are divided, too; where no target has a weight the norm is -1.\n",
    .operands = "parts, step, max_norm",
    .results = "scaled_step, norm",
    .attrs = ZB_ATTRS({"norm_type", ZB_ATTR_STRING, true, 0, "\"2\" (absent), or \"inf\""},
                      {"weighted", ZB_ATTR_BOOL, true, 0, "gradients are those of a sum, which becomes a mean"}),
    .traits = ZB_TRAIT_PURE,
    .infer = infer_clip_scale,
    .flops = 1,
    .counted = ZB_OPERAND(0),
};
