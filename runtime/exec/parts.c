/* What of the runtime there is on this machine: the lists of zb/runtime.h. Tests: test/runtime/exec/transport_test.c,
 * test/tools/modules.test. */
#include "runtime/device/device.h"
#include "runtime/transport/transport.h"
#include "zb/runtime.h"

bool zb_runtime_device_at(int index, const char **name, const char **summary) {
  if (index < 0 || index >= zb_device_count()) return false;
  *name = zb_device_at(index)->name;
  *summary = zb_device_summary(zb_device_at(index));
  return true;
}

/* The virtual transport belongs to the sim device and is no way to launch ranks. */
static bool launches(const zb_transport_row *row) { return !row->built_in || !row->built_in->on_virtual_clock; }

bool zb_runtime_launch_at(int index, const char **name, const char **summary) {
  for (int i = 0; i < zb_transport_count(); ++i) {
    const zb_transport_row *row = zb_transport_at(i);
    if (!launches(row) || index-- > 0) continue;
    *name = row->name;
    *summary = zb_transport_summary(row);
    return true;
  }
  return false;
}

/* Completes a part whose definition was found or not (missing, taken), and gives it to the caller. */
static void visit_part(zb_runtime_part *part, zb_status missing, zb_status (*probe)(char *text, size_t size),
                       char *path, void (*visit)(void *context, const zb_runtime_part *part), void *context) {
  char found[256] = "";
  if (!missing && probe) missing = probe(found, sizeof found);
  part->path = path;
  part->found = found;
  part->missing = missing ? zb_status_message(missing) : NULL;
  part->hint = missing ? zb_status_hint_text(missing) : NULL;
  visit(context, part);
  zb_status_free(missing);
  zb_free(path);
}

void zb_runtime_parts(void (*visit)(void *context, const zb_runtime_part *part), void *context) {
  for (int i = 0; i < zb_device_count(); ++i) {
    const zb_device_row *row = zb_device_at(i);
    const zb_device_def *def = NULL;
    char *path = NULL;
    zb_runtime_part part = {.kind = "device", .name = row->name, .summary = zb_device_summary(row)};
    zb_status missing = zb_device_open_row(row, &def, &path);
    visit_part(&part, missing, def ? def->probe : NULL, path, visit, context);
  }
  for (int i = 0; i < zb_transport_count(); ++i) {
    const zb_transport_row *row = zb_transport_at(i);
    const zb_transport_def *def = NULL;
    char *path = NULL;
    if (!launches(row)) continue;
    zb_runtime_part part = {.kind = "launch", .name = row->name, .summary = zb_transport_summary(row)};
    zb_status missing = zb_transport_open_row(row, &def, &path);
    visit_part(&part, missing, def ? def->probe : NULL, path, visit, context);
  }
}
