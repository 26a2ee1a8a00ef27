/* Which optimizer a step has: told by what its formulas compute, not by how they are written.
 *
 * Each parameter has a new value p'(p, states, steps, g) and new states. g is the gradient: a value through which all
 * else goes that the formulas depend on. Settings are solved for at points where the others fall out (SGD: p' at p = 0,
 * g = 1 is -lr), and then the formulas must agree with those of the optimizer (include/zb/ops.def) at random points.
 * SGD without momentum also fits where g is a factor times the gradient; then all parameters have one rate in common,
 * or it is an error. Rates and decays of single parameters become groups. Tests: test/ir/import/stablehlo,
 * test/e2e/stablehlo.py. */
#include "ir/import/stablehlo/stablehlo.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FORMULA_MAX = 512, CUTS_MAX = 16, POINTS = 24, STEPS_TRIED = 4, FAR = 1000 };

typedef zb_import_update settings;

/* The formulas of one parameter, with the value that is taken for the gradient. */
typedef struct formulas {
  zb_stablehlo *it;
  const zb_stablehlo_update *update;
  const zb_import_value *gradient;
  bool is_swapped; /* of two states the second is the mean of gradients */
} formulas;

/* p, states (mean, then mean of squares), steps before this one, g; and what follows. */
typedef struct point {
  double p, m, v, steps, g;
} point;
typedef struct next {
  double p, m, v;
} next;

static const zb_import_value *old_value(const formulas *f, int argument) { return f->it->arguments[argument].value; }

static const zb_import_value *new_value(const formulas *f, int argument) {
  return f->it->results.items[f->it->arguments[argument].updated_by].value;
}

static bool compute(const formulas *f, point at, next *out) {
  const zb_stablehlo_update *u = f->update;
  const int mean = f->is_swapped ? 1 : 0;
  zb_stablehlo_point known = {.count = 0};
  known.values[known.count] = f->gradient, known.numbers[known.count++] = at.g;
  known.values[known.count] = old_value(f, u->parameter), known.numbers[known.count++] = at.p;
  for (int i = 0; i < u->state_count; ++i)
    known.values[known.count] = old_value(f, u->states[i]), known.numbers[known.count++] = i == mean ? at.m : at.v;
  for (int i = 0; i < u->counter_count; ++i)
    known.values[known.count] = old_value(f, u->counters[i]), known.numbers[known.count++] = at.steps;
  *out = (next){0};
  if (!zb_stablehlo_evaluate(f->it, new_value(f, u->parameter), &known, &out->p)) return false;
  if (u->state_count > 0 && !zb_stablehlo_evaluate(f->it, new_value(f, u->states[mean]), &known, &out->m)) return false;
  return u->state_count < 2 || zb_stablehlo_evaluate(f->it, new_value(f, u->states[1 - mean]), &known, &out->v);
}

static next at(const formulas *f, double p, double m, double v, double steps, double g) {
  next out = {NAN, NAN, NAN};
  compute(f, (point){p, m, v, steps, g}, &out);
  return out;
}

/* ---- What optimizers compute, as ops.def has them ---- */

static next expected(const settings *s, point x) {
  next out = {.p = x.p};
  const double t = x.steps + 1;
  switch (s->kind) {
  case ZB_OPTIMIZER_SGD: {
    const double g = x.g + s->weight_decay * x.p;
    out.m = s->momentum * x.m + g;
    out.p -= s->lr * (s->momentum == 0 ? g : s->nesterov ? g + s->momentum * out.m : out.m);
    return out;
  }
  case ZB_OPTIMIZER_LION: {
    const double mixed = s->beta1 * x.m + (1 - s->beta1) * x.g;
    out.p -= s->lr * s->weight_decay * x.p + s->lr * ((mixed > 0) - (mixed < 0));
    out.m = s->beta2 * x.m + (1 - s->beta2) * x.g;
    return out;
  }
  default: {
    const double g = x.g + (s->kind == ZB_OPTIMIZER_ADAM ? s->weight_decay * x.p : 0);
    if (s->kind == ZB_OPTIMIZER_ADAMW) out.p -= s->lr * s->weight_decay * x.p;
    out.m = s->beta1 * x.m + (1 - s->beta1) * g;
    out.v = s->beta2 * x.v + (1 - s->beta2) * g * g;
    out.p -= s->lr / (1 - pow(s->beta1, t)) * out.m / (sqrt(out.v) / sqrt(1 - pow(s->beta2, t)) + s->eps);
    return out;
  }
  }
}

/* ---- Agreement ---- */

