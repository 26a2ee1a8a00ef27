/* The thread that speaks MPI: see engine.h. MPI calls are in this file only, on that thread only. Tests: test/e2e/mpi.py. */
#include "runtime/transport/mpi/engine.h"

#include "runtime/base/text.h"

#include <errno.h>
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
  TAG_TRANSFER = 1,
  TAG_ABORT = 2,
  REASON_BYTES = 1024,
  HOST_BYTES = 64,
  BLOCK_BYTES_MAX = 1 << 30, /* of one block of a datatype: counts of MPI are int */
  ABORT_SLOT = 0,            /* of `requests` */
};
static const int64_t us_ps = 1000 * 1000;
static const int64_t spin_ps = INT64_C(50) * 1000 * 1000;     /* after something happened, where a core is free */
static const int64_t nap_least_ps = INT64_C(20) * 1000 * 1000; /* between two looks at what is under way */
static const int64_t nap_most_ps = INT64_C(500) * 1000 * 1000;
static const int64_t nap_idle_ps = INT64_C(10) * 1000 * 1000 * 1000; /* nothing is: only an abort could come */
static const int64_t watch_ps = INT64_C(200) * 1000 * 1000 * 1000;
static const int64_t farewell_ps = INT64_C(700) * 1000 * 1000 * 1000; /* for others to hear an abort before this process ends */

/* What travels with TAG_ABORT. */
typedef struct abort_record {
  int32_t rank;
  char reason[REASON_BYTES];
} abort_record;

typedef struct process_record {
  int32_t pid;
  uint64_t machine; /* boot and namespace that the pid is of; 0: not known */
  char host[HOST_BYTES];
} process_record;

/* One transfer of a merge or a gather. */
typedef struct transfer {
  bool sends;
  int peer;
  void *data;
  size_t bytes;
  bool done;
} transfer;

/* What the thread made of a message: a persistent request over the parts of its side. */
typedef struct channel {
  MPI_Request request;
  zb_transport_side side;
} channel;

/* What grows with the plan. */
typedef struct tables {
  channel *channels;     /* [message] */
  int channel_count;
  int *posts, *taken;    /* [message] to start: as asked, guarded by the mutex; as taken by the thread */
  MPI_Request *requests; /* [active]: ABORT_SLOT, then transfers and messages */
  int *owners;           /* [active] message, or -1 - index of a transfer */
  int *finished;         /* of MPI_Testsome */
} tables;

struct zb_group {
  zb_group_params params;
  int process, processes, neighbours;
  process_record *known; /* [process] */
  pthread_t thread;
  bool started;
  pthread_mutex_t mutex; /* guards the next block */
  pthread_cond_t wake, done;
  bool ready, stopping, together;
  zb_status failure; /* of the start */
  int batch_count, batch_left; /* of `transfers`, which a caller waits for */
  bool batch_new;
  int post_count;
  bool aborted, abort_new;
  abort_record abort_out;
  bool plan_new; /* the plan changes: the thread swaps `t` and `next`, and clears it */
  tables next;
  const zb_plan *plan;
  zb_mailboxes *boxes;
  zb_mpi_message *messages;
  /* Of callers. */
  unsigned char *scratch; /* of merges */
  size_t scratch_bytes;
  unsigned char *gathered; /* of a gather that failed: MPI may still write there */
  transfer *transfers;     /* [processes] */
  /* Of the thread alone. */
  MPI_Comm control, data;
  tables t;
  int active;
  MPI_Request *farewells; /* [processes] sends of an abort */
  abort_record abort_in;
  bool mpi_failed;
  int64_t watched_ps; /* when it last looked at its neighbours */
};

static int64_t now_ps(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return ((int64_t)now.tv_sec * 1000000000 + now.tv_nsec) * 1000;
}

static struct timespec deadline_of(int64_t at_ps) {
  return (struct timespec){.tv_sec = (time_t)(at_ps / 1000000000000), .tv_nsec = (long)(at_ps / 1000 % 1000000000)};
}

