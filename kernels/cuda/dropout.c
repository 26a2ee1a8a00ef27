/* Dropout, and random numbers alone: a thread a call of Philox. The device side is dropout.cu. */
#include "kernels/cuda/common.h"
#include "kernels/cuda/kernels.h"
#include "runtime/base/random.h"

enum { X, COUNTER, OPERANDS };

static bool takes_counter(const zb_kernel_call *call, const zb_tensor *counter) {
  const int64_t op = zb_attr_int(&call->attrs, "op", 0);
  return counter->dtype == ZB_I64 && counter->rank == 1 && counter->shape[0] == ZB_COUNTER_WORDS &&
         zb_tensor_contiguous(counter) && op >= 0 && op >> ZB_RANDOM_OP_BITS == 0;
}

bool zb_cuda_drop_of(const zb_kernel_call *call, int operand, zb_cuda_drop *out) {
  const zb_tensor *counter = &call->inputs[operand];
  double rate = zb_attr_number(call, "rate", 0);
  int64_t op = zb_attr_int(&call->attrs, "op", 0);
  if (!takes_counter(call, counter) || !(rate >= 0 && rate < 1)) return false;
  *out = (zb_cuda_drop){counter->data, op, (int64_t)zb_random_threshold(rate), 1 / (1 - rate)};
  return true;
}

static int64_t threads_for(int64_t elements) {
  return zb_ceil_div(zb_ceil_div(elements, ZB_RANDOM_GROUP) * ZB_RANDOM_LANES, ZB_MAP_THREADS);
}

bool zb_cuda_matches_dropout(const zb_kernel_call *call) {
  zb_cuda_dims dims;
  zb_cuda_drop drop;
  if (!zb_cuda_complete(call, OPERANDS, 1, false)) return false;
  const zb_tensor *x = &call->inputs[X], *out = &call->outputs[0];
  return zb_cuda_is_float(x->dtype) && out->dtype == x->dtype && zb_tensor_same_shape(x, out) &&
         zb_cuda_dims_all(out, x, &dims) && zb_cuda_drop_of(call, COUNTER, &drop);
}

zb_status zb_cuda_run_dropout(const zb_kernel_call *call, zb_cuda_launcher *on) {
  const zb_tensor *x = &call->inputs[X], *out = &call->outputs[0];
  zb_dropout_args args = {.out = out->data, .x = x->data, .elements = zb_tensor_elements(out)};
  zb_cuda_drop drop;
  (void)zb_cuda_drop_of(call, COUNTER, &drop); /* matches() asked */
  (void)zb_cuda_dims_all(out, x, &args.dims);
  args.counter = drop.counter;
  args.op = drop.op;
  args.threshold = drop.threshold;
  args.scale = drop.scale;
  return zb_cuda_enqueue(on, zb_cuda_for_float(ZB_FUNCTION_zb_dropout_f32, out->dtype), threads_for(args.elements), 1,
                         ZB_MAP_THREADS, 0, &args);
}

bool zb_cuda_matches_uniform(const zb_kernel_call *call) {
  if (!zb_cuda_complete(call, 1, 1, false)) return false;
  const zb_dtype dtype = call->outputs[0].dtype;
  return (dtype == ZB_F32 || dtype == ZB_I64) && takes_counter(call, &call->inputs[0]);
}

zb_status zb_cuda_run_uniform(const zb_kernel_call *call, zb_cuda_launcher *on) {
  const zb_tensor *out = &call->outputs[0];
  const zb_uniform_args args = {.out = out->data,
                                .counter = call->inputs[0].data,
                                .elements = zb_tensor_elements(out),
                                .op = zb_attr_int(&call->attrs, "op", 0),
                                .whole = out->dtype == ZB_I64};
  return zb_cuda_enqueue(on, ZB_FUNCTION_zb_uniform, threads_for(args.elements), 1, ZB_MAP_THREADS, 0, &args);
}
