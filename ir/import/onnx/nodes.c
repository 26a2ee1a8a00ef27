/* Nodes of the model, with functions and control flow written out: a function is its nodes, If its branch or a choice
 * of both, Loop and Scan with a known number of rounds (control.c) are their bodies, one behind the other.
 *
 *   y = F(x)   with   F(a) { t = Exp(a); b = Neg(t) }    ->    #1/t = Exp(x); #1/b = Neg(#1/t); y = Identity(#1/b)
 *
 * Tests: test/ir/import/import_test.c, test/e2e/onnx_nodes.py. */
#include "ir/import/onnx/control.h"

#include <stdio.h>
#include <string.h>

/* What unrolling may add. */
enum { ADDED_NODES_MAX = 1 << 16, FOLD_DEPTH_MAX = 256, SCOPE_DEPTH_MAX = 32 };

/* The longest module path of a node: the last entry but one of ['', 'lm', 'lm.h', 'add']. */
static const char *module_path(zb_import *im, const Onnx__NodeProto *node) {
  const char *scopes = zb_onnx_entry(node->metadata_props, node->n_metadata_props, "pkg.torch.onnx.name_scopes");
  const char *begin = NULL, *last = NULL;
  size_t length = 0, last_length = 0;
  for (const char *c = scopes; c && (c = strchr(c, '\'')) != NULL;) {
    const char *end = strchr(c + 1, '\'');
    if (!end) break;
    begin = last, length = last_length;
    last = c + 1, last_length = (size_t)(end - last);
    c = end + 1;
  }
  return scopes ? zb_import_take_text(im, begin ? begin : "", length) : NULL;
}

/* ---- Names ---- */

static char *prefixed(zb_import *im, const zb_onnx_scope *scope, const char *name) {
  const size_t before = strlen(scope->prefix), length = strlen(name);
  char *text = zb_import_take(im, before + length + 1);
  if (text) memcpy(text, scope->prefix, before), memcpy(text + before, name, length);
  return text;
}

zb_import_value *zb_onnx_scope_find(zb_import *im, const zb_onnx_scope *scope, const char *name) {
  for (; scope; scope = scope->parent) {
    const char *own = *scope->prefix ? prefixed(im, scope, name) : name;
    zb_import_value *value = own ? zb_import_find(im, own) : NULL;
    if (value) return value;
  }
  return NULL;
}

zb_result zb_onnx_scope_bind(zb_import *im, const zb_onnx_scope *scope, const char *name, zb_import_value *value) {
  const char *own = prefixed(im, scope, name);
  return own && zb_map_set(im->names, own, (int64_t)value->number) ? ZB_OK : zb_import_memory(im);
}

zb_result zb_onnx_scope_open(zb_import_node *n, const zb_onnx_scope *parent, bool sees_parent, zb_onnx_scope *out) {
  char text[32];
  if (parent->depth == SCOPE_DEPTH_MAX)
    return zb_import_refuse(n, NULL, "graphs and functions are nested more than %d deep", SCOPE_DEPTH_MAX);
  snprintf(text, sizeof text, "#%d/", ++zb_onnx_of(n->im)->scope_count);
  *out = (zb_onnx_scope){.parent = sees_parent ? parent : NULL,
                         .prefix = zb_import_take_text(n->im, text, strlen(text)),
                         .depth = parent->depth + 1,
                         .number = parent->number};
  return out->prefix ? ZB_OK : ZB_FAIL;
}

/* Whether some node makes a value of this name. */
static bool has_producer(const zb_onnx_scope *scope, const char *name) {
  for (size_t k = 0; k < scope->node_count; ++k)
    for (size_t o = 0; o < scope->nodes[k]->n_output; ++o)
      if (strcmp(scope->nodes[k]->output[o], name) == 0) return true;
  return false;
}

/* Whether a function was called without it. */
static bool is_left_out(const zb_onnx_scope *scope, const char *name) {
  for (size_t i = 0; scope->function && i < scope->function->n_input; ++i)
    if (strcmp(scope->function->input[i], name) == 0) return true;
  return false;
}

static zb_result read_inputs(const zb_onnx_scope *scope, zb_import_node *n, const Onnx__NodeProto *proto) {
  for (size_t i = 0; i < proto->n_input; ++i) {
    const char *name = proto->input[i];
    if (!*name) continue;
    n->inputs[i] = zb_onnx_scope_find(n->im, scope, name);
    if (n->inputs[i]) n->input_count = (int)i + 1;
    if (n->inputs[i] || is_left_out(scope, name)) continue;
    if (has_producer(scope, name))
      return zb_import_refuse(n, "the exporter must sort nodes: producers first",
                              "input '%s' is made by this or a later node: the graph is cyclic or not sorted", name);
    return zb_import_refuse(
        n, NULL, "input '%s' is neither an input of the model, nor an initializer, nor made by a node", name);
  }
  return ZB_OK;
}

