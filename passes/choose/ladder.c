/* Picks for a memory limit: see passes/choose/ladder.h. Tests: test/e2e/recompute.py, test/e2e/split.py. */

#include "passes/choose/ladder.h"

#include "passes/choose/levels.h"
#include "passes/choose/pick_model.h"
#include "passes/choose/split_bound.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
  RUNGS = 128, /* of the ladder, where bytes double; */
  SEARCHED_RUNGS = 64,
  RUNG_JOBS = 400000, /* that may be simulated for a rung; */
  JOBS = 16000000,    /* for all; */
  BOUND_JOBS = 2000000,
  FIT_WORK = 2000000,
  FIT_WORK_QUICK = 50000,
  PLANS_SMALL = 6 /* of the smallest ones, which are compiled whatever the model says of their bytes */
};
/* Where orders are searched; else the model has the step of the plan. */
static const double searched_margin = 1.002, bytes_margin = 1.02;

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
  const zb_move *row;
  const zb_asked *asked;
  zb_pick_model model;
  zb_arena arena;
  int ranks;
  int64_t limit;
  weight **good; /* [ranks]: picks that no other of the rank is better than in bytes and in times */
  int *good_count;
  ZB_LIST(rung_choice) choices;
  int uniform;         /* so many of the first choices have one pick on all ranks */
  int64_t *peak;       /* [ranks] */
  zb_pick *best_picks; /* [ranks] of best */
  ZB_LIST(zb_split_refusal) refusals;
  zb_pick *plain;                        /* [ranks] nothing computed again, nothing in B */
  const zb_candidate *plain_plan, *best; /* best: NULL: none yet */
  double plan_to_model;                  /* step of the plan in that of the model */
} chooser;

/* ---- Picks ---- */

