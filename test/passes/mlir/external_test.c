/* zb/mlir.h from C: passes in pass managers, textual pipelines, rows of another dialect, and what goes wrong. */
#include "passes/pipeline.h"
#include "runtime/base/text.h"
#include "test/suite.h"
#include "zb/mlir.h"

#include <CUnit/CUnit.h>
#include <mlir-c/Dialect/Func.h>
#include <mlir-c/Diagnostics.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* ---- Contexts and programs ---- */

typedef struct world {
  MlirContext context;
  zb_text said; /* "LOCATION: TEXT\n" of each diagnostic */
} world;

static void add_chunk(MlirStringRef chunk, void *text) { zb_text_add_bytes(text, chunk.data, chunk.length); }

static MlirLogicalResult keep(MlirDiagnostic diagnostic, void *user) {
  world *w = user;
  mlirLocationPrint(mlirDiagnosticGetLocation(diagnostic), add_chunk, &w->said);
  zb_text_add(&w->said, ": ");
  mlirDiagnosticPrint(diagnostic, add_chunk, &w->said);
  zb_text_add(&w->said, "\n");
  return mlirLogicalResultSuccess();
}

/* A context that takes toy ops, with or without the dialect zb; in place, since the handler points to it. */
static void open_world(world *w, bool loads) {
  *w = (world){.context = mlirContextCreate()};
  mlirDialectHandleLoadDialect(mlirGetDialectHandle__func__(), w->context);
  if (loads) CU_ASSERT_FALSE(mlirDialectIsNull(mlirDialectHandleLoadDialect(zb_dialect_handle(), w->context)));
  mlirContextSetAllowUnregisteredDialects(w->context, true);
  mlirContextAttachDiagnosticHandler(w->context, keep, w, NULL);
}

static void close_world(world *w) {
  zb_text_deinit(&w->said);
  mlirContextDestroy(w->context);
}

static bool said(const world *w, const char *text) { return w->said.data && strstr(w->said.data, text); }

static MlirModule parse(const world *w, const char *text) {
  return mlirModuleCreateParse(w->context, mlirStringRefCreateFromCString(text));
}

static char *printed(MlirModule module) {
  zb_text text = {0};
  mlirOperationPrint(mlirModuleGetOperation(module), add_chunk, &text);
  return zb_text_take(&text);
}

/* A product and an activation of a dialect that the tests have. %s: the op that gives both gradients. */
#define STEP(mix_grads)                                                                                                \
  "module attributes {zb.level = \"differentiated\"} {\n"                                                              \
  "  func.func @step(%x: tensor<4x8xf32> {zb.input = \"x\"}, %w: tensor<8x16xf32> {zb.param = \"w\"},\n"               \
  "                  %v: tensor<16x16xf32> {zb.param = \"v\"})\n"                                                      \
  "      -> (tensor<f32> {zb.loss}, tensor<8x16xf32> {zb.update = \"w\"}, tensor<16x16xf32> {zb.update = \"v\"}) {\n"  \
  "    %a = \"ext.mix\"(%x, %w) : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32> loc(\"cut\")\n"              \
  "    %b = \"ext.mix\"(%a, %v) : (tensor<4x16xf32>, tensor<16x16xf32>) -> tensor<4x16xf32>\n"                         \
  "    %dead = \"ext.act\"(%b) : (tensor<4x16xf32>) -> tensor<4x16xf32>\n"                                             \
  "    %kept = \"ext.unknown\"(%b) : (tensor<4x16xf32>) -> tensor<4x16xf32>\n"                                         \
  "    %l = \"ext.loss\"(%b) : (tensor<4x16xf32>) -> tensor<f32>\n"                                                    \
  "    %d = \"ext.loss_grad\"(%b) : (tensor<4x16xf32>) -> tensor<4x16xf32>\n"                                          \
  "    %da, %dv = " mix_grads "(%a, %v, %d)\n"                                                                         \
  "        : (tensor<4x16xf32>, tensor<16x16xf32>, tensor<4x16xf32>) -> (tensor<4x16xf32>, tensor<16x16xf32>)\n"       \
  "    %gv = \"zb.accumulate\"(%dv) {parameter = \"v\", use = 0 : i64} : (tensor<16x16xf32>) -> tensor<16x16xf32>\n"   \
  "    %dw = \"ext.dw\"(%x, %da) : (tensor<4x8xf32>, tensor<4x16xf32>) -> tensor<8x16xf32>\n"                          \
  "    %gw = \"zb.accumulate\"(%dw) {parameter = \"w\", use = 0 : i64} : (tensor<8x16xf32>) -> tensor<8x16xf32>\n"     \
  "    %nw = \"ext.step\"(%w, %gw) : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>\n"                       \
  "    %nv = \"ext.step\"(%v, %gv) : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>\n"                    \
  "    return %l, %nw, %nv : tensor<f32>, tensor<8x16xf32>, tensor<16x16xf32>\n"                                       \
  "  }\n"                                                                                                              \
  "}\n"

