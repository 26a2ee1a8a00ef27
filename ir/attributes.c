/* The list of the attributes zb.* (ir/attributes.def), and whether one stands where it may.
 * Tests: test/ir/attributes.mlir, test/ir/verify.mlir. */

#include "ir/dialect.h"

#include "runtime/base/words.h"

#include <inttypes.h>
#include <mlir-c/BuiltinAttributes.h>
#include <stdio.h>
#include <string.h>

typedef enum value_kind { KIND_UNIT, KIND_STRING, KIND_STRINGS, KIND_INTEGER, KIND_INTEGERS, KIND_ENTRIES } value_kind;

typedef struct attribute_def {
  const char *name;
  size_t length;
  value_kind kind;
  int columns; /* of INTEGERS */
  unsigned places;
  int first, last; /* levels */
  const char *writer, *example;
} attribute_def;

enum {
  UNIT = KIND_UNIT << 8,
  STRING = KIND_STRING << 8,
  STRINGS = KIND_STRINGS << 8,
  INTEGER = KIND_INTEGER << 8,
  ENTRIES = KIND_ENTRIES << 8,
  MODULE = ZB_PLACE_MODULE,
  RANK = ZB_PLACE_RANK,
  FUNCTION = ZB_PLACE_FUNCTION,
  OP = ZB_PLACE_OP,
  ARGUMENT = ZB_PLACE_ARGUMENT,
  RESULT = ZB_PLACE_RESULT
};
#define INTEGERS(columns) (KIND_INTEGERS << 8 | (columns))

#define ZB_ATTRIBUTE(ID, name, ...) const char ZB_ATTR_##ID[] = "zb." #name;
#include "ir/attributes.def"

static const attribute_def attributes[] = {
#define ZB_ATTRIBUTE(ID, name, kind, places, first, last, writer, readers, example, help)                              \
  {ZB_ATTR_##ID, sizeof ZB_ATTR_##ID - 1, (value_kind)((kind) >> 8), (kind) & 255,                                     \
   places,       ZB_LEVEL_##first,        ZB_LEVEL_##last,           writer,                                           \
   example},
#include "ir/attributes.def"
};
enum { ATTRIBUTE_COUNT = sizeof attributes / sizeof attributes[0] };

const char *const zb_level_names[] = {
#define ZB_LEVEL(name) #name,
    ZB_LEVELS(ZB_LEVEL)
#undef ZB_LEVEL
};

int zb_level_index(const char *level) {
  for (int i = 0; i < ZB_LEVEL_COUNT; ++i)
    if (strcmp(zb_level_names[i], level) == 0) return i;
  return -1;
}

static const attribute_def *find(MlirStringRef name) {
  for (int i = 0; i < ATTRIBUTE_COUNT; ++i)
    if (attributes[i].length == name.length && memcmp(attributes[i].name, name.data, name.length) == 0)
      return &attributes[i];
  return NULL;
}

static bool has_kind(const attribute_def *def, MlirAttribute value) {
  switch (def->kind) {
  case KIND_UNIT:
    return mlirAttributeIsAUnit(value);
  case KIND_STRING:
    return mlirAttributeIsAString(value);
  case KIND_INTEGER:
    return mlirAttributeIsAInteger(value);
  case KIND_INTEGERS:
    return mlirAttributeIsADenseI64Array(value) && mlirDenseArrayGetNumElements(value) % def->columns == 0;
  case KIND_STRINGS:
  case KIND_ENTRIES:
    if (!mlirAttributeIsAArray(value)) return false;
    for (intptr_t i = 0; i < mlirArrayAttrGetNumElements(value); ++i) {
      MlirAttribute entry = mlirArrayAttrGetElement(value, i);
      if (def->kind == KIND_STRINGS ? !mlirAttributeIsAString(entry) : !mlirAttributeIsADictionary(entry)) return false;
    }
    return true;
  }
  return false;
}

static const char *place_name(unsigned place) {
  static const char *const names[] = {"the module", "the module of a rank", "a function",
                                      "an op",      "an argument",          "a result"};
  int i = 0;
  while (!(place >> i & 1))
    ++i;
  return names[i];
}

/* "argument 2", "the op". */
static const char *here(zb_attribute_place place, intptr_t index, char text[64]) {
  if (place < ZB_PLACE_ARGUMENT)
    snprintf(text, 64, "%s", place == ZB_PLACE_MODULE ? "the module" : "the op");
  else
    snprintf(text, 64, "%s %" PRIdPTR, place == ZB_PLACE_RESULT ? "result" : "argument", index);
  return text;
}

static zb_result unknown(MlirOperation op, MlirStringRef name, zb_attribute_place place, intptr_t index, int level) {
  const char *candidates[ATTRIBUTE_COUNT];
  int count = 0;
  for (int i = 0; i < ATTRIBUTE_COUNT; ++i)
    if (attributes[i].places & place && attributes[i].first <= level && level <= attributes[i].last)
      candidates[count++] = attributes[i].name;
  char word[64], where[64], hint[96] = "names that begin with zb. are those of zbc itself";
  snprintf(word, sizeof word, "%.*s", (int)(name.length < 63 ? name.length : 63), name.data);
  const char *nearest = zb_nearest(word, candidates, count);
  if (nearest) snprintf(hint, sizeof hint, "did you mean '%s'?", nearest);
  return zb_op_error_at(op, hint, "unknown attribute '%s' on %s", word, here(place, index, where));
}

zb_result zb_check_attribute(MlirOperation op, MlirNamedAttribute attribute, zb_attribute_place place, intptr_t index,
                             int level) {
  MlirStringRef name = mlirIdentifierStr(attribute.name);
  if (name.length < 3 || memcmp(name.data, "zb.", 3) != 0) return ZB_OK;
  const attribute_def *def = find(name);
  char hint[256], where[64];
  if (!def) return unknown(op, name, place, index, level);
  if (!(def->places & place)) {
    snprintf(hint, sizeof hint, "it belongs on %s", place_name(def->places));
    return zb_op_error_at(op, hint, "attribute '%s' does not belong on %s", def->name, here(place, index, where));
  }
  if (!has_kind(def, attribute.attribute)) {
    snprintf(hint, sizeof hint, "write it as {%s%s%s}", def->name, *def->example ? " = " : "", def->example);
    if (def->columns > 1 && mlirAttributeIsADenseI64Array(attribute.attribute))
      return zb_op_error_at(op, hint, "attribute '%s' of %s holds rows of %d numbers, got %" PRIdPTR " numbers",
                            def->name, here(place, index, where), def->columns,
                            mlirDenseArrayGetNumElements(attribute.attribute));
    return zb_op_error_at(op, hint, "attribute '%s' of %s has the wrong kind", def->name, here(place, index, where));
  }
  if (def->first <= level && level <= def->last) return ZB_OK;
  snprintf(hint, sizeof hint, "it stands in programs of level '%s' to '%s'; who writes it: %s",
           zb_level_names[def->first], zb_level_names[def->last], def->writer);
  return zb_op_error_at(op, hint, "attribute '%s' of %s is not known at level '%s'", def->name,
                        here(place, index, where), zb_level_names[level]);
}
