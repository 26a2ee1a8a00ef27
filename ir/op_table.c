/* The registry of op descriptions: the rows of zb/ops.def, then what embedders registered.
 *
 * Rows are found through one open-addressing hash of the name, where zb ops are entered without "zb.". Foreign rows
 * have a dialect, hence a dot, so the two never meet. Reading is thread-safe; zb_op_register is not.
 *
 * Tests: test/ir/op_table_test.c.
 */
#include "ir/op.h"

#include "ir/scope.h"
#include "runtime/base/assert.h"
#include "runtime/base/memory.h"

#include <pthread.h>
#include <string.h>

#define ZB_OP(name, op_class) extern const zb_op_def zb_op_##name;
#define ZB_GRAD(name, op_class) extern const zb_op_def zb_op_##name##_grad;
#include "zb/ops.def"
#undef ZB_OP
#undef ZB_GRAD

static const zb_op_def *const builtin[] = {
#define ZB_OP(name, op_class) &zb_op_##name,
#define ZB_GRAD(name, op_class) &zb_op_##name##_grad,
#include "zb/ops.def"
#undef ZB_OP
#undef ZB_GRAD
};

enum { BUILTIN_COUNT = sizeof builtin / sizeof builtin[0] };

static struct {
  const zb_op_def **rows; /* builtin ones first; NULL until an embedder registers (then a copy that grows) */
  size_t count, capacity;
  int32_t *slots;    /* row number + 1, 0 = free */
  size_t slot_count; /* a power of two, at least twice `count` */
  int32_t first_slots[1024];
} registry;
static pthread_once_t registry_once = PTHREAD_ONCE_INIT;

static const zb_op_def *row_at(size_t index) { return registry.rows ? registry.rows[index] : builtin[index]; }

/* Of its length, its beginning and its end, at most eight bytes each: every op of a program is looked up many times,
 * and few of a thousand names are alike in all three. */
static size_t hash_of(const char *name, size_t length) {
  enum { WORD_BYTES = sizeof(uint64_t) };
  uint64_t begin = 0, end = 0;
  memcpy(&begin, name, length < WORD_BYTES ? length : WORD_BYTES);
  if (length > WORD_BYTES) memcpy(&end, name + length - WORD_BYTES, WORD_BYTES);
  const uint64_t all = (begin ^ (end << 31 | end >> 33) ^ length) * UINT64_C(0x9e3779b97f4a7c15);
  return (size_t)(all ^ all >> 32);
}

/* The slot of a name, or the free slot where it would go. */
static size_t find_slot(const char *name, size_t length) {
  size_t mask = registry.slot_count - 1;
  size_t slot = hash_of(name, length) & mask;
  for (;; slot = (slot + 1) & mask) {
    int32_t row = registry.slots[slot];
    if (row == 0) return slot;
    const char *other = row_at((size_t)row - 1)->name;
    if (strncmp(other, name, length) == 0 && other[length] == '\0') return slot;
  }
}

static void enter(size_t row) {
  const char *name = row_at(row)->name;
  size_t slot = find_slot(name, strlen(name));
  ZB_ASSERT(registry.slots[slot] == 0);
  registry.slots[slot] = (int32_t)row + 1;
}

static void build_registry(void) {
  registry.count = BUILTIN_COUNT;
  registry.slots = registry.first_slots;
  registry.slot_count = sizeof registry.first_slots / sizeof registry.first_slots[0];
  ZB_ASSERT(registry.count * 2 <= registry.slot_count);
  for (size_t row = 0; row < registry.count; ++row)
    enter(row);
}

static const zb_op_def *find(const char *name, size_t length) {
  pthread_once(&registry_once, build_registry);
  int32_t row = registry.slots[find_slot(name, length)];
  return row ? row_at((size_t)row - 1) : NULL;
}

static const zb_op_def *find_op(MlirStringRef name) {
  if (name.length > 3 && memcmp(name.data, "zb.", 3) == 0) return find(name.data + 3, name.length - 3);
  if (!memchr(name.data, '.', name.length)) return NULL;
  return find(name.data, name.length);
}

const zb_op_def *zb_op_find(MlirOperation op) {
  const MlirIdentifier name = mlirOperationGetName(op);
  bool known;
  zb_kept_row *kept = zb_kept_row_at(name, &known);
  if (known) return kept->row;
  const zb_op_def *row = find_op(mlirIdentifierStr(name));
  if (kept) kept->row = row;
  return row;
}

const zb_op_def *zb_op_find_name(const char *full_name) {
  if (strncmp(full_name, "zb.", 3) == 0) full_name += 3;
  return find(full_name, strlen(full_name));
}

int zb_op_count(void) {
  pthread_once(&registry_once, build_registry);
  return (int)registry.count;
}

const zb_op_def *zb_op_at(int index) {
  ZB_ASSERT(index >= 0 && index < zb_op_count());
  return row_at((size_t)index);
}

int zb_op_builtin_count(void) { return BUILTIN_COUNT; }