zb_status zb_mpi_probe(char *text, size_t size) {
  char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  if (MPI_Get_library_version(version, &length) != MPI_SUCCESS) return ZB_ERROR(UNAVAILABLE, "MPI does not tell its version");
  version[strcspn(version, ",\n")] = '\0';
  snprintf(text, size, "%s", version);
  return NULL;
}

/* "process 2 (ranks 4 to 5, pid 4711 on node3)". */
static const char *describe(const zb_group *group, int process, char *text, size_t size) {
  char ranks[64] = "";
  if (group->plan) {
    int first = 0, count = zb_group_ranks(group->plan->rank_count, group->processes, process, &first);
    if (count == 1)
      snprintf(ranks, sizeof ranks, "rank %d, ", first);
    else
      snprintf(ranks, sizeof ranks, "ranks %d to %d, ", first, first + count - 1);
  }
  snprintf(text, size, "process %d (%spid %d on %s)", process, ranks, (int)group->known[process].pid, group->known[process].host);
  return text;
}

/* ---- Aborts, from any thread ---- */

static void abort_locked(zb_group *group, int rank, const char *reason, bool tell) {
  if (group->aborted) return;
  group->aborted = true;
  group->abort_new = tell;
  group->abort_out = (abort_record){.rank = rank};
  snprintf(group->abort_out.reason, REASON_BYTES, "%s", reason);
  if (group->boxes) zb_mailboxes_abort(group->boxes, rank, reason);
  pthread_cond_signal(&group->wake);
  pthread_cond_broadcast(&group->done);
}

static void group_abort(zb_group *group, int rank, const char *reason) {
  pthread_mutex_lock(&group->mutex);
  abort_locked(group, rank, reason, true);
  pthread_mutex_unlock(&group->mutex);
}

/* ---- The thread: requests ---- */

/* MPI itself reports an error: nothing more can be said to anyone. */
static bool mpi_ok(zb_group *group, int code, const char *what) {
  if (code == MPI_SUCCESS) return true;
  char text[MPI_MAX_ERROR_STRING] = "", reason[REASON_BYTES];
  int length = 0;
  MPI_Error_string(code, text, &length);
  snprintf(reason, sizeof reason, "MPI failed in %s: %.400s (a process may have died)", what, text);
  group->mpi_failed = true;
  pthread_mutex_lock(&group->mutex);
  abort_locked(group, -1, reason, false);
  pthread_mutex_unlock(&group->mutex);
  return false;
}

static void free_tables(tables *t) {
  zb_free(t->channels);
  zb_free(t->posts);
  zb_free(t->taken);
  zb_free(t->requests);
  zb_free(t->owners);
  zb_free(t->finished);
  *t = (tables){0};
}

static bool make_tables_of(const zb_group *group, int messages, tables *out) {
  size_t count = (size_t)messages + 1, most = (size_t)(messages + group->processes) + 2;
  *out = (tables){
      .channels = zb_alloc(sizeof(channel) * count),
      .channel_count = messages,
      .posts = zb_alloc(sizeof(int) * count),
      .taken = zb_alloc(sizeof(int) * count),
      .requests = zb_alloc(sizeof(MPI_Request) * most),
      .owners = zb_alloc(sizeof(int) * most),
      .finished = zb_alloc(sizeof(int) * most),
  };
  bool ok = out->channels && out->posts && out->taken && out->requests && out->owners && out->finished;
  for (size_t i = 0; ok && i < count; ++i)
    out->channels[i].request = MPI_REQUEST_NULL;
  if (!ok) free_tables(out);
  return ok;
}

static void activate(zb_group *group, MPI_Request request, int owner) {
  group->t.requests[group->active] = request;
  group->t.owners[group->active++] = owner;
}

