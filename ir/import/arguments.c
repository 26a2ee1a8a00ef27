/* Arguments of the function that is imported: inputs, constants, parameters. Tests: test/ir/import. */
#include "ir/import/import.h"

#include <mlir-c/BuiltinAttributes.h>
#include <mlir-c/BuiltinTypes.h>
#include <string.h>

/* Adds an argument to the block, behind the others of its kind. */
static MlirValue add_argument(zb_import *im, const char *attribute, const char *name, const zb_shape *shape,
                              size_t place) {
  char *copy = zb_import_take_text(im, name, strlen(name));
  if (!copy || !zb_arena_grow(&im->memory, (void **)&im->arguments, &im->argument_capacity, im->argument_count + 1,
                              sizeof *im->arguments))
    return zb_import_memory(im), (MlirValue){NULL};
  memmove(&im->arguments[place + 1], &im->arguments[place], (im->argument_count - place) * sizeof *im->arguments);
  im->arguments[place] = (zb_import_argument){attribute, copy};
  ++im->argument_count;
  MlirLocation location =
      mlirLocationNameGet(im->context, mlirStringRefCreateFromCString(name), zb_import_file_location(im));
  return mlirBlockInsertArgument(im->builder.block, (intptr_t)place, zb_shape_type(im->context, shape), location);
}

MlirValue zb_import_input(zb_import *im, const char *name, const zb_shape *shape) {
  return add_argument(im, ZB_ATTR_INPUT, name, shape, im->input_count++);
}

zb_result zb_import_inputs(zb_import *im, const char *hint) {
  for (size_t i = 0; i < im->value_count; ++i) {
    zb_import_value *value = im->values[i];
    if (value->kind != ZB_VALUE_INPUT || !value->read) continue;
    const zb_dtype dtype = value->type.dtype;
    const bool is_good = value->is_typed && zb_shape_bytes(&value->type) >= 0 && zb_shape_elements(&value->type) > 0 &&
                         (dtype == ZB_F32 || dtype == ZB_I64 || dtype == ZB_I32 || dtype == ZB_I1);
    if (!is_good && value->type_text)
      return zb_import_fail(im, hint, "the type of input '%s' is not supported (%s)", value->name, value->type_text);
    if (!is_good) return zb_import_fail(im, hint, "the type of input '%s' is not supported", value->name);
    value->value = zb_import_input(im, value->name, &value->type);
    if (!value->value.ptr) return ZB_FAIL;
  }
  return ZB_OK;
}

MlirValue zb_import_constant(zb_import *im, const char *name, const zb_shape *shape) {
  return add_argument(im, ZB_ATTR_CONSTANT, name, shape, im->argument_count);
}

/* 16 bits as f32. */
static zb_result widen(zb_import *im, zb_shape *shape, const void **data) {
  const int64_t count = zb_shape_elements(shape);
  float *wide = *data ? zb_import_take(im, (size_t)count * sizeof *wide + 1) : NULL;
  if (*data && !wide) return ZB_FAIL;
  if (wide) zb_known_convert(shape->dtype, *data, ZB_F32, wide, count);
  shape->dtype = ZB_F32;
  *data = wide;
  return ZB_OK;
}

MlirValue zb_import_parameter(zb_import *im, zb_import_value *value) {
  zb_shape shape;
  const void *data;
  const bool is_buffer = value->role == ZB_ROLE_BUFFER;
  if (!im->format->load(im, value, &shape, &data)) return im->failed = true, (MlirValue){NULL};
  const zb_dtype dtype = shape.dtype;
  if (zb_import_is_narrow(im, value) && !is_buffer && !widen(im, &shape, &data)) return (MlirValue){NULL};
  if (shape.dtype != ZB_F32 && !(is_buffer && (shape.dtype == ZB_I64 || shape.dtype == ZB_I32)))
    return zb_import_fail(im, im->format->types_hint, "%s '%s' has the element type %s, which is not supported",
                          is_buffer ? "buffer" : "parameter", value->name, value->type_text),
           (MlirValue){NULL};
  zb_status status = data ? zb_store_add(im->weights, value->name, &shape, data, true) : NULL;
  if (zb_status_code(status) == ZB_MEMORY)
    zb_import_memory(im);
  else if (status)
    zb_import_fail(im, zb_status_hint_text(status), "%s '%s': %s", im->format->initial, value->name,
                   zb_status_message(status));
  if (status) {
    zb_status_free(status);
    return (MlirValue){NULL};
  }
  const char *attribute = is_buffer ? ZB_ATTR_BUFFER : value->role == ZB_ROLE_TRAINED ? ZB_ATTR_PARAM : ZB_ATTR_FROZEN;
  MlirValue made = add_argument(im, attribute, value->name, &shape, im->input_count + im->parameter_count++);
  return made.ptr && dtype != shape.dtype ? zb_build_cast(&im->builder, made, dtype) : made;
}
