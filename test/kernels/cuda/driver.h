/* A CUDA driver whose GPU is the emulation of emulator.h: device addresses are host addresses, streams are always done.
 * Just the functions that kernels/cuda calls; every other pointer of the table is NULL. */
#ifndef ZB_TEST_KERNELS_CUDA_DRIVER_H
#define ZB_TEST_KERNELS_CUDA_DRIVER_H

#include "kernels/cuda/launcher.h"
#include "test/kernels/cuda/emulator.h"

/* A launcher on the emulation, with workspace and fault record; products without cuBLASLt. False, and a line on
 * standard error, when it cannot be made. */
bool emulated_open(zb_cuda_launcher *out);
void emulated_close(zb_cuda_launcher *launcher);
/* The table, for tests that add to it. */
zb_cuda_api *emulated_api(void);

/* The launcher of a suite, and what opens it before its tests and closes it after them; 0 if that went well. */
extern zb_cuda_launcher emulated_launcher;
int emulated_suite_open(void);
int emulated_suite_close(void);

/* A kernel of the emulation as the handle that a driver would give; NULL if there is none of that name. */
static inline CUfunction emulated_function(const char *name) {
  union {
    const zb_emulated_kernel *from;
    CUfunction to;
  } kernel = {zb_emulated_find(name)};
  return kernel.to;
}

#endif
