/* Building ops: inferred types, defaults left out, marks, optional operands, errors at the builder's location. */
#include "test/ir/test.h"

#include <mlir-c/BuiltinAttributes.h>

static const char function_text[] =
    "func.func @f(%a: tensor<4x8xf32>, %b: tensor<8x3xf32>, %s: tensor<8xf32>, %i: tensor<4x8xi64>) {\n"
    "  return\n"
    "}\n";

typedef struct scene {
  fixture f;
  MlirModule module;
  MlirBlock block;
  zb_builder b;
  MlirValue a, weights, scale, integers;
} scene;

static void scene_init(scene *s) {
  fixture_init(&s->f);
  s->module = parse(&s->f, function_text);
  CU_ASSERT_FATAL(!mlirModuleIsNull(s->module));
  s->block = body_of(first_function(s->module));
  s->b = zb_builder_before(mlirBlockGetTerminator(s->block));
  s->a = mlirBlockGetArgument(s->block, 0);
  s->weights = mlirBlockGetArgument(s->block, 1);
  s->scale = mlirBlockGetArgument(s->block, 2);
  s->integers = mlirBlockGetArgument(s->block, 3);
}

static void scene_deinit(scene *s) {
  mlirModuleDestroy(s->module);
  fixture_deinit(&s->f);
}

static bool has_type(MlirValue value, const char *expected) {
  zb_shape shape;
  char text[96];
  return !mlirValueIsNull(value) && zb_type_shape(mlirValueGetType(value), &shape) &&
         strcmp(zb_shape_text(&shape, text), expected) == 0;
}

static void check_text(const scene *s, const char *expected) {
  char *text = print(mlirModuleGetOperation(s->module));
  if (!strstr(text, expected)) fprintf(stderr, "\nexpected '%s' in:\n%s\n", expected, text);
  CU_ASSERT_PTR_NOT_NULL(strstr(text, expected));
  CU_ASSERT(zb_verify_module(mlirModuleGetOperation(s->module)));
  zb_free(text);
}

static void test_types_are_inferred(void) {
  scene s;
  scene_init(&s);
  MlirValue product = zb_build2(&s.b, "matmul", s.a, s.weights);
  CU_ASSERT(has_type(product, "4x3xf32"));
  CU_ASSERT(has_type(zb_build1(&s.b, "is_nan", product), "4x3xi1"));
  CU_ASSERT_FALSE(s.b.failed);
  check_text(&s, "%0 = \"zb.matmul\"(%arg0, %arg1) : (tensor<4x8xf32>, tensor<8x3xf32>) -> tensor<4x3xf32>");
  scene_deinit(&s);
}

static void test_defaults_are_left_out(void) {
  scene s;
  scene_init(&s);
  zb_attr attrs[] = {zb_bool("transpose_lhs", false), zb_bool("transpose_rhs", true)};
  MlirValue operands[] = {s.a, s.a};
  zb_build(&s.b, "matmul", operands, 2, attrs, 2);
  check_text(&s, "\"zb.matmul\"(%arg0, %arg0) {transpose_rhs = true} :");
  scene_deinit(&s);
}

static void test_marks(void) {
  scene s;
  scene_init(&s);
  MlirNamedAttribute mark = zb_named(s.f.context, "zb.of", zb_mlir_i64(s.f.context, 7));
  s.b.marks = &mark;
  s.b.mark_count = 1;
  MlirOperation op = mlirOpResultGetOwner(zb_build1(&s.b, "relu", s.a));
  CU_ASSERT_EQUAL(zb_get_i64(op, "zb.of", -1), 7);
  CU_ASSERT_EQUAL(zb_get_i64(op, "zb.id", -1), -1);
  CU_ASSERT_PTR_NULL(zb_get_string(op, "zb.class"));
  mlirOperationSetAttributeByName(op, mlirStringRefCreateFromCString("zb.class"), zb_mlir_string(s.f.context, ""));
  CU_ASSERT_STRING_EQUAL(zb_get_string(op, "zb.class"), "");
  scene_deinit(&s);
}

