/* Evaluates nodes whose inputs are known while importing: masks, positions, rotary tables, shape arithmetic.
 *
 * Floats are computed in double and rounded once to the element type; integers wrap around. Families are tables: one
 * row an operator. Tests: test/ir/import/import_test.c (folding). */
#include "ir/import/fold.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* ---- Sources ---- */

zb_result zb_onnx_fold_constant(zb_onnx_node *n) {
  if (n->proto->n_attribute != 1)
    return zb_onnx_node_fail(n, NULL, "it has %zu attributes, expected one value", n->proto->n_attribute);
  const Onnx__AttributeProto *attr = n->proto->attribute[0];
  const char *name = attr->name ? attr->name : "";
  zb_shape shape = {.dtype = ZB_I64};
  if (strcmp(name, "value") == 0 && attr->t) {
    const void *data;
    if (!zb_onnx_tensor_read(n->im, attr->t, NULL, n->b->location, "constant", &shape, &data)) {
      n->im->failed = true;
      return ZB_FAIL;
    }
    return zb_onnx_node_set_constant(n, 0, zb_onnx_const_copy(n->im, &shape, data));
  }
  if (strcmp(name, "value_int") == 0)
    return zb_onnx_node_set_constant(n, 0, zb_onnx_const_copy(n->im, &shape, &attr->i));
  if (strcmp(name, "value_ints") == 0)
    return zb_onnx_node_set_constant(n, 0, zb_onnx_const_ints(n->im, attr->ints, (int64_t)attr->n_ints));
  shape.dtype = ZB_F32;
  if (strcmp(name, "value_float") == 0)
    return zb_onnx_node_set_constant(n, 0, zb_onnx_const_copy(n->im, &shape, &attr->f));
  if (strcmp(name, "value_floats") == 0) {
    shape.rank = 1;
    shape.dims[0] = (int64_t)attr->n_floats;
    return zb_onnx_node_set_constant(n, 0,
                                     zb_onnx_const_copy(n->im, &shape, attr->floats ? attr->floats : (const void *)""));
  }
  return zb_onnx_node_fail(n, "value, value_int, value_ints, value_float and value_floats are supported",
                           "a '%s' is not supported", name);
}

zb_result zb_onnx_fold_constant_of_shape(zb_onnx_node *n) {
  zb_shape shape = {.dtype = ZB_F32}, one;
  const void *data = &(float){0};
  if (!zb_onnx_node_ints(n, 0, "the shape", shape.dims, ZB_DIMS_MAX, &shape.rank)) return ZB_FAIL;
  for (int i = 0; i < shape.rank; ++i) {
    if (shape.dims[i] < 0) return zb_onnx_node_fail(n, NULL, "the shape has a negative dimension");
  }
  const Onnx__AttributeProto *attr = zb_onnx_node_attr(n, "value");
  if (attr && (!attr->t || !zb_onnx_tensor_read(n->im, attr->t, NULL, n->b->location, "value", &one, &data) ||
               zb_shape_elements(&one) != 1)) {
    return zb_onnx_node_fail(n, NULL, "attribute 'value' is no tensor of one element");
  }
  if (attr) shape.dtype = one.dtype;
  zb_onnx_const *c = zb_onnx_const_new(n->im, &shape);
  size_t width = zb_dtype_bytes(shape.dtype);
  for (int64_t i = 0; c && i < c->elements; ++i)
    memcpy((char *)c->data + (size_t)i * width, data, width);
  return zb_onnx_node_set_constant(n, 0, c);
}

zb_result zb_onnx_fold_shape(zb_onnx_node *n) {
  zb_shape shape;
  if (!zb_onnx_node_shape(n, 0, &shape)) return ZB_FAIL;
  int64_t bounds[2] = {zb_onnx_node_int(n, "start", 0), zb_onnx_node_int(n, "end", shape.rank)};
  for (int i = 0; i < 2; ++i) {
    if (bounds[i] < 0) bounds[i] += shape.rank;
    if (bounds[i] < 0) bounds[i] = 0;
    if (bounds[i] > shape.rank) bounds[i] = shape.rank;
  }
  int64_t count = bounds[1] > bounds[0] ? bounds[1] - bounds[0] : 0;
  return zb_onnx_node_set_constant(n, 0, zb_onnx_const_ints(n->im, shape.dims + bounds[0], count));
}

