/* The shortest step with any choice: see passes/choose/split_bound.h.
 *
 * A choice moves time from W to B of each stage, and the step depends on these times alone: it is the longest of all
 * paths of jobs and messages, and a path with more B than W of a stage gets longer by what is moved there, one with
 * more W shorter. So the critical path with one vector of times bounds the step with every other one. The least time in
 * B that the memory of a rank asks for is found exactly (split_choice.c). More than the least pays only on ranks of
 * whose stage a critical path has more W than B: there the range of times is halved, again and again, and of each part
 * with a bound below the best step the one with the least is looked at next. The lower end of a part is the time of a
 * choice, so that ends meet.
 *
 * Tests: test/e2e/split.py. */

#include "passes/choose/split_bound.h"

#include <string.h>

/* Parts of the range at a time; what a look for a choice in one of them may take, in jobs as split_choice.c counts
 * them, some ten of which take as long as one that is simulated. */
enum { BOXES_MAX = 256, LOOK = 100000, LOOKED_TO_SIMULATED = 10 };

/* Times between `low` and `high` on each stage. */
typedef struct box {
  int64_t *low, *high; /* [stages] */
  bool *in_b;          /* [groups]: a choice with about the times `low` */
  int64_t bound_ps;
  int widest; /* the stage to halve; -1: none, the bound is the step of the choice */
} box;

typedef struct finder {
  zb_split_problem *it;
  zb_arena arena;
  zb_problem problem;
  zb_stage_cost *base, *costs; /* [stages] with nothing in B, and of a vector of times */
  int64_t limit;
  box boxes[BOXES_MAX]; /* those that may have a shorter step than the best */
  int count;
  int64_t best_ps, *work;
  bool *best;      /* [groups] */
  bool *has_group; /* [stages] */
  int *more_b;     /* [stages]: B less W on the last path */
  int64_t *times;  /* [stages] */
} finder;

/* ---- Steps ---- */

zb_status zb_split_step(const zb_split_problem *it, int64_t *out_ps) {
  zb_problem problem = *it->problem;
  zb_simulation simulation = {0};
  zb_arena arena = {0};
  zb_stage_cost *costs = ZB_NEW(&arena, zb_stage_cost, problem.stages);
  zb_status status = NULL;
  ZB_TRY_GOTO(zb_arena_status(&arena));
  for (int s = 0; s < problem.stages; ++s)
    costs[s] = zb_split_cost(it, s);
  problem.costs = costs;
  ZB_TRY_GOTO(zb_simulate(&problem, it->order, &simulation));
  *out_ps = simulation.step_ps;
cleanup:
  zb_simulation_deinit(&simulation);
  zb_arena_deinit(&arena);
  return status;
}

/* The step with these times in B, and more_b of its critical path. */
static zb_status follow(finder *f, const int64_t *times, int64_t *out_ps) {
  zb_simulation simulation = {0};
  zb_path path = {0};
  zb_status status = NULL;
  for (int s = 0; s < f->problem.stages; ++s) {
    f->costs[s] = f->base[s];
    zb_split_move(&f->costs[s], times[s]);
    f->more_b[s] = 0;
    *f->work -= 2 * f->problem.micro_batches * ZB_KIND_COUNT;
  }
  ZB_TRY_GOTO(zb_simulate(&f->problem, f->it->order, &simulation));
  ZB_TRY_GOTO(zb_critical_path(&f->problem, f->it->order, &simulation, &path));
  *out_ps = simulation.step_ps;
  for (int i = 0; i < path.count; ++i)
    if (path.steps[i].kind == ZB_PATH_JOB) {
      const zb_job job = path.steps[i].job;
      f->more_b[job.stage] += (job.kind == ZB_B) - (job.kind == ZB_W);
    }
cleanup:
  zb_path_deinit(&path);
  zb_simulation_deinit(&simulation);
  return status;
}

/* ---- Bounds ---- */

