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

#define EXPORT_HINT "export it again: zb.aten.export(model, (x, y), path=\"exported.mlir\")"

/* ---- Files ---- */

/* The file of values lies beside the text, and has a plain name. */
static zb_status open_values(zb_aten *it, const char *path) {
  const char *name = zb_get_string(mlirModuleGetOperation(it->module), "aten.values");
  if (!name) return NULL;
  if (!*name || *name == '.' || strchr(name, '/'))
    return zb_status_hint(ZB_ERROR(INVALID, "'%s': aten.values is '%s', which is no name of a file", path, name),
                          EXPORT_HINT);
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
    return zb_import_fail(im, EXPORT_HINT, "there is no value of '%s'", value->name);
  if (tensor && !zb_shape_equal(&tensor->shape, shape))
    return zb_import_fail(im, EXPORT_HINT, "'%s' is declared as %s, and its value is a %s", value->name,
                          zb_shape_text(shape, declared), zb_shape_text(&tensor->shape, stored));
  return ZB_OK;
}

static zb_result left(zb_import *im, const zb_import_value *value) {
  return zb_import_fail(im, NULL, "the parameter '%s' is not trained", value->name);
}

static const zb_import_format format = {
    .initial = "parameter",
    .types_hint =
        "make the model float32 (model.float()) before its export; zbc --precision bf16 then computes in bf16",
    .parameters_hint = "parameters of the module that require a gradient are trained; or name them with --train",
    .load = load,
    .left = left,
};

/* ---- Loss, outputs, buffers ---- */

static void describe_results(const zb_aten *it, zb_text *text) {
  char shape[96];
  for (int i = 0; i < it->result_count; ++i) {
    const zb_aten_result *r = &it->results[i];
    if (r->name)
      zb_text_add(text, "%s'%s' (%s)", text->length ? ", " : "", r->name,
                  r->is_typed ? zb_shape_text(&r->shape, shape) : "?");
  }
}

static zb_aten_result *find_result(const zb_aten *it, const char *name) {
  for (int i = 0; i < it->result_count; ++i)
    if (it->results[i].name && strcmp(it->results[i].name, name) == 0) return &it->results[i];
  return NULL;
}

/* NULL after reporting. */
static zb_aten_result *find_loss(zb_aten *it) {
  zb_import *im = &it->core;
  const char *wanted = im->params->loss;
  zb_aten_result *found = wanted ? find_result(it, wanted) : NULL;
  int candidates = found != NULL;
  for (int i = 0; !wanted && i < it->result_count; ++i) {
    zb_aten_result *r = &it->results[i];
    const bool may_be = r->name && r->is_typed && r->shape.rank == 0 && r->shape.dtype == ZB_F32;
    candidates += may_be;
    if (may_be && (!found || strcmp(r->name, "loss") == 0)) found = r;
  }
  if (found && (candidates == 1 || strcmp(found->name, "loss") == 0)) return found;
  zb_text list = {0};
  describe_results(it, &list);
  const char *all = list.data ? list.data : "none";
  if (wanted)
    zb_import_fail(im, "pass one of them to --loss", "no output is named '%s': the outputs are %s", wanted, all);
  else if (found)
    zb_import_fail(im, "say which one with --loss NAME", "%d outputs may be the loss: %s", candidates, all);
  else
    zb_import_fail(im,
                   "export a module whose forward() gives the mean loss of the micro-batch, in float32; --inference "
                   "compiles one without a loss, to be evaluated alone",
                   "no scalar float output to minimize: the outputs are %s", all);
  zb_text_deinit(&list);
  return NULL;
}

/* The outputs that --keep-output names; all of them where there is no loss and none is named. */
static zb_result find_outputs(zb_aten *it, const zb_aten_result *loss) {
  zb_import *im = &it->core;
  const int named = im->params->output_count, count = named ? named : loss ? 0 : it->result_count;
  im->outputs = zb_import_take(im, ((size_t)count + 1) * sizeof *im->outputs);
  if (!im->outputs) return ZB_FAIL;
  for (int i = 0; i < count; ++i) {
    zb_aten_result *r = named ? find_result(it, im->params->outputs[i]) : &it->results[i];
    if (!named && !r->name) continue;
    if (!r) {
      zb_text list = {0};
      describe_results(it, &list);
      zb_import_fail(im, "forward() gives them beside the loss",
                     "--keep-output: no output is named '%s': the outputs "
                     "are %s",
                     im->params->outputs[i], list.data ? list.data : "none");
      zb_text_deinit(&list);
      return ZB_FAIL;
    }
    if (r == loss)
      return zb_import_fail(im, "leave it out: the loss is computed in any case", "--keep-output: '%s' is the loss",
                            r->name);
    if (r->value->kind != ZB_VALUE_NODE)
      return zb_import_fail(im, "an output is computed from the inputs",
                            "--keep-output: '%s' is not computed from the inputs", r->name);
    for (int k = 0; k < im->output_count; ++k)
      if (im->outputs[k] == r->value) return zb_import_fail(im, NULL, "--keep-output: '%s' is named twice", r->name);
    r->value->name = r->name;
    im->outputs[im->output_count++] = r->value;
  }
  return im->output_count || loss ? ZB_OK : zb_import_fail(im, NULL, "the model has no outputs");
}

