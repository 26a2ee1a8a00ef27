/* Shared by the tests of ir/: running suites, and a context whose diagnostics are kept as text. */
#ifndef ZB_TEST_IR_TEST_H
#define ZB_TEST_IR_TEST_H

#include "ir/builder.h"
#include "ir/dialect.h"
#include "runtime/base/file.h"
#include "runtime/base/text.h"

#include <CUnit/Basic.h>
#include <CUnit/CUnit.h>
#include <stdio.h>
#include <string.h>

typedef struct test_row {
  const char *name;
  void (*run)(void);
} test_row;

/* Runs the tests (the last row has a NULL name); the exit status of the program. */
static inline int run_tests(const char *suite_name, const test_row *rows) {
  if (CU_initialize_registry() != CUE_SUCCESS) return 1;
  CU_pSuite suite = CU_add_suite(suite_name, NULL, NULL);
  for (; rows->name; ++rows)
    CU_add_test(suite, rows->name, rows->run);
  CU_basic_set_mode(CU_BRM_NORMAL);
  CU_basic_run_tests();
  unsigned failures = CU_get_number_of_failures();
  CU_cleanup_registry();
  return failures != 0;
}

/* A context and what was reported in it. */
typedef struct fixture {
  MlirContext context;
  zb_diagnostics diagnostics;
  zb_text said;
} fixture;

static inline void keep_text(void *context, const char *text) { zb_text_add((zb_text *)context, "%s", text); }

static inline void fixture_init(fixture *f) {
  f->said = (zb_text){0};
  f->context = zb_context_create(false);
  f->diagnostics = (zb_diagnostics){.write = keep_text, .context = &f->said};
  CU_ASSERT_FATAL(!mlirContextIsNull(f->context));
  zb_diagnostics_attach(f->context, &f->diagnostics);
}

static inline void fixture_deinit(fixture *f) {
  mlirContextDestroy(f->context);
  zb_text_deinit(&f->said);
}

static inline MlirModule parse(const fixture *f, const char *text) {
  return mlirModuleCreateParse(f->context, mlirStringRefCreateFromCString(text));
}

static inline bool says(const fixture *f, const char *text) {
  bool found = f->said.data && strstr(f->said.data, text);
  if (!found) fprintf(stderr, "\nexpected '%s' in:\n%s\n", text, f->said.data ? f->said.data : "");
  return found;
}

static inline void add_printed(MlirStringRef chunk, void *user) { zb_text_add_bytes(user, chunk.data, chunk.length); }

/* The text of an op; zb_free it. */
static inline char *print(MlirOperation op) {
  zb_text text = {0};
  mlirOperationPrint(op, add_printed, &text);
  return zb_text_take(&text);
}

/* The first function of a module, and its block. */
static inline MlirOperation first_function(MlirModule module) {
  return mlirBlockGetFirstOperation(mlirModuleGetBody(module));
}

static inline MlirBlock body_of(MlirOperation function) {
  return mlirRegionGetFirstBlock(mlirOperationGetRegion(function, 0));
}

static inline char *read_source(const char *relative) {
  char path[1024], *text = NULL;
  size_t bytes = 0;
  snprintf(path, sizeof path, "%s/%s", ZB_SOURCE_DIR, relative);
  zb_status status = zb_file_read(path, 0, &text, &bytes);
  CU_ASSERT_PTR_NULL_FATAL(status);
  return text;
}

#endif
