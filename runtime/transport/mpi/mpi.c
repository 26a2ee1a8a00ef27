/* The module of MPI: the wire, the transport over it. MPI calls are in this file only, on the engine's thread only.
 * Messages of a step are persistent requests, made in the first step. Tests: test/e2e/processes.py. */
#include "runtime/base/arena.h"
#include "runtime/base/clock.h"
#include "runtime/base/module.h"
#include "runtime/base/module_id.h"
#include "runtime/transport/processes/transport.h"

#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
  TAG_TRANSFER = 1,
  TAG_ABORT = 2,
  TAG_WORD = 3,
  BLOCK_BYTES_MAX = 1 << 30, /* of one block of a datatype: counts of MPI are int */
  ABORT_SLOT = 0,            /* of `requests` */
  WORD_SLOT = 1,
  SLOTS = 2,
};
static const int64_t farewell_ps = 700 * ZB_MS_PS; /* for others to receive an abort before this process ends */

/* What travels with TAG_WORD: asks whether the receiver is there, or says that the sender is. */
typedef struct word_record {
  int32_t asks, sender;
} word_record;

/* A message: a persistent request over the parts of its side. */
typedef struct channel {
  MPI_Request request;
  zb_transport_side side;
} channel;

/* What grows with the plan. */
typedef struct tables {
  zb_arena memory;
  channel *channels; /* [message] */
  int channel_count;
  MPI_Request *requests; /* [active]: SLOTS, then transfers and messages */
  int *owners;           /* [active] message, or -1 - peer of a transfer */
  int *finished;         /* of MPI_Testsome */
} tables;

struct zb_wire {
  const zb_wire_events *events;
  int process, processes;
  MPI_Comm control, data;
  tables t;
  int active;
  MPI_Request *farewells; /* [processes] sends of an abort */
  zb_wire_abort abort_in, abort_out;
  word_record word_in, ask_out, here_out; /* _out: constant */
  bool failed;
};

/* "Open MPI v4.1.4" */
static zb_status mpi_probe(char *text, size_t size) {
  char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  if (MPI_Get_library_version(version, &length) != MPI_SUCCESS)
    return ZB_ERROR(UNAVAILABLE, "MPI does not tell its version");
  version[strcspn(version, ",\n")] = '\0';
  snprintf(text, size, "%s", version);
  return NULL;
}

/* MPI itself reports an error: nothing more can be sent to any process. */
static bool mpi_ok(zb_wire *wire, int code, const char *what) {
  if (code == MPI_SUCCESS) return true;
  char text[MPI_MAX_ERROR_STRING] = "", reason[ZB_WIRE_REASON_BYTES];
  int length = 0;
  MPI_Error_string(code, text, &length);
  snprintf(reason, sizeof reason, "MPI failed in %s: %.400s (a process may have died)", what, text);
  wire->failed = true;
  wire->events->failed(wire->events->context, reason);
  return false;
}

/* ---- Requests ---- */

static zb_status make_tables(const zb_wire *wire, int messages, tables *out) {
  int most = messages + wire->processes + SLOTS;
  *out = (tables){.channel_count = messages};
  out->channels = ZB_NEW(&out->memory, channel, messages);
  out->requests = ZB_NEW(&out->memory, MPI_Request, most);
  out->owners = ZB_NEW(&out->memory, int, most);
  out->finished = ZB_NEW(&out->memory, int, most);
  zb_status status = zb_arena_status(&out->memory);
  for (int i = 0; i <= messages && !status; ++i)
    out->channels[i].request = MPI_REQUEST_NULL;
  if (status) zb_arena_deinit(&out->memory);
  return status;
}

static void activate(zb_wire *wire, MPI_Request request, int owner) {
  wire->t.requests[wire->active] = request;
  wire->t.owners[wire->active++] = owner;
}

static zb_status mpi_resize(zb_wire *wire, int count) {
  tables next, before = wire->t;
  if (count == 0 && before.channel_count == 0) return NULL;
  for (int i = 0; i < before.channel_count && !wire->failed; ++i)
    if (before.channels[i].request != MPI_REQUEST_NULL) MPI_Request_free(&before.channels[i].request);
  if (count == 0) { /* what there is has room for no messages */
    wire->t.channel_count = 0;
    return NULL;
  }
  ZB_TRY(make_tables(wire, count, &next));
  memcpy(next.requests, before.requests, sizeof(MPI_Request) * (size_t)wire->active);
  memcpy(next.owners, before.owners, sizeof(int) * (size_t)wire->active);
  wire->t = next;
  zb_arena_deinit(&before.memory);
  return NULL;
}

