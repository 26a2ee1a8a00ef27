/* The search over choices: see passes/choose/search.h. Tests: test/e2e/joint_search.py, test/e2e/choice.py. */

#include "passes/choose/search.h"

#include "passes/choose/bound.h"
#include "passes/graph.h"
#include "runtime/base/digest.h"

#include <math.h>
#include <string.h>

static const zb_move *const moves[] = {
#define ZB_MOVE(name) &zb_move_##name,
#include "passes/choose/moves.def"
#undef ZB_MOVE
};
enum { MOVES = sizeof moves / sizeof moves[0] };

/* ---- One row after the other ---- */

void zb_found_keep(zb_found *best, const zb_found *other, int64_t limit) {
  if (!other->candidate) return;
  if (!best->candidate || zb_candidate_is_better(other->candidate, best->candidate, limit)) *best = *other;
}

/* row: the first that is open. */
static void *question_key(int row, const zb_asked *asked, const zb_choice *choice) {
  return zb_id_key((int64_t)(zb_fnv1a(zb_asked_digest(asked, choice), &row, sizeof row) >> 2));
}

/* Not of what is asked beside: another schedule, or without the limit. */
static void note_best(zb_choice_search *search, const zb_asked *asked, const zb_candidate *found) {
  const zb_asked *given = search->given;
  if (asked->limit != given->limit || asked->rule.schedule != given->rule.schedule) return;
  if (!found || !zb_candidate_fits(found, given->limit)) return;
  if (!search->best || zb_candidate_is_better(found, search->best, given->limit)) search->best = found;
}

zb_status zb_search_below(zb_choice_search *search, const zb_move *row, const zb_asked *asked, const zb_choice *choice,
                          zb_found *out) {
  int at = 0;
  ZB_TRY(zb_asked_goes_on(asked));
  while (row && at < MOVES && moves[at++] != row)
    ;
  while (at < MOVES - 1 && ((choice->decided & moves[at]->decision) || !moves[at]->is_open(asked)))
    ++at;
  void *key = question_key(at, asked, choice);
  const int64_t known = zb_map_get_or(search->known, key, -1);
  *out = (zb_found){0};
  if (known >= 0 && !asked->cuts_are_open) {
    *out = search->answers.items[known];
    return NULL;
  }
  ZB_TRY(moves[at]->decide(search, asked, choice, out));
  note_best(search, asked, out->candidate);
  if (asked->cuts_are_open) return NULL;
  zb_arena_map_set(&search->judge.arena, search->known, key, (int64_t)search->answers.count);
  (void)ZB_PUSH(&search->judge.arena, &search->answers, *out);
  return zb_arena_status(&search->judge.arena);
}

/* ---- The searches that auto must not be slower than ---- */

/* The whole search with less to choose from. What it finds is compared, and so is what all there is to choose from
 * makes of its placement and cuts. */
static zb_status search_without(zb_choice_search *search, const zb_asked *given, const char *split,
                                const char *recompute, zb_found *best) {
  zb_asked without = *given, fixed = *given;
  zb_choice choice = {0};
  zb_found found;
  without.split = split;
  without.recompute = recompute;
  fixed.cuts_are_open = fixed.placement_is_open = false;
  const int64_t first_ps = search->first_ps;
  zb_status status = zb_search_below(search, NULL, &without, &choice, &found);
  search->first_ps = first_ps;
  if (status || !found.candidate || !zb_candidate_fits(found.candidate, given->limit)) return status;
  status = zb_choice_take(&choice, &found.candidate->choice, ZB_CHOICE_PLACEMENT | ZB_CHOICE_CUTS);
  if (!status) status = zb_search_below(search, &zb_move_cuts, &fixed, &choice, &found);
  if (!status) zb_found_keep(best, &found, given->limit);
  zb_choice_deinit(&choice);
  return status;
}

/* Without a memory limit --split auto is all. What a compile without --recompute compares is compared with --recompute
 * auto, too; but there none is left out where values are computed again, as each such search takes several times as
 * long. Where searches have taken long already the rest is left out. */
static zb_status search_others(zb_choice_search *search, const zb_asked *given, zb_found *best) {
  const char *const splits[] = {given->split, "all", "products", "none"};
  const char *const recomputes[] = {given->recompute, "none"};
  const bool splits_too = given->limit && strcmp(given->split, "auto") == 0;
  const int last = strcmp(given->recompute, "auto") == 0 ? 1 : 0;
  for (int r = last; r >= 0; --r)
    for (int s = 0; s < (!splits_too ? 1 : r == last ? 4 : 3); ++s)
      if ((r > 0 || s > 0) && zb_judge_pays(&search->judge))
        ZB_TRY(search_without(search, given, splits[s], recomputes[r], best));
  return NULL;
}

/* Choices that take little memory: on each of the first placements with all that may be computed again, and, as that
 * goes with other cuts, with nothing; all gradients in B. */
enum { LEAST_PLACEMENTS = 2, LEAST = 2 * LEAST_PLACEMENTS };
typedef struct least_choice {
  zb_asked asked;
  zb_choice choice;
} least_choice;

