/* The loss of a program, and whether it is a whole train step. Tests: test/ir/import/paddle. */
#include "ir/import/paddle/paddle.h"

#include <string.h>

/* ---- The loss of a step: where the backward pass begins ---- */

/* The value whose gradient an op fills with ones: full_like(loss, 1), or fill_constant of a variable NAME@GRAD. */
static zb_paddle_value *seeded_by(const zb_paddle *it, const zb_paddle_op *op) {
  const zb_paddle_program *p = &it->program;
  const size_t suffix = strlen("@GRAD");
  double number;
  const zb_paddle_value *out = zb_paddle_only_result(op);
  if (!out) return NULL;
  const size_t length = strlen(out->name);
  if (!zb_paddle_constant(it, out, &number) || number != 1) return NULL;
  if (p->is_pir) return strcmp(op->kind, "full_like") == 0 ? zb_paddle_input(op, "X") : NULL;
  if (strcmp(op->kind, "fill_constant") != 0 || length <= suffix || strcmp(out->name + length - suffix, "@GRAD") != 0)
    return NULL;
  for (size_t i = p->value_count; i-- > 0;) {
    const char *name = p->values[i]->name;
    if (strlen(name) == length - suffix && memcmp(name, out->name, length - suffix) == 0) return p->values[i];
  }
  return NULL;
}

/* Whether a gradient op reads a value that an op gives. */
static bool feeds_gradient(const zb_paddle *it, const zb_paddle_op *seed) {
  for (size_t i = 0; i < it->program.op_count; ++i) {
    const zb_paddle_op *op = &it->program.ops[i];
    const bool is_unknown = !op->row && !zb_ends_with(op->kind, "_grad");
    if (is_unknown || (op->row && op->row->class == ZB_PADDLE_UPDATE)) continue;
    if (zb_paddle_reads(op, seed->results[0])) return true;
  }
  return false;
}

static bool is_behind_loss(const zb_paddle_op *op) {
  return (op->row && op->row->class != ZB_PADDLE_FORWARD) || zb_ends_with(op->kind, "_grad");
}

/* From the last op on: the ones that the loss is made of, as targets are, begin no gradient. */
static zb_result find_seed(zb_paddle *it) {
  const zb_paddle_op *last = NULL;
  bool *in_loss = zb_import_take(&it->core, it->program.op_count + 1), has_gradients = false;
  if (!in_loss) return ZB_FAIL;
  for (size_t i = it->program.op_count; i-- > 0;) {
    const zb_paddle_op *op = &it->program.ops[i];
    has_gradients = has_gradients || is_behind_loss(op);
    if (in_loss[i]) {
      zb_paddle_mark_producers(&it->program, op, in_loss);
      continue;
    }
    zb_paddle_value *loss = has_gradients ? seeded_by(it, op) : NULL;
    if (!loss || !loss->producer || !feeds_gradient(it, op)) continue;
    if (it->loss && it->loss != loss)
      return zb_paddle_refuse(it, last, "minimize one loss: their sum", "gradients begin at '%s' and at '%s' (op %d)",
                              loss->name, it->loss->name, op->number);
    it->loss = loss;
    in_loss[loss->producer - it->program.ops] = true;
    last = op;
  }
  return ZB_OK;
}

/* ---- The loss of a program without a backward pass ---- */

static bool may_be_loss(const zb_paddle_value *value) {
  return value->producer && value->is_typed && value->shape.dtype == ZB_F32 && value->is_static &&
         zb_shape_elements(&value->shape) == 1 && value->shape.rank <= 1;
}

static bool is_read(const zb_paddle *it, const zb_paddle_value *value) {
  for (size_t i = 0; i < it->program.op_count; ++i) {
    const zb_paddle_op *op = &it->program.ops[i];
    if (strncmp(op->kind, "fetch", 5) == 0 || strcmp(op->kind, "shadow_output") == 0) continue;
    if (zb_paddle_reads(op, value)) return true;
  }
  return false;
}

/* Per value: whether it depends on a parameter. NULL after out of memory. */
static bool *find_reached(zb_paddle *it) {
  const zb_paddle_program *p = &it->program;
  bool *reached = zb_import_take(&it->core, p->value_count + 1);
  for (size_t i = 0; reached && i < p->value_count; ++i)
    reached[p->values[i]->number] = p->values[i]->is_parameter;
  for (size_t i = 0; reached && i < p->op_count; ++i) {
    const zb_paddle_op *op = &p->ops[i];
    bool any = false;
    for (int k = 0; k < op->operand_count; ++k)
      any = any || (op->operands[k] && reached[op->operands[k]->number]);
    for (int k = 0; any && k < op->result_count; ++k)
      if (op->results[k]) reached[op->results[k]->number] = true;
  }
  return reached;
}

