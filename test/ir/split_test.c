/* Gradients and split rules of all rows against central finite differences.
 *
 * One row of `cases` is one forward op. In f64, the test builds it, lets its row's `grad` emit the gradient, splits
 * every COMPOSITE op that this gave by its row's `split`, verifies the module, runs all of it with the reference
 * kernels, and compares the gradient of sum(out * dout) for every operand with (f(x+h) - f(x-h)) / 2h. A row of ops.def
 * with a gradient that has no case here fails.
 */
#include "ir/builder.h"
#include "ir/dialect.h"
#include "runtime/base/text.h"
#include "test/ir/evaluate.c"

#include <CUnit/Basic.h>
#include <CUnit/CUnit.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { OPERANDS_MAX = 4, ATTRS_MAX = 6, RESULTS_MAX = 4 };

/* An operand: dims as "2x3" ("" for a scalar), then what its elements are. */
typedef struct operand {
  const char *dims;
  char kind; /* 'd' a number that is differentiated, 'f' one that is not, 'i' an index, 'b' a bool, 0 none */
  double low, high;
} operand;

typedef struct gradient_case {
  const char *op;
  operand operands[OPERANDS_MAX];
  zb_attr attrs[ATTRS_MAX];
  int result_count; /* 0: as the row says */
} gradient_case;

#define N(dims) {dims, 'd', -2, 2}
#define POSITIVE(dims) {dims, 'd', 0.5, 2}
#define RANGE(dims, low, high) {dims, 'd', low, high}
#define FIXED(dims) {dims, 'f', -2, 2}
#define INDEX(dims, below) {dims, 'i', 0, below}
#define TRUTH(dims) {dims, 'b', 0, 2}
#define BOOL(NAME) {.name = NAME, .kind = ZB_ATTR_BOOL, .i = 1}
#define INT(NAME, VALUE) {.name = NAME, .kind = ZB_ATTR_INT, .i = VALUE}
#define FLOAT(NAME, VALUE) {.name = NAME, .kind = ZB_ATTR_FLOAT, .f = VALUE}
#define STRING(NAME, VALUE) {.name = NAME, .kind = ZB_ATTR_STRING, .s = VALUE}
#define INTS(NAME, ...)                                                                                                \
  {.name = NAME,                                                                                                       \
   .kind = ZB_ATTR_INTS,                                                                                               \
   .ints = (const int64_t[]){__VA_ARGS__},                                                                             \
   .count = sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)}
#define NO_AXES {.name = "axes", .kind = ZB_ATTR_INTS}
#define TA BOOL("transpose_lhs")
#define TB BOOL("transpose_rhs")