/* A request over the parts of a side, each cut into blocks that MPI can count. */
static bool make_channel(zb_group *group, int message, const zb_mpi_message *m) {
  channel *c = &group->t.channels[message];
  const zb_transport_side *side = &m->side;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  if (c->request != MPI_REQUEST_NULL) MPI_Request_free(&c->request);
  bool ok = true;
  if (side->part_count == 1 && side->parts[0].bytes <= BLOCK_BYTES_MAX) {
    void *at = side->arena + side->parts[0].offset;
    int bytes = (int)side->parts[0].bytes;
    int code = m->sends ? MPI_Send_init(at, bytes, MPI_BYTE, m->peer, message, group->data, &c->request)
                        : MPI_Recv_init(at, bytes, MPI_BYTE, m->peer, message, group->data, &c->request);
    c->side = *side;
    return mpi_ok(group, code, "preparing a message");
  }
  int64_t count = 0;
  for (int i = 0; i < side->part_count; ++i)
    count += (int64_t)((side->parts[i].bytes + BLOCK_BYTES_MAX - 1) / BLOCK_BYTES_MAX);
  int *lengths = zb_alloc(sizeof(int) * (size_t)(count + 1));
  MPI_Aint *places = zb_alloc(sizeof(MPI_Aint) * (size_t)(count + 1));
  int used = 0;
  for (int i = 0; i < side->part_count && lengths && places; ++i) {
    for (uint64_t at = 0; at < side->parts[i].bytes; at += BLOCK_BYTES_MAX, ++used) {
      uint64_t left = side->parts[i].bytes - at;
      lengths[used] = (int)(left < BLOCK_BYTES_MAX ? left : BLOCK_BYTES_MAX);
      places[used] = (MPI_Aint)(side->parts[i].offset + at);
    }
  }
  ok = lengths && places && mpi_ok(group, MPI_Type_create_hindexed(used, lengths, places, MPI_BYTE, &type), "describing a message") &&
       mpi_ok(group, MPI_Type_commit(&type), "describing a message");
  if (ok)
    ok = mpi_ok(group, m->sends ? MPI_Send_init(side->arena, 1, type, m->peer, message, group->data, &c->request)
                                : MPI_Recv_init(side->arena, 1, type, m->peer, message, group->data, &c->request),
                "preparing a message");
  if (type != MPI_DATATYPE_NULL) MPI_Type_free(&type); /* the request keeps it */
  zb_free(lengths);
  zb_free(places);
  c->side = *side;
  return ok;
}

static bool same_side(const zb_transport_side *a, const zb_transport_side *b) {
  return a->arena == b->arena && a->parts == b->parts && a->part_count == b->part_count;
}

static void start_message(zb_group *group, int message) {
  channel *c = &group->t.channels[message];
  const zb_mpi_message *m = &group->messages[message];
  if ((c->request == MPI_REQUEST_NULL || !same_side(&c->side, &m->side)) && !make_channel(group, message, m)) return;
  if (mpi_ok(group, MPI_Start(&c->request), "starting a message")) activate(group, c->request, message);
}

static void start_transfer(zb_group *group, int index) {
  const transfer *t = &group->transfers[index];
  MPI_Request request = MPI_REQUEST_NULL;
  int code = t->sends ? MPI_Isend(t->data, (int)t->bytes, MPI_BYTE, t->peer, TAG_TRANSFER, group->control, &request)
                      : MPI_Irecv(t->data, (int)t->bytes, MPI_BYTE, t->peer, TAG_TRANSFER, group->control, &request);
  if (mpi_ok(group, code, "starting a transfer")) activate(group, request, -1 - index);
}

static bool expect_abort(zb_group *group) {
  return mpi_ok(group,
                MPI_Irecv(&group->abort_in, (int)sizeof group->abort_in, MPI_BYTE, MPI_ANY_SOURCE, TAG_ABORT, group->control,
                          &group->t.requests[ABORT_SLOT]),
                "listening");
}

static void tell_abort(zb_group *group) {
  for (int i = 0; i < group->processes && !group->mpi_failed; ++i)
    if (i != group->process)
      MPI_Isend(&group->abort_out, (int)sizeof group->abort_out, MPI_BYTE, i, TAG_ABORT, group->control, &group->farewells[i]);
}

