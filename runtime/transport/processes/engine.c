/* The thread that speaks to other processes: see engine.h. Tests: test/runtime/transport/tcp_test.c,
 * test/e2e/processes.py. */
#include "runtime/transport/processes/engine.h"

#include "runtime/base/arena.h"
#include "runtime/base/clock.h"
#include "runtime/base/digest.h"
#include "runtime/base/file.h"
#include "runtime/plan/file/ranks.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { HOST_BYTES = 64 };
static const int64_t spin_ps = 50 * ZB_US_PS;      /* after something happened, where a core is free */
static const int64_t nap_least_ps = 20 * ZB_US_PS; /* between two looks at what is under way */
static const int64_t nap_most_ps = 500 * ZB_US_PS;
static const int64_t nap_idle_ps = 10 * ZB_MS_PS;  /* nothing is: only an abort could come */
static const int64_t stop_least_ps = 2 * ZB_S_PS;  /* between two turns: longer than any load of a machine makes it */
static const int64_t stop_known_ps = 10 * ZB_S_PS; /* how long a stop explains what is found after it */
static const int64_t watch_ps = 200 * ZB_MS_PS;

/* What all know of a process. */
typedef struct process_record {
  int32_t pid;
  int32_t known;    /* 1 */
  uint64_t boot;    /* of the machine; 0: not known */
  uint64_t machine; /* boot and namespace that the pid is of; 0: not known */
  char host[HOST_BYTES];
} process_record;

struct zb_group {
  zb_arena memory;      /* of the tables with a row a process */
  zb_arena plan_memory; /* of the lists with a row a message */
  zb_group_params params;
  const zb_wire_def *wire_def;
  int process, processes, neighbours;
  pthread_t thread;
  bool started;
  pthread_mutex_t mutex; /* guards the next block */
  process_record *known; /* [process] */
  pthread_cond_t wake, done;
  bool ready, asleep, stopping, together;
  zb_status failure;           /* of the start, or of a change of plans */
  zb_wire_transfer *transfers; /* [processes] of which batch_count are asked for; a caller waits for them */
  bool *transfer_done;         /* [processes] */
  int batch_count, batch_left;
  bool batch_new;
  int *posts; /* [message] to start: as asked */
  int post_count;
  bool asking, ask_new; /* whether the others are there */
  bool *answered;       /* [process] */
  int unanswered;
  bool aborted, abort_new;
  int abort_rank;
  char abort_reason[ZB_WIRE_REASON_BYTES];
  bool plan_new; /* the plan changes to one of plan_messages; the thread clears it */
  int plan_messages;
  const zb_plan *plan;
  zb_mailboxes *boxes;
  zb_engine_message *messages;
  /* Of callers. */
  unsigned char *scratch; /* of merges */
  size_t scratch_bytes;
  unsigned char *gathered; /* of a gather that failed: the wire may still write there */
  /* Of the thread alone. */
  zb_wire_events events;
  zb_wire *wire;
  int *taken; /* [message] to start: as taken */
  int under_way;
  bool may_spin;
  int64_t active_ps;             /* when something happened last */
  int64_t watched_ps;            /* when it last looked at its neighbours */
  int64_t turn_ps;               /* when the last turn ended; it should not be long ago */
  int64_t stood_ps, stood_at_ps; /* how long this process stood still, and when it went on; 0: it has not */
};

/* "process 2 (ranks 4 to 5, pid 4711 on node3)". */
static const char *describe(const zb_group *group, int process, char *text, size_t size) {
  char ranks[ZB_RANK_TEXT_BYTES] = "";
  if (group->plan) {
    int first = 0, count = zb_group_ranks(group->plan->rank_count, group->processes, process, &first);
    zb_plan_ranks_text(zb_plan_mesh(group->plan), zb_plan_shard_mesh(group->plan), first, count, ranks);
  }
  const process_record *record = &group->known[process];
  if (record->known)
    snprintf(text, size, "process %d (%s%spid %d on %s)", process, ranks, *ranks ? ", " : "", (int)record->pid,
             record->host);
  else
    snprintf(text, size, "process %d", process);
  return text;
}

