/* What a rank of a plan has in its arena: parameters, buffers, optimizer state, constants, settings. Offsets are those
 * that zb-allocate wrote. Tests: test/passes/parameter-products.mlir; test/e2e trains what it makes. */

#include "passes/stages/plan/emit_parts.h"
#include "passes/function.h"
#include "passes/stages/frames.h"
#include "runtime/plan/file/tensors.h"

#include <mlir-c/BuiltinAttributes.h>
#include <mlir-c/BuiltinTypes.h>
#include <stdio.h>
#include <string.h>

void *zb_emit_keep(zb_emitter *e, const void *items, size_t count, size_t bytes) {
  void *kept = zb_plan_alloc(e->memory, (count + 1) * bytes);
  if (kept && count) memcpy(kept, items, count * bytes);
  return kept;
}

/* ---- Tables of what lives in the arena ---- */

static zb_status fill_tensor(zb_emitter *e, const zb_entry *entry, const char *name, zb_region_kind region,
                             zb_plan_tensor *out) {
  out->name = zb_plan_strdup(e->memory, name);
  out->offset = e->rank->regions[region].offset + (uint64_t)entry->offset;
  if (!out->name) return ZB_OUT_OF_MEMORY();
  const bool known = !mlirTypeIsNull(entry->type) && zb_type_shape(entry->type, &out->shape);
  if (known) return zb_plan_set_cut(e->memory, out, entry->port.shard);
  return ZB_ERROR(INVALID, "%s is no static tensor", name);
}

/* Where the final gradient of each parameter lies: in the accumulator of its last use on this rank (zb-autodiff sums
 * from the last use to the first, zb-memory in place). Name -> arena offset. */
static zb_status map_gradients(zb_emitter *e, zb_map *offsets) {
  const zb_entries gradients = zb_entries_get(e->rank_op, pool_tables[POOL_GRADIENTS]);
  zb_map *last_use = zb_arena_map(&e->arena);
  ZB_TRY(zb_arena_status(&e->arena));
  for (int i = 0; i < gradients.count; ++i) {
    const zb_entry entry = zb_entries_at(gradients, i);
    const char *name = entry.port.sum;
    if (!name || entry.port.use < zb_map_get_or(last_use, name, -1)) continue;
    int64_t offset = (int64_t)e->rank->regions[ZB_REGION_GRADIENTS].offset + entry.offset;
    if (!zb_map_set(last_use, name, entry.port.use) || !zb_map_set(offsets, name, offset)) return ZB_OUT_OF_MEMORY();
  }
  return NULL;
}

static zb_status emit_states(zb_emitter *e) {
  const zb_entries states = zb_entries_get(e->rank_op, pool_tables[POOL_STATE]);
  e->rank->states = ZB_EMIT_NEW(e, states.count, zb_plan_tensor);
  if (!e->rank->states) return ZB_OUT_OF_MEMORY();
  for (int i = 0; i < states.count; ++i) {
    const zb_entry entry = zb_entries_at(states, i);
    ZB_TRY(fill_tensor(e, &entry, entry.port.state ? entry.port.state : "", ZB_REGION_STATE,
                       &e->rank->states[e->rank->state_count++]));
  }
  return NULL;
}

/* States of a parameter stand together in the table: "NAME.exp_avg", "NAME.exp_avg_sq". */
static void find_states(const zb_plan_rank *rank, const char *name, const zb_map *first_state, zb_plan_parameter *out) {
  out->state_begin = (int)zb_map_get_or(first_state, name, 0);
  size_t length = strlen(name);
  for (int i = out->state_begin; i < rank->state_count; ++i) {
    const char *state = rank->states[i].name, *dot = strrchr(state, '.');
    if (!dot || (size_t)(dot - state) != length || memcmp(state, name, length) != 0) break;
    ++out->state_count;
  }
}

