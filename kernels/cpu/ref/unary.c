/* Elementwise ops of one operand and their gradients; the formulas are in unary.def. */
#include "kernels/cpu/ref/ref.h"

#include <tgmath.h>

typedef struct parameter {
  const char *name;
  double fallback;
} parameter;

/* One op: its attributes and its function for each kind of number; integer is NULL where there is none. */
typedef struct unary {
  parameter a, b;
  float (*f32)(float x, float a, float b);
  double (*f64)(double x, double a, double b);
  int64_t (*integer)(int64_t x, double a, double b);
} unary;

#define NONE ((parameter){NULL, 0})
#define PARAMETER(name, fallback) ((parameter){name, fallback})
#include "kernels/cpu/ref/words.def"

#define DEFINE(type, function, variable, expression)                                                                   \
  static type function(type variable, type a, type b) {                                                                \
    typedef type T;                                                                                                    \
    (void)variable, (void)a, (void)b;                                                                                  \
    return (T)(expression);                                                                                            \
  }

/* The functions of all rows. An op without a row for integers gets NULL in integer_functions. */
#define ZB_REF_UNARY(name, saved, a, b, forward, slope)                                                                \
  DEFINE(float, name##_f32, x, forward)                                                                                \
  DEFINE(double, name##_f64, x, forward)                                                                               \
  DEFINE(float, name##_slope_f32, saved, slope)                                                                        \
  DEFINE(double, name##_slope_f64, saved, slope)
#define ZB_REF_UNARY_FLAT(name, a, b, forward)                                                                         \
  DEFINE(float, name##_f32, x, forward)                                                                                \
  DEFINE(double, name##_f64, x, forward)
#define ZB_REF_UNARY_INTEGER(name, forward)                                                                            \
  static int64_t name##_integer(int64_t x, double a, double b) {                                                       \
    (void)a, (void)b;                                                                                                  \
    return forward;                                                                                                    \
  }
#include "kernels/cpu/ref/unary.def"

typedef enum row_number {
#define ZB_REF_UNARY(name, saved, a, b, forward, slope) ROW_##name,
#define ZB_REF_UNARY_FLAT(name, a, b, forward) ROW_##name,
#include "kernels/cpu/ref/unary.def"
  ROW_COUNT
} row_number;

static int64_t (*const integer_functions[ROW_COUNT])(int64_t x, double a, double b) = {
#define ZB_REF_UNARY_INTEGER(name, forward) [ROW_##name] = name##_integer,
#include "kernels/cpu/ref/unary.def"
};

static const char *run_forward(const zb_kernel_call *call, const unary *op) {
  ZB_REF_TRY(zb_ref_check(call, 1, 1, false));
  const zb_tensor *x = &call->inputs[0], *out = &call->outputs[0];
  if (x->dtype != out->dtype) return ZB_REF_BAD_TYPE;
  if (!zb_ref_is_float(x->dtype) && !(zb_dtype_is_index(x->dtype) && op->integer)) return ZB_REF_BAD_TYPE;
  zb_ref_walk walk;
  zb_ref_walk_init(&walk, out);
  if (!zb_ref_walk_add(&walk, x)) return ZB_REF_BAD_SHAPE;
  double a = op->a.name ? zb_attr_number(call, op->a.name, op->a.fallback) : 0;
  double b = op->b.name ? zb_attr_number(call, op->b.name, op->b.fallback) : 0;
  ZB_REF_CHECKED(call);
  for (; walk.left > 0; zb_ref_walk_next(&walk)) {
    int64_t from = walk.offset[1], to = walk.offset[0];
    if (zb_dtype_is_index(x->dtype))
      zb_ref_set_int(out, to, op->integer(zb_ref_get_int(x, from), a, b));
    else if (x->dtype == ZB_F64)
      zb_ref_set(out, to, op->f64(zb_ref_get(x, from), a, b));
    else
      zb_ref_set(out, to, (double)op->f32((float)zb_ref_get(x, from), (float)a, (float)b));
  }
  return NULL;
}

/* (saved, dout) -> (dx) = slope(saved) * dout. */
static const char *run_gradient(const zb_kernel_call *call, const unary *op) {
  ZB_REF_TRY(zb_ref_check(call, 2, 1, false));
  const zb_tensor *saved = &call->inputs[0], *dout = &call->inputs[1], *dx = &call->outputs[0];
  if (!zb_ref_is_float(saved->dtype) || saved->dtype != dx->dtype || dout->dtype != dx->dtype) return ZB_REF_BAD_TYPE;
  zb_ref_walk walk;
  zb_ref_walk_init(&walk, dx);
  if (!zb_ref_walk_add(&walk, saved) || !zb_ref_walk_add(&walk, dout)) return ZB_REF_BAD_SHAPE;
  double a = op->a.name ? zb_attr_number(call, op->a.name, op->a.fallback) : 0;
  double b = op->b.name ? zb_attr_number(call, op->b.name, op->b.fallback) : 0;
  ZB_REF_CHECKED(call);
  for (; walk.left > 0; zb_ref_walk_next(&walk)) {
    double value = zb_ref_get(saved, walk.offset[1]), d = zb_ref_get(dout, walk.offset[2]);
    if (dx->dtype == ZB_F64)
      zb_ref_set(dx, walk.offset[0], op->f64(value, a, b) * d);
    else
      zb_ref_set(dx, walk.offset[0], (double)(op->f32((float)value, (float)a, (float)b) * (float)d));
  }
  return NULL;
}

#define FORWARD(name, a, b)                                                                                            \
  const char *zb_ref_##name(const zb_kernel_call *call) {                                                              \
    const unary op = {a, b, name##_f32, name##_f64, integer_functions[ROW_##name]};                                    \
    return run_forward(call, &op);                                                                                     \
  }
#define ZB_REF_UNARY(name, saved, a, b, forward, slope)                                                                \
  FORWARD(name, a, b)                                                                                                  \
  const char *zb_ref_##name##_grad(const zb_kernel_call *call) {                                                       \
    const unary op = {a, b, name##_slope_f32, name##_slope_f64, NULL};                                                 \
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
  if (!zb_ref_is_float(call->inputs[0].dtype) || call->outputs[0].dtype != ZB_I1) return ZB_REF_BAD_TYPE;
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
SIMPLE(is_nan, zb_ref_get, zb_ref_is_float(dtype) && result == ZB_I1, isnan)
SIMPLE(not, zb_ref_get_int, dtype == ZB_I1 && result == ZB_I1, !)
SIMPLE(bitwise_not, zb_ref_get_int, zb_dtype_is_index(dtype) && result == dtype, ~)
