/* zb-split-grad: replaces every composite gradient op by one chain of ops a result, so that each result can be
 * scheduled alone.
 *
 *   %dx, %dw = "zb.matmul_grad"(%x, %w, %d)      %dx = "zb.matmul"(%d, %w) {transpose_rhs = true}
 *                                                %dw = "zb.matmul"(%x, %d) {transpose_lhs = true}
 *
 * The rule is the row's `split`, called once a result that somebody reads: results nobody reads vanish, and with them
 * what only they kept alive. The new ops carry the zb.of of the op that they replace. A rule may build other composite
 * ops: these are split in the next round, and rounds end because rules only ever build simpler ops.
 *
 * Tests: test/passes/split-grad.mlir; values: test/passes/gradient_program_test.c. */

#include "passes/pipeline.h"
#include "passes/rewrite.h"

enum { ROUNDS_MAX = 8 };

static bool is_composite(const zb_op_def *def) { return def && def->op_class == ZB_CLASS_COMPOSITE; }

static zb_result split_result(MlirOperation op, const zb_op_def *def, int index) {
  MlirValue old = mlirOperationGetResult(op, index);
  MlirNamedAttribute mark;
  zb_builder builder = zb_builder_marked(op, op, &mark);
  MlirValue value = def->split(&builder, op, index);
  if (builder.failed) return ZB_FAIL;
  if (mlirValueIsNull(value))
    return zb_op_error_at(op, "give the row's split a rule for it", "'%s' has no split rule for result %d", def->name,
                          index);
  if (!zb_same_type(value, old))
    return zb_op_error_at(op, "correct the row's split", "the split of '%s' gives another type than result %d has",
                          def->name, index);
  mlirValueReplaceAllUsesOfWith(old, value);
  return ZB_OK;
}

static zb_result split_op(MlirOperation op, const zb_op_def *def) {
  for (intptr_t i = 0; i < mlirOperationGetNumResults(op); ++i)
    if (!zb_value_unused(mlirOperationGetResult(op, i)) && !split_result(op, def, (int)i)) return ZB_FAIL;
  zb_erase_op(op);
  return ZB_OK;
}

/* Splits what is composite now; *count counts it. */
static zb_result split_round(zb_pass *pass, MlirOperation function, int64_t *count) {
  zb_op_list list;
  zb_result result = ZB_OK;
  *count = 0;
  ZB_PASS_TRY(pass, zb_op_list_collect(&pass->arena, function, &list));
  for (size_t i = 0; i < list.count && result; ++i) {
    const zb_op_def *def = zb_op_find(list.items[i]);
    /* A described op of another dialect may bring a rule as well. */
    if (!def || !def->split || (!is_composite(def) && mlirOperationGetNumResults(list.items[i]) < 2)) continue;
    result = split_op(list.items[i], def);
    ++*count;
  }
  return result;
}

static zb_result run(zb_pass *pass, MlirOperation function) {
  int64_t count = 1, erased = 0;
  for (int round = 0; count > 0; ++round) {
    if (round == ROUNDS_MAX)
      return zb_op_error_at(function, "a split rule builds the op that it splits",
                            "ops are still composite after %d rounds", ROUNDS_MAX);
    if (!split_round(pass, function, &count)) return ZB_FAIL;
    pass->changes += count;
  }
  if (pass->changes > 0) ZB_PASS_TRY(pass, zb_erase_dead(&pass->arena, function, &erased));
  return ZB_OK;
}

const zb_pass_def zb_pass_split_grad = {
    .name = "zb-split-grad",
    .summary = "replace composite gradient ops by one chain of ops a result",
    .requires_level = "differentiated",
    .ensures_level = "split",
    .run_on_function = run,
};
