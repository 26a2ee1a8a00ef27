/* Arguments of a call that are no tensors: attributes, by the names that the op's schema gives them.
 * Tests: test/ir/import/aten. */
#include "ir/import/aten/aten.h"

#include <mlir-c/BuiltinAttributes.h>
#include <mlir-c/BuiltinTypes.h>
#include <stdio.h>

MlirAttribute zb_aten_attribute(const zb_import_node *n, const char *name) {
  return mlirOperationGetAttributeByName(zb_aten_source(n), mlirStringRefCreateFromCString(name));
}

bool zb_aten_has(const zb_import_node *n, const char *name) { return zb_aten_attribute(n, name).ptr != NULL; }

static void refuse_kind(zb_import_node *n, const char *name, const char *wanted) {
  zb_import_refuse(n, NULL, "argument '%s' is no %s", name, wanted);
  n->im->failed = true;
}

static bool is_integer(MlirAttribute attribute) {
  if (!mlirAttributeIsAInteger(attribute)) return false;
  MlirType type = mlirAttributeGetType(attribute);
  return mlirTypeIsAInteger(type) && mlirIntegerTypeIsSignless(type) && mlirIntegerTypeGetWidth(type) <= 64;
}

int64_t zb_aten_int(zb_import_node *n, const char *name, int64_t fallback) {
  MlirAttribute attribute = zb_aten_attribute(n, name);
  if (!attribute.ptr) return fallback;
  if (mlirAttributeIsABool(attribute)) return mlirBoolAttrGetValue(attribute);
  if (is_integer(attribute)) return mlirIntegerAttrGetValueInt(attribute);
  refuse_kind(n, name, "integer");
  return fallback;
}

double zb_aten_real(zb_import_node *n, const char *name, double fallback) {
  MlirAttribute attribute = zb_aten_attribute(n, name);
  if (!attribute.ptr) return fallback;
  return mlirAttributeIsAFloat(attribute) ? mlirFloatAttrGetValueDouble(attribute) : (double)zb_aten_int(n, name, 0);
}

zb_dtype zb_aten_number_type(const zb_import_node *n, const char *name) {
  MlirAttribute attribute = zb_aten_attribute(n, name);
  if (attribute.ptr && mlirAttributeIsABool(attribute)) return ZB_I1;
  return attribute.ptr && mlirAttributeIsAInteger(attribute) ? ZB_I64 : ZB_F32;
}

bool zb_aten_flag(zb_import_node *n, const char *name, bool fallback) { return zb_aten_int(n, name, fallback) != 0; }

void zb_aten_string(zb_import_node *n, const char *name, char *out, size_t room) {
  MlirAttribute attribute = zb_aten_attribute(n, name);
  *out = '\0';
  if (!attribute.ptr) return;
  const bool is_string = mlirAttributeIsAString(attribute);
  MlirStringRef text = is_string ? mlirStringAttrGetValue(attribute) : (MlirStringRef){NULL, 0};
  if (is_string && text.length < room)
    snprintf(out, room, "%.*s", (int)text.length, text.data);
  else
    refuse_kind(n, name, "short text");
}

bool zb_aten_ints(zb_import_node *n, const char *name, int64_t *out, int room, int *count) {
  MlirAttribute attribute = zb_aten_attribute(n, name);
  *count = 0;
  if (!attribute.ptr) return false;
  if (is_integer(attribute)) return out[(*count)++] = mlirIntegerAttrGetValueInt(attribute), true;
  if (!mlirAttributeIsADenseI64Array(attribute)) return refuse_kind(n, name, "list of integers"), false;
  const intptr_t found = mlirDenseArrayGetNumElements(attribute);
  if (found > room) {
    n->im->failed = true;
    return zb_import_refuse(n, NULL, "argument '%s' has %lld entries, expected at most %d", name, (long long)found,
                            room);
  }
  for (intptr_t i = 0; i < found; ++i)
    out[i] = mlirDenseI64ArrayGetElement(attribute, i);
  *count = (int)found;
  return true;
}

bool zb_aten_axis(zb_import_node *n, const char *name, int64_t fallback, int rank, int *out) {
  const int64_t axis = zb_aten_int(n, name, fallback);
  if (n->im->failed) return false;
  if (rank < 1) return zb_import_refuse(n, NULL, "the tensor has no dimension '%s'", name);
  return zb_import_axis(n, axis, rank, out);
}

zb_result zb_aten_refuse_argument(zb_import_node *n, const char *name, const char *hint) {
  return zb_import_refuse(n, hint, "its argument '%s' is not supported as it is", name);
}