static const char PIPELINE[] = "zb-dce,zb-split-grad,zb-partition{ranks=2,cuts=\"cut\"},zb-classify,zb-outline,"
                               "zb-memory,zb-schedule{micro-batches=3}";

static MlirValue split_both(zb_builder *b, MlirOperation op, int result) {
  MlirValue of_x[] = {mlirOperationGetOperand(op, 2), mlirOperationGetOperand(op, 1)};
  MlirValue of_w[] = {mlirOperationGetOperand(op, 0), mlirOperationGetOperand(op, 2)};
  MlirType type = mlirValueGetType(mlirOperationGetResult(op, result));
  MlirOperation made =
      zb_build_any(b, result == 0 ? "ext.dx" : "ext.dw", result == 0 ? of_x : of_w, 2, &type, 1, NULL, 0);
  return mlirOperationIsNull(made) ? (MlirValue){NULL} : mlirOperationGetResult(made, 0);
}

/* Gives the operand back, whatever the type of the result is. */
static MlirValue split_wrongly(zb_builder *b, MlirOperation op, int result) {
  (void)b;
  return result == 0 ? mlirOperationGetOperand(op, 1) : (MlirValue){NULL};
}

static MlirValue split_nothing(zb_builder *b, MlirOperation op, int result) {
  (void)b, (void)op, (void)result;
  return (MlirValue){NULL};
}

static MlirValue split_with_error(zb_builder *b, MlirOperation op, int result) {
  (void)result;
  zb_op_error_at(op, "give it matrices", "ext.reports has no rule for these operands");
  b->failed = true;
  return (MlirValue){NULL};
}

/* Gradients of a product of matrices: x [m, k], w [k, n], dy [m, n]. */
static zb_result infer_both(const zb_op_view *op, zb_shape *results, zb_op_error *error) {
  const zb_shape *x = &op->operands[0], *w = &op->operands[1], *d = &op->operands[2];
  if (x->rank != 2 || w->rank != 2 || d->rank != 2 || x->dims[1] != w->dims[0] || d->dims[1] != w->dims[1])
    return zb_op_fail(error, "multiply [m, k] by [k, n]", "the matrices do not fit");
  results[0] = *x;
  results[1] = *w;
  return ZB_OK;
}

#define GRADS(op, rule, shapes)                                                                                        \
  {.name = op,                                                                                                         \
   .operands = "x, w, dy",                                                                                             \
   .results = "dx, dw",                                                                                                \
   .op_class = ZB_CLASS_FOREIGN,                                                                                       \
   .traits = ZB_TRAIT_PURE,                                                                                            \
   .split = rule,                                                                                                      \
   .infer = shapes}

static const zb_op_def ROWS[] = {
    GRADS("ext.mix_grads", split_both, infer_both),
    GRADS("ext.wrong", split_wrongly, NULL),
    GRADS("ext.nothing", split_nothing, NULL),
    GRADS("ext.reports", split_with_error, NULL),
    {.name = "ext.act",
     .operands = "x",
     .results = "y",
     .op_class = ZB_CLASS_FOREIGN,
     .traits = ZB_TRAIT_PURE | ZB_TRAIT_ELEMENTWISE},
    {.name = "ext.number", .results = "n", .op_class = ZB_CLASS_FOREIGN, .traits = ZB_TRAIT_PURE},
};

static int register_rows(void) {
  for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; ++i)
    if (zb_op_register(&ROWS[i])) return 1;
  return 0;
}

/* ---- Ways to run ---- */

static bool run_manager(MlirContext context, MlirModule module, const char *pipeline) {
  MlirPassManager manager = mlirPassManagerCreate(context);
  zb_status status = zb_passes_add(mlirPassManagerGetAsOpPassManager(manager), pipeline);
  CU_ASSERT_PTR_NULL(status);
  const bool right = mlirLogicalResultIsSuccess(mlirPassManagerRunOnOp(manager, mlirModuleGetOperation(module)));
  mlirPassManagerDestroy(manager);
  return right && !status;
}

