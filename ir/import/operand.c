/* What functions of rows are made of: an operand is a value of the import, known or computed, and what is applied to
 * known ones alone is folded. So a function says once what an op means, for masks and positions and for activations.
 * Tests: test/ir/import/aten, test/ir/import/paddle. */
#include "ir/import/operand.h"

#include <math.h>
#include <string.h>

/* ---- Operands ---- */

static zb_operand failed(zb_import_node *n) {
  n->im->failed = true;
  return NULL;
}

zb_operand zb_operand_computed(zb_import_node *n, MlirValue value) {
  zb_operand out = value.ptr && !n->b->failed ? zb_import_value_new(n->im, "", ZB_VALUE_NODE) : NULL;
  if (!out) return failed(n);
  out->value = value;
  out->defined = true;
  return out;
}

zb_operand zb_operand_known(zb_import_node *n, zb_known *known) {
  zb_operand out = known ? zb_import_value_new(n->im, "", ZB_VALUE_NODE) : NULL;
  if (!out) return failed(n);
  out->known = known;
  out->defined = true;
  return out;
}

zb_operand zb_operand_in(zb_import_node *n, int input) {
  if (zb_import_has(n, input)) return n->inputs[input];
  zb_import_refuse(n, NULL, "operand %d is missing", input);
  return failed(n);
}

/* The constant that an operand is; NULL: it is computed. */
static zb_known *known_of(zb_import_node *n, zb_operand x) {
  zb_known *known = NULL;
  return x && zb_import_value_known(n->im, x, &known) ? known : NULL;
}

/* Whether all are constants; what folding reads is counted, once for a node of constants alone. */
static bool all_known(zb_import_node *n, const zb_operand *in, int count) {
  uint64_t bytes = 0;
  for (int i = 0; i < count; ++i) {
    const zb_known *known = known_of(n, in[i]);
    if (!known) return false;
    bytes += (uint64_t)zb_shape_bytes(&known->shape);
  }
  return n->folds || zb_known_charge(n->im, bytes) || failed(n);
}

static bool any_missing(zb_import_node *n, const zb_operand *in, int count) {
  for (int i = 0; i < count; ++i)
    if (!in[i]) return true;
  return n->im->failed || n->b->failed;
}

static MlirValue ir_of(zb_import_node *n, zb_operand x) {
  return x && !n->im->failed ? zb_import_value_ir(n->im, x) : (MlirValue){NULL};
}

bool zb_operand_shape(zb_import_node *n, zb_operand x, zb_shape *out) {
  const zb_known *known = known_of(n, x);
  if (known) *out = known->shape;
  return known || (x && !n->im->failed && zb_import_ir_shape(n, ir_of(n, x), out));
}

zb_result zb_operand_give(zb_import_node *n, int output, zb_operand value) {
  if (!value || n->im->failed || n->b->failed) return n->im->failed = true, ZB_FAIL;
  return zb_import_give_value(n, output, value);
}

/* ---- Ops ---- */

zb_operand zb_operand_build(zb_import_node *n, const char *op, const zb_operand *in, int count, const zb_attr *attrs,
                            int attr_count) {
  enum { OPERANDS_MAX = 8 };
  MlirValue operands[OPERANDS_MAX];
  if (count > OPERANDS_MAX || any_missing(n, in, count)) return failed(n);
  for (int i = 0; i < count; ++i) {
    operands[i] = ir_of(n, in[i]);
    if (!operands[i].ptr) return failed(n);
  }
  MlirOperation made = zb_build_op(n->b, op, operands, count, attrs, attr_count, -1);
  return mlirOperationIsNull(made) ? failed(n) : zb_operand_computed(n, mlirOperationGetResult(made, 0));
}

zb_operand zb_operand_apply(zb_import_node *n, const char *op, const zb_operand *in, int count, const zb_attr *attrs,
                            int attr_count) {
  if (any_missing(n, in, count)) return failed(n);
  const bool folds = all_known(n, in, count);
  if (n->im->failed) return NULL;
  if (!folds) return zb_operand_build(n, op, in, count, attrs, attr_count);
  const zb_known *known[3];
  for (int i = 0; i < count; ++i)
    known[i] = known_of(n, in[i]);
  return zb_operand_known(n, count == 3   ? zb_import_fold_where(n, known[0], known[1], known[2])
                             : count == 2 ? zb_import_fold_binary(n, op, known[0], known[1], attrs, attr_count)
                                          : zb_import_fold_op(n, op, known, 1, attrs, attr_count));
}

