/* zb_import_aten: the graph of torch.export, as zb.aten (tools/python) writes it, becomes a module with one function on
 * one micro-batch.
 *
 *   zb.aten.export(model, (x, y), path="exported.mlir")     exported.mlir, and values in exported.safetensors beside it
 *
 * Parameters, buffers and inputs have PyTorch's names; of a tensor with several names each is known to --train and
 * --freeze. Tests: test/ir/import/aten, test/ir/import/aten_mutate_test.c, test/e2e/aten.py. */
#include "ir/import/aten/aten.h"
#include "ir/import/importers.h"
#include "runtime/base/file.h"

#include <mlir-c/BuiltinAttributes.h>
#include <mlir-c/BuiltinTypes.h>
#include <stdio.h>
#include <string.h>

/* ---- Files ---- */

/* The file of values lies beside the text, and has a plain name. */
static zb_status open_values(zb_aten *it, const char *path) {
  const char *name = zb_get_string(mlirModuleGetOperation(it->module), "aten.values");
  if (!name) return NULL;
  if (!*name || *name == '.' || strchr(name, '/'))
    return zb_status_hint(ZB_ERROR(INVALID, "'%s': aten.values is '%s', which is no name of a file", path, name),
                          ZB_ATEN_EXPORT_HINT);
  const char *slash = strrchr(path, '/');
  zb_text full = {0};
  zb_text_add(&full, "%.*s%s", slash ? (int)(slash - path) + 1 : 0, path, name);
  zb_status status = full.failed ? ZB_OUT_OF_MEMORY() : zb_store_open(full.data, &it->values);
  if (status) status = zb_status_hint(status, "it holds the values of '%s' and lies beside it", path);
  zb_text_deinit(&full);
  return status;
}

static zb_status check_format(const zb_aten *it, const char *path) {
  const int64_t format = zb_get_i64(mlirModuleGetOperation(it->module), "aten.format", 0);
  if (format == ZB_ATEN_FORMAT) return NULL;
  return zb_status_hint(ZB_ERROR(INVALID, "'%s' has the form %lld of aten text, and %d is understood", path,
                                 (long long)format, ZB_ATEN_FORMAT),
                        "export it with the package zb of this version of zbc");
}

static zb_status open_files(zb_aten *it, const char *path) {
  char *text = NULL;
  size_t bytes = 0;
  ZB_TRY(zb_file_read(path, (uint64_t)ZB_MLIR_BYTES_MAX, &text, &bytes));
  it->core.source_bytes = bytes;
  zb_status status = zb_import_parse(it->core.context, path, text, &it->module);
  zb_free(text);
  if (!status) status = check_format(it, path);
  if (!status) status = open_values(it, path);
  for (int i = 0; !status && it->values && i < zb_store_count(it->values); ++i)
    it->core.source_bytes += zb_store_at(it->values, i)->bytes;
  return status;
}

/* ---- Values ---- */

static zb_result load(zb_import *im, const zb_import_value *value, zb_shape *shape, const void **data) {
  char declared[96], stored[96];
  const zb_store *store = zb_aten_of(im)->values;
  const zb_stored_tensor *tensor = store ? zb_store_find(store, value->name) : NULL;
  if (!value->is_typed)
    return zb_import_fail(im, im->format->types_hint, "'%s' has an element type or a shape that is not supported",
                          value->name);
  *shape = value->type;
  *data = tensor ? tensor->data : NULL;
  const bool comes_later = value->is_unset && value->role != ZB_ROLE_CONSTANT;
  if (!tensor && !comes_later && (value->role == ZB_ROLE_CONSTANT || value->role == ZB_ROLE_BUFFER || store))
    return zb_import_fail(im, ZB_ATEN_EXPORT_HINT, "there is no value of '%s'", value->name);
  if (tensor && !zb_shape_equal(&tensor->shape, shape))
    return zb_import_fail(im, ZB_ATEN_EXPORT_HINT, "'%s' is declared as %s, and its value is a %s", value->name,
                          zb_shape_text(shape, declared), zb_shape_text(&tensor->shape, stored));
  return ZB_OK;
}

static const zb_import_format format = {
    .initial = "parameter",
    .types_hint =
        "make the model float32 (model.float()) before its export; zbc --precision bf16 then computes in bf16",
    .parameters_hint = "parameters of the module that require a gradient are trained; or name them with --train",
    .load = load,
};

static const zb_import_results results = {
    .word = "output",
    .whole = "model",
    .scalar = "float output",
    .loss_hint = "export a module whose forward() gives the mean loss of the micro-batch, in float32; --inference "
                 "compiles one without a loss, to be evaluated alone",
    .output_hint = "forward() gives them beside the loss",
};

/* ---- Buffers ---- */

