/* cuBLASLt for tests: descriptions are records that can be read, and a product is computed from nothing but them, in
 * double, on the memory of the host. What the library would refuse is refused: wrong sizes of attributes, overlapping
 * columns, types that do not go together, an algorithm that its heuristic did not give for these descriptions. */
#ifndef ZB_TEST_KERNELS_CUDA_BLAS_H
#define ZB_TEST_KERNELS_CUDA_BLAS_H

#include "kernels/cuda/launcher.h"

/* Puts its functions into a table. */
void emulated_blas(zb_cuda_api *api);
/* Products computed since the last call of this, and the last one as text: "N 3x4 ld 4 f32 * T ... ". */
int emulated_blas_products(void);
const char *emulated_blas_last(void);
/* The bias that a description names now; NULL: none. The library reads it when a product is enqueued. */
const void *emulated_blas_bias(cublasLtMatmulDesc_t description);
/* Descriptions, layouts, preferences and handles that were made and not destroyed. */
int emulated_blas_alive(void);
/* Descriptions made so far that compute in this type. */
int emulated_blas_described(cublasComputeType_t compute);
/* From now on the heuristic finds nothing. */
void emulated_blas_refuse(bool refuses);
/* The same for gradients of biases alone, which are then called invalid. */
void emulated_blas_refuse_gradients(bool refuses);

#endif
