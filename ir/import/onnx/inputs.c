/* Inputs of the model: their types, with the sizes of dynamic dimensions (--dim), and those that are constants
 * (--constants). Tests: test/ir/import/import_test.c, test/e2e/onnx_nodes.py. */
#include "ir/import/onnx/onnx.h"
#include "runtime/base/words.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "4xNx8xfloat32". */
void zb_onnx_describe_type(const Onnx__TypeProto__Tensor *tensor, zb_text *text) {
  for (size_t d = 0; tensor && tensor->shape && d < tensor->shape->n_dim; ++d) {
    const Onnx__TensorShapeProto__Dimension *dim = tensor->shape->dim[d];
    if (dim->dim_param)
      zb_text_add(text, "%sx", dim->dim_param);
    else
      zb_text_add(text, "%" PRId64 "x", dim->dim_value);
  }
  zb_text_add(text, "%s", tensor ? zb_onnx_dtype_text(tensor->elem_type) : "unknown type");
}

/* An input with a default value, as older exporters list weights: it must be declared as it is. Symbolic dimensions may
 * be anything. */
static zb_result check_default(zb_import *im, const Onnx__ValueInfoProto *input, const Onnx__TensorProto *tensor) {
  const Onnx__TypeProto__Tensor *type = input->type ? input->type->tensor_type : NULL;
  if (!type) return ZB_OK;
  const Onnx__TensorShapeProto *shape = type->shape;
  bool same = type->elem_type == tensor->data_type && (!shape || shape->n_dim == tensor->n_dims);
  for (size_t d = 0; same && shape && d < shape->n_dim; ++d)
    same = !shape->dim[d]->has_dim_value || shape->dim[d]->dim_value == tensor->dims[d];
  if (same) return ZB_OK;
  zb_text declared = {0}, got = {0};
  zb_onnx_describe_type(type, &declared);
  for (size_t d = 0; d < tensor->n_dims; ++d)
    zb_text_add(&got, "%" PRId64 "x", tensor->dims[d]);
  zb_text_add(&got, "%s", zb_onnx_dtype_text(tensor->data_type));
  zb_import_fail(im, "export the model again: a tool has changed one of the two",
                 "input '%s' is declared as %s, but its initializer is %s", input->name,
                 declared.data ? declared.data : "", got.data ? got.data : "");
  zb_text_deinit(&declared);
  zb_text_deinit(&got);
  return ZB_FAIL;
}

/* ---- Sizes of dynamic dimensions ---- */

/* "batch=4"; reports. */
static zb_result read_dim(zb_onnx *onnx, const char *text) {
  zb_import *im = &onnx->core;
  const char *equals = strrchr(text, '=');
  char *end = NULL;
  errno = 0;
  const long long size = equals ? strtoll(equals + 1, &end, 10) : 0;
  if (!equals || equals == text || end == equals + 1 || *end || errno || size < 1)
    return zb_import_fail(im, "for example --dim batch=4", "--dim: expected NAME=N with N of at least 1, got '%s'",
                          text);
  char *name = zb_import_take_text(im, text, (size_t)(equals - text));
  if (!name) return ZB_FAIL;
  for (int i = 0; i < onnx->dim_count; ++i)
    if (strcmp(onnx->dims[i].name, name) == 0)
      return zb_import_fail(im, "give each dimension one size", "--dim: '%s' is given twice", name);
  onnx->dims[onnx->dim_count++] = (zb_onnx_dim){name, size};
  return ZB_OK;
}

static const char *dim_of_input(const zb_onnx *onnx, size_t input, size_t dim) {
  const Onnx__TypeProto *type = onnx->graph->input[input]->type;
  const Onnx__TensorShapeProto *shape = type && type->tensor_type ? type->tensor_type->shape : NULL;
  return shape && dim < shape->n_dim ? shape->dim[dim]->dim_param : NULL;
}

