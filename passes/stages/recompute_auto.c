/* zb-recompute, auto: see passes/stages/recompute_auto.h.
 *
 * A rank has a level: 0 nothing, 1 what is cheap in each of its layers, then all of more and more of its layers. The
 * model knows what each level takes and how long its jobs are, where W does all gradients, or the products, or B does
 * all of them (--split). Of what keeps a number of bytes in the order of the schedule it takes, rank after rank, what
 * makes the step shortest. The levels that it finds are compiled to plans on copies, with --split as it is asked for;
 * of the plans within the limit the fastest stays, of equal ones the first. So time that B takes over and time that is
 * spent twice are compared by what they make of the step.
 *
 * With more memory a step is no longer, but for a thousandth that --split auto may be off: levels are looked for at
 * numbers of bytes that do not depend on the limit, and those found below it are tried too.
 *
 * Test: test/e2e/recompute.py. */

#include "passes/stages/recompute_auto.h"

#include "passes/function.h"
#include "passes/pipeline.h"
#include "passes/stages/cost.h"
#include "passes/stages/problem.h"
#include "passes/stages/step_time.h"
#include "passes/stages/trial.h"
#include "passes/tables.h"
#include "runtime/plan/plan.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  LAYER_LEVELS = 4,
  LEVELS_MAX = 2 + LAYER_LEVELS,
  SPLITS = 3,
  BETWEEN = 3,
  SHARES_MAX = (SPLITS - 1) * BETWEEN + 1,
  THOROUGH_OPS = 20000,
  SIMULATED_JOBS = 200000
};

static const char *const fixed_splits[SPLITS] = {"all", "products", "none"};

/* Levels of all ranks, and the least step that the model has with them within the bytes that they were found for. */
typedef struct choice {
  int *level; /* [ranks] */
  int64_t step_ps;
  int64_t least; /* bytes of the fullest rank of the smallest of its plans */
  int number;
} choice;

/* What a rank does in the model. share: which gradients B does, from those of the first choice of --split (0) to those
 * of the last; between two choices are shares of what the second one adds, as --split auto finds them. */
typedef struct pick {
  int share, level;
} pick;

typedef struct chooser {
  zb_pass *pass;
  MlirModule module;
  zb_recompute *r;
  int ranks, stages, levels;
  const int *stage_rank;
  int *layers_of;             /* [stages] */
  const char *splits[SPLITS]; /* that do not depend on a limit */
  int split_count;            /* SPLITS for --split auto, else 1 */
  int share_count;
  zb_metric metric;
  bool searches, tries_auto; /* tries_auto: --split auto chooses for each plan too */
  int64_t limit;
  zb_module_problem base;                       /* level 0, first split */
  zb_order order;                               /* of it */
  zb_stage_cost *costs[SHARES_MAX][LEVELS_MAX]; /* [stages] */
  int64_t *bytes[SHARES_MAX][LEVELS_MAX]; /* [ranks]: what is there all the time, and what plans take beside frames */
  int64_t *peak[SHARES_MAX][LEVELS_MAX];  /* [ranks]: in the order of the first plan, the same pick on all ranks */
  ZB_LIST(choice) choices;
  zb_stage_cost *tried_costs; /* [stages] */
  int64_t *tried_bytes;       /* [ranks] */
  int64_t jobs_left;          /* that may still be simulated */
  int *nothing;               /* [ranks]: level 0 */
  double plan_to_model;       /* step of the first plan in that of the model; 0: there is none */
  zb_trial best, plain;       /* plain: the best with level 0 everywhere */
  int *best_level;
  const char *best_split;
  uint64_t best_split_bytes;
} chooser;

/* ---- Levels ---- */

/* The mode of a layer: the first ones of its stage are computed again first. */
static zb_again mode_of(const chooser *c, int level, int index, int layers) {
  const int whole = level < 2 ? 0 : (layers * (level - 1) + c->levels - 3) / (c->levels - 2);
  return level == 0 ? ZB_AGAIN_NOTHING : index < whole ? ZB_AGAIN_ALL : ZB_AGAIN_CHEAP;
}