/* What depends on no parameter, as a number that nothing reads, is no loss where something does. */
static zb_result find_unread(zb_paddle *it) {
  zb_text list = {0};
  int found = 0;
  const bool *reached = find_reached(it);
  if (!reached) return ZB_FAIL;
  for (int is_reached = 1; found == 0 && is_reached >= 0; --is_reached)
    for (size_t i = 0; i < it->program.value_count; ++i) {
      zb_paddle_value *value = it->program.values[i];
      if (reached[value->number] != is_reached || !may_be_loss(value) || is_read(it, value)) continue;
      zb_text_add(&list, "%s'%s'", found++ ? ", " : "", value->name);
      it->loss = value;
    }
  zb_result result = ZB_OK;
  if (found == 0)
    result = zb_import_fail(&it->core,
                            "save a program whose last op gives the mean loss of the micro-batch; --inference compiles "
                            "one without a loss, to be evaluated alone",
                            "no scalar float32 to minimize is left over in the program");
  else if (found > 1)
    result = zb_import_fail(&it->core, "say which one with --loss NAME", "%d values may be the loss: %s", found,
                            list.failed ? "" : list.data);
  zb_text_deinit(&list);
  return result;
}

/* ---- Names ---- */

/* The value of a name that was written last; NULL: there is none. */
static zb_paddle_value *find_value(const zb_paddle *it, const char *name) {
  for (size_t i = it->program.value_count; i-- > 0;)
    if (strcmp(it->program.values[i]->name, name) == 0 && it->program.values[i]->producer) return it->program.values[i];
  return NULL;
}

static zb_result find_loss(zb_paddle *it) {
  const char *wanted = it->core.params->loss;
  if (wanted && !(it->loss = find_value(it, wanted)))
    return zb_import_fail(&it->core,
                          it->program.is_pir
                              ? "values of PIR have no names: those of fetch ops, and KIND:NUMBER of the op "
                                "that gives it, as in mean:310, are understood"
                              : "it is the name of a variable that an op writes",
                          "--loss: the program has no value named '%s'", wanted);
  if (it->loss) return ZB_OK;
  return find_seed(it) && (it->loss || find_unread(it)) ? ZB_OK : ZB_FAIL;
}

/* The outputs that --keep-output names; what is fetched where there is no loss and none is named. */
static zb_result find_outputs(zb_paddle *it) {
  const zb_import_params *p = it->core.params;
  it->outputs =
      zb_import_take(&it->core, ((size_t)p->output_count + it->program.value_count + 1) * sizeof *it->outputs);
  if (!it->outputs) return ZB_FAIL;
  for (int i = 0; i < p->output_count; ++i) {
    zb_paddle_value *value = find_value(it, p->outputs[i]);
    if (!value)
      return zb_import_fail(&it->core, NULL, "--keep-output: the program has no value named '%s'", p->outputs[i]);
    if (value == it->loss)
      return zb_import_fail(&it->core, "leave it out: the loss is computed in any case",
                            "--keep-output: '%s' is the loss", value->name);
    it->outputs[it->output_count++] = value;
  }
  for (size_t i = 0; i < it->program.value_count && p->inference && !p->output_count; ++i)
    if (it->program.values[i]->is_fetched && it->program.values[i]->producer)
      it->outputs[it->output_count++] = it->program.values[i];
  if (it->output_count || it->loss) return ZB_OK;
  return zb_import_fail(&it->core, "name them with --keep-output", "the program fetches no outputs");
}

zb_result zb_paddle_read_step(zb_paddle *it) {
  const zb_import_params *p = it->core.params;
  for (size_t i = 0; i < it->program.op_count; ++i) {
    const zb_paddle_row *row = it->program.ops[i].row;
    it->is_step = it->is_step || (row && row->class == ZB_PADDLE_UPDATE && !p->inference);
  }
  if (!p->inference && !find_loss(it)) return ZB_FAIL;
  if (!find_outputs(it)) return ZB_FAIL;
  zb_paddle_mark_loss(it);
  if (!it->is_step || p->has_optimizer) return ZB_OK;
  double *decays;
  return zb_paddle_check_backward(it, &decays) && zb_paddle_read_optimizer(it, decays) ? ZB_OK : ZB_FAIL;
}
