/* A whole train step: which results are new values of which arguments, told by dataflow.
 *
 * A new value depends on the old one through elementwise ops: m' = b1 * m + (1 - b1) * g, p' = p - lr * m' / .... So
 * each result has the arguments of its type that it can be the new value of; where that is one, it is it, and it is
 * nobody else's old value. What is left goes by order, which is that of arguments in JAX. Donation and --roles say it
 * before. Arguments that the loss depends on are parameters, other floats are state of the optimizer, integers count
 * steps. A file in which no parameter is updated is a loss. Why the gradients of the file are not used: DECISIONS.md.
 * Tests: test/ir/import/stablehlo, test/e2e/stablehlo.py. */
#include "ir/import/stablehlo/stablehlo.h"

#include <string.h>

/* Values that one formula may have: more are part of a model, not of an optimizer. */
enum { FORMULA_MAX = 512 };

typedef struct formula {
  const zb_import_value *values[FORMULA_MAX];
  size_t count;
  bool is_whole;
} formula;

static void read_formula(zb_stablehlo *it, const zb_import_value *value, formula *f) {
  f->is_whole = zb_stablehlo_formula(it, value, f->values, FORMULA_MAX, &f->count);
}

/* The arguments in a formula that have the type of a result, as bits of `out`; the number of them. */
static int candidates(zb_stablehlo *it, const zb_import_result *r, bool *out) {
  int found = 0;
  formula f;
  if (!r->is_typed || !r->value) return 0;
  read_formula(it, r->value, &f);
  for (size_t i = 0; i < f.count && f.is_whole; ++i) {
    if (f.values[i]->kind != ZB_VALUE_INPUT) continue;
    const zb_stablehlo_argument *a = &it->arguments[f.values[i]->index];
    if (!a->is_typed || !zb_shape_equal(&a->shape, &r->shape) || a->updated_by >= 0) continue;
    found += !out[f.values[i]->index];
    out[f.values[i]->index] = true;
  }
  return found;
}

static void assign(zb_stablehlo *it, int result, int argument) {
  it->results.items[result].updates = argument;
  it->arguments[argument].updated_by = result;
}

/* Donated arguments whose buffer has the type of its result. */
static void assign_donated(zb_stablehlo *it) {
  for (int i = 0; i < it->argument_count; ++i) {
    const zb_stablehlo_argument *a = &it->arguments[i];
    if (a->donated_to < 0 || a->donated_to >= it->results.count || a->updated_by >= 0) continue;
    const zb_import_result *r = &it->results.items[a->donated_to];
    if (r->updates < 0 && r->is_typed && a->is_typed && zb_shape_equal(&r->shape, &a->shape))
      assign(it, a->donated_to, i);
  }
}

/* Results that can be the new value of one argument alone, until there is no more; a round that finds none takes, for
 * the first result with several, the first of them behind the last argument that a result before it updates. */
static zb_result assign_by_dataflow(zb_stablehlo *it) {
  bool *can = zb_import_take(&it->core, (size_t)it->argument_count + 1);
  if (!can) return ZB_FAIL;
  for (bool goes_on = true, by_order = false; goes_on;) {
    goes_on = false;
    int last = -1;
    for (int r = 0; r < it->results.count; ++r) {
      if (it->results.items[r].updates >= 0) {
        last = it->results.items[r].updates;
        continue;
      }
      memset(can, 0, (size_t)it->argument_count);
      const int found = candidates(it, &it->results.items[r], can);
      if (found == 0 || (found > 1 && !by_order)) continue;
      int argument = 0;
      while (argument < it->argument_count && (!can[argument] || (found > 1 && argument <= last)))
        ++argument;
      if (argument == it->argument_count) continue;
      assign(it, r, argument);
      goes_on = true;
      if (by_order) break;
    }
    if (goes_on && by_order)
      by_order = false;
    else if (!goes_on && !by_order)
      goes_on = by_order = true;
  }
  return ZB_OK;
}

/* ---- What the loss depends on ---- */

/* Whether each value is one that the results which are no new values depend on. */
static bool *loss_slice(zb_stablehlo *it) {
  zb_import *im = &it->core;
  bool *in = zb_import_take(im, im->value_count + 1);
  if (!in) return NULL;
  for (int r = 0; r < it->results.count; ++r) {
    const zb_import_result *result = &it->results.items[r];
    const bool is_loss =
        result->updates < 0 && result->is_typed && result->shape.rank == 0 && result->shape.dtype == ZB_F32;
    if (is_loss) in[result->value->number] = true;
  }
  for (zb_import_node *n = im->nodes + im->node_count; n-- > im->nodes;) {
    bool any = false;
    for (int o = 0; o < n->output_count; ++o)
      any = any || in[n->outputs[o]->number];
    for (int i = 0; any && i < n->input_count; ++i)
      in[n->inputs[i]->number] = true;
  }
  return in;
}

