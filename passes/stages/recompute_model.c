/* The model of zb-recompute, auto: see passes/stages/recompute_model.h. Test: test/e2e/recompute.py. */

#include "passes/stages/recompute_model.h"

#include "passes/function.h"
#include "passes/stages/cost.h"
#include "passes/stages/schedule_file.h"
#include "passes/stages/split_choice.h"
#include "passes/stages/trial.h"
#include "passes/tables.h"
#include "runtime/base/assert.h"

#include <stdlib.h>
#include <string.h>

/* ---- Levels ---- */

/* The mode of a layer: the first ones of its stage are computed again first. */
static zb_again mode_of(const zb_recompute_model *m, int level, int index, int layers) {
  const int whole = level < 2 ? 0 : (layers * (level - 1) + m->levels - 3) / (m->levels - 2);
  return level == 0 ? ZB_AGAIN_NOTHING : index < whole ? ZB_AGAIN_ALL : ZB_AGAIN_CHEAP;
}

zb_status zb_recompute_set_picks(const zb_recompute_model *m, const zb_pick *picks, zb_recompute *r) {
  zb_again *modes = ZB_NEW(r->arena, zb_again, r->layers.count);
  ZB_TRY(zb_arena_status(r->arena));
  for (int i = 0, index = 0; i < r->layers.count; ++i) {
    const int stage = r->layers.stage[i];
    index = i > 0 && r->layers.stage[i - 1] == stage ? index + 1 : 0;
    modes[i] = mode_of(m, picks[m->stage_rank[stage]].level, index, m->layers_of[stage]);
  }
  zb_recompute_set(r, modes);
  return NULL;
}

static void count_layers(zb_recompute_model *m) {
  int most = 0;
  for (int i = 0; i < m->layers->count; ++i) {
    const int count = ++m->layers_of[m->layers->stage[i]];
    if (count > most) most = count;
  }
  m->levels = 2 + (most < ZB_LAYER_LEVELS ? most : ZB_LAYER_LEVELS);
}

/* ---- Copies ---- */

static void release(zb_module *copy) {
  if (!mlirModuleIsNull(copy->module)) mlirModuleDestroy(copy->module);
  copy->module = (MlirModule){0};
}

/* Computes again what the picks say. */
static zb_status recompute(const zb_recompute_model *m, const zb_pick *picks, zb_module *copy) {
  zb_arena arena = {0};
  zb_recompute r;
  zb_costs *costs = NULL;
  MlirOperation function;
  MlirBlock block;
  int64_t changes = 0;
  zb_status status = NULL;
  ZB_TRY(zb_pass_costs(m->pass, &costs));
  if (!zb_pass_function(copy->module, &function, &block)) ZB_TRY_GOTO(ZB_OUT_OF_MEMORY());
  ZB_TRY_GOTO(zb_recompute_build(&arena, function, costs, &r));
  ZB_TRY_GOTO(zb_recompute_set_picks(m, picks, &r));
  ZB_TRY_GOTO(zb_recompute_choose(&r));
  status = zb_recompute_apply(&r, &changes);
cleanup:
  zb_costs_destroy(costs);
  zb_arena_deinit(&arena);
  return status;
}

/* The passes after this one, up to zb-split-policy. One share is that of the option. */
static zb_status classify(const zb_recompute_model *m, zb_module *copy) {
  zb_pipeline pipeline = {0};
  zb_compile_state state = {0};
  zb_status status = NULL;
  ZB_TRY_GOTO(zb_trial_add(m->pass, "zb-classify", &pipeline));
  if (m->shares == 1) ZB_TRY_GOTO(zb_trial_add(m->pass, "zb-split-policy", &pipeline));
  status = zb_pipeline_run(&pipeline, copy, &state, NULL);
cleanup:
  zb_pipeline_deinit(&pipeline);
  return status;
}

