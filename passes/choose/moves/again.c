/* What is computed again, for a memory limit (--recompute auto).
 *
 * A choice gives each rank a pick: how much it computes again, and which gradients its B does (again_model.h). For
 * each number of bytes of a ladder, from what nothing computed again takes down to what can be kept, the choice with
 * the shortest step of the model is found, rank after rank; choices with one pick on all ranks come to these. The
 * ladder does not depend on the limit, so what there is for a limit there is for a higher one. Of these choices those
 * that may be the best are judged by their plans; of plans within the limit the fastest stays, of equal ones the first.
 * The model's step is a bound of the plan's, which has the same order of jobs, and messages beside: what is left out by
 * it is slower than a plan that fits. So with more memory a step is no longer.
 *
 * For a schedule that looks for an order within the limit a rule stands for it on the ladder. Then the model has an
 * order searched for each choice whose lower bound is below the best plan so far, and the choice that promises the
 * shortest step is judged next.
 *
 * What comes of this is compared with the plan without recompute.
 *
 * Test: test/e2e/recompute.py. */

#include "passes/choose/again_model.h"
#include "passes/choose/levels.h"

#include <math.h>
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

typedef struct rung_choice {
  zb_pick *picks; /* [ranks] */
  zb_outlook model;
  int number;
  bool is_small;                                            /* of the smallest ones */
  enum { CHOICE_NEW, CHOICE_LOOKED_AT, CHOICE_DONE } state; /* where orders are searched */
} rung_choice;

