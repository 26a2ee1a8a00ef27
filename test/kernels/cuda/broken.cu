/* Kernels with the faults that the emulation must find, for emulator_test. */
#include "kernels/cuda/device.cuh"

typedef struct broken_args {
  int32_t *out;
  int32_t elements;
} broken_args;

/* Reverses 64 numbers through shared memory: right with the barrier. */
ZB_KERNEL(good_reverse, broken_args, 64) {
  int32_t *shared = (int32_t *)zb_shared();
  shared[threadIdx.x] = a.out[threadIdx.x];
  __syncthreads();
  a.out[threadIdx.x] = shared[63 - threadIdx.x];
}
ZB_KERNEL(no_barrier, broken_args, 64) {
  int32_t *shared = (int32_t *)zb_shared();
  shared[threadIdx.x] = a.out[threadIdx.x];
  a.out[threadIdx.x] = shared[63 - threadIdx.x];
}
ZB_KERNEL(half_at_a_barrier, broken_args, 64) {
  if (threadIdx.x < 32) __syncthreads();
  a.out[threadIdx.x] = 1;
}
ZB_KERNEL(half_of_a_warp_shuffles, broken_args, 64) {
  if (threadIdx.x % 32 < 16) a.out[threadIdx.x] = __shfl_xor_sync(0xffffffffu, a.out[threadIdx.x], 1);
}
ZB_KERNEL(beyond_shared, broken_args, 64) {
  int32_t *shared = (int32_t *)zb_shared();
  shared[threadIdx.x] = a.elements;
}
ZB_KERNEL(uninitialized_shared, broken_args, 64) {
  float *shared = (float *)zb_shared();
  a.out[threadIdx.x] = shared[threadIdx.x] == shared[threadIdx.x];
}
/* The last block wins. */
ZB_KERNEL(blocks_race, broken_args, 64) {
  if (threadIdx.x == 0) a.out[0] = (int32_t)blockIdx.x;
}
ZB_KERNEL(good_warp_sum, broken_args, 64) {
  int32_t value = (int32_t)threadIdx.x;
  for (int lanes = 16; lanes > 0; lanes /= 2)
    value += __shfl_xor_sync(0xffffffffu, value, lanes);
  a.out[threadIdx.x] = value;
}
