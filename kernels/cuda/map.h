/* Launching elementwise kernels: one plan for all of them. Private to kernels/cuda. */
#pragma once

#include "kernels/cuda/common.h"

/* Whether operands 0..count-1 can be broadcast to result 0. */
bool zb_cuda_map_fits(const zb_kernel_call *call, int count);
/* Fills out, elements, operands 0..count-1 with their dimensions and groups; `group_elements` is what a thread
 * computes. */
zb_map_args zb_cuda_map_plan(const zb_kernel_call *call, int count, int group_elements);
/* Enqueues it. */
zb_status zb_cuda_map_launch(zb_cuda_launcher *on, zb_cuda_function function, const zb_map_args *args,
                             int group_elements) ZB_MUST_USE;
