/* zb_import_paddle: a program of Paddle, ProgramDesc or PIR JSON, becomes a module with one function on one
 * micro-batch.
 *
 *   open("main.pb", "wb").write(program.desc.serialize_to_string())                    ProgramDesc; paddle.static.save
 *   paddle.base.core.serialize_pir_program(program, "main.json", True, False, True)    PIR JSON; paddle.save
 *
 * A program is a loss, or a whole train step with append_backward's gradients and an optimizer. Of a step the loss and
 * the optimizer are taken, each gradient op is held against the forward op that it is the gradient of, and zb-autodiff
 * makes them again. Values of parameters come from .pdiparams beside the file, the startup program, or --weights.
 * Tests: test/ir/import/paddle, test/ir/import/paddle_mutate_test.c, test/e2e/paddle.py. */
#include "ir/import/paddle/paddle.h"
#include "ir/import/importers.h"

#include <stdio.h>
#include <string.h>

/* ---- Values ---- */

/* A value from the file beside the program; else what the startup program fills it with; else none. */
static zb_result load(zb_import *im, const zb_import_value *value, zb_shape *shape, const void **data) {
  zb_paddle *it = zb_paddle_of(im);
  const zb_stored_tensor *tensor = it->values ? zb_store_find(it->values, value->name) : NULL;
  double number;
  if (!value->is_typed)
    return zb_import_fail(im, im->format->types_hint, "'%s' has the type %s, which is not supported", value->name,
                          value->type_text);
  *shape = value->type;
  *data = tensor ? tensor->data : NULL;
  if (tensor || it->values || !it->fills) return ZB_OK;
  zb_known *known = zb_paddle_initial(it, value->name, &number) ? zb_known_new(im, shape) : NULL;
  for (int64_t i = 0; known && i < known->elements; ++i)
    zb_known_set_real(known, i, number);
  *data = known ? known->data : NULL;
  return im->failed ? ZB_FAIL : ZB_OK;
}

static const zb_import_format format = {
    .initial = "parameter",
    .types_hint = "float32 is supported, with dimensions that are known: paddle.static.data(name, [4, 32], ...); zbc "
                  "--precision bf16 then computes in bf16",
    .parameters_hint = "parameters of the program whose stop_gradient is False are trained; or name them with --train",
    .load = load,
};

/* Whether the startup program says the values of all parameters: then it is taken at its word. Else they are drawn. */
static bool fills_all(const zb_paddle *it) {
  double number;
  int count = 0;
  for (size_t i = 0; i < it->core.value_count; ++i) {
    const zb_import_value *value = it->core.values[i];
    if (value->kind != ZB_VALUE_INITIAL) continue;
    if (!zb_paddle_initial(it, value->name, &number)) return false;
    ++count;
  }
  return count > 0;
}

/* ---- Nodes ---- */

static bool names_slot(const char *slots, const char *name) {
  char starred[80];
  snprintf(starred, sizeof starred, "%.70s*", name);
  return zb_word_index(slots, name) >= 0 || zb_word_index(slots, starred) >= 0;
}

/* Every attribute and operand must be one that the row reads. */
static zb_result check_reads(zb_import_node *n) {
  const zb_paddle_op *op = zb_paddle_source(n);
  char hint[256];
  for (int i = 0; i < op->attribute_count; ++i) {
    const char *name = op->attributes[i].name;
    if (!zb_paddle_is_ignored(name) && !zb_import_check_name(n, "attribute", name, "none is understood"))
      return ZB_FAIL;
  }
  for (int s = 0; s < op->input_count; ++s) {
    const zb_paddle_slot *slot = &op->inputs[s];
    if (slot->count == 0 || !slot->values[0] || (slot->name && names_slot(op->row->inputs, slot->name))) continue;
    snprintf(hint, sizeof hint, "understood: %s", op->row->inputs);
    return zb_import_refuse(n, hint, "operand %d%s%s is not understood", s, slot->name ? ", " : "",
                            slot->name ? slot->name : "");
  }
  return ZB_OK;
}

