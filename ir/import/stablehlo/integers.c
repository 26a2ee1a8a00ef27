/* Integers of widths and signs that zb does not compute with. They are held in the next wider type, as the numbers that
 * they are, and what may leave their range is wrapped behind the op:
 *
 *   i4, i8, i16, ui4, ui8, ui16     in i32
 *   ui32                            in i64
 *   ui64                            in i64, by its bits: what depends on their order compares x ^ the sign bit
 *
 *   stablehlo.add %a, %b : tensor<4xui8>     zb.bitwise_and(zb.add(a, b), 255)
 *
 * Tests: test/e2e/stablehlo_testdata.py, on test/ir/import/stablehlo/Inputs/checked. */
#include "ir/import/stablehlo/stablehlo.h"

#include <mlir-c/BuiltinTypes.h>

/* ---- Types ---- */

zb_stablehlo_integer zb_stablehlo_integer_of(MlirType type) {
  zb_stablehlo_integer out = {0, false};
  if (!mlirTypeIsARankedTensor(type)) return out;
  MlirType element = mlirShapedTypeGetElementType(type);
  if (!mlirTypeIsAInteger(element)) return out;
  const unsigned width = mlirIntegerTypeGetWidth(element);
  if (width < 2 || width > 64) return out;
  return (zb_stablehlo_integer){(int)width, mlirIntegerTypeIsUnsigned(element)};
}

bool zb_stablehlo_is_held(zb_stablehlo_integer type) { return type.bits && (type.is_unsigned || type.bits < 32); }

bool zb_stablehlo_shape(MlirType type, zb_shape *out) {
  const zb_stablehlo_integer integer = zb_stablehlo_integer_of(type);
  if (!zb_stablehlo_is_held(integer)) return zb_type_shape(type, out);
  const int64_t rank = mlirShapedTypeGetRank(type);
  const int bits = integer.bits;
  if (rank > ZB_DIMS_MAX || !mlirShapedTypeHasStaticShape(type)) return false;
  if (bits != 4 && bits != 8 && bits != 16 && bits != 32 && bits != 64) return false;
  *out = (zb_shape){.dtype = bits < 32 ? ZB_I32 : ZB_I64, .rank = (int)rank};
  for (int i = 0; i < out->rank; ++i)
    out->dims[i] = mlirShapedTypeGetDimSize(type, i);
  return zb_shape_bytes(out) >= 0;
}

static MlirType operand_type(const zb_import_node *n, int operand) {
  return mlirValueGetType(mlirOperationGetOperand(zb_stablehlo_source(n), operand));
}

zb_stablehlo_integer zb_stablehlo_operand_integer(const zb_import_node *n, int operand) {
  return zb_stablehlo_integer_of(operand_type(n, operand));
}

zb_stablehlo_integer zb_stablehlo_result_integer(const zb_import_node *n, int result) {
  return zb_stablehlo_integer_of(mlirValueGetType(mlirOperationGetResult(zb_stablehlo_source(n), result)));
}

bool zb_stablehlo_is_wide_unsigned(zb_stablehlo_integer type) { return type.is_unsigned && type.bits == 64; }

/* ---- Wrapping ---- */

int64_t zb_stablehlo_wrap(int64_t value, zb_stablehlo_integer type) {
  if (!zb_stablehlo_is_held(type) || type.bits == 64) return value;
  const uint64_t mask = (UINT64_C(1) << type.bits) - 1, sign = type.is_unsigned ? 0 : UINT64_C(1) << (type.bits - 1);
  return (int64_t)((((uint64_t)value + sign) & mask) - sign);
}

static MlirValue wrapped(zb_import_node *n, MlirValue x, int bits, bool is_unsigned) {
  zb_builder *b = n->b;
  zb_shape shape;
  if (!zb_import_ir_shape(n, x, &shape)) return x;
  const double mask = (double)((UINT64_C(1) << bits) - 1), sign = (double)(UINT64_C(1) << (bits - 1));
  if (!is_unsigned) x = zb_build2(b, "add", x, zb_build_scalar(b, shape.dtype, sign));
  x = zb_build2(b, "bitwise_and", x, zb_build_scalar(b, shape.dtype, mask));
  return is_unsigned ? x : zb_build2(b, "sub", x, zb_build_scalar(b, shape.dtype, sign));
}

MlirValue zb_stablehlo_wrapped_as(zb_import_node *n, MlirValue x, int bits) { return wrapped(n, x, bits, false); }

MlirValue zb_stablehlo_wrapped(zb_import_node *n, MlirValue x, zb_stablehlo_integer type) {
  return zb_stablehlo_is_held(type) && type.bits < 64 ? wrapped(n, x, type.bits, type.is_unsigned) : x;
}

