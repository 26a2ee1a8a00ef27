/* Times of single instructions on a GPU: events around the launches of one run a step of each subprogram.
 *
 * The run is the second of a step, as the first finds cold caches, or the only one. It is launched kernel by kernel,
 * not as a graph: the same kernels, the same bits. A launch that does several instructions (an optimizer) shares its
 * time among them by their elements. There are as many events as instructions, made once, so a step with times
 * allocates nothing either. Tests: test/runtime/device/cuda/step_test.c.
 */
#include "runtime/base/clock.h"
#include "runtime/device/cuda/cuda.h"

void zb_cuda_op_clock_deinit(zb_device *device, zb_cuda_op_clock *clock) {
  if (clock->subprogram) zb_cuda_events_destroy(device->gpu, clock->events, clock->subprogram->instruction_count + 1);
  zb_arena_deinit(&clock->memory);
  *clock = (zb_cuda_op_clock){0};
}

static int runs_a_step(const zb_device *device, const zb_plan_subprogram *subprogram) {
  const zb_plan_rank *rank = &device->params.plan->ranks[device->params.rank];
  int runs = 0;
  for (int i = rank->load_count; i < rank->job_count; ++i)
    runs += rank->jobs[i].subprogram >= 0 && &rank->subprograms[rank->jobs[i].subprogram] == subprogram;
  return runs;
}

zb_status zb_cuda_op_clock_init(zb_device *device, const zb_plan_subprogram *subprogram, zb_cuda_op_clock *out) {
  size_t count = (size_t)subprogram->instruction_count;
  *out = (zb_cuda_op_clock){.subprogram = subprogram, .timed_run = runs_a_step(device, subprogram) > 1};
  out->times = ZB_NEW(&out->memory, zb_op_time, count);
  out->numbers = ZB_NEW(&out->memory, int, count);
  ZB_TRY(zb_arena_status(&out->memory));
  return zb_cuda_events_create(device->gpu, (int)count + 1, CU_EVENT_DEFAULT, &out->events);
}

bool zb_cuda_op_clock_wants(zb_device *device, zb_cuda_op_clock *clock) {
  if (!clock->times) return false;
  if (clock->step != device->run) clock->runs = 0;
  clock->step = device->run;
  bool wanted = device->time_ops && clock->runs++ == clock->timed_run;
  if (wanted) clock->launches = 0;
  return wanted;
}

zb_status zb_cuda_op_clock_mark(zb_device *device, zb_cuda_op_clock *clock, int instruction) {
  if (instruction < 0)
    clock->running = true;
  else
    clock->numbers[clock->launches++] = instruction;
  int event = instruction < 0 ? clock->launches : clock->launches - 1;
  return ZB_CU(&device->gpu->api, cuEventRecord, clock->events[event], device->compute);
}

static double elements_of(const zb_plan_subprogram *subprogram, int instruction) {
  const zb_plan_operand *result = &subprogram->instructions[instruction].outputs[0];
  double elements = 1;
  for (int i = 0; i < result->rank; ++i)
    elements *= (double)result->shape[i];
  return elements;
}

/* The time of one launch, to its instructions. */
static void share(zb_cuda_op_clock *clock, int first, int end, double ps) {
  double all = 0;
  for (int i = first; i < end; ++i)
    all += elements_of(clock->subprogram, i);
  for (int i = first; i < end; ++i) {
    double part = all > 0 ? elements_of(clock->subprogram, i) / all : 1.0 / (end - first);
    clock->times[i].ps += (int64_t)(ps * part + 0.5);
    clock->times[i].runs += 1;
  }
}

void zb_cuda_op_clock_settle(const zb_device *device, zb_cuda_op_clock *clock) {
  if (!clock->running) return;
  clock->running = false;
  for (int i = 0; i < clock->launches; ++i) {
    float milliseconds = 0;
    int end = i + 1 < clock->launches ? clock->numbers[i + 1] : clock->subprogram->instruction_count;
    if (device->gpu->api.cuEventElapsedTime(&milliseconds, clock->events[i], clock->events[i + 1]) != CUDA_SUCCESS)
      continue;
    share(clock, clock->numbers[i], end, (double)milliseconds * (double)ZB_MS_PS);
  }
}