static const gradient_case cases[] = {
    {"abs", {N("2x3")}, {{0}}, 0},
    {"acos", {RANGE("5", -0.9, 0.9)}, {{0}}, 0},
    {"acosh", {RANGE("5", 1.2, 3)}, {{0}}, 0},
    {"asin", {RANGE("5", -0.9, 0.9)}, {{0}}, 0},
    {"asinh", {N("5")}, {{0}}, 0},
    {"atan", {N("5")}, {{0}}, 0},
    {"atanh", {RANGE("5", -0.9, 0.9)}, {{0}}, 0},
    {"cos", {N("5")}, {{0}}, 0},
    {"cosh", {N("5")}, {{0}}, 0},
    {"celu", {N("9")}, {FLOAT("alpha", 0.7)}, 0},
    {"clip", {N("9")}, {FLOAT("min", -0.5), FLOAT("max", 0.75)}, 0},
    {"elu", {N("9")}, {FLOAT("alpha", 0.7)}, 0},
    {"erf", {N("5")}, {{0}}, 0},
    {"erfc", {N("5")}, {{0}}, 0},
    {"exp", {N("5")}, {{0}}, 0},
    {"expm1", {N("5")}, {{0}}, 0},
    {"gelu", {N("5")}, {{0}}, 0},
    {"gelu", {N("5")}, {BOOL("tanh")}, 0},
    {"hard_sigmoid", {RANGE("9", -4, 4)}, {FLOAT("alpha", 0.25)}, 0},
    {"hard_swish", {RANGE("9", -4, 4)}, {{0}}, 0},
    {"leaky_relu", {N("9")}, {FLOAT("alpha", 0.2)}, 0},
    {"log", {POSITIVE("5")}, {{0}}, 0},
    {"log1p", {RANGE("5", -0.7, 2)}, {{0}}, 0},
    {"mish", {N("5")}, {{0}}, 0},
    {"neg", {N("5")}, {{0}}, 0},
    {"reciprocal", {POSITIVE("5")}, {{0}}, 0},
    {"relu", {N("9")}, {{0}}, 0},
    {"rsqrt", {POSITIVE("5")}, {{0}}, 0},
    {"selu", {N("9")}, {{0}}, 0},
    {"shrink", {N("9")}, {FLOAT("bias", 0.25)}, 0},
    {"sigmoid", {N("5")}, {{0}}, 0},
    {"silu", {N("5")}, {FLOAT("alpha", 1.5)}, 0},
    {"sin", {N("5")}, {{0}}, 0},
    {"sinh", {N("5")}, {{0}}, 0},
    {"softplus", {N("5")}, {{0}}, 0},
    {"softsign", {N("5")}, {{0}}, 0},
    {"sqrt", {POSITIVE("5")}, {{0}}, 0},
    {"tan", {RANGE("5", -1, 1)}, {{0}}, 0},
    {"tanh", {N("5")}, {{0}}, 0},
    {"thresholded_relu", {N("9")}, {FLOAT("alpha", 0.5)}, 0},

    {"add", {N("2x3"), N("2x3")}, {{0}}, 0},
    {"add", {N("4x2x3"), N("2x1")}, {{0}}, 0},
    {"add", {N(""), N("2x3")}, {{0}}, 0},
    {"sub", {N("2x3"), N("4x1x3")}, {{0}}, 0},
    {"mul", {N("2x3"), N("3")}, {{0}}, 0},
    {"mul", {N("1x3"), N("2x1")}, {{0}}, 0},
    {"div", {N("2x3"), POSITIVE("2x1")}, {{0}}, 0},
    {"div", {N("3"), RANGE("2x3", -2, -0.5)}, {{0}}, 0},
    {"pow", {POSITIVE("2x3"), N("3")}, {{0}}, 0},
    {"pow", {POSITIVE("3"), N("2x1")}, {{0}}, 0},
    {"max", {N("2x3"), N("3")}, {{0}}, 0},
    {"min", {N("2x1"), N("2x3")}, {{0}}, 0},
    {"prelu", {N("4x3"), N("3")}, {{0}}, 0},
    {"where", {TRUTH("2x3"), N("2x3"), N("3")}, {{0}}, 0},
    {"where", {TRUTH("2x1"), N(""), N("4x2x3")}, {{0}}, 0},
    {"where", {TRUTH("4x2x3"), N("3"), N("2x1")}, {{0}}, 0},
    {"cast", {N("2x3")}, {STRING("dtype", "f64")}, 0},

    {"dropout", {N("5x7"), INDEX("4", 5)}, {FLOAT("rate", 0.4), INT("op", 3)}, 0},

    {"by_mode", {N("2x3"), FIXED("2x3")}, {{0}}, 0},

    {"swiglu", {N("2x3"), N("2x3")}, {{0}}, 0},
    {"rotary", {N("2x3x2x4"), FIXED("1x3x1x4"), FIXED("1x3x1x4")}, {{0}}, 0},
    {"rotary", {N("2x3x6"), FIXED("6"), FIXED("6")}, {{0}}, 0},

    {"reduce_sum", {N("2x3x4")}, {INTS("axes", 1)}, 0},
    {"reduce_sum", {N("2x3x4")}, {INTS("axes", 2, 0), BOOL("keepdims")}, 0},
    {"reduce_sum", {N("2x3")}, {NO_AXES}, 0},
    {"reduce_mean", {N("2x3x4")}, {INTS("axes", 0, 2)}, 0},
    {"reduce_mean", {N("2x3")}, {NO_AXES, BOOL("keepdims")}, 0},
    {"reduce_max", {N("2x3x4")}, {INTS("axes", 1)}, 0},
    {"reduce_max", {N("2x3")}, {NO_AXES, BOOL("keepdims")}, 0},
    {"reduce_min", {N("2x3x4")}, {INTS("axes", 1, 2)}, 0},
    {"reduce_prod", {POSITIVE("2x3x2")}, {INTS("axes", 1)}, 0},
    {"reduce_prod", {RANGE("4", -2, -0.5)}, {NO_AXES}, 0},

    {"softmax", {N("2x3x4")}, {INT("axis", 1)}, 0},
    {"log_softmax", {N("2x3")}, {INT("axis", 1)}, 0},

    {"layer_norm", {N("3x4"), N("4"), N("4")}, {INT("axis", 1), FLOAT("epsilon", 1e-3)}, 0},
    {"layer_norm", {N("2x3x4"), N("4")}, {INT("axis", 2)}, 0},
    {"layer_norm", {N("2x3x4"), N("3x4"), N("3x4")}, {INT("axis", 1)}, 0},
    {"layer_norm", {N("3x4"), N("3x4"), N("3x4")}, {INT("axis", 0)}, 0},
    {"rms_norm", {N("2x3x4"), N("4")}, {INT("axis", 2)}, 0},
    {"rms_norm", {N("2x6"), N("2x6")}, {INT("axis", 0), FLOAT("epsilon", 1e-3)}, 0},

#define PRODUCTS(LHS, LHS_T, RHS, RHS_T)                                                                               \
  {"matmul", {N(LHS), N(RHS)}, {{0}}, 0}, {"matmul", {N(LHS_T), N(RHS)}, {TA}, 0},                                     \
      {"matmul", {N(LHS), N(RHS_T)}, {TB}, 0}, {"matmul", {N(LHS_T), N(RHS_T)}, {TA, TB}, 0}
    PRODUCTS("2x3", "3x2", "3x4", "4x3"),
    PRODUCTS("5x2x3", "5x3x2", "3x4", "4x3"),
    PRODUCTS("2x2x2x3", "2x2x3x2", "3x4", "4x3"),
    PRODUCTS("5x2x3", "5x3x2", "5x3x4", "5x4x3"),
    PRODUCTS("2x2x2x3", "2x2x3x2", "2x2x3x4", "2x2x4x3"),
    PRODUCTS("2x3", "3x2", "5x3x4", "5x4x3"),
    PRODUCTS("1x2x3", "1x3x2", "5x3x4", "5x4x3"),
    PRODUCTS("5x2x3", "5x3x2", "1x3x4", "1x4x3"),
    PRODUCTS("2x1x2x3", "2x1x3x2", "3x3x4", "3x4x3"),
    PRODUCTS("3x2x3", "3x3x2", "2x1x3x4", "2x1x4x3"),
    {"matmul", {N("2x3"), N("3x4"), N("4")}, {{0}}, 0},
    {"matmul", {N("5x2x3"), N("4x3"), N("4")}, {TB}, 0},
    {"matmul", {N("5x3x2"), N("5x3x4"), N("4")}, {TA}, 0},

    {"reshape", {N("2x6")}, {INTS("shape", 3, 4)}, 0},
    {"transpose", {N("2x3x4")}, {INTS("permutation", 2, 0, 1)}, 0},
    {"slice", {N("5x4")}, {INTS("starts", 1, 0), INTS("sizes", 2, 4), INTS("steps", 2, 1)}, 0},
    {"expand", {N("3x1")}, {INTS("shape", 2, 3, 4)}, 0},
    {"split", {N("2x7")}, {INT("axis", 1), INTS("sizes", 1, 2, 2, 2)}, 4},
    {"concat", {N("2x3"), N("2x1"), N("2x4")}, {INT("axis", 1)}, 0},
    {"concat", {N("1x3"), N("2x3")}, {INT("axis", 0)}, 0},
    {"contiguous", {N("2x3")}, {{0}}, 0},
    /* of one shard alone */
    {"all_reduce", {N("2x3")}, {INT("members", 2), STRING("reduction", "sum")}, 0},
    {"shared", {N("2x3")}, {INT("members", 2)}, 0},
    {"reduce_scatter", {N("2x3")}, {INT("members", 2)}, 0},
    {"gather_parts", {N("2x3")}, {INT("members", 3)}, 0},
    {"gather_parts", {N("2x3")}, {INT("members", 3), BOOL("shared")}, 0},
    {"own_part", {N("3x2x4")}, {INT("members", 3)}, 0},
    {"gather", {N("5x3"), INDEX("2x4", 5)}, {INT("axis", 0)}, 0},
    {"gather", {N("2x3x2"), INDEX("4", 3)}, {INT("axis", 1)}, 0},
    {"gather_elements", {N("3x4"), INDEX("2x4", 3)}, {INT("axis", 0)}, 0},
    {"scatter", {N("5x3"), INDEX("1", 5), N("1x3")}, {STRING("reduction", "none")}, 0},
    {"scatter", {N("5x3"), INDEX("2x4", 5), N("2x4x3")}, {STRING("reduction", "add")}, 0},
    {"cumsum", {N("2x4x3")}, {INT("axis", 1)}, 0},
    {"cumsum", {N("2x4")}, {INT("axis", 1), BOOL("exclusive"), BOOL("reverse")}, 0},

    {"conv",
     {N("2x3x7"), N("4x3x3")},
     {INTS("strides", 2), INTS("pads", 1, 0), INTS("dilations", 2), INT("groups", 1)},
     0},
    {"conv",
     {N("1x4x5x4"), N("2x2x3x2")},
     {INTS("strides", 1, 2), INTS("pads", 1, 0, 2, 1), INTS("dilations", 1, 1), INT("groups", 2)},
     0},
    {"conv",
     {N("1x2x3x4x3"), N("2x1x2x2x2")},
     {INTS("strides", 1, 1, 2), INTS("pads", 0, 1, 0, 0, 1, 1), INTS("dilations", 1, 2, 1), INT("groups", 2)},
     0},
    {"conv_transpose",
     {N("2x3x4"), N("3x2x3")},
     {INTS("strides", 2), INTS("pads", 1, 0), INTS("dilations", 1), INT("groups", 1), INTS("shape", 8)},
     0},
    {"conv_transpose",
     {N("1x4x2x3"), N("4x1x3x2")},
     {INTS("strides", 2, 1), INTS("pads", 1, 0, 0, 1), INTS("dilations", 1, 1), INT("groups", 2), INTS("shape", 4, 3)},
     0},

    {"cross_entropy", {N("4x5"), INDEX("4", 5)}, {STRING("reduction", "mean")}, 0},
    {"cross_entropy", {N("2x3x5"), INDEX("2x3", 5)}, {STRING("reduction", "none"), INT("ignore_index", 1)}, 0},
    {"nll_loss", {N("4x5"), INDEX("4", 5)}, {STRING("reduction", "sum")}, 0},
    {"nll_loss", {N("4x5"), INDEX("4", 5)}, {STRING("reduction", "mean"), INT("ignore_index", 2)}, 0},

    {"attention", {N("1x3x2x4"), N("1x3x2x4"), N("1x3x2x4")}, {FLOAT("scale", 0.5), BOOL("causal")}, 0},
    {"attention_dropout",
     {N("2x3x2x4"), N("2x3x2x4"), N("2x3x2x4"), INDEX("4", 5)},
     {FLOAT("scale", 0.5), BOOL("causal"), FLOAT("rate", 0.3), INT("op", 2)},
     0},
    {"attention", {N("2x2x4x2"), N("2x3x2x2"), N("2x3x2x2"), FIXED("2x1x2x3")}, {FLOAT("scale", 0.7)}, 0},
};
enum { CASE_COUNT = sizeof cases / sizeof cases[0] };

