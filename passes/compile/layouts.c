/* zb_compile: the placement of a schedule that searches. Costs, memory and messages of a stage depend on how many there
 * are and where, so each placement is compiled to its plan. From the best ones other cuts are tried (joint.c).
 *
 * Test: test/tools/zbc-schedule.test, test/e2e/joint_search.py. */

#include "passes/compile/parts.h"
#include "passes/function.h"
#include "passes/stages/problem.h"
#include "passes/stages/step_time.h"
#include "passes/stages/trial.h"
#include "runtime/base/text.h"

#include <string.h>

static const struct {
  const char *placement;
  int chunks;
} searched_layouts[] = {{"plain", 1}, {"v", 2}, {"looped", 2}, {"looped", 4}, {"wave", 4}, {"looped", 8}, {"wave", 8}};
/* More chunks than this are tried where so many are the best so far: each compile takes its time. */
enum { LAYOUTS = sizeof searched_layouts / sizeof searched_layouts[0], CHUNKS_ALWAYS = 4 };

void zb_pipeline_split(const zb_pipeline *pipeline, bool keep_before, zb_pipeline *out) {
  int at = 0;
  while (at < pipeline->count && strcmp(pipeline->entries[at].def->name, "zb-partition") != 0)
    ++at;
  out->count = keep_before ? at : pipeline->count - at;
  memcpy(out->entries, pipeline->entries + (keep_before ? 0 : at), (size_t)out->count * sizeof out->entries[0]);
}

/* ---- One attempt ---- */

/* By the metric that was asked for; a wrong name of one is told by the pass that takes it. */
static zb_status step_of(const zb_compile_params *params, const zb_plan *plan, const zb_plan_simulation *simulation,
                         int64_t *out_ps) {
  zb_metric metric = ZB_METRIC_BARRIER;
  if (params->metric) ZB_TRY(zb_metric_parse(params->metric, &metric));
  return zb_step_time(plan, simulation, metric, out_ps);
}

/* Names as an option takes them, with commas between. */
typedef struct name_list {
  zb_text text;
  zb_map *seen;
  bool is_plain; /* no name has a character that means something there */
} name_list;

static zb_status add_name(name_list *list, zb_arena *arena, const char *name, size_t length) {
  enum { NAME_BYTES = 512 };
  char word[NAME_BYTES];
  list->is_plain &= length > 0 && length < sizeof word;
  if (!list->is_plain) return NULL;
  memcpy(word, name, length);
  word[length] = '\0';
  list->is_plain &= !strpbrk(word, ",*?[\\");
  if (zb_map_get(list->seen, word, NULL)) return NULL;
  zb_arena_map_set(arena, list->seen, word, 1);
  zb_text_add(&list->text, "%s%s", list->text.length ? "," : "", word);
  return zb_arena_status(arena);
}

static zb_status end_names(name_list *list, zb_arena *arena, const char *none, char **out) {
  const bool failed = list->text.failed;
  *out = zb_arena_strdup(arena, !list->is_plain ? "" : list->text.data ? list->text.data : none);
  zb_text_deinit(&list->text);
  return failed ? ZB_OUT_OF_MEMORY() : zb_arena_status(arena);
}

/* The parameter whose gradient the op adds up. */
static zb_status add_waiting(name_list *list, zb_arena *arena, MlirOperation op) {
  const char *name = zb_op_is(op, "zb.accumulate") ? zb_get_string(op, "parameter") : NULL;
  return name ? add_name(list, arena, name, strlen(name)) : NULL;
}

/* The node of an op that is computed again, or the whole name: "module.path (node)". Views go with what they look at.
 */
static zb_status add_again(name_list *list, zb_arena *arena, MlirOperation op) {
  const MlirLocation location = mlirOperationGetLocation(op);
  const zb_op_def *def = zb_op_find(op);
  if (!zb_has_attribute(op, ZB_ATTR_RECOMPUTED) || !def || def->op_class != ZB_CLASS_KERNEL) return NULL;
  list->is_plain &= mlirLocationIsAName(location);
  if (!list->is_plain) return NULL;
  const char *name = mlirIdentifierStr(mlirLocationNameGetName(location)).data, *open = strstr(name, " (");
  return open ? add_name(list, arena, open + 2, strcspn(open + 2, ")")) : add_name(list, arena, name, strlen(name));
}