/* Constants of the file are f32, so 1 - 0.9 is not 0.1. Differences are against what the step moves. */
static bool is_near(double got, double wanted, double scale) { return fabs(got - wanted) <= 2e-5 * scale + 1e-12; }

static double draw(uint64_t *state) { /* -1 .. 1 */
  *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (double)(*state >> 11) / (double)(UINT64_C(1) << 52) - 1;
}

static bool agrees(const formulas *f, const settings *s) {
  static const double steps[STEPS_TRIED] = {0, 1, 9, 1000};
  const double usual = fabs(expected(s, (point){0, 1, 1, 1000, 1}).p); /* lr is not, where eps is as great */
  uint64_t state = 1;
  if (!(s->lr > 0) || !isfinite(s->lr) || !(s->weight_decay >= 0)) return false;
  for (int i = 0; i < POINTS; ++i) {
    point x = {draw(&state), draw(&state), fabs(draw(&state)) + 0.01, steps[i % STEPS_TRIED], draw(&state)};
    x.p *= i >> 2 & 1 ? FAR : 1; /* beyond where numbers are clamped */
    x.g *= i >> 3 & 1 ? FAR : 1;
    next got, wanted = expected(s, x);
    if (!compute(f, x, &got)) return false;
    if (!is_near(got.p - x.p, wanted.p - x.p, fabs(wanted.p - x.p) + usual * 1e-2)) return false;
    if (f->update->state_count > 0 && !is_near(got.m, wanted.m, fabs(wanted.m) + 0.1)) return false;
    if (f->update->state_count > 1 && !is_near(got.v, wanted.v, fabs(wanted.v) + 0.1)) return false;
  }
  return true;
}

/* ---- Settings ---- */

static bool solve_sgd(const formulas *f, settings *s) {
  *s = (settings){.kind = ZB_OPTIMIZER_SGD, .lr = -at(f, 0, 0, 0, 0, 1).p};
  s->weight_decay = (1 - at(f, 1, 0, 0, 0, 0).p) / s->lr;
  if (f->update->state_count == 0) return true;
  s->momentum = at(f, 0, 1, 0, 0, 0).m;
  const double moved = -at(f, 0, 1, 0, 0, 0).p; /* lr * momentum, or lr * momentum^2 */
  s->lr = -at(f, 0, 0, 0, 0, 1).p;              /* lr, or lr * (1 + momentum) */
  s->nesterov = s->momentum > 0 && fabs(moved / s->lr - s->momentum) > 1e-3 * s->momentum;
  if (s->nesterov) s->lr /= 1 + s->momentum;
  s->weight_decay = at(f, 1, 0, 0, 0, 0).m;
  return s->momentum > 0;
}

/* beta1 is where the sign of beta1 * m + (1 - beta1) * g turns, for m = 1. */
static bool solve_lion(const formulas *f, settings *s) {
  *s = (settings){.kind = ZB_OPTIMIZER_LION, .lr = -at(f, 0, 0, 0, 0, 1).p, .beta2 = at(f, 0, 1, 0, 0, 0).m};
  s->weight_decay = (1 - at(f, 1, 0, 0, 0, 0).p) / s->lr;
  double low = 0, high = 1;
  for (int i = 0; i < 60; ++i) {
    const double beta = (low + high) / 2;
    if (at(f, 0, 1, 0, 0, -beta / (1 - beta)).p < 0)
      low = beta; /* the sum is above 0: beta1 is greater */
    else
      high = beta;
  }
  s->beta1 = (low + high) / 2;
  return s->beta2 > 0 && s->beta2 < 1;
}

static bool solve_adam(const formulas *f, zb_import_optimizer kind, settings *s) {
  const double large = 1e12;
  *s = (settings){.kind = kind, .beta1 = at(f, 0, 1, 0, 0, 0).m, .beta2 = at(f, 0, 0, 1, 0, 0).v};
  if (!(s->beta1 > 0 && s->beta1 < 1 && s->beta2 > 0 && s->beta2 < 1)) return false;
  const double root = sqrt(s->beta2 * large / (1 - s->beta2)), mean = s->beta1 / (1 - s->beta1);
  s->lr = -at(f, 0, 1, large, 0, 0).p * root / mean;
  s->eps = s->lr * mean / -at(f, 0, 1, 0, 0, 0).p;
  s->weight_decay =
      kind == ZB_OPTIMIZER_ADAM ? at(f, 1, 0, 1, 0, 0).m / (1 - s->beta1) : (1 - at(f, 1, 0, 1, 0, 0).p) / s->lr;
  return true;
}