/* ---- Building ---- */

static MlirContext context;

static uint64_t random_state;

static double random_between(double low, double high) {
  random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return low + (high - low) * (double)(random_state >> 11) / 9007199254740992.0;
}

static zb_shape parse_dims(const char *dims, zb_dtype dtype) {
  zb_shape shape = {.dtype = dtype};
  for (const char *at = dims; *at;) {
    char *end = NULL;
    shape.dims[shape.rank++] = strtoll(at, &end, 10);
    at = *end == 'x' ? end + 1 : end;
  }
  return shape;
}

static zb_dtype dtype_of(char kind) { return kind == 'i' ? ZB_I64 : kind == 'b' ? ZB_I1 : ZB_F64; }

static zb_array make_operand(const operand *o) {
  zb_array array = {.shape = parse_dims(o->dims, dtype_of(o->kind))};
  int64_t count = zb_shape_elements(&array.shape);
  array.data = zb_alloc((size_t)zb_shape_bytes(&array.shape) + 1);
  for (int64_t i = 0; i < count; ++i) {
    double value = random_between(o->low, o->high);
    if (o->kind == 'i')
      ((int64_t *)array.data)[i] = (int64_t)value;
    else if (o->kind == 'b')
      ((uint8_t *)array.data)[i] = value >= 1;
    else
      ((double *)array.data)[i] = value;
  }
  return array;
}

