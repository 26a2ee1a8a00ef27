/* The rows, the hints at operators that cannot be imported, and the two pages of operators.
 *
 * The pages are OPERATORS.md and UNSUPPORTED.md in this folder; tools/operator_pages.py writes them. Tests:
 * test/ir/import/import_test.c, test/tools/zbc-operators.test. */
#include "ir/import/onnx/onnx.h"
#include "zb/compiler.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static const zb_import_op rows[] = {
#define ZB_ONNX(Name, attributes, min, max, outputs, gradient, run, op, fold, types)                                   \
  {#Name, attributes, min, max, outputs, gradient, zb_onnx_##run, op, fold, types},
#include "ir/import/onnx/onnx_ops.def"
#undef ZB_ONNX
};
enum { ROW_COUNT = sizeof rows / sizeof *rows };

const zb_import_op *zb_onnx_op_find(const char *name) {
  for (int i = 0; i < ROW_COUNT; ++i) {
    if (strcmp(rows[i].name, name) == 0) return &rows[i];
  }
  return NULL;
}

/* Operators and, where is_domain, beginnings of domains. */
static const struct unsupported {
  const char *name, *why, *way;
  bool is_domain;
} unsupported[] = {
#define ZB_ONNX_UNSUPPORTED(Name, why, way) {#Name, why, way, false},
#define ZB_ONNX_DOMAIN(begin, what, way) {begin, what, way, true},
#include "ir/import/onnx/onnx_unsupported.def"
#undef ZB_ONNX_UNSUPPORTED
#undef ZB_ONNX_DOMAIN
};
enum { UNSUPPORTED_COUNT = sizeof unsupported / sizeof *unsupported };

/* ---- Hints ---- */

/* Two spellings of one name: they differ in case alone, or in one letter (names of five or more letters) or two
 * neighbouring letters (seven or more). Short names that are near mean something else: Conv is no Cos. */
static bool is_misspelling(const char *a, const char *b) {
  size_t m = strlen(a), n = strlen(b), most = m > n ? m : n, least = m < n ? m : n, begin = 0, end = 0;
  if (strcasecmp(a, b) == 0) return true;
  while (begin < least && tolower((unsigned char)a[begin]) == tolower((unsigned char)b[begin]))
    ++begin;
  while (end < least - begin && tolower((unsigned char)a[m - 1 - end]) == tolower((unsigned char)b[n - 1 - end]))
    ++end;
  return most >= 5 && most - begin - end <= (least >= 7 ? 2 : 1);
}

/* Adds the reason and the hint of a name; false: it has none. */
static bool add_reason(const char *name, bool is_domain, zb_text *why, zb_text *hint) {
  for (const struct unsupported *u = unsupported; u < unsupported + UNSUPPORTED_COUNT; ++u) {
    int difference = is_domain ? strncmp(name, u->name, strlen(u->name)) : strcmp(name, u->name);
    if (u->is_domain != is_domain || difference != 0) continue;
    zb_text_add(why, ": %s", u->why);
    zb_text_add(hint, "%s", u->way);
    return true;
  }
  return false;
}

void zb_onnx_unknown_hint(const char *name, zb_text *why, zb_text *hint) {
  if (add_reason(name, false, why, hint)) return;
  for (int i = 0; i < ROW_COUNT; ++i)
    if (is_misspelling(rows[i].name, name)) {
      zb_text_add(hint, "is it %s? ", rows[i].name);
      break;
    }
  zb_text_add(hint, "zbc --list-operators shows what can be imported, zbc --list-unsupported ways round what cannot");
}

void zb_onnx_domain_hint(const char *domain, zb_text *why, zb_text *hint) {
  if (!add_reason(domain, true, why, hint))
    zb_text_add(hint, "export with operators of the default domain only; zbc --list-operators shows them");
}

/* ---- Pages ---- */

enum { WITH_GRADIENT, WITHOUT_GRADIENT, OF_CONSTANTS, KIND_COUNT };
static const struct {
  const char *title, *cell;
} kinds[] = {
    [WITH_GRADIENT] = {"with a gradient", "yes"},
    [WITHOUT_GRADIENT] = {"without one: comparisons, rounding, indices", "no"},
    [OF_CONSTANTS] = {"of constants and shapes, while importing", "constants only"},
};

static int kind_of(const zb_import_op *op) {
  return op->gradient ? WITH_GRADIENT : op->fold == ZB_FOLD_ONLY ? OF_CONSTANTS : WITHOUT_GRADIENT;
}

/* The short table is also in docs/formats.md: from its first line to its last. */
static void add_short_table(zb_text *text) {
  zb_text_add(text, "| ONNX operators, opsets %d to %d | |\n|---|---|\n", ZB_ONNX_OPSET_MIN, ZB_ONNX_OPSET_MAX);
  for (int k = 0; k < KIND_COUNT; ++k) {
    zb_text_add(text, "| %s |", kinds[k].title);
    for (int i = 0; i < ROW_COUNT; ++i)
      if (kind_of(&rows[i]) == k) zb_text_add(text, " %s", rows[i].name);
    zb_text_add(text, " |\n");
  }
}

