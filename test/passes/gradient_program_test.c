/* Gradients of whole programs against central finite differences, through the passes: autodiff, split, layout, and
 * raised or not.
 *
 * One row of `programs` is a small forward program in f64 (test/passes/programs/). For each pipeline, the test runs the
 * passes, evaluates what every zb.accumulate takes with the reference kernels, adds the uses of a parameter, and
 * compares each element with (f(w+h) - f(w-h)) / 2h of the program as it was written. The loss must be that of the
 * written program as well.
 */
#include "test/passes/gradient_programs.h"

#include <CUnit/Basic.h>
#include <CUnit/CUnit.h>
#include <math.h>
#include <stdlib.h>

enum { ARGUMENTS_MAX = 16, ACCUMULATES_MAX = 64 };

typedef struct program {
  const char *name; /* programs/NAME.mlir */
  int accumulates;  /* uses of trained parameters */
} program;

static const program programs[] = {
    {"mlp", 8},                   /* e: gather and two products; w; b twice; s; p */
    {"block", 7},                 /* one a parameter */
    {"odd", 5},                   /* w; u and c: the product and the penalty */
    {"alone", 1}, {"dropped", 2}, /* w, whose copy is no chain: what stays of it is drawn; b */
};
enum { PROGRAM_COUNT = sizeof programs / sizeof programs[0] };

static const char *const pipelines[] = {
    "zb-autodiff,zb-split-grad",
    "zb-autodiff,zb-split-grad,zb-cse,zb-canonicalize,zb-layout",
    "zb-canonicalize,zb-cse,zb-raise,zb-canonicalize,zb-dce,zb-autodiff,zb-split-grad,zb-fuse,zb-layout",
};

/* ---- Programs ---- */

static MlirBlock body_of(MlirModule module, MlirOperation *function) {
  MlirBlock body;
  zb_result found = zb_pass_function(module, function, &body);
  ZB_ASSERT(found);
  return body;
}

static int make_arguments(MlirBlock body, zb_array *out) {
  int count = (int)mlirBlockGetNumArguments(body);
  ZB_ASSERT(count <= ARGUMENTS_MAX);
  for (int i = 0; i < count; ++i) {
    zb_shape shape;
    bool known = zb_type_shape(mlirValueGetType(mlirBlockGetArgument(body, i)), &shape);
    ZB_ASSERT(known);
    out[i] = make_array(&shape);
  }
  return count;
}

static double loss_of(MlirBlock body, const zb_array *arguments) {
  MlirValue loss = mlirOperationGetOperand(mlirBlockGetTerminator(body), 0);
  zb_array out;
  const char *error = zb_evaluate(body, arguments, &loss, 1, &out);
  if (error) fprintf(stderr, "%s\n", error);
  ZB_ASSERT(!error);
  double value = zb_array_get(&out, 0);
  zb_free(out.data);
  return value;
}

/* What every accumulate takes, and for which argument. Then everything that only the optimizer reads is erased, so that
 * the rest can be evaluated on the arguments that the program had. */
typedef struct gradients {
  MlirValue values[ACCUMULATES_MAX + 1]; /* the loss last */
  int arguments[ACCUMULATES_MAX];
  int64_t uses[ACCUMULATES_MAX];
  int count;
} gradients;

static int argument_named(MlirOperation function, int count, const char *name) {
  for (int i = 0; i < count; ++i) {
    const char *other = zb_argument_string(function, i, ZB_ATTR_PARAM);
    if (other && strcmp(other, name) == 0) return i;
  }
  return -1;
}

static void take_gradients(MlirOperation function, MlirBlock body, int argument_count, gradients *out) {
  zb_op_list list;
  zb_arena arena = {0};
  zb_status status = zb_op_list_collect(&arena, function, &list);
  ZB_ASSERT(!status);
  *out = (gradients){.count = 0};
  for (size_t i = 0; i < list.count; ++i) {
    if (!zb_op_is(list.items[i], "zb.accumulate")) continue;
    ZB_ASSERT(out->count < ACCUMULATES_MAX);
    out->arguments[out->count] = argument_named(function, argument_count, zb_get_string(list.items[i], "parameter"));
    out->uses[out->count] = zb_get_i64(list.items[i], "use", -1);
    out->values[out->count++] = mlirOperationGetOperand(list.items[i], 0);
  }
  MlirOperation terminator = mlirBlockGetTerminator(body);
  out->values[out->count] = mlirOperationGetOperand(terminator, 0);
  mlirOperationSetOperands(terminator, out->count + 1, out->values);
  erase_unread(&list);
  zb_arena_deinit(&arena);
}

/* ---- The test ---- */

/* Uses of a parameter are numbered 0, 1, ... in program order; in the program they stand from the last to the first. */
static void check_uses(const gradients *g) {
  for (int i = 0; i < g->count; ++i) {
    int later = 0;
    for (int k = i + 1; k < g->count; ++k)
      later += g->arguments[k] == g->arguments[i];
    CU_ASSERT_EQUAL(g->uses[i], later);
  }
}

