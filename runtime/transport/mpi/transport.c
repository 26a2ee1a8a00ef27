/* Ranks in several processes: messages within a process by mailboxes, between processes by the engine. The module's table is here. Tests:
 * test/e2e/mpi.py, which needs mpirun. */
#include "runtime/base/module.h"
#include "runtime/base/module_id.h"
#include "runtime/transport/mpi/engine.h"

struct zb_transport {
  zb_group *group;
  zb_mailboxes *boxes;
  zb_mpi_message *messages; /* one a message of the plan */
  bool attached;
};

static void transport_close(zb_transport *transport) {
  if (!transport) return;
  if (transport->attached) zb_mpi_detach(transport->group);
  zb_mailboxes_destroy(transport->boxes);
  zb_free(transport->messages);
  zb_free(transport);
}

/* Which messages cross to which process. */
static void find_peers(zb_transport *transport, const zb_plan *plan) {
  int processes = zb_mpi_group.processes(transport->group), here = zb_mpi_group.process(transport->group);
  for (int i = 0; i < plan->message_count; ++i) {
    int from = zb_group_process_of(plan->rank_count, processes, plan->messages[i].source);
    int to = zb_group_process_of(plan->rank_count, processes, plan->messages[i].destination);
    bool crosses = from != to && (from == here || to == here);
    transport->messages[i] = (zb_mpi_message){.peer = !crosses ? -1 : from == here ? to : from, .sends = from == here};
  }
}

static zb_status transport_open(const zb_transport_params *params, zb_transport **out) {
  *out = NULL;
  zb_status status = NULL;
  const zb_plan *plan = params->plan;
  zb_transport *transport = zb_alloc(sizeof *transport);
  if (!transport) return ZB_OUT_OF_MEMORY();
  transport->group = params->group;
  zb_mailboxes_params boxes = {.plan = plan, .timeout_ms = params->timeout_ms};
  boxes.rank_count = zb_group_ranks(plan->rank_count, zb_mpi_group.processes(params->group), zb_mpi_group.process(params->group), &boxes.first_rank);
  int busy = boxes.rank_count * (params->threads > 1 ? params->threads : 1) * zb_mpi_neighbours(params->group);
  boxes.spin = zb_usable_processors() > busy; /* one more for the engine */
  ZB_TRY_GOTO(zb_mailboxes_create(&boxes, &transport->boxes));
  transport->messages = zb_alloc(sizeof(zb_mpi_message) * (size_t)(plan->message_count + 1));
  if (!transport->messages) {
    status = ZB_OUT_OF_MEMORY();
    goto cleanup;
  }
  find_peers(transport, plan);
  ZB_TRY_GOTO(zb_mpi_attach(params->group, plan, transport->boxes, transport->messages));
  transport->attached = true;
  *out = transport;
cleanup:
  if (status) transport_close(transport);
  return status;
}

static zb_status post(zb_transport *transport, int rank, int message, void *arena, const zb_plan_range *parts, int part_count) {
  zb_transport_side side = {arena, parts, part_count};
  if (zb_mailboxes_local(transport->boxes, message)) return zb_mailboxes_post(transport->boxes, rank, message, &side);
  transport->messages[message].side = side;
  zb_mpi_post(transport->group, message);
  return NULL;
}

static zb_status transport_wait(zb_transport *transport, int rank, int message) {
  return zb_mailboxes_wait(transport->boxes, rank, message);
}

static bool transport_test(zb_transport *transport, int rank, int message) {
  (void)rank;
  return zb_mailboxes_test(transport->boxes, message);
}

static zb_status transport_reset(zb_transport *transport) {
  return zb_mailboxes_reset(transport->boxes);
}

static void transport_abort(zb_transport *transport, int rank, const char *reason) {
  zb_mpi_group.abort(transport->group, rank, reason);
}

static int64_t complete_ps(zb_transport *transport, int rank, int message) {
  (void)rank;
  return zb_mailboxes_complete_ps(transport->boxes, message);
}

static const zb_transport_def mpi = {
    .name = "mpi",
    .summary = "ranks are laid over processes in equal blocks, threads within each, Open MPI between them",
    .probe = zb_mpi_probe,
    .copies = true,
    .group_def = &zb_mpi_group,
    .open = transport_open,
    .close = transport_close,
    .post_send = post,
    .post_recv = post,
    .wait = transport_wait,
    .test = transport_test,
    .reset = transport_reset,
    .abort = transport_abort,
    .complete_ps = complete_ps,
};

static const zb_transport_def *const transports[] = {&mpi, NULL};

ZB_MODULE_EXPORT = {.abi = ZB_MODULE_ABI, .build_id = ZB_BUILD_ID, .name = "mpi", .transports = transports};
