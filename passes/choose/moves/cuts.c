/* Where stages end, for a schedule that searches.
 *
 * Cuts by cost alone make ranks equally long. Under a memory limit, or with a step that is as long as its warm-up
 * allows, other cuts are better: a rank that keeps many micro-batches may do with fewer ops and then needs no detour in
 * its order. Nothing but the plan knows by how much, so cuts are moved, judged with the search of their order, and kept
 * where the step gets shorter. What is moved goes by the plan before: from the longest rank to the shortest, from the
 * fullest to the emptiest, all cuts towards one end, or the ends towards the middle, then single cuts. Moves begin
 * large and become smaller where none helps. Cuts whose bound is no shorter than the best step are not judged.
 *
 * With --recompute auto and any other schedule: the cuts by cost, or those of --recompute all, where they are others.
 *
 * Test: test/e2e/joint_search.py. */

#include "passes/choose/moves/cuts.h"

#include "passes/choose/bound.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Choices of cuts ---- */

/* As `from`, with other cuts: entries of places. What it has of other decisions is kept. */
static zb_status set_cuts(const zb_choice *from, const zb_cut_places *places, const int *after, zb_choice *out) {
  const size_t bytes = (size_t)(places->stages - 1) * sizeof(const char *);
  ZB_TRY(zb_choice_take(out, from, ZB_CHOICE_ALL & ~(unsigned)ZB_CHOICE_ORDER));
  out->decided |= ZB_CHOICE_CUTS;
  memset(out->after_name, 0, bytes);
  for (int k = 0; k + 1 < places->stages; ++k)
    out->after[k] = places->number[after[k]];
  return NULL;
}

/* Moves of a plan, before those of single cuts. */
typedef enum move {
  MOVE_LONGEST, /* from the longest rank to the shortest */
  MOVE_FULLEST, /* from the fullest to the emptiest */
  MOVE_TO_END,  /* all cuts, those in the middle most: the first stages get more */
  MOVE_TO_BEGIN,
  MOVE_TO_MIDDLE, /* the stages at both ends get less */
  MOVE_TO_ENDS,
  MOVE_COUNT
} move;

/* Cuts that were tried, and how far the next ones are to move. Starts as {0}. */
typedef struct cuts_tried {
  zb_arena arena;
  ZB_LIST(int *) cuts;
  double part; /* of the mean stage; 0: nothing was tried yet */
} cuts_tried;

typedef struct climb {
  zb_choice_search *search;
  const zb_asked *asked;
  zb_arena arena;
  cuts_tried *tried;
  zb_cut_places places;
  int *after; /* [stages - 1] the cuts of the best one, in places */
  zb_found *best;
  int trials;     /* that are left */
  zb_choice held; /* with what is not tried */
  int64_t *end;   /* [count] time of all entries up to one */
  int *cuts;      /* [stages - 1] the next ones */
  double *shift;  /* [stages - 1] how far each cut is to move, in time */
} climb;

static double stage_time(const climb *c, int stage) {
  const zb_cut_places *p = &c->places;
  const int64_t begin = stage > 0 ? c->end[c->after[stage - 1]] : 0;
  return (double)(c->end[stage + 1 < p->stages ? c->after[stage] : p->count - 1] - begin);
}

/* ---- Moves ---- */

/* The longest stage of a rank. */
static int stage_of(const climb *c, int rank) {
  int found = -1;
  for (int s = 0; s < c->places.stages; ++s)
    if (c->best->candidate->stage_rank[s] == rank && (found < 0 || stage_time(c, s) > stage_time(c, found))) found = s;
  return found;
}

static int nearest_stage_of(const climb *c, int rank, int stage) {
  int found = -1;
  for (int s = 0; s < c->places.stages; ++s)
    if (c->best->candidate->stage_rank[s] == rank && (found < 0 || abs(s - stage) < abs(found - stage))) found = s;
  return found;
}

/* Time from a stage of one rank to one of another: all cuts between them move. */
static void move_between(climb *c, int from, int to, double time) {
  const int source = stage_of(c, from), destination = nearest_stage_of(c, to, source);
  for (int k = source; k < destination; ++k)
    c->shift[k] = -time;
  for (int k = destination; k < source; ++k)
    c->shift[k] = time;
}

