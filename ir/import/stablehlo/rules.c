/* What rules of formulas need to know of StableHLO, and the rules of JAX. Tests: test/ir/import/stablehlo/rules.mlir.
 */
#include "ir/import/stablehlo/stablehlo.h"

#include <stdio.h>
#include <string.h>

static const zb_import_rule rows[] = {
#include "ir/import/stablehlo/rules.def"
};

/* "add"; of a comparison the direction. */
static const char *kind_of(const zb_import_node *n, char *room, size_t size) {
  bool is_chlo;
  const char *kind = zb_stablehlo_kind(zb_stablehlo_source(n), &is_chlo);
  if (!kind || strcmp(kind, "compare") != 0) return kind;
  return zb_stablehlo_word(zb_stablehlo_source(n), "comparison_direction", room, size) ? room : NULL;
}

static bool number_of(zb_import *im, const zb_import_value *value, double *out) {
  static const zb_stablehlo_point none = {.count = 0};
  return zb_stablehlo_evaluate(zb_stablehlo_of(im), value, &none, out);
}

static void add_text(MlirStringRef part, void *text) { zb_text_add(text, "%.*s", (int)part.length, part.data); }

bool zb_stablehlo_is_placed(MlirOperation op, const char *word) {
  zb_text text = {0};
  mlirLocationPrint(mlirOperationGetLocation(op), add_text, &text);
  const bool found = text.data && strstr(text.data, word);
  zb_text_deinit(&text);
  return found;
}

/* Whether an op is in a function of this name, with or without a number behind it: "relu", "relu_3"; or was, and its
 * location says so: "jit(loss)/jit(relu)/max". */
static bool is_within(const zb_import_node *n, const char *function) {
  MlirOperation op = zb_stablehlo_source(n);
  char name[256];
  snprintf(name, sizeof name, "jit(%s)/", function);
  if (zb_stablehlo_is_placed(op, name)) return true;
  for (op = mlirOperationGetParentOperation(op); op.ptr; op = mlirOperationGetParentOperation(op)) {
    if (zb_stablehlo_string(op, "sym_name", name, sizeof name) && zb_import_is_named(name, function, '\0')) return true;
  }
  return false;
}

const zb_import_rules zb_stablehlo_rules = {
    .rows = rows, .count = sizeof rows / sizeof *rows, .kind = kind_of, .is_within = is_within, .number = number_of};