/* What --split and --recompute made of the program, as these options take it. */
static zb_status read_choices(MlirModule module, int stages, zb_attempt *out) {
  zb_arena *arena = &out->places.arena;
  const MlirOperation *functions = zb_stage_functions(arena, module, stages);
  name_list waiting = {.seen = zb_arena_map(arena), .is_plain = true}, again = waiting;
  again.seen = zb_arena_map(arena);
  zb_status status = zb_arena_status(arena);
  for (int f = 0; f < stages * ZB_KIND_COUNT && !status; ++f) {
    if (f % ZB_KIND_COUNT == ZB_F) continue;
    ZB_FOR_EACH_OP(op, zb_function_block(functions[f])) {
      if (!status && f % ZB_KIND_COUNT == ZB_W) status = add_waiting(&waiting, arena, op);
      if (!status) status = add_again(&again, arena, op);
    }
  }
  zb_status ended[] = {end_names(&waiting, arena, "none", &out->waiting),
                       end_names(&again, arena, "none", &out->again)};
  for (int i = 0; i < 2; ++i)
    if (!status)
      status = ended[i];
    else
      zb_status_free(ended[i]);
  return status;
}

static zb_status read_plan(const zb_compile_params *params, const zb_plan *plan, zb_attempt *out) {
  zb_arena *arena = &out->places.arena;
  zb_plan_simulation simulation;
  out->busy_ps = ZB_NEW(arena, int64_t, plan->rank_count);
  out->bytes = ZB_NEW(arena, uint64_t, plan->rank_count);
  out->stage_rank = ZB_NEW(arena, int, plan->stage_count);
  ZB_TRY(zb_arena_status(arena));
  ZB_TRY(zb_plan_simulate(plan, &simulation));
  zb_status status = step_of(params, plan, &simulation, &out->step_ps);
  for (int r = 0; r < plan->rank_count; ++r) {
    out->busy_ps[r] = simulation.ranks[r].busy_ps;
    out->bytes[r] = plan->ranks[r].arena_bytes;
  }
  for (int s = 0; s < plan->stage_count; ++s)
    out->stage_rank[s] = plan->stage_rank[s];
  zb_plan_simulation_free(&simulation);
  return status;
}

static zb_status run_attempt(const zb_compile_params *params, const zb_module *program, zb_attempt *out) {
  zb_pipeline pipeline = {0}, rest;
  *out = (zb_attempt){.step_ps = INT64_MAX, .needed_bytes = UINT64_MAX};
  zb_compile_state state = {.options_of_zbc = true, .summary = &out->facts, .made = &out->made, .places = &out->places};
  zb_module copy = *program;
  copy.module = mlirModuleFromOperation(mlirOperationClone(mlirModuleGetOperation(program->module)));
  zb_status status = mlirModuleIsNull(copy.module) ? ZB_OUT_OF_MEMORY() : zb_pipeline_of_params(params, &pipeline);
  if (status) goto cleanup;
  zb_pipeline_split(&pipeline, false, &rest);
  status = zb_pipeline_run(&rest, &copy, &state, NULL);
  zb_code code = zb_status_code(status);
  if (code == ZB_INVALID || code == ZB_INFEASIBLE || code == ZB_USAGE) {
    zb_status_free(status); /* not defined for these stages, or over the limit: others may do */
    status = NULL;
    if (state.needed_bytes) out->needed_bytes = state.needed_bytes;
  } else if (!status) {
    ZB_TRY_GOTO(read_plan(params, state.plan, out));
    ZB_TRY_GOTO(read_choices(copy.module, state.plan->stage_count, out));
  }
cleanup:
  zb_pipeline_deinit(&pipeline);
  zb_plan_destroy(state.plan);
  if (!mlirModuleIsNull(copy.module)) mlirModuleDestroy(copy.module);
  return status;
}