/* A type over the parts of a side, each cut into blocks that MPI can count. */
static bool make_type(zb_wire *wire, const zb_transport_side *side, MPI_Datatype *out) {
  int64_t count = 0;
  for (int i = 0; i < side->part_count; ++i)
    count += (int64_t)((side->parts[i].bytes + BLOCK_BYTES_MAX - 1) / BLOCK_BYTES_MAX);
  zb_arena memory = {0};
  int *lengths = ZB_NEW(&memory, int, count);
  MPI_Aint *places = ZB_NEW(&memory, MPI_Aint, count);
  int used = 0;
  for (int i = 0; i < side->part_count && !memory.failed; ++i) {
    for (uint64_t at = 0; at < side->parts[i].bytes; at += BLOCK_BYTES_MAX, ++used) {
      uint64_t left = side->parts[i].bytes - at;
      lengths[used] = (int)(left < BLOCK_BYTES_MAX ? left : BLOCK_BYTES_MAX);
      places[used] = (MPI_Aint)(side->parts[i].offset + at);
    }
  }
  bool ok = mpi_ok(wire, memory.failed ? MPI_ERR_NO_MEM : MPI_SUCCESS, "describing a message") &&
            mpi_ok(wire, MPI_Type_create_hindexed(used, lengths, places, MPI_BYTE, out), "describing a message") &&
            mpi_ok(wire, MPI_Type_commit(out), "describing a message");
  zb_arena_deinit(&memory);
  return ok;
}

/* The request of a message. */
static bool make_channel(zb_wire *wire, int message, int peer, bool sends, const zb_transport_side *side) {
  channel *c = &wire->t.channels[message];
  MPI_Datatype type = MPI_BYTE, made = MPI_DATATYPE_NULL;
  void *at = side->arena;
  int count = 1;
  if (c->request != MPI_REQUEST_NULL) MPI_Request_free(&c->request);
  if (side->part_count == 1 && side->parts[0].bytes <= BLOCK_BYTES_MAX) {
    at = side->arena + side->parts[0].offset;
    count = (int)side->parts[0].bytes;
  } else {
    if (!make_type(wire, side, &made)) return false;
    type = made;
  }
  int code = sends ? MPI_Send_init(at, count, type, peer, message, wire->data, &c->request)
                   : MPI_Recv_init(at, count, type, peer, message, wire->data, &c->request);
  if (made != MPI_DATATYPE_NULL) MPI_Type_free(&made); /* the request keeps it */
  c->side = *side;
  return mpi_ok(wire, code, "preparing a message");
}

static bool same_side(const zb_transport_side *a, const zb_transport_side *b) {
  return a->arena == b->arena && a->parts == b->parts && a->part_count == b->part_count;
}

static void mpi_start_message(zb_wire *wire, int message, int peer, bool sends, const zb_transport_side *side) {
  channel *c = &wire->t.channels[message];
  if ((c->request == MPI_REQUEST_NULL || !same_side(&c->side, side)) && !make_channel(wire, message, peer, sends, side))
    return;
  if (mpi_ok(wire, MPI_Start(&c->request), "starting a message")) activate(wire, c->request, message);
}

static void mpi_start_transfer(zb_wire *wire, const zb_wire_transfer *t) {
  MPI_Request request = MPI_REQUEST_NULL;
  int code = t->sends ? MPI_Isend(t->data, (int)t->bytes, MPI_BYTE, t->peer, TAG_TRANSFER, wire->control, &request)
                      : MPI_Irecv(t->data, (int)t->bytes, MPI_BYTE, t->peer, TAG_TRANSFER, wire->control, &request);
  if (mpi_ok(wire, code, "starting a transfer")) activate(wire, request, -1 - t->peer);
}

static void mpi_tell(zb_wire *wire, int rank, const char *reason) {
  wire->abort_out = (zb_wire_abort){.rank = rank};
  snprintf(wire->abort_out.reason, ZB_WIRE_REASON_BYTES, "%s", reason);
  for (int i = 0; i < wire->processes && !wire->failed; ++i)
    if (i != wire->process)
      MPI_Isend(&wire->abort_out, (int)sizeof wire->abort_out, MPI_BYTE, i, TAG_ABORT, wire->control,
                &wire->farewells[i]);
}

/* What is sent is constant, so nothing has to wait for it. */
static void send_word(zb_wire *wire, int peer, const word_record *word) {
  MPI_Request request = MPI_REQUEST_NULL;
  if (!mpi_ok(wire, MPI_Isend(word, (int)sizeof *word, MPI_BYTE, peer, TAG_WORD, wire->control, &request),
              "asking who is there"))
    return;
  MPI_Request_free(&request);
}

