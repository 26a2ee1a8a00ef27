/* The reference kernels: what every op of class KERNEL means, in plain scalar C.
 *
 * Every operand may have any strides (0 and transposes included); results are contiguous. Element types f32, f64, bf16
 * and f16 are accepted by every op on real numbers (f64 is what the gradient tests use), the integer types where
 * zb/ops.def says so. Elementwise ops compute in the type itself (bf16 and f16: in f32); sums, norms, losses and
 * products accumulate in double and round once. Nothing here allocates, uses threads or keeps state, so every function
 * is thread-safe and its result is a function of the values alone.
 *
 * A result may share memory with an operand where zb/ops.def says so (optimizers) and for elementwise ops when that
 * operand is contiguous and has the shape of the result: each element is read before it is written.
 *
 * Tests: test/kernels/conformance_test.c (numbers of other programs), test/kernels/gradient_test.c (finite
 * differences).
 */
#pragma once

#include "kernels/call.h"
#include "runtime/base/random.h"

#include <string.h>

/* One function an op of class KERNEL, with the operands, attributes and results of its row in zb/ops.def. */
#define ZB_REF_DECLARE_KERNEL(function) const char *function(const zb_kernel_call *call);
#define ZB_REF_DECLARE_VIEW(function)
#define ZB_REF_DECLARE_COMPOSITE(function)
#define ZB_REF_DECLARE_STRUCTURE(function)
#define ZB_OP(name, CLASS) ZB_REF_DECLARE_##CLASS(zb_ref_##name)
#define ZB_GRAD(name, CLASS) ZB_REF_DECLARE_##CLASS(zb_ref_##name##_grad)
#include "zb/ops.def"
#undef ZB_OP
#undef ZB_GRAD

/* Texts that several kernels return. */
#define ZB_REF_BAD_TYPE "the element type of an operand is not supported by this op"
#define ZB_REF_BAD_SHAPE ZB_BAD_SHAPE
#define ZB_REF_BAD_AXIS "the axis is outside of the operand's rank"

/* ---- Elements. `element` is an offset in elements from data. ---- */

/* The value of the 16-bit formats, exact, and the nearest 16-bit value (ties to even, overflow to infinity). */
double zb_ref_from_bf16(uint16_t bits);
double zb_ref_from_f16(uint16_t bits);
uint16_t zb_ref_to_bf16(double value);
uint16_t zb_ref_to_f16(double value);
/* Towards zero; outside of the range the nearest end of it, NaN gives 0. */
int64_t zb_ref_to_i64(double value);

/* Any type as double; an i64 beyond 2^53 is rounded. */
static inline double zb_ref_get(const zb_tensor *tensor, int64_t element) {
  switch (tensor->dtype) {
  case ZB_F32:
    return (double)((const float *)tensor->data)[element];
  case ZB_F64:
    return ((const double *)tensor->data)[element];
  case ZB_BF16:
    return zb_ref_from_bf16(((const uint16_t *)tensor->data)[element]);
  case ZB_F16:
    return zb_ref_from_f16(((const uint16_t *)tensor->data)[element]);
  case ZB_I64:
    return (double)((const int64_t *)tensor->data)[element];
  case ZB_I32:
    return (double)((const int32_t *)tensor->data)[element];
  default:
    return (double)((const uint8_t *)tensor->data)[element];
  }
}

/* An integer or i1 element; float types are truncated. */
static inline int64_t zb_ref_get_int(const zb_tensor *tensor, int64_t element) {
  switch (tensor->dtype) {
  case ZB_I64:
    return ((const int64_t *)tensor->data)[element];
  case ZB_I32:
    return (int64_t)((const int32_t *)tensor->data)[element];
  case ZB_I1:
    return (int64_t)((const uint8_t *)tensor->data)[element];
  default:
    return zb_ref_to_i64(zb_ref_get(tensor, element));
  }
}

/* Rounds to the element type once; integers as zb_ref_to_i64 (i32: the nearest end of its own range), i1 != 0. */
static inline void zb_ref_set(const zb_tensor *tensor, int64_t element, double value) {
  switch (tensor->dtype) {
  case ZB_F32:
    ((float *)tensor->data)[element] = (float)value;
    break;
  case ZB_F64:
    ((double *)tensor->data)[element] = value;
    break;
  case ZB_BF16:
    ((uint16_t *)tensor->data)[element] = zb_ref_to_bf16(value);
    break;
  case ZB_F16:
    ((uint16_t *)tensor->data)[element] = zb_ref_to_f16(value);
    break;
  case ZB_I64:
    ((int64_t *)tensor->data)[element] = zb_ref_to_i64(value);
    break;
  case ZB_I32: {
    int64_t wide = zb_ref_to_i64(value);
    ((int32_t *)tensor->data)[element] = (int32_t)(wide > INT32_MAX ? INT32_MAX : wide < INT32_MIN ? INT32_MIN : wide);
    break;
  }
  default:
    ((uint8_t *)tensor->data)[element] = value != 0;
    break;
  }
}

