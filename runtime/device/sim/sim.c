/* The sim device: the kernels of the cpu device on a virtual clock, so that its results are bitwise those of cpu.
 *
 * The device itself computes at once; what makes it a simulation is that the driver (runtime/exec/driver_virtual.c)
 * runs all ranks on one thread and lets a job take the time of its subprogram, and that messages go through the virtual
 * transport beside this file. Tests: test/runtime/exec.
 */
#include "runtime/device/cpu/cpu.h"
#include "runtime/transport/virtual/virtual.h"

extern const zb_device_def zb_device_sim;

const zb_device_def zb_device_sim = {
    .name = "sim",
    .summary =
        "real values on a virtual clock, in one thread; --seed delays messages, --no-kernels runs the plan alone",
    .virtual_clock = true,
    .transport = &zb_transport_virtual,
    ZB_CPU_DEVICE,
};
