/* Sockets with deadlines: see sockets.h. POSIX of 2024, TCP_NODELAY and POLLRDHUP, nothing else. Tests:
 * test/runtime/transport/tcp_test.c. */
#define _GNU_SOURCE /* accept4, POLLRDHUP */

#include "runtime/transport/tcp/sockets.h"

#include "runtime/base/clock.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

typedef union socket_address {
  struct sockaddr any;
  struct sockaddr_in v4;
  struct sockaddr_in6 v6;
  struct sockaddr_storage room;
} socket_address;

static socklen_t to_socket_address(const zb_tcp_address *address, socket_address *out) {
  *out = (socket_address){0};
  if (address->family == 4) {
    out->v4.sin_family = AF_INET;
    out->v4.sin_port = htons(address->port);
    memcpy(&out->v4.sin_addr, address->bytes, 4);
    return sizeof out->v4;
  }
  out->v6.sin6_family = AF_INET6;
  out->v6.sin6_port = htons(address->port);
  memcpy(&out->v6.sin6_addr, address->bytes, 16);
  return sizeof out->v6;
}

/* An IPv4 address that came through an IPv6 socket is one of IPv4 again. */
static zb_tcp_address of_socket_address(const socket_address *from) {
  zb_tcp_address out = {0};
  if (from->any.sa_family == AF_INET) {
    out.family = 4;
    out.port = ntohs(from->v4.sin_port);
    memcpy(out.bytes, &from->v4.sin_addr, 4);
  } else if (from->any.sa_family == AF_INET6) {
    bool mapped = IN6_IS_ADDR_V4MAPPED(&from->v6.sin6_addr);
    out.family = mapped ? 4 : 6;
    out.port = ntohs(from->v6.sin6_port);
    memcpy(out.bytes, (const unsigned char *)&from->v6.sin6_addr + (mapped ? 12 : 0), mapped ? 4 : 16);
  }
  return out;
}

const char *zb_tcp_address_text(const zb_tcp_address *address, char text[64]) {
  char host[INET6_ADDRSTRLEN] = "?";
  inet_ntop(address->family == 4 ? AF_INET : AF_INET6, address->bytes, host, sizeof host);
  snprintf(text, 64, address->family == 4 ? "%s:%d" : "[%s]:%d", host, address->port);
  return text;
}

bool zb_tcp_address_is_loopback(const zb_tcp_address *address) {
  static const uint8_t one[16] = {[15] = 1};
  return address->family == 4 ? address->bytes[0] == 127 : address->family == 6 && memcmp(address->bytes, one, 16) == 0;
}

bool zb_tcp_is_local_name(const char *host) {
  zb_tcp_address address = {.family = 4};
  if (strcmp(host, "localhost") == 0) return true;
  if (inet_pton(AF_INET, host, address.bytes) == 1) return zb_tcp_address_is_loopback(&address);
  address.family = 6;
  return inet_pton(AF_INET6, host, address.bytes) == 1 && zb_tcp_address_is_loopback(&address);
}

int zb_tcp_resolve(const char *host, int port, zb_tcp_address *out, int most, const char **why) {
  struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM}, *found = NULL;
  int error = getaddrinfo(host, NULL, &hints, &found), count = 0;
  *why = error ? gai_strerror(error) : "it has no address";
  if (error) return 0;
  for (const struct addrinfo *at = found; at && count < most; at = at->ai_next) {
    socket_address address = {0};
    memcpy(&address, at->ai_addr, at->ai_addrlen < sizeof address ? at->ai_addrlen : sizeof address);
    out[count] = of_socket_address(&address);
    out[count].port = (uint16_t)port;
    count += out[count].family != 0;
  }
  freeaddrinfo(found);
  return count;
}

/* ---- Descriptors ---- */

/* Keeps errno. */
static int close_failed(int descriptor) {
  int error = errno;
  if (descriptor >= 0) close(descriptor);
  errno = error;
  return -1;
}

enum { STREAM = SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC };

/* Small messages must not wait for others. */
static void send_at_once(int descriptor) {
  int one = 1;
  setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
}

static int listen_at(const zb_tcp_address *address) {
  socket_address at;
  socklen_t bytes = to_socket_address(address, &at);
  int one = 1, zero = 0, descriptor = socket(at.any.sa_family, STREAM, 0);
  if (descriptor < 0) return -1;
  setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &one,
             sizeof one); /* connections of a run that has ended do not hold the port */
  if (address->family == 6) setsockopt(descriptor, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof zero);
  if (bind(descriptor, &at.any, bytes) != 0 || listen(descriptor, SOMAXCONN) != 0) return close_failed(descriptor);
  return descriptor;
}

