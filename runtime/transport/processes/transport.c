/* Ranks in one process or several: see transport.h. Tests: test/runtime/exec/transport_test.c,
 * test/e2e/processes.py. */
#include "runtime/transport/processes/transport.h"

enum { SILENT_BYTES = 1024 };

struct zb_transport {
  zb_group *group; /* NULL: there is one process, and what follows but the boxes is not used */
  zb_mailboxes *boxes;
  zb_engine_message *messages; /* one a message of the plan */
  int64_t probe_ms;            /* of the time-out, for finding a process that does not answer */
  bool attached;
};

void zb_processes_close(zb_transport *transport) {
  if (!transport) return;
  if (transport->attached) zb_engine_detach(transport->group);
  zb_mailboxes_destroy(transport->boxes);
  zb_free(transport->messages);
  zb_free(transport);
}

/* Which messages cross to which process. */
static void find_peers(zb_transport *transport, const zb_plan *plan) {
  int processes = zb_engine_processes(transport->group), here = zb_engine_process(transport->group);
  for (int i = 0; i < plan->message_count; ++i) {
    int from = zb_group_process_of(plan->rank_count, processes, plan->messages[i].source);
    int to = zb_group_process_of(plan->rank_count, processes, plan->messages[i].destination);
    bool crosses = from != to && (from == here || to == here);
    transport->messages[i] = (zb_engine_message){.peer = !crosses       ? -1
                                                         : from == here ? to
                                                                        : from,
                                                 .sends = from == here};
  }
}

static zb_status attach(zb_transport *transport, const zb_plan *plan) {
  transport->messages = zb_alloc(sizeof(zb_engine_message) * (size_t)(plan->message_count + 1));
  if (!transport->messages) return ZB_OUT_OF_MEMORY();
  find_peers(transport, plan);
  ZB_TRY(zb_engine_attach(transport->group, plan, transport->boxes, transport->messages));
  transport->attached = true;
  return NULL;
}

zb_status zb_processes_open(const zb_transport_params *params, zb_transport **out) {
  *out = NULL;
  const zb_plan *plan = params->plan;
  zb_group *group = params->group;
  zb_transport *transport = zb_alloc(sizeof *transport);
  if (!transport) return ZB_OUT_OF_MEMORY();
  transport->group = group;
  transport->probe_ms = group ? zb_engine_probe_ms(params->timeout_ms) : 0;
  zb_mailboxes_params boxes = {.plan = plan, .timeout_ms = params->timeout_ms - transport->probe_ms};
  boxes.rank_count = zb_group_ranks(plan->rank_count, group ? zb_engine_processes(group) : 1,
                                    group ? zb_engine_process(group) : 0, &boxes.first_rank);
  int busy = boxes.rank_count * (params->threads > 1 ? params->threads : 1);
  if (group) busy = busy * zb_engine_neighbours(group) + 1; /* the engine */
  boxes.spin = zb_usable_processors() >= busy;
  zb_status status = zb_mailboxes_create(&boxes, &transport->boxes);
  if (!status && group) status = attach(transport, plan);
  if (status)
    zb_processes_close(transport);
  else
    *out = transport;
  return status;
}

zb_status zb_processes_post(zb_transport *transport, int rank, int message, void *arena, const zb_plan_range *parts,
                            int part_count) {
  zb_transport_side side = {arena, parts, part_count};
  if (zb_mailboxes_local(transport->boxes, message)) return zb_mailboxes_post(transport->boxes, rank, message, &side);
  zb_mailboxes_posted(transport->boxes, rank, message);
  transport->messages[message].side = side;
  zb_engine_post(transport->group, message);
  return NULL;
}

/* The peer of a message that does not come may itself wait for another: the cause is a process that does not answer, if
 * there is one. */
zb_status zb_processes_wait(zb_transport *transport, int rank, int message) {
  char silent[SILENT_BYTES];
  zb_status status = zb_mailboxes_wait(transport->boxes, rank, message);
  if (!transport->group || zb_status_code(status) != ZB_TIMEOUT) return status;
  if (zb_engine_find_silent(transport->group, silent, sizeof silent) && silent[0] &&
      !zb_mailboxes_test(transport->boxes, rank, message)) {
    zb_status named = ZB_ERROR(TIMEOUT, "%s; %s", zb_status_message(status), silent);
    zb_status_free(status);
    return named;
  }
  zb_status_free(status); /* all are there, so it may still come */
  status = zb_mailboxes_wait_more(transport->boxes, rank, message, 2 * transport->probe_ms);
  if (zb_status_code(status) != ZB_TIMEOUT) return status;
  return zb_status_hint(status, "all processes answer, so none has stopped: one is slow, or they wait for each other; "
                                "--timeout gives them more time");
}

bool zb_processes_test(zb_transport *transport, int rank, int message) {
  return zb_mailboxes_test(transport->boxes, rank, message);
}

zb_status zb_processes_reset(zb_transport *transport) { return zb_mailboxes_reset(transport->boxes); }

bool zb_processes_revive(zb_transport *transport) {
  if (transport->group) return false;
  zb_mailboxes_revive(transport->boxes);
  return true;
}

void zb_processes_abort(zb_transport *transport, int rank, const char *reason) {
  if (transport->group)
    zb_engine_abort(transport->group, rank, reason);
  else
    zb_mailboxes_abort(transport->boxes, rank, reason);
}

int64_t zb_processes_complete_ps(zb_transport *transport, int rank ZB_UNUSED, int message) {
  return zb_mailboxes_complete_ps(transport->boxes, message);
}
