/* How the processes of a run find each other over TCP, without any launcher but what sets numbers, an address and a
 * port.
 *
 * Process 0 listens at the address. Whoever listens speaks first, with a card: magic, who it is, of which run and which
 * build of zb; so nothing is sent to a program that is not ours. The visitor answers with its card, and the port where
 * it listens itself. When all have come, or something is wrong, process 0 answers all of them: where everyone is, or
 * why there is no run. Who says nothing for long is sent away, and may come again. Then each connects to those of lower
 * numbers: a connection a pair. Nothing here is authenticated.
 */
#ifndef ZB_TRANSPORT_TCP_MEET_H
#define ZB_TRANSPORT_TCP_MEET_H

#include "runtime/transport/group.h"

/* Connects all processes. sockets[i], to be closed by the caller, leads to process i (-1: this one). Takes
 * params->timeout_ms at most. What process 0 tells the user is marked as told elsewhere. */
zb_status zb_tcp_meet(const zb_group_params *params, int *sockets) ZB_MUST_USE;

/* The first words of both sides. */
typedef struct zb_tcp_card {
  uint64_t magic; /* ZB_TCP_MAGIC, in the order of bytes of its machine */
  uint64_t run;
  uint64_t meeting; /* 0: the first meeting with process 0; else what it said then */
  uint32_t process, processes;
  uint32_t port; /* where the visitor listens */
  uint32_t unused;
  char build[32];
} zb_tcp_card;
/* What process 0 says when all have come (then the addresses follow), or when there is no run. What whoever listens
 * says to one who was too slow for its place, and may come again: meeting 0. */
typedef struct zb_tcp_verdict {
  uint64_t magic, meeting;
  uint32_t refused; /* a zb_code */
  char text[512], hint[192];
} zb_tcp_verdict;
#define ZB_TCP_MAGIC UINT64_C(0x31702d74656d627a) /* "zbmet-p1": its last byte is the version */

#endif
