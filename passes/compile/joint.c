/* zb_compile: other cuts, for a schedule that searches.
 *
 * Cuts by cost alone make ranks equally long. Under a memory limit, or with a step that is as long as its warm-up
 * allows, other cuts are better: a rank that keeps many micro-batches may do with fewer ops and then needs no detour in
 * its order. Nothing but the plan knows by how much, so cuts are moved, compiled on a copy with the search of their
 * order, and kept where the step gets shorter. What is moved goes by the plan before: from the longest rank to the
 * shortest, from the fullest to the emptiest, all cuts towards one end, or the ends towards the middle, then single
 * cuts. Moves begin large and become smaller where none helps.
 *
 * Test: test/e2e/joint_search.py. */

#include "passes/compile/parts.h"
#include "passes/stages/trial.h"
#include "runtime/base/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

typedef struct climb {
  zb_compile_params params;
  const zb_module *program;
  zb_arena *texts, arena;
  zb_cuts_tried *tried;
  zb_attempt *best;
  int trials;    /* that are left */
  int64_t *end;  /* [count] time of all entries up to one */
  int *cuts;     /* [stages - 1] the next ones */
  double *shift; /* [stages - 1] how far each cut is to move, in time */
} climb;

static const zb_cut_places *places(const climb *c) { return &c->best->places; }

static double stage_time(const climb *c, int stage) {
  const zb_cut_places *p = places(c);
  const int64_t begin = stage > 0 ? c->end[p->after[stage - 1]] : 0;
  return (double)(c->end[stage + 1 < p->stages ? p->after[stage] : p->count - 1] - begin);
}

/* ---- Moves ---- */

/* The longest stage of a rank. */
static int stage_of(const climb *c, int rank) {
  int found = -1;
  for (int s = 0; s < places(c)->stages; ++s)
    if (c->best->stage_rank[s] == rank && (found < 0 || stage_time(c, s) > stage_time(c, found))) found = s;
  return found;
}

static int nearest_stage_of(const climb *c, int rank, int stage) {
  int found = -1;
  for (int s = 0; s < places(c)->stages; ++s)
    if (c->best->stage_rank[s] == rank && (found < 0 || abs(s - stage) < abs(found - stage))) found = s;
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
  const zb_attempt *a = c->best;
  *most = *least = 0;
  for (int r = 0; a->busy_ps && r < c->params.ranks; ++r) {
    const bool by_time = kind == MOVE_LONGEST;
    if (by_time ? a->busy_ps[r] > a->busy_ps[*most] : a->bytes[r] > a->bytes[*most]) *most = r;
    if (by_time ? a->busy_ps[r] < a->busy_ps[*least] : a->bytes[r] < a->bytes[*least]) *least = r;
  }
}

/* Fills `shift` with the move of that number. */
static void choose_move(climb *c, int number, double time) {
  const int stages = places(c)->stages;
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
  const zb_cut_places *p = places(c);
  const double target = (double)c->end[p->after[k]] + c->shift[k], reach = 0.75 * fabs(c->shift[k]);
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
  return found >= 0 ? found : p->after[k];
}

/* Fills `cuts` with those after the move; false: nothing moved, or a stage became empty. */
static bool place_cuts(climb *c) {
  const zb_cut_places *p = places(c);
  bool moved = false;
  for (int k = 0; k + 1 < p->stages; ++k) {
    const int first = k > 0 ? c->cuts[k - 1] + 1 : 0;
    c->cuts[k] = find_place(c, k, first);
    moved |= c->cuts[k] != p->after[k];
    if (c->end[c->cuts[k]] <= (k > 0 ? c->end[c->cuts[k - 1]] : 0)) return false;
  }
  return moved && c->end[p->count - 1] > c->end[c->cuts[p->stages - 2]];
}

/* ---- Trials ---- */

/* Whether `cuts` were not tried yet; they are now. */
static bool is_new(climb *c) {
  const size_t count = (size_t)(places(c)->stages - 1);
  for (size_t i = 0; i < c->tried->cuts.count; ++i)
    if (memcmp(c->tried->cuts.items[i], c->cuts, count * sizeof *c->cuts) == 0) return false;
  int *cuts = ZB_NEW(&c->tried->arena, int, count);
  if (cuts) memcpy(cuts, c->cuts, count * sizeof *cuts);
  return cuts && ZB_PUSH(&c->tried->arena, &c->tried->cuts, cuts);
}

