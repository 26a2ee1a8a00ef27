/* The transport over TCP: a wire of frames on one connection a pair of processes.
 *
 * The process that posts a receive tells the sender (READY), and only then the bytes leave (DATA), in pieces. So
 * nothing ever arrives that has no place, no message holds up another, a connection is always read to its end, and no
 * buffer lies between the arenas but the kernel's. The two sides of a frame have the same build of zb, or they would
 * not have met. Lengths are checked against what is awaited before a byte is taken. Messages are known from the
 * agreement that all processes have the plan; before it only transfers are. Tests: test/runtime/transport/tcp_test.c,
 * test/e2e/processes.py.
 */
#define _GNU_SOURCE /* pipe2 */

#include "runtime/base/arena.h"
#include "runtime/base/clock.h"
#include "runtime/transport/processes/transport.h"
#include "runtime/transport/tcp/rendezvous.h"
#include "runtime/transport/tcp/sockets.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { NONE = -1, PIECES = 8, HOW_BYTES = 128, FAREWELL_MS = 700 };
/* The most that a frame has, so that an abort gets through; that is read from one process before the next. */
enum { CHUNK_BYTES = 1 << 20, TURN_BYTES = 4 << 20 };
static const uint32_t tag_transfer = UINT32_MAX;

typedef enum frame_kind { FRAME_READY = 1, FRAME_DATA, FRAME_ABORT, FRAME_BYE, FRAME_ASK, FRAME_HERE } frame_kind;
enum { DUE_AT_THE_END = 1 << FRAME_ABORT | 1 << FRAME_BYE };

/* READY: tag, bytes of all. DATA: tag, bytes that follow. ABORT: a zb_wire_abort follows. BYE: the process ends, and
 * has not died: it is done, or was told to end, as the receiver is or will be. ASK: whether the process is there; HERE:
 * it is. */
typedef struct frame {
  uint32_t kind, tag;
  uint64_t bytes;
} frame;

/* A message of the plan, or the transfer with a process: the side of this process. */
typedef struct item {
  zb_transport_side side;
  zb_plan_range whole;       /* the only part of a transfer */
  int peer, next;            /* next: of its list */
  bool sends, posted, ready; /* ready: the receiver waits for it */
  int part;                  /* where its bytes are at: */
  uint64_t part_done, left;
} item;

typedef struct list {
  int first, last; /* items; NONE: empty */
} list;

typedef struct peer {
  int descriptor;    /* -1: closed, or this process */
  bool has_left;     /* has sent BYE */
  bool is_blocked;   /* the kernel takes no more now */
  list ready, sends; /* to tell; to send */
  unsigned due;      /* bits of frame kinds that are to be sent: ABORT, BYE, ASK, HERE */
  frame out;
  size_t out_head; /* bytes of `out` that are still to go; after them: */
  int out_item;    /* the item that `out` is of; NONE: the abort, if anything */
  uint64_t out_left;
  frame in;
  size_t in_head; /* bytes of `in` that have come; after them: */
  int in_item;
  uint64_t in_left;
  zb_wire_abort abort_in;
} peer;

struct zb_wire {
  zb_arena memory; /* of peers and polls */
  const zb_wire_events *events;
  int process, processes;
  peer *peers; /* [process] */
  item *items; /* messages, then [process] transfers */
  int message_count;
  struct pollfd *polls; /* [process], then the pipe */
  bool polled;          /* they say what to do */
  bool quiet;           /* the run was aborted: what arrives is thrown away */
  zb_wire_abort abort_out;
  int waker[2]; /* a pipe */
};

/* ---- Items ---- */

static int transfer_item(const zb_wire *wire, int process) { return wire->message_count + process; }

static uint32_t tag_of(const zb_wire *wire, int index) {
  return index < wire->message_count ? (uint32_t)index : tag_transfer;
}

static void append(zb_wire *wire, list *to, int index) {
  wire->items[index].next = NONE;
  if (to->first == NONE)
    to->first = index;
  else
    wire->items[to->last].next = index;
  to->last = index;
}

static int take(zb_wire *wire, list *from) {
  int index = from->first;
  from->first = wire->items[index].next;
  return index;
}

