/* Opening libraries that are there, that are not, and that are others than their name says; what errors say. */
#include "runtime/cuda/api.h"
#include "test/suite.h"

#include <string.h>

static void test_missing(void) {
  zb_cuda_api api = {0};
  zb_status status = zb_cuda_api_open_files(&api, ZB_CUDA_DRIVER, "libzb-not-there.so.1 libzb-not-there.so.2");
  CU_ASSERT_EQUAL(zb_status_code(status), ZB_UNAVAILABLE);
  CU_ASSERT_PTR_NOT_NULL(strstr(zb_status_message(status), "libzb-not-there.so.1 cannot be opened"));
  CU_ASSERT_PTR_NOT_NULL(strstr(zb_status_text(status), "hint: install the NVIDIA driver"));
  CU_ASSERT_PTR_NULL(api.handles[ZB_CUDA_DRIVER]);
  zb_status_free(status);
}

/* A library that is there and has other functions: the first missing one is named, and nothing stays half filled. */
static void test_another_library(void) {
  zb_cuda_api api = {0};
  zb_status status = zb_cuda_api_open_files(&api, ZB_CUDA_DRIVER, "libzb-not-there.so libm.so.6");
  CU_ASSERT_EQUAL(zb_status_code(status), ZB_UNAVAILABLE);
  CU_ASSERT_PTR_NOT_NULL(strstr(zb_status_message(status), "has no function cuInit"));
  CU_ASSERT_PTR_NULL(api.handles[ZB_CUDA_DRIVER]);
  CU_ASSERT_PTR_NULL((void *)(uintptr_t)api.cuInit);
  zb_status_free(status);
  zb_cuda_api_close(&api);
}

static CUresult error_name(CUresult error, const char **text) {
  *text = error == CUDA_ERROR_OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY" : NULL;
  return *text ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult error_string(CUresult error, const char **text) {
  *text = error == CUDA_ERROR_OUT_OF_MEMORY ? "out of memory" : NULL;
  return *text ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult no_memory(CUdeviceptr *address, size_t bytes) {
  *address = 0;
  return bytes > 100 ? CUDA_ERROR_OUT_OF_MEMORY : bytes > 10 ? 4711 : CUDA_SUCCESS;
}

static const char *nccl_error(ncclResult_t result) {
  return result == ncclRemoteError ? "remote process exited or there was a network error" : "unknown result code";
}

static void test_errors(void) {
  const zb_cuda_api api = {.cuGetErrorName = error_name,
                           .cuGetErrorString = error_string,
                           .cuMemAlloc = no_memory,
                           .ncclGetErrorString = nccl_error};
  CUdeviceptr address = 0;
  CU_ASSERT_PTR_NULL(ZB_CU(&api, cuMemAlloc, &address, 1));
  zb_status status = ZB_CU(&api, cuMemAlloc, &address, 101);
  CU_ASSERT_EQUAL(zb_status_code(status), ZB_MEMORY);
  CU_ASSERT_STRING_EQUAL(zb_status_message(status), "cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY (2): out of memory");
  CU_ASSERT_PTR_NOT_NULL(strstr(zb_status_hint_text(status), "smaller --memory-limit"));
  zb_status_free(status);
  status = ZB_CU(&api, cuMemAlloc, &address, 11); /* a result that the driver itself does not know */
  CU_ASSERT_EQUAL(zb_status_code(status), ZB_RUNTIME);
  CU_ASSERT_STRING_EQUAL(zb_status_message(status), "cuMemAlloc: error (4711)");
  CU_ASSERT_PTR_NULL(zb_status_hint_text(status));
  zb_status_free(status);
  status = zb_cuda_error(&api, ZB_CUDA_NCCL, ncclRemoteError, "ncclSend");
  CU_ASSERT_EQUAL(zb_status_code(status), ZB_PEER);
  CU_ASSERT_STRING_EQUAL(zb_status_message(status), "ncclSend: remote process exited or there was a network error (6)");
  zb_status_free(status);
}

/* On a machine with a driver its functions are found, all of them; on one without, the reason is told. */
static void test_this_machine(void) {
  zb_cuda_api api = {0};
  for (int library = 0; library < ZB_CUDA_LIBRARY_COUNT; ++library) {
    zb_status status = zb_cuda_api_open(&api, (zb_cuda_library)library);
    CU_ASSERT_EQUAL(status == NULL, api.handles[library] != NULL);
    if (status) CU_ASSERT_EQUAL(zb_status_code(status), ZB_UNAVAILABLE);
    if (status) CU_ASSERT_PTR_NOT_NULL(zb_status_hint_text(status));
    zb_status_free(status);
  }
  zb_cuda_api_close(&api);
  CU_ASSERT_PTR_NULL((void *)(uintptr_t)api.cuInit);
}

SUITE_MAIN("cuda api", {"a library that is not there", test_missing},
           {"another library of that name", test_another_library}, {"errors have names, texts and hints", test_errors},
           {"what this machine has", test_this_machine})
