/* Optimizer updates, in place: torch.optim.AdamW, Adam and SGD, and Lion.
 *
 * Results alias operands. An element's new values are computed in double from the old ones, before any of them is
 * stored. */
#include "kernels/cpu/ref/ref.h"

#include <math.h>

/* Walks over the shape of the parameter: operand 0 is result 0, then the operands; results are written at the offset of
 * result 0, which is right for all of them because results are contiguous and have one shape. */
static const char *start_update(const zb_kernel_call *call, int tensors, zb_ref_walk *walk) {
  const zb_tensor *parameter = &call->outputs[0];
  zb_ref_walk_init(walk, parameter);
  for (int i = 0; i < tensors; ++i) {
    const zb_tensor *operand = zb_call_input(call, i);
    if (operand && !zb_ref_is_float(operand->dtype)) return ZB_REF_BAD_TYPE;
    if (operand && !zb_tensor_same_shape(operand, parameter)) return ZB_REF_BAD_SHAPE;
    (void)zb_ref_walk_add(walk, operand);
  }
  for (int i = 0; i < call->output_count; ++i) {
    const zb_tensor *result = &call->outputs[i];
    if (result->rank >= 0 && !zb_tensor_same_shape(result, parameter)) return ZB_REF_BAD_SHAPE;
  }
  return NULL;
}

/* The step, alone or with a factor: *scale gets gradient_scale times that; negative: nothing is to change. */
static const char *read_step(const zb_kernel_call *call, const zb_tensor *step, int64_t *out, double *scale) {
  bool is_scaled = step->dtype == ZB_F64 && zb_tensor_elements(step) == 2;
  *out = 1;
  *scale = zb_attr_number(call, "gradient_scale", 1);
  if (!is_scaled && (!zb_dtype_is_index(step->dtype) || zb_tensor_elements(step) != 1))
    return "the step is neither a single integer nor a pair of f64 with a scale";
  if (!step->data) return NULL; /* only checked */
  *out = zb_ref_get_int(step, 0);
  const double factor = is_scaled ? zb_ref_get(step, step->strides[0]) : 1;
  *scale = factor < 0 ? -1 : *scale * factor;
  return *out >= 1 ? NULL : "the step counts from 1";
}

/* What the session sets: learning rate and weight decay. */
static const char *read_settings(const zb_tensor *settings, double *lr, double *weight_decay) {
  if (settings->dtype != ZB_F64 || settings->rank != 1 || settings->shape[0] != 2)
    return "the settings are no pair of f64";
  *lr = *weight_decay = 0;
  if (!settings->data) return NULL; /* only checked */
  *lr = zb_ref_get(settings, 0);
  *weight_decay = zb_ref_get(settings, settings->strides[0]);
  return NULL;
}

/* The results are the operands that they alias. */
static const char *leave(const zb_kernel_call *call, const int *operands) {
  for (int i = 0; i < call->output_count; ++i) {
    const zb_tensor *to = &call->outputs[i], *from = &call->inputs[operands[i]];
    zb_ref_walk walk;
    if (to->rank < 0) continue;
    zb_ref_walk_init(&walk, to);
    (void)zb_ref_walk_add(&walk, from);
    for (; walk.left > 0; zb_ref_walk_next(&walk))
      zb_ref_set(to, walk.offset[0], zb_ref_get(from, walk.offset[1]));
  }
  return NULL;
}

/* coupled: weight decay is part of the gradient. */
static const char *adam(const zb_kernel_call *call, bool coupled) {
  static const int aliases[] = {0, 2, 3};
  ZB_REF_TRY(zb_ref_check(call, 6, 3, false));
  const zb_tensor *in = call->inputs, *out = call->outputs;
  double gradient_scale;
  int64_t step;
  double lr, weight_decay;
  ZB_REF_TRY(read_step(call, &in[4], &step, &gradient_scale));
  ZB_REF_TRY(read_settings(&in[5], &lr, &weight_decay));
  zb_ref_walk walk;
  ZB_REF_TRY(start_update(call, 4, &walk));
  double beta1 = zb_attr_number(call, "beta1", 0.9), beta2 = zb_attr_number(call, "beta2", 0.999);
  double eps = zb_attr_number(call, "eps", 1e-8);
  double step_size = lr / (1 - pow(beta1, (double)step)), root = sqrt(1 - pow(beta2, (double)step));
  ZB_REF_CHECKED(call);
  if (gradient_scale < 0) return leave(call, aliases);
  for (; walk.left > 0; zb_ref_walk_next(&walk)) {
    double p = zb_ref_get(&in[0], walk.offset[1]), g = zb_ref_get(&in[1], walk.offset[2]) * gradient_scale;
    if (coupled) g += weight_decay * p;
    double m = beta1 * zb_ref_get(&in[2], walk.offset[3]) + (1 - beta1) * g;
    double v = beta2 * zb_ref_get(&in[3], walk.offset[4]) + (1 - beta2) * g * g;
    if (!coupled) p -= lr * weight_decay * p;
    p -= step_size * m / (sqrt(v) / root + eps);
    zb_ref_set(&out[0], walk.offset[0], p);
    zb_ref_set(&out[1], walk.offset[0], m);
    zb_ref_set(&out[2], walk.offset[0], v);
  }
  return NULL;
}

