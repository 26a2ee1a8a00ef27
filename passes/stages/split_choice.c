/* Choosing groups of W ops for B: see passes/stages/split_choice.h.
 *
 * A rank at a time, for its peak in the order depends on its own stages alone. First by steps: of all values that its W
 * keep, the one goes first that frees most bytes for the time that its readers bring to B; then what the limit does not
 * need goes back, longest first. Then branch and bound looks for less time, for as long as it has evaluations: groups
 * in the order of what they free at most for their time, with the fraction of them that would fill the gap as the
 * bound.
 *
 * Tests: test/passes/split-policy.mlir, test/e2e/split.py. */

#include "passes/stages/split_choice.h"

#include <stdlib.h>
#include <string.h>

enum { EVALUATIONS = 4000000 }; /* of jobs, a rank */

typedef struct candidate {
  int group;
  int64_t time_ps, bytes; /* bytes: of all that it reads */
} candidate;

typedef struct chooser {
  zb_split_problem *it;
  zb_arena *arena;
  int rank;
  int64_t limit, evaluations;
  candidate *candidates; /* of the rank, most bytes for the time first */
  int count;
  int *mark; /* [groups] */
  int marks;
  int64_t held; /* micro-batches at most between the start of their B and the end of their W */
  int8_t *best;
  int64_t best_ps;
} chooser;

zb_stage_cost zb_split_cost(const zb_split_problem *it, int stage) {
  zb_stage_cost cost = it->problem->costs[stage];
  const zb_w_moved *moved = &it->w->moved[stage];
  const int64_t most = cost.time_ps[ZB_W] - 1, time = moved->time_ps < most ? moved->time_ps : most;
  cost.time_ps[ZB_B] += time;
  cost.time_ps[ZB_W] -= time;
  cost.free_bytes[ZB_B] += moved->forward_bytes;
  cost.keep_bytes[ZB_B] -= moved->backward_bytes;
  cost.free_bytes[ZB_W] -= moved->forward_bytes + moved->backward_bytes;
  return cost;
}

static void change_bytes(const zb_split_problem *it, zb_job job, bool keep, int64_t *live) {
  const zb_stage_cost *cost = &it->problem->costs[job.stage];
  const zb_w_moved *moved = &it->w->moved[job.stage];
  if (keep) {
    *live += cost->keep_bytes[job.kind] - (job.kind == ZB_B ? moved->backward_bytes : 0);
    return;
  }
  *live -= cost->free_bytes[job.kind];
  if (job.kind == ZB_B) *live -= moved->forward_bytes;
  if (job.kind == ZB_W) *live += moved->forward_bytes + moved->backward_bytes;
}

int64_t zb_split_peak(const zb_split_problem *it, int rank) {
  int64_t live = it->problem->base_bytes[rank], peak = live;
  for (int i = 0; i < it->order->counts[rank]; ++i) {
    change_bytes(it, it->order->jobs[rank][i], true, &live);
    if (live > peak) peak = live;
    change_bytes(it, it->order->jobs[rank][i], false, &live);
  }
  return peak;
}

static int64_t peak(chooser *c) {
  c->evaluations -= c->it->order->counts[c->rank];
  return zb_split_peak(c->it, c->rank);
}

static int64_t time_in_b(const chooser *c) {
  int64_t time = 0;
  for (int i = 0; i < c->count; ++i)
    if (c->it->w->groups[c->candidates[i].group].in_b) time += c->candidates[i].time_ps;
  return time;
}

/* ---- By steps ---- */

/* Bytes that go with the readers of a value, and the time that they bring to B. */
static void weigh(chooser *c, const zb_w_value *value, int64_t *out_bytes, int64_t *out_ps) {
  const zb_w_groups *w = c->it->w;
  const int mark = ++c->marks;
  *out_bytes = *out_ps = 0;
  for (int i = 0; i < value->group_count; ++i) {
    const int g = w->value_groups[value->group_begin + i];
    c->mark[g] = mark;
    if (!w->groups[g].in_b) *out_ps += w->groups[g].time_ps;
  }
  for (int i = 0; i < value->group_count; ++i) {
    const int g = w->value_groups[value->group_begin + i];
    for (int k = 0; k < w->groups[g].value_count; ++k) {
      const zb_w_value *other = &w->values[w->group_values[w->groups[g].value_begin + k]];
      int waiting = other->waiting, first = -1; /* of its marked groups the first counts it */
      for (int u = 0; u < other->group_count; ++u) {
        const int reader = w->value_groups[other->group_begin + u];
        if (c->mark[reader] != mark) continue;
        if (first < 0) first = reader;
        waiting -= !w->groups[reader].in_b;
      }
      if (other->waiting > 0 && waiting == 0 && first == g) *out_bytes += other->bytes;
    }
  }
}