/* The attempt `none` in the place of one with --recompute auto, with what that says of nothing computed again. */
static void take_none(zb_attempt *none, zb_attempt *out) {
  none->made.decided |= ZB_CHOICE_AGAIN;
  none->facts.recompute_seconds = out->facts.recompute_seconds;
  none->facts.recompute_bytes = out->facts.recompute_bytes;
  zb_attempt_deinit(out);
  *out = *none;
}

/* With --recompute auto the plan without it is among what is compared: as the option left out gives it, with the choice
 * of --split for this limit. */
zb_status zb_attempt_run(const zb_compile_params *params, const zb_module *program, zb_attempt *out) {
  zb_compile_params without = *params;
  zb_attempt none;
  ZB_TRY(run_attempt(params, program, out));
  if (strcmp(params->recompute, "auto") != 0) return NULL;
  without.recompute = "none";
  zb_status status = run_attempt(&without, program, &none);
  if (!status && zb_attempt_is_better(&none, out))
    take_none(&none, out);
  else
    zb_attempt_deinit(&none);
  return status;
}

void zb_attempt_deinit(zb_attempt *attempt) {
  zb_choice_deinit(&attempt->made);
  zb_arena_deinit(&attempt->places.arena);
}

bool zb_attempt_is_better(const zb_attempt *x, const zb_attempt *y) {
  if (x->step_ps != y->step_ps) return x->step_ps < y->step_ps;
  return x->step_ps == INT64_MAX && x->needed_bytes < y->needed_bytes;
}

/* ---- Placements ---- */

/* The best ones, and what they were compiled with. */
typedef struct contender {
  zb_compile_params params;
  zb_attempt attempt;
} contender;
enum { CONTENDERS = 3 };

/* Takes the attempt. */
static void enter(contender *best, const zb_compile_params *params, zb_attempt *attempt) {
  int at = CONTENDERS;
  while (at > 0 && zb_attempt_is_better(attempt, &best[at - 1].attempt))
    --at;
  if (at == CONTENDERS) {
    zb_attempt_deinit(attempt);
    return;
  }
  zb_attempt_deinit(&best[CONTENDERS - 1].attempt);
  memmove(&best[at + 1], &best[at], (size_t)(CONTENDERS - at - 1) * sizeof *best);
  best[at] = (contender){*params, *attempt};
}

static bool has_plan(const zb_attempt *attempt) { return attempt->step_ps < INT64_MAX; }

/* What --split and --recompute leave open takes several compiles each. While cuts are tried it is as in the attempt, as
 * far as that can be said; without a plan what takes least. */
static zb_status fix_choices(zb_compile_params *params, const zb_attempt *attempt, zb_arena *texts) {
  const struct {
    const char **option, *found, *least;
  } choices[] = {{&params->split, attempt->waiting, "none"}, {&params->recompute, attempt->again, "all"}};
  for (int i = 0; i < 2; ++i) {
    if (strcmp(*choices[i].option, "auto") != 0) continue;
    if (!has_plan(attempt)) *choices[i].option = choices[i].least;
    if (has_plan(attempt) && *choices[i].found) *choices[i].option = zb_arena_strdup(texts, choices[i].found);
  }
  return zb_arena_status(texts);
}

static bool is_open(const zb_compile_params *params) {
  return strcmp(params->split, "auto") == 0 || strcmp(params->recompute, "auto") == 0;
}

static zb_status try_layout(const zb_compile_params *params, const zb_module *program, contender *best) {
  zb_attempt attempt;
  zb_status status = zb_attempt_run(params, program, &attempt);
  if (status)
    zb_attempt_deinit(&attempt);
  else
    enter(best, params, &attempt);
  return status;
}

