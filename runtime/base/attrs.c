/* Lookups in the attributes of a kernel call: include/zb/kernel.h.
 *
 * Tests: test/runtime/base/base_test.c
 */
#include <string.h>

#include "zb/kernel.h"

const zb_attr *zb_attr_find(const zb_attrs *attrs, const char *name) {
  if (!attrs) return NULL;
  for (int i = 0; i < attrs->count; ++i)
    if (strcmp(attrs->items[i].name, name) == 0) return &attrs->items[i];
  return NULL;
}

int64_t zb_attr_int(const zb_attrs *attrs, const char *name, int64_t fallback) {
  const zb_attr *attr = zb_attr_find(attrs, name);
  return attr && (attr->kind == ZB_ATTR_INT || attr->kind == ZB_ATTR_BOOL) ? attr->i : fallback;
}

bool zb_attr_bool(const zb_attrs *attrs, const char *name, bool fallback) {
  return zb_attr_int(attrs, name, fallback ? 1 : 0) != 0;
}

double zb_attr_float(const zb_attrs *attrs, const char *name, double fallback) {
  const zb_attr *attr = zb_attr_find(attrs, name);
  if (!attr) return fallback;
  if (attr->kind == ZB_ATTR_FLOAT) return attr->f;
  return attr->kind == ZB_ATTR_INT ? (double)attr->i : fallback; /* "alpha = 1" is written as an integer too */
}

const char *zb_attr_string(const zb_attrs *attrs, const char *name, const char *fallback) {
  const zb_attr *attr = zb_attr_find(attrs, name);
  return attr && attr->kind == ZB_ATTR_STRING ? attr->s : fallback;
}
