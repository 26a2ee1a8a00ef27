/* Whether what a step updates its parameters with are the gradients of its loss: op by op, exactly.
 *
 *   matmul(%x, %w) -> %y                                  forward
 *   matmul_grad(%x, %w, %dy) -> %dx, %dw                  %dy is the whole gradient of %y: then %dx is one of the
 *                                                         gradients of %x, and %dw one of those of %w
 *   add_n(%dx, %dz) -> %g                                 both of one value: their sum is the gradient for both uses
 *   adamw(%w, %g, ...)                                    %g must be the gradient of %w for all its uses
 *
 * zbc then makes these gradients itself (zb-autodiff), with the same ops in the same places: a gradient op of the file
 * belongs to the forward op `of`. What is more than that (clipping, a penalty that is no decay, gradients that were
 * stopped) is an error at the op. Values that are computed twice, constants above all, are told to be the same.
 * Tests: test/ir/import/paddle, test/e2e/paddle.py. */
#include "ir/import/paddle/paddle.h"

#include <stdio.h>
#include <string.h>

/* What is known of a value of the backward pass. */
typedef struct gradient {
  const zb_paddle_value *of; /* NULL: it is no gradient */
  int uses;                  /* of these it has the gradients */
  bool is_summed;            /* into another: then it must not be used once more */
  double decay;              /* and this times `of` is added */
} gradient;

typedef struct backward {
  zb_paddle *it;
  gradient *gradients;           /* per value */
  int *uses;                     /* per value: how many gradients it gets */
  const zb_paddle_value **twins; /* per value: the first that is the same; NULL: itself */
  bool *in_loss, *in_step;       /* per op: the loss, an update depends on it */
  int *first_given;              /* per op: of its operands in `given` */
  bool *given;                   /* operands of forward ops whose gradient an op gave */
  double *decays;                /* per op */
} backward;

#define OTHER_HINT                                                                                                     \
  "name the optimizer with --optimizer: gradients and update of the file are then left out, and zbc makes its own "    \
  "(--clip-norm clips)"

/* ---- Slices ---- */

static void mark(const zb_paddle_program *p, bool *in, const zb_paddle_value *value) {
  if (value && value->producer) in[value->producer - p->ops] = true;
}

static void close_slice(const zb_paddle_program *p, bool *in) {
  for (size_t i = p->op_count; i-- > 0;)
    if (in[i]) zb_paddle_mark_producers(p, &p->ops[i], in);
}

static bool is_update(const zb_paddle_op *op) { return op->row && op->row->class == ZB_PADDLE_UPDATE; }

static bool is_float(const zb_paddle_value *value) {
  return value && (!value->is_typed || zb_dtype_is_float(value->shape.dtype));
}

/* Whether a gradient flows to operand k of a slot. */
static bool carries(const zb_paddle_op *op, const zb_paddle_slot *slot, int k) {
  int place = 0;
  if (!op->row || !slot->name) return true;
  for (const char *at = op->row->inputs; *at;) {
    const size_t length = strcspn(at, " *");
    if (strlen(slot->name) == length && memcmp(at, slot->name, length) == 0) break;
    const zb_paddle_slot *other = NULL;
    for (int i = 0; i < op->input_count; ++i)
      if (op->inputs[i].name && strlen(op->inputs[i].name) == length && memcmp(op->inputs[i].name, at, length) == 0)
        other = &op->inputs[i];
    place += other && other->count > 1 ? other->count : 1;
    at += strcspn(at, " ");
    at += strspn(at, " ");
  }
  place += k;
  return op->row->op.gradient >> (place < 31 ? place : 31) & 1;
}

/* Whether a gradient comes to a result of an op. */
static bool gets_gradient(const backward *b, const zb_paddle_op *op) {
  for (int k = 0; k < op->result_count; ++k)
    if (op->results[k] && !op->results[k]->stops_gradient && b->uses[op->results[k]->number] > 0) return true;
  return false;
}

