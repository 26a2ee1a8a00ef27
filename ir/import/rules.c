/* Rules of formulas: what a framework means by several nodes, told by their formula and by the function of the
 * framework that they are in (rules.def of ir/import/stablehlo and ir/import/onnx):
 *
 *   Log(Add(a, 1))                                           log1p(a), which keeps the digits of small numbers
 *   select(d != d, a + b, max(a, b) + log1p(exp(-|d|)))      a slope of 0 and 1 at a = b, with d = a - b
 *   logaddexp(a, b)                                          slopes of 1/2
 *
 * Tests: test/e2e/points.py, test/ir/import/stablehlo/rules.mlir, test/ir/import/import_test.c. */
#include "ir/import/import.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LETTERS = 'z' - 'A' + 1, DEPTH_MAX = 32 };

typedef struct match {
  const zb_import_rules *rules;
  zb_import *im;
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
  return m->rules->number(m->im, value, out);
}

static bool is_same(const match *m, const zb_import_value *a, const zb_import_value *b) {
  double x, y;
  return a == b || (number_of(m, a, &x) && number_of(m, b, &y) && x == y);
}

static bool is_op(const match *m, const zb_import_node *n, const char *name, size_t length) {
  char room[32];
  const char *kind = m->rules->kind(n, room, sizeof room);
  return kind && strlen(kind) == length && memcmp(kind, name, length) == 0;
}

static bool is_commutative(const char *name, size_t length) {
  char word[32];
  snprintf(word, sizeof word, "%.*s", (int)length, name);
  return zb_word_index("add multiply maximum minimum and or EQ NE Add Mul Max Min And Or Equal", word) >= 0;
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
  if (!n || n->output_count != 1 || n->input_count > ZB_IMPORT_RULE_OPERANDS || !is_op(m, n, term, length))
    return false;
  const bool turns = n->input_count == 2 && is_commutative(term, length);
  term += length + 1;
  return match_operands(m, term, n, false, depth + 1) || (turns && match_operands(m, term, n, true, depth + 1));
}

static bool matches(match *m, const char *term, zb_import_value *value, int depth) {
  double number;
  if (*term == '_') return !value;
  if (depth > DEPTH_MAX || !value) return false;
  if (isdigit((unsigned char)*term) || *term == '-') {
    const double wanted = strtod(term, NULL);
    return number_of(m, value, &number) && fabs(number - wanted) <= 1e-6 * fabs(wanted);
  }
  if (isalpha((unsigned char)term[1]) || term[1] == '(') return match_node(m, term, value->producer, depth);
  zb_import_value **letter = &m->letters[*term - 'A'];
  if (*letter) return is_same(m, *letter, value);
  *letter = value;
  if (isupper((unsigned char)*term) && term[1] != ':') return number_of(m, value, &number);
  return term[1] != ':' || match_node(m, term + 2, value->producer, depth);
}

bool zb_import_is_named(const char *text, const char *name, char end) {
  const size_t length = strcspn(name, "* ");
  if (strncmp(text, name, length) != 0) return false;
  text += length;
  if (name[length] == '*') return true;
  if (*text == '_') text += 1 + strspn(text + 1, "0123456789");
  return *text == end;
}

/* The rule of a node; NULL: none. */
static const zb_import_rule *find(const zb_import_node *n, match *m) {
  const zb_import_rules *rules = n->im->format->rules;
  for (size_t i = 0; i < rules->count; ++i) {
    const zb_import_rule *r = &rules->rows[i];
    *m = (match){.rules = rules, .im = n->im};
    if (match_node(m, r->formula, n, 0) && (!*r->function || rules->is_within(n, r->function))) return r;
  }
  return NULL;
}

/* ---- Values and slopes ---- */

typedef struct terms {
  zb_import_node *n;
  const match *m;
  MlirValue out;
  zb_dtype dtype;
} terms;

/* The value that a term says, which ends at *term. */
static MlirValue build_term(terms *s, const char **term) {
  char name[32];
  MlirValue operands[ZB_IMPORT_RULE_OPERANDS];
  const char *begin = *term;
  int count = 0;
  *term += strcspn(begin, "(,)");
  if (isdigit((unsigned char)*begin) || *begin == '-') return zb_build_scalar(s->n->b, s->dtype, strtod(begin, NULL));
  if (*term == begin + 1) {
    MlirValue value = zb_import_value_ir(s->n->im, s->m->letters[*begin - 'A']);
    return value.ptr ? zb_build_cast(s->n->b, value, s->dtype) : value;
  }
  if (**term != '(') return s->out;
  snprintf(name, sizeof name, "%.*s", (int)(*term - begin), begin);
  do {
    ++*term;
    operands[count++] = build_term(s, term);
    if (!operands[count - 1].ptr) return operands[count - 1];
  } while (**term == ',' && count < ZB_IMPORT_RULE_OPERANDS);
  ++*term;
  return s->n->b->failed ? (MlirValue){NULL} : zb_build(s->n->b, name, operands, count, NULL, 0);
}

/* The terms of a rule that are gradients: x gets a term times what flows to the result. */
static MlirValue add_slopes(terms *s, const zb_import_rule *r, bool everywhere) {
  zb_builder *b = s->n->b;
  MlirValue whole = s->out = zb_build1(b, "detach", s->out);
  for (int i = 0; i < ZB_IMPORT_RULE_OPERANDS; ++i) {
    const zb_import_value *x = s->m->letters['a' - 'A' + i];
    const char *term = r->slopes[i];
    if (!*term || !x || x->known || x->kind == ZB_VALUE_INPUT || !(x->reached || everywhere)) continue;
    const bool is_condition = *term == '?';
    term += is_condition;
    MlirValue value = build_term(s, &term), of = zb_import_value_ir(s->n->im, s->m->letters['a' - 'A' + i]);
    if (!value.ptr || !of.ptr) return of;
    if (is_condition) {
      of = zb_build(b, "where", (MlirValue[]){value, of, zb_build1(b, "detach", of)}, 3, NULL, 0);
      value = zb_build_scalar(b, s->dtype, 1);
    }
    whole = zb_build2(b, "add", whole, zb_build2(b, "slope", of, zb_build1(b, "detach", value)));
  }
  return whole;
}

zb_result zb_import_apply_rule(zb_import_node *n, bool everywhere) {
  match m;
  zb_shape shape;
  zb_import_value *out = n->output_count == 1 && n->op->gradient ? n->outputs[0] : NULL;
  const zb_import_rule *r = out && out->value.ptr ? find(n, &m) : NULL;
  if (!r) return ZB_OK;
  if (!zb_import_ir_shape(n, out->value, &shape)) return ZB_FAIL;
  if (!zb_dtype_is_float(shape.dtype)) return ZB_OK;
  terms s = {.n = n, .m = &m, .out = out->value, .dtype = shape.dtype};
  const char *value = r->value;
  if (*value == '!' && (n->im->params->inference || !(out->reached || everywhere))) return ZB_OK;
  if (*value == '!')
    return zb_import_refuse(n, "write it with functions whose gradient is that of their formula",
                            "%s has a gradient of its own, which the text of a loss does not have", value + 1);
  bool has_slopes = false;
  for (int i = 0; i < ZB_IMPORT_RULE_OPERANDS; ++i)
    has_slopes |= *r->slopes[i] != 0;
  if (*value) s.out = build_term(&s, &value);
  if (s.out.ptr && has_slopes && !n->im->params->inference) s.out = add_slopes(&s, r, everywhere);
  out->value = s.out;
  return s.out.ptr && !n->b->failed ? ZB_OK : ZB_FAIL;
}