/* A function whose arguments have these types, and an empty body. */
static MlirModule make_function(const zb_array *inputs, int count, MlirBlock *block) {
  zb_text text = {0};
  zb_text_add(&text, "func.func @case(");
  for (int i = 0; i < count; ++i) {
    char shape[96];
    zb_text_add(&text, "%s%%a%d: tensor<%s>", i ? ", " : "", i, zb_shape_text(&inputs[i].shape, shape));
  }
  zb_text_add(&text, ") {\n  return\n}\n");
  MlirModule module = mlirModuleCreateParse(context, mlirStringRefCreateFromCString(text.data));
  zb_text_deinit(&text);
  MlirOperation function = mlirBlockGetFirstOperation(mlirModuleGetBody(module));
  *block = mlirRegionGetFirstBlock(mlirOperationGetRegion(function, 0));
  return module;
}

/* A gradient built by `grad`, with COMPOSITE ops split, result by result. */
static MlirValue split_value(zb_builder *b, MlirValue gradient) {
  if (mlirValueIsNull(gradient) || !mlirValueIsAOpResult(gradient)) return gradient;
  MlirOperation op = mlirOpResultGetOwner(gradient);
  const zb_op_def *def = zb_op_find(op);
  if (!def || def->op_class != ZB_CLASS_COMPOSITE) return gradient;
  CU_ASSERT_PTR_NOT_NULL(def->split);
  return def->split ? def->split(b, op, (int)mlirOpResultGetResultNumber(gradient)) : gradient;
}