static bool run_single(MlirContext context, MlirModule module) {
  static const struct {
    const char *name, *options;
  } passes[] = {
      {"zb-dce", NULL},     {"zb-split-grad", ""}, {"zb-partition", "ranks=2,cuts=\"cut\""}, {"zb-classify", NULL},
      {"zb-outline", NULL}, {"zb-memory", NULL},   {"zb-schedule", "micro-batches=3"}};
  MlirPassManager manager = mlirPassManagerCreateOnOperation(context, mlirStringRefCreateFromCString("builtin.module"));
  for (size_t i = 0; i < sizeof passes / sizeof passes[0]; ++i) {
    MlirPass pass;
    CU_ASSERT_PTR_NULL_FATAL(zb_pass_create(passes[i].name, passes[i].options, &pass));
    mlirPassManagerAddOwnedPass(manager, pass);
  }
  const bool right = mlirLogicalResultIsSuccess(mlirPassManagerRunOnOp(manager, mlirModuleGetOperation(module)));
  mlirPassManagerDestroy(manager);
  return right;
}

static bool run_textual(MlirContext context, MlirModule module) {
  zb_register_passes();
  zb_register_passes();
  char text[512];
  snprintf(text, sizeof text, "builtin.module(%s)", PIPELINE);
  MlirPassManager manager = mlirPassManagerCreate(context);
  zb_text errors = {0};
  MlirLogicalResult parsed = mlirParsePassPipeline(mlirPassManagerGetAsOpPassManager(manager),
                                                   mlirStringRefCreateFromCString(text), add_chunk, &errors);
  CU_ASSERT(mlirLogicalResultIsSuccess(parsed));
  const bool right = mlirLogicalResultIsSuccess(mlirPassManagerRunOnOp(manager, mlirModuleGetOperation(module)));
  mlirPassManagerDestroy(manager);
  zb_text_deinit(&errors);
  return right;
}

static bool run_alone(MlirContext context, MlirModule module) {
  (void)context;
  return zb_passes_run(module, PIPELINE) == NULL;
}

static bool run_added(MlirContext context, MlirModule module) { return run_manager(context, module, PIPELINE); }

/* The text of the program behind the pipeline, by one of the ways. */
static char *compiled(bool (*way)(MlirContext context, MlirModule module)) {
  world w;
  open_world(&w, true);
  MlirModule module = parse(&w, STEP("\"ext.mix_grads\""));
  CU_ASSERT_FALSE_FATAL(mlirModuleIsNull(module));
  CU_ASSERT(way(w.context, module));
  CU_ASSERT_EQUAL(w.said.length, 0);
  char *text = printed(module);
  mlirModuleDestroy(module);
  close_world(&w);
  return text;
}

static void test_all_ways_give_one_text(void) {
  bool (*const ways[])(MlirContext, MlirModule) = {run_added, run_single, run_textual};
  char *first = compiled(run_alone);
  CU_ASSERT_PTR_NOT_NULL_FATAL(first);
  CU_ASSERT_PTR_NOT_NULL(strstr(first, "zb.order = \"1F0 1B0 1W0 1F1"));
  CU_ASSERT_PTR_NOT_NULL(strstr(first, "\"ext.dx\"")); /* the rule of the row */
  CU_ASSERT_PTR_NULL(strstr(first, "ext.mix_grads"));
  CU_ASSERT_PTR_NULL(strstr(first, "ext.act"));         /* pure by its row, and unused */
  CU_ASSERT_PTR_NOT_NULL(strstr(first, "ext.unknown")); /* unused, but without a row */
  for (size_t i = 0; i < sizeof ways / sizeof ways[0]; ++i) {
    char *text = compiled(ways[i]);
    CU_ASSERT_STRING_EQUAL(text, first);
    zb_free(text);
  }
  zb_free(first);
}

/* A number has no size, so no job hands it to another: by its row it goes to each reader. One of the readers is a
 * region. */
static void test_sizeless_constant(void) {
  static const char program[] =
      "module attributes {zb.level = \"split\"} {\n"
      "  func.func @step(%x: tensor<4x8xf32> {zb.input = \"x\"}) -> tensor<f32> {\n"
      "    %n = \"ext.number\"() {value = 3 : index} : () -> index\n"
      "    %a = \"ext.roll\"(%x, %n) : (tensor<4x8xf32>, index) -> tensor<4x8xf32> loc(\"cut\")\n"
      "    %b = \"ext.loop\"(%a) ({\n"
      "      \"ext.use\"(%n) : (index) -> ()\n"
      "    }) : (tensor<4x8xf32>) -> tensor<f32>\n"
      "    return %b : tensor<f32>\n"
      "  }\n"
      "}\n";
  world w;
  open_world(&w, true);
  MlirModule module = parse(&w, program);
  CU_ASSERT_FALSE_FATAL(mlirModuleIsNull(module));
  CU_ASSERT_PTR_NULL(zb_passes_run(module, "zb-partition{ranks=2,cuts=cut},zb-classify,zb-outline"));
  char *text = printed(module);
  int made = 0;
  for (const char *at = text; (at = strstr(at, "\"ext.number\"()")); ++at)
    ++made;
  CU_ASSERT_EQUAL(made, 4); /* in F and in the evaluation of both stages */
  CU_ASSERT_PTR_NULL(strstr(text, ": index {"));
  zb_free(text);
  mlirModuleDestroy(module);
  close_world(&w);
}

