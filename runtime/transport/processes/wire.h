/* A wire carries bytes between the processes of a run: MPI, TCP. One table each, behind which the same engine
 * (engine.h) does everything else.
 *
 * All calls but wake come from one thread, the engine's; so do the events, from within start_*, tell and progress. A
 * message and a transfer need no buffer between the sides: what is sent may wait for the receive. Messages that are
 * under way may overtake each other; of transfers there is one a peer.
 */
#pragma once

#include "runtime/transport/copy.h"
#include "runtime/transport/group.h"

typedef struct zb_wire zb_wire;

/* Bytes for or from one process, besides the messages of a plan. Both sides know how many. */
typedef struct zb_wire_transfer {
  bool sends;
  int peer;
  void *data;
  size_t bytes;
} zb_wire_transfer;

enum { ZB_WIRE_REASON_BYTES = 1024 };
/* An abort, as both wires send it. */
typedef struct zb_wire_abort {
  int32_t rank;
  char reason[ZB_WIRE_REASON_BYTES];
} zb_wire_abort;

/* What a wire reports. Texts are valid during the call. */
typedef struct zb_wire_events {
  void *context;
  void (*message)(void *context, int message); /* complete on the side of this process */
  void (*transfer)(void *context, int peer);
  void (*answered)(void *context, int process);              /* zb_wire_def.ask */
  void (*told)(void *context, int rank, const char *reason); /* another process aborts: zb_wire_def.tell */
  void (*lost)(void *context, int process, const char *how); /* "has died": the others can still be reached */
  void (*failed)(void *context, const char *reason);         /* no process can be reached any more */
} zb_wire_events;

typedef struct zb_wire_def {
  const char *name; /* "MPI" */
  /* Finds the other processes; *process is this one of *processes. The parameters and the events outlive the wire. A
   * failure is marked as told only where another process is known to report it. */
  zb_status (*open)(const zb_group_params *params, const zb_wire_events *events, zb_wire **out, int *process,
                    int *processes);
  /* together: all processes call it. Else what `tell` began is sent first, for less than a second. */
  void (*close)(zb_wire *wire, bool together);
  /* Makes room for messages 0..count-1. None is under way, and no process starts one before all have the room. */
  zb_status (*resize)(zb_wire *wire, int count);
  /* The side is copied; its parts and its arena stay where they are until the end. The first start of a message may
   * allocate. */
  void (*start_message)(zb_wire *wire, int message, int peer, bool sends, const zb_transport_side *side);
  void (*start_transfer)(zb_wire *wire, const zb_wire_transfer *transfer);
  /* Asks all others whether they are there. The wire of each answers by itself, whatever its ranks do. */
  void (*ask)(zb_wire *wire);
  /* Tells all others that this process aborts, or that `rank` did (-1: the reason is the whole text). Nothing is
   * started after it. */
  void (*tell)(zb_wire *wire, int rank, const char *reason);
  /* Looks at what is under way; true if something was finished. aborted: only what `tell` began still matters. */
  bool (*progress)(zb_wire *wire, bool aborted);
  /* Sleeps until there is something to look at, for ps at most, or wake (from any thread). NULL: the engine naps and
   * looks. */
  void (*sleep)(zb_wire *wire, int64_t ps);
  void (*wake)(zb_wire *wire);
} zb_wire_def;
