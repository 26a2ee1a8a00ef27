/* The dialect in a context: every op has an example that parses, verifies and prints as it was read; frames; reading
 * attributes. */
#include "test/ir/test.h"

#include "zb/compiler.h"

#include <stdlib.h>
#include <unistd.h>

static char *print_again(const fixture *f, const char *text) {
  MlirModule module = parse(f, text);
  if (mlirModuleIsNull(module)) return NULL;
  char *printed = print(mlirModuleGetOperation(module));
  mlirModuleDestroy(module);
  return printed;
}

static void test_examples(void) {
  fixture f;
  fixture_init(&f);
  char *source = read_source("test/ir/examples.mlir");
  MlirModule module = parse(&f, source);
  CU_ASSERT_FATAL(!mlirModuleIsNull(module));
  CU_ASSERT(zb_verify_module(mlirModuleGetOperation(module)));
  char *once = print(mlirModuleGetOperation(module)), *twice = print_again(&f, once);
  CU_ASSERT_PTR_NOT_NULL_FATAL(twice);
  CU_ASSERT_STRING_EQUAL(once, twice);
  for (int i = 0; i < zb_op_builtin_count(); ++i) {
    char name[80];
    snprintf(name, sizeof name, "\"zb.%s\"(", zb_op_at(i)->name);
    if (!strstr(once, name)) fprintf(stderr, "\nno example of zb.%s in test/ir/examples.mlir\n", zb_op_at(i)->name);
    CU_ASSERT_PTR_NOT_NULL(strstr(once, name));
  }
  zb_free(once);
  zb_free(twice);
  zb_free(source);
  mlirModuleDestroy(module);
  fixture_deinit(&f);
}

static void test_frames(void) {
  fixture f;
  fixture_init(&f);
  static const char *const kinds[] = {"fb", "fw", "bw"};
  for (int i = 0; i < 3; ++i) {
    char kind[ZB_FRAME_KIND_BYTES] = "";
    uint64_t bytes = 0;
    MlirType type = zb_frame_type(f.context, kinds[i], UINT64_C(1) << 40);
    CU_ASSERT_FATAL(!mlirTypeIsNull(type));
    CU_ASSERT_FATAL(zb_type_frame(type, kind, &bytes));
    CU_ASSERT_STRING_EQUAL(kind, kinds[i]);
    CU_ASSERT_EQUAL(bytes, UINT64_C(1) << 40);
    CU_ASSERT_EQUAL(zb_type_bytes(type), UINT64_C(1) << 40);
  }
  CU_ASSERT(mlirTypeIsNull(zb_frame_type(f.context, "xx", 64)));
  MlirType tensor = mlirTypeParseGet(f.context, mlirStringRefCreateFromCString("tensor<3x5xbf16>"));
  CU_ASSERT_FALSE(zb_type_frame(tensor, NULL, NULL));
  CU_ASSERT_EQUAL(zb_type_bytes(tensor), 30);
  CU_ASSERT_EQUAL(zb_type_bytes(mlirTypeParseGet(f.context, mlirStringRefCreateFromCString("index"))), 0);
  fixture_deinit(&f);
}

static void test_types(void) {
  static const struct {
    const char *text;
    bool known;
  } cases[] = {
      {"tensor<f32>", true},
      {"tensor<2x3xf64>", true},
      {"tensor<0x3xi1>", true},
      {"tensor<1x1x1x1x1x1x1x1xi64>", true},
      {"tensor<1x1x1x1x1x1x1x1x1xf32>", false},
      {"tensor<?xf32>", false},
      {"tensor<*xf32>", false},
      {"tensor<4xi8>", false},
      {"tensor<4xsi32>", false},
      {"tensor<4xindex>", false},
      {"vector<4xf32>", false},
      {"f32", false},
      {"tensor<4294967296x4294967296x4xf32>", false},
  };
  fixture f;
  fixture_init(&f);
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
    MlirType type = mlirTypeParseGet(f.context, mlirStringRefCreateFromCString(cases[i].text));
    CU_ASSERT_FATAL(!mlirTypeIsNull(type));
    zb_shape shape;
    CU_ASSERT_EQUAL(zb_type_shape(type, &shape), cases[i].known);
    if (cases[i].known) CU_ASSERT(mlirTypeEqual(zb_shape_type(f.context, &shape), type));
  }
  fixture_deinit(&f);
}

