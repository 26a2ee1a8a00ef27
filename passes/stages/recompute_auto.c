/* zb-recompute, auto: see passes/stages/recompute_auto.h.
 *
 * A choice gives each rank a pick: how much it computes again, and which gradients its B does (recompute_model.h). For
 * each number of bytes of a ladder, from what nothing computed again takes down to what can be kept, the choice with
 * the shortest step of the model is found, rank after rank; choices with one pick on all ranks come to these. The
 * ladder does not depend on the limit, so what there is for a limit there is for a higher one. Of these choices those
 * that may be the best are compiled to plans, on copies; of plans within the limit the fastest stays, of equal ones the
 * first. The model's step is a bound of the plan's, which has the same order of jobs, and messages beside: what is left
 * out by it is slower than a plan that fits. So with more memory a step is no longer.
 *
 * For a schedule that looks for an order within the limit a rule stands for it on the ladder. Then the model has an
 * order searched for each choice whose lower bound is below the best plan so far, and the choice that promises the
 * shortest step is compiled next.
 *
 * A whole compile compares what comes of this with the plan without recompute (zb_attempt_run of passes/compile).
 *
 * Test: test/e2e/recompute.py. */

#include "passes/stages/recompute_auto.h"

#include "passes/function.h"
#include "passes/stages/recompute_model.h"
#include "passes/stages/step_time.h"
#include "passes/stages/trial.h"
#include "runtime/base/text.h"
#include "runtime/plan/file/plan.h"

#include <stdlib.h>
#include <string.h>

enum {
  RUNGS = 128, /* of the ladder, where bytes double; */
  SEARCHED_RUNGS = 64,
  RUNG_JOBS = 400000, /* that may be simulated for a rung; */
  JOBS = 16000000,    /* for all */
  PLANS_SMALL = 6     /* of the smallest ones, which are compiled whatever the model says of their bytes */
};
/* Where orders are searched; else the model with its own order has no longer step than the plan, which has the same
 * order, and messages beside: but for jobs without ops. */
static const double searched_margin = 1.002, rounding = 1.00001, bytes_margin = 1.02;

/* What a pick costs a rank. */
typedef struct weight {
  zb_pick pick;
  int64_t bytes, b_ps, all_ps; /* bytes: in the order of the model's beginning */
} weight;

typedef struct choice {
  zb_pick *picks; /* [ranks] */
  zb_outlook model;
  int number;
  bool is_small;                                            /* of the smallest ones */
  enum { CHOICE_NEW, CHOICE_LOOKED_AT, CHOICE_DONE } state; /* where orders are searched */
} choice;

typedef struct chooser {
  zb_pass *pass;
  zb_recompute_model model;
  int ranks;
  int64_t limit;
  weight *all;   /* [ranks][levels * shares] */
  weight **good; /* [ranks]: picks that no other of the rank is better than in bytes and in times */
  int *good_count;
  ZB_LIST(choice) choices;
  int uniform;    /* so many of the first choices have one pick on all ranks */
  zb_pick *plain; /* [ranks] nothing computed again, nothing in B */
  zb_trial plain_plan, best_plan;
  double plan_to_model; /* step of the plan in that of the model */
  const zb_pick *best;
  const bool *best_in_b; /* [best_groups] */
  int best_groups;
} chooser;

/* ---- Picks ---- */

static weight weigh(const chooser *c, int rank, zb_pick pick, const int64_t *peak) {
  weight w = {.pick = pick, .bytes = peak[rank]};
  for (int s = 0; s < c->model.stages; ++s) {
    const zb_stage_cost *cost = &c->model.level[pick.level].costs[pick.share][s];
    if (c->model.stage_rank[s] != rank) continue;
    w.b_ps += cost->time_ps[ZB_B];
    w.all_ps += cost->time_ps[ZB_F] + cost->time_ps[ZB_B] + cost->time_ps[ZB_W];
  }
  return w;
}

