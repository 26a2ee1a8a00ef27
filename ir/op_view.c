/* Ops as plain data: MLIR in, zb_op_view out.
 *
 * Attributes are looked up by name and read leniently (any width of integer or float, a unit attribute as true),
 * because the IR may be written by hand or by another tool. They are written in one form only (ir/builder.c).
 *
 * Tests: test/ir/op_table_test.c, test/ir/dialect_test.c.
 */
#include "ir/op_view.h"

#include "runtime/base/assert.h"
#include "runtime/base/words.h"

#include <inttypes.h>
#include <math.h>
#include <mlir-c/BuiltinAttributes.h>
#include <mlir-c/BuiltinTypes.h>
#include <stdio.h>

zb_name_hint zb_name_hint_of(MlirStringRef name, const char *const *candidates, int count, const char *otherwise) {
  zb_name_hint out;
  snprintf(out.name, sizeof out.name, "%.*s", (int)(name.length < 63 ? name.length : 63), name.data);
  const char *nearest = zb_nearest(out.name, candidates, count);
  snprintf(out.hint, sizeof out.hint, nearest ? "did you mean '%s'?" : "%s", nearest ? nearest : otherwise);
  return out;
}

/* ---- Attributes ---- */

const char *zb_attr_kind_text(zb_attr_kind kind) {
  static const char *const texts[] = {[ZB_ATTR_BOOL] = "a bool (true or false)",
                                      [ZB_ATTR_INT] = "an integer (2 : i64)",
                                      [ZB_ATTR_FLOAT] = "a float (1.0e-05 : f64)",
                                      [ZB_ATTR_INTS] = "a list of integers (array<i64: 0, 1>)",
                                      [ZB_ATTR_STRING] = "a string",
                                      [ZB_ATTR_STRING + 1] = "elements (dense<1.0> : tensor<f32>)"};
  return texts[kind];
}

bool zb_attr_default(const zb_attr_def *def, zb_attr *out) {
  if (!def->optional || isnan(def->default_number)) return false;
  if (def->kind == ZB_ATTR_INTS || def->kind == ZB_ATTR_STRING || def->kind == ZB_ATTR_ELEMENTS) return false;
  *out = (zb_attr){.name = def->name, .kind = def->kind};
  if (def->kind == ZB_ATTR_FLOAT)
    out->f = def->default_number;
  else
    out->i = (int64_t)def->default_number;
  return true;
}

bool zb_attr_read_integer(MlirAttribute attribute, int64_t *out) {
  if (!mlirAttributeIsAInteger(attribute)) return false;
  MlirType type = mlirAttributeGetType(attribute);
  if (mlirTypeIsAIndex(type)) return *out = mlirIntegerAttrGetValueInt(attribute), true;
  if (mlirIntegerTypeGetWidth(type) > 64) return false;
  if (mlirIntegerTypeIsSignless(type))
    *out = mlirIntegerAttrGetValueInt(attribute);
  else if (mlirIntegerTypeIsSigned(type))
    *out = mlirIntegerAttrGetValueSInt(attribute);
  else
    *out = (int64_t)mlirIntegerAttrGetValueUInt(attribute);
  return true;
}

/* Reads a list into storage->ints from *used on. */
static bool read_integers(MlirAttribute attribute, zb_op_view_storage *storage, int *used, zb_attr *out) {
  bool is_i64 = mlirAttributeIsADenseI64Array(attribute), is_i32 = !is_i64 && mlirAttributeIsADenseI32Array(attribute);
  bool is_array = !is_i64 && !is_i32 && mlirAttributeIsAArray(attribute);
  if (!is_i64 && !is_i32 && !is_array) return false;
  intptr_t count = is_array ? mlirArrayAttrGetNumElements(attribute) : mlirDenseArrayGetNumElements(attribute);
  if (count > ZB_VIEW_INTS - *used) return false;
  int64_t *values = storage->ints + *used;
  for (intptr_t i = 0; i < count; ++i) {
    if (is_i64)
      values[i] = mlirDenseI64ArrayGetElement(attribute, i);
    else if (is_i32)
      values[i] = mlirDenseI32ArrayGetElement(attribute, i);
    else if (!zb_attr_read_integer(mlirArrayAttrGetElement(attribute, i), &values[i]))
      return false;
  }
  out->ints = values;
  out->count = (int)count;
  *used += (int)count;
  return true;
}

