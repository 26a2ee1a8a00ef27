/* What is kept of MLIR within a scope is what MLIR says: of more numbers, texts, types and names than there are places
 * for, in and out of scopes, and in contexts one after the other, whose addresses are mostly the same again. */
#include "ir/scope.h"

#include "test/ir/test.h"

#include <mlir-c/BuiltinAttributes.h>
#include <mlir-c/BuiltinTypes.h>

enum { MANY = 5000 };

static MlirStringRef text_of(int number, char text[32]) {
  snprintf(text, 32, "%d.%d", number % 7, number);
  return mlirStringRefCreateFromCString(text);
}

static void check_attributes(MlirContext context) {
  const int64_t numbers[] = {0, 1, -1, INT64_MAX, INT64_MIN};
  char text[32];
  bool right = true;
  for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; ++i)
    right &= mlirIntegerAttrGetValueInt(zb_kept_i64(context, numbers[i])) == numbers[i];
  for (int turn = 0; turn < 2; ++turn)
    for (int i = 0; i < MANY; ++i) {
      const MlirStringRef name = text_of(i, text);
      right &= mlirAttributeEqual(zb_kept_i64(context, i), mlirIntegerAttrGet(mlirIntegerTypeGet(context, 64), i));
      right &= mlirAttributeEqual(zb_kept_string(context, text), mlirStringAttrGet(context, name));
      right &= mlirIdentifierEqual(zb_kept_name(context, text), mlirIdentifierGet(context, name));
    }
  right &= mlirAttributeEqual(zb_kept_string(context, ""), mlirStringAttrGet(context, mlirStringRefCreate("", 0)));
  CU_ASSERT(right);
}

/* Shapes of as many types; `first` makes those of a context others than those of the one before. */
static void check_shapes(MlirContext context, int first) {
  bool right = true;
  for (int turn = 0; turn < 2; ++turn)
    for (int i = 0; i < MANY; ++i) {
      const int64_t dims[] = {first + i, i % 5};
      zb_shape shape;
      MlirType element = i % 2 ? mlirF32TypeGet(context) : mlirF64TypeGet(context);
      right &= zb_type_shape(mlirRankedTensorTypeGet(2, dims, element, mlirAttributeGetNull()), &shape) &&
               shape.rank == 2 && shape.dims[0] == dims[0] && shape.dims[1] == dims[1] &&
               shape.dtype == (i % 2 ? ZB_F32 : ZB_F64);
      right &= !zb_type_shape(mlirIntegerTypeGet(context, (unsigned)(1 + i % 64)), &shape);
    }
  CU_ASSERT(right);
}

static void check_rows(fixture *f) {
  MlirModule module =
      parse(f, "func.func @f(%a: tensor<4xf32>) {\n  %0 = \"zb.exp\"(%a) : (tensor<4xf32>) -> "
               "tensor<4xf32>\n  %1 = \"zb.tanh\"(%0) : (tensor<4xf32>) -> tensor<4xf32>\n  return\n}\n");
  MlirOperation op = mlirBlockGetFirstOperation(body_of(first_function(module)));
  for (int turn = 0; turn < 2; ++turn) {
    CU_ASSERT_PTR_EQUAL(zb_op_find(op), zb_op_find_name("zb.exp"));
    CU_ASSERT_PTR_EQUAL(zb_op_find(mlirOperationGetNextInBlock(op)), zb_op_find_name("zb.tanh"));
    CU_ASSERT_PTR_NULL(zb_op_find(first_function(module)));
  }
  mlirModuleDestroy(module);
}

/* Ops of more names than there are places for, of which nobody has rows, between some that have one. */
static void test_many_names(void) {
  zb_text text = {0};
  zb_text_add(&text, "func.func @f(%%a: tensor<4xf32>) {\n");
  for (int i = 0; i < MANY; ++i) {
    zb_text_add(&text, "  \"x.o%d\"() : () -> ()\n", i);
    if (i % 10 == 0) zb_text_add(&text, "  %%%d = \"zb.exp\"(%%a) : (tensor<4xf32>) -> tensor<4xf32>\n", i / 10);
  }
  zb_text_add(&text, "  return\n}\n");
  MlirContext context = zb_context_create(true);
  const zb_scope outer = zb_scope_set(zb_scope_of(context));
  MlirModule module = mlirModuleCreateParse(context, mlirStringRefCreateFromCString(text.data));
  CU_ASSERT_FATAL(!mlirModuleIsNull(module));
  int found = 0, others = 0;
  for (MlirOperation op = mlirBlockGetFirstOperation(body_of(first_function(module))); !mlirOperationIsNull(op);
       op = mlirOperationGetNextInBlock(op)) {
    const zb_op_def *row = zb_op_find(op);
    found += row == zb_op_find_name("zb.exp");
    others += row == NULL;
  }
  CU_ASSERT_EQUAL(found, MANY / 10);
  CU_ASSERT_EQUAL(others, MANY + 1);
  zb_scope_set(outer);
  mlirModuleDestroy(module);
  mlirContextDestroy(context);
  zb_text_deinit(&text);
}

static void check_all(int first) {
  fixture f;
  fixture_init(&f);
  check_attributes(f.context);
  const zb_scope outer = zb_scope_set(zb_scope_of(f.context));
  CU_ASSERT_EQUAL(outer.number, 0);
  CU_ASSERT_EQUAL(zb_scope_of(f.context).number, zb_scope_here().number);
  for (int turn = 0; turn < 2; ++turn) {
    check_attributes(f.context);
    check_shapes(f.context, first);
    check_rows(&f);
  }
  zb_scope_set(outer);
  check_shapes(f.context, first);
  fixture_deinit(&f);
}

static void test_contexts(void) {
  for (int i = 0; i < 6; ++i)
    check_all(1 + 1000 * i);
}

/* A scope within that of another context. */
static void test_nested(void) {
  fixture f, g;
  fixture_init(&f);
  fixture_init(&g);
  const zb_scope outer = zb_scope_set(zb_scope_of(f.context));
  check_attributes(f.context);
  check_attributes(g.context); /* of which nothing is kept */
  check_shapes(g.context, 2);
  const zb_scope inner = zb_scope_set(zb_scope_of(g.context));
  CU_ASSERT_PTR_EQUAL(inner.context, f.context.ptr);
  CU_ASSERT_NOT_EQUAL(zb_scope_here().number, inner.number);
  check_attributes(g.context);
  check_attributes(f.context);
  check_shapes(f.context, 3);
  zb_scope_set(inner);
  check_attributes(f.context);
  zb_scope_set(outer);
  fixture_deinit(&g);
  fixture_deinit(&f);
}

int main(void) {
  static const test_row rows[] = {{"contexts one after the other", test_contexts},
                                  {"many names", test_many_names},
                                  {"nested", test_nested},
                                  {NULL, NULL}};
  return run_tests("scope", rows);
}