/* Stores an integer; i32 keeps the low 32 bits (arithmetic wraps), i1 is whether it is not 0. */
static inline void zb_ref_set_int(const zb_tensor *tensor, int64_t element, int64_t value) {
  if (tensor->dtype == ZB_I64)
    ((int64_t *)tensor->data)[element] = value;
  else if (tensor->dtype == ZB_I32)
    ((int32_t *)tensor->data)[element] = (int32_t)(uint32_t)value;
  else if (tensor->dtype == ZB_F32) /* not by way of a double, which would round twice */
    ((float *)tensor->data)[element] = (float)value;
  else
    zb_ref_set(tensor, element, (double)value);
}

/* The same bits; both tensors have the same element type. */
static inline void zb_ref_copy(const zb_tensor *to, int64_t to_element, const zb_tensor *from, int64_t from_element) {
  size_t bytes = zb_dtype_bytes(to->dtype);
  memcpy((char *)to->data + to_element * (int64_t)bytes, (const char *)from->data + from_element * (int64_t)bytes,
         bytes);
}

/* result = value, or result += value when accumulate. */
static inline void zb_ref_put(const zb_tensor *tensor, int64_t element, double value, bool accumulate) {
  zb_ref_set(tensor, element, accumulate ? zb_ref_get(tensor, element) + value : value);
}

/* ---- Calls ---- */

/* A call whose result has no data is only checked: a reference kernel says whether it would refuse its shapes, types
 * and attributes, and looks at no data (zb_kernel_cpu asks so before it chooses). Every kernel has this before its
 * first look at data. */
#define ZB_REF_CHECKED(call)                                                                                           \
  if (!(call)->outputs[0].data) return NULL

/* Returns what is wrong with a call, if something is. */
#define ZB_REF_TRY(expression)                                                                                         \
  do {                                                                                                                 \
    const char *zb_ref_error = (expression);                                                                           \
    if (zb_ref_error) return zb_ref_error;                                                                             \
  } while (0)

/* NULL when the call has that many operands and results at least, each present, and does not ask an op that cannot to
 * add into its result. Optional operands are not counted. */
const char *zb_ref_check(const zb_kernel_call *call, int inputs, int outputs, bool accumulates);
/* An array attribute; *count gets its length, 0 when it is absent. */
const int64_t *zb_ref_ints(const zb_kernel_call *call, const char *name, int *count);

/* What ops that drop elements have: attributes rate and op, and the operand `counter`. */
typedef struct zb_ref_drop {
  zb_random_stream stream;
  uint64_t threshold;
  double scale;
} zb_ref_drop;
/* NULL, or what is wrong with them. */
const char *zb_ref_drop_of(const zb_kernel_call *call, int operand, zb_ref_drop *out);
/* What the element at this place is multiplied by. */
static inline double zb_ref_drop_factor(const zb_ref_drop *drop, int64_t element) {
  return zb_random_word(&drop->stream, element) < drop->threshold ? drop->scale : 0;
}

/* ---- Walks: visiting the elements of a shape in row-major order, with an offset for each of some operands. ---- */

enum { ZB_REF_WALK_MAX = 8 };

typedef struct zb_ref_walk {
  int rank, operand_count;
  int64_t total, left; /* elements in all, and from the current one on */
  int64_t shape[ZB_DIMS_MAX];
  int64_t index[ZB_DIMS_MAX];
  int64_t strides[ZB_REF_WALK_MAX][ZB_DIMS_MAX];
  int64_t offset[ZB_REF_WALK_MAX]; /* of the current element, in elements, by operand */
} zb_ref_walk;

/* Starts at the first element of the shape of `space`, which becomes operand 0. */
void zb_ref_walk_init(zb_ref_walk *walk, const zb_tensor *space);
/* Adds an operand that is broadcast to the space as NumPy does; false where it cannot be. A NULL tensor gets offset 0
 * everywhere, so that absent operands keep the numbering. */
bool zb_ref_walk_add(zb_ref_walk *walk, const zb_tensor *tensor);
/* To the next element. After the last one the walk is at the first again, with left == 0. */
void zb_ref_walk_next(zb_ref_walk *walk);
/* Makes a finished walk ready for another round. */
static inline void zb_ref_walk_again(zb_ref_walk *walk) { walk->left = walk->total; }
/* Splits the dimensions of a fresh walk in two: those of the bit set `inner_dimensions`, and the others. An element's
 * offset is the sum of both walks' offsets. */
void zb_ref_walk_split(const zb_ref_walk *walk, unsigned inner_dimensions, zb_ref_walk *outer, zb_ref_walk *inner);
