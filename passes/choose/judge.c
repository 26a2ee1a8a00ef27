/* Judging choices by their plans: see passes/choose/judge.h. Tests: test/e2e/split.py, test/e2e/recompute.py,
 * test/e2e/joint_search.py. */

#include "passes/choose/judge.h"

#include "passes/graph.h"
#include "passes/stages/jobs/schedule_file.h"
#include "passes/stages/jobs/step_time.h"
#include "runtime/base/digest.h"
#include "runtime/base/memo.h"
#include "runtime/plan/file/plan.h"
#include "runtime/base/file.h"

#include <string.h>

/* ---- Which is better ---- */

bool zb_candidate_fits(const zb_candidate *x, int64_t limit) { return x->exists && (!limit || x->most <= limit); }

bool zb_candidate_is_better(const zb_candidate *x, const zb_candidate *than, int64_t limit) {
  if (!x->exists && !than->exists) return x->most && (!than->most || x->most < than->most);
  if (!x->exists || !than->exists) return x->exists;
  const bool fits = zb_candidate_fits(x, limit), than_fits = zb_candidate_fits(than, limit);
  if (fits != than_fits) return fits;
  if (fits || x->most == than->most) return x->step_ps < than->step_ps;
  return x->most < than->most;
}

bool zb_judge_is_no_plan(zb_status status) {
  const zb_code code = zb_status_code(status);
  return status && (code == ZB_INVALID || code == ZB_INFEASIBLE || code == ZB_USAGE);
}

/* ---- All ---- */

static bool goes_on(void *context) {
  zb_plan_judge *judge = context;
  const zb_compile_params *told = judge->pass->state->told;
  zb_search_state state = {.plans = judge->plans};
  if (judge->best)
    state = (zb_search_state){.plans = judge->plans,
                              .best_seconds = 1e-12 * (double)judge->best->step_ps,
                              .best_bytes = (uint64_t)judge->best->most,
                              .bound_seconds = 1e-12 * (double)judge->bound_ps};
  if (judge->answer == ZB_SEARCH_GO_ON) judge->answer = told->searching(told->progress_context, &state);
  return judge->answer == ZB_SEARCH_GO_ON;
}

void zb_plan_judge_init(const zb_asked *given, zb_plan_judge *out) {
  const zb_compile_state *state = given->pass->state;
  *out = (zb_plan_judge){
      .pass = given->pass, .given = given, .watch = {goes_on, out}, .options_of_zbc = state && state->options_of_zbc};
  out->known = zb_arena_map_pointer(&out->arena);
}

static void free_judged(zb_judged *judged) {
  if (!judged) return;
  if (!mlirModuleIsNull(judged->program.module)) mlirModuleDestroy(judged->program.module);
  zb_choice_deinit(&judged->made);
  zb_arena_deinit(&judged->places.arena);
  zb_free(judged);
}

void zb_plan_judge_deinit(zb_plan_judge *judge) {
  for (int l = 0; l < ZB_JUDGED_LEVELS; ++l)
    free_judged(judge->levels[l]);
  for (size_t i = 0; i < judge->candidates.count; ++i) {
    zb_choice_deinit(&judge->candidates.items[i]->choice);
    zb_status_free(judge->candidates.items[i]->why);
  }
  zb_arena_deinit(&judge->arena);
}

bool zb_judge_pays(const zb_plan_judge *judge) {
  static const int64_t timed_jobs_most = 600000000;
  return zb_memo_spent(judge->pass->program->memo) < timed_jobs_most;
}

/* What a plan takes, with its part of the passes before, in timed jobs: as measured, 20 us and 15 ns. */
static void spend(const zb_plan_judge *judge, int64_t size) {
  enum { JOBS_OF_INSTRUCTION = 1500 };
  zb_memo_spend(judge->pass->program->memo, size * JOBS_OF_INSTRUCTION);
}

/* ---- Copies ---- */

