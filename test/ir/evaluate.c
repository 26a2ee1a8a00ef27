/* See evaluate.h. */
#include "test/ir/evaluate.h"

#include "runtime/base/assert.h"
#include "runtime/base/map.h"

#include <mlir-c/BuiltinAttributes.h>
#include <stdio.h>
#include <string.h>

enum { VALUES_MAX = 1 << 16 };

/* A value under evaluation: a buffer, which views share, and where its elements lie in it. */
typedef struct evaluated {
  zb_shape shape;
  void *data;
  zb_strided strided;
} evaluated;

typedef struct evaluator {
  zb_map *numbers; /* MlirValue.ptr -> index */
  evaluated values[VALUES_MAX];
  int count;
  void *buffers[VALUES_MAX];
  int buffer_count;
} evaluator;

static char message[512];

/* The kernel of a call; NULL: the reference kernel. */
static const zb_kernel *(*zb_evaluate_kernel)(const char *op, const zb_kernel_call *call);

static const char *complain(MlirOperation op, const char *what) {
  MlirStringRef name = mlirIdentifierStr(mlirOperationGetName(op));
  snprintf(message, sizeof message, "%.*s: %s", (int)name.length, name.data, what);
  return message;
}

static zb_strided contiguous(const zb_shape *shape) {
  zb_strided strided = {.offset = 0};
  int64_t stride = 1;
  for (int i = shape->rank - 1; i >= 0; --i) {
    strided.strides[i] = stride;
    stride *= shape->dims[i];
  }
  return strided;
}

static void *new_buffer(evaluator *e, uint64_t bytes) {
  void *buffer = zb_alloc(bytes + 1);
  ZB_ASSERT(buffer && e->buffer_count < VALUES_MAX);
  return e->buffers[e->buffer_count++] = buffer;
}

static void define(evaluator *e, MlirValue value, evaluated what) {
  ZB_ASSERT(e->count < VALUES_MAX);
  bool set = zb_map_set(e->numbers, value.ptr, e->count);
  ZB_ASSERT(set);
  e->values[e->count++] = what;
}

static const evaluated *look_up(const evaluator *e, MlirValue value) {
  int64_t number = zb_map_get_or(e->numbers, value.ptr, -1);
  ZB_ASSERT(number >= 0);
  return &e->values[number];
}

static zb_tensor as_tensor(const evaluated *value) {
  zb_tensor tensor = {.dtype = value->shape.dtype, .rank = value->shape.rank};
  tensor.data = (char *)value->data + value->strided.offset * (int64_t)zb_dtype_bytes(value->shape.dtype);
  for (int i = 0; i < tensor.rank; ++i) {
    tensor.shape[i] = value->shape.dims[i];
    tensor.strides[i] = value->strided.strides[i];
  }
  return tensor;
}

/* Copies a value of any strides to contiguous memory. */
static void pack(const evaluated *value, void *to) {
  size_t bytes = zb_dtype_bytes(value->shape.dtype);
  int64_t total = zb_shape_elements(&value->shape), index[ZB_DIMS_MAX] = {0};
  for (int64_t n = 0; n < total; ++n) {
    int64_t at = value->strided.offset;
    for (int i = 0; i < value->shape.rank; ++i)
      at += index[i] * value->strided.strides[i];
    memcpy((char *)to + n * (int64_t)bytes, (const char *)value->data + at * (int64_t)bytes, bytes);
    for (int i = value->shape.rank - 1; i >= 0 && ++index[i] == value->shape.dims[i]; --i)
      index[i] = 0;
  }
}

static evaluated packed(evaluator *e, const evaluated *value) {
  evaluated copy = {.shape = value->shape, .strided = contiguous(&value->shape)};
  copy.data = new_buffer(e, (uint64_t)zb_shape_bytes(&value->shape));
  pack(value, copy.data);
  return copy;
}

static const char *run_view(evaluator *e, MlirOperation op, const zb_op_view *view) {
  evaluated source = *look_up(e, mlirOperationGetOperand(op, 0));
  for (intptr_t i = 0; i < mlirOperationGetNumResults(op); ++i) {
    MlirValue result = mlirOperationGetResult(op, i);
    evaluated out = {.data = source.data};
    if (!zb_type_shape(mlirValueGetType(result), &out.shape)) return complain(op, "result is no tensor");
    if (!view->def->view(view, &source.strided, (int)i, &out.shape, &out.strided)) {
      source = packed(e, &source);
      out.data = source.data;
      if (!view->def->view(view, &source.strided, (int)i, &out.shape, &out.strided))
        return complain(op, "no view of a contiguous operand");
    }
    define(e, result, out);
  }
  return NULL;
}

static const char *run_constant(evaluator *e, MlirOperation op) {
  MlirAttribute value = mlirOperationGetAttributeByName(op, mlirStringRefCreateFromCString("value"));
  evaluated out;
  if (!zb_type_shape(mlirValueGetType(mlirOperationGetResult(op, 0)), &out.shape))
    return complain(op, "result is no tensor");
  out.strided = contiguous(&out.shape);
  out.data = new_buffer(e, (uint64_t)zb_shape_bytes(&out.shape));
  size_t bytes = zb_dtype_bytes(out.shape.dtype);
  int64_t total = zb_shape_elements(&out.shape);
  const char *raw = mlirDenseElementsAttrGetRawData(value);
  bool splat = mlirDenseElementsAttrIsSplat(value);
  for (int64_t i = 0; i < total; ++i) {
    if (out.shape.dtype == ZB_I1) { /* raw data of i1 is packed, eight elements a byte */
      ((uint8_t *)out.data)[i] = splat ? mlirDenseElementsAttrGetBoolSplatValue(value) != 0
                                       : mlirDenseElementsAttrGetBoolValue(value, (intptr_t)i);
      continue;
    }
    memcpy((char *)out.data + i * (int64_t)bytes, raw + (splat ? 0 : i) * (int64_t)bytes, bytes);
  }
  define(e, mlirOperationGetResult(op, 0), out);
  return NULL;
}