/* Sets the modes of the program itself or of a copy. level: [ranks]. */
static zb_status set_levels(const chooser *c, const int *level, zb_recompute *r) {
  zb_again *modes = ZB_NEW(r->arena, zb_again, r->layers.count);
  ZB_TRY(zb_arena_status(r->arena));
  for (int i = 0, index = 0; i < r->layers.count; ++i) {
    const int stage = r->layers.stage[i];
    index = i > 0 && r->layers.stage[i - 1] == stage ? index + 1 : 0;
    modes[i] = mode_of(c, level[c->stage_rank[stage]], index, c->layers_of[stage]);
  }
  zb_recompute_set(r, modes);
  return NULL;
}

static void count_layers(chooser *c) {
  int most = 0;
  for (int i = 0; i < c->r->layers.count; ++i) {
    const int count = ++c->layers_of[c->r->layers.stage[i]];
    if (count > most) most = count;
  }
  c->levels = 2 + (most < LAYER_LEVELS ? most : LAYER_LEVELS);
}

/* ---- Copies ---- */

/* A copy of the program with these levels. */
static zb_status copy_with(const chooser *c, const int *level, zb_module *out) {
  zb_arena arena = {0};
  zb_recompute r;
  zb_costs *costs = NULL;
  MlirOperation function;
  MlirBlock block;
  int64_t changes = 0;
  zb_status status = NULL;
  ZB_TRY(zb_trial_copy(c->pass, c->module, out));
  ZB_TRY_GOTO(zb_pass_costs(c->pass, &costs));
  if (!zb_pass_function(out->module, &function, &block)) ZB_TRY_GOTO(ZB_OUT_OF_MEMORY());
  ZB_TRY_GOTO(zb_recompute_build(&arena, function, costs, &r));
  ZB_TRY_GOTO(set_levels(c, level, &r));
  ZB_TRY_GOTO(zb_recompute_choose(&r));
  status = zb_recompute_apply(&r, &changes);
cleanup:
  zb_costs_destroy(costs);
  zb_arena_deinit(&arena);
  return status;
}

/* The passes from zb-classify to zb-memory, with a choice of --split for a number of bytes (as text). */
static zb_status add_classes(const chooser *c, const char *split, const char *bytes, zb_pipeline *out) {
  ZB_TRY(zb_pipeline_add(out, "zb-classify", NULL));
  ZB_TRY(zb_trial_add(c->pass, "zb-split-policy", out));
  zb_pipeline_entry *entry = &out->entries[out->count - 1];
  for (int i = 0; entry->def->options[i].name; ++i) {
    if (strcmp(entry->def->options[i].name, "split") == 0) entry->values[i] = split;
    if (strcmp(entry->def->options[i].name, "memory-limit") == 0) entry->values[i] = bytes;
  }
  return zb_trial_add_frames(c->pass, out);
}

/* ---- The model ---- */

/* The problem of the program with one level everywhere; *copy must outlive it. */
static zb_status build_level(const chooser *c, int level, const char *split, zb_module *copy, zb_module_problem *out) {
  zb_pipeline pipeline = {0};
  zb_compile_state state = {0};
  zb_arena arena = {0};
  int *levels = ZB_NEW(&arena, int, c->ranks);
  zb_status status = zb_arena_status(&arena);
  if (status) return status;
  for (int r = 0; r < c->ranks; ++r)
    levels[r] = level;
  ZB_TRY_GOTO(copy_with(c, levels, copy));
  ZB_TRY_GOTO(add_classes(c, split, "", &pipeline));
  ZB_TRY_GOTO(zb_pipeline_run(&pipeline, copy, &state, NULL));
  status = zb_module_problem_build(copy->module, (int)zb_pass_option_int(c->pass, "micro-batches", 1), out);
cleanup:
  zb_arena_deinit(&arena);
  zb_pipeline_deinit(&pipeline);
  return status;
}

