/* What is kept of MLIR's answers within a scope: see ir/scope.h. Each table has one place for a hash; what comes later
 * takes it. Tests: test/ir/scope_test.c. */
#include "ir/scope.h"

#include <mlir-c/BuiltinAttributes.h>
#include <mlir-c/BuiltinTypes.h>
#include <stdatomic.h>
#include <string.h>

enum { NUMBERS_LOG = 11, TEXTS_LOG = 10, SHAPES_LOG = 9, ROWS_LOG = 9 };

typedef struct kept_number {
  uint64_t scope;
  int64_t value;
  MlirAttribute attribute;
} kept_number;

/* The text is that of the context, which ends in NUL. */
typedef struct kept_text {
  uint64_t scope;
  const char *text;
  const void *unique;
} kept_text;

static _Thread_local zb_scope here;
static _Thread_local kept_number numbers[1 << NUMBERS_LOG];
static _Thread_local kept_text strings[1 << TEXTS_LOG], names[1 << TEXTS_LOG];
static _Thread_local zb_kept_shape shapes[1 << SHAPES_LOG];
static _Thread_local zb_kept_row rows[1 << ROWS_LOG];

zb_scope zb_scope_set(zb_scope scope) {
  const zb_scope before = here;
  here = scope;
  return before;
}

zb_scope zb_scope_here(void) { return here; }

zb_scope zb_scope_of(MlirContext context) {
  static _Atomic uint64_t last;
  if (here.number && here.context == context.ptr) return here;
  return (zb_scope){.number = atomic_fetch_add(&last, 1) + 1, .context = context.ptr};
}

static bool keeps(MlirContext context) { return here.number && here.context == context.ptr; }

static size_t place_of(uint64_t bits, int log) { return (size_t)(bits * UINT64_C(0x9e3779b97f4a7c15) >> (64 - log)); }

static size_t place_of_address(const void *address, int log) { return place_of((uint64_t)(uintptr_t)address, log); }

static size_t place_of_text(const char *text, int log) {
  uint64_t hash = 0;
  for (; *text; ++text)
    hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
  return place_of(hash, log);
}

MlirAttribute zb_kept_i64(MlirContext context, int64_t value) {
  if (!keeps(context)) return mlirIntegerAttrGet(mlirIntegerTypeGet(context, 64), value);
  kept_number *kept = &numbers[place_of((uint64_t)value, NUMBERS_LOG)];
  if (kept->scope != here.number || kept->value != value)
    *kept = (kept_number){here.number, value, mlirIntegerAttrGet(mlirIntegerTypeGet(context, 64), value)};
  return kept->attribute;
}

static bool is_kept(const kept_text *kept, const char *text) {
  return kept->scope == here.number && strcmp(kept->text, text) == 0;
}

MlirAttribute zb_kept_string(MlirContext context, const char *text) {
  const MlirStringRef whole = mlirStringRefCreateFromCString(text);
  if (!keeps(context) || !whole.length) return mlirStringAttrGet(context, whole);
  kept_text *kept = &strings[place_of_text(text, TEXTS_LOG)];
  if (is_kept(kept, text)) return (MlirAttribute){kept->unique};
  const MlirAttribute attribute = mlirStringAttrGet(context, whole);
  *kept = (kept_text){here.number, mlirStringAttrGetValue(attribute).data, attribute.ptr};
  return attribute;
}

MlirIdentifier zb_kept_name(MlirContext context, const char *text) {
  const MlirStringRef whole = mlirStringRefCreateFromCString(text);
  if (!keeps(context) || !whole.length) return mlirIdentifierGet(context, whole);
  kept_text *kept = &names[place_of_text(text, TEXTS_LOG)];
  if (is_kept(kept, text)) return (MlirIdentifier){(void *)(uintptr_t)kept->unique};
  const MlirIdentifier name = mlirIdentifierGet(context, whole);
  *kept = (kept_text){here.number, mlirIdentifierStr(name).data, name.ptr};
  return name;
}

zb_kept_shape *zb_kept_shape_at(MlirType type, bool *known) {
  *known = false;
  if (!here.number || mlirTypeGetContext(type).ptr != here.context) return NULL;
  zb_kept_shape *kept = &shapes[place_of_address(type.ptr, SHAPES_LOG)];
  *known = kept->scope == here.number && kept->type == type.ptr;
  if (!*known) *kept = (zb_kept_shape){.scope = here.number, .type = type.ptr};
  return kept;
}

zb_kept_row *zb_kept_row_at(MlirIdentifier name, bool *known) {
  *known = false;
  if (!here.number || mlirIdentifierGetContext(name).ptr != here.context) return NULL;
  zb_kept_row *kept = &rows[place_of_address(name.ptr, ROWS_LOG)];
  *known = kept->scope == here.number && kept->name == name.ptr;
  if (!*known) *kept = (zb_kept_row){.scope = here.number, .name = name.ptr};
  return kept;
}