static zb_status try_layouts(const zb_compile_params *given, const zb_module *program, contender *best) {
  zb_compile_params params = *given;
  zb_schedule_choice choice;
  ZB_TRY(zb_schedule_parse(params.schedule, &choice));
  for (int i = 0; i < LAYOUTS; ++i) {
    params.placement = searched_layouts[i].placement;
    params.chunks = searched_layouts[i].chunks;
    if (params.chunks < choice.schedule->chunks_min || params.chunks > choice.schedule->chunks_max ||
        (params.chunks > CHUNKS_ALWAYS && best->params.chunks < CHUNKS_ALWAYS))
      continue;
    ZB_TRY(try_layout(&params, program, best));
  }
  return NULL;
}

/* ---- Placements and cuts ---- */

/* Each trial is a compile: fewer for programs with many ops or jobs, and where no limit makes an order hard. */
enum { LEAST_TRIALS = 2 };
static int default_trials(const zb_compile_params *params, const zb_attempt *attempt) {
  enum { WITHIN_LIMIT = 32, WITHOUT = 12, SIZE = 4096 };
  const int64_t size = attempt->places.count + (int64_t)attempt->places.stages * params->micro_batches;
  const int64_t most = params->memory_limit ? WITHIN_LIMIT : WITHOUT, trials = size > SIZE ? most * SIZE / size : most;
  return trials > LEAST_TRIALS ? (int)trials : LEAST_TRIALS;
}

/* With other cuts other gradients may be better in B, and other values computed again: what was left open is chosen
 * again. Keeps the better. */
static zb_status choose_again(contender *at, const zb_compile_params *given, const zb_module *program,
                              bool *out_better) {
  zb_compile_params params = at->params;
  zb_attempt again;
  params.split = given->split;
  params.recompute = given->recompute;
  zb_status status = zb_attempt_run(&params, program, &again);
  *out_better = !status && zb_attempt_is_better(&again, &at->attempt);
  if (*out_better) {
    zb_attempt_deinit(&at->attempt);
    *at = (contender){params, again};
    return NULL;
  }
  zb_attempt_deinit(&again);
  return status;
}

/* Whether other cuts may do what none of the placements does: to keep the limit. */
static bool is_hopeless(const zb_compile_params *given, const zb_attempt *attempt) {
  return !has_plan(attempt) && attempt->needed_bytes / 5 > given->memory_limit / 4;
}

/* Cuts, then what is left open with them, in turn, until neither gets better, but not often: a choice takes as long as
 * some ten trials, or some forty where each is a search within a limit. */
static zb_status climb(contender *at, const zb_compile_params *given, const zb_module *program, zb_arena *texts,
                       int *trials) {
  enum { CHOICES = 3 };
  bool better = true;
  for (int i = 0; better && *trials > 0 && i < CHOICES && zb_trial_pays(program->memo); ++i) {
    zb_compile_params params = at->params;
    zb_cuts_tried tried = {0};
    const char *before = params.cuts;
    ZB_TRY(fix_choices(&params, &at->attempt, texts));
    const bool is_slow = is_open(&params); /* each trial chooses for itself */
    int few = is_slow && !given->cut_trials && *trials > LEAST_TRIALS ? LEAST_TRIALS : *trials;
    *trials -= few;
    zb_status status = zb_cuts_climb(&params, program, texts, &tried, &at->attempt, &few);
    zb_arena_deinit(&tried.arena);
    *trials += few;
    if (status) return status;
    better = params.cuts != before;
    if (better) at->params = params;
    if (!better || is_slow || !is_open(given)) return NULL;
    ZB_TRY(choose_again(at, given, program, &better));
  }
  return NULL;
}

/* From the best ones, where they are near: each gets half of the trials that are left, the last all. */
static zb_status try_cuts(const zb_compile_params *given, const zb_module *program, zb_arena *texts, contender *best,
                          int *out_tried) {
  int left = given->cut_trials ? given->cut_trials - 1 : default_trials(given, &best->attempt);
  const int all = left;
  const int64_t first = best->attempt.step_ps;
  if (is_hopeless(given, &best->attempt)) return NULL;
  for (int i = 0; i < CONTENDERS; ++i) {
    contender *at = &best[i];
    if (i > 0 && (!has_plan(&at->attempt) || (double)at->attempt.step_ps > 1.03 * (double)first)) continue;
    int own = i + 1 < CONTENDERS ? (left + 1) / 2 : left;
    left -= own;
    ZB_TRY(climb(at, given, program, texts, &own));
    left += own;
  }
  *out_tried = all - left;
  return NULL;
}

