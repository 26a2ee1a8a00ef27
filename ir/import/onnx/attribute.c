/* Attributes of nodes, by name and kind. Nothing is taken silently: one of the wrong kind is an error at the node.
 * Tests: test/ir/import/import_test.c. */
#include "ir/import/onnx/onnx.h"

#include <stdio.h>
#include <string.h>

enum {
  ATTR_FLOAT = 1,
  ATTR_INT = 2,
  ATTR_STRING = 3,
  ATTR_TENSOR = 4,
  ATTR_FLOATS = 6,
  ATTR_INTS = 7,
  ATTR_STRINGS = 8
};

const Onnx__AttributeProto *zb_onnx_attribute(const zb_import_node *n, const char *name) {
  const Onnx__NodeProto *proto = n->source;
  for (size_t i = 0; i < proto->n_attribute; ++i)
    if (strcmp(proto->attribute[i]->name, name) == 0) return proto->attribute[i];
  return NULL;
}

static const char *kind_text(int kind) {
  static const char *const texts[] = {[0] = "nothing",
                                      [ATTR_FLOAT] = "a float",
                                      [ATTR_INT] = "an integer",
                                      [ATTR_STRING] = "a text",
                                      [ATTR_TENSOR] = "a tensor",
                                      [5] = "a graph",
                                      [ATTR_FLOATS] = "a list of floats",
                                      [ATTR_INTS] = "a list of integers",
                                      [ATTR_STRINGS] = "a list of texts"};
  return kind >= 0 && kind < (int)(sizeof texts / sizeof *texts) ? texts[kind] : "something else";
}

/* The attribute if it has the kind; reported if it has another. Old files leave the type out: then the field says it.
 */
static const Onnx__AttributeProto *typed(zb_import_node *n, const char *name, int kind) {
  const Onnx__AttributeProto *attr = zb_onnx_attribute(n, name);
  if (!attr) return NULL;
  const bool present[] = {[ATTR_FLOAT] = attr->has_f,     [ATTR_INT] = attr->has_i,
                          [ATTR_STRING] = attr->has_s,    [ATTR_FLOATS] = attr->n_floats > 0,
                          [ATTR_INTS] = attr->n_ints > 0, [ATTR_STRINGS] = attr->n_strings > 0};
  if (attr->has_type ? attr->type == kind : present[kind]) return attr;
  char got[96], value[32] = "";
  if (attr->has_f) snprintf(value, sizeof value, " (%g)", (double)attr->f);
  if (attr->has_s)
    snprintf(value, sizeof value, " ('%.*s')", (int)(attr->s.len < 24 ? attr->s.len : 24), (const char *)attr->s.data);
  snprintf(got, sizeof got, "%s%s", kind_text(attr->has_type ? (int)attr->type : -1), value);
  return zb_import_refuse(n, "export the model again: a tool has changed this attribute",
                          "attribute '%s' has the wrong type: expected %s, got %s", name, kind_text(kind), got),
         NULL;
}

int64_t zb_onnx_int(zb_import_node *n, const char *name, int64_t fallback) {
  const Onnx__AttributeProto *attr = typed(n, name, ATTR_INT);
  return attr ? attr->i : fallback;
}

double zb_onnx_float(zb_import_node *n, const char *name, double fallback) {
  const Onnx__AttributeProto *attr = typed(n, name, ATTR_FLOAT);
  return attr ? (double)attr->f : fallback;
}

void zb_onnx_string(zb_import_node *n, const char *name, const char *fallback, char *out, size_t room) {
  const Onnx__AttributeProto *attr = typed(n, name, ATTR_STRING);
  if (attr && attr->s.len && memchr(attr->s.data, '\0', attr->s.len)) {
    zb_import_refuse(n, "export the model again: a tool has changed this attribute", "attribute '%s' holds a zero byte",
                     name);
    attr = NULL;
  }
  if (attr)
    snprintf(out, room, "%.*s", (int)(attr->s.len < room ? attr->s.len : room - 1), (const char *)attr->s.data);
  else
    snprintf(out, room, "%s", fallback);
}

bool zb_onnx_string_is(zb_import_node *n, const char *name, const char *fallback, const char *value) {
  char text[64];
  zb_onnx_string(n, name, fallback, text, sizeof text);
  return strcmp(text, value) == 0;
}

/* Whether a list has so many entries at most; reports. */
static bool fits(zb_import_node *n, const char *name, size_t entries, int room) {
  if (entries <= (size_t)room) return true;
  return zb_import_refuse(n, NULL, "attribute '%s' has %zu entries, expected at most %d", name, entries, room);
}

bool zb_onnx_ints(zb_import_node *n, const char *name, int64_t *out, int room, int *count) {
  const Onnx__AttributeProto *attr = typed(n, name, ATTR_INTS);
  if (!attr || !fits(n, name, attr->n_ints, room)) return false;
  *count = (int)attr->n_ints;
  for (int i = 0; i < *count; ++i)
    out[i] = attr->ints[i];
  return true;
}

bool zb_onnx_floats(zb_import_node *n, const char *name, double *out, int room, int *count) {
  const Onnx__AttributeProto *attr = typed(n, name, ATTR_FLOATS);
  *count = 0;
  if (!attr) return !n->im->failed;
  if (!fits(n, name, attr->n_floats, room)) return false;
  for (; *count < (int)attr->n_floats; ++*count)
    out[*count] = (double)attr->floats[*count];
  return true;
}

bool zb_onnx_texts(zb_import_node *n, const char *name, const char **out, int room, int *count) {
  const Onnx__AttributeProto *attr = typed(n, name, ATTR_STRINGS);
  *count = 0;
  if (!attr) return !n->im->failed;
  if (!fits(n, name, attr->n_strings, room)) return false;
  for (; *count < (int)attr->n_strings; ++*count) {
    const ProtobufCBinaryData *text = &attr->strings[*count];
    out[*count] = zb_import_take_text(n->im, (const char *)text->data, text->len);
    if (!out[*count]) return false;
  }
  return true;
}

bool zb_onnx_ints_of(zb_import_node *n, int input, const char *name, const char *what, int64_t *out, int room,
                     int *count) {
  if (zb_import_has(n, input)) return zb_import_ints(n, input, what, out, room, count);
  if (zb_onnx_ints(n, name, out, room, count)) return true;
  if (n->im->failed) return false;
  return zb_import_refuse(n, NULL, "%s are missing: neither input %d nor, as in older opsets, the attribute '%s'", what,
                          input, name);
}

bool zb_onnx_shape_axis(zb_import_node *n, int64_t fallback, zb_shape *shape, int *axis) {
  return zb_import_shape(n, 0, shape) && zb_import_axis(n, zb_onnx_int(n, "axis", fallback), shape->rank, axis);
}