zb_result zb_onnx_fold_size(zb_onnx_node *n) {
  zb_shape shape, scalar = {.dtype = ZB_I64};
  if (!zb_onnx_node_shape(n, 0, &shape)) return ZB_FAIL;
  int64_t elements = zb_shape_elements(&shape);
  return zb_onnx_node_set_constant(n, 0, zb_onnx_const_copy(n->im, &scalar, &elements));
}

zb_result zb_onnx_fold_range(zb_onnx_node *n) {
  const zb_onnx_const *start = zb_onnx_node_constant(n, 0), *limit = zb_onnx_node_constant(n, 1),
                      *delta = zb_onnx_node_constant(n, 2);
  if (start->elements != 1 || limit->elements != 1 || delta->elements != 1 ||
      start->shape.dtype != limit->shape.dtype || start->shape.dtype != delta->shape.dtype) {
    return zb_onnx_node_fail(n, NULL, "start, limit and delta are not three scalars of one type");
  }
  double step = zb_onnx_const_real(delta, 0);
  double count = ceil((zb_onnx_const_real(limit, 0) - zb_onnx_const_real(start, 0)) / step);
  if (step == 0 || !(count < 9e15)) return zb_onnx_node_fail(n, NULL, "the range is endless or too long");
  zb_shape shape = {.dtype = start->shape.dtype, .rank = 1, .dims = {count > 0 ? (int64_t)count : 0}};
  zb_onnx_const *c = zb_onnx_const_new(n->im, &shape);
  for (int64_t i = 0; c && i < c->elements; ++i) {
    if (zb_onnx_const_is_float(c))
      zb_onnx_const_set_real(c, i, zb_onnx_const_real(start, 0) + (double)i * step);
    else
      zb_onnx_const_set_integer(c, i, zb_onnx_const_integer(start, 0) + i * zb_onnx_const_integer(delta, 0));
  }
  return zb_onnx_node_set_constant(n, 0, c);
}

zb_result zb_onnx_fold_eye_like(zb_onnx_node *n) {
  zb_shape shape;
  if (!zb_onnx_node_shape(n, 0, &shape)) return ZB_FAIL;
  if (shape.rank != 2) return zb_onnx_node_fail(n, NULL, "the input has %d dimensions, expected 2", shape.rank);
  int64_t to = zb_onnx_node_int(n, "dtype", -1), k = zb_onnx_node_int(n, "k", 0);
  if (to >= 0 && !zb_onnx_dtype((int32_t)to, &shape.dtype))
    return zb_onnx_node_fail(n, NULL, "dtype %" PRId64 " is not supported", to);
  zb_onnx_const *c = zb_onnx_const_new(n->im, &shape);
  for (int64_t i = 0; c && i < shape.dims[0]; ++i) {
    if (i + k >= 0 && i + k < shape.dims[1]) zb_onnx_const_set_real(c, i * shape.dims[1] + i + k, 1);
  }
  return zb_onnx_node_set_constant(n, 0, c);
}

/* ---- Elementwise ---- */

#define ZB_FOLD_UNARY(name, formula)                                                                                   \
  static double unary_##name(double x) { return (double)(formula); }
#define ZB_FOLD_BINARY(name, logic, real, integer)
#include "ir/import/fold.def"
#undef ZB_FOLD_UNARY
static const struct {
  const char *name;
  double (*run)(double x);
} unary_rows[] = {
#define ZB_FOLD_UNARY(name, formula) {#name, unary_##name},
#include "ir/import/fold.def"
};
#undef ZB_FOLD_UNARY
#undef ZB_FOLD_BINARY

static int64_t unary_integer(const char *name, int64_t x) {
  if (strcmp(name, "neg") == 0) return (int64_t)(0 - (uint64_t)x);
  if (strcmp(name, "abs") == 0) return x < 0 ? (int64_t)(0 - (uint64_t)x) : x;
  if (strcmp(name, "bitwise_not") == 0) return ~x;
  if (strcmp(name, "not") == 0) return x == 0;
  return (x > 0) - (x < 0);
}