/* Of ADAM without a decay and ADAMW without one, which are the same, it is adam. */
static bool identify(formulas *f, settings *out) {
  const int states = f->update->state_count;
  if (states == 0) return solve_sgd(f, out) && agrees(f, out);
  if (states == 1) return (solve_sgd(f, out) && agrees(f, out)) || (solve_lion(f, out) && agrees(f, out));
  for (int swapped = 0; swapped < 2; ++swapped) {
    f->is_swapped = swapped == 1;
    if (solve_adam(f, ZB_OPTIMIZER_ADAM, out) && agrees(f, out)) return true;
    if (solve_adam(f, ZB_OPTIMIZER_ADAMW, out) && agrees(f, out)) return true;
  }
  return false;
}

/* ---- One parameter ---- */

/* What fits a parameter: one, but of SGD one for each factor at the end of its gradient. */
typedef struct fits {
  settings items[CUTS_MAX];
  const zb_import_value *gradients[CUTS_MAX]; /* that the formulas fit with */
  int count;
} fits;

static bool is_same_type(zb_stablehlo *it, const zb_import_value *value, const zb_shape *shape) {
  zb_shape own;
  return zb_stablehlo_value_shape(it, value, &own) && zb_shape_equal(&own, shape);
}

static void add_fit(fits *found, const settings *s, const zb_import_value *gradient) {
  for (int i = 0; i < found->count; ++i)
    if (found->items[i].kind == s->kind && found->items[i].lr == s->lr &&
        found->items[i].weight_decay == s->weight_decay)
      return;
  if (found->count == CUTS_MAX) return;
  found->gradients[found->count] = gradient;
  found->items[found->count++] = *s;
}

/* A backward pass is linear in what comes from the loss: what is clamped there is no gradient of it. Values of the loss
 * and arguments are factors of it, which may be. */
static bool may_be_gradient(zb_stablehlo *it, const zb_import_value *value) {
  const zb_import_value *values[FORMULA_MAX];
  size_t count;
  zb_stablehlo_formula(it, value, values, FORMULA_MAX, &count);
  for (size_t i = 0; i < count; ++i) {
    bool is_chlo, is_of_gradient = false;
    if (!zb_stablehlo_is_behind(it, values[i])) continue;
    const zb_import_node *n = values[i]->producer;
    const char *kind = zb_stablehlo_kind(zb_stablehlo_source(n), &is_chlo);
    for (int k = 0; k < n->input_count; ++k)
      is_of_gradient = is_of_gradient || zb_stablehlo_is_behind(it, n->inputs[k]);
    if (kind && is_of_gradient && zb_word_index("abs clamp is_finite maximum minimum sign", kind) >= 0) return false;
  }
  return true;
}

static void find_fits(zb_stablehlo *it, const zb_stablehlo_update *u, fits *found) {
  const zb_import_value *values[FORMULA_MAX];
  const zb_shape *shape = &it->arguments[u->parameter].shape;
  size_t count;
  found->count = 0;
  formulas f = {.it = it, .update = u};
  const int first = u->state_count > 0 ? u->states[0] : u->parameter; /* its formula is the shortest with g in it */
  zb_stablehlo_formula(it, new_value(&f, first), values, FORMULA_MAX, &count);
  for (size_t i = 0; i < count; ++i) {
    settings s;
    if (values[i]->kind != ZB_VALUE_NODE || !is_same_type(it, values[i], shape)) continue;
    f.gradient = values[i];
    f.is_swapped = false;
    if (!identify(&f, &s) || !may_be_gradient(it, values[i])) continue;
    zb_import_write_plainly(&s);
    add_fit(found, &s, values[i]);
  }
}

/* Whether the loss has the square of a parameter in it, as a penalty of weights has. */
static bool is_squared(zb_stablehlo *it, int parameter) {
  const zb_import_value *p = it->arguments[parameter].value;
  for (const zb_import_node *n = it->core.nodes; n < it->core.nodes + it->core.node_count; ++n) {
    bool is_chlo;
    const char *kind = zb_stablehlo_kind(zb_stablehlo_source(n), &is_chlo);
    if (!kind || n->input_count < 1 || n->inputs[0] != p) continue;
    if (strcmp(kind, "square") == 0 || strcmp(kind, "power") == 0 || strcmp(kind, "abs") == 0) return true;
    if (n->input_count == 2 && n->inputs[1] == p) return true;
  }
  return false;
}

/* g + decay * p is a decay of the update, or the gradient of a loss with a penalty: in that the parameter is squared.
 * Of two fits with one rate, with a decay and without, the right one is kept. False: there are more. */
