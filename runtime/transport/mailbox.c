/* Mailboxes of messages: see mailbox.h. Tests: test/runtime/exec/transport_test.c. */
#define _GNU_SOURCE /* sched_getaffinity */

#include "runtime/transport/mailbox.h"

#include "runtime/base/arena.h"
#include "runtime/base/clock.h"
#include "runtime/plan/file/ranks.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

enum { SENT = 1, RECEIVING = 2 };
enum { SPINS = 4000, REASON_BYTES = 1024 };

typedef struct mailbox {
  atomic_int state;   /* which side has posted and waits for the other */
  atomic_uint done;   /* how often it was complete */
  unsigned posted[2]; /* how often the sender and the receiver posted it: each is of the thread of its rank */
  zb_transport_side from, to;
  int64_t complete_ps;
} mailbox;

/* A rank that sleeps. `asleep` lets a completing rank skip the lock when none does. */
typedef struct sleeper {
  pthread_mutex_t mutex;
  pthread_cond_t wake;
  atomic_int asleep;
  bool ready;
} sleeper;

struct zb_mailboxes {
  zb_arena memory; /* of the arrays */
  zb_mailboxes_params params;
  mailbox *items;
  sleeper *sleepers; /* one a rank of this process */
  atomic_bool aborted;
  pthread_mutex_t abort_mutex;
  int abort_rank; /* -1: the reason is the whole text */
  char reason[REASON_BYTES];
};

int zb_usable_processors(void) {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
  return (int)sysconf(_SC_NPROCESSORS_ONLN);
}

static bool is_here(const zb_mailboxes *boxes, int rank) {
  return rank >= boxes->params.first_rank && rank < boxes->params.first_rank + boxes->params.rank_count;
}

bool zb_mailboxes_local(const zb_mailboxes *boxes, int message) {
  const zb_plan_message *m = &boxes->params.plan->messages[message];
  return is_here(boxes, m->source) && is_here(boxes, m->destination);
}

