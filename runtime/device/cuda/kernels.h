/* What runs instructions on a stream, as the cuda device sees it: the kernels of kernels/cuda, or those of a test.
 *
 * Everything is enqueued on one stream, which may be capturing: so run() calls nothing that a capture forbids (no
 * allocation, no synchronization), and what it enqueues is a function of the call alone. Not thread-safe.
 */
#pragma once

#include "runtime/cuda/api.h"
#include "runtime/plan/file/calls.h"

/* What a user may choose about the bits of results. */
typedef struct zb_cuda_kernel_options {
  bool tf32; /* f32 products on tensor cores that round operands to 10 bits of fraction */
} zb_cuda_kernel_options;

/* Follows a run: `at` is called before the launch that does call `number` and those up to the next
 * number. */
typedef struct zb_cuda_watch {
  zb_status (*at)(void *context, int number);
  void *context;
} zb_cuda_watch;

typedef struct zb_cuda_kernel_set {
  size_t fault_bytes; /* of a fault record; 0: kernels never fail because of values */
  /* Once a GPU and process: loads the binaries. */
  zb_status (*open)(const zb_cuda_api *api, CUdevice device, void **out_kernels);
  void (*close)(void *kernels);
  /* Once a rank: what it launches goes to that stream. */
  zb_status (*start)(void *kernels, const zb_cuda_kernel_options *options, CUstream stream, CUdeviceptr fault_record,
                     void **out_launcher);
  void (*stop)(void *launcher);
  /* Chooses a kernel for each call; their data pointers are not set yet, their addresses stay. INVALID, with a hint, if
   * there is none. */
  zb_status (*prepare)(void *launcher, const zb_calls *calls, void **out_program);
  void (*release)(void *program);
  /* Once the data pointers of the calls are set, before the first run with them: chooses what depends on them, so that
   * run() only enqueues. Not while a stream captures. NULL: nothing depends on them. On failure *out_failed is the
   * call. */
  zb_status (*settle)(void *launcher, void *program, int *out_failed);
  /* Enqueues all calls in order; call i has the number first_instruction + i in fault records. watch: may be NULL. On
   * failure *out_failed is the call. */
  zb_status (*run)(void *launcher, void *program, int first_instruction, const zb_cuda_watch *watch, int *out_failed);
  /* Whether a copy of the fault record says that a kernel failed; if so, which instruction, what value, and why (static
   * text). */
  bool (*fault)(const void *record, int *out_instruction, zb_kernel_fault *out, const char **out_text);
} zb_cuda_kernel_set;
