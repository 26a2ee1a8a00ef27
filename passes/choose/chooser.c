/* Choosing picks: see passes/choose/chooser.h. Tests: test/e2e/recompute.py, test/e2e/split.py. */

#include "passes/choose/chooser.h"

#include "passes/choose/levels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PLANS_SMALL = 6 }; /* of the smallest choices, which are compiled whatever the model says of their bytes */
/* Where orders are searched; else the model's step is a bound of the plan's. */
static const double searched_margin = 1.002, bytes_margin = 1.02;

/* ---- Choices ---- */

void zb_chooser_set_all(const zb_chooser *c, zb_pick pick, zb_pick *picks) {
  for (int r = 0; r < c->ranks; ++r)
    picks[r] = pick;
}

zb_status zb_chooser_add(zb_chooser *c, const zb_pick *picks, const zb_outlook *model, int64_t bytes) {
  const size_t size = (size_t)c->ranks * sizeof *picks;
  for (size_t i = 0; i < c->choices.count; ++i)
    if (memcmp(c->choices.items[i].picks, picks, size) == 0) return NULL;
  const zb_picked new = {
      .picks = ZB_NEW(&c->arena, zb_pick, c->ranks), .model = *model, .bytes = bytes, .number = (int)c->choices.count};
  if (new.picks) memcpy(new.picks, picks, size);
  (void)ZB_PUSH(&c->arena, &c->choices, new);
  return zb_arena_status(&c->arena);
}

zb_status zb_chooser_add_uniform(zb_chooser *c) {
  zb_pick *picks = ZB_NEW(&c->arena, zb_pick, c->ranks);
  ZB_TRY(zb_arena_status(&c->arena));
  for (int l = 0; l < c->model.levels; ++l)
    for (int which = 0; which <= (c->model.chooses_in_b ? ZB_IN_B_ALL : ZB_IN_B_NONE); ++which) {
      zb_outlook now;
      zb_chooser_set_all(c, (zb_pick){l, c->model.level[l].plain[which]}, picks);
      ZB_TRY(zb_picks_look(&c->model, picks, 0, &now));
      ZB_TRY(zb_chooser_add(c, picks, &now, 0));
    }
  c->uniform = (int)c->choices.count;
  return NULL;
}

zb_status zb_chooser_add_parts(zb_chooser *c) {
  const zb_outlook unknown = {0};
  zb_pick *picks = ZB_NEW(&c->arena, zb_pick, c->ranks);
  ZB_TRY(zb_arena_status(&c->arena));
  for (int l = 0; l < c->model.levels; ++l)
    for (int share = 0; share < (int)c->model.level[l].shares.count; ++share) {
      zb_chooser_set_all(c, (zb_pick){l, share}, picks);
      ZB_TRY(zb_chooser_add(c, picks, &unknown, 0));
    }
  return NULL;
}

/* ---- Plans ---- */

static zb_status judge(zb_chooser *c, const zb_asked *asked, const zb_pick *picks, const zb_candidate **out) {
  zb_choice choice = {0};
  zb_found found = {0};
  ZB_TRY(zb_picks_choice(&c->model, picks, &choice));
  zb_status status = zb_search_below(c->search, c->row, asked, &choice, &found);
  zb_choice_deinit(&choice);
  *out = found.candidate;
  return status;
}

zb_status zb_chooser_try(zb_chooser *c, const zb_pick *picks, const zb_candidate **out) {
  ZB_TRY(judge(c, c->asked, picks, out));
  if (c->best && !zb_candidate_is_better(*out, c->best, c->limit)) return NULL;
  c->best = *out;
  memcpy(c->best_picks, picks, (size_t)c->ranks * sizeof *picks);
  return NULL;
}

/* The plan of nothing without a limit; and what plans take beside base and frames, and by how much their steps are
 * longer, by the plan that has the order of the model. */
