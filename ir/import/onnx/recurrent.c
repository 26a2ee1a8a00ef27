/* RNN, GRU and LSTM with all of their steps written out: the product of the input and its weights is one for all steps,
 * each step then has the product of its state, and the formula of its cell.
 *
 *   h[t] = tanh(x[t] W + h[t-1] R + b)   ->   a = x W + b; h1 = tanh(a1 + h0 R); h2 = tanh(a2 + h1 R); ...
 *
 * With lengths of sequences a state stays as it is where its sequence has no step, and the output is 0 there. So a
 * direction that begins at the last step begins each sequence at its own.
 * Tests: test/ir/import/import_test.c, test/e2e/onnx_nodes.py, test/e2e/onnx_gradients.py. */
#include "ir/import/onnx/onnx.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <strings.h>

enum { INPUT_X, INPUT_W, INPUT_R, INPUT_B, INPUT_LENGTHS, INPUT_H, INPUT_C, INPUT_PEEPHOLES };
enum { GATES_MAX = 4, FUNCTIONS_MAX = 3, STEPS_MAX = 1 << 14 };
/* What the rows have as their argument. */
enum { GATES_RNN = 1, GATES_GRU = 3, GATES_LSTM = 4 };

/* A function that gates may have: alpha and beta where the operator names none; NAN: it must. */
typedef struct function {
  const char *name, *op;
  int numbers;
  double fallback[2];
} function;

/* Affine is alpha*x + beta, ScaledTanh alpha*tanh(beta*x). */
static const function FUNCTIONS[] = {
    {"Affine", "", 2, {(double)NAN, (double)NAN}},
    {"Elu", "elu", 1, {1, 0}},
    {"HardSigmoid", "hard_sigmoid", 2, {0.2, 0.5}},
    {"LeakyRelu", "leaky_relu", 1, {0.01, 0}},
    {"Relu", "relu", 0, {0, 0}},
    {"ScaledTanh", "tanh", 2, {(double)NAN, (double)NAN}},
    {"Sigmoid", "sigmoid", 0, {0, 0}},
    {"Softplus", "softplus", 0, {0, 0}},
    {"Softsign", "softsign", 0, {0, 0}},
    {"Tanh", "tanh", 0, {0, 0}},
    {"ThresholdedRelu", "thresholded_relu", 1, {1, 0}},
};

typedef struct activation {
  const function *function;
  double numbers[2]; /* alpha, beta */
} activation;

/* One direction. */
typedef struct cell {
  bool is_reverse;
  activation functions[FUNCTIONS_MAX];
  zb_operand w, r, bias;     /* [gates*hidden, in], [gates*hidden, hidden], of x W */
  zb_operand bias_of_state;  /* of h R, where it is apart; or NULL */
  zb_operand peepholes[3];   /* of the gates i, o, f; or NULL */
  zb_operand first, first_c; /* states before the first step */
} cell;

typedef struct layer {
  zb_shape x; /* [steps, batch, in] */
  int gates, directions, functions;
  int64_t steps, batch, hidden;
  bool batch_first, resets_product, couples_gates;
  double clip;        /* INFINITY: none */
  zb_operand lengths; /* [batch, 1], or NULL */
} layer;

/* ---- Operands ---- */

static zb_operand add(zb_import_node *n, zb_operand a, zb_operand b) { return zb_operand_apply2(n, "add", a, b); }
static zb_operand mul(zb_import_node *n, zb_operand a, zb_operand b) { return zb_operand_apply2(n, "mul", a, b); }

static zb_operand reshaped(zb_import_node *n, zb_operand x, const int64_t *dims, int rank) {
  zb_shape shape = {.rank = rank};
  memcpy(shape.dims, dims, (size_t)rank * sizeof *dims);
  return zb_operand_reshape(n, x, &shape);
}

/* a times b transposed. */
static zb_operand product(zb_import_node *n, zb_operand a, zb_operand b) {
  const zb_attr attr = zb_bool("transpose_rhs", true);
  return zb_operand_build(n, "matmul", (zb_operand[]){a, b}, 2, &attr, 1);
}

