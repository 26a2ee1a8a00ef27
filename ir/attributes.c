/* The list of the attributes zb.* (ir/attributes.def), and the check of their places, kinds and levels.
 * Tests: test/ir/attributes.mlir, test/ir/verify.mlir. */

#include "ir/dialect.h"
#include "ir/op_view.h"

#include <inttypes.h>
#include <mlir-c/BuiltinAttributes.h>
#include <stdio.h>
#include <string.h>

typedef enum value_kind {
  KIND_UNIT,
  KIND_STRING,
  KIND_STRINGS,
  KIND_INTEGER,
  KIND_INTEGERS,
  KIND_ENTRIES,
  KIND_REALS,
  KIND_TYPE
} value_kind;

typedef struct attribute_def {
  const char *name;
  int kind; /* as in the list: the kind, and what belongs to it */
  unsigned places;
  int first, last; /* levels */
  const char *writer, *example;
} attribute_def;

enum {
  UNIT = KIND_UNIT << 12,
  STRING = KIND_STRING << 12,
  STRINGS = KIND_STRINGS << 12,
  INTEGER = KIND_INTEGER << 12,
  REALS = KIND_REALS << 12,
  MODULE = ZB_PLACE_MODULE,
  RANK = ZB_PLACE_RANK,
  FUNCTION = ZB_PLACE_FUNCTION,
  OP = ZB_PLACE_OP,
  ARGUMENT = ZB_PLACE_ARGUMENT,
  RESULT = ZB_PLACE_RESULT
};
#define INTEGERS(columns) (KIND_INTEGERS << 12 | (columns))
#define ENTRIES(names, more) ((more) << 16 | KIND_ENTRIES << 12 | (names))

/* Keys of entries. */
enum {
  PARAM = 1,
  FROZEN = 2,
  STATE = 4,
  SUM = 8,
  USE = 16,
  CONSTANT = 32,
  LOAD = 64,
  SETTING = 128,
  NORM = 256,
  OFFSET = 512,
  TYPE = 1024,
  BUFFER = 2048,
  DEFAULTS = 4096,
  OWN = 8192,
  SHARD = 16384 /* of parameters and states that are cut */
};

#define ZB_ATTRIBUTE(ID, name, ...) const char ZB_ATTR_##ID[] = "zb." #name;
#include "ir/attributes.def"

static const attribute_def attributes[] = {
#define ZB_ATTRIBUTE(ID, name, kind, places, first, last, writer, readers, example, help)                              \
  {ZB_ATTR_##ID, kind, places, ZB_LEVEL_##first, ZB_LEVEL_##last, writer, example},
#include "ir/attributes.def"
};
enum { ATTRIBUTE_COUNT = sizeof attributes / sizeof attributes[0] };

static value_kind kind_of(const attribute_def *def) { return (value_kind)(def->kind >> 12 & 15); }

/* Numbers of a row; of entries: the keys of which each has one. */
static int columns_of(const attribute_def *def) { return def->kind & 4095; }

/* What entries have besides. */
static int more_of(const attribute_def *def) { return def->kind >> 16 | OFFSET | TYPE; }

static const struct {
  const char *name;
  value_kind kind;
} entry_keys[] = {{ZB_ATTR_PARAM, KIND_STRING},
                  {ZB_ATTR_FROZEN, KIND_STRING},
                  {ZB_ATTR_STATE, KIND_STRING},
                  {ZB_ATTR_SUM, KIND_STRING},
                  {ZB_ATTR_USE, KIND_INTEGER},
                  {ZB_ATTR_CONSTANT, KIND_STRING},
                  {ZB_ATTR_LOAD, KIND_INTEGER},
                  {ZB_ATTR_SETTING, KIND_STRING},
                  {ZB_ATTR_NORM, KIND_INTEGER},
                  {"offset", KIND_INTEGER},
                  {"type", KIND_TYPE},
                  {ZB_ATTR_BUFFER, KIND_STRING},
                  {ZB_ATTR_DEFAULTS, KIND_REALS},
                  {ZB_ATTR_OWN, KIND_INTEGER},
                  {ZB_ATTR_SHARD, KIND_STRING}};
enum { KEY_COUNT = sizeof entry_keys / sizeof entry_keys[0] };

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
    if (mlirStringRefEqual(name, mlirStringRefCreateFromCString(attributes[i].name))) return &attributes[i];
  return NULL;
}

