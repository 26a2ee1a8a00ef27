/* Attributes of ops whose dialects are not registered. They are properties, which cannot be listed, so every read is by
 * name; what belongs to StableHLO is an opaque attribute, of which MLIR keeps the text:
 *
 *   #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>    fields
 *   #stablehlo<comparison_direction GE>                                                   a word
 *
 * Tests: test/ir/import/stablehlo. */
#include "ir/import/stablehlo/stablehlo.h"

#include <ctype.h>
#include <mlir-c/BuiltinAttributes.h>
#include <mlir-c/BuiltinTypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Builtin attributes ---- */

static int64_t dense_at(MlirAttribute attribute, intptr_t i) {
  MlirType element = mlirShapedTypeGetElementType(mlirAttributeGetType(attribute));
  return mlirIntegerTypeGetWidth(element) == 64 ? mlirDenseElementsAttrGetInt64Value(attribute, i)
                                                : mlirDenseElementsAttrGetInt32Value(attribute, i);
}

static bool is_dense_integers(MlirAttribute attribute) {
  if (!mlirAttributeIsADenseElements(attribute)) return false;
  MlirType element = mlirShapedTypeGetElementType(mlirAttributeGetType(attribute));
  if (!mlirTypeIsAInteger(element)) return false;
  unsigned width = mlirIntegerTypeGetWidth(element);
  return width == 64 || width == 32;
}

bool zb_stablehlo_ints(zb_import_node *n, const char *name, bool optional, int64_t *out, int room, int *count) {
  MlirAttribute attribute = zb_get_attribute(zb_stablehlo_source(n), name);
  *count = 0;
  if (attribute.ptr == NULL && optional) return true;
  const bool is_array = attribute.ptr && mlirAttributeIsADenseI64Array(attribute);
  if (!is_array && !(attribute.ptr && is_dense_integers(attribute)))
    return zb_import_refuse(n, "integers as array<i64: 0, 1> or dense<[0, 1]> : tensor<2xi64>",
                            attribute.ptr ? "attribute '%s' is no list of integers" : "attribute '%s' is missing",
                            name);
  const int64_t found = is_array ? mlirDenseArrayGetNumElements(attribute) : mlirElementsAttrGetNumElements(attribute);
  if (found > room)
    return zb_import_refuse(n, NULL, "attribute '%s' has %lld entries, expected at most %d", name, (long long)found,
                            room);
  for (int64_t i = 0; i < found; ++i)
    out[i] = is_array ? mlirDenseI64ArrayGetElement(attribute, i) : dense_at(attribute, i);
  *count = (int)found;
  return true;
}

bool zb_stablehlo_per_dimension(zb_import_node *n, const char *name, bool optional, int rank, int64_t *out) {
  int count;
  if (!zb_stablehlo_ints(n, name, optional, out, ZB_DIMS_MAX, &count)) return false;
  for (int i = 0; count == 0 && optional && i < rank; ++i)
    out[i] = 1;
  return count == rank || (count == 0 && optional) ||
         zb_import_refuse(n, NULL, "%s has not one entry a dimension", name);
}

bool zb_stablehlo_int(zb_import_node *n, const char *name, int64_t *out) {
  MlirAttribute attribute = zb_get_attribute(zb_stablehlo_source(n), name);
  if (!attribute.ptr || !mlirAttributeIsAInteger(attribute))
    return zb_import_refuse(n, NULL, "attribute '%s' is no integer", name);
  MlirType type = mlirAttributeGetType(attribute);
  if (!mlirTypeIsAInteger(type) || mlirIntegerTypeGetWidth(type) > 64 || !mlirIntegerTypeIsSignless(type))
    return zb_import_refuse(n, NULL, "attribute '%s' is no integer of 64 bits", name);
  *out = mlirIntegerAttrGetValueInt(attribute);
  return true;
}

static bool copy(MlirStringRef text, char *out, size_t room) {
  if (text.length >= room) return false;
  memcpy(out, text.data, text.length);
  out[text.length] = '\0';
  return true;
}

