/* zb_compile: the placement of a schedule that searches. Costs, memory and messages of a stage depend on how many there
 * are and where, so each placement is compiled to its plan. From the best ones other cuts are tried (joint.c).
 *
 * Test: test/tools/zbc-schedule.test, test/e2e/joint_search.py. */

#include "passes/compile/parts.h"
#include "passes/function.h"
#include "passes/stages/problem.h"
#include "passes/stages/step_time.h"
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

/* The parameters whose gradients are in W, as --split takes them: names in which nothing has a meaning there. */
static zb_status read_waiting(MlirModule module, int stages, zb_attempt *out) {
  zb_arena *arena = &out->places.arena;
  const MlirOperation *functions = zb_stage_functions(arena, module, stages);
  zb_text text = {0};
  bool is_plain = true;
  ZB_TRY(zb_arena_status(arena));
  for (int s = 0; s < stages; ++s)
    ZB_FOR_EACH_OP(op, zb_function_block(functions[s * ZB_KIND_COUNT + ZB_W])) {
      const char *name = zb_op_is(op, "zb.accumulate") ? zb_get_string(op, "parameter") : NULL;
      if (!name) continue;
      is_plain &= !strpbrk(name, ",*?[\\");
      zb_text_add(&text, "%s%s", text.length ? "," : "", name);
    }
  out->waiting = zb_arena_strdup(arena, is_plain && text.data ? text.data : "");
  const bool failed = text.failed;
  zb_text_deinit(&text);
  return failed ? ZB_OUT_OF_MEMORY() : zb_arena_status(arena);
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

zb_status zb_attempt_run(const zb_compile_params *params, const zb_module *program, zb_attempt *out) {
  zb_pipeline pipeline = {0}, rest;
  *out = (zb_attempt){.step_ps = INT64_MAX, .needed_bytes = UINT64_MAX};
  zb_compile_state state = {.options_of_zbc = true, .places = &out->places};
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
    ZB_TRY_GOTO(read_waiting(copy.module, state.plan->stage_count, out));
  }
cleanup:
  zb_pipeline_deinit(&pipeline);
  zb_plan_destroy(state.plan);
  if (!mlirModuleIsNull(copy.module)) mlirModuleDestroy(copy.module);
  return status;
}

void zb_attempt_deinit(zb_attempt *attempt) { zb_arena_deinit(&attempt->places.arena); }

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

static bool is_auto(const zb_compile_params *params) { return strcmp(params->split, "auto") == 0; }

static bool has_plan(const zb_attempt *attempt) { return attempt->step_ps < INT64_MAX; }

/* The gradients that wait as in the attempt, where `params` leaves that open. Without a plan none: that takes least. */
static zb_status fix_split(zb_compile_params *params, const zb_attempt *attempt, zb_arena *texts) {
  if (!is_auto(params)) return NULL;
  if (!has_plan(attempt)) params->split = "none";
  if (!attempt->waiting || !*attempt->waiting) return NULL;
  params->split = zb_arena_strdup(texts, attempt->waiting);
  return zb_arena_status(texts);
}

static zb_status try_layouts(const zb_compile_params *given, const zb_module *program, contender *best) {
  zb_compile_params params = *given;
  zb_schedule_choice choice;
  ZB_TRY(zb_schedule_parse(params.schedule, &choice));
  for (int i = 0; i < LAYOUTS; ++i) {
    zb_attempt attempt;
    params.placement = searched_layouts[i].placement;
    params.chunks = searched_layouts[i].chunks;
    if (params.chunks < choice.schedule->chunks_min || params.chunks > choice.schedule->chunks_max ||
        (params.chunks > CHUNKS_ALWAYS && best->params.chunks < CHUNKS_ALWAYS))
      continue;
    zb_status status = zb_attempt_run(&params, program, &attempt);
    if (status) {
      zb_attempt_deinit(&attempt);
      return status;
    }
    enter(best, &params, &attempt);
  }
  return NULL;
}

/* ---- Placements and cuts ---- */

/* Each trial is a compile: fewer for programs with many ops or jobs, and where no limit makes an order hard. */
static int default_trials(const zb_compile_params *params, const zb_attempt *attempt) {
  enum { WITHIN_LIMIT = 32, WITHOUT = 12, LEAST = 2, SIZE = 4096 };
  const bool is_slow = params->recompute && strcmp(params->recompute, "auto") == 0; /* seconds a compile */
  if (is_slow) return LEAST;
  const int64_t size = attempt->places.count + (int64_t)attempt->places.stages * params->micro_batches;
  const int64_t most = params->memory_limit ? WITHIN_LIMIT : WITHOUT, trials = size > SIZE ? most * SIZE / size : most;
  return trials > LEAST ? (int)trials : LEAST;
}

/* With other cuts other gradients may be better in B: what was left open is chosen again. Keeps the better. */
static zb_status choose_split(contender *at, const zb_compile_params *given, const zb_module *program) {
  zb_compile_params params = at->params;
  zb_attempt again;
  params.split = given->split;
  zb_status status = zb_attempt_run(&params, program, &again);
  if (!status && zb_attempt_is_better(&again, &at->attempt)) {
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

/* From the best ones, where they are near: each gets half of the trials that are left, the last all. */
static zb_status try_cuts(const zb_compile_params *given, const zb_module *program, zb_arena *texts, contender *best,
                          int *tried) {
  const int trials = given->cut_trials ? given->cut_trials - 1 : default_trials(given, &best->attempt);
  if (is_hopeless(given, &best->attempt)) return NULL;
  for (int i = 0; i < CONTENDERS; ++i) {
    contender *at = &best[i];
    if (i > 0 && (!has_plan(&at->attempt) || (double)at->attempt.step_ps > 1.03 * (double)best->attempt.step_ps))
      continue;
    zb_compile_params params = at->params;
    ZB_TRY(fix_split(&params, &at->attempt, texts));
    const int left = trials - *tried;
    ZB_TRY(zb_cuts_climb(&params, program, texts, i + 1 < CONTENDERS ? (left + 1) / 2 : left, &at->attempt, tried));
    if (!params.cuts) continue;
    at->params = params;
    if (is_auto(given)) ZB_TRY(choose_split(at, given, program));
  }
  return NULL;
}

static void discard(void *context, const char *text) {
  (void)context;
  (void)text;
}

zb_status zb_layout_search(zb_compile_params *params, zb_owned_texts *owned, const zb_module *program,
                           zb_diagnostics *diagnostics, zb_compile_summary *summary) {
  const zb_diagnostics spoken = *diagnostics;
  const contender none = {*params, {.step_ps = INT64_MAX, .needed_bytes = UINT64_MAX}};
  contender best[CONTENDERS] = {none, none, none};
  zb_status status = NULL;
  int tried = 0;
  diagnostics->write = discard;
  ZB_TRY_GOTO(try_layouts(params, program, best));
  const int64_t first = best->attempt.step_ps;
  if (!params->cuts && !params->layout) ZB_TRY_GOTO(try_cuts(params, program, &owned->arena, best, &tried));
  const contender *chosen = best;
  for (int i = 1; i < CONTENDERS; ++i)
    if (zb_attempt_is_better(&best[i].attempt, &chosen->attempt)) chosen = &best[i];
  *params = chosen->params;
  status = zb_summarize_search(params, tried ? tried + 1 : 0, first, summary);
cleanup:
  for (int i = 0; i < CONTENDERS; ++i)
    zb_attempt_deinit(&best[i].attempt);
  *diagnostics = spoken;
  return status;
}
