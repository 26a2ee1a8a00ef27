/* See ir/ops/support.h. Tests: test/ir/ops/ (one case a constraint), test/ir/split_test.c. */
#include "ir/ops/support.h"

#include "runtime/base/assert.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

zb_dtype zb_dtype_wide(zb_dtype dtype) { return zb_dtype_is_narrow(dtype) ? ZB_F32 : dtype; }

/* Name of an operand for messages; operands past a variadic entry share its name. */
static const char *operand_name(const zb_op_view *op, int operand, char text[40]) {
  zb_op_name name;
  zb_op_arity arity = zb_op_names_arity(op->def->operands);
  int index = operand < arity.named ? operand : arity.named - 1;
  if (!zb_op_name_at(op->def->operands, index, &name) || name.variadic)
    snprintf(text, 40, "operand %d", operand);
  else
    snprintf(text, 40, "%.*s", name.length < 32 ? name.length : 32, name.text);
  return text;
}

zb_result zb_check_dtype(const zb_op_view *op, int operand, int kinds, const char *label, zb_op_error *error) {
  static const char *const kind_texts[] = {"any", "a float type",       "i64 or i32",      "a float type, i64 or i32",
                                           "i1",  "a float type or i1", "an integer type", "any type"};
  zb_dtype dtype = op->operands[operand].dtype;
  int kind = zb_dtype_is_float(dtype) ? ZB_REALS : zb_dtype_is_index(dtype) ? ZB_INTEGERS : ZB_LOGIC;
  char name[40];
  if (kind & kinds) return ZB_OK;
  return zb_op_fail(error, "convert it with zb.cast", "wrong element type of %s: expected %s, got %s (%s)",
                    operand_name(op, operand, name), kind_texts[kinds], zb_dtype_name(dtype), label);
}

zb_result zb_check_type(const zb_op_view *op, int operand, const zb_shape *expected, const char *what,
                        const char *label, zb_op_error *error) {
  char name[40], expected_text[96], got[96];
  if (zb_shape_equal(&op->operands[operand], expected)) return ZB_OK;
  return zb_op_fail(error, NULL, "wrong type of %s: expected tensor<%s> (%s), got tensor<%s> (%s)",
                    operand_name(op, operand, name), zb_shape_text(expected, expected_text), what,
                    zb_shape_text(&op->operands[operand], got), label);
}

zb_result zb_check_same_type(const zb_op_view *op, int operand, int reference, const char *label, zb_op_error *error) {
  char what[64], name[40];
  snprintf(what, sizeof what, "the type of %s", operand_name(op, reference, name));
  return zb_check_type(op, operand, &op->operands[reference], what, label, error);
}

zb_result zb_check_same_dtype(const zb_op_view *op, int operand, int reference, const char *label, zb_op_error *error) {
  zb_dtype expected = op->operands[reference].dtype, got = op->operands[operand].dtype;
  char name[40], reference_name[40];
  if (expected == got) return ZB_OK;
  return zb_op_fail(error, "convert one of them with zb.cast",
                    "wrong element type of %s: expected %s as %s has, got %s (%s)", operand_name(op, operand, name),
                    zb_dtype_name(expected), operand_name(op, reference, reference_name), zb_dtype_name(got), label);
}

zb_result zb_check_axis(const zb_op_view *op, const char *name, int rank, const char *label, zb_op_error *error) {
  int64_t axis = zb_attr_int(&op->attrs, name, -1);
  if (axis >= 0 && axis < rank) return ZB_OK;
  return zb_op_fail(error, "axes are counted from 0; add the rank to a negative one",
                    "attribute '%s' is out of range: expected 0 to %d, got %" PRId64 " (%s)", name, rank - 1, axis,
                    label);
}