/* ---- Aborts, from any thread ---- */

/* Tells the thread that there is something to do. */
static void rouse(zb_group *group) {
  if (!group->wire_def->wake)
    pthread_cond_signal(&group->wake);
  else if (group->asleep)
    group->wire_def->wake(group->wire);
}

static void abort_locked(zb_group *group, int rank, const char *reason, bool tell) {
  if (group->aborted) return;
  group->aborted = true;
  group->abort_new = tell;
  group->abort_rank = rank;
  snprintf(group->abort_reason, ZB_WIRE_REASON_BYTES, "%s", reason);
  if (group->boxes) zb_mailboxes_abort(group->boxes, rank, reason);
  rouse(group);
  pthread_cond_broadcast(&group->done);
}

static void abort_group(zb_group *group, int rank, const char *reason, bool tell) {
  pthread_mutex_lock(&group->mutex);
  abort_locked(group, rank, reason, tell);
  pthread_mutex_unlock(&group->mutex);
}

void zb_engine_abort(zb_group *group, int rank, const char *reason) { abort_group(group, rank, reason, true); }

/* ---- The thread: what the wire tells ---- */

static void on_message(void *context, int message) {
  zb_group *group = context;
  --group->under_way;
  if (group->boxes) zb_mailboxes_complete(group->boxes, message);
}

/* Which of a batch has this peer: process 0 has one with every other, the others have one with process 0. */
static int transfer_of(const zb_group *group, int peer) { return group->process == 0 ? peer - 1 : 0; }

static void on_transfer(void *context, int peer) {
  zb_group *group = context;
  --group->under_way;
  pthread_mutex_lock(&group->mutex);
  group->transfer_done[transfer_of(group, peer)] = true;
  if (--group->batch_left == 0) pthread_cond_broadcast(&group->done);
  pthread_mutex_unlock(&group->mutex);
}

static void on_answered(void *context, int process) {
  zb_group *group = context;
  pthread_mutex_lock(&group->mutex);
  if (group->asking && !group->answered[process]) {
    group->answered[process] = true;
    if (--group->unanswered == 0) pthread_cond_broadcast(&group->done);
  }
  pthread_mutex_unlock(&group->mutex);
}

static void on_told(void *context, int rank, const char *reason) { abort_group(context, rank, reason, false); }
static void on_failed(void *context, const char *reason) { abort_group(context, -1, reason, false); }

/* The others end when a process is stopped. When it goes on, that they are gone is not the cause. */
static const char *describe_stop(const zb_group *group, char *text, size_t size) {
  text[0] = '\0';
  if (group->stood_ps > 0 && zb_monotonic_ps() - group->stood_at_ps < stop_known_ps)
    snprintf(text, size, "this process stood still for %.1f s (SIGSTOP?), so the others may have ended without it: ",
             (double)group->stood_ps / 1e12);
  return text;
}

static void on_lost(void *context, int process, const char *how) {
  zb_group *group = context;
  char reason[ZB_WIRE_REASON_BYTES], text[256], stop[128];
  pthread_mutex_lock(&group->mutex);
  snprintf(reason, sizeof reason, "%s%s %s", describe_stop(group, stop, sizeof stop),
           describe(group, process, text, sizeof text), how);
  abort_locked(group, -1, reason, true);
  pthread_mutex_unlock(&group->mutex);
}

/* ---- The thread: its life ---- */