static zb_status read_groups(const zb_recompute_model *m, zb_arena *arena, const zb_module *copy, zb_graph *graph,
                             zb_w_groups *out) {
  zb_costs *costs = NULL;
  MlirOperation function;
  MlirBlock block;
  if (!zb_pass_function(copy->module, &function, &block)) return ZB_OUT_OF_MEMORY();
  ZB_TRY(zb_graph_build(arena, function, graph));
  ZB_TRY(zb_pass_costs(m->pass, &costs));
  zb_status status = zb_w_groups_build(arena, graph, costs, out);
  zb_costs_destroy(costs);
  return status;
}

static zb_status sort_groups(zb_arena *arena, const zb_w_groups *w, int stages, int **begin, int **group) {
  *begin = ZB_NEW(arena, int, stages + 1);
  *group = ZB_NEW(arena, int, w->group_count);
  ZB_TRY(zb_arena_status(arena));
  for (int stage = 0, count = 0; stage < stages; (*begin)[++stage] = count)
    for (int g = 0; g < w->group_count; ++g)
      if (w->groups[g].stage == stage) (*group)[count++] = g;
  return NULL;
}

/* A stage has the same groups as in the program with its level on all ranks. */
static zb_status set_shares(const zb_recompute_model *m, const zb_pick *picks, zb_module *copy, bool **in_b,
                            int *count) {
  zb_arena arena = {0};
  zb_graph graph;
  zb_w_groups w;
  int *begin, *group;
  zb_status status = NULL;
  ZB_TRY_GOTO(read_groups(m, &arena, copy, &graph, &w));
  ZB_TRY_GOTO(sort_groups(&arena, &w, m->stages, &begin, &group));
  *count = w.group_count;
  *in_b = ZB_NEW(&m->pass->arena, bool, w.group_count);
  ZB_TRY_GOTO(zb_arena_status(&m->pass->arena));
  for (int s = 0; s < m->stages; ++s) {
    const zb_pick *pick = &picks[m->stage_rank[s]];
    const zb_level *level = &m->level[pick->level];
    ZB_ASSERT(begin[s + 1] - begin[s] == level->stage_begin[s + 1] - level->stage_begin[s]);
    for (int i = 0; i < begin[s + 1] - begin[s]; ++i) {
      const int g = group[begin[s] + i];
      (*in_b)[g] = level->in_b[pick->share][level->stage_group[level->stage_begin[s] + i]];
      zb_w_group_set(&w, g, (*in_b)[g]);
    }
  }
  zb_w_groups_write(&w);
cleanup:
  zb_arena_deinit(&arena);
  return status;
}

zb_status zb_recompute_copy(const zb_recompute_model *m, const zb_pick *picks, zb_module *out, bool **in_b,
                            int *groups) {
  *in_b = NULL;
  *groups = 0;
  ZB_TRY(zb_trial_copy(m->pass, m->module, out));
  zb_status status = recompute(m, picks, out);
  if (!status) status = classify(m, out);
  if (!status && m->shares > 1) status = set_shares(m, picks, out, in_b, groups);
  if (status) release(out);
  return status;
}

/* ---- Shares ---- */

static void keep_share(zb_level *level, int share) {
  for (int g = 0; g < level->w.group_count; ++g)
    level->in_b[share][g] = level->w.groups[g].in_b;
}

/* Equal parts of what ranks can do without in the order of level 0, each with as little time in B as is found; of large
 * programs, whose frames take their time, fewer. */
static zb_status find_parts(const zb_recompute_model *m, zb_level *level) {
  enum { WORK = 200000, NODES = 4000 };
  const int stride = 1 + level->graph.node_count / NODES;
  zb_w_groups *w = &level->w;
  zb_split_memory memory;
  ZB_TRY(zb_split_memory_build(&m->pass->arena, w, &level->problem, &memory));
  zb_split_problem split = {.w = w, .memory = &memory, .problem = &level->problem.problem, .order = &m->order};
  int64_t *least = ZB_NEW(&m->pass->arena, int64_t, m->ranks), *most = ZB_NEW(&m->pass->arena, int64_t, m->ranks);
  ZB_TRY(zb_arena_status(&m->pass->arena));
  for (int g = 0; g < w->group_count; ++g)
    zb_w_group_set(w, g, true);
  keep_share(level, ZB_SHARE_ALL_IN_B);
  for (int r = 0; r < m->ranks; ++r)
    least[r] = zb_split_peak(&split, r);
  for (int g = 0; g < w->group_count; ++g)
    zb_w_group_set(w, g, false);
  for (int r = 0; r < m->ranks; ++r)
    most[r] = zb_split_peak(&split, r);
  for (int share = 0; share < ZB_SHARE_PARTS; ++share) {
    for (int r = 0; r < m->ranks && share % stride == 0; ++r) {
      const int64_t limit = most[r] - (most[r] - least[r]) * share / ZB_SHARE_PARTS;
      int64_t least_ps;
      ZB_TRY(zb_split_choose_rank(&split, r, limit, 0, WORK, &least_ps));
    }
    keep_share(level, share);
  }
  return NULL;
}

