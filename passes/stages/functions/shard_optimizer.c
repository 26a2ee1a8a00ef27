/* zb-shard-optimizer: each of D replicas updates a part of every parameter, and has the optimizer state of that part
 * alone (ZeRO stage 1: Rajbhandari et al., arXiv 1910.02054, section 5).
 *
 *   before                                            after
 *     @s0_UPDATE(%w: tensor<8x5xf32> {zb.param},        @s0_UPDATE(%w: tensor<16xf32> {zb.param},
 *                %g: tensor<8x5xf32> {zb.sum},                     %g: tensor<16xf32> {zb.sum},
 *                %m: tensor<8x5xf32> {zb.state})                   %m: tensor<16xf32> {zb.state, zb.shard =
 * "flat:8,5"})
 *       -> (%new {zb.update}, .., %copy {zb.load})        -> (%new {zb.update}, ..)
 *                                                       @RENEW(%w: tensor<8x5xf32> {zb.param}) -> (%copy {zb.load})
 *
 * A tensor of n elements is cut flat into D parts of c elements, where c is n / D, rounded up so that every part begins
 * where a tensor may begin: replica r has elements r c to (r + 1) c. So zb-memory gives a trained parameter and its
 * accumulators room for D c elements, of which those from n on mean nothing and stay 0, and all replicas run one list:
 * types here are those of a part, the runtime knows which (runtime/plan/mesh/replicas.c). The parts of all replicas are
 * gathered behind the last UPDATE (zb-insert-comm). What is made of whole parameters waits for that: RENEW makes copies
 * of them (zb.load).
 *
 * Where ranks have shards (zb-shard) functions are those of a shard, and so what is cut here is what a shard has: a
 * state of 4 x 5 of 8 x 5 is {zb.shard = "0:8;flat:4,5"}.
 *
 * With "parameters:step" and "parameters:micro-batch" each replica has its part of every parameter alone: see
 * shard_parameters.c.
 *
 * With clipping and sharding=optimizer a norm is made of whole gradients: module attribute zb.whole_sums. Where
 * replicas have parts of gradients (stage 2), SUM and NORM work on parts, too, and the number that NORM makes of a
 * gradient is that of a part, padding being 0; zb-insert-comm sums the numbers over replicas.
 *
 *     @s0_NORM(%g: tensor<8x5xf32> {zb.sum})            @s0_NORM(%g: tensor<16xf32> {zb.sum})
 *       -> (%square: tensor<f64> {zb.norm})               -> (%square: tensor<f64> {zb.norm})
 *
 * The loss of a step and its weight (zb-loss-mean) are a sum as those of gradients, of two elements, which replica 0
 * has in its part. Others have zeros, so the sum over replicas of what NORM makes of parts is the pair.
 *
 *     @s1_NORM(%p: tensor<2xf32> {zb.sum})              @s1_NORM(%p: tensor<16xf32> {zb.sum})
 *       -> (cast(%p): tensor<2xf64> {zb.norm})            -> (contiguous(slice(cast(%p))): tensor<2xf64> {zb.norm})
 *
 * Tests: test/passes/shard-optimizer.mlir, test/passes/shard-mesh.test, test/e2e/sharding.py,
 * test/e2e/mesh_sharding.py. */

#include "passes/stages/functions/shard_optimizer.h"

#include "passes/stages/parts.h"

#include "passes/stages/classes.h"
#include "passes/function.h"
#include "passes/rewrite.h"
#include "passes/pipeline.h"
#include "passes/tables.h"
#include "runtime/plan/file/plan.h"

#include <mlir-c/BuiltinAttributes.h>
#include <string.h>

/* A copy of a parameter that the optimizer made anew. */
typedef struct copy {
  MlirOperation op; /* taken out of its function */
  MlirType whole;   /* of the parameter */
  MlirAttribute port;
  const char *parameter;
} copy;