static void finish(zb_group *group, int slot) {
  int owner = group->t.owners[slot];
  if (slot == ABORT_SLOT) {
    group->abort_in.reason[REASON_BYTES - 1] = '\0';
    pthread_mutex_lock(&group->mutex);
    abort_locked(group, group->abort_in.rank, group->abort_in.reason, false);
    pthread_mutex_unlock(&group->mutex);
  } else if (owner >= 0) {
    if (group->boxes) zb_mailboxes_complete(group->boxes, owner);
  } else {
    pthread_mutex_lock(&group->mutex);
    group->transfers[-1 - owner].done = true;
    if (--group->batch_left == 0) pthread_cond_broadcast(&group->done);
    pthread_mutex_unlock(&group->mutex);
  }
}

static int descending(const void *a, const void *b) {
  return *(const int *)b - *(const int *)a;
}

/* Looks at what is under way; true if something was finished. */
static bool progress(zb_group *group) {
  int count = 0;
  if (!mpi_ok(group, MPI_Testsome(group->active, group->t.requests, &count, group->t.finished, MPI_STATUSES_IGNORE), "carrying messages")) return false;
  if (count == MPI_UNDEFINED || count == 0) return false;
  if (count > 1) qsort(group->t.finished, (size_t)count, sizeof(int), descending);
  for (int i = 0; i < count; ++i) {
    int slot = group->t.finished[i];
    finish(group, slot);
    if (slot == ABORT_SLOT) continue;
    --group->active;
    group->t.requests[slot] = group->t.requests[group->active];
    group->t.owners[slot] = group->t.owners[group->active];
  }
  return true;
}

/* ---- The thread: its life ---- */

static zb_status start_mpi(zb_group *group) {
  int provided = MPI_THREAD_SINGLE, is_running = 0, is_over = 0;
  MPI_Initialized(&is_running);
  MPI_Finalized(&is_over);
  if (is_running || is_over)
    return zb_status_hint(ZB_ERROR(UNAVAILABLE, "MPI was already started by this process, and cannot be started twice"),
                          "a process can have one session over MPI");
  if (MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS) return ZB_ERROR(UNAVAILABLE, "MPI cannot be started");
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_rank(MPI_COMM_WORLD, &group->process);
  MPI_Comm_size(MPI_COMM_WORLD, &group->processes);
  if (provided < MPI_THREAD_FUNNELED) return ZB_ERROR(UNAVAILABLE, "this MPI allows no threads: expected MPI_THREAD_FUNNELED");
  if (group->params.processes > 0 && group->params.processes != group->processes)
    return zb_status_hint(ZB_ERROR(UNAVAILABLE, "%s says that there are %d processes, MPI finds %d", group->params.launcher,
                                   group->params.processes, group->processes),
                          "start with mpirun, or with srun --mpi=pmix; in a batch script put one of them before zb-run");
  return NULL;
}

/* What process ids on this machine mean: equal where kill(pid, 0) can tell whether a process is there. */
static uint64_t machine_id(void) {
  char *boot = NULL;
  size_t bytes = 0;
  struct stat space;
  zb_status status = zb_file_read("/proc/sys/kernel/random/boot_id", 0, &boot, &bytes);
  uint64_t id = !status && stat("/proc/self/ns/pid", &space) == 0 ? zb_fnv1a(zb_fnv1a(ZB_FNV_START, boot, bytes), &space.st_ino, sizeof space.st_ino) : 0;
  zb_status_free(status);
  zb_free(boot);
  return id;
}