static bool is_no_worse(const weight *x, const weight *than) {
  return x->bytes <= than->bytes && x->b_ps <= than->b_ps && x->all_ps <= than->all_ps;
}

/* Of equal ones the first is good. */
static bool is_good(const weight *all, int count, int at) {
  for (int k = 0; k < count; ++k)
    if (k != at && is_no_worse(&all[k], &all[at]) && (k < at || !is_no_worse(&all[at], &all[k]))) return false;
  return true;
}

static zb_status find_good(chooser *c) {
  const int count = c->model.levels * c->model.shares;
  c->all = ZB_NEW(&c->pass->arena, weight, (size_t)c->ranks * (size_t)count);
  int64_t *peak = ZB_NEW(&c->pass->arena, int64_t, c->ranks);
  c->good = ZB_NEW(&c->pass->arena, weight *, c->ranks);
  c->good_count = ZB_NEW(&c->pass->arena, int, c->ranks);
  ZB_TRY(zb_arena_status(&c->pass->arena));
  for (int i = 0; i < count; ++i) {
    const zb_pick pick = {i / c->model.shares, i % c->model.shares};
    zb_recompute_peaks(&c->model, pick, peak);
    for (int r = 0; r < c->ranks; ++r)
      c->all[r * count + i] = weigh(c, r, pick, peak);
  }
  for (int r = 0; r < c->ranks; ++r) {
    c->good[r] = ZB_NEW(&c->pass->arena, weight, count);
    ZB_TRY(zb_arena_status(&c->pass->arena));
    for (int i = 0; i < count; ++i)
      if (is_good(&c->all[r * count], count, i)) c->good[r][c->good_count[r]++] = c->all[r * count + i];
  }
  return NULL;
}

/* ---- Choices ---- */

static zb_status add_choice(chooser *c, const zb_pick *picks, const zb_outlook *model) {
  const size_t bytes = (size_t)c->ranks * sizeof *picks;
  for (size_t i = 0; i < c->choices.count; ++i)
    if (memcmp(c->choices.items[i].picks, picks, bytes) == 0) return NULL;
  const choice new = {
      .picks = ZB_NEW(&c->pass->arena, zb_pick, c->ranks), .model = *model, .number = (int)c->choices.count};
  if (new.picks) memcpy(new.picks, picks, bytes);
  (void)ZB_PUSH(&c->pass->arena, &c->choices, new);
  return zb_arena_status(&c->pass->arena);
}

static bool is_better_outlook(const zb_outlook *x, const zb_outlook *than) {
  return x->above != than->above ? x->above < than->above : x->step_ps < than->step_ps;
}

static const weight *weight_of(const chooser *c, int rank, zb_pick pick) {
  return &c->all[rank * c->model.levels * c->model.shares + pick.level * c->model.shares + pick.share];
}

/* Whether a pick may be better than the one at hand: it needs less time or less memory, and does not need far more than
 * there is. Orders differ in what they take, but not by much. */
static bool may_help(const weight *next, const weight *now, int64_t bytes, bool fits) {
  if (fits && next->b_ps >= now->b_ps && next->all_ps >= now->all_ps) return false;
  return next->bytes <= bytes + bytes / 8 || next->bytes < now->bytes;
}

/* Changes the pick of a rank to the best one; *now is the outlook of the picks. */
static zb_status improve_rank(chooser *c, int rank, int64_t bytes, int64_t jobs, zb_pick *picks, zb_outlook *now) {
  zb_pick best = picks[rank];
  for (int i = 0; i < c->good_count[rank] && c->model.jobs < jobs; ++i) {
    zb_outlook next;
    if (!may_help(&c->good[rank][i], weight_of(c, rank, best), bytes, now->above == 0)) continue;
    picks[rank] = c->good[rank][i].pick;
    ZB_TRY(zb_recompute_look(&c->model, picks, bytes, &next));
    if (!is_better_outlook(&next, now)) continue;
    *now = next;
    best = picks[rank];
  }
  picks[rank] = best;
  return NULL;
}