zb_operand zb_operand_apply1(zb_import_node *n, const char *op, zb_operand x) {
  return zb_operand_apply(n, op, &x, 1, NULL, 0);
}

zb_operand zb_operand_apply2(zb_import_node *n, const char *op, zb_operand a, zb_operand b) {
  return zb_operand_apply(n, op, (zb_operand[]){a, b}, 2, NULL, 0);
}

zb_operand zb_operand_scalar(zb_import_node *n, zb_dtype dtype, double value) {
  zb_known *known = zb_known_new(n->im, &(zb_shape){.dtype = dtype});
  if (!known) return failed(n);
  const double most = 9e18; /* what an int64_t holds */
  if (zb_known_is_float(known))
    zb_known_set_real(known, 0, value);
  else
    zb_known_set_integer(known, 0, dtype == ZB_I1 ? value != 0 : (int64_t)fmax(fmin(value, most), -most));
  return zb_operand_known(n, known);
}

zb_operand zb_operand_number(zb_import_node *n, zb_operand x, double value) {
  zb_shape shape;
  return zb_operand_shape(n, x, &shape) ? zb_operand_scalar(n, shape.dtype, value) : failed(n);
}

zb_operand zb_operand_line(zb_import_node *n, zb_operand x, double factor, double shift) {
  if (factor != 1) x = zb_operand_apply2(n, "mul", x, zb_operand_number(n, x, factor));
  return shift != 0 ? zb_operand_apply2(n, "add", x, zb_operand_number(n, x, shift)) : x;
}

/* Rows of one op behind another, and of logarithms with what they are divided by. */
zb_operand zb_operand_formula(zb_import_node *n, const char *name, zb_operand x) {
  static const struct {
    const char *name, *ops[3];
    double divisor;
  } rows[] = {{"rsqrt", {"sqrt", "reciprocal"}, 0},
              {"log_sigmoid", {"neg", "softplus", "neg"}, 0},
              {"log2", {"log"}, 0.693147180559945309417},
              {"log10", {"log"}, 2.302585092994045684018}};
  if (strcmp(name, "square") == 0) return zb_operand_apply2(n, "mul", x, x);
  if (strcmp(name, "trunc") == 0)
    return zb_operand_apply2(n, "mul", zb_operand_apply1(n, "sign", x),
                             zb_operand_apply1(n, "floor", zb_operand_apply1(n, "abs", x)));
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    if (strcmp(rows[i].name, name) != 0) continue;
    for (int k = 0; k < 3 && rows[i].ops[k]; ++k)
      x = zb_operand_apply1(n, rows[i].ops[k], x);
    return rows[i].divisor != 0 ? zb_operand_apply2(n, "div", x, zb_operand_number(n, x, rows[i].divisor)) : x;
  }
  return NULL;
}

zb_operand zb_operand_filled(zb_import_node *n, const zb_shape *shape, zb_operand scalar) {
  const zb_known *known = known_of(n, scalar);
  if (!known || known->elements != 1) return failed(n);
  zb_shape wide = *shape;
  wide.dtype = known->shape.dtype;
  return zb_operand_known(n, zb_known_filled(n->im, &wide, known->data));
}

/* A constant as bf16 or f16 stays an op: its kernel rounds it when a plan is loaded. */
zb_operand zb_operand_cast(zb_import_node *n, zb_operand x, zb_dtype dtype) {
  zb_shape shape;
  if (!zb_operand_shape(n, x, &shape)) return failed(n);
  if (shape.dtype == dtype) return x;
  const bool is_narrow = dtype == ZB_BF16 || dtype == ZB_F16;
  if (!is_narrow && all_known(n, &x, 1)) return zb_operand_known(n, zb_import_fold_cast(n, known_of(n, x), dtype));
  if (dtype == ZB_F64) {
    zb_import_refuse(n, "remove .double() from the model, or make it float32 (float_power is torch.pow)",
                     "a conversion to double of a value that is computed each step");
    return failed(n);
  }
  MlirValue value = ir_of(n, x);
  return value.ptr ? zb_operand_computed(n, zb_build_cast(n->b, value, dtype)) : failed(n);
}

zb_operand zb_operand_where(zb_import_node *n, zb_operand condition, zb_operand yes, zb_operand no) {
  return zb_operand_apply(n, "where", (zb_operand[]){condition, yes, no}, 3, NULL, 0);
}

zb_operand zb_operand_with_slope(zb_import_node *n, zb_operand value, zb_operand x, zb_operand slope) {
  if (!x || known_of(n, x)) return value;
  slope = zb_operand_apply2(n, "slope", x, zb_operand_apply1(n, "detach", slope));
  return zb_operand_apply2(n, "add", value, slope);
}

