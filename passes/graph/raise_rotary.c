/* Rotary embedding of zb-raise: pairs of elements, half a row apart, turned by an angle.
 *
 *   %a = mul(%x, %cos)
 *   %r = concat(neg(slice(%x) [d/2:]), slice(%x) [:d/2])
 *   %y = add(%a, mul(%r, %sin))                               ->    %y = rotary(%x, %cos, %sin)
 *
 * In any order of factors and summands; the halves may come from zb.slice or zb.split. Tried after attention, which
 * makes these ops again in another order of dimensions (raise_hoist.c). Not raised: tables that are trained, since
 * zb.rotary gives them no gradient. */

#include "passes/graph/raise_match.h"

/* Whether `value` is half `second` of the last dimension of x. */
static bool is_half(MlirValue value, MlirValue x, bool second) {
  zb_shape whole;
  int64_t starts[ZB_DIMS_MAX], sizes[ZB_DIMS_MAX], steps[ZB_DIMS_MAX];
  MlirOperation op = zb_producer(value);
  if (!zb_value_shape(x, &whole) || whole.rank < 1 || mlirOperationIsNull(op)) return false;
  int last = whole.rank - 1;
  int64_t half = whole.dims[last] / 2;
  if (zb_op_is(op, "zb.split")) {
    bool halves = zb_get_ints(op, "sizes", sizes) == 2 && sizes[0] == half && sizes[1] == half &&
                  zb_get_i64(op, "axis", -1) == last;
    return halves && mlirValueEqual(mlirOperationGetOperand(op, 0), x) &&
           mlirValueEqual(mlirOperationGetResult(op, second), value);
  }
  if (!zb_op_is(op, "zb.slice") || !mlirValueEqual(mlirOperationGetOperand(op, 0), x)) return false;
  if (zb_get_ints(op, "starts", starts) != whole.rank || zb_get_ints(op, "sizes", sizes) != whole.rank ||
      zb_get_ints(op, "steps", steps) != whole.rank)
    return false;
  for (int i = 0; i < last; ++i)
    if (starts[i] != 0 || sizes[i] != whole.dims[i]) return false;
  return starts[last] == (second ? half : 0) && sizes[last] == half && steps[last] == 1;
}

/* concat(-second half, first half) of x along the last dimension, read once. */
static bool is_turned(MlirValue value, MlirValue x) {
  zb_shape shape;
  MlirOperation concat = zb_inner(value, "zb.concat");
  if (mlirOperationIsNull(concat) || mlirOperationGetNumOperands(concat) != 2) return false;
  if (!zb_value_shape(x, &shape) || shape.rank < 1 || shape.dims[shape.rank - 1] % 2 != 0) return false;
  if (zb_get_i64(concat, "axis", -1) != shape.rank - 1) return false;
  return is_half(zb_inner_operand(mlirOperationGetOperand(concat, 0), "zb.neg", 0), x, true) &&
         is_half(mlirOperationGetOperand(concat, 1), x, false);
}

/* What a chain of views looks at: those that attention made are not in the graph of the program before the pass. */
static MlirValue behind_views(MlirValue value) {
  for (MlirOperation op = zb_producer(value);
       zb_op_is(op, "zb.reshape") || zb_op_is(op, "zb.transpose") || zb_op_is(op, "zb.expand"); op = zb_producer(value))
    value = mlirOperationGetOperand(op, 0);
  return value;
}

/* A table that broadcasts to x along its whole last dimension. */
static bool is_table(const zb_raise *r, MlirValue table, MlirValue x) {
  zb_shape t, whole;
  if (!zb_value_shape(table, &t) || !zb_value_shape(x, &whole)) return false;
  if (t.rank < 1 || t.rank > whole.rank || t.dims[t.rank - 1] != whole.dims[whole.rank - 1]) return false;
  return !zb_raise_trainable(r, behind_views(table));
}

zb_raised zb_raise_rotary(const zb_raise *r) {
  if (!zb_op_is(r->root, "zb.add")) return ZB_RAISED_NOT;
  for (int way = 0; way < 8; ++way) { /* which summand, and which factor of each */
    MlirOperation straight = zb_inner(zb_raise_operand(r, way & 1), "zb.mul");
    MlirOperation turned = zb_inner(zb_raise_operand(r, !(way & 1)), "zb.mul");
    if (mlirOperationIsNull(straight) || mlirOperationIsNull(turned)) return ZB_RAISED_NOT;
    MlirValue x = mlirOperationGetOperand(straight, way >> 1 & 1),
              cos = mlirOperationGetOperand(straight, !(way >> 1 & 1));
    MlirValue rotated = mlirOperationGetOperand(turned, way >> 2), sin = mlirOperationGetOperand(turned, !(way >> 2));
    if (!zb_raise_has_type(r, x) || !is_turned(rotated, x)) continue;
    if (!is_table(r, cos, x) || !is_table(r, sin, x) || !zb_same_type(cos, sin)) continue;
    return zb_raise_replace(r, "rotary", (MlirValue[]){x, cos, sin}, 3, NULL, 0);
  }
  return ZB_RAISED_NOT;
}