/* Whether some input has the dimension; reports the nearest one that is there. */
static zb_result find_dim(zb_onnx *onnx, const char *name) {
  zb_import *im = &onnx->core;
  const char *seen[64] = {NULL};
  enum { SEEN_MAX = sizeof seen / sizeof seen[0] };
  int count = 0;
  char hint[256] = "its inputs have no dynamic dimensions";
  for (size_t i = 0; i < onnx->graph->n_input; ++i) {
    for (size_t d = 0; d < ZB_DIMS_MAX; ++d) {
      const char *here = dim_of_input(onnx, i, d);
      if (!here || !*here) continue;
      if (strcmp(here, name) == 0) return ZB_OK;
      if (count < SEEN_MAX) seen[count++] = here;
    }
  }
  const char *nearest = zb_nearest(name, seen, count);
  if (nearest)
    snprintf(hint, sizeof hint, "did you mean '%s'?", nearest);
  else if (count)
    snprintf(hint, sizeof hint, "there is '%s'%s", seen[0], count > 1 ? ", and others" : "");
  return zb_import_fail(im, hint, "--dim: no input has a dynamic dimension '%s'", name);
}

static zb_result read_dims(zb_onnx *onnx) {
  const zb_import_params *params = onnx->core.params;
  onnx->dims = zb_import_take(&onnx->core, ((size_t)params->dim_count + 1) * sizeof *onnx->dims);
  if (!onnx->dims) return ZB_FAIL;
  for (int i = 0; i < params->dim_count; ++i)
    if (!read_dim(onnx, params->dims[i]) || !find_dim(onnx, onnx->dims[i].name)) return ZB_FAIL;
  return ZB_OK;
}

int64_t zb_onnx_dim_size(const zb_onnx *onnx, const Onnx__TensorShapeProto__Dimension *dim) {
  if (dim->has_dim_value) return dim->dim_value;
  for (int i = 0; dim->dim_param && i < onnx->dim_count; ++i)
    if (strcmp(onnx->dims[i].name, dim->dim_param) == 0) return onnx->dims[i].size;
  return -1;
}

/* ---- Inputs that are constants ---- */

static zb_result check_constant(zb_onnx *onnx, const Onnx__ValueInfoProto *input, const zb_stored_tensor *array) {
  const Onnx__TypeProto__Tensor *type = input->type ? input->type->tensor_type : NULL;
  char text[96];
  zb_dtype dtype = array->shape.dtype;
  if (!type) return zb_import_fail(&onnx->core, NULL, "input '%s' is no tensor", input->name);
  bool same = zb_onnx_dtype(type->elem_type, &dtype) && dtype == array->shape.dtype &&
              (!type->shape || type->shape->n_dim == (size_t)array->shape.rank);
  for (int d = 0; same && type->shape && d < array->shape.rank; ++d) {
    const int64_t declared = zb_onnx_dim_size(onnx, type->shape->dim[d]);
    same = declared < 0 || declared == array->shape.dims[d];
  }
  if (same) return ZB_OK;
  zb_text declared = {0};
  zb_onnx_describe_type(type, &declared);
  zb_import_fail(&onnx->core, "the array needs the type and the shape of the input",
                 "--constants: input '%s' is declared as %s, and its array is %s", input->name,
                 declared.data ? declared.data : "", zb_shape_text(&array->shape, text));
  zb_text_deinit(&declared);
  return ZB_FAIL;
}

/* A value that is known from the start, as one that a node folded. */
static zb_result add_constant(zb_onnx *onnx, const Onnx__ValueInfoProto *input, const zb_stored_tensor *array) {
  zb_import *im = &onnx->core;
  if (!check_constant(onnx, input, array)) return ZB_FAIL;
  zb_import_value *value = zb_import_value_new(im, input->name, ZB_VALUE_NODE);
  if (!value) return ZB_FAIL;
  value->known = zb_known_copy(im, &array->shape, array->data);
  value->defined = true;
  return value->known ? ZB_OK : ZB_FAIL;
}

static zb_result check_names_of_constants(zb_onnx *onnx) {
  const zb_store *store = onnx->core.params->constants;
  for (int i = 0; store && i < zb_store_count(store); ++i) {
    const char *name = zb_store_at(store, i)->name;
    bool found = false;
    for (size_t k = 0; k < onnx->graph->n_input && !found; ++k)
      found = strcmp(onnx->graph->input[k]->name, name) == 0;
    if (!found)
      return zb_import_fail(&onnx->core, "arrays are found by the names of inputs",
                            "--constants: the model has no input '%s'", name);
  }
  return ZB_OK;
}

