/* The function that is imported: the counter, its unread ops taken out, the module. Tests: test/ir/import. */
#include "ir/import/import.h"

#include "runtime/base/random.h"

#include <mlir-c/BuiltinAttributes.h>
#include <mlir-c/BuiltinTypes.h>
#include <string.h>

MlirValue zb_import_counter(zb_import *im) {
  const zb_shape shape = {.dtype = ZB_I64, .rank = 1, .dims = {ZB_COUNTER_WORDS}};
  const zb_import_value *other = zb_import_find(im, ZB_COUNTER_INPUT);
  if (other && other->kind == ZB_VALUE_INPUT)
    return zb_import_fail(im, "give it another name", "an input is named '%s', as zbc names the counter of random ops",
                          ZB_COUNTER_INPUT),
           (MlirValue){NULL};
  if (!im->counter.ptr) im->counter = zb_import_input(im, ZB_COUNTER_INPUT, &shape);
  return im->counter;
}

/* ---- What is not read ---- */

static bool is_unread(MlirValue value) { return mlirOpOperandIsNull(mlirValueGetFirstUse(value)); }

/* Erases ops that nothing reads (all are pure), last first. */
static zb_result erase_dead_ops(zb_import *im, MlirBlock block) {
  size_t count = 0;
  for (MlirOperation op = mlirBlockGetFirstOperation(block); op.ptr; op = mlirOperationGetNextInBlock(op))
    ++count;
  MlirOperation *ops = zb_import_take(im, count * sizeof *ops), op = mlirBlockGetFirstOperation(block);
  if (!ops) return ZB_FAIL;
  for (size_t i = 0; i < count; ++i, op = mlirOperationGetNextInBlock(op))
    ops[i] = op;
  while (count-- > 0) {
    bool used = mlirOperationGetNumResults(ops[count]) == 0;
    for (intptr_t r = 0; r < mlirOperationGetNumResults(ops[count]); ++r)
      used = used || !is_unread(mlirOperationGetResult(ops[count], r));
    if (!used) mlirOperationDestroy(ops[count]);
  }
  return ZB_OK;
}

/* Arguments that only dead ops read go as well; inputs stay, in their order. */
static void erase_dead_arguments(zb_import *im, MlirBlock block) {
  for (size_t i = im->argument_count; i-- > im->input_count;) {
    if (!is_unread(mlirBlockGetArgument(block, (intptr_t)i))) continue;
    if (im->arguments[i].attribute == ZB_ATTR_BUFFER) continue; /* what is updated is saved */
    if (im->arguments[i].attribute == ZB_ATTR_PARAM) zb_import_find(im, im->arguments[i].name)->unreached = true;
    mlirBlockEraseArgument(block, (unsigned)i);
    --im->argument_count;
    memmove(&im->arguments[i], &im->arguments[i + 1], (im->argument_count - i) * sizeof *im->arguments);
  }
}

/* ---- The function ---- */

static zb_result find_loss(zb_import *im, const zb_import_value *loss, MlirValue *out) {
  zb_shape shape;
  char text[96];
  if (loss->kind == ZB_VALUE_INPUT || loss->kind == ZB_VALUE_INITIAL || loss->known)
    return zb_import_fail(im, "export the model with its loss: forward() returns it",
                          "output '%s' is not computed from the inputs", loss->name);
  if (!loss->value.ptr || !zb_type_shape(mlirValueGetType(loss->value), &shape))
    return zb_import_fail(im, NULL, "output '%s' is no tensor", loss->name);
  if (shape.dtype != ZB_F32 || shape.rank != 0)
    return zb_import_fail(im, "reduce it to one number in forward(), for example with .mean()",
                          "the loss '%s' is a %s, expected a scalar float", loss->name, zb_shape_text(&shape, text));
  *out = loss->value;
  return ZB_OK;
}

/* Whether an op that computes makes the value. */
static bool is_computed(MlirValue value) {
  const zb_op_def *def = mlirValueIsAOpResult(value) ? zb_op_find(mlirOpResultGetOwner(value)) : NULL;
  return def && def->op_class == ZB_CLASS_KERNEL;
}