bool zb_stablehlo_string(MlirOperation op, const char *name, char *out, size_t room) {
  MlirAttribute attribute = zb_get_attribute(op, name);
  if (!attribute.ptr) return false;
  if (mlirAttributeIsAString(attribute)) return copy(mlirStringAttrGetValue(attribute), out, room);
  if (mlirAttributeIsAFlatSymbolRef(attribute)) return copy(mlirFlatSymbolRefAttrGetValue(attribute), out, room);
  return false;
}

/* ---- Attributes of StableHLO ---- */

/* The text of an opaque attribute of StableHLO; data NULL: it is none. */
static MlirStringRef opaque_text(MlirAttribute attribute) {
  if (!attribute.ptr || !mlirAttributeIsAOpaque(attribute)) return (MlirStringRef){NULL, 0};
  MlirStringRef space = mlirOpaqueAttrGetDialectNamespace(attribute);
  bool ours = mlirStringRefEqual(space, mlirStringRefCreateFromCString("stablehlo")) ||
              mlirStringRefEqual(space, mlirStringRefCreateFromCString("chlo"));
  return ours ? mlirOpaqueAttrGetData(attribute) : (MlirStringRef){NULL, 0};
}

bool zb_stablehlo_word(MlirOperation op, const char *name, char *out, size_t room) {
  MlirStringRef text = opaque_text(zb_get_attribute(op, name));
  size_t end = text.length, begin;
  while (end > 0 && (text.data[end - 1] == '>' || isspace((unsigned char)text.data[end - 1])))
    --end;
  for (begin = end; begin > 0 && (isalnum((unsigned char)text.data[begin - 1]) || text.data[begin - 1] == '_');)
    --begin;
  return end > begin && copy((MlirStringRef){text.data + begin, end - begin}, out, room);
}

bool zb_stablehlo_text(MlirOperation op, const char *name, char *out, size_t room) {
  MlirStringRef text = opaque_text(zb_get_attribute(op, name));
  return text.data && copy(text, out, room);
}

/* Where the value of a field begins in the text; NULL: it has no such field. */
static const char *find_field(MlirStringRef text, const char *field) {
  const size_t length = strlen(field);
  const char *end = text.data + text.length;
  for (const char *at = text.data; at && at + length < end; ++at) {
    if (memcmp(at, field, length) != 0) continue;
    if (at > text.data && (isalnum((unsigned char)at[-1]) || at[-1] == '_')) continue;
    const char *behind = at + length;
    while (behind < end && *behind == ' ')
      ++behind;
    if (behind < end && *behind == '=') return behind + 1;
  }
  return NULL;
}

/* One number before `end`; NULL: there is none. */
static const char *read_number(const char *at, const char *end, int64_t *out) {
  char digits[24];
  size_t length = 0;
  while (at < end && *at == ' ')
    ++at;
  while (at < end && length + 1 < sizeof digits && (isdigit((unsigned char)*at) || (length == 0 && *at == '-')))
    digits[length++] = *at++;
  digits[length] = '\0';
  char *stop = digits;
  *out = strtoll(digits, &stop, 10);
  return length > 0 && *stop == '\0' && length + 1 < sizeof digits ? at : NULL;
}

bool zb_stablehlo_field(zb_import_node *n, const char *attribute, const char *field, int64_t *out, int room,
                        int *count) {
  MlirStringRef text = opaque_text(zb_get_attribute(zb_stablehlo_source(n), attribute));
  *count = 0;
  if (!text.data) return zb_import_refuse(n, NULL, "attribute '%s' is missing, or not of StableHLO", attribute);
  const char *at = find_field(text, field), *end = text.data + text.length;
  if (!at) return true;
  while (at < end && *at == ' ')
    ++at;
  const bool is_list = at < end && *at == '[';
  if (is_list) ++at;
  while (at < end && *at == ' ')
    ++at;
  if (is_list && at < end && *at == ']') return true;
  for (;;) {
    int64_t number;
    at = read_number(at, end, &number);
    if (!at || *count == room)
      return zb_import_refuse(n, NULL, "field '%s' of '%s' is not understood", field, attribute);
    out[(*count)++] = number;
    while (at < end && *at == ' ')
      ++at;
    if (!is_list || (at < end && *at == ']')) return true;
    if (at >= end || *at != ',')
      return zb_import_refuse(n, NULL, "field '%s' of '%s' is not understood", field, attribute);
    ++at;
  }
}

