/* The CPU kernels and their conditions, declared from kernels.def. Private to kernels/cpu. */
#pragma once

#include "kernels/cpu/common.h"

/* Same contract as zb_kernel_run: operands as in zb/ops.def, NULL or a static text. Thread-safe. */
#define ZB_KERNEL(op, function, matches, ...) const char *function(const zb_kernel_call *call);
#include "kernels/cpu/kernels.def"

/* Whether the kernel can run the call: element types, strides, attributes; data may be NULL. Several kernels may share
 * one. */
#define ZB_KERNEL(op, function, matches, ...) bool matches(const zb_kernel_call *call);
#include "kernels/cpu/kernels.def"