static zb_status make_tables(zb_group *group) {
  MPI_Comm near = MPI_COMM_NULL;
  size_t count = (size_t)group->processes;
  if (!make_tables_of(group, 0, &group->t)) return ZB_OUT_OF_MEMORY();
  group->known = zb_alloc(sizeof(process_record) * count);
  group->transfers = zb_alloc(sizeof(transfer) * count);
  group->farewells = zb_alloc(sizeof(MPI_Request) * count);
  if (!group->known || !group->transfers || !group->farewells) return ZB_OUT_OF_MEMORY();
  for (size_t i = 0; i < count; ++i)
    group->farewells[i] = MPI_REQUEST_NULL;
  process_record mine = {.pid = (int32_t)getpid(), .machine = machine_id()};
  char host[MPI_MAX_PROCESSOR_NAME] = "";
  int length = 0;
  MPI_Get_processor_name(host, &length);
  snprintf(mine.host, sizeof mine.host, "%.63s", host);
  if (MPI_Comm_dup(MPI_COMM_WORLD, &group->control) != MPI_SUCCESS || MPI_Comm_dup(MPI_COMM_WORLD, &group->data) != MPI_SUCCESS ||
      MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &near) != MPI_SUCCESS ||
      MPI_Allgather(&mine, (int)sizeof mine, MPI_BYTE, group->known, (int)sizeof mine, MPI_BYTE, MPI_COMM_WORLD) != MPI_SUCCESS)
    return ZB_ERROR(PEER, "the processes cannot reach each other through MPI");
  MPI_Comm_size(near, &group->neighbours);
  MPI_Comm_free(&near);
  MPI_Comm_set_errhandler(group->control, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(group->data, MPI_ERRORS_RETURN);
  group->active = 1;
  group->t.owners[ABORT_SLOT] = -1;
  return expect_abort(group) ? NULL : ZB_ERROR(PEER, "the processes cannot reach each other through MPI");
}

/* Whether the other processes of this machine are still there: one that died in its sleep sends nothing, and shared memory does not break. */
static void watch_neighbours(zb_group *group) {
  const process_record *mine = &group->known[group->process];
  int64_t now = now_ps();
  if (now - group->watched_ps < watch_ps || mine->machine == 0) return;
  group->watched_ps = now;
  for (int i = 0; i < group->processes; ++i) {
    const process_record *other = &group->known[i];
    if (other->machine != mine->machine || kill(other->pid, 0) == 0 || errno != ESRCH) continue;
    char reason[REASON_BYTES], text[256];
    pthread_mutex_lock(&group->mutex);
    snprintf(reason, sizeof reason, "%s has died", describe(group, i, text, sizeof text));
    abort_locked(group, -1, reason, true);
    pthread_mutex_unlock(&group->mutex);
    return;
  }
}

/* How long to sleep before the next look; 0: not at all. */
static int64_t nap(const zb_group *group, int64_t idle_since_ps, bool may_spin) {
  if (group->active <= 1) return nap_idle_ps;
  int64_t idle = now_ps() - idle_since_ps;
  if (may_spin && idle < spin_ps) return 0;
  int64_t sleep = idle / 8;
  return sleep < nap_least_ps ? nap_least_ps : sleep > nap_most_ps ? nap_most_ps : sleep;
}

static void leave(zb_group *group) {
  if (group->together && !group->mpi_failed) {
    MPI_Cancel(&group->t.requests[ABORT_SLOT]);
    MPI_Wait(&group->t.requests[ABORT_SLOT], MPI_STATUS_IGNORE);
    MPI_Comm_free(&group->control);
    MPI_Comm_free(&group->data);
    MPI_Finalize();
    return;
  }
  int64_t until = now_ps() + farewell_ps;
  while (now_ps() < until) {
    int all = 0;
    if (!group->mpi_failed) MPI_Testall(group->processes, group->farewells, &all, MPI_STATUSES_IGNORE);
    nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
  }
}