zb_operand zb_operand_matmul(zb_import_node *n, zb_operand a, zb_operand b) {
  const zb_known *x = known_of(n, a), *y = known_of(n, b);
  zb_known *folded = x && y ? zb_import_fold_matmul(n, x, y) : NULL;
  if (n->im->failed) return NULL;
  return folded ? zb_operand_known(n, folded) : zb_operand_build(n, "matmul", (zb_operand[]){a, b}, 2, NULL, 0);
}

zb_operand zb_operand_swapped(zb_import_node *n, zb_operand x) {
  zb_shape shape;
  int64_t permutation[ZB_DIMS_MAX];
  if (!zb_operand_shape(n, x, &shape)) return NULL;
  if (shape.rank < 2) return x;
  for (int i = 0; i < shape.rank; ++i)
    permutation[i] = i;
  permutation[shape.rank - 1] = shape.rank - 2;
  permutation[shape.rank - 2] = shape.rank - 1;
  return zb_operand_transpose(n, x, permutation);
}

zb_operand zb_operand_product(zb_import_node *n, zb_operand a, zb_operand b) {
  zb_shape left, right, out;
  if (!zb_operand_shape(n, a, &left) || !zb_operand_shape(n, b, &right)) return NULL;
  if (left.rank == 0 || right.rank == 0) return zb_import_refuse(n, NULL, "an operand is a scalar"), NULL;
  const zb_shape row = {.rank = 2, .dims = {1, left.dims[0]}}, column = {.rank = 2, .dims = {right.dims[0], 1}};
  if (left.rank == 1) a = zb_operand_reshape(n, a, &row);
  if (right.rank == 1) b = zb_operand_reshape(n, b, &column);
  zb_operand made = zb_operand_matmul(n, a, b);
  if ((left.rank > 1 && right.rank > 1) || !zb_operand_shape(n, made, &out)) return made;
  if (right.rank == 1) --out.rank;
  if (left.rank == 1) {
    const int place = out.rank - (right.rank == 1 ? 1 : 2);
    for (int i = place; i + 1 < out.rank; ++i)
      out.dims[i] = out.dims[i + 1];
    --out.rank;
  }
  return zb_operand_reshape(n, made, &out);
}

zb_operand zb_operand_reduce(zb_import_node *n, const char *op, zb_operand x, const int64_t *axes, int count,
                             bool keepdims) {
  if (any_missing(n, &x, 1)) return failed(n);
  if (count == 0) return x;
  if (all_known(n, &x, 1))
    return zb_operand_known(n, zb_import_fold_reduce(n, op, known_of(n, x), axes, count, keepdims));
  const zb_attr attrs[] = {zb_ints("axes", axes, count), zb_bool("keepdims", keepdims)};
  return zb_operand_build(n, op, &x, 1, attrs, 2);
}

zb_operand zb_operand_reduce_all(zb_import_node *n, const char *op, zb_operand x) {
  int64_t axes[ZB_DIMS_MAX];
  int count;
  zb_shape in;
  if (!zb_operand_shape(n, x, &in) || !zb_import_axes(n, NULL, 0, in.rank, axes, &count)) return NULL;
  return zb_operand_reduce(n, op, x, axes, count, false);
}

/* ---- Movement ---- */

zb_operand zb_operand_reshape(zb_import_node *n, zb_operand x, const zb_shape *shape) {
  zb_shape own;
  if (!zb_operand_shape(n, x, &own)) return failed(n);
  if (zb_shape_elements(&own) != zb_shape_elements(shape)) {
    zb_import_refuse(n, NULL, "the tensor has %lld elements, and its result %lld", (long long)zb_shape_elements(&own),
                     (long long)zb_shape_elements(shape));
    return failed(n);
  }
  own.rank = shape->rank;
  memcpy(own.dims, shape->dims, sizeof own.dims);
  zb_known *known = known_of(n, x);
  if (known) return zb_operand_known(n, zb_known_alias(n->im, known, &own));
  return zb_operand_computed(n, zb_import_reshaped(n->b, ir_of(n, x), own.dims, own.rank));
}

zb_operand zb_operand_transpose(zb_import_node *n, zb_operand x, const int64_t *permutation) {
  if (any_missing(n, &x, 1)) return failed(n);
  if (all_known(n, &x, 1)) return zb_operand_known(n, zb_import_fold_transpose(n, known_of(n, x), permutation));
  return zb_operand_computed(n, zb_import_transposed(n->b, ir_of(n, x), permutation));
}