static bool read_attribute(MlirAttribute attribute, const zb_attr_def *def, zb_op_view_storage *storage, int *used,
                           zb_attr *out) {
  *out = (zb_attr){.name = def->name, .kind = def->kind};
  switch (def->kind) {
  case ZB_ATTR_BOOL:
    if (mlirAttributeIsAUnit(attribute)) return out->i = 1, true;
    if (!mlirAttributeIsABool(attribute)) return false;
    out->i = mlirBoolAttrGetValue(attribute);
    return true;
  case ZB_ATTR_INT:
    return zb_attr_read_integer(attribute, &out->i);
  case ZB_ATTR_FLOAT:
    if (mlirAttributeIsAFloat(attribute)) return out->f = mlirFloatAttrGetValueDouble(attribute), true;
    if (!zb_attr_read_integer(attribute, &out->i)) return false;
    out->f = (double)out->i;
    return true;
  case ZB_ATTR_INTS:
    return read_integers(attribute, storage, used, out);
  case ZB_ATTR_STRING:
    if (!mlirAttributeIsAString(attribute)) return false;
    /* Uniqued strings end with a NUL; the empty one may have no data. */
    MlirStringRef text = mlirStringAttrGetValue(attribute);
    out->s = text.length ? text.data : "";
    return true;
  }
  return mlirAttributeIsAElements(attribute);
}

/* Fills view->attrs. */
static bool read_attributes(MlirOperation op, const zb_op_def *def, zb_op_view *view, zb_op_view_storage *storage,
                            zb_op_error *error) {
  int count = 0, used_ints = 0;
  for (const zb_attr_def *row = def->attrs; row && row->name; ++row) {
    ZB_ASSERT(count < ZB_VIEW_ATTRS);
    zb_attr *attr = &storage->attrs[count];
    MlirAttribute attribute = mlirOperationGetAttributeByName(op, mlirStringRefCreateFromCString(row->name));
    if (mlirAttributeIsNull(attribute)) {
      if (zb_attr_default(row, attr))
        ++count;
      else if (!row->optional)
        return zb_op_fail(error, row->help, "attribute '%s' is missing: expected %s", row->name,
                          zb_attr_kind_text(row->kind));
    } else if (!read_attribute(attribute, row, storage, &used_ints, attr)) {
      return zb_op_fail(error, row->help, "attribute '%s' has the wrong kind: expected %s", row->name,
                        zb_attr_kind_text(row->kind));
    } else if (row->kind != ZB_ATTR_ELEMENTS) {
      ++count;
    }
  }
  view->attrs = (zb_attrs){.items = storage->attrs, .count = count};
  return true;
}

/* ---- The view ---- */

static const char unknown_type[] =
    "zb knows ranked static tensors of f32, f64, bf16, f16, i64, i32 and i1 with at most 8 dimensions";

zb_view_state zb_op_place_operands(zb_op_view *view, const MlirValue *operands, intptr_t count, zb_shape *shapes,
                                   const char *hint, zb_op_error *error) {
  zb_op_arity arity = zb_op_names_arity(view->def->operands);
  if (count > ZB_VIEW_OPERANDS || count < arity.least || (count > arity.named && arity.variadic < 0)) {
    zb_op_fail(error, NULL, "expected operands (%s), got %" PRIdPTR " operands",
               view->def->operands ? view->def->operands : "", count);
    return ZB_VIEW_INVALID;
  }
  bool leaves_gap = arity.optional >= 0 && count == arity.least;
  int place = 0;
  for (intptr_t i = 0; i < count; ++i) {
    if (leaves_gap && place == arity.optional) shapes[place++].rank = -1;
    if (zb_type_shape(mlirValueGetType(operands[i]), &shapes[place++])) continue;
    zb_op_fail(error, hint, "operand %" PRIdPTR " is no tensor that zb knows", i);
    return ZB_VIEW_OPAQUE;
  }
  if (leaves_gap && place == arity.optional) shapes[place++].rank = -1;
  view->operands = shapes;
  view->operand_count = place;
  return ZB_VIEW_READ;
}

zb_view_state zb_op_view_read(MlirOperation op, const zb_op_def *def, zb_op_view *view, zb_op_view_storage *storage,
                              zb_op_error *error) {
  MlirValue operands[ZB_VIEW_OPERANDS];
  intptr_t count = mlirOperationGetNumOperands(op);
  *view = (zb_op_view){.def = def, .result_count = (int)mlirOperationGetNumResults(op)};
  for (intptr_t i = 0; i < count && i < ZB_VIEW_OPERANDS; ++i)
    operands[i] = mlirOperationGetOperand(op, i);
  zb_view_state state = zb_op_place_operands(view, operands, count, storage->shapes, unknown_type, error);
  if (state == ZB_VIEW_INVALID || !read_attributes(op, def, view, storage, error)) return ZB_VIEW_INVALID;
  return state;
}

bool zb_op_view_get(MlirOperation op, zb_op_view *view, zb_op_view_storage *storage) {
  const zb_op_def *def = zb_op_find(op);
  zb_op_error error;
  return def && zb_op_view_read(op, def, view, storage, &error) == ZB_VIEW_READ;
}

zb_cost zb_op_view_cost(const zb_op_view *op, const zb_shape *results) {
  const zb_op_def *def = op->def;
  if (def->cost) return def->cost(op, results);
  const bool has_counted = def->counted ? def->counted <= op->operand_count : op->result_count > 0;
  if (def->flops == 0 || !has_counted) return (zb_cost){0};
  const zb_shape *counted = def->counted ? &op->operands[def->counted - 1] : &results[0];
  return (zb_cost){.flops = def->flops * (double)zb_shape_elements(counted)};
}
