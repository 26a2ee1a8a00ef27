/* Kernels with the faults that the emulation must find, for emulator_test. */
#include "kernels/cuda/device.cuh"
#include "kernels/cuda/warpgroup.cuh"

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
/* Copies of 16 bytes each: 8 threads bring 32 numbers to shared memory, all take them from there. */
ZB_KERNEL(good_copies, broken_args, 32) {
  int32_t *shared = (int32_t *)zb_shared(), thread = (int32_t)threadIdx.x;
  if (thread < 8) copy_ahead(shared + 4 * thread, a.out + 4 * thread, thread != 7);
  copies_arrive();
  __syncthreads();
  a.out[thread] = shared[31 - thread];
}
ZB_KERNEL(copies_not_awaited, broken_args, 32) {
  int32_t *shared = (int32_t *)zb_shared(), thread = (int32_t)threadIdx.x;
  if (thread < 8) copy_ahead(shared + 4 * thread, a.out + 4 * thread, true);
  __syncthreads();
  a.out[thread] = shared[31 - thread];
  copies_arrive();
}
ZB_KERNEL(copies_left_behind, broken_args, 32) { copy_ahead((int32_t *)zb_shared() + 4 * threadIdx.x, a.out, true); }
ZB_KERNEL(copy_at_an_odd_place, broken_args, 32) {
  copy_ahead(zb_shared(), a.out + 1, true);
  copies_arrive();
}
ZB_KERNEL(matrices_at_an_odd_place, broken_args, 32) {
  uint32_t to[4];
  load_matrices(to, (uint16_t *)zb_shared() + 4 * threadIdx.x);
  a.out[threadIdx.x] = (int32_t)to[0];
}
/* Products of a warpgroup, of 64 x 64 ones: every sum of 16 is 16. */
enum { BEGIN = 1, COMMIT = 2, WAIT = 4, PUBLISH = 8, ALL = 15 };
ZB_DEVICE void products_of_ones(const broken_args &a, int steps) {
  warpgroup_tile<bf16, 64, 64> &tile = *(warpgroup_tile<bf16, 64, 64> *)warpgroup_shared();
  float sums[8][4] = {};
  copy_ahead(&tile, a.out, threadIdx.x == 0);
  copies_arrive();
  if (steps & PUBLISH) warpgroup_publish();
  __syncthreads();
  for (int i = 0; i < 32; ++i)
    set(((bf16 *)&tile)[threadIdx.x * 32 + i], 1);
  __syncthreads();
  if (steps & BEGIN) warpgroup_begin();
  warpgroup_multiply<0>(bf16(), sums, describe(&tile, 16), describe(&tile, 16), 0);
  if (steps & COMMIT) warpgroup_commit();
  if (steps & WAIT) warpgroup_wait<0>();
  __syncthreads();
  a.out[threadIdx.x % 64] = (int32_t)sums[7][3];
}
ZB_KERNEL(good_products, broken_args, 128) { products_of_ones(a, ALL); }
ZB_KERNEL(products_without_begin, broken_args, 128) { products_of_ones(a, ALL - BEGIN); }
ZB_KERNEL(products_without_commit, broken_args, 128) { products_of_ones(a, ALL - COMMIT); }
ZB_KERNEL(products_not_awaited, broken_args, 128) { products_of_ones(a, ALL - WAIT); }
ZB_KERNEL(products_of_what_is_not_published, broken_args, 128) { products_of_ones(a, ALL - PUBLISH); }