void zb_mailboxes_destroy(zb_mailboxes *boxes) {
  if (!boxes) return;
  for (int i = 0; boxes->sleepers && i < boxes->params.rank_count; ++i) {
    sleeper *s = &boxes->sleepers[i];
    if (!s->ready) continue;
    pthread_cond_destroy(&s->wake);
    pthread_mutex_destroy(&s->mutex);
  }
  pthread_mutex_destroy(&boxes->abort_mutex);
  zb_arena_deinit(&boxes->memory);
  zb_free(boxes);
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

zb_status zb_mailboxes_create(const zb_mailboxes_params *params, zb_mailboxes **out) {
  *out = NULL;
  zb_status status = NULL;
  zb_mailboxes *boxes = zb_alloc(sizeof *boxes);
  if (!boxes) return ZB_OUT_OF_MEMORY();
  boxes->params = *params;
  pthread_mutex_init(&boxes->abort_mutex, NULL);
  ZB_TAKE(&boxes->memory, boxes->items, params->plan->message_count + 1);
  ZB_TAKE(&boxes->memory, boxes->sleepers, params->rank_count + 1);
  ZB_TRY_GOTO(zb_arena_status(&boxes->memory));
  for (int i = 0; i < params->rank_count; ++i)
    ZB_TRY_GOTO(sleeper_init(&boxes->sleepers[i]));
  *out = boxes;
cleanup:
  if (status) zb_mailboxes_destroy(boxes);
  return status;
}

static void wake(zb_mailboxes *boxes, int rank) {
  if (!is_here(boxes, rank)) return;
  sleeper *s = &boxes->sleepers[rank - boxes->params.first_rank];
  /* Sequentially consistent, as are the state before it and both in sleep_until_over: either that rank sees the state,
   * or we see it asleep. */
  if (!atomic_load(&s->asleep)) return;
  pthread_mutex_lock(&s->mutex);
  pthread_cond_broadcast(&s->wake);
  pthread_mutex_unlock(&s->mutex);
}

static bool is_receiver(const zb_mailboxes *boxes, int rank, int message) {
  return rank != boxes->params.plan->messages[message].source;
}

void zb_mailboxes_posted(zb_mailboxes *boxes, int rank, int message) {
  ++boxes->items[message].posted[is_receiver(boxes, rank, message)];
}

void zb_mailboxes_complete(zb_mailboxes *boxes, int message) {
  mailbox *box = &boxes->items[message];
  box->complete_ps = zb_monotonic_ps();
  atomic_fetch_add(&box->done, 1);
  wake(boxes, boxes->params.plan->messages[message].source);
  wake(boxes, boxes->params.plan->messages[message].destination);
}

zb_status zb_mailboxes_post(zb_mailboxes *boxes, int rank, int message, const zb_transport_side *side) {
  mailbox *box = &boxes->items[message];
  bool sends = rank == boxes->params.plan->messages[message].source;
  *(sends ? &box->from : &box->to) = *side;
  int bit = sends ? SENT : RECEIVING, before = atomic_fetch_or_explicit(&box->state, bit, memory_order_acq_rel);
  if (before & bit) return ZB_ERROR(RUNTIME, "message %d is posted twice by rank %d", message, rank);
  zb_mailboxes_posted(boxes, rank, message);
  if (before == 0) return NULL;
  zb_transport_copy(&box->from, &box->to);
  atomic_store_explicit(&box->state, 0, memory_order_release); /* before anyone can know that it is complete */
  zb_mailboxes_complete(boxes, message);
  return NULL;
}

bool zb_mailboxes_test(const zb_mailboxes *boxes, int rank, int message) {
  const mailbox *box = &boxes->items[message];
  const unsigned posted = box->posted[is_receiver(boxes, rank, message)];
  return posted > 0 && atomic_load(&box->done) == posted;
}

static zb_status aborted_status(zb_mailboxes *boxes, int rank) {
  const zb_plan *plan = boxes->params.plan;
  char own[ZB_RANK_TEXT_BYTES], other[ZB_RANK_TEXT_BYTES];
  zb_status status = NULL;
  zb_plan_rank_text(plan, rank, own);
  pthread_mutex_lock(&boxes->abort_mutex);
  if (boxes->abort_rank < 0)
    status = ZB_ERROR(PEER, "%s stops: %s", own, boxes->reason);
  else
    status = ZB_ERROR(PEER, "%s stops because %s gave up: %s", own, zb_plan_rank_text(plan, boxes->abort_rank, other),
                      boxes->reason);
  pthread_mutex_unlock(&boxes->abort_mutex);
  return status;
}

static zb_status timed_out(zb_mailboxes *boxes, int rank, int message, int64_t waited_ms) {
  const zb_plan_message *m = &boxes->params.plan->messages[message];
  int state = atomic_load(&boxes->items[message].state);
  bool receives = rank == m->destination;
  bool peer_posted = state & (receives ? SENT : RECEIVING);
  const char *why = peer_posted ? "was posted but not copied" : "the other side has not posted";
  if (!zb_mailboxes_local(boxes, message)) why = receives ? "has not come" : "was not taken";
  char of[ZB_MESSAGE_TEXT_BYTES];
  const zb_plan *plan = boxes->params.plan;
  char own[ZB_RANK_TEXT_BYTES], peer[ZB_RANK_TEXT_BYTES];
  return ZB_ERROR(TIMEOUT, "%s waited %.1f s for message %d (%s %s, %s), which %s", zb_plan_rank_text(plan, rank, own),
                  (double)waited_ms / 1e3, message, receives ? "from" : "to",
                  zb_plan_rank_text(plan, receives ? m->source : m->destination, peer),
                  zb_plan_message_text(plan, message, of), why);
}

/* Whether the wait is over: the message is complete, or the run was aborted. */
static bool over(zb_mailboxes *boxes, int rank, int message) {
  return zb_mailboxes_test(boxes, rank, message) || atomic_load(&boxes->aborted);
}

static void sleep_until_over(zb_mailboxes *boxes, int rank, int message, int64_t timeout_ms) {
  sleeper *s = &boxes->sleepers[rank - boxes->params.first_rank];
  const struct timespec deadline = zb_monotonic_time(zb_monotonic_ps() + timeout_ms * ZB_MS_PS);
  pthread_mutex_lock(&s->mutex);
  atomic_store(&s->asleep, 1);
  while (!over(boxes, rank, message))
    if (pthread_cond_timedwait(&s->wake, &s->mutex, &deadline) == ETIMEDOUT) break;
  atomic_store(&s->asleep, 0);
  pthread_mutex_unlock(&s->mutex);
}

/* waited_ms: what a time-out says, waits before this one included. */
static zb_status wait_for(zb_mailboxes *boxes, int rank, int message, int64_t timeout_ms, int64_t waited_ms) {
  if (!over(boxes, rank, message)) sleep_until_over(boxes, rank, message, timeout_ms);
  if (zb_mailboxes_test(boxes, rank, message)) return NULL;
  if (atomic_load_explicit(&boxes->aborted, memory_order_acquire)) return aborted_status(boxes, rank);
  return timed_out(boxes, rank, message, waited_ms);
}

zb_status zb_mailboxes_wait(zb_mailboxes *boxes, int rank, int message) {
  for (int i = 0; boxes->params.spin && i < SPINS; ++i) {
    if (over(boxes, rank, message)) break;
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
  }
  return wait_for(boxes, rank, message, boxes->params.timeout_ms, boxes->params.timeout_ms);
}

zb_status zb_mailboxes_wait_more(zb_mailboxes *boxes, int rank, int message, int64_t more_ms) {
  return wait_for(boxes, rank, message, more_ms, boxes->params.timeout_ms + more_ms);
}

zb_status zb_mailboxes_reset(zb_mailboxes *boxes) {
  for (int message = 0; message < boxes->params.plan->message_count; ++message) {
    const zb_plan_message *m = &boxes->params.plan->messages[message];
    mailbox *box = &boxes->items[message];
    const unsigned done = atomic_load(&box->done);
    bool sent = !is_here(boxes, m->source) || box->posted[0] == done;
    bool received = !is_here(boxes, m->destination) || box->posted[1] == done;
    if (!sent || !received) return ZB_ERROR(RUNTIME, "message %d is not complete at the end of a step", message);
    box->posted[0] = box->posted[1] = 0;
    atomic_store(&box->done, 0);
  }
  return NULL;
}

void zb_mailboxes_revive(zb_mailboxes *boxes) {
  for (int message = 0; message < boxes->params.plan->message_count; ++message) {
    mailbox *box = &boxes->items[message];
    box->posted[0] = box->posted[1] = 0;
    atomic_store(&box->done, 0);
    atomic_store(&box->state, 0);
  }
  atomic_store(&boxes->aborted, false);
}

bool zb_mailboxes_abort(zb_mailboxes *boxes, int rank, const char *reason) {
  pthread_mutex_lock(&boxes->abort_mutex);
  bool first = !atomic_load(&boxes->aborted);
  if (first) {
    boxes->abort_rank = rank;
    snprintf(boxes->reason, sizeof boxes->reason, "%s", reason);
    atomic_store(&boxes->aborted, true);
  }
  pthread_mutex_unlock(&boxes->abort_mutex);
  for (int i = 0; i < boxes->params.rank_count; ++i)
    wake(boxes, boxes->params.first_rank + i);
  return first;
}

int64_t zb_mailboxes_complete_ps(const zb_mailboxes *boxes, int message) { return boxes->items[message].complete_ps; }