static zb_status measure_level(chooser *c, int level, int split) {
  zb_arena *arena = &c->pass->arena;
  const int share = split * BETWEEN;
  zb_module copy = {0};
  zb_module_problem problem = {0};
  zb_status status = NULL;
  c->costs[share][level] = ZB_NEW(arena, zb_stage_cost, c->stages);
  c->bytes[share][level] = ZB_NEW(arena, int64_t, c->ranks);
  ZB_TRY(zb_arena_status(arena));
  ZB_TRY_GOTO(build_level(c, level, c->splits[split], &copy, &problem));
  memcpy(c->costs[share][level], problem.costs, (size_t)c->stages * sizeof *problem.costs);
  memcpy(c->bytes[share][level], problem.base_bytes, (size_t)c->ranks * sizeof *problem.base_bytes);
cleanup:
  zb_module_problem_deinit(&problem);
  if (!mlirModuleIsNull(copy.module)) mlirModuleDestroy(copy.module);
  return status;
}

static int64_t between(int64_t from, int64_t to, int part) { return from + (to - from) * part / BETWEEN; }

static void mix_costs(const zb_stage_cost *from, const zb_stage_cost *to, int part, zb_stage_cost *out) {
  *out = *from;
  out->b_accumulates |= to->b_accumulates;
  out->f_updates |= to->f_updates;
  for (int kind = 0; kind < ZB_KIND_COUNT; ++kind) {
    out->time_ps[kind] = between(from->time_ps[kind], to->time_ps[kind], part);
    out->keep_bytes[kind] = between(from->keep_bytes[kind], to->keep_bytes[kind], part);
    out->free_bytes[kind] = between(from->free_bytes[kind], to->free_bytes[kind], part);
  }
  out->free_bytes[ZB_W] = out->keep_bytes[ZB_F] + out->keep_bytes[ZB_B] - out->free_bytes[ZB_B];
}

/* The shares between two choices of --split. */
static zb_status mix_level(chooser *c, int level, int split) {
  for (int part = 1; part < BETWEEN; ++part) {
    const int from = split * BETWEEN, to = from + BETWEEN, share = from + part;
    c->costs[share][level] = ZB_NEW(&c->pass->arena, zb_stage_cost, c->stages);
    c->bytes[share][level] = ZB_NEW(&c->pass->arena, int64_t, c->ranks);
    ZB_TRY(zb_arena_status(&c->pass->arena));
    for (int s = 0; s < c->stages; ++s)
      mix_costs(&c->costs[from][level][s], &c->costs[to][level][s], part, &c->costs[share][level][s]);
    for (int r = 0; r < c->ranks; ++r)
      c->bytes[share][level][r] = between(c->bytes[from][level][r], c->bytes[to][level][r], part);
  }
  return NULL;
}

/* What the model has with some picks: what all ranks together are above a number of bytes, and the step. */
typedef struct outlook {
  int64_t above, step_ps;
} outlook;

/* The order is made again where a rule makes it: it holds W back as far as ranks do not wait for it, and that depends
 * on times. picks: [ranks]. */
static zb_status look(chooser *c, const pick *picks, int64_t bytes, outlook *out) {
  zb_problem problem = c->base.problem;
  zb_simulation simulation = {0};
  zb_status status = NULL;
  for (int s = 0; s < c->stages; ++s) {
    const pick *own = &picks[c->stage_rank[s]];
    c->tried_costs[s] = c->costs[own->share][own->level][s];
  }
  for (int r = 0; r < c->ranks; ++r)
    c->tried_bytes[r] = c->bytes[picks[r].share][picks[r].level][r];
  problem.costs = c->tried_costs;
  problem.base_bytes = c->tried_bytes;
  c->jobs_left -= (int64_t)c->stages * problem.micro_batches * ZB_KIND_COUNT;
  if (!c->searches) ZB_TRY(zb_trial_order(zb_pass_option(c->pass, "schedule"), &problem, c->metric, &c->order));
  ZB_TRY_GOTO(zb_simulate(&problem, &c->order, &simulation));
  *out = (outlook){.step_ps = c->metric == ZB_METRIC_STAGE ? simulation.stage_ps : simulation.step_ps};
  for (int r = 0; r < c->ranks; ++r)
    if (simulation.peak_bytes[r] > bytes) out->above += simulation.peak_bytes[r] - bytes;
cleanup:
  zb_simulation_deinit(&simulation);
  return status;
}

