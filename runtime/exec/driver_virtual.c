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
  int64_t next, over; /* step, where there are no barriers; and how many of them are over */
  bool blocked, done, settling;
  /* Its second clock, for jobs beside the others: */
  int64_t second_ps;   /* when its current job ends */
  int64_t *reached_ps; /* [job] of it: when the rank came to it */
  bool second_blocked; /* by a message */
} virtual_rank;

struct zb_driver {
  zb_driver_params params;
  int64_t now_ps;
  bool overlaps; /* steps without a barrier: */
  int64_t first, allowed, until;
  virtual_rank ranks[]; /* one an executor */
};

static void virtual_stop(zb_driver *driver) {
  if (!driver) return;
  for (int i = 0; i < driver->params.count; ++i) {
    driver->params.executors[i].virtual_now_ps = NULL;
    zb_free(driver->ranks[i].reached_ps);
  }
  zb_free(driver);
}

static zb_status virtual_start(const zb_driver_params *params, zb_driver **out) {
  *out = NULL;
  zb_driver *driver = zb_alloc(sizeof *driver + sizeof(virtual_rank) * (size_t)params->count);
  if (!driver) return ZB_OUT_OF_MEMORY();
  driver->params = *params;
  for (int i = 0; i < params->count; ++i) {
    const zb_plan_rank *program = params->executors[i].program;
    params->executors[i].virtual_now_ps = &driver->now_ps;
    driver->ranks[i].reached_ps = zb_alloc(((size_t)program->job_count + 1) * sizeof *driver->ranks[i].reached_ps);
    if (driver->ranks[i].reached_ps) continue;
    virtual_stop(driver);
    return ZB_OUT_OF_MEMORY();
  }
  *out = driver;
  return NULL;
}

/* When the second clock of a rank runs its next job; INT64_MAX: it waits for a message, or for the rank. */
static int64_t second_ready_ps(const zb_driver *driver, int rank) {
  const virtual_rank *r = &driver->ranks[rank];
  const zb_executor *e = &driver->params.executors[rank];
  if (r->second_blocked || !zb_executor_has_second(e)) return INT64_MAX;
  return r->reached_ps[e->second] > r->second_ps ? r->reached_ps[e->second] : r->second_ps;
}

/* The rank that can go on first, with its clock (second: the other one), or -1. */
static int first_ready(const zb_driver *driver, bool *out_second, int64_t *out_ps) {
  int best = -1;
  for (int i = 0; i < driver->params.count; ++i) {
    const virtual_rank *r = &driver->ranks[i];
    const int64_t ready_of[] = {r->blocked || r->done ? INT64_MAX : r->ready_ps, second_ready_ps(driver, i)};
    for (int clock = 0; clock < 2; ++clock) {
      const int64_t ready_ps = ready_of[clock];
      if (ready_ps == INT64_MAX || (best >= 0 && ready_ps >= *out_ps)) continue;
      best = i;
      *out_second = clock != 0;
      *out_ps = ready_ps;
    }
  }
  return best;
}

static void deliver(zb_driver *driver, int message, int64_t arrival_ps) {
  zb_virtual_deliver(driver->params.transport, message);
  for (int i = 0; i < driver->params.count; ++i) {
    virtual_rank *r = &driver->ranks[i];
    if (r->second_blocked && driver->params.executors[i].second_blocked == message) {
      r->second_blocked = false;
      r->second_ps = arrival_ps + driver->params.executors[i].params.plan->link_wake_ps;
    }
    if (!r->blocked || driver->params.executors[i].blocked_on != message) continue;
    r->blocked = false;
    r->ready_ps = arrival_ps + driver->params.executors[i].params.plan->link_wake_ps;
    zb_executor_waited(&driver->params.executors[i], r->blocked_ps, r->ready_ps);
  }
}

/* What the job that has just run takes by the plan's costs, without the interpreter's part. */
static int64_t time_of(const zb_driver *driver, const zb_executor *e, const zb_plan_job *job) {
  if (job->subprogram >= 0 || job->kind == ZB_JOB_SNAPSHOT) return e->virtual_ps;
  if (job->kind == ZB_JOB_READ) return e->params.plan->read_ps;
  return job->message >= 0 ? zb_virtual_copy_ps(driver->params.transport) : 0;
}

