/* zb_import_onnx: an ONNX file becomes a module with one function on one micro-batch.
 *
 * Order: open, check versions, make values and nodes, find the loss, mark the nodes it needs, check them against their
 * rows, choose parameters; then the core builds. Outputs other than the loss are not computed. Tests: test/ir/import.
 */
#include "ir/import/onnx/onnx.h"
#include "ir/import/importers.h"

#include <inttypes.h>
#include <mlir-c/BuiltinAttributes.h>
#include <string.h>

/* ---- Versions and parts that are refused ---- */

static zb_result check_model(zb_onnx *onnx) {
  const Onnx__ModelProto *model = onnx->file.model;
  const char *versions = "ONNX IR versions up to 13 and opsets 1 to 24 of the default domain are supported";
  if (model->ir_version < 1 || model->ir_version > ZB_ONNX_IR_MAX)
    return zb_import_fail(&onnx->core, versions, "IR version %" PRId64 " is not supported", model->ir_version);
  bool found = false;
  for (size_t i = 0; i < model->n_opset_import; ++i) {
    const Onnx__OperatorSetIdProto *set = model->opset_import[i];
    const char *domain = set->domain;
    if (*domain && strcmp(domain, "ai.onnx") != 0) continue; /* nodes of other domains are reported one by one */
    if (set->version < ZB_ONNX_OPSET_MIN || set->version > ZB_ONNX_OPSET_MAX)
      return zb_import_fail(&onnx->core, versions, "opset %" PRId64 " is not supported", set->version);
    onnx->opset = set->version;
    found = true;
  }
  if (!found) return zb_import_fail(&onnx->core, versions, "the model names no opset of the default domain");
  if (model->n_training_info)
    return zb_import_fail(&onnx->core, "leave training_info out: zbc differentiates the forward graph itself",
                          "training_info is not supported");
  if (onnx->graph->n_sparse_initializer || onnx->graph->n_quantization_annotation)
    return zb_import_fail(&onnx->core, "export in float32", "sparse and quantized tensors are not supported");
  return ZB_OK;
}

/* ---- Values and nodes ---- */

static zb_result add_initializers(zb_onnx *onnx) {
  zb_import *im = &onnx->core;
  for (size_t i = 0; i < onnx->graph->n_initializer; ++i) {
    const Onnx__TensorProto *tensor = onnx->graph->initializer[i];
    if (!*tensor->name) return zb_import_fail(im, NULL, "initializer %zu has no name", i);
    if (zb_import_find(im, tensor->name))
      return zb_import_fail(im, NULL, "two initializers are named '%s'", tensor->name);
    zb_import_value *value = zb_import_value_new(im, tensor->name, ZB_VALUE_INITIAL);
    if (!value) return ZB_FAIL;
    value->index = i;
    value->is_typed = zb_onnx_dtype(tensor->data_type, &value->type.dtype);
    value->type.rank = (int)tensor->n_dims;
    value->type_text = zb_onnx_dtype_text(tensor->data_type);
  }
  return ZB_OK;
}

/* ---- Buffers ---- */

/* A gradient flows to statistics that are computed of a batch, not to those that come with the file. */
static void mask_statistics(zb_import_node *n) {
  for (int i = ZB_BATCH_NORM_MEAN; i <= ZB_BATCH_NORM_VARIANCE && i < n->input_count; ++i)
    if (n->inputs[i] && n->inputs[i]->kind == ZB_VALUE_INITIAL) n->gradient &= ~(1u << i);
  if (zb_onnx_batch_norm_trains(n)) n->gradient &= (1u << ZB_BATCH_NORM_MEAN) - 1;
}

/* Without a loss nothing is updated: then it is a value that a checkpoint has. */
static zb_result add_buffer(zb_import *im, zb_import_value *initial, zb_import_value *updated) {
  if (!im->params->inference) return zb_import_add_buffer(im, initial, updated);
  initial->is_listed = true;
  initial->role = ZB_ROLE_FROZEN;
  return ZB_OK;
}

/* A line "NAME<tab>VALUE" of the file's metadata. */
static zb_result list_buffer(zb_import *im, const char *line, size_t length) {
  const char *tab = memchr(line, '\t', length);
  const size_t name_length = tab ? (size_t)(tab - line) : length;
  char *name = zb_import_take_text(im, line, name_length);
  char *made = tab ? zb_import_take_text(im, tab + 1, length - name_length - 1) : name;
  if (!name || !made) return ZB_FAIL;
  zb_import_value *initial = zb_import_find(im, name), *updated = tab ? zb_import_find(im, made) : NULL;
  if (initial && initial->kind == ZB_VALUE_INITIAL && updated) return add_buffer(im, initial, updated);
  return zb_import_fail(im, "a tool changed the graph after the export: export again",
                        "the file's metadata (zb.buffers) names the buffer '%s' and its new value '%s', but the graph "
                        "does not have both",
                        name, tab ? made : "");
}

