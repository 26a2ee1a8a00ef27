/* What JAX differentiates by a rule of its own, told by the formula that its function is (rules.def). Without that, the
 * slope is that of the formula, whose pieces meet where the function is smooth:
 *
 *   select(d != d, a + b, max(a, b) + log1p(exp(-|d|)))     a slope of 0 at a = b, with d = a - b
 *   logaddexp(a, b)                                         a slope of 1/2
 *
 * Tests: test/e2e/points.py, test/ir/import/stablehlo/rules.mlir. */
#include "ir/import/stablehlo/stablehlo.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LETTERS = 'z' - 'A' + 1, OPERANDS_MAX = 3, DEPTH_MAX = 32 };

static const struct {
  const char *function, *formula;
} formulas[] = {
#define ZB_RULE(name, run, argument, function, formula) {function, formula},
#include "ir/import/stablehlo/rules.def"
#undef ZB_RULE
};

typedef struct match {
  zb_stablehlo *it;
  zb_import_value *letters[LETTERS];
} match;

/* ---- Formulas ---- */

/* Where a term ends. */
static const char *end_of(const char *term) {
  int depth = 0;
  for (; *term && (depth > 0 || (*term != ',' && *term != ')')); ++term)
    depth += (*term == '(') - (*term == ')');
  return term;
}

static bool number_of(const match *m, const zb_import_value *value, double *out) {
  static const zb_stablehlo_point none = {.count = 0};
  return zb_stablehlo_evaluate(m->it, value, &none, out);
}

static bool is_same(const match *m, const zb_import_value *a, const zb_import_value *b) {
  double x, y;
  return a == b || (number_of(m, a, &x) && number_of(m, b, &y) && x == y);
}

/* Whether a node is the op of a name, or the comparison of a direction. */
static bool is_op(const zb_import_node *n, const char *name, size_t length) {
  char direction[16] = "";
  bool is_chlo;
  const char *kind = zb_stablehlo_kind(zb_stablehlo_source(n), &is_chlo);
  if (kind && strcmp(kind, "compare") == 0) {
    zb_stablehlo_word(zb_stablehlo_source(n), "comparison_direction", direction, sizeof direction);
    kind = direction;
  }
  return kind && strlen(kind) == length && memcmp(kind, name, length) == 0;
}

static bool is_commutative(const char *name, size_t length) {
  static const char *const names[] = {"add", "multiply", "maximum", "minimum", "and", "or", "EQ", "NE"};
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i)
    if (strlen(names[i]) == length && memcmp(names[i], name, length) == 0) return true;
  return false;
}

static bool matches(match *m, const char *term, zb_import_value *value, int depth);

/* The operands of a node in their order, or the first two turned. */
static bool match_operands(match *m, const char *terms, const zb_import_node *n, bool turned, int depth) {
  const match before = *m;
  for (int i = 0; i < n->input_count; ++i) {
    const int operand = turned && i < 2 ? 1 - i : i;
    if ((i > 0 && *terms++ != ',') || !matches(m, terms, n->inputs[operand], depth)) return *m = before, false;
    terms = end_of(terms);
  }
  return *terms == ')';
}

static bool match_node(match *m, const char *term, const zb_import_node *n, int depth) {
  const size_t length = strcspn(term, "(");
  if (!n || n->output_count != 1 || n->input_count > OPERANDS_MAX || !is_op(n, term, length)) return false;
  const bool turns = n->input_count == 2 && is_commutative(term, length);
  term += length + 1;
  return match_operands(m, term, n, false, depth + 1) || (turns && match_operands(m, term, n, true, depth + 1));
}

static bool matches(match *m, const char *term, zb_import_value *value, int depth) {
  double number;
  if (depth > DEPTH_MAX || !value) return false;
  if (isdigit((unsigned char)*term) || *term == '-') {
    const double wanted = strtod(term, NULL);
    return number_of(m, value, &number) && fabs(number - wanted) <= 1e-6 * fabs(wanted);
  }
  if (isalpha((unsigned char)term[1]) || term[1] == '(') return match_node(m, term, value->producer, depth);
  zb_import_value **letter = &m->letters[*term - 'A'];
  if (*letter) return is_same(m, *letter, value);
  *letter = value;
  return term[1] != ':' || match_node(m, term + 2, value->producer, depth);
}