/* From the loss back: what a gradient reaches, and how often. */
static void count_uses(backward *b) {
  const zb_paddle_program *p = &b->it->program;
  int given = 0;
  for (size_t i = 0; i < p->op_count; ++i) {
    b->first_given[i] = given;
    given += p->ops[i].operand_count;
  }
  b->uses[b->it->loss->number] = 1;
  for (size_t i = p->op_count; i-- > 0;) {
    const zb_paddle_op *op = &p->ops[i];
    if (!b->in_loss[i] || !gets_gradient(b, op)) continue;
    for (int s = 0; s < op->input_count; ++s)
      for (int k = 0; k < op->inputs[s].count; ++k)
        if (is_float(op->inputs[s].values[k]) && carries(op, &op->inputs[s], k))
          ++b->uses[op->inputs[s].values[k]->number];
  }
}

/* ---- What is the same ---- */

static const zb_paddle_value *first_of(const backward *b, const zb_paddle_value *value) {
  return value && b->twins[value->number] ? b->twins[value->number] : value;
}

static bool same_number(double a, double b) { return a == b || (a != a && b != b); }

static bool same_attribute(const zb_paddle_attribute *a, const zb_paddle_attribute *b) {
  if (a->kind != b->kind || a->count != b->count || a->integer != b->integer || !same_number(a->real, b->real))
    return false;
  if (a->kind == ZB_PADDLE_TEXT) return strcmp(a->text, b->text) == 0;
  for (int i = 0; i < a->count; ++i) {
    if (a->kind == ZB_PADDLE_INTEGERS && a->integers[i] != b->integers[i]) return false;
    if (a->kind == ZB_PADDLE_REALS && !same_number(a->reals[i], b->reals[i])) return false;
    if (a->kind == ZB_PADDLE_TEXTS && strcmp(a->texts[i], b->texts[i]) != 0) return false;
  }
  return true;
}

/* Attributes that both have; those of the first op that say something. *name: the one that differs. */
static bool same_attributes(const zb_paddle_op *a, const zb_paddle_op *b, bool exactly, const char **name) {
  for (int i = 0; i < a->attribute_count; ++i) {
    const zb_paddle_attribute *own = &a->attributes[i], *other = zb_paddle_find(b, own->name);
    if (zb_paddle_is_ignored(own->name)) continue;
    if (other ? same_attribute(own, other) : !exactly) continue;
    *name = own->name;
    return false;
  }
  return true;
}

static bool same_slots(const backward *b, const zb_paddle_op *x, const zb_paddle_op *y) {
  if (x->input_count != y->input_count || x->output_count != y->output_count) return false;
  for (int s = 0; s < x->input_count; ++s)
    if (x->inputs[s].count != y->inputs[s].count) return false;
  for (int k = 0; k < x->operand_count; ++k)
    if (first_of(b, x->operands[k]) != first_of(b, y->operands[k])) return false;
  for (int s = 0; s < x->output_count; ++s)
    if (x->outputs[s].count != y->outputs[s].count) return false;
  return true;
}

/* Values of an op that computes the same as one before it are twins of that one's. */
static void find_twin(backward *b, const zb_paddle_op *op) {
  const zb_paddle_program *p = &b->it->program;
  const char *name;
  if (!op->row || op->row->class != ZB_PADDLE_FORWARD || strcmp(op->kind, "dropout") == 0) return;
  for (const zb_paddle_op *other = p->ops; other < op; ++other) {
    if (strcmp(other->kind, op->kind) != 0 || !same_slots(b, op, other) || !same_attributes(op, other, true, &name))
      continue;
    for (int k = 0; k < op->result_count; ++k)
      if (op->results[k] && other->results[k]) b->twins[op->results[k]->number] = first_of(b, other->results[k]);
    return;
  }
}

/* ---- Gradients ---- */

static gradient *of_value(const backward *b, const zb_paddle_value *value) {
  return value ? &b->gradients[value->number] : NULL;
}