/* ---- Inputs ---- */

zb_result zb_onnx_add_inputs(zb_onnx *onnx) {
  zb_import *im = &onnx->core;
  const zb_store *constants = im->params->constants;
  if (!read_dims(onnx) || !check_names_of_constants(onnx)) return ZB_FAIL;
  for (size_t i = 0; i < onnx->graph->n_input; ++i) {
    const Onnx__ValueInfoProto *input = onnx->graph->input[i];
    const char *name = input->name;
    if (!*name) return zb_import_fail(im, NULL, "input %zu has no name", i);
    zb_import_value *value = zb_import_find(im, name);
    if (value && value->kind != ZB_VALUE_INITIAL) return zb_import_fail(im, NULL, "two inputs are named '%s'", name);
    if (value && !check_default(im, input, onnx->graph->initializer[value->index])) return ZB_FAIL;
    const zb_stored_tensor *array = constants ? zb_store_find(constants, name) : NULL;
    if (value && array)
      return zb_import_fail(im, "leave it out of the arrays", "--constants: '%s' has a value in the model", name);
    if (array && !add_constant(onnx, input, array)) return ZB_FAIL;
    if (value || array) continue;
    value = zb_import_value_new(im, name, ZB_VALUE_INPUT);
    if (!value) return ZB_FAIL;
    value->index = i;
  }
  return ZB_OK;
}

static zb_result input_shape(zb_onnx *onnx, const Onnx__ValueInfoProto *input, zb_shape *out) {
  zb_import *im = &onnx->core;
  const char *static_hint = "give its size with --dim NAME=N, or export with static shapes: zbc compiles for one "
                            "micro-batch size; tools/export_onnx.py takes --batch and --seq";
  const Onnx__TypeProto__Tensor *tensor = input->type ? input->type->tensor_type : NULL;
  if (!tensor) return zb_import_fail(im, NULL, "input '%s' is no tensor", input->name);
  *out = (zb_shape){.dtype = ZB_F32};
  bool known = zb_onnx_dtype(tensor->elem_type, &out->dtype);
  if (!known)
    return zb_import_fail(im, ZB_ONNX_TYPES_HINT, "input '%s' has the element type %s, which is not supported",
                          input->name, zb_onnx_dtype_text(tensor->elem_type));
  if (!tensor->shape) return zb_import_fail(im, static_hint, "input '%s' has no shape", input->name);
  if (tensor->shape->n_dim > ZB_DIMS_MAX)
    return zb_import_fail(im, NULL, "input '%s' has %zu dimensions, at most %d are supported", input->name,
                          tensor->shape->n_dim, ZB_DIMS_MAX);
  out->rank = (int)tensor->shape->n_dim;
  for (int d = 0; d < out->rank; ++d) {
    const Onnx__TensorShapeProto__Dimension *dim = tensor->shape->dim[d];
    out->dims[d] = zb_onnx_dim_size(onnx, dim);
    if (out->dims[d] > 0) continue;
    if (dim->has_dim_value)
      return zb_import_fail(im,
                            dim->dim_value ? static_hint : "export with an example of at least one row and one token",
                            "input '%s' has the dimension %" PRId64 " (dimension %d), expected 1 or more", input->name,
                            dim->dim_value, d);
    return zb_import_fail(im, static_hint, "input '%s' has the dynamic dimension '%s' (dimension %d)", input->name,
                          dim->dim_param ? dim->dim_param : "?", d);
  }
  return zb_shape_bytes(out) >= 0 ? ZB_OK : zb_import_fail(im, NULL, "input '%s' is too large", input->name);
}

/* In the order of their values. */
zb_result zb_onnx_build_inputs(zb_onnx *onnx) {
  zb_import *im = &onnx->core;
  for (size_t i = 0; i < im->value_count; ++i) {
    zb_import_value *value = im->values[i];
    zb_shape shape;
    if (value->kind != ZB_VALUE_INPUT) continue;
    if (!input_shape(onnx, onnx->graph->input[value->index], &shape)) return ZB_FAIL;
    value->value = zb_import_input(im, value->name, &shape);
    if (!value->value.ptr) return ZB_FAIL;
  }
  return ZB_OK;
}
