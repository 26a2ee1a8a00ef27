/* Whether the gradients of a step are those of the loss that it returns. zbc makes its own, of that loss: where the
 * file clips gradients, adds noise to them, stops some of them (stop_gradient, custom_vjp, which the text does not
 * show), or differentiates something else than it returns, training would part from JAX's without a word.
 *
 * Parameters and inputs get random values. Loss and gradients g are computed by the reference kernels, and then the
 * loss at both ends of a short way along a direction d:
 *
 *   (loss(p + h d) - loss(p - h d)) / 2h  =  sum of g * d,    d of a parameter = (g/|g| + p/|p| + 1/|1|) / |g|
 *
 * Each parameter has about the same share of the slope, along its gradient (factors), along itself (penalties and
 * decays) and along equal numbers (means). Parameters are looked at some at a time, so that one wrong gradient shows.
 * Large steps, and those with ops that have no row, are not checked: the module says so (zb.uncompared). Tests:
 * test/e2e/stablehlo.py. */
#include "ir/import/stablehlo/machine.h"

#include <math.h>

/* Floating-point operations of one run that a check may take, and parameters that are looked at together. */
enum { GROUP = 32 };
static const double FLOPS_MAX = 1e9;
/* How far a ratio may be from 1; the change of the loss on the way, of itself; how long the way of a parameter may be,
 * of itself; how far the ratios of two ways may be from each other. */
static const double TOLERANCE = 2e-3, LOSS_CHANGE = 5e-3, STEP_MAX = 0.05, BENT_MAX = 0.1;

typedef struct check {
  zb_stablehlo second; /* first: the callback of zb_import_run gets a pointer to it */
  zb_stablehlo *it;
  const zb_stablehlo_update *updates;
  const zb_import_value *const *gradients;
  int count;
  bool is_done; /* it was computed; failed: and it is wrong */
  double got;
  int wrong; /* the first parameter of the wrong ones; -1: none is */
} check;

static uint64_t next(uint64_t *state) {
  return *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
}

static double normal(uint64_t *state) { /* the sum of 12 even numbers */
  double sum = -6;
  for (int i = 0; i < 12; ++i)
    sum += (double)(next(state) >> 11) / (double)(UINT64_C(1) << 53);
  return sum;
}

/* Numbers as a model is started with: matrices of unit gain, vectors around one half, tokens 0 and 1. */
static void fill(zb_known *value, bool is_parameter, uint64_t *state) {
  const bool is_float = zb_known_is_float(value);
  double spread = 1;
  if (is_parameter && value->shape.rank > 1) spread = 1 / sqrt((double)value->shape.dims[value->shape.rank - 2]);
  for (int64_t i = 0; i < value->elements; ++i) {
    if (is_float)
      zb_known_set_real(value, i,
                        is_parameter && value->shape.rank < 2 ? 0.5 + 0.2 * normal(state) : spread * normal(state));
    else
      zb_known_set_integer(value, i, (int64_t)(next(state) >> 40 & 1));
  }
}

/* ---- The second import: the loss and the gradients as outputs ---- */

/* Nodes that the loss and the gradients need; false: one has no row. */
static bool mark(check *c, zb_import_result *loss) {
  zb_import *im = &c->second.core;
  im->outputs = zb_import_take(im, ((size_t)c->count + 2) * sizeof *im->outputs);
  if (!im->outputs) return false;
  im->outputs[im->output_count++] = loss->value;
  for (int u = 0; u < c->count; ++u)
    im->outputs[im->output_count++] = im->values[c->gradients[u]->number];
  zb_import_mark_needed(im, NULL);
  if (!zb_import_check_nodes(im, zb_stablehlo_check_node)) return false;
  zb_import_mark_values(im, NULL);
  return true;
}

static bool build_arguments(check *c) {
  zb_import *im = &c->second.core;
  for (int i = 0; i < c->second.argument_count; ++i) {
    zb_stablehlo_argument *a = &c->second.arguments[i];
    if (!a->value->read) continue;
    if (!a->is_typed || zb_shape_bytes(&a->shape) < 0) return false;
    a->value->value = zb_import_input(im, a->name, &a->shape);
    if (!a->value->value.ptr) return false;
  }
  return true;
}

static double flops_of(MlirBlock block, zb_op_view_storage *storage) {
  double flops = 0;
  for (MlirOperation op = mlirBlockGetFirstOperation(block); op.ptr; op = mlirOperationGetNextInBlock(op)) {
    zb_op_view view;
    zb_shape results[ZB_STABLEHLO_RESULTS];
    const intptr_t count = mlirOperationGetNumResults(op);
    if (count > ZB_STABLEHLO_RESULTS || !zb_op_view_get(op, &view, storage)) return INFINITY;
    for (intptr_t i = 0; i < count; ++i)
      if (!zb_stablehlo_shape(mlirValueGetType(mlirOperationGetResult(op, i)), &results[i])) return INFINITY;
    if (view.def->op_class == ZB_CLASS_KERNEL) flops += zb_op_view_cost(&view, results).flops;
    flops += count ? (double)zb_shape_elements(&results[0]) : 0;
  }
  return flops;
}

