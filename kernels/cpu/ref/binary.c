/* Elementwise ops of two operands and zb.where, with NumPy's broadcasting; the formulas are in binary.def. */
#include "kernels/cpu/ref/ref.h"

#include <math.h>

enum { REALS = 1, INTEGERS = 2, LOGIC = 4 };
typedef enum divisor { ANY_DIVISOR, NOT_ZERO, NOT_NEGATIVE } divisor;

typedef struct binary {
  int types;
  const char *flag;
  divisor divisor;
  double (*real)(double x, double y, bool flag);
  int64_t (*integer)(int64_t x, int64_t y, bool flag);
} binary;

#include "kernels/cpu/ref/words.def"

typedef double T;
#define DEFINE(type, function, expression)                                                                             \
  static type function(type x, type y, bool flag) {                                                                    \
    (void)x, (void)y, (void)flag;                                                                                      \
    return (type)(expression);                                                                                         \
  }
#define ZB_REF_BINARY(name, types, flag, divisor, real, integer)                                                       \
  DEFINE(double, name##_real, real)                                                                                    \
  DEFINE(int64_t, name##_integer, integer)
#define ZB_REF_COMPARE(name, operator)                                                                                 \
  static bool name##_real(double x, double y) { return x operator y; }                                                 \
  static bool name##_integer(int64_t x, int64_t y) { return x operator y; }
#include "kernels/cpu/ref/binary.def"

static const char *start_binary(const zb_kernel_call *call, zb_ref_walk *walk) {
  ZB_REF_TRY(zb_ref_check(call, 2, 1, false));
  if (call->inputs[0].dtype != call->inputs[1].dtype) return "the two operands have different element types";
  zb_ref_walk_init(walk, &call->outputs[0]);
  if (!zb_ref_walk_add(walk, &call->inputs[0]) || !zb_ref_walk_add(walk, &call->inputs[1])) return ZB_REF_BAD_SHAPE;
  return NULL;
}

static const char *run_binary(const zb_kernel_call *call, const binary *op) {
  zb_ref_walk walk;
  ZB_REF_TRY(start_binary(call, &walk));
  const zb_tensor *x = &call->inputs[0], *y = &call->inputs[1], *out = &call->outputs[0];
  bool real = zb_dtype_is_float(x->dtype);
  int type = real ? REALS : zb_dtype_is_index(x->dtype) ? INTEGERS : LOGIC;
  if (!(op->types & type) || out->dtype != x->dtype) return ZB_REF_BAD_TYPE;
  bool flag = op->flag && zb_attr_number(call, op->flag, 0) != 0;
  ZB_REF_CHECKED(call);
  for (; walk.left > 0; zb_ref_walk_next(&walk)) {
    int64_t from_x = walk.offset[1], from_y = walk.offset[2], to = walk.offset[0];
    if (real) {
      zb_ref_set(out, to, op->real(zb_ref_get(x, from_x), zb_ref_get(y, from_y), flag));
    } else {
      int64_t right = zb_ref_get_int(y, from_y);
      if (op->divisor == NOT_ZERO && right == 0) return "integer division by 0";
      if (op->divisor == NOT_NEGATIVE && right < 0) return "a shift amount is negative";
      zb_ref_set_int(out, to, op->integer(zb_ref_get_int(x, from_x), right, flag));
    }
  }
  return NULL;
}

static const char *run_comparison(const zb_kernel_call *call, bool (*real)(double, double),
                                  bool (*integer)(int64_t, int64_t)) {
  zb_ref_walk walk;
  ZB_REF_TRY(start_binary(call, &walk));
  const zb_tensor *x = &call->inputs[0], *y = &call->inputs[1], *out = &call->outputs[0];
  if (out->dtype != ZB_I1) return ZB_REF_BAD_TYPE;
  bool is_real = zb_dtype_is_float(x->dtype);
  ZB_REF_CHECKED(call);
  for (; walk.left > 0; zb_ref_walk_next(&walk)) {
    bool value = is_real ? real(zb_ref_get(x, walk.offset[1]), zb_ref_get(y, walk.offset[2]))
                         : integer(zb_ref_get_int(x, walk.offset[1]), zb_ref_get_int(y, walk.offset[2]));
    zb_ref_set_int(out, walk.offset[0], value);
  }
  return NULL;
}

#define ZB_REF_BINARY(name, types, flag, divisor, real, integer)                                                       \
  const char *zb_ref_##name(const zb_kernel_call *call) {                                                              \
    static const binary op = {types, flag, divisor, name##_real, name##_integer};                                      \
    return run_binary(call, &op);                                                                                      \
  }
#define ZB_REF_COMPARE(name, operator)                                                                                 \
  const char *zb_ref_##name(const zb_kernel_call *call) { return run_comparison(call, name##_real, name##_integer); }
#include "kernels/cpu/ref/binary.def"

const char *zb_ref_where(const zb_kernel_call *call) {
  ZB_REF_TRY(zb_ref_check(call, 3, 1, false));
  const zb_tensor *condition = &call->inputs[0], *lhs = &call->inputs[1], *rhs = &call->inputs[2];
  const zb_tensor *out = &call->outputs[0];
  if (condition->dtype != ZB_I1 || lhs->dtype != out->dtype || rhs->dtype != out->dtype) return ZB_REF_BAD_TYPE;
  zb_ref_walk walk;
  zb_ref_walk_init(&walk, out);
  if (!zb_ref_walk_add(&walk, condition) || !zb_ref_walk_add(&walk, lhs) || !zb_ref_walk_add(&walk, rhs))
    return ZB_REF_BAD_SHAPE;
  ZB_REF_CHECKED(call);
  for (; walk.left > 0; zb_ref_walk_next(&walk)) {
    bool left = zb_ref_get_int(condition, walk.offset[1]) != 0;
    zb_ref_copy(out, walk.offset[0], left ? lhs : rhs, walk.offset[left ? 2 : 3]);
  }
  return NULL;
}