int zb_tcp_listen(const zb_tcp_address *only, int port, int *out_port) {
  zb_tcp_address address = {.family = 6}; /* takes IPv4 too */
  if (only) address = *only;
  address.port = (uint16_t)port;
  int descriptor = listen_at(&address);
  if (descriptor < 0 && errno != EADDRINUSE && !only) { /* a machine without IPv6 */
    address.family = 4;
    descriptor = listen_at(&address);
  }
  socket_address at = {0};
  socklen_t bytes = sizeof at;
  if (descriptor >= 0 && getsockname(descriptor, &at.any, &bytes) != 0) return close_failed(descriptor);
  *out_port = of_socket_address(&at).port;
  return descriptor;
}

int zb_tcp_accept(int listener) {
  int descriptor = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (descriptor >= 0) send_at_once(descriptor);
  return descriptor;
}

zb_tcp_address zb_tcp_peer(int descriptor) {
  socket_address at = {0};
  socklen_t bytes = sizeof at;
  if (getpeername(descriptor, &at.any, &bytes) != 0) at = (socket_address){0};
  return of_socket_address(&at);
}

/* Until the descriptor is ready for an event; false and ETIMEDOUT at the deadline. */
static bool wait_for(int descriptor, short events, int64_t until_ps) {
  for (;;) {
    int64_t left_ps = until_ps - zb_monotonic_ps();
    struct pollfd ask = {.fd = descriptor, .events = events};
    int ready = poll(&ask, 1, left_ps > 0 ? (int)(left_ps / ZB_MS_PS + 1) : 0);
    if (ready > 0) return true;
    if (ready == 0 && left_ps <= 0) {
      errno = ETIMEDOUT;
      return false;
    }
    if (ready < 0 && errno != EINTR) return false;
  }
}

/* On one machine, a connection to a port where nobody listens may be connected to itself. */
static bool is_itself(int descriptor) {
  socket_address here = {0};
  socklen_t bytes = sizeof here;
  if (getsockname(descriptor, &here.any, &bytes) != 0) return false;
  zb_tcp_address a = of_socket_address(&here), b = zb_tcp_peer(descriptor);
  return a.port == b.port && a.family == b.family && memcmp(a.bytes, b.bytes, sizeof a.bytes) == 0;
}

int zb_tcp_connect(const zb_tcp_address *address, int64_t until_ps) {
  socket_address at;
  socklen_t bytes = to_socket_address(address, &at);
  int descriptor = socket(at.any.sa_family, STREAM, 0), error = 0;
  socklen_t error_bytes = sizeof error;
  if (descriptor < 0) return -1;
  if (connect(descriptor, &at.any, bytes) != 0) {
    if (errno != EINPROGRESS || !wait_for(descriptor, POLLOUT, until_ps)) return close_failed(descriptor);
    if (getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &error_bytes) != 0) return close_failed(descriptor);
  }
  errno = error ? error : is_itself(descriptor) ? ECONNREFUSED : 0;
  if (errno) return close_failed(descriptor);
  send_at_once(descriptor);
  return descriptor;
}

/* All bytes, in one direction; see zb_tcp_send. */
static bool transfer(int descriptor, bool sends, unsigned char *bytes, size_t count, int64_t until_ps) {
  while (count > 0) {
    ssize_t moved = sends ? send(descriptor, bytes, count, MSG_NOSIGNAL) : recv(descriptor, bytes, count, 0);
    if (moved == 0) errno = 0;
    if (moved > 0) {
      bytes += moved;
      count -= (size_t)moved;
    } else if (errno != EINTR && (errno != EAGAIN || !wait_for(descriptor, sends ? POLLOUT : POLLIN, until_ps))) {
      return false;
    }
  }
  return true;
}

bool zb_tcp_send(int descriptor, const void *bytes, size_t count, int64_t until_ps) {
  return transfer(descriptor, true, (unsigned char *)(uintptr_t)bytes, count, until_ps);
}

bool zb_tcp_receive(int descriptor, void *bytes, size_t count, int64_t until_ps) {
  return transfer(descriptor, false, bytes, count, until_ps);
}

bool zb_tcp_has_bytes(int descriptor) {
  char byte = 0;
  return recv(descriptor, &byte, 1, MSG_PEEK) > 0;
}

bool zb_tcp_is_gone(int descriptor) {
  struct pollfd ask = {.fd = descriptor, .events = POLLRDHUP};
  return poll(&ask, 1, 0) > 0;
}