/* What process ids on this machine mean: equal where kill(pid, 0) can tell whether a process is there. */
static void identify(process_record *out) {
  char *boot = NULL;
  size_t bytes = 0;
  struct stat space;
  zb_status status = zb_file_read("/proc/sys/kernel/random/boot_id", 0, &boot, &bytes);
  *out = (process_record){.pid = (int32_t)getpid(), .known = 1};
  if (!status) out->boot = zb_fnv1a(ZB_FNV_START, boot, bytes);
  if (!status && stat("/proc/self/ns/pid", &space) == 0)
    out->machine = zb_fnv1a(out->boot, &space.st_ino, sizeof space.st_ino);
  if (gethostname(out->host, sizeof out->host - 1) != 0)
    snprintf(out->host, sizeof out->host, "a machine without name");
  zb_status_free(status);
  zb_free(boot);
}

/* Whether the other processes of this machine are still there: one that died in its sleep sends nothing, and shared
 * memory does not break. */
static void watch_neighbours(zb_group *group) {
  const process_record *mine = &group->known[group->process];
  int64_t now = zb_monotonic_ps();
  int dead = -1;
  if (now - group->watched_ps < watch_ps) return;
  group->watched_ps = now;
  pthread_mutex_lock(&group->mutex);
  for (int i = 0; i < group->processes && mine->machine != 0 && dead < 0; ++i)
    if (group->known[i].machine == mine->machine && kill(group->known[i].pid, 0) != 0 && errno == ESRCH) dead = i;
  pthread_mutex_unlock(&group->mutex);
  if (dead >= 0) on_lost(group, dead, "has died");
}

/* How long to sleep before the next look; 0: not at all. */
static int64_t nap(const zb_group *group) {
  bool woken = group->wire_def->sleep != NULL;
  if (group->under_way == 0) return woken ? watch_ps : nap_idle_ps;
  int64_t idle = zb_monotonic_ps() - group->active_ps;
  if (group->may_spin && idle < spin_ps) return 0;
  int64_t sleep = idle / 8;
  return woken ? watch_ps : sleep < nap_least_ps ? nap_least_ps : sleep > nap_most_ps ? nap_most_ps : sleep;
}

/* The mutex is held, but not while the wire sleeps. */
static void sleep_locked(zb_group *group, int64_t ps) {
  if (!group->wire_def->sleep) {
    struct timespec until = zb_monotonic_time(zb_monotonic_ps() + ps);
    pthread_cond_timedwait(&group->wake, &group->mutex, &until);
    return;
  }
  group->asleep = true;
  pthread_mutex_unlock(&group->mutex);
  group->wire_def->sleep(group->wire, ps);
  pthread_mutex_lock(&group->mutex);
  group->asleep = false;
}

/* The plan changes. Nothing of a plan is under way then, but after an abort: then the wire must keep what it has. */
static void change_plan(zb_group *group, bool aborted) {
  zb_status status = aborted ? NULL : group->wire_def->resize(group->wire, group->plan_messages);
  pthread_mutex_lock(&group->mutex);
  group->failure = status;
  group->plan_new = false;
  pthread_cond_broadcast(&group->done);
  pthread_mutex_unlock(&group->mutex);
}

static void start_all(zb_group *group, int transfers, int posts) {
  group->under_way += transfers + posts;
  for (int i = 0; i < transfers; ++i)
    group->wire_def->start_transfer(group->wire, &group->transfers[i]);
  for (int i = 0; i < posts; ++i) {
    const zb_engine_message *m = &group->messages[group->taken[i]];
    group->wire_def->start_message(group->wire, group->taken[i], m->peer, m->sends, &m->side);
  }
  if (posts || transfers) group->active_ps = zb_monotonic_ps();
}

static void notice_stop(zb_group *group) {
  const int64_t now = zb_monotonic_ps();
  if (now - group->turn_ps > stop_least_ps) {
    group->stood_ps = now - group->turn_ps;
    group->stood_at_ps = now;
  }
  group->turn_ps = now;
}

