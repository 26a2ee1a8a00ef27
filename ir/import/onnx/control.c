/* If: the branch that a known condition takes, else both and a choice; Loop and Scan with a known number of rounds:
 * bodies written out. Values of the body are new in every round; what a round hands on is an input of the next, and
 * what it lists is stacked behind the last.
 * Tests: test/ir/import/import_test.c, test/e2e/onnx_nodes.py. */
#include "ir/import/onnx/control.h"

#include <inttypes.h>
#include <string.h>

enum { VALUES_MAX = 64, ROUNDS_MAX = 1 << 14 };

bool zb_onnx_is_control(const Onnx__NodeProto *proto) {
  return strcmp(proto->op_type, "If") == 0 || strcmp(proto->op_type, "Loop") == 0 ||
         strcmp(proto->op_type, "Scan") == 0;
}

static const Onnx__GraphProto *graph_of(zb_import_node *n, const char *name) {
  const Onnx__AttributeProto *attribute = zb_onnx_attribute(n, name);
  if (attribute && attribute->has_g) return zb_onnx_graph_unpack(n, &attribute->g);
  return zb_import_refuse(n, NULL, "attribute '%s' is no graph", name), NULL;
}

/* Constants of a body are nodes that give them. */
static zb_result add_initializers(zb_import_node *n, const zb_onnx_scope *scope, const Onnx__GraphProto *graph) {
  for (size_t i = 0; i < graph->n_initializer; ++i) {
    zb_shape shape;
    const void *data;
    const Onnx__TensorProto *tensor = graph->initializer[i];
    if (!zb_onnx_tensor_read(zb_onnx_of(n->im), tensor, NULL, n->location, "initializer", &shape, &data))
      return n->im->failed = true, ZB_FAIL;
    zb_import_value *value = zb_operand_known(n, zb_known_copy(n->im, &shape, data));
    if (!value || !zb_onnx_scope_bind(n->im, scope, tensor->name, value)) return ZB_FAIL;
  }
  return ZB_OK;
}

/* Names of own are bound already. */
static zb_result add_nodes(zb_import_node *n, zb_onnx_scope *own, const Onnx__GraphProto *graph,
                           zb_import_value **out) {
  own->nodes = graph->node;
  own->node_count = graph->n_node;
  if (!add_initializers(n, own, graph) || !zb_onnx_add_scope(zb_onnx_of(n->im), own)) return ZB_FAIL;
  for (size_t o = 0; o < graph->n_output; ++o) {
    out[o] = zb_onnx_scope_find(n->im, own, graph->output[o]->name);
    if (!out[o])
      return zb_import_refuse(n, NULL, "output '%s' of its graph is made by no node", graph->output[o]->name);
  }
  return ZB_OK;
}

/* One instance of a body: its inputs are these, its outputs come into out. */
static zb_result add_body(zb_import_node *n, const zb_onnx_scope *scope, const Onnx__GraphProto *graph,
                          zb_import_value *const *inputs, zb_import_value **out) {
  zb_onnx_scope own;
  if (!zb_onnx_scope_open(n, scope, true, &own)) return ZB_FAIL;
  for (size_t i = 0; i < graph->n_input; ++i)
    if (!zb_onnx_scope_bind(n->im, &own, graph->input[i]->name, inputs[i])) return ZB_FAIL;
  return add_nodes(n, &own, graph, out);
}

/* ---- Nodes that are put between ---- */

