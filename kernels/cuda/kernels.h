/* The rows' functions, declared from kernels.def. Private to kernels/cuda. */
#pragma once

#include "kernels/cuda/launcher.h"

/* Contracts of zb_cuda_kernel in launcher.h. */
#define ZB_CUDA_KERNEL(op, name)                                                                                       \
  bool zb_cuda_matches_##name(const zb_kernel_call *call);                                                             \
  zb_status zb_cuda_run_##name(const zb_kernel_call *call, zb_cuda_launcher *on) ZB_MUST_USE;
#define ZB_CUDA_KERNEL_GROUPED(op, name)                                                                               \
  ZB_CUDA_KERNEL(op, name)                                                                                             \
  extern const zb_cuda_group zb_cuda_group_##name;
#define ZB_CUDA_NO_KERNEL(op, reason)
#include "kernels/cuda/kernels.def"
