/* The order of an import, and the memory that lives as long as it. Tests: test/ir/import. */
#include "ir/import/import.h"
#include "ir/nesting.h"

#include <stdio.h>
#include <string.h>

/* ---- Buffers ---- */

zb_result zb_import_add_buffer(zb_import *im, zb_import_value *initial, zb_import_value *updated) {
  for (size_t i = 0; i < im->buffer_count; ++i)
    if (im->buffers[i].initial == initial)
      return zb_import_fail(im,
                            "export with tools/export_onnx.py: of a module that is called more than once it writes one "
                            "update after the other",
                            "the buffer '%s' is updated twice: to '%s' and to '%s'", initial->name,
                            im->buffers[i].updated->name, updated->name);
  if (!zb_arena_grow(&im->memory, (void **)&im->buffers, &im->buffer_capacity, im->buffer_count + 1,
                     sizeof *im->buffers))
    return zb_import_memory(im);
  im->buffers[im->buffer_count++] = (zb_import_buffer){initial, updated};
  initial->role = ZB_ROLE_BUFFER;
  return ZB_OK;
}

/* ---- Marks ---- */

void zb_import_mark_needed(zb_import *im, const zb_import_value *loss) {
  if (loss && loss->producer) loss->producer->needed = true;
  for (int i = 0; i < im->output_count; ++i)
    if (im->outputs[i]->producer) im->outputs[i]->producer->needed = true;
  for (size_t i = 0; i < im->buffer_count; ++i)
    if (im->buffers[i].updated->producer) im->buffers[i].updated->producer->needed = true;
  for (zb_import_node *n = im->nodes + im->node_count; n-- > im->nodes;) {
    for (int i = 0; n->needed && i < n->input_count; ++i) {
      if (n->inputs[i] && n->inputs[i]->producer) n->inputs[i]->producer->needed = true;
    }
  }
}

static bool is_in(unsigned mask, int input) { return mask >> (input < 31 ? input : 31) & 1; }

void zb_import_mark_values(zb_import *im, zb_import_value *loss) {
  for (size_t i = 0; i < im->value_count; ++i)
    im->values[i]->activation = im->values[i]->kind == ZB_VALUE_INPUT;
  for (zb_import_node *n = im->nodes; n < im->nodes + im->node_count; ++n) {
    bool any = false;
    for (int i = 0; n->needed && i < n->input_count; ++i) {
      if (!n->inputs[i]) continue;
      n->inputs[i]->read = true;
      any = any || n->inputs[i]->activation;
    }
    for (int o = 0; any && o < n->output_count; ++o)
      if (n->outputs[o]) n->outputs[o]->activation = true;
  }
  if (loss) loss->reached = true;
  for (zb_import_node *n = im->nodes + im->node_count; n-- > im->nodes;) {
    bool any = false;
    for (int o = 0; n->needed && o < n->output_count; ++o)
      any = any || (n->outputs[o] && n->outputs[o]->reached);
    for (int i = 0; any && i < n->input_count; ++i)
      if (n->inputs[i] && is_in(n->gradient, i)) n->inputs[i]->reached = true;
  }
}

bool zb_import_carries(const zb_import_node *n, unsigned inputs, const bool *marked) {
  for (int i = 0; i < n->input_count; ++i)
    if (n->inputs[i] && is_in(inputs, i) && marked[n->inputs[i]->number]) return true;
  return false;
}

/* ---- Nodes ---- */

static bool is_type_only(const zb_import_node *n, int input) { return input < 31 && (n->op->types >> input & 1); }

static bool is_foldable(const zb_import_node *n) {
  if (n->op->fold == ZB_FOLD_NEVER) return false;
  for (int i = 0; i < n->input_count; ++i)
    if (!is_type_only(n, i) && n->inputs[i] && !zb_import_known(n, i)) return false;
  return !n->im->failed;
}

/* What folding reads, before it does. */
static zb_result charge_inputs(zb_import_node *n) {
  uint64_t bytes = 0;
  for (int i = 0; n->op->fold != ZB_FOLD_VIEW && i < n->input_count; ++i) {
    const zb_known *c = is_type_only(n, i) ? NULL : zb_import_known(n, i);
    if (c) bytes += (uint64_t)zb_shape_bytes(&c->shape);
  }
  return zb_known_charge(n->im, bytes);
}

static zb_result import_node(zb_import_node *n) {
  zb_import *im = n->im;
  im->builder.location = n->location;
  n->folds = is_foldable(n);
  if (im->failed || (n->folds && !charge_inputs(n))) return ZB_FAIL;
  if (!n->folds && n->op->fold == ZB_FOLD_ONLY)
    return zb_import_refuse(n, "its inputs must not depend on the inputs of the model",
                            "it is supported on constants only");
  if (!n->op->run(n) || im->failed || im->builder.failed ||
      (im->format->rules && !n->folds && !zb_import_apply_rule(n, false))) {
    im->failed = true;
    return ZB_FAIL;
  }
  for (int o = 0; o < n->output_count; ++o)
    if (n->outputs[o] && !n->outputs[o]->defined)
      return zb_import_refuse(n, "leave the output out", "an output of it is not supported");
  return ZB_OK;
}