static bool is_better_outlook(const outlook *x, const outlook *than) {
  return x->above != than->above ? x->above < than->above : x->step_ps < than->step_ps;
}

/* Changes the pick of a rank to the best one; *now is the outlook of the picks. */
static zb_status improve_rank(chooser *c, int rank, int64_t bytes, pick *picks, outlook *now) {
  pick best = picks[rank];
  for (int share = 0; share < c->share_count; ++share)
    for (int level = 0; level < c->levels && c->jobs_left > 0; ++level) {
      outlook next;
      picks[rank] = (pick){share, level};
      ZB_TRY(look(c, picks, bytes, &next));
      if (!is_better_outlook(&next, now)) continue;
      *now = next;
      best = picks[rank];
    }
  picks[rank] = best;
  return NULL;
}

/* Improves picks for so many bytes on each rank, rank after rank, until no rank finds a better one. */
static zb_status improve(chooser *c, int64_t bytes, pick *picks, outlook *now) {
  outlook before;
  ZB_TRY(look(c, picks, bytes, now));
  do {
    before = *now;
    for (int r = c->ranks - 1; r >= 0; --r)
      ZB_TRY(improve_rank(c, r, bytes, picks, now));
  } while (is_better_outlook(now, &before) && c->jobs_left > 0);
  return NULL;
}

/* ---- Plans ---- */

/* Within the limit before above it; then the faster; above it the smaller. */
static bool is_better(const chooser *c, const zb_trial *x, const zb_trial *than) {
  if (!x->exists || !than->exists) return x->exists;
  const bool within = x->most <= c->limit, than_within = than->most <= c->limit;
  if (within != than_within) return within;
  if (within || x->most == than->most) return x->step_ps < than->step_ps;
  return x->most < than->most;
}

/* Compiles a plan with these levels; split_bytes: the memory for which --split auto chooses. */
static zb_status try_plan(chooser *c, const int *level, const char *split, uint64_t split_bytes, zb_trial *found) {
  zb_pipeline pipeline = {0};
  zb_compile_state state = {0};
  zb_module copy = {0};
  char bytes[24] = "";
  bool exists = false, is_plain = true;
  zb_status status = NULL;
  *found = (zb_trial){0};
  if (split_bytes) snprintf(bytes, sizeof bytes, "%" PRIu64, split_bytes);
  ZB_TRY_GOTO(copy_with(c, level, &copy));
  ZB_TRY_GOTO(add_classes(c, split, bytes, &pipeline));
  ZB_TRY_GOTO(zb_trial_add_plan(c->pass, zb_pass_option(c->pass, "schedule"), &pipeline));
  ZB_TRY_GOTO(zb_trial_run(&pipeline, &copy, &state, &exists));
  if (exists) ZB_TRY_GOTO(zb_trial_measure(&c->pass->arena, state.plan, c->metric, found));
  for (int r = 0; r < c->ranks; ++r)
    is_plain &= level[r] == 0;
  if (is_plain && is_better(c, found, &c->plain)) c->plain = *found;
  if (!is_better(c, found, &c->best)) goto cleanup;
  c->best = *found;
  memcpy(c->best_level, level, (size_t)c->ranks * sizeof *level);
  c->best_split = split;
  c->best_split_bytes = split_bytes;
cleanup:
  zb_plan_destroy(state.plan);
  zb_pipeline_deinit(&pipeline);
  if (!mlirModuleIsNull(copy.module)) mlirModuleDestroy(copy.module);
  return status;
}

/* ---- Choices ---- */

/* A number of bytes at or below the limit, 0.4 to 0.8 % from the next one. */
static int64_t round_bytes(int64_t limit) {
  int64_t step = 1;
  while (limit / step >= 256)
    step *= 2;
  return limit - limit % step;
}

