/* Choosing groups of W ops for B: see passes/choose/split_choice.h.
 *
 * A rank at a time, for what it takes in the order depends on its own stages alone. First by steps: of all values that
 * its W keep, the one goes first that frees most bytes for the time that its readers bring to B; then what the limit
 * does not need goes back, longest first. Then branch and bound looks for less time, as long as there is work left:
 * groups in the order of what they free at most for their time, with the fraction of them that would fill the gap as
 * the bound.
 *
 * Tests: test/passes/split-policy.mlir, test/e2e/split.py. */

#include "passes/choose/split_choice.h"

#include <stdlib.h>

enum { WORK = 4000000 }; /* jobs and ops that are looked at for a rank */

typedef struct candidate {
  int group;
  int64_t time_ps, bytes; /* bytes: of all that it reads */
} candidate;

typedef struct chooser {
  zb_split_problem *it;
  zb_arena *arena;
  int rank;
  int64_t limit, floor_ps; /* bytes at most; time in B at least */
  int64_t work;            /* jobs and ops that may be looked at */
  int64_t least_beside;    /* beside frames, with nothing in B */
  int ops;                 /* of B and W */
  candidate *candidates;   /* of the rank, most bytes for the time first */
  int64_t *rest_ps;        /* [count + 1]: time of the candidates from one on */
  int count;
  int *mark; /* [groups] */
  int marks;
  int64_t held; /* micro-batches at most between the start of their B and the end of their W */
  int8_t *best;
  int64_t best_ps;
} chooser;

/* What is hidden runs while B waits, so what is not goes first. */
void zb_split_move(zb_stage_cost *cost, int64_t time_ps) {
  const int64_t most = cost->time_ps[ZB_W] - 1, all = most + cost->hidden_ps;
  const int64_t moved = time_ps < all ? time_ps : all;
  cost->time_ps[ZB_B] += moved;
  cost->time_ps[ZB_W] -= moved < most ? moved : most;
  if (moved > most) cost->hidden_ps -= moved - most;
}

zb_stage_cost zb_split_cost(const zb_split_problem *it, int stage) {
  zb_stage_cost cost = it->problem->costs[stage];
  const zb_w_moved *moved = &it->w->moved[stage];
  zb_split_move(&cost, moved->time_ps);
  cost.free_bytes[ZB_B] += moved->forward_bytes;
  cost.keep_bytes[ZB_B] -= moved->backward_bytes;
  cost.free_bytes[ZB_W] -= moved->forward_bytes + moved->backward_bytes;
  return cost;
}

/* What jobs of a stage change with the groups as they stand. */
static void fill_changes(const zb_split_problem *it, int stage, zb_split_change out[ZB_KIND_COUNT]) {
  const zb_stage_cost *cost = &it->problem->costs[stage];
  const zb_w_moved *moved = &it->w->moved[stage];
  for (int kind = 0; kind < ZB_KIND_COUNT; ++kind)
    out[kind] = (zb_split_change){.keep = cost->keep_bytes[kind], .release = cost->free_bytes[kind]};
  out[ZB_B].keep -= moved->backward_bytes;
  out[ZB_B].release += moved->forward_bytes;
  out[ZB_B].messages = zb_split_messages(it->memory, stage);
  out[ZB_W].release -= moved->forward_bytes + moved->backward_bytes;
}

/* beside: what lies beside frames and messages. */
static int64_t peak_with(const zb_split_problem *it, int rank, int64_t beside) {
  zb_split_change *changes = it->memory->changes;
  int64_t live = beside, peak = live;
  for (int s = 0; s < it->problem->stages; ++s)
    if (it->problem->stage_rank[s] == rank) fill_changes(it, s, &changes[s * ZB_KIND_COUNT]);
  for (int i = 0; i < it->order->counts[rank]; ++i) {
    const zb_job job = it->order->jobs[rank][i];
    const zb_split_change *change = &changes[job.stage * ZB_KIND_COUNT + (int)job.kind];
    live += change->keep;
    if (live + change->messages > peak) peak = live + change->messages;
    live -= change->release;
  }
  return peak;
}

int64_t zb_split_peak(const zb_split_problem *it, int rank) {
  return peak_with(it, rank, zb_split_beside(it->memory, rank));
}

/* Or less, where that is above the limit already: the workspace takes longer to count than frames, and the more B does
 * the larger it is. */
static int64_t peak(chooser *c) {
  const int64_t least = peak_with(c->it, c->rank, c->least_beside);
  c->work -= c->it->order->counts[c->rank];
  if (least > c->limit) return least;
  c->work -= c->ops;
  return least - c->least_beside + zb_split_beside(c->it->memory, c->rank);
}