static zb_result check_node(zb_import_node *n) {
  const zb_paddle_op *op = zb_paddle_source(n);
  if (op->row && op->row->class == ZB_PADDLE_FORWARD) return check_reads(n);
  zb_text hint = {0};
  if (op->row)
    zb_text_add(&hint, "name another loss with --loss");
  else
    zb_paddle_unknown_hint(n->kind, &hint);
  zb_import_refuse(n, hint.data,
                   op->row ? "the loss depends on this op of the backward pass"
                           : "this op is not supported (op %d of the program)",
                   op->number);
  zb_text_deinit(&hint);
  return ZB_FAIL;
}

/* ---- The whole ---- */

/* A loss of one element is a scalar: so older versions of Paddle have it. */
static zb_result flatten_loss(zb_import *im, zb_import_value *loss) {
  zb_shape shape;
  if (!loss || !loss->value.ptr || !zb_type_shape(mlirValueGetType(loss->value), &shape)) return ZB_OK;
  if (shape.rank == 0 || zb_shape_elements(&shape) != 1) return ZB_OK;
  loss->value = zb_import_reshaped(&im->builder, loss->value, shape.dims, 0);
  return loss->value.ptr ? ZB_OK : ZB_FAIL;
}

static zb_result import_graph(zb_import *im, zb_module *out) {
  zb_paddle *it = zb_paddle_of(im);
  im->is_listed = true;
  if (!zb_paddle_read_program(im, &it->source, &it->program) || !zb_paddle_read_startup(it) ||
      !zb_paddle_open_values(it) || !zb_paddle_read_step(it) || !zb_paddle_make_graph(it) ||
      !zb_paddle_find_buffers(it))
    return ZB_FAIL;
  zb_import_value *loss = it->loss ? it->loss->core : NULL;
  if (loss && !*loss->name) loss->name = it->program.is_pir && !it->loss->is_fetched ? "loss" : it->loss->name;
  im->outputs = zb_import_take(im, ((size_t)it->output_count + 1) * sizeof *im->outputs);
  for (int i = 0; im->outputs && i < it->output_count; ++i) {
    im->outputs[im->output_count++] = it->outputs[i]->core;
    it->outputs[i]->core->name = it->outputs[i]->name;
  }
  if (!im->outputs) return ZB_FAIL;
  zb_import_mark_needed(im, loss);
  if (!zb_import_check_nodes(im, check_node)) return ZB_FAIL;
  zb_import_mark_values(im, loss);
  if (!zb_import_choose_parameters(im) || !zb_paddle_mark_stops(it) ||
      !zb_import_inputs(im, "float32, int64, int32 and bool are supported, with dimensions that are known, at most 8: "
                            "paddle.static.data(name, [4, 32], ...)"))
    return ZB_FAIL;
  it->fills = !it->values && fills_all(it);
  im->has_weights = it->values || it->fills;
  if (!zb_import_nodes(im) || !flatten_loss(im, loss) || !zb_import_finish(im, loss, out)) return ZB_FAIL;
  if (!it->update_count) return ZB_OK;
  return zb_import_mark_optimizer(im, it->updates, it->update_count, mlirModuleGetOperation(out->module));
}

zb_status zb_import_paddle(MlirContext context, const zb_import_params *params, zb_module *out) {
  *out = (zb_module){.context = context};
  zb_paddle it = {.core = {.context = context, .params = params, .format = &format},
                  .program = {.path = params->path},
                  .startup = {.path = params->path}};
  ZB_TRY(zb_import_source_open(params->path, NULL, &it.source));
  it.core.source_bytes = it.source.bytes;
  zb_status status = zb_import_run(&it.core, import_graph, out);
  zb_import_source_close(&it.source);
  zb_store_destroy(it.values);
  return status;
}
