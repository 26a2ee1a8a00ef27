/* The op table: every row is whole, loads alone, agrees with ops.def, and each of its constraints has a test. */
#include "test/ir/test.h"

#include <dirent.h>
#include <mlir-c/Dialect/IRDL.h>

/* ---- Rows against ops.def ---- */

static const struct listed {
  const char *name;
  zb_op_class op_class;
} listed_ops[] = {
#define ZB_OP(name, op_class) {#name, ZB_CLASS_##op_class},
#define ZB_GRAD(name, op_class) {#name "_grad", ZB_CLASS_##op_class},
#include "zb/ops.def"
#undef ZB_OP
#undef ZB_GRAD
};
enum { LISTED_COUNT = sizeof listed_ops / sizeof listed_ops[0] };

static void test_rows_are_those_of_ops_def(void) {
  CU_ASSERT_EQUAL_FATAL(zb_op_builtin_count(), LISTED_COUNT);
  for (int i = 0; i < LISTED_COUNT; ++i) {
    const zb_op_def *def = zb_op_at(i);
    CU_ASSERT_STRING_EQUAL(def->name, listed_ops[i].name);
    if (def->op_class != listed_ops[i].op_class) fprintf(stderr, "\nclass of the row of zb.%s\n", def->name);
    CU_ASSERT_EQUAL(def->op_class, listed_ops[i].op_class);
  }
}

static void check_row(const zb_op_def *def) {
  zb_op_arity operands = zb_op_names_arity(def->operands), results = zb_op_names_arity(def->results);
  CU_ASSERT_PTR_NOT_NULL(def->summary);
  CU_ASSERT_PTR_NOT_NULL(def->doc);
  /* At most one of them is not single, and a variadic one is last. */
  CU_ASSERT(operands.optional < 0 || operands.variadic < 0);
  CU_ASSERT(results.optional < 0 || results.variadic < 0);
  CU_ASSERT(operands.variadic < 0 || operands.variadic == operands.named - 1);
  CU_ASSERT(results.variadic < 0 || results.variadic == results.named - 1);
  CU_ASSERT_EQUAL(def->op_class == ZB_CLASS_VIEW, def->view != NULL);
  CU_ASSERT_EQUAL(def->op_class == ZB_CLASS_COMPOSITE, def->split != NULL);
  if (def->op_class != ZB_CLASS_STRUCTURE) CU_ASSERT_PTR_NOT_NULL(def->infer);
  if (def->traits & ZB_TRAIT_UPDATE) CU_ASSERT_PTR_NOT_NULL(def->alias);
  if (def->traits & ZB_TRAIT_ZERO_GRADIENT) CU_ASSERT_PTR_NULL(def->grad);
  CU_ASSERT_EQUAL(def->op_class == ZB_CLASS_KERNEL, zb_kernel_reference(def->name) != NULL);
  int attrs = 0;
  for (const zb_attr_def *row = def->attrs; row && row->name; ++row, ++attrs)
    CU_ASSERT_PTR_NOT_NULL(row->help);
  CU_ASSERT(attrs <= ZB_VIEW_ATTRS);
}

static void test_rows_are_whole(void) {
  for (int i = 0; i < zb_op_builtin_count(); ++i)
    check_row(zb_op_at(i));
}

/* Each row alone in a fresh context, so that a mistake in its IRDL names the op. */
static void test_rows_load_alone(void) {
  for (int i = 0; i < zb_op_builtin_count(); ++i) {
    MlirContext context = mlirContextCreateWithThreading(false);
    mlirDialectHandleLoadDialect(mlirGetDialectHandle__irdl__(), context);
    char *text = zb_irdl_make(i);
    bool loaded = text && zb_irdl_load(context, text);
    if (!loaded) fprintf(stderr, "\nthe IRDL of zb.%s does not load:\n%s\n", zb_op_at(i)->name, text);
    CU_ASSERT(loaded);
    zb_free(text);
    mlirContextDestroy(context);
  }
}

/* ---- Finding ---- */

static void test_finding(void) {
  const zb_op_def *matmul = zb_op_find_name("zb.matmul");
  CU_ASSERT_PTR_NOT_NULL_FATAL(matmul);
  CU_ASSERT_PTR_EQUAL(zb_op_find_name("matmul"), matmul);
  CU_ASSERT_PTR_NULL(zb_op_find_name("zb.matmu"));
  CU_ASSERT_PTR_NULL(zb_op_find_name("zb.matmull"));
  CU_ASSERT_PTR_NULL(zb_op_find_name("func.func"));
  CU_ASSERT_PTR_NULL(zb_op_find_name(""));
  for (int i = 0; i < zb_op_builtin_count(); ++i)
    CU_ASSERT_PTR_EQUAL(zb_op_find_name(zb_op_at(i)->name), zb_op_at(i));
}