static zb_result read_outputs(const zb_onnx_scope *scope, zb_import_node *n, const Onnx__NodeProto *proto) {
  n->output_count = (int)proto->n_output;
  for (size_t o = 0; o < proto->n_output; ++o) {
    const char *name =
        *proto->output[o] && *scope->prefix ? prefixed(n->im, scope, proto->output[o]) : proto->output[o];
    if (!name) return ZB_FAIL;
    if (!*name) continue;
    if (zb_import_find(n->im, name))
      return zb_import_refuse(n, NULL, "output '%s' is the name of another value, too", name);
    n->outputs[o] = zb_import_value_new(n->im, name, ZB_VALUE_NODE);
    if (!n->outputs[o]) return ZB_FAIL;
    n->outputs[o]->producer = n;
  }
  return ZB_OK;
}

/* ---- Nodes ---- */

/* The gradient of a cast to integers ends there. */
static bool casts_to_other(const zb_import_node *n) {
  const Onnx__AttributeProto *to = strcmp(n->kind, "Cast") == 0 ? zb_onnx_attribute(n, "to") : NULL;
  zb_dtype dtype;
  return to && !(zb_onnx_dtype(to->i, &dtype) && zb_dtype_is_float(dtype));
}

/* The bit of Attention's mask where it comes with the file: that is no parameter. */
static unsigned mask_of_file(const zb_import_node *n) {
  const int mask = 3;
  const bool is_initial = n->input_count > mask && n->inputs[mask] && n->inputs[mask]->kind == ZB_VALUE_INITIAL;
  return is_initial ? 1u << mask : 0;
}

/* The optimizer of the exporter makes nodes without a path: they get that of the node that makes their first computed
 * input. */
static const char *inherited_path(const zb_import_node *n) {
  for (int i = 0; i < n->input_count; ++i)
    if (n->inputs[i] && n->inputs[i]->producer && n->inputs[i]->producer->path) return n->inputs[i]->producer->path;
  return NULL;
}

/* Without inputs and outputs. */
static zb_import_node *new_node(zb_onnx *onnx, const Onnx__NodeProto *proto, const zb_onnx_scope *scope) {
  zb_import *im = &onnx->core;
  if (im->node_count == onnx->node_capacity)
    return zb_import_fail(im, "a loop or a function with fewer rounds or nodes",
                          "written out, control flow and functions have more than %d nodes", ADDED_NODES_MAX),
           NULL;
  zb_import_node *n = &im->nodes[im->node_count++];
  *n = (zb_import_node){.im = im,
                        .b = &im->builder,
                        .kind = proto->op_type,
                        .name = proto->name,
                        .path = module_path(im, proto),
                        .source = proto};
  n->inputs = zb_import_take(im, proto->n_input * sizeof *n->inputs);
  n->outputs = zb_import_take(im, proto->n_output * sizeof *n->outputs);
  if (!n->inputs || !n->outputs) return NULL;
  n->op = zb_onnx_op_find(n->kind);
  n->gradient = n->op && !casts_to_other(n) ? n->op->gradient : 0;
  if (strcmp(n->kind, "Attention") == 0) n->gradient &= ~mask_of_file(n);
  n->location = zb_import_node_location(im, n->path, n->name, scope->number);
  return n;
}

zb_import_node *zb_onnx_node_made(zb_import_node *of, const zb_onnx_scope *scope, const Onnx__NodeProto *proto,
                                  zb_import_value *const *inputs) {
  zb_import_node *n = new_node(zb_onnx_of(of->im), proto, scope);
  if (!n) return NULL;
  n->path = of->path;
  n->location = of->location;
  n->input_count = (int)proto->n_input;
  n->output_count = (int)proto->n_output;
  memcpy(n->inputs, inputs, proto->n_input * sizeof *inputs);
  for (int o = 0; o < n->output_count; ++o) {
    n->outputs[o] = zb_import_value_new(of->im, "", ZB_VALUE_NODE);
    if (!n->outputs[o]) return NULL;
    n->outputs[o]->producer = n;
  }
  return n;
}

zb_result zb_onnx_give_output(zb_import_node *n, const zb_onnx_scope *scope, size_t output, zb_import_value *value) {
  const Onnx__NodeProto *of = n->source;
  static char *const one[1] = {(char *)""};
  if (output >= of->n_output || !*of->output[output]) return ZB_OK;
  Onnx__NodeProto *proto = zb_import_take(n->im, sizeof *proto);
  if (!proto) return ZB_FAIL;
  onnx__node_proto__init(proto);
  proto->op_type = (char *)"Identity";
  proto->name = of->name;
  proto->n_input = proto->n_output = 1;
  proto->input = (char **)one;
  proto->output = &of->output[output];
  zb_import_node *copy = new_node(zb_onnx_of(n->im), proto, scope);
  if (!copy) return ZB_FAIL;
  copy->path = n->path;
  copy->location = n->location;
  copy->inputs[0] = value;
  copy->input_count = 1;
  return read_outputs(scope, copy, proto);
}

