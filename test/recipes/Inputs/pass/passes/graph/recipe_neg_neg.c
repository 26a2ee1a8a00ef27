/* zb-recipe-neg-neg: -(-x) is x. What the recipe of a pass makes. Tests: test/passes/recipe-neg-neg.mlir. */
#include "passes/function.h"
#include "passes/pipeline.h"
#include "passes/rewrite.h"

static zb_result run(zb_pass *pass, MlirModule module) {
  MlirOperation function;
  MlirBlock block;
  if (!zb_pass_function(module, &function, &block)) return ZB_FAIL;
  ZB_FOR_EACH_OP(op, block) {
    if (!zb_op_is(op, "zb.neg")) continue;
    MlirValue x = mlirOperationGetOperand(op, 0);
    if (!mlirValueIsAOpResult(x) || !zb_op_is(mlirOpResultGetOwner(x), "zb.neg")) continue;
    mlirValueReplaceAllUsesOfWith(mlirOperationGetResult(op, 0), mlirOperationGetOperand(mlirOpResultGetOwner(x), 0));
    ++pass->changes;
  }
  return ZB_OK;
}

const zb_pass_def zb_pass_recipe_neg_neg = {
    .name = "zb-recipe-neg-neg",
    .summary = "-(-x) is x: what the recipe of a pass makes",
    .requires_level = "graph",
    .last_level = "split",
    .run = run,
};