static void complete(zb_wire *wire, int index) {
  item *it = &wire->items[index];
  it->posted = it->ready = false;
  if (wire->quiet) return;
  if (index < wire->message_count)
    wire->events->message(wire->events->context, index);
  else
    wire->events->transfer(wire->events->context, index - wire->message_count);
}

/* The next bytes of an item, at most `most`, as pieces of memory. */
static int pieces_of(const item *it, uint64_t most, struct iovec pieces[PIECES]) {
  uint64_t done = it->part_done;
  int count = 0;
  for (int part = it->part; part < it->side.part_count && count < PIECES && most > 0; ++part, done = 0) {
    uint64_t bytes = it->side.parts[part].bytes - done;
    if (bytes > most) bytes = most;
    if (bytes == 0) continue;
    pieces[count++] =
        (struct iovec){.iov_base = it->side.arena + it->side.parts[part].offset + done, .iov_len = (size_t)bytes};
    most -= bytes;
  }
  return count;
}

static void advance(item *it, uint64_t bytes) {
  it->left -= bytes;
  while (bytes > 0) {
    uint64_t here = it->side.parts[it->part].bytes - it->part_done;
    if (bytes < here) {
      it->part_done += bytes;
      return;
    }
    bytes -= here;
    ++it->part;
    it->part_done = 0;
  }
}

/* ---- A process that is gone ---- */

static void lose(zb_wire *wire, int process, const char *how) {
  peer *p = &wire->peers[process];
  if (p->descriptor < 0) return;
  close(p->descriptor);
  p->descriptor = -1;
  if (wire->quiet || p->has_left) return;
  wire->quiet = true;
  wire->events->lost(wire->events->context, process, how);
}

static void lose_broken(zb_wire *wire, int process, int error) {
  char how[HOW_BYTES];
  if (error == 0 || error == ECONNRESET || error == EPIPE)
    snprintf(how, sizeof how, "has died: its connection is closed");
  else
    snprintf(how, sizeof how, "has died or is out of reach: %s", strerror(error));
  lose(wire, process, how);
}

/* ---- Sending ---- */

/* Whether a frame without an item is due; it is the next one then. */
static bool take_due(peer *p, frame_kind kind) {
  if (!(p->due & 1U << kind)) return false;
  p->due &= ~(1U << kind);
  p->out = (frame){.kind = kind};
  return true;
}

/* Makes the next frame; false if there is none. An abort comes first; once the run has ended nothing new is begun. */
static bool next_frame(zb_wire *wire, peer *p) {
  p->out_item = NONE;
  p->out_left = 0;
  const bool aborts = take_due(p, FRAME_ABORT);
  if (aborts || take_due(p, FRAME_HERE) || (!wire->quiet && take_due(p, FRAME_ASK))) {
    p->out.bytes = p->out_left = aborts ? sizeof wire->abort_out : 0;
  } else if (p->ready.first != NONE && !wire->quiet) {
    int index = take(wire, &p->ready);
    p->out = (frame){.kind = FRAME_READY, .tag = tag_of(wire, index), .bytes = wire->items[index].left};
  } else if (p->sends.first != NONE && !wire->quiet) {
    p->out_item = take(wire, &p->sends);
    p->out_left = wire->items[p->out_item].left;
    if (p->out_left > CHUNK_BYTES) p->out_left = CHUNK_BYTES;
    p->out = (frame){.kind = FRAME_DATA, .tag = tag_of(wire, p->out_item), .bytes = p->out_left};
  } else if (!take_due(p, FRAME_BYE)) {
    return false;
  }
  p->out_head = sizeof p->out;
  return true;
}

/* The last `left` bytes before `end`. */
static struct iovec rest_of(void *end, uint64_t left) {
  return (struct iovec){.iov_base = (unsigned char *)end - left, .iov_len = (size_t)left};
}

