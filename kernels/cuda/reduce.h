/* The second step of reductions that are split over blocks. Private to kernels/cuda. */
#pragma once

#include "kernels/cuda/common.h"

/* How many parts a reduction of `reduced` positions is cut into, when that takes `blocks` blocks and a part should have
 * `least` positions at least: enough for the largest GPUs, depending on shapes alone, and no more than partial results
 * of `bytes` each fit in the scratch. *part gets the positions of one. */
int64_t zb_cuda_splits(int64_t blocks, int64_t reduced, int64_t least, int64_t bytes, int64_t *part);
/* out[i] (+)= the combination of partial[split][i] over the splits, in order; `column` is a kernel for columns of
 * `dtype`, f32 or i64. */
zb_status zb_cuda_combine(zb_cuda_launcher *on, zb_cuda_function column, zb_dtype dtype, const void *partial,
                          int64_t splits, int64_t kept, const zb_tensor *out, double count,
                          bool accumulate) ZB_MUST_USE;