static zb_status add_choice(chooser *c, const pick *picks, int64_t step_ps) {
  choice new = {.level = ZB_NEW(&c->pass->arena, int, c->ranks),
                .step_ps = step_ps,
                .least = INT64_MAX,
                .number = (int)c->choices.count};
  ZB_TRY(zb_arena_status(&c->pass->arena));
  for (int r = 0; r < c->ranks; ++r)
    new.level[r] = picks[r].level;
  for (size_t i = 0; i < c->choices.count; ++i)
    if (memcmp(c->choices.items[i].level, new.level, (size_t)c->ranks * sizeof *new.level) == 0) {
      if (step_ps < c->choices.items[i].step_ps) c->choices.items[i].step_ps = step_ps;
      return NULL;
    }
  (void)ZB_PUSH(&c->pass->arena, &c->choices, new);
  return zb_arena_status(&c->pass->arena);
}

static int compare_choices(const void *a, const void *b) {
  const choice *x = a, *y = b;
  if (x->step_ps != y->step_ps) return x->step_ps < y->step_ps ? -1 : 1;
  return x->number - y->number;
}

/* The first pick of each rank, by level and share, that keeps the bytes in the order of the first plan. */
static void fit_each(const chooser *c, int64_t bytes, pick *picks) {
  for (int r = 0; r < c->ranks; ++r) {
    picks[r] = (pick){0};
    for (int i = 1; i < c->levels * c->share_count && c->peak[picks[r].share][picks[r].level][r] > bytes; ++i) {
      const pick own = {i % c->share_count, i / c->share_count};
      if (c->peak[own.share][own.level][r] < c->peak[picks[r].share][picks[r].level][r]) picks[r] = own;
    }
  }
}

/* Levels for so many bytes, from nothing, from all and from what each rank needs by itself. *out_found: there are. */
static zb_status find_levels(chooser *c, int64_t bytes, pick *picks, bool *out_found) {
  enum { FROM_NOTHING, FROM_ALL, FROM_EACH, STARTS };
  *out_found = false;
  for (int from = 0; from < STARTS; ++from) {
    outlook now;
    for (int r = 0; r < c->ranks; ++r)
      picks[r] = from == FROM_ALL ? (pick){c->share_count - 1, c->levels - 1} : (pick){0};
    if (from == FROM_EACH) fit_each(c, bytes, picks);
    c->jobs_left = SIMULATED_JOBS;
    ZB_TRY(improve(c, bytes, picks, &now));
    if (now.above) continue;
    *out_found = true;
    ZB_TRY(add_choice(c, picks, now.step_ps));
  }
  return NULL;
}

/* Levels for each number of bytes from a little above the limit on, because --split auto finds more than the model,
 * down to what can be kept. So what is found for a limit is among what is found for a higher one. */
static zb_status find_choices(chooser *c) {
  enum { MOST = 80 };
  pick *picks = ZB_NEW(&c->pass->arena, pick, c->ranks);
  bool found = true;
  ZB_TRY(zb_arena_status(&c->pass->arena));
  int64_t bytes = c->limit + c->limit / 8 + 1;
  for (int i = 0; i < MOST && found && (bytes = zb_trial_bytes_below(bytes)) > 0; ++i)
    ZB_TRY(find_levels(c, bytes, picks, &found));
  qsort(c->choices.items, c->choices.count, sizeof *c->choices.items, compare_choices);
  return NULL;
}

/* ---- All ---- */

/* What each pick takes in the order of the first plan. */
static zb_status find_peaks(chooser *c) {
  zb_problem problem = c->base.problem;
  for (int share = 0; share < c->share_count; ++share)
    for (int level = 0; level < c->levels; ++level) {
      c->peak[share][level] = ZB_NEW(&c->pass->arena, int64_t, c->ranks);
      ZB_TRY(zb_arena_status(&c->pass->arena));
      problem.costs = c->costs[share][level];
      problem.base_bytes = c->bytes[share][level];
      zb_order_peaks(&problem, &c->order, c->peak[share][level]);
    }
  return NULL;
}

