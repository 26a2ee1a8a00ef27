/* The cuda device from the inside: what its files and its transports share.
 *
 * A GPU is opened once a process (zb_cuda_gpu); every rank on it has an arena and a compute stream (zb_device). Its
 * transports have a stream a channel. All is enqueued by one thread; nothing waits in the host within a step. Tests:
 * test/runtime/device/cuda.
 */
#pragma once

#include "runtime/device/cuda/edges.h"
#include "runtime/device/cuda/kernels.h"
#include "runtime/device/device.h"
#include "runtime/transport/transport.h"

/* What a device is made with: the libraries of this machine and the kernels of this build, or the fakes of a test. */
typedef struct zb_cuda_setup {
  zb_status (*load)(zb_cuda_api *out); /* fills all that will be called; closed with zb_cuda_api_close */
  const zb_cuda_kernel_set *kernels;
  int ordinal; /* of the GPU among those that are visible */
  int queues;  /* that the GPU has for streams; 0: as many as zb-run asks for. For tests */
} zb_cuda_setup;

/* One GPU of this process, shared by its ranks and transports. */
typedef struct zb_cuda_gpu {
  zb_cuda_api api;
  const zb_cuda_kernel_set *kernel_set;
  void *kernels;
  int references;
  CUdevice device;
  CUcontext context;
  int priority_least, priority_greatest;
  int queues;      /* of the hardware: more streams than these may hold up each other */
  int processors;  /* 0: not known */
  bool busy;       /* something may be running that was not waited for */
  CUevent base;    /* trace: when the times of a step begin */
  int64_t base_ps; /* the same on the clock of the host */
} zb_cuda_gpu;

/* A reference of its own for every rank and transport; the last release closes the GPU. */
zb_status zb_cuda_gpu_open(const zb_cuda_setup *setup, bool trace, zb_cuda_gpu **out) ZB_MUST_USE;
zb_cuda_gpu *zb_cuda_gpu_share(zb_cuda_gpu *gpu);
void zb_cuda_gpu_release(zb_cuda_gpu *gpu);
/* Waits for all that was enqueued, by any rank: after a failure, before memory goes, on any thread. Errors were
 * reported already. */
void zb_cuda_gpu_quiet(zb_cuda_gpu *gpu);
/* When an event happened, on the clock of the host; it must be over. */
int64_t zb_cuda_event_ps(const zb_cuda_gpu *gpu, CUevent event);
/* Many events at once; what was made is destroyed by zb_cuda_events_destroy, which takes NULL. */
zb_status zb_cuda_events_create(const zb_cuda_gpu *gpu, int count, unsigned flags, CUevent **out) ZB_MUST_USE;
void zb_cuda_events_destroy(const zb_cuda_gpu *gpu, CUevent *events, int count);

/* Where something that was fetched goes once it is there. */
typedef struct zb_cuda_fetched {
  const void *from;
  void *to;
  uint64_t bytes;
} zb_cuda_fetched;

/* Host memory that copies read and write while the host goes on: a ring of buffers for inputs, and places for what is
 * fetched. */
typedef struct zb_cuda_staging {
  zb_arena arena;        /* of busy, targets */
  unsigned char *memory; /* pinned: buffers, then places, then the fault record */
  uint64_t buffer_bytes;
  int buffer_count, next, current; /* current: the one that was handed out last; -1: none */
  CUevent *events;                 /* [buffer] */
  bool *busy;                      /* [buffer] copied from since the device was last idle */
  unsigned char *places;
  uint64_t place_bytes, places_used;
  zb_cuda_fetched *fetched;
  int fetched_count, fetched_capacity;
  void *fault;
} zb_cuda_staging;

/* Times of the single instructions of a subprogram: events around the launches of one run a step (op_clock.c). */
typedef struct zb_cuda_op_clock {
  zb_arena memory; /* of times, numbers */
  const zb_plan_subprogram *subprogram;
  zb_op_time *times; /* [instruction] */
  CUevent *events;   /* [instruction + 1]: before each launch, and after the last */
  int *numbers;      /* [launch] its first instruction */
  int launches;
  bool running;  /* events of a run were enqueued that are not in times yet */
  int timed_run; /* of the subprogram in a step, from 0 */
  int runs;      /* so far in step */
  uint64_t step;
} zb_cuda_op_clock;

struct zb_device {
  zb_device_params params;
  zb_cuda_gpu *gpu;
  void *launcher;
  CUstream compute;
  zb_cuda_edges edges;
  CUevent *events;   /* [edges.event_count] */
  uint64_t progress; /* events of this step that are over */
  bool ending;       /* what is read at the end of a run was enqueued */
  uint64_t run;      /* steps and LOAD runs begun */
  bool time_ops;
  CUevent *starts, *ends; /* trace: [job] */
  zb_cuda_staging staging;
  CUdeviceptr fault_record;
  zb_kernel_fault fault;
  const zb_plan_instruction **instructions; /* by the numbers of fault records */
  size_t instruction_count, instruction_capacity;
};

