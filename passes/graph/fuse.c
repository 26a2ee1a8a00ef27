/* zb-fuse: sums into the ops that make a summand, so that the sum is written once instead of read, added and written
 * again.
 *
 *   %g = "zb.rms_norm_grad_x"(%x, %s, %rstd, %d)        %sum = "zb.rms_norm_grad_x"(%x, %s, %rstd, %d, %r)
 *   %sum = "zb.add"(%r, %g)
 *
 * It is how the gradient of a residual stream goes: what comes past a norm is added to what comes through it. An op can
 * take it if the last operand of its row is "residual?". The two are gradients of one use of a value (their zb.of is
 * equal), so they lie in one stage and one job wherever the program is cut. The sum is rounded once, which is why this
 * is decided on the whole graph.
 *
 * Tests: test/passes/fuse.mlir; values: test/passes/gradient_program_test.c. */

#include "passes/pipeline.h"
#include "passes/rewrite.h"

#include <string.h>

/* Whether the op could take another summand as its last operand, and has none yet. */
static bool takes_residual(MlirOperation op) {
  const zb_op_def *def = mlirOperationIsNull(op) ? NULL : zb_op_find(op);
  if (!def || !def->operands || mlirOperationGetNumResults(op) != 1) return false;
  zb_op_arity arity = zb_op_names_arity(def->operands);
  zb_op_name last;
  if (arity.optional < 0 || arity.optional != arity.named - 1 || !zb_op_name_at(def->operands, arity.optional, &last))
    return false;
  bool residual = last.length == (int)strlen("residual") && strncmp(last.text, "residual", (size_t)last.length) == 0;
  return residual && mlirOperationGetNumOperands(op) == arity.least;
}

static bool fits(MlirOperation add, MlirOperation op, MlirValue residual) {
  MlirValue own = mlirOperationGetResult(op, 0);
  if (!zb_value_used_once(own) || zb_get_i64(add, ZB_ATTR_OF, -1) != zb_get_i64(op, ZB_ATTR_OF, -1)) return false;
  return zb_same_type(own, residual) && zb_same_type(own, mlirOperationGetResult(add, 0));
}

/* Made again at the place of the sum, where both summands are there. */
static void fuse(MlirOperation add, MlirOperation op, MlirValue residual) {
  MlirValue operands[ZB_VIEW_OPERANDS];
  intptr_t count = mlirOperationGetNumOperands(op);
  for (intptr_t i = 0; i < count; ++i)
    operands[i] = mlirOperationGetOperand(op, i);
  operands[count] = residual;
  MlirOperation whole = mlirOperationClone(op);
  mlirBlockInsertOwnedOperationBefore(mlirOperationGetBlock(add), add, whole);
  mlirOperationSetOperands(whole, count + 1, operands);
  zb_replace_op(add, mlirOperationGetResult(whole, 0));
  zb_erase_op(op);
}

static bool try_sum(MlirOperation add) {
  if (!zb_op_is(add, "zb.add")) return false;
  for (int side = 1; side >= 0; --side) {
    MlirOperation op = zb_producer(mlirOperationGetOperand(add, side));
    MlirValue residual = mlirOperationGetOperand(add, 1 - side);
    if (!takes_residual(op) || !fits(add, op, residual)) continue;
    fuse(add, op, residual);
    return true;
  }
  return false;
}

static zb_result run(zb_pass *pass, MlirOperation function) {
  zb_op_list list;
  ZB_PASS_TRY(pass, zb_op_list_collect(&pass->arena, function, &list));
  /* What is erased comes before the sum, so the rest of the list stays valid. */
  for (size_t i = 0; i < list.count; ++i)
    pass->changes += try_sum(list.items[i]);
  return ZB_OK;
}

const zb_pass_def zb_pass_fuse = {
    .name = "zb-fuse",
    .summary = "put sums into the ops that make a summand: the gradient past a norm into that through it",
    .requires_level = "split",
    .run_on_function = run,
};
