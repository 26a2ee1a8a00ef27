/* An op that acts in training alone (in_evaluation of its row) is in F and not in E, where what it would have
 * changed goes on as it is; what it alone reads is not computed there. */
#include "passes/function.h"
#include "passes/pipeline.h"
#include "passes/tables.h"
#include "runtime/base/assert.h"
#include "test/suite.h"

#include <stdio.h>

static const char program[] =
    "module attributes {zb.chunks = 1 : i64, zb.level = \"classified\", zb.placement = \"plain\", zb.ranks = 2 : i64,"
    "                   zb.stage_rank = array<i64: 0, 1>} {"
    "  func.func @model(%x: tensor<4xf32> {zb.input = \"x\"}, %k: tensor<4xf32> {zb.input = \"key\"},"
    "                   %w: tensor<4xf32> {zb.param = \"w\"}) -> (tensor<f32> {zb.loss}) {"
    "    %h = \"zb.mul\"(%x, %w) {zb.class = \"F\", zb.stage = 0 : i64}"
    "        : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>"
    "    %s = \"zb.exp\"(%k) {zb.class = \"F\", zb.stage = 0 : i64} : (tensor<4xf32>) -> tensor<4xf32>"
    "    %n = \"test.noise\"(%h, %s) {zb.class = \"F\", zb.stage = 0 : i64}"
    "        : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>"
    "    %r = \"zb.relu\"(%n) {zb.class = \"F\", zb.stage = 0 : i64} : (tensor<4xf32>) -> tensor<4xf32>"
    "    %m = \"test.noise\"(%r, %s) {zb.class = \"F\", zb.stage = 1 : i64}"
    "        : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>"
    "    %l = \"zb.reduce_sum\"(%m) {axes = array<i64: 0>, keepdims = false, zb.class = \"F\", zb.stage = 1 : i64}"
    "        : (tensor<4xf32>) -> tensor<f32>"
    "    return %l : tensor<f32>"
    "  }"
    "}";

/* The names of the ops of a function of a rank, with a blank after each: "zb.mul zb.relu func.return ". */
static void ops_of(MlirModule module, const char *rank, const char *function, char text[512], int *arguments) {
  MlirOperation nested = zb_symbol_in(mlirModuleGetBody(module), "builtin.module", rank);
  MlirOperation found = zb_symbol_in(zb_function_block(nested), "func.func", function);
  ZB_ASSERT(!mlirOperationIsNull(found));
  size_t used = 0;
  ZB_FOR_EACH_OP(op, zb_function_block(found)) {
    const MlirStringRef name = mlirIdentifierStr(mlirOperationGetName(op));
    used += (size_t)snprintf(text + used, 512 - used, "%.*s ", (int)name.length, name.data);
  }
  *arguments = zb_arguments(found).count;
}

static void test_left_out(void) {
  static const zb_op_def noise = {.name = "test.noise",
                                  .summary = "",
                                  .doc = "",
                                  .operands = "x, seed",
                                  .op_class = ZB_CLASS_FOREIGN,
                                  .traits = ZB_TRAIT_PURE,
                                  .in_evaluation = ""};
  char text[512];
  int arguments = 0;
  CU_ASSERT_PTR_NULL_FATAL(zb_op_register(&noise));
  zb_module whole = {.context = zb_context_create(true)};
  whole.module = mlirModuleCreateParse(whole.context, mlirStringRefCreateFromCString(program));
  CU_ASSERT_FALSE_FATAL(mlirModuleIsNull(whole.module));
  zb_pipeline pipeline;
  zb_compile_state state = {0};
  CU_ASSERT_PTR_NULL_FATAL(zb_pipeline_parse("zb-outline", &pipeline));
  CU_ASSERT_PTR_NULL_FATAL(zb_pipeline_run(&pipeline, &whole, &state, NULL));
  zb_pipeline_deinit(&pipeline);
  ops_of(whole.module, "rank0", "s0_F", text, &arguments);
  CU_ASSERT_STRING_EQUAL(text, "zb.mul zb.exp test.noise zb.relu func.return ");
  CU_ASSERT_EQUAL(arguments, 3);
  ops_of(whole.module, "rank0", "s0_E", text, &arguments);
  CU_ASSERT_STRING_EQUAL(text, "zb.mul zb.relu func.return ");
  CU_ASSERT_EQUAL(arguments, 2); /* x and w: the key is not read */
  ops_of(whole.module, "rank1", "s1_F", text, &arguments);
  CU_ASSERT_STRING_EQUAL(text, "test.noise zb.reduce_sum func.return ");
  ops_of(whole.module, "rank1", "s1_E", text, &arguments);
  CU_ASSERT_STRING_EQUAL(text, "zb.reduce_sum func.return ");
  CU_ASSERT_EQUAL(arguments, 1);
  mlirModuleDestroy(whole.module);
  mlirContextDestroy(whole.context);
}

SUITE_MAIN("evaluation form", {"left out", test_left_out})