/* x cut into `count` equal parts along an axis, of which its op has up to 64: so more are parts of parts. */
static bool cut(zb_import_node *n, zb_operand x, int axis, int64_t count, zb_operand *out) {
  enum { PARTS_MAX = 64 };
  zb_shape shape;
  int64_t sizes[PARTS_MAX], share = 1;
  MlirValue parts[PARTS_MAX];
  if (count == 1) return out[0] = x, x != NULL;
  if (!zb_operand_shape(n, x, &shape)) return false;
  while (share * PARTS_MAX < count)
    share *= PARTS_MAX;
  const int made = (int)((count + share - 1) / share);
  const int64_t size = shape.dims[axis] / count;
  for (int i = 0; i < made; ++i)
    sizes[i] = size * (i + 1 < made ? share : count - share * i);
  MlirValue whole = zb_import_value_ir(n->im, x);
  if (!whole.ptr) return false;
  zb_build_split(n->b, whole, axis, sizes, made, parts);
  for (int i = 0; i < made; ++i)
    if (!cut(n, zb_operand_computed(n, parts[i]), axis, sizes[i] / size, out + share * i)) return false;
  return true;
}

/* Rows of a direction of an input [directions, ...], from `start` on, as [rows, ...]. */
static zb_operand part_of(zb_import_node *n, int input, int direction, int64_t start, int64_t rows) {
  zb_shape shape;
  const int64_t starts[3] = {direction, start, 0};
  zb_operand x = zb_operand_in(n, input);
  if (!zb_operand_shape(n, x, &shape)) return NULL;
  shape.dims[0] = 1;
  shape.dims[1] = rows;
  x = zb_operand_slice(n, x, starts, shape.dims, NULL);
  return reshaped(n, x, shape.dims + 1, shape.rank - 1);
}

/* ---- What the node says ---- */

/* Whether an input is there and of the shape; its absence is right where it may be. */
static bool check_shape(zb_import_node *n, int input, const int64_t *dims, int rank) {
  zb_shape shape, wanted = {.rank = rank};
  char got[96], expected[96];
  if (!zb_import_has(n, input)) return true;
  if (!zb_import_shape(n, input, &shape)) return false;
  memcpy(wanted.dims, dims, (size_t)rank * sizeof *dims);
  wanted.dtype = shape.dtype;
  if (zb_shape_equal(&shape, &wanted)) return true;
  return zb_import_refuse(n, NULL, "input %d is %s, expected %s", input, zb_shape_text(&shape, got),
                          zb_shape_text(&wanted, expected));
}

static bool check_shapes(zb_import_node *n, const layer *l) {
  const int64_t rows = l->gates * l->hidden, d = l->directions;
  const int64_t state[3] = {l->batch_first ? l->batch : d, l->batch_first ? d : l->batch, l->hidden};
  return check_shape(n, INPUT_W, (int64_t[]){d, rows, l->x.dims[2]}, 3) &&
         check_shape(n, INPUT_R, (int64_t[]){d, rows, l->hidden}, 3) &&
         check_shape(n, INPUT_B, (int64_t[]){d, 2 * rows}, 2) &&
         check_shape(n, INPUT_LENGTHS, (int64_t[]){l->batch}, 1) && check_shape(n, INPUT_H, state, 3) &&
         check_shape(n, INPUT_C, state, 3) && check_shape(n, INPUT_PEEPHOLES, (int64_t[]){d, 3 * l->hidden}, 2);
}

/* Lengths, unless they are constants that leave nothing out. */
static bool read_lengths(zb_import_node *n, layer *l) {
  if (!zb_import_has(n, INPUT_LENGTHS)) return true;
  const zb_known *known = zb_import_known(n, INPUT_LENGTHS);
  bool is_whole = known != NULL;
  for (int64_t i = 0; known && i < known->elements; ++i) {
    const int64_t length = zb_known_integer(known, i);
    if (length < 0 || length > l->steps)
      return zb_import_refuse(n, NULL, "sequence %" PRId64 " has the length %" PRId64 ", of %" PRId64 " steps", i,
                              length, l->steps);
    is_whole = is_whole && length == l->steps;
  }
  if (!is_whole) l->lengths = reshaped(n, n->inputs[INPUT_LENGTHS], (int64_t[]){l->batch, 1}, 2);
  return is_whole || l->lengths;
}

