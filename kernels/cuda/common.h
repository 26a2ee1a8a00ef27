/* What the host side of all CUDA kernels shares: dimensions of operands, launches, questions. Private to kernels/cuda.
 */
#pragma once

#include "kernels/call.h"
#include "kernels/cuda/launcher.h"

#include <string.h>

typedef enum zb_cuda_fault_kind {
#define ZB_CUDA_FAULT(ID, text) ZB_FAULT_##ID,
#include "kernels/cuda/faults.def"
  ZB_FAULT_COUNT
} zb_cuda_fault_kind;

/* ---- Operands ---- */

/* That many operands and results, present, no others, results contiguous; and `accumulate` only if the op may. An
 * operand that a kernel does not know must never be ignored. */
bool zb_cuda_complete(const zb_kernel_call *call, int inputs, int outputs, bool accumulates);
/* The same where operands inputs..most-1 are optional. */
bool zb_cuda_complete_up_to(const zb_kernel_call *call, int inputs, int most, int outputs, bool accumulates);

/* f32, bf16, f16: the types that kernels are made for. */
static inline bool zb_cuda_is_float(zb_dtype dtype) { return dtype == ZB_F32 || zb_dtype_is_narrow(dtype); }
/* The kernel for a float type, or an integer type, given that for f32, or i64. */
zb_cuda_function zb_cuda_for_float(zb_cuda_function f32, zb_dtype dtype);
zb_cuda_function zb_cuda_for_integer(zb_cuda_function i64, zb_dtype dtype);
/* Given that for f32 of a row that has all six. */
zb_cuda_function zb_cuda_for_any(zb_cuda_function f32, zb_dtype dtype);

/* ---- Random ops ---- */

/* What ops that drop elements have: attributes rate and op, and the operand `counter`, which must be dense. */
typedef struct zb_cuda_drop {
  const int64_t *counter; /* a device address */
  int64_t op, threshold;
  double scale;
} zb_cuda_drop;
bool zb_cuda_drop_of(const zb_kernel_call *call, int operand, zb_cuda_drop *out); /* dropout.c */

/* ---- Dimensions ---- */

/* The dimensions of `space` in the bit set, as x has them when it is broadcast to space as NumPy does. False where it
 * cannot be. */
bool zb_cuda_dims_of(const zb_tensor *space, const zb_tensor *x, unsigned dimensions, zb_cuda_dims *out);
/* All of them. */
bool zb_cuda_dims_all(const zb_tensor *space, const zb_tensor *x, zb_cuda_dims *out);
/* The bit sets of the dimensions before an axis, and from it on. */
static inline unsigned zb_cuda_before(int64_t axis) { return (1u << axis) - 1; }
static inline unsigned zb_cuda_from(const zb_tensor *x, int64_t axis) {
  return ((1u << x->rank) - 1) & ~zb_cuda_before(axis);
}
/* Elements of the dimensions in the bit set. */
int64_t zb_cuda_count(const zb_tensor *x, unsigned dimensions);
/* How many elements a thread takes at a time of a kernel whose widest type has that many bytes. */
static inline int zb_cuda_group_elements(size_t widest_bytes) { return (int)(16 / widest_bytes); }
/* Whether groups of n elements of an operand's rows (dimensions `along`; `rows` are those before) can be read at once:
 * rows are whole groups that lie together, at multiples of 16 bytes, or of a group that is shorter. */
bool zb_cuda_in_groups(const zb_cuda_dims *rows, const zb_cuda_dims *along, const void *data, int n,
                       size_t element_bytes);

/* ---- Launches ---- */

/* grid_x <= 2^31 - 1, grid_y <= 65535. A grid of 0 launches nothing. `args` is the kernel's only parameter. */
zb_status zb_cuda_enqueue(zb_cuda_launcher *on, zb_cuda_function function, int64_t grid_x, int64_t grid_y, int threads,
                          int64_t shared_bytes, const void *args) ZB_MUST_USE;
/* A thread for each of `count`, without shared memory. */
static inline zb_status zb_cuda_enqueue_each(zb_cuda_launcher *on, zb_cuda_function function, int64_t count,
                                             int threads, const void *args) {
  return zb_cuda_enqueue(on, function, zb_ceil_div(count, threads), 1, threads, 0, args);
}
static inline zb_cuda_fault_place zb_cuda_fault_of(const zb_cuda_launcher *on) {
  return (zb_cuda_fault_place){on->fault, on->instruction};
}
/* The part of the workspace that is not cuBLASLt's. */
static inline char *zb_cuda_scratch(const zb_cuda_launcher *on) {
  return (char *)(uintptr_t)on->workspace + ZB_CUDA_BLAS_BYTES;
}
enum { ZB_CUDA_SCRATCH_BYTES = ZB_CUDA_WORKSPACE_BYTES - ZB_CUDA_BLAS_BYTES };
/* Of groups that need none. */
uint64_t zb_cuda_no_table(int count);
/* Enqueues a copy of x to `to`, whose shape and type it has; both may have any strides. */
zb_status zb_cuda_copy(zb_cuda_launcher *on, const zb_tensor *to, const zb_tensor *x) ZB_MUST_USE;
/* All bytes of a result to 0. */
zb_status zb_cuda_enqueue_zero(zb_cuda_launcher *on, const zb_tensor *x) ZB_MUST_USE;
