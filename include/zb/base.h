/* Base of the public C API: version, export mark, allocation, string views, small shared types.
 *
 * Thread-safety, for every header of zb: a function that takes a `const` pointer may run at the same time as others on
 * the same object; one that takes a non-const pointer may not. Ownership is a word in the name: create/take give to the
 * caller, get/find lend, destroy/free end. Sizes end in _bytes, times in _ps (picoseconds, int64_t) or _ns.
 */
#ifndef ZB_BASE_H
#define ZB_BASE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ZB_VERSION "0.1.0"
#define ZB_API __attribute__((visibility("default")))
#define ZB_PRINTF(text, first) __attribute__((format(printf, text, first)))
#define ZB_MUST_USE __attribute__((warn_unused_result))
#define ZB_UNUSED __attribute__((unused)) /* a parameter that others of its table read */

/* ZB_VERSION of the library that is running. */
ZB_API const char *zb_version(void);
/* sizeof a struct of zb/structs.def ("zb_shape") in it; 0 for any other name. For bindings that do not compile these
 * headers: where it differs, they are of another version. */
ZB_API size_t zb_struct_bytes(const char *name);

/* Most dimensions a tensor may have, anywhere. */
enum { ZB_DIMS_MAX = 8 };

/* Every buffer that is counted (frames, slots, regions) is rounded up to this many bytes first. */
enum { ZB_ALIGNMENT = 64 };

/* Element types; the rows (name, bytes, safetensors and ONNX spelling) are in zb/dtypes.def. */
typedef enum zb_dtype {
#define ZB_DTYPE(ID, name, bytes, safetensors, onnx) ZB_##ID,
#include "zb/dtypes.def"
#undef ZB_DTYPE
  ZB_DTYPE_COUNT
} zb_dtype;

/* f32, f64, bf16 and f16; of these the ones of 16 bits; i64 and i32. */
static inline bool zb_dtype_is_narrow(zb_dtype dtype) { return dtype == ZB_BF16 || dtype == ZB_F16; }
static inline bool zb_dtype_is_float(zb_dtype dtype) {
  return dtype == ZB_F32 || dtype == ZB_F64 || zb_dtype_is_narrow(dtype);
}
static inline bool zb_dtype_is_index(zb_dtype dtype) { return dtype == ZB_I64 || dtype == ZB_I32; }

/* "f32"; never NULL for a valid dtype. */
ZB_API const char *zb_dtype_name(zb_dtype dtype);
/* Bytes of one element (i1 is stored as one byte, 0 or 1). */
ZB_API size_t zb_dtype_bytes(zb_dtype dtype);
/* Spelling in safetensors headers: "F32", "I64", "BOOL". */
ZB_API const char *zb_dtype_safetensors(zb_dtype dtype);
/* Finds a dtype by name or by safetensors spelling; false if there is none. */
ZB_API bool zb_dtype_parse(const char *name, zb_dtype *out);

/* A shape with its element type. dims are >= 0, row-major order. */
typedef struct zb_shape {
  zb_dtype dtype;
  int rank;
  int64_t dims[ZB_DIMS_MAX];
} zb_shape;

/* Number of elements (1 for rank 0). Overflow gives -1. */
ZB_API int64_t zb_shape_elements(const zb_shape *shape);
/* Bytes when stored contiguously, not rounded. Overflow gives -1. */
ZB_API int64_t zb_shape_bytes(const zb_shape *shape);
ZB_API bool zb_shape_equal(const zb_shape *a, const zb_shape *b);
/* Writes "4x128xf32" ("f32" for rank 0) to text; returns text. */
ZB_API const char *zb_shape_text(const zb_shape *shape, char text[96]);

/* Rounds bytes up to ZB_ALIGNMENT. */
static inline uint64_t zb_align(uint64_t bytes) { return (bytes + (ZB_ALIGNMENT - 1)) & ~(uint64_t)(ZB_ALIGNMENT - 1); }

/* All memory of zb comes from these. They count calls (zb_allocation_count), so that a test can show that a step
 * allocates nothing, and can be told to fail the n-th call. zb_alloc zeroes. NULL when out of memory. */
ZB_API void *zb_alloc(size_t bytes) ZB_MUST_USE;
ZB_API void *zb_realloc(void *memory, size_t bytes) ZB_MUST_USE;
ZB_API void *zb_alloc_aligned(size_t bytes, size_t alignment) ZB_MUST_USE; /* zeroed; release with zb_free */
ZB_API void zb_free(void *memory);
/* Memory for arenas: zeroed, 64-byte aligned; of megabytes it is pages that nobody touches until they are used, so that
 * making it takes no time. Release with zb_free_pages and the same `bytes`. */
ZB_API void *zb_alloc_pages(size_t bytes) ZB_MUST_USE;
ZB_API void zb_free_pages(void *memory, size_t bytes);
ZB_API uint64_t zb_allocation_count(void);
/* From now on the n-th allocation fails (n = 1 is the next); 0 switches failing off. For tests. */
ZB_API void zb_allocation_fail_at(uint64_t n);

/* A number of bytes or of seconds as people read it, in the units of all that zb prints: "57.6 MiB", "512 B", "1.25
 * ms". Into out; returns out. */
ZB_API const char *zb_bytes_text(uint64_t bytes, char out[32]);
ZB_API const char *zb_time_text(double seconds, char out[32]);
/* The same with the exact number: "1.2 MiB (1,230,976 bytes)", "800 bytes". Returns out. */
ZB_API const char *zb_bytes_exact_text(uint64_t bytes, char out[64]);
/* Reads a number of bytes, 1 to 1e18: "800", "2e9", "64M", "1.5G", "2 GiB", "2GB". K, M, G and T are 2^10, 2^20, 2^30
 * and 2^40, in either case, with or without "iB"; with "B" they are 10^3, 10^6, 10^9 and 10^12. A fraction without a
 * unit is none. *out is set where it returns true. */
ZB_API bool zb_bytes_parse(const char *text, uint64_t *out);

/* Copies text; NULL when out of memory. Release with zb_free. */
ZB_API char *zb_strdup(const char *text) ZB_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