/* Without a loss every output can be handed out: an input, a parameter, a constant, a view as a copy of it. */
static zb_result find_any_output(zb_import *im, zb_import_value *output, MlirValue *out) {
  if (output->kind == ZB_VALUE_SEQUENCE) return zb_import_fail(im, NULL, "output '%s' is a sequence", output->name);
  im->builder.location = zb_import_file_location(im);
  *out = zb_import_value_ir(im, output);
  if (out->ptr && (output->known || !output->activation || !is_computed(*out)))
    *out = zb_build1(&im->builder, "contiguous", *out);
  return out->ptr && !im->failed ? ZB_OK : ZB_FAIL;
}

static zb_result find_output(zb_import *im, zb_import_value *output, MlirValue *out) {
  if (output->kind == ZB_VALUE_INPUT || output->kind == ZB_VALUE_INITIAL || output->known)
    return zb_import_fail(im, "an output is computed from the inputs",
                          "--keep-output: '%s' is not computed from the inputs", output->name);
  if (!output->value.ptr || !mlirTypeIsARankedTensor(mlirValueGetType(output->value)))
    return zb_import_fail(im, NULL, "--keep-output: '%s' is no tensor", output->name);
  *out = output->value;
  return ZB_OK;
}

static MlirAttribute dictionary(MlirContext context, const char *name, MlirAttribute value) {
  MlirNamedAttribute attribute = zb_named(context, name, value);
  return mlirDictionaryAttrGet(context, 1, &attribute);
}

/* The new value of a buffer has the type that the buffer has. The buffer is an argument even where nothing reads it. */
static zb_result find_updated(zb_import *im, const zb_import_buffer *buffer, MlirValue *out) {
  zb_shape before, after;
  char text[96], other[96];
  MlirValue argument = zb_import_value_ir(im, buffer->initial);
  *out = zb_import_value_ir(im, buffer->updated);
  if (!argument.ptr || !out->ptr) return ZB_FAIL;
  if (!zb_type_shape(mlirValueGetType(argument), &before) || !zb_type_shape(mlirValueGetType(*out), &after) ||
      zb_shape_equal(&before, &after))
    return ZB_OK;
  return zb_import_fail(im, "forward() keeps shape and type of its buffers",
                        "the buffer '%s' is %s, and its new value '%s' is %s", buffer->initial->name,
                        zb_shape_text(&before, text), buffer->updated->name, zb_shape_text(&after, other));
}

static int loss_count(const zb_import *im) { return im->params->inference ? 0 : 1; }

static int result_count(const zb_import *im) { return loss_count(im) + im->output_count + (int)im->buffer_count; }

/* The loss, outputs, new values of buffers; zb_import_take of them. NULL after reporting. */
static MlirValue *find_results(zb_import *im, const zb_import_value *loss) {
  MlirValue *results = zb_import_take(im, (size_t)result_count(im) * sizeof *results), *at = results;
  if (!results || (loss && !find_loss(im, loss, at++))) return NULL;
  for (int i = 0; i < im->output_count; ++i)
    if (!(im->params->inference ? find_any_output : find_output)(im, im->outputs[i], at++)) return NULL;
  for (size_t i = 0; i < im->buffer_count; ++i)
    if (!find_updated(im, &im->buffers[i], at++)) return NULL;
  return results;
}

/* What a result of the function is: {zb.loss}, {zb.output = "logits"}, {zb.buffer = "norm.running_mean"}. */
static MlirAttribute mark_of_result(const zb_import *im, int index) {
  const int losses = loss_count(im), outputs = im->output_count;
  if (index < losses) return dictionary(im->context, ZB_ATTR_LOSS, mlirUnitAttrGet(im->context));
  if (index < losses + outputs)
    return dictionary(im->context, ZB_ATTR_OUTPUT, zb_mlir_string(im->context, im->outputs[index - losses]->name));
  const zb_import_value *buffer = im->buffers[index - losses - outputs].initial;
  return dictionary(im->context, ZB_ATTR_BUFFER, zb_mlir_string(im->context, buffer->name));
}