static zb_status find_shares(const zb_recompute_model *m, zb_level *level) {
  zb_w_groups *w = &level->w;
  ZB_TRY(find_parts(m, level));
  for (int g = 0; g < w->group_count; ++g)
    zb_w_group_set(w, g, !w->groups[g].has_product);
  keep_share(level, ZB_SHARE_PRODUCTS);
  return NULL;
}

/* ---- What stages take ---- */

/* The problem of a level with a share; *framed must outlive it. */
static zb_status frame(const zb_recompute_model *m, zb_level *level, int share, zb_module *framed,
                       zb_module_problem *out) {
  zb_pipeline pipeline = {0};
  zb_compile_state state = {0};
  zb_status status = NULL;
  for (int g = 0; m->shares > 1 && g < level->w.group_count; ++g)
    zb_w_group_set(&level->w, g, level->in_b[share][g]);
  if (m->shares > 1) zb_w_groups_write(&level->w);
  ZB_TRY(zb_trial_copy(m->pass, level->classified.module, framed));
  ZB_TRY_GOTO(zb_trial_add_frames(m->pass, &pipeline));
  ZB_TRY_GOTO(zb_pipeline_run(&pipeline, framed, &state, NULL));
  status = zb_module_problem_build(framed->module, (int)zb_pass_option_int(m->pass, "micro-batches", 1), out);
cleanup:
  zb_pipeline_deinit(&pipeline);
  return status;
}

static zb_status keep_costs(const zb_recompute_model *m, zb_level *level, int share, const zb_module_problem *problem) {
  level->costs[share] = ZB_NEW(&m->pass->arena, zb_stage_cost, m->stages);
  level->base_bytes[share] = ZB_NEW(&m->pass->arena, int64_t, m->ranks);
  ZB_TRY(zb_arena_status(&m->pass->arena));
  memcpy(level->costs[share], problem->costs, (size_t)m->stages * sizeof *problem->costs);
  memcpy(level->base_bytes[share], problem->base_bytes, (size_t)m->ranks * sizeof *problem->base_bytes);
  return NULL;
}

/* A share may be another one again: in small programs, and with few groups. */
static int same_share(const zb_level *level, int share) {
  for (int other = 0; other < share; ++other)
    if (memcmp(level->in_b[other], level->in_b[share], (size_t)level->w.group_count * sizeof *level->in_b[0]) == 0)
      return other;
  return share;
}

static zb_status measure_share(const zb_recompute_model *m, zb_level *level, int share) {
  const int same = same_share(level, share);
  zb_module framed = {0};
  zb_module_problem problem = {0};
  if (same < share) {
    level->costs[share] = level->costs[same];
    level->base_bytes[share] = level->base_bytes[same];
    return NULL;
  }
  zb_status status = frame(m, level, share, &framed, &problem);
  if (!status) status = keep_costs(m, level, share, &problem);
  zb_module_problem_deinit(&problem);
  release(&framed);
  return status;
}

/* The first order. A search stands behind rules in time and is never worse than their orders, so one of them, of those
 * that hold little, says what choices are good for it. */
