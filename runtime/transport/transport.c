/* The table of transports. Tests: test/runtime/exec. */
#include "runtime/transport/transport.h"

#include "runtime/base/text.h"

#include <string.h>

#define ZB_TRANSPORT(name) extern const zb_transport_def zb_transport_##name;
#include "runtime/transport/transports.def"
#undef ZB_TRANSPORT

static const zb_transport_def *const transports[] = {
#define ZB_TRANSPORT(name) &zb_transport_##name,
#include "runtime/transport/transports.def"
#undef ZB_TRANSPORT
};
enum { TRANSPORT_COUNT = sizeof transports / sizeof transports[0] };

int zb_transport_count(void) {
  return TRANSPORT_COUNT;
}

const zb_transport_def *zb_transport_at(int index) {
  ZB_ASSERT(index >= 0 && index < TRANSPORT_COUNT);
  return transports[index];
}

const zb_transport_def *zb_transport_find(const char *name, const char **nearest) {
  const char *names[TRANSPORT_COUNT];
  for (int i = 0; i < TRANSPORT_COUNT; ++i) {
    if (strcmp(transports[i]->name, name) == 0) return transports[i];
    names[i] = transports[i]->name;
  }
  if (nearest) *nearest = zb_nearest(name, names, TRANSPORT_COUNT);
  return NULL;
}