/* What a step has of a by_mode, and a step of one micro-batch of an accumulate. */
static const char *run_first(evaluator *e, MlirOperation op) {
  const evaluated first = *look_up(e, mlirOperationGetOperand(op, 0));
  define(e, mlirOperationGetResult(op, 0), first);
  return NULL;
}

static const char *run_kernel(evaluator *e, MlirOperation op, const zb_op_view *view) {
  const zb_kernel *kernel = zb_kernel_reference(view->def->name);
  if (!kernel) return complain(op, "no reference kernel");
  zb_tensor inputs[ZB_VIEW_OPERANDS], outputs[ZB_VIEW_OPERANDS];
  zb_shape shapes[ZB_VIEW_OPERANDS];
  int taken = 0, results = (int)mlirOperationGetNumResults(op);
  for (int i = 0; i < view->operand_count; ++i) {
    if (view->operands[i].rank < 0)
      inputs[i] = (zb_tensor){.data = NULL, .rank = -1};
    else
      inputs[i] = as_tensor(look_up(e, mlirOperationGetOperand(op, taken++)));
  }
  for (int i = 0; i < results; ++i) {
    evaluated out;
    if (!zb_type_shape(mlirValueGetType(mlirOperationGetResult(op, i)), &out.shape))
      return complain(op, "result is no tensor");
    out.strided = contiguous(&out.shape);
    out.data = new_buffer(e, (uint64_t)zb_shape_bytes(&out.shape));
    define(e, mlirOperationGetResult(op, i), out);
    outputs[i] = as_tensor(&out);
    shapes[i] = out.shape;
  }
  uint64_t scratch = view->def->scratch_bytes ? view->def->scratch_bytes(view, shapes) : 0;
  zb_kernel_call call = {.inputs = inputs,
                         .input_count = view->operand_count,
                         .outputs = outputs,
                         .output_count = results,
                         .attrs = view->attrs,
                         .workspace = scratch ? new_buffer(e, scratch) : NULL};
  if (zb_evaluate_kernel) kernel = zb_evaluate_kernel(view->def->name, &call);
  if (!kernel) return complain(op, "no kernel takes it");
  const char *error = kernel->run(&call);
  return error ? complain(op, error) : NULL;
}

static const char *run_op(evaluator *e, MlirOperation op) {
  zb_op_view view;
  static zb_op_view_storage storage;
  if (!zb_op_view_get(op, &view, &storage)) return complain(op, "cannot be read");
  switch (view.def->op_class) {
  case ZB_CLASS_KERNEL:
    return run_kernel(e, op, &view);
  case ZB_CLASS_VIEW:
    return run_view(e, op, &view);
  case ZB_CLASS_STRUCTURE:
    if (strcmp(view.def->name, "by_mode") == 0 || strcmp(view.def->name, "accumulate") == 0) return run_first(e, op);
    return strcmp(view.def->name, "constant") == 0 ? run_constant(e, op) : complain(op, "cannot run");
  case ZB_CLASS_COMPOSITE:
    return complain(op, "is COMPOSITE: split it first");
  case ZB_CLASS_FOREIGN:
    break;
  }
  return complain(op, "is of a foreign dialect");
}

const char *zb_evaluate(MlirBlock block, const zb_array *inputs, const MlirValue *wanted, int wanted_count,
                        zb_array *out) {
  static evaluator e;
  const char *error = NULL;
  e.numbers = zb_map_create_pointer();
  e.count = e.buffer_count = 0;
  ZB_ASSERT(e.numbers);
  for (intptr_t i = 0; i < mlirBlockGetNumArguments(block); ++i) {
    evaluated value = {.shape = inputs[i].shape, .data = inputs[i].data, .strided = contiguous(&inputs[i].shape)};
    define(&e, mlirBlockGetArgument(block, i), value);
  }
  MlirOperation terminator = mlirBlockGetTerminator(block);
  for (MlirOperation op = mlirBlockGetFirstOperation(block); !error && !mlirOperationEqual(op, terminator);
       op = mlirOperationGetNextInBlock(op))
    error = run_op(&e, op);
  for (int i = 0; !error && i < wanted_count; ++i) {
    const evaluated *value = look_up(&e, wanted[i]);
    out[i] = (zb_array){.shape = value->shape, .data = zb_alloc((size_t)zb_shape_bytes(&value->shape) + 1)};
    ZB_ASSERT(out[i].data);
    pack(value, out[i].data);
  }
  for (int i = 0; i < e.buffer_count; ++i)
    zb_free(e.buffers[i]);
  zb_map_destroy(e.numbers);
  return error;
}

double zb_array_get(const zb_array *array, int64_t element) {
  if (array->shape.dtype == ZB_F64) return ((const double *)array->data)[element];
  ZB_ASSERT(array->shape.dtype == ZB_F32);
  return (double)((const float *)array->data)[element];
}

void zb_array_set(zb_array *array, int64_t element, double value) {
  if (array->shape.dtype == ZB_F64) {
    ((double *)array->data)[element] = value;
    return;
  }
  ZB_ASSERT(array->shape.dtype == ZB_F32);
  ((float *)array->data)[element] = (float)value;
}
