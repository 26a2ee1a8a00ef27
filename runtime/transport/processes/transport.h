/* The transport of ranks on processors: messages within a process by mailboxes, between processes by the engine, over
 * any wire. Without a group there is one process, and no engine. */
#pragma once

#include "runtime/transport/processes/engine.h"
#include "runtime/transport/transport.h"

zb_status zb_processes_open(const zb_transport_params *params, zb_transport **out) ZB_MUST_USE;
void zb_processes_close(zb_transport *transport);
zb_status zb_processes_post(zb_transport *transport, int rank, int message, void *arena, const zb_plan_range *parts,
                            int part_count) ZB_MUST_USE;
zb_status zb_processes_wait(zb_transport *transport, int rank, int message) ZB_MUST_USE;
bool zb_processes_test(zb_transport *transport, int rank, int message);
zb_status zb_processes_reset(zb_transport *transport) ZB_MUST_USE;
bool zb_processes_revive(zb_transport *transport);
void zb_processes_abort(zb_transport *transport, int rank, const char *reason);
int64_t zb_processes_complete_ps(zb_transport *transport, int rank, int message);

/* What the rows of all wires, and that of threads, have in common, within a zb_transport_def. */
#define ZB_PROCESSES_FUNCTIONS                                                                                         \
  .copies = true, .open = zb_processes_open, .close = zb_processes_close, .post = zb_processes_post,                   \
  .wait = zb_processes_wait, .test = zb_processes_test, .reset = zb_processes_reset, .abort = zb_processes_abort,      \
  .revive = zb_processes_revive, .complete_ps = zb_processes_complete_ps
