/* Tensors on the host while a graph is imported: allocation, element access, broadcasting, strided copies.
 * Tests: test/ir/import/import_test.c (through graphs). */
#include "ir/import/import.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static zb_onnx_const *link_const(zb_onnx *im, const zb_shape *shape) {
  zb_onnx_const *c = zb_alloc(sizeof *c);
  if (!c) {
    zb_onnx_memory(im);
    return NULL;
  }
  c->shape = *shape;
  c->elements = zb_shape_elements(shape);
  c->next = im->constants;
  im->constants = c;
  return c;
}

static void size_text(uint64_t bytes, char text[32]) {
  if (bytes >> 30)
    snprintf(text, 32, "%.1f GiB", (double)bytes / (1 << 30));
  else
    snprintf(text, 32, "%.1f MiB", (double)bytes / (1 << 20));
}

/* At the node that asks; the operator is named by its location. */
static zb_result over_limit(zb_onnx *im, const char *what, uint64_t asked, uint64_t most) {
  char wanted[32], limit[32];
  size_text(asked, wanted);
  size_text(most, limit);
  im->failed = true;
  return zb_location_error(im->builder.location,
                           "if the model needs it, raise --fold-limit, for example --fold-limit 4G; a mask or table "
                           "that grows with the square of "
                           "the sequence can be an input of the model instead",
                           "%s %s, and the limit is %s", what, wanted, limit);
}

zb_result zb_onnx_fold_charge(zb_onnx *im, uint64_t bytes) {
  uint64_t most = im->fold_limit > UINT64_MAX / ZB_ONNX_FOLD_WORK ? UINT64_MAX : im->fold_limit * ZB_ONNX_FOLD_WORK;
  if (bytes > most - im->fold_work)
    return over_limit(im, "constants would be read and written over and over, in all", im->fold_work + bytes, most);
  im->fold_work += bytes;
  return ZB_OK;
}

/* Limits before memory is taken. */
static zb_result charge(zb_onnx *im, const zb_shape *shape) {
  int64_t bytes = zb_shape_bytes(shape);
  char what[160], text[96];
  snprintf(what, sizeof what, "a constant of %s is too large: with it, folded constants take",
           zb_shape_text(shape, text));
  if (bytes < 0) {
    im->failed = true;
    return zb_location_error(im->builder.location, NULL, "a constant of %s is too large: its size overflows", text);
  }
  if ((uint64_t)bytes > im->fold_limit - im->constant_bytes)
    return over_limit(im, what, im->constant_bytes + (uint64_t)bytes, im->fold_limit);
  return zb_onnx_fold_charge(im, (uint64_t)bytes);
}

zb_onnx_const *zb_onnx_const_new(zb_onnx *im, const zb_shape *shape) {
  if (!charge(im, shape)) return NULL;
  int64_t bytes = zb_shape_bytes(shape);
  zb_onnx_const *c = link_const(im, shape);
  if (!c) return NULL;
  c->data = zb_alloc(bytes ? (size_t)bytes : 1);
  c->owned = true;
  im->constant_bytes += (uint64_t)bytes;
  if (!c->data) {
    zb_onnx_memory(im);
    return NULL;
  }
  return c;
}

zb_onnx_const *zb_onnx_const_alias(zb_onnx *im, const zb_onnx_const *of, const zb_shape *shape) {
  zb_onnx_const *c = link_const(im, shape);
  if (c) c->data = of->data;
  return c;
}

zb_onnx_const *zb_onnx_const_copy(zb_onnx *im, const zb_shape *shape, const void *data) {
  zb_onnx_const *c = zb_onnx_const_new(im, shape);
  if (!c) return NULL;
  memcpy(c->data, data, (size_t)zb_shape_bytes(shape));
  if (shape->dtype == ZB_I1) { /* any other byte than 0 and 1 would be a value that no kernel expects */
    for (int64_t i = 0; i < c->elements; ++i)
      ((uint8_t *)c->data)[i] = ((uint8_t *)c->data)[i] != 0;
  }
  return c;
}

zb_onnx_const *zb_onnx_const_ints(zb_onnx *im, const int64_t *values, int64_t count) {
  zb_shape shape = {.dtype = ZB_I64, .rank = 1, .dims = {count}};
  zb_onnx_const *c = zb_onnx_const_new(im, &shape);
  if (c && count) memcpy(c->data, values, (size_t)count * sizeof *values);
  return c;
}

void zb_onnx_const_free_all(zb_onnx *im) {
  for (zb_onnx_const *c = im->constants, *next; c; c = next) {
    next = c->next;
    if (c->owned) zb_free(c->data);
    zb_free(c);
  }
  im->constants = NULL;
}

bool zb_onnx_const_is_float(const zb_onnx_const *c) { return c->shape.dtype == ZB_F32 || c->shape.dtype == ZB_F64; }

double zb_onnx_const_real(const zb_onnx_const *c, int64_t index) {
  switch (c->shape.dtype) {
  case ZB_F32:
    return (double)((const float *)c->data)[index];
  case ZB_F64:
    return ((const double *)c->data)[index];
  default:
    return (double)zb_onnx_const_integer(c, index);
  }
}

/* Float to integer truncates; what does not fit saturates, not-a-number gives 0. */
static int64_t truncate_real(double value) {
  if (isnan(value)) return 0;
  if (value >= 9223372036854775808.0) return INT64_MAX;
  if (value < -9223372036854775808.0) return INT64_MIN;
  return (int64_t)value;
}

