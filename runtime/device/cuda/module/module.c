/* The module zb-cuda.so: the cuda device with the libraries of this machine and the kernels of this build. Tests: what
 * is here runs on a GPU only (test/gpu); all below it is tested on a fake (test/runtime/device/cuda) and an emulation
 * (test/kernels/cuda). */
#include "kernels/cuda/launcher.h"
#include "runtime/base/module.h"
#include "runtime/base/module_id.h"
#include "runtime/device/cuda/module/kernel_set.h"

#include <stdio.h>

/* ---- The device of this machine ---- */

static zb_status load_libraries(zb_cuda_api *out) {
  ZB_TRY(zb_cuda_api_open(out, ZB_CUDA_DRIVER));
  return zb_cuda_api_open(out, ZB_CUDA_BLAS);
}

static zb_status open_here(const zb_device_params *params, zb_device **out) {
  const zb_cuda_setup setup = {.load = load_libraries, .kernels = &zb_cuda_kernels, .ordinal = params->local_process};
  return zb_cuda_open(params, &setup, out);
}

static zb_status describe(const zb_cuda_api *api, char *text, size_t size) {
  int count = 0, version = 0;
  size_t bytes = 0;
  char name[128] = "";
  CUdevice device = 0;
  ZB_TRY(ZB_CU(api, cuInit, 0));
  ZB_TRY(ZB_CU(api, cuDeviceGetCount, &count));
  if (count < 1) return zb_cuda_error(api, ZB_CUDA_DRIVER, CUDA_ERROR_NO_DEVICE, "cuDeviceGetCount");
  ZB_TRY(ZB_CU(api, cuDeviceGet, &device, 0));
  ZB_TRY(ZB_CU(api, cuDeviceGetName, name, (int)sizeof name, device));
  ZB_TRY(ZB_CU(api, cuDeviceTotalMem, &bytes, device));
  ZB_TRY(ZB_CU(api, cuDriverGetVersion, &version));
  size_t blas = api->cublasLtGetVersion(); /* major * 10000 + minor * 100 + patch */
  snprintf(text, size, "%d x %s, %.1f GiB, driver for CUDA %d.%d, cuBLAS %zu.%zu.%zu", count, name,
           (double)bytes / (1 << 30), version / 1000, version % 1000 / 10, blas / 10000, blas / 100 % 100, blas % 100);
  return NULL;
}

/* Whether a rank could be opened here, as far as that is known without taking memory. */
static zb_status probe(char *text, size_t size) {
  zb_cuda_api api = {0};
  zb_status status = load_libraries(&api);
  if (!status) status = describe(&api, text, size);
  if (!status && !zb_cuda_code_present())
    status = zb_status_hint(
        ZB_ERROR(UNAVAILABLE, "this build has no CUDA kernels: nvcc was not found when it was configured"),
        "install the CUDA toolkit, and configure and build again");
  zb_cuda_api_close(&api);
  return status;
}

static const zb_device_def cuda_device = {ZB_CUDA_DEVICE, .transport_between = &zb_transport_nccl,
                                          .summary = "an NVIDIA GPU a process, shared by its ranks", .probe = probe,
                                          .open = open_here};
static const zb_part_def *const parts[] = {&cuda_device.part, NULL};

ZB_MODULE_EXPORT = {.abi = ZB_MODULE_ABI, .build_id = ZB_BUILD_ID, .name = "cuda", .parts = parts};