/* Improves picks for so many bytes on each rank, rank after rank, until no rank finds a better one. */
static zb_status improve(chooser *c, int64_t bytes, zb_pick *picks, zb_outlook *now) {
  const int64_t jobs = c->model.jobs + RUNG_JOBS < JOBS ? c->model.jobs + RUNG_JOBS : JOBS;
  zb_outlook before;
  ZB_TRY(zb_recompute_look(&c->model, picks, bytes, now));
  do {
    before = *now;
    for (int r = c->ranks - 1; r >= 0; --r)
      ZB_TRY(improve_rank(c, r, bytes, jobs, picks, now));
  } while (is_better_outlook(now, &before) && c->model.jobs < jobs);
  return NULL;
}

/* For each rank what takes it least time of what keeps the bytes, up to a level; else what takes fewest bytes. */
static void fit_each(const chooser *c, int64_t bytes, int level, zb_pick *picks) {
  for (int r = 0; r < c->ranks; ++r) {
    const weight *best = NULL;
    for (int i = 0; i < c->good_count[r]; ++i) {
      const weight *next = &c->good[r][i];
      if (next->pick.level > level) continue;
      const bool fits = next->bytes <= bytes, best_fits = best && best->bytes <= bytes;
      if (!best || fits != best_fits ? !best || fits
          : fits                     ? next->all_ps + next->b_ps < best->all_ps + best->b_ps
                                     : next->bytes < best->bytes)
        best = next;
    }
    picks[r] = best ? best->pick : (zb_pick){0};
  }
}

/* From what the rung above has, and from what each rank needs by itself, without and with computing again. *picks:
 * those of the rung above, then the best of this one; *out_found: within the bytes. */
static zb_status climb_rung(chooser *c, int64_t bytes, zb_pick *picks, bool *out_found) {
  enum { FROM_PLAIN, FROM_EACH, FROM_ABOVE, STARTS };
  const size_t size = (size_t)c->ranks * sizeof *picks;
  zb_outlook best = {.above = INT64_MAX}, now;
  zb_pick *above = ZB_NEW(&c->pass->arena, zb_pick, c->ranks), *tried = ZB_NEW(&c->pass->arena, zb_pick, c->ranks);
  ZB_TRY(zb_arena_status(&c->pass->arena));
  memcpy(above, picks, size);
  for (int from = 0; from < (c->model.searches ? FROM_ABOVE : STARTS); ++from) {
    memcpy(tried, above, size);
    if (from != FROM_ABOVE) fit_each(c, bytes, from == FROM_PLAIN ? 0 : c->model.levels - 1, tried);
    ZB_TRY(improve(c, bytes, tried, &now));
    if (now.above == 0) ZB_TRY(add_choice(c, tried, &now));
    if (!is_better_outlook(&now, &best)) continue;
    best = now;
    memcpy(picks, tried, size);
  }
  *out_found = best.above == 0;
  return NULL;
}

/* The next rung: they do not depend on where the ladder begins. */
static int64_t rung_below(int64_t bytes, int rungs) {
  int64_t step = 1;
  while ((bytes - 1) / step >= 2 * rungs)
    step *= 2;
  return (bytes - 1) / step * step;
}

/* One pick on all ranks: the choices that do without a ladder. */
static zb_status add_uniform(chooser *c, zb_pick *picks) {
  for (int i = 0; i < c->model.levels * c->model.shares; ++i) {
    const zb_pick pick = {i / c->model.shares, i % c->model.shares};
    zb_outlook now;
    if (pick.share != 0 && pick.share < ZB_SHARE_PRODUCTS) continue;
    for (int r = 0; r < c->ranks; ++r)
      picks[r] = pick;
    ZB_TRY(zb_recompute_look(&c->model, picks, 0, &now));
    ZB_TRY(add_choice(c, picks, &now));
  }
  return NULL;
}

