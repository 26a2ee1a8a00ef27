/* Sockets with deadlines. Addresses are IPv4 or IPv6; descriptors do not block and are closed by exec. Deadlines are ps
 * of the monotonic clock. */
#pragma once

#include "zb/status.h"

/* A network address that can be sent to other processes. family: 4, 6, or 0 for none. */
typedef struct zb_tcp_address {
  uint8_t family, bytes[16];
  uint8_t unused;
  uint16_t port;
} zb_tcp_address;

/* "10.0.0.1:29400", "[::1]:29400". */
const char *zb_tcp_address_text(const zb_tcp_address *address, char text[64]);
bool zb_tcp_address_is_loopback(const zb_tcp_address *address);
/* The other end of a connection. */
zb_tcp_address zb_tcp_peer(int descriptor);

/* Whether a host is this machine by its text alone: "localhost", 127.x.x.x, ::1. */
bool zb_tcp_is_local_name(const char *host);
/* Up to `most` addresses of a host, with this port; how many, or 0 and *why (a text that stays). */
int zb_tcp_resolve(const char *host, int port, zb_tcp_address *out, int most, const char **why);

/* Listens at a port (0: any that is free), at one address of this machine or (NULL) at all. -1 and errno on failure. */
int zb_tcp_listen(const zb_tcp_address *only, int port, int *out_port);
/* The next connection of a listener; -1: there is none now. */
int zb_tcp_accept(int listener);
/* -1 and errno on failure. */
int zb_tcp_connect(const zb_tcp_address *address, int64_t until_ps);
/* All bytes or false and errno: 0 when the other end has closed the connection, ETIMEDOUT at the deadline. */
bool zb_tcp_send(int descriptor, const void *bytes, size_t count, int64_t until_ps);
bool zb_tcp_receive(int descriptor, void *bytes, size_t count, int64_t until_ps);
/* Whether there is something to read. */
bool zb_tcp_has_bytes(int descriptor);
/* Whether the other end has closed the connection, or it is broken; there may still be something to read. */
bool zb_tcp_is_gone(int descriptor);
