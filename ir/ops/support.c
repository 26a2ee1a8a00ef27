/* See ir/ops/support.h. Tests: test/ir/ops/ (one case a constraint), test/ir/split_test.c. */
#include "ir/ops/support.h"

#include "runtime/base/assert.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

bool zb_dtype_is_float(zb_dtype dtype) {
  return dtype == ZB_F32 || dtype == ZB_F64 || dtype == ZB_BF16 || dtype == ZB_F16;
}

bool zb_dtype_is_integer(zb_dtype dtype) { return dtype == ZB_I64 || dtype == ZB_I32; }

zb_dtype zb_dtype_wide(zb_dtype dtype) { return dtype == ZB_BF16 || dtype == ZB_F16 ? ZB_F32 : dtype; }

/* Name of an operand for messages; operands past a variadic entry share its name. */
static const char *operand_name(const zb_op_view *op, int operand, char text[40]) {
  zb_op_name name;
  zb_op_arity arity = zb_op_names_arity(op->def->operands);
  int index = operand < arity.named ? operand : arity.named - 1;
  if (!zb_op_name_at(op->def->operands, index, &name))
    snprintf(text, 40, "operand %d", operand);
  else if (name.variadic)
    snprintf(text, 40, "operand %d", operand);
  else
    snprintf(text, 40, "%.*s", name.length < 32 ? name.length : 32, name.text);
  return text;
}

zb_result zb_check_dtype(const zb_op_view *op, int operand, int kinds, const char *label, zb_op_error *error) {
  static const char *const kind_texts[] = {"any", "a float type",       "i64 or i32",      "a float type, i64 or i32",
                                           "i1",  "a float type or i1", "an integer type", "any type"};
  zb_dtype dtype = op->operands[operand].dtype;
  int kind = zb_dtype_is_float(dtype) ? ZB_REALS : zb_dtype_is_integer(dtype) ? ZB_INTEGERS : ZB_LOGIC;
  char name[40];
  if (kind & kinds) return ZB_OK;
  return zb_op_fail(error, "convert it with zb.cast", "wrong element type of %s: expected %s, got %s (%s)",
                    operand_name(op, operand, name), kind_texts[kinds], zb_dtype_name(dtype), label);
}

zb_result zb_check_type(const zb_op_view *op, int operand, const zb_shape *expected, const char *what,
                        const char *label, zb_op_error *error) {
  char name[40], expected_text[96], got[96];
  if (zb_shape_equal(&op->operands[operand], expected)) return ZB_OK;
  return zb_op_fail(error, NULL, "wrong type of %s: expected tensor<%s> (%s), got tensor<%s> (%s)",
                    operand_name(op, operand, name), zb_shape_text(expected, expected_text), what,
                    zb_shape_text(&op->operands[operand], got), label);
}

zb_result zb_check_same_type(const zb_op_view *op, int operand, int reference, const char *label, zb_op_error *error) {
  char what[64], name[40];
  snprintf(what, sizeof what, "the type of %s", operand_name(op, reference, name));
  return zb_check_type(op, operand, &op->operands[reference], what, label, error);
}

zb_result zb_check_same_dtype(const zb_op_view *op, int operand, int reference, const char *label, zb_op_error *error) {
  zb_dtype expected = op->operands[reference].dtype, got = op->operands[operand].dtype;
  char name[40], reference_name[40];
  if (expected == got) return ZB_OK;
  return zb_op_fail(error, "convert one of them with zb.cast",
                    "wrong element type of %s: expected %s as %s has, got %s (%s)", operand_name(op, operand, name),
                    zb_dtype_name(expected), operand_name(op, reference, reference_name), zb_dtype_name(got), label);
}

zb_result zb_check_axis(const zb_op_view *op, const char *name, int rank, const char *label, zb_op_error *error) {
  int64_t axis = zb_attr_int(&op->attrs, name, -1);
  if (axis >= 0 && axis < rank) return ZB_OK;
  return zb_op_fail(error, "axes are counted from 0; add the rank to a negative one",
                    "attribute '%s' is out of range: expected 0 to %d, got %" PRId64 " (%s)", name, rank - 1, axis,
                    label);
}

zb_result zb_check_shape_attr(const zb_op_view *op, const char *name, zb_dtype dtype, zb_shape *out, const char *label,
                              zb_op_error *error) {
  const zb_attr *attr = zb_attr_ints(op, name);
  if (attr->count > ZB_DIMS_MAX)
    return zb_op_fail(error, NULL, "attribute '%s' has too many dimensions: expected at most %d, got %d (%s)", name,
                      ZB_DIMS_MAX, attr->count, label);
  *out = (zb_shape){.dtype = dtype, .rank = attr->count};
  for (int i = 0; i < attr->count; ++i) {
    if (attr->ints[i] < 0)
      return zb_op_fail(error, "shapes are static: write the number itself",
                        "entry %d of attribute '%s' is negative: %" PRId64 " (%s)", i, name, attr->ints[i], label);
    out->dims[i] = attr->ints[i];
  }
  if (zb_shape_bytes(out) >= 0) return ZB_OK;
  return zb_op_fail(error, NULL, "attribute '%s' names a tensor of more than 2^63 bytes (%s)", name, label);
}

