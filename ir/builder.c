/* Building ops: operands and plain attributes in, an op with inferred result types out.
 *
 * An attribute equal to the default of its row is not written, so that equal ops have equal attributes (CSE compares
 * them).
 *
 * Tests: test/ir/builder_test.c.
 */
#include "ir/builder.h"

#include "ir/op_view.h"
#include "ir/scope.h"
#include "runtime/base/assert.h"

#include <mlir-c/BuiltinAttributes.h>
#include <mlir-c/BuiltinTypes.h>
#include <stdio.h>
#include <string.h>

enum { BUILD_RESULTS = 64 };

zb_builder zb_builder_before(MlirOperation op) {
  return (zb_builder){.context = mlirOperationGetContext(op),
                      .block = mlirOperationGetBlock(op),
                      .before = op,
                      .location = mlirOperationGetLocation(op)};
}

zb_builder zb_builder_at_end(MlirBlock block, MlirLocation location) {
  return (zb_builder){.context = mlirLocationGetContext(location), .block = block, .location = location};
}

/* ---- Attributes ---- */

zb_attr zb_bool(const char *name, bool value) { return (zb_attr){.name = name, .kind = ZB_ATTR_BOOL, .i = value}; }

zb_attr zb_int(const char *name, int64_t value) { return (zb_attr){.name = name, .kind = ZB_ATTR_INT, .i = value}; }

zb_attr zb_float(const char *name, double value) { return (zb_attr){.name = name, .kind = ZB_ATTR_FLOAT, .f = value}; }

zb_attr zb_ints(const char *name, const int64_t *values, int count) {
  return (zb_attr){.name = name, .kind = ZB_ATTR_INTS, .ints = values, .count = count};
}

zb_attr zb_string(const char *name, const char *value) {
  return (zb_attr){.name = name, .kind = ZB_ATTR_STRING, .s = value};
}

MlirAttribute zb_mlir_i64(MlirContext context, int64_t value) { return zb_kept_i64(context, value); }

MlirAttribute zb_mlir_string(MlirContext context, const char *value) { return zb_kept_string(context, value); }

static MlirAttribute attr_to_mlir(MlirContext context, const zb_attr *attr) {
  switch (attr->kind) {
  case ZB_ATTR_BOOL:
    return mlirBoolAttrGet(context, attr->i != 0);
  case ZB_ATTR_INT:
    return zb_mlir_i64(context, attr->i);
  case ZB_ATTR_FLOAT:
    return mlirFloatAttrDoubleGet(context, mlirF64TypeGet(context), attr->f);
  case ZB_ATTR_INTS:
    return mlirDenseI64ArrayGet(context, attr->count, attr->ints);
  case ZB_ATTR_STRING:
    return zb_mlir_string(context, attr->s);
  }
  ZB_ASSERT(!"an attribute kind that only the IR has");
  return mlirAttributeGetNull();
}

MlirNamedAttribute zb_named(MlirContext context, const char *name, MlirAttribute value) {
  return mlirNamedAttributeGet(zb_kept_name(context, name), value);
}

MlirAttribute zb_get_attribute(MlirOperation op, const char *name) {
  return mlirOperationGetAttributeByName(op, mlirStringRefCreateFromCString(name));
}

bool zb_has_attribute(MlirOperation op, const char *name) { return !mlirAttributeIsNull(zb_get_attribute(op, name)); }

void zb_set_attribute(MlirOperation op, const char *name, MlirAttribute value) {
  mlirOperationSetAttributeByName(op, mlirStringRefCreateFromCString(name), value);
}

MlirAttribute zb_get_entry(MlirOperation function, const char *list, intptr_t index) {
  MlirAttribute all = zb_get_attribute(function, list), none = {NULL};
  if (!all.ptr || !mlirAttributeIsAArray(all) || index >= mlirArrayAttrGetNumElements(all)) return none;
  MlirAttribute entry = mlirArrayAttrGetElement(all, index);
  return mlirAttributeIsADictionary(entry) ? entry : none;
}

int64_t zb_get_i64(MlirOperation op, const char *name, int64_t fallback) {
  MlirAttribute attribute = zb_get_attribute(op, name);
  int64_t value;
  return !mlirAttributeIsNull(attribute) && zb_attr_read_integer(attribute, &value) ? value : fallback;
}

double zb_get_float(MlirOperation op, const char *name, double fallback) {
  MlirAttribute attribute = zb_get_attribute(op, name);
  bool real = !mlirAttributeIsNull(attribute) && mlirAttributeIsAFloat(attribute);
  return real ? mlirFloatAttrGetValueDouble(attribute) : fallback;
}

