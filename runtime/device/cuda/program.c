/* Subprograms on a GPU: kernels chosen once, jobs captured as graphs once (cuda.h).
 *
 * A plan gives every job fixed addresses, so a job is one of few (subprogram, bases) and each becomes a graph that is
 * launched by one call. Beyond GRAPHS_MOST of a subprogram (memory of the driver), and for single instructions, the
 * kernels are launched one by one: the same ones, in the same order, with the same bits. Tests:
 * test/runtime/device/cuda.
 */
#include "runtime/device/cuda/cuda.h"

#include "runtime/base/digest.h"
#include "runtime/base/memory.h"

#include <string.h>

enum { GRAPHS_MOST = 512, TABLE_SIZE = 2 * GRAPHS_MOST };

struct zb_device_program {
  const zb_plan_subprogram *subprogram;
  zb_calls calls;
  void *chosen; /* kernels of the calls, of the kernel set */
  zb_device *device;
  zb_cuda_op_clock clock; /* if params.op_times */
  int first_instruction;  /* number of call 0 in fault records */
  CUgraphExec *graphs;
  uint64_t *keys; /* [graph * base_count] bases */
  size_t graph_count, graph_capacity, key_capacity;
  int *table; /* [TABLE_SIZE] by the hash of the bases: graph + 1; 0: empty */
};

void zb_cuda_device_release_program(zb_device *device, zb_device_program *program) {
  if (!program) return;
  zb_cuda_gpu_quiet(device->gpu);
  for (size_t i = 0; i < program->graph_count; ++i)
    device->gpu->api.cuGraphExecDestroy(program->graphs[i]);
  if (program->chosen) device->gpu->kernel_set->release(program->chosen);
  zb_cuda_op_clock_deinit(device, &program->clock);
  zb_calls_deinit(&program->calls);
  zb_free(program->graphs);
  zb_free(program->keys);
  zb_free(program->table);
  zb_free(program);
}

static zb_status prepare(zb_device *device, zb_device_program *program) {
  const zb_plan_subprogram *subprogram = program->subprogram;
  size_t count = (size_t)subprogram->instruction_count;
  ZB_TRY(zb_calls_init(subprogram, &program->calls));
  program->table = zb_alloc(sizeof(int) * TABLE_SIZE);
  if (!program->table) return ZB_OUT_OF_MEMORY();
  if (!zb_grow((void **)&device->instructions, &device->instruction_capacity, device->instruction_count + count,
               sizeof *device->instructions))
    return ZB_OUT_OF_MEMORY();
  if (device->params.op_times) ZB_TRY(zb_cuda_op_clock_init(device, subprogram, &program->clock));
  program->first_instruction = (int)device->instruction_count;
  for (size_t i = 0; i < count; ++i)
    device->instructions[device->instruction_count++] = &subprogram->instructions[i];
  return device->gpu->kernel_set->prepare(device->launcher, &program->calls, &program->chosen);
}

zb_status zb_cuda_device_prepare(zb_device *device, const zb_plan_subprogram *subprogram, zb_device_program **out) {
  *out = NULL;
  zb_device_program *program = zb_alloc(sizeof *program);
  if (!program) return ZB_OUT_OF_MEMORY();
  program->subprogram = subprogram;
  program->device = device;
  zb_status status = prepare(device, program);
  if (!status) {
    *out = program;
    return NULL;
  }
  zb_cuda_device_release_program(device, program);
  return zb_status_note(status, "preparing subprogram %s of rank %d", subprogram->name, device->params.rank);
}

static void place_all(zb_device_program *program, unsigned char *arena, const uint64_t *bases) {
  for (int i = 0; i < program->calls.count; ++i)
    zb_call_place_at(&program->calls.items[i], arena, bases);
}

/* failed: a call, or none. */
static zb_status name_call(const zb_device_program *program, int failed, zb_status status) {
  char text[512];
  if (!status || failed < 0 || failed >= program->calls.count) return status;
  return zb_status_note(status, "%s", zb_call_text(program->calls.items[failed].instruction, text, sizeof text));
}

/* Enqueues the instructions one by one, or into a capture. watch: may be NULL. */
static zb_status run_all(zb_device *device, zb_device_program *program, unsigned char *arena, const uint64_t *bases,
                         const zb_cuda_watch *watch) {
  int failed = -1;
  place_all(program, arena, bases);
  zb_status status =
      device->gpu->kernel_set->run(device->launcher, program->chosen, program->first_instruction, watch, &failed);
  return name_call(program, failed, status);
}

