/* The thread of a process that speaks to other processes, and what others ask of it. What carries the bytes is a wire
 * (wire.h).
 *
 * One thread calls the wire, so MPI_THREAD_FUNNELED is enough of any MPI, and no lock is ever held within a call. It
 * looks at what is under way: at once while there is a core for it, then in sleeps, so that processes that share cores
 * do not steal them. Nothing is allocated in a step.
 */
#pragma once

#include "runtime/transport/mailbox.h"
#include "runtime/transport/processes/wire.h"

/* The side of this process of a message between processes. */
typedef struct zb_engine_message {
  zb_transport_side side; /* of the last post */
  int peer;               /* process; -1: not a message between processes with a side here */
  bool sends;
} zb_engine_message;

/* The functions of a zb_group_def; open is given its wire by one of each wire. */
zb_status zb_engine_open(const zb_wire_def *wire, const zb_group_params *params, zb_group **out) ZB_MUST_USE;
void zb_engine_close(zb_group *group, bool together);
int zb_engine_process(const zb_group *group);
int zb_engine_processes(const zb_group *group);
zb_status zb_engine_merge(zb_group *group, void *record, size_t bytes,
                          void (*merge)(void *total, const void *one, size_t bytes)) ZB_MUST_USE;
zb_status zb_engine_gather(zb_group *group, const void *mine, size_t bytes, void **out, size_t *out_bytes) ZB_MUST_USE;
bool zb_engine_find_silent(zb_group *group, char *text, size_t size);
void zb_engine_abort(zb_group *group, int rank, const char *reason);

#define ZB_ENGINE_GROUP(open_function)                                                                                 \
  {.open = open_function,                                                                                              \
   .close = zb_engine_close,                                                                                           \
   .process = zb_engine_process,                                                                                       \
   .processes = zb_engine_processes,                                                                                   \
   .merge = zb_engine_merge,                                                                                           \
   .gather = zb_engine_gather,                                                                                         \
   .find_silent = zb_engine_find_silent,                                                                               \
   .abort = zb_engine_abort}

/* The transport's part. From attach to detach the engine carries the messages of this plan. `messages` has one entry a
 * message. */
zb_status zb_engine_attach(zb_group *group, const zb_plan *plan, zb_mailboxes *boxes,
                           zb_engine_message *messages) ZB_MUST_USE;
void zb_engine_detach(zb_group *group);
/* Starts the message whose side was set. Never blocks, never allocates. */
void zb_engine_post(zb_group *group, int message);
/* How much of a time-out is kept for finding a process that does not answer. */
int64_t zb_engine_probe_ms(int64_t timeout_ms);
/* Processes on this machine, this one included. */
int zb_engine_neighbours(const zb_group *group);
