/* Element types and shapes: include/zb/base.h. Tests: test/runtime/base/base_test.c. */
#include "zb/base.h"

#include <string.h>

static const struct dtype_row {
  const char *name;
  size_t bytes;
  const char *safetensors;
} dtype_rows[] = {
#define ZB_DTYPE(ID, name, bytes, safetensors, onnx) {name, bytes, safetensors},
#include "zb/dtypes.def"
#undef ZB_DTYPE
};

const char *zb_dtype_name(zb_dtype dtype) {
  return (unsigned)dtype < ZB_DTYPE_COUNT ? dtype_rows[dtype].name : "invalid";
}

size_t zb_dtype_bytes(zb_dtype dtype) { return (unsigned)dtype < ZB_DTYPE_COUNT ? dtype_rows[dtype].bytes : 0; }

const char *zb_dtype_safetensors(zb_dtype dtype) {
  return (unsigned)dtype < ZB_DTYPE_COUNT ? dtype_rows[dtype].safetensors : "INVALID";
}

bool zb_dtype_parse(const char *name, zb_dtype *out) {
  for (int i = 0; i < ZB_DTYPE_COUNT; ++i) {
    if (strcmp(dtype_rows[i].name, name) != 0 && strcmp(dtype_rows[i].safetensors, name) != 0) continue;
    *out = (zb_dtype)i;
    return true;
  }
  return false;
}

int64_t zb_shape_elements(const zb_shape *shape) {
  int64_t elements = 1;
  for (int i = 0; i < shape->rank; ++i)
    if (shape->dims[i] < 0 || __builtin_mul_overflow(elements, shape->dims[i], &elements)) return -1;
  return elements;
}

int64_t zb_shape_bytes(const zb_shape *shape) {
  int64_t elements = zb_shape_elements(shape), bytes = 0;
  if (elements < 0 || __builtin_mul_overflow(elements, (int64_t)zb_dtype_bytes(shape->dtype), &bytes)) return -1;
  return bytes;
}

bool zb_shape_equal(const zb_shape *a, const zb_shape *b) {
  if (a->dtype != b->dtype || a->rank != b->rank) return false;
  for (int i = 0; i < a->rank; ++i)
    if (a->dims[i] != b->dims[i]) return false;
  return true;
}

/* Appends a number and an 'x'; nothing of it where it does not fit before `limit`. Not snprintf: compiles write a shape
 * for every operand. */
static size_t add_dimension(char *text, size_t length, size_t limit, int64_t value) {
  char digits[24];
  size_t count = 0;
  uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
  do
    digits[count++] = (char)('0' + rest % 10);
  while (rest /= 10);
  if (value < 0) digits[count++] = '-';
  if (length + count + 1 >= limit) return length;
  while (count > 0)
    text[length++] = digits[--count];
  text[length++] = 'x';
  return length;
}

const char *zb_shape_text(const zb_shape *shape, char text[96]) {
  enum { TEXT_BYTES = 96 };
  size_t length = 0;
  for (int i = 0; i < shape->rank; ++i) {
    size_t before = length;
    length = add_dimension(text, length, TEXT_BYTES, shape->dims[i]);
    if (length == before) break;
  }
  /* Eight dimensions of 19 digits do not fit: such a shape loses its end, never the terminator. */
  const char *name = zb_dtype_name(shape->dtype);
  size_t bytes = strlen(name);
  if (bytes > TEXT_BYTES - 1 - length) bytes = TEXT_BYTES - 1 - length;
  memcpy(text + length, name, bytes);
  text[length + bytes] = '\0';
  return text;
}
