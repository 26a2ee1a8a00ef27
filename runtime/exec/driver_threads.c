/* One thread a rank. Tests: test/runtime/exec. */
#include "runtime/exec/driver.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

enum { POSITION_BYTES = 448, REASON_BYTES = 900 };
static const long poll_ns = 50 * 1000 * 1000; /* how often a waiting caller looks at the interrupt flag */

typedef struct worker {
  zb_driver *driver;
  zb_executor *executor;
  pthread_t thread;
  uint64_t seen; /* the last run that it took part in */
  int64_t next;  /* step, where there are no barriers */
  int64_t over;  /* and how many of them are over on the rank: those with a verdict to come are not */
  bool busy, settling;
} worker;

struct zb_driver {
  zb_driver_params params;
  int started;
  pthread_mutex_t mutex; /* guards all below */
  pthread_cond_t go, done;
  uint64_t generation;    /* of runs; a change lets the workers start */
  int running;            /* workers of a run that are not done */
  int64_t first, allowed; /* steps without a barrier: the first since `open`, and the first that none may begin */
  int64_t until;          /* and the first that nobody will */
  bool stopping;
  zb_status failure; /* the first */
  worker workers[];  /* one an executor */
};

/* The verdict of a step is known, and with it the step is over. */
static void note_over(zb_driver *driver, const zb_executor *e, int64_t over) {
  worker *w = &driver->workers[e - driver->params.executors];
  pthread_mutex_lock(&driver->mutex);
  w->over = over;
  pthread_cond_signal(&driver->done);
  pthread_mutex_unlock(&driver->mutex);
}

static zb_status run_executor(zb_driver *driver, zb_executor *e) {
  ZB_TRY(zb_executor_clear(e));
  e->started_ps = e->ended_ps = zb_monotonic_ps();
  for (;;) {
    zb_executor_state state = ZB_EXECUTOR_DONE;
    ZB_TRY(zb_executor_advance(e, &state));
    if (state == ZB_EXECUTOR_DONE) break;
    if (state == ZB_EXECUTOR_VALIDATED) note_over(driver, e, e->settles ? e->step + 1 : e->step);
    if (state != ZB_EXECUTOR_BLOCKED) continue;
    int64_t start = zb_monotonic_ps();
    ZB_TRY(driver->params.transport_def->wait(driver->params.transport, e->params.rank, e->blocked_on));
    zb_executor_waited(e, start, zb_monotonic_ps());
  }
  e->ended_ps = zb_monotonic_ps();
  return NULL;
}

/* Keeps the first failure, and stops the others. */
static void fail(zb_driver *driver, const zb_executor *e, zb_status status) {
  pthread_mutex_lock(&driver->mutex);
  bool first = driver->failure == NULL;
  if (first) driver->failure = status;
  pthread_mutex_unlock(&driver->mutex);
  if (!first) {
    zb_status_free(status);
    return;
  }
  char reason[REASON_BYTES], position[POSITION_BYTES];
  zb_code code = zb_status_code(status);
  if (code == ZB_TIMEOUT) /* where it was is what others want to know */
    snprintf(reason, sizeof reason, "%.600s; %s", zb_status_message(status),
             zb_executor_position(e, position, sizeof position));
  else
    snprintf(reason, sizeof reason, "%.600s", zb_status_message(status));
  driver->params.transport_def->abort(driver->params.transport, e->params.rank, reason);
}

/* The mutex is held, but not while the executor runs. */
static void run_list(worker *w) {
  zb_driver *driver = w->driver;
  w->seen = driver->generation;
  w->executor->speculates = false;
  pthread_mutex_unlock(&driver->mutex);
  zb_status status = run_executor(driver, w->executor);
  if (status)
    fail(driver, w->executor, status);
  else
    zb_executor_finish_run(w->executor, false);
  pthread_mutex_lock(&driver->mutex);
  if (--driver->running == 0) pthread_cond_signal(&driver->done);
}

static bool may_step(const worker *w) { return !w->driver->failure && w->next < w->driver->allowed; }