static void test_optional_operands(void) {
  scene s;
  scene_init(&s);
  zb_attr axis = zb_int("axis", 1);
  MlirValue operands[] = {s.a, s.scale, {NULL}};
  MlirOperation op = zb_build_op(&s.b, "layer_norm", operands, 3, &axis, 1, -1);
  CU_ASSERT_EQUAL_FATAL(mlirOperationGetNumOperands(op), 2);
  CU_ASSERT_EQUAL(mlirOperationGetNumResults(op), 3);
  operands[2] = s.scale;
  op = zb_build_op(&s.b, "layer_norm", operands, 3, &axis, 1, -1);
  CU_ASSERT_EQUAL(mlirOperationGetNumOperands(op), 3);
  /* An optional one in the middle (sgd: parameter, gradient, momentum_buffer?, step, settings), null or left out. */
  const zb_shape pair = {.dtype = ZB_F64, .rank = 1, .dims = {2}};
  zb_attr scale = zb_float("gradient_scale", 0.5);
  MlirValue step = zb_build_scalar(&s.b, ZB_I64, 1),
            settings = ZB_BUILD(&s.b, "expand", zb_build_scalar(&s.b, ZB_F64, 0.1), zb_ints("shape", pair.dims, 1)),
            with_null[] = {s.a, s.a, {NULL}, step, settings}, without[] = {s.a, s.a, step, settings};
  CU_ASSERT_EQUAL(mlirOperationGetNumOperands(zb_build_op(&s.b, "sgd", with_null, 5, &scale, 1, 1)), 4);
  op = zb_build_op(&s.b, "sgd", without, 4, &scale, 1, 1);
  CU_ASSERT_EQUAL(mlirOperationGetNumOperands(op), 4);
  zb_op_view view;
  zb_op_view_storage storage;
  CU_ASSERT_FATAL(zb_op_view_get(op, &view, &storage));
  CU_ASSERT_EQUAL(view.operand_count, 5);
  CU_ASSERT_EQUAL(view.operands[2].rank, -1);
  CU_ASSERT_EQUAL(view.operands[3].dtype, ZB_I64);
  CU_ASSERT(zb_verify_module(mlirModuleGetOperation(s.module)));
  scene_deinit(&s);
}

static void test_short_forms(void) {
  scene s;
  scene_init(&s);
  zb_shape row = {ZB_F32, 2, {1, 8}}, scalar = {.dtype = ZB_BF16}, whole = {ZB_F32, 2, {4, 8}};
  CU_ASSERT(has_type(zb_build_splat(&s.b, &whole, 0.5), "4x8xf32"));
  CU_ASSERT(has_type(zb_build_splat(&s.b, &scalar, 1), "bf16"));
  CU_ASSERT(has_type(zb_build_scalar(&s.b, ZB_I1, 1), "i1"));
  CU_ASSERT(has_type(zb_build_sum_to(&s.b, s.a, &row), "1x8xf32"));
  CU_ASSERT_PTR_EQUAL(zb_build_sum_to(&s.b, s.a, &whole).ptr, s.a.ptr);
  CU_ASSERT_PTR_EQUAL(zb_build_reshape(&s.b, s.a, whole.dims, 2).ptr, s.a.ptr);
  CU_ASSERT(has_type(zb_build_reshape(&s.b, s.a, (int64_t[]){32}, 1), "32xf32"));
  check_text(&s, "dense<5.000000e-01> : tensor<f32>");
  scene_deinit(&s);
}

