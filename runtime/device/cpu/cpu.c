/* The cpu device: the calling thread of a rank runs the kernels, with threads of its own. And the sim device:
 * the same kernels, so the same bits, on a virtual clock.
 *
 * prepare() chooses a kernel for each instruction and builds its call once; launch() only writes data pointers (arena +
 * base + offset) and calls. A program belongs to one rank and is not shared, so the templates may be patched in place.
 * Tests: test/runtime/exec.
 */
#include "kernels/cpu/isa.h"
#include "runtime/base/arena.h"
#include "runtime/base/clock.h"
#include "runtime/device/device.h"
#include "runtime/plan/file/calls.h"
#include "runtime/transport/virtual/virtual.h"

#include <string.h>

struct zb_device {
  zb_device_params params;
  zb_threads *threads;
  uint64_t arena_bytes;
  zb_device_profile profile;
  bool time_ops;
  zb_kernel_fault fault; /* of the last launch */
};

/* Beside each call: what runs it. */
typedef struct prepared {
  zb_kernel_run run;
  zb_profile_category category;
} prepared;

struct zb_device_program {
  zb_arena memory; /* of items, op_times */
  zb_calls calls;
  prepared *items;      /* one a call */
  zb_op_time *op_times; /* one a call, if params.op_times */
};

static zb_status cpu_open(const zb_device_params *params, zb_device **out) {
  *out = NULL;
  zb_device *device = zb_alloc(sizeof *device);
  if (!device) return ZB_OUT_OF_MEMORY();
  device->params = *params;
  device->threads =
      zb_threads_create(params->threads > 1 ? params->threads : 1); /* of one, too: it owns the scratch of kernels */
  if (!device->threads) {
    zb_free(device);
    return ZB_ERROR(MEMORY, "no memory for %d threads of rank %d", params->threads, params->rank);
  }
  *out = device;
  return NULL;
}

static void cpu_close(zb_device *device) {
  if (!device) return;
  zb_threads_destroy(device->threads);
  zb_free(device);
}

static zb_status cpu_alloc(zb_device *device, uint64_t bytes, void **out_arena) {
  device->arena_bytes = bytes > 0 ? bytes : ZB_ALIGNMENT;
  *out_arena = zb_alloc_pages(device->arena_bytes);
  if (*out_arena) return NULL;
  char text[64];
  return zb_status_hint(ZB_ERROR(MEMORY, "rank %d needs an arena of %s, which this machine does not give",
                                 device->params.rank, zb_bytes_exact_text(bytes, text)),
                        "compile with more ranks, a smaller --memory-limit or --recompute auto");
}

static void cpu_release(zb_device *device, void *arena) { zb_free_pages(arena, device->arena_bytes); }

static zb_status cpu_copy(zb_device *device ZB_UNUSED, void *to, const void *from, uint64_t bytes) {
  if (bytes > 0) memcpy(to, from, bytes);
  return NULL;
}

static zb_status cpu_zero(zb_device *device, void *in_arena, uint64_t bytes) {
  if (bytes > 0 && !device->params.no_kernels) memset(in_arena, 0, bytes);
  return NULL;
}

static void cpu_release_program(zb_device *device ZB_UNUSED, zb_device_program *program) {
  if (!program) return;
  zb_calls_deinit(&program->calls);
  zb_arena_deinit(&program->memory);
  zb_free(program);
}

static zb_status choose_kernel(const zb_device *device, const zb_call *item, zb_kernel_run *out) {
  const zb_plan_instruction *instruction = item->instruction;
  const zb_kernel *reference = zb_kernel_reference(instruction->op);
  const zb_kernel *kernel = device->params.reference ? reference : zb_kernel_cpu(instruction->op, &item->call);
  char text[512], refusal[128];
  const char *why = reference ? zb_kernel_refuses(reference, &item->call, refusal, sizeof refusal) : NULL;
  if (!kernel || why)
    return zb_status_hint(ZB_ERROR(INVALID, "the device has no kernel for %s%s%s",
                                   zb_call_text(instruction, text, sizeof text), why ? ": " : "", why ? why : ""),
                          "the plan was made by another version of zbc: compile the model again");
  *out = kernel->run;
  return NULL;
}

