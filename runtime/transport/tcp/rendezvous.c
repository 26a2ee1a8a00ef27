/* The rendezvous of processes over TCP: see rendezvous.h. Tests: test/runtime/transport/tcp_test.c,
 * test/e2e/processes.py. */
#include "runtime/transport/tcp/rendezvous.h"

#include "runtime/base/clock.h"
#include "runtime/base/digest.h"
#include "runtime/base/module_id.h"
#include "runtime/base/text.h"
#include "runtime/transport/tcp/sockets.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { PENDING_MAX = 256, PENDING_MIN = 32, ADDRESSES_MAX = 8, NAMED_MAX = 16, ROUND_MS = 100 };
static const int64_t hello_ms = 2000;  /* for the hello of a connection: what sends none is no process of ours */
static const int64_t crowded_ms = 250; /* the same while other connections wait to be accepted */
static const int64_t name_ms = 10000;  /* for a host to get its name, which on a cluster may come after its processes */

/* A connection that has not identified itself. */
typedef struct pending {
  int descriptor; /* -1: none */
  size_t have;    /* bytes of its hello */
  int64_t since_ps;
  zb_tcp_hello hello;
} pending;

typedef struct rendezvous {
  const zb_group_params *params;
  int *sockets; /* [process] */
  int64_t until_ps;
  int listener, port;        /* of this process */
  uint64_t id;               /* drawn by process 0 */
  zb_tcp_address *addresses; /* [process] family 0: where process 0 is */
  pending pending[PENDING_MAX];
  int pending_count; /* entries that may be used */
} rendezvous;

static zb_tcp_hello own_hello(const rendezvous *r) {
  zb_tcp_hello hello = {.magic = ZB_TCP_MAGIC,
                        .run = r->params->run,
                        .id = r->id,
                        .process = (uint32_t)r->params->process,
                        .processes = (uint32_t)r->params->processes,
                        .port = (uint32_t)r->port};
  snprintf(hello.build, sizeof hello.build, "%s %s", ZB_VERSION, ZB_BUILD_ID);
  return hello;
}

/* Whether a hello is of this run; what else it says may still be wrong. */
static bool is_of_run(const rendezvous *r, const zb_tcp_hello *hello) {
  return hello->magic == ZB_TCP_MAGIC && hello->run == r->params->run && hello->id == r->id;
}

/* ---- Incoming connections ---- */

static void drop(pending *p) {
  if (p->descriptor >= 0) close(p->descriptor);
  *p = (pending){.descriptor = -1};
}

/* Drops a connection that sends nothing, and tells it to retry: a process that was slow does so. */
static void drop_silent(pending *p) {
  zb_tcp_verdict later = {.magic = ZB_TCP_MAGIC};
  zb_tcp_send(p->descriptor, &later, sizeof later, 0);
  drop(p);
}

/* What is wrong with a process of this run that connects to this one; NULL: nothing. */
static zb_status check_hello(const rendezvous *r, const zb_tcp_hello *hello, int descriptor) {
  char one[64], other[64];
  const zb_group_params *params = r->params;
  zb_tcp_hello mine = own_hello(r);
  if (memcmp(hello->build, mine.build, sizeof hello->build) != 0)
    return zb_status_hint(ZB_ERROR(UNAVAILABLE, "process %u runs another build of zb: %.31s, process %d runs %s",
                                   hello->process, hello->build, params->process, mine.build),
                          "give all processes the same zb-run");
  if (hello->processes != mine.processes)
    return zb_status_hint(ZB_ERROR(INVALID,
                                   "process %u was told that there are %u processes, process %d that there are %u",
                                   hello->process, hello->processes, params->process, mine.processes),
                          "give all processes the same WORLD_SIZE");
  if (hello->process >= hello->processes || hello->process <= mine.process)
    return zb_status_hint(
        ZB_ERROR(INVALID, "a second process comes as process %u of %u", hello->process, hello->processes),
        "every process has a RANK of its own, from 0 to WORLD_SIZE - 1");
  if (r->sockets[hello->process] < 0) return NULL;
  zb_tcp_address first = zb_tcp_peer(r->sockets[hello->process]), second = zb_tcp_peer(descriptor);
  return zb_status_hint(ZB_ERROR(INVALID, "two processes come as process %u, from %s and %s", hello->process,
                                 zb_tcp_address_text(&first, one), zb_tcp_address_text(&second, other)),
                        "every process has a RANK of its own, from 0 to WORLD_SIZE - 1");
}

