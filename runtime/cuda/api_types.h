/* The types of the CUDA driver API, cuBLASLt and NCCL that api.def names, under the names that NVIDIA's manuals give
 * them, so that this folder compiles where CUDA is not installed: facts of their binary interface. A file includes this
 * or the real headers; only test/runtime/device/cuda/headers_test.c sees both (ZB_CUDA_REAL_HEADERS), and compares.
 * Sources: cuda.h and cublasLt.h of CUDA 13.0, nccl.h of NCCL 2.28.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifndef ZB_CUDA_REAL_HEADERS
#define ZB_CUDA_TYPE(name, definition) typedef definition name;
#include "runtime/cuda/api_types.def"
#undef ZB_CUDA_TYPE

enum {
#define ZB_CUDA_VALUE(name, value) name = value,
#include "runtime/cuda/api_values.def"
#undef ZB_CUDA_VALUE
};

typedef struct zb_blas_algorithm cublasLtMatmulAlgo_t;
typedef struct zb_blas_heuristic cublasLtMatmulHeuristicResult_t;
typedef struct zb_nccl_id ncclUniqueId;
typedef struct zb_nccl_config ncclConfig_t;
#endif

struct zb_blas_algorithm {
  uint64_t data[8];
};

struct zb_blas_heuristic {
  struct zb_blas_algorithm algo;
  size_t workspaceSize;
  cublasStatus_t state; /* the others mean something only if this is CUBLAS_STATUS_SUCCESS */
  float wavesCount;
  int reserved[4];
};

struct zb_nccl_id {
  char internal[128];
};

/* As of NCCL 2.17. A newer library takes what it does not find here from its defaults: it goes by `size` and `version`.
 */
struct zb_nccl_config {
  size_t size;
  unsigned magic, version;
  int blocking, cgaClusterSize, minCTAs, maxCTAs;
  const char *netName;
  int splitShare;
};