static void test_registering(void) {
  enum { FOREIGN = 600 };
  static zb_op_def rows[FOREIGN];
  static char names[FOREIGN][24];
  int before = zb_op_count();
  for (int i = 0; i < FOREIGN; ++i) {
    snprintf(names[i], sizeof names[i], "pd_op.op%d", i);
    rows[i] = (zb_op_def){.name = names[i], .summary = "", .doc = "", .op_class = ZB_CLASS_FOREIGN};
    CU_ASSERT_PTR_NULL(zb_op_register(&rows[i]));
  }
  CU_ASSERT_EQUAL(zb_op_count(), before + FOREIGN);
  for (int i = 0; i < FOREIGN; ++i)
    CU_ASSERT_PTR_EQUAL(zb_op_find_name(names[i]), &rows[i]);
  CU_ASSERT_STRING_EQUAL(zb_op_find_name("zb.add")->name, "add");
  zb_status taken = zb_op_register(&rows[0]);
  CU_ASSERT_EQUAL(zb_status_code(taken), ZB_USAGE);
  zb_status_free(taken);
  zb_op_def no_dialect = {.name = "matmul"};
  taken = zb_op_register(&no_dialect);
  CU_ASSERT_EQUAL(zb_status_code(taken), ZB_USAGE);
  zb_status_free(taken);
}

static void test_arity(void) {
  zb_op_arity arity = zb_op_names_arity("q, k, v, mask?, out");
  CU_ASSERT_EQUAL(arity.named, 5);
  CU_ASSERT_EQUAL(arity.least, 4);
  CU_ASSERT_EQUAL(arity.optional, 3);
  CU_ASSERT_EQUAL(arity.variadic, -1);
  arity = zb_op_names_arity("first, second, rest*");
  CU_ASSERT_EQUAL(arity.least, 2);
  CU_ASSERT_EQUAL(arity.variadic, 2);
  CU_ASSERT_EQUAL(zb_op_names_arity("").named, 0);
  CU_ASSERT_EQUAL(zb_op_names_arity(NULL).named, 0);
  zb_op_name name;
  CU_ASSERT_FATAL(zb_op_name_at("x, scale, bias?", 2, &name));
  CU_ASSERT(name.optional && name.length == 4 && strncmp(name.text, "bias", 4) == 0);
  CU_ASSERT_FALSE(zb_op_name_at("x, scale", 2, &name));
  CU_ASSERT_FALSE(zb_op_name_at("", 0, &name));
}

/* ---- Labels ---- */

/* All of test/ir/ops and test/ir/builder_test.c (for what MLIR itself refuses to parse) as one text. */
static char *read_constraint_tests(void) {
  zb_text all = {0};
  DIR *folder = opendir(ZB_SOURCE_DIR "/test/ir/ops");
  CU_ASSERT_PTR_NOT_NULL_FATAL(folder);
  for (const struct dirent *entry; (entry = readdir(folder));) {
    const char *dot = strrchr(entry->d_name, '.');
    if (!dot || strcmp(dot, ".mlir") != 0) continue;
    char path[512];
    snprintf(path, sizeof path, "test/ir/ops/%s", entry->d_name);
    char *text = read_source(path);
    zb_text_add(&all, "%s\n", text);
    zb_free(text);
  }
  closedir(folder);
  char *text = read_source("test/ir/builder_test.c");
  zb_text_add(&all, "%s\n", text);
  zb_free(text);
  return zb_text_take(&all);
}

/* Whether a line says "zb.NAME: ... (LABEL)". */
static bool has_test(const char *tests, const char *name, const char *label) {
  char begin[80], end[24];
  snprintf(begin, sizeof begin, "zb.%s: ", name);
  snprintf(end, sizeof end, "(%s)", label);
  for (const char *at = tests; (at = strstr(at, begin)); ++at) {
    const char *found = strstr(at, end), *line_end = strchr(at, '\n');
    if (found && line_end && found < line_end) return true;
  }
  return false;
}

static void test_every_constraint_has_a_test(void) {
  char *tests = read_constraint_tests();
  for (int i = 0; i < zb_op_builtin_count(); ++i) {
    const zb_op_def *def = zb_op_at(i);
    int number = 1, count = 0;
    for (;; ++number) {
      char label[16], mark[16];
      snprintf(label, sizeof label, "C%d", number);
      snprintf(mark, sizeof mark, "C%d: ", number);
      if (!strstr(def->doc, mark)) {
        if (number > 8) break;
        continue; /* an op may lack a number of its family */
      }
      ++count;
      bool found = has_test(tests, def->name, label);
      if (!found) fprintf(stderr, "\nno test of zb.%s %s in test/ir/ops\n", def->name, label);
      CU_ASSERT(found);
    }
    /* Nothing can be wrong with zb.contiguous. */
    if (def->infer && strcmp(def->name, "contiguous") != 0) CU_ASSERT(count > 0);
  }
  zb_free(tests);
}

/* ---- Aliases, costs, scratch ---- */