/* Whether the file lists a value as the new one of a buffer. */
static bool is_updated_buffer(const zb_onnx *onnx, const zb_import_value *value) {
  const Onnx__ModelProto *model = onnx->file.model;
  const char *at = zb_onnx_entry(model->metadata_props, model->n_metadata_props, "zb.buffers");
  const size_t length = strlen(value->name);
  for (at = at ? strchr(at, '\t') : NULL; at; at = strchr(at, '\t')) {
    ++at;
    if (strncmp(at, value->name, length) == 0 && (at[length] == '\n' || at[length] == '\0')) return true;
  }
  const zb_import_node *n = value->producer;
  for (int k = 0; n && k < 2 && strcmp(n->kind, "BatchNormalization") == 0; ++k)
    if (1 + k < n->output_count && value == n->outputs[1 + k] && ZB_BATCH_NORM_MEAN + k < n->input_count)
      return n->inputs[ZB_BATCH_NORM_MEAN + k] && n->inputs[ZB_BATCH_NORM_MEAN + k]->kind == ZB_VALUE_INITIAL;
  return false;
}

/* What tools/export_onnx.py lists (zb.buffers); in other files the statistics of every BatchNormalization that gives
 * new ones. */
static zb_result find_buffers(zb_onnx *onnx) {
  zb_import *im = &onnx->core;
  const Onnx__ModelProto *model = onnx->file.model;
  const char *listed = zb_onnx_entry(model->metadata_props, model->n_metadata_props, "zb.buffers");
  for (const char *at = listed; at && *at;) {
    const size_t length = strcspn(at, "\n");
    if (length && !list_buffer(im, at, length)) return ZB_FAIL;
    at += length + (at[length] == '\n');
  }
  for (zb_import_node *n = im->nodes; n < im->nodes + im->node_count; ++n) {
    if (strcmp(n->kind, "BatchNormalization") != 0) continue;
    mask_statistics(n);
    for (int k = 0; k < 2 && !listed; ++k) {
      zb_import_value *initial = ZB_BATCH_NORM_MEAN + k < n->input_count ? n->inputs[ZB_BATCH_NORM_MEAN + k] : NULL;
      zb_import_value *updated = 1 + k < n->output_count ? n->outputs[1 + k] : NULL;
      if (!initial || !updated || initial->kind != ZB_VALUE_INITIAL) continue;
      if (!add_buffer(im, initial, updated)) return ZB_FAIL;
    }
  }
  return ZB_OK;
}

/* ---- The loss ---- */

/* Whether an output may be a scalar float by its declaration (a missing shape may be anything). */
static bool may_be_loss(const Onnx__ValueInfoProto *output) {
  const Onnx__TypeProto__Tensor *tensor = output->type ? output->type->tensor_type : NULL;
  if (!tensor) return !output->type;
  return tensor->elem_type == 1 && (!tensor->shape || tensor->shape->n_dim == 0);
}

/* A scalar of another float type: the loss of a model that was exported in half or double precision. */
static bool is_other_float(const Onnx__ValueInfoProto *output) {
  const Onnx__TypeProto__Tensor *tensor = output->type ? output->type->tensor_type : NULL;
  zb_dtype dtype;
  if (!tensor || (tensor->shape && tensor->shape->n_dim) || !zb_onnx_dtype(tensor->elem_type, &dtype)) return false;
  return dtype == ZB_F16 || dtype == ZB_BF16 || dtype == ZB_F64;
}

/* The outputs of the graph; all that is no loss and no new value of a buffer is kept where none is named. */
static zb_result read_results(zb_onnx *onnx, zb_import_results *out) {
  zb_import *im = &onnx->core;
  const bool keeps_all = im->params->inference && !im->params->output_count;
  out->count = (int)onnx->graph->n_output;
  out->items = zb_import_take(im, onnx->graph->n_output * sizeof *out->items + 1);
  for (int i = 0; out->items && i < out->count; ++i) {
    const Onnx__ValueInfoProto *output = onnx->graph->output[i];
    zb_import_result *r = &out->items[i];
    zb_text type = {0};
    zb_onnx_describe_type(output->type ? output->type->tensor_type : NULL, &type);
    *r = (zb_import_result){.name = output->name,
                            .value = zb_import_find(im, output->name),
                            .is_typed = may_be_loss(output),
                            .type_text = type.data ? zb_import_take_text(im, type.data, type.length) : "",
                            .updates = -1};
    zb_text_deinit(&type);
    if (!r->type_text) return ZB_FAIL;
    for (int k = 0; k < i && keeps_all; ++k)
      if (r->value && out->items[k].value == r->value)
        return zb_import_fail(im, "give each output a name of its own: an Identity makes another value",
                              "two outputs are named '%s'", r->name);
    if (keeps_all && r->value && is_updated_buffer(onnx, r->value)) r->updates = i;
  }
  return out->items ? ZB_OK : ZB_FAIL;
}

