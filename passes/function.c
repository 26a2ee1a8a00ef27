/* Functions built argument by argument, and attribute helpers: see passes/function.h. */

#include "passes/function.h"

#include "runtime/base/assert.h"

#include <mlir-c/BuiltinAttributes.h>
#include <mlir-c/BuiltinTypes.h>
#include <string.h>

static MlirStringRef text_ref(const char *text) { return mlirStringRefCreateFromCString(text); }

void zb_function_begin(zb_function_builder *f, MlirContext context, MlirLocation location) {
  *f = (zb_function_builder){.context = context, .location = location, .block = mlirBlockCreate(0, NULL, NULL)};
}

void zb_function_open(zb_function_builder *f, MlirOperation function) {
  MlirBlock block = zb_function_block(function);
  MlirOperation end = mlirBlockGetTerminator(block);
  *f = (zb_function_builder){
      .context = mlirOperationGetContext(function), .location = mlirOperationGetLocation(function), .block = block};
  for (int i = 0; i < (int)mlirBlockGetNumArguments(block); ++i)
    (void)ZB_PUSH(&f->arena, &f->argument_attributes, zb_argument_dictionary(function, i));
  for (int i = 0; i < (int)mlirOperationGetNumOperands(end); ++i)
    zb_function_result(f, mlirOperationGetOperand(end, i), zb_result_dictionary(function, i));
}

MlirValue zb_function_argument(zb_function_builder *f, MlirType type, MlirAttribute attributes) {
  (void)ZB_PUSH(&f->arena, &f->argument_attributes, attributes);
  return mlirBlockAddArgument(f->block, type, f->location);
}

void zb_function_result(zb_function_builder *f, MlirValue value, MlirAttribute attributes) {
  (void)(ZB_PUSH(&f->arena, &f->results, value) && ZB_PUSH(&f->arena, &f->result_attributes, attributes));
}

static MlirNamedAttribute attribute_array(MlirContext context, const char *name, MlirAttribute *items, size_t count) {
  MlirAttribute empty = mlirDictionaryAttrGet(context, 0, NULL);
  for (size_t i = 0; i < count; ++i)
    if (mlirAttributeIsNull(items[i])) items[i] = empty;
  return zb_named(context, name, mlirArrayAttrGet(context, (intptr_t)count, items));
}

/* The attributes of a func.func that say what it takes and gives. False: out of memory. */
enum { INTERFACE_ATTRIBUTES = 3 };
static bool interface_of(zb_function_builder *f, MlirNamedAttribute out[INTERFACE_ATTRIBUTES]) {
  const size_t arguments = f->argument_attributes.count, results = f->results.count;
  MlirType *types = ZB_NEW(&f->arena, MlirType, arguments + results);
  if (f->failed || f->arena.failed) return false;
  for (size_t i = 0; i < arguments; ++i)
    types[i] = mlirValueGetType(mlirBlockGetArgument(f->block, (intptr_t)i));
  for (size_t i = 0; i < results; ++i)
    types[arguments + i] = mlirValueGetType(f->results.items[i]);
  MlirType type = mlirFunctionTypeGet(f->context, (intptr_t)arguments, types, (intptr_t)results, types + arguments);
  out[0] = zb_named(f->context, "function_type", mlirTypeAttrGet(type));
  out[1] = attribute_array(f->context, "arg_attrs", f->argument_attributes.items, arguments);
  out[2] = attribute_array(f->context, "res_attrs", f->result_attributes.items, results);
  return true;
}

zb_status zb_function_close(zb_function_builder *f, MlirOperation function) {
  MlirNamedAttribute interface[INTERFACE_ATTRIBUTES];
  bool done = interface_of(f, interface);
  for (int i = 0; done && i < INTERFACE_ATTRIBUTES; ++i)
    mlirOperationSetAttributeByName(function, mlirIdentifierStr(interface[i].name), interface[i].attribute);
  if (done) mlirOperationSetOperands(mlirBlockGetTerminator(f->block), (intptr_t)f->results.count, f->results.items);
  f->block = (MlirBlock){0};
  zb_function_abandon(f);
  return done ? NULL : ZB_OUT_OF_MEMORY();
}

static void append_return(zb_function_builder *f) {
  MlirOperationState state = mlirOperationStateGet(text_ref("func.return"), f->location);
  mlirOperationStateAddOperands(&state, (intptr_t)f->results.count, f->results.items);
  mlirBlockAppendOwnedOperation(f->block, mlirOperationCreate(&state));
}