static zb_status map_states(const zb_plan_rank *rank, zb_map *first_state) {
  char name[512];
  for (int i = rank->state_count - 1; i >= 0; --i) {
    const char *dot = strrchr(rank->states[i].name, '.');
    snprintf(name, sizeof name, "%.*s", dot ? (int)(dot - rank->states[i].name) : 0, rank->states[i].name);
    if (!zb_map_set(first_state, name, i)) return ZB_OUT_OF_MEMORY();
  }
  return NULL;
}

const char *zb_emit_parameter_name(const zb_entry *entry) {
  if (entry->port.buffer) return entry->port.buffer;
  return entry->port.param ? entry->port.param : entry->port.frozen;
}

static zb_status emit_parameters(zb_emitter *e, const zb_map *owners, const zb_map *first_state,
                                 const zb_map *gradients) {
  const zb_entries own = zb_entries_get(e->rank_op, pool_tables[POOL_PARAMETERS]);
  const zb_entries buffers = zb_entries_get(e->rank_op, pool_tables[POOL_BUFFERS]);
  e->rank->parameters = ZB_EMIT_NEW(e, own.count + buffers.count, zb_plan_parameter);
  if (!e->rank->parameters) return ZB_OUT_OF_MEMORY();
  for (int i = 0; i < own.count + buffers.count; ++i) {
    const zb_entry entry = i < own.count ? zb_entries_at(own, i) : zb_entries_at(buffers, i - own.count);
    zb_plan_parameter *p = &e->rank->parameters[e->rank->parameter_count++];
    const char *name = zb_emit_parameter_name(&entry);
    p->trained = entry.port.param != NULL;
    p->buffer = entry.port.buffer != NULL;
    ZB_TRY(fill_tensor(e, &entry, name ? name : "", p->buffer ? ZB_REGION_BUFFERS : ZB_REGION_PARAMETERS, &p->tensor));
    p->owner = zb_map_get_or(owners, p->tensor.name, -1) == e->rank->rank;
    if (p->owner) e->model_hash += zb_plan_tensor_hash(&p->tensor); /* a sum: the order of ranks does not matter */
    find_states(e->rank, p->tensor.name, first_state, p);
    p->gradient_offset = zb_map_get_or(gradients, p->tensor.name, -1);
  }
  return NULL;
}

zb_status zb_emit_tables(zb_emitter *e, const zb_map *owners) {
  zb_map *first_state = zb_arena_map(&e->arena), *gradients = zb_arena_map(&e->arena);
  ZB_TRY(zb_arena_status(&e->arena));
  ZB_TRY(map_gradients(e, gradients));
  ZB_TRY(emit_states(e));
  ZB_TRY(map_states(e->rank, first_state));
  return emit_parameters(e, owners, first_state, gradients);
}

/* ---- Constants ---- */

/* Bytes of a dense attribute, a splat written out; i1 as bytes. */
static uint8_t *dense_bytes(zb_emitter *e, MlirAttribute value, const zb_shape *shape) {
  size_t element = zb_dtype_bytes(shape->dtype), count = (size_t)zb_shape_elements(shape);
  uint8_t *bytes = zb_plan_alloc(e->memory, element * count + 1);
  if (!bytes || mlirAttributeIsNull(value) || !mlirAttributeIsADenseElements(value)) return NULL;
  bool splat = mlirDenseElementsAttrIsSplat(value);
  if (shape->dtype == ZB_I1) {
    for (size_t i = 0; i < count; ++i)
      bytes[i] = splat ? (uint8_t)mlirDenseElementsAttrGetBoolSplatValue(value)
                       : (uint8_t)mlirDenseElementsAttrGetBoolValue(value, (intptr_t)i);
    return bytes;
  }
  const uint8_t *raw = mlirDenseElementsAttrGetRawData(value);
  for (size_t i = 0; i < count; ++i)
    memcpy(bytes + i * element, raw + (splat ? 0 : i * element), element);
  return bytes;
}

