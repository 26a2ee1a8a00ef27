/* One GPU of a process: libraries, context, kernels, shared by its ranks (cuda.h). Tests: test/runtime/device/cuda. */
#include "runtime/base/clock.h"
#include "runtime/device/cuda/cuda.h"

#include <stdlib.h>

enum { CAPABILITY_MAJOR = 8, QUEUES = 32 };

/* No more streams than queues, or streams that wait could hold up others: the driver's default is 8, its most 32. It
 * reads this once, when it starts. What the environment says is meant for other programs: some are advised to have one
 * queue only, in which a plan could not go on. */
static void ask_for_queues(void) { setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 1); }

static zb_status check_capability(const zb_cuda_gpu *gpu) {
  int major = 0, minor = 0;
  char name[128] = "";
  ZB_TRY(ZB_CU(&gpu->api, cuDeviceGetName, name, (int)sizeof name, gpu->device));
  ZB_TRY(ZB_CU(&gpu->api, cuDeviceGetAttribute, &major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, gpu->device));
  ZB_TRY(ZB_CU(&gpu->api, cuDeviceGetAttribute, &minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, gpu->device));
  if (major >= CAPABILITY_MAJOR) return NULL;
  return zb_status_hint(ZB_ERROR(UNAVAILABLE, "the GPU %s has compute capability %d.%d: expected %d.0 or higher", name,
                                 major, minor, CAPABILITY_MAJOR),
                        "choose another with CUDA_VISIBLE_DEVICES, or train with --device cpu");
}

static zb_status open_gpu(zb_cuda_gpu *gpu, const zb_cuda_setup *setup, bool trace) {
  int count = 0;
  ZB_TRY(setup->load(&gpu->api));
  const zb_cuda_api *api = &gpu->api;
  ZB_TRY(ZB_CU(api, cuInit, 0));
  ZB_TRY(ZB_CU(api, cuDeviceGetCount, &count));
  if (count < 1) return zb_cuda_error(api, ZB_CUDA_DRIVER, CUDA_ERROR_NO_DEVICE, "cuDeviceGetCount");
  ZB_TRY(ZB_CU(api, cuDeviceGet, &gpu->device, setup->ordinal % count));
  ZB_TRY(check_capability(gpu));
  ZB_TRY(ZB_CU(api, cuDevicePrimaryCtxRetain, &gpu->context, gpu->device));
  ZB_TRY(ZB_CU(api, cuCtxSetCurrent, gpu->context));
  ZB_TRY(ZB_CU(api, cuCtxGetStreamPriorityRange, &gpu->priority_least, &gpu->priority_greatest));
  ZB_TRY(ZB_CU(api, cuDeviceGetAttribute, &gpu->processors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, gpu->device));
  if (trace) ZB_TRY(ZB_CU(api, cuEventCreate, &gpu->base, CU_EVENT_DEFAULT));
  return setup->kernels->open(api, gpu->device, &gpu->kernels);
}

zb_status zb_cuda_gpu_open(const zb_cuda_setup *setup, bool trace, zb_cuda_gpu **out) {
  *out = NULL;
  zb_cuda_gpu *gpu = zb_alloc(sizeof *gpu);
  if (!gpu) return ZB_OUT_OF_MEMORY();
  gpu->references = 1;
  gpu->kernel_set = setup->kernels;
  gpu->queues = setup->queues > 0 ? setup->queues : QUEUES;
  ask_for_queues();
  zb_status status = open_gpu(gpu, setup, trace);
  if (status)
    zb_cuda_gpu_release(gpu);
  else
    *out = gpu;
  return status;
}

zb_cuda_gpu *zb_cuda_gpu_share(zb_cuda_gpu *gpu) {
  ++gpu->references;
  return gpu;
}

void zb_cuda_gpu_release(zb_cuda_gpu *gpu) {
  if (!gpu || --gpu->references > 0) return;
  const zb_cuda_api *api = &gpu->api;
  if (gpu->kernels) gpu->kernel_set->close(gpu->kernels);
  if (gpu->base) api->cuEventDestroy(gpu->base);
  if (gpu->context) api->cuDevicePrimaryCtxRelease(gpu->device);
  zb_cuda_api_close(&gpu->api);
  zb_free(gpu);
}

void zb_cuda_gpu_quiet(zb_cuda_gpu *gpu) {
  if (gpu->context)
    gpu->api.cuCtxSetCurrent(gpu->context); /* what comes next may be on a thread that has not seen it */
  if (!gpu->busy) return;
  gpu->api.cuCtxSynchronize();
  gpu->busy = false;
}

int64_t zb_cuda_event_ps(const zb_cuda_gpu *gpu, CUevent event) {
  float milliseconds = 0;
  if (gpu->api.cuEventElapsedTime(&milliseconds, gpu->base, event) != CUDA_SUCCESS) return gpu->base_ps;
  return gpu->base_ps + (int64_t)((double)milliseconds * (double)ZB_MS_PS);
}

zb_status zb_cuda_events_create(const zb_cuda_gpu *gpu, int count, unsigned flags, CUevent **out) {
  *out = zb_alloc(sizeof(CUevent) * ((size_t)count + 1));
  if (!*out) return ZB_OUT_OF_MEMORY();
  for (int i = 0; i < count; ++i)
    ZB_TRY(ZB_CU(&gpu->api, cuEventCreate, &(*out)[i], flags));
  return NULL;
}

void zb_cuda_events_destroy(const zb_cuda_gpu *gpu, CUevent *events, int count) {
  for (int i = 0; events && i < count; ++i)
    if (events[i]) gpu->api.cuEventDestroy(events[i]);
  zb_free(events);
}
