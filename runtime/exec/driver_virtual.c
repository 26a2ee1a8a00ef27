/* All ranks on one thread and a virtual clock: a discrete-event loop over jobs that end and messages that arrive.
 *
 * Events are taken in order of time; of events at the same time, messages first (by number), then ranks (by number). So
 * a run is a function of the plan and the seed alone. Tests: test/runtime/exec.
 */
#include "runtime/transport/virtual/virtual.h"
#include "runtime/exec/driver.h"

typedef struct virtual_rank {
  int64_t ready_ps;   /* when its current job ends */
  int64_t blocked_ps; /* since when it is blocked */
  bool blocked, done;
} virtual_rank;

struct zb_driver {
  zb_driver_params params;
  int64_t now_ps;
  virtual_rank ranks[]; /* one an executor */
};

static void virtual_stop(zb_driver *driver) {
  if (!driver) return;
  for (int i = 0; i < driver->params.count; ++i)
    driver->params.executors[i].virtual_now_ps = NULL;
  zb_free(driver);
}

static zb_status virtual_start(const zb_driver_params *params, zb_driver **out) {
  *out = NULL;
  zb_driver *driver = zb_alloc(sizeof *driver + sizeof(virtual_rank) * (size_t)params->count);
  if (!driver) return ZB_OUT_OF_MEMORY();
  driver->params = *params;
  for (int i = 0; i < params->count; ++i)
    params->executors[i].virtual_now_ps = &driver->now_ps;
  *out = driver;
  return NULL;
}

/* The rank that can go on first, or -1. */
static int first_ready(const zb_driver *driver) {
  int best = -1;
  for (int i = 0; i < driver->params.count; ++i) {
    const virtual_rank *r = &driver->ranks[i];
    if (r->blocked || r->done) continue;
    if (best < 0 || r->ready_ps < driver->ranks[best].ready_ps) best = i;
  }
  return best;
}

static void deliver(zb_driver *driver, int message, int64_t arrival_ps) {
  zb_virtual_deliver(driver->params.transport, message);
  for (int i = 0; i < driver->params.count; ++i) {
    virtual_rank *r = &driver->ranks[i];
    if (!r->blocked || driver->params.executors[i].blocked_on != message) continue;
    r->blocked = false;
    r->ready_ps = arrival_ps + driver->params.executors[i].params.plan->link_wake_ps;
    zb_executor_waited(&driver->params.executors[i], r->blocked_ps, r->ready_ps);
  }
}

/* What the job that has just run takes by the plan's costs, without the interpreter's part. */
static int64_t time_of(const zb_driver *driver, const zb_executor *e, const zb_plan_job *job) {
  if (job->subprogram >= 0) return e->virtual_ps;
  if (job->kind == ZB_JOB_READ) return e->params.plan->read_ps;
  return job->message >= 0 ? zb_virtual_copy_ps(driver->params.transport) : 0;
}

static zb_status step_rank(zb_driver *driver, int rank) {
  virtual_rank *r = &driver->ranks[rank];
  zb_executor *e = &driver->params.executors[rank];
  driver->now_ps = r->ready_ps;
  zb_virtual_set_time(driver->params.transport, driver->now_ps);
  zb_executor_state state = ZB_EXECUTOR_DONE;
  ZB_TRY(zb_executor_advance(e, &state));
  if (state == ZB_EXECUTOR_DONE) r->done = true, e->ended_ps = r->ready_ps;
  if (state == ZB_EXECUTOR_BLOCKED) r->blocked = true, r->blocked_ps = r->ready_ps;
  if (state == ZB_EXECUTOR_RAN) {
    const int64_t end = r->ready_ps + time_of(driver, e, &e->program->jobs[e->job - 1]);
    if (e->times) e->times[e->job - 1] = (zb_run_times){r->ready_ps, end};
    r->ready_ps = end + e->params.plan->job_ps;
  }
  return NULL;
}

static bool all_done(const zb_driver *driver) {
  for (int i = 0; i < driver->params.count; ++i)
    if (!driver->ranks[i].done) return false;
  return true;
}

static zb_status hangs(const zb_driver *driver) {
  zb_status status =
      ZB_ERROR(TIMEOUT, "the plan hangs at virtual time %.6f s: every rank waits and no message is on its way",
               (double)driver->now_ps / 1e12);
  for (int i = 0; i < driver->params.count; ++i) {
    char text[256];
    int message = driver->params.executors[i].blocked_on;
    status = zb_status_note(status, "%s", zb_executor_position(&driver->params.executors[i], text, sizeof text));
    if (message >= 0)
      status =
          zb_status_note(status, "%s", zb_virtual_state_text(driver->params.transport, message, text, sizeof text));
  }
  return status;
}

static zb_status virtual_run(zb_driver *driver, int64_t *out_ps) {
  driver->now_ps = 0;
  for (int i = 0; i < driver->params.count; ++i) {
    driver->ranks[i] = (virtual_rank){0};
    driver->params.executors[i].started_ps = 0;
    ZB_TRY(zb_executor_clear(&driver->params.executors[i]));
  }
  while (!all_done(driver)) {
    int64_t arrival_ps = 0;
    int message = -1, rank = first_ready(driver);
    bool arrives = zb_virtual_next(driver->params.transport, &arrival_ps, &message);
    if (rank < 0 && !arrives) return hangs(driver);
    if (arrives && (rank < 0 || arrival_ps <= driver->ranks[rank].ready_ps)) {
      driver->now_ps = arrival_ps;
      deliver(driver, message, arrival_ps);
      continue;
    }
    zb_status status = step_rank(driver, rank);
    if (!status) continue;
    driver->params.transport_def->abort(driver->params.transport, rank, zb_status_message(status));
    return status;
  }
  *out_ps = 0;
  for (int i = 0; i < driver->params.count; ++i)
    if (driver->ranks[i].ready_ps > *out_ps) *out_ps = driver->ranks[i].ready_ps;
  *out_ps += driver->params.count > 0 ? driver->params.executors[0].params.plan->step_ps : 0;
  return NULL;
}

const zb_driver_def zb_driver_virtual = {
    .start = virtual_start,
    .run = virtual_run,
    .stop = virtual_stop,
};
