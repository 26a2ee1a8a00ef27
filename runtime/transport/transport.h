/* A transport moves messages between ranks. One row of transports.def each. */
#pragma once

#include "runtime/device/device.h"
#include "runtime/transport/group.h"

typedef struct zb_transport zb_transport;

typedef struct zb_transport_params {
  const zb_plan *plan;
  int threads;        /* that each rank computes with: a rank spins only if there is a core for all of them */
  uint64_t seed;      /* virtual: random delays of messages; 0: none */
  bool no_bytes;      /* virtual: messages carry nothing, and arenas stay untouched */
  int64_t timeout_ms; /* a wait that takes longer gives TIMEOUT naming rank, message, peer */
  zb_group *group;    /* the processes; NULL: all ranks are in this one */
  const zb_group_def *group_def; /* of group */
} zb_transport_params;

/* A transport is shared by the ranks of a process; calls name the rank they act for, and each rank's calls come from
 * one thread. */
typedef struct zb_transport_def {
  ZB_PART_MEMBERS;
  bool copies; /* the side that posts second moves the bytes itself, and does nothing else meanwhile */
  const zb_group_def *group_def; /* how the processes find each other; NULL: there is one process */
  zb_status (*open)(const zb_transport_params *params, zb_transport **out);
  void (*close)(zb_transport *transport);
  /* Posts a rank's side of a message: it is the sender or the receiver. Never blocks, never allocates. parts are ranges
   * of `arena`; the memory must stay valid until complete. */
  zb_status (*post)(zb_transport *transport, int rank, int message, void *arena, const zb_plan_range *parts,
                    int part_count);
  /* Blocks until the message that this rank posted is complete on its side. PEER or TIMEOUT on failure. */
  zb_status (*wait)(zb_transport *transport, int rank, int message);
  /* Whether it is complete, without blocking. */
  bool (*test)(zb_transport *transport, int rank, int message);
  /* All messages of the step are complete on all ranks: makes ready for the next step. Called by one thread between
   * steps that a barrier parts; without one a side that is complete may be posted again. */
  zb_status (*reset)(zb_transport *transport);
  /* Makes every wait of every rank fail with PEER and this reason. Thread-safe. */
  void (*abort)(zb_transport *transport, int rank, const char *reason);
  /* NULL, or: once all ranks have stopped behind an abort, forgets it and every post, as before the first step. False
   * where there are other processes, whose messages may still come. */
  bool (*revive)(zb_transport *transport);
  /* ---- For devices with a queue; others: NULL. A message is "complete" for `test` once the order of everything that
   * it takes is fixed in the queues of the devices ---- */
  /* Before the first post of that rank. */
  zb_status (*attach)(zb_transport *transport, int rank, zb_device *device);
  /* NULL, or: finds the peers. Called by all processes at the same time, once everything else of all of them is ready.
   */
  zb_status (*connect)(zb_transport *transport);
  /* What the rank's device is given from now on runs after the message, which is complete in the sense above. */
  zb_status (*order)(zb_transport *transport, int rank, int message);
  /* Called again and again while nothing else is to do: notices peers that failed. */
  zb_status (*poll)(zb_transport *transport);
  /* With a trace: when its bytes began to move. */
  int64_t (*start_ps)(zb_transport *transport, int rank, int message);
  /* When a message that is complete became so: ps of the monotonic clock, or of the virtual one. For timelines. */
  int64_t (*complete_ps)(zb_transport *transport, int rank, int message);
} zb_transport_def;

#define ZB_TRANSPORT(name) extern const zb_transport_def zb_transport_##name;
#include "runtime/transport/transports.def"

extern const zb_part_table zb_transports; /* transports.def */
/* A transport by name; USAGE with the nearest names if there is none of that name, UNAVAILABLE if its module cannot be
 * opened. */
zb_status zb_transport_find(const char *name, const zb_transport_def **out) ZB_MUST_USE;