static const zb_shape matrix = {ZB_F32, 2, {8, 4}};

static void test_aliases(void) {
  const zb_shape step = {ZB_I64, 0, {0}}, settings = {ZB_F64, 1, {2}}, absent = {.rank = -1};
  zb_shape adamw[] = {matrix, matrix, matrix, matrix, step, settings}, sgd[] = {matrix, matrix, absent, step, settings},
           sums[] = {absent, matrix};
  zb_op_view view = {.def = zb_op_find_name("adamw"), .operands = adamw, .operand_count = 6};
  CU_ASSERT_EQUAL(view.def->alias(&view, 0), 0);
  CU_ASSERT_EQUAL(view.def->alias(&view, 1), 2);
  CU_ASSERT_EQUAL(view.def->alias(&view, 2), 3);
  view = (zb_op_view){.def = zb_op_find_name("sgd"), .operands = sgd, .operand_count = 5};
  CU_ASSERT_EQUAL(view.def->alias(&view, 0), 0);
  CU_ASSERT_EQUAL(view.def->alias(&view, 1), 2);
  view = (zb_op_view){.def = zb_op_find_name("accumulate"), .operands = sums, .operand_count = 2};
  CU_ASSERT_EQUAL(view.def->alias(&view, 0), -1);
  sums[0] = matrix;
  CU_ASSERT_EQUAL(view.def->alias(&view, 0), 0);
}

/* Infers and gives the cost of an op. */
static zb_cost cost_of(zb_op_view *view, int result_count) {
  zb_shape results[4];
  zb_op_error error;
  view->result_count = result_count;
  CU_ASSERT_FATAL(view->def->infer(view, results, &error));
  return zb_op_view_cost(view, results);
}

static void test_costs(void) {
  const zb_shape lhs = {ZB_F32, 3, {5, 2, 3}}, rhs = {ZB_F32, 2, {3, 4}}, out = {ZB_F32, 3, {5, 2, 4}};
  zb_shape product[] = {lhs, rhs, out};
  zb_op_view view = {.def = zb_op_find_name("matmul"), .operands = product, .operand_count = 2};
  CU_ASSERT_EQUAL(cost_of(&view, 1).product_flops, 2.0 * 5 * 2 * 3 * 4);
  view = (zb_op_view){.def = zb_op_find_name("matmul_grad"), .operands = product, .operand_count = 3};
  CU_ASSERT_EQUAL(cost_of(&view, 2).product_flops, 4.0 * 5 * 2 * 3 * 4);

  /* 3 queries, 5 keys: causal rows see 3, 4 and 5 keys. */
  const zb_shape q = {ZB_F32, 4, {2, 3, 4, 8}}, k = {ZB_F32, 4, {2, 5, 4, 8}}, absent = {.rank = -1},
                 lse = {ZB_F32, 3, {2, 4, 3}};
  zb_shape attention[] = {q, k, k, absent, q, lse, q};
  zb_attr attrs[] = {zb_float("scale", 1), zb_bool("causal", false)};
  view = (zb_op_view){zb_op_find_name("attention"), attention, 4, {attrs, 2}, 0};
  CU_ASSERT_EQUAL(cost_of(&view, 2).product_flops, 4.0 * 2 * 4 * 3 * 5 * 8);
  attrs[1] = zb_bool("causal", true);
  CU_ASSERT_EQUAL(cost_of(&view, 2).product_flops, 4.0 * 2 * 4 * (3 + 4 + 5) * 8);
  view = (zb_op_view){zb_op_find_name("attention_grad"), attention, 7, {attrs, 2}, 0};
  CU_ASSERT_EQUAL(cost_of(&view, 3).product_flops, 10.0 * 2 * 4 * (3 + 4 + 5) * 8);
  zb_shape results[] = {q, k, k};
  CU_ASSERT_EQUAL(view.def->scratch_bytes(&view, results), 128); /* 2 * 4 * 3 * 4 = 96, rounded up */
  /* 5 queries, 3 keys: rows see 0, 0, 1, 2, 3. */
  zb_shape fewer_keys[] = {k, q, q, absent};
  view = (zb_op_view){zb_op_find_name("attention"), fewer_keys, 4, {attrs, 2}, 0};
  CU_ASSERT_EQUAL(cost_of(&view, 2).product_flops, 4.0 * 2 * 4 * (1 + 2 + 3) * 8);
}

int main(void) {
  static const test_row rows[] = {
      {"rows are those of ops.def", test_rows_are_those_of_ops_def},
      {"rows are whole", test_rows_are_whole},
      {"rows load alone", test_rows_load_alone},
      {"finding", test_finding},
      {"registering", test_registering},
      {"arity", test_arity},
      {"every constraint has a test", test_every_constraint_has_a_test},
      {"aliases", test_aliases},
      {"costs", test_costs},
      {NULL, NULL},
  };
  return run_tests("op_table", rows);
}
