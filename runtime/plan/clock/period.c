/* What a step takes where steps follow each other without a barrier: zb_plan_find_period of runtime/plan/file/plan.h.
 *
 * A step depends on the one before by a few times: when each rank and each channel is free, and when the last steps
 * were done. It depends on nothing but their differences. So where all of them are as some steps ago, each later by the
 * same time, everything repeats from there on, and the period is exact. With link_copies steps are no maxima of sums,
 * so there is no cycle whose ratio could be computed instead (passes/schedule/period.c).
 *
 * Tests: test/runtime/plan/clock/period_test.c
 */
#include <string.h>

#include "runtime/base/arena.h"
#include "runtime/plan/clock/simulator.h"
#include "runtime/plan/file/ranks.h"
#include "runtime/plan/mesh/weave.h"

/* Jobs that are run at most, some tenths of a second; steps at least and at most. */
enum { JOBS_MAX = 1 << 22, STEPS_MIN = 16, STEPS_MAX = 4096 };

typedef struct finder {
  const zb_plan *plan;
  zb_plan_steps *steps;
  int64_t *history; /* [step][width]: ranks, channels, ends of the last steps, the newest first */
  int64_t *begin_ps;
  int width, count, capacity;
  zb_arena memory;
} finder;

static int64_t *state_at(const finder *f, int step) { return &f->history[(size_t)step * (size_t)f->width]; }

/* Where the ends of steps stand in a state. */
static int64_t *ends_of(const finder *f, int64_t *state) { return &state[f->width - ZB_STEPS_IN_FLIGHT]; }

static zb_status finder_init(finder *f, const zb_plan *plan) {
  int channels = 0;
  int64_t jobs = 1;
  f->plan = plan;
  ZB_TRY(zb_plan_steps_create(plan, &f->steps));
  zb_plan_steps_channels_ps(f->steps, &channels);
  for (int r = 0; r < plan->rank_count; ++r)
    jobs += plan->ranks[r].job_count;
  const int64_t most = JOBS_MAX / jobs;
  f->capacity = most < STEPS_MIN ? STEPS_MIN : most > STEPS_MAX ? STEPS_MAX : (int)most;
  f->width = plan->rank_count + channels + ZB_STEPS_IN_FLIGHT;
  ZB_TAKE(&f->memory, f->history, (size_t)f->width * (size_t)f->capacity);
  ZB_TAKE(&f->memory, f->begin_ps, plan->rank_count);
  return zb_arena_status(&f->memory);
}

static void finder_deinit(finder *f) {
  zb_plan_steps_destroy(f->steps);
  zb_arena_deinit(&f->memory);
}

/* Which of the ends of a state a step waits for that follows it. With post-validation a step is done at its verdict, in
 * the next one. */
static int gate_of(const finder *f) { return ZB_STEPS_IN_FLIGHT - 1 - (zb_plan_steps_verdict_ps(f->steps) != NULL); }

static zb_status run_next(finder *f) {
  const int ranks = f->plan->rank_count;
  int64_t *before = f->count > 0 ? state_at(f, f->count - 1) : NULL, *state = state_at(f, f->count);
  for (int r = 0; before && r < ranks; ++r) {
    const int64_t gate = ends_of(f, before)[gate_of(f)];
    f->begin_ps[r] = before[r] > gate ? before[r] : gate;
  }
  ZB_TRY(zb_plan_steps_next(f->steps, f->begin_ps));
  int channels = 0;
  const int64_t *channels_ps = zb_plan_steps_channels_ps(f->steps, &channels);
  memcpy(state, zb_plan_steps_end_ps(f->steps), (size_t)ranks * sizeof *state);
  memcpy(state + ranks, channels_ps, (size_t)channels * sizeof *state);
  int64_t *ends = ends_of(f, state);
  const int64_t *verdict_ps = zb_plan_steps_verdict_ps(f->steps), *done_ps = verdict_ps ? verdict_ps : state;
  for (int r = 0; r < ranks; ++r)
    if (done_ps[r] > ends[0]) ends[0] = done_ps[r];
  for (int i = 1; before && i < ZB_STEPS_IN_FLIGHT; ++i)
    ends[i] = ends_of(f, before)[i - 1];
  ++f->count;
  return NULL;
}

