/* The kernels of kernels/cuda as the kernel set of the cuda device. Tests: test/runtime/device/cuda/module, with
 * emulated device code. */
#pragma once

#include "kernels/cuda/launcher.h"
#include "runtime/device/cuda/cuda.h"

/* Its open loads the device code of this build; a launcher of it is a zb_cuda_launcher, a program a zb_cuda_chosen. */
extern const zb_cuda_kernel_set zb_cuda_kernels;

typedef struct zb_cuda_chosen {
  zb_cuda_program *program;
  zb_cuda_place *places; /* of all operands, in order */
  int count;
  zb_cuda_item items[];
} zb_cuda_chosen;

/* What open gives, on device code that is loaded already: it is taken, also on failure. api stays the caller's and must
 * outlive it. For tests. */
zb_status zb_cuda_kernels_on(const zb_cuda_api *api, zb_cuda_code *code, void **out_kernels) ZB_MUST_USE;