/* What the last path takes at least with times of the box: it took `step` with those of `at`. */
static int64_t least_of_path(const finder *f, const box *b, const int64_t *at, int64_t step) {
  for (int s = 0; s < f->problem.stages; ++s)
    if (f->has_group[s]) step += f->more_b[s] * ((f->more_b[s] > 0 ? b->low[s] : b->high[s]) - at[s]);
  return step;
}

/* From the paths with the least times, and with the most where that makes the first path shorter. */
static zb_status bound_box(finder *f, box *b) {
  int64_t step, most = 0;
  ZB_TRY(follow(f, b->low, &step));
  b->bound_ps = least_of_path(f, b, b->low, step);
  b->widest = -1;
  for (int s = 0; s < f->problem.stages; ++s) {
    const bool pays = f->has_group[s] && f->more_b[s] < 0 && b->high[s] > b->low[s];
    f->times[s] = pays ? b->high[s] : b->low[s];
    if (!pays || -f->more_b[s] * (b->high[s] - b->low[s]) <= most) continue;
    most = -f->more_b[s] * (b->high[s] - b->low[s]);
    b->widest = s;
  }
  if (b->widest < 0) return NULL;
  ZB_TRY(follow(f, f->times, &step));
  const int64_t other = least_of_path(f, b, f->times, step);
  if (other > b->bound_ps) b->bound_ps = other;
  return NULL;
}

/* ---- Choices ---- */

static void set_groups(finder *f, const bool *in_b) {
  for (int g = 0; g < f->it->w->group_count; ++g)
    zb_w_group_set(f->it->w, g, in_b[g]);
}

static void read_groups(const finder *f, bool *in_b) {
  for (int g = 0; g < f->it->w->group_count; ++g)
    in_b[g] = f->it->w->groups[g].in_b;
}

/* The groups as they stand are a choice within the limit. */
static zb_status keep_best(finder *f) {
  int64_t step;
  ZB_TRY(zb_split_step(f->it, &step));
  if (step >= f->best_ps) return NULL;
  f->best_ps = step;
  read_groups(f, f->best);
  return NULL;
}

static zb_status copy_box(finder *f, const box *from, box *out) {
  const size_t stages = (size_t)f->problem.stages, groups = (size_t)f->it->w->group_count;
  *out = (box){.low = ZB_NEW(&f->arena, int64_t, stages),
               .high = ZB_NEW(&f->arena, int64_t, stages),
               .in_b = ZB_NEW(&f->arena, bool, groups)};
  ZB_TRY(zb_arena_status(&f->arena));
  memcpy(out->low, from->low, stages * sizeof *out->low);
  memcpy(out->high, from->high, stages * sizeof *out->high);
  memcpy(out->in_b, from->in_b, groups * sizeof *out->in_b);
  return NULL;
}

static zb_status add_box(finder *f, box *b, int64_t at_least) {
  ZB_TRY(bound_box(f, b));
  if (b->bound_ps < at_least) b->bound_ps = at_least;
  if (b->bound_ps < f->best_ps) f->boxes[f->count++] = *b;
  return NULL;
}

/* Halves a box: the part with less time, and that with more, whose least is the time of a choice. */
static zb_status halve(finder *f, const box *b) {
  const int s = b->widest, rank = f->problem.stage_rank[s];
  const int64_t middle = b->low[s] + (b->high[s] - b->low[s]) / 2;
  int64_t least;
  box less, more;
  ZB_TRY(copy_box(f, b, &less));
  ZB_TRY(copy_box(f, b, &more));
  less.high[s] = middle;
  more.low[s] = middle + 1;
  ZB_TRY(add_box(f, &less, b->bound_ps));
  set_groups(f, b->in_b);
  *f->work -= LOOK / LOOKED_TO_SIMULATED;
  ZB_TRY(zb_split_choose_rank(f->it, rank, f->limit, middle + 1, LOOK, &least));
  if (least < INT64_MAX) {
    ZB_TRY(keep_best(f));
    read_groups(f, more.in_b);
    if (least > middle) more.low[s] = least;
  }
  return more.low[s] <= more.high[s] ? add_box(f, &more, b->bound_ps) : NULL;
}