/* Lists of different types, which one zb.concat or zb.split cannot have, become several ops. */
static void test_concat_and_split(void) {
  scene s;
  scene_init(&s);
  int64_t sizes[] = {1, 2, 3, 2}, equal[] = {3, 1, 2, 2};
  MlirValue parts[4];
  zb_build_split(&s.b, s.a, 1, sizes, 4, parts);
  CU_ASSERT(has_type(parts[2], "4x3xf32") && has_type(parts[3], "4x2xf32"));
  CU_ASSERT_STRING_EQUAL(zb_op_find(mlirOpResultGetOwner(parts[0]))->name, "slice");
  CU_ASSERT(has_type(zb_build_concat(&s.b, parts, 4, 1), "4x8xf32"));
  CU_ASSERT_PTR_EQUAL(zb_build_concat(&s.b, parts, 1, 1).ptr, parts[0].ptr);
  zb_build_split(&s.b, s.a, 1, equal, 4, parts);
  CU_ASSERT_STRING_EQUAL(zb_op_find(mlirOpResultGetOwner(parts[0]))->name, "split");
  MlirValue whole = zb_build_concat(&s.b, parts, 4, 1);
  CU_ASSERT_EQUAL(mlirOperationGetNumOperands(mlirOpResultGetOwner(whole)), 4);
  CU_ASSERT(zb_verify_module(mlirModuleGetOperation(s.module)));
  scene_deinit(&s);
}

/* After a failure everything returns null and nothing more is said. */
static void test_failure(void) {
  scene s;
  scene_init(&s);
  CU_ASSERT(mlirValueIsNull(zb_build2(&s.b, "matmul", s.a, s.scale)));
  CU_ASSERT(s.b.failed);
  CU_ASSERT(says(&s.f, "cannot build zb.matmul: operands must be matrices"));
  CU_ASSERT(says(&s.f, "hint: reshape a vector to a matrix first"));
  CU_ASSERT_EQUAL(s.f.diagnostics.errors, 1);
  CU_ASSERT(mlirValueIsNull(zb_build1(&s.b, "relu", s.a)));
  CU_ASSERT(mlirValueIsNull(zb_build_scalar(&s.b, ZB_F32, 1)));
  CU_ASSERT_EQUAL(s.f.diagnostics.errors, 1);
  CU_ASSERT(mlirOperationEqual(mlirBlockGetFirstOperation(s.block), mlirBlockGetTerminator(s.block)));
  scene_deinit(&s);
}

typedef struct refusal {
  const char *op;
  int operand_count;
  zb_attr attr;
  const char *text;
} refusal;

static void test_refusals(void) {
  static const refusal cases[] = {
      {"no_such_op", 1, {0}, "has no row"},
      {"relu", 2, {0}, "expected operands (x), got 2"},
      {"softmax", 1, {0}, "attribute 'axis' is missing"},
      {"softmax", 1, {.name = "axis", .kind = ZB_ATTR_FLOAT, .f = 1}, "attribute 'axis' has the wrong kind"},
      {"relu", 1, {.name = "axis", .kind = ZB_ATTR_INT, .i = 1}, "an attribute was given that the op does not have"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
    scene s;
    scene_init(&s);
    MlirValue operands[] = {s.a, s.a};
    zb_build(&s.b, cases[i].op, operands, cases[i].operand_count, &cases[i].attr, cases[i].attr.name ? 1 : 0);
    CU_ASSERT(s.b.failed);
    CU_ASSERT(says(&s.f, cases[i].text));
    scene_deinit(&s);
  }
}

/* What IRDL refuses to parse, so that no .mlir test can show it. */
static void test_concat_of_different_types(void) {
  scene s;
  scene_init(&s);
  int64_t sizes[] = {1, 2, 3, 2};
  MlirValue parts[4];
  zb_build_split(&s.b, s.a, 1, sizes, 4, parts);
  zb_attr axis = zb_int("axis", 1);
  zb_build(&s.b, "concat", parts, 4, &axis, 1);
  CU_ASSERT(says(&s.f, "zb.concat: the third and later operands differ in type: expected 4x3xf32, got 4x2xf32 (C4)"));
  scene_deinit(&s);
}

int main(void) {
  static const test_row rows[] = {
      {"types are inferred", test_types_are_inferred},
      {"defaults are left out", test_defaults_are_left_out},
      {"marks", test_marks},
      {"optional operands", test_optional_operands},
      {"short forms", test_short_forms},
      {"concat and split", test_concat_and_split},
      {"failure", test_failure},
      {"refusals", test_refusals},
      {"concat of different types", test_concat_of_different_types},
      {NULL, NULL},
  };
  return run_tests("builder", rows);
}
