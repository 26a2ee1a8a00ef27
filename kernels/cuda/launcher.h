/* The CUDA kernels: the table of rows, and what a row needs to launch. The interface between the CUDA device and the
 * kernels.
 *
 * A row is chosen once a call (zb_cuda_kernel_find) and run any number of times: run() plans the launches from shapes,
 * strides and attributes and enqueues them on the launcher's stream. Data pointers of the call are device addresses,
 * which the host never reads; that makes the capture of a subprogram as a CUDA graph the running of its instructions on
 * a capturing stream. run() allocates nothing and waits for nothing. Kernels of one launcher share its workspace, so
 * they run on one stream, one after the other.
 *
 * A value that an op cannot take (an index, a label) cannot be returned: the kernel writes it into the fault record,
 * goes on without touching memory that is not its own, and the device reads the record when it reads the loss.
 *
 * Tests: test/kernels/cuda (the device code runs on the CPU there).
 */
#pragma once

#include "kernels/cuda/args.h"
#include "runtime/cuda/api.h"
#include "zb/kernel.h"
#include "zb/status.h"

/* Every kernel of the device code: ZB_FUNCTION_zb_add_f32, ... */
typedef enum zb_cuda_function {
#define ZB_CUDA_FUNCTION_ROW(name) ZB_FUNCTION_##name,
#include "kernels/cuda/functions.def"
  ZB_CUDA_FUNCTION_COUNT
} zb_cuda_function;

/* ---- The device code ---- */

/* The device code on one GPU: loaded once a context, shared by all ranks there, only read. */
typedef struct zb_cuda_code zb_cuda_code;
/* Whether this build has device code (nvcc was found); else zb_cuda_code_load says how to get it. */
bool zb_cuda_code_present(void);
/* Loads the device code of this build into the current CUDA context, for the GPU `device`. UNAVAILABLE if the build has
 * no device code, or none for this GPU. */
zb_status zb_cuda_code_load(const zb_cuda_api *api, CUdevice device, zb_cuda_code **out) ZB_MUST_USE;
/* Ends it; NULL is fine. No launch may be under way. */
void zb_cuda_code_unload(const zb_cuda_api *api, zb_cuda_code *code);
/* Code whose kernels are found by a function instead: how tests put an emulation in place of a GPU. find() returns NULL
 * for none. */
zb_status zb_cuda_code_from(CUfunction (*find)(const char *name), zb_cuda_code **out) ZB_MUST_USE;

/* ---- Launching ---- */

/* Bytes of the workspace that a launcher must have: a fixed size in addition to the plan's arena, one a stream.
 * Half is cuBLASLt's (NVIDIA advises 32 MiB on Hopper), half holds partial sums and sorted indices. */
enum { ZB_CUDA_WORKSPACE_BYTES = 64 << 20, ZB_CUDA_BLAS_BYTES = 32 << 20 };

/* What cuBLASLt needs, and the algorithms that were chosen: blas.h. */
typedef struct zb_cuda_blas zb_cuda_blas;

typedef struct zb_cuda_launcher {
  const zb_cuda_api *api;
  CUstream stream;
  const zb_cuda_code *code;
  zb_cuda_blas *blas;          /* NULL: products run on an own kernel, many times slower */
  CUdeviceptr workspace;       /* ZB_CUDA_WORKSPACE_BYTES, 256-byte aligned; its content means nothing between calls */
  zb_cuda_fault_record *fault; /* a device address; NULL: faults are not reported */
  int instruction;             /* what a fault record names; the caller sets it before each run */
  bool only_choosing;          /* run() enqueues nothing: it asks cuBLASLt for the algorithms that it will need */
  bool warpgroups;             /* a GPU of compute capability 9.0: attention has kernels for it (hopper.cu) */
  int processors;              /* multiprocessors of the GPU; 0: not known. Decides no bits, only how work is spread */
} zb_cuda_launcher;

typedef struct zb_cuda_item zb_cuda_item;

/* Neighbours of a program that run as one launch. What is known of it before addresses are (shapes, attributes, places)
 * may lie in a table in device memory, which is written once and serves every run, wherever the arena and its bases
 * are. */
typedef struct zb_cuda_group {
  /* How many of these items, of which the first is a call of this row, from the first on (>= 1). Data pointers may be
   * NULL where there are places. */
  int (*size)(const zb_cuda_item *items, int count);
  /* Bytes of the table of `count` items; 0: they need none. Items without places cannot have one, and a group of them
   * needs none. */
  uint64_t (*table_bytes)(int count);
  void (*fill)(const zb_cuda_item *items, int count, void *table);
  /* table: the device address of what fill wrote; 0 if they need none. */
  zb_status (*run)(const zb_cuda_item *items, int count, CUdeviceptr table, zb_cuda_launcher *on);
} zb_cuda_group;

/* One row of the table. */
typedef struct zb_cuda_kernel {
  const char *op; /* without "zb." */
  zb_status (*run)(const zb_kernel_call *call, zb_cuda_launcher *on);
  /* Whether this row can run the call: types, shapes, strides, attributes; never data pointers (they may be NULL). */
  bool (*matches)(const zb_kernel_call *call);
  const zb_cuda_group *group; /* NULL: each call is a launch of its own */
} zb_cuda_kernel;

/* The first row of the op that matches. On failure an error that names op, operand types and what the kernels take;
 * `location` may be NULL. The call is not kept. */
zb_status zb_cuda_kernel_find(const char *op, const zb_kernel_call *call, const char *location,
                              const zb_cuda_kernel **out) ZB_MUST_USE;
/* Why an op of class KERNEL has no row; NULL if it has one. */
const char *zb_cuda_kernel_missing(const char *op);

/* Where an operand lies, before its address is known: bytes from a base, which is the arena (0) or what a job names. */
typedef struct zb_cuda_place {
  uint64_t offset;
  uint32_t base;
} zb_cuda_place;

/* One instruction of a subprogram, ready to run. */
struct zb_cuda_item {
  const zb_cuda_kernel *kernel;
  const zb_kernel_call *call;
  const zb_cuda_place *places; /* of inputs, then outputs; NULL: not known */
};

/* The instructions of a subprogram as launches: which of them go together, and their tables. */
typedef struct zb_cuda_program zb_cuda_program;
/* Forms the launches; allocates device memory for tables, once, and writes them (waits for the launcher's stream). The
 * items are borrowed and must stay valid. *out is NULL on failure. Release with zb_cuda_program_destroy when nothing
 * runs, with graphs that name its tables. */
zb_status zb_cuda_program_create(const zb_cuda_item *items, int count, zb_cuda_launcher *on,
                                 zb_cuda_program **out) ZB_MUST_USE;
void zb_cuda_program_destroy(zb_cuda_program *program);
/* Launches in order, and the items of one: *out_first and on. */
int zb_cuda_program_launches(const zb_cuda_program *program);
int zb_cuda_program_items(const zb_cuda_program *program, int launch, int *out_first);
uint64_t zb_cuda_program_table_bytes(const zb_cuda_program *program);
/* Enqueues one launch. Item i of the program is instruction `first_instruction` + i. */
zb_status zb_cuda_program_run(const zb_cuda_program *program, int launch, zb_cuda_launcher *on,
                              int first_instruction) ZB_MUST_USE;

/* The text of a fault record that was read back ("an index is out of range"), never NULL. */
const char *zb_cuda_fault_text(const zb_cuda_fault_record *record);