static void *compile_often(void *out) {
  for (int i = 0; i < 10; ++i) {
    zb_free(*(char **)out);
    *(char **)out = compiled(i % 2 ? run_added : run_textual);
  }
  return NULL;
}

static void test_threads(void) {
  enum { THREADS = 4 };
  pthread_t threads[THREADS];
  char *texts[THREADS] = {NULL};
  for (int i = 0; i < THREADS; ++i)
    CU_ASSERT_EQUAL_FATAL(pthread_create(&threads[i], NULL, compile_often, &texts[i]), 0);
  for (int i = 0; i < THREADS; ++i)
    pthread_join(threads[i], NULL);
  for (int i = 0; i < THREADS; ++i) {
    CU_ASSERT_STRING_EQUAL(texts[i], texts[0]);
    if (i > 0) zb_free(texts[i]);
  }
  zb_free(texts[0]);
}

/* ---- What goes wrong before a pass runs ---- */

static void expect(zb_status status, const char *message, const char *hint) {
  CU_ASSERT_EQUAL(zb_status_code(status), ZB_USAGE);
  const char *text = status ? zb_status_text(status) : "no failure";
  if (!strstr(text, message) || !strstr(text, hint)) fprintf(stderr, "\ngot %s\n", text);
  CU_ASSERT_PTR_NOT_NULL(strstr(text, message));
  CU_ASSERT_PTR_NOT_NULL(strstr(text, hint));
  zb_status_free(status);
}

static void test_wrong_pipelines(void) {
  world w;
  open_world(&w, true);
  MlirPass pass;
  expect(zb_pass_create("zb-clasify", NULL, &pass), "unknown pass 'zb-clasify'", "did you mean 'zb-classify'?");
  CU_ASSERT_PTR_NULL(pass.ptr);
  expect(zb_pass_create("zb-partition", "rank=2", &pass), "pass zb-partition has no option 'rank'", "'ranks'");
  expect(zb_pass_create("zb-dce", "x=1", &pass), "pass zb-dce has no option 'x'", "it takes no options");
  MlirPassManager manager = mlirPassManagerCreate(w.context);
  MlirOpPassManager nested = mlirPassManagerGetNestedUnder(manager, mlirStringRefCreateFromCString("func.func"));
  expect(zb_passes_add(nested, "zb-dce"), "the manager is of 'func.func'", "the manager of the module");
  expect(zb_passes_add(mlirPassManagerGetAsOpPassManager(manager), "zb-dce,zb-partition{ranks=2,x=1}"), "no option 'x'",
         "hint");
  zb_text text = {0};
  mlirPrintPassPipeline(mlirPassManagerGetAsOpPassManager(manager), add_chunk, &text);
  CU_ASSERT_PTR_NULL(strstr(text.data ? text.data : "", "zb-dce")); /* nothing was added */
  zb_text_deinit(&text);
  zb_register_passes();
  MlirLogicalResult parsed =
      mlirParsePassPipeline(mlirPassManagerGetAsOpPassManager(manager),
                            mlirStringRefCreateFromCString("builtin.module(zb-partition{rank=2})"), add_chunk, &text);
  CU_ASSERT(mlirLogicalResultIsFailure(parsed));
  CU_ASSERT_PTR_NOT_NULL(strstr(text.data ? text.data : "", "pass zb-partition has no option 'rank'"));
  zb_text_deinit(&text);
  mlirPassManagerDestroy(manager);
  expect(zb_passes_run((MlirModule){NULL}, "zb-dce"), "the module is null", "does not parse");
  close_world(&w);
}

