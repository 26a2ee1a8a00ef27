/* Normalizations of zb-raise.
 *
 *   RMSNorm:   scale * (x * r), r = 1/sqrt(mean(x*x) + epsilon) in any of its spellings
 *   LayerNorm: scale * (c * r) + bias, c = x - mean(x), r of c
 * The mean runs over the last dimensions, kept as 1, and scale has exactly their shape. */

#include "passes/graph/raise_match.h"

typedef struct normalized {
  MlirValue x;         /* what the root normalizes */
  MlirValue square_of; /* whose squares the mean takes */
  int square_uses;     /* how often the square reads it: 1 for pow, 2 for mul */
  int axis;
  double epsilon;
} normalized;

/* reduce_mean over the last dimensions, kept: gives the operand and the first of them. */
static bool mean_of(MlirOperation op, MlirValue *x, int *axis) {
  int64_t axes[ZB_DIMS_MAX];
  zb_shape shape;
  if (mlirOperationIsNull(op) || !zb_get_flag(op, "keepdims")) return false;
  int count = zb_get_ints(op, "axes", axes);
  *x = mlirOperationGetOperand(op, 0);
  if (count < 0 || !zb_value_shape(*x, &shape)) return false;
  bool found[ZB_DIMS_MAX] = {0};
  for (int i = 0; i < count; ++i)
    if (axes[i] >= 0 && axes[i] < shape.rank) found[axes[i]] = true;
  *axis = count == 0 ? 0 : shape.rank - count;
  if (*axis < 0 || shape.rank == 0) return false;
  for (int i = *axis; i < shape.rank; ++i)
    if (count > 0 && !found[i]) return false;
  return true;
}

/* mean(x*x) + epsilon. */
static bool mean_square(MlirValue value, normalized *n) {
  MlirValue mean, square;
  if (!zb_inner_with_scalar(value, "zb.add", true, &mean, &n->epsilon) || n->epsilon < 0) return false;
  if (!mean_of(zb_inner(mean, "zb.reduce_mean"), &square, &n->axis)) return false;
  n->square_of = zb_square_root_of(square);
  n->square_uses = zb_op_is(zb_producer(square), "zb.mul") ? 2 : 1;
  return !mlirValueIsNull(n->square_of);
}

/* sqrt(..), or pow(.., 0.5): gives what is under the root, or null. */
static MlirValue under_root(MlirValue value) {
  MlirValue x = zb_inner_operand(value, "zb.sqrt", 0);
  double exponent;
  if (!mlirValueIsNull(x)) return x;
  return zb_inner_with_scalar(value, "zb.pow", false, &x, &exponent) && exponent == 0.5 ? x : (MlirValue){0};
}

/* 1/sqrt(mean(x*x) + epsilon): rsqrt, reciprocal of a root, 1 / root, pow(.., -0.5). */
static bool inverse_root(MlirValue value, normalized *n) {
  MlirValue x = zb_inner_operand(value, "zb.rsqrt", 0);
  double number;
  if (!mlirValueIsNull(x)) return mean_square(x, n);
  x = zb_inner_operand(value, "zb.reciprocal", 0);
  if (!mlirValueIsNull(x)) return mean_square(under_root(x), n);
  x = zb_inner_operand(value, "zb.div", 0);
  if (!mlirValueIsNull(x) && zb_scalar_constant(x, &number) && number == 1)
    return mean_square(under_root(zb_inner_operand(value, "zb.div", 1)), n);
  return zb_inner_with_scalar(value, "zb.pow", false, &x, &number) && number == -0.5 && mean_square(x, n);
}

/* x * r or x / root, as a value that only the root reads. */
static bool normalized_by(MlirValue value, normalized *n) {
  MlirOperation mul = zb_inner(value, "zb.mul");
  for (int side = 0; side < 2 && !mlirOperationIsNull(mul); ++side) {
    n->x = mlirOperationGetOperand(mul, 1 - side);
    if (inverse_root(mlirOperationGetOperand(mul, side), n)) return true;
  }
  n->x = zb_inner_operand(value, "zb.div", 0);
  return !mlirValueIsNull(n->x) && mean_square(under_root(zb_inner_operand(value, "zb.div", 1)), n);
}

