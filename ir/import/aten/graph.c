/* The text as values and nodes: arguments of @main with their names and roles, one node for each op, results with
 * theirs. A location says the module path and the name of an op, over its line in Python:
 *
 *   loc("h.0.mlp.c_fc (addmm_1)"("model.py":12:0))
 *
 * Tests: test/ir/import/aten. */
#include "ir/import/aten/aten.h"

#include <mlir-c/BuiltinAttributes.h>
#include <mlir-c/BuiltinTypes.h>
#include <stdio.h>
#include <string.h>

enum { NODES_MAX = 1 << 18 };

/* ---- Attributes of arguments and results ---- */

/* An attribute of argument or result `index` of @main; null: there is none. */
static MlirAttribute entry_of(const zb_aten *it, const char *list, intptr_t index, const char *key) {
  MlirAttribute entry = zb_get_entry(it->main, list, index);
  return entry.ptr ? mlirDictionaryAttrGetElementByName(entry, mlirStringRefCreateFromCString(key)) : entry;
}

/* A copy of a string; NULL: it is none. */
static const char *text_of(zb_import *im, MlirAttribute attribute) {
  if (!attribute.ptr || !mlirAttributeIsAString(attribute)) return NULL;
  MlirStringRef text = mlirStringAttrGetValue(attribute);
  return zb_import_take_text(im, text.data, text.length);
}

/* ---- Arguments ---- */

static const struct {
  const char *key;
  zb_import_kind kind;
  zb_import_role role;
} kinds[] = {
    {"aten.input", ZB_VALUE_INPUT, ZB_ROLE_CONSTANT},
    {"aten.parameter", ZB_VALUE_INITIAL, ZB_ROLE_TRAINED},
    {"aten.buffer", ZB_VALUE_INITIAL, ZB_ROLE_CONSTANT},
    {"aten.constant", ZB_VALUE_INITIAL, ZB_ROLE_CONSTANT},
};

/* The other names of a tensor that the model has under several. */
static zb_result read_aliases(zb_aten *it, int index, zb_import_value *value) {
  zb_import *im = &it->core;
  MlirAttribute names = entry_of(it, "arg_attrs", index, "aten.names");
  if (!names.ptr) return ZB_OK;
  if (!mlirAttributeIsAArray(names)) return zb_import_fail(im, NULL, "aten.names of argument %d is no list", index);
  const intptr_t count = mlirArrayAttrGetNumElements(names);
  const char **aliases = zb_import_take(im, (size_t)count * sizeof *aliases + 1);
  for (intptr_t i = 0; aliases && i < count; ++i) {
    const char *name = text_of(im, mlirArrayAttrGetElement(names, i));
    if (!name) return zb_import_fail(im, NULL, "aten.names of argument %d has an entry that is no text", index);
    if (strcmp(name, value->name) != 0) aliases[value->alias_count++] = name;
  }
  value->aliases = aliases;
  return aliases ? ZB_OK : ZB_FAIL;
}

static zb_result read_argument(zb_aten *it, MlirValue argument, int index) {
  zb_import *im = &it->core;
  const char *name = NULL;
  size_t k = 0;
  for (; k < sizeof kinds / sizeof *kinds && !name; k += !name)
    name = text_of(im, entry_of(it, "arg_attrs", index, kinds[k].key));
  if (!name)
    return zb_import_fail(im, "write the file with zb.aten.export",
                          "argument %d says neither aten.input, aten.parameter, aten.buffer nor aten.constant", index);
  if (!*name)
    return zb_import_fail(im, "write the file with zb.aten.export", "argument %d has an empty name (%s)", index,
                          kinds[k].key);
  if (zb_import_find(im, name))
    return zb_import_fail(im, "a batch has its arrays by these names: give each argument one of its own",
                          "two arguments are named '%s'", name);
  zb_import_value *value = zb_import_value_new(im, name, kinds[k].kind);
  if (!value) return ZB_FAIL;
  value->index = (size_t)index;
  value->is_typed = zb_type_shape(mlirValueGetType(argument), &value->type);
  value->type_text = value->is_typed ? zb_dtype_name(value->type.dtype) : "unknown type";
  value->role = kinds[k].role;
  value->is_listed = value->role == ZB_ROLE_TRAINED;
  value->is_unset = entry_of(it, "arg_attrs", index, "aten.unset").ptr != NULL;
  if (entry_of(it, "arg_attrs", index, "aten.frozen").ptr) value->role = ZB_ROLE_FROZEN;
  if (!zb_map_set(it->numbers, argument.ptr, (int64_t)value->number)) return zb_import_memory(im);
  return read_aliases(it, index, value);
}

/* ---- Nodes ---- */

