/* The kernels of the cpu as kernels of the fake GPU: what the device computes with them must be, bit for bit, what the
 * cpu device does. */
#ifndef ZB_TEST_CUDA_HOST_KERNELS_H
#define ZB_TEST_CUDA_HOST_KERNELS_H

#include "runtime/device/cuda/kernels.h"

extern const zb_cuda_kernel_set host_kernels;

/* The cuda device on the fake, as sessions take it. fake_start must come first. */
const struct zb_device_def *fake_device(void);
/* How many queues for streams the GPUs opened from now on have; 0: as many as the device asks for. */
void fake_device_queues(int count);

#endif