static void discard(void *context, const char *text) {
  (void)context;
  (void)text;
}

/* The places of cuts of the program with these params: *out, without an attempt's plan. */
static zb_status find_places(const zb_compile_params *params, const zb_module *program, zb_cut_places *out) {
  zb_pipeline pipeline = {0}, rest;
  zb_compile_state state = {.options_of_zbc = true, .places = out};
  zb_module copy = *program;
  zb_status status = NULL;
  copy.module = mlirModuleFromOperation(mlirOperationClone(mlirModuleGetOperation(program->module)));
  if (mlirModuleIsNull(copy.module)) return ZB_OUT_OF_MEMORY();
  ZB_TRY_GOTO(zb_pipeline_of_params(params, &pipeline));
  zb_pipeline_split(&pipeline, false, &rest);
  rest.count = 1; /* zb-partition */
  status = zb_pipeline_run(&rest, &copy, &state, NULL);
cleanup:
  zb_pipeline_deinit(&pipeline);
  mlirModuleDestroy(copy.module);
  return status;
}

/* The compile itself obeys, with or without a plan. */
static void keep_choice(zb_attempt *attempt, zb_owned_texts *owned, zb_compile_summary *summary) {
  const zb_compile_summary *facts = &attempt->facts;
  owned->choice = attempt->made;
  attempt->made = (zb_choice){0};
  summary->rank_bound_seconds = facts->rank_bound_seconds;
  summary->split_seconds = facts->split_seconds;
  summary->split_bytes = facts->split_bytes;
  summary->split_proven = facts->split_proven;
  summary->split_bound_seconds = facts->split_bound_seconds;
  summary->recompute_seconds = facts->recompute_seconds;
  summary->recompute_bytes = facts->recompute_bytes;
}

/* Other cuts that keep less, where there are any; else *cuts is NULL. */
static zb_status find_few(const zb_compile_params *params, const zb_module *program, zb_arena *texts,
                          const char **cuts) {
  zb_cut_places places = {0};
  zb_status status = NULL;
  *cuts = NULL;
  if (params->cuts) return NULL;
  ZB_TRY_GOTO(find_places(params, program, &places));
  if (places.few && zb_cuts_have_names(&places)) status = zb_cuts_text(&places, places.few, texts, cuts);
cleanup:
  zb_arena_deinit(&places.arena);
  return status;
}

static zb_status compare_cuts(zb_compile_params *params, zb_owned_texts *owned, const zb_module *program,
                              zb_compile_summary *summary) {
  zb_compile_params few = *params;
  zb_attempt by_cost = {0}, by_bytes = {0};
  zb_status status = NULL;
  ZB_TRY(find_few(params, program, &owned->arena, &few.cuts));
  ZB_TRY_GOTO(zb_attempt_run(params, program, &by_cost));
  if (few.cuts) ZB_TRY_GOTO(zb_attempt_run(&few, program, &by_bytes));
  const bool are_few = few.cuts && zb_attempt_is_better(&by_bytes, &by_cost);
  if (are_few) *params = few;
  keep_choice(are_few ? &by_bytes : &by_cost, owned, summary);
cleanup:
  zb_attempt_deinit(&by_cost);
  zb_attempt_deinit(&by_bytes);
  return status;
}

zb_status zb_recompute_cuts_search(zb_compile_params *params, zb_owned_texts *owned, const zb_module *program,
                                   zb_diagnostics *diagnostics, zb_compile_summary *summary) {
  const zb_diagnostics spoken = *diagnostics;
  diagnostics->write = discard;
  zb_status status = compare_cuts(params, owned, program, summary);
  *diagnostics = spoken;
  if (!status || zb_status_code(status) == ZB_MEMORY) return status;
  zb_status_free(status); /* the compile itself says it */
  return NULL;
}

