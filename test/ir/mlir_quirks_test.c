/* Facts about MLIR that the code of ir/ rests on, one test each: an upgrade of MLIR that breaks one says which.
 *
 * They are behaviours of the installed MLIR, not of zb; the reason why each matters stands beside it.
 */
#include "test/ir/test.h"

#include <mlir-c/BuiltinAttributes.h>
#include <mlir-c/BuiltinTypes.h>
#include <mlir-c/Dialect/Func.h>
#include <mlir-c/Dialect/IRDL.h>

static MlirContext bare_context(void) {
  MlirContext context = mlirContextCreateWithThreading(false);
  mlirDialectHandleLoadDialect(mlirGetDialectHandle__irdl__(), context);
  mlirDialectHandleLoadDialect(mlirGetDialectHandle__func__(), context);
  return context;
}

static MlirLogicalResult swallow(MlirDiagnostic diagnostic, void *user) {
  (void)diagnostic, (void)user;
  return mlirLogicalResultSuccess();
}

/* Whether text parses and verifies with a dialect @t that has this body. */
static bool accepts(const char *dialect_body, const char *program) {
  MlirContext context = bare_context();
  zb_text text = {0};
  zb_text_add(&text, "irdl.dialect @t {\n%s\n}\n", dialect_body);
  mlirContextAttachDiagnosticHandler(context, swallow, NULL, NULL);
  bool loaded = zb_irdl_load(context, text.data);
  MlirModule module = mlirModuleCreateParse(context, mlirStringRefCreateFromCString(program));
  bool accepted = loaded && !mlirModuleIsNull(module);
  if (!mlirModuleIsNull(module)) mlirModuleDestroy(module);
  mlirContextDestroy(context);
  zb_text_deinit(&text);
  return accepted;
}

#define TWO_OPERANDS                                                                                                   \
  "func.func @f(%a: tensor<2xf32>, %b: tensor<3xf32>) { \"t.op\"(%a, %b) : (tensor<2xf32>, tensor<3xf32>) -> () "      \
  "return }"

/* One IRDL variable for two operands demands equal types; hence one variable each in ir/dialect.c. */
static void test_variables_unify(void) {
  CU_ASSERT_FALSE(
      accepts("irdl.operation @op { %t = irdl.base \"!builtin.tensor\" irdl.operands(a: %t, b: %t) }", TWO_OPERANDS));
  CU_ASSERT(accepts("irdl.operation @op { %t = irdl.base \"!builtin.tensor\" %u = irdl.base \"!builtin.tensor\" "
                    "irdl.operands(a: %t, b: %u) }",
                    TWO_OPERANDS));
}

/* A variadic is one variable too; hence C4 of zb.concat and zb.split, and zb_build_concat. */
static void test_variadics_unify(void) {
  CU_ASSERT_FALSE(accepts("irdl.operation @op { %t = irdl.any irdl.operands(a: variadic %t) }", TWO_OPERANDS));
}

/* An optional operand may stand in the middle (attention_grad, sgd). */
static void test_optional_in_the_middle(void) {
  static const char body[] = "irdl.operation @op { %a = irdl.any %b = irdl.any %c = irdl.any "
                             "irdl.operands(a: %a, b: optional %b, c: %c) }";
  CU_ASSERT(accepts(body, TWO_OPERANDS));
  CU_ASSERT(accepts(body, "func.func @f(%a: i32) { \"t.op\"(%a, %a, %a) : (i32, i32, i32) -> () return }"));
  CU_ASSERT_FALSE(accepts(body, "func.func @f(%a: i32) { \"t.op\"(%a) : (i32) -> () return }"));
}

/* Operands and results of one IRDL op must have different names; hence new_parameter in ir/ops/optimizer.c. */
static void test_names_differ(void) {
  CU_ASSERT_FALSE(
      accepts("irdl.operation @op { %a = irdl.any irdl.operands(x: %a) irdl.results(x: %a) }", "module {}"));
}

/* Attributes that IRDL does not declare are accepted unchecked; hence check_attribute_names in ir/verify.c. */
static void test_undeclared_attributes(void) {
  CU_ASSERT(accepts("irdl.operation @op { }", "\"t.op\"() {anything = 1 : i64} : () -> ()"));
}

/* Properties are refused, so attributes are always in the one dictionary. */
static void test_no_properties(void) {
  CU_ASSERT_FALSE(accepts("irdl.operation @op { }", "\"t.op\"() <{anything = 1 : i64}> : () -> ()"));
}

/* Ops that the dialect does not have are refused: typos in op names need no code of ours. */
static void test_unknown_ops(void) { CU_ASSERT_FALSE(accepts("irdl.operation @op { }", "\"t.oops\"() : () -> ()")); }

/* All attributes of an IRDL op can be enumerated (those of unregistered ops with properties cannot). */
static void test_attributes_enumerate(void) {
  fixture f;
  fixture_init(&f);
  MlirModule module =
      parse(&f, "func.func @f(%a: tensor<2xf32>) {\n  %0 = \"zb.elu\"(%a) {alpha = 1.0 : f64, zb.id = 1 : i64} : "
                "(tensor<2xf32>) -> tensor<2xf32>\n  return\n}");
  MlirOperation op = mlirBlockGetFirstOperation(body_of(first_function(module)));
  CU_ASSERT_EQUAL(mlirOperationGetNumAttributes(op), 2);
  mlirModuleDestroy(module);
  fixture_deinit(&f);
}

/* Uniqued strings end with a NUL; zb_get_string and the views lend them without a copy. */
static void test_strings_end_with_nul(void) {
  fixture f;
  fixture_init(&f);
  char text[] = "abcdefgh";
  MlirAttribute attribute = mlirStringAttrGet(f.context, mlirStringRefCreate(text, 3));
  MlirStringRef kept = mlirStringAttrGetValue(attribute);
  CU_ASSERT_EQUAL(kept.length, 3);
  CU_ASSERT_EQUAL(kept.data[3], '\0');
  CU_ASSERT_PTR_NOT_EQUAL(kept.data, text);
  fixture_deinit(&f);
}

/* Parameters of an IRDL type can only be read from its text; this is the text. */
static void test_frame_text(void) {
  fixture f;
  fixture_init(&f);
  zb_text text = {0};
  mlirTypePrint(zb_frame_type(f.context, "fb", 192), add_printed, &text);
  CU_ASSERT_STRING_EQUAL(text.data, "!zb.frame<\"fb\", 192 : i64>");
  zb_text_deinit(&text);
  fixture_deinit(&f);
}

/* Multi-line errors survive mlirEmitError; the hint travels in one (ir/diagnostics.c). */
static void test_multi_line_errors(void) {
  fixture f;
  fixture_init(&f);
  mlirEmitError(mlirLocationUnknownGet(f.context), "first\nsecond");
  CU_ASSERT_STRING_EQUAL(f.said.data, "error: first\nsecond\n");
  fixture_deinit(&f);
}

int main(void) {
  static const test_row rows[] = {
      {"variables unify", test_variables_unify},
      {"variadics unify", test_variadics_unify},
      {"optional in the middle", test_optional_in_the_middle},
      {"names differ", test_names_differ},
      {"undeclared attributes", test_undeclared_attributes},
      {"no properties", test_no_properties},
      {"unknown ops", test_unknown_ops},
      {"attributes enumerate", test_attributes_enumerate},
      {"strings end with a NUL", test_strings_end_with_nul},
      {"frame text", test_frame_text},
      {"multi-line errors", test_multi_line_errors},
      {NULL, NULL},
  };
  return run_tests("mlir_quirks", rows);
}
