/* What the functions that fold and build nodes use: inputs, outputs, attributes, errors with the node's place.
 *
 * Nothing is taken silently: an attribute of the wrong kind, an input that must be constant and is not, an axis out of
 * range are errors at the node. Tests: test/ir/import/import_test.c. */
#include "ir/import/import.h"

#include "runtime/base/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { ATTR_FLOAT = 1, ATTR_INT = 2, ATTR_STRING = 3, ATTR_TENSOR = 4, ATTR_FLOATS = 6, ATTR_INTS = 7 };

zb_result zb_onnx_memory(zb_onnx *im) {
  im->out_of_memory = im->failed = true;
  return ZB_FAIL;
}

MlirLocation zb_onnx_file_location(const zb_onnx *im) {
  return mlirLocationFileLineColGet(im->context, mlirStringRefCreateFromCString(im->params->path), 0, 0);
}

/* "module.path (node name)" over FILE, with the node's number where a column would be: a binary file has no lines to
 * show. */
MlirLocation zb_onnx_node_location(const zb_onnx *im, int node) {
  const char *name = im->graph->node[node]->name, *path = im->paths[node];
  char number[24];
  if (!name || !*name) {
    snprintf(number, sizeof number, "#%d", node);
    name = number;
  }
  char text[512];
  if (path && *path)
    snprintf(text, sizeof text, "%s (%s)", path, name);
  else
    snprintf(text, sizeof text, "(%s)", name);
  MlirLocation file =
      mlirLocationFileLineColGet(im->context, mlirStringRefCreateFromCString(im->params->path), 0, (unsigned)node);
  return mlirLocationNameGet(im->context, mlirStringRefCreateFromCString(text), file);
}

zb_result zb_onnx_fail(zb_onnx *im, const char *hint, const char *format, ...) {
  char text[768];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  im->failed = true;
  return zb_location_error(zb_onnx_file_location(im), hint, "%s", text);
}

zb_result zb_onnx_node_fail(zb_onnx_node *n, const char *hint, const char *format, ...) {
  char text[768];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  n->im->failed = true;
  return zb_location_error(n->b->location, hint, "%s: %s", n->proto->op_type, text);
}

/* ---- Values ---- */

zb_onnx_value *zb_onnx_value_new(zb_onnx *im, const char *name, zb_onnx_kind kind) {
  zb_onnx_value *value = zb_alloc(sizeof *value);
  if (!value || !zb_grow((void **)&im->values, &im->value_capacity, im->value_count + 1, sizeof *im->values)) {
    zb_free(value);
    zb_onnx_memory(im);
    return NULL;
  }
  *value = (zb_onnx_value){.name = name, .kind = kind, .producer = -1, .index = -1};
  if (*name && !zb_map_set(im->names, name, (int64_t)im->value_count)) {
    zb_free(value);
    zb_onnx_memory(im);
    return NULL;
  }
  im->values[im->value_count++] = value;
  return value;
}

/* Adds an argument to the block, behind the others of its kind. Takes name. */
static MlirValue add_argument(zb_onnx *im, const char *attribute, const char *name, const zb_shape *shape,
                              size_t place) {
  char *copy = zb_strdup(name);
  if (!copy ||
      !zb_grow((void **)&im->arguments, &im->argument_capacity, im->argument_count + 1, sizeof *im->arguments)) {
    zb_free(copy);
    zb_onnx_memory(im);
    return (MlirValue){NULL};
  }
  memmove(&im->arguments[place + 1], &im->arguments[place], (im->argument_count - place) * sizeof *im->arguments);
  MlirLocation location =
      mlirLocationNameGet(im->context, mlirStringRefCreateFromCString(name), zb_onnx_file_location(im));
  im->arguments[place] = (zb_onnx_argument){attribute, copy, location};
  ++im->argument_count;
  return mlirBlockInsertArgument(im->builder.block, (intptr_t)place, zb_shape_type(im->context, shape), location);
}

/* A parameter becomes an argument at its first use; its data goes to the weights. It is a float tensor (parameters.c).
 */
