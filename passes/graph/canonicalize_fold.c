/* Constant folding of zb-canonicalize: reshapes and casts of small constants, arithmetic on scalars.
 *
 * A folded scalar has the bits that the op's kernel would give when the plan is loaded: only operations that IEEE 754
 * rounds correctly (add, sub, mul, div, sqrt; 1/x as one division) are folded, in the type of the op. */

#include "passes/graph/canonicalize_rules.h"

#include <math.h>
#include <mlir-c/BuiltinAttributes.h>
#include <stdint.h>
#include <string.h>

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
  switch (from->dtype) {
  case ZB_F32:
    ((float *)buffer)[index] = (float)from->number;
    return true;
  case ZB_F64:
    ((double *)buffer)[index] = from->number;
    return true;
  case ZB_I64:
    ((int64_t *)buffer)[index] = from->integer;
    return true;
  case ZB_I32:
    if (from->integer < INT32_MIN || from->integer > INT32_MAX) return false;
    ((int32_t *)buffer)[index] = (int32_t)from->integer;
    return true;
  case ZB_I1:
    ((int *)buffer)[index] = from->integer != 0;
    return true;
  default:
    return false;
  }
}

static MlirAttribute dense_of(MlirType type, zb_dtype dtype, int64_t count, const void *buffer) {
  switch (dtype) {
  case ZB_F32:
    return mlirDenseElementsAttrFloatGet(type, count, buffer);
  case ZB_F64:
    return mlirDenseElementsAttrDoubleGet(type, count, buffer);
  case ZB_I64:
    return mlirDenseElementsAttrInt64Get(type, count, buffer);
  case ZB_I32:
    return mlirDenseElementsAttrInt32Get(type, count, buffer);
  case ZB_I1:
    return mlirDenseElementsAttrBoolGet(type, count, buffer);
  default:
    return (MlirAttribute){0};
  }
}

static bool is_float(zb_dtype dtype) { return dtype == ZB_F32 || dtype == ZB_F64; }

/* The meaning of zb.cast: float to integer truncates, anything to i1 is "not zero". */
static bool cast_scalar(const scalar *from, zb_dtype to, scalar *out) {
  *out = (scalar){.dtype = to};
  if (to == ZB_I1) {
    out->integer = is_float(from->dtype) ? from->number != 0 : from->integer != 0;
    return true;
  }
  if (is_float(to)) {
    /* An integer beyond 2^53 would be rounded twice on its way through double. */
    if (!is_float(from->dtype) && (from->integer > (INT64_C(1) << 53) || from->integer < -(INT64_C(1) << 53)))
      return false;
    out->number = is_float(from->dtype) ? from->number : (double)from->integer;
    return true;
  }
  if (!is_float(from->dtype)) {
    out->integer = from->integer;
    return true;
  }
  if (!(from->number > -9e18 && from->number < 9e18)) return false;
  out->integer = (int64_t)from->number;
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
  if (!zb_type_shape(mlirValueGetType(mlirOperationGetResult(constant, 0)), &in) ||
      !zb_type_shape(mlirValueGetType(result), &out))
    return ZB_KEPT;
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
  if (mlirOperationIsNull(constant) || !zb_type_shape(mlirValueGetType(value), &shape) || shape.rank != 0) return false;
  out->dtype = shape.dtype;
  return zb_dense_element(elements_of(constant), shape.dtype, 0, &out->number, &out->integer);
}

/* Rounded once, in float: double would round twice. */
static bool float_result(char operation, float x, float y, float *out) {
  switch (operation) {
  case '+':
    *out = x + y;
    return true;
  case '-':
    *out = x - y;
    return true;
  case '*':
    *out = x * y;
    return true;
  case '/':
    *out = x / y;
    return true;
  case 'n':
    *out = -x;
    return true;
  case 'q':
    *out = sqrtf(x);
    return true;
  case 'r':
    *out = 1.0f / x;
    return true;
  default:
    return false;
  }
}

/* Overflow and division by zero are left to the kernel, which says what they mean. */
static bool integer_result(char operation, int64_t x, int64_t y, int64_t *out) {
  switch (operation) {
  case '+':
    return !__builtin_add_overflow(x, y, out);
  case '-':
    return !__builtin_sub_overflow(x, y, out);
  case '*':
    return !__builtin_mul_overflow(x, y, out);
  case 'n':
    return !__builtin_sub_overflow((int64_t)0, x, out);
  case '/':
    if (y == 0 || (x == INT64_MIN && y == -1)) return false;
    *out = x / y;
    return true;
  default:
    return false;
  }
}

static char operation_of(MlirOperation op) {
  static const struct {
    const char *name;
    char operation;
  } rows[] = {{"zb.add", '+'}, {"zb.sub", '-'},  {"zb.mul", '*'},       {"zb.div", '/'},
              {"zb.neg", 'n'}, {"zb.sqrt", 'q'}, {"zb.reciprocal", 'r'}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i)
    if (zb_op_is(op, rows[i].name)) return rows[i].operation;
  return 0;
}

zb_outcome zb_fold_arithmetic(MlirOperation op) {
  scalar x = {0}, y = {0}, out;
  int64_t buffer[1];
  float number = 0;
  MlirType type = mlirValueGetType(mlirOperationGetResult(op, 0));
  if (!load_scalar(mlirOperationGetOperand(op, 0), &x)) return ZB_KEPT;
  if (mlirOperationGetNumOperands(op) > 1 && !load_scalar(mlirOperationGetOperand(op, 1), &y)) return ZB_KEPT;
  out = (scalar){.dtype = x.dtype};
  bool folded = false;
  if (x.dtype == ZB_F32) folded = float_result(operation_of(op), (float)x.number, (float)y.number, &number);
  if (x.dtype == ZB_I64 || x.dtype == ZB_I32)
    folded = integer_result(operation_of(op), x.integer, y.integer, &out.integer);
  out.number = (double)number;
  if (!folded || !store(&out, buffer, 0)) return ZB_KEPT;
  return replace_by_constant(op, dense_of(type, x.dtype, 1, buffer));
}