/* One job of the second clock of a rank, which computes meanwhile. */
static zb_status step_second(zb_driver *driver, int rank) {
  virtual_rank *r = &driver->ranks[rank];
  zb_executor *e = &driver->params.executors[rank];
  driver->now_ps = r->second_ps = second_ready_ps(driver, rank);
  zb_virtual_set_time(driver->params.transport, driver->now_ps);
  zb_executor_state state = ZB_EXECUTOR_DONE;
  ZB_TRY(zb_executor_advance_second(e, &state));
  r->second_blocked = state == ZB_EXECUTOR_BLOCKED;
  if (state != ZB_EXECUTOR_RAN) return NULL;
  const int64_t end = r->second_ps + time_of(driver, e, &e->program->jobs[e->last]);
  if (e->times) e->times[e->last] = (zb_run_times){r->second_ps, end};
  r->second_ps = end;
  return NULL;
}

static zb_status step_rank(zb_driver *driver, int rank) {
  virtual_rank *r = &driver->ranks[rank];
  zb_executor *e = &driver->params.executors[rank];
  const int began = e->job;
  driver->now_ps = r->ready_ps;
  zb_virtual_set_time(driver->params.transport, driver->now_ps);
  zb_executor_state state = ZB_EXECUTOR_DONE;
  ZB_TRY(zb_executor_advance(e, &state));
  if (state == ZB_EXECUTOR_DONE) {
    r->done = true;
    e->ended_ps = r->ready_ps;
    zb_executor_finish_run(e, driver->overlaps && r->next > driver->first);
    if (driver->overlaps && !r->settling) ++r->next;
    if (!e->pending) r->over = r->next;
    r->settling = false;
  }
  if (state == ZB_EXECUTOR_VALIDATED) r->over = e->settles ? e->step + 1 : e->step;
  if (state == ZB_EXECUTOR_BLOCKED) r->blocked = true, r->blocked_ps = r->ready_ps;
  if (state == ZB_EXECUTOR_RAN) {
    const int64_t end = r->ready_ps + time_of(driver, e, &e->program->jobs[e->last]);
    if (e->times) e->times[e->last] = (zb_run_times){r->ready_ps, end};
    r->ready_ps = end + e->params.plan->job_ps;
  }
  for (int i = began + 1; i < e->job; ++i) /* those that it passed */
    r->reached_ps[i] = r->ready_ps;
  return NULL;
}

/* The run is, or with overlaps the step. */
static bool all_done(const zb_driver *driver, int64_t step) {
  for (int i = 0; i < driver->params.count; ++i)
    if (driver->overlaps ? driver->ranks[i].over <= step : !driver->ranks[i].done) return false;
  return true;
}

static zb_status hangs(const zb_driver *driver) {
  zb_status status =
      ZB_ERROR(TIMEOUT, "the plan hangs at virtual time %.6f s: every rank waits and no message is on its way",
               (double)driver->now_ps / 1e12);
  for (int i = 0; i < driver->params.count; ++i) {
    char text[448];
    int message = driver->params.executors[i].blocked_on;
    status = zb_status_note(status, "%s", zb_executor_position(&driver->params.executors[i], text, sizeof text));
    if (message >= 0)
      status =
          zb_status_note(status, "%s", zb_virtual_state_text(driver->params.transport, message, text, sizeof text));
  }
  return status;
}

/* Lets ranks that have done a step begin the next one, if they may. */
static zb_status begin_steps(zb_driver *driver) {
  for (int i = 0; i < driver->params.count; ++i) {
    virtual_rank *r = &driver->ranks[i];
    zb_executor *e = &driver->params.executors[i];
    const bool settles = e->pending && r->next >= driver->until;
    if (!driver->overlaps || !r->done || (r->next >= driver->allowed && !settles)) continue;
    r->settling = settles;
    if (settles) {
      zb_executor_begin_settling(e);
    } else {
      e->speculates = e->verdict >= 0 && r->next + 1 < driver->until;
      zb_executor_begin_step(e, r->next);
      driver->params.begin_step(driver->params.context, i, r->next);
    }
    ZB_TRY(zb_executor_clear(e));
    if (r->ready_ps < driver->now_ps) r->ready_ps = driver->now_ps;
    e->started_ps = r->ready_ps;
    r->done = false;
  }
  return NULL;
}