/* Without a plan nobody knows what its ranks take. */
static void find_ranks(const climb *c, move kind, int *most, int *least) {
  const zb_candidate *a = c->best->candidate;
  *most = *least = 0;
  for (int r = 0; zb_candidate_fits(a, c->asked->limit) && r < c->asked->ranks; ++r) {
    const bool by_time = kind == MOVE_LONGEST;
    if (by_time ? a->busy_ps[r] > a->busy_ps[*most] : a->bytes[r] > a->bytes[*most]) *most = r;
    if (by_time ? a->busy_ps[r] < a->busy_ps[*least] : a->bytes[r] < a->bytes[*least]) *least = r;
  }
}

/* Fills `shift` with the move of that number. */
static void choose_move(climb *c, int number, double time) {
  const int stages = c->places.stages;
  const double pi = 3.14159265358979323846;
  int most, least;
  memset(c->shift, 0, (size_t)stages * sizeof *c->shift);
  if (number >= MOVE_COUNT) { /* a single cut */
    const int k = (number - MOVE_COUNT) / 2;
    c->shift[k] = (number - MOVE_COUNT) % 2 ? -time : time;
  } else if (number == MOVE_LONGEST || number == MOVE_FULLEST) {
    find_ranks(c, (move)number, &most, &least);
    if (most != least) move_between(c, most, least, time);
  } else {
    for (int k = 0; k + 1 < stages; ++k) {
      const double at = (double)(k + 1) / stages;
      const bool is_ends = number == MOVE_TO_MIDDLE || number == MOVE_TO_ENDS;
      const double size = is_ends ? -sin(2 * pi * at) : 4 * at * (1 - at);
      c->shift[k] = (number == MOVE_TO_BEGIN || number == MOVE_TO_ENDS ? -size : size) * time;
    }
  }
}

/* The place for a cut that is nearest to where it is to go, where few bytes cross; at most three quarters of the way
 * too near or too far, and behind `first`. */
static int find_place(const climb *c, int k, int first) {
  const zb_cut_places *p = &c->places;
  const double target = (double)c->end[c->after[k]] + c->shift[k], reach = 0.75 * fabs(c->shift[k]);
  const int64_t after = first > 0 ? c->end[first - 1] : 0;
  int found = -1;
  double least = INFINITY;
  for (int i = first; i + 1 < p->count && c->shift[k] != 0; ++i) {
    const double off = fabs((double)c->end[i] - target);
    const double worth = p->ps_per_byte * (double)p->cut_bytes[i] + 2 * off;
    if (off > reach || c->end[i] <= after || worth >= least) continue;
    least = worth;
    found = i;
  }
  return found >= 0 ? found : c->after[k];
}

/* Fills `cuts` with those after the move; false: nothing moved, or a stage became empty. */
static bool place_cuts(climb *c) {
  const zb_cut_places *p = &c->places;
  bool moved = false;
  for (int k = 0; k + 1 < p->stages; ++k) {
    const int first = k > 0 ? c->cuts[k - 1] + 1 : 0;
    c->cuts[k] = find_place(c, k, first);
    moved |= c->cuts[k] != c->after[k];
    if (c->end[c->cuts[k]] <= (k > 0 ? c->end[c->cuts[k - 1]] : 0)) return false;
  }
  return moved && c->end[p->count - 1] > c->end[c->cuts[p->stages - 2]];
}

/* ---- Trials ---- */

/* Whether `cuts` were not tried yet; they are now. */
static bool is_new(climb *c) {
  const size_t count = (size_t)(c->places.stages - 1);
  for (size_t i = 0; i < c->tried->cuts.count; ++i)
    if (memcmp(c->tried->cuts.items[i], c->cuts, count * sizeof *c->cuts) == 0) return false;
  int *cuts = ZB_NEW(&c->tried->arena, int, count);
  if (cuts) memcpy(cuts, c->cuts, count * sizeof *cuts);
  return cuts && ZB_PUSH(&c->tried->arena, &c->tried->cuts, cuts);
}

