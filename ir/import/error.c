/* Errors of importers, and the places that they name; memory that lives as long as an import. Tests:
 * test/ir/import/import_test.c. */
#include "ir/import/import.h"

#include <stdio.h>
#include <string.h>

zb_result zb_import_memory(zb_import *im) {
  im->out_of_memory = im->failed = true;
  return ZB_FAIL;
}

zb_result zb_import_fail_status(zb_import *im, zb_status status) {
  if (zb_status_code(status) == ZB_MEMORY)
    (void)zb_import_memory(im);
  else
    (void)zb_import_fail(im, zb_status_hint_text(status), "%s", zb_status_message(status));
  zb_status_free(status);
  return ZB_FAIL;
}

static zb_result report(zb_import *im, MlirLocation location, const char *kind, const char *hint, const char *format,
                        va_list arguments) {
  char text[768];
  vsnprintf(text, sizeof text, format, arguments);
  im->failed = true;
  return zb_location_error(location, hint, "%s%s%s", kind ? kind : "", kind ? ": " : "", text);
}

zb_result zb_import_fail(zb_import *im, const char *hint, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  zb_result result = report(im, zb_import_file_location(im), NULL, hint, format, arguments);
  va_end(arguments);
  return result;
}

zb_result zb_import_refuse(zb_import_node *n, const char *hint, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  zb_result result = report(n->im, n->location, n->kind, hint, format, arguments);
  va_end(arguments);
  return result;
}

static MlirLocation at_file(const zb_import *im, unsigned column) {
  return mlirLocationFileLineColGet(im->context, mlirStringRefCreateFromCString(im->params->path), 0, column);
}

MlirLocation zb_import_file_location(const zb_import *im) { return at_file(im, 0); }

MlirLocation zb_import_node_location(const zb_import *im, const char *path, const char *name, unsigned number) {
  char text[512], unnamed[24];
  bool has_path = path && *path;
  snprintf(unnamed, sizeof unnamed, "#%u", number);
  snprintf(text, sizeof text, "%s%s(%s)", has_path ? path : "", has_path ? " " : "", *name ? name : unnamed);
  return mlirLocationNameGet(im->context, mlirStringRefCreateFromCString(text), at_file(im, number));
}

/* ---- Memory ---- */

void *zb_import_take(zb_import *im, size_t bytes) {
  void *taken = zb_arena_take(&im->memory, bytes, 1);
  if (!taken) zb_import_memory(im);
  return taken;
}

char *zb_import_take_text(zb_import *im, const char *text, size_t length) {
  char *copy = zb_import_take(im, length + 1);
  if (copy) memcpy(copy, text, length);
  return copy;
}

char *zb_import_take_built(zb_import *im, zb_text *text) {
  char *taken = text->failed ? NULL : zb_import_take_text(im, text->data ? text->data : "", text->length);
  if (text->failed) zb_import_memory(im);
  zb_text_deinit(text);
  return taken;
}
