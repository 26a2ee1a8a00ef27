/* The table of the CPU kernels: kernels.def, and the choice of the kernel of a call.
 * Tests: test/kernels/fast_table_test.c */
#include "kernels/cpu/kernels.h"

#include <string.h>

static const zb_kernel rows[] = {
#define ZB_KERNEL(op, function, matches) {#op, function, matches},
#include "kernels/cpu/kernels.def"
};

const zb_kernel *zb_kernel_cpu(const char *op, const zb_kernel_call *call) {
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
    if (strcmp(rows[i].op, op) == 0 && rows[i].matches(call)) return &rows[i];
  return zb_kernel_reference(op);
}
