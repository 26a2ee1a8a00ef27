/* Constants that are left after folding, as IR by their structure: what repeats is expanded, small ones are dense
 * attributes, causal masks are zb.triangle, ranges are zb.iota, and the rest are arguments whose data stays out of the
 * IR. Tests: test/ir/import/import_test.c (constants). */
#include "ir/import/import.h"
#include "runtime/base/digest.h"

#include <inttypes.h>
#include <math.h>
#include <mlir-c/BuiltinAttributes.h>
#include <stdio.h>
#include <string.h>

static MlirValue build_dense(zb_import *im, const zb_known *c) {
  MlirType type = zb_shape_type(im->context, &c->shape);
  MlirAttribute value;
  int bits[ZB_IMPORT_DENSE_BYTES];
  if (c->shape.dtype == ZB_F32)
    value = mlirDenseElementsAttrFloatGet(type, c->elements, c->data);
  else if (c->shape.dtype == ZB_F64)
    value = mlirDenseElementsAttrDoubleGet(type, c->elements, c->data);
  else if (c->shape.dtype == ZB_I64)
    value = mlirDenseElementsAttrInt64Get(type, c->elements, c->data);
  else if (c->shape.dtype == ZB_I32)
    value = mlirDenseElementsAttrInt32Get(type, c->elements, c->data);
  else {
    for (int64_t i = 0; i < c->elements; ++i)
      bits[i] = ((const uint8_t *)c->data)[i];
    value = mlirDenseElementsAttrBoolGet(type, c->elements, bits);
  }
  return zb_build_constant(&im->builder, type, value);
}

/* Whether all slices along a dimension are bitwise equal. */
static bool repeats_along(const zb_known *c, int dim) {
  int64_t inner = (int64_t)zb_dtype_bytes(c->shape.dtype), outer = 1;
  for (int i = dim + 1; i < c->shape.rank; ++i)
    inner *= c->shape.dims[i];
  for (int i = 0; i < dim; ++i)
    outer *= c->shape.dims[i];
  int64_t count = c->shape.dims[dim];
  for (int64_t o = 0; o < outer; ++o) {
    const char *slices = (const char *)c->data + o * count * inner;
    if (memcmp(slices, slices + inner, (size_t)((count - 1) * inner)) != 0) return false;
  }
  return true;
}

/* The constant with every dimension that repeats cut to 1. */
static const zb_known *compress(zb_import *im, const zb_known *c) {
  for (int dim = 0; dim < c->shape.rank; ++dim) {
    if (c->shape.dims[dim] == 1 || !repeats_along(c, dim)) continue;
    zb_shape shape = c->shape;
    int64_t strides[ZB_DIMS_MAX];
    zb_strides(&shape, strides);
    shape.dims[dim] = 1;
    c = zb_known_strided(im, c, &shape, 0, strides);
    if (!c) return NULL;
  }
  return c;
}

/* Bitwise, so that -0.0 and NaN are kept apart. */
static bool same(const zb_known *c, int64_t a, int64_t b) {
  size_t width = zb_dtype_bytes(c->shape.dtype);
  const char *data = c->data;
  return memcmp(data + (size_t)a * width, data + (size_t)b * width, width) == 0;
}

/* Whether an f64 attribute gives back exactly this element. */
static bool exact(const zb_known *c, int64_t index) {
  if (zb_known_is_float(c)) return !isnan(zb_known_real(c, index));
  int64_t value = zb_known_integer(c, index);
  return value >= -(INT64_C(1) << 53) && value <= INT64_C(1) << 53;
}

/* Only the last two dimensions are more than 1, and element [i,j] is one value for j <= i + diagonal and another
 * elsewhere. */
static bool is_triangle(const zb_known *c, int64_t *diagonal, double *lower, double *upper) {
  int rank = c->shape.rank;
  if (rank < 2) return false;
  int64_t rows = c->shape.dims[rank - 2], columns = c->shape.dims[rank - 1];
  if (rows < 2 || columns < 2 || rows * columns != c->elements) return false;
  int64_t low = (rows - 1) * columns, high = columns - 1;
  if (same(c, low, high) || !exact(c, low) || !exact(c, high)) return false;
  bool found = false;
  for (int64_t i = 0; i < rows && !found; ++i) {
    int64_t count = 0;
    while (count < columns && same(c, i * columns + count, low))
      ++count;
    if (count == 0 || count == columns) continue;
    *diagonal = count - 1 - i;
    found = true;
  }
  if (!found) return false;
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      if (!same(c, i * columns + j, j <= i + *diagonal ? low : high)) return false;
    }
  }
  *lower = zb_known_real(c, low);
  *upper = zb_known_real(c, high);
  return true;
}

/* Only one dimension is more than 1, and element i is start + step*i, exactly. */
static bool is_range(const zb_known *c, int *axis, double *start, double *step) {
  *axis = -1;
  for (int i = 0; i < c->shape.rank; ++i) {
    if (c->shape.dims[i] == 1) continue;
    if (*axis >= 0) return false;
    *axis = i;
  }
  if (*axis < 0 || c->elements < 2 || c->shape.dtype == ZB_I1 || !exact(c, 0) || !exact(c, 1)) return false;
  *start = zb_known_real(c, 0);
  *step = zb_known_real(c, 1) - *start;
  for (int64_t i = 0; i < c->elements; ++i) {
    double value = *start + *step * (double)i;
    if (!exact(c, i)) return false;
    if (c->shape.dtype == ZB_F32 ? (float)value != ((const float *)c->data)[i] : value != zb_known_real(c, i))
      return false;
  }
  return true;
}

