/* Transport between ranks that are threads of one process: one mailbox a message, made when the plan is loaded.
 *
 * Both sides post where their bytes lie; whoever comes second copies. So there is no buffer in between, a post never
 * blocks, and a message is complete on both sides at the same moment. A rank that waits spins for some microseconds
 * when there is a core for every rank, then sleeps on a condition of its own. Tests:
 * test/runtime/exec/transport_test.c.
 */
#include "runtime/base/text.h"
#include "runtime/transport/copy.h"
#include "runtime/transport/transport.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { SENT = 1, RECEIVING = 2, COMPLETE = 4 };
enum { SPINS = 4000, REASON_BYTES = 512 };

typedef struct mailbox {
  atomic_int state;
  zb_transport_side from, to;
  int64_t complete_ps;
} mailbox;

/* A rank that sleeps. `asleep` lets a completing rank skip the lock when nobody does. */
typedef struct sleeper {
  pthread_mutex_t mutex;
  pthread_cond_t wake;
  atomic_int asleep;
  bool ready;
} sleeper;

struct zb_transport {
  const zb_plan *plan;
  int64_t timeout_ms;
  bool spin;
  mailbox *boxes;
  sleeper *sleepers;
  atomic_bool aborted;
  pthread_mutex_t abort_mutex;
  int abort_rank;
  char reason[REASON_BYTES];
};

static int64_t now_ps(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return ((int64_t)now.tv_sec * 1000000000 + now.tv_nsec) * 1000;
}

static void transport_close(zb_transport *transport) {
  if (!transport) return;
  for (int rank = 0; transport->sleepers && rank < transport->plan->rank_count; ++rank) {
    sleeper *s = &transport->sleepers[rank];
    if (!s->ready) continue;
    pthread_cond_destroy(&s->wake);
    pthread_mutex_destroy(&s->mutex);
  }
  pthread_mutex_destroy(&transport->abort_mutex);
  zb_free(transport->sleepers);
  zb_free(transport->boxes);
  zb_free(transport);
}

static zb_status sleeper_init(sleeper *s) {
  pthread_condattr_t attributes;
  if (pthread_condattr_init(&attributes)) return ZB_OUT_OF_MEMORY();
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  bool ok = pthread_cond_init(&s->wake, &attributes) == 0 && pthread_mutex_init(&s->mutex, NULL) == 0;
  pthread_condattr_destroy(&attributes);
  s->ready = ok;
  return ok ? NULL : ZB_ERROR(RUNTIME, "cannot make a lock for a rank");
}

static zb_status transport_open(const zb_transport_params *params, zb_transport **out) {
  *out = NULL;
  zb_status status = NULL;
  const zb_plan *plan = params->plan;
  zb_transport *transport = zb_alloc(sizeof *transport);
  if (!transport) return ZB_OUT_OF_MEMORY();
  transport->plan = plan;
  transport->timeout_ms = params->timeout_ms;
  transport->spin =
      sysconf(_SC_NPROCESSORS_ONLN) >= (long)plan->rank_count * (params->threads > 1 ? params->threads : 1);
  pthread_mutex_init(&transport->abort_mutex, NULL);
  transport->boxes = zb_alloc(sizeof(mailbox) * (size_t)(plan->message_count + 1));
  transport->sleepers = zb_alloc(sizeof(sleeper) * (size_t)plan->rank_count);
  if (!transport->boxes || !transport->sleepers) {
    status = ZB_OUT_OF_MEMORY();
    goto cleanup;
  }
  for (int rank = 0; rank < plan->rank_count; ++rank)
    ZB_TRY_GOTO(sleeper_init(&transport->sleepers[rank]));
  *out = transport;
cleanup:
  if (status) transport_close(transport);
  return status;
}

static void wake(zb_transport *transport, int rank) {
  sleeper *s = &transport->sleepers[rank];
  /* Sequentially consistent, as are the state before it and both in sleep_until_over: either that rank sees the state,
   * or we see it asleep. */
  if (!atomic_load(&s->asleep)) return;
  pthread_mutex_lock(&s->mutex);
  pthread_cond_broadcast(&s->wake);
  pthread_mutex_unlock(&s->mutex);
}

/* One side has arrived; the second of the two copies. */
static zb_status arrive(zb_transport *transport, int rank, int message, int side) {
  mailbox *box = &transport->boxes[message];
  const zb_plan_message *m = &transport->plan->messages[message];
  int before = atomic_fetch_or_explicit(&box->state, side, memory_order_acq_rel);
  if (before & side) return ZB_ERROR(RUNTIME, "message %d is posted twice by rank %d", message, rank);
  if (before == 0) return NULL;
  zb_transport_copy(&box->from, &box->to);
  box->complete_ps = now_ps();
  atomic_fetch_or(&box->state, COMPLETE);
  wake(transport, rank == m->source ? m->destination : m->source);
  return NULL;
}