bool zb_import_fold_node(zb_import_node *n) {
  n->im->builder.location = n->location;
  n->folds = is_foldable(n) || (n->op->fold == ZB_FOLD_NEVER && n->input_count == 1 && zb_import_known(n, 0));
  return n->folds && charge_inputs(n) && n->op->run(n) && !n->im->failed;
}

zb_result zb_import_nodes(zb_import *im) {
  for (zb_import_node *n = im->nodes; n < im->nodes + im->node_count; ++n)
    if (n->needed && !import_node(n)) return ZB_FAIL;
  return ZB_OK;
}

/* ---- What a reader checks ---- */

zb_result zb_import_check_nodes(zb_import *im, zb_result (*check)(zb_import_node *n)) {
  enum { REPORTS_MAX = 8 };
  const char *reported[REPORTS_MAX];
  int reports = 0;
  for (zb_import_node *n = im->nodes; n < im->nodes + im->node_count && reports < REPORTS_MAX; ++n) {
    bool known = !n->needed;
    for (int i = 0; i < reports && !known; ++i)
      known = strcmp(reported[i], n->kind) == 0;
    if (!known && !check(n)) reported[reports++] = n->kind;
  }
  return reports ? ZB_FAIL : ZB_OK;
}

zb_result zb_import_check_counts(zb_import_node *n, int outputs, const char *input_word, const char *output_word) {
  const zb_import_op *op = n->op;
  if (n->input_count < op->min_inputs || (op->max_inputs >= 0 && n->input_count > op->max_inputs))
    return zb_import_refuse(n, NULL, "it has %d %s, expected %d to %d", n->input_count, input_word, op->min_inputs,
                            op->max_inputs);
  if (outputs < 1 || (op->max_outputs >= 0 && outputs > op->max_outputs))
    return zb_import_refuse(n, NULL, "it has %d %s, expected 1 to %d", outputs, output_word, op->max_outputs);
  return ZB_OK;
}

zb_result zb_import_check_name(zb_import_node *n, const char *what, const char *name, const char *none) {
  char hint[256];
  if (zb_word_index(n->op->attributes, name) >= 0) return ZB_OK;
  snprintf(hint, sizeof hint, *n->op->attributes ? "understood: %s" : "%s",
           *n->op->attributes ? n->op->attributes : none);
  return zb_import_refuse(n, hint, "%s '%s' is not understood", what, name);
}

zb_result zb_import_check_output(zb_import_node *n, int output, const zb_shape *declared) {
  char made[96], wanted[96];
  zb_shape got;
  const zb_import_value *out = n->outputs[output];
  if (out->known)
    got = out->known->shape;
  else if (!out->value.ptr || !zb_type_shape(mlirValueGetType(out->value), &got))
    return ZB_OK;
  return zb_shape_equal(declared, &got) ||
         zb_import_refuse(n, NULL, "its result %d is a %s, and the file declares %s", output, zb_shape_text(&got, made),
                          zb_shape_text(declared, wanted));
}

/* ---- The whole ---- */

static void deinit(zb_import *im) {
  zb_arena_deinit(&im->memory);
  zb_store_destroy(im->weights);
  zb_store_destroy(im->constants);
  if (im->builder.block.ptr) mlirBlockDestroy(im->builder.block);
}

static zb_status init(zb_import *im) {
  im->fold_limit = im->params->fold_limit;
  if (!im->fold_limit) im->fold_limit = ZB_IMPORT_FOLD_BYTES + ZB_IMPORT_FOLD_OF_FILE * im->source_bytes;
  im->names = zb_arena_map(&im->memory);
  im->literals = zb_arena_map(&im->memory);
  im->weights = zb_store_create();
  im->constants = zb_store_create();
  im->builder = zb_builder_at_end(mlirBlockCreate(0, NULL, NULL), zb_import_file_location(im));
  return !im->memory.failed && im->weights && im->constants ? NULL : ZB_OUT_OF_MEMORY();
}

zb_status zb_import_run(zb_import *im, zb_result (*graph)(zb_import *im, zb_module *out), zb_module *out) {
  *out = (zb_module){.context = im->context};
  zb_status status = init(im);
  if (!status) {
    int diagnostics = 0;
    MlirDiagnosticHandlerID counter = zb_count_diagnostics(im->context, &diagnostics);
    if (!graph(im, out))
      status = im->out_of_memory ? ZB_OUT_OF_MEMORY() : ZB_ERROR(INVALID, "'%s' was not imported", im->params->path);
    mlirContextDetachDiagnosticHandler(im->context, counter);
    if (zb_status_code(status) == ZB_INVALID && diagnostics) status = zb_status_set_told(status);
  }
  if (!status) {
    out->constants = im->constants;
    im->constants = NULL;
    if (im->has_weights) out->weights = im->weights, im->weights = NULL;
  } else if (out->module.ptr) {
    mlirModuleDestroy(out->module);
    out->module = (MlirModule){NULL};
  }
  deinit(im);
  return status;
}