static void run_step(worker *w) {
  zb_driver *driver = w->driver;
  const bool follows = w->next > driver->first;
  w->busy = true;
  w->executor->speculates = w->executor->verdict >= 0 && w->next + 1 < driver->until;
  pthread_mutex_unlock(&driver->mutex);
  zb_executor_begin_step(w->executor, w->next);
  driver->params.begin_step(driver->params.context, (int)(w - driver->workers), w->next);
  zb_status status = run_executor(driver, w->executor);
  if (status)
    fail(driver, w->executor, zb_status_note(status, "step %lld", (long long)zb_executor_step(w->executor) + 1));
  else
    zb_executor_finish_run(w->executor, follows);
  pthread_mutex_lock(&driver->mutex);
  w->busy = false;
  w->next += !status;
  if (!status && !w->executor->pending) w->over = w->next;
  pthread_cond_signal(&driver->done);
}

/* No step follows the last one that the rank made: its verdict is waited for. */
static bool must_settle(const worker *w) {
  return !w->driver->failure && w->executor->pending && w->next >= w->driver->until;
}

static void settle(worker *w) {
  zb_driver *driver = w->driver;
  w->settling = true;
  pthread_mutex_unlock(&driver->mutex);
  zb_executor_begin_settling(w->executor);
  zb_status status = run_executor(driver, w->executor);
  if (status)
    fail(driver, w->executor, zb_status_note(status, "step %lld", (long long)zb_executor_step(w->executor) + 1));
  else
    zb_executor_finish_run(w->executor, true);
  pthread_mutex_lock(&driver->mutex);
  w->settling = false;
  pthread_cond_signal(&driver->done);
}

static void *work(void *argument) {
  worker *w = argument;
  zb_driver *driver = w->driver;
  pthread_mutex_lock(&driver->mutex);
  while (!driver->stopping) {
    if (driver->generation != w->seen)
      run_list(w);
    else if (may_step(w))
      run_step(w);
    else if (must_settle(w))
      settle(w);
    else
      pthread_cond_wait(&driver->go, &driver->mutex);
  }
  pthread_mutex_unlock(&driver->mutex);
  return NULL;
}

static void threads_stop(zb_driver *driver) {
  if (!driver) return;
  pthread_mutex_lock(&driver->mutex);
  driver->stopping = true;
  pthread_cond_broadcast(&driver->go);
  pthread_mutex_unlock(&driver->mutex);
  for (int i = 0; i < driver->started; ++i)
    pthread_join(driver->workers[i].thread, NULL);
  pthread_cond_destroy(&driver->go);
  pthread_cond_destroy(&driver->done);
  pthread_mutex_destroy(&driver->mutex);
  zb_status_free(driver->failure);
  zb_free(driver);
}

/* Starts the workers with other signals blocked, so that handlers run on the threads of the program. */
static zb_status start_workers(zb_driver *driver) {
  sigset_t all, before;
  sigfillset(&all);
  sigdelset(&all, SIGBUS); /* runtime/base/mapping.c */
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int error = 0;
  for (int i = 0; i < driver->params.count && !error; ++i) {
    driver->workers[i] = (worker){.driver = driver, .executor = &driver->params.executors[i]};
    error = pthread_create(&driver->workers[i].thread, NULL, work, &driver->workers[i]);
    if (!error) ++driver->started;
  }
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return error ? ZB_ERROR(RUNTIME, "cannot start a thread for rank %d: %s", driver->started, strerror(error)) : NULL;
}

static zb_status threads_start(const zb_driver_params *params, zb_driver **out) {
  *out = NULL;
  zb_driver *driver = zb_alloc(sizeof *driver + sizeof(worker) * (size_t)params->count);
  if (!driver) return ZB_OUT_OF_MEMORY();
  driver->params = *params;
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_mutex_init(&driver->mutex, NULL);
  pthread_cond_init(&driver->go, NULL);
  pthread_cond_init(&driver->done, &attributes);
  pthread_condattr_destroy(&attributes);
  zb_status status = start_workers(driver);
  if (status)
    threads_stop(driver);
  else
    *out = driver;
  return status;
}

/* Of a run. */
static bool is_run_over(const zb_driver *driver, int64_t step ZB_UNUSED) { return driver->running == 0; }

static bool is_busy(const zb_driver *driver) {
  for (int i = 0; i < driver->params.count; ++i)
    if (driver->workers[i].busy || driver->workers[i].settling) return true;
  return false;
}

