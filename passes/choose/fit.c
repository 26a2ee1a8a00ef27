/* Fitting gradients: see passes/choose/fit.h. Test: test/e2e/split.py. */

#include "passes/choose/fit.h"

#include "passes/choose/levels.h"
#include "passes/choose/split_bound.h"

#include <stdlib.h>
#include <string.h>

enum { LIMIT_RUNGS = 256, BOUND_JOBS = 2000000 };

/* ---- Gradients alone, for a rule ---- */

/* Adds the fewest gradients that keep to the bytes: in the order that the rule makes without any in B, then in that for
 * these. *most: what the first of them take on the fullest rank. */
static zb_status add_rung(zb_chooser *c, int64_t bytes, zb_pick *picks, int64_t *most) {
  enum { FITS = 2 };
  zb_outlook now;
  zb_chooser_set_all(c, (zb_pick){0}, picks);
  ZB_TRY(zb_picks_look(&c->model, picks, bytes, &now));
  for (int i = 0; i < FITS; ++i) {
    for (int r = 0; r < c->ranks; ++r)
      c->bytes[r] = bytes;
    ZB_TRY(zb_picks_fit(&c->model, c->bytes, picks));
    ZB_TRY(zb_picks_look(&c->model, picks, bytes, &now));
    if (i == 0) *most = now.most;
    ZB_TRY(zb_chooser_add(c, picks, &now, 0));
  }
  return NULL;
}

/* What the rule's order takes with no gradient in B, and with all. */
static zb_status find_ends(zb_chooser *c, zb_pick *picks, int64_t *most, int64_t *least) {
  zb_outlook now;
  ZB_TRY(zb_picks_look(&c->model, c->plain, 0, &now));
  *most = now.most;
  zb_chooser_set_all(c, (zb_pick){0, c->model.level[0].plain[ZB_IN_B_ALL]}, picks);
  ZB_TRY(zb_picks_look(&c->model, picks, 0, &now));
  *least = now.most;
  return NULL;
}

/* Down to a little less than all gradients in B ask for. Plans take up to some per cent less than the model says, so
 * rungs begin above the limit. One for which the same comes of the gradients as for the last one is left out, but for a
 * few that do not depend on the limit: so what is there for one limit is there for a higher one. Without a limit, rungs
 * around what 1F1B takes are enough: nobody asks for less. */
zb_status zb_fit_rule(zb_chooser *c) {
  enum { OFF = 50, LESS = 8, ALWAYS = 8 /* where bytes double */ };
  const int64_t near = c->limit + c->limit / OFF;
  zb_pick *picks = ZB_NEW(&c->arena, zb_pick, c->ranks);
  int64_t most, least;
  ZB_TRY(zb_arena_status(&c->arena));
  ZB_TRY(zb_chooser_add_uniform(c));
  ZB_TRY(find_ends(c, picks, &most, &least));
  const int64_t last = c->asked->limit ? least - least / LESS : c->limit - c->limit / OFF;
  int64_t bytes = most;
  for (int64_t rung = bytes; rung >= near; rung = zb_level_below(rung, ALWAYS))
    bytes = rung;
  for (bytes = zb_level_within(bytes, LIMIT_RUNGS); bytes > last;) {
    const int64_t always = zb_level_below(bytes, ALWAYS);
    ZB_TRY(add_rung(c, bytes, picks, &most));
    bytes = zb_level_below(most < bytes ? most : bytes, LIMIT_RUNGS);
    if (bytes < always) bytes = always;
  }
  return NULL;
}

/* ---- Gradients alone, for a rule that keeps a limit ---- */

/* Gradients for the order that the schedule has without a limit, then for that within the bytes: the fewer frames a
 * micro-batch keeps, the more of them are under way. *found: there is an order within the bytes. */
static zb_status fit_adaptive(zb_chooser *c, int64_t bytes, bool *found) {
  enum { FITS = 3 };
  zb_pick *picks = ZB_NEW(&c->arena, zb_pick, c->ranks);
  ZB_TRY(zb_arena_status(&c->arena));
  *found = true;
  for (int i = 0; i < FITS && *found; ++i) {
    const zb_outlook unknown = {0};
    for (int r = 0; r < c->ranks; ++r)
      c->bytes[r] = bytes;
    ZB_TRY(zb_picks_fit_within(&c->model, i > 0 ? bytes : 0, c->bytes, picks, found));
    if (*found) ZB_TRY(zb_chooser_add(c, picks, &unknown, c->asked->searches ? 0 : bytes));
  }
  return NULL;
}

