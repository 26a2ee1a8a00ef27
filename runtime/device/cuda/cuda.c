/* The cuda device: a rank's arena and compute stream on a GPU (cuda.h, and zb_device_queue in
 * runtime/device/device.h).
 *
 * Every call of a step enqueues and returns. What the host must know of a step (losses, a fault record) is copied to
 * pinned memory at its place in the stream, and read when the stream is empty. Tests: test/runtime/device/cuda.
 */
#include "runtime/device/cuda/cuda.h"

#include "runtime/base/clock.h"

static CUdeviceptr address(const void *in_arena) { return (CUdeviceptr)(uintptr_t)in_arena; }

void zb_cuda_device_close(zb_device *device) {
  if (!device) return;
  const zb_cuda_api *api = &device->gpu->api;
  int jobs = device->params.plan ? device->params.plan->ranks[device->params.rank].job_count : 0;
  zb_cuda_gpu_quiet(device->gpu);
  if (device->launcher) device->gpu->kernel_set->stop(device->launcher);
  zb_cuda_staging_deinit(device);
  zb_cuda_events_destroy(device->gpu, device->events, device->edges.event_count);
  zb_cuda_events_destroy(device->gpu, device->starts, jobs);
  zb_cuda_events_destroy(device->gpu, device->ends, jobs);
  zb_cuda_edges_deinit(&device->edges);
  if (device->fault_record) api->cuMemFree(device->fault_record);
  if (device->compute) api->cuStreamDestroy(device->compute);
  zb_cuda_gpu_release(device->gpu);
  zb_free(device->instructions);
  zb_free(device);
}

static zb_status make_events(zb_device *device) {
  int jobs = device->params.plan->ranks[device->params.rank].job_count;
  ZB_TRY(zb_cuda_edges_init(device->params.plan, device->params.rank, &device->edges));
  ZB_TRY(zb_cuda_events_create(device->gpu, device->edges.event_count, CU_EVENT_DISABLE_TIMING, &device->events));
  if (!device->params.trace) return NULL;
  ZB_TRY(zb_cuda_events_create(device->gpu, jobs, CU_EVENT_DEFAULT, &device->starts));
  return zb_cuda_events_create(device->gpu, jobs, CU_EVENT_DEFAULT, &device->ends);
}

static zb_status open_rank(zb_device *device, const zb_cuda_setup *setup) {
  if (device->params.beside)
    device->gpu = zb_cuda_gpu_share(device->params.beside->gpu);
  else
    ZB_TRY(zb_cuda_gpu_open(setup, device->params.trace, &device->gpu));
  const zb_cuda_api *api = &device->gpu->api;
  const zb_cuda_kernel_set *kernels = device->gpu->kernel_set;
  device->gpu->busy = true;
  ZB_TRY(ZB_CU(api, cuCtxSetCurrent, device->gpu->context));
  ZB_TRY(ZB_CU(api, cuStreamCreateWithPriority, &device->compute, CU_STREAM_NON_BLOCKING, device->gpu->priority_least));
  if (kernels->fault_bytes > 0) {
    ZB_TRY(ZB_CU(api, cuMemAlloc, &device->fault_record, kernels->fault_bytes));
    ZB_TRY(ZB_CU(api, cuMemsetD8Async, device->fault_record, 0, kernels->fault_bytes, device->compute));
  }
  ZB_TRY(make_events(device));
  ZB_TRY(zb_cuda_staging_init(device));
  const zb_cuda_kernel_options options = {.tf32 = device->params.tf32};
  return kernels->start(device->gpu->kernels, &options, device->compute, device->fault_record, &device->launcher);
}

zb_status zb_cuda_open(const zb_device_params *params, const zb_cuda_setup *setup, zb_device **out) {
  *out = NULL;
  zb_device *device = zb_alloc(sizeof *device);
  if (!device) return ZB_OUT_OF_MEMORY();
  device->params = *params;
  zb_status status = open_rank(device, setup);
  if (!status) {
    *out = device;
    return NULL;
  }
  if (device->gpu)
    zb_cuda_device_close(device);
  else
    zb_free(device);
  return zb_status_note(status, "opening the GPU for rank %d", params->rank);
}

