/* The table of transports. Tests: test/runtime/exec. */
#include "runtime/transport/transport.h"

#include "runtime/base/assert.h"
#include "runtime/base/module.h"
#include "runtime/base/words.h"

#include <string.h>

static const zb_transport_row rows[] = {
#define ZB_TRANSPORT(id) {.name = #id, .built_in = &zb_transport_##id},
#define ZB_TRANSPORT_MODULE(id, file, text) {.name = #id, .module = file, .summary = text},
#include "runtime/transport/transports.def"
};
enum { ROW_COUNT = sizeof rows / sizeof rows[0] };

int zb_transport_count(void) { return ROW_COUNT; }

const zb_transport_row *zb_transport_at(int index) {
  ZB_ASSERT(index >= 0 && index < ROW_COUNT);
  return &rows[index];
}

const char *zb_transport_summary(const zb_transport_row *row) {
  return row->built_in ? row->built_in->summary : row->summary;
}

zb_status zb_transport_open_row(const zb_transport_row *row, const zb_transport_def **out, char **out_path) {
  const zb_module *module = NULL;
  *out = row->built_in;
  if (out_path) *out_path = NULL;
  if (row->built_in) return NULL;
  ZB_TRY(zb_module_open(row->module, &module, out_path));
  for (int i = 0; !*out && module->transports && module->transports[i]; ++i)
    if (strcmp(module->transports[i]->name, row->name) == 0) *out = module->transports[i];
  return *out ? NULL : ZB_ERROR(UNAVAILABLE, "the module '%s' has no transport '%s'", row->module, row->name);
}

zb_status zb_transport_find(const char *name, const zb_transport_def **out) {
  const char *names[ROW_COUNT];
  int count = 0;
  *out = NULL;
  for (int i = 0; i < ROW_COUNT; ++i) {
    if (strcmp(rows[i].name, name) == 0) return zb_transport_open_row(&rows[i], out, NULL);
    if (rows[i].built_in && rows[i].built_in->on_virtual_clock) continue; /* no way to launch ranks */
    names[count++] = rows[i].name;
  }
  return zb_unknown_name("way to launch ranks", name, names, count);
}