static double difference(MlirBlock written, zb_array *arguments, int argument, int64_t element) {
  const double h = 1e-6;
  double middle = zb_array_get(&arguments[argument], element);
  zb_array_set(&arguments[argument], element, middle + h);
  double above = loss_of(written, arguments);
  zb_array_set(&arguments[argument], element, middle - h);
  double below = loss_of(written, arguments);
  zb_array_set(&arguments[argument], element, middle);
  return (above - below) / (2 * h);
}

static void check_argument(const program *p, const char *pipeline, MlirBlock written, zb_array *arguments, int argument,
                           const gradients *g, const zb_array *values) {
  for (int64_t element = 0; element < zb_shape_elements(&arguments[argument].shape); ++element) {
    double sum = 0;
    for (int i = 0; i < g->count; ++i)
      if (g->arguments[i] == argument) sum += zb_array_get(&values[i], element);
    double wanted = difference(written, arguments, argument, element);
    bool near = fabs(sum - wanted) <= 1e-7 + 1e-6 * fabs(wanted);
    if (!near)
      fprintf(stderr, "%s, %s: argument %d element %lld: gradient %.12g, difference %.12g\n", p->name, pipeline,
              argument, (long long)element, sum, wanted);
    CU_ASSERT(near);
  }
}

static void check_program(const program *p, const char *pipeline) {
  MlirModule written = parse(p->name), passed = parse(p->name);
  MlirOperation function;
  MlirBlock written_body = body_of(written, &function), body = body_of(passed, &function);
  zb_array arguments[ARGUMENTS_MAX], values[ACCUMULATES_MAX + 1];
  gradients g;
  generator = 42;
  int count = make_arguments(written_body, arguments);
  CU_ASSERT_FATAL(run_passes(passed, pipeline));
  take_gradients(function, body, count, &g);
  CU_ASSERT_EQUAL(g.count, p->accumulates);
  check_uses(&g);
  zb_array given[ARGUMENTS_MAX * 8] = {{{0}, NULL}};
  memcpy(given, arguments, sizeof arguments[0] * (size_t)count); /* state and step are not read any more */
  const char *error = zb_evaluate(body, given, g.values, g.count + 1, values);
  if (error) fprintf(stderr, "%s, %s: %s\n", p->name, pipeline, error);
  CU_ASSERT_FATAL(error == NULL);
  CU_ASSERT_DOUBLE_EQUAL(zb_array_get(&values[g.count], 0), loss_of(written_body, arguments), 1e-12);
  for (int i = 0; i < count; ++i)
    if (zb_argument_has(function, i, ZB_ATTR_PARAM))
      check_argument(p, pipeline, written_body, arguments, i, &g, values);
  for (int i = 0; i <= g.count; ++i)
    zb_free(values[i].data);
  for (int i = 0; i < count; ++i)
    zb_free(arguments[i].data);
  mlirModuleDestroy(written);
  mlirModuleDestroy(passed);
}

static void test_gradients(void) {
  for (int i = 0; i < PROGRAM_COUNT; ++i)
    for (size_t k = 0; k < sizeof pipelines / sizeof pipelines[0]; ++k)
      check_program(&programs[i], pipelines[k]);
}

/* The third pipeline is about raised ops: they must be there. */
static void test_raised(void) {
  static const struct {
    const char *program;
    const char *ops[5]; /* ends with NULL */
  } rows[] = {{"mlp", {"zb.gelu", "zb.layer_norm"}},
              {"block", {"zb.rms_norm", "zb.attention", "zb.swiglu", "zb.rotary"}}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
    MlirOperation function;
    MlirModule module = parse(rows[i].program);
    CU_ASSERT_FATAL(run_passes(module, "zb-canonicalize,zb-raise"));
    MlirBlock body = body_of(module, &function);
    for (int k = 0; rows[i].ops[k]; ++k) {
      int found = 0;
      for (MlirOperation op = mlirBlockGetFirstOperation(body); !mlirOperationIsNull(op);
           op = mlirOperationGetNextInBlock(op))
        found += zb_op_is(op, rows[i].ops[k]);
      CU_ASSERT_EQUAL(found, 1);
    }
    mlirModuleDestroy(module);
  }
}

int main(void) {
  zb_diagnostics diagnostics = {0};
  context = zb_context_create(false);
  MlirDiagnosticHandlerID handler = zb_diagnostics_attach(context, &diagnostics);
  if (CU_initialize_registry() != CUE_SUCCESS) return (int)CU_get_error();
  CU_pSuite suite = CU_add_suite("gradients of programs", NULL, NULL);
  CU_add_test(suite, "finite differences", test_gradients);
  CU_add_test(suite, "raised ops are there", test_raised);
  CU_basic_set_mode(CU_BRM_NORMAL);
  CU_basic_run_tests();
  unsigned failures = CU_get_number_of_failures();
  CU_cleanup_registry();
  mlirContextDetachDiagnosticHandler(context, handler);
  mlirContextDestroy(context);
  return failures ? 1 : 0;
}