/* What is left of a frame, in one call. -1 and errno. */
static ssize_t send_frame(zb_wire *wire, peer *p) {
  struct iovec pieces[PIECES + 1];
  struct msghdr message = {.msg_iov = pieces};
  if (p->out_head > 0) pieces[message.msg_iovlen++] = rest_of(&p->out + 1, p->out_head);
  if (p->out_item != NONE)
    message.msg_iovlen += (size_t)pieces_of(&wire->items[p->out_item], p->out_left, pieces + message.msg_iovlen);
  else if (p->out_left > 0)
    pieces[message.msg_iovlen++] = rest_of(&wire->abort_out + 1, p->out_left);
  return sendmsg(p->descriptor, &message, MSG_NOSIGNAL);
}

/* Sends all that the kernel takes. True if a message or a transfer is complete. */
static bool flush(zb_wire *wire, int process) {
  peer *p = &wire->peers[process];
  bool any = false;
  p->is_blocked = false;
  while (p->descriptor >= 0 && !p->is_blocked) {
    if (p->out_head == 0 && p->out_left == 0 && !next_frame(wire, p)) return any;
    ssize_t sent = send_frame(wire, p);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) {
      int error = errno;
      p->is_blocked = true;
      /* What it sent before is still to be read. */
      if (error != EAGAIN && error != EWOULDBLOCK && !zb_tcp_has_bytes(p->descriptor))
        lose_broken(wire, process, error);
      return any;
    }
    size_t head = (size_t)sent < p->out_head ? (size_t)sent : p->out_head;
    uint64_t body = (uint64_t)sent - head;
    p->out_head -= head;
    p->out_left -= body;
    if (p->out_item != NONE) advance(&wire->items[p->out_item], body);
    if (p->out_head > 0 || p->out_left > 0 || p->out_item == NONE) continue;
    if (wire->items[p->out_item].left > 0) {
      append(wire, &p->sends, p->out_item); /* behind others */
    } else {
      complete(wire, p->out_item);
      any = true;
    }
    p->out_item = NONE;
  }
  return any;
}

/* ---- Receiving ---- */

/* What a frame is about; NONE if there is no such thing. */
static int find_item(const zb_wire *wire, int process, uint32_t tag) {
  if (tag == tag_transfer) return transfer_item(wire, process);
  return tag < (uint32_t)wire->message_count ? (int)tag : NONE;
}

static bool take_ready(zb_wire *wire, int process, const frame *in) {
  int index = find_item(wire, process, in->tag);
  item *it = index == NONE ? NULL : &wire->items[index];
  if (!it || it->ready || (it->posted && (!it->sends || it->peer != process || it->left != in->bytes))) return false;
  it->ready = true;
  if (!it->posted) {
    it->left = in->bytes; /* compared when this side is there */
    it->peer = process;
    return true;
  }
  append(wire, &wire->peers[process].sends, index);
  flush(wire, process);
  return true;
}

static bool take_data(zb_wire *wire, int process, const frame *in) {
  peer *p = &wire->peers[process];
  int index = find_item(wire, process, in->tag);
  const item *it = index == NONE ? NULL : &wire->items[index];
  if (!it || !it->posted || it->sends || it->peer != process || in->bytes > it->left ||
      (in->bytes == 0) != (it->left == 0))
    return false;
  p->in_item = index;
  p->in_left = in->bytes;
  return true;
}

/* A frame has begun. False if it makes no sense. */
static bool take_head(zb_wire *wire, int process) {
  peer *p = &wire->peers[process];
  const frame *in = &p->in;
  p->in_item = NONE;
  p->in_left = 0;
  if (in->kind == FRAME_ABORT && in->bytes == sizeof p->abort_in) {
    p->in_left = sizeof p->abort_in;
    return true;
  }
  if (in->kind == FRAME_BYE && in->bytes == 0) return p->has_left = true;
  if (in->kind == FRAME_ASK && in->bytes == 0) return p->due |= 1U << FRAME_HERE;
  if (in->kind == FRAME_HERE && in->bytes == 0) return true;
  if (wire->quiet && in->kind == FRAME_DATA) { /* thrown away */
    p->in_left = in->bytes;
    return in->bytes <= CHUNK_BYTES;
  }
  if (wire->quiet) return in->kind == FRAME_READY;
  if (in->kind == FRAME_READY) return take_ready(wire, process, in);
  return in->kind == FRAME_DATA && take_data(wire, process, in);
}