/* Operators with attributes (alpha, min, ...) and integers where only floats are defined are left to build. */
zb_result zb_onnx_fold_unary(zb_onnx_node *n) {
  const zb_onnx_const *in = zb_onnx_node_constant(n, 0);
  const char *name = n->row->argument;
  bool real = zb_onnx_const_is_float(in), predicate = strcmp(name, "is_inf") == 0 || strcmp(name, "is_nan") == 0;
  double (*run)(double) = NULL;
  for (size_t i = 0; i < sizeof unary_rows / sizeof *unary_rows; ++i) {
    if (strcmp(unary_rows[i].name, name) == 0) run = unary_rows[i].run;
  }
  bool integer = strcmp(name, "neg") == 0 || strcmp(name, "abs") == 0 || strcmp(name, "bitwise_not") == 0 ||
                 strcmp(name, "not") == 0 || strcmp(name, "sign") == 0;
  if ((real && !run) || (!real && !integer) || n->proto->n_attribute > 0) return ZB_OK;
  zb_shape shape = in->shape;
  if (predicate) shape.dtype = ZB_I1;
  zb_onnx_const *out = zb_onnx_const_new(n->im, &shape);
  for (int64_t i = 0; out && i < out->elements; ++i) {
    if (real)
      zb_onnx_const_set_real(out, i, run(zb_onnx_const_real(in, i)));
    else
      zb_onnx_const_set_integer(out, i, unary_integer(name, zb_onnx_const_integer(in, i)));
  }
  return zb_onnx_node_set_constant(n, 0, out);
}