/* What each level takes, the order, and a first plan, for what plans take beside their frames. */
static zb_status build_model(chooser *c) {
  pick *picks = ZB_NEW(&c->pass->arena, pick, c->ranks);
  int64_t *peak = ZB_NEW(&c->pass->arena, int64_t, c->ranks);
  outlook model;
  zb_trial first;
  ZB_TRY(zb_arena_status(&c->pass->arena));
  for (int split = 0; split < c->split_count; ++split)
    for (int l = 0; l < c->levels; ++l)
      ZB_TRY(measure_level(c, l, split));
  for (int split = 0; split + 1 < c->split_count; ++split)
    for (int l = 0; l < c->levels; ++l)
      ZB_TRY(mix_level(c, l, split));
  ZB_TRY(zb_trial_order(zb_pass_option(c->pass, "schedule"), &c->base.problem, c->metric, &c->order));
  zb_order_peaks(&c->base.problem, &c->order, peak);
  ZB_TRY(look(c, picks, 0, &model));
  ZB_TRY(try_plan(c, c->nothing, c->splits[0], 0, &first));
  if (!c->plain.exists) return NULL;
  c->plan_to_model = (double)c->plain.step_ps / (double)model.step_ps;
  for (int share = 0; share < c->share_count; ++share)
    for (int l = 0; l < c->levels; ++l)
      for (int r = 0; r < c->ranks; ++r)
        c->bytes[share][l][r] += c->plain.arena[r] - peak[r];
  return find_peaks(c);
}

/* Whether a plan with these levels may be faster than the best one, as far as the model knows. */
static bool may_be_faster(const chooser *c, const choice *x) {
  if (!c->best.exists || c->best.most > c->limit || c->plan_to_model <= 0) return true;
  return (double)x->step_ps * c->plan_to_model < 1.03 * (double)c->best.step_ps;
}

/* The same level and the same choice of --split on all ranks: plans that do not depend on the limit. *out_done: the
 * fastest of them is within it. */
static zb_status compare_uniform(chooser *c, bool *out_done) {
  int *level = ZB_NEW(&c->pass->arena, int, c->ranks);
  int64_t fastest = c->plain.exists ? c->plain.step_ps : INT64_MAX;
  ZB_TRY(zb_arena_status(&c->pass->arena));
  for (int l = 0; l < c->levels; ++l)
    for (int split = 0; split < c->split_count; ++split) {
      zb_trial found;
      for (int r = 0; r < c->ranks; ++r)
        level[r] = l;
      if (l == 0 && split == 0) continue; /* the first plan */
      ZB_TRY(try_plan(c, level, c->splits[split], 0, &found));
      if (found.exists && found.step_ps < fastest) fastest = found.step_ps;
    }
  *out_done = c->best.exists && c->best.most <= c->limit && c->best.step_ps <= fastest;
  return NULL;
}

/* --split auto with these levels for so many bytes, if what needs least of the plans with them is near the limit. */
static zb_status try_auto(chooser *c, const int *level, int64_t least, int64_t bytes) {
  zb_trial found;
  if (!c->tries_auto || least > c->limit + c->limit / 32) return NULL;
  return try_plan(c, level, "auto", (uint64_t)bytes, &found);
}

static zb_status compare_choices_of_limit(chooser *c) {
  const int64_t bytes = round_bytes(c->limit);
  int *best = ZB_NEW(&c->pass->arena, int, c->ranks);
  ZB_TRY(zb_arena_status(&c->pass->arena));
  ZB_TRY(find_choices(c));
  for (size_t i = 0; i < c->choices.count; ++i) {
    choice *it = &c->choices.items[i];
    for (int split = 0; split < c->split_count && may_be_faster(c, it); ++split) {
      zb_trial found;
      ZB_TRY(try_plan(c, it->level, c->splits[split], 0, &found));
      if (found.exists && found.most < it->least) it->least = found.most;
    }
  }
  for (size_t i = 0; i < c->choices.count; ++i)
    if (may_be_faster(c, &c->choices.items[i]))
      ZB_TRY(try_auto(c, c->choices.items[i].level, c->choices.items[i].least, bytes));
  memcpy(best, c->best_level, (size_t)c->ranks * sizeof *best);
  if (bytes < c->limit) ZB_TRY(try_auto(c, best, 0, c->limit));
  return try_auto(c, c->nothing, c->plain.most, c->limit);
}