typedef struct shard_optimizer {
  MlirContext context;
  zb_arena *arena;
  int replicas;
  bool of_parameters;   /* they have a part of each of those, too, and of their copies */
  bool whole_sums;      /* SUM and NORM work on whole gradients */
  ZB_LIST(copy) copies; /* of the rank at hand; with parts of parameters none */
} shard_optimizer;

static bool is_cut(const zb_port *port) { return port->param || port->state || port->sum; }

/* The arguments of an optimizer, those that are cut as parts. */
static void add_arguments(shard_optimizer *it, zb_function_builder *f, MlirOperation old) {
  for (zb_ports at = zb_arguments(old); zb_next(&at);) {
    MlirAttribute attributes = at.attributes;
    if (at.port.state || (at.port.param && it->of_parameters)) {
      zb_port port = at.port;
      port.shard = zb_flat_text(it->arena, port.shard, at.type);
      attributes = zb_port_set(it->context, &port);
    }
    MlirType type = is_cut(&at.port) ? zb_part_type(at.type, it->replicas) : at.type;
    mlirValueReplaceAllUsesOfWith(at.value, zb_function_argument(f, type, attributes));
  }
}

/* The name of the parameter whose new value it is; NULL: of none. */
static const char *updated_by(MlirOperation function, MlirValue value) {
  for (zb_ports at = zb_results(function); zb_next(&at);)
    if (at.port.update && mlirValueEqual(at.value, value)) return at.port.update;
  return NULL;
}

/* The op is taken out of the function, where it makes a copy of a whole parameter. False: it does not. */
static bool take_copy(shard_optimizer *it, MlirOperation function, MlirOperation op) {
  for (zb_ports at = zb_results(function); zb_next(&at);) {
    if (at.port.load < 0 || !mlirOperationEqual(mlirOpResultGetOwner(at.value), op)) continue;
    const MlirValue updated = mlirOperationGetOperand(op, 0);
    const char *parameter = updated_by(function, updated);
    if (!parameter || mlirOperationGetNumOperands(op) != 1) return false;
    return ZB_PUSH(it->arena, &it->copies,
                   (copy){.op = op,
                          .whole = mlirValueGetType(updated),
                          .port = at.attributes,
                          .parameter = zb_arena_strdup(it->arena, parameter)});
  }
  return false;
}

/* Whether it works on what is cut: sums over shards of numbers (zb-norm-sums) do not. */
static bool has_cut_arguments(MlirOperation function) {
  for (zb_ports at = zb_arguments(function); zb_next(&at);)
    if (is_cut(&at.port)) return true;
  return false;
}

/* Types of the results of a function. */
static MlirType *list_types(const shard_optimizer *it, MlirOperation function) {
  int count = 0;
  for (zb_ports at = zb_results(function); zb_next(&at);)
    ++count;
  MlirType *types = ZB_NEW(it->arena, MlirType, count + 1);
  for (zb_ports at = zb_results(function); zb_next(&at) && types;)
    types[at.index] = mlirValueGetType(at.value);
  return types;
}

/* Numbers that lie in the first part: replica 0 has them, and all others zeros, of which they are the sum. */
static zb_status take_numbers(MlirValue part, MlirType whole, MlirValue *out) {
  zb_shape shape, own;
  const MlirOperation op = zb_producer(part);
  zb_builder b = zb_builder_at_end(mlirOperationGetBlock(op), mlirOperationGetLocation(op));
  if (!zb_type_shape(whole, &shape) || !zb_value_shape(part, &own) || shape.rank != 1 || shape.dims[0] > own.dims[0])
    return ZB_ERROR(INVALID, "--sharding: numbers of the norm are no vector that one replica has");
  const int64_t start = 0, step = 1;
  const MlirValue first = ZB_BUILD(&b, "slice", part, zb_ints("starts", &start, 1), zb_ints("sizes", shape.dims, 1),
                                   zb_ints("steps", &step, 1));
  *out = zb_build1(&b, "contiguous", first);
  if (b.failed) return ZB_OUT_OF_MEMORY();
  for (int i = 0; i < 2; ++i)
    zb_class_set(zb_producer(i ? *out : first), zb_class_get(op));
  return NULL;
}

