/* zb-norm-sums: with post-validation, sums over shards of the norm's numbers in NORM, in the place of CLIP.
 *
 *   before                                             after
 *     @s0_NORM(..) -> (tensor<f64> {zb.norm = 8})        @s0_NORM(..) -> (tensor<f64> {zb.norm = 8})
 *                                                        @NORM(%q: tensor<1xf64> {zb.norm = 8})
 *                                                          -> (zb.all_reduce(%q) {zb.norm = 8})
 *     @CLIP(%q: tensor<2xf64> {zb.norm = 0}, ..)         @CLIP(%q: tensor<2xf64> {zb.norm = 0}, ..)
 *       zb.clip_scale(zb.all_reduce(%q), ..)               zb.clip_scale(%q, ..)
 *
 * A verdict finds the factor by CLIP alone, when the step after has begun and shards are at different places of it. So
 * each rank sums the numbers that it has itself before they go to the other ranks: those that lie side by side at once.
 * Every number is the same sum of the same addends. Without post-validation CLIP sums all of them, one collective a
 * rank as well, which no NORM waits for.
 *
 * Tests: test/passes/norm-sums.mlir. */

#include "passes/stages/classes.h"
#include "passes/function.h"
#include "passes/pipeline.h"
#include "passes/tables.h"

#include <mlir-c/BuiltinAttributes.h>
#include <stdio.h>

/* The sum over shards that CLIP makes of the first numbers; null: it makes none. */
static MlirOperation find_sum(MlirBlock body) {
  ZB_FOR_EACH_OP(function, body) {
    if (zb_class_get(function) != ZB_JOB_CLIP) continue;
    ZB_FOR_EACH_OP(op, zb_function_block(function))
      if (zb_op_is(op, "zb.all_reduce")) return op;
  }
  return (MlirOperation){0};
}

/* Which of the first `count` numbers the rank makes. */
static void find_numbers(MlirBlock body, int64_t count, bool *out) {
  ZB_FOR_EACH_OP(function, body) {
    if (zb_class_get(function) != ZB_JOB_NORM) continue;
    for (zb_ports at = zb_results(function); zb_next(&at);) {
      const int64_t number = at.port.norm / (int64_t)sizeof(double);
      if (at.port.norm >= 0 && number < count) out[number] = true;
    }
  }
}

/* A function that sums numbers begin to end over shards, as `sum` does. */
static zb_status add_function(zb_rank_work *work, MlirOperation sum, int64_t begin, int64_t end) {
  const MlirContext context = mlirOperationGetContext(sum);
  const zb_shape shape = {.dtype = ZB_F64, .rank = 1, .dims = {end - begin}};
  const MlirType type = zb_shape_type(context, &shape);
  const MlirAttribute port = zb_norm_port(context, begin * (int64_t)sizeof(double));
  zb_function_builder f;
  char name[32];
  zb_function_begin(&f, context, mlirOperationGetLocation(sum));
  const MlirOperation op = mlirOperationClone(sum);
  mlirBlockAppendOwnedOperation(f.block, op);
  mlirOperationSetOperand(op, 0, zb_function_argument(&f, type, port));
  mlirValueSetType(mlirOperationGetResult(op, 0), type);
  zb_class_set(op, ZB_JOB_NORM);
  zb_function_result(&f, mlirOperationGetResult(op, 0), port);
  MlirNamedAttribute attributes[] = {
      zb_named(context, ZB_ATTR_CLASS, zb_mlir_string(context, zb_job_mnemonic(ZB_JOB_NORM))),
      zb_named_i64(context, ZB_ATTR_STAGE, -1)};
  snprintf(name, sizeof name, "%s%lld", zb_job_mnemonic(ZB_JOB_NORM), (long long)begin);
  ++work->changes;
  return mlirOperationIsNull(zb_function_finish(&f, zb_function_block(work->module), name, false, attributes, 2))
             ? ZB_OUT_OF_MEMORY()
             : NULL;
}

static zb_status sum_in_norm(void *context, zb_rank_work *work) {
  const MlirBlock body = zb_function_block(work->module);
  const MlirOperation sum = find_sum(body);
  zb_shape shape;
  (void)context;
  if (mlirOperationIsNull(sum)) return NULL;
  const MlirValue numbers = mlirOperationGetOperand(sum, 0), result = mlirOperationGetResult(sum, 0);
  if (!zb_type_shape(mlirValueGetType(result), &shape)) return NULL;
  bool *own = ZB_NEW(&work->arena, bool, shape.dims[0] + 1);
  ZB_TRY(zb_arena_status(&work->arena));
  find_numbers(body, shape.dims[0], own);
  for (int64_t begin = 0, end; begin < shape.dims[0]; begin = end) {
    for (end = begin; own[end];)
      ++end;
    if (end > begin) ZB_TRY(add_function(work, sum, begin, end));
    end += end == begin;
  }
  mlirValueReplaceAllUsesOfWith(result, numbers);
  mlirOperationDestroy(sum);
  return NULL;
}

static zb_result run(zb_pass *pass, MlirModule module) {
  const MlirOperation top = mlirModuleGetOperation(module);
  if (!zb_has_attribute(top, ZB_ATTR_POST_VALIDATION) || !zb_has_attribute(top, ZB_ATTR_SHARDS)) return ZB_OK;
  ZB_PASS_TRY(pass, zb_for_each_rank(module, sum_in_norm, NULL, &pass->changes));
  return ZB_OK;
}

const zb_pass_def zb_pass_norm_sums = {
    .name = "zb-norm-sums",
    .summary = "With post-validation, sum the norm's numbers over shards in NORM, so that CLIP waits for no shard.",
    .requires_level = "outlined",
    .run = run,
};
