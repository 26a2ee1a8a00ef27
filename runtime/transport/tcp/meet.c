/* How processes find each other over TCP: see meet.h. Tests: test/runtime/transport/tcp_test.c, test/e2e/processes.py.
 */
#include "runtime/transport/tcp/meet.h"

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

enum { VISITORS_MAX = 256, VISITORS_MIN = 32, ADDRESSES_MAX = 8, NAMED_MAX = 16, ROUND_MS = 100 };
static const int64_t ms_ps = INT64_C(1000) * 1000 * 1000;
static const int64_t card_ms =
    2000; /* for the card of somebody who is there: who says nothing for longer is a stranger */
static const int64_t short_ms = 250;  /* the same while others wait for a place */
static const int64_t name_ms = 10000; /* for a host to get its name, which on a cluster may come after its processes */

/* Somebody who has connected and not said who it is. */
typedef struct visitor {
  int descriptor; /* -1: none */
  size_t have;    /* bytes of its card */
  int64_t since_ps;
  zb_tcp_card card;
} visitor;

typedef struct meeting {
  const zb_group_params *params;
  int *sockets; /* [process] */
  int64_t until_ps;
  int listener, port;        /* of this process */
  uint64_t number;           /* of the meeting, told by process 0 */
  zb_tcp_address *addresses; /* [process] family 0: where process 0 is */
  visitor visitors[VISITORS_MAX];
  int visitor_count; /* places */
} meeting;

static zb_tcp_card own_card(const meeting *m) {
  zb_tcp_card card = {.magic = ZB_TCP_MAGIC,
                      .run = m->params->run,
                      .meeting = m->number,
                      .process = (uint32_t)m->params->process,
                      .processes = (uint32_t)m->params->processes,
                      .port = (uint32_t)m->port};
  snprintf(card.build, sizeof card.build, "%s %s", ZB_VERSION, ZB_BUILD_ID);
  return card;
}

/* Whether a card is of this run; what else it says may still be wrong. */
static bool is_of_run(const meeting *m, const zb_tcp_card *card) {
  return card->magic == ZB_TCP_MAGIC && card->run == m->params->run && card->meeting == m->number;
}

static int64_t sooner(int64_t a, int64_t b) { return a < b ? a : b; }

/* ---- Those who come ---- */

static void dismiss(visitor *v) {
  if (v->descriptor >= 0) close(v->descriptor);
  *v = (visitor){.descriptor = -1};
}

/* Sends away who says nothing: a stranger hears that he may come again, and so does a process that was slow, which then
 * does. */
static void dismiss_silent(visitor *v) {
  zb_tcp_verdict later = {.magic = ZB_TCP_MAGIC};
  zb_tcp_send(v->descriptor, &later, sizeof later, 0);
  dismiss(v);
}

/* What is wrong with somebody of this run who comes to a process; NULL: nothing. */
static zb_status check_card(const meeting *m, const zb_tcp_card *card, int descriptor) {
  char one[64], other[64];
  const zb_group_params *params = m->params;
  zb_tcp_card mine = own_card(m);
  if (memcmp(card->build, mine.build, sizeof card->build) != 0)
    return zb_status_hint(ZB_ERROR(UNAVAILABLE, "process %u runs another build of zb: %.31s, process %d runs %s",
                                   card->process, card->build, params->process, mine.build),
                          "give all processes the same zb-run");
  if (card->processes != mine.processes)
    return zb_status_hint(ZB_ERROR(INVALID,
                                   "process %u was told that there are %u processes, process %d that there are %u",
                                   card->process, card->processes, params->process, mine.processes),
                          "give all processes the same WORLD_SIZE");
  if (card->process >= card->processes || card->process <= mine.process)
    return zb_status_hint(
        ZB_ERROR(INVALID, "a second process comes as process %u of %u", card->process, card->processes),
        "every process has a RANK of its own, from 0 to WORLD_SIZE - 1");
  if (m->sockets[card->process] < 0) return NULL;
  zb_tcp_address first = zb_tcp_peer(m->sockets[card->process]), second = zb_tcp_peer(descriptor);
  return zb_status_hint(ZB_ERROR(INVALID, "two processes come as process %u, from %s and %s", card->process,
                                 zb_tcp_address_text(&first, one), zb_tcp_address_text(&second, other)),
                        "every process has a RANK of its own, from 0 to WORLD_SIZE - 1");
}

