/* Transport between ranks that are threads of one process: mailboxes and nothing else. Tests:
 * test/runtime/exec/transport_test.c. */
#include "runtime/transport/mailbox.h"
#include "runtime/transport/transport.h"

struct zb_transport {
  zb_mailboxes *boxes;
};

static void transport_close(zb_transport *transport) {
  if (!transport) return;
  zb_mailboxes_destroy(transport->boxes);
  zb_free(transport);
}

static zb_status transport_open(const zb_transport_params *params, zb_transport **out) {
  *out = NULL;
  zb_transport *transport = zb_alloc(sizeof *transport);
  if (!transport) return ZB_OUT_OF_MEMORY();
  zb_mailboxes_params boxes = {.plan = params->plan,
                               .rank_count = params->plan->rank_count,
                               .timeout_ms = params->timeout_ms,
                               .spin = zb_usable_processors() >=
                                       params->plan->rank_count * (params->threads > 1 ? params->threads : 1)};
  zb_status status = zb_mailboxes_create(&boxes, &transport->boxes);
  if (status)
    transport_close(transport);
  else
    *out = transport;
  return status;
}

/* Both posts: which side it is follows from the rank. */
static zb_status post(zb_transport *transport, int rank, int message, void *arena, const zb_plan_range *parts,
                      int part_count) {
  zb_transport_side side = {arena, parts, part_count};
  return zb_mailboxes_post(transport->boxes, rank, message, &side);
}

static zb_status transport_wait(zb_transport *transport, int rank, int message) {
  return zb_mailboxes_wait(transport->boxes, rank, message);
}

static bool transport_test(zb_transport *transport, int rank, int message) {
  (void)rank;
  return zb_mailboxes_test(transport->boxes, message);
}

static zb_status transport_reset(zb_transport *transport) { return zb_mailboxes_reset(transport->boxes); }

static void transport_abort(zb_transport *transport, int rank, const char *reason) {
  zb_mailboxes_abort(transport->boxes, rank, reason);
}

static int64_t complete_ps(zb_transport *transport, int rank, int message) {
  (void)rank;
  return zb_mailboxes_complete_ps(transport->boxes, message);
}

extern const zb_transport_def zb_transport_threads;

const zb_transport_def zb_transport_threads = {
    .name = "threads",
    .summary = "ranks are threads of one process",
    .copies = true,
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