/* OP {name = number, ...}(inputs), one output; NULL after reporting. Of Slice and Squeeze each is a list of one. */
static zb_import_value *make(zb_import_node *n, const zb_onnx_scope *scope, const char *op,
                             zb_import_value *const *inputs, size_t count, const char *const *names,
                             const int64_t *numbers) {
  enum { ATTRIBUTES_MAX = 3 };
  struct {
    Onnx__NodeProto node;
    Onnx__AttributeProto attributes[ATTRIBUTES_MAX], *list[ATTRIBUTES_MAX];
    int64_t numbers[ATTRIBUTES_MAX];
    char *output[1];
  } *made = zb_import_take(n->im, sizeof *made);
  if (!made) return NULL;
  onnx__node_proto__init(&made->node);
  made->node.op_type = (char *)(uintptr_t)op;
  made->node.n_input = count;
  made->node.n_output = 1;
  made->output[0] = (char *)"";
  made->node.output = made->output;
  made->node.attribute = made->list;
  for (int i = 0; i < ATTRIBUTES_MAX && names[i]; ++i) {
    Onnx__AttributeProto *a = made->list[i] = &made->attributes[i];
    const bool is_list = strcmp(op, "Slice") == 0 || strcmp(op, "Squeeze") == 0;
    onnx__attribute_proto__init(a);
    a->name = (char *)(uintptr_t)names[i];
    a->has_type = true;
    a->type = is_list ? 7 : 2;
    made->numbers[i] = numbers[i];
    if (is_list)
      a->n_ints = 1, a->ints = &made->numbers[i];
    else
      a->has_i = true, a->i = numbers[i];
    ++made->node.n_attribute;
  }
  zb_import_node *node = zb_onnx_node_made(n, scope, &made->node, inputs);
  return node ? node->outputs[0] : NULL;
}

/* x[.., place, ..] along a dimension, which goes. */
static zb_import_value *take_slice(zb_import_node *n, const zb_onnx_scope *scope, zb_import_value *x, int64_t axis,
                                   int64_t place) {
  static const char *const slice[] = {"starts", "ends", "axes"}, *const squeeze[] = {"axes", NULL};
  zb_import_value *part = make(n, scope, "Slice", &x, 1, slice, (int64_t[]){place, place + 1, axis});
  return part ? make(n, scope, "Squeeze", &part, 1, squeeze, &axis) : NULL;
}

static zb_import_value *stack(zb_import_node *n, const zb_onnx_scope *scope, zb_import_value *const *parts,
                              size_t count, int64_t axis) {
  static const char *const none[] = {NULL}, *const names[] = {"axis", "new_axis", NULL};
  zb_import_value *list = make(n, scope, "SequenceConstruct", parts, count, none, NULL);
  return list ? make(n, scope, "ConcatFromSequence", &list, 1, names, (int64_t[]){axis, 1}) : NULL;
}

/* ---- If ---- */

static zb_import_value *choice(zb_import_node *n, const zb_onnx_scope *scope, zb_import_value *const *inputs,
                               size_t count) {
  static const char *const none[] = {NULL};
  return make(n, scope, "If", inputs, count, none, NULL);
}

/* Whether a gradient comes back to this value, which was made before the branch. */
static bool takes_gradient(zb_import_value *value) {
  return value && value->kind != ZB_VALUE_INPUT && !zb_onnx_folds(value);
}

/* A branch that is not taken computes as well, maybe NaN, and 0 times NaN would be its gradient: what it reads with a
 * gradient is read through a choice, whose gradient is 0 there. */
static zb_result guard_reads(zb_import_node *n, zb_onnx_scope *own, const Onnx__GraphProto *graph,
                             zb_import_value *taken) {
  for (size_t k = 0; k < graph->n_node; ++k) {
    const Onnx__NodeProto *node = graph->node[k];
    const zb_import_op *op = zb_onnx_is_control(node) ? NULL : zb_onnx_op_find(node->op_type);
    for (size_t i = 0; i < node->n_input; ++i) {
      if (!*node->input[i] || (op && !(op->gradient >> i & 1))) continue;
      zb_import_value *value = zb_onnx_scope_find(n->im, own, node->input[i]);
      if (!takes_gradient(value) || value != zb_onnx_scope_find(n->im, own->parent, node->input[i])) continue;
      zb_import_value *guarded = choice(n, own->parent, (zb_import_value *[]){taken, value}, 2);
      if (!guarded || !zb_onnx_scope_bind(n->im, own, node->input[i], guarded)) return ZB_FAIL;
    }
    for (size_t a = 0; a < node->n_attribute; ++a) {
      const Onnx__GraphProto *inner =
          node->attribute[a]->has_g ? zb_onnx_graph_unpack(n, &node->attribute[a]->g) : NULL;
      if (node->attribute[a]->has_g && (!inner || !guard_reads(n, own, inner, taken))) return ZB_FAIL;
    }
  }
  return ZB_OK;
}