/* Attributes of any width, and a unit attribute as true. */
static void test_lenient_attributes(void) {
  static const char text[] =
      "func.func @f(%a: tensor<3x4xf32>, %b: tensor<3x4xf32>) {\n"
      "  %0 = \"zb.matmul\"(%a, %b) {transpose_rhs} : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x3xf32>\n"
      "  %1 = \"zb.softmax\"(%a) {axis = 1 : i8} : (tensor<3x4xf32>) -> tensor<3x4xf32>\n"
      "  %2 = \"zb.elu\"(%a) {alpha = 2 : i32} : (tensor<3x4xf32>) -> tensor<3x4xf32>\n"
      "  %3 = \"zb.elu\"(%a) {alpha = 0.5 : f32} : (tensor<3x4xf32>) -> tensor<3x4xf32>\n"
      "  %4 = \"zb.transpose\"(%a) {permutation = [1, 0]} : (tensor<3x4xf32>) -> tensor<4x3xf32>\n"
      "  %5 = \"zb.transpose\"(%a) {permutation = array<i32: 1, 0>} : (tensor<3x4xf32>) -> tensor<4x3xf32>\n"
      "  return\n"
      "}\n";
  fixture f;
  fixture_init(&f);
  MlirModule module = parse(&f, text);
  CU_ASSERT_FATAL(!mlirModuleIsNull(module));
  CU_ASSERT(zb_verify_module(mlirModuleGetOperation(module)));
  MlirOperation op = mlirBlockGetFirstOperation(body_of(first_function(module)));
  static const double expected[] = {1, 1, 2, 0.5, 1, 1};
  for (int i = 0; i < 6; ++i, op = mlirOperationGetNextInBlock(op)) {
    zb_op_view view;
    zb_op_view_storage storage;
    CU_ASSERT_FATAL(zb_op_view_get(op, &view, &storage));
    double got = i == 0   ? (double)zb_attr_bool(&view.attrs, "transpose_rhs", false)
                 : i == 1 ? (double)zb_attr_int(&view.attrs, "axis", -1)
                 : i < 4  ? zb_attr_float(&view.attrs, "alpha", -1)
                          : (double)zb_attr_find(&view.attrs, "permutation")->ints[0];
    CU_ASSERT_EQUAL(got, expected[i]);
  }
  mlirModuleDestroy(module);
  fixture_deinit(&f);
}

/* Defaults are in the view; an optional attribute without one is not. */
static void test_defaults(void) {
  static const char text[] = "func.func @f(%a: tensor<3x4xf32>, %y: tensor<3xi64>) {\n"
                             "  %0 = \"zb.selu\"(%a) : (tensor<3x4xf32>) -> tensor<3x4xf32>\n"
                             "  %1:2 = \"zb.cross_entropy\"(%a, %y) {reduction = \"sum\"} : (tensor<3x4xf32>, "
                             "tensor<3xi64>) -> (tensor<f32>, tensor<3xf32>)\n"
                             "  return\n"
                             "}\n";
  fixture f;
  fixture_init(&f);
  MlirModule module = parse(&f, text);
  CU_ASSERT_FATAL(!mlirModuleIsNull(module));
  MlirOperation selu = mlirBlockGetFirstOperation(body_of(first_function(module))),
                loss = mlirOperationGetNextInBlock(selu);
  zb_op_view view;
  zb_op_view_storage storage;
  CU_ASSERT_FATAL(zb_op_view_get(selu, &view, &storage));
  CU_ASSERT_EQUAL(zb_attr_float(&view.attrs, "gamma", 0), 1.05070102214813232421875);
  CU_ASSERT_FATAL(zb_op_view_get(loss, &view, &storage));
  CU_ASSERT_PTR_NULL(zb_attr_find(&view.attrs, "ignore_index"));
  CU_ASSERT_STRING_EQUAL(zb_attr_string(&view.attrs, "reduction", ""), "sum");
  CU_ASSERT_FALSE(zb_op_view_get(first_function(module), &view, &storage));
  mlirModuleDestroy(module);
  fixture_deinit(&f);
}

/* ---- Files ---- */

static zb_status import_bytes(const fixture *f, const char *bytes, size_t count, zb_module *out) {
  char path[] = "zb-import-test-XXXXXX";
  int file = mkstemp(path);
  CU_ASSERT_FATAL(file >= 0);
  CU_ASSERT_EQUAL(write(file, bytes, count), (ssize_t)count);
  close(file);
  zb_status status = zb_import_mlir(f->context, &(zb_import_params){.path = path}, out);
  unlink(path);
  return status;
}

static void check_refused(const char *bytes, size_t count, const char *text) {
  fixture f;
  fixture_init(&f);
  zb_module out;
  zb_status status = import_bytes(&f, bytes, count, &out);
  CU_ASSERT_EQUAL(zb_status_code(status), ZB_INVALID);
  if (status) CU_ASSERT_PTR_NOT_NULL(strstr(zb_status_text(status), text));
  CU_ASSERT(mlirModuleIsNull(out.module));
  zb_status_free(status);
  fixture_deinit(&f);
}

