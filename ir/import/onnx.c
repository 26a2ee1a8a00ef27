/* zb_import_onnx: an ONNX file becomes a module with one function on one micro-batch.
 *
 * Order: open, check versions, index names, find the loss, mark the nodes it needs, check their rows, choose
 * parameters, then fold or build node after node; at the end dead ops go and the function gets its type. Outputs other
 * than the loss are not computed. Tests: test/ir/import. */
#include "ir/import/build.h"
#include "ir/nesting.h"
#include "runtime/base/memory.h"

#include <inttypes.h>
#include <mlir-c/BuiltinAttributes.h>
#include <mlir-c/BuiltinTypes.h>
#include <stdio.h>
#include <string.h>

static const zb_onnx_op rows[] = {
#define ZB_ONNX(Name, attributes, min, max, outputs, gradient, build, op, fold, types)                                 \
  {#Name, attributes, min, max, outputs, gradient, build, op, fold, types},
#include "ir/import/onnx_ops.def"
#undef ZB_ONNX
};

int zb_onnx_op_count(void) { return (int)(sizeof rows / sizeof *rows); }

const zb_onnx_op *zb_onnx_op_at(int index) { return &rows[index]; }

const zb_onnx_op *zb_onnx_op_find(const char *name) {
  for (int i = 0; i < zb_onnx_op_count(); ++i) {
    if (strcmp(rows[i].name, name) == 0) return &rows[i];
  }
  return NULL;
}

/* ---- Versions and parts that are refused ---- */

static zb_result check_model(zb_onnx *im) {
  const Onnx__ModelProto *model = im->file.model;
  const char *versions = "ONNX IR versions up to 13 and opsets 13 to 24 of the default domain are supported";
  if (model->ir_version < 1 || model->ir_version > ZB_ONNX_IR_MAX) {
    return zb_onnx_fail(im, versions, "IR version %" PRId64 " is not supported", model->ir_version);
  }
  bool found = false;
  for (size_t i = 0; i < model->n_opset_import; ++i) {
    const Onnx__OperatorSetIdProto *set = model->opset_import[i];
    const char *domain = set->domain ? set->domain : "";
    if (*domain && strcmp(domain, "ai.onnx") != 0) continue; /* nodes of other domains are reported one by one */
    if (set->version < ZB_ONNX_OPSET_MIN || set->version > ZB_ONNX_OPSET_MAX) {
      return zb_onnx_fail(im, versions, "opset %" PRId64 " is not supported", set->version);
    }
    im->opset = (int)set->version;
    found = true;
  }
  if (!found) return zb_onnx_fail(im, versions, "the model names no opset of the default domain");
  if (model->n_training_info) {
    return zb_onnx_fail(im, "leave training_info out: zbc differentiates the forward graph itself",
                        "training_info is not supported");
  }
  if (im->graph->n_sparse_initializer || im->graph->n_quantization_annotation) {
    return zb_onnx_fail(im, "export in float32", "sparse and quantized tensors are not supported");
  }
  return ZB_OK;
}

/* ---- Names ---- */

static const char *text_or_empty(char *text) { return text ? text : ""; }

/* protobuf-c leaves absent strings NULL: make them empty once, so that nobody has to ask. The static text is never
 * freed by it. */
static void fill_absent_texts(Onnx__GraphProto *graph) {
  static char empty[] = "";
  for (size_t k = 0; k < graph->n_node; ++k) {
    Onnx__NodeProto *node = graph->node[k];
    if (!node->op_type) node->op_type = empty;
  }
}

static void restore_absent_texts(Onnx__GraphProto *graph) {
  for (size_t k = 0; graph && k < graph->n_node; ++k) {
    Onnx__NodeProto *node = graph->node[k];
    if (node->op_type && !*node->op_type) node->op_type = NULL;
  }
}

/* "4xNx8xfloat32". */
static void describe_type(const Onnx__TypeProto__Tensor *tensor, zb_text *text) {
  for (size_t d = 0; tensor && tensor->shape && d < tensor->shape->n_dim; ++d) {
    const Onnx__TensorShapeProto__Dimension *dim = tensor->shape->dim[d];
    if (dim->dim_param)
      zb_text_add(text, "%sx", dim->dim_param);
    else
      zb_text_add(text, "%" PRId64 "x", dim->dim_value);
  }
  zb_text_add(text, "%s", tensor ? zb_onnx_dtype_text(tensor->elem_type) : "unknown type");
}

/* The longest module path of a node: the last entry but one of ['', 'lm', 'lm.h', 'add']. */
static char *module_path(const Onnx__NodeProto *node) {
  for (size_t i = 0; i < node->n_metadata_props; ++i) {
    const Onnx__StringStringEntryProto *entry = node->metadata_props[i];
    if (!entry->key || !entry->value || strcmp(entry->key, "pkg.torch.onnx.name_scopes") != 0) continue;
    const char *begin = NULL, *last = NULL;
    size_t length = 0, last_length = 0;
    for (const char *c = entry->value; (c = strchr(c, '\'')) != NULL;) {
      const char *end = strchr(c + 1, '\'');
      if (!end) break;
      begin = last, length = last_length;
      last = c + 1, last_length = (size_t)(end - last);
      c = end + 1;
    }
    char *path = zb_alloc(length + 1);
    if (path && begin) memcpy(path, begin, length);
    return path;
  }
  return NULL;
}

/* The optimizer of the exporter makes nodes without a path: they get that of the node that makes their first computed
 * input. */
static void inherit_path(zb_onnx *im, size_t node) {
  const Onnx__NodeProto *proto = im->graph->node[node];
  for (size_t i = 0; i < proto->n_input && !im->paths[node]; ++i) {
    int64_t index;
    if (!*proto->input[i] || !zb_map_get(im->names, proto->input[i], &index)) continue;
    int producer = im->values[index]->producer;
    if (producer >= 0 && im->paths[producer]) im->paths[node] = zb_strdup(im->paths[producer]);
  }
}

/* An input with a default value, as older exporters list weights: it must be declared as it is. Symbolic dimensions may
 * be anything. */
static zb_result check_default(zb_onnx *im, const Onnx__ValueInfoProto *input, const Onnx__TensorProto *tensor) {
  const Onnx__TypeProto__Tensor *type = input->type ? input->type->tensor_type : NULL;
  if (!type) return ZB_OK;
  const Onnx__TensorShapeProto *shape = type->shape;
  bool same = type->elem_type == tensor->data_type && (!shape || shape->n_dim == tensor->n_dims);
  for (size_t d = 0; same && shape && d < shape->n_dim; ++d)
    same = !shape->dim[d]->has_dim_value || shape->dim[d]->dim_value == tensor->dims[d];
  if (same) return ZB_OK;
  zb_text declared, got;
  zb_text_init(&declared);
  zb_text_init(&got);
  describe_type(type, &declared);
  for (size_t d = 0; d < tensor->n_dims; ++d)
    zb_text_add(&got, "%" PRId64 "x", tensor->dims[d]);
  zb_text_add(&got, "%s", zb_onnx_dtype_text(tensor->data_type));
  zb_onnx_fail(im, "export the model again: a tool has changed one of the two",
               "input '%s' is declared as %s, but its initializer is %s", input->name,
               declared.data ? declared.data : "", got.data ? got.data : "");
  zb_text_deinit(&declared);
  zb_text_deinit(&got);
  return ZB_FAIL;
}

static zb_result index_initializers_and_inputs(zb_onnx *im) {
  for (size_t i = 0; i < im->graph->n_initializer; ++i) {
    Onnx__TensorProto *tensor = im->graph->initializer[i];
    if (!tensor->name || !*tensor->name) return zb_onnx_fail(im, NULL, "initializer %zu has no name", i);
    if (zb_map_get(im->names, tensor->name, NULL))
      return zb_onnx_fail(im, NULL, "two initializers are named '%s'", tensor->name);
    zb_onnx_value *value = zb_onnx_value_new(im, tensor->name, ZB_VALUE_INITIALIZER);
    if (!value) return ZB_FAIL;
    value->index = (int)i;
    value->defined = true;
  }
  for (size_t i = 0; i < im->graph->n_input; ++i) {
    const Onnx__ValueInfoProto *input = im->graph->input[i];
    const char *name = text_or_empty(input->name);
    int64_t index;
    if (!*name) return zb_onnx_fail(im, NULL, "input %zu has no name", i);
    if (zb_map_get(im->names, name, &index)) {
      if (im->values[index]->kind == ZB_VALUE_INITIALIZER) {
        if (!check_default(im, input, im->graph->initializer[im->values[index]->index])) return ZB_FAIL;
        continue;
      }
      return zb_onnx_fail(im, NULL, "two inputs are named '%s'", name);
    }
    zb_onnx_value *value = zb_onnx_value_new(im, name, ZB_VALUE_INPUT);
    if (!value) return ZB_FAIL;
    value->index = (int)i;
    value->defined = true;
  }
  return ZB_OK;
}

/* Whether some node makes a value of this name. */
static bool has_producer(const zb_onnx *im, const char *name) {
  for (size_t k = 0; k < im->graph->n_node; ++k) {
    for (size_t o = 0; o < im->graph->node[k]->n_output; ++o) {
      if (strcmp(im->graph->node[k]->output[o], name) == 0) return true;
    }
  }
  return false;
}

static zb_result index_nodes(zb_onnx *im) {
  zb_onnx_node n = {.im = im, .b = &im->builder};
  for (size_t k = 0; k < im->graph->n_node; ++k) {
    n.proto = im->graph->node[k];
    im->paths[k] = module_path(n.proto);
    inherit_path(im, k);
    im->builder.location = zb_onnx_node_location(im, (int)k);
    for (size_t i = 0; i < n.proto->n_input; ++i) {
      const char *name = n.proto->input[i];
      if (!*name || zb_map_get(im->names, name, NULL)) continue;
      if (has_producer(im, name)) {
        return zb_onnx_node_fail(&n, "the exporter must sort nodes: producers first",
                                 "input '%s' is made by this or a later node: the graph is cyclic or not sorted", name);
      }
      return zb_onnx_node_fail(
          &n, NULL, "input '%s' is neither an input of the model, nor an initializer, nor made by a node", name);
    }
    for (size_t o = 0; o < n.proto->n_output; ++o) {
      const char *name = n.proto->output[o];
      if (!*name) continue;
      if (zb_map_get(im->names, name, NULL))
        return zb_onnx_node_fail(&n, NULL, "output '%s' is the name of another value, too", name);
      zb_onnx_value *value = zb_onnx_value_new(im, name, ZB_VALUE_NODE);
      if (!value) return ZB_FAIL;
      value->producer = (int)k;
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

static void describe_outputs(const zb_onnx *im, zb_text *text) {
  for (size_t i = 0; i < im->graph->n_output; ++i) {
    const Onnx__ValueInfoProto *output = im->graph->output[i];
    zb_text_add(text, "%s'%s' (", i ? ", " : "", text_or_empty(output->name));
    describe_type(output->type ? output->type->tensor_type : NULL, text);
    zb_text_add(text, ")");
  }
}

static const char *find_loss(zb_onnx *im) {
  const char *wanted = im->params->loss, *found = NULL;
  int candidates = 0;
  const Onnx__ValueInfoProto *other = NULL;
  for (size_t i = 0; i < im->graph->n_output; ++i) {
    const Onnx__ValueInfoProto *output = im->graph->output[i];
    const char *name = text_or_empty(output->name);
    if (is_other_float(output)) other = output;
    if (wanted ? strcmp(name, wanted) != 0 : !may_be_loss(output)) continue;
    found = output->name;
    ++candidates;
  }
  zb_text list;
  zb_text_init(&list);
  describe_outputs(im, &list);
  const char *all = list.data ? list.data : "none";
  if (!found && wanted)
    zb_onnx_fail(im, "pass one of them to --loss", "no output is named '%s': the outputs are %s", wanted, all);
  else if (!found && other)
    zb_onnx_fail(im, ZB_ONNX_TYPES_HINT, "the loss '%s' has the element type %s, which is not supported",
                 text_or_empty(other->name), zb_onnx_dtype_text(other->type->tensor_type->elem_type));
  else if (!found) {
    zb_onnx_fail(
        im, "export a model whose forward() returns the mean loss of the micro-batch, as tools/export_onnx.py does",
        "no scalar float output to minimize: the outputs are %s", all);
  } else if (candidates > 1 && !wanted) {
    zb_onnx_fail(im, "say which one with --loss NAME", "%d outputs may be the loss: %s", candidates, all);
    found = NULL;
  } else if (!zb_map_get(im->names, found, NULL)) {
    zb_onnx_fail(im, NULL, "output '%s' is made by no node", found);
    found = NULL;
  }
  zb_text_deinit(&list);
  return found;
}

static void mark_needed(zb_onnx *im, const char *loss) {
  bool *needed = im->needed;
  int64_t index;
  if (zb_map_get(im->names, loss, &index) && im->values[index]->producer >= 0)
    needed[im->values[index]->producer] = true;
  for (size_t k = im->graph->n_node; k-- > 0;) {
    const Onnx__NodeProto *node = im->graph->node[k];
    for (size_t i = 0; needed[k] && i < node->n_input; ++i) {
      if (!*node->input[i] || !zb_map_get(im->names, node->input[i], &index)) continue;
      if (im->values[index]->producer >= 0) needed[im->values[index]->producer] = true;
    }
  }
}

/* ---- Rows ---- */

static bool is_listed(const char *list, const char *name) {
  size_t length = strlen(name);
  for (const char *c = list; *c;) {
    const char *end = strchr(c, ' ');
    size_t own = end ? (size_t)(end - c) : strlen(c);
    if (own == length && memcmp(c, name, length) == 0) return true;
    c += own + (end ? 1 : 0);
  }
  return false;
}

static zb_result refuse_op(zb_onnx_node *n, const char *what, const char *name,
                           void (*explain)(const char *, zb_text *, zb_text *)) {
  zb_text why, hint;
  zb_text_init(&why);
  zb_text_init(&hint);
  explain(name, &why, &hint);
  zb_onnx_node_fail(n, hint.data, "%s '%s' is not supported%s", what, name, why.data ? why.data : "");
  zb_text_deinit(&why);
  zb_text_deinit(&hint);
  return ZB_FAIL;
}

static zb_result check_node(zb_onnx_node *n) {
  const Onnx__NodeProto *proto = n->proto;
  const char *domain = text_or_empty(proto->domain);
  if (*domain && strcmp(domain, "ai.onnx") != 0) {
    if (n->im->file.model->n_functions == 0) return refuse_op(n, "operator of domain", domain, zb_onnx_domain_hint);
    return zb_onnx_node_fail(n, "inline the functions of the model first (onnx.inliner.inline_local_functions)",
                             "operator of domain '%s' is not supported", domain);
  }
  if (!n->row) return refuse_op(n, "operator", proto->op_type, zb_onnx_unknown_hint);
  int inputs = zb_onnx_node_inputs(n);
  if (inputs < n->row->min_inputs || (n->row->max_inputs >= 0 && inputs > n->row->max_inputs)) {
    return zb_onnx_node_fail(n, NULL, "it has %d inputs, expected %d to %d", inputs, n->row->min_inputs,
                             n->row->max_inputs);
  }
  for (int i = 0; i < (n->row->max_inputs < 0 ? inputs : n->row->min_inputs); ++i) {
    if (!zb_onnx_node_has(n, i)) return zb_onnx_node_fail(n, NULL, "input %d is missing", i);
  }
  if (proto->n_output < 1 || (n->row->max_outputs >= 0 && (int)proto->n_output > n->row->max_outputs)) {
    return zb_onnx_node_fail(n, NULL, "it has %zu outputs, expected 1 to %d", proto->n_output, n->row->max_outputs);
  }
  if (proto->base.n_unknown_fields) return zb_onnx_node_fail(n, NULL, "it has fields that are not understood");
  for (size_t i = 0; i < proto->n_attribute; ++i) {
    const Onnx__AttributeProto *attr = proto->attribute[i];
    const char *name = attr->name ? attr->name : "";
    if (!is_listed(n->row->attributes, name)) {
      char hint[192];
      snprintf(hint, sizeof hint, *n->row->attributes ? "understood: %s" : "it has no attributes that are understood",
               n->row->attributes);
      return zb_onnx_node_fail(n, hint, "attribute '%s' is not understood", name);
    }
    if (attr->ref_attr_name && *attr->ref_attr_name)
      return zb_onnx_node_fail(n, "inline the functions of the model first", "attribute '%s' refers to a function",
                               name);
  }
  return ZB_OK;
}

/* Checks every needed node; reports a few different faults at once, so that a user sees what the export lacks. */
static zb_result check_nodes(zb_onnx *im) {
  enum { REPORTS_MAX = 8 };
  zb_map *reported = zb_map_create();
  if (!reported) return zb_onnx_memory(im);
  int reports = 0;
  for (size_t k = 0; k < im->graph->n_node && reports < REPORTS_MAX; ++k) {
    zb_onnx_node n = {im, im->graph->node[k], zb_onnx_op_find(im->graph->node[k]->op_type), &im->builder};
    im->rows[k] = n.row;
    if (!im->needed[k] || zb_map_get(reported, n.proto->op_type, NULL)) continue;
    im->builder.location = zb_onnx_node_location(im, (int)k);
    if (check_node(&n)) continue;
    ++reports;
    if (!zb_map_set(reported, n.proto->op_type, 1)) zb_onnx_memory(im);
  }
  zb_map_destroy(reported);
  return reports || im->failed ? ZB_FAIL : ZB_OK;
}

/* ---- Inputs ---- */

static zb_result input_shape(zb_onnx *im, const Onnx__ValueInfoProto *input, zb_shape *out) {
  const char *static_hint =
      "export with static shapes (no dynamic_shapes or dynamic_axes): zbc compiles for one micro-batch size; "
      "tools/export_onnx.py takes --batch and --seq";
  const Onnx__TypeProto__Tensor *tensor = input->type ? input->type->tensor_type : NULL;
  if (!tensor) return zb_onnx_fail(im, NULL, "input '%s' is no tensor", input->name);
  *out = (zb_shape){.dtype = ZB_F32};
  bool known = zb_onnx_dtype(tensor->elem_type, &out->dtype);
  if (!known || (out->dtype != ZB_F32 && out->dtype != ZB_I64 && out->dtype != ZB_I32 && out->dtype != ZB_I1)) {
    return zb_onnx_fail(im, ZB_ONNX_TYPES_HINT, "input '%s' has the element type %s, which is not supported",
                        input->name, zb_onnx_dtype_text(tensor->elem_type));
  }
  if (!tensor->shape) return zb_onnx_fail(im, static_hint, "input '%s' has no shape", input->name);
  if (tensor->shape->n_dim > ZB_DIMS_MAX) {
    return zb_onnx_fail(im, NULL, "input '%s' has %zu dimensions, at most %d are supported", input->name,
                        tensor->shape->n_dim, ZB_DIMS_MAX);
  }
  out->rank = (int)tensor->shape->n_dim;
  for (int d = 0; d < out->rank; ++d) {
    const Onnx__TensorShapeProto__Dimension *dim = tensor->shape->dim[d];
    if (dim->has_dim_value && dim->dim_value > 0) {
      out->dims[d] = dim->dim_value;
      continue;
    }
    if (dim->has_dim_value) {
      return zb_onnx_fail(im, dim->dim_value ? static_hint : "export with an example of at least one row and one token",
                          "input '%s' has the dimension %" PRId64 " (dimension %d), expected 1 or more", input->name,
                          dim->dim_value, d);
    }
    return zb_onnx_fail(im, static_hint, "input '%s' has the dynamic dimension '%s' (dimension %d)", input->name,
                        dim->dim_param ? dim->dim_param : "?", d);
  }
  return zb_shape_bytes(out) >= 0 ? ZB_OK : zb_onnx_fail(im, NULL, "input '%s' is too large", input->name);
}

static zb_result add_inputs(zb_onnx *im) {
  for (size_t i = 0; i < im->value_count; ++i) {
    zb_onnx_value *value = im->values[i];
    zb_shape shape;
    if (value->kind != ZB_VALUE_INPUT) continue;
    if (!input_shape(im, im->graph->input[value->index], &shape)) return ZB_FAIL;
    value->value = zb_onnx_input_argument(im, value->name, &shape);
    if (!value->value.ptr) return ZB_FAIL;
  }
  return ZB_OK;
}

/* ---- Nodes ---- */

static bool all_outputs_defined(const zb_onnx_node *n) {
  for (size_t o = 0; o < n->proto->n_output; ++o) {
    int64_t index;
    if (!*n->proto->output[o] || !zb_map_get(n->im->names, n->proto->output[o], &index)) continue;
    if (!n->im->values[index]->defined) return false;
  }
  return true;
}

static bool is_foldable(const zb_onnx_node *n) {
  if (!n->row->fold) return false;
  for (int i = 0; i < zb_onnx_node_inputs(n); ++i) {
    bool type_only = i < 31 && (n->row->types >> i & 1);
    if (!type_only && zb_onnx_node_has(n, i) && !zb_onnx_node_constant(n, i)) return false;
  }
  return !n->im->failed;
}

/* What a fold reads, before it does. Reshapes do not touch their data. */
static zb_result charge_inputs(zb_onnx_node *n) {
  uint64_t bytes = 0;
  for (int i = 0; n->row->fold != zb_onnx_fold_reshape && i < zb_onnx_node_inputs(n); ++i) {
    bool type_only = i < 31 && (n->row->types >> i & 1);
    const zb_onnx_const *c = type_only ? NULL : zb_onnx_node_constant(n, i);
    if (c) bytes += (uint64_t)zb_shape_bytes(&c->shape);
  }
  return zb_onnx_fold_charge(n->im, bytes);
}

static zb_result import_node(zb_onnx *im, int k) {
  zb_onnx_node n = {im, im->graph->node[k], im->rows[k], &im->builder};
  im->builder.location = zb_onnx_node_location(im, k);
  if (is_foldable(&n)) {
    if (!charge_inputs(&n) || !n.row->fold(&n)) return ZB_FAIL;
    if (all_outputs_defined(&n)) return ZB_OK;
  }
  if (im->failed) return ZB_FAIL;
  if (!n.row->build) {
    return zb_onnx_node_fail(&n, "its inputs must not depend on the inputs of the model",
                             "it is supported on constants only");
  }
  if (!n.row->build(&n) || im->failed || im->builder.failed) {
    im->failed = true;
    return ZB_FAIL;
  }
  return all_outputs_defined(&n) ? ZB_OK
                                 : zb_onnx_node_fail(&n, "leave the output out", "an output of it is not supported");
}

static zb_result import_nodes(zb_onnx *im) {
  for (size_t k = 0; k < im->graph->n_node; ++k) {
    if (im->needed[k] && !import_node(im, (int)k)) return ZB_FAIL;
  }
  return ZB_OK;
}

/* ---- The function ---- */

/* Erases ops that nothing reads (all are pure), last first. */
static zb_result erase_dead_ops(zb_onnx *im, MlirBlock block) {
  MlirOperation *ops = NULL;
  size_t capacity = 0, count = 0;
  for (MlirOperation op = mlirBlockGetFirstOperation(block); op.ptr; op = mlirOperationGetNextInBlock(op)) {
    if (!zb_grow((void **)&ops, &capacity, count + 1, sizeof *ops)) {
      zb_free(ops);
      return zb_onnx_memory(im);
    }
    ops[count++] = op;
  }
  while (count-- > 0) {
    bool used = mlirOperationGetNumResults(ops[count]) == 0;
    for (intptr_t r = 0; r < mlirOperationGetNumResults(ops[count]); ++r) {
      used = used || !mlirOpOperandIsNull(mlirValueGetFirstUse(mlirOperationGetResult(ops[count], r)));
    }
    if (!used) mlirOperationDestroy(ops[count]);
  }
  zb_free(ops);
  return ZB_OK;
}

/* Arguments that only dead ops read go as well; inputs stay, in their order. */
static void erase_dead_arguments(zb_onnx *im, MlirBlock block) {
  for (size_t i = im->argument_count; i-- > im->input_count;) {
    if (!mlirOpOperandIsNull(mlirValueGetFirstUse(mlirBlockGetArgument(block, (intptr_t)i)))) continue;
    mlirBlockEraseArgument(block, (unsigned)i);
    zb_free(im->arguments[i].name);
    --im->argument_count;
    memmove(&im->arguments[i], &im->arguments[i + 1], (im->argument_count - i) * sizeof *im->arguments);
  }
}

static zb_result find_loss_value(zb_onnx *im, const char *loss, MlirValue *out) {
  zb_onnx_value *value = im->values[zb_map_get_or(im->names, loss, 0)];
  zb_shape shape;
  char text[96];
  if (value->kind == ZB_VALUE_INPUT || value->kind == ZB_VALUE_INITIALIZER || value->constant) {
    return zb_onnx_fail(im, "export the model with its loss: forward() returns it",
                        "output '%s' is not computed from the inputs", loss);
  }
  if (!value->value.ptr || !zb_type_shape(mlirValueGetType(value->value), &shape)) {
    return zb_onnx_fail(im, NULL, "output '%s' is no tensor", loss);
  }
  if (shape.dtype != ZB_F32 || shape.rank != 0) {
    return zb_onnx_fail(im, "reduce it to one number in forward(), for example with .mean()",
                        "the loss '%s' is a %s, expected a scalar float", loss, zb_shape_text(&shape, text));
  }
  *out = value->value;
  return ZB_OK;
}

static MlirAttribute dictionary(MlirContext context, const char *name, MlirAttribute value) {
  MlirNamedAttribute attribute = zb_named(context, name, value);
  return mlirDictionaryAttrGet(context, 1, &attribute);
}

/* func.func @model over the finished block, which it takes. */
static zb_result build_function(zb_onnx *im, MlirBlock block, MlirValue loss, MlirModule module) {
  MlirContext context = im->context;
  MlirType result = mlirValueGetType(loss);
  size_t count = im->argument_count;
  MlirType *types = zb_alloc((count + 1) * sizeof *types);
  MlirAttribute *attributes = zb_alloc((count + 1) * sizeof *attributes);
  if (!types || !attributes) {
    zb_free(types);
    zb_free(attributes);
    mlirBlockDestroy(block);
    return zb_onnx_memory(im);
  }
  for (size_t i = 0; i < count; ++i) {
    types[i] = mlirValueGetType(mlirBlockGetArgument(block, (intptr_t)i));
    attributes[i] = dictionary(context, im->arguments[i].attribute, zb_mlir_string(context, im->arguments[i].name));
  }
  MlirAttribute loss_mark = dictionary(context, ZB_ATTR_LOSS, mlirUnitAttrGet(context));
  MlirNamedAttribute named[] = {
      zb_named(context, "sym_name", zb_mlir_string(context, "model")),
      zb_named(context, "function_type",
               mlirTypeAttrGet(mlirFunctionTypeGet(context, (intptr_t)count, types, 1, &result))),
      zb_named(context, "arg_attrs", mlirArrayAttrGet(context, (intptr_t)count, attributes)),
      zb_named(context, "res_attrs", mlirArrayAttrGet(context, 1, &loss_mark))};
  MlirRegion region = mlirRegionCreate();
  mlirRegionAppendOwnedBlock(region, block);
  MlirOperationState state =
      mlirOperationStateGet(mlirStringRefCreateFromCString("func.func"), zb_onnx_file_location(im));
  mlirOperationStateAddAttributes(&state, 4, named);
  mlirOperationStateAddOwnedRegions(&state, 1, &region);
  MlirOperation function = mlirOperationCreate(&state);
  zb_free(types);
  zb_free(attributes);
  if (mlirOperationIsNull(function)) return zb_onnx_fail(im, NULL, "the function could not be built");
  mlirBlockAppendOwnedOperation(mlirModuleGetBody(module), function);
  return ZB_OK;
}

/* zb.untrained: initializers that a gradient reaches and that stay as they are, for who reads the summary. */
static zb_result list_untrained(zb_onnx *im, MlirOperation module) {
  MlirAttribute *names = zb_alloc((im->value_count + 1) * sizeof *names);
  if (!names) return zb_onnx_memory(im);
  intptr_t count = 0;
  for (size_t i = 0; i < im->value_count; ++i)
    if (im->values[i]->untrained) names[count++] = zb_mlir_string(im->context, im->values[i]->name);
  if (count)
    mlirOperationSetAttributeByName(module, mlirStringRefCreateFromCString(ZB_ATTR_UNTRAINED),
                                    mlirArrayAttrGet(im->context, count, names));
  zb_free(names);
  return ZB_OK;
}

/* What tools/export_onnx.py found when it compared the file with its model (zb.compared). What it refused is kept for
 * the errors before this one. */
static zb_result mark_compared(zb_onnx *im, MlirOperation module) {
  static const char refused[] = "rejected: ";
  const Onnx__ModelProto *model = im->file.model;
  for (size_t i = 0; i < model->n_metadata_props; ++i) {
    const Onnx__StringStringEntryProto *entry = model->metadata_props[i];
    if (!entry->key || !entry->value || strcmp(entry->key, "zb.compared") != 0) continue;
    if (strncmp(entry->value, refused, sizeof refused - 1) == 0)
      return zb_onnx_fail(im, "change the model as tools/export_onnx.py says, and export it again",
                          "the exporter refused this graph, which does not train as its model does: %s",
                          entry->value + sizeof refused - 1);
    if (strcmp(entry->value, "no") == 0)
      mlirOperationSetAttributeByName(module, mlirStringRefCreateFromCString(ZB_ATTR_UNCOMPARED),
                                      mlirUnitAttrGet(im->context));
  }
  return ZB_OK;
}

static zb_result finish(zb_onnx *im, MlirBlock *block, const char *loss, zb_module *out) {
  MlirValue value;
  if (!find_loss_value(im, loss, &value)) return ZB_FAIL;
  zb_builder end = zb_builder_at_end(*block, zb_onnx_file_location(im));
  if (mlirOperationIsNull(zb_build_any(&end, "func.return", &value, 1, NULL, 0, NULL, 0))) return ZB_FAIL;
  if (!erase_dead_ops(im, *block)) return ZB_FAIL;
  erase_dead_arguments(im, *block);
  out->module = mlirModuleCreateEmpty(zb_onnx_file_location(im));
  MlirOperation module = mlirModuleGetOperation(out->module);
  mlirOperationSetAttributeByName(module, mlirStringRefCreateFromCString("zb.level"),
                                  zb_mlir_string(im->context, "graph"));
  if (!list_untrained(im, module) || !mark_compared(im, module)) return ZB_FAIL;
  MlirBlock body = *block;
  *block = (MlirBlock){NULL};
  if (!build_function(im, body, value, out->module)) return ZB_FAIL;
  return zb_verify_module(module);
}

static zb_result import_graph(zb_onnx *im, MlirBlock *block, zb_module *out) {
  if (!check_model(im) || !index_initializers_and_inputs(im) || !index_nodes(im)) return ZB_FAIL;
  const char *loss = find_loss(im);
  if (!loss) return ZB_FAIL;
  mark_needed(im, loss);
  if (!check_nodes(im) || !zb_onnx_check_merged(im) || !zb_onnx_choose_parameters(im, loss)) return ZB_FAIL;
  im->builder = zb_builder_at_end(*block, zb_onnx_file_location(im));
  if (!add_inputs(im) || !import_nodes(im)) return ZB_FAIL;
  return finish(im, block, loss, out);
}

static void deinit(zb_onnx *im) {
  for (size_t i = 0; i < im->value_count; ++i) {
    zb_free(im->values[i]->items);
    zb_free(im->values[i]);
  }
  zb_free(im->values);
  zb_onnx_const_free_all(im);
  for (size_t i = 0; i < im->argument_count; ++i)
    zb_free(im->arguments[i].name);
  zb_free(im->arguments);
  for (size_t i = 0; i < im->external_count; ++i)
    zb_onnx_mapping_close(&im->externals[i]);
  zb_free(im->externals);
  for (size_t k = 0; im->paths && im->graph && k < im->graph->n_node; ++k)
    zb_free(im->paths[k]);
  zb_free(im->paths);
  zb_free(im->rows);
  zb_free(im->needed);
  zb_map_destroy(im->names);
  zb_map_destroy(im->literals);
  zb_free(im->literal);
  restore_absent_texts(im->graph);
  zb_onnx_file_close(&im->file);
}

static zb_status init(zb_onnx *im) {
  ZB_TRY(zb_onnx_file_open(im->params->path, &im->file));
  im->graph = im->file.model->graph;
  fill_absent_texts(im->graph);
  size_t nodes = im->graph->n_node + 1;
  im->names = zb_map_create();
  im->literals = zb_map_create();
  im->rows = zb_alloc(nodes * sizeof *im->rows);
  im->paths = zb_alloc(nodes * sizeof *im->paths);
  im->needed = zb_alloc(nodes * sizeof *im->needed);
  im->fold_limit = im->params->fold_limit;
  uint64_t bytes = im->fold_limit ? 0 : zb_onnx_model_bytes(im);
  if (bytes == UINT64_MAX) return ZB_OUT_OF_MEMORY();
  if (!im->fold_limit) im->fold_limit = ZB_ONNX_FOLD_BYTES + ZB_ONNX_FOLD_OF_FILE * bytes;
  im->weights = zb_store_create();
  im->stored_constants = zb_store_create();
  bool good = im->names && im->literals && im->rows && im->paths && im->needed && im->weights && im->stored_constants;
  return good ? NULL : ZB_OUT_OF_MEMORY();
}

zb_status zb_import_onnx(MlirContext context, const zb_import_params *params, zb_module *out) {
  *out = (zb_module){.context = context};
  zb_onnx im = {.context = context, .params = params};
  im.builder = (zb_builder){.context = context, .location = mlirLocationUnknownGet(context)};
  MlirBlock block = {NULL};
  zb_result result = ZB_FAIL;
  zb_status status = init(&im);
  if (!status) {
    block = mlirBlockCreate(0, NULL, NULL);
    im.builder = zb_builder_at_end(block, zb_onnx_file_location(&im));
    int diagnostics = 0;
    MlirDiagnosticHandlerID counter = zb_count_diagnostics(context, &diagnostics);
    result = import_graph(&im, &block, out);
    mlirContextDetachDiagnosticHandler(context, counter);
    if (!result)
      status = im.out_of_memory ? ZB_OUT_OF_MEMORY() : ZB_ERROR(INVALID, "'%s' was not imported", params->path);
    if (zb_status_code(status) == ZB_INVALID && diagnostics) status = zb_status_set_told(status);
  }
  if (result) {
    out->weights = im.weights;
    out->constants = im.stored_constants;
  } else {
    zb_store_destroy(im.weights);
    zb_store_destroy(im.stored_constants);
    if (out->module.ptr) mlirModuleDestroy(out->module);
    *out = (zb_module){.context = context};
  }
  if (block.ptr) mlirBlockDestroy(block);
  deinit(&im);
  return status;
}
