/* Constant folding of zb-canonicalize: reshapes and casts of small constants, arithmetic on scalars.
 *
 * A folded scalar has the bits that the op's kernel would give when the plan is loaded: only operations that IEEE 754
 * rounds correctly (add, sub, mul, div, sqrt; 1/x as one division) are folded, in the type of the op. */

#include "passes/graph/canonicalize_rules.h"

#include <math.h>
#include <mlir-c/BuiltinAttributes.h>
#include <stdint.h>

enum { CONSTANT_BYTES_MAX = 1024 };

typedef struct scalar {
  zb_dtype dtype;
  double number;
  int64_t integer;
} scalar;

static MlirAttribute elements_of(MlirOperation constant) {
  MlirAttribute value = zb_get_attribute(constant, "value");
  return !mlirAttributeIsNull(value) && mlirAttributeIsADenseElements(value) ? value : (MlirAttribute){0};
}

static zb_outcome replace_by_constant(MlirOperation op, MlirAttribute elements) {
  MlirNamedAttribute mark;
  zb_builder builder = zb_builder_marked(op, op, &mark);
  MlirNamedAttribute value = zb_named(builder.context, "value", elements);
  MlirType type = mlirValueGetType(mlirOperationGetResult(op, 0));
  MlirOperation constant = zb_build_any(&builder, "zb.constant", NULL, 0, &type, 1, &value, 1);
  if (builder.failed) return ZB_FAILED;
  zb_replace_op(op, mlirOperationGetResult(constant, 0));
  return ZB_REPLACED;
}

zb_outcome zb_fold_reshape(MlirOperation op) {
  MlirOperation constant = zb_producer_named(mlirOperationGetOperand(op, 0), "zb.constant");
  if (mlirOperationIsNull(constant)) return ZB_KEPT;
  MlirAttribute elements = elements_of(constant);
  if (mlirAttributeIsNull(elements)) return ZB_KEPT;
  MlirType type = mlirValueGetType(mlirOperationGetResult(op, 0));
  return replace_by_constant(op, mlirDenseElementsAttrReshapeGet(elements, type));
}

/* ---- Elements ---- */

/* Stores a scalar as element `index` of a buffer of its dtype. False for a type that is not folded, or a value outside
 * of it. */
static bool store(const scalar *from, void *buffer, int64_t index) {
  const int64_t whole = from->dtype == ZB_I1 ? from->integer != 0 : from->integer;
  if (from->dtype == ZB_I32 && (whole < INT32_MIN || whole > INT32_MAX)) return false;
  switch (from->dtype) {
#define TYPE(DTYPE, Name, c_type, is_float)                                                                            \
  case DTYPE:                                                                                                          \
    ((c_type *)buffer)[index] = is_float ? (c_type)from->number : (c_type)whole;                                       \
    return true;
    ZB_DENSE_TYPES(TYPE)
#undef TYPE
  default:
    return false;
  }
}

static MlirAttribute dense_of(MlirType type, zb_dtype dtype, int64_t count, const void *buffer) {
  switch (dtype) {
#define TYPE(DTYPE, Name, c_type, is_float)                                                                            \
  case DTYPE:                                                                                                          \
    return mlirDenseElementsAttr##Name##Get(type, count, buffer);
    ZB_DENSE_TYPES(TYPE)
#undef TYPE
  default:
    return (MlirAttribute){0};
  }
}

static bool is_float(zb_dtype dtype) { return dtype == ZB_F32 || dtype == ZB_F64; }

/* The meaning of zb.cast: float to integer truncates, anything to i1 is "not zero". */
static bool cast_scalar(const scalar *from, zb_dtype to, scalar *out) {
  const bool real = is_float(from->dtype);
  *out = (scalar){.dtype = to, .number = real ? from->number : (double)from->integer, .integer = from->integer};
  if (to == ZB_I1) {
    out->integer = real ? from->number != 0 : from->integer != 0;
    return true;
  }
  /* An integer beyond 2^53 would be rounded twice on its way through double. */
  if (is_float(to)) return real || (from->integer <= (INT64_C(1) << 53) && from->integer >= -(INT64_C(1) << 53));
  if (real && !(from->number > -9e18 && from->number < 9e18)) return false;
  if (real) out->integer = (int64_t)from->number;
  return true;
}