zb_result zb_stablehlo_wrap_results(zb_import_node *n) {
  for (int i = 0; i < n->output_count; ++i) {
    zb_import_value *out = n->outputs[i];
    const zb_stablehlo_integer type = zb_stablehlo_result_integer(n, i);
    if (!out || !zb_stablehlo_is_held(type)) continue;
    /* A conversion to a type that is held in the same one gives its operand, which stays as it is. */
    if (out->known && !(out->known = zb_known_copy(n->im, &out->known->shape, out->known->data))) return ZB_FAIL;
    for (int64_t k = 0; out->known && k < out->known->elements; ++k)
      zb_known_set_integer(out->known, k, zb_stablehlo_wrap(zb_known_integer(out->known, k), type));
    if (!out->known && out->value.ptr) out->value = zb_stablehlo_wrapped(n, out->value, type);
    if (n->b->failed) return ZB_FAIL;
  }
  return ZB_OK;
}

/* ---- Constants and order of 64 bits ---- */

/* A scalar of i64 that a double may not hold: the bits in two halves. */
MlirValue zb_stablehlo_scalar(zb_import_node *n, zb_dtype dtype, int64_t value) {
  const zb_shape shape = {.dtype = dtype};
  zb_known *known = zb_known_new(n->im, &shape);
  if (known) zb_known_set_integer(known, 0, value);
  return known ? zb_import_literal_ir(n->im, known, "number") : (MlirValue){NULL};
}

MlirValue zb_stablehlo_ordered(zb_import_node *n, MlirValue x, zb_stablehlo_integer type) {
  if (!zb_stablehlo_is_wide_unsigned(type)) return x;
  return zb_build2(n->b, "bitwise_xor", x, zb_stablehlo_scalar(n, ZB_I64, INT64_MIN));
}

/* x / y or x % y of ui64: the quotient of x / 2 as a signed number, doubled, is 0 or 1 too small. y of 2^63 or more is
 * contained in x once or never. */
MlirValue zb_stablehlo_divided(zb_import_node *n, MlirValue x, MlirValue y, bool remainder) {
  zb_builder *b = n->b;
  const zb_stablehlo_integer type = {64, true};
  MlirValue one = zb_stablehlo_scalar(n, ZB_I64, 1), zero = zb_stablehlo_scalar(n, ZB_I64, 0);
  MlirValue large = zb_build2(b, "less", y, zero), divisor = zb_build_where(n->b, large, one, y);
  MlirValue half = zb_stablehlo_shifted(n, x, one, (zb_stablehlo_integer){64, true}, false);
  MlirValue quotient = zb_build2(b, "mul", zb_build2(b, "div", half, divisor), zb_stablehlo_scalar(n, ZB_I64, 2));
  quotient = zb_build_where(n->b, large, zero, quotient);
  MlirValue rest = zb_build2(b, "sub", x, zb_build2(b, "mul", quotient, y));
  MlirValue more = zb_build2(b, "greater_equal", zb_stablehlo_ordered(n, rest, type), zb_stablehlo_ordered(n, y, type));
  more = zb_build_cast(b, more, ZB_I64);
  return remainder ? zb_build2(b, "sub", rest, zb_build2(b, "mul", more, y)) : zb_build2(b, "add", quotient, more);
}

/* ---- Bits ---- */

static MlirValue shift(zb_import_node *n, MlirValue x, MlirValue places, bool to_left) {
  const zb_attr left = zb_bool("left", to_left);
  return zb_build(n->b, "bit_shift", (MlirValue[]){x, places}, 2, &left, 1);
}

/* Whether a number of places is none below the width. */
static MlirValue is_beyond(zb_import_node *n, MlirValue places, MlirValue zero, MlirValue width) {
  return zb_build2(n->b, "or", zb_build2(n->b, "less", places, zero), zb_build2(n->b, "greater_equal", places, width));
}

/* x shifted by a number of places, 0 (or the sign, of arithmetic shifts) where that is no number below the width. A
 * logical shift of a signed number takes its bits: one place first, without the sign, then the others. */
MlirValue zb_stablehlo_shifted(zb_import_node *n, MlirValue x, MlirValue places, zb_stablehlo_integer type,
                               bool keeps_sign) {
  zb_builder *b = n->b;
  zb_shape shape;
  if (!zb_import_ir_shape(n, x, &shape)) return (MlirValue){NULL};
  const int64_t most = type.bits - 1;
  MlirValue zero = zb_stablehlo_scalar(n, shape.dtype, 0), one = zb_stablehlo_scalar(n, shape.dtype, 1);
  MlirValue width = zb_stablehlo_scalar(n, shape.dtype, type.bits), last = zb_stablehlo_scalar(n, shape.dtype, most);
  MlirValue beyond = is_beyond(n, places, zero, width);
  MlirValue count = zb_build_where(n->b, beyond, last, places);
  if (keeps_sign) return shift(n, x, count, false);
  const bool is_native = type.bits == 32 || type.bits == 64; /* of others that are unsigned the sign is never set */
  if (!type.is_unsigned && !is_native)
    x = zb_build2(b, "bitwise_and", x, zb_stablehlo_scalar(n, shape.dtype, (INT64_C(1) << type.bits) - 1));
  MlirValue shifted;
  if (is_native && !(type.is_unsigned && type.bits == 32)) {
    const int64_t positive = type.bits == 64 ? INT64_MAX : INT32_MAX;
    MlirValue first = shift(n, x, one, false);
    first = zb_build2(b, "bitwise_and", first, zb_stablehlo_scalar(n, shape.dtype, positive));
    MlirValue rest = zb_build2(b, "max", zb_build2(b, "sub", count, one), zero);
    shifted = shift(n, first, rest, false);
    shifted = zb_build_where(n->b, zb_build2(b, "equal", count, zero), x, shifted);
  } else {
    shifted = shift(n, x, count, false);
  }
  return zb_build_where(n->b, beyond, zero, shifted);
}