/* Reads on; takes the visitor's connection when it is one of those who are awaited. */
static zb_status hear(meeting *m, visitor *v, int *left) {
  ssize_t got = recv(v->descriptor, (unsigned char *)&v->card + v->have, sizeof v->card - v->have, 0);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return NULL;
  if (got > 0) v->have += (size_t)got;
  bool foreign = v->have >= sizeof v->card.magic && v->card.magic != ZB_TCP_MAGIC;
  if (got > 0 && !foreign && v->have < sizeof v->card) return NULL;
  if (v->have < sizeof v->card || !is_of_run(m, &v->card)) {
    dismiss(v);
    return NULL;
  }
  v->card.build[sizeof v->card.build - 1] = '\0';
  ZB_TRY(check_card(m, &v->card, v->descriptor));
  m->sockets[v->card.process] = v->descriptor;
  if (m->addresses) {
    zb_tcp_address at = zb_tcp_peer(v->descriptor);
    if (zb_tcp_address_is_loopback(&at)) at.family = 0;
    at.port = (uint16_t)v->card.port;
    m->addresses[v->card.process] = at;
  }
  v->descriptor = -1;
  --*left;
  return NULL;
}

/* A free place, or NULL: then who knocks waits before the door, where the kernel keeps some thousands. */
static visitor *find_place(meeting *m) {
  for (int i = 0; i < m->visitor_count; ++i)
    if (m->visitors[i].descriptor < 0) return &m->visitors[i];
  return NULL;
}

/* Takes all who knock, while there are places. The card of this process is small enough for the buffer of a connection.
 */
static void welcome(meeting *m) {
  zb_tcp_card card = own_card(m);
  for (visitor *v; (v = find_place(m));) {
    int descriptor = zb_tcp_accept(m->listener);
    if (descriptor < 0) return;
    *v = (visitor){.descriptor = descriptor, .since_ps = zb_monotonic_ps()};
    if (!zb_tcp_send(descriptor, &card, sizeof card, v->since_ps)) dismiss(v);
  }
}

/* Strangers (port scanners) must not keep processes out: who says nothing loses his place soon, and sooner if all
 * places are taken. A process says its card at once; only one that is held up for longer has to come again. */
static void make_room(meeting *m) {
  int64_t limit_ps = (find_place(m) ? card_ms : short_ms) * ms_ps, now = zb_monotonic_ps();
  for (int i = 0; i < m->visitor_count; ++i) {
    visitor *v = &m->visitors[i];
    bool is_late = v->descriptor >= 0 && now - v->since_ps > limit_ps;
    if (is_late && !zb_tcp_has_words(v->descriptor)) dismiss_silent(v); /* else it was this process that was held up */
  }
}

/* "1, 2, 5" of the processes that have come or not. */
static void list_processes(const meeting *m, bool came, zb_text *out) {
  int listed = 0;
  for (int i = 0; i < m->params->processes; ++i) {
    bool here = i == m->params->process || m->sockets[i] >= 0;
    if (here != came || ++listed > NAMED_MAX + 1) continue;
    zb_text_add(out, listed == NAMED_MAX + 1 ? ", ..." : listed > 1 ? ", %d" : "%d", i);
  }
}

static zb_status somebody_missing(const meeting *m, int left) {
  zb_text came, missing;
  const zb_group_params *params = m->params;
  zb_text_init(&came);
  zb_text_init(&missing);
  list_processes(m, true, &came);
  list_processes(m, false, &missing);
  zb_status status =
      ZB_ERROR(TIMEOUT, "process %d waited at %s, port %d, and %d of %d processes did not come: %s (there are %s)",
               params->process, params->process == 0 ? params->address : "all its addresses", m->port, left,
               params->processes, missing.failed ? "" : missing.data, came.failed ? "" : came.data);
  zb_text_deinit(&came);
  zb_text_deinit(&missing);
  return zb_status_hint(status, "start all of them within --timeout; they need to reach this address and port");
}

static zb_status somebody_gone(const meeting *m) {
  for (int i = 0; i < m->params->processes; ++i)
    if (i != m->params->process && m->sockets[i] >= 0 && zb_tcp_is_gone(m->sockets[i]))
      return ZB_ERROR(PEER, "process %d has gone while others were awaited", i);
  return NULL;
}

