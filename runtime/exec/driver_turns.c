/* All ranks of a process in turn, on the caller's thread: for devices that only enqueue.
 *
 * A turn is one job a rank, so all queues fill evenly, and the order of everything that is enqueued is a function of
 * the plan alone. A rank is held up in the host only until the other side of a message has posted it, which needs no
 * device. So the queues hold nothing that waits for what is not enqueued yet, and however short they are, they move on.
 * Tests: test/runtime/exec, test/runtime/device/cuda.
 */
#include "runtime/exec/driver.h"

#include <time.h>

typedef struct turn {
  bool done;
  uint64_t progress; /* when it was last looked at */
} turn;

struct zb_driver {
  zb_driver_params params;
  turn turns[]; /* one an executor */
};

enum {
  SILENT_BYTES = 1024,
  IDLE_NS = 20 * 1000,
  ROUNDS_AWAKE = 64
}; /* between questions whether the devices are done: asleep after some rounds */

static void turns_stop(zb_driver *driver) { zb_free(driver); }

static zb_status turns_start(const zb_driver_params *params, zb_driver **out) {
  *out = zb_alloc(sizeof **out + sizeof(turn) * (size_t)params->count);
  if (!*out) return ZB_OUT_OF_MEMORY();
  (*out)->params = *params;
  return NULL;
}

/* By two clocks: a rank does not end before a job of its queue does. */
static int64_t end_of(const zb_executor *e) {
  const int64_t now_ps = zb_monotonic_ps();
  return e->queue_end_ps > now_ps ? e->queue_end_ps : now_ps;
}

/* A turn of every rank; *out_moved: one of them enqueued something, or its device went on. */
static zb_status take_turns(zb_driver *driver, int *out_running, bool *out_moved) {
  *out_running = 0;
  *out_moved = false;
  for (int i = 0; i < driver->params.count; ++i) {
    zb_executor *e = &driver->params.executors[i];
    turn *own = &driver->turns[i];
    zb_executor_state state = ZB_EXECUTOR_DONE;
    if (own->done) continue;
    zb_status status = zb_executor_advance(e, &state);
    if (status) {
      driver->params.transport_def->abort(driver->params.transport, e->params.rank, zb_status_message(status));
      return status;
    }
    own->done = state == ZB_EXECUTOR_DONE;
    if (own->done) {
      e->ended_ps = end_of(e);
      zb_executor_finish_run(e, false);
    }
    *out_running += !own->done;
    *out_moved |= state == ZB_EXECUTOR_RAN || own->done || e->progress != own->progress;
    own->progress = e->progress;
  }
  return NULL;
}

static zb_status timed_out(zb_driver *driver) {
  char silent[SILENT_BYTES] = "";
  if (driver->params.group) driver->params.group_def->find_silent(driver->params.group, silent, sizeof silent);
  zb_status status = ZB_ERROR(TIMEOUT, "no job was started or ended for %.1f s%s%s",
                              (double)driver->params.timeout_ms / 1e3, silent[0] ? "; " : "", silent);
  driver->params.transport_def->abort(driver->params.transport, driver->params.executors[0].params.rank,
                                      zb_status_message(status));
  return zb_executors_note_positions(driver->params.executors, driver->params.count, status);
}

/* Nothing could be done in this round. */
static zb_status idle(zb_driver *driver, int rounds, int64_t last_moved_ps) {
  const zb_transport_def *transport = driver->params.transport_def;
  if (transport->poll) ZB_TRY(transport->poll(driver->params.transport));
  if (zb_monotonic_ps() - last_moved_ps > driver->params.timeout_ms * INT64_C(1000000000)) return timed_out(driver);
  if (rounds > ROUNDS_AWAKE) nanosleep(&(struct timespec){.tv_nsec = IDLE_NS}, NULL);
  return NULL;
}

static zb_status turns_run(zb_driver *driver, int64_t *out_ps) {
  int64_t start = zb_monotonic_ps(), last_moved = start;
  int running = driver->params.count, rounds = 0;
  *out_ps = 0;
  for (int i = 0; i < driver->params.count; ++i) {
    zb_executor *e = &driver->params.executors[i];
    ZB_TRY(zb_executor_clear(e));
    e->started_ps = e->ended_ps = zb_monotonic_ps();
    driver->turns[i] = (turn){.progress = e->progress};
  }
  while (running > 0) {
    bool moved = false;
    ZB_TRY(take_turns(driver, &running, &moved));
    if (moved) rounds = 0;
    if (moved || running == 0) continue;
    if (rounds++ == 0) last_moved = zb_monotonic_ps();
    ZB_TRY(idle(driver, rounds, last_moved));
  }
  int64_t end = zb_monotonic_ps();
  for (int i = 0; i < driver->params.count; ++i)
    if (driver->params.executors[i].ended_ps > end) end = driver->params.executors[i].ended_ps;
  *out_ps = end - start;
  return NULL;
}

const zb_driver_def zb_driver_turns = {
    .start = turns_start,
    .run = turns_run,
    .stop = turns_stop,
};