static int find_least(const zb_asked *asked, least_choice *out) {
  static const char *const recomputes[] = {"all", "none"};
  const int open = strcmp(asked->recompute, "auto") == 0 ? 2 : 1;
  zb_choice choice = {0};
  int at = 0, count = 0;
  for (int p = 0; p < (asked->placement_is_open ? LEAST_PLACEMENTS : 1); ++p) {
    if (asked->placement_is_open && !zb_placement_next(asked, 0, &at, &choice)) break;
    for (int r = 0; r < open; ++r)
      out[count++] = (least_choice){zb_asked_fixed(asked, "none", recomputes[r]), choice};
  }
  return count;
}

static zb_status try_least(zb_choice_search *search, const least_choice *least, zb_found *found) {
  zb_found next;
  ZB_TRY(zb_search_below(search, &zb_move_cuts, &least->asked, &least->choice, &next));
  zb_found_keep(found, &next, least->asked.limit);
  return NULL;
}

/* What a rule takes that computes all again and has no limit: with some gradients in W that may be less than with none.
 */
static zb_status try_all(zb_choice_search *search, const zb_asked *asked, zb_found *found) {
  zb_asked all = *asked;
  zb_choice nothing = {0};
  zb_found next;
  if (strcmp(asked->recompute, "auto") != 0) return NULL;
  all.recompute = "all";
  all.limit = 0;
  ZB_TRY(zb_search_below(search, NULL, &all, &nothing, &next));
  zb_found_keep(found, &next, asked->limit);
  return NULL;
}

/* Whether no choice comes near the limit: those that take little would need half as much again, or more, for one
 * micro-batch at a time. *found: what needs least of their plans. */
static zb_status refuse(zb_choice_search *search, const zb_asked *asked, zb_found *found, bool *out) {
  least_choice least[LEAST];
  const int count = find_least(asked, least);
  *out = asked->limit && !asked->is_file;
  for (int i = 0; i < count && *out; ++i) {
    int64_t bytes;
    ZB_TRY(zb_bound_bytes(&search->judge, &least[i].asked, &least[i].choice, &bytes));
    *out = bytes && bytes / 3 > asked->limit / 2;
    if (*out) ZB_TRY(try_least(search, &least[i], found));
  }
  return *out && !asked->searches && !asked->keeps_limit ? try_all(search, asked, found) : NULL;
}

/* Nothing fits: what an error says to be enough is the least of all that was tried, of these choices too. */
static zb_status give_up(zb_choice_search *search, const zb_asked *asked, zb_found *found) {
  least_choice least[LEAST];
  const int count = find_least(asked, least);
  if (!asked->limit || asked->is_file || zb_candidate_fits(found->candidate, asked->limit)) return NULL;
  for (int i = 0; i < count; ++i)
    ZB_TRY(try_least(search, &least[i], found));
  return NULL;
}

static zb_status decide_all(zb_choice_search *search, const zb_asked *asked, zb_found *out) {
  zb_choice nothing = {0};
  ZB_TRY(zb_search_below(search, NULL, asked, &nothing, out));
  if (asked->cuts_are_open || asked->placement_is_open) ZB_TRY(search_others(search, asked, out));
  return give_up(search, asked, out);
}

/* What was found with a small budget, as it is asked: the order for all that it has decided, then all below its
 * cuts. */
static zb_status refine(zb_choice_search *search, const zb_asked *asked, zb_found *best) {
  zb_asked fixed = *asked;
  zb_choice choice = {0};
  zb_found order, below;
  fixed.cuts_are_open = fixed.placement_is_open = false;
  zb_status status = zb_choice_take(&choice, &best->candidate->choice, ZB_CHOICE_ALL & ~(unsigned)ZB_CHOICE_ORDER);
  if (!status) status = zb_search_below(search, &zb_move_in_b, &fixed, &choice, &order);
  if (!status) zb_found_keep(best, &order, asked->limit);
  zb_choice_deinit(&choice);
  if (!status) status = zb_choice_take(&choice, &best->candidate->choice, ZB_CHOICE_PLACEMENT | ZB_CHOICE_CUTS);
  if (!status) status = zb_search_below(search, &zb_move_cuts, &fixed, &choice, &below);
  zb_choice_deinit(&choice);
  if (status) return status;
  if (zb_candidate_is_better(best->candidate, below.candidate, asked->limit)) {
    below.candidate = best->candidate;
    below.split_bound_ps = 0; /* of another order */
    below.split_is_proven = false;
  }
  *best = below;
  return NULL;
}

/* A plan within the limit that is there soon, for who ends the search. */
static zb_status try_first(zb_choice_search *search, const zb_asked *quick) {
  least_choice least[LEAST];
  zb_found found = {0};
  if (!quick->limit || !quick->searches || find_least(quick, least) == 0) return NULL;
  return try_least(search, &least[0], &found);
}