zb_operand zb_operand_expand(zb_import_node *n, zb_operand x, const zb_shape *shape) {
  zb_shape own, wide;
  if (!zb_operand_shape(n, x, &own)) return failed(n);
  if (!zb_broadcast_all((const zb_shape *[]){&own, shape}, 2, &wide) || wide.rank != shape->rank ||
      zb_shape_elements(&wide) != zb_shape_elements(shape)) {
    char from[96], to[96];
    zb_import_refuse(n, NULL, "a %s cannot be expanded to %s", zb_shape_text(&own, from), zb_shape_text(shape, to));
    return failed(n);
  }
  if (all_known(n, &x, 1)) return zb_operand_known(n, zb_import_fold_expand(n, known_of(n, x), &wide));
  return n->im->failed ? NULL : zb_operand_computed(n, zb_import_expanded(n->b, ir_of(n, x), &wide));
}

zb_operand zb_operand_slice(zb_import_node *n, zb_operand x, const int64_t *starts, const int64_t *sizes,
                            const int64_t *steps) {
  static const int64_t ones[ZB_DIMS_MAX] = {1, 1, 1, 1, 1, 1, 1, 1};
  zb_shape in;
  bool is_whole = true;
  if (!steps) steps = ones;
  if (!zb_operand_shape(n, x, &in)) return failed(n);
  if (all_known(n, &x, 1)) return zb_operand_known(n, zb_import_fold_slice(n, known_of(n, x), starts, steps, sizes));
  bool is_empty = false;
  for (int i = 0; i < in.rank; ++i) {
    is_whole = is_whole && sizes[i] == in.dims[i];
    is_empty = is_empty || sizes[i] < 1;
  }
  if (is_empty && !n->im->failed) { /* a constant without elements, which cat leaves out */
    memcpy(in.dims, sizes, sizeof in.dims);
    return zb_operand_known(n, zb_known_new(n->im, &in));
  }
  if (is_whole || n->im->failed) return n->im->failed ? NULL : x;
  const zb_attr attrs[] = {zb_ints("starts", starts, in.rank), zb_ints("sizes", sizes, in.rank),
                           zb_ints("steps", steps, in.rank)};
  return zb_operand_build(n, "slice", &x, 1, attrs, 3);
}

zb_operand zb_operand_part(zb_import_node *n, zb_operand x, int axis, int64_t begin, int64_t count) {
  int64_t starts[ZB_DIMS_MAX] = {0};
  zb_shape in;
  if (!zb_operand_shape(n, x, &in)) return NULL;
  starts[axis] = begin;
  in.dims[axis] = count;
  return zb_operand_slice(n, x, starts, in.dims, NULL);
}

zb_operand zb_operand_concat(zb_import_node *n, const zb_operand *parts, int count, int axis) {
  if (any_missing(n, parts, count)) return failed(n);
  MlirValue *values = zb_import_take(n->im, (size_t)count * sizeof *values + 1);
  const zb_known **known = zb_import_take(n->im, (size_t)count * sizeof *known + 1);
  if (!values || !known) return NULL;
  const bool folds = all_known(n, parts, count);
  for (int i = 0; i < count && !n->im->failed; ++i) {
    known[i] = folds ? known_of(n, parts[i]) : NULL;
    values[i] = folds ? (MlirValue){NULL} : ir_of(n, parts[i]);
  }
  if (n->im->failed || n->b->failed) return failed(n);
  if (folds) return zb_operand_known(n, zb_import_fold_concat(n, known, count, axis));
  return zb_operand_computed(n, zb_build_concat(n->b, values, count, axis));
}

zb_operand zb_operand_pad(zb_import_node *n, zb_operand x, int axis, int64_t before, int64_t after, zb_operand fill) {
  const int64_t pads[] = {before, after};
  zb_shape in;
  zb_operand parts[3];
  int used = 0;
  if (!zb_operand_shape(n, x, &in)) return NULL;
  zb_shape border = in;
  for (int side = 0; side < 2; ++side) {
    border.dims[axis] = pads[side];
    if (pads[side] < -in.dims[axis] || (pads[side] > 0 && zb_shape_bytes(&border) < 0))
      return zb_import_refuse(n, NULL, "a pad of dimension %d is out of range", axis), NULL;
  }
  in.dims[axis] += (before < 0 ? before : 0) + (after < 0 ? after : 0);
  if ((before < 0 || after < 0) && in.dims[axis] < 1)
    return zb_import_refuse(n, NULL, "nothing is left of dimension %d", axis), NULL;
  if (before < 0 || after < 0) x = zb_operand_part(n, x, axis, before < 0 ? -before : 0, in.dims[axis]);
  for (int side = 0; side < 2; ++side) {
    border.dims[axis] = pads[side];
    if (side == 1) parts[used++] = x;
    if (pads[side] > 0) parts[used++] = zb_operand_filled(n, &border, fill);
  }
  return used == 1 ? x : zb_operand_concat(n, parts, used, axis);
}