static MlirValue parameter_argument(zb_onnx *im, zb_onnx_value *value) {
  zb_shape shape;
  const void *data;
  if (!zb_onnx_tensor_read(im, im->graph->initializer[value->index], &im->file.raw[value->index],
                           zb_onnx_file_location(im), "initializer", &shape, &data)) {
    im->failed = true;
    return (MlirValue){NULL};
  }
  if (shape.dtype != ZB_F32) {
    zb_onnx_fail(im, ZB_ONNX_TYPES_HINT, "parameter '%s' has the element type %s, which is not supported", value->name,
                 zb_onnx_dtype_text(im->graph->initializer[value->index]->data_type));
    return (MlirValue){NULL};
  }
  zb_status status = zb_store_add(im->weights, value->name, &shape, data, true);
  if (zb_status_code(status) == ZB_MEMORY) {
    zb_status_free(status);
    zb_onnx_memory(im);
    return (MlirValue){NULL};
  }
  if (status) {
    zb_onnx_fail(im, zb_status_hint_text(status), "initializer '%s': %s", value->name, zb_status_message(status));
    zb_status_free(status);
    return (MlirValue){NULL};
  }
  const char *attribute = value->role == ZB_ROLE_TRAINED ? ZB_ATTR_PARAM : ZB_ATTR_FROZEN;
  return add_argument(im, attribute, value->name, &shape, im->input_count + im->parameter_count++);
}

MlirValue zb_onnx_constant_argument(zb_onnx *im, const char *name, const zb_shape *shape) {
  return add_argument(im, ZB_ATTR_CONSTANT, name, shape, im->argument_count);
}

MlirValue zb_onnx_input_argument(zb_onnx *im, const char *name, const zb_shape *shape) {
  return add_argument(im, ZB_ATTR_INPUT, name, shape, im->input_count++);
}

zb_result zb_onnx_value_constant(zb_onnx *im, zb_onnx_value *value, zb_onnx_const **out) {
  *out = NULL;
  if (value->kind == ZB_VALUE_INITIALIZER && value->role == ZB_ROLE_CONSTANT && !value->constant) {
    zb_shape shape;
    const void *data;
    if (!zb_onnx_tensor_read(im, im->graph->initializer[value->index], &im->file.raw[value->index],
                             zb_onnx_file_location(im), "initializer", &shape, &data)) {
      im->failed = true;
      return ZB_FAIL;
    }
    value->constant = zb_onnx_const_copy(im, &shape, data);
    if (!value->constant) return ZB_FAIL;
  }
  *out = value->constant;
  return ZB_OK;
}

MlirValue zb_onnx_value_ir(zb_onnx *im, zb_onnx_value *value) {
  if (value->value.ptr || im->failed) return value->value;
  zb_onnx_const *constant;
  if (!zb_onnx_value_constant(im, value, &constant)) return (MlirValue){NULL};
  if (constant)
    value->value = zb_onnx_literal(im, constant, value->name);
  else if (value->kind == ZB_VALUE_INITIALIZER)
    value->value = parameter_argument(im, value);
  return value->value;
}

/* ---- Inputs and outputs ---- */

int zb_onnx_node_inputs(const zb_onnx_node *n) {
  size_t count = n->proto->n_input;
  while (count > 0 && !*n->proto->input[count - 1])
    --count;
  return (int)count;
}

bool zb_onnx_node_has(const zb_onnx_node *n, int input) {
  return input < (int)n->proto->n_input && *n->proto->input[input];
}

bool zb_onnx_node_output_used(const zb_onnx_node *n, int output) {
  return output < (int)n->proto->n_output && *n->proto->output[output];
}

zb_onnx_value *zb_onnx_node_input(const zb_onnx_node *n, int input) {
  int64_t index;
  if (!zb_onnx_node_has(n, input) || !zb_map_get(n->im->names, n->proto->input[input], &index)) return NULL;
  return n->im->values[index];
}

const zb_onnx_const *zb_onnx_node_constant(const zb_onnx_node *n, int input) {
  zb_onnx_value *value = zb_onnx_node_input(n, input);
  zb_onnx_const *c = NULL;
  if (!value || !zb_onnx_value_constant(n->im, value, &c)) return NULL;
  return c;
}

MlirValue zb_onnx_node_value(zb_onnx_node *n, int input) {
  zb_onnx_value *value = zb_onnx_node_input(n, input);
  if (!value || value->kind == ZB_VALUE_SEQUENCE) {
    zb_onnx_node_fail(n, NULL, "input %d is %s, expected a tensor", input, value ? "a sequence" : "missing");
    n->b->failed = true;
    return (MlirValue){NULL};
  }
  MlirValue ir = zb_onnx_value_ir(n->im, value);
  if (!ir.ptr) n->im->failed = n->b->failed = true;
  return ir;
}