static bool is_gradient(const backward *b, const zb_paddle_value *value) { return value && of_value(b, value)->of; }

/* The value whose whole gradient this is; NULL: it is none. */
static const zb_paddle_value *whole(const backward *b, const zb_paddle_value *value) {
  const gradient *g = of_value(b, value);
  return g && g->of && !g->is_summed && g->decay == 0 && g->uses == b->uses[g->of->number] ? g->of : NULL;
}

static bool has_gradients(const backward *b, const zb_paddle_op *op) {
  for (int k = 0; k < op->operand_count; ++k)
    if (is_gradient(b, op->operands[k])) return true;
  return false;
}

/* The place in `given` of the first operand of a slot. */
static int place_of(const backward *b, const zb_paddle_op *op, const zb_paddle_slot *slot) {
  return b->first_given[op - b->it->program.ops] + (int)(slot->values - op->operands);
}

/* Sets what operand k of a slot of a forward op gets. */
static zb_result give(backward *b, const zb_paddle_op *op, const zb_paddle_op *forward, const zb_paddle_slot *slot,
                      int k, const zb_paddle_value *value) {
  const int place = place_of(b, forward, slot) + k;
  if (!value) return ZB_OK;
  if (b->given[place])
    return zb_paddle_refuse(b->it, op, OTHER_HINT, "the gradient of operand %s of op %d (%s) is made twice",
                            slot->name ? slot->name : "?", forward->number, forward->kind);
  b->given[place] = true;
  *of_value(b, value) = (gradient){.of = slot->values[k], .uses = 1};
  return ZB_OK;
}

static void pair(zb_paddle_op *op, const zb_paddle_op *forward) {
  op->of = forward;
  ((zb_paddle_op *)(uintptr_t)forward)->gradient = op;
}

/* ---- The forms of gradients ---- */

static const char *base_of(const char *slot, char *out, size_t room) {
  const int length = (int)strlen(slot) - (int)strlen("@GRAD");
  if (length <= 0 || !zb_ends_with(slot, "@GRAD")) return NULL;
  snprintf(out, room, "%.*s", length, slot);
  return out;
}

static zb_result refuse_form(backward *b, const zb_paddle_op *op) {
  char base[96];
  const bool is_known = op->row || !zb_ends_with(op->kind, "_grad");
  snprintf(base, sizeof base, "%.*s", is_known ? 0 : (int)strlen(op->kind) - 5, op->kind);
  if (!is_known)
    return zb_paddle_refuse(b->it, op, "write the loss with ops that are rows of ir/import/paddle/paddle_ops.def",
                            "gradients of '%s' are not supported", base);
  return zb_paddle_refuse(b->it, op, OTHER_HINT,
                          "a parameter is updated with what it makes of gradients, which is no part of the gradient of "
                          "the loss");
}

/* The forward op whose result a gradient op has the whole gradient of; NULL: there is none. */
static const zb_paddle_op *forward_of(const backward *b, const zb_paddle_op *op) {
  char base[64];
  for (int s = 0; s < op->input_count; ++s) {
    if (!op->inputs[s].name || !base_of(op->inputs[s].name, base, sizeof base) || op->inputs[s].count < 1) continue;
    const zb_paddle_value *of = whole(b, op->inputs[s].values[0]);
    if (of && of->producer && b->in_loss[of->producer - b->it->program.ops]) return of->producer;
  }
  return NULL;
}