/* Reads on. Once the hello is complete, the connection belongs to its process, or is dropped. */
static zb_status receive_hello(rendezvous *r, pending *p, int *left) {
  ssize_t got = recv(p->descriptor, (unsigned char *)&p->hello + p->have, sizeof p->hello - p->have, 0);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return NULL;
  if (got > 0) p->have += (size_t)got;
  bool foreign = p->have >= sizeof p->hello.magic && p->hello.magic != ZB_TCP_MAGIC;
  if (got > 0 && !foreign && p->have < sizeof p->hello) return NULL;
  if (p->have < sizeof p->hello || !is_of_run(r, &p->hello)) {
    drop(p);
    return NULL;
  }
  p->hello.build[sizeof p->hello.build - 1] = '\0';
  ZB_TRY(check_hello(r, &p->hello, p->descriptor));
  r->sockets[p->hello.process] = p->descriptor;
  if (r->addresses) {
    zb_tcp_address at = zb_tcp_peer(p->descriptor);
    if (zb_tcp_address_is_loopback(&at)) at.family = 0;
    at.port = (uint16_t)p->hello.port;
    r->addresses[p->hello.process] = at;
  }
  p->descriptor = -1;
  --*left;
  return NULL;
}

/* NULL: all are in use, and new connections wait in the accept backlog of the kernel, which has some thousands. */
static pending *free_entry(rendezvous *r) {
  for (int i = 0; i < r->pending_count; ++i)
    if (r->pending[i].descriptor < 0) return &r->pending[i];
  return NULL;
}

/* Accepts connections while there are free entries. The hello fits the buffer of a connection, so sending it does not
 * wait. */
static void accept_all(rendezvous *r) {
  zb_tcp_hello hello = own_hello(r);
  for (pending *p; (p = free_entry(r));) {
    int descriptor = zb_tcp_accept(r->listener);
    if (descriptor < 0) return;
    *p = (pending){.descriptor = descriptor, .since_ps = zb_monotonic_ps()};
    if (!zb_tcp_send(descriptor, &hello, sizeof hello, p->since_ps)) drop(p);
  }
}

/* Port scanners and the like must not keep processes out: a connection that sends nothing is dropped, and sooner if all
 * entries are in use. A process sends its hello at once; only one that is held up for longer has to retry. */
static void drop_late(rendezvous *r) {
  int64_t limit_ps = (free_entry(r) ? hello_ms : crowded_ms) * ZB_MS_PS, now = zb_monotonic_ps();
  for (int i = 0; i < r->pending_count; ++i) {
    pending *p = &r->pending[i];
    bool is_late = p->descriptor >= 0 && now - p->since_ps > limit_ps;
    if (is_late && !zb_tcp_has_bytes(p->descriptor)) drop_silent(p); /* else this process was held up */
  }
}

/* "1, 2, 5": the processes that have connected, or those that have not. */
static void list_processes(const rendezvous *r, bool connected, zb_text *out) {
  int listed = 0;
  for (int i = 0; i < r->params->processes; ++i) {
    bool here = i == r->params->process || r->sockets[i] >= 0;
    if (here != connected || ++listed > NAMED_MAX + 1) continue;
    zb_text_add(out, listed == NAMED_MAX + 1 ? ", ..." : listed > 1 ? ", %d" : "%d", i);
  }
}

static zb_status timed_out(const rendezvous *r, int left) {
  zb_text came = {0}, missing = {0};
  const zb_group_params *params = r->params;
  list_processes(r, true, &came);
  list_processes(r, false, &missing);
  zb_status status =
      ZB_ERROR(TIMEOUT, "process %d waited at %s, port %d, and %d of %d processes did not come: %s (there are %s)",
               params->process, params->process == 0 ? params->address : "all its addresses", r->port, left,
               params->processes, missing.failed ? "" : missing.data, came.failed ? "" : came.data);
  zb_text_deinit(&came);
  zb_text_deinit(&missing);
  return zb_status_hint(status, "start all of them within --timeout; they need to reach this address and port");
}

static zb_status check_connected(const rendezvous *r) {
  for (int i = 0; i < r->params->processes; ++i)
    if (i != r->params->process && r->sockets[i] >= 0 && zb_tcp_is_gone(r->sockets[i]))
      return ZB_ERROR(PEER, "process %d has gone while others were awaited", i);
  return NULL;
}