/* argument: "left", "right", "sign". */
zb_result zb_stablehlo_shift(zb_import_node *n) {
  const zb_stablehlo_integer type = zb_stablehlo_operand_integer(n, 0);
  const char *kind = n->op->argument;
  MlirValue x = zb_import_ir(n, 0), places = zb_import_ir(n, 1);
  zb_shape shape;
  if (!zb_import_ir_shape(n, x, &shape) || !places.ptr) return ZB_FAIL;
  if (!type.bits) return zb_import_refuse(n, NULL, "a shift of %s", zb_dtype_name(shape.dtype));
  if (*kind != 'l') return zb_import_give(n, 0, zb_stablehlo_shifted(n, x, places, type, *kind == 's'));
  MlirValue zero = zb_stablehlo_scalar(n, shape.dtype, 0);
  MlirValue beyond = is_beyond(n, places, zero, zb_stablehlo_scalar(n, shape.dtype, type.bits));
  MlirValue shifted = shift(n, x, zb_build_where(n->b, beyond, zero, places), true);
  return zb_import_give(n, 0, zb_build_where(n->b, beyond, zero, shifted));
}

/* The number of bits that are set: sums of neighbours, of pairs, of fours, then of all bytes by one product. */
zb_result zb_stablehlo_population(zb_import_node *n) {
  zb_builder *b = n->b;
  zb_shape shape;
  const zb_stablehlo_integer type = zb_stablehlo_operand_integer(n, 0), all = {64, false};
  MlirValue x = zb_import_ir(n, 0);
  if (!zb_import_ir_shape(n, x, &shape)) return ZB_FAIL;
  if (!type.bits) return zb_import_refuse(n, NULL, "bits of %s", zb_dtype_name(shape.dtype));
  x = zb_build_cast(b, x, ZB_I64);
  if (type.bits < 64) x = zb_build2(b, "bitwise_and", x, zb_stablehlo_scalar(n, ZB_I64, (INT64_C(1) << type.bits) - 1));
  static const int64_t masks[] = {0x5555555555555555, 0x3333333333333333, 0x0f0f0f0f0f0f0f0f};
  for (int i = 0; i < 3; ++i) {
    MlirValue mask = zb_stablehlo_scalar(n, ZB_I64, masks[i]);
    MlirValue upper = zb_stablehlo_shifted(n, x, zb_stablehlo_scalar(n, ZB_I64, INT64_C(1) << i), all, false);
    x = zb_build2(b, "add", zb_build2(b, "bitwise_and", x, mask), zb_build2(b, "bitwise_and", upper, mask));
  }
  x = zb_build2(b, "mul", x, zb_stablehlo_scalar(n, ZB_I64, 0x0101010101010101));
  x = zb_stablehlo_shifted(n, x, zb_stablehlo_scalar(n, ZB_I64, 56), all, false);
  return zb_import_give(n, 0, zb_build_cast(b, x, shape.dtype));
}

/* ---- Conversions ---- */

/* ui64 as a float: its halves, of which f64 holds each, and their sum, which is rounded once. */
MlirValue zb_stablehlo_real_of_wide(zb_import_node *n, MlirValue x) {
  zb_builder *b = n->b;
  MlirValue places = zb_stablehlo_scalar(n, ZB_I64, 32);
  MlirValue high = zb_stablehlo_shifted(n, x, places, (zb_stablehlo_integer){64, true}, false);
  MlirValue low = zb_build2(b, "bitwise_and", x, zb_stablehlo_scalar(n, ZB_I64, UINT32_MAX));
  high = zb_build2(b, "mul", zb_build_cast(b, high, ZB_F64), zb_build_scalar(b, ZB_F64, 4294967296.0));
  return zb_build2(b, "add", high, zb_build_cast(b, low, ZB_F64));
}

/* A float as ui64: what is 2^63 or more without it, and the bit set. */
MlirValue zb_stablehlo_wide_of_real(zb_import_node *n, MlirValue x) {
  zb_builder *b = n->b;
  x = zb_build_cast(b, x, ZB_F64);
  MlirValue limit = zb_build_scalar(b, ZB_F64, 9223372036854775808.0);
  MlirValue large = zb_build2(b, "greater_equal", x, limit);
  MlirValue small = zb_build_where(n->b, large, zb_build2(b, "sub", x, limit), x);
  MlirValue bits = zb_build_cast(b, small, ZB_I64);
  return zb_build_where(n->b, large, zb_build2(b, "bitwise_xor", bits, zb_stablehlo_scalar(n, ZB_I64, INT64_MIN)),
                        bits);
}