const char *zb_get_string(MlirOperation op, const char *name) {
  MlirAttribute attribute = zb_get_attribute(op, name);
  if (mlirAttributeIsNull(attribute) || !mlirAttributeIsAString(attribute)) return NULL;
  MlirStringRef text = mlirStringAttrGetValue(attribute);
  return text.length ? text.data : "";
}

static bool is_default(const zb_attr_def *row, const zb_attr *attr) {
  zb_attr value;
  if (!zb_attr_default(row, &value)) return false;
  return attr->kind == ZB_ATTR_FLOAT ? attr->f == value.f : attr->i == value.i;
}

/* ---- Building ---- */

static MlirOperation insert(zb_builder *b, MlirOperationState *state) {
  mlirOperationStateAddAttributes(state, b->mark_count, b->marks);
  MlirOperation op = mlirOperationCreate(state);
  if (mlirOperationIsNull(op)) {
    b->failed = true;
    return op;
  }
  if (b->before.ptr)
    mlirBlockInsertOwnedOperationBefore(b->block, b->before, op);
  else
    mlirBlockAppendOwnedOperation(b->block, op);
  return op;
}

MlirOperation zb_build_any(zb_builder *b, const char *full_name, const MlirValue *operands, int operand_count,
                           const MlirType *results, int result_count, const MlirNamedAttribute *attrs, int attr_count) {
  if (b->failed) return (MlirOperation){NULL};
  MlirOperationState state = mlirOperationStateGet(mlirStringRefCreateFromCString(full_name), b->location);
  mlirOperationStateAddOperands(&state, operand_count, operands);
  mlirOperationStateAddResults(&state, result_count, results);
  mlirOperationStateAddAttributes(&state, attr_count, attrs);
  return insert(b, &state);
}

static MlirOperation fail(zb_builder *b, const char *name, const zb_op_error *error) {
  b->failed = true;
  zb_location_error(b->location, error->hint, "cannot build zb.%s: %s", name, error->text);
  return (MlirOperation){NULL};
}

/* What zb_build_op gathers before it makes the op. */
typedef struct build_state {
  zb_op_view view;
  zb_shape shapes[ZB_VIEW_OPERANDS];
  MlirValue operands[ZB_VIEW_OPERANDS];
  int operand_count;
  zb_attr attrs[ZB_VIEW_ATTRS];
  MlirNamedAttribute named[ZB_VIEW_ATTRS];
  int named_count;
} build_state;

/* A null operand is an absent optional one. */
static zb_result take_operands(build_state *state, const MlirValue *operands, int count, zb_op_error *error) {
  zb_op_arity arity = zb_op_names_arity(state->view.def->operands);
  for (int i = 0; i < count && i < ZB_VIEW_OPERANDS; ++i) {
    if (!mlirValueIsNull(operands[i]))
      state->operands[state->operand_count++] = operands[i];
    else if (i != arity.optional)
      return zb_op_fail(error, NULL, "operand %d is missing", i);
  }
  if (count > ZB_VIEW_OPERANDS) state->operand_count = count;
  return zb_op_place_operands(&state->view, state->operands, state->operand_count, state->shapes, NULL, error) ==
                 ZB_VIEW_READ
             ? ZB_OK
             : ZB_FAIL;
}

static zb_result take_attributes(zb_builder *b, build_state *state, zb_attrs given, zb_op_error *error) {
  int count = 0, used = 0;
  for (const zb_attr_def *row = state->view.def->attrs; row && row->name; ++row) {
    const zb_attr *attr = zb_attr_find(&given, row->name);
    if (!attr) {
      if (zb_attr_default(row, &state->attrs[count]))
        ++count;
      else if (!row->optional)
        return zb_op_fail(error, row->help, "attribute '%s' is missing", row->name);
      continue;
    }
    if (attr->kind != row->kind)
      return zb_op_fail(error, row->help, "attribute '%s' has the wrong kind: expected %s", row->name,
                        zb_attr_kind_text(row->kind));
    ++used;
    state->attrs[count++] = *attr;
    if (!is_default(row, attr))
      state->named[state->named_count++] = zb_named(b->context, row->name, attr_to_mlir(b->context, attr));
  }
  if (used != given.count) return zb_op_fail(error, NULL, "an attribute was given that the op does not have");
  state->view.attrs = (zb_attrs){.items = state->attrs, .count = count};
  return ZB_OK;
}