/* ---- Slopes ---- */

static double loss_of(zb_stablehlo_machine *m, MlirValue loss) {
  const zb_known *value =
      zb_stablehlo_machine_run(m, mlirOpResultGetOwner(loss)) ? zb_stablehlo_machine_value(m, loss) : NULL;
  return value && value->elements == 1 ? zb_known_real(value, 0) : NAN;
}

/* What is compared: the loss, parameters as they are, their gradients, and which of them can be told from rounding. */
typedef struct slopes {
  MlirValue loss;
  double value;
  zb_known **start, **gradients;
  double *squares; /* of the norm of each gradient */
  bool *is_steep;
} slopes;

static double square_of(const zb_known *x) {
  double sum = 0;
  for (int64_t i = 0; i < x->elements; ++i)
    sum += zb_known_real(x, i) * zb_known_real(x, i);
  return sum;
}

/* Parameters of a group, at p + way * d. Gives the sum of g * d. */
static double move(check *c, zb_stablehlo_machine *m, const slopes *s, int from, int to, double way) {
  double slope = 0;
  for (int u = from; u < to; ++u) {
    zb_known *p = zb_stablehlo_machine_argument(m, c->second.arguments[c->updates[u].parameter].place);
    const double norm = sqrt(s->squares[u]), own = sqrt(square_of(s->start[u])), equal = sqrt((double)p->elements);
    for (int64_t i = 0; i < p->elements; ++i) {
      const double at = zb_known_real(s->start[u], i), g = zb_known_real(s->gradients[u], i);
      const double step = s->is_steep[u] ? (g / norm + at / own + 1 / equal) / norm : 0;
      zb_known_set_real(p, i, at + way * step);
      slope += g * step;
    }
  }
  return slope;
}

/* The change of the loss on the way from -h to h less what gradients say, a parameter; 0 where they are right. */
static double excess(check *c, zb_stablehlo_machine *m, const slopes *s, int from, int to, int steep, double h) {
  double ends[2];
  for (int end = 0; end < 2; ++end) {
    move(c, m, s, from, to, end ? h : -h);
    ends[end] = loss_of(m, s->loss);
  }
  return ((ends[1] - ends[0]) / (2 * h) - move(c, m, s, from, to, 0)) / steep;
}

/* How many parameters of a group move by a small part of themselves alone for their share of the change. A gradient
 * that is zero but for rounding (a bias that softmax does not see) says nothing. */
static int count_steep(slopes *s, int from, int to, double h) {
  int steep = 0;
  for (int u = from; u < to; ++u) {
    s->is_steep[u] = h * h < s->squares[u] * (STEP_MAX * STEP_MAX) * square_of(s->start[u]);
    steep += s->is_steep[u];
  }
  return steep;
}

/* One way, and where that is not right another half as long: of a smooth loss its error is a quarter, and is taken out.
 */
static void compare(check *c, zb_stablehlo_machine *m, slopes *s) {
  c->is_done = true;
  for (int from = 0; from < c->count && c->wrong < 0 && c->is_done; from += GROUP) {
    const int to = from + GROUP < c->count ? from + GROUP : c->count;
    const double h = LOSS_CHANGE * fmax(fabs(s->value), 1e-3) / (to - from);
    const int steep = count_steep(s, from, to, h);
    if (!steep) continue;
    const double whole = excess(c, m, s, from, to, steep, h);
    if (fabs(whole) <= TOLERANCE) continue;
    const double half = excess(c, m, s, from, to, steep, h / 2), found = (4 * half - whole) / 3;
    c->is_done = isfinite(found) && fabs(whole - half) < BENT_MAX; /* else the loss is too bent here to tell */
    if (!c->is_done || fabs(found) <= TOLERANCE) continue;
    c->wrong = from;
    c->got = found;
  }
}