static zb_status choose(chooser *c) {
  zb_module copy = {0};
  bool is_done = false;
  zb_status status = NULL;
  ZB_TRY_GOTO(build_level(c, 0, c->splits[0], &copy, &c->base));
  ZB_TRY_GOTO(build_model(c));
  ZB_TRY_GOTO(compare_uniform(c, &is_done));
  if (!is_done) ZB_TRY_GOTO(compare_choices_of_limit(c));
  status = set_levels(c, c->best_level, c->r);
cleanup:
  zb_order_deinit(&c->order);
  zb_module_problem_deinit(&c->base);
  if (!mlirModuleIsNull(copy.module)) mlirModuleDestroy(copy.module);
  return status;
}

static void tell(const chooser *c) {
  zb_compile_state *state = c->pass->shared;
  if (!state || !c->best.exists) return;
  if (c->split_count > 1) {
    state->split = c->best_split;
    state->split_bytes = c->best_split_bytes;
  }
  if (!state->summary || !c->plain.exists) return;
  state->summary->recompute_seconds = 1e-12 * (double)c->plain.step_ps;
  state->summary->recompute_bytes = (uint64_t)c->plain.most;
}

/* Schedules that look for an order within the limit take long for each plan. */
static bool searches(const char *schedule) {
  zb_schedule_choice found;
  zb_status status = zb_schedule_to_train(schedule, &found);
  const bool yes = !status && found.schedule->searches;
  zb_status_free(status);
  return yes;
}

zb_result zb_recompute_auto(zb_pass *pass, MlirModule module, zb_recompute *r) {
  MlirOperation top = mlirModuleGetOperation(module);
  const char *split = zb_pass_option(pass, "split"), *schedule = zb_pass_option(pass, "schedule");
  chooser c = {.pass = pass, .module = module, .r = r, .splits = {split}, .split_count = 1};
  uint64_t limit;
  if (!zb_pass_option_bytes(pass, "memory-limit", &limit)) return ZB_FAIL;
  if (!limit)
    return zb_pass_option_error(pass, top, "recompute", "give a memory limit too, for example 2G, or choose all",
                                "auto computes again what a memory limit asks for, and there is none");
  c.limit = (int64_t)limit;
  c.searches = searches(schedule);
  if (!zb_pass_option_metric(pass, top, &c.metric)) return ZB_FAIL;
  if (strcmp(split, "auto") == 0) {
    memcpy(c.splits, fixed_splits, sizeof c.splits);
    c.split_count = SPLITS;
    c.tries_auto = r->graph.node_count <= THOROUGH_OPS && !c.searches;
  }
  c.share_count = (c.split_count - 1) * BETWEEN + 1;
  c.ranks = (int)zb_get_i64(top, ZB_ATTR_RANKS, 1);
  c.stage_rank = zb_stage_ranks(&pass->arena, top, &c.stages);
  c.layers_of = ZB_NEW(&pass->arena, int, c.stages);
  c.best_level = ZB_NEW(&pass->arena, int, c.ranks);
  c.nothing = ZB_NEW(&pass->arena, int, c.ranks);
  c.tried_costs = ZB_NEW(&pass->arena, zb_stage_cost, c.stages);
  c.tried_bytes = ZB_NEW(&pass->arena, int64_t, c.ranks);
  ZB_PASS_TRY(pass, zb_arena_status(&pass->arena));
  count_layers(&c);
  ZB_PASS_TRY(pass, choose(&c));
  tell(&c);
  return ZB_OK;
}
