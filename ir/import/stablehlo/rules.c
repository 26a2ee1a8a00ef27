/* Slopes that are those of JAX (rules.def). A lowered loss has lost the rules of functions that JAX differentiates by
 * one of their own; they are told by their formula, whose own slope is another one where its pieces meet:
 *
 *   select(d != d, a + b, max(a, b) + log1p(exp(-|d|)))     a slope of 0 and 1 at a = b, with d = a - b
 *   logaddexp(a, b)                                         slopes of 1/2
 *
 * Tests: test/e2e/points.py, test/ir/import/stablehlo/rules.mlir. */
#include "ir/import/stablehlo/stablehlo.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LETTERS = 'z' - 'A' + 1, OPERANDS_MAX = 3, DEPTH_MAX = 32 };

typedef struct rule {
  const char *function, *formula;
  zb_import_op op;                  /* of a row of its own: what the node becomes */
  const char *slopes[OPERANDS_MAX]; /* else */
} rule;

static zb_result build_op(zb_import_node *n);

static const rule rules[] = {
#define ZB_RULE(function, formula, zb_op)                                                                              \
  {function, formula, {zb_op, "", 1, 1, 1, 1, build_op, zb_op, ZB_FOLD_NEVER, 0}, {0}},
#define ZB_SLOPES(function, formula, a, b, c) {function, formula, {0}, {a, b, c}},
#include "ir/import/stablehlo/rules.def"
#undef ZB_RULE
#undef ZB_SLOPES
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

static void add_text(MlirStringRef part, void *text) { zb_text_add(text, "%.*s", (int)part.length, part.data); }

/* Whether an op is in a function of this name, with or without a number behind it: "relu", "relu_3"; or was, and its
 * location says so: "jit(loss)/jit(relu)/max". */
static bool is_within(MlirOperation op, const char *function) {
  char name[256];
  zb_text text = {0};
  const size_t length = strlen(function);
  mlirLocationPrint(mlirOperationGetLocation(op), add_text, &text);
  snprintf(name, sizeof name, "jit(%s)/", function);
  const bool was_within = text.data && strstr(text.data, name);
  zb_text_deinit(&text);
  if (was_within) return true;
  for (op = mlirOperationGetParentOperation(op); op.ptr; op = mlirOperationGetParentOperation(op)) {
    if (!zb_stablehlo_string(op, "sym_name", name, sizeof name) || strncmp(name, function, length) != 0) continue;
    const char *rest = name + length;
    if (!*rest || (*rest == '_' && rest[1] && rest[1 + strspn(rest + 1, "0123456789")] == '\0')) return true;
  }
  return false;
}

/* The rule of a node; NULL: none. */
static const rule *find(zb_stablehlo *it, const zb_import_node *n, match *m) {
  for (size_t i = 0; i < sizeof rules / sizeof *rules; ++i) {
    *m = (match){.it = it};
    if (!match_node(m, rules[i].formula, n, 0)) continue;
    if (!*rules[i].function || is_within(zb_stablehlo_source(n), rules[i].function)) return &rules[i];
  }
  return NULL;
}

/* ---- Nodes that become an op ---- */

static zb_result build_op(zb_import_node *n) {
  MlirValue x = zb_import_ir(n, 0);
  return x.ptr && zb_import_give(n, 0, zb_build1(n->b, n->op->argument, x)) ? zb_stablehlo_check_results(n) : ZB_FAIL;
}

zb_result zb_stablehlo_apply_rule(zb_stablehlo *it, zb_import_node *n) {
  match m;
  const rule *r = find(it, n, &m);
  if (!r || !r->op.name) return ZB_OK;
  n->inputs = zb_import_take(&it->core, sizeof *n->inputs);
  if (!n->inputs) return ZB_FAIL;
  n->inputs[0] = m.letters['a' - 'A'];
  n->input_count = 1;
  n->op = &r->op;
  n->gradient = r->op.gradient;
  return ZB_OK;
}

zb_result zb_stablehlo_apply_rules(zb_stablehlo *it) {
  for (size_t i = 0; i < it->core.node_count; ++i)
    if (!zb_stablehlo_apply_rule(it, &it->core.nodes[i])) return ZB_FAIL;
  return ZB_OK;
}

/* ---- Slopes ---- */

typedef struct slope {
  zb_import_node *n;
  const match *m;
  MlirValue out;
  zb_dtype dtype;
} slope;

/* The value that a term says, which ends at *term. */
static MlirValue build_term(slope *s, const char **term) {
  char name[32];
  MlirValue operands[OPERANDS_MAX];
  const char *begin = *term;
  int count = 0;
  *term += strcspn(begin, "(,)");
  if (isdigit((unsigned char)*begin) || *begin == '-') return zb_build_scalar(s->n->b, s->dtype, strtod(begin, NULL));
  if (*term == begin + 1) return zb_import_value_ir(s->n->im, s->m->letters[*begin - 'A']);
  if (**term != '(') return s->out;
  snprintf(name, sizeof name, "%.*s", (int)(*term - begin), begin);
  do {
    ++*term;
    operands[count++] = build_term(s, term);
    if (!operands[count - 1].ptr) return operands[count - 1];
  } while (**term == ',' && count < OPERANDS_MAX);
  ++*term;
  return s->n->b->failed ? (MlirValue){NULL} : zb_build(s->n->b, name, operands, count, NULL, 0);
}

/* A gradient may flow to it: it is not known, and of values of regions nobody has looked. */
static bool is_reached(const zb_stablehlo *it, const zb_import_value *value) {
  return value && !value->known && value->kind != ZB_VALUE_INPUT && (value->reached || it->in_lanes);
}

zb_result zb_stablehlo_apply_slopes(zb_import_node *n) {
  match m;
  zb_shape shape;
  zb_stablehlo *it = zb_stablehlo_of(n->im);
  const rule *r = n->output_count == 1 && n->outputs[0]->value.ptr ? find(it, n, &m) : NULL;
  if (!r || r->op.name || n->im->params->inference) return ZB_OK;
  slope s = {.n = n, .m = &m, .out = n->outputs[0]->value};
  if (!zb_import_ir_shape(n, s.out, &shape)) return ZB_FAIL;
  s.dtype = shape.dtype;
  if (!zb_stablehlo_is_float(shape.dtype)) return ZB_OK;
  s.out = zb_build1(n->b, "detach", s.out);
  MlirValue whole = s.out;
  for (int i = 0; i < OPERANDS_MAX; ++i) {
    zb_import_value *x = m.letters['a' - 'A' + i];
    const char *term = r->slopes[i];
    if (!*term || !is_reached(it, x)) continue;
    const bool is_condition = *term == '?';
    term += is_condition;
    MlirValue value = build_term(&s, &term), of = zb_import_value_ir(n->im, x);
    if (!value.ptr || !of.ptr) return ZB_FAIL;
    if (is_condition) {
      of = zb_build(n->b, "where", (MlirValue[]){value, of, zb_build1(n->b, "detach", of)}, 3, NULL, 0);
      value = zb_build_scalar(n->b, s.dtype, 1);
    }
    whole = zb_build2(n->b, "add", whole, zb_build2(n->b, "slope", of, zb_build1(n->b, "detach", value)));
  }
  n->outputs[0]->value = whole;
  return n->b->failed ? ZB_FAIL : ZB_OK;
}