/* Lets time pass until the run, or with overlaps the step, is done. */
static zb_status pass(zb_driver *driver, int64_t step) {
  while (!all_done(driver, step)) {
    ZB_TRY(begin_steps(driver));
    int64_t arrival_ps = 0, ready_ps = 0;
    bool second = false;
    int message = -1, rank = first_ready(driver, &second, &ready_ps);
    bool arrives = zb_virtual_next(driver->params.transport, &arrival_ps, &message);
    if (rank < 0 && !arrives) return hangs(driver);
    if (arrives && (rank < 0 || arrival_ps <= ready_ps)) {
      driver->now_ps = arrival_ps;
      deliver(driver, message, arrival_ps);
      continue;
    }
    zb_status status = second ? step_second(driver, rank) : step_rank(driver, rank);
    if (!status) continue;
    driver->params.transport_def->abort(driver->params.transport, rank, zb_status_message(status));
    if (!driver->overlaps) return status;
    return zb_status_note(status, "step %lld", (long long)zb_executor_step(&driver->params.executors[rank]) + 1);
  }
  return NULL;
}

static zb_status virtual_run(zb_driver *driver, int64_t *out_ps) {
  driver->now_ps = 0;
  driver->overlaps = false;
  for (int i = 0; i < driver->params.count; ++i) {
    driver->ranks[i] = (virtual_rank){.reached_ps = driver->ranks[i].reached_ps};
    driver->params.executors[i].started_ps = 0;
    driver->params.executors[i].speculates = false;
    ZB_TRY(zb_executor_clear(&driver->params.executors[i]));
  }
  ZB_TRY(pass(driver, 0));
  *out_ps = 0;
  for (int i = 0; i < driver->params.count; ++i)
    if (driver->ranks[i].ready_ps > *out_ps) *out_ps = driver->ranks[i].ready_ps;
  *out_ps += driver->params.count > 0 ? driver->params.executors[0].params.plan->step_ps : 0;
  return NULL;
}

/* ---- Steps without a barrier ---- */

static void virtual_open(zb_driver *driver, int64_t first) {
  driver->now_ps = 0;
  driver->overlaps = true;
  driver->first = driver->allowed = first;
  driver->until = INT64_MAX;
  for (int i = 0; i < driver->params.count; ++i)
    driver->ranks[i] =
        (virtual_rank){.next = first, .over = first, .done = true, .reached_ps = driver->ranks[i].reached_ps};
}

static void virtual_allow(zb_driver *driver, int64_t end, int64_t until) {
  driver->allowed = end;
  driver->until = until;
}

static zb_status virtual_await(zb_driver *driver, int64_t step, int64_t *out_ps) {
  *out_ps = 0;
  ZB_TRY(pass(driver, step));
  for (int i = 0; i < driver->params.count; ++i) {
    const int64_t ended_ps = zb_executor_record(&driver->params.executors[i], step)->ended_ps;
    if (ended_ps > *out_ps) *out_ps = ended_ps;
  }
  return NULL;
}

static int64_t virtual_halt(zb_driver *driver) {
  int64_t begun = driver->first;
  for (int i = 0; i < driver->params.count; ++i) {
    const int64_t next = driver->ranks[i].next + !driver->ranks[i].done;
    if (next > begun) begun = next;
  }
  return driver->allowed = begun;
}

const zb_driver_def zb_driver_virtual = {
    .start = virtual_start,
    .run = virtual_run,
    .stop = virtual_stop,
    .open = virtual_open,
    .allow = virtual_allow,
    .await = virtual_await,
    .halt = virtual_halt,
};