/* One turn: takes what was asked, starts it, looks at what is under way. False when asked to stop. */
static bool turn(zb_group *group) {
  pthread_mutex_lock(&group->mutex);
  if (!group->stopping && group->post_count == 0 && !group->batch_new && !group->ask_new && !group->abort_new &&
      !group->plan_new) {
    int64_t ps = nap(group);
    if (ps > 0) sleep_locked(group, ps);
  }
  bool stop = group->stopping, change = group->plan_new, fresh = group->batch_new, ask = group->ask_new,
       tell = group->abort_new;
  bool aborted = group->aborted;
  int posts = group->post_count, transfers = fresh ? group->batch_count : 0;
  if (posts > 0) memcpy(group->taken, group->posts, sizeof(int) * (size_t)posts);
  group->post_count = 0;
  notice_stop(group);
  group->batch_new = group->ask_new = group->abort_new = false;
  pthread_mutex_unlock(&group->mutex);
  if (change) change_plan(group, aborted);
  if (stop && !tell) return false;
  if (tell) group->wire_def->tell(group->wire, group->abort_rank, group->abort_reason);
  if (!aborted) start_all(group, transfers, posts);
  if (!aborted && ask) group->wire_def->ask(group->wire);
  if (group->wire_def->progress(group->wire, aborted)) group->active_ps = zb_monotonic_ps();
  if (!aborted) watch_neighbours(group);
  return true;
}

static zb_status make_tables(zb_group *group) {
  size_t count = (size_t)group->processes;
  ZB_TAKE(&group->memory, group->known, count);
  ZB_TAKE(&group->memory, group->transfers, count);
  ZB_TAKE(&group->memory, group->transfer_done, count);
  ZB_TAKE(&group->memory, group->answered, count);
  return zb_arena_status(&group->memory);
}

static void *run(void *argument) {
  zb_group *group = argument;
  prctl(PR_SET_TIMERSLACK, 1000, 0, 0, 0); /* ns: naps of 20 us would else take 70 */
  zb_status status =
      group->wire_def->open(&group->params, &group->events, &group->wire, &group->process, &group->processes);
  if (!status) status = make_tables(group);
  bool ok = status == NULL;
  pthread_mutex_lock(&group->mutex);
  group->failure = status;
  group->ready = true;
  pthread_cond_broadcast(&group->done);
  pthread_mutex_unlock(&group->mutex);
  group->active_ps = group->turn_ps = zb_monotonic_ps();
  while (ok && turn(group)) {
  }
  if (group->wire) group->wire_def->close(group->wire, ok && group->together);
  return NULL;
}

/* ---- The group, by its callers ---- */

void zb_engine_close(zb_group *group, bool together) {
  if (!group) return;
  if (group->started) {
    pthread_mutex_lock(&group->mutex);
    group->stopping = true;
    group->together = together && !group->aborted;
    rouse(group);
    pthread_mutex_unlock(&group->mutex);
    pthread_join(group->thread, NULL);
  }
  zb_status_free(group->failure);
  pthread_cond_destroy(&group->wake);
  pthread_cond_destroy(&group->done);
  pthread_mutex_destroy(&group->mutex);
  zb_arena_deinit(&group->memory);
  zb_arena_deinit(&group->plan_memory);
  zb_free(group->scratch);
  zb_free(group->gathered);
  zb_free(group);
}

static void merge_known(void *total, const void *one, size_t bytes) {
  process_record *all = total;
  const process_record *next = one;
  for (size_t i = 0; i < bytes / sizeof *all; ++i)
    if (next[i].known) all[i] = next[i];
}

/* All processes learn the records of all. */
static zb_status exchange_records(zb_group *group) {
  size_t bytes = sizeof(process_record) * (size_t)group->processes;
  process_record *records = zb_alloc(bytes);
  if (!records) return ZB_OUT_OF_MEMORY();
  identify(&records[group->process]);
  zb_status status = zb_engine_merge(group, records, bytes, merge_known);
  pthread_mutex_lock(&group->mutex);
  for (int i = 0; i < group->processes && !status; ++i) {
    group->known[i] = records[i];
    group->known[i].host[HOST_BYTES - 1] = '\0';
    group->neighbours += i != group->process && records[i].boot == records[group->process].boot;
  }
  group->may_spin = zb_usable_processors() > group->neighbours;
  pthread_mutex_unlock(&group->mutex);
  zb_free(records);
  return status;
}