/* ---- Values that must be known ---- */

static bool fold_value(zb_import_value *value, int depth) {
  const zb_import_node *n = value->producer;
  if (value->known) return true;
  if (value->kind == ZB_VALUE_INITIAL) return value->is_typed && !zb_import_is_float(value); /* no parameter */
  if (!n || !n->op || n->op->types || depth == 0) return false;
  if (n->op->fold == ZB_FOLD_NEVER && strcmp(n->kind, "Identity") != 0) return false;
  for (int i = 0; i < n->input_count; ++i)
    if (n->inputs[i] && !fold_value(n->inputs[i], depth - 1)) return false;
  return zb_onnx_check_node((zb_import_node *)(uintptr_t)n) && zb_import_fold_node((zb_import_node *)(uintptr_t)n) &&
         value->known;
}

bool zb_onnx_folds(zb_import_value *value) { return fold_value(value, FOLD_DEPTH_MAX); }

bool zb_onnx_know(zb_import_node *n, zb_import_value *value, const char *what, int64_t *out) {
  zb_known *known = NULL;
  const bool folds = value && zb_onnx_folds(value);
  if (n->im->failed) return false;
  if (folds && zb_import_value_known(n->im, value, &known) && known && known->elements == 1) {
    *out = zb_known_is_float(known) ? (int64_t)zb_known_real(known, 0) : zb_known_integer(known, 0);
    return true;
  }
  return zb_import_refuse(
      n,
      "control flow that depends on values has no static graph: export with a constant, choose with "
      "torch.where, or give an input that it is computed of with --constants",
      "%s is not a constant", what);
}

/* ---- Functions ---- */

static const Onnx__AttributeProto *attribute_named(Onnx__AttributeProto *const *attributes, size_t count,
                                                   const char *name) {
  for (size_t i = 0; i < count; ++i)
    if (strcmp(attributes[i]->name, name) == 0) return attributes[i];
  return NULL;
}

/* A node of a function with attributes that refer to the function's replaced by those of the call, or their defaults.
 */
static const Onnx__NodeProto *with_attributes(zb_import *im, const Onnx__NodeProto *proto, const Onnx__NodeProto *call,
                                              const Onnx__FunctionProto *function) {
  bool any = false;
  for (size_t i = 0; i < proto->n_attribute; ++i)
    any = any || (proto->attribute[i]->ref_attr_name && *proto->attribute[i]->ref_attr_name);
  if (!any) return proto;
  Onnx__NodeProto *own = zb_import_take(im, sizeof *own);
  Onnx__AttributeProto **attributes = zb_import_take(im, proto->n_attribute * sizeof *attributes);
  if (!own || !attributes) return NULL;
  *own = *proto;
  own->attribute = attributes;
  own->n_attribute = 0;
  for (size_t i = 0; i < proto->n_attribute; ++i) {
    const char *name = proto->attribute[i]->ref_attr_name;
    if (!name || !*name) {
      attributes[own->n_attribute++] = proto->attribute[i];
      continue;
    }
    const Onnx__AttributeProto *given = attribute_named(call->attribute, call->n_attribute, name);
    if (!given) given = attribute_named(function->attribute_proto, function->n_attribute_proto, name);
    Onnx__AttributeProto *copy = given ? zb_import_take(im, sizeof *copy) : NULL;
    if (!given) continue; /* absent in the call: absent in the node */
    if (!copy) return NULL;
    *copy = *given;
    copy->name = proto->attribute[i]->name;
    attributes[own->n_attribute++] = copy;
  }
  return own;
}

static bool is_default_domain(const char *domain) { return !*domain || strcmp(domain, "ai.onnx") == 0; }

static const Onnx__FunctionProto *find_function(const zb_onnx *onnx, const Onnx__NodeProto *proto) {
  const Onnx__ModelProto *model = onnx->file.model;
  for (size_t i = 0; i < model->n_functions; ++i) {
    const Onnx__FunctionProto *f = model->functions[i];
    if (strcmp(f->name, proto->op_type) == 0 && strcmp(f->domain, proto->domain) == 0 &&
        strcmp(f->overload, proto->overload) == 0)
      return f;
  }
  return NULL;
}

