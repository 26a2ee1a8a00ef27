/* The diagnostic handler: place, text, source line, caret, notes, hint. */
#include "test/ir/test.h"

#include <stdlib.h>
#include <unistd.h>

static MlirStringRef ref(const char *text) { return mlirStringRefCreateFromCString(text); }

static void test_source_line_and_hint(void) {
  static const char text[] = "// one\n\tsecond line\nthird line\n";
  char path[] = "zb-diagnostics-test-XXXXXX", expected[256];
  int file = mkstemp(path);
  CU_ASSERT_FATAL(file >= 0);
  CU_ASSERT_EQUAL(write(file, text, sizeof text - 1), (ssize_t)sizeof text - 1);
  close(file);
  fixture f;
  fixture_init(&f);
  CU_ASSERT_EQUAL(zb_location_error(mlirLocationFileLineColGet(f.context, ref(path), 2, 5), "try this", "wrong: %d", 7),
                  ZB_FAIL);
  snprintf(expected, sizeof expected, "%s:2:5: error: wrong: 7\n  \tsecond line\n  \t   ^\n  hint: try this\n", path);
  CU_ASSERT_STRING_EQUAL(f.said.data, expected);
  CU_ASSERT_EQUAL(f.diagnostics.errors, 1);
  /* Past the end of the file: no line, no crash. */
  zb_location_error(mlirLocationFileLineColGet(f.context, ref(path), 99, 5), NULL, "far away");
  snprintf(expected, sizeof expected, "%s:99:5: error: far away\n", path);
  CU_ASSERT(says(&f, expected));
  CU_ASSERT_EQUAL(f.diagnostics.errors, 2);
  unlink(path);
  fixture_deinit(&f);
}

static void test_places(void) {
  fixture f;
  fixture_init(&f);
  MlirLocation unknown = mlirLocationUnknownGet(f.context);
  MlirLocation place = mlirLocationFileLineColGet(f.context, ref("no-such.mlir"), 3, 1);
  MlirLocation whole_file = mlirLocationFileLineColGet(f.context, ref("model.onnx"), 0, 0);
  zb_location_error(unknown, NULL, "a");
  CU_ASSERT_STRING_EQUAL(f.said.data, "error: a\n");
  zb_location_error(mlirLocationNameGet(f.context, ref("node 'n'"), unknown), NULL, "b");
  CU_ASSERT(says(&f, "\nnode 'n': error: b\n"));
  zb_location_error(mlirLocationNameGet(f.context, ref("node 'n'"), whole_file), NULL, "c");
  CU_ASSERT(says(&f, "\nmodel.onnx: node 'n': error: c\n"));
  zb_location_error(mlirLocationCallSiteGet(place, unknown), NULL, "d");
  CU_ASSERT(says(&f, "\nno-such.mlir:3:1: error: d\n"));
  fixture_deinit(&f);
}

/* MLIR's own errors come with notes. */
static void test_notes(void) {
  fixture f;
  fixture_init(&f);
  MlirModule module =
      parse(&f, "func.func @f(%a: tensor<3xf32>) { %0 = \"zb.add\"(%a) : (tensor<3xf32>) -> tensor<3xf32> return }");
  CU_ASSERT(mlirModuleIsNull(module));
  CU_ASSERT(says(&f, "error: "));
  CU_ASSERT(says(&f, "note: see current operation"));
  fixture_deinit(&f);
}

static void test_nearest_op(void) {
  fixture f;
  fixture_init(&f);
  MlirModule module =
      parse(&f, "func.func @f(%a: tensor<3xf32>) { %0 = \"zb.rellu\"(%a) : (tensor<3xf32>) -> tensor<3xf32> return }");
  CU_ASSERT(mlirModuleIsNull(module));
  CU_ASSERT(says(&f, "  hint: did you mean 'zb.relu'?\n"));
  fixture_deinit(&f);
}

static void test_long_texts(void) {
  fixture f;
  fixture_init(&f);
  char name[3000];
  memset(name, 'x', sizeof name - 1);
  name[sizeof name - 1] = '\0';
  zb_location_error(mlirLocationUnknownGet(f.context), "short", "%s", name);
  CU_ASSERT(f.said.length > 1000);
  zb_op_error error;
  CU_ASSERT_EQUAL(zb_op_fail(&error, name, "%s", name), ZB_FAIL);
  CU_ASSERT_EQUAL(strlen(error.text), sizeof error.text - 1);
  CU_ASSERT_EQUAL(strlen(error.hint), sizeof error.hint - 1);
  fixture_deinit(&f);
}

int main(void) {
  static const test_row rows[] = {
      {"source line and hint", test_source_line_and_hint},
      {"places", test_places},
      {"notes", test_notes},
      {"nearest op", test_nearest_op},
      {"long texts", test_long_texts},
      {NULL, NULL},
  };
  return run_tests("diagnostics", rows);
}
