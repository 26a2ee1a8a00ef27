/* The settings of update ops: sgd, momentum, adam, adamw. Rates are those of the startup program. States begin as zbc
 * begins them: moments at 0, powers of beta at beta. Tests: test/ir/import/paddle, test/e2e/paddle.py. */
#include "ir/import/paddle/paddle.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define OPTIMIZER_HINT                                                                                                 \
  "name the optimizer with --optimizer: gradients and update of the file are then left out, and zbc makes its own"

typedef struct reader {
  zb_paddle *it;
  const zb_paddle_op *op;
} reader;

/* A number in an attribute, or in the operand of a slot. */
static double number(reader *r, const char *name, const char *slot, double fallback) {
  double out = fallback;
  const zb_paddle_value *value = slot ? zb_paddle_input(r->op, slot) : NULL;
  if (value) {
    if (!zb_paddle_constant(r->it, value, &out))
      zb_paddle_refuse(r->it, r->op, OPTIMIZER_HINT, "'%s' (%s) is not known before the program runs", value->name,
                       slot);
    return out;
  }
  return zb_paddle_number_in(r->op, name, &out) ? out : fallback;
}

static double rate(reader *r) {
  double out = NAN;
  const zb_paddle_value *value = zb_paddle_input(r->op, "LearningRate");
  if (value && zb_paddle_constant(r->it, value, &out)) return out;
  zb_paddle_refuse(
      r->it, r->op,
      value && value->producer
          ? "rates that the program computes are not followed: name the optimizer with --optimizer, and give zb-run "
            "--lr-schedule"
          : "the startup program says it: give its file with --startup, or name the optimizer with --optimizer",
      "the learning rate '%s' is not known", value ? value->name : "?");
  return NAN;
}

/* Where a state begins, as far as the startup program says. */
static void check_state(reader *r, const char *slot, double wanted) {
  const zb_paddle_value *value = zb_paddle_input(r->op, slot);
  double begins;
  if (!value || value->producer || !zb_paddle_initial(r->it, value->name, &begins)) return;
  if (fabs(begins - wanted) > 1e-6 * fabs(wanted))
    zb_paddle_refuse(r->it, r->op, OPTIMIZER_HINT, "'%s' begins at %g, and zbc begins at %g", value->name, begins,
                     wanted);
}

/* What changes the update, and zbc has no word for. */
static void check_plain(reader *r) {
  static const char *const flags[] = {"lazy_mode", "multi_precision", "amsgrad", "use_global_beta_pow"};
  static const char *const slots[] = {"MasterParam", "SkipUpdate", "Moment2Max", "Beta1Tensor", "Beta2Tensor"};
  for (size_t i = 0; i < sizeof flags / sizeof *flags; ++i) {
    const zb_paddle_attribute *a = zb_paddle_find(r->op, flags[i]);
    if (a && a->integer)
      zb_paddle_refuse(r->it, r->op, OPTIMIZER_HINT, "its attribute '%s' is set, which zbc has not", flags[i]);
  }
  for (size_t i = 0; i < 3; ++i)
    if (zb_paddle_input(r->op, slots[i]))
      zb_paddle_refuse(r->it, r->op, OPTIMIZER_HINT, "its operand %s is not supported", slots[i]);
  const char *const ones[] = {"lr_ratio", "rescale_grad"};
  for (int i = 0; i < 2; ++i)
    if (number(r, ones[i], NULL, 1) != 1)
      zb_paddle_refuse(r->it, r->op, OPTIMIZER_HINT, "its attribute '%s' is not 1", ones[i]);
}

