/* The files of a model, mapped. Tests: test/ir/import/import_test.c, mutate_test.c. */
#include "ir/import/import.h"
#include "ir/nesting.h"

#include <string.h>

zb_status zb_import_source_open(const char *path, const char *name, zb_import_source *out) {
  *out = (zb_import_source){0};
  zb_status status = zb_mapping_open(NULL, path, &out->file);
  if (status)
    return zb_status_hint_text(status) ? status : zb_status_hint(status, "check the path and its permissions");
  out->data = out->file.bytes;
  out->bytes = (size_t)out->file.count;
  if (!name || (out->name = zb_strdup(name))) return NULL;
  zb_import_source_close(out);
  return ZB_OUT_OF_MEMORY();
}

void zb_import_source_close(zb_import_source *source) {
  zb_mapping_close(&source->file);
  zb_free(source->name);
  *source = (zb_import_source){0};
}

void *zb_import_allocate(void *refused, size_t bytes) {
  void *memory = zb_alloc(bytes ? bytes : 1);
  if (!memory && refused) *(bool *)refused = true;
  return memory;
}

void zb_import_release(void *refused ZB_UNUSED, void *memory) { zb_free(memory); }

zb_status zb_import_parse(MlirContext context, const char *path, const char *text, MlirModule *out) {
  int diagnostics = 0;
  const size_t bytes = strlen(text);
  ZB_TRY(zb_check_nesting(context, path, text, bytes));
  MlirDiagnosticHandlerID counter = zb_count_diagnostics(context, &diagnostics);
  MlirOperation module =
      mlirOperationCreateParse(context, mlirStringRefCreate(text, bytes), mlirStringRefCreateFromCString(path));
  mlirContextDetachDiagnosticHandler(context, counter);
  if (!mlirOperationIsNull(module)) {
    *out = mlirModuleFromOperation(module);
    if (mlirModuleIsNull(*out)) mlirOperationDestroy(module);
  }
  return mlirModuleIsNull(*out) ? zb_parse_refused(context, path, text, bytes, diagnostics) : NULL;
}
