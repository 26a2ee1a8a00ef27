/* Gradient kernels against central finite differences of their forward op, both in the reference kernels on f64.
 *
 * One row of the table is one gradient op on one set of operands: f = sum(result 0 * fixed weights) is differentiated
 * by each element of the operands named in the row. A gradient op of class KERNEL without a row fails. (COMPOSITE
 * gradients are tested where they are made.) */
#include <CUnit/Basic.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/suite.h"
#include "zb/kernel.h"

enum { OPERANDS_MAX = 8, FORWARD_MAX = 5, RESULTS_MAX = 3, ATTRS_MAX = 5, ELEMENTS_MAX = 256 };

/* ---- The gradient ops that need a row ---- */

#define NAME_KERNEL(text) text,
#define NAME_VIEW(text)
#define NAME_COMPOSITE(text)
#define NAME_STRUCTURE(text)
#define ZB_OP(name, CLASS)
#define ZB_GRAD(name, CLASS) NAME_##CLASS(#name "_grad")
static const char *const gradient_names[] = {
#include "zb/ops.def"
    /* The parts of COMPOSITE gradients that are ops of their own. */
    "layer_norm_grad_x", "layer_norm_grad_scale", "rms_norm_grad_x", "rms_norm_grad_scale"};
#undef ZB_OP
#undef ZB_GRAD
enum { GRADIENT_COUNT = sizeof gradient_names / sizeof gradient_names[0] };

/* ---- The table ---- */

typedef struct shape {
  bool present;
  bool integer; /* i64 in low..high - 1, not differentiated; else f64 */
  int rank;
  int64_t dims[4];
  double low, high;
} shape;

typedef struct row {
  const char *forward, *gradient;
  const char *
      operands; /* of the gradient op: x2 = operand 2 of forward, y0 = its result 0, d = gradient of y0, "-" = absent */
  int by[RESULTS_MAX]; /* result k of the gradient op is the gradient of operand by[k]; -1 ends */
  shape inputs[FORWARD_MAX], results[RESULTS_MAX];
  zb_attr attrs[ATTRS_MAX]; /* ends with a row without a name */
} row;

#define REAL(low, high, ...)                                                                                           \
  {true, false, (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), {__VA_ARGS__}, low, high}
#define INDEX(low, high, ...)                                                                                          \
  {true, true, (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), {__VA_ARGS__}, low, high}
#define RESULT(...) REAL(0, 0, __VA_ARGS__)
#define SCALAR {true, false, 0, {0}, 0, 0}
#define ABSENT {false, false, -1, {0}, 0, 0}
#define INT(text, value) {.name = text, .kind = ZB_ATTR_INT, .i = value}
#define BOOL(text, value) {.name = text, .kind = ZB_ATTR_BOOL, .i = value}
#define FLOAT(text, value) {.name = text, .kind = ZB_ATTR_FLOAT, .f = value}
#define TEXT(text, value) {.name = text, .kind = ZB_ATTR_STRING, .s = value}
#define INTS(text, ...)                                                                                                \
  {.name = text,                                                                                                       \
   .kind = ZB_ATTR_INTS,                                                                                               \
   .ints = (const int64_t[]){__VA_ARGS__},                                                                             \
   .count = (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t))}