static zb_status start_thread(zb_group *group) {
  sigset_t all, before; /* handlers run on the threads of the program */
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int error = pthread_create(&group->thread, NULL, run, group);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  group->started = error == 0;
  if (error)
    return ZB_ERROR(RUNTIME, "cannot start the thread that speaks %s: %s", group->wire_def->name, strerror(error));
  pthread_mutex_lock(&group->mutex);
  while (!group->ready)
    pthread_cond_wait(&group->done, &group->mutex);
  zb_status status = group->failure;
  group->failure = NULL;
  pthread_mutex_unlock(&group->mutex);
  return status;
}

zb_status zb_engine_open(const zb_wire_def *wire, const zb_group_params *params, zb_group **out) {
  *out = NULL;
  zb_group *group = zb_alloc(sizeof *group);
  if (!group) return ZB_OUT_OF_MEMORY();
  group->params = *params;
  group->wire_def = wire;
  group->processes = group->neighbours = 1;
  group->events = (zb_wire_events){group, on_message, on_transfer, on_answered, on_told, on_lost, on_failed};
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_mutex_init(&group->mutex, NULL);
  pthread_cond_init(&group->wake, &attributes);
  pthread_cond_init(&group->done, &attributes);
  pthread_condattr_destroy(&attributes);
  zb_status status = start_thread(group);
  if (!status) status = exchange_records(group);
  if (status)
    zb_engine_close(group, false);
  else
    *out = group;
  return status;
}

int zb_engine_process(const zb_group *group) { return group->process; }

int zb_engine_processes(const zb_group *group) { return group->processes; }

static zb_status aborted_locked(const zb_group *group) {
  if (group->abort_rank < 0) return ZB_ERROR(PEER, "%s", group->abort_reason);
  char rank[ZB_RANK_TEXT_BYTES];
  zb_plan_ranks_text(group->plan ? zb_plan_mesh(group->plan) : 1, group->plan ? zb_plan_shard_mesh(group->plan) : 1,
                     group->abort_rank, 1, rank);
  return ZB_ERROR(PEER, "%s gave up: %s", rank, group->abort_reason);
}

/* ---- Which processes answer ---- */

int64_t zb_engine_probe_ms(int64_t timeout_ms) {
  enum { MOST_MS = 1000 };
  return timeout_ms / 8 < MOST_MS ? timeout_ms / 8 : MOST_MS;
}

static void name_silent(const zb_group *group, char *text, size_t size) {
  enum { NAMED = 3 };
  char one[256], all[NAMED * sizeof one + 32] = "";
  int named = 0, left = group->unanswered;
  size_t used = 0;
  for (int i = 0; i < group->processes && named < NAMED && left > 0; ++i) {
    if (i == group->process || group->answered[i]) continue;
    const char *between = named == 0 ? "" : left == 1 ? " and " : ", ";
    used += (size_t)snprintf(all + used, sizeof all - used, "%s%s", between, describe(group, i, one, sizeof one));
    ++named, --left;
  }
  if (left > 0) snprintf(all + used, sizeof all - used, " and %d more", left);
  if (named > 0)
    snprintf(text, size, "%s %s: stopped, or out of reach", all,
             named + left == 1 ? "does not answer" : "do not answer");
}

static bool find_silent_locked(zb_group *group, char *text, size_t size) {
  struct timespec until =
      zb_monotonic_time(zb_monotonic_ps() + zb_engine_probe_ms(group->params.timeout_ms) * ZB_MS_PS);
  text[0] = '\0';
  if (!group->asking) { /* else another rank has asked just now */
    memset(group->answered, 0, sizeof(bool) * (size_t)group->processes);
    group->unanswered = group->processes - 1;
    group->asking = group->ask_new = true;
    rouse(group);
  }
  while (group->unanswered > 0 && !group->aborted)
    if (pthread_cond_timedwait(&group->done, &group->mutex, &until) == ETIMEDOUT) break;
  group->asking = false;
  if (!group->aborted) name_silent(group, text, size);
  return !group->aborted;
}

