/* The wire over TCP: a connection a pair of processes (meet.h), and frames on it. */
#ifndef ZB_TRANSPORT_TCP_WIRE_H
#define ZB_TRANSPORT_TCP_WIRE_H

#include "runtime/transport/processes/wire.h"

extern const zb_wire_def zb_tcp_wire;

#endif