static const struct {
  unsigned decisions;
  const char *passes[5];
} levels[ZB_JUDGED_LEVELS] = {
    {ZB_CHOICE_PLACEMENT | ZB_CHOICE_CUTS, {"zb-partition"}},
    {ZB_CHOICE_AGAIN, {"zb-recompute", "zb-classify"}},
    {ZB_CHOICE_IN_B, {"zb-split-policy", "zb-outline", "zb-norm-sums", "zb-shard-optimizer", "zb-memory"}},
};

/* Adds a pass, with those options of zb-choose that it has too. */
static zb_status add_pass(const zb_asked *asked, const char *name, zb_pipeline *out) {
  const zb_pass *pass = asked->pass;
  ZB_TRY(zb_pipeline_add(out, name, NULL));
  zb_pipeline_entry *entry = &out->entries[out->count - 1];
  for (int i = 0; entry->def->options && entry->def->options[i].name; ++i) {
    const char *option = entry->def->options[i].name;
    for (int k = 0; pass->def->options[k].name; ++k)
      if (strcmp(option, pass->def->options[k].name) == 0) entry->values[i] = pass->option_values[k];
    if (strcmp(option, "split") == 0) entry->values[i] = asked->split;
    if (strcmp(option, "recompute") == 0) entry->values[i] = asked->recompute;
  }
  return NULL;
}

static MlirLogicalResult drop(MlirDiagnostic diagnostic ZB_UNUSED, void *context ZB_UNUSED) {
  return mlirLogicalResultSuccess();
}

/* What passes say of a copy nobody is to hear: others may do, and the compile itself says it if none does. */
static zb_status run_quietly(const zb_plan_judge *judge, const zb_pipeline *pipeline, zb_module *copy,
                             zb_compile_state *state) {
  if (judge->is_loud) return zb_pipeline_run(pipeline, copy, state, NULL);
  MlirDiagnosticHandlerID quiet = mlirContextAttachDiagnosticHandler(copy->context, drop, NULL, NULL);
  zb_status status = zb_pipeline_run(pipeline, copy, state, NULL);
  mlirContextDetachDiagnosticHandler(copy->context, quiet);
  return status;
}

static zb_status copy_module(const zb_pass *pass, MlirModule module, zb_module *out) {
  *out = *pass->program;
  out->module = mlirModuleFromOperation(mlirOperationClone(mlirModuleGetOperation(module)));
  return mlirModuleIsNull(out->module) ? ZB_OUT_OF_MEMORY() : NULL;
}

static uint64_t add_text(uint64_t digest, const char *text) { return zb_fnv1a(digest, text, strlen(text) + 1); }

/* What a level is made by: the choice, and options for what it leaves open. Cuts depend on what is computed again. */
static uint64_t key_of(const zb_asked *asked, const zb_choice *choice, zb_judged_level level) {
  unsigned decisions = 0;
  for (int l = 0; l <= (int)level; ++l)
    decisions |= levels[l].decisions;
  const unsigned open = decisions & ~choice->decided;
  uint64_t key = zb_choice_digest(choice, decisions);
  if (open & (ZB_CHOICE_CUTS | ZB_CHOICE_AGAIN)) key = add_text(key, asked->recompute);
  return open & ZB_CHOICE_IN_B ? add_text(key, asked->split) : key;
}

/* below: NULL: the program itself. */
static zb_status run_level(zb_plan_judge *judge, const zb_asked *asked, const zb_choice *choice, zb_judged_level level,
                           const zb_judged *below, zb_judged *out) {
  zb_pipeline pipeline = {0};
  zb_compile_state state = {.choice = choice, .made = &out->made, .options_of_zbc = judge->options_of_zbc};
  zb_status status = NULL;
  if (level == ZB_JUDGED_STAGED) state.places = &out->places;
  if (below) ZB_TRY(zb_choice_take(&out->made, &below->made, ZB_CHOICE_ALL));
  ZB_TRY(copy_module(judge->pass, below ? below->program.module : judge->pass->program->module, &out->program));
  for (int i = 0; i < (int)(sizeof levels->passes / sizeof levels->passes[0]) && levels[level].passes[i]; ++i)
    ZB_TRY_GOTO(add_pass(asked, levels[level].passes[i], &pipeline));
  ZB_TRY_GOTO(run_quietly(judge, &pipeline, &out->program, &state));
  out->made.decided |= levels[level].decisions;
cleanup:
  zb_pipeline_deinit(&pipeline);
  return status;
}