static zb_operand gathered(zb_import_node *n, const char *op, zb_operand x, zb_operand indices, int axis,
                           zb_known *(*fold)(zb_import_node *, const zb_known *, const zb_known *, int)) {
  const zb_operand in[] = {x, indices};
  if (any_missing(n, in, 2)) return failed(n);
  if (all_known(n, in, 2)) return zb_operand_known(n, fold(n, known_of(n, x), known_of(n, indices), axis));
  const zb_attr attr = zb_int("axis", axis);
  return zb_operand_build(n, op, in, 2, &attr, 1);
}

zb_operand zb_operand_gather(zb_import_node *n, zb_operand x, zb_operand indices, int axis) {
  return gathered(n, "gather", x, indices, axis, zb_import_fold_gather);
}

zb_operand zb_operand_gather_elements(zb_import_node *n, zb_operand x, zb_operand indices, int axis) {
  return gathered(n, "gather_elements", x, indices, axis, zb_import_fold_gather_elements);
}

/* ---- Random numbers ---- */

static zb_operand counter_of(zb_import_node *n) {
  MlirValue counter = zb_import_counter(n->im);
  return counter.ptr ? zb_operand_computed(n, counter) : failed(n);
}

zb_operand zb_operand_drop(zb_import_node *n, zb_operand x, double rate) {
  if (rate == 0 || n->im->params->inference) return x;
  if (!(rate > 0 && rate < 1))
    return zb_import_refuse(n, "it is the share that is dropped", "the rate is %g, expected 0 <= rate < 1", rate), NULL;
  const zb_attr attrs[] = {zb_float("rate", (float)rate), zb_int("op", n->im->random_ops++)};
  zb_operand counter = counter_of(n);
  return counter ? zb_operand_build(n, "dropout", (zb_operand[]){x, counter}, 2, attrs, 2) : NULL;
}

zb_operand zb_operand_uniform(zb_import_node *n, const zb_shape *shape) {
  const zb_attr attrs[] = {zb_ints("shape", shape->dims, shape->rank), zb_string("dtype", zb_dtype_name(shape->dtype)),
                           zb_int("op", n->im->random_ops++)};
  zb_operand counter = counter_of(n);
  return counter ? zb_operand_build(n, "uniform", &counter, 1, attrs, 3) : NULL;
}

/* By the method of G. E. P. Box and M. E. Muller, "A note on the generation of random normal deviates" (1958). */
zb_operand zb_operand_normal(zb_import_node *n, const zb_shape *shape) {
  zb_shape real = *shape;
  real.dtype = ZB_F32;
  zb_operand one = zb_operand_scalar(n, ZB_F32, 1), minus_two = zb_operand_scalar(n, ZB_F32, -2);
  zb_operand above_zero = zb_operand_apply2(n, "sub", one, zb_operand_uniform(n, &real));
  zb_operand square = zb_operand_apply2(n, "mul", zb_operand_apply1(n, "log", above_zero), minus_two);
  zb_operand turn = zb_operand_scalar(n, ZB_F32, 6.283185307179586);
  zb_operand angle = zb_operand_apply2(n, "mul", zb_operand_uniform(n, &real), turn);
  return zb_operand_apply2(n, "mul", zb_operand_apply1(n, "sqrt", square), zb_operand_apply1(n, "cos", angle));
}

zb_operand zb_operand_bernoulli(zb_import_node *n, zb_operand p) {
  zb_shape shape;
  if (!zb_operand_shape(n, p, &shape)) return failed(n);
  shape.dtype = ZB_F32;
  return zb_operand_cast(n, zb_operand_apply2(n, "less", zb_operand_uniform(n, &shape), p), ZB_F32);
}

zb_operand zb_operand_by_mode(zb_import_node *n, zb_operand training, zb_operand evaluation) {
  if (n->im->params->inference) return evaluation;
  return zb_operand_build(n, "by_mode", (zb_operand[]){training, evaluation}, 2, NULL, 0);
}