static zb_status find_plain(zb_chooser *c) {
  zb_asked unlimited = *c->asked;
  zb_outlook model;
  const zb_candidate *modelled;
  unlimited.limit = 0;
  ZB_TRY(judge(c, &unlimited, c->plain, &c->plain_plan));
  modelled = c->plain_plan;
  if (c->model.keeps_limit && c->model.has_rule) ZB_TRY(judge(c, &c->model.rule, c->plain, &modelled));
  if (!modelled->exists) return NULL;
  zb_picks_peaks(&c->model, c->plain, c->bytes);
  for (int r = 0; r < c->ranks; ++r)
    c->model.besides[r] = modelled->bytes[r] - c->bytes[r];
  ZB_TRY(zb_picks_look(&c->model, c->plain, 0, &model));
  c->plan_to_model = (double)modelled->step_ps / (double)model.step_ps;
  return NULL;
}

/* ---- Choosing ---- */

static int compare_steps(const void *a, const void *b) {
  const zb_picked *x = a, *y = b;
  if (x->model.step_ps != y->model.step_ps) return x->model.step_ps < y->model.step_ps ? -1 : 1;
  return x->number - y->number;
}

static int compare_bytes(const void *a, const void *b) {
  const zb_picked *x = a, *y = b;
  if (x->model.most != y->model.most) return x->model.most < y->model.most ? -1 : 1;
  return x->number - y->number;
}

static void sort(zb_chooser *c, int (*compare)(const void *, const void *)) {
  qsort(c->choices.items, c->choices.count, sizeof *c->choices.items, compare);
}

bool zb_chooser_is_within(const zb_chooser *c) { return c->best && zb_candidate_fits(c->best, c->limit); }

double zb_chooser_longest(const zb_chooser *c) {
  const double least = c->model.keeps_limit ? c->plan_to_model / searched_margin : 1;
  return zb_chooser_is_within(c) ? (double)c->best->step_ps / least : INFINITY;
}

bool zb_chooser_is_too_slow(const zb_chooser *c, int64_t step_ps) { return (double)step_ps >= zb_chooser_longest(c); }

/* The smallest of all, and of those with one pick: where orders are searched others depend on the limit, and what an
 * error says to be enough must be there for that limit, too. */
static void mark_small(zb_chooser *c) {
  sort(c, compare_bytes);
  for (int i = 0, uniform = 0; i < (int)c->choices.count; ++i) {
    zb_picked *it = &c->choices.items[i];
    it->is_small = i < PLANS_SMALL || (it->number < c->uniform && uniform < PLANS_SMALL);
    uniform += it->number < c->uniform;
  }
}

/* Whether a plan within the limit may come of it. */
static bool may_fit(const zb_chooser *c, const zb_picked *it) {
  return it->model.step_ps < INT64_MAX && (double)it->model.most <= bytes_margin * (double)c->limit;
}

/* What is compiled for a limit is compiled for a higher one too, unless it is slower than what that has. */
static zb_status compare_by_model(zb_chooser *c) {
  const zb_candidate *plan;
  sort(c, compare_steps);
  for (size_t i = 0; i < c->choices.count && !zb_chooser_is_too_slow(c, c->choices.items[i].model.step_ps); ++i)
    if (may_fit(c, &c->choices.items[i]) || c->choices.items[i].is_small)
      ZB_TRY(zb_chooser_try(c, c->choices.items[i].picks, &plan));
  return NULL;
}

static zb_picked *most_promising(const zb_chooser *c) {
  zb_picked *best = NULL;
  for (size_t i = 0; i < c->choices.count; ++i) {
    zb_picked *it = &c->choices.items[i];
    if (it->state < ZB_PICKED_DONE && (!best || it->model.step_ps < best->model.step_ps)) best = it;
  }
  return best;
}

/* *best: with the order that the schedule finds within so many bytes, if that is faster. */
static zb_status look_within(zb_chooser *c, const zb_picked *it, int64_t bytes, zb_outlook *best) {
  zb_outlook next;
  ZB_TRY(zb_picks_look_within(&c->model, it->picks, bytes, zb_chooser_longest(c), &next));
  if (next.step_ps < best->step_ps) *best = next;
  return NULL;
}