static weight weigh(const chooser *c, int rank, zb_pick pick) {
  const zb_share *share = zb_picked_share(&c->model, pick);
  weight w = {.pick = pick, .bytes = share->peak[rank]};
  for (int s = 0; s < c->model.stages; ++s) {
    if (c->model.stage_rank[s] != rank) continue;
    w.b_ps += share->costs[s].time_ps[ZB_B];
    w.all_ps += share->costs[s].time_ps[ZB_F] + share->costs[s].time_ps[ZB_B] + share->costs[s].time_ps[ZB_W];
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

static void set_all(const chooser *c, zb_pick pick, zb_pick *picks) {
  for (int r = 0; r < c->ranks; ++r)
    picks[r] = pick;
}

/* Of what the model begins with. */
static zb_status find_good(chooser *c) {
  int count = 0;
  zb_pick *picks = ZB_NEW(&c->arena, zb_pick, c->ranks);
  for (int l = 0; l < c->model.levels; ++l)
    count += (int)c->model.level[l].shares.count;
  weight *all = ZB_NEW(&c->arena, weight, count);
  c->good = ZB_NEW(&c->arena, weight *, c->ranks);
  c->good_count = ZB_NEW(&c->arena, int, c->ranks);
  ZB_TRY(zb_arena_status(&c->arena));
  for (int l = 0; l < c->model.levels; ++l)
    for (int s = 0; s < (int)c->model.level[l].shares.count; ++s) {
      set_all(c, (zb_pick){l, s}, picks);
      zb_picks_peaks(&c->model, picks, c->model.level[l].shares.items[s].peak);
    }
  for (int r = 0; r < c->ranks; ++r) {
    int at = 0;
    c->good[r] = ZB_NEW(&c->arena, weight, count);
    ZB_TRY(zb_arena_status(&c->arena));
    for (int l = 0; l < c->model.levels; ++l)
      for (int s = 0; s < (int)c->model.level[l].shares.count; ++s)
        all[at++] = weigh(c, r, (zb_pick){l, s});
    for (int i = 0; i < count; ++i)
      if (is_good(all, count, i)) c->good[r][c->good_count[r]++] = all[i];
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
    const weight at = weigh(c, rank, best);
    if (!may_help(&c->good[rank][i], &at, bytes, now->above == 0)) continue;
    picks[rank] = c->good[rank][i].pick;
    ZB_TRY(zb_picks_look(&c->model, picks, bytes, &next));
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
  ZB_TRY(zb_picks_look(&c->model, picks, bytes, now));
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

/* Gradients as exactly as the bytes ask for, each time by the order that the last ones have; *best stays the best. */
static zb_status fit_rung(chooser *c, int64_t bytes, zb_pick *tried, zb_pick *picks, zb_outlook *best) {
  enum { FITS = 4 };
  const size_t size = (size_t)c->ranks * sizeof *picks;
  zb_outlook now;
  ZB_TRY(zb_picks_look(&c->model, tried, bytes, &now));
  for (int i = 0; i < FITS && c->model.chooses_in_b; ++i) {
    for (int r = 0; r < c->ranks; ++r)
      c->peak[r] = bytes;
    ZB_TRY(zb_picks_fit(&c->model, c->peak, tried));
    ZB_TRY(zb_picks_look(&c->model, tried, bytes, &now));
    if (now.above == 0) ZB_TRY(add_choice(c, tried, &now));
    if (!is_better_outlook(&now, best)) continue;
    *best = now;
    memcpy(picks, tried, size);
  }
  return NULL;
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
  if (!c->model.chooses_again) {
    memcpy(tried, picks, size);
    ZB_TRY(fit_rung(c, bytes, tried, picks, &best));
  }
  *out_found = best.above == 0;
  return NULL;
}

/* One pick on all ranks: the choices that do without a ladder. */
static zb_status add_uniform(chooser *c, zb_pick *picks) {
  for (int l = 0; l < c->model.levels; ++l)
    for (int which = 0; which <= (c->model.chooses_in_b ? ZB_IN_B_ALL : ZB_IN_B_NONE); ++which) {
      zb_outlook now;
      set_all(c, (zb_pick){l, c->model.level[l].plain[which]}, picks);
      ZB_TRY(zb_picks_look(&c->model, picks, 0, &now));
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
  ZB_TRY(zb_picks_look(&c->model, picks, 0, &now));
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
  ZB_TRY(zb_picks_choice(&c->model, picks, &choice));
  zb_status status = zb_search_below(c->search, c->row, asked, &choice, &found);
  zb_choice_deinit(&choice);
  *out = found.candidate;
  return status;
}

static zb_status try_plan(chooser *c, const zb_pick *picks, const zb_candidate **out) {
  ZB_TRY(judge(c, c->asked, picks, out));
  if (c->best && !zb_candidate_is_better(*out, c->best, c->limit)) return NULL;
  c->best = *out;
  memcpy(c->best_picks, picks, (size_t)c->ranks * sizeof *picks);
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
  zb_picks_peaks(&c->model, c->plain, peak);
  for (int r = 0; r < c->ranks; ++r)
    c->model.besides[r] = modelled->bytes[r] - peak[r];
  ZB_TRY(zb_picks_look(&c->model, c->plain, 0, &model));
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
  const double least = c->model.searches ? c->plan_to_model / searched_margin : 1;
  return is_within(c) ? (double)c->best->step_ps / least : INFINITY;
}

static bool is_too_slow(const chooser *c, int64_t step_ps) { return (double)step_ps >= longest(c); }

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
  const zb_candidate *plan;
  sort(c, compare_steps);
  for (size_t i = 0; i < c->choices.count && !is_too_slow(c, c->choices.items[i].model.step_ps); ++i)
    if (may_fit(c, &c->choices.items[i]) || c->choices.items[i].is_small)
      ZB_TRY(try_plan(c, c->choices.items[i].picks, &plan));
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
  const zb_candidate *plan;
  for (size_t i = 0; i < c->choices.count; ++i)
    c->choices.items[i].model.step_ps = zb_picks_bound(&c->model, c->choices.items[i].picks, c->limit);
  while ((next = most_promising(c)) && !is_too_slow(c, next->model.step_ps) && zb_judge_pays(&c->search->judge)) {
    if (next->state == CHOICE_NEW) {
      next->state = CHOICE_LOOKED_AT;
      ZB_TRY(zb_picks_look_within(&c->model, next->picks, c->limit, longest(c), &next->model));
      continue;
    }
    next->state = CHOICE_DONE;
    if (may_fit(c, next)) ZB_TRY(try_plan(c, next->picks, &plan));
  }
  for (size_t i = 0; i < c->choices.count && !is_within(c); ++i)
    if (c->choices.items[i].is_small) ZB_TRY(try_plan(c, c->choices.items[i].picks, &plan));
  return NULL;
}

/* Nothing computed again comes first where it fits: what the model says of it within the limit is for another order. */
static zb_status compare_plans(chooser *c) {
  const zb_candidate *plan;
  if (zb_candidate_fits(c->plain_plan, c->limit)) ZB_TRY(try_plan(c, c->plain, &plan));
  mark_small(c);
  return c->model.searches ? compare_searched(c) : compare_by_model(c);
}

/* ---- Gradients alone, for a rule ---- */

/* Bytes for which gradients of a rank are chosen. What a plan takes beside what the model counts (packing, messages
 * under way) differs by some per mille from choice to choice, so the best number is between one that was within the
 * memory and one that was not. */
typedef struct allotment {
  int64_t next, peak, within, above; /* peak: of what was chosen for `next`; within: -1, above: INT64_MAX: none yet */
} allotment;

/* The next number to try after a plan that takes `arena`; false: the same again, or as near as it pays. */
static bool adjust(allotment *a, int64_t arena, int64_t bytes) {
  const int64_t tried = a->next, left = bytes - (arena - a->peak);
  if (arena <= bytes && tried > a->within) a->within = tried;
  if (arena > bytes && tried < a->above) a->above = tried;
  a->next = left;
  if (a->within >= a->above) a->within = -1; /* of another order */
  if (a->within >= 0 && a->above < INT64_MAX) {
    a->next = a->within + (a->above - a->within) / 2;
    if (a->above - a->within <= bytes / 1000) a->next = a->within;
  } else if (arena <= bytes && a->next < tried) {
    a->next = tried;
  } else if (arena > bytes && a->next >= tried) {
    a->next = tried - 1;
  }
  return a->next != tried;
}

/* Gradients as the allotments ask for, in the order that they have themselves. *out_fits: in what is allotted. */
static zb_status fit(chooser *c, allotment *ranks, int64_t *bytes, zb_pick *picks, zb_outlook *now, bool *out_fits) {
  enum { FITS = 2 };
  uint64_t before = 0, order = zb_order_digest(0, &c->model.order);
  for (int r = 0; r < c->ranks; ++r)
    bytes[r] = ranks[r].next;
  for (int i = 0; i < FITS && order != before; ++i) {
    before = order;
    ZB_TRY(zb_picks_fit(&c->model, bytes, picks));
    ZB_TRY(zb_picks_look(&c->model, picks, 0, now));
    order = zb_order_digest(0, &c->model.order);
  }
  zb_picks_peaks(&c->model, picks, c->peak);
  *out_fits = true;
  for (int r = 0; r < c->ranks; ++r) {
    ranks[r].peak = c->peak[r];
    *out_fits &= c->peak[r] <= bytes[r];
  }
  return NULL;
}

/* A look with little work says which rungs cannot be better, by far. */
static zb_status fit_well(chooser *c, allotment *ranks, int64_t *bytes, zb_pick *picks, zb_outlook *now,
                          bool *out_fits) {
  const double far_from_it = 1.01;
  c->model.fit_work = FIT_WORK_QUICK;
  ZB_TRY(fit(c, ranks, bytes, picks, now, out_fits));
  if ((double)now->step_ps >= far_from_it * longest(c)) return NULL;
  c->model.fit_work = FIT_WORK;
  return fit(c, ranks, bytes, picks, now, out_fits);
}

/* Plans with as little in B as keeps every rank within the bytes, each by what the last one took beside the
 * model's. *most: of the fullest rank, by the model of the first; INT64_MAX: it does not fit. */
static zb_status fit_plans(chooser *c, int64_t bytes, int64_t *most) {
  enum { PLANS = 8 };
  allotment *ranks = ZB_NEW(&c->arena, allotment, c->ranks);
  int64_t *limits = ZB_NEW(&c->arena, int64_t, c->ranks);
  zb_pick *picks = ZB_NEW(&c->arena, zb_pick, c->ranks);
  zb_outlook now;
  bool goes_on = true, fits;
  ZB_TRY(zb_arena_status(&c->arena));
  for (int r = 0; r < c->ranks; ++r)
    ranks[r] = (allotment){.next = bytes, .within = -1, .above = INT64_MAX};
  ZB_TRY(zb_picks_look(&c->model, picks, bytes, &now));
  for (int i = 0; i < PLANS && goes_on; ++i) {
    const zb_candidate *plan;
    ZB_TRY((i == 0 ? fit_well : fit)(c, ranks, limits, picks, &now, &fits));
    if (i == 0) *most = fits ? now.most : INT64_MAX;
    if (is_too_slow(c, now.step_ps)) return NULL;
    ZB_TRY(try_plan(c, picks, &plan));
    if (!plan->exists || (i == 0 && !fits && plan->most > bytes + bytes / 8)) return NULL;
    goes_on = false;
    for (int r = 0; r < c->ranks; ++r)
      goes_on |= adjust(&ranks[r], plan->bytes[r], bytes);
  }
  return NULL;
}

/* The rungs from the limit down. Where none is better for a while, only those of a coarser ladder. A rung for which
 * nothing else comes of the gradients than for the last one is left out. */
static zb_status fit_rungs(chooser *c) {
  enum { LIMIT_RUNGS = 256, FAR_RUNGS = 8, MISSES = 8 };
  int64_t bytes = zb_level_within(c->limit, LIMIT_RUNGS), most = 0;
  for (int misses = 0; bytes > 0 && most < INT64_MAX; ++misses) {
    const zb_candidate *before = c->best;
    ZB_TRY(fit_plans(c, bytes, &most));
    if (c->best != before) misses = 0;
    bytes = zb_level_below(most < bytes ? most : bytes, misses < MISSES ? LIMIT_RUNGS : FAR_RUNGS);
  }
  return NULL;
}

static zb_status choose_in_b(chooser *c) {
  const zb_candidate *plan;
  for (int which = ZB_IN_B_NONE; which <= ZB_IN_B_ALL; ++which) {
    zb_pick *own = ZB_NEW(&c->arena, zb_pick, c->ranks);
    ZB_TRY(zb_arena_status(&c->arena));
    set_all(c, (zb_pick){0, c->model.level[0].plain[which]}, own);
    ZB_TRY(try_plan(c, own, &plan));
  }
  if (plan->most > c->limit + c->limit / 8) return NULL; /* what takes least, but for the workspace of B */
  return fit_rungs(c);
}

/* ---- Gradients alone, for a rule that keeps a limit ---- */

/* Gradients for the order that the schedule has without a limit, then for that within the bytes: the fewer frames a
 * micro-batch keeps, the more of them are under way. */
static zb_status fit_adaptive(chooser *c, int64_t bytes) {
  enum { FITS = 3 };
  zb_pick *picks = ZB_NEW(&c->arena, zb_pick, c->ranks);
  bool found = true;
  ZB_TRY(zb_arena_status(&c->arena));
  for (int i = 0; i < FITS && found; ++i) {
    const zb_outlook unknown = {0};
    for (int r = 0; r < c->ranks; ++r)
      c->peak[r] = bytes;
    ZB_TRY(zb_picks_fit_within(&c->model, i > 0 ? bytes : 0, c->peak, picks, &found));
    if (found) ZB_TRY(add_choice(c, picks, &unknown));
  }
  return NULL;
}

static zb_status choose_adaptive(chooser *c) {
  enum { ADAPTIVE_RUNGS = 32 };
  zb_pick *picks = ZB_NEW(&c->arena, zb_pick, c->ranks);
  ZB_TRY(zb_arena_status(&c->arena));
  ZB_TRY(add_uniform(c, picks));
  c->uniform = (int)c->choices.count;
  int64_t bytes = zb_level_within(c->limit + c->limit / 2, ADAPTIVE_RUNGS);
  for (; bytes > c->limit - c->limit / 4; bytes = zb_level_below(bytes, ADAPTIVE_RUNGS))
    ZB_TRY(fit_adaptive(c, bytes));
  return compare_plans(c);
}

/* ---- Gradients alone, for a search ---- */

/* The best plan's order needs no more in B than fits it; with less the search may find a better one. */
static zb_status refine(chooser *c) {
  enum { TRIES = 4 };
  zb_pick *picks = ZB_NEW(&c->arena, zb_pick, c->ranks);
  const zb_candidate *plan = c->best;
  ZB_TRY(zb_arena_status(&c->arena));
  for (int i = 0; i < TRIES && is_within(c) && plan == c->best && zb_judge_pays(&c->search->judge); ++i) {
    const zb_order before = c->model.order;
    memcpy(picks, c->best_picks, (size_t)c->ranks * sizeof *picks);
    for (int r = 0; r < c->ranks; ++r)
      c->peak[r] = c->limit;
    c->model.order = c->best->choice.order;
    zb_status status = zb_picks_fit(&c->model, c->peak, picks);
    c->model.order = before;
    if (!status) status = try_plan(c, picks, &plan);
    ZB_TRY(status);
  }
  return NULL;
}

/* ---- A bound ---- */

/* The model of a choice, which bounds follow from, must be that of its plan: the same times of jobs (a job without ops
 * takes a picosecond), and no more memory. It is not where whole jobs were measured. */
static bool is_as_modelled(const chooser *c, const zb_split_problem *split) {
  for (int s = 0; s < c->model.stages; ++s) {
    const zb_stage_cost cost = zb_split_cost(split, s);
    for (int kind = 0; kind < ZB_KIND_COUNT; ++kind)
      if (llabs(cost.time_ps[kind] - c->best->costs[s].time_ps[kind]) > 1) return false;
  }
  for (int r = 0; r < c->ranks; ++r)
    if (zb_split_peak(split, r) > c->best->bytes[r]) return false;
  return true;
}

static void set_rank(chooser *c, int rank, const bool *in_b) {
  zb_w_groups *w = &c->model.level[0].w;
  for (int g = 0; g < w->group_count; ++g)
    if (c->model.stage_rank[w->groups[g].stage] == rank) zb_w_group_set(w, g, in_b[g]);
}

static void set_best(chooser *c) {
  for (int r = 0; r < c->ranks; ++r)
    set_rank(c, r, zb_picked_share(&c->model, c->best_picks[r])->in_b);
}

/* From what would be fastest: ranks that make the step no longer with what the best plan has keep that, for it is known
 * to fit. */
static zb_status keep_ranks(chooser *c, const zb_split_problem *split) {
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

/* Plans what would be faster by the model. Ranks that are over the limit with it refuse that. *out_goes_on: something
 * was refused, or is better. */
static zb_status refute(chooser *c, zb_split_problem *split, bool *out_goes_on) {
  const zb_candidate *best = c->best, *plan;
  zb_pick *picks = ZB_NEW(&c->arena, zb_pick, c->ranks);
  ZB_TRY(zb_arena_status(&c->arena));
  ZB_TRY(keep_ranks(c, split));
  for (int r = 0; r < c->ranks; ++r)
    ZB_TRY(zb_picks_of_groups(&c->model, r, &picks[r]));
  ZB_TRY(try_plan(c, picks, &plan));
  *out_goes_on = c->best != best;
  for (int r = 0; r < c->ranks && plan->exists; ++r) {
    if (plan->bytes[r] <= c->limit) continue;
    *out_goes_on = true;
    const zb_split_refusal refusal = {r, zb_picked_share(&c->model, picks[r])->in_b};
    (void)ZB_PUSH(&c->arena, &c->refusals, refusal);
  }
  return zb_arena_status(&c->arena);
}

/* The least step of the order of the best plan with any gradients in B: what would be faster is compiled, until nothing
 * is left, which proves the best plan the best of its order, or plans run out. */
static zb_status find_bound(chooser *c, zb_ladder_found *out) {
  enum { PLANS = 24, SIZE = 4096 };
  zb_level *level = &c->model.level[0];
  zb_split_problem split = {.w = &level->w, .memory = &level->memory, .problem = &level->problem.problem};
  const int64_t size = level->graph.node_count + (int64_t)c->model.stages * split.problem->micro_batches;
  int plans = c->model.searches ? 0 : size > SIZE ? (int)(PLANS * SIZE / size) : PLANS;
  int64_t own, work = BOUND_JOBS;
  bool goes_on = true;
  if (c->model.stages != c->ranks || c->asked->metric != ZB_METRIC_BARRIER) return NULL;
  for (; goes_on; --plans) {
    split.order = &c->best->choice.order;
    split.refusals = c->refusals.items;
    split.refusal_count = (int)c->refusals.count;
    set_best(c);
    if (!is_within(c) || !is_as_modelled(c, &split)) return NULL;
    ZB_TRY(zb_split_step(&split, &own));
    ZB_TRY(zb_split_shortest(&split, c->limit, &work, &out->bound_ps));
    out->is_proven = out->bound_ps >= own;
    if (out->is_proven) out->bound_ps = c->best->step_ps;
    if (out->is_proven || !out->bound_ps || plans < 1) return NULL;
    ZB_TRY(refute(c, &split, &goes_on));
  }
  return NULL;
}

static zb_status choose(chooser *c, const zb_choice *above, zb_ladder_found *out) {
  const zb_candidate *plan;
  ZB_TRY(zb_pick_model_init(c->search, c->asked, above, &c->model));
  c->ranks = c->model.ranks;
  c->plain = ZB_NEW(&c->arena, zb_pick, c->ranks);
  c->peak = ZB_NEW(&c->arena, int64_t, c->ranks);
  c->best_picks = ZB_NEW(&c->arena, zb_pick, c->ranks);
  ZB_TRY(zb_arena_status(&c->arena));
  ZB_TRY(zb_pick_model_build(&c->model));
  ZB_TRY(find_plain(c));
  ZB_TRY(find_good(c));
  c->model.fit_work = FIT_WORK_QUICK;
  if (!c->model.chooses_again && !c->model.searches) {
    ZB_TRY(choose_in_b(c));
  } else if (!c->model.chooses_again && !c->asked->searches) {
    ZB_TRY(choose_adaptive(c));
  } else {
    ZB_TRY(find_choices(c));
    ZB_TRY(compare_plans(c));
    if (!c->model.chooses_again) ZB_TRY(refine(c));
  }
  if (!c->best) ZB_TRY(try_plan(c, c->plain, &plan));
  out->best = c->best;
  out->plain = c->plain_plan;
  return c->model.chooses_again ? NULL : find_bound(c, out);
}

zb_status zb_ladder_choose(zb_choice_search *search, const zb_move *row, const zb_asked *asked, const zb_choice *above,
                           int64_t limit, zb_ladder_found *out) {
  *out = (zb_ladder_found){0};
  chooser c = {.search = search, .row = row, .asked = asked, .limit = limit};
  zb_status status = choose(&c, above, out);
  zb_pick_model_deinit(&c.model);
  zb_arena_deinit(&c.arena);
  return status;
}