bool zb_onnx_node_value_shape(zb_onnx_node *n, MlirValue value, zb_shape *out) {
  if (value.ptr && zb_type_shape(mlirValueGetType(value), out)) return true;
  n->im->failed = n->b->failed = true;
  return false;
}

bool zb_onnx_node_shape(zb_onnx_node *n, int input, zb_shape *out) {
  const zb_onnx_const *c = zb_onnx_node_constant(n, input);
  if (c) *out = c->shape;
  return c || zb_onnx_node_value_shape(n, zb_onnx_node_value(n, input), out);
}

bool zb_onnx_node_ints(zb_onnx_node *n, int input, const char *what, int64_t *out, int room, int *count) {
  const zb_onnx_const *c = zb_onnx_node_constant(n, input);
  if (!c) {
    if (n->im->failed) return false;
    zb_onnx_node_fail(n,
                      "shapes, axes and bounds must not depend on the inputs of the model; export with static shapes",
                      "%s (input %d) is not a constant", what, input);
    return false;
  }
  if (c->shape.rank > 1 || c->elements > room || zb_onnx_const_is_float(c)) {
    char text[96];
    zb_onnx_node_fail(n, NULL, "%s (input %d) is a %s, expected a list of at most %d integers", what, input,
                      zb_shape_text(&c->shape, text), room);
    return false;
  }
  *count = (int)c->elements;
  for (int i = 0; i < *count; ++i)
    out[i] = zb_onnx_const_integer(c, i);
  return true;
}

static zb_onnx_value *output_value(zb_onnx_node *n, int output) {
  int64_t index;
  if (!zb_onnx_node_output_used(n, output) || !zb_map_get(n->im->names, n->proto->output[output], &index)) return NULL;
  return n->im->values[index];
}

zb_result zb_onnx_node_set(zb_onnx_node *n, int output, MlirValue value) {
  if (!value.ptr) {
    n->im->failed = true;
    return ZB_FAIL;
  }
  zb_onnx_value *out = output_value(n, output);
  if (out) out->value = value, out->defined = true;
  return ZB_OK;
}

zb_result zb_onnx_node_set_constant(zb_onnx_node *n, int output, zb_onnx_const *c) {
  if (!c) {
    n->im->failed = true;
    return ZB_FAIL;
  }
  zb_onnx_value *out = output_value(n, output);
  if (out) out->constant = c, out->defined = true;
  return ZB_OK;
}

zb_result zb_onnx_node_set_sequence(zb_onnx_node *n, int output, zb_onnx_value **items, int count) {
  zb_onnx_value *out = output_value(n, output);
  if (!out) {
    zb_free(items);
    return ZB_OK;
  }
  out->kind = ZB_VALUE_SEQUENCE;
  out->items = items;
  out->item_count = count;
  out->defined = true;
  return ZB_OK;
}

zb_result zb_onnx_node_set_like(zb_onnx_node *n, int output, const zb_onnx_value *source) {
  zb_onnx_value *out = output_value(n, output);
  if (!out) return ZB_OK;
  if (source->kind == ZB_VALUE_SEQUENCE) {
    zb_onnx_value **items = zb_alloc((size_t)source->item_count * sizeof *items + 1);
    if (!items) return zb_onnx_memory(n->im);
    memcpy(items, source->items, (size_t)source->item_count * sizeof *items);
    return zb_onnx_node_set_sequence(n, output, items, source->item_count);
  }
  if (source->kind == ZB_VALUE_INITIALIZER) { /* loads it, or makes its argument, through the original */
    zb_onnx_const *c;
    zb_onnx_value *original = n->im->values[zb_map_get_or(n->im->names, source->name, 0)];
    if (!zb_onnx_value_constant(n->im, original, &c)) return ZB_FAIL;
    if (c) return zb_onnx_node_set_constant(n, output, c);
    return zb_onnx_node_set(n, output, zb_onnx_value_ir(n->im, original));
  }
  if (source->constant) return zb_onnx_node_set_constant(n, output, source->constant);
  return zb_onnx_node_set(n, output, source->value);
}