/* Where orders are searched, rungs far above the limit are left out: there none begins with the one above. */
static zb_status find_choices(chooser *c) {
  zb_pick *picks = ZB_NEW(&c->pass->arena, zb_pick, c->ranks);
  zb_outlook now;
  bool found = true;
  ZB_TRY(zb_arena_status(&c->pass->arena));
  ZB_TRY(add_uniform(c, picks));
  c->uniform = (int)c->choices.count;
  memset(picks, 0, (size_t)c->ranks * sizeof *picks);
  ZB_TRY(zb_recompute_look(&c->model, picks, 0, &now));
  const int rungs = c->model.searches ? SEARCHED_RUNGS : RUNGS;
  int64_t bytes = now.most;
  if (c->model.searches && c->limit + c->limit / 2 < bytes) bytes = c->limit + c->limit / 2;
  while (found && (bytes = rung_below(bytes, rungs)) > 0)
    ZB_TRY(climb_rung(c, bytes, picks, &found));
  return NULL;
}

/* ---- Plans ---- */

/* Within the limit before above it; then the faster; above it the smaller; last what has no plan, that which needs
 * least first, so that the error says how much that is. */
static bool is_better(const chooser *c, const zb_trial *x, const zb_trial *than) {
  if (!x->exists && !than->exists) return zb_trial_needs_less(x, than);
  if (!x->exists || !than->exists) return x->exists;
  const bool within = x->most <= c->limit, than_within = than->most <= c->limit;
  if (within != than_within) return within;
  if (within || x->most == than->most) return x->step_ps < than->step_ps;
  return x->most < than->most;
}

/* limit: as text, for a schedule that keeps one. */
static zb_status compile(const chooser *c, const zb_pick *picks, const char *schedule, const char *limit, zb_trial *out,
                         bool **in_b, int *groups) {
  zb_pipeline pipeline = {0};
  zb_compile_state state = {0};
  zb_module copy = {0};
  bool exists = false;
  zb_status status = NULL;
  *out = (zb_trial){0};
  ZB_TRY(zb_recompute_copy(&c->model, picks, &copy, in_b, groups));
  ZB_TRY_GOTO(zb_trial_add_frames(c->pass, &pipeline));
  ZB_TRY_GOTO(zb_trial_add_plan(c->pass, schedule, limit, &pipeline));
  ZB_TRY_GOTO(zb_trial_run(&pipeline, &copy, &state, &exists));
  out->most = (int64_t)state.needed_bytes;
  if (exists) status = zb_trial_measure(&c->pass->arena, state.plan, c->model.metric, out);
cleanup:
  zb_plan_destroy(state.plan);
  zb_pipeline_deinit(&pipeline);
  mlirModuleDestroy(copy.module);
  return status;
}

static zb_status try_plan(chooser *c, const zb_pick *picks) {
  bool *in_b;
  int groups;
  zb_trial found;
  ZB_TRY(compile(c, picks, zb_pass_option(c->pass, "schedule"), zb_pass_option(c->pass, "memory-limit"), &found, &in_b,
                 &groups));
  if (!is_better(c, &found, &c->best_plan)) return NULL;
  c->best_plan = found;
  c->best = picks;
  c->best_in_b = in_b;
  c->best_groups = groups;
  return NULL;
}

/* The plan of nothing without a limit; and what plans take beside base and frames, and by how much their steps are
 * longer, by the plan that has the order of the model. */
