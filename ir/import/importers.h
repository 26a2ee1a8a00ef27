/* The importers: importers.def expanded. */
#pragma once

#include "ir/dialect.h"

/* Imports a file: a module at level graph with one function @model on one micro-batch, inputs and parameters as
 * arguments, weights in out->weights. What is wrong with it was reported as diagnostics; the status then only says that
 * it was. out->context is set in any case and stays the caller's to destroy on failure. */
typedef zb_status zb_import_function(MlirContext context, const zb_import_params *params, zb_module *out);
#define ZB_IMPORTER(name, endings, mark) zb_import_function zb_import_##name;
#include "ir/import/importers.def"
#undef ZB_IMPORTER

typedef struct zb_importer {
  const char *name, *endings, *mark;
  zb_import_function *run;
} zb_importer;
/* The row that recognises a file. USAGE if none does; IO if a mark is looked for and the file cannot be read. */
zb_status zb_importer_find(const zb_importer *rows, int count, const char *path, const zb_importer **out) ZB_MUST_USE;
/* Imports a file by the row that recognises it. */
zb_status zb_import_file(MlirContext context, const zb_import_params *params, zb_module *out) ZB_MUST_USE;