/* A new value that has more in it than arguments and numbers: a gradient. */
static bool has_gradient(zb_stablehlo *it, const formula *f) {
  for (size_t i = 0; i < f->count; ++i)
    if (f->values[i]->kind == ZB_VALUE_NODE && zb_stablehlo_is_end(it, f->values[i])) return true;
  return !f->is_whole;
}

static bool is_float(const zb_stablehlo_argument *a) { return a->is_typed && a->shape.dtype == ZB_F32; }

/* Parameters first: what they depend on tells whose the states are. */
static zb_result set_roles(zb_stablehlo *it) {
  for (int i = 0; i < it->argument_count; ++i) {
    zb_stablehlo_argument *a = &it->arguments[i];
    if (a->updated_by < 0 || a->is_given) continue;
    formula f;
    read_formula(it, it->results.items[a->updated_by].value, &f);
    const bool is_same = it->results.items[a->updated_by].value == a->value; /* frozen: given back as it is */
    a->role = is_float(a) && it->in_loss[a->value->number] && (has_gradient(it, &f) || is_same) ? ZB_STABLEHLO_PARAMETER
                                                                                                : ZB_STABLEHLO_STATE;
  }
  return ZB_OK;
}

/* ---- Updates ---- */

static bool is_count(const zb_stablehlo_argument *a) {
  return a->is_typed && (a->shape.dtype == ZB_I32 || a->shape.dtype == ZB_I64) && zb_shape_elements(&a->shape) == 1;
}

/* Adds an argument that the new value depends on to the lists of an update; reports one too many. */
static zb_result add_dependence(zb_stablehlo *it, zb_stablehlo_update *u, int argument) {
  const zb_stablehlo_argument *a = &it->arguments[argument];
  int *list = is_count(a) ? u->counters : u->states, *count = is_count(a) ? &u->counter_count : &u->state_count;
  const int room = is_count(a) ? ZB_STABLEHLO_COUNTERS : ZB_STABLEHLO_STATES;
  for (int i = 0; i < *count; ++i)
    if (list[i] == argument) return ZB_OK;
  if (*count == room)
    return zb_import_fail(&it->core, "lower the loss alone, and name the optimizer with --optimizer",
                          "the update of '%s' depends on more than %d arguments of optimizer state",
                          it->arguments[u->parameter].name, room);
  list[(*count)++] = argument;
  return ZB_OK;
}

/* The states in the formula of a new value, and in those of their own new values. */
static zb_result read_update(zb_stablehlo *it, int parameter, zb_stablehlo_update *u) {
  *u = (zb_stablehlo_update){.parameter = parameter};
  for (int k = -1; k < u->state_count; ++k) {
    formula f;
    read_formula(it, it->results.items[it->arguments[k < 0 ? parameter : u->states[k]].updated_by].value, &f);
    for (size_t i = 0; i < f.count; ++i) {
      if (f.values[i]->kind != ZB_VALUE_INPUT) continue;
      const zb_stablehlo_argument *a = &it->arguments[f.values[i]->index];
      if (a->role != ZB_STABLEHLO_STATE || a->updated_by < 0) continue;
      if (!add_dependence(it, u, (int)f.values[i]->index)) return ZB_FAIL;
    }
  }
  if (u->state_count == 2 && u->states[0] > u->states[1]) {
    const int second = u->states[0];
    u->states[0] = u->states[1], u->states[1] = second;
  }
  return ZB_OK;
}

/* Of the parts of a model that the forward pass updates: running statistics. */
static zb_result check_owners(zb_stablehlo *it, const zb_stablehlo_update *updates, int count) {
  for (int i = 0; i < it->argument_count; ++i) {
    const zb_stablehlo_argument *a = &it->arguments[i];
    bool has_owner = a->role != ZB_STABLEHLO_STATE || a->updated_by < 0 || is_count(a);
    for (int u = 0; u < count && !has_owner; ++u)
      for (int k = 0; k < updates[u].state_count; ++k)
        has_owner = has_owner || updates[u].states[k] == i;
    if (!has_owner)
      return zb_import_fail(&it->core, "running statistics of a model are not imported from StableHLO yet",
                            "argument %d ('%s') is updated, and belongs to no parameter", i, a->name);
  }
  return ZB_OK;
}

/* Whether an op is a square or a magnitude of an argument, or of what is computed behind the loss. The loss has its
 * own, and a backward pass those of values of the loss. */
static bool is_magnitude(zb_stablehlo *it, const zb_import_node *n) {
  bool is_chlo;
  const char *kind = zb_stablehlo_kind(zb_stablehlo_source(n), &is_chlo);
  if (!kind || n->input_count < 1 || it->in_loss[n->outputs[0]->number]) return false;
  if (n->inputs[0]->kind == ZB_VALUE_NODE && !zb_stablehlo_is_behind(it, n->inputs[0])) return false;
  const bool is_product = strcmp(kind, "multiply") == 0 && n->input_count == 2 && n->inputs[0] == n->inputs[1];
  return is_product || strcmp(kind, "square") == 0 || strcmp(kind, "abs") == 0 || strcmp(kind, "power") == 0;
}