bool zb_engine_find_silent(zb_group *group, char *text, size_t size) {
  pthread_mutex_lock(&group->mutex);
  bool found = find_silent_locked(group, text, size);
  pthread_mutex_unlock(&group->mutex);
  return found;
}

static zb_status transfers_timed_out(zb_group *group, int count, int64_t waited_ps, const char *silent) {
  char text[256];
  int late = 0;
  while (late < count - 1 && group->transfer_done[late])
    ++late;
  int peer = group->transfers[late].peer;
  const char *why = silent;
  if (silent[0] == '\0') why = "; all processes answer: it is busy, or waits for another";
  if (silent[0] != '\0' && group->unanswered == 1 && !group->answered[peer])
    why = ", which does not answer: stopped, or out of reach";
  zb_status status = ZB_ERROR(TIMEOUT, "waited %.1f s for %s%s%s", (double)waited_ps / 1e12,
                              describe(group, peer, text, sizeof text), why == silent ? "; " : "", why);
  abort_locked(group, -1, zb_status_message(status), true);
  return status;
}

/* Waits for all transfers, until then at most; false if that was too short. */
static bool await_transfers(zb_group *group, int64_t until_ps) {
  struct timespec until = zb_monotonic_time(until_ps);
  while (group->batch_left > 0 && !group->aborted)
    if (pthread_cond_timedwait(&group->done, &group->mutex, &until) == ETIMEDOUT)
      return group->batch_left == 0 || group->aborted;
  return true;
}

/* Runs transfers and waits for all. Where it takes long, the others are asked before the time-out whether they are
 * there; if all are, they have some more time. Process 0 receives from every process and its limit is the
 * shortest: it can name the process that is missing, the others could only name process 0. */
