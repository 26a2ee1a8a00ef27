/* The ops that the loss and kept outputs need, as nodes of the core; what the program is given becomes inputs and
 * parameters. Tests: test/ir/import/paddle. */
#include "ir/import/paddle/paddle.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- What the loss needs ---- */

static void mark_producer(zb_paddle_value *value) {
  if (value && value->producer) value->producer->in_loss = true;
}

/* Ops are in the order in which they run: the last first reaches all. */
void zb_paddle_mark_loss(zb_paddle *it) {
  mark_producer(it->loss);
  for (int i = 0; i < it->output_count; ++i)
    mark_producer(it->outputs[i]);
  for (size_t i = it->program.op_count; i-- > 0;) {
    const zb_paddle_op *op = &it->program.ops[i];
    if (!op->in_loss) continue;
    for (int k = 0; k < op->operand_count; ++k)
      mark_producer(op->operands[k]);
  }
}

/* ---- Values ---- */

/* Whether the step updates a value: it is the Param of an update. */
static bool is_updated(const zb_paddle *it, const zb_paddle_value *value) {
  for (size_t i = 0; i < it->program.op_count; ++i) {
    const zb_paddle_op *op = &it->program.ops[i];
    if (op->row && op->row->class == ZB_PADDLE_UPDATE && zb_paddle_input(op, "Param") == value) return true;
  }
  return false;
}

/* A value that the program is given: a parameter, a persistable constant, or an input. */
static zb_result make_given(zb_paddle *it, zb_paddle_value *value) {
  const bool is_initial = value->is_parameter || value->is_persistable;
  if (zb_import_find(&it->core, value->name))
    return zb_import_fail(&it->core, NULL, "two values that the program is given are named '%s'", value->name);
  zb_import_value *core = zb_import_value_new(&it->core, value->name, is_initial ? ZB_VALUE_INITIAL : ZB_VALUE_INPUT);
  if (!core) return ZB_FAIL;
  value->core = core;
  core->index = value->number;
  core->type = value->shape;
  core->is_typed = value->is_typed && value->is_static;
  core->type_text = value->is_typed && !value->is_static ? "open shape" : value->type_text;
  core->is_listed = true;
  const bool is_trained = it->is_step ? is_updated(it, value) : value->is_parameter && !value->stops_gradient;
  core->role = is_trained ? ZB_ROLE_TRAINED : ZB_ROLE_FROZEN;
  return ZB_OK;
}

static zb_result settle_value(zb_paddle *it, zb_paddle_value *value, bool is_written) {
  if (!value || value->core) return ZB_OK;
  if (!is_written && !value->producer) return make_given(it, value);
  value->core = zb_import_value_new(&it->core, "", ZB_VALUE_NODE);
  if (value->core) value->core->index = value->number;
  return value->core ? ZB_OK : ZB_FAIL;
}

static zb_result settle_values(zb_paddle *it, zb_paddle_value *const *values, int count, bool is_written) {
  for (int k = 0; k < count; ++k)
    if (!settle_value(it, values[k], is_written)) return ZB_FAIL;
  return ZB_OK;
}

/* ---- Nodes ---- */

/* Values of slots, one after another, in the order of the row's slots; those that the row does not name behind. */
static zb_result flatten(zb_import *im, const zb_paddle_slot *slots, int count, const char *order,
                         zb_import_value ***out, int *out_count) {
  size_t room = 1;
  for (int i = 0; i < count; ++i)
    room += (size_t)slots[i].count;
  for (const char *c = order; *c; ++c)
    room += *c == ' ';
  *out = zb_import_take(im, (room + 1) * sizeof **out);
  if (!*out) return ZB_FAIL;
  for (const char *at = order; *at;) {
    const size_t length = strcspn(at, " *");
    bool found = false;
    for (int i = 0; i < count && !found; ++i) {
      found = slots[i].name && strlen(slots[i].name) == length && memcmp(slots[i].name, at, length) == 0;
      for (int k = 0; found && k < slots[i].count; ++k)
        (*out)[(*out_count)++] = slots[i].values[k] ? slots[i].values[k]->core : NULL;
      found = found && slots[i].count > 0;
    }
    if (!found) ++*out_count; /* absent */
    at += strcspn(at, " ");
    at += strspn(at, " ");
  }
  while (*out_count > 0 && !(*out)[*out_count - 1])
    --*out_count;
  return ZB_OK;
}

/* In the order of the file, for an op without a row. */
static zb_result flatten_plainly(zb_import *im, zb_paddle_value *const *values, int count, zb_import_value ***out,
                                 int *out_count) {
  *out = zb_import_take(im, ((size_t)count + 1) * sizeof **out);
  for (int k = 0; *out && k < count; ++k)
    if (values[k]) (*out)[(*out_count)++] = values[k]->core;
  return *out ? ZB_OK : ZB_FAIL;
}