/* What the old function gives, but for copies of parameters that a RENEW makes. */
static zb_status add_results(const shard_optimizer *it, zb_function_builder *f, MlirOperation old,
                             const MlirType *wholes) {
  for (zb_ports at = zb_results(old); zb_next(&at);) {
    MlirValue value = at.value;
    if (at.port.load >= 0 && !it->of_parameters) continue;
    if (at.port.norm >= 0 && !mlirTypeEqual(mlirValueGetType(value), wholes[at.index]))
      ZB_TRY(take_numbers(value, wholes[at.index], &value));
    zb_function_result(f, value, at.attributes);
  }
  return NULL;
}

static zb_status shard_phase(shard_optimizer *it, MlirBlock body, MlirOperation old) {
  zb_function_builder f;
  const MlirOperation end = mlirBlockGetTerminator(zb_function_block(old));
  const MlirType *wholes = list_types(it, old);
  ZB_LIST(MlirOperation) ops = {0};
  ZB_FOR_EACH_OP(op, zb_function_block(old))
    if (!mlirOperationEqual(op, end) && (it->of_parameters || !take_copy(it, old, op)))
      (void)ZB_PUSH(it->arena, &ops, op);
  ZB_TRY(zb_arena_status(it->arena));
  for (size_t i = 0; i < ops.count; ++i) /* before anything is changed */
    ZB_TRY(zb_check_of_parts(ops.items[i]));
  zb_function_begin(&f, it->context, mlirOperationGetLocation(old));
  add_arguments(it, &f, old);
  for (size_t i = 0; i < ops.count; ++i) {
    zb_make_part(ops.items[i], it->replicas);
    mlirOperationRemoveFromParent(ops.items[i]);
    mlirBlockAppendOwnedOperation(f.block, ops.items[i]);
  }
  ZB_TRY(add_results(it, &f, old, wholes));
  for (size_t i = 0; i < it->copies.count; ++i)
    if (!mlirBlockIsNull(mlirOperationGetBlock(it->copies.items[i].op)))
      mlirOperationRemoveFromParent(it->copies.items[i].op);
  mlirOperationSetOperands(end, 0, NULL);
  MlirNamedAttribute attributes[] = {zb_named(it->context, ZB_ATTR_CLASS, zb_get_attribute(old, ZB_ATTR_CLASS)),
                                     zb_named(it->context, ZB_ATTR_STAGE, zb_get_attribute(old, ZB_ATTR_STAGE))};
  const MlirOperation now = zb_function_finish(&f, body, zb_symbol_name(old), false, attributes, 2);
  if (mlirOperationIsNull(now)) return ZB_OUT_OF_MEMORY();
  mlirOperationMoveBefore(now, old);
  mlirOperationDestroy(old);
  return NULL;
}

/* Makes the copies of whole parameters, once the parts of all replicas have come. */
static zb_status add_renewal(shard_optimizer *it, MlirOperation rank) {
  zb_function_builder f;
  if (it->copies.count == 0) return NULL;
  zb_function_begin(&f, it->context, mlirOperationGetLocation(rank));
  for (size_t i = 0; i < it->copies.count; ++i) {
    const copy *one = &it->copies.items[i];
    zb_port port = zb_no_port;
    port.param = one->parameter;
    mlirOperationSetOperand(one->op, 0, zb_function_argument(&f, one->whole, zb_port_set(it->context, &port)));
    zb_class_set(one->op, ZB_JOB_RENEW);
    mlirBlockAppendOwnedOperation(f.block, one->op);
    zb_function_result(&f, mlirOperationGetResult(one->op, 0), one->port);
  }
  MlirNamedAttribute attributes[] = {
      zb_named(it->context, ZB_ATTR_CLASS, zb_mlir_string(it->context, zb_job_mnemonic(ZB_JOB_RENEW))),
      zb_named_i64(it->context, ZB_ATTR_STAGE, -1)};
  return mlirOperationIsNull(
             zb_function_finish(&f, zb_function_block(rank), zb_job_mnemonic(ZB_JOB_RENEW), false, attributes, 2))
             ? ZB_OUT_OF_MEMORY()
             : NULL;
}

