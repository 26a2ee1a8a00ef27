/* Random numbers. A file does not say what an evaluation draws: so it draws what a step draws, but for Bernoulli, which
 * keeps or drops (drop path) and whose mean an evaluation has. Tests: test/ir/import/make_cases.py. */
#include "ir/import/onnx/onnx.h"

#include <string.h>

/* Shape and type of the result: of `shape` and `dtype`, or of the operand. */
static bool read_result(zb_import_node *n, bool is_like, zb_shape *out) {
  const int64_t number = zb_onnx_int(n, "dtype", 0);
  *out = (zb_shape){.dtype = ZB_F32};
  if (zb_onnx_attribute(n, "seed"))
    return zb_import_refuse(n, "leave it out: zb-run --random-seed N seeds all random ops of a run",
                            "attribute 'seed' is not supported");
  if (is_like && !zb_import_shape(n, 0, out)) return false;
  if (!is_like && !zb_onnx_ints(n, "shape", out->dims, ZB_DIMS_MAX, &out->rank)) return false;
  for (int i = 0; i < out->rank; ++i)
    if (out->dims[i] < 0) return zb_import_refuse(n, NULL, "its shape has a negative size");
  return !number || zb_onnx_dtype(number, &out->dtype) || zb_import_refuse(n, NULL, "its dtype is not supported");
}

zb_result zb_onnx_random(zb_import_node *n) {
  const bool is_normal = strncmp(n->op->argument, "normal", 6) == 0;
  zb_shape result, real;
  if (!read_result(n, strstr(n->op->argument, "like") != NULL, &result)) return ZB_FAIL;
  real = result;
  real.dtype = ZB_F32;
  const double low = zb_onnx_float(n, "low", 0), high = zb_onnx_float(n, "high", 1);
  zb_operand x = is_normal ? zb_meaning_line(n, zb_meaning_normal(n, &real), zb_onnx_float(n, "scale", 1),
                                             zb_onnx_float(n, "mean", 0))
                           : zb_meaning_line(n, zb_meaning_uniform(n, &real), high - low, low);
  return zb_operand_give(n, 0, zb_operand_cast(n, x, result.dtype));
}

zb_result zb_onnx_bernoulli(zb_import_node *n) {
  zb_shape result;
  if (!read_result(n, true, &result)) return ZB_FAIL;
  zb_operand p = zb_operand_cast(n, zb_operand_in(n, 0), ZB_F32);
  zb_operand drawn = zb_operand_cast(n, zb_meaning_bernoulli(n, p), result.dtype);
  const bool is_whole = result.dtype == ZB_I64 || result.dtype == ZB_I32 || result.dtype == ZB_I1;
  if (is_whole) return zb_operand_give(n, 0, drawn);
  return zb_operand_give(n, 0, zb_meaning_by_mode(n, drawn, zb_operand_cast(n, p, result.dtype)));
}