zb_outcome zb_fold_cast(MlirOperation op) {
  union {
    double align;
    unsigned char bytes[CONSTANT_BYTES_MAX * sizeof(int)]; /* an i1 takes an int here */
  } buffer;
  MlirOperation constant = zb_producer_named(mlirOperationGetOperand(op, 0), "zb.constant");
  MlirValue result = mlirOperationGetResult(op, 0);
  zb_shape in, out;
  if (mlirOperationIsNull(constant) || mlirAttributeIsNull(elements_of(constant))) return ZB_KEPT;
  if (!zb_value_shape(mlirOperationGetResult(constant, 0), &in) || !zb_value_shape(result, &out)) return ZB_KEPT;
  if (zb_shape_bytes(&in) > CONSTANT_BYTES_MAX || zb_shape_bytes(&out) > CONSTANT_BYTES_MAX ||
      zb_shape_bytes(&out) <= 0)
    return ZB_KEPT;
  int64_t count = zb_shape_elements(&out);
  for (int64_t i = 0; i < count; ++i) {
    scalar from = {.dtype = in.dtype}, to;
    if (!zb_dense_element(elements_of(constant), in.dtype, i, &from.number, &from.integer)) return ZB_KEPT;
    if (!cast_scalar(&from, out.dtype, &to) || !store(&to, buffer.bytes, i)) return ZB_KEPT;
  }
  MlirAttribute elements = dense_of(mlirValueGetType(result), out.dtype, count, buffer.bytes);
  return mlirAttributeIsNull(elements) ? ZB_KEPT : replace_by_constant(op, elements);
}

/* ---- Arithmetic on scalars ---- */

static bool load_scalar(MlirValue value, scalar *out) {
  MlirOperation constant = zb_producer_named(value, "zb.constant");
  zb_shape shape;
  if (mlirOperationIsNull(constant) || !zb_value_shape(value, &shape) || shape.rank != 0) return false;
  out->dtype = shape.dtype;
  return zb_dense_element(elements_of(constant), shape.dtype, 0, &out->number, &out->integer);
}

/* Ops on floats, rounded once in float (double would round twice), and on integers (*out is set; false: overflow and
 * division by zero are left to the kernel, which says what they mean). */
#define OPERATIONS(OPERATION)                                                                                          \
  OPERATION(add, x + y, !__builtin_add_overflow(i, j, out))                                                            \
  OPERATION(sub, x - y, !__builtin_sub_overflow(i, j, out))                                                            \
  OPERATION(mul, x *y, !__builtin_mul_overflow(i, j, out))                                                             \
  OPERATION(div, x / y, divide(i, j, out))                                                                             \
  OPERATION(neg, -x, !__builtin_sub_overflow((int64_t)0, i, out))                                                      \
  OPERATION(sqrt, sqrtf(x), false)                                                                                     \
  OPERATION(reciprocal, 1.0f / x, false)

static bool divide(int64_t i, int64_t j, int64_t *out) {
  if (j == 0 || (i == INT64_MIN && j == -1)) return false;
  *out = i / j;
  return true;
}

static float float_result(MlirOperation op, float x, float y) {
#define OPERATION(name, number, integer)                                                                               \
  if (zb_op_is(op, "zb." #name)) return number;
  OPERATIONS(OPERATION)
#undef OPERATION
  return 0;
}

static bool integer_result(MlirOperation op, int64_t i, int64_t j, int64_t *out) {
#define OPERATION(name, number, integer)                                                                               \
  if (zb_op_is(op, "zb." #name)) return integer;
  OPERATIONS(OPERATION)
#undef OPERATION
  return false;
}

zb_outcome zb_fold_arithmetic(MlirOperation op) {
  scalar x = {0}, y = {0}, out;
  int64_t buffer[1];
  MlirType type = mlirValueGetType(mlirOperationGetResult(op, 0));
  if (!load_scalar(mlirOperationGetOperand(op, 0), &x)) return ZB_KEPT;
  if (mlirOperationGetNumOperands(op) > 1 && !load_scalar(mlirOperationGetOperand(op, 1), &y)) return ZB_KEPT;
  out = (scalar){.dtype = x.dtype};
  if (x.dtype == ZB_F32)
    out.number = (double)float_result(op, (float)x.number, (float)y.number);
  else if ((x.dtype != ZB_I64 && x.dtype != ZB_I32) || !integer_result(op, x.integer, y.integer, &out.integer))
    return ZB_KEPT;
  if (!store(&out, buffer, 0)) return ZB_KEPT;
  return replace_by_constant(op, dense_of(type, x.dtype, 1, buffer));
}