static void mpi_ask(zb_wire *wire) {
  for (int i = 0; i < wire->processes && !wire->failed; ++i)
    if (i != wire->process) send_word(wire, i, &wire->ask_out);
}

static int await_word(zb_wire *wire) {
  return MPI_Irecv(&wire->word_in, (int)sizeof wire->word_in, MPI_BYTE, MPI_ANY_SOURCE, TAG_WORD, wire->control,
                   &wire->t.requests[WORD_SLOT]);
}

static void take_word(zb_wire *wire) {
  word_record word = wire->word_in;
  if (!mpi_ok(wire, await_word(wire), "waiting for messages")) return;
  if (word.asks)
    send_word(wire, word.sender, &wire->here_out);
  else
    wire->events->answered(wire->events->context, word.sender);
}

static void finish(zb_wire *wire, int slot) {
  int owner = wire->t.owners[slot];
  if (slot == ABORT_SLOT) {
    wire->abort_in.reason[ZB_WIRE_REASON_BYTES - 1] = '\0';
    wire->events->told(wire->events->context, wire->abort_in.rank, wire->abort_in.reason);
  } else if (slot == WORD_SLOT) {
    take_word(wire);
  } else if (owner >= 0) {
    wire->events->message(wire->events->context, owner);
  } else {
    wire->events->transfer(wire->events->context, -1 - owner);
  }
}

static int descending(const void *a, const void *b) { return *(const int *)b - *(const int *)a; }

/* After an abort nothing is asked of MPI any more: what is under way may never end. */
static bool mpi_progress(zb_wire *wire, bool aborted) {
  int count = 0;
  if (aborted || wire->failed) return false;
  if (!mpi_ok(wire, MPI_Testsome(wire->active, wire->t.requests, &count, wire->t.finished, MPI_STATUSES_IGNORE),
              "carrying messages"))
    return false;
  if (count == MPI_UNDEFINED || count == 0) return false;
  if (count > 1) qsort(wire->t.finished, (size_t)count, sizeof(int), descending);
  for (int i = 0; i < count; ++i) {
    int slot = wire->t.finished[i];
    finish(wire, slot);
    if (slot < SLOTS) continue;
    --wire->active;
    wire->t.requests[slot] = wire->t.requests[wire->active];
    wire->t.owners[slot] = wire->t.owners[wire->active];
  }
  return true;
}

/* ---- Start and end ---- */

/* MPI_Init waits for all processes without a limit, and cannot be cancelled: this runs on a thread of a timer. */
static void give_up_start(union sigval value) {
  const zb_group_params *params = value.sival_ptr;
  params->give_up(zb_status_hint(
      ZB_ERROR(TIMEOUT, "MPI has not started within %.1f s: it waits for all processes, and one of them does not come",
               (double)params->timeout_ms / 1000),
      "one may have stopped or never begun; --timeout gives them more time"));
}

/* False if there is no limit, or no timer. */
static bool limit_start(const zb_group_params *params, timer_t *out) {
  struct sigevent event = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = give_up_start};
  struct itimerspec limit = {.it_value = {.tv_sec = (time_t)(params->timeout_ms / 1000),
                                          .tv_nsec = (long)(params->timeout_ms % 1000) * 1000000}};
  event.sigev_value.sival_ptr = (void *)(uintptr_t)params;
  if (!params->give_up || params->timeout_ms <= 0 || timer_create(CLOCK_MONOTONIC, &event, out) != 0) return false;
  timer_settime(*out, 0, &limit, NULL);
  return true;
}

static zb_status start_mpi(const zb_group_params *params, zb_wire *wire) {
  int provided = MPI_THREAD_SINGLE, is_running = 0, is_over = 0;
  MPI_Initialized(&is_running);
  MPI_Finalized(&is_over);
  if (is_running || is_over)
    return zb_status_hint(ZB_ERROR(UNAVAILABLE, "MPI was already started by this process, and cannot be started twice"),
                          "a process can have one session over MPI");
  timer_t limit;
  bool is_limited = limit_start(params, &limit);
  bool is_started = MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided) == MPI_SUCCESS;
  if (is_limited) timer_delete(limit);
  if (!is_started) return ZB_ERROR(UNAVAILABLE, "MPI cannot be started");
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_rank(MPI_COMM_WORLD, &wire->process);
  MPI_Comm_size(MPI_COMM_WORLD, &wire->processes);
  if (provided < MPI_THREAD_FUNNELED)
    return ZB_ERROR(UNAVAILABLE, "this MPI allows no threads: expected MPI_THREAD_FUNNELED");
  if (params->processes > 0 && params->processes != wire->processes)
    return zb_status_hint(ZB_ERROR(UNAVAILABLE,
                                   "the variables of a start by %s say that there are %d processes, MPI finds %d",
                                   params->launcher, params->processes, wire->processes),
                          "start with mpirun, or with srun --mpi=pmix; or without MPI: --launch tcp");
  return NULL;
}