static zb_status make(zb_plan_judge *judge, const zb_asked *asked, const zb_choice *choice, zb_judged_level level,
                      uint64_t key, zb_judged **out) {
  const zb_judged *below = NULL;
  if (level > ZB_JUDGED_STAGED) ZB_TRY(zb_judge_program(judge, asked, choice, (zb_judged_level)(level - 1), &below));
  zb_judged *made = zb_alloc(sizeof *made);
  if (!made) return ZB_OUT_OF_MEMORY();
  *made = (zb_judged){.key = key};
  zb_status status = run_level(judge, asked, choice, level, below, made);
  made->own_key = key_of(asked, &made->made, level);
  if (status) {
    free_judged(made);
    made = NULL;
  }
  *out = made;
  return status;
}

zb_status zb_judge_program(zb_plan_judge *judge, const zb_asked *asked, const zb_choice *choice, zb_judged_level level,
                           const zb_judged **out) {
  const uint64_t key = key_of(asked, choice, level);
  zb_judged **slot = &judge->levels[level], *made = NULL;
  if (!*slot || ((*slot)->key != key && (*slot)->own_key != key)) {
    ZB_TRY(make(judge, asked, choice, level, key, &made));
    free_judged(*slot);
    *slot = made;
  }
  *out = *slot;
  return NULL;
}

/* ---- Candidates ---- */

static zb_status add(zb_plan_judge *judge, const zb_choice *choice, zb_candidate **out) {
  zb_candidate *made = *out = ZB_NEW(&judge->arena, zb_candidate, 1);
  ZB_TRY(zb_arena_status(&judge->arena));
  if (!ZB_PUSH(&judge->arena, &judge->candidates, made)) return zb_arena_status(&judge->arena);
  return zb_choice_take(&made->choice, choice, ZB_CHOICE_ALL);
}

zb_status zb_judge_refuse(zb_plan_judge *judge, const zb_choice *choice, int64_t needed, zb_status why,
                          const zb_candidate **out) {
  zb_candidate *made;
  zb_status status = add(judge, choice, &made);
  if (status) {
    zb_status_free(why);
    return status;
  }
  made->most = needed;
  made->why = why;
  *out = made;
  return NULL;
}

/* What the plan takes. */
static zb_status measure(zb_arena *arena, const zb_plan *plan, zb_metric metric, zb_candidate *out) {
  zb_plan_simulation simulation = {0};
  zb_status status = NULL;
  out->bytes = ZB_NEW(arena, int64_t, plan->rank_count);
  out->busy_ps = ZB_NEW(arena, int64_t, plan->rank_count);
  ZB_TRY(zb_arena_status(arena));
  ZB_TRY_GOTO(zb_plan_simulate(plan, &simulation));
  ZB_TRY_GOTO(zb_step_time(plan, &simulation, metric, &out->step_ps));
  for (int r = 0; r < plan->rank_count; ++r) {
    out->size += plan->ranks[r].job_count;
    for (int s = 0; s < plan->ranks[r].subprogram_count; ++s)
      out->size += plan->ranks[r].subprograms[s].instruction_count;
    out->busy_ps[r] = simulation.ranks[r].busy_ps;
    out->bytes[r] = (int64_t)plan->ranks[r].arena_bytes;
    if (out->bytes[r] > out->most) out->most = out->bytes[r];
  }
  out->exists = true;
cleanup:
  zb_plan_simulation_free(&simulation);
  return status;
}

/* What the problem says of the order. */
static zb_status note_problem(zb_arena *arena, const zb_problem *problem, zb_candidate *out) {
  out->frames = ZB_NEW(arena, int64_t, problem->ranks);
  out->stage_rank = ZB_NEW(arena, int, problem->stages);
  out->costs = ZB_NEW(arena, zb_stage_cost, problem->stages);
  ZB_TRY(zb_arena_status(arena));
  memcpy(out->stage_rank, problem->stage_rank, (size_t)problem->stages * sizeof *out->stage_rank);
  memcpy(out->costs, problem->costs, (size_t)problem->stages * sizeof *out->costs);
  zb_order_peaks(problem, &out->choice.order, out->frames);
  return NULL;
}

