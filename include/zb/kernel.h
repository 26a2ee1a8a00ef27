/* The kernel ABI: what a kernel of any device gets, and the rows of the kernel tables.
 *
 * A kernel computes one op. Operands come with shapes and strides (in elements), so a transpose or a slice that feeds
 * an op is a stride, not a copy. The meaning of every op is written in zb/ops.def; the strict scalar reference in
 * kernels/cpu/ref is that meaning in C, and every other kernel is tested against it.
 *
 * Determinism: what a kernel computes may depend on shapes, strides, attributes and values only, never on the number of
 * threads: tiles are chosen from the shapes, threads take tiles.
 */
#ifndef ZB_KERNEL_H
#define ZB_KERNEL_H

#include "zb/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum zb_attr_kind { ZB_ATTR_BOOL, ZB_ATTR_INT, ZB_ATTR_FLOAT, ZB_ATTR_INTS, ZB_ATTR_STRING } zb_attr_kind;

/* One attribute of an op. BOOL and INT use `i`, FLOAT `f`, INTS `ints`/`count`, STRING `s`. Memory is borrowed. */
typedef struct zb_attr {
  const char *name;
  zb_attr_kind kind;
  int64_t i;
  double f;
  const int64_t *ints;
  int count;
  const char *s;
} zb_attr;

typedef struct zb_attrs {
  const zb_attr *items;
  int count;
} zb_attrs;

/* Lookups by name; `fallback` when absent. O(count). attrs may be NULL. */
ZB_API const zb_attr *zb_attr_find(const zb_attrs *attrs, const char *name);
ZB_API int64_t zb_attr_int(const zb_attrs *attrs, const char *name, int64_t fallback);
ZB_API bool zb_attr_bool(const zb_attrs *attrs, const char *name, bool fallback);
ZB_API double zb_attr_float(const zb_attrs *attrs, const char *name, double fallback);
ZB_API const char *zb_attr_string(const zb_attrs *attrs, const char *name, const char *fallback);

/* An operand as a kernel sees it. strides are in elements and may be 0 (broadcast by zb.expand) or, for operands of ops
 * that accept strided operands, anything non-negative. Results are always contiguous. */
typedef struct zb_tensor {
  void *data;
  zb_dtype dtype;
  int rank;
  int64_t shape[ZB_DIMS_MAX];
  int64_t strides[ZB_DIMS_MAX];
} zb_tensor;

/* Threads of one rank; NULL means one thread, the caller. */
typedef struct zb_threads zb_threads;

/* Calls run(context, tile, scratch) for every tile in 0..tile_count-1, each exactly once, on any thread, and returns
 * when all are done. scratch is ZB_SCRATCH_BYTES of 64-byte aligned memory, private to the running thread, not zeroed.
 * The result must not depend on which thread takes which tile. Never allocates. */
enum { ZB_SCRATCH_BYTES = 5 << 19 };
typedef void (*zb_tile_run)(void *context, int64_t tile, void *scratch);
ZB_API void zb_parallel_for(zb_threads *threads, int64_t tile_count, zb_tile_run run, void *context);
/* Starts thread_count - 1 workers beside the caller (thread_count >= 1). NULL when out of memory. */
ZB_API zb_threads *zb_threads_create(int thread_count) ZB_MUST_USE;
ZB_API void zb_threads_destroy(zb_threads *threads);
ZB_API int zb_threads_count(const zb_threads *threads);

/* A value of an operand that the op cannot take: an index, a label. */
typedef struct zb_kernel_fault {
  bool set;
  int64_t value, least, most; /* least..most is what the op takes */
} zb_kernel_fault;

/* One call of a kernel. Absent optional operands have data == NULL and rank == -1, so operand positions are those of
 * zb/ops.def. */
typedef struct zb_kernel_call {
  const zb_tensor *inputs;
  int input_count;
  const zb_tensor *outputs;
  int output_count;
  zb_attrs attrs;
  bool accumulate;        /* outputs[0] += result, for ops with the trait ACCUMULATES */
  void *workspace;        /* the plan's scratch for this call: the op row's scratch_bytes; NULL if 0 */
  zb_threads *threads;    /* may be NULL */
  zb_kernel_fault *fault; /* filled in by a kernel that fails because of a value; may be NULL */
} zb_kernel_call;

/* For kernels: notes the value that is wrong, and returns `text`. */
static inline const char *zb_kernel_wrong_value(const zb_kernel_call *call, int64_t value, int64_t least, int64_t most,
                                                const char *text) {
  if (call->fault) {
    zb_kernel_fault fault = {true, value, least, most};
    *call->fault = fault;
  }
  return text;
}

/* Runs; returns NULL, or a static text that says what is wrong with the values (an index out of range). Thread-safe. */
typedef const char *(*zb_kernel_run)(const zb_kernel_call *call);

/* What a kernel knows of a call: a kernel that was written before its op grew an operand or an attribute must not be
 * given one. */
enum { ZB_KNOWS_ANY = 32767 };
typedef struct zb_kernel_knows {
  int operands;      /* ZB_KNOWS_ANY: any number from one on */
  unsigned optional; /* the bit set of those that may be absent */
  int results;
  unsigned optional_results;
  bool accumulates;
  const char *attributes; /* names, blanks between */
} zb_kernel_knows;

/* One row of a device's kernel table. */
typedef struct zb_kernel {
  const char *op; /* op name without "zb." */
  zb_kernel_run run;
  /* NULL, or whether this kernel can run a call that it knows all of: element types, shapes, strides, values of
   * attributes (data pointers may be NULL); else the next row of that op is tried. */
  bool (*matches)(const zb_kernel_call *call);
  const zb_kernel_knows *knows;
} zb_kernel;

/* NULL, or why the kernel must not run the call, whatever the values are: "it does not know operand 3", "the shapes of
 * the operands do not fit each other". Data pointers are not looked at. The text is static, or written to `text`. */
ZB_API const char *zb_kernel_refuses(const zb_kernel *kernel, const zb_kernel_call *call, char *text, size_t size);

/* The reference kernel of an op (never NULL for an op of class KERNEL), and the best CPU kernel for a call: the first
 * fast one that takes it, else the reference. NULL for a name that is no KERNEL op, and for a call that the reference
 * refuses: what it refuses no kernel may run. */
ZB_API const zb_kernel *zb_kernel_reference(const char *op);
ZB_API const zb_kernel *zb_kernel_cpu(const char *op, const zb_kernel_call *call);

#ifdef __cplusplus
}
#endif
#endif