zb_status zb_cuts_text(const zb_cut_places *places, const int *cuts, zb_arena *arena, const char **out) {
  zb_text text = {0};
  for (int k = 0; k + 1 < places->stages; ++k)
    zb_text_add(&text, "%s#%lld", k ? "," : "", (long long)places->ids[cuts[k]]);
  *out = text.failed ? NULL : zb_arena_strdup(arena, text.data);
  const bool failed = text.failed;
  zb_text_deinit(&text);
  return failed ? ZB_OUT_OF_MEMORY() : zb_arena_status(arena);
}

/* Compiles with `cuts`; *out_better: they are the best now. The last trial where searches have taken long. */
static zb_status try_cuts(climb *c, bool *out_better) {
  const char *before = c->params.cuts;
  zb_attempt next;
  --c->trials;
  ZB_TRY(zb_cuts_text(places(c), c->cuts, c->texts, &c->params.cuts));
  zb_status status = zb_attempt_run(&c->params, c->program, &next);
  if (!zb_trial_pays(c->program->memo)) c->trials = 0;
  *out_better = !status && zb_attempt_is_better(&next, c->best);
  if (*out_better) {
    zb_attempt_deinit(c->best);
    *c->best = next;
    return NULL;
  }
  c->params.cuts = before;
  zb_attempt_deinit(&next);
  return status;
}

/* No cuts make a step shorter than its work, evenly on all ranks. */
static bool is_at_bound(const climb *c) {
  int64_t work = 0;
  for (int r = 0; c->best->busy_ps && r < c->params.ranks; ++r)
    work += c->best->busy_ps[r];
  return c->best->busy_ps && (double)c->best->step_ps <= 1.001 * (double)work / c->params.ranks;
}

/* All moves by `time`, until one is better. */
static zb_status try_moves(climb *c, double time, bool *out_better) {
  const int count = MOVE_COUNT + 2 * (places(c)->stages - 1);
  *out_better = false;
  for (int i = 0; i < count && c->trials > 0 && !*out_better; ++i) {
    choose_move(c, i, time);
    if (place_cuts(c) && is_new(c)) ZB_TRY(try_cuts(c, out_better));
  }
  return zb_arena_status(&c->tried->arena);
}

/* The cuts of even stages: with few micro-batches better than those of even ranks. */
static zb_status try_even_stages(climb *c) {
  const zb_cut_places *p = places(c);
  const zb_cut_problem problem = {.count = p->count,
                                  .cost = p->cost,
                                  .cut_bytes = p->cut_bytes,
                                  .stages = p->stages,
                                  .ranks = c->params.ranks,
                                  .ps_per_byte = p->ps_per_byte};
  bool better;
  ZB_TRY(zb_cuts_by_stage(&problem, &c->arena, c->cuts));
  return is_new(c) ? try_cuts(c, &better) : zb_arena_status(&c->tried->arena);
}

static zb_status run(climb *c) {
  enum { HALVINGS = 4 };
  const zb_cut_places *p = places(c);
  double *part = &c->tried->part;
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
    memcpy(c->cuts, p->after, (size_t)(p->stages - 1) * sizeof *c->cuts);
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

bool zb_cuts_have_names(const zb_cut_places *places) {
  for (int i = 0; i < places->count; ++i)
    if (places->ids[i] < 0) return false;
  return places->stages > 1;
}

zb_status zb_cuts_climb(zb_compile_params *params, const zb_module *program, zb_arena *texts, zb_cuts_tried *tried,
                        zb_attempt *best, int *trials) {
  climb c = {.params = *params, .program = program, .texts = texts, .tried = tried, .best = best, .trials = *trials};
  if (!zb_cuts_have_names(&best->places)) return NULL;
  zb_status status = run(&c);
  params->cuts = c.params.cuts;
  *trials = c.trials;
  zb_arena_deinit(&c.arena);
  return status;
}
