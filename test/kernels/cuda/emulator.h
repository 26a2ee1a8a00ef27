/* Runs the text of the .cu files of kernels/cuda on a CPU: blocks one after the other, the threads of a block as
 * fibers.
 *
 * This file is included before each .cu file, which g++ then compiles as C++; it gives threadIdx, __syncthreads, warp
 * shuffles and the like their meaning. A launch fails, with a text, when
 *   - threads of a block wait at different barriers, or some end while others wait (on a GPU that hangs or is
 * undefined);
 *   - a warp shuffle does not find all lanes of its warp at the same place;
 *   - shared memory is written beyond what the launch gave;
 *   - an asynchronous copy, or a matrix of the tensor cores, is not aligned, or a thread ends before its copies have
 * arrived;
 *   - products of a warpgroup begin without warpgroup_begin or while copies that arrived are not published, or a thread
 * ends before its products were committed and waited for. Shared memory starts as NaN in every block. Blocks and
 * threads run in one of several orders, so a missing barrier, or a result that depends on the order of blocks, shows as
 * other bits. Float arithmetic is the CPU's: results are near a GPU's, not equal to them.
 */
#ifndef ZB_TEST_KERNELS_CUDA_EMULATOR_H
#define ZB_TEST_KERNELS_CUDA_EMULATOR_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct zb_emulated_kernel zb_emulated_kernel;

typedef enum zb_emulated_order {
  ZB_ORDER_FORWARD,
  ZB_ORDER_SCATTERED,
  ZB_ORDER_BACKWARD,
  ZB_ORDER_COUNT
} zb_emulated_order;

/* The kernel of that name, or NULL. Not thread-safe, like all of this. */
const zb_emulated_kernel *zb_emulated_find(const char *name);
/* Bytes of its arguments. */
size_t zb_emulated_args_bytes(const zb_emulated_kernel *kernel);
int zb_emulated_count(void);
const char *zb_emulated_name(int index);
/* Runs a kernel with its arguments (the structure, by address). NULL, or what went wrong; a static text until the next
 * launch. */
const char *zb_emulated_launch(const zb_emulated_kernel *kernel, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                               unsigned threads, unsigned shared_bytes, const void *args);
/* The order of all launches from now on. */
void zb_emulated_set_order(zb_emulated_order order);
/* Launches so far. */
long zb_emulated_launches(void);

#ifdef __cplusplus
}
#endif

#ifdef ZB_CUDA_EMULATED
#include <functional>
#include <string.h>

struct zb_emulated_dim {
  unsigned x, y, z;
};
extern zb_emulated_dim threadIdx, blockIdx, blockDim, gridDim;

void *zb_emulated_shared();
void zb_emulated_syncthreads();
void zb_emulated_syncwarp();
/* Gives `bytes` of every lane to all lanes of the warp: returns where lane 0's are, the others follow 64 bytes apart.
 */
const unsigned char *zb_emulated_exchange(const void *mine, size_t bytes);
/* A copy of 16 bytes that happens when the thread waits for its copies; zeros from NULL. */
void zb_emulated_copy_ahead(void *to, const void *from);
void zb_emulated_copies_arrive();
/* Products of a warpgroup (warpgroup.cuh): one happens when its commit is waited for, by all but the last `left`. */
void zb_emulated_publish();
void zb_emulated_products_begin();
void zb_emulated_product(std::function<void()> product);
void zb_emulated_products_commit();
void zb_emulated_products_wait(unsigned left);
/* The launch fails with this text when its block is through. */
void zb_emulated_fail(const char *text);
void zb_emulated_register(const char *name, void (*run)(const void *args), unsigned threads, size_t args_bytes);
struct zb_emulated_registration {
  zb_emulated_registration(const char *name, void (*run)(const void *args), unsigned threads, size_t args_bytes) {
    zb_emulated_register(name, run, threads, args_bytes);
  }
};

#define ZB_DEVICE inline
#define ZB_CALLED_DEVICE static __attribute__((noinline, unused))
#define ZB_KERNEL(name, args_type, threads)                                                                            \
  static void name(const args_type &a);                                                                                \
  static const zb_emulated_registration name##_registration(                                                           \
      #name, [](const void *args) { name(*(const args_type *)args); }, threads, sizeof(args_type));                    \
  static void name(const args_type &a)
#define ZB_KERNEL_OF_BLOCKS(name, args_type, threads, blocks) ZB_KERNEL(name, args_type, threads)
#define __syncthreads zb_emulated_syncthreads
#define __syncwarp zb_emulated_syncwarp

static inline void *zb_shared() { return zb_emulated_shared(); }
static inline uint32_t float_bits(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}
static inline float bits_float(uint32_t bits) {
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}
template <typename T> static inline T __shfl_xor_sync(unsigned, T value, int lanes) {
  T out;
  memcpy(&out, zb_emulated_exchange(&value, sizeof value) + 64 * ((threadIdx.x % 32) ^ (unsigned)lanes), sizeof out);
  return out;
}
template <typename T> static inline T __shfl_sync(unsigned, T value, int lane) {
  T out;
  memcpy(&out, zb_emulated_exchange(&value, sizeof value) + 64 * lane, sizeof out);
  return out;
}
static inline int atomicCAS(int32_t *at, int32_t expected, int32_t value) {
  int32_t before = *at;
  if (before == expected) *at = value;
  return before;
}
#endif
#endif