/* The constants within functions, each place once. */
static zb_status add_inline_constants(zb_emitter *e) {
  zb_map *seen = zb_arena_map_pointer(&e->arena);
  for (int i = 0; i < e->subprograms.count; ++i)
    ZB_FOR_EACH_NODE(node, &e->subprograms.infos[i].workspace.graph) {
      MlirOperation op = node->op;
      if (!zb_op_is(op, "zb.constant")) continue;
      const uint64_t offset = zb_constant_address(op);
      if (!seen || zb_map_get(seen, (void *)(uintptr_t)(offset + 1), NULL)) continue;
      zb_arena_map_set(&e->arena, seen, (void *)(uintptr_t)(offset + 1), 1);
      char name[32];
      snprintf(name, sizeof name, "inline%zu", e->constants.count);
      zb_plan_constant c = {.tensor = {.name = zb_plan_strdup(e->memory, name), .offset = offset}};
      if (!zb_type_shape(mlirValueGetType(mlirOperationGetResult(op, 0)), &c.tensor.shape))
        return ZB_ERROR(INVALID, "a constant is no static tensor");
      c.bytes = dense_bytes(e, zb_get_attribute(op, "value"), &c.tensor.shape);
      c.byte_count = (uint64_t)zb_shape_bytes(&c.tensor.shape);
      if (!c.tensor.name || !c.bytes) return ZB_ERROR(INVALID, "the value of a constant is no dense attribute");
      if (!ZB_PUSH(&e->arena, &e->constants, c)) return ZB_OUT_OF_MEMORY();
    }
  return zb_arena_status(&e->arena);
}

zb_status zb_emit_constants(zb_emitter *e) {
  const zb_entries constants = zb_entries_get(e->rank_op, pool_tables[POOL_CONSTANTS]);
  for (int i = 0; i < constants.count; ++i) {
    const zb_entry entry = zb_entries_at(constants, i);
    const char *name = entry.port.constant;
    char computed[32];
    snprintf(computed, sizeof computed, "load%lld", (long long)entry.port.load);
    zb_plan_constant c = {.computed = name == NULL};
    ZB_TRY(fill_tensor(e, &entry, name ? name : computed, ZB_REGION_CONSTANTS, &c.tensor));
    if (!ZB_PUSH(&e->arena, &e->constants, c)) return ZB_OUT_OF_MEMORY();
  }
  ZB_TRY(add_inline_constants(e));
  e->rank->constants = ZB_EMIT_KEEP(e, e->constants);
  e->rank->constant_count = (int)e->constants.count;
  return e->rank->constants ? NULL : ZB_OUT_OF_MEMORY();
}

/* ---- Settings ---- */

static zb_status emit_setting(zb_emitter *e, const zb_entry *entry, zb_plan_setting *out) {
  const char *text = entry->port.setting ? entry->port.setting : "";
  const MlirAttribute defaults = entry->port.defaults;
  const int count = mlirAttributeIsNull(defaults) ? 0 : (int)mlirDenseArrayGetNumElements(defaults);
  size_t length = 0;
  if (!zb_setting_split(text, &out->kind, &length)) return ZB_ERROR(INVALID, "'%s' is no setting that is known", text);
  char *name = ZB_EMIT_NEW(e, length, char);
  out->offset = e->rank->regions[ZB_REGION_STEP].offset + (uint64_t)entry->offset;
  out->defaults = ZB_EMIT_NEW(e, count, double);
  out->default_count = count;
  out->own = entry->port.own > 0 ? (uint32_t)entry->port.own : 0;
  if (!name || !out->defaults) return ZB_OUT_OF_MEMORY();
  out->name = memcpy(name, text, length);
  for (int i = 0; i < count; ++i)
    out->defaults[i] = mlirDenseF64ArrayGetElement(defaults, i);
  return NULL;
}

zb_status zb_emit_settings(zb_emitter *e) {
  const zb_entries settings = zb_entries_get(e->rank_op, pool_tables[POOL_STEP]);
  e->rank->settings = ZB_EMIT_NEW(e, settings.count, zb_plan_setting);
  if (!e->rank->settings) return ZB_OUT_OF_MEMORY();
  for (int i = 0; i < settings.count; ++i) {
    const zb_entry entry = zb_entries_at(settings, i);
    ZB_TRY(emit_setting(e, &entry, &e->rank->settings[e->rank->setting_count++]));
  }
  return NULL;
}