static double floor_mod(double a, double b) {
  double r = fmod(a, b);
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

static int64_t floor_mod_integer(int64_t a, int64_t b) {
  if (b == -1) return 0;
  int64_t r = a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

static int64_t power(int64_t base, int64_t exponent) {
  if (exponent < 0) return base == 1 ? 1 : base == -1 ? (exponent % 2 ? -1 : 1) : 0;
  uint64_t result = 1, power = (uint64_t)base;
  for (; exponent > 0; exponent >>= 1, power *= power) {
    if (exponent & 1) result *= power;
  }
  return (int64_t)result;
}

static int64_t divide(int64_t a, int64_t b) { return b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b; }

#define ZB_FOLD_UNARY(name, formula)
#define ZB_FOLD_BINARY(name, logic, real, integer)                                                                     \
  static double real_##name(double a, double b) {                                                                      \
    (void)b;                                                                                                           \
    return (double)(real);                                                                                             \
  }                                                                                                                    \
  static int64_t integer_##name(int64_t a, int64_t b) { return (int64_t)(integer); }
#include "ir/import/fold.def"
#undef ZB_FOLD_BINARY
typedef struct binary_row {
  const char *name;
  bool logic;
  double (*real)(double a, double b);
  int64_t (*integer)(int64_t a, int64_t b);
} binary_row;
static const binary_row binary_rows[] = {
#define ZB_FOLD_BINARY(name, logic, real, integer) {#name, logic, real_##name, integer_##name},
#include "ir/import/fold.def"
};
#undef ZB_FOLD_UNARY
#undef ZB_FOLD_BINARY

static const binary_row *find_binary(const char *name) {
  for (size_t i = 0; i < sizeof binary_rows / sizeof *binary_rows; ++i) {
    if (strcmp(binary_rows[i].name, name) == 0) return &binary_rows[i];
  }
  return NULL;
}

/* out = row(a, b) with broadcasting; NULL after an error. */
static zb_onnx_const *apply_binary(zb_onnx_node *n, const binary_row *row, const zb_onnx_const *a,
                                   const zb_onnx_const *b) {
  zb_shape shape;
  const zb_shape *both[] = {&a->shape, &b->shape};
  bool real = zb_onnx_const_is_float(a) || zb_onnx_const_is_float(b);
  if (a->shape.dtype != b->shape.dtype && strcmp(row->name, "pow") != 0) {
    zb_onnx_node_fail(n, NULL, "the inputs have different types: %s and %s", zb_dtype_name(a->shape.dtype),
                      zb_dtype_name(b->shape.dtype));
    return NULL;
  }
  if (!zb_onnx_broadcast(both, 2, &shape)) {
    char left[96], right[96];
    zb_onnx_node_fail(n, NULL, "cannot broadcast %s with %s", zb_shape_text(&a->shape, left),
                      zb_shape_text(&b->shape, right));
    return NULL;
  }
  if (row->logic) shape.dtype = ZB_I1;
  zb_onnx_const *out = zb_onnx_const_new(n->im, &shape);
  if (!out) return NULL;
  bool divides = !real && (strcmp(row->name, "div") == 0 || strcmp(row->name, "mod") == 0);
  int64_t index[ZB_DIMS_MAX] = {0}, strides[2][ZB_DIMS_MAX], at[2] = {0, 0};
  zb_onnx_broadcast_strides(&a->shape, &shape, strides[0]);
  zb_onnx_broadcast_strides(&b->shape, &shape, strides[1]);
  for (int64_t i = 0; i < out->elements; ++i) {
    if (divides && zb_onnx_const_integer(b, at[1]) == 0) {
      zb_onnx_node_fail(n, NULL, "division of integers by 0");
      return NULL;
    }
    if (real)
      zb_onnx_const_set_real(out, i, row->real(zb_onnx_const_real(a, at[0]), zb_onnx_const_real(b, at[1])));
    else
      zb_onnx_const_set_integer(out, i, row->integer(zb_onnx_const_integer(a, at[0]), zb_onnx_const_integer(b, at[1])));
    zb_onnx_odometer_next(shape.rank, shape.dims, index, 2, strides, at);
  }
  return out;
}

/* Rows without an entry here (prelu, shifts), and Mod with fmod, are left to build. */
zb_result zb_onnx_fold_binary(zb_onnx_node *n) {
  const binary_row *row = find_binary(n->row->argument);
  if (!row || zb_onnx_node_int(n, "fmod", 0) != 0) return ZB_OK;
  return zb_onnx_node_set_constant(n, 0,
                                   apply_binary(n, row, zb_onnx_node_constant(n, 0), zb_onnx_node_constant(n, 1)));
}

zb_result zb_onnx_fold_variadic(zb_onnx_node *n) {
  bool mean = strcmp(n->row->argument, "mean") == 0;
  const binary_row *row = find_binary(mean ? "add" : n->row->argument);
  const zb_onnx_const *sum = zb_onnx_node_constant(n, 0);
  int count = zb_onnx_node_inputs(n);
  for (int i = 1; sum && i < count; ++i)
    sum = apply_binary(n, row, sum, zb_onnx_node_constant(n, i));
  if (!sum) return ZB_FAIL;
  zb_onnx_const *out = zb_onnx_const_copy(n->im, &sum->shape, sum->data);
  for (int64_t i = 0; out && mean && i < out->elements; ++i)
    zb_onnx_const_set_real(out, i, zb_onnx_const_real(out, i) / count);
  return zb_onnx_node_set_constant(n, 0, out);
}

zb_result zb_onnx_fold_clip(zb_onnx_node *n) {
  const zb_onnx_const *c = zb_onnx_node_constant(n, 0);
  static const char *const names[] = {NULL, "max", "min"};
  for (int i = 1; c && i <= 2; ++i) {
    if (zb_onnx_node_has(n, i)) c = apply_binary(n, find_binary(names[i]), c, zb_onnx_node_constant(n, i));
  }
  return c ? zb_onnx_node_set_constant(n, 0, zb_onnx_const_alias(n->im, c, &c->shape)) : ZB_FAIL;
}

zb_result zb_onnx_fold_cast(zb_onnx_node *n) {
  zb_dtype dtype;
  if (!zb_onnx_arguments_cast(n, &dtype)) return ZB_FAIL;
  if (dtype == ZB_BF16 || dtype == ZB_F16) return ZB_OK; /* stays an op: rounded by its kernel, when a plan is loaded */
  return zb_onnx_node_set_constant(n, 0, zb_onnx_const_cast(n->im, zb_onnx_node_constant(n, 0), dtype));
}

zb_result zb_onnx_fold_where(zb_onnx_node *n) {
  const zb_onnx_const *in[3] = {zb_onnx_node_constant(n, 0), zb_onnx_node_constant(n, 1), zb_onnx_node_constant(n, 2)};
  const zb_shape *shapes[3] = {&in[0]->shape, &in[1]->shape, &in[2]->shape};
  zb_shape shape;
  if (in[0]->shape.dtype != ZB_I1 || in[1]->shape.dtype != in[2]->shape.dtype ||
      !zb_onnx_broadcast(shapes, 3, &shape)) {
    return zb_onnx_node_fail(n, NULL, "expected a bool condition and two tensors of one type that broadcast");
  }
  shape.dtype = in[1]->shape.dtype;
  zb_onnx_const *out = zb_onnx_const_new(n->im, &shape);
  size_t width = zb_dtype_bytes(shape.dtype);
  int64_t index[ZB_DIMS_MAX] = {0}, strides[3][ZB_DIMS_MAX], at[3] = {0};
  for (int k = 0; k < 3; ++k)
    zb_onnx_broadcast_strides(shapes[k], &shape, strides[k]);
  for (int64_t i = 0; out && i < out->elements; ++i) {
    int k = zb_onnx_const_integer(in[0], at[0]) ? 1 : 2;
    memcpy((char *)out->data + (size_t)i * width, (const char *)in[k]->data + (size_t)at[k] * width, width);
    zb_onnx_odometer_next(shape.rank, shape.dims, index, 3, strides, at);
  }
  return zb_onnx_node_set_constant(n, 0, out);
}

/* ---- Reductions and the like ---- */

static const binary_row *reduce_row(const char *name) {
  return find_binary(strcmp(name, "reduce_prod") == 0  ? "mul"
                     : strcmp(name, "reduce_max") == 0 ? "max"
                     : strcmp(name, "reduce_min") == 0 ? "min"
                                                       : "add");
}

static void reduce_one(zb_onnx_const *out, int64_t at, const zb_onnx_const *in, int64_t i, const binary_row *row,
                       bool first) {
  if (zb_onnx_const_is_float(in)) {
    double value = zb_onnx_const_real(in, i);
    zb_onnx_const_set_real(out, at, first ? value : row->real(zb_onnx_const_real(out, at), value));
  } else {
    int64_t value = zb_onnx_const_integer(in, i);
    zb_onnx_const_set_integer(out, at, first ? value : row->integer(zb_onnx_const_integer(out, at), value));
  }
}

/* The five basic reductions; those made of other operators are left to build. Sums of floats are kept in double. */
zb_result zb_onnx_fold_reduce(zb_onnx_node *n) {
  const zb_onnx_const *in = zb_onnx_node_constant(n, 0);
  const char *name = n->row->argument;
  bool reduced[ZB_DIMS_MAX], keepdims, identity;
  if (strncmp(name, "reduce_", 7) != 0) return ZB_OK;
  if (!zb_onnx_arguments_axes(n, in->shape.rank, reduced, &keepdims, &identity)) return ZB_FAIL;
  zb_shape kept = in->shape, wide;
  int64_t count = 1;
  for (int i = 0; i < kept.rank; ++i) {
    if (reduced[i]) count *= kept.dims[i], kept.dims[i] = 1;
  }
  if (in->elements == 0) return zb_onnx_node_fail(n, NULL, "the input is empty");
  wide = kept;
  if (zb_onnx_const_is_float(in)) wide.dtype = ZB_F64;
  const binary_row *row = reduce_row(name);
  zb_onnx_const *sum = zb_onnx_const_new(n->im, &wide), *first = zb_onnx_const_new(n->im, &kept);
  int64_t index[ZB_DIMS_MAX] = {0}, strides[1][ZB_DIMS_MAX], at[1] = {0};
  zb_onnx_broadcast_strides(&kept, &in->shape, strides[0]);
  for (int64_t i = 0; sum && first && i < in->elements; ++i) {
    char *seen = (char *)first->data + (size_t)at[0] * zb_dtype_bytes(kept.dtype);
    reduce_one(sum, at[0], in, i, row, !*seen);
    *seen = 1;
    zb_onnx_odometer_next(in->shape.rank, in->shape.dims, index, 1, strides, at);
  }
  for (int64_t i = 0; sum && strcmp(name, "reduce_mean") == 0 && i < sum->elements; ++i) {
    zb_onnx_const_set_real(sum, i, zb_onnx_const_real(sum, i) / (double)count);
  }
  zb_onnx_const *out = sum && first ? zb_onnx_const_cast(n->im, sum, kept.dtype) : NULL;
  if (!out) return ZB_FAIL;
  zb_shape shape = {.dtype = kept.dtype};
  for (int i = 0; i < kept.rank; ++i) {
    if (keepdims || !reduced[i]) shape.dims[shape.rank++] = kept.dims[i];
  }
  return zb_onnx_node_set_constant(n, 0, zb_onnx_const_alias(n->im, out, &shape));
}

zb_result zb_onnx_fold_cumsum(zb_onnx_node *n) {
  const zb_onnx_const *in = zb_onnx_node_constant(n, 0);
  int64_t wanted;
  int count, axis;
  if (!zb_onnx_node_ints(n, 1, "the axis", &wanted, 1, &count) || count != 1 ||
      !zb_onnx_node_axis(n, wanted, in->shape.rank, &axis)) {
    n->im->failed = true;
    return ZB_FAIL;
  }
  bool exclusive = zb_onnx_node_int(n, "exclusive", 0) != 0, reverse = zb_onnx_node_int(n, "reverse", 0) != 0;
  int64_t strides[ZB_DIMS_MAX], dim = in->shape.dims[axis];
  zb_onnx_strides(&in->shape, strides);
  zb_onnx_const *out = zb_onnx_const_new(n->im, &in->shape);
  for (int64_t i = 0; out && i < in->elements; ++i) {
    int64_t place = i / strides[axis] % dim;
    if (place != (reverse ? dim - 1 : 0)) continue;
    double real = 0;
    uint64_t integer = 0;
    for (int64_t k = 0; k < dim; ++k) {
      int64_t at = i + (reverse ? -k : k) * strides[axis];
      if (exclusive && zb_onnx_const_is_float(in))
        zb_onnx_const_set_real(out, at, real);
      else if (exclusive)
        zb_onnx_const_set_integer(out, at, (int64_t)integer);
      real += zb_onnx_const_real(in, at);
      integer += (uint64_t)zb_onnx_const_integer(in, at);
      if (!exclusive && zb_onnx_const_is_float(in))
        zb_onnx_const_set_real(out, at, real);
      else if (!exclusive)
        zb_onnx_const_set_integer(out, at, (int64_t)integer);
    }
  }
  return zb_onnx_node_set_constant(n, 0, out);
}

zb_result zb_onnx_fold_trilu(zb_onnx_node *n) {
  const zb_onnx_const *in = zb_onnx_node_constant(n, 0);
  bool upper = zb_onnx_node_int(n, "upper", 1) != 0;
  int64_t k = 0;
  int count = 1, rank = in->shape.rank;
  if (zb_onnx_node_has(n, 1) && !zb_onnx_node_ints(n, 1, "k", &k, 1, &count)) return ZB_FAIL;
  if (rank < 2) return zb_onnx_node_fail(n, NULL, "the input has %d dimensions, expected 2 or more", rank);
  zb_onnx_const *out = zb_onnx_const_copy(n->im, &in->shape, in->data);
  int64_t columns = in->shape.dims[rank - 1], rows = in->shape.dims[rank - 2];
  for (int64_t i = 0; out && i < out->elements; ++i) {
    int64_t column = i % columns, row = i / columns % rows;
    bool keep = upper ? column - row >= k : column - row <= k;
    if (!keep) zb_onnx_const_set_integer(out, i, 0);
  }
  return zb_onnx_node_set_constant(n, 0, out);
}

/* Small products of tables (rotary frequencies times positions). Others are left to build. */
zb_result zb_onnx_fold_matmul(zb_onnx_node *n) {
  const zb_onnx_const *a = zb_onnx_node_constant(n, 0), *b = zb_onnx_node_constant(n, 1);
  int ra = a->shape.rank, rb = b->shape.rank;
  if (!zb_onnx_const_is_float(a) || a->shape.dtype != b->shape.dtype || ra < 2 || rb < 2) return ZB_OK;
  int64_t rows = a->shape.dims[ra - 2], inner = a->shape.dims[ra - 1], columns = b->shape.dims[rb - 1];
  if (inner != b->shape.dims[rb - 2]) return ZB_OK;
  zb_shape lead[2] = {a->shape, b->shape}, shape;
  lead[0].rank -= 2;
  lead[1].rank -= 2;
  const zb_shape *both[] = {&lead[0], &lead[1]};
  if (!zb_onnx_broadcast(both, 2, &shape)) return ZB_OK;
  zb_shape outer = shape;
  int64_t batches = zb_shape_elements(&outer), index[ZB_DIMS_MAX] = {0}, strides[2][ZB_DIMS_MAX], at[2] = {0, 0};
  if (batches * rows * columns > (INT64_C(1) << 24) / (inner ? inner : 1)) return ZB_OK;
  if (!zb_onnx_fold_charge(n->im, (uint64_t)(batches * rows * columns * inner) * sizeof(double))) return ZB_FAIL;
  shape.dims[shape.rank++] = rows;
  shape.dims[shape.rank++] = columns;
  zb_onnx_const *out = zb_onnx_const_new(n->im, &shape);
  for (int k = 0; k < 2; ++k)
    zb_onnx_broadcast_strides(both[k], &outer, strides[k]);
  for (int64_t i = 0; out && i < out->elements; ++i) {
    int64_t column = i % columns, row = i / columns % rows;
    double sum = 0;
    for (int64_t k = 0; k < inner; ++k) {
      sum += zb_onnx_const_real(a, (at[0] * rows + row) * inner + k) *
             zb_onnx_const_real(b, (at[1] * inner + k) * columns + column);
    }
    zb_onnx_const_set_real(out, i, sum);
    if ((i + 1) % (rows * columns) == 0) zb_onnx_odometer_next(outer.rank, outer.dims, index, 2, strides, at);
  }
  return zb_onnx_node_set_constant(n, 0, out);
}