/* Its nodes have the opset of the model, where what zbc reads of the default domain differs between opsets. */
static zb_result check_function(zb_import_node *n, const Onnx__FunctionProto *f) {
  const int64_t opset = zb_onnx_of(n->im)->opset;
  for (size_t i = 0; i < f->n_opset_import; ++i) {
    const Onnx__OperatorSetIdProto *set = f->opset_import[i];
    if (is_default_domain(set->domain) && set->version != opset)
      return zb_import_refuse(n, "export again, or inline it: onnx.inliner.inline_local_functions",
                              "the function has opset %lld, and the model %lld", (long long)set->version,
                              (long long)opset);
  }
  const Onnx__NodeProto *call = n->source;
  if (call->n_input > f->n_input || call->n_output > f->n_output)
    return zb_import_refuse(n, NULL, "it has %zu inputs and %zu outputs, and its function %zu and %zu", call->n_input,
                            call->n_output, f->n_input, f->n_output);
  return ZB_OK;
}

static zb_result inline_function(zb_import_node *n, const zb_onnx_scope *scope, const Onnx__FunctionProto *f) {
  zb_onnx_scope own;
  const Onnx__NodeProto *call = n->source;
  if (!check_function(n, f) || !zb_onnx_scope_open(n, scope, false, &own)) return ZB_FAIL;
  const Onnx__NodeProto **nodes = zb_import_take(n->im, f->n_node * sizeof *nodes);
  if (!nodes) return ZB_FAIL;
  own.function = f;
  own.nodes = (Onnx__NodeProto *const *)nodes;
  own.node_count = f->n_node;
  for (size_t i = 0; i < f->n_node; ++i)
    if (!(nodes[i] = with_attributes(n->im, f->node[i], call, f))) return ZB_FAIL;
  for (int i = 0; i < n->input_count; ++i)
    if (n->inputs[i] && !zb_onnx_scope_bind(n->im, &own, f->input[i], n->inputs[i])) return ZB_FAIL;
  if (!zb_onnx_add_scope(zb_onnx_of(n->im), &own)) return ZB_FAIL;
  for (size_t o = 0; o < call->n_output; ++o) {
    zb_import_value *made = zb_onnx_scope_find(n->im, &own, f->output[o]);
    if (!made) return zb_import_refuse(n, NULL, "output '%s' of its function is made by no node", f->output[o]);
    if (!zb_onnx_give_output(n, scope, o, made)) return ZB_FAIL;
  }
  return ZB_OK;
}

/* ---- The whole ---- */

static zb_result add_node(zb_onnx *onnx, const zb_onnx_scope *scope, const Onnx__NodeProto *proto) {
  zb_import *im = &onnx->core;
  zb_import_node *n = new_node(onnx, proto, scope);
  if (!n || !read_inputs(scope, n, proto)) return ZB_FAIL;
  if (!n->path) {
    n->path = inherited_path(n);
    n->location = zb_import_node_location(im, n->path, n->name, scope->number);
  }
  const Onnx__FunctionProto *function = find_function(onnx, proto);
  const bool control = is_default_domain(proto->domain) && zb_onnx_is_control(proto);
  if (!function && !control) return read_outputs(scope, n, proto);
  zb_import_node *call = zb_import_take(im, sizeof *call);
  if (!call) return ZB_FAIL;
  *call = *n;
  --im->node_count; /* what it stands for takes its place */
  return function ? inline_function(call, scope, function) : zb_onnx_add_control(call, scope);
}

zb_result zb_onnx_add_scope(zb_onnx *onnx, zb_onnx_scope *scope) {
  for (size_t k = 0; k < scope->node_count; ++k) {
    if (scope->depth == 0) scope->number = (unsigned)k;
    if (!add_node(onnx, scope, scope->nodes[k])) return ZB_FAIL;
  }
  return onnx->core.out_of_memory ? ZB_FAIL : ZB_OK;
}

/* Room for what functions and control flow add only where the model has some. */
static bool adds_nodes(const zb_onnx *onnx) {
  bool adds = onnx->file.model->n_functions > 0;
  for (size_t k = 0; k < onnx->graph->n_node && !adds; ++k)
    adds = zb_onnx_is_control(onnx->graph->node[k]);
  return adds;
}

zb_result zb_onnx_add_nodes(zb_onnx *onnx) {
  zb_import *im = &onnx->core;
  onnx->node_capacity = onnx->graph->n_node + (adds_nodes(onnx) ? ADDED_NODES_MAX : 0);
  im->nodes = zb_import_take(im, onnx->node_capacity * sizeof *im->nodes);
  zb_onnx_scope scope = {.prefix = "", .nodes = onnx->graph->node, .node_count = onnx->graph->n_node};
  return im->nodes ? zb_onnx_add_scope(onnx, &scope) : ZB_FAIL;
}
