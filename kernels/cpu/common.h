/* What all CPU kernels share: questions about operands, and loops collapsed to few dimensions. Thread-safe. */
#pragma once

#include "kernels/call.h"

/* Elements of cheap work a tile: below it an op is one tile, which the caller runs without waking a thread. */
enum { ZB_TILE_ELEMENTS = 16384 };

/* All present operands and results are contiguous. */
bool zb_call_contiguous(const zb_kernel_call *call);
/* All present operands and results are f32 and contiguous. */
bool zb_call_dense_f32(const zb_kernel_call *call);
/* The rows of an op over the last dimensions: elements before `axis` and from it on. */
static inline int64_t zb_outer(const zb_tensor *x, int64_t axis) { return zb_shape_product(x, 0, (int)axis); }
static inline int64_t zb_inner(const zb_tensor *x, int64_t axis) { return zb_shape_product(x, (int)axis, x->rank); }
/* How many rows of `width` elements make a tile; at least 1. */
static inline int64_t zb_tile_rows(int64_t width) { return zb_max64(1, ZB_TILE_ELEMENTS / zb_max64(1, width)); }

/* An index space with the strides of up to ZB_LOOP_OPERANDS operands, broadcast to it, with dimensions of size 1
 * dropped and neighbours merged where all operands allow. */
enum { ZB_LOOP_OPERANDS = 4 };
typedef struct zb_loop {
  int rank;
  int operand_count;
  int64_t elements;
  int64_t shape[ZB_DIMS_MAX];
  int64_t strides[ZB_LOOP_OPERANDS][ZB_DIMS_MAX];
} zb_loop;
/* `space` gives the shape; operands broadcast to it as NumPy does. False if one does not. */
bool zb_loop_init(zb_loop *loop, const zb_tensor *space, const zb_tensor *const *operands, int operand_count);
/* Offset of operand `operand` at the row-major position of dimensions 0..rank_used-1. */
int64_t zb_loop_offset(const zb_loop *loop, int operand, int rank_used, int64_t position);

/* A place in the dimensions 0..rank-1 of a loop, with every operand's offset; stepping on costs no division. */
typedef struct zb_cursor {
  int rank;
  int64_t index[ZB_DIMS_MAX];
  int64_t offset[ZB_LOOP_OPERANDS];
} zb_cursor;
void zb_cursor_init(zb_cursor *cursor, const zb_loop *loop, int rank, int64_t position);
static inline void zb_cursor_next(zb_cursor *cursor, const zb_loop *loop) {
  for (int d = cursor->rank - 1; d >= 0; --d) {
    bool carry = ++cursor->index[d] == loop->shape[d];
    int64_t steps = carry ? 1 - loop->shape[d] : 1;
    for (int k = 0; k < loop->operand_count; ++k)
      cursor->offset[k] += steps * loop->strides[k][d];
    if (!carry) return;
    cursor->index[d] = 0;
  }
}