/* Until `left` processes of higher numbers have come. */
static zb_status await(meeting *m, int left) {
  int64_t looked_ps = zb_monotonic_ps();
  while (left > 0) {
    struct pollfd asked[VISITORS_MAX + 1];
    int64_t now = zb_monotonic_ps();
    int places = m->visitor_count;
    if (now > m->until_ps) return somebody_missing(m, left);
    asked[places] = (struct pollfd){.fd = find_place(m) ? m->listener : -1, .events = POLLIN};
    for (int i = 0; i < places; ++i)
      asked[i] = (struct pollfd){.fd = m->visitors[i].descriptor, .events = POLLIN};
    if (poll(asked, (nfds_t)places + 1, ROUND_MS / 2) < 0 && errno != EINTR)
      return ZB_ERROR(RUNTIME, "cannot wait for processes: %s", strerror(errno));
    for (int i = 0; i < places; ++i)
      if (m->visitors[i].descriptor >= 0 && asked[i].revents) ZB_TRY(hear(m, &m->visitors[i], &left));
    make_room(m);
    welcome(m);
    if (now - looked_ps < ROUND_MS * ms_ps) continue;
    looked_ps = now;
    ZB_TRY(somebody_gone(m));
  }
  return NULL;
}

/* ---- Process 0 ---- */