/* What a search has found: the best ones, and how many cuts it has tried. */
typedef struct found {
  contender best[CONTENDERS];
  int64_t first_ps; /* before other cuts were tried */
  int tried;
} found;

static zb_status search(const zb_compile_params *given, zb_open open, zb_arena *texts, const zb_module *program,
                        found *out) {
  const contender none = {*given, {.step_ps = INT64_MAX, .needed_bytes = UINT64_MAX}};
  *out = (found){.best = {none, none, none}};
  ZB_TRY((open == ZB_OPEN_PLACEMENT ? try_layouts : try_layout)(given, program, out->best));
  out->first_ps = out->best->attempt.step_ps;
  return given->cuts || given->layout ? NULL : try_cuts(given, program, texts, out->best, &out->tried);
}

static void deinit(found *it) {
  for (int i = 0; i < CONTENDERS; ++i)
    zb_attempt_deinit(&it->best[i].attempt);
}

static contender *best_of(found *it) {
  contender *chosen = it->best;
  for (int i = 1; i < CONTENDERS; ++i)
    if (zb_attempt_is_better(&it->best[i].attempt, &chosen->attempt)) chosen = &it->best[i];
  return chosen;
}

/* The whole search with less to choose from: what it finds, with the choice for its placement and cuts, is compared
 * with what is found with the choice: so auto is not slower than that search. */
static zb_status search_without(const zb_compile_params *given, const char *split, const char *recompute, zb_open open,
                                zb_arena *texts, const zb_module *program, found *out) {
  zb_compile_params without = *given, params;
  found none;
  without.split = split;
  without.recompute = recompute;
  zb_status status = search(&without, open, texts, program, &none);
  const contender *chosen = best_of(&none);
  if (!status && has_plan(&chosen->attempt)) {
    params = chosen->params;
    params.split = given->split;
    params.recompute = given->recompute;
    status = try_layout(&params, program, out->best);
  }
  out->tried += none.tried;
  deinit(&none);
  return status;
}

/* The searches that auto must not be slower than. Without a memory limit --split auto is all. What a compile without
 * --recompute compares is compared with --recompute auto, too; but there none is left out where values are computed
 * again, as each such search takes several times as long. Where searches have taken long already the rest is left out.
 */
static zb_status search_others(const zb_compile_params *given, zb_open open, zb_arena *texts, const zb_module *program,
                               found *out) {
  const char *const splits[] = {given->split, "all", "products", "none"};
  const char *const recomputes[] = {given->recompute, "none"};
  const bool splits_too = given->memory_limit && strcmp(given->split, "auto") == 0;
  const int last = strcmp(given->recompute, "auto") == 0 ? 1 : 0;
  for (int r = last; r >= 0; --r)
    for (int s = 0; s < (!splits_too ? 1 : r == last ? 4 : 3); ++s)
      if ((r > 0 || s > 0) && zb_trial_pays(program->memo))
        ZB_TRY(search_without(given, splits[s], recomputes[r], open, texts, program, out));
  return NULL;
}

zb_status zb_layout_search(zb_compile_params *params, zb_open open, zb_owned_texts *owned, const zb_module *program,
                           zb_diagnostics *diagnostics, zb_compile_summary *summary) {
  const zb_diagnostics spoken = *diagnostics;
  const zb_compile_params given = *params;
  found all;
  diagnostics->write = discard;
  zb_status status = search(&given, open, &owned->arena, program, &all);
  if (status) goto cleanup;
  ZB_TRY_GOTO(search_others(&given, open, &owned->arena, program, &all));
  contender *chosen = best_of(&all);
  *params = chosen->params;
  keep_choice(&chosen->attempt, owned, summary);
  status = zb_summarize_search(&given, params, all.tried ? all.tried + 1 : 0, all.first_ps, summary);
cleanup:
  deinit(&all);
  *diagnostics = spoken;
  return status;
}