/* Whether what an op reads beside gradients is what the forward op has read or given. */
static zb_result check_operands(backward *b, const zb_paddle_op *op, const zb_paddle_op *forward) {
  char base[64];
  for (int s = 0; s < op->input_count; ++s) {
    const zb_paddle_slot *slot = &op->inputs[s];
    const char *own = slot->name ? base_of(slot->name, base, sizeof base) : NULL;
    const zb_paddle_slot *other = own           ? zb_paddle_output_slot(forward, own)
                                  : !slot->name ? NULL
                                                : zb_paddle_input_slot(forward, slot->name);
    if (!other && slot->name && !own) other = zb_paddle_output_slot(forward, slot->name);
    for (int k = 0; k < slot->count; ++k) {
      if (!slot->values[k]) continue;
      const zb_paddle_value *wanted = other && k < other->count ? other->values[k] : NULL;
      const bool good = own ? wanted && whole(b, slot->values[k]) == wanted
                            : wanted && first_of(b, wanted) == first_of(b, slot->values[k]);
      if (!good)
        return zb_paddle_refuse(b->it, op, OTHER_HINT, "its operand %s is not that of op %d (%s), whose gradient it is",
                                slot->name ? slot->name : "?", forward->number, forward->kind);
    }
  }
  return ZB_OK;
}

static zb_result explain_row(backward *b, zb_paddle_op *op) {
  char base[64];
  const char *name;
  const zb_paddle_op *forward = forward_of(b, op);
  if (!forward || !forward->row || strcmp(forward->row->op.name, op->row->of) != 0) {
    for (int k = 0; k < op->operand_count; ++k) {
      const gradient *g = of_value(b, op->operands[k]);
      if (g && g->of && !g->is_summed && g->decay == 0 && g->uses != b->uses[g->of->number])
        return zb_paddle_refuse(b->it, op, OTHER_HINT,
                                "of the %d uses of '%s' it has the gradients of %d: the others were stopped",
                                b->uses[g->of->number], g->of->name, g->uses);
    }
    return refuse_form(b, op);
  }
  if (!check_operands(b, op, forward)) return ZB_FAIL;
  if (!same_attributes(forward, op, false, &name))
    return zb_paddle_refuse(b->it, op, OTHER_HINT, "its attribute '%s' is not that of op %d (%s), whose gradient it is",
                            name, forward->number, forward->kind);
  const zb_paddle_attribute *axis = zb_paddle_find(op, "axis");
  if (axis && !zb_paddle_find(forward, "axis") && !zb_paddle_input_slot(forward, "AxisTensor") && axis->integer != -1)
    return zb_paddle_refuse(b->it, op, OTHER_HINT, "its attribute 'axis' is not that of op %d (%s), which has none",
                            forward->number, forward->kind);
  for (int s = 0; s < op->output_count; ++s) {
    const zb_paddle_slot *slot = &op->outputs[s];
    const char *own = slot->name ? base_of(slot->name, base, sizeof base) : NULL;
    const zb_paddle_slot *to = own ? zb_paddle_input_slot(forward, own) : NULL;
    for (int k = 0; to && k < slot->count && k < to->count; ++k)
      if (to->values[k] && !give(b, op, forward, to, k, slot->values[k])) return ZB_FAIL;
  }
  pair(op, forward);
  return ZB_OK;
}

/* Whether an op multiplies by one number, without adding another: it has the factor of `other`, or NULL: that is 1. */
static bool scales_by(const backward *b, const zb_paddle_op *op, const zb_paddle_op *other) {
  const zb_paddle_attribute *bias = zb_paddle_find(op, "bias"), *factor = zb_paddle_find(op, "scale");
  const zb_paddle_value *by = zb_paddle_input(op, "ScaleTensor");
  double number;
  if (strcmp(op->kind, "scale") != 0 || (bias && (bias->real != 0 || bias->integer != 0))) return false;
  if (!other && by) return zb_paddle_constant(b->it, by, &number) && number == 1;
  if (!other) return !factor || (factor->kind == ZB_PADDLE_REAL && factor->real == 1);
  const zb_paddle_attribute *wanted = zb_paddle_find(other, "scale");
  if (strcmp(other->kind, "scale") != 0 || first_of(b, by) != first_of(b, zb_paddle_input(other, "ScaleTensor")))
    return false;
  return by || (factor && wanted && same_attribute(factor, wanted));
}

/* The operand of a sum that has no gradient yet: all of them get the same, and Paddle writes them in their order. -1:
 * none. */