static bool read_layer(zb_import_node *n, layer *l) {
  zb_shape r;
  *l = (layer){.gates = n->op->argument[0] - '0'};
  l->functions = l->gates == GATES_LSTM ? 3 : l->gates == GATES_GRU ? 2 : 1;
  if (!zb_import_shape(n, INPUT_X, &l->x) || !zb_import_shape(n, INPUT_R, &r)) return false;
  if (l->x.rank != 3 || r.rank != 3)
    return zb_import_refuse(n, NULL, "inputs 0 and 2 have %d and %d dimensions, expected 3 each", l->x.rank, r.rank);
  const int64_t layout = zb_onnx_int(n, "layout", 0);
  if (layout != 0 && layout != 1) return zb_import_refuse(n, "0 or 1", "the layout is %" PRId64, layout);
  l->batch_first = layout == 1;
  l->directions = zb_onnx_string_is(n, "direction", "forward", "bidirectional") ? 2 : 1;
  l->steps = l->x.dims[l->batch_first ? 1 : 0];
  l->batch = l->x.dims[l->batch_first ? 0 : 1];
  l->hidden = r.dims[2];
  l->clip = zb_onnx_float(n, "clip", (double)INFINITY);
  l->resets_product = l->gates == GATES_GRU && zb_onnx_int(n, "linear_before_reset", 0) != 0;
  l->couples_gates = l->gates == GATES_LSTM && zb_onnx_int(n, "input_forget", 0) != 0;
  if (l->steps < 1 || l->batch < 1 || l->hidden < 1) return zb_import_refuse(n, NULL, "a dimension is empty");
  if (l->steps > STEPS_MAX)
    return zb_import_refuse(n, "train on shorter pieces of the sequences", "%" PRId64 " steps, expected at most %d",
                            l->steps, STEPS_MAX);
  if (zb_onnx_int(n, "hidden_size", l->hidden) != l->hidden)
    return zb_import_refuse(n, NULL, "hidden_size is not that of the weights (%" PRId64 ")", l->hidden);
  if (!(l->clip > 0)) return zb_import_refuse(n, NULL, "clip is %g, expected more than 0", l->clip);
  return !n->im->failed && check_shapes(n, l) && read_lengths(n, l);
}

/* Numbers of functions are listed for those that have some, in their order. */
static bool read_functions(zb_import_node *n, const layer *l, cell *cells) {
  enum { LIST_MAX = 2 * FUNCTIONS_MAX };
  static const char *const numbers[2] = {"activation_alpha", "activation_beta"};
  const char *names[LIST_MAX] = {NULL};
  double given[2][LIST_MAX];
  int count, counts[2], used[2] = {0, 0};
  if (!zb_onnx_texts(n, "activations", names, LIST_MAX, &count)) return false;
  for (int k = 0; k < 2; ++k)
    if (!zb_onnx_floats(n, numbers[k], given[k], LIST_MAX, &counts[k])) return false;
  if (count != 0 && count != l->functions * l->directions)
    return zb_import_refuse(n, NULL, "%d activations, expected %d", count, l->functions * l->directions);
  for (int i = 0; i < l->functions * l->directions; ++i) {
    activation *a = &cells[i / l->functions].functions[i % l->functions];
    const char *standard = i % l->functions == 0 && l->gates != GATES_RNN ? "Sigmoid" : "Tanh";
    for (size_t k = 0; k < sizeof FUNCTIONS / sizeof *FUNCTIONS; ++k)
      if (strcasecmp(FUNCTIONS[k].name, count ? names[i] : standard) == 0) a->function = &FUNCTIONS[k];
    if (!a->function) return zb_import_refuse(n, NULL, "the activation '%s' is not supported", names[i]);
    for (int k = 0; k < a->function->numbers; ++k) {
      a->numbers[k] = used[k] < counts[k] ? given[k][used[k]] : a->function->fallback[k];
      ++used[k];
      if (isnan(a->numbers[k]))
        return zb_import_refuse(n, NULL, "%s of the activation %s is missing", numbers[k], a->function->name);
    }
  }
  return true;
}

/* The state before the first step, [batch, hidden]: zero where it is not given. */
static zb_operand first_state(zb_import_node *n, const layer *l, int input, int direction) {
  const zb_shape shape = {.rank = 2, .dims = {l->batch, l->hidden}};
  const int64_t starts[3] = {0, direction, 0}, sizes[3] = {l->batch, 1, l->hidden};
  if (!zb_import_has(n, input)) return zb_operand_filled(n, &shape, zb_operand_scalar(n, l->x.dtype, 0));
  if (!l->batch_first) return part_of(n, input, direction, 0, l->batch);
  return zb_operand_reshape(n, zb_operand_slice(n, n->inputs[input], starts, sizes, NULL), &shape);
}

