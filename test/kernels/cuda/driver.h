/* A CUDA driver whose GPU is the emulation of emulator.h: device addresses are host addresses, streams are always done. Just the functions
 * that kernels/cuda calls; every other pointer of the table is NULL. */
#ifndef ZB_TEST_KERNELS_CUDA_DRIVER_H
#define ZB_TEST_KERNELS_CUDA_DRIVER_H

#include "kernels/cuda/launcher.h"
#include "test/kernels/cuda/emulator.h"

/* A launcher on the emulation, with workspace and fault record; products without cuBLASLt. False, and a line on standard error,
 * when it cannot be made. */
bool emulated_open(zb_cuda_launcher *out);
void emulated_close(zb_cuda_launcher *launcher);
/* The table, for tests that add to it. */
zb_cuda_api *emulated_api(void);

#endif