/* Gives B the readers of the value that frees most for their time; false: nothing waits for W any more. */
static bool move_next(chooser *c) {
  const zb_w_groups *w = c->it->w;
  int best = -1;
  int64_t best_bytes = 0, best_ps = 1;
  for (int v = 0; v < w->value_count; ++v) {
    const zb_w_value *value = &w->values[v];
    if (c->it->problem->stage_rank[value->stage] != c->rank || value->waiting == 0) continue;
    int64_t bytes, time;
    weigh(c, value, &bytes, &time);
    if ((double)bytes * (double)best_ps <= (double)best_bytes * (double)(time + 1)) continue;
    best = v;
    best_bytes = bytes;
    best_ps = time + 1;
  }
  for (int i = 0; best >= 0 && i < w->values[best].group_count; ++i)
    zb_w_group_set(c->it->w, w->value_groups[w->values[best].group_begin + i], true);
  return best >= 0;
}

static int compare_times(const void *a, const void *b) {
  const candidate *x = a, *y = b;
  if (x->time_ps != y->time_ps) return x->time_ps < y->time_ps ? 1 : -1;
  return x->group - y->group;
}

/* Most bytes for the time first. */
static int compare_gains(const void *a, const void *b) {
  const candidate *x = a, *y = b;
  const double left = (double)x->bytes * (double)(y->time_ps + 1), right = (double)y->bytes * (double)(x->time_ps + 1);
  if (left != right) return left < right ? 1 : -1;
  return x->group - y->group;
}

static void give_back(chooser *c) {
  qsort(c->candidates, (size_t)c->count, sizeof *c->candidates, compare_times);
  for (int i = 0; i < c->count; ++i) {
    const int group = c->candidates[i].group;
    if (!c->it->w->groups[group].in_b) continue;
    zb_w_group_set(c->it->w, group, false);
    if (peak(c) > c->limit) zb_w_group_set(c->it->w, group, true);
  }
}

/* ---- Branch and bound ---- */

/* The least time that candidates from `at` on must bring to B: what is above the limit is divided by the micro-batches
 * that can hold a byte of it, and filled with candidates in their order, the last in part. INT64_MAX: they cannot. */
static int64_t least_time(const chooser *c, int at, int64_t above) {
  int64_t bytes = (above + c->held - 1) / c->held, time = 0;
  for (int i = at; i < c->count; ++i) {
    const candidate *next = &c->candidates[i];
    if (next->bytes >= bytes)
      return time + (next->bytes > 0 ? (int64_t)((double)next->time_ps * (double)bytes / (double)next->bytes) : 0);
    bytes -= next->bytes;
    time += next->time_ps;
  }
  return INT64_MAX;
}

static void keep_best(chooser *c, int64_t time) {
  c->best_ps = time;
  for (int i = 0; i < c->count; ++i)
    c->best[i] = c->it->w->groups[c->candidates[i].group].in_b;
}

/* Depth first: each candidate first in B, then in W. False: the evaluations ran out. */
static bool search(chooser *c) {
  int at = 0;
  int64_t time = 0;
  int8_t *tried = ZB_NEW(c->arena, int8_t, c->count + 1); /* 0: nothing, 1: B, 2: W too */
  if (!tried) return false;
  for (int i = 0; i < c->count; ++i)
    zb_w_group_set(c->it->w, c->candidates[i].group, false);
  while (at >= 0) {
    const candidate *next = &c->candidates[at];
    if (tried[at] == 0) { /* here for the first time */
      const int64_t above = peak(c) - c->limit;
      if (c->evaluations < 0) return false;
      if (above <= 0 && time < c->best_ps) keep_best(c, time);
      const int64_t more = above <= 0 || at == c->count ? INT64_MAX : least_time(c, at, above);
      if (more == INT64_MAX || time + more >= c->best_ps) {
        --at;
        continue;
      }
      zb_w_group_set(c->it->w, next->group, true);
      time += next->time_ps;
      tried[at++] = 1;
      tried[at] = 0;
    } else if (tried[at] == 1) {
      zb_w_group_set(c->it->w, next->group, false);
      time -= next->time_ps;
      tried[at++] = 2;
      tried[at] = 0;
    } else {
      --at;
    }
  }
  return true;
}

/* ---- All ranks ---- */