static void add_supported(zb_text *text) {
  zb_text_add(text, "# What can be imported\n\nMade from `onnx_ops.def` by `tools/operator_pages.py`. [What "
                    "cannot](UNSUPPORTED.md), with ways round.\n\n");
  add_short_table(text);
  zb_text_add(
      text,
      "\nElement types: float32, int64, int32 and bool; double in constants that are folded away; with --inference\n"
      "also double, float16 and bfloat16. Shapes are static (--dim binds dynamic ones), of at most %d dimensions.\n"
      "Functions of the model are written out. If with a constant condition is its branch; on data both branches are\n"
      "computed, must give one shape, and the condition chooses. Loop and Scan with a constant number of rounds are\n"
      "unrolled. Attributes that are not named here are errors. A gradient flows to the inputs that are numbered, from "
      "0.\n\n"
      "| operator | attributes | gradient | to inputs |\n|---|---|---|---|\n",
      ZB_DIMS_MAX);
  for (int i = 0; i < ROW_COUNT; ++i) {
    const zb_import_op *op = &rows[i];
    zb_text_add(text, "| %s | %s | %s |", op->name, op->attributes, kinds[kind_of(op)].cell);
    for (int input = 0; input < 8 && op->gradient != ~0u; ++input)
      if (op->gradient >> input & 1) zb_text_add(text, " %d", input);
    zb_text_add(text, "%s |\n", op->gradient == ~0u ? " all" : "");
  }
}

static void add_cell(zb_text *text, const char *cell) {
  for (; *cell; ++cell)
    zb_text_add(text, *cell == '|' || *cell == '*' || *cell == '<' ? "\\%c" : "%c", *cell);
}

static void add_rows(zb_text *text, bool domains) {
  for (const struct unsupported *u = unsupported; u < unsupported + UNSUPPORTED_COUNT; ++u) {
    if (u->is_domain != domains || (!domains && zb_onnx_op_find(u->name))) continue;
    zb_text_add(text, "| %s | ", u->name);
    add_cell(text, u->why);
    zb_text_add(text, " | ");
    add_cell(text, u->way);
    zb_text_add(text, " |\n");
  }
}

static void add_unsupported(zb_text *text) {
  zb_text_add(text, "# What cannot be imported, and ways round\n\nMade from `onnx_unsupported.def` by "
                    "`tools/operator_pages.py`. [What can](OPERATORS.md).\n"
                    "Code is PyTorch: B the batch, C channels, H and W sizes, T the sequence.\n\n"
                    "| operator | why | a way round |\n|---|---|---|\n");
  add_rows(text, false);
  zb_text_add(text, "\n| domain | what it is | a way round |\n|---|---|---|\n");
  add_rows(text, true);
  zb_text_add(text,
              "\nBeside operators: float16, bfloat16, complex and string tensors (%s);\n"
              "dynamic shapes without --dim; models whose loss is no scalar float output.\n",
              "export in float32: model.float()");
}

char *zb_operators_page(bool supported) {
  zb_text text = {0};
  if (supported)
    add_supported(&text);
  else
    add_unsupported(&text);
  return zb_text_take(&text);
}

/* ---- Nodes ---- */

static zb_result refuse_op(zb_import_node *n, const char *what, const char *name,
                           void (*explain)(const char *, zb_text *, zb_text *)) {
  zb_text why = {0}, hint = {0};
  explain(name, &why, &hint);
  zb_import_refuse(n, hint.data, "%s '%s' is not supported%s", what, name, why.data ? why.data : "");
  zb_text_deinit(&why);
  zb_text_deinit(&hint);
  return ZB_FAIL;
}

/* Whether the operator has an attribute in the opset of the file that it has lost since. */
static bool is_old(const zb_import_node *n, const char *attribute) {
#define BROADCASTS "Add And Div Equal Greater Less Mul Or Pow Sub Xor"
  static const struct {
    const char *attribute, *operators; /* NULL: of any */
    int until;                         /* the first opset without it */
  } olds[] = {{"consumed_inputs", NULL, 6},
              {"broadcast", BROADCASTS " Gemm", 7},
              {"axis", BROADCASTS, 7},
              {"is_test", "BatchNormalization Dropout", 7},
              {"spatial", "BatchNormalization", 9},
              {"shape", "Reshape", 5},
              {"paddings", "Pad", 2}};
  for (size_t i = 0; i < sizeof olds / sizeof *olds; ++i)
    if (strcmp(attribute, olds[i].attribute) == 0 && zb_onnx_of(n->im)->opset < olds[i].until &&
        (!olds[i].operators || zb_word_index(olds[i].operators, n->kind) >= 0))
      return true;
  return false;
}

zb_result zb_onnx_check_node(zb_import_node *n) {
  const Onnx__NodeProto *proto = n->source;
  const char *domain = proto->domain;
  if (*domain && strcmp(domain, "ai.onnx") != 0) {
    return refuse_op(n, "operator of domain", domain, zb_onnx_domain_hint);
  }
  if (!n->op) return refuse_op(n, "operator", proto->op_type, zb_onnx_unknown_hint);
  if (!zb_import_check_counts(n, (int)proto->n_output, "inputs", "outputs")) return ZB_FAIL;
  for (int i = 0; i < (n->op->max_inputs < 0 ? n->input_count : n->op->min_inputs); ++i) {
    if (!zb_import_has(n, i)) return zb_import_refuse(n, NULL, "input %d is missing", i);
  }
  if (proto->base.n_unknown_fields) return zb_import_refuse(n, NULL, "it has fields that are not understood");
  for (size_t i = 0; i < proto->n_attribute; ++i) {
    const Onnx__AttributeProto *attr = proto->attribute[i];
    const char *name = attr->name;
    if (!is_old(n, name) && !zb_import_check_name(n, "attribute", name, "it has no attributes that are understood"))
      return ZB_FAIL;
    if (attr->ref_attr_name && *attr->ref_attr_name)
      return zb_import_refuse(n, NULL, "attribute '%s' refers to one of a function, and this node is in none", name);
  }
  return ZB_OK;
}
