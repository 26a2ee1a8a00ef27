/* Measures what a plan costs, in real steps: zb_session_params.costs, zb_session_write_costs.
 *
 * After each step the job times of all executors become one sample a kind: the mean of what that step ran of it. Means
 * add up to a step as medians of single runs would not; the median over steps then leaves out the steps that something
 * else disturbed. Single ops are timed in every other step only, so that reading clocks does not count as work of
 * subprograms. The first step is not counted: its memory is new. Of a subprogram the first run in a step is a kind of
 * its own: its caches are cold.
 *
 * On a device with a queue times are those of its events: a message lasts from when its bytes begin to move; a job
 * costs what lies between two jobs of which the second waits for nothing.
 */
#pragma once

#include "runtime/exec/executor.h"
#include "zb/costs.h"

/* Counted steps that are needed: the first is cold, then one with and one without the times of ops. */
enum { ZB_MEASURE_STEPS_LEAST = 3 };

typedef struct zb_measure zb_measure;

typedef struct zb_measure_params {
  const zb_plan *plan;
  const zb_device_def *device;
  const zb_transport_def *transport_def;
  const char *instruction_set; /* as sessions describe it */
  int threads;
  const zb_executor *executors; /* one a rank, after their LOAD jobs; outlive it */
  int64_t *resumed_ps;          /* as in zb_executor_params; zeroed before each step */
} zb_measure_params;

/* *out is NULL on failure. Release with zb_measure_destroy. */
zb_status zb_measure_create(const zb_measure_params *params, zb_measure **out) ZB_MUST_USE;
void zb_measure_destroy(zb_measure *measure);
/* Before a step: decides what it is for. */
void zb_measure_begin_step(zb_measure *measure);
/* After a step that went well. took_ps: the whole step. Allocates. */
zb_status zb_measure_end_step(zb_measure *measure, int64_t took_ps) ZB_MUST_USE;
/* USAGE, as zb_measure_costs would say after this number of steps, if they are not enough on this device. */
zb_status zb_measure_enough(const zb_device_def *device, int64_t steps) ZB_MUST_USE;
/* What the steps so far say. USAGE before there are enough. *out is valid as long as the measure. */
zb_status zb_measure_costs(zb_measure *measure, zb_costs *out) ZB_MUST_USE;