static bool settle_decay(zb_stablehlo *it, const zb_stablehlo_update *u, fits *found) {
  const bool keeps_less = is_squared(it, u->parameter);
  fits kept = {.count = 0};
  for (int i = 0; i < found->count; ++i) {
    const settings *own = &found->items[i];
    int others = 0;
    bool is_less = false;
    for (int k = 0; k < found->count; ++k) {
      const settings *other = &found->items[k];
      if (k == i || other->lr != own->lr) continue;
      is_less = own->weight_decay < other->weight_decay;
      ++others;
    }
    if (others > 1) return false;
    if (others == 0 || is_less == keeps_less) add_fit(&kept, own, found->gradients[i]);
  }
  *found = kept;
  return true;
}

/* ---- All parameters ---- */

#define OTHER_HINT                                                                                                     \
  "zbc has sgd (with momentum, Nesterov's too), adam, adamw and lion, as optax has them, with rates that are "         \
  "constant; "                                                                                                         \
  "lower the loss alone and name one with --optimizer, or name it for the step: the update in the file is then left "  \
  "out"

static zb_result refuse_unknown(zb_stablehlo *it, const zb_stablehlo_update *u) {
  return zb_import_fail(&it->core, OTHER_HINT,
                        "the update of '%s' is that of no known optimizer: it depends on %d state%s and %d counter%s",
                        it->arguments[u->parameter].name, u->state_count, u->state_count == 1 ? "" : "s",
                        u->counter_count, u->counter_count == 1 ? "" : "s");
}

/* Takes from `common` what a parameter does not have. */
static void intersect(fits *common, const fits *own) {
  int kept = 0;
  for (int i = 0; i < common->count; ++i) {
    bool has = false;
    for (int k = 0; k < own->count && !has; ++k)
      has = common->items[i].lr == own->items[k].lr && zb_import_same_optimizer(&common->items[i], &own->items[k]);
    if (has) common->items[kept++] = common->items[i];
  }
  common->count = kept;
}

/* A rate of 1 is that of what is subtracted: another one says which factor is the rate. */
static void drop_whole_updates(fits *common) {
  int kept = 0;
  for (int i = 0; i < common->count && common->count > 1; ++i)
    if (common->items[i].lr != 1) common->items[kept++] = common->items[i];
  if (kept) common->count = kept;
}

/* The rate of plain SGD: the one that all parameters have in common. */
static zb_result choose_rate(zb_stablehlo *it, const fits *all, int count, settings *out) {
  fits common = all[0];
  for (int u = 1; u < count; ++u)
    intersect(&common, &all[u]);
  drop_whole_updates(&common);
  if (common.count == 1) return *out = common.items[0], ZB_OK;
  return zb_import_fail(&it->core, OTHER_HINT,
                        common.count ? "several learning rates of SGD fit all parameters, %g and %g"
                                     : "no learning rate of SGD fits all parameters",
                        common.items[0].lr, common.items[common.count ? 1 : 0].lr);
}

zb_result zb_stablehlo_read_optimizer(zb_stablehlo *it, const zb_stablehlo_update *updates, int count) {
  fits *all = zb_import_take(&it->core, (size_t)count * sizeof *all);
  const zb_import_value **gradients = zb_import_take(&it->core, ((size_t)count + 1) * sizeof *gradients);
  settings *own = it->updates = zb_import_take(&it->core, ((size_t)count + 1) * sizeof *own), common;
  if (!all || !own || !gradients) return ZB_FAIL;
  bool is_plain = true;
  int other = 0;
  for (int u = 0; u < count; ++u) {
    find_fits(it, &updates[u], &all[u]);
    if (!settle_decay(it, &updates[u], &all[u]) || all[u].count == 0) return refuse_unknown(it, &updates[u]);
    is_plain = is_plain && updates[u].state_count == 0;
  }
  if (is_plain && !choose_rate(it, all, count, &common)) return ZB_FAIL;
  it->update_count = count;
  for (int u = 0; u < count; ++u) {
    int chosen = 0;
    for (int i = 0; i < all[u].count && is_plain; ++i)
      if (all[u].items[i].lr == common.lr) chosen = i;
    own[u] = all[u].items[chosen];
    own[u].parameter = it->arguments[updates[u].parameter].name;
    gradients[u] = all[u].gradients[chosen];
  }
  if (!zb_import_one_optimizer(own, count, &other))
    return zb_import_fail(&it->core, OTHER_HINT, "'%s' and '%s' have different optimizers", own[0].parameter,
                          own[other].parameter);
  return zb_stablehlo_check_gradients(it, updates, gradients, count);
}