static void test_wrong_rows(void) {
  static const zb_op_def update = {.name = "ext.update", .op_class = ZB_CLASS_FOREIGN, .traits = ZB_TRAIT_UPDATE};
  static const zb_op_def kernel = {.name = "ext.kernel"}, ours = {.name = "zb.mine", .op_class = ZB_CLASS_FOREIGN};
  static const zb_op_def bare = {.name = "mix", .op_class = ZB_CLASS_FOREIGN};
  static const zb_op_def no_name = {.name = "ext.", .op_class = ZB_CLASS_FOREIGN};
  static const struct {
    zb_op_def def;
    const char *message;
  } lists[] = {
      {{.name = "ext.l0", .operands = "x, scale?, bias?", .op_class = ZB_CLASS_FOREIGN}, "more than one is marked"},
      {{.name = "ext.l1", .operands = "x*, y", .op_class = ZB_CLASS_FOREIGN}, "one stands behind that"},
      {{.name = "ext.l2", .operands = "x, y? z", .op_class = ZB_CLASS_FOREIGN}, "has ? or * in it"},
      {{.name = "ext.l3", .results = "x,, z", .op_class = ZB_CLASS_FOREIGN}, "its results 'x,, z': a name is empty"},
      {{.name = "ext.l4", .operands = "x, *", .op_class = ZB_CLASS_FOREIGN}, "a name is empty"},
      {{.name = "ext.l5", .operands = "x", .counted = ZB_OPERAND(1), .op_class = ZB_CLASS_FOREIGN}, "operand 1 of 1"},
  };
  for (size_t i = 0; i < sizeof lists / sizeof lists[0]; ++i)
    expect(zb_op_register(&lists[i].def), lists[i].message, i < 5 ? "as in" : "ZB_OPERAND(k)");
  expect(zb_op_register(&ROWS[0]), "op 'ext.mix_grads' is registered already", "once");
  expect(zb_op_register(&update), "trait UPDATE and no alias", "which operand");
  expect(zb_op_register(&kernel), "its class is not FOREIGN", "ZB_CLASS_FOREIGN");
  expect(zb_op_register(&ours), "the dialect zb has its own rows", "of your own");
  expect(zb_op_register(&bare), "must be named with its dialect, got 'mix'", "pd_op.matmul");
  expect(zb_op_register(&no_name), "must be named with its dialect, got 'ext.'", "pd_op.matmul");
  expect(zb_op_register(NULL), "must be named with its dialect", "pd_op.matmul");
}

/* ---- What goes wrong in a pass ---- */

/* Runs both ways; what is said is the same, and of two texts. */
static void fails(const char *program, const char *pipeline, const char *message, const char *hint) {
  for (int i = 0; i < 2; ++i) {
    world w;
    open_world(&w, true);
    MlirModule module = parse(&w, program);
    CU_ASSERT_FALSE_FATAL(mlirModuleIsNull(module));
    if (i == 0) {
      CU_ASSERT_FALSE(run_manager(w.context, module, pipeline));
    } else {
      zb_status status = zb_passes_run(module, pipeline);
      CU_ASSERT_PTR_NOT_NULL(status);
      CU_ASSERT(zb_status_told(status));
      zb_status_free(status);
    }
    if (!said(&w, message) || !said(&w, hint)) fprintf(stderr, "\ngot %s\n", w.said.data ? w.said.data : "");
    CU_ASSERT(said(&w, message));
    CU_ASSERT(said(&w, hint));
    mlirModuleDestroy(module);
    close_world(&w);
  }
}

static void test_diagnostics(void) {
  /* A pass too early, with its place, and the hint on a line of its own. */
  fails(STEP("\"ext.mix_grads\""), "zb-classify",
        "loc(\"-\":1:1): zb-classify needs a program at level 'staged', got level 'differentiated'",
        "\nhint: run zb-partition before it\n");
  /* A value of an option. */
  fails(STEP("\"ext.mix_grads\""), "zb-split-grad,zb-partition{ranks=0}", "ranks: ", "");
  /* A zb op that does not fit its row: checked before the first pass. */
  fails("func.func @f(%x: tensor<2xf32>) -> tensor<3xf32> {\n"
        "  %y = \"zb.relu\"(%x) : (tensor<2xf32>) -> tensor<3xf32>\n  return %y : tensor<3xf32>\n}\n",
        "zb-dce", "loc(\"-\":2:8): zb.relu: the type of result 0 is wrong", "\nhint: result types follow");
}

static void test_splits(void) {
  fails(STEP("\"ext.wrong\""), "zb-split-grad", "the split of 'ext.wrong' gives another type than result 0 has",
        "\nhint: correct the row's split");
  fails(STEP("\"ext.nothing\""), "zb-split-grad", "'ext.nothing' has no split rule for result 0",
        "\nhint: give the row's split a rule for it");
  fails(STEP("\"ext.reports\""), "zb-split-grad", "ext.reports has no rule for these operands",
        "\nhint: give it matrices");
  /* Operands of other types than the row's infer takes: said at the op before its split is asked. */
  fails("module attributes {zb.level = \"differentiated\"} {\n"
        "  func.func @f(%x: tensor<4x8xf32>, %w: tensor<9x16xf32>, %d: tensor<4x16xf32>) -> tensor<4x8xf32> {\n"
        "    %dx, %dw = \"ext.mix_grads\"(%x, %w, %d)\n"
        "        : (tensor<4x8xf32>, tensor<9x16xf32>, tensor<4x16xf32>) -> (tensor<4x8xf32>, tensor<9x16xf32>)\n"
        "    return %dx : tensor<4x8xf32>\n  }\n}\n",
        "zb-split-grad", "loc(\"-\":3:16): ext.mix_grads: the matrices do not fit",
        "\nhint: multiply [m, k] by [k, n]");
}