static void collect(chooser *c) {
  const zb_w_groups *w = c->it->w;
  int64_t now = 0;
  c->count = 0;
  for (int g = 0; g < w->group_count; ++g) {
    if (c->it->problem->stage_rank[w->groups[g].stage] != c->rank) continue;
    candidate *next = &c->candidates[c->count++];
    *next = (candidate){.group = g, .time_ps = w->groups[g].time_ps};
    for (int i = 0; i < w->groups[g].value_count; ++i)
      next->bytes += w->values[w->group_values[w->groups[g].value_begin + i]].bytes;
  }
  c->held = 1;
  for (int i = 0; i < c->it->order->counts[c->rank]; ++i) {
    const zb_kind kind = c->it->order->jobs[c->rank][i].kind;
    now += kind == ZB_B ? 1 : kind == ZB_W ? -1 : 0;
    if (now > c->held) c->held = now;
  }
}

/* Whether it is certain that no other choice has less time in B. */
static bool choose_on_rank(chooser *c) {
  collect(c);
  for (int i = 0; i < c->count; ++i)
    zb_w_group_set(c->it->w, c->candidates[i].group, false);
  int64_t most = peak(c);
  if (most <= c->limit) return true;
  while (most > c->limit && move_next(c))
    most = peak(c);
  if (most > c->limit) c->limit = most; /* no choice is within it: as near as can be */
  give_back(c);
  qsort(c->candidates, (size_t)c->count, sizeof *c->candidates, compare_gains);
  keep_best(c, time_in_b(c));
  const bool is_least = search(c);
  for (int i = 0; i < c->count; ++i)
    zb_w_group_set(c->it->w, c->candidates[i].group, c->best[i]);
  return is_least;
}

zb_status zb_split_choose(zb_split_problem *it, const int64_t *limits, zb_arena *arena, bool *out_least) {
  const int groups = it->w->group_count;
  chooser c = {.it = it,
               .arena = arena,
               .candidates = ZB_NEW(arena, candidate, groups),
               .best = ZB_NEW(arena, int8_t, groups),
               .mark = ZB_NEW(arena, int, groups)};
  bool is_least = true;
  ZB_TRY(zb_arena_status(arena));
  for (c.rank = 0; c.rank < it->problem->ranks; ++c.rank) {
    c.limit = limits[c.rank];
    c.evaluations = EVALUATIONS;
    is_least &= choose_on_rank(&c);
    ZB_TRY(zb_arena_status(arena));
  }
  if (out_least) *out_least = is_least;
  return NULL;
}

/* ---- The proof ---- */

/* Time goes from W to B of a stage, so a path with at least as many B as W gets no shorter by it. */
static bool has_enough_b(const zb_split_problem *it, const zb_path *path, int *more_w) {
  for (int i = 0; i < path->count; ++i) {
    const zb_path_step *step = &path->steps[i];
    if (step->kind == ZB_PATH_JOB) more_w[step->job.stage] += (step->job.kind == ZB_W) - (step->job.kind == ZB_B);
  }
  for (int g = 0; g < it->w->group_count; ++g)
    if (more_w[it->w->groups[g].stage] > 0) return false;
  return true;
}

/* *out_ps: the step with the groups as they stand, if more time in B makes it no shorter; else 0. */
static zb_status find_step(const zb_split_problem *it, zb_arena *arena, int64_t *out_ps) {
  zb_problem problem = *it->problem;
  zb_simulation simulation = {0};
  zb_path path = {0};
  zb_stage_cost *costs = ZB_NEW(arena, zb_stage_cost, problem.stages);
  int *more_w = ZB_NEW(arena, int, problem.stages);
  zb_status status = zb_arena_status(arena);
  if (status) return status;
  for (int s = 0; s < problem.stages; ++s)
    costs[s] = zb_split_cost(it, s);
  problem.costs = costs;
  ZB_TRY_GOTO(zb_simulate(&problem, it->order, &simulation));
  ZB_TRY_GOTO(zb_critical_path(&problem, it->order, &simulation, &path));
  *out_ps = has_enough_b(it, &path, more_w) ? simulation.step_ps : 0;
cleanup:
  zb_path_deinit(&path);
  zb_simulation_deinit(&simulation);
  return status;
}

zb_status zb_split_bound(zb_split_problem *it, const int64_t *limits, zb_arena *arena, int64_t *out_ps) {
  bool is_least = false;
  bool *in_b = ZB_NEW(arena, bool, it->w->group_count);
  *out_ps = 0;
  ZB_TRY(zb_arena_status(arena));
  if (it->problem->stages != it->problem->ranks) return NULL;
  for (int g = 0; g < it->w->group_count; ++g)
    in_b[g] = it->w->groups[g].in_b;
  zb_status status = zb_split_choose(it, limits, arena, &is_least);
  if (!status && is_least) status = find_step(it, arena, out_ps);
  for (int g = 0; g < it->w->group_count; ++g)
    zb_w_group_set(it->w, g, in_b[g]);
  return status;
}
