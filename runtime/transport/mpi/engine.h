/* The thread of a process that speaks MPI, and what others ask of it.
 *
 * One thread calls MPI, from MPI_Init to MPI_Finalize, so MPI_THREAD_FUNNELED is enough of any MPI, and no lock is ever held within it. It
 * polls what is under way: at once while there is a core for it, then in sleeps that grow with the wait, so that processes that share
 * cores do not steal them. Messages of a step use persistent requests that are made in the first step.
 */
#ifndef ZB_TRANSPORT_MPI_ENGINE_H
#define ZB_TRANSPORT_MPI_ENGINE_H

#include "runtime/transport/mailbox.h"
#include "runtime/transport/transport.h"

/* The side of this process of a message between processes. What is below the line belongs to the engine's thread. */
typedef struct zb_mpi_message {
  zb_transport_side side; /* of the last post */
  int peer;               /* process; -1: not a message between processes with a side here */
  bool sends;
} zb_mpi_message;

extern const zb_group_def zb_mpi_group;

/* "Open MPI v4.1.4, ..." in one line. */
zb_status zb_mpi_probe(char *text, size_t size);
/* The transport's part. From attach to detach the engine carries the messages of this plan. `messages` has one entry a message. */
zb_status zb_mpi_attach(zb_group *group, const zb_plan *plan, zb_mailboxes *boxes, zb_mpi_message *messages) ZB_MUST_USE;
void zb_mpi_detach(zb_group *group);
/* Starts the message whose side was set. Never blocks, never allocates. */
void zb_mpi_post(zb_group *group, int message);
/* Processes on this machine, this one included. */
int zb_mpi_neighbours(const zb_group *group);

#endif