typedef struct chooser {
  zb_choice_search *search;
  const zb_asked *asked;
  zb_again_model model;
  zb_arena arena;
  int ranks;
  int64_t limit;
  weight *all;   /* [ranks][levels * shares] */
  weight **good; /* [ranks]: picks that no other of the rank is better than in bytes and in times */
  int *good_count;
  ZB_LIST(rung_choice) choices;
  int uniform;                           /* so many of the first choices have one pick on all ranks */
  zb_pick *plain;                        /* [ranks] nothing computed again, nothing in B */
  const zb_candidate *plain_plan, *best; /* best: NULL: none yet */
  double plan_to_model;                  /* step of the plan in that of the model */
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
  c->all = ZB_NEW(&c->arena, weight, (size_t)c->ranks * (size_t)count);
  int64_t *peak = ZB_NEW(&c->arena, int64_t, c->ranks);
  c->good = ZB_NEW(&c->arena, weight *, c->ranks);
  c->good_count = ZB_NEW(&c->arena, int, c->ranks);
  ZB_TRY(zb_arena_status(&c->arena));
  for (int i = 0; i < count; ++i) {
    const zb_pick pick = {i / c->model.shares, i % c->model.shares};
    zb_again_peaks(&c->model, pick, peak);
    for (int r = 0; r < c->ranks; ++r)
      c->all[r * count + i] = weigh(c, r, pick, peak);
  }
  for (int r = 0; r < c->ranks; ++r) {
    c->good[r] = ZB_NEW(&c->arena, weight, count);
    ZB_TRY(zb_arena_status(&c->arena));
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
  const rung_choice new = {
      .picks = ZB_NEW(&c->arena, zb_pick, c->ranks), .model = *model, .number = (int)c->choices.count};
  if (new.picks) memcpy(new.picks, picks, bytes);
  (void)ZB_PUSH(&c->arena, &c->choices, new);
  return zb_arena_status(&c->arena);
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
    ZB_TRY(zb_again_look(&c->model, picks, bytes, &next));
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
  ZB_TRY(zb_again_look(&c->model, picks, bytes, now));
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
  zb_pick *above = ZB_NEW(&c->arena, zb_pick, c->ranks), *tried = ZB_NEW(&c->arena, zb_pick, c->ranks);
  ZB_TRY(zb_arena_status(&c->arena));
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

/* One pick on all ranks: the choices that do without a ladder. */
static zb_status add_uniform(chooser *c, zb_pick *picks) {
  for (int i = 0; i < c->model.levels * c->model.shares; ++i) {
    const zb_pick pick = {i / c->model.shares, i % c->model.shares};
    zb_outlook now;
    if (pick.share != 0 && pick.share < ZB_SHARE_PRODUCTS) continue;
    for (int r = 0; r < c->ranks; ++r)
      picks[r] = pick;
    ZB_TRY(zb_again_look(&c->model, picks, 0, &now));
    ZB_TRY(add_choice(c, picks, &now));
  }
  return NULL;
}

/* Where orders are searched, rungs far above the limit are left out: there none begins with the one above. */
static zb_status find_choices(chooser *c) {
  zb_pick *picks = ZB_NEW(&c->arena, zb_pick, c->ranks);
  zb_outlook now;
  bool found = true;
  ZB_TRY(zb_arena_status(&c->arena));
  ZB_TRY(add_uniform(c, picks));
  c->uniform = (int)c->choices.count;
  memset(picks, 0, (size_t)c->ranks * sizeof *picks);
  ZB_TRY(zb_again_look(&c->model, picks, 0, &now));
  const int rungs = c->model.searches ? SEARCHED_RUNGS : RUNGS;
  int64_t bytes = now.most;
  if (c->model.searches && c->limit + c->limit / 2 < bytes) bytes = c->limit + c->limit / 2;
  while (found && (bytes = zb_level_below(bytes, rungs)) > 0)
    ZB_TRY(climb_rung(c, bytes, picks, &found));
  return NULL;
}

/* ---- Plans ---- */

static zb_status judge(chooser *c, const zb_asked *asked, const zb_pick *picks, const zb_candidate **out) {
  zb_choice choice = {0};
  zb_found found = {0};
  ZB_TRY(zb_again_choice(&c->model, picks, &choice));
  zb_status status = zb_search_below(c->search, &zb_move_again, asked, &choice, &found);
  zb_choice_deinit(&choice);
  *out = found.candidate;
  return status;
}

static zb_status try_plan(chooser *c, const zb_pick *picks) {
  const zb_candidate *found;
  ZB_TRY(judge(c, c->asked, picks, &found));
  if (!c->best || zb_candidate_is_better(found, c->best, c->limit)) c->best = found;
  return NULL;
}

/* The plan of nothing without a limit; and what plans take beside base and frames, and by how much their steps are
 * longer, by the plan that has the order of the model. */
static zb_status find_plain(chooser *c) {
  zb_asked unlimited;
  zb_outlook model;
  const zb_candidate *modelled;
  int64_t *peak = ZB_NEW(&c->arena, int64_t, c->ranks);
  ZB_TRY(zb_arena_status(&c->arena));
  ZB_TRY(zb_asked_rule(c->asked, c->asked->schedule, &unlimited));
  ZB_TRY(judge(c, &unlimited, c->plain, &c->plain_plan));
  modelled = c->plain_plan;
  if (c->model.searches && c->model.has_rule) ZB_TRY(judge(c, &c->model.rule, c->plain, &modelled));
  if (!modelled->exists) return NULL;
  zb_again_peaks(&c->model, (zb_pick){0}, peak);
  for (int r = 0; r < c->ranks; ++r)
    c->model.besides[r] = modelled->bytes[r] - peak[r];
  ZB_TRY(zb_again_look(&c->model, c->plain, 0, &model));
  c->plan_to_model = (double)modelled->step_ps / (double)model.step_ps;
  return NULL;
}

/* ---- Choosing ---- */

static int compare_steps(const void *a, const void *b) {
  const rung_choice *x = a, *y = b;
  if (x->model.step_ps != y->model.step_ps) return x->model.step_ps < y->model.step_ps ? -1 : 1;
  return x->number - y->number;
}

static int compare_bytes(const void *a, const void *b) {
  const rung_choice *x = a, *y = b;
  if (x->model.most != y->model.most) return x->model.most < y->model.most ? -1 : 1;
  return x->number - y->number;
}

static void sort(chooser *c, int (*compare)(const void *, const void *)) {
  qsort(c->choices.items, c->choices.count, sizeof *c->choices.items, compare);
}

static bool is_within(const chooser *c) { return c->best && zb_candidate_fits(c->best, c->limit); }

/* No plan of a choice whose model has a longer step is faster than the best one. */
static double longest(const chooser *c) {
  const double least = c->model.searches ? c->plan_to_model / searched_margin : 1 / rounding;
  return is_within(c) ? (double)c->best->step_ps / least : INFINITY;
}

static bool is_too_slow(const chooser *c, int64_t step_ps) { return (double)step_ps > longest(c); }

/* The smallest of all, and of those with one pick: where orders are searched others depend on the limit, and what an
 * error says to be enough must be there for that limit, too. */
static void mark_small(chooser *c) {
  sort(c, compare_bytes);
  for (int i = 0, uniform = 0; i < (int)c->choices.count; ++i) {
    rung_choice *it = &c->choices.items[i];
    it->is_small = i < PLANS_SMALL || (it->number < c->uniform && uniform < PLANS_SMALL);
    uniform += it->number < c->uniform;
  }
}

/* Whether a plan within the limit may come of it. */
static bool may_fit(const chooser *c, const rung_choice *it) {
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

static rung_choice *most_promising(const chooser *c) {
  rung_choice *best = NULL;
  for (size_t i = 0; i < c->choices.count; ++i) {
    rung_choice *it = &c->choices.items[i];
    if (it->state < CHOICE_DONE && (!best || it->model.step_ps < best->model.step_ps)) best = it;
  }
  return best;
}

/* Where orders are searched: the choice that promises most comes next, by its bound until an order has been searched
 * for its model, then by that. The plan of an order may be above the limit, and what the schedule then finds for it is
 * far longer, so it is plans within the limit that end this, and no promise. */
static zb_status compare_searched(chooser *c) {
  rung_choice *next;
  for (size_t i = 0; i < c->choices.count; ++i)
    c->choices.items[i].model.step_ps = zb_again_bound(&c->model, c->choices.items[i].picks, c->limit);
  while ((next = most_promising(c)) && !is_too_slow(c, next->model.step_ps) && zb_judge_pays(&c->search->judge)) {
    if (next->state == CHOICE_NEW) {
      next->state = CHOICE_LOOKED_AT;
      ZB_TRY(zb_again_look_within(&c->model, next->picks, c->limit, longest(c), &next->model));
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
  if (zb_candidate_fits(c->plain_plan, c->limit)) ZB_TRY(try_plan(c, c->plain));
  mark_small(c);
  return c->model.searches ? compare_searched(c) : compare_by_model(c);
}

/* ---- The row ---- */

static zb_status choose(chooser *c, const zb_choice *above, zb_found *out) {
  ZB_TRY(zb_again_model_init(c->search, c->asked, above, &c->model));
  c->ranks = c->model.ranks;
  c->plain = ZB_NEW(&c->arena, zb_pick, c->ranks);
  ZB_TRY(zb_arena_status(&c->arena));
  ZB_TRY(zb_again_model_build(&c->model));
  ZB_TRY(find_plain(c));
  ZB_TRY(find_good(c));
  ZB_TRY(find_choices(c));
  ZB_TRY(compare_plans(c));
  if (!c->best) ZB_TRY(try_plan(c, c->plain));
  out->candidate = c->best;
  out->none_ps = c->plain_plan->step_ps;
  out->none_bytes = c->plain_plan->most;
  return NULL;
}

/* With the choice of --split for this limit the plan without is among what is compared, as the option left out gives
 * it. */
static zb_status decide(zb_choice_search *search, const zb_asked *asked, const zb_choice *above, zb_found *out) {
  chooser c = {.search = search, .asked = asked, .limit = asked->limit};
  zb_asked without = *asked;
  zb_found none = {0};
  without.recompute = "none";
  zb_status status = choose(&c, above, out);
  zb_again_model_deinit(&c.model);
  zb_arena_deinit(&c.arena);
  if (zb_judge_is_no_plan(status)) {
    zb_status_free(status); /* which that without says, too */
    *out = (zb_found){0};
    status = NULL;
  }
  if (status) return status;
  const int64_t none_ps = out->none_ps, none_bytes = out->none_bytes;
  ZB_TRY(zb_search_below(search, &zb_move_again, &without, above, &none));
  zb_found_keep(out, &none, asked->limit);
  out->none_ps = none_ps;
  out->none_bytes = none_bytes;
  return NULL;
}

static bool is_open(const zb_asked *asked) { return strcmp(asked->recompute, "auto") == 0; }

const zb_move zb_move_again = {.decision = ZB_CHOICE_AGAIN, .is_open = is_open, .decide = decide};
