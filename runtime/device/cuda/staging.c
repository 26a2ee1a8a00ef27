/* Pinned memory of a rank: a ring of buffers that inputs are uploaded from, places that losses and outputs are copied
 * to (cuda.h).
 *
 * The ring has a buffer for every READ of a step, so that the host never waits for one, up to RING_BYTES; beyond, it
 * waits for the copy of the buffer that was used first, which is long over. Tests: test/runtime/device/cuda.
 */
#include "runtime/device/cuda/cuda.h"

#include <string.h>

enum { RING_BYTES = 64 << 20, BUFFERS_LEAST = 2 };

static uint64_t reported_bytes(const zb_plan *plan, const zb_plan_job *job) {
  if (job->output) return (uint64_t)zb_shape_bytes(&plan->outputs[job->output - 1].shape);
  return job->micro_batch < 0 ? sizeof(float) : zb_plan_loss_bytes(plan);
}

/* What the jobs of a step, and of an evaluation, need of it. */
static void measure(const zb_plan *plan, int rank, bool outputs, zb_cuda_staging *s) {
  const zb_plan_rank *program = &plan->ranks[rank];
  uint64_t largest = program->regions[ZB_REGION_STEP].bytes;
  int reads = 1; /* the region step: the number of the step, and settings */
  for (int i = 0; i < program->job_count; ++i) {
    const zb_plan_job *job = &program->jobs[i];
    if (job->kind == ZB_JOB_REPORT && (outputs || !job->output)) {
      ++s->fetched_capacity;
      s->place_bytes += zb_align(reported_bytes(plan, job));
    }
    if (job->kind != ZB_JOB_READ) continue;
    int64_t bytes = zb_shape_bytes(&plan->inputs[job->input].shape);
    if (bytes > 0 && (uint64_t)bytes > largest) largest = (uint64_t)bytes;
    ++reads;
  }
  s->buffer_bytes = zb_align(largest);
  uint64_t most = RING_BYTES / s->buffer_bytes;
  if (most < BUFFERS_LEAST) most = BUFFERS_LEAST;
  s->buffer_count = (uint64_t)reads < most ? reads : (int)most;
}

zb_status zb_cuda_staging_init(zb_device *device) {
  zb_cuda_staging *s = &device->staging;
  measure(device->params.plan, device->params.rank, device->params.outputs, s);
  s->current = -1;
  uint64_t ring = s->buffer_bytes * (uint64_t)s->buffer_count;
  uint64_t bytes = ring + s->place_bytes + zb_align(device->gpu->kernel_set->fault_bytes + 1);
  ZB_TRY(ZB_CU(&device->gpu->api, cuMemHostAlloc, (void **)&s->memory, bytes, CU_MEMHOSTALLOC_PORTABLE));
  memset(s->memory, 0, bytes);
  s->places = s->memory + ring;
  s->fault = s->memory + ring + s->place_bytes;
  s->busy = ZB_NEW(&s->arena, bool, s->buffer_count);
  s->fetched = ZB_NEW(&s->arena, zb_cuda_fetched, s->fetched_capacity);
  ZB_TRY(zb_arena_status(&s->arena));
  return zb_cuda_events_create(device->gpu, s->buffer_count, CU_EVENT_DISABLE_TIMING, &s->events);
}

void zb_cuda_staging_deinit(zb_device *device) {
  zb_cuda_staging *s = &device->staging;
  zb_cuda_events_destroy(device->gpu, s->events, s->buffer_count);
  if (s->memory) device->gpu->api.cuMemFreeHost(s->memory);
  zb_arena_deinit(&s->arena);
}

zb_status zb_cuda_device_stage(zb_device *device, uint64_t bytes, void **out) {
  zb_cuda_staging *s = &device->staging;
  if (bytes > s->buffer_bytes)
    return ZB_ERROR(RUNTIME, "an input of %llu bytes does not fit its buffer of %llu", (unsigned long long)bytes,
                    (unsigned long long)s->buffer_bytes);
  s->current = s->next;
  s->next = (s->next + 1) % s->buffer_count;
  if (s->busy[s->current]) ZB_TRY(ZB_CU(&device->gpu->api, cuEventSynchronize, s->events[s->current]));
  s->busy[s->current] = false;
  *out = s->memory + s->buffer_bytes * (uint64_t)s->current;
  return NULL;
}

zb_status zb_cuda_device_upload(zb_device *device, void *to_arena, const void *from_host, uint64_t bytes) {
  const zb_cuda_api *api = &device->gpu->api;
  zb_cuda_staging *s = &device->staging;
  if (bytes == 0) return NULL;
  bool staged = s->current >= 0 && from_host == s->memory + s->buffer_bytes * (uint64_t)s->current;
  if (!staged) ZB_TRY(ZB_CU(api, cuCtxSetCurrent, device->gpu->context)); /* between steps, from any thread */
  ZB_TRY(ZB_CU(api, cuMemcpyHtoDAsync, (CUdeviceptr)(uintptr_t)to_arena, from_host, bytes, device->compute));
  if (!staged) return ZB_CU(api, cuStreamSynchronize, device->compute);
  s->busy[s->current] = true;
  return ZB_CU(api, cuEventRecord, s->events[s->current], device->compute);
}

zb_status zb_cuda_device_fetch(zb_device *device, const void *from_arena, void *out, uint64_t bytes) {
  zb_cuda_staging *s = &device->staging;
  if (s->fetched_count >= s->fetched_capacity || zb_align(bytes) > s->place_bytes - s->places_used)
    return ZB_ERROR(RUNTIME, "more is fetched than the REPORT jobs of the plan hand out");
  void *place = s->places + s->places_used;
  s->places_used += zb_align(bytes);
  s->fetched[s->fetched_count++] = (zb_cuda_fetched){place, out, bytes};
  return ZB_CU(&device->gpu->api, cuMemcpyDtoHAsync, place, (CUdeviceptr)(uintptr_t)from_arena, bytes, device->compute);
}

void zb_cuda_staging_settle(zb_device *device) {
  zb_cuda_staging *s = &device->staging;
  for (int i = 0; i < s->fetched_count; ++i)
    memcpy(s->fetched[i].to, s->fetched[i].from, s->fetched[i].bytes);
  s->fetched_count = 0;
  s->places_used = 0;
  memset(s->busy, 0, sizeof(bool) * (size_t)s->buffer_count);
}