static void test_import(void) {
  static const char good[] = "func.func @f(%a: tensor<3xf32>) { return }\n";
  static const char typo[] =
      "func.func @f(%a: tensor<3xf32>) { %0 = \"zb.rellu\"(%a) : (tensor<3xf32>) -> tensor<3xf32> return }\n";
  static const char wrong[] =
      "func.func @f(%a: tensor<3xf32>) { %0 = \"zb.relu\"(%a) : (tensor<3xf32>) -> tensor<4xf32> return }\n";
  fixture f;
  fixture_init(&f);
  zb_module module;
  CU_ASSERT_PTR_NULL(import_bytes(&f, good, sizeof good - 1, &module));
  CU_ASSERT_FALSE(mlirModuleIsNull(module.module));
  f.context = module.context;
  mlirModuleDestroy(module.module);
  zb_status status = zb_import_mlir(f.context, &(zb_import_params){.path = "no-such-file.mlir"}, &module);
  CU_ASSERT_EQUAL(zb_status_code(status), ZB_IO);
  zb_status_free(status);
  fixture_deinit(&f);
  check_refused("ML\xEFR\x06\x01", 6, "is MLIR bytecode");
  check_refused(typo, sizeof typo - 1, "could not be parsed");
  check_refused(wrong, sizeof wrong - 1, "is not a valid program");
  check_refused("module {", 8, "could not be parsed");
}

/* ---- Damaged programs ---- */

static uint64_t random_state = 7;

static size_t random_below(size_t n) {
  random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (size_t)(random_state >> 33) % n;
}

/* One edit: a byte replaced by one that means something, a piece removed, or a number made extreme. */
static void damage(char *text) {
  static const char bytes[] = "0123456789x?<>(){}:,-\"%@f i";
  static const char *const numbers[] = {"9223372036854775807", "-9223372036854775808", "4294967296", "-1", "0"};
  size_t length = strlen(text), at = random_below(length);
  switch (random_below(3)) {
  case 0:
    text[at] = bytes[random_below(sizeof bytes - 1)];
    return;
  case 1: {
    size_t count = 1 + random_below(8);
    if (at + count < length) memmove(text + at, text + at + count, length - at - count + 1);
    return;
  }
  default:
    break;
  }
  const char *number = numbers[random_below(5)];
  size_t from = at, old = 0;
  while (text[from] && (text[from] < '0' || text[from] > '9'))
    ++from;
  while (text[from + old] >= '0' && text[from + old] <= '9')
    ++old;
  memmove(text + from + strlen(number), text + from + old, length - from - old + 1);
  memcpy(text + from, number, strlen(number));
}

/* Each round: one function of the examples with one to three edits, parsed and verified; any outcome but a crash will
 * do. */
static void test_damaged_programs(void) {
  const char *given = getenv("ZB_TEST_ROUNDS");
  long rounds = given ? strtol(given, NULL, 10) : 3000, parsed = 0, valid = 0;
  char *source = read_source("test/ir/examples.mlir"), *begins[512], text[4096];
  int count = 0;
  for (char *at = source; count < 511 && (at = strstr(at, "  func.func")); ++at)
    begins[count++] = at;
  begins[count] = source + strlen(source) - strlen("}\n");
  CU_ASSERT_FATAL(count >= zb_op_builtin_count());
  fixture f;
  fixture_init(&f);
  for (long round = 0; round < rounds; ++round) {
    size_t which = random_below((size_t)count), length = (size_t)(begins[which + 1] - begins[which]);
    CU_ASSERT_FATAL(length + 128 < sizeof text);
    snprintf(text, sizeof text, "%.*s", (int)length, begins[which]);
    for (size_t edits = 1 + random_below(3); edits > 0; --edits)
      damage(text);
    MlirModule module = parse(&f, text);
    if (mlirModuleIsNull(module)) continue;
    ++parsed;
    valid += zb_verify_module(mlirModuleGetOperation(module));
    mlirModuleDestroy(module);
  }
  /* Some survive the parser, and of these some are wrong: otherwise the edits test nothing. */
  CU_ASSERT(parsed > rounds / 50);
  CU_ASSERT(valid < parsed);
  zb_free(source);
  fixture_deinit(&f);
}

static void test_irdl_text(void) {
  CU_ASSERT_PTR_EQUAL(zb_irdl_text(), zb_irdl_text());
  CU_ASSERT_PTR_NOT_NULL(strstr(zb_irdl_text(), "irdl.dialect @zb {"));
  CU_ASSERT_PTR_NOT_NULL(strstr(zb_irdl_text(), "irdl.operands(x: %o0, scale: %o1, bias: optional %o2)"));
  CU_ASSERT_PTR_NOT_NULL(strstr(zb_irdl_text(), "irdl.operands(first: %o0, second: %o1, rest: variadic %o2)"));
}

int main(void) {
  static const test_row rows[] = {
      {"every op has an example that round-trips", test_examples},
      {"frames", test_frames},
      {"types", test_types},
      {"lenient attributes", test_lenient_attributes},
      {"defaults", test_defaults},
      {"import", test_import},
      {"damaged programs", test_damaged_programs},
      {"IRDL text", test_irdl_text},
      {NULL, NULL},
  };
  return run_tests("dialect", rows);
}
