/* What functions of rows are made of: an operand is a value of the import, known or computed, and what is applied to
 * known ones alone is folded. So a function says once what an op means, for masks and positions and for activations.
 * Tests: test/ir/import/aten, test/ir/import/paddle. */
#include "ir/import/operand.h"

#include <inttypes.h>
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

zb_operand zb_operand_named(zb_import_node *n, zb_known *known, const char *name) {
  zb_operand out = zb_operand_known(n, known);
  if (out) out->name = name;
  return out;
}

zb_operand zb_operand_in(zb_import_node *n, int input) {
  if (zb_import_has(n, input)) return n->inputs[input];
  zb_import_refuse(n, NULL, "operand %d is missing", input);
  return failed(n);
}

zb_operand zb_operand_optional(const zb_import_node *n, int input) {
  return zb_import_has(n, input) ? n->inputs[input] : NULL;
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
  const zb_known *known[3] = {NULL};
  for (int i = 0; i < count; ++i)
    known[i] = known_of(n, in[i]);
  if (strcmp(op, "where") == 0) return zb_operand_known(n, zb_import_fold_where(n, known[0], known[1], known[2]));
  return zb_operand_known(n, count == 2 ? zb_import_fold_binary(n, op, known[0], known[1], attrs, attr_count)
                                        : zb_import_fold_op(n, op, known, count, attrs, attr_count));
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
  const bool is_narrow = zb_dtype_is_narrow(dtype);
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

zb_operand zb_operand_reduce(zb_import_node *n, const char *op, zb_operand x, const int64_t *axes, int count,
                             bool keepdims) {
  if (any_missing(n, &x, 1)) return failed(n);
  if (count == 0) return x;
  if (all_known(n, &x, 1))
    return zb_operand_known(n, zb_import_fold_reduce(n, op, known_of(n, x), axes, count, keepdims));
  const zb_attr attrs[] = {zb_ints("axes", axes, count), zb_bool("keepdims", keepdims)};
  return zb_operand_build(n, op, &x, 1, attrs, 2);
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
  int used = 0, last = 0;
  for (int i = 0; i < count && !n->im->failed; ++i) {
    const zb_known *part = known_of(n, parts[i]);
    if (part && part->elements == 0 && (used > 0 || i + 1 < count)) continue;
    known[used] = part;
    values[used++] = folds ? (MlirValue){NULL} : ir_of(n, parts[last = i]);
  }
  if (n->im->failed || n->b->failed) return failed(n);
  if (folds) return zb_operand_known(n, zb_import_fold_concat(n, known, used, axis));
  return used == 1 ? parts[last] : zb_operand_computed(n, zb_build_concat(n->b, values, used, axis));
}

/* Whether constant indices are taken; those of a run, its kernel looks at. */
static bool all_taken(zb_import_node *n, const zb_known *indices, int64_t size, zb_indices taken) {
  for (int64_t i = 0; indices && taken == ZB_FROM_START && i < indices->elements; ++i) {
    const int64_t index = zb_known_integer(indices, i);
    if (index < 0 || index >= size)
      return zb_import_refuse(n, NULL, "index %" PRId64 " is out of range for a dimension of %" PRId64, index, size);
  }
  return true;
}

static zb_operand gathered(zb_import_node *n, const char *op, zb_operand x, zb_operand indices, int axis,
                           zb_indices taken,
                           zb_known *(*fold)(zb_import_node *, const zb_known *, const zb_known *, int)) {
  const zb_operand in[] = {x, indices};
  zb_shape shape;
  if (any_missing(n, in, 2)) return failed(n);
  if (!zb_operand_shape(n, x, &shape) || !all_taken(n, indices->known, shape.dims[axis], taken)) return failed(n);
  if (all_known(n, in, 2)) return zb_operand_known(n, fold(n, known_of(n, x), known_of(n, indices), axis));
  const zb_attr attrs[] = {zb_int("axis", axis), zb_bool("from_end", false)};
  return zb_operand_build(n, op, in, 2, attrs, taken == ZB_FROM_START ? 2 : 1);
}

zb_operand zb_operand_gather(zb_import_node *n, zb_operand x, zb_operand indices, int axis, zb_indices taken) {
  return gathered(n, "gather", x, indices, axis, taken, zb_import_fold_gather);
}

zb_operand zb_operand_gather_elements(zb_import_node *n, zb_operand x, zb_operand indices, int axis, zb_indices taken) {
  return gathered(n, "gather_elements", x, indices, axis, taken, zb_import_fold_gather_elements);
}
