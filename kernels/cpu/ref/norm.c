/* Layer and RMS normalization over the dimensions axis..rank-1, and their gradients by x and by scale.
 *
 * mean and rstd have the shape x[:axis] + ones and scale and bias the shape x[axis:], so NumPy's broadcasting fits each
 * to x. */
#include "kernels/cpu/ref/ref.h"

#include <math.h>

/* Operand numbers of the walks, whatever the op: absent ones have offset 0. */
enum { OUT, X, SCALE, BIAS, MEAN, RSTD, DOUT, RESIDUAL, OPERANDS };

typedef struct norm {
  const zb_tensor *tensors[OPERANDS]; /* by operand number; OUT is result 0 */
  zb_ref_walk rows, along;            /* over x[:axis] and over x[axis:] */
  double count;                       /* elements of x[axis:] */
} norm;

static double get(const norm *n, int operand) {
  return zb_ref_get(n->tensors[operand], n->rows.offset[operand] + n->along.offset[operand]);
}

/* Fills rows and along for the shape of x; tensors are set by the caller. */
static const char *start_norm(const zb_kernel_call *call, norm *n) {
  const zb_tensor *x = n->tensors[X];
  int64_t axis = zb_attr_int(&call->attrs, "axis", -1);
  if (axis < 0 || axis >= x->rank) return ZB_REF_BAD_AXIS;
  zb_ref_walk whole;
  zb_ref_walk_init(&whole, x);
  whole.operand_count = 0; /* the space is x, but operand 0 is the result */
  for (int i = OUT; i < OPERANDS; ++i) {
    if (n->tensors[i] && !zb_dtype_is_float(n->tensors[i]->dtype)) return ZB_REF_BAD_TYPE;
    if (!zb_ref_walk_add(&whole, n->tensors[i])) return ZB_REF_BAD_SHAPE;
  }
  unsigned inner = ((1u << x->rank) - 1) & ~((1u << axis) - 1);
  zb_ref_walk_split(&whole, inner, &n->rows, &n->along);
  n->count = (double)n->along.total;
  static const int whole_operands[] = {DOUT, RESIDUAL}, row_operands[] = {MEAN, RSTD}, inner_operands[] = {SCALE, BIAS};
  for (int i = 0; i < 2; ++i) {
    const zb_tensor *all = n->tensors[whole_operands[i]], *row = n->tensors[row_operands[i]],
                    *scale = n->tensors[inner_operands[i]];
    if ((all && !zb_tensor_same_shape(all, x)) || (row && zb_tensor_elements(row) != n->rows.total) ||
        (scale && zb_tensor_elements(scale) != n->along.total))
      return ZB_REF_BAD_SHAPE;
  }
  return NULL;
}

/* (x, scale, bias?) -> (out, mean, rstd), or without bias and mean for RMS. */
static const char *run_norm(const zb_kernel_call *call, bool centered) {
  ZB_REF_TRY(zb_ref_check(call, 2, centered ? 3 : 2, false));
  const zb_tensor *bias = centered ? zb_call_input(call, 2) : NULL;
  const zb_tensor *mean = centered ? &call->outputs[1] : NULL, *rstd = &call->outputs[centered ? 2 : 1];
  norm n = {.tensors = {&call->outputs[0], &call->inputs[0], &call->inputs[1], bias, mean, rstd, NULL}};
  ZB_REF_TRY(start_norm(call, &n));
  if (!zb_tensor_same_shape(n.tensors[OUT], n.tensors[X])) return ZB_REF_BAD_SHAPE;
  double epsilon = zb_attr_number(call, "epsilon", 1e-5);
  ZB_REF_CHECKED(call);
  for (; n.rows.left > 0; zb_ref_walk_next(&n.rows)) {
    double sum = 0, squares = 0;
    for (zb_ref_walk_again(&n.along); centered && n.along.left > 0; zb_ref_walk_next(&n.along))
      sum += get(&n, X);
    double average = sum / n.count;
    for (zb_ref_walk_again(&n.along); n.along.left > 0; zb_ref_walk_next(&n.along)) {
      double difference = get(&n, X) - average;
      squares += difference * difference;
    }
    double factor = 1 / sqrt(squares / n.count + epsilon);
    for (zb_ref_walk_again(&n.along); n.along.left > 0; zb_ref_walk_next(&n.along)) {
      double value = (get(&n, X) - average) * factor * get(&n, SCALE) + (bias ? get(&n, BIAS) : 0);
      zb_ref_set(n.tensors[OUT], n.rows.offset[OUT] + n.along.offset[OUT], value);
    }
    if (mean) zb_ref_set(mean, n.rows.offset[MEAN], average);
    zb_ref_set(rstd, n.rows.offset[RSTD], factor);
  }
  return NULL;
}