/* Until `left` processes of higher numbers have connected. */
static zb_status await_processes(rendezvous *r, int left) {
  int64_t looked_ps = zb_monotonic_ps();
  while (left > 0) {
    struct pollfd asked[PENDING_MAX + 1];
    int64_t now = zb_monotonic_ps();
    int places = r->pending_count;
    if (now > r->until_ps) return timed_out(r, left);
    asked[places] = (struct pollfd){.fd = free_entry(r) ? r->listener : -1, .events = POLLIN};
    for (int i = 0; i < places; ++i)
      asked[i] = (struct pollfd){.fd = r->pending[i].descriptor, .events = POLLIN};
    if (poll(asked, (nfds_t)places + 1, ROUND_MS / 2) < 0 && errno != EINTR)
      return ZB_ERROR(RUNTIME, "cannot wait for processes: %s", strerror(errno));
    for (int i = 0; i < places; ++i)
      if (r->pending[i].descriptor >= 0 && asked[i].revents) ZB_TRY(receive_hello(r, &r->pending[i], &left));
    drop_late(r);
    accept_all(r);
    if (now - looked_ps < ROUND_MS * ZB_MS_PS) continue;
    looked_ps = now;
    ZB_TRY(check_connected(r));
  }
  return NULL;
}

/* ---- Process 0 ---- */

static zb_status open_listener(rendezvous *r) {
  const zb_group_params *params = r->params;
  const char *why = "";
  zb_tcp_address at;
  bool local = zb_tcp_is_local_name(params->address);
  if (local && zb_tcp_resolve(params->address, 0, &at, 1, &why) == 0)
    return ZB_ERROR(INVALID, "cannot listen at '%s': %s", params->address, why);
  for (int i = 0; i < params->ports; ++i) {
    r->listener = zb_tcp_listen(local ? &at : NULL, params->port + i, &r->port);
    if (r->listener >= 0) return NULL;
    if (errno != EADDRINUSE) break;
  }
  int error = errno;
  zb_status status = ZB_ERROR(UNAVAILABLE, "process 0 cannot listen at port %d: %s", params->port, strerror(error));
  if (error == EADDRINUSE && params->ports > 1)
    return zb_status_hint(status, "the next %d ports are taken too; set MASTER_PORT to a free one in all processes",
                          params->ports - 1);
  if (error == EADDRINUSE)
    return zb_status_hint(
        status,
        "another program has it, or another process has RANK=0; set MASTER_PORT to a free one in all processes");
  return status;
}

/* Sends all processes the verdict. One that it does not reach finds out by its connection. */
static void announce(const rendezvous *r, zb_status failure) {
  zb_tcp_verdict v = {.magic = ZB_TCP_MAGIC, .id = r->id, .refused = (uint32_t)zb_status_code(failure)};
  int64_t until = zb_monotonic_ps() + hello_ms * ZB_MS_PS;
  if (failure) snprintf(v.text, sizeof v.text, "%s", zb_status_message(failure));
  if (failure && zb_status_hint_text(failure)) snprintf(v.hint, sizeof v.hint, "%s", zb_status_hint_text(failure));
  for (int i = 1; i < r->params->processes; ++i) {
    if (r->sockets[i] < 0) continue;
    bool ok = zb_tcp_send(r->sockets[i], &v, sizeof v, until);
    if (ok && !failure)
      zb_tcp_send(r->sockets[i], r->addresses, sizeof *r->addresses * (size_t)r->params->processes, until);
  }
  for (int i = 0; i < PENDING_MAX && failure; ++i) /* the process that is wrong is still pending */
    if (r->pending[i].have == sizeof r->pending[i].hello) zb_tcp_send(r->pending[i].descriptor, &v, sizeof v, until);
}

static zb_status collect(rendezvous *r) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  uint64_t words[] = {(uint64_t)now.tv_sec, (uint64_t)now.tv_nsec, (uint64_t)getpid()};
  ZB_TRY(open_listener(r));
  r->addresses = zb_alloc(sizeof(zb_tcp_address) * (size_t)r->params->processes);
  zb_status status = r->addresses ? await_processes(r, r->params->processes - 1) : ZB_OUT_OF_MEMORY();
  r->id = zb_fnv1a(ZB_FNV_START, words, sizeof words) | 1;
  announce(r, status);
  return status;
}

/* ---- The others ---- */

