/* One thread a rank. Tests: test/runtime/exec. */
#include "runtime/exec/driver.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

enum { POSITION_BYTES = 256, REASON_BYTES = 900 };
static const long poll_ns = 50 * 1000 * 1000; /* how often a waiting caller looks at the interrupt flag */

typedef struct worker {
  zb_driver *driver;
  zb_executor *executor;
  pthread_t thread;
} worker;

struct zb_driver {
  zb_driver_params params;
  int started;
  pthread_mutex_t mutex; /* guards all below */
  pthread_cond_t go, done;
  uint64_t generation; /* of runs; a change lets the workers start */
  int running;
  bool stopping;
  zb_status failure; /* the first */
  worker workers[];  /* one an executor */
};

static zb_status run_executor(const zb_driver *driver, zb_executor *e) {
  ZB_TRY(zb_executor_clear(e));
  e->started_ps = e->ended_ps = zb_monotonic_ps();
  for (;;) {
    zb_executor_state state = ZB_EXECUTOR_DONE;
    ZB_TRY(zb_executor_advance(e, &state));
    if (state == ZB_EXECUTOR_DONE) break;
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

static void *work(void *argument) {
  worker *w = argument;
  zb_driver *driver = w->driver;
  uint64_t seen = 0;
  pthread_mutex_lock(&driver->mutex);
  for (;;) {
    while (driver->generation == seen && !driver->stopping)
      pthread_cond_wait(&driver->go, &driver->mutex);
    if (driver->stopping) break;
    seen = driver->generation;
    pthread_mutex_unlock(&driver->mutex);
    zb_status status = run_executor(driver, w->executor);
    if (status) fail(driver, w->executor, status);
    pthread_mutex_lock(&driver->mutex);
    if (--driver->running == 0) pthread_cond_signal(&driver->done);
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

/* Starts the workers with all signals blocked, so that handlers run on the threads of the program. */
static zb_status start_workers(zb_driver *driver) {
  sigset_t all, before;
  sigfillset(&all);
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

/* Sleeps until all workers are done. A rank looks at the interrupt flag between jobs; one that waits for a message is
 * woken here. */
static void wait_for_workers(zb_driver *driver) {
  bool aborted = false;
  while (driver->running > 0) {
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

static zb_status threads_run(zb_driver *driver, int64_t *out_ps) {
  int64_t start = zb_monotonic_ps();
  pthread_mutex_lock(&driver->mutex);
  driver->running = driver->params.count;
  ++driver->generation;
  pthread_cond_broadcast(&driver->go);
  wait_for_workers(driver);
  zb_status status = driver->failure;
  driver->failure = NULL;
  pthread_mutex_unlock(&driver->mutex);
  *out_ps = zb_monotonic_ps() - start;
  bool lost = zb_status_code(status) == ZB_TIMEOUT || zb_status_code(status) == ZB_PEER;
  return lost ? zb_executors_note_positions(driver->params.executors, driver->params.count, status) : status;
}

const zb_driver_def zb_driver_threads = {
    .start = threads_start,
    .run = threads_run,
    .stop = threads_stop,
};
