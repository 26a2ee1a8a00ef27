/* The search for a choice: what is open of it is decided one decision after the other.
 *
 * Each kind of decision is a row of moves.def, a file in moves/. A row gives what is above it, as far as that is
 * decided, to what is below it, with one alternative after the other of its own, and keeps the best. The last row is
 * the order, which makes a plan. So all compare plans, by zb_candidate_is_better alone, and a row that nobody left open
 * costs nothing: the pass decides it by its option.
 */
#pragma once

#include "passes/choose/judge.h"

/* What a row has found. The facts are 0 where nobody asked for them. */
typedef struct zb_found {
  const zb_candidate *candidate;                 /* NULL: nothing was tried */
  int64_t split_ps, split_bytes, split_bound_ps; /* the plan with all gradients in W; zb_compile_summary says more */
  bool split_is_proven;
  int64_t none_ps, none_bytes; /* the plan with nothing computed again */
} zb_found;

typedef struct zb_choice_search {
  zb_plan_judge judge;
  const zb_asked *given;
  const zb_candidate *best; /* the best within the limit so far; NULL: none yet */
  zb_map *known;            /* of what was asked -> its index in answers */
  ZB_LIST(zb_found) answers;
  double slack; /* what is slower than the best by more than that factor need not be the best of its kind */
  int cuts_tried;
  bool says_why;    /* the search has ended without a plan: a row says what would be enough */
  int64_t first_ps; /* the step before other cuts were tried; INT64_MAX: there was no plan */
} zb_choice_search;

/* A kind of decision. */
typedef struct zb_move {
  unsigned decision; /* ZB_CHOICE_CUTS, .. */
  bool (*is_open)(const zb_asked *asked);
  /* above: what is decided; *out: the best of all alternatives. MEMORY, IO and the like; that there is no plan is a
   * candidate. */
  zb_status (*decide)(zb_choice_search *search, const zb_asked *asked, const zb_choice *above, zb_found *out);
} zb_move;

#define ZB_MOVE(name) extern const zb_move zb_move_##name;
#include "passes/choose/moves.def"
#undef ZB_MOVE

/* Decides all below a row (NULL: all); what was decided for the same choice before is not decided again. */
zb_status zb_search_below(zb_choice_search *search, const zb_move *row, const zb_asked *asked, const zb_choice *choice,
                          zb_found *out) ZB_MUST_USE;

/* Keeps the better of two, of equal ones the first. */
void zb_found_keep(zb_found *best, const zb_found *other, int64_t limit);

/* A choice for what is given, for the rest of a compile to obey; release with zb_choice_deinit. summary: NULL, or what
 * is noted of the search. INFEASIBLE where a rule has no order within the limit; INTERRUPTED where it was ended before
 * there was a plan (zb_compile_params.searching). Where no plan keeps the limit, the choice is that which needs least:
 * zb-allocate says by how much. */
zb_status zb_choose(const zb_asked *given, zb_choice *out, zb_compile_summary *summary) ZB_MUST_USE;