/* Grows the table by one row, moving the builtin rows to the heap the first time. */
static zb_status reserve_row(void) {
  size_t needed = registry.count + 1;
  bool first = !registry.rows;
  if (!zb_grow((void **)&registry.rows, &registry.capacity, needed, sizeof registry.rows[0])) return ZB_OUT_OF_MEMORY();
  if (first) memcpy(registry.rows, builtin, sizeof builtin);
  if (needed * 2 <= registry.slot_count) return NULL;
  size_t slot_count = registry.slot_count * 2;
  int32_t *slots = zb_alloc(slot_count * sizeof slots[0]);
  if (!slots) return ZB_OUT_OF_MEMORY();
  if (registry.slots != registry.first_slots) zb_free(registry.slots);
  registry.slots = slots;
  registry.slot_count = slot_count;
  for (size_t row = 0; row < registry.count; ++row)
    enter(row);
  return NULL;
}

/* What is wrong with a list of names, of which one may be marked; NULL: nothing. */
static const char *wrong_names(const char *names) {
  int marked = 0, index = 0;
  bool ended = false;
  zb_op_name name;
  for (; zb_op_name_at(names, index, &name); ++index) {
    if (name.length == 0 || strcspn(name.text, "?*") < (size_t)name.length)
      return "a name is empty, or has ? or * in it";
    if ((name.optional || name.variadic) && ++marked > 1) return "more than one is marked with ? or *";
    if (ended) return "one stands behind that for any number (*)";
    ended = name.variadic;
  }
  return index == zb_op_names_arity(names).named ? NULL : "a name is empty";
}

/* What an embedder's row must say; NULL: it does. */
static zb_status check_row(const zb_op_def *def) {
  const char *name = def && def->name ? def->name : "", *dot = strchr(name, '.');
  if (!dot || dot == name || !dot[1])
    return zb_status_hint(ZB_ERROR(USAGE, "an op row must be named with its dialect, got '%s'", name),
                          "for example 'pd_op.matmul'");
  if (strncmp(name, "zb.", 3) == 0)
    return zb_status_hint(ZB_ERROR(USAGE, "op '%s': the dialect zb has its own rows", name),
                          "name the op by a dialect of your own");
  if (zb_op_find_name(name))
    return zb_status_hint(ZB_ERROR(USAGE, "op '%s' is registered already", name),
                          "a row is registered once for the whole process");
  if (def->op_class != ZB_CLASS_FOREIGN)
    return zb_status_hint(ZB_ERROR(USAGE, "op '%s': its class is not FOREIGN", name),
                          "write .op_class = ZB_CLASS_FOREIGN: the other classes are those of zb ops");
  if ((def->traits & ZB_TRAIT_UPDATE) && !def->alias)
    return zb_status_hint(ZB_ERROR(USAGE, "op '%s' has the trait UPDATE and no alias", name),
                          "say which operand each result updates in place");
  const int operands = zb_op_names_arity(def->operands).named, results = zb_op_names_arity(def->results).named;
  if (operands > ZB_VIEW_OPERANDS || results > ZB_PLACED_RESULTS)
    return ZB_ERROR(USAGE, "op '%s' has more than %d operands or %d results", name, ZB_VIEW_OPERANDS,
                    ZB_PLACED_RESULTS);
  const char *const lists[] = {def->operands, def->results};
  for (int i = 0; i < 2; ++i) {
    const char *wrong = wrong_names(lists[i]);
    if (wrong)
      return zb_status_hint(
          ZB_ERROR(USAGE, "op '%s': its %s '%s': %s", name, i ? "results" : "operands", lists[i], wrong),
          "as in \"x, scale, bias?\" or \"first, second, rest*\"");
  }
  if (def->counted < 0 || def->counted > operands)
    return zb_status_hint(
        ZB_ERROR(USAGE, "op '%s' counts operations of operand %d of %d", name, def->counted - 1, operands),
        "operands are numbered from 0: ZB_OPERAND(k); 0 counts those of result 0");
  return NULL;
}

zb_status zb_op_register(const zb_op_def *def) {
  pthread_once(&registry_once, build_registry);
  ZB_TRY(check_row(def));
  ZB_TRY(reserve_row());
  registry.rows[registry.count] = def;
  enter(registry.count++);
  return NULL;
}

/* ---- Names of operands and results ("x, scale, bias?", "first, second, rest*") ---- */

bool zb_op_name_at(const char *names, int index, zb_op_name *out) {
  if (!names) return false;
  const char *at = names;
  for (int i = 0; *at; ++i) {
    while (*at == ' ' || *at == ',')
      ++at;
    const char *end = at;
    while (*end && *end != ',')
      ++end;
    if (i == index && end > at) {
      char last = end[-1];
      out->optional = last == '?';
      out->variadic = last == '*';
      out->length = (int)(end - at) - (out->optional || out->variadic ? 1 : 0);
      out->text = at;
      return true;
    }
    at = end;
  }
  return false;
}

zb_op_arity zb_op_names_arity(const char *names) {
  zb_op_arity arity = {.optional = -1, .variadic = -1};
  if (!names || !*names) return arity;
  for (const char *at = names;; ++at) {
    if (*at == '?') arity.optional = arity.named;
    if (*at == '*') arity.variadic = arity.named;
    if (*at == ',' || *at == '\0') ++arity.named;
    if (*at == '\0') break;
  }
  arity.least = arity.named - (arity.optional >= 0) - (arity.variadic >= 0);
  return arity;
}
