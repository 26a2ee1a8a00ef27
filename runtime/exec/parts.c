/* What of the runtime there is on this machine: the lists of zb/runtime.h. Tests: test/runtime/exec/transport_test.c,
 * test/tools/modules.test. */
#include "runtime/device/device.h"
#include "runtime/transport/transport.h"
#include "zb/runtime.h"

/* The row with this number of those that users choose from; NULL: there is none. */
static const zb_part_row *listed(const zb_part_table *table, int index) {
  for (int i = 0; i < table->count; ++i) {
    const zb_part_row *row = &table->rows[i];
    if ((!row->built_in || !row->built_in->unlisted) && index-- == 0) return row;
  }
  return NULL;
}

static bool part_at(const zb_part_table *table, int index, const char **name, const char **summary) {
  const zb_part_row *row = listed(table, index);
  if (!row) return false;
  *name = row->name;
  *summary = zb_part_summary(row);
  return true;
}

bool zb_runtime_device_at(int index, const char **name, const char **summary) {
  return part_at(&zb_devices, index, name, summary);
}

bool zb_runtime_launch_at(int index, const char **name, const char **summary) {
  return part_at(&zb_transports, index, name, summary);
}

typedef void (*part_visitor)(void *context, const zb_runtime_part *part);

static void visit_table(const zb_part_table *table, const char *kind, part_visitor visit, void *context) {
  const zb_part_row *row;
  for (int i = 0; (row = listed(table, i)); ++i) {
    const zb_part_def *def = NULL;
    char *path = NULL, found[256] = "";
    zb_status missing = zb_part_open(table, row, &def, &path);
    if (!missing && def->probe) missing = def->probe(found, sizeof found);
    zb_runtime_part part = {.kind = kind,
                            .name = row->name,
                            .summary = zb_part_summary(row),
                            .path = path,
                            .found = found,
                            .missing = missing ? zb_status_message(missing) : NULL,
                            .hint = missing ? zb_status_hint_text(missing) : NULL};
    visit(context, &part);
    zb_status_free(missing);
    zb_free(path);
  }
}

void zb_runtime_parts(part_visitor visit, void *context) {
  visit_table(&zb_devices, "device", visit, context);
  visit_table(&zb_transports, "launch", visit, context);
}