static zb_result find_buffers(zb_aten *it) {
  zb_import *im = &it->core;
  for (int i = 0; i < it->results.count; ++i) {
    const zb_import_result *r = &it->results.items[i];
    if (r->updates < 0) continue;
    zb_import_value *initial = im->values[r->updates];
    if (!*r->value->name) r->value->name = initial->name;
    if (!zb_import_add_buffer(im, initial, r->value)) return ZB_FAIL;
  }
  return ZB_OK;
}

/* ---- Nodes ---- */

/* Every argument of the call must be one that the row reads. */
static zb_result check_attributes(zb_import_node *n) {
  MlirOperation op = zb_aten_source(n);
  for (intptr_t i = 0; i < mlirOperationGetNumAttributes(op); ++i) {
    const char *name = mlirIdentifierStr(mlirOperationGetAttribute(op, i).name).data; /* MLIR's names end in NUL */
    if (!zb_import_check_name(n, "argument", name, "none is understood")) return ZB_FAIL;
  }
  return ZB_OK;
}

static zb_result check_node(zb_import_node *n) {
  if (!n->op) {
    zb_text hint = {0};
    zb_aten_unknown_hint(strncmp(n->kind, "aten.", 5) == 0 ? n->kind + 5 : n->kind, &hint);
    zb_import_refuse(n, hint.data, "this op is not supported");
    zb_text_deinit(&hint);
    return ZB_FAIL;
  }
  return zb_import_check_counts(n, n->output_count, "operands", "results") ? check_attributes(n) : ZB_FAIL;
}

/* ---- Gradients that stop ---- */

/* Of integers, as places of a sort, there is no gradient. */
static bool is_real(const zb_import_node *n, int result) {
  MlirType type = mlirValueGetType(mlirOperationGetResult(zb_aten_source(n), result));
  return mlirTypeIsARankedTensor(type) && mlirTypeIsAFloat(mlirShapedTypeGetElementType(type));
}

/* zb.detach is built where a gradient would pass; elsewhere, as of rotary tables, the operand is the result. */
static zb_result place_stops(zb_import *im) {
  bool *carries = zb_import_take(im, im->value_count * sizeof *carries + 1);
  for (size_t i = 0; carries && i < im->value_count; ++i)
    carries[i] = im->values[i]->role == ZB_ROLE_TRAINED;
  for (zb_import_node *n = im->nodes; carries && n < im->nodes + im->node_count; ++n) {
    if (!n->needed) continue;
    if (strcmp(n->op->name, "detach") == 0 && !zb_import_carries(n, 1, carries)) n->op = zb_aten_op_find("alias");
    const bool any = zb_import_carries(n, n->gradient, carries);
    for (int o = 0; o < n->output_count; ++o)
      if (n->outputs[o]) carries[n->outputs[o]->number] = any && is_real(n, o);
  }
  return carries ? ZB_OK : ZB_FAIL;
}

/* ---- The whole ---- */

static zb_result import_graph(zb_import *im, zb_module *out) {
  zb_aten *it = zb_aten_of(im);
  const bool inference = im->params->inference;
  im->is_listed = true;
  if (!zb_aten_read_graph(it)) return ZB_FAIL;
  zb_import_result *result = inference ? NULL : zb_import_find_loss(im, &it->results);
  if ((!inference && !result) || !zb_import_keep_outputs(im, &it->results, result) || !find_buffers(it)) return ZB_FAIL;
  zb_import_value *loss = result ? result->value : NULL;
  if (loss && !*loss->name) loss->name = result->name;
  zb_import_mark_needed(im, loss);
  if (!zb_import_check_nodes(im, check_node)) return ZB_FAIL;
  zb_import_mark_values(im, loss);
  if (!zb_import_choose_parameters(im) || !place_stops(im)) return ZB_FAIL;
  if (!zb_import_inputs(
          im, "float32, int64, int32 and bool with at least one element and at most 8 dimensions are supported") ||
      !zb_import_nodes(im))
    return ZB_FAIL;
  if (!zb_import_finish(im, loss, out)) return ZB_FAIL;
  for (size_t i = 0; i < im->value_count; ++i)
    out->values_later |= im->values[i]->is_unset;
  return ZB_OK;
}

zb_status zb_import_aten(MlirContext context, const zb_import_params *params, zb_module *out) {
  *out = (zb_module){.context = context};
  zb_aten it = {.core = {.context = context, .params = params, .format = &format}, .results = results};
  const bool allowed = mlirContextGetAllowUnregisteredDialects(context);
  mlirContextSetAllowUnregisteredDialects(context, true);
  zb_status status = open_files(&it, params->path);
  it.core.has_weights = it.values != NULL;
  if (!status) status = zb_import_run(&it.core, import_graph, out);
  if (!mlirModuleIsNull(it.module)) mlirModuleDestroy(it.module);
  mlirContextSetAllowUnregisteredDialects(context, allowed);
  zb_store_destroy(it.values);
  return status;
}