MlirOperation zb_build_op(zb_builder *b, const char *name, const MlirValue *operands, int operand_count,
                          const zb_attr *attrs, int attr_count, int result_count) {
  if (b->failed) return (MlirOperation){NULL};
  build_state state = {.operand_count = 0};
  zb_op_error error = {.text = ""};
  zb_shape results[BUILD_RESULTS];
  MlirType types[BUILD_RESULTS];
  state.view.def = zb_op_find_name(name);
  if (!state.view.def || !state.view.def->infer) {
    zb_op_fail(&error, NULL, "it has no row in zb/ops.def that gives its result types");
    return fail(b, name, &error);
  }
  if (result_count < 0) result_count = zb_op_names_arity(state.view.def->results).least;
  state.view.result_count = result_count;
  ZB_ASSERT(result_count <= BUILD_RESULTS);
  if (!take_operands(&state, operands, operand_count, &error) ||
      !take_attributes(b, &state, (zb_attrs){attrs, attr_count}, &error) ||
      !state.view.def->infer(&state.view, results, &error))
    return fail(b, name, &error);
  for (int i = 0; i < result_count; ++i)
    types[i] = zb_shape_type(b->context, &results[i]);
  char full_name[80];
  snprintf(full_name, sizeof full_name, "%s%s", strchr(name, '.') ? "" : "zb.", name);
  return zb_build_any(b, full_name, state.operands, state.operand_count, types, result_count, state.named,
                      state.named_count);
}

MlirValue zb_build(zb_builder *b, const char *name, const MlirValue *operands, int operand_count, const zb_attr *attrs,
                   int attr_count) {
  MlirOperation op = zb_build_op(b, name, operands, operand_count, attrs, attr_count, 1);
  return mlirOperationIsNull(op) ? (MlirValue){NULL} : mlirOperationGetResult(op, 0);
}

MlirValue zb_build1(zb_builder *b, const char *name, MlirValue x) { return zb_build(b, name, &x, 1, NULL, 0); }

MlirValue zb_build2(zb_builder *b, const char *name, MlirValue lhs, MlirValue rhs) {
  return zb_build(b, name, (MlirValue[]){lhs, rhs}, 2, NULL, 0);
}

zb_result zb_op_gradient(zb_builder *b, MlirOperation op, const MlirValue *dout, const bool *needs, MlirValue *din) {
  zb_gradient g = {.b = b, .op = op, .dout = dout, .needs = needs, .din = din};
  zb_op_view_storage storage;
  if (!zb_op_view_get(op, &g.view, &storage)) return ZB_FAIL;
  g.view.def->grad(&g);
  return b->failed ? ZB_FAIL : ZB_OK;
}

/* ---- Short forms ---- */

MlirValue zb_build_where(zb_builder *b, MlirValue condition, MlirValue yes, MlirValue no) {
  return zb_build(b, "where", (MlirValue[]){condition, yes, no}, 3, NULL, 0);
}

MlirValue zb_build_slice(zb_builder *b, MlirValue x, const int64_t *starts, const int64_t *sizes, const int64_t *steps,
                         int rank) {
  static const int64_t ones[ZB_DIMS_MAX] = {1, 1, 1, 1, 1, 1, 1, 1};
  return ZB_BUILD(b, "slice", x, zb_ints("starts", starts, rank), zb_ints("sizes", sizes, rank),
                  zb_ints("steps", steps ? steps : ones, rank));
}

MlirValue zb_build_constant(zb_builder *b, MlirType type, MlirAttribute value) {
  MlirNamedAttribute attribute = zb_named(b->context, "value", value);
  MlirOperation op = zb_build_any(b, "zb.constant", NULL, 0, &type, 1, &attribute, 1);
  return mlirOperationIsNull(op) ? (MlirValue){NULL} : mlirOperationGetResult(op, 0);
}

MlirValue zb_build_scalar(zb_builder *b, zb_dtype dtype, double value) {
  if (b->failed) return (MlirValue){NULL};
  zb_shape shape = {.dtype = dtype, .rank = 0};
  MlirType type = zb_shape_type(b->context, &shape), element = mlirShapedTypeGetElementType(type);
  MlirAttribute number = mlirTypeIsAInteger(element) ? mlirIntegerAttrGet(element, (int64_t)value)
                                                     : mlirFloatAttrDoubleGet(b->context, element, value);
  return zb_build_constant(b, type, mlirDenseElementsAttrSplatGet(type, number));
}

MlirValue zb_build_expand(zb_builder *b, MlirValue x, const zb_shape *shape) {
  return ZB_BUILD(b, "expand", x, zb_ints("shape", shape->dims, shape->rank));
}

