/* Optimizer updates: neighbouring updates of a program with the same attributes become one launch. The device side is optimizer.cu. */
#include "kernels/cuda/common.h"
#include "kernels/cuda/kernels.h"

/* The operands of an optimizer. */
typedef struct optimizer {
  zb_cuda_function function;
  int inputs, step;    /* operands in all; which is the step */
  int first, second;   /* operands of the state, -1: none */
  const char *beta1, *beta2;
  double beta1_fallback, beta2_fallback, decay_fallback;
} optimizer;

static const optimizer adamw = {ZB_FUNCTION_zb_adamw, 5, 4, 2, 3, "beta1", "beta2", 0.9, 0.999, 0.01};
static const optimizer sgd = {ZB_FUNCTION_zb_sgd, 4, 3, 2, -1, "momentum", "dampening", 0, 0, 0};

static bool state_fits(const zb_kernel_call *call, int operand, int result, const zb_tensor *parameter) {
  const zb_tensor *state = zb_call_input(call, operand), *out = zb_call_output(call, result);
  if (!state) return true;
  return out && zb_cuda_is_float(state->dtype) && out->dtype == state->dtype && zb_tensor_same_shape(state, parameter) &&
         zb_tensor_contiguous(state) && zb_tensor_contiguous(out);
}

static bool update_matches(const zb_kernel_call *call, const optimizer *op) {
  if (call->input_count != op->inputs || !zb_cuda_complete_up_to(call, 2, op->inputs, 1, false)) return false;
  const zb_tensor *parameter = &call->inputs[0], *gradient = &call->inputs[1], *step = zb_call_input(call, op->step);
  if (!step || !zb_cuda_is_index(step->dtype) || zb_tensor_elements(step) != 1) return false;
  if (!zb_cuda_is_float(parameter->dtype) || !zb_cuda_is_float(gradient->dtype)) return false;
  if (!zb_tensor_contiguous(parameter) || !zb_tensor_contiguous(gradient)) return false;
  if (!zb_tensor_same_shape(parameter, gradient) || !zb_tensor_same_shape(parameter, &call->outputs[0])) return false;
  if (call->outputs[0].dtype != parameter->dtype) return false;
  return state_fits(call, op->first, 1, parameter) && (op->second < 0 || state_fits(call, op->second, 2, parameter));
}

static bool aligned(const void *data) {
  return (uintptr_t)data % 16 == 0;
}

/* Results alias their operands, so only results are named. */
static zb_update_tensor update_tensor(const zb_kernel_call *call, const optimizer *op) {
  const zb_tensor *parameter = &call->outputs[0], *gradient = &call->inputs[1], *step = &call->inputs[op->step];
  const zb_tensor *first = zb_call_input(call, op->first) ? &call->outputs[1] : NULL;
  const zb_tensor *second = op->second >= 0 ? &call->outputs[2] : NULL;
  zb_update_tensor t = {.parameter = parameter->data, .gradient = gradient->data, .step = step->data};
  t.first = first ? first->data : NULL;
  t.second = second ? second->data : NULL;
  t.elements = zb_tensor_elements(parameter);
  t.weight_decay = (float)zb_cuda_number(call, "weight_decay", op->decay_fallback);
  t.parameter_dtype = (uint8_t)parameter->dtype;
  t.gradient_dtype = (uint8_t)gradient->dtype;
  t.state_dtype = (uint8_t)(first ? first->dtype : ZB_F32);
  t.step_dtype = (uint8_t)step->dtype;
  t.dense = parameter->dtype == ZB_F32 && gradient->dtype == ZB_F32 && t.state_dtype == ZB_F32 && aligned(t.parameter) &&
            aligned(t.gradient) && aligned(t.first) && aligned(t.second);
  return t;
}

static void read_attrs(const zb_kernel_call *call, const optimizer *op, zb_update_args *args) {
  args->lr = zb_cuda_number(call, "lr", 1e-3);
  args->beta1 = zb_cuda_number(call, op->beta1, op->beta1_fallback);
  args->beta2 = zb_cuda_number(call, op->beta2, op->beta2_fallback);
  args->eps = zb_cuda_number(call, "eps", 1e-8);
  args->gradient_scale = zb_cuda_number(call, "gradient_scale", 1);
  args->nesterov = zb_attr_bool(&call->attrs, "nesterov", false);
}

static bool same_attrs(const zb_update_args *a, const zb_update_args *b) {
  return a->lr == b->lr && a->beta1 == b->beta1 && a->beta2 == b->beta2 && a->eps == b->eps &&
         a->gradient_scale == b->gradient_scale && a->nesterov == b->nesterov;
}

/* Calls with the same attributes but weight_decay, as many as a launch's table takes. */
static int update_group(const zb_kernel_call *const *calls, int count, const optimizer *op) {
  zb_update_args first, other;
  read_attrs(calls[0], op, &first);
  int taken = 1;
  for (; taken < count && taken < ZB_UPDATE_TENSORS; taken++) {
    read_attrs(calls[taken], op, &other);
    if (!same_attrs(&first, &other)) break;
  }
  return taken;
}

static zb_status update_run(const zb_kernel_call *const *calls, int count, zb_cuda_launcher *on, const optimizer *op) {
  zb_update_args args;
  memset(&args, 0, sizeof args);
  read_attrs(calls[0], op, &args);
  int64_t blocks = 0;
  for (int i = 0; i < count; i++) {
    zb_update_tensor t = update_tensor(calls[i], op);
    if (t.elements == 0) continue;
    t.first_block = (int32_t)blocks;
    blocks += zb_ceil_div(t.elements, ZB_UPDATE_ELEMENTS);
    if (blocks > INT32_MAX) return ZB_ERROR(UNAVAILABLE, "the parameters of one optimizer launch are too large for a grid");
    args.tensors[args.tensor_count++] = t;
  }
  return zb_cuda_enqueue(on, op->function, blocks, 1, ZB_UPDATE_THREADS, 2 * sizeof(float), &args);
}

#define OPTIMIZER(name)                                                                                                \
  bool zb_cuda_matches_##name(const zb_kernel_call *call) {                                                            \
    return update_matches(call, &name);                                                                                \
  }                                                                                                                    \
  zb_status zb_cuda_run_##name(const zb_kernel_call *call, zb_cuda_launcher *on) {                                     \
    return update_run(&call, 1, on, &name);                                                                            \
  }                                                                                                                    \
  int zb_cuda_group_##name(const zb_kernel_call *const *calls, int count) {                                            \
    return update_group(calls, count, &name);                                                                          \
  }                                                                                                                    \
  zb_status zb_cuda_run_many_##name(const zb_kernel_call *const *calls, int count, zb_cuda_launcher *on) {             \
    return update_run(calls, count, on, &name);                                                                        \
  }
OPTIMIZER(adamw)
OPTIMIZER(sgd)
