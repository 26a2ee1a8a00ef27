/* The norm of all gradients: zb.square_sum and zb.abs_max, a launch a level of the tree, and the factor that clips. The
 * device side is clip.cu. */
#include "kernels/cuda/common.h"
#include "kernels/cuda/kernels.h"

enum { WEIGHTED_NUMBERS = 2 };

static bool part_matches(const zb_kernel_call *call) {
  const zb_tensor *x = &call->inputs[0];
  zb_cuda_dims dims;
  return zb_cuda_complete(call, 1, 1, false) && zb_cuda_is_float(x->dtype) && zb_cuda_dims_all(x, x, &dims) &&
         call->outputs[0].dtype == ZB_F64 && zb_tensor_elements(&call->outputs[0]) == 1 &&
         zb_ceil_div(zb_tensor_elements(x), ZB_PART_BLOCK) * (int64_t)sizeof(double) <= ZB_CUDA_SCRATCH_BYTES / 2;
}

/* Sums of blocks go to the one half of the scratch memory, their sums to the other. */
static zb_status part_run(const zb_kernel_call *call, zb_cuda_launcher *on, bool largest) {
  const zb_tensor *x = &call->inputs[0];
  const double scale = zb_attr_number(call, "scale", 1);
  double *halves[2] = {(double *)(void *)zb_cuda_scratch(on),
                       (double *)(void *)(zb_cuda_scratch(on) + ZB_CUDA_SCRATCH_BYTES / 2)};
  zb_part_args args = {.in = x->data, .elements = zb_tensor_elements(x), .scale = 1, .largest = largest};
  (void)zb_cuda_dims_all(x, x, &args.dims); /* matches() asked */
  zb_cuda_function function = zb_cuda_for_float(ZB_FUNCTION_zb_part_f32, x->dtype);
  for (int level = 0;; ++level) {
    const int64_t blocks = zb_max64(1, zb_ceil_div(args.elements, ZB_PART_BLOCK));
    args.out = blocks == 1 ? call->outputs[0].data : halves[level % 2];
    if (blocks == 1) args.scale = largest ? scale : scale * scale;
    ZB_TRY(zb_cuda_enqueue_each(on, function, blocks * ZB_PART_LANES, ZB_PART_THREADS, &args));
    if (blocks == 1) return NULL;
    args.in = args.out;
    args.elements = blocks;
    function = ZB_FUNCTION_zb_part_again;
  }
}

bool zb_cuda_matches_square_sum(const zb_kernel_call *call) { return part_matches(call); }
zb_status zb_cuda_run_square_sum(const zb_kernel_call *call, zb_cuda_launcher *on) { return part_run(call, on, false); }
bool zb_cuda_matches_abs_max(const zb_kernel_call *call) { return part_matches(call); }
zb_status zb_cuda_run_abs_max(const zb_kernel_call *call, zb_cuda_launcher *on) { return part_run(call, on, true); }

bool zb_cuda_matches_clip_scale(const zb_kernel_call *call) {
  return zb_cuda_complete(call, 3, 2, false) && call->inputs[0].dtype == ZB_F64 && call->inputs[0].rank == 1 &&
         call->inputs[0].shape[0] >= (zb_attr_bool(&call->attrs, "weighted", false) ? WEIGHTED_NUMBERS : 0) &&
         call->inputs[1].dtype == ZB_I64 && call->inputs[2].dtype == ZB_F64 && call->outputs[0].dtype == ZB_F64 &&
         call->outputs[1].dtype == ZB_F32;
}

zb_status zb_cuda_run_clip_scale(const zb_kernel_call *call, zb_cuda_launcher *on) {
  const zb_tensor *parts = &call->inputs[0];
  const bool weighted = zb_attr_bool(&call->attrs, "weighted", false);
  const zb_clip_args args = {.parts = parts->data,
                             .step = call->inputs[1].data,
                             .scaled_step = call->outputs[0].data,
                             .norm = call->outputs[1].data,
                             .count = parts->shape[0] - (weighted ? WEIGHTED_NUMBERS : 0),
                             .stride = parts->strides[0],
                             .max_norm = call->inputs[2].data,
                             .largest = strcmp(zb_attr_string(&call->attrs, "norm_type", "2"), "inf") == 0,
                             .weighted = weighted};
  return zb_cuda_enqueue(on, ZB_FUNCTION_zb_clip_scale, 1, 1, ZB_CLIP_THREADS, 0, &args);
}
