/* The kernels of kernels/cuda as the kernel set of the cuda device: see kernel_set.h. */
#include "runtime/device/cuda/module/kernel_set.h"

#include "kernels/cuda/blas.h"

#include <string.h>

/* Once a GPU and process. */
typedef struct loaded {
  const zb_cuda_api *api;
  zb_cuda_code *code;
  int processors;
  bool warpgroups;
} loaded;

static void unload(void *kernels) {
  loaded *it = kernels;
  zb_cuda_code_unload(it->api, it->code);
  zb_free(it);
}

zb_status zb_cuda_kernels_on(const zb_cuda_api *api, zb_cuda_code *code, void **out) {
  *out = NULL;
  loaded *it = zb_alloc(sizeof *it);
  if (!it) {
    zb_cuda_code_unload(api, code);
    return ZB_OUT_OF_MEMORY();
  }
  *it = (loaded){.api = api, .code = code};
  *out = it;
  return NULL;
}

static zb_status load(const zb_cuda_api *api, CUdevice device, void **out) {
  zb_cuda_code *code = NULL;
  int processors = 0, major = 0, minor = 0;
  *out = NULL;
  ZB_TRY(ZB_CU(api, cuDeviceGetAttribute, &processors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device));
  ZB_TRY(ZB_CU(api, cuDeviceGetAttribute, &major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device));
  ZB_TRY(ZB_CU(api, cuDeviceGetAttribute, &minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device));
  ZB_TRY(zb_cuda_code_load(api, device, &code));
  ZB_TRY(zb_cuda_kernels_on(api, code, out));
  ((loaded *)*out)->processors = processors;
  ((loaded *)*out)->warpgroups = major == 9 && minor == 0;
  return NULL;
}

static void stop(void *launcher) {
  zb_cuda_launcher *it = launcher;
  zb_cuda_blas_destroy(it->blas);
  if (it->workspace) (void)it->api->cuMemFree(it->workspace); /* at the end: a failure has no effect */
  zb_free(it);
}

static zb_status start(void *kernels, const zb_cuda_kernel_options *options, CUstream stream, CUdeviceptr fault,
                       void **out) {
  const loaded *on = kernels;
  const zb_cuda_blas_options products = {.tf32 = options->tf32};
  zb_cuda_launcher *it = zb_alloc(sizeof *it);
  if (!it) return ZB_OUT_OF_MEMORY();
  *out = it;
  *it = (zb_cuda_launcher){.api = on->api,
                           .stream = stream,
                           .code = on->code,
                           .fault = (zb_cuda_fault_record *)(uintptr_t)fault,
                           .processors = on->processors,
                           .warpgroups = on->warpgroups};
  ZB_TRY(zb_cuda_blas_create(on->api, &products, &it->blas));
  return zb_status_note(ZB_CU(on->api, cuMemAlloc, &it->workspace, ZB_CUDA_WORKSPACE_BYTES),
                        "a workspace of %d bytes for the kernels of a rank", ZB_CUDA_WORKSPACE_BYTES);
}

static void release(void *program) {
  zb_cuda_chosen *it = program;
  if (!it) return;
  zb_cuda_program_destroy(it->program);
  zb_free(it->places);
  zb_free(it);
}

static void take_places(const zb_plan_operand *operands, int count, zb_cuda_place **next) {
  for (int i = 0; i < count; ++i)
    *(*next)++ = (zb_cuda_place){operands[i].offset, operands[i].base};
}

static zb_status choose(const zb_calls *calls, zb_cuda_chosen *it, zb_cuda_launcher *launcher) {
  size_t operands = 0;
  for (int i = 0; i < calls->count; ++i)
    operands += (size_t)(calls->items[i].call.input_count + calls->items[i].call.output_count);
  zb_cuda_place *next = it->places = zb_alloc(sizeof *it->places * (operands + 1));
  if (!next) return ZB_OUT_OF_MEMORY();
  it->count = calls->count;
  for (int i = 0; i < calls->count; ++i) {
    const zb_plan_instruction *instruction = calls->items[i].instruction;
    zb_cuda_item *item = &it->items[i];
    item->call = &calls->items[i].call;
    item->places = next;
    take_places(instruction->inputs, instruction->input_count, &next);
    take_places(instruction->outputs, instruction->output_count, &next);
    ZB_TRY(zb_cuda_kernel_find(instruction->op, item->call, instruction->location, &item->kernel));
  }
  return zb_cuda_program_create(it->items, it->count, launcher, &it->program);
}

static zb_status prepare(void *launcher, const zb_calls *calls, void **out) {
  *out = NULL;
  zb_cuda_chosen *it = zb_alloc(sizeof *it + sizeof(zb_cuda_item) * ((size_t)calls->count + 1));
  if (!it) return ZB_OUT_OF_MEMORY();
  *out = it; /* released by the caller, also on failure */
  return choose(calls, it, launcher);
}

static zb_status run(void *launcher, void *program, int first_instruction, const zb_cuda_watch *watch,
                     int *out_failed) {
  const zb_cuda_program *it = ((const zb_cuda_chosen *)program)->program;
  for (int i = 0; i < zb_cuda_program_launches(it); ++i) {
    (void)zb_cuda_program_items(it, i, out_failed);
    if (watch) ZB_TRY(watch->at(watch->context, *out_failed));
    ZB_TRY(zb_cuda_program_run(it, i, launcher, first_instruction));
  }
  return NULL;
}

static zb_status settle(void *launcher, void *program, int *out_failed) {
  zb_cuda_launcher *on = launcher;
  on->only_choosing = true;
  zb_status status = run(on, program, 0, NULL, out_failed);
  on->only_choosing = false;
  return status;
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

const zb_cuda_kernel_set zb_cuda_kernels = {
    .fault_bytes = sizeof(zb_cuda_fault_record),
    .open = load,
    .close = unload,
    .start = start,
    .stop = stop,
    .prepare = prepare,
    .release = release,
    .settle = settle,
    .run = run,
    .fault = fault,
};