static zb_status shard_rank(void *context, zb_rank_work *work) {
  shard_optimizer it = *(const shard_optimizer *)context;
  const MlirBlock body = zb_function_block(work->module);
  it.arena = &work->arena;
  for (MlirOperation op = mlirBlockGetFirstOperation(body), next; !mlirOperationIsNull(op); op = next) {
    next = mlirOperationGetNextInBlock(op);
    const zb_job_kind kind = zb_class_get(op);
    if (kind != ZB_JOB_UPDATE && (it.whole_sums || (kind != ZB_JOB_SUM && kind != ZB_JOB_NORM))) continue;
    if (!has_cut_arguments(op)) continue;
    ZB_TRY(shard_phase(&it, body, op));
    ++work->changes;
  }
  if (it.of_parameters) return zb_shard_parameters(it.arena, work->module, it.replicas);
  return add_renewal(&it, work->module);
}

/* The function that makes the factor; null: nothing clips. */
static MlirOperation find_clip(MlirModule module) {
  ZB_FOR_EACH_OP(rank, mlirModuleGetBody(module))
    if (zb_op_is(rank, "builtin.module"))
      ZB_FOR_EACH_OP(function, zb_function_block(rank))
        if (zb_class_get(function) == ZB_JOB_CLIP) return function;
  return (MlirOperation){0};
}

static zb_result run(zb_pass *pass, MlirModule module) {
  const MlirOperation top = mlirModuleGetOperation(module);
  const char *sharding = zb_pass_option(pass, "sharding"), *gather = zb_pass_option(pass, "gather");
  shard_optimizer it = {.context = mlirOperationGetContext(top), .replicas = (int)zb_get_i64(top, ZB_ATTR_REPLICAS, 1)};
  if (strcmp(sharding, "none") == 0) return ZB_OK;
  if (zb_sharding_of(sharding) == ZB_SHARDING_COUNT)
    return zb_pass_option_error(pass, top, "sharding", NULL, "expected one of %s; got '%s'", zb_sharding_names(),
                                sharding);
  it.of_parameters = zb_sharding_of_parameters(zb_sharding_of(sharding));
  if (zb_gathered_of(gather) == ZB_GATHERED_COUNT)
    return zb_pass_option_error(pass, top, "gather", NULL, "expected one of %s; got '%s'", zb_gathered_names(), gather);
  if (it.replicas < 2)
    return zb_pass_option_error(pass, top, "sharding", "replicas is an option of zb-autodiff",
                                "there are no replicas to share the optimizer's state");
  const MlirOperation clip = find_clip(module);
  zb_set_string(top, ZB_ATTR_SHARDING, sharding);
  if (it.of_parameters) zb_set_string(top, ZB_ATTR_GATHER, gather);
  it.whole_sums = zb_sharding_of(sharding) == ZB_SHARDING_OPTIMIZER && !mlirOperationIsNull(clip);
  if (it.whole_sums) zb_set_attribute(top, ZB_ATTR_WHOLE_SUMS, mlirUnitAttrGet(it.context));
  ZB_PASS_TRY(pass, zb_for_each_rank(module, shard_rank, &it, &pass->changes));
  return ZB_OK;
}

const zb_pass_def zb_pass_shard_optimizer = {
    .name = "zb-shard-optimizer",
    .summary = "Let each replica update a part of every parameter, with the optimizer state of that part alone.",
    .requires_level = "outlined",
    .run = run,
};
