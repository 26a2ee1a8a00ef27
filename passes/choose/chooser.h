/* Chooses picks (pick_model.h) for a memory limit: choices that may be good come from a ladder (ladder.h) or from
 * fitting gradients (fit.h); what is here compares them by their plans.
 *
 * The model's step is never longer than that of the plan, which has the same order of jobs. So what is left out by it
 * is no faster than a plan that fits, and choices that do not depend on the limit make a step no longer with more
 * memory. For a schedule that looks for an order within the limit the model has one searched for each choice whose
 * lower bound is below the best plan so far, and the choice that promises the shortest step is judged next.
 */
#pragma once

#include "passes/choose/pick_model.h"

typedef struct zb_picked {
  zb_pick *picks; /* [ranks] */
  zb_outlook model;
  int64_t bytes; /* that it was made for; 0: for none */
  int number;
  bool is_small;                                                     /* of the smallest ones */
  enum { ZB_PICKED_NEW, ZB_PICKED_LOOKED_AT, ZB_PICKED_DONE } state; /* where orders are searched */
} zb_picked;

typedef struct zb_chooser {
  zb_choice_search *search;
  const zb_move *row; /* what is below it decides the rest */
  const zb_asked *asked;
  zb_pick_model model;
  zb_arena arena;
  int ranks;
  int64_t limit; /* bytes of the fullest rank */
  ZB_LIST(zb_picked) choices;
  int uniform;                           /* so many of the first choices have one pick on all ranks */
  zb_pick *plain;                        /* [ranks] nothing computed again that is to choose, nothing in B */
  const zb_candidate *plain_plan, *best; /* plain_plan: without a limit; best: NULL: none yet */
  zb_pick *best_picks;                   /* [ranks] */
  int64_t *bytes;                        /* [ranks] for short use: limits, or peaks of a look */
  double plan_to_model;                  /* step of the plan in that of the model */
} zb_chooser;

/* What is to choose below a row. Release with zb_chooser_deinit, after a failure too. MEMORY, and the failures of
 * passes. */
zb_status zb_chooser_init(zb_choice_search *search, const zb_move *row, const zb_asked *asked, const zb_choice *above,
                          int64_t limit, zb_chooser *out) ZB_MUST_USE;
void zb_chooser_deinit(zb_chooser *c);

/* One pick on all ranks. */
void zb_chooser_set_all(const zb_chooser *c, zb_pick pick, zb_pick *picks);

/* A choice to compare, made for so many bytes (0: for none), unless it is there already. MEMORY. */
zb_status zb_chooser_add(zb_chooser *c, const zb_pick *picks, const zb_outlook *model, int64_t bytes) ZB_MUST_USE;
/* Those with one pick on all ranks: they come first. MEMORY. */
zb_status zb_chooser_add_uniform(zb_chooser *c) ZB_MUST_USE;

/* Those with equal parts on all ranks. MEMORY. */
zb_status zb_chooser_add_parts(zb_chooser *c) ZB_MUST_USE;

/* Has the plan of picks made; it is best if it is better. The failures of passes. */
zb_status zb_chooser_try(zb_chooser *c, const zb_pick *picks, const zb_candidate **out) ZB_MUST_USE;
/* Tries the choices, as far as they may be the best. */
zb_status zb_chooser_compare(zb_chooser *c) ZB_MUST_USE;

/* The best plan is within the limit. */
bool zb_chooser_is_within(const zb_chooser *c);
/* No plan of a choice whose model has such a step, or a longer one, is faster than the best one. */
double zb_chooser_longest(const zb_chooser *c);
bool zb_chooser_is_too_slow(const zb_chooser *c, int64_t step_ps);