static zb_result add_branch(zb_import_node *n, const zb_onnx_scope *scope, const char *name, zb_import_value *taken,
                            zb_import_value **out) {
  zb_onnx_scope own;
  const Onnx__NodeProto *proto = n->source;
  const Onnx__GraphProto *graph = graph_of(n, name);
  if (!graph) return ZB_FAIL;
  if (graph->n_output > VALUES_MAX || graph->n_output < proto->n_output || graph->n_input)
    return zb_import_refuse(n, NULL, "its branch has %zu inputs and %zu outputs, expected none and %zu", graph->n_input,
                            graph->n_output, proto->n_output);
  if (!zb_onnx_scope_open(n, scope, true, &own)) return ZB_FAIL;
  if (taken && !guard_reads(n, &own, graph, taken)) return ZB_FAIL;
  return add_nodes(n, &own, graph, out);
}

/* Both branches, and what the condition chooses of them. */
static zb_result add_both(zb_import_node *n, const zb_onnx_scope *scope, zb_import_value **out) {
  static const char *const none[] = {NULL};
  const Onnx__NodeProto *proto = n->source;
  zb_import_value *const condition = n->inputs[0], *other = make(n, scope, "Not", &condition, 1, none, NULL);
  zb_import_value *no[VALUES_MAX];
  if (!other || !add_branch(n, scope, "then_branch", condition, out) || !add_branch(n, scope, "else_branch", other, no))
    return ZB_FAIL;
  for (size_t o = 0; o < proto->n_output; ++o)
    if (!(out[o] = choice(n, scope, (zb_import_value *[]){condition, out[o], no[o]}, 3))) return ZB_FAIL;
  return ZB_OK;
}

static zb_result add_if(zb_import_node *n, const zb_onnx_scope *scope) {
  int64_t condition = 0;
  const Onnx__NodeProto *proto = n->source;
  zb_import_value *out[VALUES_MAX];
  if (n->input_count != 1) return zb_import_refuse(n, NULL, "it has %d inputs, expected 1", n->input_count);
  if (!zb_onnx_folds(n->inputs[0])) {
    if (n->im->failed || !add_both(n, scope, out)) return ZB_FAIL;
  } else if (!zb_onnx_know(n, n->inputs[0], "the condition", &condition) ||
             !add_branch(n, scope, condition ? "then_branch" : "else_branch", NULL, out)) {
    return ZB_FAIL;
  }
  for (size_t o = 0; o < proto->n_output; ++o)
    if (!zb_onnx_give_output(n, scope, o, out[o])) return ZB_FAIL;
  return ZB_OK;
}

/* ---- Loop ---- */

/* Rounds of a body, and what they list. */
typedef struct rounds {
  const Onnx__GraphProto *graph;
  zb_import_value **listed; /* [round][list] */
  size_t states, lists, count, capacity;
} rounds;

static zb_result keep_lists(zb_import_node *n, rounds *r, zb_import_value *const *out) {
  if (!zb_arena_grow(&n->im->memory, (void **)&r->listed, &r->capacity, (r->count + 1) * (r->lists + 1),
                     sizeof *r->listed))
    return zb_import_memory(n->im);
  memcpy(r->listed + r->count++ * r->lists, out, r->lists * sizeof *out);
  return ZB_OK;
}

/* States, then lists, in rounds from the first or from the last. */
static zb_import_value *stack_list(zb_import_node *n, const zb_onnx_scope *scope, const rounds *r, size_t list,
                                   int64_t axis, bool backward) {
  zb_import_value **parts = zb_import_take(n->im, r->count * sizeof *parts);
  for (size_t k = 0; parts && k < r->count; ++k)
    parts[k] = r->listed[(backward ? r->count - 1 - k : k) * r->lists + list];
  return parts ? stack(n, scope, parts, r->count, axis) : NULL;
}

static bool check_loop(zb_import_node *n, const rounds *r) {
  const Onnx__NodeProto *proto = n->source;
  if (r->states + 2 > VALUES_MAX || r->graph->n_output > VALUES_MAX || r->graph->n_input != r->states + 2 ||
      r->graph->n_output < r->states + 1 || proto->n_output > r->graph->n_output - 1)
    return zb_import_refuse(n, NULL, "its body has %zu inputs and %zu outputs, which do not fit %d inputs",
                            r->graph->n_input, r->graph->n_output, n->input_count);
  for (size_t i = 0; i < r->states; ++i)
    if (!n->inputs[2 + i]) return zb_import_refuse(n, NULL, "input %zu is missing", 2 + i);
  return true;
}