const char *zb_ref_layer_norm(const zb_kernel_call *call) { return run_norm(call, true); }
const char *zb_ref_rms_norm(const zb_kernel_call *call) { return run_norm(call, false); }

/* x normalized, before scale and bias. */
static double normalized(const norm *n) { return (get(n, X) - (n->tensors[MEAN] ? get(n, MEAN) : 0)) * get(n, RSTD); }

/* With h = x normalized and g = dout*scale: dx = rstd * (g - mean(g) - h*mean(g*h)) + residual; RMS has no mean(g). */
static const char *run_norm_grad_x(const zb_kernel_call *call, norm *n) {
  ZB_REF_TRY(start_norm(call, n));
  if (!zb_tensor_same_shape(n->tensors[OUT], n->tensors[X])) return ZB_REF_BAD_SHAPE;
  bool centered = n->tensors[MEAN] != NULL;
  ZB_REF_CHECKED(call);
  for (; n->rows.left > 0; zb_ref_walk_next(&n->rows)) {
    double sum = 0, product = 0;
    for (zb_ref_walk_again(&n->along); n->along.left > 0; zb_ref_walk_next(&n->along)) {
      double g = get(n, DOUT) * get(n, SCALE);
      sum += centered ? g : 0;
      product += g * normalized(n);
    }
    for (zb_ref_walk_again(&n->along); n->along.left > 0; zb_ref_walk_next(&n->along)) {
      double g = get(n, DOUT) * get(n, SCALE);
      double dx = get(n, RSTD) * (g - sum / n->count - normalized(n) * (product / n->count));
      if (n->tensors[RESIDUAL]) dx += get(n, RESIDUAL);
      zb_ref_set(n->tensors[OUT], n->rows.offset[OUT] + n->along.offset[OUT], dx);
    }
  }
  return NULL;
}

/* dscale = sum over the rows of dout * (x normalized). */
static const char *run_norm_grad_scale(const zb_kernel_call *call, norm *n) {
  ZB_REF_TRY(start_norm(call, n));
  if (n->along.total != zb_tensor_elements(n->tensors[OUT])) return ZB_REF_BAD_SHAPE;
  ZB_REF_CHECKED(call);
  for (; n->along.left > 0; zb_ref_walk_next(&n->along)) {
    double total = 0;
    for (zb_ref_walk_again(&n->rows); n->rows.left > 0; zb_ref_walk_next(&n->rows))
      total += get(n, DOUT) * normalized(n);
    zb_ref_put(n->tensors[OUT], n->along.offset[OUT], total, call->accumulate);
  }
  return NULL;
}

/* A gradient op: how many operands it has at least, whether it adds into its result, and its tensors by number, of its
 * operands `in`. */
#define GRADIENT(name, run, operands, accumulates, ...)                                                                \
  const char *zb_ref_##name(const zb_kernel_call *call) {                                                              \
    ZB_REF_TRY(zb_ref_check(call, operands, 1, accumulates));                                                          \
    const zb_tensor *in = call->inputs;                                                                                \
    norm n = {.tensors = {&call->outputs[0], &in[0], __VA_ARGS__}};                                                    \
    return run(call, &n);                                                                                              \
  }
GRADIENT(layer_norm_grad_x, run_norm_grad_x, 5, false, &in[1], NULL, &in[2], &in[3], &in[4], zb_call_input(call, 5))
GRADIENT(rms_norm_grad_x, run_norm_grad_x, 4, false, &in[1], NULL, NULL, &in[2], &in[3], zb_call_input(call, 4))
GRADIENT(layer_norm_grad_scale, run_norm_grad_scale, 4, true, NULL, NULL, &in[1], &in[2], &in[3])
GRADIENT(rms_norm_grad_scale, run_norm_grad_scale, 3, true, NULL, NULL, NULL, &in[1], &in[2])