zb_result zb_check_shape_attr(const zb_op_view *op, const char *name, zb_dtype dtype, zb_shape *out, const char *label,
                              zb_op_error *error) {
  const zb_attr *attr = zb_attr_ints(op, name);
  if (attr->count > ZB_DIMS_MAX)
    return zb_op_fail(error, NULL, "attribute '%s' has too many dimensions: expected at most %d, got %d (%s)", name,
                      ZB_DIMS_MAX, attr->count, label);
  *out = (zb_shape){.dtype = dtype, .rank = attr->count};
  for (int i = 0; i < attr->count; ++i) {
    if (attr->ints[i] < 0)
      return zb_op_fail(error, "shapes are static: write the number itself",
                        "entry %d of attribute '%s' is negative: %" PRId64 " (%s)", i, name, attr->ints[i], label);
    out->dims[i] = attr->ints[i];
  }
  if (zb_shape_bytes(out) >= 0) return ZB_OK;
  return zb_op_fail(error, NULL, "attribute '%s' names a tensor of more than 2^63 bytes (%s)", name, label);
}

zb_result zb_check_dtype_attr(const zb_op_view *op, zb_dtype *out, const char *label, zb_op_error *error) {
  const char *name = zb_attr_string(&op->attrs, "dtype", "");
  for (int i = 0; i < ZB_DTYPE_COUNT; ++i)
    if (strcmp(name, zb_dtype_name((zb_dtype)i)) == 0) return *out = (zb_dtype)i, ZB_OK;
  return zb_op_fail(error, "use one of f32, f64, bf16, f16, i64, i32, i1", "unknown dtype '%.40s' (%s)", name, label);
}

zb_result zb_check_members(const zb_op_view *op, const char *label, zb_op_error *error) {
  const int64_t members = zb_attr_int(&op->attrs, "members", 0);
  if (members >= 2) return ZB_OK;
  return zb_op_fail(error, NULL, "attribute 'members' is out of range: expected 2 or more, got %" PRId64 " (%s)",
                    members, label);
}

zb_result zb_check_sum_dtype(const zb_op_view *op, zb_dtype operand, zb_dtype *out, const char *label,
                             zb_op_error *error) {
  *out = operand;
  if (!zb_attr_find(&op->attrs, "dtype")) return ZB_OK;
  if (!zb_check_dtype_attr(op, out, label, error)) return ZB_FAIL;
  if (*out == operand || *out == zb_dtype_wide(operand)) return ZB_OK;
  return zb_op_fail(error, "leave dtype out, or convert the result with zb.cast",
                    "a sum of %s cannot give %s: expected %s (%s)", zb_dtype_name(operand), zb_dtype_name(*out),
                    zb_dtype_name(zb_dtype_wide(operand)), label);
}

const zb_attr *zb_attr_ints(const zb_op_view *op, const char *name) {
  static const zb_attr none = {.kind = ZB_ATTR_INTS};
  const zb_attr *attr = zb_attr_find(&op->attrs, name);
  return attr ? attr : &none;
}

double zb_elements(const zb_shape *shape) { return (double)zb_shape_elements(shape); }

zb_shape zb_scalar_shape(zb_dtype dtype) { return (zb_shape){.dtype = dtype, .rank = 0}; }

MlirValue zb_operand(MlirOperation op, int index) { return mlirOperationGetOperand(op, index); }

MlirValue zb_result_value(MlirOperation op, int index) { return mlirOperationGetResult(op, index); }

zb_shape zb_value_shape(MlirValue value) {
  zb_shape shape = {.rank = 0};
  bool is_tensor = zb_type_shape(mlirValueGetType(value), &shape);
  ZB_ASSERT(is_tensor);
  return shape;
}

const char *zb_op_grad_name(const zb_gradient *g, char text[ZB_OP_NAME_BYTES]) {
  snprintf(text, ZB_OP_NAME_BYTES, "%s_grad", g->view.def->name);
  return text;
}

/* The place of a name in a list of a row ("x, scale, bias?"); -1: it is not there. */
static int find_name(const char *names, const char *text, int length) {
  zb_op_name name;
  for (int i = 0; zb_op_name_at(names, i, &name); ++i)
    if (name.length == length && memcmp(name.text, text, (size_t)length) == 0) return i;
  return -1;
}