/* What the body says of the next round counts even where no condition is given, as in ONNX Runtime. */
static zb_result run_loop(zb_import_node *n, const zb_onnx_scope *scope, rounds *r, zb_import_value **state) {
  int64_t trips = INT64_MAX, goes_on = 1;
  zb_import_value *in[VALUES_MAX], *out[VALUES_MAX];
  if (n->input_count > 0 && n->inputs[0] && !zb_onnx_know(n, n->inputs[0], "the number of rounds", &trips))
    return ZB_FAIL;
  in[1] = n->input_count > 1 && n->inputs[1] ? n->inputs[1] : zb_operand_scalar(n, ZB_I1, 1);
  if (!in[1] || !zb_onnx_know(n, in[1], "the condition", &goes_on)) return ZB_FAIL;
  for (int64_t k = 0; k < trips && goes_on; ++k) {
    if (k == ROUNDS_MAX) return zb_import_refuse(n, NULL, "it has more than %d rounds", ROUNDS_MAX);
    in[0] = zb_operand_scalar(n, ZB_I64, (double)k);
    if (!in[0]) return ZB_FAIL;
    memcpy(in + 2, state, r->states * sizeof *state);
    if (!add_body(n, scope, r->graph, in, out) || !keep_lists(n, r, out + 1 + r->states)) return ZB_FAIL;
    memcpy(state, out + 1, r->states * sizeof *state);
    in[1] = out[0];
    if (k + 1 < trips && !zb_onnx_know(n, out[0], "the condition of the next round", &goes_on)) return ZB_FAIL;
  }
  return ZB_OK;
}

static zb_result add_loop(zb_import_node *n, const zb_onnx_scope *scope) {
  rounds r = {.graph = graph_of(n, "body")};
  zb_import_value *state[VALUES_MAX];
  const Onnx__NodeProto *proto = n->source;
  if (!r.graph) return ZB_FAIL;
  r.states = n->input_count > 2 ? (size_t)n->input_count - 2 : 0;
  if (!check_loop(n, &r)) return ZB_FAIL;
  r.lists = r.graph->n_output - 1 - r.states;
  memcpy(state, n->inputs + (r.states ? 2 : 0), r.states * sizeof *state);
  if (!run_loop(n, scope, &r, state)) return ZB_FAIL;
  for (size_t o = 0; o < proto->n_output; ++o) {
    if (o >= r.states && r.count == 0) return zb_import_refuse(n, NULL, "it has no rounds, so what it lists is empty");
    if (o >= r.states && !*proto->output[o]) continue;
    zb_import_value *value = o < r.states ? state[o] : stack_list(n, scope, &r, o - r.states, 0, false);
    if (!value || !zb_onnx_give_output(n, scope, o, value)) return ZB_FAIL;
  }
  return ZB_OK;
}

/* ---- Scan ---- */

static int64_t entry_of(zb_import_node *n, const char *name, size_t index, bool *good) {
  int64_t list[VALUES_MAX];
  int count = 0;
  if (!zb_onnx_ints(n, name, list, VALUES_MAX, &count)) return *good = *good && !n->im->failed, 0;
  if (index < (size_t)count) return list[index];
  *good = zb_import_refuse(n, NULL, "attribute '%s' has %d entries, and entry %zu is read", name, count, index);
  return 0;
}