zb_status zb_cuda_device_alloc(zb_device *device, uint64_t bytes, void **out_arena) {
  const zb_cuda_api *api = &device->gpu->api;
  CUdeviceptr arena = 0;
  size_t free_bytes = 0, total_bytes = 0;
  *out_arena = NULL;
  zb_status status = ZB_CU(api, cuMemAlloc, &arena, bytes > 0 ? bytes : ZB_ALIGNMENT);
  if (status) {
    if (api->cuMemGetInfo(&free_bytes, &total_bytes) != CUDA_SUCCESS) free_bytes = total_bytes = 0;
    char needed[64], left[64], all[64];
    return zb_status_note(status, "rank %d needs an arena of %s, the GPU has %s free of %s", device->params.rank,
                          zb_bytes_exact_text(bytes, needed), zb_bytes_exact_text(free_bytes, left),
                          zb_bytes_exact_text(total_bytes, all));
  }
  if (bytes > 0) status = ZB_CU(api, cuMemsetD8Async, arena, 0, bytes, device->compute);
  if (!status) {
    *out_arena = (void *)(uintptr_t)arena;
    return NULL;
  }
  zb_cuda_gpu_quiet(device->gpu);
  api->cuMemFree(arena);
  return status;
}

void zb_cuda_device_release(zb_device *device, void *arena) {
  zb_cuda_gpu_quiet(device->gpu);
  device->gpu->api.cuMemFree(address(arena));
}

zb_status zb_cuda_device_download(zb_device *device, void *to_host, const void *from_arena, uint64_t bytes) {
  const zb_cuda_api *api = &device->gpu->api;
  if (bytes == 0) return NULL;
  ZB_TRY(ZB_CU(api, cuCtxSetCurrent, device->gpu->context));
  ZB_TRY(ZB_CU(api, cuMemcpyDtoHAsync, to_host, address(from_arena), bytes, device->compute));
  return ZB_CU(api, cuStreamSynchronize, device->compute);
}

zb_status zb_cuda_device_zero(zb_device *device, void *in_arena, uint64_t bytes) {
  return bytes > 0 ? ZB_CU(&device->gpu->api, cuMemsetD8Async, address(in_arena), 0, bytes, device->compute) : NULL;
}

/* The first rank of the process sets the clock of a step: the GPU is idle then, so its event happens at once. */
static zb_status set_clock(zb_device *device) {
  if (!device->params.trace || device->params.beside) return NULL;
  device->gpu->base_ps = zb_monotonic_ps();
  return ZB_CU(&device->gpu->api, cuEventRecord, device->gpu->base, device->compute);
}

static zb_status before_job(zb_device *device, int job) {
  device->gpu->busy = true;
  if (job < 0) {
    device->progress = 0;
    ++device->run;
    ZB_TRY(ZB_CU(&device->gpu->api, cuCtxSetCurrent, device->gpu->context));
    return set_clock(device);
  }
  return device->starts ? ZB_CU(&device->gpu->api, cuEventRecord, device->starts[job], device->compute) : NULL;
}

static zb_status after_job(zb_device *device, int job) {
  int event = device->edges.event[job + 1];
  if (job >= 0 && device->ends) ZB_TRY(ZB_CU(&device->gpu->api, cuEventRecord, device->ends[job], device->compute));
  return event >= 0 ? ZB_CU(&device->gpu->api, cuEventRecord, device->events[event], device->compute) : NULL;
}

/* A kernel found a value that it cannot take: that is wrong input, not a failure of the machine. */
static zb_status take_fault(zb_device *device) {
  const zb_cuda_kernel_set *kernels = device->gpu->kernel_set;
  int instruction = 0;
  const char *what = NULL;
  char text[512] = "an instruction";
  device->fault.set = false;
  if (kernels->fault_bytes == 0 || !kernels->fault(device->staging.fault, &instruction, &device->fault, &what))
    return NULL;
  if (instruction >= 0 && (size_t)instruction < device->instruction_count)
    zb_call_text(device->instructions[instruction], text, sizeof text);
  device->fault.set = true;
  zb_status status =
      ZB_ERROR(INVALID, "%s: %s: got %lld, expected %lld to %lld", text, what, (long long)device->fault.value,
               (long long)device->fault.least, (long long)device->fault.most);
  zb_status cleared =
      ZB_CU(&device->gpu->api, cuMemsetD8Async, device->fault_record, 0, kernels->fault_bytes, device->compute);
  zb_status_free(cleared); /* the run ends anyway */
  return status;
}