static zb_status find_plain(chooser *c) {
  const char *schedule = zb_pass_option(c->pass, "schedule"), *rule = c->model.searches ? c->model.rule : NULL;
  bool *in_b;
  int groups;
  zb_outlook model;
  zb_trial modelled;
  int64_t *peak = ZB_NEW(&c->pass->arena, int64_t, c->ranks);
  ZB_TRY(zb_arena_status(&c->pass->arena));
  ZB_TRY(compile(c, c->plain, schedule, "", &c->plain_plan, &in_b, &groups));
  modelled = c->plain_plan;
  if (rule) ZB_TRY(compile(c, c->plain, rule, "", &modelled, &in_b, &groups));
  if (!modelled.exists) return NULL;
  zb_recompute_peaks(&c->model, (zb_pick){0}, peak);
  for (int r = 0; r < c->ranks; ++r)
    c->model.besides[r] = modelled.arena[r] - peak[r];
  ZB_TRY(zb_recompute_look(&c->model, c->plain, 0, &model));
  c->plan_to_model = (double)modelled.step_ps / (double)model.step_ps;
  return NULL;
}

/* ---- Choosing ---- */

static int compare_steps(const void *a, const void *b) {
  const choice *x = a, *y = b;
  if (x->model.step_ps != y->model.step_ps) return x->model.step_ps < y->model.step_ps ? -1 : 1;
  return x->number - y->number;
}

static int compare_bytes(const void *a, const void *b) {
  const choice *x = a, *y = b;
  if (x->model.most != y->model.most) return x->model.most < y->model.most ? -1 : 1;
  return x->number - y->number;
}

static void sort(chooser *c, int (*compare)(const void *, const void *)) {
  qsort(c->choices.items, c->choices.count, sizeof *c->choices.items, compare);
}

static bool is_within(const chooser *c) { return c->best_plan.exists && c->best_plan.most <= c->limit; }

/* Whether no plan of a choice whose model has that step is faster than the best one. */
static bool is_too_slow(const chooser *c, int64_t step_ps) {
  const double least = c->model.searches ? c->plan_to_model / searched_margin : 1 / rounding;
  return is_within(c) && least * (double)step_ps > (double)c->best_plan.step_ps;
}

/* The smallest of all, and of those with one pick: where orders are searched others depend on the limit, and what an
 * error says to be enough must be there for that limit, too. */
static void mark_small(chooser *c) {
  sort(c, compare_bytes);
  for (int i = 0, uniform = 0; i < (int)c->choices.count; ++i) {
    choice *it = &c->choices.items[i];
    it->is_small = i < PLANS_SMALL || (it->number < c->uniform && uniform < PLANS_SMALL);
    uniform += it->number < c->uniform;
  }
}

/* Whether a plan within the limit may come of it. */
static bool may_fit(const chooser *c, const choice *it) {
  return it->model.step_ps < INT64_MAX && (double)it->model.most <= bytes_margin * (double)c->limit;
}

/* What is compiled for a limit is compiled for a higher one too, unless it is slower than what that has. */
static zb_status compare_by_model(chooser *c) {
  sort(c, compare_steps);
  for (size_t i = 0; i < c->choices.count && !is_too_slow(c, c->choices.items[i].model.step_ps); ++i)
    if (may_fit(c, &c->choices.items[i]) || c->choices.items[i].is_small)
      ZB_TRY(try_plan(c, c->choices.items[i].picks));
  return NULL;
}

static choice *most_promising(const chooser *c) {
  choice *best = NULL;
  for (size_t i = 0; i < c->choices.count; ++i) {
    choice *it = &c->choices.items[i];
    if (it->state < CHOICE_DONE && (!best || it->model.step_ps < best->model.step_ps)) best = it;
  }
  return best;
}

/* Where orders are searched: the choice that promises most comes next, by its bound until an order has been searched
 * for its model, then by that. The plan of an order may be above the limit, and what the schedule then finds for it is
 * far longer, so it is plans within the limit that end this, and no promise. */
