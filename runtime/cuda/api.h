/* The functions of the CUDA driver (libcuda.so.1), cuBLASLt and NCCL as one structure of pointers, opened at run time.
 *
 * Everything above calls through it and never links a library of CUDA, so one build runs where there is none, and tests
 * put a recording fake in its place (test/runtime/device/cuda/fake.h). Calls are written
 *
 *   ZB_TRY(ZB_CU(api, cuMemAlloc, &address, bytes));
 *
 * and an error gives function, name and text of the result, and a hint (api_hints.def). The structure is filled once
 * and then only read, so threads may share it. Tests: test/runtime/device/cuda.
 */
#pragma once

#include "runtime/cuda/api_types.h"
#include "zb/status.h"

typedef enum zb_cuda_library {
#define ZB_CUDA_LIBRARY(ID, files, hint) ZB_CUDA_##ID,
#include "runtime/cuda/api_libraries.def"
#undef ZB_CUDA_LIBRARY
  ZB_CUDA_LIBRARY_COUNT
} zb_cuda_library;

typedef struct zb_cuda_api {
#define ZB_CUDA_FUNCTION(library, result, name, symbol, arguments) result(*name) arguments;
#include "runtime/cuda/api.def"
#undef ZB_CUDA_FUNCTION
  void *handles[ZB_CUDA_LIBRARY_COUNT]; /* of dlopen; NULL: not open, or a fake */
} zb_cuda_api;

enum {
  ZB_NCCL_CONFIG_MAGIC = (int)0xcafebeefU,
  ZB_NCCL_CONFIG_VERSION = 21700, /* of ncclConfig_t above: major * 10000 + minor * 100 */
};

/* Opens a library and fills its functions; one that is open already is left alone. UNAVAILABLE names the files that
 * were looked for, what the dynamic linker said, and what to install; on failure nothing of it is filled. */
zb_status zb_cuda_api_open(zb_cuda_api *api, zb_cuda_library library) ZB_MUST_USE;
/* The same from the files of a list, with blanks between. For tests. */
zb_status zb_cuda_api_open_files(zb_cuda_api *api, zb_cuda_library library, const char *files) ZB_MUST_USE;
/* Closes what is open, and makes every pointer NULL. */
void zb_cuda_api_close(zb_cuda_api *api);

/* The status of a call that did not succeed: "cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY (2): out of memory". */
zb_status zb_cuda_error(const zb_cuda_api *api, zb_cuda_library library, int result, const char *function) ZB_MUST_USE;

static inline zb_status zb_cuda_check(const zb_cuda_api *api, zb_cuda_library library, int result,
                                      const char *function) {
  return result == 0 ? NULL : zb_cuda_error(api, library, result, function);
}

/* ZB_CU(api, function, arguments...): a call of the driver, of cuBLASLt, of NCCL, as a status. */
#define ZB_CU(api, function, ...) zb_cuda_check((api), ZB_CUDA_DRIVER, (int)(api)->function(__VA_ARGS__), #function)
#define ZB_BLAS(api, function, ...) zb_cuda_check((api), ZB_CUDA_BLAS, (int)(api)->function(__VA_ARGS__), #function)
#define ZB_NCCL(api, function, ...) zb_cuda_check((api), ZB_CUDA_NCCL, (int)(api)->function(__VA_ARGS__), #function)