static MlirValue build_triangle(zb_import *im, const zb_known *c, int64_t diagonal, double lower, double upper) {
  zb_attr attrs[] = {zb_ints("shape", c->shape.dims, c->shape.rank), zb_int("diagonal", diagonal),
                     zb_float("lower", lower), zb_float("upper", upper),
                     zb_string("dtype", zb_dtype_name(c->shape.dtype))};
  return zb_build(&im->builder, "triangle", NULL, 0, attrs, 5);
}

/* An argument, its data in the store of constants. */
static MlirValue build_argument(zb_import *im, const zb_known *c, const char *name) {
  char unique[256];
  if (!*name) name = "constant";
  snprintf(unique, sizeof unique, "%s", name);
  for (int k = 1; zb_store_find(im->constants, unique); ++k)
    snprintf(unique, sizeof unique, "%.230s.%d", name, k);
  zb_status status = zb_store_add(im->constants, unique, &c->shape, c->data, true);
  if (status) {
    zb_status_free(status);
    zb_import_memory(im);
    return (MlirValue){NULL};
  }
  return zb_import_constant(im, unique, &c->shape);
}

static MlirValue build_compressed(zb_import *im, const zb_known *c, const char *name) {
  int64_t diagonal;
  double a, b;
  int axis;
  if (zb_shape_bytes(&c->shape) <= ZB_IMPORT_DENSE_BYTES) return build_dense(im, c);
  if (is_triangle(c, &diagonal, &a, &b)) return build_triangle(im, c, diagonal, a, b);
  if (is_range(c, &axis, &a, &b)) return zb_build_iota(&im->builder, &c->shape, axis, a, b);
  return build_argument(im, c, name);
}

static MlirValue build_literal(zb_import *im, const zb_known *c, const char *name);

/* As f32, rounded to what it is. */
static MlirValue build_narrow(zb_import *im, const zb_known *c, const char *name) {
  zb_shape shape = c->shape;
  shape.dtype = ZB_F32;
  zb_known *wide = zb_known_new(im, &shape);
  if (!wide) return (MlirValue){NULL};
  zb_known_convert(c->shape.dtype, c->data, ZB_F32, wide->data, wide->elements);
  MlirValue value = build_literal(im, wide, name);
  return value.ptr ? zb_build_cast(&im->builder, value, c->shape.dtype) : value;
}

/* Repeats cut away, then built, then expanded to the whole shape. */
static MlirValue build_literal(zb_import *im, const zb_known *c, const char *name) {
  if (zb_dtype_is_narrow(c->shape.dtype)) return build_narrow(im, c, name);
  const zb_known *small = compress(im, c);
  if (!small) return (MlirValue){NULL};
  zb_known scalar = *small;
  if (small->elements == 1 && c->elements > 1) scalar.shape.rank = 0;
  MlirValue value = build_compressed(im, &scalar, name);
  bool whole = !value.ptr || zb_shape_equal(&scalar.shape, &c->shape);
  return whole ? value : zb_build_expand(&im->builder, value, &c->shape);
}

typedef struct literal {
  const zb_known *known;
  MlirValue value;
} literal;

/* Constants of equal type and content are one value: raw exports repeat each in every layer. */
static MlirValue literal_of(zb_import *im, const zb_known *c, const char *name) {
  char text[96], key[24];
  if ((c->shape.dtype == ZB_F64 && !im->format->takes_f64 && !im->params->inference) || c->elements == 0) {
    bool empty = c->elements == 0;
    im->failed = true;
    zb_location_error(im->builder.location, empty ? NULL : "export the model in float32 (model.float())",
                      "constant '%s' is a %s: %s", name, zb_shape_text(&c->shape, text),
                      empty ? "an empty tensor is used in the computation"
                            : "double precision is supported only where it is folded away");
    return (MlirValue){NULL};
  }
  size_t bytes = (size_t)zb_shape_bytes(&c->shape);
  const zb_shape shape = zb_subshape(&c->shape, 0, c->shape.rank); /* without what lies behind its dimensions */
  snprintf(key, sizeof key, "%016" PRIx64, zb_fnv1a(zb_fnv1a(ZB_FNV_START, &shape, sizeof shape), c->data, bytes));
  int64_t found;
  if (zb_map_get(im->literals, key, &found)) {
    const literal *known = (const literal *)(intptr_t)found;
    if (zb_shape_equal(&known->known->shape, &c->shape) && memcmp(known->known->data, c->data, bytes) == 0)
      return known->value;
  }
  MlirValue value = build_literal(im, c, name);
  if (!value.ptr) im->failed = true;
  literal *made = value.ptr ? zb_import_take(im, sizeof *made) : NULL;
  if (!made) return (MlirValue){NULL};
  *made = (literal){c, value};
  return zb_map_set(im->literals, key, (intptr_t)made) ? value : (zb_import_memory(im), (MlirValue){NULL});
}

MlirValue zb_import_literal_ir(zb_import *im, const zb_known *c, const char *name) {
  MlirValue value = literal_of(im, c, name);
  if (!value.ptr) im->failed = im->builder.failed = true; /* so that nothing is built of it */
  return value;
}