/* The place of an operand of the op, which the row of its gradient names. */
static int find_operand(const zb_gradient *g, const char *text, int length) {
  int operand = find_name(g->view.def->operands, text, length);
  ZB_ASSERT(operand >= 0);
  return operand;
}

static bool is_present(const zb_gradient *g, int operand) { return g->view.operands[operand].rank >= 0; }

/* The operand at a place of the row; null: it is absent. In the IR those behind an absent one stand one lower. */
static MlirValue placed_operand(const zb_gradient *g, int place) {
  const int optional = zb_op_names_arity(g->view.def->operands).optional;
  if (!is_present(g, place)) return (MlirValue){NULL};
  return zb_operand(g->op, place - (optional >= 0 && optional < place && !is_present(g, optional)));
}

static MlirValue named_value(const zb_gradient *g, const zb_op_name *name) {
  const zb_op_def *def = g->view.def;
  int result = find_name(def->results, name->text, name->length);
  if (result >= 0) return zb_result_value(g->op, result);
  result = find_name(def->results, name->text + 1, name->length - 1);
  if (result >= 0) return g->dout[result];
  return placed_operand(g, find_operand(g, name->text, name->length));
}

static zb_attr named_attribute(const zb_gradient *g, const zb_op_def *gradient, const zb_attr_def *row) {
  const char *name = row->name;
  int length = (int)strcspn(name, "_");
  zb_op_name first;
  if (row->kind == ZB_ATTR_BOOL) return zb_bool(name, is_present(g, find_operand(g, name, (int)strlen(name))));
  if (!name[length] && zb_op_name_at(gradient->results, 0, &first)) name = first.text + 1, length = first.length - 1;
  const zb_shape *shape = &g->view.operands[find_operand(g, name, length)];
  return zb_ints(row->name, shape->dims, shape->rank);
}

/* Results that only save something for the gradient (mean, rstd, lse) have none. */
static bool check_named_results(zb_gradient *g, const zb_op_def *gradient) {
  zb_op_name name;
  char dname[ZB_OP_NAME_BYTES];
  for (int r = 0; zb_op_name_at(g->view.def->results, r, &name); ++r) {
    int length = snprintf(dname, sizeof dname, "d%.*s", name.length, name.text);
    if (mlirValueIsNull(g->dout[r]) || find_name(gradient->operands, dname, length) >= 0) continue;
    zb_op_error_at(g->op, "compute it with separate ops where it is used",
                   "result %d of zb.%s is not differentiable, but the loss depends on it", r, g->view.def->name);
    return false;
  }
  return true;
}

void zb_grad_named(zb_gradient *g) {
  char grad_name[ZB_OP_NAME_BYTES];
  const zb_op_def *gradient = zb_op_find_name(zb_op_grad_name(g, grad_name));
  MlirValue operands[ZB_VIEW_OPERANDS];
  zb_attr attrs[ZB_VIEW_ATTRS];
  int operand_count = 0, attr_count = 0, result_count = 0, targets[ZB_VIEW_OPERANDS];
  zb_op_name name;
  if (!check_named_results(g, gradient)) {
    g->b->failed = true;
    return;
  }
  for (; zb_op_name_at(gradient->operands, operand_count, &name); ++operand_count)
    operands[operand_count] = named_value(g, &name);
  for (const zb_attr_def *row = gradient->attrs; row && row->name; ++row) {
    const zb_attr *own = zb_attr_find(&g->view.attrs, row->name);
    if (own || row->kind == ZB_ATTR_BOOL || row->kind == ZB_ATTR_INTS)
      attrs[attr_count++] = own ? *own : named_attribute(g, gradient, row);
  }
  for (int r = 0; zb_op_name_at(gradient->results, r, &name); ++r) {
    int operand = find_operand(g, name.text + 1, name.length - 1);
    if (is_present(g, operand)) targets[result_count++] = operand;
  }
  MlirOperation op = zb_build_op(g->b, grad_name, operands, operand_count, attrs, attr_count, result_count);
  for (int r = 0; r < result_count && !mlirOperationIsNull(op); ++r)
    if (g->needs[targets[r]]) g->din[targets[r]] = zb_result_value(op, r);
}