MlirOperation zb_function_finish(zb_function_builder *f, MlirBlock parent, const char *name, bool is_public,
                                 const MlirNamedAttribute *attributes, int attribute_count) {
  MlirOperation op = {0};
  MlirNamedAttribute interface[INTERFACE_ATTRIBUTES];
  if (interface_of(f, interface)) {
    append_return(f);
    MlirOperationState state = mlirOperationStateGet(text_ref("func.func"), f->location);
    MlirNamedAttribute own[2] = {zb_named(f->context, "sym_name", zb_mlir_string(f->context, name)),
                                 zb_named(f->context, "sym_visibility", zb_mlir_string(f->context, "private"))};
    mlirOperationStateAddAttributes(&state, is_public ? 1 : 2, own);
    mlirOperationStateAddAttributes(&state, INTERFACE_ATTRIBUTES, interface);
    mlirOperationStateAddAttributes(&state, attribute_count, attributes);
    MlirRegion region = mlirRegionCreate();
    mlirRegionAppendOwnedBlock(region, f->block);
    mlirOperationStateAddOwnedRegions(&state, 1, &region);
    op = mlirOperationCreate(&state);
    f->block = (MlirBlock){0};
    mlirBlockAppendOwnedOperation(parent, op);
  }
  zb_function_abandon(f);
  return op;
}

/* Where a function is abandoned half of the ops of another one may have moved into it, and the others, the return too,
 * still read them: nothing may read what is destroyed. */
static void drop_readers(MlirBlock block) {
  ZB_FOR_EACH_OP(op, block)
    for (intptr_t i = 0; i < mlirOperationGetNumResults(op); ++i)
      for (MlirOpOperand use; use = mlirValueGetFirstUse(mlirOperationGetResult(op, i)), !mlirOpOperandIsNull(use);)
        mlirOperationSetOperands(mlirOpOperandGetOwner(use), 0, NULL);
}

void zb_function_abandon(zb_function_builder *f) {
  if (!mlirBlockIsNull(f->block)) {
    drop_readers(f->block);
    mlirBlockDestroy(f->block);
  }
  zb_arena_deinit(&f->arena);
  *f = (zb_function_builder){0};
}

MlirAttribute zb_argument_dictionary(MlirOperation function, int index) {
  return zb_get_entry(function, "arg_attrs", index);
}
MlirAttribute zb_result_dictionary(MlirOperation function, int index) {
  return zb_get_entry(function, "res_attrs", index);
}

static MlirAttribute dictionary_get(MlirAttribute dictionary, const char *name) {
  if (mlirAttributeIsNull(dictionary)) return dictionary;
  return mlirDictionaryAttrGetElementByName(dictionary, text_ref(name));
}

int64_t zb_dictionary_i64(MlirAttribute dictionary, const char *name, int64_t fallback) {
  MlirAttribute value = dictionary_get(dictionary, name);
  return mlirAttributeIsNull(value) || !mlirAttributeIsAInteger(value) ? fallback : mlirIntegerAttrGetValueInt(value);
}

const char *zb_dictionary_string(MlirAttribute dictionary, const char *name) {
  MlirAttribute value = dictionary_get(dictionary, name);
  return mlirAttributeIsNull(value) || !mlirAttributeIsAString(value) ? NULL : mlirStringAttrGetValue(value).data;
}

bool zb_dictionary_has(MlirAttribute dictionary, const char *name) {
  return !mlirAttributeIsNull(dictionary_get(dictionary, name));
}

MlirNamedAttribute zb_named_i64(MlirContext context, const char *name, int64_t value) {
  return zb_named(context, name, zb_mlir_i64(context, value));
}

void zb_set_i64(MlirOperation op, const char *name, int64_t value) {
  zb_set_attribute(op, name, zb_mlir_i64(mlirOperationGetContext(op), value));
}

void zb_set_string(MlirOperation op, const char *name, const char *value) {
  zb_set_attribute(op, name, zb_mlir_string(mlirOperationGetContext(op), value));
}

void zb_set_ints(MlirOperation op, const char *name, const int64_t *values, int count) {
  zb_set_attribute(op, name, mlirDenseI64ArrayGet(mlirOperationGetContext(op), count, values));
}

int64_t zb_ints_at(MlirOperation op, const char *name, int index) {
  MlirAttribute value = zb_get_attribute(op, name);
  ZB_ASSERT(!mlirAttributeIsNull(value) && index < mlirDenseArrayGetNumElements(value));
  return mlirDenseI64ArrayGetElement(value, index);
}

void zb_remove_attribute(MlirOperation op, const char *name) { mlirOperationRemoveAttributeByName(op, text_ref(name)); }

const char *zb_location_name(MlirOperation op) {
  MlirLocation location = mlirOperationGetLocation(op);
  return mlirLocationIsAName(location) ? mlirIdentifierStr(mlirLocationNameGetName(location)).data : NULL;
}

const char *zb_symbol_name(MlirOperation op) { return zb_get_string(op, "sym_name"); }

MlirOperation zb_symbol_in(MlirBlock block, const char *op_name, const char *symbol) {
  ZB_FOR_EACH_OP(op, block) {
    const char *name = zb_op_is(op, op_name) ? zb_symbol_name(op) : NULL;
    if (name && strcmp(name, symbol) == 0) return op;
  }
  return (MlirOperation){0};
}

MlirBlock zb_function_block(MlirOperation function) {
  return mlirRegionGetFirstBlock(mlirOperationGetRegion(function, 0));
}