/* As documented in zb_device_def and zb_device_queue: program.c, staging.c, cuda.c. */
zb_status zb_cuda_device_prepare(zb_device *device, const zb_plan_subprogram *subprogram,
                                 zb_device_program **out) ZB_MUST_USE;
void zb_cuda_device_release_program(zb_device *device, zb_device_program *program);
zb_status zb_cuda_device_bind(zb_device *device, zb_device_program *program, void *arena,
                              const uint64_t *bases) ZB_MUST_USE;
zb_status zb_cuda_device_launch(zb_device *device, zb_device_program *program, void *arena,
                                const uint64_t *bases) ZB_MUST_USE;
zb_status zb_cuda_device_stage(zb_device *device, uint64_t bytes, void **out) ZB_MUST_USE;
zb_status zb_cuda_device_upload(zb_device *device, void *to_arena, const void *from_host, uint64_t bytes) ZB_MUST_USE;
zb_status zb_cuda_device_fetch(zb_device *device, const void *from_arena, void *out, uint64_t bytes) ZB_MUST_USE;
void zb_cuda_device_close(zb_device *device);
zb_status zb_cuda_device_alloc(zb_device *device, uint64_t bytes, void **out_arena) ZB_MUST_USE;
void zb_cuda_device_release(zb_device *device, void *arena);
zb_status zb_cuda_device_download(zb_device *device, void *to_host, const void *from_arena, uint64_t bytes) ZB_MUST_USE;
zb_status zb_cuda_device_zero(zb_device *device, void *in_arena, uint64_t bytes) ZB_MUST_USE;
const zb_kernel_fault *zb_cuda_device_fault(const zb_device *device);
void zb_cuda_device_time_ops(zb_device *device, bool on);
zb_op_time *zb_cuda_device_op_times(zb_device_program *program);
void zb_cuda_device_profile(const zb_device *device, zb_device_profile *out);
const char *zb_cuda_device_instruction_set(void);
/* The device with the libraries or fakes of a setup: what open of a zb_device_def does. */
zb_status zb_cuda_open(const zb_device_params *params, const zb_cuda_setup *setup, zb_device **out) ZB_MUST_USE;

/* The transports between ranks of one process (runtime/transport/streams) and between processes
 * (runtime/transport/nccl). */
extern const zb_transport_def zb_transport_streams, zb_transport_nccl;

extern const zb_device_queue zb_cuda_device_queue;
/* Members of a zb_device_def, all but summary, probe and open. */
#define ZB_CUDA_DEVICE                                                                                                 \
  .name = "cuda", .tf32 = true, .queue = &zb_cuda_device_queue, .transport = &zb_transport_streams,                    \
  .close = zb_cuda_device_close, .alloc = zb_cuda_device_alloc, .release = zb_cuda_device_release,                     \
  .upload = zb_cuda_device_upload, .download = zb_cuda_device_download, .zero = zb_cuda_device_zero,                   \
  .prepare = zb_cuda_device_prepare, .release_program = zb_cuda_device_release_program,                                \
  .launch = zb_cuda_device_launch, .fault = zb_cuda_device_fault, .time_ops = zb_cuda_device_time_ops,                 \
  .op_times = zb_cuda_device_op_times, .profile = zb_cuda_device_profile,                                              \
  .instruction_set = zb_cuda_device_instruction_set

/* op_clock.c: for params.op_times. */
zb_status zb_cuda_op_clock_init(zb_device *device, const zb_plan_subprogram *subprogram,
                                zb_cuda_op_clock *out) ZB_MUST_USE;
void zb_cuda_op_clock_deinit(zb_device *device, zb_cuda_op_clock *clock);
/* Whether the run that is about to be enqueued is the one to time; asked once a run. */
bool zb_cuda_op_clock_wants(zb_device *device, zb_cuda_op_clock *clock);
/* Before the launch that begins with an instruction; after the last one with -1. */
zb_status zb_cuda_op_clock_mark(zb_device *device, zb_cuda_op_clock *clock, int instruction) ZB_MUST_USE;
/* Once all that was enqueued is over: the times of the last timed run are added. */
void zb_cuda_op_clock_settle(const zb_device *device, zb_cuda_op_clock *clock);

/* staging.c */
zb_status zb_cuda_staging_init(zb_device *device) ZB_MUST_USE;
void zb_cuda_staging_deinit(zb_device *device);
/* The queue is empty: hands out losses; all buffers are free again. */
void zb_cuda_staging_settle(zb_device *device);

/* What a message waits for on the side of a rank, enqueued on the channel's stream: jobs of the rank, and messages of
 * other channels, whose events are done[message]. */
zb_status zb_cuda_wait_for_home(const zb_device *device, int job, CUstream channel, const CUevent *done) ZB_MUST_USE;
/* [2 * message + (1: receive)]: its job in the list of the rank that posts it; -1: of a rank that is not here. */
int *zb_cuda_message_jobs(const zb_plan *plan, zb_arena *memory) ZB_MUST_USE;
