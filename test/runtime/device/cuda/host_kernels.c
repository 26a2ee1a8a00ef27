/* The kernels of the cpu as kernels of the fake GPU: see host_kernels.h. Every launch tells the fake what its operands
 * read and write. */
#include "test/runtime/device/cuda/host_kernels.h"

#include "runtime/base/assert.h"
#include "runtime/plan/file/check.h"
#include "test/runtime/device/cuda/fake.h"

#include <string.h>

enum { OPERANDS = 24 };

typedef struct fault_record {
  int32_t set, instruction;
  int64_t value, least, most;
} fault_record;

typedef struct launcher {
  const zb_cuda_api *api;
  CUstream stream;
  fault_record *fault; /* in the memory of the fake GPU */
  zb_threads *threads;
} launcher;

typedef struct chosen {
  fake_kernel kernel;
  zb_kernel_run run;
} chosen;

typedef struct program {
  const zb_calls *calls;
  chosen kernels[]; /* one a call */
} program;

/* One launch, by value. */
typedef struct parameters {
  zb_kernel_run run;
  zb_attrs attrs;
  int input_count, output_count, instruction;
  bool accumulate;
  void *workspace;
  uint64_t workspace_bytes;
  zb_threads *threads;
  fault_record *fault;
  zb_tensor tensors[OPERANDS];
} parameters;
_Static_assert(sizeof(parameters) <= FAKE_PARAMETER_BYTES, "a launch takes its operands by value");

static void touch(const zb_tensor *tensor, bool writes) {
  int64_t last = 0;
  if (tensor->rank < 0) return;
  for (int i = 0; i < tensor->rank; ++i) {
    if (tensor->shape[i] == 0) return;
    last += (tensor->shape[i] - 1) * tensor->strides[i];
  }
  fake_touch(tensor->data, (uint64_t)(last + 1) * zb_dtype_bytes(tensor->dtype), writes);
}

static void run_on_host(const void *memory) {
  const parameters *p = memory;
  zb_kernel_fault fault = {0};
  const zb_kernel_call call = {
      .inputs = p->tensors,
      .input_count = p->input_count,
      .outputs = p->tensors + p->input_count,
      .output_count = p->output_count,
      .attrs = p->attrs,
      .accumulate = p->accumulate,
      .workspace = p->workspace,
      .threads = p->threads,
      .fault = &fault,
  };
  fake_touch(p->workspace, p->workspace_bytes, true);
  fake_touch(p->fault, 0, false);
  for (int i = 0; i < call.input_count; ++i)
    touch(&call.inputs[i], false);
  for (int i = 0; i < call.output_count; ++i) {
    if (i == 0 && call.accumulate) touch(&call.outputs[i], false);
    touch(&call.outputs[i], true);
  }
  const char *error = p->run(&call);
  if (error && !p->fault->set) *p->fault = (fault_record){1, p->instruction, fault.value, fault.least, fault.most};
}

static zb_status host_open(const zb_cuda_api *api, CUdevice device, void **out) {
  (void)device;
  *out = (void *)(uintptr_t)api;
  return NULL;
}

static void host_close(void *kernels) { (void)kernels; }

static zb_status host_start(void *kernels, const zb_cuda_kernel_options *options, CUstream stream, CUdeviceptr fault,
                            void **out) {
  (void)options;
  launcher *it = zb_alloc(sizeof *it);
  if (!it) return ZB_OUT_OF_MEMORY();
  *it = (launcher){kernels, stream, (fault_record *)(uintptr_t)fault, zb_threads_create(1)};
  *out = it;
  return it->threads ? NULL : ZB_OUT_OF_MEMORY();
}

static void host_stop(void *memory) {
  launcher *it = memory;
  zb_threads_destroy(it->threads);
  zb_free(it);
}

static zb_status host_prepare(void *memory, const zb_calls *calls, void **out) {
  (void)memory;
  program *it = zb_alloc(sizeof *it + sizeof(chosen) * (size_t)calls->count);
  if (!it) return ZB_OUT_OF_MEMORY();
  *out = it;
  it->calls = calls;
  for (int i = 0; i < calls->count; ++i) {
    const zb_kernel *kernel = zb_kernel_cpu(calls->items[i].instruction->op, &calls->items[i].call);
    if (!kernel) return ZB_ERROR(INVALID, "the device has no kernel for %s", calls->items[i].instruction->op);
    it->kernels[i] = (chosen){{kernel->op, sizeof(parameters), run_on_host}, kernel->run};
  }
  return NULL;
}

static void host_release(void *memory) { zb_free(memory); }

static zb_status launch(const launcher *on, const chosen *c, const zb_call *item, int instruction) {
  const zb_kernel_call *call = &item->call;
  parameters p = {.run = c->run,
                  .attrs = call->attrs,
                  .input_count = call->input_count,
                  .output_count = call->output_count,
                  .instruction = instruction,
                  .accumulate = call->accumulate,
                  .workspace = call->workspace,
                  .workspace_bytes = item->instruction->scratch_bytes,
                  .threads = on->threads,
                  .fault = on->fault};
  ZB_ASSERT(call->input_count + call->output_count <= OPERANDS);
  memcpy(p.tensors, call->inputs, sizeof(zb_tensor) * (size_t)call->input_count);
  memcpy(p.tensors + call->input_count, call->outputs, sizeof(zb_tensor) * (size_t)call->output_count);
  void *arguments[] = {&p};
  return ZB_CU(on->api, cuLaunchKernel, fake_function(&c->kernel), 1, 1, 1, 1, 1, 1, 0, on->stream, arguments, NULL);
}

static zb_status host_run(void *memory, void *chosen_kernels, int first_instruction, const zb_cuda_watch *watch,
                          int *out_failed) {
  const program *it = chosen_kernels;
  for (int i = 0; i < it->calls->count; ++i) {
    *out_failed = i;
    if (watch) ZB_TRY(watch->at(watch->context, i));
    ZB_TRY(launch(memory, &it->kernels[i], &it->calls->items[i], first_instruction + i));
  }
  return NULL;
}

static bool host_fault(const void *memory, int *out_instruction, zb_kernel_fault *out, const char **out_text) {
  fault_record record;
  memcpy(&record, memory, sizeof record);
  if (!record.set) return false;
  *out_instruction = record.instruction;
  *out = (zb_kernel_fault){true, record.value, record.least, record.most};
  *out_text = "an index is out of range";
  return true;
}

const zb_cuda_kernel_set host_kernels = {
    .fault_bytes = sizeof(fault_record),
    .open = host_open,
    .close = host_close,
    .start = host_start,
    .stop = host_stop,
    .prepare = host_prepare,
    .release = host_release,
    .run = host_run,
    .fault = host_fault,
};

static int queues;

void fake_device_queues(int count) { queues = count; }

static zb_status open_on_fake(const zb_device_params *params, zb_device **out) {
  const zb_cuda_setup setup = {.load = fake_load, .kernels = &host_kernels, .queues = queues};
  return zb_cuda_open(params, &setup, out);
}

const zb_device_def *fake_device(void) {
  static const zb_device_def def = {ZB_CUDA_DEVICE, .summary = "the cuda device on a GPU that is none",
                                    .open = open_on_fake};
  return &def;
}