/* The box with the least bound, taken out. */
static box take_least(finder *f) {
  int least = 0;
  for (int i = 1; i < f->count; ++i)
    if (f->boxes[i].bound_ps < f->boxes[least].bound_ps) least = i;
  const box taken = f->boxes[least];
  f->boxes[least] = f->boxes[--f->count];
  return taken;
}

/* ---- All ---- */

static zb_status init(finder *f) {
  const zb_w_groups *w = f->it->w;
  const size_t stages = (size_t)f->problem.stages;
  f->base = ZB_NEW(&f->arena, zb_stage_cost, stages);
  f->costs = ZB_NEW(&f->arena, zb_stage_cost, stages);
  f->more_b = ZB_NEW(&f->arena, int, stages);
  f->has_group = ZB_NEW(&f->arena, bool, stages);
  f->times = ZB_NEW(&f->arena, int64_t, stages);
  f->best = ZB_NEW(&f->arena, bool, w->group_count);
  ZB_TRY(zb_arena_status(&f->arena));
  memcpy(f->base, f->problem.costs, stages * sizeof *f->base);
  f->problem.costs = f->costs;
  for (int g = 0; g < w->group_count; ++g)
    f->has_group[w->groups[g].stage] = true;
  return NULL;
}

/* All choices: from the least time of each stage to all of it. *out_found: every rank has a choice within the limit;
 * the groups are those of the least times then. */
static zb_status make_first(finder *f, box *out, bool *out_found) {
  const zb_w_groups *w = f->it->w;
  int64_t *low = ZB_NEW(&f->arena, int64_t, f->problem.stages), *high = ZB_NEW(&f->arena, int64_t, f->problem.stages);
  *out = (box){.low = low, .high = high, .in_b = ZB_NEW(&f->arena, bool, w->group_count)};
  ZB_TRY(zb_arena_status(&f->arena));
  *out_found = true;
  for (int g = 0; g < w->group_count; ++g)
    high[w->groups[g].stage] += w->groups[g].time_ps;
  for (int s = 0; s < f->problem.stages; ++s) {
    const int64_t most = f->base[s].time_ps[ZB_W] + f->base[s].hidden_ps - 1;
    ZB_TRY(zb_split_choose_rank(f->it, f->problem.stage_rank[s], f->limit, 0, 0, &low[s]));
    *out_found &= low[s] < INT64_MAX;
    if (high[s] > most) high[s] = most;
    if (low[s] > high[s]) low[s] = high[s];
  }
  read_groups(f, out->in_b);
  return NULL;
}

static zb_status find(finder *f, int64_t *out_bound_ps) {
  box first;
  bool found;
  ZB_TRY(init(f));
  ZB_TRY(make_first(f, &first, &found));
  if (!found) return NULL;
  ZB_TRY(keep_best(f));
  ZB_TRY(add_box(f, &first, 1));
  *out_bound_ps = f->best_ps;
  while (f->count > 0) {
    const box next = take_least(f);
    *out_bound_ps = next.bound_ps;
    if (next.widest < 0 || f->count + 2 > BOXES_MAX || *f->work < 0) break;
    ZB_TRY(halve(f, &next));
    *out_bound_ps = f->best_ps; /* where nothing is left */
  }
  if (*out_bound_ps > f->best_ps) *out_bound_ps = f->best_ps;
  set_groups(f, f->best);
  return NULL;
}

zb_status zb_split_shortest(zb_split_problem *it, int64_t limit, int64_t *work, int64_t *out_bound_ps) {
  finder *f = zb_alloc(sizeof *f);
  if (!f) return ZB_OUT_OF_MEMORY();
  *f = (finder){.it = it, .problem = *it->problem, .limit = limit, .best_ps = INT64_MAX, .work = work};
  *out_bound_ps = 0;
  zb_status status = find(f, out_bound_ps);
  zb_arena_deinit(&f->arena);
  zb_free(f);
  return status;
}