int64_t zb_onnx_const_integer(const zb_onnx_const *c, int64_t index) {
  switch (c->shape.dtype) {
  case ZB_I64:
    return ((const int64_t *)c->data)[index];
  case ZB_I32:
    return ((const int32_t *)c->data)[index];
  case ZB_I1:
    return ((const uint8_t *)c->data)[index];
  default:
    return truncate_real(zb_onnx_const_real(c, index));
  }
}

void zb_onnx_const_set_real(zb_onnx_const *c, int64_t index, double value) {
  switch (c->shape.dtype) {
  case ZB_F32:
    ((float *)c->data)[index] = (float)value;
    break;
  case ZB_F64:
    ((double *)c->data)[index] = value;
    break;
  case ZB_I1:
    ((uint8_t *)c->data)[index] = value != 0;
    break;
  default:
    zb_onnx_const_set_integer(c, index, truncate_real(value));
    break;
  }
}

void zb_onnx_const_set_integer(zb_onnx_const *c, int64_t index, int64_t value) {
  switch (c->shape.dtype) {
  case ZB_I64:
    ((int64_t *)c->data)[index] = value;
    break;
  case ZB_I32:
    ((int32_t *)c->data)[index] = (int32_t)(uint32_t)(uint64_t)value;
    break;
  case ZB_I1:
    ((uint8_t *)c->data)[index] = value != 0;
    break;
  default:
    zb_onnx_const_set_real(c, index, (double)value);
    break;
  }
}

bool zb_onnx_const_all_equal(const zb_onnx_const *c) {
  size_t width = zb_dtype_bytes(c->shape.dtype);
  if (c->elements == 0) return false;
  const char *data = c->data;
  return memcmp(data, data + width, ((size_t)c->elements - 1) * width) == 0;
}

void zb_onnx_strides(const zb_shape *shape, int64_t *strides) {
  int64_t step = 1;
  for (int i = shape->rank - 1; i >= 0; --i) {
    strides[i] = step;
    step *= shape->dims[i];
  }
}

bool zb_onnx_broadcast(const zb_shape *const *shapes, int count, zb_shape *out) {
  *out = (zb_shape){.dtype = shapes[0]->dtype};
  for (int k = 0; k < count; ++k) {
    if (shapes[k]->rank > out->rank) out->rank = shapes[k]->rank;
  }
  for (int i = 0; i < out->rank; ++i) {
    int64_t dim = 1;
    for (int k = 0; k < count; ++k) {
      int own = i - (out->rank - shapes[k]->rank);
      int64_t d = own < 0 ? 1 : shapes[k]->dims[own];
      if (d == 1) continue;
      if (dim != 1 && dim != d) return false;
      dim = d;
    }
    out->dims[i] = dim;
  }
  return zb_shape_elements(out) >= 0;
}

void zb_onnx_broadcast_strides(const zb_shape *in, const zb_shape *out, int64_t *strides) {
  int64_t own[ZB_DIMS_MAX];
  zb_onnx_strides(in, own);
  for (int i = 0; i < out->rank; ++i) {
    int k = i - (out->rank - in->rank);
    strides[i] = k < 0 || in->dims[k] == 1 ? 0 : own[k];
  }
}

void zb_onnx_odometer_next(int rank, const int64_t *dims, int64_t *index, int count, int64_t strides[][ZB_DIMS_MAX],
                           int64_t *offsets) {
  for (int d = rank - 1; d >= 0; --d) {
    ++index[d];
    for (int k = 0; k < count; ++k)
      offsets[k] += strides[k][d];
    if (index[d] < dims[d]) return;
    for (int k = 0; k < count; ++k)
      offsets[k] -= strides[k][d] * dims[d];
    index[d] = 0;
  }
}

zb_onnx_const *zb_onnx_const_strided(zb_onnx *im, const zb_onnx_const *in, const zb_shape *shape, int64_t offset,
                                     const int64_t *strides) {
  zb_onnx_const *out = zb_onnx_const_new(im, shape);
  if (!out) return NULL;
  size_t width = zb_dtype_bytes(shape->dtype);
  int64_t index[ZB_DIMS_MAX] = {0}, table[1][ZB_DIMS_MAX] = {{0}}, offsets[1] = {offset};
  for (int i = 0; i < shape->rank; ++i)
    table[0][i] = strides[i];
  for (int64_t i = 0; i < out->elements; ++i) {
    memcpy((char *)out->data + (size_t)i * width, (const char *)in->data + (size_t)offsets[0] * width, width);
    zb_onnx_odometer_next(shape->rank, shape->dims, index, 1, table, offsets);
  }
  return out;
}

zb_onnx_const *zb_onnx_const_cast(zb_onnx *im, const zb_onnx_const *in, zb_dtype dtype) {
  zb_shape shape = in->shape;
  shape.dtype = dtype;
  if (dtype == in->shape.dtype) return zb_onnx_const_alias(im, in, &shape);
  zb_onnx_const *out = zb_onnx_const_new(im, &shape);
  if (!out) return NULL;
  bool real = zb_onnx_const_is_float(in);
  for (int64_t i = 0; i < out->elements; ++i) {
    if (real)
      zb_onnx_const_set_real(out, i, zb_onnx_const_real(in, i));
    else
      zb_onnx_const_set_integer(out, i, zb_onnx_const_integer(in, i));
  }
  return out;
}