/* The plan changes. Nothing of a plan is under way then, but after an abort: those requests stay where they are, and are not looked at again. */
static void change_tables(zb_group *group, bool aborted) {
  for (int i = 0; i < group->t.channel_count && !group->mpi_failed && !aborted; ++i)
    if (group->t.channels[i].request != MPI_REQUEST_NULL) MPI_Request_free(&group->t.channels[i].request);
  pthread_mutex_lock(&group->mutex);
  if (!aborted) {
    tables before = group->t;
    memcpy(group->next.requests, before.requests, sizeof(MPI_Request) * (size_t)group->active);
    memcpy(group->next.owners, before.owners, sizeof(int) * (size_t)group->active);
    group->t = group->next;
    group->next = before;
  }
  group->plan_new = false;
  pthread_cond_broadcast(&group->done);
  pthread_mutex_unlock(&group->mutex);
}

/* One turn: takes what was asked, starts it, looks at what is under way. False when asked to stop. */
static bool turn(zb_group *group, int64_t *idle_since_ps, bool may_spin) {
  pthread_mutex_lock(&group->mutex);
  if (!group->stopping && group->post_count == 0 && !group->batch_new && !group->abort_new && !group->plan_new) {
    int64_t sleep = nap(group, *idle_since_ps, may_spin);
    struct timespec until = deadline_of(now_ps() + sleep);
    if (sleep > 0) pthread_cond_timedwait(&group->wake, &group->mutex, &until);
  }
  bool stop = group->stopping, change = group->plan_new, fresh = group->batch_new, tell = group->abort_new, aborted = group->aborted;
  int posts = group->post_count;
  if (posts > 0) memcpy(group->t.taken, group->t.posts, sizeof(int) * (size_t)posts);
  group->post_count = 0;
  group->batch_new = group->abort_new = false;
  int transfers = fresh ? group->batch_count : 0;
  pthread_mutex_unlock(&group->mutex);
  if (change) change_tables(group, aborted);
  if (stop && !tell) return false;
  if (tell) tell_abort(group);
  for (int i = 0; i < transfers && !aborted; ++i)
    start_transfer(group, i);
  for (int i = 0; i < posts && !aborted; ++i)
    start_message(group, group->t.taken[i]);
  if (posts || transfers) *idle_since_ps = now_ps();
  if (!group->mpi_failed && !aborted && progress(group)) *idle_since_ps = now_ps();
  if (!aborted) watch_neighbours(group);
  return true;
}

static void *run(void *argument) {
  zb_group *group = argument;
  prctl(PR_SET_TIMERSLACK, 1000, 0, 0, 0); /* ns: naps of 20 us would else take 70 */
  zb_status status = start_mpi(group);
  if (!status) status = make_tables(group);
  bool ok = status == NULL, may_spin = ok && zb_usable_processors() > group->neighbours;
  pthread_mutex_lock(&group->mutex);
  group->failure = status;
  group->ready = true;
  pthread_cond_broadcast(&group->done);
  pthread_mutex_unlock(&group->mutex);
  int64_t idle_since = now_ps();
  while (ok && turn(group, &idle_since, may_spin)) {}
  if (ok) leave(group);
  return NULL;
}

/* ---- The group, by its callers ---- */

static void group_close(zb_group *group, bool together) {
  if (!group) return;
  if (group->started) {
    pthread_mutex_lock(&group->mutex);
    group->stopping = true;
    group->together = together && !group->aborted;
    pthread_cond_signal(&group->wake);
    pthread_mutex_unlock(&group->mutex);
    pthread_join(group->thread, NULL);
  }
  zb_status_free(group->failure);
  pthread_cond_destroy(&group->wake);
  pthread_cond_destroy(&group->done);
  pthread_mutex_destroy(&group->mutex);
  zb_free(group->known);
  zb_free(group->transfers);
  zb_free(group->farewells);
  free_tables(&group->t);
  zb_free(group->scratch);
  zb_free(group->gathered);
  zb_free(group);
}