static bool read_cell(zb_import_node *n, const layer *l, int direction, cell *c) {
  const int64_t rows = l->gates * l->hidden;
  c->is_reverse = direction == 1 || zb_onnx_string_is(n, "direction", "forward", "reverse");
  if (!c->is_reverse && l->directions == 1 && !zb_onnx_string_is(n, "direction", "forward", "forward"))
    return zb_import_refuse(n, "forward, reverse or bidirectional", "the direction is not understood");
  c->w = part_of(n, INPUT_W, direction, 0, rows);
  c->r = part_of(n, INPUT_R, direction, 0, rows);
  if (zb_import_has(n, INPUT_B)) {
    c->bias = part_of(n, INPUT_B, direction, 0, rows);
    zb_operand other = part_of(n, INPUT_B, direction, rows, rows);
    if (l->resets_product)
      c->bias_of_state = other;
    else
      c->bias = add(n, c->bias, other);
  }
  for (int k = 0; zb_import_has(n, INPUT_PEEPHOLES) && k < 3; ++k)
    c->peepholes[k] = part_of(n, INPUT_PEEPHOLES, direction, k * l->hidden, l->hidden);
  c->first = first_state(n, l, INPUT_H, direction);
  c->first_c = l->gates == GATES_LSTM ? first_state(n, l, INPUT_C, direction) : NULL;
  return !n->im->failed && !n->b->failed;
}

/* ---- Steps ---- */

static zb_operand activated(zb_import_node *n, const layer *l, const activation *a, zb_operand x) {
  const function *f = a->function;
  const zb_attr bounds[] = {zb_float("min", -l->clip), zb_float("max", l->clip)};
  const zb_attr numbers[] = {zb_float("alpha", a->numbers[0]), zb_float("beta", a->numbers[1])};
  if (isfinite(l->clip)) x = zb_operand_apply(n, "clip", &x, 1, bounds, 2);
  const bool is_affine = strcmp(f->name, "Affine") == 0, is_scaled = strcmp(f->name, "ScaledTanh") == 0;
  if (!is_affine && !is_scaled) return zb_operand_apply(n, f->op, &x, 1, numbers, f->numbers);
  zb_operand alpha = zb_operand_scalar(n, l->x.dtype, a->numbers[0]);
  zb_operand beta = zb_operand_scalar(n, l->x.dtype, a->numbers[1]);
  if (is_affine) return add(n, mul(n, x, alpha), beta);
  return mul(n, zb_operand_apply1(n, f->op, mul(n, x, beta)), alpha);
}

/* What a gate sees, and what it sees of the cell. */
static zb_operand with_peephole(zb_import_node *n, zb_operand gate, zb_operand peephole, zb_operand c) {
  return peephole ? add(n, gate, mul(n, peephole, c)) : gate;
}

/* Gates i, o, f and the new cell, in this order. */
static zb_operand step_lstm(zb_import_node *n, const layer *l, const cell *c, zb_operand x, zb_operand h,
                            zb_operand *state) {
  zb_operand gates[GATES_LSTM], old = *state;
  if (!cut(n, add(n, x, product(n, h, c->r)), 1, l->gates, gates)) return NULL;
  zb_operand in = activated(n, l, &c->functions[0], with_peephole(n, gates[0], c->peepholes[0], old));
  zb_operand forget = l->couples_gates
                          ? zb_operand_apply2(n, "sub", zb_operand_scalar(n, l->x.dtype, 1), in)
                          : activated(n, l, &c->functions[0], with_peephole(n, gates[2], c->peepholes[2], old));
  zb_operand made = activated(n, l, &c->functions[1], gates[3]);
  *state = add(n, mul(n, forget, old), mul(n, in, made));
  zb_operand out = activated(n, l, &c->functions[0], with_peephole(n, gates[1], c->peepholes[1], *state));
  /* The clip is of what gates see, not of the cell. */
  const layer whole = {.x = l->x, .clip = (double)INFINITY};
  return mul(n, out, activated(n, &whole, &c->functions[2], *state));
}

/* Gates z, r and the new state, which sees the reset state, or the reset product of the state. */
static zb_operand step_gru(zb_import_node *n, const layer *l, const cell *c, zb_operand x, zb_operand h) {
  zb_operand of_x[GATES_GRU], of_h[GATES_GRU];
  zb_operand r = l->resets_product ? c->r : zb_operand_part(n, c->r, 0, 0, 2 * l->hidden);
  zb_operand seen = product(n, h, r);
  if (c->bias_of_state) seen = add(n, seen, c->bias_of_state);
  if (!cut(n, x, 1, GATES_GRU, of_x) || !cut(n, seen, 1, l->resets_product ? 3 : 2, of_h)) return NULL;
  zb_operand keep = activated(n, l, &c->functions[0], add(n, of_x[0], of_h[0]));
  zb_operand reset = activated(n, l, &c->functions[0], add(n, of_x[1], of_h[1]));
  zb_operand rest = l->resets_product
                        ? mul(n, reset, of_h[2])
                        : product(n, mul(n, reset, h), zb_operand_part(n, c->r, 0, 2 * l->hidden, l->hidden));
  zb_operand made = activated(n, l, &c->functions[1], add(n, of_x[2], rest));
  return add(n, made, mul(n, keep, zb_operand_apply2(n, "sub", h, made)));
}