const char *zb_ref_adamw(const zb_kernel_call *call) { return adam(call, false); }
const char *zb_ref_adam(const zb_kernel_call *call) { return adam(call, true); }

const char *zb_ref_lion(const zb_kernel_call *call) {
  static const int aliases[] = {0, 2};
  ZB_REF_TRY(zb_ref_check(call, 5, 2, false));
  const zb_tensor *in = call->inputs, *out = call->outputs;
  double gradient_scale;
  int64_t step;
  double lr, weight_decay;
  ZB_REF_TRY(read_step(call, &in[3], &step, &gradient_scale));
  ZB_REF_TRY(read_settings(&in[4], &lr, &weight_decay));
  zb_ref_walk walk;
  ZB_REF_TRY(start_update(call, 3, &walk));
  double beta1 = zb_attr_number(call, "beta1", 0.9), beta2 = zb_attr_number(call, "beta2", 0.99);
  ZB_REF_CHECKED(call);
  if (gradient_scale < 0) return leave(call, aliases);
  for (; walk.left > 0; zb_ref_walk_next(&walk)) {
    double p = zb_ref_get(&in[0], walk.offset[1]), g = zb_ref_get(&in[1], walk.offset[2]) * gradient_scale;
    double m = zb_ref_get(&in[2], walk.offset[3]), direction = beta1 * m + (1 - beta1) * g;
    double sign = direction > 0 ? 1 : direction < 0 ? -1 : direction; /* 0 and NaN stay */
    p -= lr * weight_decay * p;
    zb_ref_set(&out[0], walk.offset[0], p - lr * sign);
    zb_ref_set(&out[1], walk.offset[0], beta2 * m + (1 - beta2) * g);
  }
  return NULL;
}

const char *zb_ref_sgd(const zb_kernel_call *call) {
  static const int aliases[] = {0, 2};
  ZB_REF_TRY(zb_ref_check(call, 2, 1, false));
  if (call->input_count != 5)
    return "sgd takes five operands: parameter, gradient, momentum_buffer (may be absent), step, settings";
  const zb_tensor *in = call->inputs, *out = call->outputs, *buffer = zb_call_input(call, 2);
  double gradient_scale;
  int64_t step;
  double lr, weight_decay;
  ZB_REF_TRY(read_step(call, &in[3], &step, &gradient_scale));
  ZB_REF_TRY(read_settings(&in[4], &lr, &weight_decay));
  double momentum = zb_attr_number(call, "momentum", 0), dampening = zb_attr_number(call, "dampening", 0);
  bool nesterov = zb_attr_bool(&call->attrs, "nesterov", false);
  if ((momentum != 0) != (buffer != NULL)) return "sgd has a momentum buffer if and only if momentum is not 0";
  bool keeps = call->output_count > 1 && out[1].rank >= 0;
  if (keeps != (buffer != NULL)) return "sgd has a momentum buffer as a result if and only if it has one as an operand";
  zb_ref_walk walk;
  ZB_REF_TRY(start_update(call, 3, &walk));
  ZB_REF_CHECKED(call);
  if (gradient_scale < 0) return leave(call, aliases);
  for (; walk.left > 0; zb_ref_walk_next(&walk)) {
    double p = zb_ref_get(&in[0], walk.offset[1]);
    double g = zb_ref_get(&in[1], walk.offset[2]) * gradient_scale + weight_decay * p;
    if (buffer) {
      double kept = step == 1 ? g : momentum * zb_ref_get(buffer, walk.offset[3]) + (1 - dampening) * g;
      g = nesterov ? g + momentum * kept : kept;
      zb_ref_set(&out[1], walk.offset[0], kept);
    }
    zb_ref_set(&out[0], walk.offset[0], p - lr * g);
  }
  return NULL;
}