static int next_operand(const backward *b, const zb_paddle_op *forward, const zb_paddle_slot *slot) {
  const int place = place_of(b, forward, slot);
  for (int k = 0; k < slot->count; ++k)
    if (!b->given[place + k] && is_float(slot->values[k]) && !slot->values[k]->stops_gradient) return k;
  return -1;
}

/* Ops that are their own gradients, with the same attributes. */
static bool is_own_gradient(const zb_paddle_op *op, const zb_paddle_op *forward) {
  const char *name;
  return strcmp(op->kind, forward->kind) == 0 && zb_word_index("assign share_data flip", op->kind) >= 0 &&
         same_attributes(forward, op, true, &name);
}

/* The gradient of scale is scale, without the bias; that of cast is cast; those of a sum are its own, scaled by 1. */
static zb_result explain_same(backward *b, zb_paddle_op *op, bool *fits) {
  const zb_paddle_value *of = whole(b, zb_paddle_input(op, "X"));
  const zb_paddle_op *forward = of ? of->producer : NULL;
  const zb_paddle_slot *to = forward ? zb_paddle_input_slot(forward, "X") : NULL;
  if (!to || to->count < 1 || !zb_paddle_only_result(op) || !b->in_loss[forward - b->it->program.ops]) return ZB_OK;
  int k = 0;
  const bool is_sum = strcmp(forward->kind, "sum") == 0 || strcmp(forward->kind, "add_n") == 0;
  if (is_sum && scales_by(b, op, NULL))
    k = next_operand(b, forward, to);
  else if (strcmp(op->kind, "cast") == 0 && strcmp(forward->kind, "cast") == 0)
    k = zb_paddle_only_result(op)->shape.dtype == to->values[0]->shape.dtype ? 0 : -1;
  else if (!is_own_gradient(op, forward) && !scales_by(b, op, forward))
    k = -1;
  if (k < 0 || !to->values[k]) return ZB_OK;
  *fits = true;
  if (!forward->gradient) pair(op, forward);
  op->of = forward;
  return give(b, op, forward, to, k, zb_paddle_only_result(op));
}

/* What takes a tensor apart has a gradient that puts it together: unbind and stack, split and concat. */
static zb_result explain_joined(backward *b, zb_paddle_op *op, bool *fits) {
  const bool stacks = strcmp(op->kind, "stack") == 0;
  const zb_paddle_slot *parts = zb_paddle_input_slot(op, "X");
  if ((!stacks && strcmp(op->kind, "concat") != 0) || !parts || parts->count < 1) return ZB_OK;
  const zb_paddle_value *of = whole(b, parts->values[0]);
  const zb_paddle_op *forward = of ? of->producer : NULL;
  const bool is_right = forward && forward->row &&
                        (stacks ? strcmp(forward->kind, "unbind") == 0 : strncmp(forward->kind, "split", 5) == 0);
  const zb_paddle_slot *wanted = is_right ? zb_paddle_output_slot(forward, "Out") : NULL;
  const zb_paddle_slot *to = is_right ? zb_paddle_input_slot(forward, "X") : NULL;
  if (!wanted || !to || wanted->count != parts->count || !b->in_loss[forward - b->it->program.ops]) return ZB_OK;
  for (int k = 0; k < parts->count; ++k)
    if (!parts->values[k] || whole(b, parts->values[k]) != wanted->values[k]) return ZB_OK;
  const zb_paddle_attribute *axis = zb_paddle_find(op, "axis"), *other = zb_paddle_find(forward, "axis");
  const zb_paddle_value *by = zb_paddle_input(op, "AxisTensor"), *own = zb_paddle_input(forward, "AxisTensor");
  if (first_of(b, by) != first_of(b, own) || (!by && (!axis || !other || !same_attribute(axis, other)))) return ZB_OK;
  *fits = true;
  pair(op, forward);
  return give(b, op, forward, to, 0, zb_paddle_only_result(op));
}