/* Operands that are no tensors: the op is not asked for shapes, and its split decides. */
static void test_other_types(void) {
  world w;
  open_world(&w, true);
  MlirModule module = parse(&w, "module attributes {zb.level = \"differentiated\"} {\n"
                                "  func.func @f(%x: !ext.t, %w: !ext.t, %d: !ext.t) -> (!ext.t, !ext.t) {\n"
                                "    %dx, %dw = \"ext.mix_grads\"(%x, %w, %d) : (!ext.t, !ext.t, !ext.t) -> "
                                "(!ext.t, !ext.t)\n"
                                "    return %dx, %dw : !ext.t, !ext.t\n  }\n}\n");
  CU_ASSERT_FALSE_FATAL(mlirModuleIsNull(module));
  CU_ASSERT(run_manager(w.context, module, "zb-split-grad"));
  char *text = printed(module);
  CU_ASSERT_PTR_NOT_NULL(strstr(text, "\"ext.dx\"(%arg2, %arg1) : (!ext.t, !ext.t) -> !ext.t"));
  CU_ASSERT_PTR_NOT_NULL(strstr(text, "\"ext.dw\"(%arg0, %arg2) : (!ext.t, !ext.t) -> !ext.t"));
  zb_free(text);
  mlirModuleDestroy(module);
  close_world(&w);
}

/* ---- What passes ask of rows ---- */

/* x [m, k] w [k, n] of two shards: w by columns, or by rows where x has come cut along k. */
static void place_product(zb_placing *p) {
  const zb_place x = p->operands[0], w = p->operands[1];
  zb_place cut;
  zb_place_whole(p);
  if ((x.spread == ZB_CUT && x.dim == 1) || (w.spread == ZB_CUT && w.dim == 0)) {
    p->operands[0] = p->operands[1] = w.spread == ZB_CUT ? w : x;
    p->operands[0].dim = 1;
    p->operands[1].dim = 0;
    p->out[0].spread = ZB_PARTIAL;
  } else if (w.spread == ZB_CUT) {
    p->operands[1] = p->out[0] = w;
  } else if (w.spread == ZB_OPEN && zb_place_parameter(p, 1, p->op->operands[1].dims[1], &cut)) {
    p->operands[1] = p->out[0] = cut;
  }
}

static zb_result infer_product(const zb_op_view *op, zb_shape *results, zb_op_error *error) {
  if (op->operands[0].dims[1] != op->operands[1].dims[0])
    return zb_op_fail(error, NULL, "%lld columns by %lld rows", (long long)op->operands[0].dims[1],
                      (long long)op->operands[1].dims[0]);
  results[0] = op->operands[0];
  results[0].dims[1] = op->operands[1].dims[1];
  return ZB_OK;
}

static zb_result infer_same(const zb_op_view *op, zb_shape *results, zb_op_error *error) {
  (void)error;
  results[0] = op->operands[0];
  return ZB_OK;
}

static zb_result infer_scalar(const zb_op_view *op, zb_shape *results, zb_op_error *error) {
  (void)error;
  results[0] = (zb_shape){.dtype = op->operands[0].dtype};
  return ZB_OK;
}

#define PLACED(op, in, traits_, shapes, places)                                                                        \
  {.name = op,                                                                                                         \
   .operands = in,                                                                                                     \
   .results = "y",                                                                                                     \
   .op_class = ZB_CLASS_FOREIGN,                                                                                       \
   .traits = traits_,                                                                                                  \
   .infer = shapes,                                                                                                    \
   .place = places}

static const zb_op_def PLACED_ROWS[] = {
    PLACED("sharded.product", "x, w", ZB_TRAIT_PURE, infer_product, place_product),
    PLACED("sharded.act", "x", ZB_TRAIT_PURE | ZB_TRAIT_ELEMENTWISE, infer_same, zb_place_elementwise),
    PLACED("sharded.loss", "x", ZB_TRAIT_PURE, infer_scalar, NULL),
};