zb_status zb_fit_searched(zb_chooser *c) {
  bool found;
  return fit_adaptive(c, zb_level_within(c->limit, LIMIT_RUNGS), &found);
}

zb_status zb_fit_around(zb_chooser *c) {
  enum { AROUND = 8, PER_OCTAVE = 16 };
  bool found;
  int64_t bytes = zb_level_within(c->limit + c->limit / 8, PER_OCTAVE);
  for (int i = 0; i < AROUND; ++i, bytes = zb_level_below(bytes, PER_OCTAVE))
    ZB_TRY(fit_adaptive(c, bytes, &found));
  return NULL;
}

/* From the most that the order without a limit takes, down to what no order keeps: rungs that do not depend on the
 * limit, and more of them around it. Orders of large programs take their time, so these have fewer. */
zb_status zb_fit_adaptive(zb_chooser *c) {
  enum { SMALL = 96, LARGE = 256, FAR_RUNGS = 8 }; /* stages x micro-batches */
  const int size = c->model.stages * c->asked->micro_batches, near = size > LARGE ? 8 : size > SMALL ? 16 : 32;
  int64_t bytes = 0;
  bool found = true;
  for (int r = 0; r < c->ranks && c->plain_plan->exists; ++r)
    if (c->plain_plan->bytes[r] > bytes) bytes = c->plain_plan->bytes[r];
  ZB_TRY(zb_chooser_add_uniform(c));
  while (found && (bytes = zb_level_below(bytes, FAR_RUNGS)) > 0)
    ZB_TRY(fit_adaptive(c, bytes, &found));
  bytes = zb_level_within(c->limit + c->limit / 4, near);
  for (; bytes > c->limit - c->limit / 8; bytes = zb_level_below(bytes, near))
    ZB_TRY(fit_adaptive(c, bytes, &found));
  return NULL;
}

/* ---- Gradients alone, for a search ---- */

/* What of the limit the model may count on, by what the plan of the picks takes beside what the model says of it. */
static void calibrate(zb_chooser *c, const zb_candidate *plan, const zb_pick *picks) {
  zb_picks_peaks(&c->model, picks, c->bytes);
  for (int r = 0; r < c->ranks; ++r)
    c->bytes[r] += c->limit - plan->bytes[r] + c->model.besides[r];
}

/* The best plan's order needs no more in B than fits it; with less the search may find a better one. Each plan says for
 * the next one how much more or less than the model counts with each rank takes. */
zb_status zb_fit_best(zb_chooser *c) {
  enum { TRIES = 6 };
  const size_t size = (size_t)c->ranks * sizeof(zb_pick);
  zb_pick *picks = ZB_NEW(&c->arena, zb_pick, c->ranks), *before = ZB_NEW(&c->arena, zb_pick, c->ranks);
  const zb_candidate *plan = c->best;
  ZB_TRY(zb_arena_status(&c->arena));
  if (plan) memcpy(picks, c->best_picks, size);
  for (int i = 0; i < TRIES && plan && plan->exists && zb_judge_pays(&c->search->judge); ++i) {
    const zb_order order = c->model.order;
    memcpy(before, picks, size);
    c->model.order = plan->choice.order;
    calibrate(c, plan, picks);
    zb_status status = zb_picks_fit(&c->model, c->bytes, picks);
    c->model.order = order;
    if (!status && memcmp(before, picks, size) == 0) break;
    if (!status) status = zb_chooser_try(c, picks, &plan);
    ZB_TRY(status);
  }
  return NULL;
}

/* ---- A bound ---- */

/* The model of a choice, which bounds follow from, must be that of its plan: the same times of jobs (a job without ops
 * takes a picosecond), and no more memory. It is not where whole jobs were measured. */
static bool is_as_modelled(const zb_chooser *c, const zb_split_problem *split) {
  for (int s = 0; s < c->model.stages; ++s) {
    const zb_stage_cost cost = zb_split_cost(split, s);
    for (int kind = 0; kind < ZB_KIND_COUNT; ++kind)
      if (llabs(cost.time_ps[kind] - c->best->costs[s].time_ps[kind]) > 1) return false;
  }
  for (int r = 0; r < c->ranks; ++r)
    if (zb_split_peak(split, r) > c->best->bytes[r]) return false;
  return true;
}