static void erase_composites(MlirBlock block) {
  MlirOperation next, op = mlirBlockGetFirstOperation(block);
  for (; !mlirOperationIsNull(op); op = next) {
    next = mlirOperationGetNextInBlock(op);
    const zb_op_def *def = zb_op_find(op);
    if (def && def->op_class == ZB_CLASS_COMPOSITE) mlirOperationDestroy(op);
  }
}

typedef struct built {
  MlirModule module;
  MlirBlock block;
  int operand_count, result_count;             /* results that get a dout */
  zb_array inputs[OPERANDS_MAX + RESULTS_MAX]; /* operands, then douts */
  MlirValue results[RESULTS_MAX], gradients[OPERANDS_MAX];
} built;

/* Results after these save something for the gradient and get none themselves. */
static int differentiable_results(const gradient_case *c) { return strcmp(c->op, "split") == 0 ? c->result_count : 1; }

static bool build_case(const gradient_case *c, built *out) {
  *out = (built){.operand_count = 0};
  int attrs = 0, total = 0;
  while (out->operand_count < OPERANDS_MAX && c->operands[out->operand_count].kind) {
    out->inputs[out->operand_count] = make_operand(&c->operands[out->operand_count]);
    ++out->operand_count;
  }
  while (attrs < ATTRS_MAX && c->attrs[attrs].name)
    ++attrs;
  /* The result types are known only after a first build, in a module of its own. */
  MlirModule trial = make_function(out->inputs, out->operand_count, &out->block);
  zb_builder b = zb_builder_before(mlirBlockGetTerminator(out->block));
  MlirValue operands[OPERANDS_MAX];
  for (int i = 0; i < out->operand_count; ++i)
    operands[i] = mlirBlockGetArgument(out->block, i);
  MlirOperation op =
      zb_build_op(&b, c->op, operands, out->operand_count, c->attrs, attrs, c->result_count ? c->result_count : -1);
  if (mlirOperationIsNull(op)) return mlirModuleDestroy(trial), false;
  out->result_count = differentiable_results(c);
  total = out->operand_count;
  for (int i = 0; i < out->result_count; ++i) {
    zb_shape shape;
    char dims[96];
    bool is_tensor = zb_type_shape(mlirValueGetType(mlirOperationGetResult(op, i)), &shape);
    CU_ASSERT_FATAL(is_tensor);
    zb_shape_text(&shape, dims);
    operand dout = {.dims = shape.rank ? dims : "", .kind = 'f', .low = -1, .high = 1};
    if (shape.rank) *(strrchr(dims, 'x')) = '\0';
    out->inputs[total++] = make_operand(&dout);
  }
  mlirModuleDestroy(trial);

  out->module = make_function(out->inputs, total, &out->block);
  b = zb_builder_before(mlirBlockGetTerminator(out->block));
  for (int i = 0; i < out->operand_count; ++i)
    operands[i] = mlirBlockGetArgument(out->block, i);
  op = zb_build_op(&b, c->op, operands, out->operand_count, c->attrs, attrs, c->result_count ? c->result_count : -1);
  MlirValue dout[RESULTS_MAX] = {{NULL}};
  bool needs[OPERANDS_MAX];
  for (int i = 0; i < out->result_count; ++i) {
    out->results[i] = mlirOperationGetResult(op, i);
    dout[i] = mlirBlockGetArgument(out->block, out->operand_count + i);
  }
  for (int i = 0; i < out->operand_count; ++i)
    needs[i] = c->operands[i].kind == 'd';
  const zb_op_def *def = zb_op_find(op);
  CU_ASSERT_PTR_NOT_NULL_FATAL(def->grad);
  if (!zb_op_gradient(&b, op, dout, needs, out->gradients)) return false;
  CU_ASSERT(zb_verify_module(mlirModuleGetOperation(out->module)));
  for (int i = 0; i < out->operand_count; ++i)
    out->gradients[i] = split_value(&b, out->gradients[i]);
  erase_composites(out->block);
  return !b.failed && zb_verify_module(mlirModuleGetOperation(out->module));
}

