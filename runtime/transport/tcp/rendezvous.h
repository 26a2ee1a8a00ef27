/* The rendezvous of the processes of a run over TCP. The launcher sets numbers, an address and a port, and nothing
 * else.
 *
 * Process 0 listens at the address. The listening side sends its hello first (magic, process, run, build of zb), so
 * nothing is sent to a program that is not ours. The connecting side answers with its hello, which has the port where
 * it listens itself. When all processes have connected, or something is wrong, process 0 sends all of them its verdict:
 * the addresses of all, or why there is no run. A connection that sends nothing for long is dropped and told to retry.
 * Then each process connects to those of lower numbers: one connection a pair. Nothing here is authenticated.
 */
#pragma once

#include "runtime/transport/group.h"

/* Connects all processes. sockets[i], to be closed by the caller, leads to process i (-1: this one). Takes
 * params->timeout_ms at most. What process 0 tells the user is marked as told elsewhere. */
zb_status zb_tcp_rendezvous(const zb_group_params *params, int *sockets) ZB_MUST_USE;

/* The first message of both sides. */
typedef struct zb_tcp_hello {
  uint64_t magic; /* ZB_TCP_MAGIC, in the order of bytes of its machine */
  uint64_t run;
  uint64_t id; /* of the rendezvous, from the verdict of process 0; 0: there is none yet */
  uint32_t process, processes;
  uint32_t port; /* where the connecting side listens */
  uint32_t unused;
  char build[32];
} zb_tcp_hello;
/* From process 0: all have connected (the addresses follow), or there is no run. From a listening side, with id 0: the
 * connection was dropped because its hello came late, and may be made again. */
typedef struct zb_tcp_verdict {
  uint64_t magic, id;
  uint32_t refused; /* a zb_code */
  char text[512], hint[192];
} zb_tcp_verdict;
#define ZB_TCP_MAGIC UINT64_C(0x31702d74656d627a) /* "zbmet-p1": its last byte is the version */
