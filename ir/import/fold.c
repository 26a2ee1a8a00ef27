/* Evaluates what is known while importing: masks, positions, rotary tables, shape arithmetic.
 *
 * What a kernel computes its reference kernel folds, so a constant has the bits that the program would compute. Tests:
 * test/ir/import/fold_test.c, test/ir/import/import_test.c (folding). */
#include "ir/import/fold.h"

#include "runtime/base/assert.h"

#include <math.h>
#include <string.h>

zb_known *zb_import_fold_op(zb_import_node *n, const char *op, const zb_known *const *in, int count,
                            const zb_attr *attrs, int attr_count) {
  enum { OPERANDS_MAX = 3 };
  zb_shape shapes[OPERANDS_MAX], shape;
  zb_tensor tensors[OPERANDS_MAX], result;
  zb_op_error error;
  ZB_ASSERT(count <= OPERANDS_MAX);
  for (int i = 0; i < count; ++i) {
    shapes[i] = in[i]->shape;
    tensors[i] = zb_known_tensor(in[i]);
  }
  const zb_op_view view = {zb_op_find_name(op), shapes, count, {attrs, attr_count}, 1};
  if (!view.def->infer(&view, &shape, &error)) {
    n->im->failed = true;
    return zb_location_error(n->location, error.hint, "cannot build zb.%s: %s", op, error.text), NULL;
  }
  zb_known *out = zb_known_new(n->im, &shape);
  if (!out) return NULL;
  result = zb_known_tensor(out);
  const zb_kernel_call call = {
      .inputs = tensors, .input_count = count, .outputs = &result, .output_count = 1, .attrs = view.attrs};
  const char *wrong = zb_kernel_reference(op)->run(&call);
  return wrong ? zb_import_refuse(n, NULL, "%s", wrong), NULL : out;
}

zb_known *zb_import_fold_cast(zb_import_node *n, const zb_known *in, zb_dtype dtype) {
  zb_attr attr = zb_string("dtype", zb_dtype_name(dtype));
  return dtype == in->shape.dtype ? zb_known_alias(n->im, in, &in->shape)
                                  : zb_import_fold_op(n, "cast", &in, 1, &attr, 1);
}

static int64_t power(int64_t base, int64_t exponent) {
  if (exponent < 0) return base == 1 ? 1 : base == -1 ? (exponent % 2 ? -1 : 1) : 0;
  uint64_t result = 1, power = (uint64_t)base;
  for (; exponent > 0; exponent >>= 1, power *= power) {
    if (exponent & 1) result *= power;
  }
  return (int64_t)result;
}

/* Powers of integers, which no kernel computes: in int64_t, or in double where the exponent is a float. */
static zb_known *fold_integer_power(zb_import_node *n, const zb_known *a, const zb_known *b, const zb_shape *shape) {
  const zb_shape *both[] = {&a->shape, &b->shape};
  zb_known *out = zb_known_new(n->im, shape);
  zb_walk w = zb_walk_over(shape, 2, both);
  for (int64_t i = 0; out && i < out->elements; ++i, zb_walk_next(&w)) {
    if (zb_known_is_float(b))
      zb_known_set_real(out, i, pow(zb_known_real(a, w.at[0]), zb_known_real(b, w.at[1])));
    else
      zb_known_set_integer(out, i, power(zb_known_integer(a, w.at[0]), zb_known_integer(b, w.at[1])));
  }
  return out;
}

zb_known *zb_import_fold_binary(zb_import_node *n, const char *op, const zb_known *a, const zb_known *b,
                                const zb_attr *attrs, int attr_count) {
  zb_shape shape;
  const zb_shape *both[] = {&a->shape, &b->shape};
  char left[96], right[96];
  bool is_power = strcmp(op, "pow") == 0, real = zb_known_is_float(a);
  if (a->shape.dtype != b->shape.dtype && !is_power)
    return zb_import_refuse(n, NULL, "the inputs have different types: %s and %s", zb_dtype_name(a->shape.dtype),
                            zb_dtype_name(b->shape.dtype)),
           NULL;
  if (!zb_broadcast_all(both, 2, &shape))
    return zb_import_refuse(n, NULL, "cannot broadcast %s with %s", zb_shape_text(&a->shape, left),
                            zb_shape_text(&b->shape, right)),
           NULL;
  if (is_power && !real) return fold_integer_power(n, a, b, &shape);
  for (int64_t i = 0; !real && (strcmp(op, "div") == 0 || strcmp(op, "mod") == 0) && i < b->elements; ++i) {
    if (zb_known_integer(b, i) == 0) return zb_import_refuse(n, NULL, "division of integers by 0"), NULL;
  }
  if (is_power) b = zb_import_fold_cast(n, b, a->shape.dtype);
  return b ? zb_import_fold_op(n, op, (const zb_known *[]){a, b}, 2, attrs, attr_count) : NULL;
}

zb_known *zb_import_fold_where(zb_import_node *n, const zb_known *condition, const zb_known *yes, const zb_known *no) {
  const zb_shape *shapes[] = {&condition->shape, &yes->shape, &no->shape};
  zb_shape shape;
  if (condition->shape.dtype != ZB_I1 || yes->shape.dtype != no->shape.dtype || !zb_broadcast_all(shapes, 3, &shape))
    return zb_import_refuse(n, NULL, "expected a bool condition and two tensors of one type that broadcast"), NULL;
  return zb_import_fold_op(n, "where", (const zb_known *[]){condition, yes, no}, 3, NULL, 0);
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

/* The mean of integers, which no kernel computes, is their sum divided. */
zb_known *zb_import_fold_reduce(zb_import_node *n, const char *op, const zb_known *in, const int64_t *axes, int count,
                                bool keepdims) {
  zb_attr attrs[] = {zb_ints("axes", axes, count), zb_bool("keepdims", keepdims)};
  int64_t size = 1;
  if (in->elements == 0) return zb_import_refuse(n, NULL, "the input is empty"), NULL;
  bool divides = strcmp(op, "reduce_mean") == 0 && !zb_known_is_float(in);
  zb_known *out = zb_import_fold_op(n, divides ? "reduce_sum" : op, &in, 1, attrs, 2);
  if (!out || !divides) return out;
  for (int i = 0; i < count; ++i)
    size *= in->shape.dims[axes[i]];
  zb_known *divisor = zb_known_new(n->im, &(zb_shape){.dtype = in->shape.dtype});
  if (divisor) zb_known_set_integer(divisor, 0, size);
  return divisor ? zb_import_fold_binary(n, "div", out, divisor, NULL, 0) : NULL;
}

zb_known *zb_import_fold_matmul(zb_import_node *n, const zb_known *a, const zb_known *b) {
  int ra = a->shape.rank, rb = b->shape.rank;
  zb_shape outer, lead[2] = {a->shape, b->shape};
  if (ra < 2 || rb < 2) return NULL;
  int64_t rows = a->shape.dims[ra - 2], inner = a->shape.dims[ra - 1], columns = b->shape.dims[rb - 1];
  lead[0].rank -= 2;
  lead[1].rank -= 2;
  if (!zb_broadcast_all((const zb_shape *[]){&lead[0], &lead[1]}, 2, &outer)) return NULL;
  int64_t results = zb_shape_elements(&outer) * rows * columns;
  if (results > (INT64_C(1) << 24) / (inner ? inner : 1)) return NULL;
  if (!zb_known_charge(n->im, (uint64_t)(results * inner) * sizeof(double))) return NULL;
  return zb_import_fold_op(n, "matmul", (const zb_known *[]){a, b}, 2, NULL, 0);
}
