/* A device runs subprograms on memory of its own. One row of devices.def each; the CUDA one is a module. */
#ifndef ZB_RUNTIME_DEVICE_H
#define ZB_RUNTIME_DEVICE_H

#include "runtime/plan/plan.h"

typedef struct zb_device zb_device;           /* one a rank */
typedef struct zb_device_program zb_device_program; /* a prepared subprogram */

typedef struct zb_device_params {
  int rank;
  int threads;        /* per rank */
  bool no_kernels;    /* sim: skip the arithmetic */
  bool reference;     /* cpu: reference kernels only */
} zb_device_params;

typedef struct zb_device_def {
  const char *name;    /* "cpu" */
  const char *summary;
  bool virtual_clock;  /* sim: time is that of the plan's cost model, one thread runs all ranks */
  zb_status (*open)(const zb_device_params *params, zb_device **out);
  void (*close)(zb_device *device);
  /* The arena: bytes zeroed, 64-byte aligned. Once a rank. */
  zb_status (*alloc)(zb_device *device, uint64_t bytes, void **out_arena);
  void (*release)(zb_device *device, void *arena);
  zb_status (*upload)(zb_device *device, void *to_arena, const void *from_host, uint64_t bytes);
  zb_status (*download)(zb_device *device, void *to_host, const void *from_arena, uint64_t bytes);
  zb_status (*zero)(zb_device *device, void *in_arena, uint64_t bytes);
  /* Chooses kernels, resolves what does not change. The subprogram must outlive the program. Errors name op and location. */
  zb_status (*prepare)(zb_device *device, const zb_plan_subprogram *subprogram, zb_device_program **out);
  void (*release_program)(zb_device *device, zb_device_program *program);
  /* Runs one job: bases are arena offsets of bases 1... Never allocates. */
  zb_status (*launch)(zb_device *device, zb_device_program *program, void *arena, const uint64_t *bases);
  zb_status (*synchronize)(zb_device *device);
} zb_device_def;

int zb_device_count(void);
const zb_device_def *zb_device_at(int index);
const zb_device_def *zb_device_find(const char *name, const char **nearest);

#endif