static zb_status run_transfers(zb_group *group, int count) {
  zb_status status = NULL;
  char silent[2 * ZB_WIRE_REASON_BYTES] = "";
  const int64_t probe_ps = zb_engine_probe_ms(group->params.timeout_ms) * ZB_MS_PS, begin_ps = zb_monotonic_ps();
  const int64_t end_ps = begin_ps + group->params.timeout_ms * ZB_MS_PS;
  pthread_mutex_lock(&group->mutex);
  memset(group->transfer_done, 0, sizeof(bool) * (size_t)count);
  group->batch_count = group->batch_left = count;
  group->batch_new = true;
  rouse(group);
  bool came = await_transfers(group, end_ps - probe_ps) || !find_silent_locked(group, silent, sizeof silent) ||
              group->batch_left == 0;
  if (!came && silent[0] == '\0')
    came = await_transfers(group, end_ps + (group->process == 0 ? probe_ps : 2 * probe_ps));
  if (!came) status = transfers_timed_out(group, count, zb_monotonic_ps() - begin_ps, silent);
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

/* A transfer with process 0, or of process 0 with each other process: item i of `data` is that of process i, and there
 * is one for all if stride is 0. */
static zb_status transfer_all(zb_group *group, bool sends, void *data, size_t bytes, size_t stride) {
  const int first = group->process == 0 ? 1 : 0, count = group->process == 0 ? group->processes - 1 : 1;
  for (int i = 0; i < count; ++i)
    group->transfers[i] = (zb_wire_transfer){.sends = sends,
                                             .peer = first + i,
                                             .data = (unsigned char *)data + (size_t)(first + i) * stride,
                                             .bytes = bytes};
  return run_transfers(group, count);
}

zb_status zb_engine_merge(zb_group *group, void *record, size_t bytes,
                          void (*merge)(void *total, const void *one, size_t bytes)) {
  ZB_TRY(check_size(bytes));
  if (group->processes == 1) return NULL;
  if (group->process > 0) {
    ZB_TRY(transfer_all(group, true, record, bytes, 0));
    return transfer_all(group, false, record, bytes, 0);
  }
  ZB_TRY(need_scratch(group, bytes * (size_t)group->processes));
  ZB_TRY(transfer_all(group, false, group->scratch, bytes, bytes));
  for (int i = 1; i < group->processes; ++i)
    merge(record, group->scratch + (size_t)i * bytes, bytes);
  return transfer_all(group, true, record, bytes, 0);
}

/* Two rounds: how many bytes, then the bytes. */
zb_status zb_engine_gather(zb_group *group, const void *mine, size_t bytes, void **out, size_t *out_bytes) {
  *out = NULL;
  *out_bytes = 0;
  uint64_t count = bytes;
  zb_status status = check_size(bytes);
  if (group->process > 0) {
    if (status) count = 0; /* the others must not wait */
    zb_status failed = transfer_all(group, true, &count, sizeof count, 0);
    if (!failed) failed = transfer_all(group, true, (void *)(uintptr_t)mine, (size_t)count, 0);
    return zb_status_first((zb_status[]){status, failed}, 2);
  }
  ZB_TRY(status);
  ZB_TRY(need_scratch(group, sizeof count * (size_t)group->processes));
  uint64_t *counts = (uint64_t *)(void *)group->scratch, total = bytes;
  ZB_TRY(transfer_all(group, false, counts, sizeof count, sizeof count));
  for (int i = 1; i < group->processes; ++i)
    total += counts[i];
  unsigned char *all = zb_alloc((size_t)total + 1);
  if (!all) return ZB_OUT_OF_MEMORY();
  if (bytes > 0) memcpy(all, mine, bytes);
  size_t at = bytes;
  for (int i = 1; i < group->processes; ++i) {
    group->transfers[i - 1] = (zb_wire_transfer){.peer = i, .data = all + at, .bytes = (size_t)counts[i]};
    at += (size_t)counts[i];
  }
  status = run_transfers(group, group->processes - 1);
  if (status)
    group->gathered = all;
  else
    *out = all, *out_bytes = at;
  return status;
}

/* ---- Messages, by the transport ---- */

int zb_engine_neighbours(const zb_group *group) { return group->neighbours; }

/* Hands over to the thread, which alone may touch what is under way. */
zb_status zb_engine_attach(zb_group *group, const zb_plan *plan, zb_mailboxes *boxes, zb_engine_message *messages) {
  int count = plan ? plan->message_count : 0;
  zb_arena memory = {0}, before = {0};
  int *posts = plan ? ZB_NEW(&memory, int, count) : NULL; /* the end of a plan needs no memory, so it cannot fail */
  int *taken = plan ? ZB_NEW(&memory, int, count) : NULL;
  zb_status status = zb_arena_status(&memory);
  pthread_mutex_lock(&group->mutex);
  if (!status) {
    group->plan_messages = count;
    group->plan_new = true;
    rouse(group);
    while (group->plan_new)
      pthread_cond_wait(&group->done, &group->mutex);
    status = group->failure;
    group->failure = NULL;
  }
  if (!status) {
    before = group->plan_memory;
    group->plan_memory = memory;
    group->posts = posts;
    group->taken = taken;
    group->plan = plan;
    group->boxes = boxes;
    group->messages = messages;
  }
  pthread_mutex_unlock(&group->mutex);
  zb_arena_deinit(status ? &memory : &before);
  return status;
}

void zb_engine_detach(zb_group *group) { zb_status_free(zb_engine_attach(group, NULL, NULL, NULL)); }

void zb_engine_post(zb_group *group, int message) {
  pthread_mutex_lock(&group->mutex);
  group->posts[group->post_count++] = message;
  rouse(group);
  pthread_mutex_unlock(&group->mutex);
}
