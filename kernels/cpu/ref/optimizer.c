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
    if (operand && !zb_dtype_is_float(operand->dtype)) return ZB_REF_BAD_TYPE;
    if (operand && !zb_tensor_same_shape(operand, parameter)) return ZB_REF_BAD_SHAPE;
    (void)zb_ref_walk_add(walk, operand);
  }
  for (int i = 0; i < call->output_count; ++i) {
    const zb_tensor *result = &call->outputs[i];
    if (result->rank >= 0 && !zb_tensor_same_shape(result, parameter)) return ZB_REF_BAD_SHAPE;
  }
  return NULL;
}

/* What an update reads besides its tensors. */
typedef struct update {
  int64_t step;
  double gradient_scale; /* times the factor that comes with the step; negative: nothing is to change */
  double lr, weight_decay;
  zb_ref_walk walk;
} update;

/* The step, alone or with a factor. */
static const char *read_step(const zb_kernel_call *call, const zb_tensor *step, update *out) {
  bool is_scaled = step->dtype == ZB_F64 && zb_tensor_elements(step) == 2;
  out->step = 1;
  out->gradient_scale = zb_attr_number(call, "gradient_scale", 1);
  if (!is_scaled && (!zb_dtype_is_index(step->dtype) || zb_tensor_elements(step) != 1))
    return "the step is neither a single integer nor a pair of f64 with a scale";
  if (!step->data) return NULL; /* only checked */
  out->step = zb_ref_get_int(step, 0);
  const double factor = is_scaled ? zb_ref_get(step, step->strides[0]) : 1;
  out->gradient_scale = factor < 0 ? -1 : out->gradient_scale * factor;
  return out->step >= 1 ? NULL : "the step counts from 1";
}

/* What the session sets. */
static const char *read_settings(const zb_tensor *settings, update *out) {
  if (settings->dtype != ZB_F64 || settings->rank != 1 || settings->shape[0] != 2)
    return "the settings are no pair of f64";
  if (!settings->data) return NULL; /* only checked */
  out->lr = zb_ref_get(settings, 0);
  out->weight_decay = zb_ref_get(settings, settings->strides[0]);
  return NULL;
}

/* Operands are so many tensors, the step, the settings. */
static const char *open_update(const zb_kernel_call *call, int tensors, update *out) {
  *out = (update){0};
  ZB_REF_TRY(read_step(call, &call->inputs[tensors], out));
  ZB_REF_TRY(read_settings(&call->inputs[tensors + 1], out));
  return start_update(call, tensors, &out->walk);
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
  update u;
  ZB_REF_TRY(open_update(call, 4, &u));
  double beta1 = zb_attr_number(call, "beta1", 0.9), beta2 = zb_attr_number(call, "beta2", 0.999);
  double eps = zb_attr_number(call, "eps", 1e-8);
  double step_size = u.lr / (1 - pow(beta1, (double)u.step)), root = sqrt(1 - pow(beta2, (double)u.step));
  ZB_REF_CHECKED(call);
  if (u.gradient_scale < 0) return leave(call, aliases);
  for (; u.walk.left > 0; zb_ref_walk_next(&u.walk)) {
    double p = zb_ref_get(&in[0], u.walk.offset[1]), g = zb_ref_get(&in[1], u.walk.offset[2]) * u.gradient_scale;
    if (coupled) g += u.weight_decay * p;
    double m = beta1 * zb_ref_get(&in[2], u.walk.offset[3]) + (1 - beta1) * g;
    double v = beta2 * zb_ref_get(&in[3], u.walk.offset[4]) + (1 - beta2) * g * g;
    if (!coupled) p -= u.lr * u.weight_decay * p;
    p -= step_size * m / (sqrt(v) / root + eps);
    zb_ref_set(&out[0], u.walk.offset[0], p);
    zb_ref_set(&out[1], u.walk.offset[0], m);
    zb_ref_set(&out[2], u.walk.offset[0], v);
  }
  return NULL;
}

const char *zb_ref_adamw(const zb_kernel_call *call) { return adam(call, false); }
const char *zb_ref_adam(const zb_kernel_call *call) { return adam(call, true); }

const char *zb_ref_lion(const zb_kernel_call *call) {
  static const int aliases[] = {0, 2};
  ZB_REF_TRY(zb_ref_check(call, 5, 2, false));
  const zb_tensor *in = call->inputs, *out = call->outputs;
  update u;
  ZB_REF_TRY(open_update(call, 3, &u));
  double beta1 = zb_attr_number(call, "beta1", 0.9), beta2 = zb_attr_number(call, "beta2", 0.99);
  ZB_REF_CHECKED(call);
  if (u.gradient_scale < 0) return leave(call, aliases);
  for (; u.walk.left > 0; zb_ref_walk_next(&u.walk)) {
    double p = zb_ref_get(&in[0], u.walk.offset[1]), g = zb_ref_get(&in[1], u.walk.offset[2]) * u.gradient_scale;
    double m = zb_ref_get(&in[2], u.walk.offset[3]), direction = beta1 * m + (1 - beta1) * g;
    double sign = direction > 0 ? 1 : direction < 0 ? -1 : direction; /* 0 and NaN stay */
    p -= u.lr * u.weight_decay * p;
    zb_ref_set(&out[0], u.walk.offset[0], p - u.lr * sign);
    zb_ref_set(&out[1], u.walk.offset[0], beta2 * m + (1 - beta2) * g);
  }
  return NULL;
}

const char *zb_ref_sgd(const zb_kernel_call *call) {
  static const int aliases[] = {0, 2};
  ZB_REF_TRY(zb_ref_check(call, 2, 1, false));
  if (call->input_count != 5)
    return "sgd takes five operands: parameter, gradient, momentum_buffer (may be absent), step, settings";
  const zb_tensor *in = call->inputs, *out = call->outputs, *buffer = zb_call_input(call, 2);
  double momentum = zb_attr_number(call, "momentum", 0), dampening = zb_attr_number(call, "dampening", 0);
  bool nesterov = zb_attr_bool(&call->attrs, "nesterov", false);
  if ((momentum != 0) != (buffer != NULL)) return "sgd has a momentum buffer if and only if momentum is not 0";
  bool keeps = call->output_count > 1 && out[1].rank >= 0;
  if (keeps != (buffer != NULL)) return "sgd has a momentum buffer as a result if and only if it has one as an operand";
  update u;
  ZB_REF_TRY(open_update(call, 3, &u));
  ZB_REF_CHECKED(call);
  if (u.gradient_scale < 0) return leave(call, aliases);
  for (; u.walk.left > 0; zb_ref_walk_next(&u.walk)) {
    double p = zb_ref_get(&in[0], u.walk.offset[1]);
    double g = zb_ref_get(&in[1], u.walk.offset[2]) * u.gradient_scale + u.weight_decay * p;
    if (buffer) {
      double kept = u.step == 1 ? g : momentum * zb_ref_get(buffer, u.walk.offset[3]) + (1 - dampening) * g;
      g = nesterov ? g + momentum * kept : kept;
      zb_ref_set(&out[1], u.walk.offset[0], kept);
    }
    zb_ref_set(&out[0], u.walk.offset[0], p - u.lr * g);
  }
  return NULL;
}