MlirValue zb_build_splat(zb_builder *b, const zb_shape *shape, double value) {
  MlirValue scalar = zb_build_scalar(b, shape->dtype, value);
  return shape->rank == 0 || b->failed ? scalar : zb_build_expand(b, scalar, shape);
}

MlirValue zb_build_iota(zb_builder *b, const zb_shape *shape, int axis, double start, double step) {
  zb_attr attrs[] = {zb_ints("shape", shape->dims, shape->rank), zb_int("axis", axis), zb_float("start", start),
                     zb_float("step", step), zb_string("dtype", zb_dtype_name(shape->dtype))};
  return zb_build(b, "iota", NULL, 0, attrs, 5);
}

MlirValue zb_build_reshape(zb_builder *b, MlirValue x, const int64_t *dims, int rank) {
  if (b->failed) return (MlirValue){NULL};
  zb_shape shape;
  if (zb_type_shape(mlirValueGetType(x), &shape) && shape.rank == rank &&
      (rank == 0 || memcmp(shape.dims, dims, (size_t)rank * sizeof dims[0]) == 0))
    return x;
  return ZB_BUILD(b, "reshape", x, zb_ints("shape", dims, rank));
}

MlirValue zb_build_cast(zb_builder *b, MlirValue x, zb_dtype dtype) {
  zb_shape shape;
  if (b->failed || (zb_type_shape(mlirValueGetType(x), &shape) && shape.dtype == dtype)) return x;
  return ZB_BUILD(b, "cast", x, zb_string("dtype", zb_dtype_name(dtype)));
}

MlirValue zb_build_sum_to(zb_builder *b, MlirValue x, const zb_shape *shape) {
  zb_shape from;
  if (b->failed || !zb_type_shape(mlirValueGetType(x), &from)) return b->failed = true, (MlirValue){NULL};
  ZB_ASSERT(from.rank >= shape->rank);
  int64_t axes[ZB_DIMS_MAX];
  int count = 0, extra = from.rank - shape->rank;
  for (int i = 0; i < from.rank; ++i)
    if (i < extra || from.dims[i] != shape->dims[i - extra]) axes[count++] = i;
  if (count > 0) x = ZB_BUILD(b, "reduce_sum", x, zb_ints("axes", axes, count));
  return zb_build_reshape(b, x, shape->dims, shape->rank);
}

MlirValue zb_build_concat(zb_builder *b, const MlirValue *values, int count, int64_t axis) {
  ZB_ASSERT(count >= 1);
  zb_attr attribute = zb_int("axis", axis);
  MlirValue whole = values[0];
  for (int i = 1; i < count && !b->failed;) {
    MlirValue group[ZB_VIEW_OPERANDS] = {whole, values[i]};
    int taken = 2;
    MlirType rest = i + 1 < count ? mlirValueGetType(values[i + 1]) : (MlirType){NULL};
    for (++i; i < count && taken < ZB_VIEW_OPERANDS && mlirTypeEqual(mlirValueGetType(values[i]), rest); ++i)
      group[taken++] = values[i];
    whole = zb_build(b, "concat", group, taken, &attribute, 1);
  }
  return whole;
}

static void build_slices(zb_builder *b, MlirValue x, const zb_shape *shape, int64_t axis, const int64_t *sizes,
                         int count, MlirValue *out) {
  int64_t starts[ZB_DIMS_MAX] = {0}, lengths[ZB_DIMS_MAX];
  memcpy(lengths, shape->dims, sizeof lengths);
  for (int i = 0; i < count; ++i) {
    lengths[axis] = sizes[i];
    out[i] = zb_build_slice(b, x, starts, lengths, NULL, shape->rank);
    starts[axis] += sizes[i];
  }
}

void zb_build_split(zb_builder *b, MlirValue x, int64_t axis, const int64_t *sizes, int count, MlirValue *out) {
  zb_shape shape;
  bool same = count >= 2 && count <= BUILD_RESULTS;
  for (int i = 0; i < count; ++i)
    out[i] = (MlirValue){NULL};
  for (int i = 3; i < count; ++i)
    same = same && sizes[i] == sizes[2];
  if (b->failed || !zb_type_shape(mlirValueGetType(x), &shape) || axis < 0 || axis >= shape.rank) {
    b->failed = true;
    return;
  }
  if (!same) {
    build_slices(b, x, &shape, axis, sizes, count, out);
    return;
  }
  zb_attr attrs[] = {zb_int("axis", axis), zb_ints("sizes", sizes, count)};
  MlirOperation op = zb_build_op(b, "split", &x, 1, attrs, 2, count);
  for (int i = 0; i < count && !mlirOperationIsNull(op); ++i)
    out[i] = mlirOperationGetResult(op, i);
}