/* Whether an op sums up squares or magnitudes of elements, or takes the greatest: a norm. */
static bool is_norm(zb_stablehlo *it, const zb_import_node *n) {
  bool is_chlo;
  char body[32] = "";
  const char *kind = zb_stablehlo_kind(zb_stablehlo_source(n), &is_chlo);
  if (!kind || n->input_count != 2) return false;
  if (strcmp(kind, "dot_general") == 0) return n->inputs[0] == n->inputs[1];
  if (strcmp(kind, "reduce") != 0 || !zb_stablehlo_region_op(n, 0, body, sizeof body)) return false;
  if (strcmp(body, "maximum") == 0) return zb_stablehlo_is_behind(it, n->inputs[0]);
  formula f;
  read_formula(it, n->inputs[0], &f);
  for (size_t i = 0; i < f.count; ++i)
    if (f.values[i]->kind == ZB_VALUE_NODE && is_magnitude(it, f.values[i]->producer)) return true;
  return false;
}

/* In a backward pass no norm is taken of all elements, as clipping takes it of gradients. */
static zb_result check_no_norms(zb_stablehlo *it) {
  zb_import *im = &it->core;
  bool *in = zb_import_take(im, im->value_count + 1);
  if (!in) return ZB_FAIL;
  for (int i = 0; i < it->argument_count; ++i)
    if (it->arguments[i].role == ZB_STABLEHLO_PARAMETER && it->arguments[i].updated_by >= 0)
      in[it->results.items[it->arguments[i].updated_by].value->number] = true;
  for (zb_import_node *n = im->nodes + im->node_count; n-- > im->nodes;) {
    bool any = false, is_forward = false;
    zb_shape shape;
    for (int o = 0; o < n->output_count; ++o) {
      any = any || in[n->outputs[o]->number];
      is_forward = is_forward || it->in_loss[n->outputs[o]->number];
    }
    if (!any || is_forward) continue;
    for (int i = 0; i < n->input_count; ++i)
      in[n->inputs[i]->number] = true;
    if (n->output_count != 1 || !zb_stablehlo_value_shape(it, n->outputs[0], &shape)) continue;
    if (shape.rank > 0 || shape.dtype != ZB_F32 || !is_norm(it, n)) continue;
    return zb_import_refuse(n,
                            "leave clipping out of the step and give --clip-norm, or lower the loss alone and name "
                            "the optimizer with --optimizer",
                            "the update of a parameter depends on a norm that is taken behind the loss, as clipping "
                            "does");
  }
  return ZB_OK;
}

zb_result zb_stablehlo_read_step(zb_stablehlo *it) {
  zb_import *im = &it->core;
  bool is_given = false;
  for (int r = 0; r < it->results.count; ++r)
    is_given = is_given || it->results.items[r].updates >= 0;
  if (!is_given) assign_donated(it);
  if (!is_given && !assign_by_dataflow(it)) return ZB_FAIL;
  it->in_loss = loss_slice(it);
  zb_stablehlo_update *updates = zb_import_take(im, ((size_t)it->argument_count + 1) * sizeof *updates);
  if (!it->in_loss || !updates || !set_roles(it)) return ZB_FAIL;
  int count = 0;
  for (int i = 0; i < it->argument_count; ++i) {
    const zb_stablehlo_argument *a = &it->arguments[i];
    if (a->role != ZB_STABLEHLO_PARAMETER || a->updated_by < 0 || it->results.items[a->updated_by].value == a->value)
      continue;
    if (!read_update(it, i, &updates[count++])) return ZB_FAIL;
  }
  it->is_step = count > 0;
  if (!it->is_step) {
    for (int r = 0; r < it->results.count && !is_given; ++r)
      it->results.items[r].updates = -1;
    for (int i = 0; i < it->argument_count && !is_given; ++i)
      it->arguments[i].updated_by = -1,
      it->arguments[i].role = it->arguments[i].is_given ? it->arguments[i].role : ZB_STABLEHLO_OPEN;
    return ZB_OK;
  }
  /* Names of parameters are those of the results, where arguments have none. */
  for (int u = 0; u < count && !it->has_names; ++u) {
    zb_stablehlo_argument *a = &it->arguments[updates[u].parameter];
    if (!a->is_given) a->name = it->results.items[a->updated_by].name;
  }
  if (!check_owners(it, updates, count)) return ZB_FAIL;
  if (im->params->has_optimizer) return ZB_OK;
  return check_no_norms(it) ? zb_stablehlo_read_optimizer(it, updates, count) : ZB_FAIL;
}