static zb_status compare_searched(chooser *c) {
  choice *next;
  for (size_t i = 0; i < c->choices.count; ++i)
    c->choices.items[i].model.step_ps = zb_recompute_bound(&c->model, c->choices.items[i].picks, c->limit);
  while ((next = most_promising(c)) && !is_too_slow(c, next->model.step_ps) && zb_trial_pays(c->pass->program->memo)) {
    if (next->state == CHOICE_NEW) {
      next->state = CHOICE_LOOKED_AT;
      ZB_TRY(zb_recompute_look_within(&c->model, next->picks, c->limit, &next->model));
      continue;
    }
    next->state = CHOICE_DONE;
    if (may_fit(c, next)) ZB_TRY(try_plan(c, next->picks));
  }
  for (size_t i = 0; i < c->choices.count && !is_within(c); ++i)
    if (c->choices.items[i].is_small) ZB_TRY(try_plan(c, c->choices.items[i].picks));
  return NULL;
}

/* Nothing computed again comes first where it fits: what the model says of it within the limit is for another order. */
static zb_status compare_plans(chooser *c) {
  if (c->plain_plan.exists && c->plain_plan.most <= c->limit) ZB_TRY(try_plan(c, c->plain));
  mark_small(c);
  return c->model.searches ? compare_searched(c) : compare_by_model(c);
}

/* ---- All ---- */

/* What was found, with the plan of nothing; the groups are for zb-split-policy. */
static zb_status apply(const chooser *c, zb_recompute *r) {
  const zb_compile_state *state = c->pass->shared;
  zb_text groups = {0};
  if (state && state->summary) {
    state->summary->recompute_seconds = 1e-12 * (double)c->plain_plan.step_ps;
    state->summary->recompute_bytes = (uint64_t)c->plain_plan.most;
  }
  for (int g = 0; g < c->best_groups; ++g)
    if (c->best_in_b[g]) zb_text_add(&groups, "%s%d", groups.length ? "," : "", g);
  if (c->model.shares > 1 && !groups.failed)
    zb_set_string(mlirModuleGetOperation(c->model.module), ZB_ATTR_GROUPS_IN_B, groups.data ? groups.data : "");
  const bool failed = groups.failed;
  zb_text_deinit(&groups);
  return failed ? ZB_OUT_OF_MEMORY() : zb_recompute_set_picks(&c->model, c->best, r);
}

static zb_status choose(chooser *c) {
  c->ranks = c->model.ranks;
  c->plain = ZB_NEW(&c->pass->arena, zb_pick, c->ranks);
  c->best = c->plain;
  ZB_TRY(zb_arena_status(&c->pass->arena));
  ZB_TRY(zb_recompute_model_build(&c->model));
  ZB_TRY(find_plain(c));
  ZB_TRY(find_good(c));
  ZB_TRY(find_choices(c));
  return compare_plans(c);
}

static zb_status run_auto(zb_pass *pass, MlirModule module, int64_t limit, zb_metric metric, zb_recompute *r) {
  chooser c = {.pass = pass, .limit = limit};
  zb_status status = NULL;
  ZB_TRY_GOTO(zb_recompute_model_init(pass, module, r, metric, &c.model));
  ZB_TRY_GOTO(choose(&c));
  status = apply(&c, r);
cleanup:
  zb_recompute_model_deinit(&c.model);
  return status;
}

zb_result zb_recompute_auto(zb_pass *pass, MlirModule module, zb_recompute *r) {
  MlirOperation top = mlirModuleGetOperation(module);
  uint64_t limit;
  zb_metric metric;
  if (!zb_pass_option_bytes(pass, "memory-limit", &limit)) return ZB_FAIL;
  if (!limit) return zb_pass_option_error(pass, top, "recompute", ZB_RECOMPUTE_AUTO_HINT, ZB_RECOMPUTE_AUTO_ALONE);
  if (!zb_pass_option_metric(pass, top, &metric)) return ZB_FAIL;
  ZB_PASS_TRY(pass, run_auto(pass, module, (int64_t)limit, metric, r));
  return ZB_OK;
}