/* The size of a dimension of what is scanned, and its rank, which the file must say: shapes are inferred later. */
static bool scanned_size(zb_import_node *n, const zb_import_value *value, int64_t axis, int64_t *size, int *rank) {
  const zb_onnx *onnx = zb_onnx_of(n->im);
  const Onnx__GraphProto *graph = onnx->graph;
  const Onnx__TypeProto *type = NULL;
  if (value->kind == ZB_VALUE_INITIAL) {
    const Onnx__TensorProto *tensor = graph->initializer[value->index];
    *rank = (int)tensor->n_dims;
    if (axis < -*rank || axis >= *rank) return zb_import_refuse(n, NULL, "a scan axis is out of range");
    *size = tensor->dims[axis < 0 ? axis + *rank : axis];
    return true;
  }
  if (value->kind == ZB_VALUE_INPUT) type = graph->input[value->index]->type;
  for (size_t i = 0; !type && i < graph->n_value_info; ++i)
    if (*value->name && strcmp(graph->value_info[i]->name, value->name) == 0) type = graph->value_info[i]->type;
  const Onnx__TensorShapeProto *shape = type && type->tensor_type ? type->tensor_type->shape : NULL;
  *rank = shape ? (int)shape->n_dim : 0;
  if (shape && (axis < -*rank || axis >= *rank)) return zb_import_refuse(n, NULL, "a scan axis is out of range");
  *size = shape ? zb_onnx_dim_size(onnx, shape->dim[axis < 0 ? axis + *rank : axis]) : -1;
  if (*size > 0 && *size <= ROUNDS_MAX) return true;
  return zb_import_refuse(n, "write shapes into the file: onnx.shape_inference.infer_shapes",
                          "the length of what it scans ('%s') is not known, or more than %d", value->name, ROUNDS_MAX);
}

/* What is scanned, round by round. */
typedef struct scan {
  rounds rounds;
  zb_import_value *state[VALUES_MAX], *scanned[VALUES_MAX];
  int64_t axis[VALUES_MAX], length;
  bool backward[VALUES_MAX];
  size_t count; /* of scanned */
} scan;

static zb_result run_scan(zb_import_node *n, const zb_onnx_scope *scope, scan *s) {
  zb_import_value *in[VALUES_MAX], *out[VALUES_MAX];
  for (int64_t k = 0; k < s->length; ++k) {
    memcpy(in, s->state, s->rounds.states * sizeof *in);
    for (size_t i = 0; i < s->count; ++i) {
      in[s->rounds.states + i] =
          take_slice(n, scope, s->scanned[i], s->axis[i], s->backward[i] ? s->length - 1 - k : k);
      if (!in[s->rounds.states + i]) return ZB_FAIL;
    }
    if (!add_body(n, scope, s->rounds.graph, in, out) || !keep_lists(n, &s->rounds, out + s->rounds.states))
      return ZB_FAIL;
    memcpy(s->state, out, s->rounds.states * sizeof *out);
  }
  return ZB_OK;
}

static zb_result check_scan(zb_import_node *n, scan *s, int first) {
  const int64_t count = zb_onnx_int(n, "num_scan_inputs", 0), states = n->input_count - first - count;
  const Onnx__NodeProto *proto = n->source;
  s->rounds.graph = graph_of(n, "body");
  if (!s->rounds.graph) return ZB_FAIL;
  const Onnx__GraphProto *graph = s->rounds.graph;
  if (count < 1 || states < 0 || states + count > VALUES_MAX || (int64_t)graph->n_input != states + count ||
      graph->n_output > VALUES_MAX || (int64_t)graph->n_output < states || proto->n_output > graph->n_output)
    return zb_import_refuse(n, NULL, "its body has %zu inputs and %zu outputs, which do not fit %d inputs",
                            graph->n_input, graph->n_output, n->input_count);
  for (int i = first; i < n->input_count; ++i)
    if (!n->inputs[i]) return zb_import_refuse(n, NULL, "input %d is missing", i);
  s->count = (size_t)count;
  s->rounds.states = (size_t)states;
  s->rounds.lists = graph->n_output - (size_t)states;
  return ZB_OK;
}

/* Reads the axes of what is scanned; all have one length. */
static zb_result read_scanned(zb_import_node *n, scan *s, int first) {
  bool good = true;
  for (size_t i = 0; i < s->count; ++i) {
    int64_t length;
    int rank;
    s->scanned[i] = n->inputs[first + (int)(s->rounds.states + i)];
    s->axis[i] = entry_of(n, "scan_input_axes", i, &good);
    s->backward[i] = entry_of(n, "scan_input_directions", i, &good) != 0;
    if (!good || !scanned_size(n, s->scanned[i], s->axis[i], &length, &rank)) return ZB_FAIL;
    if (i > 0 && length != s->length)
      return zb_import_refuse(n, NULL, "what it scans has %" PRId64 " and %" PRId64 " rounds", s->length, length);
    s->length = length;
  }
  memcpy(s->state, n->inputs + first, s->rounds.states * sizeof *s->state);
  return ZB_OK;
}