/* Judges `cuts`; *out_better: they are the best now. The last trial where searches have taken long. */
static zb_status try_cuts(climb *c, bool *out_better) {
  const zb_candidate *best = c->best->candidate;
  zb_choice choice = {0};
  zb_found next = {0};
  bool may_help;
  --c->trials;
  ++c->search->cuts_tried;
  *out_better = false;
  zb_status status = set_cuts(&c->held, &c->places, c->cuts, &choice);
  if (!status)
    status = zb_bound_allows(&c->search->judge, c->asked, &choice, c->search->best ? c->search->best : best, &may_help);
  if (!status && may_help) status = zb_search_below(c->search, &zb_move_cuts, c->asked, &choice, &next);
  zb_choice_deinit(&choice);
  if (!zb_judge_pays(&c->search->judge)) c->trials = 0;
  if (status || !next.candidate || !zb_candidate_is_better(next.candidate, best, c->asked->limit)) return status;
  *out_better = true;
  *c->best = next;
  memcpy(c->after, c->cuts, (size_t)(c->places.stages - 1) * sizeof *c->cuts);
  return NULL;
}

/* No cuts make a step shorter than its work, evenly on all ranks. */
static bool is_at_bound(const climb *c) {
  const zb_candidate *best = c->best->candidate;
  int64_t work = 0;
  if (!zb_candidate_fits(best, c->asked->limit)) return false;
  for (int r = 0; r < c->asked->ranks; ++r)
    work += best->busy_ps[r];
  return (double)best->step_ps <= 1.001 * (double)work / c->asked->ranks;
}

/* All moves by `time`, until one is better. */
static zb_status try_moves(climb *c, double time, bool *out_better) {
  const int count = MOVE_COUNT + 2 * (c->places.stages - 1);
  *out_better = false;
  for (int i = 0; i < count && c->trials > 0 && !*out_better; ++i) {
    choose_move(c, i, time);
    if (place_cuts(c) && is_new(c)) ZB_TRY(try_cuts(c, out_better));
  }
  return zb_arena_status(&c->tried->arena);
}

/* The cuts of even stages: with few micro-batches better than those of even ranks. */
static zb_status try_even_stages(climb *c) {
  const zb_cut_places *p = &c->places;
  const zb_cut_problem problem = {.count = p->count,
                                  .cost = p->cost,
                                  .cut_bytes = p->cut_bytes,
                                  .stages = p->stages,
                                  .ranks = c->asked->ranks,
                                  .ps_per_byte = p->ps_per_byte};
  bool better;
  ZB_TRY(zb_cuts_by_stage(&problem, &c->arena, c->cuts));
  return is_new(c) ? try_cuts(c, &better) : zb_arena_status(&c->tried->arena);
}

/* The places of cuts, and where those of the best one are. */
static zb_status read_places(climb *c) {
  const zb_judged *staged;
  ZB_TRY(zb_judge_program(&c->search->judge, c->asked, &c->best->candidate->choice, ZB_JUDGED_STAGED, &staged));
  const zb_cut_places *from = &staged->places;
  const size_t bytes = (size_t)from->count * sizeof *from->cost, stages = (size_t)from->stages;
  c->places = (zb_cut_places){.count = from->count,
                              .stages = from->stages,
                              .number = ZB_NEW(&c->arena, int, from->count),
                              .cost = ZB_NEW(&c->arena, int64_t, from->count),
                              .cut_bytes = ZB_NEW(&c->arena, int64_t, from->count),
                              .ps_per_byte = from->ps_per_byte};
  c->after = ZB_NEW(&c->arena, int, from->stages);
  ZB_TRY(zb_arena_status(&c->arena));
  memcpy(c->places.number, from->number, (size_t)from->count * sizeof *from->number);
  memcpy(c->places.cost, from->cost, bytes);
  memcpy(c->places.cut_bytes, from->cut_bytes, bytes);
  memcpy(c->after, from->after, (stages - 1) * sizeof *from->after);
  return NULL;
}

