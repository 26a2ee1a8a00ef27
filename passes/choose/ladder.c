/* A ladder of bytes: see passes/choose/ladder.h. Test: test/e2e/recompute.py. */

#include "passes/choose/ladder.h"

#include "passes/choose/levels.h"

#include <string.h>

enum {
  RUNGS = 128, /* where bytes double; */
  SEARCHED_RUNGS = 64,
  RUNG_JOBS = 400000, /* that may be simulated for a rung; */
  JOBS = 16000000     /* for all */
};

/* What a pick costs a rank. */
typedef struct weight {
  zb_pick pick;
  int64_t bytes, b_ps, all_ps; /* bytes: in the order of the model's beginning */
} weight;

typedef struct ladder {
  zb_chooser *c;
  zb_pick_model *model;
  weight **good; /* [ranks]: picks that no other of the rank is better than in bytes and in times */
  int *good_count;
} ladder;

/* ---- Picks ---- */

static weight weigh(const ladder *l, int rank, zb_pick pick) {
  const zb_share *share = zb_picked_share(l->model, pick);
  weight w = {.pick = pick, .bytes = share->peak[rank]};
  for (int s = 0; s < l->model->stages; ++s) {
    if (l->model->stage_rank[s] != rank) continue;
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

/* Of what the model begins with. */
static zb_status find_good(ladder *l) {
  zb_arena *arena = &l->c->arena;
  const int ranks = l->model->ranks, levels = l->model->levels;
  zb_pick *picks = ZB_NEW(arena, zb_pick, ranks);
  ZB_LIST(zb_pick) all = {0};
  ZB_TRY(zb_arena_status(arena));
  for (int level = 0; level < levels; ++level)
    for (int share = 0; share < (int)l->model->level[level].shares.count; ++share) {
      const zb_pick pick = {level, share};
      zb_chooser_set_all(l->c, pick, picks);
      zb_picks_peaks(l->model, picks, zb_picked_share(l->model, pick)->peak);
      (void)ZB_PUSH(arena, &all, pick);
    }
  weight *weights = ZB_NEW(arena, weight, all.count);
  ZB_TRY(zb_arena_status(arena));
  for (int r = 0; r < ranks; ++r) {
    l->good[r] = ZB_NEW(arena, weight, all.count);
    ZB_TRY(zb_arena_status(arena));
    for (size_t i = 0; i < all.count; ++i)
      weights[i] = weigh(l, r, all.items[i]);
    for (int i = 0; i < (int)all.count; ++i)
      if (is_good(weights, (int)all.count, i)) l->good[r][l->good_count[r]++] = weights[i];
  }
  return NULL;
}

/* ---- Climbing ---- */

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
static zb_status improve_rank(ladder *l, int rank, int64_t bytes, int64_t jobs, zb_pick *picks, zb_outlook *now) {
  zb_pick best = picks[rank];
  for (int i = 0; i < l->good_count[rank] && l->model->jobs < jobs; ++i) {
    zb_outlook next;
    const weight at = weigh(l, rank, best);
    if (!may_help(&l->good[rank][i], &at, bytes, now->above == 0)) continue;
    picks[rank] = l->good[rank][i].pick;
    ZB_TRY(zb_picks_look(l->model, picks, bytes, &next));
    if (!is_better_outlook(&next, now)) continue;
    *now = next;
    best = picks[rank];
  }
  picks[rank] = best;
  return NULL;
}

/* Improves picks for so many bytes on each rank, rank after rank, until no rank finds a better one. */
static zb_status improve(ladder *l, int64_t bytes, zb_pick *picks, zb_outlook *now) {
  const int64_t jobs = l->model->jobs + RUNG_JOBS < JOBS ? l->model->jobs + RUNG_JOBS : JOBS;
  zb_outlook before;
  ZB_TRY(zb_picks_look(l->model, picks, bytes, now));
  do {
    before = *now;
    for (int r = l->model->ranks - 1; r >= 0; --r)
      ZB_TRY(improve_rank(l, r, bytes, jobs, picks, now));
  } while (is_better_outlook(now, &before) && l->model->jobs < jobs);
  return NULL;
}

/* For each rank what takes it least time of what keeps the bytes, up to a level; else what takes fewest bytes. */
static void fit_each(const ladder *l, int64_t bytes, int level, zb_pick *picks) {
  for (int r = 0; r < l->model->ranks; ++r) {
    const weight *best = NULL;
    for (int i = 0; i < l->good_count[r]; ++i) {
      const weight *next = &l->good[r][i];
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

/* Gradients as exactly as the bytes ask for, in the order that the best picks have; *best stays the best. */
static zb_status fit_rung(ladder *l, int64_t bytes, zb_pick *tried, zb_pick *picks, zb_outlook *best) {
  const size_t size = (size_t)l->model->ranks * sizeof *picks;
  zb_outlook now;
  memcpy(tried, picks, size);
  for (int r = 0; r < l->model->ranks; ++r)
    l->c->bytes[r] = bytes;
  ZB_TRY(zb_picks_look(l->model, tried, bytes, &now));
  ZB_TRY(zb_picks_fit(l->model, l->c->bytes, tried));
  ZB_TRY(zb_picks_look(l->model, tried, bytes, &now));
  if (now.above == 0) ZB_TRY(zb_chooser_add(l->c, tried, &now, 0));
  if (!is_better_outlook(&now, best)) return NULL;
  *best = now;
  memcpy(picks, tried, size);
  return NULL;
}

/* From what the rung above has, and from what each rank needs by itself, without and with computing again. *picks:
 * those of the rung above, then the best of this one; *out_found: within the bytes. */
static zb_status climb_rung(ladder *l, int64_t bytes, zb_pick *picks, bool *out_found) {
  enum { FROM_PLAIN, FROM_EACH, FROM_ABOVE, STARTS };
  const size_t size = (size_t)l->model->ranks * sizeof *picks;
  zb_outlook best = {.above = INT64_MAX}, now;
  zb_pick *above = ZB_NEW(&l->c->arena, zb_pick, l->model->ranks),
          *tried = ZB_NEW(&l->c->arena, zb_pick, l->model->ranks);
  ZB_TRY(zb_arena_status(&l->c->arena));
  memcpy(above, picks, size);
  for (int from = 0; from < (l->model->keeps_limit ? FROM_ABOVE : STARTS); ++from) {
    memcpy(tried, above, size);
    if (from != FROM_ABOVE) fit_each(l, bytes, from == FROM_PLAIN ? 0 : l->model->levels - 1, tried);
    ZB_TRY(improve(l, bytes, tried, &now));
    if (now.above == 0) ZB_TRY(zb_chooser_add(l->c, tried, &now, 0));
    if (!is_better_outlook(&now, &best)) continue;
    best = now;
    memcpy(picks, tried, size);
  }
  if (l->model->chooses_in_b) ZB_TRY(fit_rung(l, bytes, tried, picks, &best));
  *out_found = best.above == 0;
  return NULL;
}

/* Where orders are searched, rungs far above the limit are left out: there none begins with the one above. */
static zb_status find_choices(ladder *l) {
  zb_pick *picks = ZB_NEW(&l->c->arena, zb_pick, l->model->ranks);
  zb_outlook now;
  bool found = true;
  ZB_TRY(zb_arena_status(&l->c->arena));
  ZB_TRY(zb_picks_look(l->model, picks, 0, &now));
  const int rungs = l->model->keeps_limit ? SEARCHED_RUNGS : RUNGS;
  int64_t bytes = now.most;
  if (l->model->keeps_limit && l->c->limit + l->c->limit / 2 < bytes) bytes = l->c->limit + l->c->limit / 2;
  while (found && (bytes = zb_level_below(bytes, rungs)) > 0)
    ZB_TRY(climb_rung(l, bytes, picks, &found));
  return NULL;
}

zb_status zb_ladder_find(zb_chooser *chooser) {
  ladder l = {.c = chooser,
              .model = &chooser->model,
              .good = ZB_NEW(&chooser->arena, weight *, chooser->ranks),
              .good_count = ZB_NEW(&chooser->arena, int, chooser->ranks)};
  ZB_TRY(zb_arena_status(&chooser->arena));
  ZB_TRY(find_good(&l));
  ZB_TRY(zb_chooser_add_uniform(chooser));
  return find_choices(&l);
}
