/* What bindings of other languages ask to know whether they fit. Tests: test/python/bindings.py. */
#include <string.h>

#include "zb/compiler.h"
#include "zb/runtime.h"

const char *zb_version(void) { return ZB_VERSION; }

size_t zb_struct_bytes(const char *name) {
  static const struct {
    const char *name;
    size_t bytes;
  } rows[] = {
#define ZB_STRUCT(name) {#name, sizeof(name)},
#include "zb/structs.def"
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i)
    if (strcmp(rows[i].name, name) == 0) return rows[i].bytes;
  return 0;
}