static zb_status search_all(zb_choice_search *search, const zb_asked *asked, zb_found *out) {
  zb_asked quick;
  bool is_hopeless;
  ZB_TRY(refuse(search, asked, out, &is_hopeless));
  if (is_hopeless) return NULL;
  const bool refines = zb_asked_quick(asked, &quick);
  ZB_TRY(try_first(search, &quick));
  ZB_TRY(decide_all(search, &quick, out));
  return refines ? refine(search, asked, out) : NULL;
}

/* ---- What was found ---- */

/* Whether the stages end where cost alone would end them, and then what bounds the longest rank. */
static zb_status note_bound(zb_choice_search *search, const zb_asked *asked, const zb_choice *found,
                            zb_compile_summary *summary) {
  zb_choice placed = {0};
  const zb_judged *staged;
  zb_status status = zb_choice_take(&placed, found, ZB_CHOICE_PLACEMENT);
  if (!status) status = zb_judge_program(&search->judge, asked, &placed, ZB_JUDGED_STAGED, &staged);
  const unsigned cuts = ZB_CHOICE_PLACEMENT | ZB_CHOICE_CUTS;
  if (!status && zb_choice_digest(&staged->made, cuts) == zb_choice_digest(found, cuts))
    summary->rank_bound_seconds = 1e-12 * (double)staged->places.bound_ps;
  zb_choice_deinit(&placed);
  return status;
}

static zb_status note(zb_choice_search *search, const zb_asked *asked, const zb_found *found,
                      zb_compile_summary *summary) {
  ZB_TRY(note_bound(search, asked, &found->candidate->choice, summary));
  summary->split_seconds = 1e-12 * (double)found->split_ps;
  summary->split_bytes = (uint64_t)found->split_bytes;
  summary->split_bound_seconds = 1e-12 * (double)found->split_bound_ps;
  summary->split_proven = found->split_is_proven;
  summary->recompute_seconds = 1e-12 * (double)found->none_ps;
  summary->recompute_bytes = (uint64_t)found->none_bytes;
  if (!search->cuts_tried) return NULL;
  summary->cuts_tried = search->cuts_tried + 1;
  summary->first_cuts_seconds = search->first_ps < INT64_MAX ? 1e-12 * (double)search->first_ps : INFINITY;
  return NULL;
}

/* Of a rule that has no order within the limit: what would be enough. */
static zb_status say_enough(zb_choice_search *search, const zb_asked *asked, zb_candidate *found) {
  zb_found again = {0};
  search->says_why = true;
  ZB_TRY(zb_move_order.decide(search, asked, &found->choice, &again));
  if (!again.candidate->why) return NULL;
  zb_status_free(found->why);
  found->why = again.candidate->why;
  ((zb_candidate *)again.candidate)->why = NULL;
  return NULL;
}

/* There is no plan: the schedule has no order, or a pass says why, now aloud. */
static zb_status say(zb_choice_search *search, const zb_asked *asked, zb_candidate *found) {
  const zb_judged *framed;
  if (zb_status_code(found->why) == ZB_INFEASIBLE) ZB_TRY(say_enough(search, asked, found));
  zb_status why = found->why;
  const bool has_text = search->judge.options_of_zbc || zb_status_code(why) == ZB_INFEASIBLE;
  found->why = NULL;
  if (why && has_text && !zb_status_told(why)) return why;
  search->judge.is_loud = true;
  zb_status status = zb_judge_program(&search->judge, asked, &found->choice, ZB_JUDGED_FRAMED, &framed);
  if (!status) return why;
  zb_status_free(why);
  return zb_status_set_told(status);
}

/* All decisions; or, where the watch has ended them, the best plan that any of them has met. */
static zb_status decide(zb_choice_search *search, const zb_asked *asked, zb_found *out, zb_compile_summary *summary) {
  zb_status status = search_all(search, asked, out);
  const bool is_stopped = zb_status_code(status) == ZB_INTERRUPTED && search->judge.answer == ZB_SEARCH_TAKE_BEST;
  if (!is_stopped || !search->judge.best) return status;
  zb_status_free(status);
  *out = (zb_found){.candidate = search->judge.best};
  if (summary) summary->stopped = true;
  return NULL;
}

zb_status zb_choose(const zb_asked *given, zb_choice *out, zb_compile_summary *summary) {
  const zb_compile_state *state = given->pass->state;
  zb_asked own = *given, *asked = &own;
  zb_choice_search search = {.given = asked, .first_ps = INT64_MAX, .slack = 1};
  zb_found found = {0};
  zb_plan_judge_init(asked, &search.judge);
  if (state && state->told) own.watch = &search.judge.watch;
  search.known = zb_arena_map_pointer(&search.judge.arena);
  zb_status status = zb_arena_status(&search.judge.arena);
  if (!status) status = decide(&search, asked, &found, summary);
  if (status) goto cleanup;
  if (!found.candidate->exists) ZB_TRY_GOTO(say(&search, asked, (zb_candidate *)found.candidate));
  ZB_TRY_GOTO(zb_choice_take(out, &found.candidate->choice, ZB_CHOICE_ALL));
  if (summary) status = note(&search, asked, &found, summary);
cleanup:
  if (status) zb_choice_deinit(out);
  zb_plan_judge_deinit(&search.judge);
  return status;
}