/* Whether `scale` has the shape x[axis:]. */
static bool has_tail_shape(MlirValue scale, MlirValue x, int axis) {
  zb_shape s, whole;
  if (!zb_value_shape(scale, &s) || !zb_value_shape(x, &whole)) return false;
  if (s.dtype != whole.dtype || s.rank != whole.rank - axis) return false;
  for (int i = 0; i < s.rank; ++i)
    if (s.dims[i] != whole.dims[axis + i]) return false;
  return true;
}

/* Matches root = scale * normalized, in either order. */
static bool match_scaled(const zb_raise *r, normalized *n, MlirValue *scale) {
  if (!zb_op_is(r->root, "zb.mul")) return false;
  for (int side = 0; side < 2; ++side) {
    *scale = zb_raise_operand(r, 1 - side);
    if (normalized_by(zb_raise_operand(r, side), n))
      return zb_raise_has_type(r, n->x) && has_tail_shape(*scale, n->x, n->axis);
  }
  return false;
}

static zb_raised build_norm(const zb_raise *r, const char *name, const MlirValue *operands, int count,
                            const normalized *n) {
  const zb_attr attrs[] = {zb_int("axis", n->axis), zb_float("epsilon", n->epsilon)};
  return zb_raise_replace(r, name, operands, count, attrs, 2);
}

zb_raised zb_raise_rms_norm(const zb_raise *r) {
  normalized n;
  MlirValue scale;
  if (!match_scaled(r, &n, &scale) || !mlirValueEqual(n.x, n.square_of)) return ZB_RAISED_NOT;
  return build_norm(r, "rms_norm", (MlirValue[]){n.x, scale}, 2, &n);
}

/* x - mean(x) over the same dimensions: gives x. */
static MlirValue centered(MlirValue value, int axis) {
  MlirValue x, of;
  int mean_axis;
  MlirOperation sub = zb_producer_named(value, "zb.sub");
  if (mlirOperationIsNull(sub)) return (MlirValue){0};
  x = mlirOperationGetOperand(sub, 0);
  MlirOperation mean = zb_producer_named(mlirOperationGetOperand(sub, 1), "zb.reduce_mean");
  if (!mean_of(mean, &of, &mean_axis) || mean_axis != axis || !mlirValueEqual(of, x)) return (MlirValue){0};
  return x;
}

/* What is normalized may have no readers outside of the pattern; it may be one value with what is squared, or two equal
 * ones. */
static bool only_read_inside(const normalized *n) {
  bool shared = mlirValueEqual(n->x, n->square_of);
  int uses = n->square_uses + (shared ? 1 : 0);
  return zb_value_uses(n->square_of, uses + 1) == uses && (shared || zb_value_used_once(n->x));
}

zb_raised zb_raise_layer_norm(const zb_raise *r) {
  normalized n;
  MlirValue scale;
  if (!match_scaled(r, &n, &scale)) return ZB_RAISED_NOT;
  MlirValue x = centered(n.x, n.axis), squared = centered(n.square_of, n.axis);
  if (mlirValueIsNull(x) || mlirValueIsNull(squared) || !mlirValueEqual(x, squared) || !only_read_inside(&n))
    return ZB_RAISED_NOT;
  return build_norm(r, "layer_norm", (MlirValue[]){x, scale}, 2, &n);
}

/* layer_norm(x, scale) + bias, where the norm has no bias yet. */
zb_raised zb_raise_norm_bias(const zb_raise *r) {
  if (!zb_op_is(r->root, "zb.add")) return ZB_RAISED_NOT;
  for (int side = 0; side < 2; ++side) {
    MlirOperation norm = zb_inner(zb_raise_operand(r, side), "zb.layer_norm");
    if (mlirOperationIsNull(norm) || mlirOperationGetNumOperands(norm) != 2) continue;
    MlirValue operands[] = {mlirOperationGetOperand(norm, 0), mlirOperationGetOperand(norm, 1),
                            zb_raise_operand(r, 1 - side)};
    zb_op_view view;
    zb_op_view_storage storage;
    if (!zb_op_view_get(norm, &view, &storage)) continue;
    normalized n = {.axis = (int)zb_attr_int(&view.attrs, "axis", 0),
                    .epsilon = zb_attr_float(&view.attrs, "epsilon", 1e-5)};
    if (n.axis < 0 || !has_tail_shape(operands[2], operands[0], n.axis)) continue;
    if (!zb_value_unused(mlirOperationGetResult(norm, 1)) || !zb_value_unused(mlirOperationGetResult(norm, 2)))
      continue;
    return build_norm(r, "layer_norm", operands, 3, &n);
  }
  return ZB_RAISED_NOT;
}
