/* A small evaluator of straight-line zb IR with the reference kernels: what a block of ops computes, for tests of
 * rewrites and of gradients. Included as source by the test programs (each test is one source file). */
#ifndef ZB_TEST_IR_EVALUATE_H
#define ZB_TEST_IR_EVALUATE_H

#include "ir/op.h"

typedef struct zb_array {
  zb_shape shape;
  void *data; /* contiguous; owned by whoever made it */
} zb_array;

/* Runs the ops of `block` before its terminator and copies the values wanted[0..wanted_count-1] out, contiguous
 * (zb_free each data). inputs are the block's arguments. NULL on success, else a text in a static buffer: the op and
 * what is wrong. Ops of class VIEW go through row->view (a copy where it says no), KERNEL ops through
 * zb_kernel_reference; COMPOSITE ops cannot be run. Not thread-safe. */
const char *zb_evaluate(MlirBlock block, const zb_array *inputs, const MlirValue *wanted, int wanted_count,
                        zb_array *out);

/* Element of an array of a float type as double; setting one. */
double zb_array_get(const zb_array *array, int64_t element);
void zb_array_set(zb_array *array, int64_t element, double value);

#endif