static void destroy_case(built *c) {
  for (int i = 0; i < OPERANDS_MAX + RESULTS_MAX; ++i)
    zb_free(c->inputs[i].data);
  if (c->module.ptr) mlirModuleDestroy(c->module);
}

/* ---- Comparing ---- */

/* sum over results of out * dout. */
static double objective(const built *c) {
  zb_array out[RESULTS_MAX];
  double sum = 0;
  const char *error = zb_evaluate(c->block, c->inputs, c->results, c->result_count, out);
  if (error) {
    fprintf(stderr, "\n%s\n", error);
    CU_FAIL("the evaluator failed");
    return NAN;
  }
  for (int i = 0; i < c->result_count; ++i) {
    const zb_array *dout = &c->inputs[c->operand_count + i];
    for (int64_t n = zb_shape_elements(&out[i].shape) - 1; n >= 0; --n)
      sum += zb_array_get(&out[i], n) * zb_array_get(dout, n);
    zb_free(out[i].data);
  }
  return sum;
}

static void check_operand(const gradient_case *c, built *built_case, int k) {
  zb_array gradient;
  const char *error = zb_evaluate(built_case->block, built_case->inputs, &built_case->gradients[k], 1, &gradient);
  if (error) {
    fprintf(stderr, "\n%s: %s\n", c->op, error);
    CU_FAIL("the evaluator failed");
    return;
  }
  zb_array *x = &built_case->inputs[k];
  CU_ASSERT(zb_shape_equal(&gradient.shape, &x->shape));
  const double h = 1e-5;
  for (int64_t n = 0; n < zb_shape_elements(&x->shape); ++n) {
    double value = zb_array_get(x, n);
    zb_array_set(x, n, value + h);
    double above = objective(built_case);
    zb_array_set(x, n, value - h);
    double below = objective(built_case);
    zb_array_set(x, n, value);
    double expected = (above - below) / (2 * h), got = zb_array_get(&gradient, n);
    if (fabs(expected - got) <= 1e-6 * (1 + fabs(expected))) continue;
    fprintf(stderr, "\nzb.%s (case %d), operand %d, element %lld: finite difference %.9g, gradient %.9g\n", c->op,
            (int)(c - cases), k, (long long)n, expected, got);
    CU_FAIL("a gradient differs from its finite difference");
    break;
  }
  zb_free(gradient.data);
}

static void test_gradients(void) {
  for (int i = 0; i < CASE_COUNT; ++i) {
    built built_case;
    random_state = (uint64_t)i + 1;
    bool is_built = build_case(&cases[i], &built_case);
    if (!is_built) fprintf(stderr, "\nzb.%s (case %d) cannot be built\n", cases[i].op, i);
    CU_ASSERT(is_built);
    for (int k = 0; is_built && k < built_case.operand_count; ++k) {
      if (cases[i].operands[k].kind != 'd') continue;
      CU_ASSERT(!mlirValueIsNull(built_case.gradients[k]));
      if (!mlirValueIsNull(built_case.gradients[k])) check_operand(&cases[i], &built_case, k);
    }
    destroy_case(&built_case);
  }
}