/* A node is named by the variable that it writes, as people see it in the program; in PIR by its kind and number. */
static const char *name_of(const zb_paddle_op *op) {
  for (int i = 0; i < op->output_count; ++i)
    for (int k = 0; k < op->outputs[i].count; ++k)
      if (op->outputs[i].values[k] && op->outputs[i].values[k]->core &&
          (!op->outputs[i].name || strcmp(op->outputs[i].name, "XShape") != 0))
        return op->outputs[i].values[k]->name;
  return "";
}

/* "GPT.Block (tmp_4)" over the file, with the number of the op as column. */
static MlirLocation place_of(const zb_paddle *it, const zb_paddle_op *op) {
  return zb_import_node_location(&it->core, op->path, name_of(op), (unsigned)op->number);
}

zb_result zb_paddle_refuse(zb_paddle *it, const zb_paddle_op *op, const char *hint, const char *format, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  if (it->core.failed) return ZB_FAIL; /* the first fault of an op is enough */
  it->core.failed = true;
  return zb_location_error(place_of(it, op), hint, "%s (op %d): %s", op->kind, op->number, text);
}

static zb_result make_node(zb_paddle *it, zb_paddle_op *op) {
  zb_import *im = &it->core;
  zb_import_node *n = &im->nodes[im->node_count++];
  *n = (zb_import_node){.im = im,
                        .b = &im->builder,
                        .kind = op->kind,
                        .name = name_of(op),
                        .path = op->path,
                        .location = place_of(it, op),
                        .op = op->row ? &op->row->op : NULL,
                        .gradient = op->row ? op->row->op.gradient : 0,
                        .source = op};
  op->node = n;
  const bool made =
      op->row ? flatten(im, op->inputs, op->input_count, op->row->inputs, &n->inputs, &n->input_count) &&
                    flatten(im, op->outputs, op->output_count, op->row->outputs, &n->outputs, &n->output_count)
              : flatten_plainly(im, op->operands, op->operand_count, &n->inputs, &n->input_count) &&
                    flatten_plainly(im, op->results, op->result_count, &n->outputs, &n->output_count);
  for (int i = 0; made && i < n->output_count; ++i)
    if (n->outputs[i]) n->outputs[i]->producer = n;
  return made ? ZB_OK : ZB_FAIL;
}

zb_result zb_paddle_make_graph(zb_paddle *it) {
  zb_import *im = &it->core;
  im->nodes = zb_import_take(im, (it->program.op_count + 1) * sizeof *im->nodes);
  if (!im->nodes) return ZB_FAIL;
  for (size_t i = 0; i < it->program.fed_count; ++i)
    if (!settle_value(it, it->program.fed[i], false)) return ZB_FAIL;
  for (size_t i = 0; i < it->program.op_count; ++i) {
    zb_paddle_op *op = &it->program.ops[i];
    if (!op->in_loss) continue;
    if (!settle_values(it, op->operands, op->operand_count, false) ||
        !settle_values(it, op->results, op->result_count, true) || !make_node(it, op))
      return ZB_FAIL;
  }
  return ZB_OK;
}

zb_result zb_paddle_find_buffers(zb_paddle *it) {
  static const char *const old[] = {"Mean", "Variance"}, *const updated[] = {"MeanOut", "VarianceOut"};
  for (size_t i = 0; i < it->program.op_count; ++i) {
    const zb_paddle_op *op = &it->program.ops[i];
    if (!op->node || !op->row || op->row->build != zb_paddle_batch_norm) continue;
    for (int k = 0; k < 2 && zb_paddle_batch_norm_trains(op->node); ++k) {
      const zb_paddle_value *before = zb_paddle_input(op, old[k]), *after = zb_paddle_output(op, updated[k]);
      if (!before || !before->core || before->core->kind != ZB_VALUE_INITIAL || !after || !after->core)
        return zb_paddle_refuse(it, op, "call a layer of batch normalization once", "%s is no variable of the program",
                                old[k]);
      if (!zb_import_add_buffer(&it->core, before->core, after->core)) return ZB_FAIL;
    }
  }
  return it->core.failed ? ZB_FAIL : ZB_OK;
}

/* ---- Where gradients stop ---- */

zb_result zb_paddle_mark_stops(zb_paddle *it) {
  zb_import *im = &it->core;
  bool *carries = zb_import_take(im, im->value_count * sizeof *carries + 1);
  for (size_t i = 0; carries && i < im->value_count; ++i)
    carries[i] = im->values[i]->role == ZB_ROLE_TRAINED && im->values[i]->kind == ZB_VALUE_INITIAL;
  for (size_t i = 0; carries && i < it->program.op_count; ++i) {
    zb_paddle_op *op = &it->program.ops[i];
    if (!op->node || !op->node->needed || !zb_import_carries(op->node, op->node->gradient, carries)) continue;
    for (int k = 0; k < op->result_count; ++k) {
      zb_paddle_value *value = op->results[k];
      if (!value || !value->core) continue;
      value->is_stopped = value->stops_gradient;
      carries[value->core->number] = !value->stops_gradient;
    }
  }
  return carries ? ZB_OK : ZB_FAIL;
}