static zb_status climb_on(climb *c) {
  enum { HALVINGS = 4 };
  double *part = &c->tried->part;
  ZB_TRY(read_places(c));
  const zb_cut_places *p = &c->places;
  if (p->stages < 2) return NULL;
  c->end = ZB_NEW(&c->arena, int64_t, p->count);
  c->cuts = ZB_NEW(&c->arena, int, p->stages);
  c->shift = ZB_NEW(&c->arena, double, p->stages);
  ZB_TRY(zb_arena_status(&c->arena));
  for (int i = 0; i < p->count; ++i)
    c->end[i] = (i > 0 ? c->end[i - 1] : 0) + p->cost[i];
  const double stage = (double)c->end[p->count - 1] / p->stages;
  if (is_at_bound(c) || c->trials < 1) return NULL;
  if (*part <= 0) {
    *part = 0.5;
    memcpy(c->cuts, c->after, (size_t)(p->stages - 1) * sizeof *c->cuts);
    (void)is_new(c);
    ZB_TRY(try_even_stages(c));
  }
  while (*part >= 1.0 / (1 << HALVINGS) && c->trials > 0 && !is_at_bound(c)) {
    bool better;
    ZB_TRY(try_moves(c, *part * stage, &better));
    if (!better && c->trials > 0) *part /= 2;
  }
  return NULL;
}

/* ---- With other decisions ---- */

static bool is_auto(const char *option) { return strcmp(option, "auto") == 0; }

/* What --split and --recompute leave open takes several plans each. While cuts are tried it is as in the best one;
 * without a plan what takes least. */
static zb_status hold(climb *c, zb_asked *asked) {
  const zb_choice *best = &c->best->candidate->choice;
  const bool has_plan = zb_candidate_fits(c->best->candidate, asked->limit);
  unsigned held = ZB_CHOICE_PLACEMENT | ZB_CHOICE_CUTS;
  if (is_auto(asked->split) && has_plan) held |= ZB_CHOICE_IN_B;
  if (is_auto(asked->recompute) && has_plan) held |= ZB_CHOICE_AGAIN;
  if (is_auto(asked->split) && !has_plan) asked->split = "none";
  if (is_auto(asked->recompute) && !has_plan) asked->recompute = "all";
  return zb_choice_take(&c->held, best, held);
}

/* Other cuts with what is held; goes on where the call before with the same `tried` ended. */
static zb_status climb_held(zb_choice_search *search, const zb_asked *asked, cuts_tried *tried, zb_found *at,
                            int *trials) {
  zb_asked held = *asked;
  climb c = {.search = search, .asked = &held, .tried = tried, .best = at, .trials = *trials};
  zb_status status = hold(&c, &held);
  if (!status) status = climb_on(&c);
  *trials = c.trials;
  zb_choice_deinit(&c.held);
  zb_arena_deinit(&c.arena);
  return status;
}

/* With other cuts other gradients may be better in B, and other values computed again: what was left open is chosen
 * again. */
static zb_status choose_again(zb_choice_search *search, const zb_asked *asked, zb_found *at, bool *out_better) {
  zb_choice choice = {0};
  zb_found again = {0};
  zb_status status = zb_choice_take(&choice, &at->candidate->choice, ZB_CHOICE_PLACEMENT | ZB_CHOICE_CUTS);
  if (!status) status = zb_search_below(search, &zb_move_cuts, asked, &choice, &again);
  zb_choice_deinit(&choice);
  if (status) return status;
  *out_better = zb_candidate_is_better(again.candidate, at->candidate, asked->limit);
  if (*out_better) *at = again;
  return NULL;
}

/* Cuts, then what is left open with them, in turn, until neither gets better, but not often: a choice takes as long as
 * some ten trials, or some forty where each is a search within a limit. */
zb_status zb_cuts_climb(zb_choice_search *search, const zb_asked *given, zb_found *at, int *trials) {
  enum { CHOICES = 3 };
  zb_asked asked = *given;
  bool better = true;
  asked.cuts_are_open = asked.placement_is_open = false;
  for (int i = 0; better && *trials > 0 && i < CHOICES && zb_judge_pays(&search->judge); ++i) {
    const zb_candidate *before = at->candidate;
    cuts_tried tried = {0};
    zb_status status = climb_held(search, &asked, &tried, at, trials);
    zb_arena_deinit(&tried.arena);
    if (status) return status;
    better = at->candidate != before;
    if (!better || (!is_auto(asked.split) && !is_auto(asked.recompute))) return NULL;
    ZB_TRY(choose_again(search, &asked, at, &better));
  }
  return NULL;
}

