/* A transport moves messages between ranks. One row of transports.def each. */
#ifndef ZB_RUNTIME_TRANSPORT_H
#define ZB_RUNTIME_TRANSPORT_H

#include "runtime/plan/plan.h"

typedef struct zb_transport zb_transport;

typedef struct zb_transport_params {
  const zb_plan *plan;
  int threads;        /* that each rank computes with: a rank spins only if there is a core for all of them */
  uint64_t seed;      /* virtual: random delays of messages; 0: none */
  int64_t timeout_ms; /* a wait that takes longer gives TIMEOUT naming rank, message, peer */
} zb_transport_params;

/* A transport is shared by the ranks of a process; calls name the rank they act for, and each rank's calls come from
 * one thread. */
typedef struct zb_transport_def {
  const char *name; /* "threads" */
  const char *summary;
  bool copies;           /* the side that posts second moves the bytes itself, and does nothing else meanwhile */
  bool on_virtual_clock; /* belongs to a device with a virtual clock; no way to launch ranks */
  zb_status (*open)(const zb_transport_params *params, zb_transport **out);
  void (*close)(zb_transport *transport);
  /* Posts; never blocks, never allocates. parts are ranges of `arena`; the memory must stay valid until complete. */
  zb_status (*post_send)(zb_transport *transport, int rank, int message, void *arena, const zb_plan_range *parts,
                         int part_count);
  zb_status (*post_recv)(zb_transport *transport, int rank, int message, void *arena, const zb_plan_range *parts,
                         int part_count);
  /* Blocks until the message that this rank posted is complete on its side. PEER or TIMEOUT on failure. */
  zb_status (*wait)(zb_transport *transport, int rank, int message);
  /* Whether it is complete, without blocking. */
  bool (*test)(zb_transport *transport, int rank, int message);
  /* All messages of the step are complete on all ranks: makes ready for the next step. Called by one thread between
   * steps. */
  zb_status (*reset)(zb_transport *transport);
  /* Makes every wait of every rank fail with PEER and this reason. Thread-safe. */
  void (*abort)(zb_transport *transport, int rank, const char *reason);
  /* When a message that is complete became so: ps of the monotonic clock, or of the virtual one. For timelines. */
  int64_t (*complete_ps)(zb_transport *transport, int rank, int message);
} zb_transport_def;

int zb_transport_count(void);
const zb_transport_def *zb_transport_at(int index);
/* NULL if there is none of that name; *nearest (may be NULL) is then the closest name, or NULL. */
const zb_transport_def *zb_transport_find(const char *name, const char **nearest);

#endif
