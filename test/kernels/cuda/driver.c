/* The emulated driver: see driver.h. */
#include "test/kernels/cuda/driver.h"

#include <stdio.h>
#include <string.h>

static zb_cuda_api api;
static const char *last_error = "";

static CUresult error_name(CUresult error, const char **text) {
  *text = error == CUDA_ERROR_LAUNCH_FAILED ? "CUDA_ERROR_LAUNCH_FAILED" : "an error of the emulation";
  return CUDA_SUCCESS;
}

static CUresult error_string(CUresult error, const char **text) {
  (void)error;
  *text = last_error;
  return CUDA_SUCCESS;
}

static CUresult launch_kernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                              unsigned block_y, unsigned block_z, unsigned shared_bytes, CUstream stream,
                              void **parameters, void **extra) {
  (void)stream;
  const char *error = block_y != 1 || block_z != 1 || extra
                          ? "the emulation has blocks of one dimension only"
                          : zb_emulated_launch((const zb_emulated_kernel *)(const void *)function, grid_x, grid_y,
                                               grid_z, block_x, shared_bytes, parameters[0]);
  if (!error) return CUDA_SUCCESS;
  last_error = error;
  return CUDA_ERROR_LAUNCH_FAILED;
}

static CUresult set_bytes(CUdeviceptr at, unsigned char value, size_t count, CUstream stream) {
  (void)stream;
  memset((void *)(uintptr_t)at, value, count);
  return CUDA_SUCCESS;
}

static CUresult allocate(CUdeviceptr *out, size_t bytes) {
  *out = (CUdeviceptr)(uintptr_t)zb_alloc_aligned(bytes, 256);
  return *out ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult release(CUdeviceptr at) {
  zb_free((void *)(uintptr_t)at);
  return CUDA_SUCCESS;
}

static CUresult upload(CUdeviceptr to, const void *from, size_t bytes, CUstream stream) {
  (void)stream;
  memcpy((void *)(uintptr_t)to, from, bytes);
  return CUDA_SUCCESS;
}

static CUresult download(void *to, CUdeviceptr from, size_t bytes, CUstream stream) {
  (void)stream;
  memcpy(to, (const void *)(uintptr_t)from, bytes);
  return CUDA_SUCCESS;
}

static CUresult synchronize(CUstream stream) {
  (void)stream;
  return CUDA_SUCCESS;
}

zb_cuda_api *emulated_api(void) { return &api; }

bool emulated_open(zb_cuda_launcher *out) {
  zb_cuda_code *code = NULL;
  *out = (zb_cuda_launcher){.api = &api};
  api.cuGetErrorName = error_name;
  api.cuGetErrorString = error_string;
  api.cuLaunchKernel = launch_kernel;
  api.cuMemsetD8Async = set_bytes;
  api.cuMemAlloc = allocate;
  api.cuMemFree = release;
  api.cuMemcpyHtoDAsync = upload;
  api.cuMemcpyDtoHAsync = download;
  api.cuStreamSynchronize = synchronize;
  zb_status status = zb_cuda_code_from(emulated_function, &code);
  if (status) {
    fprintf(stderr, "%s", zb_status_text(status));
    zb_status_free(status);
    return false;
  }
  out->code = code;
  out->workspace = (CUdeviceptr)(uintptr_t)zb_alloc_aligned(ZB_CUDA_WORKSPACE_BYTES, 256);
  out->fault = zb_alloc(sizeof *out->fault);
  return out->workspace && out->fault;
}

void emulated_close(zb_cuda_launcher *launcher) {
  union {
    const zb_cuda_code *from;
    zb_cuda_code *to;
  } code = {launcher->code};
  zb_cuda_code_unload(&api, code.to);
  zb_free((void *)(uintptr_t)launcher->workspace);
  zb_free(launcher->fault);
  *launcher = (zb_cuda_launcher){0};
}

zb_cuda_launcher emulated_launcher;

int emulated_suite_open(void) { return emulated_open(&emulated_launcher) ? 0 : 1; }

int emulated_suite_close(void) {
  emulated_close(&emulated_launcher);
  return 0;
}
