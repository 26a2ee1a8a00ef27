/* Small matchers of zb-raise: see passes/graph/raise_match.h. Tests: test/passes/raise*.mlir. */

#include "passes/graph/raise_match.h"

#include <math.h>

enum { DEPTH_MAX = 10 };

bool zb_raise_trainable(const zb_raise *r, MlirValue value) {
  int number = zb_graph_value(r->graph, value);
  return number < 0 || (r->depends[number] & ZB_DEPENDS_TRAINED) != 0;
}

MlirValue zb_raise_operand(const zb_raise *r, int index) { return mlirOperationGetOperand(r->root, index); }

bool zb_raise_has_type(const zb_raise *r, MlirValue value) {
  return zb_same_type(value, mlirOperationGetResult(r->root, 0));
}

zb_raised zb_raise_finish(const zb_builder *b, MlirOperation root, MlirValue value) {
  if (b->failed || mlirValueIsNull(value)) return ZB_RAISED_FAILED;
  /* Without operands the root reads nothing any more. It is erased later, with the other dead ops: r->graph finds
   * values of the program before the pass by their address, so no new op may get the address of an erased one. */
  mlirValueReplaceAllUsesOfWith(mlirOperationGetResult(root, 0), value);
  mlirOperationSetOperands(root, 0, NULL);
  return ZB_RAISED;
}

zb_raised zb_raise_replace(const zb_raise *r, const char *name, const MlirValue *operands, int operand_count,
                           const zb_attr *attrs, int attr_count) {
  MlirNamedAttribute mark;
  zb_builder builder = zb_builder_marked(r->root, r->root, &mark);
  MlirOperation op = zb_build_op(&builder, name, operands, operand_count, attrs, attr_count, -1);
  return zb_raise_finish(&builder, r->root, builder.failed ? (MlirValue){0} : mlirOperationGetResult(op, 0));
}

bool zb_near(double a, double b) { return fabs(a - b) <= 1e-5 * fmax(fabs(a), fabs(b)); }

MlirOperation zb_inner(MlirValue value, const char *name) {
  MlirOperation op = zb_producer_named(value, name);
  return !mlirOperationIsNull(op) && zb_value_used_once(value) ? op : (MlirOperation){0};
}

bool zb_inner_with_scalar(MlirValue value, const char *name, bool either_order, MlirValue *x, double *number) {
  MlirOperation op = zb_inner(value, name);
  if (mlirOperationIsNull(op)) return false;
  for (int side = 1; side >= (either_order ? 0 : 1); --side) {
    if (!zb_scalar_constant(mlirOperationGetOperand(op, side), number)) continue;
    *x = mlirOperationGetOperand(op, 1 - side);
    return true;
  }
  return false;
}

MlirValue zb_inner_operand(MlirValue value, const char *name, int index) {
  MlirOperation op = zb_inner(value, name);
  return mlirOperationIsNull(op) ? (MlirValue){0} : mlirOperationGetOperand(op, index);
}

/* ---- Polynomials ---- */

static bool multiply(const zb_polynomial *a, const zb_polynomial *b, zb_polynomial *out) {
  *out = (zb_polynomial){0};
  for (int i = 0; i <= ZB_POLYNOMIAL_DEGREE; ++i)
    for (int j = 0; j <= ZB_POLYNOMIAL_DEGREE; ++j) {
      if (a->c[i] == 0 || b->c[j] == 0) continue;
      if (i + j > ZB_POLYNOMIAL_DEGREE) return false;
      out->c[i + j] += a->c[i] * b->c[j];
    }
  return true;
}

static void add_scaled(const zb_polynomial *a, const zb_polynomial *b, double scale, zb_polynomial *out) {
  for (int i = 0; i <= ZB_POLYNOMIAL_DEGREE; ++i)
    out->c[i] = a->c[i] + scale * b->c[i];
}

static bool is_number(const zb_polynomial *p) { return p->c[1] == 0 && p->c[2] == 0 && p->c[3] == 0; }

static bool raise_to(const zb_polynomial *base, double exponent, zb_polynomial *out) {
  if (exponent != 1 && exponent != 2 && exponent != 3) return false;
  *out = *base;
  for (int i = 1; i < (int)exponent; ++i) {
    zb_polynomial product;
    if (!multiply(out, base, &product)) return false;
    *out = product;
  }
  return true;
}

static bool combine(MlirOperation op, const zb_polynomial *a, const zb_polynomial *b, zb_polynomial *out) {
  if (zb_op_is(op, "zb.mul")) return multiply(a, b, out);
  if (zb_op_is(op, "zb.pow")) return is_number(b) && raise_to(a, b->c[0], out);
  if (zb_op_is(op, "zb.div")) {
    if (!is_number(b) || b->c[0] == 0) return false;
    *out = (zb_polynomial){0};
    add_scaled(out, a, 1 / b->c[0], out);
    return true;
  }
  bool add = zb_op_is(op, "zb.add");
  if (!add && !zb_op_is(op, "zb.sub")) return false;
  add_scaled(a, b, add ? 1 : -1, out);
  return true;
}

/* The recursion is as deep as a pattern, not as the program: DEPTH_MAX. */
bool zb_polynomial_of(MlirValue value, MlirValue x, int depth, zb_polynomial *out) {
  zb_polynomial a, b;
  double number;
  if (mlirValueEqual(value, x)) {
    *out = (zb_polynomial){{0, 1}};
    return true;
  }
  if (zb_scalar_constant(value, &number)) {
    *out = (zb_polynomial){{number}};
    return true;
  }
  MlirOperation op = zb_producer(value);
  if (depth >= DEPTH_MAX || mlirOperationIsNull(op) || !zb_value_used_once(value) ||
      mlirOperationGetNumOperands(op) != 2)
    return false;
  if (!zb_same_type(value, x)) return false;
  return zb_polynomial_of(mlirOperationGetOperand(op, 0), x, depth + 1, &a) &&
         zb_polynomial_of(mlirOperationGetOperand(op, 1), x, depth + 1, &b) && combine(op, &a, &b, out);
}

/* ---- Squares ---- */

MlirValue zb_square_root_of(MlirValue value) {
  double exponent;
  MlirValue x = zb_inner_operand(value, "zb.mul", 0);
  if (!mlirValueIsNull(x)) return mlirValueEqual(x, zb_inner_operand(value, "zb.mul", 1)) ? x : (MlirValue){0};
  return zb_inner_with_scalar(value, "zb.pow", false, &x, &exponent) && exponent == 2 ? x : (MlirValue){0};
}