/* All of the newest state is that much later than in the other; 0: it is not. */
static int64_t later_than(const finder *f, int step) {
  const int64_t *newest = state_at(f, f->count - 1), *other = state_at(f, step);
  const int64_t difference = newest[0] - other[0];
  for (int i = 1; i < f->width; ++i)
    if (newest[i] - other[i] != difference) return 0;
  return difference;
}

/* A channel that is free before anybody can want it says nothing: as old as it may be, it changes no step. */
static void forget_old_channels(finder *f) {
  int64_t *state = state_at(f, f->count - 1), first = INT64_MAX;
  const int ranks = f->plan->rank_count, channels = f->width - ranks - ZB_STEPS_IN_FLIGHT;
  for (int r = 0; r < ranks; ++r)
    if (state[r] < first) first = state[r];
  for (int i = ranks; i < ranks + channels; ++i)
    if (state[i] < first) state[i] = first;
}

static bool repeats(const finder *f, zb_plan_period *out) {
  for (int step = f->count - 2; step >= ZB_STEPS_IN_FLIGHT; --step) {
    const int64_t later = later_than(f, step);
    if (later == 0) continue;
    *out = (zb_plan_period){.cycle_ps = later, .steps = f->count - 1 - step, .exact = true, .after = step};
    return true;
  }
  return false;
}

static zb_status find(finder *f, zb_plan_period *out) {
  while (f->count < f->capacity) {
    ZB_TRY(run_next(f));
    forget_old_channels(f);
    if (repeats(f, out)) return NULL;
  }
  const int half = f->count / 2;
  *out = (zb_plan_period){.cycle_ps = *ends_of(f, state_at(f, f->count - 1)) - *ends_of(f, state_at(f, half)),
                          .steps = f->count - 1 - half,
                          .after = half};
  return NULL;
}

static void reduce(zb_plan_period *out) {
  int64_t a = out->cycle_ps, b = out->steps;
  while (b != 0) {
    const int64_t rest = a % b;
    a = b;
    b = rest;
  }
  if (a <= 1) return;
  out->cycle_ps /= a;
  out->steps = (int)(out->steps / a);
}

/* What each rank computes in a step on average, of a plan without collectives; replicas compute the same. */
static zb_status mean_busy(const zb_plan *plan, double *out) {
  const int ranks = plan->rank_count / zb_plan_mesh(plan);
  for (int r = 0; r < plan->rank_count; r += zb_plan_mesh(plan)) {
    const zb_plan_rank *rank = &plan->ranks[r];
    int64_t busy = 0;
    bool *ran = zb_alloc((size_t)rank->subprogram_count + 1);
    int64_t *sums = zb_alloc(((size_t)rank->subprogram_count + 1) * sizeof *sums);
    if (!ran || !sums) {
      zb_free(ran);
      zb_free(sums);
      return ZB_OUT_OF_MEMORY();
    }
    zb_sums_of_subprograms(plan, rank, sums);
    for (int i = rank->load_count; i < rank->job_count; ++i) {
      const int index = rank->jobs[i].subprogram;
      if (index < 0) continue;
      const zb_plan_subprogram *subprogram = &rank->subprograms[index];
      busy += (!ran[index] && subprogram->first_ps ? subprogram->first_ps : subprogram->time_ps) - sums[index];
      ran[index] = true;
    }
    zb_free(ran);
    zb_free(sums);
    *out += (double)busy / ranks;
  }
  return NULL;
}

zb_status zb_timed_step_find_period(const zb_timed_step *step, zb_plan_period *out) {
  finder f = {0};
  double busy = 0;
  zb_status status = NULL;
  *out = (zb_plan_period){0};
  ZB_TRY_GOTO(mean_busy(step->plan, &busy));
  ZB_TRY_GOTO(finder_init(&f, step->plan));
  ZB_TRY_GOTO(find(&f, out));
  reduce(out);
  out->bubble = out->cycle_ps > 0 ? 1 - busy * out->steps / (double)out->cycle_ps : 0;
cleanup:
  finder_deinit(&f);
  return status;
}

zb_status zb_plan_find_period(const zb_plan *plan, zb_plan_period *out) {
  zb_timed_step step;
  *out = (zb_plan_period){0};
  zb_status status = zb_timed_step_init(plan, &step);
  if (!status) status = zb_timed_step_find_period(&step, out);
  zb_timed_step_deinit(&step);
  return status;
}