static zb_status poll(zb_device *device, bool *out_done, uint64_t *out_progress) {
  const zb_cuda_api *api = &device->gpu->api;
  size_t fault_bytes = device->gpu->kernel_set->fault_bytes;
  if (!device->ending && fault_bytes > 0)
    ZB_TRY(ZB_CU(api, cuMemcpyDtoHAsync, device->staging.fault, device->fault_record, fault_bytes, device->compute));
  device->ending = true;
  uint64_t events = (uint64_t)device->edges.event_count;
  while (device->progress < events && api->cuEventQuery(device->events[device->progress]) == CUDA_SUCCESS)
    ++device->progress;
  *out_progress = device->progress;
  CUresult result = api->cuStreamQuery(device->compute);
  *out_done = result == CUDA_SUCCESS;
  if (result == CUDA_ERROR_NOT_READY) return NULL;
  device->ending = false;
  ZB_TRY(zb_cuda_check(api, ZB_CUDA_DRIVER, result, "cuStreamQuery"));
  zb_cuda_staging_settle(device);
  return take_fault(device);
}

const zb_kernel_fault *zb_cuda_device_fault(const zb_device *device) {
  return device->fault.set ? &device->fault : NULL;
}

static bool job_times(const zb_device *device, int job, int64_t *out_start_ps, int64_t *out_end_ps) {
  if (!device->starts) return false;
  *out_start_ps = zb_cuda_event_ps(device->gpu, device->starts[job]);
  *out_end_ps = zb_cuda_event_ps(device->gpu, device->ends[job]);
  return true;
}

const zb_device_queue zb_cuda_device_queue = {
    .bind = zb_cuda_device_bind,
    .stage = zb_cuda_device_stage,
    .fetch = zb_cuda_device_fetch,
    .before_job = before_job,
    .after_job = after_job,
    .poll = poll,
    .job_times = job_times,
};

void zb_cuda_device_time_ops(zb_device *device, bool on) { device->time_ops = on && device->params.op_times; }

void zb_cuda_device_profile(const zb_device *device ZB_UNUSED, zb_device_profile *out) {
  *out = (zb_device_profile){0};
}

const char *zb_cuda_device_instruction_set(void) { return "cuda"; }

zb_status zb_cuda_wait_for_home(const zb_device *device, int job, CUstream channel, const CUevent *done) {
  const zb_cuda_api *api = &device->gpu->api;
  const zb_cuda_edges *edges = &device->edges;
  const zb_plan_slice *messages = &edges->messages[job];
  if (edges->after[job] >= 0) ZB_TRY(ZB_CU(api, cuStreamWaitEvent, channel, device->events[edges->after[job]], 0));
  for (uint32_t i = 0; i < messages->count; ++i)
    ZB_TRY(ZB_CU(api, cuStreamWaitEvent, channel, done[edges->pool[messages->begin + i]], 0));
  return NULL;
}

int *zb_cuda_message_jobs(const zb_plan *plan, zb_arena *memory) {
  size_t count = 2 * (size_t)plan->message_count;
  int *jobs = ZB_NEW(memory, int, count);
  if (!jobs) return NULL;
  for (size_t i = 0; i < count; ++i)
    jobs[i] = -1;
  for (int rank = 0; rank < plan->rank_count; ++rank) {
    for (int i = 0; i < plan->ranks[rank].job_count; ++i) {
      const zb_plan_job *job = &plan->ranks[rank].jobs[i];
      if (job->message >= 0) jobs[2 * (size_t)job->message + (zb_job_flow(job->kind) == ZB_PARTS_IN)] = i;
    }
  }
  return jobs;
}
