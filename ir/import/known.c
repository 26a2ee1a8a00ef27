/* Tensors on the host while a graph is imported: limits, element access, broadcasting, strided copies.
 * Tests: test/ir/import/import_test.c (through graphs). */
#include "ir/import/import.h"
#include "runtime/base/assert.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void size_text(uint64_t bytes, char text[32]) {
  if (bytes >> 30)
    snprintf(text, 32, "%.1f GiB", (double)bytes / (1 << 30));
  else
    snprintf(text, 32, "%.1f MiB", (double)bytes / (1 << 20));
}

/* At the node that asks; the operator is named by its location. */
static zb_result over_limit(zb_import *im, const char *what, uint64_t asked, uint64_t most) {
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

zb_result zb_known_charge(zb_import *im, uint64_t bytes) {
  uint64_t most = im->fold_limit > UINT64_MAX / ZB_IMPORT_FOLD_WORK ? UINT64_MAX : im->fold_limit * ZB_IMPORT_FOLD_WORK;
  if (bytes > most - im->fold_work)
    return over_limit(im, "constants would be read and written over and over, in all", im->fold_work + bytes, most);
  im->fold_work += bytes;
  return ZB_OK;
}

/* Limits before memory is taken. */
static zb_result charge(zb_import *im, const zb_shape *shape) {
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
  return zb_known_charge(im, (uint64_t)bytes);
}

static zb_known *take(zb_import *im, const zb_shape *shape, void *data) {
  zb_known *c = data ? zb_import_take(im, sizeof *c) : NULL;
  if (c) *c = (zb_known){*shape, data, zb_shape_elements(shape)};
  return c;
}

zb_known *zb_known_new(zb_import *im, const zb_shape *shape) {
  if (!charge(im, shape)) return NULL;
  size_t bytes = (size_t)zb_shape_bytes(shape);
  im->constant_bytes += bytes;
  return take(im, shape, zb_import_take(im, bytes));
}

zb_known *zb_known_alias(zb_import *im, const zb_known *of, const zb_shape *shape) { return take(im, shape, of->data); }

zb_known *zb_known_copy(zb_import *im, const zb_shape *shape, const void *data) {
  zb_known *c = zb_known_new(im, shape);
  if (!c) return NULL;
  memcpy(c->data, data, (size_t)zb_shape_bytes(shape));
  if (shape->dtype == ZB_I1) { /* any other byte than 0 and 1 would be a value that no kernel expects */
    for (int64_t i = 0; i < c->elements; ++i)
      ((uint8_t *)c->data)[i] = ((uint8_t *)c->data)[i] != 0;
  }
  return c;
}

void zb_known_put(zb_known *out, int64_t to, const zb_known *in, int64_t from, int64_t count) {
  size_t width = zb_dtype_bytes(out->shape.dtype);
  memcpy((char *)out->data + (size_t)to * width, (const char *)in->data + (size_t)from * width, (size_t)count * width);
}

zb_known *zb_known_filled(zb_import *im, const zb_shape *shape, const void *element) {
  zb_known *c = zb_known_new(im, shape);
  const zb_known one = {.data = (void *)(uintptr_t)element};
  for (int64_t i = 0; c && i < c->elements; ++i)
    zb_known_put(c, i, &one, 0, 1);
  return c;
}

zb_known *zb_known_ints(zb_import *im, const int64_t *values, int64_t count) {
  zb_shape shape = {.dtype = ZB_I64, .rank = 1, .dims = {count}};
  zb_known *c = zb_known_new(im, &shape);
  if (c && count) memcpy(c->data, values, (size_t)count * sizeof *values);
  return c;
}

void zb_known_convert(zb_dtype from, const void *in, zb_dtype to, void *out, int64_t count) {
  const zb_tensor source = {.data = (void *)(uintptr_t)in, .dtype = from, .rank = 1, .shape = {count}, .strides = {1}};
  zb_tensor result = {.data = out, .dtype = to, .rank = 1, .shape = {count}, .strides = {1}};
  const zb_attr attr = zb_string("dtype", zb_dtype_name(to));
  const zb_kernel_call call = {
      .inputs = &source, .input_count = 1, .outputs = &result, .output_count = 1, .attrs = {&attr, 1}};
  const char *wrong = zb_kernel_reference("cast")->run(&call);
  ZB_ASSERT(!wrong);
}

bool zb_known_is_float(const zb_known *c) { return zb_dtype_is_float(c->shape.dtype); }

double zb_known_real(const zb_known *c, int64_t index) {
  if (c->shape.dtype == ZB_F32) return (double)((const float *)c->data)[index];
  if (c->shape.dtype == ZB_F64) return ((const double *)c->data)[index];
  if (zb_dtype_is_narrow(c->shape.dtype)) {
    float wide;
    zb_known_convert(c->shape.dtype, (const uint16_t *)c->data + index, ZB_F32, &wide, 1);
    return (double)wide;
  }
  return (double)zb_known_integer(c, index);
}

/* Float to integer truncates; what does not fit saturates, not-a-number gives 0. */
static int64_t truncate_real(double value) {
  if (isnan(value)) return 0;
  if (value >= 9223372036854775808.0) return INT64_MAX;
  if (value < -9223372036854775808.0) return INT64_MIN;
  return (int64_t)value;
}

int64_t zb_known_integer(const zb_known *c, int64_t index) {
  if (c->shape.dtype == ZB_I64) return ((const int64_t *)c->data)[index];
  if (c->shape.dtype == ZB_I32) return ((const int32_t *)c->data)[index];
  if (c->shape.dtype == ZB_I1) return ((const uint8_t *)c->data)[index];
  return truncate_real(zb_known_real(c, index));
}

void zb_known_set_real(zb_known *c, int64_t index, double value) {
  if (c->shape.dtype == ZB_F32)
    ((float *)c->data)[index] = (float)value;
  else if (c->shape.dtype == ZB_F64)
    ((double *)c->data)[index] = value;
  else if (zb_dtype_is_narrow(c->shape.dtype))
    zb_known_convert(ZB_F64, &value, c->shape.dtype, (uint16_t *)c->data + index, 1);
  else
    zb_known_set_integer(c, index, c->shape.dtype == ZB_I1 ? value != 0 : truncate_real(value));
}

void zb_known_set_integer(zb_known *c, int64_t index, int64_t value) {
  if (c->shape.dtype == ZB_I64)
    ((int64_t *)c->data)[index] = value;
  else if (c->shape.dtype == ZB_I32)
    ((int32_t *)c->data)[index] = (int32_t)(uint32_t)(uint64_t)value;
  else if (c->shape.dtype == ZB_I1)
    ((uint8_t *)c->data)[index] = value != 0;
  else
    zb_known_set_real(c, index, (double)value);
}

zb_tensor zb_known_tensor(const zb_known *c) {
  zb_tensor tensor = {.data = c->data, .dtype = c->shape.dtype, .rank = c->shape.rank};
  memcpy(tensor.shape, c->shape.dims, sizeof tensor.shape);
  zb_strides(&c->shape, tensor.strides);
  return tensor;
}

void zb_strides(const zb_shape *shape, int64_t *strides) {
  int64_t step = 1;
  for (int i = shape->rank - 1; i >= 0; --i) {
    strides[i] = step;
    step *= shape->dims[i];
  }
}

bool zb_broadcast_all(const zb_shape *const *shapes, int count, zb_shape *out) {
  *out = *shapes[0];
  for (int k = 1; k < count; ++k) {
    const zb_shape before = *out;
    if (!zb_broadcast(&before, shapes[k], out)) return false;
  }
  return zb_shape_elements(out) >= 0;
}

void zb_broadcast_strides(const zb_shape *in, const zb_shape *out, int64_t *strides) {
  int64_t own[ZB_DIMS_MAX];
  zb_strides(in, own);
  for (int i = 0; i < out->rank; ++i) {
    int k = i - (out->rank - in->rank);
    strides[i] = k < 0 || in->dims[k] == 1 ? 0 : own[k];
  }
}

zb_walk zb_walk_over(const zb_shape *shape, int count, const zb_shape *const *broadcast) {
  zb_walk walk = {.shape = shape, .count = count};
  for (int k = 0; k < count; ++k)
    zb_broadcast_strides(broadcast[k], shape, walk.strides[k]);
  return walk;
}

zb_walk zb_walk_beside(const zb_shape *shape, const zb_shape *in, int axis, int64_t *step) {
  zb_walk walk = {.shape = shape, .count = 1};
  zb_strides(in, walk.strides[0]);
  *step = walk.strides[0][axis];
  walk.strides[0][axis] = 0;
  return walk;
}

/* As an odometer: the last dimension turns first. */
void zb_walk_next(zb_walk *w) {
  for (int d = w->shape->rank - 1; d >= 0; --d) {
    bool turns = ++w->index[d] == w->shape->dims[d];
    for (int k = 0; k < w->count; ++k)
      w->at[k] += w->strides[k][d] * (turns ? 1 - w->shape->dims[d] : 1);
    if (!turns) return;
    w->index[d] = 0;
  }
}

zb_known *zb_known_strided(zb_import *im, const zb_known *in, const zb_shape *shape, int64_t offset,
                           const int64_t *strides) {
  zb_known *out = zb_known_new(im, shape);
  zb_walk walk = {.shape = shape, .count = 1, .at = {offset}};
  memcpy(walk.strides[0], strides, (size_t)shape->rank * sizeof *strides);
  for (int64_t i = 0; out && i < out->elements; ++i, zb_walk_next(&walk))
    zb_known_put(out, i, in, walk.at[0], 1);
  return out;
}