static bool has_kind(value_kind kind, int columns, MlirAttribute value) {
  switch (kind) {
  case KIND_UNIT:
    return mlirAttributeIsAUnit(value);
  case KIND_STRING:
    return mlirAttributeIsAString(value);
  case KIND_INTEGER:
    return mlirAttributeIsAInteger(value);
  case KIND_INTEGERS:
    return mlirAttributeIsADenseI64Array(value) && mlirDenseArrayGetNumElements(value) % columns == 0;
  case KIND_STRINGS:
  case KIND_ENTRIES:
    if (!mlirAttributeIsAArray(value)) return false;
    for (intptr_t i = 0; i < mlirArrayAttrGetNumElements(value); ++i) {
      MlirAttribute entry = mlirArrayAttrGetElement(value, i);
      if (kind == KIND_STRINGS ? !mlirAttributeIsAString(entry) : !mlirAttributeIsADictionary(entry)) return false;
    }
    return true;
  case KIND_REALS:
    return mlirAttributeIsADenseF64Array(value);
  case KIND_TYPE:
    return mlirAttributeIsAType(value);
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
  char where[64];
  zb_name_hint text = zb_name_hint_of(name, candidates, count, "names that begin with zb. are those of zbc itself");
  return zb_op_error_at(op, text.hint, "unknown attribute '%s' on %s", text.name, here(place, index, where));
}

/* "write it as {zb.stage = 0}". */
static const char *example_hint(const attribute_def *def, char hint[256]) {
  snprintf(hint, 256, "write it as {%s%s%s}", def->name, *def->example ? " = " : "", def->example);
  return hint;
}

/* The bit of a key of an entry; 0 after reporting. */
static int check_key(MlirOperation op, const attribute_def *def, MlirNamedAttribute key, intptr_t entry,
                     const char *where) {
  MlirStringRef name = mlirIdentifierStr(key.name);
  const char *candidates[KEY_COUNT];
  char hint[256];
  int count = 0;
  for (int k = 0; k < KEY_COUNT; ++k) {
    if (!((columns_of(def) | more_of(def)) >> k & 1)) continue;
    candidates[count++] = entry_keys[k].name;
    if (!mlirStringRefEqual(name, mlirStringRefCreateFromCString(entry_keys[k].name))) continue;
    if (has_kind(entry_keys[k].kind, 1, key.attribute)) return 1 << k;
    zb_op_error_at(op, example_hint(def, hint), "attribute '%s' of %s: '%s' of entry %" PRIdPTR " has the wrong kind",
                   def->name, where, entry_keys[k].name, entry);
    return 0;
  }
  zb_name_hint text = zb_name_hint_of(name, candidates, count, example_hint(def, hint));
  zb_op_error_at(op, text.hint, "attribute '%s' of %s: entry %" PRIdPTR " has the unknown key '%s'", def->name, where,
                 entry, text.name);
  return 0;
}

/* Every entry has exactly one of its names, all of its other keys (SHARD where it is cut), and nothing else. */
static zb_result check_entries(MlirOperation op, const attribute_def *def, MlirAttribute list, const char *where) {
  for (intptr_t i = 0; i < mlirArrayAttrGetNumElements(list); ++i) {
    MlirAttribute entry = mlirArrayAttrGetElement(list, i);
    int found = 0;
    for (intptr_t k = 0; k < mlirDictionaryAttrGetNumElements(entry); ++k) {
      int bit = check_key(op, def, mlirDictionaryAttrGetElement(entry, k), i, where);
      if (!bit) return ZB_FAIL;
      found |= bit;
    }
    int names = found & columns_of(def), wrong = more_of(def) & ~found & ~SHARD & ~USE;
    bool is_one = names && !(names & (names - 1));
    if (is_one && !wrong) continue;
    char keys[128] = "", hint[256];
    size_t used = 0;
    for (int k = 0; k < KEY_COUNT; ++k)
      if ((is_one ? wrong : columns_of(def)) >> k & 1)
        used += (size_t)snprintf(keys + used, sizeof keys - used, "%s'%s'", used ? is_one ? " and " : " or " : "",
                                 entry_keys[k].name);
    return zb_op_error_at(op, example_hint(def, hint), "attribute '%s' of %s: entry %" PRIdPTR " needs %s%s", def->name,
                          where, i, is_one ? "" : "one key, ", keys);
  }
  return ZB_OK;
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
  if (!has_kind(kind_of(def), columns_of(def), attribute.attribute)) {
    example_hint(def, hint);
    if (kind_of(def) == KIND_INTEGERS && mlirAttributeIsADenseI64Array(attribute.attribute))
      return zb_op_error_at(op, hint, "attribute '%s' of %s holds rows of %d numbers, got %" PRIdPTR " numbers",
                            def->name, here(place, index, where), columns_of(def),
                            mlirDenseArrayGetNumElements(attribute.attribute));
    return zb_op_error_at(op, hint, "attribute '%s' of %s has the wrong kind", def->name, here(place, index, where));
  }
  if (kind_of(def) == KIND_ENTRIES && !check_entries(op, def, attribute.attribute, here(place, index, where)))
    return ZB_FAIL;
  if (def->first <= level && level <= def->last) return ZB_OK;
  snprintf(hint, sizeof hint, "it stands in programs of level '%s' to '%s'; who writes it: %s",
           zb_level_names[def->first], zb_level_names[def->last], def->writer);
  return zb_op_error_at(op, hint, "attribute '%s' of %s is not known at level '%s'", def->name,
                        here(place, index, where), zb_level_names[level]);
}
