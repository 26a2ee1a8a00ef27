/* Operands that are written in a call, and the types of its results. Tests: test/ir/import/aten. */
#include "ir/import/aten/aten.h"

bool zb_aten_result_shape(zb_import_node *n, int result, zb_shape *out) {
  MlirOperation op = zb_aten_source(n);
  if (result >= mlirOperationGetNumResults(op)) return zb_import_refuse(n, NULL, "it has no result %d", result);
  if (zb_type_shape(mlirValueGetType(mlirOperationGetResult(op, result)), out) && zb_shape_bytes(out) >= 0) return true;
  return zb_import_refuse(n,
                          "make the model float32 (model.float()); tensors of f32, bf16, f16, i64, i32 and i1 with at "
                          "most 8 dimensions are supported, f64 in constants",
                          "the type of its result %d is not supported", result);
}

zb_operand zb_aten_number(zb_import_node *n, const char *name, zb_dtype dtype) {
  const bool is_exact = (dtype == ZB_I64 || dtype == ZB_I32) && zb_aten_number_type(n, name) != ZB_F32;
  zb_operand out = zb_operand_scalar(n, dtype, is_exact ? 0 : zb_aten_real(n, name, 0));
  if (out && is_exact) zb_known_set_integer(out->known, 0, zb_aten_int(n, name, 0));
  return n->im->failed ? NULL : out;
}

/* ---- Types ---- */

/* bool, integers, floats. */
static int category(zb_dtype dtype) { return dtype == ZB_I1 ? 0 : dtype == ZB_I32 || dtype == ZB_I64 ? 1 : 2; }

/* Within a category a tensor without dimensions follows one that has some; else the wider type. */
zb_dtype zb_aten_promoted(const zb_shape *a, const zb_shape *b) {
  const int left = category(a->dtype), right = category(b->dtype);
  if (left != right) return left > right ? a->dtype : b->dtype;
  if (a->dtype == b->dtype) return a->dtype;
  if ((a->rank == 0) != (b->rank == 0)) return a->rank == 0 ? b->dtype : a->dtype;
  if (zb_dtype_bytes(a->dtype) != zb_dtype_bytes(b->dtype))
    return zb_dtype_bytes(a->dtype) > zb_dtype_bytes(b->dtype) ? a->dtype : b->dtype;
  return ZB_F32; /* bf16 and f16 */
}