/* Before a capture, in which cuBLAS must not be asked for algorithms (its heuristic fails while a stream captures, seen
 * with CUDA 13.3: issue 1732 of mudler/vllm.cpp), and before a step, which allocates nothing. */
static zb_status settle(zb_device *device, zb_device_program *program, unsigned char *arena, const uint64_t *bases) {
  int failed = -1;
  if (!device->gpu->kernel_set->settle) return NULL;
  place_all(program, arena, bases);
  return name_call(program, failed, device->gpu->kernel_set->settle(device->launcher, program->chosen, &failed));
}

static size_t key_bytes(const zb_device_program *program) {
  return sizeof(uint64_t) * (size_t)program->subprogram->base_count;
}

/* The place of these bases in the table: of their graph, or the empty one where it would be. */
static int *find(const zb_device_program *program, const uint64_t *bases) {
  size_t bytes = key_bytes(program), base_count = (size_t)program->subprogram->base_count;
  for (uint64_t i = zb_fnv1a(ZB_FNV_START, bases, bytes);; ++i) {
    int *place = &program->table[i % TABLE_SIZE];
    if (*place == 0 || bytes == 0 || memcmp(&program->keys[(size_t)(*place - 1) * base_count], bases, bytes) == 0)
      return place;
  }
}

/* Relaxed, as what the kernels' code needs when it is used first (lazy loading, in cuBLAS too) may be among the calls
 * that the other modes forbid. One thread enqueues, and nothing but this capture. */
static zb_status capture(zb_device *device, zb_device_program *program, unsigned char *arena, const uint64_t *bases,
                         CUgraphExec *out) {
  const zb_cuda_api *api = &device->gpu->api;
  CUgraph graph = NULL;
  ZB_TRY(ZB_CU(api, cuStreamBeginCapture, device->compute, CU_STREAM_CAPTURE_MODE_RELAXED));
  zb_status status = run_all(device, program, arena, bases, NULL);
  zb_status ended = ZB_CU(api, cuStreamEndCapture, device->compute, &graph);
  if (status)
    zb_status_free(ended); /* a capture that a failure spoiled ends with an error of its own */
  else
    status = ended;
  if (!status) status = ZB_CU(api, cuGraphInstantiate, out, graph, 0);
  if (graph) api->cuGraphDestroy(graph);
  if (!status) status = ZB_CU(api, cuGraphUpload, *out, device->compute);
  return status ? zb_status_note(status, "capturing subprogram %s of rank %d", program->subprogram->name,
                                 device->params.rank)
                : NULL;
}

zb_status zb_cuda_device_bind(zb_device *device, zb_device_program *program, void *arena, const uint64_t *bases) {
  size_t base_count = (size_t)program->subprogram->base_count, count = program->graph_count;
  int *place = find(program, bases);
  if (*place) return NULL;
  ZB_TRY(settle(device, program, arena, bases));
  if (program->calls.count < 2 || count >= GRAPHS_MOST) return NULL;
  if (!zb_grow((void **)&program->graphs, &program->graph_capacity, count + 1, sizeof(CUgraphExec)) ||
      !zb_grow((void **)&program->keys, &program->key_capacity, (count + 1) * base_count + 1, sizeof(uint64_t)))
    return ZB_OUT_OF_MEMORY();
  ZB_TRY(capture(device, program, arena, bases, &program->graphs[count]));
  memcpy(&program->keys[count * base_count], bases, key_bytes(program));
  program->graph_count = count + 1;
  *place = (int)program->graph_count;
  return NULL;
}

static zb_status mark(void *context, int number) {
  zb_device_program *program = context;
  return zb_cuda_op_clock_mark(program->device, &program->clock, number);
}

static zb_status run_timed(zb_device *device, zb_device_program *program, unsigned char *arena, const uint64_t *bases) {
  const zb_cuda_watch watch = {mark, program};
  ZB_TRY(run_all(device, program, arena, bases, &watch));
  return mark(program, -1);
}

zb_op_time *zb_cuda_device_op_times(zb_device_program *program) {
  zb_cuda_op_clock_settle(program->device, &program->clock);
  return program->clock.times;
}

zb_status zb_cuda_device_launch(zb_device *device, zb_device_program *program, void *arena, const uint64_t *bases) {
  int *place = program->graph_count > 0 ? find(program, bases) : NULL;
  if (zb_cuda_op_clock_wants(device, &program->clock)) return run_timed(device, program, arena, bases);
  if (!place || !*place) return run_all(device, program, arena, bases, NULL);
  return ZB_CU(&device->gpu->api, cuGraphLaunch, program->graphs[*place - 1], device->compute);
}