static zb_status group_open(const zb_group_params *params, zb_group **out) {
  *out = NULL;
  zb_group *group = zb_alloc(sizeof *group);
  if (!group) return ZB_OUT_OF_MEMORY();
  group->params = *params;
  group->neighbours = 1;
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_mutex_init(&group->mutex, NULL);
  pthread_cond_init(&group->wake, &attributes);
  pthread_cond_init(&group->done, &attributes);
  pthread_condattr_destroy(&attributes);
  sigset_t all, before; /* handlers run on the threads of the program */
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int error = pthread_create(&group->thread, NULL, run, group);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  group->started = error == 0;
  zb_status status = error ? ZB_ERROR(RUNTIME, "cannot start the thread that speaks MPI: %s", strerror(error)) : NULL;
  pthread_mutex_lock(&group->mutex);
  while (!status && !group->ready)
    pthread_cond_wait(&group->done, &group->mutex);
  if (!status) status = group->failure;
  group->failure = NULL;
  pthread_mutex_unlock(&group->mutex);
  if (status)
    group_close(group, false);
  else
    *out = group;
  return status;
}

static int group_process(const zb_group *group) {
  return group->process;
}

static int group_processes(const zb_group *group) {
  return group->processes;
}

static zb_status aborted_locked(const zb_group *group) {
  const abort_record *why = &group->abort_out;
  if (why->rank < 0) return ZB_ERROR(PEER, "%s", why->reason);
  return ZB_ERROR(PEER, "rank %d gave up: %s", why->rank, why->reason);
}

/* Runs transfers and waits for all. Process 0 hears of a silent process itself and must be the first to give up, so that it can name it. */
static zb_status run_transfers(zb_group *group, int count) {
  zb_status status = NULL;
  const transfer *transfers = group->transfers;
  int64_t limit_ms = group->process == 0 ? group->params.timeout_ms - group->params.timeout_ms / 8 : group->params.timeout_ms;
  struct timespec until = deadline_of(now_ps() + limit_ms * 1000 * us_ps);
  pthread_mutex_lock(&group->mutex);
  group->batch_count = group->batch_left = count;
  group->batch_new = true;
  pthread_cond_signal(&group->wake);
  while (group->batch_left > 0 && !group->aborted && !status)
    if (pthread_cond_timedwait(&group->done, &group->mutex, &until) == ETIMEDOUT) {
      char text[256];
      int silent = 0;
      while (silent < count - 1 && transfers[silent].done)
        ++silent;
      status = ZB_ERROR(TIMEOUT, "waited %.1f s for %s: it has stalled, or a process that it waits for has", (double)limit_ms / 1e3,
                        describe(group, transfers[silent].peer, text, sizeof text));
      abort_locked(group, -1, zb_status_message(status), true);
    }
  if (!status && group->batch_left > 0) status = aborted_locked(group);
  pthread_mutex_unlock(&group->mutex);
  return status;
}

static zb_status need_scratch(zb_group *group, size_t bytes) {
  if (bytes <= group->scratch_bytes) return NULL;
  unsigned char *grown = zb_realloc(group->scratch, bytes);
  if (!grown) return ZB_OUT_OF_MEMORY();
  group->scratch = grown;
  group->scratch_bytes = bytes;
  return NULL;
}

static zb_status check_size(size_t bytes) {
  if (bytes <= INT32_MAX) return NULL;
  return ZB_ERROR(RUNTIME, "%zu bytes are too many to exchange at once between processes", bytes);
}

static zb_status group_merge(zb_group *group, void *record, size_t bytes, void (*merge)(void *total, const void *one, size_t bytes)) {
  ZB_TRY(check_size(bytes));
  transfer *t = group->transfers;
  if (group->processes == 1) return NULL;
  if (group->process > 0) {
    t[0] = (transfer){.sends = true, .peer = 0, .data = record, .bytes = bytes};
    ZB_TRY(run_transfers(group, 1));
    t[0] = (transfer){.peer = 0, .data = record, .bytes = bytes};
    return run_transfers(group, 1);
  }
  ZB_TRY(need_scratch(group, bytes * (size_t)group->processes));
  for (int i = 1; i < group->processes; ++i)
    t[i - 1] = (transfer){.peer = i, .data = group->scratch + (size_t)i * bytes, .bytes = bytes};
  ZB_TRY(run_transfers(group, group->processes - 1));
  for (int i = 1; i < group->processes; ++i)
    merge(record, group->scratch + (size_t)i * bytes, bytes);
  for (int i = 1; i < group->processes; ++i)
    t[i - 1] = (transfer){.sends = true, .peer = i, .data = record, .bytes = bytes};
  return run_transfers(group, group->processes - 1);
}

