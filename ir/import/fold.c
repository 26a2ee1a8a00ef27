/* Evaluates what is known while importing: masks, positions, rotary tables, shape arithmetic.
 *
 * Floats are computed in double and rounded once to the element type; integers wrap around. Families are tables: one
 * row an operator. Tests: test/ir/import/import_test.c (folding). */
#include "ir/import/fold.h"

#include <math.h>
#include <string.h>

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

static bool unary_integer(const char *op, int64_t x, int64_t *out) {
  bool neg = strcmp(op, "neg") == 0;
  if (neg || strcmp(op, "abs") == 0)
    *out = neg || x < 0 ? (int64_t)(0 - (uint64_t)x) : x;
  else if (strcmp(op, "bitwise_not") == 0)
    *out = ~x;
  else if (strcmp(op, "not") == 0)
    *out = x == 0;
  else if (strcmp(op, "sign") == 0)
    *out = (x > 0) - (x < 0);
  else
    return false;
  return true;
}

zb_known *zb_import_fold_unary(zb_import_node *n, const char *op, const zb_known *in) {
  bool real = zb_known_is_float(in);
  double (*run)(double) = NULL;
  int64_t integer = 0;
  for (size_t i = 0; real && i < sizeof unary_rows / sizeof *unary_rows; ++i) {
    if (strcmp(unary_rows[i].name, op) == 0) run = unary_rows[i].run;
  }
  if (real ? !run : !unary_integer(op, 0, &integer)) return NULL;
  zb_shape shape = in->shape;
  if (strcmp(op, "is_inf") == 0 || strcmp(op, "is_nan") == 0) shape.dtype = ZB_I1;
  zb_known *out = zb_known_new(n->im, &shape);
  for (int64_t i = 0; out && i < out->elements; ++i) {
    if (real)
      zb_known_set_real(out, i, run(zb_known_real(in, i)));
    else if (unary_integer(op, zb_known_integer(in, i), &integer))
      zb_known_set_integer(out, i, integer);
  }
  return out;
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

zb_known *zb_import_fold_binary(zb_import_node *n, const char *op, const zb_known *a, const zb_known *b) {
  zb_shape shape;
  const zb_shape *both[] = {&a->shape, &b->shape};
  const binary_row *row = find_binary(op);
  char left[96], right[96];
  bool real = zb_known_is_float(a) || zb_known_is_float(b);
  if (!row) return NULL;
  if (a->shape.dtype != b->shape.dtype && strcmp(op, "pow") != 0)
    return zb_import_refuse(n, NULL, "the inputs have different types: %s and %s", zb_dtype_name(a->shape.dtype),
                            zb_dtype_name(b->shape.dtype)),
           NULL;
  if (!zb_broadcast_all(both, 2, &shape))
    return zb_import_refuse(n, NULL, "cannot broadcast %s with %s", zb_shape_text(&a->shape, left),
                            zb_shape_text(&b->shape, right)),
           NULL;
  if (row->logic) shape.dtype = ZB_I1;
  zb_known *out = zb_known_new(n->im, &shape);
  bool divides = !real && (strcmp(op, "div") == 0 || strcmp(op, "mod") == 0);
  zb_walk w = zb_walk_over(&shape, 2, both);
  for (int64_t i = 0; out && i < out->elements; ++i, zb_walk_next(&w)) {
    if (divides && zb_known_integer(b, w.at[1]) == 0)
      return zb_import_refuse(n, NULL, "division of integers by 0"), NULL;
    if (real)
      zb_known_set_real(out, i, row->real(zb_known_real(a, w.at[0]), zb_known_real(b, w.at[1])));
    else
      zb_known_set_integer(out, i, row->integer(zb_known_integer(a, w.at[0]), zb_known_integer(b, w.at[1])));
  }
  return out;
}

zb_known *zb_import_fold_where(zb_import_node *n, const zb_known *condition, const zb_known *yes, const zb_known *no) {
  const zb_known *in[3] = {condition, yes, no};
  const zb_shape *shapes[3] = {&condition->shape, &yes->shape, &no->shape};
  zb_shape shape;
  if (condition->shape.dtype != ZB_I1 || yes->shape.dtype != no->shape.dtype || !zb_broadcast_all(shapes, 3, &shape))
    return zb_import_refuse(n, NULL, "expected a bool condition and two tensors of one type that broadcast"), NULL;
  shape.dtype = yes->shape.dtype;
  zb_known *out = zb_known_new(n->im, &shape);
  zb_walk w = zb_walk_over(&shape, 3, shapes);
  for (int64_t i = 0; out && i < out->elements; ++i, zb_walk_next(&w)) {
    int k = zb_known_integer(condition, w.at[0]) ? 1 : 2;
    zb_known_put(out, i, in[k], w.at[k], 1);
  }
  return out;
}

zb_known *zb_import_fold_range(zb_import_node *n, const zb_known *start, const zb_known *limit, const zb_known *delta) {
  if (start->elements != 1 || limit->elements != 1 || delta->elements != 1 ||
      start->shape.dtype != limit->shape.dtype || start->shape.dtype != delta->shape.dtype)
    return zb_import_refuse(n, NULL, "start, limit and delta are not three scalars of one type"), NULL;
  double step = zb_known_real(delta, 0), count = ceil((zb_known_real(limit, 0) - zb_known_real(start, 0)) / step);
  if (step == 0 || !(count < 9e15)) return zb_import_refuse(n, NULL, "the range is endless or too long"), NULL;
  zb_shape shape = {.dtype = start->shape.dtype, .rank = 1, .dims = {count > 0 ? (int64_t)count : 0}};
  zb_known *c = zb_known_new(n->im, &shape);
  for (int64_t i = 0; c && i < c->elements; ++i) {
    if (zb_known_is_float(c))
      zb_known_set_real(c, i, zb_known_real(start, 0) + (double)i * step);
    else
      zb_known_set_integer(c, i, zb_known_integer(start, 0) + i * zb_known_integer(delta, 0));
  }
  return c;
}

/* ---- Reductions and the like ---- */

static const binary_row *reduce_row(const char *name) {
  return find_binary(strcmp(name, "reduce_prod") == 0  ? "mul"
                     : strcmp(name, "reduce_max") == 0 ? "max"
                     : strcmp(name, "reduce_min") == 0 ? "min"
                                                       : "add");
}

static void reduce_one(zb_known *out, int64_t at, const zb_known *in, int64_t i, const binary_row *row, bool first) {
  if (zb_known_is_float(in)) {
    double value = zb_known_real(in, i);
    zb_known_set_real(out, at, first ? value : row->real(zb_known_real(out, at), value));
  } else {
    int64_t value = zb_known_integer(in, i);
    zb_known_set_integer(out, at, first ? value : row->integer(zb_known_integer(out, at), value));
  }
}

zb_known *zb_import_fold_reduce(zb_import_node *n, const char *op, const zb_known *in, const bool *reduced,
                                bool keepdims) {
  zb_shape kept = in->shape, wide;
  int64_t count = 1;
  if (strncmp(op, "reduce_", 7) != 0) return NULL;
  for (int i = 0; i < kept.rank; ++i) {
    if (reduced[i]) count *= kept.dims[i], kept.dims[i] = 1;
  }
  if (in->elements == 0) return zb_import_refuse(n, NULL, "the input is empty"), NULL;
  wide = kept;
  if (zb_known_is_float(in)) wide.dtype = ZB_F64;
  const binary_row *row = reduce_row(op);
  zb_known *sum = zb_known_new(n->im, &wide), *first = zb_known_new(n->im, &kept);
  zb_walk w = zb_walk_over(&in->shape, 1, (const zb_shape *[]){&kept});
  for (int64_t i = 0; sum && first && i < in->elements; ++i, zb_walk_next(&w)) {
    char *seen = (char *)first->data + (size_t)w.at[0] * zb_dtype_bytes(kept.dtype);
    reduce_one(sum, w.at[0], in, i, row, !*seen);
    *seen = 1;
  }
  for (int64_t i = 0; sum && strcmp(op, "reduce_mean") == 0 && i < sum->elements; ++i)
    zb_known_set_real(sum, i, zb_known_real(sum, i) / (double)count);
  zb_known *out = sum && first ? zb_known_cast(n->im, sum, kept.dtype) : NULL;
  zb_shape shape = {.dtype = kept.dtype};
  for (int i = 0; i < kept.rank; ++i) {
    if (keepdims || !reduced[i]) shape.dims[shape.rank++] = kept.dims[i];
  }
  return out ? zb_known_alias(n->im, out, &shape) : NULL;
}

static void set_sum(zb_known *out, int64_t at, double real, uint64_t integer) {
  if (zb_known_is_float(out))
    zb_known_set_real(out, at, real);
  else
    zb_known_set_integer(out, at, (int64_t)integer);
}

zb_known *zb_import_fold_cumsum(zb_import_node *n, const zb_known *in, int axis, bool exclusive, bool reverse) {
  int64_t strides[ZB_DIMS_MAX], dim = in->shape.dims[axis];
  zb_strides(&in->shape, strides);
  zb_known *out = zb_known_new(n->im, &in->shape);
  for (int64_t i = 0; out && i < in->elements; ++i) {
    int64_t place = i / strides[axis] % dim;
    if (place != (reverse ? dim - 1 : 0)) continue;
    double real = 0;
    uint64_t integer = 0;
    for (int64_t k = 0; k < dim; ++k) {
      int64_t at = i + (reverse ? -k : k) * strides[axis];
      if (exclusive) set_sum(out, at, real, integer);
      real += zb_known_real(in, at);
      integer += (uint64_t)zb_known_integer(in, at);
      if (!exclusive) set_sum(out, at, real, integer);
    }
  }
  return out;
}

zb_known *zb_import_fold_triangle(zb_import_node *n, const zb_known *in, bool upper, int64_t k) {
  zb_known *out = zb_known_copy(n->im, &in->shape, in->data);
  int64_t columns = in->shape.dims[in->shape.rank - 1], rows = in->shape.dims[in->shape.rank - 2];
  for (int64_t i = 0; out && i < out->elements; ++i) {
    int64_t column = i % columns, row = i / columns % rows;
    bool keep = upper ? column - row >= k : column - row <= k;
    if (!keep) zb_known_set_integer(out, i, 0);
  }
  return out;
}

zb_known *zb_import_fold_matmul(zb_import_node *n, const zb_known *a, const zb_known *b) {
  int ra = a->shape.rank, rb = b->shape.rank;
  if (!zb_known_is_float(a) || a->shape.dtype != b->shape.dtype || ra < 2 || rb < 2) return NULL;
  int64_t rows = a->shape.dims[ra - 2], inner = a->shape.dims[ra - 1], columns = b->shape.dims[rb - 1];
  if (inner != b->shape.dims[rb - 2]) return NULL;
  zb_shape lead[2] = {a->shape, b->shape}, shape;
  lead[0].rank -= 2;
  lead[1].rank -= 2;
  const zb_shape *both[] = {&lead[0], &lead[1]};
  if (!zb_broadcast_all(both, 2, &shape)) return NULL;
  zb_shape outer = shape;
  int64_t batches = zb_shape_elements(&outer);
  if (batches * rows * columns > (INT64_C(1) << 24) / (inner ? inner : 1)) return NULL;
  if (!zb_known_charge(n->im, (uint64_t)(batches * rows * columns * inner) * sizeof(double))) return NULL;
  shape.dims[shape.rank++] = rows;
  shape.dims[shape.rank++] = columns;
  zb_known *out = zb_known_new(n->im, &shape);
  zb_walk w = zb_walk_over(&outer, 2, both);
  for (int64_t i = 0; out && i < out->elements; ++i) {
    int64_t column = i % columns, row = i / columns % rows;
    double sum = 0;
    for (int64_t k = 0; k < inner; ++k) {
      sum += zb_known_real(a, (w.at[0] * rows + row) * inner + k) *
             zb_known_real(b, (w.at[1] * inner + k) * columns + column);
    }
    zb_known_set_real(out, i, sum);
    if ((i + 1) % (rows * columns) == 0) zb_walk_next(&w);
  }
  return out;
}
