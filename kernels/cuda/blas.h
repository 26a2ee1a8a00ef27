/* Products by cuBLASLt: handle, descriptions of the products met so far, the algorithm chosen for each.
 *
 * A product is described once, by shapes, strides, types and the alignment of its addresses up to 16 bytes; the
 * heuristic of the library is asked once and its first algorithm is kept, so that every later run of that product, also
 * on another stream, gives the same bits. Split-K is only taken where partial sums are kept apart in f32 and added in
 * order (never in place, never in the type of the result).
 *
 * What the library does not take (strides without a unit, overlapping rows) runs on the own kernel. Not thread-safe:
 * one a rank.
 */
#pragma once

#include "kernels/cuda/launcher.h"

typedef struct zb_cuda_blas_options {
  bool tf32; /* f32 products on tensor cores with 10 bits of fraction; off: as exact as f32 sums are */
} zb_cuda_blas_options;

/* UNAVAILABLE where the library cannot start. options may be NULL. Release with zb_cuda_blas_destroy. */
zb_status zb_cuda_blas_create(const zb_cuda_api *api, const zb_cuda_blas_options *options,
                              zb_cuda_blas **out) ZB_MUST_USE;
void zb_cuda_blas_destroy(zb_cuda_blas *blas);
/* Products described so far; how many of them the library does not take. */
int zb_cuda_blas_products(const zb_cuda_blas *blas, int *out_refused);
