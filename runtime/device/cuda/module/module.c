/* The module zb-cuda.so: the cuda device with the libraries of this machine and the kernels of this build. Tests: what is here runs on a GPU
 * only (test/gpu); all below it is tested on a fake (test/runtime/device/cuda) and an emulation (test/kernels/cuda). */
#include "kernels/cuda/blas.h"
#include "runtime/base/module.h"
#include "runtime/base/module_id.h"
#include "runtime/device/cuda/cuda.h"
#include "runtime/transport/nccl/nccl.h"

#include <stdio.h>
#include <string.h>

/* ---- The kernels of kernels/cuda as a kernel set ---- */

typedef struct loaded {
  const zb_cuda_api *api;
  zb_cuda_code *code;
  int processors;
} loaded;

typedef struct started {
  zb_cuda_launcher launcher;
  zb_cuda_blas *blas;
} started;

typedef struct chosen {
  int count;
  zb_cuda_item items[];
} chosen;

static void unload(void *kernels) {
  loaded *it = kernels;
  zb_cuda_code_unload(it->api, it->code);
  zb_free(it);
}

static zb_status load_kernels(const zb_cuda_api *api, CUdevice device, void **out) {
  loaded *it = zb_alloc(sizeof *it);
  if (!it) return ZB_OUT_OF_MEMORY();
  it->api = api;
  zb_status status = zb_cuda_code_load(api, device, &it->code);
  if (!status) status = ZB_CU(api, cuDeviceGetAttribute, &it->processors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device);
  if (status)
    unload(it);
  else
    *out = it;
  return status;
}

static void stop(void *launcher) {
  started *it = launcher;
  zb_cuda_blas_destroy(it->blas);
  if (it->launcher.workspace) (void)it->launcher.api->cuMemFree(it->launcher.workspace); /* at the end; there is nobody to tell */
  zb_free(it);
}

static zb_status start(void *kernels, CUstream stream, CUdeviceptr fault, void **out) {
  const loaded *on = kernels;
  started *it = zb_alloc(sizeof *it);
  if (!it) return ZB_OUT_OF_MEMORY();
  *out = it;
  ZB_TRY(zb_cuda_blas_create(on->api, NULL, &it->blas));
  it->launcher = (zb_cuda_launcher){.api = on->api,
                                    .stream = stream,
                                    .code = on->code,
                                    .blas = it->blas,
                                    .fault = (zb_cuda_fault_record *)(uintptr_t)fault,
                                    .processors = on->processors};
  return zb_status_note(ZB_CU(on->api, cuMemAlloc, &it->launcher.workspace, ZB_CUDA_WORKSPACE_BYTES),
                        "a workspace of %d bytes for the kernels of a rank", ZB_CUDA_WORKSPACE_BYTES);
}

static void release(void *program) {
  zb_free(program);
}

static zb_status prepare(void *launcher, const zb_calls *calls, void **out) {
  (void)launcher;
  chosen *it = zb_alloc(sizeof *it + sizeof(zb_cuda_item) * ((size_t)calls->count + 1));
  if (!it) return ZB_OUT_OF_MEMORY();
  *out = it;
  it->count = calls->count;
  for (int i = 0; i < calls->count; ++i) {
    const zb_call *call = &calls->items[i];
    it->items[i].call = &call->call;
    ZB_TRY(zb_cuda_kernel_find(call->instruction->op, &call->call, call->instruction->location, &it->items[i].kernel));
  }
  return NULL;
}

static zb_status run(void *launcher, void *program, int first_instruction, int *out_failed) {
  const chosen *it = program;
  return zb_cuda_run_items(it->items, it->count, &((started *)launcher)->launcher, first_instruction, out_failed);
}

static bool fault(const void *record, int *out_instruction, zb_kernel_fault *out, const char **out_text) {
  zb_cuda_fault_record it;
  memcpy(&it, record, sizeof it);
  if (!it.set) return false;
  *out_instruction = it.instruction;
  *out = (zb_kernel_fault){true, it.value, it.least, it.most};
  *out_text = zb_cuda_fault_text(&it);
  return true;
}

static const zb_cuda_kernel_set kernel_set = {
    .fault_bytes = sizeof(zb_cuda_fault_record),
    .open = load_kernels,
    .close = unload,
    .start = start,
    .stop = stop,
    .prepare = prepare,
    .release = release,
    .run = run,
    .fault = fault,
};

/* ---- The device of this machine ---- */

static zb_status load_libraries(zb_cuda_api *out) {
  ZB_TRY(zb_cuda_api_open(out, ZB_CUDA_DRIVER));
  return zb_cuda_api_open(out, ZB_CUDA_BLAS);
}

static zb_status open_here(const zb_device_params *params, zb_device **out) {
  const zb_cuda_setup setup = {.load = load_libraries, .kernels = &kernel_set, .ordinal = params->local_process};
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
  snprintf(text, size, "%d x %s, %.1f GiB, driver for CUDA %d.%d", count, name, (double)bytes / (1 << 30), version / 1000, version % 1000 / 10);
  return NULL;
}

/* Whether a rank could be opened here, as far as that is known without taking memory. */
static zb_status probe(char *text, size_t size) {
  zb_cuda_api api = {0};
  zb_status status = load_libraries(&api);
  if (!status) status = describe(&api, text, size);
  if (!status && !zb_cuda_code_present())
    status = zb_status_hint(ZB_ERROR(UNAVAILABLE, "this build has no CUDA kernels: nvcc was not found when it was configured"),
                            "install the CUDA toolkit, and configure and build again");
  zb_cuda_api_close(&api);
  return status;
}

static const zb_device_def cuda_device = {ZB_CUDA_DEVICE,
                                          .transport_between = &zb_transport_nccl,
                                          .summary = "an NVIDIA GPU a process, shared by its ranks",
                                          .probe = probe,
                                          .open = open_here};
static const zb_device_def *const devices[] = {&cuda_device, NULL};

ZB_MODULE_EXPORT = {.abi = ZB_MODULE_ABI, .build_id = ZB_BUILD_ID, .name = "cuda", .devices = devices};
