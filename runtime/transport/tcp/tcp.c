/* The row of TCP: its group, its transport. Tests: test/runtime/transport/tcp_test.c, test/e2e/processes.py. */
#include "runtime/transport/processes/transport.h"
#include "runtime/transport/tcp/wire.h"

static zb_status group_open(const zb_group_params *params, zb_group **out) {
  return zb_engine_open(&zb_tcp_wire, params, out);
}

static const zb_group_def group = ZB_ENGINE_GROUP(group_open);

extern const zb_transport_def zb_transport_tcp;

const zb_transport_def zb_transport_tcp = {
    .name = "tcp",
    .summary = "ranks are laid over processes in equal blocks, threads within each, TCP between them (torchrun, srun)",
    .group_def = &group,
    ZB_PROCESSES_FUNCTIONS,
};