static zb_status make_wire(zb_wire *wire) {
  size_t count = (size_t)wire->processes;
  wire->farewells = zb_alloc(sizeof(MPI_Request) * count);
  if (!wire->farewells) return ZB_OUT_OF_MEMORY();
  ZB_TRY(make_tables(wire, 0, &wire->t));
  for (size_t i = 0; i < count; ++i)
    wire->farewells[i] = MPI_REQUEST_NULL;
  if (MPI_Comm_dup(MPI_COMM_WORLD, &wire->control) != MPI_SUCCESS ||
      MPI_Comm_dup(MPI_COMM_WORLD, &wire->data) != MPI_SUCCESS)
    return ZB_ERROR(PEER, "the processes cannot reach each other through MPI");
  MPI_Comm_set_errhandler(wire->control, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(wire->data, MPI_ERRORS_RETURN);
  wire->active = SLOTS;
  wire->ask_out = (word_record){.asks = true, .sender = wire->process};
  wire->here_out = (word_record){.sender = wire->process};
  if (MPI_Irecv(&wire->abort_in, (int)sizeof wire->abort_in, MPI_BYTE, MPI_ANY_SOURCE, TAG_ABORT, wire->control,
                &wire->t.requests[ABORT_SLOT]) != MPI_SUCCESS ||
      await_word(wire) != MPI_SUCCESS)
    return ZB_ERROR(PEER, "the processes cannot reach each other through MPI");
  return NULL;
}

static void destroy(zb_wire *wire) {
  zb_free(wire->farewells);
  zb_arena_deinit(&wire->t.memory);
  zb_free(wire);
}

static zb_status mpi_open(const zb_group_params *params, const zb_wire_events *events, zb_wire **out, int *process,
                          int *processes) {
  *out = NULL;
  zb_wire *wire = zb_alloc(sizeof *wire);
  if (!wire) return ZB_OUT_OF_MEMORY();
  wire->events = events;
  zb_status status = start_mpi(params, wire);
  if (!status) status = make_wire(wire);
  if (status) {
    destroy(wire);
    return status;
  }
  *process = wire->process;
  *processes = wire->processes;
  *out = wire;
  return NULL;
}

static void mpi_close(zb_wire *wire, bool together) {
  if (together && !wire->failed) {
    for (int i = 0; i < SLOTS; ++i)
      MPI_Cancel(&wire->t.requests[i]);
    MPI_Waitall(SLOTS, wire->t.requests, MPI_STATUSES_IGNORE);
    MPI_Comm_free(&wire->control);
    MPI_Comm_free(&wire->data);
    MPI_Finalize();
  } else {
    int64_t until = zb_monotonic_ps() + farewell_ps;
    while (zb_monotonic_ps() < until) {
      int all = 0;
      if (!wire->failed) MPI_Testall(wire->processes, wire->farewells, &all, MPI_STATUSES_IGNORE);
      nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
  }
  destroy(wire);
}

static const zb_wire_def mpi_wire = {
    .name = "MPI",
    .open = mpi_open,
    .close = mpi_close,
    .resize = mpi_resize,
    .start_message = mpi_start_message,
    .start_transfer = mpi_start_transfer,
    .ask = mpi_ask,
    .tell = mpi_tell,
    .progress = mpi_progress,
};

/* ---- The row ---- */

static zb_status group_open(const zb_group_params *params, zb_group **out) {
  return zb_engine_open(&mpi_wire, params, out);
}

static const zb_group_def group = ZB_ENGINE_GROUP(group_open);

static const zb_transport_def mpi = {
    .name = "mpi",
    .summary = "ranks are laid over processes in equal blocks, threads within each, Open MPI between them",
    .probe = mpi_probe,
    .group_def = &group,
    ZB_PROCESSES_FUNCTIONS,
};

static const zb_part_def *const parts[] = {&mpi.part, NULL};

ZB_MODULE_EXPORT = {.abi = ZB_MODULE_ABI, .build_id = ZB_BUILD_ID, .name = "mpi", .parts = parts};