/* Every row with a gradient has a case, and so has every COMPOSITE gradient. */
static void test_all_gradients_have_a_case(void) {
  for (int row = 0; row < zb_op_builtin_count(); ++row) {
    const zb_op_def *def = zb_op_at(row);
    char forward[64];
    snprintf(forward, sizeof forward, "%s", def->name);
    bool composite = def->op_class == ZB_CLASS_COMPOSITE;
    if (composite) {
      size_t length = strlen(forward);
      CU_ASSERT_FATAL(length > 5 && strcmp(forward + length - 5, "_grad") == 0);
      forward[length - 5] = '\0';
      CU_ASSERT_PTR_NOT_NULL(def->split);
    }
    const bool is_slope = strcmp(def->name, "slope") == 0; /* its gradient is not that of its value */
    if ((!def->grad && !composite) || is_slope) continue;
    bool found = false;
    for (int i = 0; i < CASE_COUNT; ++i)
      found = found || strcmp(cases[i].op, forward) == 0;
    if (!found) fprintf(stderr, "\nzb.%s has no case in test/ir/split_test.c\n", def->name);
    CU_ASSERT(found);
  }
}

/* ---- What finite differences cannot see: ties and edges, in exact numbers ---- */

typedef struct exact_case {
  const char *op;
  double lhs[4], rhs[4];
  double expected[2][4]; /* with dout = 1, 2, 3, 4 */
} exact_case;

static void check_exact(const exact_case *c) {
  built built_case;
  gradient_case shape_case = {.op = c->op, .operands = {N("4"), N("4")}};
  CU_ASSERT_FATAL(build_case(&shape_case, &built_case));
  for (int i = 0; i < 4; ++i) {
    zb_array_set(&built_case.inputs[0], i, c->lhs[i]);
    zb_array_set(&built_case.inputs[1], i, c->rhs[i]);
    zb_array_set(&built_case.inputs[2], i, i + 1);
  }
  zb_array gradients[2];
  const char *error = zb_evaluate(built_case.block, built_case.inputs, built_case.gradients, 2, gradients);
  CU_ASSERT_PTR_NULL_FATAL(error);
  for (int k = 0; k < 2; ++k)
    for (int i = 0; i < 4; ++i)
      CU_ASSERT_DOUBLE_EQUAL(zb_array_get(&gradients[k], i), c->expected[k][i], 1e-12);
  for (int k = 0; k < 2; ++k)
    zb_free(gradients[k].data);
  destroy_case(&built_case);
}

static void test_edges(void) {
  static const exact_case edges[] = {
      {"max", {1, 2, 3, 0}, {1, 1, 4, 0}, {{0.5, 2, 0, 2}, {0.5, 0, 3, 2}}},
      {"min", {1, 2, 3, 0}, {1, 1, 4, 0}, {{0.5, 0, 3, 2}, {0.5, 2, 0, 2}}},
      /* 0^0, 0^2, 0.5^3, 2^0: no NaN from log(lhs) or from lhs^(rhs - 1). */
      {"pow",
       {0, 0, 0.5, 2},
       {0, 2, 3, 0},
       {{0, 0, 2.25, 0}, {0, 0, -0.375 * 0.69314718055994530942, 4 * 0.69314718055994530942}}},
      {"prelu", {0, -1, 2, -3}, {5, 6, 7, 8}, {{5, 12, 3, 32}, {0, -2, 0, -12}}},
  };
  for (size_t i = 0; i < sizeof edges / sizeof edges[0]; ++i)
    check_exact(&edges[i]);
}

/* zb.slope is zero, and its gradient the product with the slope, summed over what was broadcast. */
static void test_slope(void) {
  gradient_case shape_case = {.op = "slope", .operands = {N("2"), FIXED("2x2")}};
  built built_case;
  CU_ASSERT_FATAL(build_case(&shape_case, &built_case));
  for (int i = 0; i < 4; ++i) {
    zb_array_set(&built_case.inputs[1], i, i + 1);
    zb_array_set(&built_case.inputs[2], i, 10);
  }
  zb_array gradient;
  CU_ASSERT_PTR_NULL_FATAL(zb_evaluate(built_case.block, built_case.inputs, built_case.gradients, 1, &gradient));
  CU_ASSERT_EQUAL(zb_array_get(&gradient, 0), 40);
  CU_ASSERT_EQUAL(zb_array_get(&gradient, 1), 60);
  zb_free(gradient.data);
  destroy_case(&built_case);
}