/* saved: x0 or y0, what the op's row in zb/ops.def says that the gradient reads. */
#define UNARY(name, saved, low, high, ...)                                                                             \
  {#name, #name "_grad", saved " d", {0, -1}, {REAL(low, high, 3, 17)}, {RESULT(3, 17)}, {__VA_ARGS__}},
#define ATTENTION(b, tq, tk, heads, kv_heads, d, mask, is_causal)                                                      \
  {"attention",                                                                                                        \
   "attention_grad",                                                                                                   \
   "x0 x1 x2 x3 y0 y1 d",                                                                                              \
   {0, 1, 2},                                                                                                          \
   {REAL(-1, 1, b, tq, heads, d), REAL(-1, 1, b, tk, kv_heads, d), REAL(-1, 1, b, tk, kv_heads, d), mask},             \
   {RESULT(b, tq, heads, d), RESULT(b, heads, tq)},                                                                    \
   {FLOAT("scale", 0.6), BOOL("causal", is_causal)}},                                                                  \
      {"attention_dropout",                                                                                            \
       "attention_dropout_grad",                                                                                       \
       "x0 x1 x2 x3 x4 y0 y1 d",                                                                                       \
       {0, 1, 2},                                                                                                      \
       {REAL(-1, 1, b, tq, heads, d), REAL(-1, 1, b, tk, kv_heads, d), REAL(-1, 1, b, tk, kv_heads, d), mask,          \
        INDEX(0, 9, 4)},                                                                                               \
       {RESULT(b, tq, heads, d), RESULT(b, heads, tq)},                                                                \
       {FLOAT("scale", 0.6), BOOL("causal", is_causal), FLOAT("rate", 0.4), INT("op", 3)}},
#define LOSS(reduction, result)                                                                                        \
  {"cross_entropy",                                                                                                    \
   "cross_entropy_grad",                                                                                               \
   "x0 x1 y1 d",                                                                                                       \
   {0, -1},                                                                                                            \
   {REAL(-2, 2, 2, 3, 5), INDEX(0, 5, 2, 3)},                                                                          \
   {result, RESULT(2, 3)},                                                                                             \
   {TEXT("reduction", reduction), INT("ignore_index", 2)}},                                                            \
      {"nll_loss",                                                                                                     \
       "nll_loss_grad",                                                                                                \
       "x1 d",                                                                                                         \
       {0, -1},                                                                                                        \
       {REAL(-2, -1, 2, 3, 5), INDEX(0, 5, 2, 3)},                                                                     \
       {result},                                                                                                       \
       {TEXT("reduction", reduction), INT("ignore_index", 2), INTS("shape", 2, 3, 5)}},
#define GATHER(axis_number, indices, result)                                                                           \
  {"gather",                                                                                                           \
   "gather_grad",                                                                                                      \
   "x1 d",                                                                                                             \
   {0, -1},                                                                                                            \
   {REAL(-1, 1, 3, 4, 5), indices},                                                                                    \
   {result},                                                                                                           \
   {INT("axis", axis_number), INTS("shape", 3, 4, 5)}},
#define SOFTMAX(name, axis_number)                                                                                     \
  {name, name "_grad", "y0 d", {0, -1}, {REAL(-2, 2, 3, 4, 2)}, {RESULT(3, 4, 2)}, {INT("axis", axis_number)}},
#define LAYER_NORM(gradient, operands, by, axis_number, ...)                                                           \
  {"layer_norm",                                                                                                       \
   gradient,                                                                                                           \
   operands,                                                                                                           \
   {by, -1},                                                                                                           \
   {REAL(-2, 2, 3, 4, 5), REAL(-2, 2, __VA_ARGS__), REAL(-2, 2, __VA_ARGS__)},                                         \
   {RESULT(3, 4, 5), RESULT(3, 4, 1), RESULT(3, 4, 1)},                                                                \
   {INT("axis", axis_number), FLOAT("epsilon", 0.1)}},
#define RMS_NORM(gradient, operands, by, axis_number, ...)                                                             \
  {"rms_norm",                                                                                                         \
   gradient,                                                                                                           \
   operands,                                                                                                           \
   {by, -1},                                                                                                           \
   {REAL(-2, 2, 3, 4, 5), REAL(-2, 2, __VA_ARGS__)},                                                                   \
   {RESULT(3, 4, 5), RESULT(3, 4, 1)},                                                                                 \
   {INT("axis", axis_number), FLOAT("epsilon", 0.1)}},

/* One row a line. */
/* clang-format off */
static const row rows[] = {
    UNARY(abs, "x0", -2, 2, {0})
    UNARY(acos, "x0", -0.9, 0.9, {0})
    UNARY(acosh, "x0", 1.1, 4, {0})
    UNARY(asin, "x0", -0.9, 0.9, {0})
    UNARY(asinh, "x0", -3, 3, {0})
    UNARY(atan, "x0", -3, 3, {0})
    UNARY(atanh, "x0", -0.9, 0.9, {0})
    UNARY(cos, "x0", -3, 3, {0})
    UNARY(cosh, "x0", -3, 3, {0})
    UNARY(celu, "x0", -3, 3, FLOAT("alpha", 0.7))
    UNARY(clip, "x0", -3, 3, FLOAT("min", -1.1), FLOAT("max", 0.9))
    UNARY(elu, "x0", -3, 3, FLOAT("alpha", 1.7))
    UNARY(erf, "x0", -2, 2, {0})
    UNARY(erfc, "x0", -2, 3, {0})
    UNARY(exp, "y0", -2, 2, {0})
    UNARY(expm1, "x0", -2, 2, {0})
    UNARY(gelu, "x0", -4, 4, BOOL("tanh", false))
    UNARY(gelu, "x0", -4, 4, BOOL("tanh", true))
    UNARY(hard_sigmoid, "x0", -4, 4, FLOAT("alpha", 0.3), FLOAT("beta", 0.4))
    UNARY(hard_swish, "x0", -5, 5, {0})
    UNARY(leaky_relu, "x0", -3, 3, FLOAT("alpha", 0.2))
    UNARY(log, "x0", 0.2, 3, {0})
    UNARY(log1p, "x0", -0.7, 3, {0})
    UNARY(mish, "x0", -4, 4, {0})
    UNARY(neg, "y0", -2, 2, {0})
    UNARY(reciprocal, "y0", 0.4, 3, {0})
    UNARY(relu, "y0", -2, 2, {0})
    UNARY(rsqrt, "y0", 0.3, 3, {0})
    UNARY(selu, "x0", -3, 3, FLOAT("alpha", 1.5), FLOAT("gamma", 0.9))
    UNARY(shrink, "x0", -3, 3, FLOAT("bias", 0.3), FLOAT("lambda", 0.8))
    UNARY(sigmoid, "y0", -4, 4, {0})
    UNARY(silu, "x0", -4, 4, FLOAT("alpha", 1.3))
    UNARY(sin, "x0", -3, 3, {0})
    UNARY(sinh, "x0", -3, 3, {0})
    UNARY(softplus, "x0", -4, 4, {0})
    UNARY(softsign, "x0", -3, 3, {0})
    UNARY(sqrt, "y0", 0.3, 3, {0})
    UNARY(tan, "x0", -1.1, 1.1, {0})
    UNARY(tanh, "y0", -2, 2, {0})
    UNARY(thresholded_relu, "x0", -2, 2, FLOAT("alpha", 0.4))
    SOFTMAX("softmax", 0)
    SOFTMAX("softmax", 1)
    SOFTMAX("softmax", 2)
    SOFTMAX("log_softmax", 0)
    SOFTMAX("log_softmax", 1)
    SOFTMAX("log_softmax", 2)
    LAYER_NORM("layer_norm_grad_x", "x0 x1 y1 y2 d", 0, 2, 5)
    LAYER_NORM("layer_norm_grad_scale", "x0 y1 y2 d", 1, 2, 5)
    RMS_NORM("rms_norm_grad_x", "x0 x1 y1 d", 0, 2, 5)
    RMS_NORM("rms_norm_grad_scale", "x0 y1 d", 1, 2, 5)
    GATHER(0, INDEX(-3, 3, 4, 2), RESULT(4, 2, 4, 5))
    GATHER(1, INDEX(-4, 4, 7), RESULT(3, 7, 5))
    GATHER(2, INDEX(-5, 5, 2), RESULT(3, 4, 2))
    {"gather_elements", "gather_elements_grad", "x1 d", {0, -1}, {REAL(-1, 1, 3, 4), INDEX(-4, 4, 2, 6)},
      {RESULT(2, 6)}, {INT("axis", 1), INTS("shape", 3, 4)}},
    {"rotary", "rotary_grad", "d x1 x2", {0, -1}, {REAL(-2, 2, 2, 3, 2, 6), REAL(-2, 2, 3, 1, 6), REAL(-2, 2, 3, 1,
      6)}, {RESULT(2, 3, 2, 6)}, {{0}}},
    {"swiglu", "swiglu_grad", "x0 x1 d", {0, 1, -1}, {REAL(-4, 4, 3, 17), REAL(-2, 2, 3, 17)}, {RESULT(3, 17)},
      {{0}}},
    LOSS("mean", SCALAR)
    LOSS("sum", SCALAR)
    LOSS("none", RESULT(2, 3))
    ATTENTION(1, 3, 3, 2, 2, 3, ABSENT, false)
    ATTENTION(2, 3, 4, 4, 2, 2, ABSENT, true)
    ATTENTION(1, 4, 2, 2, 1, 3, ABSENT, true)
    ATTENTION(1, 3, 4, 2, 1, 3, REAL(-1, 1, 1, 2, 3, 4), true)
};
/* clang-format on */
enum { ROW_COUNT = sizeof rows / sizeof rows[0] };

/* ---- Running a row ---- */

typedef struct buffers {
  double real[ELEMENTS_MAX];
  int64_t whole[ELEMENTS_MAX];
} buffers;

typedef struct run {
  const row *row;
  buffers inputs[FORWARD_MAX], results[RESULTS_MAX], gradients[RESULTS_MAX];
  double weights[ELEMENTS_MAX];
  zb_tensor x[FORWARD_MAX], y[RESULTS_MAX], d;
  int input_count, result_count, attr_count;
} run;

static int64_t elements_of(const zb_tensor *tensor) {
  int64_t count = 1;
  for (int i = 0; i < tensor->rank; ++i)
    count *= tensor->shape[i];
  return count;
}

/* Numbers in low..high, a fixed sequence. */
static double next_number(uint64_t *state, double low, double high) {
  *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return low + (high - low) * (double)(*state >> 11) * 0x1p-53;
}

static zb_tensor tensor_of(const shape *s, buffers *memory) {
  zb_tensor out = {.data = s->integer ? (void *)memory->whole : (void *)memory->real,
                   .dtype = s->integer ? ZB_I64 : ZB_F64,
                   .rank = s->rank};
  if (!s->present) out = (zb_tensor){.rank = -1};
  int64_t stride = 1;
  for (int i = out.rank - 1; i >= 0; --i) {
    out.shape[i] = s->dims[i];
    out.strides[i] = stride;
    stride *= s->dims[i];
  }
  if (stride > ELEMENTS_MAX) abort();
  return out;
}

static void start(run *r, const row *one, uint64_t seed) {
  *r = (run){.row = one};
  /* Operands up to the last present one, with absent ones between; attention has four places. */
  r->input_count = strcmp(one->forward, "attention") == 0 ? 4 : 0;
  for (int i = 0; i < FORWARD_MAX; ++i) {
    r->x[i] = tensor_of(&one->inputs[i], &r->inputs[i]);
    if (one->inputs[i].present && r->input_count <= i) r->input_count = i + 1;
    for (int64_t k = 0; one->inputs[i].present && k < elements_of(&r->x[i]); ++k) {
      double number = next_number(&seed, one->inputs[i].low, one->inputs[i].high);
      r->inputs[i].real[k] = number;
      r->inputs[i].whole[k] = (int64_t)floor(number);
    }
  }
  for (int i = 0; i < RESULTS_MAX; ++i) {
    r->y[i] = tensor_of(&one->results[i], &r->results[i]);
    if (one->results[i].present) r->result_count = i + 1;
  }
  for (int i = 0; i < ELEMENTS_MAX; ++i)
    r->weights[i] = next_number(&seed, -1, 1);
  r->d = r->y[0];
  r->d.data = r->weights;
  while (r->attr_count < ATTRS_MAX && one->attrs[r->attr_count].name)
    ++r->attr_count;
}

/* sum(result 0 * weights) at the operands as they are now. */
static double objective(run *r, const char **error) {
  zb_kernel_call call = {.inputs = r->x,
                         .input_count = r->input_count,
                         .outputs = r->y,
                         .output_count = r->result_count,
                         .attrs = {r->row->attrs, r->attr_count}};
  const char *text = zb_kernel_reference(r->row->forward)->run(&call);
  if (text) *error = text;
  double total = 0;
  for (int64_t i = 0; i < elements_of(&r->y[0]); ++i)
    total += r->results[0].real[i] * r->weights[i];
  return total;
}

static const char *run_gradient(run *r) {
  zb_tensor inputs[OPERANDS_MAX], outputs[RESULTS_MAX];
  int count = 0, results = 0;
  for (const char *at = r->row->operands; *at; at += strcspn(at, " "), at += strspn(at, " "))
    inputs[count++] = at[0] == 'x' ? r->x[at[1] - '0'] : at[0] == 'y' ? r->y[at[1] - '0'] : r->d;
  for (; results < RESULTS_MAX && r->row->by[results] >= 0; ++results) {
    outputs[results] = r->x[r->row->by[results]];
    outputs[results].data = r->gradients[results].real;
  }
  zb_kernel_call call = {.inputs = inputs,
                         .input_count = count,
                         .outputs = outputs,
                         .output_count = results,
                         .attrs = {r->row->attrs, r->attr_count}};
  return zb_kernel_reference(r->row->gradient)->run(&call);
}

static void check_row(int number) {
  static run r;
  start(&r, &rows[number], (uint64_t)number * 977 + 1);
  const char *error = NULL;
  (void)objective(&r, &error);
  const char *gradient_error = run_gradient(&r);
  if (error || gradient_error) {
    fprintf(stderr, "row %d, %s: %s\n", number, r.row->gradient, error ? error : gradient_error);
    CU_FAIL("a kernel refuses the row");
    return;
  }
  const double step = 1e-5;
  double largest = 0;
  for (int k = 0; k < RESULTS_MAX && r.row->by[k] >= 0; ++k) {
    int by = r.row->by[k];
    for (int64_t i = 0; i < elements_of(&r.x[by]); ++i) {
      double *element = &r.inputs[by].real[i], before = *element;
      *element = before + step;
      double above = objective(&r, &error);
      *element = before - step;
      double below = objective(&r, &error);
      *element = before;
      double want = (above - below) / (2 * step), got = r.gradients[k].real[i];
      largest = fmax(largest, fabs(want));
      if (fabs(got - want) <= 1e-7 * (1 + fabs(want))) continue;
      fprintf(stderr, "row %d, %s: gradient of operand %d, element %lld is %.9g, finite difference %.9g\n", number,
              r.row->gradient, by, (long long)i, got, want);
      CU_FAIL("a gradient is wrong");
      return;
    }
  }
  /* A row whose gradients are all zero would prove nothing. */
  CU_ASSERT(largest > 1e-3);
}

static void gradients_match_finite_differences(void) {
  for (int i = 0; i < ROW_COUNT; ++i)
    check_row(i);
}

static void every_gradient_has_a_row(void) {
  for (int i = 0; i < GRADIENT_COUNT; ++i) {
    bool found = false;
    for (int k = 0; k < ROW_COUNT; ++k)
      found = found || strcmp(rows[k].gradient, gradient_names[i]) == 0;
    if (found) continue;
    fprintf(stderr, "%s has no row\n", gradient_names[i]);
    CU_FAIL("a gradient op of class KERNEL has no row");
  }
}

SUITE_MAIN("gradients", {"every gradient op has a row", every_gradient_has_a_row},
           {"gradients match finite differences", gradients_match_finite_differences})