static zb_status cpu_prepare(zb_device *device, const zb_plan_subprogram *subprogram, zb_device_program **out) {
  *out = NULL;
  zb_status status = NULL;
  size_t count = (size_t)subprogram->instruction_count;
  zb_device_program *program = zb_alloc(sizeof *program);
  if (!program) return ZB_OUT_OF_MEMORY();
  ZB_TRY_GOTO(zb_calls_init(subprogram, &program->calls));
  program->items = ZB_NEW(&program->memory, prepared, count);
  if (device->params.op_times) program->op_times = ZB_NEW(&program->memory, zb_op_time, count);
  ZB_TRY_GOTO(zb_arena_status(&program->memory));
  for (size_t i = 0; i < count; ++i) {
    zb_call *call = &program->calls.items[i];
    call->call.threads = device->threads;
    call->call.fault = &device->fault;
    program->items[i].category = zb_profile_of(subprogram, call->instruction);
    ZB_TRY_GOTO(choose_kernel(device, call, &program->items[i].run));
  }
  *out = program;
cleanup:
  if (status) {
    cpu_release_program(device, program);
    status = zb_status_note(status, "preparing subprogram %s of rank %d", subprogram->name, device->params.rank);
  }
  return status;
}

static int64_t now_ps(const zb_device *device) {
  return device->params.now_ps ? device->params.now_ps() : zb_monotonic_ps();
}

static void count(zb_device *device, zb_device_program *program, int index, int64_t ps) {
  zb_profile_category category = program->items[index].category;
  if (device->time_ops) {
    program->op_times[index].ps += ps;
    program->op_times[index].runs += 1;
  }
  if (!device->params.profile) return;
  device->profile.ps[category] += ps;
  device->profile.calls[category] += 1;
  device->profile.flops[category] += program->calls.items[index].instruction->flops;
}

/* A value that an op cannot take came in with the data or the model: that is wrong input, not a failure of the machine.
 */
static zb_status kernel_failed(const zb_device *device, const zb_call *item, const char *what) {
  const zb_kernel_fault *fault = &device->fault;
  char text[512];
  zb_call_text(item->instruction, text, sizeof text);
  if (!fault->set) return ZB_ERROR(RUNTIME, "%s: %s", text, what);
  return ZB_ERROR(INVALID, "%s: %s: got %lld, expected %lld to %lld", text, what, (long long)fault->value,
                  (long long)fault->least, (long long)fault->most);
}

static zb_status cpu_launch(zb_device *device, zb_device_program *program, void *arena, const uint64_t *bases) {
  if (device->params.no_kernels) return NULL;
  unsigned char *bytes = arena;
  bool timed = device->params.profile || device->time_ops;
  device->fault.set = false;
  for (int i = 0; i < program->calls.count; ++i) {
    zb_call *item = &program->calls.items[i];
    zb_call_place_at(item, bytes, bases);
    int64_t start = timed ? now_ps(device) : 0;
    const char *error = program->items[i].run(&item->call);
    if (timed) count(device, program, i, now_ps(device) - start);
    if (error) return kernel_failed(device, item, error);
  }
  return NULL;
}

static void cpu_time_ops(zb_device *device, bool on) { device->time_ops = on && device->params.op_times; }

static zb_op_time *cpu_op_times(zb_device_program *program) { return program->op_times; }

static const zb_kernel_fault *cpu_fault(const zb_device *device) { return device->fault.set ? &device->fault : NULL; }

static void cpu_profile(const zb_device *device, zb_device_profile *out) { *out = device->profile; }

static const char *cpu_instruction_set(void) { return zb_isa_name(); }

#define ZB_CPU_FUNCTIONS                                                                                               \
  .open = cpu_open, .close = cpu_close, .alloc = cpu_alloc, .release = cpu_release, .upload = cpu_copy,                \
  .download = cpu_copy, .zero = cpu_zero, .prepare = cpu_prepare, .release_program = cpu_release_program,              \
  .launch = cpu_launch, .fault = cpu_fault, .time_ops = cpu_time_ops, .op_times = cpu_op_times,                        \
  .profile = cpu_profile, .instruction_set = cpu_instruction_set

const zb_device_def zb_device_cpu = {
    .name = "cpu",
    .summary = "this machine's processor: a thread (or several, with --threads) per rank",
    ZB_CPU_FUNCTIONS,
};

/* It computes at once. What makes it a simulation is that the driver (runtime/exec/driver_virtual.c) runs all ranks on
 * one thread and lets a job take the time of its subprogram, and that messages go through the virtual transport. */
const zb_device_def zb_device_sim = {
    .name = "sim",
    .summary =
        "real values on a virtual clock, in one thread; --seed delays messages, --no-kernels runs the plan alone",
    .virtual_clock = true,
    .transport = &zb_transport_virtual,
    ZB_CPU_FUNCTIONS,
};