/* ---- Ops: their kind, functions that they name, types of results, regions ---- */

const char *zb_stablehlo_kind(MlirOperation op, bool *is_chlo) {
  MlirStringRef name = mlirIdentifierStr(mlirOperationGetName(op));
  const char *text = name.data; /* MLIR's names end in NUL */
  *is_chlo = strncmp(text, "chlo.", 5) == 0;
  if (*is_chlo) return text + 5;
  return strncmp(text, "stablehlo.", 10) == 0 ? text + 10 : NULL;
}

/* The function of a name in the module. */
MlirOperation zb_stablehlo_function(zb_stablehlo *it, const char *name) {
  char found[256];
  MlirBlock body = mlirModuleGetBody(it->module);
  for (MlirOperation op = mlirBlockGetFirstOperation(body); op.ptr; op = mlirOperationGetNextInBlock(op))
    if (zb_op_is(op, "func.func") && zb_stablehlo_string(op, "sym_name", found, sizeof found) &&
        strcmp(found, name) == 0)
      return op;
  return (MlirOperation){NULL};
}

bool zb_stablehlo_result_shape(zb_import_node *n, int result, zb_shape *out) {
  if (result >= n->output_count) return zb_import_refuse(n, NULL, "it has no result %d", result);
  MlirType type = mlirValueGetType(mlirOperationGetResult(zb_stablehlo_source(n), result));
  if (!zb_stablehlo_shape(type, out) || zb_shape_bytes(out) < 0)
    return zb_import_refuse(n, "tensors of floats, integers and i1 with known dimensions, at most 8, are supported",
                            "the type of its result is not supported");
  return zb_shape_elements(out) > 0 || zb_import_refuse(n, NULL, "its result is empty");
}

bool zb_stablehlo_region_op(const zb_import_node *n, int region, char *out, size_t room) {
  MlirOperation op = zb_stablehlo_source(n);
  if (region >= mlirOperationGetNumRegions(op)) return false;
  MlirBlock block = mlirRegionGetFirstBlock(mlirOperationGetRegion(op, region));
  if (mlirBlockIsNull(block) || mlirBlockGetNumArguments(block) != 2) return false;
  MlirOperation body = mlirBlockGetFirstOperation(block);
  MlirOperation last = body.ptr ? mlirOperationGetNextInBlock(body) : body;
  bool is_chlo;
  if (!last.ptr || mlirOperationGetNumOperands(body) != 2 || mlirOperationGetNumResults(body) != 1 ||
      mlirOperationGetNumOperands(last) != 1 ||
      !mlirValueEqual(mlirOperationGetOperand(last, 0), mlirOperationGetResult(body, 0)))
    return false;
  MlirValue a = mlirBlockGetArgument(block, 0), b = mlirBlockGetArgument(block, 1);
  MlirValue lhs = mlirOperationGetOperand(body, 0), rhs = mlirOperationGetOperand(body, 1);
  const bool both =
      (mlirValueEqual(lhs, a) && mlirValueEqual(rhs, b)) || (mlirValueEqual(lhs, b) && mlirValueEqual(rhs, a));
  const char *kind = zb_stablehlo_kind(body, &is_chlo), *end = zb_stablehlo_kind(last, &is_chlo);
  if (!both || !kind || !end || strcmp(end, "return") != 0 || strlen(kind) >= room) return false;
  snprintf(out, room, "%s", kind);
  return true;
}

zb_result zb_stablehlo_check_results(zb_import_node *n) {
  if (zb_stablehlo_of(n->im)->in_lanes) return ZB_OK;
  for (int i = 0; i < n->output_count; ++i) {
    zb_shape declared;
    const zb_import_value *out = n->outputs[i];
    if (out && out->known && out->known->elements == 0) continue; /* a slice of nothing */
    if (!zb_stablehlo_result_shape(n, i, &declared) || !zb_import_check_output(n, i, &declared)) return ZB_FAIL;
  }
  return ZB_OK;
}