static zb_import_result *find_loss(zb_onnx *onnx, const zb_import_results *from) {
  const Onnx__ValueInfoProto *other = NULL;
  bool may_be = onnx->core.params->loss != NULL;
  for (size_t i = 0; i < onnx->graph->n_output; ++i) {
    if (is_other_float(onnx->graph->output[i])) other = onnx->graph->output[i];
    may_be = may_be || may_be_loss(onnx->graph->output[i]);
  }
  if (may_be || !other) return zb_import_find_loss(&onnx->core, from);
  zb_import_fail(&onnx->core, ZB_ONNX_TYPES_HINT, "the loss '%s' has the element type %s, which is not supported",
                 other->name, zb_onnx_dtype_text(other->type->tensor_type->elem_type));
  return NULL;
}

static const zb_import_results results = {
    .word = "output",
    .whole = "model",
    .scalar = "float output",
    .loss_hint = "export a model whose forward() returns the mean loss of the micro-batch, as tools/export_onnx.py "
                 "does; --inference compiles a model without a loss, to be evaluated alone",
    .output_hint = "an exported forward() returns them beside the loss: return loss, logits",
};

/* ---- The whole ---- */

/* What tools/export_onnx.py found when it compared the file with its model (zb.compared). A file that it refused
 * is imported up to here, so that earlier errors come first. */
static zb_result mark_compared(zb_onnx *onnx, MlirOperation module) {
  static const char refused[] = "rejected: ";
  const Onnx__ModelProto *model = onnx->file.model;
  for (size_t i = 0; i < model->n_metadata_props; ++i) {
    const Onnx__StringStringEntryProto *entry = model->metadata_props[i];
    if (!entry->key || !entry->value || strcmp(entry->key, "zb.compared") != 0) continue;
    if (strncmp(entry->value, refused, sizeof refused - 1) == 0)
      return zb_import_fail(&onnx->core, "change the model as tools/export_onnx.py says, and export it again",
                            "the exporter refused this graph, which does not train as its model does: %s",
                            entry->value + sizeof refused - 1);
    if (strcmp(entry->value, "no") == 0)
      zb_set_attribute(module, ZB_ATTR_UNCOMPARED, mlirUnitAttrGet(onnx->core.context));
  }
  return ZB_OK;
}

static zb_result load(zb_import *im, const zb_import_value *value, zb_shape *shape, const void **data) {
  zb_onnx *onnx = zb_onnx_of(im);
  return zb_onnx_tensor_read(onnx, onnx->graph->initializer[value->index], &onnx->file.raw[value->index],
                             zb_import_file_location(im), "initializer", shape, data);
}

static const zb_import_format format = {
    .rules = &zb_onnx_rules,
    .initial = "initializer",
    .types_hint = ZB_ONNX_TYPES_HINT,
    .parameters_hint = "torch.onnx.export needs export_params=True and optimize=False: see tools/export_onnx.py; or "
                       "name them with --train",
    .load = load,
    .left = zb_onnx_refuse_folded,
};

static zb_result import_graph(zb_import *im, zb_module *out) {
  zb_onnx *onnx = zb_onnx_of(im);
  if (!check_model(onnx) || !add_initializers(onnx) || !zb_onnx_add_inputs(onnx) || !zb_onnx_add_nodes(onnx))
    return ZB_FAIL;
  const bool inference = im->params->inference;
  zb_import_results from = results;
  if (!read_results(onnx, &from)) return ZB_FAIL;
  const zb_import_result *result = inference ? NULL : find_loss(onnx, &from);
  if ((!inference && !result) || !zb_import_keep_outputs(im, &from, result) || !find_buffers(onnx)) return ZB_FAIL;
  zb_import_value *loss = result ? result->value : NULL;
  zb_import_mark_needed(im, loss);
  if (!zb_import_check_nodes(im, zb_onnx_check_node) || !zb_onnx_check_merged(onnx)) return ZB_FAIL;
  zb_import_mark_values(im, loss);
  if (!zb_onnx_propose_parameters(onnx) || !zb_import_choose_parameters(im)) return ZB_FAIL;
  if (!zb_onnx_build_inputs(onnx) || !zb_import_nodes(im) || !zb_import_finish(im, loss, out)) return ZB_FAIL;
  return mark_compared(onnx, mlirModuleGetOperation(out->module));
}

static void close_files(zb_onnx *onnx) {
  for (size_t i = 0; i < onnx->external_count; ++i)
    zb_import_source_close(&onnx->externals[i]);
  zb_free(onnx->externals);
  zb_onnx_file_close(&onnx->file);
}

zb_status zb_import_onnx(MlirContext context, const zb_import_params *params, zb_module *out) {
  *out = (zb_module){.context = context};
  zb_onnx onnx = {.core = {.context = context, .params = params, .format = &format, .has_weights = true}};
  zb_status status = zb_onnx_file_open(params->path, &onnx.file);
  if (!status) {
    onnx.graph = onnx.file.model->graph;
    onnx.core.source_bytes = params->fold_limit ? 0 : zb_onnx_model_bytes(&onnx);
    status = onnx.core.source_bytes == UINT64_MAX ? ZB_OUT_OF_MEMORY() : zb_import_run(&onnx.core, import_graph, out);
  }
  close_files(&onnx);
  return status;
}
