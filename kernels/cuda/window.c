/* Convolutions, their gradients, and the places of maxima. The device side is window.cu. */
#include "kernels/window.h"
#include "kernels/cuda/common.h"
#include "kernels/cuda/kernels.h"

/* What the device code calls the dimensions of windows. */
static void set_dimensions(const zb_windows *w, zb_window_args *args) {
  for (int d = 0; d < ZB_SPATIAL; ++d)
    args->d[d] = (zb_window_dimension){w->in[d], w->out[d], w->kernel[d], w->stride[d], w->dilation[d], w->before[d]};
}

/* The three tensors of a convolution, of one float type but for an accumulator; the result is the last argument of the
 * call, whichever it is. */
static bool conv_args(const zb_kernel_call *call, const zb_tensor *images, const zb_tensor *results,
                      const zb_tensor *weight, bool accumulates, zb_window_args *args) {
  zb_convolution c;
  const zb_tensor *out = &call->outputs[0];
  const zb_dtype dtype = call->inputs[0].dtype;
  if (!zb_cuda_complete(call, 2, 1, accumulates) || !zb_cuda_is_float(dtype)) return false;
  if (call->inputs[1].dtype != dtype || zb_convolution_of(call, images, results, weight, &c)) return false;
  if (accumulates ? !zb_cuda_is_float(out->dtype) : out->dtype != dtype) return false;
  *args = (zb_window_args){.images = images->data,
                           .results = results->data,
                           .weight = weight->data,
                           .made = out->data,
                           .elements = zb_tensor_elements(out),
                           .batch = c.batch,
                           .groups = c.groups,
                           .channels = c.channels,
                           .filters = c.filters,
                           .made_dtype = (int32_t)out->dtype,
                           .accumulate = call->accumulate};
  memcpy(args->image_strides, c.image_strides, sizeof args->image_strides);
  memcpy(args->result_strides, c.result_strides, sizeof args->result_strides);
  memcpy(args->weight_strides, c.weight_strides, sizeof args->weight_strides);
  set_dimensions(&c.w, args);
  return true;
}

static bool conv_of(const zb_kernel_call *call, zb_window_args *args) {
  return conv_args(call, &call->inputs[0], &call->outputs[0], &call->inputs[1], false, args);
}
static bool transpose_of(const zb_kernel_call *call, zb_window_args *args) {
  return conv_args(call, &call->outputs[0], &call->inputs[0], &call->inputs[1], false, args);
}
static bool weight_of(const zb_kernel_call *call, zb_window_args *args) {
  return conv_args(call, &call->inputs[0], &call->inputs[1], &call->outputs[0], true, args);
}

static zb_status launch(const zb_kernel_call *call, zb_cuda_launcher *on, zb_cuda_function f32,
                        const zb_window_args *args) {
  return zb_cuda_enqueue_each(on, zb_cuda_for_float(f32, call->inputs[0].dtype), args->elements, ZB_WINDOW_THREADS,
                              args);
}

bool zb_cuda_matches_conv(const zb_kernel_call *call) {
  zb_window_args args;
  return conv_of(call, &args);
}
zb_status zb_cuda_run_conv(const zb_kernel_call *call, zb_cuda_launcher *on) {
  zb_window_args args;
  (void)conv_of(call, &args); /* matches() asked */
  return launch(call, on, ZB_FUNCTION_zb_conv_f32, &args);
}

bool zb_cuda_matches_conv_transpose(const zb_kernel_call *call) {
  zb_window_args args;
  return transpose_of(call, &args);
}
zb_status zb_cuda_run_conv_transpose(const zb_kernel_call *call, zb_cuda_launcher *on) {
  zb_window_args args;
  (void)transpose_of(call, &args); /* matches() asked */
  return launch(call, on, ZB_FUNCTION_zb_conv_transpose_f32, &args);
}

bool zb_cuda_matches_conv_weight(const zb_kernel_call *call) {
  zb_window_args args;
  return weight_of(call, &args);
}
zb_status zb_cuda_run_conv_weight(const zb_kernel_call *call, zb_cuda_launcher *on) {
  zb_window_args args;
  (void)weight_of(call, &args); /* matches() asked */
  return zb_cuda_enqueue(on, zb_cuda_for_float(ZB_FUNCTION_zb_conv_weight_f32, call->inputs[0].dtype), args.elements, 1,
                         ZB_WINDOW_THREADS, ZB_WINDOW_THREADS * (int64_t)sizeof(float), &args);
}

static bool place_args(const zb_kernel_call *call, zb_window_args *args) {
  zb_windows w;
  if (!zb_cuda_complete(call, 1, 1, false)) return false;
  const zb_tensor *x = &call->inputs[0], *out = &call->outputs[0];
  const zb_attr *kernel = zb_attr_find(&call->attrs, "kernel");
  if (!kernel || kernel->kind != ZB_ATTR_INTS || !zb_cuda_is_float(x->dtype) || out->dtype != ZB_I32) return false;
  if (zb_windows_of(call, x, out, kernel->ints, kernel->count, &w)) return false;
  const int outer = x->rank - kernel->count;
  *args = (zb_window_args){.images = x->data, .made = out->data, .elements = zb_tensor_elements(out)};
  set_dimensions(&w, args);
  for (int i = 0; i < kernel->count; ++i)
    args->image_strides[5 - kernel->count + i] = x->strides[outer + i];
  return zb_cuda_dims_of(x, x, zb_cuda_before(outer), &args->image_dims);
}

bool zb_cuda_matches_max_place(const zb_kernel_call *call) {
  zb_window_args args;
  return place_args(call, &args);
}
zb_status zb_cuda_run_max_place(const zb_kernel_call *call, zb_cuda_launcher *on) {
  zb_window_args args;
  (void)place_args(call, &args); /* matches() asked */
  return launch(call, on, ZB_FUNCTION_zb_max_place_f32, &args);
}