/* A frame has come as a whole. True if that finished something. */
static bool end_frame(zb_wire *wire, int process) {
  peer *p = &wire->peers[process];
  int index = p->in_item;
  p->in_head = 0;
  p->in_item = NONE;
  if (p->in.kind == FRAME_ABORT && !wire->quiet) {
    p->abort_in.reason[ZB_WIRE_REASON_BYTES - 1] = '\0';
    wire->quiet = true;
    wire->events->told(wire->events->context, p->abort_in.rank, p->abort_in.reason);
  }
  if (p->in.kind == FRAME_ASK) flush(wire, process);
  if (p->in.kind == FRAME_HERE) wire->events->answered(wire->events->context, process);
  if (index == NONE || wire->items[index].left > 0) return false;
  complete(wire, index);
  return true;
}

/* Where the next bytes of a frame belong. */
static int place_of(zb_wire *wire, peer *p, unsigned char sink[CHUNK_BYTES / 16], struct iovec pieces[PIECES]) {
  if (p->in_head < sizeof p->in)
    pieces[0] = rest_of(&p->in + 1, sizeof p->in - p->in_head);
  else if (p->in.kind == FRAME_ABORT)
    pieces[0] = rest_of(&p->abort_in + 1, p->in_left);
  else if (p->in_item != NONE && !wire->quiet)
    return pieces_of(&wire->items[p->in_item], p->in_left, pieces);
  else
    pieces[0] = (struct iovec){.iov_base = sink,
                               .iov_len = p->in_left < CHUNK_BYTES / 16 ? (size_t)p->in_left : CHUNK_BYTES / 16};
  return 1;
}

/* Bytes have come. False if they make no sense. */
static bool took(zb_wire *wire, int process, size_t bytes, bool *any) {
  peer *p = &wire->peers[process];
  if (p->in_head < sizeof p->in) {
    p->in_head += bytes;
    if (p->in_head < sizeof p->in) return true;
    if (!take_head(wire, process)) return false;
  } else {
    p->in_left -= bytes;
    if (p->in_item != NONE && !wire->quiet) advance(&wire->items[p->in_item], bytes);
  }
  if (p->in_left == 0) *any |= end_frame(wire, process);
  return true;
}