/* Equal extremes share evenly. */
static void test_reduce_ties(void) {
  static const char *const ops[] = {"reduce_max", "reduce_min"};
  for (int o = 0; o < 2; ++o) {
    gradient_case shape_case = {.op = ops[o], .operands = {N("2x3")}, .attrs = {INTS("axes", 1)}};
    built built_case;
    CU_ASSERT_FATAL(build_case(&shape_case, &built_case));
    double sign = o == 0 ? 1 : -1, x[] = {5, 5, 1, 2, 2, 2}, expected[] = {1, 1, 0, 2, 2, 2};
    for (int i = 0; i < 6; ++i)
      zb_array_set(&built_case.inputs[0], i, sign * x[i]);
    zb_array_set(&built_case.inputs[1], 0, 2);
    zb_array_set(&built_case.inputs[1], 1, 6);
    zb_array gradient;
    CU_ASSERT_PTR_NULL_FATAL(zb_evaluate(built_case.block, built_case.inputs, built_case.gradients, 1, &gradient));
    for (int i = 0; i < 6; ++i)
      CU_ASSERT_DOUBLE_EQUAL(zb_array_get(&gradient, i), expected[i], 1e-12);
    zb_free(gradient.data);
    destroy_case(&built_case);
  }
}

/* The gradient of a product with one zero, with two, and without. */
static void test_products_with_zeros(void) {
  gradient_case shape_case = {.op = "reduce_prod", .operands = {N("3x3")}, .attrs = {INTS("axes", 1)}};
  built built_case;
  CU_ASSERT_FATAL(build_case(&shape_case, &built_case));
  const double x[] = {0, 2, -3, 0, 0, 5, 1, 2, 4}, expected[] = {-6, 0, 0, 0, 0, 0, 8 * 3, 4 * 3, 2 * 3};
  for (int i = 0; i < 9; ++i)
    zb_array_set(&built_case.inputs[0], i, x[i]);
  for (int i = 0; i < 3; ++i)
    zb_array_set(&built_case.inputs[1], i, i + 1);
  zb_array gradient;
  CU_ASSERT_PTR_NULL_FATAL(zb_evaluate(built_case.block, built_case.inputs, built_case.gradients, 1, &gradient));
  for (int i = 0; i < 9; ++i)
    CU_ASSERT_EQUAL(zb_array_get(&gradient, i), expected[i]);
  zb_free(gradient.data);
  destroy_case(&built_case);
}

/* No split of matmul_grad needs a zb.transpose, and weights under a batch need no reduction (a bias does). */
static void test_matmul_split_is_lean(void) {
  for (int i = 0; i < CASE_COUNT; ++i) {
    if (strcmp(cases[i].op, "matmul") != 0) continue;
    built built_case;
    CU_ASSERT_FATAL(build_case(&cases[i], &built_case));
    bool transposed_batch = cases[i].attrs[0].name && strcmp(cases[i].attrs[0].name, "transpose_lhs") == 0;
    bool weights = strlen(cases[i].operands[1].dims) == 3 && !transposed_batch && !cases[i].operands[2].dims;
    MlirOperation op = mlirBlockGetFirstOperation(built_case.block);
    for (; !mlirOperationIsNull(op); op = mlirOperationGetNextInBlock(op)) {
      const zb_op_def *def = zb_op_find(op);
      if (!def) continue;
      CU_ASSERT_STRING_NOT_EQUAL(def->name, "transpose");
      if (weights) CU_ASSERT_STRING_NOT_EQUAL(def->name, "reduce_sum");
    }
    destroy_case(&built_case);
  }
}

int main(void) {
  context = zb_context_create(false);
  if (mlirContextIsNull(context) || CU_initialize_registry() != CUE_SUCCESS) return 1;
  CU_pSuite suite = CU_add_suite("split", NULL, NULL);
  CU_add_test(suite, "every gradient has a case", test_all_gradients_have_a_case);
  CU_add_test(suite, "gradients equal finite differences", test_gradients);
  CU_add_test(suite, "ties and edges", test_edges);
  CU_add_test(suite, "slope", test_slope);
  CU_add_test(suite, "equal extremes share", test_reduce_ties);
  CU_add_test(suite, "products with zeros", test_products_with_zeros);
  CU_add_test(suite, "matmul split is lean", test_matmul_split_is_lean);
  CU_basic_set_mode(CU_BRM_NORMAL);
  CU_basic_run_tests();
  unsigned failures = CU_get_number_of_failures();
  CU_cleanup_registry();
  mlirContextDestroy(context);
  return failures != 0;
}