/* Whether a plan has shown that the groups of the rank as they stand take too much. */
static bool is_refused(const chooser *c) {
  for (int i = 0; i < c->it->refusal_count; ++i) {
    const zb_split_refusal *refusal = &c->it->refusals[i];
    bool same = refusal->rank == c->rank;
    for (int k = 0; k < c->count && same; ++k)
      same = refusal->in_b[c->candidates[k].group] == c->it->w->groups[c->candidates[k].group].in_b;
    if (same) return true;
  }
  return false;
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
    if (peak(c) > c->limit || time_in_b(c) < c->floor_ps) zb_w_group_set(c->it->w, group, true);
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

static void set_all(const chooser *c, bool in_b) {
  for (int i = 0; i < c->count; ++i)
    zb_w_group_set(c->it->w, c->candidates[i].group, in_b);
}

/* What candidates from `at` on must bring to B, so that the choice may be one; INT64_MAX: they cannot. */
static int64_t needed_time(const chooser *c, int at, int64_t time, int64_t above) {
  const int64_t for_limit = above > 0 ? least_time(c, at, above) : 0, for_floor = c->floor_ps - time;
  if (for_floor > c->rest_ps[at]) return INT64_MAX;
  return for_limit > for_floor ? for_limit : for_floor;
}

/* Depth first: each candidate first in B, then in W. False: there was more work than may be. */
static bool search(chooser *c) {
  int at = 0;
  int64_t time = 0;
  int8_t *tried = ZB_NEW(c->arena, int8_t, c->count + 1); /* 0: nothing, 1: B, 2: W too */
  if (!tried) return false;
  set_all(c, false);
  while (at >= 0) {
    const candidate *next = &c->candidates[at];
    if (tried[at] == 0) { /* here for the first time */
      const int64_t above = peak(c) - c->limit;
      if (c->work < 0) return false;
      const bool fits = above <= 0 && time >= c->floor_ps && !is_refused(c);
      if (fits && time < c->best_ps) keep_best(c, time);
      const int64_t more = fits || at == c->count ? INT64_MAX : needed_time(c, at, time, above);
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

/* From a choice within the limit and above the floor, if there is one. No choice has less time in B than is returned;
 * INT64_MAX: there is none. */
static int64_t improve(chooser *c, bool is_within) {
  c->best_ps = INT64_MAX;
  if (is_within) give_back(c);
  qsort(c->candidates, (size_t)c->count, sizeof *c->candidates, compare_gains);
  c->rest_ps[c->count] = 0;
  for (int i = c->count; i-- > 0;)
    c->rest_ps[i] = c->rest_ps[i + 1] + c->candidates[i].time_ps;
  if (is_within && !is_refused(c)) keep_best(c, time_in_b(c));
  if (search(c)) return c->best_ps;
  set_all(c, false);
  const int64_t least = needed_time(c, 0, 0, zb_split_peak(c->it, c->rank) - c->limit);
  return least < c->best_ps ? least : c->best_ps;
}

/* Groups that B takes by steps, or all of them where it has to take so much. Whether they are within the limit. */
static bool choose_by_steps(chooser *c) {
  set_all(c, c->floor_ps > 0);
  int64_t most = peak(c);
  while (most > c->limit && move_next(c))
    most = peak(c);
  return most <= c->limit;
}

static void choose_on_rank(chooser *c, int64_t *out_least_ps) {
  collect(c);
  set_all(c, false);
  *out_least_ps = 0;
  c->least_beside = zb_split_beside(c->it->memory, c->rank);
  if (c->floor_ps <= 0 && peak(c) <= c->limit && !is_refused(c)) return;
  *out_least_ps = improve(c, choose_by_steps(c));
  if (c->best_ps == INT64_MAX) { /* no choice is within the limit: as near as can be */
    *out_least_ps = INT64_MAX;
    set_all(c, true);
    c->limit = zb_split_peak(c->it, c->rank);
    (void)improve(c, true);
  }
  for (int i = 0; i < c->count && c->best_ps < INT64_MAX; ++i)
    zb_w_group_set(c->it->w, c->candidates[i].group, c->best[i]);
}

zb_status zb_split_choose_rank(zb_split_problem *it, int rank, int64_t limit, int64_t floor_ps, int64_t work,
                               int64_t *out_least_ps) {
  const int groups = it->w->group_count;
  zb_arena arena = {0};
  chooser c = {.it = it,
               .arena = &arena,
               .rank = rank,
               .limit = limit,
               .floor_ps = floor_ps,
               .work = work > 0 ? work : WORK,
               .ops = zb_split_ops(it->memory, rank),
               .candidates = ZB_NEW(&arena, candidate, groups),
               .rest_ps = ZB_NEW(&arena, int64_t, groups),
               .best = ZB_NEW(&arena, int8_t, groups),
               .mark = ZB_NEW(&arena, int, groups)};
  zb_status status = zb_arena_status(&arena);
  if (!status) choose_on_rank(&c, out_least_ps);
  if (!status) status = zb_arena_status(&arena);
  zb_arena_deinit(&arena);
  return status;
}
