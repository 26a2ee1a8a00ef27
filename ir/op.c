/* Types as plain data: MLIR in, zb_shape out; and the errors that point at ops.
 *
 * Tests: test/ir/op_table_test.c, test/ir/dialect_test.c.
 */
#include "ir/op.h"

#include "ir/scope.h"
#include "runtime/base/assert.h"

#include <inttypes.h>
#include <mlir-c/BuiltinAttributes.h>
#include <mlir-c/BuiltinTypes.h>
#include <mlir-c/Diagnostics.h>
#include <stdio.h>
#include <string.h>

/* ---- Errors ---- */

zb_result zb_op_fail(zb_op_error *error, const char *hint, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(error->text, sizeof error->text, format, arguments);
  va_end(arguments);
  snprintf(error->hint, sizeof error->hint, "%s", hint ? hint : "");
  return ZB_FAIL;
}

static void emit_error(MlirLocation location, const char *hint, const char *format, va_list arguments) {
  char text[1024];
  int length = vsnprintf(text, sizeof text, format, arguments);
  size_t used = length < 0 ? 0 : (size_t)length < sizeof text ? (size_t)length : sizeof text - 1;
  if (hint && *hint) snprintf(text + used, sizeof text - used, "\nhint: %s", hint);
  mlirEmitError(location, text);
}

zb_result zb_op_error_at(MlirOperation op, const char *hint, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  emit_error(mlirOperationGetLocation(op), hint, format, arguments);
  va_end(arguments);
  return ZB_FAIL;
}

zb_result zb_location_error(MlirLocation location, const char *hint, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  emit_error(location, hint, format, arguments);
  va_end(arguments);
  return ZB_FAIL;
}

/* ---- Shapes and types ---- */

zb_shape zb_subshape(const zb_shape *x, int from, int to) {
  zb_shape out = {.dtype = x->dtype, .rank = to - from};
  for (int i = from; i < to; ++i)
    out.dims[i - from] = x->dims[i];
  return out;
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

static MlirType dtype_type(MlirContext context, zb_dtype dtype) {
  static MlirType (*const floats[ZB_DTYPE_COUNT])(MlirContext) = {
      [ZB_F32] = mlirF32TypeGet, [ZB_F64] = mlirF64TypeGet, [ZB_BF16] = mlirBF16TypeGet, [ZB_F16] = mlirF16TypeGet};
  static const unsigned widths[ZB_DTYPE_COUNT] = {[ZB_I64] = 64, [ZB_I32] = 32, [ZB_I1] = 1};
  ZB_ASSERT(floats[dtype] || widths[dtype]);
  return floats[dtype] ? floats[dtype](context) : mlirIntegerTypeGet(context, widths[dtype]);
}

static bool element_dtype(MlirType type, zb_dtype *out) {
  MlirContext context = mlirTypeGetContext(type);
  for (int i = 0; i < ZB_DTYPE_COUNT; ++i)
    if (mlirTypeEqual(type, dtype_type(context, (zb_dtype)i))) return *out = (zb_dtype)i, true;
  return false;
}

static bool read_shape(MlirType type, zb_shape *out) {
  if (!mlirTypeIsARankedTensor(type)) return false;
  int64_t rank = mlirShapedTypeGetRank(type);
  if (rank > ZB_DIMS_MAX) return false;
  if (!element_dtype(mlirShapedTypeGetElementType(type), &out->dtype)) return false;
  if (!mlirAttributeIsNull(mlirRankedTensorTypeGetEncoding(type))) return false;
  out->rank = (int)rank;
  for (int i = 0; i < out->rank; ++i) {
    out->dims[i] = mlirShapedTypeGetDimSize(type, i);
    if (out->dims[i] < 0) return false; /* dynamic */
  }
  return zb_shape_bytes(out) >= 0;
}

bool zb_type_shape(MlirType type, zb_shape *out) {
  bool known;
  zb_kept_shape *kept = zb_kept_shape_at(type, &known);
  if (!kept) return read_shape(type, out);
  if (!known) kept->is_shape = read_shape(type, &kept->shape);
  if (kept->is_shape) *out = kept->shape;
  return kept->is_shape;
}

MlirType zb_shape_type(MlirContext context, const zb_shape *shape) {
  return mlirRankedTensorTypeGet(shape->rank, shape->dims, dtype_type(context, shape->dtype), mlirAttributeGetNull());
}

/* A fixed buffer that takes the beginning of what MLIR prints. */
typedef struct short_text {
  char data[96];
  size_t length;
} short_text;

static void append_chunk(MlirStringRef chunk, void *user) {
  short_text *text = user;
  size_t room = sizeof text->data - 1 - text->length;
  size_t count = chunk.length < room ? chunk.length : room;
  memcpy(text->data + text->length, chunk.data, count);
  text->length += count;
}

/* IRDL types have no accessors in the C API, so their parameters are read from what they print as. */
bool zb_type_frame(MlirType type, char kind[ZB_FRAME_KIND_BYTES], uint64_t *bytes) {
  MlirStringRef dialect = mlirDialectGetNamespace(mlirTypeGetDialect(type));
  if (dialect.length != 2 || memcmp(dialect.data, "zb", 2) != 0) return false;
  short_text text = {.length = 0};
  mlirTypePrint(type, append_chunk, &text);
  text.data[text.length] = '\0';
  uint64_t size = 0;
  char name[ZB_FRAME_KIND_BYTES] = "";
  if (sscanf(text.data, "!zb.frame<\"%15[a-z]\", %" SCNu64, name, &size) != 2) return false;
  if (kind) memcpy(kind, name, sizeof name);
  if (bytes) *bytes = size;
  return true;
}

MlirType zb_frame_type(MlirContext context, const char *kind, uint64_t bytes) {
  char text[64];
  snprintf(text, sizeof text, "!zb.frame<\"%s\", %" PRIu64 ">", kind, bytes);
  return mlirTypeParseGet(context, mlirStringRefCreateFromCString(text));
}

uint64_t zb_type_bytes(MlirType type) {
  zb_shape shape;
  if (zb_type_shape(type, &shape)) return (uint64_t)zb_shape_bytes(&shape);
  uint64_t bytes = 0;
  return zb_type_frame(type, NULL, &bytes) ? bytes : 0;
}
