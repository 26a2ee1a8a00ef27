/* The files of a model, mapped. Tests: test/ir/import/import_test.c, mutate_test.c. */
#include "ir/import/import.h"
#include "ir/nesting.h"
#include "runtime/base/file.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

zb_status zb_import_source_open(const char *path, const char *name, zb_import_source *out) {
  *out = (zb_import_source){0};
  int file = -1;
  uint64_t bytes = 0;
  zb_status status = zb_file_open(NULL, path, &file, &bytes);
  if (status)
    return zb_status_hint_text(status) ? status : zb_status_hint(status, "check the path and its permissions");
  if (bytes > 0) {
    out->bytes = (size_t)bytes;
    void *data = mmap(NULL, out->bytes, PROT_READ, MAP_PRIVATE, file, 0);
    if (data == MAP_FAILED)
      status = ZB_ERROR(IO, "cannot map '%s': %s", path, strerror(errno));
    else
      out->data = data;
  }
  close(file);
  if (!status && name) {
    out->name = zb_strdup(name);
    if (!out->name) status = ZB_OUT_OF_MEMORY();
  }
  if (status) zb_import_source_close(out);
  return status;
}

void zb_import_source_close(zb_import_source *source) {
  if (source->data) munmap((void *)(uintptr_t)source->data, source->bytes);
  zb_free(source->name);
  *source = (zb_import_source){0};
}

void *zb_import_allocate(void *refused, size_t bytes) {
  void *memory = zb_alloc(bytes ? bytes : 1);
  if (!memory && refused) *(bool *)refused = true;
  return memory;
}

void zb_import_release(void *refused, void *memory) {
  (void)refused;
  zb_free(memory);
}

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
