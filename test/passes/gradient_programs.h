/* Programs of programs/ for tests of whole programs: parse, run passes, numbers to feed them. */
#ifndef ZB_TEST_GRADIENT_PROGRAMS_H
#define ZB_TEST_GRADIENT_PROGRAMS_H

#include "passes/pipeline.h"
#include "passes/rewrite.h"
#include "runtime/base/file.h"
#include "test/ir/evaluate.c"

#include <stdio.h>

static MlirContext context;

/* programs/NAME.mlir. */
static MlirModule parse(const char *name) {
  char path[512];
  snprintf(path, sizeof path, "%s/test/passes/programs/%s.mlir", ZB_SOURCE_DIR, name);
  char *text = NULL;
  size_t bytes;
  zb_status status = zb_file_read(path, 0, &text, &bytes);
  ZB_ASSERT(!status);
  MlirModule module = mlirModuleCreateParse(context, (MlirStringRef){text, bytes});
  zb_free(text);
  ZB_ASSERT(!mlirModuleIsNull(module));
  return module;
}

static bool run_passes(MlirModule module, const char *text) {
  zb_pipeline pipeline;
  zb_module whole = {.context = context, .module = module};
  zb_pipeline_hooks hooks = {.verify = true};
  zb_compile_state state = {0};
  zb_status status = zb_pipeline_parse(text, &pipeline);
  if (!status) status = zb_pipeline_run(&pipeline, &whole, &state, &hooks);
  zb_pipeline_deinit(&pipeline);
  if (status) fprintf(stderr, "%s", zb_status_text(status));
  zb_status_free(status);
  return status == NULL;
}

/* Numbers from -1 to 1, the same in each run of a test. */
static uint64_t generator;
static double next_number(void) {
  generator = generator * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (double)(generator >> 11) / (double)(UINT64_C(1) << 53) * 2 - 1;
}

/* An array of `shape` without values. */
static zb_array new_array(const zb_shape *shape) {
  zb_array array = {*shape, zb_alloc((size_t)zb_shape_bytes(shape) + 1)};
  ZB_ASSERT(array.data);
  return array;
}

/* The next numbers; for integers labels below 5. */
static zb_array make_array(const zb_shape *shape) {
  zb_array array = new_array(shape);
  for (int64_t i = 0; i < zb_shape_elements(shape); ++i) {
    const double number = next_number();
    if (shape->dtype == ZB_I64)
      ((int64_t *)array.data)[i] = (int64_t)((number + 1) * 2.49);
    else
      zb_array_set(&array, i, number);
  }
  return array;
}

/* Erases the ops of `list`, in program order, that nothing reads any more. */
static void erase_unread(const zb_op_list *list) {
  for (size_t i = list->count; i-- > 0;) {
    bool unread = true;
    for (intptr_t r = 0; r < mlirOperationGetNumResults(list->items[i]); ++r)
      unread = unread && zb_value_unused(mlirOperationGetResult(list->items[i], r));
    if (unread) zb_erase_op(list->items[i]);
  }
}

#endif