/* Takes the module path, the name and the place of a node from its location. */
static zb_result place_node(zb_aten *it, zb_import_node *n, MlirLocation location) {
  zb_import *im = &it->core;
  n->location = location;
  if (mlirLocationIsAName(location)) {
    MlirStringRef name = mlirIdentifierStr(mlirLocationNameGetName(location));
    size_t path = 0, end = name.length;
    while (path + 2 < name.length && !(name.data[path] == ' ' && name.data[path + 1] == '('))
      ++path;
    const bool has_path = path + 2 < name.length && name.data[name.length - 1] == ')';
    const size_t begin = has_path ? path + 2 : 0;
    if (has_path) --end;
    n->path = has_path && path ? zb_import_take_text(im, name.data, path) : NULL;
    n->name = zb_import_take_text(im, name.data + begin, end - begin);
    return n->name && (n->path || !has_path || !path) ? ZB_OK : ZB_FAIL;
  }
  char text[128];
  const int line = mlirLocationIsAFileLineColRange(location) ? mlirLocationFileLineColRangeGetStartLine(location) : 0;
  const int length = snprintf(text, sizeof text, line ? "%.80s:%d" : "%.80s", n->kind, line);
  n->name = zb_import_take_text(im, text, (size_t)length);
  if (!n->name) return ZB_FAIL;
  if (!line) location = zb_import_file_location(im);
  n->location = mlirLocationNameGet(im->context, mlirStringRefCreateFromCString(n->name), location);
  return ZB_OK;
}

/* Operands; NULL for those of type none, which are left out at the end. */
static zb_result read_operands(zb_aten *it, zb_import_node *n, MlirOperation op) {
  zb_import *im = &it->core;
  n->inputs = zb_import_take(im, (size_t)mlirOperationGetNumOperands(op) * sizeof *n->inputs + 1);
  if (!n->inputs) return ZB_FAIL;
  for (int i = 0; i < (int)mlirOperationGetNumOperands(op); ++i) {
    MlirValue operand = mlirOperationGetOperand(op, i);
    if (mlirTypeIsANone(mlirValueGetType(operand))) continue;
    const int64_t number = zb_map_get_or(it->numbers, operand.ptr, -1);
    if (number < 0) return zb_import_refuse(n, NULL, "operand %d is not known here", i);
    n->inputs[i] = im->values[number];
    n->input_count = i + 1;
  }
  return ZB_OK;
}

/* What nobody reads is no output. */
static zb_result read_outputs(zb_aten *it, zb_import_node *n, MlirOperation op) {
  zb_import *im = &it->core;
  n->output_count = (int)mlirOperationGetNumResults(op);
  n->outputs = zb_import_take(im, (size_t)n->output_count * sizeof *n->outputs + 1);
  for (int i = 0; n->outputs && i < n->output_count; ++i) {
    MlirValue result = mlirOperationGetResult(op, i);
    if (mlirOpOperandIsNull(mlirValueGetFirstUse(result))) continue;
    n->outputs[i] = zb_import_value_new(im, "", ZB_VALUE_NODE);
    if (!n->outputs[i]) return ZB_FAIL;
    n->outputs[i]->producer = n;
    if (!zb_map_set(it->numbers, result.ptr, (int64_t)n->outputs[i]->number)) return zb_import_memory(im);
  }
  return n->outputs ? ZB_OK : ZB_FAIL;
}

static zb_result read_node(zb_aten *it, MlirOperation op) {
  zb_import *im = &it->core;
  zb_import_node *n = &im->nodes[im->node_count++];
  *n = (zb_import_node){
      .im = im, .b = &im->builder, .kind = mlirIdentifierStr(mlirOperationGetName(op)).data, .source = op.ptr};
  const bool is_aten = strncmp(n->kind, "aten.", 5) == 0;
  n->op = is_aten ? zb_aten_op_find(n->kind + 5) : NULL;
  n->gradient = n->op ? n->op->gradient : 0;
  return place_node(it, n, mlirOperationGetLocation(op)) && read_operands(it, n, op) && read_outputs(it, n, op)
             ? ZB_OK
             : ZB_FAIL;
}

/* ---- Results ---- */

static zb_result read_results(zb_aten *it, MlirOperation last) {
  zb_import *im = &it->core;
  it->results.count = (int)mlirOperationGetNumOperands(last);
  it->results.items = zb_import_take(im, (size_t)it->results.count * sizeof *it->results.items + 1);
  if (!it->results.items) return ZB_FAIL;
  for (int i = 0; i < it->results.count; ++i) {
    zb_import_result *r = &it->results.items[i];
    MlirValue value = mlirOperationGetOperand(last, i);
    const int64_t number = zb_map_get_or(it->numbers, value.ptr, -1);
    if (number < 0) return zb_import_fail(im, NULL, "result %d is not known", i);
    r->value = im->values[number];
    r->is_typed = zb_type_shape(mlirValueGetType(value), &r->shape);
    r->name = text_of(im, entry_of(it, "res_attrs", i, "aten.output"));
    const char *updates = text_of(im, entry_of(it, "res_attrs", i, "aten.updates"));
    if (!r->name == !updates)
      return zb_import_fail(im, "write the file with zb.aten.export",
                            "result %d says neither aten.output nor aten.updates, or both", i);
    const zb_import_value *buffer = updates ? zb_import_find(im, updates) : NULL;
    if (updates && (!buffer || buffer->kind != ZB_VALUE_INITIAL))
      return zb_import_fail(im, ZB_ATEN_EXPORT_HINT, "result %d updates '%s', which is no buffer", i, updates);
    r->updates = buffer ? (int)buffer->number : -1;
  }
  return ZB_OK;
}