static zb_status open_listener(meeting *m) {
  const zb_group_params *params = m->params;
  const char *why = "";
  zb_tcp_address at;
  bool local = zb_tcp_is_local_name(params->address);
  if (local && zb_tcp_resolve(params->address, 0, &at, 1, &why) == 0)
    return ZB_ERROR(INVALID, "cannot listen at '%s': %s", params->address, why);
  for (int i = 0; i < params->ports; ++i) {
    m->listener = zb_tcp_listen(local ? &at : NULL, params->port + i, &m->port);
    if (m->listener >= 0) return NULL;
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

/* Tells all how it ended. Who cannot be told finds out by its connection. */
static void announce(const meeting *m, zb_status failure) {
  zb_tcp_verdict v = {.magic = ZB_TCP_MAGIC, .meeting = m->number, .refused = (uint32_t)zb_status_code(failure)};
  int64_t until = zb_monotonic_ps() + card_ms * ms_ps;
  if (failure) snprintf(v.text, sizeof v.text, "%s", zb_status_message(failure));
  if (failure && zb_status_hint_text(failure)) snprintf(v.hint, sizeof v.hint, "%s", zb_status_hint_text(failure));
  for (int i = 1; i < m->params->processes; ++i) {
    if (m->sockets[i] < 0) continue;
    bool ok = zb_tcp_send(m->sockets[i], &v, sizeof v, until);
    if (ok && !failure)
      zb_tcp_send(m->sockets[i], m->addresses, sizeof *m->addresses * (size_t)m->params->processes, until);
  }
  for (int i = 0; i < VISITORS_MAX && failure; ++i) /* the one that is wrong is still a visitor */
    if (m->visitors[i].have == sizeof m->visitors[i].card) zb_tcp_send(m->visitors[i].descriptor, &v, sizeof v, until);
}

static zb_status receive_all(meeting *m) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  uint64_t words[] = {(uint64_t)now.tv_sec, (uint64_t)now.tv_nsec, (uint64_t)getpid()};
  ZB_TRY(open_listener(m));
  m->addresses = zb_alloc(sizeof(zb_tcp_address) * (size_t)m->params->processes);
  zb_status status = m->addresses ? await(m, m->params->processes - 1) : ZB_OUT_OF_MEMORY();
  m->number = zb_fnv1a(ZB_FNV_START, words, sizeof words) | 1;
  announce(m, status);
  return status;
}

/* ---- The others ---- */

/* Looks who is at an address. -1: nobody of this run; *why says what was there, if anything. */
static int visit(const meeting *m, const zb_tcp_address *address, int process, zb_tcp_card *card, const char **why) {
  int64_t until = sooner(m->until_ps, zb_monotonic_ps() + card_ms * ms_ps);
  int descriptor = zb_tcp_connect(address, until);
  if (descriptor < 0) {
    *why = strerror(errno);
    return -1;
  }
  bool heard = zb_tcp_receive(descriptor, card, sizeof *card, until);
  if (heard && is_of_run(m, card) && card->process == (uint32_t)process) return descriptor;
  *why = heard && card->magic == ZB_TCP_MAGIC ? "another run of zb-run is there" : "another program is there";
  close(descriptor);
  return -1;
}

static zb_status cannot_reach(const meeting *m, const char *why) {
  const zb_group_params *params = m->params;
  char ports[32] = "";
  if (params->ports > 1) snprintf(ports, sizeof ports, " to %d", params->port + params->ports - 1);
  return zb_status_hint(ZB_ERROR(TIMEOUT, "process %d cannot reach process 0 at %s, port %d%s, within %.1f s: %s",
                                 params->process, params->address, params->port, ports,
                                 (double)params->timeout_ms / 1e3, why),
                        "start process 0 within --timeout, and let this port through firewalls");
}

/* Tries all addresses and ports until process 0 is there. */
static zb_status find_process_0(meeting *m) {
  const zb_group_params *params = m->params;
  const char *why = "";
  int64_t start = zb_monotonic_ps(), pause_ms = 10;
  for (;;) {
    zb_tcp_address addresses[ADDRESSES_MAX];
    int count = zb_tcp_resolve(params->address, 0, addresses, ADDRESSES_MAX, &why);
    int64_t now = zb_monotonic_ps();
    if (count == 0 && (now - start > name_ms * ms_ps || now + pause_ms * ms_ps > m->until_ps))
      return ZB_ERROR(INVALID, "cannot find the host '%s' of process 0: %s", params->address, why);
    for (int i = 0; i < params->ports; ++i) {
      for (int k = 0; k < count; ++k) {
        zb_tcp_card card;
        addresses[k].port = (uint16_t)(params->port + i);
        m->sockets[0] = visit(m, &addresses[k], 0, &card, &why);
        if (m->sockets[0] >= 0) return NULL;
      }
    }
    if (zb_monotonic_ps() + pause_ms * ms_ps > m->until_ps) return cannot_reach(m, why);
    nanosleep(&(struct timespec){.tv_nsec = (long)pause_ms * 1000000}, NULL);
    if (pause_ms < 250) pause_ms += pause_ms / 2;
  }
}

/* *again: the answer came too late for the listener, which asks to come again. */
static zb_status hear_verdict(meeting *m, bool *again) {
  zb_tcp_verdict v = {0};
  /* From here on, because process 0 may have started later; it gives up sooner, and says so. */
  int64_t until = zb_monotonic_ps() + (m->params->timeout_ms + card_ms) * ms_ps;
  size_t bytes = sizeof(zb_tcp_address) * (size_t)m->params->processes;
  bool heard = zb_tcp_receive(m->sockets[0], &v, sizeof v, until) && v.magic == ZB_TCP_MAGIC;
  if (heard && v.refused) {
    v.text[sizeof v.text - 1] = v.hint[sizeof v.hint - 1] = '\0';
    zb_status status =
        zb_status_make(v.refused < ZB_CODE_COUNT ? (zb_code)v.refused : ZB_PEER, __FILE__, __LINE__, "%s", v.text);
    return zb_status_set_told(v.hint[0] ? zb_status_hint(status, "%s", v.hint) : status);
  }
  *again = heard && v.meeting == 0;
  if (*again) return NULL;
  m->addresses = zb_alloc(bytes);
  if (!m->addresses) return ZB_OUT_OF_MEMORY();
  if (heard) heard = zb_tcp_receive(m->sockets[0], m->addresses, bytes, until);
  m->number = v.meeting;
  m->until_ps = zb_monotonic_ps() + m->params->timeout_ms * ms_ps;
  if (heard) return NULL;
  return ZB_ERROR(PEER, "process %d was with process 0, which did not say that all had come: %s", m->params->process,
                  errno ? strerror(errno) : "it has gone");
}

/* To those of lower numbers, who wait in the same way for those below them: so nobody waits in a circle. */
static zb_status connect_below(meeting *m) {
  zb_tcp_address zero = zb_tcp_peer(m->sockets[0]);
  char text[64];
  for (int i = 1; i < m->params->process; ++i) {
    zb_tcp_card card;
    const char *why = "";
    zb_tcp_address at = m->addresses[i];
    if (at.family == 0)
      memcpy(at.bytes, zero.bytes, sizeof at.bytes),
          at.family = zero.family; /* on the machine of process 0, however that is called here */
    m->sockets[i] = zb_tcp_connect(&at, m->until_ps);
    bool heard = m->sockets[i] >= 0 && zb_tcp_receive(m->sockets[i], &card, sizeof card, m->until_ps);
    if (!heard) why = errno ? strerror(errno) : "it closed the connection";
    if (heard && (!is_of_run(m, &card) || card.process != (uint32_t)i)) why = "another program is there";
    if (*why)
      return zb_status_hint(
          ZB_ERROR(PEER, "process %d cannot reach process %d at %s: %s", m->params->process, i,
                   zb_tcp_address_text(&at, text), why),
          "processes connect to each other, at ports that the system chooses: no firewall may be between them");
    card = own_card(m);
    if (!zb_tcp_send(m->sockets[i], &card, sizeof card, m->until_ps))
      return ZB_ERROR(PEER, "process %d has gone while processes connect", i);
  }
  return NULL;
}

static zb_status join(meeting *m) {
  for (bool again = true; again;) {
    if (m->sockets[0] >= 0) close(m->sockets[0]);
    m->sockets[0] = -1;
    ZB_TRY(find_process_0(m));
    zb_tcp_address zero = zb_tcp_peer(m->sockets[0]);
    if (m->listener < 0)
      m->listener = zb_tcp_listen(zb_tcp_is_local_name(m->params->address) ? &zero : NULL, 0, &m->port);
    if (m->listener < 0)
      return ZB_ERROR(UNAVAILABLE, "process %d cannot listen at any port: %s", m->params->process, strerror(errno));
    zb_tcp_card card = own_card(m);
    if (!zb_tcp_send(m->sockets[0], &card, sizeof card, m->until_ps))
      return ZB_ERROR(PEER, "process 0 has gone while processes connect to it");
    ZB_TRY(hear_verdict(m, &again));
  }
  ZB_TRY(connect_below(m));
  return await(m, m->params->processes - 1 - m->params->process);
}

/* ---- All ---- */

/* A descriptor a process, those of visitors (of whom there can be fewer at a time), and of everything else. */
static zb_status need_descriptors(int processes, int *visitors) {
  struct rlimit limit;
  rlim_t needed = (rlim_t)processes + VISITORS_MIN + 64;
  *visitors = VISITORS_MAX;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= needed + VISITORS_MAX) return NULL;
  rlim_t most = limit.rlim_max;
  limit.rlim_cur = most < needed + VISITORS_MAX ? most : needed + VISITORS_MAX;
  bool raised = setrlimit(RLIMIT_NOFILE, &limit) == 0;
  if (raised && most >= needed + VISITORS_MAX) return NULL;
  *visitors = VISITORS_MIN;
  if (raised && most >= needed) return NULL;
  return zb_status_hint(ZB_ERROR(UNAVAILABLE, "%d processes need %llu open files in each, and the limit is %llu",
                                 processes, (unsigned long long)needed, (unsigned long long)most),
                        "raise it (ulimit -n), or start over MPI");
}

zb_status zb_tcp_meet(const zb_group_params *params, int *sockets) {
  zb_status status = NULL;
  meeting *m = zb_alloc(sizeof *m);
  if (!m) return ZB_OUT_OF_MEMORY();
  *m = (meeting){.params = params, .sockets = sockets, .listener = -1};
  /* Process 0 gives up first: it knows who is missing. */
  m->until_ps = zb_monotonic_ps() + (params->timeout_ms - (params->process == 0 ? params->timeout_ms / 8 : 0)) * ms_ps;
  for (int i = 0; i < params->processes; ++i)
    sockets[i] = -1;
  for (int i = 0; i < VISITORS_MAX; ++i)
    m->visitors[i].descriptor = -1;
  ZB_TRY_GOTO(need_descriptors(params->processes, &m->visitor_count));
  ZB_TRY_GOTO(params->process == 0 ? receive_all(m) : join(m));
cleanup:
  for (int i = 0; i < VISITORS_MAX; ++i)
    dismiss(&m->visitors[i]);
  if (m->listener >= 0) close(m->listener);
  zb_free(m->addresses);
  zb_free(m);
  return status;
}