/* Connects to a process of this run. -1: it is not at this address; *why says what is, if anything. */
static int connect_to(const rendezvous *r, const zb_tcp_address *address, int process, const char **why) {
  zb_tcp_hello hello;
  int64_t soon = zb_monotonic_ps() + hello_ms * ZB_MS_PS, until = soon < r->until_ps ? soon : r->until_ps;
  int descriptor = zb_tcp_connect(address, until);
  if (descriptor < 0) {
    *why = strerror(errno);
    return -1;
  }
  bool received = zb_tcp_receive(descriptor, &hello, sizeof hello, until);
  if (received && is_of_run(r, &hello) && hello.process == (uint32_t)process) return descriptor;
  *why = received && hello.magic == ZB_TCP_MAGIC ? "another run of zb-run is there" : "another program is there";
  close(descriptor);
  return -1;
}

static zb_status cannot_reach(const rendezvous *r, const char *why) {
  const zb_group_params *params = r->params;
  char ports[32] = "";
  if (params->ports > 1) snprintf(ports, sizeof ports, " to %d", params->port + params->ports - 1);
  return zb_status_hint(ZB_ERROR(TIMEOUT, "process %d cannot reach process 0 at %s, port %d%s, within %.1f s: %s",
                                 params->process, params->address, params->port, ports,
                                 (double)params->timeout_ms / 1e3, why),
                        "start process 0 within --timeout, and let this port through firewalls");
}

/* Tries all addresses and ports until process 0 is there. */
static zb_status find_process_0(rendezvous *r) {
  const zb_group_params *params = r->params;
  const char *why = "";
  int64_t start = zb_monotonic_ps(), pause_ms = 10;
  for (;;) {
    zb_tcp_address addresses[ADDRESSES_MAX];
    int count = zb_tcp_resolve(params->address, 0, addresses, ADDRESSES_MAX, &why);
    int64_t now = zb_monotonic_ps();
    if (count == 0 && (now - start > name_ms * ZB_MS_PS || now + pause_ms * ZB_MS_PS > r->until_ps))
      return ZB_ERROR(INVALID, "cannot find the host '%s' of process 0: %s", params->address, why);
    for (int i = 0; i < params->ports; ++i) {
      for (int k = 0; k < count; ++k) {
        addresses[k].port = (uint16_t)(params->port + i);
        r->sockets[0] = connect_to(r, &addresses[k], 0, &why);
        if (r->sockets[0] >= 0) return NULL;
      }
    }
    if (zb_monotonic_ps() + pause_ms * ZB_MS_PS > r->until_ps) return cannot_reach(r, why);
    nanosleep(&(struct timespec){.tv_nsec = (long)pause_ms * 1000000}, NULL);
    if (pause_ms < 250) pause_ms += pause_ms / 2;
  }
}

/* *again: the hello came too late for process 0, which has dropped the connection. */
static zb_status receive_verdict(rendezvous *r, bool *again) {
  zb_tcp_verdict v = {0};
  /* From here on, because process 0 may have started later; its own limit is shorter, and it says so. */
  int64_t until = zb_monotonic_ps() + (r->params->timeout_ms + hello_ms) * ZB_MS_PS;
  size_t bytes = sizeof(zb_tcp_address) * (size_t)r->params->processes;
  bool received = zb_tcp_receive(r->sockets[0], &v, sizeof v, until) && v.magic == ZB_TCP_MAGIC;
  if (received && v.refused) {
    v.text[sizeof v.text - 1] = v.hint[sizeof v.hint - 1] = '\0';
    zb_status status =
        zb_status_make(v.refused < ZB_CODE_COUNT ? (zb_code)v.refused : ZB_PEER, __FILE__, __LINE__, "%s", v.text);
    return zb_status_set_told(v.hint[0] ? zb_status_hint(status, "%s", v.hint) : status);
  }
  *again = received && v.id == 0;
  if (*again) return NULL;
  r->addresses = zb_alloc(bytes);
  if (!r->addresses) return ZB_OUT_OF_MEMORY();
  if (received) received = zb_tcp_receive(r->sockets[0], r->addresses, bytes, until);
  r->id = v.id;
  r->until_ps = zb_monotonic_ps() + r->params->timeout_ms * ZB_MS_PS;
  if (received) return NULL;
  return ZB_ERROR(PEER, "process %d was with process 0, which did not say that all had come: %s", r->params->process,
                  errno ? strerror(errno) : "it has gone");
}