zb_result zb_check_dtype_attr(const zb_op_view *op, zb_dtype *out, const char *label, zb_op_error *error) {
  const char *name = zb_attr_string(&op->attrs, "dtype", "");
  for (int i = 0; i < ZB_DTYPE_COUNT; ++i)
    if (strcmp(name, zb_dtype_name((zb_dtype)i)) == 0) return *out = (zb_dtype)i, ZB_OK;
  return zb_op_fail(error, "use one of f32, f64, bf16, f16, i64, i32, i1", "unknown dtype '%.40s' (%s)", name, label);
}

zb_result zb_check_sum_dtype(const zb_op_view *op, zb_dtype operand, zb_dtype *out, const char *label,
                             zb_op_error *error) {
  *out = operand;
  if (!zb_attr_find(&op->attrs, "dtype")) return ZB_OK;
  if (!zb_check_dtype_attr(op, out, label, error)) return ZB_FAIL;
  if (*out == operand || *out == zb_dtype_wide(operand)) return ZB_OK;
  return zb_op_fail(error, "leave dtype out, or convert the result with zb.cast",
                    "a sum of %s cannot give %s: expected %s (%s)", zb_dtype_name(operand), zb_dtype_name(*out),
                    zb_dtype_name(zb_dtype_wide(operand)), label);
}

bool zb_broadcast(const zb_shape *a, const zb_shape *b, zb_shape *out) {
  int rank = a->rank > b->rank ? a->rank : b->rank;
  out->rank = rank;
  for (int i = 0; i < rank; ++i) {
    int at_a = i - (rank - a->rank), at_b = i - (rank - b->rank);
    int64_t da = at_a < 0 ? 1 : a->dims[at_a], db = at_b < 0 ? 1 : b->dims[at_b];
    if (da != db && da != 1 && db != 1) return false;
    out->dims[i] = da == 1 ? db : da;
  }
  return true;
}

const zb_attr *zb_attr_ints(const zb_op_view *op, const char *name) {
  static const zb_attr none = {.kind = ZB_ATTR_INTS};
  const zb_attr *attr = zb_attr_find(&op->attrs, name);
  return attr ? attr : &none;
}

double zb_elements(const zb_shape *shape) { return (double)zb_shape_elements(shape); }

zb_shape zb_scalar_shape(zb_dtype dtype) { return (zb_shape){.dtype = dtype, .rank = 0}; }

zb_shape zb_subshape(const zb_shape *x, int from, int to) {
  zb_shape out = {.dtype = x->dtype, .rank = to - from};
  for (int i = from; i < to; ++i)
    out.dims[i - from] = x->dims[i];
  return out;
}

MlirValue zb_operand(MlirOperation op, int index) { return mlirOperationGetOperand(op, index); }

MlirValue zb_result_value(MlirOperation op, int index) { return mlirOperationGetResult(op, index); }

zb_shape zb_value_shape(MlirValue value) {
  zb_shape shape = {.rank = 0};
  bool is_tensor = zb_type_shape(mlirValueGetType(value), &shape);
  ZB_ASSERT(is_tensor);
  return shape;
}

const char *zb_op_grad_name(MlirOperation op, char *text, size_t bytes) {
  snprintf(text, bytes, "%s_grad", zb_op_find(op)->name);
  return text;
}

MlirValue zb_build_grad1(zb_builder *b, MlirOperation op, const MlirValue *operands, int count) {
  zb_op_view view;
  zb_op_view_storage storage;
  if (!zb_op_view_get(op, &view, &storage)) return b->failed = true, (MlirValue){NULL};
  char name[80];
  return zb_build(b, zb_op_grad_name(op, name, sizeof name), operands, count, view.attrs.items, view.attrs.count);
}

zb_result zb_build_grad_op(zb_builder *b, const char *name, const MlirValue *operands, int operand_count,
                           const zb_attr *attrs, int attr_count, int result_count, const bool *needs, MlirValue *din) {
  MlirOperation gradient = zb_build_op(b, name, operands, operand_count, attrs, attr_count, result_count);
  if (mlirOperationIsNull(gradient)) return ZB_FAIL;
  for (int k = 0; k < result_count; ++k)
    if (needs[k]) din[k] = mlirOperationGetResult(gradient, k);
  return ZB_OK;
}

zb_result zb_check_no_gradient(MlirOperation op, const MlirValue *dout, int first) {
  intptr_t count = mlirOperationGetNumResults(op);
  for (intptr_t i = first; i < count; ++i)
    if (!mlirValueIsNull(dout[i]))
      return zb_op_error_at(op, "compute it with separate ops where it is used",
                            "result %" PRIdPTR " of zb.%s is not differentiable, but the loss depends on it", i,
                            zb_op_find(op)->name);
  return ZB_OK;
}

zb_result zb_builder_result(const zb_builder *b) { return b->failed ? ZB_FAIL : ZB_OK; }

zb_cost zb_cost_per_element(const zb_shape *shape, double flops) {
  return (zb_cost){.flops = flops * zb_elements(shape)};
}
