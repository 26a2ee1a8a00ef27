/* Questions about the operands of a call, for the kernels of every device: no data is read. Thread-safe.
 * Tests: test/kernels/fast_table_test.c and, through the kernels, the conformance tests. */
#pragma once

#include "zb/kernel.h"

/* Text that several kernels return. */
#define ZB_BAD_SHAPE "the shapes of the operands do not fit each other"

static inline int64_t zb_min64(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t zb_max64(int64_t a, int64_t b) { return a > b ? a : b; }
static inline int64_t zb_ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

/* The size of equal parts of `size` of at most `most` (before it is rounded up to a multiple of `unit`). */
static inline int64_t zb_part_size(int64_t size, int64_t most, int64_t unit) {
  int64_t parts = zb_max64(1, zb_ceil_div(size, most));
  return zb_ceil_div(zb_ceil_div(size, parts), unit) * unit;
}

static inline bool zb_tensor_present(const zb_tensor *x) { return x->rank >= 0; }

/* Product of the dimensions first..last-1; 1 if there are none. */
static inline int64_t zb_shape_product(const zb_tensor *x, int first, int last) {
  int64_t product = 1;
  for (int i = first; i < last; ++i)
    product *= x->shape[i];
  return product;
}

/* Number of elements, 1 for rank 0. */
static inline int64_t zb_tensor_elements(const zb_tensor *x) { return zb_shape_product(x, 0, x->rank); }

static inline bool zb_tensor_same_shape(const zb_tensor *a, const zb_tensor *b) {
  if (a->rank != b->rank) return false;
  for (int i = 0; i < a->rank; ++i)
    if (a->shape[i] != b->shape[i]) return false;
  return true;
}

/* Whether elements lie one after the other (strides of dimensions of size 1 do not matter). */
static inline bool zb_tensor_contiguous(const zb_tensor *x) {
  int64_t expected = 1;
  for (int i = x->rank - 1; i >= 0; --i) {
    if (x->shape[i] == 1) continue;
    if (x->strides[i] != expected) return false;
    expected *= x->shape[i];
  }
  return true;
}

/* x with a dimension of size 1 and stride 0 at the end (labels [..] next to logits [.., C]). */
static inline zb_tensor zb_tensor_append_unit(const zb_tensor *x) {
  zb_tensor out = *x;
  if (out.rank < ZB_DIMS_MAX) {
    out.shape[out.rank] = 1;
    out.strides[out.rank++] = 0;
  }
  return out;
}

/* x from element `offset` on. */
static inline zb_tensor zb_tensor_from(const zb_tensor *x, int64_t offset) {
  zb_tensor out = *x;
  out.data = (void *)((uintptr_t)x->data + (uintptr_t)offset * zb_dtype_bytes(x->dtype));
  return out;
}

/* Part `place` of what has a dimension of parts in front. */
static inline zb_tensor zb_tensor_part(const zb_tensor *x, int64_t place) {
  zb_tensor part = zb_tensor_from(x, place * x->strides[0]);
  part.rank = x->rank - 1;
  for (int d = 0; d < part.rank; ++d) {
    part.shape[d] = x->shape[d + 1];
    part.strides[d] = x->strides[d + 1];
  }
  return part;
}

/* The least index that a gather takes of `size` places: negative ones count from the end, unless from_end is false. */
static inline int64_t zb_least_index(const zb_kernel_call *call, int64_t size) {
  return zb_attr_bool(&call->attrs, "from_end", true) ? -size : 0;
}

/* A BOOL, INT or FLOAT attribute as a number. */
static inline double zb_attr_number(const zb_kernel_call *call, const char *name, double fallback) {
  const zb_attr *attr = zb_attr_find(&call->attrs, name);
  if (!attr) return fallback;
  return attr->kind == ZB_ATTR_FLOAT ? attr->f : (double)attr->i;
}

/* Operand or result i; NULL if the call has none or it is absent. */
static inline const zb_tensor *zb_call_input(const zb_kernel_call *call, int i) {
  return i < call->input_count && zb_tensor_present(&call->inputs[i]) ? &call->inputs[i] : NULL;
}
static inline const zb_tensor *zb_call_output(const zb_kernel_call *call, int i) {
  return i < call->output_count && zb_tensor_present(&call->outputs[i]) ? &call->outputs[i] : NULL;
}

/* The part of the result of zb.slice_grad that its operand is written into. NULL, or what is wrong. */
static inline const char *zb_slice_part(const zb_kernel_call *call, zb_tensor *part) {
  const zb_tensor *dout = &call->inputs[0], *dx = &call->outputs[0];
  const zb_attr *starts = zb_attr_find(&call->attrs, "starts"), *steps = zb_attr_find(&call->attrs, "steps");
  int start_count = starts && starts->kind == ZB_ATTR_INTS ? starts->count : 0;
  int step_count = steps && steps->kind == ZB_ATTR_INTS ? steps->count : 0;
  if (start_count != dx->rank || step_count != dx->rank || dout->rank != dx->rank) return ZB_BAD_SHAPE;
  int64_t offset = 0;
  for (int i = 0; i < dx->rank; ++i) {
    int64_t size = dout->shape[i], start = starts->ints[i], step = steps->ints[i];
    if (start < 0 || step < 1 || (size > 0 && start + (size - 1) * step >= dx->shape[i]))
      return "the slice does not lie inside of its operand";
    offset += start * dx->strides[i];
  }
  *part = zb_tensor_from(dx, offset);
  for (int i = 0; i < dx->rank; ++i) {
    part->shape[i] = dout->shape[i];
    part->strides[i] *= steps->ints[i];
  }
  return NULL;
}
