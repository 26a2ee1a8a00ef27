/* The table of transports. Tests: test/runtime/exec. */
#include "runtime/transport/transport.h"

static const zb_part_row rows[] = {
#define ZB_TRANSPORT(id) {.name = #id, .built_in = &zb_transport_##id.part},
#define ZB_TRANSPORT_MODULE(id, file, text) {.name = #id, .module = file, .summary = text},
#include "runtime/transport/transports.def"
};
const zb_part_table zb_transports = {"transport", "way to launch ranks", rows, sizeof rows / sizeof rows[0]};

zb_status zb_transport_find(const char *name, const zb_transport_def **out) {
  const zb_part_def *part = NULL;
  zb_status status = zb_part_find(&zb_transports, name, &part);
  *out = (const zb_transport_def *)part; /* whose first member it is */
  return status;
}
