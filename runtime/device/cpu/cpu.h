/* The functions of the cpu device that sim shares: it computes the same bits with the same kernels. */
#ifndef ZB_RUNTIME_DEVICE_CPU_H
#define ZB_RUNTIME_DEVICE_CPU_H

#include "runtime/device/device.h"

/* All as documented in zb_device_def. */
zb_status zb_cpu_open(const zb_device_params *params, zb_device **out) ZB_MUST_USE;
void zb_cpu_close(zb_device *device);
zb_status zb_cpu_alloc(zb_device *device, uint64_t bytes, void **out_arena) ZB_MUST_USE;
void zb_cpu_release(zb_device *device, void *arena);
zb_status zb_cpu_copy(zb_device *device, void *to, const void *from,
                      uint64_t bytes) ZB_MUST_USE; /* upload and download */
zb_status zb_cpu_zero(zb_device *device, void *in_arena, uint64_t bytes) ZB_MUST_USE;
zb_status zb_cpu_prepare(zb_device *device, const zb_plan_subprogram *subprogram, zb_device_program **out) ZB_MUST_USE;
void zb_cpu_release_program(zb_device *device, zb_device_program *program);
zb_status zb_cpu_launch(zb_device *device, zb_device_program *program, void *arena, const uint64_t *bases) ZB_MUST_USE;
const zb_kernel_fault *zb_cpu_fault(const zb_device *device);
void zb_cpu_time_ops(zb_device *device, bool on);
zb_op_time *zb_cpu_op_times(zb_device_program *program);
const char *zb_cpu_instruction_set(void);
void zb_cpu_profile(const zb_device *device, zb_device_profile *out);

/* Members of a zb_device_def, all but name, summary and what is about time. */
#define ZB_CPU_DEVICE                                                                                                  \
  .open = zb_cpu_open, .close = zb_cpu_close, .alloc = zb_cpu_alloc, .release = zb_cpu_release, .upload = zb_cpu_copy, \
  .download = zb_cpu_copy, .zero = zb_cpu_zero, .prepare = zb_cpu_prepare, .release_program = zb_cpu_release_program,  \
  .launch = zb_cpu_launch, .fault = zb_cpu_fault, .time_ops = zb_cpu_time_ops, .op_times = zb_cpu_op_times,            \
  .profile = zb_cpu_profile, .instruction_set = zb_cpu_instruction_set

#endif