/* Whether a result is to have a value of its own: it is also another result, or, without a loss, an argument. */
static bool shares_value(const zb_aten *it, MlirOperation last, intptr_t index) {
  MlirValue value = mlirOperationGetOperand(last, index);
  if (!entry_of(it, "res_attrs", index, "aten.output").ptr) return false;
  for (intptr_t i = 0; i < index; ++i)
    if (mlirValueEqual(mlirOperationGetOperand(last, i), value)) return true;
  return mlirValueIsABlockArgument(value) && it->core.params->inference;
}

/* Puts an alias in the place of each result that shares its value: outputs have the names of their values. */
static zb_result separate_results(zb_aten *it, MlirOperation last) {
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(last); ++i) {
    if (!shares_value(it, last, i)) continue;
    MlirValue value = mlirOperationGetOperand(last, i);
    MlirType type = mlirValueGetType(value);
    MlirOperationState state =
        mlirOperationStateGet(mlirStringRefCreateFromCString("aten.alias"), mlirOperationGetLocation(last));
    mlirOperationStateAddOperands(&state, 1, &value);
    mlirOperationStateAddResults(&state, 1, &type);
    MlirOperation alias = mlirOperationCreate(&state);
    if (mlirOperationIsNull(alias)) return zb_import_fail(&it->core, NULL, "result %d could not be copied", (int)i);
    mlirBlockInsertOwnedOperationBefore(mlirOperationGetBlock(last), last, alias);
    mlirOperationSetOperand(last, i, mlirOperationGetResult(alias, 0));
  }
  return ZB_OK;
}

/* ---- The function ---- */

/* @main of one block. */
static zb_result find_block(zb_aten *it, MlirBlock *out) {
  MlirBlock body = mlirModuleGetBody(it->module);
  for (MlirOperation op = mlirBlockGetFirstOperation(body); op.ptr; op = mlirOperationGetNextInBlock(op)) {
    const char *name = zb_op_is(op, "func.func") ? zb_get_string(op, "sym_name") : NULL;
    if (name && strcmp(name, "main") == 0) it->main = op;
  }
  if (it->main.ptr && mlirOperationGetNumRegions(it->main) == 1)
    *out = mlirRegionGetFirstBlock(mlirOperationGetRegion(it->main, 0));
  if (!mlirBlockIsNull(*out) && mlirBlockIsNull(mlirBlockGetNextInRegion(*out))) return ZB_OK;
  return zb_import_fail(&it->core, "write the file with zb.aten.export",
                        "the module has no function @main of one block");
}

zb_result zb_aten_read_graph(zb_aten *it) {
  zb_import *im = &it->core;
  MlirBlock block = {NULL};
  size_t count = 0;
  it->numbers = zb_arena_map_pointer(&im->memory);
  if (!it->numbers) return zb_import_memory(im);
  if (!find_block(it, &block)) return ZB_FAIL;
  for (intptr_t i = 0; i < mlirBlockGetNumArguments(block); ++i)
    if (!read_argument(it, mlirBlockGetArgument(block, i), (int)i)) return ZB_FAIL;
  MlirOperation last = mlirBlockGetTerminator(block);
  if (last.ptr && zb_op_is(last, "func.return") && !separate_results(it, last)) return ZB_FAIL;
  for (MlirOperation op = mlirBlockGetFirstOperation(block); op.ptr; op = mlirOperationGetNextInBlock(op))
    ++count;
  if (count > NODES_MAX) return zb_import_fail(im, NULL, "the graph has more than %d ops", NODES_MAX);
  im->nodes = zb_import_take(im, count * sizeof *im->nodes + 1);
  if (!im->nodes) return ZB_FAIL;
  for (MlirOperation op = mlirBlockGetFirstOperation(block); op.ptr; op = mlirOperationGetNextInBlock(op)) {
    if (zb_op_is(op, "func.return")) return read_results(it, op);
    if (!zb_op_is(op, "aten.none") && !read_node(it, op)) return ZB_FAIL;
  }
  return zb_import_fail(im, NULL, "@main returns nothing");
}