/* The state after a step. */
static zb_operand step(zb_import_node *n, const layer *l, const cell *c, zb_operand x, zb_operand h,
                       zb_operand *state) {
  if (l->gates == GATES_LSTM) return step_lstm(n, l, c, x, h, state);
  if (l->gates == GATES_GRU) return step_gru(n, l, c, x, h);
  return activated(n, l, &c->functions[0], add(n, x, product(n, h, c->r)));
}

/* x W + b, [batch, gates*hidden] for each step. */
static bool inputs_of_steps(zb_import_node *n, const layer *l, const cell *c, zb_operand *out) {
  const int64_t swap[3] = {1, 0, 2}, width = l->x.dims[2];
  zb_operand x = zb_operand_in(n, INPUT_X);
  if (l->batch_first) x = zb_operand_transpose(n, x, swap);
  x = product(n, reshaped(n, x, (int64_t[]){l->steps * l->batch, width}, 2), c->w);
  return cut(n, c->bias ? add(n, x, c->bias) : x, 0, l->steps, out);
}

/* All steps of a direction: states of all of them, as [steps, 1, batch, hidden], and the last ones. */
static bool run_cell(zb_import_node *n, const layer *l, const cell *c, zb_operand *all, zb_operand *h,
                     zb_operand *state) {
  zb_operand *steps = zb_import_take(n->im, (size_t)l->steps * sizeof *steps);
  const zb_operand zero = zb_operand_scalar(n, l->x.dtype, 0);
  *h = c->first;
  *state = c->first_c;
  if (!steps || !inputs_of_steps(n, l, c, steps)) return false;
  for (int64_t i = 0; i < l->steps && *h; ++i) {
    const int64_t t = c->is_reverse ? l->steps - 1 - i : i;
    zb_operand old = *h, old_state = *state, new = step(n, l, c, steps[t], *h, state);
    *h = steps[t] = new;
    zb_shape lengths;
    if (!l->lengths || !zb_operand_shape(n, l->lengths, &lengths)) continue;
    zb_operand place = zb_operand_scalar(n, lengths.dtype, (double)t);
    zb_operand is_inside = zb_operand_apply2(n, "greater", l->lengths, place);
    *h = zb_operand_where(n, is_inside, new, old);
    if (*state) *state = zb_operand_where(n, is_inside, *state, old_state);
    if (zb_import_wants(n, 0)) steps[t] = zb_operand_where(n, is_inside, new, zero);
  }
  if (!*h || n->im->failed || n->b->failed) return false;
  if (!zb_import_wants(n, 0)) return true;
  *all = reshaped(n, zb_operand_concat(n, steps, (int)l->steps, 0), (int64_t[]){l->steps, 1, l->batch, l->hidden}, 4);
  return *all != NULL;
}

/* [directions, batch, hidden], or batch first. */
static zb_result give_states(zb_import_node *n, const layer *l, int output, zb_operand *states) {
  if (!zb_import_wants(n, output)) return ZB_OK;
  for (int d = 0; d < l->directions; ++d)
    states[d] =
        reshaped(n, states[d], (int64_t[]){l->batch_first ? l->batch : 1, l->batch_first ? 1 : l->batch, l->hidden}, 3);
  return zb_operand_give(n, output, zb_operand_concat(n, states, l->directions, l->batch_first ? 1 : 0));
}

zb_result zb_onnx_recurrent(zb_import_node *n) {
  const int64_t batch_first[4] = {2, 0, 1, 3};
  layer l;
  cell cells[2] = {{.is_reverse = false}, {.is_reverse = true}};
  zb_operand all[2] = {NULL, NULL}, h[2], state[2];
  if (!read_layer(n, &l) || !read_functions(n, &l, cells)) return n->im->failed = true, ZB_FAIL;
  for (int d = 0; d < l.directions; ++d)
    if (!read_cell(n, &l, d, &cells[d]) || !run_cell(n, &l, &cells[d], &all[d], &h[d], &state[d]))
      return n->im->failed = true, ZB_FAIL;
  if (zb_import_wants(n, 0)) {
    zb_operand y = zb_operand_concat(n, all, l.directions, 1);
    if (l.batch_first) y = zb_operand_transpose(n, y, batch_first);
    if (!zb_operand_give(n, 0, y)) return ZB_FAIL;
  }
  if (!give_states(n, &l, 1, h)) return ZB_FAIL;
  return l.gates == GATES_LSTM ? give_states(n, &l, 2, state) : ZB_OK;
}