/* Of a rule that keeps a limit an order for less memory may be the faster one, as it counts without messages: then that
 * for the bytes that the choice was made for counts, or of several below the limit. So does an order for more, whose
 * plan takes less than the model says. */
static zb_status look(zb_chooser *c, zb_picked *it) {
  enum { MORE = 16, RUNGS = 8 };
  it->model = (zb_outlook){.step_ps = INT64_MAX};
  ZB_TRY(look_within(c, it, c->limit, &it->model));
  if (c->asked->searches) return NULL;
  if (it->model.step_ps == INT64_MAX) ZB_TRY(look_within(c, it, c->limit + c->limit / MORE, &it->model));
  if (it->bytes && it->bytes < c->limit && zb_chooser_is_too_slow(c, it->model.step_ps))
    return look_within(c, it, it->bytes, &it->model);
  int64_t bytes = zb_level_within(c->limit, RUNGS);
  for (int i = 0; i < RUNGS && !it->bytes && bytes; ++i, bytes = zb_level_below(bytes, RUNGS))
    ZB_TRY(look_within(c, it, bytes, &it->model));
  return NULL;
}

/* Where orders are searched: the choice that promises most comes next, by its bound until an order has been searched
 * for its model, then by that. The plan of an order may be above the limit, and what the schedule then finds for it is
 * far longer, so it is plans within the limit that end this, and no promise. */
static zb_status compare_searched(zb_chooser *c) {
  zb_picked *next;
  const zb_candidate *plan;
  for (size_t i = 0; i < c->choices.count; ++i)
    c->choices.items[i].model.step_ps = zb_picks_bound(&c->model, c->choices.items[i].picks, c->limit);
  while ((next = most_promising(c)) && !zb_chooser_is_too_slow(c, next->model.step_ps) &&
         zb_judge_pays(&c->search->judge)) {
    if (next->state == ZB_PICKED_NEW) {
      next->state = ZB_PICKED_LOOKED_AT;
      ZB_TRY(look(c, next));
      continue;
    }
    next->state = ZB_PICKED_DONE;
    if (next->model.step_ps < INT64_MAX) ZB_TRY(zb_chooser_try(c, next->picks, &plan));
  }
  for (size_t i = 0; i < c->choices.count && !zb_chooser_is_within(c); ++i)
    if (c->choices.items[i].is_small) ZB_TRY(zb_chooser_try(c, c->choices.items[i].picks, &plan));
  return NULL;
}

/* Nothing computed again comes first where it fits: what the model says of it within the limit is for another order. */
zb_status zb_chooser_compare(zb_chooser *c) {
  const zb_candidate *plan;
  if (zb_candidate_fits(c->plain_plan, c->limit)) ZB_TRY(zb_chooser_try(c, c->plain, &plan));
  mark_small(c);
  return c->model.keeps_limit ? compare_searched(c) : compare_by_model(c);
}

/* ---- All ---- */

zb_status zb_chooser_init(zb_choice_search *search, const zb_move *row, const zb_asked *asked, const zb_choice *above,
                          int64_t limit, zb_chooser *out) {
  *out = (zb_chooser){.search = search, .row = row, .asked = asked, .limit = limit};
  ZB_TRY(zb_pick_model_init(search, asked, above, &out->model));
  out->ranks = out->model.ranks;
  out->plain = ZB_NEW(&out->arena, zb_pick, out->ranks);
  out->bytes = ZB_NEW(&out->arena, int64_t, out->ranks);
  out->best_picks = ZB_NEW(&out->arena, zb_pick, out->ranks);
  ZB_TRY(zb_arena_status(&out->arena));
  ZB_TRY(zb_pick_model_build(&out->model));
  return find_plain(out);
}

void zb_chooser_deinit(zb_chooser *c) {
  zb_pick_model_deinit(&c->model);
  zb_arena_deinit(&c->arena);
}