/* Takes what has come; true if something is complete. */
static bool receive(zb_wire *wire, int process) {
  unsigned char sink[CHUNK_BYTES / 16];
  peer *p = &wire->peers[process];
  bool any = false;
  for (size_t all = 0; p->descriptor >= 0 && all < TURN_BYTES;) {
    struct iovec pieces[PIECES];
    struct msghdr message = {.msg_iov = pieces};
    message.msg_iovlen = (size_t)place_of(wire, p, sink, pieces);
    ssize_t got = recvmsg(p->descriptor, &message, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
    if (got <= 0) {
      lose_broken(wire, process, got < 0 ? errno : 0);
      break;
    }
    all += (size_t)got;
    if (!took(wire, process, (size_t)got, &any)) lose(wire, process, "sent what nobody asked for");
  }
  return any;
}

/* ---- What the engine asks ---- */

/* Of a transfer too: index is that of its item. Both sides must mean the same number of bytes. */
static void tcp_start_message(zb_wire *wire, int index, int process, bool sends, const zb_transport_side *side) {
  item *it = &wire->items[index];
  peer *p = &wire->peers[process];
  uint64_t bytes = 0;
  for (int i = 0; i < side->part_count; ++i)
    bytes += side->parts[i].bytes;
  if (wire->quiet) return;
  if (p->descriptor < 0) {
    wire->quiet = true;
    wire->events->lost(wire->events->context, process, "has ended, and is still needed");
    return;
  }
  if (it->ready && (!sends || it->left != bytes || it->peer != process)) {
    lose(wire, process, "waits for another message than this process sends");
    return;
  }
  it->side = *side;
  it->peer = process;
  it->sends = sends;
  it->posted = true;
  it->part = 0;
  it->part_done = 0;
  it->left = bytes;
  if (!sends)
    append(wire, &p->ready, index);
  else if (it->ready)
    append(wire, &p->sends, index);
  else
    return;
  flush(wire, process);
}

static void tcp_start_transfer(zb_wire *wire, const zb_wire_transfer *transfer) {
  int index = transfer_item(wire, transfer->peer);
  wire->items[index].whole = (zb_plan_range){.offset = 0, .bytes = transfer->bytes};
  zb_transport_side side = {transfer->data, &wire->items[index].whole, 1};
  tcp_start_message(wire, index, transfer->peer, transfer->sends, &side);
}

static void send_all(zb_wire *wire, frame_kind kind) {
  for (int i = 0; i < wire->processes; ++i) {
    wire->peers[i].due |= 1U << kind;
    flush(wire, i);
  }
}

static void tcp_ask(zb_wire *wire) { send_all(wire, FRAME_ASK); }

static void tcp_tell(zb_wire *wire, int rank, const char *reason) {
  wire->quiet = true;
  wire->abort_out = (zb_wire_abort){.rank = rank};
  snprintf(wire->abort_out.reason, ZB_WIRE_REASON_BYTES, "%s", reason);
  send_all(wire, FRAME_ABORT);
}

/* Asks the kernel what there is to do, for `wait_ms` at most. */
static void look(zb_wire *wire, int wait_ms) {
  char bytes[64];
  for (int i = 0; i < wire->processes; ++i) {
    const peer *p = &wire->peers[i];
    wire->polls[i] = (struct pollfd){.fd = p->descriptor, .events = (short)(POLLIN | (p->is_blocked ? POLLOUT : 0))};
  }
  wire->polls[wire->processes] = (struct pollfd){.fd = wire->waker[0], .events = POLLIN};
  wire->polled = poll(wire->polls, (nfds_t)wire->processes + 1, wait_ms) > 0;
  if (wire->polled && wire->polls[wire->processes].revents)
    while (read(wire->waker[0], bytes, sizeof bytes) == sizeof bytes) {
    }
}

static bool tcp_progress(zb_wire *wire, bool aborted) {
  bool any = false;
  if (aborted) wire->quiet = true;
  if (!wire->polled) look(wire, 0);
  for (int i = 0; i < wire->processes && wire->polled; ++i) {
    short events = wire->polls[i].revents;
    if (wire->peers[i].descriptor < 0 || events == 0) continue;
    if (events & (POLLIN | POLLHUP | POLLERR)) any |= receive(wire, i);
    if (events & POLLOUT) any |= flush(wire, i);
  }
  wire->polled = false;
  return any;
}

static void tcp_sleep(zb_wire *wire, int64_t ps) { look(wire, (int)((ps + ZB_MS_PS - 1) / ZB_MS_PS)); }

static void tcp_wake(zb_wire *wire) {
  ssize_t written = write(wire->waker[1], "", 1); /* full: it will wake */
  (void)written;
}

static zb_status tcp_resize(zb_wire *wire, int count) {
  size_t all = (size_t)count + (size_t)wire->processes;
  item *items = count > wire->message_count ? zb_alloc(sizeof(item) * all) : wire->items;
  if (!items) return ZB_OUT_OF_MEMORY();
  /* Of the transfers none is under way, but the next may be awaited. */
  memmove(items + count, wire->items + wire->message_count, sizeof(item) * (size_t)wire->processes);
  if (items != wire->items) zb_free(wire->items);
  memset(items, 0, sizeof(item) * (size_t)count);
  wire->items = items;
  wire->message_count = count;
  return NULL;
}

/* ---- Start and end ---- */

static void destroy(zb_wire *wire) {
  for (int i = 0; i < wire->processes && wire->peers; ++i)
    if (wire->peers[i].descriptor >= 0) close(wire->peers[i].descriptor);
  for (int i = 0; i < 2; ++i)
    if (wire->waker[i] >= 0) close(wire->waker[i]);
  zb_free(wire->items);
  zb_arena_deinit(&wire->memory);
  zb_free(wire);
}

static zb_status make_peers(zb_wire *wire, const zb_group_params *params, int *sockets) {
  for (int i = 0; i < wire->processes; ++i)
    sockets[i] = -1;
  zb_status status = wire->processes > 1 ? zb_tcp_rendezvous(params, sockets) : NULL;
  for (int i = 0; i < wire->processes; ++i)
    wire->peers[i] = (peer){
        .descriptor = sockets[i], .ready = {NONE, NONE}, .sends = {NONE, NONE}, .out_item = NONE, .in_item = NONE};
  return status;
}

static zb_status tcp_open(const zb_group_params *params, const zb_wire_events *events, zb_wire **out, int *process,
                          int *processes) {
  *out = NULL;
  if (!params->launcher || (params->processes > 1 && !params->address)) {
    return zb_status_hint(
        ZB_ERROR(USAGE, "over TCP processes meet at an address and a port, and they are not given"),
        "start with torchrun or srun, or give every process RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT");
  }
  zb_wire *wire = zb_alloc(sizeof *wire);
  if (!wire) return ZB_OUT_OF_MEMORY();
  zb_status status = NULL;
  wire->events = events;
  wire->process = *process = params->process;
  wire->processes = *processes = params->processes;
  wire->waker[0] = wire->waker[1] = -1;
  ZB_TAKE(&wire->memory, wire->peers, wire->processes);
  wire->items = zb_alloc(sizeof(item) * (size_t)wire->processes);
  ZB_TAKE(&wire->memory, wire->polls, wire->processes + 1);
  int *sockets = ZB_NEW(&wire->memory, int, wire->processes);
  if (!wire->items || wire->memory.failed) {
    wire->processes = 0; /* nothing is open */
    ZB_TRY_GOTO(ZB_OUT_OF_MEMORY());
  }
  if (pipe2(wire->waker, O_NONBLOCK | O_CLOEXEC) != 0)
    status = ZB_ERROR(RUNTIME, "cannot make a pipe: %s", strerror(errno));
  zb_status met = make_peers(wire, params, sockets); /* also after a failure: the others wait for this process */
  status = zb_status_first((zb_status[]){status, met}, 2);
cleanup:
  if (status)
    destroy(wire);
  else
    *out = wire;
  return status;
}

/* Whether something is still to be sent, or (wait) a connection is open. */
static bool is_busy(const zb_wire *wire, bool wait) {
  for (int i = 0; i < wire->processes; ++i) {
    const peer *p = &wire->peers[i];
    if (p->descriptor >= 0 && (wait || p->out_head > 0 || p->out_left > 0 || p->due & DUE_AT_THE_END)) return true;
  }
  return false;
}

/* What is to be sent goes first. Then it waits until the others have closed: closing a connection on which something
 * still arrives resets it, and the other side loses what it has not read yet. */
static void tcp_close(zb_wire *wire, bool together) {
  int64_t until = zb_monotonic_ps() + FAREWELL_MS * ZB_MS_PS;
  send_all(wire, FRAME_BYE);
  for (bool sent = false; is_busy(wire, !together) && zb_monotonic_ps() < until;) {
    for (int i = 0; i < wire->processes && !sent && !is_busy(wire, false); ++i)
      if (wire->peers[i].descriptor >= 0) shutdown(wire->peers[i].descriptor, SHUT_WR);
    sent = sent || !is_busy(wire, false);
    look(wire, 20);
    tcp_progress(wire, !together);
  }
  destroy(wire);
}

static const zb_wire_def tcp_wire = {
    .name = "TCP",
    .open = tcp_open,
    .close = tcp_close,
    .resize = tcp_resize,
    .start_message = tcp_start_message,
    .start_transfer = tcp_start_transfer,
    .ask = tcp_ask,
    .tell = tcp_tell,
    .progress = tcp_progress,
    .sleep = tcp_sleep,
    .wake = tcp_wake,
};

/* ---- The row ---- */

static zb_status group_open(const zb_group_params *params, zb_group **out) {
  return zb_engine_open(&tcp_wire, params, out);
}

static const zb_group_def group = ZB_ENGINE_GROUP(group_open);

const zb_transport_def zb_transport_tcp = {
    .name = "tcp",
    .summary = "ranks are laid over processes in equal blocks, threads within each, TCP between them (torchrun, srun)",
    .group_def = &group,
    ZB_PROCESSES_FUNCTIONS,
};
