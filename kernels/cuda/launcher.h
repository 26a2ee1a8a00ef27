/* The CUDA kernels: the table of rows, and what a row needs to launch. The interface between the CUDA device and the kernels.
 *
 * A row is chosen once a call (zb_cuda_kernel_find) and run any number of times: run() plans the launches from shapes, strides and
 * attributes and enqueues them on the launcher's stream. Data pointers of the call are device addresses, which the host never reads; that
 * makes the capture of a subprogram as a CUDA graph the running of its instructions on a capturing stream. run() allocates nothing and
 * waits for nothing. Kernels of one launcher share its workspace, so they run on one stream, one after the other.
 *
 * A value that an op cannot take (an index, a label) cannot be returned: the kernel writes it into the fault record, goes on without
 * touching memory that is not its own, and the device reads the record when it reads the loss.
 *
 * Tests: test/kernels/cuda (the device code runs on the CPU there).
 */
#ifndef ZB_KERNELS_CUDA_LAUNCHER_H
#define ZB_KERNELS_CUDA_LAUNCHER_H

#include "kernels/cuda/args.h"
#include "runtime/device/cuda/api.h"
#include "zb/kernel.h"
#include "zb/status.h"

/* Every kernel of the device code: ZB_FUNCTION_zb_add_f32, ... */
typedef enum zb_cuda_function {
#define ZB_CUDA_FUNCTION_ROW(name) ZB_FUNCTION_##name,
#include "kernels/cuda/functions.def"
  ZB_CUDA_FUNCTION_COUNT
} zb_cuda_function;
const char *zb_cuda_function_name(zb_cuda_function function);

/* ---- The device code ---- */

/* The device code on one GPU: loaded once a context, shared by all ranks there, only read. */
typedef struct zb_cuda_code zb_cuda_code;
/* Whether this build has device code (nvcc was found); else zb_cuda_code_load says how to get it. */
bool zb_cuda_code_present(void);
/* Loads it into the current context, for this device. Errors: UNAVAILABLE without device code or for a card that it was not built for. */
zb_status zb_cuda_code_load(const zb_cuda_api *api, CUdevice device, zb_cuda_code **out) ZB_MUST_USE;
/* Ends it; NULL is fine. No launch may be under way. */
void zb_cuda_code_unload(const zb_cuda_api *api, zb_cuda_code *code);
/* Code whose kernels are found by a function instead: how tests put an emulation in place of a GPU. find() returns NULL for none. */
zb_status zb_cuda_code_from(CUfunction (*find)(const char *name), zb_cuda_code **out) ZB_MUST_USE;

/* ---- Launching ---- */

/* Bytes of the workspace that a launcher must have: a fixed size, beside the plan's arena, one a stream that computes. Half is cuBLASLt's
 * (NVIDIA advises 32 MiB on Hopper), half holds partial sums and sorted indices. */
enum { ZB_CUDA_WORKSPACE_BYTES = 64 << 20, ZB_CUDA_BLAS_BYTES = 32 << 20 };

/* What cuBLASLt needs, and the algorithms that were chosen: blas.h. */
typedef struct zb_cuda_blas zb_cuda_blas;

typedef struct zb_cuda_launcher {
  const zb_cuda_api *api;
  CUstream stream;
  const zb_cuda_code *code;
  zb_cuda_blas *blas;                  /* NULL: products run on an own kernel, many times slower */
  CUdeviceptr workspace;               /* ZB_CUDA_WORKSPACE_BYTES, 256-byte aligned; its content means nothing between calls */
  zb_cuda_fault_record *fault;         /* a device address; NULL: faults are not reported */
  int instruction;                     /* what a fault record names; the caller sets it before each run */
  int processors;                      /* multiprocessors of the GPU; 0: not known. Decides no bits, only how work is spread */
} zb_cuda_launcher;

/* One row of the table. */
typedef struct zb_cuda_kernel {
  const char *op; /* without "zb." */
  zb_status (*run)(const zb_kernel_call *call, zb_cuda_launcher *on);
  /* Whether this row can run the call: types, shapes, strides, attributes; never data pointers (they may be NULL). */
  bool (*matches)(const zb_kernel_call *call);
  /* NULL, or how many of these calls run as one launch, from the first on (>= 1): the same op, neighbours in the program,
   * independent of each other. run_many runs that many. */
  int (*group)(const zb_kernel_call *const *calls, int count);
  zb_status (*run_many)(const zb_kernel_call *const *calls, int count, zb_cuda_launcher *on);
} zb_cuda_kernel;

/* The first row of the op that matches. On failure an error that names op, operand types and what the kernels take; `location` may be
 * NULL. The call is not kept. */
zb_status zb_cuda_kernel_find(const char *op, const zb_kernel_call *call, const char *location, const zb_cuda_kernel **out) ZB_MUST_USE;
/* Why an op of class KERNEL has no row; NULL if it has one. */
const char *zb_cuda_kernel_missing(const char *op);

/* One instruction of a subprogram, ready to run. */
typedef struct zb_cuda_item {
  const zb_cuda_kernel *kernel;
  const zb_kernel_call *call;
} zb_cuda_item;
/* Enqueues all items in order; neighbours that a row can join run as one launch (all parameters of an optimizer). Item i is instruction
 * `first_instruction` + i. On failure *failed is the item. */
zb_status zb_cuda_run_items(const zb_cuda_item *items, int count, zb_cuda_launcher *on, int first_instruction, int *failed) ZB_MUST_USE;

/* The text of a fault record that was read back ("an index is out of range"), never NULL. */
const char *zb_cuda_fault_text(const zb_cuda_fault_record *record);

#endif
