/* The module of MPI: its group, its transport, its description. Tests: test/e2e/processes.py, which needs mpirun. */
#include "runtime/base/module.h"
#include "runtime/base/module_id.h"
#include "runtime/transport/mpi/wire.h"
#include "runtime/transport/processes/transport.h"

static zb_status group_open(const zb_group_params *params, zb_group **out) {
  return zb_engine_open(&zb_mpi_wire, params, out);
}

static const zb_group_def group = ZB_ENGINE_GROUP(group_open);

static const zb_transport_def mpi = {
    .name = "mpi",
    .summary = "ranks are laid over processes in equal blocks, threads within each, Open MPI between them",
    .probe = zb_mpi_probe,
    .group_def = &group,
    ZB_PROCESSES_FUNCTIONS,
};

static const zb_transport_def *const transports[] = {&mpi, NULL};

ZB_MODULE_EXPORT = {.abi = ZB_MODULE_ABI, .build_id = ZB_BUILD_ID, .name = "mpi", .transports = transports};