/* An MLP as it is cut by hand: columns, then rows, and one sum behind it; the loss reads all of it. */
static void test_placements(void) {
  world w;
  for (size_t i = 0; i < sizeof PLACED_ROWS / sizeof PLACED_ROWS[0]; ++i)
    CU_ASSERT_PTR_NULL_FATAL(zb_op_register(&PLACED_ROWS[i]));
  open_world(&w, true);
  MlirModule module =
      parse(&w, "func.func @f(%x: tensor<4x8xf32> {zb.input = \"x\"}, %up: tensor<8x16xf32> {zb.param = \"up\"},\n"
                "             %down: tensor<16x8xf32> {zb.param = \"down\"}) -> (tensor<f32> {zb.loss}) {\n"
                "  %a = \"sharded.product\"(%x, %up) : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>\n"
                "  %b = \"sharded.act\"(%a) : (tensor<4x16xf32>) -> tensor<4x16xf32>\n"
                "  %c = \"sharded.product\"(%b, %down) : (tensor<4x16xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>\n"
                "  %l = \"sharded.loss\"(%c) : (tensor<4x8xf32>) -> tensor<f32>\n"
                "  return %l : tensor<f32>\n}\n");
  CU_ASSERT_FALSE_FATAL(mlirModuleIsNull(module));
  CU_ASSERT(run_manager(w.context, module, "zb-shard{tensor-parallel=2}"));
  char *text = printed(module);
  const char *lines[] = {"(tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>", /* half of the columns */
                         "\"sharded.act\"(%",
                         ": (tensor<4x8xf32>) -> tensor<4x8xf32>",
                         "(tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>", /* half of the rows */
                         "\"zb.all_reduce\"(%",
                         "members = 2 : i64, reduction = \"sum\"",
                         "\"sharded.loss\"(%"};
  const char *at = text;
  for (size_t i = 0; i < sizeof lines / sizeof lines[0] && at; ++i) {
    const char *found = strstr(at, lines[i]);
    if (!found) fprintf(stderr, "\nno '%s' in order in\n%s\n%s\n", lines[i], text, w.said.data ? w.said.data : "");
    CU_ASSERT_PTR_NOT_NULL(found);
    at = found ? found + strlen(lines[i]) : NULL;
  }
  zb_free(text);
  mlirModuleDestroy(module);
  close_world(&w);
}

static zb_cost cost_heavy(const zb_op_view *op, const zb_shape *results) {
  (void)results;
  const double flops = 1e6 * (double)zb_shape_elements(&op->operands[0]);
  return (zb_cost){.flops = flops, .product_flops = flops};
}

/* Six ops of equal size, of which the last takes longest by its row: it is a stage of its own. Where it has no row
 * bytes alone count, and two stages of half the ops are made. */
static void test_costs(void) {
  static const zb_op_def heavy = {.name = "costly.heavy",
                                  .operands = "x",
                                  .results = "y",
                                  .op_class = ZB_CLASS_FOREIGN,
                                  .infer = infer_same,
                                  .cost = cost_heavy};
  CU_ASSERT_PTR_NULL_FATAL(zb_op_register(&heavy));
  const char *const ops[] = {"costly.heavy", "costly.light"};
  for (int i = 0; i < 2; ++i) {
    world w;
    zb_text program = {0};
    open_world(&w, true);
    zb_text_add(&program, "module attributes {zb.level = \"split\"} {\n"
                          "func.func @f(%%v0: tensor<64x64xf32> {zb.input = \"x\"}) -> (tensor<f32> {zb.loss}) "
                          "{\n");
    for (int n = 0; n < 6; ++n)
      zb_text_add(&program, "  %%v%d = \"%s\"(%%v%d) : (tensor<64x64xf32>) -> tensor<64x64xf32>\n", n + 1,
                  n == 5 ? ops[i] : "costly.light", n);
    zb_text_add(&program, "  %%l = \"costly.loss\"(%%v6) : (tensor<64x64xf32>) -> tensor<f32>\n"
                          "  return %%l : tensor<f32>\n}\n}\n");
    MlirModule module = parse(&w, program.data);
    CU_ASSERT_FALSE_FATAL(mlirModuleIsNull(module));
    CU_ASSERT(run_manager(w.context, module, "zb-partition{ranks=2}"));
    char *text = printed(module);
    int stages[2] = {0};
    for (const char *at = text; (at = strstr(at, "{zb.stage = ")); ++at)
      ++stages[at[12] - '0'];
    if (i == 0) CU_ASSERT(stages[0] == 5 && stages[1] == 2);
    if (i == 1) CU_ASSERT(stages[0] >= 3 && stages[0] <= 4);
    if (CU_get_number_of_failures()) fprintf(stderr, "\n%s%s\n", text, w.said.data ? w.said.data : "");
    zb_free(text);
    zb_text_deinit(&program);
    mlirModuleDestroy(module);
    close_world(&w);
  }
}