/* Zeros for a part that nothing reads. */
static bool explain_zeros(backward *b, const zb_paddle_op *op) {
  double number = 1;
  const bool fills = strcmp(op->kind, "fill_zeros_like") == 0 ||
                     (strcmp(op->kind, "full_like") == 0 &&
                      zb_paddle_constant(b->it, zb_paddle_only_result(op), &number) && number == 0);
  const zb_paddle_value *x = zb_paddle_input(op, "X");
  if (!fills || !x || !x->producer || !b->in_loss[x->producer - b->it->program.ops] || !zb_paddle_only_result(op))
    return false;
  *of_value(b, zb_paddle_only_result(op)) = (gradient){.of = x};
  return true;
}

/* The factor where a value is that times a parameter. */
static bool decayed(const backward *b, const zb_paddle_value *value, const zb_paddle_value *parameter, double *out) {
  const zb_paddle_op *op = value ? value->producer : NULL;
  if (!op || strcmp(op->kind, "scale") != 0 || zb_paddle_input(op, "X") != parameter) return false;
  const zb_paddle_attribute *bias = zb_paddle_find(op, "bias"), *factor = zb_paddle_find(op, "scale");
  const zb_paddle_value *by = zb_paddle_input(op, "ScaleTensor");
  if (bias && (bias->real != 0 || bias->integer != 0)) return false;
  if (by) return zb_paddle_constant(b->it, by, out);
  *out = factor ? factor->real : 1;
  return factor && factor->kind == ZB_PADDLE_REAL;
}

/* Gradients of the uses of one value add up to that of all of them; a parameter times a factor is a decay. */
static zb_result explain_sum(backward *b, const zb_paddle_op *op, bool *fits) {
  gradient total = {.of = NULL};
  const bool is_sum = zb_word_index("sum add_n grad_add elementwise_add add", op->kind) >= 0 &&
                      strcmp(op->row ? op->row->op.name : "", "reduce_sum") != 0;
  for (int pass = 0; pass < 2 && is_sum; ++pass) /* gradients first: they say which parameter it is */
    for (int k = 0; k < op->operand_count; ++k) {
      const zb_paddle_value *value = op->operands[k];
      gradient *g = of_value(b, value);
      double factor;
      if (!g) return ZB_OK;
      if (g->of && pass == 0) {
        if (g->is_summed || (total.of && total.of != g->of)) return ZB_OK;
        total.of = g->of;
        total.uses += g->uses;
        total.decay += g->decay;
        g->is_summed = true;
      } else if (!g->of && pass == 1) {
        if (!total.of || !total.of->is_parameter || !decayed(b, value, total.of, &factor)) return ZB_OK;
        total.decay += factor;
      }
    }
  if (!total.of || !zb_paddle_only_result(op)) return ZB_OK;
  *of_value(b, zb_paddle_only_result(op)) = total;
  *fits = true;
  return ZB_OK;
}

/* An op behind the loss that reads gradients. */
static zb_result explain(backward *b, zb_paddle_op *op) {
  bool fits = false;
  if (op->row && op->row->class == ZB_PADDLE_GRADIENT) return explain_row(b, op);
  if (!explain_same(b, op, &fits) || !explain_joined(b, op, &fits)) return ZB_FAIL;
  if (!fits && !explain_sum(b, op, &fits)) return ZB_FAIL;
  if (!fits && (strcmp(op->kind, "assign") == 0 || strcmp(op->kind, "share_data") == 0) && zb_paddle_only_result(op)) {
    gradient *from = of_value(b, zb_paddle_input(op, "X"));
    fits = from && from->of && !from->is_summed;
    if (fits) *of_value(b, zb_paddle_only_result(op)) = *from, from->is_summed = true;
  }
  return fits ? ZB_OK : refuse_form(b, op);
}

