/* What an elementwise part of the graph computes, of one element: how the optimizer of a step is told by its numbers,
 * whatever way it is written. Tests: test/ir/import/stablehlo. */
#include "ir/import/stablehlo/stablehlo.h"

#include <math.h>
#include <mlir-c/BuiltinAttributes.h>
#include <string.h>

enum { DEPTH_MAX = 512 };

bool zb_stablehlo_value_shape(zb_stablehlo *it, const zb_import_value *value, zb_shape *out) {
  if (value->kind == ZB_VALUE_INPUT) { /* all arguments are, before their roles are known */
    const zb_stablehlo_argument *a = &it->arguments[value->index];
    *out = a->shape;
    return a->is_typed;
  }
  if (value->kind == ZB_VALUE_INITIAL) {
    *out = value->type;
    return value->is_typed;
  }
  const zb_import_node *n = value->producer;
  if (!n) return false; /* an argument of a region */
  for (int i = 0; i < n->output_count; ++i)
    if (n->outputs[i] == value)
      return zb_stablehlo_shape(mlirValueGetType(mlirOperationGetResult(zb_stablehlo_source(n), i)), out);
  return false;
}

/* ---- Ops ---- */

static double compare(const zb_import_node *n, double a, double b) {
  char direction[16] = "";
  zb_stablehlo_word(zb_stablehlo_source(n), "comparison_direction", direction, sizeof direction);
  return strcmp(direction, "EQ") == 0   ? a == b
         : strcmp(direction, "NE") == 0 ? a != b
         : strcmp(direction, "LT") == 0 ? a < b
         : strcmp(direction, "LE") == 0 ? a <= b
         : strcmp(direction, "GT") == 0 ? a > b
                                        : a >= b;
}

/* The kinds of ops that a formula is made of; the operands of all are as many as are read here. */
typedef enum formula_op {
  OP_NONE,
#define FORMULA_OP(name, operands, value) OP_##name,
#include "ir/import/stablehlo/formula_ops.def"
#undef FORMULA_OP
} formula_op;

static const struct {
  const char *kind;
  int operands;
} formula_ops[] = {
    {"", 0},
#define FORMULA_OP(name, operands, value) {#name, operands},
#include "ir/import/stablehlo/formula_ops.def"
#undef FORMULA_OP
};

static double apply(formula_op op, const zb_import_node *n, double a, double b, double c) {
  switch (op) {
#define FORMULA_OP(name, operands, value)                                                                              \
  case OP_##name:                                                                                                      \
    return value;
#include "ir/import/stablehlo/formula_ops.def"
#undef FORMULA_OP
  default:
    return NAN;
  }
}

static formula_op find_op(const zb_import_node *n) {
  bool is_chlo;
  const char *kind = zb_stablehlo_kind(zb_stablehlo_source(n), &is_chlo);
  for (size_t i = 1; kind && i < sizeof formula_ops / sizeof *formula_ops; ++i)
    if (strcmp(kind, formula_ops[i].kind) == 0)
      return n->input_count == formula_ops[i].operands && n->output_count == 1 ? (formula_op)i : OP_NONE;
  return OP_NONE;
}

static bool is_kind(const zb_import_node *n, const char *wanted) {
  bool is_chlo;
  const char *kind = zb_stablehlo_kind(zb_stablehlo_source(n), &is_chlo);
  return kind && !is_chlo && strcmp(kind, wanted) == 0;
}

/* Of one element, or all elements are one. */
static bool is_scalar_source(zb_stablehlo *it, const zb_import_node *n) {
  zb_shape shape;
  return n->input_count == 1 && n->output_count == 1 && zb_stablehlo_value_shape(it, n->inputs[0], &shape) &&
         zb_shape_elements(&shape) == 1;
}

/* The number of a constant that is one number. */
static bool constant_number(const zb_import_node *n, double *out) {
  int64_t room;
  zb_known one = {.data = &room};
  if (!zb_stablehlo_number(zb_stablehlo_source(n), &one)) return false;
  return *out = zb_known_real(&one, 0), true;
}

static bool is_spread(zb_stablehlo *it, const zb_import_node *n) {
  return (is_kind(n, "broadcast_in_dim") || is_kind(n, "reshape")) && is_scalar_source(it, n);
}

bool zb_stablehlo_is_end(zb_stablehlo *it, const zb_import_value *value) {
  double number;
  if (value->kind != ZB_VALUE_NODE || !value->producer) return true;
  const zb_import_node *n = value->producer;
  if (is_kind(n, "constant")) return !constant_number(n, &number);
  return !find_op(n) && !is_spread(it, n);
}

/* ---- Numbers ---- */

static bool evaluate(zb_stablehlo *it, const zb_import_value *value, const zb_stablehlo_point *point, int depth,
                     double *out) {
  double in[3] = {0};
  for (int i = 0; i < point->count; ++i)
    if (point->values[i] == value) return *out = point->numbers[i], true;
  if (depth > DEPTH_MAX || zb_stablehlo_is_end(it, value)) return false;
  const zb_import_node *n = value->producer;
  if (is_kind(n, "constant")) return constant_number(n, out);
  for (int i = 0; i < n->input_count; ++i)
    if (!evaluate(it, n->inputs[i], point, depth + 1, &in[i])) return false;
  *out = is_spread(it, n) ? in[0] : apply(find_op(n), n, in[0], in[1], in[2]);
  return true;
}

bool zb_stablehlo_evaluate(zb_stablehlo *it, const zb_import_value *value, const zb_stablehlo_point *point,
                           double *out) {
  return evaluate(it, value, point, 0, out);
}

/* ---- Dependences ---- */

bool zb_stablehlo_formula(zb_stablehlo *it, const zb_import_value *value, const zb_import_value **out, size_t room,
                          size_t *count) {
  *count = 0;
  out[(*count)++] = value;
  for (size_t i = 0; i < *count; ++i) {
    if (zb_stablehlo_is_end(it, out[i])) continue;
    const zb_import_node *n = out[i]->producer;
    for (int k = 0; k < n->input_count; ++k) {
      bool known = false;
      for (size_t j = 0; j < *count && !known; ++j)
        known = out[j] == n->inputs[k];
      if (known) continue;
      if (*count == room) return false;
      out[(*count)++] = n->inputs[k];
    }
  }
  return true;
}

bool zb_stablehlo_is_behind(zb_stablehlo *it, const zb_import_value *value) {
  double number;
  return value->kind == ZB_VALUE_NODE && !it->in_loss[value->number] &&
         !zb_stablehlo_evaluate(it, value, &(zb_stablehlo_point){.count = 0}, &number);
}