/* Copies of parameters and gradients, behind a run; false: out of memory, or a value is none. */
static bool keep(check *c, zb_stablehlo_machine *m, slopes *s) {
  zb_import *im = &c->second.core;
  const size_t count = (size_t)c->count + 1;
  s->start = zb_import_take(im, count * sizeof *s->start);
  s->gradients = zb_import_take(im, count * sizeof *s->gradients);
  s->squares = zb_import_take(im, count * sizeof *s->squares);
  s->is_steep = zb_import_take(im, count * sizeof *s->is_steep);
  if (!s->start || !s->gradients || !s->squares || !s->is_steep) return false;
  for (int u = 0; u < c->count; ++u) {
    const zb_known *p = zb_stablehlo_machine_argument(m, c->second.arguments[c->updates[u].parameter].place);
    const zb_known *g = zb_stablehlo_machine_value(m, im->outputs[1 + u]->value);
    if (!p || !g || p->elements != g->elements) return false;
    s->start[u] = zb_known_copy(im, &p->shape, p->data);
    s->gradients[u] = zb_known_copy(im, &g->shape, g->data);
    if (!s->start[u] || !s->gradients[u]) return false;
    s->squares[u] = square_of(g);
  }
  const zb_known *loss = zb_stablehlo_machine_value(m, s->loss);
  if (loss) s->value = zb_known_real(loss, 0);
  return loss && loss->elements == 1;
}

static void compute(check *c, zb_stablehlo_machine *m) {
  zb_import *im = &c->second.core;
  uint64_t state = 1;
  slopes s = {.loss = im->outputs[0]->value};
  for (int i = 0, place = 0; i < c->second.argument_count; ++i) {
    zb_stablehlo_argument *a = &c->second.arguments[i];
    if (!a->value->read) continue;
    a->place = place++;
    zb_known *value = zb_stablehlo_machine_argument(m, a->place);
    if (!value) return;
    fill(value, c->it->arguments[i].role == ZB_STABLEHLO_PARAMETER, &state);
  }
  for (int i = 0; i < im->output_count; ++i) {
    if (!im->outputs[i]->value.ptr || !mlirValueIsAOpResult(im->outputs[i]->value)) return;
    zb_stablehlo_machine_keep(m, im->outputs[i]->value);
  }
  if (zb_stablehlo_machine_run(m, (MlirOperation){NULL}) && keep(c, m, &s)) compare(c, m, &s);
}

/* The callback of zb_import_run: no module is made. A failure only says that it could not be computed. */
static zb_result check_graph(zb_import *im, zb_module *out) {
  check *c = (check *)im;
  zb_stablehlo *second = &c->second;
  zb_stablehlo_machine machine = {.count = 0};
  (void)out;
  if (!zb_stablehlo_find_main(second) || !zb_stablehlo_read_signature(second) || !zb_stablehlo_flatten(second))
    return ZB_FAIL;
  for (int r = 0; r < second->results.count; ++r)
    second->results.items[r].updates = c->it->results.items[r].updates;
  zb_import_result *loss = zb_import_find_loss(im, &second->results);
  if (!loss || !mark(c, loss) || !build_arguments(c) || !zb_import_nodes(im)) return ZB_FAIL;
  if (!zb_stablehlo_machine_init(&machine, &im->memory, im->builder.block)) return ZB_FAIL;
  if (flops_of(im->builder.block, &machine.storage) <= FLOPS_MAX) compute(c, &machine);
  zb_stablehlo_machine_deinit(&machine);
  return ZB_OK;
}

/* What cannot be computed is no error of the file. */
static MlirLogicalResult swallow(MlirDiagnostic diagnostic ZB_UNUSED, void *context ZB_UNUSED) {
  return mlirLogicalResultSuccess();
}

zb_result zb_stablehlo_check_gradients(zb_stablehlo *it, const zb_stablehlo_update *updates,
                                       const zb_import_value *const *gradients, int count) {
  zb_import *im = &it->core;
  zb_import_params params = *im->params;
  params.inference = true;
  params.output_count = 0;
  check c = {.it = it, .updates = updates, .gradients = gradients, .count = count, .wrong = -1};
  c.second = (zb_stablehlo){.module = it->module, .find_row = it->find_row};
  c.second.core =
      (zb_import){.context = im->context, .params = &params, .format = im->format, .source_bytes = im->source_bytes};
  zb_module none;
  MlirDiagnosticHandlerID handler = mlirContextAttachDiagnosticHandler(im->context, swallow, NULL, NULL);
  zb_status status = zb_import_run(&c.second.core, check_graph, &none);
  mlirContextDetachDiagnosticHandler(im->context, handler);
  zb_store_destroy(none.weights);
  zb_store_destroy(none.constants);
  const bool out_of_memory = zb_status_code(status) == ZB_MEMORY;
  zb_status_free(status);
  if (out_of_memory) return zb_import_memory(im);
  it->is_unchecked = !c.is_done && c.wrong < 0;
  if (c.wrong < 0) return ZB_OK;
  return zb_import_fail(
      im,
      "zbc makes the gradients of the loss itself: a step that clips, stops or changes gradients, or returns another "
      "loss than it differentiates, trains otherwise; lower that loss alone, or accept it with --optimizer",
      "the gradients of the step are not those of the loss that it returns: the slope of '%s' and up to %d more is "
      "%.3g "
      "of what they say",
      it->arguments[updates[c.wrong].parameter].name, GROUP - 1, c.got);
}