/* ---- Attributes ---- */

const Onnx__AttributeProto *zb_onnx_node_attr(const zb_onnx_node *n, const char *name) {
  for (size_t i = 0; i < n->proto->n_attribute; ++i) {
    const Onnx__AttributeProto *attr = n->proto->attribute[i];
    if (attr->name && strcmp(attr->name, name) == 0) return attr;
  }
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
                                      [ATTR_INTS] = "a list of integers"};
  return kind >= 0 && kind < (int)(sizeof texts / sizeof *texts) ? texts[kind] : "something else";
}

/* The attribute if it has the kind; reported if it has another. Old files leave the type out: then the field says it.
 */
static const Onnx__AttributeProto *typed(zb_onnx_node *n, const char *name, int kind, bool present) {
  const Onnx__AttributeProto *attr = zb_onnx_node_attr(n, name);
  if (!attr) return NULL;
  if ((attr->has_type && attr->type == kind) || (!attr->has_type && present)) return attr;
  char got[96], value[32] = "";
  if (attr->has_f) snprintf(value, sizeof value, " (%g)", (double)attr->f);
  if (attr->has_s)
    snprintf(value, sizeof value, " ('%.*s')", (int)(attr->s.len < 24 ? attr->s.len : 24), (const char *)attr->s.data);
  snprintf(got, sizeof got, "%s%s", kind_text(attr->has_type ? (int)attr->type : -1), value);
  zb_onnx_node_fail(n, "export the model again: a tool has changed this attribute",
                    "attribute '%s' has the wrong type: expected %s, got %s", name, kind_text(kind), got);
  return NULL;
}

int64_t zb_onnx_node_int(zb_onnx_node *n, const char *name, int64_t fallback) {
  const Onnx__AttributeProto *attr = zb_onnx_node_attr(n, name);
  attr = typed(n, name, ATTR_INT, attr && attr->has_i);
  return attr ? attr->i : fallback;
}

double zb_onnx_node_float(zb_onnx_node *n, const char *name, double fallback) {
  const Onnx__AttributeProto *attr = zb_onnx_node_attr(n, name);
  attr = typed(n, name, ATTR_FLOAT, attr && attr->has_f);
  return attr ? (double)attr->f : fallback;
}

void zb_onnx_node_string(zb_onnx_node *n, const char *name, const char *fallback, char *out, size_t room) {
  const Onnx__AttributeProto *attr = zb_onnx_node_attr(n, name);
  attr = typed(n, name, ATTR_STRING, attr && attr->has_s);
  if (attr && attr->s.len && memchr(attr->s.data, '\0', attr->s.len)) {
    zb_onnx_node_fail(n, "export the model again: a tool has changed this attribute",
                      "attribute '%s' holds a zero byte", name);
    attr = NULL;
  }
  if (attr)
    snprintf(out, room, "%.*s", (int)(attr->s.len < room ? attr->s.len : room - 1), (const char *)attr->s.data);
  else
    snprintf(out, room, "%s", fallback);
}

bool zb_onnx_node_string_is(zb_onnx_node *n, const char *name, const char *fallback, const char *value) {
  char text[64];
  zb_onnx_node_string(n, name, fallback, text, sizeof text);
  return strcmp(text, value) == 0;
}

bool zb_onnx_node_attr_ints(zb_onnx_node *n, const char *name, int64_t *out, int room, int *count) {
  const Onnx__AttributeProto *attr = zb_onnx_node_attr(n, name);
  attr = typed(n, name, ATTR_INTS, attr && attr->n_ints);
  if (!attr) return false;
  if (attr->n_ints > (size_t)room) {
    zb_onnx_node_fail(n, NULL, "attribute '%s' has %zu entries, expected at most %d", name, attr->n_ints, room);
    return false;
  }
  *count = (int)attr->n_ints;
  for (int i = 0; i < *count; ++i)
    out[i] = attr->ints[i];
  return true;
}

bool zb_onnx_node_axis(zb_onnx_node *n, int64_t axis, int rank, int *out) {
  if (axis < -rank || axis >= rank) {
    zb_onnx_node_fail(n, NULL, "axis %" PRId64 " is out of range: expected %d to %d", axis, -rank, rank - 1);
    return false;
  }
  *out = (int)(axis < 0 ? axis + rank : axis);
  return true;
}