static zb_status post_send(zb_transport *transport, int rank, int message, void *arena, const zb_plan_range *parts,
                           int part_count) {
  transport->boxes[message].from = (zb_transport_side){arena, parts, part_count};
  return arrive(transport, rank, message, SENT);
}

static zb_status post_recv(zb_transport *transport, int rank, int message, void *arena, const zb_plan_range *parts,
                           int part_count) {
  transport->boxes[message].to = (zb_transport_side){arena, parts, part_count};
  return arrive(transport, rank, message, RECEIVING);
}

static bool transport_test(zb_transport *transport, int rank, int message) {
  (void)rank;
  return atomic_load_explicit(&transport->boxes[message].state, memory_order_acquire) & COMPLETE;
}

static zb_status aborted_status(zb_transport *transport, int rank) {
  pthread_mutex_lock(&transport->abort_mutex);
  zb_status status =
      ZB_ERROR(PEER, "rank %d stops because rank %d gave up: %s", rank, transport->abort_rank, transport->reason);
  pthread_mutex_unlock(&transport->abort_mutex);
  return status;
}

static zb_status timed_out(zb_transport *transport, int rank, int message) {
  const zb_plan_message *m = &transport->plan->messages[message];
  int state = atomic_load(&transport->boxes[message].state);
  bool receives = rank == m->destination;
  int peer = receives ? m->source : m->destination;
  bool peer_posted = state & (receives ? SENT : RECEIVING);
  return ZB_ERROR(TIMEOUT, "rank %d waited %.1f s for message %d (%s rank %d), which %s", rank,
                  (double)transport->timeout_ms / 1e3, message, receives ? "from" : "to", peer,
                  peer_posted ? "was posted but not copied" : "the other side has not posted");
}

/* True when the wait is over, for good or ill. */
static bool over(zb_transport *transport, int message) {
  return (atomic_load(&transport->boxes[message].state) & COMPLETE) || atomic_load(&transport->aborted);
}

static void sleep_until_over(zb_transport *transport, int rank, int message) {
  sleeper *s = &transport->sleepers[rank];
  struct timespec deadline;
  clock_gettime(CLOCK_MONOTONIC, &deadline);
  deadline.tv_sec += (time_t)(transport->timeout_ms / 1000);
  deadline.tv_nsec += (long)(transport->timeout_ms % 1000) * 1000000;
  if (deadline.tv_nsec >= 1000000000) deadline.tv_nsec -= 1000000000, ++deadline.tv_sec;
  pthread_mutex_lock(&s->mutex);
  atomic_store(&s->asleep, 1);
  while (!over(transport, message))
    if (pthread_cond_timedwait(&s->wake, &s->mutex, &deadline) == ETIMEDOUT) break;
  atomic_store(&s->asleep, 0);
  pthread_mutex_unlock(&s->mutex);
}

static zb_status transport_wait(zb_transport *transport, int rank, int message) {
  for (int i = 0; transport->spin && i < SPINS; ++i) {
    if (over(transport, message)) break;
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
  }
  if (!over(transport, message)) sleep_until_over(transport, rank, message);
  if (transport_test(transport, rank, message)) return NULL;
  if (atomic_load_explicit(&transport->aborted, memory_order_acquire)) return aborted_status(transport, rank);
  return timed_out(transport, rank, message);
}

static zb_status transport_reset(zb_transport *transport) {
  for (int message = 0; message < transport->plan->message_count; ++message) {
    int state = atomic_load_explicit(&transport->boxes[message].state, memory_order_acquire);
    if (state != 0 && !(state & COMPLETE))
      return ZB_ERROR(RUNTIME, "message %d is not complete at the end of a step", message);
    atomic_store_explicit(&transport->boxes[message].state, 0, memory_order_release);
  }
  return NULL;
}

static void transport_abort(zb_transport *transport, int rank, const char *reason) {
  pthread_mutex_lock(&transport->abort_mutex);
  if (!atomic_load(&transport->aborted)) { /* the first reason is the one that counts */
    transport->abort_rank = rank;
    snprintf(transport->reason, sizeof transport->reason, "%s", reason);
    atomic_store(&transport->aborted, true);
  }
  pthread_mutex_unlock(&transport->abort_mutex);
  for (int i = 0; i < transport->plan->rank_count; ++i)
    wake(transport, i);
}

static int64_t complete_ps(zb_transport *transport, int rank, int message) {
  (void)rank;
  return transport->boxes[message].complete_ps;
}

extern const zb_transport_def zb_transport_threads;

const zb_transport_def zb_transport_threads = {
    .name = "threads",
    .summary = "ranks are threads of one process",
    .copies = true,
    .open = transport_open,
    .close = transport_close,
    .post_send = post_send,
    .post_recv = post_recv,
    .wait = transport_wait,
    .test = transport_test,
    .reset = transport_reset,
    .abort = transport_abort,
    .complete_ps = complete_ps,
};