static void read_adam(reader *r, zb_import_update *out) {
  const bool decouples = strcmp(r->op->row->op.argument, "adamw") == 0;
  const zb_paddle_attribute *with = zb_paddle_find(r->op, "with_decay");
  out->kind = decouples ? ZB_OPTIMIZER_ADAMW : ZB_OPTIMIZER_ADAM;
  out->beta1 = number(r, "beta1", "Beta1Tensor", 0.9);
  out->beta2 = number(r, "beta2", "Beta2Tensor", 0.999);
  out->eps = number(r, "epsilon", "EpsilonTensor", 1e-8);
  if (decouples && out->weight_decay != 0)
    zb_paddle_refuse(r->it, r->op, OPTIMIZER_HINT, "a decay is added to its gradient as well");
  if (decouples && (!with || with->integer)) out->weight_decay = number(r, "coeff", NULL, 0.01);
  check_state(r, "Moment1", 0);
  check_state(r, "Moment2", 0);
  check_state(r, "Beta1Pow", out->beta1);
  check_state(r, "Beta2Pow", out->beta2);
}

static void read_momentum(reader *r, zb_import_update *out) {
  const char *method = zb_paddle_text_in(r->op, "regularization_method");
  const zb_paddle_attribute *nesterov = zb_paddle_find(r->op, "use_nesterov");
  out->kind = ZB_OPTIMIZER_SGD;
  out->momentum = number(r, "mu", NULL, 0);
  out->nesterov = nesterov && nesterov->integer;
  if (method && strcmp(method, "l2_decay") == 0)
    out->weight_decay += number(r, "regularization_coeff", NULL, 0);
  else if (method && *method)
    zb_paddle_refuse(r->it, r->op, OPTIMIZER_HINT, "its regularization_method '%.40s' is not supported", method);
  check_state(r, "Velocity", 0);
}

static zb_result read_update(zb_paddle *it, const zb_paddle_op *op, double decay, zb_import_update *out) {
  reader r = {.it = it, .op = op};
  const char *kind = op->row->op.argument;
  const zb_paddle_value *parameter = zb_paddle_input(op, "Param");
  *out = (zb_import_update){.parameter = parameter->name, .kind = ZB_OPTIMIZER_SGD, .weight_decay = decay};
  if (!*kind) {
    zb_paddle_refuse(
        it, op,
        "sgd, momentum, adam and adamw are understood; name one with --optimizer: gradients and update of the "
        "file are then left out",
        "this optimizer is not supported");
    return ZB_FAIL;
  }
  out->lr = rate(&r);
  check_plain(&r);
  if (strncmp(kind, "adam", 4) == 0) read_adam(&r, out);
  if (strcmp(kind, "momentum") == 0) read_momentum(&r, out);
  zb_import_write_plainly(out);
  if (!it->core.failed && !(out->lr >= 0 && isfinite(out->lr)))
    zb_paddle_refuse(it, op, OPTIMIZER_HINT, "the learning rate is %g", out->lr);
  if (!it->core.failed && !(out->weight_decay >= 0))
    zb_paddle_refuse(it, op, OPTIMIZER_HINT, "the decay is %g", out->weight_decay);
  return it->core.failed ? ZB_FAIL : ZB_OK;
}

zb_result zb_paddle_read_optimizer(zb_paddle *it, const double *decays) {
  const zb_paddle_program *p = &it->program;
  int other = 0;
  it->updates = zb_import_take(&it->core, (p->op_count + 1) * sizeof *it->updates);
  const zb_paddle_op **ops = zb_import_take(&it->core, (p->op_count + 1) * sizeof *ops);
  if (!it->updates || !ops) return ZB_FAIL;
  for (size_t i = 0; i < p->op_count; ++i) {
    const zb_paddle_op *op = &p->ops[i];
    if (!op->row || op->row->class != ZB_PADDLE_UPDATE) continue;
    ops[it->update_count] = op;
    if (!read_update(it, op, decays[i], &it->updates[it->update_count++])) return ZB_FAIL;
  }
  if (zb_import_one_optimizer(it->updates, it->update_count, &other)) return ZB_OK;
  return zb_paddle_refuse(it, ops[other], OPTIMIZER_HINT, "'%s' and '%s' have different optimizers",
                          it->updates[0].parameter, it->updates[other].parameter);
}
