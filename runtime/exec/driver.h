/* Drivers run the executors of all ranks of this process to their ends: one thread a rank, or all on a virtual clock.
 */
#pragma once

#include "runtime/exec/executor.h"

typedef struct zb_driver zb_driver;

typedef struct zb_driver_params {
  zb_executor *executors; /* one a rank of the plan; outlive the driver */
  int count;
  const zb_transport_def *transport_def;
  zb_transport *transport;
  const atomic_int *interrupted;
  int64_t timeout_ms; /* turns: see below */
  zb_group *group;    /* the processes; NULL: there is one */
  const zb_group_def *group_def;
  /* On the thread of the rank, before an executor of that index begins a step without a barrier: what changes from step
   * to step. */
  void (*begin_step)(void *context, int index, int64_t step);
  void *context;
} zb_driver_params;

typedef struct zb_driver_def {
  zb_status (*start)(const zb_driver_params *params, zb_driver **out);
  /* Clears every executor and advances it until all are done; each must have begun. After the first failure of a rank
   * the others are stopped (transport->abort), and that failure is what comes back. out_ps: how long it took, on the
   * driver's clock.
   */
  zb_status (*run)(zb_driver *driver, int64_t *out_ps);
  void (*stop)(zb_driver *driver);
  /* ---- Steps without a barrier; NULL where the driver has none. Between `open` and the last step that is allowed
   * nothing else runs ---- */
  /* The next step of all ranks is `first`, and none is allowed yet. */
  void (*open)(zb_driver *driver, int64_t first);
  /* Every rank makes its steps below `end`, each as soon as its own before it is done; step `until`, not below `end`,
   * is the first that none will make before the next `open`, as far as is known. Never blocks. With post-validation a
   * step below until - 1 is done only by ranks that are in the next one. */
  void (*allow)(zb_driver *driver, int64_t end, int64_t until);
  /* Until all ranks have done that step, which is allowed; then *out_ps is when the last one had, on the driver's
   * clock. A failure stops all ranks, and comes back. */
  zb_status (*await)(zb_driver *driver, int64_t step, int64_t *out_ps);
  /* No rank begins a step that none of them has begun; returns the number of the first such one. */
  int64_t (*halt)(zb_driver *driver);
} zb_driver_def;

/* A thread a rank, started once, asleep between steps. Times are real. */
extern const zb_driver_def zb_driver_threads;
/* One thread, the caller; times are those of the plan's cost model. A plan that cannot go on gives TIMEOUT with the
 * position of every rank. */
extern const zb_driver_def zb_driver_virtual;

/* One thread, the caller, for devices with a queue: every rank does one job in turn, so that all of them are fed, and
 * none waits in the host. Times are real. Nothing enqueued and nothing done for params.timeout_ms gives TIMEOUT with
 * the position of every rank, and which process does not answer. */
extern const zb_driver_def zb_driver_turns;