static zb_result add_scan(zb_import_node *n, const zb_onnx_scope *scope) {
  scan s = {.count = 0};
  const Onnx__NodeProto *proto = n->source;
  bool good = true;
  if (!check_scan(n, &s, 0) || !read_scanned(n, &s, 0) || !run_scan(n, scope, &s)) return ZB_FAIL;
  for (size_t o = 0; o < proto->n_output; ++o) {
    zb_import_value *value = o < s.rounds.states ? s.state[o] : NULL;
    if (!value && !*proto->output[o]) continue;
    if (!value) {
      const size_t list = o - s.rounds.states;
      const int64_t axis = entry_of(n, "scan_output_axes", list, &good);
      const bool backward = entry_of(n, "scan_output_directions", list, &good) != 0;
      value = good ? stack_list(n, scope, &s.rounds, list, axis, backward) : NULL;
    }
    if (!value || !zb_onnx_give_output(n, scope, o, value)) return ZB_FAIL;
  }
  return ZB_OK;
}

/* ---- Scan of opset 8: for every row of a batch ---- */

/* One row: states and what is scanned without dimension 0. */
static zb_result scan_row(zb_import_node *n, const zb_onnx_scope *scope, scan *s, int64_t row) {
  for (size_t i = 0; i < s->rounds.states; ++i)
    if (!(s->state[i] = take_slice(n, scope, n->inputs[1 + i], 0, row))) return ZB_FAIL;
  for (size_t i = 0; i < s->count; ++i)
    if (!(s->scanned[i] = take_slice(n, scope, n->inputs[1 + s->rounds.states + i], 0, row))) return ZB_FAIL;
  return run_scan(n, scope, s);
}

static zb_result add_scan_of_batch(zb_import_node *n, const zb_onnx_scope *scope) {
  scan s = {.count = 0};
  const Onnx__NodeProto *proto = n->source;
  int64_t rows = 0;
  int rank;
  bool good = true;
  if (n->input_count > 0 && n->inputs[0]) return zb_import_refuse(n, NULL, "sequence_lens are not supported");
  if (!check_scan(n, &s, 1)) return ZB_FAIL;
  zb_import_value *const first = n->inputs[1 + (int)s.rounds.states];
  if (!scanned_size(n, first, 0, &rows, &rank) || !scanned_size(n, first, 1, &s.length, &rank)) return ZB_FAIL;
  for (size_t i = 0; i < s.count; ++i)
    s.backward[i] = entry_of(n, "directions", i, &good) != 0;
  const size_t outputs = proto->n_output;
  zb_import_value **made = zb_import_take(n->im, outputs * (size_t)rows * sizeof *made);
  if (!made || !good) return ZB_FAIL;
  for (int64_t row = 0; row < rows; ++row) {
    s.rounds.count = 0;
    if (!scan_row(n, scope, &s, row)) return ZB_FAIL;
    for (size_t o = 0; o < outputs; ++o) {
      zb_import_value *value =
          o < s.rounds.states ? s.state[o] : stack_list(n, scope, &s.rounds, o - s.rounds.states, 0, false);
      if (!value) return ZB_FAIL;
      made[o * (size_t)rows + (size_t)row] = value;
    }
  }
  for (size_t o = 0; o < outputs; ++o) {
    zb_import_value *value = stack(n, scope, made + o * (size_t)rows, (size_t)rows, 0);
    if (!value || !zb_onnx_give_output(n, scope, o, value)) return ZB_FAIL;
  }
  return ZB_OK;
}

zb_result zb_onnx_add_control(zb_import_node *n, const zb_onnx_scope *scope) {
  if (strcmp(n->kind, "If") == 0) return add_if(n, scope);
  if (strcmp(n->kind, "Loop") == 0) return add_loop(n, scope);
  return zb_onnx_of(n->im)->opset < 9 ? add_scan_of_batch(n, scope) : add_scan(n, scope);
}
