/* Parts of parameters (zb-shard-optimizer with sharding=parameters:..): ZeRO stage 3 (Rajbhandari et al., arXiv
 * 1910.02054, section 5), where every replica has 1/D of each parameter.
 *
 *   before                                            after
 *     @s0_F(%w: tensor<8x5xf32> {zb.param}, ..)         @s0_F(%w: tensor<8x5xf32> {zb.param, zb.gathered}, ..)
 *     @LOAD(%w: tensor<8x5xf32> {zb.param})             @LOAD(%w: tensor<16xf32> {zb.param, zb.shard = "flat:8,5"})
 *       -> (%copy: tensor<8x5xbf16> {zb.load})            -> (%copy: tensor<16xbf16> {zb.load})
 *
 * F, B and E compute with whole parameters, which are gathered for them (zb-memory gives them a frame, zb-insert-comm
 * the gather). Copies in another type are made of parts, and gathered in that type: half as many bytes for bf16. Frozen
 * parameters are in parts, too. W reads no parameter: what it multiplies are activations and their gradients, so it
 * waits for no gather, and its place in the order stays free. zb-classify puts ops that read one all the same into B
 * (the gradient of a weight that is computed from others, and what leads to parameters of one stage alone); a W that
 * does is refused.
 *
 * Tests: test/passes/shard-parameters.test, test/e2e/sharding.py. */

#include "passes/stages/parts.h"
#include "passes/stages/functions/shard_optimizer.h"

#include "passes/function.h"
#include "passes/stages/classes.h"
#include "passes/graph.h"
#include "passes/tables.h"
#include "runtime/base/map.h"

#include <string.h>

static const char *const gathered_names[] = {
#define ZB_GATHERED(ID, name, help) name,
#include "zb/gathers.def"
#undef ZB_GATHERED
};

const char *zb_gathered_name(zb_gathered gathered) { return gathered_names[gathered]; }

const char *zb_gathered_names(void) {
#define ZB_GATHERED(ID, name, help) ", " name
  static const char names[] =
#include "zb/gathers.def"
      ;
#undef ZB_GATHERED
  return names + 2;
}

zb_gathered zb_gathered_of(const char *name) {
  int gathered = 0;
  while (gathered < ZB_GATHERED_COUNT && strcmp(gathered_names[gathered], name) != 0)
    ++gathered;
  return (zb_gathered)gathered;
}

typedef struct sharding {
  zb_arena *arena;
  int replicas;
  zb_map *copies; /* numbers {zb.load} of values that LOAD makes of parameters */
} sharding;

/* One without elements has no parts. */
static bool is_parameter(const zb_ports *at) {
  return (at->port.param || at->port.frozen) && zb_type_bytes(at->type) > 0;
}

static bool is_gathered(const sharding *it, const zb_ports *at) {
  return is_parameter(at) || (at->port.load >= 0 && zb_map_get(it->copies, zb_id_key(at->port.load), NULL));
}

/* ---- LOAD ---- */

static void cut_parameters(sharding *it, zb_function_builder *f, MlirOperation load) {
  for (zb_ports at = zb_arguments(load); zb_next(&at);) {
    if (!is_parameter(&at)) continue;
    zb_port port = at.port;
    port.shard = zb_flat_text(it->arena, port.shard, at.type);
    f->argument_attributes.items[at.index] = zb_port_set(f->context, &port);
    mlirValueSetType(at.value, zb_part_type(at.type, it->replicas));
  }
}

static bool reads_part(MlirOperation op, const zb_map *parts) {
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(op); ++i)
    if (zb_map_get(parts, mlirOperationGetOperand(op, i).ptr, NULL)) return true;
  return false;
}

/* What LOAD makes of parameters it makes of parts of them. */
static zb_status shard_load(sharding *it, MlirOperation load) {
  zb_function_builder f;
  zb_map *parts = zb_arena_map_pointer(it->arena);
  ZB_TRY(zb_arena_status(it->arena));
  for (zb_ports at = zb_arguments(load); zb_next(&at);)
    if (is_parameter(&at)) zb_arena_map_set(it->arena, parts, at.value.ptr, 1);
  const MlirOperation end = mlirBlockGetTerminator(zb_function_block(load));
  ZB_FOR_EACH_OP(op, zb_function_block(load)) {
    if (mlirOperationEqual(op, end) || !reads_part(op, parts)) continue;
    ZB_TRY(zb_check_of_parts(op));
    zb_make_part(op, it->replicas);
    for (intptr_t i = 0; i < mlirOperationGetNumResults(op); ++i)
      zb_arena_map_set(it->arena, parts, mlirOperationGetResult(op, i).ptr, 1);
  }
  for (zb_ports at = zb_results(load); zb_next(&at);)
    if (zb_map_get(parts, at.value.ptr, NULL)) zb_arena_map_set(it->arena, it->copies, zb_id_key(at.port.load), 1);
  ZB_TRY(zb_arena_status(it->arena));
  zb_function_open(&f, load);
  cut_parameters(it, &f, load);
  return zb_function_close(&f, load);
}

/* ---- Jobs that read parameters ---- */

static zb_status refuse_in_w(const zb_port *port, MlirOperation function) {
  const char *name = port->param ? port->param : port->frozen ? port->frozen : "a copy of a parameter";
  return zb_status_hint(ZB_ERROR(INVALID, "--sharding parameters: %s reads %s, and for W no parameters are gathered",
                                 zb_symbol_name(function), name),
                        "run zb-classify with gathers=true, by which B computes what reads a parameter");
}

static zb_status mark_gathered(const sharding *it, MlirOperation function) {
  zb_function_builder f;
  bool marked = false;
  for (zb_ports at = zb_arguments(function); zb_next(&at);) {
    if (!is_gathered(it, &at)) continue;
    if (zb_class_get(function) == ZB_JOB_W) return refuse_in_w(&at.port, function);
    marked = true;
  }
  if (!marked) return NULL;
  zb_function_open(&f, function);
  for (zb_ports at = zb_arguments(function); zb_next(&at);) {
    zb_port port = at.port;
    port.gathered = true;
    if (is_gathered(it, &at)) f.argument_attributes.items[at.index] = zb_port_set(f.context, &port);
  }
  return zb_function_close(&f, function);
}

static bool reads_whole_parameters(zb_job_kind kind) {
  return kind == ZB_JOB_F || kind == ZB_JOB_B || kind == ZB_JOB_W || kind == ZB_JOB_EVALUATE;
}

zb_status zb_shard_parameters(zb_arena *arena, MlirOperation rank, int replicas) {
  sharding it = {.arena = arena, .replicas = replicas, .copies = zb_arena_map_pointer(arena)};
  ZB_TRY(zb_arena_status(arena));
  ZB_FOR_EACH_OP(function, zb_function_block(rank))
    if (zb_class_get(function) == ZB_JOB_LOAD) ZB_TRY(shard_load(&it, function));
  ZB_FOR_EACH_OP(function, zb_function_block(rank))
    if (reads_whole_parameters(zb_class_get(function))) ZB_TRY(mark_gathered(&it, function));
  return zb_arena_status(arena);
}