static zb_status find_rule(zb_recompute_model *m) {
  static const char *const rules[] = {"zb-h1", "v-half", "zb-v", "interleaved-1f1b", "1f1b"};
  const char *schedule = zb_pass_option(m->pass, "schedule");
  zb_problem *problem = &m->level[0].problem.problem;
  for (size_t i = 0; m->searches && i < sizeof rules / sizeof rules[0]; ++i) {
    zb_status status = zb_trial_order(m->pass, rules[i], problem, m->metric, &m->order);
    if (!status) {
      m->rule = rules[i];
      return NULL;
    }
    const zb_code code = zb_status_code(status);
    if (code == ZB_MEMORY) return status;
    zb_status_free(status);
  }
  if (!m->searches && !zb_schedule_is_file(schedule)) m->rule = schedule;
  return zb_trial_order(m->pass, schedule, problem, m->metric, &m->order);
}

static zb_status build_level(zb_recompute_model *m, int number) {
  zb_arena *arena = &m->pass->arena;
  zb_level *level = &m->level[number];
  zb_pick *picks = ZB_NEW(arena, zb_pick, m->ranks);
  ZB_TRY(zb_arena_status(arena));
  for (int r = 0; r < m->ranks; ++r)
    picks[r].level = number;
  ZB_TRY(zb_trial_copy(m->pass, m->module, &level->classified));
  ZB_TRY(recompute(m, picks, &level->classified));
  ZB_TRY(classify(m, &level->classified));
  ZB_TRY(read_groups(m, arena, &level->classified, &level->graph, &level->w));
  ZB_TRY(sort_groups(arena, &level->w, m->stages, &level->stage_begin, &level->stage_group));
  for (int share = 0; share < m->shares; ++share)
    level->in_b[share] = ZB_NEW(arena, bool, level->w.group_count);
  ZB_TRY(zb_arena_status(arena));
  ZB_TRY(frame(m, level, 0, &level->framed, &level->problem));
  ZB_TRY(keep_costs(m, level, 0, &level->problem));
  if (number == 0) ZB_TRY(find_rule(m));
  if (m->shares > 1) ZB_TRY(find_shares(m, level));
  for (int share = 1; share < m->shares; ++share)
    ZB_TRY(measure_share(m, level, share));
  release(&level->framed);
  release(&level->classified);
  return NULL;
}

/* ---- Looking ---- */

static zb_problem problem_of(zb_recompute_model *m, const zb_pick *picks) {
  zb_problem problem = m->level[0].problem.problem;
  for (int s = 0; s < m->stages; ++s) {
    const zb_pick *own = &picks[m->stage_rank[s]];
    m->costs[s] = m->level[own->level].costs[own->share][s];
  }
  for (int r = 0; r < m->ranks; ++r)
    m->base_bytes[r] = m->level[picks[r].level].base_bytes[picks[r].share][r] + m->besides[r];
  problem.costs = m->costs;
  problem.base_bytes = m->base_bytes;
  problem.metric = m->metric;
  m->jobs += (int64_t)m->stages * problem.micro_batches * ZB_KIND_COUNT;
  return problem;
}

static zb_status step_of(const zb_recompute_model *m, const zb_problem *problem, const zb_simulation *simulation,
                         int64_t *out) {
  zb_period period;
  *out = m->metric == ZB_METRIC_STAGE ? simulation->stage_ps : simulation->step_ps;
  if (m->metric != ZB_METRIC_PERIOD) return NULL;
  ZB_TRY(zb_order_period(problem, &m->order, &period));
  *out = period.period_ps;
  return NULL;
}

/* With the order at hand. */
static zb_status measure(const zb_recompute_model *m, const zb_problem *problem, int64_t bytes, zb_outlook *out) {
  zb_simulation simulation = {0};
  zb_status status = NULL;
  *out = (zb_outlook){0};
  ZB_TRY_GOTO(zb_simulate(problem, &m->order, &simulation));
  ZB_TRY_GOTO(step_of(m, problem, &simulation, &out->step_ps));
  for (int r = 0; r < m->ranks; ++r) {
    const int64_t peak = simulation.peak_bytes[r];
    if (peak > out->most) out->most = peak;
    if (peak > bytes) out->above += peak - bytes;
  }
cleanup:
  zb_simulation_deinit(&simulation);
  return status;
}