/* To processes of lower numbers, which in turn wait only for those below them, so there is no circle. */
static zb_status connect_below(rendezvous *r) {
  zb_tcp_address zero = zb_tcp_peer(r->sockets[0]);
  char text[64];
  for (int i = 1; i < r->params->process; ++i) {
    zb_tcp_hello hello;
    const char *why = "";
    zb_tcp_address at = r->addresses[i];
    if (at.family == 0)
      memcpy(at.bytes, zero.bytes, sizeof at.bytes),
          at.family = zero.family; /* on the machine of process 0, however that is called here */
    r->sockets[i] = zb_tcp_connect(&at, r->until_ps);
    bool received = r->sockets[i] >= 0 && zb_tcp_receive(r->sockets[i], &hello, sizeof hello, r->until_ps);
    if (!received) why = errno ? strerror(errno) : "it closed the connection";
    if (received && (!is_of_run(r, &hello) || hello.process != (uint32_t)i)) why = "another program is there";
    if (*why)
      return zb_status_hint(
          ZB_ERROR(PEER, "process %d cannot reach process %d at %s: %s", r->params->process, i,
                   zb_tcp_address_text(&at, text), why),
          "processes connect to each other, at ports that the system chooses: no firewall may be between them");
    hello = own_hello(r);
    if (!zb_tcp_send(r->sockets[i], &hello, sizeof hello, r->until_ps))
      return ZB_ERROR(PEER, "process %d has gone while processes connect", i);
  }
  return NULL;
}

static zb_status join(rendezvous *r) {
  for (bool again = true; again;) {
    if (r->sockets[0] >= 0) close(r->sockets[0]);
    r->sockets[0] = -1;
    ZB_TRY(find_process_0(r));
    zb_tcp_address zero = zb_tcp_peer(r->sockets[0]);
    if (r->listener < 0)
      r->listener = zb_tcp_listen(zb_tcp_is_local_name(r->params->address) ? &zero : NULL, 0, &r->port);
    if (r->listener < 0)
      return ZB_ERROR(UNAVAILABLE, "process %d cannot listen at any port: %s", r->params->process, strerror(errno));
    zb_tcp_hello hello = own_hello(r);
    if (!zb_tcp_send(r->sockets[0], &hello, sizeof hello, r->until_ps))
      return ZB_ERROR(PEER, "process 0 has gone while processes connect to it");
    ZB_TRY(receive_verdict(r, &again));
  }
  ZB_TRY(connect_below(r));
  return await_processes(r, r->params->processes - 1 - r->params->process);
}

/* ---- All ---- */

/* A descriptor a process, those of pending connections (fewer will do), and those of everything else. */
static zb_status need_descriptors(int processes, int *pending_count) {
  struct rlimit limit;
  rlim_t needed = (rlim_t)processes + PENDING_MIN + 64;
  *pending_count = PENDING_MAX;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= needed + PENDING_MAX) return NULL;
  rlim_t most = limit.rlim_max;
  limit.rlim_cur = most < needed + PENDING_MAX ? most : needed + PENDING_MAX;
  bool raised = setrlimit(RLIMIT_NOFILE, &limit) == 0;
  if (raised && most >= needed + PENDING_MAX) return NULL;
  *pending_count = PENDING_MIN;
  if (raised && most >= needed) return NULL;
  return zb_status_hint(ZB_ERROR(UNAVAILABLE, "%d processes need %llu open files in each, and the limit is %llu",
                                 processes, (unsigned long long)needed, (unsigned long long)most),
                        "raise it (ulimit -n), or start over MPI");
}

zb_status zb_tcp_rendezvous(const zb_group_params *params, int *sockets) {
  zb_status status = NULL;
  rendezvous *r = zb_alloc(sizeof *r);
  if (!r) return ZB_OUT_OF_MEMORY();
  *r = (rendezvous){.params = params, .sockets = sockets, .listener = -1};
  /* Process 0 ends first: it can name the process that is missing. */
  r->until_ps =
      zb_monotonic_ps() + (params->timeout_ms - (params->process == 0 ? params->timeout_ms / 8 : 0)) * ZB_MS_PS;
  for (int i = 0; i < params->processes; ++i)
    sockets[i] = -1;
  for (int i = 0; i < PENDING_MAX; ++i)
    r->pending[i].descriptor = -1;
  ZB_TRY_GOTO(need_descriptors(params->processes, &r->pending_count));
  ZB_TRY_GOTO(params->process == 0 ? collect(r) : join(r));
cleanup:
  for (int i = 0; i < PENDING_MAX; ++i)
    drop(&r->pending[i]);
  if (r->listener >= 0) close(r->listener);
  zb_free(r->addresses);
  zb_free(r);
  return status;
}
