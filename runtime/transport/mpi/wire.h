/* The wire over Open MPI. */
#ifndef ZB_TRANSPORT_MPI_WIRE_H
#define ZB_TRANSPORT_MPI_WIRE_H

#include "runtime/transport/processes/wire.h"

extern const zb_wire_def zb_mpi_wire;

/* "Open MPI v4.1.4, ..." in one line. */
zb_status zb_mpi_probe(char *text, size_t size);

#endif