static zb_status compile(zb_plan_judge *judge, const zb_judged *framed, const zb_candidate *made,
                         zb_compile_state *state) {
  static const char *const passes[] = {"zb-insert-comm", "zb-allocate", "zb-verify-plan"};
  zb_module copy = {0};
  zb_pipeline pipeline = {0};
  zb_status status = copy_module(judge->pass, framed->program.module, &copy);
  if (status) return status;
  zb_module_set_level(copy.module, "scheduled");
  ZB_TRY_GOTO(
      zb_module_order_write(copy.module, &made->choice.order, made->choice.schedule, made->choice.micro_batches));
  for (size_t i = 0; i < sizeof passes / sizeof passes[0]; ++i)
    ZB_TRY_GOTO(zb_pipeline_add(&pipeline, passes[i], NULL));
  ZB_TRY_GOTO(run_quietly(judge, &pipeline, &copy, state));
cleanup:
  zb_pipeline_deinit(&pipeline);
  mlirModuleDestroy(copy.module);
  return status;
}

/* A plan for what is asked beside (another schedule) is none for what was. */
static void note_best(zb_plan_judge *judge, const zb_asked *asked, const zb_problem *problem,
                      const zb_candidate *made) {
  const zb_asked *given = judge->given;
  ++judge->plans;
  if (asked->rule.schedule != given->rule.schedule || !zb_candidate_fits(made, given->limit)) return;
  if (judge->best && !zb_candidate_is_better(made, judge->best, given->limit)) return;
  judge->best = made;
  if (asked->watch) judge->bound_ps = zb_asked_bound(asked, problem);
}

/* Two orders of one digest would only make another choice of plan, whose memory zb-allocate checks. */
zb_status zb_judge_order(zb_plan_judge *judge, const zb_asked *asked, const zb_judged *framed,
                         const zb_module_problem *problem, const zb_order *order, const zb_candidate **out) {
  const char *name = asked->is_file ? zb_file_name(asked->schedule) : asked->rule.schedule->name;
  uint64_t key = add_text(zb_order_digest(zb_choice_digest(&framed->made, ZB_CHOICE_ALL), order), name);
  const int64_t at = zb_map_get_or(judge->known, zb_id_key((int64_t)(key >> 2)), -1);
  zb_compile_state state = {0};
  zb_candidate *made;
  if (at >= 0) {
    *out = judge->candidates.items[at];
    return NULL;
  }
  zb_arena_map_set(&judge->arena, judge->known, zb_id_key((int64_t)(key >> 2)), (int64_t)judge->candidates.count);
  ZB_TRY(add(judge, &framed->made, &made));
  made->choice.decided |= ZB_CHOICE_ORDER;
  made->choice.schedule = zb_arena_strdup(&made->choice.arena, name);
  made->choice.micro_batches = problem->problem.micro_batches;
  ZB_TRY(zb_choice_set_order(&made->choice, order));
  ZB_TRY(zb_arena_status(&made->choice.arena));
  ZB_TRY(note_problem(&judge->arena, &problem->problem, made));
  zb_status status = compile(judge, framed, made, &state);
  if (!status) status = measure(&judge->arena, state.plan, asked->metric, made);
  if (!status) spend(judge, made->size);
  zb_plan_destroy(state.plan);
  *out = made;
  ZB_TRY(status);
  note_best(judge, asked, &problem->problem, made);
  return zb_asked_goes_on(asked);
}

uint64_t zb_asked_digest(const zb_asked *asked, const zb_choice *choice) {
  uint64_t key = add_text(key_of(asked, choice, ZB_JUDGED_FRAMED), asked->schedule);
  key = zb_fnv1a(key, asked->rule.options, sizeof asked->rule.options);
  return zb_fnv1a(key, &asked->limit, sizeof asked->limit);
}