/* Whether an op is in a function of this name, with or without a number behind it: "relu", "relu_3". */
static bool is_within(MlirOperation op, const char *function) {
  char name[256];
  const size_t length = strlen(function);
  for (op = mlirOperationGetParentOperation(op); op.ptr; op = mlirOperationGetParentOperation(op)) {
    if (!zb_stablehlo_string(op, "sym_name", name, sizeof name) || strncmp(name, function, length) != 0) continue;
    const char *rest = name + length;
    if (!*rest || (*rest == '_' && rest[1] && rest[1 + strspn(rest + 1, "0123456789")] == '\0')) return true;
  }
  return false;
}

zb_result zb_stablehlo_apply_rule(zb_stablehlo *it, zb_import_node *n) {
  for (size_t i = 0; i < sizeof formulas / sizeof *formulas; ++i) {
    match m = {.it = it};
    int count = 0;
    if (*formulas[i].function && !is_within(zb_stablehlo_source(n), formulas[i].function)) continue;
    if (!match_node(&m, formulas[i].formula, n, 0)) continue;
    while (m.letters['a' - 'A' + count])
      ++count;
    zb_import_value **inputs = zb_import_take(&it->core, (size_t)count * sizeof *inputs);
    if (!inputs) return ZB_FAIL;
    memcpy(inputs, &m.letters['a' - 'A'], (size_t)count * sizeof *inputs);
    n->inputs = inputs;
    n->input_count = count;
    n->op = zb_stablehlo_rule(i);
    n->gradient = n->op->gradient;
    return ZB_OK;
  }
  return ZB_OK;
}

zb_result zb_stablehlo_apply_rules(zb_stablehlo *it) {
  for (size_t i = 0; i < it->core.node_count; ++i)
    if (!zb_stablehlo_apply_rule(it, &it->core.nodes[i])) return ZB_FAIL;
  return ZB_OK;
}

/* ---- What they become ---- */

static MlirValue number(zb_import_node *n, MlirValue like, double value) {
  zb_shape shape;
  return zb_import_ir_shape(n, like, &shape) ? zb_build_scalar(n->b, shape.dtype, value) : (MlirValue){NULL};
}

static MlirValue choose(zb_import_node *n, MlirValue condition, MlirValue a, MlirValue b) {
  return zb_build(n->b, "where", (MlirValue[]){condition, a, b}, 3, NULL, 0);
}

/* min(max(x, 0), 6), with the slope 0 at both ends. */
zb_result zb_stablehlo_relu6(zb_import_node *n) {
  zb_builder *b = n->b;
  MlirValue x = zb_import_ir(n, 0);
  if (!x.ptr) return ZB_FAIL;
  MlirValue zero = number(n, x, 0), six = number(n, x, 6);
  MlirValue is_inside = zb_build2(b, "and", zb_build2(b, "greater", x, zero), zb_build2(b, "less", x, six));
  MlirValue bounds = zb_build2(b, "min", zb_build2(b, "max", x, zero), six);
  return zb_import_give(n, 0, choose(n, is_inside, x, zb_build1(b, "detach", bounds)));
}

/* max(a, b) + softplus(-|a - b|), each piece of which has the slope of the function. Of NaN and infinities of one sign
 * a + b. To the base of 2 it is softplus of as much in natural units. */
zb_result zb_stablehlo_logaddexp(zb_import_node *n) {
  zb_builder *b = n->b;
  const bool is_base_2 = *n->op->argument == '2';
  if (!is_base_2 && (zb_stablehlo_is_zero(n, 0) || zb_stablehlo_is_zero(n, 1))) {
    MlirValue x = zb_import_ir(n, zb_stablehlo_is_zero(n, 1) ? 0 : 1);
    return x.ptr ? zb_import_give(n, 0, zb_build1(b, "softplus", x)) : ZB_FAIL;
  }
  MlirValue x = zb_import_ir(n, 0), y = zb_import_ir(n, 1);
  if (!x.ptr || !y.ptr) return ZB_FAIL;
  MlirValue off = zb_build2(b, "sub", x, y), unit = number(n, x, 0.693147180559945309);
  MlirValue is_first = zb_build2(b, "greater_equal", off, number(n, x, 0));
  MlirValue rest = choose(n, is_first, zb_build1(b, "neg", off), off);
  rest = zb_build1(b, "softplus", is_base_2 ? zb_build2(b, "mul", rest, unit) : rest);
  rest = is_base_2 ? zb_build2(b, "div", rest, unit) : rest;
  rest = zb_build2(b, "add", choose(n, is_first, x, y), rest);
  return zb_import_give(n, 0, choose(n, zb_build1(b, "is_nan", off), zb_build2(b, "add", x, y), rest));
}