/* func.func @model over the finished block, which it takes. */
static zb_result build_function(zb_import *im, const MlirValue *results, MlirModule module) {
  MlirContext context = im->context;
  MlirBlock block = im->builder.block;
  size_t count = im->argument_count;
  const int returned = result_count(im);
  MlirType *result_types = zb_import_take(im, (size_t)returned * sizeof *result_types);
  MlirAttribute *marks = zb_import_take(im, (size_t)returned * sizeof *marks);
  if (!result_types || !marks) return ZB_FAIL;
  for (int i = 0; i < returned; ++i) {
    result_types[i] = mlirValueGetType(results[i]);
    marks[i] = mark_of_result(im, i);
  }
  MlirType *types = zb_import_take(im, count * sizeof *types);
  MlirAttribute *attributes = zb_import_take(im, count * sizeof *attributes);
  if (!types || !attributes) return ZB_FAIL;
  for (size_t i = 0; i < count; ++i) {
    types[i] = mlirValueGetType(mlirBlockGetArgument(block, (intptr_t)i));
    attributes[i] = dictionary(context, im->arguments[i].attribute, zb_mlir_string(context, im->arguments[i].name));
  }
  MlirNamedAttribute named[] = {
      zb_named(context, "sym_name", zb_mlir_string(context, "model")),
      zb_named(context, "function_type",
               mlirTypeAttrGet(mlirFunctionTypeGet(context, (intptr_t)count, types, returned, result_types))),
      zb_named(context, "arg_attrs", mlirArrayAttrGet(context, (intptr_t)count, attributes)),
      zb_named(context, "res_attrs", mlirArrayAttrGet(context, returned, marks))};
  MlirRegion region = mlirRegionCreate();
  mlirRegionAppendOwnedBlock(region, block);
  im->builder.block = (MlirBlock){NULL};
  MlirOperationState state =
      mlirOperationStateGet(mlirStringRefCreateFromCString("func.func"), zb_import_file_location(im));
  mlirOperationStateAddAttributes(&state, 4, named);
  mlirOperationStateAddOwnedRegions(&state, 1, &region);
  MlirOperation function = mlirOperationCreate(&state);
  if (mlirOperationIsNull(function)) return zb_import_fail(im, NULL, "the function could not be built");
  mlirBlockAppendOwnedOperation(mlirModuleGetBody(module), function);
  return ZB_OK;
}

static bool is_untrained(const zb_import_value *value) { return value->untrained; }
static bool is_unreached(const zb_import_value *value) {
  return value->unreached || (value->kind == ZB_VALUE_INITIAL && value->role == ZB_ROLE_TRAINED && !value->value.ptr);
}
static bool is_argument(const zb_import_value *value) { return value->kind == ZB_VALUE_INPUT && *value->name; }

/* Names of values of the source graph, in its order, as an attribute of the module. */
static zb_result list_names(zb_import *im, MlirOperation module, const char *attribute,
                            bool (*is_listed)(const zb_import_value *value)) {
  MlirAttribute *names = zb_import_take(im, im->value_count * sizeof *names + 1);
  if (!names) return ZB_FAIL;
  intptr_t count = 0;
  for (size_t i = 0; i < im->value_count; ++i)
    if (is_listed(im->values[i])) names[count++] = zb_mlir_string(im->context, im->values[i]->name);
  if (count) zb_set_attribute(module, attribute, mlirArrayAttrGet(im->context, count, names));
  return ZB_OK;
}

zb_result zb_import_finish(zb_import *im, const zb_import_value *loss, zb_module *out) {
  const MlirValue *results = find_results(im, loss);
  if (!results) return ZB_FAIL;
  im->builder.location = zb_import_file_location(im);
  if (mlirOperationIsNull(zb_build_any(&im->builder, "func.return", results, result_count(im), NULL, 0, NULL, 0)))
    return ZB_FAIL;
  if (!erase_dead_ops(im, im->builder.block)) return ZB_FAIL;
  erase_dead_arguments(im, im->builder.block);
  out->module = mlirModuleCreateEmpty(zb_import_file_location(im));
  MlirOperation module = mlirModuleGetOperation(out->module);
  zb_set_attribute(module, ZB_ATTR_LEVEL, zb_mlir_string(im->context, "graph"));
  if (!list_names(im, module, ZB_ATTR_ARGUMENTS, is_argument) ||
      !list_names(im, module, ZB_ATTR_UNTRAINED, is_untrained) ||
      !list_names(im, module, ZB_ATTR_UNREACHED, is_unreached) || !build_function(im, results, out->module))
    return ZB_FAIL;
  return zb_verify_module(module);
}
