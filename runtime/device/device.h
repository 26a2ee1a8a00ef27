/* A device runs subprograms on memory of its own. One row of devices.def each; the CUDA one is a module. */
#pragma once

#include "runtime/base/module.h"
#include "runtime/plan/file/plan.h"

typedef struct zb_device zb_device;                 /* one a rank */
typedef struct zb_device_program zb_device_program; /* a prepared subprogram */

struct zb_transport_def; /* runtime/transport/transport.h */

typedef struct zb_device_params {
  int rank;
  const zb_plan *plan;
  zb_device *beside; /* another open device of this kind in this process, which may share what is not of one rank; NULL:
                        the first */
  bool trace;        /* with a queue: keep the times of jobs */
  bool outputs;      /* with a queue: outputs of evaluations will be fetched */
  int local_process; /* of this process among those on its machine: which GPU it takes */
  int threads;       /* per rank */
  bool no_kernels;   /* sim: skip the arithmetic */
  bool reference;    /* cpu: reference kernels only */
  bool tf32;         /* devices that have it: f32 products may round their operands to 10 bits of fraction */
  bool profile;      /* count time by category of instruction: two clock readings an instruction */
  bool op_times;     /* room for the times of single instructions: see op_times below */
  int64_t (*now_ps)(void); /* the clock of both; NULL: the monotonic one. For tests */
} zb_device_params;

/* Where the time of kernels goes; the rows are in profile.def. */
typedef enum zb_profile_category {
#define ZB_PROFILE(ID, name, help) ZB_PROFILE_##ID,
#include "runtime/device/profile.def"
#undef ZB_PROFILE
  ZB_PROFILE_COUNT
} zb_profile_category;

typedef struct zb_device_profile {
  int64_t ps[ZB_PROFILE_COUNT];
  uint64_t calls[ZB_PROFILE_COUNT];
  double flops[ZB_PROFILE_COUNT];
} zb_device_profile;

/* What an instruction took, summed over its runs. */
typedef struct zb_op_time {
  int64_t ps, runs;
} zb_op_time;

/* For a device whose calls only enqueue work, and whose memory is not the host's. launch, zero, upload from a staged
 * buffer, and posts of the transport take their place in its queue, which runs in the order of the job list. Except in
 * `stage`, the host waits for nothing before all jobs of a run are enqueued; then `poll` says whether they are done.
 * One thread makes the calls for all ranks. */
typedef struct zb_device_queue {
  /* Before the first run, once for each compute job: may prepare what launch will do with these bases. */
  zb_status (*bind)(zb_device *device, zb_device_program *program, void *arena, const uint64_t *bases);
  /* A buffer for at least `bytes` of input, to be filled and uploaded before the next call. It waits only if all
   * buffers are still being read. */
  zb_status (*stage)(zb_device *device, uint64_t bytes, void **out);
  /* The bytes at `out` are what lies there at this place in the queue, once poll says that all is done: what the REPORT
   * jobs of a run hand out, those of outputs only with params.outputs. */
  zb_status (*fetch)(zb_device *device, const void *from_arena, void *out, uint64_t bytes);
  /* Around every job of the plan (index in rank.jobs), and around the clearing before a step (job -1). */
  zb_status (*before_job)(zb_device *device, int job);
  zb_status (*after_job)(zb_device *device, int job);
  /* Whether all that was enqueued is done; *out_progress: a number that changes as long as the queue moves. Errors of
   * kernels come from here. */
  zb_status (*poll)(zb_device *device, bool *out_done, uint64_t *out_progress);
  /* With params.trace, after a run: when a job ran, on the clock of zb_monotonic_ps. False: it is not on the device. */
  bool (*job_times)(const zb_device *device, int job, int64_t *out_start_ps, int64_t *out_end_ps);
} zb_device_queue;

typedef struct zb_device_def {
  ZB_PART_MEMBERS;
  bool virtual_clock;                       /* sim: time is that of the plan's cost model, one thread runs all ranks */
  bool tf32;                                /* takes params.tf32 */
  const zb_device_queue *queue;             /* cuda: all of it; NULL: what a call does is done when it returns */
  const struct zb_transport_def *transport; /* of its own, between ranks of one process; NULL: any */
  const struct zb_transport_def
      *transport_between; /* of its own, between ranks that are processes, which meet over MPI; NULL: there is none */
  zb_status (*open)(const zb_device_params *params, zb_device **out);
  void (*close)(zb_device *device);
  /* The arena: bytes zeroed, 64-byte aligned. Once a rank. */
  zb_status (*alloc)(zb_device *device, uint64_t bytes, void **out_arena);
  void (*release)(zb_device *device, void *arena);
  zb_status (*upload)(zb_device *device, void *to_arena, const void *from_host, uint64_t bytes);
  zb_status (*download)(zb_device *device, void *to_host, const void *from_arena, uint64_t bytes);
  zb_status (*zero)(zb_device *device, void *in_arena, uint64_t bytes);
  /* Chooses kernels, resolves what does not change. The subprogram must outlive the program. Errors name op and
   * location. */
  zb_status (*prepare)(zb_device *device, const zb_plan_subprogram *subprogram, zb_device_program **out);
  void (*release_program)(zb_device *device, zb_device_program *program);
  /* Runs one job: bases are arena offsets of bases 1... Never allocates. */
  zb_status (*launch)(zb_device *device, zb_device_program *program, void *arena, const uint64_t *bases);
  /* The value that made the last launch fail, if it was one; else NULL. Valid until the next launch. */
  const zb_kernel_fault *(*fault)(const zb_device *device);
  /* Switches the timing of single instructions on or off: needs params.op_times. A device with a queue times one run
   * of each program a step, its second if it has one, the others every run. */
  void (*time_ops)(zb_device *device, bool on);
  /* Times of the instructions of a program, in order, since the caller last zeroed them; NULL without params.op_times.
   */
  zb_op_time *(*op_times)(zb_device_program *program);
  /* What launches took since the device was opened; all zero unless params.profile was set. */
  void (*profile)(const zb_device *device, zb_device_profile *out);
  /* What fixes the bits of its results besides the plan: "avx512". */
  const char *(*instruction_set)(void);
} zb_device_def;

#define ZB_DEVICE(name) extern const zb_device_def zb_device_##name;
#include "runtime/device/devices.def"

extern const zb_part_table zb_devices; /* devices.def */
/* A device by name; USAGE with the nearest names if there is none of that name, UNAVAILABLE if its module cannot be
 * opened. */
zb_status zb_device_find(const char *name, const zb_device_def **out) ZB_MUST_USE;
/* Category of an instruction of a subprogram, and its row. */
zb_profile_category zb_profile_of(const zb_plan_subprogram *subprogram, const zb_plan_instruction *instruction);
const char *zb_profile_name(zb_profile_category category);
const char *zb_profile_help(zb_profile_category category);