/* Whether an op fills the gradient of the loss with ones. */
static bool is_seed(const backward *b, const zb_paddle_op *op) {
  double number;
  const zb_paddle_value *out = zb_paddle_only_result(op);
  char name[512];
  if (!out || !zb_paddle_constant(b->it, out, &number) || number != 1) return false;
  if (strcmp(op->kind, "full_like") == 0) return zb_paddle_input(op, "X") == b->it->loss;
  snprintf(name, sizeof name, "%.500s@GRAD", b->it->loss->name);
  return strcmp(op->kind, "fill_constant") == 0 && strcmp(name, out->name) == 0;
}

static zb_result check_update(backward *b, const zb_paddle_op *op) {
  const zb_paddle_value *parameter = zb_paddle_input(op, "Param"), *value = zb_paddle_input(op, "Grad");
  const gradient *g = of_value(b, value);
  if (!parameter || !value || parameter->producer)
    return zb_paddle_refuse(b->it, op, OTHER_HINT, "it updates no parameter, or one that was changed before");
  if (!g->of || g->of != parameter)
    return zb_paddle_refuse(b->it, op, OTHER_HINT, "'%s' is updated with '%s', which is not the gradient of the loss",
                            parameter->name, value->name);
  if (g->uses != b->uses[parameter->number])
    return zb_paddle_refuse(b->it, op, OTHER_HINT,
                            "of the %d uses of '%s' the gradients of %d reach its update: the "
                            "others were stopped",
                            b->uses[parameter->number], parameter->name, g->uses);
  b->decays[op - b->it->program.ops] = g->decay;
  return ZB_OK;
}

static zb_result take_arrays(backward *b) {
  const zb_paddle_program *p = &b->it->program;
  zb_import *im = &b->it->core;
  size_t operands = 1;
  for (size_t i = 0; i < p->op_count; ++i)
    operands += (size_t)p->ops[i].operand_count;
  b->gradients = zb_import_take(im, (p->value_count + 1) * sizeof *b->gradients);
  b->uses = zb_import_take(im, (p->value_count + 1) * sizeof *b->uses);
  b->twins = zb_import_take(im, (p->value_count + 1) * sizeof *b->twins);
  b->in_loss = zb_import_take(im, (p->op_count + 1) * sizeof *b->in_loss);
  b->in_step = zb_import_take(im, (p->op_count + 1) * sizeof *b->in_step);
  b->first_given = zb_import_take(im, (p->op_count + 1) * sizeof *b->first_given);
  b->decays = zb_import_take(im, (p->op_count + 1) * sizeof *b->decays);
  b->given = zb_import_take(im, operands * sizeof *b->given);
  return im->out_of_memory ? ZB_FAIL : ZB_OK;
}

zb_result zb_paddle_check_backward(zb_paddle *it, double **decays) {
  backward b = {.it = it};
  const zb_paddle_program *p = &it->program;
  if (!take_arrays(&b)) return ZB_FAIL;
  *decays = b.decays;
  mark(p, b.in_loss, it->loss);
  close_slice(p, b.in_loss);
  for (size_t i = 0; i < p->op_count; ++i)
    if (is_update(&p->ops[i])) mark(p, b.in_step, zb_paddle_input(&p->ops[i], "Grad"));
  close_slice(p, b.in_step);
  count_uses(&b);
  for (size_t i = 0; i < p->op_count; ++i) {
    zb_paddle_op *op = &p->ops[i];
    if (is_update(op) && !check_update(&b, op)) return ZB_FAIL;
    if (!b.in_loss[i] && !b.in_step[i]) continue;
    if (!b.in_loss[i] && has_gradients(&b, op) && !explain(&b, op)) return ZB_FAIL;
    if (b.in_step[i] && !b.in_loss[i] && is_seed(&b, op))
      *of_value(&b, zb_paddle_only_result(op)) = (gradient){it->loss, 1, false, 0};
    if (b.in_step[i] && !b.in_loss[i]) explain_zeros(&b, op);
    find_twin(&b, op);
  }
  return ZB_OK;
}