/* Two rounds: how many bytes, then the bytes. */
static zb_status group_gather(zb_group *group, const void *mine, size_t bytes, void **out, size_t *out_bytes) {
  *out = NULL;
  *out_bytes = 0;
  transfer *t = group->transfers;
  uint64_t count = bytes;
  zb_status status = check_size(bytes);
  if (group->process > 0) {
    if (status) count = 0; /* the others must not wait */
    t[0] = (transfer){.sends = true, .peer = 0, .data = &count, .bytes = sizeof count};
    zb_status failed = run_transfers(group, 1);
    t[0] = (transfer){.sends = true, .peer = 0, .data = (void *)(uintptr_t)mine, .bytes = (size_t)count};
    if (!failed) failed = run_transfers(group, 1);
    return zb_status_first((zb_status[]){status, failed}, 2);
  }
  ZB_TRY(status);
  ZB_TRY(need_scratch(group, sizeof count * (size_t)group->processes));
  uint64_t *counts = (uint64_t *)(void *)group->scratch, total = bytes;
  for (int i = 1; i < group->processes; ++i)
    t[i - 1] = (transfer){.peer = i, .data = &counts[i], .bytes = sizeof count};
  ZB_TRY(run_transfers(group, group->processes - 1));
  for (int i = 1; i < group->processes; ++i)
    total += counts[i];
  unsigned char *all = zb_alloc((size_t)total + 1);
  if (!all) return ZB_OUT_OF_MEMORY();
  if (bytes > 0) memcpy(all, mine, bytes);
  size_t at = bytes;
  for (int i = 1; i < group->processes; ++i) {
    t[i - 1] = (transfer){.peer = i, .data = all + at, .bytes = (size_t)counts[i]};
    at += (size_t)counts[i];
  }
  status = run_transfers(group, group->processes - 1);
  if (status)
    group->gathered = all;
  else
    *out = all, *out_bytes = at;
  return status;
}

const zb_group_def zb_mpi_group = {
    .open = group_open,
    .close = group_close,
    .process = group_process,
    .processes = group_processes,
    .merge = group_merge,
    .gather = group_gather,
    .abort = group_abort,
};

/* ---- Messages, by the transport ---- */

int zb_mpi_neighbours(const zb_group *group) {
  return group->neighbours;
}

/* Hands over to the thread, which alone may touch what is under way. */
static zb_status change_plan(zb_group *group, const zb_plan *plan, zb_mailboxes *boxes, zb_mpi_message *messages) {
  tables next;
  if (!make_tables_of(group, plan ? plan->message_count : 0, &next)) return ZB_OUT_OF_MEMORY();
  pthread_mutex_lock(&group->mutex);
  group->next = next;
  group->plan_new = true;
  pthread_cond_signal(&group->wake);
  while (group->plan_new)
    pthread_cond_wait(&group->done, &group->mutex);
  next = group->next;
  group->next = (tables){0};
  group->plan = plan;
  group->boxes = boxes;
  group->messages = messages;
  pthread_mutex_unlock(&group->mutex);
  free_tables(&next);
  return NULL;
}

zb_status zb_mpi_attach(zb_group *group, const zb_plan *plan, zb_mailboxes *boxes, zb_mpi_message *messages) {
  return change_plan(group, plan, boxes, messages);
}

void zb_mpi_detach(zb_group *group) {
  zb_status_free(change_plan(group, NULL, NULL, NULL));
}

void zb_mpi_post(zb_group *group, int message) {
  pthread_mutex_lock(&group->mutex);
  group->t.posts[group->post_count++] = message;
  pthread_cond_signal(&group->wake);
  pthread_mutex_unlock(&group->mutex);
}