/* Of a step: all ranks have done it, or one has failed and the others have stopped. */
static bool is_step_over(const zb_driver *driver, int64_t step) {
  bool done = true;
  for (int i = 0; i < driver->params.count; ++i)
    done &= driver->workers[i].over > step;
  return done || (driver->failure && !is_busy(driver));
}

/* Sleeps until it is over. A rank looks at the interrupt flag between jobs; one that waits for a message is woken here.
 */
static void wait_for_workers(zb_driver *driver, bool (*is_over)(const zb_driver *driver, int64_t step), int64_t step) {
  bool aborted = false;
  while (!is_over(driver, step)) {
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += poll_ns;
    if (until.tv_nsec >= 1000000000) until.tv_nsec -= 1000000000, ++until.tv_sec;
    if (pthread_cond_timedwait(&driver->done, &driver->mutex, &until) != ETIMEDOUT) continue;
    if (aborted || !atomic_load(driver->params.interrupted)) continue;
    aborted = true;
    if (!driver->failure) driver->failure = ZB_ERROR(INTERRUPTED, "the step was interrupted");
    pthread_mutex_unlock(&driver->mutex);
    driver->params.transport_def->abort(driver->params.transport, driver->params.executors[0].params.rank,
                                        "interrupted");
    pthread_mutex_lock(&driver->mutex);
  }
}

/* The mutex is held, and released here. */
static zb_status take_failure(zb_driver *driver) {
  zb_status status = driver->failure;
  driver->failure = NULL;
  if (status) driver->allowed = INT64_MIN; /* all is over */
  pthread_mutex_unlock(&driver->mutex);
  bool lost = zb_status_code(status) == ZB_TIMEOUT || zb_status_code(status) == ZB_PEER;
  return lost ? zb_executors_note_positions(driver->params.executors, driver->params.count, status) : status;
}

static zb_status threads_run(zb_driver *driver, int64_t *out_ps) {
  int64_t start = zb_monotonic_ps();
  pthread_mutex_lock(&driver->mutex);
  driver->running = driver->params.count;
  ++driver->generation;
  pthread_cond_broadcast(&driver->go);
  wait_for_workers(driver, is_run_over, 0);
  *out_ps = zb_monotonic_ps() - start;
  return take_failure(driver);
}

/* ---- Steps without a barrier ---- */

static void threads_open(zb_driver *driver, int64_t first) {
  pthread_mutex_lock(&driver->mutex);
  driver->first = driver->allowed = first;
  driver->until = INT64_MAX;
  for (int i = 0; i < driver->params.count; ++i)
    driver->workers[i].next = driver->workers[i].over = first;
  pthread_mutex_unlock(&driver->mutex);
}

static void threads_allow(zb_driver *driver, int64_t end, int64_t until) {
  pthread_mutex_lock(&driver->mutex);
  driver->allowed = end;
  driver->until = until;
  pthread_cond_broadcast(&driver->go);
  pthread_mutex_unlock(&driver->mutex);
}

static zb_status threads_await(zb_driver *driver, int64_t step, int64_t *out_ps) {
  *out_ps = INT64_MIN;
  pthread_mutex_lock(&driver->mutex);
  wait_for_workers(driver, is_step_over, step);
  bool done = true;
  for (int i = 0; i < driver->params.count; ++i) {
    const int64_t ended_ps = zb_executor_record(&driver->params.executors[i], step)->ended_ps;
    if (ended_ps > *out_ps) *out_ps = ended_ps;
    done &= driver->workers[i].over > step;
  }
  if (!done) return take_failure(driver);
  pthread_mutex_unlock(&driver->mutex); /* a failure is of a later step, which is asked for next */
  return NULL;
}

static int64_t threads_halt(zb_driver *driver) {
  pthread_mutex_lock(&driver->mutex);
  int64_t begun = driver->first;
  for (int i = 0; i < driver->params.count; ++i) {
    const int64_t next = driver->workers[i].next + driver->workers[i].busy;
    if (next > begun) begun = next;
  }
  driver->allowed = begun;
  pthread_mutex_unlock(&driver->mutex);
  return begun;
}

const zb_driver_def zb_driver_threads = {
    .start = threads_start,
    .run = threads_run,
    .stop = threads_stop,
    .open = threads_open,
    .allow = threads_allow,
    .await = threads_await,
    .halt = threads_halt,
};