bool zb_cuts_are_hopeless(const zb_asked *asked, const zb_candidate *found) {
  return !zb_candidate_fits(found, asked->limit) && (!found->most || found->most / 5 > asked->limit / 4);
}

zb_status zb_cuts_trials(zb_choice_search *search, const zb_asked *asked, const zb_candidate *from, int *out) {
  enum { WITHIN_LIMIT = 32, WITHOUT = 12, SIZE = 4096, LEAST = 2 };
  const zb_judged *staged;
  *out = asked->cut_trials - 1;
  if (asked->cut_trials) return NULL;
  *out = LEAST;
  zb_status status = zb_judge_program(&search->judge, asked, &from->choice, ZB_JUDGED_STAGED, &staged);
  if (zb_judge_is_no_plan(status)) {
    zb_status_free(status);
    return NULL;
  }
  ZB_TRY(status);
  const int64_t size = staged->places.count + (int64_t)staged->places.stages * asked->micro_batches;
  const int64_t most = asked->limit ? WITHIN_LIMIT : WITHOUT, trials = size > SIZE ? most * SIZE / size : most;
  if (trials > LEAST) *out = (int)trials;
  return NULL;
}

/* ---- The row ---- */

/* Other cuts that keep less, where there are any. */
zb_status zb_cuts_few_tried(zb_choice_search *search, const zb_asked *given, zb_found *out) {
  zb_asked by_cost = *given, *asked = &by_cost;
  by_cost.cuts_are_open = by_cost.placement_is_open = false;
  const zb_judged *staged;
  zb_choice placed = {0}, few = {0};
  zb_found next = {0};
  bool may_help;
  if (!is_auto(asked->recompute) || !out->candidate->choice.decided) return NULL;
  zb_status status = zb_choice_take(&placed, &out->candidate->choice, ZB_CHOICE_PLACEMENT);
  if (!status) status = zb_judge_program(&search->judge, asked, &placed, ZB_JUDGED_STAGED, &staged);
  if (status || !staged->places.few) goto cleanup;
  ZB_TRY_GOTO(zb_choice_take(&placed, &staged->made, ZB_CHOICE_CUTS));
  ZB_TRY_GOTO(set_cuts(&placed, &staged->places, staged->places.few, &few));
  ZB_TRY_GOTO(zb_bound_allows(&search->judge, asked, &few, out->candidate, &may_help));
  if (may_help) ZB_TRY_GOTO(zb_search_below(search, &zb_move_cuts, asked, &few, &next));
  zb_found_keep(out, &next, asked->limit);
cleanup:
  zb_choice_deinit(&placed);
  zb_choice_deinit(&few);
  return status;
}

static zb_status decide(zb_choice_search *search, const zb_asked *asked, const zb_choice *above, zb_found *out) {
  zb_asked by_cost = *asked;
  int trials;
  by_cost.cuts_are_open = false;
  ZB_TRY(zb_search_below(search, &zb_move_cuts, &by_cost, above, out));
  if (!asked->cuts_are_open) return zb_cuts_few_tried(search, asked, out);
  const bool has_plan = zb_candidate_fits(out->candidate, asked->limit);
  search->first_ps = has_plan ? out->candidate->step_ps : INT64_MAX;
  ZB_TRY(zb_cuts_few_tried(search, asked, out));
  if (zb_cuts_are_hopeless(asked, out->candidate)) return NULL;
  ZB_TRY(zb_cuts_trials(search, asked, out->candidate, &trials));
  trials = (trials + 1) / 2; /* as many as the best of several placements gets */
  return zb_cuts_climb(search, asked, out, &trials);
}

static bool is_open(const zb_asked *asked) {
  const char *cuts = zb_pass_option(asked->pass, "cuts");
  return asked->cuts_are_open || (!asked->searches && is_auto(asked->recompute) && asked->limit && !*cuts);
}

const zb_move zb_move_cuts = {.decision = ZB_CHOICE_CUTS, .is_open = is_open, .decide = decide};