/* ---- The dialect ---- */

static const char FOREIGN_STEP[] = "func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {\n"
                                   "  %y = \"ext.act\"(%x) : (tensor<2xf32>) -> tensor<2xf32>\n"
                                   "  return %x : tensor<2xf32>\n}\n";

static void test_dialect_not_loaded(void) {
  world w;
  open_world(&w, false);
  MlirModule module = parse(&w, FOREIGN_STEP);
  CU_ASSERT_FALSE(run_manager(w.context, module, "zb-dce"));
  CU_ASSERT(said(&w, "the dialect zb is not loaded"));
  CU_ASSERT(said(&w, "\nhint: load it before the program is read: "));
  mlirModuleDestroy(module);
  close_world(&w);
}

/* A context that takes no ops of unknown dialects has none of zb, so the first pass can load it. */
static void test_dialect_by_the_first_pass(void) {
  world w;
  open_world(&w, false);
  mlirContextSetAllowUnregisteredDialects(w.context, false);
  MlirModule module = parse(&w, "func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {\n  return %x : tensor<2xf32>\n}\n");
  CU_ASSERT(run_manager(w.context, module, "zb-dce"));
  CU_ASSERT(mlirContextIsRegisteredOperation(w.context, mlirStringRefCreateFromCString("zb.matmul")));
  mlirModuleDestroy(module);
  close_world(&w);
}

/* A registry loads it where the parser meets its first op. */
static void test_dialect_of_a_registry(void) {
  world w;
  open_world(&w, false);
  MlirDialectRegistry registry = mlirDialectRegistryCreate();
  mlirDialectHandleInsertDialect(zb_dialect_handle(), registry);
  mlirContextAppendDialectRegistry(w.context, registry);
  mlirDialectRegistryDestroy(registry);
  CU_ASSERT_FALSE(mlirContextIsRegisteredOperation(w.context, mlirStringRefCreateFromCString("zb.relu")));
  MlirModule module = parse(&w, "func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {\n"
                                "  %y = \"zb.relu\"(%x) : (tensor<2xf32>) -> tensor<2xf32>\n"
                                "  return %x : tensor<2xf32>\n}\n");
  CU_ASSERT(mlirContextIsRegisteredOperation(w.context, mlirStringRefCreateFromCString("zb.relu")));
  CU_ASSERT(run_manager(w.context, module, "zb-dce"));
  mlirModuleDestroy(module);
  close_world(&w);
}

/* ---- Memory ---- */

/* Adding and running fail at each allocation that they make, and say so. */
static void test_failing_allocations(void) {
  world w;
  open_world(&w, true);
  int failures = 0;
  for (uint64_t n = 1; n < 2000; ++n) {
    MlirModule module = parse(&w, STEP("\"ext.mix_grads\""));
    MlirPassManager manager = mlirPassManagerCreate(w.context);
    zb_allocation_fail_at(n);
    zb_status status = zb_passes_add(mlirPassManagerGetAsOpPassManager(manager), PIPELINE);
    bool ran = !status && mlirLogicalResultIsSuccess(mlirPassManagerRunOnOp(manager, mlirModuleGetOperation(module)));
    zb_allocation_fail_at(0);
    mlirPassManagerDestroy(manager);
    mlirModuleDestroy(module);
    if (status) CU_ASSERT_EQUAL(zb_status_code(status), ZB_MEMORY);
    zb_status_free(status);
    if (ran) break;
    ++failures;
    if (!status) CU_ASSERT(w.said.length > 0);
    zb_text_deinit(&w.said);
    w.said = (zb_text){0};
  }
  CU_ASSERT(failures > 20 && failures < 1999);
  close_world(&w);
}

SUITE_MAIN_WITH("mlir", register_rows, NULL, {"all ways give one text", test_all_ways_give_one_text},
                {"constants without a size", test_sizeless_constant}, {"threads", test_threads},
                {"wrong pipelines", test_wrong_pipelines}, {"wrong rows", test_wrong_rows},
                {"diagnostics of the caller", test_diagnostics}, {"splits", test_splits},
                {"operands of other types", test_other_types}, {"placements of rows", test_placements},
                {"costs of rows", test_costs}, {"dialect not loaded", test_dialect_not_loaded},
                {"dialect loaded by the first pass", test_dialect_by_the_first_pass},
                {"dialect of a registry", test_dialect_of_a_registry},
                {"failing allocations", test_failing_allocations})
