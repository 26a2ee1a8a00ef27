/* Elementwise ops of one operand and their gradients; the formulas are in unary.def. */
#include "kernels/cpu/ref/ref.h"

#include <math.h>

typedef struct parameter {
  const char *name;
  double fallback;
  bool is_exact; /* else it has the type of x */
} parameter;

/* One op: its attributes and its function for each kind of number; integer is NULL where there is none. */
typedef struct unary {
  parameter a, b;
  double (*real)(double x, double dout, double a, double b); /* dout: of a gradient */
  int64_t (*integer)(int64_t x, double a, double b);
} unary;

#define NONE ((parameter){NULL, 0, false})
#define PARAMETER(name, fallback) ((parameter){name, fallback, false})
#define EXACT(name, fallback) ((parameter){name, fallback, true})
#include "kernels/cpu/ref/words.def"

typedef double T;
#define DEFINE(function, variable, expression)                                                                         \
  static double function(double variable, double dout, double a, double b) {                                           \
    (void)variable, (void)dout, (void)a, (void)b;                                                                      \
    return expression;                                                                                                 \
  }

/* The functions of all rows. An op without a row for integers gets NULL in integer_functions. */
#define ZB_REF_UNARY(name, saved, a, b, forward, gradient)                                                             \
  DEFINE(name##_real, x, forward)                                                                                      \
  DEFINE(name##_gradient, saved, gradient)
#define ZB_REF_UNARY_FLAT(name, a, b, forward) DEFINE(name##_real, x, forward)
#define ZB_REF_UNARY_INTEGER(name, forward)                                                                            \
  static int64_t name##_integer(int64_t x, double a, double b) {                                                       \
    (void)a, (void)b;                                                                                                  \
    return forward;                                                                                                    \
  }
#include "kernels/cpu/ref/unary.def"

typedef enum row_number {
#define ZB_REF_UNARY(name, saved, a, b, forward, gradient) ROW_##name,
#define ZB_REF_UNARY_FLAT(name, a, b, forward) ROW_##name,
#include "kernels/cpu/ref/unary.def"
  ROW_COUNT
} row_number;

static int64_t (*const integer_functions[ROW_COUNT])(int64_t x, double a, double b) = {
#define ZB_REF_UNARY_INTEGER(name, forward) [ROW_##name] = name##_integer,
#include "kernels/cpu/ref/unary.def"
};

static double value_of(const zb_kernel_call *call, parameter p) {
  if (!p.name) return 0;
  const double value = zb_attr_number(call, p.name, p.fallback);
  const zb_dtype dtype = call->outputs[0].dtype;
  return !p.is_exact && dtype != ZB_F64 && zb_dtype_is_float(dtype) ? (double)(float)value : value;
}

static const char *run_forward(const zb_kernel_call *call, const unary *op) {
  ZB_REF_TRY(zb_ref_check(call, 1, 1, false));
  const zb_tensor *x = &call->inputs[0], *out = &call->outputs[0];
  if (x->dtype != out->dtype) return ZB_REF_BAD_TYPE;
  if (!zb_dtype_is_float(x->dtype) && !(zb_dtype_is_index(x->dtype) && op->integer)) return ZB_REF_BAD_TYPE;
  zb_ref_walk walk;
  zb_ref_walk_init(&walk, out);
  if (!zb_ref_walk_add(&walk, x)) return ZB_REF_BAD_SHAPE;
  const double a = value_of(call, op->a), b = value_of(call, op->b);
  ZB_REF_CHECKED(call);
  for (; walk.left > 0; zb_ref_walk_next(&walk)) {
    int64_t from = walk.offset[1], to = walk.offset[0];
    if (zb_dtype_is_index(x->dtype))
      zb_ref_set_int(out, to, op->integer(zb_ref_get_int(x, from), a, b));
    else
      zb_ref_set(out, to, op->real(zb_ref_get(x, from), 0, a, b));
  }
  return NULL;
}

/* (saved, dout) -> (dx) */
static const char *run_gradient(const zb_kernel_call *call, const unary *op) {
  ZB_REF_TRY(zb_ref_check(call, 2, 1, false));
  const zb_tensor *saved = &call->inputs[0], *dout = &call->inputs[1], *dx = &call->outputs[0];
  if (!zb_dtype_is_float(saved->dtype) || saved->dtype != dx->dtype || dout->dtype != dx->dtype) return ZB_REF_BAD_TYPE;
  zb_ref_walk walk;
  zb_ref_walk_init(&walk, dx);
  if (!zb_ref_walk_add(&walk, saved) || !zb_ref_walk_add(&walk, dout)) return ZB_REF_BAD_SHAPE;
  const double a = value_of(call, op->a), b = value_of(call, op->b);
  ZB_REF_CHECKED(call);
  for (; walk.left > 0; zb_ref_walk_next(&walk)) {
    const double d = zb_ref_get(dout, walk.offset[2]);
    zb_ref_set(dx, walk.offset[0], op->real(zb_ref_get(saved, walk.offset[1]), d, a, b));
  }
  return NULL;
}

#define FORWARD(name, a, b)                                                                                            \
  const char *zb_ref_##name(const zb_kernel_call *call) {                                                              \
    const unary op = {a, b, name##_real, integer_functions[ROW_##name]};                                               \
    return run_forward(call, &op);                                                                                     \
  }
#define ZB_REF_UNARY(name, saved, a, b, forward, gradient)                                                             \
  FORWARD(name, a, b)                                                                                                  \
  const char *zb_ref_##name##_grad(const zb_kernel_call *call) {                                                       \
    const unary op = {a, b, name##_gradient, NULL};                                                                    \
    return run_gradient(call, &op);                                                                                    \
  }
#define ZB_REF_UNARY_FLAT(name, a, b, forward) FORWARD(name, a, b)
#include "kernels/cpu/ref/unary.def"

/* ---- Ops whose result has another type, or that are defined on integers only ---- */

static const char *start_unary(const zb_kernel_call *call, zb_ref_walk *walk) {
  ZB_REF_TRY(zb_ref_check(call, 1, 1, false));
  zb_ref_walk_init(walk, &call->outputs[0]);
  return zb_ref_walk_add(walk, &call->inputs[0]) ? NULL : ZB_REF_BAD_SHAPE;
}

const char *zb_ref_is_inf(const zb_kernel_call *call) {
  zb_ref_walk walk;
  ZB_REF_TRY(start_unary(call, &walk));
  if (!zb_dtype_is_float(call->inputs[0].dtype) || call->outputs[0].dtype != ZB_I1) return ZB_REF_BAD_TYPE;
  bool negative = zb_attr_number(call, "detect_negative", 1) != 0;
  bool positive = zb_attr_number(call, "detect_positive", 1) != 0;
  ZB_REF_CHECKED(call);
  for (; walk.left > 0; zb_ref_walk_next(&walk)) {
    double x = zb_ref_get(&call->inputs[0], walk.offset[1]);
    zb_ref_set_int(&call->outputs[0], walk.offset[0], isinf(x) && (x < 0 ? negative : positive));
  }
  return NULL;
}

/* An op of operand x, of type `dtype`: what it computes, and for which types. */
#define SIMPLE(name, get, takes, expression)                                                                           \
  const char *zb_ref_##name(const zb_kernel_call *call) {                                                              \
    zb_ref_walk walk;                                                                                                  \
    ZB_REF_TRY(start_unary(call, &walk));                                                                              \
    const zb_dtype dtype = call->inputs[0].dtype, result = call->outputs[0].dtype;                                     \
    if (!(takes)) return ZB_REF_BAD_TYPE;                                                                              \
    ZB_REF_CHECKED(call);                                                                                              \
    for (; walk.left > 0; zb_ref_walk_next(&walk))                                                                     \
      zb_ref_set_int(&call->outputs[0], walk.offset[0], expression(get(&call->inputs[0], walk.offset[1])));            \
    return NULL;                                                                                                       \
  }
SIMPLE(is_nan, zb_ref_get, zb_dtype_is_float(dtype) && result == ZB_I1, isnan)
SIMPLE(not, zb_ref_get_int, dtype == ZB_I1 && result == ZB_I1, !)
SIMPLE(bitwise_not, zb_ref_get_int, zb_dtype_is_index(dtype) && result == dtype, ~)