static void set_rank(zb_chooser *c, int rank, const bool *in_b) {
  zb_w_groups *w = &c->model.level[0].w;
  for (int g = 0; g < w->group_count; ++g)
    if (c->model.stage_rank[w->groups[g].stage] == rank) zb_w_group_set(w, g, in_b[g]);
}

static void set_best(zb_chooser *c) {
  for (int r = 0; r < c->ranks; ++r)
    set_rank(c, r, zb_picked_share(&c->model, c->best_picks[r])->in_b);
}

/* From what would be fastest: ranks that make the step no longer with what the best plan has keep that, for it is known
 * to fit. */
static zb_status keep_ranks(zb_chooser *c, const zb_split_problem *split) {
  const zb_w_groups *w = split->w;
  bool *fastest = ZB_NEW(&c->arena, bool, w->group_count);
  int64_t step, bound;
  ZB_TRY(zb_arena_status(&c->arena));
  ZB_TRY(zb_split_step(split, &bound));
  for (int g = 0; g < w->group_count; ++g)
    fastest[g] = w->groups[g].in_b;
  for (int r = 0; r < c->ranks; ++r) {
    set_rank(c, r, zb_picked_share(&c->model, c->best_picks[r])->in_b);
    ZB_TRY(zb_split_step(split, &step));
    if (step > bound) set_rank(c, r, fastest);
  }
  return NULL;
}

typedef ZB_LIST(zb_split_refusal) refusals;

/* Plans what would be faster by the model. Ranks that are over the limit with it refuse that. *out_goes_on: something
 * was refused, or is better. */
static zb_status refute(zb_chooser *c, zb_split_problem *split, refusals *out, bool *out_goes_on) {
  const zb_candidate *best = c->best, *plan;
  zb_pick *picks = ZB_NEW(&c->arena, zb_pick, c->ranks);
  ZB_TRY(zb_arena_status(&c->arena));
  ZB_TRY(keep_ranks(c, split));
  for (int r = 0; r < c->ranks; ++r)
    ZB_TRY(zb_picks_of_groups(&c->model, r, &picks[r]));
  ZB_TRY(zb_chooser_try(c, picks, &plan));
  *out_goes_on = c->best != best;
  for (int r = 0; r < c->ranks && plan->exists; ++r) {
    if (plan->bytes[r] <= c->limit) continue;
    *out_goes_on = true;
    (void)ZB_PUSH(&c->arena, out, ((zb_split_refusal){r, zb_picked_share(&c->model, picks[r])->in_b}));
  }
  return zb_arena_status(&c->arena);
}

/* What would be faster is compiled, until nothing is left or plans run out. */
zb_status zb_fit_bound(zb_chooser *c, zb_found *out) {
  enum { PLANS = 24, SIZE = 4096 };
  zb_level *level = &c->model.level[0];
  zb_split_problem split = {.w = &level->w, .memory = &level->memory, .problem = &level->problem.problem};
  const int64_t size = level->graph.node_count + (int64_t)c->model.stages * split.problem->micro_batches;
  int plans = c->model.keeps_limit ? 0 : size > SIZE ? (int)(PLANS * SIZE / size) : PLANS;
  int64_t own, work = BOUND_JOBS;
  refusals refused = {0};
  bool goes_on = true;
  if (c->model.stages != c->ranks || c->asked->metric != ZB_METRIC_BARRIER) return NULL;
  for (; goes_on && zb_chooser_is_within(c); --plans) {
    split.order = &c->best->choice.order;
    split.refusals = refused.items;
    split.refusal_count = (int)refused.count;
    set_best(c);
    if (!is_as_modelled(c, &split)) return NULL;
    ZB_TRY(zb_split_step(&split, &own));
    ZB_TRY(zb_split_shortest(&split, c->limit, &work, &out->split_bound_ps));
    out->split_is_proven = out->split_bound_ps >= own;
    if (out->split_is_proven) out->split_bound_ps = c->best->step_ps;
    if (out->split_is_proven || !out->split_bound_ps || plans < 1) return NULL;
    ZB_TRY(refute(c, &split, &refused, &goes_on));
  }
  return NULL;
}