static zb_result find_buffers(zb_aten *it) {
  zb_import *im = &it->core;
  for (int i = 0; i < it->result_count; ++i) {
    const zb_aten_result *r = &it->results[i];
    zb_import_value *initial = r->updates ? zb_import_find(im, r->updates) : NULL;
    if (!r->updates) continue;
    if (!initial || initial->kind != ZB_VALUE_INITIAL)
      return zb_import_fail(im, EXPORT_HINT, "result %d updates '%s', which is no buffer", i, r->updates);
    if (!*r->value->name) r->value->name = r->updates;
    if (!zb_import_add_buffer(im, initial, r->value)) return ZB_FAIL;
  }
  return ZB_OK;
}

/* ---- Nodes ---- */

static bool is_listed(const char *list, MlirStringRef name) {
  for (const char *c = list; *c;) {
    const size_t length = strcspn(c, " ");
    if (length == name.length && memcmp(c, name.data, length) == 0) return true;
    c += length + (c[length] == ' ');
  }
  return false;
}

/* Every argument of the call must be one that the row reads. */
static zb_result check_attributes(zb_import_node *n) {
  MlirOperation op = zb_aten_source(n);
  for (intptr_t i = 0; i < mlirOperationGetNumAttributes(op); ++i) {
    MlirStringRef name = mlirIdentifierStr(mlirOperationGetAttribute(op, i).name);
    if (is_listed(n->op->attributes, name)) continue;
    char hint[256];
    snprintf(hint, sizeof hint, *n->op->attributes ? "understood: %s" : "none is understood", n->op->attributes);
    return zb_import_refuse(n, hint, "argument '%.*s' is not understood", (int)name.length, name.data);
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
  if (n->input_count < n->op->min_inputs || (n->op->max_inputs >= 0 && n->input_count > n->op->max_inputs))
    return zb_import_refuse(n, NULL, "it has %d operands, expected %d to %d", n->input_count, n->op->min_inputs,
                            n->op->max_inputs);
  if (n->output_count < 1 || (n->op->max_outputs >= 0 && n->output_count > n->op->max_outputs))
    return zb_import_refuse(n, NULL, "it has %d results, expected 1 to %d", n->output_count, n->op->max_outputs);
  return check_attributes(n);
}

/* ---- Gradients that stop ---- */

/* Whether a gradient of a trained parameter would flow to an input of a node. */
static bool carries_gradient(const zb_import_node *n, const bool *carries, unsigned inputs) {
  for (int i = 0; i < n->input_count; ++i)
    if (n->inputs[i] && (inputs >> (i < 31 ? i : 31) & 1) && carries[n->inputs[i]->number]) return true;
  return false;
}

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
    if (strcmp(n->op->name, "detach") == 0 && !carries_gradient(n, carries, 1)) n->op = zb_aten_op_find("alias");
    const bool any = carries_gradient(n, carries, n->gradient);
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
  zb_aten_result *result = inference ? NULL : find_loss(it);
  if ((!inference && !result) || !find_outputs(it, result) || !find_buffers(it)) return ZB_FAIL;
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
  zb_aten it = {.core = {.context = context, .params = params, .format = &format}};
  const bool allowed = mlirContextGetAllowUnregisteredDialects(context);
  mlirContextSetAllowUnregisteredDialects(context, true);
  zb_status status = open_files(&it, params->path);
  const bool has_values = it.values != NULL;
  if (!status) status = zb_import_run(&it.core, import_graph, out);
  if (!mlirModuleIsNull(it.module)) mlirModuleDestroy(it.module);
  mlirContextSetAllowUnregisteredDialects(context, allowed);
  zb_store_destroy(it.values);
  if (!has_values) {
    zb_store_destroy(out->weights); /* there are none in the file: --weights brings them, else they are drawn */
    out->weights = NULL;
  }
  return status;
}
