/* The kernels of kernels/cuda as kernels of the fake GPU: the device code runs on the CPU
 * (test/kernels/cuda/emulator.h) when the fake says that it is its turn, products on an emulated cuBLASLt
 * (test/kernels/cuda/blas.h). So a plan runs through all of the cuda device. */
#ifndef ZB_TEST_CUDA_EMULATED_KERNELS_H
#define ZB_TEST_CUDA_EMULATED_KERNELS_H

/* The cuda device on the fake with these kernels, as sessions take it. fake_start must come first. Attention runs as on
 * compute capability 9.0 where the environment has ZB_EMULATED_WARPGROUPS. */
const struct zb_device_def *emulated_device(void);

#endif