zb_status zb_recompute_look(zb_recompute_model *m, const zb_pick *picks, int64_t bytes, zb_outlook *out) {
  zb_problem problem = problem_of(m, picks);
  if (m->rule) ZB_TRY(zb_trial_order(m->pass, m->rule, &problem, m->metric, &m->order));
  return measure(m, &problem, bytes, out);
}

zb_status zb_recompute_look_within(zb_recompute_model *m, const zb_pick *picks, int64_t limit, zb_outlook *out) {
  zb_problem problem = problem_of(m, picks);
  problem.memory_limit_bytes = limit;
  zb_order before = m->order; /* it stands for the orders of all others */
  m->order = (zb_order){0};
  *out = (zb_outlook){.step_ps = INT64_MAX};
  zb_status status = zb_trial_order(m->pass, zb_pass_option(m->pass, "schedule"), &problem, m->metric, &m->order);
  if (zb_status_code(status) == ZB_INFEASIBLE) {
    zb_status_free(status);
    status = NULL;
  } else if (!status) {
    status = measure(m, &problem, limit, out);
  }
  zb_order_deinit(&m->order);
  m->order = before;
  return status;
}

int64_t zb_recompute_bound(zb_recompute_model *m, const zb_pick *picks, int64_t limit) {
  zb_problem problem = problem_of(m, picks);
  problem.memory_limit_bytes = limit;
  return m->metric == ZB_METRIC_STAGE    ? zb_lower_bound_stage_ps(&problem)
         : m->metric == ZB_METRIC_PERIOD ? zb_lower_bound_period_ps(&problem)
                                         : zb_lower_bound_ps(&problem);
}

void zb_recompute_peaks(zb_recompute_model *m, zb_pick pick, int64_t *peak) {
  const zb_level *level = &m->level[pick.level];
  zb_problem problem = m->level[0].problem.problem;
  for (int r = 0; r < m->ranks; ++r)
    m->base_bytes[r] = level->base_bytes[pick.share][r] + m->besides[r];
  problem.costs = level->costs[pick.share];
  problem.base_bytes = m->base_bytes;
  zb_order_peaks(&problem, &m->order, peak);
}

/* ---- All ---- */

zb_status zb_recompute_model_init(zb_pass *pass, MlirModule module, const zb_recompute *r, zb_metric metric,
                                  zb_recompute_model *out) {
  zb_arena *arena = &pass->arena;
  MlirOperation top = mlirModuleGetOperation(module);
  const char *schedule = zb_pass_option(pass, "schedule");
  *out = (zb_recompute_model){.pass = pass, .module = module, .layers = &r->layers, .metric = metric};
  out->ranks = (int)zb_get_i64(top, ZB_ATTR_RANKS, 1);
  out->stage_rank = zb_stage_ranks(arena, top, &out->stages);
  out->shares = strcmp(zb_pass_option(pass, "split"), "auto") == 0 ? ZB_SHARES : 1;
  out->layers_of = ZB_NEW(arena, int, out->stages);
  out->besides = ZB_NEW(arena, int64_t, out->ranks);
  out->base_bytes = ZB_NEW(arena, int64_t, out->ranks);
  out->costs = ZB_NEW(arena, zb_stage_cost, out->stages);
  ZB_TRY(zb_arena_status(arena));
  if (!zb_schedule_is_file(schedule)) {
    zb_schedule_choice choice;
    ZB_TRY(zb_schedule_to_train(schedule, &choice));
    out->searches = choice.schedule->keeps_limit;
  }
  count_layers(out);
  return NULL;
}

zb_status zb_recompute_model_build(zb_recompute_model *m) {
  for (int l = 0; l < m->levels; ++l)
    ZB_TRY(build_level(m, l));
  return NULL;
}

void zb_recompute_model_deinit(zb_recompute_model *m) {
  for (int l = 0; l < m->levels; ++l) {
    zb_module_problem_deinit(&m->level[l].problem);
    release(&m->level[l].framed);
    release(&m->level[l].classified);
  }
  zb_order_deinit(&m->order);
}
