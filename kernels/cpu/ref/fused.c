/* The gradient of zb.swiglu (its forward form is a row of binary.def); zb.rotary and its gradient. */
#include "kernels/cpu/ref/ref.h"

#include <math.h>

#include "kernels/cpu/ref/words.def"

typedef double T;

/* Of one element: what dout is multiplied by. */
static void swiglu_slopes(double gate, double up, double dout, double *dgate, double *dup) {
  const double share = SIGMOID(gate);
  *dgate = dout * up * (share * (1 + gate * (1 - share)));
  *dup = dout * (gate * share);
}

const char *zb_ref_swiglu_grad(const zb_kernel_call *call) {
  ZB_REF_TRY(zb_ref_check(call, 3, 2, false));
  const zb_tensor *dgate = &call->outputs[0], *dup = &call->outputs[1];
  zb_ref_walk walk;
  zb_ref_walk_init(&walk, dgate);
  if (!zb_tensor_same_shape(dgate, dup) || !zb_ref_walk_add(&walk, dup)) return ZB_REF_BAD_SHAPE;
  for (int i = 0; i < 3; ++i) {
    const zb_tensor *x = &call->inputs[i];
    if (!zb_dtype_is_float(x->dtype) || x->dtype != dgate->dtype || x->dtype != dup->dtype) return ZB_REF_BAD_TYPE;
    if (!zb_tensor_same_shape(x, dgate) || !zb_ref_walk_add(&walk, x)) return ZB_REF_BAD_SHAPE;
  }
  ZB_REF_CHECKED(call);
  for (; walk.left > 0; zb_ref_walk_next(&walk)) {
    double x[3], results[2];
    for (int i = 0; i < 3; ++i)
      x[i] = zb_ref_get(&call->inputs[i], walk.offset[2 + i]);
    swiglu_slopes(x[0], x[1], x[2], &results[0], &results[1]);
    zb_ref_set(dgate, walk.offset[0], results[0]);
    zb_ref_set(dup, walk.offset[1], results[1]);
  }
  return NULL;
}

/* Element i of the first half has its partner half a row behind, one of the second half before. */
static const char *turn(const zb_kernel_call *call, bool back) {
  ZB_REF_TRY(zb_ref_check(call, 3, 1, false));
  const zb_tensor *x = &call->inputs[0], *cos = &call->inputs[1], *sin = &call->inputs[2], *out = &call->outputs[0];
  zb_ref_walk walk;
  zb_ref_walk_init(&walk, out);
  int last = x->rank - 1;
  if (!zb_tensor_same_shape(x, out) || last < 0 || x->shape[last] % 2 != 0) return ZB_REF_BAD_SHAPE;
  for (int i = 0; i < 3; ++i) {
    const zb_tensor *operand = &call->inputs[i];
    if (!zb_dtype_is_float(operand->dtype)) return ZB_REF_BAD_TYPE;
    if (operand->rank < 1 || operand->shape[operand->rank - 1] != x->shape[last] || !zb_ref_walk_add(&walk, operand))
      return ZB_REF_BAD_SHAPE;
  }
  if (out->dtype != x->dtype || sin->dtype != cos->dtype) return ZB_REF_BAD_TYPE;
  int64_t half = x->shape[last] / 2;
  ZB_REF_CHECKED(call);
  for (; walk.left > 0; zb_ref_walk_next(&walk)) {
    bool first = walk.index[last] < half;
    int64_t there = first ? half : -half, at_sin = walk.offset[3] + (back ? there * sin->strides[sin->rank - 1] : 0);
    double partner = zb_ref_get(x, walk.offset[1] + there * x->strides[last]) * zb_ref_get(sin, at_sin);
    double own = zb_ref_get(x, walk.offset[1]) * zb_ref_get(cos, walk.offset[2]);
    zb_ref_set(out, walk.offset[0], first == back ? own + partner : own - partner);
  }
  return NULL;
}

const char *zb_ref_rotary(const zb_kernel_call *call) { return turn(call, false); }

const char *zb_ref_rotary_grad(const zb_kernel_call *call) { return turn(call, true); }
