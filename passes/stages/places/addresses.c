/* Bases of subprograms: see passes/stages/places/addresses.h. */

#include "passes/stages/places/addresses.h"
#include "passes/stages/frames.h"

#include "passes/function.h"
#include "passes/stages/classes.h"
#include "passes/tables.h"
#include "runtime/base/assert.h"

#include <mlir-c/BuiltinAttributes.h>
#include <string.h>

zb_region_kind zb_region_of_gathered(int64_t pool) {
  return pool == POOL_CONSTANTS ? ZB_REGION_CONSTANTS : ZB_REGION_PARAMETERS;
}

zb_region_kind zb_argument_region(MlirOperation function, int argument) {
  static const struct {
    const char *frame;
    zb_region_kind region;
  } pools[] = {
#define ZB_POOL(ID, name, TABLE, REGION) {name, ZB_REGION_##REGION},
#include "ir/frames.def"
  };
  const zb_port port = zb_argument_port(function, argument);
  if (port.step) return ZB_REGION_STEP;
  for (size_t i = 0; port.frame && i < sizeof pools / sizeof pools[0]; ++i)
    if (strcmp(port.frame, pools[i].frame) == 0) return pools[i].region;
  return ZB_REGION_COUNT;
}

/* The value at a position: an argument, or a result. */
static int value_at(const zb_subprogram_info *info, int position) {
  return position < info->argument_count ? position : info->workspace.graph.returned[position - info->argument_count];
}

/* A position needs an address from the job when something lies there by itself: a frame, or a value whose home is its
 * own. */
static bool needs_base(const zb_subprogram_info *info, int position) {
  const zb_graph *g = &info->workspace.graph;
  int value = value_at(info, position);
  if (position < info->argument_count && zb_argument_region(info->function, position) != ZB_REGION_COUNT) return false;
  zb_shape shape;
  if (!zb_value_shape(g->values[value].value, &shape)) /* a pool frame that is handed back has its argument as base */
    return zb_workspace_frame_base(&info->workspace, value) == position;
  return info->workspace.homes[value].base == position;
}

static zb_status build_info(zb_arena *arena, MlirOperation function, zb_subprogram_info *out) {
  *out = (zb_subprogram_info){.function = function, .name = zb_symbol_name(function)};
  ZB_TRY(zb_workspace_build(arena, function, &out->workspace));
  out->argument_count = out->workspace.graph.argument_count;
  out->result_count = out->workspace.graph.returned_count;
  int positions = out->argument_count + out->result_count;
  out->base_of = ZB_NEW(arena, int, positions);
  out->base_position = ZB_NEW(arena, int, positions);
  out->base_bytes = ZB_NEW(arena, uint64_t, positions);
  ZB_TRY(zb_arena_status(arena));
  for (int p = 0; p < positions; ++p) {
    if (!needs_base(out, p)) continue;
    const zb_value *value = &out->workspace.graph.values[value_at(out, p)];
    out->base_bytes[out->base_count] = zb_align(zb_type_bytes(mlirValueGetType(value->value)));
    out->base_position[out->base_count] = p;
    out->base_of[p] = ++out->base_count;
  }
  return NULL;
}

zb_status zb_subprograms_build(zb_arena *arena, MlirOperation rank, zb_subprograms *out) {
  MlirBlock body = zb_function_block(rank);
  int count = 0;
  ZB_FOR_EACH_OP(f, body)
    ++count;
  *out = (zb_subprograms){.infos = ZB_NEW(arena, zb_subprogram_info, count), .index = zb_arena_map(arena)};
  ZB_TRY(zb_arena_status(arena));
  ZB_FOR_EACH_OP(f, body) {
    if (!zb_op_is(f, "func.func") || zb_class_get(f) == ZB_JOB_KIND_COUNT) continue; /* @main, @evaluate */
    ZB_TRY(build_info(arena, f, &out->infos[out->count]));
    if (!zb_map_set(out->index, zb_symbol_name(f), out->count++)) return ZB_OUT_OF_MEMORY();
  }
  return NULL;
}

int zb_callee(const zb_subprograms *subprograms, MlirOperation call) {
  MlirAttribute symbol = zb_get_attribute(call, "callee");
  if (mlirAttributeIsNull(symbol)) return -1;
  return (int)zb_map_get_or(subprograms->index, mlirFlatSymbolRefAttrGetValue(symbol).data, -1);
}

uint64_t zb_constant_address(MlirOperation constant) { return (uint64_t)zb_at_at(zb_at_get(constant), 0).number; }

void zb_home_address(const zb_subprogram_info *info, const zb_home *home, const zb_plan_range regions[ZB_REGION_COUNT],
                     uint32_t *out_base, uint64_t *out_offset) {
  *out_base = 0;
  *out_offset = home->offset;
  if (home->base == ZB_BASE_WORKSPACE) {
    *out_offset += regions[ZB_REGION_WORKSPACE].offset;
    return;
  }
  if (home->base == ZB_BASE_CONSTANT) {
    *out_offset = zb_constant_address(info->workspace.graph.nodes[home->constant].op);
    return;
  }
  ZB_ASSERT(home->base >= 0);
  zb_region_kind region =
      home->base < info->argument_count ? zb_argument_region(info->function, home->base) : ZB_REGION_COUNT;
  if (region != ZB_REGION_COUNT) {
    *out_offset += regions[region].offset;
    return;
  }
  *out_base = (uint32_t)info->base_of[home->base];
  ZB_ASSERT(*out_base > 0);
}
